/* Shapes of channels that a communicator gets. */
#include "coll-search.h"

#include "coll-layout.h"

void coll_search(CollGroup *group) {
  const CollLayout *layout = group->layout;
  const HwCluster *cluster = layout->cluster;
  const CollTuning *tuning = &group->tuning;
  gboolean pcie = cluster->intra->scope == HW_LINK_PCIE;
  group->intra = pcie ? COLL_HOP_PCI : COLL_HOP_NVLINK;
  group->rings = (guint32)(pcie ? tuning->pcie_rings : tuning->nvswitch_rings);
  if (layout->nodes > 1)
    group->rings = layout->n_nics;
  group->channels = (guint32)MIN(group->rings * tuning->doubled, tuning->most_channels);
  group->channels = (guint32)CLAMP(group->channels, group->knobs.min_channels, group->knobs.max_channels);
  double intra = cluster->intra_bandwidth / group->rings;
  double inter = layout->nodes > 1 ? cluster->nic_bandwidth : intra;
  CollFound ring = {.channels = group->rings,
                    .intra = MIN(intra, inter),
                    .inter = inter,
                    .nvlink = !pcie,
                    .ll128 = !pcie,
                    .same = TRUE};
  group->found[COLL_FOUND_RING] = group->found[COLL_FOUND_TREE] = ring;
  group->found[COLL_FOUND_TREE].intra = MIN(intra, 2 * inter);
  group->node_rate = cluster->intra_bandwidth / group->rings;
  group->nic_rate = cluster->nic_bandwidth * layout->n_nics;
  group->p2p_cap = G_MAXDOUBLE;
  if (cluster->intra->scope == HW_LINK_NVSWITCH && cluster->gpu->compute_capability >= 90 && group->knobs.nvls_enable &&
      group->per_node > 1) {
    guint32 heads = group->per_node;
    double intra_head = cluster->intra_bandwidth / (heads + 1);
    group->found[COLL_FOUND_NVLS] = (CollFound){
        .channels = heads, .intra = intra_head, .inter = layout->nodes > 1 ? inter : 1.5 * intra_head, .nvlink = TRUE};
    group->nvls_channels = (guint32)tuning->nvls.channels[layout->nodes > 1];
  }
}
