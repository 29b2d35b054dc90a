/* SPDX-License-Identifier: MIT */
/* The head of the model: from the residual stream to logits, and their loss.
 *
 *   input ─ final_norm ─ lm_head ─ logits ─ loss            t × v of this rank
 *
 * Where the vocabulary is split over tensor ranks the loss is of the ranks together: each takes the largest of its
 * logits, the sum of their exponentials, and the logit of the token's label if it is one of its own, and these are
 * reduced, a number per token each. Or the logits are gathered, and each rank computes the loss of all.
 *
 * Losses that never hold all logits are in model-head-chunks.c, a head in parts in model-head-parts.c. */
#include "base-error.h"
#include "model-autocast.h"
#include "model-head-chunks.h"
#include "model-head-parts.h"
#include "model-region.h"

static const ModelNormNames norm_names = MODEL_NORM_NAMES("final_norm");
static const ModelLinearNames head_names = MODEL_LINEAR_NAMES("lm_head");
static const ModelRegionNames head_region = MODEL_REGION_NAMES("normed");

static gboolean splits_vocabulary(const ModelBuild *build) {
  return build->tensor > 1 && !build->share->whole_vocabulary;
}

/* Whether the ranks compute one loss together. */
static gboolean is_joint(const ModelBuild *build) {
  return splits_vocabulary(build) && !build->share->whole_logits;
}

/* Logits that a rank's loss is over. */
static double loss_elements(const ModelBuild *build) {
  gboolean gathered = splits_vocabulary(build) && build->share->whole_logits;
  return build->t * build->v * (gathered ? build->tensor : 1);
}

/* A number per token, or a few. */
static ModelSet per_token(ModelBuild *build, const char *name, double numbers) {
  return model_build_inner(build, name, numbers * MODEL_BYTES_FP32 * build->t);
}

static void sum_over_ranks(ModelBuild *build, const char *name, double numbers, ModelSet what) {
  model_build_exchange(build, MODEL_FORWARD, name, MODEL_EXCHANGE_ALL_REDUCE, MODEL_AXIS_TENSOR,
                       numbers * MODEL_BYTES_FP32 * build->t, what, 0);
}

/* The loss is in the logits' own type: so are the softmax and its gradient, and there is no fp32 copy of the logits. */
static gboolean loss_is_half(const ModelBuild *build) {
  return build->recipe->loss == MODEL_LOSS_HALF || build->recipe->loss == MODEL_LOSS_HALF_KEPT;
}

static double loss_bytes(const ModelBuild *build) {
  return loss_is_half(build) ? build->e : MODEL_BYTES_FP32;
}

static gboolean widens(const ModelBuild *build) {
  return build->half && !loss_is_half(build);
}

static gboolean keeps_logits(const ModelBuild *build) {
  return build->recipe->loss == MODEL_LOSS_KEPT || build->recipe->loss == MODEL_LOSS_CAUSAL_LM ||
         build->recipe->loss == MODEL_LOSS_HALF_KEPT;
}

/* In place of logits[:, :-1].contiguous(): a token less of each sequence is no token less. */
static ModelSet shifted_copy(ModelBuild *build, ModelSet logits) {
  double wide = MODEL_BYTES_FP32 * loss_elements(build);
  ModelSet shifted = model_build_scratch(build, "logits_of_labels", wide);
  model_build_memory(build, MODEL_FORWARD, "logits_of_labels", 2 * wide, logits, shifted);
  return shifted;
}

/* What the loss reads, and in *ret_kept what of it stays until backward is over. */
static ModelSet fp32_copy(ModelBuild *build, ModelSet logits, ModelSet *ret_kept) {
  double elements = loss_elements(build);
  ModelSet in_fp32 = logits;
  if (widens(build)) {
    in_fp32 = keeps_logits(build) ? model_build_inner(build, "logits_fp32", MODEL_BYTES_FP32 * elements)
                                  : model_build_scratch(build, "logits_fp32", MODEL_BYTES_FP32 * elements);
    model_build_memory(build, MODEL_FORWARD, "logits_fp32", (build->e + MODEL_BYTES_FP32) * elements, logits, in_fp32);
  }
  *ret_kept = keeps_logits(build) ? in_fp32 : 0;
  return build->recipe->loss == MODEL_LOSS_CAUSAL_LM ? shifted_copy(build, in_fp32) : in_fp32;
}

