/* cluster.c: the ranks of a cluster: how the search starts, what they learn, findings, counters and the end. Runs in the
 * supervisor of each rank.
 *
 * Rank 0 begins alone. When it knows how executions restart it sends START, and with it the first generation of
 * knowledge; the others start their processes then. Messages for everybody go down a binary tree of ranks, so they arrive
 * in the order in which rank 0 sent them. A rank that learns something tells rank 0 and waits; rank 0 adds it to what it
 * knows, restarts its own search, and sends the next generation.
 *
 * At the end rank 0 sends STOP, and every rank answers with its counters. */
#include "cluster/cluster_int.h"

#include "session/command.h"
#include "session/names.h"
#include "session/process.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_LOOKS 8      /* of an idle rank at its messages, in a tick, ... */
#define IDLE_NAP 100000   /* ... so many nanoseconds apart */
#define REPORT_EVERY 0.3  /* seconds, ... */
#define REPORT_OFTEN 0.02 /* ... while rank 0 counts executions */
#define SAVE_EVERY 3.0    /* seconds; for tests HEDDLE_TEST_SAVE_EVERY */
#define MAX_UNFIT 64      /* units that rank 0 restarts the search for */
/* What another rank has explored of the states is explored again, so that a short search is over sooner alone. Seconds;
 * for tests HEDDLE_TEST_SHARE_AFTER. */
#define STATES_ALONE 1.0
#define LAST_WORDS 30.0 /* seconds to wait for the counters of all ranks */

/* ---- opening ---- */

#define INSTALL "apt-get install openmpi-bin libopenmpi-dev, then build heddle again"

int hd_cluster_open(struct hd_cluster **out, struct hd_err *err) {
  struct hd_cluster *c = *out = hd_alloc(sizeof *c);
  hd_str_init(&c->knowledge);
  hd_str_init(&c->staged);
  char *path = hd_sprintf("%s/heddle_mpi.so", hd_libdir() ? hd_libdir() : ".");
  c->module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  free(path);
  if (!c->module)
    return hd_fail(err, HD_EENV,
                   "heddle cluster needs MPI, which was not found when heddle was built: " INSTALL);
  hd_net_open *open;
  *(void **)&open = dlsym(c->module, HD_NET_MPI_ENTRY);
  const char *why = open ? open(&c->net) : "the module is damaged";
  if (why) return hd_fail(err, HD_EENV, "cannot use MPI: %s", why);
  c->opened = true;
  c->report = hd_alloc((size_t)c->net.size * sizeof *c->report);
  c->final = hd_alloc((size_t)c->net.size * sizeof *c->final);
  c->frozen = hd_alloc((size_t)c->net.size * sizeof *c->frozen);
  c->part = hd_alloc((size_t)c->net.size * sizeof *c->part);
  for (int i = 0; i < c->net.size; i++) hd_str_init(&c->part[i]);
  c->began = c->saved_at = hd_now();
  return HD_OK;
}

static void stop_all(struct hd_cluster *c);

/* Looks at the messages, and gives others the processor. */
void hd__cluster_wait(struct hd_cluster *c) {
  hd__cluster_receive(c);
  nanosleep(&(struct timespec){0, 200000}, NULL);
}

/* Rank 0: ends all other ranks, and waits for their counters. */
static void gather(struct hd_cluster *c) {
  double until = hd_now() + LAST_WORDS;
  stop_all(c);
  while (c->nfinal < c->net.size - 1 && hd_now() < until) {
    hd__cluster_wait(c);
  }
}

void hd_cluster_close(struct hd_cluster *c) {
  if (!c) return;
  if (c->opened && !c->net.rank) {
    if (c->configured)
      gather(c); /* if the search did not even start */
    else
      stop_all(c);
  }
  hd_balance_free(c->balance);
  if (c->opened) c->net.close(&c->net);
  hd_str_fini(&c->knowledge);
  hd_str_fini(&c->staged);
  for (int i = 0; c->part && i < c->net.size; i++) hd_str_fini(&c->part[i]);
  free(c->part);
  free(c->frozen);
  free(c->report);
  free(c->final);
  hd_vec_free(&c->asking);
  hd_vec_free(&c->span);
  hd_vec_free(&c->key);
  for (size_t i = 0; i < c->known.n; i++) hd_str_fini(&c->known.v[i].data);
  hd_vec_free(&c->known);
  free(c);
}

