/* SPDX-License-Identifier: MIT */
/* The schema table of a tuning file. */
#include "coll-tuning-keys.h"

#include <math.h>

#include "hw-catalog.h"

/* Rows of all architectures; of some. */
#define KEY(group_, key_, kind_, member_, ...)                                                                         \
  BASE_ROW(group_, key_, kind_, CollTuning, member_, .required = TRUE, __VA_ARGS__)
#define OF(rows)                           .marks = rows
#define TIME(group_, key_, member_, ...)   KEY(group_, key_, BASE_TIME, member_, __VA_ARGS__)
#define RATE(group_, key_, member_, ...)   KEY(group_, key_, BASE_BYTE_RATE, member_, __VA_ARGS__)
#define NUMBER(group_, key_, member_, ...) KEY(group_, key_, BASE_NUMBER, member_, .max = INFINITY, __VA_ARGS__)
#define COUNT(group_, key_, member_)       KEY(group_, key_, BASE_COUNT, member_, .min = 1, .max = 4096)
#define BYTES(group_, key_, member_)       KEY(group_, key_, BASE_BYTES, member_, .min = 1, .max = MOST_BYTES)
#define MOST_BYTES                         1099511627776 /* 1 TiB: times channels and slots within 64 bits */
#define TIMES(group_, member_)                                                                                         \
  TIME(group_, "ll", member_[COLL_LL]), TIME(group_, "ll128", member_[COLL_LL128]),                                    \
      TIME(group_, "simple", member_[COLL_SIMPLE]), SOURCE(group_)
#define SIMPLE_TIME(group_, member_) TIME(group_, "simple", member_[COLL_SIMPLE]), SOURCE(group_)
#define MEASURED(name_, hop_, ...)                                                                                     \
  TIME("measured." name_, "ll_base", measured[hop_].base[COLL_LL], __VA_ARGS__),                                       \
      TIME("measured." name_, "ll_hop", measured[hop_].hop[COLL_LL], __VA_ARGS__),                                     \
      TIME("measured." name_, "ll128_base", measured[hop_].base[COLL_LL128], __VA_ARGS__),                             \
      TIME("measured." name_, "ll128_hop", measured[hop_].hop[COLL_LL128], __VA_ARGS__),                               \
      TIME("measured." name_, "simple_base", measured[hop_].base[COLL_SIMPLE], __VA_ARGS__),                           \
      TIME("measured." name_, "simple_hop", measured[hop_].hop[COLL_SIMPLE], __VA_ARGS__), SOURCE("measured." name_)
#define PEERS(name_, hop_, ...)                                                                                        \
  TIME("p2p." name_, "ll_base", p2p[hop_].base[COLL_LL], __VA_ARGS__),                                                 \
      TIME("p2p." name_, "simple_base", p2p[hop_].base[COLL_SIMPLE], __VA_ARGS__),                                     \
      TIME("p2p." name_, "peer", p2p[hop_].peer, __VA_ARGS__), SOURCE("p2p." name_)
#define BY_ROW(MACRO, group_, key_, member_)                                                                           \
  MACRO(group_, key_ "_volta", member_, OF(VOLTA)), MACRO(group_, key_ "_ampere", member_, OF(AMPERE)),                \
      MACRO(group_, key_ "_hopper", member_, OF(HOPPER)), MACRO(group_, key_ "_blackwell", member_, OF(BLACKWELL))
#define BY_NVLS(MACRO, group_, key_, member_)                                                                          \
  MACRO(group_, key_ "_hopper", member_, OF(HOPPER)), MACRO(group_, key_ "_blackwell", member_, OF(BLACKWELL))
#define TREE_RATES(key_, member_)                                                                                      \
  BY_ROW(RATE, "tree", key_ "_one_node", member_[COLL_ONE_NODE]),                                                      \
      BY_ROW(RATE, "tree", key_ "_two_nodes", member_[COLL_TWO_NODES]),                                                \
      BY_ROW(RATE, "tree", key_ "_more_nodes", member_[COLL_MORE_NODES])
/* Documentation that every section must carry. */
#define SOURCE(group_)                                                                                                 \
  BASE_ROW_UNKEPT(group_, "source", BASE_TEXT, .required = TRUE),                                                      \
      BASE_ROW_UNKEPT(group_, "trust", BASE_NAME, .required = TRUE, .names = hw_trust_names)
#define CORRECTION(key_) BASE_ROW_UNKEPT("tree", key_, BASE_TEXT, .required = TRUE)

#define VOLTA     (1u << COLL_VOLTA)
#define AMPERE    (1u << COLL_AMPERE)
#define HOPPER    (1u << COLL_HOPPER)
#define BLACKWELL (1u << COLL_BLACKWELL)

