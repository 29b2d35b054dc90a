/* SPDX-License-Identifier: MIT */
/* Names of a Program's kinds; operations that only move bytes; freeing what a Program owns. */
#include "program.h"
#include "kernel-op.h"

const char *const program_path_names[] = {"pinned", "pageable", PROGRAM_MANAGED_WORD, NULL};
const char *const program_kind_names[] = {"compute", "collective", "host", "copy", "cpu", NULL};
const char *const program_phase_names[] = {"setup",  "forward",   "backward", "recompute",
                                           "reduce", "optimizer", "gather",   NULL};
const char *const program_hint_names[] = {"", "bucket", "boundary", "pipeline", NULL};
const char *const program_section_names[] = {"first", "steady", NULL};

guint32 program_builder_memory_ops(ProgramBuilder *builder, guint64 bytes, guint32 launches) {
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_FP32, .batch = 1, .bytes = bytes, .launches = launches};
  return program_builder_op(builder, &op);
}

guint32 program_builder_memory_op(ProgramBuilder *builder, guint64 bytes) {
  return program_builder_memory_ops(builder, bytes, 0);
}

Program *program_hold(Program *program) {
  program->holders++;
  return program;
}

Program *program_like(Program *source) {
  Program *program = g_memdup2(source, sizeof *source);
  program->tensors = g_memdup2(source->tensors, source->n_tensors * sizeof *source->tensors);
  program->ops = g_memdup2(source->ops, source->n_ops * sizeof *source->ops);
  program->source = program_hold(source->source != NULL ? source->source : source);
  program->holders = 0;
  return program;
}

void program_set_op(Program *program, guint32 index, const KernelOp *op) {
  program->ops[index] = *op;
}

/* What one that is like another has of it. */
static void free_rows(Program *program) {
  for (guint i = 0; i < program->n_roles; i++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      ProgramSection *section = &program->roles[i].sections[s];
      g_free(section->rows);
      g_free(section->needs);
      g_free(section->gives);
      g_free(section->takes);
    }
  for (guint i = 0; i < program->n_communicators; i++)
    g_free(program->communicators[i].ranks);
  g_free(program->roles);
  g_free(program->ranks);
  g_free(program->communicators);
  g_free((gpointer)program->slots);
  g_free(program->memberships);
  g_free(program->durations);
  g_free((gpointer)program->streams);
  g_free(program->pools);
  g_string_chunk_free(program->names);
}

void program_free(Program *program) {
  if (program == NULL || (program->holders > 0 && program->holders-- > 0))
    return;
  if (program->source != NULL)
    program_free(program->source);
  else
    free_rows(program);
  g_free(program->tensors);
  g_free(program->ops);
  g_free(program);
}
