/* SPDX-License-Identifier: MIT */
/* The table of colours: of phases, operations and causes, and of memory tenants. */
#include "report-looks.h"

#include <string.h>

#include "base-names.h"

const char *const report_look_headings[] = {"host", "compute", "communication", "exposed by", "idle by", "else"};

const ReportLook report_looks[] = {
    {REPORT_LOOK_HOST, "issuing", "#5b7f5b", TRUE},
    {REPORT_LOOK_COMPUTE, "setup", "#e6e6e6", FALSE},
    {REPORT_LOOK_COMPUTE, "forward", "#a6cee3", FALSE},
    {REPORT_LOOK_COMPUTE, "recompute", "#6fa8dc", FALSE},
    {REPORT_LOOK_COMPUTE, "backward", "#1f66ad", TRUE},
    {REPORT_LOOK_COMPUTE, "weights", "#3a8f7b", TRUE},
    {REPORT_LOOK_COMPUTE, "reduce", "#7b5ea7", TRUE},
    {REPORT_LOOK_COMPUTE, "gather", "#c9b3e6", FALSE},
    {REPORT_LOOK_COMPUTE, "optimizer", "#08203f", TRUE},
    {REPORT_LOOK_COMMUNICATION, "all-gather", "#fdd0a2", FALSE},
    {REPORT_LOOK_COMMUNICATION, "reduce-scatter", "#e6813c", FALSE},
    {REPORT_LOOK_COMMUNICATION, "all-reduce", "#8c3a04", TRUE},
    {REPORT_LOOK_COMMUNICATION, "all-to-all", "#b8912f", FALSE},
    {REPORT_LOOK_COMMUNICATION, "send-recv", "#d9b26f", FALSE},
    {REPORT_LOOK_COMMUNICATION, "broadcast", "#f5e2b8", FALSE},
    {REPORT_LOOK_EXPOSED, "bandwidth", "#650000", TRUE},
    {REPORT_LOOK_EXPOSED, "latency", "#f29072", FALSE},
    {REPORT_LOOK_EXPOSED, "boundary", "#c2412d", TRUE},
    {REPORT_LOOK_EXPOSED, "bucket-fill", "#e8b04a", FALSE},
    {REPORT_LOOK_EXPOSED, "serialised", "#8e2a7a", TRUE},
    {REPORT_LOOK_EXPOSED, "straggler", "#111111", TRUE},
    {REPORT_LOOK_EXPOSED, "host", "#8a6d00", TRUE},
    {REPORT_LOOK_EXPOSED, "tail", "#ead98a", FALSE},
    {REPORT_LOOK_IDLE, "host-idle", "#9e9e9e", FALSE},
    {REPORT_LOOK_IDLE, "bubble", "#d9d9d9", FALSE},
    {REPORT_LOOK_ELSE, "other", "#808080", TRUE}, /* any kind that has no row here */
};
const guint report_n_looks = G_N_ELEMENTS(report_looks);

const ReportLook *report_look(const char *kind) {
  guint i = 0;
  while (i < report_n_looks - 1 && strcmp(report_looks[i].kind, kind) != 0)
    i++;
  return &report_looks[i];
}

const ReportSeriesLook report_series_looks[REPORT_SERIES] = {
    {"#1f66ad", 7}, {"#e6813c", 5}, {"#33792c", 9}, {"#9c2a1c", 11}, {"#7b5ea7", 13},
    {"#08203f", 6}, {"#c9a400", 4}, {"#6fa8dc", 8}, {"#333333", 2},  {"#d45fa0", 1}};

static const struct {
  const char *colour, *on_dark;
} others[] = {{"#08203f", "#e8f1fb"}, {"#650000", "#e05252"}, {"#8e2a7a", "#c86fb8"}, {"#111111", "#ffffff"},
              {"#9e9e9e", "#6b7078"}, {"#d9d9d9", "#3a3e45"}, {"#333333", "#a9adb3"}, {"#9c2a1c", "#d9604f"},
              {"#33792c", "#55a34c"}, {"#1f66ad", "#4f93d8"}, {"#7b5ea7", "#a78bd0"}};

/* Its row among these; their number where it has none. */
static guint other_of(const char *colour) {
  guint i = 0;
  while (i < G_N_ELEMENTS(others) && strcmp(others[i].colour, colour) != 0)
    i++;
  return i;
}

gboolean report_colour_has_other(const char *colour) {
  return other_of(colour) < G_N_ELEMENTS(others);
}

const char *report_colour_on_dark(const char *colour) {
  guint i = other_of(colour);
  return i < G_N_ELEMENTS(others) ? others[i].on_dark : colour;
}

const ReportTenantLook report_tenant_looks[RUN_TENANTS + 1] = {
    {"overhead", "#333333"},      {"parameters", "#9cc7e0"},  {"optimizer", "#2a6db5"}, {"gradients", "#d3efb5"},
    {"communication", "#33792c"}, {"activations", "#f2a65a"}, {"temporary", "#9c2a1c"}, {"cache, rounding", "#d9d9d9"},
};

guint report_tenant_of(guint layer) {
  return (guint)base_names_find(run_tenant_names, report_tenant_looks[layer].tenant);
}
