/* SPDX-License-Identifier: MIT */
/* Devices of NCCL's XML: GPUs, NICs and the links above them. Private to import-nccl-topology.
 *
 *   if (!import_nccl_gpu(&reader, pci, parent, error)) …       // <pci><gpu/></pci>, or a pci of class display
 *   if (!import_nccl_nic(&reader, nic, pci, parent, error)) …  // every <net> is one */
#pragma once

#include "import-ids.h"
#include "import-machine.h"
#include "import-xml.h"

typedef struct {
  const char *path;
  ImportMachine *machine;
  ImportIds *ids;
  GHashTable *places; /* busid → place of its GPU, plus one; looked up, never walked */
  GPtrArray *cards;   /* guids in order of appearance */
  guint slow_links;   /* links without a speed */
} ImportNcclReader;

/* Lanes and counts, of the element and all below it. */
gboolean import_nccl_check(const ImportNcclReader *reader, const ImportXml *element, GError **error);
gboolean import_nccl_refuse_amd(const ImportNcclReader *reader, const ImportXml *pci, GError **error);
/* "gen4x16" of a pci element to what is above it. Caller frees. */
char *import_nccl_link(ImportNcclReader *reader, const ImportXml *element);
gboolean import_nccl_gpu(ImportNcclReader *reader, const ImportXml *pci, guint parent, GError **error);
/* `nic` NULL: a pci of class network without one. `pci` NULL: a nic straight under a cpu. */
gboolean import_nccl_nic(ImportNcclReader *reader, const ImportXml *nic, const ImportXml *pci, guint parent,
                         GError **error);
