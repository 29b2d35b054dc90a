/* SPDX-License-Identifier: MIT */
/* Steps of a profiler's trace: which is taken, what in it computes, what is exposed. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "import-kineto.h"

#define US SIM_MICROSECOND

static gboolean load(const char *json, ImportKineto *ret, GError **error) {
  g_autofree char *path = NULL;
  int file = g_file_open_tmp("kineto-XXXXXX.json", &path, NULL);
  g_close(file, NULL);
  gboolean good = g_file_set_contents(path, json, -1, NULL) && import_kineto_load(path, ret, error);
  g_unlink(path);
  return good;
}

#define EVENT(CAT, NAME, TS, DUR, ARGS)                                                                                \
  "{\"ph\": \"X\", \"cat\": \"" CAT "\", \"name\": \"" NAME "\", \"ts\": " TS ", \"dur\": " DUR ", \"args\": {" ARGS   \
  "}}"
#define GPU0 "\"device\": 0"

/* One step from 1000 to 1100 µs, then two of 300 and 200: the one of 200 is taken, 1400 to 1600. In it: kernels 1400 to
 * 1450 and 1440 to 1500 (100 busy), a copy within the GPU 1550 to 1560, a copy from the host that does not count; an
 * all-gather 1480 to 1540 (20 under compute, 40 exposed) and beside it a reduction 1520 to 1555 (15 exposed beyond
 * 1540, of which 1550 to 1555 is under the copy: 10); what begins before the step or on another GPU is cut, or left.
 * 200 = 110 + 50 + 40. */
