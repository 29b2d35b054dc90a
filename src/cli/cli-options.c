/* Options, parsed by GOption from the tables that a verb takes and no other. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli.h"
#include "report-as.h"

/* As they stand on the command line. */
typedef struct {
  char *timeline, *fold, *net, *tie, *fidelity, *contention, *repeat, *jitter, *from, *to, *as;
  gboolean help, version;
} Raw;

static gboolean choose(const char *option, const char *value, const char *const *names, int *ret, GError **error) {
  if (value == NULL)
    return TRUE;
  int index = base_names_find(names, value);
  if (index >= 0) {
    *ret = index;
    return TRUE;
  }
  g_autofree char *advice = base_names_advice(names, value);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: no such choice \"%s\"%s", option, value, advice);
  return FALSE;
}

static gboolean choose_tie(const char *text, StudyOptions *study, GError **error) {
  static const char *const names[] = {"forward", "reverse", "shuffle", NULL};
  if (text == NULL)
    return TRUE;
  g_auto(GStrv) parts = g_strsplit(text, ":", 2);
  int tie = 0;
  if (!choose("--tie", parts[0], names, &tie, error))
    return FALSE;
  study->tie = (StudyTie)tie;
  if (parts[1] == NULL)
    return TRUE;
  if (tie == STUDY_TIE_SHUFFLE && g_ascii_string_to_unsigned(parts[1], 10, 0, G_MAXINT64, &study->tie_seed, NULL))
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--tie: expected forward, reverse or shuffle:SEED, found \"%s\"",
              text);
  return FALSE;
}

static gboolean read_time(const char *option, const char *text, SimTime *ret, GError **error) {
  double seconds;
  if (text == NULL)
    return TRUE;
  if (!base_quantity_parse(text, BASE_UNIT_TIME, &seconds, error)) {
    g_prefix_error(error, "%s: ", option);
    return FALSE;
  }
  *ret = sim_time_from_seconds(seconds);
  return TRUE;
}

static gboolean interpret(const Raw *raw, CliOptions *options, GError **error) {
  static const char *const no_yes[] = {"no", "yes", NULL};
  static const char *const off_on[] = {"off", "on", NULL};
  static const char *const nets[] = {"lazy", "full", NULL};
  int contention = TRUE, jitter = TRUE, repeat = TRUE;
  static const char *const fidelities[] = {"flow", "step", NULL};
  int timeline = options->study.timeline, fold = TRUE, full = FALSE, chunks = FALSE;
  if (!choose("--timeline", raw->timeline, no_yes, &timeline, error) ||
      !choose("--fold", raw->fold, off_on, &fold, error) || !choose("--net", raw->net, nets, &full, error) ||
      !choose_tie(raw->tie, &options->study, error) ||
      !choose("--fidelity", raw->fidelity, fidelities, &chunks, error) ||
      !choose("--contention", raw->contention, off_on, &contention, error) ||
      !choose("--repeat", raw->repeat, off_on, &repeat, error) ||
      !choose("--jitter", raw->jitter, off_on, &jitter, error) ||
      !read_time("--from", raw->from, &options->from, error) || !read_time("--to", raw->to, &options->to, error))
    return FALSE;
  if (!choose("--as", raw->as, report_tool_names, &options->as, error))
    return FALSE;
  options->study.timeline = timeline;
  options->study.fold = fold;
  options->study.net_full = full;
  options->study.chunks = chunks;
  options->study.every_step = !repeat;
  options->study.no_contention = !contention;
  options->study.no_jitter = !jitter;
  options->plays = raw->fold != NULL || raw->net != NULL || raw->tie != NULL || raw->fidelity != NULL ||
                   raw->contention != NULL || raw->repeat != NULL || raw->jitter != NULL || options->sets != NULL ||
                   options->topology != NULL || options->quotes != NULL;
  if (options->worst < 0 || options->jobs < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: expected a number from 0 on, found %d",
                options->worst < 0 ? "--worst" : "--jobs", MIN(options->worst, options->jobs));
    return FALSE;
  }
  if (options->top < 1) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--top: expected a number from 1 on, found %d", options->top);
    return FALSE;
  }
  if (options->output != NULL && *options->output == '\0') {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "-o: expected the name of a file, found nothing");
    return FALSE;
  }
  return TRUE;
}

static void raw_clear(Raw *raw) {
  char *texts[] = {raw->timeline, raw->fold, raw->net, raw->tie,        raw->fidelity, raw->repeat,
                   raw->jitter,   raw->from, raw->to,  raw->contention, raw->as};
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    g_free(texts[i]);
}

void cli_print_version(void) {
  printf("foretrain %s (results version %s)\n", FORETRAIN_VERSION, RUN_MODEL_VERSION);
}

