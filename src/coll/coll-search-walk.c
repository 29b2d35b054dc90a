/* SPDX-License-Identifier: MIT */
/* One walk: channels are laid GPU by GPU, each step spending the rate of the links it crosses; when a channel is whole
 * the draft is held against the best, and the next channel begins.
 *
 *   begin ─► GPU ─► next GPU … ─► last GPU ─► (ring) first GPU or NIC ─► whole: compare, next channel
 *              │ no link has the rate left: back, and another GPU
 */
#include <math.h>

#include "coll-search.h"

#define NOWHERE G_MAXUINT32

/* In which order GPUs are taken: as they sort, as they are plugged in, as the channel before. */
typedef enum { BY_SCORE, BY_INDEX, AS_BEFORE } Ordering;

/* Where a channel turns: at which step it goes to a NIC, at which back to its first GPU; -1: at none (more). */
typedef struct {
  gint32 to_net, to_first;
  Ordering ordering;
} Turn;

static void walk_gpu(CollSearch *search, guint32 gpu, guint32 step, Turn turn, gint64 *steps);

static gboolean crosses_intel(const CollSystem *system, guint32 from, const CollPath *path) {
  if (!system->cpu_intel || path->type != COLL_PATH_PHB || system->parts[from].kind != COLL_PART_GPU)
    return FALSE;
  const guint32 *hops = (const guint32 *)system->hops->data + path->first;
  for (guint32 i = 0; i < path->count; i++)
    if (system->parts[coll_system_link(system, hops[i])->to].kind == COLL_PART_SOCKET)
      return TRUE;
  return FALSE;
}

/* What a step of `rate` takes of the way back of a link. */
static gint64 taken_back(const CollSystem *system, guint32 from, const CollLink *link, gint64 need) {
  enum { AMPERE = 80 };
  if (system->parts[link->to].kind != COLL_PART_GPU || system->compute_capability >= AMPERE ||
      system->parts[from].kind == COLL_PART_GPU)
    return 0;
  return llround((double)need * system->volta_reverse_share);
}

/* Spends (rate > 0) or gives back along the first `count` links; returns how many had it. */
static guint32 follow(CollSystem *system, guint32 from, const CollPath *path, guint32 count, gint64 rate) {
  gint64 over_pci = crosses_intel(system, from, path) ? llround((double)rate * system->intel_peer_cost) : rate;
  const guint32 *hops = (const guint32 *)system->hops->data + path->first;
  for (guint32 i = 0; i < count; i++) {
    CollLink *link = coll_system_link(system, hops[i]), *back = coll_system_link(system, link->back);
    gint64 need = link->type == COLL_PATH_PIX ? over_pci : rate, reverse = taken_back(system, from, link, need);
    if (link->free < need || back->free < reverse)
      return i;
    link->free -= need;
    back->free -= reverse;
  }
  return count;
}

static gboolean is_tree(CollPattern pattern) {
  return pattern == COLL_TREE_BALANCED || pattern == COLL_TREE_SPLIT || pattern == COLL_TREE_PLAIN;
}

static gboolean is_inside(const CollSystem *system, guint32 part) {
  return system->parts[part].kind == COLL_PART_GPU || system->parts[part].kind == COLL_PART_NVSWITCH;
}

/* `times` the draft's rate along a path; FALSE where the path is not allowed or a link has no such rate left. */
static gboolean spend(CollSearch *search, guint32 from, guint32 to, gint64 rate, gint64 times) {
  CollSystem *system = search->system;
  CollDraft *draft = &search->draft;
  const CollPath *path = coll_system_path(system, from, to);
  CollPathType most = is_inside(system, from) && is_inside(system, to) ? draft->type_intra : draft->type_inter;
  if (path->type >= COLL_PATH_DIS || (times == 1 && path->type > most))
    return FALSE;
  if (times == 1 && is_tree(draft->pattern) && coll_system_path(system, to, from)->type > most)
    return FALSE;
  guint32 passed = follow(system, from, path, path->count, rate * times);
  if (passed < path->count) {
    follow(system, from, path, passed, -rate * times);
    return FALSE;
  }
  draft->hops += path->count;
  return TRUE;
}

