/* SPDX-License-Identifier: MIT */
/* What operations are in kernels: bytes, launches, which way; fused and eager; the optimizer's step. */
#include <string.h>

#include "harness.h"
#include "hw-catalog.h"
#include "kernel-op.h"
#include "model-host.h"
#include "model-optimizer.h"
#include "model-train.h"

static guint64 bytes_of_op(const ModelOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (strcmp(ops[i].name, name) == 0)
      return ops[i].kernel->bytes;
  CU_FAIL("no such operation");
  return 0;
}

static guint32 launches_of_op(const ModelOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (strcmp(ops[i].name, name) == 0)
      return kernel_launches(ops[i].kernel);
  return 0;
}

static const ModelShape small_llama = {.family = MODEL_LLAMA,
                                       .layers = 1,
                                       .hidden_size = 64,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .head_dim = 16,
                                       .intermediate_size = 160,
                                       .vocab_size = 1000};

/* Bytes per element in 16 bits, of the unfused kernels: RMSNorm 6 (to fp32) + 8 (squares) + 4 (mean) + 8 (scaled) + 6
 * (cast back) + 4 (weight) = 36, back 4 (weight) + 8 (the weight's gradient) + 6 (to fp32) + 24 (the product's) + 4
 * (mean) + 28 (square) + 12 (sum) + 6 (back) = 92; residual 2 + 2 + 2; silu 4 and product 6; rope 4 (cos) + 2 (half
 * negated) + 4 (joined) + 4 (sin) + 6 (sum) = 20; gelu 4; LayerNorm 4; the loss 2 + 4 to copy and 4 + 4 for the
 * log-softmax, back 4 (zeros) + 12 and 4 + 2; attention scores scale 4, mask 4 and softmax 4, back 6 and 4; dropout 2 +
 * 2 and a mask of 1. */
static void memory_bound_bytes(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_dim = 16,
                      .intermediate_size = 160,
                      .vocab_size = 1000,
                      .max_positions = 128};
  ModelRecipe recipe = {.sequence_length = 128};
  guint64 t = 128;
  g_autoptr(ModelUnit) llama = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_of_op(llama->forward, llama->n_forward, "input_norm"), t * 64 * 36);
  CU_ASSERT_EQUAL(launches_of_op(llama->forward, llama->n_forward, "input_norm"), 8);
  CU_ASSERT_EQUAL(bytes_of_op(llama->backward, llama->n_backward, "input_norm.backward"), t * 64 * 92);
  CU_ASSERT_EQUAL(bytes_of_op(llama->forward, llama->n_forward, "rope"), t * (64 + 32) * 20);
  CU_ASSERT_EQUAL(bytes_of_op(llama->forward, llama->n_forward, "mlp_residual"), t * 64 * 6);
  CU_ASSERT_EQUAL(bytes_of_op(llama->forward, llama->n_forward, "silu_mul"), t * 160 * 10);
  g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(bytes_of_op(head->forward, head->n_forward, "logits_fp32"), t * 1000 * 6);
  CU_ASSERT_EQUAL(bytes_of_op(head->forward, head->n_forward, "cross_entropy"), t * 1000 * 8);
  CU_ASSERT_EQUAL(bytes_of_op(head->backward, head->n_backward, "cross_entropy.backward"), t * 1000 * 16);
  CU_ASSERT_EQUAL(bytes_of_op(head->backward, head->n_backward, "logits_fp32.backward"), t * 1000 * 6);
  shape.family = MODEL_GPT;
  g_autoptr(ModelUnit) gpt = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_of_op(gpt->forward, gpt->n_forward, "input_norm"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(gpt->forward, gpt->n_forward, "gelu"), t * 160 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(gpt->backward, gpt->n_backward, "gelu.backward"), t * 160 * 6);

  recipe.attention = MODEL_ATTENTION_EAGER;
  recipe.dropout = 0.1;
  g_autoptr(ModelUnit) eager = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  guint64 pairs = 4 * t * t;
  CU_ASSERT_EQUAL(bytes_of_op(eager->forward, eager->n_forward, "scale_mask"), pairs * 8);
  CU_ASSERT_EQUAL(bytes_of_op(eager->forward, eager->n_forward, "softmax"), pairs * 4);
  CU_ASSERT_EQUAL(bytes_of_op(eager->forward, eager->n_forward, "attention_dropout"), pairs * 5);
  CU_ASSERT_EQUAL(bytes_of_op(eager->backward, eager->n_backward, "softmax.backward"), pairs * 6);
  CU_ASSERT_EQUAL(bytes_of_op(eager->backward, eager->n_backward, "scale_mask.backward"), pairs * 4);
  CU_ASSERT_EQUAL(bytes_of_op(eager->forward, eager->n_forward, "o_proj.dropout"), t * 64 * 5);
}

