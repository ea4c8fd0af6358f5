/* balance.c: work stealing between the ranks of a cluster.
 *
 * An idle rank asks another one for a unit: the first time its parent in a binary tree of ranks, since at the start only
 * the root has work, then one drawn at random. There is no coordinator: every rank serves its own thieves, and with
 * random victims no rank is asked by more than a few (Blumofe, Leiserson, "Scheduling Multithreaded Computations by Work
 * Stealing", JACM 46(5), 1999; the victim gives its unit nearest to the root, the largest). After requests that failed
 * a thief waits longer and longer, so that a cluster with little work is not flooded.
 *
 * The end is exact without a count of messages: a unit counts at its giver's junction until it is concluded, and is
 * concluded only after the units that were taken from it (as in Dijkstra, Scholten, "Termination detection for diffusing
 * computations", IPL 11(1), 1980). So the search is over when the junction of the initial state is closed, at rank 0.
 *
 * Invariants
 *  1. A rank has at most one request under way, and accepts a unit before it asks again.
 *  2. The conclusion of a unit is sent when all its insertions are acknowledged (explore/walk_move.c, invariant 3).
 *  3. Nothing of another generation of the search is looked at. */
#include "cluster/balance.h"

#include <stdlib.h>
#include <string.h>

#define MAX_THIEVES 64
#define PATIENCE 0.01    /* seconds that a thief waits for a victim that cannot split its work */
#define RETRY_MIN 0.0005 /* seconds until the next request after one that failed, ... */
#define RETRY_MAX 0.005  /* ... at most */

/* A unit of another rank that is explored here. */
struct import {
  bool used, over;
  uint32_t unacknowledged;
  int owner; /* `over`: who has to know, and what */
  struct hd_str conclusion;
};

/* News that could not be told to the search yet. */
struct deferred {
  int from;
  uint32_t serial;
  enum hd_news what;
  struct hd_str data;
};

struct thief {
  int rank;
  double since;
};

struct hd_balance {
  struct hd_net *net;
  struct hd_host host;
  uint64_t rng;
  uint32_t generation;
  bool refused, asked_parent, frozen;
  bool asking; /* a request is under way */
  double next_request, retry, looked_at;
  bool was_idle;
  bool arrived; /* a unit is here, and no worker has taken it yet */
  struct hd_str unit;
  uint32_t unit_serial;
  struct thief thief[MAX_THIEVES];
  unsigned nthieves;
  HD_VEC(struct import) import;
  HD_VEC(struct deferred) deferred;
  struct hd_str scratch;
  struct hd_balance_counts counts;
};

