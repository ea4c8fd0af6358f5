/* strategy_reduce.c: makes a schedule that fails smaller, by trying others near it. Runs in the tested process.
 *
 * A schedule is looked at as a list of blocks, each a thread and how many steps it shall have made in all when the
 * block ends. A candidate is the best list so far with a few blocks changed; it is followed as far as that is
 * possible, and kept if it fails in the same way and costs less: fewer preemptions, then fewer switches, then fewer
 * threads, then fewer steps.
 *
 * Jalbert, Sen, "A Trace Simplification Technique for Effective Debugging of Concurrent Programs", FSE 2010, with
 * chunks that are halved as in Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", TSE 2002.
 * Differences:
 *  - Blocks count the steps of their thread from the beginning, so what a block could not do is made up for by the next
 *    one of that thread; nothing has to be matched up again after a change.
 *  - A candidate is given up as soon as it has more preemptions than the best.
 *  - Of a long list, first only its end is kept. Before that, threads run without preemption until each has made as many
 *    steps as it had there, in whatever order that is possible. The length of the end is doubled until the failure
 *    occurs, then bisected.
 *  - When no single change helps any more, several at random are tried, and lists that cost as much are taken, too.
 *  - Of schedules that differ in nothing but which of two threads does what, the one is taken in which the one created
 *    first goes first.
 *
 * Invariants
 *  1. The best schedule is what was really executed, not what was asked for; it is written beside the last one and
 *     becomes the best with one store, so one is there whole whenever the process dies.
 *  2. Nothing is kept outside the search area: in fork mode every candidate runs in a process of its own.
 *  3. begin() changes nothing that end() has decided, so a candidate can be begun again. */
#include "explore/explore_int.h"

enum pass {
  PASS_ORIGINAL,
  PASS_TAIL,
  PASS_DELETE,
  PASS_JOIN,
  PASS_RUN_ON,
  PASS_SWAP,
  PASS_RANDOM,
  PASS_TIDY,
  PASS_OVER
};

#define FOREVER UINT32_MAX
#define LONG 24           /* blocks of a list of which only the end is kept at first */
#define TIDY 12           /* threads that are exchanged with each other */
#define RANDOM_MIN 300    /* random candidates in a row that may fail ... */
#define RANDOM_MAX 20000u /* ... at least and at most; in between it depends on the number of blocks ... */
#define RANDOM_STEPS \
  10000000ull /* ... and of long schedules, only so many that they have this many steps in all */

struct block {
  uint32_t upto; /* steps of the thread in all */
  uint16_t thread;
  uint16_t unused;
};

struct choice {
  uint32_t thread, outcome;
};

struct state {
  uint32_t ready;
  uint32_t pass;
  uint32_t at, chunk; /* which of the pass's candidates */
  uint32_t improved;  /* in this round of passes */
  uint32_t failures;  /* random candidates since the last success */
  uint32_t nblocks, ncandidate, nchoices;
  uint32_t tail_low, tail_high; /* so many blocks at the end are too few; are enough, 0: not known yet */
  uint32_t nloose;              /* blocks at the beginning of the candidate whose order does not matter */
  /* the execution under way */
  uint32_t cursor; /* block it is at */
  uint32_t preemptions, switches, threads;
  uint32_t last; /* thread that was picked */
  uint64_t nsteps;
  uint32_t steps[HD_MAX_THREADS];   /* of each thread */
  uint32_t choices[HD_MAX_THREADS]; /* where to look for its next choice */
};

/* The search area: the head is what the supervisor reads, then ours. */
#define AT_STATE 4096ull
#define AT_BLOCKS (3ull << 28)
#define AT_CANDIDATE (7ull << 28)
#define AT_CHOICES (11ull << 28)

