/* SPDX-License-Identifier: MIT */
/* "Input Dims" and "Input type" of an operation to a KernelOp. */
#include "import-kineto-shapes.h"

#include <string.h>

#include "import-kineto-rates.h"

/* ---- Arguments ---- */

#define BETWEEN   ", \t\r\n"
#define MOST_SIDE ((guint64)1 << 31)
#define MOST_ALL  ((guint64)1 << 50) /* bytes of one operation's tensors */
#define STREAMS   ((guint64)4 << 20) /* fewer fit into any GPU's L2 */

/* The n-th of "[[8, 1024], [], [4]]" or of "[\"float\", \"\"]"; NULL: there are not so many. */
static const char *argument(const char *list, guint n) {
  const char *at = list + (*list == '[');
  int depth = 0;
  gboolean quoted = FALSE;
  at += strspn(at, BETWEEN);
  for (; n > 0 && *at != '\0'; at++) {
    quoted ^= *at == '"';
    depth += quoted ? 0 : (*at == '[') - (*at == ']');
    if (!quoted && depth == 0 && *at == ',')
      n--;
  }
  at += strspn(at, BETWEEN);
  return n == 0 && *at != '\0' && *at != ']' ? at : NULL;
}

/* Of "[8, 1024]" the sides, at most `most`; returns how many. */
static guint sides_of(const char *dims, guint64 *ret, guint most) {
  guint found = 0;
  if (dims == NULL || *dims != '[')
    return 0;
  for (const char *at = dims + 1 + strspn(dims + 1, BETWEEN); found < most && g_ascii_isdigit(*at);) {
    char *end;
    ret[found++] = g_ascii_strtoull(at, &end, 10);
    at = end + strspn(end, BETWEEN);
  }
  return found;
}

static guint64 type_bytes(const ImportKinetoEvent *event, guint n) {
  const char *type = argument(event->types->str, n);
  return type != NULL && *type == '"' ? import_kineto_dtype_bytes(type + 1) : 0;
}

/* ---- Matmuls ---- */

/* -1: none that the kernel model has. */
static int dtype_of(const char *types) {
  static const struct {
    const char *part;
    KernelDtype dtype;
  } known[] = {{"BFloat16", KERNEL_BF16}, {"Half", KERNEL_FP16}, {"float", KERNEL_FP32}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (strstr(types, known[i].part) != NULL)
      return (int)known[i].dtype;
  return -1;
}

static gboolean read_matmul(const ImportKinetoEvent *event, KernelOp *ret) {
  static const struct {
    const char *name;
    guint first, dims; /* which argument is the left matrix; of how many dimensions both are */
  } known[] = {{"aten::mm", 0, 2}, {"aten::addmm", 1, 2}, {"aten::bmm", 0, 3}, {"aten::baddbmm", 1, 3}};
  guint64 a[4], b[4];
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
    guint dims = known[i].dims, first = known[i].first;
    if (strcmp(event->name->str, known[i].name) != 0)
      continue;
    int dtype = dtype_of(event->types->str);
    if (dtype < 0 || sides_of(argument(event->dims->str, first), a, 4) != dims ||
        sides_of(argument(event->dims->str, first + 1), b, 4) != dims)
      return FALSE;
    guint64 batch = dims == 3 ? a[0] : 1, m = a[dims - 2], k = a[dims - 1], n = b[dims - 1];
    if (k != b[dims - 2] || (dims == 3 && a[0] != b[0]) || MAX(MAX(m, n), MAX(k, batch)) >= MOST_SIDE)
      return FALSE;
    double bytes = (double)batch * (double)(m * k + k * n + m * n) * kernel_dtype_bytes((KernelDtype)dtype);
    *ret = (KernelOp){.kind = KERNEL_MATMUL,
                      .dtype = (KernelDtype)dtype,
                      .batch = batch,
                      .m = m,
                      .n = n,
                      .k = k,
                      .flops = 2 * (double)batch * (double)m * (double)n * (double)k,
                      .bytes = bytes < (double)MOST_ALL ? (guint64)bytes : 0};
    return ret->flops >= IMPORT_KINETO_MATMUL;
  }
  return FALSE;
}

