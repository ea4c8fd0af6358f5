/* simulate.c: virtual ranks, their trees, and the network between them.
 *
 * Time is virtual. Each rank looks at its messages once every tick, as the supervisor of a real one does, and has worked
 * since the last time. A rank's work is a stack of states with branches left, as in explore/walk.c; it gives away what is
 * below its shallowest state with a pending branch, as explore/walk_move.c does. A unit that is concluded has inserted one
 * branch at its owner, which has to be acknowledged. Everything else is balance.c itself.
 *
 * Handling a message takes time in which no worker waits, since the supervisor is another process; it is counted as
 * `messaging`. Giving a unit away does keep the worker from work. */
#include "cluster/simulate.h"

#include "abi/abi.h"
#include "cluster/balance.h"

#include <stdlib.h>
#include <string.h>

#define OFTEN 8          /* looks of an idle rank at its messages in a tick */
#define GRAIN 16         /* executions that are run as one */
#define OVERHEAD 2048    /* bytes of a unit besides its states: junctions, operations */
#define HANDLING 0.00001 /* seconds to send or receive a message */

/* A state with branches left. `n` executions are left below it, in all its branches from `at` on. `seed`: of a recorded
 * tree, the number of the first execution; of the second tree in one, plus the number of executions. */
struct state {
  uint64_t seed, n;
  uint32_t at, of; /* branches begun, and in all */
};

/* A unit that a rank works on, or has given parts of away. */
struct group {
  bool used, over;
  uint32_t live; /* parts: what is on the stack, units that were given */
  uint32_t serial;
  int owner; /* and its number there */
  uint32_t number;
};

struct message {
  double at;
  uint64_t order;
  int from, to;
  size_t n;
  char *data;
};

struct sim;

struct rank {
  struct sim *sim;
  struct hd_net net;
  struct hd_balance *balance;
  HD_VEC(struct state) stack;
  uint32_t group; /* of the stack */
  HD_VEC(struct group) groups;
  double owes; /* seconds that it worked in advance, or was kept from work */
  double idle;
  HD_VEC(struct message) inbox; /* arrived, and not looked at yet */
  uint64_t executions, received, handled;
  HD_VEC(uint32_t) finished; /* groups that are explored, to be told */
  bool lost;
};

/* A recorded tree: of each execution, the next one that has no more, and fewer, steps in common with the one before it; and
 * the steps of those before it. */
struct recorded {
  uint32_t *as_few, *fewer;
  uint64_t *steps;
  double step; /* seconds */
};

struct sim {
  const struct hd_simulation *s;
  struct recorded recorded;
  double now;
  uint64_t order, rng;
  struct rank *rank;
  HD_VEC(struct message) heap;
  double *last; /* [from][to % 64]: when the last message arrives, so that those of a pair keep their order */
  bool over;
};

void hd_simulation_init(struct hd_simulation *s) {
  *s = (struct hd_simulation){.ranks = 1,
                              .shape = HD_SHAPE_UNEVEN,
                              .n = 1000000,
                              .seed = 1,
                              .execution = 25e-6,
                              .tick = 0.001,
                              .latency = 20e-6,
                              .bandwidth = 1e9,
                              .pause = 0.0005};
}

static uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static double draw(struct sim *sim) { return (double)(mix(sim->rng++) >> 11) / 9007199254740992.0; }

/* ---- trees ---- */

static uint64_t factorial(uint64_t n) { return n < 2 ? 1 : n * factorial(n - 1); }

uint64_t hd_simulation_executions(const struct hd_simulation *s) {
  if (s->shape == HD_SHAPE_RECORDED && s->again) return s->n * s->n;
  return s->shape == HD_SHAPE_ORDERS ? factorial(s->n) : s->n;
}

static void open_recorded(struct sim *sim) {
  const struct hd_simulation *s = sim->s;
  struct recorded *r = &sim->recorded;
  if (s->shape != HD_SHAPE_RECORDED) return;
  r->as_few = hd_alloc(s->n * sizeof *r->as_few);
  r->fewer = hd_alloc(s->n * sizeof *r->fewer);
  r->steps = hd_alloc((s->n + 1) * sizeof *r->steps);
  for (uint64_t i = 0; i < s->n; i++) r->steps[i + 1] = r->steps[i] + s->recorded[i].steps;
  for (uint64_t i = s->n; i-- > 0;) {
    uint64_t q = i + 1;
    while (q < s->n && s->recorded[q].common > s->recorded[i].common) q = r->as_few[q];
    r->as_few[i] = (uint32_t)q;
    while (q < s->n && s->recorded[q].common >= s->recorded[i].common) q = r->fewer[q];
    r->fewer[i] = (uint32_t)q;
  }
  r->step = s->execution * (double)s->n / (double)r->steps[s->n];
}

