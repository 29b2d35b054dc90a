/* SPDX-License-Identifier: MIT */
/* Paged optimizers: what is paged, who makes way for whom, and what the step then pays. */
#include "base-error.h"
#include "trace.h"

#define GIB 1073741824.0

/* Llama-2-7B in bf16 alone on one A100 with 40 GB (a PCIe 3 host) or 80 GB (PCIe 4). */
static Study *open_one(const char *topology, const char *const *sets) {
  static const char *const usual[] = {"parallel.zero_stage=0",     "cluster.nodes=1",
                                      "cluster.gpus_per_node=1",   "training.optimizer=adam8bit",
                                      "training.paged_states=yes", NULL};
  static const char *const ddp[] = {"parallel.framework=ddp", "ddp.autocast=no", NULL};
  gboolean other = sets != NULL && g_str_has_prefix(sets[0], "parallel.framework");
  g_autofree char *cluster = g_strconcat("cluster.topology=", topology, NULL);
  Study *study = study_open("llama2-7b", NULL);
  gboolean good = study_set(study, cluster, NULL);
  for (guint i = 0; usual[i] != NULL; i++)
    good &= study_set(study, usual[i], NULL);
  for (guint i = 0; !other && ddp[i] != NULL; i++)
    good &= study_set(study, ddp[i], NULL);
  for (guint i = 0; sets != NULL && sets[i] != NULL; i++)
    good &= study_set(study, sets[i], NULL);
  CU_ASSERT_TRUE_FATAL(good);
  return study;
}

static RunReport *run(const char *topology, const char *const *sets, const StudyOptions *options) {
  g_autoptr(Study) study = open_one(topology, sets);
  GError *error = NULL;
  RunReport *report = study_run(study, options, &error);
  if (report == NULL)
    g_error("%s", error->message);
  return report;
}

static RunReport *usual_run(const char *topology, const char *const *sets) {
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  return run(topology, sets, &options);
}

/* Two momenta of a byte for each of 6 738 415 616 parameters, less 65 norms of 4096 elements, which are under 100 000
 * and stay in the caching allocator, as the maxima of blocks of 256 do. */
#define PAGED (2 * (G_GUINT64_CONSTANT(6738415616) - 65 * 4096))

/* 80 GB: the step is that of states that are not paged, and what nvidia-smi would show too, within the 2 MiB pieces in
 * which the caching allocator takes segments for 34 units; the allocator holds the less for it. */
static void with_room(void) {
  g_autoptr(RunReport) paged = usual_run("aws-p4de", NULL);
  g_autoptr(RunReport) fixed = usual_run("aws-p4de", (const char *const[]){"training.paged_states=no", NULL});
  const RunClass *of = &paged->classes[0], *other = &fixed->classes[0];
  CU_ASSERT_EQUAL(paged->paged, PAGED);
  CU_ASSERT_EQUAL(of->managed, PAGED);
  CU_ASSERT_TRUE(paged->paged_host == 0 && paged->host_used == 0 && fixed->paged == 0);
  CU_ASSERT_TRUE(paged->verdict == RUN_FITS && of->step == other->step);
  CU_ASSERT_TRUE(of->peak_reserved + PAGED == of->device_used - (other->device_used - other->peak_reserved));
}

/* 40 GB: states of the same kind that are not paged run out. What the caching allocator holds is what it held where
 * there was room (it comes first); what is left of the GPU holds states, and every step moves all of them at the
 * link's 4.2 GB/s. */
static void without_room(void) {
  g_autoptr(RunReport) paged = usual_run("aws-p4d", NULL);
  g_autoptr(RunReport) fixed = usual_run("aws-p4d", (const char *const[]){"training.paged_states=no", NULL});
  g_autoptr(RunReport) large = usual_run("aws-p4de", NULL);
  const RunClass *of = &paged->classes[0];
  CU_ASSERT_TRUE(fixed->verdict == RUN_OOM && paged->verdict == RUN_FITS);
  CU_ASSERT_TRUE(paged->paged == PAGED && paged->paged_host > 0 && of->retries == 0);
  CU_ASSERT_EQUAL(of->device_used, of->capacity);
  CU_ASSERT_EQUAL(of->peak_reserved, large->classes[0].peak_reserved);
  CU_ASSERT_EQUAL(paged->paged_host, PAGED - of->managed);
  CU_ASSERT_TRUE(of->device_used_high == of->capacity); /* pages make way for more than was foretold */
  CU_ASSERT_EQUAL(of->step - fixed->classes[0].step, sim_time_of_amount((double)PAGED, 4.2e9));
}

/* A state more than has room costs what ten GiB more cost. The 32-bit momenta are 4 bytes for one. */
static void all_or_nothing(void) {
  g_autoptr(RunReport) little = usual_run("aws-p4d", NULL);
  g_autoptr(RunReport) much = usual_run("aws-p4d", (const char *const[]){"training.optimizer=adamw", NULL});
  CU_ASSERT_EQUAL(much->paged, 4 * PAGED);
  CU_ASSERT_TRUE((double)little->paged_host < 2 * GIB && (double)much->paged_host > 30 * GIB);
  double one = sim_time_to_seconds(little->classes[0].idle), other = sim_time_to_seconds(much->classes[0].idle);
  CU_ASSERT_DOUBLE_EQUAL(other / one, 4, 1e-3);
}

