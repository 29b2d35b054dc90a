/* What no draft of the current speeds can pass, so that a walk may end as soon as nothing better can come. Only for
 * rings: each channel leaves and enters every GPU once, and begins at a NIC's rate.
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

/* Channels that can leave a GPU: over the first links of its allowed paths, each link once. */
static guint64 channels_out(const CollSearch *search, guint32 gpu) {
  const CollSystem *system = search->system;
  gint64 speed = MIN(search->draft.intra, search->draft.inter);
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

/* Channels that can begin at NICs: ports that share a rate count once. */
static guint64 channels_in(const CollSearch *search) {
  const CollSystem *system = search->system;
  gint64 unit = search->rules->nic_unit, whole = search->draft.inter / unit * unit;
  guint64 channels = 0;
  for (guint32 net = 0; net < system->n_nets; net++) {
    gboolean first = TRUE;
    for (guint32 other = 0; other < net; other++)
      first &= system->machine->nic[net].card != system->machine->nic[other].card ||
               system->machine->nic[net].port != system->machine->nic[other].port;
    if (whole == 0)
      return G_MAXUINT32;
    channels += first ? (guint64)(system->net_free[net] / whole) : 0;
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

static gboolean ports_are_shared(const HwMachine *machine) {
  for (guint32 a = 0; a < machine->nics; a++)
    for (guint32 b = 0; b < a; b++)
      if (machine->nic[a].card == machine->nic[b].card && machine->nic[a].port == machine->nic[b].port)
        return TRUE;
  return FALSE;
}

/* 0: not known. */
static guint64 least_ends(const CollSearch *search) {
  guint64 least = G_MAXUINT32;
  if (search->draft.cross_nic != 0 || ports_are_shared(search->system->machine))
    return 0;
  for (guint32 net = 0; net < search->system->n_nets; net++)
    least = MIN(least, least_ends_of(search, net));
  return least;
}

void coll_search_bound(CollSearch *search) {
  const CollSystem *system = search->system;
  search->bound = G_MAXINT64;
  search->least_hops = 0;
  if (search->draft.pattern != COLL_PATTERN_RING || system->n_gpus == 1)
    return;
  guint64 channels = search->draft.max_channels, furthest = 0;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    guint64 way = least_way(search, gpu);
    channels = MIN(channels, channels_out(search, gpu));
    search->least_hops += way;
    furthest = MAX(furthest, way);
  }
  if (system->n_nets > 0) {
    channels = MIN(channels, channels_in(search));
    search->least_hops += least_ends(search) - furthest;
  }
  if (channels < search->draft.min_channels)
    channels = 0;
  search->bound = (gint64)channels * search->draft.intra;
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
