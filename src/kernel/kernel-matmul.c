/* SPDX-License-Identifier: MIT */
/* A matmul, by tiles and waves.
 *
 *   C[m,n] is cut into tiles of tm × tn, k perhaps into s parts; each tile is one SM's work of 2 tm tn (k/s + fill)
 *   FLOP. tiles / free SMs = waves; a last wave that is not full costs as `quantum` says (1: as a full one; 0: as its
 *   share, as persistent kernels come near to).
 *
 *        n ──►                            arithmetic = waves × tile's work / SM's rate [+ adding up s parts]
 *     m ┌────┬────┬──┐                    traffic    = bytes / streaming rate
 *     │ │    │    │▒▒│  ▒ wasted          time       = floor + longer + serial × shorter
 *     ▼ ├────┼────┼──┤
 *       │▒▒▒▒│▒▒▒▒│▒▒│                    the best of a few tile shapes and splits, as cuBLAS's heuristics choose
 *       └────┴────┴──┘
 *
 * Smaller tiles waste less at the edges and fill more SMs, but run slower (half, quarter): they use more of the shared
 * memory's bandwidth per FLOP. */
#include <math.h>

#include "kernel-device.h"

#define PART_BYTES     8.0   /* an fp32 part of C written and read once */
#define SHORTEST_SPLIT 256.0 /* k of a part */
#define SPLITS_MOST    8

typedef struct {
  double m, n, rate;
} Tile;

#define TILES 8
static void find_tiles(const HwMatmul *form, Tile tiles[TILES]) {
  double m = (double)form->tile_m, n = (double)form->tile_n, half = form->half, quarter = form->quarter;
  const Tile shapes[TILES] = {
      {m, n, 1},        {n, m, 1},        {m / 2, n, half},        {m, n / 2, half},
      {n / 2, m, half}, {n, m / 2, half}, {m / 2, n / 2, quarter}, {m / 2, n / 4, quarter * quarter}};
  for (int i = 0; i < TILES; i++)
    tiles[i] = shapes[i];
}

static double waves_felt(double waves, double quantum) {
  return MAX(1, (1 - quantum) * waves + quantum * ceil(waves));
}

static double pass_rate(const HwMatmul *form, KernelPass pass) {
  return pass == KERNEL_DGRAD ? form->dgrad : pass == KERNEL_WGRAD ? form->wgrad : 1;
}

static double arithmetic(const HwMatmul *form, const KernelDevice *device, const KernelOp *op, double bandwidth) {
  double batch = (double)op->batch, m = (double)op->m, n = (double)op->n, k = (double)op->k;
  double per_sm = MIN(form->rate * device->rate, device->peak) / device->sms * pass_rate(form, op->pass);
  if (!device->burst)
    per_sm *= kernel_power_rate(device->gpu, form->sustained, 1);
  Tile tiles[TILES];
  find_tiles(form, tiles);
  double best = INFINITY;
  for (int i = 0; i < TILES; i++) {
    double count = batch * ceil(m / tiles[i].m) * ceil(n / tiles[i].n) / device->free_sms;
    double work = 2 * tiles[i].m * tiles[i].n / (per_sm * tiles[i].rate);
    for (int split = 1; split <= SPLITS_MOST && (split == 1 || k / split >= SHORTEST_SPLIT); split *= 2) {
      double time = waves_felt(count * split, form->quantum) * work * (k / split + form->fill);
      if (split > 1)
        time += form->split * PART_BYTES * batch * m * n * split / bandwidth;
      best = MIN(best, time);
    }
  }
  return best;
}

double kernel_matmul_seconds(const HwMatmul *form, const KernelDevice *device, const KernelOp *op) {
  double bandwidth = form->bandwidth * device->bandwidth, traffic = (double)op->bytes / bandwidth;
  double work = arithmetic(form, device, op, bandwidth);
  return sim_time_to_seconds(form->floor) + MAX(work, traffic) + form->serial * MIN(work, traffic);
}