static struct hd_reduced *head(struct hd_search *s) { return (struct hd_reduced *)s->memory; }
static struct state *state(struct hd_search *s) { return (struct state *)(s->memory + AT_STATE); }
static struct block *blocks(struct hd_search *s) { return (struct block *)(s->memory + AT_BLOCKS); }
static struct block *candidate(struct hd_search *s) { return (struct block *)(s->memory + AT_CANDIDATE); }
static struct choice *choice_list(struct hd_search *s) { return (struct choice *)(s->memory + AT_CHOICES); }
/* Where the execution under way is written: beside the best one. */
static uint32_t spare(struct hd_search *s) { return head(s)->found == 1; }
static hd_step *log_of(struct hd_search *s, uint32_t i) {
  return (hd_step *)(s->memory + HD_REDUCED_STEPS + i * HD_REDUCED_SIZE);
}

/* ---- from steps to blocks ---- */

static void learn(struct hd_search *s, const hd_step *step, uint64_t n) {
  struct state *st = state(s);
  struct block *b = blocks(s);
  uint32_t *steps = st->steps; /* not in use between executions */
  unsigned last = 0;
  for (unsigned i = 0; i < HD_MAX_THREADS; i++) steps[i] = 0;
  st->nblocks = st->nchoices = 0;
  struct hd_decision d;
  unsigned units;
  for (uint64_t i = 0; i < n && (units = hd_decision_get(step + i, n - i, &d)); i += units) {
    unsigned v = (unsigned)d.value;
    if (d.kind == HD_DECIDE_OUTCOME) choice_list(s)[st->nchoices++] = (struct choice){last, v};
    if (d.kind != HD_DECIDE_THREAD) continue;
    steps[v]++;
    if (!st->nblocks || b[st->nblocks - 1].thread != v)
      b[st->nblocks++] = (struct block){steps[v], (uint16_t)v, 0};
    else
      b[st->nblocks - 1].upto = steps[v];
    last = v;
  }
}

/* ---- candidates ---- */

static void start_from_best(struct hd_search *s) {
  struct state *st = state(s);
  st->nloose = 0;
  for (uint32_t i = 0; i < st->nblocks; i++) candidate(s)[i] = blocks(s)[i];
  st->ncandidate = st->nblocks;
}

static void erase(struct hd_search *s, uint32_t at, uint32_t n) {
  struct state *st = state(s);
  struct block *c = candidate(s);
  for (uint32_t i = at; i + n < st->ncandidate; i++) c[i] = c[i + n];
  st->ncandidate -= n;
}

static uint32_t next_of_thread(struct hd_search *s, uint32_t at) {
  struct state *st = state(s);
  const struct block *c = candidate(s);
  uint32_t i = at + 1;
  while (i < st->ncandidate && c[i].thread != c[at].thread) i++;
  return i;
}

/* Block `at` does what the next one of its thread does, too. Returns 0 if there is none. */
static int join(struct hd_search *s, uint32_t at) {
  uint32_t i = next_of_thread(s, at);
  if (i == state(s)->ncandidate) return 0;
  candidate(s)[at].upto = candidate(s)[i].upto;
  erase(s, i, 1);
  return 1;
}

static void swap(struct hd_search *s, uint32_t i, uint32_t k) {
  struct block *c = candidate(s), t = c[i];
  c[i] = c[k];
  c[k] = t;
}

/* Block `at` goes on until its thread has to wait. */
static int run_on(struct hd_search *s, uint32_t at) {
  int changed = next_of_thread(s, at) < state(s)->ncandidate;
  while (join(s, at)) continue;
  changed |= candidate(s)[at].upto != FOREVER;
  candidate(s)[at].upto = FOREVER;
  return changed;
}

/* Block `at` ends earlier or later, but not behind where the next one of its thread does. */
static void move_switch(struct hd_search *s, uint32_t at) {
  struct block *c = candidate(s);
  uint32_t next = next_of_thread(s, at), from = 0, to = c[at].upto;
  if (to == FOREVER) return;
  for (uint32_t i = 0; i < at; i++)
    if (c[i].thread == c[at].thread && c[i].upto != FOREVER) from = c[i].upto;
  to = next < state(s)->ncandidate && c[next].upto != FOREVER ? c[next].upto : to + 4;
  if (to > from) c[at].upto = from + 1 + hd_rng_below(&s->rng, to - from);
}

