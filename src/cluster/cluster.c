/* cluster.c: the ranks of a cluster: how the search starts, what they learn, findings, counters and the end. Runs in the
 * supervisor of each rank.
 *
 * Rank 0 begins alone. When it knows how executions restart it sends START, and with it the first generation of
 * knowledge; the others start their processes then. Messages for everybody go down a binary tree of ranks, so they arrive
 * in the order in which rank 0 sent them. A rank that learns something tells rank 0 and waits; rank 0 adds it to what it
 * knows, restarts its own search, and sends the next generation.
 *
 * At the end rank 0 sends STOP, and every rank answers with its counters. */
#include "cluster/cluster.h"

#include "cluster/balance.h"
#include "explore/explore.h"
#include "session/command.h"
#include "session/names.h"
#include "session/process.h"
#include "session/units.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  MSG_START = HD_MSG_OTHER, /* struct start */
  MSG_GENERATION,           /* knowledge, for everybody */
  MSG_KNOW,                 /* knowledge, for rank 0 */
  MSG_STATUS,               /* struct report */
  MSG_FINDING,              /* a capture */
  MSG_LOST,                 /* a text: the rank cannot go on */
  MSG_STOP,
  MSG_STATES,  /* struct sample */
  MSG_FINAL,   /* struct hd_part, struct report */
  MSG_FREEZE,  /* the serial is the round */
  MSG_FROZEN,  /* struct frozen */
  MSG_COLLECT, /* for everybody: send your part of the search */
  MSG_PART,
  MSG_THAW,
};

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

struct start {
  uint32_t restart, ngrown;
  uint64_t grown[HD_MAX_GROWN];
};

struct report {
  uint64_t executions, events, units, messages, bytes;
  double idle, seconds;
};

/* States that a rank has explored: 2^shift for each. */
#define MAX_SAMPLE (1u << 22) /* of all ranks, ... */
#define MIN_SAMPLE (1u << 10) /* ... but of each at least so many */
struct sample {
  uint64_t shift, n;
  uint64_t key[];
};

/* How many messages about units a rank has sent and received, when its workers wait. */
struct frozen {
  uint64_t round, sent, received;
};

struct hd_cluster {
  struct hd_net net;
  void *module;
  bool opened, configured;
  struct hd_balance *balance;
  struct hd_session *session; /* while it runs */
  bool shares;                /* units are exchanged: the strategy explores a tree */
  bool started, stopping, lost;
  double share_at; /* no unit is given before */
  double began, reported_at;
  uint32_t generation;
  uint32_t unfit; /* rank 0: units that did not fit */
  uint64_t epoch; /* of our search, in that generation */
  bool waits;     /* for the next generation */
  bool has_next;  /* it has arrived */
  uint32_t next;  /* its number */
  struct hd_str knowledge;
  struct start start;
  bool has_start;
  bool all;              /* findings do not end the search */
  uint64_t most;         /* executions of all ranks together, if they share a tree; 0: any number */
  struct report *report; /* rank 0: of every rank */
  bool *final;           /* rank 0: its counters have arrived */
  int nfinal;
  /* Saving. */
  const char *save;
  double saved_at, save_every;
  uint64_t sent, received; /* messages about units, besides those that the balancing has sent */
  uint32_t round;          /* that rank 0 asks for; 0: nobody is frozen */
  bool paused, collect;
  struct frozen told;    /* what rank 0 knows of us */
  struct frozen *frozen; /* rank 0: of every rank */
  struct hd_str *part;   /* rank 0: of every rank */
  HD_VEC(uint64_t) key;  /* rank 0: of states, of all ranks */
  unsigned shift;        /* of them (struct sample) */
};

/* ---- opening ---- */

#define INSTALL "apt-get install openmpi-bin libopenmpi-dev, then build heddle again"

