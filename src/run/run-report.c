/* Names of verdicts, causes and tenants; the end of a Report. */
#include "run-report.h"

#include "mem-tenant.h"

_Static_assert(RUN_TENANTS == MEM_TENANTS, "a report holds every tenant");

const char *const run_verdict_names[] = {[RUN_FITS] = "fits", [RUN_OOM] = "oom", NULL};

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

void run_report_choose(RunReport *report) {
  report->slowest = report->tightest = 0;
  for (guint32 i = 1; i < report->n_classes; i++) {
    if (report->classes[i].step > run_report_slowest(report)->step)
      report->slowest = i;
    if (headroom(&report->classes[i]) < headroom(run_report_tightest(report)))
      report->tightest = i;
  }
  report->verdict = run_report_tightest(report)->verdict;
}

double run_report_exposed_share(const RunReport *report) {
  const RunClass *slowest = run_report_slowest(report);
  return slowest->step > 0 ? (double)slowest->exposed / (double)slowest->step : 0;
}

void run_identity_clear(RunIdentity *identity) {
  for (guint32 i = 0; i < identity->n_settings; i++) {
    g_free(identity->settings[i].name);
    g_free(identity->settings[i].value);
    g_free(identity->settings[i].origin);
  }
  g_free(identity->settings);
  g_strfreev(identity->notes);
  g_free(identity->run_key);
  g_free(identity->workload);
  g_free(identity->topology);
  g_free(identity->model);
  g_free(identity->gpu);
  g_free(identity->architecture);
  g_free(identity->framework);
  g_free(identity->precision);
  g_free(identity->activation_checkpointing);
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
