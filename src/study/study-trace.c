/* SPDX-License-Identifier: MIT */
/* Workload to trace file, trace file to Report. */
#include "study-trace.h"

#include <math.h>
#include <string.h>

#include "base-display.h"
#include "base-error.h"
#include "conf-data.h"
#include "kernel-time.h"
#include "plan.h"
#include "program-chakra.h"
#include "program-trace.h"
#include "study-key.h"
#include "study-memory.h"
#include "study-power.h"
#include "study-walk.h"

struct StudyTrace {
  char *path, *name, *sum; /* sum: SHA-256 of the text */
  ConfSettings *settings;
  ProgramOrigin origin;
  Program *program;
  SimTime *durations; /* by op, as the file has them */
};

static SimTime *measure(const StudyWalk *walk) {
  SimTime *durations = g_new(SimTime, walk->program->n_ops);
  for (guint32 i = 0; i < walk->program->n_ops; i++)
    durations[i] =
        (SimTime)round((double)kernel_time(walk->cluster->gpu, &walk->program->ops[i]) * (1 + walk->cluster->slowest));
  return durations;
}

static void keep_library(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  if (origin != CONF_ORIGIN_DEFAULT && (g_str_has_prefix(name, "nccl.") || g_str_has_prefix(name, "memory.")))
    g_ptr_array_add(user, g_strdup_printf("%s = %s", name, value));
}

/* What was said about NCCL and the allocator: both are the job's, whatever the cluster. */
static char **library_settings(const ConfSettings *settings) {
  GPtrArray *kept = g_ptr_array_new();
  conf_settings_visit(settings, keep_library, kept);
  g_ptr_array_add(kept, NULL);
  return (char **)g_ptr_array_free(kept, FALSE);
}

gboolean study_trace(Study *study, GString *text, GError **error) {
  StudyWalk walk = {.settings = conf_settings_copy(study->settings), .fidelity = "flow", .contention = TRUE};
  gboolean good = study_walk_read(&walk, error) && study_walk_plan(&walk, error);
  if (good) {
    g_auto(GStrv) notes = study_walk_notes(&walk);
    g_auto(GStrv) libraries = library_settings(walk.settings);
    g_autofree SimTime *durations = measure(&walk);
    g_autofree char *checkpointing = plan_checkpointing_text(&walk.recipe.checkpointing);
    ProgramOrigin origin = {.workload = study->workload,
                            .model = walk.shape.name,
                            .framework = (char *)plan_framework_names[walk.recipe.framework],
                            .precision = (char *)model_precision_names[walk.model_recipe.precision],
                            .activation_checkpointing = checkpointing,
                            .topology = walk.cluster->topology,
                            .gpu = (char *)walk.cluster->gpu->name,
                            .parameters = model_shape_parameters(&walk.shape),
                            .zero_stage = walk.recipe.zero_stage,
                            .sequence_length = walk.model_recipe.sequence_length,
                            .micro_batch = walk.recipe.micro_batch,
                            .gradient_accumulation = walk.recipe.gradient_accumulation,
                            .global_batch = walk.recipe.global_batch,
                            .total_tokens = walk.recipe.total_tokens,
                            .notes = notes,
                            .settings = libraries};
    program_trace_write(walk.program, &origin, durations, text);
  }
  study_walk_clear(&walk);
  return good;
}

static gboolean write_chakra(const Program *program, const SimTime *durations, StudyFile write, gpointer user,
                             GError **error) {
  for (guint32 rank = 0; rank < program->n_ranks; rank++) {
    g_autofree char *ending = g_strdup_printf("%u.et", rank);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!program_chakra_write(program, rank, durations, bytes, error) ||
        !write(ending, bytes->data, bytes->len, user, error))
      return FALSE;
  }
  g_autofree char *groups = program_chakra_groups(program);
  return write("groups.json", (const guint8 *)groups, strlen(groups), user, error);
}

