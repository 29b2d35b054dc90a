/* SPDX-License-Identifier: MIT */
/* The keys of a tuning file: private to this floor. Rows of several architectures may fill one member, each marked with
 * its own; coll-tuning.c keeps those of one. */
#pragma once

#include "coll-tuning.h"
#include "conf-schema.h"

/* Marks are 1 << these; none: of all. */
enum { COLL_VOLTA, COLL_AMPERE, COLL_HOPPER, COLL_BLACKWELL };

extern const ConfSchema coll_tuning_schema; /* of CollTuning */
