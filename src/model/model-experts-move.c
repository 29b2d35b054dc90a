/* SPDX-License-Identifier: MIT */
/* Tokens to the rows of the experts that this rank holds, and back.
 *
 *   all-to-all   permute ─[all-to-all]─[gather over ranks that split experts]─ … ─[scatter]─[all-to-all]─ unpermute
 *   gather       [gather tokens of all]─ permute those of my experts ─ … ─ unpermute ─[scatter the sums]
 *   flex         [tokens to ranks that have experts of them]─ permute ─ … ─ unpermute ─[sums back]
 *
 * Of k experts of a token, drawn from all, E ranks or nodes have some: E = n (1 − (1 − 1/n)^k) of n, but that experts
 * are drawn once (n experts apart: hypergeometric). Where they are of a few groups alone (arXiv 2412.19437, 2.1.2: a
 * group's experts on one node), drawn from those, on their ranks.
 * All members of an all-to-all end together, with the one that is sent most to or sends most back: it is the one that
 * is built, so all its bytes are those of the rows that arrived. Sources: Megatron-LM,
 * transformer/moe/token_dispatcher.py; torchtitan, distributed/expert_parallel.py; DeepSpeed, moe/sharded_moe.py. */
#include "model-experts.h"

#define INDEX_BYTES 8.0 /* of an int64 */
/* Kernels: counting and sorting rows by expert, then copying (permute); weighing and adding up (unpermute).
 * transformers, models/mixtral/modeling_mixtral.py; torchtitan, models/moe/moe.py; Megatron-LM,
 * transformer/moe/moe_utils.py */
#define PERMUTE_LAUNCHES   6
#define UNPERMUTE_LAUNCHES 3

static gboolean by_tokens(const ModelBuild *build) {
  return build->share->dispatch != MODEL_DISPATCH_ALL_TO_ALL &&
         model_experts_ranks(build) * model_experts_splits(build) > 1;
}

static gboolean gathers(const ModelBuild *build) {
  return build->share->dispatch == MODEL_DISPATCH_GATHER;
}

/* Of `n` equal parts of the experts, those that have some of a token's. */
static double parts_of_token(const ModelBuild *build, double n) {
  double all = (double)build->shape->experts, part = all / n, none = 1;
  if (build->shape->expert_groups > 1 && n >= (double)build->shape->expert_groups) {
    double share = (double)build->shape->groups_per_token / (double)build->shape->expert_groups;
    all *= share;
    n *= share;
  }
  for (guint64 i = 0; i < build->shape->experts_per_token; i++)
    none *= MAX(all - part - (double)i, 0) / (all - (double)i);
  return n * (1 - none);
}

/* Tokens, and rows, that permutation sees. */
static double tokens_seen(const ModelBuild *build, const ModelExperts *experts) {
  if (!by_tokens(build))
    return experts->tokens;
  return gathers(build)
             ? experts->tokens * model_experts_ranks(build) * model_experts_splits(build)
             : experts->tokens * parts_of_token(build, model_experts_ranks(build)) * experts->arrived / experts->rows;
}
static double rows_seen(const ModelBuild *build, const ModelExperts *experts) {
  return by_tokens(build) ? experts->worked : experts->rows;
}

/* ---- Exchanges ---- */

static ModelSet exchange_rows(ModelBuild *build, const ModelExperts *experts, ModelDirection direction,
                              const char *name, const char *tensor, double rows, ModelSet from) {
  if (model_experts_ranks(build) == 1)
    return from;
  ModelSet to = model_build_inner(build, tensor, model_experts_bytes(build, rows, build->h));
  model_build_exchange(build, direction, name, MODEL_EXCHANGE_ALL_TO_ALL, MODEL_AXIS_EXPERT,
                       model_experts_bytes(build, experts->arrived, build->h), from, to);
  return to;
}

static ModelSet gather(ModelBuild *build, ModelDirection direction, const char *name, const char *tensor, double rows,
                       ModelAxis axis, ModelSet own) {
  double bytes = model_experts_bytes(build, rows, build->h);
  ModelSet all = model_build_inner(build, tensor, bytes);
  model_build_exchange(build, direction, name, MODEL_EXCHANGE_ALL_GATHER, axis, bytes, own, all);
  return all;
}

