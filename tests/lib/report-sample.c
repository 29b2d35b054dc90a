/* SPDX-License-Identifier: MIT */
/* The sample Report: two streams filled layer by layer, then the gaps told and the memory summed. */
#include "report-sample.h"

#include <string.h>

#define SAMPLE_LAYERS 32
#define SAMPLE_GPUS   16

enum {
  SAMPLE_PARAMETER,
  SAMPLE_GRADIENT,
  SAMPLE_OPTIMIZER,
  SAMPLE_ACTIVATION,
  SAMPLE_TEMPORARY,
  SAMPLE_COMMUNICATION,
  SAMPLE_OVERHEAD
};

typedef struct {
  RunReport *report;
  RunClass *class;
  GArray *tasks, *collectives, *exposures, *samples;
  guint32 stage;
  SimTime compute_end, link_end; /* of the two streams */
  guint64 held[RUN_TENANTS];
} Sample;

static SimTime sample_task(Sample *s, const char *stream, const char *kind, const char *name, const char *phase,
                           gint32 layer, SimTime start, SimTime duration) {
  RunTask task = {s->tasks->len, stream, kind, name, phase, layer, 0, start, 0, start, start + duration, 1};
  g_array_append_val(s->tasks, task);
  return task.end;
}

static void sample_compute(Sample *s, const char *name, const char *phase, gint32 layer, SimTime ready,
                           SimTime duration) {
  SimTime start = MAX(s->compute_end + 40 * SIM_MICROSECOND, ready); /* 40 us of launch: the host is late */
  s->compute_end = sample_task(s, "compute", "compute", name, phase, layer, start, duration);
}

/* Ready at `ready`, behind all earlier ones. */
static SimTime sample_collective(Sample *s, const char *operation, const char *phase, gint32 layer, SimTime ready,
                                 SimTime duration, guint64 bytes) {
  SimTime start = MAX(s->link_end, ready);
  RunCollective collective = {s->tasks->len, operation, "ring", "Simple",         16, SAMPLE_GPUS,
                              bytes,         ready,     start,  start + duration, 0};
  collective.repeats = 1;
  collective.bus_bandwidth = (double)bytes / sim_time_to_seconds(duration) * 15 / 16;
  g_array_append_val(s->collectives, collective);
  s->link_end = sample_task(s, "communication", "collective", operation, phase, layer, start, duration);
  s->class->communication += duration;
  return s->link_end;
}

static void sample_memory(Sample *s, SimTime at, guint tenant, gint64 change) {
  s->held[tenant] += change;
  RunMemorySample sample = {.at = at};
  memcpy(sample.held, s->held, sizeof sample.held);
  if (s->samples->len > 0 && g_array_index(s->samples, RunMemorySample, s->samples->len - 1).at == at)
    g_array_set_size(s->samples, s->samples->len - 1);
  g_array_append_val(s->samples, sample);
  guint64 total = 0;
  for (guint t = 0; t < RUN_TENANTS; t++)
    total += s->held[t];
  if (total > s->class->device_used) {
    s->class->device_used = total;
    s->class->peak_allocated = total - s->held[SAMPLE_OVERHEAD];
    s->class->peak_at = at;
    memcpy(s->class->peak_held, s->held, sizeof s->held);
  }
}

