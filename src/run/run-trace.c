/* SPDX-License-Identifier: MIT */
/* Lines of the trace points of a run. */
#include "run-state.h"

const char *const run_trace_names[] = {"run.start", "run.end", "run.memory", "run.oom", "run.step", "run.fork", NULL};

void run_trace_row(const RunStream *stream, RunTracePoint point) {
  const RunPlay *play = stream->rank->play;
  const ProgramRow *row = run_row(stream->step, stream->head);
  base_trace_line(play->options->trace, run_trace_names[point], run_now(play),
                  "rank=%u step=%u row=%u stream=%s kind=%s layer=%d name=%s", stream->rank->index,
                  stream->step->number, stream->head, play->system->program->streams[row->stream],
                  program_kind_names[row->kind], row->layer, row->name);
}

void run_trace_memory(const RunRank *rank, const RunHeap *heap, RunTracePoint point) {
  const MemUse *use = mem_allocator_use(heap->allocator);
  base_trace_line(rank->play->options->trace, run_trace_names[point], run_now(rank->play),
                  "rank=%u allocated=%" G_GUINT64_FORMAT " reserved=%" G_GUINT64_FORMAT " outside=%" G_GUINT64_FORMAT,
                  rank->index, use->allocated, use->reserved, heap->outside);
}

void run_trace_fork(const RunRank *rank) {
  base_trace_line(rank->play->options->trace, run_trace_names[RUN_TRACE_FORK], run_now(rank->play), "rank=%u moves=%u",
                  rank->index, rank->memory.moved);
}

void run_trace_step(const RunRank *rank) {
  base_trace_line(rank->play->options->trace, run_trace_names[RUN_TRACE_STEP], run_now(rank->play),
                  "rank=%u step=%u took=%" G_GINT64_FORMAT, rank->index, rank->steps_ended, rank->period[0]);
}
