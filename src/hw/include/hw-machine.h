/* SPDX-License-Identifier: MIT */
/* One machine (a node): what is plugged into what. Sockets, PCI switches, GPUs and NICs in trees under the sockets, and
 * NVLinks across.
 *
 *   const HwMachine *machine = cluster->machine;
 *   const HwPart *gpu = hw_machine_gpu(machine, 3);
 *   gpu->parent                        // part above it: a switch or a socket
 *   hw_machine_nvlinks(machine, 3, 5)  // NVLinks between two GPUs, without the NVSwitch
 *
 *      socket.0 ═══════ socket.1        From the topology file: [node] alone gives the default tree of such machines
 *        │                 │            (topologies/catalog/machine.ini: so many GPUs to a switch, NICs and switches
 *     switch.0          switch.1        evenly over the sockets); [pci], [nvlink] and [nics] lines say otherwise:
 *     │   │   │         │   │   │
 *   gpu.0 │ nic.0     gpu.2 │ nic.1     [pci]
 *       gpu.1             gpu.3         switch.0 = socket.0@gen4x16: gpu.0 gpu.1 nic.0@gen4x8
 *                                       socket.1 = gpu.2 gpu.3 nic.1      (straight on root ports)
 *                                       [nvlink]
 *                                       gpu.0 = gpu.1*4 gpu.2    (links of a pair, once or alike both ways)
 *                                       gpu.3 = switch*12 c2c@360GB/s
 *                                       [nics]
 *                                       nic.0 = rate:200Gb/s latency:5us card:0 port:1 gdr:no
 *
 * Links are stated by generation and width; what software makes of them (NCCL counts 24 GB/s for gen4 x16) is not said
 * here. Rates in bytes/s per direction. Errors of the lines: SIM_ERROR_INPUT at the line. Cost: O(parts + GPUs²). */
#pragma once

#include "hw-catalog.h"

typedef enum { HW_PART_SOCKET, HW_PART_SWITCH, HW_PART_GPU, HW_PART_NIC } HwPartKind;
extern const char *const hw_part_names[]; /* "socket", "switch", "gpu", "nic" */

#define HW_NO_PARENT G_MAXUINT32

typedef struct {
  guint32 generation, width; /* PCI Express */
  double rate;               /* 0: as generation and width give; else what the line said */
} HwPciLink;

typedef struct {
  HwPartKind kind;
  guint32 index;  /* 3 of gpu.3 */
  guint32 parent; /* index into `parts`; HW_NO_PARENT: a socket */
  HwPciLink link; /* to the parent */
} HwPart;

typedef struct {
  double rate;     /* on the wire */
  SimTime latency; /* the network plugin's attribute */
  guint32 card;    /* ports with one card and port number share its rate */
  guint32 port;
  gboolean gdr; /* reaches GPU memory itself */
} HwMachineNic;

typedef enum { HW_CPU_INTEL, HW_CPU_AMD, HW_CPU_ARM, HW_CPU_POWER } HwCpuVendor;

typedef struct HwMachine {
  guint32 sockets, switches, gpus, nics;
  HwPart *parts; /* sockets, then switches, GPUs and NICs, each by index */
  guint32 n_parts;
  guint32 *nvlinks;        /* [gpus × gpus] between pairs */
  guint32 *switch_nvlinks; /* [gpus] into the NVSwitch */
  double *c2c;             /* [gpus] NVLink-C2C to the GPU's socket; 0: none */
  HwMachineNic *nic;       /* [nics] */
  guint64 compute_capability;
  HwCpuVendor cpu_vendor;
  const char *cpu; /* "intel-spr"; static */
} HwMachine;

void hw_machine_free(HwMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HwMachine, hw_machine_free)

/* Whether nothing tells two nodes apart. O(parts + GPUs²). */
gboolean hw_machine_equal(const HwMachine *a, const HwMachine *b);
/* "gpu.3": name of a part. Caller frees. */
char *hw_machine_part_name(const HwMachine *machine, guint32 part);

static inline guint32 hw_machine_switch_part(const HwMachine *machine, guint32 index) {
  return machine->sockets + index;
}
static inline guint32 hw_machine_gpu_part(const HwMachine *machine, guint32 gpu) {
  return machine->sockets + machine->switches + gpu;
}
static inline guint32 hw_machine_nic_part(const HwMachine *machine, guint32 nic) {
  return machine->sockets + machine->switches + machine->gpus + nic;
}
static inline const HwPart *hw_machine_gpu(const HwMachine *machine, guint32 gpu) {
  return &machine->parts[hw_machine_gpu_part(machine, gpu)];
}
static inline guint32 hw_machine_nvlinks(const HwMachine *machine, guint32 a, guint32 b) {
  return machine->nvlinks[a * machine->gpus + b];
}
/* The socket above a part. */
guint32 hw_machine_socket_of(const HwMachine *machine, guint32 part);
