// Memory that a thread spins on may be changed by another process: not a livelock, but a real wait.
// expect: clean executions=3
// argv: 1
// expect: clean executions=3
#include <sys/mman.h>
#include <sys/wait.h>

#include "litmus.h"

static void *nothing(void *arg) { return arg; }

int main(int argc, char **argv) {
  (void)argv;
  int *flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_t t;
  pid_t child = fork();
  if (child == 0) {
    usleep(20000);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    _exit(0);
  }
  if (argc > 1) pthread_create(&t, NULL, nothing, NULL);
  while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) continue;
  waitpid(child, NULL, 0);
  if (argc > 1) pthread_join(t, NULL);
  return 0;
}
