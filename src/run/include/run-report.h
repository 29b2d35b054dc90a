/* SPDX-License-Identifier: MIT */
/* The Report: everything one run found, in plain data that needs no other room to read.
 *
 * `study` fills the identity (what was asked), `run` the results (what came of it), `store` writes both. Times are of
 * the last steady step (0 is its start), picoseconds; sizes are bytes. Per rank class: compute + exposed + idle = step,
 * exactly.
 *
 *   for (guint32 i = 0; i < report->n_classes; i++) … report->classes[i].step …
 *   run_report_free(report);
 */
#pragma once

#include "base-quantity.h"

/* Results change when foretrain's models change: part of every run key. */
#define RUN_MODEL_VERSION "2"

/* Edge: whether it fits cannot be told, since the capacity lies between what the peak may be at least and at most; or
 * it fits only because the allocator gave its cache back. From good to bad. */
typedef enum { RUN_FITS, RUN_EDGE, RUN_OOM } RunVerdict;
extern const char *const run_verdict_names[]; /* "fits", "edge", "oom" */

/* Why a rank computes nothing: the contract's order of precedence. BUBBLE and HOST_IDLE are idle, all others exposed.
 */
typedef enum {
  RUN_CAUSE_TAIL,
  RUN_CAUSE_HOST,
  RUN_CAUSE_SERIALISED,
  RUN_CAUSE_STRAGGLER,
  RUN_CAUSE_BOUNDARY,
  RUN_CAUSE_BUCKET_FILL,
  RUN_CAUSE_LATENCY,
  RUN_CAUSE_BANDWIDTH,
  RUN_CAUSE_BUBBLE,
  RUN_CAUSE_HOST_IDLE,
  RUN_CAUSES
} RunCause;
extern const char *const run_cause_names[]; /* "tail", "host", "serialised", … */

/* Bubble and host-idle: nothing communicates either. */
static inline gboolean run_cause_is_idle(RunCause cause) {
  return cause == RUN_CAUSE_BUBBLE || cause == RUN_CAUSE_HOST_IDLE;
}

typedef struct {
  guint32 row;                              /* task_id: row of the steady section */
  const char *stream, *kind, *name, *phase; /* owned by the report's string chunk */
  gint32 layer, micro;                      /* -1: none */
  SimTime issued, host; /* when the host had issued it, before its step began where negative; what that took it */
  SimTime start, end;
  guint32 repeats; /* for how many it stands: 1, or more in a body of micro-batches that was counted */
} RunTask;

typedef struct {
  guint32 row;
  const char *operation, *algorithm, *protocol;
  guint32 channels, group_size;
  guint64 bytes;
  SimTime queued, start, end; /* queued: issued by the host, its needs met; start: resident */
  double bus_bandwidth;       /* bytes/s */
  guint32 repeats;            /* as of a task */
} RunCollective;

typedef struct {
  SimTime start, end;
  guint32 row; /* the collective that the next compute waits for; G_MAXUINT32: none */
  RunCause cause;
  guint32 repeats; /* as of a task */
} RunExposure;

/* The part of a kept timeline that stands for more than itself: what lies in it comes `more` times again, each `period`
 * later. */
typedef struct {
  SimTime start, end, period;
  guint64 more; /* 0: every micro-batch is kept */
} RunCounted;

#define RUN_TENANTS 7
extern const char *const run_tenant_names[]; /* as mem_tenant_names */

typedef struct {
  SimTime at;
  guint64 held[RUN_TENANTS];
} RunMemorySample;

typedef struct {
  SimTime at;   /* since the start of its step */
  guint32 step; /* 0: the first */
  guint32 row;
  const char *name, *phase; /* of the row */
  gint32 layer;             /* -1: none */
  const char *tenant, *tensor;
  guint64 requested, free;
  guint64 allocated, reserved; /* by the allocator at that moment, its cache given back */
  guint64 held[RUN_TENANTS];   /* the composition at that moment */
} RunOom;

