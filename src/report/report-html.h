/* SPDX-License-Identifier: MIT */
/* HTML whose texts are texts: whatever a name or a path holds, nothing of it becomes markup. Private to this floor.
 *
 *   report_html_element(html, "h1", NULL, identity->model);          // <h1>Llama &lt;7B&gt;</h1>
 *   report_html_cell(html, "td", "n", "%.2f ms", 12.5);              // <td class="n">12.50 ms</td>
 *
 * Tags and classes are the program's own words. Each appends. */
#pragma once

#include <glib.h>

/* Escaped; control characters become spaces but for line feeds, what is no UTF-8 a replacement character. */
void report_html_text(GString *html, const char *text);
/* `class` NULL: none. */
void report_html_element(GString *html, const char *tag, const char *class, const char *text);
void report_html_cell(GString *html, const char *tag, const char *class, const char *format, ...) G_GNUC_PRINTF(4, 5);
/* JSON for a script element: no "<" is left in it. */
void report_html_json(GString *html, const char *json);
