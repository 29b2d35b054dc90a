/* SPDX-License-Identifier: MIT */
/* Blocks: adding, joining, freeing. */
#include "mem-bins.h"

guint32 mem_block_add(MemAllocator *allocator, guint32 pool, guint32 previous, guint64 address, guint64 size,
                      MemBlockState state) {
  guint32 block = allocator->unused;
  if (block != MEM_NONE) {
    allocator->unused = mem_block(allocator, block)->next;
  } else {
    block = allocator->blocks.n;
    base_vector_next(&allocator->blocks, sizeof(MemBlock));
  }
  guint32 next = previous != MEM_NONE ? mem_block(allocator, previous)->next : MEM_NONE;
  *mem_block(allocator, block) = (MemBlock){address, size, previous, next, MEM_NONE, MEM_NONE, pool, state};
  if (previous != MEM_NONE)
    mem_block(allocator, previous)->next = block;
  if (next != MEM_NONE)
    mem_block(allocator, next)->previous = block;
  return block;
}

void mem_block_remove(MemAllocator *allocator, guint32 block) {
  MemBlock *removed = mem_block(allocator, block);
  if (removed->previous != MEM_NONE)
    mem_block(allocator, removed->previous)->next = removed->next;
  if (removed->next != MEM_NONE)
    mem_block(allocator, removed->next)->previous = removed->previous;
  removed->state = MEM_BLOCK_UNUSED;
  removed->next = allocator->unused;
  allocator->unused = block;
}

void mem_block_join(MemAllocator *allocator, guint32 block) {
  guint32 next = mem_block(allocator, block)->next;
  mem_block(allocator, block)->size += mem_block(allocator, next)->size;
  mem_block_remove(allocator, next);
}

static gboolean is_free(const MemAllocator *allocator, guint32 block) {
  return block != MEM_NONE && mem_block(allocator, block)->state == MEM_BLOCK_FREE;
}

guint32 mem_block_set_free(MemAllocator *allocator, guint32 block) {
  MemBlock *freed = mem_block(allocator, block);
  gboolean before = is_free(allocator, freed->previous), after = is_free(allocator, freed->next);
  freed->state = MEM_BLOCK_FREE;
  if (after) {
    mem_bins_remove(allocator, freed->next);
    mem_block_join(allocator, block);
  }
  if (before) {
    block = freed->previous;
    mem_bins_remove(allocator, block);
    mem_block_join(allocator, block);
  }
  mem_bins_add(allocator, block);
  allocator->pools[freed->pool].whole += mem_block_is_whole(allocator, block);
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
