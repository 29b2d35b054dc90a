/* SPDX-License-Identifier: MIT */
/* Words of trace files: names inside lists, fields of a line. For this floor alone.
 *
 *   program_text_word("optimizer states", text);      // optimizer%20states
 *   program_text_unword(word);                         // and back, in place
 *
 * Fields are those of RFC 4180 on one line: in quotes where they hold a comma or a quote, which is then doubled. */
#pragma once

#include <glib.h>

/* Appends a name with all that a list, a head's key or a ranking would take for its own written as %XX. */
void program_text_word(const char *name, GString *text);
/* FALSE: an escape that is none. */
gboolean program_text_unword(char *word);

void program_text_field(const char *value, GString *text);
/* Cuts a line in place into at most `most` fields. The number found, which may be more; -1: a quote that does not
 * end. */
gint program_text_split(char *line, char **ret_fields, guint most);
