/* One section of a catalogue file into one struct, through a table of fields.
 *
 *   static const HwField fields[] = {
 *       {"raw", HW_FIELD_BYTE_RATE, G_STRUCT_OFFSET(HwLink, raw), .required = TRUE},
 *   };
 *   if (!hw_section_read(text, "ib-ndr400", fields, G_N_ELEMENTS(fields), &link, error)) return FALSE;
 *
 * Numbers must be more than zero. Errors: SIM_ERROR_INPUT at the key (at the section for an absent one), with the
 * nearest name for an unknown key. */
#pragma once

#include <glib.h>

struct ConfText; /* conf-text.h */

typedef enum {
  HW_FIELD_TEXT,      /* char *, owned by the struct */
  HW_FIELD_NAME,      /* int: index into `names` */
  HW_FIELD_COUNT,     /* guint64 */
  HW_FIELD_BYTES,     /* guint64, from a size with its unit */
  HW_FIELD_BYTE_RATE, /* double, bytes/s */
  HW_FIELD_FLOP_RATE, /* double, FLOP/s */
  HW_FIELD_TIME,      /* SimTime; zero is taken */
  HW_FIELD_NUMBER,    /* double without a unit; zero is taken */
} HwFieldKind;

typedef struct {
  const char *key;
  HwFieldKind kind;
  gsize offset;
  gboolean required;
  const char *const *names; /* HW_FIELD_NAME */
  gboolean about;           /* says something about the figures and is none: source, trust, note */
} HwField;

/* `ret` starts zeroed. On error it may be half filled: clear it all the same. */
gboolean hw_section_read(const struct ConfText *text, const char *section, const HwField *fields, gsize n_fields,
                         gpointer ret, GError **error);
/* Frees the texts. */
void hw_section_clear(const HwField *fields, gsize n_fields, gpointer object);
/* Canonical text of a field. Caller frees. */
char *hw_section_canonical(const HwField *field, gconstpointer object);
