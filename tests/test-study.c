/* SPDX-License-Identifier: MIT */
/* The whole chain on the shipped workloads: what must hold of every report, and that no twin changes one. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "study.h"

/* Shipped workloads, each on few enough GPUs that every rank can be played. */
static const char *const workloads[][2] = {
    {"llama2-7b", "cluster.nodes=2"},  {"llama3-8b", "cluster.nodes=1"},  {"gpt2-xl", "cluster.nodes=1"},
    {"mistral-7b", "cluster.nodes=1"}, {"llama2-70b", "cluster.nodes=2"}, {"zero-100b", "cluster.nodes=1"},
};

/* The workload with one setting changed (NULL: none), under a stage. */
static Study *open_at(const char *workload, const char *assignment, guint stage) {
  GError *error = NULL;
  Study *study = study_open(workload, &error);
  g_autofree char *zero = g_strdup_printf("parallel.zero_stage=%u", stage);
  const char *const sets[] = {assignment, zero};
  for (gsize i = 0; study != NULL && i < G_N_ELEMENTS(sets); i++)
    if (sets[i] != NULL && !study_set(study, sets[i], &error))
      g_clear_pointer(&study, study_free);
  if (study == NULL)
    g_error("%s: %s", workload, error->message);
  return study;
}

static RunReport *run_study(Study *study, StudyOptions options) {
  GError *error = NULL;
  RunReport *report = study_run(study, &options, &error);
  if (report == NULL)
    g_error("%s", error->message);
  return report;
}

static void check_class(const RunClass *rank_class) {
  SimTime exposed = 0, idle = 0;
  guint64 held = 0;
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    *(cause == RUN_CAUSE_BUBBLE || cause == RUN_CAUSE_HOST_IDLE ? &idle : &exposed) += rank_class->by_cause[cause];
  for (int tenant = 0; tenant < RUN_TENANTS; tenant++) {
    held += rank_class->peak_held[tenant];
    CU_ASSERT_TRUE(rank_class->peak_unique[tenant] <= rank_class->peak_held[tenant]);
  }
  CU_ASSERT_EQUAL(exposed, rank_class->exposed);
  CU_ASSERT_EQUAL(idle, rank_class->idle);
  CU_ASSERT_EQUAL(rank_class->step, rank_class->compute + rank_class->exposed + rank_class->idle);
  CU_ASSERT_TRUE(rank_class->exposed <= rank_class->communication);
  /* Tensors, context and buffers, then rounding and the cache on top. */
  CU_ASSERT_TRUE(held <= rank_class->device_used);
  CU_ASSERT_TRUE(rank_class->peak_allocated <= rank_class->peak_active);
  CU_ASSERT_TRUE(rank_class->peak_active <= rank_class->peak_reserved);
  CU_ASSERT_TRUE(rank_class->peak_reserved < rank_class->device_used);
  CU_ASSERT_EQUAL(rank_class->has_oom, rank_class->device_used > rank_class->capacity);
  CU_ASSERT_EQUAL(rank_class->has_oom, rank_class->short_by > 0);
  CU_ASSERT_TRUE(rank_class->steady_allocated <= rank_class->peak_allocated);
}

static void reports_add_up(void) {
  for (gsize w = 0; w < G_N_ELEMENTS(workloads); w++)
    for (guint stage = 0; stage <= 3; stage++) {
      g_autoptr(Study) study = open_at(workloads[w][0], NULL, stage);
      g_autoptr(RunReport) report = run_study(study, STUDY_OPTIONS_DEFAULT);
      CU_ASSERT_EQUAL(report->n_classes, 1);
      CU_ASSERT_EQUAL(report->classes[0].ranks, report->identity.gpus);
      check_class(&report->classes[0]);
      CU_ASSERT_TRUE(report->repeats);
      CU_ASSERT_TRUE(report->model_flops_utilisation > 0 && report->model_flops_utilisation < 1);
      CU_ASSERT_TRUE(report->hardware_flops_utilisation > 0 && report->hardware_flops_utilisation < 1);
      CU_ASSERT_EQUAL(strlen(report->identity.run_key), 64);
    }
}

static void expect_equal(const RunReport *a, const RunClass *one, const RunReport *b, const RunClass *other) {
  CU_ASSERT_STRING_EQUAL(a->identity.run_key, b->identity.run_key);
  CU_ASSERT_EQUAL(one->step, other->step);
  CU_ASSERT_EQUAL(one->compute, other->compute);
  CU_ASSERT_EQUAL(memcmp(one->by_cause, other->by_cause, sizeof one->by_cause), 0);
  CU_ASSERT_EQUAL(memcmp(one->peak_held, other->peak_held, sizeof one->peak_held), 0);
  CU_ASSERT_EQUAL(one->network_bytes_intra, other->network_bytes_intra);
  CU_ASSERT_EQUAL(one->network_bytes_inter, other->network_bytes_inter);
  CU_ASSERT_EQUAL(one->n_tasks, other->n_tasks);
  for (guint32 i = 0; i < MIN(one->n_tasks, other->n_tasks); i++)
    if (one->tasks[i].row != other->tasks[i].row || one->tasks[i].start != other->tasks[i].start ||
        one->tasks[i].end != other->tasks[i].end) {
      CU_FAIL("a task differs");
      break;
    }
}

