/* SPDX-License-Identifier: MIT */
/* The file that `accelerate launch --config_file` reads (accelerate 1.x).
 *
 * Source: accelerate/commands/config/config_args.py, which refuses keys that it does not know, and commands/launch.py.
 * num_machines × GPUs per machine = num_processes. Of DeepSpeed it has its own short names, or the name of a
 * ds_config.json, which is then read as if it stood here. What FSDP does where nothing is said: utils/dataclasses.py,
 * FullyShardedDataParallelPlugin (no wrapping, and no prefetch in backward, since 2022). */
#include <string.h>

#include "recipe-fsdp.h"
#include "recipe-rows.h"

#define DS "deepspeed_config."
#define LM "megatron_lm_config.megatron_lm_"

static gboolean take_processes(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 processes, machines = 1;
  const ConfTreeNode *count = conf_tree_given(reading->tree, "num_machines");
  if (!conf_tree_count(reading->tree, node, &processes, error) ||
      (count != NULL && !conf_tree_count(reading->tree, count, &machines, error)))
    return FALSE;
  if (machines == 0 || processes == 0 || processes % machines != 0)
    return conf_tree_fail(reading->tree, node, error,
                          "%" G_GUINT64_FORMAT " processes are not the same number on each of %" G_GUINT64_FORMAT
                          " machines (num_processes is that of all machines)",
                          processes, machines);
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, processes / machines);
  return recipe_give(reading, node, row->setting, text, "num_processes / num_machines", error);
}

static gboolean take_kind(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const plain[] = {"MULTI_GPU", "NO", NULL};
  g_autofree char *kind = node->text != NULL ? g_ascii_strup(node->text, -1) : g_strdup("");
  static const char *const grouped[] = {"FSDP", "DEEPSPEED", "MEGATRON_LM", NULL};
  if (g_strv_contains(grouped, kind))
    return TRUE; /* their groups speak */
  if (!g_strv_contains(plain, kind) && node->kind != CONF_TREE_FLAG)
    return conf_tree_fail(reading->tree, node, error,
                          "\"%s\" is not modelled; FSDP, DEEPSPEED, MEGATRON_LM, MULTI_GPU and NO are", kind);
  return recipe_give(reading, node, row->setting, "ddp", "one copy of the model on each GPU", error);
}

static gboolean take_device(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *device = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  g_autofree char *stage = recipe_text(reading, DS "zero_stage");
  gboolean off = strcmp(device, "none") == 0;
  if (!off && strcmp(row->setting, "parallel.offload_parameters") == 0 && strcmp(stage, "3") != 0) {
    recipe_leave(reading, node, "DeepSpeed offloads parameters at stage 3 only");
    return TRUE;
  }
  return recipe_give(reading, node, row->setting, off ? "no" : device, NULL, error);
}

/* TorchDynamo's backend. */
static gboolean take_dynamo(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  const char *name = node->text != NULL ? node->text : "";
  gboolean off = g_ascii_strcasecmp(name, "no") == 0 || g_ascii_strcasecmp(name, "none") == 0 ||
                 g_ascii_strcasecmp(name, "false") == 0;
  if (!off && g_ascii_strcasecmp(name, "inductor") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; inductor and no are", name);
  return recipe_give(reading, node, row->setting, off ? "no" : "yes", "torch.compile", error);
}

/* Of Megatron-LM: core attention, --recompute-activations. */
static gboolean take_recompute(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "selective", "none", NULL, error);
}

static gboolean take_distributed(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                 GError **error) {
  return recipe_give_flag(reading, node, row->setting, "1", "0", "the distributed optimizer", error);
}

#define LAUNCHING "of the launcher"
#define TPU       "of TPUs"