gboolean study_chakra(Study *study, StudyFile write, gpointer user, GError **error) {
  StudyWalk walk = {.settings = conf_settings_copy(study->settings), .fidelity = "flow", .contention = TRUE};
  gboolean good = study_walk_read(&walk, error) && study_walk_plan(&walk, error);
  if (good) {
    g_autofree SimTime *durations = measure(&walk);
    good = write_chakra(walk.program, durations, write, user, error);
  }
  study_walk_clear(&walk);
  return good;
}

static char *name_of(const char *path) {
  char *name = g_path_get_basename(path);
  char *end = strstr(name, ".trace.csv");
  if (end == NULL && g_str_has_suffix(name, ".csv"))
    end = name + strlen(name) - strlen(".csv");
  if (end != NULL && end > name)
    *end = '\0';
  return name;
}

static gboolean load(const char *path, char **ret_text, gsize *ret_length, GError **error) {
  return (*ret_text = conf_data_text(path, ret_length, error)) != NULL;
}

/* The head's settings, under those of the command line. */
static gboolean lay_settings(StudyTrace *trace, GError **error) {
  for (char **each = trace->origin.settings; each != NULL && *each != NULL; each++) {
    g_auto(GStrv) parts = g_strsplit(*each, "=", 2);
    BasePlace place = {.file = trace->path, .key = "set"};
    if (parts[0] == NULL || parts[1] == NULL) {
      base_error_set_at(error, &place, "expected a setting as in nccl.algo = ring, found \"%s\"", *each);
      return FALSE;
    }
    if (!conf_settings_put(trace->settings, g_strstrip(parts[0]), g_strstrip(parts[1]), CONF_ORIGIN_FILE, &place,
                           error))
      return FALSE;
  }
  return TRUE;
}

StudyTrace *study_trace_open(const char *path, GError **error) {
  const ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema, coll_knobs_schema, study_memory_schema};
  g_autofree char *text = NULL;
  gsize length;
  if (!load(path, &text, &length, error))
    return NULL;
  g_autoptr(StudyTrace) trace = g_new0(StudyTrace, 1);
  trace->program = program_trace_read(path, text, length, &trace->origin, error);
  if (trace->program == NULL)
    return NULL;
  trace->path = g_strdup(path);
  trace->name = name_of(path);
  trace->sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, length);
  trace->settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  trace->durations = g_memdup2(trace->program->durations, trace->program->n_ops * sizeof(SimTime));
  return lay_settings(trace, error) ? g_steal_pointer(&trace) : NULL;
}

void study_trace_free(StudyTrace *trace) {
  if (trace == NULL)
    return;
  conf_settings_free(trace->settings);
  program_origin_clear(&trace->origin);
  program_free(trace->program);
  g_free(trace->durations);
  g_free(trace->path);
  g_free(trace->name);
  g_free(trace->sum);
  g_free(trace);
}

gboolean study_trace_set(StudyTrace *trace, const char *assignment, GError **error) {
  return conf_settings_set(trace->settings, assignment, error);
}

static gboolean set_number(ConfSettings *settings, const char *name, guint64 value, GError **error) {
  g_autofree char *assignment = g_strdup_printf("%s=%" G_GUINT64_FORMAT, name, value);
  return conf_settings_set(settings, assignment, error);
}

/* Sets cluster.nodes from the ranks: how many GPUs a node has, only a cluster knows. Faults name nodes that a cluster
 * of one lacks, so they are left out of it. */
