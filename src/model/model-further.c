/* SPDX-License-Identifier: MIT */
/* The operations around a layer that foretells one more token, each way. On one context rank. */
#include "model-further.h"

#include "model-autocast.h"

static const ModelLinearNames projection_names = MODEL_LINEAR_NAMES("eh_proj");
static const ModelRegionNames joined_region = MODEL_REGION_NAMES("further_joined");
static const ModelNormNames embedded_names = MODEL_NORM_NAMES("enorm"), hidden_names = MODEL_NORM_NAMES("hnorm"),
                            final_names = MODEL_NORM_NAMES("further_norm");
static const ModelTableNames table_names = {"further_embed.mask",          "further_embed.reduce", "d_further.gather",
                                            "further_embed.mask.backward", "d_further_rows_all",   "d_further_rows"};

/* Of this rank's tokens. Under autocast the layer's own stream is taken to be as wide as the model's. */
static double stream_elements(const ModelBuild *build) {
  return build->between * build->h;
}

static double stream_bytes(const ModelBuild *build) {
  return build->w * stream_elements(build);
}

static ModelSet stream_inner(ModelBuild *build, const char *name) {
  return model_stream_inner(build, name, stream_elements(build));
}

static double whole_bytes(const ModelBuild *build) {
  return build->w * build->t * build->h;
}

void model_further_define(ModelBuild *build, ModelFurther *further) {
  further->table = model_build_parameter(build, "embed_tokens.weight", build->v, build->h);
  model_build_place(build, further->table, model_table_is_shared(build) ? MODEL_PLACE_SPLIT : MODEL_PLACE_WHOLE,
                    (double)build->shape->vocab_size * build->h);
  build->parameters[further->table].shared = TRUE;
  model_build_uncast(build, further->table);
  further->embedded_norm = model_norm(build, &embedded_names);
  further->hidden_norm = model_norm(build, &hidden_names);
  further->projection =
      model_linear(build, &projection_names, MODEL_COLUMNS, 2 * build->h, build->h / build->tensor, FALSE);
  further->final_norm = model_norm(build, &final_names);
}

/* ---- Rows of the table ---- */

static void embed(ModelBuild *build, ModelFurther *further) {
  double whole = whole_bytes(build);
  further->embedded = stream_inner(build, "further_embedded");
  ModelSet rows = build->sequence ? model_build_inner(build, "further_rows", whole) : further->embedded;
  model_build_kernels(build, MODEL_FORWARD, "further_embed", KERNEL_GATHER, 1, 2 * whole, 0, rows)->uses =
      (guint64)1 << further->table;
  if (model_table_is_shared(build))
    model_table_sum(build, &table_names, rows, build->sequence ? further->embedded : 0);
}

static void embed_backward(ModelBuild *build, const ModelFurther *further, ModelSet d_embedded) {
  ModelSet d_rows = build->sequence ? model_table_gather(build, &table_names, d_embedded) : d_embedded;
  if (model_table_is_shared(build))
    d_rows = model_table_mask(build, &table_names, d_rows);
  model_table_gradient(build, "further_embed.backward", d_rows, 0)->gradient_of = further->table;
}

/* ---- The projection ---- */

/* The ranks' columns beside each other, a copy of what was gathered; then this rank's tokens of them. */
static ModelSet columns_to_tokens(ModelBuild *build, ModelSet columns) {
  double whole = whole_bytes(build);
  ModelSet gathered = model_build_inner(build, "further_columns", whole);
  ModelSet all = model_build_inner(build, "further_read_all", whole);
  model_build_exchange(build, MODEL_FORWARD, "eh_proj.gather", MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR, whole,
                       columns, gathered);
  model_build_memory(build, MODEL_FORWARD, "eh_proj.join", 2 * whole, gathered, all);
  if (!build->sequence)
    return all;
  ModelSet own = model_build_inner(build, "further_read", stream_bytes(build));
  model_build_memory(build, MODEL_FORWARD, "eh_proj.own_tokens", 2 * stream_bytes(build), all, own);
  return own;
}

