/* SPDX-License-Identifier: MIT */
/* Nested axes, outermost first; the micro-batch follows from what is left of the global batch. */
#include "study-candidates.h"

#include <string.h>

#include "base-names.h"
#include "layout-load.h"
#include "study-walk.h"

#define MOST_MICRO_BATCH 16
#define MOST_CONTEXT     16
#define LONG_SEQUENCE    16384 /* tokens, from which sequences are split */
#define MOST_PIPELINE    32
#define MOST_CHUNKS      4
#define MOST_EXPERT      64 /* ranks that share the experts */

typedef struct {
  const Study *study;
  const RunIdentity *base;
  guint64 layers, experts;
  guint schedules; /* that the framework has, bits of LayoutSchedule */
  const char *topology;
  guint32 nodes, gpus;
  guint32 gpus_per_node;
  GPtrArray *points;
} Making;

static gboolean is_fixed(const Making *making, const char *name) {
  return conf_settings_origin(making->study->settings, name) == CONF_ORIGIN_COMMAND_LINE;
}

static guint64 value_of(const Making *making, const char *name) {
  const char *text = conf_settings_get(making->study->settings, name);
  return text != NULL ? g_ascii_strtoull(text, NULL, 10) : 1;
}

/* Whether the workload has that value, or the command line forbids another. */
static gboolean allows(const Making *making, const char *name, guint64 value) {
  return !is_fixed(making, name) || value_of(making, name) == value;
}

static void add_number(StudyPoint *point, const char *name, guint64 value) {
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, value);
  study_point_add(point, name, text, 0, 0);
}

typedef struct {
  guint64 stage, tensor, context, pipeline, chunks, expert, micro_batch, accumulation;
  const char *shard_group, *checkpointing; /* NULL: as the workload says */
  const char *schedule;                    /* NULL: the default one of so many chunks */
} Candidate;

/* Other settings of a framework that change a layout's step: buckets, and what stays in the host's memory. */
typedef struct {
  const char *framework;
  guint64 first_stage, last_stage;
  gboolean offloads;
  const char *settings[6]; /* name, value */
} Variant;

static const Variant variants[] = {
    {"ddp", 0, 0, FALSE, {"ddp.bucket_cap", "100MiB"}},
    {"deepspeed", 1, 2, FALSE, {"deepspeed.reduce_bucket_size", "50000000"}},
    {"deepspeed", 1, 3, TRUE, {"parallel.offload_optimizer", "cpu"}},
    {"deepspeed", 3, 3, TRUE, {"parallel.offload_optimizer", "cpu", "parallel.offload_parameters", "cpu"}},
    {"megatron", 0, 0, FALSE, {"megatron.overlap_grad_reduce", "yes", "megatron.overlap_param_gather", "no"}},
    {"megatron",
     0,
     0,
     FALSE,
     {"megatron.overlap_grad_reduce", "yes", "megatron.overlap_param_gather", "no", "megatron.bucket_size",
      "200000000"}},
    {"megatron", 1, 1, FALSE, {"megatron.overlap_grad_reduce", "yes", "megatron.overlap_param_gather", "yes"}},
    {"megatron",
     1,
     1,
     FALSE,
     {"megatron.overlap_grad_reduce", "yes", "megatron.overlap_param_gather", "yes", "megatron.bucket_size",
      "200000000"}},
    {"fsdp1", 2, 3, TRUE, {"fsdp.cpu_offload", "yes"}},
    {"fsdp2", 2, 3, TRUE, {"fsdp.cpu_offload", "yes"}},
};

/* A workload's own offload is taken away first: with it the layout is one of the variants. */
static void add_no_offload(const Making *making, StudyPoint *point) {
  static const char *const names[] = {"parallel.offload_optimizer", "parallel.offload_parameters", "fsdp.cpu_offload"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (conf_settings_given(making->study->settings, names[i]) && !is_fixed(making, names[i]))
      study_point_add(point, names[i], "no", 0, 0);
}

/* Not what the workload is anyway, nor another value than the command line's. */
static gboolean differs(const Making *making, const Variant *variant) {
  gboolean other = FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(variant->settings) && variant->settings[i] != NULL; i += 2) {
    gboolean same = g_strcmp0(run_identity_setting(making->base, variant->settings[i]), variant->settings[i + 1]) == 0;
    if (!same && is_fixed(making, variant->settings[i]))
      return FALSE;
    other |= !same;
  }
  return other;
}

