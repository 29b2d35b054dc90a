/* SPDX-License-Identifier: MIT */
/* In which order NICs are tried: those that GPUs prefer, GPU by GPU; then others by the type of the path to them. */
#include "coll-search.h"

static void add(guint32 *nets, guint32 *n, guint32 net) {
  for (guint32 i = 0; i < *n; i++)
    if (nets[i] == net)
      return;
  nets[(*n)++] = net;
}

/* For the GPUs from `first` to `end`. */
static void order(const CollSystem *system, guint32 first, guint32 end, guint32 *nets, guint32 *up_to) {
  guint32 n = 0;
  for (guint32 gpu = first; gpu < end; gpu++)
    for (guint32 i = 0; i < system->n_near_nets[gpu]; i++)
      add(nets, &n, system->near_nets[gpu][i]);
  for (guint type = 0; type < COLL_PATH_TYPES; type++) {
    for (guint32 gpu = first; gpu < end && type < COLL_PATH_DIS; gpu++)
      for (guint32 net = 0; net < system->n_nets; net++)
        if (coll_system_path(system, gpu, coll_system_net(system, net))->type == type)
          add(nets, &n, net);
    up_to[type] = n;
  }
}

void coll_search_order_nets(CollSearch *search) {
  const CollSystem *system = search->system;
  search->nets = g_new0(guint32 *, system->n_gpus + 1);
  search->nets_up_to = g_new0(guint32 *, system->n_gpus + 1);
  for (guint32 gpu = 0; gpu <= system->n_gpus; gpu++) {
    search->nets[gpu] = g_new(guint32, system->n_nets);
    search->nets_up_to[gpu] = g_new0(guint32, COLL_PATH_TYPES);
    gboolean all = gpu == system->n_gpus;
    order(system, all ? 0 : gpu, all ? system->n_gpus : gpu + 1, search->nets[gpu], search->nets_up_to[gpu]);
  }
}
