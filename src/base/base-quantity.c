/* SPDX-License-Identifier: MIT */
/* Unit factors and number text: nothing else in the tree multiplies by 1e9 or 1024. */
#include "base-quantity.h"

#include <math.h>
#include <string.h>

#include "base-decimal.h"
#include "base-error.h"

/* A unit is worth scale × 10^power. The power is joined to the digits before they are read, so "2.5 us", "2500 ns" and
 * 2.5e-6 are one double. */
typedef struct {
  BaseUnit unit;
  const char *name;
  int power;
  double scale;
  gboolean alias; /* read, never written */
} UnitName;

#define KI  1024.0
#define BIT 0.125

static const UnitName unit_names[] = {
    {BASE_UNIT_NONE, "", 0, 1},
    {BASE_UNIT_NONE, "%", -2, 1, TRUE},
    {BASE_UNIT_NONE, "k", 3, 1, TRUE},
    {BASE_UNIT_NONE, "M", 6, 1, TRUE},
    {BASE_UNIT_NONE, "G", 9, 1, TRUE},
    {BASE_UNIT_NONE, "B", 9, 1, TRUE},
    {BASE_UNIT_NONE, "T", 12, 1, TRUE},
    {BASE_UNIT_BYTES, "B", 0, 1},
    {BASE_UNIT_BYTES, "kB", 3, 1},
    {BASE_UNIT_BYTES, "MB", 6, 1},
    {BASE_UNIT_BYTES, "GB", 9, 1},
    {BASE_UNIT_BYTES, "TB", 12, 1},
    {BASE_UNIT_BYTES, "KiB", 0, KI},
    {BASE_UNIT_BYTES, "MiB", 0, KI *KI},
    {BASE_UNIT_BYTES, "GiB", 0, KI *KI *KI},
    {BASE_UNIT_BYTES, "TiB", 0, KI *KI *KI *KI},
    {BASE_UNIT_BYTE_RATE, "B/s", 0, 1},
    {BASE_UNIT_BYTE_RATE, "kB/s", 3, 1},
    {BASE_UNIT_BYTE_RATE, "MB/s", 6, 1},
    {BASE_UNIT_BYTE_RATE, "GB/s", 9, 1},
    {BASE_UNIT_BYTE_RATE, "TB/s", 12, 1},
    {BASE_UNIT_BYTE_RATE, "KiB/s", 0, KI},
    {BASE_UNIT_BYTE_RATE, "MiB/s", 0, KI *KI},
    {BASE_UNIT_BYTE_RATE, "GiB/s", 0, KI *KI *KI},
    {BASE_UNIT_BYTE_RATE, "TiB/s", 0, KI *KI *KI *KI},
    {BASE_UNIT_BYTE_RATE, "kb/s", 3, BIT, TRUE},
    {BASE_UNIT_BYTE_RATE, "Mb/s", 6, BIT, TRUE},
    {BASE_UNIT_BYTE_RATE, "Gb/s", 9, BIT, TRUE},
    {BASE_UNIT_BYTE_RATE, "Tb/s", 12, BIT, TRUE},
    {BASE_UNIT_FLOP_RATE, "FLOP/s", 0, 1},
    {BASE_UNIT_FLOP_RATE, "MFLOP/s", 6, 1},
    {BASE_UNIT_FLOP_RATE, "GFLOP/s", 9, 1},
    {BASE_UNIT_FLOP_RATE, "TFLOP/s", 12, 1},
    {BASE_UNIT_FLOP_RATE, "PFLOP/s", 15, 1},
    {BASE_UNIT_FLOP_RATE, "FLOPS", 0, 1, TRUE},
    {BASE_UNIT_FLOP_RATE, "MFLOPS", 6, 1, TRUE},
    {BASE_UNIT_FLOP_RATE, "GFLOPS", 9, 1, TRUE},
    {BASE_UNIT_FLOP_RATE, "TFLOPS", 12, 1, TRUE},
    {BASE_UNIT_FLOP_RATE, "PFLOPS", 15, 1, TRUE},
    {BASE_UNIT_POWER, "W", 0, 1},
    {BASE_UNIT_POWER, "kW", 3, 1},
    {BASE_UNIT_TIME, "ps", -12, 1},
    {BASE_UNIT_TIME, "ns", -9, 1},
    {BASE_UNIT_TIME, "us", -6, 1},
    {BASE_UNIT_TIME, "ms", -3, 1},
    {BASE_UNIT_TIME, "s", 0, 1},
    {BASE_UNIT_TIME, "min", 0, 60},
    {BASE_UNIT_TIME, "h", 0, 3600},
    {BASE_UNIT_MONEY, "USD", 0, 1},
};

