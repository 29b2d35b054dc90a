/* SPDX-License-Identifier: MIT */
/* Ranks that share a layer's experts, under each framework that has them: any layout plays to its end; over which ranks
 * what is reduced, gathered and exchanged. */
#include <string.h>

#include "plan-case.h"

#define ELEMENT   2 /* bytes of bf16 */
#define FP32      4
#define HIDDEN    256
#define INSIDE    128 /* of an expert */
#define EXPERTS   8
#define TOKENS    64
#define PICKED    2
#define OF_EXPERT ((guint64)3 * HIDDEN * INSIDE)
#define LAYERS    4

/* A mixtral of 8 heads of 32, eight experts a layer of which a token works with two. */
static void shape_of(ModelShape *ret) {
  PlanShape size = {.layers = LAYERS, .hidden_size = HIDDEN, .intermediate_size = 512, .vocab_size = 640};
  plan_case_shape(&size, ret);
  ret->heads = ret->kv_heads = 8;
  ret->head_dim = 32;
  ret->experts = EXPERTS;
  ret->experts_per_token = PICKED;
  ret->expert_intermediate_size = INSIDE;
}

static gboolean load(guint32 ranks, const char *settings, ModelRecipe *model, PlanRecipe *recipe, GError **error) {
  ModelShape shape;
  g_auto(GStrv) list = g_strsplit(settings, " ", -1);
  shape_of(&shape);
  return plan_case_load(&shape, ranks, 8, (const char *const *)list, model, recipe, error);
}

static Program *program_of(guint32 ranks, const char *settings) {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  if (!load(ranks, settings, &model, &recipe, &error)) {
    printf("\n    %s: %s\n", settings, error->message);
    CU_FAIL("a recipe was refused");
    return NULL;
  }
  shape_of(&shape);
  return plan_program(&shape, &model, &recipe);
}

static void any_layout_plays(void) {
  static const char *const dispatchers[] = {"alltoall", "allgather", "flex"};
  static const char *const recomputes[] = {"none", "full", "selective"};
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 120; i++) {
    int framework = g_rand_int_range(random, 0, 3);
    guint32 tensor = framework < 2 ? 1U << g_rand_int_range(random, 0, 3) : 1;
    guint32 pipeline = framework < 2 ? 1U << g_rand_int_range(random, 0, 2) : 1;
    guint32 expert = 1U << g_rand_int_range(random, 0, 4), split = g_rand_boolean(random) ? tensor : 1;
    guint32 ranks = tensor * pipeline * expert * split * (guint32)g_rand_int_range(random, 1, 3);
    g_autofree char *own =
        framework == 0
            ? g_strdup_printf("parallel.framework=megatron parallel.zero_stage=%d parallel.sequence_parallel=%s "
                              "megatron.moe_token_dispatcher_type=%s megatron.overlap_grad_reduce=%s",
                              g_rand_int_range(random, 0, 2), tensor > 1 ? "yes" : "no",
                              dispatchers[g_rand_int_range(random, 0, split > 1 ? 2 : 3)],
                              g_rand_boolean(random) ? "yes" : "no")
        : framework == 1
            ? g_strdup_printf("parallel.framework=fsdp2 parallel.zero_stage=%d fsdp.wrap=%s",
                              g_rand_int_range(random, 2, 4), g_rand_boolean(random) ? "ends" : "block")
            : g_strdup_printf("parallel.framework=deepspeed parallel.zero_stage=%d", g_rand_int_range(random, 0, 3));
    g_autofree char *settings =
        g_strdup_printf("%s parallel.tensor=%u parallel.pipeline=%u parallel.expert=%u parallel.expert_tensor=%u "
                        "training.gradient_accumulation=%u training.activation_checkpointing=%s",
                        own, tensor, pipeline, expert, split, (guint)g_rand_int_range(random, 1, 4),
                        recomputes[g_rand_int_range(random, 0, 3)]);
    g_autoptr(Program) program = program_of(ranks, settings);
    if (program != NULL)
      plan_case_plays(program, settings);
  }
}

/* ---- What a rank's steady step sends ---- */

typedef struct {
  guint rows;
  guint64 bytes;
} Sent;

