/* SPDX-License-Identifier: MIT */
/* Slurm's topology.conf: SwitchName=leaf1 Nodes=node[01-16], SwitchName=spine Switches=leaf[1-4]; and what `scontrol
 * show topology` prints, whose upper switches list the nodes below them too. */
#include <string.h>

#include "import-fabric.h"
#include "import-hostlist.h"
#include "import-line.h"

typedef struct {
  ImportFabric *fabric;
  guint at, line;
  gboolean nodes; /* the list is of nodes */
  gboolean upper; /* the line has switches: nodes are those below them */
} Reader;

static gboolean fail(const Reader *reader, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);

static gboolean fail(const Reader *reader, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  base_error_set_at(error, &(BasePlace){.file = reader->fabric->file, .line = reader->line}, "%s", message);
  return FALSE;
}

/* A link between switches is one of both. */
static void take_name(const char *name, gpointer user) {
  Reader *reader = user;
  ImportFabric *fabric = reader->fabric;
  guint peer = reader->nodes ? import_fabric_node(fabric, name) : import_fabric_switch(fabric, name);
  import_fabric_link(fabric, reader->at, peer, 0);
  if (!reader->nodes)
    import_fabric_link(fabric, peer, reader->at, 0);
}

static gboolean take_list(Reader *reader, const char *key, const char *list, GError **error) {
  reader->nodes = g_ascii_strcasecmp(key, "Nodes") == 0;
  if (import_hostlist_visit(list, take_name, reader))
    return TRUE;
  return fail(reader, error, "%s=%s: expected names as node[01-16,20], in all at most %d", key, list,
              IMPORT_HOSTLIST_MOST);
}

static gboolean take_word(Reader *reader, const char *word, GError **error) {
  const char *equals = strchr(word, '=');
  g_autofree char *key = g_strndup(word, equals != NULL ? (gsize)(equals - word) : strlen(word));
  if (equals == NULL)
    return fail(reader, error, "\"%s\": expected KEY=VALUE", word);
  if (g_ascii_strcasecmp(key, "SwitchName") == 0)
    reader->at = import_fabric_switch(reader->fabric, equals + 1);
  else if (g_ascii_strcasecmp(key, "BlockName") == 0 || g_ascii_strcasecmp(key, "BlockSizes") == 0)
    return fail(reader, error,
                "blocks (topology/block) say who shares NVLink, not how switches are joined; expected "
                "SwitchName lines (topology/tree)");
  else if (g_ascii_strcasecmp(key, "Nodes") == 0 || g_ascii_strcasecmp(key, "Switches") == 0) {
    if (reader->at == G_MAXUINT)
      return fail(reader, error, "%s before SwitchName", key);
    gboolean below = reader->upper && g_ascii_strcasecmp(key, "Nodes") == 0;
    return below || take_list(reader, key, equals + 1, error);
  } else if (g_ascii_strcasecmp(key, "LinkSpeed") != 0 && g_ascii_strcasecmp(key, "Level") != 0) {
    return fail(reader, error, "no key \"%s\" of a switch; expected one of SwitchName, Nodes, Switches, LinkSpeed",
                key);
  }
  return TRUE;
}

static gboolean has_switches(char **words) {
  static const char key[] = "Switches=";
  for (; *words != NULL; words++)
    if (g_ascii_strncasecmp(*words, key, strlen(key)) == 0 && (*words)[strlen(key)] != '\0')
      return TRUE;
  return FALSE;
}

static gboolean take_line(Reader *reader, char *line, GError **error) {
  line[strcspn(line, "#")] = '\0';
  g_auto(GStrv) words = g_strsplit_set(line, " \t\r", -1);
  reader->at = G_MAXUINT;
  reader->upper = has_switches(words);
  for (char **word = words; *word != NULL; word++)
    if (**word != '\0' && !take_word(reader, *word, error))
      return FALSE;
  return TRUE;
}

ImportFabric *import_slurm_load(const char *path, GError **error) {
  g_auto(GStrv) lines = import_lines_load(path, error);
  if (lines == NULL)
    return NULL;
  g_autoptr(ImportFabric) fabric = import_fabric_new(path, "Slurm's tree of switches");
  Reader reader = {.fabric = fabric};
  for (char **line = lines; *line != NULL; line++) {
    reader.line++;
    if (!take_line(&reader, *line, error))
      return NULL;
  }
  if (fabric->parts->len > 0)
    return g_steal_pointer(&fabric);
  reader.line = 0;
  fail(&reader, error, "holds no switch: expected lines as SwitchName=leaf1 Nodes=node[01-16]");
  return NULL;
}
