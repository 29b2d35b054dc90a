/* SPDX-License-Identifier: MIT */
/* DeepSpeed: the order of its rows under each stage, and what it refuses. */
#include "kernel-op.h"
#include "plan-case.h"
#include "plan-draw.h"

/* Elements: a layer 4·64² + 3·64·128 + 2·64 = 41 088, the embedding 641·64 = 41 024, the head that and a norm of 64.
 * Twice as many bytes in bf16. */
static const PlanShape three_layers = {.layers = 3, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 641};

/* Stage 1 by default: nothing but backward until the last gradient; then, in order of definition, each bucket of one
 * unit is flattened, divided, all-reduced whole and its own slices kept, all on the compute stream; the gather after
 * the step is there too. Five units: 2·41 024 and 2·41 088 bytes; the gather sends all, 2·(205 376) bytes. */
static void stage_1_reduces_at_the_end(void) {
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8,
                                         (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=1",
                                                          "deepspeed.reduce_bucket_size=41088", NULL});
  plan_case_expect(program, PROGRAM_STEADY, "plan-deepspeed-stage-1");
}

/* Stage 2 with overlap_comm: a bucket is reduced when the first gradient of the next unit does not fit (one gradient
 * late); the stream reduce waits for compute, and compute, before it fills the next bucket, for the bucket before (from
 * the second on: "B1 < …" of the copies). At the end the host waits for the device. */
static void stage_2_reduces_one_gradient_late(void) {
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", "deepspeed.overlap_comm=yes",
                                 "deepspeed.reduce_bucket_size=41088", NULL});
  plan_case_expect(program, PROGRAM_STEADY, "plan-deepspeed-stage-2");
}

#define STAGE_3                                                                                                        \
  "parallel.framework=deepspeed", "parallel.zero_stage=3", "deepspeed.stage3_module_granularity_threshold=1e9",        \
      "deepspeed.stage3_prefetch_bucket_size=41088", "deepspeed.stage3_max_live_parameters=82176",                     \
      "deepspeed.reduce_bucket_size=41088", "deepspeed.stage3_param_persistence_threshold=0",                          \
      "deepspeed.stage3_max_reuse_distance=1"

/* Stage 3, layers as one module each, at most two units live: while one computes the next is gathered; compute waits
 * for the copies out of the flat buffer; gradients are reduce-scattered one unit late behind the gathers on NCCL's
 * stream, and compute never waits for them; the host lets two be unfinished and waits for all at the end. */
static void stage_3_gathers_one_unit_ahead(void) {
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, NULL});
  plan_case_expect(program, PROGRAM_STEADY, "plan-deepspeed-stage-3");
}

/* What is gathered ahead bears its own layer, not that of the work in front of which it is issued, and so does the copy
 * out of the flat buffer: the embedding, three layers, the head, then backward the layers again. */
static void gathers_bear_their_own_layer(void) {
  static const gint32 gathered[] = {-1, 0, 1, 2, -1}, copied[] = {0, 1, 2, -1};
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  gsize n_gathered = 0, n_copied = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (g_str_equal(row->name, "gather parameters") && n_gathered < G_N_ELEMENTS(gathered))
      CU_ASSERT_EQUAL(row->layer, gathered[n_gathered++]);
    if (g_str_equal(row->name, "copy out of flat parameters") && n_copied < G_N_ELEMENTS(copied))
      CU_ASSERT_EQUAL(row->layer, copied[n_copied++]);
  }
  CU_ASSERT_EQUAL(n_gathered, G_N_ELEMENTS(gathered));
  CU_ASSERT_EQUAL(n_copied, G_N_ELEMENTS(copied));
}

/* The first micro-batch records the trace: each gather is asked for when its module is entered, so the module's first
 * operation waits for it: no gather stands between two operations of the model but right before its own. */
static void first_micro_batch_gathers_nothing_ahead(void) {
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, NULL});
  plan_case_expect(program, PROGRAM_FIRST, "plan-deepspeed-stage-3-first");
}

