/* SPDX-License-Identifier: MIT */
/* size_based_auto_wrap_policy inside a block, by Hugging Face's modules: attention and MLP hold the linear layers, the
 * block holds both and the norms.
 *
 *   block ─┬─ self_attn ─ q_proj k_proj v_proj o_proj          a module of at least N parameters looks first at what
 *          ├─ mlp ─ gate_proj up_proj down_proj                is inside it; what no unit inside holds is its own unit
 *          └─ norms                                            if that is at least N, else the module's above
 *
 * Adapters are modules of their own beside the layer's; they are small and stay with the module above. Source: torch/
 * distributed/fsdp/wrap.py, _recursive_wrap. */
#include <string.h>

#include "plan-wrap.h"

typedef struct {
  const char *name;
  const char *linears[5];
} Module;

static const Module modules[] = {{"self_attn", {"q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj"}},
                                 {"mlp", {"gate_proj", "up_proj", "down_proj", NULL, NULL}}};

static guint64 elements_of(const ModelUnit *block, guint64 mask) {
  guint64 elements = 0;
  for (guint p = 0; p < block->n_parameters; p++)
    elements += mask >> p & 1 ? block->parameters[p].elements : 0;
  return elements;
}

/* Parameters whose name is the module's and more: "q_proj.weight" of q_proj; `own`: not those of its adapter. */
static guint64 parameters_of(const ModelUnit *block, const char *module, gboolean own) {
  guint64 mask = 0;
  gsize length = strlen(module);
  for (guint p = 0; p < block->n_parameters; p++) {
    const char *name = block->parameters[p].name;
    gboolean below = strncmp(name, module, length) == 0 && name[length] == '.';
    if (below && !(own && strstr(name + length, ".lora_") != NULL))
      mask |= (guint64)1 << p;
  }
  return mask;
}

/* A unit of what of the module is in no other, if that is large. */
static guint wrap_rest(const ModelUnit *block, guint64 least, const char *name, guint64 span, guint64 *rest,
                       PlanWrapModule *ret) {
  guint64 left = span & *rest;
  if (elements_of(block, left) < least)
    return 0;
  *ret = (PlanWrapModule){name, left, span};
  *rest &= ~left;
  return 1;
}

guint plan_wrap_inside(const ModelUnit *block, guint64 least, PlanWrapModule *ret) {
  guint n = 0;
  guint64 rest = ((guint64)1 << block->n_parameters) - 1;
  for (gsize m = 0; m < G_N_ELEMENTS(modules); m++) {
    const Module *module = &modules[m];
    guint64 span = 0;
    for (gsize l = 0; l < G_N_ELEMENTS(module->linears); l++)
      span |= module->linears[l] != NULL ? parameters_of(block, module->linears[l], FALSE) : 0;
    if (elements_of(block, span) < least)
      continue;
    for (gsize l = 0; l < G_N_ELEMENTS(module->linears) && module->linears[l] != NULL; l++)
      n += wrap_rest(block, least, module->linears[l], parameters_of(block, module->linears[l], TRUE), &rest, &ret[n]);
    n += wrap_rest(block, least, module->name, span, &rest, &ret[n]);
  }
  return n;
}

gboolean plan_wrap_splits_blocks(const ModelShape *shape, guint64 least) {
  guint64 queries = shape->heads * shape->head_dim, keys = shape->kv_heads * shape->head_dim;
  guint64 attention = shape->hidden_size * (2 * queries + 2 * keys);
  guint64 mlp =
      shape->hidden_size * shape->intermediate_size * (model_has(model_shape_traits(shape), MODEL_GATED) ? 3 : 2);
  return MAX(attention, mlp) >= least;
}
