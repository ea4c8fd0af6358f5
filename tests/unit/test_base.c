/* test_base.c: strings, vectors, numbers and files of src/base. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void str_grows_and_stays_terminated(void **state) {
  (void)state;
  struct hd_str b;
  hd_str_init(&b);
  assert_string_equal(b.s, "");
  for (int i = 0; i < 1000; i++) hd_str_addf(&b, "%d,", i % 10);
  assert_int_equal(b.n, 2000);
  assert_int_equal(strlen(b.s), 2000);
  hd_str_clear(&b);
  hd_str_add(&b, "x");
  hd_str_addc(&b, 'y');
  char *taken = hd_str_take(&b);
  assert_string_equal(taken, "xy");
  assert_null(b.s);
  free(taken);
}

static void quoting_is_what_a_shell_reads_back(void **state) {
  (void)state;
  static const struct {
    const char *word, *quoted;
  } cases[] = {
      {"plain-1.c", "plain-1.c"}, {"", "''"}, {"a b", "'a b'"}, {"it's", "'it'\\''s'"}, {"$x", "'$x'"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hd_str b;
    hd_str_init(&b);
    hd_str_add_quoted(&b, cases[i].word);
    assert_string_equal(b.s, cases[i].quoted);
    hd_str_fini(&b);
  }
}

static void utf8_is_kept_and_nothing_else(void **state) {
  (void)state;
  static const struct {
    const char *bytes, *clean;
  } cases[] = {{"a\tb\nc", "a\tb\nc"},
               {"\x1b[1m\r\x7f", "?[1m??"},
               {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
               {"\xff\xfe", "??"},
               {"\xc3", "?"},                /* cut */
               {"\xe2\x82", "??"},           /* cut */
               {"\xc0\xaf", "??"},           /* overlong */
               {"\xe0\x80\xaf", "???"},      /* overlong */
               {"\xf0\x80\x80\xaf", "????"}, /* overlong */
               {"\xed\xa0\x80", "???"},      /* surrogate */
               {"\xf4\x90\x80\x80", "????"}, /* beyond the last one */
               {"\xef\xbf\xbf", "???"},      /* not in XML */
               {"\xc2\x9b"
                "1m",
                "??1m"}}; /* a terminal's control sequence */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hd_str b;
    hd_str_init(&b);
    hd_str_add_utf8(&b, cases[i].bytes);
    assert_string_equal(b.s, cases[i].clean);
    hd_str_fini(&b);
  }
}

static void vectors_keep_their_items(void **state) {
  (void)state;
  HD_VEC(int) v = {0};
  for (int i = 0; i < 1000; i++) hd_vec_push(&v, i * 3);
  assert_int_equal(v.n, 1000);
  for (int i = 0; i < 1000; i++) assert_int_equal(v.v[i], i * 3);
  hd_vec_free(&v);
  assert_null(v.v);
}

static void numbers_are_digits_only(void **state) {
  (void)state;
  uint64_t n = 7;
  assert_true(hd_parse_u64("0", 10, 10, &n) && n == 0);
  assert_true(hd_parse_u64("18446744073709551615", 10, UINT64_MAX, &n) && n == UINT64_MAX);
  assert_true(hd_parse_u64("ff", 16, 255, &n) && n == 255);
  static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1a", "18446744073709551616"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_false(hd_parse_u64(bad[i], 10, UINT64_MAX, &n));
  assert_false(hd_parse_u64("11", 10, 10, &n));
  assert_false(hd_parse_u64("FF", 16, 255, &n));
}

static void absolute_paths(void **state) {
  (void)state;
  static const struct {
    const char *cwd, *name, *want;
  } cases[] = {{"/a", "b", "/a/b"},
               {"/a", "./b", "/a/b"},
               {"/", "b", "/b"},
               {"/a", "/b", "/b"},
               {"/a", "../b", "/a/../b"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *got = hd_absolute(cases[i].cwd, cases[i].name);
    assert_string_equal(got, cases[i].want);
    free(got);
  }
}

static void files_come_back_as_written(void **state) {
  (void)state;
  char dir[] = "/tmp/heddle-test-XXXXXX";
  assert_non_null(mkdtemp(dir));
  char *path = hd_sprintf("%s/f", dir), *data;
  struct hd_err err;
  size_t len;
  assert_int_equal(hd_write_file_atomic(path, "a\0b", 3, &err), HD_OK);
  assert_int_equal(hd_read_file(path, 100, &data, &len, &err), HD_OK);
  assert_int_equal(len, 3);
  assert_memory_equal(data, "a\0b", 4); /* and a terminating NUL */
  free(data);
  assert_int_equal(hd_read_file(path, 2, &data, &len, &err), HD_EENV);
  assert_non_null(strstr(err.text, "larger than 2 bytes"));
  hd_remove_folder(dir);
  assert_int_equal(access(dir, F_OK), -1);
  assert_int_equal(hd_read_file(path, 2, &data, &len, &err), HD_EENV);
  assert_non_null(strstr(err.text, path));
  /* A write that cannot succeed leaves nothing behind. */
  assert_int_equal(hd_write_file_atomic(path, "x", 1, &err), HD_EENV);
  free(path);
}

static void errors_carry_code_and_text(void **state) {
  (void)state;
  struct hd_err err;
  assert_int_equal(hd_fail(&err, HD_EUSAGE, "%s %d", "x", 3), HD_EUSAGE);
  assert_int_equal(-err.code, 2);
  assert_string_equal(err.text, "x 3");
}

static void mistyped_names_are_recognised(void **state) {
  (void)state;
  static const char *const names[] = {"check", "cc", "run", "max-executions", "max-length"};
  static const struct {
    const char *word, *meant;
  } cases[] = {{"chek", "check"},
               {"hceck", "check"},
               {"checks", "check"},
               {"max-len", "max-length"},
               {"max-exections", "max-executions"},
               {"frobnicate", NULL},
               {"x", NULL},
               {"", NULL},
               {"ru", "run"},
               {"rnu", "run"},
               {"all", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hd_near n = {.word = cases[i].word, .len = strlen(cases[i].word)};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) hd_near_try(&n, names[k]);
    if (cases[i].meant)
      assert_string_equal(n.best, cases[i].meant);
    else
      assert_null(n.best);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mistyped_names_are_recognised),
      cmocka_unit_test(str_grows_and_stays_terminated),
      cmocka_unit_test(quoting_is_what_a_shell_reads_back),
      cmocka_unit_test(utf8_is_kept_and_nothing_else),
      cmocka_unit_test(vectors_keep_their_items),
      cmocka_unit_test(numbers_are_digits_only),
      cmocka_unit_test(absolute_paths),
      cmocka_unit_test(files_come_back_as_written),
      cmocka_unit_test(errors_carry_code_and_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
