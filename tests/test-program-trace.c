/* SPDX-License-Identifier: MIT */
/* Trace files: what is written plays as what was run, and what is read is what was written. */
#include "program-ranks.h"
#include "program-trace.h"
#include "trace.h"

static GString *trace_of(Study *study) {
  GString *text = g_string_new(NULL);
  GError *error = NULL;
  CU_ASSERT_TRUE_FATAL(study_trace(study, text, &error));
  return text;
}

static char *dup_assignment(const char *key, const char *value) {
  return g_strdup_printf("%s=%s", key, value);
}

/* All that both identities say but the key and where settings came from. */
static gboolean same_identity(const RunIdentity *a, const RunIdentity *b) {
  gboolean same = g_strcmp0(a->workload, b->workload) == 0 && g_strcmp0(a->topology, b->topology) == 0 &&
                  g_strcmp0(a->model, b->model) == 0 && g_strcmp0(a->gpu, b->gpu) == 0 &&
                  g_strcmp0(a->framework, b->framework) == 0 && a->zero_stage == b->zero_stage && a->gpus == b->gpus &&
                  a->nodes == b->nodes && a->parameters == b->parameters && a->sequence_length == b->sequence_length &&
                  a->micro_batch == b->micro_batch && a->gradient_accumulation == b->gradient_accumulation &&
                  a->global_batch == b->global_batch && g_strcmp0(a->precision, b->precision) == 0 &&
                  g_strcmp0(a->activation_checkpointing, b->activation_checkpointing) == 0 &&
                  a->gpu_hour == b->gpu_hour && a->total_tokens == b->total_tokens;
  return same && g_strv_equal((const char *const *)a->notes, (const char *const *)b->notes);
}

static const char *setting(const RunReport *report, const char *name) {
  for (guint32 i = 0; i < report->identity.n_settings; i++)
    if (strcmp(report->identity.settings[i].name, name) == 0)
      return report->identity.settings[i].value;
  return NULL;
}

