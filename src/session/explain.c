/* explain.c: makes a finding easier to understand: shows the run of a smaller schedule, line by line, with the two
 * steps whose order is decisive. Runs in the supervisor.
 *
 * To find the two, pairs of dependent steps are reversed, those nearest to the failure first, until one reversal makes the
 * failure disappear. Of several at one distance, the reversal that moves the fewest steps is tried first: one that moves
 * more may pass for another reason. To reverse a pair, the steps of the second thread are moved before the first step; the rest keeps its
 * order as far as possible. */
#include "analysis/analysis.h"
#include "session/rerun.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS 24    /* tried */
#define NEAR 4          /* to the failure: how far rows may be whose writes are looked at ... */
#define MAX_WINDOWS 64  /* ... so many writes ... */
#define MAX_WINDOW 4096 /* ... and so many events before each */
#define ORDER_GRACE 0.5 /* seconds for them when the time is used up ... */
#define ORDER_SHARE 0.2 /* ... and the part of the time of a long schedule that is kept for them */

struct explainer {
  const struct hd_command *command;
  const struct hd_input *input;
  double hang_timeout;
  const struct hd_reduction *r;
  struct hd_finding *f;
};

/* ---- the schedule as units: a step with what was decided in it ---- */

struct units {
  size_t *at; /* owned: the first step of each; one more for the end */
  size_t n;
  size_t *of; /* owned: the unit of each event */
};

/* False when events and steps do not correspond one to one. */
static bool units_init(struct units *u, const struct hd_schedule *s, const struct hd_event *ev, size_t n) {
  HD_VEC(size_t) at = {0};
  struct hd_decision d;
  unsigned units;
  for (size_t i = 0; i < s->nsteps && (units = hd_decision_get(s->step + i, s->nsteps - i, &d)); i += units)
    if (d.kind == HD_DECIDE_THREAD) hd_vec_push(&at, i);
  u->n = at.n;
  hd_vec_push(&at, s->nsteps);
  u->at = at.v;
  u->of = hd_alloc((n + 1) * sizeof *u->of);
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    if (!(ev[i].flags & HD_EV_PLAIN)) {
      if (k >= u->n || s->step[u->at[k]] != ev[i].op.thread) return false;
      k++;
    }
    if (k == 0) return false;
    u->of[i] = k - 1;
  }
  return true;
}

static void units_fini(struct units *u) {
  free(u->at);
  free(u->of);
}

/* ---- reversing a pair ---- */

static struct hd_schedule reversed(const struct hd_schedule *s, const struct units *u,
                                   const struct hd_pair *p) {
  HD_VEC(hd_step) out = {0};
  size_t first = u->of[p->first], last = p->second == HD_PENDING ? u->n - 1 : u->of[p->second];
  for (size_t i = 0; i < u->at[first]; i++) hd_vec_push(&out, s->step[i]);
  for (int pass = 0; pass < 2; pass++) {
    for (size_t k = first; k <= last; k++) {
      bool second = s->step[u->at[k]] == p->thread;
      if (second != (pass == 0)) continue;
      for (size_t i = u->at[k]; i < u->at[k + 1]; i++) hd_vec_push(&out, s->step[i]);
    }
    if (pass == 0 && p->second == HD_PENDING) hd_vec_push(&out, (hd_step)p->thread);
  }
  for (size_t i = u->at[last + 1]; i < s->nsteps; i++) hd_vec_push(&out, s->step[i]);
  struct hd_schedule t = *s;
  t.step = out.v;
  t.nsteps = out.n;
  return t;
}

/* ---- which pairs are tried first ---- */

/* A pair with its rows in the story, plus 1. */
struct candidate {
  const struct hd_pair *pair;
  size_t first, second;
  unsigned distance;   /* of both rows from the failure */
  size_t moved, place; /* steps that change places; the position in the list, latest first */
};

