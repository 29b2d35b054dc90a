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

#define TOPOLOGY(in_group, in_key, in_kind, field)                                                                     \
  .group = in_group, .key = in_key, .kind = in_kind, .offset = G_STRUCT_OFFSET(HwTopology, field)
#define CLUSTER(in_key, in_kind, field)                                                                                \
  .group = "cluster", .key = in_key, .kind = in_kind, .offset = G_STRUCT_OFFSET(HwClusterKeys, field)
#define LATER(in_key) .group = "cluster", .key = in_key, .kind = CONF_LATER

static const ConfKey topology_keys[] = {
    {TOPOLOGY("node", "gpu", CONF_STRING, gpu), .required = TRUE, .help = "a section of topologies/catalog/gpus.ini"},
    {TOPOLOGY("node", "gpus", CONF_COUNT, gpus), .min = 1, .max = 576, .required = TRUE, .help = "GPUs in a node"},
    {TOPOLOGY("node", "intra", CONF_STRING, intra), .required = TRUE,
     .help = "how the GPUs of a node are joined: a section of topologies/catalog/links.ini"},
    {TOPOLOGY("node", "nic", CONF_STRING, nic),
     .help = "the NIC: a section of topologies/catalog/links.ini of scope network; needed from two nodes on"},
    {TOPOLOGY("node", "nics", CONF_COUNT, nics), .min = 0, .max = 256, .initial = "0",
     .help = "NICs in a node for the GPUs' traffic"},
    {TOPOLOGY("node", "nics_grouped", CONF_COUNT, nics_grouped), .min = 1, .max = 16, .initial = "1",
     .help = "so many NICs the network plugin shows to NCCL as one, of their rates together"},
    {TOPOLOGY("node", "intra_achievable", CONF_BYTE_RATE, intra_achievable), .min = 1, .max = 1e15,
     .help = "what a long transfer gets per GPU and direction, as measured here; instead of that of node.intra"},
    {TOPOLOGY("node", "nic_achievable", CONF_BYTE_RATE, nic_achievable), .min = 1, .max = 1e15,
     .help = "what a long transfer gets per NIC and direction, as measured here; instead of that of node.nic"},
    {TOPOLOGY("node", "cpu", CONF_NAME, cpu), .names = hw_cpu_names, .initial = "intel-spr",
     .help = "the host processor: what launching an operation costs; NCCL's network overhead is larger on AMD"},
    {TOPOLOGY("node", "sockets", CONF_COUNT, sockets), .min = 1, .max = 288, .initial = "2",
     .help = "host processors in a node, each with PCI roots of its own"},
    {TOPOLOGY("node", "pcie", CONF_STRING, pcie),
     .help =
         "link of each GPU, NIC and switch to what is above it, where [pci] does not say: gen5x16; else by the GPU's "
         "architecture (topologies/catalog/machine.ini)"},
    {TOPOLOGY("node", "gpus_per_switch", CONF_COUNT, gpus_per_switch), .min = 0, .max = 576,
     .help = "GPUs that share a PCI switch, where there is no [pci]; 0: all on root ports; else by the architecture"},
    {TOPOLOGY("pci", "lines", CONF_LINES, pci),
     .help =
         "the PCI tree, a line for each switch and for each socket with devices on its root ports, every GPU and NIC "
         "once: switch.0 = socket.0: gpu.0 gpu.1 nic.0; switch.1 = switch.0@gen4x16: gpu.2@x8; socket.1 = gpu.3. A "
         "link "
         "(gen4x16, x8, 24GB/s) follows @: of the switch upward, of the device"},
    {TOPOLOGY("nvlink", "lines", CONF_LINES, nvlink),
     .help = "NVLinks: gpu.0 = gpu.1*2 gpu.2 (links of a pair, on either side), gpu.0 = switch*12 (into the NVSwitch), "
             "gpu.0 = c2c@360GB/s (to its socket); without it as node.intra says, a mesh evenly"},
    {TOPOLOGY("nics", "lines", CONF_LINES, nic_lines), .help =
                                                           "NICs that differ from node.nic: nic.0 = rate:200Gb/s "
                                                           "latency:5us card:0 port:1 gdr:no; those with one card and "
                                                           "port share its rate"},
    {TOPOLOGY("fabric", "kind", CONF_NAME, fabric), .names = fabric_names, .initial = "single-switch",
     .help = "single-switch: no contention beyond the NICs; fat-tree: a leaf per group of nodes; "
             "rail-optimised: a leaf per NIC number and group of nodes"},
    {TOPOLOGY("fabric", "nodes_per_leaf", CONF_COUNT, nodes_per_leaf), .min = 1, .max = 65536, .initial = "32",
     .help = "nodes in a group that shares its leaves"},
    {TOPOLOGY("fabric", "oversubscription", CONF_NUMBER, oversubscription), .min = 1, .max = 1000, .initial = "1",
     .help = "bandwidth into a leaf over bandwidth from it to the spine"},
    {TOPOLOGY("environment", "platform", CONF_STRING, platform), .required = TRUE,
     .help = "how collectives are launched and sent: a section of topologies/catalog/platforms.ini"},
    {TOPOLOGY("environment", "launch_floor", CONF_TIME, launch_floor), .min = 0, .max = 1,
     .help = "the least that a collective takes, as measured here; instead of the platform's"},
    {TOPOLOGY("environment", "hop_latency", CONF_TIME, hop_latency), .min = 0, .max = 1,
     .help = "what a network hop takes beyond NCCL's own latency of one, as measured here; instead of the platform's"},
    {TOPOLOGY("environment", "overlay", CONF_PATH, overlay),
     .help = "a file of figures measured here (foretrain import nccl-tests writes it), laid over this topology"},
    {TOPOLOGY("host", "link", CONF_STRING, host_link),
     .help =
         "each GPU's way to host memory, which offload needs: a section of topologies/catalog/links.ini of scope host"},
    {TOPOLOGY("host", "dram_bandwidth", CONF_BYTE_RATE, dram_bandwidth), .min = 1, .max = 1e15,
     .help = "host memory bandwidth of a node, which its GPUs' optimizers share where they are offloaded"},
    {TOPOLOGY("price", "gpu_hour", CONF_MONEY, gpu_hour), .min = 0, .max = 1e6, .help = "price of a GPU for an hour"},
    {TOPOLOGY("price", "node_hour", CONF_MONEY, node_hour), .min = 0, .max = 1e6,
     .help = "price of a node for an hour, instead of gpu_hour"},
};

