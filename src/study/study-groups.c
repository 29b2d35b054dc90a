/* SPDX-License-Identifier: MIT */
/* The Program's communicators on the cluster, connected by what it calls on them. */
#include "study-walk.h"

static void note_call(GArray *calls, const CollCall *call) {
  for (guint i = 0; i < calls->len; i++)
    if (g_array_index(calls, CollCall, i).operation == call->operation &&
        g_array_index(calls, CollCall, i).bytes == call->bytes)
      return;
  g_array_append_vals(calls, call, 1);
}

/* What the Program calls, by slot, each call once. */
static GPtrArray *find_calls(const Program *program) {
  GPtrArray *calls = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  for (guint32 slot = 0; slot < program->n_slots; slot++)
    g_ptr_array_add(calls, g_array_new(FALSE, FALSE, sizeof(CollCall)));
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      const ProgramSection *section = &program->roles[r].sections[s];
      for (guint32 i = 0; i < section->n_rows; i++)
        if (section->rows[i].kind == PROGRAM_COLLECTIVE)
          note_call(g_ptr_array_index(calls, section->rows[i].group), &section->rows[i].call);
    }
  return calls;
}

/* Connects, on each communicator, what is called on the slots that mean it. */
static void prepare(const StudyWalk *walk) {
  const Program *program = walk->program;
  g_autoptr(GPtrArray) calls = find_calls(program);
  for (guint32 slot = 0; slot < program->n_slots; slot++) {
    const GArray *on_slot = g_ptr_array_index(calls, slot);
    g_autofree gboolean *done = g_new0(gboolean, program->n_communicators);
    for (guint32 rank = 0; rank < program->n_ranks; rank++) {
      guint32 group = program_group(program, rank, slot);
      for (guint k = 0; group != PROGRAM_NONE && !done[group] && k < on_slot->len; k++)
        coll_group_prepare(walk->groups[group], &g_array_index(on_slot, CollCall, k));
      if (group != PROGRAM_NONE)
        done[group] = TRUE;
    }
  }
}

gboolean study_walk_groups(StudyWalk *walk, GError **error) {
  walk->n_groups = walk->program->n_communicators;
  walk->groups = g_new0(CollGroup *, walk->n_groups);
  for (guint32 c = 0; c < walk->program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &walk->program->communicators[c];
    walk->groups[c] = coll_group_new(walk->machine->library, communicator->ranks, communicator->n_ranks, error);
    if (walk->groups[c] == NULL) {
      g_prefix_error(error, "communicator %s: ", communicator->name);
      return FALSE;
    }
  }
  prepare(walk);
  return TRUE;
}

void study_groups_free(CollGroup **groups, guint32 n) {
  for (guint32 c = 0; groups != NULL && c < n; c++)
    coll_group_free(groups[c]);
  g_free(groups);
}

void study_walk_clear_groups(StudyWalk *walk) {
  if (!walk->groups_kept)
    study_groups_free(walk->groups, walk->n_groups);
  walk->groups = NULL;
  walk->groups_kept = FALSE;
}
