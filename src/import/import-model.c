/* SPDX-License-Identifier: MIT */
/* Clusters and communicators built from settings, as an overlay of the same figures would have them. */
#include "import-model.h"

#include "coll-group.h"
#include "coll-library.h"
#include "conf-settings.h"
#include "hw-cluster.h"

const char *const import_figure_keys[] = {"node.intra_achievable", "environment.launch_floor", "node.nic_achievable",
                                          "environment.hop_latency", NULL};
static const BaseUnit units[] = {BASE_UNIT_BYTE_RATE, BASE_UNIT_TIME, BASE_UNIT_BYTE_RATE, BASE_UNIT_TIME};

/* A latency beyond a second is no network's. */
#define MOST_LATENCY 1.0

struct ImportModel {
  HwCatalog *catalog;
  ConfSettings *settings; /* that name the topology */
  GPtrArray *tables;      /* Table */
  char *name, *gpu;
  guint gpus;
  double own[IMPORT_FIGURES], most[IMPORT_FIGURES];
};

static HwCluster *build(const ImportModel *model, const double *figures, guint nodes, GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_copy(model->settings);
  g_autofree char *count = g_strdup_printf("cluster.nodes=%u", nodes);
  if (!conf_settings_set(settings, count, error))
    return NULL;
  for (int i = 0; i < IMPORT_FIGURES; i++) {
    if (figures == NULL || figures[i] < 0)
      continue;
    g_autofree char *value = base_quantity_canonical(figures[i], units[i]);
    g_autofree char *assignment = g_strdup_printf("%s=%s", import_figure_keys[i], value);
    if (!conf_settings_set(settings, assignment, error))
      return NULL;
  }
  return hw_cluster_build(settings, model->catalog, error);
}

ImportModel *import_model_new(const char *topology, GError **error) {
  const ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  g_autoptr(ImportModel) model = g_new0(ImportModel, 1);
  g_autofree char *assignment = g_strconcat("cluster.topology=", topology, NULL);
  model->settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  model->catalog = hw_catalog_load(error);
  if (model->catalog == NULL || !conf_settings_set(model->settings, assignment, error))
    return NULL;
  g_autoptr(HwCluster) cluster = build(model, NULL, 1, error);
  if (cluster == NULL)
    return NULL;
  model->name = g_strdup(cluster->topology);
  model->gpu = g_strdup(cluster->gpu->name);
  model->gpus = cluster->gpus_per_node;
  model->own[IMPORT_INTRA_ACHIEVABLE] = cluster->intra_bandwidth;
  model->most[IMPORT_INTRA_ACHIEVABLE] = cluster->intra->raw;
  model->own[IMPORT_LAUNCH_FLOOR] = sim_time_to_seconds(cluster->platform->launch_floor);
  model->own[IMPORT_HOP_LATENCY] = sim_time_to_seconds(cluster->platform->hop_latency);
  model->most[IMPORT_LAUNCH_FLOOR] = model->most[IMPORT_HOP_LATENCY] = MOST_LATENCY;
  if (cluster->nic != NULL) {
    model->own[IMPORT_NIC_ACHIEVABLE] = cluster->nic_bandwidth;
    model->most[IMPORT_NIC_ACHIEVABLE] = cluster->nic->raw;
  }
  return g_steal_pointer(&model);
}

void import_model_free(ImportModel *model) {
  if (model == NULL)
    return;
  hw_catalog_free(model->catalog);
  conf_settings_free(model->settings);
  g_free(model->name);
  g_free(model->gpu);
  g_free(model);
}

const char *import_model_name(const ImportModel *model) {
  return model->name;
}

const char *import_model_gpu(const ImportModel *model) {
  return model->gpu;
}

guint import_model_gpus(const ImportModel *model) {
  return model->gpus;
}

HwCluster *import_model_node(const ImportModel *model, const char *assignment, GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_copy(model->settings);
  if (!conf_settings_set(settings, "cluster.nodes=1", error) || !conf_settings_set(settings, assignment, error))
    return NULL;
  return hw_cluster_build(settings, model->catalog, error);
}

double import_model_own(const ImportModel *model, ImportFigureKind kind) {
  return model->own[kind];
}

double import_model_most(const ImportModel *model, ImportFigureKind kind) {
  return model->most[kind];
}

static CollGroup *group_of(const HwCluster *cluster, const ImportSample *sample, GError **error) {
  guint n = sample->nodes * sample->per_node;
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  knobs.version = g_strdup(sample->nccl_version);
  knobs.gpus_per_process = sample->driven;
  g_autoptr(CollLibrary) library = coll_library_new(cluster, &knobs, error);
  coll_knobs_clear(&knobs);
  if (library == NULL)
    return NULL;
  g_autofree guint32 *ranks = g_new(guint32, n);
  for (guint i = 0; i < n; i++)
    ranks[i] = i / sample->per_node * cluster->gpus_per_node + i % sample->per_node;
  return coll_group_new(library, ranks, n, error);
}

gboolean import_model_predict(const ImportModel *model, const double figures[IMPORT_FIGURES],
                              const ImportSample *samples, guint n, SimTime *ret_times, GError **error) {
  for (guint first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && samples[end].run == samples[first].run;)
      end++;
    g_autoptr(HwCluster) cluster = build(model, figures, samples[first].nodes, error);
    g_autoptr(CollGroup) group = cluster != NULL ? group_of(cluster, &samples[first], error) : NULL;
    if (group == NULL)
      return FALSE;
    for (guint i = first; i < end; i++) {
      CollPlan plan;
      coll_group_prepare(group, &samples[i].call);
      coll_plan(group, &samples[i].call, &plan);
      ret_times[i] = sim_time_add(plan.latency, sim_time_of_amount(plan.volume, plan.cap));
    }
  }
  return TRUE;
}
