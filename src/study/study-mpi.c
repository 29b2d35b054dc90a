/* SPDX-License-Identifier: MIT */
/* Numbers of points out, results back; whoever has returned one gets the next. Process 0, which hands them out, plays
 * too, on threads that know nothing of MPI. */
#include "study-mpi.h"

#include <mpi.h>
#include <string.h>

#include "base-error.h"
#include "run-pack.h"
#include "store-points.h"

/* Points that a process holds at a time: what its threads work at, and what they will ask for next. */
#define HELD_PER_THREAD 16
#define IDLE_US         50 /* between looks at whether a result has come */

enum { TAG_POINT, TAG_END, TAG_RESULT };

gboolean study_mpi_begin(StudyMpi *ret, GError **error) {
  (void)error;
  static const char *const launched[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  gboolean alone = TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(launched); i++)
    alone = alone && g_getenv(launched[i]) == NULL;
  *ret = (StudyMpi){.size = 1};
  if (alone)
    return TRUE;
  int provided, rank, size;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  *ret = (StudyMpi){(guint)rank, (guint)size};
  return TRUE;
}

void study_mpi_end(const StudyMpi *mpi) {
  (void)mpi;
  int begun;
  MPI_Initialized(&begun);
  if (!begun)
    return;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}

gboolean study_mpi_agree(const StudyMpi *mpi, gboolean go, GError **error) {
  int mine = go, first = go, all = go;
  if (mpi->size == 1)
    return go;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (mpi->rank > 0 && !first)
    g_clear_error(error);
  else if (mpi->rank == 0 && go && !all)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "another process of the job could not begin; it says why");
  return all;
}

/* What has been played is not played again. Keys go as one text, a line each: process 0's database is nobody else's. */
static gboolean add_key(GString *keys, const char *key) {
  g_string_append(keys, key);
  g_string_append_c(keys, '\n');
  return TRUE;
}

static void take_key(int n, const char *const *names, const char *const *values, gpointer user) {
  (void)n, (void)names;
  add_key(user, values[1]);
}

static char *share_keys(const StudyMpi *mpi, const StudyBatch *batch) {
  g_autoptr(GString) keys = g_string_new(NULL);
  g_autoptr(StoreDb) db =
      mpi->rank == 0 && batch->database != NULL ? store_db_open_existing(batch->database, NULL) : NULL;
  const StoreMetric *key = store_metric_find("run_key");
  if (db != NULL)
    store_db_columns(db, &key, 1, STORE_ALL_RUNS, take_key, keys, NULL);
  guint64 length = keys->len;
  MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  g_string_set_size(keys, length);
  const guint64 most = G_MAXINT / 2;
  for (guint64 at = 0; at < length; at += most)
    MPI_Bcast(keys->str + at, (int)MIN(length - at, most), MPI_CHAR, 0, MPI_COMM_WORLD);
  return g_string_free(g_steal_pointer(&keys), FALSE);
}

/* Points into lines of the text, which its caller keeps. */
static GHashTable *keys_of(char *text) {
  GHashTable *keys = g_hash_table_new(g_str_hash, g_str_equal);
  for (char *key = text, *end; (end = strchr(key, '\n')) != NULL; key = end + 1) {
    *end = '\0';
    g_hash_table_add(keys, key);
  }
  return keys;
}

/* What came of a point, as process 0's batch would have left it. */
static void pack_result(const StudyPoint *point, GByteArray *bytes) {
  g_autoptr(GString) reasons = g_string_new(NULL);
  for (guint i = 0; i < point->reasons->len; i++)
    g_string_append_printf(reasons, "%s%s", i > 0 ? "\n" : "", (const char *)g_ptr_array_index(point->reasons, i));
  const char *texts[] = {reasons->str, point->run_key != NULL ? point->run_key : ""};
  guint8 flags = (guint8)((point->unwanted ? 1 : 0) | (point->report != NULL ? 2 : 0) | (point->faulty ? 4 : 0));
  g_byte_array_append(bytes, &flags, sizeof flags);
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    g_byte_array_append(bytes, (const guint8 *)texts[i], (guint)strlen(texts[i]) + 1);
  if (point->report != NULL)
    run_report_pack(point->report, bytes);
}

