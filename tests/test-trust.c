/* SPDX-License-Identifier: MIT */
/* Verdicts on hand-made residuals: classes, likeness, what is beyond, files that are wrong. */
#include <string.h>

#include "harness.h"
#include "trust-ratio.h"
#include "trust.h"

#define SETTINGS(rows, version)                                                                                        \
  "[interval]\ncoverage = 80\nmost = 27\npooling = 9\nbound_from = 0.1\n[near]\ngpus = 4\nparameters = "               \
  "4\nsequence_length = 2\n"                                                                                           \
  "micro_batch_tokens = 4\ngradient_accumulation = 8\ntensor = 1\npipeline = 1\ncontext = 1\nexpert = 1\n"             \
  "network_rate = 2\n[rows]\nsource = hand-made\ndate = 2026-01-01\nmodel_version = " version "\nrows = " rows "\n"
#define HEAD                                                                                                           \
  "id,source,tier,measured_over_predicted,architecture,framework,bound_by,gpu,family,precision,attention,compile,"     \
  "optimizer,activation_checkpointing,trainable,zero_stage,shard_group,offload,network,gpus,parameters,"               \
  "sequence_length,micro_batch_tokens,gradient_accumulation,tensor,pipeline,context,expert,network_rate,options\n"
#define MARGINS                                                                                                        \
  "framework,kind,low,high,rows,sources,source\nfsdp1,data-parallel,0.95,1.02,9,1,forge\nfsdp1,all,0.9,1.04,12,2,x\n"  \
  "all,offload,0.5,1.5,10,1,mill\nall,all,0.8,1.2,18,2,both\n"
#define STEP (1000 * SIM_MILLISECOND)

/* Nine rows of fsdp1 on A100, 1.00 … 1.08, bound by compute, 64 GPUs, sequences of 2048; nine of megatron on H100, 0.80
 * … 0.88, from 8 to 512 GPUs with one micro-batch of 4096, of which the last runs with overlap. */
static char *hand_made(void) {
  GString *rows = g_string_new(HEAD);
  for (int i = 0; i < 9; i++)
    g_string_append_printf(rows,
                           "f-%d,forge,A,1.0%d,ampere,fsdp1,compute,a100,gpt,bf16,flash,no,adamw,full,all,3,all,no,"
                           "infiniband,64,7000000000,2048,8192,1,1,1,1,1,25e9,\n",
                           i, i);
  for (int i = 0; i < 9; i++)
    g_string_append_printf(rows,
                           "m-%d,mill,B,0.8%d,hopper,megatron,%s,h100,gpt,bf16,flash,no,adamw,none,all,1,all,no,"
                           "infiniband,%d,7000000000,4096,4096,1,1,1,1,1,50e9,%s\n",
                           i, i, i < 5 ? "compute" : "communication", i < 8 ? 8 << i : 512,
                           i == 8 ? "megatron.overlap_grad_reduce=yes" : "");
  return g_string_free(rows, FALSE);
}

/* `rows` with the first `from` replaced. */
static char *edited(const char *rows, const char *from, const char *to) {
  const char *at = strstr(rows, from);
  return g_strdup_printf("%.*s%s%s", (int)(at - rows), rows, to, at + strlen(from));
}

static Trust *load(const char *version) {
  g_autofree char *rows = hand_made();
  GError *error = NULL;
  Trust *trust =
      trust_parse(strcmp(version, RUN_MODEL_VERSION) == 0 ? SETTINGS("18", RUN_MODEL_VERSION) : SETTINGS("18", "old"),
                  rows, MARGINS, &error);
  if (trust == NULL)
    g_error("%s", error->message);
  return trust;
}

/* As f-0. */
static TrustCase like_forge(void) {
  static const char *const words[TRUST_WORDS] = {"ampere", "fsdp1", "compute", "a100", "gpt", "bf16", "flash",     "no",
                                                 "adamw",  "full",  "all",     "3",    "all", "no",   "infiniband"};
  TrustCase one = {.numbers = {64, 7e9, 2048, 8192, 1, 1, 1, 1, 1, 25e9}};
  for (int w = 0; w < TRUST_WORDS; w++)
    one.words[w] = g_strdup(words[w]);
  return one;
}

