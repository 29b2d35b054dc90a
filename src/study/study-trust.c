/* SPDX-License-Identifier: MIT */
/* The interval around a step and around its memory, and what vouches for them. */
#include <string.h>

#include "study-walk.h"

/* What somebody gave that is the default all the same changes nothing. */
static void mark_usual(const ConfSettings *defaults, RunIdentity *identity) {
  for (guint32 i = 0; i < identity->n_settings; i++) {
    RunSetting *setting = &identity->settings[i];
    setting->usual = strcmp(setting->origin, conf_origin_names[CONF_ORIGIN_DEFAULT]) == 0 ||
                     (conf_settings_knows(defaults, setting->name) &&
                      g_strcmp0(conf_settings_get(defaults, setting->name), setting->value) == 0);
  }
}

void study_trust(const StudyWalk *walk, const char *unlike, RunReport *report) {
  const Trust *trust = study_cache_trust(walk->cache, NULL); /* read when the key was made */
  TrustCase one;
  TrustVerdict verdict;
  mark_usual(study_cache_defaults(walk->cache), &report->identity);
  trust_read(trust, report, &one);
  trust_judge(trust, &one, run_report_slowest(report)->step, unlike, &verdict);
  const TrustMargin *margin = trust_margin(trust, &one);
  run_report_judge(report, margin->low, margin->high);
  trust_case_clear(&one);
  report->step_low = verdict.low;
  report->step_high = verdict.high;
  report->validated_rows = verdict.alike;
  report->envelope = g_steal_pointer(&verdict.envelope);
}

double study_network_rate(const HwCluster *cluster) {
  return cluster->nic != NULL ? cluster->nic_bandwidth * cluster->nics_per_node / cluster->machine_gpus : 0;
}
