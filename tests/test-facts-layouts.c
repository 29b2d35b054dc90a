/* SPDX-License-Identifier: MIT */
/* What layouts hold and send, one setting apart: facts from frameworks' sources and from papers. */
#include "facts.h"

#define NODE              "parallel.framework=megatron", "parallel.zero_stage=1", "cluster.nodes=1"
#define PLAIN             "training.activation_checkpointing=none"
#define FULL              "training.activation_checkpointing=full"
#define SELECTIVE         "training.activation_checkpointing=selective"
#define EAGER             "training.attention=eager", "training.dropout=0"
#define TENSOR            "parallel.tensor=8"
#define STAGES            "parallel.pipeline=4", "training.gradient_accumulation=16"
#define LONG              "training.sequence_length=32768"
#define HIDDEN            (2 * 4096.0 * 4096)          /* bytes of a hidden state of Llama-2-7B: 4096 tokens */
#define SCORES            (2 * 32 / 8 * 4096.0 * 4096) /* of a layer's probabilities, of an eighth of the heads */
#define QUERY_KEYS(HEADS) (2 * 8192 * 128.0 * (32 + 2 * (HEADS))) /* of Llama-3-8B's joined projection */

static const Fact recompute[] = {
    /* Korthikanti et al. 2022, section 4.2: what selective recompute spares is 5 a s² b / t a layer, of which without
     * dropout the softmax's 2 are left; the layer whose backward runs has it again. */
    {"selective recompute spares each layer's probabilities", .a = {"llama2-7b", {NODE, TENSOR, EAGER, PLAIN}},
     .b = {"llama2-7b", {NODE, TENSOR, EAGER, SELECTIVE}}, .metric = "peak_allocated", .relation = FACTS_DIFFERENCE,
     .least = 30.9 * SCORES, .most = 32 * SCORES},
    /* What the second run makes lives as long as the checkpoint's backward: nothing of it is there between steps. */
    {"and leaves nothing between steps", .a = {"llama2-7b", {NODE, TENSOR, EAGER, PLAIN}},
     .b = {"llama2-7b", {NODE, TENSOR, EAGER, SELECTIVE}}, .metric = "steady_allocated", .relation = FACTS_DIFFERENCE},
    /* tensor_parallel/random.py, CheckpointFunction: each rank keeps an eighth of every layer's input, and backward
     * gathers seven eighths of it, but for the one that it is at. */
    {"distribute_saved_activations keeps an eighth", .a = {"llama2-7b", {NODE, TENSOR, FULL}},
     .b = {"llama2-7b", {NODE, TENSOR, FULL, "megatron.distribute_saved_activations=yes"}}, .metric = "peak_allocated",
     .relation = FACTS_DIFFERENCE, .least = 31 * HIDDEN * 7 / 8, .most = 32 * HIDDEN * 7 / 8},
    {"and gathers the rest", .a = {"llama2-7b", {NODE, TENSOR, FULL, "megatron.distribute_saved_activations=yes"}},
     .b = {"llama2-7b", {NODE, TENSOR, FULL}}, .metric = "network_bytes_intra", .relation = FACTS_DIFFERENCE,
     .least = 32 * HIDDEN * 7 / 8, .most = 32 * HIDDEN * 7 / 8},
};

static const Fact stages[] = {
    /* pipeline_parallel/schedules.py, deallocate_output_tensor: the first of four stages has four micro-batches in
     * flight under 1F1B, whose outputs it has sent. */
    {"deallocate_pipeline_outputs frees what is in flight",
     .a = {"llama2-7b", {NODE, STAGES, PLAIN, "megatron.deallocate_pipeline_outputs=no"}},
     .b = {"llama2-7b", {NODE, STAGES, PLAIN, "megatron.deallocate_pipeline_outputs=yes"}}, .metric = "peak_allocated",
     .relation = FACTS_DIFFERENCE, .least = 4 * HIDDEN, .most = 4 * HIDDEN},
    /* distributed/finalize_model_grads.py, _allreduce_word_embedding_grads: two ranks sum the table's gradient of 4
     * bytes, 32000 x 4096, once a step: each sends it once. */
    {"a tied table is summed between the ends", .a = {"llama2-7b", {NODE, STAGES, "model.tied_embeddings=yes"}},
     .b = {"llama2-7b", {NODE, STAGES}}, .metric = "network_bytes_intra", .relation = FACTS_DIFFERENCE,
     .least = 4 * 32000 * 4096.0, .most = 4 * 32000 * 4096.0},
};

static const Fact heads[] = {
    /* transformer/attention.py, get_query_key_value_tensors: with fewer groups than ranks the joined output of all is
     * gathered, and its gradient reduced and scattered: seven eighths of it each time, in 32 layers. */
    {"one key head among eight ranks: queries are gathered too",
     .a = {"llama3-8b", {NODE, TENSOR, PLAIN, "model.kv_heads=1"}},
     .b = {"llama3-8b", {NODE, TENSOR, PLAIN, "model.kv_heads=8"}}, .metric = "network_bytes_intra",
     .relation = FACTS_DIFFERENCE, .least = 32 * 2 * QUERY_KEYS(1) * 7 / 8, .most = 32 * 2 * QUERY_KEYS(1) * 7 / 8},
    /* Early and late pieces of a sequence on each rank make causal attention even (Transformer Engine's
     * context_parallel.py; Llama 3, arXiv 2407.21783, section 3.3.2): a quarter of the compute on each of four. The
     * last quarter alone would be 7/16 of attention, which is more than a third of the whole here. */
    {"four context ranks have a quarter each",
     .a = {"llama3-8b", {NODE, PLAIN, LONG, "parallel.context=4", "megatron.cp_comm_type=all-gather"}},
     .b = {"llama3-8b", {NODE, PLAIN, LONG}}, .metric = "compute", .least = 0.25, .most = 0.27},
};

static void second_runs(void) {
  facts_check_all(recompute, G_N_ELEMENTS(recompute));
}

static void pipelines(void) {
  facts_check_all(stages, G_N_ELEMENTS(stages));
}

static void shares(void) {
  facts_check_all(heads, G_N_ELEMENTS(heads));
}

int main(void) {
  return harness_run("facts-layouts", (HarnessCase[]){{"recompute", second_runs},
                                                      {"pipelines", pipelines},
                                                      {"heads and context", shares},
                                                      {NULL, NULL}});
}
