/* SPDX-License-Identifier: MIT */
/* How the model is trained, as far as its operations and tensors depend on it.
 *
 *   ModelRecipe recipe;
 *   if (!model_recipe_load(settings, &recipe, error) || !model_recipe_check(&shape, &recipe, settings, error))
 *     return FALSE;
 *   guint64 logits = tokens * shape.vocab_size * model_precision_bytes(recipe.precision);
 */
#pragma once

#include "conf-settings.h"
#include "model-lora.h"
#include "model-shape.h"
#include "model-share.h"

typedef enum { MODEL_BF16, MODEL_FP16, MODEL_FP32, MODEL_TF32, MODEL_FP8 } ModelPrecision;
typedef enum { MODEL_ATTENTION_FLASH, MODEL_ATTENTION_EAGER } ModelAttention;
/* Of what the scales of fp8 operands are, and when they are found: of a tensor, as it is cast; of a row or a column; of
 * 32 elements in a row or column (mxfp8); of a tensor, from its largest values in steps before. DEFAULT: the
 * framework's. */
typedef enum {
  MODEL_FP8_DEFAULT,
  MODEL_FP8_TENSORWISE,
  MODEL_FP8_ROWWISE,
  MODEL_FP8_MX,
  MODEL_FP8_DELAYED
} ModelFp8Scaling;
/* Which flash kernels: those that frameworks usually call on the GPU, the first FlashAttention's, FlashAttention-2,
 * FlashAttention-3 or cuDNN's. */
typedef enum { MODEL_FLASH_USUAL, MODEL_FLASH_1, MODEL_FLASH_2, MODEL_FLASH_3 } ModelFlash;
/* Matmuls of their own for q, k, v, gate and up; one for q, k, v, one for gate and up; these, and copies for attention;
 * one for q, k, v alone. */
typedef enum {
  MODEL_PROJECTIONS_SEPARATE,
  MODEL_PROJECTIONS_JOINED,
  MODEL_PROJECTIONS_COPIED,
  MODEL_PROJECTIONS_QKV
} ModelProjectionsKind;
/* What a sequence is made of: model-samples.h. */
typedef enum { MODEL_PACKING_FULL, MODEL_PACKING_PACKED, MODEL_PACKING_PADDED } ModelPacking;
/* DEFAULT: the framework's; built as EAGER where nobody has said which that is. */
typedef enum {
  MODEL_LOSS_EAGER,
  MODEL_LOSS_FUSED,
  MODEL_LOSS_VOCAB_PARALLEL,
  MODEL_LOSS_IN_PLACE,  /* vocab-parallel, and the fp32 copy itself becomes the softmax */
  MODEL_LOSS_HALF,      /* cross-entropy in the logits' own 16 bits */
  MODEL_LOSS_KEPT,      /* eager; whoever called the model holds the fp32 logits until backward is over */
  MODEL_LOSS_CAUSAL_LM, /* so, and the loss is over a shifted copy of them */
  MODEL_LOSS_HALF_KEPT, /* as HALF, and the logits are held until the next forward returns */
  /* Those of model-head-chunks.c, on one rank alone, of which no logits are left for a metric: */
  MODEL_LOSS_FUSED_LINEAR,
  MODEL_LOSS_CHUNKED,
  MODEL_LOSS_CHUNKED_RECOMPUTE,
  MODEL_LOSS_CUT,
  MODEL_LOSS_DEFAULT
} ModelLoss;
/* Of a frozen base's linear layers, the head left out: as the others, in 4 bits or in 8. */
typedef enum { MODEL_BASE_FULL, MODEL_BASE_NF4, MODEL_BASE_NF4_DOUBLE, MODEL_BASE_INT8 } ModelBase;
/* How memory-bound operations run: as separate kernels of the framework, or each as one kernel. */
typedef enum {
  MODEL_KERNELS_EAGER,
  MODEL_KERNELS_FUSED,
  MODEL_KERNELS_NORMS,    /* norms and rotary embedding */
  MODEL_KERNELS_RMS_NORM, /* norms alone: torch.nn.RMSNorm from PyTorch 2.9 on */
  MODEL_KERNELS_LIGER     /* norms, rotary embedding and gated activations, most of which work in place */
} ModelKernels;
/* What torch.compile makes a graph of. */
typedef enum { MODEL_GRAPH_LAYER, MODEL_GRAPH_MODEL } ModelGraph;
typedef enum { MODEL_REPEAT_NO, MODEL_REPEAT_YES, MODEL_REPEAT_WITHOUT_CONTEXT } ModelRepeat;
/* How a framework's model turns queries and keys where no kernel does it at once. */
typedef enum { MODEL_ROTARY_HALVES, MODEL_ROTARY_COMPLEX } ModelRotary;