static void twins_agree(void) {
  for (gsize w = 0; w < G_N_ELEMENTS(workloads); w++) {
    g_autoptr(Study) study = open_at(workloads[w][0], workloads[w][1], (guint)w % 4);
    g_autoptr(RunReport) folded = run_study(study, STUDY_OPTIONS_DEFAULT);
    const StudyOptions twins[] = {
        {.timeline = TRUE, .fold = TRUE, .net_full = TRUE},
        {.timeline = TRUE, .fold = TRUE, .tie = STUDY_TIE_REVERSE},
        {.timeline = TRUE, .fold = FALSE, .tie = STUDY_TIE_SHUFFLE, .tie_seed = harness_seed()},
    };
    for (gsize t = 0; t < G_N_ELEMENTS(twins); t++) {
      g_autoptr(RunReport) report = run_study(study, twins[t]);
      CU_ASSERT_EQUAL(report->n_classes, twins[t].fold ? 1 : report->identity.gpus);
      for (guint32 i = 0; i < report->n_classes; i++)
        expect_equal(folded, &folded->classes[0], report, &report->classes[i]);
      for (guint32 i = 0; i < folded->n_links; i++)
        CU_ASSERT_EQUAL(folded->links[i].bytes, report->links[i].bytes);
    }
  }
}

/* The comparison above can fail: another sequence length is another report. */
static void twins_could_differ(void) {
  g_autoptr(Study) study = open_at("gpt2-xl", NULL, 3);
  g_autoptr(RunReport) one = run_study(study, STUDY_OPTIONS_DEFAULT);
  CU_ASSERT_TRUE(study_set(study, "training.sequence_length=512", NULL));
  g_autoptr(RunReport) other = run_study(study, STUDY_OPTIONS_DEFAULT);
  CU_ASSERT_STRING_NOT_EQUAL(one->identity.run_key, other->identity.run_key);
  CU_ASSERT_NOT_EQUAL(one->classes[0].step, other->classes[0].step);
}

/* On eight GPUs the expected slowest is 1.4236 / 2.8472 = half of the spread behind a typical one: 2.5 % of 5 %. Each
 * kernel is rounded to half a picosecond. --jitter=off is a spread of 0. */
static void all_wait_for_the_slowest(void) {
  g_autoptr(Study) study = open_at("gpt2-xl", NULL, 0);
  CU_ASSERT_TRUE(study_set(study, "cluster.gpu_spread=5%", NULL));
  const StudyOptions apart = {.timeline = TRUE, .fold = TRUE, .no_contention = TRUE};
  const StudyOptions alike = {.timeline = TRUE, .fold = TRUE, .no_contention = TRUE, .no_jitter = TRUE};
  g_autoptr(RunReport) slow = run_study(study, apart);
  g_autoptr(RunReport) even = run_study(study, alike);
  CU_ASSERT_EQUAL_FATAL(slow->identity.gpus, 8);
  CU_ASSERT_DOUBLE_EQUAL((double)slow->classes[0].compute / (double)even->classes[0].compute, 1.025, 1e-6);
  CU_ASSERT_EQUAL(slow->n_classes, 1);
  CU_ASSERT_TRUE(study_set(study, "cluster.gpu_spread=0", NULL));
  g_autoptr(RunReport) none = run_study(study, apart);
  CU_ASSERT_EQUAL(none->classes[0].step, even->classes[0].step);
  CU_ASSERT_STRING_EQUAL(none->identity.run_key, even->identity.run_key);
}

static void fp32_needs_sixteen_bytes_a_parameter(void) {
  /* 4 + 4 + 8 bytes × 6 738 415 616 = 107.8 GB of states: out of memory on 80 GB under DDP, an eighth of it under stage
   * 3 over 8, padding less than one element per unit. Allocated: two workspaces of 32 MiB and up to a segment's rest of
   * 1 MiB for each of at most 8 blocks come on top. */
  for (guint stage = 0; stage <= 3; stage += 3) {
    g_autoptr(Study) study = open_at("llama2-7b", "training.precision=fp32", stage);
    CU_ASSERT_TRUE(study_set(study, "cluster.nodes=1", NULL));
    g_autoptr(RunReport) report = run_study(study, STUDY_OPTIONS_DEFAULT);
    guint64 states = report->classes[0].steady_allocated, all = 16 * G_GUINT64_CONSTANT(6738415616);
    CU_ASSERT_EQUAL(report->verdict, stage == 0 ? RUN_OOM : RUN_FITS);
    guint64 exact = (stage == 0 ? all : all / 8) + (64 << 20);
    CU_ASSERT_TRUE(states >= exact && states < exact + (8 << 20));
  }
}