static gboolean find_nodes(const StudyTrace *trace, StudyWalk *walk, GError **error) {
  guint32 ranks = trace->program->n_ranks;
  if (conf_settings_given(walk->settings, "cluster.nodes"))
    return TRUE;
  g_autoptr(ConfSettings) settings = conf_settings_copy(walk->settings);
  if (!conf_settings_set(settings, "cluster.slow_gpus=none", error) ||
      !conf_settings_set(settings, "cluster.slow_links=none", error))
    return FALSE;
  g_autoptr(HwCluster) one = hw_cluster_build(settings, study_cache_catalog(walk->cache, NULL), error);
  if (one == NULL)
    return FALSE;
  if (ranks % one->gpus_per_node == 0)
    return set_number(walk->settings, "cluster.nodes", ranks / one->gpus_per_node, error);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: its %u ranks do not fill nodes of %u GPUs (%s); say how many of a node's GPUs it uses, as in "
              "--set cluster.gpus_per_node=%u",
              trace->path, ranks, one->gpus_per_node, one->topology, ranks < one->gpus_per_node ? ranks : 1);
  return FALSE;
}

gboolean study_trace_gpus(const StudyTrace *trace, guint32 *ret_gpus, GError **error) {
  *ret_gpus = trace->program->n_ranks;
  if (!conf_settings_given(trace->settings, "cluster.nodes"))
    return TRUE;
  StudyWalk walk = {.settings = conf_settings_copy(trace->settings)};
  study_walk_need_cache(&walk);
  const HwCatalog *catalog = study_cache_catalog(walk.cache, error);
  g_autoptr(HwCluster) cluster = catalog != NULL ? hw_cluster_build(walk.settings, catalog, error) : NULL;
  if (cluster != NULL)
    *ret_gpus = hw_cluster_gpus(cluster);
  study_walk_clear(&walk);
  return cluster != NULL;
}

static gboolean build_cluster(const StudyTrace *trace, StudyWalk *walk, GError **error) {
  if (!conf_settings_given(walk->settings, "cluster.topology")) {
    const char *made_for = trace->origin.topology;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: say on which cluster it is to be played: --topology %s",
                trace->path, made_for != NULL ? made_for : "T");
    return FALSE;
  }
  study_walk_need_cache(walk);
  if (study_cache_catalog(walk->cache, error) == NULL || !find_nodes(trace, walk, error))
    return FALSE;
  walk->machine = study_cache_machine(walk->cache, walk->settings, error);
  walk->cluster = walk->machine != NULL ? walk->machine->cluster : NULL;
  if (walk->cluster == NULL || !hw_cluster_price(walk->cluster, walk->settings, &walk->gpu_hour, error))
    return FALSE;
  if (hw_cluster_gpus(walk->cluster) == trace->program->n_ranks)
    return TRUE;
  return conf_settings_fail(walk->settings, "cluster.nodes", error, "%s has %u ranks, the cluster %u GPUs", trace->path,
                            trace->program->n_ranks, hw_cluster_gpus(walk->cluster));
}

static gboolean is_other_gpu(const StudyTrace *trace, const HwGpu *gpu) {
  return trace->origin.gpu != NULL && g_ascii_strcasecmp(trace->origin.gpu, gpu->name) != 0;
}

/* The first compute row of an operation, for messages. */
static const char *row_of(const Program *program, guint32 op) {
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      for (guint32 i = 0; i < program->roles[r].sections[s].n_rows; i++)
        if (program->roles[r].sections[s].rows[i].kind == PROGRAM_COMPUTE &&
            program->roles[r].sections[s].rows[i].op == op)
          return program->roles[r].sections[s].rows[i].name;
  return "?";
}

static gboolean is_arithmetic(const KernelOp *op) {
  return op->kind == KERNEL_MATMUL || op->kind == KERNEL_ATTENTION;
}

