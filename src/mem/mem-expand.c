/* SPDX-License-Identifier: MIT */
/* Expandable segments: one range of addresses per stream and pool, with memory mapped behind it page by page.
 *
 *   addresses  |  taken  | free |   unmapped   | taken | free |  unmapped, without end …
 *
 * A request that no free block meets grows a free block over the unmapped pages after it, at the lowest address where
 * the free and unmapped space in a row is enough. */
#include "base-error.h"
#include "mem-bins.h"

#define SMALL_PAGE   (G_GUINT64_CONSTANT(2) << 20)
#define LARGE_PAGE   (G_GUINT64_CONSTANT(20) << 20)
#define PAGES_IN_ALL (G_GUINT64_CONSTANT(1) << 32)

guint64 mem_expand_page(const MemPool *pool) {
  return pool->small ? SMALL_PAGE : LARGE_PAGE;
}

static gboolean is_open(const MemBlock *block) {
  return block->state == MEM_BLOCK_FREE || block->state == MEM_BLOCK_UNMAPPED;
}

static guint unmapped_index(const MemAllocator *allocator, const MemPool *pool, guint64 address) {
  guint at = 0;
  while (at < pool->unmapped->len &&
         mem_block(allocator, g_array_index(pool->unmapped, guint32, at))->address < address)
    at++;
  return at;
}

static gboolean has_room(const MemAllocator *allocator, guint32 block, guint64 size) {
  guint64 room = 0;
  for (; block != MEM_NONE && is_open(mem_block(allocator, block)); block = mem_block(allocator, block)->next)
    if ((room += mem_block(allocator, block)->size) >= size)
      return TRUE;
  return FALSE;
}

/* The block to grow: free or unmapped. The end of the segment has room for all. */
static guint32 find_room(const MemAllocator *allocator, const MemPool *pool, guint64 size) {
  for (guint i = 0; i < pool->unmapped->len; i++) {
    guint32 block = g_array_index(pool->unmapped, guint32, i);
    guint32 previous = mem_block(allocator, block)->previous;
    if (previous != MEM_NONE && mem_block(allocator, previous)->state == MEM_BLOCK_FREE)
      block = previous;
    if (has_room(allocator, block, size))
      return block;
  }
  return MEM_NONE;
}

static void begin(MemAllocator *allocator, guint32 index) {
  MemPool *pool = &allocator->pools[index];
  guint64 size = PAGES_IN_ALL * mem_expand_page(pool);
  pool->head = mem_block_add(allocator, index, 0, size, MEM_BLOCK_UNMAPPED);
  g_array_append_val(pool->unmapped, pool->head);
}

/* Maps the first `bytes` of an unmapped block; they become a free block in no bin, which is returned. */
static guint32 map(MemAllocator *allocator, guint32 block, guint64 bytes) {
  MemPool *pool = &allocator->pools[mem_block(allocator, block)->pool];
  MemBlock unmapped = *mem_block(allocator, block);
  allocator->use.reserved += bytes;
  allocator->use.device_takes += mem_round_up(bytes, mem_expand_page(pool)) / mem_expand_page(pool);
  guint at = unmapped_index(allocator, pool, unmapped.address);
  if (bytes == unmapped.size) {
    g_array_remove_index(pool->unmapped, at);
  } else {
    guint32 rest = mem_block_split(allocator, block, bytes, MEM_BLOCK_UNMAPPED);
    g_array_index(pool->unmapped, guint32, at) = rest;
  }
  mem_block(allocator, block)->state = MEM_BLOCK_FREE;
  return block;
}

static gboolean may_map(const MemAllocator *allocator, guint64 bytes, gboolean beyond) {
  return beyond || (allocator->use.reserved <= allocator->limit && bytes <= allocator->limit - allocator->use.reserved);
}

/* As map, and joined with a free block after it. */
static guint32 map_and_join(MemAllocator *allocator, guint32 block, guint64 bytes) {
  guint32 mapped = map(allocator, block, bytes);
  guint32 next = mem_block(allocator, mapped)->next;
  if (next != MEM_NONE && mem_block(allocator, next)->state == MEM_BLOCK_FREE) {
    mem_bins_remove(allocator, next);
    mem_block_join(allocator, mapped);
  }
  return mapped;
}

