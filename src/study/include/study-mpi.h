/* SPDX-License-Identifier: MIT */
/* A batch over the processes of an MPI job: one hands out points and takes delivery, all of them play.
 *
 *   process 0:  next ─► hand out ─┬─► its own threads: play ─┐
 *                                 ├─► process 1: play ───────┼─► deliver 0, deliver 1, …
 *                                 └─► process 2: play ───────┘
 *
 *   StudyMpi mpi;
 *   if (!study_mpi_begin(&mpi, error)) return FALSE;
 *   if (mpi.size > 1) good = study_mpi_batch_run(&mpi, &batch, &stopped, error);
 *   study_mpi_end(&mpi);
 *
 * Each process gets a new point when it returns one, so fast ones play more; what is delivered, and in which order, is
 * the same as in one process. All must be the same build on machines of one kind. Without the feature `mpi` of the
 * build, a job of several processes is refused. */
#pragma once

#include "study-batch.h"

typedef struct StudyMpi {
  guint rank, size; /* size 1: alone */
} StudyMpi;

/* Joins the job that a launcher has started; where none has, MPI is not touched. Errors: SIM_ERROR_INPUT: this build
 * has no MPI. */
gboolean study_mpi_begin(StudyMpi *ret, GError **error);
/* Waits for all processes to come to it. */
void study_mpi_end(const StudyMpi *mpi);
/* On all processes, before anything that only works if all have come so far: whether `go` holds on each. Where it does
 * not on another, that is the error; of errors that the first process has too, the others' are dropped, so that each is
 * said once. */
gboolean study_mpi_agree(const StudyMpi *mpi, gboolean go, GError **error);
/* On all processes, with the same batch: `next`, `deliver` and the database are process 0's; the others need `again`
 * and return when there are no more points. */
gboolean study_mpi_batch_run(const StudyMpi *mpi, const StudyBatch *batch, gboolean *ret_stopped, GError **error);
