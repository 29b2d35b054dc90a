/* SPDX-License-Identifier: MIT */
/* What schedules mean: executed on sets of contributions, in any order that their needs allow, every rank must end with
 * each contribution exactly once. Planted faults show that the execution would notice. */
#include <string.h>

#include "cluster.h"
#include "coll-schedule.h"
#include "group.h"
#include "harness.h"

/* A group on nodes × per_node of a DGX H100 cluster of wide nodes. */
typedef struct {
  TestCluster built;
  CollGroup *group;
  guint32 n;
} Bench;

static Bench bench_new(guint32 nodes, guint32 per_node) {
  g_autofree char *gpus = g_strdup_printf("cluster.gpus_per_node=%u", nodes == 1 ? MAX(per_node, 8) : 8);
  Bench bench = {.built = cluster_new("dgx-h100", nodes, gpus, NULL), .n = nodes * per_node};
  g_autofree guint32 *ranks = g_new(guint32, bench.n);
  for (guint32 i = 0; i < bench.n; i++)
    ranks[i] = i / per_node * bench.built.cluster->gpus_per_node + i % per_node;
  bench.group = group_new(bench.built.cluster, ranks, bench.n, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(bench.group);
  return bench;
}

static void bench_clear(Bench *bench) {
  coll_group_free(bench->group);
  cluster_clear(&bench->built);
}

typedef enum { WAITING, READY, MOVING, ENDED, ARRIVED } State;

/* What every place holds of every block: how often each contribution is in it. */
typedef struct {
  const CollSchedule *schedule;
  guint32 n, blocks;
  guint8 *held;    /* place, block, contributor */
  guint8 *carried; /* transfer, contributor: as read at its start */
  State *states;
} World;

static guint8 *held_at(const World *world, guint32 place, guint32 block) {
  return world->held + ((gsize)place * world->blocks + block) * world->n;
}

static gboolean may_start(const World *world, guint32 index) {
  const CollTransfer *transfer = &world->schedule->transfers[index];
  const guint32 *needs = &g_array_index(world->schedule->needs, guint32, transfer->needs);
  for (guint32 k = 0; k < transfer->n_arrivals + transfer->n_ends; k++)
    if (world->states[needs[k]] < (k < transfer->n_arrivals ? ARRIVED : ENDED))
      return FALSE;
  return TRUE;
}

static void advance(World *world, guint32 index) {
  const CollTransfer *transfer = &world->schedule->transfers[index];
  const CollConnection *connection = &world->schedule->connections[transfer->connection];
  guint8 *carried = world->carried + (gsize)index * world->n;
  guint8 *received = held_at(world, connection->to, transfer->block);
  if (world->states[index] == READY)
    memcpy(carried, held_at(world, connection->from, transfer->block), world->n);
  if (world->states[index] == ENDED)
    for (guint32 c = 0; c < world->n; c++)
      received[c] = (guint8)(transfer->reduces ? received[c] + carried[c] : carried[c]);
  world->states[index]++;
}

/* Plays transfers one stage at a time, whichever `random` picks of those that may go on. FALSE where some never may. */
static gboolean play(World *world, GRand *random) {
  guint32 n = world->schedule->n_transfers, arrived = 0;
  g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint32 added = 0; arrived < n;) {
    for (guint32 i = added == 0 ? 0 : n; i < n; i++)
      g_array_append_val(open, i);
    added = n;
    guint tries = 0;
    for (; tries < 64 * open->len; tries++) {
      guint at = (guint)g_rand_int_range(random, 0, (gint32)MIN(open->len, 4 * world->schedule->n_connections));
      guint32 index = g_array_index(open, guint32, at);
      if (world->states[index] == WAITING && may_start(world, index))
        world->states[index] = READY;
      if (world->states[index] == WAITING)
        continue;
      advance(world, index);
      if (world->states[index] == ARRIVED) {
        g_array_remove_index(open, at);
        arrived++;
      }
      break;
    }
    if (tries == 64 * open->len && open->len > 0)
      return FALSE;
  }
  return TRUE;
}

static void contribute(World *world, CollOperation operation) {
  for (guint32 place = 0; place < world->n; place++)
    for (guint32 block = 0; block < world->blocks; block++)
      if (operation != COLL_ALL_GATHER || block % world->n == place)
        held_at(world, place, block)[place] = 1;
}

static gboolean is_meant(const World *world, CollOperation operation) {
  for (guint32 place = 0; place < world->n; place++)
    for (guint32 block = 0; block < world->blocks; block++) {
      guint32 owner = block % world->n;
      if (operation == COLL_REDUCE_SCATTER && owner != place)
        continue;
      for (guint32 c = 0; c < world->n; c++)
        if (held_at(world, place, block)[c] != (operation != COLL_ALL_GATHER || c == owner))
          return FALSE;
    }
  return TRUE;
}

static gboolean execute(const CollSchedule *schedule, CollOperation operation, GRand *random) {
  World world = {.schedule = schedule, .n = schedule->places};
  for (guint32 i = 0; i < schedule->n_transfers; i++)
    world.blocks = MAX(world.blocks, schedule->transfers[i].block + 1);
  world.held = g_new0(guint8, (gsize)world.n * world.blocks * world.n);
  world.carried = g_new0(guint8, (gsize)schedule->n_transfers * world.n);
  world.states = g_new0(State, schedule->n_transfers);
  contribute(&world, operation);
  gboolean meant = play(&world, random) && is_meant(&world, operation);
  g_free(world.held);
  g_free(world.carried);
  g_free(world.states);
  return meant;
}

