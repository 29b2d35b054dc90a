/* SPDX-License-Identifier: MIT */
/* Megatron-LM's command line: what its arguments mean, what follows from those that are absent, what is refused. */
#include "recipe-harness.h"

static void script(void) {
  g_autoptr(Recipe) recipe = recipe_of_data("megatron.sh");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  CU_ASSERT_STRING_EQUAL(recipe->tool, "Megatron-LM");
  static const struct {
    const char *setting, *value;
  } rows[] = {{"parallel.framework", "megatron"},
              {"parallel.tensor", "4"},
              {"parallel.pipeline", "2"},
              {"parallel.interleave", "2"}, /* 32 / 2 / 8 */
              {"parallel.sequence_parallel", "yes"},
              {"parallel.zero_stage", "1"},
              {"megatron.overlap_grad_reduce", "yes"},
              {"cluster.nodes", "2"},
              {"cluster.gpus_per_node", "8"},
              {"model.family", "llama"},
              {"model.layers", "32"},
              {"model.kv_heads", "8"},
              {"model.intermediate_size", "14336"},
              {"model.tied_embeddings", "no"},
              {"training.sequence_length", "8192"},
              {"training.micro_batch", "1"},
              {"training.global_batch", "32"}, /* 2 data ranks × 16 */
              {"training.gradient_accumulation", NULL},
              {"training.precision", "bf16"},
              {"training.dropout", "0.0"},
              {"training.attention", "flash"},
              {"training.loss", NULL},
              {"training.activation_checkpointing", "selective"}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    RECIPE_SAYS(recipe, rows[i].setting, rows[i].value);
  CU_ASSERT_PTR_NOT_NULL(recipe_reason(recipe, "--train-iters"));
  CU_ASSERT_PTR_NOT_NULL(recipe_reason(recipe, "launcher.--master_port"));
}

/* What Megatron does where an argument is absent. */
static void defaults(void) {
  static const struct {
    const char *list, *setting, *value;
  } rows[] = {
      {"--num-layers 2 --hidden-size 1024", "model.family", "gpt"},
      {"--num-layers 2 --hidden-size 1024", "model.intermediate_size", "4096"},
      {"--num-layers 2 --hidden-size 1024", "model.tied_embeddings", "yes"},
      {"--num-layers 2 --hidden-size 1024", "training.precision", "fp32"},
      {"--num-layers 2 --hidden-size 1024", "training.dropout", "0.1"},
      {"--num-layers 2 --hidden-size 1024", "parallel.zero_stage", "0"},
      {"--num-layers 2 --hidden-size 1024", "training.gradient_accumulation", "1"},
      /* 4 · 4096 · 2/3 = 10922.67, cut to a multiple of 64 */
      {"--num-layers 2 --hidden-size 4096 --swiglu", "model.intermediate_size", "10880"},
      {"--num-layers 2 --hidden-size 4096 --swiglu", "model.family", NULL}, /* of neither family */
      {"--num-layers 2 --group-query-attention", "model.kv_heads", "1"},
      {"--micro-batch-size 1 --fp16 --transformer-impl local", "training.attention", "eager"},
      {"--micro-batch-size 1 --attention-backend unfused", "training.attention", "eager"},
      {"--micro-batch-size 1 --cross-entropy-loss-fusion --cross-entropy-fusion-impl te", "training.loss", "fused"},
      {"--micro-batch-size 1 --cross-entropy-loss-fusion", "training.loss", NULL},
      {"--micro-batch-size 1 --bf16 --grad-reduce-in-bf16", "training.gradient_accumulation_dtype", "bf16"},
      {"--micro-batch-size 1 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
       "training.activation_checkpointing", "full"},
      /* 3 layers of each of 4 stages, of 24 */
      {"--num-layers 24 --pipeline-model-parallel-size 4 --recompute-granularity full --recompute-method block "
       "--recompute-num-layers 3",
       "training.activation_checkpointing", "fraction:0.5"},
      {"--micro-batch-size 1 --use-tp-pp-dp-mapping", "parallel.rank_order", "tp-cp-ep-pp-dp"},
      {"--micro-batch-size 1 --num-distributed-optimizer-instances 2 --use-distributed-optimizer",
       "parallel.shard_group", "?"},
      {"--micro-batch-size 1 --bf16 --fp8-format hybrid", "training.precision", "fp8"},
      {"--micro-batch-size 1 --bf16 --fp8-recipe mxfp8", "training.precision", "bf16"},
      {"--micro-batch-size 1 --bf16 --fp8-format hybrid --fp8-recipe tensorwise", "training.fp8_scaling", "tensorwise"},
      {"--micro-batch-size 1 --bf16 --fp8-format e4m3 --fp8-param-gather", "megatron.fp8_param_gather", "yes"},
      {"--micro-batch-size 1 --context-parallel-size 2 --cp-comm-type a2a", "megatron.cp_comm_type", "all-to-all"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Recipe) recipe = recipe_of_text("m.args", rows[i].list, &error);
    if (recipe == NULL)
      printf("\n    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    RECIPE_SAYS(recipe, rows[i].setting, rows[i].value);
  }
}

static void refusals(void) {
  static const struct {
    const char *list, *fragment;
  } rows[] = {
      {"--num-layers 2 --hiden-size 64", "did you mean \"--hidden-size\"?"},
      {"--num-layers $1", "${1} names no key of this file"},
      {"--num-layers two", "m.args:1:1: --num-layers: expected a whole number, found \"two\""},
      {"--micro-batch-size 1 --bf16 yes", "takes no value, and \"yes\" follows it"},
      {"--micro-batch-size 1 --bf16 --fp8-format hybrid --fp8-param-gather no",
       "takes no value, and \"no\" follows it"},
      {"--micro-batch-size 1 --fp8-format hybrid", "needs --bf16"},
      {"--micro-batch-size 1 --bf16 --fp8-format e5m2", "expected hybrid or e4m3"},
      {"--micro-batch-size 1 --bf16 --fp8-format hybrid --fp8-recipe blockwise", "\"blockwise\" is not modelled"},
      {"--micro-batch-size 1 --num-experts 8", "mixtures of experts by these arguments"},
      {"--micro-batch-size 1 --hidden-dropout 0.0", "one without the other is not modelled"},
      {"--micro-batch-size 1 --optimizer muon", "\"muon\" is not modelled; adam and sgd are"},
      {"--micro-batch-size 1 --recompute-granularity full", "needs --recompute-method uniform or block"},
      {"--micro-batch-size 1 --recompute-granularity full --recompute-method uniform --recompute-num-layers 4",
       "recomputed as one"},
      {"--num-layers 30 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2",
       "30 layers over 4 stages are no multiple of 2 layers"},
      {"--micro-batch-size 1 --num-distributed-optimizer-instances 0", "expected a number from 1 on"},
      {"python pretrain_bert.py --micro-batch-size 1", "pretrain_bert.py trains another kind of model"},
      {"python tools/run_text_generation_server.py --micro-batch-size 1", "or none"},
      {"--alpha 1 --beta 2", "is no recipe of a tool that is read (Megatron-LM"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(recipe_of_text("m.args", rows[i].list, &error), error, rows[i].fragment);
  }
}

int main(void) {
  return harness_run("recipe-megatron",
                     (HarnessCase[]){{"script", script}, {"defaults", defaults}, {"refusals", refusals}, {NULL, NULL}});
}
