/* SPDX-License-Identifier: MIT */
/* Conditions of a shell script: what is known of them before it runs. For this room alone.
 *
 *   [ "$DTYPE" = fp8 ] && …      true or false where the variable was set, unknown where a file or ${1} decides
 */
#pragma once

#include "conf-shell.h"

typedef enum { CONF_SHELL_FALSE, CONF_SHELL_TRUE, CONF_SHELL_UNKNOWN } ConfShellTruth;

/* Of a command: "[ … ]", "[[ … ]]", "test …", true, false; any other is unknown. */
ConfShellTruth conf_shell_test(const GPtrArray *words);
ConfShellTruth conf_shell_not(ConfShellTruth truth);
ConfShellTruth conf_shell_and(ConfShellTruth a, ConfShellTruth b);
ConfShellTruth conf_shell_or(ConfShellTruth a, ConfShellTruth b);
