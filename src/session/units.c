/* units.c: the search as one of several (units.h). Runs in the supervisor.
 *
 * The search memory belongs to the tested processes, which may have overwritten it: a fault while it is followed ends the
 * search of this machine with an error, and not the supervisor. */
#include "session/session_int.h"
#include "session/units.h"

#include "model/unit.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LOCK_TRIES 2000
#define PAUSE_PATIENCE 0.1 /* seconds to wait for the executions under way */

/* What the supervisor uses to look at the search, for the life of a session. */
struct hd_units {
  struct hd_search search;
  struct hd_status status;
  struct hd_layout layout;
  struct hd_writer out;
  const struct hd_strategy *strategy;
  uint64_t expected; /* epoch */
};

static struct hd_units *units_of(struct hd_session *s) {
  if (!s->units) {
    struct hd_units *u = hd_alloc(sizeof *u);
    u->strategy = hd_strategy_for(&s->worker[0].control.config);
    if (!hd__search_attach(s, &u->search, &u->status)) {
      free(u);
      return NULL;
    }
    u->search.worker = HD_MAX_WORKERS - 1;
    u->out.grow = hd__writer_grow;
    s->units = u;
  }
  struct hd_units *u = s->units;
  u->status.epoch = s->worker[0].control.shared->epoch;
  u->layout = hd__layout_of(&s->worker[0].control);
  u->out.layout = &u->layout;
  return u;
}

void hd__units_fini(struct hd_session *s) {
  if (!s->units) return;
  hd__search_detach(&s->units->search);
  free(s->units->out.data);
  free(s->units);
  s->units = NULL;
}

/* ---- faults ---- */

static sigjmp_buf escape;
static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
#define NFAULTS (sizeof faults / sizeof *faults)
static struct sigaction before[NFAULTS];

static void on_fault(int sig) { siglongjmp(escape, sig); }

static void guard_end(void) {
  for (size_t i = 0; i < NFAULTS; i++) sigaction(faults[i], &before[i], NULL);
}

static void guard_begin(void) {
  struct sigaction sa = {.sa_handler = on_fault};
  for (size_t i = 0; i < NFAULTS; i++) sigaction(faults[i], &sa, &before[i]);
}

/* ---- under the lock ---- */

typedef int job(struct hd_units *u, void *arg);

static bool lock(struct hd_units *u) {
  for (unsigned i = 0; i < LOCK_TRIES; i++) {
    if (hd_search_trylock(&u->search)) return true;
    if (i % 64 == 63) nanosleep(&(struct timespec){0, 20000}, NULL);
  }
  return false;
}

struct expected {
  job *f;
  void *arg;
};

static int if_expected(struct hd_units *u, void *arg) {
  const struct expected *e = arg;
  return hd_search_number(u->search.shared) == u->expected ? e->f(u, e->arg) : HD_LATER;
}

/* Does the job while no worker changes the search. */
static int locked(struct hd_session *s, job *f, void *arg) {
  struct hd_units *u = units_of(s);
  if (!u || s->failed || !hd_session_ready(s) || !u->layout.n) return HD_LATER;
  if (!lock(u)) return HD_LATER;
  volatile int rc = HD_LATER;
  const uint32_t *ranges = &s->worker[0].control.ctl->nranges;
  uint32_t named = u->layout.n;
  guard_begin();
  if (sigsetjmp(escape, 1) == 0) {
    rc = f(u, arg);
  } else {
    s->failed = hd_fail(&s->failure, HD_EENV,
                        "the memory of the search is damaged: the program overwrote it, or it is full");
  }
  guard_end();
  hd_search_unlock(&u->search);
  /* The process was listing its address ranges: what did not fit may fit then. */
  if (rc == HD_REFUSED && (!named || named != __atomic_load_n(ranges, __ATOMIC_ACQUIRE))) rc = HD_LATER;
  return rc;
}

/* The same for what belongs to the present search. */
static int current(struct hd_session *s, job *f, void *arg) {
  struct expected e = {f, arg};
  return locked(s, if_expected, &e);
}

struct on_shared {
  int (*f)(struct hd_shared *sh, void *arg);
  void *arg;
};

static int with_shared(struct hd_units *u, void *arg) {
  const struct on_shared *j = arg;
  return j->f(u->search.shared, j->arg);
}

