/* SPDX-License-Identifier: MIT */
/* PyTorch's caching allocator on one device, in sizes alone: what it hands out, what it keeps, what the device must
 * hold.
 *
 *   MemPolicy policy = {0};                                  // PyTorch's defaults
 *   MemAllocator *allocator = mem_allocator_new(&policy, n_streams, 79 * GIB);
 *   if (!mem_allocator_take(allocator, stream, bytes, &block) &&
 *       !mem_allocator_flush_and_take(allocator, stream, bytes, &block))
 *     block = mem_allocator_take_beyond(allocator, stream, bytes);        // out of memory; play goes on
 *   mem_allocator_give(allocator, block);                                 // at once, or
 *   mem_allocator_hold(allocator, block); … mem_allocator_pass(allocator, block);     // record_stream
 *
 * As CUDACachingAllocator.cpp (PyTorch 2) works: a request is rounded to 512 bytes; up to 1 MiB it is served from the
 * stream's small pool (segments of 2 MiB), above from its large pool (segments of 20 MiB, or from 10 MiB on of the
 * request rounded to 2 MiB). The smallest free block of the pool that is large enough is taken, of equals the one of
 * the lowest address; what it is too large by is split off if worth it. A block never changes its stream. Free
 * neighbours of one segment merge. Only a segment that is free as a whole can be given back to the device.
 *
 *   allocated: blocks that tensors hold          active: those, and blocks that wait for a stream (record_stream)
 *   reserved:  all segments                      the device holds reserved, and what is outside the allocator
 *
 * Cost: a take or give follows a link or two of the free blocks of about the size asked for; of n of these, where they
 * are many, O(log n) comparisons. A flush walks the free blocks of pools that have something to give. */
#pragma once

#include "base-quantity.h"
#include "base-vector.h"

#define MEM_NO_SPLIT_LIMIT G_MAXUINT64

typedef struct {
  gboolean expandable_segments; /* one growing segment per stream and pool, in pages */
  guint64 max_split_size;       /* larger blocks are not split, nor used for smaller requests; bytes; 0: not set */
} MemPolicy;

typedef struct {
  guint64 allocated, active, reserved; /* bytes, now */
  guint64 peak_allocated, peak_active, peak_reserved;
  guint64 flushes;                    /* times the cache was given back to meet a request: torch's num_alloc_retries */
  guint64 device_takes, device_gives; /* calls of the device: segments, or pages of expandable ones */
} MemUse;

typedef struct MemAllocator MemAllocator;

/* `limit`: bytes it may reserve. */
MemAllocator *mem_allocator_new(const MemPolicy *policy, guint32 n_streams, guint64 limit);
void mem_allocator_free(MemAllocator *allocator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MemAllocator, mem_allocator_free)
/* Others on the device have taken or given; what is reserved above it stays. */
void mem_allocator_limit(MemAllocator *allocator, guint64 limit);

/* From a free block, or a new segment within the limit (a bounded max_split_size gives large free segments back first).
 * FALSE: not without a flush. */
gboolean mem_allocator_take(MemAllocator *allocator, guint32 stream, guint64 bytes, guint32 *ret_block);
/* Gives back every segment that is free, then asks for a new one. PyTorch waits for all streams first: the caller
 * passes what is on hold. FALSE: out of memory. */
gboolean mem_allocator_flush_and_take(MemAllocator *allocator, guint32 stream, guint64 bytes, guint32 *ret_block);
/* As if memory had no end: a new segment, above the limit. */
guint32 mem_allocator_take_beyond(MemAllocator *allocator, guint32 stream, guint64 bytes);

/* A block is given once: at once, or held (no longer allocated, still active) and passed. Else a broken contract. */
void mem_allocator_give(MemAllocator *allocator, guint32 block);
void mem_allocator_hold(MemAllocator *allocator, guint32 block);
void mem_allocator_pass(MemAllocator *allocator, guint32 block);

const MemUse *mem_allocator_use(const MemAllocator *allocator);
/* What a request occupies: rounded to 512 bytes. */
guint64 mem_allocator_round(guint64 bytes);
/* Appends what decides how the next requests are met: guint64s that say where its free memory lies. If they are the
 * same at two moments, and so are the addresses of all that is taken, the same requests will be met in the same way.
 * O(free blocks). */
void mem_allocator_layout(const MemAllocator *allocator, BaseVector *layout);
/* Segments move together, in their order, as if the device's addresses began anew: requests are met as before, and what
 * is taken and freed again and again comes to lie where it lay though segments went back to the device in between.
 * Expandable ones stay. O(blocks × log segments). */
void mem_allocator_compact(MemAllocator *allocator);
/* Of a block that is taken. */
guint64 mem_allocator_address(const MemAllocator *allocator, guint32 block);
/* Breaks the run with a message unless blocks tile their segments, free neighbours are merged, lists are in order and
 * sums are right. O(blocks); for tests. */
void mem_allocator_check(const MemAllocator *allocator);
