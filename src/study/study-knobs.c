/* SPDX-License-Identifier: MIT */
/* Candidates, from the settings that a run has. */
#include "study-knobs.h"

#include <stdlib.h>
#include <string.h>

#include "base-names.h"
#include "layout.h"
#include "plan-recipe.h"
#include "study-trial.h"

typedef struct {
  const RunIdentity *identity;
  GPtrArray *trials;
} Knobs;

static guint64 degree_of(const RunIdentity *identity, const char *name) {
  const char *value = run_identity_setting(identity, name);
  return value != NULL ? MAX(1, g_ascii_strtoull(value, NULL, 10)) : 1;
}

static G_GNUC_PRINTF(2, 3) void add(const Knobs *knobs, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *change = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  study_trials_add(knobs->trials, change);
}

/* "26214400 B" times 2, in whole numbers; NULL where there is no number. Caller frees. */
static char *times(const char *value, double factor) {
  char *rest = NULL;
  double number = value != NULL ? g_ascii_strtod(value, &rest) : 0;
  if (number <= 0)
    return NULL;
  return g_strdup_printf("%.0f%s", number * factor, rest);
}

/* The value that a row of plan_knobs means in this run; NULL: none. Caller frees. */
static char *meant(const Knobs *knobs, const PlanSetting *knob) {
  static const struct {
    const char *word;
    double factor;
  } factors[] = {{PLAN_KNOB_HALF, 0.5}, {PLAN_KNOB_TWICE, 2}, {PLAN_KNOB_TENFOLD, 10}};
  const RunIdentity *identity = knobs->identity;
  for (gsize i = 0; i < G_N_ELEMENTS(factors); i++)
    if (strcmp(knob->value, factors[i].word) == 0)
      return times(run_identity_setting(identity, knob->name), factors[i].factor);
  if (strcmp(knob->value, PLAN_KNOB_NODE) == 0)
    return identity->nodes > 1 ? g_strdup_printf("%u", identity->gpus / identity->nodes) : NULL;
  return g_strdup(knob->value);
}

static void try_setting(const Knobs *knobs, const PlanSetting *knob) {
  g_autofree char *value = meant(knobs, knob);
  if (value != NULL && g_strcmp0(value, run_identity_setting(knobs->identity, knob->name)) != 0)
    add(knobs, "%s=%s", knob->name, value);
}

static void try_stages(const Knobs *knobs, int framework) {
  for (guint32 stage = 0; stage < STUDY_STAGES; stage++)
    if (stage != knobs->identity->zero_stage)
      add(knobs, "parallel.zero_stage=%u", stage);
  if (knobs->identity->nodes > 1)
    try_setting(knobs, &(PlanSetting){"parallel.shard_group", "node"});
  for (const char *const *changes = plan_elsewhere(framework); *changes != NULL; changes++)
    add(knobs, "%s", *changes);
}

#define BATCH                                                                                                          \
  "training.micro_batch=%" G_GUINT64_FORMAT " training.gradient_accumulation=%" G_GUINT64_FORMAT                       \
  " training.global_batch=%" G_GUINT64_FORMAT

/* Larger micro-batches of fewer, and the other way: 2 and 4 times. */
static void try_batches(const Knobs *knobs) {
  const RunIdentity *identity = knobs->identity;
  for (guint64 factor = 2; factor <= 4; factor *= 2) {
    if (identity->gradient_accumulation % factor == 0)
      add(knobs, BATCH, identity->micro_batch * factor, identity->gradient_accumulation / factor,
          identity->global_batch);
    if (identity->micro_batch % factor == 0)
      add(knobs, BATCH, identity->micro_batch / factor, identity->gradient_accumulation * factor,
          identity->global_batch);
  }
}

/* Twice or half of an axis (0: as it is; 1: twice; -1: half) and of another, the data ranks taking what is left. */
typedef struct {
  const char *name;
  LayoutAxis axis;
  guint64 degree;
} Axis;

static guint64 moved(guint64 degree, int direction) {
  return direction > 0 ? 2 * degree : direction < 0 ? degree / 2 : degree;
}

