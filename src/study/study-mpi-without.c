/* SPDX-License-Identifier: MIT */
/* A build without MPI: alone, and it says so to a launcher that started several. */
#include "base-error.h"
#include "study-mpi.h"

/* As Open MPI's and MPICH's launchers tell each process. */
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

gboolean study_mpi_begin(StudyMpi *ret, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
    const char *size = g_getenv(sizes[i]);
    if (size == NULL || g_ascii_strtoull(size, NULL, 10) < 2)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "started by mpirun as one of %s processes, and this build has no MPI: build it with -Dmpi=enabled, or "
                "share the sweep by --shard I/N and foretrain merge",
                size);
    return FALSE;
  }
  *ret = (StudyMpi){.size = 1};
  return TRUE;
}

void study_mpi_end(const StudyMpi *mpi) {
  (void)mpi;
}

gboolean study_mpi_agree(const StudyMpi *mpi, gboolean go, GError **error) {
  (void)mpi, (void)error;
  return go;
}

gboolean study_mpi_batch_run(const StudyMpi *mpi, const StudyBatch *batch, gboolean *ret_stopped, GError **error) {
  sim_require(mpi->size == 1, 0, NULL, "%u processes without MPI", mpi->size);
  return study_batch_run(batch, ret_stopped, error);
}