static const ConfKey cluster_keys[] = {
    {CLUSTER("topology", CONF_STRING, topology), .required = TRUE,
     .help = "the machine: a file, or the name of one in topologies/"},
    {CLUSTER("nodes", CONF_COUNT, nodes), .min = 1, .max = 65536, .initial = "1", .help = "nodes of the job"},
    {CLUSTER("gpus_per_node", CONF_COUNT, gpus_per_node), .min = 1, .max = 576,
     .help = "GPUs used in each node, instead of the topology's node.gpus"},
    {CLUSTER("gpu", CONF_STRING, gpu), .help = "instead of the topology's node.gpu"},
    {CLUSTER("nics_per_node", CONF_COUNT, nics_per_node), .min = 0, .max = 256,
     .help = "instead of the topology's node.nics"},
    {CLUSTER("nic_bandwidth", CONF_BYTE_RATE, nic_bandwidth), .min = 1, .max = 1e15,
     .help = "line rate of each NIC and direction, instead of the raw rate of the topology's node.nic; "
             "the achievable share stays"},
    {CLUSTER("overlay", CONF_PATH, overlay), .help = "instead of the topology's environment.overlay"},
    {CLUSTER("slow_gpus", CONF_STRING, slow_gpus), .initial = "none",
     .help = "GPUs that run slower, by rank: 17: 0.8, 23: 0.9 (their kernels take 1 / 0.8 and 1 / 0.9 of the time)"},
    {CLUSTER("slow_links", CONF_STRING, slow_links), .initial = "none",
     .help = "degraded links, class.node.index: nic.3.1: 0.5 for a NIC, gpu.3.1: 0.5 for a GPU's way into NVLink or "
             "PCIe; the share of their capacity that is left, both ways"},
    {LATER("gpu_spread"), .help = "a spread of speed between the GPUs of a node"},
};

const ConfSchema hw_topology_schema = {topology_keys, G_N_ELEMENTS(topology_keys)};
const ConfSchema hw_cluster_schema = {cluster_keys, G_N_ELEMENTS(cluster_keys)};
