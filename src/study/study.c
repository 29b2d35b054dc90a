/* The chain: files to settings, model, cluster, Program, fold, run, Report. */
#include "study.h"

#include <string.h>

#include "base-names.h"
#include "conf-path.h"
#include "fold.h"
#include "kernel-time.h"
#include "plan.h"
#include "run-play.h"
#include "study-key.h"
#include "study-memory.h"
#include "study-profile.h"
#include "study-walk.h"

#define SCHEMAS_MOST (6 + PLAN_SCHEMAS_MOST)

static gsize gather_schemas(ConfSchema ret[SCHEMAS_MOST]) {
  ret[0] = model_shape_schema;
  ret[1] = model_recipe_schema;
  gsize n = 2 + plan_schemas(ret + 2, PLAN_SCHEMAS_MOST);
  ret[n++] = hw_cluster_schema;
  ret[n++] = hw_topology_schema;
  ret[n++] = coll_knobs_schema;
  ret[n++] = study_memory_schema;
  return n;
}

Study *study_new(const char *workload) {
  ConfSchema schemas[SCHEMAS_MOST];
  gsize n_schemas = gather_schemas(schemas);
  Study *study = g_new0(Study, 1);
  study->settings = conf_settings_new(schemas, n_schemas);
  study->workload = g_strdup(workload);
  return study;
}

Study *study_open(const char *workload, GError **error) {
  g_autofree char *path = conf_path_find(workload, ".ini", "workloads", NULL, NULL, error);
  if (path == NULL)
    return NULL;
  g_autofree char *name = g_path_get_basename(path);
  if (g_str_has_suffix(name, ".ini"))
    name[strlen(name) - strlen(".ini")] = '\0';
  g_autoptr(Study) study = study_new(name);
  if (!conf_settings_load(study->settings, path, CONF_ORIGIN_FILE, error))
    return NULL;
  return g_steal_pointer(&study);
}

void study_free(Study *study) {
  if (study == NULL)
    return;
  conf_settings_free(study->settings);
  g_free(study->workload);
  g_free(study);
}

gboolean study_set(Study *study, const char *assignment, GError **error) {
  return conf_settings_set(study->settings, assignment, error);
}

void study_print_reference(GString *text) {
  ConfSchema schemas[SCHEMAS_MOST];
  gsize n_schemas = gather_schemas(schemas);
  conf_schema_print(schemas, n_schemas, text);
}

void study_walk_clear(StudyWalk *walk) {
  if (walk->groups != NULL)
    for (guint32 c = 0; c < walk->program->n_communicators; c++)
      coll_group_free(walk->groups[c]);
  g_free(walk->groups);
  coll_library_free(walk->library);
  coll_knobs_clear(&walk->knobs);
  program_free(walk->program);
  model_shape_clear(&walk->shape);
  hw_cluster_free(walk->cluster);
  hw_catalog_free(walk->catalog);
  conf_settings_free(walk->settings);
  g_free(walk->key);
}

static gboolean check_offload(const StudyWalk *walk, GError **error) {
  const HwCluster *cluster = walk->cluster;
  if (!walk->recipe.offload_optimizer && !walk->recipe.offload_parameters)
    return TRUE;
  if (cluster->host_link == NULL || cluster->host_link->pageable == 0)
    return conf_settings_fail(walk->settings, "host.link", error,
                              "offload needs to know each GPU's way to host memory, as in pcie5-x16-host");
  return cluster->dram_bandwidth > 0 || conf_settings_fail(walk->settings, "host.dram_bandwidth", error,
                                                           "offload needs to know the host memory's bandwidth");
}

