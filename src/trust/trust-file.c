/* SPDX-License-Identifier: MIT */
/* residuals.ini by a schema, residuals.csv column by column, and margins.csv beside them. */
#include <string.h>

#include "base-decimal.h"
#include "base-names.h"
#include "conf-csv.h"
#include "conf-path.h"
#include "conf-settings.h"
#include "trust-state.h"

#define FOLDER   "topologies/catalog"
#define SETTINGS "residuals.ini"
#define ROWS     "residuals.csv"
#define MARGINS  "margins.csv"

#define NEAR .min = 1, .max = 1e9, .required = TRUE, .help = "factor within which this is alike"

#define KEY(group_, key_, kind_, member_, ...) BASE_ROW(group_, key_, kind_, Trust, member_, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("interval", "coverage", BASE_COUNT, rule.coverage, .min = 50, .max = 99, .required = TRUE,
        .help = "nominal, in per cent"),
    KEY("interval", "most", BASE_NUMBER, rule.most, .min = 1, .max = 1e6, .required = TRUE,
        .help = "rows that one source weighs at most"),
    KEY("interval", "pooling", BASE_NUMBER, rule.pooling, .min = 0.1, .max = 1e6, .required = TRUE,
        .help = "rows that a wider class weighs in a narrower one's limits"),
    KEY("interval", "bound_from", BASE_NUMBER, bound_from, .min = 0.001, .max = 1, .required = TRUE,
        .help = "share of the step from which on host, communication or bubble binds it"),
    KEY("near", "gpus", BASE_NUMBER, near[TRUST_GPUS], NEAR),
    KEY("near", "parameters", BASE_NUMBER, near[TRUST_PARAMETERS], NEAR),
    KEY("near", "sequence_length", BASE_NUMBER, near[TRUST_SEQUENCE], NEAR),
    KEY("near", "micro_batch_tokens", BASE_NUMBER, near[TRUST_TOKENS], NEAR),
    KEY("near", "gradient_accumulation", BASE_NUMBER, near[TRUST_ACCUMULATION], NEAR),
    KEY("near", "tensor", BASE_NUMBER, near[TRUST_TENSOR], NEAR),
    KEY("near", "pipeline", BASE_NUMBER, near[TRUST_PIPELINE], NEAR),
    KEY("near", "context", BASE_NUMBER, near[TRUST_CONTEXT], NEAR),
    KEY("near", "expert", BASE_NUMBER, near[TRUST_EXPERT], NEAR),
    KEY("near", "network_rate", BASE_NUMBER, near[TRUST_NETWORK_RATE], NEAR),
    KEY("rows", "date", BASE_TEXT, date, .required = TRUE, .help = "of playing"),
    KEY("rows", "model_version", BASE_TEXT, model_version, .required = TRUE,
        .help = "results version that played them"),
    KEY("rows", "rows", BASE_COUNT, n_rows, .required = TRUE, .help = "in residuals.csv"),
    KEY("rows", "source", BASE_TEXT, source, .required = TRUE, .help = "of them"),
};
static const ConfSchema schema = {keys, G_N_ELEMENTS(keys)};

/* Columns in front of the features. */
enum { ID, SOURCE, TIER, RATIO, FEATURES };
static const char *const own_names[] = {"id", "source", "tier", "measured_over_predicted", NULL};

static const char *name_of_column(guint column) {
  if (column < FEATURES)
    return own_names[column];
  if (column < FEATURES + TRUST_WORDS)
    return trust_word_names[column - FEATURES];
  if (column < FEATURES + TRUST_WORDS + TRUST_NUMBERS)
    return trust_number_names[column - FEATURES - TRUST_WORDS];
  return column == FEATURES + TRUST_WORDS + TRUST_NUMBERS ? "options" : NULL;
}

