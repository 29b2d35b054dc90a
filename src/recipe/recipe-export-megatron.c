/* SPDX-License-Identifier: MIT */
/* Arguments of Megatron-LM from our settings; as recipe-megatron.c reads them. */
#include <string.h>

#include "recipe-export-tool.h"

static const struct {
  const char *option, *setting;
} values[] = {
    {"--num-layers", "model.layers"},
    {"--mtp-num-layers", "model.mtp_layers"},
    {"--hidden-size", "model.hidden_size"},
    {"--ffn-hidden-size", "model.intermediate_size"},
    {"--num-attention-heads", "model.heads"},
    {"--kv-channels", "model.head_dim"},
    {"--max-position-embeddings", "model.max_positions"},
    {"--vocab-size", "model.vocab_size"},
    {"--seq-length", "training.sequence_length"},
    {"--micro-batch-size", "training.micro_batch"},
    {"--tensor-model-parallel-size", "parallel.tensor"},
    {"--pipeline-model-parallel-size", "parallel.pipeline"},
    {"--num-virtual-stages-per-pipeline-rank", "parallel.interleave"},
    {"--context-parallel-size", "parallel.context"},
    {"--expert-model-parallel-size", "parallel.expert"},
    {"--expert-tensor-parallel-size", "parallel.expert_tensor"},
    {"--moe-token-dispatcher-type", "megatron.moe_token_dispatcher_type"},
    {"--moe-expert-capacity-factor", "training.expert_capacity"},
    {"--make-vocab-size-divisible-by", "megatron.make_vocab_size_divisible_by"},
    {"--ddp-bucket-size", "megatron.bucket_size"},
    {"--microbatch-group-size-per-virtual-pipeline-stage", "megatron.microbatch_group_size_per_virtual_pipeline_stage"},
    {"--decoder-first-pipeline-num-layers", "megatron.decoder_first_pipeline_num_layers"},
    {"--decoder-last-pipeline-num-layers", "megatron.decoder_last_pipeline_num_layers"},
};

/* Switches: there where the setting has this value. */
static const struct {
  const char *option, *setting, *value;
} switches[] = {
    {"--untie-embeddings-and-output-weights", "model.tied_embeddings", "no"},
    {"--bf16", "training.precision", "bf16"},
    {"--bf16", "training.precision", "fp8"},
    {"--fp8-param-gather", "megatron.fp8_param_gather", "yes"},
    {"--moe-router-padding-for-fp8", "megatron.moe_router_padding_for_fp8", "yes"},
    {"--fp16", "training.precision", "fp16"},
    {"--accumulate-allreduce-grads-in-fp32", "training.gradient_accumulation_dtype", "fp32"},
    {"--grad-reduce-in-bf16", "training.gradient_accumulation_dtype", "bf16"},
    {"--use-flash-attn", "training.attention", "flash"},
    {"--sequence-parallel", "parallel.sequence_parallel", "yes"},
    {"--use-tp-pp-dp-mapping", "parallel.rank_order", "tp-cp-ep-pp-dp"},
    {"--use-distributed-optimizer", "parallel.zero_stage", "1"},
    {"--overlap-grad-reduce", "megatron.overlap_grad_reduce", "yes"},
    {"--overlap-param-gather", "megatron.overlap_param_gather", "yes"},
    {"--no-align-grad-reduce", "megatron.align_grad_reduce", "no"},
    {"--no-align-param-gather", "megatron.align_param_gather", "no"},
    {"--ddp-pad-buckets-for-high-nccl-busbw", "megatron.pad_buckets_for_high_nccl_busbw", "yes"},
    {"--ddp-average-in-collective", "megatron.ddp_average_in_collective", "yes"},
    {"--no-gradient-accumulation-fusion", "megatron.gradient_accumulation_fusion", "no"},
    {"--no-check-for-nan-in-loss-and-grad", "megatron.check_for_nan_in_grad", "no"},
    {"--tp-comm-overlap", "megatron.tp_comm_overlap", "yes"},
    {"--no-overlap-p2p-communication", "megatron.overlap_p2p_communication", "no"},
    {"--account-for-embedding-in-pipeline-split", "megatron.account_for_embedding_in_pipeline_split", "yes"},
    {"--account-for-loss-in-pipeline-split", "megatron.account_for_loss_in_pipeline_split", "yes"},
    {"--distribute-saved-activations", "megatron.distribute_saved_activations", "yes"},
};

static void say_launcher(const RecipeExport *what, RecipeOut *out) {
  g_autofree char *gpus = g_strdup_printf("%" G_GUINT64_FORMAT, what->gpus_per_node);
  g_autofree char *nodes = g_strdup_printf("%" G_GUINT64_FORMAT " pretrain_gpt.py", what->nodes);
  recipe_out_say(out, "--nproc_per_node", gpus);
  recipe_out_say(out, "--nnodes", nodes);
}

