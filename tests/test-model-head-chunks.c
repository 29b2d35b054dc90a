/* SPDX-License-Identifier: MIT */
/* Losses that never hold all logits: what they keep, what they compute, and that masks and gradients are whole. */
#include "harness.h"
#include "kernel-op.h"
#include "model-masks.h"

/* Gemma 2 (2B)'s classifier and 8 192 tokens, as in the first table of arXiv 2411.09009. */
#define TOKENS     8192
#define WIDTH      2304
#define VOCABULARY 256000

static const int losses[] = {MODEL_LOSS_FUSED_LINEAR, MODEL_LOSS_CHUNKED, MODEL_LOSS_CHUNKED_RECOMPUTE, MODEL_LOSS_CUT};

static ModelShape gemma(void) {
  return (ModelShape){.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = WIDTH,
                      .heads = 8,
                      .kv_heads = 4,
                      .head_dim = 256,
                      .intermediate_size = 9216,
                      .vocab_size = VOCABULARY};
}

static ModelUnit *head_of(int loss, guint32 rank) {
  ModelShape shape = gemma();
  ModelRecipe recipe = {
      .sequence_length = TOKENS, .loss = loss, .kernels = MODEL_KERNELS_FUSED, .lora = {.rank = rank, .targets = 1}};
  return model_unit_new(&shape, &recipe, 1, MODEL_UNIT_HEAD);
}

/* Masks and gradients as of any unit; three matmuls' worth to the model, whatever is computed twice. */
static void are_whole(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 100; i++) {
    ModelShape shape = gemma();
    shape.vocab_size = (guint64)g_rand_int_range(random, 1, 5000);
    shape.hidden_size = (guint64)g_rand_int_range(random, 1, 300);
    for (gsize l = 0; l < G_N_ELEMENTS(losses); l++) {
      ModelRecipe recipe = {.sequence_length = (guint64)g_rand_int_range(random, 1, 3000),
                            .precision = g_rand_int_range(random, MODEL_BF16, MODEL_FP8 + 1),
                            .loss = losses[l]};
      g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_HEAD);
      masks_check(head);
      masks_check_gradients(head);
      double worth = model_unit_forward_cost(head).nominal_flops + model_unit_backward_cost(head).nominal_flops;
      CU_ASSERT_EQUAL(worth,
                      6.0 * 2 * (double)recipe.sequence_length * (double)shape.vocab_size * (double)shape.hidden_size);
    }
  }
}

/* Largest sum of bytes of what is alive at once, the unit's input left out, in one direction. */
static guint64 most_alive(const ModelUnit *unit, const ModelOp *ops, guint n, ModelSet kept) {
  ModelSet alive = 0;
  guint64 most = 0;
  for (guint i = 0; i < n; i++) {
    alive |= ops[i].writes;
    most = MAX(most, model_unit_bytes(unit, alive));
    ModelSet later = kept;
    for (guint j = i + 1; j < n; j++)
      later |= ops[j].reads;
    alive &= later;
  }
  return most;
}

/* The paper's baseline holds 24 000 MB for the loss; cut holds 1 MB (ours: a number per token beside what the norm
 * writes), and 1 163 MB of gradients: 2 bytes of each element of the weight and of the hidden states. */
static void cut_keeps_next_to_nothing(void) {
  g_autoptr(ModelUnit) head = head_of(MODEL_LOSS_CUT, 0);
  guint64 stream = 2 * TOKENS * WIDTH;
  CU_ASSERT_EQUAL(most_alive(head, head->forward, head->n_forward, masks_saved(head)), stream + 4 * TOKENS);
  guint64 hidden = most_alive(head, head->backward, head->n_backward, 0);
  CU_ASSERT_TRUE(hidden <= 2 * stream + 4 * TOKENS);
  g_autoptr(ModelUnit) eager = head_of(MODEL_LOSS_EAGER, 0);
  CU_ASSERT_TRUE(most_alive(eager, eager->forward, eager->n_forward, 0) > (guint64)20e9);
}

/* 112 = ⌈256 000 / 2 304⌉ parts of 8 192 tokens are 74, so chunks of 128: 64 of them. The weight's gradient stays from
 * forward on, 1 179.6 MB, beside a product in 16 bits and its fp32 copy, three times as much. */
static void fused_linear_goes_chunk_by_chunk(void) {
  g_autoptr(ModelUnit) head = head_of(MODEL_LOSS_FUSED_LINEAR, 0);
  guint64 weight = (guint64)2 * WIDTH * VOCABULARY, stream = 2 * TOKENS * WIDTH, chunk = 2 * 128 * (guint64)VOCABULARY;
  guint pieces = 0;
  for (guint i = 0; i < head->n_forward; i++)
    pieces = MAX(pieces, head->forward[i].pieces);
  CU_ASSERT_EQUAL(pieces, 64);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(head), stream + stream + weight); /* norm's input, d_normed, d_lm_head */
  guint64 peak = most_alive(head, head->forward, head->n_forward, masks_saved(head));
  CU_ASSERT_TRUE(peak >= weight + 3 * weight && peak <= 4 * weight + 3 * stream + chunk);
  /* A frozen weight has no gradient. */
  g_autoptr(ModelUnit) frozen = head_of(MODEL_LOSS_FUSED_LINEAR, 8);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(frozen), stream + stream);
}

/* Backward of torchtitan's chunks is over when the decoder's begins; TRL's computes logits again. */
static void chunked_computes_in_forward(void) {
  double matmul = 2.0 * TOKENS * WIDTH * VOCABULARY;
  static const struct {
    int loss;
    double forward, backward; /* matmuls */
  } of[] = {{MODEL_LOSS_FUSED_LINEAR, 3, 0},
            {MODEL_LOSS_CHUNKED, 3, 0},
            {MODEL_LOSS_CHUNKED_RECOMPUTE, 1, 3},
            {MODEL_LOSS_CUT, 1, 3}};
  for (gsize i = 0; i < G_N_ELEMENTS(of); i++) {
    g_autoptr(ModelUnit) head = head_of(of[i].loss, 0);
    CU_ASSERT_DOUBLE_EQUAL(model_unit_forward_cost(head).flops, of[i].forward * matmul, 0);
    CU_ASSERT_DOUBLE_EQUAL(model_unit_backward_cost(head).flops, of[i].backward * matmul, 0);
  }
}

int main(void) {
  return harness_run("model-head-chunks",
                     (HarnessCase[]){{"masks, gradients and worth are whole", are_whole},
                                     {"cut keeps next to nothing", cut_keeps_next_to_nothing},
                                     {"fused-linear goes chunk by chunk", fused_linear_goes_chunk_by_chunk},
                                     {"where the matmuls are", chunked_computes_in_forward},
                                     {NULL, NULL}});
}
