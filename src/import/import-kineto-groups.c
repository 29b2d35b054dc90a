/* SPDX-License-Identifier: MIT */
/* Stated ranks, and the pattern in which they repeat. */
#include "import-kineto-groups.h"

#include "base-error.h"
#include "import-ids.h"

struct ImportKinetoSlots {
  guint32 *of_group; /* by index; PROGRAM_NONE: not used, or one rank alone */
};

void import_kineto_slots_free(ImportKinetoSlots *slots) {
  if (slots == NULL)
    return;
  g_free(slots->of_group);
  g_free(slots);
}

guint32 import_kineto_world(const GPtrArray *traces) {
  gint64 world = traces->len;
  for (guint i = 0; i < traces->len; i++) {
    const ImportKinetoTrace *trace = g_ptr_array_index(traces, i);
    world = MAX(world, trace->world);
    for (guint g = 0; g < trace->groups->len && trace->world == IMPORT_KINETO_NONE; g++)
      world = MAX(world, (gint64)g_array_index(trace->groups, ImportKinetoGroup, g).size);
  }
  return (guint32)MIN(world, G_MAXINT32);
}

static gint by_rank(gconstpointer a, gconstpointer b) {
  const ImportKinetoTrace *one = *(ImportKinetoTrace *const *)a, *other = *(ImportKinetoTrace *const *)b;
  return one->rank < other->rank ? -1 : one->rank > other->rank;
}

gboolean import_kineto_order(GPtrArray *traces, GError **error) {
  guint32 world = import_kineto_world(traces);
  const char *path = ((ImportKinetoTrace *)g_ptr_array_index(traces, 0))->path;
  gboolean known = TRUE;
  for (guint i = 0; i < traces->len; i++)
    known &= ((ImportKinetoTrace *)g_ptr_array_index(traces, i))->rank != IMPORT_KINETO_NONE;
  if (traces->len > 1 && traces->len != world) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: %u files of a world of %u ranks; give the file of one rank, or of every rank", path, traces->len,
                world);
    return FALSE;
  }
  if (traces->len == 1 || !known)
    return TRUE;
  g_ptr_array_sort(traces, by_rank);
  for (guint i = 0; i < traces->len; i++)
    if (((ImportKinetoTrace *)g_ptr_array_index(traces, i))->rank != (gint64)i) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s and the other files: rank %u is missing, or there twice", path,
                  i);
      return FALSE;
    }
  return TRUE;
}

/* ---- Groups ---- */

static gboolean fail(const char *path, const ImportKinetoGroup *group, const char *why, GError **error) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: process group \"%s\" %s", path, group->name, why);
  return FALSE;
}

/* Every stride-th of a block of stride × n ranks; one that reaches around all that were measured reaches around all. */
static gboolean repeat(ProgramBuilder *builder, const ImportKinetoGroup *group, const char *path,
                       const ImportKinetoWorld *world, guint32 *ret, GError **error) {
  const guint32 *ranks = (const guint32 *)(gpointer)group->ranks->data;
  guint32 n = group->ranks->len, stride = ranks[1] - ranks[0];
  guint64 block = (guint64)stride * n;
  for (guint32 i = 1; i < n; i++)
    if (ranks[i] <= ranks[i - 1] || ranks[i] - ranks[i - 1] != stride)
      return fail(path, group, "has ranks at uneven distances; give the files of all ranks", error);
  if (ranks[n - 1] >= world->measured || world->measured % block != 0 || ranks[0] % block != ranks[0] % stride)
    return fail(path, group, "does not repeat over all ranks; give the files of all ranks", error);
  if (block == world->measured)
    block = world->ranks;
  g_autofree guint32 *of_rank = g_new(guint32, world->ranks);
  for (guint32 r = 0; r < world->ranks; r++)
    of_rank[r] = (guint32)(r / block) * stride + r % stride;
  *ret = program_builder_communicators(builder, group->name, of_rank, world->ranks);
  return TRUE;
}

