/* SPDX-License-Identifier: MIT */
/* The catalogue: what GPUs, links and platforms are, from
 * topologies/catalog/{gpus,links,platforms,hosts,kernels-*,contention,variation,power}.ini of the first data folder
 * that has the file. Every section carries `source` (where its figures come from) and `trust` (measured, published,
 * derived, recalled); a section without them is refused, and so is a sustained rate above the vendor's figure.
 *
 *   g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
 *   const HwGpu *gpu = hw_catalog_gpu(catalog, "h100-sxm5-80gb", &place, error);   // an unknown name: the nearest
 *
 * Rates in FLOP/s (dense) and bytes/s per direction, sizes in bytes, times in SimTime. 0 means "the part has none", and
 * is documented per field. A catalogue notes what was asked of it, so each thread loads its own. */
#pragma once

#include <glib.h>

#include "base-error.h"

typedef enum { HW_TRUST_MEASURED, HW_TRUST_PUBLISHED, HW_TRUST_DERIVED, HW_TRUST_RECALLED } HwTrust;
extern const char *const hw_trust_names[];

/* How a GPU's kernels run: forms fitted to measurements, their figures relative to the GPU's rates, so that a GPU
 * without measurements takes those of its compute capability. kernel/kernel-matmul.h and its neighbours say what each
 * does. */
typedef struct {
  char *name;             /* "h100-sxm5-80gb.16bit"; "sm90.16bit": shared by a compute capability */
  guint64 tile_m, tile_n; /* the largest tile */
  double rate;            /* share of the GPU's matmul rate that full waves of it reach */
  double half, quarter;   /* rate of tiles of half and quarter size, of the largest's */
  double fill;            /* a tile's start and end, as length of k */
  double quantum;         /* share of a last wave's idle SMs that is lost */
  double split;           /* traffic of splitting k, of writing and reading fp32 parts once */
  double bandwidth;       /* share of the sustained bandwidth that operands stream at */
  double serial;          /* share of the shorter of arithmetic and traffic that the longer does not hide */
  SimTime floor;
  double dgrad, wgrad; /* rate of the backward matmuls, of forward's */
  double sustained;    /* rate that the power limit leaves for long, of a short burst's */
  char *source, *note;
  int trust;
} HwMatmul;

typedef struct {
  char *name;                             /* "h100-sxm5-80gb.flash2" */
  guint64 block;                          /* queries of a block */
  double forward, backward;               /* share of the GPU's matmul rate, head dimension 128 */
  double narrow_forward, narrow_backward; /* rate at head dimension 64, of that at 128 */
  double fill_forward, fill_backward;     /* a block's start and end, as keys */
  double first_forward, first_backward;   /* rate of the first FlashAttention, of this one's */
  double bandwidth;                       /* share of the sustained bandwidth */
  SimTime floor_forward, floor_backward;
  double sustained; /* as in HwMatmul */
  char *source, *note;
  int trust;
} HwAttention;

/* Shares of the sustained bandwidth, by kind of kernel, on a GPU whose memory sustains `bandwidth` (byte/s). */
typedef struct {
  char *name; /* "h100-sxm5-80gb.memory" */
  double bandwidth;
  double stream, norm_forward, norm_backward, rotary, softmax_forward, softmax_backward, loss_forward, loss_backward,
      gather, optimizer, reduction;
  char *source, *note;
  int trust;
} HwMemory;

/* What collectives take from a device: bytes through its memory per byte on the bus, by operation. */
typedef struct {
  char *name;
  double all_gather, reduce_scatter, all_reduce;
  double beside_compute; /* how much longer a collective inside a node moves where kernels run beside it */
  double saturating;     /* share of the SMs that streaming kernels need for all of the bandwidth */
  char *source, *note;
  int trust;
} HwContention;

/* How much GPUs of one kind differ. */
typedef struct {
  char *name;
  double spread; /* of kernel times, slowest less fastest of a node of eight */
  char *source, *note;
  int trust;
} HwVariation;

/* What boards draw beside what their SMs' clock moves, and how voltage falls with it. */
typedef struct {
  char *name;
  double fixed;        /* share of the limit */
  double rest_voltage; /* of that at the boost clock */
  char *source, *note;
  int trust;
} HwPower;

typedef enum { HW_MATMUL_FP32, HW_MATMUL_16BIT, HW_MATMUL_FP8, HW_MATMUL_DTYPES } HwMatmulDtype;
typedef enum { HW_FLASH_2, HW_FLASH_3, HW_FLASHES } HwFlash; /* FlashAttention-2; -3 or cuDNN's for newer GPUs */

typedef struct {
  char *name;
  char *architecture;                                          /* volta, ampere, ada, hopper, blackwell */
  guint64 compute_capability;                                  /* 70, 80, 90, 100 … */
  double peak_bf16, peak_fp16, peak_fp8, peak_tf32, peak_fp32; /* data sheet, dense; 0: not in hardware */
  double matmul_bf16, matmul_fp16, matmul_fp8, matmul_tf32,
      matmul_fp32;                   /* in large matmuls, before the power limit acts; 0 as above */
  double memory_bandwidth;           /* data sheet */
  double memory_bandwidth_sustained; /* streaming kernels */
  double power_limit;                /* of the board, watts; 0: not known */
  double power_measured;             /* limit at which its kernels' `sustained` was measured; 0: power_limit */
  SimTime kernel_floor;              /* the least a kernel takes on the device */
  guint64 memory_nominal;            /* what the vendor sells, bytes */
  guint64 memory_usable;             /* what torch reports as total_memory, bytes */
  guint64 context_bytes;             /* CUDA context and loaded kernels, outside the allocator */
  guint64 workspace_bytes;           /* cuBLAS workspaces, per handle and stream */
  guint64 sms;
  guint64 l2_bytes;
  char *source, *note;
  int trust;
  /* Borrowed from the catalogue. */
  const HwMatmul *matmul[HW_MATMUL_DTYPES]; /* NULL: the part lacks the dtype */
  const HwAttention *attention[HW_FLASHES]; /* one of them may be NULL */
  const HwMemory *memory;
  const HwContention *contention;
  const HwVariation *variation;
  const HwPower *power;
} HwGpu;

