/* SPDX-License-Identifier: MIT */
/* Tables of the shared groups, and what a workload, a database and settings are made of. */
#include "cli-groups.h"

#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "run-play.h"

const char *const cli_no_yes[] = {"no", "yes", NULL};
static const char *const off_on[] = {"off", "on", NULL};
static const char *const on_off[] = {"on", "off", NULL};
static const char *const nets[] = {"lazy", "full", NULL};
static const char *const fidelities[] = {"flow", "step", NULL};

const CliOption cli_settings_options[] = {{"set", 's', CLI_FILES, offsetof(CliSettings, sets), "GROUP.KEY=VALUE",
                                           "override a setting of the workload or its topology"},
                                          {"topology", 't', CLI_FILE, offsetof(CliSettings, topology), "T",
                                           "another cluster: a file or a shipped name", .listed = "topologies"},
                                          {NULL}};

static gboolean read_tie(const char *option, const char *text, gpointer field, GError **error) {
  static const char *const names[] = {"forward", "reverse", "shuffle", NULL};
  StudyOptions *study = field;
  g_auto(GStrv) parts = g_strsplit(text, ":", 2);
  int tie = base_names_find(names, parts[0] != NULL ? parts[0] : "");
  if (tie < 0) {
    g_autofree char *advice = base_names_advice(names, text);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: no such choice \"%s\"%s", option, text, advice);
    return FALSE;
  }
  study->tie = (StudyTie)tie;
  if (parts[1] == NULL)
    return TRUE;
  if (tie == STUDY_TIE_SHUFFLE && g_ascii_string_to_unsigned(parts[1], 10, 0, G_MAXINT64, &study->tie_seed, NULL))
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: expected forward, reverse or shuffle:SEED, found \"%s\"", option,
              text);
  return FALSE;
}

/* Whole lines, so that those of several threads do not mix. */
static void print_point(const char *text, gpointer user) {
  fputs(text, user);
}

static gboolean read_trace_points(const char *option, const char *text, gpointer field, GError **error) {
  CliTwins *twins = field;
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  const char *const *const floors[] = {event_trace_names, net_trace_names, run_trace_names};
  for (gsize i = 0; i < G_N_ELEMENTS(floors); i++)
    for (const char *const *name = floors[i]; *name != NULL; name++)
      g_ptr_array_add(names, (gpointer)*name);
  g_ptr_array_add(names, NULL);
  g_autofree char *unknown = base_trace_unknown(text, (const char *const *)names->pdata);
  if (unknown != NULL) {
    g_autofree char *advice = base_names_advice((const char *const *)names->pdata, unknown);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: no trace point is \"%s\"%s", option, unknown, advice);
    return FALSE;
  }
  twins->trace = (BaseTrace){text, print_point, stderr};
  twins->study.trace = &twins->trace;
  return TRUE;
}

#define TWIN(name, field, choices, help)                                                                               \
  { name, 0, CLI_CHOICE, offsetof(CliTwins, study.field), NULL, help, choices, .developer = TRUE }

const CliOption cli_twins_options[] = {
    TWIN("fold", fold, off_on, "play equal ranks once (on)"),
    TWIN("net", net_full, nets, "solver of link shares (lazy)"),
    {"tie", 0, CLI_READ, offsetof(CliTwins, study), "forward|reverse|shuffle:SEED",
     "order of simultaneous events, which must not matter (forward)", .read = read_tie, .developer = TRUE},
    TWIN("fidelity", chunks, fidelities, "of collectives: one flow, or every chunk (flow)"),
    TWIN("contention", no_contention, on_off, "kernels slow down beside collectives, and these beside kernels (on)"),
    TWIN("repeat", every_step, on_off, "count a step that must repeat the one before, instead of playing it (on)"),
    TWIN("share", apart, on_off, "ranks that move memory alike share what became of it (on)"),
    TWIN("jitter", no_jitter, on_off,
         "all wait for the expected slowest GPU, as cluster.gpu_spread says; off: GPUs alike (on)"),
    {"trace-points", 0, CLI_READ, 0, "POINT,...",
     "print these points to stderr while a step is played: event.fire, net.rate, run.start ..., net.* for all of a "
     "floor",
     .read = read_trace_points, .developer = TRUE},
    {NULL, 0, CLI_GIVEN, offsetof(CliTwins, given)},
    {NULL}};

