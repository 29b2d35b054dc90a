/* SPDX-License-Identifier: MIT */
/* The host runs ahead where kernels are long and limits where they are short, under every real framework. */
#include "harness.h"
#include "study.h"

typedef struct {
  const char *framework;
  guint stage;
} Policy;

static const Policy policies[] = {{"ddp", 0},   {"deepspeed", 0}, {"deepspeed", 3}, {"fsdp1", 3},
                                  {"fsdp2", 3}, {"megatron", 0},  {"nanotron", 0}};

/* Two GPUs, so that little is communicated; a wide or a narrow model of as many layers. */
static RunReport *play(const Policy *policy, gboolean narrow, const char *cpu, gboolean compiled) {
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  g_autofree char *framework = g_strdup_printf("parallel.framework=%s", policy->framework);
  g_autofree char *stage = g_strdup_printf("parallel.zero_stage=%u", policy->stage);
  g_autofree char *compile = g_strdup_printf("training.compile=%s", compiled ? "yes" : "no");
  g_autofree char *processor = g_strdup_printf("node.cpu=%s", cpu);
  const char *const narrow_sets[] = {"model.hidden_size=256", "model.heads=4",
                                     "model.kv_heads=4",      "model.intermediate_size=704",
                                     "model.vocab_size=2048", "training.sequence_length=128"};
  const char *const sets[] = {framework,       stage, compile, processor, "cluster.nodes=1", "cluster.gpus_per_node=2",
                              "model.layers=4"};
  gboolean good = TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(sets); i++)
    good = good && study_set(study, sets[i], NULL);
  for (gsize i = 0; narrow && i < G_N_ELEMENTS(narrow_sets); i++)
    good = good && study_set(study, narrow_sets[i], NULL);
  CU_ASSERT_TRUE_FATAL(good);
  const StudyOptions options = STUDY_OPTIONS_DEFAULT;
  GError *error = NULL;
  RunReport *report = study_run(study, &options, &error);
  if (report == NULL)
    g_error("%s: %s", policy->framework, error->message);
  return report;
}

static double waits(const RunReport *report) {
  const RunClass *all = &report->classes[0];
  return (double)(all->host + all->by_cause[RUN_CAUSE_HOST]) / (double)all->step;
}

/* Short kernels: the GPU waits for its host for over half of the step, a slower processor makes it as much longer as it
 * is slower (hosts.ini: intel-skylake's times are 1.35 of intel-spr's), and compiled graphs, which launch less, make it
 * shorter. */
static void short_kernels_wait_for_the_host(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(policies); i++) {
    g_autoptr(RunReport) eager = play(&policies[i], TRUE, "intel-spr", FALSE);
    g_autoptr(RunReport) compiled = play(&policies[i], TRUE, "intel-spr", TRUE);
    g_autoptr(RunReport) slower = play(&policies[i], TRUE, "intel-skylake", FALSE);
    double step = (double)eager->classes[0].step;
    CU_ASSERT_TRUE(waits(eager) > 0.5);
    CU_ASSERT_TRUE((double)compiled->classes[0].step < 0.95 * step);
    CU_ASSERT_TRUE((double)slower->classes[0].step > 1.2 * step && (double)slower->classes[0].step < 1.36 * step);
    if (waits(eager) <= 0.5 || (double)compiled->classes[0].step >= 0.95 * step)
      printf("    %s, ZeRO-%u: %.3f of %.3f ms waits, compiled %.3f\n", policies[i].framework, policies[i].stage,
             waits(eager), step / 1e9, (double)compiled->classes[0].step / 1e9);
  }
}

/* Long kernels: the host is far ahead, and a slower one changes next to nothing. */
static void long_kernels_do_not(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(policies); i++) {
    g_autoptr(RunReport) fast = play(&policies[i], FALSE, "intel-spr", FALSE);
    g_autoptr(RunReport) slower = play(&policies[i], FALSE, "intel-skylake", FALSE);
    CU_ASSERT_TRUE(waits(fast) < 0.05);
    CU_ASSERT_TRUE((double)slower->classes[0].step < 1.02 * (double)fast->classes[0].step);
  }
}

/* The textbook's host never limits. */
static void the_textbook_has_no_host(void) {
  const Policy paper = {"paper", 3};
  g_autoptr(RunReport) fast = play(&paper, TRUE, "intel-spr", FALSE);
  g_autoptr(RunReport) slower = play(&paper, TRUE, "intel-skylake", FALSE);
  CU_ASSERT_EQUAL(fast->classes[0].step, slower->classes[0].step);
  CU_ASSERT_EQUAL(fast->classes[0].host, 0);
  CU_ASSERT_EQUAL(fast->classes[0].by_cause[RUN_CAUSE_HOST], 0);
}

int main(void) {
  return harness_run("study-host", (HarnessCase[]){{"short kernels wait for the host", short_kernels_wait_for_the_host},
                                                   {"long kernels do not", long_kernels_do_not},
                                                   {"the textbook has no host", the_textbook_has_no_host},
                                                   {NULL, NULL}});
}
