/* SPDX-License-Identifier: MIT */
/* Quantities: the one time type, and the one place that knows unit factors.
 *
 * Simulated time is SimTime, signed 64-bit picoseconds, rounded to nearest: 106 days fit. Rates are double bytes/s or
 * FLOP/s, sizes are guint64 bytes. Files carry units ("80 GiB", "450 GB/s", "400 Gb/s", "2.5 us", "989.4 TFLOP/s");
 * a bare number where a unit is needed is an error. Text shows GiB for memory, GB/s for bandwidth, ms for time.
 *
 *   double bandwidth;
 *   if (!base_quantity_parse("400 Gb/s", BASE_UNIT_BYTE_RATE, &bandwidth, error)) return FALSE;   // 5e10
 *   SimTime t = sim_time_of_bytes(1 << 20, bandwidth);                                            // 20 971 520 ps
 */
#pragma once

#include <glib.h>

typedef gint64 SimTime; /* picoseconds */

#define SIM_PICOSECOND  ((SimTime)1)
#define SIM_NANOSECOND  ((SimTime)1000)
#define SIM_MICROSECOND ((SimTime)1000000)
#define SIM_MILLISECOND ((SimTime)1000000000)
#define SIM_SECOND      ((SimTime)1000000000000)
#define SIM_TIME_NEVER  G_MAXINT64

/* Long times that are no simulated ones, in seconds. */
#define BASE_HOUR 3600.0
#define BASE_DAY  86400.0

typedef enum {
  BASE_UNIT_NONE,      /* a pure number: "0.8", "1e9", "12 %" (0.12), "5k", "2T" (decimal k, M, G or B, T) */
  BASE_UNIT_BYTES,     /* B, kB, MB, GB, TB (1000s); KiB, MiB, GiB, TiB (1024s) */
  BASE_UNIT_BYTE_RATE, /* the same and bits (Mb/s, Gb/s, Tb/s) per second */
  BASE_UNIT_FLOP_RATE, /* FLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s */
  BASE_UNIT_POWER,     /* W, kW */
  BASE_UNIT_TIME,      /* ps, ns, us, ms, s, min, h: in seconds */
  BASE_UNIT_MONEY,     /* USD */
} BaseUnit;

/* Reads a number and its unit into SI (bytes, bytes/s, FLOP/s, watts, seconds, USD). Underscores and spaces between
 * digits are not taken; "5e8" is. Units are case-sensitive (Gb and GB differ); FLOPS and FLOP/s are the same. Decimal
 * units cost no rounding: "2.5 us" is the double 2.5e-6. Errors: SIM_ERROR_INPUT, saying what was found and which units
 * fit; *ret is then untouched. */
gboolean base_quantity_parse(const char *text, BaseUnit unit, double *ret, GError **error);

/* "80 GiB", "450 GB/s", "2.5 us" …: an example of what the unit wants, for messages and reference texts. */
const char *base_unit_example(BaseUnit unit);

/* The text that reads back as the same value, in the unit's base, whole numbers below 1e15 as digits, others with the
 * fewest digits ("50000000000 B/s", "2.5e-06 s"): the canonical form of settings. Caller frees. */
char *base_quantity_canonical(double value, BaseUnit unit);

/* The same value in the unit that makes it shortest ("50 GB/s", "80 GiB", "2.5 us"), for messages. Caller frees. */
char *base_quantity_readable(double value, BaseUnit unit);

/* seconds to picoseconds, to nearest, halves away from zero; beyond the range: SIM_TIME_NEVER, with its sign. Each flow
 * asks at each change of its rate: so these stand here, and round by hand (what is beyond 2^52 is whole already). */
static inline SimTime sim_time_from_seconds(double seconds) {
  double picoseconds = seconds * (double)SIM_SECOND;
  if (picoseconds <= -9.2e18)
    return -SIM_TIME_NEVER;
  if (!(picoseconds < 9.2e18))
    return SIM_TIME_NEVER;
  SimTime whole = (SimTime)picoseconds;
  double rest = picoseconds - (double)whole;
  return whole + (rest >= 0.5) - (rest <= -0.5);
}
static inline double sim_time_to_seconds(SimTime time) {
  return (double)time / (double)SIM_SECOND;
}

/* Sum of two times >= 0, SIM_TIME_NEVER where it passes the range. */
static inline SimTime sim_time_add(SimTime a, SimTime b) {
  return a > SIM_TIME_NEVER - b ? SIM_TIME_NEVER : a + b;
}

/* Time that `amount` (bytes, FLOP) takes at `rate` (per second, > 0), to nearest. Cost: one division. */
static inline SimTime sim_time_of_amount(double amount, double rate) {
  return sim_time_from_seconds(amount / rate);
}

/* a × b of sizes. Ranges of settings keep products inside 64 bits: one beyond is a broken contract, never a small
 * size. */
guint64 base_product(guint64 a, guint64 b);

/* For people. Caller frees. "12.345 ms" (us below a millisecond, s from ten seconds), "3.20 GiB", "1.50 GB", "46.0
 * GB/s". */
char *base_format_time(SimTime time);
char *base_format_gib(guint64 bytes);
/* "1.23 GiB", below one GiB "86.0 MiB". */
char *base_format_memory(guint64 bytes);
/* "6.74 B", "125 M", "2 T", "12". */
char *base_format_large(double count);
char *base_format_gb(guint64 bytes);
char *base_format_byte_rate(double bytes_per_second);
/* 6738415616 → "6 738 415 616". */
char *base_format_count(guint64 count);

/* In the units that people read, for columns of numbers. */
double base_in_gib(guint64 bytes);
double base_in_gb(double bytes);
double base_in_ms(SimTime time);
double base_in_us(SimTime time);
double base_in_gflop(double flops);
double base_in_tflops(double rate);
