/* SPDX-License-Identifier: MIT */
/* Lines of [pci], [nvlink] and [nics]: splitting, part names, links. */
#include <string.h>

#include "base-names.h"
#include "hw-wiring.h"

const char *const hw_part_names[] = {"socket", "switch", "gpu", "nic", NULL};

void hw_lines_clear(HwLines *lines) {
  g_clear_pointer(&lines->lines, g_free);
  g_clear_pointer(&lines->text, g_free);
}

/* The value came from `text` if their files are one. */
static BasePlace line_place(const char *group, const char *key, const ConfText *text, const BasePlace *place) {
  BasePlace exact = *place;
  if (text != NULL && g_strcmp0(place->file, conf_text_file(text)) == 0 && conf_text_get(text, group, key) != NULL) {
    conf_text_place(text, group, key, &exact);
    exact.key = place->key;
  }
  return exact;
}

/* Cuts the line at `start` in its key and value; FALSE where it has no "=". */
static gboolean cut(char *start, HwLine *ret) {
  char *equals = strchr(start, '=');
  if (equals == NULL)
    return FALSE;
  *equals = '\0';
  ret->key = g_strstrip(start);
  ret->value = g_strstrip(equals + 1);
  return TRUE;
}

gboolean hw_lines_split(const char *lines, const char *group, const ConfText *text, const BasePlace *place,
                        HwLines *ret, GError **error) {
  g_autofree char *copy = g_strdup(lines);
  g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(HwLine));
  for (char *rest = copy; rest != NULL;) {
    char *start = rest, *comma = strchr(rest, ',');
    HwLine line;
    rest = comma != NULL ? comma + 1 : NULL;
    if (comma != NULL)
      *comma = '\0';
    if (!cut(start, &line)) {
      base_error_set_at(error, place, "expected lines such as \"gpu.0 = ...\", found \"%s\"", g_strstrip(start));
      return FALSE;
    }
    line.place = line_place(group, line.key, text, place);
    g_array_append_val(found, line);
  }
  ret->n = found->len;
  ret->lines = (HwLine *)g_array_free(g_steal_pointer(&found), FALSE);
  ret->text = g_steal_pointer(&copy);
  return TRUE;
}

gboolean hw_line_part(const HwLine *line, const char *word, const guint32 counts[4], HwPartKind *ret_kind,
                      guint32 *ret_index, GError **error) {
  const char *dot = strchr(word, '.');
  g_autofree char *name = dot != NULL ? g_strndup(word, (gsize)(dot - word)) : g_strdup(word);
  int kind = base_names_find(hw_part_names, name);
  guint64 index = 0;
  if (kind < 0 || dot == NULL || !g_ascii_string_to_unsigned(dot + 1, 10, 0, G_MAXUINT32 - 1, &index, NULL)) {
    base_error_set_at(error, &line->place,
                      "%s: expected a part such as gpu.0, nic.0, switch.0 or socket.0, found \"%s\"", line->key, word);
    return FALSE;
  }
  if (counts[kind] == 0 || index >= counts[kind]) {
    base_error_set_at(error, &line->place, "%s: no %s.%" G_GUINT64_FORMAT ": there %s %u, numbered from 0", line->key,
                      hw_part_names[kind], index, counts[kind] == 1 ? "is" : "are", counts[kind]);
    return FALSE;
  }
  *ret_kind = (HwPartKind)kind;
  *ret_index = (guint32)index;
  return TRUE;
}

/* "gen4x16" in its two halves; FALSE where it is none. */
static gboolean read_generation(const char *word, HwPciLink *link) {
  const char *cross = strchr(word, 'x');
  g_autofree char *first = cross != NULL ? g_strndup(word, (gsize)(cross - word)) : g_strdup(word);
  guint64 generation = link->generation, width = link->width;
  if (*first != '\0' && (!g_str_has_prefix(first, "gen") ||
                         !g_ascii_string_to_unsigned(first + strlen("gen"), 10, 1, 7, &generation, NULL)))
    return FALSE;
  if (cross != NULL && !g_ascii_string_to_unsigned(cross + 1, 10, 1, 32, &width, NULL))
    return FALSE;
  *link = (HwPciLink){(guint32)generation, (guint32)width, 0};
  return *first != '\0' || cross != NULL;
}

gboolean hw_line_link(const HwLine *line, const char *word, HwPciLink *link, GError **error) {
  if (read_generation(word, link))
    return TRUE;
  double rate;
  g_autoptr(GError) wrong = NULL;
  if (base_quantity_parse(word, BASE_UNIT_BYTE_RATE, &rate, &wrong) && rate > 0) {
    link->rate = rate;
    return TRUE;
  }
  base_error_set_at(error, &line->place, "%s: expected a link such as gen4x16, gen4, x8 or 24GB/s, found \"%s\"",
                    line->key, word);
  return FALSE;
}
