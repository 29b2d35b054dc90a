/* SPDX-License-Identifier: MIT */
/* Other layouts of the same GPUs: axes of parallelism, and what else a person writes beside them, at the same global
 * batch.
 *
 *   "tensor=4 pipeline=2"                               // keys of [parallel] need no group
 *   "framework=megatron zero_stage=1 tensor=8 fsdp.…"
 *
 *   Study *other = study_lay_out(study, "tensor=4 pipeline=2", &base->identity, error);
 *   g_auto(GStrv) all = study_layouts(base);            // those worth a try
 *
 * Fewer data ranks play more micro-batches each: micro_batch and global_batch stay, gradient_accumulation follows, but
 * where the layout says one of them itself. */
#pragma once

#include "study.h"

/* What stands for all that study_layouts gives. */
#define STUDY_LAYOUT_AUTO "auto"

/* The study with a layout over it. `base`: of a run of the study, whose batch it keeps; NULL: as the settings have it.
 * Error: a key or value that is none. Caller frees. */
Study *study_lay_out(const Study *study, const char *layout, const RunIdentity *base, GError **error);

/* Powers of two of tensor (inside a node) times pipeline ranks, and of context ranks (inside a node) alone, as far as
 * the run's framework has the axes; which of them heads, layers and batch allow, the runs say. NULL-terminated, empty:
 * none. Caller frees. */
char **study_layouts(const RunReport *base);
/* The degree of an axis that a run was given ("parallel.tensor"). */
guint32 study_degree(const RunIdentity *identity, const char *axis);
