/* SPDX-License-Identifier: MIT */
/* Which few micro-batches are played for many. */
#include "study-count.h"

#include "base-quantity.h"
#include "kernel-time.h"
#include "run-count.h"
#include "study-size.h"

static RunReport *play(StudyWalk *walk, const StudyOptions *options, guint64 micro_batches, GError **error) {
  walk->recipe.micro_batches = micro_batches;
  study_walk_drop_program(walk);
  return study_walk_build(walk, error) ? study_walk_play(walk, options, error) : NULL;
}

/* ---- One stage: three plays on a line ---- */

#define PLAYS 3

/* How many the first play has: few, then, where what the step began with takes longer to settle, more. A play must be
 * worth it: all three together cost less than the step. */
static const guint32 tries[] = {3, 8};

/* Micro-batches: beyond, and beyond half the passes that study-size.h lets be played, those that are not alike are
 * counted all the same. */
#define MOST_PLAYED 4096

static guint64 cost_of(guint32 played) {
  return PLAYS * (guint64)played + PLAYS * (PLAYS - 1) / 2;
}

static gboolean refuse_longest(const StudyWalk *walk, GError **error) {
  g_autofree char *longest = base_format_time(RUN_LONGEST);
  return conf_settings_fail(walk->settings, "training.gradient_accumulation", error,
                            "a step of so many micro-batches lasts longer than %s, which is the most", longest);
}

/* What is left is counted on a line, which may leave the numbers. */
static gboolean check_end(const StudyWalk *walk, RunReport *const reports[PLAYS], const RunBodies *bodies,
                          GError **error) {
  const RunReport *before = reports[PLAYS - 2], *last = reports[PLAYS - 1];
  double longest = 0;
  for (guint32 i = 0; i < last->n_classes; i++) {
    double step = (double)last->classes[i].step;
    double each = before->n_classes == last->n_classes ? step - (double)before->classes[i].step : step;
    longest = MAX(longest, step + each * (double)bodies->more);
  }
  return longest < (double)RUN_LONGEST || refuse_longest(walk, error);
}

/* Nor did any time depend on what the cache held when it was given back before: it was once at most, for the request
 * that could not be met. */
static gboolean only_runs_out(const RunReport *third) {
  for (guint32 i = 0; i < third->n_classes; i++)
    if (third->classes[i].retries > 1)
      return FALSE;
  return TRUE;
}

/* Levels of the allocator are known: they were made, or nothing depends on them, for memory has run out. */
static gboolean memory_known(const RunReport *third) {
  return third->classes[third->tightest].has_oom ? only_runs_out(third) : third->settled != RUN_UNSETTLED;
}

/* Fewer than all where the first has shown that they will not be counted. FALSE: an error. */
static gboolean play_line(StudyWalk *walk, const StudyOptions *options, const RunBodies *bodies, gboolean anyway,
                          RunReport **reports, GError **error) {
  StudyOptions summary = *options;
  summary.timeline = FALSE;
  gboolean goes_on = TRUE;
  for (guint i = 0; i < PLAYS && goes_on; i++) {
    guint32 micro_batches = bodies->played + i * bodies->body;
    walk->watched = micro_batches - bodies->body;
    if (i + 1 == PLAYS) /* the last two bodies but for what follows them */
      walk->windows = (RunWindows){.first = walk->watched - RUN_BODIES * bodies->body,
                                   .body = bodies->body,
                                   .more = bodies->more - (PLAYS - 1),
                                   .memory = TRUE};
    reports[i] = play(walk, i == 0 ? options : &summary, micro_batches, error);
    if (reports[i] == NULL)
      return FALSE;
    goes_on = anyway || run_count_may(reports[0]);
  }
  walk->windows = (RunWindows){0};
  return TRUE;
}

static gboolean count_reports(const StudyWalk *walk, RunReport **reports, const RunBodies *bodies, gboolean anyway,
                              RunReport **ret, GError **error) {
  if (!check_end(walk, reports, bodies, error))
    return FALSE;
  if (memory_known(reports[PLAYS - 1]) && run_count(reports[0], reports[1], reports[2], bodies)) {
    *ret = g_steal_pointer(&reports[0]);
  } else if (anyway) {
    run_count_anyway(reports[0], reports[1], reports[2], bodies);
    *ret = g_steal_pointer(&reports[2]);
  }
  return TRUE;
}

/* FALSE: an error. */
static gboolean try_line(StudyWalk *walk, const StudyOptions *options, const RunBodies *bodies, gboolean anyway,
                         RunReport **ret, GError **error) {
  RunReport *reports[PLAYS] = {NULL};
  gboolean good = play_line(walk, options, bodies, anyway, reports, error);
  if (reports[PLAYS - 1] != NULL)
    good = count_reports(walk, reports, bodies, anyway, ret, error);
  for (guint i = 0; i < PLAYS; i++)
    run_report_free(reports[i]);
  return good;
}

