/* SPDX-License-Identifier: MIT */
/* One walk over the fields, which writes them or reads them: structs as they are, then what their pointers meant. */
#include "run-pack.h"

#include <string.h>

#include "base-error.h"
#include "run-record.h"

typedef struct {
  GByteArray *out;  /* NULL: reading */
  const guint8 *in; /* what is left to read */
  gsize left;
  GStringChunk *names; /* of the report that is read */
} Pack;

static void raw(Pack *pack, gpointer data, gsize n) {
  if (n == 0)
    return;
  if (pack->out != NULL) {
    g_byte_array_append(pack->out, data, (guint)n);
    return;
  }
  sim_require(n <= pack->left, 0, NULL, "a packed report ends too early");
  memcpy(data, pack->in, n);
  pack->in += n;
  pack->left -= n;
}

#define NO_TEXT G_MAXUINT32

/* The text, or the one that is read: of the report's names where these are kept there, else to be freed. */
static char *text(Pack *pack, const char *given, gboolean name) {
  guint32 length = given != NULL && pack->out != NULL ? (guint32)strlen(given) : NO_TEXT;
  raw(pack, &length, sizeof length);
  if (pack->out != NULL) {
    raw(pack, (gpointer)given, length != NO_TEXT ? length : 0);
    return (char *)given;
  }
  if (length == NO_TEXT)
    return NULL;
  sim_require(length <= pack->left, 0, NULL, "a packed report ends within a text");
  const char *found = (const char *)pack->in;
  pack->in += length;
  pack->left -= length;
  g_autofree char *own = g_strndup(found, length);
  return name ? g_string_chunk_insert_const(pack->names, own) : g_steal_pointer(&own);
}

/* As many elements as there are, to be filled where they are read. */
static gpointer array(Pack *pack, gpointer given, gsize n, gsize element) {
  gpointer data = pack->out != NULL ? given : g_malloc0_n(n, element);
  raw(pack, data, n * element);
  return data;
}

static void notes(Pack *pack, RunIdentity *identity) {
  guint32 n = pack->out != NULL && identity->notes != NULL ? g_strv_length(identity->notes) : 0;
  raw(pack, &n, sizeof n);
  if (pack->out == NULL)
    identity->notes = g_new0(char *, n + 1);
  if (identity->notes == NULL)
    return;
  for (guint32 i = 0; i < n; i++)
    identity->notes[i] = text(pack, identity->notes[i], FALSE);
}

static void texts(Pack *pack, const RunRecord *record, gpointer of) {
  for (guint i = 0; i < record->n; i++)
    if (run_field_is_text(&record->fields[i])) {
      char **at = run_field_text(&record->fields[i], of);
      *at = text(pack, *at, record->fields[i].type == RUN_NAME);
    }
}

static void identity(Pack *pack, RunIdentity *of) {
  of->settings = array(pack, of->settings, of->n_settings, sizeof *of->settings);
  for (guint32 i = 0; i < of->n_settings; i++)
    texts(pack, &run_record_setting, &of->settings[i]);
  notes(pack, of);
}

static void rank_class(Pack *pack, RunClass *of) {
  texts(pack, &run_record_class, of);
  texts(pack, &run_record_oom, &of->oom);
  if (pack->out != NULL)
    return;
  of->n_tasks = of->n_collectives = of->n_exposures = of->n_samples = 0;
  of->tasks = NULL;
  of->collectives = NULL;
  of->exposures = NULL;
  of->samples = NULL;
}

static void walk(Pack *pack, RunReport *report) {
  raw(pack, report, sizeof *report);
  if (pack->out == NULL)
    report->names = pack->names = g_string_chunk_new(256);
  texts(pack, &run_record_report, report);
  identity(pack, &report->identity);
  report->classes = array(pack, report->classes, report->n_classes, sizeof *report->classes);
  for (guint32 i = 0; i < report->n_classes; i++)
    rank_class(pack, &report->classes[i]);
  report->links = array(pack, report->links, report->n_links, sizeof *report->links);
  for (guint32 i = 0; i < report->n_links; i++)
    texts(pack, &run_record_link, &report->links[i]);
}

void run_report_pack(const RunReport *report, GByteArray *bytes) {
  Pack pack = {.out = bytes};
  walk(&pack, (RunReport *)report);
}

RunReport *run_report_unpack(const guint8 *bytes, gsize n) {
  RunReport *report = g_new0(RunReport, 1);
  Pack pack = {.in = bytes, .left = n};
  walk(&pack, report);
  sim_require(pack.left == 0, 0, NULL, "a packed report has bytes over");
  return report;
}
