/* SPDX-License-Identifier: MIT */
/* Sends and receives at the borders of chunks. */
#include "plan-transfer.h"

#include "mem-tenant.h"
#include "plan-groups.h"

/* One end of what crosses from stage to stage. */
typedef struct {
  guint32 unit; /* of the walk, at whose boundary it is */
  ModelTensorRole role;
  guint32 before, after; /* pipeline ranks of the stage and of the one after it */
  guint32 peer;
  PlanSchedulePass other; /* the peer's pass that makes or needs it */
  gboolean gradients;
  gboolean back; /* against the usual way: the second half of a V */
} End;

static const PlanHolding *own(const PlanTransfers *transfers) {
  return transfers->walk->holding;
}

static void place_between(const PlanTransfers *transfers, guint32 stage, End *end) {
  guint32 chunk;
  plan_schedule_of_stage(transfers->shape, stage, &end->before, &chunk);
  plan_schedule_of_stage(transfers->shape, stage + 1, &end->after, &chunk);
  end->back = transfers->shape->schedule == LAYOUT_SCHEDULE_ZBV && end->after < end->before;
}

void plan_transfers_init(PlanTransfers *transfers, PlanWalk *walk, const PlanScheduleShape *shape,
                         PlanHolding *const *holdings) {
  guint32 n = walk->holding->n_chunks * walk->holding->n_places;
  *transfers = (PlanTransfers){.walk = walk, .shape = shape, .holdings = holdings, .kept = g_new(guint32, n)};
  for (guint32 i = 0; i < n; i++)
    transfers->kept[i] = PROGRAM_NONE;
}

void plan_transfers_clear(PlanTransfers *transfers) {
  g_free(transfers->kept);
  g_free(transfers->early);
}

/* Whether the stage, and so each after it, holds no unit. */
static gboolean is_idle(const PlanTransfers *transfers, guint32 stage) {
  guint32 rank, chunk;
  plan_schedule_of_stage(transfers->shape, stage, &rank, &chunk);
  return transfers->holdings[rank]->chunks[chunk].n == 0;
}

/* FALSE: the pass needs nothing of another rank. */
static gboolean input_of(const PlanTransfers *transfers, PlanSchedulePass pass, End *ret) {
  const PlanHolding *holding = own(transfers);
  const PlanChunk *chunk = &holding->chunks[pass.chunk];
  gboolean forward = pass.kind == PLAN_PASS_FORWARD;
  if (!plan_schedule_before(transfers->shape, holding->rank, pass, &ret->peer, &ret->other) ||
      ret->peer == holding->rank || is_idle(transfers, chunk->stage) ||
      (!forward && is_idle(transfers, chunk->stage + 1)))
    return FALSE;
  ret->unit = forward ? chunk->first : chunk->last;
  ret->role = forward ? MODEL_TENSOR_INPUT : MODEL_TENSOR_GRAD_OUTPUT;
  ret->gradients = !forward;
  place_between(transfers, forward ? chunk->stage - 1 : chunk->stage, ret);
  return TRUE;
}

/* FALSE: no other rank needs what the pass makes. */
static gboolean output_of(const PlanTransfers *transfers, PlanSchedulePass pass, End *ret) {
  const PlanHolding *holding = own(transfers);
  const PlanChunk *chunk = &holding->chunks[pass.chunk];
  gboolean forward = pass.kind == PLAN_PASS_FORWARD;
  if (pass.kind == PLAN_PASS_BACKWARD_WEIGHT ||
      chunk->stage == (forward ? plan_schedule_stages(transfers->shape) - 1 : 0) ||
      is_idle(transfers, forward ? chunk->stage + 1 : chunk->stage))
    return FALSE;
  ret->other = pass;
  plan_schedule_of_stage(transfers->shape, forward ? chunk->stage + 1 : chunk->stage - 1, &ret->peer,
                         &ret->other.chunk);
  if (ret->peer == holding->rank)
    return FALSE;
  ret->unit = forward ? chunk->last : chunk->first;
  ret->role = forward ? MODEL_TENSOR_OUTPUT : MODEL_TENSOR_GRAD_INPUT;
  ret->gradients = !forward;
  place_between(transfers, forward ? chunk->stage : chunk->stage - 1, ret);
  return TRUE;
}

static gboolean same_pass(PlanSchedulePass a, PlanSchedulePass b) {
  return a.kind == b.kind && a.chunk == b.chunk && a.micro == b.micro;
}

