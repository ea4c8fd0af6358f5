// A thread with a stack size of its own changes to a stack of the program, and waits there by reading.
// restart: memory fork
// expect: exact executions=2
// argv: static
// expect: exact executions=2
// argv: mapped
// expect: exact executions=2
// argv: heap
#include "litmus.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SIZE 65536
static const char *what;
static char memory[SIZE];
static atomic_int flag;
static int done;
static ucontext_t back, here;

static void body(void)
{
  while (!atomic_load(&flag)) {}
  done = 1;
}

static void *worker(void *arg)
{
  char *stack = memory;
  if (what[0] == 'm') stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (what[0] == 'h') stack = malloc(SIZE);
  getcontext(&here);
  here.uc_stack.ss_sp = stack;
  here.uc_stack.ss_size = SIZE;
  here.uc_link = &back;
  makecontext(&here, body, 0);
  swapcontext(&back, &here);
  if (what[0] == 'h') free(stack);
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "static";
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 256 << 10);
  pthread_create(&t, &attr, worker, NULL);
  atomic_store(&flag, 1);
  pthread_join(t, NULL);
  assert(done);
  return 0;
}
