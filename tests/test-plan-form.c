/* SPDX-License-Identifier: MIT */
/* Programs filled into the form of another against their plain twin, which walks them: the same file. */
#include "hw-catalog.h"
#include "plan-case.h"
#include "plan-form.h"
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

static const HwHost host = {.forward_kernel = 7,
                            .backward_kernel = 8,
                            .matmul = 13,
                            .compiled_kernel = 5,
                            .collective = 40,
                            .fsdp_unit = 750,
                            .micro_batch = 200};
static const PlanShape small = {.layers = 4, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 640};

/* FALSE: the settings are refused together. */
static gboolean load(const PlanShape *shape, const char *settings, const char *sizes, Case *ret) {
  g_autofree char *all = g_strdup_printf("%s %s", settings, sizes);
  g_auto(GStrv) words = g_strsplit(all, " ", -1);
  g_autoptr(GError) error = NULL;
  *ret = (Case){0};
  plan_case_shape(shape, &ret->shape);
  ret->shape.heads = ret->shape.kv_heads = 4;
  ret->shape.head_dim = shape->hidden_size / 4;
  gboolean good = plan_case_load(&ret->shape, 8, 8, (const char *const *)words, &ret->model, &ret->recipe, &error);
  ret->recipe.host = &host;
  return good;
}

static PlanForm *form_of(const Case *one) {
  PlanForm *form;
  program_free(plan_form_new(&one->shape, &one->model, &one->recipe, &form));
  return form;
}

static Program *fill(PlanForm *form, const Case *one) {
  return plan_form_program(form, &one->shape, &one->model, &one->recipe);
}

static gboolean is_as_walked(Program *filled, const Case *one) {
  g_autofree char *text = text_of(filled);
  g_autofree char *walked = text_of(plan_program_of_all(&one->shape, &one->model, &one->recipe));
  return strcmp(text, walked) == 0;
}

static const char *const sizes[] = {"training.sequence_length=256 training.micro_batch=1",
                                    "training.sequence_length=1024 training.micro_batch=3",
                                    "training.sequence_length=96 training.micro_batch=2"};

/* Longer, shorter, and back; -1: refused, 0: it has no form. */
static int try_form(const char *settings) {
  Case cases[G_N_ELEMENTS(sizes)];
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    if (!load(&small, settings, sizes[i], &cases[i]))
      return -1;
  PlanForm *form = form_of(&cases[0]);
  if (form == NULL)
    return 0;
  for (gsize i = G_N_ELEMENTS(sizes); i-- > 0;) {
    Program *filled = fill(form, &cases[i]);
    CU_ASSERT_PTR_NOT_NULL_FATAL(filled);
    gboolean same = is_as_walked(filled, &cases[i]);
    CU_ASSERT_TRUE(same);
    if (!same)
      g_printerr("not as walked: %s %s\n", settings, sizes[i]);
  }
  plan_form_free(form);
  return 1;
}

/* Every framework, stage and options that change what is done around a unit's operations. */
static void all_are_as_walked(void) {
  static const char *const frameworks[] = {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"};
  static const char *const options[] = {
      "training.gradient_accumulation=1",
      "training.gradient_accumulation=3",
      "training.activation_checkpointing=full",
      "training.activation_checkpointing=selective",
      "training.attention=eager",
      "training.fused_kernels=liger",
      "training.loss=kept",
      "training.compile=yes",
      "training.optimizer_style=single",
      "training.trainable=lora:8",
      "training.trainable=head",
      "training.gradient_accumulation=2 fsdp.cpu_offload=yes",
      "fsdp.reshard_after_forward=no training.gradient_accumulation=2",
      "parallel.offload_optimizer=cpu",
      "training.optimizer=muon",
      "parallel.shard_group=4",
  };
  guint formed = 0, of[G_N_ELEMENTS(options)] = {0};
  for (gsize f = 0; f < G_N_ELEMENTS(frameworks); f++)
    for (int stage = 0; stage < 4; stage++)
      for (gsize o = 0; o < G_N_ELEMENTS(options); o++) {
        g_autofree char *settings =
            g_strdup_printf("parallel.framework=%s parallel.zero_stage=%d %s", frameworks[f], stage, options[o]);
        gboolean has = try_form(settings) == 1;
        formed += has;
        of[o] += has;
      }
  for (gsize o = 0; o < G_N_ELEMENTS(options); o++)
    if (of[o] == 0) {
      CU_FAIL("an option that no framework has a form with");
      g_printerr("%s\n", options[o]);
    }
  CU_ASSERT_TRUE(formed > 80);
  printf(" %u forms;", formed);
}

/* Where sizes stand in rows, or in what is returned. */
static void some_have_none(void) {
  CU_ASSERT_EQUAL(try_form("parallel.framework=fsdp2 parallel.zero_stage=3"), 1);
  CU_ASSERT_EQUAL(try_form("parallel.framework=megatron parallel.tensor=2"), 0);
  CU_ASSERT_EQUAL(try_form("parallel.framework=megatron parallel.pipeline=2 training.gradient_accumulation=4"), 0);
  CU_ASSERT_EQUAL(try_form("parallel.framework=fsdp2 parallel.zero_stage=3 training.use_cache=yes"), 0);
}

/* Other parameters, other operations. */
static void others_are_refused(void) {
  static const char *const settings = "parallel.framework=fsdp2 parallel.zero_stage=3";
  PlanShape wide = small;
  wide.intermediate_size = 192;
  Case one, wider, eager;
  CU_ASSERT_TRUE_FATAL(load(&small, settings, sizes[0], &one));
  CU_ASSERT_TRUE_FATAL(load(&wide, settings, sizes[0], &wider));
  CU_ASSERT_TRUE_FATAL(load(&small, settings, "training.attention=eager", &eager));
  PlanForm *form = form_of(&one);
  CU_ASSERT_PTR_NULL(fill(form, &wider));
  CU_ASSERT_PTR_NULL(fill(form, &eager));
  CU_ASSERT_TRUE(is_as_walked(fill(form, &one), &one));
  plan_form_free(form);
}

/* The planted fault: a recipe that is not the form's is told apart by its file. */
static void a_lie_is_seen(void) {
  Case one, other;
  CU_ASSERT_TRUE_FATAL(load(&small, "parallel.framework=paper parallel.zero_stage=3", sizes[0], &one));
  CU_ASSERT_TRUE_FATAL(load(&small, "parallel.framework=paper parallel.zero_stage=1", sizes[1], &other));
  PlanForm *form = form_of(&one);
  CU_ASSERT_FALSE(is_as_walked(fill(form, &other), &other));
  plan_form_free(form);
}

int main(void) {
  return harness_run("plan-form", (HarnessCase[]){{"all are as walked", all_are_as_walked},
                                                  {"some have none", some_have_none},
                                                  {"others are refused", others_are_refused},
                                                  {"a lie is seen", a_lie_is_seen},
                                                  {NULL, NULL}});
}