/* clang-format off */
static const char trace[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"a \\\"quoted\\\" one\"}],\n"
    "\"traceEvents\": [\n"
    EVENT("user_annotation", "ProfilerStep#1", "1000.000", "100", "") ",\n"
    EVENT("user_annotation", "ProfilerStep#2", "1100", "299.5", "") ",\n"
    EVENT("user_annotation", "ProfilerStep#3", "1400", "200", "") ",\n"
    EVENT("kernel", "gemm", "1400", "50", GPU0) ",\n"
    EVENT("kernel", "gemm", "1440", "60", GPU0) ",\n"
    EVENT("kernel", "other GPU", "1500", "90", "\"device\": 1") ",\n"
    EVENT("gpu_memcpy", "Memcpy DtoD (Device -> Device)", "1550", "10", GPU0) ",\n"
    EVENT("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "1570", "10", GPU0) ",\n"
    EVENT("cpu_op", "aten::mm", "1560", "30", "") ",\n"
    EVENT("kernel", "ncclDevKernel_Generic", "1480", "60", GPU0 ", \"Collective name\": \"_allgather_base\"") ",\n"
    EVENT("kernel", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "1520", "35.000000", GPU0) ",\n"
    EVENT("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float", "1610", "5", GPU0) ",\n"
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 1500, \"args\": {\"Bytes\": -4, \"list\": [1, {\"a\": null}]}}\n"
    "], \"traceName\": \"x\"}\n";
/* clang-format on */

static void sums_a_step(void) {
  ImportKineto got;
  GError *error = NULL;
  CU_ASSERT_TRUE_FATAL(load(trace, &got, &error));
  CU_ASSERT_EQUAL(got.steps, 3);
  CU_ASSERT_EQUAL(got.taken, 3);
  CU_ASSERT_EQUAL(got.step, 200 * US);
  CU_ASSERT_EQUAL(got.compute, 110 * US);
  CU_ASSERT_EQUAL(got.communication, 75 * US);
  CU_ASSERT_EQUAL(got.exposed, 50 * US);
  CU_ASSERT_EQUAL(got.idle, 40 * US);
  CU_ASSERT_EQUAL(got.of[IMPORT_TRACED_ALL_GATHER].calls, 1);
  CU_ASSERT_EQUAL(got.of[IMPORT_TRACED_ALL_GATHER].busy, 60 * US);
  CU_ASSERT_EQUAL(got.of[IMPORT_TRACED_ALL_GATHER].exposed, 40 * US);
  CU_ASSERT_EQUAL(got.of[IMPORT_TRACED_REDUCE_SCATTER].busy, 35 * US);
  CU_ASSERT_EQUAL(got.of[IMPORT_TRACED_REDUCE_SCATTER].exposed, 10 * US);
  CU_ASSERT_EQUAL(got.of[IMPORT_TRACED_ALL_REDUCE].calls, 0);
}

/* HTA's figures over everything but what is launched in the last of two marked steps: kernels 0 to 10 and 5 to 30, an
 * all-reduce 20 to 50 of which 10 overlap, a copy 60 to 65, a symmetric-memory kernel (compute to HTA) 45 to 47 (of the
 * all-reduce's remaining 20, 2). 65 = 32 compute + 23 else + 10 idle (50 to 60). */
static void figures_of_hta(void) {
  /* clang-format off */
  static const char marked[] = "["
      EVENT("user_annotation", "ProfilerStep#1", "0", "60", "") ","
      EVENT("user_annotation", "ProfilerStep#2", "60", "60", "") ","
      EVENT("cuda_runtime", "cudaLaunchKernel", "1", "1", "\"correlation\": 1") ","
      EVENT("cuda_runtime", "cudaLaunchKernel", "2", "1", "\"correlation\": 2") ","
      EVENT("cuda_runtime", "cudaLaunchKernel", "3", "1", "\"correlation\": 3") ","
      EVENT("cuda_runtime", "cudaLaunchKernel", "5", "1", "\"correlation\": 5") ","
      EVENT("cuda_runtime", "cudaLaunchKernel", "70", "1", "\"correlation\": 6") ","
      EVENT("cuda_runtime", "cudaMemcpyAsync", "4", "1", "\"correlation\": 4") ","
      EVENT("kernel", "a", "0", "10", GPU0 ", \"correlation\": 1") ","
      EVENT("kernel", "b", "5", "25", GPU0 ", \"correlation\": 2") ","
      EVENT("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float", "20", "30", GPU0 ", \"correlation\": 3") ","
      EVENT("kernel", "multimem_all_reduce_kernel", "45", "2", GPU0 ", \"correlation\": 5") ","
      EVENT("kernel", "last", "80", "5", GPU0 ", \"correlation\": 6") ","
      EVENT("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "60", "5", GPU0 ", \"correlation\": 4") "]";
  /* clang-format on */
  ImportKineto got;
  CU_ASSERT_TRUE_FATAL(load(marked, &got, NULL));
  CU_ASSERT_EQUAL(got.figures.kernel_time, 65 * US);
  CU_ASSERT_EQUAL(got.figures.compute, 32 * US);
  CU_ASSERT_EQUAL(got.figures.non_compute, 23 * US);
  CU_ASSERT_EQUAL(got.figures.idle, 10 * US);
  CU_ASSERT_EQUAL(got.figures.communication, 30 * US);
  CU_ASSERT_EQUAL(got.figures.overlap, 12 * US);
}

/* No marks: from the first kernel to the last, 7.25 µs, at times since 1970 whose last digits a double would lose. The
 * GPU's own marks go before the host's: 2 µs from the first to the second, 5.25 to the last kernel's end; of two the
 * shorter. */
static void times_are_exact(void) {
  static const char kernels[] = EVENT("Kernel", "a", "1712345678901234.125001", "2.25",
                                      "") "," EVENT("Kernel", "b", "1712345678901240.125", "1.250001", "");
  g_autofree char *plain = g_strdup_printf("[%s]", kernels);
  ImportKineto got;
  CU_ASSERT_TRUE_FATAL(load(plain, &got, NULL));
  CU_ASSERT_EQUAL(got.steps, 0);
  CU_ASSERT_EQUAL(got.step, 7 * US + US / 4);
  CU_ASSERT_EQUAL(got.compute, 3 * US + US / 2 + 1);
  g_autofree char *marked =
      g_strdup_printf("[%s,%s,%s,%s]", kernels, EVENT("user_annotation", "ProfilerStep#1", "1712345678901230", "1", ""),
                      EVENT("gpu_user_annotation", "ProfilerStep#1", "1712345678901234.125001", "0.5", ""),
                      EVENT("gpu_user_annotation", "ProfilerStep#2", "1712345678901236.125001", "0.5", ""));
  CU_ASSERT_TRUE_FATAL(load(marked, &got, NULL));
  CU_ASSERT_EQUAL(got.steps, 2);
  CU_ASSERT_EQUAL(got.taken, 1);
  CU_ASSERT_EQUAL(got.step, 2 * US);
  CU_ASSERT_EQUAL(got.compute, 2 * US);
}

/* A text cut behind a backslash, or in the middle, in files of whole pages: nothing may be read behind the mapping.
 * "name" is read, of "else" only the end is looked for. */
static void ends_with_its_pages(void) {
  static const char *const cuts[][3] = {{"name", "\\", "is no escape of JSON"},
                                        {"name", "\\u00", "is no escape of JSON"},
                                        {"name", "a", "the quote that opens here is not closed"},
                                        {"else", "\\", "the quote that opens here is not closed"},
                                        {"else", "a", "the quote that opens here is not closed"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cuts); i++) {
    g_autoptr(GString) page = g_string_new(NULL);
    g_string_printf(page, "{\"traceEvents\": [{\"%s\": \"", cuts[i][0]);
    while (page->len + strlen(cuts[i][1]) < 16384)
      g_string_append_c(page, 'a');
    g_string_append(page, cuts[i][1]);
    ImportKineto got;
    GError *error = NULL;
    HARNESS_FAILS(load(page->str, &got, &error), error, cuts[i][2]);
  }
}

static void refuses(void) {
  static const char *const broken[][2] = {
      {"", ":1: expected \"{\""},
      {"{\"traceEvents\": 3}", ":1:17: expected \"[\""},
      {"{\"traceEvents\": [\n{\"ph\": \"X\"\n\"cat\": 1}]}",
       ":3:1: expected \",\" or \"}\", found \"cat\"; is a comma missing at the end of line 2?"},
      {"{\"traceEvents\": [{\"ph\": \"X", ":1:25: the quote that opens here is not closed"},
      {"{\"traceEvents\": [{\"ph\": \"X\"}", ":1:29: the file ends where \"]\" should close what begins at line 1"},
      {"{\"traceEvents\": [{\"ph\"}]}", ":1:23: expected \":\" after the key"},
      {"{\"traceEvents\": [{\"ph\": }]}", ":1:25: expected a value, found \"}\""},
      {"[{\"ph\": \"X\", \"ts\": -9223372036854775807, \"dur\": 1},\n{\"ph\": \"X\", \"ts\": 9223372036854775807, "
       "\"dur\": 1}]",
       ":2: times of events lie more than 26 days apart"},
      {"[] 1", "expected the end of the file"},
      {"{\"deviceProperties\": [{\"name\": 1 \"b\"}]}", "found \"b\""},
      {"{\"deviceProperties\": [{\"name\": 1} 2]}", "expected \",\" or \"]\", found \"2\""},
      {"{\"traceEvents\": []}", "has no kernels of a GPU"},
      {"\x1f\x8b\x08", "is packed by gzip and broken"},
  };
  ImportKineto got = {.steps = 7};
  for (gsize i = 0; i < G_N_ELEMENTS(broken); i++) {
    GError *error = NULL;
    HARNESS_FAILS(load(broken[i][0], &got, &error), error, broken[i][1]);
  }
  GString *deep = g_string_new("{\"a\": ");
  for (int i = 0; i < 100; i++)
    g_string_append_c(deep, '[');
  GError *error = NULL;
  HARNESS_FAILS(load(deep->str, &got, &error), error, "too deep");
  g_string_free(deep, TRUE);
  HARNESS_FAILS(import_kineto_load("/nowhere/trace.json", &got, &error), error, "/nowhere/trace.json");
  CU_ASSERT_EQUAL(got.steps, 7);
}

int main(void) {
  return harness_run("import-kineto", (HarnessCase[]){{"sums a step", sums_a_step},
                                                      {"times are exact", times_are_exact},
                                                      {"figures of HTA", figures_of_hta},
                                                      {"ends with its pages", ends_with_its_pages},
                                                      {"refuses", refuses},
                                                      {NULL, NULL}});
}