typedef struct {
  guint32 ranks;       /* how many */
  guint32 first_rank;  /* the least of them */
  const char *members; /* all of them, "0-16,18-63"; NULL: not told */
  const char *apart;   /* why they are not of another class; NULL: nothing sets them apart, or not told */
  const char *role;    /* what they do that others do not: "stage 1: layers 8-15"; NULL: all do the same, or not told */
  SimTime step, compute, communication, exposed, idle, host, bubble;
  SimTime by_cause[RUN_CAUSES];
  SimTime watched; /* when its host came to the micro-batch that was watched, since the step's start; 0: none was */
  guint64 network_bytes_intra, network_bytes_inter; /* sent per GPU and step */
  RunVerdict verdict;
  guint64 capacity, short_by;
  guint64 steady_allocated; /* between steps */
  guint64 peak_allocated;   /* torch's max_memory_allocated: blocks that tensors hold, workspaces among them */
  guint64 peak_active;      /* those, and blocks that wait for a stream */
  guint64 peak_reserved;    /* torch's max_memory_reserved: segments */
  guint64 device_used;      /* peak of what nvidia-smi shows: reserved, context, NCCL's buffers */
  guint64 managed;          /* of these, pages that the driver may move to host memory, at the end of play */
  guint64 device_used_low;  /* least and most that it may be in truth: see run_report_judge */
  guint64 device_used_high;
  guint32 device_used_step; /* in which it is first reached */
  guint64 retries;          /* times the allocator gave its cache back to meet a request, over all steps */
  guint64 step_retries;     /* of these, in the last step */
  SimTime step_stalled; /* host time that they took there: all streams waited for, segments given back and taken anew */
  guint64 peak_held[RUN_TENANTS], peak_unique[RUN_TENANTS]; /* when tensors hold most */
  SimTime peak_at;                                          /* since the start of peak_step */
  guint32 peak_step;                                        /* 0: the first step, 1: the first steady one … */
  const char *peak_name;                                    /* row at the peak */
  gint32 peak_layer;
  const char *peak_phase;
  gboolean has_oom;
  RunOom oom;
  /* The last steady step; empty in summary-only runs. */
  RunTask *tasks; /* by row */
  guint32 n_tasks;
  RunCollective *collectives; /* by row */
  guint32 n_collectives;
  RunExposure *exposures; /* by start, disjoint */
  guint32 n_exposures;
  RunMemorySample *samples; /* levels after each instant at which they changed; the first at 0 */
  guint32 n_samples;
  RunCounted counted;
} RunClass;

typedef struct {
  const char *link_class;
  guint32 links;
  double bytes;       /* over all links of the class, in the step */
  SimTime busy;       /* of the busiest */
  double capacity;    /* bytes/s, of all together */
  double utilisation; /* bytes / (capacity × step) */
  const char *apart;  /* which of them differ from the others; NULL: all are alike, or not told */
} RunLink;

typedef struct {
  char *name, *value, *origin;
  gboolean usual; /* the value is the default's, whoever gave it */
} RunSetting;

typedef struct {
  char *run_key; /* SHA-256, hexadecimal */
  char *workload, *topology, *model, *gpu, *framework;
  char *architecture;  /* of the GPU */
  double network_rate; /* bytes/s of a GPU's NICs; 0: none */
  guint32 zero_stage, gpus, nodes;
  guint64 parameters;
  guint64 sequence_length, micro_batch, gradient_accumulation, global_batch;
  char *precision, *activation_checkpointing;
  RunSetting *settings; /* canonical order */
  guint32 n_settings;
  char **notes;        /* assumptions the output must state, NULL-terminated */
  double gpu_hour;     /* USD; 0: no price */
  double total_tokens; /* 0: not stated */
} RunIdentity;

/* How micro-batches of RunWindows followed each other, if any were asked for. SETTLED: one body as the other to the
 * picosecond. SETTLING: in the same time, but how it splits still drifts; what is counted takes the later's, and may be
 * off by what run-window.h allows. Else they are not counted: the Report is of those that were played. */
typedef enum { RUN_UNSETTLED, RUN_SETTLING, RUN_SETTLED } RunSettled;

/* What the database did not keep of a report that was loaded from it. */
enum {
  RUN_MISSING_TIMELINE = 1, /* tasks, collectives, exposures, samples, by_cause */
  RUN_MISSING_DETAILS = 2,  /* who held the memory at its peak, links, notes, settings left at their defaults */
};