const CliOption cli_workload_options[] = {CLI_GROUP_ROW(CliWorkload, settings, cli_settings_options),
                                          CLI_GROUP_ROW(CliWorkload, twins, cli_twins_options),
                                          {NULL}};

const CliOption cli_outcome_options[] = {
    CLI_DB(CliOutcome, db),
    CLI_JSON(CliOutcome, json),
    CLI_QUIET(CliOutcome, quiet),
    {"explain", 0, CLI_FLAG, offsetof(CliOutcome, explain), NULL,
     "say which ranks were played together and why others were not, and what became of each key of a recipe"},
    {"require-fit", 0, CLI_FLAG, offsetof(CliOutcome, require_fit), NULL, "exit with 1 unless it fits"},
    CLI_EDGE_FITS(CliOutcome, edge_fits),
    {NULL}};

gboolean cli_workload_plays(const CliWorkload *workload) {
  return workload->twins.given || workload->settings.sets != NULL || workload->settings.topology != NULL;
}

static void lay_some(const CliSettings *settings, Study *study, BaseErrors *errors) {
  g_autofree char *topology =
      settings->topology != NULL ? g_strconcat("cluster.topology=", settings->topology, NULL) : NULL;
  GError *cause = NULL;
  if (topology != NULL && !study_set(study, topology, &cause))
    base_errors_add(errors, g_steal_pointer(&cause));
  for (const char *const *set = settings->sets; set != NULL && *set != NULL; set++)
    if (!study_set(study, *set, &cause))
      base_errors_add(errors, g_steal_pointer(&cause));
}

gboolean cli_settings_lay(const CliSettings *settings, Study *study, GError **error) {
  BaseErrors errors = {0};
  lay_some(settings, study, &errors);
  return base_errors_end(&errors, error);
}

Study *cli_open_study(const CliSettings *settings, const char *workload, GError **error) {
  BaseErrors errors = {0};
  g_autoptr(Study) study = study_open_some(workload, &errors);
  if (study != NULL)
    lay_some(settings, study, &errors);
  if (study != NULL && errors.lines > 0)
    study_check_files(study, &errors);
  return base_errors_end(&errors, error) ? g_steal_pointer(&study) : NULL;
}

const char *cli_database(const char *db, GError **error) {
  const char *variable = g_getenv("FORETRAIN_DB");
  const char *name = db != NULL ? db : variable != NULL && *variable != '\0' ? variable : "foretrain.db";
  if (*name == ':') {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: %s is no file to SQLite, and what is written there is gone with the program; a file of that name "
                "is ./%s",
                db != NULL ? "--db" : "FORETRAIN_DB", name, name);
    return NULL;
  }
  if (name[strspn(name, " \t\r\n")] != '\0')
    return name;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: expected the file of a database, found a blank name",
              db != NULL ? "--db" : "FORETRAIN_DB");
  return NULL;
}

static gboolean read_shard(const char *option, const char *text, gpointer field, GError **error) {
  CliShard *shard = field;
  g_auto(GStrv) parts = g_strsplit(text, "/", 2);
  if (parts[0] != NULL && parts[1] != NULL &&
      g_ascii_string_to_unsigned(parts[0], 10, 1, G_MAXUINT32, &shard->index, NULL) &&
      g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXUINT32, &shard->of, NULL) && shard->index <= shard->of)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: expected I/N with I from 1 to N, found \"%s\"", option, text);
  return FALSE;
}

const CliOption cli_shard_options[] = {
    {"shard", 0, CLI_READ, 0, "I/N",
     "only this share of what is to be played, from 1/N to N/N; foretrain merge puts the files together",
     .read = read_shard},
    {NULL}};
