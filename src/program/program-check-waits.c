/* SPDX-License-Identifier: MIT */
/* One section played without time, ranks that are alike once: what stands at the end waits for ever.
 *
 *   role 0   host ─► … stream: gather A, gather B
 *   role 1   host ─► … stream: gather B, gather A          neither begins: each waits for the other
 */
#include <string.h>

#include "base-error.h"
#include "program-check-private.h"

#define MOST_NAMED 4 /* of those that wait, in an error */

/* Ranks of one role and in the same communicators, under way. */
typedef struct {
  guint32 role;
  const ProgramSection *section;
  guint32 issued;    /* rows that the host has passed */
  guint32 *heads;    /* by stream: the first row on it that has not ended; n_rows: none is left */
  guint8 *ended;     /* by row */
  guint32 *sequence; /* by row: of a collective, among those of its slot */
  guint32 *calls;    /* by slot: that have ended */
} Play;

typedef struct {
  const ProgramCheck *check;
  int section;
  GArray *plays;    /* Play */
  GArray **members; /* by communicator: guint32, plays */
} Waits;

static Play *play_at(const Waits *waits, guint32 index) {
  return &g_array_index(waits->plays, Play, index);
}

static guint32 next_on_stream(const Play *play, guint32 row, guint32 stream) {
  while (row < play->section->n_rows && play->section->rows[row].stream != stream)
    row++;
  return row;
}

static void add_play(Waits *waits, guint32 rank) {
  const Program *program = waits->check->program;
  const ProgramSection *section = &program->roles[program->ranks[rank].role].sections[waits->section];
  g_autofree guint32 *calls = g_new0(guint32, program->n_slots);
  Play play = {.role = program->ranks[rank].role,
               .section = section,
               .heads = g_new(guint32, program->n_streams),
               .ended = g_new0(guint8, section->n_rows),
               .sequence = g_new0(guint32, section->n_rows),
               .calls = g_new0(guint32, program->n_slots)};
  for (guint32 s = 0; s < program->n_streams; s++)
    play.heads[s] = next_on_stream(&play, 0, s);
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COLLECTIVE)
      play.sequence[i] = calls[section->rows[i].group]++;
  g_array_append_val(waits->plays, play);
}

static void play_clear(Play *play) {
  g_free(play->heads);
  g_free(play->ended);
  g_free(play->sequence);
  g_free(play->calls);
}

/* The first need of a row that has not ended; PROGRAM_NONE: all have. */
static guint32 unmet(const Play *play, guint32 row) {
  const ProgramRow *what = &play->section->rows[row];
  for (guint32 i = 0; i < what->n_needs; i++)
    if (!play->ended[play->section->needs[what->needs + i]])
      return play->section->needs[what->needs + i];
  return PROGRAM_NONE;
}

static void end_row(Play *play, guint32 row) {
  const ProgramRow *what = &play->section->rows[row];
  play->ended[row] = TRUE;
  if (what->kind == PROGRAM_HOST)
    return;
  play->heads[what->stream] = next_on_stream(play, row + 1, what->stream);
  if (what->kind == PROGRAM_COLLECTIVE)
    play->calls[what->group]++;
}

/* A row at the head of its stream, issued, its needs ended; of a collective, also those before it. */
static gboolean may_start(const Play *play, guint32 row) {
  if (row >= play->issued || unmet(play, row) != PROGRAM_NONE)
    return FALSE;
  const ProgramRow *what = &play->section->rows[row];
  return what->kind != PROGRAM_COLLECTIVE || play->sequence[row] == play->calls[what->group];
}

/* All that a role can do without others. */
static gboolean go_on(Play *play, guint32 n_streams) {
  gboolean moved = FALSE;
  for (gboolean more = TRUE; more; moved |= more) {
    more = FALSE;
    while (play->issued < play->section->n_rows) {
      guint32 row = play->issued;
      gboolean waits = play->section->rows[row].kind == PROGRAM_HOST;
      if (waits && unmet(play, row) != PROGRAM_NONE)
        break;
      play->issued++;
      if (waits)
        end_row(play, row);
      more = TRUE;
    }
    for (guint32 s = 1; s < n_streams; s++)
      while (play->heads[s] < play->section->n_rows && may_start(play, play->heads[s]) &&
             play->section->rows[play->heads[s]].kind != PROGRAM_COLLECTIVE) {
        end_row(play, play->heads[s]);
        more = TRUE;
      }
  }
  return moved;
}

/* The row by which a role waits in a communicator for the others; PROGRAM_NONE: it does not. */
static guint32 arrived(const Play *play, guint32 group, guint32 n_streams) {
  for (guint32 s = 1; s < n_streams; s++) {
    guint32 row = play->heads[s];
    if (row < play->section->n_rows && play->section->rows[row].kind == PROGRAM_COLLECTIVE &&
        play->section->rows[row].group == group && may_start(play, row))
      return row;
  }
  return PROGRAM_NONE;
}