static ModelSet largest_of_all(ModelBuild *build, ModelSet in_fp32) {
  ModelSet largest = per_token(build, "logits_max", 1);
  model_build_kernels(build, MODEL_FORWARD, "cross_entropy.max", KERNEL_MEMORY, 1,
                      loss_bytes(build) * loss_elements(build), in_fp32, largest);
  sum_over_ranks(build, "cross_entropy.max.reduce", 1, largest);
  return largest;
}

/* Label's logit and sum of exponentials, each reduced by itself. */
static void reduce_sums(ModelBuild *build, ModelSet label, ModelSet sum) {
  sum_over_ranks(build, "cross_entropy.label.reduce", 1, label);
  sum_over_ranks(build, "cross_entropy.sum.reduce", 1, sum);
}

/* Cross-entropy as PyTorch computes it: the logits in fp32, their log-softmax (kept), and the loss of each token's
 * label, whose row is next to nothing. The caller holds the logits until the loss is there. Backward: a matrix of zeros
 * with one entry per token, the softmax's gradient from it and the kept log-softmax, and the cast back. */
static ModelSet loss_forward(ModelBuild *build, ModelSet logits, ModelSet log_softmax) {
  ModelSet kept, read = fp32_copy(build, logits, &kept);
  ModelOp *loss = model_build_kernels(build, MODEL_FORWARD, "cross_entropy", KERNEL_LOSS, 2,
                                      2 * loss_bytes(build) * loss_elements(build), logits | read | kept, log_softmax);
  loss->saves = log_softmax | kept;
  return kept;
}

/* The gradient of the shifted copy, laid into zeros of the logits' size. */
static ModelSet unshift(ModelBuild *build, ModelSet d_shifted, ModelSet d_fp32) {
  double wide = MODEL_BYTES_FP32 * loss_elements(build);
  model_build_memory(build, MODEL_BACKWARD, "logits_of_labels.backward", 2 * wide, d_shifted, d_fp32);
  return d_fp32;
}

static void loss_backward(ModelBuild *build, ModelSet log_softmax, ModelSet kept, ModelSet d_logits) {
  double elements = loss_elements(build), wide = loss_bytes(build) * elements;
  gboolean shifts = build->recipe->loss == MODEL_LOSS_CAUSAL_LM;
  ModelSet d_log_softmax = model_build_scratch(build, "d_log_softmax", wide);
  ModelSet d_wide = widens(build) ? model_build_scratch(build, "d_logits_fp32", wide) : d_logits;
  ModelSet d_loss = shifts ? model_build_scratch(build, "d_logits_of_labels", wide) : d_wide;
  model_build_kernels(build, MODEL_BACKWARD, "cross_entropy.backward", KERNEL_LOSS, 3, (1 + 3) * wide,
                      log_softmax | d_log_softmax | kept, d_loss | d_log_softmax);
  if (shifts)
    unshift(build, d_loss | kept, d_wide);
  if (widens(build))
    model_build_memory(build, MODEL_BACKWARD, "logits_fp32.backward", (MODEL_BYTES_FP32 + build->e) * elements,
                       d_wide | kept, d_logits);
}

/* The same of ranks together, written out (torch/distributed/tensor/parallel/loss.py): the largest (read), the
 * difference (in, out), its exponential (in, out) and their sum (read), and the difference less the sum's logarithm
 * (in, out). Backward: zeros with one entry per token (out), the exponential of what was kept (in, out), their sum (two
 * in, one out) and the product with the loss's gradient (in, out). */