/* One kernel each: norm 2 + 2 bytes, rope 2 + 2, silu and product 3 × 2, back 5 × 2, the loss 3 × 2 in place of the
 * logits. What is kept loses silu, 2 bytes per element of the MLP's width, and of each norm 6 bytes per element in
 * place of the input's 2; the loss keeps the logits alone. */
static void fused_kernels(void) {
  ModelShape shape = small_llama;
  guint64 t = 128;
  ModelRecipe eager = {.sequence_length = t}, fused = eager;
  fused.kernels = MODEL_KERNELS_FUSED;
  fused.compiled = TRUE;
  fused.loss = MODEL_LOSS_FUSED;
  g_autoptr(ModelUnit) separate = model_unit_new(&shape, &eager, 1, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) one = model_unit_new(&shape, &fused, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_of_op(one->forward, one->n_forward, "input_norm"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(one->forward, one->n_forward, "rope"), t * (64 + 32) * 4);
  CU_ASSERT_EQUAL(bytes_of_op(one->forward, one->n_forward, "silu_mul"), t * 160 * 6);
  CU_ASSERT_EQUAL(bytes_of_op(one->backward, one->n_backward, "silu_mul.backward"), t * 160 * 10);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(separate) - model_unit_saved_bytes(one), t * (160 * 2 + 2 * 64 * 4));
  for (guint i = 0; i < one->n_forward + one->n_backward; i++)
    CU_ASSERT_TRUE(one->kernels[i].compiled);
  g_autoptr(ModelUnit) head = model_unit_new(&shape, &fused, 1, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(bytes_of_op(head->forward, head->n_forward, "cross_entropy"), t * 1000 * 6);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(head), t * (1000 * 2 + 64 * 2 * 2));
}

static gboolean has_op(const ModelOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (strcmp(ops[i].name, name) == 0)
      return TRUE;
  return FALSE;
}

/* Compiled, the sum before a norm is the norm's own kernel: of 16 bits both parts in, sum and normed out, 2 + 2 + 2 +
 * 2; back, the norm's 10 and what came past the branch, 2. Under autocast 4 + 2 + 4 + 2, and back 2 and 4 in, 4 out, 2
 * and 4 for the weight's gradient, what came past 4, and the sum in 16 bits for the next branch 2. The sum that ends
 * the layer is by itself. */
