/* SPDX-License-Identifier: MIT */
/* Settings to a communicator over the whole cluster, and calls on it. */
#include "study-collective.h"

#include <string.h>

#include "base-names.h"
#include "coll-group.h"
#include "coll-library.h"
#include "coll-matrix.h"
#include "conf-path.h"
#include "study-walk.h"

static const char *const dtype_names[] = {"int8",  "uint8",  "int32",    "uint32", "int64",  "uint64", "half",
                                          "float", "double", "bfloat16", "f8e4m3", "f8e5m2", NULL};
static const guint dtype_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/* What nccl-tests prints beside each operation: sources src/{all_reduce,all_gather,…}.cu of NVIDIA/nccl-tests.
 * `shared`: the size counts the shards of all ranks, "count" one shard. */
static const struct {
  const char *operation, *redop;
  int root;
  gboolean shared;
} habits[] = {
    {"all-reduce", "sum", -1, FALSE}, {"all-gather", "none", -1, TRUE}, {"reduce-scatter", "sum", -1, TRUE},
    {"broadcast", "none", 0, FALSE},  {"reduce", "sum", 0, FALSE},      {"send-recv", "none", -1, FALSE},
    {"all-to-all", "none", -1, TRUE}, {NULL, "none", -1, FALSE},
};

typedef struct {
  int operation, dtype, algorithm, protocol;
  guint64 bytes;
  gboolean in_place;
} Keys;

#define KEY(key, kind, member, ...) BASE_ROW("collective", key, kind, Keys, member, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("operation", BASE_NAME, operation, .names = coll_operation_names, .required = TRUE, .help = "what is called"),
    KEY("bytes", BASE_COUNT, bytes, .min = 1, .max = 1e15,
        .help = "size as nccl-tests counts it: the buffer, or the shards of all ranks"),
    KEY("dtype", BASE_NAME, dtype, .names = dtype_names, .initial = "float",
        .help = "of the elements, by nccl-tests' names; sizes are whole elements"),
    KEY("in_place", BASE_FLAG, in_place, .initial = "no", .help = "in one buffer; predicted as out of place"),
    KEY("algorithm", BASE_NAME, algorithm, .names = coll_algorithm_names,
        .help = "forced; left out: as NCCL's tuner chooses"),
    KEY("protocol", BASE_NAME, protocol, .names = coll_protocol_names,
        .help = "forced; left out: as NCCL's tuner chooses"),
};
static const ConfSchema schema = {keys, G_N_ELEMENTS(keys)};

struct StudyCollective {
  ConfSettings *settings;
  Keys keys;
  StudyCache *own_cache;    /* NULL: the caller's is used */
  const HwCluster *cluster; /* the cache's */
  CollKnobs knobs;
  CollLibrary *library;
  CollGroup *group;
};

StudyCollective *study_collective_new(void) {
  ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema, coll_knobs_schema, schema};
  StudyCollective *collective = g_new0(StudyCollective, 1);
  collective->settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  collective->keys.algorithm = collective->keys.protocol = -1;
  return collective;
}

void study_collective_free(StudyCollective *collective) {
  if (collective == NULL)
    return;
  coll_group_free(collective->group);
  coll_library_free(collective->library);
  coll_knobs_clear(&collective->knobs);
  study_cache_free(collective->own_cache);
  conf_struct_clear(&schema, &collective->keys);
  conf_settings_free(collective->settings);
  g_free(collective);
}

gboolean study_collective_put(StudyCollective *collective, const char *name, const char *value, const BasePlace *place,
                              GError **error) {
  return conf_settings_put(collective->settings, name, value, CONF_ORIGIN_COMMAND_LINE, place, error);
}

gboolean study_collective_set(StudyCollective *collective, const char *assignment, GError **error) {
  return conf_settings_set(collective->settings, assignment, error);
}

/* nccl-tests in one node drives all its GPUs from one thread (-g) or, as over several nodes, a process for each
 * (MPI). */
static void take_launches(StudyCollective *collective) {
  if (collective->cluster->nodes == 1 && collective->cluster->platform->nccl_tests == HW_TESTS_THREADS &&
      !conf_settings_given(collective->settings, "nccl.gpus_per_process"))
    collective->knobs.gpus_per_process = collective->cluster->gpus_per_node;
}

/* What is forced: the one algorithm that is connected, the one protocol that is allowed. */
static gboolean check_forced(StudyCollective *collective, GError **error) {
  CollPlan plan;
  CollCall call = {.operation = (CollOperation)collective->keys.operation, .bytes = 1};
  if (collective->group->size == 1)
    return TRUE;
  if (collective->keys.algorithm < 0)
    return coll_group_has(collective->group, call.operation) ||
           conf_settings_fail(collective->settings, "collective.protocol", error, "NCCL has no %s in %s here",
                              study_collective_operation(collective), coll_protocol_names[collective->keys.protocol]);
  coll_group_connect(collective->group, (CollAlgorithm)collective->keys.algorithm);
  return coll_plan_forced(collective->group, &call, (CollAlgorithm)collective->keys.algorithm, &plan) ||
         conf_settings_fail(collective->settings, "collective.algorithm", error, "NCCL has no %s for %s here",
                            coll_algorithm_names[collective->keys.algorithm], study_collective_operation(collective));
}

