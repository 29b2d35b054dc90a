/* SPDX-License-Identifier: MIT */
/* A decoder beside an encoder under every framework that trains one: how long the encoder's output and the biases live,
 * how often their gradients are summed, what is reduced. */
#include <string.h>

#include "plan-case.h"

#define RANKS    8
#define ENCODER  3
#define DECODER  4
#define HIDDEN   64
#define INSIDE   128
#define HEADS    4
#define WORDS    640
#define BUCKETS  32
#define INPUTS   64
#define OUTPUTS  16
#define SEQUENCE "training.decoder_length=16"

static const ModelShape t5 = {.encoder_layers = ENCODER,
                              .layers = DECODER,
                              .hidden_size = HIDDEN,
                              .heads = HEADS,
                              .kv_heads = HEADS,
                              .head_dim = 16,
                              .intermediate_size = INSIDE,
                              .vocab_size = WORDS,
                              .relative_buckets = BUCKETS,
                              .tied_embeddings = TRUE,
                              .name = (char *)"t5"};

static ModelShape shape_of(const char *family) {
  ModelShape shape = t5;
  while (strcmp(model_family_names[shape.family], family) != 0)
    shape.family++;
  return shape;
}

static Program *plan(const ModelShape *shape, const char *const *sets) {
  ModelRecipe model;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  g_ptr_array_add(all, (gpointer)SEQUENCE);
  g_ptr_array_add(all, (gpointer) "training.attention=eager");
  g_ptr_array_add(all, (gpointer) "training.micro_batch=2");
  for (; *sets != NULL; sets++)
    g_ptr_array_add(all, (gpointer)*sets);
  g_ptr_array_add(all, NULL);
  if (!plan_case_load(shape, RANKS, RANKS, (const char *const *)all->pdata, &model, &recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  return plan_program(shape, &model, &recipe);
}

/* ---- Lives ---- */

/* From the row that takes it to the row that gives it, in one section; G_MAXUINT32: never. */
typedef struct {
  guint32 taken, given, times;
} Life;

static Life life_of(const Program *program, const ProgramSection *section, const char *name) {
  Life life = {G_MAXUINT32, G_MAXUINT32, 0};
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 k = 0; k < row->n_takes; k++)
      if (strcmp(program->tensors[section->takes[row->takes + k]].name, name) == 0) {
        life.taken = life.times == 0 ? i : life.taken;
        life.times++;
      }
    for (guint32 k = 0; k < row->n_gives; k++)
      if (strcmp(program->tensors[section->gives[row->gives + k].tensor].name, name) == 0)
        life.given = i;
  }
  return life;
}

static guint count_rows(const ProgramSection *section, const char *name) {
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += strcmp(section->rows[i].name, name) == 0;
  return n;
}

/* The first row of a layer in a phase. */
static guint32 first_row(const ProgramSection *section, ProgramPhase phase, gint32 layer) {
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].phase == phase && section->rows[i].layer == layer)
      return i;
  return G_MAXUINT32;
}

static guint32 last_row(const ProgramSection *section, ProgramPhase phase, gint32 layer) {
  guint32 last = G_MAXUINT32 - 1;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].phase == phase && section->rows[i].layer == layer)
      last = i;
  return last;
}

static guint32 named_row(const ProgramSection *section, const char *name) {
  for (guint32 i = 0; i < section->n_rows; i++)
    if (strcmp(section->rows[i].name, name) == 0)
      return i;
  return G_MAXUINT32;
}

static const ProgramSection *steady_of(const Program *program) {
  return &program->roles[0].sections[PROGRAM_STEADY];
}

/* The encoder's output is there from its last norm until the first decoder layer's backward has read it, so that it
 * goes with the first row after that; under autocast, where each layer keeps copies of its own in 16 bits, until the
 * last of them has read it. Biases end with the last layer of their stack that adds them: at the row
 * after. */
static void sides_without_checkpoints(void) {
  ModelShape shape = shape_of("t5");
  g_autoptr(Program) program = plan(&shape, (const char *[]){"parallel.framework=ddp", "ddp.autocast=no", NULL});
  g_autoptr(Program) cast = plan(&shape, (const char *[]){"parallel.framework=ddp", NULL});
  const ProgramSection *section = steady_of(program);
  Life memory = life_of(program, section, "between.memory"), bias = life_of(program, section, "layer0.bias");
  Life own = life_of(program, section, "layer3.bias"), cross = life_of(program, section, "layer3.cross_bias");
  CU_ASSERT_EQUAL(memory.times, 1);
  CU_ASSERT_EQUAL(memory.taken, named_row(section, "encoder_norm"));
  CU_ASSERT_EQUAL(memory.given, named_row(section, "decoder_embed_tokens.backward"));
  CU_ASSERT_EQUAL(life_of(cast, steady_of(cast), "between.memory").given,
                  last_row(steady_of(cast), PROGRAM_FORWARD, ENCODER + DECODER - 1) + 1);
  CU_ASSERT_EQUAL(bias.taken, named_row(section, "bias_mask"));
  CU_ASSERT_EQUAL(bias.given, last_row(section, PROGRAM_FORWARD, ENCODER - 1) + 1);
  CU_ASSERT_EQUAL(own.given, last_row(section, PROGRAM_FORWARD, ENCODER + DECODER - 1) + 1);
  CU_ASSERT_EQUAL(cross.given, own.given);
  for (gint32 layer = 1; layer < ENCODER + DECODER; layer++) {
    g_autofree char *name = g_strdup_printf("layer%d.bias", layer);
    CU_ASSERT_EQUAL(life_of(program, section, name).times, layer == ENCODER ? 1 : 0);
  }
}

