/* What a controlled run does not support yet, one thing by argument. The line that does it carries its
 * name. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int word;
static const char *what;

#define CASE(name) if (strcmp(what, name) == 0)

static void *blocker(void *arg)
{
  CASE("futex") syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 0, NULL, NULL, 0);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t;
  what = argv[argc - 1];
  pthread_create(&t, NULL, blocker, NULL);
  sched_yield();
  pthread_join(t, NULL);
  return 0;
}
