/* SPDX-License-Identifier: MIT */
/* The heap on large pages: a run walks arrays of hundreds of megabytes in an order that no cache foresees, so that what
 * it waits for are page faults and misses of the processor's page table.
 *
 *   heap  ├── 512 MiB of addresses, advised: pages of 2 MiB where they are touched ──┤── as ever ──►
 *
 * Measured: docs/speed.md. Where the C library is not glibc, the kernel offers no such pages or a sanitizer has its own
 * heap, nothing happens. Results never depend on it. Blocks of 8 MiB and more lie apart, as ever.
 *
 * Source: mallopt(3), madvise(2) MADV_HUGEPAGE, Linux admin-guide/mm/transhuge. */
#pragma once

#include <glib.h>

/* At the beginning of a program, before it has a second thread. What is freed stays with the process from then on, but
 * for such blocks. No error: where the addresses may not be had, the heap is as ever. Cost: a few system calls. */
void base_pages_begin(void);
/* Whether pages that any thread touches from now on are to be large: not where each of thousands of arrays grows, half
 * empty. Cost: a system call. */
void base_pages_large(gboolean wanted);
/* Before a program's first threads; what is said first holds: so many will ask for memory at once. Few share the heap
 * that lies on large pages; many would wait for each other there, and have heaps of their own, on small pages. */
void base_pages_share(guint threads);
/* Zeros. A large block lies apart: it takes memory as it is touched, and gives it back at once, so that of two in turn
 * the second takes little while it has only begun. Give it back with the same size. Aborts where there are no addresses
 * left, as g_malloc does. Cost: a system call each. */
gpointer base_zeros_new(gsize bytes);
void base_zeros_free(gpointer zeros, gsize bytes);
