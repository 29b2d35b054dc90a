/* SPDX-License-Identifier: MIT */
/* Which GPU comes next. Behind an NVSwitch only neighbours by index: a ring's previous before its next, a tree's the
 * other way about, a plain tree's next alone. Elsewhere all that are left: by the way from the channel's NIC, by the
 * PCI link, then by the way between the two, whole units compared as NCCL compares them; ties as numbered after `gpu`,
 * or against that where a later GPU goes to the NIC and none is nearer. */
#include "coll-search.h"

typedef struct {
  guint32 gpu, out_hops, hops;
  gint64 out_rate, pci_rate, rate;
} Score;

static gboolean is_left(const CollSearch *search, guint32 gpu, guint32 other) {
  const guint64 flag = G_GUINT64_CONSTANT(1) << search->draft.channels;
  return coll_system_path(search->system, gpu, other)->count > 0 && (search->used[other] & flag) == 0;
}

static guint neighbours(CollSearch *search, guint32 gpu) {
  guint32 n_gpus = search->system->n_gpus, after = (gpu + 1) % n_gpus, before = (gpu + n_gpus - 1) % n_gpus;
  gboolean ring = search->draft.pattern == COLL_PATTERN_RING, plain = search->draft.pattern == COLL_TREE_PLAIN;
  const guint32 order[] = {ring ? before : after, ring ? after : before};
  guint n = 0, most = plain || before == after ? 1 : 2;
  for (guint i = 0; i < most; i++)
    if (is_left(search, gpu, order[i])) {
      g_array_append_val(search->stack, order[i]);
      n++;
    }
  return n;
}

static gboolean is_before(const Score *a, const Score *b) {
  if (a->out_rate != b->out_rate)
    return a->out_rate > b->out_rate;
  if (a->pci_rate != b->pci_rate)
    return a->pci_rate > b->pci_rate;
  if (a->out_hops != b->out_hops)
    return a->out_hops < b->out_hops;
  return a->rate != b->rate ? a->rate > b->rate : a->hops < b->hops;
}

static Score score(const CollSearch *search, guint32 gpu, guint32 other, gboolean by_net) {
  const CollSystem *system = search->system;
  const CollPath *path = coll_system_path(system, gpu, other);
  gint64 unit = search->rules->nic_unit;
  Score score = {.gpu = other, .rate = path->rate / unit, .hops = path->count};
  if (by_net) {
    guint32 net = coll_system_net(system, search->draft.nets[(gsize)2 * search->draft.channels]);
    const CollPath *out = coll_system_path(system, net, other);
    score.out_rate = out->rate / unit;
    score.out_hops = out->count;
    score.pci_rate = system->pci_rate[other] / unit;
  }
  return score;
}

static guint score_all(const CollSearch *search, guint32 gpu, gboolean by_net, Score *ret) {
  guint n = 0;
  for (guint32 i = 1; i < search->system->n_gpus; i++) {
    guint32 other = (gpu + i) % search->system->n_gpus;
    if (!is_left(search, gpu, other))
      continue;
    Score one = score(search, gpu, other, by_net);
    guint place = n++;
    for (; place > 0 && is_before(&one, &ret[place - 1]); place--)
      ret[place] = ret[place - 1];
    ret[place] = one;
  }
  return n;
}

guint coll_search_next(CollSearch *search, guint32 gpu, gint look) {
  if (coll_system_has_nvswitch(search->system))
    return neighbours(search, gpu);
  g_autofree Score *scores = g_new(Score, search->system->n_gpus);
  guint n = score_all(search, gpu, look != 0, scores);
  gboolean alike = TRUE;
  for (guint i = 1; i < n; i++)
    alike &= scores[i].rate == scores[0].rate && scores[i].hops == scores[0].hops;
  for (guint i = 0; i < n; i++)
    g_array_append_val(search->stack, scores[look == -1 && alike ? n - 1 - i : i].gpu);
  return n;
}