/* Whether the members of a communicator, of which there are some, all wait in it; then they go on. */
static gboolean play_collective(const Waits *waits, guint32 communicator) {
  const Program *program = waits->check->program;
  const GArray *members = waits->members[communicator];
  guint32 slot = program_slot_of(program, communicator);
  for (guint i = 0; i < members->len; i++)
    if (arrived(play_at(waits, g_array_index(members, guint32, i)), slot, program->n_streams) == PROGRAM_NONE)
      return FALSE;
  for (guint i = 0; i < members->len; i++) {
    Play *play = play_at(waits, g_array_index(members, guint32, i));
    end_row(play, arrived(play, slot, program->n_streams));
  }
  return TRUE;
}

static gboolean play_collectives(const Waits *waits) {
  gboolean moved = FALSE;
  for (guint32 c = 0; c < waits->check->program->n_communicators; c++)
    while (play_collective(waits, c))
      moved = TRUE;
  return moved;
}

/* What a role stands at: its host, or else the first row that has not ended. */
static guint32 stands_at(const Play *play) {
  for (guint32 row = 0; row < play->section->n_rows; row++)
    if (!play->ended[row])
      return row;
  return PROGRAM_NONE;
}

static gboolean fail(const Waits *waits, GError **error) {
  g_autoptr(GString) others = g_string_new(NULL);
  const Play *first = NULL;
  guint named = 0;
  for (guint i = 0; i < waits->plays->len; i++) {
    const Play *play = play_at(waits, i);
    guint32 row = stands_at(play);
    if (row == PROGRAM_NONE)
      continue;
    if (first == NULL) {
      first = play;
      continue;
    }
    if (named++ == MOST_NAMED)
      g_string_append(others, "; …");
    if (named > MOST_NAMED)
      continue;
    g_autofree char *text = program_row_text(waits->check, play->role, waits->section, row);
    g_string_append_printf(others, "; line %u, %s", program_place(waits->check, play->role, waits->section, row).line,
                           text);
  }
  sim_require(first != NULL, 0, NULL, "a section whose wait cannot end, and in which nobody waits");
  return program_check_fail(waits->check, first->role, waits->section, stands_at(first), error,
                            "a wait that can never end%s%s", others->len > 0 ? ", with these waiting too" : "",
                            others->str);
}

/* One play for all ranks that are alike. */
static void find_plays(Waits *waits) {
  const Program *program = waits->check->program;
  g_autoptr(GHashTable) known = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
  g_autofree guint32 *alike = g_new0(guint32, program->n_slots + 1);
  g_autofree guint32 *play_of = g_new(guint32, program->n_ranks);
  for (guint32 rank = 0; rank < program->n_ranks; rank++) {
    alike[0] = program->ranks[rank].role;
    for (guint32 slot = 0; slot < program->n_slots; slot++)
      alike[slot + 1] = program_group(program, rank, slot);
    GBytes *key = g_bytes_new(alike, (program->n_slots + 1) * sizeof *alike);
    gpointer found = g_hash_table_lookup(known, key);
    play_of[rank] = found != NULL ? GPOINTER_TO_UINT(found) - 1 : waits->plays->len;
    if (found == NULL)
      add_play(waits, rank);
    g_hash_table_insert(known, key, GUINT_TO_POINTER(play_of[rank] + 1));
  }
  for (guint32 c = 0; c < program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &program->communicators[c];
    waits->members[c] = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GHashTable) in = g_hash_table_new(NULL, NULL);
    for (guint32 i = 0; i < communicator->n_ranks; i++)
      if (g_hash_table_add(in, GUINT_TO_POINTER(play_of[communicator->ranks[i]] + 1)))
        g_array_append_val(waits->members[c], play_of[communicator->ranks[i]]);
  }
}

static gboolean play_all(const Waits *waits) {
  for (gboolean moved = TRUE; moved;) {
    moved = FALSE;
    for (guint i = 0; i < waits->plays->len; i++)
      moved |= go_on(play_at(waits, i), waits->check->program->n_streams);
    moved |= play_collectives(waits);
  }
  for (guint i = 0; i < waits->plays->len; i++)
    if (stands_at(play_at(waits, i)) != PROGRAM_NONE)
      return FALSE;
  return TRUE;
}

gboolean program_check_waits(const ProgramCheck *check, int section, GError **error) {
  const Program *program = check->program;
  if (program->n_roles == 1)
    return TRUE;
  Waits waits = {check, section, g_array_new(FALSE, FALSE, sizeof(Play)), g_new0(GArray *, program->n_communicators)};
  find_plays(&waits);
  gboolean good = play_all(&waits) || fail(&waits, error);
  for (guint i = 0; i < waits.plays->len; i++)
    play_clear(play_at(&waits, i));
  for (guint32 c = 0; c < program->n_communicators; c++)
    g_array_unref(waits.members[c]);
  g_array_unref(waits.plays);
  g_free(waits.members);
  return good;
}
