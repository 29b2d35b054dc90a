/* SPDX-License-Identifier: MIT */
/* Files beside each other, and gnuplot run on them. */
#include "report-picture.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base-error.h"
#include "report-looks.h"

#define PICTURE_WIDTH 1280
#define FONT_PIXELS   13

/* gnuplot's terminals by ending. */
static const struct {
  const char *ending, *terminal;
  guint scale;
  double
      points; /* of a font, for each pixel: svg counts in pixels, cairo in points of 1/72 inch at 96 pixels an inch */
} endings[] = {{".svg", "svg noenhanced", 1, 1}, {".png", "pngcairo noenhanced", 2, 0.75}};

/* Bytes as they are, in gnuplot's single quotes, where nothing but the quote itself has a meaning. */
static char *quote(const char *text) {
  GString *quoted = g_string_new("'");
  for (; *text != '\0'; text++)
    g_string_append(quoted, *text == '\'' ? "''" : (char[]){*text, '\0'});
  g_string_append_c(quoted, '\'');
  return g_string_free(quoted, FALSE);
}

/* The name of a file for the script. gnuplot takes one that begins with | or < for a command, with - or + for a source
 * of its own. Caller frees. */
static char *quote_file(const char *name) {
  gboolean plain = g_ascii_isalnum(*name) || *name == '_' || (guchar)*name >= 0x80;
  g_autofree char *local = g_strconcat(plain ? "" : "./", name, NULL);
  return quote(local);
}

static gboolean has_control(const char *name) {
  for (; *name != '\0'; name++)
    if (g_ascii_iscntrl(*name))
      return TRUE;
  return FALSE;
}

ReportPicture *report_picture_new(const ReportCanvas *canvas, GError **error) {
  const char *path = canvas->path;
  guint kind = 0;
  while (kind < G_N_ELEMENTS(endings) && !g_str_has_suffix(path, endings[kind].ending))
    kind++;
  g_autofree char *name = g_path_get_basename(path);
  if (kind == G_N_ELEMENTS(endings) || strlen(name) == strlen(endings[kind].ending)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: a picture ends in .svg or .png", path);
    return NULL;
  }
  if (has_control(name)) {
    g_autofree char *shown = report_picture_text(path);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: the name of a picture holds no control characters", shown);
    return NULL;
  }
  g_autofree char *folder = g_path_get_dirname(path);
  if (!g_file_test(folder, G_FILE_TEST_IS_DIR)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: there is no folder \"%s\" for the picture", path, folder);
    return NULL;
  }
  if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is a folder; expected the file of a picture", path);
    return NULL;
  }
  ReportPicture *picture = g_new0(ReportPicture, 1);
  picture->scale = endings[kind].scale;
  picture->points = endings[kind].points;
  picture->path = g_strdup(path);
  picture->folder = g_steal_pointer(&folder);
  picture->stem = g_strndup(name, strlen(name) - strlen(endings[kind].ending));
  g_autofree char *data = g_strconcat(picture->stem, ".dat", NULL);
  picture->data_name = quote_file(data);
  picture->data = g_string_new(NULL);
  picture->script = g_string_new(NULL);
  picture->dark = canvas->dark;
  picture->terminal = endings[kind].terminal;
  return picture;
}

gboolean report_plot_check(const char *path, GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(&(ReportCanvas){path, FALSE}, error);
  return picture != NULL;
}

void report_picture_free(ReportPicture *picture) {
  if (picture == NULL)
    return;
  g_string_free(picture->script, TRUE);
  g_string_free(picture->data, TRUE);
  g_free(picture->data_name);
  g_free(picture->path);
  g_free(picture->folder);
  g_free(picture->stem);
  g_free(picture);
}

char *report_picture_text(const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  GString *plain = g_string_new(NULL);
  for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
    gunichar letter = g_utf8_get_char(at);
    g_string_append_unichar(plain, g_unichar_iscntrl(letter) ? ' ' : letter);
  }
  return g_string_free(plain, FALSE);
}

char *report_picture_quote(const char *text) {
  g_autofree char *plain = report_picture_text(text);
  return quote(plain);
}

