/* SPDX-License-Identifier: MIT */
/* Bins of free blocks: finding, walking, and those that have lists. */
#include "mem-bins.h"

#include "base-error.h"

static gboolean is_filled(const MemBins *bins, guint bin) {
  return bins->filled[bin / 64] >> bin % 64 & 1;
}

/* NULL: its blocks are linked. */
static MemList *list_of(const MemBins *bins, guint bin) {
  return bins->lists != NULL ? bins->lists[bin] : NULL;
}

static guint32 block_at(const MemList *list, MemPlace place) {
  const MemSpan *span = mem_list_at(list, place);
  return span != NULL ? span->block : MEM_NONE;
}

static MemPlace place_in(const MemList *list, const MemBlock *block) {
  return mem_list_find(list, block->size, block->address);
}

MemBins *mem_bins_begin(MemAllocator *allocator, guint32 pool) {
  return allocator->pools[pool].free = g_new0(MemBins, 1);
}

/* ---- Lists ---- */

static MemList *begin_list(const MemBlock *blocks, MemBins *bins, guint bin) {
  MemList *list = g_new0(MemList, 1);
  if (bins->lists == NULL)
    bins->lists = g_new0(MemList *, MEM_BINS);
  bins->lists[bin] = list;
  for (guint32 at = bins->bins[bin].first; at != MEM_NONE; at = blocks[at].larger)
    mem_list_add(list, blocks[at].size, blocks[at].address, at);
  return list;
}

static void end_list(MemBins *bins, guint bin) {
  if (list_of(bins, bin) == NULL)
    return;
  mem_list_clear(bins->lists[bin]);
  g_clear_pointer(&bins->lists[bin], g_free);
}

void mem_bins_add_listed(MemAllocator *allocator, guint32 block, guint bin) {
  MemBlock *blocks = allocator->blocks.data;
  MemBins *bins = allocator->pools[blocks[block].pool].free;
  MemList *list = list_of(bins, bin);
  guint32 after = MEM_NONE;
  if (list == NULL && mem_bins_place(blocks, &bins->bins[bin], &blocks[block], &after)) {
    mem_bins_link(blocks, &bins->bins[bin], block, after);
    return;
  }
  if (list == NULL)
    list = begin_list(blocks, bins, bin);
  mem_list_add(list, blocks[block].size, blocks[block].address, block);
}

void mem_bins_remove_listed(MemAllocator *allocator, guint32 block, guint bin) {
  MemBlock *blocks = allocator->blocks.data;
  MemBins *bins = allocator->pools[blocks[block].pool].free;
  MemList *list = list_of(bins, bin);
  MemBin *of = &bins->bins[bin];
  guint32 smaller = blocks[block].smaller, larger = blocks[block].larger;
  if (list != NULL) {
    mem_list_remove(list, place_in(list, &blocks[block]));
  } else {
    *(smaller != MEM_NONE ? &blocks[smaller].larger : &of->first) = larger;
    *(larger != MEM_NONE ? &blocks[larger].smaller : &of->last) = smaller;
  }
  if (list != NULL ? list->n > 0 : (smaller & larger) != MEM_NONE)
    return;
  bins->filled[bin / 64] &= ~((guint64)1 << bin % 64);
  end_list(bins, bin);
}

/* ---- Finding ---- */

static guint32 first_in(const MemBins *bins, guint bin) {
  const MemList *list = list_of(bins, bin);
  return list != NULL ? block_at(list, mem_list_first()) : bins->bins[bin].first;
}

guint32 mem_bins_first_listed(const MemBins *bins, guint bin) {
  return first_in(bins, bin);
}

guint32 mem_bins_fit_within(MemAllocator *allocator, guint32 pool, guint bin, guint64 size) {
  const MemBlock *blocks = allocator->blocks.data;
  MemBins *bins = allocator->pools[pool].free;
  MemList *list = list_of(bins, bin);
  if (list == NULL) {
    if (blocks[bins->bins[bin].last].size < size)
      return MEM_NONE;
    guint32 at = bins->bins[bin].first;
    for (guint steps = 0; blocks[at].size < size && steps < MEM_BIN_STEPS; steps++)
      at = blocks[at].larger;
    if (blocks[at].size >= size)
      return at;
    list = begin_list(blocks, bins, bin);
  }
  return block_at(list, mem_list_fit(list, size));
}

guint32 mem_bins_first(const MemAllocator *allocator, guint32 pool) {
  return allocator->pools[pool].free != NULL ? mem_bins_first_from(allocator->pools[pool].free, 0) : MEM_NONE;
}

guint32 mem_bins_last(const MemAllocator *allocator, guint32 pool) {
  const MemBins *bins = allocator->pools[pool].free;
  for (guint bin = MEM_BINS; bins != NULL && bin-- > 0;)
    if (is_filled(bins, bin)) {
      const MemList *list = list_of(bins, bin);
      return list != NULL ? block_at(list, mem_list_last(list)) : bins->bins[bin].last;
    }
  return MEM_NONE;
}

guint32 mem_bins_next(const MemAllocator *allocator, guint32 block) {
  const MemBlock *at = mem_block(allocator, block);
  const MemBins *bins = allocator->pools[at->pool].free;
  guint bin = at->bin;
  const MemList *list = list_of(bins, bin);
  guint32 next = list != NULL ? block_at(list, mem_list_next(list, place_in(list, at))) : at->larger;
  return next != MEM_NONE ? next : mem_bins_first_from(bins, bin + 1);
}

/* ---- The whole ---- */

void mem_bins_moved(MemAllocator *allocator, guint32 pool) {
  const MemBins *bins = allocator->pools[pool].free;
  for (guint bin = 0; bins != NULL && bins->lists != NULL && bin < MEM_BINS; bin++) {
    const MemList *list = bins->lists[bin];
    MemSpan *span;
    for (MemPlace at = mem_list_first(); list != NULL && (span = mem_list_at(list, at)) != NULL;
         at = mem_list_next(list, at))
      span->address = mem_block(allocator, span->block)->address;
  }
}

guint mem_bins_check(const MemAllocator *allocator, guint32 pool) {
  const MemBlock *before = NULL, *last = NULL;
  guint n = 0;
  for (guint32 at = mem_bins_first(allocator, pool); at != MEM_NONE; at = mem_bins_next(allocator, at), n++) {
    const MemBlock *block = mem_block(allocator, at);
    sim_require(block->state == MEM_BLOCK_FREE && block->pool == pool, 0, NULL, "block %u is not free there", at);
    sim_require(before == NULL || mem_block_below(before, block), 0, NULL, "free block %u is out of order", at);
    before = last = block;
  }
  guint32 end = mem_bins_last(allocator, pool);
  sim_require(end == MEM_NONE ? last == NULL : mem_block(allocator, end) == last, 0, NULL,
              "bins of pool %u do not end where they say", pool);
  return n;
}

void mem_bins_free(MemBins *bins) {
  for (guint bin = 0; bins != NULL && bin < MEM_BINS; bin++)
    end_list(bins, bin);
  if (bins != NULL)
    g_free(bins->lists);
  g_free(bins);
}
