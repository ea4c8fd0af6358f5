/* saving.c: the search of all ranks in one file. Runs in the supervisor of each rank.
 *
 * Rank 0 asks everybody to freeze: workers wait between two executions, no unit is asked for. What is under way arrives,
 * and may cause more messages. Each rank reports how many it has sent and received, whenever that changes. When the sums
 * are equal rank 0 asks once more; if they are the same then, no message was under way when it asked (Mattern,
 * "Algorithms for distributed termination detection", Distributed Computing 2(3), 1987: the four counter method). Then
 * the trees of all ranks are one consistent tree. Of a sampling strategy the messages are those that hand out numbers. */
#include "cluster/cluster_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FREEZE_PATIENCE 3.0 /* seconds; then another time */

/* Returns whether this rank is frozen. */
static bool freeze(struct hd_cluster *c, struct hd_session *s) {
  if (c->samples) {
    c->paused = s != NULL; /* else it has not begun */
    return !s || hd_session_pause(s, 0);
  }
  hd_balance_freeze(c->balance, true);
  hd_balance_drain(c->balance);
  bool settled = hd_balance_settled(c->balance);
  c->paused |= settled;
  return c->paused && hd_session_pause(s, 0) && settled;
}

static void thaw(struct hd_cluster *c, struct hd_session *s) {
  if (c->paused) hd_session_go_on(s);
  c->paused = c->collect = false;
  c->told = (struct frozen){0};
  if (c->balance) hd_balance_freeze(c->balance, false);
}

static struct frozen frozen_now(const struct hd_cluster *c) {
  return (struct frozen){c->round, c->sent + (c->balance ? hd_balance_counts(c->balance)->messages : 0),
                         c->received};
}

static int put_part(struct hd_cluster *c, struct hd_session *s) {
  struct hd_str *out = &c->part[c->net.rank];
  int rc;
  hd_str_clear(out);
  double until = hd_now() + FREEZE_PATIENCE;
  while ((rc = c->samples ? hd_session_put_samples(s, c->span.v, c->span.n, out)
                          : hd_session_put_saved(s, out)) == HD_LATER &&
         hd_now() < until)
    nanosleep(&(struct timespec){0, 100000}, NULL);
  return rc;
}

/* The other ranks: until rank 0 lets us go on. */
void hd__cluster_stay_frozen(struct hd_cluster *c, struct hd_session *s) {
  while (c->round && !c->stopping && !c->has_next) {
    if ((c->samples || (c->balance && !c->waits)) && freeze(c, s)) {
      struct frozen now = frozen_now(c);
      if (memcmp(&now, &c->told, sizeof now) != 0) {
        hd__cluster_post(c, 0, MSG_FROZEN, c->generation, &now, sizeof now);
        c->told = now;
      }
    }
    if (c->collect && (c->samples || c->balance)) {
      c->collect = false;
      if (put_part(c, s) == HD_DONE)
        hd__cluster_post(c, 0, MSG_PART, c->generation, c->part[c->net.rank].s, c->part[c->net.rank].n);
    }
    nanosleep(&(struct timespec){0, 200000}, NULL);
    hd__cluster_receive(c);
  }
  thaw(c, s);
}

static void ask_round(struct hd_cluster *c, uint32_t round) {
  c->round = round;
  hd__cluster_spread(c, MSG_FREEZE, c->generation, &c->round, sizeof c->round);
}

/* Whether nothing is under way anywhere. */
static bool freeze_all(struct hd_cluster *c, struct hd_session *s, double until) {
  uint64_t last = UINT64_MAX;
  memset(c->frozen, 0, (size_t)c->net.size * sizeof *c->frozen);
  for (ask_round(c, 1); hd_now() < until; nanosleep(&(struct timespec){0, 200000}, NULL)) {
    hd__cluster_receive(c);
    if (!c->samples && (hd_session_epoch(s) != c->epoch || hd_balance_refused(c->balance))) return false;
    if (!freeze(c, s)) continue;
    c->frozen[0] = frozen_now(c);
    uint64_t sent = 0, received = 0;
    bool all = true;
    for (int i = 0; i < c->team.size; i++) {
      all &= c->frozen[i].round == c->round;
      sent += c->frozen[i].sent;
      received += c->frozen[i].received;
    }
    if (!all || sent != received) continue;
    if (sent == last) return true;
    last = sent;
    ask_round(c, c->round + 1);
  }
  return false;
}

static bool collect_all(struct hd_cluster *c, struct hd_session *s, double until) {
  for (int i = 0; i < c->net.size; i++) hd_str_clear(&c->part[i]);
  hd__cluster_spread(c, MSG_COLLECT, c->generation, NULL, 0);
  bool all = put_part(c, s) == HD_DONE;
  for (int i = 1; i < c->team.size && all; i++)
    while (!c->part[i].n && (all = hd_now() < until)) {
      hd__cluster_wait(c);
    }
  return all;
}

static int write_file(struct hd_cluster *c, struct hd_session *s, uint32_t ranks, struct hd_err *err) {
  struct hd_saved_part *part = hd_alloc((size_t)c->net.size * sizeof *part);
  for (int i = 0; i < c->net.size; i++) part[i] = (struct hd_saved_part){c->part[i].s, c->part[i].n};
  int rc = c->samples ? hd_session_save_samples(s, c->save, part, ranks, err)
                      : hd_session_save_parts(s, c->save, part, ranks, err);
  free(part);
  return rc;
}

bool hd__cluster_save(struct hd_cluster *c, struct hd_session *s) {
  struct hd_err err;
  /* Else what the others have is void. */
  bool alone = !c->started || (!c->samples && hd_session_epoch(s) != c->epoch);
  double until = hd_now() + FREEZE_PATIENCE;
  c->saved_at = hd_now();
  if (alone && !c->samples) hd_session_expect(s, hd_session_epoch(s));
  bool ready = alone ? hd_session_pause(s, FREEZE_PATIENCE) && put_part(c, s) == HD_DONE
                     : freeze_all(c, s, until) && collect_all(c, s, until + FREEZE_PATIENCE);
  if (ready && write_file(c, s, alone ? 1 : (uint32_t)c->team.size, &err) != HD_OK) {
    hd_warn("%s", err.text);
    ready = false;
  }
  if (!alone) hd__cluster_spread(c, MSG_THAW, c->generation, NULL, 0);
  c->round = 0;
  if (alone) hd_session_go_on(s);
  thaw(c, s);
  c->saved_at = hd_now() - (ready ? 0 : c->save_every / 2);
  return ready;
}
