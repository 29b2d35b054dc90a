/* SPDX-License-Identifier: MIT */
/* Replays the corpora with any compiler: every reader reads every file of its folder, each prefix of a short one, and
 * each with a byte changed, so that a mistake once found stays found.
 *
 *   fuzz-readers tests/fuzz/corpus        exit status 1: a reader has no corpus */
#include <stdio.h>

#include "fuzz.h"

#define PREFIXES_OF   256 /* bytes: of longer files a few prefixes will do */
#define PREFIXES_DEAR 6   /* the same where each takes milliseconds (fuzz_dear) */

static void replay(const char *name, gsize prefixes, const guint8 *data, gsize length) {
  gsize step = MAX(length / prefixes, 1);
  fuzz_read(name, data, length);
  for (gsize bytes = 0; bytes < length; bytes += step) {
    g_autofree guint8 *changed = g_memdup2(data, length);
    fuzz_read(name, data, bytes);
    changed[bytes] = (guint8)(changed[bytes] ^ (1u << (bytes & 7)));
    fuzz_read(name, changed, length);
  }
}

static guint replay_folder(const char *name, gsize prefixes, const char *folder) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  guint n = 0;
  for (const char *file = dir != NULL ? g_dir_read_name(dir) : NULL; file != NULL; file = g_dir_read_name(dir)) {
    g_autofree char *path = g_build_filename(folder, file, NULL), *data = NULL;
    gsize length;
    if (!g_file_get_contents(path, &data, &length, NULL))
      continue;
    replay(name, prefixes, (const guint8 *)data, length);
    n++;
  }
  return n;
}

int main(int argc, char **argv) {
  gboolean good = argc == 2;
  for (guint i = 0; good && fuzz_name(i) != NULL; i++) {
    g_autofree char *folder = g_build_filename(argv[1], fuzz_name(i), NULL);
    guint n = replay_folder(fuzz_name(i), fuzz_dear(i) ? PREFIXES_DEAR : PREFIXES_OF, folder);
    printf("%s: %u files\n", fuzz_name(i), n);
    fflush(stdout);
    good = n > 0;
  }
  return good ? 0 : 1;
}
