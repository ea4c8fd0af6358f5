// A handler runs in a thread that was cancelled where it waits for a descriptor, and has not noticed yet.
// expect: clean
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int ends[2];

static void handler(int sig) { (void)sig; }

static void *reader(void *arg) {
  char c;
  ssize_t n = read(ends[0], &c, 1);
  (void)n;
  return arg;
}

int main(void) {
  pthread_t t;
  signal(SIGUSR1, handler);
  if (pipe(ends)) return 1;
  pthread_create(&t, NULL, reader, NULL);
  pthread_cancel(t);
  pthread_kill(t, SIGUSR1);
  pthread_join(t, NULL);
  return 0;
}
