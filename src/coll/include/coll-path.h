/* SPDX-License-Identifier: MIT */
/* A machine as NCCL sees it for one communicator: its GPUs, the switches, sockets and NICs around them, links with the
 * rates NCCL counts, and the path from every part to every GPU, NIC, socket and the NVSwitch.
 *
 *   g_autoptr(CollSystem) system = coll_system_new(machine, rules, &view);
 *   const CollPath *path = coll_system_path(system, coll_system_gpu(system, 0), coll_system_net(system, 3));
 *   path->type                     // COLL_PATH_PXB: through more than one PCI switch
 *
 *    GPU ─NVL─ NVS ─NVL─ GPU        a path's type is the worst of its steps: LOC itself, NVL NVLink, NVB NVLink through
 *     │                   │         one GPU, C2C NVLink-C2C, PIX one PCI switch, PXB more, P2C PCI and C2C, PXN NVLink
 *    PCI ── NIC ── NET   PCI        to a GPU near the NIC, PHB a host bridge, SYS between sockets, NET another node
 *      ╲___CPU ──SYS── CPU___╱
 *
 * Paths are found breadth-first towards each target, fewer steps first, more rate among them; then diverted: over the
 * sockets where a pair does not reach each other (P2P up to PXB; AMD hosts of one or two GPUs all), over a GPU near the
 * NIC (PXN), over the socket where a NIC does not reach GPU memory. Source: NCCL v2.30.7 src/graph/paths.cc, topo.cc.
 * Cost: O(targets × links); some tens of microseconds for eight GPUs. */
#pragma once

#include "coll-search-rules.h"
#include "hw-machine.h"

typedef enum {
  COLL_PATH_LOC,
  COLL_PATH_NVL,
  COLL_PATH_NVB,
  COLL_PATH_C2C,
  COLL_PATH_PIX,
  COLL_PATH_PXB,
  COLL_PATH_P2C,
  COLL_PATH_PXN,
  COLL_PATH_PHB,
  COLL_PATH_SYS,
  COLL_PATH_NET,
  COLL_PATH_DIS, /* no path */
  COLL_PATH_TYPES
} CollPathType;
extern const char *const coll_path_names[]; /* "LOC", "NVL", … */

/* Targets first: paths lead to the first four kinds. */
typedef enum {
  COLL_PART_GPU,
  COLL_PART_NVSWITCH,
  COLL_PART_SOCKET,
  COLL_PART_NET,
  COLL_PART_NIC,
  COLL_PART_SWITCH,
  COLL_PART_KINDS
} CollPartKind;

#define COLL_NO_PART G_MAXUINT32

typedef struct {
  guint32 from, to, back; /* parts; the link the other way */
  CollPathType type;      /* PIX: PCI Express */
  gint64 rate;            /* bytes/s */
  gint64 free;            /* of it, while a search spends it */
} CollLink;

typedef struct {
  guint32 first, count; /* links in `hops` */
  gint64 rate;
  CollPathType type;
} CollPath;

typedef struct {
  CollPartKind kind;
  guint32 index; /* among its kind: local GPU, NIC of the machine */
  GArray *links; /* guint32, from this part, best first, the way up last */
} CollPart;

/* Which of a machine's GPUs take part, and what is allowed. */
typedef struct {
  const guint32 *gpus; /* ascending indices on the machine */
  guint32 n_gpus;
  gboolean over_nodes; /* else NICs are left out */
  gboolean p2p;        /* GPUs reach each other's memory */
} CollView;

typedef struct {
  const HwMachine *machine; /* borrowed */
  guint32 *gpus;            /* machine's index of each local GPU */
  guint32 n_gpus, n_nets;
  guint32 starts[COLL_PART_KINDS + 1];
  CollPart *parts;
  GArray *links;        /* CollLink */
  GArray *hops;         /* guint32: links of all paths */
  CollPath *paths;      /* [targets × parts] */
  gint64 *net_free;     /* [n_nets] a NIC's rate, spent by a search */
  gint64 *pci_rate;     /* [n_gpus] both ways of a GPU's PCI link; -1: none */
  guint32 **near_nets;  /* [n_gpus] NICs that a GPU prefers, by channel */
  guint32 *n_near_nets; /* [n_gpus] */
  guint32 *near_gpu;    /* [n_nets] the GPU that prefers the NIC; COLL_NO_PART: none */
  gint64 most_rate;     /* of any path that a channel begins with */
  gint64 total_rate;    /* of the links of the best GPU */
  gboolean cpu_amd, cpu_intel;
  guint64 compute_capability;
  double intel_peer_cost, volta_reverse_share;
} CollSystem;

CollSystem *coll_system_new(const HwMachine *machine, const CollSearchRules *rules, const CollView *view);
void coll_system_free(CollSystem *system);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CollSystem, coll_system_free)

/* Of one NVLink. */
gint64 coll_system_nvlink_rate(const CollSearchRules *rules, guint64 capability);

static inline guint32 coll_system_part(const CollSystem *system, CollPartKind kind, guint32 index) {
  return system->starts[kind] + index;
}
static inline guint32 coll_system_gpu(const CollSystem *system, guint32 gpu) {
  return system->starts[COLL_PART_GPU] + gpu;
}
static inline guint32 coll_system_net(const CollSystem *system, guint32 net) {
  return system->starts[COLL_PART_NET] + net;
}
static inline gboolean coll_system_has_nvswitch(const CollSystem *system) {
  return system->starts[COLL_PART_SOCKET] > system->starts[COLL_PART_NVSWITCH];
}
static inline guint32 coll_system_n_parts(const CollSystem *system) {
  return system->starts[COLL_PART_KINDS];
}
static inline CollPath *coll_system_path(const CollSystem *system, guint32 from, guint32 to) {
  return &system->paths[(gsize)to * coll_system_n_parts(system) + from];
}
static inline CollLink *coll_system_link(const CollSystem *system, guint32 link) {
  return &g_array_index(system->links, CollLink, link);
}
/* The best parts of a kind to one part: most rate, then nearest. Indices among the kind; returns how many. `ret` has
 * room for all. */
guint32 coll_system_nearest(const CollSystem *system, guint32 part, CollPartKind kind, guint32 *ret);
/* Least and most type of the paths from GPUs to a kind, other than to themselves. */
void coll_system_types(const CollSystem *system, CollPartKind kind, CollPathType *ret_least, CollPathType *ret_most);

/* For this floor alone: coll-path.c finds the paths of what coll-system.c laid out, coll-path-detour.c diverts them. */
void coll_paths_find(CollSystem *system);
void coll_paths_divert(CollSystem *system, gboolean p2p);