typedef struct {
  RunIdentity identity;
  guint32 missing;  /* 0: nothing */
  guint32 slowest;  /* class whose times stand for the step */
  guint32 tightest; /* of the classes with the worst verdict the one nearest to, or furthest over, its capacity */
  RunVerdict verdict;
  guint64 host_used;           /* host memory of a node that offload keeps or paged states have; 0: none */
  guint64 host_capacity;       /* of a node; 0: not stated, or nothing asks for it */
  guint64 paged, paged_host;   /* a GPU's paged states, and what of them lies in host memory between steps; 0: none */
  SimTime step_low, step_high; /* interval around the step of the slowest class; 0: not known */
  guint32 validated_rows;      /* published rows like this run */
  char *envelope;              /* whether anything like it was validated, in words; NULL: not asked */
  guint64 tokens;              /* per step, all ranks */
  double model_flops;          /* of a step, all ranks: attention in full, nothing twice */
  double hardware_flops;       /* executed */
  double peak_flops;           /* FLOP/s of all GPUs together: the data sheet's dense peak */
  double tokens_per_second, tokens_per_second_per_gpu;
  double model_flops_utilisation,
      hardware_flops_utilisation; /* of the data sheet's dense peak; model: attention in full; hardware: executed */
  double price_per_step, price_per_million_tokens, days_to_train, price_to_train; /* 0: not known */
  double gpu_power;                                     /* watts of a GPU's board, mean of the step; 0: not known */
  double energy_per_step, energy_to_train, energy_cost; /* kWh at the building's meter; USD to train; 0: not known */
  guint32 steps_played;                                 /* steady steps until they repeated */
  gboolean repeats;                                     /* FALSE: still changing after the most that are played */
  RunSettled settled;
  RunClass *classes;
  guint32 n_classes;
  RunLink *links;
  guint32 n_links;
  guint64 events;      /* played */
  double wall_seconds; /* of the simulation: provenance, not a result */
  GStringChunk *names;
} RunReport;

/* Frees the arrays, the strings of `identity` (g_malloc'ed, notes a strv) and `names`, which owns every const string.
 */
void run_identity_clear(RunIdentity *identity);
/* The value of a setting ("group.key"), canonical; NULL: it is not among the identity's. The identity owns it. */
const char *run_identity_setting(const RunIdentity *identity, const char *name);
void run_report_free(RunReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunReport, run_report_free)
/* The class that decides: chooses the slowest for the times and the tightest for memory and verdict, of equals the
 * first, once all classes stand. */
void run_report_choose(RunReport *report);
/* Verdicts of the classes and of the whole, once it is known that peaks of reserved memory are `low` (at most 1) to
 * `high` (at least 1) times what is foretold. What lies outside the allocator is taken as it is. */
void run_report_judge(RunReport *report, double low, double high);
/* Offload, or paged states, need more than the node has: the verdict is oom, whatever the device has to spare. */
static inline gboolean run_report_host_short(const RunReport *report) {
  return report->host_capacity > 0 && report->host_used > report->host_capacity;
}
/* "edge" counts as fitting only where it was asked to. */
static inline gboolean run_report_fits(const RunReport *report, gboolean edge_fits) {
  return report->verdict == RUN_FITS || (edge_fits && report->verdict == RUN_EDGE);
}
static inline const RunClass *run_report_slowest(const RunReport *report) {
  return &report->classes[report->slowest];
}
static inline const RunClass *run_report_tightest(const RunReport *report) {
  return &report->classes[report->tightest];
}
/* Memory runs out as foretold, the device's or the host's: times are those if it fitted. */
static inline gboolean run_report_runs_out(const RunReport *report) {
  return run_report_tightest(report)->has_oom || run_report_host_short(report);
}
/* The class's tasks (const RunTask *) by start, of one start by row. Caller unrefs. */
GPtrArray *run_class_by_start(const RunClass *rank_class);
/* The task, the collective of a row; NULL: none, or no row (G_MAXUINT32). Cost: a bisection. */
const RunTask *run_class_task(const RunClass *rank_class, guint32 row);
const RunCollective *run_class_collective(const RunClass *rank_class, guint32 row);
/* Whether a tenant's level at a sample is another than before; at the first each is. */
static inline gboolean run_sample_changes(const RunClass *rank_class, guint32 sample, guint tenant) {
  return sample == 0 || rank_class->samples[sample].held[tenant] != rank_class->samples[sample - 1].held[tenant];
}
/* Rates and utilisations, from tokens, FLOPs, link bytes and the step of the slowest class. */
void run_report_rates(RunReport *report);
/* Exposed share of the step, 0 … 1. */
double run_report_exposed_share(const RunReport *report);
