/* SPDX-License-Identifier: MIT */
/* Files beside each other, and gnuplot run on them. */
#include "report-picture.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base-error.h"
#include "base-file.h"
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
  return base_file_write(path, text, strlen(text), error);
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

/* What stands beside a picture. */
static const char *const beside[] = {".gnuplot", ".dat"};

char **report_plot_files(const char *path) {
  g_autofree char *stem = g_strndup(path, (gsize)(strrchr(path, '.') - path));
  char **files = g_new0(char *, G_N_ELEMENTS(beside) + 2);
  files[0] = g_strdup(path);
  for (gsize i = 0; i < G_N_ELEMENTS(beside); i++)
    files[i + 1] = g_strconcat(stem, beside[i], NULL);
  return files;
}

/* A folder of gnuplot's own beside the picture, so that one of before is not taken for it, and is replaced whole. */
typedef struct {
  char *folder, *files[G_N_ELEMENTS(beside) + 1]; /* the picture, and links to its script and its data */
} Room;

static gboolean make_room(const ReportPicture *picture, Room *ret, GError **error) {
  g_autofree char *folder = g_build_filename(picture->folder, ".foretrain-XXXXXX", NULL);
  if (g_mkdtemp(folder) == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: cannot be written: %s", picture->path, g_strerror(errno));
    return FALSE;
  }
  g_autofree char *name = g_path_get_basename(picture->path);
  ret->folder = g_steal_pointer(&folder);
  ret->files[0] = g_build_filename(ret->folder, name, NULL);
  gboolean good = TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(beside); i++) {
    g_autofree char *own = g_strconcat(picture->stem, beside[i], NULL), *to = g_build_filename("..", own, NULL);
    ret->files[i + 1] = g_build_filename(ret->folder, own, NULL);
    good &= symlink(to, ret->files[i + 1]) == 0;
  }
  if (!good)
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: cannot be written: %s", picture->path, g_strerror(errno));
  return good;
}

static void clear_room(Room *room) {
  for (gsize i = 0; room->folder != NULL && i < G_N_ELEMENTS(room->files); i++)
    g_unlink(room->files[i]);
  if (room->folder != NULL)
    g_rmdir(room->folder);
  for (gsize i = 0; i < G_N_ELEMENTS(room->files); i++)
    g_free(room->files[i]);
  g_free(room->folder);
}

/* The same picture whoever draws it: no .gnuplot from a home, no terminal from the environment.
 * FALSE without an error: gnuplot ran, and said *ret_complaints. */
static gboolean run_gnuplot(const ReportPicture *picture, const Room *room, char **ret_complaints, int *ret_status,
                            GError **error) {
  g_autofree char *script = g_strconcat("./", picture->stem, ".gnuplot", NULL);
  char *arguments[] = {"gnuplot", "-d", script, NULL};
  g_auto(GStrv) surroundings = g_environ_unsetenv(g_get_environ(), "GNUTERM");
  g_autoptr(GError) cause = NULL;
  if (!g_spawn_sync(room->folder, arguments, surroundings, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                    NULL, ret_complaints, ret_status, &cause)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM,
                "%s: gnuplot does not run (%s); it draws %s/%s once it is installed", picture->path, cause->message,
                picture->folder, script + strlen("./"));
    return FALSE;
  }
  return g_spawn_check_wait_status(*ret_status, NULL);
}

/* What gnuplot drew, to where it was asked for. */
static gboolean deliver(const ReportPicture *picture, const Room *room, gboolean *ret_empty, GError **error) {
  g_autofree char *drawn = NULL;
  gsize length;
  *ret_empty = !g_file_get_contents(room->files[0], &drawn, &length, NULL) || length == 0;
  return !*ret_empty && base_file_write(picture->path, drawn, length, error);
}

static gboolean draw(const ReportPicture *picture, const Room *room, GError **error) {
  g_autofree char *complaints = NULL;
  GError *cause = NULL;
  int status = 0;
  gboolean empty = TRUE;
  if (run_gnuplot(picture, room, &complaints, &status, &cause) && deliver(picture, room, &empty, &cause))
    return TRUE;
  if (cause == NULL) {
    g_autofree char *why = why_it_failed(complaints, status);
    g_set_error(&cause, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: gnuplot failed: %s", picture->path, why);
  }
  if (empty)
    g_unlink(picture->path);
  g_propagate_error(error, cause);
  return FALSE;
}

gboolean report_picture_draw(const ReportPicture *picture, GError **error) {
  g_autofree char *whole = whole_script(picture), *target = base_file_target(picture->path, error);
  if (target == NULL || !write_beside(picture, ".dat", picture->data->str, error) ||
      !write_beside(picture, ".gnuplot", whole, error))
    return FALSE;
  Room room = {0};
  gboolean drawn = make_room(picture, &room, error) && draw(picture, &room, error);
  clear_room(&room);
  return drawn;
}
