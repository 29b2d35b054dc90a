/* SPDX-License-Identifier: MIT */
/* The rules one after another, the cheap ones first. */
#include "program-check.h"

#include <string.h>

#include "base-error.h"
#include "program-check-private.h"
#include "program-ranks.h"

ProgramPlace program_place(const ProgramCheck *check, guint32 role, int section, guint32 row) {
  const ProgramPlaces *places = check->places;
  if (places == NULL || places->rows == NULL)
    return (ProgramPlace){0, NULL};
  return places->rows[role * PROGRAM_SECTIONS + (guint32)section][row];
}

static char *ranks_of_role(const Program *program, guint32 role) {
  g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint32 i = 0; i < program->n_ranks; i++)
    if (program->ranks[i].role == role)
      g_array_append_val(ranks, i);
  return program_ranks_format((const guint32 *)(gpointer)ranks->data, ranks->len);
}

char *program_row_text(const ProgramCheck *check, guint32 role, int section, guint32 row) {
  const ProgramRole *of = &check->program->roles[role];
  ProgramPlace place = program_place(check, role, section, row);
  g_autofree char *number = g_strdup_printf("%u", row);
  g_autofree char *ranks = ranks_of_role(check->program, role);
  return g_strdup_printf("task %s (%s) of role %s, rank%s %s, step %s", place.task != NULL ? place.task : number,
                         of->sections[section].rows[row].name, of->name, strpbrk(ranks, ",-") != NULL ? "s" : "", ranks,
                         program_section_names[section]);
}

gboolean program_check_fail(const ProgramCheck *check, guint32 role, int section, guint32 row, GError **error,
                            const char *format, ...) {
  BasePlace place = {.file = check->places != NULL ? check->places->file : NULL,
                     .line = program_place(check, role, section, row).line};
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_autofree char *what = program_row_text(check, role, section, row);
  base_error_set_at(error, &place, "%s: %s", what, message);
  return FALSE;
}

static gboolean check_rows(const ProgramCheck *check, GError **error) {
  const Program *program = check->program;
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      if (program->roles[r].sections[s].n_rows == 0) {
        BasePlace place = {.file = check->places != NULL ? check->places->file : NULL};
        base_error_set_at(error, &place,
                          "role %s has no row in step %s; it needs one, if only a host row that takes what is held",
                          program->roles[r].name, program_section_names[s]);
        return FALSE;
      }
  return TRUE;
}

static gboolean is_member(const ProgramCommunicator *communicator, guint32 rank) {
  guint32 low = 0, high = communicator->n_ranks;
  while (low < high) {
    guint32 middle = low + (high - low) / 2;
    if (communicator->ranks[middle] < rank)
      low = middle + 1;
    else
      high = middle;
  }
  return low < communicator->n_ranks && communicator->ranks[low] == rank;
}

/* The rank of a role that is not in the communicator it means by a slot; PROGRAM_NONE: all are. */
static guint32 outsider(const Program *program, guint32 role, guint32 slot) {
  for (guint32 i = 0; i < program->n_ranks; i++) {
    if (program->ranks[i].role != role)
      continue;
    guint32 group = program_group(program, i, slot);
    if (group == PROGRAM_NONE || !is_member(&program->communicators[group], i))
      return i;
  }
  return PROGRAM_NONE;
}

guint32 program_slot_of(const Program *program, guint32 communicator) {
  guint32 rank = program->communicators[communicator].ranks[0], slot = 0;
  while (slot < program->n_slots && program_group(program, rank, slot) != communicator)
    slot++;
  return slot;
}

static guint32 next_call(const ProgramSection *section, guint32 row, guint32 group) {
  while (row < section->n_rows && (section->rows[row].kind != PROGRAM_COLLECTIVE || section->rows[row].group != group))
    row++;
  return row;
}

