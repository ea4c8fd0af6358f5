/* test_toml.c: the reader of TOML: values, tables, and where what is wrong stands. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hd_err err;

static struct hd_toml *parse(const char *text) {
  struct hd_toml *t = NULL;
  err.text[0] = '\0';
  if (hd_toml_parse(text, strlen(text), "x.toml", &t, &err) != HD_OK) return NULL;
  return t;
}

static struct hd_toml *accepted(const char *text) {
  struct hd_toml *t = parse(text);
  if (!t) fail_msg("%s: %s", text, err.text);
  return t;
}

/* The text is refused there, for a reason that has these words. */
static void refused(const char *text, int line, int column, const char *words) {
  struct hd_toml *t = parse(text);
  char *where = hd_sprintf("x.toml:%d:%d: ", line, column);
  if (t) fail_msg("accepted: %s", text);
  if (strncmp(err.text, where, strlen(where)) != 0 || !strstr(err.text, words))
    fail_msg("%s\nexpected %s...%s... but: %s", text, where, words, err.text);
  assert_int_equal(err.code, HD_EUSAGE);
  free(where);
}

/* What `v` of the text is. */
static void is_string(const char *text, const char *want) {
  struct hd_toml *t = accepted(text), *v = hd_toml_get(t, "v");
  assert_true(v && v->type == HD_TOML_STRING);
  assert_string_equal(v->text, want);
  hd_toml_free(t);
}

static void is_integer(const char *text, int64_t want) {
  struct hd_toml *t = accepted(text), *v = hd_toml_get(t, "v");
  assert_true(v && v->type == HD_TOML_INTEGER && v->integer == want);
  hd_toml_free(t);
}

static void is_float(const char *text, double want) {
  struct hd_toml *t = accepted(text), *v = hd_toml_get(t, "v");
  assert_true(v && v->type == HD_TOML_FLOAT && v->real == want);
  hd_toml_free(t);
}

static void is_of_type(const char *text, enum hd_toml_type want) {
  struct hd_toml *t = accepted(text), *v = hd_toml_get(t, "v");
  assert_true(v && v->type == want);
  hd_toml_free(t);
}

static void strings(void **state) {
  (void)state;
  is_string("v = \"a\\tb\\\"\\\\ \\u00e9 \\U0001F600\"", "a\tb\"\\ \xc3\xa9 \xf0\x9f\x98\x80");
  is_string("v = 'C:\\n'", "C:\\n");
  is_string("v = ''", "");
  is_string("v = \"\"\"\none\r\ntwo\"\"\"", "one\ntwo");
  is_string("v = \"\"\"one \\  \n\n   two\"\"\"", "one two");
  is_string("v = '''it's\nso'''", "it's\nso");
  is_string("v = \"\"\"quoted: \"\"yes\"\"\"\"\"", "quoted: \"\"yes\"\"");
  is_string("\xef\xbb\xbfv = 'after a byte order mark'", "after a byte order mark");
  refused("v = \"abc", 1, 5, "close it with \"");
  refused("a = 1\nv = \"abc\nb = 2", 2, 5, "close it with \"");
  refused("v = '''abc\n\n", 1, 5, "close it with '''");
  refused("v = \"a\\qb\"", 1, 7, "unknown escape");
  refused("v = \"\\u12\"", 1, 6, "4 hexadecimal digits");
  refused("v = \"\\ud800\"", 1, 6, "no such character");
  refused("v = \"\\u0000\"", 1, 6, "NUL");
  refused("v = \"\x01\"", 1, 6, "byte 0x01");
  refused("v = \"\"\"a\"\"\"\"\"\"", 1, 9, "too many quotes");
}

static void numbers(void **state) {
  (void)state;
  is_integer("v = 42", 42);
  is_integer("v = -1_000", -1000);
  is_integer("v = +0", 0);
  is_integer("v = 0xDead_beef", 0xdeadbeef);
  is_integer("v = 0o755", 0755);
  is_integer("v = 0b101", 5);
  is_integer("v = -9223372036854775808", INT64_MIN);
  is_float("v = 1.5", 1.5);
  is_float("v = 5e+2", 500);
  is_float("v = -0.25E-1", -0.025);
  is_float("v = -inf", -1.0 / 0.0);
  refused("v = 9223372036854775808", 1, 5, "64 bits");
  const char *const none[] = {"v = 01", "v = 1__0", "v = _1",   "v = 1_",  "v = .5",   "v = 5.", "v = 1e",
                              "v = 0x", "v = +0x1", "v = 1.e1", "v = 0b2", "v = 1._5", "v = -"};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) refused(none[i], 1, 5, "is not a value");
}

