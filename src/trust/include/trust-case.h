/* SPDX-License-Identifier: MIT */
/* What a run is like: the features by which it is compared with runs that somebody measured.
 *
 *   TrustCase one;
 *   trust_case_read(report, bound_from, &one);     // one.words[TRUST_FRAMEWORK] "fsdp1", one.numbers[TRUST_GPUS] 64
 *   trust_case_clear(&one);
 *
 * A feature is a word, compared as it is, or a number, compared by its ratio. Options are settings that no feature
 * tells and that have another value than their default. The same table of features names the columns of
 * residuals.csv. */
#pragma once

#include "run-report.h"

typedef enum {
  TRUST_ARCHITECTURE, /* of the GPU; with the next two and its kind (trust-margin.h) a class of residuals */
  TRUST_FRAMEWORK,
  TRUST_BOUND, /* what the step is bound by: see trust_case_bound */
  TRUST_GPU,
  TRUST_FAMILY, /* of the model */
  TRUST_PRECISION,
  TRUST_ATTENTION,
  TRUST_COMPILE,
  TRUST_OPTIMIZER,
  TRUST_CHECKPOINTING, /* without its number */
  TRUST_TRAINABLE,     /* likewise */
  TRUST_STAGE,
  TRUST_SHARDING,
  TRUST_OFFLOAD,
  TRUST_NETWORK, /* between nodes: the platform; "none" on one node */
  TRUST_WORDS
} TrustWord;

typedef enum {
  TRUST_GPUS,
  TRUST_PARAMETERS,
  TRUST_SEQUENCE,
  TRUST_TOKENS, /* of a GPU's micro-batch */
  TRUST_ACCUMULATION,
  TRUST_TENSOR,
  TRUST_PIPELINE,
  TRUST_CONTEXT,
  TRUST_EXPERT,
  TRUST_NETWORK_RATE, /* of a GPU's NICs, bytes/s; 0 on one node */
  TRUST_NUMBERS
} TrustNumber;

extern const char *const trust_word_names[TRUST_WORDS + 1];     /* columns; NULL-terminated */
extern const char *const trust_number_names[TRUST_NUMBERS + 1]; /* likewise */

typedef struct {
  char *words[TRUST_WORDS];
  double numbers[TRUST_NUMBERS];
  char **options;             /* "group.key=value", NULL-terminated; NULL: none */
  gboolean tensor_over_nodes; /* more tensor ranks than a node has GPUs; of a report alone, no feature of tables */
} TrustCase;

/* `bound_from`: from which share of the step on something else than compute binds it. Cost: one pass over the
 * settings. */
void trust_case_read(const RunReport *report, double bound_from, TrustCase *ret);
void trust_case_clear(TrustCase *one);
TrustCase trust_case_copy(const TrustCase *one);

/* "host" (time idle or exposed because the host had issued nothing), "communication" (all other exposed time) or
 * "bubble", whichever takes most of the step, if that is `bound_from` or more; else "compute". */
const char *trust_case_bound(const RunClass *slowest, double bound_from);

/* A number as messages and tables have it: "64 GPUs", "6.74 B parameters". Caller frees. */
char *trust_number_shown(TrustNumber number, double value);
/* The same without its noun, for the limits of a range. Caller frees. */
char *trust_number_short(TrustNumber number, double value);
