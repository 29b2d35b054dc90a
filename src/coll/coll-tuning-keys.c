/* The schema table of a tuning file. */
#include "coll-tuning-keys.h"

#define TIME(group_, key_, field_)                                                                                     \
  {                                                                                                                    \
    .group = group_, .key = key_, .kind = CONF_TIME, .offset = G_STRUCT_OFFSET(CollTuningFile, field_),                \
    .required = TRUE                                                                                                   \
  }
#define TIMES(group_, field_)                                                                                          \
  TIME(group_, "ll", field_[COLL_LL]), TIME(group_, "ll128", field_[COLL_LL128]),                                      \
      TIME(group_, "simple", field_[COLL_SIMPLE]), SOURCE(group_)
#define SIMPLE_TIME(group_, field_) TIME(group_, "simple", field_[COLL_SIMPLE]), SOURCE(group_)
#define MEASURED(name_, row_)                                                                                          \
  TIME("measured." name_, "ll_base", measured[row_].base[COLL_LL]),                                                    \
      TIME("measured." name_, "ll_hop", measured[row_].hop[COLL_LL]),                                                  \
      TIME("measured." name_, "ll128_base", measured[row_].base[COLL_LL128]),                                          \
      TIME("measured." name_, "ll128_hop", measured[row_].hop[COLL_LL128]),                                            \
      TIME("measured." name_, "simple_base", measured[row_].base[COLL_SIMPLE]),                                        \
      TIME("measured." name_, "simple_hop", measured[row_].hop[COLL_SIMPLE]), SOURCE("measured." name_)
#define PEERS(name_, row_)                                                                                             \
  TIME("p2p." name_, "ll_base", p2p_peers[row_].base[COLL_LL]),                                                        \
      TIME("p2p." name_, "simple_base", p2p_peers[row_].base[COLL_SIMPLE]),                                            \
      TIME("p2p." name_, "peer", p2p_peers[row_].peer), SOURCE("p2p." name_)
#define RATE(group_, key_, field_)                                                                                     \
  {                                                                                                                    \
    .group = group_, .key = key_, .kind = CONF_BYTE_RATE, .offset = G_STRUCT_OFFSET(CollTuningFile, field_),           \
    .required = TRUE                                                                                                   \
  }
#define ROW_RATES(key_, field_)                                                                                        \
  RATE("tree", key_ "_volta", field_[0]), RATE("tree", key_ "_ampere", field_[1]),                                     \
      RATE("tree", key_ "_hopper", field_[2]), RATE("tree", key_ "_blackwell", field_[3])
#define TREE_RATES(key_, field_)                                                                                       \
  ROW_RATES(key_ "_one_node", field_[COLL_ONE_NODE]), ROW_RATES(key_ "_two_nodes", field_[COLL_TWO_NODES]),            \
      ROW_RATES(key_ "_more_nodes", field_[COLL_MORE_NODES])
#define TEXT(group_, key_, field_)                                                                                     \
  {                                                                                                                    \
    .group = group_, .key = key_, .kind = CONF_STRING, .offset = G_STRUCT_OFFSET(CollTuningFile, field_),              \
    .required = TRUE                                                                                                   \
  }
#define NUMBER(group_, key_, field_)                                                                                   \
  {                                                                                                                    \
    .group = group_, .key = key_, .kind = CONF_NUMBER, .offset = G_STRUCT_OFFSET(CollTuningFile, field_),              \
    .required = TRUE                                                                                                   \
  }
#define COUNT(group_, key_, field_)                                                                                    \
  {                                                                                                                    \
    .group = group_, .key = key_, .kind = CONF_COUNT, .offset = G_STRUCT_OFFSET(CollTuningFile, field_), .min = 1,     \
    .max = 4096, .required = TRUE                                                                                      \
  }
#define BYTES(group_, key_, field_)                                                                                    \
  {                                                                                                                    \
    .group = group_, .key = key_, .kind = CONF_BYTES, .offset = G_STRUCT_OFFSET(CollTuningFile, field_),               \
    .required = TRUE                                                                                                   \
  }
/* Documentation that every section must carry: read, checked to be there, not kept. */
#define SOURCE(group_)                                                                                                 \
  {.group = group_, .key = "source", .kind = CONF_STRING, .offset = SOURCE_FIELD, .required = TRUE}, {                 \
    .group = group_, .key = "trust", .kind = CONF_NAME, .offset = TRUST_FIELD, .names = trusts, .required = TRUE       \
  }
#define SOURCE_FIELD G_STRUCT_OFFSET(CollTuningDocument, source)
#define TRUST_FIELD  G_STRUCT_OFFSET(CollTuningDocument, trust)

static const char *const nvls_models[] = {"efficiency", "least", NULL};
static const char *const trusts[] = {"measured", "published", "derived", "recalled", NULL};

