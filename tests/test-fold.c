/* SPDX-License-Identifier: MIT */
/* Folding of systems built by hand and at random: many communicators, shared links, slower GPUs; the folded system
 * plays to the report of the whole one, and a refinement that stops too early is seen to.
 *
 * A system is ranks, one link each and some shared ones, and communicators in one order: every rank computes, then
 * calls, for each of its communicators in that order, so that no two ranks ever wait for each other. */
#include <string.h>

#include "cluster.h"
#include "coll-group.h"
#include "fold-role.h"
#include "fold.h"
#include "kernel-op.h"
#include "mem-tenant.h"
#include "program.h"
#include "run-play.h"
#include "twins.h"

#define MOST_RANKS  64
#define MOST_GROUPS 64

typedef struct {
  guint32 ranks[MOST_RANKS], n;
  guint32 kind;   /* what is called and computed before: the same for all members */
  guint32 shared; /* a shared link that it loads; PROGRAM_NONE: none */
  guint32 coefficient;
  guint32 nodes; /* what its CollGroup says: more have more latency */
} Group;

typedef struct {
  TestCluster built; /* lends its GPU and platform */
  HwCluster cluster;
  Group groups[MOST_GROUPS];
  guint32 n_ranks, n_groups, n_shared;
  gboolean own_first; /* each rank begins with the group of its own number, the others go to a second stream */
  double speeds[MOST_RANKS], shared[MOST_RANKS]; /* capacities of shared links */
  guint32 kinds[MOST_RANKS];                     /* of ranks: how long their first operation takes */
} System;

static void system_init(System *system, guint32 n_ranks, guint32 n_shared) {
  memset(system, 0, sizeof *system);
  system->built = cluster_new("dgx-h100", 1, NULL);
  system->n_ranks = n_ranks;
  system->n_shared = n_shared;
  for (guint32 i = 0; i < n_ranks; i++)
    system->speeds[i] = 1;
  for (guint32 i = 0; i < n_shared; i++)
    system->shared[i] = 100e9;
}

static Group *add_group(System *system, guint32 kind, const guint32 *ranks, guint32 n) {
  Group *group = &system->groups[system->n_groups++];
  CU_ASSERT_TRUE_FATAL(system->n_groups <= MOST_GROUPS && n <= MOST_RANKS);
  memcpy(group->ranks, ranks, n * sizeof *ranks);
  *group = (Group){.n = n, .kind = kind, .shared = PROGRAM_NONE, .coefficient = 1, .nodes = 1};
  memcpy(group->ranks, ranks, n * sizeof *ranks);
  return group;
}

static gboolean is_member(const Group *group, guint32 rank) {
  for (guint32 i = 0; i < group->n; i++)
    if (group->ranks[i] == rank)
      return TRUE;
  return FALSE;
}

/* Links: one per rank, then the shared ones. */
static void build_cluster(System *system) {
  HwCluster *cluster = &system->cluster;
  *cluster = *system->built.cluster;
  cluster->nodes = 1;
  cluster->gpus_per_node = system->n_ranks;
  cluster->speeds = system->speeds;
  cluster->n_links = system->n_ranks + system->n_shared;
  cluster->links = g_new(HwClusterLink, cluster->n_links);
  for (guint32 i = 0; i < cluster->n_links; i++)
    cluster->links[i] = (HwClusterLink){.link_class = i < system->n_ranks ? HW_CLASS_GPU_OUT : HW_CLASS_NIC_OUT,
                                        .capacity = i < system->n_ranks ? 300e9 : system->shared[i - system->n_ranks],
                                        .count = 1,
                                        .share = 1};
}

static void add_route(CollGroup *group, const System *system, const Group *from, CollAlgorithm algorithm) {
  guint32 n = from->n + (from->shared != PROGRAM_NONE);
  CollRoute route = {g_new(guint32, n), g_new(guint32, n), n};
  for (guint32 i = 0; i < from->n; i++) {
    route.links[i] = from->ranks[i];
    route.coefficients[i] = from->coefficient;
  }
  if (from->shared != PROGRAM_NONE) {
    route.links[n - 1] = system->n_ranks + from->shared;
    route.coefficients[n - 1] = 2;
  }
  double rate = G_MAXDOUBLE;
  for (guint32 i = 0; i < n; i++)
    rate = MIN(rate, system->cluster.links[route.links[i]].capacity / route.coefficients[i]);
  group->routes[algorithm] = route;
  group->units[algorithm] = algorithm == COLL_RING ? 1 : 2;
  group->rates[algorithm] = rate;
  group->connected |= 1u << algorithm;
}

