/* SPDX-License-Identifier: MIT */
/* What a trace's matmuls say of the GPU: the rate comes back that their times were made with, or is refused. */
#include <glib/gstdio.h>

#include "cluster.h"
#include "harness.h"
#include "import-kineto-kernels.h"
#include "kernel-op.h"
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

/* Calls one after another, each with a kernel of its own; shapes over several lines, as some profilers write them. */
static ImportKinetoSet *matmuls_of(double us, const char *type) {
  g_autoptr(GString) text = g_string_new("[");
  for (guint i = 0; i < CALLS; i++) {
    double at = i * (us + 100);
    g_string_append_printf(text,
                           "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"tid\": 1, \"ts\": %f, "
                           "\"dur\": 20, \"args\": {\"Input type\": [\"%s\", \"%s\"], \"Input Dims\": [\n [\n  %d,\n  "
                           "%d\n ],\n [\n  %d,\n  %d\n ]\n]}},\n",
                           i > 0 ? ",\n" : "", at, type, type, SIDE, SIDE, SIDE, SIDE);
    g_string_append_printf(
        text,
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": 1, "
        "\"ts\": %f, \"dur\": 2, \"args\": {\"correlation\": %u}},\n{\"ph\": \"X\", \"cat\": "
        "\"kernel\", \"name\": \"gemm\", \"tid\": 7, \"ts\": %f, \"dur\": %f, \"args\": {\"stream\": "
        "7, \"device\": 0, \"correlation\": %u}}",
        at + 5, i + 1, at + 10, us, i + 1);
  }
  g_string_append(text, "]");
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "foretrain-test.matmuls.json", NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text->str, -1, NULL));
  const char *const paths[] = {path};
  GError *error = NULL;
  ImportKinetoSet *set = import_kineto_open(paths, 1, &error);
  g_unlink(path);
  CU_ASSERT_PTR_NOT_NULL_FATAL(set);
  return set;
}

static ImportKinetoKernels taught(const char *topology, double us, const char *type) {
  ImportKinetoKernels found = {0};
  GError *error = NULL;
  g_autoptr(ImportKinetoSet) set = matmuls_of(us, type);
  CU_ASSERT_TRUE(import_kineto_kernels(set, topology, &found, &error));
  return found;
}

/* Times made at 0.8 of the catalogue's rate teach 0.8; before, each was foretold too short. */
static void a_rate_comes_back(void) {
  double us = foretold_us("dgx-h100", "what_if.matmul_rate=0.8");
  ImportKinetoKernels found = taught("dgx-h100", us, "c10::BFloat16");
  CU_ASSERT_EQUAL(found.calls, CALLS);
  CU_ASSERT_TRUE(found.fitted && !found.at_limit);
  CU_ASSERT_DOUBLE_EQUAL(found.rate, 0.8, 0.002);
  CU_ASSERT_DOUBLE_EQUAL(found.before, 1 - foretold_us("dgx-h100", NULL) / us, 1e-3);
  CU_ASSERT_TRUE(found.after < 0.003);
}

/* Ten times faster than the catalogue's is beyond the datasheet's peak, ten times slower below a quarter. */
static void limits_are_refused(void) {
  double us = foretold_us("dgx-h100", NULL);
  ImportKinetoKernels fast = taught("dgx-h100", us / 10, "c10::BFloat16");
  ImportKinetoKernels slow = taught("dgx-h100", us * 10, "c10::BFloat16");
  CU_ASSERT_TRUE(fast.at_limit && !fast.fitted);
  CU_ASSERT_TRUE(fast.rate > 1 && fast.rate < 2);
  CU_ASSERT_TRUE(slow.at_limit && !slow.fitted);
}

/* Operands of 32 bits may have run in TF32 on an H100; a V100 has none, so they count. */
static void fp32_or_tf32(void) {
  ImportKinetoKernels unsure = taught("dgx-h100", 5000, "float");
  ImportKinetoKernels sure = taught("dgx1-v100", 12000, "float");
  CU_ASSERT_EQUAL(unsure.wide, CALLS);
  CU_ASSERT_EQUAL(unsure.calls, 0);
  CU_ASSERT_EQUAL(sure.wide, 0);
  CU_ASSERT_EQUAL(sure.calls, CALLS);
  CU_ASSERT_EQUAL(taught("dgx-h100", 5000, "long").calls, 0);
}

int main(void) {
  return harness_run("import-kineto-kernels", (HarnessCase[]){{"a rate comes back", a_rate_comes_back},
                                                              {"limits are refused", limits_are_refused},
                                                              {"fp32 or TF32", fp32_or_tf32},
                                                              {NULL, NULL}});
}