/* ZeRO++ qgZ over two nodes of 8: the elements of a bucket go as int4, half a byte each and an fp32 scale per 2048,
 * inside the node; an eighth of them then goes the same way between nodes. The buckets are head with norm, three layers
 * (41 088: 20 544 + 21·4 = 20 628 bytes; 5136: 2568 + 3·4 = 2580) and the embedding (41 024: 20 512 + 84; 5128:
 * 2564 + 12). */
static void quantised_gradients_shrink_between_nodes(void) {
  static const guint64 inside[] = {20628, 20628, 20628, 20628, 20596}, across[] = {2580, 2580, 2580, 2580, 2576};
  g_autoptr(Program) program =
      plan_case(&three_layers, 16, 8, (const char *[]){STAGE_3, "deepspeed.zero_quantized_gradients=yes", NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  gsize sent = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (row->kind != PROGRAM_COLLECTIVE || strcmp(row->name, "exchange gradients, int4") != 0)
      continue;
    CU_ASSERT_TRUE_FATAL(sent < 2 * G_N_ELEMENTS(inside));
    CU_ASSERT_EQUAL(row->call.operation, COLL_ALL_TO_ALL);
    CU_ASSERT_EQUAL(row->call.bytes, sent % 2 == 0 ? inside[sent / 2] : across[sent / 2]);
    sent++;
  }
  CU_ASSERT_EQUAL(sent, 2 * G_N_ELEMENTS(inside));
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

/* Where gradients stay in .grad until the step (stage 0; one rank, which has nothing to reduce) they are gone after it:
 * the next forward does not stand on them. */
static void gradients_go_with_the_step(void) {
  static const struct {
    guint32 ranks;
    const char *stage;
  } rows[] = {{8, "parallel.zero_stage=0"}, {1, "parallel.zero_stage=0"}, {1, "parallel.zero_stage=1"}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program = plan_case(&three_layers, rows[i].ranks, 8,
                                           (const char *[]){"parallel.framework=deepspeed", rows[i].stage, NULL});
    gint64 level = 0;
    CU_ASSERT_TRUE(draw_walk(program, PROGRAM_FIRST, MEM_GRADIENTS, &level) >= 205376 * 2);
    CU_ASSERT_EQUAL(level, 0);
    CU_ASSERT_EQUAL(draw_settled(program, MEM_GRADIENTS), 0);
  }
}

typedef struct {
  guint casts;
  guint64 cast, divided, sent, largest; /* bytes: moved by casts and by divisions, of slices, of the largest tensor cast
                                           into */
} Slices;

/* Stage 2 whose slices go to their owners one by one, gradients of bf16 sent as `sent` says. */
static Slices slices_sent_as(const char *sent) {
  g_autofree char *set = g_strconcat("training.gradient_communication_dtype=", sent, NULL);
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2",
                                 "deepspeed.use_multi_rank_bucket_allreduce=no", "deepspeed.contiguous_gradients=yes",
                                 "deepspeed.reduce_bucket_size=41088", set, NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  Slices found = {0};
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    gboolean cast = strcmp(row->name, "cast bucket") == 0;
    found.casts += cast;
    found.cast += cast ? program->ops[row->op].bytes : 0;
    found.divided += strcmp(row->name, "divide bucket") == 0 ? program->ops[row->op].bytes : 0;
    found.sent += strcmp(row->name, "reduce slice") == 0 ? row->call.bytes : 0;
    for (guint32 t = 0; t < row->n_takes; t++) {
      const ProgramTensor *taken = &program->tensors[section->takes[row->takes + t]];
      found.largest = MAX(found.largest, strcmp(taken->name, "bucket as sent") == 0 ? taken->bytes : 0);
    }
  }
  return found;
}

/* Five buckets (head with norm, three layers, the embedding), all 205 376 elements once. Sent as they are made, 2 bytes
 * each, read and written where they are divided; as fp32 first cast, 2 bytes read and 4 written, into a tensor of the
 * bucket's size, 41 088 elements at most. */
static void slices_are_cast_before_they_are_sent(void) {
  Slices as_made = slices_sent_as("bf16"), wide = slices_sent_as("fp32");
  CU_ASSERT_EQUAL(as_made.casts, 0);
  CU_ASSERT_EQUAL(as_made.sent, 205376 * 2);
  CU_ASSERT_EQUAL(as_made.divided, 205376 * 4);
  CU_ASSERT_EQUAL(wide.casts, 5);
  CU_ASSERT_EQUAL(wide.cast, 205376 * 6);
  CU_ASSERT_EQUAL(wide.sent, 205376 * 4);
  CU_ASSERT_EQUAL(wide.divided, 205376 * 8);
  CU_ASSERT_EQUAL(wide.largest, 41088 * 4);
}

/* Stage 2, three micro-batches: each keeps the rank's 25 672 elements, read and written; those of the second and third
 * are new ones beside them, taken once, added and given. */
static void own_slices_join(const char *precision, guint64 bytes) {
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", precision,
                                 "training.gradient_accumulation=3", "deepspeed.reduce_bucket_size=41088", NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 kept = 0, takes = 0, gives = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (strcmp(row->name, "keep own slices") == 0)
      kept += program->ops[row->op].bytes;
    for (guint32 k = 0; k < row->n_takes; k++)
      takes += strcmp(program->tensors[section->takes[row->takes + k]].name, "new own gradients") == 0;
    for (guint32 k = 0; k < row->n_gives; k++)
      gives += strcmp(program->tensors[section->gives[row->gives + k].tensor].name, "new own gradients") == 0;
  }
  CU_ASSERT_EQUAL(kept, 3 * 25672 * 2 * bytes);
  CU_ASSERT_TRUE(takes == 2 && gives == 2);
}

