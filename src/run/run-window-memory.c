/* SPDX-License-Identifier: MIT */
/* The memory of a step whose micro-batches are counted: all of it is made, move by move, though only few bodies were
 * played. The allocator may put tensors of later micro-batches elsewhere, and come to need another segment.
 *
 *   moves as played     a1 a2 e a3 │ body 0 │ body 1 │ a9 e …        of one rank, in their order
 *   made                a1 a2 e a3 │ body 0 │ body 1 │ u' │ u" │ … │ a9 e …
 *
 * Copied is a unit: the end of body 1 that is like what stands before it in both bodies, a micro-batch or a group of
 * them, or all of body 1. What a copy gives was taken as many takes before as what the unit gives was. Takes are
 * numbered in the order of the section; those that a later give can reach lie in a ring, by number:
 *
 *   number   … T-3 T-2 T-1 │ T T+1 …          T: takes before the first copy
 *   ring       the blocks that tensors of that number have, whichever tensors stand for them
 *
 * What waits for a stream is free once the stream has come so far, and where the host issues faster than the stream
 * runs that is later, in the order of moves, with every body: copies of one do not say when. Bodies of a rank that
 * gives so are counted only where its host and its streams keep step.
 *
 * Once a copy leaves the allocator, and the blocks in the ring, as an earlier one did, all that lies between repeats,
 * and so many copies are passed over: what is left costs as many copies as the allocator takes to settle (blocks of
 * micro-batches in flight take turns, so of n in flight some multiple of n). A step that ends as the one before it
 * ended is followed by its like, and no further one is made. Cost: that many times the moves of a unit, and all moves
 * of two or three steps as played once more, for each heap.
 *
 * Where memory runs out before the first copy nothing is made: what was played has already told which request fails,
 * and what is reserved beyond the device is no promise of the byte (study-count.h). It is where copies cost most, since
 * there the cache goes back again and again. */
#include <string.h>

#include "run-state.h"
#include "run-unit.h"

/* ---- Copies ---- */

/* A rank's moves, made anew in a heap of its own. */
typedef struct {
  RunRank *rank;
  RunHeap *heap;
  const RunUnit *units; /* by section */
  const guint64 *moves;
  guint32 n_moves;
  guint32 from;    /* move at which the host came to the unit of the step that it is in */
  guint32 copied;  /* units, those passed over not counted */
  guint64 mark;    /* of the addresses that the last copy took */
  guint64 flushes; /* when segments were moved together */
  guint32 *ring, room;
  GArray *held;          /* guint32: numbers of what was held before the first copy, of what is in reach */
  BaseVector layouts[2]; /* guint64: at an earlier copy, and now */
  BaseVector ahead;      /* guint64: rows that the host is ahead of waited streams, at the borders of a step */
  RunLevels levels[RUN_MOST_STEPS];
  guint32 ended;      /* steps */
  BaseVector ends[2]; /* guint64: what was held where when the last but one ended, and the last */
  gboolean known;     /* further steps are as the last */
  gboolean changed;   /* a move is not what it was when it was played */
} Anew;

static guint32 *block_of(const Anew *anew, guint64 number) {
  return &anew->ring[number % anew->room];
}

/* Of what is beside the allocator: none. */
static guint64 place_of(const Anew *anew, guint32 block) {
  return block == PROGRAM_NONE ? G_MAXUINT64 : mem_allocator_address(anew->heap->allocator, block);
}

/* By number, the takes that a later give can reach. */
static guint32 first_reached(const RunUnit *unit) {
  return unit->takes > unit->reach ? unit->takes - unit->reach : 0;
}

static void into_ring(Anew *anew, const RunUnit *unit) {
  anew->room = unit->reach + unit->of_unit + 1;
  anew->ring = g_renew(guint32, anew->ring, anew->room);
  anew->copied = 0;
  memset(anew->ring, 0xff, anew->room * sizeof *anew->ring);
  g_array_set_size(anew->held, 0);
  for (guint32 i = first_reached(unit); i < unit->takes; i++) {
    guint32 tensor = unit->tensors[i], block = anew->heap->blocks[tensor];
    if (block == PROGRAM_NONE || unit->last[tensor] != i)
      continue;
    *block_of(anew, i) = block;
    g_array_append_val(anew->held, i);
  }
}