typedef struct ModelRecipe {
  guint64 sequence_length;
  guint64 decoder_length;              /* tokens of a decoder's sequence beside an encoder's; 0: none, or not stated */
  int packing;                         /* ModelPacking */
  guint64 sample_mean, sample_longest; /* tokens of a sample; 0: not stated */
  int precision;  /* ModelPrecision: bf16 and fp16 with fp32 master weights, fp32 and tf32 without; fp8: as bf16, the
                     layers' matmuls over operands that are cast for them */
  int attention;  /* ModelAttention */
  int flash;      /* ModelFlash; where attention is flash */
  int repeats_kv; /* ModelRepeat: keys and values are copied out to every head that shares them before flash attention,
                     which eager always does; settled to no or yes with the axes */
  double dropout; /* probability; > 0 adds masks and passes (gpt: embedding, residuals, attention; llama: attention
                     alone) */
  int loss;       /* ModelLoss */
  guint64 loss_metrics; /* cross-entropies of the logits that the trainer computes after each micro-batch, beside the
                           loss; their sums over ranks are the plan's */
  int projections;      /* ModelProjectionsKind; adapters are beside separate ones, gpt has q, k and v joined always */
  int rotary;           /* ModelRotary */
  int kernels;          /* ModelKernels: fused where `compile` or `fused_kernels` says so */
  gboolean compiled;    /* torch.compile: cheaper for the host too */
  int graph;            /* ModelGraph; where it is compiled */
  int fp8_scaling;      /* ModelFp8Scaling; where precision is fp8 */
  gboolean fp8_weights; /* precision fp8: weights come cast. Set by whoever knows how they are gathered */
  gboolean fp8_engine;  /* Transformer Engine's layers, whose weights are cast outside the unit: casts are its own
                           kernels, tensor ranks gather what is cast, experts multiply in fp8 too. Set by whoever knows
                           the framework */
  gboolean fp8_turns;   /* the GPU multiplies fp8 operands with the summed dimension innermost alone, so that backward
                           wants them turned (before compute capability 10.0). Set by whoever knows the GPU */
  gboolean fp8_pads;    /* engine: rows of each expert are copied to where their number is a multiple of 16 */
  int base;             /* ModelBase */
  double base_storage;  /* bytes of the type in which its packed weights are stored; 0: as an element's. Set by whoever
                           knows how parameters are kept */
  double expert_imbalance;    /* rows on the expert rank that is given most, over the mean; below 1 counts as 1 */
  double expert_capacity;     /* rows that each expert takes, over the mean: padded and cut to it; 0: as they come */
  gboolean experts_by_engine; /* Transformer Engine's grouped matmuls, for which the host counts each expert's rows, and
                                 weights of rows within the activation (Megatron-Core). Set by whoever knows the
                                 framework */
  gboolean use_cache;         /* layers' keys and values are outputs of the model, which the training loop holds until
                                 the next forward returns */
  gboolean autocast;          /* parameters are fp32 under torch.autocast: the residual stream and norms are fp32,
                                 matmuls of the precision's 16 bits: model-autocast.h. On one rank of each axis. Set by
                                 whoever knows how parameters are kept */
  guint32 wgrad_bytes;        /* that a weight's gradient takes an element where its matmul adds to what is there, read
                                 and written; 0: it makes one of the precision's bytes. Set by whoever knows the
                                 framework */
  gboolean attention_waits;   /* the host reads something of the device before flash attention */
  gboolean layer_functions;   /* linear layers are modules of the framework's own around an autograd function in Python,
                                 not torch.nn's. Set by whoever knows the framework */
  ModelLora lora;             /* adapters: then they alone are trained. Set by whoever knows what is trained */
  double lora_dropout;        /* probability, before each adapter; > 0 adds a pass, a copy of its input and a mask */
  ModelShare share; /* one rank's part of each unit. Set, and checked, by whoever knows the layout of the ranks */
} ModelRecipe;

/* [training]: sequence_length, decoder_length, packing, sample_mean, sample_longest, precision, attention,
 * flash_version, attention_waits, use_cache, dropout, loss, loss_metrics, compile, fused_kernels, rotary, projections,
 * base_weights, lora_dropout. */
extern const ConfSchema model_recipe_schema;

/* Reads [training] into *ret. Error: SIM_ERROR_INPUT, sequence_length is missing (the values themselves were checked
 * when they entered the settings). */
gboolean model_recipe_load(const ConfSettings *settings, ModelRecipe *ret, GError **error);

/* What nobody said, of a model with an encoder: the decoder's length, as long as the encoder's, and eager attention. */
void model_recipe_settle(const ModelShape *shape, const ConfSettings *settings, ModelRecipe *recipe);

/* Tokens of a sample, the decoder's too. */
static inline guint64 model_recipe_tokens(const ModelRecipe *recipe) {
  return recipe->sequence_length + recipe->decoder_length;
}

/* Whether this model can be trained so. Errors, at the key: a sequence longer than the learned positions;
 * samples that fit no sequence (model-samples.h); fp8 by separate kernels beside norms of queries and keys,
 * latent attention or experts; metrics of logits that no loss makes; what models with an encoder have not. */
gboolean model_recipe_check(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                            GError **error);

/* Whether the loss never holds all logits. */
static inline gboolean model_loss_in_chunks(int loss) {
  return loss >= MODEL_LOSS_FUSED_LINEAR && loss <= MODEL_LOSS_CUT;
}

/* Bytes of a parameter, gradient or activation element: 2 for bf16, fp16 and fp8, 4 for fp32 and tf32. */
guint32 model_precision_bytes(int precision);
/* The KernelDtype that its matmuls run in; fp8: those of the layers. */
int model_precision_dtype(int precision);

/* Compute capability from which on a GPU multiplies fp8 operands as they lie: 10.0; one that is not known does not. */
#define MODEL_FP8_ANY_ORDER_SINCE 100
/* mxfp8's scales are hardware's from there on. */
#define MODEL_FP8_MX_SINCE 100

extern const char *const model_fp8_scaling_names[]; /* "default", "tensorwise", … */
extern const char *const model_precision_names[];   /* "bf16", "fp16", "fp32", "tf32", "fp8" */
extern const char *const model_attention_names[];   /* "flash", "eager" */
