/* sleep.c: the filter of sleep sets. Runs in the tested process.
 *
 * Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996. What was explored from a state
 * sleeps in the branches explored after it: it is not run before something dependent on it was, since every execution
 * in which it comes first is covered already.
 *
 * Soundness. What covers a branch must be explored whole, up to happens-before equivalence. So sleep sets must not be
 * combined with a filter that cuts by something other than happens-before classes: the branch that covers another may
 * cost more and be cut by a bound (bounds.c), and what a visited state (visited.c) covers depends on what slept in it.
 *
 * Invariant: a thread asleep at a node is not run before something dependent on its operation was. */
#include "explore/walk.h"

/* Whether a sleeper stays asleep beyond an operation with that outcome. */
static int sleeps_on(const struct hd_sleeper *s, const struct hd_op *op, unsigned flags, uint64_t key) {
  return s->op.thread != op->thread && (hd_keys_apart(key, hd_dependence_key(&s->op, s->flags)) ||
                                        !hd_dependent(&s->op, s->flags, op, flags));
}

/* Whether the step turned out to be other than was thought when its branch was added. */
static int unexpected(const struct hd_branch *b, const struct hd_ev *e) {
  return b->flags != e->flags || b->op.kind != e->op.kind || b->op.object != e->op.object ||
         b->op.size != e->op.size || !hd_payload_same(&b->op, &e->op);
}

/* What sleeps at a new node: what slept before and is independent of the step just made, both as it was and as it was
 * thought to be. (A branch that was added although something here covers it absorbs later requests with the same
 * prefix. So here nothing may be left to what covers it.) */
static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  struct unit *u = w->unit;
  (void)p;
  if (!k || !fresh) return;
  struct node *n = &u->node[k];
  const struct node *up = n - 1;
  const struct hd_ev *e = &w->order.ev[k - 1];
  const struct hd_branch *thought = up->branch && unexpected(up->branch, e) ? up->branch : NULL;
  uint64_t key = w->order.key[k - 1];
  for (uint32_t i = 0; i < up->nsleep; i++)
    if (sleeps_on(&up->sleep[i], &e->op, e->flags, key) &&
        (!thought || sleeps_on(&up->sleep[i], &thought->op, thought->flags, 0))) {
      if (u->sleep_next == u->sleep_end) hd_give_up(HD_TREE_FULL);
      *u->sleep_next++ = up->sleep[i];
      n->nsleep++;
    }
}

/* A thread whose choice has an outcome that does not sleep may go, with that outcome. */
static int admits(struct walk *w, uint32_t k, unsigned thread, int *outcome) {
  const struct node *n = &w->unit->node[k];
  unsigned seen = 0, nchoices = 0;
  for (uint32_t i = 0; i < n->nsleep; i++)
    if (n->sleep[i].op.thread == thread) {
      seen++;
      nchoices = n->sleep[i].nchoices;
    }
  if (!seen) return 1;
  if (seen >= nchoices || nchoices <= 1) return 0;
  for (unsigned c = 0; c < nchoices; c++) {
    int used = 0;
    for (uint32_t i = 0; i < n->nsleep; i++)
      used |= n->sleep[i].op.thread == thread && n->sleep[i].choice == c;
    if (!used) {
      *outcome = (int)c;
      return 1;
    }
  }
  return 0;
}

int hd__sleeps(const struct hd_sleeper *sleep, uint32_t n, struct hd_branch *b) {
  uint32_t nchoices = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct hd_sleeper *d = &sleep[i];
    if (d->op.thread != b->op.thread) continue;
    if (d->nchoices <= 1 || (!b->any_choice && d->choice == b->choice)) return 1;
    if (b->any_choice) nchoices = d->nchoices;
  }
  for (uint32_t c = 0; c < nchoices; c++) {
    int sleeps = 0;
    for (uint32_t i = 0; i < n; i++) sleeps |= sleep[i].op.thread == b->op.thread && sleep[i].choice == c;
    if (sleeps) continue;
    b->any_choice = 0;
    b->choice = c;
    return 0;
  }
  return nchoices > 0;
}

struct hd_branch *hd__awake(const struct node *n, struct hd_branch *b) {
  struct hd_branch *first = NULL, **to = &first;
  for (; b; b = b->next) {
    if (hd__sleeps(n->sleep, n->nsleep, b)) continue;
    if (*to != b) *to = b;
    to = &b->next;
  }
  *to = NULL;
  return first;
}

const struct filter hd__filter_sleep = {.id = FILTER_SLEEP, .enter = enter, .admits = admits};
