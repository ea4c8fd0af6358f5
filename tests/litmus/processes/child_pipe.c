// expect: clean executions=50
// args: --strategy random
/* A child at the other end of two pipes, with threads of its own; exit handlers run in it. */
#include <sys/wait.h>

#include "litmus.h"

static int to[2], from[2];

static void *in_child(void *arg) { return *(int *)arg *= 2, arg; }
static void at_exit(void) { if (write(from[1], "!", 1) != 1) abort(); }

static void *worker(void *arg) { return arg; }

int main(void)
{
  int n = 21, status;
  char c;
  assert(pipe(to) == 0 && pipe(from) == 0);
  pthread_t t = spawn(worker, NULL);
  pid_t pid = fork();
  if (pid == 0) {
    pthread_t x;
    if (read(to[0], &n, sizeof n) != sizeof n || pthread_create(&x, NULL, in_child, &n)) _exit(1);
    pthread_join(x, NULL);
    if (write(from[1], &n, sizeof n) != sizeof n) _exit(2);
    atexit(at_exit);
    exit(3);
  }
  assert(write(to[1], &n, sizeof n) == sizeof n);
  assert(read(from[0], &n, sizeof n) == sizeof n && n == 42);
  assert(read(from[0], &c, 1) == 1 && c == '!');
  assert(wait(&status) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  join(t);
  return 0;
}