static gboolean add_group(ProgramBuilder *builder, const ImportKinetoGroup *group, const char *path,
                          const ImportKinetoWorld *world, guint32 *ret, GError **error) {
  guint32 n = group->ranks->len;
  if (n == 1 || (n == 0 && group->size == 1))
    return TRUE;
  if (n == 0 && group->size != 0 && group->size != world->measured)
    return fail(path, group, "does not say which its ranks are", error);
  *ret = program_builder_slot(builder, group->name);
  if (*ret != PROGRAM_NONE)
    return TRUE;
  if (n == world->measured || n == 0) {
    g_autofree guint32 *all = g_new0(guint32, world->ranks);
    *ret = program_builder_communicators(builder, group->name, all, world->ranks);
    return TRUE;
  }
  if (!world->each)
    return repeat(builder, group, path, world, ret, error);
  const guint32 *ranks = (const guint32 *)(gpointer)group->ranks->data;
  if (ranks[n - 1] >= world->measured)
    return fail(path, group, "has ranks beyond those of the files", error);
  g_autofree guint32 *of_rank = g_new(guint32, world->ranks);
  for (guint32 r = 0; r < world->ranks; r++)
    of_rank[r] = PROGRAM_NONE;
  for (guint32 i = 0; i < n; i++)
    of_rank[ranks[i]] = 0;
  *ret = program_builder_communicators(builder, group->name, of_rank, world->ranks);
  return TRUE;
}

/* With more ranks each member of an all-to-all sends to more peers: how much to whom is not known. */
static gboolean check_growth(const ImportKinetoTrace *trace, const ImportKinetoWorld *world, GError **error) {
  for (guint i = 0; i < trace->kernels->len && world->ranks != world->measured; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->operation != COLL_ALL_TO_ALL && kernel->operation != COLL_SEND_RECV)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: \"%.60s\" (%s) says how much each rank sends to each of %u, which says nothing of %u ranks",
                trace->path, kernel->name, coll_operation_names[kernel->operation], world->measured, world->ranks);
    return FALSE;
  }
  return TRUE;
}

static gboolean check_sized(const ImportKinetoTrace *trace, GError **error) {
  guint sent = 0, silent = 0;
  const char *name = NULL;
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->what == IMPORT_COLLECTIVES || kernel->foreign)
      continue;
    sent++;
    if (kernel->operation != IMPORT_KINETO_NONE || kernel->before)
      continue;
    silent++;
    name = kernel->name;
  }
  if (silent > 0)
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "%s: %u of %u kernels of communication (\"%.60s\") do not say what they send, so they cannot be "
        "simulated; PyTorch writes it since version 2.2, and notes it around the launch with record_shapes=True; "
        "--keep-unsized lets them take the time that was measured",
        trace->path, silent, sent, name);
  return silent == 0;
}

static gboolean *used_groups(const ImportKinetoTrace *trace) {
  gboolean *used = g_new0(gboolean, MAX(trace->groups->len, 1));
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->operation != IMPORT_KINETO_NONE && kernel->group != IMPORT_KINETO_NONE)
      used[kernel->group] = TRUE;
  }
  return used;
}

ImportKinetoSlots *import_kineto_slots_new(ProgramBuilder *builder, const ImportKinetoTrace *trace,
                                           const ImportKinetoWorld *world, GError **error) {
  if ((!world->keep_unsized && !check_sized(trace, error)) || !check_growth(trace, world, error))
    return NULL;
  g_autoptr(ImportKinetoSlots) slots = g_new0(ImportKinetoSlots, 1);
  slots->of_group = g_new(guint32, MAX(trace->groups->len, 1));
  g_autofree gboolean *used = used_groups(trace);
  for (guint g = 0; g < trace->groups->len; g++) {
    slots->of_group[g] = PROGRAM_NONE;
    const ImportKinetoGroup *group = &g_array_index(trace->groups, ImportKinetoGroup, g);
    if (world->ranks > 1 && used[g] && !add_group(builder, group, trace->path, world, &slots->of_group[g], error))
      return NULL;
  }
  return g_steal_pointer(&slots);
}

guint32 import_kineto_slot(const ImportKinetoSlots *slots, const ImportKinetoKernel *kernel) {
  if (kernel->operation == IMPORT_KINETO_NONE || kernel->group == IMPORT_KINETO_NONE)
    return PROGRAM_NONE;
  return slots->of_group[kernel->group];
}

char *import_kineto_gpu(const char *device) {
  g_autoptr(ImportIds) ids = device != NULL ? import_ids_load(NULL) : NULL;
  return ids != NULL ? g_strdup(import_ids_gpu(ids, device)) : NULL;
}
