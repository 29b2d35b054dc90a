/* SPDX-License-Identifier: MIT */
/* GOption's help in lines that fit a terminal.
 *
 *   -o, --output=FILE            file to write; of text, - is standard output
 *   --as=deepspeed|torchtitan|megatron
 *                                print the step as that tool logs it
 *
 * An option too long for its column stands on a line of its own. */
#pragma once

#include <glib.h>

/* At most 100 columns, where a word allows it. Caller frees. */
char *cli_help_laid_out(const char *text);
