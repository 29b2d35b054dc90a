/* SPDX-License-Identifier: MIT */
/* Takes launchers' tags and NCCL's messages off a line. */
#include "import-line.h"

#include <string.h>

#include "conf-data.h"

struct ImportHosts {
  GPtrArray *names; /* in order of appearance */
  GRegex *tag, *inner, *leading, *listed, *message;
};

/* A launcher's, at the beginning of a line, of which several may stand together; and Open MPI's, which may break
 * into a line. Brackets: torchrun's [default0]:, PyTorch's [rank0]:, MPICH's [0], kubectl's [pod/a/main]. A name and a
 * colon: srun -l, pdsh; a name and a bar: docker compose. The time of a container's log. */
#define OPEN_MPI "\\[[^\\]\\s]*\\d+,\\d+\\]<std(?:out|err)>:"
#define BRACKETS "\\[[^\\]\\s]*\\](?:<std(?:out|err)>)?:?(?=[\\s#])"
#define NAMED    "[A-Za-z0-9_.-]+:(?=\\s+[\\d#]|#)|[A-Za-z0-9_.-]+ +\\| "
#define TIMED    "\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?(?:Z|[+-]\\d\\d:?\\d\\d)? "
#define TAG      "^(?:\\s*(?:" OPEN_MPI "|\\d+:(?=\\s|#)|" BRACKETS "|" NAMED "|" TIMED "))+"
/* Before it may stand a time; host, process, thread, device. */
#define SPOKEN "(?:\\[\\d{4}-\\d\\d-\\d\\d[ T][\\d:.]+\\] )?([A-Za-z0-9_.-]+):\\d+:\\d+ \\[\\d+\\] NCCL [A-Z]+ ?"

ImportHosts *import_hosts_new(void) {
  ImportHosts *hosts = g_new0(ImportHosts, 1);
  hosts->names = g_ptr_array_new_with_free_func(g_free);
  hosts->tag = g_regex_new(TAG, 0, 0, NULL);
  hosts->inner = g_regex_new(OPEN_MPI, 0, 0, NULL);
  hosts->leading = g_regex_new("^\\s*" SPOKEN, 0, 0, NULL);
  hosts->listed = g_regex_new("\\bPid\\s+\\d+\\s+on\\s+(\\S+)\\s+device\\b", 0, 0, NULL);
  hosts->message = g_regex_new(SPOKEN "(.*)$", 0, 0, NULL);
  return hosts;
}

void import_hosts_free(ImportHosts *hosts) {
  if (hosts == NULL)
    return;
  g_ptr_array_unref(hosts->names);
  g_regex_unref(hosts->tag);
  g_regex_unref(hosts->inner);
  g_regex_unref(hosts->leading);
  g_regex_unref(hosts->listed);
  g_regex_unref(hosts->message);
  g_free(hosts);
}

char *import_line_plain(const char *line) {
  GString *plain = g_string_sized_new(strlen(line));
  for (const char *at = line; *at != '\0'; at++) {
    if (at[0] == '\033' && at[1] == '[') {
      at += 2;
      while (*at != '\0' && !(*at >= '@' && *at <= '~'))
        at++;
      if (*at == '\0')
        break;
    } else if (*at != '\r') {
      g_string_append_c(plain, *at);
    }
  }
  return g_string_free(plain, FALSE);
}

char **import_lines(const char *text) {
  g_autofree char *readable = g_utf8_make_valid(text, -1);
  return g_strsplit(readable, "\n", -1);
}

char **import_lines_load(const char *path, GError **error) {
  gsize length;
  g_autofree char *text = conf_data_small_text(path, &length, error);
  return text != NULL ? import_lines(text) : NULL;
}

static char *without_tag(const char *line, const ImportHosts *hosts) {
  g_autofree char *plain = import_line_plain(line);
  g_autoptr(GMatchInfo) match = NULL;
  int end = 0;
  if (g_regex_match(hosts->tag, plain, 0, &match))
    g_match_info_fetch_pos(match, 0, NULL, &end);
  if (strstr(plain + end, "<std") == NULL)
    return g_strdup(plain + end);
  char *bare = g_regex_replace_literal(hosts->inner, plain + end, -1, 0, "", 0, NULL);
  return bare != NULL ? bare : g_strdup(plain + end);
}

void import_hosts_learn(ImportHosts *hosts, const char *line) {
  if (strstr(line, "NCCL") == NULL && strstr(line, "Pid") == NULL)
    return;
  g_autofree char *text = without_tag(line, hosts);
  const GRegex *places[] = {hosts->leading, hosts->listed};
  for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
    g_autoptr(GMatchInfo) match = NULL;
    if (!g_regex_match(places[i], text, 0, &match))
      continue;
    g_autofree char *name = g_match_info_fetch(match, 1);
    if (!g_ptr_array_find_with_equal_func(hosts->names, name, g_str_equal, NULL))
      g_ptr_array_add(hosts->names, g_steal_pointer(&name));
  }
}

/* Where the host's name begins in what is before the colon: the longest known name that it ends with. */
static gsize host_start(const ImportHosts *hosts, const char *text, gsize start, gsize end) {
  gsize longest = 0;
  for (guint i = 0; i < hosts->names->len; i++) {
    const char *name = g_ptr_array_index(hosts->names, i);
    gsize length = strlen(name);
    if (length <= end - start && strncmp(text + end - length, name, length) == 0)
      longest = MAX(longest, length);
  }
  return longest > 0 ? end - longest : start;
}

char *import_line_split(const char *line, const ImportHosts *hosts, char **ret_message) {
  char *text = without_tag(line, hosts);
  g_autoptr(GMatchInfo) match = NULL;
  *ret_message = NULL;
  if (strstr(text, " NCCL ") == NULL || !g_regex_match(hosts->message, text, 0, &match))
    return text;
  int begin = 0, name = 0, colon = 0;
  g_match_info_fetch_pos(match, 0, &begin, NULL);
  g_match_info_fetch_pos(match, 1, &name, &colon);
  *ret_message = g_match_info_fetch(match, 2);
  gsize cut = begin < name ? (gsize)begin : host_start(hosts, text, (gsize)name, (gsize)colon);
  text[cut] = '\0';
  return text;
}
