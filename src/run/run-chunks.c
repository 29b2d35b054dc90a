/* SPDX-License-Identifier: MIT */
/* Step fidelity plays a schedule on the net: a transfer flows when its needs are met, ends, and arrives a hop later.
 *
 *   needs met ─► flow over the connection's links ─► end ─► hop ─► arrival
 *                                                     └─ who needs the end    └─ who needs the arrival
 *
 * Lanes are alike in the schedule and differ in members and links, so every lane has its own pieces of each transfer.
 * Schedules name the cluster's own links: only unfolded systems can be played so. */
#include "base-error.h"
#include "coll-schedule.h"
#include "run-state.h"

#define CHUNK_IDENTITIES (G_GUINT64_CONSTANT(1) << 58) /* between rows' and transfers'; communicator, then piece */
#define PIECE_BITS       40

/* One transfer in one lane. */
typedef struct {
  RunChunks *chunks;
  NetFlow flow;
  Event arrival;
  guint32 transfer, lane;
  guint32 unmet;
} Piece;

/* Who needs a transfer's end, and who its arrival: reverse of the schedule's needs. */
typedef struct {
  guint32 *offsets, *transfers;
} Needed;

struct RunChunks {
  RunPlay *play;
  CollSchedule *schedule;
  Event base;
  Piece *pieces;   /* lane × transfers + transfer */
  NetRoute **hops; /* kind of lane × connections + connection; the communicator's */
  Needed ends, arrivals;
  guint64 remaining;
  void (*ended)(gpointer owner);
  gpointer owner;
};

static const guint32 *needs_of(const CollSchedule *schedule, const CollTransfer *transfer, gboolean arrivals,
                               guint32 *ret_n) {
  *ret_n = arrivals ? transfer->n_arrivals : transfer->n_ends;
  guint32 first = transfer->needs + (arrivals ? 0 : transfer->n_arrivals);
  return (const guint32 *)(gpointer)schedule->needs->data + first;
}

static Needed reverse(const CollSchedule *schedule, gboolean arrivals) {
  guint32 n = schedule->n_transfers, count;
  Needed needed = {.offsets = g_new0(guint32, n + 2)};
  for (guint32 i = 0; i < n; i++) {
    const guint32 *needs = needs_of(schedule, &schedule->transfers[i], arrivals, &count);
    for (guint32 k = 0; k < count; k++)
      needed.offsets[needs[k] + 2]++;
  }
  for (guint32 i = 0; i < n; i++)
    needed.offsets[i + 2] += needed.offsets[i + 1];
  needed.transfers = g_new(guint32, needed.offsets[n + 1]);
  for (guint32 i = 0; i < n; i++) {
    const guint32 *needs = needs_of(schedule, &schedule->transfers[i], arrivals, &count);
    for (guint32 k = 0; k < count; k++)
      needed.transfers[needed.offsets[needs[k] + 1]++] = i;
  }
  return needed;
}

static void start(Piece *piece) {
  RunChunks *chunks = piece->chunks;
  const CollSchedule *schedule = chunks->schedule;
  const CollTransfer *transfer = &schedule->transfers[piece->transfer];
  const NetRoute *route = chunks->hops[piece->lane % schedule->kinds * schedule->n_connections + transfer->connection];
  net_flow_start(chunks->play->net, &piece->flow, route, (double)transfer->bytes, 1, schedule->alike, schedule->rate);
}

static void meet(const Piece *piece, const Needed *needed) {
  Piece *lane = piece->chunks->pieces + (gsize)piece->lane * piece->chunks->schedule->n_transfers;
  for (guint32 i = needed->offsets[piece->transfer]; i < needed->offsets[piece->transfer + 1]; i++) {
    Piece *waiter = &lane[needed->transfers[i]];
    if (--waiter->unmet == 0)
      start(waiter);
  }
}

static void piece_arrived(Event *event, gpointer owner) {
  (void)event;
  Piece *piece = owner;
  RunChunks *chunks = piece->chunks;
  meet(piece, &chunks->arrivals);
  if (--chunks->remaining == 0)
    chunks->ended(chunks->owner);
}

