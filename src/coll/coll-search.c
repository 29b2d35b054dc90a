/* SPDX-License-Identifier: MIT */
/* From walk to walk: what is relaxed when nothing better was found, and what is raised at the end.
 *
 *   first, from the fastest speed that any path has: all channels alike ─ channels of their own ─ (from Hopper on) a
 *   plainer tree ─ worse paths between GPUs ─ worse paths to NICs ─ pairs of channels on swapped NICs ─ a lower speed;
 *   then fast channels are halved into two; then the speed (of one part of the way) is raised as far as it goes. */
#include "coll-search.h"

#include <string.h>

enum { AMPERE = 80, HOPPER = 90, BLACKWELL = 100 };

void coll_draft_init(CollDraft *draft, const CollSystem *system, guint32 room) {
  draft->room = room;
  draft->order = g_new0(guint32, (gsize)room * system->n_gpus);
  draft->nets = g_new0(guint32, (gsize)room * 2);
}

void coll_draft_clear(CollDraft *draft) {
  g_clear_pointer(&draft->order, g_free);
  g_clear_pointer(&draft->nets, g_free);
}

/* Of `from` the channels that it has; both have the same room. */
void coll_draft_copy(CollDraft *draft, const CollDraft *from, guint32 gpus) {
  CollDraft kept = *draft;
  *draft = *from;
  draft->order = kept.order;
  draft->nets = kept.nets;
  memcpy(draft->order, from->order, (gsize)from->channels * gpus * sizeof *draft->order);
  memcpy(draft->nets, from->nets, (gsize)from->channels * 2 * sizeof *draft->nets);
}

/* Where the search stands between walks. */
typedef struct {
  CollSearch search;
  const CollLadder *ladder;
  guint speed; /* index */
  gint64 left_in_all;
  gboolean try_alike;
  guint32 cross_nic; /* allowed */
  CollPathType least_intra, most_intra, least_inter, most_inter;
  gboolean intra_types[COLL_PATH_TYPES], inter_types[COLL_PATH_TYPES]; /* that some path has */
} Progress;

static void set_speed(Progress *progress, guint speed) {
  progress->speed = speed;
  progress->search.draft.intra = progress->search.draft.inter = progress->ladder->speeds[speed];
}

/* Returns the steps left: 0: they ran out, -1: no more channels can be. A walk that is cut short or not begun takes
 * less of all steps than NCCL's, which at times gives up slower drafts that are tried here; never the other way
 * about. */
static gint64 walk(Progress *progress) {
  CollSearch *search = &progress->search;
  gboolean alike = search->draft.same;
  gint64 most = alike ? search->rules->steps_alike : search->rules->steps, steps = most;
  coll_search_bound(search);
  search->settled = coll_search_is_settled(search);
  if (!search->settled) {
    coll_search_walk(search, &steps);
    progress->left_in_all -= alike ? most : most - MAX(steps, 0);
  }
  return steps;
}

static gboolean is_enough(const Progress *progress) {
  const CollDraft *best = progress->search.best;
  return best->channels * best->inter >= progress->search.system->total_rate;
}

static gboolean occurs(const Progress *progress, const gboolean *types, CollPathType type) {
  return types[type] || progress->search.plain;
}

/* The next draft to walk; FALSE: there is none. In the order of the picture above; what is done with is set back. A
 * type that no path has would repeat the walk before, and is passed over. */
static gboolean relax(Progress *progress) {
  CollDraft *draft = &progress->search.draft;
  const CollDraft *best = progress->search.best;
  const CollSystem *system = progress->search.system;
  gboolean none = best->channels == 0;
  if (draft->same && !(system->cpu_amd && draft->type_intra == COLL_PATH_SYS)) {
    draft->same = FALSE;
    return TRUE;
  }
  draft->same = progress->try_alike;
  if (progress->left_in_all < 0 && !none) {
    progress->search.best->ran_out = TRUE;
    return FALSE;
  }
  if (system->compute_capability >= HOPPER && draft->pattern == COLL_TREE_BALANCED) {
    draft->pattern = COLL_TREE_PLAIN;
    return TRUE;
  }
  draft->pattern = best->pattern;
  CollPathType most_intra = system->n_nets > 0 ? draft->type_inter : progress->most_intra;
  while (draft->type_intra < most_intra && (none || draft->type_intra < best->type_intra)) {
    draft->type_intra++;
    if (draft->type_intra < COLL_PATH_DIS && occurs(progress, progress->intra_types, draft->type_intra))
      return TRUE;
  }
  draft->type_intra = progress->least_intra;
  while (system->n_nets > 0 && draft->type_inter < progress->most_inter &&
         (none || draft->type_inter < best->type_inter || draft->type_inter < COLL_PATH_PXN)) {
    draft->type_inter++;
    if (draft->type_inter < COLL_PATH_DIS && (occurs(progress, progress->inter_types, draft->type_inter) ||
                                              occurs(progress, progress->intra_types, draft->type_inter)))
      return TRUE;
  }
  draft->type_inter = progress->least_inter;
  if (progress->cross_nic == 2 && draft->cross_nic == 0 &&
      (best->pattern == COLL_PATTERN_RING || best->pattern == COLL_TREE_BALANCED)) {
    draft->cross_nic = 2;
    return TRUE;
  }
  draft->cross_nic = progress->cross_nic == 1 ? 1 : 0;
  if (progress->speed + 1 == progress->ladder->n)
    return FALSE;
  double next = (double)progress->ladder->speeds[progress->speed + 1];
  if (!none && next <= (double)best->inter * progress->search.rules->lower_share)
    return FALSE;
  set_speed(progress, progress->speed + 1);
  return TRUE;
}