static void change_at_random(struct hd_search *s) {
  struct state *st = state(s);
  hd_rng_seed(&s->rng, s->config->seed, s->execution + 1);
  for (unsigned n = 1 + hd_rng_below(&s->rng, 4); n > 0 && st->ncandidate > 1; n--) {
    uint32_t i = hd_rng_below(&s->rng, st->ncandidate), k = hd_rng_below(&s->rng, st->ncandidate);
    struct block *c = candidate(s);
    switch (hd_rng_below(&s->rng, 6)) {
      case 0: erase(s, i, 1); break;
      case 1: join(s, i); break;
      case 2: run_on(s, i); break;
      case 3: swap(s, i, k); break;
      case 4: move_switch(s, i); break;
      default: { /* moved to another place */
        struct block b = c[i];
        erase(s, i, 1);
        for (uint32_t j = st->ncandidate++; j > k; j--) c[j] = c[j - 1];
        c[k] = b;
        break;
      }
    }
  }
}

/* Two threads play each other's part. */
static int exchange(struct hd_search *s, unsigned a, unsigned b) {
  struct state *st = state(s);
  struct block *c = candidate(s);
  int there = 0;
  if (a >= b) return 0;
  for (uint32_t i = 0; i < st->ncandidate; i++) {
    unsigned t = c[i].thread;
    there |= t == b;
    c[i].thread = (uint16_t)(t == a ? b : t == b ? a : t);
  }
  return there;
}

/* The last `n` blocks; before them each thread makes its steps in any order. */
static void keep_tail(struct hd_search *s, uint32_t n) {
  struct state *st = state(s);
  struct block *c = candidate(s);
  uint32_t *steps = st->steps; /* not in use between executions */
  uint32_t cut = st->nblocks - n, k = 0;
  for (unsigned i = 0; i < HD_MAX_THREADS; i++) steps[i] = 0;
  for (uint32_t i = 0; i < cut; i++) steps[c[i].thread] = c[i].upto;
  for (unsigned i = 0; i < HD_MAX_THREADS && k < cut; i++)
    if (steps[i]) c[k++] = (struct block){steps[i], (uint16_t)i, 0};
  st->nloose = k;
  erase(s, k, cut - k);
}

/* How long the next tail is; HD_NONE when the length is known. */
static uint32_t next_tail(const struct state *st) {
  if (!st->tail_high) {
    uint32_t n = st->tail_low == HD_NONE ? 0 : st->tail_low ? 2 * st->tail_low : 1;
    return n < st->nblocks ? n : HD_NONE;
  }
  uint32_t low = st->tail_low == HD_NONE ? 0 : st->tail_low + 1;
  return low < st->tail_high ? (low + st->tail_high) / 2 : HD_NONE;
}

/* Makes the candidate that (pass, at, chunk) name; returns 0 when there is no such one. */
static int make(struct hd_search *s) {
  struct state *st = state(s);
  start_from_best(s);
  switch ((enum pass)st->pass) {
    case PASS_TAIL: keep_tail(s, st->at); return 1;
    case PASS_DELETE: {
      uint32_t n = st->chunk < st->nblocks - st->at ? st->chunk : st->nblocks - st->at;
      if (n == st->nblocks) return 0;
      erase(s, st->at, n);
      return 1;
    }
    case PASS_JOIN: return join(s, st->at);
    case PASS_RUN_ON: return run_on(s, st->at);
    case PASS_SWAP:
      if (st->at + 1 >= st->nblocks) return 0;
      swap(s, st->at, st->at + 1);
      return 1;
    case PASS_RANDOM: change_at_random(s); return 1;
    case PASS_TIDY: return exchange(s, 1 + st->at / TIDY, 1 + st->at % TIDY);
    default: return 0;
  }
}