static gboolean check_head(const ConfCsv *csv, GError **error) {
  for (guint column = 0; column < csv->n_columns || name_of_column(column) != NULL; column++) {
    const char *expected = name_of_column(column);
    const char *found = column < csv->n_columns ? conf_csv_column(csv, column) : "nothing";
    if (g_strcmp0(expected, found) == 0)
      continue;
    BasePlace place = {.file = csv->file, .line = 1};
    base_error_set_at(error, &place,
                      "column %u: expected \"%s\", found \"%s\"; tests/truth/gate --accept writes the table",
                      column + 1, expected != NULL ? expected : "no further one", found);
    return FALSE;
  }
  return TRUE;
}

static void row_free(gpointer data) {
  TrustRow *row = data;
  g_strfreev(row->one.options);
  g_free(row);
}

static gboolean read_number(const ConfCsv *csv, guint at, guint column, double least, double *ret, GError **error) {
  const char *text = conf_csv_cell(csv, at, column);
  char *end;
  double value = base_decimal_read(text, 0, &end);
  if (end == text || *end != '\0' || !(value >= least && value <= G_MAXDOUBLE))
    return conf_csv_fail(csv, at, column, error, "expected a number from %g on, found \"%s\"", least, text);
  *ret = value;
  return TRUE;
}

static char *known_word(Trust *trust, const char *word) {
  char *known = g_hash_table_lookup(trust->words, word);
  if (known == NULL)
    g_hash_table_add(trust->words, known = (char *)word);
  return known;
}

static gboolean read_row(Trust *trust, const ConfCsv *csv, guint at, GError **error) {
  static const char *const tiers[] = {"A", "B", NULL};
  const char *tier = conf_csv_cell(csv, at, TIER);
  if (!g_strv_contains(tiers, tier))
    return conf_csv_fail(csv, at, TIER, error, "expected A or B, found \"%s\": others vouch for nothing", tier);
  TrustRow *row = g_new0(TrustRow, 1);
  g_ptr_array_add(trust->rows, row);
  row->id = conf_csv_cell(csv, at, ID);
  row->source = conf_csv_cell(csv, at, SOURCE);
  guint column = FEATURES;
  for (int w = 0; w < TRUST_WORDS; w++)
    row->one.words[w] = known_word(trust, conf_csv_cell(csv, at, column++));
  for (int f = 0; f < TRUST_NUMBERS; f++)
    if (!read_number(csv, at, column++, 0, &row->one.numbers[f], error))
      return FALSE;
  const char *options = conf_csv_cell(csv, at, column);
  row->one.options = *options != '\0' ? g_strsplit(options, "; ", -1) : NULL;
  if (!read_number(csv, at, RATIO, 0, &row->ratio, error))
    return FALSE;
  return row->ratio > 0 || conf_csv_fail(csv, at, RATIO, error, "a step takes time, found 0");
}

static gboolean read_rows(Trust *trust, const ConfCsv *csv, GError **error) {
  if (!check_head(csv, error))
    return FALSE;
  for (guint at = 0; at < csv->n_rows; at++)
    if (!read_row(trust, csv, at, error))
      return FALSE;
  if (csv->n_rows == trust->n_rows)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: has %u rows, %s beside it speaks of %" G_GUINT64_FORMAT "; tests/truth/gate --accept writes both",
              csv->file, csv->n_rows, SETTINGS, trust->n_rows);
  return FALSE;
}

static gboolean read_settings(Trust *trust, const ConfText *text, GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_new(&schema, 1);
  return conf_settings_load_text(settings, text, CONF_ORIGIN_FILE, error) &&
         conf_settings_fill(settings, &schema, trust, error);
}

/* Of one of the catalogue's files. */
typedef struct {
  char *path, *text;
} File;
enum { OF_SETTINGS, OF_ROWS, OF_MARGINS, FILES };
static const char *const file_names[FILES] = {SETTINGS, ROWS, MARGINS};

static char *sum_of(const File files[FILES]) {
  g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
  for (int i = 0; i < FILES; i++)
    g_checksum_update(sum, (const guchar *)files[i].text, -1);
  return g_strdup(g_checksum_get_string(sum));
}

