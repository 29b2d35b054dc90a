/* SPDX-License-Identifier: MIT */
/* What files hold does nothing to a terminal, nor to a CI runner that reads along. */
#include "base-display.h"
#include "harness.h"

static void shows(const char *text, const char *wanted) {
  g_autofree char *shown = base_display(text);
  CU_ASSERT_STRING_EQUAL(shown, wanted);
}

static void controls_are_shown(void) {
  shows("a\033[2Jb\n\tc\x7f", "a\\u001b[2Jb\n\tc\\u007f");
  shows("caf\xe9 \xc2\x85", "caf\\ufffd \\u0085");
  shows("größer, 🙂", "größer, 🙂");
}

/* "a", then "b c" from right to left, where a reader would take "fits" for what stands last. */
static void text_is_shown_in_its_order(void) {
  shows("a\u202e"
        "b c\u202c fits",
        "a\\u202eb c\\u202c fits");
  shows("\u061c\u200e\u200f\u2066\u2069\u2028", "\\u061c\\u200e\\u200f\\u2066\\u2069\\u2028");
  shows("שלום, \u2027\u202f\u2065\u206a\u200d", "שלום, \u2027\u202f\u2065\u206a\u200d");
}

/* GitHub's runner takes a line for a command that begins, behind blanks, with "::"; the older form stands anywhere. */
static void commands_are_not_given(void) {
  shows("::error::x", "\\u003a:error::x");
  shows("a\n \t::stop-commands::t\nstd::move, a :: b", "a\n \t\\u003a:stop-commands::t\nstd::move, a :: b");
  shows("a ##[group]b ## [", "a \\u0023#[group]b ## [");
  shows("x ##vso[task.setvariable]y ##teamcity['z'] ## a[",
        "x \\u0023#vso[task.setvariable]y \\u0023#teamcity['z'] ## a[");
  g_autofree char *command = base_display_commands("::error file=a::b\033");
  CU_ASSERT_STRING_EQUAL(command, "::error file=a::b\\u001b");
}

static void a_name_stays_in_its_line(void) {
  g_autofree char *line = base_display_line("a\nb\tc\rd");
  CU_ASSERT_STRING_EQUAL(line, "a\\u000ab\\u0009c\\u000dd");
}

static void a_file_has_a_line_more(void) {
  g_autoptr(GString) text = g_string_new("first\n");
  base_display_append(text, "# %s, %d", "a\n[environment]\noverlay = b", 3);
  CU_ASSERT_STRING_EQUAL(text->str, "first\n# a\\u000a[environment]\\u000aoverlay = b, 3\n");
}

int main(void) {
  return harness_run("base display", (HarnessCase[]){{"controls", controls_are_shown},
                                                     {"order", text_is_shown_in_its_order},
                                                     {"commands", commands_are_not_given},
                                                     {"names", a_name_stays_in_its_line},
                                                     {"lines of files", a_file_has_a_line_more},
                                                     {NULL, NULL}});
}
