// A thread goes on for a while before it notices a signal: also with what it knows from the sender's next steps. It has
// noticed it after its next system call.
// native: no
// expect: kind=assertion
// argv: flag
// where: function=receiver line=@sees
// expect: kind=assertion
// argv: process flag
// where: function=receiver line=@sees
// expect: kind=assertion
// argv: joined
// where: function=receiver line=@sees
// expect: clean
// argv: flag call
// expect: clean
// argv: process flag call
// expect: clean
// argv: spin
// expect: kind=assertion
// argv: loop
// where: function=main line=@saw
// expect: clean
// argv: read
// expect: clean
// argv: alone
#include "litmus.h"
#include <signal.h>

static int handled, flag, saw, count, way[2];
static char **word;
static pthread_t t;

static int is(const char *name)
{
  for (int i = 1; i < count; i++)
    if (!strcmp(word[i], name)) return 1;
  return 0;
}

static int get(int *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static void set(int *p) { __atomic_store_n(p, 1, __ATOMIC_SEQ_CST); }

static void handler(int sig)
{
  (void)sig;
  set(&handled);
}

static void mask(int how)
{
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  pthread_sigmask(how, &s, NULL);
}

static void *receiver(void *arg)
{
  char c;
  if (is("process")) mask(SIG_UNBLOCK);
  if (is("spin")) {
    while (!get(&handled)) {}
  } else if (is("loop")) {
    while (!get(&handled))
      if (get(&flag)) saw = 1;
  } else if (is("read")) {
    while (read(way[0], &c, 1) < 0) assert(errno == EINTR && get(&handled));
    assert(get(&handled)); /* it was sent before that was written */
  } else if (get(&flag)) {
    if (is("call")) getppid();
    assert(get(&handled)); /* @sees */
  }
  return arg;
}

static void *sender(void *arg)
{
  pthread_kill(t, SIGUSR1);
  return arg;
}

int main(int argc, char **argv)
{
  struct sigaction a = {.sa_handler = handler};
  count = argc;
  word = argv;
  sigaction(SIGUSR1, &a, NULL);
  assert(pipe(way) == 0);
  if (is("process")) mask(SIG_BLOCK);
  t = spawn(receiver, NULL);
  if (is("process")) {
    kill(getpid(), SIGUSR1);
  } else if (is("joined")) {
    join(spawn(sender, NULL));
  } else {
    pthread_kill(t, SIGUSR1);
  }
  if (!is("alone")) set(&flag);
  if (is("read")) assert(write(way[1], "x", 1) == 1);
  join(t);
  assert(!saw); /* @saw */
  return 0;
}
