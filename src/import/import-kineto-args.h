/* SPDX-License-Identifier: MIT */
/* One event of Kineto's JSON as texts, and what its arguments say of communication. Private to this floor. */
#pragma once

#include "conf-pull.h"
#include "import-kineto.h"

/* Empty where the event has no such member. All but the first line are arguments; dims, strides and types as they
 * stand: "[[8, 1024], []]", "[\"float\", \"\"]". */
typedef struct {
  GString *ph, *cat, *name, *ts, *dur, *tid;
  GString *device, *stream, *correlation, *bytes, *dims, *strides, *types, *sequence, *forward, *function;
  GString *collective, *in, *out, *dtype, *group, *group_size, *group_ranks;
  GString *key;
} ImportKinetoEvent;

void import_kineto_event_init(ImportKinetoEvent *event);
void import_kineto_event_clear(ImportKinetoEvent *event);
/* The next value of a list of events. */
gboolean import_kineto_event_read(ConfPull *pull, ImportKinetoEvent *event, GError **error);

/* Of the map that comes next the members of these names (NULL after the last) as texts; others are passed. */
gboolean import_kineto_read_members(ConfPull *pull, const char *const *names, GString *const *into, GError **error);

/* The next value as it stands, lists and maps too. */
gboolean import_kineto_read_raw(ConfPull *pull, GString *text, GError **error);

/* -1: no whole number; the second: 0. */
gint64 import_kineto_number(const GString *text);
guint64 import_kineto_count(const GString *text);
/* "[0, 1, 2]" as PyTorch writes a group's ranks: guint32; empty where the text is cut short or none. */
GArray *import_kineto_rank_list(const char *text);

/* Of an element: ScalarType's names ("BFloat16") and those of C++ that stand in "Input type" ("c10::BFloat16",
 * "long int"); 0: of none known. */
guint64 import_kineto_dtype_bytes(const char *dtype);

/* By a kernel's name. *ret_foreign: it is neither NCCL's nor RCCL's. */
gboolean import_kineto_communicates(const char *kernel, gboolean *ret_foreign);
ImportCollective import_kineto_collective(const ImportKinetoEvent *event);
/* CollCall's payload and operation by "Collective name", its elements and dtype; 0, *ret_operation untouched: not
 * stated. */
guint64 import_kineto_payload(const ImportKinetoEvent *event, int *ret_operation);
/* The same of the host's note of a collective ("nccl:all_reduce") by its "Input Dims" and "Input type"; *ret_part: it
 * is one member's part of what is gathered. */
guint64 import_kineto_noted(const ImportKinetoEvent *event, int *ret_operation, gboolean *ret_part);