static ModelSet joint_loss_forward(ModelBuild *build, ModelSet logits, ModelSet log_softmax) {
  double wide = loss_bytes(build) * loss_elements(build);
  ModelSet kept, in_fp32 = fp32_copy(build, logits, &kept), largest = largest_of_all(build, in_fp32);
  ModelSet shifted = model_build_inner(build, "logits_shifted", wide);
  ModelSet exponentials = model_build_scratch(build, "exponentials", wide);
  ModelSet label = per_token(build, "label_loss", 1), sum = per_token(build, "exponentials_sum", 1);
  model_build_kernels(build, MODEL_FORWARD, "cross_entropy.sums", KERNEL_MEMORY, 3, (2 + 2 + 1) * wide,
                      in_fp32 | largest | exponentials, shifted | exponentials | label | sum);
  reduce_sums(build, label, sum);
  model_build_memory(build, MODEL_FORWARD, "cross_entropy", 2 * wide, logits | shifted | label | sum | kept,
                     log_softmax)
      ->saves = log_softmax | kept;
  return kept;
}

static void joint_loss_backward(ModelBuild *build, ModelSet log_softmax, ModelSet kept, ModelSet d_logits) {
  double elements = loss_elements(build), wide = loss_bytes(build) * elements;
  ModelSet scratch = model_build_scratch(build, "d_log_softmax", wide) | model_build_scratch(build, "softmax", wide);
  ModelSet d_fp32 = widens(build) ? model_build_scratch(build, "d_logits_fp32", wide) : d_logits;
  model_build_kernels(build, MODEL_BACKWARD, "cross_entropy.backward", KERNEL_MEMORY, 4, (1 + 2 + 3 + 2) * wide,
                      log_softmax | scratch | kept, d_fp32 | scratch);
  if (widens(build))
    model_build_memory(build, MODEL_BACKWARD, "logits_fp32.backward", (MODEL_BYTES_FP32 + build->e) * elements,
                       d_fp32 | kept, d_logits);
}

/* One kernel that reads the logits twice (maximum and sum as it goes; then each) and leaves their gradient in their
 * place (Liger-Kernel's, as Apex's and FlashAttention's with inplace_backward). Backward scales that by the loss's
 * gradient, which is 1: nothing to do but hand it on. Of ranks together two kernels: what the first finds, three
 * numbers per token, is gathered (Transformer Engine, pytorch/triton/cross_entropy.py). */
static void fused_loss(ModelBuild *build, ModelSet logits) {
  double bytes = build->e * loss_elements(build);
  if (!is_joint(build)) {
    model_build_kernels(build, MODEL_FORWARD, "cross_entropy", KERNEL_MEMORY, 1, 3 * bytes, logits, 0)->saves = logits;
    return;
  }
  ModelSet found = per_token(build, "logits_found", 3), all = per_token(build, "logits_found_all", 3 * build->tensor);
  model_build_memory(build, MODEL_FORWARD, "cross_entropy.sums", bytes, logits, found);
  model_build_exchange(build, MODEL_FORWARD, "cross_entropy.gather", MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR,
                       3 * MODEL_BYTES_FP32 * build->t * build->tensor, found, all);
  model_build_memory(build, MODEL_FORWARD, "cross_entropy", 2 * bytes, logits | all, 0)->saves = logits;
}

/* A softmax over the vocabulary written out in PyTorch, as for a vocabulary that ranks share
 * (_VocabParallelCrossEntropy of Megatron-LM, tensor_parallel/cross_entropy.py; nanotron's sharded_cross_entropy): an
 * fp32 copy, its maximum (read), the difference (read, written), then in its place the exponential (read, written), the
 * sum (read) and the quotient (read, written). What is left is the softmax, and becomes the gradient in its place.
 * nanotron's difference is another tensor than the copy; Megatron-Core's is the copy itself. */
static ModelSet softmax_begun(ModelBuild *build, ModelSet logits, ModelSet softmax) {
  ModelSet kept;
  if (build->recipe->loss != MODEL_LOSS_IN_PLACE || !build->half)
    return fp32_copy(build, logits, &kept);
  model_build_memory(build, MODEL_FORWARD, "logits_fp32", (build->e + MODEL_BYTES_FP32) * loss_elements(build), logits,
                     softmax);
  return softmax;
}

