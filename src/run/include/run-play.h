/* SPDX-License-Identifier: MIT */
/* Plays a Program on the clock: streams, host order, communicators, memory.
 *
 *   RunSystem system = {program, gpu, links, n_links, groups, speeds};
 *   g_autoptr(RunReport) report = run_play(&system, &options, run_key, error);     // identity left empty
 *
 * The `first` section is played once, then `steady` until ledger, allocator and step period repeat, at most four times.
 * One event per operation. Knows counts of ranks and links, not why they are counts. */
#pragma once

#include "coll-group.h"
#include "event-queue.h"
#include "hw-cluster.h"
#include "mem-allocator.h"
#include "net-system.h"
#include "program.h"
#include "run-count.h"
#include "run-recall.h"
#include "run-report.h"
#include "run-tables.h"

/* What is played. All borrowed, for the time of the call. */
typedef struct {
  const Program *program;
  const HwGpu *gpu;
  const HwClusterLink *links;
  guint32 n_links;
  CollGroup *const *groups; /* one per communicator of the Program; routes over `links` */
  const double *speeds;     /* of GPUs, by ProgramRank.device: kernel times are divided by them; NULL: all are 1 */
  double copy_rates[PROGRAM_PATHS];   /* bytes/s between a GPU and host memory, by ProgramPath */
  double slowest;                     /* how much longer kernels take than on a typical GPU, on all; 0: as long */
  double cpu_rate;                    /* bytes/s of host memory that one GPU's share of the cores gets */
  SimTime segment_take, segment_give; /* host time of one call of the device's allocator */
} RunSystem;                          /* rates may be 0 where the Program has no such rows */

typedef struct {
  gboolean timeline; /* keep tasks, collectives, exposures and samples in the report */
  NetSolver solver;
  EventTie tie;
  guint64 tie_seed;
  MemPolicy memory;    /* the caching allocator's */
  gboolean contention; /* collectives take SMs and memory bandwidth from the kernels beside them, and kernels on several
                          streams share the device */
  guint32 watched;     /* micro-batch: when each host comes to the first row of it or a later one; 0: none */
  RunWindows windows;
  gboolean every_step;    /* also steps that must repeat the one before are played */
  gboolean apart;         /* ranks that are alike share neither heaps nor planes of rows, and each move is made */
  guint64 requests;       /* equal of plays whose Programs take and give the same; 0: nothing is known of that */
  RunTables *tables;      /* what the rows come to, in plays of the same rows; NULL: nothing is kept */
  RunRecall *recall;      /* what became of memory in earlier plays; NULL: nothing is known or kept */
  gboolean chunks;        /* step fidelity: collectives chunk by chunk; the system must not be folded */
  const BaseTrace *trace; /* points of event, net and run to print while it plays; NULL: none */
} RunOptions;

/* Trace points: a row on its stream starts and ends, a rank's memory changes, it runs out, a step of a rank ends, a
 * rank moves memory otherwise than those it shared it with. */
typedef enum {
  RUN_TRACE_START,
  RUN_TRACE_END,
  RUN_TRACE_MEMORY,
  RUN_TRACE_OOM,
  RUN_TRACE_STEP,
  RUN_TRACE_FORK
} RunTracePoint;
extern const char *const run_trace_names[];

/* An out-of-memory is a result, and a Program that cannot end is a broken contract. Error: SIM_ERROR_INPUT where the
 * steps take longer than SimTime reaches (106 days). */
RunReport *run_play(const RunSystem *system, const RunOptions *options, const char *run_key, GError **error);
