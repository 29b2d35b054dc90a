/* SPDX-License-Identifier: MIT */
/* [deepspeed]: keys of ds_config.json's zero_optimization by their own names. Sizes are elements, as there. Plain
 * data. */
#pragma once

#include "conf-schema.h"

/* Who splits the matmuls: the model's script (Megatron-DeepSpeed), or DeepSpeed (AutoTP). */
typedef enum { PLAN_DEEPSPEED_MEGATRON, PLAN_DEEPSPEED_AUTOTP } PlanDeepspeedTensor;

/* What a stage of the pipeline has as many of as the others. */
typedef enum { PLAN_PARTITION_PARAMETERS, PLAN_PARTITION_UNITS, PLAN_PARTITION_TYPE } PlanPartition;

typedef struct {
  gboolean contiguous_gradients, reduce_scatter, use_multi_rank_bucket_allreduce, overlap_comm, round_robin_gradients;
  guint64 reduce_bucket_size, allgather_bucket_size, sub_group_size;
  gboolean allgather_partitions, immediate_grad_update;
  guint64 prefetch_bucket_size, param_persistence_threshold, model_persistence_threshold, max_live_parameters,
      max_reuse_distance, module_granularity_threshold;
  gboolean use_all_reduce_for_fetch_params, allgather_sequential;
  guint64 hpz_partition_size;
  gboolean quantized_weights, quantized_gradients;
  guint64 mics_shard_size; /* 0: none */
  gboolean offload_pin_memory, offload_param_pin_memory;
  /* Beside other axes. */
  int tensor_parallel; /* PlanDeepspeedTensor */
  gboolean tp_overlap_comm, partition_activations;
  char *partition_method;                                /* as written; NULL once resolved */
  int partition;                                         /* PlanPartition */
  gboolean counts_embedding, counts_layers, counts_head; /* of PLAN_PARTITION_TYPE */
  gboolean pipe_partitioned, grad_partitioned;
} PlanDeepspeed;

extern const ConfSchema plan_deepspeed_schema;
