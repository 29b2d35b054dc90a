/* SPDX-License-Identifier: MIT */
/* torchtitan's axes: who shards, who splits matmuls, sequences and layers, and what a micro-batch is then.
 *
 *   ranks = pipeline × data_parallel_replicate × data_parallel_shard × context × tensor
 *
 * A pipeline cuts the local batch into micro-batches of pipeline_parallel_microbatch_size; without one the local batch
 * is the micro-batch. Source: torchtitan/distributed/parallel_dims.py, pipeline_parallel.py and
 * models/llama3/infra/parallelize.py; for 2024 config_manager.py. */
#include "recipe-torchtitan.h"

#include <string.h>

#include "base-names.h"

#define TENSOR   "of tensor parallelism, which is not on"
#define CONTEXT  "of context parallelism, which is not on"
#define PIPELINE "of pipeline parallelism, which is not on"

typedef struct {
  guint64 tensor, context, pipeline; /* degrees, at least 1 */
} Axes;

/* The key of whichever generation's section has it; NULL: none. */
static const ConfTreeNode *find(const RecipeReading *reading, const char *name) {
  static const char *const sections[] = {"parallelism", "training", "experimental", "compile"};
  const ConfTreeNode *found = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(sections) && found == NULL; i++) {
    g_autofree char *path = g_strconcat(sections[i], ".", name, NULL);
    found = conf_tree_given(reading->tree, path);
  }
  return found;
}

static void leave(RecipeReading *reading, const char *name, const char *reason) {
  const ConfTreeNode *node = find(reading, name);
  if (node != NULL)
    recipe_leave(reading, node, reason);
}

/* Of a key; `missing` where there is none, -1 where it is -1. */
static gboolean degree(const RecipeReading *reading, const char *name, gint64 missing, gint64 *ret,
                       const ConfTreeNode **ret_node, GError **error) {
  const ConfTreeNode *node = find(reading, name);
  guint64 value;
  *ret = missing;
  if (node == NULL)
    return TRUE;
  *ret_node = node;
  *ret = -1;
  if (node->text != NULL && strcmp(node->text, "-1") == 0)
    return TRUE;
  if (!conf_tree_count(reading->tree, node, &value, error))
    return FALSE;
  if (value == 0 || value > G_MAXINT32)
    return conf_tree_fail(reading->tree, node, error, "expected -1 or a number from 1 on");
  *ret = (gint64)value;
  return TRUE;
}

static gboolean count(const RecipeReading *reading, const char *name, guint64 missing, guint64 *ret, GError **error) {
  const ConfTreeNode *node = find(reading, name);
  *ret = missing;
  return node == NULL || conf_tree_count(reading->tree, node, ret, error);
}

static gboolean axis(RecipeReading *reading, const char *name, const char *setting, guint64 *ret, GError **error) {
  const ConfTreeNode *node = find(reading, name);
  if (!count(reading, name, 1, ret, error))
    return FALSE;
  if (node != NULL && *ret == 0)
    return conf_tree_fail(reading->tree, node, error, "expected a number from 1 on");
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, *ret);
  return node == NULL || recipe_give(reading, node, setting, text, NULL, error);
}

/* ---- Data ---- */

/* Embedding and head were units of the blocks' parent until 2025-07-28. */
static gboolean give_wrap(RecipeReading *reading, GError **error) {
  gboolean old = recipe_torchtitan_has(reading, "training.batch_size") ||
                 recipe_torchtitan_has(reading, "training.compile") ||
                 recipe_torchtitan_has(reading, "model.norm_type") ||
                 !(recipe_torchtitan_is_late(reading) || recipe_torchtitan_is_python(reading));
  return old ? recipe_give(reading, NULL, "fsdp.wrap", "block", "as until 2025-07-28, by the file's keys", error)
             : recipe_give(reading, NULL, "fsdp.wrap", "ends", "embedding and head are units", error);
}

static gboolean give_framework(RecipeReading *reading, GError **error) {
  return recipe_give(reading, NULL, "parallel.framework", "fsdp2", NULL, error) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "3", "fully_shard", error) && give_wrap(reading, error) &&
         recipe_give(reading, NULL, "training.gradient_communication_dtype", "fp32", "torchtitan's default", error);
}

