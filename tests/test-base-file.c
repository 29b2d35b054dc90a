/* SPDX-License-Identifier: MIT */
/* Files are written whole or not at all, and never where somebody else's link leads. */
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base-file.h"
#include "harness.h"

static char *folder;

static char *in_folder(const char *name) {
  return g_build_filename(folder, name, NULL);
}

static gboolean writes(const char *path, const char *text, GError **error) {
  return base_file_write(path, text, strlen(text), error);
}

static gboolean holds(const char *path, const char *text) {
  g_autofree char *found = NULL;
  return g_file_get_contents(path, &found, NULL, NULL) && strcmp(found, text) == 0;
}

static guint files_there(void) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  guint n = 0;
  while (g_dir_read_name(dir) != NULL)
    n++;
  return n;
}

static void a_file_is_made_and_replaced(void) {
  g_autofree char *path = in_folder("a");
  CU_ASSERT_TRUE(writes(path, "one", NULL) && holds(path, "one"));
  g_chmod(path, 0640);
  CU_ASSERT_TRUE(writes(path, "two", NULL) && holds(path, "two"));
  struct stat found;
  CU_ASSERT_TRUE(stat(path, &found) == 0 && (found.st_mode & 0777) == 0640);
  CU_ASSERT_EQUAL(files_there(), 1);
}

/* No file may grow beyond some bytes: as a full disk, after a part was written. */
static void what_cannot_be_finished_leaves_the_old(void) {
  GError *error = NULL;
  g_autofree char *path = in_folder("a"), *fresh = in_folder("fresh"), *large = g_strnfill(1 << 16, 'x');
  struct rlimit before, little;
  CU_ASSERT_TRUE(writes(path, "old", NULL));
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  little = (struct rlimit){4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  gboolean replaced = writes(path, large, &error), made = writes(fresh, large, NULL);
  setrlimit(RLIMIT_FSIZE, &before);
  HARNESS_FAILS(replaced, error, "a: cannot be written: File too large");
  CU_ASSERT_FALSE(made);
  CU_ASSERT_TRUE(holds(path, "old"));
  CU_ASSERT_EQUAL(files_there(), 1);
}

static void what_is_no_file_of_ours_is_written_in_place(void) {
  GError *error = NULL;
  g_autofree char *path = in_folder("a"), *other = in_folder("b");
  CU_ASSERT_TRUE(writes(path, "old", NULL));
  CU_ASSERT_EQUAL(link(path, other), 0);
  CU_ASSERT_TRUE(writes(path, "new", NULL) && holds(other, "new"));
  g_unlink(other);
  HARNESS_FAILS(writes("/dev/full", "x", &error), error, "/dev/full: cannot be written: No space left");
  CU_ASSERT_TRUE(writes("/dev/null", "x", NULL));
  HARNESS_FAILS(writes(folder, "x", &error), error, "Is a directory");
  HARNESS_FAILS(writes("/nowhere/a", "x", &error), error, "/nowhere/a: cannot be written: No such file");
}

/* The link in a folder of ours is ours to have; in one that all may write to it must be ours, or root's. */
static void a_link_of_somebody_else_is_not_followed(void) {
  GError *error = NULL;
  g_autofree char *path = in_folder("a"), *link = in_folder("link");
  CU_ASSERT_TRUE(writes(path, "old", NULL));
  CU_ASSERT_EQUAL(symlink("a", link), 0);
  CU_ASSERT_TRUE(writes(link, "through", NULL) && holds(path, "through"));
  CU_ASSERT_TRUE(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
  g_chmod(folder, 0777);
  CU_ASSERT_TRUE(writes(link, "mine", NULL) && holds(path, "mine"));
  if (geteuid() == 0 && lchown(link, 65534, 65534) == 0) {
    HARNESS_FAILS(writes(link, "theirs", &error), error, "link: is a link that somebody else put");
    CU_ASSERT_TRUE(holds(path, "mine"));
    g_chmod(folder, 0700);
    CU_ASSERT_TRUE(writes(link, "theirs", NULL) && holds(path, "theirs"));
  }
  g_chmod(folder, 0700);
  g_unlink(path);
  CU_ASSERT_TRUE(writes(link, "first", NULL) && holds(path, "first")); /* it led to nothing */
  g_unlink(link);
}

int main(void) {
  folder = g_dir_make_tmp("base-file-XXXXXX", NULL);
  int status = harness_run("base file", (HarnessCase[]){{"made and replaced", a_file_is_made_and_replaced},
                                                        {"unfinished", what_cannot_be_finished_leaves_the_old},
                                                        {"in place", what_is_no_file_of_ours_is_written_in_place},
                                                        {"links", a_link_of_somebody_else_is_not_followed},
                                                        {NULL, NULL}});
  g_autofree char *path = in_folder("a");
  g_unlink(path);
  g_rmdir(folder);
  return status;
}
