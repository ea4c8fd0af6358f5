// Signals between threads: handled by the target thread, masked, waited for; and a handler that takes a lock that its
// thread may hold.
// restart: memory fork
// expect: clean executions=100
// args: --strategy random
// argv: handler
// expect: clean executions=100
// args: --strategy random
// argv: wait
// expect: clean executions=20
// args: --strategy random
// argv: masked
// expect: kind=double-lock
// argv: lock
// where: function=locks
// expect: kind=crash
// argv: fatal
// where: function=main line=@kill
// expect: kind=deadlock
// argv: nobody
// where: function=waiter role=waits
// says: waits for a signal
#include "litmus.h"
#include <signal.h>

MUTEX(lock);
static const char *what;
static int handled, n;
static pthread_t victim_id;

static void handler(int sig)
{
  assert(sig == SIGUSR1 && pthread_equal(pthread_self(), victim_id));
  __atomic_store_n(&handled, 1, __ATOMIC_RELEASE);
}

static void locks(int sig)
{
  (void)sig;
  pthread_mutex_lock(&lock);
  n++;
  pthread_mutex_unlock(&lock);
}

static void *victim(void *arg)
{
  if (!strcmp(what, "lock")) {
    pthread_mutex_lock(&lock);
    n++;
    pthread_mutex_unlock(&lock);
    return arg;
  }
  while (!__atomic_load_n(&handled, __ATOMIC_ACQUIRE)) sched_yield();
  return arg;
}

static void *waiter(void *arg)
{
  sigset_t set;
  int sig = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGTERM);
  assert(sigwait(&set, &sig) == 0 && sig == SIGTERM);
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "handler";
  struct sigaction a = {.sa_handler = !strcmp(what, "lock") ? locks : handler};
  sigset_t set, old;
  sigaction(SIGUSR1, &a, NULL);
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR2);
  assert(pthread_sigmask(SIG_BLOCK, &set, &old) == 0 && !sigismember(&old, SIGTERM));
  if (!strcmp(what, "wait") || !strcmp(what, "nobody")) {
    pthread_t t = spawn(waiter, NULL);
    if (!strcmp(what, "wait")) assert(pthread_kill(t, SIGTERM) == 0);
    join(t);
    return 0;
  }
  if (!strcmp(what, "masked")) {
    struct timespec now = {0, 0}, soon = {0, 1000000};
    siginfo_t info;
    assert(sigtimedwait(&set, &info, &now) == -1 && errno == EAGAIN);
    assert(pthread_kill(pthread_self(), SIGTERM) == 0 && raise(SIGUSR2) == 0);
    assert(sigpending(&old) == 0 && sigismember(&old, SIGTERM) && sigismember(&old, SIGUSR2));
    assert(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_signo == SIGUSR2);
    assert(sigtimedwait(&set, NULL, &soon) == SIGTERM);
    assert(pthread_kill(pthread_self(), 0) == 0 && pthread_kill(pthread_self(), 1000) == EINVAL);
    victim_id = pthread_self();
    assert(pthread_kill(pthread_self(), SIGUSR1) == 0 && handled == 1);
    join(spawn(victim, NULL));
    return 0;
  }
  pthread_t t;
  pthread_mutex_lock(&lock);
  t = victim_id = spawn(victim, NULL);
  pthread_mutex_unlock(&lock);
  assert(pthread_kill(t, !strcmp(what, "fatal") ? SIGINT : SIGUSR1) == 0); /* @kill */
  join(t);
  return 0;
}
