/* Reads the tuning file through a schema table and picks the rows of one architecture. */
#include "coll-tuning.h"

#include <stdlib.h>
#include <string.h>

#include "base-names.h"
#include "coll-tuning-keys.h"
#include "conf-path.h"
#include "conf-settings.h"

const char *const coll_algorithm_names[] = {
    "ring", "tree", "nvls", "nvls-tree", "collnet-direct", "collnet-chain", "pat", "symmetric", "p2p", "p2p-all", NULL};
const char *const coll_protocol_names[] = {"LL", "LL128", "Simple", NULL};

/* In the order of their rows; Ada has Ampere's rows, as NCCL treats compute capability 8.x alike. */
static const char *const architectures[] = {"volta", "ampere", "hopper", "blackwell", NULL};

/* NVLS, CollNet and PAT. */
static void pick_switch_rows(const CollTuningFile *file, int row, CollTuning *ret) {
  ret->nvls = file->nvls;
  ret->nvls.efficiency = file->nvls_efficiency[row];
  ret->nvls.achieved = file->nvls_achieved[row];
  for (int span = 0; span < COLL_SPANS; span++)
    ret->nvls.tree_channel[span] = file->nvls_tree[span][row];
  ret->nvls.chunk = (guint64)file->nvls_chunk;
  ret->nvls.tree_chunk_more_nodes = (guint64)file->nvls_tree_chunk;
  ret->collnet_peer = sim_time_from_seconds(file->collnet_peer);
  ret->collnet_direct_share = row >= COLL_HOPPER ? file->collnet_share_hopper : 1;
  ret->collnet_gather_share = file->collnet_gather;
  ret->symmetric_available = file->symmetric_available;
  ret->symmetric_base =
      sim_time_from_seconds(row == COLL_BLACKWELL ? file->symmetric_blackwell : file->symmetric_hopper);
  ret->pat_available = file->pat_available;
  ret->pat_share = file->pat_share;
  ret->pat_round_share = file->pat_round;
  ret->pat_rank = sim_time_from_seconds(file->pat_rank);
}

static void pick_peers(const CollTuningPeers *file, CollPeerTuning *ret) {
  ret->base[COLL_LL] = sim_time_from_seconds(file->base[COLL_LL]);
  ret->base[COLL_LL128] = ret->base[COLL_SIMPLE] = sim_time_from_seconds(file->base[COLL_SIMPLE]);
  ret->peer = sim_time_from_seconds(file->peer);
}

static void pick_point_to_point(const CollTuningFile *file, int row, CollTuning *ret) {
  pick_peers(&file->p2p_peers[row], &ret->p2p[COLL_HOP_NVLINK]);
  pick_peers(&file->p2p_peers[COLL_ROWS], &ret->p2p[COLL_HOP_PCI]);
  ret->p2p_net_peer = sim_time_from_seconds(file->p2p_net_peer);
  ret->p2p_net_rate = file->p2p_net_rate;
  ret->p2p_net_channels = file->p2p_net_channels;
  ret->p2p_share = file->p2p_share;
  ret->p2p_chunk_nvlink = (guint64)file->p2p_nvlink;
  ret->p2p_chunk = (guint64)file->p2p;
  ret->p2p_ll = (guint64)file->p2p_ll;
}

static void pick_measured(const CollTuningLatency *file, CollLatency *ret) {
  for (int p = 0; p < COLL_PROTOCOLS; p++) {
    ret->base[p] = sim_time_from_seconds(file->base[p]);
    ret->hop[p] = sim_time_from_seconds(file->hop[p]);
  }
}

