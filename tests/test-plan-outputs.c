/* SPDX-License-Identifier: MIT */
/* training.use_cache and loss = half-kept: which outputs are held, from when to when. */
#include <string.h>

#include "plan-axes.h"
#include "plan-case.h"

#define LAYERS   2
#define SEQUENCE 64                                              /* of plan_case_load */
#define CACHE    (G_GUINT64_CONSTANT(2) * SEQUENCE * 4 * 32 * 2) /* keys and values of 4 heads of 32, 16 bits */
#define LOGITS   (G_GUINT64_CONSTANT(640) * SEQUENCE)

/* Bytes of the outputs that are held. */
typedef struct {
  guint64 begun, most, backward, ended; /* as the step begins; the most; at the loss's backward; as it ends */
} Held;

static gboolean is_output(const ProgramTensor *tensor) {
  return strcmp(tensor->name, "keys and values") == 0 || g_str_has_suffix(tensor->name, "of outputs");
}

static Program *program_of(const char *const *settings, PlanRecipe *ret_recipe) {
  ModelShape shape;
  ModelRecipe model;
  g_autoptr(GError) error = NULL;
  PlanShape size = {.layers = LAYERS, .hidden_size = 256, .intermediate_size = 512, .vocab_size = 640};
  plan_case_shape(&size, &shape);
  shape.heads = 8;
  shape.kv_heads = 4;
  shape.head_dim = 32;
  if (!plan_case_load(&shape, 8, 8, settings, &model, ret_recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  return plan_program(&shape, &model, ret_recipe);
}

static guint64 play(const Program *program, ProgramSectionKind kind, guint64 held, Held *ret) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  *ret = (Held){.begun = held, .most = held};
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 k = 0; k < row->n_gives; k++) {
      const ProgramTensor *tensor = &program->tensors[section->gives[row->gives + k].tensor];
      held -= is_output(tensor) ? tensor->bytes : 0;
    }
    for (guint32 k = 0; k < row->n_takes; k++) {
      const ProgramTensor *tensor = &program->tensors[section->takes[row->takes + k]];
      held += is_output(tensor) ? tensor->bytes : 0;
    }
    ret->most = MAX(ret->most, held);
    if (g_str_equal(row->name, "cross_entropy.backward"))
      ret->backward = held;
  }
  return ret->ended = held;
}

static Held held_by(const char *checkpointing, const char *loss, const char *cache, Held *ret_first) {
  const char *settings[] = {"parallel.framework=fsdp1", checkpointing, loss, cache, NULL};
  PlanRecipe recipe;
  g_autoptr(Program) program = program_of(settings, &recipe);
  Held first, steady;
  guint64 held = play(program, PROGRAM_FIRST, 0, &first);
  play(program, PROGRAM_STEADY, held, &steady);
  if (ret_first != NULL)
    *ret_first = first;
  return steady;
}

#define FULL      "training.activation_checkpointing=full"
#define NONE      "training.activation_checkpointing=none"
#define KEPT      "training.loss=kept"
#define EAGER     "training.loss=eager"
#define CACHE_YES "training.use_cache=yes"

/* Layers that run again: old and new keys and values meet as forward returns; the loss keeps new logits by itself until
 * backward is over, so that the held ones are the old ones before and the new ones after. */
static void old_and_new_meet(void) {
  Held first, steady = held_by(FULL, KEPT, CACHE_YES, &first);
  CU_ASSERT_EQUAL(first.begun, 0);
  CU_ASSERT_EQUAL(first.ended, LAYERS * CACHE + 4 * LOGITS);
  CU_ASSERT_EQUAL(steady.begun, first.ended);
  CU_ASSERT_EQUAL(steady.ended, first.ended);
  CU_ASSERT_EQUAL(steady.most, 2 * LAYERS * CACHE + 4 * LOGITS);
  CU_ASSERT_EQUAL(steady.backward, LAYERS * CACHE);
}

/* Where backward wants keys and values they are there anyway until their layer's backward. */
static void backward_keeps_its_own(void) {
  Held steady = held_by(NONE, KEPT, CACHE_YES, NULL);
  CU_ASSERT_EQUAL(steady.most, LAYERS * CACHE + 4 * LOGITS);
  CU_ASSERT_EQUAL(steady.backward, 0);
  CU_ASSERT_EQUAL(steady.ended, steady.most);
}

/* Logits that the loss does not keep are of 16 bits; losses in chunks make none. */
static void logits_are_as_they_were_made(void) {
  Held steady = held_by(FULL, EAGER, CACHE_YES, NULL);
  CU_ASSERT_EQUAL(steady.begun, LAYERS * CACHE + 2 * LOGITS);
  CU_ASSERT_EQUAL(steady.backward, steady.begun);
  CU_ASSERT_EQUAL(held_by(FULL, "training.loss=fused-linear", CACHE_YES, NULL).begun, LAYERS * CACHE);
  CU_ASSERT_EQUAL(held_by(FULL, KEPT, "training.use_cache=no", NULL).most, 0);
}

/* Without a cache the logits alone, in the loss's 16 bits; the new ones are there by themselves in the loss. */
static void logits_alone_are_held(void) {
  Held first, steady = held_by(FULL, "training.loss=half-kept", "training.use_cache=no", &first);
  CU_ASSERT_EQUAL(first.begun, 0);
  CU_ASSERT_EQUAL(steady.begun, 2 * LOGITS);
  CU_ASSERT_EQUAL(steady.backward, 0);
  CU_ASSERT_EQUAL(steady.ended, 2 * LOGITS);
  CU_ASSERT_EQUAL(held_by(FULL, "training.loss=half", "training.use_cache=no", NULL).most, 0);
  CU_ASSERT_EQUAL(held_by(FULL, "training.loss=half-kept", CACHE_YES, NULL).begun, LAYERS * CACHE + 2 * LOGITS);
}

int main(void) {
  return harness_run("plan-outputs", (HarnessCase[]){{"old and new meet", old_and_new_meet},
                                                     {"backward keeps its own", backward_keeps_its_own},
                                                     {"logits are as they were made", logits_are_as_they_were_made},
                                                     {"logits alone are held", logits_alone_are_held},
                                                     {NULL, NULL}});
}
