/* SPDX-License-Identifier: MIT */
/* What the rules of a Program share: private to this floor. */
#pragma once

#include "program-check.h"

typedef struct {
  const Program *program;
  const ProgramPlaces *places; /* may be NULL */
} ProgramCheck;

ProgramPlace program_place(const ProgramCheck *check, guint32 role, int section, guint32 row);
/* The slot by which the members of a communicator mean it. */
guint32 program_slot_of(const Program *program, guint32 communicator);
/* "task 12 (gather) of role rank, ranks 0-15, step steady". Caller frees. */
char *program_row_text(const ProgramCheck *check, guint32 role, int section, guint32 row);
/* Sets SIM_ERROR_INPUT at the row; always FALSE. */
gboolean program_check_fail(const ProgramCheck *check, guint32 role, int section, guint32 row, GError **error,
                            const char *format, ...) G_GNUC_PRINTF(6, 7);

/* program-check-memory.c */
gboolean program_check_memory(const ProgramCheck *check, guint32 role, GError **error);
/* program-check-waits.c */
gboolean program_check_waits(const ProgramCheck *check, int section, GError **error);
