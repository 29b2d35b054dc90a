/* SPDX-License-Identifier: MIT */
/* Small trace files, and how they replay. */
#include "trace.h"

#include <glib/gstdio.h>
#include <string.h>

static char *trace_save(const char *text, gsize length) {
  char *path = NULL;
  int file = g_file_open_tmp("foretrain-XXXXXX.trace.csv", &path, NULL);
  CU_ASSERT_TRUE_FATAL(file >= 0);
  g_close(file, NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, (gssize)length, NULL));
  return path;
}

RunReport *replay(const char *text, const char *const *sets, StudyReplay how, GError **error) {
  g_autofree char *path = trace_save(text, strlen(text));
  g_autoptr(StudyTrace) trace = study_trace_open(path, error);
  g_unlink(path);
  for (; trace != NULL && *sets != NULL; sets++)
    if (!study_trace_set(trace, *sets, error))
      return NULL;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  return trace != NULL ? study_trace_run(trace, &how, &options, error) : NULL;
}

const char plain[] = "# foretrain_trace = 1\n# tokens = 1000\n# dtype = bf16\n# streams = host compute comm\n"
                     "# role.r = 0-1\n# communicator.all = 0-1\n" COLUMNS
                     "r,first,load,host,host,load,,setup,,,,,,,,,,,w:parameters:1000,,\n"
                     "r,steady,f,compute,compute,f,0,forward,0,3000000,10000000,,,,,,,,x:activations:64:0,,\n"
                     "r,steady,g,compute,compute,g,0,backward,0,5000000,1000000,,,,,,,f,,,\n"
                     "r,steady,end,host,host,end,,optimizer,,,,,,,,,,g,,x,\n";

const char *const two_gpus[] = {"cluster.topology=dgx-h100", "cluster.gpus_per_node=2", NULL};

char *edited(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  return g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

const char pair[] = "# foretrain_trace = 1\n# workload = pair\n# tokens = 1000\n# dtype = bf16\n"
                    "# streams = host compute comm side\n# role.a = 0\n# role.b = 1\n"
                    "# communicator.x = 0-1\n# communicator.y = 0-1\n" COLUMNS
                    "a,first,load,host,host,load,,setup,,,,,,,,,,,w:parameters:1000,,\n"
                    "b,first,load,host,host,load,,setup,,,,,,,,,,,w:parameters:1000,,\n"
                    "a,steady,f,compute,compute,f,0,forward,0,3000000,,,,,,,,,t:temporary:5,,\n"
                    "a,steady,one,comm,collective,reduce,0,reduce,0,,,,,,1000,all-reduce,x,f,,,bucket\n"
                    "a,steady,two,comm,collective,gather,0,gather,0,,,,,,2000,all-gather,y,,,,\n"
                    "a,steady,end,host,host,end,,optimizer,,,,,,,,,,one two,,t@comm,\n"
                    "b,steady,f,compute,compute,f,0,forward,0,3000000,,,,,,,,,,,\n"
                    "b,steady,one,comm,collective,reduce,0,reduce,0,,,,,,1000,all-reduce,x,f,,,bucket\n"
                    "b,steady,two,comm,collective,gather,0,gather,0,,,,,,2000,all-gather,y,,,,\n"
                    "b,steady,end,host,host,end,,optimizer,,,,,,,,,,one two,,,\n";
