"""A thread that computes without end is no hang as long as something else can happen, and end it."""
from scratch import each

SOURCE = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void cleaned(void *flag) { *(volatile int *)flag = 1; }
static void leave(int sig) { (void)sig; pthread_exit(0); }
static void quit(int sig) { (void)sig; _exit(0); }
static void spin(void) { for (;;) __asm__ volatile(""); }
static void *compute(void *flag) {
  pthread_cleanup_push(cleaned, flag);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
  spin();
  pthread_cleanup_pop(0);
  return 0;
}
static void *quits(void *arg) { (void)arg; exit(0); }
int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  pthread_t t;
  int done = 0;
  signal(SIGUSR1, leave);
  signal(SIGUSR2, quit);
  signal(SIGALRM, quit);
  if (!strcmp(how, "main")) {
    pthread_create(&t, 0, quits, 0);
    spin();
  }
  pthread_create(&t, 0, compute, &done);
  if (!strcmp(how, "exit")) exit(0);
  if (!strcmp(how, "_exit")) _exit(0);
  if (!strcmp(how, "return")) return 0;
  if (!strcmp(how, "sleep")) { sleep(1); return 0; }
  if (!strcmp(how, "alarm")) alarm(1);
  if (!strcmp(how, "cancel")) pthread_cancel(t);
  if (!strcmp(how, "leave")) pthread_kill(t, SIGUSR1);
  if (!strcmp(how, "kill")) pthread_kill(t, SIGUSR2);
  pthread_join(t, 0);
  return !strcmp(how, "cancel") && !done;
}
"""


@each("exit", "cancel", "leave", "main")
def test_ends(s, how):
    program = s.build_text(SOURCE, compiler="clang" if how == "exit" else "gcc")
    r = s.search("check", program, "--strategy", "optimal", args=[how])
    s.is_clean(r)
    s.check(r["complete"], "not complete: %s" % r["inexact"])


@each("sleep", "alarm")
def test_time_passes(s, how):
    r = s.search("check", s.build_text(SOURCE), "--strategy", "optimal", args=[how])
    s.is_clean(r)
    s.check(r["executions"] >= 1, "no execution ended")


def test_hang(s):
    r = s.search("check", s.build_text(SOURCE), "--hang-timeout", "2s", args=["join"])
    f = s.is_bug(r, ["hang"])
    s.check(any(w["function"] in ("spin", "compute") for w in f["where"]), "the loop is not shown")