static void slices_of_micro_batches_join(void) {
  own_slices_join("training.precision=bf16", 2);
  own_slices_join("training.precision=fp32", 4);
}

/* Own elements: 205 376 over 8, a multiple of 2: 25 672, and no padding. Stage 2, two micro-batches: 16-bit gradients
 * to the host once, back once, fp32 ones to the host, 16-bit parameters back (before 0.17 of 32 bits): 2 + 2 + 4 + 2
 * bytes each; a bucket of 41 088 elements rounds up nowhere, one of 41 024 neither. Adam: 8 of gradients scaled in
 * place, 4 of gradient, 8 of parameter in and out, 16 of momenta, 2 of 16-bit parameter. Stage 3 with parameters too:
 * 16-bit gradients go to the host and come back before the fp32 ones go, updated parameters stay there, and each gather
 * takes own shards up. */
static void offload_copies(void) {
  g_autoptr(Program) two = plan_case(
      &three_layers, 8, 8,
      (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", "parallel.offload_optimizer=cpu",
                       "training.gradient_accumulation=2", "deepspeed.reduce_bucket_size=41088", NULL});
  CU_ASSERT_EQUAL(bytes_of(two, PROGRAM_COPY), 25672 * (2 + 2 + 4 + 2));
  CU_ASSERT_EQUAL(bytes_of(two, PROGRAM_CPU), 25672 * 38);
  static const struct {
    const char *version;
    guint64 back;
  } eras[] = {{"parallel.framework_version=0.16.9", 4}, {"parallel.framework_version=0.17.0", 2}};
  for (gsize i = 0; i < G_N_ELEMENTS(eras); i++) {
    g_autoptr(Program) once = plan_case(&three_layers, 8, 8,
                                        (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2",
                                                         "parallel.offload_optimizer=cpu", eras[i].version, NULL});
    CU_ASSERT_EQUAL(bytes_of(once, PROGRAM_COPY), 25672 * (4 + eras[i].back));
  }
  g_autoptr(Program) three =
      plan_case(&three_layers, 8, 8,
                (const char *[]){STAGE_3, "parallel.offload_optimizer=cpu", "parallel.offload_parameters=cpu", NULL});
  const ProgramSection *section = &three->roles[0].sections[PROGRAM_STEADY];
  guint64 gathered = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    gathered += section->rows[i].kind == PROGRAM_COLLECTIVE && section->rows[i].call.operation == COLL_ALL_GATHER
                    ? section->rows[i].call.bytes
                    : 0;
  CU_ASSERT_EQUAL(bytes_of(three, PROGRAM_COPY), gathered / 8 + 25672 * (2 + 2 + 4));
  CU_ASSERT_EQUAL(bytes_of(three, PROGRAM_CPU), 25672 * 38);
}