static Trust *read_texts(const File files[FILES], GError **error) {
  const File *settings = &files[OF_SETTINGS], *rows = &files[OF_ROWS], *margins = &files[OF_MARGINS];
  g_autoptr(Trust) trust = g_new0(Trust, 1);
  trust->rows = g_ptr_array_new_with_free_func(row_free);
  trust->words = g_hash_table_new(g_str_hash, g_str_equal);
  trust->classes = trust_classes_new();
  g_autoptr(ConfText) text = conf_text_parse(settings->path, settings->text, strlen(settings->text), error);
  g_autoptr(ConfCsv) csv = text != NULL ? conf_csv_parse(rows->path, rows->text, strlen(rows->text), error) : NULL;
  if (csv == NULL || !read_settings(trust, text, error) || !read_rows(trust, csv, error))
    return NULL;
  trust->margins = trust_margins_parse(margins->path, margins->text, error);
  if (trust->margins == NULL)
    return NULL;
  trust->sum = sum_of(files);
  trust->table = g_steal_pointer(&csv);
  return g_steal_pointer(&trust);
}

Trust *trust_parse(const char *settings, const char *rows, const char *margins, GError **error) {
  const char *const texts[FILES] = {settings, rows, margins};
  File files[FILES];
  for (int i = 0; i < FILES; i++)
    files[i] = (File){(char *)file_names[i], (char *)texts[i]};
  return read_texts(files, error);
}

static gboolean read_file(const char *path, char **ret, GError **error) {
  g_autoptr(GError) local = NULL;
  if (g_file_get_contents(path, ret, NULL, &local))
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: cannot be read: %s", path, local->message);
  return FALSE;
}

static Trust *load_from(const char *folder, GError **error) {
  File files[FILES] = {{NULL, NULL}};
  gboolean good = TRUE;
  for (int i = 0; good && i < FILES; i++) {
    files[i].path = g_build_filename(folder, file_names[i], NULL);
    good = read_file(files[i].path, &files[i].text, error);
  }
  Trust *trust = good ? read_texts(files, error) : NULL;
  for (int i = 0; i < FILES; i++) {
    g_free(files[i].path);
    g_free(files[i].text);
  }
  return trust;
}

/* All from the first data folder that has the settings. */
Trust *trust_load(GError **error) {
  g_auto(GStrv) folders = conf_path_folders(FOLDER, error);
  if (folders == NULL)
    return NULL;
  for (char **folder = folders; *folder != NULL; folder++) {
    g_autofree char *settings_path = g_build_filename(*folder, SETTINGS, NULL);
    if (g_file_test(settings_path, G_FILE_TEST_IS_REGULAR))
      return load_from(*folder, error);
  }
  g_autofree char *looked = g_strjoinv(", ", folders);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "no catalogue file \"" FOLDER "/" SETTINGS
              "\" (looked in: %s); FORETRAIN_DATA names the folder above topologies",
              looked);
  return NULL;
}

Trust *trust_without(const Trust *trust, const char *source) {
  Trust *rest = g_new0(Trust, 1);
  *rest = *trust;
  rest->date = g_strdup(trust->date);
  rest->model_version = g_strdup(trust->model_version);
  rest->source = g_strdup(trust->source);
  rest->sum = g_strdup(trust->sum);
  rest->margins = g_array_ref(trust->margins);
  rest->words = g_hash_table_ref(trust->words);
  rest->table = NULL;
  rest->classes = trust_classes_new();
  rest->rows = g_ptr_array_new(); /* borrowed */
  for (guint i = 0; i < trust->rows->len; i++) {
    TrustRow *row = g_ptr_array_index(trust->rows, i);
    if (strcmp(row->source, source) != 0)
      g_ptr_array_add(rest->rows, row);
  }
  return rest;
}

void trust_free(Trust *trust) {
  if (trust == NULL)
    return;
  trust_classes_free(trust->classes);
  if (trust->margins != NULL)
    g_array_unref(trust->margins);
  g_ptr_array_unref(trust->rows);
  g_hash_table_unref(trust->words);
  conf_csv_free(trust->table);
  g_free(trust->date);
  g_free(trust->model_version);
  g_free(trust->source);
  g_free(trust->sum);
  g_free(trust);
}
