/* toml.c: reads TOML 1.0. Runs in the supervisor.
 *
 * Written by hand: no C library in Debian reads TOML, and the others do not report the line and column of a key or
 * value, which a message about a wrong value needs. Strict: refuses everything that the standard forbids, and also a
 * string with a NUL in it and arrays nested more than MAX_DEPTH deep.
 *
 *   1. r->p never passes r->end, which points at a NUL.
 *   2. Only take_newline consumes newlines, so that r->line is right; columns are counted from r->column_at.
 *   3. A table is `defined` once its header or braces were read, and `dotted` once a dotted key added to it: neither
 *      can be defined again, and dotted keys cannot add to a defined one. It is `closed` after its braces: nothing can
 *      be added. An array is `of` tables when [[ ]] created it: only those grow. */
#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64

struct reader {
  const char *p, *end;
  const char *column_at; /* a place in the line, before p ... */
  int line, column;      /* ... and its position */
  const char *name;
  struct hd_err *err;
  int depth;
};

struct mark {
  int line, column;
};

/* A part of a key with dots. */
struct part {
  char *name;
  struct mark at;
};
struct parts {
  HD_VEC(struct part) part;
};

static struct hd_toml *read_value(struct reader *r);

/* ---- places and messages ---- */

static struct mark here(struct reader *r) {
  for (; r->column_at < r->p; r->column_at++) r->column += ((unsigned char)r->column_at[1] & 0xc0) != 0x80;
  return (struct mark){r->line, r->column};
}

void hd_toml_fail(struct hd_err *err, const char *name, int line, int column, const char *fmt, va_list ap) {
  struct hd_str text, plain;
  hd_str_init(&text);
  hd_str_init(&plain);
  hd_str_vaddf(&text, fmt, ap);
  hd_str_add_utf8(&plain, text.s); /* an escape can stand for any character */
  for (char *c = plain.s; *c; c++)
    if (*c == '\n' || *c == '\t') *c = ' ';
  hd_fail(err, HD_EUSAGE, "%s:%d:%d: %s", name, line, column, plain.s);
  hd_str_fini(&plain);
  hd_str_fini(&text);
}

HD_PRINTF(3, 4) static void fail_at(struct reader *r, struct mark at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  hd_toml_fail(r->err, r->name, at.line, at.column, fmt, ap);
  va_end(ap);
}
#define fail(r, ...) fail_at(r, here(r), __VA_ARGS__)

static bool at_newline(const struct reader *r) {
  return *r->p == '\n' || (r->p[0] == '\r' && r->p[1] == '\n');
}

/* Describes the text at `p`, for messages. */
static const char *found(const struct reader *r, char out[16]) {
  unsigned char c = (unsigned char)*r->p;
  if (r->p == r->end) return "the end of the file";
  if (at_newline(r)) return "the end of the line";
  if (c < ' ' || c == 0x7f)
    snprintf(out, 16, "byte %#04x", c);
  else
    snprintf(out, 16, "'%.*s'", (int)hd_utf8_length(r->p), r->p);
  return out;
}

/* ---- blanks, comments, lines ---- */

static void skip_blanks(struct reader *r) {
  while (*r->p == ' ' || *r->p == '\t') r->p++;
}

static void take_newline(struct reader *r) {
  r->p += *r->p == '\r' ? 2 : 1;
  r->line++;
  r->column = 1;
  r->column_at = r->p;
}