static void say(TrustCase *one, TrustWord word, const char *text) {
  g_free(one->words[word]);
  one->words[word] = g_strdup(text);
}

static TrustVerdict judge(const TrustCase *one, const char *unlike) {
  g_autoptr(Trust) trust = load(RUN_MODEL_VERSION);
  TrustVerdict verdict;
  trust_judge(trust, one, STEP, unlike, &verdict);
  return verdict;
}

/* What each class says, in thousandths, by trust-span.h with a tail of 0.1 × 2/3 for two sources, 0.1 × 1/2 for one:
 *
 *   class                        rows      its own             with the classes around it
 *   all                          9 + 9     807 … 1073          807 … 1073
 *   bound by compute             9 + 5     804.333 … 1075.667  805.377 … 1074.623  14 of its own and 9 of those around
 *   of them fsdp1                9         1000 … 1080         902.688 … 1077.312  half and half
 *   of them megatron             5         800 … 1000          803.457 … 1047.972  5 and 9
 *   bound by communication       4         850 … 1000          820.231 … 1050.538  4 and 9
 *
 * Kinds and architectures tell nothing more apart. */
#define FSDP               "9 rows (ampere, fsdp1, data-parallel, compute-bound), leaning on all 18"
#define MILL               "5 rows (hopper, megatron, data-parallel, compute-bound), leaning on all 18"
#define MILL_COMMUNICATION "4 rows (hopper, megatron, data-parallel, communication-bound), leaning on all 18"
#define TO_COMPUTE         ", widened to that of 14 (data-parallel, compute-bound)"
#define TO_COMMUNICATION   ", widened to that of 4 (data-parallel, communication-bound)"
#define ALL_LOW            807.0
#define ALL_HIGH           1073.0
#define COMPUTE_LOW        (ALL_LOW + 14.0 / 23 * (800 + 10 * (14 / 15.0 - 0.5) - ALL_LOW))
#define COMPUTE_HIGH       (ALL_HIGH + 14.0 / 23 * (1070 + 10 * (13 + 1 / 15.0 - 12.5) - ALL_HIGH))
#define FSDP_LOW           ((COMPUTE_LOW + 1000) / 2)
#define FSDP_HIGH          ((COMPUTE_HIGH + 1080) / 2)
#define MEGATRON_LOW       (COMPUTE_LOW + 5.0 / 14 * (800 - COMPUTE_LOW))
#define MEGATRON_HIGH      (COMPUTE_HIGH + 5.0 / 14 * (1000 - COMPUTE_HIGH))
#define COMMUNICATION_LOW  (ALL_LOW + 4.0 / 13 * (850 - ALL_LOW))
#define COMMUNICATION_HIGH (ALL_HIGH + 4.0 / 13 * (1000 - ALL_HIGH))

