/* SPDX-License-Identifier: MIT */
/* A long stream of requests to the caching allocator: tensors of all sizes on four streams, a few hundred alive at
 * once, some held by another stream when they are given.
 *
 * usage: bench-memory [REQUESTS] */
#include "bench.h"
#include "mem-allocator.h"

#define REQUESTS 4000000u
#define ALIVE    512
#define STREAMS  4
#define SMALLEST 12 /* powers of two: 4 KiB to 64 MiB */
#define SIZES    15
#define LIMIT    ((guint64)1 << 40)

typedef struct {
  guint32 block;
  gboolean alive, held;
} Tensor;

static guint64 bytes_of(guint64 random) {
  guint64 power = (guint64)1 << (SMALLEST + random % SIZES);
  return power + (random >> 32) % power;
}

static void take(MemAllocator *allocator, guint64 random, Tensor *ret) {
  guint32 block = 0;
  if (!mem_allocator_take(allocator, random % STREAMS, bytes_of(random >> 2), &block) &&
      !mem_allocator_flush_and_take(allocator, random % STREAMS, bytes_of(random >> 2), &block))
    g_error("%u tensors of 64 MiB do not fit in 1 TiB", ALIVE);
  *ret = (Tensor){.block = block, .alive = TRUE};
}

/* Every eighth waits for another stream, and is passed when it is next met. */
static void give(MemAllocator *allocator, guint64 random, Tensor *tensor) {
  if (tensor->held)
    mem_allocator_pass(allocator, tensor->block);
  else if (random % 8 == 0)
    mem_allocator_hold(allocator, tensor->block);
  else
    mem_allocator_give(allocator, tensor->block);
  tensor->alive = !tensor->held && random % 8 == 0;
  tensor->held = tensor->alive;
}

int main(int argc, char **argv) {
  guint32 n = argc > 1 ? (guint32)g_ascii_strtoull(argv[1], NULL, 10) : REQUESTS;
  bench_head("caching allocator");
  MemPolicy policy = {0};
  g_autoptr(MemAllocator) allocator = mem_allocator_new(&policy, STREAMS, LIMIT);
  Tensor tensors[ALIVE] = {{0}};
  guint64 state = 1;
  double begin = bench_seconds();
  for (guint32 i = 0; i < n; i++) {
    guint64 random = bench_random(&state);
    Tensor *tensor = &tensors[random % ALIVE];
    if (tensor->alive)
      give(allocator, random >> 9, tensor);
    else
      take(allocator, random >> 9, tensor);
  }
  double seconds = bench_seconds() - begin;
  printf("  %u takes and gives of up to %u tensors: %.1f million/s, %.1f GiB reserved at most\n", n, ALIVE,
         n / seconds / 1e6, (double)mem_allocator_use(allocator)->peak_reserved / 1073741824.0);
  return 0;
}
