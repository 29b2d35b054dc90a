/* SPDX-License-Identifier: MIT */
/* GMarkup's callbacks to a tree. */
#include "import-xml.h"

#include <stdio.h>
#include <string.h>

#include "conf-data.h"

void import_xml_free(ImportXml *element) {
  if (element == NULL)
    return;
  g_free(element->name);
  g_strfreev(element->names);
  g_strfreev(element->values);
  g_ptr_array_unref(element->children);
  g_free(element->content);
  g_free(element);
}

static void child_free(gpointer data) {
  import_xml_free(data);
}

const char *import_xml_get(const ImportXml *element, const char *name) {
  for (gsize i = 0; element->names[i] != NULL; i++)
    if (strcmp(element->names[i], name) == 0)
      return element->values[i];
  return NULL;
}

const char *import_xml_text(const ImportXml *element, const char *name) {
  const char *value = import_xml_get(element, name);
  return value != NULL ? value : "";
}

guint64 import_xml_number(const ImportXml *element, const char *name) {
  return g_ascii_strtoull(import_xml_text(element, name), NULL, 0);
}

const ImportXml *import_xml_child(const ImportXml *element, const char *name) {
  for (guint i = 0; i < element->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(element->children, i);
    if (strcmp(child->name, name) == 0)
      return child;
  }
  return NULL;
}

const char *import_xml_content(const ImportXml *element, const char *path) {
  g_auto(GStrv) names = g_strsplit(path, "/", -1);
  for (char **name = names; *name != NULL && element != NULL; name++)
    element = import_xml_child(element, *name);
  return element != NULL && element->content != NULL ? element->content : "";
}

#define DEPTH_MOST 200 /* elements within elements; machines have about ten */

typedef struct {
  ImportXml *root, *open;
  guint depth;
} Tree;

static void start(GMarkupParseContext *context, const char *name, const char **names, const char **values,
                  gpointer user, GError **error) {
  Tree *tree = user;
  if (++tree->depth > DEPTH_MOST) {
    g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "over %u elements stand within each other",
                DEPTH_MOST);
    return;
  }
  if (tree->root != NULL && tree->open == NULL) {
    g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "a second element stands beside the first");
    return;
  }
  ImportXml *element = g_new0(ImportXml, 1);
  int line, column;
  g_markup_parse_context_get_position(context, &line, &column);
  element->name = g_strdup(name);
  element->names = g_strdupv((char **)names);
  element->values = g_strdupv((char **)values);
  element->children = g_ptr_array_new_with_free_func(child_free);
  element->line =
      (guint)(column > 1 ? line : line - 1); /* where its tag ends: a tag that ends a line is read with it */
  element->parent = tree->open;
  if (tree->open != NULL)
    g_ptr_array_add(tree->open->children, element);
  else
    tree->root = element;
  tree->open = element;
}

static void end(G_GNUC_UNUSED GMarkupParseContext *context, G_GNUC_UNUSED const char *name, gpointer user,
                G_GNUC_UNUSED GError **error) {
  Tree *tree = user;
  tree->depth--;
  tree->open = tree->open->parent;
}

/* Text next to elements is white space, or of no use here. */
static void text(G_GNUC_UNUSED GMarkupParseContext *context, const char *data, gsize length, gpointer user,
                 G_GNUC_UNUSED GError **error) {
  const Tree *tree = user;
  if (tree->open == NULL || tree->open->children->len > 0)
    return;
  g_autofree char *found = g_strstrip(g_strndup(data, length));
  if (*found != '\0' && tree->open->content == NULL)
    tree->open->content = g_steal_pointer(&found);
}

/* GMarkup says "Error on line 3 char 5: what"; the place goes in front as everywhere here. */
static void set_error(const char *path, GMarkupParseContext *context, const GError *why, GError **error) {
  int line, column;
  guint said_line, said_column;
  int skip = 0;
  g_markup_parse_context_get_position(context, &line, &column);
  if (sscanf(why->message, "Error on line %u char %u: %n", &said_line, &said_column, &skip) == 2 && skip > 0) {
    line = (int)said_line;
    column = (int)said_column;
  } else if (sscanf(why->message, "Error on line %u: %n", &said_line, &skip) == 1 && skip > 0) {
    line = (int)said_line;
  }
  BasePlace place = {.file = path, .line = (guint)line, .column = (guint)column};
  base_error_set_at(error, &place, "is no well-formed XML: %s", why->message + skip);
}

ImportXml *import_xml_parse(const char *path, const char *data, gsize length, GError **error) {
  static const GMarkupParser parser = {.start_element = start, .end_element = end, .text = text};
  g_autoptr(GError) why = NULL;
  Tree tree = {0};
  g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, &tree, NULL);
  if (g_markup_parse_context_parse(context, data, (gssize)length, &why) &&
      g_markup_parse_context_end_parse(context, &why) && tree.root != NULL)
    return tree.root;
  if (why != NULL)
    set_error(path, context, why, error);
  else
    base_error_set_at(error, &(BasePlace){.file = path}, "holds no XML element");
  import_xml_free(tree.root);
  return NULL;
}

ImportXml *import_xml_load(const char *path, GError **error) {
  gsize length;
  g_autofree char *data = conf_data_small_text(path, &length, error);
  return data != NULL ? import_xml_parse(path, data, length, error) : NULL;
}

gboolean import_xml_fail(const char *path, const ImportXml *element, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  base_error_set_at(error, &(BasePlace){.file = path, .line = element->line}, "%s", message);
  return FALSE;
}
