/* SPDX-License-Identifier: MIT */
/* Is an allocator's state whole? */
#include "base-error.h"
#include "mem-bins.h"

typedef struct {
  guint64 allocated, active, mapped;
  guint free, whole;
} Sums;

static void check_segment(const MemAllocator *allocator, guint32 head, Sums *sums) {
  guint32 pool = mem_block(allocator, head)->pool;
  for (guint32 at = head; at != MEM_NONE; at = mem_block(allocator, at)->next) {
    const MemBlock *block = mem_block(allocator, at);
    sums->allocated += block->state == MEM_BLOCK_TAKEN ? block->size : 0;
    sums->active += block->state == MEM_BLOCK_TAKEN || block->state == MEM_BLOCK_HELD ? block->size : 0;
    sums->mapped += block->state != MEM_BLOCK_UNMAPPED ? block->size : 0;
    sim_require(block->size > 0 && block->pool == pool, 0, NULL, "block %u is empty, or of another pool", at);
    if (block->state == MEM_BLOCK_FREE) {
      sums->free++;
      sums->whole += mem_block_is_whole(block);
    }
    if (block->next == MEM_NONE)
      continue;
    const MemBlock *next = mem_block(allocator, block->next);
    sim_require(next->previous == at && next->address == block->address + block->size, 0, NULL,
                "blocks %u and %u overlap, or leave a gap", at, block->next);
    sim_require(block->state == MEM_BLOCK_TAKEN || block->state == MEM_BLOCK_HELD || next->state != block->state, 0,
                NULL, "blocks %u and %u should be one", at, block->next);
  }
}

void mem_allocator_check(const MemAllocator *allocator) {
  Sums sums = {0};
  guint listed = 0, whole = 0;
  for (guint32 i = 0; i < allocator->blocks.n; i++) {
    const MemBlock *block = mem_block(allocator, i);
    if (block->state != MEM_BLOCK_UNUSED && block->previous == MEM_NONE)
      check_segment(allocator, i, &sums);
  }
  for (guint32 p = 0; p < allocator->n_pools; p++) {
    listed += mem_bins_check(allocator, p);
    whole += allocator->pools[p].whole;
  }
  const MemUse *use = &allocator->use;
  sim_require(sums.allocated == use->allocated && sums.active == use->active && sums.mapped == use->reserved, 0, NULL,
              "blocks do not add up: %" G_GUINT64_FORMAT " allocated, %" G_GUINT64_FORMAT " active, %" G_GUINT64_FORMAT
              " reserved",
              sums.allocated, sums.active, sums.mapped);
  sim_require(sums.free == listed, 0, NULL, "%u blocks are free, %u are listed", sums.free, listed);
  sim_require(allocator->policy.expandable_segments || sums.whole == whole, 0, NULL,
              "%u segments are free as a whole, %u are counted", sums.whole, whole);
}