static guint64 takes_of_copies(const Anew *anew, const RunUnit *unit) {
  return (guint64)anew->copied * unit->of_unit;
}

/* The same tensors as before stand for what later copies of them took. */
static void out_of_ring(Anew *anew, const RunUnit *unit) {
  for (guint32 i = 0; i < anew->held->len; i++) {
    guint32 number = g_array_index(anew->held, guint32, i);
    guint32 block = *block_of(anew, number + takes_of_copies(anew, unit));
    anew->changed |= block == PROGRAM_NONE;
    anew->heap->blocks[unit->tensors[number]] = block;
  }
}

#define MARK_FACTOR G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) /* odd: 2^64 / the golden ratio */

/* The host acts on a row of a copy; `gives` and `takes`: of the copy, so far. */
static void act_copied(Anew *anew, const RunUnit *unit, guint64 move, guint32 *gives, guint32 *takes) {
  const ProgramSection *section =
      &anew->rank->role->sections[run_move_step(move) == 0 ? PROGRAM_FIRST : PROGRAM_STEADY];
  const ProgramRow *row = &section->rows[(guint32)move];
  guint32 *blocks = anew->heap->blocks;
  guint64 later = takes_of_copies(anew, unit), number = unit->takes - unit->of_unit + later + *takes;
  for (guint32 i = 0; i < row->n_gives; i++) {
    guint32 *block = block_of(anew, unit->taken[*gives + i] + later);
    blocks[section->gives[row->gives + i].tensor] = *block;
    anew->changed |= *block == PROGRAM_NONE;
    *block = PROGRAM_NONE;
  }
  if (anew->changed)
    return;
  run_heap_move(anew->heap, anew->rank, move);
  for (guint32 i = 0; i < row->n_takes; i++) {
    guint32 block = blocks[section->takes[row->takes + i]];
    *block_of(anew, number + i) = block;
    anew->mark = MARK_FACTOR * (anew->mark ^ place_of(anew, block));
  }
  *gives += row->n_gives;
  *takes += row->n_takes;
}

/* It matters only where something waits for a stream. */
static void end_copied(Anew *anew, const RunUnit *unit, guint64 move) {
  const RunPasses *passes = &anew->heap->passes[(guint32)move];
  if (unit->waits && passes->ended < passes->issued)
    run_heap_move(anew->heap, anew->rank, move);
}

/* Once memory has run out the cache goes back again and again, and all segments after that are new. */
static void move_together(Anew *anew) {
  guint64 flushes = mem_allocator_use(anew->heap->allocator)->flushes;
  if (anew->copied == 0 || flushes != anew->flushes)
    mem_allocator_compact(anew->heap->allocator);
  anew->flushes = flushes;
}

static void copy_unit(Anew *anew, const RunUnit *unit, guint32 end) {
  guint32 gives = 0, takes = 0, step = run_move_step(anew->moves[anew->from]);
  move_together(anew);
  anew->copied++;
  anew->mark = 0;
  for (guint32 i = anew->from; i < end && !anew->changed; i++) {
    guint64 move = anew->moves[i];
    if (run_move_kind(move) == RUN_ENDS)
      end_copied(anew, unit, move);
    else if (run_move_kind(move) == RUN_ACTS && run_move_step(move) == step)
      act_copied(anew, unit, move, &gives, &takes);
    else
      anew->changed = TRUE;
  }
}

static void add_number(BaseVector *layout, guint64 number) {
  *(guint64 *)base_vector_next(layout, sizeof number) = number;
}

/* By how much the host is ahead of a stream may grow with every unit, where its host is the faster; it matters only
 * where something waits for the stream. */
static void add_frees(const Anew *anew, const RunPasses *passes, gboolean waited, BaseVector *layout) {
  const RunFree *frees = passes->frees.data;
  if (waited || passes->frees.n > 0)
    add_number(layout, passes->issued - passes->ended);
  for (guint32 i = passes->frees_begun; i < passes->frees.n; i++) {
    add_number(layout, passes->issued - frees[i].ordinal);
    add_number(layout, mem_allocator_address(anew->heap->allocator, frees[i].block));
  }
}

