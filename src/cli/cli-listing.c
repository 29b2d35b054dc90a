/* Cells go to the table or to the builder of JSON, whichever the listing has. */
#include "cli-listing.h"

#include <json-glib/json-glib.h>
#include <stdio.h>

struct CliListing {
  BaseTable *table;
  JsonBuilder *json; /* NULL: the table is printed */
  GString *page;
  const CliColumn *columns;
  guint n, at;
};

CliListing *cli_listing_new(gboolean json) {
  CliListing *listing = g_new0(CliListing, 1);
  listing->table = base_table_new();
  listing->page = g_string_new(NULL);
  if (json) {
    listing->json = json_builder_new();
    json_builder_begin_array(listing->json);
  }
  return listing;
}

void cli_listing_free(CliListing *listing) {
  if (listing == NULL)
    return;
  base_table_free(listing->table);
  g_string_free(listing->page, TRUE);
  g_clear_object(&listing->json);
  g_free(listing);
}

void cli_listing_columns(CliListing *listing, const CliColumn *columns) {
  listing->columns = columns;
  for (; columns[listing->n].key != NULL; listing->n++)
    base_table_head(listing->table, columns[listing->n].head, columns[listing->n].align);
}

static void begin_cell(CliListing *listing) {
  if (listing->json == NULL)
    return;
  if (listing->at == 0)
    json_builder_begin_object(listing->json);
  json_builder_set_member_name(listing->json, listing->columns[listing->at].key);
}

static void end_cell(CliListing *listing, const char *shown) {
  if (listing->json == NULL)
    base_table_cell(listing->table, "%s", shown);
  listing->at = (listing->at + 1) % listing->n;
  if (listing->json != NULL && listing->at == 0)
    json_builder_end_object(listing->json);
}

void cli_listing_shown(CliListing *listing, const char *value, const char *shown) {
  begin_cell(listing);
  if (listing->json != NULL)
    json_builder_add_string_value(listing->json, value);
  end_cell(listing, shown);
}

void cli_listing_text(CliListing *listing, const char *value) {
  cli_listing_shown(listing, value, value);
}

void cli_listing_integer(CliListing *listing, gint64 value, const char *shown) {
  begin_cell(listing);
  if (listing->json != NULL)
    json_builder_add_int_value(listing->json, value);
  end_cell(listing, shown);
}

void cli_listing_number(CliListing *listing, double value, const char *format, double shown) {
  g_autofree char *text = value != 0 ? g_strdup_printf(format, shown) : g_strdup("-");
  begin_cell(listing);
  if (listing->json != NULL && value != 0)
    json_builder_add_double_value(listing->json, value);
  else if (listing->json != NULL)
    json_builder_add_null_value(listing->json);
  end_cell(listing, text);
}

gboolean cli_listing_is_right(const CliListing *listing) {
  return listing->columns[listing->at].align == BASE_RIGHT;
}

GString *cli_listing_page(CliListing *listing) {
  return listing->page;
}

void cli_listing_print(CliListing *listing) {
  if (listing->json != NULL) {
    json_builder_end_array(listing->json);
    g_autoptr(JsonNode) root = json_builder_get_root(listing->json);
    g_autofree char *text = json_to_string(root, TRUE);
    g_string_append_printf(listing->page, "%s\n", text);
  } else if (listing->n > 0) {
    base_table_print(listing->table, 0, listing->page);
  }
  fputs(listing->page->str, stdout);
}
