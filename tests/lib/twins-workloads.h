/* SPDX-License-Identifier: MIT */
/* Shipped workloads with and without faults, played folded and rank by rank. */
#pragma once

#include "study.h"
#include "twins.h"

typedef struct {
  const char *workload;
  guint stage;
  const char *sets[12]; /* "group.key=value", NULL-terminated */
  guint32 classes;      /* of ranks, folded */
} TwinsCase;

RunReport *twins_run(const TwinsCase *twin, StudyOptions options);

void twins_check(const TwinsCase *twin);
