/* SPDX-License-Identifier: MIT */
/* Ways of activation checkpointing as masks over a layer's operations. */
#include "model-recompute.h"

#include <string.h>

#include "kernel-op.h"

static ModelSet first_ops(guint n) {
  return model_set_of(n) - 1;
}

static gboolean is_named(const ModelOp *op, const char *const *names) {
  for (; *names != NULL; names++)
    if (strcmp(op->name, *names) == 0)
      return TRUE;
  return FALSE;
}

/* From the first to the last operation between the projections and the context, with what context ranks exchange in it.
 * */
static ModelSet attention_core(const ModelUnit *unit) {
  static const char *const ends[] = {"attention", "repeat_kv", "scores", "context", NULL};
  guint first = unit->n_forward, end = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    if (is_named(&unit->forward[i], ends) || g_str_has_prefix(unit->forward[i].name, "attention.")) {
      first = MIN(first, i);
      end = i + 1;
    }
  return end > first ? first_ops(end) & ~first_ops(first) : 0;
}

static gboolean is_linear(const ModelOp *op) {
  return op->kernel->kind == KERNEL_MATMUL && op->kernel->batch == 1 && op->uses != 0;
}

/* Outputs of the first, third, fifth … linear layer, of flash attention, and of reduce-scatters. */
static ModelSet kept_by_op(const ModelUnit *unit) {
  ModelSet kept = 0;
  guint linears = 0;
  for (guint i = 0; i < unit->n_forward; i++) {
    gboolean odd = is_linear(&unit->forward[i]) && ++linears % 2 == 1;
    if (odd || unit->forward[i].kernel->kind == KERNEL_ATTENTION ||
        unit->forward[i].exchange.kind == MODEL_EXCHANGE_REDUCE_SCATTER)
      kept |= model_set_of(i);
  }
  return kept;
}

gboolean model_recompute_is_whole(ModelRecompute how) {
  return how == MODEL_RECOMPUTE_ALL || how == MODEL_RECOMPUTE_ALL_STOPPED;
}

/* The operations up to the last one that makes what some operation saves for backward. */
static ModelSet until_saved(const ModelUnit *unit) {
  ModelSet saved = 0;
  guint end = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    saved |= unit->forward[i].saves;
  for (guint i = 0; i < unit->n_forward; i++)
    if (unit->forward[i].writes & saved)
      end = i + 1;
  return first_ops(end);
}

void model_recompute(const ModelUnit *unit, ModelRecompute how, ModelRecomputed *ret) {
  ModelSet all = first_ops(unit->n_forward);
  switch (how) {
  case MODEL_RECOMPUTE_ALL:
    *ret = (ModelRecomputed){all, all};
    break;
  case MODEL_RECOMPUTE_ATTENTION:
    *ret = (ModelRecomputed){attention_core(unit), attention_core(unit)};
    break;
  case MODEL_RECOMPUTE_EVERY_2ND_MATMUL:
    *ret = (ModelRecomputed){all, all & ~kept_by_op(unit)};
    break;
  case MODEL_RECOMPUTE_ALL_STOPPED:
    *ret = (ModelRecomputed){all, until_saved(unit)};
    break;
  case MODEL_RECOMPUTE_EVERY_2ND_MATMUL_STOPPED:
    *ret = (ModelRecomputed){all, until_saved(unit) & ~kept_by_op(unit)};
    break;
  default:
    *ret = (ModelRecomputed){0, 0};
    break;
  }
}
