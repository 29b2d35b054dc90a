/* SPDX-License-Identifier: MIT */
/* Rows of exchanges, and who waits for them. */
#include "plan-exchange.h"

#include "base-error.h"
#include "plan-groups.h"
#include "plan-walk.h"

/* Rows of one exchange under way, one after the other. */
typedef struct {
  guint32 first, n;
  guint awaited_by;
  gboolean by_pieces;
  guint32 unit; /* whose tensors die once it has ended */
  ModelSet deaths;
} Wait;

void plan_exchanges_init(PlanExchanges *exchanges, struct PlanWalk *walk) {
  *exchanges = (PlanExchanges){.walk = walk, .pieces_of = G_MAXUINT};
  for (guint axis = 0; axis < MODEL_AXES; axis++)
    exchanges->slots[axis] = PROGRAM_NONE;
  exchanges->waits = g_array_new(FALSE, FALSE, sizeof(Wait));
}

void plan_exchanges_clear(PlanExchanges *exchanges) {
  g_array_unref(exchanges->waits);
  g_free(exchanges->pieces.data);
}

static void connect(PlanExchanges *exchanges, guint axis) {
  static const struct {
    const char *name;
    LayoutSet set;
  } axes[MODEL_AXES] = {
      [MODEL_AXIS_TENSOR] = {"tensor", LAYOUT_BIT(LAYOUT_TENSOR)},
      [MODEL_AXIS_CONTEXT] = {"context", LAYOUT_BIT(LAYOUT_CONTEXT)},
      [MODEL_AXIS_EXPERT] = {"expert", LAYOUT_BIT(LAYOUT_EXPERT)},
      [MODEL_AXIS_EXPERT_TENSOR] = {"expert-tensor", LAYOUT_BIT(LAYOUT_EXPERT_TENSOR)},
      [MODEL_AXIS_EXPERT_BOTH] = {"experts", LAYOUT_BIT(LAYOUT_EXPERT) | LAYOUT_BIT(LAYOUT_EXPERT_TENSOR)}};
  PlanWalk *walk = exchanges->walk;
  if (exchanges->slots[axis] != PROGRAM_NONE)
    return;
  exchanges->slots[axis] = plan_groups_of(walk->builder, axes[axis].name, walk->recipe, axes[axis].set);
  exchanges->streams[axis] = program_builder_stream(walk->builder, axes[axis].name);
  program_builder_pool(walk->builder, exchanges->streams[axis], walk->stream);
}

