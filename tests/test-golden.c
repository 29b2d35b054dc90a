/* SPDX-License-Identifier: MIT */
/* The comparison with goldens itself: what differs or is missing does not hold, unless it is accepted. */
#include <glib/gstdio.h>

#include "golden.h"
#include "harness.h"

static void holds_only_what_was_accepted(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.txt", NULL);
  CU_ASSERT_FALSE(golden_holds_in(folder, "a", "one\n", FALSE));
  CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
  CU_ASSERT_TRUE(golden_holds_in(folder, "a", "one\n", TRUE));
  CU_ASSERT_TRUE(golden_holds_in(folder, "a", "one\n", FALSE));
  CU_ASSERT_FALSE(golden_holds_in(folder, "a", "one\ntwo\n", FALSE));
  CU_ASSERT_FALSE(golden_holds_in(folder, "a", "one", FALSE));
  CU_ASSERT_TRUE(golden_holds_in(folder, "a", "one\n", FALSE));
  g_remove(path);
  g_rmdir(folder);
}

int main(void) {
  return harness_run("goldens",
                     (HarnessCase[]){{"only what was accepted holds", holds_only_what_was_accepted}, {NULL, NULL}});
}
