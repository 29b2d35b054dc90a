/* SPDX-License-Identifier: MIT */
/* Cells go to the table or to the writer of JSON, whichever the listing has. */
#include "cli-listing.h"

#include <math.h>
#include <stdio.h>

#include "base-json.h"
#include "cli-write.h"
#include "report-text.h"

struct CliListing {
  BaseTable *table;
  BaseJson *json; /* NULL: the table is printed */
  GString *page;
  const CliColumn *columns;
  guint n, at;
};

CliListing *cli_listing_new(gboolean json) {
  CliListing *listing = g_new0(CliListing, 1);
  listing->table = base_table_new();
  listing->page = g_string_new(NULL);
  if (json) {
    listing->json = base_json_new(listing->page, BASE_JSON_SPREAD);
    base_json_list(listing->json, NULL);
  }
  return listing;
}

void cli_listing_free(CliListing *listing) {
  if (listing == NULL)
    return;
  base_table_free(listing->table);
  g_string_free(listing->page, TRUE);
  base_json_free(listing->json);
  g_free(listing);
}

void cli_listing_columns(CliListing *listing, const CliColumn *columns) {
  listing->columns = columns;
  for (; columns[listing->n].key != NULL; listing->n++)
    base_table_head(listing->table, columns[listing->n].head, columns[listing->n].align);
}

/* The cell's key, of JSON. */
static const char *begin_cell(CliListing *listing) {
  if (listing->json != NULL && listing->at == 0) {
    base_json_map(listing->json, NULL);
    base_json_integer(listing->json, "json_version", REPORT_JSON_VERSION);
  }
  return listing->columns[listing->at].key;
}

static void end_cell(CliListing *listing, const char *shown) {
  if (listing->json == NULL)
    base_table_cell(listing->table, "%s", shown);
  listing->at = (listing->at + 1) % listing->n;
  if (listing->json != NULL && listing->at == 0)
    base_json_end(listing->json);
}

void cli_listing_shown(CliListing *listing, const char *value, const char *shown) {
  const char *key = begin_cell(listing);
  if (listing->json != NULL)
    base_json_text(listing->json, key, value);
  end_cell(listing, shown);
}

void cli_listing_text(CliListing *listing, const char *value) {
  cli_listing_shown(listing, value, value);
}

void cli_listing_integer(CliListing *listing, gint64 value, const char *shown) {
  const char *key = begin_cell(listing);
  if (listing->json != NULL)
    base_json_integer(listing->json, key, value);
  end_cell(listing, shown);
}

void cli_listing_number(CliListing *listing, double value, const char *format, double shown) {
  g_autofree char *text = value != 0 ? g_strdup_printf(format, shown) : g_strdup("-");
  const char *key = begin_cell(listing);
  if (listing->json != NULL)
    base_json_number(listing->json, key, value != 0 ? value : NAN);
  end_cell(listing, text);
}

gboolean cli_listing_is_right(const CliListing *listing) {
  return listing->columns[listing->at].align == BASE_RIGHT;
}

void cli_listing_print(CliListing *listing) {
  if (listing->json != NULL)
    base_json_end(listing->json);
  else if (listing->n > 0)
    base_table_print(listing->table, 0, listing->page);
  cli_print(listing->page->str);
}
