/* SPDX-License-Identifier: MIT */
/* The caching allocator: sizes by hand, then at random against a dumb twin. */
#include "mem-allocator.h"

#include "allocator-twin.h"
#include "harness.h"
#include "mem-bins.h"

#define MIB TWIN_MIB

static const MemPolicy plain = {FALSE, 0};
static const MemPolicy expandable = {TRUE, 0};

static guint32 take(MemAllocator *allocator, guint32 stream, guint64 bytes) {
  guint32 block = G_MAXUINT32;
  CU_ASSERT_TRUE(mem_allocator_take(allocator, stream, bytes, &block));
  mem_allocator_check(allocator);
  return block;
}

static void holds(const MemAllocator *allocator, guint64 allocated, guint64 active, guint64 reserved) {
  const MemUse *use = mem_allocator_use(allocator);
  CU_ASSERT_EQUAL(use->allocated, allocated);
  CU_ASSERT_EQUAL(use->active, active);
  CU_ASSERT_EQUAL(use->reserved, reserved);
}

static void rounding(void) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 1, 1024 * MIB);
  take(allocator, 0, 1);
  holds(allocator, 512, 512, 2 * MIB);
  /* One byte over 1 MiB is large; under 10 MiB a segment of 20. */
  take(allocator, 0, MIB + 1);
  holds(allocator, MIB + 1024, MIB + 1024, 22 * MIB);
  /* The rest of that segment, 18.9995 MiB, serves 10 MiB. */
  take(allocator, 0, 10 * MIB);
  holds(allocator, 11 * MIB + 1024, 11 * MIB + 1024, 22 * MIB);
  /* 15 MiB asks for 16; 1 MiB of rest is not more than 1 MiB and is not split off. */
  take(allocator, 0, 15 * MIB);
  holds(allocator, 27 * MIB + 1024, 27 * MIB + 1024, 38 * MIB);
  /* 10 MiB and one byte asks for 12, and has 2 MiB less 512 bytes left to split off; 9 MiB asks for 20. */
  take(allocator, 0, 10 * MIB + 1);
  holds(allocator, 37 * MIB + 1536, 37 * MIB + 1536, 50 * MIB);
  take(allocator, 0, 9 * MIB);
  holds(allocator, 46 * MIB + 1536, 46 * MIB + 1536, 70 * MIB);
}

static void best_fit(void) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 2, 1024 * MIB);
  guint32 large = take(allocator, 0, 40 * MIB), small = take(allocator, 0, 30 * MIB);
  mem_allocator_give(allocator, large);
  mem_allocator_give(allocator, small);
  /* 25 MiB goes into the 30, leaving 5; then 35 fits the 40 and 3 the 5 that were left. */
  take(allocator, 0, 25 * MIB);
  take(allocator, 0, 35 * MIB);
  take(allocator, 0, 3 * MIB);
  holds(allocator, 63 * MIB, 63 * MIB, 70 * MIB);
  /* Another stream has nothing of it. */
  take(allocator, 1, 4 * MIB);
  holds(allocator, 67 * MIB, 67 * MIB, 90 * MIB);
}

static void joins(void) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 1, 1024 * MIB);
  guint32 blocks[4];
  for (int i = 0; i < 4; i++)
    blocks[i] = take(allocator, 0, 5 * MIB);
  holds(allocator, 20 * MIB, 20 * MIB, 20 * MIB);
  mem_allocator_give(allocator, blocks[0]);
  mem_allocator_give(allocator, blocks[2]);
  mem_allocator_check(allocator);
  /* Two halves apart do not serve 10 MiB; the one between joins them. */
  guint32 ten = take(allocator, 0, 10 * MIB);
  holds(allocator, 20 * MIB, 20 * MIB, 30 * MIB);
  mem_allocator_give(allocator, ten);
  mem_allocator_give(allocator, blocks[1]);
  take(allocator, 0, 15 * MIB);
  holds(allocator, 20 * MIB, 20 * MIB, 30 * MIB);
}

