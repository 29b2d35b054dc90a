/* Two reports of one system, the first folded, the second with every rank played: equal in all that is a result.
 *
 *   g_autofree guint32 *classes = twins_classes(folded, gpus);       // by rank; checks `members` on the way
 *   CU_ASSERT_TRUE(twins_equal(folded, classes, plain));              // says on stdout what differs first
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "run-report.h"

#define TWINS_SAME(field)                                                                                              \
  if (a->field != b->field)                                                                                            \
  return #field
#define TWINS_SAME_TEXT(field)                                                                                         \
  if (g_strcmp0(a->field, b->field) != 0)                                                                              \
  return #field

static inline const char *twins_oom(const RunOom *a, const RunOom *b) {
  TWINS_SAME(at);
  TWINS_SAME(step);
  TWINS_SAME(row);
  TWINS_SAME(layer);
  TWINS_SAME(requested);
  TWINS_SAME(free);
  TWINS_SAME(allocated);
  TWINS_SAME(reserved);
  if (memcmp(a->held, b->held, sizeof a->held) != 0)
    return "held";
  TWINS_SAME_TEXT(name);
  TWINS_SAME_TEXT(phase);
  TWINS_SAME_TEXT(tenant);
  TWINS_SAME_TEXT(tensor);
  return NULL;
}

static inline const char *twins_task(const RunTask *a, const RunTask *b) {
  TWINS_SAME(row);
  TWINS_SAME(layer);
  TWINS_SAME(micro);
  TWINS_SAME(start);
  TWINS_SAME(end);
  TWINS_SAME_TEXT(stream);
  TWINS_SAME_TEXT(kind);
  TWINS_SAME_TEXT(name);
  TWINS_SAME_TEXT(phase);
  return NULL;
}

static inline const char *twins_collective(const RunCollective *a, const RunCollective *b) {
  TWINS_SAME(row);
  TWINS_SAME_TEXT(operation);
  TWINS_SAME_TEXT(algorithm);
  TWINS_SAME_TEXT(protocol);
  TWINS_SAME(channels);
  TWINS_SAME(group_size);
  TWINS_SAME(bytes);
  TWINS_SAME(queued);
  TWINS_SAME(start);
  TWINS_SAME(end);
  TWINS_SAME(bus_bandwidth);
  return NULL;
}

static inline const char *twins_exposure(const RunExposure *a, const RunExposure *b) {
  TWINS_SAME(start);
  TWINS_SAME(end);
  TWINS_SAME(row);
  TWINS_SAME(cause);
  return NULL;
}

static inline const char *twins_sample(const RunMemorySample *a, const RunMemorySample *b) {
  TWINS_SAME(at);
  for (int tenant = 0; tenant < RUN_TENANTS; tenant++)
    TWINS_SAME(held[tenant]);
  return NULL;
}

static inline const char *twins_timeline(const RunClass *a, const RunClass *b) {
  const char *differs = NULL;
  TWINS_SAME(n_tasks);
  TWINS_SAME(n_collectives);
  TWINS_SAME(n_exposures);
  TWINS_SAME(n_samples);
  for (guint32 i = 0; i < a->n_tasks && differs == NULL; i++)
    differs = twins_task(&a->tasks[i], &b->tasks[i]);
  for (guint32 i = 0; i < a->n_collectives && differs == NULL; i++)
    differs = twins_collective(&a->collectives[i], &b->collectives[i]);
  for (guint32 i = 0; i < a->n_exposures && differs == NULL; i++)
    differs = twins_exposure(&a->exposures[i], &b->exposures[i]);
  for (guint32 i = 0; i < a->n_samples && differs == NULL; i++)
    differs = twins_sample(&a->samples[i], &b->samples[i]);
  return differs;
}

static inline const char *twins_class(const RunClass *a, const RunClass *b) {
  TWINS_SAME(step);
  TWINS_SAME(compute);
  TWINS_SAME(communication);
  TWINS_SAME(exposed);
  TWINS_SAME(idle);
  TWINS_SAME(host);
  TWINS_SAME(bubble);
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    TWINS_SAME(by_cause[cause]);
  TWINS_SAME(network_bytes_intra);
  TWINS_SAME(network_bytes_inter);
  TWINS_SAME(verdict);
  TWINS_SAME(capacity);
  TWINS_SAME(short_by);
  TWINS_SAME(steady_allocated);
  TWINS_SAME(peak_allocated);
  TWINS_SAME(device_used);
  TWINS_SAME(device_used_step);
  TWINS_SAME(peak_active);
  TWINS_SAME(peak_reserved);
  TWINS_SAME(retries);
  TWINS_SAME(step_retries);
  TWINS_SAME(step_stalled);
  for (int tenant = 0; tenant < RUN_TENANTS; tenant++) {
    TWINS_SAME(peak_held[tenant]);
    TWINS_SAME(peak_unique[tenant]);
  }
  TWINS_SAME(peak_at);
  TWINS_SAME(peak_step);
  TWINS_SAME(peak_layer);
  TWINS_SAME_TEXT(peak_name);
  TWINS_SAME_TEXT(peak_phase);
  TWINS_SAME(has_oom);
  const char *differs = a->has_oom ? twins_oom(&a->oom, &b->oom) : NULL;
  return differs != NULL ? differs : twins_timeline(a, b);
}

static inline const char *twins_link(const RunLink *a, const RunLink *b) {
  TWINS_SAME_TEXT(link_class);
  TWINS_SAME(links);
  TWINS_SAME(bytes);
  TWINS_SAME(busy);
  TWINS_SAME(utilisation);
  return NULL;
}

static inline const char *twins_step(const RunReport *a, const RunReport *b) {
  TWINS_SAME(verdict);
  if (a->classes[a->slowest].first_rank != b->classes[b->slowest].first_rank)
    return "slowest";
  TWINS_SAME(tokens);
  TWINS_SAME(tokens_per_second);
  TWINS_SAME(tokens_per_second_per_gpu);
  TWINS_SAME(model_flops_utilisation);
  TWINS_SAME(hardware_flops_utilisation);
  TWINS_SAME(price_per_step);
  TWINS_SAME(steps_played);
  TWINS_SAME(repeats);
  TWINS_SAME(n_links);
  return NULL;
}

static inline gboolean twins_equal(const RunReport *folded, const guint32 *classes, const RunReport *plain,
                                   gboolean loud) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(folded);
  CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
  const char *differs = twins_step(folded, plain);
  guint32 where = 0;
  for (guint32 i = 0; i < folded->n_links && differs == NULL; i++)
    differs = twins_link(&folded->links[i], &plain->links[i]);
  for (guint32 i = 0; i < plain->n_classes && differs == NULL; i++) {
    differs = twins_class(&folded->classes[classes[plain->classes[i].first_rank]], &plain->classes[i]);
    where = plain->classes[i].first_rank;
  }
  if (differs != NULL && loud)
    printf("\n    rank %u, or the whole: %s differs\n", where, differs);
  return differs == NULL;
}

/* Class of every rank, read from the texts; each rank stands in exactly one. Caller frees. */
static inline guint32 *twins_classes(const RunReport *report, guint32 ranks) {
  guint32 *classes = g_new(guint32, ranks), found = 0;
  for (guint32 i = 0; i < ranks; i++)
    classes[i] = G_MAXUINT32;
  for (guint32 i = 0; i < report->n_classes; i++) {
    guint32 members = 0;
    g_auto(GStrv) ranges = g_strsplit(report->classes[i].members, ",", -1);
    for (char **range = ranges; *range != NULL; range++) {
      char *dash = strchr(*range, '-');
      guint32 first = (guint32)atoi(*range), last = dash != NULL ? (guint32)atoi(dash + 1) : first;
      for (guint32 rank = first; rank <= last; rank++, members++, found++) {
        CU_ASSERT_TRUE_FATAL(rank < ranks && classes[rank] == G_MAXUINT32);
        classes[rank] = i;
      }
    }
    CU_ASSERT_EQUAL(members, report->classes[i].ranks);
    CU_ASSERT_EQUAL(classes[report->classes[i].first_rank], i);
  }
  CU_ASSERT_EQUAL(found, ranks);
  return classes;
}