static void compiled_sums_are_norms(void) {
  const guint64 all = 128 * 64;
  ModelRecipe recipe = {.sequence_length = 128, .kernels = MODEL_KERNELS_FUSED, .compiled = TRUE};
  for (int autocast = 0; autocast < 2; autocast++) {
    recipe.autocast = autocast;
    g_autoptr(ModelUnit) layer = model_unit_new(&small_llama, &recipe, 1, MODEL_UNIT_LAYER);
    CU_ASSERT_FALSE(has_op(layer->forward, layer->n_forward, "attention_residual"));
    CU_ASSERT_TRUE(has_op(layer->forward, layer->n_forward, "mlp_residual"));
    CU_ASSERT_FALSE(has_op(layer->backward, layer->n_backward, "mlp_residual.backward"));
    CU_ASSERT_FALSE(has_op(layer->backward, layer->n_backward, "attention_residual.backward"));
    CU_ASSERT_EQUAL(bytes_of_op(layer->forward, layer->n_forward, "post_norm"), all * (autocast ? 12 : 8));
    CU_ASSERT_EQUAL(launches_of_op(layer->forward, layer->n_forward, "post_norm"), 1);
    CU_ASSERT_EQUAL(bytes_of_op(layer->backward, layer->n_backward, "post_norm.backward"), all * (autocast ? 22 : 12));
    CU_ASSERT_EQUAL(bytes_of_op(layer->backward, layer->n_backward, "input_norm.backward"), all * (autocast ? 20 : 12));
  }
  recipe.compiled = FALSE;
  g_autoptr(ModelUnit) fused = model_unit_new(&small_llama, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_TRUE(has_op(fused->forward, fused->n_forward, "attention_residual"));
}

static ModelSet written_by(const ModelOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (strcmp(ops[i].name, name) == 0)
      return ops[i].writes;
  CU_FAIL("no such operation");
  return 0;
}

static guint64 bytes_made(const ModelUnit *unit) {
  guint64 bytes = 0;
  for (guint i = 0; i < unit->n_tensors; i++)
    bytes += unit->tensors[i].role == MODEL_TENSOR_INNER ? unit->tensors[i].bytes : 0;
  return bytes;
}

/* Liger's kernels beside others of one kernel each move the same bytes, and make fewer tensors: the gradients of gate
 * and up, 2 · 160 elements a token, lie where these did, those of both norms, 2 · 64, where those of what they made
 * did; queries and keys, 64 + 32, are turned where they lie, and so are their gradients. LayerNorm makes its own, and
 * a plain MLP. Frozen, norms hand gradients down still. Halves of a joined output are copied first, and their gradients
 * joined. */
static void liger_works_in_place(void) {
  const guint64 t = 128;
  ModelShape shape = small_llama;
  ModelRecipe fused = {.sequence_length = t, .kernels = MODEL_KERNELS_FUSED}, liger = fused;
  liger.kernels = MODEL_KERNELS_LIGER;
  g_autoptr(ModelUnit) apart = model_unit_new(&shape, &fused, 1, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) placed = model_unit_new(&shape, &liger, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_made(apart) - bytes_made(placed), t * 2 * (2 * 160 + 2 * 64 + 2 * (64 + 32)));
  static const char *const backwards[] = {"silu_mul.backward", "rope.backward", "input_norm.backward",
                                          "post_norm.backward"};
  for (gsize i = 0; i < G_N_ELEMENTS(backwards); i++) {
    CU_ASSERT_TRUE(written_by(placed->backward, placed->n_backward, backwards[i]) == 0);
    CU_ASSERT_FALSE(written_by(apart->backward, apart->n_backward, backwards[i]) == 0);
    CU_ASSERT_EQUAL(bytes_of_op(placed->backward, placed->n_backward, backwards[i]),
                    bytes_of_op(apart->backward, apart->n_backward, backwards[i]));
  }
  CU_ASSERT_EQUAL(model_unit_saved_bytes(placed), model_unit_saved_bytes(apart));
  model_unit_train(placed, MODEL_FROZEN);
  model_unit_train(apart, MODEL_FROZEN);
  CU_ASSERT_EQUAL(placed->n_backward, apart->n_backward);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(placed), model_unit_saved_bytes(apart));
  for (gsize i = 0; i < G_N_ELEMENTS(backwards); i++)
    CU_ASSERT_TRUE(has_op(placed->backward, placed->n_backward, backwards[i]));

  fused.projections = liger.projections = MODEL_PROJECTIONS_JOINED;
  g_autoptr(ModelUnit) joined = model_unit_new(&shape, &fused, 1, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) halves = model_unit_new(&shape, &liger, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_of_op(halves->forward, halves->n_forward, "gate_up_apart"), t * 160 * 2 * 4);
  CU_ASSERT_TRUE(written_by(halves->backward, halves->n_backward, "silu_mul.backward") == 0);
  CU_ASSERT_FALSE(written_by(halves->backward, halves->n_backward, "split_gate_up.backward") == 0);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(halves), model_unit_saved_bytes(joined));

  shape.family = MODEL_GPT;
  fused.projections = liger.projections = MODEL_PROJECTIONS_SEPARATE;
  g_autoptr(ModelUnit) gpt = model_unit_new(&shape, &fused, 1, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) gpt_liger = model_unit_new(&shape, &liger, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_made(gpt), bytes_made(gpt_liger));
}

/* Two key heads of 16 for four heads, flash: keys and values of 2 · 32 numbers a token go out to 2 · 64, in 16 bits, in
 * two kernels, and their gradients come back the same way; compiled in one, without what the rotary embedding writes
 * and this would read again. The copies are kept in place of what they are of, and the kernel no longer sums the heads'
 * gradients, 2 · 64 written and read, in 2 · 64 of its own: it reads, and writes, 64 more a token than it did. Nothing
 * is done where all heads have keys of their own. */
