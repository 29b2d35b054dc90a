/* SPDX-License-Identifier: MIT */
/* Finds the matrix in a text, reads its rows and checks that they agree. */
#include "import-smi-matrix.h"

#include <string.h>

#include "base-names.h"
#include "import-banner.h"
#include "import-line.h"

static const char *const relations[] = {"X", "NV#", "PIX", "PXB", "PHB", "NODE", "SYS", NULL};

#define MOST_NVLINKS 64

static void device_clear(gpointer data) {
  g_free(((ImportMatrixDevice *)data)->name);
  g_free(((ImportMatrixDevice *)data)->cpus);
}

static gboolean fail(const ImportMatrix *matrix, guint line, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static gboolean fail(const ImportMatrix *matrix, guint line, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place = {.file = matrix->path, .line = line};
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

/* "GPU0", "NIC3", "mlx5_0": letters that end in a number. */
static gboolean is_device(const char *word) {
  gsize length = strlen(word);
  return length > 1 && g_ascii_isalpha(word[0]) && g_ascii_isdigit(word[length - 1]) && strchr(word, '#') == NULL;
}

/* The head: device names, of which the first is a GPU's. */
static gboolean read_head(ImportMatrix *matrix, char **words) {
  if (words[0] == NULL || strcmp(words[0], "GPU0") != 0 || (words[1] != NULL && strcmp(words[1], "X") == 0))
    return FALSE;
  for (char **word = words; *word != NULL && is_device(*word); word++) {
    ImportMatrixDevice device = {.name = g_strdup(*word), .gpu = g_str_has_prefix(*word, "GPU"), .numa = -1};
    g_array_append_val(matrix->devices, device);
  }
  return TRUE;
}

static gboolean read_cell(const ImportMatrix *matrix, const char *word, guint line, ImportMatrixCell *ret,
                          GError **error) {
  guint64 links;
  if (g_str_has_prefix(word, "NV") && g_ascii_string_to_unsigned(word + 2, 10, 1, MOST_NVLINKS, &links, NULL)) {
    *ret = (ImportMatrixCell){(guint)links, IMPORT_REL_NVLINK};
    return TRUE;
  }
  int found = base_names_find(relations, strcmp(word, "SOC") == 0 ? "SYS" : word);
  if (found >= 0 && found != IMPORT_REL_NVLINK) {
    *ret = (ImportMatrixCell){0, (ImportRelation)found};
    return TRUE;
  }
  if (strcmp(word, "MX") == 0)
    return fail(matrix, line, error, "\"MX\" is a link of MetaX GPUs (mx-smi): only NVIDIA's are modelled");
  if (g_str_has_prefix(word, "XGMI") || strcmp(word, "PCIE") == 0)
    return fail(matrix, line, error, "\"%s\" is a link of rocm-smi: AMD GPUs are not modelled yet", word);
  g_autofree char *names = base_names_join(relations);
  return fail(matrix, line, error, "no such relation \"%s\"; expected one of %s", word, names);
}

static gboolean read_row(ImportMatrix *matrix, guint device, char **words, guint line, GError **error) {
  guint n = matrix->devices->len;
  sim_require(matrix->cells != NULL, 0, NULL, "a row of \"%s\" before its heading", matrix->path);
  if (import_matrix_device(matrix, device)->line != 0)
    return fail(matrix, line, error, "a second row of %s (the first in line %u)", words[0],
                import_matrix_device(matrix, device)->line);
  import_matrix_device(matrix, device)->line = line;
  for (guint i = 0; i < n; i++) {
    if (words[1 + i] == NULL)
      return fail(matrix, line, error, "the row of %s ends after %u of %u relations", words[0], i, n);
    if (!read_cell(matrix, words[1 + i], line, &matrix->cells[device * n + i], error))
      return FALSE;
    if ((import_matrix_cell(matrix, device, i)->relation == IMPORT_REL_SELF) != (i == device))
      return fail(matrix, line, error, "the row of %s has \"%s\" in the column of %s", words[0], words[1 + i],
                  import_matrix_device(matrix, i)->name);
  }
  /* CPU affinity, then the NUMA node: one number, where it is one. */
  guint64 numa;
  char **rest = words + 1 + n;
  if (rest[0] != NULL && g_ascii_isdigit(rest[0][0]))
    import_matrix_device(matrix, device)->cpus = g_strdup(rest[0]);
  if (rest[0] != NULL && rest[1] != NULL && g_ascii_string_to_unsigned(rest[1], 10, 0, 63, &numa, NULL))
    import_matrix_device(matrix, device)->numa = (int)numa;
  return TRUE;
}

static int find_device(const ImportMatrix *matrix, const char *name) {
  for (guint i = 0; name != NULL && i < matrix->devices->len; i++)
    if (strcmp(import_matrix_device(matrix, i)->name, name) == 0)
      return (int)i;
  return -1;
}

static gboolean check_rows(const ImportMatrix *matrix, GError **error) {
  guint n = matrix->devices->len;
  if (n == 0)
    return fail(matrix, 0, error, "holds no matrix of nvidia-smi topo -m: expected a line that begins with GPU0 GPU1");
  for (guint a = 0; a < n; a++) {
    if (import_matrix_device(matrix, a)->line == 0)
      return fail(matrix, 0, error, "%s has a column but no row", import_matrix_device(matrix, a)->name);
    for (guint b = 0; b < a; b++)
      if (import_matrix_cell(matrix, a, b)->relation != import_matrix_cell(matrix, b, a)->relation ||
          import_matrix_cell(matrix, a, b)->links != import_matrix_cell(matrix, b, a)->links)
        return fail(matrix, import_matrix_device(matrix, a)->line, error, "%s and %s are related otherwise in line %u",
                    import_matrix_device(matrix, a)->name, import_matrix_device(matrix, b)->name,
                    import_matrix_device(matrix, b)->line);
  }
  return TRUE;
}

static gboolean read_matrix(ImportMatrix *matrix, char **lines, GError **error) {
  for (guint i = 0; lines[i] != NULL; i++) {
    g_autofree char *plain = import_line_plain(lines[i]);
    g_auto(GStrv) words = import_words(plain);
    if (matrix->devices->len == 0) {
      if (read_head(matrix, words))
        matrix->cells = g_new0(ImportMatrixCell, (gsize)matrix->devices->len * matrix->devices->len);
      continue;
    }
    int device = find_device(matrix, words[0]);
    if (device >= 0 && words[1] != NULL && !read_row(matrix, (guint)device, words, i + 1, error))
      return FALSE;
  }
  return check_rows(matrix, error);
}

ImportMatrix *import_matrix_load(const char *path, GError **error) {
  g_auto(GStrv) lines = import_lines_load(path, error);
  if (lines == NULL)
    return NULL;
  g_autoptr(ImportMatrix) matrix = g_new0(ImportMatrix, 1);
  matrix->path = g_strdup(path);
  matrix->devices = g_array_new(FALSE, FALSE, sizeof(ImportMatrixDevice));
  g_array_set_clear_func(matrix->devices, device_clear);
  return read_matrix(matrix, lines, error) ? g_steal_pointer(&matrix) : NULL;
}

void import_matrix_free(ImportMatrix *matrix) {
  if (matrix == NULL)
    return;
  g_free(matrix->path);
  g_array_unref(matrix->devices);
  g_free(matrix->cells);
  g_free(matrix);
}