static gboolean give_unsharded(RecipeReading *reading, const Axes *axes, const ConfTreeNode *node, GError **error) {
  if (axes->tensor > 1 || axes->pipeline > 1)
    return conf_tree_fail(reading->tree, node, error,
                          "shards nothing, and under tensor or pipeline parallelism torchtitan then computes in "
                          "autocast over fp32 parameters, which is not modelled; shard over 2 GPUs or more");
  const ConfTreeNode *offload = conf_tree_given(reading->tree, "training.enable_cpu_offload");
  if (offload != NULL && recipe_is_true(reading, "training.enable_cpu_offload"))
    return conf_tree_fail(reading->tree, offload, error, "offloads what is sharded, and nothing is here");
  return recipe_give(reading, node, "parallel.framework", "ddp", "nothing is sharded", error) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "0", "nothing is sharded", error);
}

/* Which ranks share the parameters: -1 is what replication leaves. Context ranks share them too. */
static gboolean give_sharding(RecipeReading *reading, const Axes *axes, GError **error) {
  gint64 shard, replicate, old;
  guint64 others = axes->tensor * axes->pipeline;
  const ConfTreeNode *shard_node = NULL, *replicate_node = NULL;
  if (!degree(reading, "data_parallel_degree", -1, &old, &shard_node, error) ||
      !degree(reading, "data_parallel_shard_degree", old, &shard, &shard_node, error) ||
      !degree(reading, "data_parallel_replicate_degree", 1, &replicate, &replicate_node, error))
    return FALSE;
  if (replicate < 0)
    return conf_tree_fail(reading->tree, replicate_node, error, "expected a number from 1 on");
  if (shard == 1 && axes->context == 1)
    return give_unsharded(reading, axes, shard_node, error);
  if (shard >= 1 && replicate == 1)
    recipe_give_rule(reading, shard_node, "parallel.shard_group",
                     &(RecipeWait){RECIPE_RULE_ALL_RANKS, (guint64)shard * axes->context, .others = others},
                     "all ranks of the same parameters share one copy");
  g_autofree char *group = g_strdup_printf("%" G_GINT64_FORMAT, shard * (gint64)axes->context);
  if (shard >= 1 && replicate > 1 &&
      !recipe_give(reading, shard_node, "parallel.shard_group", group, "ranks that share one copy", error))
    return FALSE;
  if (shard < 0 && replicate > 1)
    recipe_give_rule(reading, replicate_node, "parallel.shard_group",
                     &(RecipeWait){RECIPE_RULE_SHARE, (guint64)replicate, .others = others},
                     "ranks of the same parameters / data_parallel_replicate_degree");
  return give_framework(reading, error);
}

/* ---- Tensor and context ---- */

static gboolean flag(const RecipeReading *reading, const char *name, gboolean missing, gboolean *ret, GError **error) {
  const ConfTreeNode *node = find(reading, name);
  *ret = missing;
  return node == NULL || conf_tree_flag(reading->tree, node, ret, error);
}

/* enable_loss_parallel until the end of 2024, disable_loss_parallel since. */
static gboolean give_tensor(RecipeReading *reading, const Axes *axes, GError **error) {
  gboolean enabled, disabled, asynchronous;
  static const char *const names[] = {"enable_loss_parallel", "disable_loss_parallel", "enable_async_tensor_parallel"};
  if (axes->tensor == 1) {
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
      leave(reading, names[i], TENSOR);
    return TRUE;
  }
  if (!flag(reading, names[0], TRUE, &enabled, error) || !flag(reading, names[1], FALSE, &disabled, error) ||
      !flag(reading, names[2], FALSE, &asynchronous, error))
    return FALSE;
  const ConfTreeNode *loss = find(reading, names[1]) != NULL ? find(reading, names[1]) : find(reading, names[0]);
  return recipe_give(reading, NULL, "parallel.sequence_parallel", "yes", "SequenceParallel around norms", error) &&
         recipe_give(reading, loss, "fsdp.loss_parallel", enabled && !disabled ? "yes" : "no", NULL, error) &&
         recipe_give(reading, find(reading, names[2]), "fsdp.async_tensor_parallel", asynchronous ? "yes" : "no", NULL,
                     error);
}

