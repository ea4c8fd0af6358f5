/* strategy_replay.c: follows a recorded schedule step by step. Runs in the tested process.
 *
 * A step that cannot be taken is a divergence: it is recorded with what the thread was about to do, and
 * the execution ends. After the last step the lowest enabled thread goes on, so that an execution which the
 * original cut short can be brought to its finding. One that yields or sleeps lets all others go first: it may wait for
 * them in a loop. */
#include "explore/explore.h"

static int begin(struct hd_search *s) {
  s->replay_pos = 0;
  return 1;
}

static int diverge(struct hd_search *s, struct hd_decision want, unsigned op) {
  s->status->diverged = 1;
  s->status->diverge_step = s->replay_pos;
  s->status->diverge_kind = want.kind;
  s->status->diverge_want = want.value;
  s->status->diverge_op = op;
  return HD_PICK_DIVERGED;
}

/* The next decision, and how many units it takes. pre: there are units left. */
static unsigned next(const struct hd_search *s, struct hd_decision *d) {
  *d = (struct hd_decision){HD_DECIDE_THREAD, HD_MAX_THREADS}; /* damaged: nobody */
  return hd_decision_get(s->replay + s->replay_pos, s->replay_len - s->replay_pos, d);
}

static int yields(const struct hd_point *p, unsigned t) { return hd_op_is(p->op[t]->kind, HD_TRAIT_YIELDS); }

/* Who goes on after the last step. */
static unsigned continuation(const struct hd_point *p) {
  HD_SET_EACH (t, p->enabled, p->words)
    if (!yields(p, t)) return t;
  unsigned next = hd_set_next(p->enabled, p->words, p->current + 1); /* in turn */
  return next < HD_MAX_THREADS ? next : hd_set_next(p->enabled, p->words, 0);
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct hd_decision want;
  if (s->replay_pos >= s->replay_len) return (int)continuation(p);
  unsigned n = next(s, &want);
  if (want.kind != HD_DECIDE_THREAD) return diverge(s, want, HD_OP_NONE);
  if (want.value >= p->words * 64 || !hd_set_has(p->enabled, (unsigned)want.value)) {
    const struct hd_op *op = want.value < p->words * 64 ? p->op[want.value] : 0;
    return diverge(s, want, op ? op->kind : HD_OP_NONE);
  }
  s->replay_pos += n;
  return (int)want.value;
}

static int choose(struct hd_search *s, unsigned n) {
  struct hd_decision want;
  if (s->replay_pos >= s->replay_len) return 0;
  unsigned units = next(s, &want);
  if (want.kind != HD_DECIDE_OUTCOME || want.value >= n) return diverge(s, want, HD_OP_CHOOSE);
  s->replay_pos += units;
  return (int)want.value;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  (void)s, (void)p, (void)how;
  return 0;
}

const struct hd_strategy hd_strategy_replay = {
    .name = "replay", .skip_forced = 0, .begin = begin, .pick = pick, .choose = choose, .end = end};