static void give_back(CollSearch *search, guint32 from, guint32 to, gint64 rate, gint64 times) {
  const CollPath *path = coll_system_path(search->system, from, to);
  follow(search->system, from, path, path->count, -rate * times);
  search->draft.hops -= path->count;
}

/* From `from` (NOWHERE: the channel begins here) to a GPU and on. */
static void try_gpu(CollSearch *search, guint32 from, guint32 gpu, guint32 step, Turn turn, gint64 *steps) {
  const guint64 flag = G_GUINT64_CONSTANT(1) << search->draft.channels;
  gint64 rate = from == NOWHERE                                     ? 0
                : search->system->parts[from].kind == COLL_PART_GPU ? search->draft.intra
                                                                    : search->draft.inter;
  if (from != NOWHERE && !spend(search, from, gpu, rate, 1))
    return;
  search->used[gpu] ^= flag;
  walk_gpu(search, gpu, step, turn, steps);
  search->used[gpu] ^= flag;
  if (from != NOWHERE)
    give_back(search, from, gpu, rate, 1);
}

static gboolean is_better(const CollSystem *system, const CollDraft *draft, const CollDraft *best) {
  if (draft->channels < draft->min_channels)
    return FALSE;
  if (draft->pattern == COLL_PATTERN_NVLS)
    return (draft->channels > best->channels && draft->channels <= system->n_gpus) ||
           draft->channels * draft->inter > best->channels * best->inter;
  gint64 rate = draft->channels * draft->intra, there = best->channels * best->intra;
  if (rate != there)
    return rate > there;
  return draft->pattern == best->pattern && draft->cross_nic == best->cross_nic && draft->hops < best->hops;
}

static void walk_channel(CollSearch *search, gint64 *steps);

static void finish_channel(CollSearch *search, gint64 *steps) {
  CollDraft *draft = &search->draft;
  draft->channels++;
  if (is_better(search->system, draft, search->best)) {
    coll_draft_copy(search->best, draft, search->system->n_gpus);
    search->settled = coll_search_is_settled(search);
    if (draft->channels == draft->max_channels)
      *steps = -1;
  }
  if (draft->channels < draft->max_channels)
    walk_channel(search, steps);
  draft->channels--;
}

/* The second of a pair of channels comes in where the first went out, and the other way about. */
static gboolean swaps_nics(const CollDraft *draft) {
  return draft->pattern == COLL_PATTERN_RING && draft->cross_nic == 2;
}

/* Rails: which NIC a channel that came in by `first` may leave by. */
static gboolean may_leave_by(const CollSearch *search, guint32 net, guint32 step) {
  const CollDraft *draft = &search->draft;
  const guint32 *nets = draft->nets + (gsize)2 * draft->channels;
  const HwMachineNic *nic = &search->system->machine->nic[net], *first = &search->system->machine->nic[nets[0]];
  if (draft->pattern == COLL_TREE_PLAIN && net != nets[0])
    return FALSE;
  if (swaps_nics(draft)) {
    if (draft->channels % 2 == 1 && net != nets[-2])
      return FALSE;
  } else if (draft->cross_nic == 0 && (nic->card != first->card || nic->port != first->port)) {
    return FALSE;
  }
  return draft->pattern != COLL_TREE_BALANCED || step == 0 || net == nets[1];
}

/* Out to a NIC, then on inside; a balanced tree goes out by half from its first GPU, by half from its second. */
static void leave(CollSearch *search, guint32 gpu, guint32 step, Turn turn, gint64 *steps) {
  CollDraft *draft = &search->draft;
  gboolean balanced = draft->pattern == COLL_TREE_BALANCED;
  gint64 rate = balanced ? draft->inter / 2 : draft->inter;
  turn.to_net = balanced && step == 0 ? 1 : -1;
  for (guint32 i = 0; i < coll_search_nets(search, gpu); i++) {
    guint32 net = search->nets[gpu][i], to = coll_system_net(search->system, net);
    if (!may_leave_by(search, net, step) || !spend(search, gpu, to, rate, 1))
      continue;
    draft->nets[(gsize)2 * draft->channels + 1] = net;
    walk_gpu(search, gpu, step, turn, steps);
    give_back(search, gpu, to, rate, 1);
  }
}

static guint32 gpu_before(const CollSearch *search, guint32 step) {
  return search->draft.order[(gsize)(search->draft.channels - 1) * search->system->n_gpus + step];
}