static const char *const nvls_models[] = {"efficiency", "least", NULL};

static const BaseField keys[] = {
    BASE_ROW_UNKEPT("table", "based_on", BASE_TEXT),
    TIMES("ring.base", base[COLL_RING]),
    TIMES("ring.nvlink", hop[COLL_RING][COLL_HOP_NVLINK]),
    TIMES("ring.pci", hop[COLL_RING][COLL_HOP_PCI]),
    TIMES("ring.net", hop[COLL_RING][COLL_HOP_NET]),
    MEASURED("volta", COLL_HOP_NVLINK, OF(VOLTA)),
    MEASURED("ampere", COLL_HOP_NVLINK, OF(AMPERE)),
    MEASURED("hopper", COLL_HOP_NVLINK, OF(HOPPER)),
    MEASURED("blackwell", COLL_HOP_NVLINK, OF(BLACKWELL)),
    MEASURED("pci", COLL_HOP_PCI),
    TIMES("tree.base", base[COLL_TREE]),
    TIMES("tree.nvlink", hop[COLL_TREE][COLL_HOP_NVLINK]),
    TIMES("tree.pci", hop[COLL_TREE][COLL_HOP_PCI]),
    TIMES("tree.net", hop[COLL_TREE][COLL_HOP_NET]),
    TIME("ring", "overhead_intel", overhead[COLL_CPU_INTEL]),
    TIME("ring", "overhead_amd", overhead[COLL_CPU_AMD]),
    NUMBER("ring", "all_reduce_penalty", all_reduce_penalty, OF(AMPERE | HOPPER | BLACKWELL)),
    NUMBER("ring", "all_reduce_penalty_volta", all_reduce_penalty, OF(VOLTA)),
    SOURCE("ring"),
    NUMBER("bandwidth", "ll_share_reducing", ll_share_reducing),
    NUMBER("bandwidth", "ll_share", ll_share),
    COUNT("bandwidth", "ll_channels", ll_channels),
    NUMBER("bandwidth", "ll128_share_one_gpu", ll128_share_one_gpu),
    NUMBER("bandwidth", "ll128_share", ll128_share),
    BY_ROW(RATE, "bandwidth", "ll_one_node", ll_cap[COLL_ONE_NODE][COLL_CPU_INTEL]),
    RATE("bandwidth", "ll_two_nodes_intel", ll_cap[COLL_TWO_NODES][COLL_CPU_INTEL]),
    RATE("bandwidth", "ll_two_nodes_amd", ll_cap[COLL_TWO_NODES][COLL_CPU_AMD]),
    RATE("bandwidth", "ll_more_nodes_intel", ll_cap[COLL_MORE_NODES][COLL_CPU_INTEL]),
    RATE("bandwidth", "ll_more_nodes_amd", ll_cap[COLL_MORE_NODES][COLL_CPU_AMD]),
    BY_ROW(RATE, "bandwidth", "ll128_channel", ll128_channel_cap),
    SOURCE("bandwidth"),
    NUMBER("tree", "plain_share", tree.plain_share),
    NUMBER("tree", "share", tree.share),
    NUMBER("tree", "ll_share", tree.ll_share),
    NUMBER("tree", "ll128_share_one_node", tree.ll128_share_one_node),
    NUMBER("tree", "ll128_share", tree.ll128_share),
    TREE_RATES("channel", tree.channel_cap),
    TREE_RATES("ll128", tree.ll128_channel_cap),
    CORRECTION("correction_ll"),
    CORRECTION("correction_ll128"),
    CORRECTION("correction_simple"),
    SOURCE("tree"),
    COUNT("tree.cut", "simple_above_128k", tree.simple_cut[0]),
    COUNT("tree.cut", "simple_above_64k", tree.simple_cut[1]),
    COUNT("tree.cut", "simple_above_32k", tree.simple_cut[2]),
    COUNT("tree.cut", "ll128_above_128k", tree.ll128_cut[0]),
    COUNT("tree.cut", "ll128_above_32k", tree.ll128_cut[1]),
    BYTES("tree.cut", "lines_ll", tree.lines[COLL_LL]),
    BYTES("tree.cut", "lines_ll128", tree.lines[COLL_LL128]),
    SOURCE("tree.cut"),
    SIMPLE_TIME("nvls.nvlink", hop[COLL_NVLS][COLL_HOP_NVLINK]),
    SIMPLE_TIME("nvls.net", hop[COLL_NVLS][COLL_HOP_NET]),
    SIMPLE_TIME("nvls-tree.nvlink", hop[COLL_NVLS_TREE][COLL_HOP_NVLINK]),
    SIMPLE_TIME("nvls-tree.net", hop[COLL_NVLS_TREE][COLL_HOP_NET]),
    KEY("nvls", "bandwidth", BASE_NAME, nvls.model, .names = nvls_models),
    BY_NVLS(NUMBER, "nvls", "efficiency", nvls.efficiency),
    KEY("nvls", "gather_peers", BASE_FLAG, nvls.gather_peers),
    NUMBER("nvls", "gather_inter_share", nvls.gather_inter_share),
    NUMBER("nvls", "least_share", nvls.least_share),
    NUMBER("nvls", "tree_inter_two_nodes", nvls.tree_inter[COLL_TWO_NODES]),
    NUMBER("nvls", "tree_inter_more_nodes", nvls.tree_inter[COLL_MORE_NODES]),
    BY_NVLS(RATE, "nvls", "tree_two_nodes", nvls.tree_channel[COLL_TWO_NODES]),
    BY_NVLS(RATE, "nvls", "tree_more_nodes", nvls.tree_channel[COLL_MORE_NODES]),
    SOURCE("nvls"),
    NUMBER("copies", "last_receive", last_receive),
    NUMBER("copies", "p2p_share", p2p_share),
    SOURCE("copies"),
    PEERS("volta", COLL_HOP_NVLINK, OF(VOLTA)),
    PEERS("ampere", COLL_HOP_NVLINK, OF(AMPERE)),
    PEERS("hopper", COLL_HOP_NVLINK, OF(HOPPER)),
    PEERS("blackwell", COLL_HOP_NVLINK, OF(BLACKWELL)),
    PEERS("pci", COLL_HOP_PCI),
    TIME("p2p.net", "peer", p2p_net_peer),
    RATE("p2p.net", "rate", p2p_net_rate),
    COUNT("p2p.net", "channels", p2p_net_channels),
    SOURCE("p2p.net"),
    BY_NVLS(NUMBER, "nvls.achieved", "share", nvls.achieved),
    SOURCE("nvls.achieved"),
    BYTES("nvls.chunk", "chunk", nvls.chunk),
    BYTES("nvls.chunk", "tree_chunk_more_nodes", nvls.tree_chunk_more_nodes),
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
    NUMBER("collnet", "direct_share_hopper", collnet_direct_share, OF(HOPPER | BLACKWELL)),
    NUMBER("collnet", "gather_inter_share", collnet_gather_share),
    SOURCE("collnet"),
    SIMPLE_TIME("pat.base", base[COLL_PAT]),
    SIMPLE_TIME("pat.nvlink", hop[COLL_PAT][COLL_HOP_NVLINK]),
    SIMPLE_TIME("pat.pci", hop[COLL_PAT][COLL_HOP_PCI]),
    SIMPLE_TIME("pat.net", hop[COLL_PAT][COLL_HOP_NET]),
    KEY("pat", "available", BASE_FLAG, pat_available),
    NUMBER("pat", "share", pat_share),
    NUMBER("pat", "round_share", pat_round_share),
    TIME("symmetric", "base_hopper", symmetric_base, OF(VOLTA | AMPERE | HOPPER)),
    TIME("symmetric", "base_blackwell", symmetric_base, OF(BLACKWELL)),
    KEY("symmetric", "available", BASE_FLAG, symmetric_available),
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
    BYTES("threads", "least_traffic", threads.least_traffic),
    COUNT("threads", "ll_traffic", threads.ll_traffic),
    SOURCE("threads"),
    COUNT("steps", "slots", slots),
    BYTES("steps", "slot_ll", slot_bytes[COLL_LL]),
    BYTES("steps", "slot_ll128", slot_bytes[COLL_LL128]),
    BYTES("steps", "slot_simple", slot_bytes[COLL_SIMPLE]),
    COUNT("steps", "ring_chunk_ll", ring_chunk[COLL_LL]),
    COUNT("steps", "ring_chunk_ll128", ring_chunk[COLL_LL128]),
    COUNT("steps", "ring_chunk_simple", ring_chunk[COLL_SIMPLE]),
    COUNT("steps", "slices_simple", slices),
    BYTES("steps", "p2p_chunk_nvlink", p2p_chunk_nvlink),
    BYTES("steps", "p2p_chunk", p2p_chunk),
    BYTES("steps", "p2p_ll", p2p_ll),
    BYTES("steps", "align", align),
    SOURCE("steps"),
    BYTES("buffers", "receive", receive_bytes),
    BYTES("buffers", "send", send_bytes),
    BYTES("buffers", "page", page_bytes),
    KEY("buffers", "connects_at_start", BASE_FLAG, connects_at_start),
    SOURCE("buffers"),
};
const ConfSchema coll_tuning_schema = {keys, G_N_ELEMENTS(keys)};
