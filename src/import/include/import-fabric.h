/* SPDX-License-Identifier: MIT */
/* Which nodes hang on which switches, as other tools list it, and the [fabric] of a topology that it makes.
 *
 *   g_autoptr(ImportFabric) fabric = import_ibnetdiscover_load("ib.txt", error);      // or one of the two below
 *   GString *text = import_fabric_text(fabric, "dgx-h100", error);    // that topology with [fabric] of the file
 *
 * A leaf is a switch with nodes on it. All links of a node on one leaf: a fat tree; each on a leaf of its own: rails.
 * Oversubscription is bandwidth into a leaf from its nodes over that to other switches, of the tightest leaf. */
#pragma once

#include "base-error.h"

typedef struct {
  guint peer;  /* place of a node or switch */
  double gbps; /* 0: not said */
} ImportFabricLink;

typedef struct {
  char *name;
  gboolean leaf; /* of a switch: has nodes */
  gboolean is_switch;
  guint links_up; /* of a node: links to leaves; leaves: how many of them are distinct */
  guint leaves;
  guint last_leaf, seen; /* of whom it was counted last, as links are read and as leaves are measured */
  guint level;           /* of a switch: 0 a leaf, 1 above leaves, …; G_MAXUINT: not reached */
  GArray *links;         /* of a switch: ImportFabricLink, each as this switch sees it */
} ImportFabricPart;

typedef struct {
  char *file, *what;
  GPtrArray *parts;   /* ImportFabricPart */
  GHashTable *places; /* "s NAME" or "n NAME" → place plus one; looked up, never walked */
  GPtrArray *said;    /* char *: what the reader has to tell */
  gboolean rates;     /* links have rates */
} ImportFabric;

ImportFabric *import_fabric_new(const char *file, const char *what);
void import_fabric_free(ImportFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportFabric, import_fabric_free)

/* The place of a switch, or a node, of that name: added where it is new. */
guint import_fabric_switch(ImportFabric *fabric, const char *name);
guint import_fabric_node(ImportFabric *fabric, const char *name);
/* As seen from the switch: each of its links once. */
void import_fabric_link(ImportFabric *fabric, guint from_switch, guint peer, double gbps);
static inline ImportFabricPart *import_fabric_part(const ImportFabric *fabric, guint place) {
  return (ImportFabricPart *)g_ptr_array_index(fabric->parts, place);
}
void import_fabric_say(ImportFabric *fabric, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Begins the line after which the topology's own lines follow. */
#define IMPORT_FABRIC_REST "# From here on: "

/* The named topology (a file, a shipped name, an instance) with the fabric laid over it, and in comments how it was
 * found. Errors (SIM_ERROR_INPUT): no such topology, a file without nodes, leaves that nothing joins. */
GString *import_fabric_text(ImportFabric *fabric, const char *topology, GError **error);

/* "ibnetdiscover >ib.txt": its sections of switches; what else stands in it is passed. Each of the three refuses
 * (SIM_ERROR_INPUT) a file without switches. */
ImportFabric *import_ibnetdiscover_load(const char *path, GError **error);
/* "iblinkinfo >links.txt": its sections of switches; ports that are down are left out. */
ImportFabric *import_iblinkinfo_load(const char *path, GError **error);
/* Slurm's topology.conf of topology/tree: SwitchName with Nodes or Switches. It states no rates. Refused too, at the
 * line: blocks, other keys, lists of names that are none. */
ImportFabric *import_slurm_load(const char *path, GError **error);
