/* SPDX-License-Identifier: MIT */
/* Switches, nodes, and what each switch sees. */
#include "import-fabric.h"

static void part_free(gpointer data) {
  ImportFabricPart *part = data;
  g_free(part->name);
  g_array_unref(part->links);
  g_free(part);
}

ImportFabric *import_fabric_new(const char *file, const char *what) {
  ImportFabric *fabric = g_new0(ImportFabric, 1);
  fabric->file = g_strdup(file);
  fabric->what = g_strdup(what);
  fabric->parts = g_ptr_array_new_with_free_func(part_free);
  fabric->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  fabric->said = g_ptr_array_new_with_free_func(g_free);
  return fabric;
}

void import_fabric_free(ImportFabric *fabric) {
  if (fabric == NULL)
    return;
  g_free(fabric->file);
  g_free(fabric->what);
  g_ptr_array_unref(fabric->parts);
  g_hash_table_unref(fabric->places);
  g_ptr_array_unref(fabric->said);
  g_free(fabric);
}

static guint find(ImportFabric *fabric, const char *name, gboolean is_switch) {
  g_autofree char *key = g_strdup_printf("%c %s", is_switch ? 's' : 'n', name);
  guint place = GPOINTER_TO_UINT(g_hash_table_lookup(fabric->places, key));
  if (place > 0)
    return place - 1;
  ImportFabricPart *part = g_new0(ImportFabricPart, 1);
  part->name = g_strdup(name);
  part->is_switch = is_switch;
  part->links = g_array_new(FALSE, FALSE, sizeof(ImportFabricLink));
  g_ptr_array_add(fabric->parts, part);
  g_hash_table_insert(fabric->places, g_steal_pointer(&key), GUINT_TO_POINTER(fabric->parts->len));
  return fabric->parts->len - 1;
}

guint import_fabric_switch(ImportFabric *fabric, const char *name) {
  return find(fabric, name, TRUE);
}

guint import_fabric_node(ImportFabric *fabric, const char *name) {
  return find(fabric, name, FALSE);
}

void import_fabric_link(ImportFabric *fabric, guint from_switch, guint peer, double gbps) {
  ImportFabricPart *from = import_fabric_part(fabric, from_switch), *to = import_fabric_part(fabric, peer);
  ImportFabricLink link = {peer, gbps};
  g_array_append_val(from->links, link);
  fabric->rates = fabric->rates || gbps > 0;
  if (to->is_switch)
    return;
  from->leaf = TRUE;
  to->leaves += to->links_up == 0 || to->last_leaf != from_switch; /* a switch's links come together */
  to->last_leaf = from_switch;
  to->links_up++;
}

void import_fabric_say(ImportFabric *fabric, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(fabric->said, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}
