/* SPDX-License-Identifier: MIT */
/* Blocks, and the pools of one stream that have the free ones in bins: private to this floor.
 *
 * A segment is its blocks, in order of address, linked both ways; a block without neighbours is a whole segment. */
#pragma once

#include "mem-allocator.h"
#include "mem-list.h"

#define MEM_NONE G_MAXUINT32

typedef enum {
  MEM_BLOCK_UNUSED, /* the record is to be used again */
  MEM_BLOCK_FREE,
  MEM_BLOCK_TAKEN,
  MEM_BLOCK_HELD,    /* given, waits for a stream */
  MEM_BLOCK_UNMAPPED /* address space of an expandable segment without memory behind it */
} MemBlockState;

typedef struct {
  guint64 address, size;
  guint32 previous, next;  /* in the segment; MEM_NONE: none. Of a record that is unused the next such one */
  guint32 smaller, larger; /* in its bin, if it is free and that has no list; MEM_NONE: none */
  guint32 pool;
  guint8 state; /* MemBlockState */
  guint8 bin;   /* that it is in, or was last */
} MemBlock;

/* mem-bins.h */
#define MEM_BINS 192 /* whole words of bits */

typedef struct {
  guint32 first, last; /* of blocks that are linked */
} MemBin;

typedef struct {
  guint64 filled[MEM_BINS / 64]; /* a bit: the bin has blocks */
  MemList **lists;               /* by bin; NULL: no bin has one. Of a bin NULL: its blocks are linked */
  MemBin bins[MEM_BINS];
} MemBins;

/* One stream's small or large blocks. */
typedef struct {
  gboolean small;
  MemBins *free;    /* NULL: none was yet */
  guint32 whole;    /* of them segments that are free as a whole; of pools that do not expand */
  GArray *unmapped; /* guint32: unmapped blocks of its expandable segment, by address */
  guint32 head;     /* of the expandable segment; MEM_NONE: none yet */
} MemPool;

struct MemAllocator {
  MemPolicy policy;
  guint64 limit;
  MemUse use;
  BaseVector blocks; /* MemBlock */
  guint32 unused;    /* the record that became so last; MEM_NONE: none is */
  MemPool *pools;    /* 2 × stream, + 1: large */
  guint32 n_pools;
  guint64 next_address; /* of the next segment */
};

static inline MemBlock *mem_block(const MemAllocator *allocator, guint32 block) {
  return &((MemBlock *)allocator->blocks.data)[block];
}
static inline gboolean mem_block_is_whole(const MemBlock *block) {
  return (block->previous & block->next) == MEM_NONE;
}
static inline guint64 mem_round_up(guint64 bytes, guint64 unit) {
  return (bytes + unit - 1) / unit * unit;
}

/* A record that is in no list. Pointers to blocks are no longer valid. */
static inline guint32 mem_block_record(MemAllocator *allocator) {
  guint32 block = allocator->unused;
  if (G_UNLIKELY(block == MEM_NONE)) {
    base_vector_next(&allocator->blocks, sizeof(MemBlock));
    return allocator->blocks.n - 1;
  }
  allocator->unused = mem_block(allocator, block)->next;
  return block;
}

/* What lies behind the first `size` bytes of a block becomes one of its own, in no bin, and is returned. Pointers to
 * blocks are no longer valid. */
static inline guint32 mem_block_split(MemAllocator *allocator, guint32 block, guint64 size, MemBlockState state) {
  guint32 after = mem_block_record(allocator);
  MemBlock *blocks = allocator->blocks.data, *split = &blocks[block], *rest = &blocks[after];
  guint32 next = split->next;
  rest->address = split->address + size;
  rest->size = split->size - size;
  rest->previous = block;
  rest->next = next;
  rest->pool = split->pool;
  rest->state = (guint8)state;
  split->size = size;
  split->next = after;
  if (next != MEM_NONE)
    blocks[next].previous = after;
  return after;
}

/* mem-block.c */
/* A segment as one block, in no bin. Pointers to blocks are no longer valid. */
guint32 mem_block_add(MemAllocator *allocator, guint32 pool, guint64 address, guint64 size, MemBlockState state);
/* Joins a block with the one after it, which vanishes; neither may be in a bin. */
void mem_block_join(MemAllocator *allocator, guint32 block);
/* Of a segment that is one block, in no bin. */
void mem_block_remove(MemAllocator *allocator, guint32 block);
/* Makes a block free: joined with free neighbours, in its pool's bins. Returns the joined block. */
guint32 mem_block_set_free(MemAllocator *allocator, guint32 block);

/* mem-expand.c */
/* Maps pages until a block of at least `size` is free: it is returned, in no bin. MEM_NONE: beyond the limit. */
guint32 mem_expand(MemAllocator *allocator, guint32 pool, guint64 size, gboolean beyond);
/* Gives back the whole pages inside free blocks. */
void mem_expand_unmap(MemAllocator *allocator, guint32 pool);
guint64 mem_expand_page(const MemPool *pool);