/* All that decides what further copies make of the heap. */
static void take_layout(const Anew *anew, const RunUnit *unit, BaseVector *layout) {
  guint64 end = unit->takes + takes_of_copies(anew, unit);
  layout->n = 0;
  mem_allocator_layout(anew->heap->allocator, layout);
  for (guint64 i = end - MIN(end, unit->reach); i < end; i++) {
    guint32 block = *block_of(anew, i);
    add_number(layout, place_of(anew, block));
  }
  for (guint32 s = 0; s < anew->rank->play->system->program->n_streams; s++)
    add_frees(anew, &anew->heap->passes[s], unit->waited[s], layout);
}

static gboolean layouts_equal(const BaseVector *layouts) {
  return layouts[0].n == layouts[1].n && memcmp(layouts[0].data, layouts[1].data, layouts[0].n * sizeof(guint64)) == 0;
}

/* The last copy left all as the one did that was noted. */
static gboolean copies_repeat(Anew *anew, const RunUnit *unit) {
  move_together(anew);
  take_layout(anew, unit, &anew->layouts[1]);
  return layouts_equal(anew->layouts);
}

/* All copies; what to compare with is noted after the 1st, 2nd, 4th, 8th … */
static void copy_units(Anew *anew, const RunUnit *unit, guint32 end) {
  const RunWindows *windows = &anew->rank->play->options->windows;
  guint64 left = windows->more * (windows->body / unit->micros), mark = 0;
  guint32 noted = 0;
  into_ring(anew, unit);
  while (left > 0 && !anew->changed) {
    copy_unit(anew, unit, end);
    left--;
    if (noted > 0 && anew->mark == mark && copies_repeat(anew, unit))
      left %= anew->copied - noted;
    if ((anew->copied & (anew->copied - 1)) == 0) {
      move_together(anew);
      take_layout(anew, unit, &anew->layouts[0]);
      mark = anew->mark;
      noted = anew->copied;
    }
  }
  if (!anew->changed)
    out_of_ring(anew, unit);
}

/* ---- Streams that are waited for ---- */

static void note_ahead(Anew *anew, const RunUnit *unit) {
  for (guint32 s = 0; s < anew->rank->play->system->program->n_streams; s++)
    if (unit->waited[s])
      add_number(&anew->ahead, anew->heap->passes[s].issued - anew->heap->passes[s].ended);
}

/* Of as many numbers at each border. */
static gboolean keeps_ahead(const Anew *anew) {
  const guint64 *ahead = anew->ahead.data;
  guint32 n = anew->ahead.n / RUN_BORDERS;
  return n == 0 || (memcmp(ahead, ahead + n, n * sizeof *ahead) == 0 &&
                    memcmp(ahead, ahead + RUN_BODIES * n, n * sizeof *ahead) == 0);
}

static void at_border(Anew *anew, const RunUnit *unit, guint32 border) {
  anew->ahead.n = border == 0 ? 0 : anew->ahead.n;
  note_ahead(anew, unit);
  anew->changed |= border == RUN_BODIES && !keeps_ahead(anew);
}

static gboolean waits(const RunUnit *units) {
  gboolean waits = FALSE;
  for (int section = 0; section < PROGRAM_SECTIONS; section++)
    waits |= units[section].waits;
  return waits;
}

/* ---- The whole ---- */

static void note_end(const Anew *anew, BaseVector *end) {
  const RunHeap *heap = anew->heap;
  end->n = 0;
  add_number(end, heap->outside);
  add_number(end, heap->managed);
  mem_allocator_layout(heap->allocator, end);
  for (guint32 t = 0; t < anew->rank->play->system->program->n_tensors; t++) {
    if (heap->blocks[t] == PROGRAM_NONE)
      continue;
    add_number(end, t);
    add_number(end, mem_allocator_address(heap->allocator, heap->blocks[t]));
  }
}