static void piece_ended(NetFlow *flow, gpointer owner) {
  (void)flow;
  Piece *piece = owner;
  RunChunks *chunks = piece->chunks;
  SimTime hop = chunks->schedule->transfers[piece->transfer].hop;
  run_schedule(chunks->play, &piece->arrival, run_now(chunks->play), hop);
  meet(piece, &chunks->ends);
}

static void begin(Event *event, gpointer owner) {
  (void)event;
  RunChunks *chunks = owner;
  guint64 n = chunks->remaining;
  if (n == 0)
    chunks->ended(chunks->owner);
  for (guint64 i = 0; i < n; i++)
    if (chunks->pieces[i].unmet == 0)
      start(&chunks->pieces[i]);
}

static void add_pieces(RunChunks *chunks, guint32 communicator) {
  const CollSchedule *schedule = chunks->schedule;
  guint64 first = CHUNK_IDENTITIES + ((guint64)communicator << PIECE_BITS);
  chunks->remaining = (guint64)schedule->lanes * schedule->n_transfers;
  chunks->pieces = g_new0(Piece, chunks->remaining);
  sim_require(communicator < 1u << (58 - PIECE_BITS) && 2 * chunks->remaining < G_GUINT64_CONSTANT(1) << PIECE_BITS,
              run_now(chunks->play), chunks->play->run_key, "more chunks than can be told apart");
  for (guint64 i = 0; i < chunks->remaining; i++) {
    Piece *piece = &chunks->pieces[i];
    piece->chunks = chunks;
    piece->lane = (guint32)(i / schedule->n_transfers);
    piece->transfer = (guint32)(i % schedule->n_transfers);
    const CollTransfer *transfer = &schedule->transfers[piece->transfer];
    piece->unmet = transfer->n_arrivals + transfer->n_ends;
    net_flow_init(&piece->flow, piece_ended, piece, first + 2 * i);
    event_init(&piece->arrival, piece_arrived, piece, EVENT_PHASE_COMPLETIONS, first + 2 * i + 1);
  }
  event_init(&chunks->base, begin, chunks, EVENT_PHASE_STARTS, first);
}

/* Those that the schedule needs and no earlier call did. */
static void add_hops(NetSystem *net, const CollSchedule *schedule, NetRoute **hops) {
  static const guint32 once[COLL_SCHEDULE_MOST_LINKS] = {1, 1, 1, 1};
  for (guint32 lane = 0; lane < MIN(schedule->lanes, schedule->kinds); lane++)
    for (guint32 c = 0; c < schedule->n_connections; c++) {
      NetRoute **hop = &hops[lane * schedule->n_connections + c];
      guint32 links[COLL_SCHEDULE_MOST_LINKS];
      if (*hop == NULL)
        *hop = net_route_new(net, links, once, coll_schedule_links(schedule, lane, c, links));
    }
}

RunChunks *run_chunks_new(RunPlay *play, guint32 communicator, const CollCall *call, const CollPlan *plan,
                          void (*ended)(gpointer owner), gpointer owner) {
  RunChunks *chunks = g_new0(RunChunks, 1);
  chunks->play = play;
  chunks->ended = ended;
  chunks->owner = owner;
  chunks->schedule = coll_schedule_new(play->system->groups[communicator], call, plan);
  chunks->ends = reverse(chunks->schedule, FALSE);
  chunks->arrivals = reverse(chunks->schedule, TRUE);
  NetRoute ***hops = &play->communicators[communicator].hops[plan->algorithm];
  if (*hops == NULL)
    *hops = g_new0(NetRoute *, chunks->schedule->kinds * chunks->schedule->n_connections);
  add_hops(play->net, chunks->schedule, *hops);
  chunks->hops = *hops;
  add_pieces(chunks, communicator);
  run_schedule(play, &chunks->base, run_now(play), chunks->schedule->base);
  return chunks;
}

void run_chunks_free(RunChunks *chunks) {
  if (chunks == NULL)
    return;
  coll_schedule_free(chunks->schedule);
  g_free(chunks->pieces);
  g_free(chunks->ends.offsets);
  g_free(chunks->ends.transfers);
  g_free(chunks->arrivals.offsets);
  g_free(chunks->arrivals.transfers);
  g_free(chunks);
}

void run_chunks_forget(RunCommunicator *communicator) {
  for (int algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++)
    g_free(communicator->hops[algorithm]);
}
