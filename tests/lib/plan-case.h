/* SPDX-License-Identifier: MIT */
/* Programs for tests of frameworks: a model by its shape, a recipe by settings as people write them, and a Program's
 * rows condensed to a few lines.
 *
 *   PlanShape shape = {.layers = 3, .vocab_size = 641};
 *   g_autoptr(Program) program = plan_case(&shape, 8, 8, (const char *[]){"parallel.framework=ddp", NULL});
 *   plan_case_expect(program, PROGRAM_STEADY, "plan-ddp-steady");        // tests/golden/plan-ddp-steady.txt
 */
#pragma once

#include "harness.h"
#include "plan.h"

typedef struct {
  guint64 layers, hidden_size, intermediate_size, vocab_size;
  gboolean tied;
} PlanShape;

/* A llama of one head. */
void plan_case_shape(const PlanShape *from, ModelShape *ret);
/* `model`: of that shape, as the assignments (NULL ends them) say it is trained. */
gboolean plan_case_load(const ModelShape *shape, guint32 ranks, guint32 per_node, const char *const *assignments,
                        ModelRecipe *model, PlanRecipe *ret, GError **error);
/* Assignments end with NULL; one that is refused fails the test and gives NULL. */
gboolean plan_case_recipe(guint32 ranks, guint32 per_node, const char *const *assignments, PlanRecipe *ret,
                          GError **error);

Program *plan_case(const PlanShape *shape, guint32 ranks, guint32 per_node, const char *const *assignments);

/* Fails the test, with `settings` in the message, where the Program breaks a rule of program-check.h: written as a
 * trace and read back, all waits end, members of a communicator issue the same calls in the same order, and what is
 * taken is given. */
void plan_case_plays(const Program *program, const char *settings);

/* ---- Condensed rows ---- */

/* Condensed, a section is what tests/golden has under that name. */
void plan_case_expect(const Program *program, ProgramSectionKind kind, const char *golden);
