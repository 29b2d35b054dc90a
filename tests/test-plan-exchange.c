/* SPDX-License-Identifier: MIT */
/* Who waits for an asynchronous exchange: the op that awaits it, or what comes after its run (model-unit.h:
 * ModelExchange.awaited_by), where a run may lie within another. */
#include "harness.h"
#include "kernel-op.h"
#include "plan-draw.h"
#include "plan-walk.h"

enum { RANKS = 2, EMBEDDING = 0, TENSOR = 0, LATE = 9 };

static guint32 compute(PlanWalk *walk, const char *name, guint32 op) {
  return plan_walk_pass(walk, walk->stream, name, op);
}

/* As a run of ops adds it, with a tensor that dies with it. */
static guint32 exchange(PlanWalk *walk, const char *name, guint awaited_by, ModelSet deaths) {
  ModelOp op = {.name = name,
                .exchange = {.kind = MODEL_EXCHANGE_ALL_REDUCE,
                             .axis = MODEL_AXIS_TENSOR,
                             .bytes = 64,
                             .steps = 1,
                             .asynchronous = TRUE,
                             .awaited_by = awaited_by}};
  return plan_exchanges_add(&walk->exchanges, &op, EMBEDDING, deaths);
}

static gboolean needs(const ProgramSection *section, guint32 row, guint32 need) {
  for (guint32 i = 0; i < section->rows[row].n_needs; i++)
    if (section->needs[section->rows[row].needs + i] == need)
      return TRUE;
  return FALSE;
}

typedef struct {
  Drawn drawn;
  PlanHolding *holding;
  ProgramBuilder *builder;
  PlanWalk *walk;
  guint32 op; /* of any compute */
} World;

static void world_begin(World *world) {
  g_autoptr(GRand) random = harness_random();
  const guint32 ranks[RANKS] = {0, 1};
  world->drawn = draw(random, PLAN_DDP);
  const guint32 bounds[] = {0, (guint32)world->drawn.shape.layers + 2};
  PlanScheduleShape single = {.schedule = LAYOUT_SCHEDULE_SINGLE, .ranks = 1, .chunks = 1, .micros = 1};
  PlanCase what = {&world->drawn.shape, &world->drawn.model, &world->drawn.recipe};
  world->builder = program_builder_new();
  world->holding = plan_holding_new(&single, bounds, 0);
  world->walk = plan_walk_new(world->builder, &what, world->holding, program_builder_stream(world->builder, "compute"));
  PlanExchanges *exchanges = &world->walk->exchanges;
  exchanges->streams[MODEL_AXIS_TENSOR] = program_builder_stream(world->builder, "tensor");
  exchanges->slots[MODEL_AXIS_TENSOR] = program_builder_communicator(world->builder, "tensor", ranks, RANKS);
  program_builder_role(world->builder, "rank", RANKS);
  program_builder_facts(world->builder, 1, 1, 1, KERNEL_BF16);
  world->op = program_builder_memory_op(world->builder, 64);
}

static Program *world_end(World *world) {
  plan_walk_free(world->walk);
  plan_holding_free(world->holding);
  return program_builder_end(world->builder);
}

/*  compute   before │ a │ [inner run: b │ c ] d │ e ] after
 *  tensor     X ────────────────────────── awaited by 3: d
 *  tensor         Y, whose tensor dies with it, ────────── left by the outer run: after
 *  tensor                    Z ──── left by the inner run: c, the next compute
 * Each exchange waits for the compute before it. */
static void nothing_is_left_behind(void) {
  World world;
  world_begin(&world);
  PlanWalk *walk = world.walk;
  PlanExchanges *exchanges = &walk->exchanges;
  guint32 op = world.op, tensor = *plan_walk_tensor(walk, EMBEDDING, TENSOR);
  guint32 x, y, z, before, a, b, c, d, e, after;
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    plan_walk_section(walk, kind);
    before = compute(walk, "before", op);
    plan_walk_take(walk, tensor);
    x = exchange(walk, "X", 3, 0);
    a = compute(walk, "a", op);
    y = exchange(walk, "Y", LATE, model_set_of(TENSOR));
    guint outer = plan_exchanges_begin(exchanges);
    plan_exchanges_await(exchanges, 3, 0, 1); /* of the inner run */
    b = compute(walk, "b", op);
    z = exchange(walk, "Z", LATE, 0);
    plan_exchanges_end(exchanges);
    c = compute(walk, "c", op);
    plan_exchanges_return(exchanges, outer);
    plan_exchanges_await(exchanges, 3, 0, 1);
    d = compute(walk, "d", op);
    e = compute(walk, "e", op);
    plan_exchanges_end(exchanges);
    after = compute(walk, "after", op);
  }
  g_autoptr(Program) program = world_end(&world);
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  const guint32 rows[] = {before, a, b, c, d, e, after};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    CU_ASSERT_EQUAL(needs(section, rows[i], x), rows[i] == d);
    CU_ASSERT_EQUAL(needs(section, rows[i], y), rows[i] == after);
    CU_ASSERT_EQUAL(needs(section, rows[i], z), rows[i] == c);
    CU_ASSERT_EQUAL(section->rows[rows[i]].n_gives, rows[i] == after);
  }
  CU_ASSERT_TRUE(needs(section, x, before) && needs(section, y, a) && needs(section, z, b));
  CU_ASSERT_EQUAL(section->gives[section->rows[after].gives].tensor, tensor);
}

/* A ring's steps follow the pieces of an op of their own run alone: of one before it they know nothing, and wait for
 * what compute has issued. */
static void pieces_are_of_one_run(void) {
  const ModelOp ring = {.name = "ring",
                        .exchange = {.kind = MODEL_EXCHANGE_RING,
                                     .axis = MODEL_AXIS_TENSOR,
                                     .bytes = 64,
                                     .steps = 1,
                                     .asynchronous = TRUE,
                                     .chunks = MODEL_CHUNKS_AFTER,
                                     .awaited_by = LATE}};
  for (guint ends = 0; ends < 2; ends++) {
    World world;
    world_begin(&world);
    PlanExchanges *exchanges = &world.walk->exchanges;
    guint32 piece = 0, last = 0, row = 0;
    for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
      plan_walk_section(world.walk, kind);
      piece = compute(world.walk, "piece", world.op);
      plan_exchanges_piece(exchanges, 0, 0, piece);
      if (ends)
        plan_exchanges_end(exchanges);
      last = compute(world.walk, "last", world.op);
      row = plan_exchanges_add(exchanges, &ring, EMBEDDING, 0);
      plan_exchanges_end(exchanges);
      compute(world.walk, "after", world.op);
    }
    g_autoptr(Program) program = world_end(&world);
    const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
    CU_ASSERT_EQUAL(needs(section, row, piece), !ends);
    CU_ASSERT_TRUE((guint)needs(section, row, last) == ends);
  }
}

int main(void) {
  return harness_run("plan-exchange", (HarnessCase[]){{"nothing is left behind", nothing_is_left_behind},
                                                      {"pieces are of one run", pieces_are_of_one_run},
                                                      {NULL, NULL}});
}
