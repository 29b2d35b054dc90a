/* SPDX-License-Identifier: MIT */
/* foretrain import recipe: another tool's recipe as a workload. */
#include <string.h>

#include "cli-import.h"
#include "study-recipe.h"

/* The model's path stands in the new file, which may lie in another folder. */
GString *cli_import_recipe(const CliImport *asked, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  gboolean elsewhere = asked->output != NULL && strchr(asked->output, '/') != NULL;
  gboolean here = asked->model != NULL && g_file_test(asked->model, G_FILE_TEST_EXISTS);
  g_autofree char *model = elsewhere && here ? g_canonicalize_filename(asked->model, NULL) : g_strdup(asked->model);
  return study_import_recipe(asked->paths[0], model, text, error) ? g_steal_pointer(&text) : NULL;
}
