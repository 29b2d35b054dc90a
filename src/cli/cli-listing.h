/* SPDX-License-Identifier: MIT */
/* One list, printed as a table for people or as a JSON array of objects: cells fill row after row.
 *
 *   static const CliColumn columns[] = {{"gpu", "gpu", BASE_LEFT}, {"memory_bytes", "memory GiB", BASE_RIGHT}, {NULL}};
 *   g_autoptr(CliListing) listing = cli_listing_new(json);
 *   cli_listing_columns(listing, columns);
 *   cli_listing_text(listing, "h100");
 *   cli_listing_number(listing, bytes, "%.1f", base_in_gib(bytes));   // JSON has the value, the table what is shown
 *   cli_listing_print(listing);
 */
#pragma once

#include "base-table.h"

typedef struct {
  const char *key, *head; /* of JSON, of the table; both NULL: the end */
  BaseAlign align;
} CliColumn;

typedef struct CliListing CliListing;

CliListing *cli_listing_new(gboolean json);
void cli_listing_free(CliListing *listing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliListing, cli_listing_free)

/* Before the first cell. `columns` is static. */
void cli_listing_columns(CliListing *listing, const CliColumn *columns);
void cli_listing_text(CliListing *listing, const char *value);
void cli_listing_shown(CliListing *listing, const char *value, const char *shown);
void cli_listing_integer(CliListing *listing, gint64 value, const char *shown);
/* 0 is "not known": null, and "-" in the table. `format` is one %f. */
void cli_listing_number(CliListing *listing, double value, const char *format, double shown);
/* Whether the next cell's column is one of numbers. */
gboolean cli_listing_is_right(const CliListing *listing);

/* To stdout. */
void cli_listing_print(CliListing *listing);
