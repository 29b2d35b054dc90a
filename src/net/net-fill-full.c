/* SPDX-License-Identifier: MIT */
/* The full solver: progressive filling as the textbook has it (Bertsekas and Gallager, Data Networks, 6.5.2),
 * everything anew at each settle.
 *
 *   raise one level for all flows; at the lowest level at which a link fills or a flow meets its cap,
 *   freeze the flows of all such links and all such flows; repeat until every flow is frozen. */
#include "net-internal.h"

typedef struct {
  double load, last;
  guint64 free, group;
  gboolean full;
} Filling;

static GPtrArray *entries_in_use(NetSystem *net) {
  GPtrArray *entries = g_ptr_array_sized_new(net->n_entries);
  for (guint32 i = 0; i < net->n_entries; i++)
    if (net->entries[i].flow != NULL)
      g_ptr_array_add(entries, &net->entries[i]);
  return entries;
}

static double share_of(const NetSystem *net, const Filling *fillings, guint32 link) {
  const Filling *filling = &fillings[link];
  return filling->free > 0 ? net_share(net->links[link].capacity, filling->load, filling->free, filling->last)
                           : INFINITY;
}

static double next_level(const NetSystem *net, const Filling *fillings, const GPtrArray *entries) {
  double level = INFINITY;
  for (guint32 l = 0; l < net->n_links; l++)
    level = fmin(level, share_of(net, fillings, l));
  for (guint i = 0; i < entries->len; i++)
    level = fmin(level, ((const NetEntry *)entries->pdata[i])->cap_level);
  return level;
}

static gboolean stops(NetEntry *entry, double level, const Filling *fillings) {
  gboolean stopped = entry->cap_level <= level;
  for (guint32 h = 0; h < entry->n; h++)
    stopped |= fillings[net_entry_stands(entry)[h].link].full;
  return stopped;
}

static void freeze(NetEntry *entry, double level, Filling *fillings) {
  for (guint32 h = 0; h < entry->n; h++) {
    const NetStand *stand = &net_entry_stands(entry)[h];
    fillings[stand->link].free -= stand->weight;
    fillings[stand->link].group += stand->weight;
  }
  net_entry_settle(entry, level);
}

static void add_free(Filling *fillings, NetEntry *entry) {
  for (guint32 h = 0; h < entry->n; h++)
    fillings[net_entry_stands(entry)[h].link].free += net_entry_stands(entry)[h].weight;
}

static void close_level(NetSystem *net, Filling *fillings, double level) {
  for (guint32 l = 0; l < net->n_links; l++) {
    if (fillings[l].group == 0)
      continue;
    fillings[l].load += level * (double)fillings[l].group;
    fillings[l].last = level;
    fillings[l].group = 0;
  }
}

void net_fill_full(NetSystem *net) {
  g_autofree Filling *fillings = g_new0(Filling, net->n_links);
  g_autoptr(GPtrArray) entries = entries_in_use(net);
  for (guint i = 0; i < entries->len; i++)
    add_free(fillings, entries->pdata[i]);
  while (entries->len > 0) {
    double level = next_level(net, fillings, entries);
    for (guint32 l = 0; l < net->n_links; l++)
      fillings[l].full = share_of(net, fillings, l) == level;
    for (guint i = 0; i < entries->len;) {
      if (stops(entries->pdata[i], level, fillings))
        freeze(g_ptr_array_remove_index_fast(entries, i), level, fillings);
      else
        i++;
    }
    close_level(net, fillings, level);
  }
}
