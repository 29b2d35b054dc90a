/* SPDX-License-Identifier: MIT */
/* Builds a machine from the topology's groups; for this floor alone. */
#pragma once

#include "conf-text.h"
#include "hw-machine.h"

/* What HwCluster knows of a node. */
typedef struct {
  guint32 gpus, nics, sockets;
  const HwGpu *gpu;
  const HwLink *intra;
  int cpu; /* index into hw_cpu_names */
  double nic_rate;
  SimTime nic_latency;
  gboolean nic_gdr;
  const char *pcie;                       /* NULL: by architecture */
  gint64 gpus_per_switch;                 /* < 0: by architecture */
  const char *tree, *nvlinks, *nic_lines; /* the groups' lines; NULL: none */
} HwNode;

/* A group as lines, each with its place: `key = value`. */
typedef struct {
  const char *key, *value; /* borrowed from `text` */
  BasePlace place;         /* its `key` is the group's */
} HwLine;

typedef struct {
  HwLine *lines;
  guint n;
  char *text;
} HwLines;

/* `text` (NULL: none) is the file that the lines came from, for the line at fault; `place` stands for others. */
gboolean hw_lines_split(const char *lines, const char *group, const ConfText *text, const BasePlace *place,
                        HwLines *ret, GError **error);
void hw_lines_clear(HwLines *lines);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HwLines, hw_lines_clear)

/* "gpu.3": a kind and an index below the count of such parts. `counts` by HwPartKind; G_MAXUINT32: any. */
gboolean hw_line_part(const HwLine *line, const char *word, const guint32 counts[4], HwPartKind *ret_kind,
                      guint32 *ret_index, GError **error);
/* "gen4x16", "gen4", "x8" or "24GB/s" over what *link holds. */
gboolean hw_line_link(const HwLine *line, const char *word, HwPciLink *link, GError **error);

/* The default link and switches of the GPU's architecture, under what the node says. */
typedef struct {
  HwPciLink link;
  guint32 gpus_per_switch;
  double nvlink_raw; /* 0: the architecture has none */
} HwWiringDefaults;
gboolean hw_wiring_defaults(const HwNode *node, const BasePlace *place, HwWiringDefaults *ret, GError **error);
/* Parts of the default tree. */
void hw_wiring_default_tree(HwMachine *machine, const HwWiringDefaults *defaults);
gboolean hw_wiring_tree(HwMachine *machine, const HwLines *lines, const HwWiringDefaults *defaults,
                        const BasePlace *place, GError **error);
gboolean hw_wiring_nvlinks(HwMachine *machine, const HwLines *lines, GError **error);
gboolean hw_wiring_nics(HwMachine *machine, const HwLines *lines, GError **error);

/* The whole. `places` are those of pci.lines, nvlink.lines, nics.lines and node.pcie. */
enum { HW_PLACE_PCI, HW_PLACE_NVLINK, HW_PLACE_NICS, HW_PLACE_PCIE, HW_PLACES };
HwMachine *hw_machine_new(const HwNode *node, const ConfText *text, const BasePlace places[HW_PLACES], GError **error);
