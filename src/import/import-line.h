/* SPDX-License-Identifier: MIT */
/* One line of a log as several processes wrote it: the tags of launchers taken off, NCCL's own messages cut out.
 *
 *   "[1,0]<stdout>:   1024   256 ..."                        → "   1024   256 ..."
 *   "0:   1024   256 ..."                                    → "   1024   256 ..."
 *   "  1024  256  float  sum  -1node07:17:17 [0] NCCL INFO x" → "  1024  256  float  sum  -1" and "x"
 *
 * A host's name may begin with a digit and be glued to the number before it ("-138dcf"), so the names must be known
 * first: import_hosts_learn notes those that stand at the beginning of a line, or after "on" in a list of ranks.
 *
 *   g_autoptr(ImportHosts) hosts = import_hosts_new();
 *   for each line: import_hosts_learn(hosts, line);
 *   for each line: char *text = import_line_split(line, hosts, &message);    // message NULL: NCCL said nothing here
 *
 * Escape sequences of terminals and carriage returns are dropped. Private to this floor. Cost: the line. */
#pragma once

#include <glib.h>

typedef struct ImportHosts ImportHosts;

ImportHosts *import_hosts_new(void);
void import_hosts_free(ImportHosts *hosts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportHosts, import_hosts_free)
void import_hosts_learn(ImportHosts *hosts, const char *line);

/* What is left of a line of what NCCL said, and what NCCL said ("NCCL version 2.22.3+cuda12.6"). Caller frees both. */
char *import_line_split(const char *line, const ImportHosts *hosts, char **ret_message);
/* Only the escape sequences and carriage returns. Caller frees. */
char *import_line_plain(const char *line);

/* Lines of a text, each of them UTF-8 whatever the bytes are. Caller frees. */
char **import_lines(const char *text);
/* The same of a file. Errors: as conf_data_small_text. */
char **import_lines_load(const char *path, GError **error);
