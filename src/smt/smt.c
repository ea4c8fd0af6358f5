/* smt.c: loads the solver's module and calls it. Runs in the supervisor.
 *
 * What may take long is done by a thread of its own: checks, and pushes, at which Z3 works on all that was required before.
 * What does not keep to its limit is interrupted, and its solver answers "unknown" from then on. One that cannot be
 * interrupted is left alone with its thread, and so are all others. */
#include "smt/smt.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LATE 1.0         /* seconds beyond twice its limit until it is interrupted */
#define STUCK 5.0        /* and then until it is given up */
#define PUSH_SECONDS 2.0 /* the limit of a push */

struct hd_smt {
  const struct hd_smt_engine *e;
  void *state;
  /* the thread that asks */
  pthread_t thread;
  bool has_thread, over;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* the question */
  bool asked, answered, pushes; /* it is a push, not a check */
  const hd_term *assumed;
  size_t n;
  double seconds;
  enum hd_smt_answer answer;
  bool failed; /* it was interrupted: its state is not used any more */
};

static bool given_up; /* by whichever solver: the module may hold locks of its own */

static const struct hd_smt_engine *load(const char *libdir, struct hd_err *err) {
  static const struct hd_smt_engine *engine; /* a module is loaded once and stays */
  if (engine) return engine;
  char *path = hd_sprintf("%s/heddle_z3.so", libdir ? libdir : ".");
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (module) engine = dlsym(module, HD_SMT_ENGINE);
  if (!engine)
    hd_fail(err, HD_EENV,
            "the solver is not available (%s): install libz3-dev, build Heddle again, and install it",
            module ? "its module is of another version" : dlerror());
  free(path);
  return engine;
}

int hd_smt_new(const char *libdir, enum hd_smt_theory theory, struct hd_smt **out, struct hd_err *err) {
  const struct hd_smt_engine *e = load(libdir, err);
  if (!e) return HD_EENV;
  struct hd_smt *s = *out = hd_alloc(sizeof *s);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&s->lock, NULL);
  s->e = e;
  if (!given_up) s->state = e->new (theory);
  return HD_OK;
}

