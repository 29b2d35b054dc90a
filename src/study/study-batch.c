/* SPDX-License-Identifier: MIT */
/* The runner over points; each thread with its own cache and its own sight of the database. */
#include "study-batch.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "store-db.h"
#include "study-cache.h"
#include "study-walk.h"

typedef struct {
  StudyCache *cache;
  StoreDb *db; /* NULL: none to look in */
} Bench;

/* What a point gives back serves the next: by default glibc hands a few hundred kilobytes back to the kernel after
 * each, which takes a sixth of the time. */
static void keep_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

static gpointer bench_new(gpointer user) {
  const StudyBatch *batch = user;
  Bench *bench = g_new0(Bench, 1);
  bench->cache = study_cache_new();
  if (batch->database != NULL)
    bench->db = store_db_open_existing(batch->database, NULL);
  return bench;
}

static void bench_free(gpointer data) {
  Bench *bench = data;
  study_cache_free(bench->cache);
  store_db_close(bench->db);
  g_free(bench);
}

static gpointer next(gpointer user) {
  const StudyBatch *batch = user;
  return batch->next(batch->user);
}

typedef struct {
  const StudyBatch *batch;
  StoreDb *db;
  StudyPoint *point;
} Judge;

static StudyVerdict judge(const RunReport *identity, gpointer user) {
  const Judge *judge = user;
  const StudyBatch *batch = judge->batch;
  if (batch->wanted != NULL && !batch->wanted(identity, batch->user)) {
    judge->point->unwanted = TRUE;
    return STUDY_LEAVE;
  }
  const char *key = identity->identity.run_key;
  gboolean known = batch->known != NULL && g_hash_table_contains(batch->known, key);
  if (!known && (judge->db == NULL || !store_db_has(judge->db, key)))
    return STUDY_PLAY;
  judge->point->run_key = g_strdup(identity->identity.run_key);
  return STUDY_LEAVE;
}

static gboolean ready(gpointer user) {
  const StudyBatch *batch = user;
  return batch->ready == NULL || batch->ready(batch->user);
}

static void work(gpointer item, gpointer thread, gpointer user) {
  const StudyBatch *batch = user;
  Bench *bench = thread;
  Judge mine = {batch, bench->db, item};
  if (batch->skip != NULL && batch->skip(item, batch->user)) {
    mine.point->unwanted = TRUE;
    return;
  }
  study_point_play(item, ((StudyPoint *)item)->base, &batch->options, bench->cache, judge, &mine);
}

void study_batch_work(const StudyBatch *batch, StudyPoint *(*more)(gpointer queue),
                      void (*played)(StudyPoint *point, gpointer queue), gpointer queue) {
  Bench *bench = bench_new((gpointer)batch);
  StudyPoint *point;
  keep_memory();
  while ((point = more(queue)) != NULL) {
    work(point, bench, (gpointer)batch);
    played(point, queue);
  }
  bench_free(bench);
}

static gboolean deliver(gpointer item, gpointer user, GError **error) {
  const StudyBatch *batch = user;
  gboolean good = batch->deliver(item, batch->user, error);
  study_point_free(item);
  return good;
}

static void drop(gpointer item) {
  study_point_free(item);
}

gboolean study_batch_run(const StudyBatch *batch, gboolean *ret_stopped, GError **error) {
  StudyRunner runner = {.threads = batch->threads,
                        .next = next,
                        .ready = ready,
                        .work = work,
                        .deliver = deliver,
                        .drop = drop,
                        .thread_new = bench_new,
                        .thread_free = bench_free,
                        .user = (gpointer)batch,
                        .stop = batch->stop,
                        .stop_user = batch->stop_user};
  keep_memory();
  return study_runner_run(&runner, ret_stopped, error);
}
