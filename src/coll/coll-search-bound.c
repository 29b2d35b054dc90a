/* SPDX-License-Identifier: MIT */
/* What no draft of the current speeds can pass, so that a walk may end, or need not begin, as soon as nothing better
 * can come. Rings: each channel leaves and enters every GPU once, and begins at a NIC's rate. Trees: there are as many
 * as rings, or the walk is in vain.
 *
 *   channels ≤ least over GPUs of Σ over its ways out of ⌊rate of the way / speed⌋
 *   hops ≥ channels × (the nearest way on from each GPU, and the nearest pair of entry and exit)
 *
 * A bound, never a guess: the walk finds what it would have found without. */
#include "coll-search.h"

static gboolean is_allowed(const CollSearch *search, guint32 from, guint32 to) {
  const CollSystem *system = search->system;
  gboolean inside = system->parts[from].kind == COLL_PART_GPU && system->parts[to].kind == COLL_PART_GPU;
  const CollPath *path = coll_system_path(system, from, to);
  return from != to && path->count > 0 && path->type <= (inside ? search->draft.type_intra : search->draft.type_inter);
}

/* Channels that can leave a GPU for another: over the first links of its allowed paths, each link once. What goes on to
 * a GPU takes the inner speed, of a tree's second pass the higher of the two; a ring's are one. */
static guint64 channels_out(const CollSearch *search, guint32 gpu) {
  const CollSystem *system = search->system;
  gint64 speed = search->draft.intra;
  guint64 channels = 0;
  for (guint i = 0; i < system->parts[gpu].links->len; i++) {
    guint32 link = g_array_index(system->parts[gpu].links, guint32, i);
    gboolean used = FALSE;
    for (guint32 to = 0; to < system->starts[COLL_PART_NIC] && !used; to++) {
      CollPartKind kind = system->parts[to].kind;
      used = (kind == COLL_PART_GPU || kind == COLL_PART_NET) && is_allowed(search, gpu, to) &&
             g_array_index(system->hops, guint32, coll_system_path(system, gpu, to)->first) == link;
    }
    channels += used ? (guint64)(coll_system_link(system, link)->rate / speed) : 0;
  }
  return channels;
}

static gboolean begins_with_nvlink(const CollSearch *search, guint32 from, guint32 to) {
  const CollSystem *system = search->system;
  guint32 first = g_array_index(system->hops, guint32, coll_system_path(system, from, to)->first);
  return coll_system_link(system, first)->type == COLL_PATH_NVL;
}

/* Whether all ways on from GPUs begin with an NVLink. */
static gboolean all_over_nvlink(const CollSearch *search) {
  for (guint32 from = 0; from < search->system->n_gpus; from++)
    for (guint32 to = 0; to < search->system->n_gpus; to++)
      if (is_allowed(search, from, to) && !begins_with_nvlink(search, from, to))
        return FALSE;
  return TRUE;
}

/* Whether a channel that comes in by a NIC's GPU and goes out by the same NIC from another needs an NVLink for that. */
static gboolean all_leave_over_nvlink(const CollSearch *search) {
  const CollSystem *system = search->system;
  for (guint32 net = system->starts[COLL_PART_NET]; net < system->starts[COLL_PART_NET + 1]; net++)
    for (guint32 first = 0; first < system->n_gpus; first++)
      for (guint32 last = 0; last < system->n_gpus && is_allowed(search, net, first); last++)
        if (last != first && is_allowed(search, last, net) && !begins_with_nvlink(search, last, net))
          return FALSE;
  return TRUE;
}

/* Channels by the NVLinks of all GPUs together, where nothing else joins them. */
static guint64 channels_over_nvlink(const CollSearch *search, gboolean leaves_by_entry) {
  const CollSystem *system = search->system;
  gint64 speed = search->draft.intra;
  guint64 slots = 0, each = system->n_gpus - (system->n_nets > 0);
  if (!all_over_nvlink(search))
    return G_MAXUINT32;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    for (guint i = 0; i < system->parts[gpu].links->len; i++) {
      const CollLink *link = coll_system_link(system, g_array_index(system->parts[gpu].links, guint32, i));
      slots += link->type == COLL_PATH_NVL ? (guint64)(link->rate / speed) : 0;
    }
  if (leaves_by_entry && all_leave_over_nvlink(search))
    each++;
  return slots / each;
}

static gboolean shares_earlier_port(const HwMachine *machine, guint32 net) {
  for (guint32 other = 0; other < net; other++)
    if (machine->nic[net].card == machine->nic[other].card && machine->nic[net].port == machine->nic[other].port)
      return TRUE;
  return FALSE;
}

static gboolean ports_are_shared(const HwMachine *machine) {
  for (guint32 net = 0; net < machine->nics; net++)
    if (shares_earlier_port(machine, net))
      return TRUE;
  return FALSE;
}

