/* SPDX-License-Identifier: MIT */
/* What FSDP, Megatron and nanotron cannot do, or what two keys contradict each other about, is an error at the key. */
#include "harness.h"
#include "study.h"

typedef struct {
  const char *framework;
  const char *sets[8];  /* one of them is at fault; NULL-terminated */
  const char *fragment; /* of the message; NULL: it is taken */
} Refusal;

/* Stage 3 before 0.6; deepspeed/runtime has quantisation and hpZ since 0.10.0, MiCS since 0.9.2, fetches by all-reduce
 * since 0.14.3. */
#define OLD_STAGE_3 "parallel.framework_version=0.5.10", "parallel.zero_stage=3"

#define MIXED "model.family=mixtral", "model.experts=8", "model.experts_per_token=2"
#define IN_TWO_PASSES                                                                                                  \
  "model.layers=8", "parallel.pipeline=2", "parallel.schedule=zbv", "training.activation_checkpointing=none"

static const Refusal refusals[] = {
    {"fsdp1", {"parallel.zero_stage=1", NULL}, "FSDP has no stage 1"},
    {"fsdp2", {"parallel.zero_stage=0", NULL}, "fully_shard has no stage 0"},
    {"fsdp1", {"parallel.zero_stage=0", "parallel.shard_group=node", NULL}, "stage 0 shards nothing"},
    {"fsdp1", {"parallel.shard_group=3", NULL}, "parallel.shard_group"},
    {"fsdp1", {"parallel.shard_group=7", NULL}, "7 does not divide the 16 GPUs; the nearest that does is 8"},
    {"deepspeed", {"deepspeed.mics_shard_size=6", NULL}, "6 does not divide the 16 GPUs; the nearest that does is 4"},
    {"deepspeed",
     {"deepspeed.zero_hpz_partition_size=40", NULL},
     "40 does not divide the 16 GPUs; the nearest that does is 16"},
    {"fsdp1", {"training.global_batch=65", NULL}, "64 or 80 are multiples of what a micro-batch takes"},
    {"fsdp1", {"fsdp.wrap=blocks", NULL}, "is not block, ends, none or size:N"},
    {"fsdp1", {"fsdp.wrap=size:1e8", NULL}, NULL},
    {"fsdp2", {"fsdp.wrap=size:1e8", "training.activation_checkpointing=none", NULL}, NULL},
    {"fsdp2",
     {"fsdp.wrap=size:1e8", "training.activation_checkpointing=full", NULL},
     "checkpointing around fully_shard"},
    {"fsdp1", {"fsdp.wrap=size:1.5e8", NULL}, NULL},
    {"fsdp1", {"fsdp.wrap=size:0.5", NULL}, "is not block, ends, none or size:N"},
    {"fsdp1", {"fsdp.wrap=ends", "model.tied_embeddings=yes", NULL}, "must be in one unit, and ends makes two"},
    {"fsdp1", {"fsdp.wrap=size:1e8", "model.tied_embeddings=yes"}, "must be in one unit, and size:N makes two"},
    {"fsdp1", {"fsdp.reshard_after_forward=8", NULL}, "framework = fsdp2"},
    {"fsdp2", {"fsdp.reshard_after_forward=8", NULL}, NULL},
    {"fsdp2", {"fsdp.reshard_after_forward=3", NULL}, "divides the 16 GPUs"},
    {"fsdp2", {"fsdp.reshard_after_forward=1", NULL}, "a shard over 1 GPU is no shard"},
    {"fsdp2", {"parallel.zero_stage=2", "fsdp.reshard_after_forward=yes", NULL}, "contradicts zero_stage 2"},
    {"fsdp2", {"fsdp.reshard_after_forward=no", NULL}, "contradicts zero_stage 3"},
    {"fsdp2", {"fsdp.limit_all_gathers=no", NULL}, "fully_shard has no rate limiter"},
    {"fsdp2", {"fsdp.use_orig_params=yes", NULL}, "fully_shard always has its own parameters"},
    {"fsdp2", {"fsdp.backward_prefetch=post", NULL}, "fully_shard always prefetches"},
    {"fsdp2", {"fsdp.forward_prefetch=3", NULL}, NULL},
    {"fsdp1", {"fsdp.forward_prefetch=3", NULL}, "fsdp1 prefetches one unit"},
    {"fsdp2", {"fsdp.param_dtype=fp32", NULL}, "autocast over fp32"},
    {"fsdp2", {"fsdp.orig_dtype=bf16", "training.precision=fp32", NULL}, "is narrower than"},
    {"fsdp2", {"fsdp.buffer_dtype=fp32", NULL}, "fsdp.buffer_dtype"},
    {"fsdp2", {"training.gradient_communication_dtype=fp32", "fsdp.reduce_dtype=bf16", NULL}, "contradicts"},
    {"fsdp2", {"training.gradient_accumulation_dtype=bf16", NULL}, "set fsdp.orig_dtype"},
    {"fsdp1", {"training.gradient_accumulation=2", "fsdp.cpu_offload=yes", NULL}, "sync_every_micro_batch=no"},
    {"fsdp1", {"parallel.zero_stage=0", "fsdp.cpu_offload=yes", NULL}, "not sharded"},
    {"fsdp1", {"fsdp.use_orig_params=no", "training.trainable=lora:8", NULL}, "set fsdp.use_orig_params=yes"},
    {"fsdp1", {"fsdp.use_orig_params=no", "training.trainable=1, head", NULL}, "set fsdp.use_orig_params=yes"},
    {"fsdp1", {"fsdp.use_orig_params=no", "training.trainable=1", NULL}, NULL},
    {"fsdp1", {"training.trainable=lora:8", NULL}, NULL},
    {"fsdp2", {"training.trainable=lora:8:qkv_proj", NULL}, "no layer of this family"},
    {"fsdp2", {"training.base_weights=nf4", NULL}, "training.trainable = lora:16"},
    {"fsdp2", {"training.base_weights=gptq", NULL}, "gptq"},
    {"fsdp2", {"training.lora_dropout=0.05", NULL}, "there are no adapters"},
    {"fsdp2", {"training.lora_dropout=0.05", "training.trainable=28-31", NULL}, "there are no adapters"},
    {"fsdp2", {"training.lora_dropout=0.05", "training.trainable=lora:8", NULL}, NULL},
    {"fsdp2", {"training.trainable=lora:8", "training.base_weights=int8", NULL}, "cannot be sharded"},
    {"fsdp2", {"training.trainable=lora:8", "training.base_weights=nf4", NULL}, NULL},
    {"fsdp2", {"training.trainable=lora:8", "training.base_weights=nf4", "fsdp.orig_dtype=fp32", NULL}, "leave it out"},
    {"nanotron", {"training.trainable=lora:8", "training.base_weights=nf4", NULL}, "no weights in few bits"},
    {"fsdp2", {"training.loss=cut", "parallel.tensor=2", NULL}, "over tensor ranks"},
    {"paper", {"parallel.distributed_debug=detail", NULL}, "no host that could wait"},
    {"fsdp2", {"parallel.distributed_debug=info", NULL}, "expected one of off, detail"},
    {"fsdp2", {"parallel.distributed_debug=detail", NULL}, NULL},
    {"fsdp2", {"training.loss=cut", NULL}, NULL},
    {"nanotron", {"parallel.zero_stage=1", "training.loss=cut", NULL}, "no loss without all logits"},
    {"fsdp2", {"training.loss=fused-linear", "training.trainable=0", NULL}, "above a head that is frozen"},
    {"fsdp2", {"training.loss=chunked", "training.loss_metrics=2", NULL}, "which this loss never makes"},
    {"fsdp1", {"training.use_cache=yes", NULL}, NULL},
    {"fsdp2", {"training.use_cache=yes", "parallel.tensor=2", NULL}, "along data ranks alone"},
    {"megatron", {"parallel.zero_stage=1", "training.use_cache=yes", NULL}, "models of its own"},
    {"fsdp1", {"fsdp.checkpoint_outside=yes", NULL}, NULL},
    {"fsdp1", {"training.activation_checkpointing=attention", "fsdp.checkpoint_outside=yes", NULL}, "no whole block"},
    {"fsdp1", {"fsdp.wrap=none", "fsdp.checkpoint_outside=yes", NULL}, "blocks are no units"},
    {"fsdp2", {"fsdp.checkpoint_outside=yes", NULL}, "around fully_shard"},
    {"fsdp1", {"fsdp.checkpoint_outside=yes", "training.checkpoint_early_stop=no", NULL}, NULL},
    {"fsdp1", {"fsdp.checkpoint_outside=yes", "training.checkpoint_early_stop=yes", NULL}, "is not modelled"},
    {"deepspeed", {"training.checkpoint_early_stop=yes", NULL}, NULL},
    {"deepspeed",
     {OLD_STAGE_3, "deepspeed.zero_quantized_weights=yes", NULL},
     "zero_quantized_weights: came with DeepSpeed 0.10.0"},
    {"deepspeed", {OLD_STAGE_3, "deepspeed.zero_quantized_weights=no", NULL}, NULL},
    {"deepspeed",
     {OLD_STAGE_3, "deepspeed.zero_quantized_gradients=yes", NULL},
     "zero_quantized_gradients: came with DeepSpeed 0.10.0"},
    {"deepspeed",
     {OLD_STAGE_3, "deepspeed.zero_hpz_partition_size=8", NULL},
     "zero_hpz_partition_size: came with DeepSpeed 0.10.0"},
    {"deepspeed", {OLD_STAGE_3, "deepspeed.zero_hpz_partition_size=1", NULL}, NULL},
    {"deepspeed", {OLD_STAGE_3, "deepspeed.mics_shard_size=8", NULL}, "mics_shard_size: came with DeepSpeed 0.9.2"},
    {"deepspeed", {OLD_STAGE_3, "parallel.shard_group=8", NULL}, "shard_group: came with DeepSpeed 0.9.2, as MiCS"},
    {"deepspeed",
     {OLD_STAGE_3, "deepspeed.stage3_use_all_reduce_for_fetch_params=yes", NULL},
     "fetch_params: came with DeepSpeed 0.14.3"},
    {"deepspeed",
     {"parallel.framework_version=0.6", "parallel.zero_stage=3", "deepspeed.mics_shard_size=8", NULL},
     NULL},
    {"megatron", {"parallel.zero_stage=1", "training.checkpoint_early_stop=yes", NULL}, "own checkpoint function"},
    {"fsdp1", {"parallel.framework_version=2.0", "training.checkpoint_early_stop=yes", NULL}, "from 2.1 on"},
    {"paper", {"training.attention_waits=yes", NULL}, "no host that could wait"},
    {"fsdp1", {"parallel.framework_version=1.13", NULL}, NULL},
    {"fsdp1", {"parallel.framework_version=2.0", NULL}, NULL},
    {"fsdp2", {"parallel.framework_version=2.4", NULL}, NULL},
    {"fsdp2", {"parallel.framework_version=2.10", NULL}, "PyTorch 2.6 to 2.9"},
    {"fsdp2", {"fsdp.float8_all_gather=yes", NULL}, "set training.precision=fp8"},
    {"fsdp2", {"fsdp.float8_all_gather=yes", "training.precision=fp8", NULL}, NULL},
    {"fsdp2",
     {"fsdp.float8_all_gather=yes", "training.precision=fp8", "fsdp.cpu_offload=yes", NULL},
     "with cpu_offload"},
    {"fsdp1", {"fsdp.float8_all_gather=yes", "training.precision=fp8", NULL}, "framework = fsdp2"},
    {"fsdp1", {"training.precision=fp8", "training.trainable=lora:8", NULL}, "no tool runs them under fsdp1"},
    {"megatron", {"parallel.zero_stage=1", "training.precision=fp8", "training.trainable=lora:8"}, NULL},
    {"megatron", {"parallel.zero_stage=1", "training.precision=fp8", NULL}, NULL},
    {"megatron", {"training.precision=fp8", "training.fp8_scaling=rowwise", NULL}, "rowwise is torchao's"},
    {"megatron",
     {"parallel.zero_stage=0", "training.precision=fp8", "megatron.fp8_param_gather=yes"},
     "zero_stage = 1"},
    {"megatron", {"parallel.zero_stage=1", "megatron.fp8_param_gather=yes", NULL}, "training.precision=fp8"},
    {"megatron", {"parallel.zero_stage=1", "megatron.moe_router_padding_for_fp8=yes", NULL}, "training.precision=fp8"},
    {"fsdp2", {"training.precision=fp8", "training.fp8_scaling=delayed", NULL}, "of framework megatron"},
    {"fsdp2", {"training.precision=fp8", "training.fp8_scaling=rowwise", NULL}, "training.compile=yes"},
    {"fsdp2", {"training.precision=fp8", "training.fp8_scaling=rowwise", "training.compile=yes", NULL}, NULL},
    {"fsdp2", {"training.fp8_scaling=tensorwise", NULL}, "training.precision=fp8"},
    {"megatron",
     {"parallel.zero_stage=1", "training.precision=fp8", "training.fp8_scaling=mxfp8", NULL},
     "mxfp8 needs a GPU of compute capability 10.0 (Blackwell); this one has 9.0"},
    {"fsdp2", {"training.optimizer=muon", NULL}, NULL},
    {"fsdp1", {"training.optimizer=muon", NULL}, "under ddp and fsdp2"},
    {"megatron", {"parallel.zero_stage=1", "training.optimizer=adafactor", NULL}, "under ddp and fsdp2"},
    {"fsdp2", {"parallel.tensor=2", "training.optimizer=muon", NULL}, "over other axes than data"},
    {"megatron", {"parallel.zero_stage=2", NULL}, "Megatron-FSDP (2 and 3)"},
    {"megatron", {"parallel.zero_stage=1", "megatron.overlap_param_gather=yes", NULL}, "it needs the distributed"},
    {"megatron", {"parallel.zero_stage=1", "megatron.bucket_size=1e6", NULL}, "without overlap_grad_reduce"},
    {"megatron", {"parallel.zero_stage=0", "parallel.shard_group=node", NULL}, "parallel.shard_group"},
    {"megatron", {"parallel.zero_stage=0", "megatron.pad_buckets_for_high_nccl_busbw=yes", NULL}, "it needs the"},
    {"megatron",
     {"parallel.zero_stage=1", "training.gradient_communication_dtype=bf16", NULL},
     "set gradient_accumulation_dtype"},
    {"megatron", {"parallel.zero_stage=1", "megatron.tp_comm_overlap=yes", NULL}, "over tensor ranks"},
    {"nanotron", {"parallel.zero_stage=3", NULL}, "nanotron shards the optimizer"},
    {"nanotron", {"parallel.zero_stage=1", "training.gradient_accumulation_dtype=bf16", NULL}, "in fp32"},
    {"deepspeed",
     {"parallel.framework_version=0.12.3", "deepspeed.use_multi_rank_bucket_allreduce=yes"},
     "came with DeepSpeed 0.12.4"},
    {"deepspeed", {"parallel.framework_version=0.12.4", "deepspeed.use_multi_rank_bucket_allreduce=yes"}, NULL},
    {"deepspeed",
     {"training.trainable=lora:8", "training.base_weights=nf4", "deepspeed.zero_quantized_weights=yes"},
     "in 4 bits already"},
    {"deepspeed", {"parallel.shard_group=8", "deepspeed.mics_shard_size=4"}, "differs from parallel.shard_group, 8"},
    {"deepspeed", {"parallel.shard_group=8", "deepspeed.mics_shard_size=8"}, NULL},
    {"deepspeed", {"parallel.offload_optimizer=cpu", "training.optimizer=adam8bit"}, "no Adam of 8 or 4 bits"},
    {"deepspeed",
     {"parallel.framework_version=0.6", "parallel.zero_stage=1", "deepspeed.allgather_partitions=no"},
     "broadcasts in place of the gather"},
    {"deepspeed", {"training.optimizer=lion", "training.optimizer_style=foreach"}, "training.optimizer is lion"},
    {"deepspeed", {"training.optimizer=adamw", "training.optimizer_style=foreach"}, NULL},
    {"deepspeed",
     {"parallel.offload_optimizer=cpu", "training.optimizer_style=foreach"},
     "the host runs DeepSpeed's own Adam"},
    {"deepspeed",
     {"deepspeed.partition_activations=yes", "training.checkpoint_early_stop=yes"},
     "(partition_activations) runs all of a layer again"},
    {"deepspeed",
     {MIXED, "parallel.expert=2", "parallel.pipeline=2", "parallel.zero_stage=1"},
     "experts of several ranks over a pipeline"},
    {"fsdp2", {MIXED, "parallel.expert=2", "fsdp.reshard_after_forward=8"}, "experts that ranks share"},
    {"fsdp2", {MIXED, "parallel.expert=2", "fsdp.reshard_after_forward=no", "parallel.zero_stage=2"}, NULL},
    {"fsdp2", {MIXED, "training.optimizer=muon"}, "muon of experts' matrices"},
    {"fsdp2", {"model.mtp_layers=1"}, "foretells no further tokens"},
    {"megatron",
     {"parallel.zero_stage=1", "model.mtp_layers=1", "training.trainable=1"},
     "a part of a model that foretells further tokens"},
    {"fsdp2", {"training.trainable=2"}, "the model has 2 layers, from 0 on"},
    {"fsdp2", {"training.trainable="}, "nothing is trained"},
    {"fsdp2", {"training.trainable=none"}, "\"none\" is not embedding, head, a layer"},
    {"fsdp2", {"training.trainable=1-"}, "\"1-\" is not"},
    {"fsdp2", {"training.trainable=1-0"}, "\"1-0\" is not"},
    {"fsdp2", {"training.trainable=99999999999"}, "\"99999999999\" is not"},
    {"fsdp2", {"training.trainable=lora:0"}, "a rank from 1"},
    {"fsdp2", {"training.trainable=lora:8:"}, "no linear layer is named"},
    {"fsdp2",
     {"fsdp.float8_all_gather=yes", "training.precision=fp8", "training.fp8_scaling=rowwise", "training.compile=yes"},
     "set training.fp8_scaling=tensorwise"},
    {"fsdp2", {"fsdp.cpu_offload=yes", "training.optimizer=lion"}, "only adamw is modelled for FSDP"},
    {"fsdp2", {IN_TWO_PASSES, "training.precision=fp8"}, "fp8 layers, whose backward is one function"},
    {"fsdp2", {IN_TWO_PASSES, "training.compile=yes"}, "PyTorch refuses compiled stages"},
    {"fsdp2", {IN_TWO_PASSES}, NULL},
    {"nanotron", {"parallel.zero_stage=1", "training.gradient_communication_dtype=bf16"}, "reduces its fp32 gradients"},
    {"ddp", {"parallel.rank_order=tp-dp"}, "has no axes to order"},
    {"fsdp2", {"training.precision=fp8", "training.fp8_scaling=mxfp8"}, "this one has 9.0"},
};

