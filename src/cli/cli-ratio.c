/* SPDX-License-Identifier: MIT */
/* Intervals of ratios of the reports that compare has. */
#include "cli-ratio.h"

#include "trust-ratio.h"

static ReportRatio ratio_of(const Trust *trust, const RunReport *first, const RunReport *other, char label) {
  SimTime before = run_report_slowest(first)->step, now = run_report_slowest(other)->step;
  double foretold = before > 0 ? (double)now / (double)before : 0;
  ReportRatio known = {'A', label, foretold, foretold, foretold, trust_coverage(trust), 0, 0};
  TrustCase from, to;
  TrustRatio ratio;
  trust_read(trust, first, &from);
  trust_read(trust, other, &to);
  if (before > 0 && before != now && trust_ratio(trust, &from, &to, &ratio)) {
    known.low *= ratio.low;
    known.high *= ratio.high;
    known.pairs = ratio.pairs;
    known.sources = ratio.sources;
  }
  trust_case_clear(&from);
  trust_case_clear(&to);
  return known;
}

ReportRatio *cli_ratios(RunReport *const *reports, guint n, GError **error) {
  g_autoptr(Trust) trust = trust_load(error);
  if (trust == NULL)
    return NULL;
  ReportRatio *ratios = g_new0(ReportRatio, n);
  for (guint i = 1; i < n; i++)
    ratios[i] = ratio_of(trust, reports[0], reports[i], (char)('A' + i));
  return ratios;
}
