/* test_undo.c: the log of file changes, also when it was written over. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/abi.h"
#include "abi/undo.h"

static struct hd_undo_log *new_log(void) {
  void *p =
      mmap(NULL, HD_UNDO_CAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_true(p != MAP_FAILED);
  return p;
}

static void free_log(struct hd_undo_log *log) { munmap(log, HD_UNDO_CAP); }

static void add(struct hd_undo_log *log, unsigned kind, const char *path, const char *data, size_t n) {
  struct hd_undo_rec *r = hd_undo_add(log, kind, path, n);
  assert_non_null(r);
  struct stat st = {.st_mode = 0600, .st_uid = getuid(), .st_gid = getgid()};
  hd_undo_stat(r, &st);
  if (n) memcpy(hd_undo_data(r), data, n);
  hd_undo_commit(log, r);
}

static char folder[] = "/tmp/heddle-undo-XXXXXX";

static const char *in(const char *name) {
  static char path[4][100];
  static int next;
  char *p = path[next++ % 4];
  snprintf(p, 100, "%s/%s", folder, name);
  return p;
}

static void put(const char *name, const char *text) {
  FILE *f = fopen(in(name), "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void has(const char *name, const char *text) {
  char buf[100] = "";
  FILE *f = fopen(in(name), "r");
  assert_non_null(f);
  size_t n = fread(buf, 1, sizeof buf - 1, f);
  buf[n] = 0;
  fclose(f);
  assert_string_equal(buf, text);
}

static void test_order(void **state) {
  (void)state;
  struct hd_undo_log *log = new_log();
  put("a", "old");
  /* a was written, renamed to b, and a new a was made */
  add(log, HD_UNDO_FILE, in("a"), "old", 3);
  add(log, HD_UNDO_RENAME, in("a"), in("b"), strlen(in("b")) + 1);
  add(log, HD_UNDO_REMOVE, in("a"), NULL, 0);
  put("b", "changed and longer");
  put("a", "new");
  assert_int_equal(hd_undo_all(log, NULL, 0), 0);
  has("a", "old");
  assert_int_equal(access(in("b"), F_OK), -1);
  assert_int_equal(log->last, 0);
  assert_int_equal(hd_undo_all(log, NULL, 0), 0); /* nothing is left */
  free_log(log);
}

static void test_drop(void **state) {
  (void)state;
  struct hd_undo_log *log = new_log();
  put("c", "stays");
  add(log, HD_UNDO_REMOVE, in("other"), NULL, 0);
  add(log, HD_UNDO_REMOVE, in("c"), NULL, 0);
  hd_undo_drop(log);
  assert_int_equal(hd_undo_all(log, NULL, 0), 0);
  has("c", "stays");
  free_log(log);
}

static void test_failure_is_told(void **state) {
  (void)state;
  struct hd_undo_log *log = new_log();
  char what[200] = "";
  add(log, HD_UNDO_REMOVE, in("d"), NULL, 0);
  add(log, HD_UNDO_FILE, in("no/such/folder"), "x", 1);
  put("d", "x");
  assert_int_equal(hd_undo_all(log, what, sizeof what), ENOENT);
  assert_string_equal(what, in("no/such/folder"));
  assert_int_equal(access(in("d"), F_OK), -1); /* the rest was done all the same */
  free_log(log);
}

static void test_too_much(void **state) {
  (void)state;
  struct hd_undo_log *log = new_log();
  assert_null(hd_undo_add(log, HD_UNDO_FILE, "/x", HD_UNDO_CAP));
  assert_null(hd_undo_add(log, HD_UNDO_FILE, "/x", UINT64_MAX - 8));
  assert_int_equal(log->last, 0);
  free_log(log);
}

static void test_damaged(void **state) {
  (void)state;
  put("e", "kept");
  for (int how = 0; how < 8; how++) {
    struct hd_undo_log *log = new_log();
    add(log, HD_UNDO_REMOVE, in("e"), NULL, 0);
    struct hd_undo_rec *r = (struct hd_undo_rec *)((char *)log + log->last);
    switch (how) {
      case 0: log->last = HD_UNDO_CAP - 4; break;
      case 1: log->last = 3; break;
      case 2: r->size = UINT64_MAX; break;
      case 3: r->prev = log->last; break; /* would never end */
      case 4: r->path_len = UINT64_MAX; break;
      case 5: r->path[r->path_len - 1] = 'x'; break;
      case 6: r->path[0] = 'x'; break; /* not absolute: somewhere else for the supervisor */
      case 7: r->data_len = 1ull << 60; break;
    }
    assert_int_equal(hd_undo_all(log, NULL, 0), EINVAL);
    assert_int_equal(log->last, 0);
    has("e", "kept");
    free_log(log);
  }
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),    cmocka_unit_test(test_drop),    cmocka_unit_test(test_failure_is_told),
      cmocka_unit_test(test_too_much), cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
