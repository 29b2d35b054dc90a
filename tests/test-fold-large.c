/* SPDX-License-Identifier: MIT */
/* Folding against every rank played, on whole models and up to 1 024 GPUs: too long for every day. */
#include "twins-workloads.h"

static void whole_models(void) {
  static const char *const workloads[] = {"llama2-7b", "llama3-8b", "gpt2-xl", "mistral-7b", "llama2-70b", "zero-100b"};
  static const char *const faults[] = {NULL, "cluster.slow_gpus=17: 0.8, 23: 0.9", "cluster.slow_links=nic.3.1: 0.5"};
  static const guint32 classes[] = {1, 3, 1};
  for (gsize w = 0; w < G_N_ELEMENTS(workloads); w++)
    for (guint stage = 0; stage <= 3; stage++)
      for (gsize f = 0; f < G_N_ELEMENTS(faults); f++) {
        const TwinsCase twin = {workloads[w], stage, {"cluster.nodes=4", faults[f], NULL}, classes[f]};
        twins_check(&twin);
      }
}

static void a_thousand_gpus(void) {
  static const TwinsCase cases[] = {
      {"llama2-7b", 3, {"cluster.nodes=128", "model.layers=4", NULL}, 1},
      {"llama2-7b", 0, {"cluster.nodes=128", "model.layers=4", "fabric.oversubscription=4", NULL}, 1},
      {"llama2-7b",
       2,
       {"cluster.nodes=128", "model.layers=4", "fabric.kind=fat-tree", "fabric.oversubscription=4",
        "cluster.slow_links=nic.77.0: 0.2", NULL},
       1},
      {"llama2-70b", 3, {"cluster.nodes=128", "model.layers=4", "cluster.slow_gpus=1000: 0.8", NULL}, 2},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    twins_check(&cases[i]);
}

int main(void) {
  return harness_run(
      "fold-large",
      (HarnessCase[]){{"whole models", whole_models}, {"a thousand GPUs", a_thousand_gpus}, {NULL, NULL}});
}
