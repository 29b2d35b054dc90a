/* SPDX-License-Identifier: MIT */
/* Megatron's distributed optimizer and nanotron: their schedules as golden pictures, what they send and hold. */
#include "golden.h"
#include "kernel-op.h"
#include "plan-draw.h"
#include "plan-picture.h"

/* Embedding of 1000 · 128, one layer, head; two micro-batches on 8 ranks, norms clipped. */
static Drawn small(PlanFramework framework) {
  Drawn drawn = {.recipe = {.framework = (int)framework, .zero_stage = 1, .gradient_clipping = 1}};
  drawn.shape = (ModelShape){.family = MODEL_LLAMA,
                             .layers = 1,
                             .kv_heads = 2,
                             .heads = 2,
                             .head_dim = 64,
                             .hidden_size = 128,
                             .intermediate_size = 256,
                             .vocab_size = 1000};
  drawn.model.sequence_length = 64;
  drawn.model.projections = framework == PLAN_NANOTRON ? MODEL_PROJECTIONS_COPIED : MODEL_PROJECTIONS_SEPARATE;
  drawn.recipe.ranks = drawn.recipe.shard_ranks = 8;
  drawn.recipe.micro_batch = 1;
  drawn.recipe.gradient_accumulation = 2;
  drawn.recipe.global_batch = 16;
  drawn.recipe.megatron = (PlanMegatron){
      .bucket_size = 100000, .gradient_accumulation_fusion = TRUE, .parameter_bytes = 2, .gradient_bytes = 4};
  return drawn;
}

static void expect_picture(const Drawn *drawn, ProgramSectionKind section, const char *golden) {
  g_autoptr(Program) program = draw_plan(drawn);
  g_autofree char *picture = picture_of(program, section);
  CU_ASSERT_TRUE(golden_holds(golden, picture));
}

/* The defaults: no communication until the last backward is over, then one reduce-scatter, the norm that the host
 * reads, the step, one all-gather; all on the way of compute. */
static void megatron_hides_nothing_by_default(void) {
  Drawn drawn = small(PLAN_MEGATRON);
  drawn.recipe.megatron.bucket_size = 0;
  expect_picture(&drawn, PROGRAM_STEADY, "plan-megatron-defaults");
}

/* Megatron's own default looks for NaN: after the last backward (one bucket) the host waits for the norm of the buffer
 * before it issues the reduction, here rows 14 and 15; without overlap once a step. With overlap_grad_reduce each of
 * the three buckets is looked at before its reduction, in the last micro-batch alone: the host waits three times while
 * backward runs. A single rank looks as well, though it reduces nothing. */
static guint count_named(const Drawn *drawn, const char *name) {
  g_autoptr(Program) program = draw_plan(drawn);
  g_autofree char *picture = picture_of(program, PROGRAM_STEADY);
  guint n = 0;
  for (const char *at = picture; (at = strstr(at, name)) != NULL; at++)
    n++;
  return n;
}

static void megatron_looks_for_nan(void) {
  Drawn drawn = small(PLAN_MEGATRON);
  drawn.recipe.megatron.bucket_size = 0;
  drawn.recipe.megatron.checks_gradients = TRUE;
  g_autoptr(Program) program = draw_plan(&drawn);
  g_autofree char *picture = picture_of(program, PROGRAM_STEADY);
  CU_ASSERT_PTR_NOT_NULL(strstr(picture, "13 compute: backward(embedding)\n"
                                         "14 compute: norm of bucket\n"
                                         "15 host: look for NaN <- 14\n"
                                         "16 compute: scale gradients\n"
                                         "17 comm: reduce-scatter gradients <- 16\n"));
  drawn.recipe.megatron.bucket_size = 100000;
  drawn.recipe.megatron.overlap_grad_reduce = TRUE;
  CU_ASSERT_EQUAL(count_named(&drawn, "look for NaN"), 3);
  drawn.recipe.ranks = drawn.recipe.shard_ranks = 1;
  drawn.recipe.global_batch = 2;
  CU_ASSERT_EQUAL(count_named(&drawn, "look for NaN"), 3);
  CU_ASSERT_EQUAL(count_named(&drawn, "scale gradients"), 0);
}

