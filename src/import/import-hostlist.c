/* SPDX-License-Identifier: MIT */
/* Commas outside brackets part names; a bracket makes a name of each of its numbers, digits kept. */
#include "import-hostlist.h"

#include <string.h>

#define BRACKETS_MOST 16 /* in one name */

typedef struct {
  void (*take)(const char *name, gpointer user);
  gpointer user;
  guint n, depth; /* names taken; brackets entered */
} Visit;

static gboolean expand(Visit *visit, const char *done, const char *rest);

/* "01-16" or "20"; digits as many as the first has. */
static gboolean expand_range(Visit *visit, const char *done, const char *range, const char *rest) {
  g_auto(GStrv) ends = g_strsplit(range, "-", 2);
  guint64 from, to;
  if (ends[0] == NULL || !g_ascii_string_to_unsigned(ends[0], 10, 0, G_MAXUINT32, &from, NULL))
    return FALSE;
  if (++visit->depth > BRACKETS_MOST)
    return FALSE;
  to = from;
  if (ends[1] != NULL && !g_ascii_string_to_unsigned(ends[1], 10, from, G_MAXUINT32, &to, NULL))
    return FALSE;
  for (guint64 i = from; i <= to; i++) {
    g_autofree char *name = g_strdup_printf("%s%0*" G_GUINT64_FORMAT, done, (int)MIN(strlen(ends[0]), 10), i);
    if (!expand(visit, name, rest))
      return FALSE;
  }
  visit->depth--;
  return TRUE;
}

/* Names that begin with `done` and go on as `rest` says, which has no comma outside brackets. */
static gboolean expand(Visit *visit, const char *done, const char *rest) {
  const char *open = strchr(rest, '['), *close = open != NULL ? strchr(open, ']') : NULL;
  if (open == NULL) {
    g_autofree char *name = g_strconcat(done, rest, NULL);
    if (*name == '\0' || strchr(name, ']') != NULL || ++visit->n > IMPORT_HOSTLIST_MOST)
      return FALSE;
    visit->take(name, visit->user);
    return TRUE;
  }
  if (close == NULL)
    return FALSE;
  g_autofree char *prefix = g_strndup(rest, (gsize)(open - rest)), *head = g_strconcat(done, prefix, NULL);
  g_autofree char *inside = g_strndup(open + 1, (gsize)(close - open - 1));
  g_auto(GStrv) ranges = g_strsplit(inside, ",", -1);
  for (char **range = ranges; *range != NULL; range++)
    if (!expand_range(visit, head, *range, close + 1))
      return FALSE;
  return ranges[0] != NULL;
}

gboolean import_hostlist_visit(const char *list, void (*take)(const char *name, gpointer user), gpointer user) {
  Visit visit = {take, user, 0, 0};
  gboolean inside = FALSE;
  const char *from = list;
  for (const char *at = list;; at++) {
    inside = *at == '[' || (inside && *at != ']');
    if (*at != '\0' && (*at != ',' || inside))
      continue;
    g_autofree char *name = g_strndup(from, (gsize)(at - from));
    if (!expand(&visit, "", name))
      return FALSE;
    if (*at == '\0')
      return TRUE;
    from = at + 1;
  }
}
