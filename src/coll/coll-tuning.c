/* Reads the tuning file through a schema table and picks the rows of one architecture. */
#include "coll-tuning.h"

#include <string.h>

#include "base-names.h"
#include "conf-path.h"
#include "conf-settings.h"

const char *const coll_algorithm_names[] = {"ring", "tree", NULL};
const char *const coll_protocol_names[] = {"LL", "LL128", "Simple", NULL};

/* Rows by architecture, in this order; Ada has Ampere's rows, as NCCL treats compute capability 8.x alike. */
static const char *const rows[] = {"volta", "ampere", "hopper", "blackwell", NULL};
#define ROWS 4
enum { VOLTA, AMPERE };

typedef struct {
  double base[COLL_ALGORITHMS][COLL_PROTOCOLS], hop[COLL_ALGORITHMS][COLL_HOPS][COLL_PROTOCOLS];
  double overhead_intel, overhead_amd, penalty, penalty_volta;
  double ll_share, ll128_share, ll_one_node[ROWS], ll_two[COLL_CPUS], ll_more[COLL_CPUS], ll128_channel[ROWS];
  guint64 nvswitch, pcie, doubled, most;
  double receive, send;
  double slot[COLL_PROTOCOLS], align;
  guint64 slots, ring_chunk[COLL_PROTOCOLS];
  CollTreeTuning tree; /* caps and corrections apart: */
  double tree_channel[COLL_SPANS][ROWS], tree_ll128[COLL_SPANS][ROWS];
  double lines[COLL_SIMPLE];
  char *correction[COLL_PROTOCOLS];
} File;

#define TIME(group_, key_, field_)                                                                                     \
  { .group = group_, .key = key_, .kind = CONF_TIME, .offset = G_STRUCT_OFFSET(File, field_), .required = TRUE }
#define TIMES(group_, field_)                                                                                          \
  TIME(group_, "ll", field_[COLL_LL]), TIME(group_, "ll128", field_[COLL_LL128]),                                      \
      TIME(group_, "simple", field_[COLL_SIMPLE]), SOURCE(group_)
#define RATE(group_, key_, field_)                                                                                     \
  { .group = group_, .key = key_, .kind = CONF_BYTE_RATE, .offset = G_STRUCT_OFFSET(File, field_), .required = TRUE }
#define ROW_RATES(key_, field_)                                                                                        \
  RATE("tree", key_ "_volta", field_[0]), RATE("tree", key_ "_ampere", field_[1]),                                     \
      RATE("tree", key_ "_hopper", field_[2]), RATE("tree", key_ "_blackwell", field_[3])
#define TREE_RATES(key_, field_)                                                                                       \
  ROW_RATES(key_ "_one_node", field_[COLL_ONE_NODE]), ROW_RATES(key_ "_two_nodes", field_[COLL_TWO_NODES]),            \
      ROW_RATES(key_ "_more_nodes", field_[COLL_MORE_NODES])
#define TEXT(group_, key_, field_)                                                                                     \
  { .group = group_, .key = key_, .kind = CONF_STRING, .offset = G_STRUCT_OFFSET(File, field_), .required = TRUE }
#define NUMBER(group_, key_, field_)                                                                                   \
  { .group = group_, .key = key_, .kind = CONF_NUMBER, .offset = G_STRUCT_OFFSET(File, field_), .required = TRUE }
#define COUNT(group_, key_, field_)                                                                                    \
  {                                                                                                                    \
    .group = group_, .key = key_, .kind = CONF_COUNT, .offset = G_STRUCT_OFFSET(File, field_), .min = 1, .max = 64,    \
    .required = TRUE                                                                                                   \
  }
#define BYTES(group_, key_, field_)                                                                                    \
  { .group = group_, .key = key_, .kind = CONF_BYTES, .offset = G_STRUCT_OFFSET(File, field_), .required = TRUE }
/* Documentation that every section must carry: read, checked to be there, not kept. */
#define SOURCE(group_)                                                                                                 \
  {.group = group_, .key = "source", .kind = CONF_STRING, .offset = SOURCE_FIELD, .required = TRUE}, {                 \
    .group = group_, .key = "trust", .kind = CONF_NAME, .offset = TRUST_FIELD, .names = trusts, .required = TRUE       \
  }
#define SOURCE_FIELD G_STRUCT_OFFSET(Document, source)
#define TRUST_FIELD  G_STRUCT_OFFSET(Document, trust)

typedef struct {
  File file; /* first: offsets of File are offsets of Document */
  char *source;
  int trust;
} Document;

static const char *const trusts[] = {"measured", "published", "derived", "recalled", NULL};

