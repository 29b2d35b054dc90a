/* SPDX-License-Identifier: MIT */
/* What a trace says of the GPU and of its host: the rates come back that its times were made with, or are refused. */
#include <glib/gstdio.h>

#include "cluster.h"
#include "harness.h"
#include "import-kineto-rates.h"
#include "kernel-host.h"
#include "kernel-time.h"

#define SIDE  4096
#define CALLS 3

/* What the kernel model says of a square matmul of bf16 at a rate of the catalogue's. */
static double foretold_us(const char *topology, const char *rate) {
  const KernelOp op = {.kind = KERNEL_MATMUL,
                       .dtype = KERNEL_BF16,
                       .batch = 1,
                       .m = SIDE,
                       .n = SIDE,
                       .k = SIDE,
                       .flops = 2.0 * SIDE * SIDE * SIDE,
                       .bytes = 3ULL * SIDE * SIDE * 2};
  TestCluster built = cluster_new(topology, 1, rate, NULL);
  double time = (double)kernel_time(built.cluster->gpu, &op) / SIM_MICROSECOND;
  cluster_clear(&built);
  return time;
}

/* What one operation of a made trace is, with one kernel; shapes over several lines, as some profilers write them. */
typedef struct {
  const char *name, *dims, *type, *kernel;
  double us;
  const char *strides; /* NULL: not noted */
} Made;

static void add_call(GString *text, const Made *made, guint i, double at) {
  g_autofree char *strides = made->strides != NULL ? g_strdup_printf("\"Input Strides\": %s, ", made->strides) : NULL;
  g_string_append_printf(text,
                         "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"tid\": 1, \"ts\": %f, "
                         "\"dur\": 5, \"args\": {\"Input type\": [\"%s\", \"%s\"], \"Sequence number\": %u, %s"
                         "\"Input Dims\": %s}},\n",
                         i > 0 ? ",\n" : "", made->name, at, made->type, made->type, i, strides != NULL ? strides : "",
                         made->dims);
  g_string_append_printf(text,
                         "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": 1, "
                         "\"ts\": %f, \"dur\": 2, \"args\": {\"correlation\": %u}},\n{\"ph\": \"X\", \"cat\": "
                         "\"kernel\", \"name\": \"%s\", \"tid\": 7, \"ts\": %f, \"dur\": %f, \"args\": {\"stream\": "
                         "7, \"device\": 0, \"correlation\": %u}}",
                         at + 2, i + 1, made->kernel, at + 10, made->us, i + 1);
}

/* Calls one after another, `gap` microseconds apart; `last` is appended as another event. */
static ImportKinetoRates taught(const char *topology, const Made *made, guint calls, double gap, const char *last) {
  g_autoptr(GString) text = g_string_new("[");
  for (guint i = 0; i < calls; i++)
    add_call(text, made, i, i * gap);
  g_string_append_printf(text, "%s]", last);
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "foretrain-test.rates.json", NULL);
  if (!g_file_set_contents(path, text->str, -1, NULL))
    g_error("%s cannot be written", path);
  const char *const paths[] = {path};
  ImportKinetoRates found = {0};
  GError *error = NULL;
  g_autoptr(ImportKinetoSet) set = import_kineto_open(paths, 1, &error);
  g_unlink(path);
  if (set == NULL)
    g_error("%s", error->message);
  CU_ASSERT_TRUE(import_kineto_rates(set, topology, &found, &error));
  return found;
}

#define APART                    100000.0
#define SQUARES                  "[\n [\n  4096,\n  4096\n ],\n [\n  4096,\n  4096\n ]\n]"
#define SQUARE(TYPE, KERNEL, US) (&(Made){"aten::mm", SQUARES, TYPE, KERNEL, US})

static ImportKinetoRate matmuls(const char *topology, const char *type, const char *kernel, double us,
                                guint *ret_wide) {
  ImportKinetoRates found = taught(topology, SQUARE(type, kernel, us), CALLS, APART, "");
  *ret_wide = found.wide;
  return found.of[IMPORT_KINETO_MATMULS];
}

/* Times made at 0.8 of the catalogue's rate teach 0.8; before, each was foretold too short. */
static void a_rate_comes_back(void) {
  guint wide;
  double us = foretold_us("dgx-h100", "what_if.matmul_rate=0.8");
  ImportKinetoRate found = matmuls("dgx-h100", "c10::BFloat16", "gemm", us, &wide);
  CU_ASSERT_EQUAL(found.calls, CALLS);
  CU_ASSERT_TRUE(found.fitted && !found.at_limit);
  CU_ASSERT_DOUBLE_EQUAL(found.rate, 0.8, 0.002);
  CU_ASSERT_DOUBLE_EQUAL(found.before, 1 - foretold_us("dgx-h100", NULL) / us, 1e-3);
  CU_ASSERT_TRUE(found.after < 0.003);
}

/* Ten times faster than the catalogue's is beyond the datasheet's peak, ten times slower below a quarter. */
static void limits_are_refused(void) {
  guint wide;
  double us = foretold_us("dgx-h100", NULL);
  ImportKinetoRate fast = matmuls("dgx-h100", "c10::BFloat16", "gemm", us / 10, &wide);
  ImportKinetoRate slow = matmuls("dgx-h100", "c10::BFloat16", "gemm", us * 10, &wide);
  CU_ASSERT_TRUE(fast.at_limit && !fast.fitted);
  CU_ASSERT_TRUE(fast.rate > 1 && fast.rate < 2);
  CU_ASSERT_TRUE(slow.at_limit && !slow.fitted);
}