static gboolean give_context(RecipeReading *reading, const Axes *axes, GError **error) {
  const ConfTreeNode *node = find(reading, "context_parallel_rotate_method");
  if (axes->context == 1) {
    leave(reading, "context_parallel_rotate_method", CONTEXT);
    return TRUE;
  }
  g_autofree char *method =
      node != NULL && node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("allgather");
  if (strcmp(method, "allgather") != 0 && strcmp(method, "alltoall") != 0)
    return conf_tree_fail(reading->tree, node, error, "expected allgather or alltoall, found \"%s\"", method);
  return recipe_give(reading, node, "fsdp.context_rotate_method", method, NULL, error);
}

/* ---- Pipeline ---- */

static const char *const pipeline_keys[] = {"pipeline_parallel_split_points",
                                            "module_fqns_per_model_part",
                                            "pipeline_parallel_first_stage_less_layers",
                                            "pipeline_parallel_last_stage_less_layers",
                                            "pipeline_parallel_layers_per_stage",
                                            "pipeline_parallel_schedule",
                                            "pipeline_parallel_schedule_csv",
                                            "pipeline_parallel_microbatch_size",
                                            "pipeline_parallel_microbatches",
                                            "pipeline_parallel_split_mode",
                                            NULL};

/* Ours for PyTorch's name of a schedule; NULL: not modelled. `ret_chunks`: of a rank, where nothing says otherwise. */
static const char *schedule_of(const char *name, guint64 *ret_chunks) {
  static const struct {
    const char *theirs, *ours;
    guint64 chunks;
  } rows[] = {{"1f1b", "1f1b", 1},
              {"gpipe", "gpipe", 1},
              {"interleaved1f1b", "interleaved", 2},
              {"interleaved_1f1b", "interleaved", 2},
              {"interleavedzerobubble", "zb-h1", 2},
              {"zbvzerobubble", "zbv", 2}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    if (g_ascii_strcasecmp(rows[i].theirs, name) == 0) {
      *ret_chunks = rows[i].chunks;
      return rows[i].ours;
    }
  return NULL;
}

/* "layers.12" to 12. */
static gboolean layer_of(const char *text, guint64 *ret) {
  return text != NULL && g_str_has_prefix(text, "layers.") &&
         g_ascii_string_to_unsigned(text + strlen("layers."), 10, 0, G_MAXUINT32, ret, NULL);
}

static void add_split(GString *text, guint64 layer) {
  g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, text->len > 0 ? " " : "", layer);
}

/* Layers at which a stage begins, and how many stages that makes. */
static gboolean read_points(RecipeReading *reading, const ConfTreeNode *node, GString *text, guint64 *ret_stages,
                            GError **error) {
  for (guint i = 0;; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", node->path, i);
    const ConfTreeNode *point = conf_tree_find(reading->tree, path);
    guint64 layer;
    *ret_stages = i + 1;
    if (point == NULL)
      return TRUE;
    if (!layer_of(point->text, &layer))
      return conf_tree_fail(reading->tree, point, error, "expected a layer to split before, as \"layers.4\"");
    add_split(text, layer);
  }
}

/* Layers of a part. */
typedef struct {
  guint64 first, last, n;
} Part;

/* FALSE: it has none. */
static gboolean read_part(const RecipeReading *reading, const char *path, Part *ret) {
  *ret = (Part){.first = G_MAXUINT64};
  for (guint i = 0;; i++) {
    g_autofree char *at = g_strdup_printf("%s.%u", path, i);
    const ConfTreeNode *module = conf_tree_find(reading->tree, at);
    guint64 layer;
    if (module == NULL)
      return ret->n > 0;
    if (!layer_of(module->text, &layer))
      continue;
    ret->first = MIN(ret->first, layer);
    ret->last = MAX(ret->last, layer);
    ret->n++;
  }
}

/* A layer that no part lists would be left out of the model: the first of those missing is named. */
static gboolean check_part(const RecipeReading *reading, const ConfTreeNode *node, const Part *part, guint64 next,
                           GError **error) {
  if (part->first == next && part->last - part->first + 1 == part->n)
    return TRUE;
  return conf_tree_fail(reading->tree, node, error,
                        "parts are modelled that hold all layers once, in order: this one has %" G_GUINT64_FORMAT
                        " from layers.%" G_GUINT64_FORMAT " to layers.%" G_GUINT64_FORMAT
                        ", and should go on from layers.%" G_GUINT64_FORMAT,
                        part->n, part->first, part->last, next);
}