static const char *const unit_examples[] = {
    [BASE_UNIT_NONE] = "0.8 or 12 %",
    [BASE_UNIT_BYTES] = "80 GiB or 25 MB",
    [BASE_UNIT_BYTE_RATE] = "450 GB/s or 400 Gb/s",
    [BASE_UNIT_FLOP_RATE] = "989.4 TFLOP/s",
    [BASE_UNIT_POWER] = "700 W",
    [BASE_UNIT_TIME] = "2.5 us",
    [BASE_UNIT_MONEY] = "2.95 USD",
};

static const char *const unit_bases[] = {
    [BASE_UNIT_NONE] = "",          [BASE_UNIT_BYTES] = " B",
    [BASE_UNIT_BYTE_RATE] = " B/s", [BASE_UNIT_FLOP_RATE] = " FLOP/s",
    [BASE_UNIT_POWER] = " W",       [BASE_UNIT_TIME] = " s",
    [BASE_UNIT_MONEY] = " USD",
};

const char *base_unit_example(BaseUnit unit) {
  return unit_examples[unit];
}

static const UnitName *unit_lookup(BaseUnit unit, const char *name) {
  for (gsize i = 0; i < G_N_ELEMENTS(unit_names); i++)
    if (unit_names[i].unit == unit && strcmp(unit_names[i].name, name) == 0)
      return &unit_names[i];
  return NULL;
}

/* "GB/s or Gb/s" for "gb/s", "Gb/s" for "Gbps"; else all units that fit. */
static char *unit_advice(BaseUnit unit, const char *suffix) {
  g_autofree char *meant = g_strdup(suffix);
  gsize length = strlen(meant);
  if (unit == BASE_UNIT_BYTE_RATE && length > 2 && g_ascii_strcasecmp(meant + length - 2, "ps") == 0)
    memcpy(meant + length - 2, "/s", 2);
  const UnitName *exact = unit_lookup(unit, meant);
  if (exact != NULL)
    return g_strdup_printf("did you mean \"%s\"?", exact->name);
  g_autoptr(GString) near = g_string_new(NULL);
  g_autoptr(GString) all = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(unit_names); i++) {
    const UnitName *each = &unit_names[i];
    if (each->unit != unit || *each->name == '\0')
      continue;
    g_string_append_printf(all, "%s%s", all->len > 0 ? ", " : "", each->name);
    if (g_ascii_strcasecmp(each->name, meant) == 0)
      g_string_append_printf(near, "%s\"%s\"", near->len > 0 ? " or " : "", each->name);
  }
  if (near->len > 0)
    return g_strdup_printf("did you mean %s?", near->str);
  return g_strdup_printf("write for example %s (units: %s)", unit_examples[unit], all->str);
}

gboolean base_quantity_parse(const char *text, BaseUnit unit, double *ret, GError **error) {
  g_autofree char *clean = g_strstrip(g_strdup(text));
  char *end = NULL;
  double number = base_decimal_read(clean, 0, &end);
  if (end == clean || !isfinite(number) || g_ascii_tolower(*end) == 'x') {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected a number such as %s, found \"%s\"", unit_examples[unit],
                clean);
    return FALSE;
  }
  const char *suffix = end + strspn(end, " \t");
  const UnitName *found = unit_lookup(unit, suffix);
  if (found == NULL && *suffix == '\0') {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" lacks a unit: write for example %s", clean,
                unit_examples[unit]);
    return FALSE;
  }
  if (found == NULL) {
    g_autofree char *advice = unit_advice(unit, suffix);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is no unit here (in \"%s\"): %s", suffix, clean, advice);
    return FALSE;
  }
  double value = found->power == 0 ? number : base_decimal_read(clean, found->power, NULL);
  value *= found->scale;
  if (!isfinite(value)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is too large to be a number here", clean);
    return FALSE;
  }
  *ret = value;
  return TRUE;
}

