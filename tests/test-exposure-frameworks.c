/* SPDX-License-Identifier: MIT */
/* Exposure under every framework and stage on the shipped workloads, a few layers of each: all time without compute
 * has a cause, an exposed interval names the collective that the next compute waits for, and causes add up to the
 * picosecond.
 *
 *   compute   ████████          ██████
 *   comm         ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
 *   gap               ^^^^^^^^^^          named: the collective that ends where the compute begins */
#include "harness.h"
#include "study.h"

typedef struct {
  const char *framework;
  guint first, last; /* stages it has */
} Framework;

static const Framework frameworks[] = {{"paper", 0, 3}, {"ddp", 0, 0},      {"deepspeed", 0, 3}, {"fsdp1", 0, 3},
                                       {"fsdp2", 2, 3}, {"megatron", 0, 1}, {"nanotron", 0, 1}};
static const char *const workloads[] = {"llama2-7b", "llama3-8b", "gpt2-xl", "mistral-7b", "llama2-70b", "zero-100b"};

/* Slow links, so that much is exposed; two micro-batches. */
static RunReport *play(const char *workload, const char *framework, guint stage, const char *more) {
  GError *error = NULL;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  g_autoptr(Study) study = study_open(workload, &error);
  g_assert_no_error(error);
  g_autofree char *by = g_strconcat("parallel.framework=", framework, NULL);
  g_autofree char *zero = g_strdup_printf("parallel.zero_stage=%u", stage);
  const char *const sets[] = {by,
                              zero,
                              "model.layers=3",
                              "cluster.nodes=2",
                              "cluster.nic_bandwidth=20 Gb/s",
                              "training.gradient_accumulation=2",
                              more};
  for (gsize i = 0; i < G_N_ELEMENTS(sets); i++)
    if (sets[i] != NULL && !study_set(study, sets[i], &error))
      g_error("%s: %s", sets[i], error->message);
  RunReport *report = study_run(study, &options, &error);
  if (report == NULL && strstr(error->message, "stage") == NULL)
    g_error("%s under %s: %s", workload, framework, error->message);
  g_clear_error(&error);
  return report;
}

static gboolean is_idle(RunCause cause) {
  return cause == RUN_CAUSE_BUBBLE || cause == RUN_CAUSE_HOST_IDLE;
}

static const RunCollective *collective_of(const RunClass *all, guint32 row) {
  for (guint32 i = 0; i < all->n_collectives; i++)
    if (all->collectives[i].row == row)
      return &all->collectives[i];
  return NULL;
}

/* The compute that ends the gap, or NULL at the end of the step. */
static const RunTask *next_compute(const RunClass *all, SimTime at) {
  for (guint32 i = 0; i < all->n_tasks; i++)
    if (strcmp(all->tasks[i].kind, "compute") == 0 && all->tasks[i].start >= at)
      return &all->tasks[i];
  return NULL;
}

static gboolean any_resident(const RunClass *all, SimTime start, SimTime end) {
  for (guint32 i = 0; i < all->n_collectives; i++)
    if (all->collectives[i].start < end && all->collectives[i].end > start)
      return TRUE;
  return FALSE;
}

static const char *wrong_interval(const RunClass *all, const RunExposure *piece) {
  if (piece->start >= piece->end || piece->start < 0 || piece->end > all->step)
    return "its ends";
  const RunTask *next = next_compute(all, piece->end);
  SimTime gap_end = next != NULL ? next->start : all->step;
  if (is_idle(piece->cause))
    return piece->row != G_MAXUINT32                     ? "idle names a collective"
           : any_resident(all, piece->start, piece->end) ? "idle beside a collective"
                                                         : NULL;
  if (!any_resident(all, piece->start, piece->end))
    return "exposed without a collective";
  if (piece->row == G_MAXUINT32)
    return piece->cause == RUN_CAUSE_TAIL || piece->cause == RUN_CAUSE_HOST ? NULL : "no collective is named";
  const RunCollective *awaited = collective_of(all, piece->row);
  if (awaited == NULL)
    return "what it names is no collective";
  if (awaited->end > gap_end || awaited->end <= piece->start)
    return "what it names is over, or ends after the wait";
  gboolean moves = piece->cause == RUN_CAUSE_BANDWIDTH || piece->cause == RUN_CAUSE_LATENCY;
  if (moves && (piece->start < awaited->start || piece->end > awaited->end))
    return "it moves before it is resident";
  return piece->cause == RUN_CAUSE_STRAGGLER ? "a straggler among equals" : NULL;
}

/* A compute that starts when exactly one collective ends has waited for it. */
static const char *unnamed(const RunClass *all, const RunExposure *piece) {
  const RunCollective *ended = NULL;
  const RunTask *next = next_compute(all, piece->end);
  if (next == NULL || next->start != piece->end || is_idle(piece->cause))
    return NULL;
  for (guint32 i = 0; i < all->n_collectives; i++)
    if (all->collectives[i].end == piece->end) {
      if (ended != NULL)
        return NULL;
      ended = &all->collectives[i];
    }
  return ended != NULL && ended->row != piece->row ? "the collective that ended is not named" : NULL;
}

