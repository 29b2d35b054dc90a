/* SPDX-License-Identifier: MIT */
/* One table in five dresses. */
#include "check-text.h"

#include <string.h>

#include "base-json.h"
#include "base-table.h"
#include "report-text.h"

static const char *or_dash(const char *text) {
  return text != NULL && *text != '\0' ? text : "-";
}

/* Lines in the order in which people need them: what failed, what moved, the rest; each as in the file. */
static GPtrArray *in_order(const CheckResult *result) {
  static const CheckVerdict order[] = {CHECK_FAILED, CHECK_MOVED, CHECK_ACCEPTED, CHECK_PASSED};
  GPtrArray *lines = g_ptr_array_new();
  for (gsize v = 0; v < G_N_ELEMENTS(order); v++)
    for (guint i = 0; i < result->lines->len; i++)
      if (g_array_index(result->lines, CheckLine, i).verdict == order[v])
        g_ptr_array_add(lines, &g_array_index(result->lines, CheckLine, i));
  return lines;
}

static void summary(const CheckResult *result, GString *text) {
  g_string_append_printf(text, "%u of %u checks failed\n", result->failed, result->lines->len);
}

void check_text(const CheckResult *result, GString *text) {
  g_autoptr(GPtrArray) lines = in_order(result);
  static const char *const heads[] = {"budget", "check", "verdict", "now", "accepted", "tool moved", "recipe moved"};
  g_autoptr(BaseTable) table = base_table_new();
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], BASE_LEFT);
  for (guint i = 0; i < lines->len; i++) {
    const CheckLine *line = g_ptr_array_index(lines, i);
    const char *const cells[] = {
        line->of->name,      line->what,           check_verdict_names[line->verdict], line->now, or_dash(line->was),
        or_dash(line->tool), or_dash(line->recipe)};
    for (gsize c = 0; c < G_N_ELEMENTS(cells); c++)
      base_table_cell(table, "%s", cells[c]);
  }
  base_table_print(table, 0, text);
  for (guint i = 0; i < lines->len; i++) {
    const CheckLine *line = g_ptr_array_index(lines, i);
    if (*line->why != '\0')
      g_string_append_printf(text, "\n%s, %s: %s\n", line->of->name, line->what, line->why);
  }
  g_string_append_c(text, '\n');
  summary(result, text);
}

/* A bar or the line's end would end the cell; code, links and HTML of a name are text. */
static void cell(GString *text, const char *value) {
  for (g_string_append(text, " "); *value != '\0'; value++) {
    gboolean tag =
        *value == '<' && (g_ascii_isalpha(value[1]) || (value[1] != '\0' && strchr("/!?", value[1]) != NULL));
    if (tag || strchr("\\|`[", *value) != NULL)
      g_string_append_c(text, '\\');
    g_string_append_c(text, (guchar)*value < ' ' ? ' ' : *value);
  }
  g_string_append(text, " |");
}

void check_markdown(const CheckResult *result, GString *text) {
  g_autoptr(GPtrArray) lines = in_order(result);
  g_string_append(text, "| | budget | check | now | accepted | tool moved | recipe moved | why |\n"
                        "|---|---|---|---|---|---|---|---|\n");
  for (guint i = 0; i < lines->len; i++) {
    const CheckLine *line = g_ptr_array_index(lines, i);
    const char *const cells[] = {check_verdict_names[line->verdict],
                                 line->of->name,
                                 line->what,
                                 line->now,
                                 or_dash(line->was),
                                 or_dash(line->tool),
                                 or_dash(line->recipe),
                                 line->why};
    g_string_append_c(text, '|');
    for (gsize c = 0; c < G_N_ELEMENTS(cells); c++)
      cell(text, cells[c]);
    g_string_append_c(text, '\n');
  }
  g_string_append_c(text, '\n');
  summary(result, text);
}

/* "now 1.95 s; the recipe moved it by +3.2 %; training.micro_batch 1, was 2" */
static char *told(const CheckLine *line) {
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "%s: now %s", line->what, line->now);
  if (line->was != NULL)
    g_string_append_printf(text, ", accepted %s; the recipe moved it by %s, the tool by %s", line->was, line->recipe,
                           line->tool);
  if (*line->why != '\0')
    g_string_append_printf(text, "; %s", line->why);
  return g_string_free(text, FALSE);
}

static void append_escaped(GString *text, const char *format, const char *value) {
  g_autofree char *escaped = g_markup_escape_text(value, -1);
  g_string_append_printf(text, format, escaped);
}