typedef enum { HW_LINK_NVSWITCH, HW_LINK_NVLINK, HW_LINK_PCIE, HW_LINK_NETWORK, HW_LINK_HOST } HwLinkScope;
extern const char *const hw_link_scope_names[]; /* "nvswitch", "nvlink", "pcie", "network", "host" */

typedef struct {
  char *name;
  int scope;         /* HwLinkScope */
  double raw;        /* per direction and device */
  double achievable; /* what a long NCCL transfer gets of it, per direction and device */
  double pageable;   /* host links: what copies from host memory that is not page-locked get; 0: not stated */
  double managed;    /* host links: managed memory that the driver moves in as it moves as much out; 0: not stated */
  char *source, *note;
  int trust;
} HwLink;

typedef enum { HW_TESTS_THREADS, HW_TESTS_PROCESSES } HwTests;

/* How a platform launches and sends: the floors under every collective. */
typedef struct {
  char *name;             /* infiniband, roce, slingshot, efa, tcpx, tcpxo, sockets */
  SimTime nic_latency;    /* NCCL's per-NIC latency attribute, by which it chooses */
  SimTime hop_latency;    /* what a network hop really takes beyond NCCL's own latency of one */
  SimTime launch_floor;   /* the least that a collective takes, from its launch to its end */
  SimTime launch_per_gpu; /* what one thread needs to launch it on each further GPU that it drives */
  SimTime graph_floor;    /* the least from one collective to the next in a CUDA graph */
  SimTime peer;           /* of grouped sends and receives, what the proxy takes for each further peer; 0: NCCL's own */
  SimTime short_peer;     /* the same where less than `short_bytes` go to each; 0: as `peer` */
  guint64 short_bytes;
  guint64 nvls_chunk, nvls_tree_chunk; /* what its plugin sets NCCL_NVLS_CHUNKSIZE, NVLSTREE_MAX_CHUNKSIZE to; 0: not */
  int gdr;                             /* 1: its NICs read and write GPU memory themselves (GPUDirect RDMA) */
  int nccl_tests; /* HW_TESTS_THREADS: one process for the GPUs of a node; HW_TESTS_PROCESSES: one for each */
  char *source, *note;
  int trust;
} HwPlatform;

/* What the thread that issues work pays, by CPU. */
typedef struct HwHost {
  char *name;                              /* a CPU: intel-spr, amd-rome … */
  SimTime forward_kernel, backward_kernel; /* dispatch and launch of one kernel of an eager operation */
  SimTime matmul;                          /* the same of a linear layer's matmul */
  SimTime layer_function;                  /* what a framework's own linear layer adds to it, once per direction */
  SimTime checkpoint;                      /* one region that runs again in backward */
  SimTime compiled_kernel;                 /* one kernel of a compiled graph */
  SimTime collective;                      /* issue of one */
  SimTime check;                           /* what c10d's check of one takes first, where that is on */
  SimTime checked_rank, checked_rank_far;  /* and each member adds to it; over nodes */
  SimTime fsdp_unit, deepspeed_module;     /* hooks, once per direction */
  SimTime gradient_hook;                   /* per parameter */
  SimTime optimizer_step, optimizer_tensor;
  SimTime copy;                       /* one of many in a loop without autograd */
  SimTime listed_rank;                /* what each member adds to a collective over lists of tensors */
  SimTime micro_batch;                /* the training loop around one */
  SimTime segment_take, segment_give; /* one call of the device's allocator: cudaMalloc, cudaFree */
  char *source, *note;
  int trust;
} HwHost;

typedef struct HwCatalog HwCatalog;

/* Errors: SIM_ERROR_INPUT at the file, line and key at fault. Cost: the size of the files, some ms. */
HwCatalog *hw_catalog_load(GError **error);
void hw_catalog_free(HwCatalog *catalog);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HwCatalog, hw_catalog_free)

/* Borrowed from the catalogue. Unknown: SIM_ERROR_INPUT at `place` (may be NULL) with the nearest name; an AMD GPU is
 * refused by name. Any case. */
const HwGpu *hw_catalog_gpu(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error);
const HwLink *hw_catalog_link(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error);
const HwPlatform *hw_catalog_platform(const HwCatalog *catalog, const char *name, const BasePlace *place,
                                      GError **error);
const HwHost *hw_catalog_host(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error);
/* Names in file order, NULL-terminated, borrowed. */
const char *const *hw_catalog_gpu_names(const HwCatalog *catalog);
const char *const *hw_catalog_link_names(const HwCatalog *catalog);
const char *const *hw_catalog_platform_names(const HwCatalog *catalog);
/* Visits every figure of the sections that were asked for so far ("gpu.h100-sxm5-80gb.memory_bandwidth", canonical
 * value): the catalogue values a run key hashes. Sections in file order, GPUs before links, platforms, hosts and
 * kernels; a figure that the part lacks is visited as 0; source, trust and note are not. */
typedef void (*HwCatalogVisit)(const char *name, const char *value, gpointer user);
void hw_catalog_visit_used(const HwCatalog *catalog, HwCatalogVisit visit, gpointer user);
/* As if nothing had been asked for yet: for who builds several clusters from one catalogue. */
void hw_catalog_forget_used(HwCatalog *catalog);