static void begin_pass(struct hd_search *s, uint32_t pass) {
  struct state *st = state(s);
  st->pass = pass;
  st->at = 0;
  st->nloose = 0;
  st->chunk = pass == PASS_DELETE && st->nblocks > 1 ? st->nblocks / 2 : 1;
  if (pass == PASS_DELETE) st->improved = 0;
}

static uint32_t patience(struct hd_search *s) {
  const struct state *st = state(s);
  uint64_t n = RANDOM_MIN + 20ull * st->nblocks * st->nblocks;
  uint64_t most = RANDOM_STEPS / (head(s)->best[head(s)->found - 1].nsteps + 1);
  if (n > most) n = most;
  return n < RANDOM_MAX ? (uint32_t)n : RANDOM_MAX;
}

/* Moves on behind the last candidate of a pass. */
static void advance(struct hd_search *s) {
  struct state *st = state(s);
  if (st->pass == PASS_TAIL) {
    st->at = next_tail(st);
    if (st->at == HD_NONE || st->at >= st->nblocks) begin_pass(s, PASS_DELETE);
    return;
  }
  if (st->pass == PASS_RANDOM) {
    if (st->failures >= patience(s)) begin_pass(s, PASS_TIDY);
    return;
  }
  if (st->at < (st->pass == PASS_TIDY ? TIDY * TIDY : st->nblocks)) return;
  st->at = 0;
  if (st->pass == PASS_DELETE && st->chunk > 1)
    st->chunk /= 2;
  else if (st->pass == PASS_SWAP && st->improved)
    begin_pass(s, PASS_DELETE);
  else
    begin_pass(s, st->pass + 1);
}

/* The next candidate; returns 0 when there are no more. */
static int propose(struct hd_search *s) {
  struct state *st = state(s);
  for (;;) {
    advance(s);
    if (st->pass == PASS_OVER) return 0;
    if (make(s)) return 1;
    st->at += st->chunk;
  }
}

/* ---- the strategy ---- */

static int begin(struct hd_search *s) {
  struct state *st = state(s);
  if (!st->ready) {
    learn(s, s->replay, s->replay_len);
    start_from_best(s);
    st->pass = PASS_ORIGINAL;
    st->ready = 1;
  }
  if (st->pass == PASS_OVER) return 0;
  st->cursor = st->preemptions = st->switches = st->threads = 0;
  st->last = 0;
  st->nsteps = 0;
  for (unsigned i = 0; i < HD_MAX_THREADS; i++) st->steps[i] = st->choices[i] = 0;
  return 1;
}

/* Whom the candidate wants; HD_NONE when it says nothing more. */
static uint32_t wanted(struct hd_search *s, const struct hd_point *p) {
  struct state *st = state(s);
  if (st->cursor < st->nloose) {
    uint32_t next = HD_NONE;
    for (uint32_t i = 0; i < st->nloose; i++) {
      const struct block *b = &candidate(s)[i];
      if (st->steps[b->thread] >= b->upto || b->thread >= p->words * 64 || !hd_set_has(p->enabled, b->thread))
        continue;
      if (b->thread == st->last) return b->thread;
      if (next == HD_NONE) next = b->thread;
    }
    if (next != HD_NONE) return next;
    st->cursor = st->nloose;
  }
  for (; st->cursor < st->ncandidate; st->cursor++) {
    const struct block *b = &candidate(s)[st->cursor];
    if (st->steps[b->thread] < b->upto && b->thread < p->words * 64 && hd_set_has(p->enabled, b->thread))
      return b->thread;
  }
  return HD_NONE;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct state *st = state(s);
  const struct hd_reduced *h = head(s);
  struct hd_bound_at at = hd__bound_at(s, p);
  uint32_t next = wanted(s, p);
  if (next == HD_NONE) next = hd__bound_turn(s, &at, p->enabled, p->words);
  if (st->nsteps) {
    st->preemptions += hd__bound_cost(s, &at, p->enabled, p->words, next);
    st->switches += next != p->current;
  }
  if (h->found && st->preemptions > h->best[h->found - 1].preemptions) return HD_PICK_GIVE_UP;
  if (st->nsteps >= HD_PATH_CAP) return HD_PICK_GIVE_UP;
  st->threads += st->steps[next]++ == 0;
  log_of(s, spare(s))[st->nsteps++] = (hd_step)next;
  st->last = next;
  return (int)next;
}

