/* SPDX-License-Identifier: MIT */
/* Orders of axes: those of the frameworks, reading one, applying one. */
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "layout-order.h"

static const char *const words[] = {"tp", "cp", "ep", "dp", "pp", NULL};

/* Sources: Megatron-Core parallel_state.initialize_model_parallel (order = "tp-cp-ep-dp-pp"; use_tp_pp_dp_mapping is
 * "tp-cp-ep-pp-dp"); DeepSpeed runtime/pipe/topology.py PipeModelDataParallelTopology (axes pipe, data, model, the last
 * fastest); torchtitan distributed/parallel_dims.py (mesh pp, dp_replicate, dp_shard, cp, tp); nanotron
 * parallel/context.py: (ep, pp, dp, cp, tp) without experts, (dp, pp, cp, tp) and (expert dp, pp, ep, tp) with. */
const char *layout_default_order(const char *framework, gboolean experts) {
  if (g_strcmp0(framework, "nanotron") == 0 && experts)
    return "tp-cp-ep-pp-dp";
  return "tp-cp-ep-dp-pp";
}

/* Sources: Megatron-Core parallel_state.initialize_model_parallel (expert_tensor_parallel_size None); torchtitan
 * config/job_config.py (expert_tensor_parallel_degree = 1, of no effect where expert_parallel_degree is 1); DeepSpeed
 * utils/groups.py (expert tensor parallelism off). */
guint32 layout_default_expert_tensor(const char *framework, guint32 tensor, guint32 expert) {
  gboolean whole = g_strcmp0(framework, "fsdp2") == 0 || g_strcmp0(framework, "deepspeed") == 0;
  return whole && expert > 1 ? 1 : tensor;
}

static gboolean take_word(const char *text, const char *word, gboolean *seen, LayoutWord *ret, GError **error) {
  int found = base_names_find(words, word);
  if (found < 0) {
    g_autofree char *known = base_names_join(words);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "\"%s\" in the order \"%s\" is no axis; expected each of %s at most once", word, text, known);
    return FALSE;
  }
  if (seen[found]) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "the order \"%s\" has \"%s\" twice", text, word);
    return FALSE;
  }
  seen[found] = TRUE;
  *ret = (LayoutWord)found;
  return TRUE;
}

gboolean layout_order_read(const char *text, const guint32 extent[LAYOUT_WORDS], LayoutWord ret[LAYOUT_WORDS],
                           GError **error) {
  g_auto(GStrv) parts = g_strsplit(text, "-", -1);
  gboolean seen[LAYOUT_WORDS] = {FALSE};
  LayoutWord order[LAYOUT_WORDS];
  guint n = 0;
  for (guint i = 0; parts[i] != NULL; i++, n++)
    if (!take_word(text, parts[i], seen, &order[MIN(n, LAYOUT_WORDS - 1)], error))
      return FALSE;
  for (guint word = 0; word < LAYOUT_WORDS; word++) {
    if (!seen[word] && extent[word] > 1) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "the order \"%s\" lacks \"%s\", which has %u ranks", text,
                  words[word], extent[word]);
      return FALSE;
    }
    if (!seen[word])
      order[n++] = (LayoutWord)word;
  }
  memcpy(ret, order, sizeof order);
  return TRUE;
}

/* The axes of a grid that a word stands for, fastest first; LAYOUT_AXES: none. */
static const LayoutAxis dense_axes[LAYOUT_WORDS][2] = {[LAYOUT_WORD_TP] = {LAYOUT_TENSOR, LAYOUT_AXES},
                                                       [LAYOUT_WORD_CP] = {LAYOUT_CONTEXT, LAYOUT_AXES},
                                                       [LAYOUT_WORD_EP] = {LAYOUT_AXES, LAYOUT_AXES},
                                                       [LAYOUT_WORD_DP] = {LAYOUT_SHARD, LAYOUT_REPLICA},
                                                       [LAYOUT_WORD_PP] = {LAYOUT_PIPELINE, LAYOUT_AXES}};
static const LayoutAxis expert_axes[LAYOUT_WORDS][2] = {[LAYOUT_WORD_TP] = {LAYOUT_EXPERT_TENSOR, LAYOUT_AXES},
                                                        [LAYOUT_WORD_CP] = {LAYOUT_AXES, LAYOUT_AXES},
                                                        [LAYOUT_WORD_EP] = {LAYOUT_EXPERT, LAYOUT_AXES},
                                                        [LAYOUT_WORD_DP] = {LAYOUT_EXPERT_SHARD, LAYOUT_EXPERT_REPLICA},
                                                        [LAYOUT_WORD_PP] = {LAYOUT_PIPELINE, LAYOUT_AXES}};

static void apply_grid(const LayoutWord *order, const LayoutAxis axes[LAYOUT_WORDS][2], Layout *layout) {
  guint32 stride = 1;
  for (guint word = 0; word < LAYOUT_WORDS; word++)
    for (guint part = 0; part < 2; part++) {
      LayoutAxis axis = axes[order[word]][part];
      if (axis == LAYOUT_AXES)
        continue;
      layout->stride[axis] = stride;
      stride *= layout->degree[axis];
    }
}

void layout_order_apply(const LayoutWord order[LAYOUT_WORDS], Layout *layout) {
  apply_grid(order, expert_axes, layout);
  apply_grid(order, dense_axes, layout);
}