static gboolean build(StudyCollective *collective, StudyCache *cache, GError **error) {
  if (!conf_settings_fill(collective->settings, &schema, &collective->keys, error) ||
      !coll_knobs_load(collective->settings, &collective->knobs, error))
    return FALSE;
  if (collective->keys.protocol >= 0)
    collective->knobs.protocols[collective->keys.operation] = 1u << collective->keys.protocol;
  StudyMachine *machine = study_cache_machine(cache, collective->settings, error);
  if (machine == NULL)
    return FALSE;
  collective->cluster = machine->cluster;
  take_launches(collective);
  collective->library = study_cache_library(cache, machine, &collective->knobs, error);
  if (collective->library == NULL)
    return FALSE;
  guint32 n = hw_cluster_gpus(collective->cluster);
  g_autofree guint32 *ranks = g_new(guint32, n);
  for (guint32 i = 0; i < n; i++)
    ranks[i] = i;
  collective->group = coll_group_new(collective->library, ranks, n, error);
  return collective->group != NULL && check_forced(collective, error);
}

gboolean study_collective_build(StudyCollective *collective, GError **error) {
  collective->own_cache = study_cache_new();
  return build(collective, collective->own_cache, error);
}

static gsize habit_of(const StudyCollective *collective) {
  gsize i = 0;
  while (habits[i].operation != NULL && strcmp(habits[i].operation, study_collective_operation(collective)) != 0)
    i++;
  return i;
}

static SimTime time_of(const CollPlan *plan) {
  return sim_time_add(plan->latency, sim_time_of_amount(plan->volume, plan->cap));
}

static void plan_call(const StudyCollective *collective, const CollCall *call, CollPlan *ret) {
  if (collective->keys.algorithm < 0) {
    coll_group_prepare(collective->group, call);
    coll_plan(collective->group, call, ret);
  } else
    coll_plan_forced(collective->group, call, (CollAlgorithm)collective->keys.algorithm, ret);
}

/* Bytes per element of "count". */
static guint64 unit_of(const StudyCollective *collective) {
  return (guint64)dtype_bytes[collective->keys.dtype] *
         (habits[habit_of(collective)].shared ? collective->group->size : 1);
}

gboolean study_collective_call(const StudyCollective *collective, guint64 bytes, StudyCollectiveCall *ret) {
  guint64 unit = unit_of(collective);
  CollCall call = {.operation = (CollOperation)collective->keys.operation, .bytes = bytes / unit * unit};
  if (call.bytes == 0)
    return FALSE;
  CollPlan plan;
  gsize habit = habit_of(collective);
  plan_call(collective, &call, &plan);
  SimTime time = time_of(&plan);
  *ret = (StudyCollectiveCall){.bytes = call.bytes,
                               .elements = call.bytes / unit,
                               .redop = habits[habit].redop,
                               .root = habits[habit].root,
                               .dtype = study_collective_dtype(collective),
                               .algorithm = coll_algorithm_names[plan.algorithm],
                               .protocol = coll_protocol_names[plan.protocol],
                               .channels = plan.channels,
                               .time = time,
                               .algorithm_bandwidth = time > 0 ? (double)call.bytes / sim_time_to_seconds(time) : 0,
                               .bus_bandwidth = coll_bus_bandwidth(collective->group, &call, time)};
  return TRUE;
}

guint32 study_collective_ranks(const StudyCollective *collective) {
  return collective->group->size;
}

const char *study_collective_operation(const StudyCollective *collective) {
  return coll_operation_names[collective->keys.operation];
}

const char *study_collective_dtype(const StudyCollective *collective) {
  return dtype_names[collective->keys.dtype];
}

const char *study_collective_topology(const StudyCollective *collective) {
  return collective->cluster->topology;
}

guint32 study_collective_nodes(const StudyCollective *collective) {
  return collective->cluster->nodes;
}

const char *study_collective_gpu(const StudyCollective *collective) {
  return collective->cluster->gpu->name;
}

char *study_collective_nccl(const StudyCollective *collective) {
  char *name = g_path_get_basename(collective->library->table);
  name[strlen(name) - strlen(".ini")] = '\0';
  return name;
}

void study_collective_explain_choice(const StudyCollective *collective, GString *text) {
  coll_library_describe(collective->library, collective->group, text);
  coll_matrix_print(collective->group, text);
}

void study_collective_explain(const StudyCollective *collective, guint64 bytes, GString *text) {
  guint64 unit = unit_of(collective);
  CollCall call = {.operation = (CollOperation)collective->keys.operation, .bytes = bytes / unit * unit};
  if (call.bytes > 0)
    coll_matrix_print_call(collective->group, &call, text);
}

gboolean study_collective_run_point(StudyPoint *point, StudyCache *cache, StudyCollectiveCall *ret) {
  g_autoptr(StudyCollective) collective = study_collective_new();
  study_point_lay(point, collective->settings);
  GError *error = NULL;
  if (point->reasons->len > 0)
    return FALSE;
  gboolean good =
      build(collective, cache, &error) &&
      (collective->keys.bytes > 0 ||
       conf_settings_fail(collective->settings, "collective.bytes", &error, "is missing")) &&
      (study_collective_call(collective, collective->keys.bytes, ret) ||
       conf_settings_fail(collective->settings, "collective.bytes", &error,
                          "%" G_GUINT64_FORMAT " bytes hold no element for each rank", collective->keys.bytes));
  if (!good)
    study_point_refuse(point, error);
  return good;
}

void study_collective_print_reference(GString *text) {
  conf_schema_print(&schema, 1, text);
}