/* What lies between members is nobody's: other bytes in each group, which folding must not see. */
static void spoil_padding(CollGroup *group, guint8 byte) {
  const gsize used = G_STRUCT_OFFSET(CollRoute, n) + sizeof group->routes[0].n;
  for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++)
    memset((char *)&group->routes[algorithm] + used, byte, sizeof(CollRoute) - used);
}

static CollGroup *build_group(const System *system, const Group *from, CollTuning *tuning) {
  CollGroup *group = g_new0(CollGroup, 1);
  group->size = from->n;
  group->nodes = from->nodes;
  group->per_node = MAX(1, from->n / from->nodes);
  group->rings = 1;
  group->channels = 2;
  group->tuning = g_rc_box_acquire(tuning);
  coll_knobs_init(&group->knobs);
  group->buffer_bytes = from->n << 20;
  for (CollAlgorithm algorithm = COLL_RING; algorithm <= COLL_TREE; algorithm++)
    add_route(group, system, from, algorithm);
  group->node_rate = group->rates[COLL_RING];
  CollSearchResult found = {
      .channels = 1, .intra = group->node_rate, .inter = group->node_rate, .nvlink = TRUE, .ll128 = TRUE};
  group->found[COLL_SEARCHED_RING] = group->found[COLL_SEARCHED_TREE] = found;
  group->p2p_cap = G_MAXDOUBLE;
  return group;
}

#define MB    (guint64)1000000
#define KINDS 4

static const CollOperation operations[KINDS] = {COLL_ALL_GATHER, COLL_ALL_REDUCE, COLL_REDUCE_SCATTER, COLL_ALL_GATHER};
static const guint64 payloads[KINDS] = {256 * MB, 64 * MB, 512 * MB, 8 * MB};

typedef struct {
  ProgramBuilder *builder;
  guint32 compute, comm, second, ops[KINDS];
} Writer;

static void write_section(const System *system, const Writer *writer, guint32 rank, guint32 tensor) {
  ProgramBuilder *builder = writer->builder;
  guint32 call = PROGRAM_NONE;
  guint32 last = program_builder_compute(builder, writer->compute, "begin", writer->ops[system->kinds[rank]]);
  program_builder_take(builder, tensor);
  for (guint32 i = 0; i < system->n_groups; i++) {
    guint32 g = system->own_first ? (rank + i) % system->n_groups : i;
    const Group *group = &system->groups[g];
    if (!is_member(group, rank))
      continue;
    last = program_builder_compute(builder, writer->compute, "work", writer->ops[group->kind]);
    program_builder_need(builder, group->kind != 1 ? call : PROGRAM_NONE); /* of kind 1, calls are not waited for */
    guint32 stream = system->own_first && i > 0 ? writer->second : writer->comm;
    call = program_builder_collective(builder, stream, "call", g,
                                      (CollCall){operations[group->kind], payloads[group->kind]},
                                      group->kind == 2 ? PROGRAM_HINT_BUCKET : PROGRAM_HINT_NONE);
    program_builder_need(builder, last);
  }
  program_builder_host(builder, "end");
  program_builder_need(builder, call);
  program_builder_need(builder, last);
  program_builder_give(builder, tensor, PROGRAM_NONE);
}