static void other_values(void **state) {
  (void)state;
  is_of_type("v = true", HD_TOML_BOOLEAN);
  const char *const date[] = {"v = 1979-05-27T07:32:00Z", "v = 1979-05-27 07:32:00.999-07:00",
                              "v = 1979-05-27T07:32:00", "v = 2024-02-29", "v = 07:32:00.5"};
  for (size_t i = 0; i < sizeof date / sizeof date[0]; i++) is_of_type(date[i], HD_TOML_DATE);
  refused("v = 2023-02-29", 1, 5, "is not a value");
  refused("v = 24:00:00", 1, 5, "is not a value");
  refused("v = optimal", 1, 5, "needs quotes: \"optimal\"");
  refused("v = True", 1, 5, "is not a value");
  refused("v =", 1, 4, "the end of the file");
  refused("v = # nothing\n", 1, 5, "expected a value");
  struct hd_toml *t = accepted("v = [ 1, # one\n  'two',\n  [3],\n]");
  struct hd_toml *v = hd_toml_get(t, "v");
  assert_int_equal(v->item.n, 3);
  assert_true(v->item.v[1]->line == 2 && v->item.v[1]->column == 3);
  hd_toml_free(t);
  refused("v = [1 2]", 1, 8, "expected ',' or ']'");
  refused("v = [1,\n\n", 3, 1, "line 1");
  refused("v = {a = 1,\nb = 2}", 1, 12, "on one line");
  refused("v = {a = 1", 1, 11, "expected ',' or '}'");
}

static void tables(void **state) {
  (void)state;
  struct hd_toml *t =
      accepted("top = 1\n[a.b]\nc = 2\n[a]\nd.e = 3\n[[q]]\nn = 1\n[[q]]\n[q.s]\nn = 2\n\"x y\".z = 4\n");
  assert_int_equal(hd_toml_get(hd_toml_get(hd_toml_get(t, "a"), "b"), "c")->integer, 2);
  assert_int_equal(hd_toml_get(hd_toml_get(hd_toml_get(t, "a"), "d"), "e")->integer, 3);
  struct hd_toml *q = hd_toml_get(t, "q");
  assert_true(q->type == HD_TOML_ARRAY && q->item.n == 2);
  assert_true(hd_toml_get(q->item.v[0], "n") && !hd_toml_get(q->item.v[1], "n"));
  struct hd_toml *s = hd_toml_get(q->item.v[1], "s");
  assert_int_equal(hd_toml_get(s, "n")->key_line, 10);
  assert_int_equal(hd_toml_get(hd_toml_get(s, "x y"), "z")->column, 11);
  hd_toml_free(t);
  refused("a = 1\n  a = 2", 2, 3, "`a` is defined twice, first on line 1");
  refused("[a]\n[b]\n[a]", 3, 2, "twice, first on line 1");
  refused("a = 1\n[a]", 2, 2, "twice");
  refused("a = 1\n[a.b]", 2, 2, "is a whole number, not a table");
  refused("a = [1]\n[[a]]", 2, 3, "twice");
  refused("a = {b = 1}\n[a.c]", 2, 2, "cannot be extended here");
  refused("a = {b = 1}\na.c = 2", 2, 1, "cannot be extended here");
  refused("[a.b]\n[a]\nb.c = 1", 3, 1, "cannot be extended here");
  refused("[a]\nb.c = 1\n[a.b]", 3, 4, "twice");
  refused("[[a]]\n[a]", 2, 2, "twice");
}

static void lines(void **state) {
  (void)state;
  hd_toml_free(accepted(""));
  hd_toml_free(accepted("# only\n\n  \t\r\n# this"));
  refused("a = 1 b = 2", 1, 7, "expected the end of the line, found 'b'");
  refused("\n[a\nb = 1", 2, 3, "expected ]");
  refused("[[a]\n", 1, 4, "expected ]]");
  refused("a\n", 1, 2, "expected '='");
  refused("= 1", 1, 1, "expected a key");
  refused("a. = 1", 1, 4, "expected a key");
  refused("\xc3\xa9 = 1", 1, 1, "expected a key, found '\xc3\xa9'");
  refused("a = '\xc3\xa9\xc3\xa9' x", 1, 10, "found 'x'"); /* columns are of characters */
  refused("a = '\xff'", 1, 6, "UTF-8");
  refused("# \x02", 1, 3, "byte 0x02");
  refused("a = 1\rb = 2", 1, 6, "byte 0x0d");
  struct hd_toml *t;
  assert_int_equal(hd_toml_parse("a = 1\n\0", 7, "x.toml", &t, &err), HD_EUSAGE);
  assert_string_equal(err.text, "x.toml:2:1: a NUL byte; this is not a text file");
  struct hd_str deep;
  hd_str_init(&deep);
  hd_str_add(&deep, "a = ");
  for (int i = 0; i < 100000; i++) hd_str_addc(&deep, '[');
  refused(deep.s, 1, 69, "inside each other");
  hd_str_fini(&deep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings), cmocka_unit_test(numbers), cmocka_unit_test(other_values),
      cmocka_unit_test(tables),  cmocka_unit_test(lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
