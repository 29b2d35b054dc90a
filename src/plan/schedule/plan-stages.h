/* SPDX-License-Identifier: MIT */
/* Which units each pipeline stage holds, as each framework spreads them. Pure functions.
 *
 * Units of a model with L layers: 0 the embedding, 1 to L the layers, L + 1 the head (last norm, output, loss). A
 * spread is `bounds`, of stages + 1 numbers: stage s holds units bounds[s] to bounds[s + 1] − 1; bounds[0] is 0, the
 * last L + 2; or, of a head that is cut, L + 1 + MODEL_HEAD_PARTS, the parts being units from L + 1 on.
 *
 *   guint32 bounds[5];
 *   plan_stages_torchtitan(32, 4, 1, 1, bounds, error);    // 34 parts: 9 9 8 8, less one of both ends: 8 9 8 7 layers
 *
 * Stages are those of plan_schedule_stage: with several chunks there are more of them than pipeline ranks. Errors say
 * what does not divide and the nearest that does. */
#pragma once

#include <glib.h>

/* Megatron-Core (transformer_block.get_num_layers_to_build). Without options layers must be a multiple of ranks ×
 * chunks. */
typedef struct {
  guint32 ranks, chunks; /* of the pipeline; chunks of each rank */
  guint32 first, last;   /* decoder_first_pipeline_num_layers and _last_: layers of the rank; 0: as the others */
  gboolean count_embedding, count_loss; /* account_for_embedding_in_pipeline_split, account_for_loss_... */
} PlanStagesMegatron;
gboolean plan_stages_megatron(guint32 layers, const PlanStagesMegatron *options, guint32 *ret_bounds, GError **error);

/* torchtitan (pipeline_parallel.generate_llm_fqn_per_model_part): the embedding counts as `input` layers, the head as
 * `output` (pipeline_parallel_first_stage_less_layers and _last_, 1 by default); what is left over goes to the first.
 * */
gboolean plan_stages_torchtitan(guint32 layers, guint32 stages, guint32 input, guint32 output, guint32 *ret_bounds,
                                GError **error);
/* The stages that pipeline_parallel_layers_per_stage makes, which must be a multiple of the pipeline ranks. */
gboolean plan_stages_torchtitan_count(guint32 layers, guint32 ranks, guint32 per_stage, guint32 input, guint32 output,
                                      guint32 *ret_stages, GError **error);

/* nanotron (models/base.py build_model): a block goes to the stage at hand, which is left once the cost so far exceeds
 * its share (s + 1)/stages of the whole; the last may be left with none. Costs of blocks in any measure; nanotron's are
 * plan_stages_nanotron_costs. */
void plan_stages_nanotron(const double *costs, guint32 n_blocks, guint32 stages, guint32 *ret_bounds);
/* get_block_compute_costs of models/llama.py: 4·heads·head_dim·hidden + 3·intermediate·hidden of a layer,
 * vocabulary·hidden of the output layer, none of embedding, final norm, cast and loss. `ret` holds layers + 1 +
 * MODEL_HEAD_PARTS. */
void plan_stages_nanotron_costs(guint32 layers, guint64 hidden, guint64 heads, guint64 head_dim, guint64 intermediate,
                                guint64 vocabulary, double *ret);

/* Of a chain that ends in the head's parts: one that ends in the head, where no stage begins within it. */
void plan_stages_whole_head(guint32 layers, guint32 stages, guint32 *bounds);

/* DeepSpeed's partition_method uniform (utils.partition_uniform): units / stages each, what is left over one each to
 * the first. `n_units` is any number of items in order: DeepSpeed counts the modules of a PipelineModule. */
void plan_stages_uniform(guint32 n_units, guint32 stages, guint32 *ret_bounds);
/* DeepSpeed's parameters and type:REGEX (utils.partition_balanced): the spread whose heaviest and lightest stages
 * differ least, of equal ones the last cut furthest back. Weights: trainable parameters, or 1 of what the pattern
 * matches. Cost: n² · stages. */
void plan_stages_balanced(const guint64 *weights, guint32 n_units, guint32 stages, guint32 *ret_bounds);

/* Layers per stage as somebody lists them (torchtitan's module_fqns_per_model_part, Megatron's pipeline layout), the
 * embedding on the first and the head on the last stage. Error: they do not add up to `layers`. */
gboolean plan_stages_listed(guint32 layers, const guint32 *counts, guint32 stages, guint32 *ret_bounds, GError **error);
