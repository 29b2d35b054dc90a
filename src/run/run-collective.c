/* Collectives: members gather, then all move together and end together; one communicator plays one at a time.
 *
 *   join ─► (all members there) begun ─► latency ─► moving: one flow over the group's route ─► ended, for every member
 */
#include "base-error.h"
#include "run-state.h"

#define TRANSFER_IDENTITIES (G_GUINT64_CONSTANT(1) << 59) /* above those of rows */

gboolean run_collective_may_start(const RunInstance *instance) {
  const RunOrder *order = &instance->step->rank->orders[instance->row->group];
  return instance->sequence == order->ended;
}

static guint32 members_of(const RunPlay *play, guint32 communicator) {
  return play->system->program->communicators[communicator].n_ranks;
}

static void transfer_unlink(RunTransfer *transfer) {
  RunTransfer **link = &transfer->play->communicators[transfer->communicator].open;
  while (*link != transfer)
    link = &(*link)->next;
  *link = transfer->next;
}

static void chunks_ended(gpointer owner) {
  RunTransfer *transfer = owner;
  g_clear_pointer(&transfer->chunks, run_chunks_free);
  transfer_unlink(transfer);
  for (guint32 i = 0; i < transfer->arrived; i++)
    run_task_end(transfer->members[i]);
}

static void transfer_ended(NetFlow *flow, gpointer owner) {
  (void)flow;
  chunks_ended(owner);
}

static void transfer_moves(Event *event, gpointer owner) {
  (void)event;
  RunTransfer *transfer = owner;
  RunPlay *play = transfer->play;
  transfer->moving = run_now(play);
  const NetRoute *route = play->communicators[transfer->communicator].routes[transfer->plan.algorithm];
  net_flow_start(play->net, &transfer->flow, route, transfer->plan.volume, transfer->plan.channels, 1,
                 transfer->plan.cap);
}

static void transfer_begin(RunTransfer *transfer) {
  RunPlay *play = transfer->play;
  transfer->begun = run_now(play);
  coll_plan(play->system->groups[transfer->communicator], &transfer->call, &transfer->plan);
  if (play->options->chunks && members_of(play, transfer->communicator) > 1) {
    transfer->moving = transfer->begun + transfer->plan.latency;
    transfer->chunks =
        run_chunks_new(play, transfer->communicator, &transfer->call, &transfer->plan, chunks_ended, transfer);
    return;
  }
  guint64 identity = TRANSFER_IDENTITIES + ((guint64)transfer->communicator << 32) + transfer->sequence;
  event_init(&transfer->latency, transfer_moves, transfer, EVENT_PHASE_STARTS, identity);
  net_flow_init(&transfer->flow, transfer_ended, transfer, identity);
  event_schedule(play->queue, &transfer->latency, transfer->begun + transfer->plan.latency);
}

static RunTransfer *transfer_for(RunInstance *instance) {
  RunPlay *play = instance->step->rank->play;
  RunCommunicator *communicator = &play->communicators[instance->row->group];
  for (RunTransfer *open = communicator->open; open != NULL; open = open->next)
    if (open->sequence == instance->sequence)
      return open;
  RunTransfer *transfer = g_new0(RunTransfer, 1);
  transfer->play = play;
  transfer->communicator = instance->row->group;
  transfer->sequence = instance->sequence;
  transfer->call = instance->row->call;
  transfer->begun = transfer->moving = RUN_UNSET;
  transfer->members = g_new(RunInstance *, members_of(play, instance->row->group));
  transfer->next = communicator->open;
  communicator->open = transfer;
  g_ptr_array_add(play->transfers, transfer);
  return transfer;
}

void run_collective_join(RunInstance *instance) {
  RunTransfer *transfer = transfer_for(instance);
  RunPlay *play = transfer->play;
  sim_require(transfer->call.operation == instance->row->call.operation &&
                  transfer->call.bytes == instance->row->call.bytes,
              run_now(play), play->run_key, "ranks disagree about \"%s\" on communicator %s", instance->row->name,
              play->system->program->communicators[transfer->communicator].name);
  instance->transfer = transfer;
  transfer->members[transfer->arrived++] = instance;
  if (transfer->arrived == members_of(play, transfer->communicator))
    transfer_begin(transfer);
}

void run_transfer_free(gpointer transfer) {
  run_chunks_free(((RunTransfer *)transfer)->chunks);
  g_free(((RunTransfer *)transfer)->members);
  g_free(transfer);
}