static gboolean check_members(const ProgramCheck *check, guint32 slot, guint32 role, GError **error) {
  const Program *program = check->program;
  for (int s = 0; s < PROGRAM_SECTIONS; s++) {
    const ProgramSection *section = &program->roles[role].sections[s];
    guint32 row = next_call(section, 0, slot);
    guint32 outside = row < section->n_rows ? outsider(program, role, slot) : PROGRAM_NONE;
    if (outside != PROGRAM_NONE)
      return program_check_fail(check, role, s, row, error, "rank %u is no member of communicator %s", outside,
                                program->slots[slot]);
  }
  return TRUE;
}

/* The n-th calls of two roles on a communicator are one call. */
static gboolean check_pair(const ProgramCheck *check, guint32 communicator, guint32 group, int s, guint32 one,
                           guint32 other, GError **error) {
  const Program *program = check->program;
  const ProgramSection *first = &program->roles[one].sections[s], *second = &program->roles[other].sections[s];
  const char *name = program->communicators[communicator].name;
  guint32 i = next_call(first, 0, group), j = next_call(second, 0, group);
  for (guint n = 1;; n++, i = next_call(first, i + 1, group), j = next_call(second, j + 1, group)) {
    if (i == first->n_rows && j == second->n_rows)
      return TRUE;
    if (i == first->n_rows)
      return program_check_fail(check, other, s, j, error,
                                "call %u on communicator %s, of which role %s issues only %u: a wait that cannot end",
                                n, name, program->roles[one].name, n - 1);
    if (j == second->n_rows)
      return program_check_fail(check, one, s, i, error,
                                "call %u on communicator %s, of which role %s issues only %u: a wait that cannot end",
                                n, name, program->roles[other].name, n - 1);
    const CollCall *a = &first->rows[i].call, *b = &second->rows[j].call;
    if (a->operation == b->operation && a->bytes == b->bytes)
      continue;
    g_autofree char *there = program_row_text(check, one, s, i);
    return program_check_fail(check, other, s, j, error,
                              "call %u on communicator %s is %s of %" G_GUINT64_FORMAT
                              " bytes, but line %u, %s, has %s of %" G_GUINT64_FORMAT " bytes",
                              n, name, coll_operation_names[b->operation], b->bytes,
                              program_place(check, one, s, i).line, there, coll_operation_names[a->operation],
                              a->bytes);
  }
}

static gboolean check_communicator(const ProgramCheck *check, guint32 index, GError **error) {
  const Program *program = check->program;
  const ProgramCommunicator *communicator = &program->communicators[index];
  g_autofree gboolean *seen = g_new0(gboolean, program->n_roles);
  guint32 slot = program_slot_of(program, index);
  guint32 first = program->ranks[communicator->ranks[0]].role;
  seen[first] = TRUE;
  for (guint32 i = 0; i < communicator->n_ranks; i++) {
    guint32 role = program->ranks[communicator->ranks[i]].role;
    for (int s = 0; s < PROGRAM_SECTIONS && !seen[role]; s++)
      if (!check_pair(check, index, slot, s, first, role, error))
        return FALSE;
    seen[role] = TRUE;
  }
  return TRUE;
}

gboolean program_check(const Program *program, const ProgramPlaces *places, GError **error) {
  const ProgramCheck check = {program, places};
  if (!check_rows(&check, error))
    return FALSE;
  for (guint32 slot = 0; slot < program->n_slots; slot++)
    for (guint32 role = 0; role < program->n_roles; role++)
      if (!check_members(&check, slot, role, error))
        return FALSE;
  for (guint32 c = 0; c < program->n_communicators; c++)
    if (!check_communicator(&check, c, error))
      return FALSE;
  for (guint32 r = 0; r < program->n_roles; r++)
    if (!program_check_memory(&check, r, error))
      return FALSE;
  for (int s = 0; s < PROGRAM_SECTIONS; s++)
    if (!program_check_waits(&check, s, error))
      return FALSE;
  return TRUE;
}
