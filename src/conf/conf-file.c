/* SPDX-License-Identifier: MIT */
/* Reading whole text files, and saying what is wrong with those that cannot be read. */
#include "conf-file.h"

#include <string.h>

#include "base-names.h"
#include "conf-data.h"
#include "conf-root.h"

#define TEXT_MOST ((gsize)256 << 20)

void conf_file_position(const char *data, gsize offset, guint *ret_line, guint *ret_column) {
  guint line = 1;
  const char *start = data;
  for (const char *p = data; p < data + offset; p++)
    if (*p == '\n') {
      line++;
      start = p + 1;
    }
  *ret_line = line;
  *ret_column = (guint)g_utf8_pointer_to_offset(start, data + offset) + 1;
}

static int compare_names(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **conf_file_names(const char *folder, GError **error) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GError) cause = NULL;
  g_autoptr(GDir) dir = g_dir_open(folder, 0, &cause);
  if (conf_is_machines(cause)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s", cause->message);
    return NULL;
  }
  for (const char *name = dir != NULL ? g_dir_read_name(dir) : NULL; name != NULL; name = g_dir_read_name(dir))
    if (*name != '.' && g_utf8_validate(name, -1, NULL))
      g_ptr_array_add(names, g_strdup(name));
  g_ptr_array_sort(names, compare_names);
  g_ptr_array_add(names, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

char *conf_file_advice(const char *path) {
  g_autofree char *missing = g_strdup(path);
  g_autofree char *folder = g_path_get_dirname(missing);
  while (!g_file_test(folder, G_FILE_TEST_IS_DIR) && strcmp(folder, missing) != 0) {
    g_free(missing);
    missing = g_steal_pointer(&folder);
    folder = g_path_get_dirname(missing);
  }
  GString *text = g_string_new(NULL);
  if (strcmp(missing, path) != 0)
    g_string_append_printf(text, "; there is no folder \"%s\"", missing);
  g_auto(GStrv) names = conf_file_names(folder, NULL);
  g_autofree char *name = g_path_get_basename(missing);
  const char *near = names != NULL ? base_names_nearest((const char *const *)names, name) : NULL;
  if (near != NULL) {
    gboolean here = strcmp(folder, ".") == 0 && !g_str_has_prefix(missing, "./");
    g_autofree char *whole = here ? g_strdup(near) : g_build_filename(folder, near, NULL);
    g_string_append_printf(text, "; did you mean \"%s\"?", whole);
  }
  return g_string_free(text, FALSE);
}

/* Length of a front that is ASCII without NULs, eight bytes at once: most files are little else. */
static gsize ascii_prefix(const char *data, gsize length) {
  gsize n = 0;
  for (guint64 word; n + sizeof word <= length; n += sizeof word) {
    memcpy(&word, data + n, sizeof word);
    if ((word & G_GUINT64_CONSTANT(0x8080808080808080)) != 0 ||
        ((word - G_GUINT64_CONSTANT(0x0101010101010101)) & G_GUINT64_CONSTANT(0x8080808080808080)) != 0)
      break;
  }
  return n;
}

/* UTF-16, as Windows Notepad calls "Unicode", is worth its own words. */
static gboolean check_encoding(const char *name, const char *data, gsize length, GError **error) {
  BasePlace place = {.file = name};
  if (length >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0)) {
    base_error_set_at(error, &place, "is UTF-16 text; save it as UTF-8");
    return FALSE;
  }
  const char *end;
  gsize plain = ascii_prefix(data, length);
  if (g_utf8_validate_len(data + plain, length - plain, &end))
    return TRUE;
  g_autofree char *valid = g_strndup(data, (gsize)(end - data));
  conf_file_position(valid, strlen(valid), &place.line, &place.column);
  base_error_set_at(error, &place, "is not UTF-8 text here (found the byte 0x%02x)", (guchar)*end);
  return FALSE;
}

char *conf_file_take(const char *name, const char *data, gsize length, gsize *ret_length, GError **error) {
  if (length >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
    data += 3;
    length -= 3;
  }
  if (!check_encoding(name, data, length, error))
    return NULL;
  *ret_length = length;
  char *taken = g_strndup(data, length);
  return strchr(taken, '\n') == NULL ? g_strdelimit(taken, "\r", '\n') : taken;
}

char *conf_file_read(const char *path, gsize *ret_length, GError **error) {
  g_autoptr(GBytes) bytes = conf_data_load(path, error);
  if (bytes == NULL)
    return NULL;
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  if (length > TEXT_MOST) {
    base_error_set_at(error, &(BasePlace){.file = path}, "has more than 256 MiB; no file of this kind is so large");
    return NULL;
  }
  return conf_file_take(path, data != NULL ? data : "", length, ret_length, error);
}