static double seconds_of(const CheckResult *result) {
  double seconds = 0;
  for (guint i = 0; i < result->lines->len; i++)
    seconds += g_array_index(result->lines, CheckLine, i).seconds;
  return seconds;
}

/* Elements, their order and their attributes are those that the strictest of the schemas in use asks for: what passed
 * is told in the suite's own output, not in its case. */
void check_junit(const CheckResult *result, GString *text) {
  g_autoptr(GString) output = g_string_new(NULL);
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_autofree char *timestamp = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");
  g_string_append_printf(text,
                         "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                         "<testsuite name=\"foretrain check\" tests=\"%u\" failures=\"%u\" errors=\"0\" "
                         "time=\"%.3f\" timestamp=\"%s\"",
                         result->lines->len, result->failed, seconds_of(result), timestamp);
  append_escaped(text, " hostname=\"%s\">\n  <properties/>\n", g_get_host_name());
  for (guint i = 0; i < result->lines->len; i++) {
    const CheckLine *line = &g_array_index(result->lines, CheckLine, i);
    g_autofree char *message = told(line);
    append_escaped(text, "  <testcase classname=\"%s\"", line->of->name);
    append_escaped(text, " name=\"%s\"", line->what);
    g_string_append_printf(text, " time=\"%.3f\"", line->seconds);
    if (line->verdict == CHECK_FAILED)
      append_escaped(text, ">\n    <failure type=\"budget\" message=\"%s\"/>\n  </testcase>\n", message);
    else
      g_string_append(text, "/>\n");
    g_string_append_printf(output, "%s: %s, %s\n", check_verdict_names[line->verdict], line->of->name, message);
  }
  append_escaped(text, "  <system-out>%s</system-out>\n  <system-err/>\n</testsuite>\n", output->str);
}

/* As the toolkit of GitHub Actions escapes what its workflow commands hold (packages/core/src/command.ts). */
static char *command_text(const char *value, gboolean property) {
  GString *text = g_string_new(value);
  g_string_replace(text, "%", "%25", 0);
  g_string_replace(text, "\r", "%0D", 0);
  g_string_replace(text, "\n", "%0A", 0);
  if (property) {
    g_string_replace(text, ":", "%3A", 0);
    g_string_replace(text, ",", "%2C", 0);
  }
  return g_string_free(text, FALSE);
}

/* A runner takes commands from lines that begin with "::", blanks aside, and from "##[" anywhere. */
static void defuse(GString *text) {
  gsize start = 0;
  g_string_replace(text, "##[", "# #[", 0);
  while (start < text->len) {
    gsize at = start + strspn(text->str + start, " \t\r\v\f");
    if (g_str_has_prefix(text->str + at, "::"))
      g_string_insert_c(text, (gssize)at + 1, ' ');
    const char *end = strchr(text->str + at, '\n');
    start = end != NULL ? (gsize)(end - text->str) + 1 : text->len;
  }
}

void check_github(const CheckResult *result, GString *text) {
  defuse(text);
  for (guint i = 0; i < result->lines->len; i++) {
    const CheckLine *line = &g_array_index(result->lines, CheckLine, i);
    if (line->verdict != CHECK_FAILED && line->verdict != CHECK_MOVED)
      continue;
    g_autofree char *message = told(line);
    g_autofree char *data = command_text(message, FALSE),
                    *file = command_text(line->file != NULL ? line->file : result->budgets->file, TRUE);
    g_autofree char *title = command_text(line->of->name, TRUE);
    g_string_append_printf(text, "::%s file=%s,line=%u,title=%s::%s\n",
                           line->verdict == CHECK_FAILED ? "error" : "notice", file,
                           line->file != NULL ? line->file_line : line->line, title, data);
  }
}

void check_json(const CheckResult *result, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_integer(json, "failed", result->failed);
  base_json_list(json, "checks");
  for (guint i = 0; i < result->lines->len; i++) {
    const CheckLine *line = &g_array_index(result->lines, CheckLine, i);
    base_json_map(json, NULL);
    base_json_text(json, "budget", line->of->name);
    base_json_text(json, "check", line->what);
    base_json_text(json, "verdict", check_verdict_names[line->verdict]);
    base_json_text(json, "now", line->now);
    base_json_text(json, "accepted", line->was);
    base_json_text(json, "tool_moved", line->tool);
    base_json_text(json, "recipe_moved", line->recipe);
    base_json_text(json, "why", line->why);
    base_json_text(json, "file", line->file != NULL ? line->file : result->budgets->file);
    base_json_integer(json, "line", line->file != NULL ? line->file_line : line->line);
    base_json_end(json);
  }
  base_json_end(json);
  base_json_end(json);
}