static Program *build_program(const System *system) {
  Writer writer = {.builder = program_builder_new()};
  writer.compute = program_builder_stream(writer.builder, "compute");
  writer.comm = program_builder_stream(writer.builder, "comm");
  writer.second = program_builder_stream(writer.builder, "second comm");
  for (guint32 kind = 0; kind < KINDS; kind++)
    writer.ops[kind] = program_builder_memory_op(writer.builder, (kind * kind * 3 + 1) * 400 * MB);
  for (guint32 g = 0; g < system->n_groups; g++)
    program_builder_communicator(writer.builder, "some", system->groups[g].ranks, system->groups[g].n);
  for (guint32 rank = 0; rank < system->n_ranks; rank++) {
    program_builder_role(writer.builder, "rank", 1);
    guint32 tensor = program_builder_tensor(writer.builder, "x", MEM_ACTIVATIONS, 100 * MB, MB);
    for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
      program_builder_section(writer.builder, (ProgramSectionKind)kind);
      write_section(system, &writer, rank, tensor);
    }
  }
  program_builder_facts(writer.builder, 1000, 1e12, 1e12, KERNEL_BF16);
  return program_builder_end(writer.builder);
}

static RunReport *play(const System *system, const FoldSystem *folded) {
  RunSystem run = {&folded->program, system->cluster.gpu, folded->links,
                   folded->n_links,  folded->groups,      system->speeds};
  RunOptions options = {.timeline = TRUE, .solver = NET_SOLVER_LAZY, .tie = EVENT_TIE_FORWARD};
  return run_play(&run, &options, "test", NULL);
}

/* What came of folding a system. */
typedef struct {
  gboolean equal; /* to every rank played */
  guint32 ranks, groups, links;
  guint32 classes[MOST_RANKS];
  char members[MOST_RANKS][64], apart[MOST_RANKS][128]; /* of classes; "" where nothing sets one apart */
} Outcome;

static Outcome compare(System *system, guint32 rounds, gboolean loud) {
  CollTuning *tuning = g_rc_box_new0(CollTuning);
  CU_ASSERT_TRUE_FATAL(coll_tuning_load("nccl-2.30", "hopper", tuning, NULL, NULL));
  build_cluster(system);
  g_autoptr(Program) program = build_program(system);
  CollGroup *groups[MOST_GROUPS];
  for (guint32 g = 0; g < system->n_groups; g++)
    spoil_padding(groups[g] = build_group(system, &system->groups[g], tuning), (guint8)g);
  g_autoptr(FoldSystem) folded = fold_new_stopped(program, &system->cluster, groups, rounds);
  g_autoptr(FoldSystem) whole = fold_new(program, &system->cluster, groups, FALSE);
  g_autoptr(RunReport) report = play(system, folded);
  g_autoptr(RunReport) plain = play(system, whole);
  Outcome outcome = {
      .ranks = folded->program.n_ranks, .groups = folded->program.n_communicators, .links = folded->n_links};
  for (guint32 i = 0; i < system->n_ranks; i++)
    outcome.classes[i] = fold_class_of(folded, i);
  for (guint32 i = 0; i < outcome.ranks; i++) {
    g_autofree char *members = fold_members(folded, i), *apart = fold_apart(folded, i);
    g_strlcpy(outcome.members[i], members, sizeof outcome.members[i]);
    g_strlcpy(outcome.apart[i], apart != NULL ? apart : "", sizeof outcome.apart[i]);
  }
  CU_ASSERT_EQUAL(plain->n_classes, system->n_ranks);
  outcome.equal = twins_equal(report, outcome.classes, plain, loud);
  for (guint32 g = 0; g < system->n_groups; g++)
    coll_group_free(groups[g]);
  g_rc_box_release(tuning);
  g_free(system->cluster.links);
  return outcome;
}

/* rows × columns ranks; a communicator per row, loading a shared link, and one per column. */
static void build_grid(System *system, guint32 rows, guint32 columns) {
  guint32 ranks[MOST_RANKS];
  system_init(system, rows * columns, rows);
  for (guint32 row = 0; row < rows; row++) {
    for (guint32 i = 0; i < columns; i++)
      ranks[i] = row * columns + i;
    add_group(system, 0, ranks, columns)->shared = row;
  }
  for (guint32 column = 0; column < columns; column++) {
    for (guint32 i = 0; i < rows; i++)
      ranks[i] = i * columns + column;
    add_group(system, 2, ranks, rows);
  }
}

static void a_grid_is_one_rank(void) {
  System system;
  build_grid(&system, 4, 6);
  Outcome outcome = compare(&system, G_MAXUINT32, TRUE);
  CU_ASSERT_TRUE(outcome.equal);
  /* A row and a column; the link of a rank and one of a row. */
  CU_ASSERT_EQUAL(outcome.ranks, 1);
  CU_ASSERT_EQUAL(outcome.groups, 2);
  CU_ASSERT_EQUAL(outcome.links, 2);
  cluster_clear(&system.built);
}

