/* SPDX-License-Identifier: MIT */
/* Words to a row: the first three decide whether it is one, the number of the rest which columns it has. */
#include "import-row.h"

#include <string.h>

static const struct {
  const char *name;
  guint size;
} types[] = {
    {"int8", 1},   {"char", 1},    {"uint8", 1},   {"int32", 4},  {"int", 4},      {"uint32", 4},   {"int64", 8},
    {"uint64", 8}, {"half", 2},    {"float16", 2}, {"fp16", 2},   {"bfloat16", 2}, {"float", 4},    {"float32", 4},
    {"double", 8}, {"float64", 8}, {"f8e4m3", 1},  {"f8e5m2", 1}, {"fp8_e4m3", 1}, {"fp8_e5m2", 1},
};

guint import_row_type_size(const char *type) {
  for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
    if (strcmp(types[i].name, type) == 0)
      return types[i].size;
  return 0;
}

static gboolean is_number(const char *word, double *ret) {
  char *end;
  *ret = g_ascii_strtod(word, &end);
  return end != word && *end == '\0' && g_ascii_isdigit(word[*word == '-']);
}

static gboolean is_missing(const char *word) {
  return strcmp(word, "N/A") == 0;
}

gboolean import_row_is_tail(char **words) {
  double number;
  for (char **word = words; *word != NULL; word++)
    if (!is_number(*word, &number) && !is_missing(*word))
      return FALSE;
  return *words != NULL;
}

/* Microseconds and GB/s are the table's units. */
static gboolean read_timing(char **words, ImportTiming *ret) {
  double numbers[4];
  gboolean there[4];
  for (int i = 0; i < 4; i++) {
    there[i] = is_number(words[i], &numbers[i]);
    if (!there[i] && !is_missing(words[i]))
      return FALSE;
  }
  ret->wrong = there[3] ? numbers[3] : -1;
  g_autofree char *time = g_strconcat(words[0], " us", NULL);
  g_autofree char *algorithm = g_strconcat(words[1], " GB/s", NULL);
  g_autofree char *bus = g_strconcat(words[2], " GB/s", NULL);
  double seconds = 0;
  ret->time = SIM_TIME_NEVER;
  ret->algorithm_bandwidth = ret->bus_bandwidth = 0;
  if (!there[0])
    return TRUE;
  if (!there[1] || !there[2] || numbers[0] < 0 || !base_quantity_parse(time, BASE_UNIT_TIME, &seconds, NULL) ||
      !base_quantity_parse(algorithm, BASE_UNIT_BYTE_RATE, &ret->algorithm_bandwidth, NULL) ||
      !base_quantity_parse(bus, BASE_UNIT_BYTE_RATE, &ret->bus_bandwidth, NULL))
    return FALSE;
  ret->time = sim_time_from_seconds(seconds);
  return TRUE;
}

static gboolean read_head(char **words, ImportRow *ret) {
  return g_strv_length(words) >= 3 && g_ascii_string_to_unsigned(words[0], 10, 0, G_MAXINT64, &ret->bytes, NULL) &&
         g_ascii_string_to_unsigned(words[1], 10, 0, G_MAXINT64, &ret->count, NULL) &&
         import_row_type_size(words[2]) > 0;
}

gboolean import_row_begins(char **words) {
  ImportRow row;
  return read_head(words, &row);
}

#define TIMINGS 8 /* columns of both halves */

ImportRowKind import_row_read(char **words, ImportRow *ret) {
  guint n = g_strv_length(words);
  ImportRow row = {0};
  if (!read_head(words, &row))
    return IMPORT_ROW_NONE;
  g_strlcpy(row.type, words[2], sizeof row.type);
  guint at = 3;
  double number;
  if (at < n && !is_number(words[at], &number) && !is_missing(words[at]))
    g_strlcpy(row.reduction, words[at++], sizeof row.reduction);
  if (n - at > TIMINGS + 1 || (n > at && !import_row_is_tail(words + at)))
    return IMPORT_ROW_NONE;
  if (n - at < TIMINGS) {
    *ret = row;
    return IMPORT_ROW_PART;
  }
  at = n - TIMINGS; /* skips the root */
  if (!read_timing(words + at, &row.out_of_place) || !read_timing(words + at + 4, &row.in_place))
    return IMPORT_ROW_NONE;
  *ret = row;
  return IMPORT_ROW_WHOLE;
}
