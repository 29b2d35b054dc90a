/* SPDX-License-Identifier: MIT */
/* The Program: what every rank's host issues, as rows. It holds all that a run needs but the hardware.
 *
 * A Program is a list of *roles* (one per distinct behaviour), a map from rank to role, and *communicators* as rank
 * lists. A row names a *slot*; which communicator that is, each rank says: so one role serves ranks of many shard
 * groups. Rows of a role stand in the order in which its host issues them:
 *   - a row costs host_ps of the host thread, then queues on its stream; a stream runs its rows in order; collectives
 * of one communicator run in the order of issue;
 *   - `needs` are waits on the ends of earlier rows of the same section; a row on the stream `host` blocks the host on
 * them;
 *   - `takes` and `gives` act when the host reaches the row (a row on `host`: when its wait is over), gives before
 * takes; a give may name one stream that must first pass everything issued on it so far (PyTorch's record_stream);
 *   - the section `first` is played once, `steady` repeats. A tensor may be taken in one section and given in another.
 *
 *   ProgramBuilder *builder = program_builder_new();
 *   guint32 compute = program_builder_stream(builder, "compute");
 *   guint32 x = program_builder_tensor(builder, "layer0.x", MEM_ACTIVATIONS, 1 << 20);
 *   guint32 row = program_builder_compute(builder, compute, "gate_proj", op);
 *   program_builder_need(builder, earlier); program_builder_take(builder, x);       // of the row just added
 *   Program *program = program_builder_end(builder);
 */
#pragma once

#include "base-quantity.h"
#include "coll-call.h"

struct KernelOp;

/* COPY: between a GPU and host memory. CPU: the host's cores at work on host memory, beside the thread that issues. */
typedef enum { PROGRAM_COMPUTE, PROGRAM_COLLECTIVE, PROGRAM_HOST, PROGRAM_COPY, PROGRAM_CPU } ProgramKind;
extern const char *const program_kind_names[]; /* "compute", "collective", "host", "copy", "cpu" */

typedef enum {
  PROGRAM_PINNED,
  PROGRAM_PAGEABLE,
  PROGRAM_MANAGED, /* pages that the driver moves in, and others out before them */
  PROGRAM_PATHS
} ProgramPath;                                 /* host memory that a COPY reads or writes */
extern const char *const program_path_names[]; /* "pinned", "pageable", "managed" */
#define PROGRAM_MANAGED_WORD "managed"         /* of a tensor in a trace */

typedef enum {
  PROGRAM_SETUP,
  PROGRAM_FORWARD,
  PROGRAM_BACKWARD,
  PROGRAM_RECOMPUTE,
  PROGRAM_REDUCE,
  PROGRAM_OPTIMIZER,
  PROGRAM_GATHER,
  PROGRAM_PHASES
} ProgramPhase;
extern const char *const program_phase_names[];

/* What the cause of an exposed interval needs to know of a collective. PIPELINE: its members are at different stages,
 * and who is there first has nothing else to do. */
typedef enum { PROGRAM_HINT_NONE, PROGRAM_HINT_BUCKET, PROGRAM_HINT_BOUNDARY, PROGRAM_HINT_PIPELINE } ProgramHint;
extern const char *const program_hint_names[]; /* "", "bucket", "boundary", "pipeline" */

typedef enum { PROGRAM_FIRST, PROGRAM_STEADY, PROGRAM_SECTIONS } ProgramSectionKind;
extern const char *const program_section_names[]; /* "first", "steady" */

#define PROGRAM_NONE G_MAXUINT32

typedef struct {
  const char *name;
  ProgramKind kind;
  ProgramPhase phase;
  ProgramHint hint;
  gint32 layer; /* -1: none */
  gint32 micro; /* micro-batch, -1: none */
  guint32 stream;
  guint32 op;    /* COMPUTE: index into Program.ops; COPY: ProgramPath */
  guint32 group; /* COLLECTIVE: slot, see program_group */
  CollCall call; /* COLLECTIVE; COPY and CPU: bytes alone, of CPU all that are read and written */
  SimTime host;
  guint32 needs, n_needs; /* range in ProgramSection.needs: row indices */
  guint32 gives, n_gives; /* range in ProgramSection.gives */
  guint32 takes, n_takes; /* range in ProgramSection.takes: tensor indices */
} ProgramRow;

