/* SPDX-License-Identifier: MIT */
/* Where a communicator's members sit, and by which NIC each of its rings leaves a node: private to this floor.
 *
 *   node v: member e ─► NIC rails[r] of ring r      e = exits[r]: a ring's way through the node ends at it, a tree's
 *                                                   chain of the node begins at it
 *
 * Shared by a group and its copies (g_rc_box). */
#pragma once

#include "hw-cluster.h"

typedef struct CollLayout {
  const HwCluster *cluster; /* borrowed: must outlive the group */
  guint32 *ranks;           /* on the cluster, by member */
  guint32 per_node, nodes;
  guint32 *nics; /* nearest to any member; one node: NULL */
  guint32 n_nics;
  guint32 *exits, *rails; /* by ring: the member that it leaves a node from, and the NIC; one node: NULL */
  guint32 n_rings;
} CollLayout;

/* NULL and SIM_ERROR_INPUT where nodes do not hold equally many. */
CollLayout *coll_layout_new(const HwCluster *cluster, const guint32 *ranks, guint32 n, GError **error);
void coll_layout_unref(CollLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CollLayout, coll_layout_unref)

/* Links from one member to another on a ring's NIC: inside a node two, between nodes two to four. Returns how many. */
#define COLL_MOST_LINKS 4
guint32 coll_layout_links(const CollLayout *layout, guint32 ring, guint32 from, guint32 to,
                          guint32 ret_links[COLL_MOST_LINKS]);
