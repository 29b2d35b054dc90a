/* SPDX-License-Identifier: MIT */
/* foretrain list workloads: each in a row, with framework, axes and cluster as its file says. */
#include "cli-list.h"
#include "conf-path.h"
#include "study.h"

/* A setting as it stands in the file, or its default; "-" where there is none, and in a file that cannot be read. */
static void setting_cell(CliListing *listing, const Study *study, const char *name) {
  const char *value = study != NULL ? study_setting(study, name) : NULL;
  guint64 number;
  if (!cli_listing_is_right(listing))
    cli_listing_shown(listing, value, value != NULL ? value : "-");
  else if (value != NULL && g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT64, &number, NULL))
    cli_listing_integer(listing, (gint64)number, value);
  else
    cli_listing_number(listing, 0, "%.0f", 0);
}

CliExit cli_list_workloads(CliListing *listing, GError **error) {
  static const CliColumn columns[] = {{"workload", "workload", BASE_LEFT},
                                      {"framework", "framework", BASE_LEFT},
                                      {"zero_stage", "ZeRO", BASE_RIGHT},
                                      {"tensor", "tensor", BASE_RIGHT},
                                      {"pipeline", "pipeline", BASE_RIGHT},
                                      {"expert", "expert", BASE_RIGHT},
                                      {"sequence_length", "sequence", BASE_RIGHT},
                                      {"topology", "topology", BASE_LEFT},
                                      {"nodes", "nodes", BASE_RIGHT},
                                      {NULL, NULL, BASE_LEFT}};
  static const char *const settings[] = {"parallel.framework", "parallel.zero_stage", "parallel.tensor",
                                         "parallel.pipeline",  "parallel.expert",     "training.sequence_length",
                                         "cluster.topology",   "cluster.nodes"};
  g_auto(GStrv) names = conf_path_list("workloads", ".ini", error);
  cli_listing_columns(listing, columns);
  for (char **name = names; name != NULL && *name != NULL; name++) {
    g_autoptr(Study) study = study_open(*name, NULL);
    cli_listing_text(listing, *name);
    for (gsize i = 0; i < G_N_ELEMENTS(settings); i++)
      setting_cell(listing, study, settings[i]);
  }
  return names != NULL ? CLI_DONE : CLI_INPUT;
}