static gboolean can_move(const Axis *axis, int direction) {
  return direction >= 0 || axis->degree % 2 == 0;
}

static void try_layout(const Knobs *knobs, const Axis *axes, guint n, const int *directions) {
  const RunIdentity *identity = knobs->identity;
  g_autoptr(GString) change = g_string_new(NULL);
  guint64 others = 1;
  for (guint i = 0; i < n; i++) {
    if (!can_move(&axes[i], directions[i]))
      return;
    guint64 degree = moved(axes[i].degree, directions[i]);
    others *= degree;
    if (directions[i] != 0)
      g_string_append_printf(change, "%s=%" G_GUINT64_FORMAT " ", axes[i].name, degree);
  }
  guint64 each =
      others <= identity->gpus && identity->gpus % others == 0 ? identity->gpus / others * identity->micro_batch : 0;
  if (each > 0 && identity->global_batch % each == 0)
    add(knobs, "%s" BATCH, change->str, identity->micro_batch, identity->global_batch / each, identity->global_batch);
}

static void try_layouts(const Knobs *knobs, int framework) {
  static const Axis all[] = {{"parallel.tensor", LAYOUT_TENSOR, 1},
                             {"parallel.pipeline", LAYOUT_PIPELINE, 1},
                             {"parallel.context", LAYOUT_CONTEXT, 1}};
  Axis axes[G_N_ELEMENTS(all)];
  guint n = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    if ((plan_axes(framework) & LAYOUT_BIT(all[i].axis)) != 0) {
      axes[n] = all[i];
      axes[n++].degree = degree_of(knobs->identity, all[i].name);
    }
  for (guint i = 0; i < n; i++)
    for (int direction = 1; direction >= -1; direction -= 2) {
      int directions[G_N_ELEMENTS(all)] = {0};
      directions[i] = direction;
      try_layout(knobs, axes, n, directions);
      for (guint k = 0; k < n; k++)
        if (k != i && direction > 0) {
          directions[k] = -1;
          try_layout(knobs, axes, n, directions);
          directions[k] = 0;
        }
    }
  if (degree_of(knobs->identity, "parallel.tensor") > 1)
    try_setting(knobs, &(PlanSetting){"parallel.sequence_parallel", "yes"});
  if (degree_of(knobs->identity, "parallel.pipeline") > 1)
    try_setting(knobs, &(PlanSetting){"parallel.interleave", "2"});
}

void study_knobs(const RunReport *report, GPtrArray *trials) {
  static const PlanSetting common[] = {{"training.activation_checkpointing", "none"},
                                       {"training.activation_checkpointing", "attention"},
                                       {"training.activation_checkpointing", "full"},
                                       {"training.compile", "yes"},
                                       {"training.attention", "flash"},
                                       {"training.loss", "fused"},
                                       {"training.fused_kernels", "yes"},
                                       {"memory.expandable_segments", "yes"}};
  static const PlanSetting nccl[] = {
      {"nccl.algo", "ring"},      {"nccl.algo", "tree"},        {"nccl.proto", "ll128"},
      {"nccl.proto", "simple"},   {"nccl.min_nchannels", "16"}, {"nccl.max_nchannels", "8"},
      {"nccl.nvls_enable", "no"}, {"nccl.registration", "yes"}, {"nccl.collnet_enable", "yes"}};
  const Knobs knobs = {&report->identity, trials};
  int framework = base_names_find(plan_framework_names, report->identity.framework);
  sim_require(framework >= 0, 0, NULL, "a report of framework %s", report->identity.framework);
  for (const PlanSetting *own = plan_knobs(framework); own->name != NULL; own++)
    try_setting(&knobs, own);
  try_stages(&knobs, framework);
  try_batches(&knobs);
  try_layouts(&knobs, framework);
  for (gsize i = 0; i < G_N_ELEMENTS(common); i++)
    try_setting(&knobs, &common[i]);
  for (gsize i = 0; i < G_N_ELEMENTS(nccl); i++)
    try_setting(&knobs, &nccl[i]);
}