typedef struct {
  guint32 tensor;
  guint32 stream; /* must pass first; PROGRAM_NONE: at once */
} ProgramGive;

typedef struct {
  ProgramRow *rows;
  guint32 n_rows;
  guint32 *needs;
  ProgramGive *gives;
  guint32 *takes;
} ProgramSection;

typedef struct {
  const char *name;
  guint8 tenant; /* MemTenant */
  guint64 bytes;
  guint64 unique_bytes; /* of these, how much exists once over the cluster; the rest is copies */
  gboolean managed;     /* the driver's managed memory: beside the caching allocator */
} ProgramTensor;

typedef struct {
  const char *name;
  ProgramSection sections[PROGRAM_SECTIONS];
  guint32 ahead; /* where the steady section is known to repeat the first's rows: from this one on, but for takes made
                    once; 0: not known */
} ProgramRole;

typedef struct {
  const char *name;
  guint32 *ranks; /* ascending; indices into Program.ranks */
  guint32 n_ranks;
} ProgramCommunicator;

typedef struct {
  guint32 role;
  guint32 count;  /* equal ranks this one stands for: 1 until folded */
  guint32 device; /* rank on the cluster: whose GPU and links it uses */
} ProgramRank;

typedef struct Program Program;
struct Program {
  ProgramRole *roles;
  guint32 n_roles;
  ProgramRank *ranks;
  guint32 n_ranks;
  ProgramCommunicator *communicators;
  guint32 n_communicators;
  const char *const *slots; /* names */
  guint32 n_slots;
  guint32 *memberships;   /* rank × n_slots + slot → communicator, no two slots of a rank in one; NULL: a slot is the
                           communicator of its index, for all ranks */
  ProgramTensor *tensors; /* of all roles */
  guint32 n_tensors;
  struct KernelOp *ops; /* distinct operations; of batch 0: nothing is known but its duration */
  SimTime *durations;   /* by op: its time on a GPU at its full speed; -1: what the kernel model says of the GPU */
  guint32 n_ops;
  const char *const *streams; /* names; index 0 is "host" */
  guint32 *pools;             /* by stream: the stream whose memory its rows take */
  guint32 n_streams;
  /* Facts of the model that results are made of, per step over all ranks. */
  guint64 tokens;
  double model_flops;    /* forward and backward, attention in full, no recompute */
  double hardware_flops; /* executed: causal halves, recompute */
  int dtype;             /* KernelDtype of the matmuls: what utilisation divides by */
  GStringChunk *names;
  Program *source; /* held: whose rows and names these are, and all else but tensors, operations, facts; NULL: own */
  guint32 holders; /* beside the first */
};

/* Of one that is held the last call counts. */
void program_free(Program *program);
/* The same, to be freed once more. */
Program *program_hold(Program *program);
/* The same rows with tensors, operations and facts of their own, which may be changed; all else is the source's, which
 * it holds. Cost: O(tensors + operations). */
Program *program_like(Program *source);
/* Of one that was made so. */
void program_set_op(Program *program, guint32 index, const struct KernelOp *op);
/* The communicator that a rank's rows mean by a slot. */
static inline guint32 program_group(const Program *program, guint32 rank, guint32 slot) {
  return program->memberships != NULL ? program->memberships[rank * program->n_slots + slot] : slot;
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Program, program_free)

/* The slot by which a rank means a communicator; PROGRAM_NONE: by none. */
static inline guint32 program_slot(const Program *program, guint32 rank, guint32 communicator) {
  if (program->memberships == NULL)
    return communicator;
  for (guint32 slot = 0; slot < program->n_slots; slot++)
    if (program_group(program, rank, slot) == communicator)
      return slot;
  return PROGRAM_NONE;
}

typedef struct ProgramBuilder ProgramBuilder;

ProgramBuilder *program_builder_new(void);
void program_builder_free(ProgramBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProgramBuilder, program_builder_free)

/* Names are copied; equal names of rows become one pointer. Streams: "host" exists, index 0. Communicators: the slot
 * for its rows is returned. */
guint32 program_builder_stream(ProgramBuilder *builder, const char *name);
/* Rows of `stream` take memory of stream `of`: where a library's own stream plays what another hands over. Without this
 * a stream's own; of the host the first other one. */
