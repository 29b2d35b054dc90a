/* SPDX-License-Identifier: MIT */
/* What may make a step faster: settings of each framework with the values that are worth a try. Which of them pays is
 * found by playing them (study-faster.h), so a table may hold both ways of a switch. */
#include "plan-policy.h"

/* https://www.deepspeed.ai/docs/config-json/#zero-optimizations-for-fp16-training; ZeRO++: hpZ, qwZ, qgZ. */
static const PlanSetting deepspeed[] = {{"deepspeed.overlap_comm", "yes"},
                                        {"deepspeed.overlap_comm", "no"},
                                        {"deepspeed.reduce_bucket_size", PLAN_KNOB_HALF},
                                        {"deepspeed.reduce_bucket_size", PLAN_KNOB_TWICE},
                                        {"deepspeed.allgather_bucket_size", PLAN_KNOB_HALF},
                                        {"deepspeed.allgather_bucket_size", PLAN_KNOB_TWICE},
                                        {"deepspeed.stage3_prefetch_bucket_size", PLAN_KNOB_HALF},
                                        {"deepspeed.stage3_prefetch_bucket_size", PLAN_KNOB_TWICE},
                                        {"deepspeed.stage3_max_live_parameters", PLAN_KNOB_TWICE},
                                        {"deepspeed.stage3_max_reuse_distance", "0"},
                                        {"deepspeed.stage3_param_persistence_threshold", PLAN_KNOB_TENFOLD},
                                        {"deepspeed.round_robin_gradients", "yes"},
                                        {"deepspeed.zero_hpz_partition_size", PLAN_KNOB_NODE},
                                        {"deepspeed.zero_quantized_weights", "yes"},
                                        {"deepspeed.zero_quantized_gradients", "yes"},
                                        {"deepspeed.tp_overlap_comm", "yes"},
                                        {NULL, NULL}};

static const PlanSetting fsdp1[] = {{"fsdp.reshard_after_forward", "no"},
                                    {"fsdp.forward_prefetch", "1"},
                                    {"fsdp.backward_prefetch", "pre"},
                                    {"fsdp.backward_prefetch", "post"},
                                    {"fsdp.limit_all_gathers", "no"},
                                    {"fsdp.sync_every_micro_batch", "no"},
                                    {NULL, NULL}};

static const PlanSetting fsdp2[] = {{"fsdp.reshard_after_forward", "no"},
                                    {"fsdp.reshard_after_forward", "yes"},
                                    {"fsdp.forward_prefetch", "1"},
                                    {"fsdp.forward_prefetch", "2"},
                                    {"fsdp.sync_every_micro_batch", "no"},
                                    {"fsdp.float8_all_gather", "yes"},
                                    {"fsdp.async_tensor_parallel", "yes"},
                                    {"fsdp.context_rotate_method", "alltoall"},
                                    {NULL, NULL}};

static const PlanSetting megatron[] = {{"megatron.overlap_grad_reduce", "yes"},
                                       {"megatron.overlap_grad_reduce", "no"},
                                       {"megatron.overlap_param_gather", "yes"},
                                       {"megatron.overlap_param_gather", "no"},
                                       {"megatron.bucket_size", PLAN_KNOB_HALF},
                                       {"megatron.bucket_size", PLAN_KNOB_TWICE},
                                       {"megatron.bucket_size", "100000000"},
                                       {"megatron.check_for_nan_in_grad", "no"},
                                       {"megatron.gradient_accumulation_fusion", "yes"},
                                       {"megatron.tp_comm_overlap", "yes"},
                                       {"megatron.overlap_p2p_communication", "yes"},
                                       {"megatron.cp_comm_type", "all-gather"},
                                       {"megatron.cp_comm_type", "all-to-all"},
                                       {NULL, NULL}};

static const PlanSetting nanotron[] = {
    {"nanotron.tp_linear_async_communication", "yes"}, {"nanotron.tp_recompute_allgather", "no"}, {NULL, NULL}};

static const PlanSetting ddp[] = {{"ddp.bucket_cap", PLAN_KNOB_HALF},
                                  {"ddp.bucket_cap", PLAN_KNOB_TWICE},
                                  {"ddp.bucket_cap", PLAN_KNOB_TENFOLD},
                                  {"ddp.gradient_as_bucket_view", "yes"},
                                  {"ddp.no_sync", "yes"},
                                  {NULL, NULL}};

static const PlanSetting none[] = {{NULL, NULL}};

const PlanSetting *plan_knobs(int framework) {
  static const PlanSetting *const all[PLAN_FRAMEWORKS] = {
      [PLAN_PAPER] = none,  [PLAN_DDP] = ddp,           [PLAN_DEEPSPEED] = deepspeed, [PLAN_FSDP1] = fsdp1,
      [PLAN_FSDP2] = fsdp2, [PLAN_MEGATRON] = megatron, [PLAN_NANOTRON] = nanotron};
  return all[framework];
}

guint plan_axes(int framework) {
  return (guint)plan_policies[framework].axes;
}
