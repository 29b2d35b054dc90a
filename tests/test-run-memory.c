/* SPDX-License-Identifier: MIT */
/* What a rank's memory makes of devices that are too small, and of managed memory: Programs written by hand. */
#include "coll-group.h"
#include "hand.h"
#include "harness.h"
#include "mem-tenant.h"

#define MIB (G_GUINT64_CONSTANT(1) << 20)
#define MS  SIM_MILLISECOND

static void one_compute(Hand *hand) {
  guint32 op = hand_op(hand, MS);
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(hand->builder, kind);
    program_builder_context(hand->builder, PROGRAM_FORWARD, 0, 0);
    guint32 row = program_builder_compute(hand->builder, hand->compute, "A", op);
    program_builder_host(hand->builder, "end");
    program_builder_need(hand->builder, row);
  }
}

/* Context 100 MiB, and two handles' workspaces of 20 MiB: 40 MiB in one piece, which the allocator asks the device for
 * as they are. On 140 MiB they fit to the byte; on 139 they are what fails, of 39 that were free; on 90 it is the
 * context, of 90, 10 short, and the workspaces are beyond as well. */
static void workspaces_without_room(void) {
  static const struct {
    guint64 usable, short_by, free; /* MiB */
    const char *tensor;
    guint64 requested; /* MiB */
  } cases[] = {{140, 0, 0, NULL, 0}, {139, 1, 39, "cuBLAS workspaces", 40}, {90, 50, 90, "CUDA context", 100}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    Hand hand = hand_new();
    one_compute(&hand);
    hand.gpu.memory_usable = cases[i].usable * MIB;
    hand.gpu.context_bytes = 100 * MIB;
    hand.gpu.workspace_bytes = 20 * MIB;
    g_autoptr(RunReport) report = hand_play(&hand, &(RunOptions){0});
    const RunClass *all = &report->classes[0];
    CU_ASSERT_EQUAL(all->has_oom, cases[i].tensor != NULL);
    CU_ASSERT_EQUAL(all->short_by, cases[i].short_by * MIB);
    CU_ASSERT_EQUAL(all->device_used, 140 * MIB);
    CU_ASSERT_EQUAL(all->peak_allocated, 40 * MIB);
    CU_ASSERT_EQUAL(all->peak_held[MEM_OVERHEAD], 140 * MIB);
    CU_ASSERT_EQUAL(all->step, MS);
    if (all->has_oom && cases[i].tensor != NULL) {
      CU_ASSERT_STRING_EQUAL(all->oom.tensor, cases[i].tensor);
      CU_ASSERT_STRING_EQUAL(all->oom.name, "start");
      CU_ASSERT_EQUAL(all->oom.requested, cases[i].requested * MIB);
      CU_ASSERT_EQUAL(all->oom.free, cases[i].free * MIB);
      CU_ASSERT_TRUE(all->oom.step == 0 && all->oom.at == 0);
    }
    hand_clear(&hand);
  }
}

/* The first step takes 25 MiB of managed memory, which it keeps, or gives when A, still under way, has ended; every
 * step, after that, 24 MiB by the allocator. Beside a context of 100 MiB there is room for 30: for either, not for
 * both. What was given is no longer the driver's to move, nor held. */
static void managed_memory_comes_and_goes(void) {
  for (guint gives = 0; gives < 2; gives++) {
    Hand hand = hand_new();
    guint32 op = hand_op(&hand, MS);
    guint32 states = program_builder_tensor(hand.builder, "states", MEM_OPTIMIZER, 25 * MIB, 25 * MIB);
    guint32 x = program_builder_tensor(hand.builder, "x", MEM_ACTIVATIONS, 24 * MIB, 24 * MIB);
    program_builder_manage(hand.builder, states);
    for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
      program_builder_section(hand.builder, kind);
      program_builder_context(hand.builder, PROGRAM_FORWARD, 0, 0);
      if (kind == PROGRAM_FIRST) {
        guint32 a = program_builder_compute(hand.builder, hand.compute, "A", op);
        program_builder_take(hand.builder, states);
        program_builder_host(hand.builder, "give");
        if (gives)
          program_builder_give(hand.builder, states, hand.compute);
        program_builder_host(hand.builder, "wait");
        program_builder_need(hand.builder, a);
      }
      guint32 b = program_builder_compute(hand.builder, hand.compute, "B", op);
      program_builder_take(hand.builder, x);
      program_builder_host(hand.builder, "end");
      program_builder_need(hand.builder, b);
      program_builder_give(hand.builder, x, PROGRAM_NONE);
    }
    hand.gpu.memory_usable = 130 * MIB;
    hand.gpu.context_bytes = 100 * MIB;
    hand.gpu.workspace_bytes = 0;
    g_autoptr(RunReport) report = hand_play(&hand, &(RunOptions){0});
    const RunClass *all = &report->classes[0];
    CU_ASSERT_EQUAL(all->has_oom, !gives);
    CU_ASSERT_EQUAL(all->managed, gives ? 0 : 25 * MIB);
    CU_ASSERT_EQUAL(all->device_used, (gives ? 125 : 149) * MIB);
    CU_ASSERT_EQUAL(all->peak_reserved, 24 * MIB);
    CU_ASSERT_EQUAL(all->peak_held[MEM_OPTIMIZER], 25 * MIB);
    CU_ASSERT_EQUAL(all->peak_held[MEM_ACTIVATIONS], gives ? 0 : 24 * MIB);
    if (!gives) {
      CU_ASSERT_STRING_EQUAL(all->oom.tensor, "x");
      CU_ASSERT_EQUAL(all->oom.free, 5 * MIB);
      CU_ASSERT_EQUAL(all->oom.at, MS);
    }
    hand_clear(&hand);
  }
}

int main(void) {
  return harness_run("run-memory", (HarnessCase[]){{"workspaces without room", workspaces_without_room},
                                                   {"managed memory comes and goes", managed_memory_comes_and_goes},
                                                   {NULL, NULL}});
}
