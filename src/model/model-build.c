/* SPDX-License-Identifier: MIT */
/* The bench on which a unit is put together; it is copied to size at the end. */
#include "model-projections.h"

#include <string.h>

#include "base-error.h"

/* Fewer key heads than ranks: one for each rank. The joined projection whose output is gathered is split evenly all the
 * same. */
static void set_heads(ModelBuild *build) {
  double heads = (double)build->shape->heads, key_heads = (double)build->shape->kv_heads, tensor = build->tensor;
  gboolean few = key_heads < tensor, joined = model_projections_joined(build);
  build->a = heads / tensor;
  build->q = build->q_made = build->a * build->d;
  build->kv = build->kv_made = few ? build->d : key_heads / tensor * build->d;
  if (few && build->share->keys == MODEL_KEYS_GATHERED && joined)
    build->kv_made = key_heads * build->d / tensor;
  build->c = build->shape->kv_rank > 0 ? build->a * (double)build->shape->value_dim : build->q;
  build->values = build->shape->kv_rank > 0 ? build->c : build->kv;
}

/* What a layer of this kind has: chunked attention alone has positions, in layers that see all there are none. */
static void set_kind(ModelBuild *build, ModelUnitKind kind) {
  gboolean dense = kind == MODEL_UNIT_LAYER_DENSE || kind == MODEL_UNIT_LAYER_DENSE_FULL;
  gboolean full = kind == MODEL_UNIT_LAYER_FULL || kind == MODEL_UNIT_LAYER_DENSE_FULL;
  build->kind = kind;
  build->traits = model_shape_traits(build->shape);
  build->mixes = build->shape->experts > 0 && !dense;
  build->window = full ? 0 : (double)build->shape->sliding_window;
  if (build->shape->encoder_layers > 0 && (kind == MODEL_UNIT_LAYER || kind == MODEL_UNIT_LAYER_FIRST))
    build->traits |= MODEL_BIDIRECTIONAL;
  if (full && model_has(build->traits, MODEL_CHUNKED))
    build->traits &= ~(MODEL_ROTARY | MODEL_QK_NORM_PLAIN);
}

/* Whether its tokens are the decoder's. */
static gboolean is_decoded(const ModelBuild *build) {
  ModelUnitKind kind = build->kind;
  return kind == MODEL_UNIT_BETWEEN || kind == MODEL_UNIT_DECODER || kind == MODEL_UNIT_DECODER_FIRST ||
         (kind == MODEL_UNIT_HEAD && build->shape->encoder_layers > 0);
}

static void set_share(ModelBuild *build) {
  const ModelShare *share = build->share = &build->recipe->share;
  build->tensor = model_share_tensor(share);
  build->context = model_share_context(share);
  build->sequence = share->sequence_parallel && build->tensor > 1;
  sim_require(!build->sequence || !share->whole_vocabulary, 0, NULL,
              "sequence parallelism with a whole vocabulary on each rank");
  build->encoded = (double)build->recipe->sequence_length;
  build->keys = is_decoded(build) ? (double)build->recipe->decoder_length : build->encoded;
  build->s = build->keys / build->context;
  build->t = build->b * build->s;
  build->between = build->sequence ? build->t / build->tensor : build->t;
  build->f = (double)build->shape->intermediate_size / build->tensor;
  gboolean labels = build->kind == MODEL_UNIT_HEAD && build->shape->labels > 0;
  build->v = (double)model_share_vocabulary(share, labels ? build->shape->labels : build->shape->vocab_size);
  set_heads(build);
}

void model_build_begin(ModelBuild *build, const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch,
                       ModelUnitKind kind) {
  build->shape = shape;
  build->recipe = recipe;
  set_kind(build, kind);
  build->dtype = recipe->precision == MODEL_FP8 ? KERNEL_BF16 : (KernelDtype)model_precision_dtype(recipe->precision);
  build->fp8 = recipe->precision == MODEL_FP8 && model_unit_is_layer(kind);
  build->fp8_cast = build->fp8_turned = (ModelMade){0, 0};
  build->fp8_kept = build->fp8_gathered = 0;
  build->e = model_precision_bytes(recipe->precision);
  build->w = recipe->autocast ? MAX(build->e, MODEL_BYTES_FP32) : build->e;
  build->fused_norm = recipe->kernels != MODEL_KERNELS_EAGER;
  build->in_place = recipe->kernels == MODEL_KERNELS_LIGER;
  build->fused_masks = recipe->kernels == MODEL_KERNELS_FUSED;
  build->fused_activation = build->fused_masks || build->in_place;
  build->fused = build->fused_activation || recipe->kernels == MODEL_KERNELS_NORMS;
  build->half = build->e < kernel_dtype_bytes(KERNEL_FP32);
  build->h = (double)shape->hidden_size;
  build->d = (double)shape->head_dim;
  build->b = (double)micro_batch * (kind == MODEL_UNIT_HEAD ? 1 + (double)shape->mtp_layers : 1); /* streams */
  build->gathered = build->copied = build->narrowed = (ModelMade){0, 0};
  build->wide = 0;
  build->in_chunks = FALSE;
  set_share(build);
  build->n_parameters = build->n_tensors = 0;
  build->too_many = NULL;
  memset(build->n_ops, 0, sizeof build->n_ops);
}