static void recorded_streams(void) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 1, 1024 * MIB);
  guint32 block = take(allocator, 0, 64 * MIB);
  mem_allocator_hold(allocator, block);
  holds(allocator, 0, 64 * MIB, 64 * MIB);
  take(allocator, 0, 64 * MIB);
  holds(allocator, 64 * MIB, 128 * MIB, 128 * MIB);
  mem_allocator_pass(allocator, block);
  mem_allocator_check(allocator);
  holds(allocator, 64 * MIB, 64 * MIB, 128 * MIB);
  CU_ASSERT_EQUAL(mem_allocator_use(allocator)->peak_active, 128 * MIB);
  CU_ASSERT_EQUAL(mem_allocator_use(allocator)->peak_allocated, 64 * MIB);
}

/* 100 MiB in all: 40 + 40 free, 4 in a segment of 20. 60 fits only after the two are given back; then 20 + 60 are
 * reserved, and what the 20 has left, 16, is fragmentation: 24 do not fit, 20 do. */
static void flushes(void) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 1, 100 * MIB);
  guint32 first = take(allocator, 0, 40 * MIB), second = take(allocator, 0, 40 * MIB), block;
  take(allocator, 0, 4 * MIB);
  mem_allocator_give(allocator, first);
  mem_allocator_give(allocator, second);
  CU_ASSERT_FALSE(mem_allocator_take(allocator, 0, 60 * MIB, &block));
  CU_ASSERT_TRUE(mem_allocator_flush_and_take(allocator, 0, 60 * MIB, &block));
  holds(allocator, 64 * MIB, 64 * MIB, 80 * MIB);
  CU_ASSERT_FALSE(mem_allocator_take(allocator, 0, 24 * MIB, &block));
  CU_ASSERT_FALSE(mem_allocator_flush_and_take(allocator, 0, 24 * MIB, &block));
  take(allocator, 0, 20 * MIB);
  CU_ASSERT_EQUAL(mem_allocator_use(allocator)->flushes, 2);
  mem_allocator_take_beyond(allocator, 0, 24 * MIB);
  holds(allocator, 108 * MIB, 108 * MIB, 124 * MIB);
  CU_ASSERT_EQUAL(mem_allocator_use(allocator)->peak_reserved, 124 * MIB);
}

/* The case above in pages of 20 MiB: the two 40s are one free range in a segment of 100 (84 rounded to pages); 60 fits
 * it as it is, 24 in the 20 that are left and the 16 of the last page. */
static void expands(void) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&expandable, 1, 100 * MIB);
  guint32 first = take(allocator, 0, 40 * MIB), second = take(allocator, 0, 40 * MIB), block;
  guint32 third = take(allocator, 0, 4 * MIB);
  holds(allocator, 84 * MIB, 84 * MIB, 100 * MIB);
  mem_allocator_give(allocator, first);
  mem_allocator_give(allocator, second);
  guint32 sixty = take(allocator, 0, 60 * MIB);
  take(allocator, 0, 16 * MIB);
  holds(allocator, 80 * MIB, 80 * MIB, 100 * MIB);
  CU_ASSERT_FALSE(mem_allocator_take(allocator, 0, 30 * MIB, &block));
  mem_allocator_give(allocator, sixty);
  mem_allocator_give(allocator, third);
  /* [0, 84) is free, [84, 100) taken: pages up to 80 go back, the request is served from there. */
  CU_ASSERT_TRUE(mem_allocator_flush_and_take(allocator, 0, 42 * MIB, &block));
  mem_allocator_check(allocator);
  holds(allocator, 58 * MIB, 58 * MIB, 80 * MIB);
}

