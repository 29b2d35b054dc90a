/* The columns of table run and how each is read from a Report. */
#include "store-metric.h"

#define READ_INTEGER(name, expression)                                                                                 \
  static gint64 read_##name(const RunReport *report) {                                                                 \
    return (gint64)(expression);                                                                                       \
  }
#define READ_NUMBER(name, expression)                                                                                  \
  static double read_##name(const RunReport *report) {                                                                 \
    return (expression);                                                                                               \
  }
#define READ_TEXT(name, expression)                                                                                    \
  static const char *read_##name(const RunReport *report) {                                                            \
    return (expression);                                                                                               \
  }

static const char *read_model_version(G_GNUC_UNUSED const RunReport *report) {
  return RUN_MODEL_VERSION;
}

READ_TEXT(run_key, report->identity.run_key)
READ_TEXT(workload, report->identity.workload)
READ_TEXT(topology, report->identity.topology)
READ_TEXT(model, report->identity.model)
READ_INTEGER(parameters, report->identity.parameters)
READ_TEXT(framework, report->identity.framework)
READ_INTEGER(zero_stage, report->identity.zero_stage)
READ_TEXT(gpu, report->identity.gpu)
READ_INTEGER(gpus, report->identity.gpus)
READ_INTEGER(nodes, report->identity.nodes)
READ_INTEGER(sequence_length, report->identity.sequence_length)
READ_INTEGER(micro_batch, report->identity.micro_batch)
READ_INTEGER(gradient_accumulation, report->identity.gradient_accumulation)
READ_INTEGER(global_batch, report->identity.global_batch)
READ_TEXT(precision, report->identity.precision)
READ_TEXT(activation_checkpointing, report->identity.activation_checkpointing)
READ_INTEGER(tokens, report->tokens)
READ_TEXT(verdict, run_verdict_names[report->verdict])
READ_INTEGER(step, run_report_slowest(report)->step)
READ_INTEGER(compute, run_report_slowest(report)->compute)
READ_INTEGER(communication, run_report_slowest(report)->communication)
READ_INTEGER(exposed, run_report_slowest(report)->exposed)
READ_INTEGER(idle, run_report_slowest(report)->idle)
READ_INTEGER(host, run_report_slowest(report)->host)
READ_INTEGER(bubble, run_report_slowest(report)->bubble)
READ_INTEGER(intra, run_report_slowest(report)->network_bytes_intra)
READ_INTEGER(inter, run_report_slowest(report)->network_bytes_inter)
READ_NUMBER(tokens_per_second, report->tokens_per_second)
READ_NUMBER(tokens_per_second_per_gpu, report->tokens_per_second_per_gpu)
READ_NUMBER(mfu, report->model_flops_utilisation)
READ_NUMBER(hfu, report->hardware_flops_utilisation)
READ_INTEGER(steady_allocated, run_report_tightest(report)->steady_allocated)
READ_INTEGER(peak_allocated, run_report_tightest(report)->peak_allocated)
READ_INTEGER(peak_active, run_report_tightest(report)->peak_active)
READ_INTEGER(peak_reserved, run_report_tightest(report)->peak_reserved)
READ_INTEGER(device_used, run_report_tightest(report)->device_used)
READ_INTEGER(capacity, run_report_tightest(report)->capacity)
READ_INTEGER(short_by, run_report_tightest(report)->short_by)
READ_INTEGER(alloc_retries, run_report_tightest(report)->retries)
READ_INTEGER(alloc_stall, run_report_tightest(report)->step_stalled)
READ_NUMBER(price_per_step, report->price_per_step)
READ_NUMBER(price_per_million_tokens, report->price_per_million_tokens)
READ_NUMBER(days_to_train, report->days_to_train)
READ_NUMBER(price_to_train, report->price_to_train)
READ_INTEGER(step_low, report->step_low)
READ_INTEGER(step_high, report->step_high)
READ_INTEGER(validated_rows, report->validated_rows)
READ_TEXT(envelope, report->envelope)
READ_INTEGER(slowest_class, report->slowest)
READ_INTEGER(tightest_class, report->tightest)
READ_INTEGER(steps_played, report->steps_played)
READ_INTEGER(repeats, report->repeats != FALSE)

#define INTEGER(name) name, NULL, NULL
#define NUMBER(name)  NULL, name, NULL
#define TEXT(name)    NULL, NULL, name
#define RUN_ONLY      FALSE, FALSE
#define PER_CLASS     TRUE, FALSE
#define OPTIONAL      FALSE, TRUE