/* All that moves has pages in host memory: 12.55 GiB of a node's 12. */
static void host_runs_out(void) {
  g_autoptr(RunReport) paged = usual_run("aws-p4d", (const char *const[]){"host.dram=12 GiB", NULL});
  CU_ASSERT_TRUE(paged->host_used == PAGED && paged->verdict == RUN_OOM && run_report_host_short(paged));
  CU_ASSERT_FALSE(paged->classes[0].has_oom);
}

/* Adapters of rank 16 at q and v are 16 x 4096 elements: none is paged. Of rank 64 all are: 32 layers of 2 x 2. */
static void small_tensors_stay(void) {
  g_autoptr(RunReport) small = usual_run("aws-p4d", (const char *const[]){"training.trainable=lora:16", NULL});
  g_autoptr(RunReport) large = usual_run("aws-p4d", (const char *const[]){"training.trainable=lora:64", NULL});
  CU_ASSERT_EQUAL(small->paged, 0);
  CU_ASSERT_EQUAL(large->paged, 2 * 32 * 4 * 64 * 4096);
}

/* Shards of FSDP1 and DeepSpeed: an eighth each, with what pads them. */
static void shards(void) {
  static const char *const frameworks[] = {"parallel.framework=fsdp1", "parallel.framework=deepspeed"};
  for (guint i = 0; i < G_N_ELEMENTS(frameworks); i++) {
    g_autoptr(RunReport) report = usual_run(
        "aws-p4d", (const char *const[]){frameworks[i], "parallel.zero_stage=3", "cluster.gpus_per_node=8", NULL});
    CU_ASSERT_DOUBLE_EQUAL((double)report->paged / ((double)PAGED / 8), 1, 1e-3);
    CU_ASSERT_TRUE(report->paged_host == 0);
  }
}

/* Micro-batches that are counted, and a trace that is replayed, are the same as the plain run. */
static void twins(void) {
  static const char *const sets[] = {"training.gradient_accumulation=16", NULL};
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  g_autoptr(RunReport) counted = run("aws-p4d", sets, &options);
  options.every_micro_batch = options.every_step = TRUE;
  g_autoptr(RunReport) fixed = run("aws-p4d", sets, &options);
  CU_ASSERT_TRUE(counted->paged_host > 0 && counted->paged_host == fixed->paged_host);
  CU_ASSERT_EQUAL(counted->classes[0].step, fixed->classes[0].step);
  g_autoptr(Study) study = open_one("aws-p4d", NULL);
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(study_trace(study, text, NULL));
  const char *cluster[] = {"cluster.topology=aws-p4d", "cluster.gpus_per_node=1", NULL};
  g_autoptr(RunReport) again = replay(text->str, cluster, STUDY_REPLAY_DEFAULT, NULL);
  g_autoptr(RunReport) once = usual_run("aws-p4d", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(again);
  g_autofree guint32 *classes = twins_classes(once, once->identity.gpus);
  CU_ASSERT_TRUE(twins_equal(once, classes, again, TRUE));
  CU_ASSERT_TRUE(again->paged == once->paged && again->paged_host == once->paged_host && again->paged_host > 0);
  char *page = strstr(text->str, ":managed"); /* the fault: a state in the caching allocator is another run */
  CU_ASSERT_PTR_NOT_NULL_FATAL(page);
  g_string_erase(text, page - text->str, (gssize)strlen(":managed"));
  g_autoptr(RunReport) broken = replay(text->str, cluster, STUDY_REPLAY_DEFAULT, NULL);
  CU_ASSERT_TRUE(broken == NULL || broken->paged_host != once->paged_host);
}

static void refused(void) {
  static const char *const cases[][5] = {
      {"training.optimizer=sgd", NULL, NULL, NULL, "no paged sgd"},
      {"parallel.framework=megatron", NULL, NULL, NULL, "do not run under megatron"},
      {"parallel.framework=fsdp2", "cluster.gpus_per_node=8", "parallel.zero_stage=3", NULL, "do not run under fsdp2"},
      {"parallel.framework=deepspeed", "parallel.offload_optimizer=cpu", "training.optimizer=adam",
       "parallel.zero_stage=2", "one or the other"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const char *sets[] = {cases[i][0], cases[i][1], cases[i][2], cases[i][3], NULL};
    g_autoptr(Study) study = open_one("aws-p4d", sets);
    StudyOptions options = STUDY_OPTIONS_DEFAULT;
    GError *error = NULL;
    HARNESS_FAILS(study_run(study, &options, &error) != NULL, error, cases[i][4]);
  }
}

int main(void) {
  return harness_run("study-pages", (HarnessCase[]){
                                        {"with room", with_room},
                                        {"without room", without_room},
                                        {"all or nothing", all_or_nothing},
                                        {"host runs out", host_runs_out},
                                        {"small tensors stay", small_tensors_stay},
                                        {"shards", shards},
                                        {"twins", twins},
                                        {"refused", refused},
                                        {NULL, NULL},
                                    });
}
