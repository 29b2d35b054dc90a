/* SPDX-License-Identifier: MIT */
/* Communicators for tests. */
#include "group.h"

CollGroup *group_new(const HwCluster *cluster, const guint32 *ranks, guint32 n, GError **error) {
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  g_autoptr(CollLibrary) library = coll_library_new(cluster, &knobs, error);
  CollGroup *group = library != NULL ? coll_group_new(library, ranks, n, error) : NULL;
  for (CollAlgorithm algorithm = 0; group != NULL && algorithm < COLL_ALGORITHMS; algorithm++)
    coll_group_connect(group, algorithm);
  return group;
}

CollGroup *group_of_first(const HwCluster *cluster, guint32 n) {
  g_autofree guint32 *ranks = g_new(guint32, n);
  for (guint32 i = 0; i < n; i++)
    ranks[i] = i;
  g_autoptr(GError) error = NULL;
  CollGroup *group = group_new(cluster, ranks, n, &error);
  if (group == NULL)
    g_error("no group: %s", error->message);
  return group;
}