int hd_cluster_open(struct hd_cluster **out, struct hd_err *err) {
  struct hd_cluster *c = *out = hd_alloc(sizeof *c);
  hd_str_init(&c->knowledge);
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
static void receive_all(struct hd_cluster *c);

/* Looks at the messages, and gives others the processor. */
static void wait_for_messages(struct hd_cluster *c) {
  receive_all(c);
  nanosleep(&(struct timespec){0, 200000}, NULL);
}

/* Rank 0: ends all other ranks, and waits for their counters. */
static void gather(struct hd_cluster *c) {
  double until = hd_now() + LAST_WORDS;
  stop_all(c);
  while (c->nfinal < c->net.size - 1 && hd_now() < until) {
    wait_for_messages(c);
  }
}

void hd_cluster_close(struct hd_cluster *c) {
  if (!c) return;
  if (c->configured && !c->net.rank) gather(c); /* if the search did not even start */
  hd_balance_free(c->balance);
  if (c->opened) c->net.close(&c->net);
  hd_str_fini(&c->knowledge);
  for (int i = 0; c->part && i < c->net.size; i++) hd_str_fini(&c->part[i]);
  free(c->part);
  free(c->frozen);
  free(c->report);
  free(c->final);
  hd_vec_free(&c->key);
  free(c);
}

int hd_cluster_rank(const struct hd_cluster *c) { return c->net.rank; }

/* ---- configuration ---- */

static int refuse(const char *what, const char *why, struct hd_err *err) {
  return hd_fail(err, HD_EUSAGE, "heddle cluster: %s %s", what, why);
}

/* Each rank runs executions of its own numbers. */
static void split_samples(const struct hd_cluster *c, struct hd_session_config *config) {
  uint64_t n = config->search.max_executions, ranks = (uint64_t)c->net.size, rank = (uint64_t)c->net.rank;
  uint64_t from = n ? n / ranks * rank + (rank < n % ranks ? rank : n % ranks) : rank << 40;
  uint64_t to = n ? n / ranks * (rank + 1) + (rank + 1 < n % ranks ? rank + 1 : n % ranks) : 0;
  config->executions_before = from;
  config->search.max_executions = to;
}

int hd_cluster_configure(struct hd_cluster *c, struct hd_session_config *config, struct hd_err *err) {
  struct hd_config *search = &config->search;
  if (search->classes) return refuse("--classes", "is not supported: ranks do not share the classes", err);
  if (search->workers >= HD_MAX_WORKERS) return refuse("--jobs", "must be less than 256", err);
  /* The samplers of `auto` take turns with the systematic part on one machine: here that part has all of them. */
  if (strcmp(search->strategy, "auto") == 0) {
    memset(search->strategy, 0, sizeof search->strategy);
    strcpy(search->strategy, "optimal");
    if (search->states == HD_REDUCE_TRY) search->states = HD_REDUCE_NO;
    if (search->symmetry == HD_REDUCE_TRY) search->symmetry = HD_REDUCE_NO;
  }
  c->shares = hd_strategy_systematic(search->strategy);
  c->all = search->all;
  if (!c->shares && (config->save || config->resume))
    return refuse("--save and --resume", "are for complete strategies", err);
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
  } else {
    split_samples(c, config);
  }
  c->configured = true;
  return HD_OK;
}

/* ---- messages ---- */

