/* samples.c: the executions of a sampling strategy, divided among the ranks. Runs in the supervisor of each rank.
 *
 * Rank 0 has the numbers (explore/spans.c), and takes its own one by one. The others ask for as many as keep them busy for
 * a moment, so that ranks of different speed end together, and rank 0 hears of each a few times a second, or more rarely
 * the more ranks there are. A number is executed once: what a rank has left when the search is saved is saved with it. */
#include "cluster/cluster_int.h"

#include <string.h>

#define BUSY 0.2           /* seconds for which numbers last ... */
#define BUSY_PER_RANK 1e-3 /* ... and so many more for each rank */
#define FIRST 16           /* numbers to begin with */
#define MOST (1u << 24)    /* at a time */
#define AHEAD 4            /* more are asked for when so small a part is left */

/* ---- rank 0 ---- */

/* Gives what was asked for. Towards the end less, so that nobody has much left when others have nothing. */
static void serve(struct hd_cluster *c, struct hd_session *s) {
  size_t done = 0;
  for (; done < c->asking.n; done++) {
    const struct asking *a = &c->asking.v[done];
    struct hd_span span;
    uint64_t n = a->wanted, left = hd_session_samples_ahead(s);
    if (n > left / (2 * (uint64_t)c->net.size) + 1) n = left / (2 * (uint64_t)c->net.size) + 1;
    if (hd_session_take_samples(s, n, &span) != HD_DONE) break;
    c->sent++;
    hd__cluster_post(c, a->rank, MSG_SPAN, 0, &span, sizeof span);
  }
  c->asking.n -= done;
  memmove(c->asking.v, c->asking.v + done, c->asking.n * sizeof *c->asking.v);
}

static void lead(struct hd_cluster *c, struct hd_session *s) {
  if (!c->started) hd__cluster_start(c, s);
  serve(c, s);
  if (c->ndone == c->net.size - 1 && !hd_session_samples_ahead(s) && hd_session_at_rest(s))
    hd_session_spend(s);
}

/* ---- the others ---- */

static void ask(struct hd_cluster *c, uint64_t wanted) {
  struct more more = {wanted};
  c->asked = true;
  hd__cluster_post(c, 0, MSG_MORE, 0, &more, sizeof more);
}

static uint64_t as_many_as(const struct hd_cluster *c, const struct hd_session *s) {
  uint64_t executions, events;
  hd_session_counts(s, &executions, &events);
  double seconds = hd_now() - c->joined, n = 0;
  if (seconds > 0) n = (double)executions / seconds * (BUSY + BUSY_PER_RANK * c->net.size);
  return n < 1 ? 1 : n > MOST ? MOST : (uint64_t)n;
}

static void follow(struct hd_cluster *c, struct hd_session *s) {
  size_t added = 0;
  uint64_t left;
  while (added < c->span.n && hd_session_add_samples(s, c->span.v[added]) == HD_DONE) added++;
  c->span.n -= added;
  memmove(c->span.v, c->span.v + added, c->span.n * sizeof *c->span.v);
  if (c->span.n || hd_session_samples_left(s, &left) != HD_DONE) return;
  if (!c->asked && !c->last) {
    uint64_t wanted = as_many_as(c, s);
    if (left < wanted / AHEAD + 1) ask(c, wanted);
  }
  if (c->last && !c->done && hd_session_at_rest(s)) {
    c->done = true;
    hd__cluster_post(c, 0, MSG_DONE, 0, NULL, 0);
  }
}

bool hd__samples_join(struct hd_cluster *c, struct hd_span *first) {
  c->joined = hd_now();
  ask(c, FIRST);
  while (c->asked && !c->stopping) {
    if (c->round) hd__cluster_stay_frozen(c, NULL);
    hd__cluster_wait(c);
  }
  if (c->span.n) {
    *first = c->span.v[0];
    c->span.n = 0;
    return true;
  }
  if (!c->stopping) hd__cluster_post(c, 0, MSG_DONE, 0, NULL, 0);
  while (!c->stopping) {
    if (c->round) hd__cluster_stay_frozen(c, NULL);
    hd__cluster_wait(c);
  }
  return false;
}

/* ---- */

void hd__samples_message(struct hd_cluster *c, int from, uint32_t kind, const char *data, size_t n) {
  if (kind == MSG_DONE) c->ndone++;
  if (kind == MSG_MORE && n == sizeof(struct more)) {
    struct more more;
    memcpy(&more, data, sizeof more);
    struct asking a = {from, more.wanted};
    hd_vec_push(&c->asking, a);
  }
  if (kind == MSG_SPAN && n == sizeof(struct hd_span)) {
    struct hd_span span;
    memcpy(&span, data, sizeof span);
    c->received++;
    c->asked = false;
    c->last = span.next == span.end;
    if (!c->last) hd_vec_push(&c->span, span);
  }
}

void hd__samples_tick(struct hd_cluster *c, struct hd_session *s) {
  if (c->net.rank)
    follow(c, s);
  else
    lead(c, s);
}
