/* SPDX-License-Identifier: MIT */
/* Clusters from the text of a topology: written to a file, read as the program reads it. */
#include "machine.h"

#include <glib/gstdio.h>
#include <string.h>

void machine_clear(Machine *machine) {
  hw_cluster_free(machine->cluster);
  conf_settings_free(machine->settings);
  hw_catalog_free(machine->catalog);
}

gboolean machine_build(Machine *ret, const char *text, const char *more, GError **error) {
  const ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  ret->catalog = hw_catalog_load(error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(ret->catalog);
  ret->settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  g_autofree char *folder = text != NULL ? g_dir_make_tmp("foretrain-XXXXXX", NULL) : NULL;
  g_autofree char *file = text != NULL ? g_build_filename(folder, "mine.ini", NULL) : NULL;
  gboolean good = TRUE;
  if (text != NULL) {
    g_file_set_contents(file, text, -1, NULL);
    g_autofree char *name = g_strconcat("cluster.topology=", file, NULL);
    good = conf_settings_set(ret->settings, name, error);
  }
  g_auto(GStrv) all = g_strsplit(more, ";", -1);
  for (char **one = all; good && *one != NULL; one++)
    good = **one == '\0' || conf_settings_set(ret->settings, *one, error);
  ret->cluster = good ? hw_cluster_build(ret->settings, ret->catalog, error) : NULL;
  if (text != NULL) {
    g_remove(file);
    g_rmdir(folder);
  }
  return ret->cluster != NULL;
}

const HwMachine *machine_must(Machine *ret, const char *text, const char *more) {
  GError *error = NULL;
  if (!machine_build(ret, text, more, &error))
    g_error("%s: %s", more, error->message);
  return ret->cluster->machine;
}
