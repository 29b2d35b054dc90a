/* SPDX-License-Identifier: MIT */
/* A measured step's compute by layer and direction: to set beside a prediction, and as a layer profile, with which the
 * same model is played under another framework, ZeRO stage or cluster ([model] profile).
 *
 *   ImportKinetoLayers layers;
 *   import_kineto_layers(set, 0, &layers);
 *   … layers.of[3].time[IMPORT_KINETO_BACKWARD] …; import_kineto_layers_clear(&layers);
 *   g_autoptr(GString) csv = import_kineto_profile(set, error);         // layer,phase,time_us,…
 *
 * Layers are modules called …Layer_N or …Block_N (profile with with_modules or with_stack); backward belongs to the
 * layer whose forward has the same number of autograd's. */
#pragma once

#include "import-kineto-program.h"

typedef enum {
  IMPORT_KINETO_FORWARD,
  IMPORT_KINETO_RECOMPUTE,
  IMPORT_KINETO_BACKWARD,
  IMPORT_KINETO_DIRECTIONS
} ImportKinetoDirection;

typedef struct {
  SimTime time[IMPORT_KINETO_DIRECTIONS]; /* of kernels of compute, added up */
} ImportKinetoLayer;

typedef struct {
  guint n;                           /* layers */
  guint passes;                      /* forward passes of layer 0: micro-batches */
  ImportKinetoLayer *of;             /* [n] */
  ImportKinetoLayer embedding, head; /* of no layer: before the first and after the last */
  SimTime optimizer;
} ImportKinetoLayers;

void import_kineto_layers(const ImportKinetoSet *set, guint file, ImportKinetoLayers *ret);
void import_kineto_layers_clear(ImportKinetoLayers *layers);
/* Collectives of a file's step, in order of start. */
typedef struct {
  ImportCollective what;
  guint64 bytes; /* 0: not said */
  SimTime time;
} ImportKinetoSent;
/* ImportKinetoSent. With every rank's file, and as many in each: the times are those of the rank that waited least. */
GArray *import_kineto_sent(const ImportKinetoSet *set, guint file);

/* Of the first file's step, of one micro-batch: as `foretrain layers --profile` writes it, without what no trace tells.
 * Errors (SIM_ERROR_INPUT): no layers; a layer without forward or backward. */
GString *import_kineto_profile(const ImportKinetoSet *set, GError **error);
