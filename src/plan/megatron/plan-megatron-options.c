/* SPDX-License-Identifier: MIT */
/* The keys of [megatron]. Defaults: megatron/training/arguments.py, megatron/core/model_parallel_config.py and
 * megatron/core/distributed/distributed_data_parallel_config.py. */
#include "plan-megatron.h"

#define FLAG(key_, field_, initial_, help_)                                                                            \
  BASE_ROW("megatron", key_, BASE_FLAG, PlanMegatron, field_, .initial = initial_, .help = help_)
#define COUNT(key_, field_, initial_, max_, help_)                                                                     \
  BASE_ROW("megatron", key_, BASE_COUNT, PlanMegatron, field_, .initial = initial_, .max = max_, .help = help_)

static const char *const impl_names[] = {"transformer_engine", "local", NULL};        /* as PlanMegatronImpl */
static const char *const context_names[] = {"p2p", "all-gather", "all-to-all", NULL}; /* as ModelContext */

static const char *const dispatch_names[] = {"alltoall", "allgather", "flex", NULL}; /* as ModelDispatch */

#define KEY(key_, kind_, member_, ...) BASE_ROW("megatron", key_, kind_, PlanMegatron, member_, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("overlap_grad_reduce", BASE_FLAG, overlap_grad_reduce, .initial = "no",
        .help = "gradients are reduced bucket by bucket as the last micro-batch's backward fills them; no: in one "
                "after it"),
    KEY("overlap_param_gather", BASE_FLAG, overlap_param_gather, .initial = "no",
        .help = "parameters are gathered bucket by bucket in the next forward; no: in one after the step"),
    KEY("bucket_size", BASE_COUNT, bucket_size, .initial = "0", .max = 1e12,
        .help = "elements after which a bucket closes; 0: the larger of 40e6 and 1e6 x data-parallel ranks"),
    KEY("gradient_accumulation_fusion", BASE_FLAG, gradient_accumulation_fusion, .initial = "yes",
        .help = "the matmuls of weight gradients add into the gradient buffer"),
    KEY("pad_buckets_for_high_nccl_busbw", BASE_FLAG, pad_buckets, .initial = "no",
        .help = "buckets end on multiples of 65 536 elements"),
    KEY("check_for_nan_in_grad", BASE_FLAG, checks_gradients, .initial = "yes",
        .help = "the host reads the norm of each bucket before it is reduced, and so waits for backward; no: "
                "--no-check-for-nan-in-loss-and-grad"),
    FLAG("ddp_average_in_collective", averages, "no",
         "gradients are averaged by the collective; no: scaled before it, by a pass over each bucket"),
    FLAG("align_grad_reduce", align_grad_reduce, "yes",
         "over a pipeline, with overlap_grad_reduce: all stages reduce at one time, those after the first when their "
         "passes are over"),
    FLAG("align_param_gather", align_param_gather, "yes",
         "interleaved, with overlap_param_gather: all stages gather a chunk at one time, ahead of its first pass"),
    FLAG("overlap_p2p_communication", overlap_p2p, "yes",
         "interleaved: activations and gradients go between stages beside compute; other schedules never overlap them"),
    FLAG("deallocate_pipeline_outputs", deallocates, "yes", "a stage's output is freed once it is sent"),
    COUNT("decoder_first_pipeline_num_layers", first_layers, "0", 10000,
          "layers of the first pipeline rank; 0: as the others"),
    COUNT("decoder_last_pipeline_num_layers", last_layers, "0", 10000,
          "layers of the last pipeline rank; 0: as the others"),
    FLAG("account_for_embedding_in_pipeline_split", counts_embedding, "no",
         "the embedding counts as a layer where layers are spread over stages"),
    FLAG("account_for_loss_in_pipeline_split", counts_loss, "no",
         "the head counts as a layer where layers are spread over stages"),
    COUNT("microbatch_group_size_per_virtual_pipeline_stage", micro_batch_group, "0", 1000000,
          "interleaved: micro-batches that a chunk plays in a row; 0: as many as pipeline ranks"),
    COUNT("make_vocab_size_divisible_by", vocabulary_multiple, "128", 1000000,
          "the vocabulary is padded to a multiple of this times the tensor ranks"),
    FLAG("tp_comm_overlap", tp_comm_overlap, "no",
         "tensor ranks exchange activations chunk by chunk beside the matmuls (Transformer Engine's user buffers); "
         "needs parallel.sequence_parallel"),
    FLAG("distribute_saved_activations", distributes_saved, "no",
         "of the input that full recompute keeps of a layer each tensor rank keeps a part; without sequence "
         "parallelism"),
    KEY("transformer_impl", BASE_NAME, layers_by, .initial = "transformer_engine", .names = impl_names,
        .help =
            "of gradients that matmuls add into the buffer autograd wants a tensor all the same: transformer_engine "
            "keeps one for each shape of weight, local (and the head always) makes one each time"),
    KEY("cp_comm_type", BASE_NAME, context_kind, .initial = "p2p", .names = context_names,
        .help = "how attention sees the keys and values of other context ranks: p2p, a ring; all-gather; all-to-all, "
                "heads for tokens (Ulysses)"),
    KEY("moe_token_dispatcher_type", BASE_NAME, dispatch, .initial = "allgather", .names = dispatch_names,
        .help = "how rows come to the ranks of their experts: alltoall, each to the rank that works on it; allgather, "
                "all tokens to all of them; flex, DeepEP: each token once to each rank that has experts of it, over "
                "the network "
                "once to each node"),
    FLAG("fp8_param_gather", fp8_param_gather, "no",
         "parameters of layers that multiply in fp8 are kept in fp8 beside fp32 masters, and gathered so (mxfp8: "
         "gathered "
         "in 16 bits)"),
    FLAG("moe_router_padding_for_fp8", router_pads, "no",
         "the router gives each expert a multiple of 16 rows; no: rows are copied apart, and together after"),
};
const ConfSchema plan_megatron_schema = {keys, G_N_ELEMENTS(keys)};
