/* SPDX-License-Identifier: MIT */
/* How a tool's table writes its rows, and the reasons that tools share: private to this floor, for the files with a
 * table. */
#pragma once

#include "recipe-map.h"

#define TAKE(path, setting, convert, remark)                                                                           \
  { path, RECIPE_TAKE, setting, convert, NULL, remark }
#define SAFE(path, remark)                                                                                             \
  { path, RECIPE_SAFE, NULL, NULL, NULL, remark }
#define REFUSE(path, unless, remark)                                                                                   \
  { path, RECIPE_REFUSE, NULL, NULL, unless, remark }

#define LOGGING  "logging"
#define LOADING  "loading and saving, between steps"
#define LEARNING "what is learnt, not how long a step takes"
#define DATA     "of the data, which is taken to be there in time"
#define EVAL     "of evaluation, between steps"
