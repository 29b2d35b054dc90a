/* SPDX-License-Identifier: MIT */
/* The runner against a plain loop: the same order and sums for any number of threads, never more than a window of items
 * at once, a stop that finishes what was begun, an error that ends it. */
#include <string.h>

#include "base-error.h"
#include "harness.h"
#include "study-runner.h"

typedef struct {
  guint64 number, result;
} Item;

typedef struct {
  guint64 next, items, delivered, stop_at, fail_at;
  guint64 checksum; /* depends on the order */
  gboolean in_order;
  gint alive, most; /* items at once */
} Feed;

static gpointer next_item(gpointer user) {
  Feed *feed = user;
  if (feed->next == feed->items)
    return NULL;
  Item *item = g_new0(Item, 1);
  item->number = feed->next++;
  feed->alive++;
  feed->most = MAX(feed->most, feed->alive);
  return item;
}

/* Some items take much longer than others, so that threads overtake each other. */
static void work(gpointer data, gpointer thread, gpointer user) {
  (void)thread, (void)user;
  Item *item = data;
  guint64 rounds = item->number % 7 == 0 ? 200000 : 100, value = item->number;
  for (guint64 i = 0; i < rounds; i++)
    value = value * 6364136223846793005u + 1442695040888963407u;
  item->result = value;
}

static void drop(gpointer item) {
  g_free(item);
}

static gboolean deliver(gpointer data, gpointer user, GError **error) {
  Item *item = data;
  Feed *feed = user;
  feed->alive--;
  feed->in_order = feed->in_order && item->number == feed->delivered;
  feed->checksum = feed->checksum * 31 + item->result;
  feed->delivered++;
  gboolean fails = item->number == feed->fail_at;
  if (fails)
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "the disk is full");
  g_free(item);
  return !fails;
}

static gboolean stop(gpointer user) {
  const Feed *feed = user;
  return feed->next == feed->stop_at;
}

static Feed run_feed(guint threads, guint64 items, guint64 stop_at, guint64 fail_at, gboolean *ret_stopped,
                     GError **error) {
  Feed feed = {.items = items, .stop_at = stop_at, .fail_at = fail_at, .in_order = TRUE};
  StudyRunner runner = {.threads = threads,
                        .next = next_item,
                        .work = work,
                        .deliver = deliver,
                        .drop = drop,
                        .user = &feed,
                        .stop = stop,
                        .stop_user = &feed};
  study_runner_run(&runner, ret_stopped, error);
  return feed;
}

static void order_is_kept(void) {
  Feed plain = run_feed(1, 500, G_MAXUINT64, G_MAXUINT64, NULL, NULL);
  CU_ASSERT_EQUAL(plain.delivered, 500);
  for (guint threads = 2; threads <= 8; threads *= 2) {
    gboolean stopped = TRUE;
    Feed feed = run_feed(threads, 500, G_MAXUINT64, G_MAXUINT64, &stopped, NULL);
    CU_ASSERT_TRUE(feed.in_order);
    CU_ASSERT_EQUAL(feed.checksum, plain.checksum);
    CU_ASSERT_EQUAL(feed.delivered, 500);
    CU_ASSERT_EQUAL(feed.alive, 0);
    CU_ASSERT_FALSE(stopped);
  }
}

/* The comparison above can fail: one item more, another sum. */
static void the_sum_depends_on_items(void) {
  Feed one = run_feed(2, 100, G_MAXUINT64, G_MAXUINT64, NULL, NULL);
  Feed other = run_feed(2, 101, G_MAXUINT64, G_MAXUINT64, NULL, NULL);
  CU_ASSERT_NOT_EQUAL(one.checksum, other.checksum);
}

/* study-runner.c keeps 16 items for each thread. */
static void memory_is_flat(void) {
  Feed feed = run_feed(4, 20000, G_MAXUINT64, G_MAXUINT64, NULL, NULL);
  CU_ASSERT_EQUAL(feed.delivered, 20000);
  CU_ASSERT_TRUE(feed.most <= 4 * 16);
  Feed plain = run_feed(1, 1000, G_MAXUINT64, G_MAXUINT64, NULL, NULL);
  CU_ASSERT_EQUAL(plain.most, 1);
}

static gboolean never(gpointer user) {
  (void)user;
  return FALSE;
}

/* Nothing more is asked for while an item is under way: one at a time, and none is left behind. */
static void what_is_not_ready_waits(void) {
  Feed feed = {.items = 100, .stop_at = G_MAXUINT64, .fail_at = G_MAXUINT64, .in_order = TRUE};
  StudyRunner runner = {
      .threads = 3, .next = next_item, .ready = never, .work = work, .deliver = deliver, .drop = drop, .user = &feed};
  study_runner_run(&runner, NULL, NULL);
  CU_ASSERT_EQUAL(feed.delivered, 100);
  CU_ASSERT_TRUE(feed.in_order);
  CU_ASSERT_EQUAL(feed.most, 1);
}

static void a_stop_finishes_what_was_begun(void) {
  for (guint threads = 1; threads <= 3; threads += 2) {
    gboolean stopped = FALSE;
    Feed feed = run_feed(threads, 500, 123, G_MAXUINT64, &stopped, NULL);
    CU_ASSERT_TRUE(stopped);
    CU_ASSERT_EQUAL(feed.delivered, 123);
    CU_ASSERT_TRUE(feed.in_order);
  }
}

static void an_error_ends_it(void) {
  for (guint threads = 1; threads <= 3; threads += 2) {
    GError *error = NULL;
    Feed feed = run_feed(threads, 500, G_MAXUINT64, 40, NULL, &error);
    CU_ASSERT_EQUAL(feed.delivered, 41);
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_SYSTEM));
    g_clear_error(&error);
  }
}

static void nothing_is_nothing(void) {
  for (guint threads = 1; threads <= 3; threads++)
    CU_ASSERT_EQUAL(run_feed(threads, 0, G_MAXUINT64, G_MAXUINT64, NULL, NULL).delivered, 0);
}

int main(void) {
  return harness_run("runner", (HarnessCase[]){{"order and results for any threads", order_is_kept},
                                               {"the check of results can fail", the_sum_depends_on_items},
                                               {"a window of items at most", memory_is_flat},
                                               {"what is not ready", what_is_not_ready_waits},
                                               {"stop", a_stop_finishes_what_was_begun},
                                               {"error", an_error_ends_it},
                                               {"no items", nothing_is_nothing},
                                               {NULL, NULL}});
}