static void expect(const TrustCase *one, const char *unlike, guint alike, double low, double high,
                   const char *envelope) {
  TrustVerdict verdict = judge(one, unlike);
  CU_ASSERT_EQUAL(verdict.alike, alike);
  CU_ASSERT_DOUBLE_EQUAL((double)verdict.low / SIM_MILLISECOND, low, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL((double)verdict.high / SIM_MILLISECOND, high, 1e-6);
  if (strcmp(verdict.envelope, envelope) != 0)
    printf("\n%s\n%s\n", verdict.envelope, envelope);
  CU_ASSERT_STRING_EQUAL(verdict.envelope, envelope);
  trust_verdict_clear(&verdict);
}

/* Nine rows weigh as much as all others. */
static void alike(void) {
  TrustCase one = like_forge();
  expect(&one, NULL, 9, FSDP_LOW, FSDP_HIGH, "validated: like 9 rows of forge; 80 % interval of " FSDP);
  one.numbers[TRUST_GPUS] = 256; /* four times as many are alike, and so are half the tokens */
  one.numbers[TRUST_SEQUENCE] = 1024;
  expect(&one, NULL, 9, FSDP_LOW, FSDP_HIGH, "validated: like 9 rows of forge; 80 % interval of " FSDP);
  trust_case_clear(&one);
}

/* What is bound by compute, and what fsdp1 says, whichever is wider at either end. */
static void beyond_is_wider(void) {
  TrustCase one = like_forge();
  one.numbers[TRUST_GPUS] = 1024;
  say(&one, TRUST_PRECISION, "fp8");
  expect(&one, NULL, 0, COMPUTE_LOW, FSDP_HIGH,
         "beyond what was validated (in brackets what was): fp8 (bf16), 1024 GPUs (64); 80 % interval of " FSDP
             TO_COMPUTE);
  trust_case_clear(&one);
}

/* No row of ddp, none of Blackwell: those bound by compute vouch; a GPU is told by its architecture. */
static void another_framework(void) {
  TrustCase one = like_forge();
  say(&one, TRUST_FRAMEWORK, "ddp");
  expect(&one, NULL, 0, COMPUTE_LOW, COMPUTE_HIGH,
         "beyond what was validated (in brackets what was): framework ddp (fsdp1, megatron); 80 % interval of 14 rows "
         "(data-parallel, compute-bound), leaning on all 18");
  say(&one, TRUST_FRAMEWORK, "fsdp1");
  say(&one, TRUST_ARCHITECTURE, "blackwell");
  say(&one, TRUST_GPU, "b200");
  expect(&one, NULL, 0, COMPUTE_LOW, FSDP_HIGH,
         "beyond what was validated (in brackets what was): GPUs of blackwell (ampere); 80 % interval of 9 rows "
         "(fsdp1, data-parallel, compute-bound), leaning on all 18" TO_COMPUTE);
  trust_case_clear(&one);
}

static TrustCase like_mill(void) {
  TrustCase one = like_forge();
  say(&one, TRUST_ARCHITECTURE, "hopper");
  say(&one, TRUST_FRAMEWORK, "megatron");
  say(&one, TRUST_GPU, "h100");
  say(&one, TRUST_CHECKPOINTING, "none");
  say(&one, TRUST_STAGE, "1");
  one.numbers[TRUST_SEQUENCE] = one.numbers[TRUST_TOKENS] = 4096;
  one.numbers[TRUST_NETWORK_RATE] = 50e9;
  return one;
}

/* Of the five rows bound by compute three are within a factor of 4 of 8 GPUs: 8, 16, 32. Five are few, and lean on the
 * fourteen that are bound by compute. */
static void classes_lean(void) {
  TrustCase one = like_mill();
  one.numbers[TRUST_GPUS] = 8;
  expect(&one, NULL, 3, MEGATRON_LOW, MEGATRON_HIGH, "validated: like 3 rows of mill; 80 % interval of " MILL);
  trust_case_clear(&one);
}

/* Up to 128 GPUs rows are bound by compute, from 256 on by communication: both are known, not together on 8. */
static void each_but_not_together(void) {
  TrustCase one = like_mill();
  one.numbers[TRUST_GPUS] = 8;
  say(&one, TRUST_BOUND, "communication");
  expect(&one, NULL, 0, COMMUNICATION_LOW, COMMUNICATION_HIGH,
         "beyond what was validated (in brackets what was): nothing had all of this together; the nearest row, m-0, "
         "has bound by compute; 80 % interval of " MILL_COMMUNICATION TO_COMMUNICATION);
  trust_case_clear(&one);
}

/* No row had c10d check each call: of what is bound by the same nothing tells, only all rows do. */
static void checked_apart(void) {
  TrustCase one = like_forge();
  one.options = g_strsplit("parallel.distributed_debug=detail", ";", -1);
  expect(&one, NULL, 0, ALL_LOW, ALL_HIGH,
         "beyond what was validated (in brackets what was): parallel.distributed_debug=detail; 80 % interval of all 18 "
         "rows");
  trust_case_clear(&one);
}

/* m-8 alone has overlap, and 512 GPUs, bound by communication. */
static void options_count(void) {
  TrustCase one = like_mill();
  one.numbers[TRUST_GPUS] = 512;
  say(&one, TRUST_BOUND, "communication");
  one.options = g_strsplit("megatron.overlap_grad_reduce=yes", ";", -1);
  expect(&one, NULL, 1, COMMUNICATION_LOW, COMMUNICATION_HIGH,
         "validated: like 1 row of mill; 80 % interval of " MILL_COMMUNICATION);
  g_strfreev(g_steal_pointer(&one.options)); /* as m-5, m-6 and m-7 */
  expect(&one, NULL, 3, COMMUNICATION_LOW, COMMUNICATION_HIGH,
         "validated: like 3 rows of mill; 80 % interval of " MILL_COMMUNICATION);
  one.numbers[TRUST_GPUS] = 8;
  say(&one, TRUST_BOUND, "compute");
  one.options = g_strsplit("megatron.overlap_grad_reduce=yes", ";", -1);
  expect(
      &one, NULL, 0, MEGATRON_LOW, COMPUTE_HIGH,
      "beyond what was validated (in brackets what was): nothing had all of this together; the nearest row, m-0, has "
      "megatron.overlap_grad_reduce by default; 80 % interval of " MILL TO_COMPUTE);
  g_strfreev(one.options);
  one.options = g_strsplit("nccl.algo=tree", ";", -1);
  expect(&one, NULL, 0, MEGATRON_LOW, COMPUTE_HIGH,
         "beyond what was validated (in brackets what was): nccl.algo=tree; 80 % interval of " MILL TO_COMPUTE);
  trust_case_clear(&one);
}

/* What all rows set, a run that leaves it alone has not. */
static void defaults_count_too(void) {
  g_autofree char *plain = hand_made();
  g_autofree char *fused = edited(plain, ",25e9,", ",25e9,training.loss=fused");
  GError *error = NULL;
  for (int i = 1; i < 9; i++) {
    char *more = edited(fused, ",25e9,\n", ",25e9,training.loss=fused\n");
    g_free(fused);
    fused = more;
  }
  g_autoptr(Trust) trust = trust_parse(SETTINGS("18", RUN_MODEL_VERSION), fused, MARGINS, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trust);
  TrustCase one = like_forge();
  TrustVerdict verdict;
  trust_judge(trust, &one, STEP, NULL, &verdict);
  CU_ASSERT_EQUAL(verdict.alike, 0);
  CU_ASSERT_TRUE(g_str_has_prefix(
      verdict.envelope, "beyond what was validated (in brackets what was): training.loss by default (fused); "));
  trust_verdict_clear(&verdict);
  one.options = g_strsplit("training.loss=fused", ";", -1);
  trust_judge(trust, &one, STEP, NULL, &verdict);
  CU_ASSERT_EQUAL(verdict.alike, 9);
  trust_verdict_clear(&verdict);
  trust_case_clear(&one);
}

static void unlike_in_words(void) {
  TrustCase one = like_forge();
  expect(&one, "the replay of a trace", 0, COMPUTE_LOW, FSDP_HIGH,
         "beyond what was validated (in brackets what was): the replay of a trace; 80 % interval of " FSDP TO_COMPUTE);
  trust_case_clear(&one);
}

/* Without forge only mill's rows are left, 0.80 … 0.88: the prediction is the upper end. */
static void held_out(void) {
  g_autoptr(Trust) trust = load(RUN_MODEL_VERSION);
  g_autoptr(Trust) rest = trust_without(trust, "forge");
  TrustCase one = like_forge();
  TrustVerdict verdict;
  CU_ASSERT_TRUE(trust_has(trust, "forge", "f-3"));
  CU_ASSERT_FALSE(trust_has(trust, "mill", "f-3"));
  CU_ASSERT_FALSE(trust_has(rest, "forge", "f-3"));
  trust_judge(rest, &one, STEP, NULL, &verdict);
  CU_ASSERT_EQUAL(verdict.alike, 0);
  CU_ASSERT_EQUAL(verdict.low, 800 * SIM_MILLISECOND);
  CU_ASSERT_EQUAL(verdict.high, 1000 * SIM_MILLISECOND);
  trust_verdict_clear(&verdict);
  g_autoptr(Trust) none = trust_without(rest, "mill");
  trust_judge(none, &one, STEP, NULL, &verdict);
  CU_ASSERT_EQUAL(verdict.low, 0);
  CU_ASSERT_EQUAL(verdict.high, 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(verdict.envelope, "no interval is known: 0 rows in all, of 9 that it takes"));
  trust_verdict_clear(&verdict);
  trust_case_clear(&one);
}

static void old_residuals_say_so(void) {
  g_autoptr(Trust) trust = load("old");
  TrustCase one = like_forge();
  TrustVerdict verdict;
  trust_judge(trust, &one, STEP, NULL, &verdict);
  CU_ASSERT_PTR_NOT_NULL(strstr(verdict.envelope, "; its residuals are those of model version old, this is "));
  trust_verdict_clear(&verdict);
  trust_case_clear(&one);
}

/* Of a step of 100: 12 of communication, of which 3 because the host was late, 6 of idle host: the host has 9, the
 * network 9; from 9 % on the host binds it, since it is asked first; from 10 % on compute does. */
static void what_binds(void) {
  RunClass slowest = {.step = 100, .compute = 82, .exposed = 12, .idle = 6, .host = 6};
  slowest.by_cause[RUN_CAUSE_HOST] = 3;
  CU_ASSERT_STRING_EQUAL(trust_case_bound(&slowest, 0.09), "host");
  CU_ASSERT_STRING_EQUAL(trust_case_bound(&slowest, 0.10), "compute");
  slowest.by_cause[RUN_CAUSE_HOST] = 0;
  CU_ASSERT_STRING_EQUAL(trust_case_bound(&slowest, 0.10), "communication");
  slowest = (RunClass){.step = 100, .compute = 80, .idle = 20, .bubble = 15, .host = 5};
  CU_ASSERT_STRING_EQUAL(trust_case_bound(&slowest, 0.10), "bubble");
  slowest = (RunClass){.step = 100, .compute = 100};
  CU_ASSERT_STRING_EQUAL(trust_case_bound(&slowest, 0.001), "compute");
}

/* The first that there is: framework and kind, framework, kind, all. */
static void margins_fall_back(void) {
  g_autoptr(Trust) trust = load(RUN_MODEL_VERSION);
  TrustCase one = like_forge();
  CU_ASSERT_EQUAL(trust_margin(trust, &one)->high, 1.02);
  one.numbers[TRUST_PIPELINE] = 4;
  CU_ASSERT_STRING_EQUAL(trust_margin_kind(&one), "model-parallel");
  CU_ASSERT_EQUAL(trust_margin(trust, &one)->high, 1.04);
  say(&one, TRUST_FRAMEWORK, "ddp");
  CU_ASSERT_EQUAL(trust_margin(trust, &one)->high, 1.2);
  say(&one, TRUST_OFFLOAD, "optimizer");
  CU_ASSERT_EQUAL(trust_margin(trust, &one)->high, 1.5);
  trust_case_clear(&one);
}

/* Memory tells tensor ranks from other axes, and those within a node from those over nodes; steps do not. */
static void memory_has_kinds_of_its_own(void) {
  TrustCase one = like_forge();
  CU_ASSERT_STRING_EQUAL(trust_margin_memory_kind(&one), "data-parallel");
  g_autofree char *trainable = g_strdup(one.words[TRUST_TRAINABLE]);
  say(&one, TRUST_TRAINABLE, "lora");
  CU_ASSERT_STRING_EQUAL(trust_margin_memory_kind(&one), "adapters");
  CU_ASSERT_STRING_EQUAL(trust_margin_kind(&one), "data-parallel");
  g_autoptr(Trust) trust = load(RUN_MODEL_VERSION);
  CU_ASSERT_EQUAL(trust_margin(trust, &one)->high, 1.2); /* not the framework's, which has none of them in it */
  say(&one, TRUST_TRAINABLE, trainable);
  one.numbers[TRUST_PIPELINE] = 4;
  CU_ASSERT_STRING_EQUAL(trust_margin_memory_kind(&one), "model-parallel");
  one.numbers[TRUST_TENSOR] = 8;
  CU_ASSERT_STRING_EQUAL(trust_margin_memory_kind(&one), "tensor");
  one.tensor_over_nodes = TRUE;
  CU_ASSERT_STRING_EQUAL(trust_margin_memory_kind(&one), "tensor-over-nodes");
  CU_ASSERT_STRING_EQUAL(trust_margin_kind(&one), "model-parallel");
  say(&one, TRUST_OFFLOAD, "optimizer");
  CU_ASSERT_STRING_EQUAL(trust_margin_memory_kind(&one), "offload");
  trust_case_clear(&one);
}

static void refuse_margins(const char *from, const char *to, const char *why) {
  g_autofree char *margins = edited(MARGINS, from, to);
  GError *error = NULL;
  HARNESS_FAILS(trust_margins_parse("margins.csv", margins, &error) != NULL, error, why);
}

static void margins_are_checked(void) {
  refuse_margins("kind", "sort", "column 2: expected \"kind\", found \"sort\"");
  refuse_margins("0.95", "1.95", "margins.csv:2:21: low: expected a number from 0.001 to 1, found \"1.95\"");
  refuse_margins("1.04", "0.4", "high: expected a number from 1 to 1000");
  refuse_margins(",18,", ",0,", "rows: expected a count from 1 on");
  refuse_margins("all,all", "all,none", "has no row of all frameworks and all kinds");
}

static void refuse(const char *settings, const char *rows, const char *why) {
  GError *error = NULL;
  CU_ASSERT_PTR_NULL(trust_parse(settings, rows, MARGINS, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, why));
  if (strstr(error->message, why) == NULL)
    printf("%s\n", error->message);
  g_error_free(error);
}

static void files_are_checked(void) {
  g_autofree char *rows = hand_made();
  g_autofree char *tier = edited(rows, "forge,A", "forge,C"), *number = edited(rows, "7000000000", "7 B");
  g_autofree char *ratio = edited(rows, "1.00", "0"), *head = edited(rows, "attention", "intention");
  refuse(SETTINGS("17", "2"), rows, "has 18 rows, residuals.ini beside it speaks of 17");
  refuse("[interval]\ncoverage = 100\n", rows, "residuals.ini:2");
  refuse("[interval]\ncoverage = 80\n", rows, "most");
  refuse(SETTINGS("18", "2"), tier, "residuals.csv:2:11: tier: expected A or B, found \"C\"");
  refuse(SETTINGS("18", "2"), number, "expected a number from 0 on, found \"7 B\"");
  refuse(SETTINGS("18", "2"), ratio, "a step takes time");
  refuse(SETTINGS("18", "2"), head, "column 11: expected \"attention\", found \"intention\"");
  refuse(SETTINGS("0", "2"), "id,source\n", "column 3: expected \"tier\", found \"nothing\"");
}

/* Nine rows of one class, 1.00 … 1.08: 72 pairs, each once either way, so the limits are each other's inverses, and far
 * inside what two rows can be apart. Two classes without a common source have none: theirs are of the class around
 * both. */
static void ratios_of_pairs(void) {
  g_autoptr(Trust) trust = load(RUN_MODEL_VERSION);
  TrustCase from = like_forge(), to = like_forge();
  TrustRatio ratio;
  CU_ASSERT_TRUE_FATAL(trust_ratio(trust, &from, &to, &ratio));
  CU_ASSERT_EQUAL(ratio.pairs, 72);
  CU_ASSERT_EQUAL(ratio.sources, 1);
  CU_ASSERT_DOUBLE_EQUAL(ratio.low * ratio.high, 1, 1e-3);
  CU_ASSERT_TRUE(ratio.high > 1.04 && ratio.high < 1.08);
  say(&to, TRUST_FRAMEWORK, "megatron");
  say(&to, TRUST_ARCHITECTURE, "hopper");
  say(&to, TRUST_BOUND, "compute");
  CU_ASSERT_TRUE_FATAL(trust_ratio(trust, &from, &to, &ratio));
  CU_ASSERT_EQUAL(ratio.sources, 2);
  trust_case_clear(&from);
  trust_case_clear(&to);
}

int main(void) {
  return harness_run("trust", (HarnessCase[]){{"ratios of pairs", ratios_of_pairs},
                                              {"alike", alike},
                                              {"beyond is wider", beyond_is_wider},
                                              {"another framework or GPU", another_framework},
                                              {"classes lean on wider ones", classes_lean},
                                              {"each, but not together", each_but_not_together},
                                              {"checked apart", checked_apart},
                                              {"options", options_count},
                                              {"defaults count too", defaults_count_too},
                                              {"unlike in words", unlike_in_words},
                                              {"without a source", held_out},
                                              {"old residuals", old_residuals_say_so},
                                              {"what binds a step", what_binds},
                                              {"files that are wrong", files_are_checked},
                                              {"margins fall back", margins_fall_back},
                                              {"memory has kinds of its own", memory_has_kinds_of_its_own},
                                              {"margins that are wrong", margins_are_checked},
                                              {NULL, NULL}});
}
