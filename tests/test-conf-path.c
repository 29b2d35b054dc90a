/* SPDX-License-Identifier: MIT */
/* Where files are found, in which order, and what is said of those that are not there. */
#include <glib/gstdio.h>
#include <string.h>

#include "conf-path.h"
#include "harness.h"

/* root/first and root/second are data roots, root/work is the person's folder:
 *
 *     work/own.ini  work/both.ini  work/deep/x.ini
 *     first/topologies/both.ini  first/topologies/dgx-h100.ini  first/topologies/notes.txt
 *     second/topologies/dgx-h100.ini  second/topologies/hgx-b200.ini
 */
static const char *const files[] = {"work/own.ini",
                                    "work/both.ini",
                                    "work/deep/x.ini",
                                    "first/topologies/both.ini",
                                    "first/topologies/dgx-h100.ini",
                                    "first/topologies/notes.txt",
                                    "second/topologies/dgx-h100.ini",
                                    "second/topologies/hgx-b200.ini"};
static const char *const folders[] = {"work/deep", "work", "first/topologies", "first", "second/topologies",
                                      "second",    ""};

typedef struct {
  char *root, *work;
  char *variable; /* FORETRAIN_DATA as it was */
} World;

static void world_begin(World *world) {
  world->root = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  world->work = g_build_filename(world->root, "work", NULL);
  world->variable = g_strdup(g_getenv("FORETRAIN_DATA"));
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(world->root, files[i], NULL);
    g_autofree char *folder = g_path_get_dirname(path);
    CU_ASSERT_EQUAL(g_mkdir_with_parents(folder, 0700), 0);
    CU_ASSERT_TRUE(g_file_set_contents(path, "[g]\n", -1, NULL));
  }
  g_autofree char *data = g_strdup_printf("%s/first:%s/second/:%s/first", world->root, world->root, world->root);
  g_setenv("FORETRAIN_DATA", data, TRUE);
}

static void world_end(World *world) {
  if (world->variable != NULL)
    g_setenv("FORETRAIN_DATA", world->variable, TRUE);
  else
    g_unsetenv("FORETRAIN_DATA");
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(world->root, files[i], NULL);
    g_remove(path);
  }
  for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
    g_autofree char *path = g_build_filename(world->root, folders[i], NULL);
    g_rmdir(path);
  }
  g_free(world->root);
  g_free(world->work);
  g_free(world->variable);
}

/* `expected` is relative to the root; `name` begins with "/" where it is absolute in the root. */
static void found(const World *world, const char *name, const char *extension, const char *expected) {
  g_autofree char *asked = *name == '/' ? g_strconcat(world->root, name, NULL) : g_strdup(name);
  g_autoptr(GError) error = NULL;
  g_autofree char *path = conf_path_find(asked, extension, "topologies", world->work, NULL, &error);
  g_autofree char *whole = g_build_filename(world->root, expected, NULL);
  CU_ASSERT_TRUE(path != NULL && strcmp(path, whole) == 0);
  if (path == NULL || strcmp(path, whole) != 0)
    printf("\n    %s: expected %s, found %s\n", name, whole, path != NULL ? path : error->message);
}

static void searches_in_order(void) {
  World world;
  world_begin(&world);
  found(&world, "own.ini", NULL, "work/own.ini");
  found(&world, "own", ".ini", "work/own.ini");
  found(&world, "both", ".ini", "work/both.ini");
  found(&world, "dgx-h100", ".ini", "first/topologies/dgx-h100.ini");
  found(&world, "dgx-h100.ini", ".ini", "first/topologies/dgx-h100.ini");
  found(&world, "hgx-b200", ".ini", "second/topologies/hgx-b200.ini");
  found(&world, "deep/x", ".ini", "work/deep/x.ini");
  found(&world, "/second/topologies/dgx-h100", ".ini", "second/topologies/dgx-h100.ini");
  world_end(&world);
}

