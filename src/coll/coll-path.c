/* SPDX-License-Identifier: MIT */
/* Paths towards each target, breadth-first.
 *
 * A GPU is passed only over NVLink and only as the one stop between two GPUs. Among equally early finds more rate wins;
 * a part reached again by fewer steps than its path has takes it only if it also gains rate. */
#include "coll-path.h"

const char *const coll_path_names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C",
                                       "PXN", "PHB", "SYS", "NET", "DIS", NULL};

static gboolean may_pass(const CollSystem *system, guint32 target, guint32 part, const CollPath *path,
                         const CollLink *link) {
  if (part == target || system->parts[part].kind != COLL_PART_GPU)
    return TRUE;
  return link->type == COLL_PATH_NVL && system->parts[link->to].kind == COLL_PART_GPU && path->count <= 1;
}

static CollPathType step_type(const CollSystem *system, guint32 part, const CollPath *path, const CollLink *link) {
  CollPartKind from = system->parts[part].kind, to = system->parts[link->to].kind;
  CollPathType type = link->type == COLL_PATH_NET ? COLL_PATH_LOC : link->type;
  if (from == COLL_PART_SWITCH && to == COLL_PART_SWITCH)
    type = COLL_PATH_PXB;
  if (link->type == COLL_PATH_PIX && (from == COLL_PART_SOCKET || to == COLL_PART_SOCKET))
    type = COLL_PATH_PHB;
  if (from == COLL_PART_GPU && path->type == COLL_PATH_NVL && type == COLL_PATH_NVL && path->count >= 1)
    type = COLL_PATH_NVB;
  return MAX(path->type, type);
}

/* The path of link->to begins with the way back and goes on as that of link->from. */
static void extend(CollSystem *system, const CollPath *path, const CollLink *link, gint64 rate, CollPathType type,
                   CollPath *ret) {
  guint32 first = system->hops->len;
  g_array_set_size(system->hops, first + path->count + 1);
  guint32 *hops = (guint32 *)system->hops->data;
  hops[first] = link->back;
  for (guint32 i = 0; i < path->count; i++)
    hops[first + 1 + i] = hops[path->first + i];
  *ret = (CollPath){first, path->count + 1, rate, type};
}

static void spread(CollSystem *system, guint32 target, guint32 part, GArray *next, gboolean *queued) {
  for (guint i = 0; i < system->parts[part].links->len; i++) {
    const CollLink *link = coll_system_link(system, g_array_index(system->parts[part].links, guint32, i));
    const CollPath *path = coll_system_path(system, part, target);
    CollPath *there = coll_system_path(system, link->to, target);
    gint64 rate = MIN(path->rate, link->rate);
    if (!may_pass(system, target, part, path, link) || (there->rate != 0 && there->count <= path->count) ||
        there->rate >= rate)
      continue;
    extend(system, path, link, rate, step_type(system, part, path, link), there);
    if (!queued[link->to])
      g_array_append_val(next, link->to);
    queued[link->to] = TRUE;
  }
}

static void find_towards(CollSystem *system, guint32 target, gint64 local) {
  guint32 n = coll_system_n_parts(system);
  for (guint32 i = 0; i < n; i++)
    *coll_system_path(system, i, target) = (CollPath){0, 0, 0, COLL_PATH_DIS};
  *coll_system_path(system, target, target) = (CollPath){0, 0, local, COLL_PATH_LOC};
  g_autoptr(GArray) now = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autoptr(GArray) next = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autofree gboolean *queued = g_new0(gboolean, n);
  for (g_array_append_val(now, target); now->len > 0;) {
    for (guint i = 0; i < now->len; i++)
      spread(system, target, g_array_index(now, guint32, i), next, queued);
    GArray *done = now;
    now = next;
    next = done;
    g_array_set_size(next, 0);
    for (guint i = 0; i < now->len; i++)
      queued[g_array_index(now, guint32, i)] = FALSE;
  }
}

void coll_paths_find(CollSystem *system) {
  guint32 targets = system->starts[COLL_PART_NIC];
  system->paths = g_new(CollPath, (gsize)targets * coll_system_n_parts(system));
  for (guint32 target = 0; target < targets; target++)
    find_towards(system, target, G_MAXINT64);
}

guint32 coll_system_nearest(const CollSystem *system, guint32 part, CollPartKind kind, guint32 *ret) {
  CollPathType least = COLL_PATH_DIS;
  gint64 most = 0;
  guint32 n = 0;
  for (guint32 to = system->starts[kind]; to < system->starts[kind + 1]; to++) {
    const CollPath *path = coll_system_path(system, part, to);
    if (path->rate > most || (path->rate == most && path->type < least)) {
      most = path->rate;
      least = path->type;
      n = 0;
    }
    if (path->rate == most && path->type == least && path->type != COLL_PATH_DIS)
      ret[n++] = to - system->starts[kind];
  }
  return n;
}

void coll_system_types(const CollSystem *system, CollPartKind kind, CollPathType *ret_least, CollPathType *ret_most) {
  *ret_least = COLL_PATH_SYS;
  *ret_most = COLL_PATH_LOC;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    for (guint32 to = system->starts[kind]; to < system->starts[kind + 1]; to++) {
      if (to == gpu)
        continue;
      CollPathType type = coll_system_path(system, gpu, to)->type;
      *ret_least = MIN(*ret_least, type);
      *ret_most = MAX(*ret_most, type);
    }
}