static void volumes_reach_the_links(void) {
  /* ZeRO-3 over 16 in two nodes: each rank sends 3ψ × 15/16 elements of 2 bytes; 2 of the ring's 16 hops leave a node.
   * Each call rounds its chunk up to whole bytes: less than 16 bytes a call. */
  g_autoptr(Study) study = open_at("llama2-7b", NULL, 3);
  g_autoptr(RunReport) report = run_study(study, STUDY_OPTIONS_DEFAULT);
  const RunClass *all = &report->classes[0];
  double expected = 3 * 6738415616.0 * 2 * 15 / 16,
         sent = (double)(all->network_bytes_intra + all->network_bytes_inter);
  CU_ASSERT_TRUE(sent >= expected && sent < expected + 16.0 * 1000);
  CU_ASSERT_DOUBLE_EQUAL((double)all->network_bytes_inter / sent, 1.0 / 8, 1e-6);
  /* What the NICs carried is what the ranks sent between nodes. */
  for (guint32 i = 0; i < report->n_links; i++)
    if (strcmp(report->links[i].link_class, "nic.out") == 0)
      CU_ASSERT_DOUBLE_EQUAL(report->links[i].bytes / (double)(all->network_bytes_inter * 16), 1, 1e-6);
}

static void causes_of_the_textbook(void) {
  /* Stages 1 and 2 gather all parameters after the step: boundary, and most of what they expose; stage 3 has no such
   * gather. The last bucket of backward is reduced when nothing is left to compute: bucket-fill, under every stage. */
  for (guint stage = 0; stage <= 3; stage++) {
    g_autoptr(Study) study = open_at("llama2-7b", NULL, stage);
    g_autoptr(RunReport) report = run_study(study, STUDY_OPTIONS_DEFAULT);
    const RunClass *all = &report->classes[0];
    CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_BOUNDARY] * 2 > all->exposed, stage == 1 || stage == 2);
    CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_BOUNDARY] > 0, stage == 1 || stage == 2);
    CU_ASSERT_TRUE(all->by_cause[RUN_CAUSE_BUCKET_FILL] > 0);
    CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_TAIL], 0);
  }
}

/* The key is of what was run: the shape in a config.json, not its name. And a run says which model it was. */
static void the_key_knows_the_model(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "config.json", NULL);
  g_autofree char *set = g_strconcat("model.config=", path, NULL);
  char *keys[2];
  for (int layers = 0; layers < 2; layers++) {
    g_autofree char *text =
        g_strdup_printf("{\"model_type\": \"llama\", \"hidden_size\": 512, \"num_attention_heads\": 8, "
                        "\"intermediate_size\": 1024, \"vocab_size\": 1000, "
                        "\"num_hidden_layers\": %d}",
                        layers + 2);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
    g_autoptr(Study) study = open_at("llama2-7b", set, 1);
    g_autoptr(RunReport) report = run_study(study, STUDY_OPTIONS_DEFAULT);
    keys[layers] = g_strdup(report->identity.run_key);
    const char *recorded = NULL;
    for (guint32 i = 0; i < report->identity.n_settings; i++)
      if (strcmp(report->identity.settings[i].name, "model.layers") == 0)
        recorded = report->identity.settings[i].value;
    CU_ASSERT_STRING_EQUAL(recorded, layers == 0 ? "2" : "3");
  }
  CU_ASSERT_STRING_NOT_EQUAL(keys[0], keys[1]);
  for (int i = 0; i < 2; i++)
    g_free(keys[i]);
  g_unlink(path);
  g_rmdir(folder);
}

/* Time has an end: a step that no SimTime holds is an error, not an overflow. */
static void too_long_is_an_error(void) {
  const char *const sets[][2] = {{"cluster.nic_bandwidth=1 kB/s", NULL},
                                 {"cluster.nic_bandwidth=1 B/s", NULL},
                                 {"training.sequence_length=16777216", "training.micro_batch=1000"}};
  for (gsize i = 0; i < G_N_ELEMENTS(sets); i++) {
    GError *error = NULL;
    StudyOptions options = STUDY_OPTIONS_DEFAULT;
    g_autoptr(Study) study = open_at("llama2-7b", sets[i][0], 3);
    CU_ASSERT_TRUE(sets[i][1] == NULL || study_set(study, sets[i][1], NULL));
    HARNESS_FAILS(study_run(study, &options, &error), error, "106 days");
  }
}

