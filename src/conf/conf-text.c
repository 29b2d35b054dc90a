/* SPDX-License-Identifier: MIT */
/* INI text: one walk over the lines finds every group, key and value, and where they stand. */
#include "conf-text.h"

#include <string.h>

#include "conf-file.h"

/* One block of memory with the texts behind it: a file has thousands. */
typedef struct {
  const char *group, *key;
  const char *name; /* "group.key" */
  const char *value;
  guint line, column;
} Entry;

typedef struct {
  char *name;
  guint line, column;
  GPtrArray *keys; /* of the entries, in order, borrowed; NULL-terminated once parsed */
} Group;

struct ConfText {
  char *file;
  gboolean budgets;    /* "<", ">", "!" may stand before "=": the operator's half is the end of the key */
  GPtrArray *names;    /* of groups, borrowed from `groups`; NULL-terminated once parsed */
  GHashTable *groups;  /* name → Group */
  GHashTable *entries; /* of Entry, by group and key */
};

static void group_free(gpointer data) {
  Group *group = data;
  g_ptr_array_unref(group->keys);
  g_free(group->name);
  g_free(group);
}

static guint entry_hash(gconstpointer data) {
  const Entry *entry = data;
  return g_str_hash(entry->group) * 31 + g_str_hash(entry->key);
}

static gboolean entry_equal(gconstpointer a, gconstpointer b) {
  const Entry *one = a, *other = b;
  return strcmp(one->key, other->key) == 0 && strcmp(one->group, other->group) == 0;
}

static Entry *entry_new(const Group *group, const char *key, const char *value, gsize value_length,
                        const BasePlace *at) {
  gsize group_length = strlen(group->name), key_length = strlen(key);
  Entry *entry = g_malloc(sizeof *entry + group_length + key_length + value_length + 3);
  char *name = (char *)(entry + 1), *text = name + group_length + key_length + 2;
  memcpy(name, group->name, group_length);
  name[group_length] = '.';
  memcpy(name + group_length + 1, key, key_length + 1);
  memcpy(text, value, value_length);
  text[value_length] = '\0';
  *entry = (Entry){group->name, name + group_length + 1, name, text, at->line, at->column};
  return entry;
}

void conf_text_free(ConfText *text) {
  if (text == NULL)
    return;
  g_hash_table_unref(text->entries);
  g_hash_table_unref(text->groups);
  g_ptr_array_unref(text->names);
  g_free(text->file);
  g_free(text);
}

static Entry *find_entry(const ConfText *text, const char *group, const char *key) {
  return g_hash_table_lookup(text->entries, &(Entry){.group = group, .key = key});
}

/* One line being read. `start` and `end` bound it without outer white space. */
typedef struct {
  const char *file;
  const char *begin, *start, *end;
  guint number;
} Line;

static BasePlace place_in(const Line *line, const char *at) {
  return (BasePlace){
      .file = line->file, .line = line->number, .column = (guint)g_utf8_pointer_to_offset(line->begin, at) + 1};
}

static gboolean is_comment(char letter) {
  return letter == '#' || letter == ';';
}

/* Where the comment begins, which white space precedes, or `end`; then back over the white space. */
static const char *comment_start(const char *from, const char *end) {
  const char *stop = from;
  while (stop < end && !(is_comment(*stop) && stop > from && g_ascii_isspace(stop[-1])))
    stop++;
  while (stop > from && g_ascii_isspace(stop[-1]))
    stop--;
  return stop;
}

typedef struct {
  const char *start, *end;
} Piece;

static Piece piece_stripped(const char *start, const char *end) {
  while (start < end && g_ascii_isspace(*start))
    start++;
  while (end > start && g_ascii_isspace(end[-1]))
    end--;
  return (Piece){start, end};
}

