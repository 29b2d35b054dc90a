/* SPDX-License-Identifier: MIT */
/* The host of a rank: where in the Program it stands, what it has paid, and what it waits for. Private to this
 * floor. */
#pragma once

#include "event-queue.h"
#include "run-step.h"

typedef struct {
  Event event;       /* the end of a row's host time */
  RunStep *step;     /* that it is in */
  guint32 row;       /* that it stands before */
  gboolean paid;     /* its host time has passed */
  gboolean queued;   /* among RunPlay.hosts */
  gboolean waits;    /* for all streams, to give the cache back */
  gboolean gave_way; /* to hosts that end their step at the same instant */
  SimTime waits_since;
} RunHost;

void run_hosts_init(RunPlay *play);
void run_host_init(RunRank *rank);
void run_host_resume(RunRank *rank);
/* After each event: hosts that it woke. */
void run_hosts_due(RunPlay *play);
