/* SPDX-License-Identifier: MIT */
/* Plays a shipped workload folded and rank by rank, and holds the two equal. */
#include "twins-workloads.h"

static Study *twins_open(const TwinsCase *twin) {
  GError *error = NULL;
  Study *study = study_open(twin->workload, &error);
  g_autofree char *zero = g_strdup_printf("parallel.zero_stage=%u", twin->stage);
  gboolean good = study != NULL && study_set(study, zero, &error);
  for (const char *const *set = twin->sets; good && *set != NULL; set++)
    good = study_set(study, *set, &error);
  if (!good)
    g_error("%s: %s", twin->workload, error->message);
  return study;
}

RunReport *twins_run(const TwinsCase *twin, StudyOptions options) {
  GError *error = NULL;
  g_autoptr(Study) study = twins_open(twin);
  RunReport *report = study_run(study, &options, &error);
  if (report == NULL)
    g_error("%s: %s", twin->workload, error->message);
  return report;
}

void twins_check(const TwinsCase *twin) {
  g_autoptr(RunReport) folded = twins_run(twin, STUDY_OPTIONS_DEFAULT);
  g_autoptr(RunReport) plain = twins_run(twin, (StudyOptions){.timeline = TRUE, .fold = FALSE});
  g_autofree guint32 *classes = twins_classes(folded, folded->identity.gpus);
  gboolean equal = twins_equal(folded, classes, plain, TRUE);
  CU_ASSERT_EQUAL(plain->n_classes, folded->identity.gpus);
  CU_ASSERT_EQUAL(folded->n_classes, twin->classes);
  CU_ASSERT_TRUE(equal);
  if (!equal || folded->n_classes != twin->classes)
    printf("    %s on %u GPUs, ZeRO-%u, %s: %u classes\n", twin->workload, folded->identity.gpus, twin->stage,
           twin->sets[0] != NULL ? twin->sets[0] : "", folded->n_classes);
}
