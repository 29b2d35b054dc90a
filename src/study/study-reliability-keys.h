/* SPDX-License-Identifier: MIT */
/* The keys of [reliability]: private to this floor. None changes a step, and none has a value unless somebody gives it,
 * so that run keys do not hang on them. */
#pragma once

#include "conf-settings.h"

extern const ConfSchema study_reliability_schema;
