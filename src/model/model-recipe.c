/* SPDX-License-Identifier: MIT */
/* [training], the part of it that shapes operations and tensors. */
#include "model-recipe.h"

#include "kernel-op.h"
#include "model-samples.h"

const char *const model_precision_names[] = {"bf16", "fp16", "fp32", "tf32", "fp8", NULL};
const char *const model_attention_names[] = {"flash", "eager", NULL};

const char *const model_fp8_scaling_names[] = {"default", "tensorwise", "rowwise", "mxfp8", "delayed", NULL};
static const char *const later_scalings[] = {"blockwise", "nvfp4", NULL};
static const char *const packing_names[] = {"full", "packed", "padded", NULL};
static const char *const flash_names[] = {"auto", "1", "2", "3", NULL};
static const char *const fused_names[] = {"no", "yes", "norms", "rms-norm", "liger", NULL}; /* as ModelKernels */
static const char *const repeat_names[] = {"no", "yes", "without-context", NULL};           /* as ModelRepeat */
static const char *const graph_names[] = {"layer", "model", NULL};                          /* as ModelGraph */
static const char *const rotary_names[] = {"halves", "complex", NULL};
static const char *const projections_names[] = {"separate", "joined", "copied", "qkv", NULL};
static const char *const base_names[] = {"full", "nf4", "nf4-double", "int8", NULL};
static const char *const later_bases[] = {"gptq", "fp4", NULL};
static const char *const loss_names[] = {
    "eager",     "fused",        "vocab-parallel", "vocab-parallel-in-place", "half", "kept",    "causal-lm",
    "half-kept", "fused-linear", "chunked",        "chunked-recompute",       "cut",  "default", NULL};

#define LOSS_METRICS_MOST 16

typedef struct {
  ModelRecipe recipe;
  int fused_kernels; /* ModelKernels */
} Keys;

