/* strategy_replay.c: follows a recorded schedule step by step. Runs in the tested process.
 *
 * A step that cannot be taken is a divergence: it is recorded with what the thread was about to do, and
 * the execution ends. After the last step the lowest enabled thread goes on, so that an execution which the
 * original cut short can be brought to its finding. */
#include "explore/explore.h"

static int begin(struct hd_search *s) {
  s->replay_pos = 0;
  return 1;
}

static int diverge(struct hd_search *s, unsigned want, unsigned op) {
  s->status->diverged = 1;
  s->status->diverge_step = s->replay_pos;
  s->status->diverge_want = want;
  s->status->diverge_op = op;
  return HD_PICK_DIVERGED;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  if (s->replay_pos >= s->replay_len) return (int)hd_set_nth(p->enabled, 0);
  unsigned want = s->replay[s->replay_pos];
  if (want & HD_STEP_CHOICE) return diverge(s, want, HD_OP_NONE);
  if (want >= p->words * 64 || !hd_set_has(p->enabled, want)) {
    const struct hd_op *op = want < p->words * 64 ? p->op[want] : 0;
    return diverge(s, want, op ? op->kind : HD_OP_NONE);
  }
  s->replay_pos++;
  return (int)want;
}

static int choose(struct hd_search *s, unsigned n) {
  if (s->replay_pos >= s->replay_len) return 0;
  unsigned want = s->replay[s->replay_pos];
  if (!(want & HD_STEP_CHOICE) || (want & ~HD_STEP_CHOICE) >= n) return diverge(s, want, HD_OP_CHOOSE);
  s->replay_pos++;
  return (int)(want & ~HD_STEP_CHOICE);
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  (void)s, (void)p, (void)how;
  return 0;
}

const struct hd_strategy hd_strategy_replay = {
    .name = "replay", .skip_forced = 0, .begin = begin, .pick = pick, .choose = choose, .end = end};
