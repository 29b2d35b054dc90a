/* The bench on which a unit is put together; it is copied to size at the end. */
#include "model-build.h"

#include <string.h>

#include "base-error.h"

void model_build_begin(ModelBuild *build, const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch,
                       ModelUnitKind kind) {
  build->shape = shape;
  build->recipe = recipe;
  build->kind = kind;
  build->dtype = recipe->precision == MODEL_FP8 ? KERNEL_BF16 : (KernelDtype)model_precision_dtype(recipe->precision);
  build->fp8 = recipe->precision == MODEL_FP8 && kind == MODEL_UNIT_LAYER;
  build->fp8_cast = build->fp8_turned = (ModelMade){0, 0};
  build->e = model_precision_bytes(recipe->precision);
  build->fused = recipe->kernels != MODEL_KERNELS_EAGER;
  build->fused_activation = recipe->kernels == MODEL_KERNELS_FUSED;
  build->half = build->e < kernel_dtype_bytes(KERNEL_FP32);
  build->b = (double)micro_batch;
  build->s = (double)recipe->sequence_length;
  build->t = build->b * build->s;
  build->h = (double)shape->hidden_size;
  build->a = (double)shape->heads;
  build->d = (double)shape->head_dim;
  build->q = build->a * build->d;
  build->kv = (double)shape->kv_heads * build->d;
  build->f = (double)shape->intermediate_size;
  build->v = (double)shape->vocab_size;
  build->n_parameters = build->n_tensors = build->n_ops[MODEL_FORWARD] = build->n_ops[MODEL_BACKWARD] = 0;
}

ModelUnit *model_build_end(const ModelBuild *build) {
  guint n_forward = build->n_ops[MODEL_FORWARD], n_backward = build->n_ops[MODEL_BACKWARD];
  ModelUnit *unit = g_new0(ModelUnit, 1);
  unit->kind = build->kind;
  unit->n_parameters = build->n_parameters;
  unit->parameters = g_memdup2(build->parameters, build->n_parameters * sizeof *build->parameters);
  unit->n_tensors = build->n_tensors;
  unit->tensors = g_memdup2(build->tensors, build->n_tensors * sizeof *build->tensors);
  unit->n_forward = n_forward;
  unit->forward = g_memdup2(build->ops[MODEL_FORWARD], n_forward * sizeof *unit->forward);
  unit->n_backward = n_backward;
  unit->backward = g_memdup2(build->ops[MODEL_BACKWARD], n_backward * sizeof *unit->backward);
  unit->kernels = g_new(KernelOp, n_forward + n_backward);
  for (guint i = 0; i < n_forward; i++) {
    unit->kernels[i] = build->kernels[MODEL_FORWARD][i];
    unit->forward[i].kernel = &unit->kernels[i];
  }
  for (guint i = 0; i < n_backward; i++) {
    unit->kernels[n_forward + i] = build->kernels[MODEL_BACKWARD][i];
    unit->backward[i].kernel = &unit->kernels[n_forward + i];
  }
  return unit;
}

int model_build_parameter(ModelBuild *build, const char *name, double rows, double columns) {
  sim_require(build->n_parameters < MODEL_PARAMETERS_MOST, 0, NULL, "%s is one parameter too many", name);
  build->parameters[build->n_parameters] = (ModelParameter){.name = name,
                                                            .elements = (guint64)(rows * columns),
                                                            .rows = (guint64)rows,
                                                            .frozen = build->recipe->lora.rank > 0};
  return (int)build->n_parameters++;
}

static ModelSet add_tensor(ModelBuild *build, const char *name, ModelTensorRole role, gboolean scratch, double bytes) {
  sim_require(build->n_tensors < MODEL_TENSORS_MOST, 0, NULL, "%s is one tensor too many", name);
  build->tensors[build->n_tensors] = (ModelTensor){
      .name = name, .role = role, .scratch = scratch, .bytes = (guint64)MIN(bytes, (double)MODEL_TENSOR_MOST)};
  return model_set_of(build->n_tensors++);
}

ModelSet model_build_tensor(ModelBuild *build, const char *name, ModelTensorRole role, double bytes) {
  return add_tensor(build, name, role, FALSE, bytes);
}

ModelSet model_build_inner(ModelBuild *build, const char *name, double bytes) {
  return add_tensor(build, name, MODEL_TENSOR_INNER, FALSE, bytes);
}

ModelSet model_build_scratch(ModelBuild *build, const char *name, double bytes) {
  return add_tensor(build, name, MODEL_TENSOR_INNER, TRUE, bytes);
}

