/* SPDX-License-Identifier: MIT */
/* Blocks of zeros, small ones and large ones; and that a large one takes memory as it is touched, and gives it back. */
#include <unistd.h>

#include "base-pages.h"
#include "base-sanitized.h"
#include "harness.h"

#define MIB ((gsize)1 << 20)

/* The process's resident pages (proc(5), statm); 0 where there is no such file. */
static gsize resident(void) {
  g_autofree char *text = NULL;
  if (!g_file_get_contents("/proc/self/statm", &text, NULL, NULL))
    return 0;
  const char *second = strchr(text, ' ');
  return second != NULL ? g_ascii_strtoull(second, NULL, 10) * (gsize)sysconf(_SC_PAGESIZE) : 0;
}

static void zeros_are_zeros(void) {
  const gsize sizes[] = {0, 1, 4096, MIB - 1, MIB, MIB + 1, 5 * MIB + 17};
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    for (int again = 0; again < 2; again++) {
      guint8 *zeros = base_zeros_new(sizes[i]);
      guint8 seen = 0;
      for (gsize k = 0; k < sizes[i]; k++)
        seen |= zeros[k];
      CU_ASSERT_EQUAL(seen, 0);
      if (sizes[i] > 0)
        memset(zeros, 0xff, sizes[i]);
      base_zeros_free(zeros, sizes[i]);
    }
  }
  base_zeros_free(NULL, 0);
  base_zeros_free(NULL, 8 * MIB);
}

/* Of 256 MiB the half that is written to. Where a sanitizer has the heap its shadow counts too, so it is not asked. */
static void large_blocks_grow_as_they_are_touched(void) {
  gsize before = resident();
  guint8 *zeros = base_zeros_new(256 * MIB);
  gsize begun = resident();
  memset(zeros, 1, 128 * MIB);
  gsize half = resident();
  base_zeros_free(zeros, 256 * MIB);
  gsize after = resident();
#if defined(__GLIBC__) && !BASE_SANITIZED
  CU_ASSERT_TRUE(before == 0 || begun < before + 8 * MIB);
  CU_ASSERT_TRUE(before == 0 || (half > before + 120 * MIB && half < before + 136 * MIB));
  CU_ASSERT_TRUE(before == 0 || after < before + 8 * MIB);
#else
  (void)before, (void)begun, (void)half, (void)after;
#endif
}

int main(void) {
  return harness_run("base-pages", (HarnessCase[]){{"zeros are zeros", zeros_are_zeros},
                                                   {"large blocks grow", large_blocks_grow_as_they_are_touched},
                                                   {NULL, NULL}});
}