int hd__units_locked(struct hd_session *s, int (*f)(struct hd_shared *sh, void *arg), void *arg) {
  return locked(s, with_shared, &(struct on_shared){f, arg});
}

void hd_session_expect(struct hd_session *s, uint64_t epoch) {
  struct hd_units *u = units_of(s);
  if (u) u->expected = epoch;
}

void hd_session_fail(struct hd_session *s, const char *why) {
  if (!s->failed) s->failed = hd_fail(&s->failure, HD_EENV, "%s", why);
}

bool hd_session_ready(const struct hd_session *s) {
  const struct hd_control *c = &s->worker[0].control;
  return c->ctl && !c->shared->inbox_full && __atomic_load_n(&c->ctl->status.decided, __ATOMIC_ACQUIRE) &&
         hd_control_sane(c);
}

uint64_t hd_session_epoch(const struct hd_session *s) {
  return hd_search_number(s->worker[0].control.shared);
}

static int find_idle(struct hd_units *u, void *arg) {
  *(bool *)arg = hd_units_idle(&u->search);
  return HD_DONE;
}

bool hd_session_idle(struct hd_session *s) {
  bool idle = false;
  return current(s, find_idle, &idle) == HD_DONE && idle;
}

/* ---- workers that wait ---- */

bool hd__session_waits(const struct hd_session *s) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->process[i].running && !__atomic_load_n(&s->worker[i].control.ctl->status.paused, __ATOMIC_SEQ_CST))
      return false;
  return true;
}

bool hd_session_pause(struct hd_session *s, double patience) {
  double until = hd_now() + patience;
  __atomic_store_n(&s->worker[0].control.shared->pause, 1, __ATOMIC_SEQ_CST);
  while (!hd__session_waits(s) && hd_now() < until) nanosleep(&(struct timespec){0, 100000}, NULL);
  return hd__session_waits(s);
}

void hd_session_go_on(struct hd_session *s) {
  __atomic_store_n(&s->worker[0].control.shared->pause, 0, __ATOMIC_RELEASE);
}

/* ---- units ---- */

struct bytes {
  struct hd_session *s;
  const char *data;
  size_t n;
  uint32_t serial;
  enum hd_units_news what;
  unsigned how; /* enum hd_learn */
  struct hd_str *out;
};

/* Stacks of threads that were made. The list is the longest that any machine has. */
static void put_stacks(const struct hd_session *s, struct hd_writer *out) {
  const struct hd_status *st = &s->worker[0].control.ctl->status;
  uint32_t n = st->ngrown < HD_MAX_GROWN ? (uint32_t)st->ngrown : HD_MAX_GROWN;
  hd_put_number(out, n);
  for (uint32_t i = 0; i < n; i++) hd_put_number(out, st->grown[i]);
}

/* The process makes them between two executions (runtime/core/drive.c). Returns whether it has to. */
static bool get_stacks(const struct hd_session *s, struct hd_reader *r) {
  struct hd_shared *sh = s->worker[0].control.shared;
  uint64_t stack[HD_MAX_GROWN];
  uint32_t n = (uint32_t)hd_get_number(r, HD_MAX_GROWN);
  for (uint32_t i = 0; i < n; i++) stack[i] = hd_get_number(r, UINT64_MAX);
  bool more = !r->bad && n > __atomic_load_n(&s->worker[0].control.ctl->status.ngrown, __ATOMIC_ACQUIRE);
  if (more && n > sh->nstacks) {
    memcpy(sh->stacks, stack, n * sizeof *stack);
    __atomic_store_n(&sh->nstacks, n, __ATOMIC_RELEASE);
  }
  return more;
}

static int give(struct hd_units *u, void *arg) {
  const struct bytes *b = arg;
  u->out.n = 0;
  u->out.bad = 0;
  put_stacks(b->s, &u->out);
  hd_search_put_knowledge(&u->search, NULL, 0, &u->out);
  if (!hd_units_give(&u->search, u->strategy, &u->out)) return HD_REFUSED;
  hd_str_addn(b->out, (const char *)u->out.data, u->out.n);
  return HD_DONE;
}

int hd_session_give(struct hd_session *s, struct hd_str *out) {
  struct bytes b = {.s = s, .out = out};
  int rc = hd_session_pause(s, PAUSE_PATIENCE) ? current(s, give, &b) : HD_LATER;
  hd_session_go_on(s);
  return rc;
}

