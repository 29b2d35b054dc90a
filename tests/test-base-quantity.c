/* SPDX-License-Identifier: MIT */
/* Units: what is read, what is refused, and that canonical text reads back as the same number. */
#include <string.h>

#include "base-decimal.h"
#include "base-error.h"
#include "base-quantity.h"
#include "harness.h"

static double read_as(const char *text, BaseUnit unit) {
  double value = -1;
  CU_ASSERT_TRUE(base_quantity_parse(text, unit, &value, NULL));
  return value;
}

static void reads_units(void) {
  CU_ASSERT_EQUAL(read_as("400 Gb/s", BASE_UNIT_BYTE_RATE), 50e9); /* 400e9 bits / 8 */
  CU_ASSERT_EQUAL(read_as("450GB/s", BASE_UNIT_BYTE_RATE), 450e9);
  CU_ASSERT_EQUAL(read_as("80 GiB", BASE_UNIT_BYTES), 80.0 * 1024 * 1024 * 1024);
  CU_ASSERT_EQUAL(read_as("989.4 TFLOP/s", BASE_UNIT_FLOP_RATE), 989.4e12);
  CU_ASSERT_EQUAL(read_as("0.7 kW", BASE_UNIT_POWER), 700);
  CU_ASSERT_EQUAL(read_as("2.5 us", BASE_UNIT_TIME), 2.5e-6);
  CU_ASSERT_EQUAL(read_as("12 %", BASE_UNIT_NONE), 0.12);
  CU_ASSERT_EQUAL(read_as("5e8", BASE_UNIT_NONE), 5e8);
  CU_ASSERT_EQUAL(read_as("1.5e3 TFLOPS", BASE_UNIT_FLOP_RATE), 1.5e15);
  CU_ASSERT_EQUAL(read_as("2 h", BASE_UNIT_TIME), 7200);
  CU_ASSERT_EQUAL(read_as("2T", BASE_UNIT_NONE), 2e12);
  CU_ASSERT_EQUAL(read_as("-1", BASE_UNIT_NONE), -1);
}

static void refuses(void) {
  double value = 7;
  GError *error = NULL;
  HARNESS_FAILS(base_quantity_parse("80", BASE_UNIT_BYTES, &value, &error), error, "lacks a unit");
  HARNESS_FAILS(base_quantity_parse("80 GHz", BASE_UNIT_BYTES, &value, &error), error, "is no unit here");
  HARNESS_FAILS(base_quantity_parse("fast", BASE_UNIT_BYTE_RATE, &value, &error), error, "expected a number");
  HARNESS_FAILS(base_quantity_parse("0x10 B", BASE_UNIT_BYTES, &value, &error), error, "expected a number");
  HARNESS_FAILS(base_quantity_parse("inf s", BASE_UNIT_TIME, &value, &error), error, "expected a number");
  HARNESS_FAILS(base_quantity_parse("", BASE_UNIT_NONE, &value, &error), error, "expected a number");
  HARNESS_FAILS(base_quantity_parse("1e999 B", BASE_UNIT_BYTES, &value, &error), error, "expected a number");
  HARNESS_FAILS(base_quantity_parse("1e308 TB", BASE_UNIT_BYTES, &value, &error), error, "too large");
  HARNESS_FAILS(base_quantity_parse("400 Gbps", BASE_UNIT_BYTE_RATE, &value, &error), error, "did you mean \"Gb/s\"?");
  HARNESS_FAILS(base_quantity_parse("400 gb/s", BASE_UNIT_BYTE_RATE, &value, &error), error,
                "did you mean \"GB/s\" or \"Gb/s\"?");
  HARNESS_FAILS(base_quantity_parse("80 gib", BASE_UNIT_BYTES, &value, &error), error, "did you mean \"GiB\"?");
  HARNESS_FAILS(
      base_quantity_parse("2 days", BASE_UNIT_TIME, &value, &error), error,
      "\"days\" is no unit here (in \"2 days\"): write for example 2.5 us (units: ps, ns, us, ms, s, min, h)");
  CU_ASSERT_EQUAL(value, 7);
}

