/* SPDX-License-Identifier: MIT */
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
#include <string.h>

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

/* FORETRAIN_SEED, or the usual one. */
guint32 harness_seed(void);

/* Caller frees. */
GRand *harness_random(void);

/* "tests/data/x" of the source tree; caller frees. */
char *harness_path(const char *relative);

/* Runs the cases up to {NULL, NULL}; the exit status of the program. */
int harness_run(const char *suite_name, const HarnessCase *cases);

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
