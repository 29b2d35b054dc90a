/* SPDX-License-Identifier: MIT */
/* Intervals of ratios, in words and as JSON. */
#include "report-ratio.h"

#include "report-words.h"

void report_ratio(const ReportRatio *ratio, GString *text) {
  if (ratio->pairs == 0)
    return;
  g_autofree char *words =
      g_strdup_printf("%c's step is %.3f of %c's, from %.3f to %.3f, since errors that both share cancel (%u %% "
                      "interval of %u pairs of "
                      "published steps, of %u source%s).%s",
                      ratio->to, ratio->foretold, ratio->from, ratio->low, ratio->high, ratio->coverage, ratio->pairs,
                      ratio->sources, ratio->sources == 1 ? "" : "s",
                      ratio->low < 1 && ratio->high > 1 ? " That is too little to tell which is faster." : "");
  report_wrap(text, "", words);
}

void report_ratio_json(const ReportRatio *ratio, BaseJson *json) {
  if (ratio->pairs == 0) {
    base_json_null(json, "step_ratio");
    return;
  }
  base_json_map(json, "step_ratio");
  base_json_number(json, "foretold", ratio->foretold);
  base_json_number(json, "low", ratio->low);
  base_json_number(json, "high", ratio->high);
  base_json_integer(json, "coverage", ratio->coverage);
  base_json_integer(json, "pairs", ratio->pairs);
  base_json_integer(json, "sources", ratio->sources);
  base_json_end(json);
}
