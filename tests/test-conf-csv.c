/* SPDX-License-Identifier: MIT */
/* RFC 4180: what is a cell, where it stands, and which mistakes are refused where. */
#include <string.h>

#include "conf-csv.h"
#include "harness.h"

static ConfCsv *parse(const char *text, GError **error) {
  return conf_csv_parse("t.csv", text, strlen(text), error);
}

static void reads_cells(void) {
  g_autoptr(ConfCsv) csv = parse("id,note,x\r\n"
                                 "a,\"one, \"\"two\"\"\",\r\n"
                                 "\n"
                                 "b,\"line\nend\",3",
                                 NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
  CU_ASSERT_EQUAL(csv->n_columns, 3);
  CU_ASSERT_EQUAL(csv->n_rows, 2);
  CU_ASSERT_STRING_EQUAL(conf_csv_column(csv, 2), "x");
  CU_ASSERT_EQUAL(conf_csv_find(csv, "note"), 1);
  CU_ASSERT_EQUAL(conf_csv_find(csv, "Note"), -1);
  CU_ASSERT_STRING_EQUAL(conf_csv_cell(csv, 0, 1), "one, \"two\"");
  CU_ASSERT_STRING_EQUAL(conf_csv_cell(csv, 0, 2), "");
  CU_ASSERT_STRING_EQUAL(conf_csv_cell(csv, 1, 1), "line\nend");
  CU_ASSERT_STRING_EQUAL(conf_csv_cell(csv, 1, 2), "3");
}

/* Row "b" opens line 4; its last cell stands behind a cell that ends in line 5 as `end",3`: column 6. */
static void knows_places(void) {
  g_autoptr(ConfCsv) csv = parse("id,note,x\na,é,1\n\nb,\"line\nend\",3\n", NULL);
  BasePlace place;
  CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
  conf_csv_place(csv, 0, 2, &place); /* behind "a,é,": é is one character */
  CU_ASSERT_EQUAL(place.line, 2);
  CU_ASSERT_EQUAL(place.column, 5);
  CU_ASSERT_STRING_EQUAL(place.key, "x");
  conf_csv_place(csv, 1, 2, &place);
  CU_ASSERT_EQUAL(place.line, 5);
  CU_ASSERT_EQUAL(place.column, 6);
  GError *error = NULL;
  HARNESS_FAILS(conf_csv_fail(csv, 1, 2, &error, "is %d", 3), error, "t.csv:5:6: x: is 3");
}

static void refuses(void) {
  GError *error = NULL;
  HARNESS_FAILS(parse("", &error), error, "t.csv:1:1: expected a head");
  HARNESS_FAILS(parse("a,,b\n", &error), error, "t.csv:1:3: expected the name of a column");
  HARNESS_FAILS(parse("a,b,a\n", &error), error, "t.csv:1:5: the column \"a\" stands twice");
  HARNESS_FAILS(parse("a,b\n1,2\n3\n", &error), error, "t.csv:3:1: expected 2 cells as in the head, found 1");
  HARNESS_FAILS(parse("a,b\n1,2,3\n", &error), error, "t.csv:2:1: expected 2 cells");
  HARNESS_FAILS(parse("a,b\n1,x\"y\n", &error), error, "t.csv:2:4: a quote inside");
  HARNESS_FAILS(parse("a,b\n1,\"x\"y\n", &error), error, "t.csv:2:6: expected a comma");
  HARNESS_FAILS(parse("a,b\n1,\"xy\n", &error), error, "t.csv:2:3: the quote that opens here is never closed");
  HARNESS_FAILS(parse("a,b\n1,\xff\n", &error), error, "t.csv");
  HARNESS_FAILS(conf_csv_load("no-such.csv", &error), error, "no file \"no-such.csv\"");
}

int main(void) {
  return harness_run("CSV", (HarnessCase[]){{"cells, quotes and line ends", reads_cells},
                                            {"places of cells", knows_places},
                                            {"mistakes", refuses},
                                            {NULL, NULL}});
}