void model_head_vocab_parallel(ModelBuild *build, ModelSet logits, ModelSet in_fp32, ModelSet softmax) {
  double wide = MODEL_BYTES_FP32 * loss_elements(build);
  ModelSet written = in_fp32 == softmax ? 0 : softmax;
  if (!is_joint(build)) {
    model_build_kernels(build, MODEL_FORWARD, "cross_entropy", KERNEL_MEMORY, 5, (1 + 2 + 2 + 1 + 2) * wide,
                        logits | in_fp32, written)
        ->saves = softmax;
    return;
  }
  ModelSet largest = largest_of_all(build, in_fp32);
  ModelSet label = per_token(build, "label_logit", 1), sum = per_token(build, "exponentials_sum", 1);
  model_build_kernels(build, MODEL_FORWARD, "cross_entropy.sums", KERNEL_MEMORY, 3, (2 + 2 + 1) * wide,
                      in_fp32 | largest, written | label | sum);
  reduce_sums(build, label, sum);
  model_build_memory(build, MODEL_FORWARD, "cross_entropy", 2 * wide, logits | softmax | label | sum, 0)->saves =
      softmax;
}

static ModelSet vocab_parallel_forward(ModelBuild *build, ModelSet logits, ModelSet softmax) {
  model_head_vocab_parallel(build, logits, softmax_begun(build, logits, softmax), softmax);
  return 0;
}

static void vocab_parallel_backward(ModelBuild *build, ModelSet softmax, ModelSet kept, ModelSet d_logits) {
  double elements = loss_elements(build);
  model_build_memory(build, MODEL_BACKWARD, "cross_entropy.backward",
                     (2 * MODEL_BYTES_FP32 + (build->half ? MODEL_BYTES_FP32 + build->e : 0)) * elements,
                     softmax | kept, d_logits);
}

/* ---- Logits ---- */

/* ---- Between the stream and the logits ---- */

/* The final norm, and what a masked model (bert) has before it: a linear layer and an activation, of the tokens that
 * are this rank's. */
typedef struct {
  int weight, bias;
  ModelNorm norm;
  ModelSet read, made, active; /* read: by the linear layer; active: by the norm */
  ModelSet mask;               /* of dropout after the norm */
} Before;

static gboolean has_final_norm(const ModelBuild *build) {
  return model_build_has(build, MODEL_FINAL_NORM);
}

static void before_define(ModelBuild *build, Before *before) {
  before->weight = -1;
  if (model_build_has(build, MODEL_HEAD_TRANSFORM)) {
    before->weight = model_build_parameter(build, "transform.weight", build->h, build->h);
    before->bias = model_build_parameter(build, "transform.bias", build->h, 1);
    for (int parameter = before->weight; parameter <= before->bias; parameter++)
      model_build_place(build, parameter, build->sequence ? MODEL_PLACE_SUMMED : MODEL_PLACE_WHOLE,
                        (double)build->parameters[parameter].elements);
  }
  if (!has_final_norm(build))
    return;
  before->norm = model_norm(build, &norm_names);
  before->norm.elements /= 1 + (double)build->shape->mtp_layers; /* the further stream was normed by its layer */
}

static gboolean drops_at_end(const ModelBuild *build) {
  return model_build_has(build, MODEL_INNER_DROPOUT) && build->recipe->dropout > 0;
}

static gboolean scales(const ModelBuild *build) {
  return model_build_has(build, MODEL_SCALED_TIED) && build->shape->tied_embeddings;
}

/* t5: dropout, and a tied head's factor. */
static ModelSet end_of_stack(ModelBuild *build, Before *before, ModelSet normed) {
  double elements = build->between * build->h;
  ModelSet x = normed;
  if (drops_at_end(build)) {
    x = model_inner_like(build, "normed_dropped", elements, normed);
    before->mask = model_build_inner(build, "normed_mask", elements);
    model_dropout_forward(build, "final_dropout", elements, normed, x, before->mask);
  }
  if (!scales(build))
    return x;
  ModelSet scaled = model_inner_like(build, "normed_scaled", elements, x);
  model_build_memory(build, MODEL_FORWARD, "lm_head.scale", 2 * model_element(build, x) * elements, x, scaled);
  return scaled;
}

