/* SPDX-License-Identifier: MIT */
/* The order of search: beside the naming file, then the roots of the data. */
#include "conf-path.h"

#include <string.h>

#include "base-names.h"
#include "conf-file.h"
#include "conf-root.h"
#include "conf-search.h"

/* Adds a folder that exists, once, however it is spelled. */
static void add_folder(GPtrArray *folders, const char *root, const char *folder) {
  if (*root == '\0')
    return;
  g_autofree char *joined = *folder != '\0' ? g_build_filename(root, folder, NULL) : g_strdup(root);
  if (!g_file_test(joined, G_FILE_TEST_IS_DIR))
    return;
  g_autofree char *canonical = g_canonicalize_filename(joined, NULL);
  for (guint i = 0; i < folders->len; i++) {
    g_autofree char *other = g_canonicalize_filename(g_ptr_array_index(folders, i), NULL);
    if (strcmp(canonical, other) == 0)
      return;
  }
  g_ptr_array_add(folders, g_steal_pointer(&joined));
}

static void add_root(GPtrArray *places, const char *root, const char *const *folders) {
  for (; *folders != NULL; folders++)
    add_folder(places, root, *folders);
}

static gboolean add_data_folders(GPtrArray *places, const char *const *folders, GError **error) {
  g_auto(GStrv) roots = conf_roots(error);
  for (char **root = roots; root != NULL && *root != NULL; root++)
    add_root(places, *root, folders);
  return roots != NULL;
}

char **conf_path_folders(const char *folder, GError **error) {
  g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
  if (!add_data_folders(places, (const char *const[]){folder, NULL}, error))
    return NULL;
  g_ptr_array_add(places, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&places), FALSE);
}

static gboolean is_file(const char *path) {
  return g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_DIR);
}

/* `path`, else `path` with the extension; NULL where neither is a file. */
static char *try_file(const char *path, const char *extension) {
  if (is_file(path))
    return g_strdup(path);
  g_autofree char *longer = g_strconcat(path, extension != NULL ? extension : "", NULL);
  return is_file(longer) ? g_steal_pointer(&longer) : NULL;
}

static char *join(const char *folder, const char *name) {
  return strcmp(folder, ".") == 0 ? g_strdup(name) : g_build_filename(folder, name, NULL);
}

static int compare_names(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the files of a folder that end so, without their endings. */
static gboolean add_stems(GPtrArray *stems, const char *folder, const char *extension, GError **error) {
  g_auto(GStrv) names = conf_file_names(folder, error);
  for (char **name = names; name != NULL && *name != NULL; name++) {
    g_autofree char *path = g_build_filename(folder, *name, NULL);
    gsize length = strlen(*name), ending = extension != NULL ? strlen(extension) : 0;
    if (length > ending && is_file(path) && (ending == 0 || g_str_has_suffix(*name, extension)))
      g_ptr_array_add(stems, g_strndup(*name, length - ending));
  }
  return names != NULL;
}

/* Sorts, drops doubles, ends with NULL. */
static char **finish_stems(GPtrArray *stems) {
  g_ptr_array_sort(stems, compare_names);
  for (guint i = stems->len; i > 1; i--)
    if (strcmp(g_ptr_array_index(stems, i - 1), g_ptr_array_index(stems, i - 2)) == 0)
      g_ptr_array_remove_index(stems, i - 1);
  g_ptr_array_add(stems, NULL);
  return g_strdupv((char **)stems->pdata);
}

char **conf_path_list(const char *folder, const char *extension, GError **error) {
  g_autoptr(GPtrArray) stems = g_ptr_array_new_with_free_func(g_free);
  g_auto(GStrv) folders = conf_path_folders(folder, error);
  gboolean good = folders != NULL;
  for (char **each = folders; good && *each != NULL; each++)
    good = add_stems(stems, *each, extension, error);
  return good ? finish_stems(stems) : NULL;
}

/* The nearest name to a bare one among all folders, without ending; NULL where none is near. */
static char *nearest_stem(const char *name, const char *extension, const GPtrArray *places) {
  g_autoptr(GPtrArray) stems = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < places->len; i++)
    add_stems(stems, g_ptr_array_index(places, i), extension, NULL);
  g_auto(GStrv) names = finish_stems(stems);
  gboolean ended = extension != NULL && g_str_has_suffix(name, extension);
  g_autofree char *stem = g_strndup(name, strlen(name) - (ended ? strlen(extension) : 0));
  const char *near = base_names_nearest((const char *const *)names, stem);
  return near != NULL ? g_strdup_printf("; did you mean \"%s\"?", near) : g_strdup("");
}

