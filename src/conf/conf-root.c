/* SPDX-License-Identifier: MIT */
/* Roots of the data, from the environment and from where the program's own file lies. */
#include "conf-root.h"

#include "base-error.h"

#define BUILD_LEVELS 3 /* programs of a build lie at most so deep: BUILD/tests/bench */

static char **split(const char *list) {
  return g_strsplit(list != NULL ? list : "", G_SEARCHPATH_SEPARATOR_S, -1);
}

gboolean conf_is_machines(const GError *cause) {
  return g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_MFILE) ||
         g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NFILE);
}

char **conf_roots_asked(void) {
  return split(g_getenv("FORETRAIN_DATA"));
}

static void add_all(GPtrArray *roots, char **list, const char *folder) {
  for (char **each = list; *each != NULL; each++)
    if (**each != '\0')
      g_ptr_array_add(roots, g_build_filename(*each, folder, NULL));
}

/* What the build says, in the program's folder or one a little above; NULL: it was installed. */
static gboolean find_source(const char *folder, char **ret, GError **error) {
  g_autofree char *above = g_strdup(folder);
  *ret = NULL;
  for (int level = 0; level < BUILD_LEVELS; level++) {
    g_autofree char *file = g_build_filename(above, "foretrain.data", NULL);
    g_autoptr(GError) cause = NULL;
    if (g_file_get_contents(file, ret, NULL, &cause)) {
      g_strchomp(*ret);
      return TRUE;
    }
    if (conf_is_machines(cause)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s", cause->message);
      return FALSE;
    }
    char *next = g_path_get_dirname(above);
    g_free(above);
    above = next;
  }
  return TRUE;
}

static gboolean add_of_program(GPtrArray *roots, GError **error) {
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = program != NULL ? g_path_get_dirname(program) : NULL;
  char *source = NULL;
  if (folder != NULL && !find_source(folder, &source, error))
    return FALSE;
  if (folder != NULL)
    g_ptr_array_add(roots, g_canonicalize_filename(FORETRAIN_DATA_FROM_BIN, folder));
  if (source != NULL)
    g_ptr_array_add(roots, source);
  return TRUE;
}

static void add_of_desktop(GPtrArray *roots) {
  const char *home = g_getenv("XDG_DATA_HOME"), *system = g_getenv("XDG_DATA_DIRS");
  if (home != NULL && *home != '\0')
    g_ptr_array_add(roots, g_build_filename(home, "foretrain", NULL));
  else
    g_ptr_array_add(roots, g_build_filename(g_get_home_dir(), ".local", "share", "foretrain", NULL));
  g_auto(GStrv) folders = split(system != NULL && *system != '\0' ? system : "/usr/local/share:/usr/share");
  add_all(roots, folders, "foretrain");
}

char **conf_roots(GError **error) {
  g_autoptr(GPtrArray) roots = g_ptr_array_new_with_free_func(g_free);
  g_auto(GStrv) asked = conf_roots_asked();
  for (char **root = asked; *root != NULL; root++)
    g_ptr_array_add(roots, g_strdup(*root));
  if (!add_of_program(roots, error))
    return NULL;
  add_of_desktop(roots);
  g_ptr_array_add(roots, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&roots), FALSE);
}
