/* heddle_cmocka.h: hd_check for cmocka.
 *
 *   static void test_cache(void **state) { heddle_assert_clean(body, *state, NULL); }
 *
 * Failed assertions of cmocka in the body, in any thread, are findings. Include it after cmocka.h, which needs
 * four headers before it. */
#ifndef HEDDLE_CMOCKA_H
#define HEDDLE_CMOCKA_H

#include <stdio.h>

#include "heddle.h"

/* cmocka truncates messages at 1,024 characters, so the whole message is printed here and cmocka gets the essential part,
 * also for its XML. */
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

/* heddle_assert_clean(body, arg, options): also fails it when not every schedule was covered. If nothing is
 * searched, coverage is not required. */
#define heddle_assert_clean(...) hd_cmocka_check(__FILE__, __LINE__, 1, __VA_ARGS__)

#endif
