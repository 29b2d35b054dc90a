/* DeepSpeed: the order of its rows under each stage, and what it refuses. */
#include "plan-case.h"

/* Elements: a layer 4·64² + 3·64·128 + 2·64 = 41 088, the embedding 641·64 = 41 024, the head that and a norm of 64.
 * Twice as many bytes in bf16. */
static const PlanShape three_layers = {.layers = 3, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 641};

/* Stage 1 by default: nothing but backward until the last gradient; then, in order of definition, each bucket of one
 * unit is flattened, divided, all-reduced whole and its own slices kept, all on the compute stream; the gather after
 * the step is there too. Five units: 2·41 024 and 2·41 088 bytes; the gather sends all, 2·(205 376) bytes. */
static const char stage_1[] = "0 host micro-batch\n"
                              "1 compute F-1\n"
                              "2 compute F0\n"
                              "3 compute F1\n"
                              "4 compute F2\n"
                              "5 compute F-1\n"
                              "6 compute B-1\n"
                              "7 compute B2\n"
                              "8 compute B1\n"
                              "9 compute B0\n"
                              "10 compute B-1\n"
                              "11 compute flatten bucket\n"
                              "12 compute divide bucket\n"
                              "13 comm reduce gradients 82048 < 12\n"
                              "14 compute copy own slices back < 13\n"
                              "15 compute keep own slices\n"
                              "16 compute flatten bucket\n"
                              "17 compute divide bucket\n"
                              "18 comm reduce gradients 82176 < 17\n"
                              "19 compute copy own slices back < 18\n"
                              "20 compute keep own slices\n"
                              "21 compute flatten bucket\n"
                              "22 compute divide bucket\n"
                              "23 comm reduce gradients 82176 < 22\n"
                              "24 compute copy own slices back < 23\n"
                              "25 compute keep own slices\n"
                              "26 compute flatten bucket\n"
                              "27 compute divide bucket\n"
                              "28 comm reduce gradients 82176 < 27\n"
                              "29 compute copy own slices back < 28\n"
                              "30 compute keep own slices\n"
                              "31 compute flatten bucket\n"
                              "32 compute divide bucket\n"
                              "33 comm reduce gradients 82176 < 32\n"
                              "34 compute copy own slices back < 33\n"
                              "35 compute keep own slices\n"
                              "36 compute gradient_norm\n"
                              "37 comm reduce norm 8 < 36\n"
                              "38 host wait for the norm < 36,37\n"
                              "39 compute flatten own gradients < 37\n"
                              "40 compute gradients_fp32\n"
                              "41 compute unscale\n"
                              "42 compute adam\n"
                              "43 compute parameters_16bit\n"
                              "44 comm gather parameters 410752 < 43\n"
                              "45 host end of step < 43,44\n";

static void stage_1_reduces_at_the_end(void) {
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8,
                                         (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=1",
                                                          "deepspeed.reduce_bucket_size=41088", NULL});
  plan_case_expect(program, PROGRAM_STEADY, stage_1);
}

/* Stage 2 with overlap_comm: a bucket is reduced when the first gradient of the next unit does not fit (one gradient
 * late); the stream reduce waits for compute, and compute, before it fills the next bucket, for the bucket before (from
 * the second on: "B1 < …" of the copies). At the end the host waits for the device. */
