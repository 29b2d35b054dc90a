/* SPDX-License-Identifier: MIT */
/* The matrix of "nvidia-smi topo -m" as it is printed. Private to import-smi-topo.
 *
 *   g_autoptr(ImportMatrix) matrix = import_matrix_load("topo.txt", error);
 *   import_matrix_cell(matrix, 0, 1)->relation       // IMPORT_REL_NVLINK, of so many links */
#pragma once

#include "base-error.h"

/* From near to far; NVLink says nothing of PCI. */
typedef enum {
  IMPORT_REL_SELF,
  IMPORT_REL_NVLINK,
  IMPORT_REL_PIX,
  IMPORT_REL_PXB,
  IMPORT_REL_PHB,
  IMPORT_REL_NODE,
  IMPORT_REL_SYS
} ImportRelation;

typedef struct {
  guint links; /* of NV# */
  ImportRelation relation;
} ImportMatrixCell;

typedef struct {
  char *name;
  gboolean gpu;
  char *cpus; /* "0-31,64-95"; NULL: not said */
  int numa;   /* -1: not said */
  guint line;
} ImportMatrixDevice;

typedef struct {
  char *path;
  GArray *devices;         /* ImportMatrixDevice, in order of the columns */
  ImportMatrixCell *cells; /* [devices × devices], symmetric */
} ImportMatrix;

/* Errors: SIM_ERROR_INPUT at the line. */
ImportMatrix *import_matrix_load(const char *path, GError **error);
void import_matrix_free(ImportMatrix *matrix);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportMatrix, import_matrix_free)

static inline ImportMatrixDevice *import_matrix_device(const ImportMatrix *matrix, guint i) {
  return &g_array_index(matrix->devices, ImportMatrixDevice, i);
}
static inline const ImportMatrixCell *import_matrix_cell(const ImportMatrix *matrix, guint a, guint b) {
  return &matrix->cells[a * matrix->devices->len + b];
}
