// The end of a child, as a signal; and objects that a child shares, which are no deadlock.
// expect: clean
// argv: handler
// expect: clean
// argv: wait
// expect: clean
// argv: descriptor
// expect: clean
// argv: condition
// expect: clean
// argv: barrier
#include "litmus.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

static const char *how;
static int is(const char *what) { return !strcmp(how, what); }
static volatile sig_atomic_t ended;
static void on_end(int sig) { ended = sig; }
static void *idle(void *arg) { return arg; }

static struct {
  pthread_mutex_t lock;
  pthread_cond_t cond;
  pthread_barrier_t barrier;
  int go;
} *shared;

static void prepare(void)
{
  pthread_mutexattr_t m;
  pthread_condattr_t c;
  pthread_barrierattr_t b;
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_init(&m);
  pthread_condattr_init(&c);
  pthread_barrierattr_init(&b);
  pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
  pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->lock, &m);
  pthread_cond_init(&shared->cond, &c);
  pthread_barrier_init(&shared->barrier, &b, 2);
}

static void child(void)
{
  if (is("condition")) {
    pthread_mutex_lock(&shared->lock);
    shared->go = 1;
    pthread_cond_signal(&shared->cond);
    pthread_mutex_unlock(&shared->lock);
  }
  if (is("barrier")) pthread_barrier_wait(&shared->barrier);
  _exit(0);
}

int main(int argc, char **argv)
{
  int sig, fd;
  sigset_t set, old;
  struct signalfd_siginfo info;
  assert(argc == 2);
  how = argv[1];
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  if (is("handler")) signal(SIGCHLD, on_end);
  if (is("condition") || is("barrier")) prepare();
  pthread_t t = spawn(idle, NULL);
  pid_t pid = fork();
  if (!pid) child();
  if (is("handler")) while (!ended) sigsuspend(&old);
  if (is("wait")) assert(sigwait(&set, &sig) == 0 && sig == SIGCHLD);
  if (is("descriptor")) {
    fd = signalfd(-1, &set, 0);
    assert(read(fd, &info, sizeof info) == sizeof info && info.ssi_pid == (uint32_t)pid);
  }
  if (is("condition")) {
    pthread_mutex_lock(&shared->lock);
    while (!shared->go) pthread_cond_wait(&shared->cond, &shared->lock);
    pthread_mutex_unlock(&shared->lock);
  }
  if (is("barrier")) pthread_barrier_wait(&shared->barrier);
  assert(waitpid(pid, NULL, 0) == pid);
  join(t);
  return 0;
}