static void go_on(CollSearch *search, guint32 gpu, guint32 step, Turn turn, gint64 *steps) {
  if (turn.ordering != BY_SCORE) {
    guint32 next = turn.ordering == BY_INDEX ? step + 1 : gpu_before(search, step + 1);
    try_gpu(search, gpu, next, step + 1, turn, steps);
    return;
  }
  gint look = turn.to_net == -1 ? 0 : turn.to_net == (gint32)step + 1 ? 1 : -1;
  guint start = search->stack->len, n = coll_search_next(search, gpu, look);
  for (guint i = 0; i < n; i++)
    try_gpu(search, gpu, g_array_index(search->stack, guint32, start + i), step + 1, turn, steps);
  g_array_set_size(search->stack, start);
}

static void close_ring(CollSearch *search, guint32 gpu, Turn turn, gint64 *steps) {
  guint32 first = search->draft.order[(gsize)search->draft.channels * search->system->n_gpus];
  if (!spend(search, gpu, first, search->draft.intra, 1))
    return;
  turn.to_first = -1;
  walk_gpu(search, first, search->system->n_gpus, turn, steps);
  give_back(search, gpu, first, search->draft.intra, 1);
}

/* A head pulls from the switch once for itself, and every GPU once for it. */
static void multicast(CollSearch *search, guint32 head, gint64 *steps) {
  guint32 nvswitch = search->system->starts[COLL_PART_NVSWITCH], n = search->system->n_gpus, down = 0, up = 0;
  gint64 rate = search->draft.intra;
  while (down < n && spend(search, nvswitch, down, rate, down == head ? 2 : 1))
    down++;
  while (down == n && up < n && spend(search, up, nvswitch, rate, up == head ? 2 : 1))
    up++;
  if (up == n)
    walk_gpu(search, head, n, (Turn){-1, -1, BY_SCORE}, steps);
  while (up-- > 0)
    give_back(search, up, nvswitch, rate, up == head ? 2 : 1);
  while (down-- > 0)
    give_back(search, nvswitch, down, rate, down == head ? 2 : 1);
}

static void walk_gpu(CollSearch *search, guint32 gpu, guint32 step, Turn turn, gint64 *steps) {
  guint32 n_gpus = search->system->n_gpus;
  CollDraft *draft = &search->draft;
  if (*steps <= 0 || search->settled)
    return;
  (*steps)--;
  if (step == n_gpus) {
    finish_channel(search, steps);
    return;
  }
  draft->order[(gsize)draft->channels * n_gpus + step] = gpu;
  if ((gint32)step == turn.to_net)
    leave(search, gpu, step, turn, steps);
  else if (draft->pattern == COLL_PATTERN_NVLS)
    multicast(search, gpu, steps);
  else if (step + 1 < n_gpus)
    go_on(search, gpu, step, turn, steps);
  else if ((gint32)step == turn.to_first)
    close_ring(search, gpu, turn, steps);
  else
    walk_gpu(search, gpu, n_gpus, (Turn){-1, -1, turn.ordering}, steps);
}

static gboolean shares_port(const HwMachine *machine, guint32 a, guint32 b) {
  return machine->nic[a].card == machine->nic[b].card && machine->nic[a].port == machine->nic[b].port;
}

static void take_net(CollSearch *search, guint32 net, gint64 rate) {
  for (guint32 other = 0; other < search->system->n_nets; other++)
    if (shares_port(search->system->machine, net, other))
      search->system->net_free[other] -= rate;
}

/* The head of a NIC's channel is the NIC's own GPU, once. TRUE: it was tried. */
static gboolean try_head(CollSearch *search, guint32 net, Turn turn, gint64 *steps) {
  CollDraft *draft = &search->draft;
  guint32 head = search->system->near_gpu[net];
  if (head == COLL_NO_PART || draft->channels >= coll_search_nets(search, search->system->n_gpus))
    return FALSE;
  for (guint32 channel = 0; channel < draft->channels; channel++)
    if (draft->order[(gsize)channel * search->system->n_gpus] == head)
      return FALSE;
  try_gpu(search, coll_system_net(search->system, net), head, 0, turn, steps);
  return TRUE;
}

