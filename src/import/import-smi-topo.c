/* A matrix of relations to a tree: who is under one switch, under one tree of switches, in one socket. */
#include "import-smi-topo.h"

#include <string.h>

#include "base-names.h"
#include "import-banner.h"
#include "import-line.h"

typedef enum { REL_SELF, REL_NVLINK, REL_PIX, REL_PXB, REL_PHB, REL_NODE, REL_SYS } Relation;
static const char *const relations[] = {"X", "NV#", "PIX", "PXB", "PHB", "NODE", "SYS", NULL};

#define MOST_NVLINKS 64

typedef struct {
  guint links; /* of NV# */
  Relation relation;
} Cell;

typedef struct {
  char *name;
  gboolean gpu;
  char *cpus; /* "0-31,64-95"; NULL: not said */
  int numa;   /* -1: not said */
  guint line;
} Device;

typedef struct {
  const char *path;
  GArray *devices; /* Device, in order of the columns */
  Cell *cells;     /* [devices × devices] */
} Matrix;

static void device_clear(gpointer data) {
  g_free(((Device *)data)->name);
  g_free(((Device *)data)->cpus);
}

static Device *device_at(const Matrix *matrix, guint i) {
  return &g_array_index(matrix->devices, Device, i);
}

static const Cell *cell_at(const Matrix *matrix, guint a, guint b) {
  return &matrix->cells[a * matrix->devices->len + b];
}

static gboolean fail(const Matrix *matrix, guint line, GError **error, const char *format, ...) G_GNUC_PRINTF(4, 5);