int hd_cluster_rank(const struct hd_cluster *c) { return c->net.rank; }
int hd_cluster_size(const struct hd_cluster *c) { return c->net.size; }

/* ---- configuration ---- */

static int refuse(const char *what, const char *why, struct hd_err *err) {
  return hd_fail(err, HD_EUSAGE, "heddle cluster: %s %s", what, why);
}

/* The parts of `auto` take turns on one machine. Here the last ranks sample, and the others share the complete search. */
#define SAMPLING_EVERY 8 /* of so many ranks one samples, ... */
#define SAMPLING_FROM 3  /* ... but one of so many at least */
static void split_portfolio(struct hd_cluster *c, struct hd_config *search) {
  static const char *const sampler[] = {"pos", "rff", "sites", "surw", "pct", "uniform", "random"};
  int sampling = c->net.size / SAMPLING_EVERY;
  if (!sampling && c->net.size >= SAMPLING_FROM && !search->bound_kind) sampling = 1;
  if (search->bound_kind) sampling = 0;
  c->team.size = c->net.size - sampling;
  int k = c->net.rank - c->team.size;
  memset(search->strategy, 0, sizeof search->strategy);
  strcpy(search->strategy, k < 0 ? "optimal" : sampler[(size_t)k % (sizeof sampler / sizeof *sampler)]);
}

int hd_cluster_configure(struct hd_cluster *c, struct hd_session_config *config, struct hd_err *err) {
  struct hd_config *search = &config->search;
  if (search->classes) return refuse("--classes", "is not supported: ranks do not share the classes", err);
  if (search->workers >= HD_MAX_WORKERS) return refuse("--jobs", "must be less than 256", err);
  c->team = c->net;
  if (strcmp(search->strategy, "auto") == 0) {
    split_portfolio(c, search);
    if (search->states == HD_REDUCE_TRY) search->states = HD_REDUCE_NO;
    if (search->symmetry == HD_REDUCE_TRY) search->symmetry = HD_REDUCE_NO;
  }
  c->shares = hd_strategy_systematic(search->strategy);
  c->all = search->all;
  c->save = config->save ? config->save : config->resume;
  c->save_every =
      getenv("HEDDLE_TEST_SAVE_EVERY") ? strtod(getenv("HEDDLE_TEST_SAVE_EVERY"), NULL) : SAVE_EVERY;
  const char *alone = getenv("HEDDLE_TEST_SHARE_AFTER");
  if (search->states) c->share_at = hd_now() + (alone ? strtod(alone, NULL) : STATES_ALONE);
  if (c->net.rank) config->save = config->resume = NULL; /* the first rank reads and writes the file */
  if (c->shares) {
    search->cluster = 1 + (uint32_t)c->net.rank;
    c->most = search->max_executions;
    if (c->net.rank) search->max_executions = 0; /* rank 0 counts */
  } else if (c->team.size < c->net.size) {       /* until the others are done */
    search->max_executions = 0;
    search->states = search->symmetry = HD_REDUCE_NO;
    config->executions_before = (uint64_t)c->net.rank << 40;
  } else {
    c->samples = true;
    search->served = c->net.rank ? HD_SERVED_ONLY : HD_SERVED_ALSO;
    if (c->net.rank) search->max_executions = 0; /* rank 0 counts */
  }
  c->given = *search;
  c->configured = true;
  return HD_OK;
}

/* ---- messages ---- */

void hd__cluster_post(struct hd_cluster *c, int to, uint32_t kind, uint32_t generation, const void *data,
                      size_t n) {
  struct hd_msg_head head = {kind, generation, 0, 0};
  struct hd_str text;
  hd_str_init(&text);
  hd_str_addn(&text, (const char *)&head, sizeof head);
  if (n) hd_str_addn(&text, data, n);
  c->net.send(&c->net, to, text.s, text.n);
  hd_str_fini(&text);
}

/* To the children of this rank in the tree of ranks. */
void hd__cluster_spread(struct hd_cluster *c, uint32_t kind, uint32_t generation, const void *data,
                        size_t n) {
  for (int child = 2 * c->net.rank + 1; child <= 2 * c->net.rank + 2 && child < c->net.size; child++)
    hd__cluster_post(c, child, kind, generation, data, n);
}