static gboolean read_group(ConfText *text, const Line *line, Group **ret, GError **error) {
  BasePlace place = place_in(line, line->start);
  const char *close = memchr(line->start, ']', (gsize)(line->end - line->start));
  if (close == NULL) {
    base_error_set_at(error, &place, "expected \"]\" at the end of the group \"%.*s\"", (int)(line->end - line->start),
                      line->start);
    return FALSE;
  }
  const char *rest = close + 1 + strspn(close + 1, " \t\r");
  if (rest < line->end && !is_comment(*rest)) {
    place = place_in(line, rest);
    base_error_set_at(error, &place, "expected the end of the line after \"%.*s\", found \"%.*s\"",
                      (int)(close + 1 - line->start), line->start, (int)(line->end - rest), rest);
    return FALSE;
  }
  g_autofree char *name = g_strstrip(g_strndup(line->start + 1, (gsize)(close - line->start - 1)));
  gboolean plain = *name != '\0' && strchr(name, '[') == NULL;
  for (const char *p = name; *p != '\0'; p++)
    plain &= !g_ascii_iscntrl(*p);
  if (!plain) {
    base_error_set_at(error, &place, "expected the name of a group in [ ], found \"%s\"", name);
    return FALSE;
  }
  const Group *first = g_hash_table_lookup(text->groups, name);
  if (first != NULL) {
    base_error_set_at(error, &place, "the group [%s] began already at line %u; keep its keys together there", name,
                      first->line);
    return FALSE;
  }
  Group *group = g_new0(Group, 1);
  group->name = g_steal_pointer(&name);
  group->line = place.line;
  group->column = place.column;
  group->keys = g_ptr_array_new();
  g_hash_table_insert(text->groups, group->name, group);
  g_ptr_array_add(text->names, group->name);
  *ret = group;
  return TRUE;
}

/* In quotes a value may hold anything. */
static gboolean read_quoted(const Line *line, const char *from, BasePlace *place, Piece *ret, GError **error) {
  const char *close = memchr(from + 1, *from, (gsize)(line->end - from - 1));
  if (close == NULL) {
    base_error_set_at(error, place, "the quote that opens here is not closed on its line");
    return FALSE;
  }
  const char *rest = close + 1 + strspn(close + 1, " \t\r");
  if (rest < line->end && !(is_comment(*rest) && rest > close + 1)) {
    place->column = place_in(line, rest).column;
    base_error_set_at(error, place, "expected the end of the line after %.*s, found \"%.*s\"", (int)(close + 1 - from),
                      from, (int)(line->end - rest), rest);
    return FALSE;
  }
  *ret = piece_stripped(from + 1, close);
  return TRUE;
}

/* A value ends at its comment. */
static gboolean read_value(const Line *line, const char *from, const Group *group, const char *key, Piece *ret,
                           GError **error) {
  if (from < line->end && (*from == '"' || *from == '\'')) {
    g_autofree char *name = g_strconcat(group->name, ".", key, NULL);
    BasePlace place = place_in(line, from);
    place.key = name;
    return read_quoted(line, from, &place, ret, error);
  }
  gboolean empty = from > line->begin && g_ascii_isspace(from[-1]) && from < line->end && is_comment(*from);
  *ret = (Piece){from, empty ? from : comment_start(from, line->end)};
  return TRUE;
}

/* Which habit the person follows that is not ours. */
static gboolean fail_line(const Line *line, GError **error) {
  BasePlace place = place_in(line, line->start);
  const char *stop = comment_start(line->start, line->end);
  g_autofree char *found = g_strndup(line->start, (gsize)(stop - line->start));
  const char *advice = "";
  if (*found == '{')
    advice = "; is this a JSON file?";
  else if (*found == '<')
    advice = "; is this an XML file?";
  else if (strchr(found, ':') != NULL)
    advice = "; write \"=\" in place of \":\"";
  base_error_set_at(error, &place, "expected \"[group]\" or \"key = value\", found \"%s\"%s", found, advice);
  return FALSE;
}

static gboolean read_key(ConfText *text, const Line *line, Group *group, GError **error) {
  const char *stop = comment_start(line->start, line->end);
  const char *equals = memchr(line->start, '=', (gsize)(stop - line->start));
  gboolean bare = equals == NULL && text->budgets && strcspn(line->start, "<>") < (gsize)(stop - line->start);
  if (equals == NULL && !bare)
    return fail_line(line, error);
  if (bare)
    equals = stop;
  BasePlace place = place_in(line, line->start);
  g_autofree char *key = g_strchomp(g_strndup(line->start, (gsize)(equals - line->start)));
  if (*key == '\0' || strpbrk(key, text->budgets ? "[]:\"'{}" : "[]<>!:\"'{}") != NULL) {
    base_error_set_at(error, &place, "expected \"key = value\", found \"%.*s\"", (int)(stop - line->start),
                      line->start);
    return FALSE;
  }
  if (group == NULL) {
    base_error_set_at(error, &place, "the key \"%s\" stands before any [group]", key);
    return FALSE;
  }
  const Entry *first = find_entry(text, group->name, key);
  if (first != NULL) {
    place.key = first->name;
    base_error_set_at(error, &place, "given twice, first at line %u (%s)", first->line, first->value);
    return FALSE;
  }
  const char *from = bare ? stop : equals + 1;
  while (from < line->end && g_ascii_isspace(*from))
    from++;
  Piece value = {stop, stop};
  if (!bare && !read_value(line, from, group, key, &value, error))
    return FALSE;
  Entry *entry = entry_new(group, key, value.start, (gsize)(value.end - value.start), &place);
  g_hash_table_add(text->entries, entry);
  g_ptr_array_add(group->keys, (gpointer)entry->key);
  return TRUE;
}