#define KEY(key_, kind_, member_, ...) BASE_ROW("training", key_, kind_, Keys, member_, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("sequence_length", BASE_COUNT, recipe.sequence_length, .min = 1, .max = 1 << 24, .required = TRUE,
        .help = "tokens of a sequence; of a model with an encoder, of the encoder's"),
    KEY("decoder_length", BASE_COUNT, recipe.decoder_length, .initial = "0", .max = 1 << 24,
        .help = "of a model with an encoder (t5): tokens of the decoder's sequence. 0: as many as sequence_length"),
    KEY("packing", BASE_NAME, recipe.packing, .initial = "full", .names = packing_names,
        .help = "full: every sequence is one sample, or several that see each other; packed: samples of which each "
                "sees itself alone (variable-length flash attention); padded: one sample each, filled up to "
                "sequence_length"),
    KEY("sample_mean", BASE_COUNT, recipe.sample_mean, .initial = "0", .max = 1 << 24,
        .help = "packed and padded: tokens of a sample, on average"),
    KEY("sample_longest", BASE_COUNT, recipe.sample_longest, .initial = "0", .max = 1 << 24,
        .help = "packed and padded: tokens of the longest sample. 0: sequence_length"),
    KEY("precision", BASE_NAME, recipe.precision, .initial = "bf16", .names = model_precision_names,
        .help = "of parameters, gradients and activations: bf16 and fp16 beside fp32 master weights; tf32 is fp32 in "
                "memory with tf32 matmuls; fp8 is bf16 in memory, the linear layers of each block multiply in fp8"),
    KEY("fp8_scaling", BASE_NAME, recipe.fp8_scaling, .initial = "default", .names = model_fp8_scaling_names,
        .later = later_scalings,
        .help = "scales of fp8 operands: tensorwise, one for each tensor, taken when it is cast; rowwise, one for each "
                "row or column; mxfp8, one for each 32 elements; delayed, one for each tensor from steps before; "
                "default: the framework's (megatron delayed, others tensorwise)"),
    KEY("attention", BASE_NAME, recipe.attention, .initial = "flash", .names = model_attention_names,
        .help = "flash: one kernel that skips what the causal mask hides and keeps one number per row; eager: scores "
                "and probabilities of every pair of tokens in memory"),
    KEY("flash_version", BASE_NAME, recipe.flash, .initial = "auto", .names = flash_names,
        .help = "1: the first FlashAttention, in Triton; 2: FlashAttention-2; 3: FlashAttention-3 or cuDNN's, on GPUs "
                "that have them; auto: 2 up to Hopper, 3 from data-centre Blackwell on, as PyTorch calls them; with "
                "cuDNN newer than 9.15 recent PyTorch calls cuDNN's on Hopper too: say 3"),
    KEY("attention_waits", BASE_FLAG, recipe.attention_waits, .initial = "no",
        .help = "the host waits for the GPU before each layer's flash attention, as Transformers does, which reads "
                "whether positions are packed (_is_packed_sequence: with one sequence in a micro-batch; before 4.53 "
                "with any number)"),
    KEY("repeat_kv", BASE_NAME, recipe.repeats_kv, .initial = "no", .names = repeat_names,
        .help = "of fewer key heads than heads: keys and values are copied out to every head before flash attention, "
                "which keeps the copies, as callers of PyTorch's scaled_dot_product_attention do that do not ask for "
                "enable_gqa (torchtitan until 2026, torchtune, KempnerForge, OLMo-core compiled, litgpt, Transformers' "
                "sdpa); no: the kernel shares them, as flash-attn's own functions do; without-context: yes, but where "
                "context "
                "ranks exchange keys and values, which are then those of the model's own heads (what recipes say)"),
    KEY("use_cache", BASE_FLAG, recipe.use_cache, .initial = "no",
        .help = "layers' keys and values are among the model's outputs, and the training loop holds these, with their "
                "logits, until the next forward returns (Transformers' config.use_cache, in loops that keep `outputs`, "
                "where it is not Transformers itself that checkpoints layers)"),
    KEY("dropout", BASE_NUMBER, recipe.dropout, .initial = "0", .max = 0.99,
        .help = "probability; above 0 it adds masks and passes after the embedding and both branches (gpt), and on the "
                "attention weights where attention is eager (flash drops inside its kernel and keeps no mask)"),
    KEY("expert_imbalance", BASE_NUMBER, recipe.expert_imbalance, .initial = "1", .min = 1, .max = 1024,
        .help = "mixture of experts whose ranks share the experts, dropless: rows on the rank that is given most, over "
                "the mean; that rank decides time and memory. 1: even"),
    KEY("expert_capacity", BASE_NUMBER, recipe.expert_capacity, .initial = "0", .max = 1024,
        .help = "mixture of experts: rows that each expert takes, over the mean; what is more is dropped, what is less "
                "is padded. 0: every row is worked on, as it comes (dropless)"),
    KEY("loss", BASE_NAME, recipe.loss, .initial = "default", .names = loss_names,
        .help =
            "eager: cross-entropy over an fp32 copy of all logits; fused: one kernel that leaves the gradient "
            "where the logits were; vocab-parallel: an fp32 softmax that becomes the gradient in its place; "
            "vocab-parallel-in-place: its fp32 copy of the logits becomes the softmax; half: eager in the logits' "
            "own 16 bits, without the copy; kept: eager, and the trainer holds the fp32 logits until backward is "
            "over; causal-lm: kept, over a shifted copy, as Transformers' models computed it until 4.45; half-kept: "
            "half, and the training loop holds the logits until the next forward returns; without all logits: "
            "fused-linear (Liger's: gradients are made "
            "in forward, chunk by chunk), chunked (torchtitan's: "
            "the eager loss and its backward for each of eight chunks), chunked-recompute (TRL's chunked_nll: "
            "chunks of 256 tokens, computed again in backward), cut (Cut Cross-Entropy's kernels); default: "
            "megatron's is vocab-parallel-in-place, nanotron's vocab-parallel, the others' eager"),
    KEY("loss_metrics", BASE_COUNT, recipe.loss_metrics, .initial = "0", .max = LOSS_METRICS_MOST,
        .help =
            "cross-entropies of all logits, in fp32 and eager, that the trainer computes after each micro-batch for "
            "metrics of training, and sums over all ranks after each step as torchmetrics does (MosaicML's Composer "
            "with MPT: 2, the loss and the perplexity, each by itself)"),
    KEY("compile", BASE_FLAG, recipe.compiled, .initial = "no",
        .help = "torch.compile: memory-bound operations fused, and less work for the host per kernel"),
    KEY("compile_graph", BASE_NAME, recipe.graph, .initial = "layer", .names = graph_names,
        .help = "what torch.compile makes one graph of: each layer, as where FSDP's hooks or DDP's buckets cut the "
                "model (torch._dynamo.config.optimize_ddp, on by default), or, under framework ddp, the whole model, "
                "whose backward returns all gradients at once: nothing of their reduction hides"),
    KEY("fused_kernels", BASE_NAME, fused_kernels, .initial = "no", .names = fused_names,
        .help = "norms, rotary embedding, activations, masked softmax and dropout with its residual by one kernel each "
                "(Apex, Transformer Engine, Megatron-LM), without compiling; liger: norms, rotary embedding and gated "
                "activations by Liger-Kernel's, which turn queries and keys where they lie, and leave gradients where "
                "what they are of was; norms: norms and rotary embedding alone; rms-norm: norms alone, as "
                "torch.nn.RMSNorm from PyTorch 2.9 on. Where it is not given: megatron yes, nanotron norms"),
    KEY("rotary", BASE_NAME, recipe.rotary, .initial = "halves", .names = rotary_names,
        .help = "rotary embedding by separate kernels: halves are exchanged and joined in 16 bits (Transformers, "
                "torchtitan's Qwen3), or pairs are complex numbers in fp32 (Meta's and torchtitan's Llama). Where it "
                "is not given: fsdp2 complex"),
    KEY("base_weights", BASE_NAME, recipe.base, .initial = "full", .names = base_names, .later = later_bases,
        .help = "of the linear layers that adapters stand beside (trainable = lora:RANK), the head left out; full: as "
                "precision says; nf4: 4 bits and an fp32 maximum for each 64, made 16 bits again for each matmul "
                "(QLoRA, bitsandbytes); nf4-double: a byte for the maximum; int8: a byte and an fp32 scale "
                "for each output (LLM.int8). Experts stay as they are"),
    KEY("lora_dropout", BASE_NUMBER, recipe.lora_dropout, .initial = "0", .max = 0.99,
        .help = "probability of the dropout before each adapter (trainable = lora:RANK; peft's lora_dropout); above 0 "
                "each adapter keeps a copy of its input and a mask of its own, in place of the layer's input"),
    KEY("projections", BASE_NAME, recipe.projections, .initial = "separate", .names = projections_names,
        .help = "of the llama family, separate: q, k, v, gate and up are matmuls of their own; joined: one for q, k "
                "and v, one for gate and up; copied: joined, and q, k and v copied apart, with sequences first, for "
                "attention; qkv: one for q, k and v alone, as litgpt has it. Where it is not given: megatron joined, "
                "nanotron copied"),
};
const ConfSchema model_recipe_schema = {keys, G_N_ELEMENTS(keys)};

