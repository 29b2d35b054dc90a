/* What every test program shares: a main that runs one suite and fails the process when a case fails, a settable seed.
 *
 *   static void adds(void) { CU_ASSERT_EQUAL(1 + 1, 2); }
 *   int main(void) { return harness_run("arithmetic", (HarnessCase[]){{"adds", adds}, {NULL, NULL}}); }
 *
 * Property tests draw from harness_random(): FORETRAIN_SEED sets the seed, which is printed when a case fails. */
#pragma once

#include <CUnit/Basic.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

/* CUnit's fatal assertions do not come back when they fail; these say so to the analyzer. */
#undef CU_ASSERT_TRUE_FATAL
#undef CU_ASSERT_PTR_NOT_NULL_FATAL
#define HARNESS_FATAL(holds, text)                                                                                     \
  do {                                                                                                                 \
    gboolean harness_holds = (holds);                                                                                  \
    CU_assertImplementation(harness_holds, __LINE__, text, __FILE__, "", CU_TRUE);                                     \
    if (!harness_holds)                                                                                                \
      abort();                                                                                                         \
  } while (0)
#define CU_ASSERT_TRUE_FATAL(value)         HARNESS_FATAL((value) != 0, "CU_ASSERT_TRUE_FATAL(" #value ")")
#define CU_ASSERT_PTR_NOT_NULL_FATAL(value) HARNESS_FATAL((value) != NULL, "CU_ASSERT_PTR_NOT_NULL_FATAL(" #value ")")

typedef struct {
  const char *name;
  void (*run)(void);
} HarnessCase;

static inline guint32 harness_seed(void) {
  const char *text = g_getenv("FORETRAIN_SEED");
  return text != NULL ? (guint32)g_ascii_strtoull(text, NULL, 10) : 20260101;
}

static inline GRand *harness_random(void) {
  return g_rand_new_with_seed(harness_seed());
}

/* "tests/data/x" of the source tree; caller frees. */
static inline char *harness_path(const char *relative) {
  const char *root = g_getenv("FORETRAIN_TEST_SOURCE");
  return g_build_filename(root != NULL ? root : ".", relative, NULL);
}

static inline int harness_run(const char *suite_name, const HarnessCase *cases) {
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

/* The call fails with an input error whose message holds `fragment`. */
#define HARNESS_FAILS(call, error, fragment)                                                                           \
  do {                                                                                                                 \
    CU_ASSERT_FALSE(call);                                                                                             \
    CU_ASSERT_PTR_NOT_NULL(error);                                                                                     \
    if ((error) != NULL && strstr((error)->message, (fragment)) == NULL)                                               \
      printf("\n    message lacks \"%s\": %s\n", (fragment), (error)->message);                                        \
    CU_ASSERT_TRUE((error) != NULL && strstr((error)->message, (fragment)) != NULL);                                   \
    g_clear_error(&(error));                                                                                           \
  } while (0)
