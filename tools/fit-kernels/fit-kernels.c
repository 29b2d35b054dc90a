/* SPDX-License-Identifier: MIT */
/* Fits the kernel forms to the table of measurements and prints a catalogue file.
 *
 *   build/tools/fit-kernels matmul tests/truth/kernels.csv > topologies/catalog/kernels-matmul.ini
 *   build/tools/fit-kernels attention … > kernels-attention.ini;  build/tools/fit-kernels memory … > kernels-memory.ini
 *
 * It runs the model itself (kernel_time), so that what is fitted is what is used. Two rows of three are fitted, by a
 * pattern search on the mean absolute logarithm of predicted over measured; the third is held out, and both residuals
 * go into the section's note. A GPU with few rows takes its architecture's figures and its own rate. */
#include <stdio.h>

#include "base-names.h"
#include "fit.h"

int main(int argc, char **argv) {
  static void (*const prints[])(void) = {fit_print_matmuls, fit_print_attentions, fit_print_memories};
  static const char *const names[] = {"matmul", "attention", "memory", NULL};
  int kind = argc == 3 ? base_names_find(names, argv[1]) : -1;
  if (kind < 0) {
    fputs("usage: fit-kernels matmul|attention|memory TABLE\n", stderr);
    return 2;
  }
  fit_catalog = hw_catalog_load(NULL);
  fit_table = kernel_table_load(argv[2]);
  prints[kind]();
  g_array_unref(fit_table);
  hw_catalog_free(fit_catalog);
  return 0;
}