/* Whether the peer, too, receives what comes of `sent` right before the pass after the one that makes `received`. */
static gboolean peer_agrees(const PlanTransfers *transfers, const End *sent, const End *received) {
  const PlanHolding *peer = transfers->holdings[sent->peer];
  for (guint32 i = 1; i < peer->n_passes; i++)
    if (same_pass(peer->passes[i], sent->other))
      return same_pass(peer->passes[i - 1], received->other);
  return FALSE;
}

static gboolean is_batch(const PlanTransfers *transfers, guint32 pass, const End *sent, End *ret_received) {
  const PlanHolding *holding = own(transfers);
  return transfers->walk->recipe->pipeline.batches && pass + 1 < holding->n_passes &&
         input_of(transfers, holding->passes[pass + 1], ret_received) && ret_received->peer == sent->peer &&
         ret_received->before == sent->before && peer_agrees(transfers, sent, ret_received);
}

/* ---- Rows ---- */

static guint64 bytes_of(const PlanWalk *walk, const End *end) {
  const ModelUnit *unit = walk->units[end->unit].unit;
  guint64 bytes = 0;
  for (guint t = 0; t < unit->n_tensors; t++)
    bytes += unit->tensors[t].role == end->role ? unit->tensors[t].bytes : 0;
  const PlanPipeline *pipeline = &walk->recipe->pipeline;
  return bytes / MAX(end->gradients ? pipeline->gradient_parts : pipeline->parts, 1);
}

static void tell(PlanWalk *walk, void (*hook)(gpointer policy, guint32 unit, ModelTensorRole role), const End *end) {
  if (hook != NULL)
    hook(walk->policy, end->unit, end->role);
}

static guint32 stream_named(PlanWalk *walk, const char *first, const char *second, const char *third) {
  g_autofree char *name = g_strconcat(first, second, third, NULL);
  guint32 stream = program_builder_stream(walk->builder, name);
  program_builder_pool(walk->builder, stream, walk->stream);
  return stream;
}

static void context_of(PlanWalk *walk, const End *end) {
  program_builder_context(walk->builder, end->gradients ? PROGRAM_BACKWARD : PROGRAM_FORWARD,
                          walk->units[end->unit].layer, (gint32)walk->micro);
}

#define HEADER_BYTES 64

/* A tensor's rows; the last one's index. */
static guint32 call(PlanWalk *walk, guint32 stream, const char *name, const char *pair, const End *end, guint64 bytes) {
  guint32 slot = plan_groups_pair(walk->builder, pair, walk->recipe, end->before, end->after), row = PROGRAM_NONE;
  context_of(walk, end);
  for (guint32 i = 0; i <= walk->recipe->pipeline.headers; i++) {
    gboolean header = i < walk->recipe->pipeline.headers;
    CollCall what = {COLL_SEND_RECV, header ? HEADER_BYTES : bytes};
    row = plan_walk_collective(walk, stream, header ? "shape" : name, slot, what, PROGRAM_HINT_PIPELINE);
    if (i == 0)
      plan_walk_follow(walk);
  }
  return row;
}

static const char *flow_of(const End *end) {
  static const char *const flows[2][2] = {{"activations", "activations back"}, {"gradients", "gradients back"}};
  return flows[end->gradients][end->back];
}

/* The host waits until the device is done with a call. */
static void block(PlanWalk *walk, guint32 row) {
  if (!walk->recipe->pipeline.blocks)
    return;
  plan_walk_host(walk, "wait for neighbours");
  program_builder_need(walk->builder, row);
}

static void take(PlanWalk *walk, const End *end) {
  plan_walk_take(walk, *plan_walk_boundary(walk, end->unit, end->role));
}

/* The output that is kept and the one that a second run of the unit makes change places: the one that is the output
 * now. */
static guint32 change(PlanTransfers *transfers, const End *end) {
  PlanWalk *walk = transfers->walk;
  guint32 *output = plan_walk_boundary(walk, end->unit, end->role);
  guint32 *kept = &transfers->kept[(walk->chunk * own(transfers)->n_places) + walk->place];
  guint32 was = *kept;
  if (was == PROGRAM_NONE) {
    g_autofree char *name = g_strdup_printf("%s.output.kept.%u", walk->units[end->unit].name, walk->place);
    was = program_builder_tensor(walk->builder, name, MEM_ACTIVATIONS, bytes_of(walk, end), bytes_of(walk, end));
  }
  *kept = *output;
  *output = was;
  return was;
}

