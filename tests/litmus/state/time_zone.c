// The time zone changes while another thread converts a time: the hour depends on the order. Right: it was set before.
// expect: kind=assertion
// argv: late
// where: function=main line=@hour
// expect: exact executions=1
// argv: early
#include <stdlib.h>
#include <string.h>

#include "litmus.h"

static int late;

static void *setter(void *arg)
{
  if (!late) return arg;
  setenv("TZ", "XYZ5", 1);
  tzset();
  return arg;
}

int main(int argc, char **argv)
{
  struct tm tm;
  time_t zero = 0;
  char text[8];
  late = argc > 1 && !strcmp(argv[1], "late");
  setenv("TZ", "UTC0", 1);
  tzset();
  pthread_t t = spawn(setter, NULL);
  localtime_r(&zero, &tm);
  assert(tm.tm_hour == 0); /* @hour */
  strftime(text, sizeof text, "%H", &tm);
  join(t);
  return 0;
}