/* `to`: none, a new tensor of `own_rows`. */
static ModelSet scatter(ModelBuild *build, ModelDirection direction, const char *name, const char *tensor, double rows,
                        double own_rows, ModelAxis axis, ModelSet all, ModelSet to) {
  ModelSet own = to != 0 ? to : model_build_inner(build, tensor, model_experts_bytes(build, own_rows, build->h));
  model_build_exchange(build, direction, name, MODEL_EXCHANGE_REDUCE_SCATTER, axis,
                       model_experts_bytes(build, rows, build->h), all, own);
  return own;
}

/* Rows of all ranks that split the experts; and the sums over them, of this rank's rows. */
static ModelSet gather_rows(ModelBuild *build, const ModelExperts *experts, ModelDirection direction, const char *name,
                            const char *tensor, ModelSet own) {
  return model_experts_splits(build) == 1
             ? own
             : gather(build, direction, name, tensor, experts->worked, MODEL_AXIS_EXPERT_TENSOR, own);
}
static ModelSet scatter_rows(ModelBuild *build, const ModelExperts *experts, ModelDirection direction, const char *name,
                             const char *tensor, ModelSet all) {
  return model_experts_splits(build) == 1 ? all
                                          : scatter(build, direction, name, tensor, experts->worked, experts->arrived,
                                                    MODEL_AXIS_EXPERT_TENSOR, all, 0);
}

/* All tokens, or those of this rank's experts: from `from` to `to`; none: a new tensor. */
static ModelSet exchange_tokens(ModelBuild *build, const ModelExperts *experts, ModelDirection direction,
                                const char *name, const char *tensor, double tokens, ModelSet from, ModelSet to) {
  double seen = tokens_seen(build, experts), nodes = MAX(build->share->expert_nodes, 1);
  gboolean back = to != 0;
  if (gathers(build))
    return back ? scatter(build, direction, name, NULL, seen, tokens, MODEL_AXIS_EXPERT_BOTH, from, to)
                : gather(build, direction, name, tensor, seen, MODEL_AXIS_EXPERT_BOTH, from);
  to = to != 0 ? to : model_build_inner(build, tensor, model_experts_bytes(build, tokens, build->h));
  ModelOp *op = model_build_exchange(build, direction, name, MODEL_EXCHANGE_ALL_TO_ALL, MODEL_AXIS_EXPERT,
                                     model_experts_bytes(build, seen, build->h), from, to);
  if (nodes > 1)
    op->exchange.far_bytes =
        (guint64)model_experts_bytes(build, experts->tokens * parts_of_token(build, nodes), build->h);
  return to;
}

/* ---- Forward ---- */

static ModelSet permute(ModelBuild *build, const ModelExperts *experts, ModelSet tokens) {
  double rows = model_experts_bytes(build, rows_seen(build, experts), build->h);
  ModelSet permuted = model_build_inner(build, "rows_permuted", rows);
  model_build_kernels(build, MODEL_FORWARD, "experts.permute", KERNEL_GATHER, PERMUTE_LAUNCHES,
                      2 * rows + 4 * INDEX_BYTES * rows_seen(build, experts), tokens | experts->chosen, permuted);
  return permuted;
}

void model_experts_dispatch(ModelBuild *build, ModelExperts *experts) {
  if (by_tokens(build)) {
    ModelSet all = exchange_tokens(build, experts, MODEL_FORWARD, "experts.dispatch", "tokens_gathered",
                                   tokens_seen(build, experts), experts->x, 0);
    build->ops[MODEL_FORWARD][build->n_ops[MODEL_FORWARD] - 1].counted = model_experts_counts_early(build);
    experts->input = permute(build, experts, all);
    return;
  }
  ModelSet arrived = exchange_rows(build, experts, MODEL_FORWARD, "experts.dispatch", "rows_arrived", experts->arrived,
                                   permute(build, experts, experts->x));
  build->ops[MODEL_FORWARD][build->n_ops[MODEL_FORWARD] - 1].counted = model_experts_counts_early(build);
  experts->input = gather_rows(build, experts, MODEL_FORWARD, "experts.gather", "rows_gathered", arrived);
}

static void unpermute(ModelBuild *build, const ModelExperts *experts, ModelSet rows, ModelSet y) {
  double rows_bytes = model_experts_bytes(build, rows_seen(build, experts), build->h);
  double stream = model_experts_bytes(build, tokens_seen(build, experts), build->h);
  ModelOp *op = model_build_kernels(build, MODEL_FORWARD, "experts.unpermute", KERNEL_GATHER, UNPERMUTE_LAUNCHES,
                                    rows_bytes + stream, rows | experts->chosen, y);
  op->saves = experts->chosen | (model_experts_weigh_last(build) ? rows : 0);
}

