/* SPDX-License-Identifier: MIT */
/* One rank's units of a model that divides well, and what they exchange. */
#pragma once

#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-unit.h"

typedef struct {
  guint calls[MODEL_EXCHANGE_RING + 1];
  guint64 bytes[MODEL_EXCHANGE_RING + 1];
  double sent; /* by one rank, as rings do it */
} OneRankExchanged;

static inline OneRankExchanged one_rank_exchanged(const ModelOp *ops, guint n, double members) {
  OneRankExchanged sum = {0};
  for (guint i = 0; i < n; i++) {
    const ModelExchange *exchange = &ops[i].exchange;
    sum.calls[exchange->kind]++;
    sum.bytes[exchange->kind] += exchange->bytes;
    double share = (members - 1) / members * (double)exchange->bytes;
    sum.sent += exchange->kind == MODEL_EXCHANGE_RING         ? (double)exchange->bytes * exchange->steps
                : exchange->kind == MODEL_EXCHANGE_ALL_REDUCE ? 2 * share
                                                              : share;
    if (exchange->kind != MODEL_EXCHANGE_NONE)
      CU_ASSERT_EQUAL(ops[i].kernel->bytes, 0);
  }
  return sum;
}

static inline ModelShape one_rank_shape(void) {
  return (ModelShape){.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 1024,
                      .heads = 16,
                      .kv_heads = 8,
                      .head_dim = 64,
                      .intermediate_size = 4096,
                      .vocab_size = 32000};
}

#define TOKENS 512
#define BATCH  2
#define STREAM ((guint64)2 * TOKENS * BATCH * 1024) /* bytes of the residual stream, all tokens */

static inline ModelRecipe one_rank_recipe(ModelShare share) {
  return (ModelRecipe){.sequence_length = TOKENS, .projections = MODEL_PROJECTIONS_JOINED, .share = share};
}

static inline guint one_rank_op(const ModelOp *ops, guint n, const char *name) {
  guint i = 0;
  while (i < n && strcmp(ops[i].name, name) != 0)
    i++;
  if (i == n) {
    printf("\n    no %s\n", name);
    CU_FAIL("an operation that should be there");
    abort();
  }
  return i;
}