void hd_smt_free(struct hd_smt *s) {
  if (!s || given_up) return; /* its thread may still use it */
  if (s->has_thread) {
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
  }
  s->e->free(s->state);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

/* ---- questions ---- */

static void *answer_questions(void *arg) {
  struct hd_smt *s = arg;
  pthread_mutex_lock(&s->lock);
  while (!s->over) {
    if (!s->asked || s->answered) {
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    pthread_mutex_unlock(&s->lock);
    enum hd_smt_answer answer = HD_SMT_UNKNOWN;
    if (s->pushes)
      s->e->push(s->state);
    else if (s->assumed)
      answer = s->e->check_assuming(s->state, s->assumed, s->n, s->seconds);
    else
      answer = s->e->check(s->state, s->seconds);
    pthread_mutex_lock(&s->lock);
    s->answer = answer;
    s->answered = true;
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* The module's own end must not run beside its thread. */
static void leave(int status, void *arg) {
  (void)arg;
  fflush(NULL);
  _exit(status);
}

static void give_up(double seconds) {
  given_up = true;
  on_exit(leave, NULL);
  hd_warn("the solver did not answer within %.0f s, and was given up: what it was to decide is left open",
          seconds);
}

/* Waits until the question is answered, for so long. pre: the lock is held. */
static bool wait_for(struct hd_smt *s, double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (time_t)seconds + 1;
  int rc = 0;
  while (!s->answered && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&s->changed, &s->lock, &until);
  return s->answered;
}

static bool is_off(const struct hd_smt *s) { return given_up || s->failed; }

static enum hd_smt_answer ask(struct hd_smt *s, bool pushes, const hd_term *t, size_t n, double seconds) {
  if (is_off(s)) return HD_SMT_UNKNOWN;
  if (!s->has_thread) s->has_thread = pthread_create(&s->thread, NULL, answer_questions, s) == 0;
  if (!s->has_thread) {
    s->failed = true;
    return HD_SMT_UNKNOWN;
  }
  double most = 2 * seconds + LATE;
  pthread_mutex_lock(&s->lock);
  s->pushes = pushes;
  s->assumed = t;
  s->n = n;
  s->seconds = seconds;
  s->answered = false;
  s->asked = true;
  pthread_cond_broadcast(&s->changed);
  if (!wait_for(s, most)) {
    s->failed = true;
    s->e->interrupt(s->state);
    if (!wait_for(s, STUCK)) give_up(most + STUCK);
  }
  enum hd_smt_answer answer = s->failed ? HD_SMT_UNKNOWN : s->answer;
  if (s->answered) s->asked = false;
  pthread_mutex_unlock(&s->lock);
  return answer;
}

enum hd_smt_answer hd_smt_check(struct hd_smt *s, double seconds) { return ask(s, false, NULL, 0, seconds); }
enum hd_smt_answer hd_smt_check_assuming(struct hd_smt *s, const hd_term *t, size_t n, double seconds) {
  static const hd_term none;
  return ask(s, false, t ? t : &none, n, seconds);
}
void hd_smt_push(struct hd_smt *s) { ask(s, true, NULL, 0, PUSH_SECONDS); }

/* ---- terms ---- */

const char *hd_smt_name(const struct hd_smt *s) { return s->e->name; }
hd_term hd_smt_integer(struct hd_smt *s) { return is_off(s) ? 0 : s->e->integer(s->state); }
hd_term hd_smt_boolean(struct hd_smt *s) { return is_off(s) ? 0 : s->e->boolean(s->state); }
hd_term hd_smt_less(struct hd_smt *s, hd_term a, hd_term b, int distance) {
  return is_off(s) ? 0 : s->e->less(s->state, a, b, distance);
}
hd_term hd_smt_all(struct hd_smt *s, const hd_term *t, size_t n) {
  return is_off(s) ? 0 : s->e->all(s->state, t, n);
}
hd_term hd_smt_any(struct hd_smt *s, const hd_term *t, size_t n) {
  return is_off(s) ? 0 : s->e->any(s->state, t, n);
}
hd_term hd_smt_not(struct hd_smt *s, hd_term t) { return is_off(s) ? 0 : s->e->not_(s->state, t); }
hd_term hd_smt_at_most(struct hd_smt *s, const hd_term *t, size_t n, unsigned k) {
  return is_off(s) ? 0 : s->e->at_most(s->state, t, n, k);
}
void hd_smt_require(struct hd_smt *s, hd_term t) {
  if (!is_off(s)) s->e->require(s->state, t);
}
void hd_smt_pop(struct hd_smt *s) {
  if (!is_off(s)) s->e->pop(s->state);
}
int64_t hd_smt_value(struct hd_smt *s, hd_term integer) {
  return is_off(s) ? 0 : s->e->value(s->state, integer);
}
bool hd_smt_truth(struct hd_smt *s, hd_term boolean) {
  return is_off(s) ? 0 : s->e->truth(s->state, boolean);
}
hd_term hd_smt_bits(struct hd_smt *s, unsigned width) { return is_off(s) ? 0 : s->e->bits(s->state, width); }
hd_term hd_smt_bits_value(struct hd_smt *s, unsigned width, uint64_t v) {
  return is_off(s) ? 0 : s->e->bits_value(s->state, width, v);
}
hd_term hd_smt_bits_make(struct hd_smt *s, const struct hd_smt_bits *b) {
  return is_off(s) ? 0 : s->e->bits_make(s->state, b);
}
hd_term hd_smt_is_set(struct hd_smt *s, hd_term bit) { return is_off(s) ? 0 : s->e->is_set(s->state, bit); }
size_t hd_smt_core(struct hd_smt *s, const hd_term *t, size_t n, size_t *out) {
  return is_off(s) ? 0 : s->e->core(s->state, t, n, out);
}
uint64_t hd_smt_bits_of(struct hd_smt *s, hd_term bits) {
  return is_off(s) ? 0 : s->e->bits_of(s->state, bits);
}
