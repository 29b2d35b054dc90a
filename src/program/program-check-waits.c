/* One section played without time, all roles side by side: what stands at the end waits for ever.
 *
 *   role 0   host ─► … stream: gather A, gather B
 *   role 1   host ─► … stream: gather B, gather A          neither begins: each waits for the other
 */
#include <string.h>

#include "base-error.h"
#include "program-check-private.h"

/* A role under way. */
typedef struct {
  const ProgramSection *section;
  guint32 issued;    /* rows that the host has passed */
  guint32 *heads;    /* by stream: the first row on it that has not ended; n_rows: none is left */
  guint8 *ended;     /* by row */
  guint32 *sequence; /* by row: of a collective, among those of its communicator */
  guint32 *calls;    /* by communicator: that have ended */
} Play;

typedef struct {
  const ProgramCheck *check;
  int section;
  Play *plays;        /* by role */
  guint8 **member_of; /* by communicator: roles whose ranks are members, a byte each */
} Waits;

static guint32 next_on_stream(const Play *play, guint32 row, guint32 stream) {
  while (row < play->section->n_rows && play->section->rows[row].stream != stream)
    row++;
  return row;
}

static void play_init(Play *play, const Program *program, const ProgramSection *section) {
  g_autofree guint32 *calls = g_new0(guint32, program->n_communicators);
  *play = (Play){.section = section,
                 .heads = g_new(guint32, program->n_streams),
                 .ended = g_new0(guint8, section->n_rows),
                 .sequence = g_new0(guint32, section->n_rows),
                 .calls = g_new0(guint32, program->n_communicators)};
  for (guint32 s = 0; s < program->n_streams; s++)
    play->heads[s] = next_on_stream(play, 0, s);
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COLLECTIVE)
      play->sequence[i] = calls[section->rows[i].group]++;
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
             play->section->rows[play->heads[s]].kind == PROGRAM_COMPUTE) {
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

static gboolean all_arrived(const Waits *waits, guint32 group) {
  const Program *program = waits->check->program;
  for (guint32 r = 0; r < program->n_roles; r++)
    if (waits->member_of[group][r] && arrived(&waits->plays[r], group, program->n_streams) == PROGRAM_NONE)
      return FALSE;
  return TRUE;
}

static gboolean play_collectives(Waits *waits) {
  const Program *program = waits->check->program;
  gboolean moved = FALSE;
  for (guint32 c = 0; c < program->n_communicators; c++)
    while (all_arrived(waits, c)) {
      for (guint32 r = 0; r < program->n_roles; r++)
        if (waits->member_of[c][r])
          end_row(&waits->plays[r], arrived(&waits->plays[r], c, program->n_streams));
      moved = TRUE;
    }
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
  const Program *program = waits->check->program;
  g_autoptr(GString) others = g_string_new(NULL);
  guint32 first = PROGRAM_NONE, named = 0;
  for (guint32 r = 0; r < program->n_roles; r++) {
    guint32 row = stands_at(&waits->plays[r]);
    if (row == PROGRAM_NONE)
      continue;
    if (first == PROGRAM_NONE) {
      first = r;
      continue;
    }
    if (named++ == 4)
      g_string_append(others, "; …");
    if (named > 4)
      continue;
    g_autofree char *text = program_row_text(waits->check, r, waits->section, row);
    g_string_append_printf(others, "; line %u, %s", program_place(waits->check, r, waits->section, row).line, text);
  }
  guint32 row = stands_at(&waits->plays[first]);
  return program_check_fail(waits->check, first, waits->section, row, error, "a wait that can never end%s%s",
                            others->len > 0 ? ", with these waiting too" : "", others->str);
}

static void find_members(Waits *waits) {
  const Program *program = waits->check->program;
  for (guint32 c = 0; c < program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &program->communicators[c];
    waits->member_of[c] = g_new0(guint8, program->n_roles);
    for (guint32 i = 0; i < communicator->n_ranks; i++)
      waits->member_of[c][program->ranks[communicator->ranks[i]].role] = TRUE;
  }
}

static gboolean play_all(Waits *waits) {
  const Program *program = waits->check->program;
  for (gboolean moved = TRUE; moved;) {
    moved = FALSE;
    for (guint32 r = 0; r < program->n_roles; r++)
      moved |= go_on(&waits->plays[r], program->n_streams);
    moved |= play_collectives(waits);
  }
  for (guint32 r = 0; r < program->n_roles; r++)
    if (stands_at(&waits->plays[r]) != PROGRAM_NONE)
      return FALSE;
  return TRUE;
}

gboolean program_check_waits(const ProgramCheck *check, int section, GError **error) {
  const Program *program = check->program;
  Waits waits = {check, section, g_new0(Play, program->n_roles), g_new0(guint8 *, program->n_communicators)};
  for (guint32 r = 0; r < program->n_roles; r++)
    play_init(&waits.plays[r], program, &program->roles[r].sections[section]);
  find_members(&waits);
  gboolean good = play_all(&waits) || fail(&waits, error);
  for (guint32 r = 0; r < program->n_roles; r++)
    play_clear(&waits.plays[r]);
  for (guint32 c = 0; c < program->n_communicators; c++)
    g_free(waits.member_of[c]);
  g_free(waits.plays);
  g_free(waits.member_of);
  return good;
}
