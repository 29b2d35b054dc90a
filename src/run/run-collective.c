/* SPDX-License-Identifier: MIT */
/* Collectives: members gather, then all move together and end together; one communicator plays one at a time.
 *
 *   join ─► (all members there) begun ─► latency ─► moving: one flow over the group's route ─► ended, for every member
 *
 * A member's channels hold SMs of its GPU from its own arrival on: a kernel that waits for peers spins. Device memory
 * is busy once all are there. Whether kernels run beside it is looked at once, when it begins, and fixes its own rate.
 *
 * In step fidelity the middle is run-chunks.c's: every chunk of every step its own flow.
 */
#include "base-error.h"
#include "run-state.h"

#define TRANSFER_IDENTITIES (G_GUINT64_CONSTANT(1) << 59) /* above those of streams */

static guint32 communicator_of(const RunStep *step, guint32 row) {
  return program_group(step->rank->play->system->program, step->rank->index, run_row(step, row)->group);
}

/* The how-manieth collective of its communicator a row is, from the first step on. */
static guint32 sequence_of(const RunStep *step, guint32 row) {
  const RunTable *tables = step->rank->play->tables[step->rank->rank->role];
  guint32 group = run_row(step, row)->group;
  guint32 before = step->number == 0
                       ? 0
                       : tables[PROGRAM_FIRST].calls[group] + (step->number - 1) * tables[PROGRAM_STEADY].calls[group];
  return before + step->table->sequence[row];
}

gboolean run_collective_may_start(const RunStep *step, guint32 row) {
  return sequence_of(step, row) == step->rank->device.ended_calls[run_row(step, row)->group];
}

const RunMove *run_collective_move(const RunStep *step, guint32 row) {
  const RunCommunicator *communicator = &step->rank->play->communicators[communicator_of(step, row)];
  return &g_array_index(communicator->moves, RunMove, sequence_of(step, row));
}

static RunMove *move_of(const RunTransfer *transfer) {
  return &g_array_index(transfer->play->communicators[transfer->communicator].moves, RunMove, transfer->sequence);
}

static guint32 members_of(const RunPlay *play, guint32 communicator) {
  return play->system->program->communicators[communicator].n_ranks;
}

static void transfer_free(RunTransfer *transfer) {
  run_chunks_free(transfer->chunks);
  g_free(transfer->members);
  g_free(transfer);
}

static void transfer_unlink(RunTransfer *transfer) {
  RunTransfer **link = &transfer->play->communicators[transfer->communicator].open;
  while (*link != transfer)
    link = &(*link)->next;
  *link = transfer->next;
}

/* For the communicator's next. */
static void put_aside(RunTransfer *transfer) {
  RunCommunicator *communicator = &transfer->play->communicators[transfer->communicator];
  run_chunks_free(g_steal_pointer(&transfer->chunks));
  transfer->next = communicator->spare;
  communicator->spare = transfer;
}

static void transfer_ended(gpointer owner) {
  RunTransfer *transfer = owner;
  transfer_unlink(transfer);
  move_of(transfer)->end = run_now(transfer->play);
  for (guint32 i = 0; i < transfer->arrived; i++)
    run_contention_give(transfer->members[i]->rank, transfer->takes);
  for (guint32 i = 0; i < transfer->arrived; i++)
    run_stream_ended(transfer->members[i]);
  put_aside(transfer);
}

static void flow_ended(NetFlow *flow, gpointer owner) {
  (void)flow;
  transfer_ended(owner);
}

static void transfer_moves(RunTransfer *transfer) {
  RunPlay *play = transfer->play;
  RunMove *move = move_of(transfer);
  move->moving = run_now(play);
  const NetRoute *route = coll_call_shares(&transfer->call)
                              ? play->communicators[transfer->communicator].routes[move->plan.algorithm]
                              : play->nowhere;
  net_flow_start(play->net, &transfer->flow, route, move->plan.volume, move->plan.channels, 1, move->plan.cap);
}

static gboolean beside_compute(const RunTransfer *transfer) {
  for (guint32 i = 0; i < transfer->arrived; i++)
    if (run_contention_computes(transfer->members[i]->rank))
      return TRUE;
  return FALSE;
}

/* Now that the instant's ends and issues have passed. */
static void transfer_sets_out(RunTransfer *transfer) {
  RunPlay *play = transfer->play;
  RunMove *move = move_of(transfer);
  move->set_out = TRUE;
  if (play->options->contention && move->plan.sent_inter == 0 && beside_compute(transfer))
    move->plan.cap /= play->system->gpu->contention->beside_compute;
  move->moving = sim_time_add(move->begun, move->plan.latency);
  if (play->options->chunks && members_of(play, transfer->communicator) > 1)
    transfer->chunks =
        run_chunks_new(play, transfer->communicator, &transfer->call, &move->plan, transfer_ended, transfer);
  else
    run_schedule(play, &transfer->start, move->begun, move->plan.latency);
}