/* The first advice that names a file, else what is wrong with the first path. */
static char *nearest_path(const char *name, const GPtrArray *places) {
  g_autofree char *first = NULL;
  for (guint i = 0; i < places->len; i++) {
    g_autofree char *path = join(g_ptr_array_index(places, i), name);
    g_autofree char *advice = conf_file_advice(path);
    if (strstr(advice, "did you mean") != NULL)
      return g_steal_pointer(&advice);
    if (first == NULL)
      first = g_steal_pointer(&advice);
  }
  return g_steal_pointer(&first);
}

/* " (looked in workloads, /usr/share/foretrain/workloads)", and which folders of FORETRAIN_DATA are none. */
static char *looked_text(const GPtrArray *places) {
  g_autoptr(GString) text = g_string_new(" (looked in ");
  for (guint i = 0; i < places->len; i++) {
    const char *folder = g_ptr_array_index(places, i);
    g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", strcmp(folder, ".") == 0 ? "the current folder" : folder);
  }
  g_auto(GStrv) roots = conf_roots_asked();
  for (char **root = roots; *root != NULL; root++)
    if (**root != '\0' && !g_file_test(*root, G_FILE_TEST_IS_DIR))
      g_string_append_printf(text, "; FORETRAIN_DATA names %s, which is no folder", *root);
  return g_strdup_printf("%s)", text->str);
}

static void fail_missing(const char *name, const char *extension, const GPtrArray *places, const BasePlace *place,
                         GError **error) {
  g_autofree char *first = join(g_ptr_array_index(places, 0), name);
  if (g_file_test(first, G_FILE_TEST_IS_DIR)) {
    base_error_set_at(error, place, "\"%s\" is a folder; expected a file", first);
    return;
  }
  gboolean bare = strchr(name, '/') == NULL, many = bare || places->len > 1;
  const char *ending = bare && extension != NULL && !g_str_has_suffix(name, extension) ? extension : "";
  g_autofree char *advice = bare ? nearest_stem(name, extension, places) : nearest_path(name, places);
  g_autofree char *looked = many ? looked_text(places) : g_strdup("");
  base_error_set_at(error, place, "no file \"%s%s\"%s%s", many ? name : first, ending, advice, looked);
}

char *conf_path_search(const char *name, const char *extension, const char *const *folders, const char *beside,
                       gboolean anywhere, const BasePlace *place, GError **error) {
  BasePlace at = place != NULL ? *place : (BasePlace){0};
  if (*name == '\0') {
    base_error_set_at(error, &at, "expected the name of a file, found nothing");
    return NULL;
  }
  g_autofree char *home = g_str_has_prefix(name, "~/") ? g_build_filename(g_get_home_dir(), name + 2, NULL) : NULL;
  const char *whole = home != NULL ? home : name;
  const char *part = g_strrstr(whole, ".py:") != NULL ? g_strrstr(whole, ".py:") + strlen(".py") : "";
  g_autofree char *asked = g_strndup(whole, strlen(whole) - strlen(part));
  gboolean absolute = g_path_is_absolute(asked);
  g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
  g_ptr_array_add(places, g_strdup(absolute || beside == NULL ? "." : beside));
  if (!absolute && (anywhere || strchr(asked, '/') == NULL) && !add_data_folders(places, folders, error))
    return NULL;
  for (guint i = 0; i < places->len; i++) {
    g_autofree char *path = join(g_ptr_array_index(places, i), asked);
    g_autofree char *found = try_file(path, extension);
    if (found != NULL)
      return g_strconcat(found, part, NULL);
  }
  fail_missing(asked, extension, places, &at, error);
  return NULL;
}

char *conf_path_find(const char *name, const char *extension, const char *folder, const char *beside,
                     const BasePlace *place, GError **error) {
  return conf_path_search(name, extension, (const char *const[]){folder, NULL}, beside, FALSE, place, error);
}