static ModelSet end_of_stack_backward(ModelBuild *build, const Before *before, ModelSet d_read) {
  double elements = build->between * build->h;
  ModelSet d_x = d_read;
  if (scales(build)) {
    d_x = model_inner_like(build, "d_normed_dropped", elements, d_read);
    model_build_memory(build, MODEL_BACKWARD, "lm_head.scale.backward", 2 * model_element(build, d_read) * elements,
                       d_read, d_x);
  }
  if (!drops_at_end(build))
    return d_x;
  ModelSet d_normed = model_inner_like(build, "d_final_normed", elements, d_x);
  model_dropout_backward(build, "final_dropout.backward", elements, before->mask, d_x, d_normed);
  return d_normed;
}

static ModelSet before_forward(ModelBuild *build, Before *before, ModelSet input) {
  double elements = build->between * build->h, stream = build->e * elements;
  before->read = before->active = input;
  if (before->weight >= 0) {
    before->read = model_narrow(build, MODEL_FORWARD, "transform.autocast", "transform.input_16bit", elements, input);
    before->made = model_build_inner(build, "transformed", stream);
    before->active = model_build_inner(build, "transform_gelu", stream);
    ModelOp *op = model_build_matmul(build, MODEL_FORWARD, "transform", 1, build->between, build->h, build->h,
                                     before->read, before->made);
    op->saves = before->read;
    op->uses = (guint64)1 << before->weight | (guint64)1 << before->bias;
    model_build_memory(build, MODEL_FORWARD, "transform.gelu", 2 * stream, before->made, before->active)->saves =
        before->made;
  }
  if (!has_final_norm(build))
    return before->active;
  ModelSet normed = build->recipe->compiled ? model_build_inner(build, "normed", stream)
                                            : model_stream_inner(build, "normed", elements);
  model_norm_forward(build, &before->norm, before->active, normed);
  return end_of_stack(build, before, normed);
}

/* From the gradient of what the head's matmul read to d_input. */
static void before_backward(ModelBuild *build, const Before *before, ModelSet d_normed, ModelSet d_input) {
  double elements = build->between * build->h, stream = build->e * elements;
  if (!has_final_norm(build)) {
    model_build_memory(build, MODEL_BACKWARD, "lm_head.input.backward", 2 * build->w * elements, d_normed, d_input);
    return;
  }
  d_normed = end_of_stack_backward(build, before, d_normed);
  ModelSet d_active = before->weight >= 0 ? model_build_inner(build, "d_transform_gelu", stream) : d_input;
  model_norm_backward(build, &before->norm, before->active, d_normed, d_active);
  if (before->weight < 0)
    return;
  ModelSet d_made = model_build_inner(build, "d_transformed", stream);
  model_build_memory(build, MODEL_BACKWARD, "transform.gelu.backward", 3 * stream, d_active | before->made, d_made);
  gboolean cast = model_is_wide(build, d_input);
  ModelSet d_read = cast ? model_build_inner(build, "d_transform.input_16bit", stream) : d_input;
  model_build_matmul(build, MODEL_BACKWARD, "transform.dgrad", 1, build->between, build->h, build->h, d_made, d_read)
      ->uses = (guint64)1 << before->weight;
  model_build_wgrad(build, "transform.wgrad", build->h, build->h, build->between, d_made | before->read)->gradient_of =
      before->weight;
  model_widen(build, "transform.autocast.backward", elements, d_read, d_input);
  model_build_kernels(build, MODEL_BACKWARD, "transform.bgrad", KERNEL_REDUCTION, 1, stream, d_made, 0)->gradient_of =
      before->bias;
}

/* A quotient, its tanh and a product: of all logits, or one kernel where it is compiled. Nothing where the loss's own
 * kernel caps them. */
