/* SPDX-License-Identifier: MIT */
/* What is asked of the communication library: an operation and its payload. Plain data, no times. */
#pragma once

#include <glib.h>

typedef enum {
  COLL_ALL_REDUCE,
  COLL_ALL_GATHER,
  COLL_REDUCE_SCATTER,
  COLL_BROADCAST, /* from the first member */
  COLL_REDUCE,    /* to the first member */
  /* Every member sends to the next and receives from the one before. Neighbours of a pipeline are a communicator of
   * two: one call is a batch in which each sends to the other (activations one way, gradients the other), at the time
   * of one, since links are as fast both ways. Where only one sends, the same call takes that time, but loads the way
   * back too. */
  COLL_SEND_RECV,
  COLL_ALL_TO_ALL,
  COLL_OPERATIONS
} CollOperation;
extern const char *const coll_operation_names[]; /* "all-reduce", "all-gather", "reduce-scatter", "broadcast", … */

typedef struct {
  CollOperation operation;
  /* Payload in nccl-tests' sense: all-reduce, broadcast and reduce the buffer; all-gather and reduce-scatter the whole
   * gathered buffer (n × a shard); send-recv what one member sends; all-to-all all that one member sends, itself
   * included. */
  guint64 bytes;
} CollCall;

/* A scalar fits one line of the protocol LL, 8 bytes and their flags (NCCL src/include/device.h, ncclLLFifoLine): it is
 * on a link for less than a packet, so it takes its time and shares none. */
#define COLL_SCALAR_BYTES 8
static inline gboolean coll_call_shares(const CollCall *call) {
  return call->bytes > COLL_SCALAR_BYTES;
}
