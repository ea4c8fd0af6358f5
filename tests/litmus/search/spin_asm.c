// Locks in assembly: an instruction that leaves the value as it was waits for it to change, whichever one it is. A loop
// that changes something is none that waits.
// opt: -O0 -O2
// expect: exact executions=4
// argv: cmpxchg
// expect: exact executions=4
// argv: xchg
// expect: exact executions=4
// argv: bts
// expect: exact executions=6
// argv: ticket
// expect: kind=livelock
// argv: forgotten
// expect: exact executions=1
// argv: counts
#include "litmus.h"

static int lock, n, first, second;
static volatile int vlock;
static struct {
  unsigned next, owner;
} queue;
static char how;

static void acquire(void)
{
  unsigned char busy = 1;
  unsigned me = 1, now;
  switch (how) {
    case 'c':
      while (busy) {
        int was = 0;
        __asm__ volatile("lock cmpxchgl %3, %1\n\tsetne %2"
                         : "+a"(was), "+m"(lock), "=q"(busy)
                         : "r"(1)
                         : "memory", "cc");
      }
      break;
    case 'b':
      while (busy) __asm__ volatile("lock btsl $0, %1\n\tsetc %0" : "=q"(busy), "+m"(vlock) : : "memory", "cc");
      break;
    case 't':
      __asm__ volatile("lock xaddl %0, %1" : "+r"(me), "+m"(queue.next) : : "memory", "cc");
      do __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(queue.owner) : "memory");
      while (now != me);
      break;
    default:
      do {
        now = 1;
        __asm__ volatile("xchgl %0, %1" : "+r"(now), "+m"(vlock) : : "memory");
      } while (now);
  }
}

static void release(void)
{
  if (how == 'f') return;
  if (how == 't')
    __asm__ volatile("lock incl %0" : "+m"(queue.owner) : : "memory", "cc");
  else if (how == 'c')
    __asm__ volatile("lock decl %0" : "+m"(lock) : : "memory", "cc");
  else
    __asm__ volatile("lock decl %0" : "+m"(vlock) : : "memory", "cc");
}

static void *user(void *arg)
{
  acquire();
  n++;
  release();
  return arg;
}

static void *counter(void *arg)
{
  while (__atomic_load_n(&second, __ATOMIC_RELAXED) < 6)
    __asm__ volatile("lock orl $0, %0\n\tlock incl %1" : "+m"(first), "+m"(second) : : "memory", "cc");
  return arg;
}

static void *idle(void *arg) { return arg; }

int main(int argc, char **argv)
{
  (void)argc;
  how = argv[1][0];
  if (argv[1][1] == 'o' && how == 'c')
    both(counter, idle);
  else
    both(user, user);
  assert(n == 2 || argv[1][1] == 'o');
  return 0;
}