/* By name, over communicators of so many ranks. */
static Sent sent(const Program *program, const char *name, guint32 members) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  Sent found = {0};
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (row->kind != PROGRAM_COLLECTIVE || strcmp(row->name, name) != 0 ||
        program->communicators[program_group(program, 0, row->group)].n_ranks != members)
      continue;
    found.rows++;
    found.bytes += row->call.bytes;
  }
  return found;
}

#define DENSE_LAYER (4 * HIDDEN * HIDDEN + 2 * HIDDEN + EXPERTS * HIDDEN) /* q, k, v, o; norms; router */
#define DENSE       (LAYERS * (guint64)DENSE_LAYER + 2 * 640 * HIDDEN + HIDDEN)

/* Sixteen ranks, four hold a layer's experts between them: eight experts of a rank's two on each of four data ranks of
 * its own. Dense gradients go over all sixteen. Both sums are multiples of 128 × 16, so nothing is padded. */
static void megatron_reduces_experts_over_their_own(void) {
  g_autoptr(Program) program = program_of(16, "parallel.framework=megatron parallel.zero_stage=1 parallel.expert=4 "
                                              "megatron.moe_token_dispatcher_type=alltoall");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  guint64 experts = LAYERS * OF_EXPERT * EXPERTS / 4;
  CU_ASSERT_EQUAL(DENSE % 128 + experts % 128, 0);
  CU_ASSERT_EQUAL(sent(program, "reduce-scatter gradients", 16).bytes, DENSE * FP32);
  CU_ASSERT_EQUAL(sent(program, "reduce-scatter gradients", 4).bytes, experts * FP32);
  CU_ASSERT_EQUAL(sent(program, "all-gather parameters", 16).bytes, DENSE * ELEMENT);
  CU_ASSERT_EQUAL(sent(program, "all-gather parameters", 4).bytes, experts * ELEMENT);
  CU_ASSERT_EQUAL(sent(program, "all-reduce norm", 16).rows, 2);
  Sent rows = sent(program, "experts.dispatch", 4);
  CU_ASSERT_EQUAL(rows.rows, LAYERS);
  CU_ASSERT_EQUAL(rows.bytes, LAYERS * (guint64)TOKENS * PICKED * HIDDEN * ELEMENT);
}

/* Two instances of the optimizer, of sixteen ranks each, in which four hold the same experts: slices are summed over
 * the two, those of experts on a stream of their own. */
static void instances_shard_experts_within(void) {
  g_autoptr(Program) program = program_of(32, "parallel.framework=megatron parallel.zero_stage=1 parallel.expert=4 "
                                              "parallel.shard_group=16 megatron.moe_token_dispatcher_type=alltoall");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  guint64 experts = LAYERS * OF_EXPERT * EXPERTS / 4;
  CU_ASSERT_EQUAL(sent(program, "reduce-scatter gradients", 16).bytes, DENSE * FP32);
  CU_ASSERT_EQUAL(sent(program, "reduce-scatter gradients", 4).bytes, experts * FP32);
  CU_ASSERT_EQUAL(sent(program, "all-reduce gradients", 2).bytes, (DENSE / 16 + experts / 4) * FP32);
  CU_ASSERT_EQUAL(sent(program, "all-gather parameters", 4).bytes, experts * ELEMENT);
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 across = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (strcmp(program->streams[section->rows[i].stream], "comm of experts across instances") == 0)
      across += section->rows[i].call.bytes;
  CU_ASSERT_EQUAL(across, experts / 4 * FP32);
}

/* Two tensor ranks hold whole experts (expert_tensor 1): both are data ranks of experts, 8 / 2 = 4 of them; with none
 * others to share, gradients of experts are no sums over tensor ranks. Without the distributed optimizer they are
 * all-reduced. */