/* Blocks of one owner (all-reduce: of all) follow one another without a gap, up to what a channel must move. */
static void check_tiling(const CollSchedule *schedule, const CollCall *call) {
  guint32 n = schedule->places, owners = call->operation == COLL_ALL_REDUCE ? 1 : n;
  g_autoptr(GHashTable) bytes_at = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  for (guint32 i = 0; i < schedule->n_transfers; i++) {
    const CollTransfer *transfer = &schedule->transfers[i];
    gint64 key = (gint64)transfer->offset * owners + transfer->block % owners;
    gint64 *known = g_hash_table_lookup(bytes_at, &key);
    if (known != NULL && *known != (gint64)transfer->bytes)
      CU_FAIL("two transfers of one block differ");
    g_hash_table_insert(bytes_at, g_memdup2(&key, sizeof key), g_memdup2(&transfer->bytes, sizeof transfer->bytes));
  }
  for (guint32 owner = 0; owner < owners; owner++) {
    guint64 end = 0;
    for (gint64 key = owner, *bytes; (bytes = g_hash_table_lookup(bytes_at, &key)) != NULL;
         key = (gint64)end * owners + owner)
      end += (guint64)*bytes;
    CU_ASSERT_TRUE(end * schedule->lanes * schedule->alike * owners >= call->bytes);
  }
}

/* Members are a permutation in every lane, and every connection has links. */
static void check_lanes(const CollSchedule *schedule) {
  for (guint32 lane = 0; lane < schedule->lanes; lane++) {
    g_autofree gboolean *seen = g_new0(gboolean, schedule->places);
    for (guint32 p = 0; p < schedule->places; p++)
      seen[schedule->members[lane * schedule->places + p]] = TRUE;
    for (guint32 p = 0; p < schedule->places; p++)
      CU_ASSERT_TRUE(seen[p]);
    for (guint32 c = 0; c < schedule->n_connections; c++) {
      guint32 links[COLL_SCHEDULE_MOST_LINKS];
      CU_ASSERT_TRUE(coll_schedule_links(schedule, lane, c, links) >= 2);
    }
  }
}

static void check_group(CollAlgorithm algorithm, guint32 nodes, guint32 per_node, GRand *random) {
  static const guint64 sizes[] = {8, 1000003, 1 << 30};
  Bench bench = bench_new(nodes, per_node);
  for (CollOperation operation = 0; operation <= (algorithm == COLL_RING ? COLL_REDUCE_SCATTER : COLL_ALL_REDUCE);
       operation++)
    for (gsize s = 0; s < G_N_ELEMENTS(sizes); s++) {
      CollCall call = {operation, sizes[s]};
      CollPlan plan;
      coll_plan_forced(bench.group, &call, algorithm, &plan);
      g_autoptr(CollSchedule) schedule = coll_schedule_new(bench.group, &call, &plan);
      if (!execute(schedule, operation, random)) {
        printf("\n    %s %s of %" G_GUINT64_FORMAT " bytes, %u × %u\n", coll_algorithm_names[algorithm],
               coll_operation_names[operation], call.bytes, nodes, per_node);
        CU_FAIL("a rank ends with something else");
      }
      check_tiling(schedule, &call);
      check_lanes(schedule);
    }
  bench_clear(&bench);
}

static void every_rank_ends_with_what_it_should(void) {
  static const guint32 groups[][2] = {{1, 2}, {1, 3}, {1, 4}, {1, 7}, {1, 8}, {1, 64}, {2, 1}, {3, 1},
                                      {2, 3}, {2, 8}, {5, 2}, {7, 1}, {3, 8}, {8, 4},  {8, 8}};
  g_autoptr(GRand) random = harness_random();
  for (gsize g = 0; g < G_N_ELEMENTS(groups); g++)
    for (CollAlgorithm algorithm = 0; algorithm <= COLL_TREE; algorithm++)
      check_group(algorithm, groups[g][0], groups[g][1], random);
}

typedef void (*Fault)(CollTransfer *transfer);

static void no_needs(CollTransfer *transfer) {
  transfer->n_arrivals = transfer->n_ends = 0;
}
static void other_kind(CollTransfer *transfer) {
  transfer->reduces = !transfer->reduces;
}
static void other_block(CollTransfer *transfer) {
  transfer->block ^= 1;
}

static void faults_are_noticed(void) {
  static const Fault faults[] = {no_needs, other_kind, other_block};
  Bench bench = bench_new(2, 4);
  for (guint each = 0; each <= COLL_REDUCE_SCATTER + 1; each++)
    for (gsize f = 0; f < G_N_ELEMENTS(faults); f++) {
      CollAlgorithm algorithm = each <= COLL_REDUCE_SCATTER ? COLL_RING : COLL_TREE;
      CollOperation operation = each <= COLL_REDUCE_SCATTER ? (CollOperation)each : COLL_ALL_REDUCE;
      CollCall call = {operation, 1 << 20};
      CollPlan plan;
      coll_plan_forced(bench.group, &call, algorithm, &plan);
      g_autoptr(CollSchedule) schedule = coll_schedule_new(bench.group, &call, &plan);
      /* One in the middle that passes on what came. An all-gather's transfer that adds to nothing is no fault. */
      CollTransfer *transfer = &schedule->transfers[schedule->n_transfers / 2];
      while (transfer->n_arrivals == 0)
        transfer++;
      faults[f](transfer);
      guint noticed = 0;
      g_autoptr(GRand) random = harness_random();
      for (guint again = 0; again < 20; again++)
        noticed += !execute(schedule, operation, random);
      CU_ASSERT_TRUE(noticed > 0 || (operation == COLL_ALL_GATHER && faults[f] == other_kind));
    }
  bench_clear(&bench);
}

int main(void) {
  return harness_run("coll-meaning",
                     (HarnessCase[]){{"every rank ends with what it should", every_rank_ends_with_what_it_should},
                                     {"faults are noticed", faults_are_noticed},
                                     {NULL, NULL}});
}
