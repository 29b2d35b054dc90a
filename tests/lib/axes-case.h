/* SPDX-License-Identifier: MIT */
/* Programs of a small model of eight heads over axes of parallelism, and questions about their rows.
 *
 *   g_autoptr(Program) program = axes_case(7, FALSE, 8, (const char *[]){"parallel.framework=fsdp2",
 *                                                                        "parallel.pipeline=2", NULL});
 *   axes_case_rows(&program->roles[0].sections[PROGRAM_STEADY], "all-gather parameters");
 */
#pragma once

#include "plan-case.h"

/* A llama of hidden_size 256, intermediate_size 512, vocab_size 640. */
Program *axes_case(guint64 layers, gboolean tied, guint32 ranks, const char *const *assignments);
/* The same with what `change` makes of the recipe. */
Program *axes_case_changed(guint64 layers, guint32 ranks, const char *const *assignments,
                           void (*change)(PlanRecipe *recipe));
/* Whether all its waits end and all members of a communicator issue the same calls: what reading its trace checks. Says
 * on stderr what is wrong. */
gboolean axes_case_plays(const Program *program);

/* Rows of a name: how many, the first and the last (-1: none), all their bytes where they are collectives. */
guint axes_case_rows(const ProgramSection *section, const char *name);
gint axes_case_first(const ProgramSection *section, const char *name);
gint axes_case_last(const ProgramSection *section, const char *name);
guint64 axes_case_bytes(const ProgramSection *section, const char *name);
/* Layers whose forward stands there. */
gint32 axes_case_layers(const ProgramSection *section);
/* Ranks of the communicator that rank 0 of a role calls so on. */
guint32 axes_case_group(const Program *program, guint32 role, const char *name);

typedef struct {
  const char *sets[5];  /* NULL ends them, where there are fewer */
  const char *fragment; /* of the error; NULL: it is taken */
} AxesRefusal;
/* Of 7 layers over 8 ranks. */
void axes_case_refuse(const char *framework, const char *stage, const AxesRefusal *rows, gsize n);