ModelSet model_experts_combine(ModelBuild *build, ModelExperts *experts, ModelSet out, ModelSet y) {
  double stream = model_experts_bytes(build, experts->tokens, build->h);
  double all = model_experts_bytes(build, tokens_seen(build, experts), build->h);
  ModelSet routed = y != 0 ? y : model_build_inner(build, "routed_out", stream);
  if (by_tokens(build)) {
    ModelSet partial = model_build_inner(build, "tokens_partial", all);
    experts->returned = out;
    unpermute(build, experts, out, partial);
    return exchange_tokens(build, experts, MODEL_FORWARD, "experts.combine", NULL, experts->tokens, partial, routed);
  }
  ModelSet sums = scatter_rows(build, experts, MODEL_FORWARD, "experts.scatter", "rows_scattered", out);
  experts->returned =
      exchange_rows(build, experts, MODEL_FORWARD, "experts.combine", "rows_returned", experts->rows, sums);
  unpermute(build, experts, experts->returned, routed);
  return routed;
}

/* ---- Backward ---- */

ModelSet model_experts_d_chosen(ModelBuild *build, const ModelExperts *experts) {
  return model_build_inner(build, "d_router_chosen",
                           MODEL_BYTES_FP32 * experts->tokens * (double)build->shape->experts_per_token);
}

/* Rows' gradients from their tokens', and the weights' where they are applied here: of each row its own output with the
 * token's gradient. */
static ModelSet unpermute_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_y,
                                   ModelSet *ret_d_chosen) {
  double rows = model_experts_bytes(build, rows_seen(build, experts), build->h);
  gboolean weighs = model_experts_weigh_last(build);
  ModelSet d_returned = model_build_inner(build, "d_rows_returned", rows);
  *ret_d_chosen = weighs ? model_experts_d_chosen(build, experts) : 0;
  model_build_kernels(build, MODEL_BACKWARD, "experts.unpermute.backward", KERNEL_GATHER,
                      UNPERMUTE_LAUNCHES + (weighs ? 1 : 0), (weighs ? 3 : 2) * rows,
                      d_y | (weighs ? experts->returned : 0) | experts->chosen, d_returned | *ret_d_chosen);
  return d_returned;
}

ModelSet model_experts_combine_backward(ModelBuild *build, ModelExperts *experts, ModelSet d_y,
                                        ModelSet *ret_d_chosen) {
  if (by_tokens(build)) {
    ModelSet all = exchange_tokens(build, experts, MODEL_BACKWARD, "experts.combine.backward", "d_tokens_gathered",
                                   tokens_seen(build, experts), d_y, 0);
    return unpermute_backward(build, experts, all, ret_d_chosen);
  }
  ModelSet d_returned = unpermute_backward(build, experts, d_y, ret_d_chosen);
  ModelSet d_sums = exchange_rows(build, experts, MODEL_BACKWARD, "experts.combine.backward", "d_rows_scattered",
                                  experts->arrived, d_returned);
  return gather_rows(build, experts, MODEL_BACKWARD, "experts.scatter.backward", "d_rows_out", d_sums);
}

/* Each row's gradient is added to its token's. */
static ModelSet permute_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_rows, const char *tensor) {
  double stream = model_experts_bytes(build, tokens_seen(build, experts), build->h);
  ModelSet d_x = model_build_inner(build, tensor, stream);
  model_build_kernels(build, MODEL_BACKWARD, "experts.permute.backward", KERNEL_GATHER, UNPERMUTE_LAUNCHES,
                      model_experts_bytes(build, rows_seen(build, experts), build->h) + stream,
                      d_rows | experts->chosen, d_x);
  return d_x;
}

ModelSet model_experts_dispatch_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_input) {
  if (by_tokens(build)) {
    ModelSet all = permute_backward(build, experts, d_input, "d_tokens_gathered_of_experts");
    ModelSet d_x = model_build_inner(build, "d_x_of_experts", model_experts_bytes(build, experts->tokens, build->h));
    return exchange_tokens(build, experts, MODEL_BACKWARD, "experts.dispatch.backward", NULL, experts->tokens, all,
                           d_x);
  }
  ModelSet d_arrived =
      scatter_rows(build, experts, MODEL_BACKWARD, "experts.gather.backward", "d_rows_arrived", d_input);
  ModelSet d_permuted = exchange_rows(build, experts, MODEL_BACKWARD, "experts.dispatch.backward", "d_rows_permuted",
                                      experts->rows, d_arrived);
  return permute_backward(build, experts, d_permuted, "d_x_of_experts");
}