static int by_promise(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  if (x->moved != y->moved) return x->moved < y->moved ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

static unsigned distance_of(const struct hd_row *r) { return r->mark == HD_ROW_STEP ? r->distance : 0; }

/* Steps of the second thread that are moved, or of others that they are moved over, whichever are fewer. */
static size_t moved_by(const struct hd_schedule *s, const struct units *u, const struct hd_pair *p) {
  if (p->second == HD_PENDING) return 0;
  size_t n = 0, over = 0;
  for (size_t k = u->of[p->first]; k <= u->of[p->second]; k++) s->step[u->at[k]] == p->thread ? n++ : over++;
  return n < over ? n : over;
}

static bool overlap(const struct hd_event *a, const struct hd_event *b) {
  return hd_op_object(a->op.kind) == HD_OBJ_MEMORY && hd_op_object(b->op.kind) == HD_OBJ_MEMORY &&
         a->op.object < b->op.object + b->op.size && b->op.object < a->op.object + a->op.size;
}

static bool changes(const struct hd_event *e) { return hd_op_does(e->op.kind, e->flags, HD_EFF_CHANGES); }

/* A write between whose read of the same variable and itself others wrote to it: the first of these against the write,
 * and the read against the last of them. Neither is a pair of neighbours when there are several. */
static void add_window(const struct hd_event *ev, size_t write, struct hd_pairs *out) {
  size_t first = write, last = write, from = write > MAX_WINDOW ? write - MAX_WINDOW : 0;
  unsigned thread = ev[write].op.thread;
  for (size_t i = write; i-- > from;) {
    if (!overlap(&ev[i], &ev[write])) continue;
    if (ev[i].op.thread == thread && changes(&ev[i])) return;
    if (ev[i].op.thread == thread && first != write) {
      hd_vec_push(out, ((struct hd_pair){first, write, thread}));
      hd_vec_push(out, ((struct hd_pair){i, last, ev[last].op.thread}));
    }
    if (ev[i].op.thread == thread) return;
    if (!changes(&ev[i])) continue;
    if (last == write) last = i;
    first = i;
  }
}

/* Of the rows that are near to the failure. */
static void add_windows(const struct explainer *x, struct hd_pairs *out) {
  const struct hd_rerun *run = &x->r->rerun;
  for (size_t i = x->f->story->row.n, n = 0; i-- > 0 && n < MAX_WINDOWS;) {
    const struct hd_row *r = &x->f->story->row.v[i];
    if (r->distance > NEAR || r->first > r->last || r->last >= run->nevents) continue;
    for (size_t k = r->first; k <= r->last && n < MAX_WINDOWS; k++) {
      bool write = hd_op_object(run->event[k].op.kind) == HD_OBJ_MEMORY && changes(&run->event[k]);
      if (run->event[k].op.thread == r->thread && write) add_window(run->event, k, out), n++;
    }
  }
}

/* Pairs of two rows of the story, the most promising first. The caller frees. */
static struct candidate *candidates(const struct explainer *x, const struct units *u,
                                    const struct hd_pairs *pairs, size_t *n) {
  const struct hd_rerun *run = &x->r->rerun;
  const struct hd_story *story = x->f->story;
  struct candidate *all = hd_alloc((pairs->n + 1) * sizeof *all);
  *n = 0;
  for (size_t i = 0; i < pairs->n; i++) {
    const struct hd_pair *p = &pairs->v[i];
    size_t a = hd_story_row(story, p->first, run->event[p->first].op.thread);
    size_t b = hd_story_row(story, p->second, p->thread);
    if (!a || !b || a == b) continue;
    all[(*n)++] = (struct candidate){p,
                                     a,
                                     b,
                                     distance_of(&story->row.v[a - 1]) + distance_of(&story->row.v[b - 1]),
                                     moved_by(&x->r->schedule, u, p),
                                     i};
  }
  if (*n) qsort(all, *n, sizeof *all, by_promise);
  return all;
}

/* Searches for the pair and adds it to the story. */
static int find_order(struct explainer *x, double deadline, struct hd_err *err) {
  const struct hd_rerun *run = &x->r->rerun;
  struct hd_story *story = x->f->story;
  struct units u;
  struct hd_pairs pairs = {0};
  struct hd_pending end[HD_MAX_SITES];
  size_t nends = hd_story_ends(x->f, end, HD_MAX_SITES);
  int rc = HD_OK;
  if (units_init(&u, &x->r->schedule, run->event, run->nevents)) {
    uint8_t *mark = hd_analysis_mark(run->event, run->nevents, end, nends);
    hd_analysis_pairs(run->event, run->nevents, mark, end, nends, &pairs);
    free(mark);
    add_windows(x, &pairs);
  }
  size_t n;
  struct candidate *all = candidates(x, &u, &pairs, &n);
  for (size_t i = 0; i < n && rc == HD_OK && i < MAX_PAIRS && hd_now() < deadline && hd_interrupts() == 0;
       i++) {
    struct hd_schedule other = reversed(&x->r->schedule, &u, all[i].pair);
    bool fails = true;
    rc = hd_reduce_try(x->command, &other, x->input, x->f, x->hang_timeout, &fails, err);
    free(other.step);
    if (rc != HD_OK || fails) continue;
    hd_story_order(story, run->event, run->nevents, all[i].first, all[i].second);
    break;
  }
  free(all);
  hd_vec_free(&pairs);
  units_fini(&u);
  return rc;
}

/* ---- the finding of the smaller schedule ---- */

/* Replaces the finding by that of the smaller schedule's run; data about the search are kept. */
static struct hd_finding *replace(const struct hd_command *cmd, struct hd_finding *f,
                                  const struct hd_reduction *r) {
  struct hd_symbolizer *sym;
  struct hd_finding *now = hd_rerun_finding(&r->rerun, cmd, &sym);
  /* The death of a process has no places. */
  if (now->partial && !f->partial) {
    hd_finding_free(now);
    now = f;
  } else {
    now->id = f->id;
    now->execution = f->execution;
    now->executions = f->executions;
    now->events = f->events;
    now->seed = f->seed;
    now->key = f->key;
    now->steps = f->steps;
    now->replays = f->replays;
    memcpy(now->strategy, f->strategy, sizeof now->strategy);
    now->folder = f->folder;
    now->said = f->said;
    now->observed = f->observed;
    now->predicted = f->predicted;
    f->folder = f->said = f->observed = f->predicted = NULL;
    hd_finding_free(f);
    now->story = hd_rerun_story(&r->rerun, now, sym);
  }
  hd_symbolizer_free(sym);
  now->minimised.there = true;
  now->minimised.fewest = r->fewest;
  now->minimised.before = r->before;
  now->minimised.after = r->after;
  return now;
}

int hd_explain(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
               struct hd_finding **f, double seconds, double hang_timeout, struct hd_reduction *out,
               struct hd_err *err) {
  double deadline = hd_now() + seconds;
  double part = s->nsteps > HD_LONG_SCHEDULE ? 1 - ORDER_SHARE : 1;
  int rc = hd_reduce(cmd, s, in, *f, seconds * part, hang_timeout, out, err);
  if (rc != HD_OK || !out->found) return rc;
  *f = replace(cmd, *f, out);
  struct explainer x = {cmd, in, hang_timeout, out, *f};
  /* A race exists in either order, and a leak does not depend on the order. */
  bool ordered = (*f)->kind != HD_KIND_DATA_RACE && (*f)->kind != HD_KIND_LEAK;
  if ((*f)->story && ordered) rc = find_order(&x, deadline + ORDER_GRACE, err);
  return rc;
}