static ModelSet tokens_to_columns(ModelBuild *build, ModelSet d_read) {
  double whole = whole_bytes(build), columns = whole / build->tensor;
  ModelSet d_all = d_read;
  if (build->sequence) {
    d_all = model_build_inner(build, "d_further_read_all", whole);
    model_build_exchange(build, MODEL_BACKWARD, "eh_proj.own_tokens.backward", MODEL_EXCHANGE_ALL_GATHER,
                         MODEL_AXIS_TENSOR, whole, d_read, d_all);
  }
  ModelSet d_columns = model_build_inner(build, "d_further_columns", columns);
  model_build_memory(build, MODEL_BACKWARD, "eh_proj.own_columns", 2 * columns, d_all, d_columns);
  return d_columns;
}

static ModelSet project(ModelBuild *build, ModelFurther *further, ModelSet joined) {
  double columns = whole_bytes(build) / build->tensor;
  ModelSet whole = model_region_enter_width(build, &further->joined_in, &joined_region, 2 * build->h, joined);
  ModelSet made =
      build->tensor > 1 ? model_build_inner(build, "further_part", columns) : stream_inner(build, "further_read");
  model_linear_forward(build, &further->projection, whole, made);
  return build->tensor > 1 ? columns_to_tokens(build, made) : made;
}

static ModelSet project_backward(ModelBuild *build, ModelFurther *further, ModelSet d_read) {
  ModelSet d_made = build->tensor > 1 ? tokens_to_columns(build, d_read) : d_read;
  ModelSet d_joined = model_region_gradient(build, &further->joined_in);
  return model_region_backward(build, &further->joined_in, &further->projection, d_made, d_joined);
}

/* ---- Both ends ---- */

ModelSet model_further_enter(ModelBuild *build, ModelFurther *further) {
  double stream = stream_bytes(build);
  further->hidden = model_stream_tensor(build, "input", MODEL_TENSOR_INPUT, stream_elements(build));
  embed(build, further);
  ModelSet embedded = stream_inner(build, "further_embedded_normed");
  ModelSet hidden = stream_inner(build, "further_hidden_normed");
  model_norm_forward(build, &further->embedded_norm, further->embedded, embedded);
  model_norm_forward(build, &further->hidden_norm, further->hidden, hidden);
  ModelSet joined = model_stream_inner(build, "further_joined", 2 * stream_elements(build));
  model_build_memory(build, MODEL_FORWARD, "further_join", 4 * stream, embedded | hidden, joined);
  return project(build, further, joined);
}

void model_further_leave(ModelBuild *build, ModelFurther *further, ModelSet made) {
  double stream = stream_bytes(build);
  further->made = made;
  ModelSet normed = stream_inner(build, "further_normed");
  model_norm_forward(build, &further->final_norm, made, normed);
  ModelSet output = model_stream_tensor(build, "output", MODEL_TENSOR_OUTPUT, 2 * stream_elements(build));
  model_build_memory(build, MODEL_FORWARD, "further_streams", 4 * stream, further->hidden | normed, output);
}

/* Halves of a gradient are views of it. */
ModelSet model_further_leave_backward(ModelBuild *build, ModelFurther *further) {
  further->d_streams = model_stream_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, 2 * stream_elements(build));
  ModelSet d_made = stream_inner(build, "d_further_made");
  model_norm_backward(build, &further->final_norm, further->made, further->d_streams, d_made);
  return d_made;
}

void model_further_enter_backward(ModelBuild *build, ModelFurther *further, ModelSet d_read) {
  double stream = stream_bytes(build);
  ModelSet d_joined = project_backward(build, further, d_read);
  ModelSet d_hidden = stream_inner(build, "d_further_hidden");
  ModelSet d_embedded = stream_inner(build, "d_further_embedded");
  model_norm_backward(build, &further->hidden_norm, further->hidden, d_joined, d_hidden);
  model_norm_backward(build, &further->embedded_norm, further->embedded, d_joined, d_embedded);
  embed_backward(build, further, d_embedded);
  ModelSet d_input = model_stream_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, stream_elements(build));
  model_build_memory(build, MODEL_BACKWARD, "further_streams.backward", 3 * stream, further->d_streams | d_hidden,
                     d_input);
}
