/* SPDX-License-Identifier: MIT */
/* The chain: files to settings, model, cluster, Program, fold, run, Report. */
#include "study.h"

#include <string.h>

#include "base-display.h"
#include "base-names.h"
#include "conf-path.h"
#include "kernel-time.h"
#include "plan.h"
#include "run-play.h"
#include "study-count.h"
#include "study-folded.h"
#include "study-key.h"
#include "study-memory.h"
#include "study-pages.h"
#include "study-played.h"
#include "study-power.h"
#include "study-profile.h"
#include "study-reliability-keys.h"
#include "study-size.h"
#include "study-walk.h"

#define SCHEMAS_MOST (8 + PLAN_SCHEMAS_MOST)

static gsize gather_schemas(ConfSchema ret[SCHEMAS_MOST]) {
  ret[0] = model_shape_schema;
  ret[1] = model_recipe_schema;
  gsize n = 2 + plan_schemas(ret + 2, PLAN_SCHEMAS_MOST);
  ret[n++] = hw_cluster_schema;
  ret[n++] = hw_topology_schema;
  ret[n++] = coll_knobs_schema;
  ret[n++] = recipe_schema;
  ret[n++] = study_memory_schema;
  ret[n++] = study_reliability_schema;
  return n;
}

ConfSettings *study_settings_new(void) {
  ConfSchema schemas[SCHEMAS_MOST];
  gsize n_schemas = gather_schemas(schemas);
  return conf_settings_new(schemas, n_schemas);
}

Study *study_new(const char *workload) {
  Study *study = g_new0(Study, 1);
  study->settings = study_settings_new();
  study->workload = g_strdup(workload);
  return study;
}

static Study *open_file(const char *workload, ConfText **ret_text, GError **error) {
  g_autofree char *path = conf_path_find(workload, ".ini", "workloads", NULL, NULL, error);
  if (path == NULL || !study_refuse_recipe(path, error))
    return NULL;
  g_autofree char *name = g_path_get_basename(path);
  if (g_str_has_suffix(name, ".ini"))
    name[strlen(name) - strlen(".ini")] = '\0';
  *ret_text = conf_text_load(path, error);
  return *ret_text != NULL ? study_new(name) : NULL;
}

Study *study_open_some(const char *workload, BaseErrors *errors) {
  GError *cause = NULL;
  g_autoptr(ConfText) text = NULL;
  Study *study = open_file(workload, &text, &cause);
  base_errors_add(errors, cause);
  if (study != NULL)
    conf_settings_load_some(study->settings, text, CONF_ORIGIN_FILE, errors);
  return study;
}

Study *study_open(const char *workload, GError **error) {
  BaseErrors errors = {0};
  g_autoptr(Study) study = study_open_some(workload, &errors);
  return base_errors_end(&errors, error) ? g_steal_pointer(&study) : NULL;
}

/* Files are named as in the workload; all else stands above the topology, whatever that says by now. */
static gboolean recall(Study *study, const char *path, const RunSetting *setting, GError **error) {
  gboolean is_topology = strcmp(setting->name, "cluster.topology") == 0;
  BasePlace place = {.file = path};
  if (!is_topology &&
      conf_settings_put(study->settings, setting->name, setting->value, CONF_ORIGIN_COMMAND_LINE, NULL, NULL))
    return TRUE;
  return conf_settings_put(study->settings, setting->name, setting->value, CONF_ORIGIN_FILE, &place, error);
}

