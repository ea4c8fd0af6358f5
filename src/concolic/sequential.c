/* sequential.c: inputs of each thread, which runs alone: the driver `sequential` (concolic.h). Runs in the supervisor.
 *
 * After Razavi 2014, section 3.4.1. A thread begins as soon as it was created, and the others wait until it has ended or is
 * blocked. On the way outcomes of its branches are turned round, the last one first, with the conditions before it: the
 * order of one more concolic execution is that of a depth-first search. What other threads do after it is not looked at.
 *
 * Invariant: an execution asks for outcomes of branches after the one that it was made for only; the others have been
 * asked for. So no path of a thread is executed twice. */
#include "concolic/concolic_int.h"

#include <stdlib.h>

struct sequential {
  struct hd_cc base;
  HD_VEC(struct hd__context) stack;
  struct hd__context running;
  bool begun;
  bool alone[HD_CC_THREADS]; /* the thread is searched, or will be */
};

static struct hd_cc *create(const struct hd_cc_options *o) {
  (void)o;
  struct sequential *q = hd_alloc(sizeof *q);
  return &q->base;
}

static void destroy(struct hd_cc *c) {
  struct sequential *q = (struct sequential *)c;
  for (size_t i = 0; i < q->stack.n; i++) hd__context_free(&q->stack.v[i]);
  hd_vec_free(&q->stack);
  hd__context_free(&q->running);
}

/* Threads that are new wait below everything that is searched already. */
static void add_threads(struct sequential *q, const struct hd__path *p, const struct hd_values *inputs) {
  for (uint32_t i = 0; i < p->n; i++) {
    const struct hd_cc_event *e = &p->event[i];
    if (e->kind != HD_CC_CREATE || q->alone[e->child]) continue;
    struct hd__context t;
    q->alone[e->child] = true;
    hd__context_create(&t, p, i, inputs);
    hd_vec_push(&q->stack, t);
    for (size_t k = q->stack.n; --k > 0;) q->stack.v[k] = q->stack.v[k - 1];
    q->stack.v[0] = t;
  }
}

static void observe(struct hd_cc *c, const struct hd_cc_event *event, size_t n) {
  struct sequential *q = (struct sequential *)c;
  struct hd__path p;
  bool reached = !q->begun || q->running.sink.kind != HD_CC_BRANCH;
  if (!hd__path_init(&p, c->x, event, n)) c->stats.too_large++;
  for (uint32_t i = 0; i < p.n; i++) {
    const struct hd_cc_event *e = &p.event[i];
    if (e->kind == HD_CC_OTHER && e->step) c->stats.others++;
    reached |= p.hash[i] == q->running.then || (e->kind == HD_CC_BRANCH && !q->running.sink.counts);
    if (e->kind != HD_CC_BRANCH || e->thread != q->running.thread) continue;
    if (e->counts) hd__cover(c, e, -1);
    if (e->fixed || p.index[i] < q->running.from) continue;
    struct hd__context t;
    hd__context_branch(&t, &p, i, HD__KEPT_BEFORE, &c->inputs);
    t.thread = q->running.thread;
    t.from = p.index[i] + 1;
    hd_vec_push(&q->stack, t);
  }
  add_threads(q, &p, &c->inputs);
  c->stats.diverged += !reached;
  c->stats.realized += reached;
  q->begun = true;
  hd__path_fini(&p);
}

static enum hd_cc_state next(struct hd_cc *c, struct hd_cc_plan *out, double deadline) {
  struct sequential *q = (struct sequential *)c;
  enum hd_smt_answer answer;
  while (q->stack.n) {
    if (deadline > 0 && hd_now() >= deadline) return HD_CC_LATE;
    struct hd__context t = q->stack.v[--q->stack.n];
    if (!hd__context_solve(c, &t, &answer)) {
      hd__context_free(&t);
      continue;
    }
    hd__context_free(&q->running);
    q->running = t;
    hd__context_plan(c, &q->running, out);
    return HD_CC_GOES_ON;
  }
  return HD_CC_MAX;
}

const struct hd__driver hd__sequential = {HD_CC_SEQUENTIAL, create, destroy, observe, next};
