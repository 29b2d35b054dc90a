/* SPDX-License-Identifier: MIT */
/* Chakra execution traces (MLCommons), one file per rank, as a Program: they replay here as ASTRA-sim plays them.
 *
 *   ImportChakraOptions how = {.groups = "step.groups.json"};
 *   ProgramOrigin origin = {0};
 *   g_autoptr(Program) program = import_chakra_program(paths, n, &how, &origin, error);
 *   program_trace_write(program, &origin, NULL, text);
 *
 * Nodes wait for their data dependencies; for their control dependencies where the file has no others (PyTorch's are
 * who called whom). They become rows: of the host (is_cpu_op) a wait for what they need and then their time; compute
 * with its duration (duration_ps where we wrote it, else microseconds), or without one by num_ops and tensor_size, as a
 * square matmul of so many operations that moves so many bytes; memory loads and stores as copies from host memory;
 * collectives, sends and receives by comm_size, simulated. Streams are those of the attribute `stream`; without it all
 * compute is one, and each group's communication another. The step has ended when all nodes have. Of nodes that wait
 * for nothing the GPU's are issued before the host's next one, since such traces do not say when a host issues.
 *
 * Errors (SIM_ERROR_INPUT): as import-chakra-node.h says; a group of no stated ranks, or without this one; of one file,
 * a group that is not all ranks, or a send; collectives that NCCL has none of; a send that nobody receives. A program
 * built without protobuf-c refuses all. */
#pragma once

#include "program-trace.h"

typedef struct {
  const char *groups;          /* JSON, {"1": [0, 1, 2, 3]}: ranks by group, as ASTRA-sim takes them; NULL: none */
  guint32 ranks;               /* that one file stands for; 0: those of `groups`, or as many as there are files */
  gboolean keep_communication; /* it takes the duration that its node states */
} ImportChakraOptions;

/* Paths of files or of tar archives of them; where all names end in .0.et, .1.et, … they are put in that order, else
 * the first is rank 0. *ret_origin is to be cleared. */
Program *import_chakra_program(const char *const *paths, guint n, const ImportChakraOptions *options,
                               ProgramOrigin *ret_origin, GError **error);