static void are_named(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
    const Refusal *refusal = &refusals[i];
    g_autoptr(GError) error = NULL;
    g_autoptr(Study) study = study_open("llama2-7b", NULL);
    g_autofree char *framework = g_strdup_printf("parallel.framework=%s", refusal->framework);
    StudyOptions options = {.timeline = FALSE, .fold = TRUE};
    gboolean good = study_set(study, framework, &error) && study_set(study, "model.layers=2", &error);
    for (const char *const *set = refusal->sets; good && *set != NULL; set++)
      good = study_set(study, *set, &error);
    g_autoptr(RunReport) report = good ? study_run(study, &options, &error) : NULL;
    CU_ASSERT_EQUAL(report == NULL, refusal->fragment != NULL);
    CU_ASSERT_EQUAL(error == NULL, refusal->fragment == NULL);
    gboolean named = error == NULL || refusal->fragment == NULL || strstr(error->message, refusal->fragment) != NULL;
    CU_ASSERT_TRUE(named);
    if (!named || (report == NULL) != (refusal->fragment != NULL))
      printf("    %s, %s: %s\n", refusal->framework, refusal->sets[0], error != NULL ? error->message : "is taken");
  }
}

int main(void) {
  return harness_run("plan-refusals", (HarnessCase[]){{"are named", are_named}, {NULL, NULL}});
}