static gboolean has_variant(const Making *making, const Variant *variant, const Candidate *layout) {
  return strcmp(making->base->framework, variant->framework) == 0 && layout->stage >= variant->first_stage &&
         layout->stage <= variant->last_stage && differs(making, variant);
}

static void add_schedule(const Making *making, const Candidate *layout, StudyPoint *point) {
  static const char *const name = "parallel.schedule";
  gboolean away = conf_settings_given(making->study->settings, name) && !is_fixed(making, name);
  if (layout->schedule != NULL || away)
    study_point_add(point, name, layout->schedule != NULL ? layout->schedule : "default", 0, 0);
}

static void add_point(const Making *making, const Candidate *layout, const Variant *variant, guint plain) {
  StudyPoint *point = study_point_new(NULL);
  point->base = making->study;
  point->typed = TRUE;
  if (making->topology != NULL)
    study_point_add(point, "cluster.topology", making->topology, 0, 0);
  add_number(point, "cluster.nodes", making->nodes);
  add_number(point, "parallel.zero_stage", layout->stage);
  if (layout->shard_group != NULL)
    study_point_add(point, "parallel.shard_group", layout->shard_group, 0, 0);
  add_number(point, "parallel.tensor", layout->tensor);
  add_number(point, "parallel.context", layout->context);
  add_number(point, "parallel.pipeline", layout->pipeline);
  add_number(point, "parallel.interleave", layout->chunks);
  add_schedule(making, layout, point);
  add_number(point, "training.micro_batch", layout->micro_batch);
  add_number(point, "training.gradient_accumulation", layout->accumulation);
  add_number(point, "training.global_batch", making->base->global_batch);
  if (layout->checkpointing != NULL)
    study_point_add(point, "training.activation_checkpointing", layout->checkpointing, 0, 0);
  if (making->experts > 1)
    add_number(point, "parallel.expert", layout->expert);
  add_no_offload(making, point);
  for (gsize i = 0; variant != NULL && i < G_N_ELEMENTS(variant->settings) && variant->settings[i] != NULL; i += 2)
    study_point_add(point, variant->settings[i], variant->settings[i + 1], 0, 0);
  if (variant != NULL && variant->offloads)
    point->tag = GUINT_TO_POINTER(plain + 1);
  point->number = making->points->len;
  g_ptr_array_add(making->points, point);
}

static void add_variants(const Making *making, const Candidate *layout) {
  guint plain = making->points->len;
  add_point(making, layout, NULL, 0);
  for (gsize i = 0; i < G_N_ELEMENTS(variants); i++)
    if (has_variant(making, &variants[i], layout))
      add_point(making, layout, &variants[i], plain);
}

static void add_checkpointing(const Making *making, Candidate layout) {
  static const char *const all[] = {"none", "selective", "full"};
  const char *name = "training.activation_checkpointing";
  if (is_fixed(making, name)) {
    add_variants(making, &layout);
    return;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
    layout.checkpointing = all[i];
    add_variants(making, &layout);
  }
}

/* The data ranks share out the global batch. */
static void add_micro_batches(const Making *making, Candidate layout) {
  guint64 data = making->gpus / (layout.tensor * layout.context * layout.pipeline);
  if (data == 0 || making->base->global_batch % data != 0)
    return;
  guint64 each = making->base->global_batch / data;
  for (guint64 micro = 1; micro <= MOST_MICRO_BATCH && each % micro == 0; micro *= 2) {
    layout.micro_batch = micro;
    layout.accumulation = each / micro;
    if (allows(making, "training.micro_batch", micro))
      add_checkpointing(making, layout);
  }
}

