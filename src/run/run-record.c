/* SPDX-License-Identifier: MIT */
/* The tables of fields, and the walk over them. */
#include "run-record.h"

#include <stddef.h>
#include <string.h>

#include "base-names.h"

#define TIME_MOST (G_GINT64_CONSTANT(1) << 60)

static const gsize type_sizes[] = {
    [RUN_INDEX] = sizeof(gint32),  [RUN_COUNT] = sizeof(guint32), [RUN_LARGE] = sizeof(guint64),
    [RUN_BYTES] = sizeof(guint64), [RUN_TIME] = sizeof(SimTime),  [RUN_NUMBER] = sizeof(double),
    [RUN_WHOLE] = sizeof(double),  [RUN_FLAG] = sizeof(gboolean), [RUN_CHOICE] = sizeof(RunCause),
    [RUN_NAME] = sizeof(char *),   [RUN_TEXT] = sizeof(char *),
};

#define MAY(record, member, key, type, may, names)                                                                     \
  { #member, key, type, may, offsetof(record, member), sizeof(((record *)NULL)->member), names }
#define IS(record, member, key, type)      MAY(record, member, key, type, FALSE, NULL)
#define MAYBE(record, member, key, type)   MAY(record, member, key, type, TRUE, NULL)
#define CHOICE(record, member, key, names) MAY(record, member, key, RUN_CHOICE, FALSE, names)
#define RECORD(name, record)                                                                                           \
  const RunRecord run_record_##name = {run_fields_##name, G_N_ELEMENTS(run_fields_##name), sizeof(record)}

/* clang-format off */
static const RunField run_fields_setting[] = {
    IS(RunSetting, name, "name", RUN_TEXT),
    IS(RunSetting, value, "value", RUN_TEXT),
    IS(RunSetting, origin, "origin", RUN_TEXT),
    IS(RunSetting, usual, NULL, RUN_FLAG),
};

static const RunField run_fields_task[] = {
    IS(RunTask, row, "task_id", RUN_COUNT),
    IS(RunTask, stream, "stream", RUN_NAME),
    IS(RunTask, kind, "kind", RUN_NAME),
    IS(RunTask, name, "name", RUN_NAME),
    MAYBE(RunTask, layer, "layer", RUN_INDEX),
    IS(RunTask, phase, "phase", RUN_NAME),
    MAYBE(RunTask, micro, "micro", RUN_INDEX),
    IS(RunTask, issued, "issued_ps", RUN_TIME),
    IS(RunTask, host, "host_ps", RUN_TIME),
    IS(RunTask, start, "start_ps", RUN_TIME),
    IS(RunTask, end, "end_ps", RUN_TIME),
    IS(RunTask, repeats, "repeats", RUN_COUNT),
};

static const RunField run_fields_collective[] = {
    IS(RunCollective, row, "task_id", RUN_COUNT),
    IS(RunCollective, operation, "operation", RUN_NAME),
    IS(RunCollective, algorithm, "algorithm", RUN_NAME),
    IS(RunCollective, protocol, "protocol", RUN_NAME),
    IS(RunCollective, channels, "channels", RUN_COUNT),
    IS(RunCollective, bytes, "bytes", RUN_BYTES),
    IS(RunCollective, group_size, "group_size", RUN_COUNT),
    IS(RunCollective, queued, "queued_ps", RUN_TIME),
    IS(RunCollective, start, "start_ps", RUN_TIME),
    IS(RunCollective, end, "end_ps", RUN_TIME),
    IS(RunCollective, bus_bandwidth, "bus_bandwidth", RUN_NUMBER),
    IS(RunCollective, repeats, "repeats", RUN_COUNT),
};

static const RunField run_fields_exposure[] = {
    IS(RunExposure, start, "start_ps", RUN_TIME),
    IS(RunExposure, end, "end_ps", RUN_TIME),
    MAYBE(RunExposure, row, "task_id", RUN_INDEX),
    CHOICE(RunExposure, cause, "cause", run_cause_names),
    IS(RunExposure, repeats, "repeats", RUN_COUNT),
};

static const RunField run_fields_counted[] = {
    IS(RunCounted, start, "start_ps", RUN_TIME),
    IS(RunCounted, end, "end_ps", RUN_TIME),
    IS(RunCounted, period, "period_ps", RUN_TIME),
    IS(RunCounted, more, "more", RUN_LARGE),
};

static const RunField run_fields_sample[] = {
    IS(RunMemorySample, at, NULL, RUN_TIME),
    IS(RunMemorySample, held, NULL, RUN_BYTES),
};

static const RunField run_fields_level[] = {
    IS(RunLevel, at, "at_ps", RUN_TIME),
    CHOICE(RunLevel, tenant, "tenant", run_tenant_names),
    IS(RunLevel, bytes, "bytes", RUN_BYTES),
};

static const RunField run_fields_peak[] = {
    CHOICE(RunPeak, tenant, "tenant", run_tenant_names),
    IS(RunPeak, bytes, "bytes", RUN_BYTES),
    IS(RunPeak, unique, "unique_bytes", RUN_BYTES),
    IS(RunPeak, at, "at_ps", RUN_TIME),
    IS(RunPeak, step, "step", RUN_COUNT),
    MAYBE(RunPeak, name, "task_name", RUN_NAME),
    MAYBE(RunPeak, layer, "layer", RUN_INDEX),
    MAYBE(RunPeak, phase, "phase", RUN_NAME),
};

static const RunField run_fields_link[] = {
    IS(RunLink, link_class, "link_class", RUN_NAME),
    IS(RunLink, links, "links", RUN_COUNT),
    IS(RunLink, bytes, "bytes", RUN_WHOLE),
    IS(RunLink, busy, "busy_ps", RUN_TIME),
    IS(RunLink, capacity, NULL, RUN_NUMBER),
    IS(RunLink, utilisation, "utilisation", RUN_NUMBER),
    MAYBE(RunLink, apart, NULL, RUN_NAME),
};

static const RunField run_fields_oom[] = {
    IS(RunOom, at, "at_ps", RUN_TIME),
    IS(RunOom, step, "step", RUN_COUNT),
    IS(RunOom, row, "task_id", RUN_COUNT),
    IS(RunOom, name, "task_name", RUN_NAME),
    MAYBE(RunOom, layer, "layer", RUN_INDEX),
    IS(RunOom, phase, "phase", RUN_NAME),
    IS(RunOom, tenant, "tenant", RUN_NAME),
    IS(RunOom, tensor, "tensor", RUN_NAME),
    IS(RunOom, requested, "requested_bytes", RUN_BYTES),
    IS(RunOom, free, "free_bytes", RUN_BYTES),
    IS(RunOom, allocated, "allocated_bytes", RUN_BYTES),
    IS(RunOom, reserved, "reserved_bytes", RUN_BYTES),
    IS(RunOom, held, NULL, RUN_BYTES),
};

const RunField run_fields_class[] = {
    [RUN_CLASS_VERDICT] = CHOICE(RunClass, verdict, "verdict", run_verdict_names),
    [RUN_CLASS_STEP] = IS(RunClass, step, "step_ps", RUN_TIME),
    [RUN_CLASS_COMPUTE] = IS(RunClass, compute, "compute_ps", RUN_TIME),
    [RUN_CLASS_COMMUNICATION] = IS(RunClass, communication, "communication_ps", RUN_TIME),
    [RUN_CLASS_EXPOSED] = IS(RunClass, exposed, "exposed_ps", RUN_TIME),
    [RUN_CLASS_IDLE] = IS(RunClass, idle, "idle_ps", RUN_TIME),
    [RUN_CLASS_HOST] = IS(RunClass, host, "host_ps", RUN_TIME),
    [RUN_CLASS_BUBBLE] = IS(RunClass, bubble, "bubble_ps", RUN_TIME),
    [RUN_CLASS_INTRA] = IS(RunClass, network_bytes_intra, "network_bytes_intra", RUN_BYTES),
    [RUN_CLASS_INTER] = IS(RunClass, network_bytes_inter, "network_bytes_inter", RUN_BYTES),
    [RUN_CLASS_STEADY] = IS(RunClass, steady_allocated, "steady_allocated_bytes", RUN_BYTES),
    [RUN_CLASS_ALLOCATED] = IS(RunClass, peak_allocated, "peak_allocated_bytes", RUN_BYTES),
    [RUN_CLASS_ACTIVE] = IS(RunClass, peak_active, "peak_active_bytes", RUN_BYTES),
    [RUN_CLASS_RESERVED] = IS(RunClass, peak_reserved, "peak_reserved_bytes", RUN_BYTES),
    [RUN_CLASS_DEVICE_USED] = IS(RunClass, device_used, "device_used_bytes", RUN_BYTES),
    [RUN_CLASS_USED_LOW] = IS(RunClass, device_used_low, "device_used_low_bytes", RUN_BYTES),
    [RUN_CLASS_USED_HIGH] = IS(RunClass, device_used_high, "device_used_high_bytes", RUN_BYTES),
    [RUN_CLASS_CAPACITY] = IS(RunClass, capacity, "capacity_bytes", RUN_BYTES),
    [RUN_CLASS_SHORT_BY] = IS(RunClass, short_by, "short_by_bytes", RUN_BYTES),
    [RUN_CLASS_RETRIES] = IS(RunClass, retries, "alloc_retries", RUN_LARGE),
    [RUN_CLASS_STALLED] = IS(RunClass, step_stalled, "alloc_stall_ps", RUN_TIME),
    [RUN_CLASS_RANKS] = IS(RunClass, ranks, "ranks", RUN_COUNT),
    [RUN_CLASS_FIRST_RANK] = IS(RunClass, first_rank, "first_rank", RUN_COUNT),
    MAYBE(RunClass, members, NULL, RUN_NAME),
    MAYBE(RunClass, apart, NULL, RUN_NAME),
    MAYBE(RunClass, role, "role", RUN_NAME),
    IS(RunClass, by_cause, NULL, RUN_TIME),
    IS(RunClass, device_used_step, NULL, RUN_COUNT),
    IS(RunClass, managed, NULL, RUN_BYTES),
    IS(RunClass, step_retries, NULL, RUN_LARGE),
    IS(RunClass, peak_held, NULL, RUN_BYTES),
    IS(RunClass, peak_unique, NULL, RUN_BYTES),
    IS(RunClass, peak_at, NULL, RUN_TIME),
    IS(RunClass, peak_step, NULL, RUN_COUNT),
    MAYBE(RunClass, peak_name, NULL, RUN_NAME),
    MAYBE(RunClass, peak_layer, NULL, RUN_INDEX),
    MAYBE(RunClass, peak_phase, NULL, RUN_NAME),
    IS(RunClass, has_oom, NULL, RUN_FLAG),
    IS(RunClass, watched, NULL, RUN_TIME),
    IS(RunClass, counted.start, NULL, RUN_TIME),
    IS(RunClass, counted.end, NULL, RUN_TIME),
    IS(RunClass, counted.period, NULL, RUN_TIME),
    IS(RunClass, counted.more, NULL, RUN_LARGE),
};

const RunField run_fields_report[] = {
    [RUN_OF_KEY] = IS(RunReport, identity.run_key, "run_key", RUN_TEXT),
    [RUN_OF_WORKLOAD] = IS(RunReport, identity.workload, "workload", RUN_TEXT),
    [RUN_OF_TOPOLOGY] = IS(RunReport, identity.topology, "topology", RUN_TEXT),
    [RUN_OF_MODEL] = IS(RunReport, identity.model, "model", RUN_TEXT),
    [RUN_OF_PARAMETERS] = IS(RunReport, identity.parameters, "parameters", RUN_LARGE),
    [RUN_OF_FRAMEWORK] = IS(RunReport, identity.framework, "framework", RUN_TEXT),
    [RUN_OF_ZERO_STAGE] = IS(RunReport, identity.zero_stage, "zero_stage", RUN_COUNT),
    [RUN_OF_GPU] = IS(RunReport, identity.gpu, "gpu", RUN_TEXT),
    [RUN_OF_GPUS] = IS(RunReport, identity.gpus, "gpus", RUN_COUNT),
    [RUN_OF_NODES] = IS(RunReport, identity.nodes, "nodes", RUN_COUNT),
    [RUN_OF_SEQUENCE_LENGTH] = IS(RunReport, identity.sequence_length, "sequence_length", RUN_LARGE),
    [RUN_OF_MICRO_BATCH] = IS(RunReport, identity.micro_batch, "micro_batch", RUN_LARGE),
    [RUN_OF_ACCUMULATION] = IS(RunReport, identity.gradient_accumulation, "gradient_accumulation", RUN_LARGE),
    [RUN_OF_GLOBAL_BATCH] = IS(RunReport, identity.global_batch, "global_batch", RUN_LARGE),
    [RUN_OF_PRECISION] = IS(RunReport, identity.precision, "precision", RUN_TEXT),
    [RUN_OF_CHECKPOINTING] = IS(RunReport, identity.activation_checkpointing, "activation_checkpointing", RUN_TEXT),
    [RUN_OF_TOKENS] = IS(RunReport, tokens, "tokens", RUN_LARGE),
    [RUN_OF_TOKENS_PER_SECOND] = IS(RunReport, tokens_per_second, "tokens_per_second", RUN_NUMBER),
    [RUN_OF_TOKENS_PER_GPU] = IS(RunReport, tokens_per_second_per_gpu, "tokens_per_second_per_gpu", RUN_NUMBER),
    [RUN_OF_MFU] = IS(RunReport, model_flops_utilisation, "model_flops_utilisation", RUN_NUMBER),
    [RUN_OF_HFU] = IS(RunReport, hardware_flops_utilisation, "hardware_flops_utilisation", RUN_NUMBER),
    [RUN_OF_PRICE_PER_STEP] = MAYBE(RunReport, price_per_step, "price_per_step", RUN_NUMBER),
    [RUN_OF_PRICE_PER_MILLION] = MAYBE(RunReport, price_per_million_tokens, "price_per_million_tokens", RUN_NUMBER),
    [RUN_OF_DAYS] = MAYBE(RunReport, days_to_train, "days_to_train", RUN_NUMBER),
    [RUN_OF_PRICE_TO_TRAIN] = MAYBE(RunReport, price_to_train, "price_to_train", RUN_NUMBER),
    [RUN_OF_GPU_POWER] = MAYBE(RunReport, gpu_power, "gpu_power_watts", RUN_NUMBER),
    [RUN_OF_ENERGY_PER_STEP] = MAYBE(RunReport, energy_per_step, "energy_per_step_kwh", RUN_NUMBER),
    [RUN_OF_ENERGY_TO_TRAIN] = MAYBE(RunReport, energy_to_train, "energy_to_train_kwh", RUN_NUMBER),
    [RUN_OF_ENERGY_COST] = MAYBE(RunReport, energy_cost, "energy_cost_to_train", RUN_NUMBER),
    [RUN_OF_STEP_LOW] = MAYBE(RunReport, step_low, "step_low_ps", RUN_TIME),
    [RUN_OF_STEP_HIGH] = MAYBE(RunReport, step_high, "step_high_ps", RUN_TIME),
    [RUN_OF_VALIDATED_ROWS] = IS(RunReport, validated_rows, "validated_rows", RUN_COUNT),
    [RUN_OF_ENVELOPE] = MAYBE(RunReport, envelope, "envelope", RUN_TEXT),
    [RUN_OF_SLOWEST] = IS(RunReport, slowest, "slowest_class", RUN_COUNT),
    [RUN_OF_TIGHTEST] = IS(RunReport, tightest, "tightest_class", RUN_COUNT),
    [RUN_OF_HOST_USED] = MAYBE(RunReport, host_used, "host_used_bytes", RUN_BYTES),
    [RUN_OF_HOST_CAPACITY] = MAYBE(RunReport, host_capacity, "host_capacity_bytes", RUN_BYTES),
    [RUN_OF_PAGED] = MAYBE(RunReport, paged, "paged_bytes", RUN_BYTES),
    [RUN_OF_PAGED_HOST] = MAYBE(RunReport, paged_host, "paged_host_bytes", RUN_BYTES),
    [RUN_OF_STEPS_PLAYED] = IS(RunReport, steps_played, "steps_played", RUN_COUNT),
    [RUN_OF_REPEATS] = IS(RunReport, repeats, "repeats", RUN_FLAG),
    [RUN_OF_VERDICT] = CHOICE(RunReport, verdict, "verdict", run_verdict_names),
    MAYBE(RunReport, identity.architecture, NULL, RUN_TEXT),
    IS(RunReport, identity.network_rate, NULL, RUN_NUMBER),
    IS(RunReport, identity.gpu_hour, NULL, RUN_NUMBER),
    IS(RunReport, identity.total_tokens, NULL, RUN_NUMBER),
    IS(RunReport, model_flops, NULL, RUN_NUMBER),
    IS(RunReport, hardware_flops, NULL, RUN_NUMBER),
    IS(RunReport, peak_flops, NULL, RUN_NUMBER),
    IS(RunReport, events, NULL, RUN_LARGE),
    IS(RunReport, wall_seconds, NULL, RUN_NUMBER),
    IS(RunReport, settled, NULL, RUN_COUNT),
    IS(RunReport, missing, NULL, RUN_COUNT),
};
/* clang-format on */

RECORD(setting, RunSetting);
RECORD(task, RunTask);
RECORD(collective, RunCollective);
RECORD(exposure, RunExposure);
RECORD(sample, RunMemorySample);
RECORD(counted, RunCounted);
RECORD(level, RunLevel);
RECORD(peak, RunPeak);
RECORD(link, RunLink);
RECORD(oom, RunOom);
RECORD(class, RunClass);
RECORD(report, RunReport);

static RunValue text_or_none(const char *text) {
  return (RunValue){.kind = text != NULL ? RUN_STRING : RUN_NULL, .string = text};
}

static RunValue integer(gint64 value) {
  return (RunValue){.kind = RUN_INTEGER, .integer = value};
}

/* Whatever it stands for. */
static RunValue read_member(const RunField *field, const char *at) {
  switch (field->type) {
  case RUN_INDEX:
    return integer(*(const gint32 *)(gconstpointer)at);
  case RUN_COUNT:
    return integer(*(const guint32 *)(gconstpointer)at);
  case RUN_FLAG:
    return integer(*(const gboolean *)(gconstpointer)at != FALSE);
  case RUN_NUMBER:
    return (RunValue){.kind = RUN_REAL, .real = *(const double *)(gconstpointer)at};
  case RUN_WHOLE:
    return integer((gint64)(*(const double *)(gconstpointer)at + 0.5));
  case RUN_CHOICE:
    return text_or_none(field->names[*(const guint32 *)(gconstpointer)at]);
  case RUN_NAME:
  case RUN_TEXT:
    return text_or_none(*(const char *const *)(gconstpointer)at);
  default:
    return integer(*(const gint64 *)(gconstpointer)at);
  }
}

RunValue run_field_get(const RunField *field, gconstpointer record) {
  RunValue value = read_member(field, (const char *)record + field->offset);
  gint64 none = field->type == RUN_INDEX ? -1 : 0;
  if (field->optional &&
      ((value.kind == RUN_INTEGER && value.integer == none) || (value.kind == RUN_REAL && value.real == 0)))
    return (RunValue){.kind = RUN_NULL};
  return value;
}

static gboolean in_range(RunType type, gint64 value) {
  switch (type) {
  case RUN_TIME:
    return value >= -TIME_MOST && value <= TIME_MOST;
  case RUN_INDEX:
    return value >= 0 && value < G_MAXINT32;
  case RUN_COUNT:
    return value >= 0 && value <= G_MAXUINT32;
  case RUN_FLAG:
    return value == 0 || value == 1;
  default:
    return value >= 0;
  }
}

static gboolean set_integer(const RunField *field, char *at, gint64 value) {
  if (!in_range(field->type, value))
    return FALSE;
  if (field->type == RUN_WHOLE)
    *(double *)(gpointer)at = (double)value;
  else if (type_sizes[field->type] == sizeof(gint32))
    *(guint32 *)(gpointer)at = (guint32)value;
  else
    *(gint64 *)(gpointer)at = value;
  return TRUE;
}

static gboolean set_text(const RunField *field, char *at, const char *value, GStringChunk *names) {
  if (field->type == RUN_NAME) {
    *(const char **)(gpointer)at = g_string_chunk_insert_const(names, value);
    return TRUE;
  }
  if (field->type == RUN_TEXT) {
    g_free(*(char **)(gpointer)at);
    *(char **)(gpointer)at = g_strdup(value);
    return TRUE;
  }
  int found = base_names_find(field->names, value);
  if (found >= 0)
    *(guint32 *)(gpointer)at = (guint32)found;
  return found >= 0;
}

gboolean run_field_set(const RunField *field, gpointer record, RunValue value, GStringChunk *names) {
  char *at = (char *)record + field->offset;
  gboolean textual = run_field_is_text(field) || field->type == RUN_CHOICE;
  if (value.kind == RUN_NULL) {
    if (field->optional && field->type == RUN_INDEX)
      *(gint32 *)(gpointer)at = -1;
    else if (field->optional)
      memset(at, 0, type_sizes[field->type]);
    return field->optional;
  }
  if (textual != (value.kind == RUN_STRING) || (field->type == RUN_NUMBER) != (value.kind == RUN_REAL))
    return FALSE;
  if (field->type == RUN_NUMBER)
    *(double *)(gpointer)at = value.real;
  return field->type == RUN_NUMBER ||
         (textual ? set_text(field, at, value.string, names) : set_integer(field, at, value.integer));
}

gboolean run_field_equal(const RunField *field, gconstpointer a, gconstpointer b) {
  const char *left = (const char *)a + field->offset, *right = (const char *)b + field->offset;
  if (run_field_is_text(field))
    return g_strcmp0(*(const char *const *)(gconstpointer)left, *(const char *const *)(gconstpointer)right) == 0;
  if (field->type == RUN_NUMBER || field->type == RUN_WHOLE)
    return *(const double *)(gconstpointer)left == *(const double *)(gconstpointer)right;
  return memcmp(left, right, field->size) == 0;
}

const char *run_record_differs(const RunRecord *record, gconstpointer a, gconstpointer b) {
  for (guint i = 0; i < record->n; i++)
    if (!run_field_equal(&record->fields[i], a, b))
      return record->fields[i].member;
  return NULL;
}

void run_record_clear(const RunRecord *record, gpointer of) {
  for (guint i = 0; i < record->n; i++)
    if (record->fields[i].type == RUN_TEXT)
      g_clear_pointer(run_field_text(&record->fields[i], of), g_free);
}