static int choose(struct hd_search *s, unsigned n) {
  struct state *st = state(s);
  if (st->nsteps + HD_STEPS_MAX > HD_PATH_CAP) return HD_PICK_GIVE_UP;
  unsigned thread = st->last, outcome = 0;
  uint32_t i = st->choices[thread];
  while (i < st->nchoices && choice_list(s)[i].thread != thread) i++;
  if (i < st->nchoices) outcome = choice_list(s)[i].outcome < n ? choice_list(s)[i].outcome : 0;
  st->choices[thread] = i + 1;
  st->nsteps +=
      hd_decision_put(log_of(s, spare(s)) + st->nsteps, (struct hd_decision){HD_DECIDE_OUTCOME, outcome});
  return (int)outcome;
}

/* Less than 0 when the execution that ends costs less than the best. */
static int compare(struct hd_search *s) {
  const struct state *st = state(s);
  const struct hd_reduced_best *b = &head(s)->best[head(s)->found - 1];
  if (st->preemptions != b->preemptions) return st->preemptions < b->preemptions ? -1 : 1;
  if (st->switches != b->switches) return st->switches < b->switches ? -1 : 1;
  if (st->threads != b->threads) return st->threads < b->threads ? -1 : 1;
  if (st->nsteps != b->nsteps) return st->nsteps < b->nsteps ? -1 : 1;
  return 0;
}

/* Whether the execution that ends, which costs as much, has the lower thread where it first differs from the best. */
static int tidier(struct hd_search *s) {
  const hd_step *now = log_of(s, spare(s)), *best = log_of(s, head(s)->found - 1);
  uint64_t i = 0, n = state(s)->nsteps;
  while (i < n && now[i] == best[i]) i++;
  return i < n && now[i] < best[i];
}

static void accept(struct hd_search *s) {
  struct state *st = state(s);
  uint32_t at = spare(s);
  head(s)->best[at] = (struct hd_reduced_best){st->preemptions, st->switches, st->threads, 0, st->nsteps};
  __atomic_store_n(&head(s)->found, at + 1, __ATOMIC_RELEASE);
  learn(s, log_of(s, at), head(s)->best[at].nsteps);
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct state *st = state(s);
  (void)p, (void)how;
  head(s)->tries++;
  if (st->pass == PASS_ORIGINAL) {
    if (!s->hit) return 0;
    accept(s);
    head(s)->first = head(s)->best[head(s)->found - 1];
    begin_pass(s, st->nblocks > LONG ? PASS_TAIL : PASS_DELETE);
    st->tail_low = HD_NONE;
    return propose(s);
  }
  if (st->pass == PASS_TAIL) {
    if (s->hit)
      st->tail_high = st->at ? st->at : 1;
    else
      st->tail_low = st->at;
    if (s->hit && compare(s) < 0) accept(s);
    if (s->hit && !st->at) begin_pass(s, PASS_DELETE);
    return propose(s);
  }
  int better = s->hit ? compare(s) : 1;
  if (better < 0 || (better == 0 && (st->pass == PASS_RANDOM || (st->pass == PASS_TIDY && tidier(s)))))
    accept(s);
  if (st->pass == PASS_RANDOM || st->pass == PASS_TIDY) {
    st->at += st->pass == PASS_TIDY;
    st->failures = better < 0 ? 0 : st->failures + 1;
    if (better < 0) begin_pass(s, PASS_DELETE);
  } else if (better < 0) {
    st->improved = 1; /* what is there now is at the same place */
  } else {
    st->at += st->chunk;
  }
  return propose(s);
}

const struct hd_strategy hd_strategy_reduce = {
    .name = "reduce", .begin = begin, .pick = pick, .choose = choose, .end = end};