static gboolean fail(const Matrix *matrix, guint line, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place = {.file = matrix->path, .line = line};
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

/* "GPU0", "NIC3", "mlx5_0": letters that end in a number. */
static gboolean is_device(const char *word) {
  gsize length = strlen(word);
  return length > 1 && g_ascii_isalpha(word[0]) && g_ascii_isdigit(word[length - 1]) && strchr(word, '#') == NULL;
}

/* The head: device names, of which the first is a GPU's. */
static gboolean read_head(Matrix *matrix, char **words) {
  if (words[0] == NULL || strcmp(words[0], "GPU0") != 0 || (words[1] != NULL && strcmp(words[1], "X") == 0))
    return FALSE;
  for (char **word = words; *word != NULL && is_device(*word); word++) {
    Device device = {.name = g_strdup(*word), .gpu = g_str_has_prefix(*word, "GPU"), .numa = -1};
    g_array_append_val(matrix->devices, device);
  }
  return TRUE;
}

static gboolean read_cell(const Matrix *matrix, const char *word, guint line, Cell *ret, GError **error) {
  guint64 links;
  if (g_str_has_prefix(word, "NV") && g_ascii_string_to_unsigned(word + 2, 10, 1, MOST_NVLINKS, &links, NULL)) {
    *ret = (Cell){(guint)links, REL_NVLINK};
    return TRUE;
  }
  int found = base_names_find(relations, strcmp(word, "SOC") == 0 ? "SYS" : word);
  if (found >= 0 && found != REL_NVLINK) {
    *ret = (Cell){0, (Relation)found};
    return TRUE;
  }
  if (strcmp(word, "MX") == 0)
    return fail(matrix, line, error, "\"MX\" is a link of MetaX GPUs (mx-smi): only NVIDIA's are modelled");
  if (g_str_has_prefix(word, "XGMI") || strcmp(word, "PCIE") == 0)
    return fail(matrix, line, error, "\"%s\" is a link of rocm-smi: AMD GPUs are not modelled yet", word);
  g_autofree char *names = base_names_join(relations);
  return fail(matrix, line, error, "no such relation \"%s\"; expected one of %s", word, names);
}

static gboolean read_row(Matrix *matrix, guint device, char **words, guint line, GError **error) {
  guint n = matrix->devices->len;
  if (device_at(matrix, device)->line != 0)
    return fail(matrix, line, error, "a second row of %s (the first in line %u)", words[0],
                device_at(matrix, device)->line);
  device_at(matrix, device)->line = line;
  for (guint i = 0; i < n; i++) {
    if (words[1 + i] == NULL)
      return fail(matrix, line, error, "the row of %s ends after %u of %u relations", words[0], i, n);
    if (!read_cell(matrix, words[1 + i], line, &matrix->cells[device * n + i], error))
      return FALSE;
    if ((cell_at(matrix, device, i)->relation == REL_SELF) != (i == device))
      return fail(matrix, line, error, "the row of %s has \"%s\" in the column of %s", words[0], words[1 + i],
                  device_at(matrix, i)->name);
  }
  /* CPU affinity, then the NUMA node: one number, where it is one. */
  guint64 numa;
  char **rest = words + 1 + n;
  if (rest[0] != NULL && g_ascii_isdigit(rest[0][0]))
    device_at(matrix, device)->cpus = g_strdup(rest[0]);
  if (rest[0] != NULL && rest[1] != NULL && g_ascii_string_to_unsigned(rest[1], 10, 0, 63, &numa, NULL))
    device_at(matrix, device)->numa = (int)numa;
  return TRUE;
}

static int find_device(const Matrix *matrix, const char *name) {
  for (guint i = 0; name != NULL && i < matrix->devices->len; i++)
    if (strcmp(device_at(matrix, i)->name, name) == 0)
      return (int)i;
  return -1;
}

static gboolean check_rows(const Matrix *matrix, GError **error) {
  guint n = matrix->devices->len;
  if (n == 0)
    return fail(matrix, 0, error, "holds no matrix of nvidia-smi topo -m: expected a line that begins with GPU0 GPU1");
  for (guint a = 0; a < n; a++) {
    if (device_at(matrix, a)->line == 0)
      return fail(matrix, 0, error, "%s has a column but no row", device_at(matrix, a)->name);
    for (guint b = 0; b < a; b++)
      if (cell_at(matrix, a, b)->relation != cell_at(matrix, b, a)->relation ||
          cell_at(matrix, a, b)->links != cell_at(matrix, b, a)->links)
        return fail(matrix, device_at(matrix, a)->line, error, "%s and %s are related otherwise in line %u",
                    device_at(matrix, a)->name, device_at(matrix, b)->name, device_at(matrix, b)->line);
  }
  return TRUE;
}

static gboolean read_matrix(Matrix *matrix, const char *text, GError **error) {
  g_autofree char *readable = g_utf8_make_valid(text, -1);
  g_auto(GStrv) lines = g_strsplit(readable, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    g_autofree char *plain = import_line_plain(lines[i]);
    g_auto(GStrv) words = import_words(plain);
    if (matrix->devices->len == 0) {
      if (read_head(matrix, words))
        matrix->cells = g_new0(Cell, (gsize)matrix->devices->len * matrix->devices->len);
      continue;
    }
    int device = find_device(matrix, words[0]);
    if (device >= 0 && words[1] != NULL && !read_row(matrix, (guint)device, words, i + 1, error))
      return FALSE;
  }
  return check_rows(matrix, error);
}

/* Devices that a relation up to `most` joins, by their least member. NVLink says nothing of PCI. */
static guint *joined(const Matrix *matrix, Relation most) {
  guint n = matrix->devices->len;
  guint *group = g_new(guint, n);
  for (guint i = 0; i < n; i++)
    group[i] = i;
  for (gboolean changed = TRUE; changed;) {
    changed = FALSE;
    for (guint a = 0; a < n; a++)
      for (guint b = 0; b < n; b++) {
        Relation relation = cell_at(matrix, a, b)->relation;
        if (relation >= REL_PIX && relation <= most && group[a] > group[b]) {
          group[a] = group[b];
          changed = TRUE;
        }
      }
  }
  return group;
}

/* GPUs that only NVLink relates are in one socket by their NUMA node or processors. */
static void join_by_affinity(const Matrix *matrix, guint *socket) {
  for (guint a = 0; a < matrix->devices->len; a++)
    for (guint b = 0; b < a; b++) {
      const Device *one = device_at(matrix, a), *other = device_at(matrix, b);
      gboolean numa = one->numa >= 0 && one->numa == other->numa;
      if (!numa && (one->cpus == NULL || g_strcmp0(one->cpus, other->cpus) != 0))
        continue;
      guint from = MAX(socket[a], socket[b]), to = MIN(socket[a], socket[b]);
      for (guint i = 0; i < matrix->devices->len; i++)
        socket[i] = socket[i] == from ? to : socket[i];
    }
}

static guint count_of(const guint *group, guint n, guint which) {
  guint count = 0;
  for (guint i = 0; i < n; i++)
    count += group[i] == which;
  return count;
}

typedef struct {
  ImportMachine *machine;
  guint *socket, *tree, *bridge; /* by device: the least device of its group */
  guint *place;                  /* by device: its part */
} Build;

static guint add_switch(ImportMachine *machine, guint parent) {
  return import_machine_add(machine, HW_PART_SWITCH, parent);
}

/* A group under one bridge is one switch; several bridges of a tree hang under one more. */
static void add_tree(const Matrix *matrix, Build *build, guint first, guint socket) {
  guint n = matrix->devices->len;
  gboolean deep = count_of(build->bridge, n, build->bridge[first]) < count_of(build->tree, n, first);
  gboolean alone = count_of(build->tree, n, first) == 1;
  guint top = alone ? socket : add_switch(build->machine, socket);
  g_autofree guint *under = g_new0(guint, n);
  for (guint i = 0; i < n; i++) {
    if (build->tree[i] != first)
      continue;
    guint bridge = build->bridge[i];
    if (bridge == i)
      under[i] = deep ? add_switch(build->machine, top) : top;
    build->place[i] =
        import_machine_add(build->machine, device_at(matrix, i)->gpu ? HW_PART_GPU : HW_PART_NIC, under[bridge]);
    import_machine_part(build->machine, build->place[i])->name = g_strdup(device_at(matrix, i)->name);
  }
}

static void add_sockets(const Matrix *matrix, Build *build) {
  guint n = matrix->devices->len, first_gpu = 0;
  g_autofree guint *part = g_new(guint, n);
  while (first_gpu + 1 < n && !device_at(matrix, first_gpu)->gpu)
    first_gpu++;
  for (guint i = 0; i < n; i++) {
    gboolean holds_gpu = FALSE;
    for (guint k = 0; k < n; k++)
      holds_gpu = holds_gpu || (build->socket[k] == build->socket[i] && device_at(matrix, k)->gpu);
    if (!holds_gpu) {
      import_machine_assume(build->machine, "%s sits at the socket of %s: it is near no GPU",
                            device_at(matrix, i)->name, device_at(matrix, first_gpu)->name);
      build->socket[i] = build->socket[first_gpu];
    }
    if (build->socket[i] == i)
      part[i] = import_machine_add(build->machine, HW_PART_SOCKET, IMPORT_NO_PART);
  }
  for (guint i = 0; i < n; i++)
    if (build->tree[i] == i)
      add_tree(matrix, build, i, part[build->socket[i]]);
}

static void add_nvlinks(const Matrix *matrix, const Build *build) {
  for (guint a = 0; a < matrix->devices->len; a++)
    for (guint b = a + 1; b < matrix->devices->len; b++) {
      const Cell *cell = cell_at(matrix, a, b);
      ImportPair pair = {build->place[a], build->place[b], cell->links};
      if (cell->relation == REL_NVLINK)
        g_array_append_val(build->machine->pairs, pair);
    }
}

static ImportMachine *machine_of(const Matrix *matrix) {
  guint n = matrix->devices->len;
  Build build = {.machine = import_machine_new(matrix->path, "a matrix of nvidia-smi topo -m"),
                 .socket = joined(matrix, REL_NODE),
                 .tree = joined(matrix, REL_PXB),
                 .bridge = joined(matrix, REL_PIX),
                 .place = g_new0(guint, n)};
  build.machine->knows_links = TRUE;
  join_by_affinity(matrix, build.socket);
  add_sockets(matrix, &build);
  add_nvlinks(matrix, &build);
  import_machine_assume(build.machine, "PCI links are as usual for these GPUs (topologies/catalog/machine.ini)");
  import_machine_drop_far_nics(build.machine);
  g_free(build.socket);
  g_free(build.tree);
  g_free(build.bridge);
  g_free(build.place);
  return build.machine;
}

ImportMachine *import_smi_topo_load(const char *path, GError **error) {
  g_autofree char *text = NULL;
  g_autoptr(GError) why = NULL;
  Matrix matrix = {.path = path};
  if (!g_file_get_contents(path, &text, NULL, &why)) {
    BasePlace place = {.file = path};
    base_error_set_at(error, &place, "cannot be read: %s", why->message);
    return NULL;
  }
  matrix.devices = g_array_new(FALSE, FALSE, sizeof(Device));
  g_array_set_clear_func(matrix.devices, device_clear);
  ImportMachine *machine = read_matrix(&matrix, text, error) ? machine_of(&matrix) : NULL;
  g_array_unref(matrix.devices);
  g_free(matrix.cells);
  return machine;
}
