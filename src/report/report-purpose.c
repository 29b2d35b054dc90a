/* SPDX-License-Identifier: MIT */
/* Phases and names to purposes. */
#include "report-purpose.h"

#include <string.h>

const char *const report_purpose_names[] = {"forward",
                                            "recomputation",
                                            "backward",
                                            "gradients",
                                            "parameter gathers",
                                            "optimizer",
                                            "tensor ranks' activations",
                                            "context ranks' keys and values",
                                            "experts' tokens",
                                            "pipeline",
                                            NULL};
const char *const report_compute_names[] = {
    "matmuls", "attention", "loss", "other layer operations", "copies for sharding", "optimizer", NULL};

static gboolean begins(const char *name, const char *const *words) {
  for (; *words != NULL; words++)
    if (g_str_has_prefix(name, *words))
      return TRUE;
  return FALSE;
}

static gboolean is_compute(const RunTask *task) {
  return strcmp(task->kind, "compute") == 0;
}

/* Operations of layers have one word; what a framework does beside them has several. */
static gboolean is_of_layer(const RunTask *task) {
  return strchr(task->name, ' ') == NULL;
}

static gboolean is_of_gradients(const RunTask *task) {
  return strstr(task->name, "gradient") != NULL || strstr(task->name, "bucket") != NULL;
}

static ReportPurpose of_pass(const RunTask *task) {
  static const char *const stages[] = {"send", "receive", "exchange", "shape", "say how", "read how", NULL};
  static const char *const context[] = {"attention.", "context", "k_all", "kv_all", NULL};
  static const char *const experts[] = {"experts", "tokens", "router", NULL};
  if (is_compute(task) || is_of_gradients(task))
    return is_of_gradients(task) ? REPORT_GRADIENTS : REPORT_PARAMETERS;
  return begins(task->name, stages)    ? REPORT_PIPELINE
         : begins(task->name, context) ? REPORT_CONTEXT
         : begins(task->name, experts) ? REPORT_EXPERTS
                                       : REPORT_TENSOR;
}

ReportPurpose report_purpose(const RunTask *task) {
  static const struct {
    const char *phase;
    ReportPurpose purpose;
  } phases[] = {{"reduce", REPORT_GRADIENTS},
                {"gather", REPORT_PARAMETERS},
                {"optimizer", REPORT_OPTIMIZER},
                {"setup", REPORT_OPTIMIZER}};
  static const char *const stages[] = {"send", "receive", NULL};
  for (gsize i = 0; i < G_N_ELEMENTS(phases); i++)
    if (strcmp(task->phase, phases[i].phase) == 0)
      return phases[i].purpose;
  if (!is_compute(task) && (begins(task->name, stages) || strcmp(task->name, "exchange") == 0))
    return REPORT_PIPELINE;
  if (!is_compute(task) || !is_of_layer(task))
    return of_pass(task);
  return strcmp(task->phase, "forward") == 0     ? REPORT_FORWARD
         : strcmp(task->phase, "recompute") == 0 ? REPORT_RECOMPUTATION
                                                 : REPORT_BACKWARD;
}

static gboolean is_matmul(const char *name) {
  static const char *const heads[] = {"lm_head", "embed_patches", "router", NULL};
  static const char *const ends[] = {"_proj", ".wgrad", ".dgrad"};
  for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
    if (g_str_has_suffix(name, ends[i]))
      return TRUE;
  return begins(name, heads) && strchr(name, '.') == NULL;
}

ReportCompute report_operation(const RunTask *task) {
  static const char *const attention[] = {"attention", "scores", "softmax", "context", NULL};
  static const char *const loss[] = {"cross_entropy", "logits", "log_softmax", "loss", "metric", NULL};
  ReportPurpose purpose = report_purpose(task);
  if (purpose == REPORT_OPTIMIZER)
    return REPORT_STEP;
  if (purpose == REPORT_GRADIENTS || purpose == REPORT_PARAMETERS)
    return REPORT_SHARDING;
  if (is_matmul(task->name))
    return REPORT_MATMULS;
  if (begins(task->name, loss))
    return REPORT_LOSS;
  return begins(task->name, attention) && !g_str_has_prefix(task->name, "attention_") ? REPORT_ATTENTION
                                                                                      : REPORT_MEMORY_BOUND;
}
