/* SPDX-License-Identifier: MIT */
/* The columns of table run and how each is read from a Report. */
#include "store-metric.h"

#include <string.h>

static RunValue model_version(G_GNUC_UNUSED const RunReport *report) {
  return (RunValue){.kind = RUN_STRING, .string = RUN_MODEL_VERSION};
}

static RunValue exposed_share(const RunReport *report) {
  return (RunValue){.kind = RUN_REAL, .real = run_report_exposed_share(report)};
}

/* clang-format off */
/* Rows by where the value comes from: the run, or the rank class that stands for its times or for its memory. */
#define FROM(kind, better, from, field) STORE_##kind, STORE_##better, STORE_##from, field, NULL
#define RUN(name, column, kind, better, field, about) \
  {name, column, FROM(kind, better, OF_RUN, &run_fields_report[RUN_OF_##field]), about, FALSE}
#define BOTH(name, column, kind, better, field, about) \
  {name, column, FROM(kind, better, OF_RUN, &run_fields_report[RUN_OF_##field]), about, TRUE}
#define SLOWEST(name, column, kind, better, field, about) \
  {name, column, FROM(kind, better, OF_SLOWEST, &run_fields_class[RUN_CLASS_##field]), about, TRUE}
#define TIGHTEST(name, column, kind, better, field, about) \
  {name, column, FROM(kind, better, OF_TIGHTEST, &run_fields_class[RUN_CLASS_##field]), about, TRUE}
#define MADE(name, column, kind, better, function, per_class, about) \
  {name, column, STORE_##kind, STORE_##better, STORE_MADE, NULL, function, about, per_class}

const StoreMetric store_metrics[] = {
    RUN("run_key", "run_key", TEXT, NEITHER, KEY, "SHA-256 of all that decides the result"),
    MADE("model_version", "model_version", TEXT, NEITHER, model_version, FALSE,
        "results version of foretrain's own models"),
    RUN("workload", "workload", TEXT, NEITHER, WORKLOAD, "workload file"),
    RUN("topology", "topology", TEXT, NEITHER, TOPOLOGY, "topology file"),
    RUN("model", "model", TEXT, NEITHER, MODEL, "name of the model"),
    RUN("parameters", "parameters", NUMBER, NEITHER, PARAMETERS, "parameters of the model"),
    RUN("framework", "framework", TEXT, NEITHER, FRAMEWORK, "whose policies are played"),
    RUN("zero_stage", "zero_stage", NUMBER, NEITHER, ZERO_STAGE, "ZeRO stage, 0 to 3"),
    RUN("gpu", "gpu", TEXT, NEITHER, GPU, "name in the catalogue of GPUs"),
    RUN("gpus", "gpus", NUMBER, NEITHER, GPUS, "GPUs in all"),
    RUN("nodes", "nodes", NUMBER, NEITHER, NODES, "nodes"),
    RUN("sequence_length", "sequence_length", NUMBER, NEITHER, SEQUENCE_LENGTH, "tokens of a sequence"),
    RUN("micro_batch", "micro_batch", NUMBER, NEITHER, MICRO_BATCH, "sequences per GPU and micro-batch"),
    RUN("gradient_accumulation", "gradient_accumulation", NUMBER, NEITHER, ACCUMULATION, "micro-batches per step"),
    RUN("global_batch", "global_batch", NUMBER, NEITHER, GLOBAL_BATCH, "sequences per step, all GPUs"),
    RUN("precision", "precision", TEXT, NEITHER, PRECISION, "type of the matrix multiplications"),
    RUN("activation_checkpointing", "activation_checkpointing", TEXT, NEITHER, CHECKPOINTING,
        "what backward recomputes"),
    RUN("tokens", "tokens", NUMBER, NEITHER, TOKENS, "tokens per step, all GPUs"),
    BOTH("verdict", "verdict", TEXT, NEITHER, VERDICT, "fits, edge or oom"),
    SLOWEST("step", "step_ps", TIME, LESS, STEP, "period of the step"),
    SLOWEST("compute", "compute_ps", TIME, LESS, COMPUTE, "time in which compute runs"),
    SLOWEST("communication", "communication_ps", TIME, LESS, COMMUNICATION, "time in which communication is resident"),
    SLOWEST("exposed", "exposed_ps", TIME, LESS, EXPOSED, "communication while no compute runs"),
    MADE("exposed_share", "exposed_share", SHARE, LESS, exposed_share, TRUE,
        "exposed communication, share of the step"),
    SLOWEST("idle", "idle_ps", TIME, LESS, IDLE, "neither compute nor communication"),
    SLOWEST("host", "host_ps", TIME, LESS, HOST, "idle: the host had launched nothing yet"),
    SLOWEST("bubble", "bubble_ps", TIME, LESS, BUBBLE, "idle: a pipeline's bubble"),
    SLOWEST("network_bytes_intra", "network_bytes_intra", BYTES, LESS, INTRA, "sent per GPU and step inside the node"),
    SLOWEST("network_bytes_inter", "network_bytes_inter", BYTES, LESS, INTER, "sent per GPU and step between nodes"),
    RUN("tokens_per_second", "tokens_per_second", RATE, MORE, TOKENS_PER_SECOND, "tokens per second, all GPUs"),
    RUN("tokens_per_second_per_gpu", "tokens_per_second_per_gpu", RATE, MORE, TOKENS_PER_GPU,
        "tokens per second and GPU"),
    RUN("model_flops_utilisation", "model_flops_utilisation", SHARE, MORE, MFU,
        "MFU: share of the dense peak, recomputation not counted"),
    RUN("hardware_flops_utilisation", "hardware_flops_utilisation", SHARE, MORE, HFU,
        "HFU: share of the dense peak, recomputation counted"),
    TIGHTEST("steady_allocated", "steady_allocated_bytes", BYTES, LESS, STEADY, "memory held between steps"),
    TIGHTEST("peak_allocated", "peak_allocated_bytes", BYTES, LESS, ALLOCATED,
        "most memory that tensors hold at any moment, in the allocator's blocks"),
    TIGHTEST("peak_active", "peak_active_bytes", BYTES, LESS, ACTIVE, "the same with blocks that wait for a stream"),
    TIGHTEST("peak_reserved", "peak_reserved_bytes", BYTES, LESS, RESERVED,
        "most memory that the allocator holds, its cache included"),
    TIGHTEST("device_used", "device_used_bytes", BYTES, LESS, DEVICE_USED,
        "most memory that nvidia-smi would show: reserved and all outside the allocator"),
    TIGHTEST("device_used_low", "device_used_low_bytes", BYTES, LESS, USED_LOW,
        "least that device_used may be, from the residuals of published peaks"),
    TIGHTEST("device_used_high", "device_used_high_bytes", BYTES, LESS, USED_HIGH, "most that device_used may be"),
    TIGHTEST("capacity", "capacity_bytes", BYTES, NEITHER, CAPACITY, "usable memory of the device"),
    TIGHTEST("short_by", "short_by_bytes", BYTES, LESS, SHORT_BY, "memory that is missing"),
    TIGHTEST("alloc_retries", "alloc_retries", NUMBER, LESS, RETRIES,
        "times the allocator gave its cache back to make room, all steps played"),
    TIGHTEST("alloc_stall", "alloc_stall_ps", TIME, LESS, STALLED, "host time that these take in a step"),
    RUN("host_used", "host_used_bytes", BYTES, LESS, HOST_USED, "host memory of a node, of offload or pages"),
    RUN("host_capacity", "host_capacity_bytes", BYTES, NEITHER, HOST_CAPACITY, "host memory of a node"),
    RUN("paged", "paged_bytes", BYTES, NEITHER, PAGED, "a GPU's paged optimizer states"),
    RUN("paged_host", "paged_host_bytes", BYTES, LESS, PAGED_HOST,
        "what of a GPU's paged optimizer states lies in host memory between steps"),
    RUN("price_per_step", "price_per_step", MONEY, LESS, PRICE_PER_STEP, "price of a step"),
    RUN("price_per_million_tokens", "price_per_million_tokens", MONEY, LESS, PRICE_PER_MILLION,
        "price of a million tokens"),
    RUN("days_to_train", "days_to_train", NUMBER, LESS, DAYS, "days for total_tokens"),
    RUN("price_to_train", "price_to_train", MONEY, LESS, PRICE_TO_TRAIN, "price of total_tokens"),
    RUN("gpu_power_watts", "gpu_power_watts", NUMBER, LESS, GPU_POWER, "watts of a GPU's board, mean of the step"),
    RUN("energy_per_step_kwh", "energy_per_step_kwh", NUMBER, LESS, ENERGY_PER_STEP,
        "kWh of a step at the building's meter"),
    RUN("energy_to_train_kwh", "energy_to_train_kwh", NUMBER, LESS, ENERGY_TO_TRAIN, "kWh for total_tokens"),
    RUN("energy_cost_to_train", "energy_cost_to_train", MONEY, LESS, ENERGY_COST, "price of the electricity for them"),
    RUN("step_low", "step_low_ps", TIME, LESS, STEP_LOW, "lower end of the interval around the step"),
    RUN("step_high", "step_high_ps", TIME, LESS, STEP_HIGH, "upper end of the interval around the step"),
    RUN("validated_rows", "validated_rows", NUMBER, MORE, VALIDATED_ROWS,
        "published measurements of runs like this one"),
    RUN("envelope", "envelope", TEXT, NEITHER, ENVELOPE,
        "whether anything like it was validated, and what the interval rests on"),
    RUN("slowest_class", "slowest_class", NUMBER, NEITHER, SLOWEST, "rank class whose times stand for the step"),
    RUN("tightest_class", "tightest_class", NUMBER, NEITHER, TIGHTEST, "rank class whose memory stands for the step"),
    RUN("steps_played", "steps_played", NUMBER, NEITHER, STEPS_PLAYED, "steady steps played until they repeated"),
    RUN("repeats", "repeats", NUMBER, NEITHER, REPEATS, "1: the last two steps played were equal"),
};
/* clang-format on */

const gsize store_n_metrics = G_N_ELEMENTS(store_metrics);

const StoreMetric *store_metric_find(const char *name) {
  for (gsize i = 0; i < store_n_metrics; i++)
    if (g_str_equal(store_metrics[i].name, name) || g_str_equal(store_metrics[i].column, name))
      return &store_metrics[i];
  return NULL;
}

RunValue store_metric_get(const StoreMetric *metric, const RunReport *report) {
  switch (metric->from) {
  case STORE_OF_RUN:
    return run_field_get(metric->field, report);
  case STORE_OF_SLOWEST:
    return run_field_get(metric->field, run_report_slowest(report));
  case STORE_OF_TIGHTEST:
    return run_field_get(metric->field, run_report_tightest(report));
  default:
    return metric->make(report);
  }
}

char *store_value_text(RunValue value) {
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  if (value.kind == RUN_INTEGER)
    return g_strdup_printf("%" G_GINT64_FORMAT, value.integer);
  if (value.kind != RUN_REAL)
    return g_strdup(value.string);
  g_ascii_formatd(digits, sizeof digits, "%.15g", value.real);
  gsize whole = strcspn(digits, "e.");
  return digits[whole] == '.' ? g_strdup(digits) : g_strdup_printf("%.*s.0%s", (int)whole, digits, digits + whole);
}

gboolean store_metric_is_whole(const StoreMetric *metric) {
  return metric->unit != STORE_TEXT && metric->field != NULL && metric->field->type != RUN_NUMBER;
}

RunReport store_metric_class_view(const RunReport *report, guint32 rank_class) {
  RunReport view = *report;
  view.slowest = view.tightest = rank_class;
  view.verdict = report->classes[rank_class].verdict;
  return view;
}

gboolean store_metric_is_asked(const StoreMetric *metric) {
  return metric < store_metric_find("tokens");
}

char *store_metric_shown(const StoreMetric *metric, const char *value) {
  double number = value != NULL ? g_ascii_strtod(value, NULL) : 0;
  if (value == NULL)
    return g_strdup("-");
  switch (metric->unit) {
  case STORE_TIME:
    return base_format_time(g_ascii_strtoll(value, NULL, 10));
  case STORE_BYTES:
    return base_format_gib(g_ascii_strtoull(value, NULL, 10));
  case STORE_SHARE:
    return g_strdup_printf("%.1f %%", 100 * number);
  case STORE_MONEY:
    return g_strdup_printf(number >= 1000 ? "%.0f USD" : "%.4g USD", number);
  case STORE_RATE:
    return g_strdup_printf("%.1f", number);
  case STORE_NUMBER:
    return store_metric_is_whole(metric) ? g_strdup(value) : g_strdup_printf(number >= 100 ? "%.0f" : "%.3g", number);
  default:
    return g_strdup(value);
  }
}