/* ---- What streams ---- */

typedef struct {
  const char *name;
  KernelKind kind;
  KernelPass pass;
} Stream;

static const Stream *find_stream(const char *name) {
  static const Stream known[] = {{"aten::add", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::add_", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::sub", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::mul", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::mul_", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::div", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::div_", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::relu", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::relu_", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::clamp_min", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::clamp_min_", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::gelu", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::silu", KERNEL_MEMORY, KERNEL_FORWARD},
                                 {"aten::threshold_backward", KERNEL_MEMORY, KERNEL_DGRAD},
                                 {"aten::gelu_backward", KERNEL_MEMORY, KERNEL_DGRAD},
                                 {"aten::silu_backward", KERNEL_MEMORY, KERNEL_DGRAD},
                                 {"aten::native_layer_norm", KERNEL_NORM, KERNEL_FORWARD},
                                 {"aten::native_layer_norm_backward", KERNEL_NORM, KERNEL_DGRAD}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (strcmp(name, known[i].name) == 0)
      return &known[i];
  return NULL;
}

#define DIMS_MOST 16

/* Elements of an argument; 0: no tensor, or too large for one. */
static guint64 elements_of(const char *dims) {
  guint64 sides[DIMS_MOST], product = 1;
  guint n = sides_of(dims, sides, DIMS_MOST);
  for (guint i = 0; i < n; i++)
    if (!g_uint64_checked_mul(&product, product, sides[i]) || product > MOST_ALL)
      return 0;
  return n > 0 ? product : 0;
}

/* Whether two arguments have the same sides. */
static gboolean same_sides(const char *list, guint one, guint other) {
  guint64 a[DIMS_MOST], b[DIMS_MOST];
  guint n = sides_of(argument(list, one), a, DIMS_MOST);
  return n == sides_of(argument(list, other), b, DIMS_MOST) && memcmp(a, b, n * sizeof *a) == 0;
}

/* One that is stretched over another, or lies across it, is read at less than the bandwidth. */
static gboolean lie_alike(const ImportKinetoEvent *event, guint one, guint other) {
  return same_sides(event->dims->str, one, other) &&
         (event->strides->len == 0 || same_sides(event->strides->str, one, other));
}

/* Every tensor is read once, and one like the largest is written. */
static gboolean read_stream(const ImportKinetoEvent *event, KernelOp *ret) {
  const Stream *stream = find_stream(event->name->str);
  guint64 bytes = 0, largest = 0;
  gint first = -1;
  const char *dims;
  for (guint n = 0; stream != NULL && (dims = argument(event->dims->str, n)) != NULL; n++) {
    guint64 elements = elements_of(dims), width = type_bytes(event, n);
    if (elements > 0 && width == 0)
      return FALSE;
    if (elements > 0 && first < 0)
      first = (gint)n;
    if (elements > 0 && stream->kind == KERNEL_MEMORY && !lie_alike(event, (guint)first, n))
      return FALSE;
    bytes += elements * width;
    largest = MAX(largest, elements * width);
    if (bytes > MOST_ALL)
      return FALSE;
  }
  if (bytes + largest < STREAMS)
    return FALSE;
  *ret = (KernelOp){.kind = stream->kind, .pass = stream->pass, .batch = 1, .bytes = bytes + largest};
  return TRUE;
}

void import_kineto_keep_shaped(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at) {
  ImportKinetoShaped shaped = {.at = at, .thread = import_kineto_number(event->tid)};
  if (read_matmul(event, &shaped.op) || read_stream(event, &shaped.op))
    g_array_append_val(trace->shaped, shaped);
}
