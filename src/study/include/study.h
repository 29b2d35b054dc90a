/* SPDX-License-Identifier: MIT */
/* A study: settings to Reports. The only room that walks the whole chain from files to results.
 *
 *   g_autoptr(Study) study = study_open("workloads/llama2-7b.ini", error);
 *   study_set(study, "parallel.zero_stage=2", error);
 *   g_autoptr(RunReport) report = study_run(study, &options, error);
 *
 * Errors are SIM_ERROR_INPUT: the person's files or settings; out-of-memory is a result. Cost of a run: see
 * tests/bench. */
#pragma once

#include "base-errors.h"
#include "base-json.h"
#include "base-trace.h"
#include "run-report.h"

typedef struct Study Study;

typedef enum { STUDY_TIE_FORWARD, STUDY_TIE_REVERSE, STUDY_TIE_SHUFFLE } StudyTie;

typedef struct {
  gboolean timeline;          /* keep tasks, exposures and samples */
  gboolean fold;              /* equal ranks are played once */
  gboolean net_full;          /* the plain solver */
  gboolean every_step;        /* also steps that must repeat the one before are played, and every micro-batch */
  gboolean every_micro_batch; /* those that are alike too: for who reads all of a timeline */
  gboolean apart;             /* ranks that are alike share nothing while they are played */
  gboolean chunks;            /* step fidelity: collectives chunk by chunk, every rank played */
  gboolean no_contention;     /* kernels run as if no collective ran beside them */
  gboolean no_jitter;         /* GPUs are alike, whatever cluster.gpu_spread says */
  StudyTie tie;               /* order of simultaneous events: must not matter */
  guint64 tie_seed;
  gboolean edge_fits;     /* fit, remedies: the verdict edge counts as fitting */
  const BaseTrace *trace; /* points to print while it plays (base-trace.h); NULL: none */
} StudyOptions;
#define STUDY_OPTIONS_DEFAULT ((StudyOptions){.timeline = TRUE, .fold = TRUE})

/* Reads a workload: a path, or a bare name of the data folders. */
Study *study_open(const char *workload, GError **error);
/* The same, where errors are gathered: what is good is laid. NULL where the file cannot be read at all. */
Study *study_open_some(const char *workload, BaseErrors *errors);
/* Adds what is wrong with the files that the settings name: recipe, model, topology. For a study whose settings are at
 * fault already: study_run says the same, and more. */
void study_check_files(const Study *study, BaseErrors *errors);
/* A study of no file: defaults only, for points to lay settings over. */
Study *study_new(const char *workload);
/* The study that a run's given settings describe (RunIdentity.settings, without the defaults). `workload`: its name or
 * path, beside which files are looked for that the settings name. Errors: a key or value that this version does not
 * take. */
Study *study_recall(const char *workload, const RunSetting *settings, guint n, GError **error);
void study_free(Study *study);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Study, study_free)

/* "group.key=value", of the workload's or the topology's groups. */
gboolean study_set(Study *study, const char *assignment, GError **error);
/* What a setting is as given, or its default; NULL: neither. Borrowed. `name` ("group.key") must be a setting. */
const char *study_setting(const Study *study, const char *name);

/* The run key that study_run would report, in flow fidelity. Caller frees. */
char *study_find_key(const Study *study, GError **error);

/* Plays the step. Nothing is kept in the study. */
RunReport *study_run(Study *study, const StudyOptions *options, GError **error);

/* The same step under those of ZeRO 0, 1, 2 and 3 that the framework has, then under other layouts (study-layout.h). */
#define STUDY_STAGES 4
typedef struct {
  RunReport **reports; /* n of them: stages ascending, layouts as they were given */
  char **titles;       /* "ZeRO-1", "tensor=4 pipeline=2" */
  guint n;
  char *refused[STUDY_STAGES]; /* by stage: why it was not played; NULL: it was */
  char **left_out;             /* of layouts: a line for each that was not played; NULL-terminated */
} StudyStages;
/* `layouts`: NULL-terminated or NULL; "auto" stands for the best four that can be played. Error: a layout that is
 * none, or nothing can be played (what the first says); then nothing is returned. */
gboolean study_run_stages(Study *study, const char *const *layouts, const StudyOptions *options, StudyStages *ret,
                          GError **error);
void study_stages_clear(StudyStages *stages);

/* Every key that a workload or a topology may hold, documented. Appends. */
void study_print_reference(GString *text);
/* The same as elements of the list that was begun (conf-schema.h). */
void study_reference_json(BaseJson *json);
