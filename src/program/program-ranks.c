/* SPDX-License-Identifier: MIT */
/* Runs of equal distance, written as ranges. */
#include "program-ranks.h"

#include <string.h>

#include "base-error.h"

/* How many ranks from `at` on keep the distance of the first two. */
static guint32 run_length(const guint32 *ranks, guint32 n, guint32 at) {
  if (at + 1 == n)
    return 1;
  guint32 length = 2, distance = ranks[at + 1] - ranks[at];
  while (at + length < n && ranks[at + length] - ranks[at + length - 1] == distance)
    length++;
  return length;
}

char *program_ranks_format(const guint32 *ranks, guint32 n) {
  GString *text = g_string_new(NULL);
  for (guint32 at = 0; at < n;) {
    guint32 length = run_length(ranks, n, at);
    guint32 distance = length > 1 ? ranks[at + 1] - ranks[at] : 1;
    if (length == 2 && distance > 1)
      length = 1;
    g_string_append_printf(text, "%s%u", at > 0 ? "," : "", ranks[at]);
    if (length > 1)
      g_string_append_printf(text, "-%u", ranks[at + length - 1]);
    if (length > 1 && distance > 1)
      g_string_append_printf(text, ":%u", distance);
    at += length;
  }
  return g_string_free(text, FALSE);
}

/* A number at *at, which moves behind it. */
static gboolean read_number(const char **at, guint32 *ret) {
  guint64 value = 0;
  if (!g_ascii_isdigit(**at))
    return FALSE;
  for (; g_ascii_isdigit(**at); ++*at)
    if ((value = 10 * value + (guint64)(**at - '0')) >= PROGRAM_MOST_RANKS)
      return FALSE;
  *ret = (guint32)value;
  return TRUE;
}

static gboolean read_range(const char *range, guint32 *ret_first, guint32 *ret_last, guint32 *ret_distance) {
  if (!read_number(&range, ret_first))
    return FALSE;
  *ret_last = *ret_first;
  *ret_distance = 1;
  if (*range == '-') {
    range++;
    if (!read_number(&range, ret_last))
      return FALSE;
    if (*range == ':' && (range++, !read_number(&range, ret_distance)))
      return FALSE;
  }
  return *range == '\0' && *ret_last >= *ret_first && *ret_distance > 0;
}

GArray *program_ranks_parse(const char *text, GError **error) {
  g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_auto(GStrv) ranges = g_strsplit(text, ",", -1);
  for (char **range = ranges; *range != NULL; range++) {
    guint32 first, last, distance;
    if (!read_range(g_strstrip(*range), &first, &last, &distance)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "expected ranks below %u as in 0-7, 0,4,9-12 or 0-56:8 (every eighth), found \"%s\"",
                  PROGRAM_MOST_RANKS, *range);
      return NULL;
    }
    if (ranks->len > 0 && first <= g_array_index(ranks, guint32, ranks->len - 1)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected ranks in ascending order, found %u after %u", first,
                  g_array_index(ranks, guint32, ranks->len - 1));
      return NULL;
    }
    for (guint32 rank = first; rank <= last; rank += distance)
      g_array_append_val(ranks, rank);
  }
  if (ranks->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected ranks as in 0-7, found nothing");
    return NULL;
  }
  return g_steal_pointer(&ranks);
}