/* Whole numbers as digits, others with as few digits as read back. */
static char *number_text(double value) {
  value += 0.0; /* -0 is 0 */
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  if (fabs(value) < 1e15 && value == floor(value))
    return g_strdup(g_ascii_formatd(number, sizeof number, "%.0f", value));
  static const char *const formats[] = {"%.15g", "%.16g", "%.17g"}; /* 15 digits come back as they are, without zeros */
  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
    g_ascii_formatd(number, sizeof number, formats[i], value);
    if (g_ascii_strtod(number, NULL) == value)
      break;
  }
  return g_strdup(number);
}

char *base_quantity_canonical(double value, BaseUnit unit) {
  g_autofree char *number = number_text(value);
  return g_strconcat(number, unit_bases[unit], NULL);
}

char *base_quantity_readable(double value, BaseUnit unit) {
  g_autofree char *digits = number_text(value);
  char *best = base_quantity_canonical(value, unit);
  for (gsize i = 0; i < G_N_ELEMENTS(unit_names); i++) {
    const UnitName *each = &unit_names[i];
    if (each->unit != unit || each->alias || *each->name == '\0')
      continue;
    g_autofree char *number = number_text(base_decimal_read(digits, -each->power, NULL) / each->scale);
    g_autofree char *text = g_strdup_printf("%s %s", number, each->name);
    double back;
    if (strlen(text) < strlen(best) && base_quantity_parse(text, unit, &back, NULL) && back == value) {
      g_free(best);
      best = g_steal_pointer(&text);
    }
  }
  return best;
}

guint64 base_product(guint64 a, guint64 b) {
  guint64 product = 0;
  gboolean over = __builtin_mul_overflow(a, b, &product);
  sim_require(!over, 0, NULL, "%" G_GUINT64_FORMAT " times %" G_GUINT64_FORMAT " is no size", a, b);
  return product;
}

char *base_format_time(SimTime time) {
  SimTime size = ABS(time);
  if (size != 0 && size < SIM_MILLISECOND)
    return g_strdup_printf("%.2f us", (double)time / (double)SIM_MICROSECOND);
  if (size < 10 * SIM_SECOND)
    return g_strdup_printf("%.2f ms", (double)time / (double)SIM_MILLISECOND);
  return g_strdup_printf("%.3f s", sim_time_to_seconds(time));
}

char *base_format_gib(guint64 bytes) {
  return g_strdup_printf("%.2f GiB", (double)bytes / (KI * KI * KI));
}

char *base_format_gb(guint64 bytes) {
  return g_strdup_printf("%.2f GB", (double)bytes / 1e9);
}

char *base_format_memory(guint64 bytes) {
  return base_in_gib(bytes) >= 1 ? base_format_gib(bytes) : g_strdup_printf("%.1f MiB", (double)bytes / (KI * KI));
}

char *base_format_large(double count) {
  static const struct {
    double size;
    const char *letter;
  } scales[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}};
  for (gsize i = 0; i < G_N_ELEMENTS(scales); i++)
    if (count >= scales[i].size)
      return g_strdup_printf("%.3g %s", count / scales[i].size, scales[i].letter);
  return g_strdup_printf("%.0f", count);
}

char *base_format_byte_rate(double bytes_per_second) {
  return g_strdup_printf("%.1f GB/s", bytes_per_second / 1e9);
}

char *base_format_count(guint64 count) {
  g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, count);
  gsize length = strlen(digits);
  GString *text = g_string_sized_new(length + length / 3);
  for (gsize i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0)
      g_string_append_c(text, ' ');
    g_string_append_c(text, digits[i]);
  }
  return g_string_free(text, FALSE);
}

double base_in_gib(guint64 bytes) {
  return (double)bytes / (KI * KI * KI);
}

double base_in_gb(double bytes) {
  return bytes / 1e9;
}

double base_in_ms(SimTime time) {
  return (double)time / (double)SIM_MILLISECOND;
}

double base_in_us(SimTime time) {
  return (double)time / (double)SIM_MICROSECOND;
}

double base_in_gflop(double flops) {
  return flops / 1e9;
}

double base_in_tflops(double rate) {
  return rate / 1e12;
}
