/* Blocks: adding, joining, listing. */
#include "mem-block.h"

#include "base-error.h"

MemList *mem_list_new(void) {
  return g_array_new(FALSE, FALSE, sizeof(MemSpan));
}

guint mem_list_find(const MemList *list, guint64 size, guint64 address) {
  guint low = 0, high = list->len;
  while (low < high) {
    guint middle = (low + high) / 2;
    const MemSpan *span = &g_array_index(list, MemSpan, middle);
    if (span->size < size || (span->size == size && span->address < address))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void mem_list_add(MemList *list, guint64 size, guint64 address, guint32 block) {
  MemSpan span = {size, address, block};
  g_array_insert_val(list, mem_list_find(list, size, address), span);
}

void mem_list_remove(MemList *list, guint64 size, guint64 address) {
  g_array_remove_index(list, mem_list_find(list, size, address));
}

guint32 mem_block_add(MemAllocator *allocator, guint32 pool, guint32 previous, guint64 address, guint64 size,
                      MemBlockState state) {
  guint32 block = allocator->blocks->len;
  if (allocator->unused->len > 0) {
    block = g_array_index(allocator->unused, guint32, allocator->unused->len - 1);
    g_array_set_size(allocator->unused, allocator->unused->len - 1);
  } else {
    g_array_set_size(allocator->blocks, block + 1);
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
  g_array_append_val(allocator->unused, block);
}

void mem_block_join(MemAllocator *allocator, guint32 block) {
  guint32 next = mem_block(allocator, block)->next;
  mem_block(allocator, block)->size += mem_block(allocator, next)->size;
  mem_block_remove(allocator, next);
}

void mem_block_unlist(MemAllocator *allocator, guint32 block) {
  const MemBlock *listed = mem_block(allocator, block);
  mem_list_remove(allocator->pools[listed->pool].free, listed->size, listed->address);
}

static gboolean is_free(const MemAllocator *allocator, guint32 block) {
  return block != MEM_NONE && mem_block(allocator, block)->state == MEM_BLOCK_FREE;
}

guint32 mem_block_set_free(MemAllocator *allocator, guint32 block) {
  guint32 next = mem_block(allocator, block)->next, previous = mem_block(allocator, block)->previous;
  if (is_free(allocator, next)) {
    mem_block_unlist(allocator, next);
    mem_block_join(allocator, block);
  }
  if (is_free(allocator, previous)) {
    mem_block_unlist(allocator, previous);
    mem_block_join(allocator, previous);
    block = previous;
  }
  MemBlock *freed = mem_block(allocator, block);
  freed->state = MEM_BLOCK_FREE;
  mem_list_add(allocator->pools[freed->pool].free, freed->size, freed->address, block);
  return block;
}
