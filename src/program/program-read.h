/* SPDX-License-Identifier: MIT */
/* A trace file taken apart, before its rows become a Program: private to this floor. */
#pragma once

#include "program-check.h"
#include "program-head.h"
#include "program-line.h"

/* A role or communicator of the head. */
typedef struct {
  char *word, *name; /* as rows call it; as people do */
  GArray *ranks;     /* guint32; of communicators side by side one after another */
  GArray *ends;      /* guint32: where each of those ends */
  guint line;
} ProgramList;

typedef struct {
  const char *file;
  char *text; /* what lines point into */
  ProgramHead head;
  GPtrArray *streams;    /* char * */
  GArray *pools;         /* guint32, by stream: whose memory its rows take */
  GArray *roles;         /* ProgramList */
  GArray *communicators; /* ProgramList: slots */
  GArray *lines;         /* ProgramLine */
  GStringChunk *keys;    /* of operations */
} ProgramFile;

/* The name of a word: escapes undone, "#2" cut off. NULL: no word. Caller frees. */
char *program_file_name(const char *word);

/* Rows on their way into a Program. */
typedef struct {
  const ProgramFile *file;
  ProgramBuilder *builder;
  GHashTable *streams, *roles, *communicators; /* word → index + 1 */
  GHashTable *ops;                             /* key → index + 1 */
  GHashTable *tensors;                         /* word → Held; of the role at hand */
  GHashTable *tasks;                           /* word → row + 1; of the section at hand */
  GPtrArray **sections;                        /* [role × sections + section]: ProgramLine *, in order */
  guint n_sections;
  guint32 role;
} ProgramReader;

static inline const ProgramList *program_list_at(const GArray *lists, guint index) {
  return &g_array_index(lists, ProgramList, index);
}
/* The index that a word has in one of the tables above; PROGRAM_NONE: none. */
static inline guint32 program_reader_index(GHashTable *index, const char *word) {
  return GPOINTER_TO_UINT(g_hash_table_lookup(index, word)) - 1;
}

/* program-read-lists.c. Sets an error at a row's column; always FALSE. */
gboolean program_reader_fail(const ProgramReader *reader, const ProgramLine *line, const char *column, GError **error,
                             const char *format, ...) G_GNUC_PRINTF(5, 6);
gboolean program_reader_stream(const ProgramReader *reader, const ProgramLine *line, const char *column,
                               const char *word, guint32 *ret, GError **error);
/* Of the row just added, which is the row-th of its section's lines. */
gboolean program_reader_needs(const ProgramReader *reader, const ProgramLine *line, guint32 row, GPtrArray *lines,
                              GError **error);
gboolean program_reader_takes(const ProgramReader *reader, const ProgramLine *line, GError **error);
gboolean program_reader_gives(const ProgramReader *reader, const ProgramLine *line, GError **error);
/* program-read-rows.c */
Program *program_file_build(const ProgramFile *file, GError **error);
