/* SPDX-License-Identifier: MIT */
/* The keys of a topology file and of [cluster], with ranges, defaults and help. */
#include "hw-schema.h"

#include "conf-schema.h"
#include "hw-cluster.h"

const char *const hw_cpu_names[] = {
    "intel-skylake", "intel-cascade-lake", "intel-icelake", "intel-spr", "intel-emr",
    "amd-rome",      "amd-milan",          "amd-genoa",     "amd-turin", "intel-broadwell",
    "amd-naples",    "arm-grace",          "arm",           "power9",    NULL};

gboolean hw_cpu_is_amd(int cpu) {
  return g_str_has_prefix(hw_cpu_names[cpu], "amd-");
}

static const char *const fabric_names[] = {"single-switch", "fat-tree", "rail-optimised", NULL};

#define TOPOLOGY(group, key, kind, member, ...) BASE_ROW(group, key, kind, HwTopology, member, __VA_ARGS__)
#define CLUSTER(key, kind, member, ...)         BASE_ROW("cluster", key, kind, HwClusterKeys, member, __VA_ARGS__)
#define WHAT_IF(key_, least, help_)                                                                                    \
  BASE_ROW("what_if", #key_, BASE_NUMBER, HwClusterKeys, what_if.key_, .min = least, .max = 1e6, .help = help_)

/* What nothing of a cluster depends on: read where it is asked for. */
#define STATED(group, key, kind, ...) BASE_ROW_UNKEPT(group, key, kind, __VA_ARGS__)

static const char *const quote_power_names[] = {"included", "extra", NULL};

static const BaseField topology_keys[] = {
    TOPOLOGY("node", "gpu", BASE_TEXT, gpu, .required = TRUE, .help = "a section of topologies/catalog/gpus.ini"),
    TOPOLOGY("node", "gpus", BASE_COUNT, gpus, .min = 1, .max = 576, .required = TRUE, .help = "GPUs in a node"),
    TOPOLOGY("node", "intra", BASE_TEXT, intra, .required = TRUE,
             .help = "how the GPUs of a node are joined: a section of topologies/catalog/links.ini"),
    TOPOLOGY("node", "nic", BASE_TEXT, nic,
             .help = "the NIC: a section of topologies/catalog/links.ini of scope network; needed from two nodes on"),
    TOPOLOGY("node", "nics", BASE_COUNT, nics, .min = 0, .max = 256, .initial = "0",
             .help = "NICs in a node for the GPUs' traffic"),
    TOPOLOGY("node", "nics_grouped", BASE_COUNT, nics_grouped, .min = 1, .max = 16, .initial = "1",
             .help = "so many NICs the network plugin shows to NCCL as one, of their rates together"),
    TOPOLOGY("node", "intra_achievable", BASE_BYTE_RATE, intra_achievable, .min = 1, .max = 1e15,
             .help =
                 "what a long transfer gets per GPU and direction, as measured here; instead of that of node.intra"),
    TOPOLOGY("node", "nic_achievable", BASE_BYTE_RATE, nic_achievable, .min = 1, .max = 1e15,
             .help = "what a long transfer gets per NIC and direction, as measured here; instead of that of node.nic"),
    TOPOLOGY("node", "matmul_rate", BASE_NUMBER, matmul_rate, .min = 0.001, .max = 1000,
             .help = "how fast the GPUs multiply matrices, as measured here: a factor of the catalogue's rates"),
    TOPOLOGY("node", "memory_rate", BASE_NUMBER, memory_rate, .min = 0.001, .max = 1000,
             .help = "how fast the GPUs' memory is in kernels that wait for it, as measured here: a factor of the "
                     "catalogue's bandwidth"),
    TOPOLOGY("node", "host_rate", BASE_NUMBER, host_rate, .min = 0.001, .max = 1000,
             .help = "how fast the host issues work, as measured here: its times are those of node.cpu over this"),
    TOPOLOGY("node", "cpu", BASE_NAME, cpu, .names = hw_cpu_names, .initial = "intel-spr",
             .help = "the host processor: what launching an operation costs; NCCL's network overhead is larger on AMD"),
    TOPOLOGY("node", "sockets", BASE_COUNT, sockets, .min = 1, .max = 288, .initial = "2",
             .help = "host processors in a node, each with PCI roots of its own"),
    TOPOLOGY("node", "pcie", BASE_TEXT, pcie,
             .help = "link of each GPU, NIC and switch to what is above it, where [pci] does not say: gen5x16; else by "
                     "the GPU's architecture (topologies/catalog/machine.ini)"),
    TOPOLOGY(
        "node", "gpus_per_switch", BASE_COUNT, gpus_per_switch, .min = 0, .max = 576,
        .help =
            "GPUs that share a PCI switch, where there is no [pci]; 0: all on root ports; else by the architecture"),
    TOPOLOGY("pci", "lines", BASE_LINES, pci,
             .help = "the PCI tree, a line for each switch and for each socket with devices on its root ports, every "
                     "GPU and NIC once: switch.0 = socket.0: gpu.0 gpu.1 nic.0; switch.1 = switch.0@gen4x16: gpu.2@x8; "
                     "socket.1 = gpu.3. A link (gen4x16, x8, 24GB/s) follows @: of the switch upward, of the device"),
    TOPOLOGY("nvlink", "lines", BASE_LINES, nvlink,
             .help = "NVLinks: gpu.0 = gpu.1*2 gpu.2 (links of a pair, on either side), gpu.0 = switch*12 (into the "
                     "NVSwitch), gpu.0 = c2c@360GB/s (to its socket); without it as node.intra says, a mesh evenly"),
    TOPOLOGY("nics", "lines", BASE_LINES, nic_lines,
             .help = "NICs that differ from node.nic: nic.0 = rate:200Gb/s latency:5us card:0 port:1 gdr:no; those "
                     "with one card and port share its rate"),
    TOPOLOGY("fabric", "kind", BASE_NAME, fabric, .names = fabric_names, .initial = "single-switch",
             .help = "single-switch: no contention beyond the NICs; fat-tree: a leaf per group of nodes; "
                     "rail-optimised: a leaf per NIC number and group of nodes"),
    TOPOLOGY("fabric", "nodes_per_leaf", BASE_COUNT, nodes_per_leaf, .min = 1, .max = 65536, .initial = "32",
             .help = "nodes in a group that shares its leaves"),
    TOPOLOGY("fabric", "oversubscription", BASE_NUMBER, oversubscription, .min = 1, .max = 1000, .initial = "1",
             .help = "bandwidth into a leaf over bandwidth from it to the spine"),
    TOPOLOGY("environment", "platform", BASE_TEXT, platform, .required = TRUE,
             .help = "how collectives are launched and sent: a section of topologies/catalog/platforms.ini"),
    TOPOLOGY("environment", "launch_floor", BASE_TIME, launch_floor, .min = 0, .max = 1,
             .help = "the least that a collective takes, as measured here; instead of the platform's"),
    TOPOLOGY(
        "environment", "hop_latency", BASE_TIME, hop_latency, .min = 0, .max = 1,
        .help =
            "what a network hop takes beyond NCCL's own latency of one, as measured here; instead of the platform's"),
    TOPOLOGY("environment", "overlay", BASE_PATH, overlay,
             .help =
                 "a file of figures measured here (foretrain import nccl-tests writes it), laid over this topology"),
    TOPOLOGY("host", "link", BASE_TEXT, host_link,
             .help = "each GPU's way to host memory, which offload needs: a section of topologies/catalog/links.ini of "
                     "scope host"),
    TOPOLOGY("host", "dram_bandwidth", BASE_BYTE_RATE, dram_bandwidth, .min = 1, .max = 1e15,
             .help = "host memory bandwidth of a node, which its GPUs' optimizers share where they are offloaded"),
    TOPOLOGY("host", "dram", BASE_BYTES, dram, .min = 1, .max = 1e15,
             .help = "host memory of a node; where it is given, offload that needs more runs out of it"),
    TOPOLOGY("price", "gpu_hour", BASE_MONEY, gpu_hour, .min = 0, .max = 1e6, .help = "price of a GPU for an hour"),
    TOPOLOGY("price", "node_hour", BASE_MONEY, node_hour, .min = 0, .max = 1e6,
             .help = "price of a node for an hour, instead of gpu_hour"),
    STATED("quote", "term", BASE_TIME, .min = 3600, .max = 1e9,
           .help = "for so long the GPUs are paid at least, as in 720 h; a training that ends earlier pays all of it"),
    STATED("quote", "up_front", BASE_MONEY, .min = 0, .max = 1e7,
           .help = "paid once for each GPU, before the first hour"),
    STATED("quote", "power", BASE_NAME, .names = quote_power_names,
           .help = "who pays for electricity: included in the price, or extra, at power.kwh_price (included)"),
    STATED("quote", "delivery", BASE_TEXT, .help = "the day from which the GPUs can be used, as in 2027-03-01"),
    STATED("quote", "price_spread", BASE_NUMBER, .min = 0, .max = 0.9,
           .help = "how far the prices may still move either way, as a share of them (0: the quote is firm)"),
    STATED("power", "node_overhead", BASE_POWER, .min = 0, .max = 1e6,
           .help = "what a node draws beside its GPUs' boards: CPUs, memory, NICs, fans (a published one)"),
    STATED("power", "pue", BASE_NUMBER, .min = 1, .max = 5,
           .help = "what the building draws for each watt of its nodes (a published average)"),
    STATED("power", "kwh_price", BASE_MONEY, .min = 0, .max = 10, .help = "price of a kilowatt-hour"),
    STATED("power", "waiting_share", BASE_NUMBER, .min = 0.01, .max = 1,
           .help = "what a GPU draws that computes nothing, as a share of its chip's own limit (a published one)"),
    STATED("power", "streaming_share", BASE_NUMBER, .min = 0.01, .max = 1,
           .help = "the same of kernels that wait for memory (a published one)"),
};

static const BaseField cluster_keys[] = {
    CLUSTER("topology", BASE_TEXT, topology, .required = TRUE,
            .help = "the machine: a file, or the name of one in topologies/"),
    CLUSTER("nodes", BASE_COUNT, nodes, .min = 1, .max = 65536, .initial = "1", .help = "nodes of the job"),
    CLUSTER("gpus_per_node", BASE_COUNT, gpus_per_node, .min = 1, .max = 576,
            .help = "GPUs used in each node, instead of the topology's node.gpus"),
    CLUSTER("gpu", BASE_TEXT, gpu, .help = "instead of the topology's node.gpu"),
    CLUSTER("nics_per_node", BASE_COUNT, nics_per_node, .min = 0, .max = 256,
            .help = "instead of the topology's node.nics"),
    CLUSTER("nic_bandwidth", BASE_BYTE_RATE, nic_bandwidth, .min = 1, .max = 1e15,
            .help = "line rate of each NIC and direction, instead of the raw rate of the topology's node.nic; "
                    "the achievable share stays"),
    CLUSTER("network_share", BASE_NUMBER, network_share, .min = 0.01, .max = 1, .initial = "1",
            .help =
                "60%: of what a NIC achieves, a job over many nodes gets so much here, as measured; for a network that "
                "is shared or set up unevenly. What NCCL chooses stays as it is"),
    CLUSTER("overlay", BASE_PATH, overlay, .help = "instead of the topology's environment.overlay"),
    CLUSTER("power_cap", BASE_POWER, power_cap, .min = 1, .max = 1e4,
            .help =
                "limit of each GPU's board, as nvidia-smi -pl sets it, instead of its own: matmuls run at the clock "
                "that it leaves"),
    CLUSTER("slow_gpus", BASE_TEXT, slow_gpus, .initial = "none",
            .help =
                "GPUs that run slower, by rank: 17: 0.8, 23: 0.9 (their kernels take 1 / 0.8 and 1 / 0.9 of the time)"),
    CLUSTER("slow_links", BASE_TEXT, slow_links, .initial = "none",
            .help =
                "degraded links, class.node.index: nic.3.1: 0.5 for a NIC, gpu.3.1: 0.5 for a GPU's way into NVLink or "
                "PCIe; the share of their capacity that is left, both ways"),
    CLUSTER("gpu_spread", BASE_NUMBER, gpu_spread, .min = 0, .max = 1,
            .help =
                "how far the slowest GPU of a node of eight is behind the fastest, as a share of a kernel's time: all "
                "wait for "
                "the expected slowest of the job; 0: all alike; else topologies/catalog/variation.ini"),
    BASE_ROW_UNKEPT("cluster", "jobs", BASE_LATER, .help = "sharing a cluster among several jobs"),
    WHAT_IF(matmul_rate, 0.001, "1.1: every matmul of the GPU runs at 1.1 times its rate"),
    WHAT_IF(memory_bandwidth, 0.001, "the same of the bandwidth of the GPU's memory"),
    WHAT_IF(memory_size, 0.001, "of the size of the GPU's memory"),
    WHAT_IF(node_bandwidth, 0.001, "of what each GPU gets to and from the others of its node"),
    WHAT_IF(network_bandwidth, 0.001, "of what each NIC gets; what NCCL chooses stays as it is"),
    WHAT_IF(network_latency, 0, "of the latency of a hop between nodes"),
    WHAT_IF(leaf_oversubscription, 0.001, "of the oversubscription of leaves, which stays at least 1"),
};

const ConfSchema hw_topology_schema = {topology_keys, G_N_ELEMENTS(topology_keys)};
const ConfSchema hw_cluster_schema = {cluster_keys, G_N_ELEMENTS(cluster_keys)};
