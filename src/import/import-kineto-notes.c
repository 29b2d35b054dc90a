/* SPDX-License-Identifier: MIT */
/* Notes to kernels, by the launch that they hold. */
#include "import-kineto-notes.h"

#include <string.h>

#include "import-kineto-keep.h"
#include "import-kineto-layers.h"

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
  const ImportKinetoNote *found = NULL, *note;
  guint back = 0;
  while ((note = import_kineto_around(trace->notes, call->thread, call->at.start, &back)) != NULL) {
    if (note->group != IMPORT_KINETO_NONE)
      return note;
    found = found != NULL ? found : note;
  }
  return found;
}

static void use(ImportKinetoTrace *trace, ImportKinetoKernel *kernel, const ImportKinetoNote *note) {
  guint64 members = 1;
  if (note->part)
    members = trace->world != IMPORT_KINETO_NONE ? (guint64)trace->world : 0;
  if (members == 0 || !g_uint64_checked_mul(&kernel->bytes, note->bytes, members))
    return;
  kernel->operation = note->operation;
  kernel->group = note->group != IMPORT_KINETO_NONE ? note->group : import_kineto_group(trace, "all ranks", "", 0);
}

void import_kineto_use_notes(ImportKinetoTrace *trace) {
  for (guint i = 0; i < trace->kernels->len; i++) {
    ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->what == IMPORT_COLLECTIVES || kernel->foreign || kernel->operation != IMPORT_KINETO_NONE)
      continue;
    const ImportKinetoCall *call = g_hash_table_lookup(trace->launches, &kernel->correlation);
    const ImportKinetoNote *note = call != NULL ? note_of(trace, call) : NULL;
    kernel->before = call == NULL && g_hash_table_size(trace->launches) > 0;
    if (note != NULL)
      use(trace, kernel, note);
  }
}
