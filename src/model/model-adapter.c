/* SPDX-License-Identifier: MIT */
/* A low-rank adapter (LoRA, arXiv 2106.09685) as operations beside a frozen linear layer.
 *
 *   x ─┬─ W ─────────────── plain ─┐
 *      └─ A ─ narrow ─ B ─ wide ─ · scaling ─ + ─ y
 *
 * A is rank × in, B out × rank. Scaling and sum are two elementwise kernels each over the layer's output (one in, one
 * out; two in, one out), one kernel where the model is compiled; back, the scaled gradient. W has no gradient of its
 * own: d_x is W's dgrad plus A's. With dropout A reads a copy of x of its own, which backward wants, beside its mask,
 * in place of x. Under autocast x is the layer's 16-bit copy; that peft makes the input of fp32 adapters fp32, and
 * drops out there, before autocast copies it again, are passes that are not played. Source: peft/tuners/lora/layer.py,
 * Linear.forward. */
#include "model-build.h"

ModelAdapter model_adapter(ModelBuild *build, const ModelAdapterNames *names, double in, double out) {
  ModelAdapter adapter = {.names = names, .in = in, .out = out, .rank = build->recipe->lora.rank};
  adapter.a = model_build_parameter(build, names->a_weight, adapter.rank, in);
  adapter.b = model_build_parameter(build, names->b_weight, out, adapter.rank);
  build->parameters[adapter.a].frozen = build->parameters[adapter.b].frozen = FALSE;
  return adapter;
}

ModelSet model_adapter_drop(ModelBuild *build, ModelAdapter *adapter, double elements, ModelSet x) {
  const ModelAdapterNames *names = adapter->names;
  if (build->recipe->lora_dropout <= 0)
    return x;
  adapter->dropped = model_build_inner(build, names->dropped, build->e * elements);
  adapter->mask = model_build_inner(build, names->mask, elements);
  model_dropout_forward(build, names->dropout, elements, x, adapter->dropped, adapter->mask);
  return adapter->dropped;
}

ModelSet model_adapter_undrop(ModelBuild *build, const ModelAdapter *adapter, double elements, ModelSet d_in) {
  const ModelAdapterNames *names = adapter->names;
  if (build->recipe->lora_dropout <= 0)
    return d_in;
  ModelSet d_x = model_build_inner(build, names->d_dropped, build->e * elements);
  model_dropout_backward(build, names->dropout_backward, elements, adapter->mask, d_in, d_x);
  return d_x;
}

void model_adapter_forward(ModelBuild *build, ModelAdapter *adapter, ModelSet x, ModelSet plain, ModelSet y) {
  const ModelAdapterNames *names = adapter->names;
  gboolean compiled = build->recipe->compiled;
  double output = build->e * build->t * adapter->out;
  adapter->narrow = model_build_inner(build, names->narrow, build->e * build->t * adapter->rank);
  ModelSet wide = model_build_inner(build, names->wide, output);
  ModelSet read = model_adapter_drop(build, adapter, build->t * adapter->in, x);
  ModelOp *a = model_build_matmul(build, MODEL_FORWARD, names->a, 1, build->t, adapter->rank, adapter->in, read,
                                  adapter->narrow);
  a->saves = read;
  a->uses = (guint64)1 << adapter->a;
  ModelOp *b = model_build_matmul(build, MODEL_FORWARD, names->b, 1, build->t, adapter->out, adapter->rank,
                                  adapter->narrow, wide);
  b->saves = adapter->narrow;
  b->uses = (guint64)1 << adapter->b;
  ModelSet scaled = compiled ? 0 : model_build_scratch(build, names->scaled, output);
  model_build_kernels(build, MODEL_FORWARD, names->join, KERNEL_MEMORY, compiled ? 1 : 2,
                      (compiled ? 3 : 2 + 3) * output, plain | wide | scaled, y | scaled);
}

ModelSet model_adapter_backward(ModelBuild *build, const ModelAdapter *adapter, ModelSet x, ModelSet d_y) {
  const ModelAdapterNames *names = adapter->names;
  double output = build->e * build->t * adapter->out;
  ModelSet d_wide = model_build_inner(build, names->d_wide, output);
  ModelSet d_narrow = model_build_inner(build, names->d_narrow, build->e * build->t * adapter->rank);
  ModelSet d_in = model_build_inner(build, names->d_in, build->e * build->t * adapter->in);
  ModelSet read = adapter->dropped != 0 ? adapter->dropped : x;
  model_build_memory(build, MODEL_BACKWARD, names->d_join, 2 * output, d_y, d_wide);
  model_build_matmul(build, MODEL_BACKWARD, names->b_dgrad, 1, build->t, adapter->rank, adapter->out, d_wide, d_narrow)
      ->uses = (guint64)1 << adapter->b;
  model_build_wgrad(build, names->b_wgrad, adapter->out, adapter->rank, build->t, d_wide | adapter->narrow)
      ->gradient_of = adapter->b;
  model_build_matmul(build, MODEL_BACKWARD, names->a_dgrad, 1, build->t, adapter->in, adapter->rank, d_narrow, d_in)
      ->uses = (guint64)1 << adapter->a;
  model_build_wgrad(build, names->a_wgrad, adapter->rank, adapter->in, build->t, d_narrow | read)->gradient_of =
      adapter->a;
  return model_adapter_undrop(build, adapter, build->t * adapter->in, d_in);
}

void model_adapter_sum(ModelBuild *build, const ModelAdapter *adapter, ModelSet part, ModelSet d_x) {
  model_build_memory(build, MODEL_BACKWARD, adapter->names->sum, 3 * build->e * build->t * adapter->in, d_x | part, 0);
}
