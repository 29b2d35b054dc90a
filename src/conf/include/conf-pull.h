/* SPDX-License-Identifier: MIT */
/* JSON read from front to back, value by value: the one reader, for small files of people (conf-tree makes a tree of
 * them) and for traces that are too large to be held.
 *
 *   ConfPull pull;
 *   conf_pull_begin(&pull, "trace.json", data, length, NULL);
 *   if (!conf_pull_map(&pull, key, read_member, &what, error)) return FALSE;   // or, step by step:
 *   if (!conf_pull_enter(&pull, '[', error)) return FALSE;
 *   while ((good = conf_pull_next(&pull, &more, error)) && more)
 *     … conf_pull_value, or conf_pull_enter for what it holds …
 *   conf_pull_end(&pull, error);
 *
 * JSON as the standard has it, and what people write: comments (//, slash-star, #), trailing commas, NaN and Infinity
 * as Python writes them. The data is the caller's, need not end with a NUL and outlives the reader. Errors
 * (SIM_ERROR_INPUT) say file, line, column, the path so far where one is kept, what was found and what to write. Maps
 * and lists within each other go CONF_PULL_DEPTH_MAX deep, more is an error. Cost: one pass, no memory but what the
 * caller gives. yajl was considered: its errors carry no place and it refuses trailing commas and comments that begin
 * with #. */
#pragma once

#include "base-error.h"

#define CONF_PULL_DEPTH_MAX 100

typedef struct {
  char close;
  gboolean first; /* nothing has been read in it */
  guint line;     /* where it begins */
  guint index;    /* of the next element */
  gsize path;     /* length of its own path */
} ConfPullLevel;

/* Fields are for this reader's functions, `at`, `line` and `path` also to be read. */
typedef struct {
  const char *file, *data, *at, *end;
  const char *line_start;
  guint line, last_line; /* of `at`; of the last token */
  const char *token, *token_line_start;
  guint token_line; /* the last key, or element of a list */
  GString *path;
  guint depth;
  ConfPullLevel levels[CONF_PULL_DEPTH_MAX];
} ConfPull;

/* `path` (NULL: not wanted) is kept at the path of the value that is being read: "betas.0". With it, keys must not be
 * empty. */
void conf_pull_begin(ConfPull *pull, const char *file, const char *data, gsize length, GString *path);
/* The first letter of what comes next, comments passed; '\0' at the end. */
char conf_pull_peek(ConfPull *pull);
/* Into a map '{' or a list '['. */
gboolean conf_pull_enter(ConfPull *pull, char open, GError **error);
/* Whether the innermost map or list has another member; where not, it is left. */
gboolean conf_pull_next(ConfPull *pull, gboolean *ret_more, GError **error);
/* A member's key and its colon. `key` is emptied first. */
gboolean conf_pull_key(ConfPull *pull, GString *key, GError **error);
/* A map, member by member, each key read into `key`: `member` reads the value. It ends where one fails. */
typedef gboolean (*ConfPullMember)(ConfPull *pull, const char *key, gpointer data, GError **error);
gboolean conf_pull_map(ConfPull *pull, GString *key, ConfPullMember member, gpointer data, GError **error);
/* The next value: a text decoded, a number or a word (true, null, NaN) as it stands; maps and lists are passed and are
 * "". `text` NULL: of a text nothing but its end is looked at. */
gboolean conf_pull_value(ConfPull *pull, GString *text, GError **error);
/* Nothing may follow. */
gboolean conf_pull_end(ConfPull *pull, GError **error);
/* Line and column of the last key (in a map) or value (in a list or alone). */
void conf_pull_place(const ConfPull *pull, guint *ret_line, guint *ret_column);