/* How often the host waits for a copy of own gradients. Of each bucket: stage 3's last copy was blocking until 0.19.5;
 * in pageable memory all three are. */
static guint waits_for_copies(const char *version, const char *pinned, const char *stage) {
  g_autofree char *set = g_strconcat("parallel.framework_version=", version, NULL);
  g_autofree char *pin = g_strconcat("deepspeed.offload_optimizer.pin_memory=", pinned, NULL);
  g_autofree char *zero = g_strconcat("parallel.zero_stage=", stage, NULL);
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=deepspeed", zero, "parallel.offload_optimizer=cpu",
                                 "deepspeed.reduce_bucket_size=41088", set, pin, NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint n = 0, buckets = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    n += strcmp(section->rows[i].name, "wait for gradients on their way to or from the host") == 0;
    buckets += strcmp(section->rows[i].name, "norm of own gradients") == 0;
  }
  CU_ASSERT(buckets > 1);
  if (buckets == 0)
    return G_MAXUINT;
  CU_ASSERT_EQUAL(n % buckets, 0);
  return n / buckets;
}

static void copies_that_the_host_waits_for(void) {
  CU_ASSERT_EQUAL(waits_for_copies("0.19.6", "yes", "3"), 0);
  CU_ASSERT_EQUAL(waits_for_copies("0.19.4", "yes", "3"), 1);
  CU_ASSERT_EQUAL(waits_for_copies("0.19.6", "no", "3"), 3);
  CU_ASSERT_EQUAL(waits_for_copies("0.19.4", "yes", "2"), 0);
  CU_ASSERT_EQUAL(waits_for_copies("0.19.4", "no", "2"), 1);
}

/* What is older than the oldest version that is known (0.8) is played as that one, and said so. */
static void older_versions_are_played_as_the_oldest(void) {
  static const struct {
    const char *version, *note;
  } rows[] = {{"0.3.10", "deepspeed: version 0.3.10 is older than what is modelled; it is played as 0.8.0"},
              {"0.7", "deepspeed: version 0.7.0 is older than what is modelled; it is played as 0.8.0"},
              {"0.8", NULL},
              {"0.19.6", NULL}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    PlanRecipe recipe;
    g_autofree char *set = g_strconcat("parallel.framework_version=", rows[i].version, NULL);
    g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
    CU_ASSERT_TRUE_FATAL(plan_case_recipe(
        16, 8, (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=1", set, NULL}, &recipe, NULL));
    plan_notes(&recipe, notes);
    const char *first = g_ptr_array_index(notes, 0);
    if (rows[i].note != NULL)
      CU_ASSERT_STRING_EQUAL(first, rows[i].note);
    CU_ASSERT_EQUAL(strstr(first, "older than") != NULL, rows[i].note != NULL);
  }
}

static guint rows_named(const Program *program, const char *name) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += strcmp(section->rows[i].name, name) == 0;
  return n;
}

/* Taken in a step; of so many bytes, 0: of any. */
static guint tensors_named(const Program *program, const char *name, guint64 bytes) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    for (guint32 t = 0; t < section->rows[i].n_takes; t++) {
      const ProgramTensor *tensor = &program->tensors[section->takes[section->rows[i].takes + t]];
      n += strcmp(tensor->name, name) == 0 && (bytes == 0 || tensor->bytes == bytes);
    }
  return n;
}

/* Stage 3 before 0.6: a parameter is gathered by itself after its room is zeroed and the device is idle, until 0.5.5
 * out of a list; each gradient is reduce-scattered by itself: a head and an embedding, and of each of three layers four
 * matrices of attention, three of the MLP, two norms, with the last norm 2 + 3·9 + 1 = 30 parameters. What
 * is reduced are views of the bucket, which nothing interleaves; c10d copies them into a flat buffer of one parameter,
 * of the nine matrices of MLPs 64·128 elements of 2 bytes. From 0.6 on all that a layer, one module here, lacks is one
 * gather, and buckets are interleaved. */
static void parameters_were_gathered_one_by_one(void) {
  static const struct {
    const char *version;
    gboolean single, lists;
  } eras[] = {{"0.3.15", TRUE, TRUE}, {"0.5.4", TRUE, TRUE}, {"0.5.5", TRUE, FALSE}, {"0.6", FALSE, FALSE}};
  for (gsize i = 0; i < G_N_ELEMENTS(eras); i++) {
    g_autofree char *set = g_strconcat("parallel.framework_version=", eras[i].version, NULL);
    g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, set, NULL});
    guint gathers = rows_named(program, "gather parameters"), zeros = rows_named(program, "zero a gathered parameter");
    CU_ASSERT_TRUE(eras[i].single ? gathers > 30 : gathers < 30);
    CU_ASSERT_EQUAL(zeros, eras[i].single ? gathers : 0);
    CU_ASSERT_TRUE(rows_named(program, "wait for the device") >= zeros);
    CU_ASSERT_EQUAL(rows_named(program, "copy out of the gathered list"), eras[i].lists ? gathers : 0);
    CU_ASSERT_EQUAL(rows_named(program, "reduce-scatter gradient"), eras[i].single ? 30 : 0);
    CU_ASSERT_EQUAL(rows_named(program, "copy into the list to reduce"), eras[i].single ? 30 : 0);
    CU_ASSERT_EQUAL(rows_named(program, "interleave bucket") == 0, eras[i].single);
    CU_ASSERT_EQUAL(tensors_named(program, "interleaved bucket", 0) == 0, eras[i].single);
    CU_ASSERT_EQUAL(tensors_named(program, "flat list to reduce", 0), eras[i].single ? 30 : 0);
    CU_ASSERT_EQUAL(tensors_named(program, "flat list to reduce", 2 * 64 * 128), eras[i].single ? 9 : 0);
    plan_case_plays(program, set);
  }
}