/* Where nothing waits for a stream all that further steps make of a heap follows from what is held where. */
static void end_step(Anew *anew) {
  BaseVector before = anew->ends[0];
  anew->levels[anew->ended++] = run_heap_levels(anew->heap);
  if (waits(anew->units))
    return;
  move_together(anew);
  anew->ends[0] = anew->ends[1];
  anew->ends[1] = before;
  note_end(anew, &anew->ends[1]);
  anew->known = layouts_equal(anew->ends);
  while (anew->known && anew->ended < anew->rank->steps_ended) {
    anew->levels[anew->ended] = anew->levels[anew->ended - 1];
    anew->ended++;
  }
}

static void make_move(Anew *anew, guint32 i) {
  guint64 move = anew->moves[i];
  const RunUnit *unit = &anew->units[run_move_step(move) == 0 ? PROGRAM_FIRST : PROGRAM_STEADY];
  if (run_move_kind(move) == RUN_STEP_ENDS) {
    end_step(anew);
    return;
  }
  if (run_move_kind(move) == RUN_ACTS && (guint32)move == unit->row)
    anew->from = i;
  for (guint32 border = 0; border < RUN_BORDERS && run_move_kind(move) == RUN_ACTS; border++)
    if ((guint32)move == unit->watched[border])
      at_border(anew, unit, border);
  if (run_move_kind(move) == RUN_ACTS && (guint32)move == unit->watched[RUN_BODIES] && !anew->changed) {
    gboolean ran_out = anew->heap->has_oom;
    copy_units(anew, unit, i);
    anew->changed |= anew->heap->has_oom != ran_out;
  }
  if (!anew->changed)
    run_heap_move(anew->heap, anew->rank, move);
}

static gboolean same_levels(const RunLevels *levels) {
  return levels[0].allocated == levels[1].allocated && levels[0].reserved == levels[1].reserved;
}

static gboolean repeats_where_it_did(const Anew *anew) {
  gboolean same = anew->ended == anew->rank->steps_ended;
  for (guint32 i = 1; same && i + 1 < anew->ended; i++)
    same = same_levels(&anew->levels[i]) == same_levels(&anew->rank->window.levels[i]);
  return same;
}

/* It waits for memory, and the host for the device's allocator, no more than it did as played, and is found to repeat
 * where it was. Once memory has run out nothing waits for it: then it is enough that it runs out at the same row. */
static gboolean goes_as_played(const Anew *anew) {
  const RunHeap *played = anew->rank->memory.heap, *heap = anew->heap;
  if (anew->changed || heap->has_oom != played->has_oom || heap->ledger.peak != played->ledger.peak ||
      heap->device_time != played->device_time)
    return FALSE;
  if (heap->has_oom)
    return heap->oom.step == played->oom.step && heap->oom.row == played->oom.row;
  return repeats_where_it_did(anew) &&
         mem_allocator_use(heap->allocator)->flushes == mem_allocator_use(played->allocator)->flushes;
}

/* Of a step that was known from the one before it no moves were noted: they are the same. */
static void make_all(Anew *anew) {
  guint32 begin = 0, first = 0, end = 0;
  for (guint32 i = 0; i < anew->n_moves && !anew->changed && !anew->known; i++) {
    gboolean ends = run_move_kind(anew->moves[i]) == RUN_STEP_ENDS, known = ends && i == begin;
    anew->rank->replay.replayed += known;
    for (guint32 k = known ? first : end; k < end && !anew->changed; k++)
      make_move(anew, k);
    if (ends && !known) {
      first = begin;
      end = i;
    }
    begin = ends ? i + 1 : begin;
    if (!anew->changed)
      make_move(anew, i);
  }
}

/* Moves neither wait nor are told again. */
static void make_moves(Anew *anew) {
  RunPlay *play = anew->rank->play;
  RunReplay *replay = &anew->rank->replay;
  gboolean again = play->again;
  guint32 traced = play->traced, replayed = replay->replayed;
  play->traced = 0;
  replay->replaying = TRUE;
  replay->replayed = 0;
  anew->heap->told = FALSE;
  make_all(anew);
  replay->replaying = FALSE;
  replay->replayed = replayed;
  play->traced = traced;
  play->again = again;
}

/* Memory ran out in what was played before the first copy: where it did is known, what is held follows from the rows,
 * and what the allocator would reserve beyond the device is of the bodies that were played. */
