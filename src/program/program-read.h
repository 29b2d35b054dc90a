/* A trace file taken apart, before its rows become a Program: private to this floor. */
#pragma once

#include "program-check.h"
#include "program-head.h"
#include "program-line.h"

/* A role or communicator of the head. */
typedef struct {
  char *word, *name; /* as rows call it; as people do */
  GArray *ranks;     /* guint32 */
  guint line;
} ProgramList;

typedef struct {
  const char *file;
  char *text; /* what lines point into */
  ProgramHead head;
  GPtrArray *streams;    /* char * */
  GArray *roles;         /* ProgramList */
  GArray *communicators; /* ProgramList */
  GArray *lines;         /* ProgramLine */
  GStringChunk *keys;    /* of operations */
} ProgramFile;

/* The name of a word: escapes undone, "#2" cut off. NULL: no word. Caller frees. */
char *program_file_name(const char *word);
/* program-read-rows.c */
Program *program_file_build(const ProgramFile *file, GError **error);
