/* SPDX-License-Identifier: MIT */
/* Edit distance and the two sentences made of it. */
#include "base-names.h"

#include <string.h>

int base_names_find(const char *const *names, const char *text) {
  for (int i = 0; names[i] != NULL; i++)
    if (g_ascii_strcasecmp(names[i], text) == 0)
      return i;
  return -1;
}

/* Levenshtein, one row at a time, letters compared without case. */
static gsize edit_distance(const char *a, const char *b) {
  gsize width = strlen(b);
  g_autofree gsize *row = g_new(gsize, width + 1);
  for (gsize j = 0; j <= width; j++)
    row[j] = j;
  for (gsize i = 0; a[i] != '\0'; i++) {
    gsize diagonal = row[0];
    row[0] = i + 1;
    for (gsize j = 0; j < width; j++) {
      gsize substitute = diagonal + (g_ascii_tolower(a[i]) != g_ascii_tolower(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = MIN(substitute, MIN(row[j], row[j + 1]) + 1);
    }
  }
  return row[width];
}

/* What a name with a word too many is away from it: as two wrong letters, less than a wrong word. */
#define WORD_TOO_MANY 2

static gboolean begins_words_of(const char *name, const char *text) {
  gsize length = strlen(name);
  return length > 0 && g_ascii_strncasecmp(name, text, length) == 0 && strchr("_- ", text[length]) != NULL;
}

const char *base_names_nearest(const char *const *names, const char *text) {
  const char *best = NULL;
  gsize best_distance = G_MAXSIZE;
  gsize length = strlen(text);
  for (int i = 0; names[i] != NULL; i++) {
    gsize distance = edit_distance(names[i], text);
    gsize longest = MAX(strlen(names[i]), length);
    gboolean begins = length >= 3 && g_ascii_strncasecmp(names[i], text, length) == 0;
    gboolean near = distance * 3 <= longest || begins;
    if (begins_words_of(names[i], text))
      distance = MIN(distance, WORD_TOO_MANY), near = TRUE;
    if (near && distance < best_distance) {
      best = names[i];
      best_distance = distance;
    }
  }
  return best;
}

char *base_names_join(const char *const *names) {
  GString *all = g_string_new(NULL);
  for (; *names != NULL; names++)
    if (**names != '\0')
      g_string_append_printf(all, "%s%s", all->len > 0 ? ", " : "", *names);
  return g_string_free(all, FALSE);
}

char *base_names_advice(const char *const *names, const char *text) {
  const char *near = base_names_nearest(names, text);
  if (near != NULL)
    return g_strdup_printf("; did you mean \"%s\"?", near);
  g_autofree char *all = base_names_join(names);
  return g_strdup_printf("; expected one of %s", all);
}