#define CAP_KERNELS 3
static gboolean caps(const ModelBuild *build) {
  return model_build_has(build, MODEL_CAPPED_LOGITS) && build->recipe->loss != MODEL_LOSS_FUSED;
}

static ModelSet capped(ModelBuild *build, ModelSet logits) {
  double bytes = build->e * build->t * build->v;
  guint32 kernels = build->fused_masks ? 1 : CAP_KERNELS;
  if (!caps(build))
    return logits;
  ModelSet made = model_build_inner(build, "logits_capped", bytes);
  model_build_kernels(build, MODEL_FORWARD, "logits.cap", KERNEL_MEMORY, kernels, 2 * kernels * bytes, logits, made)
      ->saves = made;
  return made;
}

static ModelSet capped_backward(ModelBuild *build, ModelSet made, ModelSet d_logits) {
  double bytes = build->e * build->t * build->v;
  guint32 kernels = build->fused_masks ? 1 : CAP_KERNELS;
  if (!caps(build))
    return d_logits;
  ModelSet d_made = model_build_inner(build, "d_logits_uncapped", bytes);
  model_build_kernels(build, MODEL_BACKWARD, "logits.cap.backward", KERNEL_MEMORY, kernels, (2 * kernels + 1) * bytes,
                      d_logits | made, d_made);
  return d_made;
}

/* ---- Of an image its first token alone, of a text tower's text its last ---- */

static gboolean reads_one(const ModelBuild *build) {
  return model_build_has(build, MODEL_PATCHES | MODEL_ONE_TOKEN);
}

static ModelSet first_tokens(ModelBuild *build, ModelSet normed) {
  if (!reads_one(build))
    return normed;
  double elements = build->b * build->h;
  ModelSet first = model_inner_like(build, "first_tokens", elements, normed);
  model_build_kernels(build, MODEL_FORWARD, "first_tokens", KERNEL_GATHER, 1,
                      2 * model_element(build, normed) * elements, normed, first);
  build->t = build->between = build->b;
  return first;
}

/* Zeros, but for these. */
static ModelSet first_tokens_backward(ModelBuild *build, ModelSet d_first) {
  if (!reads_one(build))
    return d_first;
  build->t = build->between = build->b * build->s;
  double element = model_element(build, d_first);
  ModelSet d_normed = model_inner_like(build, "d_normed_all", build->t * build->h, d_first);
  model_build_kernels(build, MODEL_BACKWARD, "first_tokens.backward", KERNEL_GATHER, 2,
                      element * (build->t + 2 * build->b) * build->h, d_first, d_normed);
  return d_normed;
}

ModelLinear model_head_linear(ModelBuild *build) {
  gboolean split = splits_vocabulary(build);
  guint64 labels = build->shape->labels;
  double vocabulary = (double)(labels > 0 ? labels : build->shape->vocab_size);
  ModelLinear head = model_linear(build, &head_names, split ? MODEL_COLUMNS : MODEL_UNSPLIT, build->h, build->v,
                                  model_build_has(build, MODEL_HEAD_BIAS));
  head.useful = MIN(build->v, vocabulary / (split ? build->tensor : 1));
  build->parameters[head.weight].whole = (guint64)(vocabulary * build->h);
  build->parameters[head.weight].shared = build->shape->tied_embeddings;
  if (head.bias >= 0)
    build->parameters[head.bias].whole = build->shape->vocab_size;
  return head;
}

/* The logits of this rank's vocabulary become those of all. */
static ModelSet gathered_logits(ModelBuild *build, ModelSet own) {
  if (!splits_vocabulary(build) || is_joint(build))
    return own;
  double bytes = build->e * loss_elements(build);
  ModelSet whole = model_build_inner(build, "logits_whole", bytes);
  model_build_exchange(build, MODEL_FORWARD, "logits.gather", MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR, bytes, own,
                       whole);
  return whole;
}

static ModelSet own_gradient(ModelBuild *build, ModelSet d_whole) {
  if (!splits_vocabulary(build) || is_joint(build))
    return d_whole;
  double bytes = build->e * build->t * build->v;
  ModelSet own = model_build_inner(build, "d_logits_own", bytes);
  model_build_memory(build, MODEL_BACKWARD, "logits.slice", 2 * bytes, d_whole, own);
  return own;
}

