/* SPDX-License-Identifier: MIT */
/* Names of verdicts, causes and tenants; the end of a Report. */
#include "run-report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem-tenant.h"
#include "run-record.h"

_Static_assert(offsetof(RunReport, identity) == 0, "fields of a report with lesser offsets are the identity's");
_Static_assert(RUN_TENANTS == MEM_TENANTS, "a report holds every tenant");

const char *const run_verdict_names[] = {[RUN_FITS] = "fits", [RUN_EDGE] = "edge", [RUN_OOM] = "oom", NULL};

const char *const run_cause_names[] = {
    [RUN_CAUSE_TAIL] = "tail",
    [RUN_CAUSE_HOST] = "host",
    [RUN_CAUSE_SERIALISED] = "serialised",
    [RUN_CAUSE_STRAGGLER] = "straggler",
    [RUN_CAUSE_BOUNDARY] = "boundary",
    [RUN_CAUSE_BUCKET_FILL] = "bucket-fill",
    [RUN_CAUSE_LATENCY] = "latency",
    [RUN_CAUSE_BANDWIDTH] = "bandwidth",
    [RUN_CAUSE_BUBBLE] = "bubble",
    [RUN_CAUSE_HOST_IDLE] = "host-idle",
    [RUN_CAUSES] = NULL,
};

const char *const run_tenant_names[] = {
    [MEM_PARAMETERS] = "parameters",   [MEM_GRADIENTS] = "gradients", [MEM_OPTIMIZER] = "optimizer",
    [MEM_ACTIVATIONS] = "activations", [MEM_TEMPORARY] = "temporary", [MEM_COMMUNICATION] = "communication",
    [MEM_OVERHEAD] = "overhead",       [MEM_TENANTS] = NULL,
};

/* Headroom, negative where memory is short. */
static gint64 headroom(const RunClass *rank_class) {
  return (gint64)rank_class->capacity - (gint64)rank_class->device_used;
}

static gboolean is_tighter(const RunClass *one, const RunClass *other) {
  return one->verdict != other->verdict ? one->verdict > other->verdict : headroom(one) < headroom(other);
}

void run_report_choose(RunReport *report) {
  report->slowest = report->tightest = 0;
  for (guint32 i = 1; i < report->n_classes; i++) {
    if (report->classes[i].step > run_report_slowest(report)->step)
      report->slowest = i;
    if (is_tighter(&report->classes[i], run_report_tightest(report)))
      report->tightest = i;
  }
  report->verdict = run_report_host_short(report) ? RUN_OOM : run_report_tightest(report)->verdict;
}

static RunVerdict verdict_of(const RunClass *of) {
  if (of->has_oom)
    return of->device_used_low <= of->capacity ? RUN_EDGE : RUN_OOM;
  return of->device_used_high > of->capacity || of->retries > 0 ? RUN_EDGE : RUN_FITS;
}

void run_report_judge(RunReport *report, double low, double high) {
  for (guint32 i = 0; i < report->n_classes; i++) {
    RunClass *of = &report->classes[i];
    of->device_used_low = of->device_used - (guint64)llround((double)of->peak_reserved * (1 - low));
    of->device_used_high = of->device_used + (guint64)llround((double)of->peak_reserved * (high - 1));
    if (of->device_used_high > of->capacity) /* managed pages make way */
      of->device_used_high -= MIN(of->managed, of->device_used_high - MAX(of->capacity, of->device_used));
    of->verdict = verdict_of(of);
  }
  run_report_choose(report);
}

static gint by_start(gconstpointer a, gconstpointer b) {
  const RunTask *left = *(const RunTask *const *)a, *right = *(const RunTask *const *)b;
  if (left->start != right->start)
    return left->start < right->start ? -1 : 1;
  return (left->row > right->row) - (left->row < right->row);
}

GPtrArray *run_class_by_start(const RunClass *rank_class) {
  GPtrArray *tasks = g_ptr_array_sized_new(rank_class->n_tasks);
  for (guint32 i = 0; i < rank_class->n_tasks; i++)
    g_ptr_array_add(tasks, &rank_class->tasks[i]);
  g_ptr_array_sort(tasks, by_start);
  return tasks;
}

/* Both begin with their row. */
static int by_row(const void *a, const void *b) {
  guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
  return (left > right) - (left < right);
}

const RunTask *run_class_task(const RunClass *rank_class, guint32 row) {
  return rank_class->n_tasks > 0 ? bsearch(&row, rank_class->tasks, rank_class->n_tasks, sizeof(RunTask), by_row)
                                 : NULL;
}

const RunCollective *run_class_collective(const RunClass *rank_class, guint32 row) {
  return rank_class->n_collectives > 0
             ? bsearch(&row, rank_class->collectives, rank_class->n_collectives, sizeof(RunCollective), by_row)
             : NULL;
}

void run_report_rates(RunReport *report) {
  SimTime step = report->classes[report->slowest].step;
  double seconds = sim_time_to_seconds(step), peak = report->peak_flops;
  guint64 gpus = 0;
  for (guint32 i = 0; i < report->n_classes; i++)
    gpus += report->classes[i].ranks;
  report->tokens_per_second = (double)report->tokens / seconds;
  report->tokens_per_second_per_gpu = report->tokens_per_second / (double)gpus;
  report->model_flops_utilisation = report->model_flops / seconds / peak;
  report->hardware_flops_utilisation = report->hardware_flops / seconds / peak;
  for (guint32 i = 0; i < report->n_links; i++)
    report->links[i].utilisation =
        report->links[i].links > 0 && step > 0 ? report->links[i].bytes / (report->links[i].capacity * seconds) : 0;
}

double run_report_exposed_share(const RunReport *report) {
  const RunClass *slowest = run_report_slowest(report);
  return slowest->step > 0 ? (double)slowest->exposed / (double)slowest->step : 0;
}

void run_identity_clear(RunIdentity *identity) {
  for (guint32 i = 0; i < identity->n_settings; i++)
    run_record_clear(&run_record_setting, &identity->settings[i]);
  g_free(identity->settings);
  g_strfreev(identity->notes);
  for (guint i = 0; i < run_record_report.n; i++)
    if (run_fields_report[i].type == RUN_TEXT && run_fields_report[i].offset < sizeof *identity)
      g_free(*run_field_text(&run_fields_report[i], identity));
}

const char *run_identity_setting(const RunIdentity *identity, const char *name) {
  for (guint32 i = 0; i < identity->n_settings; i++)
    if (strcmp(identity->settings[i].name, name) == 0)
      return identity->settings[i].value;
  return NULL;
}

void run_report_free(RunReport *report) {
  if (report == NULL)
    return;
  run_identity_clear(&report->identity);
  for (guint32 i = 0; i < report->n_classes; i++) {
    g_free(report->classes[i].tasks);
    g_free(report->classes[i].collectives);
    g_free(report->classes[i].exposures);
    g_free(report->classes[i].samples);
  }
  g_free(report->classes);
  g_free(report->links);
  g_free(report->envelope);
  if (report->names != NULL)
    g_string_chunk_free(report->names);
  g_free(report);
}
