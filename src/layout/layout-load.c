/* SPDX-License-Identifier: MIT */
/* The schema of the axes' keys, the names of pipeline schedules among them, and reading it. */
#include <string.h>

#include "layout-load.h"

const char *const layout_schedule_names[] = {"default", "single", "gpipe", "1f1b", "interleaved", "zb-h1", "zbv", NULL};
static const char *const later_schedules[] = {"dualpipe", "dualpipev", NULL};

typedef struct {
  guint64 tensor, pipeline, interleave, context, expert, expert_tensor;
  int schedule;
  gboolean sequence_parallel;
  char *rank_order;
} Keys;

#define MAX_DEGREE 65536
#define DEGREE(key_, initial_, help_)                                                                                  \
  BASE_ROW("parallel", #key_, BASE_COUNT, Keys, key_, .min = 1, .max = MAX_DEGREE, .initial = initial_, .help = help_)

#define KEY(key_, kind_, member_, ...) BASE_ROW("parallel", key_, kind_, Keys, member_, __VA_ARGS__)

static const BaseField keys[] = {
    DEGREE(tensor, "1", "tensor parallelism: ranks that split each matmul"),
    DEGREE(pipeline, "1", "pipeline parallelism: ranks that hold a run of layers each"),
    DEGREE(interleave, "1", "model chunks of each pipeline rank (virtual stages)"),
    KEY("schedule", BASE_NAME, schedule, .names = layout_schedule_names, .later = later_schedules,
        .help = "order of the passes of a pipeline; default: 1f1b, and interleaved where interleave is more than 1"),
    KEY("sequence_parallel", BASE_FLAG, sequence_parallel, .initial = "no",
        .help = "what tensor parallelism leaves whole (norms, dropout) is split over the sequence"),
    DEGREE(context, "1", "context parallelism: ranks that split each sequence"),
    DEGREE(expert, "1", "expert parallelism: ranks that hold different experts"),
    DEGREE(expert_tensor, NULL,
           "tensor parallelism of expert layers; where it is not given: as tensor, and 1 of deepspeed and fsdp2 beside "
           "expert"),
    KEY("rank_order", BASE_TEXT, rank_order,
        .help = "order of the axes over ranks, the fastest first, as tp-cp-ep-pp-dp; else the framework's"),
};
const ConfSchema layout_schema = {keys, G_N_ELEMENTS(keys)};

/* The key to name when several do not go together: the first that somebody gave. */
static const char *given_key(const ConfSettings *settings) {
  static const char *const names[] = {"parallel.tensor", "parallel.pipeline", "parallel.context", "parallel.expert",
                                      "parallel.expert_tensor"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (conf_settings_given(settings, names[i]))
      return names[i];
  return names[0];
}

static gboolean schedule_of_one_chunk(LayoutSchedule schedule) {
  return schedule != LAYOUT_SCHEDULE_DEFAULT && schedule != LAYOUT_SCHEDULE_INTERLEAVED &&
         schedule != LAYOUT_SCHEDULE_ZB_H1 && schedule != LAYOUT_SCHEDULE_ZBV;
}

static gboolean check_schedule(const ConfSettings *settings, const Keys *read, GError **error) {
  LayoutSchedule schedule = (LayoutSchedule)read->schedule;
  const char *name = layout_schedule_names[schedule], *key = "parallel.schedule";
  if (read->pipeline == 1 && read->interleave > 1)
    return conf_settings_fail(settings, "parallel.interleave", error,
                              "there is no pipeline to interleave; give pipeline");
  if (read->pipeline == 1 && schedule > LAYOUT_SCHEDULE_SINGLE)
    return conf_settings_fail(settings, key, error, "%s needs a pipeline of at least 2", name);
  if (read->pipeline > 1 && schedule == LAYOUT_SCHEDULE_SINGLE)
    return conf_settings_fail(settings, key, error, "single has no pipeline, and pipeline is %u",
                              (guint)read->pipeline);
  if (schedule == LAYOUT_SCHEDULE_INTERLEAVED && read->interleave == 1)
    return conf_settings_fail(settings, key, error, "interleaved needs interleave of at least 2");
  if (read->interleave > 1 && schedule_of_one_chunk(schedule))
    return conf_settings_fail(settings, key, error, "%s has one chunk per pipeline rank, and interleave is %u", name,
                              (guint)read->interleave);
  if (schedule == LAYOUT_SCHEDULE_ZBV && read->interleave > 2)
    return conf_settings_fail(settings, key, error, "zbv has 2 chunks per pipeline rank, and interleave is %u",
                              (guint)read->interleave);
  return TRUE;
}

static gboolean check_experts(const ConfSettings *settings, const Keys *read, gboolean experts, GError **error) {
  if (experts)
    return TRUE;
  if (read->expert > 1)
    return conf_settings_fail(settings, "parallel.expert", error, "the model has no experts");
  if (read->expert_tensor > 1)
    return conf_settings_fail(settings, "parallel.expert_tensor", error, "the model has no experts");
  return TRUE;
}

static LayoutSchedule resolve_schedule(const Keys *read) {
  if (read->schedule != LAYOUT_SCHEDULE_DEFAULT)
    return (LayoutSchedule)read->schedule;
  if (read->pipeline == 1)
    return LAYOUT_SCHEDULE_SINGLE;
  return read->interleave > 1 ? LAYOUT_SCHEDULE_INTERLEAVED : LAYOUT_SCHEDULE_1F1B;
}

static gboolean lay_out(const ConfSettings *settings, const Keys *read, guint32 ranks, const char *order, Layout *ret,
                        GError **error) {
  LayoutDegrees degrees = {.tensor = (guint32)read->tensor,
                           .context = (guint32)read->context,
                           .pipeline = (guint32)read->pipeline,
                           .expert = (guint32)read->expert,
                           .expert_tensor = (guint32)read->expert_tensor};
  g_autoptr(GError) problem = NULL;
  if (layout_init(ret, &degrees, ranks, order, &problem))
    return TRUE;
  const char *key = read->rank_order != NULL && strstr(problem->message, "order") != NULL ? "parallel.rank_order"
                                                                                          : given_key(settings);
  return conf_settings_fail(settings, key, error, "%s", problem->message);
}

gboolean layout_load(const ConfSettings *settings, guint32 ranks, const char *framework, gboolean experts,
                     LayoutRecipe *ret, GError **error) {
  Keys read = {0};
  LayoutRecipe recipe = {0};
  gboolean good = conf_settings_fill(settings, &layout_schema, &read, error) &&
                  check_schedule(settings, &read, error) && check_experts(settings, &read, experts, error);
  if (good) {
    if (experts && read.expert_tensor == 0)
      read.expert_tensor = layout_default_expert_tensor(framework, (guint32)read.tensor, (guint32)read.expert);
    const char *order = read.rank_order != NULL ? read.rank_order : layout_default_order(framework, experts);
    good = lay_out(settings, &read, ranks, order, &recipe.layout, error);
  }
  if (good) {
    recipe.schedule = resolve_schedule(&read);
    recipe.chunks = recipe.schedule == LAYOUT_SCHEDULE_ZBV ? 2 : (guint32)read.interleave;
    recipe.sequence_parallel = read.sequence_parallel && read.tensor > 1;
    *ret = recipe;
  }
  conf_struct_clear(&layout_schema, &read);
  return good;
}