static void tensor_ranks_are_data_ranks_of_experts(void) {
  g_autoptr(Program) program =
      program_of(8, "parallel.framework=megatron parallel.tensor=2 parallel.sequence_parallel=yes parallel.expert=2 "
                    "parallel.expert_tensor=1");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  guint64 experts = LAYERS * OF_EXPERT * EXPERTS / 2;
  guint64 table = 768 / 2 * HIDDEN;
  guint64 dense = LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN + EXPERTS * HIDDEN) + 2 * table + HIDDEN;
  guint64 norms = LAYERS * (2 * HIDDEN + EXPERTS * HIDDEN) + HIDDEN;
  CU_ASSERT_EQUAL(sent(program, "all-reduce gradients", 4).bytes, (dense + experts) * FP32); /* both groups have four */
  CU_ASSERT_EQUAL(sent(program, "all-reduce gradients", 4).rows, 2);
  CU_ASSERT_EQUAL(sent(program, "all-reduce norms' gradients", 2).bytes, norms * FP32);
  g_autoptr(Program) split = program_of(8, "parallel.framework=megatron parallel.tensor=2 "
                                           "parallel.sequence_parallel=yes parallel.expert=2 "
                                           "megatron.moe_token_dispatcher_type=alltoall");
  CU_ASSERT_PTR_NOT_NULL_FATAL(split);
  CU_ASSERT_EQUAL(sent(split, "all-reduce gradients", 2).bytes, experts / 2 * FP32);
  CU_ASSERT_EQUAL(sent(split, "experts.gather", 2).rows, LAYERS);
}

/* The all-gather dispatcher: tokens of all eight ranks that work on one token group, there and back. */
static void megatron_gathers_tokens(void) {
  g_autoptr(Program) program = program_of(8, "parallel.framework=megatron parallel.tensor=2 parallel.expert=4 "
                                             "parallel.sequence_parallel=yes");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  guint64 tokens = LAYERS * (guint64)(TOKENS / 2) * 8 * HIDDEN * ELEMENT;
  static const char *const names[] = {"experts.dispatch", "experts.combine", "experts.dispatch.backward",
                                      "experts.combine.backward"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    CU_ASSERT_EQUAL(sent(program, names[i], 8).bytes, tokens);
}

/* DeepEP on two nodes of eight. With experts next to tensor ranks a node's eight ranks share them; with data ranks
 * inside, every second rank of both nodes does: each token goes once to the other node, between two ranks of one place,
 * and is handed on among the four inside. */
static void tokens_cross_nodes_once(void) {
  const char *settings = "parallel.framework=megatron parallel.tensor=2 parallel.expert_tensor=1 parallel.expert=8 "
                         "parallel.sequence_parallel=yes megatron.moe_token_dispatcher_type=flex parallel.rank_order=";
  g_autofree char *near = g_strconcat(settings, "tp-cp-ep-dp-pp", NULL);
  g_autoptr(Program) inside = program_of(16, near);
  CU_ASSERT_PTR_NOT_NULL_FATAL(inside);
  CU_ASSERT_EQUAL(sent(inside, "experts.dispatch", 8).rows, LAYERS);
  CU_ASSERT_EQUAL(sent(inside, "experts.dispatch", 2).rows, 0);
  g_autofree char *far = g_strconcat(settings, "tp-cp-dp-ep-pp", NULL);
  g_autoptr(Program) over = program_of(16, far);
  CU_ASSERT_PTR_NOT_NULL_FATAL(over);
  CU_ASSERT_EQUAL(sent(over, "experts.dispatch", 8).rows, 0);
  CU_ASSERT_EQUAL(sent(over, "experts.dispatch", 2).rows, LAYERS);
  CU_ASSERT_EQUAL(sent(over, "experts.dispatch", 4).rows, LAYERS);
  CU_ASSERT_TRUE(sent(over, "experts.dispatch", 2).bytes < sent(over, "experts.dispatch", 4).bytes);
}

/* torchtitan: of sixteen ranks eight share the experts, so that two hold the same: these two gather and reduce them,
 * all sixteen the rest. Parameters come twice a step, as blocks are freed after forward; under full recompute experts a
 * third time. Rows are multiples of 16. */
static void fsdp2_shards_experts_over_their_own(void) {
  const char *plain = "parallel.framework=fsdp2 parallel.zero_stage=3 fsdp.wrap=block parallel.expert=8 "
                      "training.gradient_communication_dtype=fp32";
  g_autofree char *again = g_strconcat(plain, " training.activation_checkpointing=full", NULL);
  g_autoptr(Program) program = program_of(16, plain), recomputes = program_of(16, again);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recomputes);
  guint64 experts = LAYERS * OF_EXPERT;
  CU_ASSERT_EQUAL(sent(program, "all-gather parameters", 2).bytes, 2 * experts * ELEMENT);
  CU_ASSERT_EQUAL(sent(recomputes, "all-gather parameters", 2).bytes, 3 * experts * ELEMENT);
  CU_ASSERT_EQUAL(sent(program, "reduce-scatter gradients", 2).bytes, experts * FP32);
  Sent blocks = sent(program, "all-gather parameters", 16);
  CU_ASSERT_EQUAL(blocks.rows, 2 * LAYERS + 1); /* the root stays */
  CU_ASSERT_EQUAL(blocks.bytes, sent(recomputes, "all-gather parameters", 16).bytes);
  g_autoptr(Program) whole = program_of(16, "parallel.framework=fsdp2 parallel.zero_stage=3 fsdp.wrap=block");
  CU_ASSERT_PTR_NOT_NULL_FATAL(whole);
  CU_ASSERT_EQUAL(sent(whole, "all-gather parameters", 16).bytes - blocks.bytes, 2 * experts * EXPERTS * ELEMENT);
}