static void keys_are_repeated(void) {
  guint64 t = 128;
  for (int compiled = 0; compiled < 2; compiled++) {
    ModelRecipe recipe = {
        .sequence_length = t, .kernels = compiled ? MODEL_KERNELS_FUSED : MODEL_KERNELS_EAGER, .compiled = compiled};
    g_autoptr(ModelUnit) shared = model_unit_new(&small_llama, &recipe, 1, MODEL_UNIT_LAYER);
    recipe.repeats_kv = TRUE;
    g_autoptr(ModelUnit) repeated = model_unit_new(&small_llama, &recipe, 1, MODEL_UNIT_LAYER);
    guint64 moved = 2 * t * (compiled ? 128 : 128 + 64);
    CU_ASSERT_EQUAL(bytes_of_op(repeated->forward, repeated->n_forward, "repeat_kv"), moved);
    CU_ASSERT_EQUAL(bytes_of_op(repeated->backward, repeated->n_backward, "repeat_kv.backward"), moved);
    CU_ASSERT_EQUAL(launches_of_op(repeated->forward, repeated->n_forward, "repeat_kv"), compiled ? 1 : 2);
    CU_ASSERT_EQUAL(model_unit_saved_bytes(repeated), model_unit_saved_bytes(shared) + 2 * t * 64);
    CU_ASSERT_EQUAL(bytes_of_op(repeated->forward, repeated->n_forward, "attention"),
                    bytes_of_op(shared->forward, shared->n_forward, "attention") + 2 * t * 64);
    CU_ASSERT_EQUAL(bytes_of_op(repeated->backward, repeated->n_backward, "attention.backward"),
                    bytes_of_op(shared->backward, shared->n_backward, "attention.backward") +
                        2 * t * (2 * 64 - 4 * 64));
    ModelShape own = small_llama;
    own.kv_heads = own.heads;
    g_autoptr(ModelUnit) alone = model_unit_new(&own, &recipe, 1, MODEL_UNIT_LAYER);
    CU_ASSERT_EQUAL(launches_of_op(alone->forward, alone->n_forward, "repeat_kv"), 0);
  }
}

/* Of queries and keys as complex numbers: to fp32 6 bytes, the product 8, back 6, either way, in three kernels each; on
 * the way 8 bytes of fp32 for each of 2. PyTorch's own RMSNorm is one kernel and leaves rotary embedding alone. */
static void complex_rotary(void) {
  ModelShape shape = small_llama;
  guint64 t = 128;
  ModelRecipe recipe = {.sequence_length = t, .rotary = MODEL_ROTARY_COMPLEX, .kernels = MODEL_KERNELS_RMS_NORM};
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_of_op(unit->forward, unit->n_forward, "rope"), t * (64 + 32) * 20);
  CU_ASSERT_EQUAL(launches_of_op(unit->forward, unit->n_forward, "rope"), 6);
  CU_ASSERT_EQUAL(bytes_of_op(unit->backward, unit->n_backward, "rope.backward"), t * (64 + 32) * 20);
  CU_ASSERT_EQUAL(bytes_of_op(unit->forward, unit->n_forward, "input_norm"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(unit->forward, unit->n_forward, "silu_mul"), t * 160 * 10);
  guint64 turned = 0;
  for (guint i = 0; i < unit->n_tensors; i++)
    turned += strcmp(unit->tensors[i].name, "turned") == 0 ? unit->tensors[i].bytes : 0;
  CU_ASSERT_EQUAL(turned, t * (64 + 32) * 8);
}

/* Eager attention with one kernel for scale, mask and softmax: no pass of scale and mask, either way; dropout and
 * residual by one kernel: 2 + 2 bytes in, 2 and a mask of 1 out. */
static void fused_softmax_and_dropout(void) {
  ModelShape shape = {.family = MODEL_GPT,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .intermediate_size = 160,
                      .vocab_size = 1000,
                      .max_positions = 128};
  guint64 t = 128;
  ModelRecipe recipe = {.sequence_length = t, .attention = MODEL_ATTENTION_EAGER, .dropout = 0.1};
  g_autoptr(ModelUnit) plain = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  recipe.kernels = MODEL_KERNELS_FUSED;
  g_autoptr(ModelUnit) fused = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(fused->n_forward, plain->n_forward - 3);
  CU_ASSERT_EQUAL(fused->n_backward, plain->n_backward - 1);
  CU_ASSERT_EQUAL(launches_of_op(fused->forward, fused->n_forward, "scale_mask"), 0);
  CU_ASSERT_EQUAL(bytes_of_op(fused->forward, fused->n_forward, "softmax"), 4 * t * t * 4);
  CU_ASSERT_EQUAL(bytes_of_op(fused->forward, fused->n_forward, "mlp_residual"), t * 64 * 7);
  CU_ASSERT_EQUAL(bytes_of_op(fused->backward, fused->n_backward, "down_proj.dropout.backward"), t * 64 * 5);
}

