/* SPDX-License-Identifier: MIT */
/* Kernels beside collectives and beside each other: what collectives hold of a GPU, how many kernels would fill it, and
 * those that run there, re-timed when that changes.
 *
 *   collective        ├─── holds SMs and bandwidth ───┤
 *   kernel      ├─────┼───────────────────────────────┼──────┤
 *               left 1   0.7, at the rate beside it     0.2, alone again
 *
 * Kernels on several streams that would each fill the device share its time: a block of one takes the place of a block
 * of another (CUDA C++ Programming Guide, concurrent kernel execution: one begins where resources are free), and there
 * is no more memory bandwidth than there is. They take together what they take one after the other.
 *
 * Collectives take and give at any moment of an instant; once all of it has happened the rank settles: what is left of
 * a running kernel goes on at the new rate. So the order of simultaneous events reaches no time. */
#include <math.h>

#include "kernel-op.h"
#include "kernel-time.h"
#include "run-state.h"

/* How long the Program's operations take on a GPU of some speed beside what is held. Filled as they are asked for. */
struct RunDurations {
  double speed;
  RunHeld held;
  SimTime *by_op; /* RUN_UNSET: not asked for yet */
};

static guint durations_hash(gconstpointer key) {
  const RunDurations *durations = key;
  return g_double_hash(&durations->speed) ^ (guint)durations->held.channels ^
         g_int64_hash(&durations->held.memory_rate);
}

static gboolean held_equal(RunHeld a, RunHeld b) {
  return a.channels == b.channels && a.memory_rate == b.memory_rate;
}

static gboolean durations_equal(gconstpointer a, gconstpointer b) {
  const RunDurations *left = a, *right = b;
  return left->speed == right->speed && held_equal(left->held, right->held);
}

static void durations_free(gpointer data) {
  RunDurations *durations = data;
  g_free(durations->by_op);
  g_free(durations);
}

static RunDurations *durations_for(const RunPlay *play, double speed, RunHeld held) {
  const RunDurations wanted = {.speed = speed, .held = held};
  RunDurations *durations = g_hash_table_lookup(play->durations, &wanted);
  if (durations != NULL)
    return durations;
  guint32 n = play->system->program->n_ops;
  durations = g_new(RunDurations, 1);
  *durations = (RunDurations){speed, held, g_new(SimTime, n)};
  for (guint32 i = 0; i < n; i++)
    durations->by_op[i] = RUN_UNSET;
  g_hash_table_add(play->durations, durations);
  return durations;
}

/* Alone: what is given, else what the kernel model says at the pace of the slowest GPU. */
static SimTime time_alone(const RunPlay *play, guint32 op) {
  const Program *program = play->system->program;
  if (program->durations[op] >= 0)
    return program->durations[op];
  return (SimTime)round((double)kernel_time(play->system->gpu, &program->ops[op]) * (1 + play->system->slowest));
}

/* An operation slows down as its shape does; one whose time is given may have none. */
static SimTime time_of(const RunPlay *play, guint32 op, const RunHeld *held) {
  const HwGpu *gpu = play->system->gpu;
  const KernelOp *what = &play->system->program->ops[op];
  SimTime alone = time_alone(play, op);
  if (held_equal(*held, (RunHeld){0}) || what->batch == 0)
    return alone;
  KernelShare share = kernel_share_beside(gpu, (guint32)held->channels, (double)held->memory_rate);
  double shared = (double)kernel_time_shared(gpu, what, share);
  return (SimTime)round((double)alone * (shared / (double)kernel_time(gpu, what)));
}

static SimTime duration_in(const RunPlay *play, RunDurations *durations, guint32 op) {
  SimTime *ret = &durations->by_op[op];
  if (*ret != RUN_UNSET)
    return *ret;
  *ret = time_of(play, op, &durations->held);
  if (durations->speed != 1)
    *ret = (SimTime)round((double)*ret / durations->speed);
  return *ret;
}

SimTime run_op_duration(RunRank *rank, guint32 op) {
  return duration_in(rank->play, rank->device.durations, op);
}

static gboolean is_computing(const RunStream *stream) {
  return stream->running && run_row(stream->step, stream->head)->kind == PROGRAM_COMPUTE;
}

static void retime(RunStream *stream, RunDurations *before) {
  RunRank *rank = stream->rank;
  guint32 op = run_row(stream->step, stream->head)->op;
  SimTime was = duration_in(rank->play, before, op), is = run_op_duration(rank, op), now = run_now(rank->play);
  if (was == is)
    return;
  stream->left = MAX(stream->left - (double)(now - stream->anchor) / (double)was, 0);
  stream->anchor = now;
  run_schedule(rank->play, &stream->event, now, (SimTime)round(stream->left * (double)is));
}