/* Hybrid: two copies of sixteen ranks, in each of which four share the experts, so that four hold the same. Of these
 * each has a quarter and a like in the other copy, with which it sums its gradients; so do the sixteenths of the rest.
 * The norm of experts' gradients is summed over their shards, then over those that share them, then, as the rest is,
 * over the copy (torchtitan's _clip_grad_norm_with_ep). */
static void fsdp2_has_copies_of_experts(void) {
  g_autoptr(Program) program =
      program_of(32, "parallel.framework=fsdp2 parallel.zero_stage=3 fsdp.wrap=block parallel.expert=4 "
                     "parallel.shard_group=16 training.gradient_clipping=1 "
                     "training.gradient_communication_dtype=fp32");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  /* A router's eight rows are padded to sixteen. */
  guint64 experts = LAYERS * OF_EXPERT * EXPERTS / 4, dense = DENSE + LAYERS * (guint64)(16 - EXPERTS) * HIDDEN;
  CU_ASSERT_EQUAL(sent(program, "all-gather parameters", 4).bytes, 2 * experts * ELEMENT);
  CU_ASSERT_EQUAL(sent(program, "reduce-scatter gradients", 4).bytes, experts * FP32);
  CU_ASSERT_EQUAL(sent(program, "reduce-scatter gradients", 16).bytes, dense * FP32);
  CU_ASSERT_EQUAL(sent(program, "all-reduce gradients", 2).bytes, (experts / 4 + dense / 16) * FP32);
  CU_ASSERT_EQUAL(sent(program, "all-reduce norm", 4).rows, 2);
  CU_ASSERT_EQUAL(sent(program, "all-reduce norm", 16).rows, 1);
  CU_ASSERT_EQUAL(sent(program, "all-reduce norm", 2).rows, 0);
}

/* DeepSpeed: eight ranks, four share the experts. A bucket's two kinds are reduced one after the other, each over its
 * own ranks, and each group's parameters gathered after the step. */
static void deepspeed_has_a_group_of_experts(void) {
  g_autoptr(Program) program = program_of(8, "parallel.framework=deepspeed parallel.zero_stage=2 parallel.expert=4");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  guint64 experts = LAYERS * OF_EXPERT * EXPERTS / 4;
  CU_ASSERT_EQUAL(sent(program, "reduce gradients", 8).bytes, DENSE * ELEMENT);
  CU_ASSERT_EQUAL(sent(program, "reduce gradients", 2).bytes, experts * ELEMENT);
  CU_ASSERT_EQUAL(sent(program, "gather parameters", 8).bytes, DENSE * ELEMENT);
  CU_ASSERT_EQUAL(sent(program, "gather parameters", 2).bytes, experts * ELEMENT);
  g_autoptr(Program) alone = program_of(8, "parallel.framework=deepspeed parallel.zero_stage=2 parallel.expert=8");
  CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
  CU_ASSERT_EQUAL(sent(alone, "reduce gradients", 8).bytes, DENSE * ELEMENT);
  CU_ASSERT_EQUAL(sent(alone, "gather parameters", 8).bytes, DENSE * ELEMENT);
}