/* A weight's gradient is written, or added to what is there: read and written, 4 bytes each. The embedding's and dgrad
 * stay. */
static void weight_gradients_are_added(void) {
  ModelShape shape = small_llama;
  guint64 t = 128, operands = 2 * (t * 64 + t * 160);
  ModelRecipe recipe = {.sequence_length = t};
  g_autoptr(ModelUnit) plain = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  recipe.wgrad_bytes = 8;
  g_autoptr(ModelUnit) added = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_of_op(plain->backward, plain->n_backward, "down_proj.wgrad"), operands + 2 * 64 * 160);
  CU_ASSERT_EQUAL(bytes_of_op(added->backward, added->n_backward, "down_proj.wgrad"), operands + 8 * 64 * 160);
  CU_ASSERT_EQUAL(bytes_of_op(added->backward, added->n_backward, "down_proj.dgrad"),
                  bytes_of_op(plain->backward, plain->n_backward, "down_proj.dgrad"));
  g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(bytes_of_op(head->backward, head->n_backward, "lm_head.wgrad"), 2 * (t * 64 + t * 1000) + 8 * 64000);
}

/* Two metrics: each copies the logits to fp32, 2 + 4 bytes, and makes their log-softmax, 4 + 4, after the embedding's
 * backward and at forward's rate. */
static void metrics_of_training(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .intermediate_size = 160,
                      .vocab_size = 1000};
  guint64 t = 128;
  ModelRecipe recipe = {.sequence_length = t};
  g_autoptr(ModelUnit) plain = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_EMBEDDING);
  recipe.loss_metrics = 2;
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_EMBEDDING);
  CU_ASSERT_EQUAL_FATAL(unit->n_backward, plain->n_backward + 4);
  for (guint i = 0; i < 4; i += 2) {
    const ModelOp *copy = &unit->backward[plain->n_backward + i], *loss = copy + 1;
    CU_ASSERT_EQUAL(copy->kernel->bytes, t * 1000 * 6);
    CU_ASSERT_EQUAL(loss->kernel->bytes, t * 1000 * 8);
    CU_ASSERT_EQUAL(loss->kernel->pass, KERNEL_FORWARD);
  }
  CU_ASSERT_EQUAL(unit->n_forward, plain->n_forward);
}

/* q is 64 wide, k and v 32 each. Joined: one matmul of 64 + 64 outputs, one of gate and up, and rope reads q and k out
 * of it; back their gradients are put beside each other, (64 + 64) × (2 + 2) bytes a token. Copied: first apart, the
 * same bytes, then keys and values (64) joined, and reordered; q and k are turned in place. Two sequences: the context
 * is copied, 64 × 4, twice, and its gradient. silu's and the product's gradients to one tensor, 2 × 160 × 4. Parameters
 * are as many. Of q, k and v alone: two matrices fewer than separate ones, gate and up as these, and what rope and
 * attention read is one tensor of 128; the context is copied once, 64 × 4. */