static const char stage_2[] = "0 host micro-batch\n"
                              "1 compute F-1\n"
                              "2 compute F0\n"
                              "3 compute F1\n"
                              "4 compute F2\n"
                              "5 compute F-1\n"
                              "6 compute B-1\n"
                              "7 compute B2\n"
                              "8 reduce flatten bucket < 7\n"
                              "9 reduce divide bucket\n"
                              "10 comm reduce gradients 82176 < 9\n"
                              "11 reduce copy own slices back < 10\n"
                              "12 reduce keep own slices\n"
                              "13 compute B2\n"
                              "14 compute B1\n"
                              "15 reduce flatten bucket < 14\n"
                              "16 reduce divide bucket\n"
                              "17 comm reduce gradients 82176 < 16\n"
                              "18 reduce copy own slices back < 17\n"
                              "19 reduce keep own slices\n"
                              "20 compute copy into bucket < 12\n"
                              "21 compute B1\n"
                              "22 compute B0\n"
                              "23 reduce flatten bucket < 22\n"
                              "24 reduce divide bucket\n"
                              "25 comm reduce gradients 82176 < 24\n"
                              "26 reduce copy own slices back < 25\n"
                              "27 reduce keep own slices\n"
                              "28 compute copy into bucket < 19\n"
                              "29 compute B0\n"
                              "30 compute B-1\n"
                              "31 reduce flatten bucket < 30\n"
                              "32 reduce divide bucket\n"
                              "33 comm reduce gradients 82176 < 32\n"
                              "34 reduce copy own slices back < 33\n"
                              "35 reduce keep own slices\n"
                              "36 compute copy into bucket < 27\n"
                              "37 reduce flatten bucket < 36\n"
                              "38 reduce divide bucket\n"
                              "39 comm reduce gradients 82048 < 38\n"
                              "40 reduce copy own slices back < 39\n"
                              "41 reduce keep own slices\n"
                              "42 host synchronise the device < 36,35,41\n"
                              "43 compute gradient_norm < 35,41\n"
                              "44 comm reduce norm 8 < 43\n"
                              "45 host wait for the norm < 43,44\n"
                              "46 compute flatten own gradients < 44\n"
                              "47 compute gradients_fp32\n"
                              "48 compute unscale\n"
                              "49 compute adam\n"
                              "50 compute parameters_16bit\n"
                              "51 comm gather parameters 410752 < 50\n"
                              "52 host end of step < 50,51\n";

static void stage_2_reduces_one_gradient_late(void) {
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", "deepspeed.overlap_comm=yes",
                                 "deepspeed.reduce_bucket_size=41088", NULL});
  plan_case_expect(program, PROGRAM_STEADY, stage_2);
}

#define STAGE_3                                                                                                        \
  "parallel.framework=deepspeed", "parallel.zero_stage=3", "deepspeed.stage3_module_granularity_threshold=1e9",        \
      "deepspeed.stage3_prefetch_bucket_size=41088", "deepspeed.stage3_max_live_parameters=82176",                     \
      "deepspeed.reduce_bucket_size=41088", "deepspeed.stage3_param_persistence_threshold=0",                          \
      "deepspeed.stage3_max_reuse_distance=1"

/* Stage 3, layers as one module each, at most two units live: while one computes the next is gathered; compute waits
 * for the copies out of the flat buffer; gradients are reduce-scattered one unit late behind the gathers on NCCL's
 * stream, and compute never waits for them; the host lets two be unfinished and waits for all at the end. */
static const char stage_3[] = "0 host micro-batch\n"
                              "1 comm gather parameters 82048\n"
                              "2 comm gather parameters 82176 < 1\n"
                              "3 compute F-1 < 1\n"
                              "4 gather copy out of flat parameters < 2\n"
                              "5 host wait for an earlier gather < 1\n"
                              "6 host wait for an earlier gather < 4\n"
                              "7 comm gather parameters 82176 < 4\n"
                              "8 compute F0 < 4\n"
                              "9 gather copy out of flat parameters < 7\n"
                              "10 host wait for an earlier gather < 9\n"
                              "11 comm gather parameters 82176 < 9\n"
                              "12 compute F1 < 9\n"
                              "13 gather copy out of flat parameters < 11\n"
                              "14 host wait for an earlier gather < 13\n"
                              "15 comm gather parameters 82176 < 13\n"
                              "16 compute F2 < 13\n"
                              "17 gather copy out of flat parameters < 15\n"
                              "18 comm gather parameters 82176 < 17\n"
                              "19 compute F-1 < 17\n"
                              "20 compute F-1 < 17\n"
                              "21 compute B-1\n"
                              "22 compute B-1 < 17\n"
                              "23 comm gather parameters 82048 < 17\n"
                              "24 compute B-1 < 17\n"
                              "25 gather copy out of flat parameters < 18\n"
                              "26 host wait for an earlier gather < 17\n"
                              "27 host wait for an earlier gather < 25\n"
                              "28 comm gather parameters 128 < 25\n"
                              "29 compute B2 < 25\n"
                              "30 reduce interleave bucket < 29\n"
                              "31 reduce divide bucket\n"
                              "32 comm reduce-scatter gradients 82176 < 31\n"
                              "33 reduce copy to own shards < 32\n"
                              "34 compute B2\n"
                              "35 gather copy out of flat parameters < 23\n"
                              "36 host wait for an earlier gather < 35\n"
                              "37 comm gather parameters 82176 < 35,28\n"
                              "38 compute B1 < 35,28\n"
                              "39 reduce interleave bucket < 38\n"
                              "40 reduce divide bucket\n"
                              "41 comm reduce-scatter gradients 82176 < 40\n"
                              "42 reduce copy to own shards < 41\n"
                              "43 compute B1\n"
                              "44 gather copy out of flat parameters < 37\n"
                              "45 host wait for an earlier gather < 28\n"
                              "46 host wait for an earlier gather < 44\n"
                              "47 comm gather parameters 82048 < 44\n"
                              "48 compute B0 < 44\n"
                              "49 reduce interleave bucket < 48\n"
                              "50 reduce divide bucket\n"
                              "51 comm reduce-scatter gradients 82176 < 50\n"
                              "52 reduce copy to own shards < 51\n"
                              "53 compute B0\n"
                              "54 compute B-1 < 44,47\n"
                              "55 host wait for an earlier reduction < 33\n"
                              "56 reduce interleave bucket < 54\n"
                              "57 reduce divide bucket\n"
                              "58 comm reduce-scatter gradients 82176 < 57\n"
                              "59 reduce copy to own shards < 58\n"
                              "60 host wait for an earlier reduction < 42\n"
                              "61 reduce interleave bucket < 54\n"
                              "62 reduce divide bucket\n"
                              "63 comm reduce-scatter gradients 82048 < 62\n"
                              "64 reduce copy to own shards < 63\n"
                              "65 host wait for reductions < 64\n"
                              "66 compute gradient_norm < 64\n"
                              "67 comm reduce norm 8 < 66\n"
                              "68 host wait for the norm < 66,67\n"
                              "69 compute gradients_fp32 < 67\n"
                              "70 compute unscale\n"
                              "71 compute adam\n"
                              "72 compute parameters_16bit\n"
                              "73 host end of step < 72\n";

