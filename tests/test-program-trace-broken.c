/* SPDX-License-Identifier: MIT */
/* Trace files that are broken: refused with their place; mangled: never a crash nor a hang. */
#include "program-trace.h"
#include "trace.h"

static void broken_files_are_refused(void) {
  static const struct {
    const char *from, *to, *fragment;
  } edits[] = {
      {"# foretrain_trace = 1", "# foretrain_trace = 2",
       "a:1: foretrain_trace: 2 is out of range: expected from 1 to 1"},
      {"# tokens = 1000\n", "", "the head of a trace needs \"# tokens = "},
      {"# dtype = bf16", "# dtype = bf61", "a:4: dtype: expected one of fp32"},
      {"# tokens", "# tokenz", "a:3: tokenz: no such key in the head of a trace; did you mean \"tokens\"?"},
      {"# role.b = 1", "# role.b = 0-1", "rank 0 is of role a already"},
      {"# role.b = 1", "# role.b = 2", "rank 1 of 0-2 is of no role"},
      {"# role.b = 1", "# role.b = 4294967297", "expected ranks below"},
      {"# role.b = 1", "# role.b = 1,1", "expected ranks in ascending order"},
      {"communicator.y = 0-1", "communicator.y = 0-7", "there is no rank 2"},
      {"communicator.y = 0-1", "communicator.x = 0-1", "a:9: communicator.x: stands already on line 8"},
      {"communicator.y = 0-1", "communicator.y = 0", "rank 1 is no member of communicator y"},
      {"role,step,task", "role,task,step", "a:10: expected the columns"},
      {"a,first,load", "c,first,load", "the head has no such role"},
      {"a,first,load", "a,frist,load", "a:11: step: expected one of first, steady, found \"frist\""},
      {"f,compute,compute", "f,cmpute,compute", "the head has no stream \"cmpute\"; did you mean \"compute\"?"},
      {"f,compute,compute", "f,host,compute", "a compute row stands on another stream than host"},
      {"f,compute,compute", "f,compute,kernel",
       "a:13: kind: expected one of compute, collective, host, copy, cpu, found \"kernel\""},
      {"3000000", "-3", "a:13: duration_ps: expected a whole number, found \"-3\""},
      {"3000000", "99999999999999999999",
       "a:13: duration_ps: expected a whole number, found \"99999999999999999999\": more"},
      {"3000000", "", "needs duration_ps or a shape"},
      {"3000000,", "3000000,,", "expected 21 fields, found 22"},
      {"all-reduce,x", "all-reduce,z", "task one (reduce) of role a, rank 0: the head has no communicator \"z\""},
      {"all-reduce,x", "all-redoce,x", "did you mean \"all-reduce\"?"},
      {"all-reduce,x", ",x", "a:14: collective: a collective row needs one"},
      {"1000,all-reduce", "1001,all-reduce", "has all-reduce of 1001 bytes"},
      {"all-gather,y", "reduce-scatter,y", "is all-gather of 2000 bytes, but line 15"},
      {"all-gather,y", "all-gather,x", "call 2 on communicator x, of which role b issues only 1"},
      {"one two", "one tow", "a:16: needs: task end (end) of role a, rank 0: there is no task tow in step steady"},
      {"x,f,", "x,two,", "task two stands below it, line 15: a circle"},
      {"x,f,", "x,one,", "it needs itself"},
      {"steady,two,comm", "steady,one,comm", "its step has such a task already, on line 14"},
      {"t:temporary:5", "t:temporary", "expected tensor:tenant:bytes"},
      {"t:temporary:5", "t:tempo:5", "expected tensor:tenant:bytes"},
      {"t:temporary:5", "t:temporary:5:6", "expected tensor:tenant:bytes"},
      {"t:temporary:5", "t:temporary:18446744073709551616", "expected tensor:tenant:bytes"},
      {"t:temporary:5", "w:parameters:7", "w is parameters of 7 bytes (7 once) here, but parameters of 1000 bytes"},
      {"t:temporary:5", "w:parameters:1000:7", "w is parameters of 1000 bytes (7 once) here, but parameters of 1000"},
      {"t:temporary:5", "w:parameters:1000:1000:managed",
       "w is parameters of 1000 bytes (1000 once, managed) here, but parameters of 1000 bytes (1000 once) on line"},
      {"t:temporary:5", "t:temporary:5:5:manages", "expected tensor:tenant:bytes"},
      {"t:temporary:5", "t:temporary:5:5:managed:", "expected tensor:tenant:bytes"},
      {"t:temporary:5", "t:temporary:5 w:parameters:1000", "takes w, which is held already"},
      {"t:temporary:5", "", "gives t, which no row above takes"},
      {"t@comm", "t t", "gives t, which is not held"},
      {"t@comm", "t w", "gives w, which the step does not take"},
      {"t@comm", "", "task f (f) of role a, rank 0, step steady: takes t, which the step does not give"},
      {"t@comm", "t@comm+side", "one is all that is played yet"},
      {"t@comm", "t@host", "leave out @host"},
      {"a,first,load,host,host,load,,setup,,,,,,,,,,,w:parameters:1000,,\n", "", "role a has no row in step first"},
      {"b,steady,end", "\"b,steady,end", "a quote that does not end"},
      {"bucket", "bukcet", "did you mean \"bucket\"?"},
      {",forward,0,3000000,,,,", ",forward,0,3000000,,cube:1x2x3x4,bf16,", "expected matmul:BATCHxMxNxK"},
      {",forward,0,3000000,,,,", ",forward,0,3000000,,matmul:1x2x3x4,,", "dtype: a row with a shape needs one"},
      {",reduce,0,,", ",reduce,0,5,", "a:14: duration_ps: a collective row has none, found \"5\""},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(edits); i++) {
    GError *error = NULL;
    ProgramOrigin origin = {0};
    g_autofree char *text = edited(pair, edits[i].from, edits[i].to);
    g_autoptr(Program) program = program_trace_read("a", text, strlen(text), &origin, &error);
    if (program != NULL)
      printf("\n    taken: \"%s\" for \"%s\"\n", edits[i].to, edits[i].from);
    HARNESS_FAILS(program, error, edits[i].fragment);
    program_origin_clear(&origin);
  }
  GError *error = NULL;
  ProgramOrigin origin = {0};
  g_autoptr(Program) whole = program_trace_read("a", pair, strlen(pair), &origin, &error);
  CU_ASSERT_PTR_NOT_NULL(whole);
  program_origin_clear(&origin);
  HARNESS_FAILS(program_trace_read("a", "\xff", 1, &origin, &error), error, "not UTF-8");
  HARNESS_FAILS(program_trace_read("a", "", 0, &origin, &error), error, "ends before its columns");
}