static void close_recorded(struct recorded *r) {
  free(r->as_few);
  free(r->fewer);
  free(r->steps);
}

/* How many executions the first branch has of the state that the executions from `first` to `end` pass: up to the first of
 * those that have the fewest steps in common with the one before. */
static uint64_t first_branch(const struct recorded *r, uint64_t first, uint64_t end) {
  uint64_t p = first + 1;
  if (p >= end) return end - first;
  while (r->fewer[p] < end) p = r->fewer[p];
  return p - first;
}

/* The root of a tree of n executions. */
static struct state state_of(const struct hd_simulation *s, uint64_t seed, uint64_t n) {
  struct state st = {.seed = seed, .n = n};
  if (s->shape == HD_SHAPE_RECORDED)
    st.of = UINT32_MAX;
  else if (s->shape == HD_SHAPE_ORDERS)
    while (factorial(st.of) < n) st.of++;
  else
    st.of = 2 + (uint32_t)(mix(seed) % 4);
  return st;
}

/* Begins the next branch: how many executions it has, of those that are left. */
static uint64_t next_branch(const struct hd_simulation *s, struct state *st) {
  uint64_t left = st->of - st->at, n = st->n;
  if (left > 1 && s->shape == HD_SHAPE_ORDERS) n = st->n / left;
  if (left > 1 && s->shape == HD_SHAPE_UNEVEN) {
    double share = (double)(mix(st->seed + 77 * st->at) >> 11) / 9007199254740992.0;
    n = (uint64_t)((double)st->n * share * 2 / (double)left);
    if (n >= st->n) n = st->n - 1;
  }
  st->at++;
  st->n -= n;
  return n;
}

/* ---- the work of a rank ---- */

static void part_over(struct rank *r, uint32_t g) {
  struct group *p = &r->groups.v[g];
  if (--p->live) return;
  p->over = true;
  hd_vec_push(&r->finished, g);
}

/* Begins the next branch of the last state of a recorded tree. Returns the seconds of what it executed. */
static double work_recorded(struct rank *r) {
  const struct hd_simulation *s = r->sim->s;
  const struct recorded *t = &r->sim->recorded;
  struct state *top = &r->stack.v[r->stack.n - 1];
  uint64_t tree = top->seed >= s->n ? s->n : 0, first = top->seed - tree, end = first + top->n;
  uint64_t n = !top->at                 ? first_branch(t, first, end)
               : t->as_few[first] < end ? t->as_few[first] - first
                                        : end - first;
  bool executes = tree || !s->again;
  top->seed += n;
  top->n -= n;
  top->at = top->n ? top->at + 1 : top->of;
  if (executes && n <= GRAIN) {
    r->executions += n;
    return (double)(t->steps[first + n] - t->steps[first]) * t->step;
  }
  if (n > 1)
    hd_vec_push(&r->stack, state_of(s, tree + first, n));
  else
    hd_vec_push(&r->stack, state_of(s, s->n, s->n));
  return 0;
}

/* Works for so many seconds. */
static void work(struct rank *r, double seconds) {
  const struct hd_simulation *s = r->sim->s;
  seconds -= r->owes;
  r->owes = 0;
  while (r->stack.n && seconds > 0) {
    struct state *top = &r->stack.v[r->stack.n - 1];
    if (top->at == top->of || !top->n) {
      if (!--r->stack.n) part_over(r, r->group);
      continue;
    }
    if (s->shape == HD_SHAPE_RECORDED) {
      seconds -= work_recorded(r);
      continue;
    }
    uint64_t seed = mix(top->seed * 31 + top->at), n = next_branch(s, top);
    if (n <= GRAIN) {
      r->executions += n;
      seconds -= (double)n * s->execution;
    } else {
      hd_vec_push(&r->stack, state_of(s, seed, n));
    }
  }
  if (seconds < 0)
    r->owes = -seconds;
  else
    r->idle += seconds;
}

/* ---- the host ---- */

static double host_now(void *arg) { return ((struct rank *)arg)->sim->now; }
static bool host_idle(void *arg) { return !((struct rank *)arg)->stack.n; }

