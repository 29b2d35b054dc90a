/* SPDX-License-Identifier: MIT */
/* A profiler's trace as its events of one GPU and of the threads that drive it, read front to back and not held.
 * Private to this floor.
 *
 *   g_autoptr(ImportKinetoTrace) trace = import_kineto_read("rank0.json", error);
 *   … trace->kernels (ImportKinetoKernel), trace->calls (ImportKinetoCall), trace->marks …
 *
 * Kernels whose names say so (NCCL's and RCCL's, DeepEP's, PyTorch's symmetric memory) are communication; other
 * kernels, and copies within the GPU, compute; copies from and to the host neither. Of several GPUs in a file the first
 * is taken. Times are since the file's first event. Errors (SIM_ERROR_INPUT): no such file, no JSON (with line), no
 * kernels, times that are no trace's. Cost: about 5 ns a byte. */
#pragma once

#include "base-span.h"
#include "coll-call.h"
#include "import-kineto.h"
#include "kernel-op.h"

#define IMPORT_KINETO_NONE (-1)

typedef struct {
  BaseSpan at;           /* first, to sort by */
  ImportCollective what; /* IMPORT_COLLECTIVES: compute */
  gboolean copies;       /* from or to host memory: neither compute nor communication */
  gboolean pageable;     /* of copies */
  gboolean foreign;      /* communicates, and is neither NCCL's nor RCCL's */
  gboolean before;       /* silent, and launched before the file begins */
  const char *name;
  gint64 stream, correlation; /* IMPORT_KINETO_NONE: not stated */
  int operation;              /* CollOperation; IMPORT_KINETO_NONE: its arguments do not say */
  guint64 bytes;              /* CollCall's payload, or of a copy; 0: not stated */
  gint group;                 /* index in ImportKinetoTrace.groups; IMPORT_KINETO_NONE */
} ImportKinetoKernel;

/* What a thread asked of the device. */
typedef enum { IMPORT_KINETO_LAUNCH, IMPORT_KINETO_STREAM_WAIT, IMPORT_KINETO_HOST_WAIT } ImportKinetoCallKind;
typedef struct {
  BaseSpan at;
  ImportKinetoCallKind kind;
  const char *name;
  gint64 thread, correlation;
} ImportKinetoCall;

/* Where an optimizer steps, where a layer's module runs: on one thread. */
typedef struct {
  BaseSpan at;
  gint64 thread;
  gint32 layer; /* IMPORT_KINETO_NONE: the optimizer */
} ImportKinetoScope;

/* An operation that autograd numbers: its backward has the same number, on another thread. */
typedef struct {
  BaseSpan at;
  gint64 thread, sequence;
  gboolean backward, matmul;
  gint32 layer; /* of the scope around it, of a backward that of its forward; IMPORT_KINETO_NONE */
} ImportKinetoOp;

/* What the host noted of a collective: see import-kineto-notes.h. */
typedef struct {
  BaseSpan at;
  gint64 thread;
  int operation; /* CollOperation */
  guint64 bytes; /* CollCall's payload */
  gboolean part; /* or one member's part of it */
  gint group;    /* index in ImportKinetoTrace.groups; IMPORT_KINETO_NONE */
} ImportKinetoNote;

/* An operation that PyTorch was called for, with the shapes that its profiler noted (record_shapes). */
typedef struct {
  BaseSpan at;
  gint64 thread;
  KernelOp op;
} ImportKinetoShaped;

typedef struct {
  const char *name; /* of the process group */
  GArray *ranks;    /* guint32, ascending; empty: not stated */
  guint64 size;
} ImportKinetoGroup;

typedef struct {
  char *path;
  GArray *kernels;      /* ImportKinetoKernel, in order of start */
  GArray *calls;        /* ImportKinetoCall, likewise */
  GHashTable *launches; /* gint64 correlation → ImportKinetoCall in `calls` that launches; looked up, never walked */
  GArray *scopes;       /* ImportKinetoScope, likewise */
  GArray *ops;          /* ImportKinetoOp, likewise */
  GArray *notes;        /* ImportKinetoNote, likewise */
  GArray *shaped;       /* ImportKinetoShaped, likewise */
  GArray *gpu_marks, *marks; /* BaseSpan, of steps; without those in which nothing is launched */
  GArray *groups;            /* ImportKinetoGroup */
  guint marked;              /* as the host marked them, those included in which nothing is launched */
  SimTime last_mark;         /* start of the last of them */
  gint64 main_thread;        /* the one that marks steps; IMPORT_KINETO_NONE */
  char *device_id;           /* the first that a kernel names; NULL: none does */
  char *device;              /* its name: "NVIDIA H100 80GB HBM3"; NULL: not stated */
  char *nccl_version;        /* "2.22.3"; NULL: not stated */
  gint64 rank, world;        /* IMPORT_KINETO_NONE: not stated */
  guint foreign;             /* kernels that communicate and are not NCCL's or RCCL's */
  gboolean stacked;          /* Python's calls are in it (with_stack) */
  GStringChunk *names;
} ImportKinetoTrace;

struct ImportExecution; /* import-execution.h */
ImportKinetoTrace *import_kineto_read(const char *path, GError **error);
/* The same of a file that is read already; `path` for messages. `execution`: of the same run, NULL: none. */
ImportKinetoTrace *import_kineto_parse(const char *path, GBytes *bytes, struct ImportExecution *execution,
                                       GError **error);
void import_kineto_free(ImportKinetoTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportKinetoTrace, import_kineto_free)

/* FALSE, and the sentence: the file begins as one of another tool's that is no such trace. */
gboolean import_kineto_check(const char *path, const char *data, gsize length, GError **error);

/* The step that is taken: see import-kineto.h. ret_n: how many are marked; ret_taken: which, from 1 on, 0: all is one.
 * Sorts the marks. */
BaseSpan import_kineto_step(ImportKinetoTrace *trace, guint *ret_n, guint *ret_taken);
/* The same by the host's marks, whatever the GPU's are; *ret_n 0: there are none. */
BaseSpan import_kineto_host_step(ImportKinetoTrace *trace, guint *ret_n, guint *ret_taken);
/* Its kernels as sums, and those of the whole file; steps and taken are left. */
void import_kineto_sum(const ImportKinetoTrace *trace, BaseSpan step, ImportKineto *ret);
ImportKinetoFigures import_kineto_figures(const ImportKinetoTrace *trace);
