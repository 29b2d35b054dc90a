/* SPDX-License-Identifier: MIT */
/* Checkpoints where they happen: bytes and seconds by hand, and a step beside their traffic. */
#include "base-error.h"
#include "harness.h"
#include "study-saving.h"

static Study *open_two_nodes(void) {
  Study *study = study_open("llama3-8b-fsdp2", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  CU_ASSERT_TRUE_FATAL(study_set(study, "cluster.nodes=2", NULL));
  return study;
}

static StudySaving find(const StudyReliability *reliability) {
  g_autoptr(Study) study = open_two_nodes();
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  StudySaving saving = {0};
  CU_ASSERT_TRUE_FATAL(study_saving_find(study, "", &options, reliability, &saving, NULL));
  return saving;
}

/* FSDP2 saves fp32 parameters and two moments of 8 030 261 248 parameters: 96.36 GB, half of it on each node, 48.18 s
 * at 1 GB/s; a DGX H100 has 2 TiB of host memory. */
static void by_hand(void) {
  StudyReliability reliability = {.storage_bandwidth = 1e9};
  StudySaving saving = find(&reliability);
  CU_ASSERT_DOUBLE_EQUAL(saving.bytes, 12.0 * 8030261248, 1);
  CU_ASSERT_DOUBLE_EQUAL(saving.write, 6.0 * 8.030261248, 1e-6);
  CU_ASSERT_EQUAL(saving.staged, 6 * G_GUINT64_CONSTANT(8030261248));
  CU_ASSERT_EQUAL(saving.host_memory, G_GUINT64_CONSTANT(2) << 40);
  CU_ASSERT_TRUE(saving.beside == 0 && !study_saving_is_short(&saving));
  saving.host_memory = saving.staged - 1;
  CU_ASSERT_TRUE(study_saving_is_short(&saving));
  reliability.synchronous = TRUE;
  CU_ASSERT_EQUAL(find(&reliability).staged, 0);
}

/* Over the NICs of the training: 400 GB/s a node. A hundredth of it changes a step by less than a fiftieth (gathers
 * that take longer leave compute beside them more of the memory), nearly all of it lengthens it; all of it is refused.
 * */
static void beside_their_traffic(void) {
  StudyReliability reliability = {.storage_bandwidth = 4e9, .shared = 1};
  StudySaving little = find(&reliability);
  reliability.storage_bandwidth = 380e9;
  StudySaving much = find(&reliability);
  CU_ASSERT_DOUBLE_EQUAL((double)little.beside / (double)little.step, 1, 0.02);
  CU_ASSERT_TRUE(much.beside > little.beside && (double)much.beside > 1.1 * (double)much.step);
  reliability.storage_bandwidth = 500e9;
  g_autoptr(Study) study = open_two_nodes();
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  GError *error = NULL;
  HARNESS_FAILS(study_saving_find(study, "", &options, &reliability, &much, &error), error, "all that the NICs");
}

int main(void) {
  return harness_run("study-saving", (HarnessCase[]){
                                         {"by hand", by_hand},
                                         {"beside their traffic", beside_their_traffic},
                                         {NULL, NULL},
                                     });
}