static void transfer_starts(Event *event, gpointer owner) {
  (void)event;
  if (move_of(owner)->set_out)
    transfer_moves(owner);
  else
    transfer_sets_out(owner);
}

static void transfer_begin(RunTransfer *transfer) {
  RunPlay *play = transfer->play;
  RunMove *move = move_of(transfer);
  move->begun = run_now(play);
  for (guint32 i = 0; i < transfer->arrived; i++)
    run_contention_take(transfer->members[i]->rank, 0, transfer->takes.memory_rate);
  guint64 identity = TRANSFER_IDENTITIES + ((guint64)transfer->communicator << 32) + transfer->sequence;
  event_init(&transfer->start, transfer_starts, transfer, EVENT_PHASE_STARTS, identity);
  net_flow_init(&transfer->flow, flow_ended, transfer, identity);
  run_schedule(play, &transfer->start, move->begun, 0);
}

static gboolean call_equal(const CollCall *a, const CollCall *b) {
  return a->operation == b->operation && a->bytes == b->bytes;
}

static const RunPlanned *planned(const RunPlay *play, guint32 group, CollCall call) {
  GArray *known = play->communicators[group].planned;
  for (guint i = 0; i < known->len; i++)
    if (call_equal(&g_array_index(known, RunPlanned, i).call, &call))
      return &g_array_index(known, RunPlanned, i);
  RunPlanned fresh = {.call = call};
  coll_plan(play->system->groups[group], &call, &fresh.plan);
  fresh.takes = run_contention_of(play, group, &call, &fresh.plan);
  g_array_append_val(known, fresh);
  return &g_array_index(known, RunPlanned, known->len - 1);
}

static RunTransfer *new_transfer(RunPlay *play, guint32 group) {
  RunCommunicator *communicator = &play->communicators[group];
  RunTransfer *transfer = communicator->spare;
  RunStream **members = transfer != NULL ? transfer->members : g_new(RunStream *, members_of(play, group));
  if (transfer != NULL)
    communicator->spare = transfer->next;
  else
    transfer = g_new(RunTransfer, 1);
  *transfer = (RunTransfer){.play = play, .communicator = group, .members = members};
  return transfer;
}

static RunTransfer *transfer_for(RunPlay *play, guint32 group, guint32 sequence, CollCall call) {
  RunCommunicator *communicator = &play->communicators[group];
  for (RunTransfer *open = communicator->open; open != NULL; open = open->next)
    if (open->sequence == sequence)
      return open;
  RunTransfer *transfer = new_transfer(play, group);
  transfer->sequence = sequence;
  transfer->call = call;
  transfer->next = communicator->open;
  communicator->open = transfer;
  if (communicator->moves->len <= sequence)
    g_array_set_size(communicator->moves, sequence + 1);
  const RunPlanned *costs = planned(play, group, call);
  move_of(transfer)->plan = costs->plan;
  transfer->takes = costs->takes;
  return transfer;
}

void run_collective_join(RunStream *stream) {
  const ProgramRow *row = run_row(stream->step, stream->head);
  RunPlay *play = stream->rank->play;
  guint32 communicator = communicator_of(stream->step, stream->head);
  RunTransfer *transfer = transfer_for(play, communicator, sequence_of(stream->step, stream->head), row->call);
  sim_require(call_equal(&transfer->call, &row->call), run_now(play), play->run_key,
              "ranks disagree about \"%s\" on communicator %s", row->name,
              play->system->program->communicators[communicator].name);
  transfer->members[transfer->arrived++] = stream;
  run_contention_take(stream->rank, transfer->takes.channels, 0);
  if (transfer->arrived == members_of(play, communicator))
    transfer_begin(transfer);
}

static void transfers_free(RunTransfer *first) {
  while (first != NULL) {
    RunTransfer *next = first->next;
    transfer_free(first);
    first = next;
  }
}

void run_communicators_clear(RunPlay *play) {
  for (guint32 c = 0; c < play->system->program->n_communicators; c++) {
    RunCommunicator *communicator = &play->communicators[c];
    transfers_free(communicator->open);
    transfers_free(communicator->spare);
    g_array_unref(communicator->moves);
    g_array_unref(communicator->planned);
    run_chunks_forget(communicator);
  }
  g_free(play->communicators);
}