static void unpack_result(StudyPoint *point, const guint8 *bytes, gsize n) {
  guint8 flags = bytes[0];
  const char *reasons = (const char *)bytes + 1, *run_key = reasons + strlen(reasons) + 1;
  const guint8 *report = (const guint8 *)run_key + strlen(run_key) + 1;
  g_auto(GStrv) lines = g_strsplit(reasons, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    g_ptr_array_add(point->reasons, g_strdup(*line));
  point->unwanted = (flags & 1) != 0;
  point->faulty = (flags & 4) != 0;
  point->run_key = *run_key != '\0' ? g_strdup(run_key) : NULL;
  if ((flags & 2) != 0)
    point->report = run_report_unpack(report, n - (gsize)(report - bytes));
}

/* The side that plays: a batch whose points come by mail and go back by it. */
typedef struct {
  const StudyBatch *batch;
  gboolean over;
} Player;

static StudyPoint *receive(gpointer user) {
  Player *player = user;
  guint64 message[2]; /* its place in the order of all, and its number */
  MPI_Status status;
  if (player->over)
    return NULL;
  MPI_Recv(message, 2, MPI_UINT64_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  player->over = status.MPI_TAG == TAG_END;
  StudyPoint *point = player->over ? NULL : player->batch->again(message[1], player->batch->user);
  if (point != NULL)
    point->tag = GSIZE_TO_POINTER(message[0]);
  return point;
}

static gboolean has_mail(gpointer user) {
  (void)user;
  int there;
  MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  return there;
}

static gboolean wanted(const RunReport *identity, gpointer user) {
  const StudyBatch *batch = ((const Player *)user)->batch;
  return batch->wanted == NULL || batch->wanted(identity, batch->user);
}

static gboolean send_back(StudyPoint *point, gpointer user, GError **error) {
  (void)user, (void)error;
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  guint64 place = GPOINTER_TO_SIZE(point->tag);
  g_byte_array_append(bytes, (const guint8 *)&place, sizeof place);
  pack_result(point, bytes);
  MPI_Send(bytes->data, (int)bytes->len, MPI_BYTE, 0, TAG_RESULT, MPI_COMM_WORLD);
  return TRUE;
}

static gboolean play(const StudyBatch *batch, GHashTable *known, GError **error) {
  Player player = {.batch = batch};
  StudyBatch mine = {.next = receive,
                     .ready = has_mail,
                     .wanted = wanted,
                     .deliver = send_back,
                     .user = &player,
                     .known = known,
                     .options = batch->options,
                     .threads = MAX(batch->threads, 1)};
  return study_batch_run(&mine, NULL, error);
}

/* The side that leads. */
typedef struct {
  StudyPoint *point;
  gboolean done;
} Slot;

/* Process 0's own players. */
typedef struct {
  const StudyBatch *batch;
  GAsyncQueue *todo, *done; /* StudyPoint; its tag is its place in the order of all */
  GThread **threads;
  guint n_threads;
} Own;

typedef struct {
  const StudyMpi *mpi;
  const StudyBatch *batch;
  Own own;
  Slot *slots;
  guint n_slots, held_most; /* points at a time: of all, of a process */
  guint *held;              /* by process */
  guint64 taken, returned, delivered;
  gboolean closed, failed;
} Lead;

static StudyPoint nothing_more;

static StudyPoint *take_own(gpointer queue) {
  StudyPoint *point = g_async_queue_pop(((Own *)queue)->todo);
  return point != &nothing_more ? point : NULL;
}

static void put_own(StudyPoint *point, gpointer queue) {
  g_async_queue_push(((Own *)queue)->done, point);
}

static gpointer play_own(gpointer data) {
  study_batch_work(((Own *)data)->batch, take_own, put_own, data);
  return NULL;
}

/* As many threads as the machine gives: without any, only the others play. */
static void own_begin(Own *own, const StudyBatch *batch) {
  guint n = MAX(batch->threads, 1);
  *own = (Own){batch, g_async_queue_new(), g_async_queue_new(), g_new0(GThread *, n), 0};
  while (own->n_threads < n && (own->threads[own->n_threads] = g_thread_try_new("study", play_own, own, NULL)) != NULL)
    own->n_threads++;
}

static void own_end(Own *own) {
  for (guint i = 0; i < own->n_threads; i++)
    g_async_queue_push(own->todo, &nothing_more);
  for (guint i = 0; i < own->n_threads; i++)
    g_thread_join(own->threads[i]);
  g_async_queue_unref(own->todo);
  g_async_queue_unref(own->done);
  g_free(own->threads);
}

static guint least_loaded(const Lead *lead) {
  guint best = 1;
  for (guint rank = 2; rank < lead->mpi->size; rank++)
    best = lead->held[rank] < lead->held[best] ? rank : best;
  return lead->own.n_threads > 0 && lead->held[0] < lead->held[best] ? 0 : best;
}

static void send_out(const Lead *lead, StudyPoint *point, guint64 place, guint rank) {
  guint64 message[2] = {place, point->number};
  if (rank > 0) {
    MPI_Send(message, 2, MPI_UINT64_T, (int)rank, TAG_POINT, MPI_COMM_WORLD);
    return;
  }
  point->tag = GSIZE_TO_POINTER(place);
  g_async_queue_push(lead->own.todo, point);
}

static void hand_out(Lead *lead, gboolean *ret_stopped) {
  const StudyBatch *batch = lead->batch;
  while (!lead->closed && lead->taken - lead->delivered < lead->n_slots) {
    guint rank = least_loaded(lead);
    if (lead->held[rank] == lead->held_most)
      return;
    *ret_stopped = batch->stop != NULL && batch->stop(batch->stop_user);
    StudyPoint *point = *ret_stopped ? NULL : batch->next(batch->user);
    lead->closed = point == NULL;
    if (point == NULL)
      return;
    lead->slots[lead->taken % lead->n_slots] = (Slot){point, FALSE};
    lead->held[rank]++;
    send_out(lead, point, lead->taken++, rank);
  }
}

static void has_returned(Lead *lead, guint64 place, guint rank) {
  lead->slots[place % lead->n_slots].done = TRUE;
  lead->held[rank]--;
  lead->returned++;
}

/* FALSE: none has been played. */
static gboolean collect_own(Lead *lead) {
  const StudyPoint *point = g_async_queue_try_pop(lead->own.done);
  if (point == NULL)
    return FALSE;
  has_returned(lead, GPOINTER_TO_SIZE(point->tag), 0);
  return TRUE;
}

/* FALSE: none has come. */
static gboolean collect(Lead *lead) {
  int there, n;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD, &there, &status);
  if (!there)
    return FALSE;
  MPI_Get_count(&status, MPI_BYTE, &n);
  g_autofree guint8 *bytes = g_malloc((gsize)n);
  MPI_Recv(bytes, n, MPI_BYTE, status.MPI_SOURCE, TAG_RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  guint64 place;
  memcpy(&place, bytes, sizeof place);
  StudyPoint *point = lead->slots[place % lead->n_slots].point;
  unpack_result(point, bytes + sizeof place, (gsize)n - sizeof place);
  has_returned(lead, place, (guint)status.MPI_SOURCE);
  return TRUE;
}

/* In their order; after an error what comes back is dropped. */
static void deliver(Lead *lead, GError **error) {
  while (lead->delivered < lead->taken && lead->slots[lead->delivered % lead->n_slots].done) {
    StudyPoint *point = lead->slots[lead->delivered++ % lead->n_slots].point;
    if (!lead->failed && !lead->batch->deliver(point, lead->batch->user, error))
      lead->failed = lead->closed = TRUE;
    study_point_free(point);
  }
}

static gboolean lead_others(const StudyMpi *mpi, const StudyBatch *batch, gboolean *ret_stopped, GError **error) {
  Lead lead = {.mpi = mpi, .batch = batch, .held_most = HELD_PER_THREAD * MAX(batch->threads, 1)};
  lead.n_slots = lead.held_most * mpi->size;
  lead.slots = g_new0(Slot, lead.n_slots);
  lead.held = g_new0(guint, mpi->size);
  own_begin(&lead.own, batch);
  gboolean stopped = FALSE;
  while (!lead.closed || lead.delivered < lead.taken) {
    hand_out(&lead, &stopped);
    guint64 before = lead.returned;
    while (collect_own(&lead) || collect(&lead))
      deliver(&lead, error);
    if (lead.returned == before)
      g_usleep(IDLE_US);
  }
  guint64 nothing[2] = {0};
  for (guint rank = 1; rank < mpi->size; rank++)
    MPI_Send(nothing, 2, MPI_UINT64_T, (int)rank, TAG_END, MPI_COMM_WORLD);
  own_end(&lead.own);
  g_free(lead.slots);
  g_free(lead.held);
  if (ret_stopped != NULL)
    *ret_stopped = stopped;
  return !lead.failed;
}

gboolean study_mpi_batch_run(const StudyMpi *mpi, const StudyBatch *batch, gboolean *ret_stopped, GError **error) {
  g_autofree char *text = share_keys(mpi, batch);
  if (mpi->rank == 0)
    return lead_others(mpi, batch, ret_stopped, error);
  g_autoptr(GHashTable) known = keys_of(text);
  return play(batch, known, error);
}
