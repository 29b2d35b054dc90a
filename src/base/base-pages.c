/* SPDX-License-Identifier: MIT */
/* Asks glibc's heap for room that it keeps, and the kernel for large pages under it; blocks of zeros beside it. */
#include "base-pages.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "base-sanitized.h"

#if defined(__GLIBC__) && !BASE_SANITIZED

#include <malloc.h>
#include <sys/mman.h>

#define LARGE_PAGE   ((uintptr_t)2 << 20)
#define ROOM         ((size_t)1 << 29)
#define LARGEST_HELD (8 << 20)
#define LEAST_APART  ((gsize)1 << 20) /* of zeros */
#define MOST_SHARING 4                /* threads: a point of a sweep asks 2 400 times in 2 ms, each less than 0.1 us */

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

gpointer base_zeros_new(gsize bytes) {
  if (bytes < LEAST_APART)
    return g_malloc0(bytes);
  void *zeros = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (zeros == MAP_FAILED)
    g_error("no room for %" G_GSIZE_FORMAT " bytes", bytes);
  return zeros;
}

void base_zeros_free(gpointer zeros, gsize bytes) {
  if (bytes < LEAST_APART)
    g_free(zeros);
  else if (zeros != NULL)
    (void)munmap(zeros, bytes);
}

#else

void base_pages_begin(void) {
}

void base_pages_large(G_GNUC_UNUSED gboolean wanted) {
}

void base_pages_share(G_GNUC_UNUSED guint threads) {
}

gpointer base_zeros_new(gsize bytes) {
  return g_malloc0(bytes);
}

void base_zeros_free(gpointer zeros, G_GNUC_UNUSED gsize bytes) {
  g_free(zeros);
}

#endif
