/* SPDX-License-Identifier: MIT */
/* Sections of switches of ibnetdiscover, and of iblinkinfo, which say the same in other words. */
#include <stdio.h>
#include <string.h>

#include "import-fabric.h"
#include "import-line.h"

/* A node's description is its host's name and the adapter's: "node01 mlx5_0". One without a host's name is a node of
 * its own. NULL: no node (the part of a switch that reduces, SHARP). Caller frees. */
static char *node_name(ImportFabric *fabric, const char *description, guint *nameless) {
  if (strstr(description, "Aggregation Node") != NULL)
    return NULL;
  const char *last = strrchr(description, ' ');
  if (last != NULL && strstr(description, "Mellanox") == NULL && strstr(description, "NVIDIA") == NULL)
    return g_strndup(description, (gsize)(last - description));
  if (last != NULL)
    return g_strdup_printf("%s %u of %s", description, ++*nameless, fabric->file);
  return g_strdup(description);
}

static void say_nameless(ImportFabric *fabric, guint nameless) {
  if (nameless > 0)
    import_fabric_say(fabric, "%u adapters do not say whose they are: each is taken as a node", nameless);
}

/* "4xNDR": lanes × Gb/s of a lane (IBTA roadmap). 0: not said. */
static double rate_of(const char *text) {
  static const struct {
    const char *name;
    double gbps;
  } speeds[] = {{"SDR", 2.5}, {"DDR", 5},  {"QDR", 10},  {"FDR10", 10}, {"FDR", 14},
                {"EDR", 25},  {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};
  const char *last = strrchr(text, ' ');
  guint lanes;
  char name[8];
  if (last == NULL || sscanf(last, " %2ux%7s", &lanes, name) != 2)
    return 0;
  for (gsize i = 0; i < G_N_ELEMENTS(speeds); i++)
    if (strcmp(speeds[i].name, name) == 0)
      return lanes * speeds[i].gbps;
  return 0;
}

/* What stands in the n-th pair of quotes; NULL: there are fewer. Caller frees. */
static char *quoted(const char *line, guint n) {
  for (guint i = 0;; i++) {
    const char *from = strchr(line, '"'), *to = from != NULL ? strchr(from + 1, '"') : NULL;
    if (to == NULL)
      return NULL;
    if (i == n)
      return g_strndup(from + 1, (gsize)(to - from - 1));
    line = to + 1;
  }
}

typedef struct {
  ImportFabric *fabric;
  guint at; /* the switch whose section this is; G_MAXUINT: none */
  guint nameless;
  GHashTable *lids; /* of iblinkinfo: those of switches → place plus one; looked up, never walked */
} Reader;

/* [1]	"H-0002c903000e0b72"[1](2c903000e0b73) 		# "node01 HCA-1" lid 1 4xQDR */
static void discover_link(Reader *reader, const char *line) {
  g_autofree char *peer = quoted(line, 0), *description = quoted(line, 1);
  if (peer == NULL)
    return;
  double rate = rate_of(line);
  if (g_str_has_prefix(peer, "S-")) {
    import_fabric_link(reader->fabric, reader->at, import_fabric_switch(reader->fabric, peer), rate);
  } else if (g_str_has_prefix(peer, "H-")) {
    g_autofree char *name = node_name(reader->fabric, description != NULL ? description : peer, &reader->nameless);
    if (name != NULL)
      import_fabric_link(reader->fabric, reader->at, import_fabric_node(reader->fabric, name), rate);
  }
}

static void discover_line(Reader *reader, const char *line) {
  if (g_str_has_prefix(line, "Switch") && strchr(line, '"') != NULL) {
    g_autofree char *name = quoted(line, 0);
    if (name != NULL)
      reader->at = import_fabric_switch(reader->fabric, name);
  } else if (g_str_has_prefix(line, "Ca") || g_str_has_prefix(line, "Rt")) {
    reader->at = G_MAXUINT;
  } else if (*line == '[' && reader->at != G_MAXUINT) {
    discover_link(reader, line);
  }
}

/* 3    1[  ] ==( 4X      53.125 Gbps Active/  LinkUp)==>       1    1[  ] "node01 mlx5_0" ( ) */
static gboolean linkinfo_port(const char *line, guint *ret_lid, guint *ret_peer_lid, double *ret_gbps) {
  guint lanes = 0;
  const char *rate = strstr(line, "==("), *to = strstr(line, "==>");
  if (rate == NULL || to == NULL || sscanf(line, " %u", ret_lid) != 1 || sscanf(to, "==> %u", ret_peer_lid) != 1)
    return FALSE;
  if (sscanf(rate, "==( %2uX", &lanes) == 1 && (rate = strchr(rate, 'X')) != NULL)
    *ret_gbps = lanes * g_ascii_strtod(rate + 1, NULL);
  return TRUE;
}

/* Every port of a switch begins with its own LID: so peers are known as switches before links are read. */
static void linkinfo_learn(Reader *reader, const char *line) {
  guint lid, peer;
  double gbps = 0;
  g_autofree char *name = g_str_has_prefix(line, "Switch:") ? g_strstrip(g_strdup(line + strlen("Switch:"))) : NULL;
  if (name != NULL)
    reader->at = import_fabric_switch(reader->fabric, name);
  else if (*line != ' ' && *line != '\t' && *line != '\0')
    reader->at = G_MAXUINT;
  else if (reader->at != G_MAXUINT && linkinfo_port(line, &lid, &peer, &gbps))
    g_hash_table_insert(reader->lids, GUINT_TO_POINTER(lid), GUINT_TO_POINTER(reader->at + 1));
}

static void linkinfo_line(Reader *reader, const char *line) {
  guint lid, peer_lid;
  double gbps = 0;
  if (!linkinfo_port(line, &lid, &peer_lid, &gbps))
    return;
  guint at = GPOINTER_TO_UINT(g_hash_table_lookup(reader->lids, GUINT_TO_POINTER(lid)));
  guint peer = GPOINTER_TO_UINT(g_hash_table_lookup(reader->lids, GUINT_TO_POINTER(peer_lid)));
  g_autofree char *description = quoted(strstr(line, "==>"), 0);
  if (at == 0 || description == NULL)
    return;
  g_autofree char *name = peer == 0 ? node_name(reader->fabric, description, &reader->nameless) : NULL;
  if (peer > 0)
    import_fabric_link(reader->fabric, at - 1, peer - 1, gbps);
  else if (name != NULL)
    import_fabric_link(reader->fabric, at - 1, import_fabric_node(reader->fabric, name), gbps);
}

static void each_line(Reader *reader, char **lines, void (*take)(Reader *reader, const char *line)) {
  reader->at = G_MAXUINT;
  for (char **line = lines; *line != NULL; line++) {
    g_autofree char *plain = import_line_plain(*line);
    take(reader, plain);
  }
}

static ImportFabric *load(const char *path, const char *what, const char *expected, gboolean links, GError **error) {
  g_auto(GStrv) lines = import_lines_load(path, error);
  if (lines == NULL)
    return NULL;
  g_autoptr(ImportFabric) fabric = import_fabric_new(path, what);
  Reader reader = {.fabric = fabric, .lids = g_hash_table_new(NULL, NULL)};
  if (links)
    each_line(&reader, lines, linkinfo_learn);
  each_line(&reader, lines, links ? linkinfo_line : discover_line);
  g_hash_table_unref(reader.lids);
  say_nameless(fabric, reader.nameless);
  if (fabric->parts->len > 0)
    return g_steal_pointer(&fabric);
  base_error_set_at(error, &(BasePlace){.file = path}, "holds no switch: expected lines as %s", expected);
  return NULL;
}

ImportFabric *import_ibnetdiscover_load(const char *path, GError **error) {
  return load(path, "a fabric that ibnetdiscover walked", "Switch 40 \"S-0002c90200423e70\" # \"name\" …", FALSE,
              error);
}

ImportFabric *import_iblinkinfo_load(const char *path, GError **error) {
  return load(path, "a fabric that iblinkinfo walked", "Switch: 0x0002c90200423e70 name:", TRUE, error);
}
