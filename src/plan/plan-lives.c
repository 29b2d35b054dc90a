/* SPDX-License-Identifier: MIT */
/* Lifetimes from masks.
 *
 *   forward     a tensor dies after its last reader, unless backward reads it, or an op that runs again does
 *   second run  what it writes anew and backward does not read dies after its last reader of that run
 *   backward    a tensor dies after its last reader of backward; what is there again that its readers no longer need,
 *               with the backward of the part that ran again, which its checkpoint holds so long (Megatron-LM,
 *               tensor_parallel/random.py, CheckpointFunction: the outputs are a variable of its backward)
 *
 * A SIDE tensor outlives its unit: plan-sides.h says how long. Its gradient dies with the unit that made it. */
#include "plan-lives.h"

#include "base-error.h"

#define EVERY (~(ModelSet)0)

/* Index of the last op of `which` that reads the tensor, else that writes it; -1: none. */
static gint last_use(const ModelOp *ops, guint n, ModelSet which, ModelSet tensor, gboolean or_writer) {
  gint last = -1;
  for (guint i = 0; i < n; i++)
    if (model_set_has(which, i) && (ops[i].reads & tensor))
      last = (gint)i;
  for (guint i = 0; last < 0 && or_writer && i < n; i++)
    if (model_set_has(which, i) && (ops[i].writes & tensor))
      last = (gint)i;
  return last;
}

static ModelSet written_by(const ModelUnit *unit, ModelSet which) {
  ModelSet written = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    written |= model_set_has(which, i) ? unit->forward[i].writes : 0;
  return written;
}

static ModelSet read_by(const ModelUnit *unit, ModelSet which) {
  ModelSet read = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    read |= model_set_has(which, i) ? unit->forward[i].reads : 0;
  return read;
}

static ModelSet saved_by(const ModelUnit *unit, ModelSet which) {
  ModelSet saved = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    saved |= model_set_has(which, i) ? unit->forward[i].saves : 0;
  return saved;
}

ModelSet plan_lives_saved(const ModelUnit *unit) {
  return saved_by(unit, EVERY);
}

static void mark(ModelSet *deaths, gint op, ModelSet tensor) {
  if (op >= 0)
    deaths[op] |= tensor;
}

/* A whole layer runs again before its backward begins, a part of it before backward reads what it reads or makes. */
static guint second_run(const ModelUnit *unit, const ModelRecomputed *how, ModelSet touched) {
  if (touched == 0 || how->region != how->again || how->again == model_set_of(unit->n_forward) - 1)
    return 0;
  guint at = 0;
  while (at < unit->n_backward && (unit->backward[at].reads & touched) == 0)
    at++;
  return at;
}

ModelSet plan_lives_wanted(const ModelUnit *unit, const PlanLives *lives) {
  return plan_lives_saved(unit) | read_by(unit, lives->again);
}

static gboolean makes(const ModelUnit *unit, ModelSide side) {
  ModelSet made = written_by(unit, EVERY);
  for (guint t = 0; t < unit->n_tensors; t++)
    if (unit->tensors[t].role == MODEL_TENSOR_SIDE && unit->tensors[t].side == side && model_set_has(made, t))
      return TRUE;
  return FALSE;
}

/* What no operation of this unit ends. */
static ModelSet outlives(const ModelUnit *unit) {
  ModelSet set = 0;
  for (guint t = 0; t < unit->n_tensors; t++)
    if (unit->tensors[t].role == MODEL_TENSOR_SIDE ||
        (unit->tensors[t].role == MODEL_TENSOR_GRAD_SIDE && !makes(unit, unit->tensors[t].side)))
      set |= model_set_of(t);
  return set;
}

/* The last op of backward that reads what the part saves. */
static gint end_of_backward(const ModelUnit *unit, const ModelRecomputed *parts) {
  return last_use(unit->backward, unit->n_backward, EVERY, saved_by(unit, parts->region), FALSE);
}

PlanLives *plan_lives_new(const ModelUnit *unit, ModelRecompute how) {
  ModelRecomputed parts;
  model_recompute(unit, how, &parts);
  PlanLives *lives = g_new0(PlanLives, 1);
  lives->forward = g_new0(ModelSet, unit->n_forward);
  lives->redone = g_new0(ModelSet, unit->n_forward);
  lives->backward = g_new0(ModelSet, unit->n_backward);
  lives->again = parts.again;
  ModelSet saved = lives->saved = plan_lives_saved(unit), saved_outside = saved_by(unit, ~parts.region);
  ModelSet anew = written_by(unit, parts.again), wanted = saved | read_by(unit, parts.again);
  ModelSet kept = saved_outside | (wanted & ~anew), second = (saved & ~kept) | read_by(unit, parts.again);
  ModelSet others = outlives(unit);
  lives->again_at = second_run(unit, &parts, saved & second);
  for (guint t = 0; t < unit->n_tensors; t++) {
    ModelSet tensor = model_set_of(t);
    ModelTensorRole role = unit->tensors[t].role;
    gint forward = last_use(unit->forward, unit->n_forward, EVERY, tensor, role != MODEL_TENSOR_INPUT);
    gint again = last_use(unit->forward, unit->n_forward, parts.again, tensor, role != MODEL_TENSOR_INPUT);
    gint backward = last_use(unit->backward, unit->n_backward, EVERY, tensor, TRUE);
    if (role != MODEL_TENSOR_GRAD_INPUT && !(others & tensor))
      mark(lives->backward, backward, tensor);
    if ((anew & saved & tensor) && backward < (gint)lives->again_at)
      mark(lives->backward, end_of_backward(unit, &parts), tensor);
    sim_require(!(saved & tensor) || backward >= (gint)(second & tensor ? lives->again_at : 0), 0, NULL,
                "tensor %s of %s is saved but not read in backward after it is there again", unit->tensors[t].name,
                model_unit_names[unit->kind]);
    if (role != MODEL_TENSOR_OUTPUT && !(kept & tensor) && !(others & tensor))
      mark(lives->forward, forward, tensor);
    if (!(saved & tensor) && (!(others & tensor) || (written_by(unit, parts.again) & tensor)))
      mark(lives->redone, again, tensor);
  }
  return lives;
}

void plan_lives_free(PlanLives *lives) {
  if (lives == NULL)
    return;
  g_free(lives->forward);
  g_free(lives->redone);
  g_free(lives->backward);
  g_free(lives);
}
