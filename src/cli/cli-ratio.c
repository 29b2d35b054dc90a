/* SPDX-License-Identifier: MIT */
/* Intervals of ratios of the reports that compare has. */
#include "cli-ratio.h"

#include "report-ratio.h"
#include "trust-ratio.h"

static void say(const Trust *trust, const RunReport *first, const RunReport *other, char label, GString *text) {
  SimTime before = run_report_slowest(first)->step, now = run_report_slowest(other)->step;
  TrustCase from, to;
  TrustRatio ratio;
  trust_read(trust, first, &from);
  trust_read(trust, other, &to);
  if (before > 0 && before != now && trust_ratio(trust, &from, &to, &ratio)) {
    double foretold = (double)now / (double)before;
    report_ratio(&(ReportRatio){'A', label, foretold, foretold * ratio.low, foretold * ratio.high,
                                trust_coverage(trust), ratio.pairs, ratio.sources},
                 text);
  }
  trust_case_clear(&from);
  trust_case_clear(&to);
}

gboolean cli_ratios(RunReport *const *reports, guint n, GString *text, GError **error) {
  g_autoptr(Trust) trust = trust_load(error);
  for (guint i = 1; trust != NULL && i < n; i++)
    say(trust, reports[0], reports[i], (char)('A' + i), text);
  return trust != NULL;
}
