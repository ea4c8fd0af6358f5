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

/* cmocka cuts its messages after 1,024 characters: the whole is printed here, and cmocka has what counts, for its XML
 * too. */
static inline void hd_cmocka_check(const char *file, int line, hd_truth complete, void (*body)(void *),
                                   void *arg, const struct hd_check_options *options) {
  struct hd_check_result r = hd_check(body, arg, options);
  if (hd_check_passed(&r) && !(complete && r.verdict == HD_CHECK_BOUNDED)) return;
  fflush(stdout);
  fputs(r.message, stderr);
  char text[900];
  if (r.findings)
    snprintf(text, sizeof text, "%s; %s", r.finding[0].title, r.finding[0].replay);
  else
    snprintf(text, sizeof text, "%.800s", r.message);
  _assert_true(0, text, file, line);
}

/* heddle_assert_passed(body, arg, options): fails the test when a schedule of body(arg) fails. */
#define heddle_assert_passed(...) hd_cmocka_check(__FILE__, __LINE__, 0, __VA_ARGS__)

/* heddle_assert_clean(body, arg, options): the same also when not every schedule was covered. Where nothing is searched,
 * there is nothing to cover. */
#define heddle_assert_clean(...) hd_cmocka_check(__FILE__, __LINE__, 1, __VA_ARGS__)

#endif