/* Layers that run again read both anew: biases stay until the layer that made them begins its own backward, and makes
 * its own again. */
static void sides_under_checkpoints(void) {
  ModelShape shape = shape_of("t5");
  g_autoptr(Program) program =
      plan(&shape, (const char *[]){"parallel.framework=ddp", "training.activation_checkpointing=full", NULL});
  const ProgramSection *section = steady_of(program);
  Life memory = life_of(program, section, "between.memory"), bias = life_of(program, section, "layer0.bias");
  CU_ASSERT_EQUAL(memory.given, named_row(section, "decoder_embed_tokens.backward"));
  CU_ASSERT_EQUAL(bias.times, 2);
  CU_ASSERT_TRUE(bias.given > first_row(section, PROGRAM_RECOMPUTE, 0));
  CU_ASSERT_TRUE(life_of(program, section, "layer3.cross_bias").times == 2);
}

/* Of each side as many sums as parts, less one: of the memory two parts a decoder layer, of a bias one a layer. umt5's
 * layers have a bias each. */
static void gradients_are_summed(void) {
  ModelShape shape = shape_of("t5"), each = shape_of("umt5");
  g_autoptr(Program) program = plan(&shape, (const char *[]){"parallel.framework=ddp", NULL});
  g_autoptr(Program) own = plan(&each, (const char *[]){"parallel.framework=ddp", NULL});
  const ProgramSection *section = steady_of(program);
  CU_ASSERT_EQUAL(count_rows(section, "cross_k_proj.sum") + count_rows(section, "cross_v_proj.sum"), 2 * DECODER - 1);
  CU_ASSERT_EQUAL(count_rows(section, "bias.sum"), ENCODER - 1 + DECODER - 1);
  CU_ASSERT_EQUAL(count_rows(section, "relative_rows.backward"), 2);
  CU_ASSERT_EQUAL(count_rows(section, "cross_bias.sum"), 0);
  CU_ASSERT_EQUAL(count_rows(steady_of(own), "bias.sum"), 0);
  CU_ASSERT_EQUAL(count_rows(steady_of(own), "relative_rows.backward"), ENCODER + DECODER);
  CU_ASSERT_EQUAL(life_of(program, section, "between.d_memory").times, 1);
  CU_ASSERT_EQUAL(life_of(program, section, "layer6.d_memory_of_v").times, 0); /* it is the gradient itself */
  CU_ASSERT_EQUAL(life_of(program, section, "layer5.d_memory_of_v").times, 1);
}

/* A stack of one layer makes its bias, reads it, and hands its gradient on: nothing is summed. */
static void one_layer_each(void) {
  ModelShape shape = shape_of("t5");
  shape.encoder_layers = shape.layers = 1;
  g_autoptr(Program) program = plan(&shape, (const char *[]){"parallel.framework=ddp", NULL});
  const ProgramSection *section = steady_of(program);
  CU_ASSERT_EQUAL(count_rows(section, "bias.sum"), 0);
  CU_ASSERT_EQUAL(count_rows(section, "cross_k_proj.sum") + count_rows(section, "cross_v_proj.sum"), 1);
  CU_ASSERT_EQUAL(count_rows(section, "relative_rows.backward"), 2);
  plan_case_plays(program, "one layer each");
}

/* ---- What is sent ---- */

static guint64 bytes_of(const Program *program, CollOperation operation) {
  const ProgramSection *section = steady_of(program);
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COLLECTIVE && section->rows[i].call.operation == operation &&
        section->rows[i].call.bytes > sizeof(guint64))
      bytes += section->rows[i].call.bytes;
  return bytes;
}

/* By hand: table, 3 encoder layers of four projections, MLP and two norms, 4 decoder layers of eight projections, MLP
 * and three norms, two tables of distances, two norms. */
static guint64 parameters(void) {
  guint64 square = (guint64)HIDDEN * HEADS * 16, mlp = (guint64)2 * HIDDEN * INSIDE;
  return (guint64)WORDS * HIDDEN + ENCODER * (4 * square + mlp + 2 * HIDDEN) +
         DECODER * (8 * square + mlp + 3 * HIDDEN) + (guint64)2 * BUCKETS * HEADS + 2 * HIDDEN;
}