static void lists_each_once(void) {
  World world;
  world_begin(&world);
  g_auto(GStrv) names = conf_path_list("topologies", ".ini", NULL);
  GString *ours = g_string_new(NULL);
  for (guint i = 0; names[i] != NULL; i++) {
    CU_ASSERT_TRUE(i == 0 || strcmp(names[i - 1], names[i]) < 0);
    CU_ASSERT_PTR_NULL(strstr(names[i], ".ini"));
    if (strcmp(names[i], "both") == 0 || strcmp(names[i], "dgx-h100") == 0 || strcmp(names[i], "notes") == 0)
      g_string_append_printf(ours, "%s ", names[i]);
  }
  CU_ASSERT_STRING_EQUAL(ours->str, "both dgx-h100 ");
  g_string_free(ours, TRUE);
  g_auto(GStrv) places = conf_path_folders("topologies", NULL);
  g_autofree char *first = g_build_filename(world.root, "first", "topologies", NULL);
  g_autofree char *second = g_build_filename(world.root, "second", "topologies", NULL);
  CU_ASSERT_TRUE(g_strv_length(places) >= 2);
  CU_ASSERT_STRING_EQUAL(places[0], first);
  CU_ASSERT_STRING_EQUAL(places[1], second);
  CU_ASSERT_TRUE(places[2] == NULL || strcmp(places[2], first) != 0);
  world_end(&world);
}

static void words_what_is_missing(void) {
  World world;
  world_begin(&world);
  BasePlace place = {"w.ini", 7, 1, "cluster.topology"};
  GError *error = NULL;
  g_autofree char *looked =
      g_strdup_printf("w.ini:7:1: cluster.topology: no file \"dgx-h10.ini\"; did you mean \"dgx-h100\"? (looked in %s, "
                      "%s/first/topologies, %s/second/topologies",
                      world.work, world.root, world.root);
  HARNESS_FAILS(conf_path_find("dgx-h10", ".ini", "topologies", world.work, &place, &error) != NULL, error, looked);
  HARNESS_FAILS(conf_path_find("dgx-h10.ini", ".ini", "topologies", world.work, &place, &error) != NULL, error,
                "no file \"dgx-h10.ini\"; did you mean \"dgx-h100\"?");
  g_autofree char *relative = g_strdup_printf(
      "cluster.topology: no file \"%s/deep/xx.ini\"; did you mean \"%s/deep/x.ini\"?", world.work, world.work);
  HARNESS_FAILS(conf_path_find("deep/xx.ini", ".ini", "topologies", world.work, &place, &error) != NULL, error,
                relative);
  g_autofree char *folder =
      g_strdup_printf("there is no folder \"%s/deeper\"; did you mean \"%s/deep\"?", world.work, world.work);
  HARNESS_FAILS(conf_path_find("deeper/x.ini", NULL, "topologies", world.work, NULL, &error) != NULL, error, folder);
  HARNESS_FAILS(conf_path_find("deep", ".ini", "topologies", world.work, NULL, &error) != NULL, error,
                "is a folder; expected a file");
  HARNESS_FAILS(conf_path_find("", ".ini", "topologies", world.work, &place, &error) != NULL, error,
                "expected the name of a file, found nothing");
  g_setenv("FORETRAIN_DATA", "/nonexistent/data", TRUE);
  HARNESS_FAILS(conf_path_find("qqq", ".ini", "topologies", NULL, NULL, &error) != NULL, error,
                "no file \"qqq.ini\" (looked in the current folder");
  HARNESS_FAILS(conf_path_find("qqq", ".ini", "topologies", NULL, NULL, &error) != NULL, error,
                "; FORETRAIN_DATA names /nonexistent/data, which is no folder)");
  world_end(&world);
}

int main(void) {
  return harness_run("conf-path", (HarnessCase[]){{"searches in order", searches_in_order},
                                                  {"lists each once", lists_each_once},
                                                  {"words what is missing", words_what_is_missing},
                                                  {NULL, NULL}});
}