Study *study_recall(const char *workload, const RunSetting *settings, guint n, GError **error) {
  g_autofree char *path = conf_path_find(workload, ".ini", "workloads", NULL, NULL, NULL);
  g_autoptr(Study) study = study_new(workload);
  for (guint i = 0; i < n; i++)
    if (!recall(study, path != NULL ? path : workload, &settings[i], error))
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

const char *study_setting(const Study *study, const char *name) {
  return conf_settings_get(study->settings, name);
}

void study_print_reference(GString *text) {
  ConfSchema schemas[SCHEMAS_MOST];
  gsize n_schemas = gather_schemas(schemas);
  conf_schema_print(schemas, n_schemas, text);
}

void study_reference_json(BaseJson *json) {
  ConfSchema schemas[SCHEMAS_MOST];
  gsize n_schemas = gather_schemas(schemas);
  conf_schema_json(schemas, n_schemas, json);
}

void study_walk_clear(StudyWalk *walk) {
  study_walk_clear_groups(walk);
  coll_knobs_clear(&walk->knobs);
  if (!walk->program_kept)
    program_free(walk->program);
  recipe_free(walk->tool_recipe);
  study_cache_free(walk->own_cache);
  conf_settings_free(walk->settings);
  g_free(walk->key);
}

void study_walk_need_cache(StudyWalk *walk) {
  if (walk->cache == NULL)
    walk->cache = walk->own_cache = study_cache_new();
}

/* Adds what an independent part of the walk says; FALSE where it failed. */
static gboolean note_error(BaseErrors *errors, gboolean good, GError **cause) {
  base_errors_add(errors, g_steal_pointer(cause));
  return good;
}

/* Each file and group by itself: their mistakes are told together. */
static void read_parts(StudyWalk *walk, BaseErrors *errors) {
  GError *cause = NULL;
  ConfSettings *settings = walk->settings;
  walk->machine = study_cache_machine(walk->cache, settings, &cause);
  if (note_error(errors, walk->machine != NULL, &cause)) {
    walk->cluster = walk->machine->cluster;
    note_error(errors, hw_cluster_price(walk->cluster, settings, &walk->gpu_hour, &cause), &cause);
  }
  const ModelShape *shape = study_cache_model(walk->cache, settings, &cause);
  if (note_error(errors, shape != NULL, &cause))
    walk->shape = *shape;
  note_error(errors, coll_knobs_load(settings, &walk->knobs, &cause), &cause);
  note_error(errors, study_memory_load(settings, &walk->memory, &cause), &cause);
  note_error(errors, plan_put_defaults(settings, &cause), &cause);
  note_error(errors, model_recipe_load(settings, &walk->model_recipe, &cause), &cause);
}

/* What needs several of them. */
static void read_whole(StudyWalk *walk, BaseErrors *errors) {
  GError *cause = NULL;
  ConfSettings *settings = walk->settings;
  PlanPlace place = {hw_cluster_gpus(walk->cluster), walk->cluster->gpus_per_node, walk->cluster->host,
                     (guint32)walk->cluster->gpu->compute_capability};
  model_recipe_settle(&walk->shape, settings, &walk->model_recipe);
  note_error(errors, model_recipe_check(&walk->shape, &walk->model_recipe, settings, &cause), &cause);
  KernelDtype dtype = (KernelDtype)model_precision_dtype(walk->model_recipe.precision);
  if (!kernel_supports(walk->cluster->gpu, dtype))
    note_error(errors,
               conf_settings_fail(settings, "training.precision", &cause, "%s matmuls are not in the hardware of %s",
                                  kernel_dtype_names[dtype], walk->cluster->gpu->name),
               &cause);
  if (plan_recipe_load(settings, &place, &walk->shape, &walk->model_recipe, &walk->recipe, &cause)) {
    note_error(errors, study_memory_check_offload(settings, walk->cluster, &walk->recipe, &cause), &cause);
    return;
  }
  plan_recipe_judge(settings, &place, &walk->shape, PLAN_JUDGED_BATCH, errors);
  note_error(errors, FALSE, &cause);
}

gboolean study_walk_read(StudyWalk *walk, GError **error) {
  study_walk_need_cache(walk);
  BaseErrors errors = {0};
  const HwCatalog *catalog = study_cache_catalog(walk->cache, error);
  if (catalog == NULL)
    return FALSE;
  walk->tool_recipe = study_recipe_apply(walk->settings, catalog, &errors);
  gboolean laid = errors.lines == 0;
  read_parts(walk, &errors);
  if (errors.lines == 0)
    read_whole(walk, &errors);
  else if (laid || conf_settings_given(walk->settings, "parallel.framework"))
    study_walk_judge(walk, laid ? PLAN_JUDGED_BATCH : PLAN_JUDGED_FRAMEWORK, &errors);
  return base_errors_end(&errors, error) || study_recipe_fail(walk->tool_recipe, walk->settings, error);
}

/* All that decides the result is known: which run it is. */
static gboolean find_key(StudyWalk *walk, GError **error) {
  if (!study_machine_connect(walk->cache, walk->machine, &walk->knobs, error))
    return FALSE;
  walk->library = walk->machine->library;
  walk->key = study_key(walk->settings, walk->machine->figures, model_shape_parameters(&walk->shape), walk->fidelity,
                        walk->contention, walk->shape.profile, error);
  return walk->key != NULL;
}

Program *study_walk_program(const StudyWalk *walk) {
  Program *(*plan)(const ModelShape *, const ModelRecipe *, const PlanRecipe *) =
      walk->every_section ? plan_program_of_all : plan_program;
  return plan(&walk->shape, &walk->model_recipe, &walk->recipe);
}

static gboolean build_program(StudyWalk *walk, GError **error) {
  g_autoptr(StudyProfile) profile = NULL;
  if (!study_size_check(walk, error))
    return FALSE;
  if (walk->shape.profile != NULL &&
      (profile = study_profile_load(walk->shape.profile, &walk->shape, &walk->model_recipe, walk->recipe.micro_batch,
                                    error)) == NULL)
    return FALSE;
  if (profile == NULL) {
    walk->program = study_cache_program(walk->cache, walk, &walk->program_kept);
  } else {
    walk->program = study_walk_program(walk);
    study_profile_apply(profile, walk->cluster->gpu, walk->program);
  }
  return walk->groups != NULL || study_folded_groups(walk, error);
}

void study_walk_drop_program(StudyWalk *walk) {
  if (!walk->program_kept)
    program_free(walk->program);
  walk->program = NULL;
  walk->program_kept = 0;
}

gboolean study_walk_build(StudyWalk *walk, GError **error) {
  return build_program(walk, error);
}

void study_walk_price(RunReport *report) {
  const RunIdentity *identity = &report->identity;
  double step = sim_time_to_seconds(run_report_slowest(report)->step);
  report->price_per_step = identity->gpu_hour * identity->gpus * step / BASE_HOUR;
  if (report->tokens == 0)
    return;
  report->price_per_million_tokens = report->price_per_step / (double)report->tokens * 1e6;
  double steps = identity->total_tokens / (double)report->tokens;
  report->days_to_train = steps * step / BASE_DAY;
  report->price_to_train = steps * report->price_per_step;
}

static void fill_identity(const char *workload, const StudyWalk *walk, RunIdentity *identity) {
  identity->run_key = g_strdup(walk->key);
  identity->workload = base_display_line(workload);
  identity->topology = base_display_line(walk->cluster->topology);
  identity->model = base_display_line(walk->shape.name);
  identity->gpu = g_strdup(walk->cluster->gpu->name);
  identity->architecture = g_strdup(walk->cluster->gpu->architecture);
  identity->network_rate = study_network_rate(walk->cluster);
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
  identity->gpu_hour = walk->gpu_hour;
  identity->total_tokens = walk->recipe.total_tokens;
  study_key_settings(walk->settings, identity);
}

/* Whom each class of the report stands for, as fold says. */
static void fill_folding(const StudyWalk *walk, const FoldSystem *folded, RunReport *report) {
  for (guint32 i = 0; i < report->n_classes; i++) {
    g_autofree char *members = fold_members(folded, i);
    g_autofree char *apart = fold_apart(folded, i);
    report->classes[i].members = g_string_chunk_insert(report->names, members);
    report->classes[i].apart = apart != NULL ? g_string_chunk_insert_const(report->names, apart) : NULL;
    guint32 rank = report->classes[i].first_rank;
    g_autofree char *role =
        walk->recipe.axes.layout.ranks > 0 ? plan_rank_text(&walk->shape, &walk->recipe, rank) : NULL;
    report->classes[i].role = role != NULL ? g_string_chunk_insert_const(report->names, role) : NULL;
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
  system->copy_rates[PROGRAM_MANAGED] = cluster->host_link->managed;
  system->cpu_rate = cluster->dram_bandwidth / cluster->gpus_per_node;
}

/* Shared by the ranks of a node. */
static void fill_host_memory(const StudyWalk *walk, RunReport *report) {
  if (walk->recipe.ranks == 0)
    return;
  report->host_used = plan_host_bytes(&walk->shape, &walk->model_recipe, &walk->recipe) * walk->cluster->gpus_per_node;
  report->host_capacity = report->host_used > 0 ? walk->cluster->dram : 0;
}

RunReport *study_walk_play(const StudyWalk *walk, const StudyOptions *options, GError **error) {
  gboolean folds = options->fold && !options->chunks;
  if ((options->timeline && !study_size_check_timeline(walk, error)) ||
      (!folds && !study_size_check_unfolded(walk, options->timeline, error)))
    return NULL;
  static const EventTie ties[] = {EVENT_TIE_FORWARD, EVENT_TIE_REVERSE, EVENT_TIE_SHUFFLE};
  g_autoptr(FoldSystem) own = NULL;
  RunTables *tables;
  FoldSystem *folded = study_folded(walk, folds, &own, &tables);
  RunSystem system = {&folded->program, walk->cluster->gpu, folded->links,
                      folded->n_links,  folded->groups,     walk->cluster->speeds};
  system.slowest = walk->cluster->slowest;
  fill_host_rates(walk->cluster, &system);
  if (walk->cluster->host != NULL) {
    system.segment_take = walk->cluster->host->segment_take;
    system.segment_give = walk->cluster->host->segment_give;
  }
  RunOptions run = {.timeline = options->timeline,
                    .solver = options->net_full ? NET_SOLVER_FULL : NET_SOLVER_LAZY,
                    .tie = ties[options->tie],
                    .tie_seed = options->tie_seed,
                    .contention = walk->contention,
                    .every_step = options->every_step,
                    .apart = options->apart,
                    .watched = walk->watched,
                    .windows = walk->windows,
                    .memory = walk->memory,
                    .requests = walk->program_kept,
                    .tables = tables,
                    .recall = walk->own_cache == NULL ? study_cache_recall(walk->cache) : NULL,
                    .chunks = options->chunks,
                    .trace = options->trace};
  g_autoptr(GPtrArray) notes = g_ptr_array_new();
  RunReport *report = run_play(&system, &run, walk->key, error);
  if (report == NULL)
    return NULL;
  fill_host_memory(walk, report);
  study_pages_fill(walk, report);
  run_report_choose(report);
  fill_folding(walk, folded, report);
  study_walk_note_play(notes, walk, report);
  g_ptr_array_add(notes, NULL);
  report->identity.notes = (char **)g_ptr_array_steal(notes, NULL);
  return report;
}

static RunReport *play_once(StudyWalk *walk, const StudyOptions *options, GError **error) {
  g_autofree char *key = study_played_key(walk, options);
  RunReport *report = study_played_find(walk, key);
  if (report != NULL)
    return report;
  if (study_count(walk, options, &report, error) && report == NULL && build_program(walk, error))
    report = study_walk_play(walk, options, error);
  if (report != NULL)
    study_played_keep(walk, key, report);
  return report;
}

static RunReport *play_walk(StudyWalk *walk, const StudyOptions *options, GError **error) {
  return study_pages_play(walk, options, play_once, error);
}

/* Where paged states have room is known from a play. */
static gboolean settle_pages(StudyWalk *walk, GError **error) {
  const StudyOptions options = {.fold = TRUE};
  g_autoptr(RunReport) report = walk->recipe.paged ? play_walk(walk, &options, error) : NULL;
  study_walk_drop_program(walk);
  return !walk->recipe.paged || report != NULL;
}

gboolean study_walk_plan(StudyWalk *walk, GError **error) {
  return find_key(walk, error) && settle_pages(walk, error) && build_program(walk, error);
}

static RunReport *run_walk(const char *workload, StudyWalk *walk, const StudyOptions *options, StudyJudge judge,
                           gpointer user, GError **error) {
  if (!study_walk_read(walk, error) || !find_key(walk, error))
    return NULL;
  RunReport known = {0};
  fill_identity(workload, walk, &known.identity);
  gboolean wanted = judge == NULL || judge(&known, user) == STUDY_PLAY;
  RunReport *report = wanted ? play_walk(walk, options, error) : NULL;
  const StudyPower *power = report != NULL ? study_cache_power(walk->cache, error) : NULL;
  if (power == NULL) {
    run_report_free(report);
    run_identity_clear(&known.identity);
    return NULL;
  }
  char **played = g_steal_pointer(&report->identity.notes);
  run_identity_clear(&report->identity);
  report->identity = known.identity;
  report->identity.notes = study_walk_join(study_walk_notes(walk), played);
  study_walk_price(report);
  study_walk_energy(walk, power, report);
  study_trust(walk, NULL, report);
  return report;
}

RunReport *study_run_settings(const char *workload, ConfSettings *settings, const StudyOptions *options,
                              StudyCache *cache, StudyJudge judge, gpointer user, GError **error) {
  StudyWalk walk = {.settings = settings,
                    .cache = cache,
                    .every_section = options->every_step,
                    .fidelity = options->chunks ? "step" : "flow",
                    .contention = !options->no_contention};
  gboolean set = !options->no_jitter || conf_settings_set(walk.settings, "cluster.gpu_spread=0", error);
  RunReport *report = set ? run_walk(workload, &walk, options, judge, user, error) : NULL;
  study_walk_clear(&walk);
  return report;
}

RunReport *study_run_judged(const Study *study, const StudyOptions *options, StudyCache *cache, StudyJudge judge,
                            gpointer user, GError **error) {
  return study_run_settings(study->workload, conf_settings_copy(study->settings), options, cache, judge, user, error);
}

char *study_find_key(const Study *study, GError **error) {
  StudyWalk walk = {.settings = conf_settings_copy(study->settings), .fidelity = "flow", .contention = TRUE};
  char *key = study_walk_read(&walk, error) && find_key(&walk, error) ? g_strdup(walk.key) : NULL;
  study_walk_clear(&walk);
  return key;
}

RunReport *study_run(Study *study, const StudyOptions *options, GError **error) {
  return study_run_judged(study, options, NULL, NULL, NULL, error);
}
