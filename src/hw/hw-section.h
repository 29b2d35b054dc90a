/* SPDX-License-Identifier: MIT */
/* One section of a catalogue file into one struct, through a table of fields.
 *
 *   static const BaseField fields[] = {
 *       BASE_ROW(NULL, "raw", BASE_BYTE_RATE, HwLink, raw, .min = 1, .required = TRUE),
 *   };
 *   if (!hw_section_read(text, "ib-ndr400", fields, G_N_ELEMENTS(fields), &link, error)) return FALSE;
 *
 * An empty value is an absent one. Errors: SIM_ERROR_INPUT at the key (at the section for an absent one), with the
 * nearest name for an unknown key. */
#pragma once

#include "base-field.h"

struct ConfText; /* conf-text.h */

/* A mark: it says something about the figures and is none (source, trust, note). */
#define HW_ABOUT 1u

/* `ret` starts zeroed. On error it may be half filled: clear it all the same. */
gboolean hw_section_read(const struct ConfText *text, const char *section, const BaseField *fields, gsize n_fields,
                         gpointer ret, GError **error);