/* Every parameter's gradient once, the table's that three units use too: ddp in fp32, DeepSpeed and FSDP in bf16, which
 * FSDP gathers for forward and, but for the root's (table and two norms), for backward again. */
static void every_gradient_once(void) {
  ModelShape shape = shape_of("t5");
  guint64 all = parameters(), root = (guint64)WORDS * HIDDEN + 2 * HIDDEN;
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), all);
  g_autoptr(Program) ddp = plan(&shape, (const char *[]){"parallel.framework=ddp", NULL});
  CU_ASSERT_EQUAL(bytes_of(ddp, COLL_ALL_REDUCE), 4 * all);
  g_autoptr(Program) one =
      plan(&shape, (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=1", NULL});
  CU_ASSERT_EQUAL(bytes_of(one, COLL_ALL_REDUCE) + bytes_of(one, COLL_REDUCE_SCATTER), 2 * all);
  g_autoptr(Program) two = plan(
      &shape, (const char *[]){"parallel.framework=fsdp2", "parallel.zero_stage=3", "fsdp.reduce_dtype=bf16", NULL});
  CU_ASSERT_EQUAL(bytes_of(two, COLL_REDUCE_SCATTER), 2 * all);
  CU_ASSERT_EQUAL(bytes_of(two, COLL_ALL_GATHER), 2 * (2 * all - root));
}

static void every_framework_plays(void) {
  static const char *const frameworks[][2] = {
      {"ddp", "0"},   {"deepspeed", "0"}, {"deepspeed", "1"}, {"deepspeed", "2"}, {"deepspeed", "3"}, {"fsdp1", "2"},
      {"fsdp1", "3"}, {"fsdp2", "2"},     {"fsdp2", "3"},     {"paper", "0"},     {"paper", "3"}};
  static const char *const ways[] = {"none", "full", "layers:2"};
  static const char *const families[] = {"t5", "mt5", "umt5"};
  for (gsize f = 0; f < G_N_ELEMENTS(frameworks); f++)
    for (gsize w = 0; w < G_N_ELEMENTS(ways); w++)
      for (gsize i = 0; i < G_N_ELEMENTS(families); i++) {
        ModelShape shape = shape_of(families[i]);
        shape.tied_embeddings = i == 0;
        g_autofree char *framework = g_strconcat("parallel.framework=", frameworks[f][0], NULL);
        g_autofree char *stage = g_strconcat("parallel.zero_stage=", frameworks[f][1], NULL);
        g_autofree char *way = g_strconcat("training.activation_checkpointing=", ways[w], NULL);
        g_autoptr(Program) program =
            plan(&shape, (const char *[]){framework, stage, way, "training.gradient_accumulation=2",
                                          "training.dropout=0.1", NULL});
        plan_case_plays(program, framework);
      }
}

/* 2 · 8 samples of 64 and 16 tokens. */
static void counts_tokens(void) {
  ModelShape shape = shape_of("t5");
  g_autoptr(Program) program = plan(&shape, (const char *[]){"parallel.framework=ddp", NULL});
  CU_ASSERT_EQUAL(program->tokens, 2 * RANKS * (INPUTS + OUTPUTS));
}

static void refuses(void) {
  static const struct {
    const char *framework, *set, *why;
  } refused[] = {
      {"megatron", "training.micro_batch=1", "trains no decoder beside an encoder"},
      {"nanotron", "training.micro_batch=1", "trains no decoder beside an encoder"},
      {"deepspeed", "parallel.pipeline=2", "over a pipeline"},
      {"deepspeed", "parallel.tensor=2", "parallel.tensor"},
      {"deepspeed", "parallel.context=2", "parallel.context"},
      {"ddp", "training.trainable=lora:4", "set it to all"},
      {"ddp", "training.activation_checkpointing=attention", "whole layers"},
      {"fsdp1", "fsdp.wrap=ends", "set it to block"},
  };
  ModelShape shape = shape_of("t5");
  for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_autofree char *framework = g_strconcat("parallel.framework=", refused[i].framework, NULL);
    ModelRecipe model;
    PlanRecipe recipe;
    GError *error = NULL;
    const char *const sets[] = {SEQUENCE, "training.attention=eager", framework, refused[i].set, NULL};
    HARNESS_FAILS(plan_case_load(&shape, RANKS, RANKS, sets, &model, &recipe, &error), error, refused[i].why);
  }
}

int main(void) {
  return harness_run("plan-stacks", (HarnessCase[]){{"sides without checkpoints", sides_without_checkpoints},
                                                    {"sides under checkpoints", sides_under_checkpoints},
                                                    {"gradients are summed", gradients_are_summed},
                                                    {"one layer each", one_layer_each},
                                                    {"every gradient once", every_gradient_once},
                                                    {"every framework plays", every_framework_plays},
                                                    {"counts tokens", counts_tokens},
                                                    {"refuses", refuses},
                                                    {NULL, NULL}});
}