/* Without reduce_scatter the bucket was divided and all-reduced where it lay, each of the five of
 * quantised_gradients_shrink_between_nodes. */
static void old_buckets_are_never_interleaved(void) {
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){STAGE_3, "parallel.framework_version=0.5.10", "deepspeed.reduce_scatter=no", NULL});
  CU_ASSERT_EQUAL(rows_named(program, "interleave bucket"), 0);
  CU_ASSERT_EQUAL(rows_named(program, "reduce gradients"), 5);
  CU_ASSERT_EQUAL(rows_named(program, "divide bucket"), 5);
}

/* The row of a layer's first operation in forward. */
static guint32 first_of(const ProgramSection *section, gint32 layer) {
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].layer == layer && section->rows[i].phase == PROGRAM_FORWARD &&
        section->rows[i].kind == PROGRAM_COMPUTE && strstr(section->rows[i].name, "copy") == NULL)
      return i;
  return section->n_rows;
}

/* When layer 1 begins, layer 0 is gone: there is room for all nine parameters of layer 2, which are one gather.
 * Fetched one after another each is a gather of its own, of 64² or 64·128 elements or a norm's 64, and only the first
 * is there ahead; the others come when layer 2 is entered. */
static void fetches_one_after_another(void) {
  for (guint sequential = 0; sequential < 2; sequential++) {
    const char *set =
        sequential ? "deepspeed.stage3_allgather_sequential=yes" : "deepspeed.stage3_allgather_sequential=no";
    g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, set, NULL});
    const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
    guint ahead = 0, then = 0;
    guint64 bytes = 0;
    for (guint32 i = 0; i < first_of(section, 2); i++) {
      const ProgramRow *row = &section->rows[i];
      if (row->kind != PROGRAM_COLLECTIVE || row->layer != 2)
        continue;
      *(i < first_of(section, 1) ? &ahead : &then) += 1;
      bytes += row->call.bytes;
      CU_ASSERT_TRUE(!sequential || row->call.bytes <= 2 * 64 * 128);
    }
    CU_ASSERT_EQUAL(bytes, 2 * 41088);
    CU_ASSERT_EQUAL(ahead, 1);
    CU_ASSERT_EQUAL(then, sequential ? 8 : 0);
  }
}