static void fill_report(const struct hd_cluster *c, struct report *r) {
  *r = (struct report){.seconds = hd_now() - c->began};
  if (c->session) hd_session_counts(c->session, &r->executions, &r->events);
  if (!c->balance) return;
  const struct hd_balance_counts *n = hd_balance_counts(c->balance);
  r->units = n->given;
  r->messages = n->messages;
  r->bytes = n->bytes;
  r->idle = n->idle;
}

static void on_final(struct hd_cluster *c, int from, const char *data, size_t n) {
  struct hd_part part;
  if (n != sizeof part + sizeof *c->report || c->final[from]) return;
  memcpy(&part, data, sizeof part);
  memcpy(&c->report[from], data + sizeof part, sizeof *c->report);
  if (c->session) hd_session_add_part(c->session, &part);
  c->final[from] = true;
  c->nfinal++;
}

/* ---- states that several ranks explored ---- */

static struct sample *sample_states(struct hd_cluster *c, struct hd_session *s) {
  size_t cap = MAX_SAMPLE / (unsigned)c->net.size;
  if (cap < MIN_SAMPLE) cap = MIN_SAMPLE;
  struct sample *a = hd_alloc(sizeof *a + cap * sizeof *a->key);
  unsigned shift;
  a->n = hd_session_states(s, &shift, a->key, cap);
  a->shift = shift;
  return a;
}

static void add_sample(struct hd_cluster *c, const struct sample *a) {
  if (a->shift > c->shift) {
    size_t left = 0;
    c->shift = (unsigned)a->shift;
    for (size_t i = 0; i < c->key.n; i++)
      if (hd_state_sampled(c->key.v[i], c->shift)) c->key.v[left++] = c->key.v[i];
    c->key.n = left;
  }
  for (uint64_t i = 0; i < a->n; i++)
    if (hd_state_sampled(a->key[i], c->shift)) hd_vec_push(&c->key, a->key[i]);
}

static uint64_t count_repeated(struct hd_cluster *c) {
  uint64_t n = 0;
  if (c->key.n) qsort(c->key.v, c->key.n, sizeof *c->key.v, hd_by_number);
  for (size_t i = 1; i < c->key.n; i++) n += c->key.v[i] == c->key.v[i - 1];
  return n << c->shift;
}

static void on_states(struct hd_cluster *c, const char *data, size_t n) {
  struct sample *a = hd_alloc(n + sizeof *a);
  memcpy(a, data, n);
  if (n >= sizeof *a && a->shift < 64 && n == sizeof *a + a->n * sizeof *a->key) add_sample(c, a);
  free(a);
}

static void stop_all(struct hd_cluster *c) {
  if (c->stopping) return;
  c->stopping = true;
  /* Not down the tree: a rank that gave up may be anywhere in it. */
  for (int i = 1; !c->net.rank && i < c->net.size; i++)
    hd__cluster_post(c, i, MSG_STOP, c->generation, NULL, 0);
}

static void on_lost(struct hd_cluster *c, int from, const char *data, size_t n) {
  if (!c->gone[0] && !c->stopping)
    snprintf(c->gone, sizeof c->gone, "rank %d: %.*s", from, (int)(n < 300 ? n : 300), data);
}

