/* SPDX-License-Identifier: MIT */
/* An XML file as a tree of elements that know their lines. Private to this floor.
 *
 *   g_autoptr(ImportXml) root = import_xml_load("topo.xml", error);      // machine.xml:7:12: … where it is malformed
 *   const char *speed = import_xml_get(element, "link_speed");           // NULL where it is absent
 *
 * Comments are dropped. Text is kept where it stands alone in an element: <id>3</id>. */
#pragma once

#include "base-error.h"

typedef struct ImportXml {
  char *name;
  char **names, **values; /* attributes, NULL-terminated */
  struct ImportXml *parent;
  GPtrArray *children; /* ImportXml, in order */
  char *content;       /* its text without outer blanks; NULL: none, or elements */
  guint line;          /* where its opening tag ends */
} ImportXml;

/* Errors (SIM_ERROR_INPUT): no such file, what is no XML (line and column). */
ImportXml *import_xml_load(const char *path, GError **error);
/* The same of a text that is read already; `path` for messages. */
ImportXml *import_xml_parse(const char *path, const char *data, gsize length, GError **error);
void import_xml_free(ImportXml *element);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportXml, import_xml_free)

const char *import_xml_get(const ImportXml *element, const char *name);
/* The same, "" where it is absent. */
const char *import_xml_text(const ImportXml *element, const char *name);
/* The text of the element at a path of children ("pci/pci_bus_id"), "" where it is absent. */
const char *import_xml_content(const ImportXml *element, const char *path);
/* As a whole number, in hexadecimal after "0x"; 0 where it is absent or none. */
guint64 import_xml_number(const ImportXml *element, const char *name);
/* The first child of a name; NULL: none. */
const ImportXml *import_xml_child(const ImportXml *element, const char *name);

/* Sets SIM_ERROR_INPUT at the element; always FALSE. */
gboolean import_xml_fail(const char *path, const ImportXml *element, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
