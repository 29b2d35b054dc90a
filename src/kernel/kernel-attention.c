/* SPDX-License-Identifier: MIT */
/* Flash attention: one kernel, a block of queries at a time against all the keys it may see.
 *
 *        keys ──►
 *   q  ┌──┬──┬──┬──┐        causal: a block of queries sees the keys up to its own end: half of them and half a block
 *   u  │▒▒│  │  │  │        on average, for the block on the diagonal is computed in full.
 *   e  ├──┼──┼──┼──┤
 *   r  │▒▒│▒▒│  │  │        work of a block = 2 matmuls of block × (keys + fill) × head dimension; backward five
 *   i  ├──┼──┼──┼──┤        time = floor + max(all blocks spread over the free SMs, the longest block, traffic)
 *   e  │▒▒│▒▒│▒▒│  │
 *   s  └──┴──┴──┴──┘        (the longest block bounds short batches with few heads: some SMs have nothing to do)
 *
 * Backward: five matmuls for forward's two, since it computes the scores again (Dao 2022, arXiv 2205.14135); row sums
 * before them and the conversion of d_q after them are kernels of their own, so that traffic adds to it. The rate falls
 * for narrow heads: exponentials and the moves around them weigh more against fewer FLOP. The first FlashAttention has
 * the same blocks and does the same arithmetic at a lower rate. */
#include <math.h>

#include "kernel-device.h"

#define WIDE_HEAD        128.0
#define NARROW_HEAD      64.0
#define FORWARD_MATMULS  2.0
#define BACKWARD_MATMULS 5.0

/* Straight between the two measured widths, in proportion below, level above. */
static double width_rate(double width, double narrow) {
  if (width >= WIDE_HEAD)
    return 1;
  if (width <= NARROW_HEAD)
    return narrow * width / NARROW_HEAD;
  return narrow + (1 - narrow) * (width - NARROW_HEAD) / (WIDE_HEAD - NARROW_HEAD);
}

double kernel_attention_seconds(const HwAttention *form, const KernelDevice *device, const KernelOp *op) {
  gboolean forward = op->pass == KERNEL_FORWARD;
  double queries = (double)op->m, keys = (double)op->n, width = (double)op->k, block = (double)form->block;
  double fill = forward ? form->fill_forward : form->fill_backward;
  double rate = MIN(device->peak, (forward ? form->forward : form->backward) * device->rate) *
                width_rate(width, forward ? form->narrow_forward : form->narrow_backward);
  if (op->flash == KERNEL_FLASH_1)
    rate *= forward ? form->first_forward : form->first_backward;
  if (!device->burst)
    rate *= kernel_power_rate(device->gpu, form->sustained, forward ? form->forward : form->backward);
  double per_key = (forward ? FORWARD_MATMULS : BACKWARD_MATMULS) * 2 * block * width;
  double blocks = (double)op->batch * ceil(queries / block);
  double seen = op->causal ? MIN(keys, (keys + block) / 2) : keys;
  double spread = blocks * (seen + fill) / device->free_sms;
  double work = MAX(spread, keys + fill) * per_key / (rate / device->sms);
  double traffic = (double)op->bytes / (form->bandwidth * device->bandwidth);
  if (!forward)
    return sim_time_to_seconds(form->floor_backward) + work + traffic;
  return sim_time_to_seconds(form->floor_forward) + MAX(work, traffic);
}
