// The log of the system: its mask is state of the process, and the text that was given to openlog is read by every call.
// expect: kind=assertion
// argv: mask
// expect: kind=data-race
// argv: identity
// expect: kind=assertion
// argv: closed
// expect: clean executions=20
// argv: right
#include "litmus.h"
#include <syslog.h>

static char identity[8] = "one";
static int stage;

static void *other(void *arg)
{
  const char *what = arg;
  if (!strcmp(what, "mask")) setlogmask(LOG_UPTO(LOG_ERR));
  if (!strcmp(what, "identity")) identity[1] = 'x';
  if (!strcmp(what, "closed")) {
    __atomic_store_n(&stage, 1, __ATOMIC_SEQ_CST);
    closelog();
    __atomic_store_n(&stage, 2, __ATOMIC_SEQ_CST);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  if (argc < 2) return 0;
  setlogmask(LOG_MASK(LOG_EMERG));
  openlog(identity, LOG_PID, LOG_USER);
  pthread_t t = spawn(other, argv[1]);
  if (strcmp(argv[1], "closed")) syslog(LOG_DEBUG, "%d", 1);
  assert(setlogmask(0) == LOG_MASK(LOG_EMERG));
  assert(strcmp(argv[1], "closed") || __atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 1);
  join(t);
  closelog();
  return 0;
}