static double speed_of(const RunRank *rank) {
  const double *speeds = rank->play->system->speeds;
  return speeds != NULL ? speeds[rank->rank->device] : 1;
}

/* Kernels that would each fill the device have equal parts of its time. */
static RunDurations *durations_of(const RunRank *rank) {
  double speed = speed_of(rank) / MAX(rank->device.shared, 1);
  return durations_for(rank->play, speed, rank->device.settled);
}

static void settle(Event *event, gpointer owner) {
  (void)event;
  RunRank *rank = owner;
  RunDevice *device = &rank->device;
  if (held_equal(device->held, device->settled) && MAX(device->filling, 1) == MAX(device->shared, 1))
    return;
  RunDurations *before = device->durations;
  device->settled = device->held;
  device->shared = device->filling;
  device->durations = durations_of(rank);
  for (guint32 s = 0; s < rank->play->system->program->n_streams; s++)
    if (is_computing(&rank->device.streams[s]))
      retime(&rank->device.streams[s], before);
}

#define CONTENTION_IDENTITIES G_GUINT64_CONSTANT(1) /* above the network's one */

/* Operations that would fill the device: of those of batch 0 nothing is known. */
static guint8 *fillers(const RunPlay *play) {
  const Program *program = play->system->program;
  guint8 *fills = g_new(guint8, program->n_ops);
  for (guint32 i = 0; i < program->n_ops; i++)
    fills[i] = program->ops[i].batch > 0 && kernel_fills(play->system->gpu, &program->ops[i]);
  return fills;
}

void run_contention_init(RunPlay *play) {
  play->durations = g_hash_table_new_full(durations_hash, durations_equal, durations_free, NULL);
  play->fills = play->options->contention ? fillers(play) : NULL;
}

void run_contention_begin(RunRank *rank) {
  event_init(&rank->device.contention, settle, rank, EVENT_PHASE_SETTLE, CONTENTION_IDENTITIES + rank->index);
  rank->device.durations = durations_of(rank);
}

void run_contention_clear(RunPlay *play) {
  g_hash_table_unref(play->durations);
  g_free(play->fills);
}

/* Broadcasts pass bytes on as gathers do, and so do sends. */
static KernelBeside traffic_of(CollOperation operation) {
  switch (operation) {
  case COLL_ALL_REDUCE:
    return KERNEL_ALL_REDUCE;
  case COLL_REDUCE_SCATTER:
  case COLL_REDUCE:
    return KERNEL_REDUCE_SCATTER;
  default:
    return KERNEL_ALL_GATHER;
  }
}

/* The traffic of a member's bytes, spread over the time that the call takes alone. */
RunHeld run_contention_of(const RunPlay *play, guint32 communicator, const CollCall *call, const CollPlan *plan) {
  if (!play->options->contention || play->system->groups[communicator]->size == 1)
    return (RunHeld){0};
  double sent = (double)(plan->sent_intra + plan->sent_inter);
  SimTime time = sim_time_add(plan->latency, sim_time_of_amount(plan->volume, plan->cap));
  double rate = sent * kernel_memory_traffic(play->system->gpu, traffic_of(call->operation));
  return (RunHeld){plan->channels, (guint64)round(rate / sim_time_to_seconds(MAX(time, 1)))};
}

/* The rank settles at the end of this instant. */
static void changed(RunRank *rank) {
  if (!event_is_pending(&rank->device.contention))
    event_schedule(rank->play->queue, &rank->device.contention, run_now(rank->play));
}

void run_contention_take(RunRank *rank, guint64 channels, guint64 memory_rate) {
  if (channels == 0 && memory_rate == 0)
    return;
  rank->device.held.channels += channels;
  rank->device.held.memory_rate += memory_rate;
  changed(rank);
}

void run_contention_give(RunRank *rank, RunHeld held) {
  if (held.channels == 0 && held.memory_rate == 0)
    return;
  rank->device.held.channels -= held.channels;
  rank->device.held.memory_rate -= held.memory_rate;
  changed(rank);
}

static gboolean fills(const RunStream *stream) {
  const RunPlay *play = stream->rank->play;
  return play->fills != NULL && play->fills[run_row(stream->step, stream->head)->op];
}

void run_contention_begins(const RunStream *stream) {
  if (!fills(stream))
    return;
  if (++stream->rank->device.filling > 1)
    changed(stream->rank);
}

void run_contention_ends(const RunStream *stream) {
  if (!fills(stream))
    return;
  if (stream->rank->device.filling-- > 1)
    changed(stream->rank);
}

gboolean run_contention_computes(const RunRank *rank) {
  for (guint32 s = 0; s < rank->play->system->program->n_streams; s++)
    if (is_computing(&rank->device.streams[s]))
      return TRUE;
  return FALSE;
}