/* All ranks, and where parameters are sharded those of a node. */
static void add_groups(const Making *making, Candidate layout) {
  gboolean free = !is_fixed(making, "parallel.shard_group");
  layout.shard_group = free ? "all" : NULL;
  add_micro_batches(making, layout);
  if (!free || making->nodes == 1 || layout.stage < 3)
    return;
  layout.shard_group = "node";
  add_micro_batches(making, layout);
}

static void add_stages(const Making *making, Candidate layout) {
  for (layout.stage = 0; layout.stage < STUDY_STAGES; layout.stage++)
    if (allows(making, "parallel.zero_stage", layout.stage))
      add_groups(making, layout);
}

/* Powers of two that divide the experts and the GPUs; one where there are none. */
static void add_experts(const Making *making, Candidate layout) {
  guint64 most = MIN(MAX(making->experts, 1), MOST_EXPERT);
  for (layout.expert = 1; layout.expert <= most; layout.expert *= 2)
    if (MAX(making->experts, 1) % layout.expert == 0 && making->gpus % layout.expert == 0 &&
        allows(making, "parallel.expert", layout.expert))
      add_stages(making, layout);
}

/* The default one of so many chunks of a pipeline rank, and the others that the framework has. */
static void add_schedules(const Making *making, Candidate layout) {
  static const struct {
    LayoutSchedule schedule;
    guint64 least, most; /* chunks */
  } others[] = {{LAYOUT_SCHEDULE_GPIPE, 1, 1}, {LAYOUT_SCHEDULE_ZB_H1, 1, MOST_CHUNKS}, {LAYOUT_SCHEDULE_ZBV, 2, 2}};
  add_experts(making, layout);
  if (layout.pipeline == 1 || is_fixed(making, "parallel.schedule"))
    return;
  for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
    if ((making->schedules >> others[i].schedule & 1) != 0 && layout.chunks >= others[i].least &&
        layout.chunks <= others[i].most) {
      layout.schedule = layout_schedule_names[others[i].schedule];
      add_experts(making, layout);
    }
}

static void add_chunks(const Making *making, Candidate layout) {
  guint64 most = layout.pipeline > 1 ? MOST_CHUNKS : 1;
  for (layout.chunks = 1; layout.chunks <= most; layout.chunks *= 2)
    if (making->layers % (layout.pipeline * layout.chunks) == 0 && allows(making, "parallel.interleave", layout.chunks))
      add_schedules(making, layout);
}

static gboolean divides(const Making *making, const Candidate *layout) {
  return making->gpus % (layout->tensor * layout->context * layout->pipeline) == 0;
}

static void add_pipelines(const Making *making, Candidate layout) {
  for (layout.pipeline = 1; layout.pipeline <= MIN(MOST_PIPELINE, making->layers); layout.pipeline *= 2)
    if (divides(making, &layout) && allows(making, "parallel.pipeline", layout.pipeline))
      add_chunks(making, layout);
}

static void add_contexts(const Making *making, Candidate layout) {
  guint64 most = making->base->sequence_length >= LONG_SEQUENCE ? MOST_CONTEXT : 1;
  if (is_fixed(making, "parallel.context"))
    most = MAX(most, value_of(making, "parallel.context"));
  for (layout.context = 1; layout.context <= most; layout.context *= 2)
    if (allows(making, "parallel.context", layout.context))
      add_pipelines(making, layout);
}

GPtrArray *study_candidates(const Study *study, const RunIdentity *base, const StudySize *size, const char *topology,
                            guint32 nodes, guint32 gpus_per_node) {
  Making making = {.study = study,
                   .base = base,
                   .layers = size->layers,
                   .experts = size->experts,
                   .schedules = plan_framework_schedules(base_names_find(plan_framework_names, base->framework)),
                   .topology = topology,
                   .nodes = nodes,
                   .gpus = nodes * gpus_per_node,
                   .gpus_per_node = gpus_per_node,
                   .points = g_ptr_array_new_with_free_func((GDestroyNotify)study_point_free)};
  for (guint64 tensor = 1; tensor <= gpus_per_node; tensor *= 2)
    if (allows(&making, "parallel.tensor", tensor))
      add_contexts(&making, (Candidate){.tensor = tensor});
  return making.points;
}