/* clang-format off */
const StoreMetric store_metrics[] = {
    {"run_key", "run_key", STORE_TEXT, STORE_NEITHER, TEXT(read_run_key), "SHA-256 of all that decides the result", RUN_ONLY},
    {"model_version", "model_version", STORE_TEXT, STORE_NEITHER, TEXT(read_model_version), "results version of foretrain's own models", RUN_ONLY},
    {"workload", "workload", STORE_TEXT, STORE_NEITHER, TEXT(read_workload), "workload file", RUN_ONLY},
    {"topology", "topology", STORE_TEXT, STORE_NEITHER, TEXT(read_topology), "topology file", RUN_ONLY},
    {"model", "model", STORE_TEXT, STORE_NEITHER, TEXT(read_model), "name of the model", RUN_ONLY},
    {"parameters", "parameters", STORE_NUMBER, STORE_NEITHER, INTEGER(read_parameters), "parameters of the model", RUN_ONLY},
    {"framework", "framework", STORE_TEXT, STORE_NEITHER, TEXT(read_framework), "whose policies are played", RUN_ONLY},
    {"zero_stage", "zero_stage", STORE_NUMBER, STORE_NEITHER, INTEGER(read_zero_stage), "ZeRO stage, 0 to 3", RUN_ONLY},
    {"gpu", "gpu", STORE_TEXT, STORE_NEITHER, TEXT(read_gpu), "name in the catalogue of GPUs", RUN_ONLY},
    {"gpus", "gpus", STORE_NUMBER, STORE_NEITHER, INTEGER(read_gpus), "GPUs in all", RUN_ONLY},
    {"nodes", "nodes", STORE_NUMBER, STORE_NEITHER, INTEGER(read_nodes), "nodes", RUN_ONLY},
    {"sequence_length", "sequence_length", STORE_NUMBER, STORE_NEITHER, INTEGER(read_sequence_length), "tokens of a sequence", RUN_ONLY},
    {"micro_batch", "micro_batch", STORE_NUMBER, STORE_NEITHER, INTEGER(read_micro_batch), "sequences per GPU and micro-batch", RUN_ONLY},
    {"gradient_accumulation", "gradient_accumulation", STORE_NUMBER, STORE_NEITHER, INTEGER(read_gradient_accumulation), "micro-batches per step", RUN_ONLY},
    {"global_batch", "global_batch", STORE_NUMBER, STORE_NEITHER, INTEGER(read_global_batch), "sequences per step, all GPUs", RUN_ONLY},
    {"precision", "precision", STORE_TEXT, STORE_NEITHER, TEXT(read_precision), "type of the matrix multiplications", RUN_ONLY},
    {"activation_checkpointing", "activation_checkpointing", STORE_TEXT, STORE_NEITHER, TEXT(read_activation_checkpointing), "what backward recomputes", RUN_ONLY},
    {"tokens", "tokens", STORE_NUMBER, STORE_NEITHER, INTEGER(read_tokens), "tokens per step, all GPUs", RUN_ONLY},
    {"verdict", "verdict", STORE_TEXT, STORE_NEITHER, TEXT(read_verdict), "fits or oom", PER_CLASS},
    {"step", "step_ps", STORE_TIME, STORE_LESS, INTEGER(read_step), "period of the step", PER_CLASS},
    {"compute", "compute_ps", STORE_TIME, STORE_LESS, INTEGER(read_compute), "time in which compute runs", PER_CLASS},
    {"communication", "communication_ps", STORE_TIME, STORE_LESS, INTEGER(read_communication), "time in which communication is resident", PER_CLASS},
    {"exposed", "exposed_ps", STORE_TIME, STORE_LESS, INTEGER(read_exposed), "communication while no compute runs", PER_CLASS},
    {"exposed_share", "exposed_share", STORE_SHARE, STORE_LESS, NUMBER(run_report_exposed_share), "exposed communication, share of the step", PER_CLASS},
    {"idle", "idle_ps", STORE_TIME, STORE_LESS, INTEGER(read_idle), "neither compute nor communication", PER_CLASS},
    {"host", "host_ps", STORE_TIME, STORE_LESS, INTEGER(read_host), "idle: the host had launched nothing yet", PER_CLASS},
    {"bubble", "bubble_ps", STORE_TIME, STORE_LESS, INTEGER(read_bubble), "idle: a pipeline's bubble", PER_CLASS},
    {"network_bytes_intra", "network_bytes_intra", STORE_BYTES, STORE_LESS, INTEGER(read_intra), "sent per GPU and step inside the node", PER_CLASS},
    {"network_bytes_inter", "network_bytes_inter", STORE_BYTES, STORE_LESS, INTEGER(read_inter), "sent per GPU and step between nodes", PER_CLASS},
    {"tokens_per_second", "tokens_per_second", STORE_RATE, STORE_MORE, NUMBER(read_tokens_per_second), "tokens per second, all GPUs", RUN_ONLY},
    {"tokens_per_second_per_gpu", "tokens_per_second_per_gpu", STORE_RATE, STORE_MORE, NUMBER(read_tokens_per_second_per_gpu), "tokens per second and GPU", RUN_ONLY},
    {"model_flops_utilisation", "model_flops_utilisation", STORE_SHARE, STORE_MORE, NUMBER(read_mfu), "MFU: share of the dense peak, recomputation not counted", RUN_ONLY},
    {"hardware_flops_utilisation", "hardware_flops_utilisation", STORE_SHARE, STORE_MORE, NUMBER(read_hfu), "HFU: share of the dense peak, recomputation counted", RUN_ONLY},
    {"steady_allocated", "steady_allocated_bytes", STORE_BYTES, STORE_LESS, INTEGER(read_steady_allocated), "memory held between steps", PER_CLASS},
    {"peak_allocated", "peak_allocated_bytes", STORE_BYTES, STORE_LESS, INTEGER(read_peak_allocated), "most memory that tensors hold at any moment, in the allocator's blocks", PER_CLASS},
    {"peak_active", "peak_active_bytes", STORE_BYTES, STORE_LESS, INTEGER(read_peak_active), "the same with blocks that wait for a stream", PER_CLASS},
    {"peak_reserved", "peak_reserved_bytes", STORE_BYTES, STORE_LESS, INTEGER(read_peak_reserved), "most memory that the allocator holds, its cache included", PER_CLASS},
    {"device_used", "device_used_bytes", STORE_BYTES, STORE_LESS, INTEGER(read_device_used), "most memory that nvidia-smi would show: reserved and all outside the allocator", PER_CLASS},
    {"capacity", "capacity_bytes", STORE_BYTES, STORE_NEITHER, INTEGER(read_capacity), "usable memory of the device", PER_CLASS},
    {"short_by", "short_by_bytes", STORE_BYTES, STORE_LESS, INTEGER(read_short_by), "memory that is missing", PER_CLASS},
    {"alloc_retries", "alloc_retries", STORE_NUMBER, STORE_LESS, INTEGER(read_alloc_retries), "times the allocator gave its cache back to make room, all steps played", PER_CLASS},
    {"alloc_stall", "alloc_stall_ps", STORE_TIME, STORE_LESS, INTEGER(read_alloc_stall), "host time that these take in a step", PER_CLASS},
    {"price_per_step", "price_per_step", STORE_MONEY, STORE_LESS, NUMBER(read_price_per_step), "price of a step", OPTIONAL},
    {"price_per_million_tokens", "price_per_million_tokens", STORE_MONEY, STORE_LESS, NUMBER(read_price_per_million_tokens), "price of a million tokens", OPTIONAL},
    {"days_to_train", "days_to_train", STORE_NUMBER, STORE_LESS, NUMBER(read_days_to_train), "days for total_tokens", OPTIONAL},
    {"price_to_train", "price_to_train", STORE_MONEY, STORE_LESS, NUMBER(read_price_to_train), "price of total_tokens", OPTIONAL},
    {"step_low", "step_low_ps", STORE_TIME, STORE_LESS, INTEGER(read_step_low), "lower end of the interval around the step", OPTIONAL},
    {"step_high", "step_high_ps", STORE_TIME, STORE_LESS, INTEGER(read_step_high), "upper end of the interval around the step", OPTIONAL},
    {"validated_rows", "validated_rows", STORE_NUMBER, STORE_MORE, INTEGER(read_validated_rows), "published measurements of runs like this one", RUN_ONLY},
    {"envelope", "envelope", STORE_TEXT, STORE_NEITHER, TEXT(read_envelope), "whether anything like it was validated, and what the interval rests on", OPTIONAL},
    {"slowest_class", "slowest_class", STORE_NUMBER, STORE_NEITHER, INTEGER(read_slowest_class), "rank class whose times stand for the step", RUN_ONLY},
    {"tightest_class", "tightest_class", STORE_NUMBER, STORE_NEITHER, INTEGER(read_tightest_class), "rank class whose memory stands for the step", RUN_ONLY},
    {"steps_played", "steps_played", STORE_NUMBER, STORE_NEITHER, INTEGER(read_steps_played), "steady steps played until they repeated", RUN_ONLY},
    {"repeats", "repeats", STORE_NUMBER, STORE_NEITHER, INTEGER(read_repeats), "1: the last two steps played were equal", RUN_ONLY},
};
/* clang-format on */

const gsize store_n_metrics = G_N_ELEMENTS(store_metrics);

const StoreMetric *store_metric_find(const char *name) {
  for (gsize i = 0; i < store_n_metrics; i++)
    if (g_str_equal(store_metrics[i].name, name) || g_str_equal(store_metrics[i].column, name))
      return &store_metrics[i];
  return NULL;
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
