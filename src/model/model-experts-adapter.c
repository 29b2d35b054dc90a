/* SPDX-License-Identifier: MIT */
/* Low-rank adapters of experts whose projections are linear layers each, as grouped matmuls of the rows that the
 * experts work on: peft puts one beside each expert's layer of the name (peft/tuners/lora/layer.py). */
#include "model-experts.h"

static const ModelAdapterNames gate_names = MODEL_ADAPTER_NAMES("experts.gate_proj"),
                               up_names = MODEL_ADAPTER_NAMES("experts.up_proj"),
                               down_names = MODEL_ADAPTER_NAMES("experts.down_proj");

static ModelAdapter adapter_of(ModelBuild *build, const ModelExperts *experts, const char *linear,
                               const ModelAdapterNames *names, double in, double out) {
  ModelAdapter adapter = {.in = in, .out = out, .rank = build->recipe->lora.rank};
  if (!model_lora_adapts_experts(&build->recipe->lora, build->shape, linear))
    return adapter;
  adapter.names = names;
  adapter.a = model_experts_parameter(build, experts, names->a_weight, adapter.rank, in, FALSE);
  adapter.b = model_experts_parameter(build, experts, names->b_weight, out, adapter.rank, FALSE);
  build->parameters[adapter.a].frozen = build->parameters[adapter.b].frozen = FALSE;
  return adapter;
}

void model_experts_adapters(ModelBuild *build, ModelExperts *experts, double width) {
  if (model_build_has(build, MODEL_GATED))
    experts->gate_adapter = adapter_of(build, experts, "gate_proj", &gate_names, build->h, width);
  experts->up_adapter = adapter_of(build, experts, "up_proj", &up_names, build->h, width);
  experts->down_adapter = adapter_of(build, experts, "down_proj", &down_names, width, build->h);
}

static double rows_bytes(const ModelBuild *build, const ModelExperts *experts, double width) {
  return model_experts_bytes(build, experts->worked, width);
}

ModelSet model_experts_plain(ModelBuild *build, const ModelExperts *experts, const ModelAdapter *adapter, ModelSet y) {
  return adapter->names == NULL
             ? y
             : model_build_inner(build, adapter->names->plain, rows_bytes(build, experts, adapter->out));
}

void model_experts_adapt(ModelBuild *build, const ModelExperts *experts, ModelAdapter *adapter, ModelSet x,
                         ModelSet plain, ModelSet y) {
  const ModelAdapterNames *names = adapter->names;
  gboolean compiled = build->recipe->compiled;
  double output = rows_bytes(build, experts, adapter->out);
  if (names == NULL)
    return;
  adapter->narrow = model_build_inner(build, names->narrow, rows_bytes(build, experts, adapter->rank));
  /* What is scaled and the result, side by side. */
  ModelSet wide = model_build_inner(build, names->wide, (compiled ? 1 : 2) * output);
  ModelSet read = model_adapter_drop(build, adapter, rows_bytes(build, experts, adapter->in) / build->e, x);
  ModelOp *a =
      model_experts_matmul(build, experts, MODEL_FORWARD, names->a, adapter->rank, adapter->in, read, adapter->narrow);
  a->saves = read;
  a->uses = (guint64)1 << adapter->a;
  ModelOp *b =
      model_experts_matmul(build, experts, MODEL_FORWARD, names->b, adapter->out, adapter->rank, adapter->narrow, wide);
  b->saves = adapter->narrow;
  b->uses = (guint64)1 << adapter->b;
  model_build_kernels(build, MODEL_FORWARD, names->join, KERNEL_MEMORY, compiled ? 1 : 2,
                      (compiled ? 3 : 2 + 3) * output, plain | wide, y);
}

ModelSet model_experts_adapt_backward(ModelBuild *build, const ModelExperts *experts, const ModelAdapter *adapter,
                                      ModelSet x, ModelSet d_y) {
  const ModelAdapterNames *names = adapter->names;
  if (names == NULL)
    return 0;
  double output = rows_bytes(build, experts, adapter->out);
  ModelSet d_wide = model_build_inner(build, names->d_wide, output);
  ModelSet d_narrow = model_build_inner(build, names->d_narrow, rows_bytes(build, experts, adapter->rank));
  ModelSet d_in = model_build_inner(build, names->d_in, rows_bytes(build, experts, adapter->in));
  model_build_memory(build, MODEL_BACKWARD, names->d_join, 2 * output, d_y, d_wide);
  model_experts_matmul(build, experts, MODEL_BACKWARD, names->b_dgrad, adapter->rank, adapter->out, d_wide, d_narrow)
      ->uses = (guint64)1 << adapter->b;
  model_experts_wgrad(build, experts, names->b_wgrad, adapter->out, adapter->rank, d_wide | adapter->narrow,
                      adapter->b);
  model_experts_matmul(build, experts, MODEL_BACKWARD, names->a_dgrad, adapter->in, adapter->rank, d_narrow, d_in)
      ->uses = (guint64)1 << adapter->a;
  model_experts_wgrad(build, experts, names->a_wgrad, adapter->rank, adapter->in,
                      d_narrow | (adapter->dropped != 0 ? adapter->dropped : x), adapter->a);
  return model_adapter_undrop(build, adapter, rows_bytes(build, experts, adapter->in) / build->e, d_in);
}

void model_experts_adapt_sum(ModelBuild *build, const ModelExperts *experts, const ModelAdapter *adapter, ModelSet part,
                             ModelSet d_x) {
  if (part != 0)
    model_build_memory(build, MODEL_BACKWARD, adapter->names->sum, 3 * rows_bytes(build, experts, adapter->in),
                       d_x | part, 0);
}
