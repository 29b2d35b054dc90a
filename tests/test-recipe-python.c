/* SPDX-License-Identifier: MIT */
/* Recipes that are functions of Python: torchtitan's since 2026, and what changes a recipe of Megatron-Bridge. */
#include "recipe-harness.h"

typedef struct {
  const char *setting, *value;
} Said;

static void expect(const char *text, const Said *said) {
  GError *error = NULL;
  g_autoptr(Recipe) recipe = recipe_of_text("x.py", text, &error);
  if (recipe == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  for (; said->setting != NULL; said++)
    RECIPE_SAYS(recipe, said->setting, said->value);
}

#define TITAN(more) "def llama3():\n  return Trainer.Config(hf_assets_path='x', " more ")\n"

/* The keys of its TOML, in calls; AdamW is fused, embedding and head are units, and each second matmul is saved where
 * nothing says more: its defaults in all of 2026. */
static void torchtitan(void) {
  expect(TITAN("model_spec=model_registry('8B'), optimizer=OptimizersContainer.Config(lr=3e-4),\n"
               "training=TrainingConfig(local_batch_size=2, seq_len=8192),\n"
               "parallelism=ParallelismConfig(tensor_parallel_degree=8, enable_async_tensor_parallel=True),\n"
               "activation_checkpoint=ActivationCheckpointConfig(mode='full'), compile=CompileConfig(enable=True)"),
         (const Said[]){{"training.micro_batch", "2"},
                        {"training.sequence_length", "8192"},
                        {"training.activation_checkpointing", "full"},
                        {"training.compile", "yes"},
                        {"training.loss", "fused"},
                        {"training.optimizer_style", "fused"},
                        {"parallel.framework", "fsdp2"},
                        {"parallel.zero_stage", "3"},
                        {"parallel.tensor", "8"},
                        {"fsdp.async_tensor_parallel", "yes"},
                        {"fsdp.wrap", "ends"},
                        {NULL, NULL}});
  expect(TITAN("training=TrainingConfig(local_batch_size=1, seq_len=2048)"),
         (const Said[]){{"training.activation_checkpointing", "every-2nd-matmul"},
                        {"training.loss", NULL},
                        {"training.repeat_kv", NULL},
                        {"training.precision", "bf16"},
                        {"fsdp.wrap", "ends"},
                        {NULL, NULL}});
  expect(TITAN("training=TrainingConfig(), activation_checkpoint=ActivationCheckpointConfig(mode='selective', "
               "selective_ac_option='2'), model_converters=ModelConvertersContainer.Config(converters=[\n"
               "Float8LinearConverter.Config(enable_fsdp_float8_all_gather=True, "
               "precompute_float8_dynamic_scale_for_fsdp=True, filter_fqns=['output'])])"),
         (const Said[]){{"training.activation_checkpointing", "layers:2"},
                        {"training.precision", "fp8"},
                        {"training.fp8_scaling", NULL},
                        {"fsdp.float8_all_gather", "yes"},
                        {NULL, NULL}});
}

/* Since 2026-08-20 batches are tokens: 4 · 8192 / 8192 = 4 sequences, 262144 / 8192 = 32 of a step. */
static void torchtitan_of_august(void) {
  expect(TITAN("loss=ChunkedLossWrapper.Config(loss_fn=CrossEntropyLoss.Config(global_vocab_size=size(spec))),\n"
               "model_spec=model_registry('8B', converters=[Float8LinearConverter.Config(filter_fqns=['lm_head'])]),\n"
               "optimizer=default_adamw(lr=3e-4), activation_checkpoint=FullAC.Config(),\n"
               "training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=4 * 8192, max_context_length=8192, "
               "num_tokens_per_train_step=262_144, disable_cuda_graphs=True)"),
         (const Said[]){{"training.micro_batch", "4"},
                        {"training.global_batch", "32"},
                        {"training.sequence_length", "8192"},
                        {"training.loss", "chunked"},
                        {"training.activation_checkpointing", "full"},
                        {"training.precision", "fp8"},
                        {"training.fp8_scaling", "rowwise"},
                        {NULL, NULL}});
  expect(TITAN("activation_checkpoint=SelectiveAC.Config(), parallelism=ParallelismConfig(pipeline_parallel_degree=4, "
               "num_pp_microbatches=8), training=TrainingConfig(max_context_length=4096, disable_cuda_graphs=True)"),
         (const Said[]){{"training.micro_batch", "4"}, /* 16384, its default, / 4096 */
                        {"fsdp.pipeline_microbatches", "8"},
                        {"training.gradient_accumulation", "8"},
                        {"parallel.pipeline", "4"},
                        {"training.activation_checkpointing", "every-2nd-matmul"},
                        {NULL, NULL}});
}

#define BRIDGE(more)                                                                                                   \
  "def run():\n  cfg = _pretrain_common()\n  cfg.model = AutoBridge.from_hf('x').provider()\n"                         \
  "  cfg.model.tensor_model_parallel_size = 4\n  cfg.train.micro_batch_size = 1\n" more "  return cfg\n"

static void bridge(void) {
  expect(BRIDGE("  cfg.mixed_precision = bf16_mixed()\n  cfg.model.pipeline_dtype = torch.bfloat16\n"
                "  cfg.model.cross_entropy_loss_fusion = True\n  cfg.model.cross_entropy_fusion_impl = \"te\"\n"
                "  cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True, tp_comm_overlap_cfg=userbuffers)\n"
                "  cfg.env_vars = {**COMMON}\n"),
         (const Said[]){{"parallel.framework", "megatron"},
                        {"parallel.tensor", "4"},
                        {"parallel.zero_stage", "1"},
                        {"training.micro_batch", "1"},
                        {"training.precision", "bf16"},
                        {"training.loss", "fused"},
                        {"megatron.tp_comm_overlap", "yes"},
                        {NULL, NULL}});
}

static void refusals(void) {
  static const struct {
    const char *text, *why;
  } rows[] = {
      {"def f():\n  return Other.Config()\n", "x.py: builds Other.Config"},
      {TITAN("training=TrainingConfig(seq_len=length)"), "training.seq_len: length is Python, which is not evaluated"},
      {TITAN("training=TrainingConfig(max_context_length=4096)"), "CUDA graphs, which are not modelled"},
      {TITAN("training=TrainingConfig(max_context_length=5000, disable_cuda_graphs=True)"), "no whole number"},
      {TITAN("optimizer=OptimizersInBackwardContainer.Config()"),
       "OptimizersInBackwardContainer.Config is not modelled"},
      {TITAN("activation_checkpoint=MemoryBudgetAC.Config()"), "MemoryBudgetAC.Config is not modelled"},
      {TITAN("loss=MSELoss.Config()"), "MSELoss.Config is not modelled"},
      {TITAN("loss=ChunkedCELoss.Config(num_chunks=4)"), "another number of chunks than 8"},
      {TITAN("debug=DebugConfig(deterministic=True)"), "deterministic kernels"},
      {TITAN("trainin=TrainingConfig()"), "trainin: is no key of torchtitan"},
      {TITAN("model_spec=model_registry('8B', converters=[NVFP4LinearConverter.Config()])"), "NVFP4LinearConverter"},
      {BRIDGE("  cfg.model.cuda_graph_impl = \"local\"\n"), "CUDA graphs"},
      {BRIDGE("  cfg.train.global_batch_size = 4 if x else 8\n"), "is Python, which is not evaluated"},
      {BRIDGE("  cfg.mixed_precision = nvfp4_mixed()\n"), "found \"nvfp4_mixed\""},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(recipe_of_text("x.py", rows[i].text, &error) != NULL, error, rows[i].why);
  }
}

int main(void) {
  return harness_run("recipe-python", (HarnessCase[]){{"torchtitan", torchtitan},
                                                      {"torchtitan since August", torchtitan_of_august},
                                                      {"Megatron-Bridge", bridge},
                                                      {"refusals", refusals},
                                                      {NULL, NULL}});
}
