/* SPDX-License-Identifier: MIT */
/* Expected texts that stand in files, tests/golden/NAME.txt: what the program prints, compared to the letter.
 *
 *   CU_ASSERT_TRUE(golden_holds("plan-ddp-steady", text));      // prints a diff where it does not hold
 *
 * `./dev accept` makes what is found the expected text (FORETRAIN_ACCEPT=1 in the environment of a test program); read
 * the change of the files before you commit it. Why a text is right is said above the test that names it. */
#pragma once

#include <glib.h>

/* Whether the text is that of the file; a file that is not there does not hold. */
gboolean golden_holds(const char *name, const char *found);

/* The same for a file anywhere. */
gboolean golden_holds_in(const char *folder, const char *name, const char *found, gboolean accept);
