/* The memory of a rank: the ledger says who holds what, the caching allocator what the device must hold for it. Private to
 * this floor. */
#pragma once

#include "mem-allocator.h"
#include "mem-ledger.h"
#include "run-device.h"
#include "run-report.h"

typedef struct {
  guint64 ordinal; /* of the row, on its stream, that must have ended */
  guint32 tensor, block;
} RunFree;

typedef struct {
  MemLedger ledger;
  MemAllocator *allocator;
  guint64 outside;     /* of the device's bytes, beside the allocator */
  guint32 *blocks;     /* by tensor; PROGRAM_NONE: it is not held */
  gboolean *connected; /* by slot: its communicator has its buffers */
  guint64 device_peak; /* most that was reserved and outside */
  guint32 device_peak_step;
  guint64 unique[MEM_TENANTS], unique_at_peak[MEM_TENANTS];
  guint32 peak_step, peak_row; /* row being issued when the peak was reached */
  SimTime peak_since_step;
  gboolean has_oom;
  RunOom oom;
  GArray *samples; /* RunMemorySample, absolute times */
} RunHeap;

void run_memory_begin(RunRank *rank);
void run_memory_clear(RunRank *rank);
/* NCCL's buffers of a collective's communicator: allocated with the first call. */
void run_memory_connect(RunRank *rank, const RunStep *step, guint32 row);
/* The host has come to a row: its gives, the buffers of its communicator, its takes. FALSE: the host must stop, for all
 * streams or for the device's allocator, and act again when it goes on. */
gboolean run_memory_act(RunRank *rank, RunStep *step, guint32 row);
/* Of use again once what was issued on `stream` so far has ended; NULL: at once. */
void run_memory_give(RunRank *rank, guint32 tensor, RunStream *stream);
/* So many rows of the stream have ended. */
void run_memory_pass(RunStream *stream, guint64 ended);