static const char *wrong_class(const RunClass *all) {
  SimTime by_cause[RUN_CAUSES] = {0}, exposed = 0, idle = 0, last = 0;
  const char *wrong = NULL;
  for (guint32 i = 0; i < all->n_exposures && wrong == NULL; i++) {
    const RunExposure *piece = &all->exposures[i];
    by_cause[piece->cause] += piece->end - piece->start;
    wrong = piece->start < last ? "overlapping intervals" : wrong_interval(all, piece);
    if (wrong == NULL)
      wrong = unnamed(all, piece);
    last = piece->end;
  }
  for (int cause = 0; cause < RUN_CAUSES && wrong == NULL; cause++) {
    *(is_idle(cause) ? &idle : &exposed) += by_cause[cause];
    if (by_cause[cause] != all->by_cause[cause])
      wrong = "the sum of a cause";
  }
  if (wrong != NULL)
    return wrong;
  if (exposed != all->exposed || idle != all->idle || all->bubble != all->by_cause[RUN_CAUSE_BUBBLE] ||
      all->host != all->by_cause[RUN_CAUSE_HOST_IDLE])
    return "exposed, idle, bubble or host";
  return all->compute + exposed + idle != all->step ? "the step" : NULL;
}

static void check(const char *workload, const char *framework, guint stage, const char *more) {
  g_autoptr(RunReport) report = play(workload, framework, stage, more);
  for (guint32 i = 0; report != NULL && i < report->n_classes; i++) {
    const RunClass *all = &report->classes[i];
    const char *wrong = wrong_class(all);
    CU_ASSERT_PTR_NULL(wrong);
    if (wrong != NULL)
      printf("\n    %s under %s, stage %u, %s: %s", workload, framework, stage, more != NULL ? more : "", wrong);
    if (g_getenv("FORETRAIN_FACTS") != NULL && all->exposed > 0)
      printf("\n    %s %s %u: exposed %.1f ms; tail %.2f %%, host %.2f %%", workload, framework, stage,
             (double)all->exposed / 1e9, 100.0 * (double)all->by_cause[RUN_CAUSE_TAIL] / (double)all->exposed,
             100.0 * (double)all->by_cause[RUN_CAUSE_HOST] / (double)all->exposed);
  }
}

static void every_interval_has_its_cause(void) {
  for (gsize w = 0; w < G_N_ELEMENTS(workloads); w++)
    for (gsize f = 0; f < G_N_ELEMENTS(frameworks); f++)
      for (guint stage = frameworks[f].first; stage <= frameworks[f].last; stage++)
        check(workloads[w], frameworks[f].framework, stage, NULL);
}

/* Switches that change who waits for whom. */
static void under_switches_too(void) {
  static const struct {
    const char *framework;
    guint stage;
    const char *set;
  } cases[] = {{"deepspeed", 1, "deepspeed.overlap_comm=yes"},
               {"deepspeed", 2, "deepspeed.overlap_comm=yes"},
               {"deepspeed", 2, "deepspeed.contiguous_gradients=no"},
               {"deepspeed", 3, "deepspeed.stage3_prefetch_bucket_size=0"},
               {"deepspeed", 3, "deepspeed.zero_hpz_partition_size=8"},
               {"deepspeed", 2, "parallel.offload_optimizer=cpu"},
               {"fsdp1", 3, "parallel.shard_group=node"},
               {"fsdp1", 3, "fsdp.backward_prefetch=none"},
               {"fsdp1", 3, "fsdp.sync_every_micro_batch=no"},
               {"fsdp2", 3, "parallel.shard_group=node"},
               {"fsdp2", 3, "fsdp.reduce_dtype=fp32"},
               {"megatron", 1, "megatron.overlap_grad_reduce=yes"},
               {"megatron", 1, "megatron.overlap_param_gather=yes"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    check("llama2-7b", cases[i].framework, cases[i].stage, cases[i].set);
}

/* The checks can fail: an interval that names another collective, or a cause with a picosecond too much. */
static void planted_faults_are_found(void) {
  g_autoptr(RunReport) report = play("llama2-7b", "deepspeed", 3, NULL);
  RunClass *all = &report->classes[0];
  CU_ASSERT_PTR_NULL_FATAL(wrong_class(all));
  guint32 i = 0;
  while (is_idle(all->exposures[i].cause) || all->exposures[i].row == G_MAXUINT32)
    i++;
  guint32 row = all->exposures[i].row;
  all->exposures[i].row = all->collectives[all->n_collectives - 1].row;
  CU_ASSERT_PTR_NOT_NULL(wrong_class(all));
  all->exposures[i].row = row;
  all->by_cause[RUN_CAUSE_BANDWIDTH]++;
  CU_ASSERT_PTR_NOT_NULL(wrong_class(all));
}

int main(void) {
  return harness_run("exposure-frameworks",
                     (HarnessCase[]){{"every interval has its cause", every_interval_has_its_cause},
                                     {"under switches too", under_switches_too},
                                     {"planted faults are found", planted_faults_are_found},
                                     {NULL, NULL}});
}