/* Above 32 MiB nothing is split, and small requests leave such segments alone. */
static void split_limit(void) {
  MemPolicy policy = {FALSE, 32 * MIB};
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&policy, 1, 100 * MIB);
  guint32 large = take(allocator, 0, 64 * MIB), block;
  mem_allocator_give(allocator, large);
  take(allocator, 0, 16 * MIB);
  holds(allocator, 16 * MIB, 16 * MIB, 80 * MIB);
  /* 64 is 20 or more above 44: not used; it is given back instead. */
  CU_ASSERT_TRUE(mem_allocator_take(allocator, 0, 44 * MIB, &block));
  holds(allocator, 60 * MIB, 60 * MIB, 60 * MIB);
  mem_allocator_give(allocator, block);
  take(allocator, 0, 34 * MIB);
  /* The 44 whole. */
  holds(allocator, 60 * MIB, 60 * MIB, 60 * MIB);
}

/* 70 are met by no segment: the largest go until they are 70 in all, which they are to the byte. */
static void the_largest_are_given_back(void) {
  MemPolicy policy = {FALSE, 32 * MIB};
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&policy, 1, 100 * MIB);
  guint32 first = take(allocator, 0, 34 * MIB), second = take(allocator, 0, 36 * MIB), block;
  mem_allocator_give(allocator, first);
  mem_allocator_give(allocator, second);
  CU_ASSERT_TRUE(mem_allocator_take(allocator, 0, 70 * MIB, &block));
  holds(allocator, 70 * MIB, 70 * MIB, 70 * MIB);
  CU_ASSERT_EQUAL(mem_allocator_use(allocator)->flushes, 0);
}

/* Segments of 40 and 30 MiB; the first goes back for one of 50, which lies at 70 and then where the 30 end. */
static void segments_move_together(void) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 1, 100 * MIB);
  guint32 first = take(allocator, 0, 40 * MIB), second = take(allocator, 0, 30 * MIB), third;
  mem_allocator_give(allocator, first);
  CU_ASSERT_TRUE(mem_allocator_flush_and_take(allocator, 0, 50 * MIB, &third));
  CU_ASSERT_EQUAL(mem_allocator_address(allocator, second), 40 * MIB);
  CU_ASSERT_EQUAL(mem_allocator_address(allocator, third), 70 * MIB);
  mem_allocator_compact(allocator);
  CU_ASSERT_EQUAL(mem_allocator_address(allocator, second), 0);
  CU_ASSERT_EQUAL(mem_allocator_address(allocator, third), 30 * MIB);
  CU_ASSERT_EQUAL(mem_allocator_address(allocator, take(allocator, 0, 20 * MIB)), 80 * MIB);
  holds(allocator, 100 * MIB, 100 * MIB, 100 * MIB);
}

typedef struct {
  guint32 block, segment;
  guint64 address;
  gboolean held;
} Live;

static void twin_set(Twin *twin, const Live *live, TwinState state) {
  for (guint i = 0; i < twin->pieces->len; i++)
    if (twin_piece(twin, i)->segment == live->segment && twin_piece(twin, i)->address == live->address)
      twin_piece(twin, i)->state = state;
  twin_merge(twin);
}

static guint64 random_size(GRand *random) {
  static const guint64 most[] = {4096, MIB, 3 * MIB, 12 * MIB, 70 * MIB};
  guint64 limit = most[g_rand_int_range(random, 0, G_N_ELEMENTS(most))];
  guint64 size = 1 + (guint64)(g_rand_double(random) * (double)limit);
  return g_rand_boolean(random) ? size : twin_up(size, MIN(limit, MIB));
}

static gboolean same(const MemAllocator *allocator, const Twin *twin) {
  const MemUse *use = mem_allocator_use(allocator);
  mem_allocator_check(allocator);
  return use->reserved == twin_reserved(twin) && use->allocated == twin_sum(twin, 1U << TWIN_TAKEN) &&
         use->active == twin_sum(twin, 1U << TWIN_TAKEN | 1U << TWIN_HELD);
}

