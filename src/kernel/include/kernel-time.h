/* SPDX-License-Identifier: MIT */
/* How long one operation takes on a device.
 *
 * Matmuls by tiles and waves (kernel-matmul.c), flash attention by blocks of queries (kernel-attention.c), all else by
 * the bytes that it moves, at the share of the bandwidth that kernels of its kind reach, and a floor for each launch.
 * The figures are fitted per GPU to published microbenchmarks by tools/fit-kernels and stand in
 * topologies/catalog/kernels-*.ini; a GPU without measurements takes those of its compute capability, and kernel_basis
 * says so.
 *
 *   SimTime t = kernel_time(gpu, &op);                                           // O(1)
 *   SimTime beside = kernel_time_shared(gpu, &op, kernel_share_beside(gpu, 24, 400e9));
 *
 * Arithmetic runs at the clocks that the power limit leaves in long training; kernel_time_burst is for comparisons with
 * microbenchmarks, which are over before it acts. */
#pragma once

#include "base-quantity.h"
#include "hw-catalog.h"
#include "kernel-op.h"

/* The device must have the dtype (kernel_supports); else a broken contract. */
SimTime kernel_time(const HwGpu *gpu, const KernelOp *op);
SimTime kernel_time_burst(const HwGpu *gpu, const KernelOp *op);

/* What collectives on the same device leave to a kernel: SMs that their CTAs hold, and the share of the device's memory
 * bandwidth that they do not take. {0, 1} is the whole device. */
typedef struct {
  double busy_sms;
  double bandwidth; /* 0 to 1 */
} KernelShare;

/* Never shorter with more busy SMs or less bandwidth. At least one SM and KERNEL_LEAST_BANDWIDTH are always left. */
#define KERNEL_LEAST_BANDWIDTH 0.05
SimTime kernel_time_shared(const HwGpu *gpu, const KernelOp *op, KernelShare share);
/* Beside collectives that hold `channels` CTAs and move `memory_rate` bytes/s to and from device memory. */
KernelShare kernel_share_beside(const HwGpu *gpu, guint32 channels, double memory_rate);
/* Whether it keeps the device busy for most of its time, so that another beside it is in its way: launches are not what
 * it takes long for. */
gboolean kernel_fills(const HwGpu *gpu, const KernelOp *op);
/* Bytes through device memory per byte that a rank sends: memory_rate = bus bandwidth × this, summed over what is under
 * way. */
typedef enum { KERNEL_ALL_GATHER, KERNEL_REDUCE_SCATTER, KERNEL_ALL_REDUCE } KernelBeside;
double kernel_memory_traffic(const HwGpu *gpu, KernelBeside collective);

/* What matmuls that fill the device sustain for long and draw meanwhile, at the clock that the power limit leaves. */
typedef struct {
  double rate;  /* FLOP/s */
  double watts; /* 0: no limit of the board is known */
} KernelDraw;
KernelDraw kernel_power_matmul(const HwGpu *gpu, KernelDtype dtype);

gboolean kernel_supports(const HwGpu *gpu, KernelDtype dtype);
/* Data-sheet dense FLOP/s, what MFU divides by. */
double kernel_peak(const HwGpu *gpu, KernelDtype dtype);

/* The form of one of the flash kernels on it; where it has not that one, of the other. Usual are FlashAttention-2 up to
 * Hopper and cuDNN's from data-centre Blackwell on; the first FlashAttention goes by FlashAttention-2's form. */
#define KERNEL_FLASH_3_SINCE 100 /* compute capability */
const HwAttention *kernel_attention_form(const HwGpu *gpu, KernelFlash flash);

/* Whether the operation's time rests on measurements of this very GPU. */
gboolean kernel_is_measured(const HwGpu *gpu, const KernelOp *op);
/* For people: which kinds are measured on it ("matmuls, attention", "none"), and the same as a sentence. Caller
 * frees. */
char *kernel_measured(const HwGpu *gpu);
char *kernel_basis(const HwGpu *gpu);