/* A character that comments and strings may not contain: a control character other than a tab. */
static bool is_control(const char *p) { return ((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f; }

static bool skip_comment(struct reader *r) {
  if (*r->p != '#') return true;
  while (r->p < r->end && !at_newline(r)) {
    char text[16];
    if (is_control(r->p)) return fail(r, "%s in a comment; remove it", found(r, text)), false;
    r->p++;
  }
  return true;
}

/* Between the values of an array. */
static bool skip_lines(struct reader *r) {
  for (;;) {
    skip_blanks(r);
    if (!skip_comment(r)) return false;
    if (!at_newline(r)) return true;
    take_newline(r);
  }
}

/* ---- strings ---- */

static void add_code_point(struct hd_str *out, uint32_t c) {
  if (c < 0x80) {
    hd_str_addc(out, (char)c);
  } else if (c < 0x800) {
    hd_str_addc(out, (char)(0xc0 | c >> 6));
    hd_str_addc(out, (char)(0x80 | (c & 0x3f)));
  } else {
    if (c < 0x10000) {
      hd_str_addc(out, (char)(0xe0 | c >> 12));
    } else {
      hd_str_addc(out, (char)(0xf0 | c >> 18));
      hd_str_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
    }
    hd_str_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
    hd_str_addc(out, (char)(0x80 | (c & 0x3f)));
  }
}

/* \uXXXX or \UXXXXXXXX. pre: `at` is its backslash, p is after the letter. */
static bool read_code_point(struct reader *r, struct mark at, int digits, struct hd_str *out) {
  uint32_t c = 0;
  for (int i = 0; i < digits; i++, r->p++) {
    if (!isxdigit((unsigned char)*r->p))
      return fail_at(r, at, "\\%c needs %d hexadecimal digits", digits == 4 ? 'u' : 'U', digits), false;
    int digit = tolower((unsigned char)*r->p);
    c = c << 4 | (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  }
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return fail_at(r, at, "no such character"), false;
  if (c == 0) return fail_at(r, at, "a string cannot have a NUL character in it here"), false;
  add_code_point(out, c);
  return true;
}

/* A backslash at the end of a line: everything up to the next visible character is skipped. */
static bool is_line_end(const struct reader *r) {
  const char *p = r->p + strspn(r->p, " \t");
  return *p == '\n' || (p[0] == '\r' && p[1] == '\n');
}

/* pre: p is after the backslash. */
static bool read_escape(struct reader *r, bool lines, struct hd_str *out) {
  static const char letter[] = "btnfr\"\\", meaning[] = "\b\t\n\f\r\"\\";
  struct mark at = here(r);
  at.column--;
  if (lines && is_line_end(r)) {
    for (;;) {
      skip_blanks(r);
      if (!at_newline(r)) return true;
      take_newline(r);
    }
  }
  const char *known = *r->p ? strchr(letter, *r->p) : NULL;
  if (known) {
    hd_str_addc(out, meaning[known - letter]);
    r->p++;
    return true;
  }
  if (*r->p == 'u' || *r->p == 'U') return read_code_point(r, at, *r->p++ == 'u' ? 4 : 8, out);
  fail_at(r, at, "unknown escape in a string; write \\\\ for a backslash, or use 'single quotes'");
  return false;
}

/* At quotes inside or at the end of a string of several lines. Returns 1 when they end it, -1 on an error. */
static int take_quotes(struct reader *r, char quote, struct hd_str *out) {
  size_t n = 0;
  while (r->p[n] == quote) n++;
  if (n > 5)
    return fail(r, "too many quotes; at most two can stand before the three that end the string"), -1;
  for (size_t i = 0; i < (n >= 3 ? n - 3 : n); i++) hd_str_addc(out, quote);
  r->p += n;
  return n >= 3;
}

/* Any of the four kinds. NULL after an error; the caller frees. `lines`: it may span several lines. */
static char *read_string(struct reader *r, bool lines) {
  struct mark begin = here(r);
  const char quote = *r->p;
  bool several = lines && r->p[1] == quote && r->p[2] == quote;
  struct hd_str out;
  hd_str_init(&out);
  r->p += several ? 3 : 1;
  if (several && at_newline(r)) take_newline(r);
  for (;;) {
    char text[16];
    if (r->p == r->end || (!several && at_newline(r))) {
      fail_at(r, begin,
              several ? "unterminated string; close it with %c%c%c" : "unterminated string; close it with %c",
              quote, quote, quote);
      break;
    }
    if (*r->p == quote) {
      int done = several ? take_quotes(r, quote, &out) : (r->p++, 1);
      if (done > 0) return hd_str_take(&out);
      if (done < 0) break;
    } else if (several && at_newline(r)) {
      hd_str_addc(&out, '\n');
      take_newline(r);
    } else if (*r->p == '\\' && quote == '"') {
      r->p++;
      if (!read_escape(r, several, &out)) break;
    } else if (is_control(r->p)) {
      fail(r, "%s in a string; write it as an escape, such as \\t or \\u001b", found(r, text));
      break;
    } else {
      hd_str_addc(&out, *r->p++);
    }
  }
  hd_str_fini(&out);
  return NULL;
}

/* ---- numbers, booleans, dates ---- */

/* A value other than a string, array or table. The blank between a date and its time is part of it. */
static char *take_word(struct reader *r) {
  static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_.:";
  const char *begin = r->p;
  r->p += strspn(r->p, chars);
  if (r->p - begin == 10 && hd__toml_after_date(begin) == r->p && *r->p == ' ' &&
      isdigit((unsigned char)r->p[1]))
    r->p += 1 + strspn(r->p + 1, chars);
  return hd_strndup(begin, (size_t)(r->p - begin));
}

static void drop_underscores(char *s) {
  char *to = s;
  for (; *s; s++)
    if (*s != '_') *to++ = *s;
  *to = '\0';
}

static bool set_integer(struct reader *r, struct hd_toml *v) {
  int base = hd__toml_base(v->text);
  errno = 0;
  v->integer = strtoll(v->text + (base == 10 ? 0 : 2), NULL, base);
  v->real = (double)v->integer;
  if (!errno) return true;
  fail_at(r, (struct mark){v->line, v->column}, "%s does not fit into 64 bits", v->text);
  return false;
}

static bool read_word(struct reader *r, struct hd_toml *v) {
  struct mark at = here(r);
  char seen[16];
  v->text = take_word(r);
  int type = hd__toml_word(v->text);
  if (type >= 0) {
    v->type = (enum hd_toml_type)type;
    if (type == HD_TOML_BOOLEAN) v->integer = v->text[0] == 't';
    if (type != HD_TOML_INTEGER && type != HD_TOML_FLOAT) return true;
    drop_underscores(v->text);
    if (type == HD_TOML_INTEGER) return set_integer(r, v);
    v->real = strtod(v->text, NULL);
    return true;
  }
  if (v->text[0])
    fail_at(r, at, "%.40s is not a value; text needs quotes: \"%.40s\"", v->text, v->text);
  else
    fail_at(r, at, "expected a value, found %s", found(r, seen));
  return false;
}

/* ---- tables ---- */

static struct hd_toml *new_value(enum hd_toml_type type, struct mark at) {
  struct hd_toml *v = hd_alloc(sizeof *v);
  v->type = type;
  v->line = at.line;
  v->column = at.column;
  return v;
}

struct hd_toml *hd_toml_get(const struct hd_toml *table, const char *key) {
  for (size_t i = 0; i < table->item.n; i++)
    if (strcmp(table->item.v[i]->key, key) == 0) return table->item.v[i];
  return NULL;
}

/* Takes over the name of the part. */
static struct hd_toml *put(struct hd_toml *table, struct part *part, struct hd_toml *v) {
  v->key = part->name;
  part->name = NULL;
  v->key_line = part->at.line;
  v->key_column = part->at.column;
  hd_vec_push(&table->item, v);
  return v;
}

static void free_parts(struct parts *k) {
  for (size_t i = 0; i < k->part.n; i++) free(k->part.v[i].name);
  hd_vec_free(&k->part);
}

static bool is_bare(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-'; }

/* a.b."c d" */
static bool read_key(struct reader *r, struct parts *k) {
  for (;;) {
    char seen[16];
    struct part part = {.at = here(r)};
    if (*r->p == '"' || *r->p == '\'') {
      part.name = read_string(r, false);
      if (!part.name) return false;
    } else {
      const char *begin = r->p;
      while (is_bare(*r->p)) r->p++;
      if (r->p == begin) return fail(r, "expected a key, found %s", found(r, seen)), false;
      part.name = hd_strndup(begin, (size_t)(r->p - begin));
    }
    hd_vec_push(&k->part, part);
    if (k->part.n > MAX_DEPTH) return fail(r, "more than %d tables inside each other", MAX_DEPTH), false;
    skip_blanks(r);
    if (*r->p != '.') return true;
    r->p++;
    skip_blanks(r);
  }
}

static void fail_twice(struct reader *r, const struct part *part, const struct hd_toml *first) {
  fail_at(r, part->at, "`%s` is defined twice, first on line %d; remove one of them", part->name,
          first->key_line);
}

/* The table that all parts except the last lead to. `header`: in [a.b], not in a.b = 1. */
static struct hd_toml *descend(struct reader *r, struct hd_toml *table, struct parts *k, bool header) {
  for (size_t i = 0; i + 1 < k->part.n; i++) {
    struct part *part = &k->part.v[i];
    struct hd_toml *next = hd_toml_get(table, part->name);
    if (!next) next = put(table, part, new_value(HD_TOML_TABLE, part->at));
    if (header && next->type == HD_TOML_ARRAY && next->of) next = next->item.v[next->item.n - 1];
    if (next->type != HD_TOML_TABLE) {
      fail_at(r, part->at, "`%s` is %s, not a table; see line %d", part->name, hd_toml_kind(next),
              next->line);
      return NULL;
    }
    if (next->closed || (!header && next->defined)) {
      fail_at(r, part->at, "the table `%s` of line %d cannot be extended here; write it there", part->name,
              next->line);
      return NULL;
    }
    next->dotted |= !header;
    table = next;
  }
  return table;
}

static bool read_pair(struct reader *r, struct hd_toml *table) {
  struct parts k = {0};
  char seen[16];
  bool ok = read_key(r, &k);
  if (ok && *r->p != '=') fail(r, "expected '=' after the key, found %s", found(r, seen)), ok = false;
  struct hd_toml *value = NULL;
  if (ok) {
    r->p++;
    skip_blanks(r);
    table = descend(r, table, &k, false);
    struct part *last = &k.part.v[k.part.n - 1];
    const struct hd_toml *first = table ? hd_toml_get(table, last->name) : NULL;
    if (first) fail_twice(r, last, first);
    value = table && !first ? read_value(r) : NULL;
    if (value) put(table, last, value);
  }
  free_parts(&k);
  return value;
}

/* [a.b] or [[a.b]]: the table that the next pairs go to. */
static struct hd_toml *read_header(struct reader *r, struct hd_toml *root) {
  struct mark at = here(r);
  bool array = r->p[1] == '[';
  struct parts k = {0};
  struct hd_toml *table = NULL;
  r->p += array ? 2 : 1;
  skip_blanks(r);
  bool ok = read_key(r, &k);
  if (ok && (*r->p != ']' || (array && r->p[1] != ']')))
    fail(r, "expected %s after the name of the table", array ? "]]" : "]"), ok = false;
  if (ok) {
    r->p += array ? 2 : 1;
    struct hd_toml *around = descend(r, root, &k, true);
    struct part *last = &k.part.v[k.part.n - 1];
    struct hd_toml *old = around ? hd_toml_get(around, last->name) : NULL;
    if (!around) {
    } else if (array && (!old || (old->type == HD_TOML_ARRAY && old->of))) {
      if (!old) {
        old = put(around, last, new_value(HD_TOML_ARRAY, at));
        old->of = true;
      }
      table = new_value(HD_TOML_TABLE, at);
      hd_vec_push(&old->item, table);
    } else if (!array && !old) {
      table = put(around, last, new_value(HD_TOML_TABLE, at));
    } else if (!array && old->type == HD_TOML_TABLE && !old->defined && !old->dotted && !old->closed) {
      table = old; /* [a.b] came before [a] */
    } else {
      fail_twice(r, last, old);
    }
  }
  if (table) table->defined = true;
  free_parts(&k);
  return table;
}

/* ---- arrays and tables in braces ---- */

static bool read_array(struct reader *r, struct hd_toml *v) {
  char seen[16];
  for (r->p++;;) {
    if (!skip_lines(r)) return false;
    if (*r->p == ']') return r->p++, true;
    if (r->p == r->end)
      return fail(r, "unterminated list, begun on line %d; close it with ]", v->line), false;
    struct hd_toml *item = read_value(r);
    if (!item) return false;
    hd_vec_push(&v->item, item);
    if (!skip_lines(r)) return false;
    if (*r->p == ',')
      r->p++;
    else if (*r->p != ']')
      return fail(r, "expected ',' or ']' in the list begun on line %d, found %s", v->line, found(r, seen)),
             false;
  }
}

static bool read_braces(struct reader *r, struct hd_toml *v) {
  char seen[16];
  r->p++;
  skip_blanks(r);
  if (*r->p == '}') return r->p++, true;
  for (;;) {
    if (at_newline(r)) return fail(r, "a table in braces has to be on one line"), false;
    if (!read_pair(r, v)) return false;
    skip_blanks(r);
    if (*r->p == '}') return r->p++, true;
    if (*r->p != ',') return fail(r, "expected ',' or '}' after a value, found %s", found(r, seen)), false;
    r->p++;
    skip_blanks(r);
  }
}

static void close_tables(struct hd_toml *t) {
  t->closed = true;
  for (size_t i = 0; i < t->item.n; i++) close_tables(t->item.v[i]);
}

/* NULL after an error. */
static struct hd_toml *read_value(struct reader *r) {
  struct hd_toml *v = new_value(HD_TOML_STRING, here(r));
  bool ok;
  if (++r->depth > MAX_DEPTH) {
    fail(r, "more than %d lists and tables inside each other", MAX_DEPTH);
    ok = false;
  } else if (*r->p == '"' || *r->p == '\'') {
    v->text = read_string(r, true);
    ok = v->text;
  } else if (*r->p == '[') {
    v->type = HD_TOML_ARRAY;
    ok = read_array(r, v);
  } else if (*r->p == '{') {
    v->type = HD_TOML_TABLE;
    v->defined = true;
    ok = read_braces(r, v);
    close_tables(v);
  } else {
    ok = read_word(r, v);
  }
  r->depth--;
  if (ok) return v;
  hd_toml_free(v);
  return NULL;
}

/* ---- the file ---- */

static bool check_text(struct reader *r) {
  const char *begin = r->p;
  bool ok = true;
  for (size_t n; ok && r->p < r->end; r->p += n) {
    n = *r->p ? hd_utf8_length(r->p) : 0;
    if (at_newline(r)) {
      take_newline(r);
      n = 0;
    } else if (n == 0) {
      fail(r, *r->p ? "not UTF-8 text; save the file as UTF-8" : "a NUL byte; this is not a text file");
      ok = false;
    }
  }
  r->p = r->column_at = begin;
  r->line = r->column = 1;
  return ok;
}

static bool read_file(struct reader *r, struct hd_toml *root) {
  struct hd_toml *table = root;
  char seen[16];
  while (skip_lines(r)) {
    if (r->p == r->end) return true;
    if (*r->p == '[')
      table = read_header(r, root);
    else if (!read_pair(r, table))
      return false;
    if (!table) return false;
    skip_blanks(r);
    if (!skip_comment(r)) return false;
    if (r->p < r->end && !at_newline(r))
      return fail(r, "expected the end of the line, found %s", found(r, seen)), false;
  }
  return false;
}

int hd_toml_parse(const char *text, size_t len, const char *name, struct hd_toml **out, struct hd_err *err) {
  char *copy = hd_alloc(len + 1); /* the text must end with a NUL */
  if (len) memcpy(copy, text, len);
  const char *begin = copy + (len >= 3 && memcmp(copy, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
  struct reader r = {
      .p = begin, .end = copy + len, .column_at = begin, .line = 1, .column = 1, .name = name, .err = err};
  struct hd_toml *root = new_value(HD_TOML_TABLE, (struct mark){1, 1});
  root->defined = true;
  bool ok = check_text(&r) && read_file(&r, root);
  free(copy);
  if (ok) return *out = root, HD_OK;
  hd_toml_free(root);
  return err->code;
}

void hd_toml_free(struct hd_toml *t) {
  if (!t) return;
  for (size_t i = 0; i < t->item.n; i++) hd_toml_free(t->item.v[i]);
  hd_vec_free(&t->item);
  free(t->key);
  free(t->text);
  free(t);
}

const char *hd_toml_kind(const struct hd_toml *t) {
  static const char *const name[] = {"a string", "a whole number", "a number", "true or false",
                                     "a date",   "a list",         "a table"};
  return name[t->type];
}