static gboolean take_both(MemAllocator *allocator, Twin *twin, GRand *random, GArray *live) {
  guint32 stream = (guint32)g_rand_int_range(random, 0, 2);
  guint64 bytes = random_size(random), size = twin_up(bytes, 512);
  guint32 pool = 2 * stream + (size > MIB);
  guint32 block = 0;
  gboolean fits = mem_allocator_take(allocator, stream, bytes, &block);
  int at = twin_take(twin, pool, size);
  if (fits != (at >= 0))
    return FALSE;
  if (!fits) {
    fits = mem_allocator_flush_and_take(allocator, stream, bytes, &block);
    at = twin_retry(twin, pool, size);
    if (fits != (at >= 0))
      return FALSE;
  }
  if (!fits && g_rand_int_range(random, 0, 4) == 0) {
    block = mem_allocator_take_beyond(allocator, stream, bytes);
    at = twin_hand_out(twin, twin_segment(twin, pool, size, TRUE), size);
    fits = TRUE;
  }
  if (fits) {
    const TwinPiece *piece = twin_piece(twin, (guint)at);
    Live taken = {block, piece->segment, piece->address, FALSE};
    g_array_append_val(live, taken);
  }
  return TRUE;
}

static void give_both(MemAllocator *allocator, Twin *twin, GRand *random, GArray *live) {
  guint i = (guint)g_rand_int_range(random, 0, (gint32)live->len);
  Live *given = &g_array_index(live, Live, i);
  if (!given->held && g_rand_boolean(random)) {
    given->held = TRUE;
    mem_allocator_hold(allocator, given->block);
    twin_set(twin, given, TWIN_HELD);
    return;
  }
  if (given->held)
    mem_allocator_pass(allocator, given->block);
  else
    mem_allocator_give(allocator, given->block);
  twin_set(twin, given, TWIN_FREE);
  g_array_remove_index_fast(live, i);
}

/* How many operations the two agree on. A planted fault: the twin believes in another limit. */
static guint agree(const MemPolicy *policy, guint64 limit, guint64 twins_limit, guint n) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(policy, 2, limit);
  guint64 most = policy->max_split_size != 0 ? policy->max_split_size : MEM_NO_SPLIT_LIMIT;
  Twin twin = {{policy->expandable_segments, most}, twins_limit, g_array_new(FALSE, FALSE, sizeof(TwinPiece)), 0};
  GArray *live = g_array_new(FALSE, FALSE, sizeof(Live));
  GRand *random = harness_random();
  guint i = 0;
  for (; i < n; i++) {
    gboolean takes = live->len == 0 || g_rand_int_range(random, 0, 100) < (live->len < 40 ? 60 : 45);
    if (takes && !take_both(allocator, &twin, random, live))
      break;
    if (!takes)
      give_both(allocator, &twin, random, live);
    if (i % 37 == 0)
      mem_allocator_compact(allocator); /* it goes on as the twin does */
    if (!same(allocator, &twin))
      break;
  }
  g_rand_free(random);
  g_array_unref(live);
  g_array_unref(twin.pieces);
  return i;
}

static void twins(void) {
  MemPolicy limited = {FALSE, 24 * MIB};
  CU_ASSERT_EQUAL(agree(&plain, 500 * MIB, 500 * MIB, 20000), 20000);
  CU_ASSERT_EQUAL(agree(&expandable, 500 * MIB, 500 * MIB, 20000), 20000);
  CU_ASSERT_EQUAL(agree(&limited, 500 * MIB, 500 * MIB, 20000), 20000);
  CU_ASSERT_TRUE(agree(&plain, 500 * MIB, 480 * MIB, 20000) < 20000);
  CU_ASSERT_TRUE(agree(&expandable, 500 * MIB, 440 * MIB, 20000) < 20000);
}

/* A segment of its own: 96 to 110 MiB, all in one bin. */
typedef struct {
  guint64 size, address;
  guint32 block;
  gboolean taken;
} Alike;

#define ALIKE 400