static const ConfKey keys[] = {
    TIMES("ring.base", base[COLL_RING]),
    TIMES("ring.nvlink", hop[COLL_RING][COLL_HOP_NVLINK]),
    TIMES("ring.pci", hop[COLL_RING][COLL_HOP_PCI]),
    TIMES("ring.net", hop[COLL_RING][COLL_HOP_NET]),
    TIMES("tree.base", base[COLL_TREE]),
    TIMES("tree.nvlink", hop[COLL_TREE][COLL_HOP_NVLINK]),
    TIMES("tree.pci", hop[COLL_TREE][COLL_HOP_PCI]),
    TIMES("tree.net", hop[COLL_TREE][COLL_HOP_NET]),
    TIME("ring", "overhead_intel", overhead_intel),
    TIME("ring", "overhead_amd", overhead_amd),
    NUMBER("ring", "all_reduce_penalty", penalty),
    NUMBER("ring", "all_reduce_penalty_volta", penalty_volta),
    SOURCE("ring"),
    NUMBER("bandwidth", "ll_share", ll_share),
    NUMBER("bandwidth", "ll128_share", ll128_share),
    RATE("bandwidth", "ll_one_node_volta", ll_one_node[0]),
    RATE("bandwidth", "ll_one_node_ampere", ll_one_node[1]),
    RATE("bandwidth", "ll_one_node_hopper", ll_one_node[2]),
    RATE("bandwidth", "ll_one_node_blackwell", ll_one_node[3]),
    RATE("bandwidth", "ll_two_nodes_intel", ll_two[COLL_CPU_INTEL]),
    RATE("bandwidth", "ll_two_nodes_amd", ll_two[COLL_CPU_AMD]),
    RATE("bandwidth", "ll_more_nodes_intel", ll_more[COLL_CPU_INTEL]),
    RATE("bandwidth", "ll_more_nodes_amd", ll_more[COLL_CPU_AMD]),
    RATE("bandwidth", "ll128_channel_volta", ll128_channel[0]),
    RATE("bandwidth", "ll128_channel_ampere", ll128_channel[1]),
    RATE("bandwidth", "ll128_channel_hopper", ll128_channel[2]),
    RATE("bandwidth", "ll128_channel_blackwell", ll128_channel[3]),
    SOURCE("bandwidth"),
    NUMBER("tree", "share", tree.share),
    NUMBER("tree", "ll_share", tree.ll_share),
    NUMBER("tree", "ll128_share_one_node", tree.ll128_share_one_node),
    NUMBER("tree", "ll128_share", tree.ll128_share),
    TREE_RATES("channel", tree_channel),
    TREE_RATES("ll128", tree_ll128),
    TEXT("tree", "correction_ll", correction[COLL_LL]),
    TEXT("tree", "correction_ll128", correction[COLL_LL128]),
    TEXT("tree", "correction_simple", correction[COLL_SIMPLE]),
    SOURCE("tree"),
    COUNT("tree.cut", "simple_above_128k", tree.simple_cut[0]),
    COUNT("tree.cut", "simple_above_64k", tree.simple_cut[1]),
    COUNT("tree.cut", "simple_above_32k", tree.simple_cut[2]),
    COUNT("tree.cut", "ll128_above_128k", tree.ll128_cut[0]),
    COUNT("tree.cut", "ll128_above_32k", tree.ll128_cut[1]),
    BYTES("tree.cut", "lines_ll", lines[COLL_LL]),
    BYTES("tree.cut", "lines_ll128", lines[COLL_LL128]),
    SOURCE("tree.cut"),
    COUNT("channels", "nvswitch", nvswitch),
    COUNT("channels", "pcie", pcie),
    COUNT("channels", "doubled", doubled),
    COUNT("channels", "most", most),
    SOURCE("channels"),
    COUNT("steps", "slots", slots),
    BYTES("steps", "slot_ll", slot[COLL_LL]),
    BYTES("steps", "slot_ll128", slot[COLL_LL128]),
    BYTES("steps", "slot_simple", slot[COLL_SIMPLE]),
    COUNT("steps", "ring_chunk_ll", ring_chunk[COLL_LL]),
    COUNT("steps", "ring_chunk_ll128", ring_chunk[COLL_LL128]),
    COUNT("steps", "ring_chunk_simple", ring_chunk[COLL_SIMPLE]),
    BYTES("steps", "align", align),
    SOURCE("steps"),
    BYTES("buffers", "receive", receive),
    BYTES("buffers", "send", send),
    SOURCE("buffers"),
};
static const ConfSchema schema = {keys, G_N_ELEMENTS(keys)};

static void pick_rows(const File *file, int row, CollTuning *ret) {
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
  ret->all_reduce_penalty = row == VOLTA ? file->penalty_volta : file->penalty;
  ret->ll_share = file->ll_share;
  ret->ll128_share = file->ll128_share;
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
  ret->nvswitch_rings = file->nvswitch;
  ret->pcie_rings = file->pcie;
  ret->doubled = file->doubled;
  ret->most_channels = file->most;
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

static gboolean check(const ConfSettings *settings, File *file, GError **error) {
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

gboolean coll_tuning_load(const char *version, const char *architecture, CollTuning *ret, GError **error) {
  int row = strcmp(architecture, "ada") == 0 ? AMPERE : base_names_find(rows, architecture);
  if (row < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "NCCL's constants for GPUs of architecture \"%s\" are not known",
                architecture);
    return FALSE;
  }
  g_autofree char *path = conf_path_find(version, ".ini", "topologies/catalog", NULL, NULL, error);
  if (path == NULL)
    return FALSE;
  g_autoptr(ConfSettings) settings = conf_settings_new(&schema, 1);
  Document document = {0};
  gboolean good = conf_settings_load(settings, path, CONF_ORIGIN_FILE, error) &&
                  conf_settings_fill(settings, &schema, &document, error) && check(settings, &document.file, error);
  if (good)
    pick_rows(&document.file, row, ret);
  conf_struct_clear(&schema, &document);
  return good;
}