static gboolean count_line(StudyWalk *walk, const StudyOptions *options, RunReport **ret, GError **error) {
  guint64 all = walk->recipe.gradient_accumulation;
  gboolean too_many = all > MOST_PLAYED || study_size_passes(walk) > STUDY_PASSES_MOST / 2;
  for (guint i = 0; i < G_N_ELEMENTS(tries) && *ret == NULL && all > cost_of(tries[i]); i++) {
    RunBodies bodies = {.played = tries[i], .body = 1, .more = all - tries[i]};
    gboolean anyway = i + 1 == G_N_ELEMENTS(tries) && too_many;
    if (!try_line(walk, options, &bodies, anyway, ret, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- A pipeline: two windows of one play ---- */

/* Micro-batches in flight change places in the allocator's blocks, which a short body would not show. */
#define LEAST_BODY 4

/* Micro-batches before the windows, in each of them, after them. */
typedef struct {
  guint32 fill, body, drain;
  gboolean settling; /* is good enough */
} Windows;

static guint32 stages_of(const PlanRecipe *recipe) {
  return MAX(recipe->axes.layout.degree[LAYOUT_PIPELINE], 1);
}

/* Of interleaved chunks whole groups: those that fill the pipeline and one more; then, where its stages have not found
 * their rhythm by then, twice as many. */
static Windows of_groups(const PlanRecipe *recipe, guint attempt) {
  static const guint32 fills[] = {3, 6};
  guint32 group = recipe->pipeline.group, least = MAX(stages_of(recipe), LEAST_BODY);
  guint32 body = (least + group - 1) / group * group;
  return (Windows){.fill = fills[attempt] * body, .body = body, .drain = group, .settling = TRUE};
}

/* Of others first few, where the stages are in step at once. */
static Windows windows_of(const PlanRecipe *recipe, guint attempt) {
  guint32 stages = stages_of(recipe), body = MAX(stages, LEAST_BODY);
  if (layout_goes_around(&recipe->axes))
    return of_groups(recipe, attempt);
  if (attempt == 0)
    return (Windows){.fill = MAX(stages, 2 * (body - LEAST_BODY)) + LEAST_BODY, .body = LEAST_BODY, .drain = 1};
  return (Windows){.fill = 3 * body, .body = body, .drain = 1, .settling = TRUE};
}

/* What is left beside whole bodies is played before the windows. FALSE: an error. */
static gboolean try_windows(StudyWalk *walk, const StudyOptions *options, const Windows *windows, RunReport **ret,
                            GError **error) {
  guint64 all = walk->recipe.gradient_accumulation;
  guint32 least = windows->fill + RUN_BODIES * windows->body + windows->drain;
  if (all <= least + least / 4) /* it would not be worth it */
    return TRUE;
  guint32 rest = (guint32)((all - least) % windows->body);
  walk->windows =
      (RunWindows){.first = windows->fill + rest, .body = windows->body, .more = (all - least - rest) / windows->body};
  *ret = play(walk, options, least + rest, error);
  if (*ret == NULL)
    return FALSE;
  if (run_report_slowest(*ret)->step >= RUN_LONGEST) {
    g_clear_pointer(ret, run_report_free);
    return refuse_longest(walk, error);
  }
  RunSettled enough = windows->settling ? RUN_SETTLING : RUN_SETTLED;
  if ((*ret)->settled < enough)
    g_clear_pointer(ret, run_report_free);
  return TRUE;
}

static gboolean count_windows(StudyWalk *walk, const StudyOptions *options, RunReport **ret, GError **error) {
  for (guint i = 0; i < 2 && *ret == NULL; i++) {
    Windows windows = windows_of(&walk->recipe, i);
    if (!try_windows(walk, options, &windows, ret, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- The whole ---- */

static SimTime duration_of(const StudyWalk *walk, const ProgramRow *row) {
  const Program *program = walk->program;
  if (row->kind != PROGRAM_COMPUTE)
    return 0;
  if (program->durations != NULL && program->durations[row->op] >= 0)
    return program->durations[row->op];
  return kernel_time(walk->cluster->gpu, &program->ops[row->op]);
}

/* What one of them takes at the busiest stage, of its GPU or of its host, which do one thing at a time: no step of n is
 * shorter than n of these. */
static double least_of_one(const StudyWalk *walk, gint32 micro) {
  double most = 0;
  for (guint32 r = 0; r < walk->program->n_roles; r++) {
    const ProgramSection *steady = &walk->program->roles[r].sections[PROGRAM_STEADY];
    double compute = 0, host = 0;
    for (guint32 i = 0; i < steady->n_rows; i++) {
      if (steady->rows[i].micro != micro)
        continue;
      compute += (double)duration_of(walk, &steady->rows[i]);
      host += (double)steady->rows[i].host;
    }
    most = MAX(most, MAX(compute, host));
  }
  return most;
}

/* Steps that are certainly too long are not played to learn it. FALSE: an error. */
static gboolean check_length(StudyWalk *walk, GError **error) {
  guint64 all = walk->recipe.gradient_accumulation, few = windows_of(&walk->recipe, 0).fill;
  if (all <= MOST_PLAYED)
    return TRUE;
  walk->recipe.micro_batches = few;
  study_walk_drop_program(walk);
  if (!study_walk_build(walk, error))
    return FALSE;
  return least_of_one(walk, (gint32)few - 1) * (double)all < (double)RUN_LONGEST || refuse_longest(walk, error);
}

gboolean study_count(StudyWalk *walk, const StudyOptions *options, RunReport **ret, GError **error) {
  *ret = NULL;
  if (options->every_step || options->every_micro_batch || options->chunks)
    return TRUE;
  gboolean good = check_length(walk, error) && (stages_of(&walk->recipe) > 1 ? count_windows(walk, options, ret, error)
                                                                             : count_line(walk, options, ret, error));
  walk->recipe.micro_batches = 0;
  walk->watched = 0;
  walk->windows = (RunWindows){0};
  if (*ret == NULL)
    study_walk_drop_program(walk);
  return good;
}