guint32 mem_expand(MemAllocator *allocator, guint32 index, guint64 size, gboolean beyond) {
  MemPool *pool = &allocator->pools[index];
  guint64 page = mem_expand_page(pool);
  if (pool->head == MEM_NONE)
    begin(allocator, index);
  guint32 grown = find_room(allocator, pool, size);
  sim_require(grown != MEM_NONE, 0, NULL, "a request of %" G_GUINT64_FORMAT " bytes is beyond all addresses", size);
  gboolean is_free = mem_block(allocator, grown)->state == MEM_BLOCK_FREE;
  if (is_free)
    mem_bins_remove(allocator, grown);
  while (!is_free || mem_block(allocator, grown)->size < size) {
    guint64 have = is_free ? mem_block(allocator, grown)->size : 0;
    guint32 unmapped = is_free ? mem_block(allocator, grown)->next : grown;
    guint64 bytes = MIN(mem_round_up(size - have, page), mem_block(allocator, unmapped)->size);
    if (!may_map(allocator, bytes, beyond)) {
      if (is_free)
        mem_block_set_free(allocator, grown);
      return MEM_NONE;
    }
    map_and_join(allocator, unmapped, bytes);
    if (is_free)
      mem_block_join(allocator, grown);
    is_free = TRUE;
  }
  return grown;
}

static void join_unmapped(MemAllocator *allocator, MemPool *pool, guint32 block) {
  guint at = unmapped_index(allocator, pool, mem_block(allocator, block)->address);
  guint32 next = mem_block(allocator, block)->next, previous = mem_block(allocator, block)->previous;
  if (next != MEM_NONE && mem_block(allocator, next)->state == MEM_BLOCK_UNMAPPED) {
    g_array_remove_index(pool->unmapped, at);
    mem_block_join(allocator, block);
  }
  if (previous != MEM_NONE && mem_block(allocator, previous)->state == MEM_BLOCK_UNMAPPED)
    mem_block_join(allocator, previous);
  else
    g_array_insert_val(pool->unmapped, at, block);
}

/* [free] becomes [free][unmapped][free]; either end may be empty. */
static void unmap(MemAllocator *allocator, guint32 index, guint32 block, guint64 from, guint64 to) {
  MemPool *pool = &allocator->pools[index];
  MemBlock whole = *mem_block(allocator, block);
  mem_bins_remove(allocator, block);
  allocator->use.reserved -= to - from;
  allocator->use.device_gives += (to - from) / mem_expand_page(pool);
  if (to < whole.address + whole.size) {
    guint32 after = mem_block_split(allocator, block, to - whole.address, MEM_BLOCK_FREE);
    mem_bins_add(allocator, after);
  }
  guint32 unmapped = block;
  if (from > whole.address) {
    unmapped = mem_block_split(allocator, block, from - whole.address, MEM_BLOCK_UNMAPPED);
    mem_bins_add(allocator, block);
  } else {
    mem_block(allocator, block)->state = MEM_BLOCK_UNMAPPED;
  }
  join_unmapped(allocator, pool, unmapped);
}

void mem_expand_unmap(MemAllocator *allocator, guint32 index) {
  MemPool *pool = &allocator->pools[index];
  guint64 page = mem_expand_page(pool);
  guint32 next = MEM_NONE;
  for (guint32 block = pool->head; block != MEM_NONE; block = next) {
    const MemBlock *at = mem_block(allocator, block);
    next = at->next;
    if (next != MEM_NONE && mem_block(allocator, next)->state == MEM_BLOCK_UNMAPPED)
      next = mem_block(allocator, next)->next;
    guint64 from = mem_round_up(at->address, page), to = (at->address + at->size) / page * page;
    if (at->state == MEM_BLOCK_FREE && from < to)
      unmap(allocator, index, block, from, to);
  }
}
