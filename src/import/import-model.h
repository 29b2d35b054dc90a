/* SPDX-License-Identifier: MIT */
/* What coll's model foretells for the rows of a log on a topology with trial figures. Private to this floor.
 *
 *   ImportModel *model = import_model_new("dgx-h100", error);
 *   if (!import_model_predict(model, figures, samples, n, times, error)) …      // times[i] of samples[i] */
#pragma once

#include "coll-call.h"
#include "hw-cluster.h"
#include "import-fit.h"

typedef struct {
  guint run, nodes, per_node;
  guint driven;             /* GPUs of a process */
  const char *nccl_version; /* NULL: not known */
  CollCall call;
  SimTime measured;
} ImportSample;

typedef struct ImportModel ImportModel;

/* Errors: the topology's. */
ImportModel *import_model_new(const char *topology, GError **error);
void import_model_free(ImportModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportModel, import_model_free)

const char *import_model_name(const ImportModel *model);
const char *import_model_gpu(const ImportModel *model); /* its name in the catalogue */
guint import_model_gpus(const ImportModel *model);      /* of a node */
/* One node of the topology, with a setting more ("node.matmul_rate=1.1"). */
HwCluster *import_model_node(const ImportModel *model, const char *assignment, GError **error);
/* The topology's own figure, and the most it may be (a link's raw rate); 0: it has none (no NIC). */
double import_model_own(const ImportModel *model, ImportFigureKind kind);
double import_model_most(const ImportModel *model, ImportFigureKind kind);
/* `figures`: trial values, negative for the topology's own. Samples of one run side by side. */
gboolean import_model_predict(const ImportModel *model, const double figures[IMPORT_FIGURES],
                              const ImportSample *samples, guint n, SimTime *ret_times, GError **error);
