/* Takes and gives of a rank: the ledger, how much of it is unique, the row of the peak, the first request that did not
 * fit. */
#include <string.h>

#include "run-state.h"

/* The main thread and autograd's each hold a cuBLAS handle: one workspace each on the compute stream. */
#define WORKSPACE_HANDLES 2

static void sample(RunRank *rank) {
  if (!rank->play->options->timeline)
    return;
  SimTime now = run_now(rank->play);
  RunMemorySample *last =
      rank->samples->len > 0 ? &g_array_index(rank->samples, RunMemorySample, rank->samples->len - 1) : NULL;
  if (last == NULL || last->at != now) {
    g_array_set_size(rank->samples, rank->samples->len + 1);
    last = &g_array_index(rank->samples, RunMemorySample, rank->samples->len - 1);
    last->at = now;
  }
  memcpy(last->held, rank->ledger.held, sizeof last->held);
}

static SimTime since_step(const RunRank *rank) {
  return run_now(rank->play) - (rank->last != NULL ? rank->last->end : 0);
}

static void take_bytes(RunRank *rank, MemTenant tenant, guint64 bytes, guint64 unique, const RunStep *step, guint32 at,
                       const char *tensor) {
  MemLedger *ledger = &rank->ledger;
  const ProgramRow *row = step != NULL ? run_row(step, at) : NULL;
  guint64 free = ledger->total < ledger->capacity ? ledger->capacity - ledger->total : 0;
  guint64 peak = ledger->peak;
  rank->unique[tenant] += unique;
  if (!mem_ledger_take(ledger, tenant, bytes, run_now(rank->play))) {
    rank->has_oom = TRUE;
    rank->oom = (RunOom){.at = since_step(rank),
                         .step = step != NULL ? step->number : 0,
                         .row = at,
                         .name = row != NULL ? row->name : "start",
                         .layer = row != NULL ? row->layer : -1,
                         .phase = program_phase_names[row != NULL ? row->phase : PROGRAM_SETUP],
                         .tenant = mem_tenant_names[tenant],
                         .tensor = tensor,
                         .requested = bytes,
                         .free = free};
  }
  if (ledger->peak > peak) {
    memcpy(rank->unique_at_peak, rank->unique, sizeof rank->unique);
    rank->peak_since_step = since_step(rank);
    rank->peak_step = step != NULL ? step->number : 0;
    rank->peak_row = at;
  }
  sample(rank);
}

void run_memory_begin(RunRank *rank) {
  const RunSystem *system = rank->play->system;
  mem_ledger_init(&rank->ledger, system->gpu->memory_usable);
  take_bytes(rank, MEM_OVERHEAD, system->gpu->context_bytes, system->gpu->context_bytes, NULL, 0, "CUDA context");
  guint64 workspaces = WORKSPACE_HANDLES * system->gpu->workspace_bytes;
  take_bytes(rank, MEM_OVERHEAD, workspaces, workspaces, NULL, 0, "cuBLAS workspaces");
  for (guint32 c = 0; c < system->program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &system->program->communicators[c];
    for (guint32 i = 0; i < communicator->n_ranks; i++)
      if (communicator->ranks[i] == rank->index)
        take_bytes(rank, MEM_OVERHEAD, system->groups[c]->buffer_bytes, system->groups[c]->buffer_bytes, NULL, 0,
                   "NCCL buffers");
  }
}

void run_memory_take(RunRank *rank, guint32 tensor, const RunStep *step, guint32 row) {
  const ProgramTensor *taken = &rank->play->system->program->tensors[tensor];
  take_bytes(rank, taken->tenant, taken->bytes, taken->unique_bytes, step, row, taken->name);
}

void run_memory_give(RunRank *rank, guint32 tensor) {
  const ProgramTensor *given = &rank->play->system->program->tensors[tensor];
  mem_ledger_give(&rank->ledger, given->tenant, given->bytes, run_now(rank->play));
  rank->unique[given->tenant] -= given->unique_bytes;
  sample(rank);
}