static gboolean read_parts(RecipeReading *reading, const ConfTreeNode *node, GString *text, guint64 *ret_stages,
                           GError **error) {
  guint64 next = 0;
  for (guint i = 0;; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", node->path, i);
    const ConfTreeNode *at = conf_tree_find(reading->tree, path);
    Part part;
    *ret_stages = i;
    if (at == NULL) {
      g_string_append_printf(text, " of %" G_GUINT64_FORMAT, next); /* a model of more layers would lose the others */
      return TRUE;
    }
    if (!read_part(reading, path, &part))
      return conf_tree_fail(reading->tree, at, error, "a part without a layer is not modelled");
    if (!check_part(reading, at, &part, next, error))
      return FALSE;
    if (i > 0)
      add_split(text, part.first);
    next = part.last + 1;
  }
}

/* The stages as the file lists them; *ret_stages 0: it does not. */
static gboolean give_listed(RecipeReading *reading, guint64 *ret_stages, GError **error) {
  const ConfTreeNode *parts = find(reading, "module_fqns_per_model_part");
  const ConfTreeNode *points = find(reading, "pipeline_parallel_split_points");
  gboolean has_parts = parts != NULL && parts->kind == CONF_TREE_LIST && !conf_tree_is_empty(reading->tree, parts);
  gboolean has_points = points != NULL && points->kind == CONF_TREE_LIST && !conf_tree_is_empty(reading->tree, points);
  g_autoptr(GString) text = g_string_new(NULL);
  *ret_stages = 0;
  if (has_parts ? !read_parts(reading, parts, text, ret_stages, error)
                : has_points && !read_points(reading, points, text, ret_stages, error))
    return FALSE;
  return !(has_parts || has_points) || recipe_give(reading, has_parts ? parts : points, "fsdp.pipeline_split",
                                                   text->str, "layers at which a stage begins", error);
}

static gboolean give_weight(RecipeReading *reading, const char *name, const char *setting, guint64 *ret,
                            GError **error) {
  const ConfTreeNode *node = find(reading, name);
  if (!count(reading, name, 1, ret, error))
    return FALSE;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, *ret);
  return node == NULL || recipe_give(reading, node, setting, text, "layers that an end counts as", error);
}

/* Chunks of each rank: as listed, as layers_per_stage makes them, or as the schedule has them. */
static gboolean give_chunks(RecipeReading *reading, const Axes *axes, guint64 usual, GError **error) {
  guint64 stages, first, last, per_stage;
  const ConfTreeNode *layers = find(reading, "pipeline_parallel_layers_per_stage");
  if (!give_listed(reading, &stages, error) ||
      !give_weight(reading, "pipeline_parallel_first_stage_less_layers", "fsdp.pipeline_first_stage_less_layers",
                   &first, error) ||
      !give_weight(reading, "pipeline_parallel_last_stage_less_layers", "fsdp.pipeline_last_stage_less_layers", &last,
                   error) ||
      !count(reading, "pipeline_parallel_layers_per_stage", 0, &per_stage, error))
    return FALSE;
  if (stages == 0 && per_stage > 0) {
    recipe_give_rule(reading, layers, "parallel.interleave",
                     &(RecipeWait){RECIPE_RULE_CHUNKS, per_stage, .others = axes->pipeline, .extra = first + last},
                     "chunks that layers_per_stage makes");
    return TRUE;
  }
  if (stages % axes->pipeline != 0)
    return conf_tree_fail(reading->tree, find(reading, "pipeline_parallel_degree"), error,
                          "%" G_GUINT64_FORMAT " stages are listed, which is no multiple of it", stages);
  g_autofree char *chunks = g_strdup_printf("%" G_GUINT64_FORMAT, stages > 0 ? stages / axes->pipeline : usual);
  return recipe_give(reading, NULL, "parallel.interleave", chunks, "chunks of each rank", error);
}

static gboolean give_schedule(RecipeReading *reading, const Axes *axes, GError **error) {
  const ConfTreeNode *node = find(reading, "pipeline_parallel_schedule");
  const ConfTreeNode *csv = find(reading, "pipeline_parallel_schedule_csv");
  guint64 chunks = 1;
  const char *name = node != NULL && node->text != NULL ? node->text : "1F1B";
  const char *schedule = schedule_of(name, &chunks);
  if (csv != NULL && csv->text != NULL && *csv->text != '\0')
    return conf_tree_fail(reading->tree, csv, error, "a schedule in a file is not modelled");
  if (schedule == NULL)
    return conf_tree_fail(
        reading->tree, node, error,
        "\"%s\" is not modelled; 1F1B, GPipe, Interleaved1F1B, InterleavedZeroBubble and ZBVZeroBubble are", name);
  return recipe_give(reading, node, "parallel.schedule", schedule, NULL, error) &&
         give_chunks(reading, axes, chunks, error);
}

