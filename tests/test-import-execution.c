/* SPDX-License-Identifier: MIT */
/* PyTorch's execution traces beside a profiler's: shapes that the profiler did not note come from there, by number and
 * name; what does not belong together is refused. */
#include <glib/gstdio.h>

#include "harness.h"
#include "import-kineto-rates.h"

/* A matmul (17) of 4096 cubed in 250 us, and the host's note of an all-reduce (18) around its launch; no shapes. */
static const char profiler[] =
    "{\"traceEvents\": ["
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"tid\": 1, \"ts\": 0, \"dur\": 20, \"args\": "
    "{\"Record function id\": 17}},"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": 1, \"ts\": 5, \"dur\": 2, "
    "\"args\": {\"correlation\": 1}},"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"tid\": 7, \"ts\": 10, \"dur\": 250, \"args\": "
    "{\"stream\": 7, \"device\": 0, \"correlation\": 1}},"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"nccl:all_reduce\", \"tid\": 1, \"ts\": 30, \"dur\": 20, "
    "\"args\": {\"Record function id\": 18}},"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": 1, \"ts\": 35, \"dur\": 2, "
    "\"args\": {\"correlation\": 2}},"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_bf16_RING_LL\", \"tid\": 20, \"ts\": "
    "260, \"dur\": 90, \"args\": {\"stream\": 20, \"device\": 0, \"correlation\": 2}}], "
    "\"distributedInfo\": {\"rank\": 0, \"world_size\": 8}}";

/* The same two in both of the forms that such traces have had. */
static const char of_1_0_1[] =
    "{\"schema\": \"1.0.1\", \"nodes\": [{\"name\": \"[pytorch|profiler|execution_graph|process]\", \"id\": 1},"
    "{\"name\": \"aten::mm\", \"id\": 2, \"rf_id\": 17, \"inputs\": [[1, 2]], \"input_shapes\": [[4096, 4096], [4096, "
    "4096]], \"input_types\": [\"Tensor(c10::BFloat16)\", \"Tensor(c10::BFloat16)\"]},"
    "{\"name\": \"nccl:all_reduce\", \"id\": 3, \"rf_id\": 18, \"input_shapes\": [[1024, 1024]], \"input_types\": "
    "[\"Tensor(c10::BFloat16)\"]}]}";
static const char of_1_0_2[] =
    "{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": ["
    "{\"id\": 2, \"name\": \"aten::mm\", \"inputs\": {\"values\": [[1, 2]], \"shapes\": [[4096, 4096], [4096, 4096]], "
    "\"types\": [\"Tensor(c10::BFloat16)\", \"Tensor(c10::BFloat16)\"]}, \"attrs\": [{\"name\": \"rf_id\", \"type\": "
    "\"uint64\", \"value\": 17}, {\"name\": \"tid\", \"type\": \"uint64\", \"value\": 1}]},"
    "{\"id\": 3, \"name\": \"nccl:all_reduce\", \"inputs\": {\"values\": [], \"shapes\": [[1024, 1024]], \"types\": "
    "[\"Tensor(c10::BFloat16)\"]}, \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 18}]}]}";

static char *write_file(const char *name, const char *text) {
  char *path = g_build_filename(g_get_tmp_dir(), name, NULL);
  if (!g_file_set_contents(path, text, -1, NULL))
    g_error("%s cannot be written", path);
  return path;
}

static ImportKinetoSet *open_beside(const char *execution, GError **error) {
  g_autofree char *trace = write_file("foretrain-test.profiler.json", profiler);
  g_autofree char *beside = write_file("foretrain-test.execution.json", execution);
  ImportKinetoSet *set =
      import_kineto_open_linked((const char *const[]){trace}, (const char *const[]){beside}, 1, error);
  g_unlink(trace);
  g_unlink(beside);
  return set;
}

static guint64 sent_by(const ImportKinetoSet *set) {
  ProgramOrigin origin = {0};
  guint64 bytes = 0;
  g_autoptr(Program) program = import_kineto_program(set, &IMPORT_KINETO_DEFAULT, &origin, NULL);
  if (program == NULL)
    return 0;
  program_origin_clear(&origin);
  const ProgramSection *steady = &program->roles[0].sections[PROGRAM_STEADY];
  for (guint32 i = 0; i < steady->n_rows; i++)
    if (steady->rows[i].kind == PROGRAM_COLLECTIVE)
      bytes += steady->rows[i].call.bytes;
  return bytes;
}

/* Without one nothing says what the all-reduce sends, and no matmul has a shape; with it, 1024 squared of two bytes. */
static void shapes_come_from_it(void) {
  static const char *const forms[] = {of_1_0_1, of_1_0_2};
  g_autofree char *trace = write_file("foretrain-test.profiler.json", profiler);
  g_autoptr(ImportKinetoSet) alone = import_kineto_open((const char *const[]){trace}, 1, NULL);
  g_unlink(trace);
  CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
  CU_ASSERT_EQUAL(sent_by(alone), 0);
  for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
    GError *error = NULL;
    ImportKinetoRates rates = {0};
    g_autoptr(ImportKinetoSet) set = open_beside(forms[i], &error);
    if (set == NULL)
      g_error("%s", error->message);
    CU_ASSERT_EQUAL(sent_by(set), 2 << 20);
    CU_ASSERT_TRUE(import_kineto_rates(set, "dgx-h100", &rates, NULL));
    CU_ASSERT_EQUAL(rates.of[IMPORT_KINETO_MATMULS].calls, 1);
  }
}

static void what_does_not_belong_together_is_refused(void) {
  static const struct {
    const char *execution, *why;
  } cases[] = {
      {"{\"nodes\": [{\"name\": \"aten::add\", \"rf_id\": 17}]}", "is not of the run of"},
      {"{\"nodes\": [{\"name\": \"aten::mm\", \"rf_id\": 16}]}", "is not of the run of"},
      {"{\"nodes\": [7, [], {\"attrs\": [1], \"inputs\": 2}]}", "is not of the run of"},
      {"{\"nodes\": [{\"name\": \"aten::mm\", \"rf_id\": 17}, {\"name\": \"aten::mm\", \"rf_id\": 18}]}",
       "1 have the same name here, 1 another"},
      {"{\"traceEvents\": []}", "has no \"nodes\""},
      {"{\"nodes\": [{\"name\": ", "found the end of the file"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    HARNESS_FAILS(open_beside(cases[i].execution, &error) != NULL, error, cases[i].why);
  }
}

int main(void) {
  return harness_run("import-execution",
                     (HarnessCase[]){{"shapes come from it", shapes_come_from_it},
                                     {"what does not belong together", what_does_not_belong_together_is_refused},
                                     {NULL, NULL}});
}