gboolean study_walk_read(StudyWalk *walk, GError **error) {
  walk->catalog = hw_catalog_load(error);
  if (walk->catalog == NULL)
    return FALSE;
  walk->cluster = hw_cluster_build(walk->settings, walk->catalog, error);
  if (walk->cluster == NULL || !model_shape_load(walk->settings, &walk->shape, error) ||
      !model_shape_record(&walk->shape, walk->settings, error) ||
      !coll_knobs_load(walk->settings, &walk->knobs, error) ||
      !study_memory_load(walk->settings, &walk->memory, error) ||
      !model_recipe_load(walk->settings, &walk->model_recipe, error) ||
      !model_recipe_check(&walk->shape, &walk->model_recipe, walk->settings, error) ||
      !plan_recipe_load(walk->settings, hw_cluster_gpus(walk->cluster), walk->cluster->gpus_per_node, &walk->recipe,
                        error))
    return FALSE;
  if (walk->model_recipe.loss == MODEL_LOSS_DEFAULT)
    walk->model_recipe.loss = walk->recipe.framework == PLAN_NANOTRON ? MODEL_LOSS_VOCAB_PARALLEL : MODEL_LOSS_EAGER;
  walk->recipe.host = walk->recipe.framework != PLAN_PAPER ? walk->cluster->host : NULL;
  if (!check_offload(walk, error))
    return FALSE;
  KernelDtype dtype = (KernelDtype)model_precision_dtype(walk->model_recipe.precision);
  return kernel_supports(walk->cluster->gpu, dtype) ||
         conf_settings_fail(walk->settings, "training.precision", error, "%s matmuls are not in the hardware of %s",
                            kernel_dtype_names[dtype], walk->cluster->gpu->name);
}

/* What the Program calls on a slot, each call once. */
static GArray *calls_on(const Program *program, guint32 slot) {
  GArray *calls = g_array_new(FALSE, FALSE, sizeof(CollCall));
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      const ProgramSection *section = &program->roles[r].sections[s];
      for (guint32 i = 0; i < section->n_rows; i++) {
        const ProgramRow *row = &section->rows[i];
        gboolean known = row->kind != PROGRAM_COLLECTIVE || row->group != slot;
        for (guint k = 0; !known && k < calls->len; k++)
          known = g_array_index(calls, CollCall, k).operation == row->call.operation &&
                  g_array_index(calls, CollCall, k).bytes == row->call.bytes;
        if (!known)
          g_array_append_val(calls, row->call);
      }
    }
  return calls;
}

/* Connects, on each communicator, what the Program calls on the slots that mean it. */
static void prepare_groups(const StudyWalk *walk) {
  const Program *program = walk->program;
  for (guint32 slot = 0; slot < program->n_slots; slot++) {
    g_autoptr(GArray) calls = calls_on(program, slot);
    g_autofree gboolean *done = g_new0(gboolean, program->n_communicators);
    for (guint32 rank = 0; rank < program->n_ranks; rank++) {
      guint32 group = program_group(program, rank, slot);
      for (guint k = 0; !done[group] && k < calls->len; k++)
        coll_group_prepare(walk->groups[group], &g_array_index(calls, CollCall, k));
      done[group] = TRUE;
    }
  }
}

static gboolean build_program(StudyWalk *walk, GError **error) {
  walk->library = coll_library_new(walk->cluster, &walk->knobs, error);
  if (walk->library == NULL)
    return FALSE;
  walk->key = study_key(walk->settings, walk->catalog, walk->library->table, model_shape_parameters(&walk->shape),
                        walk->fidelity, walk->shape.profile, error);
  if (walk->key == NULL)
    return FALSE;
  g_autoptr(StudyProfile) profile = NULL;
  if (walk->shape.profile != NULL &&
      (profile = study_profile_load(walk->shape.profile, &walk->shape, &walk->model_recipe, walk->recipe.micro_batch,
                                    error)) == NULL)
    return FALSE;
  walk->program = plan_program(&walk->shape, &walk->model_recipe, &walk->recipe);
  if (profile != NULL)
    study_profile_apply(profile, walk->cluster->gpu, walk->program);
  walk->groups = g_new0(CollGroup *, walk->program->n_communicators);
  for (guint32 c = 0; c < walk->program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &walk->program->communicators[c];
    walk->groups[c] = coll_group_new(walk->library, communicator->ranks, communicator->n_ranks, error);
    if (walk->groups[c] == NULL)
      return FALSE;
  }
  prepare_groups(walk);
  return TRUE;
}

