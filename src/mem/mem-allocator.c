/* SPDX-License-Identifier: MIT */
/* Which block meets a request, when the device is asked, and what is given back first. */
#include "mem-allocator.h"

#include "base-error.h"
#include "mem-bins.h"

/* c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer, kMinLargeAlloc, kLargeBuffer,
 * kRoundLarge. */
#define LEAST_BLOCK   G_GUINT64_CONSTANT(512)
#define SMALL_REQUEST (G_GUINT64_CONSTANT(1) << 20)
#define SMALL_SEGMENT (G_GUINT64_CONSTANT(2) << 20)
#define LARGE_REQUEST (G_GUINT64_CONSTANT(10) << 20)
#define LARGE_SEGMENT (G_GUINT64_CONSTANT(20) << 20)
#define SEGMENT_UNIT  (G_GUINT64_CONSTANT(2) << 20)

MemAllocator *mem_allocator_new(const MemPolicy *policy, guint32 n_streams, guint64 limit) {
  MemAllocator *allocator = g_new0(MemAllocator, 1);
  allocator->policy = *policy;
  if (policy->max_split_size == 0)
    allocator->policy.max_split_size = MEM_NO_SPLIT_LIMIT;
  allocator->limit = limit;
  allocator->unused = MEM_NONE;
  allocator->n_pools = 2 * n_streams;
  allocator->pools = g_new0(MemPool, allocator->n_pools);
  for (guint32 i = 0; i < allocator->n_pools; i++)
    allocator->pools[i] = (MemPool){i % 2 == 0, NULL, 0, g_array_new(FALSE, FALSE, sizeof(guint32)), MEM_NONE};
  return allocator;
}

void mem_allocator_free(MemAllocator *allocator) {
  if (allocator == NULL)
    return;
  for (guint32 i = 0; i < allocator->n_pools; i++) {
    mem_bins_free(allocator->pools[i].free);
    g_array_unref(allocator->pools[i].unmapped);
  }
  g_free(allocator->pools);
  g_free(allocator->blocks.data);
  g_free(allocator);
}

void mem_allocator_limit(MemAllocator *allocator, guint64 limit) {
  allocator->limit = limit;
}

const MemUse *mem_allocator_use(const MemAllocator *allocator) {
  return &allocator->use;
}

guint64 mem_allocator_round(guint64 bytes) {
  return MAX(mem_round_up(bytes, LEAST_BLOCK), LEAST_BLOCK);
}

static guint64 segment_size(guint64 size) {
  if (size <= SMALL_REQUEST)
    return SMALL_SEGMENT;
  return size < LARGE_REQUEST ? LARGE_SEGMENT : mem_round_up(size, SEGMENT_UNIT);
}

static guint32 pool_of(guint32 stream, guint64 size) {
  return 2 * stream + (size > SMALL_REQUEST);
}

/* A free block counts for what it could grow to: the one at the end of a segment is left for large requests. */
static guint64 size_grown(const MemAllocator *allocator, guint32 block) {
  guint32 next = mem_block(allocator, block)->next;
  gboolean grows = next != MEM_NONE && mem_block(allocator, next)->state == MEM_BLOCK_UNMAPPED;
  return mem_block(allocator, block)->size + (grows ? mem_block(allocator, next)->size : 0);
}

/* Of blocks that would do, the first that the one after it does not undercut. */
static guint32 least_grown(const MemAllocator *allocator, guint32 block) {
  guint32 after = mem_bins_next(allocator, block);
  while (after != MEM_NONE && size_grown(allocator, after) < size_grown(allocator, block)) {
    block = after;
    after = mem_bins_next(allocator, block);
  }
  return block;
}

/* A block that stays in its bin; MEM_NONE: none will do. */
static inline guint32 best_fit(MemAllocator *allocator, guint32 pool, guint64 size) {
  guint64 most = allocator->policy.max_split_size;
  guint32 block = mem_bins_fit(allocator, pool, size);
  if (block == MEM_NONE)
    return MEM_NONE;
  if (allocator->policy.expandable_segments)
    block = least_grown(allocator, block);
  guint64 found = mem_block(allocator, block)->size;
  gboolean spares_large = size < most && found >= most;
  gboolean wastes = size >= most && found >= size + LARGE_SEGMENT;
  return spares_large || wastes ? MEM_NONE : block;
}

/* A new segment as one block in no bin. */
static guint32 new_segment(MemAllocator *allocator, guint32 pool, guint64 size, gboolean beyond) {
  if (allocator->policy.expandable_segments)
    return mem_expand(allocator, pool, size, beyond);
  guint64 bytes = segment_size(size);
  guint64 reserved = allocator->use.reserved;
  if (!beyond && (reserved > allocator->limit || bytes > allocator->limit - reserved))
    return MEM_NONE;
  allocator->use.reserved += bytes;
  allocator->use.device_takes++;
  guint64 address = allocator->next_address;
  allocator->next_address += bytes;
  return mem_block_add(allocator, pool, address, bytes, MEM_BLOCK_FREE);
}

/* A free segment, whose block is in its bin. */
static void give_back(MemAllocator *allocator, guint32 block) {
  allocator->use.reserved -= mem_block(allocator, block)->size;
  allocator->use.device_gives++;
  allocator->pools[mem_block(allocator, block)->pool].whole--;
  mem_bins_remove(allocator, block);
  mem_block_remove(allocator, block);
}