static void try_entries(CollSearch *search, guint32 net, Turn turn, gint64 *steps) {
  CollSystem *system = search->system;
  CollDraft *draft = &search->draft;
  guint32 from = coll_system_net(system, net);
  if (draft->channels > 0 && draft->same) {
    turn.ordering = AS_BEFORE;
    try_gpu(search, from, gpu_before(search, 0), 0, turn, steps);
    return;
  }
  if (draft->channels == 0 && !coll_system_has_nvswitch(system)) {
    gint64 few = search->rules->steps_pci_order;
    try_gpu(search, from, 0, 0, (Turn){turn.to_net, turn.to_first, BY_INDEX}, &few);
    if (few == -1)
      *steps = -1;
  }
  guint32 near = system->near_gpu[net];
  if (near != COLL_NO_PART)
    try_gpu(search, from, near, 0, turn, steps);
  g_autofree guint32 *gpus = g_new(guint32, system->n_gpus);
  guint32 n = coll_system_nearest(system, from, COLL_PART_GPU, gpus);
  for (guint32 i = 0; i < n; i++)
    if (gpus[i] != near)
      try_gpu(search, from, gpus[i], 0, turn, steps);
}

static gboolean may_enter_by(const CollSearch *search, guint32 net) {
  const CollDraft *draft = &search->draft;
  if (!swaps_nics(draft) || draft->channels % 2 == 0)
    return TRUE;
  return net == draft->nets[(gsize)2 * (draft->channels - 1) + 1];
}

static void walk_nets(CollSearch *search, Turn turn, gint64 *steps) {
  CollSystem *system = search->system;
  CollDraft *draft = &search->draft;
  const guint32 *order = search->nets[system->n_gpus];
  guint32 n = coll_search_nets(search, system->n_gpus);
  gint64 rate = draft->inter / search->rules->nic_unit * search->rules->nic_unit;
  gboolean found = FALSE;
  gboolean pci_order = draft->channels == 0 && !coll_system_has_nvswitch(system);
  for (guint32 i = 0; i < n && !found && (*steps > 0 || pci_order) && !search->settled; i++) {
    guint32 net = order[(draft->channels + i) % n], *nets = draft->nets + (gsize)2 * draft->channels;
    if (system->net_free[net] < rate || !may_enter_by(search, net))
      continue;
    nets[0] = net;
    draft->latency = system->machine->nic[net].latency;
    take_net(search, net, rate);
    if (draft->pattern == COLL_PATTERN_NVLS)
      found = try_head(search, net, turn, steps);
    else
      try_entries(search, net, turn, steps);
    take_net(search, net, -rate);
  }
}

/* Inside one node: as the channel before (the first: as plugged in), then from every GPU unless all must be alike. */
static void walk_node(CollSearch *search, Turn turn, gint64 *steps) {
  CollDraft *draft = &search->draft;
  if (draft->pattern == COLL_PATTERN_NVLS) {
    try_gpu(search, NOWHERE, draft->channels, 0, turn, steps);
    return;
  }
  turn.ordering = draft->channels == 0 ? BY_INDEX : AS_BEFORE;
  try_gpu(search, NOWHERE, draft->channels == 0 ? 0 : gpu_before(search, 0), 0, turn, steps);
  turn.ordering = BY_SCORE;
  for (guint32 gpu = 0; gpu < search->system->n_gpus && (!draft->same || draft->channels == 0); gpu++)
    try_gpu(search, NOWHERE, gpu, 0, turn, steps);
}

static void walk_channel(CollSearch *search, gint64 *steps) {
  gint32 last = (gint32)search->system->n_gpus - 1;
  CollPattern pattern = search->draft.pattern;
  if (search->system->n_nets > 0) {
    gint32 to_net = pattern == COLL_PATTERN_RING ? last : pattern == COLL_TREE_SPLIT ? 1 : 0;
    walk_nets(search, (Turn){to_net, -1, BY_SCORE}, steps);
  } else {
    walk_node(search, (Turn){-1, pattern == COLL_PATTERN_RING ? last : -1, BY_SCORE}, steps);
  }
}

void coll_search_walk(CollSearch *search, gint64 *steps) {
  search->draft.channels = 0;
  search->draft.hops = 0;
  walk_channel(search, steps);
}
