/* SPDX-License-Identifier: MIT */
/* The short ways of a run against the plain ones: steps that are known are not played, their memory alone is, points
 * share machines, models and Programs; every byte of the Report must be what playing every step from the files
 * gives. */
#include <string.h>

#include "harness.h"
#include "random-point.h"
#include "run-count.h"
#include "run-pack.h"

static const RandomAxis axes[] = {
    {"parallel.framework", {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"}},
    {"parallel.zero_stage", {"0", "1", "2", "3"}},
    {"cluster.nodes", {"1", "2", "3"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100", "h100-eth100"}},
    {"training.sequence_length", {"1024", "2048", "4096"}},
    {"training.micro_batch", {"1", "2", "3", "4", "6", "10"}}, /* some retry, the last run out of memory */
    {"training.gradient_accumulation", {"1", "3"}},
    {"training.activation_checkpointing", {"none", "full", "layers:2"}},
    {"training.trainable", {"all", "lora:16", "20-31"}},
    {"memory.expandable_segments", {"no", "yes"}},
    {"price.gpu_hour", {"1 USD", "2 USD"}},
};

/* Many micro-batches, of which few are played; short ones are bound by the host. */
static const RandomAxis many[] = {
    {"parallel.framework", {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"}},
    {"parallel.zero_stage", {"0", "1", "2", "3"}},
    {"cluster.nodes", {"1", "2"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100", "h100-eth100"}},
    {"model.config", {"models/gpt2-xl.json", "models/llama-2-7b.json"}},
    {"training.sequence_length", {"64", "256", "1024"}},
    {"training.micro_batch", {"1", "2", "4"}},
    {"training.gradient_accumulation", {"16", "23", "40", "57"}},
    {"training.activation_checkpointing", {"none", "full", "layers:2"}},
    {"cluster.slow_gpus", {"", "3: 0.8"}},
};

/* Stages that fill and drain. */
static const RandomAxis pipelines[] = {
    {"parallel.framework", {"nanotron", "megatron", "megatron", "fsdp2", "deepspeed"}},
    {"parallel.zero_stage", {"0", "1", "3"}},
    {"parallel.tensor", {"1", "2", "4"}},
    {"parallel.sequence_parallel", {"no", "yes"}},
    {"parallel.pipeline", {"2", "4"}},
    {"parallel.interleave", {"1", "1", "2", "4"}},
    {"cluster.nodes", {"1", "2"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100"}},
    {"training.sequence_length", {"256", "1024"}},
    {"training.gradient_accumulation", {"32", "60", "150", "201"}},
    {"training.activation_checkpointing", {"none", "full"}},
};

/* Backward in two passes. */
static const RandomAxis halves[] = {
    {"parallel.framework", {"fsdp2"}},
    {"parallel.schedule", {"zbv", "zb-h1"}},
    {"parallel.interleave", {"2"}},
    {"parallel.tensor", {"1", "2"}},
    {"parallel.pipeline", {"2", "4"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100"}},
    {"training.sequence_length", {"256", "1024"}},
    {"training.gradient_accumulation", {"120", "152"}},
    {"training.activation_checkpointing", {"none"}},
};

static StudyPoint *again(const StudyPoint *point) {
  StudyPoint *copy = study_point_new(point->file);
  copy->typed = TRUE;
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    study_point_add(copy, setting->name, setting->value, 0, 0);
  }
  return copy;
}

static gboolean same_text(const char *a, const char *b) {
  return g_strcmp0(a, b) == 0;
}

static gboolean classes_equal(const RunClass *a, const RunClass *b) {
  return a->step == b->step && a->compute == b->compute && a->communication == b->communication &&
         a->exposed == b->exposed && a->idle == b->idle && memcmp(a->by_cause, b->by_cause, sizeof a->by_cause) == 0 &&
         a->network_bytes_intra == b->network_bytes_intra && a->network_bytes_inter == b->network_bytes_inter &&
         a->verdict == b->verdict && a->short_by == b->short_by && a->steady_allocated == b->steady_allocated &&
         a->peak_allocated == b->peak_allocated && a->peak_active == b->peak_active &&
         a->peak_reserved == b->peak_reserved && a->device_used == b->device_used &&
         a->device_used_step == b->device_used_step && a->retries == b->retries && a->step_retries == b->step_retries &&
         a->step_stalled == b->step_stalled && memcmp(a->peak_held, b->peak_held, sizeof a->peak_held) == 0 &&
         memcmp(a->peak_unique, b->peak_unique, sizeof a->peak_unique) == 0 && a->peak_at == b->peak_at &&
         a->peak_step == b->peak_step && same_text(a->peak_name, b->peak_name) && a->peak_layer == b->peak_layer &&
         a->has_oom == b->has_oom && a->oom.at == b->oom.at && a->oom.step == b->oom.step && a->oom.row == b->oom.row &&
         same_text(a->oom.tensor, b->oom.tensor) && a->oom.requested == b->oom.requested &&
         a->oom.free == b->oom.free && a->oom.reserved == b->oom.reserved;
}

static gboolean timelines_equal(const RunClass *a, const RunClass *b) {
  gboolean equal = a->n_tasks == b->n_tasks && a->n_exposures == b->n_exposures && a->n_samples == b->n_samples;
  for (guint32 i = 0; equal && i < a->n_tasks; i++)
    equal = a->tasks[i].row == b->tasks[i].row && a->tasks[i].start == b->tasks[i].start &&
            a->tasks[i].end == b->tasks[i].end;
  return equal && (a->n_samples == 0 || memcmp(a->samples, b->samples, a->n_samples * sizeof *a->samples) == 0);
}

static gboolean links_equal(const RunReport *a, const RunReport *b) {
  gboolean equal = a->n_links == b->n_links;
  for (guint32 i = 0; equal && i < a->n_links; i++)
    equal = a->links[i].bytes == b->links[i].bytes && a->links[i].busy == b->links[i].busy;
  return equal;
}

static gboolean reports_equal(const RunReport *a, const RunReport *b) {
  gboolean same = a->n_classes == b->n_classes && a->steps_played == b->steps_played && a->repeats == b->repeats &&
                  a->price_per_step == b->price_per_step && same_text(a->identity.run_key, b->identity.run_key) &&
                  links_equal(a, b);
  for (guint32 i = 0; same && i < a->n_classes; i++)
    same = classes_equal(&a->classes[i], &b->classes[i]) && timelines_equal(&a->classes[i], &b->classes[i]);
  return same;
}

/* Of a pipeline that is settling the step, what memory held and what links carried are exact, and only how the step
 * splits is not: a part may be off by a 100th of it, what waits for peers can change by a 20th (run-window.h). */
static gboolean nearly(SimTime *counted, SimTime plain, SimTime most) {
  gboolean near = ABS(*counted - plain) <= most;
  *counted = plain;
  return near;
}

static gboolean shares_nearly(RunClass *counted, const RunClass *plain) {
  gboolean near = nearly(&counted->compute, plain->compute, plain->step / 100) &&
                  nearly(&counted->exposed, plain->exposed, plain->step / 100) &&
                  nearly(&counted->idle, plain->idle, plain->step / 100) &&
                  nearly(&counted->communication, plain->communication, plain->step / 20);
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    near &= nearly(&counted->by_cause[cause], plain->by_cause[cause], plain->step / 100);
  return near;
}

static gboolean settling_nearly(RunReport *counted, const RunReport *plain) {
  gboolean near = counted->n_classes == plain->n_classes && counted->n_links == plain->n_links;
  for (guint32 i = 0; near && i < counted->n_classes; i++)
    near = shares_nearly(&counted->classes[i], &plain->classes[i]);
  for (guint32 i = 0; near && i < counted->n_links; i++)
    near = nearly(&counted->links[i].busy, plain->links[i].busy, plain->classes[0].step / 20);
  return near;
}

/* Of ranks whose memory has run out: what would be reserved beyond the device depends on how many steps are played, and
 * these on when that, too, repeats. All else is as exact as of ranks that fit. */
static gboolean beyond_nearly(RunReport *counted, const RunReport *plain) {
  gboolean near = counted->n_classes == plain->n_classes;
  for (guint32 i = 0; near && i < counted->n_classes; i++) {
    RunClass *a = &counted->classes[i];
    const RunClass *b = &plain->classes[i];
    if (!b->has_oom)
      continue;
    near = a->short_by == (a->device_used > a->capacity ? a->device_used - a->capacity : 0) &&
           ABS((gint64)(a->peak_reserved - b->peak_reserved)) <= (gint64)(b->peak_reserved / 20) &&
           a->device_used - a->peak_reserved == b->device_used - b->peak_reserved;
    a->peak_reserved = b->peak_reserved;
    a->device_used = b->device_used;
    a->short_by = b->short_by;
    a->device_used_step = b->device_used_step;
    counted->steps_played = plain->steps_played;
    counted->repeats = plain->repeats;
  }
  return near;
}

static void compare(const RandomAxis *of, gsize n_axes, gboolean timeline, guint points) {
  g_autoptr(GRand) random = harness_random();
  g_autoptr(Study) base = study_open("llama2-7b", NULL);
  g_autoptr(StudyCache) cache = study_cache_new();
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  guint played = 0, settled = 0, retried = 0, fewer = 0, counted[RUN_SETTLED + 1] = {0};
  for (guint i = 0; i < points; i++) {
    g_autoptr(StudyPoint) fast = random_point(of, n_axes, random), plain = again(fast);
    study_point_run(fast, base, &(StudyOptions){.fold = TRUE, .timeline = timeline}, cache);
    study_point_run(plain, base, &(StudyOptions){.fold = TRUE, .timeline = timeline, .every_step = TRUE}, NULL);
    g_autofree char *a = study_point_status(fast), *b = study_point_status(plain);
    CU_ASSERT_STRING_EQUAL(a, b);
    if (fast->report == NULL || plain->report == NULL)
      continue;
    played++;
    settled += fast->report->steps_played > 2;
    retried += fast->report->classes[0].retries > 0 && !fast->report->classes[0].has_oom;
    fewer += fast->report->events < plain->report->events / 2;
    counted[fast->report->settled]++;
    gboolean near = (fast->report->settled != RUN_SETTLING || settling_nearly(fast->report, plain->report)) &&
                    (fast->report->events == plain->report->events || beyond_nearly(fast->report, plain->report));
    gboolean same = reports_equal(fast->report, plain->report) && near;
    CU_ASSERT_TRUE(same);
    for (guint s = 0; !same && s < fast->settings->len; s++)
      printf("\n    %s = %s", g_array_index(fast->settings, StudyPointSetting, s).name,
             g_array_index(fast->settings, StudyPointSetting, s).value);
    fast->report->classes[0].peak_reserved++; /* the comparison can fail */
    CU_ASSERT_FALSE(reports_equal(fast->report, plain->report));
  }
  printf(" (%u of %u played, %u of half the events, %u took more than two steps, %u retried, %u settled, %u settling) ",
         played, points, fewer, settled, retried, counted[RUN_SETTLED], counted[RUN_SETTLING]);
  CU_ASSERT_TRUE(played > points / 5);
  CU_ASSERT_TRUE(of != pipelines || counted[RUN_SETTLED] + counted[RUN_SETTLING] > played / 4);
}

static void summaries_are_those_of_the_plain_run(void) {
  compare(axes, G_N_ELEMENTS(axes), FALSE, 250);
}

static void timelines_are_those_of_the_plain_run(void) {
  compare(axes, G_N_ELEMENTS(axes), TRUE, 50);
}

static void many_micro_batches_are_those_of_the_plain_run(void) {
  compare(many, G_N_ELEMENTS(many), FALSE, 60);
}

static void pipelines_are_those_of_the_plain_run(void) {
  compare(pipelines, G_N_ELEMENTS(pipelines), FALSE, 60);
}

static RunReport *of_settings(const char *const *settings, gboolean every_step) {
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  for (; *settings != NULL; settings++)
    CU_ASSERT_TRUE_FATAL(study_set(study, *settings, NULL));
  return study_run(study, &(StudyOptions){.fold = TRUE, .every_step = every_step}, NULL);
}

static RunReport *deep(const char *stages, const char *micro_batch, const char *accumulation, gboolean every_step) {
  g_autofree char *pipeline = g_strconcat("parallel.pipeline=", stages, NULL);
  g_autofree char *sequences = g_strconcat("training.micro_batch=", micro_batch, NULL);
  g_autofree char *micro_batches = g_strconcat("training.gradient_accumulation=", accumulation, NULL);
  return of_settings((const char *const[]){"parallel.framework=megatron", "parallel.zero_stage=1", micro_batches,
                                           "training.activation_checkpointing=none", pipeline, sequences, NULL},
                     every_step);
}

/* However many stages: at a pipeline's ends what is sent is issued in other rows than between them, and its middle is
 * counted all the same. With 8 sequences in a micro-batch memory runs out. */
static void deep_pipelines_are_counted(void) {
  static const char *const sequences[] = {"1", "8"}, *const stages[] = {"2", "4", "8"};
  for (gsize i = 0; i < G_N_ELEMENTS(stages) * G_N_ELEMENTS(sequences); i++) {
    const char *n = stages[i / G_N_ELEMENTS(sequences)], *of = sequences[i % G_N_ELEMENTS(sequences)];
    g_autoptr(RunReport) counted = deep(n, of, "48", FALSE), plain = deep(n, of, "48", TRUE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(counted);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
    CU_ASSERT_NOT_EQUAL(counted->settled, RUN_UNSETTLED);
    CU_ASSERT_TRUE(counted->events < plain->events);
    CU_ASSERT_TRUE(counted->settled == RUN_SETTLED || settling_nearly(counted, plain));
    CU_ASSERT_TRUE(beyond_nearly(counted, plain));
    CU_ASSERT_TRUE(reports_equal(counted, plain));
    CU_ASSERT_EQUAL(plain->classes[0].has_oom, strcmp(of, "8") == 0);
  }
}

/* Memory runs out in the drain, behind the windows: at the row and the moment of the plain run. Where chunks go around,
 * what a link carries may move within a body. */
static void what_follows_the_windows_is_later(void) {
  static const char *const drains[] = {"parallel.framework=nanotron",
                                       "parallel.zero_stage=0",
                                       "parallel.pipeline=4",
                                       "parallel.tensor=2",
                                       "cluster.nodes=2",
                                       "training.sequence_length=2048",
                                       "training.micro_batch=16",
                                       "training.activation_checkpointing=none",
                                       "training.gradient_accumulation=32",
                                       NULL};
  static const char *const moves[] = {"parallel.framework=megatron",
                                      "parallel.zero_stage=0",
                                      "parallel.pipeline=4",
                                      "parallel.interleave=2",
                                      "cluster.topology=h100-eth100",
                                      "cluster.nodes=1",
                                      "training.sequence_length=512",
                                      "training.micro_batch=3",
                                      "training.activation_checkpointing=full",
                                      "training.gradient_accumulation=40",
                                      NULL};
  g_autoptr(RunReport) drained = of_settings(drains, FALSE), drained_plain = of_settings(drains, TRUE);
  g_autoptr(RunReport) moved = of_settings(moves, FALSE), moved_plain = of_settings(moves, TRUE);
  CU_ASSERT_TRUE_FATAL(drained != NULL && drained_plain != NULL && moved != NULL && moved_plain != NULL);
  CU_ASSERT_TRUE(drained->events < drained_plain->events && moved->settled == RUN_SETTLING);
  CU_ASSERT_TRUE(drained->settled == RUN_SETTLED || settling_nearly(drained, drained_plain));
  CU_ASSERT_TRUE(beyond_nearly(drained, drained_plain) && reports_equal(drained, drained_plain));
  CU_ASSERT_TRUE(settling_nearly(moved, moved_plain) && reports_equal(moved, moved_plain));
}

/* Few stages settle in few micro-batches. Played are a fill, two windows of four micro-batches and one: 15, 17 and 21,
 * for the fill is the stages and four, of eight stages 12. Beyond five fourths of that it is worth it. */
static void few_stages_need_few_micro_batches(void) {
  static const char *const stages[] = {"2", "4", "8"};
  static const guint leasts[] = {19, 22, 27};
  for (gsize i = 0; i < 3 * G_N_ELEMENTS(stages); i++) {
    guint least = leasts[i / 3], all = least - 1 + (guint)(i % 3) * 2;
    g_autofree char *accumulation = g_strdup_printf("%u", all);
    g_autoptr(RunReport) counted = deep(stages[i / 3], "1", accumulation, FALSE);
    g_autoptr(RunReport) plain = deep(stages[i / 3], "1", accumulation, TRUE);
    CU_ASSERT_EQUAL_FATAL(counted != NULL && plain != NULL, TRUE);
    CU_ASSERT_EQUAL(counted->settled, all < least ? RUN_UNSETTLED : RUN_SETTLED);
    CU_ASSERT_TRUE(reports_equal(counted, plain));
  }
}

static void halves_are_those_of_the_plain_run(void) {
  compare(halves, G_N_ELEMENTS(halves), FALSE, 5);
}

static void is_played_not_counted(const char *const *settings) {
  g_autoptr(RunReport) fast = of_settings(settings, FALSE), plain = of_settings(settings, TRUE);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fast);
  CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
  CU_ASSERT_EQUAL(fast->settled, RUN_UNSETTLED);
  CU_ASSERT_TRUE(reports_equal(fast, plain));
}

/* Stage 0's host issues a window of four micro-batches in 227.0 ms, its stream takes 228.4 ms: gradients that were sent
 * are free later and later in the order of what the host takes, by parts of a micro-batch that no window shows. */
static void hosts_get_ahead_of_what_is_given(void) {
  is_played_not_counted((const char *const[]){
      "parallel.framework=fsdp2", "parallel.zero_stage=3", "parallel.schedule=zb-h1", "parallel.interleave=2",
      "parallel.pipeline=2", "cluster.topology=dgx-a100", "training.sequence_length=256",
      "training.gradient_accumulation=60", "training.activation_checkpointing=none", NULL});
}

/* 33 times the cache goes back before memory runs out, and giving segments back takes time: how many there are changes
 * with the number of micro-batches, on a line between 3, 4 and 5 of them and not between 5 and 6. */
#define NEVER_SETTLES(all)                                                                                             \
  (const char *const[]) {                                                                                              \
    "parallel.framework=fsdp1", "parallel.zero_stage=0", "cluster.nodes=2", "cluster.topology=h100-eth100",            \
        "training.sequence_length=1024", "training.micro_batch=2", "training.gradient_accumulation=" all,              \
        "training.activation_checkpointing=none", NULL                                                                 \
  }
static void caches_go_back_before_memory_runs_out(void) {
  is_played_not_counted(NEVER_SETTLES("16"));
}

/* The same, 2 100 times through 32 layers: 8, 9 and 10 are played, and what the tenth added is added for each of the
 * 2 090 that are left; the cache goes back two times in each. */
static void too_many_that_never_settle_are_counted_anyway(void) {
  g_autoptr(RunReport) nine = of_settings(NEVER_SETTLES("9"), FALSE);
  g_autoptr(RunReport) ten = of_settings(NEVER_SETTLES("10"), FALSE);
  g_autoptr(RunReport) most = of_settings(NEVER_SETTLES("2100"), FALSE);
  CU_ASSERT_TRUE_FATAL(nine != NULL && ten != NULL && most != NULL);
  const RunClass *a = &nine->classes[0], *b = &ten->classes[0], *c = &most->classes[0];
  CU_ASSERT_EQUAL(c->step, b->step + 2090 * (b->step - a->step));
  CU_ASSERT_EQUAL(c->retries, b->retries + 2090 * 2);
  CU_ASSERT_TRUE(c->has_oom && c->peak_reserved == b->peak_reserved);
  CU_ASSERT_TRUE(ten->repeats && !most->repeats);
  CU_ASSERT_EQUAL(most->tokens, 210 * ten->tokens);
}

static StudyPoint *priced(const char *gpu_hour, const char *micro_batch) {
  StudyPoint *point = study_point_new("test");
  point->typed = TRUE;
  study_point_add(point, "price.gpu_hour", gpu_hour, 0, 0);
  study_point_add(point, "training.micro_batch", micro_batch, 0, 0);
  study_point_add(point, "training.gradient_accumulation", "16", 0, 0);
  return point;
}

/* A play that is remembered keeps the time that it took; none takes as long as another to the nanosecond. */
static gboolean is_remembered(const StudyPoint *point, const StudyPoint *of) {
  return point->report->wall_seconds == of->report->wall_seconds;
}

/* Points that differ in prices alone are played once, and are what each is by itself; one that differs in more, or is
 * played with other options, is played. */
static void prices_share_a_play(void) {
  StudyOptions plain = {.fold = TRUE}, every = {.fold = TRUE, .every_step = TRUE};
  g_autoptr(Study) base = study_open("llama2-7b", NULL);
  g_autoptr(StudyCache) cache = study_cache_new();
  g_autoptr(StudyPoint) first = priced("1 USD", "1"), dearer = priced("3 USD", "1"), alone = priced("3 USD", "1");
  g_autoptr(StudyPoint) larger = priced("1 USD", "2"), twin = priced("1 USD", "1");
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  study_point_run(first, base, &plain, cache);
  study_point_run(dearer, base, &plain, cache);
  study_point_run(larger, base, &plain, cache);
  study_point_run(twin, base, &every, cache);
  study_point_run(alone, base, &plain, NULL);
  CU_ASSERT_TRUE_FATAL(first->report != NULL && dearer->report != NULL && larger->report != NULL);
  CU_ASSERT_TRUE_FATAL(twin->report != NULL && alone->report != NULL);
  CU_ASSERT_TRUE(is_remembered(dearer, first));
  CU_ASSERT_FALSE(is_remembered(larger, first));
  CU_ASSERT_FALSE(is_remembered(twin, first));
  CU_ASSERT_TRUE(reports_equal(dearer->report, alone->report));
  CU_ASSERT_FALSE(reports_equal(dearer->report, first->report));
  CU_ASSERT_DOUBLE_EQUAL(dearer->report->price_per_step, 3 * first->report->price_per_step, 1e-9);
  CU_ASSERT_EQUAL(dearer->report->verdict, alone->report->verdict);
  CU_ASSERT_EQUAL(g_strv_length(dearer->report->identity.notes), g_strv_length(alone->report->identity.notes));
}

static const RunTask *task_of_row(const RunClass *in, guint32 row) {
  for (guint32 i = 0; i < in->n_tasks; i++)
    if (in->tasks[i].row == row)
      return &in->tasks[i];
  return NULL;
}

static gboolean is_collective_of(const RunCollective *kept, const RunClass *in) {
  for (guint32 i = 0; i < in->n_collectives; i++) {
    const RunCollective *same = &in->collectives[i];
    if (same->row == kept->row)
      return same->queued == kept->queued && same->start == kept->start && same->end == kept->end;
  }
  return FALSE;
}

static gboolean is_exposure_of(const RunExposure *kept, const RunClass *in) {
  for (guint32 i = 0; i < in->n_exposures; i++)
    if (in->exposures[i].start == kept->start && in->exposures[i].row == kept->row)
      return in->exposures[i].end == kept->end && in->exposures[i].cause == kept->cause;
  return FALSE;
}

/* Each task, collective and exposure that was kept is one of the plain run, at its time; with those they stand for they
 * are all. Causes add up. */
static void check_counted(const RunClass *counted, const RunClass *plain) {
  guint64 tasks = 0, collectives = 0, strangers = 0;
  SimTime causes[RUN_CAUSES] = {0};
  for (guint32 i = 0; i < counted->n_tasks; i++) {
    const RunTask *task = &counted->tasks[i], *same = task_of_row(plain, task->row);
    tasks += task->repeats;
    strangers += same == NULL || same->start != task->start || same->end != task->end || same->micro != task->micro ||
                 !same_text(same->name, task->name);
  }
  for (guint32 i = 0; i < counted->n_collectives; i++) {
    collectives += counted->collectives[i].repeats;
    strangers += !is_collective_of(&counted->collectives[i], plain);
  }
  for (guint32 i = 0; i < counted->n_exposures; i++) {
    const RunExposure *exposure = &counted->exposures[i];
    strangers += !is_exposure_of(exposure, plain);
    causes[exposure->cause] += (exposure->end - exposure->start) * exposure->repeats;
  }
  CU_ASSERT_EQUAL(strangers, 0);
  CU_ASSERT_EQUAL(tasks, plain->n_tasks);
  CU_ASSERT_EQUAL(collectives, plain->n_collectives);
  CU_ASSERT_TRUE(counted->n_tasks < plain->n_tasks / 2);
  CU_ASSERT_EQUAL(memcmp(causes, plain->by_cause, sizeof causes), 0);
}

static void a_counted_timeline_stands_for_all(void) {
  static const char *const frameworks[] = {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"};
  for (gsize i = 0; i < G_N_ELEMENTS(frameworks); i++) {
    g_autoptr(Study) study = study_open("gpt2-xl", NULL);
    g_autofree char *framework = g_strconcat("parallel.framework=", frameworks[i], NULL);
    gboolean shards = g_str_has_prefix(frameworks[i], "fsdp");
    CU_ASSERT_TRUE_FATAL(study_set(study, framework, NULL));
    CU_ASSERT_TRUE_FATAL(study_set(study, shards ? "parallel.zero_stage=3" : "parallel.zero_stage=0", NULL));
    CU_ASSERT_TRUE_FATAL(study_set(study, "training.gradient_accumulation=40", NULL));
    CU_ASSERT_TRUE_FATAL(study_set(study, "training.micro_batch=1", NULL));
    g_autoptr(RunReport) counted = study_run(study, &(StudyOptions){.fold = TRUE, .timeline = TRUE}, NULL);
    g_autoptr(RunReport) plain =
        study_run(study, &(StudyOptions){.fold = TRUE, .timeline = TRUE, .every_step = TRUE}, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(counted);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
    CU_ASSERT_EQUAL(counted->classes[0].step, plain->classes[0].step);
    CU_ASSERT_TRUE(counted->classes[0].counted.more > 0);
    for (guint32 c = 0; c < plain->n_classes; c++)
      check_counted(&counted->classes[c], &plain->classes[c]);
  }
}

/* What goes to another process and comes back. */
static void a_packed_report_is_the_same(void) {
  g_autoptr(Study) base = study_open("llama2-7b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  CU_ASSERT_TRUE(study_set(base, "training.micro_batch=64", NULL)); /* out of memory: all texts are there */
  g_autoptr(RunReport) report = study_run(base, &(StudyOptions){.fold = TRUE}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  CU_ASSERT_TRUE(report->classes[0].has_oom);
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  run_report_pack(report, bytes);
  g_autoptr(RunReport) back = run_report_unpack(bytes->data, bytes->len);
  CU_ASSERT_TRUE(reports_equal(report, back));
  CU_ASSERT_STRING_EQUAL(report->classes[0].oom.name, back->classes[0].oom.name);
  CU_ASSERT_STRING_EQUAL(report->classes[0].members, back->classes[0].members);
  CU_ASSERT_EQUAL(g_strv_length(report->identity.notes), g_strv_length(back->identity.notes));
  for (guint32 i = 0; i < report->identity.n_settings; i++)
    CU_ASSERT_STRING_EQUAL(report->identity.settings[i].value, back->identity.settings[i].value);
}

int main(void) {
  return harness_run("repeat", (HarnessCase[]){{"summaries", summaries_are_those_of_the_plain_run},
                                               {"timelines", timelines_are_those_of_the_plain_run},
                                               {"micro-batches", many_micro_batches_are_those_of_the_plain_run},
                                               {"pipelines", pipelines_are_those_of_the_plain_run},
                                               {"deep pipelines", deep_pipelines_are_counted},
                                               {"few stages", few_stages_need_few_micro_batches},
                                               {"backward in two passes", halves_are_those_of_the_plain_run},
                                               {"hosts ahead", hosts_get_ahead_of_what_is_given},
                                               {"caches back", caches_go_back_before_memory_runs_out},
                                               {"behind the windows", what_follows_the_windows_is_later},
                                               {"never settling", too_many_that_never_settle_are_counted_anyway},
                                               {"prices", prices_share_a_play},
                                               {"counted timelines", a_counted_timeline_stands_for_all},
                                               {"packed", a_packed_report_is_the_same},
                                               {NULL, NULL}});
}