/* The smallest free one that is large enough, of equals the one of the lowest address; a planted fault: the highest. */
static Alike *plain_fit(Alike *all, guint64 size, gboolean planted) {
  Alike *found = NULL;
  for (guint i = 0; i < ALIKE; i++) {
    gboolean fits = !all[i].taken && all[i].size >= size;
    if (fits && (found == NULL || all[i].size < found->size || (planted && all[i].size == found->size)))
      found = &all[i];
  }
  return found;
}

static gboolean has_list(const MemAllocator *allocator, guint64 size) {
  const MemBins *bins = allocator->pools[1].free;
  return bins->lists != NULL && bins->lists[mem_bin_of(size)] != NULL;
}

static void take_all(MemAllocator *allocator, Alike *all, GRand *random) {
  for (guint i = 0; i < ALIKE; i++) {
    all[i].size = (96 + 2 * (guint64)g_rand_int_range(random, 0, 8)) * MIB;
    all[i].taken = mem_allocator_take(allocator, 0, all[i].size, &all[i].block);
    all[i].address = mem_allocator_address(allocator, all[i].block);
  }
}

/* FALSE: it is another than in an array of all. */
static gboolean take_alike(MemAllocator *allocator, Alike *all, GRand *random, gboolean planted) {
  guint64 size = (94 + 2 * (guint64)g_rand_int_range(random, 0, 8)) * MIB;
  Alike *fit = plain_fit(all, size, planted);
  if (fit == NULL)
    return TRUE;
  fit->taken = mem_allocator_take(allocator, 0, size, &fit->block);
  return fit->taken && mem_allocator_address(allocator, fit->block) == fit->address;
}

static void give_alike(MemAllocator *allocator, Alike *given) {
  if (given->taken)
    mem_allocator_give(allocator, given->block);
  given->taken = FALSE;
}

/* Hundreds of free blocks in one bin come to lie in a list, which goes with its last block. Returns how many takes and
 * gives agree with those of an array. */
static guint agree_on_many(GRand *random, guint n, gboolean planted) {
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 1, G_MAXUINT64 / 2);
  g_autofree Alike *all = g_new0(Alike, ALIKE);
  guint agreed = 0, listed = 0;
  take_all(allocator, all, random);
  for (; agreed < n; agreed++) {
    gboolean gives = g_rand_int_range(random, 0, 10) < (agreed / 500 % 2 == 0 ? 9 : 1);
    if (gives)
      give_alike(allocator, &all[g_rand_int_range(random, 0, ALIKE)]);
    else if (!take_alike(allocator, all, random, planted))
      break;
    listed += has_list(allocator, 96 * MIB);
    if (agreed % 20 == 0)
      mem_allocator_check(allocator);
    if (agreed % 300 == 0)
      mem_allocator_compact(allocator); /* no segment went: all stay where they are */
  }
  for (Alike *fit; !planted && (fit = plain_fit(all, 96 * MIB, FALSE)) != NULL; fit->taken = TRUE)
    CU_ASSERT_TRUE(mem_allocator_take(allocator, 0, 96 * MIB, &fit->block));
  CU_ASSERT_TRUE(planted || (listed > n / 2 && !has_list(allocator, 96 * MIB)));
  return agreed;
}

static void many_of_one_bin(void) {
  g_autoptr(GRand) random = harness_random();
  CU_ASSERT_EQUAL(agree_on_many(random, 6000, FALSE), 6000);
  CU_ASSERT_TRUE(agree_on_many(random, 6000, TRUE) < 6000);
}

/* Given from the largest to the smallest each goes in front of its bin, which stays linked until one far from its ends
 * is looked for: more than 64 links in. */
