/* SPDX-License-Identifier: MIT */
/* Slow GPUs and degraded links: "NAME: SHARE", separated by commas. */
#include "hw-faults.h"

#include <string.h>

#include "base-quantity.h"
#include "conf-settings.h"

/* One of the two keys being read. */
typedef struct {
  HwCluster *cluster;
  const ConfSettings *settings;
  const char *key, *form; /* what an entry looks like */
} Faults;

static gboolean read_share(const Faults *faults, const char *name, const char *text, double *ret, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (!base_quantity_parse(text, BASE_UNIT_NONE, ret, &reason))
    return conf_settings_fail(faults->settings, faults->key, error, "%s: %s", name, reason->message);
  if (*ret > 0 && *ret <= 1)
    return TRUE;
  return conf_settings_fail(faults->settings, faults->key, error,
                            "%s: %s is out of range: expected a share above 0 and at most 1", name, text);
}

static gboolean read_number(const char *text, guint32 *ret) {
  guint64 number;
  if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32, &number, NULL))
    return FALSE;
  *ret = (guint32)number;
  return TRUE;
}

static gboolean twice(const Faults *faults, const char *name, GError **error) {
  return conf_settings_fail(faults->settings, faults->key, error, "%s stands twice", name);
}

static gboolean slow_gpu(const Faults *faults, const char *name, double share, GError **error) {
  HwCluster *cluster = faults->cluster;
  guint32 rank, gpus = hw_cluster_gpus(cluster);
  if (!read_number(name, &rank))
    return conf_settings_fail(faults->settings, faults->key, error, "expected %s, found \"%s\"", faults->form, name);
  if (rank >= gpus)
    return conf_settings_fail(faults->settings, faults->key, error, "no rank %s: the last of %u is %u", name, gpus,
                              gpus - 1);
  if (cluster->speeds == NULL) {
    cluster->speeds = g_new(double, gpus);
    for (guint32 i = 0; i < gpus; i++)
      cluster->speeds[i] = 0;
  }
  if (cluster->speeds[rank] > 0)
    return twice(faults, name, error);
  cluster->speeds[rank] = share;
  return TRUE;
}

static gboolean degrade(const Faults *faults, const char *name, guint32 out, guint32 in, double share, GError **error) {
  HwClusterLink *ways[] = {&faults->cluster->links[out], &faults->cluster->links[in]};
  if (ways[0]->share != 1)
    return twice(faults, name, error);
  for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
    ways[i]->capacity *= share;
    ways[i]->share = share;
  }
  return TRUE;
}

static gboolean slow_link(const Faults *faults, const char *name, double share, GError **error) {
  const HwCluster *cluster = faults->cluster;
  guint32 node, index;
  g_auto(GStrv) parts = g_strsplit(name, ".", -1);
  gboolean nic = g_strcmp0(parts[0], "nic") == 0, gpu = g_strcmp0(parts[0], "gpu") == 0;
  if ((!nic && !gpu) || g_strv_length(parts) != 3 || !read_number(parts[1], &node) || !read_number(parts[2], &index))
    return conf_settings_fail(faults->settings, faults->key, error, "expected %s, found \"%s\"", faults->form, name);
  guint32 per_node = nic ? cluster->nics_per_node : cluster->gpus_per_node;
  if (node >= cluster->nodes)
    return conf_settings_fail(faults->settings, faults->key, error, "no link %s: the last of %u nodes is %u", name,
                              cluster->nodes, cluster->nodes - 1);
  if (index >= per_node)
    return conf_settings_fail(faults->settings, faults->key, error, "no link %s: a node has %u %ss%s", name, per_node,
                              nic ? "NIC" : "GPU", per_node > 0 ? ", numbered from 0" : "");
  if (nic)
    return degrade(faults, name, hw_cluster_nic_out(cluster, node, index), hw_cluster_nic_in(cluster, node, index),
                   share, error);
  guint32 rank = node * cluster->gpus_per_node + index;
  return degrade(faults, name, hw_cluster_gpu_out(cluster, rank), hw_cluster_gpu_in(cluster, rank), share, error);
}

typedef gboolean (*Take)(const Faults *faults, const char *name, double share, GError **error);

static gboolean read_entry(const Faults *faults, char *entry, Take take, GError **error) {
  char *colon = strchr(entry, ':');
  if (colon == NULL)
    return conf_settings_fail(faults->settings, faults->key, error, "expected %s, found \"%s\"", faults->form,
                              g_strstrip(entry));
  *colon = '\0';
  double share;
  const char *name = g_strstrip(entry);
  return read_share(faults, name, g_strstrip(colon + 1), &share, error) && take(faults, name, share, error);
}

static gboolean read_all(const Faults *faults, const char *text, Take take, GError **error) {
  if (g_strcmp0(text, "none") == 0)
    return TRUE;
  g_auto(GStrv) entries = g_strsplit(text != NULL ? text : "", ",", -1);
  for (char **entry = entries; *entry != NULL; entry++)
    if (!read_entry(faults, *entry, take, error))
      return FALSE;
  return TRUE;
}

gboolean hw_faults_apply(HwCluster *cluster, const ConfSettings *settings, const HwClusterKeys *keys, GError **error) {
  const Faults gpus = {cluster, settings, "cluster.slow_gpus", "\"RANK: SPEED\" such as \"17: 0.8\""};
  const Faults links = {cluster, settings, "cluster.slow_links",
                        "\"nic.NODE.INDEX: SHARE\" or \"gpu.NODE.INDEX: SHARE\" such as \"nic.3.1: 0.5\""};
  if (!read_all(&gpus, keys->slow_gpus, slow_gpu, error) || !read_all(&links, keys->slow_links, slow_link, error))
    return FALSE;
  for (guint32 i = 0; cluster->speeds != NULL && i < hw_cluster_gpus(cluster); i++)
    if (cluster->speeds[i] == 0)
      cluster->speeds[i] = 1;
  return TRUE;
}
