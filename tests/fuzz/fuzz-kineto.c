/* SPDX-License-Identifier: MIT */
/* The reader of profilers' traces as a fuzz target. */
#include "fuzz.h"
#include "import-kineto.h"

void fuzz_kineto(const char *path) {
  GError *error = NULL;
  ImportKineto kineto = {0};
  gboolean good = import_kineto_load(path, &kineto, &error);
  fuzz_judge(good, error);
}
