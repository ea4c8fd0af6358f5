/* heddle_cmocka.h: hd_check for cmocka.
 *
 *   static void test_cache(void **state) { heddle_assert_clean(body, *state, NULL); }
 *
 * Failed assertions of cmocka in the body, in whatever thread, are findings. Include it after cmocka.h, which wants
 * four headers before itself. */
#ifndef HEDDLE_CMOCKA_H
#define HEDDLE_CMOCKA_H

#include <stdio.h>

#include "heddle.h"

/* cmocka cuts its messages after 1,024 characters: the whole is printed here, and cmocka has what counts. */
static inline void hd_cmocka_check(void (*body)(void *), void *arg, const struct hd_check_options *options,
                                   hd_truth complete, const char *file, int line) {
  struct hd_check_result r = hd_check(body, arg, options);
  if (hd_check_passed(&r) && !(complete && r.verdict == HD_CHECK_BOUNDED)) return;
  fflush(stdout);
  fputs(r.message, stderr);
  if (r.findings)
    print_error("%s; %s\n", r.finding[0].title, r.finding[0].replay);
  else
    print_error("%.900s", r.message);
  _fail(file, line);
}

/* Fails the test when a schedule of body(arg) fails. */
#define heddle_assert_passed(body, arg, options) hd_cmocka_check(body, arg, options, 0, __FILE__, __LINE__)

/* The same also when not every schedule was covered. Where nothing is searched, there is nothing to cover. */
#define heddle_assert_clean(body, arg, options) hd_cmocka_check(body, arg, options, 1, __FILE__, __LINE__)

#endif
