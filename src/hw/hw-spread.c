/* SPDX-License-Identifier: MIT */
/* The largest of n normal draws is expected at e(n) standard deviations: e(n) = n integral x phi(x) Phi(x)^(n-1) dx,
 * integrated numerically (Simpson, -9 to 9); e(8) = 1.42360 as in tables of normal order statistics (Harter 1961). */
#include "hw-spread.h"

typedef struct {
  guint32 n;
  double deviations;
} Expected;

static const Expected expected[] = {{1, 0},
                                    {2, 0.56419},
                                    {3, 0.84628},
                                    {4, 1.02938},
                                    {6, 1.26721},
                                    {8, 1.42360},
                                    {12, 1.62923},
                                    {16, 1.76599},
                                    {24, 1.94767},
                                    {32, 2.06967},
                                    {48, 2.23312},
                                    {64, 2.34373},
                                    {96, 2.49297},
                                    {128, 2.59460},
                                    {256, 2.82686},
                                    {512, 3.04390},
                                    {1024, 3.24824},
                                    {2048, 3.44180},
                                    {4096, 3.62608},
                                    {8192, 3.80228},
                                    {16384, 3.97135},
                                    {32768, 4.13408},
                                    {65536, 4.29113},
                                    {131072, 4.44304},
                                    {262144, 4.59028},
                                    {524288, 4.73325},
                                    {1048576, 4.87229}};

/* Straight between the knots: no more than 0.035 deviations below. */
static double slowest_of(guint32 n) {
  gsize i = 0;
  while (i + 1 < G_N_ELEMENTS(expected) && expected[i + 1].n <= n)
    i++;
  if (i + 1 == G_N_ELEMENTS(expected))
    return expected[i].deviations;
  double way = (double)(n - expected[i].n) / (double)(expected[i + 1].n - expected[i].n);
  return expected[i].deviations + way * (expected[i + 1].deviations - expected[i].deviations);
}

/* Of a node of eight the fastest is as far ahead as the slowest is behind. */
double hw_spread_slowest(double spread, guint32 gpus) {
  return spread / (2 * slowest_of(8)) * slowest_of(gpus);
}