static void a_straggler_splits_what_it_touches(void) {
  System system;
  build_grid(&system, 4, 6);
  system.speeds[8] = 0.7; /* row 1, column 2 */
  Outcome outcome = compare(&system, G_MAXUINT32, TRUE);
  CU_ASSERT_TRUE(outcome.equal);
  /* Itself, the rest of its row, of its column, and those that meet it in neither; its row, the other rows, its column,
   * the other columns; the links of the four kinds of ranks, of its row and of the other rows. */
  CU_ASSERT_EQUAL(outcome.ranks, 4);
  CU_ASSERT_EQUAL(outcome.groups, 4);
  CU_ASSERT_EQUAL(outcome.links, 6);
  CU_ASSERT_EQUAL(outcome.classes[6], outcome.classes[11]);
  CU_ASSERT_EQUAL(outcome.classes[2], outcome.classes[20]);
  CU_ASSERT_EQUAL(outcome.classes[0], outcome.classes[23]);
  /* In the order of their first ranks: 0, 2, 6, 8. */
  static const char *const members[] = {"0-1,3-5,12-13,15-19,21-23", "2,14,20", "6-7,9-11", "8"};
  static const char waits[] = "its communicator \"some\" waits for rank 8, whose GPU runs at 0.7 of its speed";
  static const char *const apart[] = {"", waits, waits, "its GPU runs at 0.7 of its speed"};
  for (guint32 i = 0; i < 4; i++) {
    CU_ASSERT_STRING_EQUAL(outcome.members[i], members[i]);
    CU_ASSERT_STRING_EQUAL(outcome.apart[i], apart[i]);
  }
  cluster_clear(&system.built);
}

static void a_slow_link_splits_its_communicators(void) {
  System system;
  build_grid(&system, 4, 6);
  system.shared[3] = 50e9;
  Outcome outcome = compare(&system, G_MAXUINT32, TRUE);
  CU_ASSERT_TRUE(outcome.equal);
  /* The ranks of row 3 and the others; row 3, the other rows, the columns, which all meet a rank of it. */
  CU_ASSERT_EQUAL(outcome.ranks, 2);
  CU_ASSERT_EQUAL(outcome.groups, 3);
  cluster_clear(&system.built);
}

static void a_slower_communicator_stays_apart(void) {
  System system;
  build_grid(&system, 4, 6);
  system.groups[2].nodes = 3;
  Outcome outcome = compare(&system, G_MAXUINT32, TRUE);
  CU_ASSERT_TRUE(outcome.equal);
  /* As with the slow link: row 2, the other rows, the columns. */
  CU_ASSERT_EQUAL(outcome.ranks, 2);
  CU_ASSERT_EQUAL(outcome.groups, 3);
  cluster_clear(&system.built);
}

/*   0 ── 1 ── 2 ── 3 ── 4 ── 5       pairs 01, 23, 45 call first, then 12, 34; the ends begin late
 *
 * Ranks 1 and 2 have as many pairs each, of the same kinds: only that the first of rank 1 is with an end tells them
 * apart, and that stands in the colour of the pair after one round, in that of the ranks after two. */
static void build_path(System *system) {
  static const guint32 pairs[][2] = {{0, 1}, {2, 3}, {4, 5}, {1, 2}, {3, 4}};
  system_init(system, 6, 0);
  for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++)
    add_group(system, 0, pairs[i], 2);
  system->kinds[0] = system->kinds[5] = 3;
}

static void stopping_early_is_noticed(void) {
  System system;
  build_path(&system);
  Outcome full = compare(&system, G_MAXUINT32, TRUE), two = compare(&system, 2, TRUE),
          early = compare(&system, 1, FALSE);
  CU_ASSERT_TRUE(full.equal);
  CU_ASSERT_EQUAL(full.ranks, 3);
  CU_ASSERT_STRING_EQUAL(full.apart[full.classes[1]], "the role is \"rank\"");
  CU_ASSERT_EQUAL(full.classes[1], full.classes[4]);
  CU_ASSERT_NOT_EQUAL(full.classes[1], full.classes[2]);
  CU_ASSERT_EQUAL(two.ranks, 3);
  CU_ASSERT_EQUAL(early.ranks, 2);
  CU_ASSERT_FALSE(early.equal);
  cluster_clear(&system.built);
}

