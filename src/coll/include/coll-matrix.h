/* SPDX-License-Identifier: MIT */
/* The tuner's whole matrix, as NCCL prints it at INFO level under TUNING: latency in us and bandwidth in GB/s of every
 * call, algorithm and protocol; then what the search found.
 *
 *   coll_matrix_print(group, text);              // appends
 *
 * A bandwidth of 0 cannot be had here, whatever the latency beside it says. */
#pragma once

#include "coll-group.h"

void coll_matrix_print(const CollGroup *group, GString *text);
/* What the tuner promises a call of each algorithm and protocol that it may take, and what the pipeline takes; the one
 * taken is marked. Connects what it plans. Appends. */
void coll_matrix_print_call(CollGroup *group, const CollCall *call, GString *text);
