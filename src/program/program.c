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

void program_free(Program *program) {
  if (program == NULL)
    return;
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
  g_free(program->tensors);
  g_free(program->ops);
  g_free(program->durations);
  g_free((gpointer)program->streams);
  g_free(program->pools);
  g_string_chunk_free(program->names);
  g_free(program);
}