static void note(GPtrArray *notes, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void note(GPtrArray *notes, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

static void note_trust(GPtrArray *notes, const char *name, int trust) {
  if (trust == HW_TRUST_RECALLED || trust == HW_TRUST_DERIVED)
    note(notes, "figures of %s are %s, not measured", name, hw_trust_names[trust]);
}

static char **assumptions(const StudyWalk *walk, const RunReport *report) {
  g_autoptr(GPtrArray) notes = g_ptr_array_new();
  const HwCluster *cluster = walk->cluster;
  g_autofree char *basis = walk->shape.profile != NULL
                               ? g_strdup_printf("layers take the times of %s", walk->shape.profile)
                               : kernel_basis(cluster->gpu);
  note(notes, "%s; compute does not slow down beside communication", basis);
  note(notes,
       "memory is as PyTorch's caching allocator holds it%s; what stalls when it gives its cache back is not "
       "timed",
       walk->memory.expandable_segments ? ", in expandable segments" : "");
  note(notes, "collectives are NCCL's, in %s fidelity", walk->fidelity);
  if (!walk->library->exact) {
    g_autofree char *table = g_path_get_basename(walk->library->table);
    note(notes, "the tuning table of NCCL %s is not shipped: %s chooses, the nearest older", walk->knobs.version,
         table);
  }
  if (!conf_settings_given(walk->settings, "training.micro_batch") &&
      !conf_settings_given(walk->settings, "training.global_batch"))
    note(notes, "no batch is stated: one sequence per GPU");
  plan_notes(&walk->recipe, notes);
  if (walk->recipe.zero_stage > 0 && walk->recipe.ranks > 1)
    note(notes, "shards differ by padding at most: every rank plays the largest");
  note_trust(notes, cluster->gpu->name, cluster->gpu->trust);
  if (cluster->gpus_per_node > 1)
    note_trust(notes, cluster->intra->name, cluster->intra->trust);
  if (cluster->nodes > 1) {
    note_trust(notes, cluster->nic->name, cluster->nic->trust);
    note_trust(notes, cluster->platform->name, cluster->platform->trust);
  }
  if (!report->repeats)
    note(notes, "steps were still changing after the most that are played: the last one is shown");
  g_ptr_array_add(notes, NULL);
  return (char **)g_ptr_array_steal(notes, NULL);
}

#define SECONDS_PER_HOUR 3600.0
#define HOURS_PER_DAY    24.0

static void fill_price(RunReport *report) {
  const RunIdentity *identity = &report->identity;
  double step = sim_time_to_seconds(report->classes[report->slowest].step);
  report->price_per_step = identity->gpu_hour * identity->gpus * step / SECONDS_PER_HOUR;
  report->price_per_million_tokens = report->price_per_step / (double)report->tokens * 1e6;
  double steps = identity->total_tokens / (double)report->tokens;
  report->days_to_train = steps * step / SECONDS_PER_HOUR / HOURS_PER_DAY;
  report->price_to_train = steps * report->price_per_step;
}

static void fill_identity(const Study *study, const StudyWalk *walk, RunReport *report) {
  RunIdentity *identity = &report->identity;
  identity->run_key = g_strdup(walk->key);
  identity->workload = g_strdup(study->workload);
  identity->topology = g_strdup(walk->cluster->topology);
  identity->model = g_strdup(walk->shape.name);
  identity->gpu = g_strdup(walk->cluster->gpu->name);
  identity->framework = g_strdup(plan_framework_names[walk->recipe.framework]);
  identity->zero_stage = (guint32)walk->recipe.zero_stage;
  identity->gpus = hw_cluster_gpus(walk->cluster);
  identity->nodes = walk->cluster->nodes;
  identity->parameters = model_shape_parameters(&walk->shape);
  identity->sequence_length = walk->model_recipe.sequence_length;
  identity->micro_batch = walk->recipe.micro_batch;
  identity->gradient_accumulation = walk->recipe.gradient_accumulation;
  identity->global_batch = walk->recipe.global_batch;
  identity->precision = g_strdup(model_precision_names[walk->model_recipe.precision]);
  identity->activation_checkpointing = plan_checkpointing_text(&walk->recipe.checkpointing);
  identity->gpu_hour = walk->cluster->gpu_hour;
  identity->total_tokens = walk->recipe.total_tokens;
  identity->notes = assumptions(walk, report);
  study_key_settings(walk->settings, identity);
  fill_price(report);
}

/* Whom each class of the report stands for, as fold says. */
static void fill_folding(const FoldSystem *folded, RunReport *report) {
  for (guint32 i = 0; i < report->n_classes; i++) {
    g_autofree char *members = fold_members(folded, i);
    g_autofree char *apart = fold_apart(folded, i);
    report->classes[i].members = g_string_chunk_insert(report->names, members);
    report->classes[i].apart = apart != NULL ? g_string_chunk_insert_const(report->names, apart) : NULL;
  }
  for (guint32 i = 0; i < report->n_links; i++) {
    int link_class = base_names_find(hw_link_class_names, report->links[i].link_class);
    g_autofree char *apart = fold_links_apart(folded, (HwLinkClass)link_class);
    report->links[i].apart = apart != NULL ? g_string_chunk_insert(report->names, apart) : NULL;
  }
}

/* A node's GPUs share its host memory, each has its own link to it. */
static void fill_host_rates(const HwCluster *cluster, RunSystem *system) {
  if (cluster->host_link == NULL)
    return;
  system->copy_rates[PROGRAM_PINNED] = cluster->host_link->achievable;
  system->copy_rates[PROGRAM_PAGEABLE] = cluster->host_link->pageable;
  system->cpu_rate = cluster->dram_bandwidth / cluster->gpus_per_node;
}

static RunReport *play(const Study *study, const StudyWalk *walk, const StudyOptions *options, GError **error) {
  static const EventTie ties[] = {EVENT_TIE_FORWARD, EVENT_TIE_REVERSE, EVENT_TIE_SHUFFLE};
  g_autoptr(FoldSystem) folded =
      fold_new(walk->program, walk->cluster, walk->groups, options->fold && !options->chunks);
  RunSystem system = {&folded->program, walk->cluster->gpu, folded->links,
                      folded->n_links,  folded->groups,     walk->cluster->speeds};
  fill_host_rates(walk->cluster, &system);
  RunOptions run = {.timeline = options->timeline,
                    .solver = options->net_full ? NET_SOLVER_FULL : NET_SOLVER_LAZY,
                    .tie = ties[options->tie],
                    .tie_seed = options->tie_seed,
                    .memory = walk->memory,
                    .chunks = options->chunks};
  RunReport *report = run_play(&system, &run, walk->key, error);
  if (report == NULL)
    return NULL;
  fill_folding(folded, report);
  fill_identity(study, walk, report);
  return report;
}

static RunReport *run_with(const Study *study, const ConfSettings *settings, const StudyOptions *options,
                           GError **error) {
  StudyWalk walk = {.settings = conf_settings_copy(settings), .fidelity = options->chunks ? "step" : "flow"};
  RunReport *report = NULL;
  if (study_walk_read(&walk, error) && build_program(&walk, error))
    report = play(study, &walk, options, error);
  study_walk_clear(&walk);
  return report;
}

RunReport *study_run(Study *study, const StudyOptions *options, GError **error) {
  return run_with(study, study->settings, options, error);
}

static RunReport *run_stage(const Study *study, int stage, const StudyOptions *options, GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_copy(study->settings);
  g_autofree char *assignment = g_strdup_printf("parallel.zero_stage=%d", stage);
  return conf_settings_set(settings, assignment, error) ? run_with(study, settings, options, error) : NULL;
}

gboolean study_run_stages(Study *study, const StudyOptions *options, StudyStages *ret, GError **error) {
  StudyStages stages = {.n = 0};
  g_autoptr(GError) first = NULL;
  for (int stage = 0; stage < STUDY_STAGES; stage++) {
    GError *refusal = NULL;
    RunReport *report = run_stage(study, stage, options, &refusal);
    if (report != NULL) {
      stages.reports[stages.n++] = report;
      continue;
    }
    stages.refused[stage] = g_strdup(refusal->message);
    if (first == NULL)
      first = refusal;
    else
      g_error_free(refusal);
  }
  if (stages.n == 0) {
    g_propagate_error(error, g_steal_pointer(&first));
    study_stages_clear(&stages);
    return FALSE;
  }
  *ret = stages;
  return TRUE;
}

void study_stages_clear(StudyStages *stages) {
  for (guint i = 0; i < stages->n; i++)
    run_report_free(stages->reports[i]);
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    g_free(stages->refused[stage]);
  *stages = (StudyStages){.n = 0};
}
