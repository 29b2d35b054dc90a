/* SPDX-License-Identifier: MIT */
/* The readers of traces as fuzz targets: a profiler's (JSON, tar archives, Nsight Systems' SQLite) as sums of a step,
 * and the step as a Program; Chakra's as a Program of two ranks. */
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

void fuzz_chakra(const char *path) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  const ImportChakraOptions how = {.ranks = 2};
  g_autoptr(Program) program = import_chakra_program(&path, 1, &how, &origin, &error);
  fuzz_judge(program != NULL, error);
  if (program != NULL)
    program_origin_clear(&origin);
}