static struct hd_reader reader_of(const struct hd_units *u, const struct bytes *b) {
  return (struct hd_reader){.data = (const uint8_t *)b->data, .n = b->n, .layout = &u->layout};
}

static uint64_t *visible_of(const struct hd_units *u) {
  return (uint64_t *)((char *)u->search.shared + HD_SEARCH_VISIBLE);
}

static int accept(struct hd_units *u, void *arg) {
  const struct bytes *b = arg;
  struct hd_reader r = reader_of(u, b);
  if (get_stacks(b->s, &r)) return HD_LATER;
  if (hd_search_get_knowledge(&u->search, visible_of(u), 0, &r) <= 0) return HD_REFUSED;
  return hd_units_accept(&u->search, u->strategy, b->serial, &r);
}

int hd_session_accept(struct hd_session *s, uint32_t serial, const char *data, size_t n) {
  return current(s, accept, &(struct bytes){.s = s, .data = data, .n = n, .serial = serial});
}

struct listener {
  hd_session_told *told;
  void *arg;
};

static void pass_on(void *ctx, enum hd_units_news what, uint32_t rank, uint32_t serial,
                    const struct hd_writer *out) {
  const struct listener *l = ctx;
  l->told(l->arg, what, rank, serial, (const char *)out->data, out->n);
}

static int collect(struct hd_units *u, void *arg) {
  u->out.bad = 0;
  hd_units_news(&u->search, u->strategy, &u->out, pass_on, arg);
  return HD_DONE;
}

int hd_session_news(struct hd_session *s, hd_session_told *told, void *arg) {
  return current(s, collect, &(struct listener){told, arg});
}

static int be_told(struct hd_units *u, void *arg) {
  const struct bytes *b = arg;
  struct hd_reader r = reader_of(u, b);
  return b->what == HD_UNITS_INSERT ? hd_units_insert(&u->search, u->strategy, &r)
                                    : hd_units_concluded(&u->search, u->strategy, &r);
}

int hd_session_told_news(struct hd_session *s, enum hd_units_news what, const char *data, size_t n) {
  return current(s, be_told, &(struct bytes){.data = data, .n = n, .what = what});
}

/* ---- what was learned ---- */

static int put_knowledge(struct hd_units *u, void *arg) {
  const struct bytes *b = arg;
  u->out.n = 0;
  u->out.bad = 0;
  put_stacks(b->s, &u->out);
  hd_search_put_knowledge(&u->search, visible_of(u), u->search.shared->visible_count, &u->out);
  hd_put_number(&u->out, u->search.shared->bound);
  if (u->search.accessed) hd_accessed_put(&u->search, 0, &u->out);
  if (u->out.bad) return HD_REFUSED;
  hd_str_addn(b->out, (const char *)u->out.data, u->out.n);
  return HD_DONE;
}

int hd_session_knowledge(struct hd_session *s, struct hd_str *out) {
  return locked(s, put_knowledge, &(struct bytes){.s = s, .out = out});
}

static int learn(struct hd_units *u, void *arg) {
  const struct bytes *b = arg;
  struct hd_reader r = reader_of(u, b);
  bool unit = (b->how & HD_LEARN_UNIT) != 0;
  if (get_stacks(b->s, &r)) return HD_LATER;
  int64_t fresh = hd_search_get_knowledge(&u->search, visible_of(u), (b->how & HD_LEARN_NUMBERS) != 0, &r);
  if (!fresh) return HD_REFUSED;
  uint32_t bound = unit ? 0 : (uint32_t)hd_get_number(&r, UINT32_MAX);
  if (u->search.accessed && !unit) hd_accessed_get(&u->search, &r);
  if (r.bad) return HD_REFUSED;
  if ((b->how & HD_LEARN_RESTART) || fresh != 1 || hd_search_stale(&u->search))
    hd_search_restart(&u->search, u->strategy);
  if (b->how & HD_LEARN_NUMBERS) u->search.shared->bound = bound;
  return HD_DONE;
}

int hd_session_learn(struct hd_session *s, unsigned how, const char *data, size_t n) {
  return locked(s, learn, &(struct bytes){.s = s, .data = data, .n = n, .how = how});
}