/* Fast channels are halved, if there is room. */
static void halve(Progress *progress) {
  const CollSearchRules *rules = progress->search.rules;
  CollDraft *best = progress->search.best;
  guint32 gpus = progress->search.system->n_gpus, channels = best->channels;
  if (channels == 0 || best->pattern == COLL_PATTERN_NVLS || best->intra < rules->halve_speed)
    return;
  if (progress->search.system->compute_capability > AMPERE && best->intra < rules->halve_speed_late &&
      channels > rules->halve_channels_late)
    return;
  guint32 more = MIN(channels * 2, best->max_channels), parts = (more + channels - 1) / channels;
  memcpy(best->order + (gsize)channels * gpus, best->order, (gsize)(more - channels) * gpus * sizeof *best->order);
  memcpy(best->nets + (gsize)channels * 2, best->nets, (gsize)(more - channels) * 2 * sizeof *best->nets);
  best->intra /= parts;
  best->inter /= parts;
  best->channels = more;
}

/* The next draft of the second pass; FALSE: there is none. */
static gboolean raise_speed(Progress *progress, gint64 steps) {
  CollDraft *draft = &progress->search.draft;
  const CollDraft *best = progress->search.best;
  double most = progress->search.rules->raise_share;
  if (steps == 0 || progress->speed == 0)
    return FALSE;
  if (best->pattern == COLL_PATTERN_RING) {
    set_speed(progress, progress->speed - 1);
    return TRUE;
  }
  if (best->pattern == COLL_PATTERN_NVLS && draft->inter == best->inter &&
      (double)draft->inter < (double)draft->intra * most) {
    draft->min_channels = draft->max_channels = best->channels;
    draft->inter = progress->ladder->speeds[--progress->speed];
    return TRUE;
  }
  if (draft->intra != best->intra || (double)draft->intra >= (double)draft->inter * most)
    return FALSE;
  draft->intra = progress->ladder->speeds[--progress->speed];
  return TRUE;
}

static void first_pass(Progress *progress) {
  gint64 steps;
  do
    steps = walk(progress);
  while (steps != -1 && !is_enough(progress) && relax(progress));
}

static void second_pass(Progress *progress) {
  CollDraft *draft = &progress->search.draft;
  const CollDraft *best = progress->search.best;
  guint speed = 0;
  coll_draft_copy(draft, best, progress->search.system->n_gpus);
  while (speed + 1 < progress->ladder->n && progress->ladder->speeds[speed] > best->inter)
    speed++;
  set_speed(progress, speed);
  draft->min_channels = best->channels;
  for (gint64 steps = -1; raise_speed(progress, steps);)
    steps = walk(progress);
}

/* The GPUs in order, at a speed that says that something is wrong. */
static void fall_back(Progress *progress) {
  CollDraft *best = progress->search.best;
  const CollSystem *system = progress->search.system;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    best->order[gpu] = gpu;
  best->intra = best->inter = progress->search.rules->fallback;
  best->type_intra = best->type_inter = COLL_PATH_SYS;
  best->channels = 1;
  for (guint end = 0; end < 2 && system->n_nets > 0; end++) {
    guint32 gpu = end == 0 ? 0 : system->n_gpus - 1;
    best->nets[end] = system->n_near_nets[gpu] > 0 ? system->near_nets[gpu][0] : 0;
    best->latency = system->machine->nic[best->nets[end]].latency;
  }
}

static void note_types(Progress *progress) {
  const CollSystem *system = progress->search.system;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    for (guint32 peer = 0; peer < system->n_gpus; peer++)
      progress->intra_types[coll_system_path(system, gpu, peer)->type] = TRUE;
    for (guint32 net = system->starts[COLL_PART_NET]; net < system->starts[COLL_PART_NET + 1]; net++)
      progress->inter_types[coll_system_path(system, gpu, net)->type] =
          progress->inter_types[coll_system_path(system, net, gpu)->type] = TRUE;
  }
}