static void stages_share_nothing(void) {
  GError *error = NULL;
  StudyStages stages;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  g_autoptr(Study) study = study_open("llama2-7b", &error);
  CU_ASSERT_TRUE_FATAL(study_run_stages(study, NULL, &options, &stages, &error));
  CU_ASSERT_EQUAL_FATAL(stages.n, STUDY_STAGES);
  for (guint stage = 0; stage < STUDY_STAGES; stage++) {
    g_autoptr(Study) alone = open_at("llama2-7b", NULL, stage);
    g_autoptr(RunReport) report = run_study(alone, STUDY_OPTIONS_DEFAULT);
    expect_equal(stages.reports[stage], &stages.reports[stage]->classes[0], report, &report->classes[0]);
    CU_ASSERT_PTR_NULL(stages.refused[stage]);
  }
  study_stages_clear(&stages);
}

/* FSDP1 has the stages 0, 2 and 3, Megatron 0 and 1; a workload that no stage can play is an error. */
static void frameworks_have_their_stages(void) {
  GError *error = NULL;
  StudyStages stages;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  g_autoptr(Study) study = study_open("llama2-7b", &error);
  CU_ASSERT_TRUE_FATAL(study_set(study, "parallel.framework=fsdp1", &error));
  CU_ASSERT_TRUE_FATAL(study_run_stages(study, NULL, &options, &stages, &error));
  CU_ASSERT_EQUAL_FATAL(stages.n, 3);
  CU_ASSERT_EQUAL(stages.reports[1]->identity.zero_stage, 2);
  CU_ASSERT_TRUE(stages.refused[1] != NULL && strstr(stages.refused[1], "FSDP has no stage 1") != NULL);
  study_stages_clear(&stages);
  CU_ASSERT_TRUE_FATAL(study_set(study, "parallel.framework=megatron", &error));
  CU_ASSERT_TRUE_FATAL(study_run_stages(study, NULL, &options, &stages, &error));
  CU_ASSERT_EQUAL_FATAL(stages.n, 2);
  CU_ASSERT_EQUAL(stages.reports[1]->identity.zero_stage, 1);
  study_stages_clear(&stages);
  CU_ASSERT_TRUE_FATAL(study_set(study, "megatron.bucket_size=5", &error));
  HARNESS_FAILS(study_run_stages(study, NULL, &options, &stages, &error), error, "megatron.bucket_size");
}

static RunReport *million(const char *rate, const char *const *settings, GError **error) {
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  CU_ASSERT_TRUE_FATAL(study_set(study, "training.gradient_accumulation=1000000", NULL));
  CU_ASSERT_TRUE_FATAL(study_set(study, rate, NULL));
  for (; *settings != NULL; settings++)
    CU_ASSERT_TRUE_FATAL(study_set(study, *settings, NULL));
  return study_run(study, &(StudyOptions){.fold = TRUE}, error);
}

/* A million micro-batches of half a minute each are 347 days: more than picoseconds in 63 bits hold with an interval.
 * In a pipeline of two stages, where windows are counted, half of that still is. Of 2.3 s each compute alone is
 * within the limit, the step is not; of 2.2 s it is. */
static void a_step_that_no_clock_holds_is_refused(void) {
  static const char *const of_one[] = {NULL}, *const of_two[] = {"parallel.framework=megatron", "parallel.zero_stage=1",
                                                                 "parallel.pipeline=2", "training.sequence_length=8192",
                                                                 NULL};
  static const char refused[] = "a step of so many micro-batches lasts longer than";
  GError *error = NULL;
  HARNESS_FAILS(million("what_if.matmul_rate=0.01", of_one, &error), error, refused);
  HARNESS_FAILS(million("what_if.matmul_rate=0.01", of_two, &error), error, refused);
  HARNESS_FAILS(million("what_if.matmul_rate=0.18", of_one, &error), error, refused);
  g_autoptr(RunReport) answered = million("what_if.matmul_rate=0.2", of_one, NULL);
  CU_ASSERT_PTR_NOT_NULL(answered);
}

int main(void) {
  return harness_run("study", (HarnessCase[]){{"reports add up", reports_add_up},
                                              {"twins agree", twins_agree},
                                              {"twins could differ", twins_could_differ},
                                              {"fp32 needs 16 bytes a parameter", fp32_needs_sixteen_bytes_a_parameter},
                                              {"volumes reach the links", volumes_reach_the_links},
                                              {"causes of the textbook", causes_of_the_textbook},
                                              {"the key knows the model", the_key_knows_the_model},
                                              {"too long is an error", too_long_is_an_error},
                                              {"stages share nothing", stages_share_nothing},
                                              {"frameworks have their stages", frameworks_have_their_stages},
                                              {"all wait for the slowest", all_wait_for_the_slowest},
                                              {"no clock holds", a_step_that_no_clock_holds_is_refused},
                                              {NULL, NULL}});
}
