/* SPDX-License-Identifier: MIT */
/* Steady sections that repeat the first's rows against their plain twin, which walks both: the same file. */
#include "plan-case.h"
#include "plan-policy.h"
#include "plan-step.h"
#include "program-trace.h"

typedef struct {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
} Case;

static char *text_of(Program *program) {
  GString *text = g_string_new(NULL);
  program_trace_write(program, &(ProgramOrigin){0}, NULL, text);
  program_free(program);
  return g_string_free(text, FALSE);
}

static guint32 ahead_of(const Case *one) {
  g_autoptr(Program) program = plan_program(&one->shape, &one->model, &one->recipe);
  return program->roles[0].ahead;
}

static gboolean is_as_walked(const Case *one) {
  g_autofree char *repeated = text_of(plan_program(&one->shape, &one->model, &one->recipe));
  g_autofree char *walked = text_of(plan_program_of_all(&one->shape, &one->model, &one->recipe));
  return strcmp(repeated, walked) == 0;
}

/* FALSE: the settings are refused together. */
static gboolean load(const char *settings, Case *ret) {
  g_auto(GStrv) words = g_strsplit(settings, " ", -1);
  g_autoptr(GError) error = NULL;
  plan_case_shape(&(PlanShape){.layers = 4, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 640},
                  &ret->shape);
  return plan_case_load(&ret->shape, 8, 8, (const char *const *)words, &ret->model, &ret->recipe, &error);
}

static void expect(const char *settings, gboolean repeats) {
  Case one = {0};
  if (!load(settings, &one))
    g_error("refused: %s", settings);
  CU_ASSERT_EQUAL(ahead_of(&one) > 0, repeats);
  CU_ASSERT_TRUE(is_as_walked(&one));
}

/* Every framework, stage and the options that add rows around a step; what is refused together is left out. */
static void all_are_as_walked(void) {
  static const char *const frameworks[] = {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"};
  static const char *const options[] = {
      "training.micro_batch=1",
      "training.gradient_accumulation=3",
      "training.activation_checkpointing=full",
      "training.optimizer_style=for_loop",
      "training.gradient_accumulation=2 fsdp.cpu_offload=yes",
      "fsdp.reshard_after_forward=no training.gradient_accumulation=2",
      "fsdp.backward_prefetch=none",
      "fsdp.forward_prefetch=1",
      "parallel.pipeline=2 training.gradient_accumulation=4",
      "parallel.tensor=2",
  };
  guint tried = 0, repeated = 0;
  for (gsize f = 0; f < G_N_ELEMENTS(frameworks); f++)
    for (int stage = 0; stage < 4; stage++)
      for (gsize o = 0; o < G_N_ELEMENTS(options); o++) {
        g_autofree char *settings =
            g_strdup_printf("parallel.framework=%s parallel.zero_stage=%d %s", frameworks[f], stage, options[o]);
        Case one = {0};
        if (!load(settings, &one))
          continue;
        tried++;
        repeated += ahead_of(&one) > 0;
        CU_ASSERT_TRUE(is_as_walked(&one));
        if (!is_as_walked(&one))
          g_printerr("not as walked: %s\n", settings);
      }
  CU_ASSERT_TRUE(tried > 50 && repeated > 20);
}

/* FSDP1's first forward learns the order that later ones gather ahead by. DDP's first step puts gradients in buckets in
 * the order in which they come. */
static void some_do_not_repeat(void) {
  expect("parallel.framework=paper parallel.zero_stage=3", TRUE);
  expect("parallel.framework=fsdp1 parallel.zero_stage=3", TRUE);
  expect("parallel.framework=fsdp2 parallel.zero_stage=3", TRUE);
  expect("parallel.framework=fsdp1 parallel.zero_stage=3 fsdp.forward_prefetch=1", FALSE);
  expect("parallel.framework=ddp", FALSE);
}

static gboolean yes(G_GNUC_UNUSED gconstpointer policy) {
  return TRUE;
}

/* The planted fault: a framework that says so and does otherwise is told apart. */
static void a_lie_is_seen(void) {
  Case one = {0};
  if (!load("parallel.framework=fsdp1 parallel.zero_stage=3 fsdp.forward_prefetch=1", &one))
    g_error("refused");
  PlanHooks lying = *plan_policies[PLAN_FSDP1].hooks;
  lying.repeats = yes;
  PlanCase what = {&one.shape, &one.model, &one.recipe, FALSE};
  g_autofree char *repeated = text_of(plan_step_program(&what, &lying));
  g_autofree char *walked = text_of(plan_program_of_all(&one.shape, &one.model, &one.recipe));
  CU_ASSERT_STRING_NOT_EQUAL(repeated, walked);
}

int main(void) {
  return harness_run("plan-repeat", (HarnessCase[]){{"all are as walked", all_are_as_walked},
                                                    {"some do not repeat", some_do_not_repeat},
                                                    {"a lie is seen", a_lie_is_seen},
                                                    {NULL, NULL}});
}
