/* SPDX-License-Identifier: MIT */
/* A rank's Chakra trace as its nodes, whoever reads the messages. Private to this floor.
 *
 *   g_autoptr(ImportChakraTrace) trace = import_chakra_read("step.0.et", bytes, error);
 *   if (trace == NULL || !import_chakra_order(trace, error)) return FALSE;      // nodes[i] needs only earlier ones
 *
 * Errors (SIM_ERROR_INPUT): what is no such file or is cut off, with byte and node; attributes that are missing or
 * beyond all sense; a node whose data come from one which the file does not have, or for itself in a circle. */
#pragma once

#include "base-quantity.h"
#include "coll-call.h"
#include "program.h"

typedef enum {
  IMPORT_CHAKRA_HOST,
  IMPORT_CHAKRA_COMPUTE,
  IMPORT_CHAKRA_COPY, /* loads from and stores to a memory that is not the GPU's */
  IMPORT_CHAKRA_COLLECTIVE,
  IMPORT_CHAKRA_SEND,
  IMPORT_CHAKRA_RECEIVE,
  IMPORT_CHAKRA_NOTHING /* says something of the trace, and takes no time */
} ImportChakraKind;

#define IMPORT_CHAKRA_NONE (-1)

typedef struct {
  guint64 id;
  ImportChakraKind kind;
  const char *name, *group;       /* group: "" or NULL is all ranks */
  const char *stream;             /* NULL: not stated */
  SimTime start, duration, issue; /* issue: what the host pays to issue it, or before it waits; -1: not stated */
  double operations;              /* of compute: floating point */
  guint64 bytes;                  /* of compute its traffic; a copy's; what a rank brings to a collective, or sends */
  int operation;                  /* CollOperation; IMPORT_CHAKRA_NONE: none that NCCL has */
  int phase;                      /* ProgramPhase; IMPORT_CHAKRA_NONE: not stated */
  gint64 peer, tag;               /* of a send or receive; IMPORT_CHAKRA_NONE */
  gint32 layer;                   /* IMPORT_CHAKRA_NONE */
  guint needs, n_needs;           /* range in ImportChakraTrace.needs */
  guint n_controls;               /* the first of those as read: control dependencies, the others data's */
} ImportChakraNode;

typedef struct {
  char *path;
  GArray *nodes;           /* ImportChakraNode */
  GArray *needs;           /* guint64: ids as read; indices of nodes once ordered */
  gboolean has_data_needs; /* then control dependencies are none */
  GStringChunk *names;
} ImportChakraTrace;

/* The k-th node that one needs, once ordered. */
static inline guint import_chakra_need(const ImportChakraTrace *trace, const ImportChakraNode *node, guint k) {
  return (guint)g_array_index(trace->needs, guint64, node->needs + k);
}

ImportChakraTrace *import_chakra_read(const char *path, GBytes *bytes, GError **error);
void import_chakra_trace_free(ImportChakraTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportChakraTrace, import_chakra_trace_free)

/* In the order in which a host can issue them: after what they need; of those that can go what the GPU does before what
 * the host does, then by start and id; where every node says what issuing costs, by id. Cost: O(n log n). */
gboolean import_chakra_order(ImportChakraTrace *trace, GError **error);