static void on_message(struct hd_cluster *c, int from, const char *data, size_t n) {
  struct hd_msg_head head;
  if (n < sizeof head) return;
  memcpy(&head, data, sizeof head);
  const char *rest = data + sizeof head;
  size_t len = n - sizeof head;
  switch (head.kind) {
    case MSG_START:
      hd__cluster_spread(c, MSG_START, head.generation, rest, len);
      if (len == sizeof c->start) memcpy(&c->start, rest, len);
      c->has_start = true;
      break;
    case MSG_GENERATION:
      hd__cluster_spread(c, MSG_GENERATION, head.generation, rest, len);
      hd_str_clear(&c->knowledge);
      hd_str_addn(&c->knowledge, rest, len);
      c->has_next = true;
      c->next = head.generation;
      break;
    case MSG_KNOW: {
      struct known k = {.from = from, .generation = head.generation};
      hd_str_init(&k.data);
      hd_str_addn(&k.data, rest, len);
      hd_vec_push(&c->known, k);
      break;
    }
    case MSG_STATUS:
      if (len == sizeof *c->report) memcpy(&c->report[from], rest, len);
      break;
    case MSG_FINDING:
      if (c->session) hd_session_found(c->session, rest, len);
      break;
    case MSG_LOST: on_lost(c, from, rest, len); break;
    case MSG_STOP: stop_all(c); break;
    case MSG_STATES: on_states(c, rest, len); break;
    case MSG_FINAL: on_final(c, from, rest, len); break;
    case MSG_FREEZE:
      hd__cluster_spread(c, MSG_FREEZE, head.generation, rest, len);
      if (len == sizeof c->round) memcpy(&c->round, rest, len);
      break;
    case MSG_FROZEN:
      if (len == sizeof *c->frozen) memcpy(&c->frozen[from], rest, len);
      break;
    case MSG_COLLECT:
      hd__cluster_spread(c, MSG_COLLECT, head.generation, rest, len);
      c->collect = true;
      break;
    case MSG_PART:
      hd_str_clear(&c->part[from]);
      hd_str_addn(&c->part[from], rest, len);
      break;
    case MSG_THAW:
      hd__cluster_spread(c, MSG_THAW, head.generation, rest, len);
      c->round = 0;
      break;
    case MSG_STAGE:
      hd__cluster_spread(c, MSG_STAGE, head.generation, rest, len);
      hd_str_clear(&c->staged);
      hd_str_addn(&c->staged, rest, len);
      c->has_staged = true;
      break;
    case MSG_MORE:
    case MSG_SPAN:
    case MSG_DONE: hd__samples_message(c, from, head.kind, rest, len); break;
    default:
      c->received++;
      if (c->balance && !c->waits && !c->stopping) {
        hd_balance_message(c->balance, from, data, n);
      } else if (head.kind == HD_MSG_STEAL) {
        c->sent++;
        hd__cluster_post(c, from, HD_MSG_NONE, head.generation, NULL, 0);
      }
  }
}

void hd__cluster_receive(struct hd_cluster *c) {
  int from;
  const char *data;
  size_t n;
  while (c->net.receive(&c->net, &from, &data, &n)) on_message(c, from, data, n);
}

/* ---- the host of the balancing ---- */

static double host_now(void *arg) {
  (void)arg;
  return hd_now();
}
static bool host_idle(void *arg) { return hd_session_idle(((struct hd_cluster *)arg)->session); }
static int host_give(void *arg, struct hd_str *out) {
  struct hd_cluster *c = arg;
  return hd_now() < c->share_at ? HD_REFUSED : hd_session_give(c->session, out);
}
/* A unit does not fit where threads have other numbers, which is learned. A rank that is not the first says so
 * (hd_balance_refused), and the first restarts the search; so it does when it is the one. */
static int host_accept(void *arg, uint32_t serial, const char *data, size_t n) {
  struct hd_cluster *c = arg;
  int rc = hd_session_accept(c->session, serial, data, n);
  if (rc != HD_REFUSED || c->net.rank || c->unfit++ >= MAX_UNFIT) return rc;
  return hd_session_learn(c->session, HD_LEARN_RESTART | HD_LEARN_UNIT, data, n);
}

struct listener {
  hd_balance_told *told;
  void *ctx;
};
static void pass_on(void *arg, enum hd_units_news what, uint32_t rank, uint32_t serial, const char *data,
                    size_t n) {
  const struct listener *l = arg;
  l->told(l->ctx, what == HD_UNITS_INSERT ? HD_NEWS_INSERT : HD_NEWS_CONCLUDED, rank, serial, data, n);
}
static int host_news(void *arg, hd_balance_told *told, void *ctx) {
  return hd_session_news(((struct hd_cluster *)arg)->session, pass_on, &(struct listener){told, ctx});
}
static int host_told(void *arg, enum hd_news what, const char *data, size_t n) {
  return hd_session_told_news(((struct hd_cluster *)arg)->session,
                              what == HD_NEWS_INSERT ? HD_UNITS_INSERT : HD_UNITS_CONCLUDED, data, n);
}

