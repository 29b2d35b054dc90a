/* SPDX-License-Identifier: MIT */
/* The readers of traces as fuzz targets: a profiler's (JSON, tar archives, Nsight Systems' SQLite) as sums of a step,
 * and the step as a Program; PyTorch's execution traces beside one; Chakra's as a Program of two ranks. */
#include <glib/gstdio.h>

#include "base-error.h"
#include "fuzz.h"
#include "import-chakra.h"
#include "import-kineto-program.h"

void fuzz_kineto(const char *path) {
  GError *error = NULL;
  ImportKineto kineto = {0};
  gboolean good = import_kineto_load(path, &kineto, &error);
  fuzz_judge(good, error);
}

void fuzz_kineto_program(const char *path) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  g_autoptr(ImportKinetoSet) set = import_kineto_open(&path, 1, &error);
  fuzz_judge(set != NULL, error);
  error = NULL;
  const ImportKinetoOptions how = {.keep_unsized = TRUE};
  g_autoptr(Program) program = set != NULL ? import_kineto_program(set, &how, &origin, &error) : NULL;
  if (set != NULL)
    fuzz_judge(program != NULL, error);
  if (program != NULL)
    program_origin_clear(&origin);
}

/* Beside a profiler's trace of one matmul, to which it may or may not belong. */
void fuzz_execution(const char *path) {
  static const char profiler[] =
      "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"tid\": 1, \"ts\": 0, \"dur\": 20, \"args\": "
      "{\"Record function id\": 17}}, {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 1, \"dur\": 2}]";
  GError *error = NULL;
  g_autofree char *trace = g_strconcat(path, ".json", NULL);
  sim_require(g_file_set_contents(trace, profiler, -1, NULL), 0, NULL, "%s cannot be written", trace);
  const char *const traces[] = {trace};
  g_autoptr(ImportKinetoSet) set = import_kineto_open_linked(traces, &path, 1, &error);
  fuzz_judge(set != NULL, error);
  g_unlink(trace);
}

void fuzz_chakra(const char *path) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  const ImportChakraOptions how = {.ranks = 2};
  g_autoptr(Program) program = import_chakra_program(&path, 1, &how, &origin, &error);
  fuzz_judge(program != NULL, error);
  if (program != NULL)
    program_origin_clear(&origin);
}