/* In plain letters, whatever the locale: GOption's own words hold an ellipsis. */
static void print_help(GOptionContext *context) {
  g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
  g_autoptr(GString) plain = g_string_new(text);
  g_string_replace(plain, "\xe2\x80\xa6", "...", 0);
  fputs(plain->str, stdout);
}

/* The options that the verb takes, each into its field. */
static void add_entries(GOptionContext *context, const CliVerb *verb, CliOptions *options, Raw *raw) {
  const GOptionEntry settings[] = {
      {"set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->sets, "override a setting of the workload or its topology",
       "GROUP.KEY=VALUE"},
      {"topology", 't', 0, G_OPTION_ARG_FILENAME, &options->topology, "another cluster: a file or a shipped name", "T"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry db[] = {
      {"db", 0, 0, G_OPTION_ARG_FILENAME, &options->db, "database (default: $FORETRAIN_DB, else foretrain.db)", "FILE"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry json[] = {{"json", 0, 0, G_OPTION_ARG_NONE, &options->json,
                                "print JSON: names are the database's columns where it has them", NULL},
                               {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry quiet[] = {{"quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, "print errors only", NULL},
                                {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry play[] = {
      {"fold", 0, 0, G_OPTION_ARG_STRING, &raw->fold, "play equal ranks once (on)", "on|off"},
      {"net", 0, 0, G_OPTION_ARG_STRING, &raw->net, "solver of link shares (lazy)", "lazy|full"},
      {"tie", 0, 0, G_OPTION_ARG_STRING, &raw->tie, "order of simultaneous events, which must not matter (forward)",
       "forward|reverse|shuffle:SEED"},
      {"fidelity", 0, 0, G_OPTION_ARG_STRING, &raw->fidelity, "of collectives: one flow, or every chunk (flow)",
       "flow|step"},
      {"contention", 0, 0, G_OPTION_ARG_STRING, &raw->contention,
       "kernels slow down beside collectives, and these beside kernels (on)", "on|off"},
      {"repeat", 0, 0, G_OPTION_ARG_STRING, &raw->repeat,
       "count a step that must repeat the one before, instead of playing it (on)", "on|off"},
      {"jitter", 0, 0, G_OPTION_ARG_STRING, &raw->jitter,
       "all wait for the expected slowest GPU, as cluster.gpu_spread says; off: GPUs alike (on)", "on|off"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry verdict[] = {
      {"timeline", 0, 0, G_OPTION_ARG_STRING, &raw->timeline, "keep the timeline in the database (yes)", "yes|no"},
      {"explain", 0, 0, G_OPTION_ARG_NONE, &options->explain,
       "say which ranks were played together and why others were not, and what became of each key of a recipe", NULL},
      {"require-fit", 0, 0, G_OPTION_ARG_NONE, &options->require_fit, "exit with 1 when memory runs out", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry as[] = {{"as", 0, 0, G_OPTION_ARG_STRING, &raw->as, "print the step as that tool logs it",
                              "deepspeed|torchtitan|megatron"},
                             {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry output[] = {{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
                                  "file to write; of text, - is standard output", "FILE"},
                                 {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry window[] = {
      {"from", 0, 0, G_OPTION_ARG_STRING, &raw->from, "draw from this time of the step on", "TIME"},
      {"to", 0, 0, G_OPTION_ARG_STRING, &raw->to, "draw to this time of the step", "TIME"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry call[] = {
      {"nodes", 'n', 0, G_OPTION_ARG_STRING, &options->group_nodes, "nodes of the communicator (1)", "N"},
      {"gpus-per-node", 'g', 0, G_OPTION_ARG_STRING, &options->gpus_per_node, "GPUs of each node (all)", "N"},
      {"dtype", 'd', 0, G_OPTION_ARG_STRING, &options->dtype, "of the elements, by nccl-tests' names (float)", "TYPE"},
      {"bytes", 'b', 0, G_OPTION_ARG_STRING, &options->bytes,
       "sizes, doubled from the first to the last; K, M and G are 1024s, as in nccl-tests (8..8G)", "FROM..TO"},
      {"explain", 0, 0, G_OPTION_ARG_NONE, &options->explain, "say what every algorithm would take", NULL},
      {"compare", 'c', 0, G_OPTION_ARG_FILENAME, &options->compare,
       "beside a log of nccl-tests: its sizes and type, unless asked otherwise", "LOG"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry rows[] = {{"rows", 0, 0, G_OPTION_ARG_NONE, &options->rows, "list every row", NULL},
                               {"worst", 0, 0, G_OPTION_ARG_INT, &options->worst,
                                "show the rows that are furthest off, with their breakdown", "N"},
                               {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry jobs[] = {{"jobs", 'j', 0, G_OPTION_ARG_INT, &options->jobs, "threads (one for each core)", "N"},
                               {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry vary[] = {{"vary", 0, 0, G_OPTION_ARG_STRING, &options->vary,
                                "what may vary: micro_batch, sequence_length, layers or nodes", "KEY"},
                               {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry import[] = {
      {"topology", 't', 0, G_OPTION_ARG_FILENAME, &options->topology, "nccl-tests: the machine it was measured on",
       "T"},
      {"nodes", 0, 0, G_OPTION_ARG_INT, &options->nodes, "nccl-tests: on how many nodes (as the log's host names say)",
       "N"},
      {"operation", 0, 0, G_OPTION_ARG_STRING, &options->operation,
       "nccl-tests: what it measures, where the log does not say", "OPERATION"},
      {"model", 0, 0, G_OPTION_ARG_FILENAME, &options->model,
       "recipe: the model's config.json, which some values that are \"auto\" need", "FILE"},
      {"gpu", 0, 0, G_OPTION_ARG_STRING, &options->gpu, "machines: which GPUs (foretrain list gpus)", "GPU"},
      {"nic", 0, 0, G_OPTION_ARG_STRING, &options->nic, "machines: which NICs (foretrain list links)", "LINK"},
      {"intra", 0, 0, G_OPTION_ARG_STRING, &options->intra, "machines: what joins the GPUs (foretrain list links)",
       "LINK"},
      {"platform", 0, 0, G_OPTION_ARG_STRING, &options->platform, "machines: foretrain list platforms", "PLATFORM"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry grid[] = {
      {"grid", 'g', 0, G_OPTION_ARG_STRING_ARRAY, &options->grid,
       "an axis, as KEY=V1,V2,... or KEY=A..B:STEP or KEY=A..B:xFACTOR; the last given runs fastest", "AXIS"},
      {"where", 'w', 0, G_OPTION_ARG_STRING, &options->where,
       "only points for which this holds, as in \"zero_stage >= 2 and gpus <= 64\"", "EXPRESSION"},
      {"shard", 0, 0, G_OPTION_ARG_STRING, &options->shard,
       "only this share of the points, from 1/N to N/N; foretrain merge puts the files together", "I/N"},
      {"timeline", 0, 0, G_OPTION_ARG_STRING, &raw->timeline, "also keep every point's timeline (no)", "yes|no"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry best[] = {
      {"minimise", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->minimise,
       "a metric; several objectives give their Pareto front", "METRIC"},
      {"maximise", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->maximise, "a metric", "METRIC"},
      {"subject", 0, 0, G_OPTION_ARG_STRING, &options->subject,
       "only runs for which this holds, as in \"step <= 1.9 s and gpus <= 64\"; they must fit, unless it names verdict",
       "EXPRESSION"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry top[] = {{"top", 0, 0, G_OPTION_ARG_INT, &options->top, "so many of one objective (10)", "N"},
                              {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry check[] = {
      {"junit", 0, 0, G_OPTION_ARG_FILENAME, &options->junit, "also as JUnit's XML", "FILE"},
      {"markdown", 0, 0, G_OPTION_ARG_FILENAME, &options->markdown, "also as Markdown (of $GITHUB_STEP_SUMMARY, say)",
       "FILE"},
      {"github", 0, 0, G_OPTION_ARG_NONE, &options->github, "also as GitHub's annotations", NULL},
      {"accept", 0, 0, G_OPTION_ARG_NONE, &options->accept, "take what is there as the new baselines", NULL},
      {"reason", 0, 0, G_OPTION_ARG_STRING, &options->reason, "why, kept with them", "TEXT"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry format[] = {
      {"format", 0, 0, G_OPTION_ARG_STRING, &options->format,
       "csv: the Program; chrome: the timeline for Perfetto; chakra: a file for each rank (csv)", "csv|chrome|chakra"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry replay[] = {
      {"scale", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->scales, "stretch compute times by a factor", "compute=F"},
      {"retime", 0, 0, G_OPTION_ARG_NONE, &options->retime, "compute times from the shapes of rows, on any GPU", NULL},
      {"keep-times", 0, 0, G_OPTION_ARG_NONE, &options->keep_times, "the trace's compute times, whatever the GPU",
       NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry quotes[] = {{"topology", 't', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->quotes,
                                  "a cluster to play the workload on; once for each", "T"},
                                 {"set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->sets,
                                  "override a setting of workloads or their topologies", "GROUP.KEY=VALUE"},
                                 {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const GOptionEntry all[] = {
      {"version", 0, 0, G_OPTION_ARG_NONE, &raw->version, "print the version", NULL},
      {"help", 'h', 0, G_OPTION_ARG_NONE, &raw->help, "print this", NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->rest, NULL, verb->usage},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  const struct {
    guint takes;
    const GOptionEntry *entries;
  } tables[] = {{CLI_TAKES_SETTINGS, settings},
                {CLI_TAKES_OUTPUT, output},
                {CLI_TAKES_WINDOW, window},
                {CLI_TAKES_DB, db},
                {CLI_TAKES_JSON, json},
                {CLI_TAKES_QUIET, quiet},
                {CLI_TAKES_VERDICT, verdict},
                {CLI_TAKES_PLAY, play},
                {CLI_TAKES_CALL, call},
                {CLI_TAKES_ROWS, rows},
                {CLI_TAKES_JOBS, jobs},
                {CLI_TAKES_IMPORT, import},
                {CLI_TAKES_GRID, grid},
                {CLI_TAKES_BEST, best},
                {CLI_TAKES_CHECK, check},
                {CLI_TAKES_FORMAT, format},
                {CLI_TAKES_REPLAY, replay},
                {CLI_TAKES_QUOTES, quotes},
                {CLI_TAKES_VARY, vary},
                {CLI_TAKES_AS, as},
                {CLI_TAKES_TOP, top}};
  for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
    if (verb->takes & tables[i].takes)
      g_option_context_add_main_entries(context, tables[i].entries, NULL);
  g_option_context_add_main_entries(context, all, NULL);
}

gboolean cli_options_parse(const CliVerb *verb, int argc, char **argv, CliOptions *ret, gboolean *ret_done,
                           GError **error) {
  CliOptions options = {.from = -1, .to = -1, .as = -1, .top = CLI_TOP, .study = STUDY_OPTIONS_DEFAULT};
  Raw raw = {0};
  options.study.timeline = (verb->takes & CLI_TAKES_GRID) == 0;
  g_autoptr(GOptionContext) context = g_option_context_new(NULL);
  g_autofree char *summary = g_strconcat("foretrain ", verb->name, ": ", verb->summary, NULL);
  g_option_context_set_summary(context, summary);
  g_option_context_set_help_enabled(context, FALSE);
  add_entries(context, verb, &options, &raw);
  g_autofree char *program = g_strconcat("foretrain ", argv[0], NULL);
  g_set_prgname(program);
  gboolean good = g_option_context_parse(context, &argc, &argv, error);
  gboolean answered = good && (raw.help || raw.version);
  if (answered && raw.help)
    print_help(context);
  else if (answered)
    cli_print_version();
  else
    good = good && interpret(&raw, &options, error);
  raw_clear(&raw);
  if (!good) {
    cli_options_clear(&options);
    return FALSE;
  }
  *ret = options;
  *ret_done = answered;
  return TRUE;
}

void cli_options_clear(CliOptions *options) {
  g_strfreev(options->rest);
  g_strfreev(options->sets);
  g_free(options->topology);
  g_free(options->db);
  g_free(options->output);
  g_free(options->vary);
  g_free(options->group_nodes);
  g_free(options->gpus_per_node);
  g_free(options->dtype);
  g_free(options->bytes);
  g_free(options->compare);
  g_free(options->model);
  g_free(options->operation);
  g_free(options->gpu);
  g_free(options->nic);
  g_free(options->intra);
  g_free(options->platform);
  g_strfreev(options->grid);
  g_free(options->where);
  g_free(options->shard);
  g_strfreev(options->minimise);
  g_strfreev(options->maximise);
  g_free(options->subject);
  g_free(options->junit);
  g_free(options->markdown);
  g_free(options->reason);
  g_free(options->format);
  g_strfreev(options->scales);
  g_strfreev(options->quotes);
  memset(options, 0, sizeof *options);
}

gboolean cli_want(const CliOptions *options, guint n, const char *what, GError **error) {
  guint found = options->rest != NULL ? g_strv_length(options->rest) : 0;
  if (found == n)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected %s, found %u word%s", what, found, found == 1 ? "" : "s");
  return FALSE;
}

Study *cli_open_study(const CliOptions *options, const char *workload, GError **error) {
  g_autoptr(Study) study = study_open(workload, error);
  if (study == NULL)
    return NULL;
  if (options->topology != NULL) {
    g_autofree char *assignment = g_strconcat("cluster.topology=", options->topology, NULL);
    if (!study_set(study, assignment, error))
      return NULL;
  }
  for (guint i = 0; options->sets != NULL && options->sets[i] != NULL; i++)
    if (!study_set(study, options->sets[i], error))
      return NULL;
  return g_steal_pointer(&study);
}

const char *cli_database(const CliOptions *options, GError **error) {
  const char *variable = g_getenv("FORETRAIN_DB");
  const char *name = options->db != NULL                     ? options->db
                     : variable != NULL && *variable != '\0' ? variable
                                                             : "foretrain.db";
  if (name[strspn(name, " \t\r\n")] != '\0')
    return name;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: expected the file of a database, found a blank name",
              options->db != NULL ? "--db" : "FORETRAIN_DB");
  return NULL;
}