static gboolean read_lines(ConfText *text, const char *data, gsize length, GError **error) {
  Group *group = NULL;
  Line line = {.file = text->file, .begin = data};
  for (const char *end = data + length; line.begin < end;) {
    const char *feed = memchr(line.begin, '\n', (gsize)(end - line.begin));
    line.number++;
    line.start = line.begin;
    line.end = feed != NULL ? feed : end;
    while (line.start < line.end && g_ascii_isspace(*line.start))
      line.start++;
    while (line.end > line.start && g_ascii_isspace(line.end[-1]))
      line.end--;
    if (line.start < line.end && *line.start == '[') {
      if (!read_group(text, &line, &group, error))
        return FALSE;
    } else if (line.start < line.end && !is_comment(*line.start)) {
      if (!read_key(text, &line, group, error))
        return FALSE;
    }
    line.begin = feed != NULL ? feed + 1 : end;
  }
  g_ptr_array_add(text->names, NULL);
  for (guint g = 0; g + 1 < text->names->len; g++) {
    const Group *each = g_hash_table_lookup(text->groups, g_ptr_array_index(text->names, g));
    g_ptr_array_add(each->keys, NULL);
  }
  return TRUE;
}

static ConfText *parse(const char *name, const char *data, gsize length, gboolean budgets, GError **error) {
  gsize taken_length = 0;
  g_autofree char *taken = conf_file_take(name, data, length, &taken_length, error);
  if (taken == NULL)
    return NULL;
  g_autoptr(ConfText) text = g_new0(ConfText, 1);
  text->file = g_strdup(name);
  text->budgets = budgets;
  text->names = g_ptr_array_new();
  text->groups = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, group_free);
  text->entries = g_hash_table_new_full(entry_hash, entry_equal, g_free, NULL);
  return read_lines(text, taken, taken_length, error) ? g_steal_pointer(&text) : NULL;
}

ConfText *conf_text_parse(const char *name, const char *data, gsize length, GError **error) {
  return parse(name, data, length, FALSE, error);
}

static ConfText *load(const char *path, gboolean budgets, GError **error) {
  gsize length = 0;
  g_autofree char *data = conf_file_read(path, &length, error);
  return data != NULL ? parse(path, data, length, budgets, error) : NULL;
}

ConfText *conf_text_load(const char *path, GError **error) {
  return load(path, FALSE, error);
}

ConfText *conf_text_load_budgets(const char *path, GError **error) {
  return load(path, TRUE, error);
}

const char *conf_text_file(const ConfText *text) {
  return text->file;
}

const char *const *conf_text_groups(const ConfText *text) {
  return (const char *const *)text->names->pdata;
}

const char *const *conf_text_keys(const ConfText *text, const char *group) {
  const Group *found = g_hash_table_lookup(text->groups, group);
  return found != NULL ? (const char *const *)found->keys->pdata : NULL;
}

const char *conf_text_get(const ConfText *text, const char *group, const char *key) {
  const Entry *entry = find_entry(text, group, key);
  return entry != NULL ? entry->value : NULL;
}

void conf_text_place(const ConfText *text, const char *group, const char *key, BasePlace *ret) {
  const Group *found = g_hash_table_lookup(text->groups, group);
  const Entry *entry = key != NULL ? find_entry(text, group, key) : NULL;
  *ret = (BasePlace){.file = text->file};
  if (entry != NULL) {
    ret->line = entry->line;
    ret->column = entry->column;
    ret->key = entry->name;
  } else if (found != NULL) {
    ret->line = found->line;
    ret->column = found->column;
  }
}
