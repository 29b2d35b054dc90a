/* The short ways of a run against the plain ones: steps that are known are not played, their memory alone is, points
 * share machines, models and Programs; every byte of the Report must be what playing every step from the files
 * gives. */
#include <string.h>

#include "harness.h"
#include "random-point.h"
#include "run-pack.h"

static const RandomAxis axes[] = {
    {"parallel.framework", {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"}},
    {"parallel.zero_stage", {"0", "1", "2", "3"}},
    {"cluster.nodes", {"1", "2", "3"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100", "h100-eth100"}},
    {"training.sequence_length", {"1024", "2048", "4096"}},
    {"training.micro_batch", {"1", "2", "3", "4", "6", "10"}}, /* some retry, the last run out of memory */
    {"training.gradient_accumulation", {"1", "3"}},
    {"training.activation_checkpointing", {"none", "full", "layers:2"}},
    {"training.trainable", {"all", "lora:16", "20-31"}},
    {"memory.expandable_segments", {"no", "yes"}},
    {"price.gpu_hour", {"1 USD", "2 USD"}},
};

static StudyPoint *again(const StudyPoint *point) {
  StudyPoint *copy = study_point_new(point->file);
  copy->typed = TRUE;
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    study_point_add(copy, setting->name, setting->value, 0, 0);
  }
  return copy;
}

static gboolean same_text(const char *a, const char *b) {
  return g_strcmp0(a, b) == 0;
}

static gboolean classes_equal(const RunClass *a, const RunClass *b) {
  return a->step == b->step && a->compute == b->compute && a->communication == b->communication &&
         a->exposed == b->exposed && a->idle == b->idle && memcmp(a->by_cause, b->by_cause, sizeof a->by_cause) == 0 &&
         a->network_bytes_intra == b->network_bytes_intra && a->network_bytes_inter == b->network_bytes_inter &&
         a->verdict == b->verdict && a->short_by == b->short_by && a->steady_allocated == b->steady_allocated &&
         a->peak_allocated == b->peak_allocated && a->peak_active == b->peak_active &&
         a->peak_reserved == b->peak_reserved && a->device_used == b->device_used &&
         a->device_used_step == b->device_used_step && a->retries == b->retries && a->step_retries == b->step_retries &&
         a->step_stalled == b->step_stalled && memcmp(a->peak_held, b->peak_held, sizeof a->peak_held) == 0 &&
         memcmp(a->peak_unique, b->peak_unique, sizeof a->peak_unique) == 0 && a->peak_at == b->peak_at &&
         a->peak_step == b->peak_step && same_text(a->peak_name, b->peak_name) && a->peak_layer == b->peak_layer &&
         a->has_oom == b->has_oom && a->oom.at == b->oom.at && a->oom.step == b->oom.step && a->oom.row == b->oom.row &&
         same_text(a->oom.tensor, b->oom.tensor) && a->oom.requested == b->oom.requested &&
         a->oom.free == b->oom.free && a->oom.reserved == b->oom.reserved;
}

static gboolean timelines_equal(const RunClass *a, const RunClass *b) {
  gboolean equal = a->n_tasks == b->n_tasks && a->n_exposures == b->n_exposures && a->n_samples == b->n_samples;
  for (guint32 i = 0; equal && i < a->n_tasks; i++)
    equal = a->tasks[i].row == b->tasks[i].row && a->tasks[i].start == b->tasks[i].start &&
            a->tasks[i].end == b->tasks[i].end;
  return equal && (a->n_samples == 0 || memcmp(a->samples, b->samples, a->n_samples * sizeof *a->samples) == 0);
}

static gboolean links_equal(const RunReport *a, const RunReport *b) {
  gboolean equal = a->n_links == b->n_links;
  for (guint32 i = 0; equal && i < a->n_links; i++)
    equal = a->links[i].bytes == b->links[i].bytes && a->links[i].busy == b->links[i].busy;
  return equal;
}

static gboolean reports_equal(const RunReport *a, const RunReport *b) {
  gboolean same = a->n_classes == b->n_classes && a->steps_played == b->steps_played && a->repeats == b->repeats &&
                  a->price_per_step == b->price_per_step && same_text(a->identity.run_key, b->identity.run_key) &&
                  links_equal(a, b);
  for (guint32 i = 0; same && i < a->n_classes; i++)
    same = classes_equal(&a->classes[i], &b->classes[i]) && timelines_equal(&a->classes[i], &b->classes[i]);
  return same;
}

static void compare(gboolean timeline, guint points) {
  g_autoptr(GRand) random = harness_random();
  g_autoptr(Study) base = study_open("llama2-7b", NULL);
  g_autoptr(StudyCache) cache = study_cache_new();
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  guint played = 0, settled = 0, retried = 0;
  for (guint i = 0; i < points; i++) {
    g_autoptr(StudyPoint) fast = random_point(axes, G_N_ELEMENTS(axes), random), plain = again(fast);
    study_point_run(fast, base, &(StudyOptions){.fold = TRUE, .timeline = timeline}, cache);
    study_point_run(plain, base, &(StudyOptions){.fold = TRUE, .timeline = timeline, .every_step = TRUE}, NULL);
    g_autofree char *a = study_point_status(fast), *b = study_point_status(plain);
    CU_ASSERT_STRING_EQUAL(a, b);
    if (fast->report == NULL || plain->report == NULL)
      continue;
    played++;
    settled += fast->report->steps_played > 2;
    retried += fast->report->classes[0].retries > 0 && fast->report->verdict == RUN_FITS;
    gboolean same = reports_equal(fast->report, plain->report);
    CU_ASSERT_TRUE(same);
    for (guint s = 0; !same && s < fast->settings->len; s++)
      printf("\n    %s = %s", g_array_index(fast->settings, StudyPointSetting, s).name,
             g_array_index(fast->settings, StudyPointSetting, s).value);
    fast->report->classes[0].peak_reserved++; /* the comparison can fail */
    CU_ASSERT_FALSE(reports_equal(fast->report, plain->report));
  }
  printf(" (%u of %u played, %u took more than two steps, %u retried) ", played, points, settled, retried);
  CU_ASSERT_TRUE(played > points / 5);
}

static void summaries_are_those_of_the_plain_run(void) {
  compare(FALSE, 250);
}

static void timelines_are_those_of_the_plain_run(void) {
  compare(TRUE, 50);
}

/* What goes to another process and comes back. */
static void a_packed_report_is_the_same(void) {
  g_autoptr(Study) base = study_open("llama2-7b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  CU_ASSERT_TRUE(study_set(base, "training.micro_batch=64", NULL)); /* out of memory: all texts are there */
  g_autoptr(RunReport) report = study_run(base, &(StudyOptions){.fold = TRUE}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  CU_ASSERT_TRUE(report->classes[0].has_oom);
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  run_report_pack(report, bytes);
  g_autoptr(RunReport) back = run_report_unpack(bytes->data, bytes->len);
  CU_ASSERT_TRUE(reports_equal(report, back));
  CU_ASSERT_STRING_EQUAL(report->classes[0].oom.name, back->classes[0].oom.name);
  CU_ASSERT_STRING_EQUAL(report->classes[0].members, back->classes[0].members);
  CU_ASSERT_EQUAL(g_strv_length(report->identity.notes), g_strv_length(back->identity.notes));
  for (guint32 i = 0; i < report->identity.n_settings; i++)
    CU_ASSERT_STRING_EQUAL(report->identity.settings[i].value, back->identity.settings[i].value);
}

int main(void) {
  return harness_run("repeat", (HarnessCase[]){{"summaries", summaries_are_those_of_the_plain_run},
                                               {"timelines", timelines_are_those_of_the_plain_run},
                                               {"packed", a_packed_report_is_the_same},
                                               {NULL, NULL}});
}