/* With a bounded max_split_size: a free segment that is large enough, else the largest ones until their sum is. */
static gboolean give_back_large(MemAllocator *allocator, guint32 pool, guint64 size) {
  guint64 most = allocator->policy.max_split_size;
  if (most == MEM_NO_SPLIT_LIMIT || allocator->policy.expandable_segments)
    return FALSE;
  guint32 enough = mem_bins_fit(allocator, pool, MAX(size, most));
  if (enough != MEM_NONE) {
    give_back(allocator, enough);
    return TRUE;
  }
  guint64 given = 0;
  guint32 last;
  while (given < size && (last = mem_bins_last(allocator, pool)) != MEM_NONE) {
    guint64 largest = mem_block(allocator, last)->size;
    if (largest < most)
      return FALSE;
    given += largest;
    give_back(allocator, last);
  }
  return given >= size;
}

/* Gives back the segments of one pool that are free as a whole. */
static void flush_pool(MemAllocator *allocator, guint32 pool) {
  guint32 block = mem_bins_first(allocator, pool);
  while (allocator->pools[pool].whole > 0) {
    guint32 next = mem_bins_next(allocator, block);
    if (mem_block_is_whole(mem_block(allocator, block)))
      give_back(allocator, block);
    block = next;
  }
}

static void flush(MemAllocator *allocator) {
  allocator->use.flushes++;
  for (guint32 p = 0; p < allocator->n_pools; p++) {
    if (allocator->pools[p].head != MEM_NONE)
      mem_expand_unmap(allocator, p);
    else
      flush_pool(allocator, p);
  }
}

static gboolean worth_splitting(const MemAllocator *allocator, guint32 pool, guint64 size, guint64 rest) {
  if (allocator->pools[pool].small || allocator->policy.expandable_segments)
    return rest >= LEAST_BLOCK;
  return size < allocator->policy.max_split_size && rest > SMALL_REQUEST;
}

/* `binned`: the block is in its bin. */
static inline guint32 hand_out(MemAllocator *allocator, guint32 pool, guint32 block, gboolean binned, guint64 size) {
  guint64 found = mem_block(allocator, block)->size;
  if (binned) {
    allocator->pools[pool].whole -= mem_block_is_whole(mem_block(allocator, block));
    mem_bins_remove(allocator, block);
  }
  if (worth_splitting(allocator, pool, size, found - size)) {
    mem_bins_add(allocator, mem_block_split(allocator, block, size, MEM_BLOCK_FREE));
    found = size;
  }
  MemUse *use = &allocator->use;
  mem_block(allocator, block)->state = MEM_BLOCK_TAKEN;
  use->allocated += found;
  use->active += found;
  use->peak_allocated = MAX(use->peak_allocated, use->allocated);
  use->peak_active = MAX(use->peak_active, use->active);
  use->peak_reserved = MAX(use->peak_reserved, use->reserved);
  return block;
}

gboolean mem_allocator_take(MemAllocator *allocator, guint32 stream, guint64 bytes, guint32 *ret_block) {
  guint64 size = mem_allocator_round(bytes);
  guint32 pool = pool_of(stream, size);
  guint32 block = best_fit(allocator, pool, size);
  gboolean binned = block != MEM_NONE;
  if (block == MEM_NONE)
    block = new_segment(allocator, pool, size, FALSE);
  if (block == MEM_NONE && give_back_large(allocator, pool, size))
    block = new_segment(allocator, pool, size, FALSE);
  if (block == MEM_NONE)
    return FALSE;
  *ret_block = hand_out(allocator, pool, block, binned, size);
  return TRUE;
}

gboolean mem_allocator_flush_and_take(MemAllocator *allocator, guint32 stream, guint64 bytes, guint32 *ret_block) {
  guint64 size = mem_allocator_round(bytes);
  guint32 pool = pool_of(stream, size);
  flush(allocator);
  guint32 block = new_segment(allocator, pool, size, FALSE);
  if (block == MEM_NONE)
    return FALSE;
  *ret_block = hand_out(allocator, pool, block, FALSE, size);
  return TRUE;
}

guint32 mem_allocator_take_beyond(MemAllocator *allocator, guint32 stream, guint64 bytes) {
  guint64 size = mem_allocator_round(bytes);
  guint32 pool = pool_of(stream, size);
  return hand_out(allocator, pool, new_segment(allocator, pool, size, TRUE), FALSE, size);
}

static void require_state(const MemAllocator *allocator, guint32 block, MemBlockState state) {
  sim_require(block < allocator->blocks.n && mem_block(allocator, block)->state == state, 0, NULL,
              "block %u is given twice, or was not taken", block);
}

void mem_allocator_hold(MemAllocator *allocator, guint32 block) {
  require_state(allocator, block, MEM_BLOCK_TAKEN);
  mem_block(allocator, block)->state = MEM_BLOCK_HELD;
  allocator->use.allocated -= mem_block(allocator, block)->size;
}

void mem_allocator_pass(MemAllocator *allocator, guint32 block) {
  require_state(allocator, block, MEM_BLOCK_HELD);
  allocator->use.active -= mem_block(allocator, block)->size;
  mem_block_set_free(allocator, block);
}

void mem_allocator_give(MemAllocator *allocator, guint32 block) {
  require_state(allocator, block, MEM_BLOCK_TAKEN);
  guint64 size = mem_block(allocator, block)->size;
  allocator->use.allocated -= size;
  allocator->use.active -= size;
  mem_block_set_free(allocator, block);
}
