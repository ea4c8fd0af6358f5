/* test_roles.c: chains of reads and writes, and the roles of threads that k-means finds by them. */
#include "analysis/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Accesses as letters: r, w. */
static void accesses(struct hd_roles *r, unsigned thread, const char *text) {
  for (; *text; text++) hd_roles_access(r, thread, *text == 'w');
}

static void assert_near(double a, double b) { assert_true(a - b < 1e-9 && b - a < 1e-9); }

static void a_chain_has_the_shares_of_transitions(void **state) {
  (void)state;
  struct hd_roles r = {0};
  accesses(&r, 0, "rrrwrwwr"); /* rr rr rw wr rw ww wr */
  accesses(&r, 1, "www");
  accesses(&r, 2, "");
  accesses(&r, 3, "r");
  hd_roles_cluster(&r);
  const double *p = r.thread.v[0].chain;
  assert_near(p[0], 2 / 4.0);
  assert_near(p[1], 2 / 4.0);
  assert_near(p[2], 2 / 3.0);
  assert_near(p[3], 1 / 3.0);
  assert_int_equal(r.thread.v[0].count[0], 5);
  assert_int_equal(r.thread.v[0].count[1], 3);
  /* What never happened is as likely to go on either way. */
  p = r.thread.v[1].chain;
  assert_near(p[0], 0.5);
  assert_near(p[1], 0.5);
  assert_near(p[2], 0);
  assert_near(p[3], 1);
  for (int i = 0; i < 4; i++) assert_near(r.thread.v[3].chain[i], 0.5);
  hd_roles_fini(&r);
}

static void threads_that_behave_alike_have_one_role(void **state) {
  (void)state;
  static const char *const text[] = {"rrrrrrrr",     "rwrwrwrw", "wwwrwwww",
                                     "rwrwrwrwrwrw", "wwwwrwww", "rwrwrwrr"};
  static const unsigned want[] = {1, 2, 3, 2, 3, 2}, function[] = {0, 1, 2, 1, 2, 1},
                        other[] = {0, 0, 1, 1, 2, 2};
  struct hd_roles r = {0};
  for (unsigned t = 0; t < 6; t++) accesses(&r, t, text[t]);
  hd_roles_cluster(&r);
  assert_int_equal(r.k, 3);
  for (unsigned t = 0; t < 6; t++) assert_int_equal(r.thread.v[t].role, want[t]);
  assert_true(r.homogeneity < 0.1 && r.separation > 0.5);
  assert_near(hd_roles_rand(&r, function), 1);
  assert_near(hd_roles_rand(&r, other), 8 / 15.0);
  hd_roles_fini(&r);
}

static void equal_threads_are_one_role(void **state) {
  (void)state;
  struct hd_roles r = {0};
  for (unsigned t = 0; t < 5; t++) accesses(&r, t, "rwwr");
  hd_roles_cluster(&r);
  assert_int_equal(r.k, 1);
  assert_near(r.homogeneity, 0);
  assert_near(r.separation, 0);
  hd_roles_fini(&r);
  r = (struct hd_roles){0};
  hd_roles_cluster(&r); /* nothing ran */
  assert_int_equal(r.k, 0);
  hd_roles_fini(&r);
}

/* max(ceil(sqrt(n/2)), 3), and no more than there are threads. */
static void how_many_roles(void **state) {
  (void)state;
  static const unsigned want[][2] = {{1, 1},  {2, 2},  {3, 3},  {18, 3}, {19, 4},
                                     {32, 4}, {33, 5}, {50, 5}, {51, 6}, {1000, 23}};
  for (unsigned i = 0; i < sizeof want / sizeof *want; i++)
    assert_int_equal(hd_roles_wanted(want[i][0]), want[i][1]);
}

/* Only accesses to memory count; a read-modify-write is a read and a write. */
static void events_count_by_their_effect(void **state) {
  (void)state;
  static const int kind[] = {HD_OP_READ, HD_OP_LOCK, HD_OP_WRITE, HD_OP_ARMW, HD_OP_UNLOCK};
  struct hd_event e[5];
  struct hd_roles r = {0};
  memset(e, 0, sizeof e);
  for (int i = 0; i < 5; i++) e[i].op.kind = (uint8_t)kind[i], e[i].op.thread = 1;
  hd_roles_events(&r, e, 5);
  assert_int_equal(r.thread.n, 2);
  assert_int_equal(r.thread.v[1].count[0], 2);
  assert_int_equal(r.thread.v[1].count[1], 2);
  assert_int_equal(r.thread.v[1].next[0][1], 2);
  assert_int_equal(r.thread.v[1].next[1][0], 1);
  hd_roles_fini(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_has_the_shares_of_transitions),
      cmocka_unit_test(threads_that_behave_alike_have_one_role),
      cmocka_unit_test(equal_threads_are_one_role),
      cmocka_unit_test(how_many_roles),
      cmocka_unit_test(events_count_by_their_effect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