/* Operands of 32 bits may have run in TF32 on an H100, unless the kernel's name says; a V100 has none, so they count.
 * 137.4 GFLOP take 2.1 ms at the 67 TFLOP/s of fp32, 0.28 ms at the 495 of TF32 (H100's data sheet, dense): 3 ms are
 * within reach of the first alone, 0.4 of the second alone. */
static void fp32_or_tf32(void) {
  guint wide;
  CU_ASSERT_EQUAL(matmuls("dgx-h100", "float", "gemm", 3000, &wide).calls, 0);
  CU_ASSERT_EQUAL(wide, CALLS);
  CU_ASSERT_EQUAL(matmuls("dgx1-v100", "float", "gemm", 12000, &wide).calls, CALLS);
  CU_ASSERT_EQUAL(wide, 0);
  ImportKinetoRate narrow = matmuls("dgx-h100", "float", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn", 400, &wide);
  ImportKinetoRate full = matmuls("dgx-h100", "float", "ampere_sgemm_128x64_nn", 3000, &wide);
  CU_ASSERT_EQUAL(wide, 0);
  CU_ASSERT_TRUE(narrow.calls == CALLS && !narrow.at_limit);
  CU_ASSERT_TRUE(full.calls == CALLS && !full.at_limit);
  CU_ASSERT_TRUE(matmuls("dgx-h100", "float", "ampere_sgemm_128x64_nn", 400, &wide).at_limit);
  CU_ASSERT_EQUAL(matmuls("dgx-h100", "long", "gemm", 3000, &wide).calls, 0);
}

/* bf16 of 8192 x 16384 added to as much: two read, one written. In place of it a row that fits into L2 says nothing. */
static void streams(void) {
  const KernelOp op = {.kind = KERNEL_MEMORY, .batch = 1, .bytes = 3ULL * 8192 * 16384 * 2};
  TestCluster built = cluster_new("dgx-h100", 1, "node.memory_rate=0.9", NULL);
  double us = (double)kernel_time(built.cluster->gpu, &op) / SIM_MICROSECOND;
  cluster_clear(&built);
  Made add = {"aten::add", "[[8192, 16384], [8192, 16384]]", "c10::BFloat16", "add", us, "[[16384, 1], [16384, 1]]"};
  ImportKinetoRate found = taught("dgx-h100", &add, CALLS, APART, "").of[IMPORT_KINETO_STREAMS];
  CU_ASSERT_EQUAL(found.calls, CALLS);
  CU_ASSERT_TRUE(found.fitted);
  CU_ASSERT_DOUBLE_EQUAL(found.rate, 0.9, 0.002);
  add.strides = "[[16384, 1], [1, 8192]]"; /* one lies across the other */
  CU_ASSERT_EQUAL(taught("dgx-h100", &add, CALLS, APART, "").of[IMPORT_KINETO_STREAMS].calls, 0);
  add.strides = NULL;
  add.dims = "[[8192, 16384], [8192, 1]]"; /* one is stretched over the other */
  CU_ASSERT_EQUAL(taught("dgx-h100", &add, CALLS, APART, "").of[IMPORT_KINETO_STREAMS].calls, 0);
  add.dims = "[[8192, 1024], [8192, 1024]]";
  CU_ASSERT_EQUAL(taught("dgx-h100", &add, CALLS, APART, "").of[IMPORT_KINETO_STREAMS].calls, 0);
  add.dims = "[[8192, 16384], []]"; /* added to a number: one read, one written, two thirds of the bytes */
  CU_ASSERT_TRUE(taught("dgx-h100", &add, CALLS, APART, "").of[IMPORT_KINETO_STREAMS].rate < 0.61);
}

/* Launches half as fast as the catalogue's host: forty make two stretches of sixteen. Python's calls in the file, and
 * nothing of the host is learnt. */
static void the_host(void) {
  const KernelOp op = {.kind = KERNEL_MEMORY};
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  double gap = 2 * (double)kernel_host_time(built.cluster->host, &op) / SIM_MICROSECOND;
  cluster_clear(&built);
  Made view = {"aten::tanh", "[[4], []]", "float", "tanh", 2};
  ImportKinetoRate found = taught("dgx-h100", &view, 40, gap, "").of[IMPORT_KINETO_ISSUES];
  CU_ASSERT_EQUAL(found.calls, 2);
  CU_ASSERT_TRUE(found.fitted);
  CU_ASSERT_DOUBLE_EQUAL(found.rate, 0.5, 0.002);
  ImportKinetoRates stacked = taught("dgx-h100", &view, 40, gap,
                                     ", {\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"f\", \"tid\": 1, "
                                     "\"ts\": 0, \"dur\": 9}");
  CU_ASSERT_TRUE(stacked.stacked);
  CU_ASSERT_EQUAL(stacked.of[IMPORT_KINETO_ISSUES].calls, 0);
}

int main(void) {
  return harness_run("import-kineto-rates", (HarnessCase[]){{"a rate comes back", a_rate_comes_back},
                                                            {"limits are refused", limits_are_refused},
                                                            {"fp32 or TF32", fp32_or_tf32},
                                                            {"streams", streams},
                                                            {"the host", the_host},
                                                            {NULL, NULL}});
}