bool hd_session_knows_more(struct hd_session *s, const char *data, size_t n) {
  struct hd_reader r = {.data = (const uint8_t *)data, .n = n};
  for (uint64_t stacks = hd_get_number(&r, HD_MAX_GROWN); stacks > 0; stacks--) hd_get_number(&r, UINT64_MAX);
  uint64_t theirs = hd_get_number(&r, UINT64_MAX);
  return !r.bad && s->worker[0].control.shared->visible_count > theirs;
}

/* ---- saving ---- */

/* Lengths of the junctions and the units, and the counters; then the two. */
struct saved_head {
  uint64_t junctions, units;
  struct hd_part part;
};

static int put_saved(struct hd_units *u, void *arg) {
  const struct bytes *b = arg;
  struct saved_head head;
  hd_session_part(b->s, &head.part);
  u->out.n = 0;
  u->out.bad = 0;
  hd_units_put_junctions(&u->search, u->strategy, &u->out);
  head.junctions = u->out.n;
  hd_units_put_units(&u->search, u->strategy, &u->out);
  head.units = u->out.n - head.junctions;
  if (u->out.bad) return HD_REFUSED;
  hd_str_addn(b->out, (const char *)&head, sizeof head);
  hd_str_addn(b->out, (const char *)u->out.data, u->out.n);
  return HD_DONE;
}

int hd_session_put_saved(struct hd_session *s, struct hd_str *out) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->worker[i].control.ctl) hd__session_harvest(s, &s->worker[i]);
  return current(s, put_saved, &(struct bytes){.s = s, .out = out});
}

static struct hd_reader part_reader(const struct hd_units *u, const struct hd_saved_part *p, bool units) {
  struct saved_head head;
  struct hd_reader r = {.layout = &u->layout, .bad = 1};
  if (p->n < sizeof head) return r;
  memcpy(&head, p->data, sizeof head);
  if (head.junctions > p->n || head.units != p->n - sizeof head - head.junctions) return r;
  r.bad = 0;
  r.data = (const uint8_t *)p->data + sizeof head + (units ? head.junctions : 0);
  r.n = units ? head.units : head.junctions;
  return r;
}

