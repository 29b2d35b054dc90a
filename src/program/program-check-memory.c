/* SPDX-License-Identifier: MIT */
/* Takes and gives in the order of the host: `first`, then `steady`, which must leave what it found. */
#include <string.h>

#include "base-error.h"
#include "program-check-private.h"

/* More than any rank holds: sums of bytes stay far below what 64 bits hold. */
#define MOST_HELD (G_GUINT64_CONSTANT(1) << 60)

/* Where a tensor was last taken or given: section and row, and whether it is held since. */
typedef struct {
  gboolean held, known;
  int section;
  guint32 row;
} Life;

typedef struct {
  const ProgramCheck *check;
  guint32 role;
  Life *lives; /* by tensor */
  guint64 held;
} Walk;

static char *last_place(const Walk *walk, const Life *life) {
  if (!life->known)
    return g_strdup("it was never taken");
  g_autofree char *row = program_row_text(walk->check, walk->role, life->section, life->row);
  guint line = program_place(walk->check, walk->role, life->section, life->row).line;
  return g_strdup_printf("%s it, line %u", row, line);
}

static gboolean give(Walk *walk, int section, guint32 row, guint32 tensor, GError **error) {
  const ProgramTensor *given = &walk->check->program->tensors[tensor];
  Life *life = &walk->lives[tensor];
  if (!life->held) {
    g_autofree char *last = last_place(walk, life);
    return program_check_fail(walk->check, walk->role, section, row, error, "gives %s, which is not held: %s%s",
                              given->name, life->known ? "given before: " : "", last);
  }
  walk->held -= given->bytes;
  *life = (Life){FALSE, TRUE, section, row};
  return TRUE;
}

static gboolean take(Walk *walk, int section, guint32 row, guint32 tensor, GError **error) {
  const ProgramTensor *taken = &walk->check->program->tensors[tensor];
  Life *life = &walk->lives[tensor];
  if (life->held) {
    g_autofree char *last = last_place(walk, life);
    return program_check_fail(walk->check, walk->role, section, row, error, "takes %s, which is held already: %s%s",
                              taken->name, "taken before: ", last);
  }
  if (taken->bytes > MOST_HELD - walk->held)
    return program_check_fail(walk->check, walk->role, section, row, error, "holds more than 2^60 bytes");
  walk->held += taken->bytes;
  *life = (Life){TRUE, TRUE, section, row};
  return TRUE;
}

static gboolean walk_section(Walk *walk, int s, GError **error) {
  const ProgramSection *section = &walk->check->program->roles[walk->role].sections[s];
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 k = 0; k < row->n_gives; k++)
      if (!give(walk, s, i, section->gives[row->gives + k].tensor, error))
        return FALSE;
    for (guint32 k = 0; k < row->n_takes; k++)
      if (!take(walk, s, i, section->takes[row->takes + k], error))
        return FALSE;
  }
  return TRUE;
}

/* What a steady step leaves behind, or has lost, grows or breaks with every step that follows. */
static gboolean check_period(Walk *walk, const Life *before, GError **error) {
  const Program *program = walk->check->program;
  for (guint32 t = 0; t < program->n_tensors; t++) {
    const Life *life = &walk->lives[t];
    if (life->held == before[t].held)
      continue;
    return program_check_fail(walk->check, walk->role, life->section, life->row, error,
                              life->held
                                  ? "takes %s, which the step does not give: it would be taken again by the next"
                                  : "gives %s, which the step does not take: it would be given again by the next",
                              program->tensors[t].name);
  }
  return TRUE;
}

gboolean program_check_memory(const ProgramCheck *check, guint32 role, GError **error) {
  guint32 n = check->program->n_tensors;
  g_autofree Life *lives = g_new0(Life, n);
  Walk walk = {check, role, lives, 0};
  if (!walk_section(&walk, PROGRAM_FIRST, error))
    return FALSE;
  g_autofree Life *before = g_memdup2(lives, n * sizeof *lives);
  return walk_section(&walk, PROGRAM_STEADY, error) && check_period(&walk, before, error);
}