static void far_from_the_ends(void) {
  enum { BLOCKS = 100 };
  for (guint64 asked = 0; asked < BLOCKS; asked++) {
    g_autoptr(MemAllocator) allocator = mem_allocator_new(&plain, 1, G_MAXUINT64 / 2);
    guint32 blocks[BLOCKS], found;
    for (guint64 i = 0; i < BLOCKS; i++)
      CU_ASSERT_TRUE(mem_allocator_take(allocator, 0, (1024 + 2 * i) * MIB, &blocks[i]));
    guint64 address = mem_allocator_address(allocator, blocks[asked]);
    for (guint64 i = BLOCKS; i-- > 0;)
      mem_allocator_give(allocator, blocks[i]);
    CU_ASSERT_TRUE(mem_bin_of(1024 * MIB) == mem_bin_of((1024 + 2 * BLOCKS - 2) * MIB));
    CU_ASSERT_FALSE(has_list(allocator, 1024 * MIB));
    CU_ASSERT_TRUE(mem_allocator_take(allocator, 0, (1024 + 2 * asked) * MIB, &found));
    CU_ASSERT_EQUAL(mem_allocator_address(allocator, found), address);
    CU_ASSERT_EQUAL(has_list(allocator, 1024 * MIB), asked > MEM_BIN_STEPS);
    mem_allocator_check(allocator);
  }
}

/* One step's requests in their order: of each its size, its stream, and after how many others it is given. */
typedef struct {
  guint64 bytes;
  guint32 stream, block;
  guint life;
  gboolean holds;
} Asked;

static void play_step(MemAllocator *allocator, Asked *asked, guint n) {
  for (guint i = 0; i < n; i++) {
    CU_ASSERT_TRUE_FATAL(mem_allocator_take(allocator, asked[i].stream, asked[i].bytes, &asked[i].block));
    for (guint k = 0; k <= i; k++)
      if (k + asked[k].life == i)
        (asked[k].holds ? mem_allocator_hold : mem_allocator_give)(allocator, asked[k].block);
  }
  for (guint k = 0; k < n; k++)
    if (k + asked[k].life >= n)
      mem_allocator_give(allocator, asked[k].block);
    else if (asked[k].holds) /* all streams are idle */
      mem_allocator_pass(allocator, asked[k].block);
}

/* The same random step a hundred times, beside a tensor that stays: after each what is active is what is allocated, and
 * that is the tensor alone; what is reserved stops growing. */
static void steps_settle(void) {
  enum { N = 60, STEPS = 100 };
  GRand *random = harness_random();
  for (guint round = 0; round < 40; round++) {
    g_autoptr(MemAllocator) allocator = mem_allocator_new(round % 2 == 0 ? &plain : &expandable, 2, 100000 * MIB);
    Asked asked[N];
    for (guint i = 0; i < N; i++)
      asked[i] = (Asked){random_size(random), (guint32)g_rand_int_range(random, 0, 2), 0,
                         (guint)g_rand_int_range(random, 0, N), g_rand_boolean(random)};
    guint32 stays = take(allocator, 0, 5 * MIB);
    guint64 middle = 0;
    for (guint step = 0; step < STEPS; step++) {
      play_step(allocator, asked, N);
      const MemUse *use = mem_allocator_use(allocator);
      CU_ASSERT_EQUAL(use->active, use->allocated);
      CU_ASSERT_EQUAL(use->allocated, 5 * MIB);
      if (step == STEPS / 2)
        middle = use->reserved;
    }
    CU_ASSERT_EQUAL(mem_allocator_use(allocator)->reserved, middle);
    mem_allocator_give(allocator, stays);
  }
  g_rand_free(random);
}

int main(void) {
  return harness_run("caching allocator", (HarnessCase[]){{"rounding", rounding},
                                                          {"best fit", best_fit},
                                                          {"free neighbours join", joins},
                                                          {"recorded streams", recorded_streams},
                                                          {"flush", flushes},
                                                          {"expandable segments", expands},
                                                          {"max_split_size", split_limit},
                                                          {"the largest are given back", the_largest_are_given_back},
                                                          {"segments move together", segments_move_together},
                                                          {"twins", twins},
                                                          {"many of one bin", many_of_one_bin},
                                                          {"far from the ends", far_from_the_ends},
                                                          {"steps settle", steps_settle},
                                                          {NULL, NULL}});
}
