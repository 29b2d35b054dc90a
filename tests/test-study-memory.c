/* SPDX-License-Identifier: MIT */
/* Memory over random workloads and policies: the ledger balances, the four numbers stand in their order, the verdict is
 * what they say. */
#include <string.h>

#include "harness.h"
#include "random-point.h"

static const RandomAxis axes[] = {
    {"parallel.framework", {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"}},
    {"parallel.zero_stage", {"0", "1", "2", "3"}},
    {"parallel.offload_optimizer", {"no", "no", "cpu"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100"}},
    {"training.sequence_length", {"1024", "2048", "4096"}},
    {"training.micro_batch", {"1", "2", "4", "8"}},
    {"training.gradient_accumulation", {"1", "3"}},
    {"training.activation_checkpointing", {"none", "full", "layers:2"}},
    {"training.loss", {"eager", "fused"}},
    {"training.precision", {"bf16", "fp32"}},
    {"training.trainable", {"all", "all", "lora:16"}},
    {"memory.expandable_segments", {"no", "yes"}},
};

static guint64 sum_of(const guint64 held[RUN_TENANTS]) {
  guint64 sum = 0;
  for (guint t = 0; t < RUN_TENANTS; t++)
    sum += held[t];
  return sum;
}

/* What a class of ranks violates; NULL: nothing. A step that repeats ends with what it began with, tenant by tenant,
 * but for what its first rows take at its very start, where the host costs nothing; no level is above the peak, and
 * what tensors, context and buffers hold is at most what the device must. */
static const char *violated(const RunReport *report, const RunClass *class) {
  if (class->peak_allocated > class->peak_active || class->peak_active > class->peak_reserved ||
      class->peak_reserved > class->device_used || class->steady_allocated > class->peak_allocated)
    return "order of the numbers";
  if ((class->device_used > class->capacity) != class->has_oom || (class->verdict == RUN_OOM && !class->has_oom) ||
      (class->verdict == RUN_FITS && class->has_oom) ||
      class->short_by != (class->has_oom ? class->device_used - class->capacity : 0))
    return "verdict";
  if (class->has_oom && sum_of(class->oom.held) + class->oom.free > class->capacity)
    return "what was held at the request that failed";
  for (guint t = 0; t < RUN_TENANTS; t++)
    if (class->peak_unique[t] > class->peak_held[t])
      return "unique bytes";
  for (guint32 i = 0; i < class->n_samples; i++)
    if (sum_of(class->samples[i].held) > sum_of(class->peak_held))
      return "level above the peak";
  if (sum_of(class->peak_held) > class->device_used)
    return "tensors beyond the device";
  const RunMemorySample *last = &class->samples[class->n_samples - 1];
  for (guint t = 0; t < RUN_TENANTS; t++) {
    gboolean may_begin = g_str_equal(run_tenant_names[t], "activations") ||
                         g_str_equal(run_tenant_names[t], "temporary") ||
                         g_str_equal(run_tenant_names[t], "communication");
    guint64 begun = class->samples[0].held[t], ended = last->held[t];
    if (report->repeats && (may_begin ? ended > begun : ended != begun))
      return "balance of the ledger";
  }
  return NULL;
}

static void books_balance(void) {
  enum { POINTS = 150 };
  g_autoptr(GRand) random = harness_random();
  g_autoptr(Study) base = study_open("llama2-7b", NULL);
  g_autoptr(StudyCache) cache = study_cache_new();
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  guint played = 0, fitting = 0;
  for (guint i = 0; i < POINTS; i++) {
    g_autoptr(StudyPoint) point = random_point(axes, G_N_ELEMENTS(axes), random);
    study_point_run(point, base, &(StudyOptions){.fold = TRUE, .timeline = TRUE}, cache);
    if (point->report == NULL)
      continue;
    played++;
    fitting += point->report->verdict == RUN_FITS;
    for (guint32 c = 0; c < point->report->n_classes; c++) {
      RunClass *class = &point->report->classes[c];
      const char *what = violated(point->report, class);
      CU_ASSERT_PTR_NULL(what);
      for (guint s = 0; what != NULL && s < point->settings->len; s++)
        printf("\n    %s: %s = %s", what, g_array_index(point->settings, StudyPointSetting, s).name,
               g_array_index(point->settings, StudyPointSetting, s).value);
      class->samples[0].held[0] += sum_of(class->peak_held) + 1; /* the check can fail */
      CU_ASSERT_PTR_NOT_NULL(violated(point->report, class));
    }
  }
  printf(" (%u of %u played, %u fit) ", played, POINTS, fitting);
  CU_ASSERT_TRUE(played > POINTS / 5 && fitting > POINTS / 20 && fitting < played);
}

/* DeepSpeed's optimizer on the host: 4 bytes of gradient, 12 of master and momenta for each of 6 738 415 616
 * parameters, all on one node, whatever shares them: 100.4 GiB. */
static void offload_fills_host_memory(void) {
  static const char *const offload[] = {"parallel.framework=deepspeed", "parallel.zero_stage=2", "cluster.nodes=1",
                                        "parallel.offload_optimizer=cpu"};
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  for (gsize i = 0; i < G_N_ELEMENTS(offload); i++)
    CU_ASSERT_TRUE(study_set(study, offload[i], NULL));
  StudyOptions options = {.fold = TRUE};
  g_autoptr(RunReport) roomy = study_run(study, &options, NULL);
  CU_ASSERT_EQUAL(roomy->host_used, 16 * G_GUINT64_CONSTANT(6738415616));
  CU_ASSERT_EQUAL(roomy->host_capacity, G_GUINT64_CONSTANT(2048) << 30);
  CU_ASSERT_EQUAL(roomy->verdict, roomy->classes[roomy->tightest].verdict);
  CU_ASSERT_TRUE(study_set(study, "host.dram=100 GiB", NULL));
  g_autoptr(RunReport) tight = study_run(study, &options, NULL);
  CU_ASSERT_EQUAL(tight->verdict, RUN_OOM);
}

static RunReport *run_of_memory(const char *const *sets) {
  StudyOptions options = {.fold = TRUE};
  GError *error = NULL;
  g_autoptr(Study) study = study_open("llama3-8b", NULL);
  gboolean good = study != NULL;
  for (guint i = 0; good && sets[i] != NULL; i++)
    good = study_set(study, sets[i], &error);
  RunReport *report = good ? study_run(study, &options, &error) : NULL;
  if (report == NULL)
    g_error("%s", error != NULL ? error->message : "no workload");
  return report;
}

/* A host that runs ahead of DeepSpeed's stage 3 gathers for layers whose time has not come: blocks that were given up
 * wait for their stream, beyond what is allocated. One that waits before each of 32 layers' attention, forward and
 * again in backward, has given up at most a layer's: 436 MB of gathered parameters, and one of its gradients. The
 * wait costs it little, for a layer takes the GPU longer than the host: less than a hundredth of the step. */
static void hosts_that_wait_hold_less(void) {
  const char *sets[] = {"parallel.framework=deepspeed",
                        "parallel.zero_stage=3",
                        "cluster.topology=dgx-h100",
                        "cluster.nodes=1",
                        "training.micro_batch=1",
                        "training.activation_checkpointing=full",
                        "training.fused_kernels=yes",
                        "parallel.offload_optimizer=cpu",
                        "training.optimizer=adamw",
                        NULL,
                        NULL};
  g_autoptr(RunReport) ahead = run_of_memory(sets);
  sets[G_N_ELEMENTS(sets) - 2] = "training.attention_waits=yes";
  g_autoptr(RunReport) waits = run_of_memory(sets);
  const RunClass *one = &ahead->classes[0], *other = &waits->classes[0];
  CU_ASSERT_TRUE(one->peak_active > one->peak_allocated + G_GUINT64_CONSTANT(2000000000));
  CU_ASSERT_TRUE(other->peak_active < other->peak_allocated + 2 * G_GUINT64_CONSTANT(436000000));
  CU_ASSERT_TRUE(other->peak_reserved < one->peak_reserved);
  CU_ASSERT_DOUBLE_EQUAL((double)other->step / (double)one->step, 1, 0.01);
}

int main(void) {
  return harness_run("study-memory", (HarnessCase[]){{"books balance", books_balance},
                                                     {"offload fills host memory", offload_fills_host_memory},
                                                     {"hosts that wait hold less", hosts_that_wait_hold_less},
                                                     {NULL, NULL}});
}
