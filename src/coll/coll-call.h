/* What is asked of the communication library: an operation and its payload. Plain data, no times. */
#pragma once

#include <glib.h>

typedef enum { COLL_ALL_REDUCE, COLL_ALL_GATHER, COLL_REDUCE_SCATTER, COLL_OPERATIONS } CollOperation;
extern const char *const coll_operation_names[]; /* "all-reduce", "all-gather", "reduce-scatter" */

typedef struct {
  CollOperation operation;
  /* Payload in nccl-tests' sense: all-reduce the buffer; all-gather and reduce-scatter the whole gathered buffer (n × a
   * shard). */
  guint64 bytes;
} CollCall;