/* The buffer holds parameters from the last to the first; at 100 000 elements a bucket closes: {lm_head}, {final_norm,
 * norms, down, up, gate, o}, {v, k, q, embedding}. The first step counts gradients: all three are reduced after
 * backward, all gathered after the step. Then each is reduced in the last micro-batch as backward fills it, and
 * gathered in the next forward: the embedding waits for its bucket (4 ← 2), which dispatches the one after it in
 * forward (3), and so on. */
static void megatron_overlaps_when_told(void) {
  Drawn drawn = small(PLAN_MEGATRON);
  drawn.recipe.megatron.overlap_grad_reduce = drawn.recipe.megatron.overlap_param_gather = TRUE;
  expect_picture(&drawn, PROGRAM_FIRST, "plan-megatron-overlap-first");
  expect_picture(&drawn, PROGRAM_STEADY, "plan-megatron-overlap-steady");
}

/* One bucket: all gradients are less than 25 MiB, and the first closes at 1 MiB. Gradients of the first micro-batch are
 * added to fp32 ones after it (within line 6), those of the last go through DDP's bucket, and from rank to rank through
 * buffers of one slice each; after the step parameters are gathered through flat buffers, and copied back in a row for
 * each of the eight ranks. */
static void nanotron_accumulates_in_fp32(void) {
  Drawn drawn = small(PLAN_NANOTRON);
  expect_picture(&drawn, PROGRAM_STEADY, "plan-nanotron");
}

/* Nine tensors as nanotron holds them (embedding, two norms, qkv, o, gate with up, down, last norm, head), of each
 * eight ranks' slices copied back one by one. */
static void nanotron_copies_every_slice(void) {
  Drawn drawn = small(PLAN_NANOTRON);
  g_autoptr(Program) program = draw_plan(&drawn);
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint32 launches = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (strcmp(section->rows[i].name, "copy to parameters") == 0)
      launches += kernel_launches(&program->ops[section->rows[i].op]);
  CU_ASSERT_EQUAL(launches, 8 * 9);
}

static guint64 rounded_up(guint64 value, guint64 to) {
  return (value + to - 1) / to * to;
}

/* Whatever the micro-batches: stage 1 reduce-scatters ψ in the buffer's dtype (4 bytes) and gathers ψ in the
 * parameters' (2), stage 0 all-reduces ψ. Padding: a parameter to 64 elements, a bucket to lcm(N, 128), so less than
 * that each. */
static void megatron_volumes_and_states(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 100; i++) {
    Drawn drawn = draw(random, PLAN_MEGATRON);
    PlanMegatron *options = &drawn.recipe.megatron;
    guint64 psi = model_shape_parameters(&drawn.shape), ranks = drawn.recipe.ranks;
    drawn.recipe.zero_stage = (guint64)g_rand_int_range(random, 0, 2);
    options->overlap_grad_reduce = g_rand_boolean(random);
    options->overlap_param_gather =
        options->overlap_grad_reduce && drawn.recipe.zero_stage == 1 && g_rand_boolean(random);
    options->bucket_size = g_rand_boolean(random) ? 0 : (guint64)g_rand_int_range(random, 1000, 100000);
    options->gradient_accumulation_fusion = g_rand_boolean(random);
    options->parameter_bytes = model_precision_bytes(drawn.model.precision);
    options->gradient_bytes = 4;
    g_autoptr(Program) program = draw_plan(&drawn);
    guint64 gathered = draw_payload(program, PROGRAM_STEADY, COLL_ALL_GATHER) / options->parameter_bytes;
    guint64 scattered = draw_payload(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER) / 4;
    guint64 reduced = draw_payload(program, PROGRAM_STEADY, COLL_ALL_REDUCE) / 4;
    if (drawn.recipe.zero_stage == 0) {
      CU_ASSERT_EQUAL(reduced, psi);
      CU_ASSERT_EQUAL(gathered + scattered, 0);
    } else {
      guint64 parameters = 12 * drawn.shape.layers + 5; /* the most of a layer, and of the ends */
      CU_ASSERT_EQUAL(gathered, scattered);
      CU_ASSERT_EQUAL(reduced, 0);
      CU_ASSERT_EQUAL(gathered % ranks, 0);
      CU_ASSERT_TRUE(gathered >= psi && gathered < psi + parameters * (64 + 128 * ranks));
    }
    /* 2ψ (4ψ in fp32), 4ψ, and per owned element 12 bytes, 8 without a master. */
    guint64 held = drawn.recipe.zero_stage == 0 ? psi : gathered, owned = held / (drawn.recipe.zero_stage ? ranks : 1);
    CU_ASSERT_EQUAL(draw_settled(program, MEM_PARAMETERS), held * options->parameter_bytes);
    CU_ASSERT_EQUAL(draw_settled(program, MEM_GRADIENTS), held * 4);
    CU_ASSERT_EQUAL(draw_settled(program, MEM_OPTIMIZER), owned * (options->parameter_bytes == 2 ? 12 : 8));
    CU_ASSERT_EQUAL(draw_settled(program, MEM_TEMPORARY) + draw_settled(program, MEM_COMMUNICATION), 0);
  }
}

