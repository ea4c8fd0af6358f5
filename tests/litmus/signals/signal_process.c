// Signals to the process: any thread that does not mask it takes it, or one of those that wait for it; real-time signals queue
// with their values, others merge; SA_RESETHAND; the handler is state of the process.
// native: no
// compilers: gcc
// expect: clean executions=50
// argv: later
// expect: kind=deadlock
// argv: choice
// expect: clean executions=50
// argv: queue
// expect: clean executions=50
// argv: value
// expect: clean executions=50
// argv: merge
// expect: kind=crash
// argv: reset
// expect: kind=crash
// argv: install
// expect: clean executions=50
// argv: polled
// expect: kind=assertion
// argv: private
// where: function=private_handler
// expect: clean executions=50
// argv: info
#include "litmus.h"
#include <signal.h>

static const char *what;
static sigset_t set;
static int hits, value;
static volatile sig_atomic_t between;
static pthread_t first;

static int is(const char *name) { return !strcmp(what, name); }

static void handler(int sig)
{
  (void)sig;
  __atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
}

static void private_handler(int sig)
{
  (void)sig;
  assert(between != 1);
}

static void info_handler(int sig, siginfo_t *info, void *context)
{
  ucontext_t *u = context;
  assert(info->si_signo == sig && info->si_pid == getpid() && info->si_uid == getuid());
  assert(info->si_code == SI_TKILL && u);
  hits++;
}

static void value_handler(int sig, siginfo_t *info, void *context)
{
  (void)sig, (void)context;
  hits++;
  assert(info->si_code == SI_QUEUE && info->si_value.sival_int == ++value);
}

static void *worker(void *arg)
{
  int sig = 0;
  sigset_t pending;
  siginfo_t info;
  if (is("later") || is("choice")) sigwait(&set, &sig);
  if (is("value")) assert(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_value.sival_int == 7);
  if (is("polled")) {
    do sigpending(&pending);
    while (!sigismember(&pending, SIGUSR1));
  }
  if (is("private")) {
    between = 1;
    between = 2;
  }
  if (is("install")) pthread_kill(first, SIGUSR2);
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "later";
  first = pthread_self();
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGRTMIN);
  if (is("private"))
    signal(SIGUSR1, private_handler);
  else if (!is("info"))
    pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (is("later")) kill(getpid(), SIGUSR1);
  if (is("info")) sigaction(SIGUSR1, &(struct sigaction){.sa_sigaction = info_handler, .sa_flags = SA_SIGINFO}, NULL);
  pthread_t t = spawn(worker, NULL), u;
  if (is("choice")) {
    u = spawn(worker, NULL);
    pthread_detach(u);
    kill(getpid(), SIGUSR1);
  }
  if (is("value")) pthread_sigqueue(t, SIGUSR1, (union sigval){.sival_int = 7});
  if (is("polled")) kill(getpid(), SIGUSR1);
  if (is("private")) pthread_kill(t, SIGUSR1);
  if (is("install")) signal(SIGUSR2, handler);
  if (is("info")) pthread_kill(first, SIGUSR1);
  if (is("queue")) {
    sigaction(SIGRTMIN, &(struct sigaction){.sa_sigaction = value_handler, .sa_flags = SA_SIGINFO}, NULL);
    for (int i = 1; i <= 3; i++) sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
  }
  if (is("merge")) {
    signal(SIGUSR1, handler);
    for (int i = 0; i < 3; i++) pthread_kill(first, SIGUSR1);
  }
  if (is("reset")) {
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = handler, .sa_flags = (int)SA_RESETHAND}, NULL);
    raise(SIGUSR2);
    raise(SIGUSR2);
  }
  pthread_join(t, NULL);
  if (!is("polled")) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  assert(hits == (is("queue") ? 3 : is("merge") || is("info") ? 1 : hits));
  if (is("choice")) exit(0);
  return 0;
}