static void open_balance(struct hd_cluster *c) {
  struct hd_host host = {c, host_now, host_idle, host_give, host_accept, host_news, host_told};
  c->balance = hd_balance_new(&c->team, &host, 1);
}

/* ---- generations ---- */

/* Rank 0 learns what others have learned: later, where its process has to make stacks for threads first, or to start. */
static void learn_known(struct hd_cluster *c, struct hd_session *s) {
  size_t done = 0;
  for (; done < c->known.n; done++) {
    struct known *k = &c->known.v[done];
    int rc = hd_session_learn(s, k->generation == c->generation ? HD_LEARN_RESTART : 0, k->data.s, k->data.n);
    if (rc == HD_LATER) break;
    if (rc == HD_REFUSED) {
      char text[120];
      snprintf(text, sizeof text,
               "rank %d has something that the first rank lacks; do all have the same libraries?", k->from);
      hd_session_fail(s, text);
    }
    hd_str_fini(&k->data);
  }
  c->known.n -= done;
  memmove(c->known.v, c->known.v + done, c->known.n * sizeof *c->known.v);
}

void hd__cluster_start(struct hd_cluster *c, struct hd_session *s) {
  struct hd_config shape = {0};
  hd_session_shape(s, &shape);
  c->start = (struct start){.identity = hd_session_identity(s),
                            .given = c->given,
                            .restart = shape.restart,
                            .ngrown = shape.ngrown};
  memcpy(c->start.grown, shape.grown, sizeof c->start.grown);
  hd__cluster_spread(c, MSG_START, 0, &c->start, sizeof c->start);
  c->started = true;
}

/* Rank 0: its search has restarted, or begins. Returns whether everybody is in its generation. */
static bool lead(struct hd_cluster *c, struct hd_session *s) {
  uint64_t epoch = hd_session_epoch(s);
  if (c->started && epoch == c->epoch) return true;
  struct hd_str text;
  hd_str_init(&text);
  bool done = hd_session_knowledge(s, &text) == HD_DONE && hd_session_epoch(s) == epoch;
  if (done) {
    if (!c->started) hd__cluster_start(c, s);
    c->epoch = epoch;
    c->generation++;
    hd_session_expect(s, epoch);
    hd_balance_restart(c->balance, c->generation);
    hd__cluster_spread(c, MSG_GENERATION, c->generation, text.s, text.n);
  }
  hd_str_fini(&text);
  return done;
}

/* Not before the process of this rank is ready: it may have to be started again, by the caller of on_tick. */
static void tell_knowledge(struct hd_cluster *c, struct hd_session *s) {
  struct hd_str text;
  hd_str_init(&text);
  c->waits = true;
  c->tells = hd_session_knowledge(s, &text) != HD_DONE;
  if (!c->tells) hd__cluster_post(c, 0, MSG_KNOW, c->generation, text.s, text.n);
  hd_str_fini(&text);
}

/* The other ranks. Returns whether we are in the generation of rank 0. */
static bool follow(struct hd_cluster *c, struct hd_session *s) {
  if (c->has_next) {
    int rc = hd_session_learn(s, HD_LEARN_RESTART | HD_LEARN_NUMBERS, c->knowledge.s, c->knowledge.n);
    if (rc == HD_LATER) return false;
    if (rc == HD_REFUSED) {
      hd_session_fail(
          s, "this rank lacks something that the program uses elsewhere; do all have the same libraries?");
      return false;
    }
    c->has_next = c->waits = c->tells = false;
    c->generation = c->next;
    c->epoch = hd_session_epoch(s);
    hd_session_expect(s, c->epoch);
    hd_balance_restart(c->balance, c->generation);
    if (hd_session_knows_more(s, c->knowledge.s, c->knowledge.n)) tell_knowledge(c, s);
  }
  if (c->tells) tell_knowledge(c, s);
  if (!c->generation || c->waits) return false;
  if (hd_session_epoch(s) != c->epoch || hd_balance_refused(c->balance)) tell_knowledge(c, s);
  return !c->waits;
}

/* ---- callbacks of the session ---- */

static uint64_t executions_of_all(const struct hd_cluster *c, const struct hd_session *s) {
  uint64_t n, events;
  hd_session_counts(s, &n, &events);
  for (int i = 1; i < c->net.size; i++) n += c->report[i].executions;
  return n;
}