static void sample_layers(Sample *s, SimTime unit, SimTime gather, SimTime reduce, guint64 layer_bytes) {
  SimTime before = 0, ready = 0;
  for (gint32 l = 0; l < SAMPLE_LAYERS; l++) {
    if (s->stage == 3)
      ready = sample_collective(s, "all-gather", "gather", l, before, gather, layer_bytes);
    before = s->compute_end;
    sample_compute(s, "decoder_layer", "forward", l, ready, unit);
    sample_memory(s, s->compute_end - unit, SAMPLE_ACTIVATION, 32 << 20);
    if (s->stage == 3)
      sample_memory(s, s->compute_end - unit, SAMPLE_COMMUNICATION, l < 2 ? (gint64)layer_bytes : 0);
  }
  sample_compute(s, "lm_head_loss", "forward", -1, 0, unit / 2);
  sample_memory(s, s->compute_end - unit / 2, SAMPLE_TEMPORARY, 1500 << 20);
  sample_memory(s, s->compute_end, SAMPLE_TEMPORARY, -(1500 << 20));
  for (gint32 l = SAMPLE_LAYERS - 1; l >= 0; l--) {
    ready = s->stage == 3 ? sample_collective(s, "all-gather", "gather", l, before, gather, layer_bytes) : 0;
    before = s->compute_end;
    sample_compute(s, "decoder_layer", "recompute", l, ready, unit);
    sample_memory(s, s->compute_end - unit, SAMPLE_TEMPORARY, 900 << 20);
    sample_compute(s, "decoder_layer", "backward", l, 0, 2 * unit);
    sample_memory(s, s->compute_end, SAMPLE_TEMPORARY, -(900 << 20));
    sample_memory(s, s->compute_end, SAMPLE_ACTIVATION, -(32 << 20));
    if (s->stage == 3 && l < 2)
      sample_memory(s, s->compute_end, SAMPLE_COMMUNICATION, -(gint64)layer_bytes);
    sample_collective(s, s->stage == 0 ? "all-reduce" : "reduce-scatter", "reduce", l, s->compute_end, reduce,
                      layer_bytes);
  }
  sample_compute(s, "adamw", "optimizer", -1, s->link_end, (s->stage == 0 ? 8 : 1) * unit);
  if (s->stage == 1 || s->stage == 2)
    sample_collective(s, "all-gather", "gather", -1, s->compute_end, SAMPLE_LAYERS * gather, SAMPLE_PARAMETERS * 2);
}

static void sample_expose(Sample *s, SimTime start, SimTime end, guint32 row, RunCause cause) {
  if (start >= end)
    return;
  RunExposure exposure = {start, end, row, cause, 1};
  g_array_append_val(s->exposures, exposure);
  s->class->by_cause[cause] += end - start;
  if (cause == RUN_CAUSE_HOST_IDLE) {
    s->class->host += end - start;
    s->class->idle += end - start;
  } else {
    s->class->exposed += end - start;
  }
}

/* One gap of the compute stream against all collectives: the first fifth of each is latency. */
static void sample_gap(Sample *s, SimTime start, SimTime end, gboolean tail) {
  for (guint i = 0; i < s->collectives->len; i++) {
    const RunCollective *c = &g_array_index(s->collectives, RunCollective, i);
    if (c->end <= start || c->start >= end)
      continue;
    SimTime middle = c->start + (c->end - c->start) / 5;
    sample_expose(s, start, MIN(c->start, end), G_MAXUINT32, RUN_CAUSE_HOST_IDLE);
    start = MAX(start, c->start);
    sample_expose(s, start, MIN(middle, MIN(c->end, end)), c->row, tail ? RUN_CAUSE_TAIL : RUN_CAUSE_LATENCY);
    start = MAX(start, MIN(middle, end));
    sample_expose(s, start, MIN(c->end, end), c->row,
                  tail            ? RUN_CAUSE_TAIL
                  : s->stage == 3 ? RUN_CAUSE_BANDWIDTH
                                  : RUN_CAUSE_BOUNDARY);
    start = MAX(start, MIN(c->end, end));
  }
  sample_expose(s, start, end, G_MAXUINT32, RUN_CAUSE_HOST_IDLE);
}

static int sample_by_start(gconstpointer a, gconstpointer b) {
  const RunTask *x = a, *y = b;
  return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : (x->row > y->row) - (x->row < y->row);
}