static uint32_t new_group(struct rank *r) {
  uint32_t i = 0;
  while (i < r->groups.n && r->groups.v[i].used) i++;
  if (i == r->groups.n) hd_vec_push(&r->groups, (struct group){0});
  r->groups.v[i] = (struct group){.used = true};
  return i;
}

static int host_give(void *arg, struct hd_str *out) {
  struct rank *r = arg;
  size_t k = 0;
  while (k + 1 < r->stack.n && r->stack.v[k].at == r->stack.v[k].of) k++;
  if (k + 1 >= r->stack.n) return 0;
  uint32_t head[2] = {(uint32_t)r->net.rank, r->group};
  hd_str_addn(out, (const char *)head, sizeof head);
  hd_str_addn(out, (const char *)&r->stack.v[k + 1], (r->stack.n - k - 1) * sizeof *r->stack.v);
  r->stack.n = k + 1;
  r->groups.v[r->group].live++;
  r->owes += r->sim->s->pause;
  return 1;
}

static int host_accept(void *arg, uint32_t serial, const char *data, size_t n) {
  struct rank *r = arg;
  uint32_t head[2];
  memcpy(head, data, sizeof head);
  r->group = new_group(r);
  r->groups.v[r->group] = (struct group){true, false, 1, serial, (int)head[0], head[1]};
  for (size_t i = sizeof head; i < n; i += sizeof(struct state)) {
    struct state st;
    memcpy(&st, data + i, sizeof st);
    hd_vec_push(&r->stack, st);
  }
  return 1;
}

static int host_news(void *arg, hd_balance_told *told, void *ctx) {
  struct rank *r = arg;
  while (r->finished.n) {
    uint32_t i = r->finished.v[--r->finished.n];
    struct group g = r->groups.v[i];
    r->groups.v[i].used = false;
    if (g.owner < 0) {
      r->sim->over = true;
      continue;
    }
    told(ctx, HD_NEWS_INSERT, (uint32_t)g.owner, g.serial, (const char *)&g.number, sizeof g.number);
    told(ctx, HD_NEWS_CONCLUDED, (uint32_t)g.owner, g.serial, (const char *)&g.number, sizeof g.number);
  }
  return 1;
}

static int host_told(void *arg, enum hd_news what, const char *data, size_t n) {
  struct rank *r = arg;
  uint32_t g;
  if (n != sizeof g) return 0;
  memcpy(&g, data, sizeof g);
  /* Its group must be there: what is below it has not been concluded. */
  if (g >= r->groups.n || !r->groups.v[g].used || !r->groups.v[g].live) return 0;
  if (what == HD_NEWS_CONCLUDED) part_over(r, g);
  return 1;
}

/* ---- the network: a heap of messages by the time at which they arrive ---- */

static bool earlier(const struct message *a, const struct message *b) {
  return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct sim *sim, struct message m) {
  hd_vec_push(&sim->heap, m);
  struct message *v = sim->heap.v;
  for (size_t i = sim->heap.n - 1; i && earlier(&v[i], &v[(i - 1) / 2]); i = (i - 1) / 2) {
    struct message t = v[i];
    v[i] = v[(i - 1) / 2];
    v[(i - 1) / 2] = t;
  }
}

static struct message pop(struct sim *sim) {
  struct message *v = sim->heap.v, top = v[0];
  size_t n = --sim->heap.n;
  v[0] = v[n];
  for (size_t i = 0, k; (k = 2 * i + 1) < n; i = k) {
    if (k + 1 < n && earlier(&v[k + 1], &v[k])) k++;
    if (!earlier(&v[k], &v[i])) break;
    struct message t = v[i];
    v[i] = v[k];
    v[k] = t;
  }
  return top;
}

static void send_message(struct hd_net *net, int to, const void *data, size_t n) {
  struct rank *r = net->ctx;
  struct sim *sim = r->sim;
  const struct hd_simulation *s = sim->s;
  size_t bytes = n > sizeof(struct hd_msg_head) + 16 ? n + OVERHEAD : n;
  double at = sim->now + s->latency + (double)bytes / s->bandwidth + draw(sim) * s->jitter;
  if (s->stall > 0 && mix(sim->order) % 64 == 0) at += draw(sim) * s->stall;
  /* In order between two ranks; what this rank sends to the same slot of the table is kept in order, too. */
  double *last = &sim->last[(size_t)r->net.rank * 64 + (size_t)to % 64];
  if (at < *last) at = *last;
  *last = at;
  struct message m = {at, sim->order++, net->rank, to, n, hd_alloc(n)};
  memcpy(m.data, data, n);
  r->handled++;
  push(sim, m);
}

