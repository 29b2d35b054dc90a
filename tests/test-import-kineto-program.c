/* SPDX-License-Identifier: MIT */
/* Measured steps as Programs: order and cost of what the host issues, what waits for what, who communicates with
 * whom. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "import-kineto-program.h"

#define US SIM_MICROSECOND

static Program *load_all(const char *const *jsons, guint n, ProgramOrigin *origin, ImportKineto *measured,
                         GError **error) {
  g_auto(GStrv) paths = g_new0(char *, n + 1);
  for (guint i = 0; i < n; i++) {
    g_close(g_file_open_tmp("kineto-XXXXXX.json", &paths[i], NULL), NULL);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(paths[i], jsons[i], -1, NULL));
  }
  Program *program = import_kineto_program((const char *const *)paths, n, origin, measured, error);
  for (guint i = 0; i < n; i++)
    g_unlink(paths[i]);
  return program;
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
 * launches "three" at 1400, for 10; the host then waits until 1500, and steps the optimizer at 1600. */
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
      {"four", PROGRAM_COMPUTE, PROGRAM_OPTIMIZER, 110 * US, PROGRAM_NONE},
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

int main(void) {
  return harness_run("import-kineto-program", (HarnessCase[]){{"rows in order of calls", rows_in_order_of_calls},
                                                              {"a file for each rank", a_file_for_each_rank},
                                                              {"kernels alone", kernels_alone},
                                                              {"refuses", refuses},
                                                              {NULL, NULL}});
}
