// Memory that is shared with a child: what a thread reads there does not depend on the child's speed. The child runs only
// while no thread of the program can.
// native: no
// expect: clean executions=5
// argv: early
// expect: clean executions=5
// argv: waited
// expect: clean executions=5
// argv: slept
// expect: clean executions=5
// argv: threads
#include <sys/mman.h>
#include <sys/wait.h>

#include "litmus.h"

static int *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locks(void *arg)
{
  pthread_mutex_lock(&lock);
  assert(peek(shared) == 0);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  const char *how = argv[argc - 1];
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; i++) poke(shared, i + 1);
    _exit(0);
  }
  if (strcmp(how, "threads") == 0) both(locks, locks);
  if (strcmp(how, "early") == 0) {
    for (volatile int i = 0; i < 100000; i++) {
    }
    assert(peek(shared) == 0);
    return 0;
  }
  if (strcmp(how, "slept") == 0) usleep(10);
  if (strcmp(how, "slept") != 0) assert(waitpid(child, NULL, 0) == child);
  assert(peek(shared) == 1000);
  return 0;
}