static gboolean write_beside(const ReportPicture *picture, const char *ending, const char *text, GError **error) {
  g_autofree char *name = g_strconcat(picture->stem, ending, NULL);
  g_autofree char *path = g_build_filename(picture->folder, name, NULL);
  FILE *file = g_fopen(path, "w");
  gboolean written = file != NULL && fputs(text, file) >= 0;
  written = file != NULL && fclose(file) == 0 && written;
  if (written)
    return TRUE;
  int cause = errno;
  if (file != NULL && g_file_test(path, G_FILE_TEST_IS_REGULAR))
    g_unlink(path);
  g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: cannot be written: %s", path, g_strerror(cause));
  return FALSE;
}

typedef struct {
  const char *ground, *ink, *rule;
} Ground;

static Ground ground_of(const ReportPicture *picture) {
  return picture->dark ? (Ground){"#1b1d21", "#dcdfe4", "#3a3e45"} : (Ground){"#ffffff", "#000000", "#dddddd"};
}

/* Borders, tics and letters of which a script says nothing. */
static const char inked[] = "set border lc rgb ink\nset tics textcolor rgb ink\nset title tc rgb ink\n"
                            "set xlabel tc rgb ink\nset ylabel tc rgb ink\nset key tc rgb ink\n";

const char *report_picture_colour(const ReportPicture *picture, const char *colour) {
  return picture->dark ? report_colour_on_dark(colour) : colour;
}

static char *whole_script(const ReportPicture *picture) {
  g_autofree char *name = g_path_get_basename(picture->path);
  g_autofree char *output = quote_file(name);
  Ground ground = ground_of(picture);
  return g_strdup_printf("# Written by foretrain. To draw it again: gnuplot on this file, in its folder.\n"
                         "set encoding utf8\n"
                         "ink = '%s'\nrule = '%s'\nground = '%s'\n"
                         "set terminal %s size %u,%u font 'Sans,%g' linewidth %u background rgb ground\n"
                         "set output %s\n%s%s",
                         ground.ink, ground.rule, ground.ground, picture->terminal, PICTURE_WIDTH * picture->scale,
                         picture->height * picture->scale, report_picture_points(picture, FONT_PIXELS), picture->scale,
                         output, picture->dark ? inked : "", picture->script->str);
}

/* What gnuplot said last, or else how it ended. Caller frees. */
static char *why_it_failed(char *complaints, int status) {
  g_strchomp(complaints);
  char *feed = strrchr(complaints, '\n');
  const char *last = g_strstrip(feed != NULL ? feed + 1 : complaints);
  if (WIFSIGNALED(status))
    return g_strdup_printf("it was killed by signal %d (%s)", WTERMSIG(status), g_strsignal(WTERMSIG(status)));
  if (*last != '\0')
    return report_picture_text(last);
  return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? g_strdup_printf("it ended with status %d", WEXITSTATUS(status))
                                                       : g_strdup("it wrote no picture");
}

/* An empty file where the picture will be, so that one of before is not taken for it. */
static gboolean make_room(const ReportPicture *picture, GError **error) {
  FILE *file = g_fopen(picture->path, "w");
  if (file != NULL && fclose(file) == 0)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: cannot be written: %s", picture->path, g_strerror(errno));
  return FALSE;
}

static gboolean is_drawn(const ReportPicture *picture, int status) {
  GStatBuf found;
  return g_spawn_check_wait_status(status, NULL) && g_stat(picture->path, &found) == 0 && found.st_size > 0;
}

gboolean report_picture_draw(const ReportPicture *picture, GError **error) {
  g_autofree char *whole = whole_script(picture);
  if (!write_beside(picture, ".dat", picture->data->str, error) || !write_beside(picture, ".gnuplot", whole, error) ||
      !make_room(picture, error))
    return FALSE;
  g_autofree char *script = g_strconcat("./", picture->stem, ".gnuplot", NULL);
  char *arguments[] = {"gnuplot", script, NULL};
  g_autofree char *complaints = NULL;
  g_autoptr(GError) cause = NULL;
  int status;
  if (!g_spawn_sync(picture->folder, arguments, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                    NULL, &complaints, &status, &cause)) {
    g_unlink(picture->path);
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM,
                "%s: gnuplot does not run (%s); it draws %s/%s once it is installed", picture->path, cause->message,
                picture->folder, script + strlen("./"));
    return FALSE;
  }
  if (is_drawn(picture, status))
    return TRUE;
  g_unlink(picture->path);
  g_autofree char *why = why_it_failed(complaints, status);
  g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: gnuplot failed: %s", picture->path, why);
  return FALSE;
}