/* The operations of one direction, their kernels from `first` on. */
static ModelOp *end_direction(const ModelBuild *build, ModelDirection direction, KernelOp *kernels, guint *first) {
  guint n = build->n_ops[direction];
  ModelOp *ops = g_memdup2(build->ops[direction], n * sizeof *ops);
  model_ops_await(ops, n);
  for (guint i = 0; i < n; i++) {
    kernels[*first + i] = build->kernels[direction][i];
    ops[i].kernel = &kernels[*first + i];
  }
  *first += n;
  return ops;
}

ModelUnit *model_build_end(const ModelBuild *build) {
  guint n_kernels = 0, first = 0;
  for (int direction = 0; direction < MODEL_DIRECTIONS; direction++)
    n_kernels += build->n_ops[direction];
  ModelUnit *unit = g_new0(ModelUnit, 1);
  unit->kind = build->kind;
  unit->n_parameters = build->n_parameters;
  unit->parameters = g_memdup2(build->parameters, build->n_parameters * sizeof *build->parameters);
  unit->n_tensors = build->n_tensors;
  unit->tensors = g_memdup2(build->tensors, build->n_tensors * sizeof *build->tensors);
  unit->kernels = g_new(KernelOp, n_kernels);
  unit->n_forward = build->n_ops[MODEL_FORWARD];
  unit->forward = end_direction(build, MODEL_FORWARD, unit->kernels, &first);
  unit->n_backward = build->n_ops[MODEL_BACKWARD];
  unit->backward = end_direction(build, MODEL_BACKWARD, unit->kernels, &first);
  unit->n_keeping = build->n_ops[MODEL_KEEPING];
  unit->keeping = end_direction(build, MODEL_KEEPING, unit->kernels, &first);
  return unit;
}

int model_build_parameter(ModelBuild *build, const char *name, double rows, double columns) {
  sim_require(build->n_parameters < MODEL_PARAMETERS_MOST, 0, NULL, "%s is one parameter too many", name);
  build->parameters[build->n_parameters] = (ModelParameter){.name = name,
                                                            .elements = (guint64)(rows * columns),
                                                            .rows = (guint64)rows,
                                                            .whole = (guint64)(rows * columns),
                                                            .copies = 1,
                                                            .frozen = build->recipe->lora.rank > 0};
  return (int)build->n_parameters++;
}

void model_build_place(ModelBuild *build, int parameter, ModelPlace place, double whole) {
  build->parameters[parameter].place = build->tensor > 1 ? place : MODEL_PLACE_WHOLE;
  build->parameters[parameter].whole = (guint64)whole;
}

void model_build_uncast(ModelBuild *build, int parameter) {
  build->parameters[parameter].uncast = TRUE;
}