/* ---- Batch ---- */

static const ConfTreeNode *local_batch(const RecipeReading *reading) {
  const ConfTreeNode *node = conf_tree_given(reading->tree, "training.local_batch_size");
  return node != NULL ? node : conf_tree_given(reading->tree, "training.batch_size");
}

static gboolean give_count(RecipeReading *reading, const ConfTreeNode *node, const char *setting, guint64 value,
                           const char *remark, GError **error) {
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, value);
  return recipe_give(reading, node, setting, text, remark, error);
}

/* Without global_batch_size, or with -1, a step is one local batch on each GPU: one run through the pipeline. */
static gboolean give_step(RecipeReading *reading, guint64 of_run, GError **error) {
  const ConfTreeNode *all = conf_tree_given(reading->tree, "training.global_batch_size");
  return (all != NULL && g_strcmp0(all->text, "-1") != 0) ||
         give_count(reading, NULL, "training.gradient_accumulation", of_run, "no global_batch_size", error);
}

/* Until 2025 a number of micro-batches, by default one for each stage; since then their size, by default one. */
static gboolean give_micro_batches(RecipeReading *reading, const Axes *axes, guint64 local, GError **error) {
  gboolean old = conf_tree_given(reading->tree, "parallelism") == NULL;
  const ConfTreeNode *node =
      find(reading, old ? "pipeline_parallel_microbatches" : "pipeline_parallel_microbatch_size");
  guint64 size = 1, runs = axes->pipeline;
  if (node != NULL && !conf_tree_count(reading->tree, node, old ? &runs : &size, error))
    return FALSE;
  guint64 parts = old ? runs : size;
  if (parts == 0 || local % parts != 0)
    return conf_tree_fail(reading->tree, node != NULL ? node : local_batch(reading), error,
                          "%" G_GUINT64_FORMAT " does not divide the local batch of %" G_GUINT64_FORMAT, parts, local);
  if (old)
    size = local / runs;
  return give_count(reading, node, "training.micro_batch", size, "sequences per GPU and pass", error) &&
         give_count(reading, local_batch(reading), "fsdp.pipeline_microbatches", local / size,
                    "micro-batches of a run through the pipeline", error) &&
         give_step(reading, local / size, error);
}

static gboolean give_batch(RecipeReading *reading, const Axes *axes, GError **error) {
  const ConfTreeNode *node = local_batch(reading);
  guint64 local = 8; /* its default */
  if (recipe_torchtitan_has(reading, "training.max_context_length") ||
      recipe_torchtitan_has(reading, "training.num_tokens_per_microbatch_per_dp_rank"))
    return recipe_torchtitan_tokens(reading, axes->pipeline > 1, error);
  if (node == NULL && axes->pipeline == 1)
    return TRUE;
  if (node != NULL && !conf_tree_count(reading->tree, node, &local, error))
    return FALSE;
  return axes->pipeline == 1 ? give_count(reading, node, "training.micro_batch", local, "sequences per GPU", error)
                             : give_micro_batches(reading, axes, local, error);
}

static gboolean give_pipeline(RecipeReading *reading, const Axes *axes, GError **error) {
  if (axes->pipeline > 1)
    return give_schedule(reading, axes, error);
  for (const char *const *name = pipeline_keys; *name != NULL; name++)
    leave(reading, *name, PIPELINE);
  return TRUE;
}

gboolean recipe_torchtitan_axes(RecipeReading *reading, GError **error) {
  Axes axes;
  return axis(reading, "tensor_parallel_degree", "parallel.tensor", &axes.tensor, error) &&
         axis(reading, "context_parallel_degree", "parallel.context", &axes.context, error) &&
         axis(reading, "pipeline_parallel_degree", "parallel.pipeline", &axes.pipeline, error) &&
         give_sharding(reading, &axes, error) && give_tensor(reading, &axes, error) &&
         give_context(reading, &axes, error) && give_pipeline(reading, &axes, error) &&
         give_batch(reading, &axes, error);
}