static void projections(void) {
  ModelShape shape = small_llama;
  guint64 t = 256;
  ModelRecipe recipe = {.sequence_length = t / 2, .kernels = MODEL_KERNELS_NORMS};
  g_autoptr(ModelUnit) separate = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_LAYER);
  recipe.projections = MODEL_PROJECTIONS_JOINED;
  g_autoptr(ModelUnit) joined = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_LAYER);
  recipe.projections = MODEL_PROJECTIONS_COPIED;
  g_autoptr(ModelUnit) copied = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(model_unit_elements(joined), model_unit_elements(separate));
  CU_ASSERT_EQUAL(model_unit_elements(copied), model_unit_elements(separate));
  CU_ASSERT_EQUAL(joined->n_parameters, separate->n_parameters - 3);
  CU_ASSERT_EQUAL(model_unit_forward_cost(copied).flops, model_unit_forward_cost(separate).flops);
  CU_ASSERT_EQUAL(bytes_of_op(joined->forward, joined->n_forward, "qkv_proj"), 2 * (t * 64 + 64 * 128 + t * 128));
  CU_ASSERT_EQUAL(bytes_of_op(joined->backward, joined->n_backward, "split_qkv.backward"), t * 128 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(joined->backward, joined->n_backward, "split_gate_up.backward"), t * 2 * 160 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->forward, copied->n_forward, "qkv_apart"), t * 128 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->forward, copied->n_forward, "kv_joined"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->forward, copied->n_forward, "kv_reordered"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->forward, copied->n_forward, "context_reordered"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->backward, copied->n_backward, "context_again"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->backward, copied->n_backward, "context_reordered.backward"), t * 64 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->backward, copied->n_backward, "qkv_stacked"), t * 128 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(copied->backward, copied->n_backward, "qkv_apart.backward"), t * 128 * 4);
  g_autoptr(ModelUnit) one = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(one->n_forward, copied->n_forward - 1);
  recipe.projections = MODEL_PROJECTIONS_QKV;
  g_autoptr(ModelUnit) qkv = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(qkv->n_parameters, separate->n_parameters - 2);
  CU_ASSERT_EQUAL(bytes_of_op(qkv->forward, qkv->n_forward, "qkv_proj"), 2 * (t * 64 + 64 * 128 + t * 128));
  CU_ASSERT_EQUAL(bytes_of_op(qkv->forward, qkv->n_forward, "gate_proj"),
                  bytes_of_op(separate->forward, separate->n_forward, "gate_proj"));
  CU_ASSERT_EQUAL(bytes_of_op(qkv->backward, qkv->n_backward, "split_qkv.backward"), t * 128 * 4);
  CU_ASSERT_EQUAL(bytes_of_op(qkv->forward, qkv->n_forward, "context_reordered"), t * 64 * 4);
  CU_ASSERT_EQUAL(qkv->n_backward, joined->n_backward - 1 + 3);
}

/* Matmuls know which way they go: as many dgrads as forwards, and as many wgrads. A bias's gradient is a pass of its
 * own. */
static void passes(void) {
  ModelShape shape = {.family = MODEL_GPT,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .intermediate_size = 256,
                      .vocab_size = 1000,
                      .max_positions = 128};
  ModelRecipe recipe = {.sequence_length = 128};
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  guint count[KERNEL_PASSES] = {0}, biases = 0;
  for (guint i = 0; i < unit->n_forward + unit->n_backward; i++) {
    if (unit->kernels[i].kind == KERNEL_MATMUL)
      count[unit->kernels[i].pass]++;
    biases += unit->kernels[i].kind == KERNEL_REDUCTION;
  }
  CU_ASSERT_EQUAL(count[KERNEL_FORWARD], 4);
  CU_ASSERT_EQUAL(count[KERNEL_DGRAD], 4);
  CU_ASSERT_EQUAL(count[KERNEL_WGRAD], 4);
  CU_ASSERT_EQUAL(biases, 4);
  CU_ASSERT_EQUAL(bytes_of_op(unit->backward, unit->n_backward, "up_proj.bgrad"), 128 * 256 * 2);
}

/* Bytes per element: fused Adam reads gradient 2, master, momentum, variance 12 and writes the three and the 16-bit
 * copy, 14; its norm pass reads 2. DeepSpeed: cast 6, unscale 8, Adam 28, cast back 6. In chunks of 110 tensors where
 * they are many. */
static void optimizer_steps(void) {
  ModelOptimizer what = {
      .style = MODEL_OPTIMIZER_FUSED, .elements = 1000, .element_bytes = 2, .gradient_bytes = 2, .norm = TRUE};
  g_autoptr(ModelUnit) fused = model_optimizer_new(&what);
  CU_ASSERT_EQUAL_FATAL(fused->n_forward, 2);
  CU_ASSERT_EQUAL(fused->forward[0].kernel->bytes, 2000);
  CU_ASSERT_EQUAL((int)fused->forward[0].kernel->kind, (int)KERNEL_REDUCTION);
  CU_ASSERT_EQUAL(fused->forward[1].kernel->bytes, 28000);
  what.style = MODEL_OPTIMIZER_DEEPSPEED;
  what.norm = FALSE;
  what.tensors = 111;
  g_autoptr(ModelUnit) deepspeed = model_optimizer_new(&what);
  CU_ASSERT_EQUAL_FATAL(deepspeed->n_forward, 4);
  const guint64 bytes[] = {6000, 8000, 28000, 6000};
  for (guint i = 0; i < 4; i++) {
    CU_ASSERT_EQUAL(deepspeed->forward[i].kernel->bytes, bytes[i]);
    CU_ASSERT_EQUAL(kernel_launches(deepspeed->forward[i].kernel), 2);
  }
  what = (ModelOptimizer){
      .style = MODEL_OPTIMIZER_FOREACH, .elements = 1000, .element_bytes = 4, .gradient_bytes = 4, .clip = TRUE};
  g_autoptr(ModelUnit) foreach = model_optimizer_new(&what);
  double moved = 0;
  for (guint i = 0; i < foreach->n_forward; i++)
    moved += (double)foreach->forward[i].kernel->bytes;
  CU_ASSERT_EQUAL(moved, 1000 * (8 + 8 + 12 + 20 + 24 + 16)); /* clip, decay, momentum, variance, denominator, update */
}