static void pick_rows(const CollTuningFile *file, int row, CollTuning *ret) {
  for (int p = 0; p < COLL_PROTOCOLS; p++) {
    ret->slot_bytes[p] = (guint64)file->slot[p];
    ret->ring_chunk[p] = file->ring_chunk[p];
    for (int a = 0; a < COLL_ALGORITHMS; a++) {
      ret->base[a][p] = sim_time_from_seconds(file->base[a][p]);
      for (int hop = 0; hop < COLL_HOPS; hop++)
        ret->hop[a][hop][p] = sim_time_from_seconds(file->hop[a][hop][p]);
    }
  }
  ret->overhead[COLL_CPU_INTEL] = sim_time_from_seconds(file->overhead_intel);
  ret->overhead[COLL_CPU_AMD] = sim_time_from_seconds(file->overhead_amd);
  ret->all_reduce_penalty = row == COLL_VOLTA ? file->penalty_volta : file->penalty;
  ret->ll_share = file->ll_share;
  ret->ll_channels = file->ll_channels;
  ret->ll_share_reducing = file->ll_reducing;
  ret->ll128_share = file->ll128_share;
  ret->ll128_share_one_gpu = file->ll128_one_gpu;
  for (int cpu = 0; cpu < COLL_CPUS; cpu++) {
    ret->ll_cap[COLL_ONE_NODE][cpu] = file->ll_one_node[row];
    ret->ll_cap[COLL_TWO_NODES][cpu] = file->ll_two[cpu];
    ret->ll_cap[COLL_MORE_NODES][cpu] = file->ll_more[cpu];
  }
  ret->ll128_channel_cap = file->ll128_channel[row];
  ret->tree = file->tree;
  for (int p = 0; p < COLL_SIMPLE; p++)
    ret->tree.lines[p] = (guint64)file->lines[p];
  for (int span = 0; span < COLL_SPANS; span++) {
    ret->tree.channel_cap[span] = file->tree_channel[span][row];
    ret->tree.ll128_channel_cap[span] = file->tree_ll128[span][row];
  }
  pick_switch_rows(file, row, ret);
  pick_measured(&file->measured[row], &ret->measured[COLL_HOP_NVLINK]);
  pick_measured(&file->measured[COLL_ROWS], &ret->measured[COLL_HOP_PCI]);
  ret->threads = file->threads;
  ret->threads.least_traffic = (guint64)file->least_traffic;
  ret->slices = file->slices;
  ret->last_receive = file->last_receive;
  pick_point_to_point(file, row, ret);
  ret->receive_bytes = (guint64)file->receive;
  ret->send_bytes = (guint64)file->send;
  ret->slots = file->slots;
  ret->align = (guint64)file->align;
}

/* Numbers between blanks, exactly as many as there are corrections. */
static gboolean read_corrections(const ConfSettings *settings, const char *key, const char *text, double *ret,
                                 GError **error) {
  for (int i = 0; i <= COLL_CORRECTIONS; i++) {
    char *end;
    double value = g_ascii_strtod(text, &end);
    if ((end == text) != (i == COLL_CORRECTIONS) || (i == COLL_CORRECTIONS && *g_strstrip(end) != '\0'))
      return conf_settings_fail(settings, key, error, "expected %d numbers", COLL_CORRECTIONS);
    if (i < COLL_CORRECTIONS)
      ret[i] = value;
    text = end;
  }
  return TRUE;
}

static gboolean check(const ConfSettings *settings, CollTuningFile *file, GError **error) {
  static const char *const corrections[] = {"tree.correction_ll", "tree.correction_ll128", "tree.correction_simple"};
  for (int p = 0; p < COLL_PROTOCOLS; p++) {
    if (file->slots < 2 * file->ring_chunk[p])
      return conf_settings_fail(settings, "steps.slots", error, "a connection must hold two chunks of a ring in %s",
                                coll_protocol_names[p]);
    if (!read_corrections(settings, corrections[p], file->correction[p], file->tree.correction[p], error))
      return FALSE;
  }
  return TRUE;
}

/* A table that is based on another must say where its own rows come from. */
static gboolean check_sources(const ConfSettings *own, GError **error) {
  for (gsize i = 0; i < coll_tuning_schema.n_keys; i++) {
    const ConfKey *key = &coll_tuning_schema.keys[i];
    g_autofree char *name = g_strconcat(key->group, ".", key->key, NULL);
    g_autofree char *source = g_strconcat(key->group, ".source", NULL);
    if (strcmp(key->group, "table") != 0 && conf_settings_given(own, name) && !conf_settings_given(own, source))
      return conf_settings_fail(own, name, error, "the group has no source: every row needs one");
  }
  return TRUE;
}

