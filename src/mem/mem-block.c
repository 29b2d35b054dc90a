/* SPDX-License-Identifier: MIT */
/* Blocks: adding, joining, freeing. */
#include "mem-bins.h"

guint32 mem_block_add(MemAllocator *allocator, guint32 pool, guint64 address, guint64 size, MemBlockState state) {
  guint32 block = mem_block_record(allocator);
  *mem_block(allocator, block) = (MemBlock){
      .address = address, .size = size, .previous = MEM_NONE, .next = MEM_NONE, .pool = pool, .state = (guint8)state};
  return block;
}

/* The record of a block that is linked nowhere. */
static inline void forget(MemAllocator *allocator, MemBlock *forgotten, guint32 block) {
  forgotten->state = MEM_BLOCK_UNUSED;
  forgotten->next = allocator->unused;
  allocator->unused = block;
}

void mem_block_remove(MemAllocator *allocator, guint32 block) {
  forget(allocator, mem_block(allocator, block), block);
}

static inline void join(MemAllocator *allocator, MemBlock *blocks, guint32 block, guint32 next) {
  MemBlock *joined = &blocks[block], *gone = &blocks[next];
  guint32 after = gone->next;
  joined->size += gone->size;
  joined->next = after;
  if (after != MEM_NONE)
    blocks[after].previous = block;
  forget(allocator, gone, next);
}

void mem_block_join(MemAllocator *allocator, guint32 block) {
  join(allocator, allocator->blocks.data, block, mem_block(allocator, block)->next);
}

guint32 mem_block_set_free(MemAllocator *allocator, guint32 block) {
  MemBlock *blocks = allocator->blocks.data, *freed = &blocks[block];
  guint32 next = freed->next, previous = freed->previous;
  freed->state = MEM_BLOCK_FREE;
  if (next != MEM_NONE && blocks[next].state == MEM_BLOCK_FREE) {
    mem_bins_remove(allocator, next);
    join(allocator, blocks, block, next);
  }
  if (previous != MEM_NONE && blocks[previous].state == MEM_BLOCK_FREE) {
    mem_bins_remove(allocator, previous);
    join(allocator, blocks, previous, block);
    block = previous;
  }
  mem_bins_add(allocator, block);
  allocator->pools[blocks[block].pool].whole += mem_block_is_whole(&blocks[block]);
  return block;
}

static void write_span(BaseVector *layout, guint64 address, guint64 size) {
  *(guint64 *)base_vector_next(layout, sizeof(guint64)) = address;
  *(guint64 *)base_vector_next(layout, sizeof(guint64)) = size;
}

void mem_allocator_layout(const MemAllocator *allocator, BaseVector *layout) {
  for (guint32 p = 0; p < allocator->n_pools; p++) {
    const MemPool *pool = &allocator->pools[p];
    guint n = 0;
    for (guint32 at = mem_bins_first(allocator, p); at != MEM_NONE; at = mem_bins_next(allocator, at), n++)
      write_span(layout, mem_block(allocator, at)->address, mem_block(allocator, at)->size);
    for (guint i = 0; i < pool->unmapped->len; i++) {
      const MemBlock *block = mem_block(allocator, g_array_index(pool->unmapped, guint32, i));
      write_span(layout, block->address, block->size);
    }
    write_span(layout, n, pool->unmapped->len);
  }
}

typedef struct {
  guint64 address;
  guint32 head;
} Segment;

static gint by_address(gconstpointer a, gconstpointer b) {
  guint64 x = ((const Segment *)a)->address, y = ((const Segment *)b)->address;
  return (x > y) - (x < y);
}

static GArray *segments_in_order(const MemAllocator *allocator) {
  GArray *segments = g_array_new(FALSE, FALSE, sizeof(Segment));
  for (guint32 i = 0; i < allocator->blocks.n; i++) {
    const Segment segment = {mem_block(allocator, i)->address, i};
    if (mem_block(allocator, i)->state != MEM_BLOCK_UNUSED && mem_block(allocator, i)->previous == MEM_NONE)
      g_array_append_val(segments, segment);
  }
  g_array_sort(segments, by_address);
  return segments;
}

/* Returns where the segment ends. */
static guint64 move_segment(MemAllocator *allocator, guint32 head, guint64 to) {
  for (guint32 i = head; i != MEM_NONE; i = mem_block(allocator, i)->next) {
    mem_block(allocator, i)->address = to;
    to += mem_block(allocator, i)->size;
  }
  return to;
}

void mem_allocator_compact(MemAllocator *allocator) {
  if (allocator->policy.expandable_segments)
    return;
  g_autoptr(GArray) segments = segments_in_order(allocator);
  allocator->next_address = 0;
  for (guint i = 0; i < segments->len; i++)
    allocator->next_address =
        move_segment(allocator, g_array_index(segments, Segment, i).head, allocator->next_address);
  for (guint32 p = 0; p < allocator->n_pools; p++)
    mem_bins_moved(allocator, p);
}

guint64 mem_allocator_address(const MemAllocator *allocator, guint32 block) {
  return mem_block(allocator, block)->address;
}
