// Notification of a message queue: by a signal, in a thread, once, and for one at a time. Where there are no queues, nothing
// is tested.
// native: no
// expect: clean executions=20
// argv: wait
// expect: clean executions=20
// argv: thread
// expect: clean executions=20
// argv: busy
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>

#include "litmus.h"

static mqd_t q;
static int calls;

static void notified(union sigval v) { __atomic_fetch_add(&calls, v.sival_int, __ATOMIC_SEQ_CST); }

static void *sender(void *arg)
{
  assert(mq_send(q, "x", 1, 0) == 0 && mq_send(q, "y", 1, 0) == 0);
  return arg;
}

int main(int argc, char **argv)
{
  struct mq_attr size = {.mq_maxmsg = 2, .mq_msgsize = 8};
  struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 7};
  siginfo_t info;
  sigset_t set;
  char name[32]; /* of this process alone: the name is the machine's, and tests run side by side */
  snprintf(name, sizeof name, "/heddle-litmus-%d", getpid());
  if (argc < 2 || (q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &size)) < 0) return 0;
  mq_unlink(name);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (!strcmp(argv[1], "thread")) {
    e.sigev_notify = SIGEV_THREAD;
    e.sigev_notify_function = notified;
  }
  assert(mq_notify(q, &e) == 0);
  if (!strcmp(argv[1], "busy")) {
    assert(mq_notify(q, &e) == -1 && errno == EBUSY);
    assert(mq_notify(q, NULL) == 0 && mq_notify(q, &e) == 0);
    return 0;
  }
  pthread_t t = spawn(sender, NULL);
  if (!strcmp(argv[1], "thread")) {
    while (!__atomic_load_n(&calls, __ATOMIC_SEQ_CST)) sched_yield();
  } else {
    assert(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_MESGQ && info.si_value.sival_int == 7);
  }
  join(t);
  assert(__atomic_load_n(&calls, __ATOMIC_SEQ_CST) == (strcmp(argv[1], "thread") ? 0 : 7));
  assert(mq_notify(q, &e) == 0); /* it was for one message only */
  mq_close(q);
  return 0;
}
