/* The catalogue: what GPUs, links and platforms are, from topologies/catalog/{gpus,links,platforms}.ini of the first
 * data folder that has the file. Every section carries `source` (where its figures come from) and `trust` (measured,
 * published, derived, recalled); a section without them is refused, and so is a sustained rate above the vendor's
 * figure.
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

typedef struct {
  char *name;
  char *architecture;                                                    /* volta, ampere, ada, hopper, blackwell */
  guint64 compute_capability;                                            /* 70, 80, 90, 100 … */
  double peak_bf16, peak_fp16, peak_fp8, peak_tf32, peak_fp32;           /* data sheet, dense; 0: not in hardware */
  double matmul_bf16, matmul_fp16, matmul_fp8, matmul_tf32, matmul_fp32; /* sustained in large matmuls; 0 as above */
  double memory_bandwidth;                                               /* data sheet */
  double memory_bandwidth_sustained;                                     /* streaming kernels */
  SimTime kernel_floor;                                                  /* the least a kernel takes on the device */
  guint64 memory_nominal;                                                /* what the vendor sells, bytes */
  guint64 memory_usable;                                                 /* what torch reports as total_memory, bytes */
  guint64 context_bytes;   /* CUDA context and loaded kernels, outside the allocator */
  guint64 workspace_bytes; /* cuBLAS workspaces, per handle and stream */
  guint64 sms;
  guint64 l2_bytes;
  char *source, *note;
  int trust;
} HwGpu;

typedef enum { HW_LINK_NVSWITCH, HW_LINK_NVLINK, HW_LINK_PCIE, HW_LINK_NETWORK, HW_LINK_HOST } HwLinkScope;
extern const char *const hw_link_scope_names[]; /* "nvswitch", "nvlink", "pcie", "network", "host" */

typedef struct {
  char *name;
  int scope;         /* HwLinkScope */
  double raw;        /* per direction and device */
  double achievable; /* what a long NCCL transfer gets of it, per direction and device */
  char *source, *note;
  int trust;
} HwLink;

/* How a platform launches and sends: the floors under every collective. */
typedef struct {
  char *name;             /* infiniband, roce, efa, tcpx, tcpxo, sockets */
  SimTime nic_latency;    /* NCCL's per-NIC latency attribute, by which it chooses */
  SimTime hop_latency;    /* what a network hop really takes beyond NCCL's own latency of one */
  SimTime launch_floor;   /* the least that a collective takes, from its launch to its end */
  SimTime launch_per_gpu; /* what one thread needs to launch it on each further GPU that it drives */
  SimTime graph_floor;    /* the least from one collective to the next in a CUDA graph */
  int gdr;                /* 1: its NICs read and write GPU memory themselves (GPUDirect RDMA) */
  char *source, *note;
  int trust;
} HwPlatform;

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
/* Names in file order, NULL-terminated, borrowed. */
const char *const *hw_catalog_gpu_names(const HwCatalog *catalog);
const char *const *hw_catalog_link_names(const HwCatalog *catalog);
const char *const *hw_catalog_platform_names(const HwCatalog *catalog);
/* Visits every figure of the sections that were asked for so far ("gpu.h100-sxm5-80gb.memory_bandwidth", canonical
 * value): the catalogue values a run key hashes. Sections in file order, GPUs before links before platforms; a figure
 * that the part lacks is visited as 0; source, trust and note are not. */
typedef void (*HwCatalogVisit)(const char *name, const char *value, gpointer user);
void hw_catalog_visit_used(const HwCatalog *catalog, HwCatalogVisit visit, gpointer user);
