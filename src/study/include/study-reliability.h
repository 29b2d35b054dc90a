/* SPDX-License-Identifier: MIT */
/* A training as it will be: with failures, restarts and checkpoints.
 *
 *   StudyReliability reliability;
 *   if (!study_reliability_load(study, &reliability, error)) return FALSE;             // [reliability]
 *   StudyTraining training = study_training(report);
 *   StudyEndurance endurance;
 *   study_endure(&reliability, &training, STUDY_ENDURE_SEED, &endurance);
 *   … endurance.goodput, endurance.seconds, endurance.low, endurance.high …
 *
 *   ──compute──|save|──compute──|save|──compu ✗ restart ──compute──|save|──
 *                    ▲ what was done since the last checkpoint that is safe is done again
 *
 * Nodes and GPUs fail independently at constant rates, so the time between failures of N nodes with G GPUs is
 * exponential with mean M = 1 / (N / node_mtbf + G / gpu_mtbf).
 * Each checkpoint stops training for a time C (all of its writing where it is synchronous) and is
 * safe once it is written, W later. Expected time of T seconds of steps with a checkpoint every t: Daly, "A higher
 * order estimate of the optimum checkpoint interval for restart dumps", 2006, equation 20, with a restart of R + W,
 * since that much more is lost where the newest checkpoint is not safe yet:
 *
 *   M e^((R + W)/M) (e^((t + C)/M) - 1) T / t
 *
 * Spare nodes, where their number S is said: each failure takes a node to repair for a time P, a spare takes its place,
 * and where none is left training waits for the first that comes back. Nodes in repair are then the servers of a loss
 * system of S + 1 servers (while one waits, none fails), so whatever the spread of P the share of time waited is
 * Erlang's B(S + 1, P / M), and all else takes the rest. Else a node is always at hand.
 *
 * The interval is the given one, else Daly's (equation 37), at least W; Young's first-order one beside it. The spread
 * is of a replay: many trainings, failures drawn from a seed that is printed. */
#pragma once

#include "study.h"

#define STUDY_ENDURE_SEED    20260101
#define STUDY_ENDURE_REPLAYS 400

typedef struct {
  double node_mtbf, restart, interval, stall; /* seconds; interval 0: the best */
  double gpu_mtbf;                            /* seconds; 0: node_mtbf is of nodes with their GPUs */
  double repair;                              /* seconds until a node is back, of `has_spares` */
  guint64 spares;                             /* nodes that stand by */
  gboolean has_spares;                        /* FALSE: there is always one */
  double storage_bandwidth;                   /* bytes/s of a node, writing */
  gboolean synchronous;                       /* training waits until a checkpoint is written */
  int shared;                                 /* it is written over the NICs of the training: 1; else 0 */
} StudyReliability;

typedef struct {
  guint32 nodes;
  double bytes;   /* of a checkpoint: the states of all ranks, each once */
  double seconds; /* of uninterrupted steps; 0: not known */
  guint32 gpus;
} StudyTraining;

typedef struct {
  double mtbf;                  /* of the job, seconds */
  double write, stall;          /* of a checkpoint, seconds */
  double young, daly, interval; /* seconds; interval: what is used */
  double goodput;               /* steps that count, of all time: 0 to 1 */
  double waiting;               /* for a node to come back, of all time */
  double failures, seconds;     /* expected, of the whole training */
  double replayed;              /* the mean of the replays, seconds */
  double low, high;             /* a tenth of the replays is shorter, a tenth longer; seconds */
} StudyEndurance;

/* What nobody gave is topologies/catalog/reliability.csv's, each with its source; of a node_mtbf that somebody gave
 * alone, GPUs are part. Errors: spare nodes without the time of a repair. */
gboolean study_reliability_load(const Study *study, StudyReliability *ret, GError **error);
/* Saved are 16-bit parameters beside fp32 ones and two moments, or fp32 ones alone under ddp, fsdp1 and fsdp2. */
StudyTraining study_training(const RunReport *report);
void study_endure(const StudyReliability *reliability, const StudyTraining *training, guint32 seed,
                  StudyEndurance *ret);
