/* SPDX-License-Identifier: MIT */
/* Whom the ranks of a trace communicate with: process groups as communicators of a Program. Private to this floor. */
#pragma once

#include "import-kineto-read.h"
#include "program.h"

/* Slots by group of one trace. */
typedef struct ImportKinetoSlots ImportKinetoSlots;

/* Ranks of all: what the files say of their world, at least the number of files. */
guint32 import_kineto_world(const GPtrArray *traces);
/* Sorts ImportKinetoTrace by rank where each says its own. Errors: two of one rank, more than one but fewer than the
 * world's, ranks of different worlds. */
gboolean import_kineto_order(GPtrArray *traces, GError **error);

typedef struct {
  guint32 measured, ranks; /* ranks: to be played, a multiple */
  gboolean each;           /* every rank has its own file */
  gboolean keep_unsized;
} ImportKinetoWorld;

/* With every rank's file groups are as stated; else the one that this file names is repeated over the world: {0, 8, 16}
 * of 24 ranks is one of eight. Errors: see import-kineto-program.h. */
ImportKinetoSlots *import_kineto_slots_new(ProgramBuilder *builder, const ImportKinetoTrace *trace,
                                           const ImportKinetoWorld *world, GError **error);
void import_kineto_slots_free(ImportKinetoSlots *slots);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportKinetoSlots, import_kineto_slots_free)
/* PROGRAM_NONE: it is no collective, or one with itself alone. */
guint32 import_kineto_slot(const ImportKinetoSlots *slots, const ImportKinetoKernel *kernel);

/* The catalogue's name for a device's ("NVIDIA H100 80GB HBM3"); NULL: not known. Caller frees. */
char *import_kineto_gpu(const char *device);