static void say_family(RecipeOut *out) {
  guint64 heads = recipe_out_count(out, "model.heads"), groups = recipe_out_count(out, "model.kv_heads");
  if (recipe_out_is(out, "model.family", "llama") || recipe_out_is(out, "model.family", "mistral")) {
    recipe_out_say(out, "--swiglu", "true");
    recipe_out_say(out, "--normalization", "RMSNorm");
    recipe_out_say(out, "--position-embedding-type", "rope");
    recipe_out_say(out, "--disable-bias-linear", "true");
  }
  if (groups == heads || groups == 0)
    return;
  recipe_out_say(out, "--group-query-attention", "true");
  recipe_out_given(out, "--num-query-groups", "model.kv_heads");
}

/* The batch of all ranks, by their number where it is not said. */
static void say_batch(const RecipeExport *what, RecipeOut *out) {
  guint64 split = MAX(recipe_out_count(out, "parallel.tensor"), 1) *
                  MAX(recipe_out_count(out, "parallel.pipeline"), 1) *
                  MAX(recipe_out_count(out, "parallel.context"), 1);
  guint64 batch = recipe_out_count(out, "training.global_batch");
  if (batch == 0)
    batch = recipe_out_count(out, "training.micro_batch") *
            MAX(recipe_out_count(out, "training.gradient_accumulation"), 1) * (what->facts.ranks / split);
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, batch);
  if (batch > 0)
    recipe_out_say(out, "--global-batch-size", text);
}

static void say_recompute(RecipeOut *out) {
  if (recipe_out_is(out, "training.activation_checkpointing", "selective"))
    recipe_out_say(out, "--recompute-activations", "true");
  if (!recipe_out_is(out, "training.activation_checkpointing", "full"))
    return;
  recipe_out_say(out, "--recompute-granularity", "full");
  recipe_out_say(out, "--recompute-method", "uniform");
  recipe_out_say(out, "--recompute-num-layers", "1");
}

static void say_fp8(RecipeOut *out) {
  const char *scaling = conf_settings_get(out->settings, "training.fp8_scaling");
  if (!recipe_out_is(out, "training.precision", "fp8"))
    return;
  recipe_out_say(out, "--fp8-format", "hybrid");
  if (scaling != NULL && strcmp(scaling, "default") != 0)
    recipe_out_say(out, "--fp8-recipe", scaling);
}

static void say_rest(RecipeOut *out) {
  static const char *const ours[] = {"p2p", "all-gather", "all-to-all"}, *const theirs[] = {"p2p", "allgather", "a2a"};
  const char *dropout = conf_settings_get(out->settings, "training.dropout");
  const char *clipping = conf_settings_get(out->settings, "training.gradient_clipping");
  gboolean drops = dropout != NULL && strcmp(dropout, "0") != 0;
  recipe_out_say(out, "--attention-dropout", drops ? dropout : "0.0");
  recipe_out_say(out, "--hidden-dropout", drops ? dropout : "0.0");
  if (clipping != NULL && conf_settings_given(out->settings, "training.gradient_clipping"))
    recipe_out_say(out, "--clip-grad", clipping);
  if (recipe_out_is(out, "training.attention", "eager"))
    recipe_out_say(out, "--attention-backend", "unfused");
  if (recipe_out_is(out, "training.optimizer", "sgd"))
    recipe_out_say(out, "--optimizer", "sgd");
  if (recipe_out_is(out, "training.loss", "fused")) {
    recipe_out_say(out, "--cross-entropy-loss-fusion", "true");
    recipe_out_say(out, "--cross-entropy-fusion-impl", "te");
  }
  for (gsize i = 0; i < G_N_ELEMENTS(ours); i++)
    if (conf_settings_given(out->settings, "megatron.cp_comm_type") &&
        recipe_out_is(out, "megatron.cp_comm_type", ours[i]))
      recipe_out_say(out, "--cp-comm-type", theirs[i]);
}

void recipe_export_megatron(const RecipeExport *what, RecipeOut *out) {
  say_launcher(what, out);
  for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
    recipe_out_given(out, values[i].option, values[i].setting);
  say_family(out);
  for (gsize i = 0; i < G_N_ELEMENTS(switches); i++)
    if (recipe_out_is(out, switches[i].setting, switches[i].value))
      recipe_out_say(out, switches[i].option, "true");
  say_fp8(out);
  say_batch(what, out);
  say_recompute(out);
  say_rest(out);
}