static void find_types(Progress *progress) {
  const CollSystem *system = progress->search.system;
  note_types(progress);
  progress->least_intra = COLL_PATH_LOC;
  progress->least_inter = COLL_PATH_PIX;
  progress->most_intra = progress->most_inter = COLL_PATH_SYS;
  if (system->n_gpus > 1)
    coll_system_types(system, COLL_PART_GPU, &progress->least_intra, &progress->most_intra);
  if (system->n_nets > 0) {
    coll_system_types(system, COLL_PART_NET, &progress->least_inter, &progress->most_inter);
    progress->most_intra = progress->most_inter;
  }
  if (system->compute_capability < HOPPER)
    progress->most_inter = COLL_PATH_SYS;
}

static guint first_speed(const Progress *progress) {
  const CollSystem *system = progress->search.system;
  const CollDraft *draft = &progress->search.draft;
  double total = (double)system->total_rate;
  if (system->n_gpus > 1 && draft->pattern != COLL_PATTERN_RING)
    total = total * system->n_gpus / (system->n_gpus - 1);
  guint speed = 0;
  while (speed + 1 < progress->ladder->n && (progress->ladder->speeds[speed] > system->most_rate ||
                                             (double)(progress->ladder->speeds[speed] * draft->min_channels) > total))
    speed++;
  return speed;
}

/* Two NVLink domains with a slower way between: trees will do better there, and want two channels. */
static gboolean is_split(const CollSystem *system) {
  g_autofree guint32 *domains = g_new(guint32, system->n_gpus), *counts = g_new0(guint32, system->n_gpus);
  guint32 several = 0;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    domains[gpu] = gpu;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    for (guint32 peer = gpu + 1; peer < system->n_gpus; peer++)
      if (coll_system_path(system, gpu, peer)->type == COLL_PATH_NVL)
        domains[peer] = domains[gpu];
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    counts[domains[gpu]]++;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    several += counts[gpu] > 1;
  return several == 2;
}

static void prepare(Progress *progress, const CollSearchTask *task) {
  const CollSystem *system = progress->search.system;
  const CollSearchRules *rules = progress->search.rules;
  CollDraft *best = progress->search.best;
  gboolean crosses = system->n_nets > 1 && (task->pattern == COLL_PATTERN_RING || task->pattern == COLL_TREE_BALANCED);
  progress->cross_nic = crosses ? task->cross_nic : 0;
  progress->try_alike = task->pattern != COLL_PATTERN_NVLS;
  progress->left_in_all = rules->steps_all;
  progress->ladder = &rules->ladders[system->compute_capability >= BLACKWELL ? COLL_LADDER_BLACKWELL
                                     : system->compute_capability >= HOPPER  ? COLL_LADDER_HOPPER
                                                                             : COLL_LADDER_EARLY][system->n_nets > 0];
  find_types(progress);
  best->pattern = system->n_gpus == 1 && task->pattern != COLL_PATTERN_RING ? COLL_TREE_PLAIN : task->pattern;
  best->min_channels = task->min_channels;
  best->max_channels = task->max_channels;
  best->cross_nic = progress->cross_nic == 1 ? 1 : 0;
  best->same = progress->try_alike;
  best->type_intra = progress->least_intra;
  best->type_inter = progress->least_inter;
  if (best->pattern == COLL_PATTERN_NVLS) {
    best->max_channels = MIN(rules->most_heads, system->n_gpus);
    best->min_channels = system->n_nets == 0 ? best->max_channels : task->min_channels;
  }
  if (best->pattern == COLL_PATTERN_RING && is_split(system) && best->max_channels >= 2 && best->min_channels == 1)
    best->min_channels = 2;
  coll_draft_init(best, system, MAX(best->max_channels, 1));
  coll_draft_init(&progress->search.draft, system, best->room);
  coll_draft_copy(&progress->search.draft, best, system->n_gpus);
  set_speed(progress, first_speed(progress));
}

static void clear(CollSearch *search) {
  for (guint32 gpu = 0; search->nets != NULL && gpu <= search->system->n_gpus; gpu++) {
    g_free(search->nets[gpu]);
    g_free(search->nets_up_to[gpu]);
  }
  g_free(search->nets);
  g_free(search->nets_up_to);
  g_free(search->used);
  g_array_unref(search->stack);
  coll_draft_clear(&search->draft);
}

void coll_search(CollSystem *system, const CollSearchRules *rules, const CollSearchTask *task, CollDraft *ret) {
  *ret = (CollDraft){0};
  if (task->pattern == COLL_PATTERN_NVLS &&
      (!coll_system_has_nvswitch(system) || system->compute_capability < HOPPER)) {
    ret->pattern = task->pattern;
    coll_draft_init(ret, system, 1);
    return;
  }
  Progress progress = {.search = {.system = system, .rules = rules, .best = ret, .plain = task->plain}};
  progress.search.used = g_new0(guint64, system->n_gpus);
  progress.search.stack = g_array_new(FALSE, FALSE, sizeof(guint32));
  if (system->n_nets > 0)
    coll_search_order_nets(&progress.search);
  prepare(&progress, task);
  first_pass(&progress);
  halve(&progress);
  second_pass(&progress);
  if (ret->channels == 0 && ret->pattern != COLL_PATTERN_NVLS)
    fall_back(&progress);
  clear(&progress.search);
}
