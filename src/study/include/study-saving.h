/* SPDX-License-Identifier: MIT */
/* A checkpoint in the step where it happens: what nodes stage in host memory, how long they write, and what a step
 * takes beside that.
 *
 *   StudySaving saving;
 *   if (!study_saving_find(study, change, &options, &reliability, &saving, error)) return FALSE;
 *
 *   training  ──step──|copy|══step══|══step══|══step══|──step──      ═ beside the writing
 *   host memory            ▐███████ staged ████████▌
 *   storage                ▐███████ written ███████▌
 *
 * A node saves its share of the states. Where checkpoints are asynchronous they are copied to host memory first, and
 * written from there. Over a storage network of its own the writing meets nothing of the training; over the NICs of the
 * training (reliability.storage_network = shared) these have so much less for it, and the step is played once more that
 * way. */
#pragma once

#include "study-reliability.h"

typedef struct {
  double bytes, node_bytes;       /* of a checkpoint, and what each node writes of it */
  double write;                   /* seconds */
  guint64 staged;                 /* host memory of a node that holds it meanwhile; 0: synchronous, none does */
  guint64 host_used, host_memory; /* of a node: what offload keeps there already, and what there is; 0: not stated */
  SimTime step, beside;           /* without, and while it is written; beside 0: on a network of its own, or alone */
} StudySaving;

/* `change`: as StudyAdvised has it. Errors: of a run; NICs that have no more than the writing takes. Cost: two runs. */
gboolean study_saving_find(const Study *study, const char *change, const StudyOptions *options,
                           const StudyReliability *reliability, StudySaving *ret, GError **error);
/* Staged beside what is there already, it is more than the node's memory. */
static inline gboolean study_saving_is_short(const StudySaving *saving) {
  return saving->host_memory > 0 && saving->host_used + saving->staged > saving->host_memory;
}