static void canonical_reads_back(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 3000; i++) {
    double value = g_rand_double_range(random, 0, 1) * g_rand_int_range(random, 1, 1 << 30) * 1e3;
    for (BaseUnit unit = BASE_UNIT_NONE; unit <= BASE_UNIT_MONEY; unit++) {
      g_autofree char *text = base_quantity_canonical(value, unit);
      CU_ASSERT_EQUAL(read_as(text, unit), value);
      if (i < 200) {
        g_autofree char *readable = base_quantity_readable(value, unit);
        CU_ASSERT_EQUAL(read_as(readable, unit), value);
      }
    }
  }
}

static void spells(double value, BaseUnit unit, const char *canonical, const char *readable) {
  g_autofree char *first = base_quantity_canonical(value, unit);
  CU_ASSERT_STRING_EQUAL(first, canonical);
  g_autofree char *second = base_quantity_readable(value, unit);
  CU_ASSERT_STRING_EQUAL(second, readable);
}

static void texts(void) {
  spells(50e9, BASE_UNIT_BYTE_RATE, "50000000000 B/s", "50 GB/s");
  spells(85899345920, BASE_UNIT_BYTES, "85899345920 B", "80 GiB"); /* 80 × 1024³ */
  spells(989.4e12, BASE_UNIT_FLOP_RATE, "989400000000000 FLOP/s", "989.4 TFLOP/s");
  spells(350, BASE_UNIT_POWER, "350 W", "350 W");
  spells(1e15, BASE_UNIT_FLOP_RATE, "1e+15 FLOP/s", "1 PFLOP/s");
  spells(2.5e-6, BASE_UNIT_TIME, "2.5e-06 s", "2.5 us");
  spells(-0.0, BASE_UNIT_NONE, "0", "0");
  spells(0.12, BASE_UNIT_NONE, "0.12", "0.12");
}

/* Decimal units shift the point and round once, so any spelling of a quantity is the same double. */
static void spellings_agree(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 2000; i++) {
    gint32 whole = g_rand_int_range(random, 1, G_MAXINT32);
    g_autofree char *nano = g_strdup_printf("%d ns", whole);
    g_autofree char *micro = g_strdup_printf("%d.%03d us", whole / 1000, whole % 1000);
    g_autofree char *plain = g_strdup_printf("%de-9 s", whole);
    double seconds = read_as(nano, BASE_UNIT_TIME);
    CU_ASSERT_EQUAL(read_as(micro, BASE_UNIT_TIME), seconds);
    CU_ASSERT_EQUAL(read_as(plain, BASE_UNIT_TIME), seconds);
  }
}

static void time_rounds_to_nearest(void) {
  /* 1 MiB at 50 GB/s: 1048576 / 50e9 s = 20 971 520 ps exactly. */
  CU_ASSERT_EQUAL(sim_time_of_amount(1048576, 50e9), 20971520);
  /* 1 byte at 3 GB/s = 333.33 ps; 2 bytes = 666.67 ps. */
  CU_ASSERT_EQUAL(sim_time_of_amount(1, 3e9), 333);
  CU_ASSERT_EQUAL(sim_time_of_amount(2, 3e9), 667);
  CU_ASSERT_EQUAL(sim_time_from_seconds(1e30), SIM_TIME_NEVER);
  CU_ASSERT_EQUAL(sim_time_from_seconds(-1e30), -SIM_TIME_NEVER);
  CU_ASSERT_EQUAL(sim_time_from_seconds(NAN), SIM_TIME_NEVER);
}