static ModelOp *add_op(ModelBuild *build, ModelDirection direction, const char *name, KernelOp kernel,
                       double nominal_flops, ModelSet reads, ModelSet writes) {
  guint i = build->n_ops[direction]++;
  kernel.compiled = build->recipe->compiled;
  sim_require(i < MODEL_OPS_MOST, 0, NULL, "%s is one operation too many", name);
  build->kernels[direction][i] = kernel;
  build->ops[direction][i] = (ModelOp){.name = name,
                                       .kernel = &build->kernels[direction][i],
                                       .nominal_flops = nominal_flops,
                                       .reads = reads,
                                       .writes = writes,
                                       .gradient_of = -1,
                                       .also_gradient_of = -1};
  return &build->ops[direction][i];
}

static guint64 traffic(double bytes) {
  return (guint64)MIN(bytes, (double)MODEL_TRAFFIC_MOST);
}

static KernelPass pass_of(ModelDirection direction) {
  return direction == MODEL_FORWARD ? KERNEL_FORWARD : KERNEL_DGRAD;
}

ModelOp *model_build_matmul(ModelBuild *build, ModelDirection direction, const char *name, double batch, double m,
                            double n, double k, ModelSet reads, ModelSet writes) {
  double flops = 2 * batch * m * n * k;
  KernelOp kernel = {.kind = KERNEL_MATMUL,
                     .dtype = build->dtype,
                     .batch = (guint64)batch,
                     .m = (guint64)m,
                     .n = (guint64)n,
                     .k = (guint64)k,
                     .flops = flops,
                     .bytes = traffic(build->e * batch * (m * k + k * n + m * n)),
                     .pass = pass_of(direction)};
  return add_op(build, direction, name, kernel, flops, reads, writes);
}

void model_build_in_fp8(ModelBuild *build, ModelDirection direction) {
  KernelOp *kernel = &build->kernels[direction][build->n_ops[direction] - 1];
  double m = (double)kernel->m, n = (double)kernel->n, k = (double)kernel->k;
  kernel->dtype = KERNEL_FP8;
  kernel->bytes =
      traffic((double)kernel->batch * (kernel_dtype_bytes(KERNEL_FP8) * (m * k + k * n) + build->e * m * n));
}

ModelOp *model_build_wgrad(ModelBuild *build, const char *name, double m, double n, double k, ModelSet reads) {
  ModelOp *op = model_build_matmul(build, MODEL_BACKWARD, name, 1, m, n, k, reads, 0);
  build->kernels[MODEL_BACKWARD][build->n_ops[MODEL_BACKWARD] - 1].pass = KERNEL_WGRAD;
  return op;
}

ModelOp *model_build_kernels(ModelBuild *build, ModelDirection direction, const char *name, KernelKind kind,
                             guint32 launches, double bytes, ModelSet reads, ModelSet writes) {
  KernelOp kernel = {.kind = kind,
                     .dtype = build->half ? build->dtype : KERNEL_FP32,
                     .batch = 1,
                     .bytes = traffic(bytes),
                     .pass = pass_of(direction),
                     .launches = launches};
  return add_op(build, direction, name, kernel, 0, reads, writes);
}

ModelOp *model_build_memory(ModelBuild *build, ModelDirection direction, const char *name, double bytes, ModelSet reads,
                            ModelSet writes) {
  return model_build_kernels(build, direction, name, KERNEL_MEMORY, 1, bytes, reads, writes);
}

ModelOp *model_build_attention(ModelBuild *build, ModelDirection direction, const char *name, double flops,
                               double nominal_flops, double bytes, ModelSet reads, ModelSet writes) {
  static const KernelFlash flashes[] = {[MODEL_FLASH_USUAL] = KERNEL_FLASH_USUAL,
                                        [MODEL_FLASH_1] = KERNEL_FLASH_1,
                                        [MODEL_FLASH_2] = KERNEL_FLASH_2,
                                        [MODEL_FLASH_3] = KERNEL_FLASH_3};
  KernelOp kernel = {.kind = KERNEL_ATTENTION,
                     .dtype = build->dtype,
                     .batch = (guint64)(build->b * build->a),
                     .m = (guint64)build->s,
                     .n = (guint64)build->s,
                     .k = (guint64)build->d,
                     .flops = flops,
                     .bytes = traffic(bytes),
                     .pass = pass_of(direction),
                     .flash = flashes[build->recipe->flash],
                     .causal = TRUE};
  return add_op(build, direction, name, kernel, nominal_flops, reads, writes);
}