/* One operation's time; -1: the kernel model's, which contention then slows. */
static gboolean time_op(const StudyTrace *trace, const StudyWalk *walk, const StudyReplay *replay, guint32 i,
                        GError **error) {
  const HwGpu *gpu = walk->cluster->gpu;
  const KernelOp *op = &trace->program->ops[i];
  SimTime kept = trace->durations[i];
  gboolean modelled = op->batch > 0 && (!is_arithmetic(op) || kernel_supports(gpu, op->dtype));
  if (replay->times == STUDY_TIMES_OF_SHAPES && op->batch == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: \"%s\" has a duration and no shape, so its time on another GPU is not known", trace->path,
                row_of(trace->program, i));
    return FALSE;
  }
  SimTime time = replay->times == STUDY_TIMES_OF_SHAPES ? -1 : kept;
  if (time < 0 && !modelled) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: \"%s\" needs %s arithmetic, which %s has not", trace->path,
                row_of(trace->program, i), kernel_dtype_names[op->dtype], gpu->name);
    return FALSE;
  }
  if (modelled && time == kernel_time(gpu, op))
    time = -1;
  if (replay->compute_scale != 1)
    time = sim_time_from_seconds(sim_time_to_seconds(time >= 0 ? time : kernel_time(gpu, op)) * replay->compute_scale);
  trace->program->durations[i] = time;
  return TRUE;
}

static gboolean time_ops(const StudyTrace *trace, const StudyWalk *walk, const StudyReplay *replay, GError **error) {
  if (replay->times == STUDY_TIMES_OF_SAME_GPU && is_other_gpu(trace, walk->cluster->gpu)) {
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "%s: its compute times are those of %s, and %s has %s: say --retime to have them from the shapes of its "
        "rows, or --keep-times to keep them",
        trace->path, trace->origin.gpu, walk->cluster->topology, walk->cluster->gpu->name);
    return FALSE;
  }
  for (guint32 i = 0; i < trace->program->n_ops; i++)
    if (!time_op(trace, walk, replay, i, error))
      return FALSE;
  return TRUE;
}

/* Copies and work of the CPU need a host whose figures are known. */
static gboolean check_host(const StudyTrace *trace, const HwCluster *cluster, GError **error) {
  for (guint32 r = 0; r < trace->program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      const ProgramSection *section = &trace->program->roles[r].sections[s];
      for (guint32 i = 0; i < section->n_rows; i++) {
        gboolean copy = section->rows[i].kind == PROGRAM_COPY, cpu = section->rows[i].kind == PROGRAM_CPU;
        gboolean unknown = copy && (cluster->host_link == NULL ||
                                    (section->rows[i].op == PROGRAM_MANAGED && cluster->host_link->managed <= 0));
        if (!unknown && !(cpu && cluster->dram_bandwidth <= 0))
          continue;
        g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: \"%s\" is %s, and %s does not say how fast that is there",
                    trace->path, section->rows[i].name, copy ? "a copy over the host's link" : "work of the CPU",
                    cluster->topology);
        return FALSE;
      }
    }
  return TRUE;
}