static bool on_tick(void *arg, struct hd_session *s) {
  struct hd_cluster *c = arg;
  c->session = s;
  hd__cluster_receive(c);
  if (c->round) hd__cluster_stay_frozen(c, s);
  if (c->stopping) return true;
  if (c->gone[0] && !hd_session_has_finding(s)) hd_session_fail(s, c->gone);
  if (c->shares && hd_session_ready(s)) {
    if (!c->balance) open_balance(c);
    if (!c->net.rank) learn_known(c, s);
    if (c->net.rank ? follow(c, s) : lead(c, s)) {
      hd_balance_tick(c->balance);
      /* It has nothing else to do than look at its messages. */
      for (int i = 0; i < IDLE_LOOKS && hd_balance_idle(c->balance); i++) {
        nanosleep(&(struct timespec){0, IDLE_NAP}, NULL);
        hd__cluster_receive(c);
        if (c->stopping || c->round || c->has_next || hd_session_epoch(s) != c->epoch) break;
        hd_balance_tick(c->balance);
      }
    }
    if (!c->net.rank && c->save && hd_now() - c->saved_at > c->save_every) hd__cluster_save(c, s);
    if (!c->net.rank && c->started && hd_balance_refused(c->balance))
      hd_session_fail(s, "a message of another rank does not fit the search: a defect of Heddle");
  }
  if (c->samples && hd_session_ready(s)) {
    hd__samples_tick(c, s);
    if (!c->net.rank && c->save && hd_now() - c->saved_at > c->save_every) hd__cluster_save(c, s);
  }
  double now = hd_now();
  if (!c->net.rank && c->most && executions_of_all(c, s) >= c->most) {
    hd_session_spend(s);
    return true;
  }
  if (c->net.rank && now - c->reported_at > (c->most ? REPORT_OFTEN : REPORT_EVERY)) {
    struct report r;
    fill_report(c, &r);
    hd__cluster_post(c, 0, MSG_STATUS, c->generation, &r, sizeof r);
    c->reported_at = now;
  }
  return false;
}

static void on_relay(void *arg, const struct hd_capture *capture) {
  struct hd_cluster *c = arg;
  struct hd_str text;
  hd_str_init(&text);
  hd_capture_put(capture, &text);
  hd__cluster_post(c, 0, MSG_FINDING, c->generation, text.s, text.n);
  hd_str_fini(&text);
}

/* Rank 0 has ended: the others end, too, or come to the end of their samples. */
static void on_over(void *arg, struct hd_session *s, const char *failed) {
  struct hd_cluster *c = arg;
  c->session = s;
  if (c->save && !failed && hd_session_ready(s))
    for (int i = 0; i < 3 && !hd__cluster_save(c, s); i++) continue;
  if (c->gone[0] && !hd_session_has_finding(s)) hd_session_fail(s, c->gone);
  gather(c);
  if (c->nfinal < c->net.size - 1)
    hd_session_fail(s, "some ranks were lost, and with them a part of the search");
  fill_report(c, &c->report[0]);
  c->session = NULL;
  struct hd_cluster_counts counts;
  hd_cluster_counts(c, &counts);
  struct sample *own = sample_states(c, s);
  add_sample(c, own);
  free(own);
  counts.ranks.explored = (uint64_t)c->key.n << c->shift;
  counts.ranks.repeated = count_repeated(c);
  counts.ranks.sampled = c->shift > 0;
  hd_session_set_ranks(s, &counts.ranks);
}

void hd_cluster_listen(struct hd_cluster *c, struct hd_session_events *events) {
  events->cluster = c;
  events->tick = on_tick;
  events->over = on_over;
}

/* ---- the other ranks ---- */

int hd_cluster_give_up(struct hd_cluster *c, const struct hd_err *err) {
  hd__cluster_post(c, 0, MSG_LOST, c->generation, err->text, strlen(err->text));
  while (!c->stopping) hd__cluster_wait(c);
  struct {
    struct hd_part part;
    struct report report;
  } last = {0};
  hd__cluster_post(c, 0, MSG_FINAL, c->generation, &last, sizeof last);
  return -err->code;
}