/* A ring of pairs, even ones first: every rank has an even and an odd pair, and all are alike. */
static void a_ring_of_pairs(void) {
  System system;
  system_init(&system, 12, 0);
  for (guint32 parity = 0; parity < 2; parity++)
    for (guint32 i = parity; i < 12; i += 2)
      add_group(&system, parity, (guint32[]){MIN(i, (i + 1) % 12), MAX(i, (i + 1) % 12)}, 2);
  Outcome outcome = compare(&system, G_MAXUINT32, TRUE);
  CU_ASSERT_TRUE(outcome.equal);
  CU_ASSERT_EQUAL(outcome.ranks, 1);
  CU_ASSERT_EQUAL(outcome.groups, 2);
  cluster_clear(&system.built);
}

/* Every rank begins with the pair to its right and goes on with that to its left, on another stream: all ranks and all
 * pairs are alike, and each pair waits for the second call of one member. One pair that stood for all would get both
 * calls of the one rank, and begin with the first: so pairs stay apart. */
static void no_rank_meets_itself(void) {
  System system;
  system_init(&system, 8, 0);
  system.own_first = TRUE;
  for (guint32 i = 0; i < 8; i++)
    add_group(&system, 1, (guint32[]){MIN(i, (i + 1) % 8), MAX(i, (i + 1) % 8)}, 2);
  Outcome outcome = compare(&system, G_MAXUINT32, TRUE);
  CU_ASSERT_TRUE(outcome.equal);
  CU_ASSERT_EQUAL(outcome.groups, 8);
  cluster_clear(&system.built);
}

/* Rows that wait for rows 1 and 0, or give back the first tensor once stream 0 has passed: the same two numbers. */
static void a_wait_is_no_give(void) {
  ProgramBuilder *builder = program_builder_new();
  guint32 stream = program_builder_stream(builder, "compute"), op = program_builder_memory_op(builder, MB);
  program_builder_communicator(builder, "one", (const guint32[]){0}, 1);
  for (int gives = 0; gives < 2; gives++) {
    program_builder_role(builder, "rank", 1);
    guint32 tensor = program_builder_tensor(builder, "x", MEM_ACTIVATIONS, MB, MB);
    for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
      program_builder_section(builder, (ProgramSectionKind)kind);
      guint32 first = program_builder_compute(builder, stream, "work", op);
      program_builder_take(builder, tensor);
      guint32 second = program_builder_compute(builder, stream, "work", op);
      program_builder_compute(builder, stream, "end", op);
      if (gives) {
        program_builder_give(builder, tensor, 0);
      } else {
        program_builder_need(builder, second);
        program_builder_need(builder, first);
      }
    }
  }
  program_builder_facts(builder, 1000, 1e12, 1e12, KERNEL_BF16);
  g_autoptr(Program) program = program_builder_end(builder);
  FoldRoles roles;
  fold_roles_init(&roles, program);
  CU_ASSERT_NOT_EQUAL(roles.shapes[0], roles.shapes[1]);
  fold_roles_clear(&roles);
}

static int by_value(const void *a, const void *b) {
  guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
  return (left > right) - (left < right);
}

static void shuffle(GRand *random, guint32 *values, guint32 n) {
  for (guint32 i = n; i > 1; i--) {
    guint32 j = (guint32)g_rand_int_range(random, 0, (gint)i), kept = values[i - 1];
    values[i - 1] = values[j];
    values[j] = kept;
  }
}

