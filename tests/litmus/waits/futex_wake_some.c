// Three threads wait, two are woken: which ones is a choice, and the third waits on. With bits, those that listen.
// native: no
// expect: kind=lost-wakeup|deadlock
// argv: two
// expect: kind=lost-wakeup|deadlock
// argv: bits
// expect: kind=assertion
// argv: which0
// expect: kind=assertion
// argv: which1
// expect: kind=assertion
// argv: which2
// expect: clean
// argv: all
#include "litmus.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t word, asleep, left;
static int woken[3], last;
static const char *how;

static void *sleeper(void *arg)
{
  int *me = arg;
  __atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
  if (!strcmp(how, "bits"))
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 1u << (me - woken));
  else
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
  if (__atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) == 1) last = (int)(me - woken);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t[3];
  assert(argc == 2);
  how = argv[1];
  int bits = !strcmp(how, "bits"), which = !strncmp(how, "which", 5);
  left = 3;
  for (int i = 0; i < 3; i++) t[i] = spawn(sleeper, &woken[i]);
  usleep(1000);
  long n = bits ? syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 5)
                : syscall(SYS_futex, &word, FUTEX_WAKE, strcmp(how, "all") ? 2 : 3, NULL, NULL, 0);
  if (which) {
    while (peek(&left) > 1) usleep(1000);
    poke(&word, 1);
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    for (int i = 0; i < 3; i++) join(t[i]);
    assert(n != 2 || last != how[5] - '0');
    return 0;
  }
  for (int i = 0; i < 3; i++) join(t[i]);
  return 0;
}
