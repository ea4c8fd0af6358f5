// Loops that spin until something happens or their time is over: they end, by either. Nobody sets the flag: by time. The
// other thread may be late, and may not ("set" and "late" are wrong assumptions).
// expect: clean
// argv: monotonic alone
// expect: kind=assertion
// argv: monotonic set
// expect: kind=assertion
// argv: monotonic late
// expect: clean
// argv: gettimeofday alone
// expect: kind=assertion
// argv: gettimeofday set
// expect: kind=assertion
// argv: gettimeofday late
// expect: clean
// argv: time alone
// expect: kind=assertion
// argv: time set
// expect: kind=assertion
// argv: time late
// expect: clean
// argv: clock alone
// expect: kind=assertion
// argv: clock set
// expect: kind=assertion
// argv: clock late
// expect: clean
// argv: cputime alone
// expect: kind=assertion
// argv: cputime set
// expect: kind=assertion
// argv: cputime late
// expect: clean
// argv: usage alone
// expect: kind=assertion
// argv: usage set
// expect: kind=assertion
// argv: usage late
// expect: clean
// argv: times alone
// expect: kind=assertion
// argv: times set
// expect: kind=assertion
// argv: times late
// expect: clean
// argv: tsc alone
// expect: kind=assertion
// argv: tsc set
// expect: kind=assertion
// argv: tsc late
#include "litmus.h"
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <x86intrin.h>

static int flag;
static const char *how;

static long long read_clock(void)
{
  struct timespec t;
  struct timeval v;
  struct rusage r;
  struct tms tms;
  switch (how[0] + how[1]) {
    case 'm' + 'o': clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ll + t.tv_nsec;
    case 'g' + 'e': gettimeofday(&v, NULL); return v.tv_sec * 1000000ll + v.tv_usec;
    case 't' + 'i': return how[4] ? times(&tms) : time(NULL);
    case 'c' + 'l': return clock();
    case 'c' + 'p': clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000ll + t.tv_nsec;
    case 'u' + 's': getrusage(RUSAGE_SELF, &r); return r.ru_utime.tv_sec * 1000000ll + r.ru_utime.tv_usec;
    default: return (long long)__rdtsc();
  }
}

static void *setter(void *arg)
{
  poke(&flag, 1);
  return arg;
}

int main(int argc, char **argv)
{
  assert(argc == 3);
  how = argv[1];
  int alone = !strcmp(argv[2], "alone");
  pthread_t t;
  if (!alone) t = spawn(setter, NULL);
  long long end = read_clock() + (how[0] == 't' && how[1] == 'i' ? 2 : 50000);
  while (!peek(&flag) && read_clock() < end) {}
  int seen = peek(&flag);
  if (!alone) join(t);
  if (!strcmp(argv[2], "set")) assert(seen);
  if (!strcmp(argv[2], "late")) assert(!seen);
  return 0;
}