/* The processes of this rank have ended, and rank 0 has not said so: it may save the search yet, and units are missed. */
static void on_guest_over(void *arg, struct hd_session *s, const char *failed) {
  struct hd_cluster *c = arg;
  if (failed) hd__cluster_post(c, 0, MSG_LOST, c->generation, failed, strlen(failed));
  while ((c->shares || c->samples) && !c->stopping) {
    hd__cluster_receive(c);
    if (c->round) hd__cluster_stay_frozen(c, s);
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
}

/* Units fit only the search that they came from. */
static int check_same(const struct hd_cluster *c, const struct hd_session *s, struct hd_err *err) {
  if (!c->shares && !c->samples) return HD_OK;
  if (hd_settings_differ(&c->start.given, &c->given) || c->start.given.states != c->given.states)
    return hd_fail(err, HD_EUSAGE, "it has other options than the first rank; start all ranks with the same");
  if (c->start.identity != hd_session_identity(s))
    return hd_fail(
        err, HD_EUSAGE,
        "its program or its arguments are not those of the first rank; start all ranks with the same");
  return HD_OK;
}

static int run_session(struct hd_cluster *c, const struct hd_session_config *config, struct hd_part *part,
                       struct hd_err *err) {
  struct hd_session_events events = {.cluster = c, .tick = on_tick, .relay = on_relay, .over = on_guest_over};
  struct hd_session *s = NULL;
  int rc = hd_session_new(&s, config, &events, err);
  if (rc == HD_OK) rc = check_same(c, s, err);
  if (rc == HD_OK) rc = hd_session_run(s, err);
  if (rc == HD_OK) {
    struct sample *states = sample_states(c, s);
    if (states->n)
      hd__cluster_post(c, 0, MSG_STATES, 0, states, sizeof *states + states->n * sizeof *states->key);
    free(states);
    hd_session_part(s, part);
    struct report r;
    fill_report(c, &r);
    c->report[c->net.rank] = r;
  }
  c->session = NULL;
  hd_session_free(s);
  return rc;
}

int hd_cluster_serve(struct hd_cluster *c, const struct hd_session_config *given, struct hd_err *err) {
  struct hd_session_config config = *given;
  struct hd_part part = {0};
  int rc = HD_OK;
  config.time = 0; /* rank 0 looks at the clock */
  config.explain = 0;
  while ((c->shares || c->samples) && !c->has_start && !c->stopping) {
    hd__cluster_wait(c);
  }
  if (!c->stopping && (!c->samples || hd__samples_join(c, &config.span))) {
    if (c->shares || c->samples) {
      config.search.restart = c->start.restart;
      config.search.ngrown = c->start.ngrown;
      memcpy(config.search.grown, c->start.grown, sizeof config.search.grown);
    }
    rc = run_session(c, &config, &part, err);
    if (rc != HD_OK && !c->stopping)
      hd__cluster_post(c, 0, MSG_LOST, c->generation, err->text, strlen(err->text));
  }
  while (c->shares && !c->stopping) {
    hd__cluster_wait(c);
  }
  struct {
    struct hd_part part;
    struct report report;
  } last = {part, c->report[c->net.rank]};
  hd__cluster_post(c, 0, MSG_FINAL, c->generation, &last, sizeof last);
  while (!c->stopping && !c->shares) { /* rank 0 wants to hear it */
    hd__cluster_wait(c);
  }
  return HD_OK;
}

/* ---- what rank 0 shows ---- */

void hd_cluster_counts(const struct hd_cluster *c, struct hd_cluster_counts *out) {
  *out = (struct hd_cluster_counts){.ranks.n = (unsigned)c->net.size,
                                    .ranks.sampling = (unsigned)(c->net.size - c->team.size)};
  double idle = 0, all = 0;
  for (int i = 0; i < c->net.size; i++) {
    struct report r = c->report[i];
    if (i == 0 && c->session) fill_report(c, &r);
    if (i > 0) {
      out->executions += r.executions;
      out->events += r.events;
    }
    out->ranks.units += r.units;
    out->ranks.messages += r.messages;
    out->ranks.bytes += r.bytes;
    idle += r.idle;
    all += r.seconds;
  }
  out->ranks.idle = all > 0 ? idle / all : 0;
}