/* Rows that the host waits for: counts come from the device, but for those of a fixed capacity. */
static guint waits(const Program *program) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += strcmp(section->rows[i].name, "wait for compute") == 0 && section->rows[i].phase == PROGRAM_FORWARD;
  return n;
}

static void the_host_counts_rows(void) {
  const char *settings = "parallel.framework=fsdp2 parallel.zero_stage=3 parallel.expert=4";
  g_autofree char *fixed = g_strconcat(settings, " training.expert_capacity=1.25", NULL);
  g_autoptr(Program) dropless = program_of(8, settings), padded = program_of(8, fixed);
  g_autoptr(Program) engine = program_of(8, "parallel.framework=megatron");
  CU_ASSERT_PTR_NOT_NULL_FATAL(dropless);
  CU_ASSERT_PTR_NOT_NULL_FATAL(padded);
  CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
  CU_ASSERT_EQUAL(waits(dropless), LAYERS);
  CU_ASSERT_EQUAL(waits(padded), 0);
  CU_ASSERT_EQUAL(waits(engine), LAYERS);
}

static void refusals(void) {
  static const struct {
    const char *settings, *fragment;
  } rows[] = {
      {"parallel.framework=ddp parallel.expert=2", "framework ddp has no expert parallelism here"},
      {"parallel.framework=nanotron parallel.expert_tensor=1", "framework nanotron has no axes of experts here"},
      {"parallel.framework=megatron parallel.expert=3", "16 GPUs are not a multiple of expert 3"},
      {"parallel.framework=megatron parallel.expert=16", "16 does not divide the 8 experts"},
      {"parallel.framework=megatron parallel.tensor=2 parallel.expert=2", "need sequence parallelism"},
      {"parallel.framework=megatron parallel.tensor=4 parallel.expert_tensor=2 parallel.sequence_parallel=yes",
       "all 4 tensor ranks or none"},
      {"parallel.framework=megatron parallel.tensor=2 parallel.expert=2 parallel.sequence_parallel=yes "
       "megatron.moe_token_dispatcher_type=flex",
       "set parallel.expert_tensor=1"},
      {"parallel.framework=deepspeed parallel.zero_stage=3 parallel.expert=2", "set parallel.expert=1"},
      {"parallel.framework=deepspeed parallel.zero_stage=1 parallel.expert=2 parallel.offload_optimizer=cpu",
       "parallel.offload_optimizer"},
      {"parallel.framework=fsdp2 parallel.zero_stage=3 parallel.expert=2 fsdp.wrap=none", "fsdp.wrap = block or ends"},
      {"parallel.framework=fsdp2 parallel.zero_stage=3 parallel.expert=2 fsdp.cpu_offload=yes", "fsdp.cpu_offload"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    ModelRecipe model;
    PlanRecipe recipe;
    GError *error = NULL;
    HARNESS_FAILS(load(16, rows[i].settings, &model, &recipe, &error), error, rows[i].fragment);
  }
}

int main(void) {
  return harness_run(
      "plan-experts",
      (HarnessCase[]){{"any layout plays", any_layout_plays},
                      {"megatron reduces experts over their own", megatron_reduces_experts_over_their_own},
                      {"tensor ranks are data ranks of experts", tensor_ranks_are_data_ranks_of_experts},
                      {"instances shard experts within", instances_shard_experts_within},
                      {"megatron gathers tokens", megatron_gathers_tokens},
                      {"tokens cross nodes once", tokens_cross_nodes_once},
                      {"fsdp2 has copies of experts", fsdp2_has_copies_of_experts},
                      {"fsdp2 shards experts over their own", fsdp2_shards_experts_over_their_own},
                      {"deepspeed has a group of experts", deepspeed_has_a_group_of_experts},
                      {"the host counts rows", the_host_counts_rows},
                      {"refusals", refusals},
                      {NULL, NULL}});
}