static char *replay_key(const StudyTrace *trace, const StudyWalk *walk, const StudyReplay *replay, GError **error) {
  g_autofree char *base = study_key(walk->settings, walk->machine->figures, trace->origin.parameters, walk->fidelity,
                                    walk->contention, NULL, error);
  if (base == NULL)
    return NULL;
  g_autofree char *scale = base_quantity_canonical(replay->compute_scale, BASE_UNIT_NONE);
  g_autofree char *text =
      g_strdup_printf("%s\ntrace = %s\ntimes = %d\ncompute = %s\n", base, trace->sum, (int)replay->times, scale);
  return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

static char *known(const char *text) {
  return g_strdup(text != NULL && *text != '\0' ? text : "unknown");
}

static void keep_setting(RunIdentity *identity, const char *name, char *value, const char *origin) {
  identity->settings = g_renew(RunSetting, identity->settings, identity->n_settings + 1);
  identity->settings[identity->n_settings++] = (RunSetting){g_strdup(name), value, g_strdup(origin), FALSE};
}

static void fill_identity(const StudyTrace *trace, const StudyWalk *walk, const StudyReplay *replay,
                          RunReport *report) {
  static const char *const times[] = {"of its GPU", "kept", "of shapes"};
  const ProgramOrigin *origin = &trace->origin;
  RunIdentity *identity = &report->identity;
  identity->run_key = g_strdup(walk->key);
  identity->workload = base_display_line(origin->workload != NULL ? origin->workload : trace->name);
  identity->topology = base_display_line(walk->cluster->topology);
  identity->model = base_display_line(origin->model != NULL ? origin->model : identity->workload);
  identity->gpu = g_strdup(walk->cluster->gpu->name);
  identity->architecture = g_strdup(walk->cluster->gpu->architecture);
  identity->network_rate = study_network_rate(walk->cluster);
  identity->framework = known(origin->framework);
  identity->zero_stage = (guint32)origin->zero_stage;
  identity->gpus = hw_cluster_gpus(walk->cluster);
  identity->nodes = walk->cluster->nodes;
  identity->parameters = origin->parameters;
  identity->sequence_length = origin->sequence_length;
  identity->micro_batch = origin->micro_batch;
  identity->gradient_accumulation = origin->gradient_accumulation;
  identity->global_batch = origin->global_batch;
  identity->precision = known(origin->precision);
  identity->activation_checkpointing = known(origin->activation_checkpointing);
  identity->gpu_hour = walk->gpu_hour;
  identity->total_tokens = origin->total_tokens;
  identity->notes = study_walk_join(g_strdupv(origin->notes), identity->notes);
  study_key_settings(walk->settings, identity);
  keep_setting(identity, "trace.file", g_strdup(trace->path), "command line");
  keep_setting(identity, "trace.sha256", g_strdup(trace->sum), "file");
  keep_setting(identity, "trace.times", g_strdup(times[replay->times]), "command line");
  keep_setting(identity, "trace.scale_compute", base_quantity_canonical(replay->compute_scale, BASE_UNIT_NONE),
               "command line");
  study_walk_price(report);
  study_trust(walk, "the replay of a trace", report);
}

static RunReport *play(const StudyTrace *trace, StudyWalk *walk, const StudyReplay *replay, const StudyOptions *options,
                       GError **error) {
  if (!build_cluster(trace, walk, error) || !check_host(trace, walk->cluster, error) ||
      !time_ops(trace, walk, replay, error) || !coll_knobs_load(walk->settings, &walk->knobs, error) ||
      !study_memory_load(walk->settings, &walk->memory, error))
    return NULL;
  if (!study_machine_connect(walk->cache, walk->machine, &walk->knobs, error))
    return NULL;
  walk->library = walk->machine->library;
  walk->key = walk->library != NULL ? replay_key(trace, walk, replay, error) : NULL;
  if (walk->key == NULL)
    return NULL;
  if (!study_walk_groups(walk, error)) {
    g_prefix_error(error, "%s: ", trace->path);
    return NULL;
  }
  g_autoptr(RunReport) report = study_walk_play(walk, options, error);
  if (report == NULL)
    return NULL;
  if (run_report_slowest(report)->step == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: its steady step takes no time at all", trace->path);
    return NULL;
  }
  fill_identity(trace, walk, replay, report);
  const StudyPower *power = study_cache_power(walk->cache, error);
  if (power == NULL)
    return NULL;
  study_walk_energy(walk, power, report);
  return g_steal_pointer(&report);
}

RunReport *study_trace_run(const StudyTrace *trace, const StudyReplay *replay, const StudyOptions *options,
                           GError **error) {
  StudyWalk walk = {.settings = conf_settings_copy(trace->settings),
                    .fidelity = options->chunks ? "step" : "flow",
                    .contention = !options->no_contention,
                    .program = trace->program};
  gboolean set = !options->no_jitter || conf_settings_set(walk.settings, "cluster.gpu_spread=0", error);
  RunReport *report = set ? play(trace, &walk, replay, options, error) : NULL;
  study_walk_clear_groups(&walk);
  walk.program = NULL; /* the trace's */
  study_walk_clear(&walk);
  return report;
}