static void sample_close(Sample *s) {
  SimTime end = 0, step = MAX(s->compute_end, s->link_end);
  g_array_sort(s->tasks, sample_by_start);
  for (guint i = 0; i < s->tasks->len; i++) {
    const RunTask *task = &g_array_index(s->tasks, RunTask, i);
    if (!g_str_equal(task->stream, "compute"))
      continue;
    sample_gap(s, end, task->start, FALSE);
    end = task->end;
    s->class->compute += task->end - task->start;
  }
  sample_gap(s, end, step, TRUE);
  s->class->step = step;
  s->class->n_tasks = s->tasks->len;
  s->class->tasks = (RunTask *)g_array_free(s->tasks, FALSE);
  s->class->n_collectives = s->collectives->len;
  s->class->collectives = (RunCollective *)g_array_free(s->collectives, FALSE);
  s->class->n_exposures = s->exposures->len;
  s->class->exposures = (RunExposure *)g_array_free(s->exposures, FALSE);
  s->class->n_samples = s->samples->len;
  s->class->samples = (RunMemorySample *)g_array_free(s->samples, FALSE);
}

static void sample_verdict(RunClass *class, guint64 capacity) {
  class->capacity = capacity;
  class->peak_step = 1;
  class->peak_name = "lm_head_loss";
  class->peak_layer = -1;
  class->peak_phase = "forward";
  if (class->device_used <= capacity)
    return;
  class->verdict = RUN_OOM;
  class->short_by = class->device_used - capacity;
  class->has_oom = TRUE;
  class->oom = (RunOom){.at = 812 * SIM_MILLISECOND,
                        .step = 0,
                        .row = 3,
                        .name = "adamw",
                        .tenant = "optimizer",
                        .tensor = "exp_avg_sq",
                        .requested = SAMPLE_PARAMETERS * 4,
                        .free = 3 << 20,
                        .phase = "optimizer",
                        .layer = -1};
}

static void sample_class(RunReport *report, guint32 index, guint32 ranks, SimTime unit, guint64 capacity) {
  guint32 stage = report->identity.zero_stage;
  guint64 p = SAMPLE_PARAMETERS, layer_bytes = p * 2 / SAMPLE_LAYERS;
  RunClass *class = &report->classes[index];
  class->ranks = ranks;
  class->first_rank = index == 0 ? 0 : 14;
  Sample s = {.report = report, .class = class};
  s.tasks = g_array_new(FALSE, TRUE, sizeof(RunTask));
  s.collectives = g_array_new(FALSE, TRUE, sizeof(RunCollective));
  s.exposures = g_array_new(FALSE, TRUE, sizeof(RunExposure));
  s.samples = g_array_new(FALSE, TRUE, sizeof(RunMemorySample));
  s.stage = stage;
  s.held[SAMPLE_PARAMETER] = p * 2 / (stage >= 3 ? SAMPLE_GPUS : 1);
  s.held[SAMPLE_GRADIENT] = p * 2 / (stage >= 2 ? SAMPLE_GPUS : 1);
  s.held[SAMPLE_OPTIMIZER] = p * 12 / (stage >= 1 ? SAMPLE_GPUS : 1);
  s.held[SAMPLE_COMMUNICATION] = 50 << 20;
  s.held[SAMPLE_OVERHEAD] = 1200 << 20;
  for (guint t = 0; t < RUN_TENANTS; t++) {
    class->steady_allocated += t == SAMPLE_OVERHEAD ? 0 : s.held[t];
    class->peak_unique[t] = s.held[t] / (t <= SAMPLE_OPTIMIZER && stage == 0 ? SAMPLE_GPUS : 1);
  }
  sample_memory(&s, 0, SAMPLE_TEMPORARY, 0);
  SimTime gather = 5100 * SIM_MICROSECOND;
  sample_layers(&s, unit, gather, stage == 0 ? 2 * gather : gather, layer_bytes);
  sample_close(&s);
  sample_verdict(class, capacity);
  class->network_bytes_intra = p * 2 * (stage == 3 ? 3 : 2) * 14 / 16;
  class->network_bytes_inter = p * 2 * (stage == 3 ? 3 : 2) / 16;
}

