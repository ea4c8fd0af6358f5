/* libev: a loop with a timer, a signal, and what two threads tell it. */
#include <ev.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct ev_loop *loop;
static ev_async told;
static ev_signal term;
static ev_timer tick;
static int n;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void on_told(EV_P_ ev_async *w, int events) {
  (void)events;
  pthread_mutex_lock(&mutex);
  int all = n == 2;
  pthread_mutex_unlock(&mutex);
  if (!all) return;
  ev_async_stop(EV_A_ w);
  ev_timer_stop(EV_A_ & tick);
}

static void on_term(EV_P_ ev_signal *w, int events) {
  (void)events;
  ev_signal_stop(EV_A_ w);
}

static void on_tick(EV_P_ ev_timer *w, int events) {
  (void)loop, (void)w, (void)events;
}

static void *work(void *arg) {
  pthread_mutex_lock(&mutex);
  n++;
  pthread_mutex_unlock(&mutex);
  ev_async_send(loop, &told);
  return arg;
}

int main(void) {
  pthread_t a, b;
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGTERM);
  loop = ev_loop_new(EVFLAG_AUTO);
  ev_async_init(&told, on_told);
  ev_async_start(loop, &told);
  ev_signal_init(&term, on_term, SIGTERM);
  ev_signal_start(loop, &term);
  ev_timer_init(&tick, on_tick, 1., 1.);
  ev_timer_start(loop, &tick);
  pthread_sigmask(SIG_BLOCK, &s, NULL);
  pthread_create(&a, NULL, work, NULL);
  pthread_create(&b, NULL, work, NULL);
  pthread_sigmask(SIG_UNBLOCK, &s, NULL);
  kill(getpid(), SIGTERM);
  ev_run(loop, 0);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  if (n != 2) abort();
  ev_loop_destroy(loop);
  return 0;
}