void program_builder_pool(ProgramBuilder *builder, guint32 stream, guint32 of);
guint32 program_builder_communicator(ProgramBuilder *builder, const char *name, const guint32 *ranks, guint32 n);
/* The slot of a name; PROGRAM_NONE: there is none yet. */
guint32 program_builder_slot(const ProgramBuilder *builder, const char *name);
/* Communicators side by side, numbered from 0: rank i of `n_ranks` is in number `of_rank`[i]; PROGRAM_NONE: in none of
 * them. One slot for all. */
guint32 program_builder_communicators(ProgramBuilder *builder, const char *name, const guint32 *of_rank,
                                      guint32 n_ranks);
/* Ranks of the slot's first communicator, and whether they stand in several nodes of `per_node` ranks each. */
guint32 program_builder_group(const ProgramBuilder *builder, guint32 slot, guint32 per_node, gboolean *ret_far);
guint32 program_builder_tensor(ProgramBuilder *builder, const char *name, guint8 tenant, guint64 bytes,
                               guint64 unique_bytes);
/* It is managed memory. */
void program_builder_manage(ProgramBuilder *builder, guint32 tensor);
/* Copies the operation. */
guint32 program_builder_op(ProgramBuilder *builder, const struct KernelOp *op);
/* One that takes a given time, as a trace says; -1: what the kernel model says. */
guint32 program_builder_timed_op(ProgramBuilder *builder, const struct KernelOp *op, SimTime duration);
/* One that only moves bytes (an optimizer's pass, a copy). */
guint32 program_builder_memory_op(ProgramBuilder *builder, guint64 bytes);
/* The same by so many kernels, each of at least the device's floor. */
guint32 program_builder_memory_ops(ProgramBuilder *builder, guint64 bytes, guint32 launches);
/* Ranks that follow are of this role until the next; rows go to its current section. */
void program_builder_role(ProgramBuilder *builder, const char *name, guint32 n_ranks);
/* The same where ranks of a role do not stand side by side: which they are. All roles together must name every rank
 * from 0 on, once. */
void program_builder_role_of(ProgramBuilder *builder, const char *name, const guint32 *ranks, guint32 n_ranks);
void program_builder_section(ProgramBuilder *builder, ProgramSectionKind section);
/* Phase, layer and micro-batch of the rows that follow. */
void program_builder_context(ProgramBuilder *builder, ProgramPhase phase, gint32 layer, gint32 micro);

/* Each returns the row's index in its section. */
guint32 program_builder_compute(ProgramBuilder *builder, guint32 stream, const char *name, guint32 op);
guint32 program_builder_collective(ProgramBuilder *builder, guint32 stream, const char *name, guint32 group,
                                   CollCall call, ProgramHint hint);
guint32 program_builder_host(ProgramBuilder *builder, const char *name);
guint32 program_builder_copy(ProgramBuilder *builder, guint32 stream, const char *name, guint64 bytes,
                             ProgramPath path);
guint32 program_builder_cpu(ProgramBuilder *builder, guint32 stream, const char *name, guint64 bytes);
/* Of the row just added. Costs add up. A need on PROGRAM_NONE is nothing. */
void program_builder_cost(ProgramBuilder *builder, SimTime host);
void program_builder_need(ProgramBuilder *builder, guint32 row);
void program_builder_take(ProgramBuilder *builder, guint32 tensor);
/* In the first section alone: of what lasts. */
void program_builder_take_once(ProgramBuilder *builder, guint32 tensor);
void program_builder_give(ProgramBuilder *builder, guint32 tensor, guint32 stream);
/* Room is made for about so many rows of the current section, so that they need not move as it grows. */
void program_builder_expect(ProgramBuilder *builder, guint32 rows);
/* Rows of the current section so far. */
guint32 program_builder_rows(const ProgramBuilder *builder);
/* Makes the steady section of the last role the rows of the first from `ahead` on, without what they take once. */
void program_builder_repeat(ProgramBuilder *builder, guint32 ahead);
void program_builder_facts(ProgramBuilder *builder, guint64 tokens, double model_flops, double hardware_flops,
                           int dtype);

/* Ends building; the builder is freed. A row that needs itself or a later one, or a role without ranks, is a broken
 * contract. */
Program *program_builder_end(ProgramBuilder *builder);
