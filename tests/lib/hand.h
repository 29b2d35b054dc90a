/* SPDX-License-Identifier: MIT */
/* Programs written by hand for all eight ranks of a DGX H100, played.
 *
 *   Hand hand = hand_new();                                    // streams "compute" and "comm", communicator "all"
 *   for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
 *     program_builder_section(hand.builder, kind);
 *     program_builder_compute(hand.builder, hand.compute, "A", hand_op(&hand, SIM_MILLISECOND)); …
 *   }
 *   g_autoptr(RunReport) report = hand_play(&hand, &(RunOptions){.timeline = TRUE});
 *   hand_clear(&hand);
 *
 * The device may be changed before it is played: hand.gpu is the Hand's own. */
#pragma once

#include "cluster.h"
#include "program.h"
#include "run-play.h"

#define HAND_RANKS 8

typedef struct {
  TestCluster built;
  HwGpu gpu;
  ProgramBuilder *builder;
  Program *program; /* once played */
  guint32 compute, comm, all;
} Hand;

Hand hand_new(void);
void hand_clear(Hand *hand);

/* On no GPU's time but this. */
guint32 hand_op(const Hand *hand, SimTime time);

/* Takes what is built at the first call; plays it at each. All ranks are one class. */
RunReport *hand_play(Hand *hand, const RunOptions *options);
