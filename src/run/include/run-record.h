/* SPDX-License-Identifier: MIT */
/* The structs of a Report, described field by field: what reads, writes, packs, prints and compares them walks these
 * tables.
 *
 *   for (guint i = 0; i < run_record_task.n; i++) {
 *     RunValue value = run_field_get(&run_record_task.fields[i], task);
 *     … bind it, print it …
 *   }
 *   const char *differs = run_record_differs(&run_record_task, task, other);     // NULL, or the member
 *
 * Not tables of base-field.h, which read what people write: a record's values are a database's and JSON's, with a NULL,
 * arrays, names owned by a chunk and keys of their own, but without units in text, ranges or advice.
 *
 * Units and types go together: a time is picoseconds, a size is bytes. Every byte of a record but its lists (tasks,
 * settings, …) is some field's, which a test holds. */
#pragma once

#include "run-report.h"

typedef enum {
  RUN_INDEX,  /* gint32 or guint32; none: all bits set */
  RUN_COUNT,  /* guint32 */
  RUN_LARGE,  /* guint64 */
  RUN_BYTES,  /* guint64, bytes */
  RUN_TIME,   /* SimTime, picoseconds */
  RUN_NUMBER, /* double */
  RUN_WHOLE,  /* double, kept rounded to a whole number */
  RUN_FLAG,   /* gboolean, kept as 0 or 1 */
  RUN_CHOICE, /* an enum, kept as its name */
  RUN_NAME,   /* const char *, owned by the report's string chunk */
  RUN_TEXT,   /* char *, g_malloc'ed */
} RunType;

typedef struct {
  const char *member; /* of the struct */
  const char *key;    /* of the database and of JSON; NULL: kept in neither */
  RunType type;
  gboolean optional; /* may be "none": of an index as above, of other numbers 0, of texts NULL */
  gsize offset, size;
  const char *const *names; /* of a choice */
} RunField;

typedef struct {
  const RunField *fields;
  guint n;
  gsize size;
} RunRecord;

typedef struct {
  enum { RUN_NULL, RUN_INTEGER, RUN_REAL, RUN_STRING } kind;
  gint64 integer;
  double real;
  const char *string; /* borrowed */
} RunValue;

/* Of an array the first element. */
RunValue run_field_get(const RunField *field, gconstpointer record);
/* Names go into the chunk. FALSE, and nothing set, where the field cannot hold such a value: another kind, a number
 * beyond its range (of times 2^60 ps, 13 days, either way), no such name, NULL where the field is not optional. */
gboolean run_field_set(const RunField *field, gpointer record, RunValue value, GStringChunk *names);
/* Arrays with all their elements, texts by what they say. */
gboolean run_field_equal(const RunField *field, gconstpointer a, gconstpointer b);
static inline gboolean run_field_is_text(const RunField *field) {
  return field->type == RUN_NAME || field->type == RUN_TEXT;
}
static inline char **run_field_text(const RunField *field, gpointer record) {
  return (char **)((char *)record + field->offset);
}

/* The first member that differs; NULL: none does. */
const char *run_record_differs(const RunRecord *record, gconstpointer a, gconstpointer b);
/* Frees the texts that are the record's own. */
void run_record_clear(const RunRecord *record, gpointer of);

/* A level of table memory: of samples those tenants that changed. A row of memory_peak: the peak by tenants. */
typedef struct {
  SimTime at;
  guint32 tenant;
  guint64 bytes;
} RunLevel;
typedef struct {
  guint32 tenant;
  guint64 bytes, unique;
  SimTime at;
  guint32 step;
  const char *name;
  gint32 layer;
  const char *phase;
} RunPeak;

extern const RunRecord run_record_setting, run_record_task, run_record_collective, run_record_exposure,
    run_record_counted, run_record_sample, run_record_link, run_record_oom, run_record_level, run_record_peak;

/* Fields of RunReport that metrics name, then those that none does; so of RunClass. */
/* clang-format off */
typedef enum {
  RUN_OF_KEY, RUN_OF_WORKLOAD, RUN_OF_TOPOLOGY, RUN_OF_MODEL, RUN_OF_PARAMETERS, RUN_OF_FRAMEWORK, RUN_OF_ZERO_STAGE,
  RUN_OF_GPU, RUN_OF_GPUS, RUN_OF_NODES, RUN_OF_SEQUENCE_LENGTH, RUN_OF_MICRO_BATCH, RUN_OF_ACCUMULATION,
  RUN_OF_GLOBAL_BATCH, RUN_OF_PRECISION, RUN_OF_CHECKPOINTING, RUN_OF_TOKENS, RUN_OF_TOKENS_PER_SECOND,
  RUN_OF_TOKENS_PER_GPU, RUN_OF_MFU, RUN_OF_HFU, RUN_OF_PRICE_PER_STEP, RUN_OF_PRICE_PER_MILLION, RUN_OF_DAYS,
  RUN_OF_PRICE_TO_TRAIN, RUN_OF_GPU_POWER, RUN_OF_ENERGY_PER_STEP, RUN_OF_ENERGY_TO_TRAIN, RUN_OF_ENERGY_COST,
  RUN_OF_STEP_LOW, RUN_OF_STEP_HIGH, RUN_OF_VALIDATED_ROWS, RUN_OF_ENVELOPE, RUN_OF_SLOWEST,
  RUN_OF_TIGHTEST, RUN_OF_HOST_USED, RUN_OF_HOST_CAPACITY, RUN_OF_PAGED, RUN_OF_PAGED_HOST,
  RUN_OF_STEPS_PLAYED, RUN_OF_REPEATS, RUN_OF_VERDICT, RUN_OF_METRICS
} RunReportField;
typedef enum {
  RUN_CLASS_VERDICT, RUN_CLASS_STEP, RUN_CLASS_COMPUTE, RUN_CLASS_COMMUNICATION, RUN_CLASS_EXPOSED, RUN_CLASS_IDLE,
  RUN_CLASS_HOST, RUN_CLASS_BUBBLE, RUN_CLASS_INTRA, RUN_CLASS_INTER, RUN_CLASS_STEADY, RUN_CLASS_ALLOCATED,
  RUN_CLASS_ACTIVE, RUN_CLASS_RESERVED, RUN_CLASS_DEVICE_USED, RUN_CLASS_USED_LOW, RUN_CLASS_USED_HIGH,
  RUN_CLASS_CAPACITY, RUN_CLASS_SHORT_BY, RUN_CLASS_RETRIES, RUN_CLASS_STALLED, RUN_CLASS_METRICS,
  RUN_CLASS_RANKS = RUN_CLASS_METRICS, RUN_CLASS_FIRST_RANK
} RunClassField;
/* clang-format on */
extern const RunField run_fields_report[], run_fields_class[];
extern const RunRecord run_record_report, run_record_class;