static const ConfKey keys[] = {
    {.group = "table", .key = "based_on", .kind = CONF_STRING, .offset = G_STRUCT_OFFSET(CollTuningDocument, based_on)},
    TIMES("ring.base", base[COLL_RING]),
    TIMES("ring.nvlink", hop[COLL_RING][COLL_HOP_NVLINK]),
    TIMES("ring.pci", hop[COLL_RING][COLL_HOP_PCI]),
    TIMES("ring.net", hop[COLL_RING][COLL_HOP_NET]),
    MEASURED("volta", COLL_VOLTA),
    MEASURED("ampere", COLL_AMPERE),
    MEASURED("hopper", COLL_HOPPER),
    MEASURED("blackwell", COLL_BLACKWELL),
    MEASURED("pci", COLL_ROWS),
    TIMES("tree.base", base[COLL_TREE]),
    TIMES("tree.nvlink", hop[COLL_TREE][COLL_HOP_NVLINK]),
    TIMES("tree.pci", hop[COLL_TREE][COLL_HOP_PCI]),
    TIMES("tree.net", hop[COLL_TREE][COLL_HOP_NET]),
    TIME("ring", "overhead_intel", overhead_intel),
    TIME("ring", "overhead_amd", overhead_amd),
    NUMBER("ring", "all_reduce_penalty", penalty),
    NUMBER("ring", "all_reduce_penalty_volta", penalty_volta),
    SOURCE("ring"),
    NUMBER("bandwidth", "ll_share_reducing", ll_reducing),
    NUMBER("bandwidth", "ll_share", ll_share),
    COUNT("bandwidth", "ll_channels", ll_channels),
    NUMBER("bandwidth", "ll128_share_one_gpu", ll128_one_gpu),
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
    NUMBER("tree", "plain_share", tree.plain_share),
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
    SIMPLE_TIME("nvls.nvlink", hop[COLL_NVLS][COLL_HOP_NVLINK]),
    SIMPLE_TIME("nvls.net", hop[COLL_NVLS][COLL_HOP_NET]),
    SIMPLE_TIME("nvls-tree.nvlink", hop[COLL_NVLS_TREE][COLL_HOP_NVLINK]),
    SIMPLE_TIME("nvls-tree.net", hop[COLL_NVLS_TREE][COLL_HOP_NET]),
    {.group = "nvls",
     .key = "bandwidth",
     .kind = CONF_NAME,
     .offset = G_STRUCT_OFFSET(CollTuningFile, nvls.model),
     .names = nvls_models,
     .required = TRUE},
    NUMBER("nvls", "efficiency_hopper", nvls_efficiency[COLL_HOPPER]),
    NUMBER("nvls", "efficiency_blackwell", nvls_efficiency[COLL_BLACKWELL]),
    {.group = "nvls",
     .key = "gather_peers",
     .kind = CONF_FLAG,
     .offset = G_STRUCT_OFFSET(CollTuningFile, nvls.gather_peers),
     .required = TRUE},
    NUMBER("nvls", "gather_inter_share", nvls.gather_inter_share),
    NUMBER("nvls", "least_share", nvls.least_share),
    NUMBER("nvls", "tree_inter_two_nodes", nvls.tree_inter[COLL_TWO_NODES]),
    NUMBER("nvls", "tree_inter_more_nodes", nvls.tree_inter[COLL_MORE_NODES]),
    RATE("nvls", "tree_two_nodes_hopper", nvls_tree[COLL_TWO_NODES][COLL_HOPPER]),
    RATE("nvls", "tree_more_nodes_hopper", nvls_tree[COLL_MORE_NODES][COLL_HOPPER]),
    RATE("nvls", "tree_two_nodes_blackwell", nvls_tree[COLL_TWO_NODES][COLL_BLACKWELL]),
    RATE("nvls", "tree_more_nodes_blackwell", nvls_tree[COLL_MORE_NODES][COLL_BLACKWELL]),
    SOURCE("nvls"),
    NUMBER("copies", "last_receive", last_receive),
    NUMBER("copies", "p2p_share", p2p_share),
    SOURCE("copies"),
    PEERS("volta", COLL_VOLTA),
    PEERS("ampere", COLL_AMPERE),
    PEERS("hopper", COLL_HOPPER),
    PEERS("blackwell", COLL_BLACKWELL),
    PEERS("pci", COLL_ROWS),
    TIME("p2p.net", "peer", p2p_net_peer),
    RATE("p2p.net", "rate", p2p_net_rate),
    COUNT("p2p.net", "channels", p2p_net_channels),
    SOURCE("p2p.net"),
    NUMBER("nvls.achieved", "share_hopper", nvls_achieved[COLL_HOPPER]),
    NUMBER("nvls.achieved", "share_blackwell", nvls_achieved[COLL_BLACKWELL]),
    SOURCE("nvls.achieved"),
    BYTES("nvls.chunk", "chunk", nvls_chunk),
    BYTES("nvls.chunk", "tree_chunk_more_nodes", nvls_tree_chunk),
    COUNT("nvls.chunk", "below_64k", nvls.below[0]),
    COUNT("nvls.chunk", "below_32k", nvls.below[1]),
    COUNT("nvls.chunk", "below_16k", nvls.below[2]),
    COUNT("nvls.chunk", "tree_below_256k", nvls.tree_below[0]),
    COUNT("nvls.chunk", "tree_below_128k", nvls.tree_below[1]),
    COUNT("nvls.chunk", "tree_below_64k", nvls.tree_below[2]),
    COUNT("nvls.chunk", "tree_below_32k", nvls.tree_below[3]),
    SOURCE("nvls.chunk"),
    SIMPLE_TIME("collnet-direct.nvlink", hop[COLL_COLLNET_DIRECT][COLL_HOP_NVLINK]),
    SIMPLE_TIME("collnet-direct.pci", hop[COLL_COLLNET_DIRECT][COLL_HOP_PCI]),
    SIMPLE_TIME("collnet-direct.net", hop[COLL_COLLNET_DIRECT][COLL_HOP_NET]),
    SIMPLE_TIME("collnet-chain.nvlink", hop[COLL_COLLNET_CHAIN][COLL_HOP_NVLINK]),
    SIMPLE_TIME("collnet-chain.pci", hop[COLL_COLLNET_CHAIN][COLL_HOP_PCI]),
    SIMPLE_TIME("collnet-chain.net", hop[COLL_COLLNET_CHAIN][COLL_HOP_NET]),
    TIME("collnet", "direct_peer", collnet_peer),
    NUMBER("collnet", "direct_share_hopper", collnet_share_hopper),
    NUMBER("collnet", "gather_inter_share", collnet_gather),
    SOURCE("collnet"),
    SIMPLE_TIME("pat.base", base[COLL_PAT]),
    SIMPLE_TIME("pat.nvlink", hop[COLL_PAT][COLL_HOP_NVLINK]),
    SIMPLE_TIME("pat.pci", hop[COLL_PAT][COLL_HOP_PCI]),
    SIMPLE_TIME("pat.net", hop[COLL_PAT][COLL_HOP_NET]),
    {.group = "pat",
     .key = "available",
     .kind = CONF_FLAG,
     .offset = G_STRUCT_OFFSET(CollTuningFile, pat_available),
     .required = TRUE},
    NUMBER("pat", "share", pat_share),
    NUMBER("pat", "round_share", pat_round),
    TIME("symmetric", "base_hopper", symmetric_hopper),
    TIME("symmetric", "base_blackwell", symmetric_blackwell),
    {.group = "symmetric",
     .key = "available",
     .kind = CONF_FLAG,
     .offset = G_STRUCT_OFFSET(CollTuningFile, symmetric_available),
     .required = TRUE},
    SOURCE("symmetric"),
    TIME("pat", "rank", pat_rank),
    SOURCE("pat"),
    COUNT("threads", "ring_ll", threads.ring[COLL_LL]),
    COUNT("threads", "ring_ll128", threads.ring[COLL_LL128]),
    COUNT("threads", "ring_simple", threads.ring[COLL_SIMPLE]),
    COUNT("threads", "ring_simple_narrow", threads.ring_simple_narrow),
    RATE("threads", "narrow", threads.narrow),
    COUNT("threads", "tree_ll", threads.tree[COLL_LL]),
    COUNT("threads", "tree_ll128", threads.tree[COLL_LL128]),
    COUNT("threads", "tree_simple", threads.tree[COLL_SIMPLE]),
    COUNT("threads", "bytes_ll", threads.bytes[COLL_LL]),
    COUNT("threads", "bytes_ll128", threads.bytes[COLL_LL128]),
    COUNT("threads", "bytes_simple", threads.bytes[COLL_SIMPLE]),
    BYTES("threads", "least_traffic", least_traffic),
    COUNT("threads", "ll_traffic", threads.ll_traffic),
    SOURCE("threads"),
    COUNT("steps", "slots", slots),
    BYTES("steps", "slot_ll", slot[COLL_LL]),
    BYTES("steps", "slot_ll128", slot[COLL_LL128]),
    BYTES("steps", "slot_simple", slot[COLL_SIMPLE]),
    COUNT("steps", "ring_chunk_ll", ring_chunk[COLL_LL]),
    COUNT("steps", "ring_chunk_ll128", ring_chunk[COLL_LL128]),
    COUNT("steps", "ring_chunk_simple", ring_chunk[COLL_SIMPLE]),
    COUNT("steps", "slices_simple", slices),
    BYTES("steps", "p2p_chunk_nvlink", p2p_nvlink),
    BYTES("steps", "p2p_chunk", p2p),
    BYTES("steps", "p2p_ll", p2p_ll),
    BYTES("steps", "align", align),
    SOURCE("steps"),
    BYTES("buffers", "receive", receive),
    BYTES("buffers", "send", send),
    SOURCE("buffers"),
};
const ConfSchema coll_tuning_schema = {keys, G_N_ELEMENTS(keys)};