/* Two or three partitions of the ranks into communicators of equal size, at random or in order; some shared links. */
static void build_regular(System *system, GRand *random) {
  static const guint32 sizes[] = {2, 3, 4, 6};
  guint32 ranks[MOST_RANKS], n = 12 * (guint32)g_rand_int_range(random, 1, 4);
  system_init(system, n, 12);
  guint32 partitions = (guint32)g_rand_int_range(random, 2, 4);
  for (guint32 p = 0; p < partitions && system->n_groups + n / 2 <= MOST_GROUPS; p++) {
    guint32 size = sizes[g_rand_int_range(random, 0, G_N_ELEMENTS(sizes))];
    gboolean mixed = g_rand_boolean(random);
    for (guint32 i = 0; i < n; i++)
      ranks[i] = mixed ? i : i % size * (n / size) + i / size;
    if (g_rand_int_range(random, 0, 3) == 0)
      shuffle(random, ranks, n);
    for (guint32 i = 0; i < n; i += size) {
      qsort(ranks + i, size, sizeof *ranks, by_value);
      Group *group = add_group(system, p, ranks + i, size);
      group->coefficient = p + 1;
      group->shared = p == 0 ? i / size % 12 : PROGRAM_NONE;
    }
  }
}

/* Communicators of any ranks, called in the order of their kinds or in any. */
static void build_irregular(System *system, GRand *random) {
  guint32 ranks[MOST_RANKS], n = (guint32)g_rand_int_range(random, 4, 20),
                             groups = (guint32)g_rand_int_range(random, 1, 9);
  gboolean one_kind = g_rand_boolean(random);
  system_init(system, n, 3);
  for (guint32 g = 0; g < groups; g++) {
    guint32 size = 2 + (guint32)g_rand_int_range(random, 0, 3);
    for (guint32 i = 0; i < n; i++)
      ranks[i] = i;
    shuffle(random, ranks, n);
    qsort(ranks, size, sizeof *ranks, by_value);
    Group *group = add_group(system, one_kind ? 0 : (guint32)g_rand_int_range(random, 0, KINDS), ranks, size);
    group->shared = g_rand_boolean(random) ? (guint32)g_rand_int_range(random, 0, 3) : PROGRAM_NONE;
    group->coefficient = (guint32)g_rand_int_range(random, 1, 3);
  }
}

static void add_faults(System *system, GRand *random) {
  static const double speeds[] = {0.9, 0.75, 0.6};
  for (guint32 slow = (guint32)g_rand_int_range(random, 0, 3); slow > 0; slow--)
    system->speeds[g_rand_int_range(random, 0, (gint)system->n_ranks)] = speeds[g_rand_int_range(random, 0, 3)];
  if (g_rand_int_range(random, 0, 3) == 0)
    system->shared[g_rand_int_range(random, 0, (gint)system->n_shared)] *= 0.5;
}

#define TRIALS 300

static void random_systems(void (*build)(System *system, GRand *random), gboolean groups_fold) {
  GRand *random = harness_random();
  guint folded = 0, groups = 0;
  for (guint trial = 0; trial < TRIALS; trial++) {
    System system;
    build(&system, random);
    add_faults(&system, random);
    Outcome outcome = compare(&system, G_MAXUINT32, TRUE);
    CU_ASSERT_TRUE(outcome.equal);
    folded += outcome.ranks < system.n_ranks;
    groups += outcome.groups < system.n_groups;
    cluster_clear(&system.built);
    if (!outcome.equal)
      break;
  }
  /* Not all were rigid. */
  CU_ASSERT_TRUE(folded > TRIALS / 4);
  CU_ASSERT_TRUE(!groups_fold || groups > TRIALS / 4);
  g_rand_free(random);
}

static void random_regular_systems(void) {
  random_systems(build_regular, TRUE);
}

static void random_irregular_systems(void) {
  random_systems(build_irregular, FALSE);
}

int main(void) {
  return harness_run("fold",
                     (HarnessCase[]){{"a grid is one rank", a_grid_is_one_rank},
                                     {"a straggler splits what it touches", a_straggler_splits_what_it_touches},
                                     {"a slow link splits its communicators", a_slow_link_splits_its_communicators},
                                     {"a slower communicator stays apart", a_slower_communicator_stays_apart},
                                     {"stopping early is noticed", stopping_early_is_noticed},
                                     {"a ring of pairs", a_ring_of_pairs},
                                     {"no rank meets itself", no_rank_meets_itself},
                                     {"random regular systems", random_regular_systems},
                                     {"random irregular systems", random_irregular_systems},
                                     {"a wait is no give", a_wait_is_no_give},
                                     {NULL, NULL}});
}