static void refuses_by_name(void) {
  static const struct {
    const char *stage, *set, *named;
  } rows[] = {
      {"parallel.zero_stage=0", "parallel.offload_optimizer=cpu", "offload_optimizer"},
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
      /* Elements times bytes of these passed 64 bits; the second became no bucket at all. */
      {"parallel.zero_stage=1", "deepspeed.reduce_bucket_size=1e17", "reduce_bucket_size: 1e17 is out of range"},
      {"parallel.zero_stage=1", "deepspeed.reduce_bucket_size=4611686018427387904", "is out of range"},
      {"parallel.zero_stage=1", "deepspeed.reduce_bucket_size=9223372036854775807", "is out of range"},
      {"parallel.zero_stage=3", "deepspeed.zero_hpz_partition_size=4294967304", "is out of range"},
      {"parallel.zero_stage=1", "deepspeed.mics_hierarchical_params_gather=yes", "mics_hierarchical"}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    PlanRecipe recipe;
    g_autoptr(GError) error = NULL;
    const char *sets[] = {"parallel.framework=deepspeed", rows[i].stage, rows[i].set, NULL};
    CU_ASSERT_FALSE(plan_case_recipe(16, 8, sets, &recipe, &error));
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, rows[i].named) != NULL);
  }
}

/* How often the optimizer runs in a step. */
static guint updates(const char *sub_group_size) {
  g_autofree char *set = g_strconcat("deepspeed.sub_group_size=", sub_group_size, NULL);
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){STAGE_3, set, NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += strcmp(section->rows[i].name, "adam") == 0;
  return n;
}

/* Whole parameters make a group until their shards reach sub_group_size. A rank owns an eighth: of the embedding 5 128
 * elements, of a layer 5 136, of the last norm 8, of the head 5 128, 25 672 in all. 3 layers of 9 tensors, and three:
 * 30 groups of one each, where any size is reached at once. From 25 672 on it is one group. With 5 128 the embedding is
 * one, and the next closes as soon as it has 5 128: never inside a parameter, however much that goes beyond. */
static void optimizer_groups_hold_whole_parameters(void) {
  CU_ASSERT_EQUAL(updates("1e9"), 1);
  CU_ASSERT_EQUAL(updates("25672"), 1);
  CU_ASSERT_EQUAL(updates("0"), 30);
  CU_ASSERT_EQUAL(updates("1"), 30);
  CU_ASSERT_TRUE(updates("25671") <= 2);
  CU_ASSERT_EQUAL(updates("5128"), 5);
}

int main(void) {
  return harness_run(
      "plan-deepspeed",
      (HarnessCase[]){{"stage 1 reduces at the end", stage_1_reduces_at_the_end},
                      {"stage 2 reduces one gradient late", stage_2_reduces_one_gradient_late},
                      {"stage 3 gathers one unit ahead", stage_3_gathers_one_unit_ahead},
                      {"gathers bear their own layer", gathers_bear_their_own_layer},
                      {"first micro-batch gathers nothing ahead", first_micro_batch_gathers_nothing_ahead},
                      {"versions differ", versions_differ},
                      {"quantised gradients shrink between nodes", quantised_gradients_shrink_between_nodes},
                      {"older versions are played as the oldest", older_versions_are_played_as_the_oldest},
                      {"parameters were gathered one by one", parameters_were_gathered_one_by_one},
                      {"old buckets are never interleaved", old_buckets_are_never_interleaved},
                      {"gradients go with the step", gradients_go_with_the_step},
                      {"slices are cast before they are sent", slices_are_cast_before_they_are_sent},
                      {"offload copies", offload_copies},
                      {"copies that the host waits for", copies_that_the_host_waits_for},
                      {"fetches one after another", fetches_one_after_another},
                      {"refuses by name", refuses_by_name},
                      {"optimizer groups hold whole parameters", optimizer_groups_hold_whole_parameters},
                      {"slices of micro-batches join", slices_of_micro_batches_join},
                      {NULL, NULL}});
}
