/* SPDX-License-Identifier: MIT */
/* The operations of a workload, unit by unit and direction by direction, with their time on its GPU.
 *
 *   g_autoptr(StudyLayers) layers = study_layers(study, error);
 *   for (guint i = 0; i < layers->n_ops; i++) … layers->ops[i].flops …
 *
 * Each kind of unit stands once, for all that are alike: embedding, head, and as many kinds of layer as the model
 * has, and what stands between two stacks. */
#pragma once

#include "model-unit.h"
#include "study.h"

typedef struct {
  const char *unit;      /* of model_unit_names: "embedding", "layer", "head", … */
  const char *direction; /* "forward", "backward" */
  const char *name, *kind;
  double flops;
  guint64 bytes;            /* moved */
  guint64 activation_bytes; /* that autograd first keeps because of this op */
  SimTime time;
} StudyLayerOp;

typedef struct {
  char *model, *gpu;
  char *basis; /* whose measurements the times rest on, for people */
  guint64 parameters, layers, micro_batch, sequence_length;
  guint64 unit_parameters[MODEL_UNIT_VARIANTS]; /* of one of each kind; a tied head's matrix is the embedding's */
  ModelUnitKind *kinds;                         /* of each layer */
  gboolean between;                             /* two stacks, with a unit between them */
  StudyLayerOp *ops;
  guint n_ops;
  GStringChunk *names;
} StudyLayers;

StudyLayers *study_layers(Study *study, GError **error);
void study_layers_free(StudyLayers *layers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyLayers, study_layers_free)