/* The best rate from a NIC to a GPU that its channels may begin at. */
static gint64 entry_rate(const CollSearch *search, guint32 net) {
  const CollSystem *system = search->system;
  guint32 from = coll_system_net(system, net);
  gint64 rate = 0;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    if (is_allowed(search, from, gpu))
      rate = MAX(rate, coll_system_path(system, from, gpu)->rate);
  return rate;
}

/* Channels that can begin at NICs. Where ports share a rate, NICs are not told apart by what is near them. */
static guint64 channels_in(const CollSearch *search) {
  const CollSystem *system = search->system;
  gint64 unit = search->rules->nic_unit, whole = search->draft.inter / unit * unit;
  gboolean shared = ports_are_shared(system->machine);
  guint64 channels = 0;
  for (guint32 net = 0; net < system->n_nets; net++) {
    guint64 by_nic = whole > 0 ? (guint64)(system->net_free[net] / whole) : G_MAXUINT32;
    guint64 by_entry = shared ? G_MAXUINT32 : (guint64)(entry_rate(search, net) / search->draft.inter);
    channels += shares_earlier_port(system->machine, net) ? 0 : MIN(by_nic, by_entry);
  }
  return channels;
}

static guint64 least_way(const CollSearch *search, guint32 from) {
  guint64 least = G_MAXUINT32;
  for (guint32 to = 0; to < search->system->n_gpus; to++)
    if (is_allowed(search, from, to))
      least = MIN(least, coll_system_path(search->system, from, to)->count);
  return least;
}

/* In at one GPU and out at another by one NIC. */
static guint64 least_ends_of(const CollSearch *search, guint32 net) {
  const CollSystem *system = search->system;
  guint32 part = coll_system_net(system, net);
  guint64 least = G_MAXUINT32;
  for (guint32 first = 0; first < system->n_gpus; first++)
    for (guint32 last = 0; last < system->n_gpus && is_allowed(search, part, first); last++)
      if ((first != last || system->n_gpus == 1) && is_allowed(search, last, part))
        least = MIN(least, (guint64)coll_system_path(system, part, first)->count +
                               coll_system_path(system, last, part)->count);
  return least;
}

/* A channel leaves by the very NIC that it came in by. */
static gboolean leaves_by_entry(const CollSearch *search) {
  return search->system->n_nets > 0 && search->draft.cross_nic == 0 && !ports_are_shared(search->system->machine);
}

/* 0: not known. */
static guint64 least_ends(const CollSearch *search) {
  guint64 least = G_MAXUINT32;
  if (!leaves_by_entry(search))
    return 0;
  for (guint32 net = 0; net < search->system->n_nets; net++)
    least = MIN(least, least_ends_of(search, net));
  return least;
}

static void bound_ring(CollSearch *search) {
  const CollSystem *system = search->system;
  guint64 channels = search->draft.max_channels, furthest = 0;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    guint64 way = system->n_gpus > 1 ? least_way(search, gpu) : 0;
    channels = MIN(channels, channels_out(search, gpu));
    search->least_hops += way;
    furthest = MAX(furthest, way);
  }
  if (system->n_gpus > 1)
    channels = MIN(channels, channels_over_nvlink(search, leaves_by_entry(search)));
  if (system->n_nets > 0) {
    channels = MIN(channels, channels_in(search));
    search->least_hops += least_ends(search) - furthest;
  }
  search->bound = channels < search->draft.min_channels ? 0 : (gint64)channels * search->draft.intra;
}

/* A tree has as many channels as the rings or is none: a chain through all GPUs each, begun at a NIC. */
static void bound_tree(CollSearch *search) {
  const CollSystem *system = search->system;
  guint64 channels = search->draft.max_channels, ways = 0;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    ways += channels_out(search, gpu);
  if (system->n_gpus > 1)
    channels = MIN(channels, ways / (system->n_gpus - 1));
  if (system->n_nets > 0)
    channels = MIN(channels, channels_in(search));
  if (channels < search->draft.min_channels)
    search->bound = 0;
}

void coll_search_bound(CollSearch *search) {
  search->bound = G_MAXINT64;
  search->least_hops = 0;
  if (search->plain)
    return;
  if (search->draft.pattern == COLL_PATTERN_RING && search->system->n_gpus + search->system->n_nets > 1)
    bound_ring(search);
  else if (search->draft.pattern != COLL_PATTERN_NVLS && search->draft.pattern != COLL_PATTERN_RING)
    bound_tree(search);
}

gboolean coll_search_is_settled(const CollSearch *search) {
  const CollDraft *draft = &search->draft, *best = search->best;
  if (search->bound == G_MAXINT64)
    return FALSE;
  gint64 there = best->channels * best->intra;
  if (there != search->bound)
    return there > search->bound;
  if (draft->pattern != best->pattern || draft->cross_nic != best->cross_nic)
    return TRUE;
  return best->hops <= (guint64)(search->bound / draft->intra) * search->least_hops;
}