static const RecipeRow rows[] = {
    TAKE("distributed_type", "parallel.framework", take_kind, NULL),
    TAKE("mixed_precision", "training.precision", recipe_take_precision, NULL),
    TAKE("fp16", NULL, recipe_take_later, NULL),
    TAKE("num_machines", "cluster.nodes", recipe_take_count, "machines"),
    TAKE("num_processes", "cluster.gpus_per_node", take_processes, NULL),
    TAKE("gradient_accumulation_steps", "training.gradient_accumulation", recipe_take_batch, "micro-batches per step"),
    REFUSE("compute_environment", "LOCAL_MACHINE|0", "Amazon SageMaker's files; write LOCAL_MACHINE"),
    REFUSE("use_cpu", "false|no", "training on processors"),
    TAKE("dynamo_backend", "training.compile", take_dynamo, NULL),
    TAKE("dynamo_config.dynamo_backend", "training.compile", take_dynamo, NULL),
    REFUSE("dynamo_config.dynamo_mode", "default", "CUDA graphs and tuned matmuls; say default"),
    SAFE("dynamo_config.dynamo_use_dynamic", "of shapes that change"),
    SAFE("dynamo_config.dynamo_use_fullgraph", "a check"),
    SAFE("dynamo_config.dynamo_use_regional_compilation", "how long compilation takes"),
    REFUSE("fp8_config.*", NULL,
           "fp8 by these keys; leave the block out; the workload's training.precision = fp8 is torchao's"),
    REFUSE("tp_config.*", NULL, "tensor parallelism"),
    REFUSE("parallelism_config.*", NULL, "parallelism beyond data parallel; leave the block out"),
    REFUSE("ipex_config.*", NULL, "training on processors"),
    SAFE("mpirun_config.*", LAUNCHING),
    SAFE("machine_rank", LAUNCHING),
    SAFE("main_process_ip", LAUNCHING),
    SAFE("main_process_port", LAUNCHING),
    SAFE("main_training_function", LAUNCHING),
    SAFE("rdzv_backend", LAUNCHING),
    SAFE("same_network", LAUNCHING),
    SAFE("gpu_ids", LAUNCHING),
    SAFE("commands", LAUNCHING),
    SAFE("command_file", LAUNCHING),
    SAFE("enable_cpu_affinity", LAUNCHING),
    SAFE("debug", "checks of the shapes that are communicated"),
    SAFE("downcast_bf16", TPU),
    SAFE("tpu_name", TPU),
    SAFE("tpu_zone", TPU),
    SAFE("tpu_env", TPU),
    SAFE("tpu_vm", TPU),
    SAFE("tpu_use_cluster", TPU),
    SAFE("tpu_use_sudo", TPU),

    TAKE(DS "deepspeed_config_file", NULL, recipe_take_deepspeed, NULL),
    TAKE(DS "zero_stage", "parallel.zero_stage", recipe_take_count, NULL),
    TAKE(DS "gradient_accumulation_steps", "training.gradient_accumulation", recipe_take_batch,
         "micro-batches per step"),
    TAKE(DS "offload_optimizer_device", "parallel.offload_optimizer", take_device, NULL),
    TAKE(DS "offload_param_device", "parallel.offload_parameters", take_device, NULL),
    SAFE(DS "offload_optimizer_nvme_path", "of NVMe, which matters only with offload to it"),
    SAFE(DS "offload_param_nvme_path", "of NVMe, which matters only with offload to it"),
    TAKE(DS "gradient_clipping", "training.gradient_clipping", recipe_take_clipping, NULL),
    SAFE(DS "zero3_init_flag", "of the start, before the first step"),
    SAFE(DS "zero3_save_16bit_model", LOADING),
    SAFE(DS "deepspeed_multinode_launcher", LAUNCHING),
    SAFE(DS "deepspeed_hostfile", LAUNCHING),
    SAFE(DS "deepspeed_inclusion_filter", LAUNCHING),
    SAFE(DS "deepspeed_exclusion_filter", LAUNCHING),
    SAFE(DS "deepspeed_moe_layer_cls_names", "of mixtures of experts"),

    TAKE(LM "tp_degree", "parallel.tensor", recipe_take_count, NULL),
    TAKE(LM "pp_degree", "parallel.pipeline", recipe_take_count, NULL),
    TAKE(LM "num_micro_batches", "training.gradient_accumulation", recipe_take_count, "micro-batches per step"),
    TAKE(LM "gradient_clipping", "training.gradient_clipping", recipe_take_clipping, NULL),
    TAKE(LM "recompute_activations", "training.activation_checkpointing", take_recompute, NULL),
    TAKE(LM "sequence_parallelism", "parallel.sequence_parallel", recipe_take_flag, NULL),
    TAKE(LM "use_distributed_optimizer", "parallel.zero_stage", take_distributed, NULL),
};

/* Of a DeepSpeed file the precision is that file's. Source: commands/launch.py (_validate_launch_command), where a
 * config without mixed_precision becomes "no". */
static gboolean give_precision(RecipeReading *reading, GError **error) {
  const ConfTreeNode *half = conf_tree_given(reading->tree, "fp16");
  if (conf_tree_given(reading->tree, "mixed_precision") != NULL ||
      conf_tree_given(reading->tree, DS "deepspeed_config_file") != NULL)
    return TRUE;
  if (half != NULL && recipe_is_true(reading, "fp16"))
    return recipe_give(reading, half, "training.precision", "fp16", "the old name of mixed_precision", error);
  return recipe_give(reading, NULL, "training.precision", "fp32",
                     "no mixed_precision, which accelerate takes as \"no\"", error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  g_autofree char *kind = recipe_text(reading, "distributed_type");
  if (!give_precision(reading, error))
    return FALSE;
  if (strcmp(kind, "megatron_lm") == 0)
    return recipe_give(reading, NULL, "parallel.framework", "megatron", NULL, error);
  if (strcmp(kind, "fsdp") == 0)
    return recipe_fsdp_finish(reading, "none", "none", error);
  if (strcmp(kind, "deepspeed") != 0)
    return TRUE;
  return recipe_give(reading, NULL, "parallel.framework", "deepspeed", NULL, error) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "2", "accelerate's default", error);
}

static const char *const marks[] = {"distributed_type", "compute_environment", NULL};
const RecipeTable recipe_accelerate = {.tool = "accelerate",
                                       .marks = marks,
                                       .rows = {rows, G_N_ELEMENTS(rows)},
                                       .shared = &recipe_fsdp_rows,
                                       .normal = recipe_fsdp_normal,
                                       .finish = finish};