static uint64_t draw(struct hd_balance *b) {
  uint64_t z = b->rng += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

struct hd_balance *hd_balance_new(struct hd_net *net, const struct hd_host *host, uint64_t seed) {
  struct hd_balance *b = hd_alloc(sizeof *b);
  b->net = net;
  b->host = *host;
  b->rng = seed * 0x9e3779b97f4a7c15ull + (uint64_t)net->rank + 1;
  b->retry = RETRY_MIN;
  hd_str_init(&b->unit);
  hd_str_init(&b->scratch);
  return b;
}

static void drop_all(struct hd_balance *b) {
  for (size_t i = 0; i < b->import.n; i++) hd_str_fini(&b->import.v[i].conclusion);
  for (size_t i = 0; i < b->deferred.n; i++) hd_str_fini(&b->deferred.v[i].data);
  b->import.n = b->deferred.n = 0;
}

void hd_balance_free(struct hd_balance *b) {
  if (!b) return;
  drop_all(b);
  hd_vec_free(&b->import);
  hd_vec_free(&b->deferred);
  hd_str_fini(&b->unit);
  hd_str_fini(&b->scratch);
  free(b);
}

static void post(struct hd_balance *b, int to, uint32_t kind, uint32_t generation, uint32_t serial,
                 const void *data, size_t n) {
  struct hd_msg_head head = {kind, generation, serial, 0};
  hd_str_clear(&b->scratch);
  hd_str_addn(&b->scratch, (const char *)&head, sizeof head);
  if (n) hd_str_addn(&b->scratch, data, n);
  b->counts.messages++;
  b->counts.bytes += b->scratch.n;
  b->net->send(b->net, to, b->scratch.s, b->scratch.n);
}

void hd_balance_send(struct hd_balance *b, int to, uint32_t kind, uint32_t serial, const void *data,
                     size_t n) {
  post(b, to, kind, b->generation, serial, data, n);
}

void hd_balance_restart(struct hd_balance *b, uint32_t generation) {
  for (unsigned i = 0; i < b->nthieves; i++) hd_balance_send(b, b->thief[i].rank, HD_MSG_NONE, 0, NULL, 0);
  drop_all(b);
  b->nthieves = 0;
  b->arrived = b->asking = b->refused = b->asked_parent = false;
  b->retry = RETRY_MIN;
  b->next_request = 0;
  b->generation = generation;
}

/* ---- as the owner of junctions ---- */

/* Returns whether it is done, one way or the other. */
static bool tell(struct hd_balance *b, int from, uint32_t serial, enum hd_news what, const char *data,
                 size_t n) {
  int rc = b->host.told(b->host.arg, what, data, n);
  if (rc < 0) return false;
  if (!rc) b->refused = true;
  if (rc && what == HD_NEWS_INSERT) hd_balance_send(b, from, HD_MSG_ACK, serial, NULL, 0);
  return true;
}

static void tell_or_defer(struct hd_balance *b, int from, uint32_t serial, enum hd_news what,
                          const char *data, size_t n) {
  if (!b->deferred.n && tell(b, from, serial, what, data, n)) return;
  struct deferred d = {.from = from, .serial = serial, .what = what};
  hd_str_init(&d.data);
  hd_str_addn(&d.data, data, n);
  hd_vec_push(&b->deferred, d);
}

static void tell_deferred(struct hd_balance *b) {
  size_t done = 0;
  while (done < b->deferred.n) {
    struct deferred *d = &b->deferred.v[done];
    if (!tell(b, d->from, d->serial, d->what, d->data.s, d->data.n)) break;
    hd_str_fini(&d->data);
    done++;
  }
  b->deferred.n -= done;
  memmove(b->deferred.v, b->deferred.v + done, b->deferred.n * sizeof *b->deferred.v);
}

/* ---- units that are explored here ---- */

static void conclude(struct hd_balance *b, struct import *i) {
  if (!i->used || !i->over || i->unacknowledged) return;
  hd_balance_send(b, i->owner, HD_MSG_CONCLUDED, 0, i->conclusion.s, i->conclusion.n);
  b->counts.concluded++;
  i->used = false;
}

static void on_news(void *ctx, enum hd_news what, uint32_t rank, uint32_t serial, const char *data,
                    size_t n) {
  struct hd_balance *b = ctx;
  HD_BUG_ON(serial >= b->import.n || !b->import.v[serial].used);
  struct import *i = &b->import.v[serial];
  if (what == HD_NEWS_INSERT) {
    i->unacknowledged++;
    b->counts.inserted++;
    hd_balance_send(b, (int)rank, HD_MSG_INSERT, serial, data, n);
    return;
  }
  i->over = true;
  i->owner = (int)rank;
  hd_str_clear(&i->conclusion);
  hd_str_addn(&i->conclusion, data, n);
  conclude(b, i);
}

static void on_ack(struct hd_balance *b, uint32_t serial) {
  if (serial >= b->import.n || !b->import.v[serial].unacknowledged) return;
  b->import.v[serial].unacknowledged--;
  conclude(b, &b->import.v[serial]);
}

static uint32_t new_import(struct hd_balance *b) {
  size_t i = 0;
  while (i < b->import.n && b->import.v[i].used) i++;
  if (i == b->import.n) {
    hd_vec_push(&b->import, (struct import){0});
    hd_str_init(&b->import.v[i].conclusion);
  }
  b->import.v[i].used = true;
  b->import.v[i].over = false;
  b->import.v[i].unacknowledged = 0;
  return (uint32_t)i;
}

static void accept(struct hd_balance *b) {
  int rc = b->host.accept(b->host.arg, b->unit_serial, b->unit.s, b->unit.n);
  if (rc < 0) return;
  b->arrived = false;
  if (rc) {
    b->counts.accepted++;
  } else {
    b->refused = true;
  }
}

static void on_unit(struct hd_balance *b, const char *data, size_t n) {
  b->asking = false;
  b->retry = RETRY_MIN;
  hd_str_clear(&b->unit);
  hd_str_addn(&b->unit, data, n);
  b->unit_serial = new_import(b);
  b->arrived = true;
  accept(b);
}

/* ---- stealing ---- */

static void request(struct hd_balance *b) {
  int n = b->net->size, self = b->net->rank, victim;
  if (!b->asked_parent && self > 0) {
    victim = (self - 1) / 2;
    b->asked_parent = true;
  } else {
    victim = (int)(draw(b) % (uint64_t)(n - 1));
    victim += victim >= self;
  }
  b->asking = true;
  b->counts.steals++;
  hd_balance_send(b, victim, HD_MSG_STEAL, 0, NULL, 0);
}

static void on_none(struct hd_balance *b) {
  if (!b->asking) return;
  b->asking = false;
  b->counts.failed++;
  b->next_request = b->host.now(b->host.arg) + b->retry;
  b->retry = b->retry * 2 < RETRY_MAX ? b->retry * 2 : RETRY_MAX;
}

static void on_steal(struct hd_balance *b, int from) {
  if (b->frozen || b->nthieves == MAX_THIEVES || b->host.idle(b->host.arg)) {
    hd_balance_send(b, from, HD_MSG_NONE, 0, NULL, 0);
    return;
  }
  b->thief[b->nthieves++] = (struct thief){from, b->host.now(b->host.arg)};
}

static void serve(struct hd_balance *b, bool idle) {
  double now = b->host.now(b->host.arg);
  unsigned done = 0;
  struct hd_str unit;
  hd_str_init(&unit);
  for (; done < b->nthieves; done++) {
    struct thief *t = &b->thief[done];
    hd_str_clear(&unit);
    int rc = idle ? 0 : b->host.give(b->host.arg, &unit);
    if (rc > 0) {
      b->counts.given++;
      hd_balance_send(b, t->rank, HD_MSG_UNIT, 0, unit.s, unit.n);
      continue;
    }
    if (!idle && now - t->since < PATIENCE) break;
    hd_balance_send(b, t->rank, HD_MSG_NONE, 0, NULL, 0);
  }
  hd_str_fini(&unit);
  b->nthieves -= done;
  memmove(b->thief, b->thief + done, b->nthieves * sizeof *b->thief);
}

/* ---- */

void hd_balance_message(struct hd_balance *b, int from, const char *data, size_t n) {
  struct hd_msg_head head;
  if (n < sizeof head) return;
  memcpy(&head, data, sizeof head);
  data += sizeof head;
  n -= sizeof head;
  if (head.generation != b->generation) {
    if (head.kind == HD_MSG_STEAL) post(b, from, HD_MSG_NONE, head.generation, 0, NULL, 0);
    return;
  }
  switch ((enum hd_msg)head.kind) {
    case HD_MSG_STEAL: on_steal(b, from); break;
    case HD_MSG_NONE: on_none(b); break;
    case HD_MSG_UNIT: on_unit(b, data, n); break;
    case HD_MSG_INSERT: tell_or_defer(b, from, head.serial, HD_NEWS_INSERT, data, n); break;
    case HD_MSG_ACK: on_ack(b, head.serial); break;
    case HD_MSG_CONCLUDED: tell_or_defer(b, from, head.serial, HD_NEWS_CONCLUDED, data, n); break;
    default: break;
  }
}

void hd_balance_drain(struct hd_balance *b) {
  double now = b->host.now(b->host.arg);
  if (b->was_idle) b->counts.idle += now - b->looked_at;
  b->looked_at = now;
  tell_deferred(b);
  if (b->arrived) accept(b);
  b->host.news(b->host.arg, on_news, b);
}

void hd_balance_freeze(struct hd_balance *b, bool on) {
  b->frozen = on;
  if (on) serve(b, true);
}

bool hd_balance_settled(const struct hd_balance *b) { return !b->asking && !b->arrived && !b->deferred.n; }

void hd_balance_tick(struct hd_balance *b) {
  hd_balance_drain(b);
  double now = b->looked_at;
  bool idle = !b->arrived && b->host.idle(b->host.arg);
  if (b->nthieves) serve(b, idle);
  b->was_idle = idle;
  if (idle && !b->asking && !b->refused && b->net->size > 1 && now >= b->next_request) request(b);
}

bool hd_balance_idle(const struct hd_balance *b) { return b->was_idle; }

bool hd_balance_refused(const struct hd_balance *b) { return b->refused; }
const struct hd_balance_counts *hd_balance_counts(const struct hd_balance *b) { return &b->counts; }