/* Without overlap all is one bucket. By N = 24 ranks it ends on lcm(24, 128) = 384, with wide padding on lcm(24, 65536)
 * = 196608. */
static void buckets_end_where_ranks_divide_them(void) {
  Drawn drawn = small(PLAN_MEGATRON);
  drawn.recipe.ranks = drawn.recipe.shard_ranks = 24;
  drawn.recipe.global_batch = 48;
  /* All parameters are multiples of 64: 128000 + 128 + 128000 + 164096 = 420224 elements. */
  guint64 psi = model_shape_parameters(&drawn.shape);
  CU_ASSERT_EQUAL(psi, 420224);
  g_autoptr(Program) narrow = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(narrow, PROGRAM_STEADY, COLL_ALL_GATHER), 2 * rounded_up(psi, 384));
  drawn.recipe.megatron.pad_buckets = TRUE;
  g_autoptr(Program) wide = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(wide, PROGRAM_STEADY, COLL_ALL_GATHER), 2 * rounded_up(psi, 196608));
}

/* Instances of 4 of 8 ranks: reduce-scatter of ψ among 4, then all-reduce of a quarter between the instances; each rank
 * keeps a quarter of the states. ψ divides by lcm(4, 128). */
static void instances_shard_within(void) {
  Drawn drawn = small(PLAN_MEGATRON);
  drawn.recipe.shard_ranks = 4;
  guint64 psi = 420224;
  g_autoptr(Program) program = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER), 4 * psi);
  CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_ALL_REDUCE), 4 * psi / 4);
  CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_ALL_GATHER), 2 * psi);
  CU_ASSERT_EQUAL(draw_settled(program, MEM_OPTIMIZER), 12 * psi / 4);
}

/* Stage 0: 2 + 2 + 4 + 12 = 20 bytes a parameter, as 30 logged jobs hold within 1 %. Stage 1 at its peak, in the gather
 * after the step: 2 + 2 + 4 and the flat parameters 2, 12 / N and the flat slice 2 / N: 10 + 14 / N. */