static void stage_3_gathers_one_unit_ahead(void) {
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, NULL});
  plan_case_expect(program, PROGRAM_STEADY, stage_3);
}

/* The first micro-batch records the trace: each gather is asked for when its module is entered, so the module's first
 * operation waits for it: no gather stands between two operations of the model but right before its own. */
static void first_micro_batch_gathers_nothing_ahead(void) {
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, NULL});
  static const char first[] = "0 host load the model\n"
                              "1 host micro-batch\n"
                              "2 comm gather parameters 82048\n"
                              "3 compute F-1 < 2\n"
                              "4 comm gather parameters 82176 < 2\n"
                              "5 gather copy out of flat parameters < 4\n"
                              "6 host wait for an earlier gather < 2\n"
                              "7 host wait for an earlier gather < 5\n"
                              "8 compute F0 < 5\n"
                              "9 comm gather parameters 82176 < 5\n"
                              "10 gather copy out of flat parameters < 9\n"
                              "11 host wait for an earlier gather < 10\n"
                              "12 compute F1 < 10\n"
                              "13 comm gather parameters 82176 < 10\n"
                              "14 gather copy out of flat parameters < 13\n"
                              "15 host wait for an earlier gather < 14\n"
                              "16 compute F2 < 14\n"
                              "17 comm gather parameters 128 < 14\n"
                              "18 compute F-1 < 14,17\n"
                              "19 comm gather parameters 82048 < 14,17\n"
                              "20 compute F-1 < 14,19\n"
                              "21 compute B-1\n"
                              "22 comm gather parameters 82048 < 14,19\n"
                              "23 compute B-1 < 14,22\n"
                              "24 comm gather parameters 128 < 14,22\n"
                              "25 host wait for an earlier gather < 17\n"
                              "26 compute B-1 < 14,24\n"
                              "27 comm gather parameters 82176 < 14,24\n"
                              "28 host wait for an earlier gather < 19\n"
                              "29 gather copy out of flat parameters < 27\n"
                              "30 host wait for an earlier gather < 22\n"
                              "31 host wait for an earlier gather < 24\n"
                              "32 host wait for an earlier gather < 29\n"
                              "33 compute B2 < 29\n"
                              "34 reduce interleave bucket < 33\n"
                              "35 reduce divide bucket\n"
                              "36 comm reduce-scatter gradients 82176 < 35\n"
                              "37 reduce copy to own shards < 36\n"
                              "38 compute B2\n"
                              "39 comm gather parameters 82176 < 29\n"
                              "40 gather copy out of flat parameters < 39\n"
                              "41 host wait for an earlier gather < 40\n"
                              "42 compute B1 < 40\n"
                              "43 reduce interleave bucket < 42\n"
                              "44 reduce divide bucket\n"
                              "45 comm reduce-scatter gradients 82176 < 44\n"
                              "46 reduce copy to own shards < 45\n"
                              "47 compute B1\n"
                              "48 comm gather parameters 82176 < 40\n"
                              "49 gather copy out of flat parameters < 48\n"
                              "50 host wait for an earlier gather < 49\n"
                              "51 compute B0 < 49\n"
                              "52 reduce interleave bucket < 51\n"
                              "53 reduce divide bucket\n"
                              "54 comm reduce-scatter gradients 82176 < 53\n"
                              "55 reduce copy to own shards < 54\n"
                              "56 compute B0\n"
                              "57 comm gather parameters 82048 < 49\n"
                              "58 compute B-1 < 49,57\n"
                              "59 host wait for an earlier reduction < 37\n"
                              "60 reduce interleave bucket < 58\n"
                              "61 reduce divide bucket\n"
                              "62 comm reduce-scatter gradients 82176 < 61\n"
                              "63 reduce copy to own shards < 62\n"
                              "64 host wait for an earlier reduction < 46\n"
                              "65 reduce interleave bucket < 58\n"
                              "66 reduce divide bucket\n"
                              "67 comm reduce-scatter gradients 82048 < 66\n"
                              "68 reduce copy to own shards < 67\n"
                              "69 host wait for reductions < 68\n"
                              "70 compute gradient_norm < 68\n"
                              "71 comm reduce norm 8 < 70\n"
                              "72 host wait for the norm < 70,71\n"
                              "73 compute gradients_fp32 < 71\n"
                              "74 compute unscale\n"
                              "75 compute adam\n"
                              "76 compute parameters_16bit\n"
                              "77 host end of step < 76\n";
  plan_case_expect(program, PROGRAM_FIRST, first);
}