static void deliver(struct sim *sim) {
  while (sim->heap.n && sim->heap.v[0].at <= sim->now) {
    struct message m = pop(sim);
    hd_vec_push(&sim->rank[m.to].inbox, m);
  }
}

/* The rank looks at what has arrived. */
static void look(struct rank *r) {
  for (size_t i = 0; i < r->inbox.n; i++) {
    struct message *m = &r->inbox.v[i];
    r->received++;
    r->handled++;
    hd_balance_message(r->balance, m->from, m->data, m->n);
    free(m->data);
  }
  r->inbox.n = 0;
  hd_balance_tick(r->balance);
}

/* ---- */

static void open_rank(struct sim *sim, int i) {
  struct rank *r = &sim->rank[i];
  r->sim = sim;
  r->net = (struct hd_net){.ctx = r, .rank = i, .size = sim->s->ranks, .send = send_message};
  struct hd_host host = {r, host_now, host_idle, host_give, host_accept, host_news, host_told};
  r->balance = hd_balance_new(&r->net, &host, sim->s->seed);
  hd_balance_restart(r->balance, 1);
}

static void close_rank(struct rank *r) {
  hd_balance_free(r->balance);
  for (size_t i = 0; i < r->inbox.n; i++) free(r->inbox.v[i].data);
  hd_vec_free(&r->inbox);
  hd_vec_free(&r->stack);
  hd_vec_free(&r->groups);
  hd_vec_free(&r->finished);
}

static void sum_up(const struct sim *sim, struct hd_simulated *out) {
  double idle = 0;
  uint64_t handled = 0;
  *out = (struct hd_simulated){.over = sim->over, .seconds = sim->now};
  for (int i = 0; i < sim->s->ranks; i++) {
    const struct rank *r = &sim->rank[i];
    const struct hd_balance_counts *c = hd_balance_counts(r->balance);
    out->executions += r->executions;
    out->units += c->given;
    out->messages += c->messages;
    out->bytes += c->bytes + c->given * OVERHEAD;
    idle += r->idle;
    if (r->received > out->busiest) out->busiest = r->received;
    if (r->handled > handled) handled = r->handled;
  }
  out->idle = idle / (sim->now * sim->s->ranks);
  out->messaging = (double)handled * HANDLING / sim->now;
}

void hd_simulate(const struct hd_simulation *s, struct hd_simulated *out) {
  struct sim sim = {.s = s, .rng = s->seed, .rank = hd_alloc((size_t)s->ranks * sizeof *sim.rank)};
  sim.last = hd_alloc((size_t)s->ranks * 64 * sizeof *sim.last);
  open_recorded(&sim);
  for (int i = 0; i < s->ranks; i++) open_rank(&sim, i);
  struct rank *first = &sim.rank[0];
  uint64_t n = hd_simulation_executions(s);
  double ideal = (double)n * s->execution / s->ranks;
  first->group = new_group(first);
  first->groups.v[0].live = 1;
  first->groups.v[0].owner = -1;
  bool recorded = s->shape == HD_SHAPE_RECORDED;
  hd_vec_push(&first->stack, state_of(s, recorded ? 0 : s->seed, recorded ? s->n : n));
  for (uint64_t step = 0; !sim.over && sim.now < 100 * (ideal + 1); step++) {
    sim.now += s->tick / OFTEN;
    if (s->lost && sim.now > ideal / 2) sim.rank[s->lost].lost = true;
    for (int i = 0; i < s->ranks; i++)
      if (!sim.rank[i].lost) work(&sim.rank[i], s->tick / OFTEN);
    deliver(&sim);
    for (int i = 0; i < s->ranks; i++) {
      struct rank *r = &sim.rank[i];
      if (!r->lost && (!r->stack.n || (step + (uint64_t)i) % OFTEN == 0)) look(r);
    }
  }
  sum_up(&sim, out);
  while (sim.heap.n) free(pop(&sim).data);
  for (int i = 0; i < s->ranks; i++) close_rank(&sim.rank[i]);
  hd_vec_free(&sim.heap);
  close_recorded(&sim.recorded);
  free(sim.last);
  free(sim.rank);
}
