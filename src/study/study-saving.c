/* SPDX-License-Identifier: MIT */
/* Bytes by node, and one more play with what the writing leaves of the NICs. */
#include "study-saving.h"

#include "base-error.h"
#include "study-trial.h"

static guint64 host_memory(const RunIdentity *identity) {
  const char *value = run_identity_setting(identity, "host.dram");
  return value != NULL ? (guint64)g_ascii_strtod(value, NULL) : 0;
}

static RunReport *play(const Study *study, const char *change, const char *more, const StudyOptions *options,
                       GError **error) {
  g_autofree char *all = g_strconcat(change, *change != '\0' && more != NULL ? " " : "", more, NULL);
  g_auto(GStrv) changes = *all != '\0' ? g_strsplit(all, " ", -1) : g_new0(char *, 1);
  StudyOptions plain = *options;
  plain.timeline = FALSE;
  return study_try(study, (const char *const *)changes, &plain, error);
}

/* The step with what is left of the NICs. */
static gboolean play_beside(const Study *study, const char *change, const StudyOptions *options, double rate,
                            const RunReport *alone, SimTime *ret, GError **error) {
  double node = alone->identity.network_rate * alone->identity.gpus / alone->identity.nodes;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  if (alone->identity.nodes == 1 || node <= 0) {
    *ret = 0;
    return TRUE;
  }
  if (rate >= node) {
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "reliability.storage_network = shared: writing at reliability.storage_bandwidth takes all that the NICs "
        "of a node have");
    return FALSE;
  }
  g_ascii_formatd(number, sizeof number, "%.6f", MAX(1 - rate / node, 0.001));
  g_autofree char *left = g_strconcat("what_if.network_bandwidth=", number, NULL);
  g_autoptr(RunReport) beside = play(study, change, left, options, error);
  if (beside != NULL)
    *ret = run_report_slowest(beside)->step;
  return beside != NULL;
}

gboolean study_saving_find(const Study *study, const char *change, const StudyOptions *options,
                           const StudyReliability *reliability, StudySaving *ret, GError **error) {
  g_autoptr(RunReport) alone = play(study, change, NULL, options, error);
  if (alone == NULL)
    return FALSE;
  StudyTraining training = study_training(alone);
  StudySaving saving = {.bytes = training.bytes,
                        .node_bytes = training.bytes / training.nodes,
                        .host_used = alone->host_used,
                        .host_memory = host_memory(&alone->identity),
                        .step = run_report_slowest(alone)->step};
  saving.write = saving.node_bytes / reliability->storage_bandwidth;
  saving.staged = reliability->synchronous ? 0 : (guint64)saving.node_bytes;
  if (reliability->shared && !reliability->synchronous &&
      !play_beside(study, change, options, reliability->storage_bandwidth, alone, &saving.beside, error))
    return FALSE;
  *ret = saving;
  return TRUE;
}
