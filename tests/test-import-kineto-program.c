/* SPDX-License-Identifier: MIT */
/* Measured steps as Programs: order and cost of what the host issues, what waits for what, who communicates with
 * whom. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "import-kineto-log.h"
#include "import-kineto-program.h"

#define US SIM_MICROSECOND

static Program *load_on(const char *const *jsons, guint n, const ImportKinetoOptions *options, ProgramOrigin *origin,
                        ImportKineto *measured, GError **error) {
  g_auto(GStrv) paths = g_new0(char *, n + 1);
  for (guint i = 0; i < n; i++) {
    g_close(g_file_open_tmp("kineto-XXXXXX.json", &paths[i], NULL), NULL);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(paths[i], jsons[i], -1, NULL));
  }
  g_autoptr(ImportKinetoSet) set = import_kineto_open((const char *const *)paths, n, error);
  for (guint i = 0; i < n; i++) {
    g_unlink(paths[i]);
    if (set != NULL)
      measured[i] = *import_kineto_measured(set, i);
  }
  return set != NULL ? import_kineto_program(set, options, origin, error) : NULL;
}

static Program *load_all(const char *const *jsons, guint n, ProgramOrigin *origin, ImportKineto *measured,
                         GError **error) {
  return load_on(jsons, n, &IMPORT_KINETO_DEFAULT, origin, measured, error);
}

#define EVENT(CAT, NAME, TID, TS, DUR, ARGS)                                                                           \
  "{\"ph\": \"X\", \"cat\": \"" CAT "\", \"name\": \"" NAME "\", \"tid\": " TID ", \"ts\": " TS ", \"dur\": " DUR      \
  ", \"args\": {" ARGS "}}"
#define CALL(NAME, TID, TS, DUR, CORRELATION) EVENT("cuda_runtime", NAME, TID, TS, DUR, "\"correlation\": " CORRELATION)
#define KERNEL(NAME, STREAM, TS, DUR, CORRELATION, MORE)                                                               \
  EVENT("kernel", NAME, STREAM, TS, DUR, "\"device\": 0, \"stream\": " STREAM ", \"correlation\": " CORRELATION MORE)
#define SENT(NAME, IN, OUT, DTYPE, GROUP, SIZE, RANKS)                                                                 \
  ", \"Collective name\": \"" NAME "\", \"In msg nelems\": " IN ", \"Out msg nelems\": " OUT ", \"dtype\": \"" DTYPE   \
  "\", \"Process Group Name\": \"" GROUP "\", \"Group size\": " SIZE ", \"Process Group Ranks\": \"" RANKS "\""
#define WORLD(RANK, SIZE) "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " RANK ", \"world_size\": " SIZE "}"

/* One step of 1000 µs from 1000 on. The main thread launches "one" (at 1010, for 10), asks for an all-gather (1030, for
 * 20), lets stream 7 wait and launches "two" (1060, for 5): it waits for the all-gather, 1055 to 1300. Another thread
 * launches "three" at 1400, for 10; the host then waits until 1500, 8 after "three" ended, which are its own, and steps
 * the optimizer at 1600. */
/* clang-format off */
#define STEP(RANKS)                                                                                                    \
    "\"traceEvents\": [\n"                                                                                             \
    EVENT("user_annotation", "ProfilerStep#1", "1", "1000", "1000", "") ",\n"                                          \
    CALL("cudaLaunchKernel", "1", "1010", "10", "11") ",\n"                                                            \
    CALL("cudaStreamWaitEvent", "1", "1025", "1", "12") ",\n"                                                          \
    CALL("cudaLaunchKernelExC", "1", "1030", "20", "13") ",\n"                                                         \
    CALL("cudaStreamWaitEvent", "1", "1055", "1", "14") ",\n"                                                          \
    CALL("cudaLaunchKernel", "1", "1060", "5", "15") ",\n"                                                             \
    CALL("cudaLaunchKernel", "2", "1400", "10", "16") ",\n"                                                            \
    CALL("cudaDeviceSynchronize", "1", "1420", "80", "17") ",\n"                                                       \
    EVENT("cpu_op", "Optimizer.step#AdamW.step", "1", "1590", "100", "") ",\n"                                         \
    CALL("cudaLaunchKernel", "1", "1600", "10", "18") ",\n"                                                            \
    KERNEL("void one<float>(int)", "7", "1022", "30", "11", "") ",\n"                                                  \
    KERNEL("ncclDevKernel_AllGather_RING_LL(x)", "20", "1055", "245", "13",                                            \
           SENT("_allgather_base", "100", "400", "BFloat16", "3", "4", RANKS)) ",\n"                                   \
    KERNEL("two", "7", "1301", "50", "15", "") ",\n"                                                                   \
    KERNEL("three", "7", "1412", "80", "16", "") ",\n"                                                                 \
    KERNEL("four", "7", "1612", "0", "18", "") "\n"                                                                    \
    "]}\n"
