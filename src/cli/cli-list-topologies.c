/* SPDX-License-Identifier: MIT */
/* foretrain list topologies: each machine in a row, with what clouds sell it as. */
#include <string.h>

#include "cli-list.h"
#include "conf-path.h"
#include "conf-settings.h"
#include "hw-cluster.h"

static const CliColumn columns[] = {{"topology", "topology", BASE_LEFT},
                                    {"gpu", "GPU", BASE_LEFT},
                                    {"gpus", "GPUs", BASE_RIGHT},
                                    {"network", "network of a node", BASE_LEFT},
                                    {"network_bandwidth", "GB/s", BASE_RIGHT},
                                    {"gpu_hour", "USD/GPU-hour", BASE_RIGHT},
                                    {"instances", "sold as", BASE_LEFT},
                                    {NULL, NULL, BASE_LEFT}};

/* "8 x ib-ndr400", and what a long transfer gets of it each way. */
static void network_cells(const HwCluster *cluster, CliListing *listing) {
  guint nics = cluster->nics_per_node * cluster->nics_grouped;
  gboolean none = nics == 0 || cluster->nic == NULL;
  g_autofree char *network = none ? g_strdup("none") : g_strdup_printf("%u x %s", nics, cluster->nic->name);
  double rate = none ? 0 : cluster->nics_per_node * cluster->nic_bandwidth;
  cli_listing_text(listing, network);
  cli_listing_number(listing, rate, "%.0f", base_in_gb(rate));
}

typedef struct {
  const char *topology;
  GString *names;
} Sold;

static void add_instance(G_GNUC_UNUSED const char *cloud, const char *name, const char *topology, gpointer user) {
  Sold *sold = user;
  if (strcmp(topology, sold->topology) == 0)
    g_string_append_printf(sold->names, "%s%s", sold->names->len > 0 ? ", " : "", name);
}

static void instances_cell(const char *topology, CliListing *listing) {
  Sold sold = {topology, g_string_new(NULL)};
  hw_instances_visit(add_instance, &sold);
  cli_listing_shown(listing, sold.names->str, sold.names->len > 0 ? sold.names->str : "-");
  g_string_free(sold.names, TRUE);
}

static gboolean row(const char *topology, const HwCatalog *catalog, CliListing *listing, GError **error) {
  ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  g_autofree char *assignment = g_strconcat("cluster.topology=", topology, NULL);
  g_autoptr(HwCluster) cluster =
      conf_settings_set(settings, assignment, error) ? hw_cluster_build(settings, catalog, error) : NULL;
  if (cluster == NULL)
    return FALSE;
  g_autofree char *gpus = g_strdup_printf("%u", cluster->gpus_per_node);
  cli_listing_text(listing, topology);
  cli_listing_text(listing, cluster->gpu->name);
  cli_listing_integer(listing, cluster->gpus_per_node, gpus);
  network_cells(cluster, listing);
  cli_listing_number(listing, cluster->gpu_hour, "%.2f", cluster->gpu_hour);
  instances_cell(topology, listing);
  return TRUE;
}

CliExit cli_list_topologies(CliListing *listing, GError **error) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  g_auto(GStrv) names = catalog != NULL ? conf_path_list("topologies", ".ini", error) : NULL;
  gboolean good = names != NULL;
  cli_listing_columns(listing, columns);
  for (char **name = names; good && *name != NULL; name++)
    good = row(*name, catalog, listing, error);
  return good ? CLI_DONE : CLI_INPUT;
}
