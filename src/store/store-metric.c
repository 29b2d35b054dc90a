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

#define OF_RUN(field)      STORE_OF_RUN, &run_fields_report[RUN_OF_##field], NULL
#define OF_SLOWEST(field)  STORE_OF_SLOWEST, &run_fields_class[RUN_CLASS_##field], NULL
#define OF_TIGHTEST(field) STORE_OF_TIGHTEST, &run_fields_class[RUN_CLASS_##field], NULL
#define MADE_BY(function)  STORE_MADE, NULL, function
#define RUN_ONLY           FALSE
#define PER_CLASS          TRUE

/* clang-format off */
const StoreMetric store_metrics[] = {
    {"run_key", "run_key", STORE_TEXT, STORE_NEITHER, OF_RUN(KEY), "SHA-256 of all that decides the result", RUN_ONLY},
    {"model_version", "model_version", STORE_TEXT, STORE_NEITHER, MADE_BY(model_version), "results version of foretrain's own models", RUN_ONLY},
    {"workload", "workload", STORE_TEXT, STORE_NEITHER, OF_RUN(WORKLOAD), "workload file", RUN_ONLY},
    {"topology", "topology", STORE_TEXT, STORE_NEITHER, OF_RUN(TOPOLOGY), "topology file", RUN_ONLY},
    {"model", "model", STORE_TEXT, STORE_NEITHER, OF_RUN(MODEL), "name of the model", RUN_ONLY},
    {"parameters", "parameters", STORE_NUMBER, STORE_NEITHER, OF_RUN(PARAMETERS), "parameters of the model", RUN_ONLY},
    {"framework", "framework", STORE_TEXT, STORE_NEITHER, OF_RUN(FRAMEWORK), "whose policies are played", RUN_ONLY},
    {"zero_stage", "zero_stage", STORE_NUMBER, STORE_NEITHER, OF_RUN(ZERO_STAGE), "ZeRO stage, 0 to 3", RUN_ONLY},
    {"gpu", "gpu", STORE_TEXT, STORE_NEITHER, OF_RUN(GPU), "name in the catalogue of GPUs", RUN_ONLY},
    {"gpus", "gpus", STORE_NUMBER, STORE_NEITHER, OF_RUN(GPUS), "GPUs in all", RUN_ONLY},
    {"nodes", "nodes", STORE_NUMBER, STORE_NEITHER, OF_RUN(NODES), "nodes", RUN_ONLY},
    {"sequence_length", "sequence_length", STORE_NUMBER, STORE_NEITHER, OF_RUN(SEQUENCE_LENGTH), "tokens of a sequence", RUN_ONLY},
    {"micro_batch", "micro_batch", STORE_NUMBER, STORE_NEITHER, OF_RUN(MICRO_BATCH), "sequences per GPU and micro-batch", RUN_ONLY},
    {"gradient_accumulation", "gradient_accumulation", STORE_NUMBER, STORE_NEITHER, OF_RUN(ACCUMULATION), "micro-batches per step", RUN_ONLY},
    {"global_batch", "global_batch", STORE_NUMBER, STORE_NEITHER, OF_RUN(GLOBAL_BATCH), "sequences per step, all GPUs", RUN_ONLY},
    {"precision", "precision", STORE_TEXT, STORE_NEITHER, OF_RUN(PRECISION), "type of the matrix multiplications", RUN_ONLY},
    {"activation_checkpointing", "activation_checkpointing", STORE_TEXT, STORE_NEITHER, OF_RUN(CHECKPOINTING), "what backward recomputes", RUN_ONLY},
    {"tokens", "tokens", STORE_NUMBER, STORE_NEITHER, OF_RUN(TOKENS), "tokens per step, all GPUs", RUN_ONLY},
    {"verdict", "verdict", STORE_TEXT, STORE_NEITHER, OF_RUN(VERDICT), "fits, edge or oom", PER_CLASS},
    {"step", "step_ps", STORE_TIME, STORE_LESS, OF_SLOWEST(STEP), "period of the step", PER_CLASS},
    {"compute", "compute_ps", STORE_TIME, STORE_LESS, OF_SLOWEST(COMPUTE), "time in which compute runs", PER_CLASS},
    {"communication", "communication_ps", STORE_TIME, STORE_LESS, OF_SLOWEST(COMMUNICATION), "time in which communication is resident", PER_CLASS},
    {"exposed", "exposed_ps", STORE_TIME, STORE_LESS, OF_SLOWEST(EXPOSED), "communication while no compute runs", PER_CLASS},
    {"exposed_share", "exposed_share", STORE_SHARE, STORE_LESS, MADE_BY(exposed_share), "exposed communication, share of the step", PER_CLASS},
    {"idle", "idle_ps", STORE_TIME, STORE_LESS, OF_SLOWEST(IDLE), "neither compute nor communication", PER_CLASS},
    {"host", "host_ps", STORE_TIME, STORE_LESS, OF_SLOWEST(HOST), "idle: the host had launched nothing yet", PER_CLASS},
    {"bubble", "bubble_ps", STORE_TIME, STORE_LESS, OF_SLOWEST(BUBBLE), "idle: a pipeline's bubble", PER_CLASS},
    {"network_bytes_intra", "network_bytes_intra", STORE_BYTES, STORE_LESS, OF_SLOWEST(INTRA), "sent per GPU and step inside the node", PER_CLASS},
    {"network_bytes_inter", "network_bytes_inter", STORE_BYTES, STORE_LESS, OF_SLOWEST(INTER), "sent per GPU and step between nodes", PER_CLASS},
    {"tokens_per_second", "tokens_per_second", STORE_RATE, STORE_MORE, OF_RUN(TOKENS_PER_SECOND), "tokens per second, all GPUs", RUN_ONLY},
    {"tokens_per_second_per_gpu", "tokens_per_second_per_gpu", STORE_RATE, STORE_MORE, OF_RUN(TOKENS_PER_GPU), "tokens per second and GPU", RUN_ONLY},
    {"model_flops_utilisation", "model_flops_utilisation", STORE_SHARE, STORE_MORE, OF_RUN(MFU), "MFU: share of the dense peak, recomputation not counted", RUN_ONLY},
    {"hardware_flops_utilisation", "hardware_flops_utilisation", STORE_SHARE, STORE_MORE, OF_RUN(HFU), "HFU: share of the dense peak, recomputation counted", RUN_ONLY},
    {"steady_allocated", "steady_allocated_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(STEADY), "memory held between steps", PER_CLASS},
    {"peak_allocated", "peak_allocated_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(ALLOCATED), "most memory that tensors hold at any moment, in the allocator's blocks", PER_CLASS},
    {"peak_active", "peak_active_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(ACTIVE), "the same with blocks that wait for a stream", PER_CLASS},
    {"peak_reserved", "peak_reserved_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(RESERVED), "most memory that the allocator holds, its cache included", PER_CLASS},
    {"device_used", "device_used_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(DEVICE_USED), "most memory that nvidia-smi would show: reserved and all outside the allocator", PER_CLASS},
    {"device_used_low", "device_used_low_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(USED_LOW), "least that device_used may be, from the residuals of published peaks", PER_CLASS},
    {"device_used_high", "device_used_high_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(USED_HIGH), "most that device_used may be", PER_CLASS},
    {"capacity", "capacity_bytes", STORE_BYTES, STORE_NEITHER, OF_TIGHTEST(CAPACITY), "usable memory of the device", PER_CLASS},
    {"short_by", "short_by_bytes", STORE_BYTES, STORE_LESS, OF_TIGHTEST(SHORT_BY), "memory that is missing", PER_CLASS},
    {"alloc_retries", "alloc_retries", STORE_NUMBER, STORE_LESS, OF_TIGHTEST(RETRIES), "times the allocator gave its cache back to make room, all steps played", PER_CLASS},
    {"alloc_stall", "alloc_stall_ps", STORE_TIME, STORE_LESS, OF_TIGHTEST(STALLED), "host time that these take in a step", PER_CLASS},
    {"host_used", "host_used_bytes", STORE_BYTES, STORE_LESS, OF_RUN(HOST_USED), "host memory of a node that offload keeps", RUN_ONLY},
    {"host_capacity", "host_capacity_bytes", STORE_BYTES, STORE_NEITHER, OF_RUN(HOST_CAPACITY), "host memory of a node", RUN_ONLY},
    {"price_per_step", "price_per_step", STORE_MONEY, STORE_LESS, OF_RUN(PRICE_PER_STEP), "price of a step", RUN_ONLY},
    {"price_per_million_tokens", "price_per_million_tokens", STORE_MONEY, STORE_LESS, OF_RUN(PRICE_PER_MILLION), "price of a million tokens", RUN_ONLY},
    {"days_to_train", "days_to_train", STORE_NUMBER, STORE_LESS, OF_RUN(DAYS), "days for total_tokens", RUN_ONLY},
    {"price_to_train", "price_to_train", STORE_MONEY, STORE_LESS, OF_RUN(PRICE_TO_TRAIN), "price of total_tokens", RUN_ONLY},
    {"step_low", "step_low_ps", STORE_TIME, STORE_LESS, OF_RUN(STEP_LOW), "lower end of the interval around the step", RUN_ONLY},
    {"step_high", "step_high_ps", STORE_TIME, STORE_LESS, OF_RUN(STEP_HIGH), "upper end of the interval around the step", RUN_ONLY},
    {"validated_rows", "validated_rows", STORE_NUMBER, STORE_MORE, OF_RUN(VALIDATED_ROWS), "published measurements of runs like this one", RUN_ONLY},
    {"envelope", "envelope", STORE_TEXT, STORE_NEITHER, OF_RUN(ENVELOPE), "whether anything like it was validated, and what the interval rests on", RUN_ONLY},
    {"slowest_class", "slowest_class", STORE_NUMBER, STORE_NEITHER, OF_RUN(SLOWEST), "rank class whose times stand for the step", RUN_ONLY},
    {"tightest_class", "tightest_class", STORE_NUMBER, STORE_NEITHER, OF_RUN(TIGHTEST), "rank class whose memory stands for the step", RUN_ONLY},
    {"steps_played", "steps_played", STORE_NUMBER, STORE_NEITHER, OF_RUN(STEPS_PLAYED), "steady steps played until they repeated", RUN_ONLY},
    {"repeats", "repeats", STORE_NUMBER, STORE_NEITHER, OF_RUN(REPEATS), "1: the last two steps played were equal", RUN_ONLY},
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
  default:
    return g_strdup(value);
  }
}
