/* SPDX-License-Identifier: MIT */
/* A pool's free blocks in bins by size, of each bin in order of size, then address: private to this floor.
 *
 *   mem_bins_add(allocator, block);                                  // of the block's pool
 *   guint32 block = mem_bins_fit(allocator, pool, size);             // the first of at least that size; MEM_NONE: none
 *   mem_bins_remove(allocator, block);                               // while it still has the size it was added with
 *   for (block = mem_bins_first(allocator, pool); block != MEM_NONE; block = mem_bins_next(allocator, block)) …
 *   mem_bins_free(pool->free);
 *
 *   bins     … │ 448 … 511 KiB │ 512 … 639 KiB │ 640 … 767 KiB │ …     four to an octave
 *   filled       0               1               1                     a bit for each, to find the next by
 *
 * Nearly every bin has a few blocks, linked in their order. One in which a block came to stand, or was looked for,
 * more than MEM_BIN_STEPS links from its ends, as may be of 10 000 equal layers, has a list instead (mem-list.h) until
 * it is empty.
 *
 * Cost: adding and finding follow a link or two most often, MEM_BIN_STEPS at most, and in a list compare O(log n). */
#pragma once

#include "mem-block.h"

#define MEM_BIN_STEPS 64

/* Sizes are multiples of 512 bytes: below 4 of these each has a bin, above each quarter of an octave has; the last bin
 * has all beyond. */
static inline guint mem_bin_of(guint64 size) {
  guint64 units = size >> 9;
  if (units < 4)
    return (guint)units;
  guint octave = 63 - (guint)__builtin_clzll(units), bin = 4 * (octave - 1) + (guint)(units >> (octave - 2) & 3);
  return MIN(bin, MEM_BINS - 1);
}

static inline gboolean mem_block_below(const MemBlock *a, const MemBlock *b) {
  return a->size < b->size || (a->size == b->size && a->address < b->address);
}

/* Of a pool that has none yet; of a bin that has a list, or is about to. */
MemBins *mem_bins_begin(MemAllocator *allocator, guint32 pool);
void mem_bins_add_listed(MemAllocator *allocator, guint32 block, guint bin);
void mem_bins_remove_listed(MemAllocator *allocator, guint32 block, guint bin);

/* Where a block belongs among those of its bin that are linked: the one after it, MEM_NONE: it is the last. FALSE: too
 * many links from its ends. */
static inline gboolean mem_bins_place(const MemBlock *blocks, const MemBin *bin, const MemBlock *added,
                                      guint32 *ret_after) {
  guint32 after = bin->first;
  guint steps = 0;
  if (mem_block_below(&blocks[bin->last], added)) {
    after = MEM_NONE;
  } else {
    for (; mem_block_below(&blocks[after], added); after = blocks[after].larger)
      if (G_UNLIKELY(++steps > MEM_BIN_STEPS))
        return FALSE;
  }
  *ret_after = after;
  return TRUE;
}

static inline void mem_bins_link(MemBlock *blocks, MemBin *bin, guint32 block, guint32 after) {
  guint32 before = after != MEM_NONE ? blocks[after].smaller : bin->last;
  blocks[block].smaller = before;
  blocks[block].larger = after;
  *(before != MEM_NONE ? &blocks[before].larger : &bin->first) = block;
  *(after != MEM_NONE ? &blocks[after].smaller : &bin->last) = block;
}

static inline void mem_bins_add(MemAllocator *allocator, guint32 block) {
  MemBlock *blocks = allocator->blocks.data, *added = &blocks[block];
  MemBins *bins = allocator->pools[added->pool].free;
  if (G_UNLIKELY(bins == NULL))
    bins = mem_bins_begin(allocator, added->pool);
  guint number = mem_bin_of(added->size);
  added->bin = (guint8)number;
  guint64 *filled = &bins->filled[number / 64], bit = (guint64)1 << number % 64;
  MemBin *bin = &bins->bins[number];
  guint32 after = MEM_NONE;
  if ((*filled & bit) == 0) {
    *filled |= bit;
    added->smaller = added->larger = MEM_NONE;
    bin->first = bin->last = block;
  } else if (G_LIKELY(bins->lists == NULL && mem_bins_place(blocks, bin, added, &after))) {
    mem_bins_link(blocks, bin, block, after);
  } else {
    mem_bins_add_listed(allocator, block, number);
  }
}

static inline void mem_bins_remove(MemAllocator *allocator, guint32 block) {
  MemBlock *blocks = allocator->blocks.data;
  const MemBlock *removed = &blocks[block];
  MemBins *bins = allocator->pools[removed->pool].free;
  guint32 smaller = removed->smaller, larger = removed->larger;
  guint number = removed->bin;
  MemBin *bin = &bins->bins[number];
  if (G_UNLIKELY(bins->lists != NULL)) {
    mem_bins_remove_listed(allocator, block, number);
    return;
  }
  if ((smaller & larger) == MEM_NONE)
    bins->filled[number / 64] &= ~((guint64)1 << number % 64);
  *(smaller != MEM_NONE ? &blocks[smaller].larger : &bin->first) = larger;
  *(larger != MEM_NONE ? &blocks[larger].smaller : &bin->last) = smaller;
}

/* Of a bin that may have a list, and has blocks. The latter may need to begin one. */
guint32 mem_bins_first_listed(const MemBins *bins, guint bin);
guint32 mem_bins_fit_within(MemAllocator *allocator, guint32 pool, guint bin, guint64 size);

/* The first block of the first bin from that one on that has some. */
static inline guint32 mem_bins_first_from(const MemBins *bins, guint bin) {
  if (bin >= MEM_BINS)
    return MEM_NONE;
  guint word = bin / 64;
  guint64 filled = bins->filled[word] & ~(guint64)0 << bin % 64;
  while (filled == 0 && ++word < MEM_BINS / 64)
    filled = bins->filled[word];
  if (filled == 0)
    return MEM_NONE;
  guint found = 64 * word + (guint)__builtin_ctzll(filled);
  return G_LIKELY(bins->lists == NULL) ? bins->bins[found].first : mem_bins_first_listed(bins, found);
}

static inline guint32 mem_bins_fit(MemAllocator *allocator, guint32 pool, guint64 size) {
  const MemBlock *blocks = allocator->blocks.data;
  const MemBins *bins = allocator->pools[pool].free;
  if (G_UNLIKELY(bins == NULL))
    return MEM_NONE;
  guint bin = mem_bin_of(size);
  if (bins->filled[bin / 64] >> bin % 64 & 1) {
    guint32 found = MEM_NONE;
    if (G_UNLIKELY(bins->lists != NULL))
      found = mem_bins_fit_within(allocator, pool, bin, size);
    else if (blocks[bins->bins[bin].first].size >= size)
      found = bins->bins[bin].first;
    else if (blocks[bins->bins[bin].last].size >= size)
      found = mem_bins_fit_within(allocator, pool, bin, size);
    if (found != MEM_NONE)
      return found;
  }
  return mem_bins_first_from(bins, bin + 1);
}
/* In order of size, then address. */
guint32 mem_bins_first(const MemAllocator *allocator, guint32 pool);
guint32 mem_bins_last(const MemAllocator *allocator, guint32 pool);
guint32 mem_bins_next(const MemAllocator *allocator, guint32 block);
/* Blocks have moved, and kept their order. */
void mem_bins_moved(MemAllocator *allocator, guint32 pool);
/* Breaks the run unless the pool's free blocks are in order. Returns how many there are. */
guint mem_bins_check(const MemAllocator *allocator, guint32 pool);
void mem_bins_free(MemBins *bins);