/* clang-format on */

static const ProgramRow *rows_of(const Program *program, guint role, guint32 *ret_n) {
  const ProgramSection *section = &program->roles[role].sections[PROGRAM_STEADY];
  *ret_n = section->n_rows;
  return section->rows;
}

static void rows_in_order_of_calls(void) {
  const char *const json[] = {
      "{" WORLD("0", "8") ", \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\"}]," STEP("[0, 2, 4, 6]")};
  static const struct {
    const char *name;
    ProgramKind kind;
    ProgramPhase phase;
    SimTime host;
    guint32 need; /* PROGRAM_NONE: none */
  } expected[] = {
      {"one", PROGRAM_COMPUTE, PROGRAM_FORWARD, 20 * US, PROGRAM_NONE},
      {"ncclDevKernel_AllGather_RING_LL", PROGRAM_COLLECTIVE, PROGRAM_GATHER, 30 * US, 0},
      {"two", PROGRAM_COMPUTE, PROGRAM_FORWARD, 15 * US, 1},
      {"three", PROGRAM_COMPUTE, PROGRAM_BACKWARD, 345 * US, PROGRAM_NONE},
      {"cudaDeviceSynchronize", PROGRAM_HOST, PROGRAM_FORWARD, 10 * US, 3},
      {"four", PROGRAM_COMPUTE, PROGRAM_OPTIMIZER, 118 * US, PROGRAM_NONE},
      {"end of the step", PROGRAM_HOST, PROGRAM_SETUP, 390 * US, PROGRAM_NONE},
  };
  ProgramOrigin origin = {0};
  ImportKineto measured;
  GError *error = NULL;
  g_autoptr(Program) program = load_all(json, 1, &origin, &measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  CU_ASSERT_STRING_EQUAL(origin.gpu, "h200-sxm5-141gb");
  program_origin_clear(&origin);
  guint32 n;
  const ProgramRow *rows = rows_of(program, 0, &n);
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  CU_ASSERT_EQUAL_FATAL(n, G_N_ELEMENTS(expected));
  for (guint32 i = 0; i < n; i++) {
    CU_ASSERT_STRING_EQUAL(rows[i].name, expected[i].name);
    CU_ASSERT_EQUAL(rows[i].kind, expected[i].kind);
    CU_ASSERT_EQUAL(rows[i].phase, expected[i].phase);
    CU_ASSERT_EQUAL(rows[i].host, expected[i].host);
    CU_ASSERT_EQUAL(rows[i].n_needs, expected[i].need != PROGRAM_NONE);
    if (rows[i].n_needs > 0)
      CU_ASSERT_EQUAL(section->needs[rows[i].needs], expected[i].need);
  }
  /* 400 elements of two bytes come out; every second of eight ranks is one group, the others another. */
  CU_ASSERT_EQUAL(rows[1].call.operation, COLL_ALL_GATHER);
  CU_ASSERT_EQUAL(rows[1].call.bytes, 800);
  CU_ASSERT_EQUAL(program->n_ranks, 8);
  CU_ASSERT_EQUAL(program_group(program, 0, rows[1].group), program_group(program, 6, rows[1].group));
  CU_ASSERT_NOT_EQUAL(program_group(program, 0, rows[1].group), program_group(program, 1, rows[1].group));
  /* From the first kernel to the last one's end: 590. 30 + 50 + 80 compute, 245 sent, none of it under compute. */
  CU_ASSERT_EQUAL(measured.step, 590 * US);
  CU_ASSERT_EQUAL(measured.compute, 160 * US);
  CU_ASSERT_EQUAL(measured.exposed, 245 * US);
}

/* Every rank's file: a role each, in order of rank, and groups as they are stated. */
static void a_file_for_each_rank(void) {
  const char *const json[] = {"{" WORLD("1", "2") "," STEP("[0, 1]"), "{" WORLD("0", "2") "," STEP("[0, 1]")};
  ProgramOrigin origin = {0};
  ImportKineto measured[2];
  GError *error = NULL;
  g_autoptr(Program) program = load_all(json, 2, &origin, measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  program_origin_clear(&origin);
  guint32 n;
  CU_ASSERT_EQUAL(program->n_roles, 2);
  const ProgramRow *one = rows_of(program, 0, &n), *other = rows_of(program, 1, &n);
  CU_ASSERT_EQUAL(program_group(program, 0, one[1].group), program_group(program, 1, other[1].group));
}

static void refuses(void) {
  static const struct {
    const char *json[2], *named;
  } rows[] = {
      {{"{" WORLD("0", "8") "," STEP("[0, 1, 2, 4]")}, "uneven distances"},
      {{"{" WORLD("0", "6") "," STEP("[0, 1, 2, 3]")}, "does not repeat over all ranks"},
      {{"{" WORLD("0", "8") "," STEP("")}, "does not say which its ranks are"},
      {{"{" WORLD("0", "4") "," STEP("[0, 1, 2, 3]"), "{" WORLD("1", "4") "," STEP("[0, 1, 2, 3]")},
       "2 files of a world of 4 ranks"},
      {{"{" WORLD("0", "2") "," STEP("[0, 1]"), "{" WORLD("0", "2") "," STEP("[0, 1]")}, "rank 1 is missing"},
      {{"{\"traceEvents\": [" KERNEL("ncclKernel_AllReduce_RING_LL_Sum_float(x)", "20", "1", "2", "3", "") "]}"},
       "do not say what they send"},
      {{"{\"schema\": \"1.0.1\", \"nodes\": [], \"traceEvents\": []}"}, "execution trace"},
      {{"[[1, 2, 3]]"}, "memory timeline"},
      {{"{\"traceEvents\": [" EVENT("user_annotation", "ProfilerStep#1", "1", "1000", "0", "") "," CALL(
           "cudaLaunchKernel", "1", "10", "1", "1") "," KERNEL("a", "7", "20", "5", "1", "") "]}"},
       "launches no kernels"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    ProgramOrigin origin = {0};
    ImportKineto measured[2];
    GError *error = NULL;
    HARNESS_FAILS(load_all(rows[i].json, 1 + (rows[i].json[1] != NULL), &origin, measured, &error) != NULL, error,
                  rows[i].named);
  }
}

/* Without calls of the runtime kernels stand in order of start, and the host costs nothing. DeepEP's communicate and
 * take what they took. */
static void kernels_alone(void) {
  const char *const json[] = {"{\"traceEvents\": [" KERNEL("b", "7", "20", "5", "1", "") "," KERNEL(
      "a", "7", "10", "5", "2", "") "," KERNEL("void deep_ep::dispatch<1>(int)", "9", "12", "5", "3", "") "]}"};
  ProgramOrigin origin = {0};
  ImportKineto measured;
  GError *error = NULL;
  g_autoptr(Program) program = load_all(json, 1, &origin, &measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  program_origin_clear(&origin);
  guint32 n;
  const ProgramRow *rows = rows_of(program, 0, &n);
  CU_ASSERT_EQUAL_FATAL(n, 4);
  CU_ASSERT_STRING_EQUAL(rows[0].name, "a");
  CU_ASSERT_STRING_EQUAL(rows[1].name, "deep_ep::dispatch");
  CU_ASSERT_EQUAL(program->durations[rows[1].op], 5 * US);
  CU_ASSERT_EQUAL(rows[2].host, 0);
  CU_ASSERT_EQUAL(measured.foreign, 1);
  CU_ASSERT_EQUAL(measured.communication, 5 * US);
}

static const ProgramRow *row_named(const Program *program, const char *name) {
  guint32 n;
  const ProgramRow *rows = rows_of(program, 0, &n);
  for (guint32 i = 0; i < n; i++)
    if (strcmp(rows[i].name, name) == 0)
      return &rows[i];
  return NULL;
}

/* An all-reduce whose kernel is silent, launched within the host's note of 8 × 25 floats: 800 bytes, of all ranks. A
 * second one is launched outside of the note: it says nothing, and takes its 30 µs where that is asked for. */
/* clang-format off */
#define NOTED(SECOND) \
  "{" WORLD("0", "4") ", \"traceEvents\": [" \
  CALL("cudaLaunchKernel", "1", "10", "2", "1") "," \
  EVENT("user_annotation", "nccl:all_reduce", "1", "15", "20", \
        "\"Input Dims\": [[8, 25], []], \"Input type\": [\"float\", \"\"]") "," \
  CALL("cudaLaunchKernel", "1", "20", "5", "2") "," \
  CALL("cudaLaunchKernel", "1", "40", "5", "3") "," \
  KERNEL("a", "7", "12", "5", "1", "") "," \
  KERNEL("ncclKernel_AllReduce_RING_LL_Sum_float(x)", "20", "25", "10", "2", "") "," \
  KERNEL(SECOND, "20", "45", "30", "3", "") "]}"
/* clang-format on */

static void notes_of_the_host(void) {
  const char *const whole[] = {NOTED("b")}, *const silent[] = {NOTED("ncclKernel_Broadcast(x)")};
  ProgramOrigin origin = {0};
  ImportKineto measured;
  GError *error = NULL;
  g_autoptr(Program) program = load_all(whole, 1, &origin, &measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  program_origin_clear(&origin);
  const ProgramRow *row = row_named(program, "ncclKernel_AllReduce_RING_LL_Sum_float");
  CU_ASSERT_PTR_NOT_NULL_FATAL(row);
  CU_ASSERT_EQUAL(row->kind, PROGRAM_COLLECTIVE);
  CU_ASSERT_EQUAL(row->call.operation, COLL_ALL_REDUCE);
  CU_ASSERT_EQUAL(row->call.bytes, 800);
  CU_ASSERT_EQUAL(program_group(program, 0, row->group), program_group(program, 3, row->group));
  HARNESS_FAILS(load_all(silent, 1, &origin, &measured, &error) != NULL, error, "1 of 2 kernels of communication");
  error = NULL;
  g_autoptr(Program) kept =
      load_on(silent, 1, &(ImportKinetoOptions){.keep_unsized = TRUE}, &origin, &measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
  CU_ASSERT_PTR_NOT_NULL(strstr(origin.notes[3], "1 kernels of NCCL do not say what they send"));
  program_origin_clear(&origin);
  CU_ASSERT_EQUAL(kept->durations[row_named(kept, "ncclKernel_Broadcast")->op], 30 * US);
  CU_ASSERT_EQUAL(row_named(kept, "ncclKernel_AllReduce_RING_LL_Sum_float")->kind, PROGRAM_COLLECTIVE);
  const ImportKinetoOptions all = {.keep_communication = TRUE};
  g_autoptr(Program) measured_all = load_on(silent, 1, &all, &origin, &measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(measured_all);
  program_origin_clear(&origin);
  CU_ASSERT_EQUAL(measured_all->durations[row_named(measured_all, "ncclKernel_AllReduce_RING_LL_Sum_float")->op],
                  10 * US);
}

/* Four ranks' step on eight and on twelve: a group that goes around all four goes around all, one of neighbours
 * repeats. What says how much goes to each peer cannot grow; nor can ranks that are no multiple. */
/* clang-format off */
#define GROUPED(NAME) \
  "{" WORLD("0", "4") ", \"traceEvents\": [" \
  KERNEL("ncclDevKernel_ReduceScatter(x)", "20", "10", "5", "1", \
         SENT(NAME, "400", "100", "Float", "dp", "2", "[0, 2]")) "," \
  KERNEL("ncclDevKernel_AllReduce(x)", "21", "20", "5", "2", \
         SENT("allreduce", "9", "9", "Float", "tp", "2", "[0, 1]")) "]}"
/* clang-format on */

static void more_ranks(void) {
  const char *const json[] = {GROUPED("_reduce_scatter_base")}, *const fixed[] = {GROUPED("all_to_all")};
  ProgramOrigin origin = {0};
  ImportKineto measured;
  GError *error = NULL;
  g_autoptr(Program) program = load_on(json, 1, &(ImportKinetoOptions){.ranks = 12}, &origin, &measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  program_origin_clear(&origin);
  const ProgramRow *dp = row_named(program, "ncclDevKernel_ReduceScatter");
  const ProgramRow *tp = row_named(program, "ncclDevKernel_AllReduce");
  CU_ASSERT_TRUE_FATAL(dp != NULL && tp != NULL);
  CU_ASSERT_EQUAL(program->n_ranks, 12);
  CU_ASSERT_EQUAL(dp->call.bytes, 1600);
  CU_ASSERT_EQUAL(program_group(program, 0, dp->group), program_group(program, 10, dp->group));
  CU_ASSERT_NOT_EQUAL(program_group(program, 0, dp->group), program_group(program, 11, dp->group));
  CU_ASSERT_EQUAL(program_group(program, 10, tp->group), program_group(program, 11, tp->group));
  CU_ASSERT_NOT_EQUAL(program_group(program, 0, tp->group), program_group(program, 2, tp->group));
  HARNESS_FAILS(load_on(fixed, 1, &(ImportKinetoOptions){.ranks = 8}, &origin, &measured, &error) != NULL, error,
                "which says nothing of 8 ranks");
  error = NULL;
  HARNESS_FAILS(load_on(json, 1, &(ImportKinetoOptions){.ranks = 6}, &origin, &measured, &error) != NULL, error,
                "that is no multiple");
}

/* The all-gather ends 300 µs after the step's start on rank 0's clock and 340 on rank 1's, both of which count from
 * their file's first event; it ends at once, so rank 1 began 40 earlier, and rank 0 begins 40 late. */
static void ranks_on_one_clock(void) {
  /* clang-format off */
  const char *const json[] = {
      "{" WORLD("0", "2") "," STEP("[0, 1]"),
      "{" WORLD("1", "2") ", \"traceEvents\": ["
      EVENT("user_annotation", "ProfilerStep#1", "1", "6000", "1000", "") ","
      CALL("cudaLaunchKernelExC", "1", "6030", "20", "13") ","
      CALL("cudaLaunchKernel", "1", "6400", "20", "14") ","
      KERNEL("ncclDevKernel_AllGather_RING_LL(x)", "20", "6055", "285", "13",
             SENT("_allgather_base", "100", "400", "BFloat16", "3", "2", "[0, 1]")) ","
      KERNEL("five", "7", "6420", "20", "14", "") "]}"};
  /* clang-format on */
  ProgramOrigin origin = {0};
  ImportKineto measured[2];
  GError *error = NULL;
  g_autoptr(Program) program = load_all(json, 2, &origin, measured, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  program_origin_clear(&origin);
  guint32 n;
  const ProgramRow *first = rows_of(program, 0, &n), *second = rows_of(program, 1, &n);
  CU_ASSERT_STRING_EQUAL(first[0].name, "later than the first rank");
  CU_ASSERT_EQUAL(first[0].host, 40 * US);
  CU_ASSERT_STRING_EQUAL(second[0].name, "ncclDevKernel_AllGather_RING_LL");
}

/* Its collectives as nccl-tests would have them: 800 bytes in 245 µs, of the rank that came last, not the other's 285;
 * over two nodes, since the group's ranks lie on both. */
static void collectives_as_a_log(void) {
  const char *const json[] = {"{" WORLD("0", "2") "," STEP("[0, 1]"), "{" WORLD("1", "2") "," STEP("[0, 1]")};
  g_auto(GStrv) paths = g_new0(char *, 3);
  for (guint i = 0; i < 2; i++) {
    g_autofree char *slow = g_strdup(json[i]);
    char *found = i == 1 ? strstr(slow, "\"dur\": 245") : NULL;
    if (found != NULL)
      memcpy(found, "\"dur\": 285", strlen("\"dur\": 285"));
    g_close(g_file_open_tmp("kineto-XXXXXX.json", &paths[i], NULL), NULL);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(paths[i], slow, -1, NULL));
  }
  GError *error = NULL;
  g_autoptr(ImportKinetoSet) set = import_kineto_open((const char *const *)paths, 2, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(set);
  g_autoptr(ImportLog) log = import_kineto_log(set, 2, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(log);
  CU_ASSERT_EQUAL_FATAL(log->runs->len, 1);
  const ImportRun *run = g_ptr_array_index(log->runs, 0);
  CU_ASSERT_EQUAL(run->operation, IMPORT_ALL_GATHER);
  CU_ASSERT_EQUAL(run->ranks, 2);
  CU_ASSERT_EQUAL(run->nodes, 2);
  CU_ASSERT_EQUAL_FATAL(run->rows->len, 1);
  CU_ASSERT_EQUAL(g_array_index(run->rows, ImportRow, 0).bytes, 800);
  CU_ASSERT_EQUAL(g_array_index(run->rows, ImportRow, 0).in_place.time, 245 * US);
  HARNESS_FAILS(import_kineto_log(set, 3, &error) != NULL, error, "2 ranks do not go evenly on 3 nodes");
  for (guint i = 0; i < 2; i++)
    g_unlink(paths[i]);
}

/* ustar's header: name at 0, size in octal at 124, type at 156, "ustar" at 257 (POSIX.1-1988). */
static void add_to_tar(GByteArray *tar, const char *name, const char *text) {
  guint8 header[512] = {0}, padding[512] = {0};
  g_strlcpy((char *)header, name, 100);
  g_snprintf((char *)header + 124, 12, "%011o", (guint)strlen(text));
  header[156] = '0';
  memcpy(header + 257, "ustar\00000", 8);
  g_byte_array_append(tar, header, sizeof header);
  g_byte_array_append(tar, (const guint8 *)text, (guint)strlen(text));
  g_byte_array_append(tar, padding, (512 - (guint)strlen(text) % 512) % 512);
}

static ImportKinetoSet *open_tar(const GByteArray *tar, guint length, GError **error) {
  g_autofree char *path = NULL;
  g_close(g_file_open_tmp("kineto-XXXXXX.tar", &path, NULL), NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, (const char *)tar->data, length, NULL));
  const char *const paths[] = {path};
  ImportKinetoSet *set = import_kineto_open(paths, 1, error);
  g_unlink(path);
  return set;
}

static void ranks_of_an_archive(void) {
  g_autoptr(GByteArray) tar = g_byte_array_new();
  const guint8 end[1024] = {0};
  add_to_tar(tar, "step/README", "no trace");
  add_to_tar(tar, "step/rank1.json", "{" WORLD("1", "2") "," STEP("[0, 1]"));
  add_to_tar(tar, "step/rank0.json", "{" WORLD("0", "2") "," STEP("[0, 1]"));
  g_byte_array_append(tar, end, sizeof end);
  GError *error = NULL;
  g_autoptr(ImportKinetoSet) set = open_tar(tar, tar->len, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(set);
  CU_ASSERT_EQUAL(import_kineto_files(set), 2);
  CU_ASSERT_EQUAL(import_kineto_rank(set, 0), 0);
  CU_ASSERT_EQUAL(import_kineto_ranks(set), 2);
  HARNESS_FAILS(open_tar(tar, 1600, &error) != NULL, error, "it ends within a file");
  error = NULL;
  HARNESS_FAILS(open_tar(tar, 1024, &error) != NULL, error, "expected \"{\"");
}

int main(void) {
  return harness_run("import-kineto-program", (HarnessCase[]){{"rows in order of calls", rows_in_order_of_calls},
                                                              {"a file for each rank", a_file_for_each_rank},
                                                              {"kernels alone", kernels_alone},
                                                              {"notes of the host", notes_of_the_host},
                                                              {"more ranks", more_ranks},
                                                              {"ranks on one clock", ranks_on_one_clock},
                                                              {"collectives as a log", collectives_as_a_log},
                                                              {"ranks of an archive", ranks_of_an_archive},
                                                              {"refuses", refuses},
                                                              {NULL, NULL}});
}
