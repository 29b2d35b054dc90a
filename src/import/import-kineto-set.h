/* SPDX-License-Identifier: MIT */
/* Files of ranks, read and in order. Private to this floor. */
#pragma once

#include "import-kineto-program.h"
#include "import-kineto-read.h"

/* What one rank's host issues, and when: see import-kineto-issue.h. */
typedef struct {
  GArray *issues; /* ImportKinetoIssue */
  BaseSpan window;
  SimTime late; /* after the first rank, on one clock */
  ImportKineto measured;
} ImportKinetoStep;

struct ImportKinetoSet {
  GPtrArray *traces; /* ImportKinetoTrace */
  GArray *steps;     /* ImportKinetoStep, of the same places */
  char *name;        /* of the first path */
};

/* Of SimTime, to sort by. */
gint import_kineto_by_time(gconstpointer a, gconstpointer b);