static const CollOperation operations[] = {[MODEL_EXCHANGE_ALL_REDUCE] = COLL_ALL_REDUCE,
                                           [MODEL_EXCHANGE_ALL_GATHER] = COLL_ALL_GATHER,
                                           [MODEL_EXCHANGE_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
                                           [MODEL_EXCHANGE_ALL_TO_ALL] = COLL_ALL_TO_ALL,
                                           [MODEL_EXCHANGE_RING] = COLL_SEND_RECV};

/* A step after a piece waits for that alone. */
static void follow(const PlanExchanges *exchanges, const ModelExchange *exchange, guint32 step) {
  if (exchange->chunks == MODEL_CHUNKS_AFTER && exchanges->pieces_of == exchange->follows && step < exchanges->pieces.n)
    program_builder_need(exchanges->walk->builder, ((const guint32 *)exchanges->pieces.data)[step]);
  else if (step == 0 || exchange->chunks != MODEL_CHUNKS_BEFORE)
    plan_walk_follow(exchanges->walk);
}

/* Over the network once to each node, and from there on inside; both at one time, as chunks are handed on. Compute
 * waits for both. */
static guint32 add_far(PlanExchanges *exchanges, const ModelOp *op) {
  PlanWalk *walk = exchanges->walk;
  static const char *const names[] = {"expert across nodes", "expert in node"};
  const guint64 bytes[] = {op->exchange.far_bytes, op->exchange.bytes};
  guint32 rows[2];
  for (guint near = 0; near < 2; near++) {
    guint32 stream = program_builder_stream(walk->builder, names[near]);
    guint32 slot = plan_groups_experts(walk->builder, walk->recipe, near == 1);
    program_builder_pool(walk->builder, stream, walk->stream);
    rows[near] =
        plan_walk_collective(walk, stream, op->name, slot, (CollCall){COLL_ALL_TO_ALL, bytes[near]}, PROGRAM_HINT_NONE);
    plan_walk_follow(walk);
  }
  g_array_set_size(walk->needs, 0);
  plan_walk_need(walk, rows[0]);
  plan_walk_need(walk, rows[1]);
  return rows[1];
}

guint32 plan_exchanges_add(PlanExchanges *exchanges, const ModelOp *op, guint32 unit, ModelSet deaths) {
  PlanWalk *walk = exchanges->walk;
  const ModelExchange *exchange = &op->exchange;
  if (exchange->far_bytes > 0)
    return add_far(exchanges, op);
  connect(exchanges, (guint)exchange->axis);
  Wait wait = {
      PROGRAM_NONE, MAX(exchange->steps, 1), exchange->awaited_by, exchange->chunks == MODEL_CHUNKS_BEFORE, unit,
      deaths};
  guint32 stream = exchanges->streams[exchange->axis], row = PROGRAM_NONE;
  for (guint32 step = 0; step < wait.n; step++) {
    row = plan_walk_collective(walk, stream, op->name, exchanges->slots[exchange->axis],
                               (CollCall){operations[exchange->kind], exchange->bytes}, PROGRAM_HINT_NONE);
    follow(exchanges, exchange, step);
    wait.first = step == 0 ? row : wait.first;
  }
  if (exchange->asynchronous) {
    g_array_append_val(exchanges->waits, wait);
    return row;
  }
  g_array_set_size(walk->needs, 0);
  plan_walk_need(walk, row);
  return row;
}

/* The last pieces each wait for one row, the others for none. FALSE: rows are left for later pieces. */
static gboolean await(PlanWalk *walk, const Wait *wait, gboolean by_pieces, guint32 piece, guint32 pieces) {
  if (!by_pieces) {
    plan_walk_need(walk, wait->first + wait->n - 1);
    return TRUE;
  }
  if (piece + wait->n >= pieces)
    plan_walk_need(walk, wait->first + (piece + wait->n - pieces));
  return piece + 1 == pieces;
}

/* The handle that kept its tensors is gone. */
static void end_wait(PlanExchanges *exchanges, guint i) {
  Wait wait = g_array_index(exchanges->waits, Wait, i);
  g_array_remove_index(exchanges->waits, i);
  plan_walk_give_set(exchanges->walk, wait.unit, wait.deaths);
}

void plan_exchanges_await(PlanExchanges *exchanges, guint index, guint32 piece, guint32 pieces) {
  for (guint i = exchanges->from; i < exchanges->waits->len;) {
    const Wait *wait = &g_array_index(exchanges->waits, Wait, i);
    gboolean by_pieces = wait->by_pieces && wait->awaited_by == index && pieces > wait->n;
    if (wait->awaited_by <= index && await(exchanges->walk, wait, by_pieces, piece, pieces))
      end_wait(exchanges, i);
    else
      i++;
  }
}

void plan_exchanges_piece(PlanExchanges *exchanges, guint index, guint32 piece, guint32 row) {
  if (piece == 0)
    exchanges->pieces.n = 0;
  exchanges->pieces_of = index;
  *(guint32 *)base_vector_next(&exchanges->pieces, sizeof row) = row;
}

guint plan_exchanges_begin(PlanExchanges *exchanges) {
  guint outer = exchanges->from;
  exchanges->from = exchanges->waits->len;
  exchanges->pieces_of = G_MAXUINT;
  return outer;
}

void plan_exchanges_end(PlanExchanges *exchanges) {
  while (exchanges->waits->len > exchanges->from) {
    await(exchanges->walk, &g_array_index(exchanges->waits, Wait, exchanges->from), FALSE, 0, 1);
    end_wait(exchanges, exchanges->from);
  }
  exchanges->pieces_of = G_MAXUINT;
}

void plan_exchanges_return(PlanExchanges *exchanges, guint outer) {
  exchanges->from = outer;
}