static void post(struct hd_cluster *c, int to, uint32_t kind, uint32_t generation, const void *data,
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
static void spread(struct hd_cluster *c, uint32_t kind, uint32_t generation, const void *data, size_t n) {
  for (int child = 2 * c->net.rank + 1; child <= 2 * c->net.rank + 2 && child < c->net.size; child++)
    post(c, child, kind, generation, data, n);
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

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t count_repeated(struct hd_cluster *c) {
  uint64_t n = 0;
  if (c->key.n) qsort(c->key.v, c->key.n, sizeof *c->key.v, by_value);
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
  spread(c, MSG_STOP, c->generation, NULL, 0);
}

static void on_lost(struct hd_cluster *c, int from, const char *data, size_t n) {
  char text[400];
  if (!c->session || c->stopping) return;
  snprintf(text, sizeof text, "rank %d: %.*s", from, (int)(n < 300 ? n : 300), data);
  if (!hd_session_has_finding(c->session)) hd_session_fail(c->session, text);
}

static void on_message(struct hd_cluster *c, int from, const char *data, size_t n) {
  struct hd_msg_head head;
  if (n < sizeof head) return;
  memcpy(&head, data, sizeof head);
  const char *rest = data + sizeof head;
  size_t len = n - sizeof head;
  switch (head.kind) {
    case MSG_START:
      spread(c, MSG_START, head.generation, rest, len);
      if (len == sizeof c->start) memcpy(&c->start, rest, len);
      c->has_start = true;
      break;
    case MSG_GENERATION:
      spread(c, MSG_GENERATION, head.generation, rest, len);
      hd_str_clear(&c->knowledge);
      hd_str_addn(&c->knowledge, rest, len);
      c->has_next = true;
      c->next = head.generation;
      break;
    case MSG_KNOW:
      if (c->session && !c->stopping)
        while (hd_session_learn(c->session, head.generation == c->generation ? HD_LEARN_RESTART : 0, rest,
                                len) == HD_LATER)
          nanosleep(&(struct timespec){0, 100000}, NULL);
      break;
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
      spread(c, MSG_FREEZE, head.generation, rest, len);
      if (len == sizeof c->round) memcpy(&c->round, rest, len);
      break;
    case MSG_FROZEN:
      if (len == sizeof *c->frozen) memcpy(&c->frozen[from], rest, len);
      break;
    case MSG_COLLECT:
      spread(c, MSG_COLLECT, head.generation, rest, len);
      c->collect = true;
      break;
    case MSG_PART:
      hd_str_clear(&c->part[from]);
      hd_str_addn(&c->part[from], rest, len);
      break;
    case MSG_THAW:
      spread(c, MSG_THAW, head.generation, rest, len);
      c->round = 0;
      break;
    default:
      c->received++;
      if (c->balance && !c->waits && !c->stopping) {
        hd_balance_message(c->balance, from, data, n);
      } else if (head.kind == HD_MSG_STEAL) {
        c->sent++;
        post(c, from, HD_MSG_NONE, head.generation, NULL, 0);
      }
  }
}

static void receive_all(struct hd_cluster *c) {
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
  c->balance = hd_balance_new(&c->net, &host, 1);
}

/* ---- generations ---- */

/* Rank 0: its search has restarted, or begins. Returns whether everybody is in its generation. */
static bool lead(struct hd_cluster *c, struct hd_session *s) {
  uint64_t epoch = hd_session_epoch(s);
  if (c->started && epoch == c->epoch) return true;
  struct hd_str text;
  hd_str_init(&text);
  bool done = hd_session_knowledge(s, &text) == HD_DONE && hd_session_epoch(s) == epoch;
  if (done) {
    if (!c->started) {
      struct hd_config shape = {0};
      hd_session_shape(s, &shape);
      c->start = (struct start){.restart = shape.restart, .ngrown = shape.ngrown};
      memcpy(c->start.grown, shape.grown, sizeof c->start.grown);
      spread(c, MSG_START, 0, &c->start, sizeof c->start);
      c->started = true;
    }
    c->epoch = epoch;
    c->generation++;
    hd_session_expect(s, epoch);
    hd_balance_restart(c->balance, c->generation);
    spread(c, MSG_GENERATION, c->generation, text.s, text.n);
  }
  hd_str_fini(&text);
  return done;
}

static void tell_knowledge(struct hd_cluster *c, struct hd_session *s) {
  struct hd_str text;
  hd_str_init(&text);
  int rc;
  while ((rc = hd_session_knowledge(s, &text)) == HD_LATER) nanosleep(&(struct timespec){0, 100000}, NULL);
  if (rc == HD_DONE) post(c, 0, MSG_KNOW, c->generation, text.s, text.n);
  hd_str_fini(&text);
  c->waits = true;
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
    c->has_next = c->waits = false;
    c->generation = c->next;
    c->epoch = hd_session_epoch(s);
    hd_session_expect(s, c->epoch);
    hd_balance_restart(c->balance, c->generation);
    if (hd_session_knows_more(s, c->knowledge.s, c->knowledge.n)) tell_knowledge(c, s);
  }
  if (!c->generation || c->waits) return false;
  if (hd_session_epoch(s) != c->epoch || hd_balance_refused(c->balance)) tell_knowledge(c, s);
  return !c->waits;
}

/* ---- saving ----
 *
 * Rank 0 asks everybody to freeze: workers wait between two executions, no unit is asked for. What is under way arrives,
 * and may cause more messages. Each rank reports how many it has sent and received, whenever that changes. When the sums
 * are equal rank 0 asks once more; if they are the same then, no message was under way when it asked (Mattern,
 * "Algorithms for distributed termination detection", Distributed Computing 2(3), 1987: the four counter method). Then
 * the trees of all ranks are one consistent tree. */

#define FREEZE_PATIENCE 3.0 /* seconds; then another time */

/* Returns whether this rank is frozen. */
static bool freeze(struct hd_cluster *c, struct hd_session *s) {
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
  return (struct frozen){c->round, c->sent + hd_balance_counts(c->balance)->messages, c->received};
}

static int put_part(struct hd_session *s, struct hd_str *out) {
  int rc;
  hd_str_clear(out);
  double until = hd_now() + FREEZE_PATIENCE;
  while ((rc = hd_session_put_saved(s, out)) == HD_LATER && hd_now() < until)
    nanosleep(&(struct timespec){0, 100000}, NULL);
  return rc;
}

/* The other ranks: until rank 0 lets us go on. */
static void stay_frozen(struct hd_cluster *c, struct hd_session *s) {
  while (c->round && !c->stopping && !c->has_next) {
    if (c->balance && !c->waits && freeze(c, s)) {
      struct frozen now = frozen_now(c);
      if (memcmp(&now, &c->told, sizeof now) != 0) {
        post(c, 0, MSG_FROZEN, c->generation, &now, sizeof now);
        c->told = now;
      }
    }
    if (c->collect && c->balance) {
      c->collect = false;
      if (put_part(s, &c->part[c->net.rank]) == HD_DONE)
        post(c, 0, MSG_PART, c->generation, c->part[c->net.rank].s, c->part[c->net.rank].n);
    }
    nanosleep(&(struct timespec){0, 200000}, NULL);
    receive_all(c);
  }
  thaw(c, s);
}

static void ask_round(struct hd_cluster *c, uint32_t round) {
  c->round = round;
  spread(c, MSG_FREEZE, c->generation, &c->round, sizeof c->round);
}

/* Whether nothing is under way anywhere. */
static bool freeze_all(struct hd_cluster *c, struct hd_session *s, double until) {
  uint64_t last = UINT64_MAX;
  memset(c->frozen, 0, (size_t)c->net.size * sizeof *c->frozen);
  for (ask_round(c, 1); hd_now() < until; nanosleep(&(struct timespec){0, 200000}, NULL)) {
    receive_all(c);
    if (hd_session_epoch(s) != c->epoch || hd_balance_refused(c->balance)) return false;
    if (!freeze(c, s)) continue;
    c->frozen[0] = frozen_now(c);
    uint64_t sent = 0, received = 0;
    bool all = true;
    for (int i = 0; i < c->net.size; i++) {
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
  spread(c, MSG_COLLECT, c->generation, NULL, 0);
  bool all = put_part(s, &c->part[0]) == HD_DONE;
  for (int i = 1; i < c->net.size && all; i++)
    while (!c->part[i].n && (all = hd_now() < until)) {
      wait_for_messages(c);
    }
  return all;
}

/* Rank 0 saves the search of all ranks. Returns whether it did. */
static bool save_all(struct hd_cluster *c, struct hd_session *s) {
  struct hd_err err;
  bool alone = !c->started || hd_session_epoch(s) != c->epoch; /* what the others have is void */
  double until = hd_now() + FREEZE_PATIENCE;
  c->saved_at = hd_now();
  if (alone) hd_session_expect(s, hd_session_epoch(s));
  bool ready = alone ? hd_session_pause(s, FREEZE_PATIENCE) && put_part(s, &c->part[0]) == HD_DONE
                     : freeze_all(c, s, until) && collect_all(c, s, until + FREEZE_PATIENCE);
  if (ready) {
    struct hd_saved_part *part = hd_alloc((size_t)c->net.size * sizeof *part);
    for (int i = 0; i < c->net.size; i++) part[i] = (struct hd_saved_part){c->part[i].s, c->part[i].n};
    if (hd_session_save_parts(s, c->save, part, alone ? 1 : (uint32_t)c->net.size, &err) != HD_OK) {
      hd_warn("%s", err.text);
      ready = false;
    }
    free(part);
  }
  if (!alone) spread(c, MSG_THAW, c->generation, NULL, 0);
  c->round = 0;
  if (alone) hd_session_go_on(s);
  thaw(c, s);
  c->saved_at = hd_now() - (ready ? 0 : c->save_every / 2);
  return ready;
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
  receive_all(c);
  if (c->round) stay_frozen(c, s);
  if (c->stopping) return true;
  if (c->shares && hd_session_ready(s)) {
    if (!c->balance) open_balance(c);
    if (c->net.rank ? follow(c, s) : lead(c, s)) {
      hd_balance_tick(c->balance);
      /* It has nothing else to do than look at its messages. */
      for (int i = 0; i < IDLE_LOOKS && hd_balance_idle(c->balance); i++) {
        nanosleep(&(struct timespec){0, IDLE_NAP}, NULL);
        receive_all(c);
        if (c->stopping || c->round || c->has_next || hd_session_epoch(s) != c->epoch) break;
        hd_balance_tick(c->balance);
      }
    }
    if (!c->net.rank && c->save && hd_now() - c->saved_at > c->save_every) save_all(c, s);
    if (!c->net.rank && c->started && hd_balance_refused(c->balance))
      hd_session_fail(s, "a message of another rank does not fit the search: a defect of Heddle");
  }
  double now = hd_now();
  if (!c->net.rank && c->most && executions_of_all(c, s) >= c->most) {
    hd_session_spend(s);
    return true;
  }
  if (c->net.rank && now - c->reported_at > (c->most ? REPORT_OFTEN : REPORT_EVERY)) {
    struct report r;
    fill_report(c, &r);
    post(c, 0, MSG_STATUS, c->generation, &r, sizeof r);
    c->reported_at = now;
  }
  return false;
}

static void on_relay(void *arg, const struct hd_capture *capture) {
  struct hd_cluster *c = arg;
  struct hd_str text;
  hd_str_init(&text);
  hd_capture_put(capture, &text);
  post(c, 0, MSG_FINDING, c->generation, text.s, text.n);
  hd_str_fini(&text);
}

/* Rank 0 has ended: the others end, too, or come to the end of their samples. */
static void on_over(void *arg, struct hd_session *s, const char *failed) {
  struct hd_cluster *c = arg;
  c->session = s;
  if (c->save && !failed && hd_session_ready(s))
    for (int i = 0; i < 3 && !save_all(c, s); i++) continue;
  while (!c->shares && !failed && c->nfinal < c->net.size - 1) {
    if ((hd_session_has_finding(s) && !c->all) || hd_interrupts() > 0) break;
    wait_for_messages(c);
  }
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

/* The processes of this rank have ended, and rank 0 has not said so: it may save the search yet, and units are missed. */
static void on_guest_over(void *arg, struct hd_session *s, const char *failed) {
  struct hd_cluster *c = arg;
  if (failed) post(c, 0, MSG_LOST, c->generation, failed, strlen(failed));
  while (c->shares && !c->stopping) {
    receive_all(c);
    if (c->round) stay_frozen(c, s);
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
}

static int run_session(struct hd_cluster *c, const struct hd_session_config *config, struct hd_part *part,
                       struct hd_err *err) {
  struct hd_session_events events = {.cluster = c, .tick = on_tick, .relay = on_relay, .over = on_guest_over};
  struct hd_session *s = NULL;
  int rc = hd_session_new(&s, config, &events, err);
  if (rc == HD_OK) rc = hd_session_run(s, err);
  if (rc == HD_OK) {
    struct sample *states = sample_states(c, s);
    if (states->n) post(c, 0, MSG_STATES, 0, states, sizeof *states + states->n * sizeof *states->key);
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
  while (c->shares && !c->has_start && !c->stopping) {
    wait_for_messages(c);
  }
  if (!c->stopping) {
    if (c->shares) {
      config.search.restart = c->start.restart;
      config.search.ngrown = c->start.ngrown;
      memcpy(config.search.grown, c->start.grown, sizeof config.search.grown);
    }
    rc = run_session(c, &config, &part, err);
    if (rc != HD_OK && !c->stopping) post(c, 0, MSG_LOST, c->generation, err->text, strlen(err->text));
  }
  while (c->shares && !c->stopping) {
    wait_for_messages(c);
  }
  struct {
    struct hd_part part;
    struct report report;
  } last = {part, c->report[c->net.rank]};
  post(c, 0, MSG_FINAL, c->generation, &last, sizeof last);
  while (!c->stopping && !c->shares) { /* it may forward STOP to others */
    wait_for_messages(c);
  }
  return HD_OK;
}

/* ---- what rank 0 shows ---- */

void hd_cluster_counts(const struct hd_cluster *c, struct hd_cluster_counts *out) {
  *out = (struct hd_cluster_counts){.ranks.n = (unsigned)c->net.size};
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
