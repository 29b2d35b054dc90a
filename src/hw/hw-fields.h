/* SPDX-License-Identifier: MIT */
/* The kinds of catalogue entries: the file of each, the fields of its sections, the size of its struct. For this floor
 * alone. */
#pragma once

#include "hw-section.h"

typedef enum {
  HW_GPUS,
  HW_LINKS,
  HW_PLATFORMS,
  HW_HOSTS,
  HW_MATMULS,
  HW_ATTENTIONS,
  HW_MEMORIES,
  HW_CONTENTIONS,
  HW_VARIATIONS,
  HW_POWERS,
  HW_KINDS
} HwKind;

typedef struct {
  const char *file, *singular;
  const BaseField *fields;
  gsize n_fields, size;
} HwKindInfo;
extern const HwKindInfo hw_kinds[HW_KINDS];
