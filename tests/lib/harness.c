/* SPDX-License-Identifier: MIT */
/* One CUnit suite per program: its cases, its seed, its exit status. */
#include "harness.h"

guint32 harness_seed(void) {
  const char *text = g_getenv("FORETRAIN_SEED");
  return text != NULL ? (guint32)g_ascii_strtoull(text, NULL, 10) : 20260101;
}

GRand *harness_random(void) {
  return g_rand_new_with_seed(harness_seed());
}

char *harness_path(const char *relative) {
  const char *root = g_getenv("FORETRAIN_TEST_SOURCE");
  return g_build_filename(root != NULL ? root : ".", relative, NULL);
}

int harness_run(const char *suite_name, const HarnessCase *cases) {
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
  for (; cases->name != NULL; cases++)
    CU_add_test(suite, cases->name, cases->run);
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  if (failures > 0)
    fprintf(stderr, "FORETRAIN_SEED=%u repeats this run\n", harness_seed());
  return failures > 0;
}