/* Before 0.14.4 compute went on while an earlier bucket was under way: no compute row waits for the stream reduce until
 * the end of backward. */
static gboolean compute_waits_for_buckets(const char *version) {
  g_autofree char *set = g_strconcat("parallel.framework_version=", version, NULL);
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", "deepspeed.overlap_comm=yes",
                                 "deepspeed.reduce_bucket_size=41088", set, NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  for (guint32 i = 0; i < section->n_rows; i++)
    if (strcmp(section->rows[i].name, "copy into bucket") == 0 && section->rows[i].n_needs > 0)
      return TRUE;
  return FALSE;
}

/* Between 0.17.2 and 0.18.5 the copy of the gradient that did not fit waits for all that the reduction of the bucket
 * before it has just been given: its newest row, the copy of own slices (pull requests 7371 and 7805, issue 7804: no
 * overlap at all). Otherwise it waits for the bucket before that. */
static gboolean compute_waits_for_what_it_sent(const char *version) {
  g_autofree char *set = g_strconcat("parallel.framework_version=", version, NULL);
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", "deepspeed.overlap_comm=yes",
                                 "deepspeed.reduce_bucket_size=41088", set, NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint32 newest = PROGRAM_NONE;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (strcmp(row->name, "keep own slices") == 0)
      newest = i;
    for (guint32 n = 0; n < row->n_needs && strcmp(row->name, "copy into bucket") == 0; n++)
      if (section->needs[row->needs + n] == newest)
        return TRUE;
  }
  return FALSE;
}

static void versions_differ(void) {
  CU_ASSERT_FALSE(compute_waits_for_what_it_sent("0.17.1"));
  CU_ASSERT_TRUE(compute_waits_for_what_it_sent("0.17.2"));
  CU_ASSERT_TRUE(compute_waits_for_what_it_sent("0.18.5"));
  CU_ASSERT_FALSE(compute_waits_for_what_it_sent("0.19.6"));
  CU_ASSERT_TRUE(compute_waits_for_buckets("0.14.4"));
  CU_ASSERT_FALSE(compute_waits_for_buckets("0.14.3"));
}

/* Bytes of the steady step's rows of a kind. */
static guint64 bytes_of(const Program *program, ProgramKind kind) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    bytes += section->rows[i].kind == kind ? section->rows[i].call.bytes : 0;
  return bytes;
}

/* Own elements: 205 376 over 8, a multiple of 2: 25 672, and no padding. Stage 2, two micro-batches: 16-bit gradients
 * to the host once, back once, fp32 ones to the host, 16-bit parameters back: 2 + 2 + 4 + 2 bytes each; a bucket of 41
 * 088 elements rounds up nowhere, one of 41 024 neither. Adam: 4 of gradient, 8 of parameter in and out, 16 of momenta,
 * 2 of 16-bit parameter. Stage 3 with parameters too: nothing comes back, and each gather takes own shards up. */
