/* SPDX-License-Identifier: MIT */
/* Plays a step whose events are many, for test-trace-cost.sh to count instructions of. With a word: every trace point
 * on, its lines thrown away. */
#include <glib.h>

#include "study.h"

static void drop(const char *text, gpointer user) {
  (void)text;
  (void)user;
}

int main(int argc, char **argv) {
  (void)argv;
  g_autoptr(GError) error = NULL;
  const BaseTrace trace = {"*", drop, NULL};
  StudyOptions options = {.every_step = TRUE, .trace = argc > 1 ? &trace : NULL};
  g_autoptr(Study) study = study_open("llama2-7b", &error);
  g_autoptr(RunReport) report = study != NULL ? study_run(study, &options, &error) : NULL;
  if (report == NULL)
    g_error("%s", error->message);
  return 0;
}
