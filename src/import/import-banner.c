/* SPDX-License-Identifier: MIT */
/* Banners by what they are known for, and the two things that the table's own arithmetic tells. */
#include "import-banner.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *program;
  ImportOperation operation;
} programs[] = {
    {"all_reduce_perf", IMPORT_ALL_REDUCE},
    {"all_gather_perf", IMPORT_ALL_GATHER},
    {"reduce_scatter_perf", IMPORT_REDUCE_SCATTER},
    {"broadcast_perf", IMPORT_BROADCAST},
    {"alltoall_perf", IMPORT_ALL_TO_ALL},
    {"sendrecv_perf", IMPORT_SEND_RECEIVE},
    {"gather_perf", IMPORT_GATHER},
    {"scatter_perf", IMPORT_SCATTER},
    {"hypercube_perf", IMPORT_HYPERCUBE},
    {"reduce_perf", IMPORT_REDUCE},
};

ImportOperation import_banner_operation(const char *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
    for (const char *at = strstr(text, programs[i].program); at != NULL; at = strstr(at + 1, programs[i].program))
      if (at == text || (!g_ascii_isalnum(at[-1]) && at[-1] != '_'))
        return programs[i].operation;
  return IMPORT_UNKNOWN;
}

guint import_banner_driven(const char *text) {
  guint threads, gpus;
  const char *at = strstr(text, "nThread ");
  return at != NULL && sscanf(at, "nThread %u nGpus %u", &threads, &gpus) == 2 ? threads * gpus : 0;
}

char *import_banner_version(const char *text) {
  guint major, minor, patch, code;
  const char *at = strstr(text, "NCCL version ");
  if (at != NULL && sscanf(at, "NCCL version %u.%u.%u", &major, &minor, &patch) == 3)
    return g_strdup_printf("%u.%u.%u", major, minor, patch);
  at = strstr(text, "nccl-library=");
  if (at == NULL || sscanf(at, "nccl-library=%u", &code) != 1)
    return NULL;
  return g_strdup_printf("%u.%u.%u", code / 10000, code / 100 % 100, code % 100);
}

char **import_words(const char *text) {
  g_auto(GStrv) pieces = g_strsplit_set(text, " \t", -1);
  GPtrArray *words = g_ptr_array_new();
  for (char **piece = pieces; *piece != NULL; piece++) {
    gboolean remark = strcmp(*piece, "#") == 0 && words->len > 0 && *(char *)words->pdata[0] != '#';
    if (remark)
      break;
    if (**piece != '\0')
      g_ptr_array_add(words, g_strdup(*piece));
  }
  g_ptr_array_add(words, NULL);
  return (char **)g_ptr_array_free(words, FALSE);
}

#define RANKS_MOST (1u << 24) /* more is no count of GPUs: a torn line, or a sign that was read as digits */

gboolean import_banner_rank(const char *text, ImportRank *ret) {
  ImportRank rank = {0};
  int end = 0;
  guint pid, device;
  const char *at = strstr(text, "Rank ");
  if (at == NULL)
    return FALSE;
  int found = sscanf(at, "Rank %u Group %u Pid %u on %63s device %u [%*[^]]]%n", &rank.rank, &rank.group, &pid,
                     rank.host, &device, &end);
  if (found < 5 || end == 0) {
    rank.group = 0;
    found = sscanf(at, "Rank %u Pid %u on %63s device %u [%*[^]]]%n", &rank.rank, &pid, rank.host, &device, &end);
    if (found < 4 || end == 0)
      return FALSE;
  }
  if (rank.rank >= RANKS_MOST || rank.group >= RANKS_MOST)
    return FALSE;
  g_strlcpy(rank.gpu, at + end, sizeof rank.gpu);
  g_strstrip(rank.gpu);
  *ret = rank;
  return TRUE;
}

void import_ranks_add(ImportRanks *ranks, ImportRun *run, const ImportRank *rank) {
  if (ranks->hosts == NULL)
    ranks->hosts = g_ptr_array_new_with_free_func(g_free);
  ranks->zeros += rank->rank == 0;
  ranks->most = MAX(ranks->most, rank->rank + 1);
  ranks->most_group = MAX(ranks->most_group, rank->group);
  ranks->listed++;
  if (rank->group == 0 && !g_ptr_array_find_with_equal_func(ranks->hosts, rank->host, g_str_equal, NULL))
    g_ptr_array_add(ranks->hosts, g_strdup(rank->host));
  if (run->gpu == NULL && *rank->gpu != '\0')
    run->gpu = g_strdup(rank->gpu);
}

/* The row that tells ratios best: the one with most digits. */
static const ImportRow *fastest(const ImportRun *run) {
  const ImportRow *best = NULL;
  for (guint i = 0; i < run->rows->len; i++) {
    const ImportRow *row = &g_array_index(run->rows, ImportRow, i);
    if (best == NULL || row->out_of_place.algorithm_bandwidth > best->out_of_place.algorithm_bandwidth)
      best = row;
  }
  return best;
}

/* A printed rate is within half of its last digit (0.005 GB/s), so the ratio is within so much. */
#define ROUNDING            5e6
#define MOST_RANKS_BY_RATIO 1024

/* Ranks of an all-reduce: bus = 2 (n - 1) / n × algorithm bandwidth. 0 where no one n fits. */
static guint ranks_by_ratio(const ImportRow *row) {
  double algorithm = row->out_of_place.algorithm_bandwidth, bus = row->out_of_place.bus_bandwidth;
  guint found = 0;
  for (guint n = 2; n <= MOST_RANKS_BY_RATIO; n++) {
    double factor = 2.0 * (n - 1) / n;
    double most = ROUNDING * (1 + factor), apart = factor * algorithm - bus;
    if (apart > most || apart < -most)
      continue;
    if (found != 0)
      return 0;
    found = n;
  }
  return found;
}

static void derive(ImportRun *run) {
  const ImportRow *row = fastest(run);
  if (row == NULL || run->processes > 1)
    return;
  double algorithm = row->out_of_place.algorithm_bandwidth, bus = row->out_of_place.bus_bandwidth;
  guint64 shard = row->count * import_row_type_size(row->type);
  if (run->operation == IMPORT_UNKNOWN && bus - algorithm > 2 * ROUNDING) {
    run->operation = IMPORT_ALL_REDUCE;
    run->derived = TRUE;
  }
  if (run->ranks != 0)
    return;
  if (shard > 0 && row->bytes > shard && row->bytes % shard == 0)
    run->ranks = (guint)(row->bytes / shard);
  else if (run->operation == IMPORT_ALL_REDUCE)
    run->ranks = ranks_by_ratio(row);
  run->derived = run->derived || run->ranks != 0;
}

void import_ranks_take(ImportRanks *ranks, ImportRun *run) {
  if (ranks->listed > 0) {
    guint groups = ranks->most_group + 1;
    run->processes = MAX(run->processes, ranks->zeros);
    run->ranks = run->processes > 1 ? 1 : MAX(ranks->most / groups, 1);
    run->nodes = run->processes > 1 ? 1 : ranks->hosts->len;
  }
  derive(run);
}

void import_ranks_clear(ImportRanks *ranks) {
  if (ranks->hosts != NULL)
    g_ptr_array_unref(ranks->hosts);
  memset(ranks, 0, sizeof *ranks);
}
