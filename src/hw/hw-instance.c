/* SPDX-License-Identifier: MIT */
/* Looks a name up in all groups of the table; a data folder without it knows no instances. */
#include "hw-instance.h"

#include <string.h>

#include "base-names.h"
#include "conf-path.h"
#include "conf-text.h"
#include "hw-cluster.h"

static ConfText *load_table(void) {
  g_autofree char *path = conf_path_find("instances", ".ini", "topologies/catalog", NULL, NULL, NULL);
  return path != NULL ? conf_text_load(path, NULL) : NULL;
}

static void visit(const ConfText *text, HwInstanceVisit visit_one, gpointer user) {
  for (const char *const *group = conf_text_groups(text); *group != NULL; group++)
    for (const char *const *key = conf_text_keys(text, *group); *key != NULL; key++)
      if (strcmp(*key, "source") != 0)
        visit_one(*group, *key, conf_text_get(text, *group, *key), user);
}

void hw_instances_visit(HwInstanceVisit visit_one, gpointer user) {
  g_autoptr(ConfText) text = load_table();
  if (text != NULL)
    visit(text, visit_one, user);
}

typedef struct {
  const char *asked;
  char *topology;   /* of the instance that was asked for */
  GPtrArray *names; /* of all, to be near to */
} Search;

static void look(G_GNUC_UNUSED const char *cloud, const char *name, const char *topology, gpointer user) {
  Search *search = user;
  g_ptr_array_add(search->names, g_strdup(name));
  if (search->topology == NULL && g_ascii_strcasecmp(name, search->asked) == 0)
    search->topology = g_strdup(topology);
}

char *hw_instance_topology(const char *name, char **ret_near) {
  Search search = {.asked = name, .names = g_ptr_array_new_with_free_func(g_free)};
  hw_instances_visit(look, &search);
  g_ptr_array_add(search.names, NULL);
  if (search.topology == NULL)
    *ret_near = g_strdup(base_names_nearest((const char *const *)search.names->pdata, name));
  g_ptr_array_unref(search.names);
  return search.topology;
}