/* The merged search, as bytes. In a process of its own: its memory is as large as that of a search. */
int hd__units_merge(struct hd_session *s, const struct hd_saved_part *part, uint32_t ranks,
                    struct hd_writer *out) {
  struct hd_units *u = units_of(s);
  if (!u) return 0;
  uint32_t *first = hd_alloc((ranks + 1) * sizeof *first);
  unsigned units = 0;
  for (uint32_t i = 0; i < ranks; i++) {
    struct hd_reader j = part_reader(u, &part[i], false), n = part_reader(u, &part[i], true);
    first[i + 1] = first[i] + hd_units_count_junctions(&j);
    units += (unsigned)hd_get_number(&n, 1u << 16);
    if (j.bad || n.bad) return 0;
  }
  struct hd_search merged = u->search;
  merged.own = NULL;
  merged.scratch =
      mmap(NULL, HD_SCRATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  merged.memory = mmap(NULL, merged.memory_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (merged.scratch == MAP_FAILED || merged.memory == MAP_FAILED) return 0;
  hd_units_merge_begin(&merged, u->strategy, units);
  int good = 1;
  unsigned at = 0;
  for (uint32_t i = 0; i < ranks && good; i++) {
    struct hd_reader r = part_reader(u, &part[i], false);
    good = hd_units_merge_junctions(&merged, i, first, ranks, &r);
  }
  for (uint32_t i = 0; i < ranks && good; i++) {
    struct hd_reader r = part_reader(u, &part[i], true);
    good = hd_units_merge_units(&merged, first, ranks, &at, &r);
  }
  return good && hd_search_save(&merged, u->strategy, visible_of(u), u->search.shared->visible_count, out);
}

int hd_session_save_parts(struct hd_session *s, const char *path, const struct hd_saved_part *part,
                          uint32_t ranks, struct hd_err *err) {
  uint64_t deaths = s->deaths;
  unsigned processes = s->processes;
  for (uint32_t i = 1; i < ranks; i++) {
    struct saved_head head;
    if (part[i].n < sizeof head) return hd_fail(err, HD_EENV, "--save %s: rank %u sent nothing", path, i);
    memcpy(&head, part[i].data, sizeof head);
    hd_session_add_part(s, &head.part);
  }
  int rc = hd__save_merged(s, path, part, ranks, err);
  s->part.n = 0;
  s->deaths = deaths;
  s->processes = processes;
  return rc;
}

/* ---- findings and counters ---- */

void hd_capture_put(const struct hd_capture *c, struct hd_str *out) {
  uint64_t n[3] = {c->nsteps, c->nvisible, c->max_length};
  hd_str_addn(out, (const char *)n, sizeof n);
  hd_str_addn(out, (const char *)c->rec, sizeof *c->rec);
  hd_str_addn(out, (const char *)&c->numbers, sizeof c->numbers);
  hd_str_addn(out, (const char *)c->step, c->nsteps * sizeof *c->step);
  hd_str_addn(out, (const char *)c->visible, c->nvisible * sizeof *c->visible);
}

void hd_session_found(struct hd_session *s, const char *data, size_t n) {
  uint64_t size[3];
  struct hd_capture c = {.rec = hd_alloc(sizeof *c.rec)};
  size_t fixed = sizeof size + sizeof *c.rec + sizeof c.numbers;
  if (n >= fixed) memcpy(size, data, sizeof size);
  if (n < fixed || size[0] > HD_FPATH_CAP || size[1] > HD_VISIBLE_CAP ||
      n != fixed + size[0] * sizeof *c.step + size[1] * sizeof *c.visible) {
    free(c.rec);
    return;
  }
  data += sizeof size;
  memcpy(c.rec, data, sizeof *c.rec);
  data += sizeof *c.rec;
  memcpy(&c.numbers, data, sizeof c.numbers);
  data += sizeof c.numbers;
  c.nsteps = size[0];
  c.nvisible = size[1];
  c.max_length = size[2];
  c.step = hd_alloc(c.nsteps * sizeof *c.step + 1);
  c.visible = hd_alloc(c.nvisible * sizeof *c.visible + 1);
  memcpy(c.step, data, c.nsteps * sizeof *c.step);
  memcpy(c.visible, data + c.nsteps * sizeof *c.step, c.nvisible * sizeof *c.visible);
  hd__session_handle(s, &c);
  hd_capture_fini(&c);
}

bool hd_session_has_finding(const struct hd_session *s) { return s->finding.n > 0; }

void hd_session_part(const struct hd_session *s, struct hd_part *out) {
  *out = (struct hd_part){hd__session_total(s), s->worker[0].control.shared->state_counts, s->deaths,
                          s->processes};
}

struct sample {
  unsigned *shift;
  uint64_t *out;
  size_t cap, n;
};

static int sample_states(struct hd_units *u, void *arg) {
  struct sample *a = arg;
  a->n = hd_states_sample(&u->search, a->shift, a->out, a->cap);
  return HD_DONE;
}

size_t hd_session_states(struct hd_session *s, unsigned *shift, uint64_t *out, size_t cap) {
  struct sample a = {shift, out, cap, 0};
  *shift = 0;
  const struct hd_config *c = &s->config.search;
  if (c->states == HD_REDUCE_YES || c->bound_kind) locked(s, sample_states, &a);
  return a.n;
}

void hd_session_add_part(struct hd_session *s, const struct hd_part *p) {
  hd_vec_push(&s->part, *p);
  s->deaths += p->deaths;
  s->processes += (unsigned)p->processes;
}

void hd_session_set_ranks(struct hd_session *s, const struct hd_ranks *r) { s->ranks = *r; }

void hd_session_counts(const struct hd_session *s, uint64_t *executions, uint64_t *events) {
  struct hd_status st = hd__session_total(s);
  *executions = st.executions + s->deaths;
  *events = st.events;
}

void hd_session_spend(struct hd_session *s) {
  __atomic_store_n(&s->worker[0].control.shared->spent, 1, __ATOMIC_RELEASE);
}

void hd_session_shape(const struct hd_session *s, struct hd_config *out) {
  const struct hd_status *good = &s->worker[0].control.good;
  out->restart = s->worker[0].control.ctl->status.restart;
  out->ngrown = good->ngrown < HD_MAX_GROWN ? (uint32_t)good->ngrown : HD_MAX_GROWN;
  memcpy(out->grown, good->grown, sizeof out->grown);
}
