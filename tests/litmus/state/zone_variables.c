// The variables that functions for local time set: reading them beside such a function is a race, if it changes them.
// native: no
// expect: kind=data-race
// argv: timezone
// expect: kind=data-race
// argv: daylight
// expect: kind=data-race
// argv: tzname
// expect: clean executions=20
// argv: both
#include "litmus.h"

static const char *what;

static void *use(void *arg)
{
  time_t t = 0;
  struct tm d = {.tm_year = 100, .tm_mday = 1};
  if (!strcmp(what, "timezone")) mktime(&d);
  if (!strcmp(what, "daylight")) tzset();
  if (!strcmp(what, "tzname")) localtime_r(&t, &d);
  if (!strcmp(what, "both")) mktime(&d);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  what = argv[1];
  setenv("TZ", "EST5EDT", 1);
  pthread_t t = spawn(use, NULL);
  if (!strcmp(what, "timezone")) assert(timezone >= 0);
  if (!strcmp(what, "daylight")) assert(daylight >= 0);
  if (!strcmp(what, "tzname")) assert(tzname[0]);
  if (!strcmp(what, "both")) use(NULL);
  join(t);
  return 0;
}
