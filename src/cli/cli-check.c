/* SPDX-License-Identifier: MIT */
/* foretrain check: budgets and baselines, for CI. */
#include <stdio.h>

#include "base-error.h"
#include "check-text.h"
#include "cli-write.h"
#include "cli.h"

typedef struct {
  CliTwins twins;
  const char *const *words;
  const char *db, *junit, *markdown, *reason;
  gboolean quiet, json, github, accept;
  int jobs;
} Check;

static const CliOption options[] = {
    CLI_WORDS(Check, words, 1, 1, "a file of budgets"),
    CLI_DB(Check, db),
    CLI_JSON(Check, json),
    CLI_QUIET(Check, quiet),
    CLI_JOBS(Check, jobs),
    {"junit", 0, CLI_FILE, offsetof(Check, junit), "FILE", "also as JUnit's XML"},
    {"markdown", 0, CLI_FILE, offsetof(Check, markdown), "FILE", "also as Markdown (of $GITHUB_STEP_SUMMARY, say)"},
    {"github", 0, CLI_FLAG, offsetof(Check, github), NULL, "also as GitHub's annotations"},
    {"accept", 0, CLI_FLAG, offsetof(Check, accept), NULL, "take what is there as the new baselines"},
    {"reason", 0, CLI_TEXT, offsetof(Check, reason), "TEXT", "why, kept with them"},
    CLI_EDGE_FITS(Check, twins.study.edge_fits),
    CLI_GROUP_ROW(Check, twins, cli_twins_options),
    {NULL}};

static gboolean write_as(void (*form)(const CheckResult *result, GString *text), const CheckResult *result,
                         const char *path, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  form(result, text);
  return path == NULL || cli_write(path, text->str, error);
}

static gboolean check_options(const Check *asked, GError **error) {
  if (asked->json && asked->github) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--json: --github's lines are no JSON; ask for one of them");
    return FALSE;
  }
  gboolean reasoned = asked->reason != NULL && asked->reason[0] != '\0';
  if (asked->accept == reasoned)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              asked->accept ? "--accept: say why, with --reason TEXT" : "--reason goes with --accept");
  return FALSE;
}

/* A question leaves a file that is under version control as it is; only an acceptance writes. */
static gboolean open_database(const Check *asked, const char *path, StoreDb **ret_db, GError **error) {
  if (!asked->accept && !g_file_test(path, G_FILE_TEST_EXISTS))
    return TRUE;
  *ret_db = asked->accept ? store_db_open(path, error) : store_db_open_existing(path, error);
  return *ret_db != NULL;
}

static CliExit check(gconstpointer data, GError **error) {
  const Check *asked = data;
  if (!check_options(asked, error))
    return CLI_INPUT;
  const char *database = cli_database(asked->db, error);
  g_autoptr(CheckBudgets) budgets = database != NULL ? check_budgets_load(asked->words[0], error) : NULL;
  if (budgets == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = NULL;
  if (!open_database(asked, database, &db, error))
    return CLI_FAULT;
  CheckOptions how = {.db = db,
                      .database = database,
                      .study = asked->twins.study,
                      .threads = (guint)asked->jobs,
                      .accept = asked->accept ? asked->reason : NULL};
  how.study.timeline = FALSE;
  g_autoptr(CheckResult) result = check_run(budgets, &how, error);
  if (result == NULL || !write_as(check_junit, result, asked->junit, error) ||
      !write_as(check_markdown, result, asked->markdown, error))
    return CLI_FAULT;
  g_autoptr(GString) text = g_string_new(NULL), commands = g_string_new(NULL);
  if (!asked->quiet)
    (asked->json ? check_json : check_text)(result, text);
  if (asked->github)
    check_github(result, commands);
  cli_print(text->str);
  cli_print_commands(commands->str);
  return result->failed > 0 ? CLI_FAILED : CLI_DONE;
}

static const Check defaults = {.twins = CLI_TWINS_DEFAULT};

const CliVerb cli_check = {
    "check", "BUDGETS",     "recipes against their budgets and baselines, for CI; exit status 1 on a breach",
    options, sizeof(Check), &defaults,
    check};
