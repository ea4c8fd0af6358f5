/* sim_cluster.h: one search on several simulated machines: the real units (explore/walk_move.c) and the real balancing
 * (cluster/balance.c), over a network whose messages arrive when chance says so. A part of test_strategies.c, which
 * includes it where the runners are known and says what is compared. */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "cluster/balance.h"
#include "model/unit.h"

#define MACHINES 3

struct letter {
  struct letter *next;
  size_t n;
  char data[];
};

struct machine {
  struct hd_search search, boss; /* as its worker and its supervisor see it */
  struct hd_config config;
  struct hd_status status;
  struct hd_known known;
  struct hd_net net;
  struct hd_balance *balance;
  struct letter *first[MACHINES], **last[MACHINES]; /* from each */
};

static struct machine *machines;
static struct runner *team[3]; /* by strategy; all use the machines one after the other */
static const struct hd_strategy *machine_strategy;
static double machine_time;
static uint64_t machine_units, machine_inserted, machine_redundant;
static struct hd_rng machine_rng;

static int machine_grow(struct hd_writer *w, size_t n) {
  while (w->cap - w->n < n) w->cap = w->cap ? w->cap * 2 : 4096;
  w->data = realloc(w->data, w->cap);
  return w->data != NULL;
}

/* ---- the network ---- */

static void machine_send(struct hd_net *net, int to, const void *data, size_t n) {
  struct letter *l = malloc(sizeof *l + n);
  l->next = NULL;
  l->n = n;
  memcpy(l->data, data, n);
  *machines[to].last[net->rank] = l;
  machines[to].last[net->rank] = &l->next;
}

static void machine_receive(struct machine *m, unsigned from) {
  struct letter *l = m->first[from];
  if (!l) return;
  if (!(m->first[from] = l->next)) m->last[from] = &m->first[from];
  hd_balance_message(m->balance, (int)from, l->data, l->n);
  free(l);
}

/* ---- the host ---- */

static double machine_now(void *arg) {
  (void)arg;
  return machine_time;
}
static bool machine_idle(void *arg) { return hd_units_idle(&((struct machine *)arg)->boss) != 0; }

static int machine_give(void *arg, struct hd_str *out) {
  struct machine *m = arg;
  struct hd_writer w = {.grow = machine_grow};
  int given = hd_units_give(&m->boss, machine_strategy, &w);
  if (given) hd_str_addn(out, (const char *)w.data, w.n);
  free(w.data);
  return given;
}

static int machine_accept(void *arg, uint32_t serial, const char *data, size_t n) {
  struct hd_reader r = {.data = (const uint8_t *)data, .n = n};
  return hd_units_accept(&((struct machine *)arg)->boss, machine_strategy, serial, &r);
}

struct machine_listener {
  hd_balance_told *told;
  void *ctx;
};

static void machine_pass_on(void *arg, enum hd_units_news what, uint32_t rank, uint32_t serial,
                            const struct hd_writer *out) {
  const struct machine_listener *l = arg;
  l->told(l->ctx, what == HD_UNITS_INSERT ? HD_NEWS_INSERT : HD_NEWS_CONCLUDED, rank, serial,
          (const char *)out->data, out->n);
}

static int machine_news(void *arg, hd_balance_told *told, void *ctx) {
  struct hd_writer w = {.grow = machine_grow};
  hd_units_news(&((struct machine *)arg)->boss, machine_strategy, &w, machine_pass_on,
                &(struct machine_listener){told, ctx});
  free(w.data);
  return 1;
}

static int machine_told(void *arg, enum hd_news what, const char *data, size_t n) {
  struct machine *m = arg;
  struct hd_reader r = {.data = (const uint8_t *)data, .n = n};
  return what == HD_NEWS_INSERT ? hd_units_insert(&m->boss, machine_strategy, &r)
                                : hd_units_concluded(&m->boss, machine_strategy, &r);
}

/* ---- machines ---- */

static void open_machines(void) {
  static const int flags = MAP_ANONYMOUS | MAP_NORESERVE, rw = PROT_READ | PROT_WRITE;
  static const char *const names[] = {"optimal", "dpor", "rdfs"};
  for (unsigned i = 0; i < 3; i++) team[i] = new_runner(names[i]);
  machines = calloc(MACHINES, sizeof *machines);
  for (unsigned i = 0; i < MACHINES; i++) {
    struct machine *m = &machines[i];
    m->config = (struct hd_config){.seed = 1, .cluster = i + 1};
    m->search = (struct hd_search){
        .config = &m->config, .status = &m->status, .known = &m->known, .workers = 1, .guard = sim_guard};
    m->search.memory = mmap(NULL, SEARCH_MEMORY, rw, flags | MAP_SHARED, -1, 0);
    m->search.memory_size = SEARCH_MEMORY;
    m->search.shared = mmap(NULL, sizeof(struct hd_shared), rw, flags | MAP_SHARED, -1, 0);
    m->search.scratch = mmap(NULL, HD_SCRATCH_SIZE, rw, flags | MAP_PRIVATE, -1, 0);
    m->boss = m->search;
    m->boss.worker = HD_MAX_WORKERS - 1;
    m->boss.scratch = mmap(NULL, HD_SCRATCH_SIZE, rw, flags | MAP_PRIVATE, -1, 0);
    assert_true(m->search.memory != MAP_FAILED && m->search.scratch != MAP_FAILED &&
                m->boss.scratch != MAP_FAILED);
    m->net = (struct hd_net){.rank = (int)i, .size = MACHINES, .send = machine_send};
  }
}

