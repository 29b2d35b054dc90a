/* SPDX-License-Identifier: MIT */
/* Shipped clusters for tests, built from settings as the program builds them. */
#include "cluster.h"

#include <stdarg.h>

TestCluster cluster_new(const char *topology, guint32 nodes, ...) {
  ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  TestCluster built = {hw_catalog_load(NULL), conf_settings_new(schemas, G_N_ELEMENTS(schemas)), NULL};
  g_autofree char *name = g_strconcat("cluster.topology=", topology, NULL);
  g_autofree char *count = g_strdup_printf("cluster.nodes=%u", nodes);
  gboolean good = conf_settings_set(built.settings, name, NULL) && conf_settings_set(built.settings, count, NULL);
  va_list overrides;
  va_start(overrides, nodes);
  for (const char *each; (each = va_arg(overrides, const char *)) != NULL;)
    good = good && conf_settings_set(built.settings, each, NULL);
  va_end(overrides);
  GError *error = NULL;
  built.cluster = good ? hw_cluster_build(built.settings, built.catalog, &error) : NULL;
  if (built.cluster == NULL)
    g_error("no cluster %s: %s", topology, error != NULL ? error->message : "an override is wrong");
  return built;
}

void cluster_clear(TestCluster *built) {
  hw_cluster_free(built->cluster);
  conf_settings_free(built->settings);
  hw_catalog_free(built->catalog);
}