/* An output may be kept until its backward has ended, a gradient not. */
static void give(PlanTransfers *transfers, const End *end, guint32 stream) {
  PlanWalk *walk = transfers->walk;
  if (end->gradients || !walk->recipe->pipeline.keeps_outputs)
    plan_walk_give(walk, *plan_walk_boundary(walk, end->unit, end->role), stream);
  else
    change(transfers, end);
}

static guint32 receive(PlanTransfers *transfers, const End *end) {
  PlanWalk *walk = transfers->walk;
  guint32 stream = stream_named(walk, "receive ", flow_of(end), NULL);
  guint32 row = call(walk, stream, end->gradients ? "receive gradients" : "receive activations", flow_of(end), end,
                     bytes_of(walk, end));
  take(walk, end);
  return row;
}

static void await(PlanWalk *walk, guint32 row) {
  plan_walk_need(walk, row);
  block(walk, row);
}

void plan_transfers_receive(PlanTransfers *transfers, guint32 pass) {
  PlanWalk *walk = transfers->walk;
  End end;
  gboolean received = transfers->received;
  transfers->received = FALSE;
  if (!input_of(transfers, own(transfers)->passes[pass], &end))
    return;
  gboolean early = walk->recipe->pipeline.early && transfers->early[pass] != PROGRAM_NONE;
  if (!received)
    await(walk, early ? transfers->early[pass] : receive(transfers, &end));
  tell(walk, walk->hooks->received, &end);
}

/* ---- Early receives ---- */

void plan_transfers_section(PlanTransfers *transfers) {
  transfers->early = g_renew(guint32, transfers->early, own(transfers)->n_passes);
  for (guint32 i = 0; i < own(transfers)->n_passes; i++)
    transfers->early[i] = PROGRAM_NONE;
  transfers->under_way[FALSE].row = transfers->under_way[TRUE].row = PROGRAM_NONE;
}

/* As if the walk stood at another pass: its tensors are at its own place. */
static void receive_early(PlanTransfers *transfers, guint32 pass) {
  PlanWalk *walk = transfers->walk;
  const PlanHolding *holding = own(transfers);
  guint32 place = walk->place, micro = walk->micro;
  End end;
  if (transfers->early[pass] != PROGRAM_NONE || !input_of(transfers, holding->passes[pass], &end))
    return;
  walk->place = holding->places[pass];
  walk->micro = holding->passes[pass].micro;
  transfers->early[pass] = receive(transfers, &end);
  walk->place = place;
  walk->micro = micro;
}

/* The next pass of the kind of `pass`, and the first backward where that is the next but one. */
static void receive_ahead(PlanTransfers *transfers, guint32 pass) {
  const PlanHolding *holding = own(transfers);
  const PlanSchedulePass *passes = holding->passes;
  guint32 next = pass + 1, backward = 0;
  while (next < holding->n_passes && passes[next].kind != passes[pass].kind)
    next++;
  while (backward < holding->n_passes && passes[backward].kind == PLAN_PASS_FORWARD)
    backward++;
  if (next < holding->n_passes)
    receive_early(transfers, next);
  if (backward == pass + 2)
    receive_early(transfers, backward);
}

void plan_transfers_ended(PlanTransfers *transfers, guint32 pass) {
  PlanSchedulePass forward = own(transfers)->passes[pass];
  gboolean backward = forward.kind == PLAN_PASS_BACKWARD || forward.kind == PLAN_PASS_BACKWARD_WEIGHT;
  End kept;
  forward.kind = PLAN_PASS_FORWARD;
  if (backward && transfers->walk->recipe->pipeline.keeps_outputs && output_of(transfers, forward, &kept))
    plan_walk_give(transfers->walk, change(transfers, &kept), PROGRAM_NONE);
}

/* What was sent before is gone, and its tensor free. */
static void end_send(PlanTransfers *transfers, gboolean gradients) {
  guint32 row = transfers->under_way[gradients].row;
  if (row == PROGRAM_NONE)
    return;
  plan_walk_need(transfers->walk, row);
  plan_walk_give(transfers->walk, transfers->under_way[gradients].tensor, PROGRAM_NONE);
  transfers->under_way[gradients].row = PROGRAM_NONE;
}