/* Role b issues y before x on one stream: a holds x and waits for b, b holds y and waits for a. */
static void a_wait_without_end_is_found(void) {
  static const char x[] = "b,steady,one,comm,collective,reduce,0,reduce,0,,,,,,1000,all-reduce,x,f,,,bucket\n";
  static const char y[] = "b,steady,two,comm,collective,gather,0,gather,0,,,,,,2000,all-gather,y,,,,\n";
  GError *error = NULL;
  ProgramOrigin origin = {0};
  g_autofree char *without = edited(pair, x, ""), *with = g_strconcat(y, x, NULL);
  g_autofree char *crossed = edited(without, y, with);
  HARNESS_FAILS(program_trace_read("a", crossed, strlen(crossed), &origin, &error), error,
                "a:14: task one (reduce) of role a, rank 0, step steady: a wait that can never end, with these waiting "
                "too; line 18, task two (gather) of role b, rank 1, step steady");
  /* On streams of their own both go on. */
  g_autofree char *y_aside = edited(crossed, "b,steady,two,comm", "b,steady,two,side");
  g_autoptr(Program) program = program_trace_read("a", y_aside, strlen(y_aside), &origin, &error);
  CU_ASSERT_PTR_NOT_NULL(program);
  program_origin_clear(&origin);
  g_autoptr(RunReport) report = replay(y_aside, two_gpus, STUDY_REPLAY_DEFAULT, &error);
  CU_ASSERT_PTR_NOT_NULL(report);
}

/* One mangling of the text: cut off, a byte changed, a piece of one place put into another, a huge number. */
static void mangle(GString *text, GRand *random) {
  static const char *const huge[] = {
      "9223372036854775807", "18446744073709551615", "1e308", "-1", "0", "2", "7", "nan", "#", ","};
  gsize at = (gsize)g_rand_int_range(random, 0, (gint32)text->len);
  switch (g_rand_int_range(random, 0, 6)) {
  case 0:
    g_string_truncate(text, at);
    break;
  case 1:
    text->str[at] = (char)g_rand_int_range(random, 1, 128);
    break;
  case 2: {
    gsize from = (gsize)g_rand_int_range(random, 0, (gint32)text->len);
    g_autofree char *piece = g_strndup(text->str + from, (gsize)g_rand_int_range(random, 0, 60));
    g_string_insert(text, (gssize)at, piece);
    break;
  }
  case 3: {
    gsize length = (gsize)g_rand_int_range(random, 0, 60);
    g_string_erase(text, (gssize)at, (gssize)MIN(length, text->len - at));
    break;
  }
  default: {
    gsize digits = at + strcspn(text->str + at, "0123456789");
    g_string_erase(text, (gssize)digits, (gssize)strspn(text->str + digits, "0123456789"));
    g_string_insert(text, (gssize)digits, huge[g_rand_int_range(random, 0, G_N_ELEMENTS(huge))]);
  }
  }
}

/* Each is refused with a place, or plays to an end. */
static void mangled_files_end(void) {
  g_autoptr(GRand) random = harness_random();
  guint refused = 0, played = 0;
  for (int round = 0; round < 1500; round++) {
    g_autoptr(GString) text = g_string_new(round % 2 == 0 ? pair : plain);
    for (int n = g_rand_int_range(random, 1, 4); n > 0 && text->len > 0; n--)
      mangle(text, random);
    GError *error = NULL;
    g_autoptr(RunReport) report = replay(text->str, two_gpus, STUDY_REPLAY_DEFAULT, &error);
    CU_ASSERT_TRUE((report == NULL) == (error != NULL));
    if (error != NULL)
      CU_ASSERT_TRUE(*error->message != '\0');
    refused += error != NULL;
    played += report != NULL;
    g_clear_error(&error);
  }
  CU_ASSERT_TRUE(refused > 500 && played > 10);
}

int main(void) {
  return harness_run("program-trace-broken",
                     (HarnessCase[]){{"broken files are refused", broken_files_are_refused},
                                     {"a wait without end is found", a_wait_without_end_is_found},
                                     {"mangled files end", mangled_files_end},
                                     {NULL, NULL}});
}
