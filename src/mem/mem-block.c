/* SPDX-License-Identifier: MIT */
/* Blocks: adding, joining, listing. */
#include "mem-block.h"

#include <string.h>

#include "base-error.h"
#include "base-wide.h"

static inline gboolean is_below(const MemSpan *span, guint64 size, guint64 address) {
  return ((BaseWide)span->size << 64 | span->address) < ((BaseWide)size << 64 | address);
}

#define FEW 16 /* entries that are counted one by one: their comparisons do not wait for each other */

/* Both halve what is left, then count, without a branch on what is compared, which no processor could foretell. */
static guint find_within(const MemSpan *spans, guint first, guint end, guint64 size, guint64 address) {
  guint left = end - first;
  for (; left > FEW; left -= left / 2)
    first += left / 2 & -(guint)is_below(&spans[first + left / 2 - 1], size, address);
  guint below = 0;
  for (guint i = 0; i < left; i++)
    below += (guint)is_below(&spans[first + i], size, address);
  return first + below;
}

guint mem_list_find(const MemList *list, guint64 size, guint64 address) {
  return find_within(mem_list_spans(list), 0, list->n, size, address);
}

guint mem_list_fit(const MemList *list, guint64 size) {
  const MemSpan *spans = mem_list_spans(list);
  guint first = 0, left = list->n;
  for (; left > FEW; left -= left / 2)
    first += left / 2 & -(guint)(spans[first + left / 2 - 1].size < size);
  guint below = 0;
  for (guint i = 0; i < left; i++)
    below += spans[first + i].size < size;
  return first + below;
}

void mem_list_add(MemList *list, guint64 size, guint64 address, guint32 block) {
  guint at = mem_list_find(list, size, address), n = list->n;
  base_vector_next(list, sizeof(MemSpan));
  MemSpan *spans = mem_list_spans(list);
  memmove(&spans[at + 1], &spans[at], (n - at) * sizeof *spans);
  spans[at] = (MemSpan){size, address, block};
}

void mem_list_remove_at(MemList *list, guint at) {
  MemSpan *spans = mem_list_spans(list);
  list->n--;
  memmove(&spans[at], &spans[at + 1], (list->n - at) * sizeof *spans);
}

void mem_list_remove(MemList *list, guint64 size, guint64 address) {
  mem_list_remove_at(list, mem_list_find(list, size, address));
}

void mem_list_replace(MemList *list, guint at, MemSpan span) {
  MemSpan *spans = mem_list_spans(list);
  gboolean rises = is_below(&spans[at], span.size, span.address);
  guint to = rises ? find_within(spans, at + 1, list->n, span.size, span.address) - 1
                   : find_within(spans, 0, at, span.size, span.address);
  if (rises) {
    memmove(&spans[at], &spans[at + 1], (to - at) * sizeof *spans);
  } else {
    memmove(&spans[to + 1], &spans[to], (at - to) * sizeof *spans);
  }
  spans[to] = span;
}

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
  *mem_block(allocator, block) = (MemBlock){address, size, previous, next, pool, state};
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

void mem_block_unlist(MemAllocator *allocator, guint32 block) {
  const MemBlock *listed = mem_block(allocator, block);
  mem_list_remove(&allocator->pools[listed->pool].free, listed->size, listed->address);
}

static gboolean is_free(const MemAllocator *allocator, guint32 block) {
  return block != MEM_NONE && mem_block(allocator, block)->state == MEM_BLOCK_FREE;
}

/* Index in its pool's list. */
static guint place_of(const MemAllocator *allocator, guint32 block) {
  const MemBlock *listed = mem_block(allocator, block);
  return mem_list_find(&allocator->pools[listed->pool].free, listed->size, listed->address);
}

guint32 mem_block_set_free(MemAllocator *allocator, guint32 block) {
  MemBlock *freed = mem_block(allocator, block);
  MemList *list = &allocator->pools[freed->pool].free;
  gboolean before = is_free(allocator, freed->previous), after = is_free(allocator, freed->next);
  freed->state = MEM_BLOCK_FREE;
  if (before && after)
    mem_block_unlist(allocator, freed->next);
  guint at = before ? place_of(allocator, freed->previous) : after ? place_of(allocator, freed->next) : 0;
  if (after)
    mem_block_join(allocator, block);
  if (before) {
    block = freed->previous;
    mem_block_join(allocator, block);
  }
  const MemBlock *joined = mem_block(allocator, block);
  if (before || after)
    mem_list_replace(list, at, (MemSpan){joined->size, joined->address, block});
  else
    mem_list_add(list, joined->size, joined->address, block);
  return block;
}

static void write_span(BaseVector *layout, guint64 address, guint64 size) {
  *(guint64 *)base_vector_next(layout, sizeof(guint64)) = address;
  *(guint64 *)base_vector_next(layout, sizeof(guint64)) = size;
}

void mem_allocator_layout(const MemAllocator *allocator, BaseVector *layout) {
  for (guint32 p = 0; p < allocator->n_pools; p++) {
    const MemPool *pool = &allocator->pools[p];
    write_span(layout, pool->free.n, pool->unmapped->len);
    for (guint i = 0; i < pool->free.n; i++)
      write_span(layout, mem_list_spans(&pool->free)[i].address, mem_list_spans(&pool->free)[i].size);
    for (guint i = 0; i < pool->unmapped->len; i++) {
      const MemBlock *block = mem_block(allocator, g_array_index(pool->unmapped, guint32, i));
      write_span(layout, block->address, block->size);
    }
  }
}

guint64 mem_allocator_address(const MemAllocator *allocator, guint32 block) {
  return mem_block(allocator, block)->address;
}
