/* SPDX-License-Identifier: MIT */
/* What every kind of plot is asked for: a file, its ground, and whether to tell of it. */
#pragma once

#include "cli.h"
#include "report-plot.h"

typedef struct {
  ReportCanvas canvas;
  gboolean json, quiet;
} CliCanvas;

/* Rows of a table of options: of the CliCanvas at `field` of the struct `type`. */
#define CLI_CANVAS(type, field)                                                                                        \
  CLI_JSON(type, field.json), CLI_QUIET(type, field.quiet), CLI_OUTPUT(type, field.canvas.path), {                     \
    "dark", 0, CLI_FLAG, offsetof(type, field.canvas.dark), NULL, "on a dark ground"                                   \
  }

/* Kinds that have a file of their own. */
extern const CliVerb cli_plot_exposed, cli_plot_parity, cli_plot_pareto, cli_plot_scaling, cli_plot_oom_map,
    cli_plot_capacity, cli_plot_tornado;

/* The picture can be written: a name that ends as one does, in a folder that is there. `plot`: the kind. */
gboolean cli_plot_check(const CliCanvas *asked, const char *plot, GError **error);
void cli_plot_tell(const CliCanvas *asked);
