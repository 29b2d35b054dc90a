/* SPDX-License-Identifier: MIT */
/* One row of a trace file, and the one table of its columns: a new column is a new line there (and a field here).
 *
 *   ProgramLine line;
 *   program_line_init(&line);
 *   program_line_read(&line, fields, &place, error);
 *   program_line_print(&line, text);
 *
 * For this floor alone. Texts are borrowed. */
#pragma once

#include "base-error.h"
#include "base-json.h"
#include "kernel-op.h"
#include "program.h"

typedef struct {
  guint number; /* in the file */
  const char *role, *task, *stream, *name;
  int step, kind, phase; /* ProgramSectionKind, ProgramKind, ProgramPhase */
  gint32 layer, micro;   /* -1: none */
  SimTime duration;      /* -1: what the kernel model says */
  SimTime host;
  int path;        /* ProgramPath of a copy; -1: none */
  gboolean shaped; /* op has kind, batch, m, n, k */
  KernelOp op;
  int dtype;                         /* KernelDtype; -1: none */
  guint64 bytes;                     /* compute: traffic to memory; collective: payload */
  int operation;                     /* CollOperation; -1: none */
  const char *group;                 /* communicator; "": none */
  const char *needs, *takes, *gives; /* lists as they stand */
  int hint;                          /* ProgramHint */
  const char *op_key;                /* equal where all columns that make an operation are */
} ProgramLine;

extern const guint program_line_n_columns;
/* "role,step,…", the line above the rows. Caller frees. */
char *program_line_heads(void);

void program_line_init(ProgramLine *line);
void program_line_print(const ProgramLine *line, GString *text);
/* `fields`: as many as columns. Errors at `place`, whose key becomes the column's name: what is no value of the column,
 * what a row of the kind must have or must not have. `keys` keeps op_key. */
gboolean program_line_read(ProgramLine *line, char *const *fields, BasePlace *place, GStringChunk *keys,
                           GError **error);
void program_line_reference(GString *text);
/* As elements of a list that was begun. */
void program_line_reference_json(BaseJson *json);