static void begin_send(PlanTransfers *transfers, const End *end, guint32 row) {
  end_send(transfers, end->gradients);
  transfers->under_way[end->gradients].row = row;
  transfers->under_way[end->gradients].tensor = *plan_walk_boundary(transfers->walk, end->unit, end->role);
  if (!end->gradients)
    change(transfers, end); /* a second run of the unit may come before */
}

/* The next pass's tensors are at its own place. */
static void take_next(PlanTransfers *transfers, guint32 pass, const End *end) {
  PlanWalk *walk = transfers->walk;
  guint32 place = walk->place;
  walk->place = own(transfers)->places[pass + 1];
  take(walk, end);
  walk->place = place;
}

/* Both ways between two passes: as many bytes come as go. */
static guint32 exchange(PlanTransfers *transfers, guint32 pass, const End *sent, const End *received, guint32 stream) {
  PlanWalk *walk = transfers->walk;
  guint64 bytes = bytes_of(walk, sent);
  guint32 row;
  sim_require(bytes == bytes_of(walk, received), 0, NULL, "neighbours exchange unequal tensors");
  if (walk->recipe->pipeline.in_turn) {
    const End *first = sent->gradients ? received : sent, *second = sent->gradients ? sent : received;
    call(walk, stream, "exchange activations", "neighbours", first, bytes);
    row = call(walk, stream, "exchange gradients", "neighbours", second, bytes);
  } else {
    row = call(walk, stream, "exchange", "neighbours", sent, bytes);
  }
  take_next(transfers, pass, received);
  transfers->received = TRUE;
  return row;
}

/* What the backward after a forward needs, before the forward's output is sent: where that backward is the next thing
 * that happens, in the steady part of 1F1B. Before it the gradient is still to come of what is sent here. */
static void receive_first(PlanTransfers *transfers, guint32 pass) {
  PlanWalk *walk = transfers->walk;
  const PlanHolding *holding = own(transfers);
  End end;
  if (!walk->recipe->pipeline.receives_first || pass + 1 == holding->n_passes ||
      holding->passes[pass].kind != PLAN_PASS_FORWARD || holding->passes[pass + 1].kind == PLAN_PASS_FORWARD ||
      holding->passes[pass].micro - holding->passes[pass + 1].micro != transfers->shape->ranks - 1 - holding->rank ||
      !input_of(transfers, holding->passes[pass + 1], &end))
    return;
  guint32 place = walk->place;
  walk->place = holding->places[pass + 1];
  await(walk, receive(transfers, &end));
  walk->place = place;
  transfers->received = TRUE;
}

static void send(PlanTransfers *transfers, guint32 pass) {
  PlanWalk *walk = transfers->walk;
  End sent, received;
  if (!output_of(transfers, own(transfers)->passes[pass], &sent))
    return;
  tell(walk, walk->hooks->sending, &sent);
  receive_first(transfers, pass);
  guint32 stream, row;
  gboolean batch = is_batch(transfers, pass, &sent, &received);
  if (batch) {
    gboolean below = sent.before == own(transfers)->rank;
    stream = stream_named(walk, "exchange with ", below ? "next" : "previous", NULL);
    row = exchange(transfers, pass, &sent, &received, stream);
  } else {
    stream = stream_named(walk, "send ", flow_of(&sent), NULL);
    row = call(walk, stream, sent.gradients ? "send gradients" : "send activations", flow_of(&sent), &sent,
               bytes_of(walk, &sent));
  }
  if (walk->recipe->pipeline.early && !walk->recipe->pipeline.keeps_outputs) {
    begin_send(transfers, &sent, row);
    return;
  }
  gboolean waits = batch || walk->recipe->pipeline.waits_for_sends;
  give(transfers, &sent, waits ? PROGRAM_NONE : stream);
  if (waits) {
    plan_walk_need(walk, row);
    block(walk, row);
  }
  tell(walk, walk->hooks->sent, &sent);
}

void plan_transfers_send(PlanTransfers *transfers, guint32 pass) {
  send(transfers, pass);
  if (transfers->walk->recipe->pipeline.early)
    receive_ahead(transfers, pass);
  for (int gradients = FALSE; gradients <= TRUE && pass + 1 == own(transfers)->n_passes; gradients++)
    end_send(transfers, gradients);
}