static ModelSet add_tensor(ModelBuild *build, const char *name, ModelTensorRole role, gboolean scratch, double bytes) {
  if (build->n_tensors == MODEL_TENSORS_MOST) {
    build->too_many = build->too_many != NULL ? build->too_many : name;
    build->n_tensors--;
  }
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

static ModelSet add_side(ModelBuild *build, const char *name, ModelTensorRole role, ModelSide side, double bytes) {
  ModelSet set = add_tensor(build, name, role, FALSE, bytes);
  build->tensors[model_set_first(set)].side = side;
  return set;
}

ModelSet model_build_side(ModelBuild *build, const char *name, ModelSide side, double bytes) {
  return add_side(build, name, MODEL_TENSOR_SIDE, side, bytes);
}

ModelSet model_build_grad_side(ModelBuild *build, const char *name, ModelSide side, double bytes) {
  return add_side(build, name, MODEL_TENSOR_GRAD_SIDE, side, bytes);
}

ModelSet model_build_scratch(ModelBuild *build, const char *name, double bytes) {
  return add_tensor(build, name, MODEL_TENSOR_INNER, TRUE, bytes);
}

static ModelOp *add_op(ModelBuild *build, ModelDirection direction, const char *name, KernelOp kernel,
                       double nominal_flops, ModelSet reads, ModelSet writes) {
  if (build->n_ops[direction] == MODEL_OPS_MOST) {
    build->too_many = build->too_many != NULL ? build->too_many : name;
    build->n_ops[direction]--;
  }
  guint i = build->n_ops[direction]++;
  kernel.compiled = build->recipe->compiled;
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
  return direction == MODEL_BACKWARD ? KERNEL_DGRAD : KERNEL_FORWARD;
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

/* Both operands in, the result out, which is never fp8, or in and out where it is added to what is there. The
 * embedding's are not. */
static double matmul_bytes(const ModelBuild *build, const KernelOp *kernel) {
  double m = (double)kernel->m, n = (double)kernel->n, k = (double)kernel->k;
  double operand = kernel->dtype == KERNEL_FP8 ? kernel_dtype_bytes(KERNEL_FP8) : build->e;
  gboolean adds = kernel->pass == KERNEL_WGRAD && build->kind != MODEL_UNIT_EMBEDDING && build->recipe->wgrad_bytes > 0;
  double result = adds ? build->recipe->wgrad_bytes : build->e;
  return (double)kernel->batch * (operand * (m * k + k * n) + result * m * n);
}

void model_build_in_fp8(ModelBuild *build, ModelDirection direction) {
  KernelOp *kernel = &build->kernels[direction][build->n_ops[direction] - 1];
  kernel->dtype = KERNEL_FP8;
  kernel->bytes = traffic(matmul_bytes(build, kernel));
}

void model_build_is_wgrad(ModelBuild *build) {
  KernelOp *kernel = &build->kernels[MODEL_BACKWARD][build->n_ops[MODEL_BACKWARD] - 1];
  kernel->pass = KERNEL_WGRAD;
  kernel->bytes = traffic(matmul_bytes(build, kernel));
}

ModelOp *model_build_wgrad(ModelBuild *build, const char *name, double m, double n, double k, ModelSet reads) {
  ModelOp *op = model_build_matmul(build, MODEL_BACKWARD, name, 1, m, n, k, reads, 0);
  model_build_is_wgrad(build);
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

ModelOp *model_build_attention(ModelBuild *build, ModelDirection direction, const char *name, ModelPairs pairs,
                               double flops, double nominal_flops, double bytes, ModelSet reads, ModelSet writes) {
  static const KernelFlash flashes[] = {[MODEL_FLASH_USUAL] = KERNEL_FLASH_USUAL,
                                        [MODEL_FLASH_1] = KERNEL_FLASH_1,
                                        [MODEL_FLASH_2] = KERNEL_FLASH_2,
                                        [MODEL_FLASH_3] = KERNEL_FLASH_3};
  KernelOp kernel = {.kind = KERNEL_ATTENTION,
                     .dtype = build->dtype,
                     .batch = (guint64)(build->b * build->a * (pairs.samples > 0 ? pairs.samples : 1)),
                     .m = (guint64)pairs.queries,
                     .n = (guint64)pairs.keys,
                     .k = (guint64)build->d,
                     .flops = flops,
                     .bytes = traffic(bytes),
                     .pass = pass_of(direction),
                     .flash = flashes[build->recipe->flash],
                     .causal = pairs.causal};
  return add_op(build, direction, name, kernel, nominal_flops, reads, writes);
}

ModelOp *model_build_exchange(ModelBuild *build, ModelDirection direction, const char *name, ModelExchangeKind kind,
                              ModelAxis axis, double bytes, ModelSet reads, ModelSet writes) {
  ModelOp *op = model_build_memory(build, direction, name, 0, reads, writes);
  op->exchange = (ModelExchange){.kind = kind, .axis = axis, .bytes = traffic(bytes), .steps = 1};
  return op;
}

void model_build_join(ModelBuild *build, const char *name, double bytes, ModelSet part, ModelSet gradient) {
  model_build_memory(build, MODEL_BACKWARD, name, 3 * bytes, part | gradient, 0)->joins = TRUE;
}

void model_build_adds(ModelBuild *build, ModelDirection direction, guint32 launches, double bytes) {
  KernelOp *kernel = &build->kernels[direction][build->n_ops[direction] - 1];
  kernel->launches += launches;
  kernel->bytes += traffic(bytes);
}

void model_build_reads(ModelBuild *build, ModelDirection direction, ModelSet tensor, double bytes) {
  guint last = build->n_ops[direction] - 1;
  build->ops[direction][last].reads |= tensor;
  build->kernels[direction][last].bytes += traffic(bytes);
}

void model_build_writes(ModelBuild *build, ModelDirection direction, ModelSet tensor, double bytes) {
  guint last = build->n_ops[direction] - 1;
  build->ops[direction][last].writes |= tensor;
  build->kernels[direction][last].bytes += traffic(bytes);
}

void model_build_merge(ModelBuild *build, ModelDirection direction, double spared) {
  guint last = --build->n_ops[direction];
  ModelOp *into = &build->ops[direction][last - 1];
  const ModelOp *second = &build->ops[direction][last];
  into->name = second->name;
  into->reads |= second->reads & ~into->writes;
  into->writes |= second->writes;
  into->saves |= second->saves;
  into->uses |= second->uses;
  KernelOp *kernel = &build->kernels[direction][last - 1];
  kernel->bytes += build->kernels[direction][last].bytes - traffic(spared);
}

void model_build_in_pieces(ModelBuild *build, ModelDirection direction, guint32 pieces) {
  guint last = build->n_ops[direction] - 1;
  KernelOp *kernel = &build->kernels[direction][last];
  kernel->m /= pieces;
  kernel->flops /= pieces;
  kernel->bytes = traffic(matmul_bytes(build, kernel));
  build->ops[direction][last].pieces = pieces;
}