/* By hand as by the C library's round: halves, what lies beside them, and whatever else. */
static void time_rounds_as_round_does(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20000; i++) {
    double whole = floor(ldexp(g_rand_double(random), i % 54)),
           near[] = {whole, whole + 0.5, whole + g_rand_double(random)};
    for (guint k = 0; k < G_N_ELEMENTS(near); k++)
      for (int sign = -1; sign <= 1; sign++) {
        double picoseconds = sign == 0 ? nextafter(near[k], 0) : sign * near[k], seconds = picoseconds / 1e12;
        CU_ASSERT_EQUAL(sim_time_from_seconds(seconds), (SimTime)round(seconds * 1e12));
      }
  }
}

static void formats(void) {
  g_autofree char *count = base_format_count(6738415616);
  CU_ASSERT_STRING_EQUAL(count, "6 738 415 616");
  g_autofree char *gib = base_format_gib((guint64)3 << 30);
  CU_ASSERT_STRING_EQUAL(gib, "3.00 GiB");
  g_autofree char *mib = base_format_memory((guint64)86 << 20), *large = base_format_large(6738415616);
  CU_ASSERT_STRING_EQUAL(mib, "86.0 MiB");
  CU_ASSERT_STRING_EQUAL(large, "6.74 B");
  CU_ASSERT_EQUAL(base_in_gib((guint64)3 << 29), 1.5);
  CU_ASSERT_EQUAL(base_in_gb(2.5e9), 2.5);
  CU_ASSERT_EQUAL(base_in_ms(1234 * SIM_MICROSECOND), 1.234);
  CU_ASSERT_EQUAL(base_in_gflop(2e9), 2);
  CU_ASSERT_EQUAL(base_in_tflops(989.5e12), 989.5);
  g_autofree char *time = base_format_time(1234 * SIM_MICROSECOND);
  CU_ASSERT_STRING_EQUAL(time, "1.23 ms");
}

/* The short way against the plain one, whatever the digits: g_ascii_strtod of the same text with the power joined. */
static void decimals_as_strtod(void) {
  g_autoptr(GRand) random = harness_random();
  static const char *const exponents[] = {"", "e3", "E-7", "e+12", "e", "e-300", "e310"};
  for (int i = 0; i < 20000; i++) {
    int digits = g_rand_int_range(random, 1, 20), point = g_rand_int_range(random, 0, digits + 1);
    g_autoptr(GString) text = g_string_new(g_rand_boolean(random) ? "-" : "");
    for (int d = 0; d < digits; d++)
      g_string_append_printf(text, "%s%d", d == point ? "." : "", g_rand_int_range(random, 0, 10));
    int power = g_rand_int_range(random, -12, 16);
    g_autofree char *joined = g_strdup_printf("%se%d", text->str, power);
    CU_ASSERT_EQUAL(base_decimal_read(text->str, power, NULL), g_ascii_strtod(joined, NULL));
    g_string_append_printf(text, "%s W", exponents[g_rand_int_range(random, 0, G_N_ELEMENTS(exponents))]);
    char *end = NULL, *plain_end = NULL;
    CU_ASSERT_EQUAL(base_decimal_read(text->str, 0, &end), g_ascii_strtod(text->str, &plain_end));
    CU_ASSERT_PTR_EQUAL(end, plain_end);
  }
  static const char *const others[] = {"", "-", ".", "+.e5", "W", "inf", "nan"};
  for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
    char *end = NULL;
    CU_ASSERT_EQUAL(base_decimal_read(others[i], 0, &end), 0);
    CU_ASSERT_PTR_EQUAL(end, others[i]);
  }
}

int main(void) {
  return harness_run("base-quantity", (HarnessCase[]){{"reads units", reads_units},
                                                      {"refuses", refuses},
                                                      {"canonical text reads back", canonical_reads_back},
                                                      {"texts", texts},
                                                      {"spellings agree", spellings_agree},
                                                      {"time rounds to nearest", time_rounds_to_nearest},
                                                      {"time rounds as round() does", time_rounds_as_round_does},
                                                      {"formats", formats},
                                                      {"decimals as strtod reads them", decimals_as_strtod},
                                                      {NULL, NULL}});
}
