/* SPDX-License-Identifier: MIT */
/* Asks glibc's heap for room that it keeps, and the kernel for large pages under it. */
#include "base-pages.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#define BASE_SANITIZED                                                                                                 \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BASE_SANITIZED 1
#else
#define BASE_SANITIZED 0
#endif

#if defined(__GLIBC__) && !BASE_SANITIZED

#include <malloc.h>
#include <sys/mman.h>

#define LARGE_PAGE   ((uintptr_t)2 << 20)
#define ROOM         ((size_t)1 << 29)
#define LARGEST_HELD (8 << 20)
#define MOST_SHARING 4 /* threads: a point of a sweep asks 2 400 times in 2 ms, each less than 0.1 us */

static void *large; /* where the room begins; NULL: there is none */

/* A block that only grows the heap: touched by nobody, and free again at once. Where glibc is to fill what is taken and
 * freed, as under meson's tests, it would be. */
void base_pages_begin(void) {
  if (getenv("MALLOC_PERTURB_") != NULL)
    return;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  char *room = malloc(ROOM + LARGE_PAGE);
  if (room != NULL)
    large = room + (LARGE_PAGE - (uintptr_t)room % LARGE_PAGE) % LARGE_PAGE;
  base_pages_large(TRUE);
  free(room);
  mallopt(M_MMAP_MAX, 65536); /* as it was */
  mallopt(M_MMAP_THRESHOLD, LARGEST_HELD);
}

void base_pages_large(gboolean wanted) {
  if (large != NULL)
    (void)madvise(large, ROOM, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void base_pages_share(guint threads) {
  if (threads <= MOST_SHARING)
    mallopt(M_ARENA_MAX, 1);
}

#else

void base_pages_begin(void) {
}

void base_pages_large(G_GNUC_UNUSED gboolean wanted) {
}

void base_pages_share(G_GNUC_UNUSED guint threads) {
}

#endif
