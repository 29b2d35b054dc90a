/* SPDX-License-Identifier: MIT */
/* The head of a trace file: facts in one table, and the lists of streams, roles and communicators.
 *
 *   ProgramHead head = {0};
 *   program_head_print(&head, text);
 *   program_head_read(&head, "tokens", "65536", &place, error);
 *
 * For this floor alone. */
#pragma once

#include "base-error.h"
#include "program-trace.h"

#define PROGRAM_TRACE_VERSION 1

typedef struct {
  guint64 version;
  ProgramOrigin origin;
  guint64 tokens;
  double model_flops, hardware_flops;
  int dtype; /* of the matmuls */
} ProgramHead;

/* The facts alone; lists are their owner's. */
void program_head_print(const ProgramHead *head, GString *text);
/* *ret_known: FALSE, and nothing read, where the key is no fact. Once each, but those that program_head_repeats. */
gboolean program_head_read(ProgramHead *head, const char *key, const char *value, const BasePlace *place,
                           gboolean *ret_known, GError **error);
/* Whether a key may stand several times. */
gboolean program_head_repeats(const char *key);
/* Facts that no head may lack: `seen` are keys that stood. */
const char *program_head_missing(GHashTable *seen);
/* `; did you mean "tokens"?` Caller frees. */
char *program_head_advice(const char *key);
void program_head_reference(GString *text);
/* As elements of a list that was begun. */
void program_head_reference_json(BaseJson *json);
void program_head_key_json(const char *key, const char *help, gboolean required, BaseJson *json);