static gboolean ran_out_before(const RunRank *rank, const RunUnit *units) {
  const RunHeap *heap = rank->memory.heap;
  return heap->has_oom && heap->oom.step == 0 && heap->oom.row < units[PROGRAM_FIRST].watched[RUN_BODIES];
}

static gboolean keep_heap(RunRank *rank) {
  rank->window.counted = rank->memory.heap;
  rank->window.ended_with = rank->window.levels[rank->steps_ended - 1].allocated;
  return TRUE;
}

/* FALSE: it goes otherwise. */
static gboolean count_heap(RunRank *rank, const RunUnit *units) {
  Anew anew = {.rank = rank, .units = units, .moves = rank->window.moves.data, .n_moves = rank->window.moves.n};
  anew.heap = rank->window.counted = run_heap_new(rank);
  g_ptr_array_add(rank->play->heaps, anew.heap);
  anew.held = g_array_new(FALSE, FALSE, sizeof(guint32));
  make_moves(&anew);
  if (anew.ended > 0)
    rank->window.ended_with = anew.levels[anew.ended - 1].allocated;
  gboolean goes = goes_as_played(&anew);
  g_free(anew.ring);
  g_array_unref(anew.held);
  g_free(anew.layouts[0].data);
  g_free(anew.layouts[1].data);
  g_free(anew.ends[0].data);
  g_free(anew.ends[1].data);
  g_free(anew.ahead.data);
  return goes;
}

/* Ranks that share a heap share what becomes of it; those whose moves were not noted take that of the first like
 * them. */
static const RunRank *known_from(const RunPlay *play, const RunRank *rank) {
  for (guint32 i = 0; i < rank->index; i++)
    if (play->ranks[i].window.counted != NULL && play->ranks[i].memory.heap == rank->memory.heap)
      return &play->ranks[i];
  return rank->window.moves.n == 0 ? &play->ranks[rank->window.like] : NULL;
}

static gboolean count_rank(RunRank *rank, const RunUnit *units) {
  const RunRank *known = known_from(rank->play, rank);
  if (known == NULL)
    return ran_out_before(rank, units) ? keep_heap(rank) : count_heap(rank, units);
  rank->window.counted = known->window.counted;
  rank->window.ended_with = known->window.ended_with;
  return rank->window.counted != NULL;
}

static gboolean role_units(const RunPlay *play, guint32 role, RunUnit *units) {
  gboolean alike = TRUE;
  for (int s = 0; s < PROGRAM_SECTIONS; s++)
    alike &= run_unit_init(&units[s], &play->tables[role][s], play->system->program, play->options->windows.body);
  return alike;
}

gboolean run_windows_memory(RunPlay *play, RunSettled settled) {
  gboolean goes = TRUE;
  for (guint32 role = 0; goes && role < play->system->program->n_roles; role++) {
    RunUnit units[PROGRAM_SECTIONS];
    goes = role_units(play, role, units);
    for (guint32 i = 0; goes && i < play->n_ranks; i++)
      if (play->ranks[i].rank->role == role)
        goes = (!waits(units) || (settled == RUN_SETTLED && run_window_keeps_step(&play->ranks[i]))) &&
               count_rank(&play->ranks[i], units);
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      run_unit_clear(&units[s]);
  }
  return goes;
}

void run_window_begin(RunRank *rank) {
  rank->window.like = rank->memory.heap->like;
  rank->window.noted = rank->play->options->windows.body > 0 &&
                       (rank->play->n_ranks <= RUN_MOST_NOTED || rank->window.like == rank->index);
}

/* Rows with the number of the step that they stand for. */
void run_window_moved(RunRank *rank, guint64 move) {
  if (!rank->window.noted)
    return;
  if (run_move_kind(move) == RUN_ACTS)
    move = run_move_word(RUN_ACTS, run_move_step(move) + rank->replay.replayed, (guint32)move);
  *(guint64 *)base_vector_next(&rank->window.moves, sizeof move) = move;
}

void run_window_step(RunRank *rank, const RunLevels *levels) {
  if (rank->play->options->windows.body == 0 || rank->steps_ended >= RUN_MOST_STEPS)
    return;
  rank->window.levels[rank->steps_ended] = *levels;
  run_window_moved(rank, run_move_word(RUN_STEP_ENDS, 0, 0));
}