RunReport *report_sample(guint32 zero_stage, guint64 capacity) {
  static const char *const settings[][3] = {{"cluster.nodes", "2", "file"},
                                            {"parallel.zero_stage", "", "command line"},
                                            {"training.sequence_length", "4096", "default"}};
  static const char *const notes[] = {"Dropout is off.",
                                      "The allocator does not fragment: peaks are of bytes allocated.", NULL};
  RunReport *report = g_new0(RunReport, 1);
  RunIdentity *identity = &report->identity;
  g_autofree char *key_text = g_strdup_printf("sample %u %" G_GUINT64_FORMAT, zero_stage, capacity);
  identity->run_key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key_text, -1);
  identity->workload = g_strdup("workloads/llama2-7b.ini");
  identity->topology = g_strdup("topologies/dgx-h100.ini");
  identity->model = g_strdup("Llama-2-7B");
  identity->gpu = g_strdup("h100-sxm5-80gb");
  identity->architecture = g_strdup("hopper");
  identity->network_rate = 48e9;
  identity->framework = g_strdup("paper");
  identity->precision = g_strdup("bf16");
  identity->activation_checkpointing = g_strdup("full");
  identity->zero_stage = zero_stage;
  identity->gpus = SAMPLE_GPUS;
  identity->nodes = 2;
  identity->parameters = SAMPLE_PARAMETERS;
  identity->sequence_length = 4096;
  identity->micro_batch = identity->gradient_accumulation = 1;
  identity->global_batch = SAMPLE_GPUS;
  identity->n_settings = G_N_ELEMENTS(settings);
  identity->settings = g_new0(RunSetting, identity->n_settings);
  for (guint i = 0; i < identity->n_settings; i++)
    identity->settings[i] =
        (RunSetting){g_strdup(settings[i][0]), g_strdup(settings[i][1]), g_strdup(settings[i][2]), FALSE};
  g_free(identity->settings[1].value);
  identity->settings[1].value = g_strdup_printf("%u", zero_stage);
  identity->notes = g_strdupv((char **)notes);
  identity->gpu_hour = 2.95;
  identity->total_tokens = 2e12;

  report->n_classes = 2;
  report->classes = g_new0(RunClass, 2);
  sample_class(report, 0, 14, 5 * SIM_MILLISECOND, capacity);
  sample_class(report, 1, 2, 5250 * SIM_MICROSECOND, capacity);
  report->slowest = 1;
  report->tightest = 0;
  report->verdict = report->classes[0].verdict;
  double seconds = sim_time_to_seconds(report->classes[1].step);
  report->step_low = report->classes[1].step / 10 * 9;
  report->step_high = report->classes[1].step / 10 * 13;
  report->validated_rows = 12;
  report->envelope = g_strdup("validated: like 12 rows of nobody; 80 % interval of 34 rows (hopper)");
  report->tokens = SAMPLE_GPUS * 4096;
  report->tokens_per_second = (double)report->tokens / seconds;
  report->tokens_per_second_per_gpu = report->tokens_per_second / SAMPLE_GPUS;
  report->model_flops_utilisation = 6.0 * SAMPLE_PARAMETERS * report->tokens_per_second_per_gpu / 989.4e12;
  report->hardware_flops_utilisation = report->model_flops_utilisation * 4 / 3;
  report->price_per_step = identity->gpu_hour * SAMPLE_GPUS * seconds / 3600;
  report->price_per_million_tokens = report->price_per_step / (double)report->tokens * 1e6;
  report->days_to_train = identity->total_tokens / report->tokens_per_second / 86400;
  report->price_to_train = report->price_per_million_tokens * identity->total_tokens / 1e6;
  report->gpu_power = 612.5;
  report->energy_per_step = report->gpu_power * SAMPLE_GPUS * seconds / 3.6e6;
  report->energy_to_train = report->energy_per_step * identity->total_tokens / (double)report->tokens;
  report->energy_cost = report->energy_to_train * 0.08;
  report->steps_played = 2;
  report->repeats = TRUE;
  report->n_links = 2;
  report->links = g_new0(RunLink, 2);
  report->links[0] = (RunLink){"nvlink4-nvswitch3", 16, 4.2e11, 200 * SIM_MILLISECOND, 0.31};
  report->links[1] = (RunLink){"ib-ndr400", 16, 2.5e10, 150 * SIM_MILLISECOND, 0.05};
  report->events = 123456;
  report->wall_seconds = 0.25;
  report->names = g_string_chunk_new(256);
  return report;
}
