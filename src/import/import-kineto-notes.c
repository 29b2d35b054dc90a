/* SPDX-License-Identifier: MIT */
/* Notes to kernels, by the launch that they hold. */
#include "import-kineto-notes.h"

#include <string.h>

#define BACK 64 /* notes that are looked at for one that holds a launch */

gboolean import_kineto_is_note(const char *name) {
  return g_str_has_prefix(name, "nccl:") || strcmp(name, "record_param_comms") == 0;
}

void import_kineto_note(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at, gint group) {
  ImportKinetoNote note = {
      .at = at, .thread = import_kineto_number(event->tid), .operation = IMPORT_KINETO_NONE, .group = group};
  note.bytes = import_kineto_payload(event, &note.operation);
  if (note.bytes == 0 && event->collective->len == 0)
    note.bytes = import_kineto_noted(event, &note.operation, &note.part);
  if (note.bytes > 0)
    g_array_append_val(trace->notes, note);
}

/* Of those around the launch the one that says a group, else the innermost. */
static const ImportKinetoNote *note_of(const ImportKinetoTrace *trace, const ImportKinetoCall *call) {
  const ImportKinetoNote *found = NULL;
  guint low = 0, high = trace->notes->len;
  while (low < high) {
    guint mid = low + (high - low) / 2;
    if (g_array_index(trace->notes, ImportKinetoNote, mid).at.start <= call->at.start)
      low = mid + 1;
    else
      high = mid;
  }
  for (guint i = 0; i < BACK && i < low; i++) {
    const ImportKinetoNote *note = &g_array_index(trace->notes, ImportKinetoNote, low - 1 - i);
    if (note->thread != call->thread || call->at.start >= note->at.end)
      continue;
    if (note->group != IMPORT_KINETO_NONE)
      return note;
    found = found != NULL ? found : note;
  }
  return found;
}

/* All ranks: the group of notes that say none. */
static gint group_of_all(ImportKinetoTrace *trace) {
  const char *name = g_string_chunk_insert_const(trace->names, "all ranks");
  for (guint i = 0; i < trace->groups->len; i++)
    if (g_array_index(trace->groups, ImportKinetoGroup, i).name == name)
      return (gint)i;
  ImportKinetoGroup group = {name, g_array_new(FALSE, FALSE, sizeof(guint32)), 0};
  g_array_append_val(trace->groups, group);
  return (gint)trace->groups->len - 1;
}

static void use(ImportKinetoTrace *trace, ImportKinetoKernel *kernel, const ImportKinetoNote *note) {
  guint64 members = 1;
  if (note->part)
    members = trace->world != IMPORT_KINETO_NONE ? (guint64)trace->world : 0;
  if (members == 0 || !g_uint64_checked_mul(&kernel->bytes, note->bytes, members))
    return;
  kernel->operation = note->operation;
  kernel->group = note->group != IMPORT_KINETO_NONE ? note->group : group_of_all(trace);
}

void import_kineto_use_notes(ImportKinetoTrace *trace) {
  g_autoptr(GHashTable) calls = g_hash_table_new(g_int64_hash, g_int64_equal);
  for (guint i = 0; i < trace->calls->len; i++) {
    ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, i);
    if (call->kind == IMPORT_KINETO_LAUNCH && call->correlation != IMPORT_KINETO_NONE)
      g_hash_table_insert(calls, &call->correlation, call);
  }
  for (guint i = 0; i < trace->kernels->len; i++) {
    ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->what == IMPORT_COLLECTIVES || kernel->foreign || kernel->operation != IMPORT_KINETO_NONE)
      continue;
    const ImportKinetoCall *call = g_hash_table_lookup(calls, &kernel->correlation);
    const ImportKinetoNote *note = call != NULL ? note_of(trace, call) : NULL;
    kernel->before = call == NULL && g_hash_table_size(calls) > 0;
    if (note != NULL)
      use(trace, kernel, note);
  }
}