static void check_case(const char *workload, guint stage, const char *extra, const char *cluster) {
  GError *error = NULL;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  g_autoptr(Study) study = study_open(workload, &error);
  g_autofree char *zero = g_strdup_printf("parallel.zero_stage=%u", stage);
  CU_ASSERT_TRUE_FATAL(study_set(study, zero, &error));
  CU_ASSERT_TRUE_FATAL(extra == NULL || study_set(study, extra, &error));
  CU_ASSERT_TRUE_FATAL(cluster == NULL || study_set(study, cluster, &error));
  g_autoptr(RunReport) run = study_run(study, &options, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  g_autoptr(GString) text = trace_of(study);
  g_autofree char *topology = dup_assignment("cluster.topology", setting(run, "cluster.topology"));
  const char *sets[] = {topology, cluster, NULL};
  g_autoptr(RunReport) again = replay(text->str, sets, STUDY_REPLAY_DEFAULT, &error);
  if (again == NULL)
    printf("\n    %s, ZeRO-%u: %s\n", workload, stage, error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(again);
  CU_ASSERT_TRUE(same_identity(&run->identity, &again->identity));
  /* A trace does not say what is trained, and the margin of memory is of another kind then. */
  if (extra != NULL && strstr(extra, "lora") != NULL)
    for (guint32 i = 0; i < MIN(run->n_classes, again->n_classes); i++) {
      again->classes[i].device_used_low = run->classes[i].device_used_low;
      again->classes[i].device_used_high = run->classes[i].device_used_high;
    }
  g_autofree guint32 *classes = twins_classes(run, run->identity.gpus);
  gboolean equal = twins_equal(run, classes, again, TRUE);
  if (!equal)
    printf("    %s, ZeRO-%u\n", workload, stage);
  CU_ASSERT_TRUE(equal && run->n_classes == again->n_classes);
}

static void every_workload_and_stage(void) {
  static const char *const workloads[] = {"llama2-7b", "llama3-8b", "gpt2-xl", "mistral-7b", "llama2-70b", "zero-100b"};
  for (gsize w = 0; w < G_N_ELEMENTS(workloads); w++)
    for (guint stage = 0; stage <= 3; stage++)
      check_case(workloads[w], stage, NULL, NULL);
  check_case("llama2-7b", 3, "training.trainable=lora:16:all-linear", NULL);
  check_case("llama2-7b", 1, "training.trainable=30-31, head", NULL);
  check_case("llama2-7b-megatron", 1, "training.trainable=lora:16", NULL);
  check_case("llama3-8b-fsdp2", 3, "training.trainable=lora:16", NULL);
  check_case("llama2-7b", 3, "training.gradient_accumulation=3", "cluster.slow_gpus=5: 0.8");
  check_case("llama2-7b", 1, "nccl.algo=tree", NULL); /* not of the cluster: it travels with the trace */
  check_case("llama2-7b", 2, "training.activation_checkpointing=none", "cluster.slow_links=nic.1.3: 0.5");
}

static void what_is_read_is_written_again(void) {
  GError *error = NULL;
  g_autoptr(Study) study = study_open("gpt2-xl", &error);
  g_autoptr(GString) text = trace_of(study);
  ProgramOrigin origin = {0};
  g_autoptr(Program) program = program_trace_read("a", text->str, text->len, &origin, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  g_autoptr(GString) again = g_string_new(NULL);
  program_trace_write(program, &origin, NULL, again);
  CU_ASSERT_STRING_EQUAL(text->str, again->str);
  program_origin_clear(&origin);
}

/* A layer's time halved by hand is another step: the comparison can fail. */
static void an_edit_shows(void) {
  GError *error = NULL;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  const char *sets[] = {"cluster.topology=dgx-h100", NULL};
  g_autoptr(Study) study = study_open("llama2-7b", &error);
  CU_ASSERT_TRUE_FATAL(study_set(study, "model.layers=2", &error));
  g_autoptr(RunReport) run = study_run(study, &options, &error);
  g_autoptr(GString) text = trace_of(study);
  /* q_proj: 2 × 4096^3 FLOP; the steady step's first, before 175987984 ps, now 100 ms. */
  char *steady = strstr(text->str, "rank,steady"), *row = steady != NULL ? strstr(steady, "q_proj,0,forward,0,") : NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(row);
  gsize at = (gsize)(row - text->str) + strlen("q_proj,0,forward,0,");
  gint64 before = g_ascii_strtoll(text->str + at, NULL, 10);
  g_string_erase(text, (gssize)at, (gssize)strspn(text->str + at, "0123456789"));
  g_string_insert(text, (gssize)at, "100000000000");
  g_autoptr(RunReport) again = replay(text->str, sets, STUDY_REPLAY_DEFAULT, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(again);
  g_autofree guint32 *classes = twins_classes(run, run->identity.gpus);
  CU_ASSERT_FALSE(twins_equal(run, classes, again, FALSE));
  /* Beside other collectives than before, other rows take a little more or less. */
  double more = (double)(again->classes[0].compute - run->classes[0].compute);
  CU_ASSERT_DOUBLE_EQUAL(more, 100000000000. - (double)before, 1e9);
}

static void times_are_those_of_the_file(void) {
  GError *error = NULL;
  /* f from 10 to 13 us, g, issued at 11, from 13 to 18. */
  g_autoptr(RunReport) report = replay(plain, two_gpus, STUDY_REPLAY_DEFAULT, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  CU_ASSERT_EQUAL(report->classes[0].step, 18 * SIM_MICROSECOND);
  CU_ASSERT_EQUAL(report->classes[0].compute, 8 * SIM_MICROSECOND);
  CU_ASSERT_EQUAL(report->classes[0].host, 10 * SIM_MICROSECOND);
  CU_ASSERT_EQUAL(report->classes[0].peak_held[3], 64); /* activations */
  CU_ASSERT_EQUAL(report->classes[0].peak_unique[3], 0);
  /* Half as long: f from 10 to 11.5 us, g from 11.5 to 14. */
  StudyReplay half = {STUDY_TIMES_OF_SAME_GPU, 0.5};
  g_autoptr(RunReport) shorter = replay(plain, two_gpus, half, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(shorter);
  CU_ASSERT_EQUAL(shorter->classes[0].step, 14 * SIM_MICROSECOND);
  StudyReplay shapes = {STUDY_TIMES_OF_SHAPES, 1};
  HARNESS_FAILS(replay(plain, two_gpus, shapes, &error), error, "\"f\" has a duration and no shape");
  const char *none[] = {NULL};
  HARNESS_FAILS(replay(plain, none, STUDY_REPLAY_DEFAULT, &error), error, "--topology T");
  const char *four[] = {"cluster.topology=dgx-h100", NULL};
  HARNESS_FAILS(replay(plain, four, STUDY_REPLAY_DEFAULT, &error), error, "cluster.gpus_per_node=2");
  const char *sixteen[] = {"cluster.topology=dgx-h100", "cluster.nodes=2", NULL};
  HARNESS_FAILS(replay(plain, sixteen, STUDY_REPLAY_DEFAULT, &error), error, "has 2 ranks, the cluster 16 GPUs");
}

static void settings_travel(void) {
  GError *error = NULL;
  g_autofree char *half = edited(plain, "# tokens", "# set = nccl.algo\n# tokens");
  g_autofree char *slip = edited(plain, "# tokens", "# set = nccl.alg = ring\n# tokens");
  g_autofree char *good = edited(plain, "# tokens", "# set = nccl.algo = ring\n# set = nccl.proto = ll\n# tokens");
  HARNESS_FAILS(replay(half, two_gpus, STUDY_REPLAY_DEFAULT, &error), error, "expected a setting as in nccl.algo");
  HARNESS_FAILS(replay(slip, two_gpus, STUDY_REPLAY_DEFAULT, &error), error, "did you mean \"algo\"?");
  g_autoptr(RunReport) report = replay(good, two_gpus, STUDY_REPLAY_DEFAULT, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  CU_ASSERT_STRING_EQUAL(setting(report, "nccl.proto"), "ll");
}

static void another_gpu_is_asked_about(void) {
  GError *error = NULL;
  const char *a100[] = {"cluster.topology=dgx-a100", NULL};
  g_autoptr(Study) study = study_open("gpt2-xl", &error), other = study_open("gpt2-xl", &error);
  CU_ASSERT_TRUE(study_set(study, "cluster.topology=dgx-h100", &error) && study_set(study, "cluster.nodes=1", &error));
  CU_ASSERT_TRUE(study_set(other, a100[0], &error) && study_set(other, "cluster.nodes=1", &error));
  g_autoptr(GString) text = trace_of(study);
  HARNESS_FAILS(replay(text->str, a100, STUDY_REPLAY_DEFAULT, &error), error, "are those of h100-sxm5-80gb, and");
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  StudyReplay shapes = {STUDY_TIMES_OF_SHAPES, 1}, kept = {STUDY_TIMES_KEPT, 1};
  /* By their shapes the rows take on the A100 what its own run takes; kept, what they take on the H100. */
  g_autoptr(RunReport) h100 = study_run(study, &options, &error), native = study_run(other, &options, &error);
  g_autoptr(RunReport) retimed = replay(text->str, a100, shapes, &error), same = replay(text->str, a100, kept, &error);
  g_autofree guint32 *classes = twins_classes(native, native->identity.gpus);
  CU_ASSERT_TRUE(twins_equal(native, classes, retimed, TRUE));
  /* But for what each loses beside collectives. */
  CU_ASSERT_DOUBLE_EQUAL((double)same->classes[0].compute / (double)h100->classes[0].compute, 1, 0.05);
  CU_ASSERT_NOT_EQUAL(native->classes[0].compute, h100->classes[0].compute);
}

/* Names that need escapes, names that several share, ranks that do not stand side by side. */
static void names_come_back(void) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  guint32 even[] = {0, 2}, odd[] = {1, 3}, all[] = {0, 1, 2, 3};
  ProgramBuilder *builder = program_builder_new();
  guint32 compute = program_builder_stream(builder, "my compute");
  for (int i = 0; i < 2; i++)
    program_builder_communicator(builder, "c, d", all, 4);
  for (int r = 0; r < 2; r++) {
    program_builder_role_of(builder, "ro:le", r == 0 ? odd : even, 2);
    guint32 op = program_builder_memory_op(builder, 1000 + (guint64)r);
    guint32 tensors[2];
    for (int t = 0; t < 2; t++)
      tensors[t] = program_builder_tensor(builder, "a b,\"c\"@+%", 0, 10 + (guint64)t, 10);
    for (ProgramSectionKind s = PROGRAM_FIRST; s <= PROGRAM_STEADY; s++) {
      program_builder_section(builder, s);
      program_builder_compute(builder, compute, "say \"x, y\"", op);
      program_builder_take(builder, tensors[0]);
      program_builder_take(builder, tensors[1]);
      program_builder_host(builder, "end");
      program_builder_cost(builder, 7);
      program_builder_give(builder, tensors[1], compute);
      program_builder_give(builder, tensors[0], PROGRAM_NONE);
    }
  }
  program_builder_facts(builder, 10, 0.1, 1e15 / 3, 0);
  g_autoptr(Program) program = program_builder_end(builder);
  g_autoptr(GString) text = g_string_new(NULL), again = g_string_new(NULL);
  program_trace_write(program, &origin, NULL, text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "# role.ro%3Ale = 1,3\n# role.ro%3Ale#2 = 0,2\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "\"say \"\"x, y\"\"\""));
  g_autoptr(Program) read = program_trace_read("a", text->str, text->len, &origin, &error);
  if (read == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(read);
  program_trace_write(read, &origin, NULL, again);
  CU_ASSERT_STRING_EQUAL(text->str, again->str);
  CU_ASSERT_STRING_EQUAL(read->roles[1].name, "ro:le");
  CU_ASSERT_STRING_EQUAL(read->tensors[1].name, "a b,\"c\"@+%");
  CU_ASSERT_STRING_EQUAL(read->streams[1], "my compute");
  CU_ASSERT_EQUAL(read->ranks[3].role, 0);
  CU_ASSERT_EQUAL(read->ranks[2].role, 1);
  CU_ASSERT_EQUAL(read->hardware_flops, program->hardware_flops);
  CU_ASSERT_EQUAL(read->roles[0].sections[0].rows[1].host, 7);
  program_origin_clear(&origin);
}

/* Four ranks of two roles, stages of a pipeline: each stage's ranks reduce among themselves, b twice as often, and each
 * meets its like of the other stage in communicators side by side. */
static const char stages[] =
    "# foretrain_trace = 1\n# tokens = 1000\n# dtype = bf16\n# streams = host compute comm p2p\n# role.a = 0-1\n"
    "# role.b = 2-3\n# communicator.stage = 0-1 | 2-3\n# communicator.like = 0,2 | 1,3\n" COLUMNS
    "a,first,load,host,host,load,,setup,,,,,,,,,,,,,\nb,first,load,host,host,load,,setup,,,,,,,,,,,,,\n"
    "a,steady,f,compute,compute,f,0,forward,0,,,matmul:1x64x64x64:wgrad:launches=2,bf16,524288,24576,,,,,,\n"
    "a,steady,r,comm,collective,reduce,0,reduce,0,,,,,,1000,all-reduce,stage,f,,,\n"
    "a,steady,m,p2p,collective,meet,0,gather,0,,,,,,2000,all-gather,like,r,,,\n"
    "b,steady,f,compute,compute,f,0,forward,0,,,attention:2x64x64x64:causal,bf16,1,24576,,,,,,\n"
    "b,steady,g,compute,compute,g,0,forward,0,,,norm:dgrad:compiled,bf16,0,24576,,,,,,\n"
    "b,steady,q,comm,collective,reduce,0,reduce,0,,,,,,3000,all-reduce,stage,f,,,\n"
    "b,steady,r,comm,collective,reduce,0,reduce,0,,,,,,1000,all-reduce,stage,f,,,\n"
    "b,steady,m,p2p,collective,meet,0,gather,0,,,,,,2000,all-gather,like,r,,,\n";

static void communicators_side_by_side(void) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  const char *sets[] = {"cluster.topology=dgx-h100", "cluster.gpus_per_node=4", NULL};
  g_autoptr(Program) program = program_trace_read("a", stages, strlen(stages), &origin, &error);
  if (program == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  CU_ASSERT_EQUAL(program->n_communicators, 4);
  CU_ASSERT_EQUAL(program_group(program, 3, 0), 1);
  CU_ASSERT_EQUAL(program_group(program, 2, 1), 2);
  g_autoptr(GString) once = g_string_new(NULL), again = g_string_new(NULL);
  program_trace_write(program, &origin, NULL, once);
  CU_ASSERT_PTR_NOT_NULL(strstr(once->str, "# communicator.stage = 0-1 | 2-3\n# communicator.like = 0,2 | 1,3\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(once->str, ",matmul:1x64x64x64:wgrad:launches=2,bf16,524288,24576,"));
  CU_ASSERT_PTR_NOT_NULL(strstr(once->str, ",attention:2x64x64x64:causal,"));
  CU_ASSERT_PTR_NOT_NULL(strstr(once->str, ",norm:dgrad:compiled,"));
  g_autoptr(Program) read = program_trace_read("a", once->str, once->len, &origin, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(read);
  program_trace_write(read, &origin, NULL, again);
  CU_ASSERT_STRING_EQUAL(once->str, again->str);
  g_autoptr(RunReport) report = replay(stages, sets, STUDY_REPLAY_DEFAULT, &error);
  CU_ASSERT_PTR_NOT_NULL(report);
  static const struct {
    const char *from, *to, *fragment;
  } edits[] = {
      {"0-1 | 2-3", "0-1 | 1-3", "rank 1 is in two of those side by side"},
      {"0-1 | 2-3", "0-1 | 3", "rank 2 is no member of communicator stage"},
      {"0-1 | 2-3", "0-1 |", "expected ranks"},
      {"0-1 | 2-3", "0-1 | 2-4", "there is no rank 4"},
      {"role.b = 2-3", "role.b = 2 | 3", "expected one list of ranks"},
      {"0,2 | 1,3", "0,2", "rank 1 is no member of communicator like"},
      {"2000", "2001", "call 1 on communicator like.0 is all-gather of 2000 bytes, but line 14"},
      {":causal", ":casual", "expected matmul"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(edits); i++) {
    g_autofree char *text = edited(stages, edits[i].from, edits[i].to);
    HARNESS_FAILS(program_trace_read("a", text, strlen(text), &origin, &error), error, edits[i].fragment);
  }
  /* a meets before it reduces, b after, on one stream each: a's r waits for no one of b, so all still ends; but once
   * both reduce in one communicator, a waits in like and b in stage. */
  g_autofree char *together = edited(stages, "0-1 | 2-3", "0-3");
  g_autofree char *same =
      edited(together, "b,steady,q,comm,collective,reduce,0,reduce,0,,,,,,3000,all-reduce,stage,f,,,\n", "");
  g_autofree char *crossed = edited(same, "all-gather,like,r", "all-gather,like,");
  g_autofree char *waits =
      edited(crossed, "a,steady,r,comm,collective,reduce,0,reduce,0,,,,,,1000,all-reduce,stage,f,,,\n", "");
  g_autofree char *late = edited(waits, "2000,all-gather,like,,,,\n",
                                 "2000,all-gather,like,,,,\na,steady,r,comm,collective,reduce,0,reduce,0,,,,,,1000,"
                                 "all-reduce,stage,f m,,,\n");
  HARNESS_FAILS(program_trace_read("a", late, strlen(late), &origin, &error), error, "a wait that can never end");
  g_autoptr(Program) fine = program_trace_read("a", same, strlen(same), &origin, &error);
  CU_ASSERT_PTR_NOT_NULL(fine);
  program_origin_clear(&origin);
}

/* Any ascending list comes back. */
static void rank_lists_come_back(void) {
  g_autoptr(GRand) random = harness_random();
  for (int round = 0; round < 500; round++) {
    g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
    guint32 rank = (guint32)g_rand_int_range(random, 0, 3);
    for (int n = g_rand_int_range(random, 1, 40); n > 0; n--) {
      g_array_append_val(ranks, rank);
      rank += (guint32)g_rand_int_range(random, 1, 4);
    }
    g_autofree char *text = program_ranks_format((const guint32 *)(gpointer)ranks->data, ranks->len);
    g_autoptr(GArray) again = program_ranks_parse(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    CU_ASSERT_TRUE(again->len == ranks->len && memcmp(again->data, ranks->data, ranks->len * sizeof(guint32)) == 0);
  }
  g_autoptr(GArray) many = program_ranks_parse("0-56:8", NULL);
  CU_ASSERT_EQUAL(many->len, 8);
  g_autofree char *text = program_ranks_format((const guint32 *)(gpointer)many->data, many->len);
  CU_ASSERT_STRING_EQUAL(text, "0-56:8");
  static const char *const bad[] = {"", "a", "1-", "-1", "3-1", "0-8:0", "1,,2", "0-9999999", "5:2", "1 2"};
  for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
    GError *error = NULL;
    HARNESS_FAILS(program_ranks_parse(bad[i], &error), error, "expected ranks");
  }
}

int main(void) {
  return harness_run("program-trace", (HarnessCase[]){{"every workload and stage", every_workload_and_stage},
                                                      {"what is read is written again", what_is_read_is_written_again},
                                                      {"an edit shows", an_edit_shows},
                                                      {"times are those of the file", times_are_those_of_the_file},
                                                      {"settings travel", settings_travel},
                                                      {"another GPU is asked about", another_gpu_is_asked_about},
                                                      {"names come back", names_come_back},
                                                      {"communicators side by side", communicators_side_by_side},
                                                      {"rank lists come back", rank_lists_come_back},
                                                      {NULL, NULL}});
}
