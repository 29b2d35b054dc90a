/* SPDX-License-Identifier: MIT */
/* Trace files (`*.trace.csv`): a Program as text that people read, compare line by line, edit and play.
 *
 *   # foretrain_trace = 1                       the head: key = value, a line each
 *   # workload = llama2-7b
 *   # gpu = h100-sxm5-80gb                      whose the durations are
 *   # streams = host compute comm
 *   # pool.comm = compute                       whose memory the rows of a stream take, where not their own
 *   # role.rank = 0-15                          which ranks behave so
 *   # communicator.data-parallel = 0-15
 *   # communicator.shard = 0-7 | 8-15            two side by side: each rank means its own
 *   role,step,task,stream,kind,name,…           the columns, then a row a line, as the host issues them
 *   rank,first,0,host,host,load the model,…
 *
 *   program_trace_write(program, &origin, durations, text);
 *   g_autoptr(Program) program = program_trace_read("a.trace.csv", data, length, &origin, error);
 *
 * Reading what was written gives a Program that plays to the same report, to the picosecond and the byte. Names that
 * several tensors, roles or communicators share are told apart by an ending "#2"; a space, comma or the like inside a
 * list is written as in URLs (%20). program_trace_reference prints every key and column. Rules that a file must keep:
 * program-check.h. */
#pragma once

#include "base-json.h"
#include "program.h"

/* What a trace says of where it comes from: reports state it, nothing is computed of it. */
typedef struct {
  char *workload, *model, *framework, *precision, *activation_checkpointing; /* NULL: not known */
  char *topology, *gpu; /* it was made for; `gpu` is whose the durations are */
  guint64 parameters, zero_stage, sequence_length, micro_batch, gradient_accumulation, global_batch;
  double total_tokens; /* 0: not stated */
  char **notes;        /* assumptions that its maker states; NULL: none */
  char **settings;     /* "nccl.algo = ring": of the libraries it ran with, for who plays it; NULL: none */
} ProgramOrigin;

void program_origin_clear(ProgramOrigin *origin);

/* Appends. `durations`: by op, of compute on the origin's GPU; NULL: the Program's own, and rows without one have their
 * shape alone. */
void program_trace_write(const Program *program, const ProgramOrigin *origin, const SimTime *durations, GString *text);

/* `file` stands for the text in errors, all of which are SIM_ERROR_INPUT with file and line; those of a row name its
 * task, role and ranks. *ret_origin is to be cleared. Cost: about 1 us a row. */
Program *program_trace_read(const char *file, const char *data, gsize length, ProgramOrigin *ret_origin,
                            GError **error);

/* Every key of the head and every column, with what it means. Appends. */
void program_trace_reference(GString *text);
/* The same as members of the object that was begun: "head" [{"key", "meaning", "required"}], "columns" [{"column",
 * "meaning", "values" (empty: any)}]. */
void program_trace_reference_json(BaseJson *json);