gboolean model_recipe_load(const ConfSettings *settings, ModelRecipe *ret, GError **error) {
  Keys read = {0};
  if (!conf_settings_fill(settings, &model_recipe_schema, &read, error))
    return FALSE;
  if (read.recipe.graph != MODEL_GRAPH_LAYER && !read.recipe.compiled)
    return conf_settings_fail(settings, "training.compile_graph", error,
                              "nothing is compiled; set training.compile=yes");
  read.recipe.kernels = read.recipe.compiled ? MODEL_KERNELS_FUSED : read.fused_kernels;
  *ret = read.recipe;
  return TRUE;
}

void model_recipe_settle(const ModelShape *shape, const ConfSettings *settings, ModelRecipe *recipe) {
  if (shape->encoder_layers == 0)
    return;
  if (recipe->decoder_length == 0)
    recipe->decoder_length = recipe->sequence_length;
  if (!conf_settings_given(settings, "training.attention"))
    recipe->attention = MODEL_ATTENTION_EAGER;
}

/* What transformers' T5 has. */
static gboolean check_stacks(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                             GError **error) {
  gboolean activation_fused = recipe->kernels == MODEL_KERNELS_FUSED || recipe->kernels == MODEL_KERNELS_LIGER;
  const struct {
    gboolean refused;
    const char *key, *why;
  } refusals[] = {
      {recipe->attention != MODEL_ATTENTION_EAGER, "attention",
       "no flash kernel adds a bias to its scores; set it to eager"},
      {recipe->compiled, "compile", "compiled layers of it are not modelled; set it to no"},
      {activation_fused, "fused_kernels", "its norms alone may be fused; set it to rms-norm"},
      {recipe->precision == MODEL_FP8, "precision", "fp8 is not modelled for it; set it to bf16"},
      {recipe->packing != MODEL_PACKING_FULL, "packing", "its samples are a sequence each; set it to full"},
      {recipe->projections != MODEL_PROJECTIONS_SEPARATE, "projections", "its projections are separate; leave it out"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
    g_autofree char *key = g_strconcat("training.", refusals[i].key, NULL);
    if (refusals[i].refused)
      return conf_settings_fail(settings, key, error, "%s has a decoder beside an encoder: %s", shape->name,
                                refusals[i].why);
  }
  return TRUE;
}

gboolean model_recipe_check(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                            GError **error) {
  ModelTraits traits = model_shape_traits(shape);
  if (!model_samples_check(shape, recipe, settings, error))
    return FALSE;
  if (shape->encoder_layers > 0 && !check_stacks(shape, recipe, settings, error))
    return FALSE;
  if (shape->encoder_layers == 0 && recipe->decoder_length > 0)
    return conf_settings_fail(settings, "training.decoder_length", error,
                              "%s has one stack of layers, whose length is training.sequence_length", shape->name);
  if (model_has(traits, MODEL_LEARNED) && recipe->sequence_length > shape->max_positions)
    return conf_settings_fail(settings, "training.sequence_length", error,
                              "%" G_GUINT64_FORMAT " is more than the %" G_GUINT64_FORMAT
                              " learned positions of %s (model.max_positions)",
                              recipe->sequence_length, shape->max_positions, shape->name);
  if (model_has(traits, MODEL_PATCHES) && recipe->sequence_length != shape->max_positions)
    return conf_settings_fail(settings, "training.sequence_length", error,
                              "%" G_GUINT64_FORMAT " is not the %" G_GUINT64_FORMAT
                              " patches and one token of an image of %s (model.max_positions)",
                              recipe->sequence_length, shape->max_positions, shape->name);
  if (recipe->attention_waits && recipe->attention != MODEL_ATTENTION_FLASH)
    return conf_settings_fail(
        settings, "training.attention_waits", error,
        "it is flash attention that is asked for by positions; eager attention waits for nothing");
  gboolean many = model_has(traits, MODEL_QK_NORM | MODEL_QK_NORM_WIDE | MODEL_QK_NORM_PLAIN | MODEL_BRANCH_NORM) ||
                  shape->kv_rank > 0 || shape->experts > 0;
  if (recipe->loss_metrics > 0 && model_loss_in_chunks(recipe->loss))
    return conf_settings_fail(settings, "training.loss_metrics", error,
                              "are over all logits, which this loss never makes; training.loss = eager");
  if (many && recipe->precision == MODEL_FP8 && recipe->kernels == MODEL_KERNELS_EAGER)
    return conf_settings_fail(settings, "training.precision", error,
                              "fp8 by separate kernels is not modelled for %s, which %s; set "
                              "training.compile=yes or training.fused_kernels=yes",
                              shape->name,
                              shape->experts > 0   ? "has experts"
                              : shape->kv_rank > 0 ? "has latent attention"
                                                   : "norms queries and keys");
  return TRUE;
}

/* ModelPrecision to KernelDtype. */
static const KernelDtype dtypes[] = {[MODEL_BF16] = KERNEL_BF16,
                                     [MODEL_FP16] = KERNEL_FP16,
                                     [MODEL_FP32] = KERNEL_FP32,
                                     [MODEL_TF32] = KERNEL_TF32,
                                     [MODEL_FP8] = KERNEL_FP8};

guint32 model_precision_bytes(int precision) {
  return kernel_dtype_bytes(precision == MODEL_FP8 ? KERNEL_BF16 : dtypes[precision]);
}

int model_precision_dtype(int precision) {
  return dtypes[precision];
}