static void offload_copies(void) {
  g_autoptr(Program) two = plan_case(
      &three_layers, 8, 8,
      (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", "parallel.offload_optimizer=cpu",
                       "training.gradient_accumulation=2", "deepspeed.reduce_bucket_size=41088", NULL});
  CU_ASSERT_EQUAL(bytes_of(two, PROGRAM_COPY), 25672 * (2 + 2 + 4 + 2));
  CU_ASSERT_EQUAL(bytes_of(two, PROGRAM_CPU), 25672 * 30);
  g_autoptr(Program) old =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2",
                                 "parallel.offload_optimizer=cpu", "parallel.framework_version=0.16.0", NULL});
  CU_ASSERT_EQUAL(bytes_of(old, PROGRAM_COPY), 25672 * (4 + 4));
  g_autoptr(Program) three =
      plan_case(&three_layers, 8, 8,
                (const char *[]){STAGE_3, "parallel.offload_optimizer=cpu", "parallel.offload_parameters=cpu", NULL});
  const ProgramSection *section = &three->roles[0].sections[PROGRAM_STEADY];
  guint64 gathered = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    gathered += section->rows[i].kind == PROGRAM_COLLECTIVE && section->rows[i].call.operation == COLL_ALL_GATHER
                    ? section->rows[i].call.bytes
                    : 0;
  CU_ASSERT_EQUAL(bytes_of(three, PROGRAM_COPY), gathered / 8 + 25672 * 4);
  CU_ASSERT_EQUAL(bytes_of(three, PROGRAM_CPU), 25672 * 30);
}

static void refuses_by_name(void) {
  static const struct {
    const char *stage, *set, *named;
  } rows[] = {{"parallel.zero_stage=0", "parallel.offload_optimizer=cpu", "offload_optimizer"},
              {"parallel.zero_stage=0", "training.gradient_accumulation_dtype=fp32", "gradient_accumulation_dtype"},
              {"parallel.zero_stage=1", "deepspeed.immediate_grad_update=yes", "immediate_grad_update"},
              {"parallel.zero_stage=3", "parallel.offload_optimizer=nvme", "nvme"},
              {"parallel.zero_stage=3", "parallel.offload_parameters=cpu", "offload_parameters"},
              {"parallel.zero_stage=2", "deepspeed.zero_hpz_partition_size=8", "zero_hpz_partition_size"},
              {"parallel.zero_stage=3", "deepspeed.zero_hpz_partition_size=3", "zero_hpz_partition_size"},
              {"parallel.zero_stage=1", "deepspeed.zero_quantized_weights=yes", "zero_quantized_weights"},
              {"parallel.zero_stage=1", "deepspeed.mics_shard_size=8", "mics_shard_size"},
              {"parallel.zero_stage=3", "deepspeed.mics_shard_size=6", "mics_shard_size"},
              {"parallel.zero_stage=1", "deepspeed.zenflow=yes", "zenflow"},
              {"parallel.zero_stage=1", "deepspeed.reduce_bucket_size=0", "reduce_bucket_size"},
              {"parallel.zero_stage=1", "parallel.framework_version=0.3", "framework_version"},
              {"parallel.zero_stage=1", "deepspeed.mics_hierarchical_params_gather=yes", "mics_hierarchical"}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    PlanRecipe recipe;
    g_autoptr(GError) error = NULL;
    const char *sets[] = {"parallel.framework=deepspeed", rows[i].stage, rows[i].set, NULL};
    CU_ASSERT_FALSE(plan_case_recipe(16, 8, sets, &recipe, &error));
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, rows[i].named) != NULL);
  }
}

int main(void) {
  return harness_run(
      "plan-deepspeed",
      (HarnessCase[]){{"stage 1 reduces at the end", stage_1_reduces_at_the_end},
                      {"stage 2 reduces one gradient late", stage_2_reduces_one_gradient_late},
                      {"stage 3 gathers one unit ahead", stage_3_gathers_one_unit_ahead},
                      {"first micro-batch gathers nothing ahead", first_micro_batch_gathers_nothing_ahead},
                      {"versions differ", versions_differ},
                      {"offload copies", offload_copies},
                      {"refuses by name", refuses_by_name},
                      {NULL, NULL}});
}