static void nanotron_volumes_and_states(void) {
  Drawn drawn = small(PLAN_NANOTRON);
  guint64 psi = 420224;
  gint64 peak = 0, level = 0;
  g_autoptr(Program) sharded = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(sharded, PROGRAM_STEADY, COLL_REDUCE_SCATTER), 4 * psi);
  CU_ASSERT_EQUAL(draw_payload(sharded, PROGRAM_STEADY, COLL_ALL_GATHER), 2 * psi);
  draw_walk(sharded, PROGRAM_FIRST, MEM_COMMUNICATION, &level);
  /* Both flat buffers are still there when a step ends. */
  CU_ASSERT_EQUAL(level, (gint64)(2 * psi + 2 * psi / 8));
  peak += (gint64)draw_walk(sharded, PROGRAM_STEADY, MEM_COMMUNICATION, &level);
  peak += (gint64)(draw_settled(sharded, MEM_PARAMETERS) + draw_settled(sharded, MEM_GRADIENTS) +
                   draw_settled(sharded, MEM_OPTIMIZER));
  CU_ASSERT_EQUAL(peak, (gint64)(10 * psi + 14 * psi / 8));
  drawn.recipe.zero_stage = 0;
  g_autoptr(Program) whole = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(whole, PROGRAM_STEADY, COLL_ALL_REDUCE), 4 * psi);
  CU_ASSERT_EQUAL(draw_settled(whole, MEM_PARAMETERS) + draw_settled(whole, MEM_GRADIENTS) +
                      draw_settled(whole, MEM_OPTIMIZER),
                  20 * psi);
}

/* Of 420 224 elements (1000 x 128 twice, 164 096 in the layer, a norm of 128) in fp32: each is read once for the norm
 * that is looked at, and read and written where gradients are scaled; no more than a bucket's padding beside. */
static void gradients_are_scaled_once(void) {
  Drawn drawn = small(PLAN_MEGATRON);
  drawn.recipe.megatron.checks_gradients = TRUE;
  g_autoptr(Program) program = draw_plan(&drawn);
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 scaled = 0, looked_at = 0, elements = 2 * 1000 * 128 + 164096 + 128;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    scaled += strcmp(row->name, "scale gradients") == 0 ? program->ops[row->op].bytes : 0;
    looked_at += strcmp(row->name, "norm of bucket") == 0 ? program->ops[row->op].bytes : 0;
  }
  CU_ASSERT_EQUAL(scaled, 2 * looked_at);
  CU_ASSERT_TRUE(looked_at >= 4 * elements && looked_at < 4 * (elements + 3 * 128));
}

static guint64 bytes_named(const Program *program, ProgramSectionKind kind, const char *name) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    bytes += strcmp(section->rows[i].name, name) == 0 ? program->ops[section->rows[i].op].bytes : 0;
  return bytes;
}

/* In the last micro-batch nanotron copies each gradient of 16 bits into a bucket (2 + 2 bytes of the same elements),
 * adds it to an fp32 one (2 + 8), and cuts and copies that into what each rank gets (8 each), whatever the section's
 * buckets are. */
static void nanotron_moves_every_gradient(void) {
  static const struct {
    const char *name;
    guint64 bytes; /* of an element */
  } rows[] = {
      {"gradients to bucket", 4}, {"add to fp32 gradients", 10}, {"slices of each rank", 8}, {"copy to one buffer", 8}};
  Drawn drawn = small(PLAN_NANOTRON);
  g_autoptr(Program) program = draw_plan(&drawn);
  guint64 elements = 2 * 1000 * 128 + 164096 + 128;
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++)
      CU_ASSERT_EQUAL(bytes_named(program, kind, rows[i].name), rows[i].bytes * elements);
}

int main(void) {
  return harness_run("plan-megatron",
                     (HarnessCase[]){{"megatron hides nothing by default", megatron_hides_nothing_by_default},
                                     {"megatron looks for NaN", megatron_looks_for_nan},
                                     {"gradients are scaled once", gradients_are_scaled_once},
                                     {"megatron overlaps when told", megatron_overlaps_when_told},
                                     {"nanotron accumulates in fp32", nanotron_accumulates_in_fp32},
                                     {"nanotron moves every gradient", nanotron_moves_every_gradient},
                                     {"nanotron copies every slice", nanotron_copies_every_slice},
                                     {"Megatron's volumes and states", megatron_volumes_and_states},
                                     {"buckets end where ranks divide them", buckets_end_where_ranks_divide_them},
                                     {"instances shard within", instances_shard_within},
                                     {"nanotron's volumes and states", nanotron_volumes_and_states},
                                     {NULL, NULL}});
}