/* Lays a table over those that it is based on, and notes their paths, the oldest first. */
static gboolean load_chain(ConfSettings *settings, const char *table, GPtrArray *paths, GError **error) {
  g_autofree char *path = conf_path_find(table, ".ini", "topologies/catalog", NULL, NULL, error);
  if (path == NULL)
    return FALSE;
  g_autoptr(ConfSettings) own = conf_settings_new(&coll_tuning_schema, 1);
  if (!conf_settings_load(own, path, CONF_ORIGIN_FILE, error))
    return FALSE;
  const char *based_on = conf_settings_get(own, "table.based_on");
  if (g_ptr_array_find_with_equal_func(paths, path, g_str_equal, NULL))
    return conf_settings_fail(own, "table.based_on", error, "tables are based on each other in a circle");
  g_ptr_array_insert(paths, 0, g_strdup(path));
  if (!check_sources(own, error))
    return FALSE;
  return (based_on == NULL || load_chain(settings, based_on, paths, error)) &&
         conf_settings_load(settings, path, CONF_ORIGIN_FILE, error);
}

gboolean coll_tuning_load(const char *table, const char *architecture, CollTuning *ret, GError **error) {
  int row = strcmp(architecture, "ada") == 0 ? COLL_AMPERE : base_names_find(architectures, architecture);
  if (row < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "NCCL's constants for GPUs of architecture \"%s\" are not known",
                architecture);
    return FALSE;
  }
  g_autoptr(ConfSettings) settings = conf_settings_new(&coll_tuning_schema, 1);
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
  CollTuningDocument document = {0};
  gboolean good = load_chain(settings, table, paths, error) &&
                  conf_settings_fill(settings, &coll_tuning_schema, &document, error) &&
                  check(settings, &document.file, error);
  if (good)
    pick_rows(&document.file, row, ret);
  conf_struct_clear(&coll_tuning_schema, &document);
  return good;
}

char **coll_tuning_files(const char *table, GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_new(&coll_tuning_schema, 1);
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
  if (!load_chain(settings, table, paths, error))
    return NULL;
  g_ptr_array_add(paths, NULL);
  return (char **)g_ptr_array_steal(paths, NULL);
}

/* "2.21.5" as 221: tables are of minor versions. FALSE: not a version. */
static gboolean read_version(const char *text, guint *ret_minor) {
  char *end;
  if (!g_str_has_prefix(text, "2.") || !g_ascii_isdigit(text[2]))
    return FALSE;
  *ret_minor = (guint)strtoul(text + 2, &end, 10);
  return *end == '\0' || (*end == '.' && g_ascii_isdigit(end[1]));
}

#define TABLE "nccl-"

char *coll_tuning_find(const char *version, gboolean *ret_exact, GError **error) {
  guint wanted = G_MAXUINT, best = 0, oldest = G_MAXUINT, minor;
  if (version != NULL && !read_version(version, &wanted)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is not a version of NCCL: such as 2.21 or 2.21.5", version);
    return NULL;
  }
  g_auto(GStrv) names = conf_path_list("topologies/catalog", ".ini");
  for (char **name = names; *name != NULL; name++) {
    if (!g_str_has_prefix(*name, TABLE) || !read_version(*name + strlen(TABLE), &minor))
      continue;
    oldest = MIN(oldest, minor);
    best = minor <= wanted ? MAX(best, minor) : best;
  }
  if (best == 0 && oldest < G_MAXUINT) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "NCCL %s is older than the oldest tuning table, nccl-2.%u", version,
                oldest);
    return NULL;
  }
  g_autofree char *table = g_strdup_printf(TABLE "2.%u", best);
  *ret_exact = version == NULL || best == wanted;
  return conf_path_find(table, ".ini", "topologies/catalog", NULL, NULL, error);
}
