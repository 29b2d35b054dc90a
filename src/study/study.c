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
#include "study-walk.h"

#define SCHEMAS 7

static void gather_schemas(ConfSchema ret[SCHEMAS]) {
  ret[0] = model_shape_schema;
  ret[1] = model_recipe_schema;
  ret[2] = plan_schema;
  ret[3] = hw_cluster_schema;
  ret[4] = hw_topology_schema;
  ret[5] = coll_knobs_schema;
  ret[6] = recipe_schema;
}

ConfSettings *study_settings_new(void) {
  ConfSchema schemas[SCHEMAS];
  gather_schemas(schemas);
  return conf_settings_new(schemas, G_N_ELEMENTS(schemas));
}

Study *study_open(const char *workload, GError **error) {
  g_autofree char *path = conf_path_find(workload, ".ini", "workloads", NULL, NULL, error);
  if (path == NULL)
    return NULL;
  if (!study_refuse_recipe(path, error))
    return NULL;
  g_autoptr(Study) study = g_new0(Study, 1);
  study->settings = study_settings_new();
  g_autofree char *name = g_path_get_basename(path);
  if (g_str_has_suffix(name, ".ini"))
    name[strlen(name) - strlen(".ini")] = '\0';
  study->workload = g_strdup(name);
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
  ConfSchema schemas[SCHEMAS];
  gather_schemas(schemas);
  conf_schema_print(schemas, G_N_ELEMENTS(schemas), text);
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
  recipe_free(walk->tool_recipe);
  hw_cluster_free(walk->cluster);
  hw_catalog_free(walk->catalog);
  conf_settings_free(walk->settings);
  g_free(walk->key);
}

gboolean study_walk_read(StudyWalk *walk, GError **error) {
  walk->catalog = hw_catalog_load(error);
  if (walk->catalog == NULL || !study_recipe_apply(walk->settings, walk->catalog, &walk->tool_recipe, error))
    return FALSE;
  walk->cluster = hw_cluster_build(walk->settings, walk->catalog, error);
  if (walk->cluster == NULL || !model_shape_load(walk->settings, &walk->shape, error) ||
      !model_shape_record(&walk->shape, walk->settings, error) ||
      !coll_knobs_load(walk->settings, &walk->knobs, error) ||
      !model_recipe_load(walk->settings, &walk->model_recipe, error) ||
      !model_recipe_check(&walk->shape, &walk->model_recipe, walk->settings, error) ||
      !plan_recipe_load(walk->settings, hw_cluster_gpus(walk->cluster), &walk->recipe, error))
    return FALSE;
  KernelDtype dtype = (KernelDtype)model_precision_dtype(walk->model_recipe.precision);
  return kernel_supports(walk->cluster->gpu, dtype) ||
         conf_settings_fail(walk->settings, "training.precision", error, "%s matmuls are not in the hardware of %s",
                            kernel_dtype_names[dtype], walk->cluster->gpu->name);
}

/* Connects what the Program calls on each communicator. */
static void prepare_groups(const StudyWalk *walk) {
  for (guint32 r = 0; r < walk->program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      const ProgramSection *section = &walk->program->roles[r].sections[s];
      for (guint32 i = 0; i < section->n_rows; i++)
        if (section->rows[i].kind == PROGRAM_COLLECTIVE)
          coll_group_prepare(walk->groups[section->rows[i].group], &section->rows[i].call);
    }
}

static gboolean build_program(StudyWalk *walk, GError **error) {
  walk->library = coll_library_new(walk->cluster, &walk->knobs, error);
  if (walk->library == NULL)
    return FALSE;
  walk->key = study_key(walk->settings, walk->catalog, walk->library->table, model_shape_parameters(&walk->shape),
                        walk->fidelity, error);
  if (walk->key == NULL)
    return FALSE;
  walk->program = plan_program(&walk->shape, &walk->model_recipe, &walk->recipe);
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
  note(notes, "compute is a roofline over sustained rates, attention at that of matmuls; it does not slow down beside "
              "communication");
  note(notes, "norms and activations take the time of separate kernels and keep the memory of fused ones");
  note(notes, "memory is what is allocated: an allocator's rounding and fragmentation come on top");
  note(notes, "collectives are NCCL's, in %s fidelity", walk->fidelity);
  if (!walk->library->exact) {
    g_autofree char *table = g_path_get_basename(walk->library->table);
    note(notes, "the tuning table of NCCL %s is not shipped: %s chooses, the nearest older", walk->knobs.version,
         table);
  }
  if (!conf_settings_given(walk->settings, "training.micro_batch") &&
      !conf_settings_given(walk->settings, "training.global_batch"))
    note(notes, "no batch is stated: one sequence per GPU");
  if (walk->tool_recipe != NULL)
    note(notes,
         "%s is a recipe of %s: %u of its settings hold below the workload's, %u keys change no step; --explain lists "
         "both",
         walk->tool_recipe->file, walk->tool_recipe->tool, walk->tool_recipe->taken->len, walk->tool_recipe->left->len);
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
  identity->activation_checkpointing = g_strdup(plan_checkpointing_names[walk->recipe.checkpointing]);
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

static RunReport *play(const Study *study, const StudyWalk *walk, const StudyOptions *options, GError **error) {
  static const EventTie ties[] = {EVENT_TIE_FORWARD, EVENT_TIE_REVERSE, EVENT_TIE_SHUFFLE};
  g_autoptr(FoldSystem) folded =
      fold_new(walk->program, walk->cluster, walk->groups, options->fold && !options->chunks);
  RunSystem system = {&folded->program, walk->cluster->gpu, folded->links,
                      folded->n_links,  folded->groups,     walk->cluster->speeds};
  RunOptions run = {.timeline = options->timeline,
                    .solver = options->net_full ? NET_SOLVER_FULL : NET_SOLVER_LAZY,
                    .tie = ties[options->tie],
                    .tie_seed = options->tie_seed,
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

gboolean study_run_stages(Study *study, const StudyOptions *options, RunReport *ret_reports[STUDY_STAGES],
                          GError **error) {
  RunReport *reports[STUDY_STAGES] = {NULL};
  for (int stage = 0; stage < STUDY_STAGES; stage++) {
    g_autoptr(ConfSettings) settings = conf_settings_copy(study->settings);
    g_autofree char *assignment = g_strdup_printf("parallel.zero_stage=%d", stage);
    if (conf_settings_set(settings, assignment, error))
      reports[stage] = run_with(study, settings, options, error);
    if (reports[stage] == NULL) {
      for (int i = 0; i < stage; i++)
        run_report_free(reports[i]);
      return FALSE;
    }
  }
  memcpy(ret_reports, reports, sizeof reports);
  return TRUE;
}
