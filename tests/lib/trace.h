/* SPDX-License-Identifier: MIT */
/* Traces for tests: small ones as text, replayed through a file. */
#pragma once

#include "study-trace.h"
#include "twins.h"

#define COLUMNS                                                                                                        \
  "role,step,task,stream,kind,name,layer,phase,micro,duration_ps,host_ps,shape,dtype,flops,bytes,collective,group,"    \
  "needs,takes,gives,hint\n"

RunReport *replay(const char *text, const char *const *sets, StudyReplay how, GError **error);

/* Two ranks, one role: the host pays 10 us for f and 1 us for g, f runs 3 us and g 5 us. */
extern const char plain[];

extern const char *const two_gpus[];

char *edited(const char *text, const char *from, const char *to);

/* Two roles that meet in two communicators. */
extern const char pair[];
