/* SPDX-License-Identifier: MIT */
/* Whose kernels are whose: layers by modules, backward by autograd's numbers; a layer profile of them. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "import-kineto-profile.h"

#define US SIM_MICROSECOND

/* A kernel, and the call that launched it a microsecond before. */
static void kernel(GString *text, const char *name, guint thread, guint at, guint length, guint correlation) {
  g_string_append_printf(text,
                         ",\n{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": %u, "
                         "\"ts\": %u, \"dur\": 1, \"args\": {\"correlation\": %u}},\n{\"ph\": \"X\", \"cat\": "
                         "\"kernel\", \"name\": \"%s\", \"tid\": 7, \"ts\": %u, \"dur\": %u, \"args\": {\"stream\": 7, "
                         "\"device\": 0, \"correlation\": %u}}",
                         thread, at, correlation, name, at + 1, length, correlation);
}

/* A span of the host around it; sequence 0: none. */
static void span(GString *text, const char *name, guint thread, guint at, guint length, guint sequence,
                 guint forward_thread) {
  g_string_append_printf(text,
                         ",\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"tid\": %u, \"ts\": %u, "
                         "\"dur\": %u",
                         name, thread, at, length);
  if (sequence > 0)
    g_string_append_printf(text, ", \"args\": {\"Sequence number\": %u, \"Fwd thread id\": %u}", sequence,
                           forward_thread);
  g_string_append_c(text, '}');
}

/* Two layers of one micro-batch, with layer 0 computed again within its backward:
 *   thread 1  embedding 5 │ layer 0: 10 │ layer 1: 20 │ head 7 │ …                                  │ optimizer 9
 *   thread 2                                                    │ head 8 │ 1: 40 │ (0: 11) 0: 30 │ embedding 6 */
static GString *step_of(const char *module) {
  GString *text = g_string_new("[{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", "
                               "\"tid\": 1, \"ts\": 0, \"dur\": 1000}");
  g_autofree char *zero = g_strdup_printf("nn.Module: %s_0", module), *one = g_strdup_printf("nn.Module: %s_1", module);
  kernel(text, "embedding", 1, 10, 5, 1);
  span(text, zero, 1, 20, 20, 0, 0);
  span(text, "aten::mm", 1, 21, 10, 41, 0);
  kernel(text, "a", 1, 22, 10, 2);
  span(text, one, 1, 50, 20, 0, 0);
  span(text, "aten::mm", 1, 51, 10, 42, 0);
  kernel(text, "b", 1, 52, 20, 3);
  span(text, "aten::nll_loss", 1, 80, 10, 43, 0);
  kernel(text, "loss", 1, 81, 7, 4);
  span(text, "NllLossBackward0", 2, 100, 10, 43, 1);
  kernel(text, "loss backward", 2, 101, 8, 5);
  span(text, "MmBackward0", 2, 120, 50, 42, 1);
  kernel(text, "b backward", 2, 121, 40, 6);
  span(text, "CheckpointFunctionBackward", 2, 200, 200, 41, 1);
  span(text, zero, 2, 210, 30, 0, 0);
  kernel(text, "a again", 2, 215, 11, 7);
  span(text, "MmBackward0", 2, 250, 50, 41, 1);
  kernel(text, "a backward", 2, 251, 30, 8);
  kernel(text, "embedding backward", 2, 410, 6, 9);
  span(text, "Optimizer.step#AdamW.step", 1, 500, 50, 0, 0);
  kernel(text, "adam", 1, 510, 9, 10);
  g_string_append(text, "]");
  return text;
}

static ImportKinetoSet *open_step(const char *module, GError **error) {
  g_autofree char *path = NULL;
  g_autoptr(GString) text = step_of(module);
  g_close(g_file_open_tmp("kineto-XXXXXX.json", &path, NULL), NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text->str, -1, NULL));
  const char *const paths[] = {path};
  ImportKinetoSet *set = import_kineto_open(paths, 1, error);
  g_unlink(path);
  return set;
}

static void layers_of_a_step(void) {
  static const SimTime expected[][IMPORT_KINETO_DIRECTIONS] = {{10 * US, 11 * US, 30 * US}, {20 * US, 0, 40 * US}};
  g_autoptr(ImportKinetoSet) set = open_step("LlamaDecoderLayer", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(set);
  ImportKinetoLayers layers;
  import_kineto_layers(set, 0, &layers);
  CU_ASSERT_EQUAL_FATAL(layers.n, 2);
  CU_ASSERT_EQUAL(layers.passes, 1);
  for (guint i = 0; i < 2; i++)
    for (int d = 0; d < IMPORT_KINETO_DIRECTIONS; d++)
      CU_ASSERT_EQUAL(layers.of[i].time[d], expected[i][d]);
  CU_ASSERT_EQUAL(layers.embedding.time[IMPORT_KINETO_FORWARD], 5 * US);
  CU_ASSERT_EQUAL(layers.embedding.time[IMPORT_KINETO_BACKWARD], 6 * US);
  CU_ASSERT_EQUAL(layers.head.time[IMPORT_KINETO_FORWARD], 7 * US);
  CU_ASSERT_EQUAL(layers.head.time[IMPORT_KINETO_BACKWARD], 8 * US);
  CU_ASSERT_EQUAL(layers.optimizer, 9 * US);
  import_kineto_layers_clear(&layers);
}

static void a_profile_of_a_step(void) {
  GError *error = NULL;
  g_autoptr(ImportKinetoSet) set = open_step("Block", &error);
  g_autoptr(ImportKinetoSet) none = open_step("Linear", &error);
  CU_ASSERT_TRUE_FATAL(set != NULL && none != NULL);
  g_autoptr(GString) text = import_kineto_profile(set, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_STRING_EQUAL(text->str, "layer,phase,time_us,flops,bytes,activation_bytes,parameters\n"
                                    "embedding,forward,5.000000,,,,\nembedding,backward,6.000000,,,,\n"
                                    "0,forward,10.000000,,,,\n0,backward,30.000000,,,,\n"
                                    "1,forward,20.000000,,,,\n1,backward,40.000000,,,,\n"
                                    "head,forward,7.000000,,,,\nhead,backward,8.000000,,,,\n");
  HARNESS_FAILS(import_kineto_profile(none, &error) != NULL, error, "no module called");
}

int main(void) {
  return harness_run("import-kineto-layers", (HarnessCase[]){{"layers of a step", layers_of_a_step},
                                                             {"a profile of a step", a_profile_of_a_step},
                                                             {NULL, NULL}});
}
