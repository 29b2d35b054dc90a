/* foretrain check: budgets and baselines, for CI. */
#include <stdio.h>

#include "base-error.h"
#include "check-text.h"
#include "cli-write.h"
#include "cli.h"

static gboolean write_as(void (*form)(const CheckResult *result, GString *text), const CheckResult *result,
                         const char *path, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  form(result, text);
  return path == NULL || cli_write(path, text->str, error);
}

static gboolean check_options(const CliOptions *options, GError **error) {
  gboolean reasoned = options->reason != NULL && options->reason[0] != '\0';
  if (options->accept == reasoned)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              options->accept ? "--accept: say why, with --reason TEXT" : "--reason goes with --accept");
  return FALSE;
}

/* A question leaves a file that is under version control as it is; only an acceptance writes. */
static gboolean open_database(const CliOptions *options, const char *path, StoreDb **ret_db, GError **error) {
  if (!options->accept && !g_file_test(path, G_FILE_TEST_EXISTS))
    return TRUE;
  *ret_db = options->accept ? store_db_open(path, error) : store_db_open_existing(path, error);
  return *ret_db != NULL;
}

CliExit cli_check(const CliOptions *options, GError **error) {
  if (!cli_want(options, 1, "a file of budgets", error) || !check_options(options, error))
    return CLI_INPUT;
  const char *database = cli_database(options, error);
  g_autoptr(CheckBudgets) budgets = database != NULL ? check_budgets_load(options->rest[0], error) : NULL;
  if (budgets == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = NULL;
  if (!open_database(options, database, &db, error))
    return CLI_FAULT;
  CheckOptions check = {.db = db,
                        .study = options->study,
                        .threads = (guint)options->jobs,
                        .accept = options->accept ? options->reason : NULL};
  check.study.timeline = FALSE;
  g_autoptr(CheckResult) result = check_run(budgets, &check, error);
  if (result == NULL || !write_as(check_junit, result, options->junit, error) ||
      !write_as(check_markdown, result, options->markdown, error))
    return CLI_FAULT;
  g_autoptr(GString) text = g_string_new(NULL);
  if (!options->quiet)
    check_text(result, text);
  if (options->github)
    check_github(result, text);
  fputs(text->str, stdout);
  return result->failed > 0 ? CLI_FAILED : CLI_DONE;
}
