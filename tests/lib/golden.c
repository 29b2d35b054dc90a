/* SPDX-License-Identifier: MIT */
/* Texts in files, the difference to what was found, and its acceptance. */
#include "golden.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

/* What diff -u prints; NULL: it cannot be run. Caller frees. */
static char *difference(const char *path, const char *other) {
  const char *const diff[] = {"diff", "-u", path, other, NULL};
  char *printed = NULL;
  gboolean ran = g_spawn_sync(NULL, (char **)diff, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &printed, NULL, NULL, NULL);
  return ran ? printed : NULL;
}

/* As diff -u, or both texts where there is no diff. */
static void print_difference(const char *path, const char *expected, const char *found) {
  g_autofree char *new = NULL;
  g_autoptr(GError) error = NULL;
  int file = g_file_open_tmp("foretrain-golden-XXXXXX", &new, &error);
  gboolean good = file >= 0 && g_close(file, NULL) && g_file_set_contents(new, found, -1, &error);
  g_autofree char *printed = good ? difference(path, new) : NULL;
  if (printed != NULL)
    printf("\n%s", printed);
  else
    printf("\nexpected:\n%s\nfound:\n%s\n", expected, found);
  if (new != NULL)
    g_remove(new);
}

gboolean golden_holds_in(const char *folder, const char *name, const char *found, gboolean accept) {
  g_autofree char *base = g_strconcat(name, ".txt", NULL);
  g_autofree char *path = g_build_filename(folder, base, NULL);
  g_autofree char *expected = NULL;
  gboolean exists = g_file_get_contents(path, &expected, NULL, NULL);
  if (exists && strcmp(expected, found) == 0)
    return TRUE;
  if (accept) {
    printf("\n    accepted: %s\n", path);
    return g_file_set_contents(path, found, -1, NULL);
  }
  if (exists)
    print_difference(path, expected, found);
  else
    printf("\n    %s is not there; found:\n%s", path, found);
  printf("    ./dev accept makes this the expected text\n");
  return FALSE;
}

gboolean golden_holds(const char *name, const char *found) {
  g_autofree char *folder = harness_path("tests/golden");
  return golden_holds_in(folder, name, found, g_strcmp0(g_getenv("FORETRAIN_ACCEPT"), "1") == 0);
}