static void restart_machines(uint64_t number) {
  for (unsigned i = 0; i < MACHINES; i++) {
    struct machine *m = &machines[i];
    struct hd_host host = {m,           machine_now, machine_idle, machine_give, machine_accept, machine_news,
                           machine_told};
    m->balance = hd_balance_new(&m->net, &host, number);
    hd_balance_restart(m->balance, 1);
    machine_strategy->forget(&m->search);
    m->search.shared->hungry = (struct hd_crew_set){{0}};
    m->search.shared->over = 0;
    hd_bound_restart(&m->search);
    for (unsigned k = 0; k < MACHINES; k++) m->last[k] = &m->first[k];
  }
}

static void stop_machines(void) {
  for (unsigned i = 0; i < MACHINES; i++) {
    struct machine *m = &machines[i];
    machine_units += hd_balance_counts(m->balance)->given;
    machine_inserted += hd_balance_counts(m->balance)->inserted;
    hd_balance_free(m->balance);
    for (unsigned k = 0; k < MACHINES; k++)
      for (struct letter *l; (l = m->first[k]); free(l)) m->first[k] = l->next;
  }
}

/* One execution of a machine. Returns as `execute`. */
static int machine_run(struct runner *r, struct machine *m, const struct sim_program *p, uint64_t n) {
  struct sim s;
  struct result *res = &r->result;
  r->search = m->search;
  r->search.execution = n;
  r->search.ntally = 0;
  int how = execute(r, &s, p, 10000);
  if (how >= 0 && how < NOTHING_LEFT) {
    r->strategy->end(&r->search, &s.point, (enum hd_how)how);
    res->blocked += how == HD_HOW_BLOCKED;
    res->executions += how != HD_HOW_BLOCKED;
    if (how != HD_HOW_BLOCKED) classes_add(&res->classes, hd_order_class(&r->trace), final_state(&s, how));
  }
  m->search.own = r->search.own;
  return how;
}

/* Searches p on all machines; `pace`: how many executions there are to a message. */
static struct result *search_cluster(struct runner *r, const struct sim_program *p, uint64_t limit,
                                     unsigned pace) {
  struct result *res = &r->result;
  memset(res, 0, sizeof *res);
  machine_strategy = r->strategy;
  hd_rng_seed(&machine_rng, pace, limit);
  restart_machines(limit + pace);
  uint64_t n = 1;
  for (uint64_t turns = 0;; turns++) {
    struct machine *m = &machines[hd_rng_below(&machine_rng, MACHINES)];
    machine_time += 0.0001;
    unsigned what = hd_rng_below(&machine_rng, 4 + pace);
    if (what < 2) {
      machine_receive(m, hd_rng_below(&machine_rng, MACHINES));
    } else if (what < 4) {
      hd_balance_tick(m->balance);
    } else {
      int how = machine_run(r, m, p, n);
      if (how == NOTHING_LEFT && m == machines) break;
      if (how < 0) res->diverged = 1;
      n += how < NOTHING_LEFT;
    }
    if (hd_balance_refused(m->balance)) res->ambiguous = 1;
    if (n > limit || turns > 10000 + limit * 100) res->too_many = 1;
    if (res->too_many || res->diverged || res->ambiguous) break;
  }
  stop_machines();
  machine_redundant += res->blocked;
  return res;
}

static const char *judge_machines(struct runner *r, const struct sim_program *p, const struct result *ref,
                                  uint64_t executions, unsigned paces) {
  for (unsigned pace = 1; pace < paces; pace *= 2) {
    const struct result *res = search_cluster(r, p, ref->executions * 20 + 100, pace);
    if (res->diverged) return "machines: a search diverged";
    if (res->ambiguous) return "machines: a message does not fit";
    if (res->too_many) return "machines: a search does not end";
    if (!same_classes(res, ref)) return "machines: other classes are reached";
    if (res->executions != executions) return "machines: another number of executions";
  }
  return NULL;
}

static const char *judge_cluster(const struct sim_program *p, const struct result *ref) {
  const char *wrong = judge_machines(team[0], p, ref, ref->classes.n, 9);
  if (!wrong) wrong = judge_machines(team[1], p, ref, ref->classes.n, 3);
  return wrong ? wrong : judge_machines(team[2], p, ref, ref->executions, 2);
}

#endif
