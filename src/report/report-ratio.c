/* SPDX-License-Identifier: MIT */
/* Intervals of ratios, in words. */
#include "report-ratio.h"

#include "report-words.h"

void report_ratio(const ReportRatio *ratio, GString *text) {
  g_autofree char *words =
      g_strdup_printf("%c's step is %.3f of %c's, from %.3f to %.3f, since errors that both share cancel (%u %% "
                      "interval of %u pairs of "
                      "published steps, of %u source%s).%s",
                      ratio->to, ratio->foretold, ratio->from, ratio->low, ratio->high, ratio->coverage, ratio->pairs,
                      ratio->sources, ratio->sources == 1 ? "" : "s",
                      ratio->low < 1 && ratio->high > 1 ? " That is too little to tell which is faster." : "");
  report_wrap(text, "", words);
}