/* What backward starts with, and forward's way to it. */
typedef struct {
  const char *kept;
  ModelSet (*forward)(ModelBuild *build, ModelSet logits, ModelSet softmax); /* logits that stay */
  void (*backward)(ModelBuild *build, ModelSet softmax, ModelSet kept, ModelSet d_logits);
} Loss;

static const Loss *loss_of(const ModelBuild *build) {
  static const Loss plain = {"log_softmax", loss_forward, loss_backward};
  static const Loss joint = {"log_softmax", joint_loss_forward, joint_loss_backward};
  static const Loss vocab_parallel = {"softmax", vocab_parallel_forward, vocab_parallel_backward};
  if (build->recipe->loss == MODEL_LOSS_FUSED)
    return NULL;
  if (build->recipe->loss == MODEL_LOSS_VOCAB_PARALLEL || build->recipe->loss == MODEL_LOSS_IN_PLACE)
    return &vocab_parallel;
  return is_joint(build) ? &joint : &plain;
}

/* Of one rank alone. Under autocast all chunks are of one copy in 16 bits. */
static void build_in_chunks(ModelBuild *build, Before *before, const ModelLinear *head, ModelHeadChunks *chunks) {
  double stream = build->between * build->h;
  sim_require(build->tensor == 1, 0, NULL, "a loss in chunks over tensor ranks");
  ModelSet input = model_stream_tensor(build, "input", MODEL_TENSOR_INPUT, stream);
  ModelSet normed = first_tokens(build, before_forward(build, before, input));
  double elements = build->t * build->h;
  ModelSet read = model_narrow(build, MODEL_FORWARD, head->names->cast, head->names->copy, elements, normed);
  model_chunks_forward(build, chunks, head, read);
  ModelSet d_input = model_stream_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, stream);
  ModelSet d_read = model_chunks_backward(build, chunks, head, read);
  ModelSet d_normed = read != normed ? model_inner_like(build, "d_normed_fp32", elements, normed) : d_read;
  model_widen(build, head->names->cast_backward, elements, d_read, d_normed);
  before_backward(build, before, first_tokens_backward(build, d_normed), d_input);
}

void model_head_build(ModelBuild *build) {
  double stream = build->between * build->h;
  const Loss *loss = loss_of(build);
  Before before = {0};
  before_define(build, &before);
  ModelLinear head = model_head_linear(build);
  ModelRegion region;
  ModelHeadChunks chunks;
  if (model_chunks_of(build, &head, &chunks)) {
    build_in_chunks(build, &before, &head, &chunks);
    return;
  }

  ModelSet input = model_stream_tensor(build, "input", MODEL_TENSOR_INPUT, stream);
  ModelSet normed = first_tokens(build, before_forward(build, &before, input)),
           own = model_build_inner(build, "logits", build->e * build->t * build->v);
  ModelSet softmax = loss == NULL ? 0 : model_build_inner(build, loss->kept, loss_bytes(build) * loss_elements(build));
  ModelSet kept = 0;
  model_linear_forward(build, &head, model_region_enter(build, &region, &head_region, normed), own);
  ModelSet made = capped(build, own), logits = gathered_logits(build, made);
  if (loss == NULL)
    fused_loss(build, logits);
  else
    kept = loss->forward(build, logits, softmax);

  ModelSet d_logits = loss == NULL ? logits : model_build_inner(build, "d_logits", build->e * loss_elements(build)),
           d_normed = model_region_gradient(build, &region);
  ModelSet d_input = model_stream_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, stream);
  if (loss != NULL)
    loss->backward(build, softmax, kept, d_logits);
  d_logits = capped_backward(build, made, own_gradient(build, d_logits));
  d_normed = model_region_backward(build, &region, &head, d_logits, d_normed);
  before_backward(build, &before, first_tokens_backward(build, d_normed), d_input);
}