/* The host pays for each kernel of an operation, eight of an eager RMS norm; one that never limits pays for nothing. */
static void hosts_pay_by_kernel(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .intermediate_size = 160,
                      .vocab_size = 1000};
  ModelRecipe recipe = {.sequence_length = 128};
  const HwHost host = {.forward_kernel = 7, .backward_kernel = 8, .matmul = 15, .compiled_kernel = 5, .collective = 40};
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_STRING_EQUAL(unit->forward[0].name, "input_norm");
  CU_ASSERT_EQUAL(model_op_host(&unit->forward[0], &host), 8 * 7);
  CU_ASSERT_STRING_EQUAL(unit->forward[1].name, "q_proj");
  CU_ASSERT_EQUAL(model_op_host(&unit->forward[1], &host), 15);
  CU_ASSERT_EQUAL(model_op_host(&unit->forward[0], NULL), 0);
  CU_ASSERT_EQUAL(model_host_cost(&host, MODEL_HOST_COLLECTIVE), 40);
  CU_ASSERT_EQUAL(model_host_cost(NULL, MODEL_HOST_COLLECTIVE), 0);
  recipe.compiled = TRUE;
  recipe.kernels = MODEL_KERNELS_FUSED;
  g_autoptr(ModelUnit) compiled = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(model_op_host(&compiled->forward[0], &host), 5);
}

static guint in_functions(const ModelOp *ops, guint n) {
  guint found = 0;
  for (guint i = 0; i < n; i++)
    found += ops[i].in_function;
  return found;
}

/* Each of q, k, v, o, gate, up and down is a function, once forward and once for all that it makes backward; torch's
 * own layers and compiled ones are none, nor are the two products of eager attention. */
static void layer_functions(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .intermediate_size = 160,
                      .vocab_size = 1000};
  ModelRecipe recipe = {.sequence_length = 128, .attention = MODEL_ATTENTION_EAGER};
  g_autoptr(ModelUnit) plain = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(in_functions(plain->forward, plain->n_forward) + in_functions(plain->backward, plain->n_backward), 0);
  recipe.layer_functions = TRUE;
  g_autoptr(ModelUnit) functions = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(in_functions(functions->forward, functions->n_forward), 7);
  CU_ASSERT_EQUAL(in_functions(functions->backward, functions->n_backward), 7);
  recipe.compiled = TRUE;
  recipe.kernels = MODEL_KERNELS_FUSED;
  g_autoptr(ModelUnit) compiled = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(in_functions(compiled->forward, compiled->n_forward), 0);
}

int main(void) {
  return harness_run("model-kernels", (HarnessCase[]){{"memory-bound bytes", memory_bound_bytes},
                                                      {"fused kernels", fused_kernels},
                                                      {"compiled sums are norms", compiled_sums_are_norms},
                                                      {"liger works in place", liger_works_in_place},
                                                      {"keys are repeated", keys_are_repeated},
                                                      {"complex rotary", complex_rotary},
                                                      {"fused softmax and dropout", fused_softmax_and_dropout},
                                                      {"weight gradients are added", weight_gradients_are_added},
                                                      {"metrics of training", metrics_of_training},
                                                      {"projections", projections},
                                                      {"passes", passes},
                                                      {"optimizer steps", optimizer_steps},
                                                      {"hosts pay by kernel", hosts_pay_by_kernel},
                                                      {"layer functions", layer_functions},
                                                      {NULL, NULL}});
}
