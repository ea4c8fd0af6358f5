/* confirm.c: executes the orders of events that predictions ask for. Runs in the supervisor.
 *
 * It is a search like any other, so that what it finds is confirmed, minimised, stored and replayed in the usual way. Its
 * strategy keeps to orders of events (explore/strategy_wanted.c), which are written to the search memory before anything
 * runs. All memory that threads of the observed execution conflict on is visible from the start, since an order may switch
 * threads at any of these accesses. */
#include "session/confirm.h"
#include "model/depend.h"
#include "session/session_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1ull << 32) /* of the orders; more are not tried */
#define TRIALS 2               /* of a race or a deadlock ... */
#define TRIALS_MORE 6          /* ... and of what depends on how the execution goes on */
#define RECORDINGS 20          /* orders whose values are compared, of those that did not fail ... */
#define RECORD_SECONDS 2       /* ... each for so long at most ... */
#define RECORDED (1u << 20)    /* ... with so many accesses that are no scheduling points */
#define SEGMENT 1000           /* events before an access that are looked through for others of its thread */
#define LENGTH 4               /* an execution may be so many times as long as the observed one */

struct hd_confirm {
  struct hd_session *session;
  const struct hd_prediction *only; /* the order to write; NULL: all of them */
  struct hd_session_config config;
  struct hd_observed observed;
  const struct hd_predictions *predictions;
  uint32_t *entry;       /* of a thread of the trace in the table: the first thread comes first */
  size_t nthreads;       /* entries */
  HD_VEC(uint64_t) seen; /* entries of the visible area: granules of conflicts, and what is explored */
  size_t nplanned;       /* predictions that have an order, the first ones */
  struct hd_confirmation *result;
  size_t nresults; /* the predictions may grow later, for another round */
  struct hd_symbolizer *sym;
  unsigned recorded; /* orders whose values were compared */
};

/* Where the program was, by its address. */
static uint64_t pc_of(const struct hd_confirm *c, const struct hd_event *e) {
  return e->place ? c->observed.tables->place.v[e->place - 1].pc : e->op.pc;
}

/* ---- what is visible ---- */

struct touch {
  uint64_t granule;
  uint32_t thread;
  bool writes;
};

static int by_granule(const void *a, const void *b) {
  const struct touch *x = a, *y = b;
  if (x->granule != y->granule) return x->granule < y->granule ? -1 : 1;
  return (x->thread > y->thread) - (x->thread < y->thread);
}

/* The granules of memory that several threads access, one of them to change it. What the first thread does before it creates
 * another comes before all else in any order. */
static void find_conflicts(struct hd_confirm *c) {
  HD_VEC(struct touch) touch = {0};
  bool alone = true;
  for (size_t i = 0; i < c->observed.n; i++) {
    const struct hd_event *e = &c->observed.event[i];
    alone &= hd_op_effect(e->op.kind, e->flags) != HD_EFF_SPAWN;
    if (alone) continue;
    if (hd_op_object(e->op.kind) != HD_OBJ_MEMORY || !e->op.size || e->op.size > 4096) continue;
    bool writes = hd_op_does(e->op.kind, e->flags, HD_EFF_CHANGES);
    for (uint64_t g = e->op.object & ~7ull; g < e->op.object + e->op.size; g += 8)
      hd_vec_push(&touch, ((struct touch){g, e->op.thread, writes}));
  }
  if (touch.n) qsort(touch.v, touch.n, sizeof *touch.v, by_granule);
  for (size_t i = 0, k; i < touch.n; i = k) {
    bool writes = false;
    for (k = i; k < touch.n && touch.v[k].granule == touch.v[i].granule; k++) writes |= touch.v[k].writes;
    if (writes && touch.v[i].thread != touch.v[k - 1].thread && c->seen.n < HD_VISIBLE_CAP)
      hd_vec_push(&c->seen, touch.v[i].granule);
  }
  hd_vec_free(&touch);
}

/* ---- threads ---- */

/* Fills in who created whom. The first thread is the one that nobody created. */
static void find_threads(struct hd_confirm *c, struct hd_wanted_thread *out) {
  size_t n = c->observed.tables->thread.n, first = n;
  uint32_t *parent = hd_alloc(n * sizeof *parent), *nth = hd_alloc(n * sizeof *nth),
           *children = hd_alloc(n * sizeof *children);
  for (size_t i = 0; i < c->observed.n; i++) {
    const struct hd_event *e = &c->observed.event[i];
    if (hd_op_effect(e->op.kind, e->flags) != HD_EFF_SPAWN || e->op.object >= n || nth[e->op.object])
      continue;
    parent[e->op.object] = e->op.thread;
    nth[e->op.object] = ++children[e->op.thread];
  }
  for (size_t i = n; i-- > 0;)
    if (!nth[i]) first = i;
  c->entry = hd_alloc(n * sizeof *c->entry);
  for (size_t i = 0; i < n; i++) c->entry[i] = (uint32_t)(i == first ? 0 : i < first ? i + 1 : i);
  for (size_t i = 0; i < n; i++)
    out[c->entry[i]] = (struct hd_wanted_thread){nth[i] ? c->entry[parent[i]] : 0, nth[i]};
  free(parent);
  free(nth);
  free(children);
}

/* ---- orders ---- */

static uint64_t room(uint64_t *at, uint64_t bytes) {
  uint64_t here = *at;
  *at += (bytes + 63) & ~63ull;
  return here;
}

/* Adds an order of n events, of which the last `failure` are the failure. */
static void put_order(struct hd_confirm *c, char *memory, struct hd_wanted_order *o, uint64_t *at,
                      const uint32_t *event, size_t n, const uint32_t *more, size_t failure) {
  *o = (struct hd_wanted_order){.n = (uint32_t)(n + failure), .failure = (uint32_t)failure};
  o->at_event = room(at, o->n * 4ull);
  o->at_next = room(at, o->n * 4ull);
  o->at_first = room(at, c->nthreads * 4ull);
  uint32_t *events = (uint32_t *)(memory + o->at_event), *next = (uint32_t *)(memory + o->at_next),
           *first = (uint32_t *)(memory + o->at_first);
  for (size_t i = 0; i < c->nthreads; i++) first[i] = HD_WANTED_END;
  for (size_t i = 0; i < n; i++) events[i] = event ? event[i] : (uint32_t)i;
  for (size_t i = 0; i < failure; i++) events[n + i] = more[i];
  for (uint32_t i = o->n; i-- > 0;) {
    uint32_t *of = &first[c->entry[c->observed.event[events[i]].op.thread]];
    next[i] = *of;
    *of = i;
  }
}

static void put_prediction(struct hd_confirm *c, char *memory, struct hd_wanted_order *o, uint64_t *at,
                           const struct hd_prediction *p) {
  put_order(c, memory, o, at, p->order.v, p->order.n, p->event.v + p->late, p->event.n - p->late);
  bool soon = p->kind == HD_PREDICTED_RACE || p->kind == HD_PREDICTED_DEADLOCK;
  o->trials = soon ? TRIALS : TRIALS_MORE;
  o->swaps = p->kind == HD_PREDICTED_RACE;
  o->outcome = p->kind == HD_PREDICTED_OUTCOME ? p->outcome + 1 : 0;
}

/* Writes the tables and orders where the runtime reads them. */
static void prepare(void *arg, struct hd_control *control) {
  struct hd_confirm *c = arg;
  char *memory = (char *)control->shared + HD_SEARCH_MEMORY;
  struct hd_wanted *w = (struct hd_wanted *)memory;
  const struct hd_predictions *p = c->predictions;
  memcpy(hd_control_area(control, HD_SHM_VISIBLE), c->seen.v, c->seen.n * sizeof *c->seen.v);
  uint64_t at = HD_WANTED_ARRAYS;
  w->nevents = c->observed.n;
  w->at_threads = room(&at, c->nthreads * sizeof(struct hd_wanted_thread));
  w->at_events = room(&at, c->observed.n * sizeof(struct hd_wanted_event));
  w->at_orders = room(&at, (p->v.n + 1) * sizeof(struct hd_wanted_order));
  free(c->entry);
  find_threads(c, (struct hd_wanted_thread *)(memory + w->at_threads));
  struct hd_wanted_event *event = (struct hd_wanted_event *)(memory + w->at_events);
  for (size_t i = 0; i < c->observed.n; i++) {
    const struct hd_event *e = &c->observed.event[i];
    event[i] = (struct hd_wanted_event){.pc = pc_of(c, e),
                                        .object = e->op.object,
                                        .choice = e->choice,
                                        .nchoices = e->nchoices,
                                        .thread = (uint16_t)c->entry[e->op.thread],
                                        .kind = e->op.kind,
                                        .plain = (e->flags & HD_EV_PLAIN) != 0};
  }
  struct hd_wanted_order *o = (struct hd_wanted_order *)(memory + w->at_orders);
  w->nthreads = (uint32_t)c->nthreads;
  w->norders = 1;
  if (c->only) {
    put_prediction(c, memory, o, &at, c->only);
    return;
  }
  put_order(c, memory, o, &at, NULL, c->observed.n, NULL, 0);
  o->trials = 1;
  for (c->nplanned = 0; c->nplanned < p->v.n && at < MAX_BYTES; c->nplanned++)
    put_prediction(c, memory, ++o, &at, &p->v.v[c->nplanned]);
  w->norders += (uint32_t)c->nplanned;
}

/* ---- what a finding was predicted from ---- */

#define SHOWN 12 /* events of the failing threads that are shown, at most */

static const struct hd_wanted_order *order_at(const struct hd_confirm *c, size_t i) {
  const char *memory = (const char *)c->session->worker[0].control.shared + HD_SEARCH_MEMORY;
  return (const struct hd_wanted_order *)(memory + ((const struct hd_wanted *)memory)->at_orders) + i;
}

/* The order that the execution of the finding kept to. */
static size_t order_of(const struct hd_confirm *c, const struct hd_finding *f) {
  size_t i = c->nplanned;
  while (i > 0 && (!order_at(c, i)->first || order_at(c, i)->first > f->execution)) i--;
  return i;
}

static bool is_failing(const struct hd_confirm *c, const struct hd_prediction *p, uint32_t event) {
  const struct hd_event *e = c->observed.event;
  for (size_t i = 0; i < p->event.n; i++)
    if (e[p->event.v[i]].op.thread == e[event].op.thread) return true;
  return false;
}

/* Whether it matters beside the failing events: it takes or releases something, or they access the same. */
static bool is_shown(const struct hd_confirm *c, const struct hd_prediction *p, uint32_t event) {
  const struct hd_event *e = c->observed.event, *x = &e[event];
  if (!is_failing(c, p, event) || hd_op_is(x->op.kind, HD_TRAIT_DECIDES)) return false;
  for (size_t i = 0; i < p->event.n; i++)
    if (e[p->event.v[i]].op.object == x->op.object) return true;
  return hd_op_object(x->op.kind) != HD_OBJ_MEMORY && hd_op_object(x->op.kind) != HD_OBJ_THREAD;
}

static char *list_events(const struct hd_confirm *c, const uint32_t *event, size_t n,
                         struct hd_symbolizer *sym) {
  struct hd_str out;
  hd_str_init(&out);
  for (size_t i = 0; i < n; i++) {
    if (i) hd_str_addc(&out, '\n');
    const struct hd_event *e = &c->observed.event[event[i]];
    char *name = e->op.object && hd_op_object(e->op.kind) != HD_OBJ_THREAD
                     ? hd_symbolize_object(sym, e->op.object)
                     : NULL;
    hd_tr_describe_named(&out, c->observed.tables, e, name);
    free(name);
  }
  return hd_str_take(&out);
}

static int by_event(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void describe(void *arg, struct hd_finding *f, struct hd_symbolizer *sym) {
  struct hd_confirm *c = arg;
  size_t order = order_of(c, f), n = 0;
  if (!order) return; /* the observed execution itself fails */
  const struct hd_prediction *p = &c->predictions->v.v[order - 1];
  uint32_t shown[SHOWN + HD_MAX_THREADS];
  size_t last = p->event.n - p->late;
  if (last > HD_MAX_THREADS) return;
  for (size_t i = p->order.n; i-- > 0 && n < SHOWN;)
    if (is_shown(c, p, p->order.v[i])) shown[n++] = p->order.v[i];
  for (size_t i = 0; i < n / 2; i++) {
    uint32_t t = shown[i];
    shown[i] = shown[n - 1 - i];
    shown[n - 1 - i] = t;
  }
  for (size_t i = 0; i < last; i++) shown[n++] = p->event.v[p->late + i];
  f->predicted = list_events(c, shown, n, sym);
  qsort(shown, n, sizeof *shown, by_event);
  f->observed = list_events(c, shown, n, sym);
}

/* ---- the search ---- */

int hd_confirm_new(struct hd_confirm **out, const struct hd_session_config *config,
                   const struct hd_session_events *events, const struct hd_observed *observed,
                   const struct hd_predictions *p, struct hd_err *err) {
  struct hd_confirm *c = *out = hd_alloc(sizeof *c);
  c->config = *config;
  c->observed = *observed;
  c->predictions = p;
  c->nthreads = observed->tables->thread.n;
  c->nresults = p->v.n;
  c->result = hd_alloc(c->nresults * sizeof *c->result);
  if (c->nthreads > HD_MAX_THREADS)
    return hd_fail(err, HD_EUSAGE, "the trace has %zu threads; at most %d can be run", c->nthreads,
                   HD_MAX_THREADS);
  bool placed = p->v.n == 0;
  for (size_t i = 0; i < observed->n && !placed; i++) placed = pc_of(c, &observed->event[i]) != 0;
  if (!placed)
    return hd_fail(
        err, HD_EUSAGE,
        "the trace has no places in the code, so its predictions cannot be executed; leave out the program");
  struct hd_config *s = &c->config.search;
  if (!s->one_phase) hd_vec_push(&c->seen, HD_VISIBLE_SPURIOUS);
  find_conflicts(c);
  s->mode = HD_MODE_CHECK;
  s->workers = 1;
  s->all = 1;
  s->one_phase = 1;
  s->checkpoint = HD_CHECKPOINT_NEVER;
  s->may_switch = s->states = s->symmetry = s->classes = s->bound_kind = 0;
  s->max_executions = 0;
  s->visible = c->seen.n;
  if (s->max_length < LENGTH * observed->n) s->max_length = LENGTH * observed->n;
  snprintf(s->strategy, sizeof s->strategy, "%s", HD_WANTED_NAME);
  c->config.prepare = prepare;
  c->config.prepare_arg = c;
  c->config.describe = describe;
  c->config.save = c->config.resume = NULL;
  return hd_session_new(&c->session, &c->config, events, err);
}

/* ---- results ---- */

/* Source locations of the program. */
static void locate(struct hd_confirm *c, uint64_t pc, struct hd_frames *out) {
  const struct hd_control *control = &c->session->worker[0].control;
  size_t n = hd_control_sane(control) ? control->ctl->status.nmodules : 0;
  if (!c->sym)
    c->sym =
        hd_symbolizer_new(control->ctl->module, n, c->session->command.program.path, c->session->command.cwd);
  hd_symbolize_pc(c->sym, pc, false, out);
}

static void add_place(struct hd_confirm *c, struct hd_str *out, uint64_t pc) {
  struct hd_frames f = {0};
  locate(c, pc, &f);
  if (f.n && f.v[0].file && f.v[0].line)
    hd_str_addf(out, " at %s:%d", f.v[0].file, f.v[0].line);
  else
    hd_str_addf(out, " at %#llx", (unsigned long long)pc);
  hd_frames_free(&f);
}

/* Whether one of the findings' places is that line. */
static bool has_place(struct hd_confirm *c, const struct hd_finding *f, uint64_t pc) {
  struct hd_frames at = {0};
  locate(c, pc, &at);
  bool found = false;
  for (size_t i = 0; i < f->nplaces && !found; i++) {
    const struct hd_frames *s = &f->place[i].stack;
    if (!s->n) continue;
    const struct hd_frame *top = &s->v[0];
    found = top->pc == pc || (at.n && at.v[0].file && top->file && at.v[0].line == top->line &&
                              strcmp(at.v[0].file, top->file) == 0);
  }
  hd_frames_free(&at);
  return found;
}

#define BIT(kind) (1ull << (kind))

/* The kinds of findings that the prediction may become. */
static uint64_t kinds_of(const struct hd_prediction *p) {
  switch (p->kind) {
    case HD_PREDICTED_RACE: return BIT(HD_KIND_DATA_RACE);
    case HD_PREDICTED_DEADLOCK:
      return BIT(HD_KIND_DEADLOCK) | BIT(HD_KIND_LOST_WAKEUP) | BIT(HD_KIND_LIVELOCK);
    default: return ~BIT(HD_KIND_DATA_RACE);
  }
}

static bool is_kind(const struct hd_prediction *p, const struct hd_finding *f) {
  return kinds_of(p) >> f->kind & 1;
}

/* Whether one of the finding's places is that of the access. Of several accesses of a thread that nothing of its own
 * comes between, the runtime names the first: each stands for the others. */
static bool has_access(struct hd_confirm *c, const struct hd_finding *f, uint32_t event) {
  const struct hd_event *all = c->observed.event, *e = &all[event];
  if (has_place(c, f, pc_of(c, e))) return true;
  for (uint32_t i = event, steps = 0; i-- > 0 && steps < SEGMENT; steps++) {
    if (all[i].op.thread != e->op.thread) continue;
    if (hd_op_object(all[i].op.kind) != HD_OBJ_MEMORY || hd_op_is(all[i].op.kind, HD_TRAIT_ATOMIC)) break;
    if (hd_ops_overlap(&all[i].op, &e->op) && has_place(c, f, pc_of(c, &all[i]))) return true;
  }
  return false;
}

/* Whether the finding is what was predicted, whichever execution it came from. */
static bool is_predicted(struct hd_confirm *c, const struct hd_prediction *p, const struct hd_finding *f) {
  if (!is_kind(p, f)) return false;
  for (size_t i = 0; i < p->event.n; i++) {
    bool race = p->kind == HD_PREDICTED_RACE;
    if (!(race ? has_access(c, f, p->event.v[i])
               : has_place(c, f, pc_of(c, &c->observed.event[p->event.v[i]]))))
      return false;
  }
  return p->event.n > 0;
}

static void add_operation(struct hd_confirm *c, struct hd_str *out, unsigned kind, uint64_t pc) {
  hd_str_add(out, kind < HD_OP_COUNT ? hd_op_text(kind) : "do something");
  if (pc) add_place(c, out, pc);
}

/* ---- values that were read ---- */

bool hd_confirm_record(struct hd_confirm *c, const struct hd_prediction *p, struct hd_rerun *run) {
  struct hd_err err;
  struct hd_config config = c->config.search;
  config.mode = HD_MODE_RUN;
  config.restart = HD_RESTART_MEMORY;
  config.max_executions = config.detail = 1;
  config.ignore |= 1ull << HD_KIND_DATA_RACE; /* the execution goes on */
  config.plain = RECORDED;
  c->only = p;
  int rc = hd_rerun_prepared(&c->session->command, &config, prepare, c, &c->session->input,
                             c->config.hang_timeout, RECORD_SECONDS, run, &err);
  c->only = NULL;
  if (rc != HD_OK) return false;
  if (hd_control_sane(&run->control)) return true;
  hd_rerun_fini(run);
  return false;
}

int hd_confirm_check(struct hd_confirm *c, const char *trace, struct hd_err *err) {
  struct hd_rerun run;
  if (!hd_confirm_record(c, c->predictions->v.n ? &c->predictions->v.v[0] : NULL, &run)) return HD_OK;
  struct hd_symbolizer *sym = hd_rerun_symbolizer(&run, &c->session->command);
  const struct hd_tr_tables *t = c->observed.tables;
  int rc = HD_OK;
  for (size_t i = 0; i < t->place.n && rc == HD_OK; i++) {
    const struct hd_tr_place *p = &t->place.v[i];
    struct hd_frames f = {0};
    if (p->pc && p->file && p->line) hd_symbolize_pc(sym, p->pc, false, &f);
    const struct hd_frame *at = f.n && f.v[0].file && f.v[0].line > 0 ? &f.v[0] : NULL;
    if (at && ((uint32_t)at->line != p->line || strcmp(hd_base_name(at->file), hd_base_name(p->file)) != 0))
      rc = hd_fail(
          err, HD_EUSAGE, "%s is not of this build of %s: %s:%u there is %s:%d here; record it again", trace,
          c->session->command.argv[0], hd_base_name(p->file), p->line, hd_base_name(at->file), at->line);
    hd_frames_free(&f);
  }
  hd_symbolizer_free(sym);
  hd_rerun_fini(&run);
  return rc;
}

/* The next event of the thread from `at` on that is kept; n: there is none. */
static size_t next_of(const struct hd_event *event, size_t n, size_t at, unsigned thread) {
  while (at < n && event[at].op.thread != thread) at++;
  return at;
}

/* Compares what a thread read, as long as it does the same. Returns the observed event whose value is another one, and in
 * *value that; NULL: none. */
static const struct hd_event *first_difference(const struct hd_confirm *c, unsigned thread,
                                               const struct hd_event *event, size_t n, unsigned other,
                                               uint64_t *value) {
  const struct hd_observed *o = &c->observed;
  size_t i = next_of(o->event, o->n, 0, thread), k = next_of(event, n, 0, other);
  while (i < o->n && k < n) {
    const struct hd_event *a = &o->event[i], *b = &event[k];
    if (a->op.kind == b->op.kind && (!b->op.pc || pc_of(c, a) == b->op.pc)) {
      bool both = a->flags & b->flags & HD_EV_VALUE;
      if (both && hd_event_sees(a) && a->value != b->value) {
        *value = b->value;
        return a;
      }
      k = next_of(event, n, k + 1, other);
    } else if (!(a->flags & HD_EV_PLAIN)) {
      return NULL;
    }
    i = next_of(o->event, o->n, i + 1, thread);
  }
  return NULL;
}

/* Adds that the thread of `e` read another value before it went elsewhere, if it did. */
static void add_value(struct hd_confirm *c, struct hd_str *out, const struct hd_prediction *p,
                      const struct hd_event *e) {
  struct hd_rerun run;
  if (c->recorded++ >= RECORDINGS || !hd_confirm_record(c, p, &run)) return;
  size_t got;
  struct hd_err err;
  struct hd_event *event = NULL;
  struct hd_tr_source *s = hd_rerun_trace(&run, &c->session->command, false, false);
  const char *name = c->observed.tables->thread.v[e->op.thread].name;
  unsigned other = 0;
  while (other < s->tables->thread.n && strcmp(s->tables->thread.v[other].name, name) != 0) other++;
  if (other < s->tables->thread.n && hd_tr_collect(s, &event, &got, &err) == HD_OK) {
    uint64_t now = 0;
    const struct hd_event *read = first_difference(c, e->op.thread, event, got, other, &now);
    if (read) {
      hd_str_add(out, "; another value was read: ");
      hd_tr_describe(out, c->observed.tables, read);
      hd_str_add(out, " was ");
      hd_tr_value(out, read->value, read->op.size);
      hd_str_add(out, " and is now ");
      hd_tr_value(out, now, read->op.size);
    }
  }
  free(event);
  hd_tr_close(s);
  hd_rerun_fini(&run);
}

/* Why the order did not fail. */
static char *explain(struct hd_confirm *c, const struct hd_prediction *p, const struct hd_wanted_order *o) {
  struct hd_str out;
  hd_str_init(&out);
  const struct hd_stray *s = &o->stray;
  uint64_t k = s->position ? s->position - 1 : 0;
  if (s->position && !o->arrived && k < p->order.n + p->event.n - p->late) {
    const struct hd_event *e =
        &c->observed.event[k < p->order.n ? p->order.v[k] : p->event.v[p->late + k - p->order.n]];
    const char *name = c->observed.tables->thread.v[e->op.thread].name;
    if (s->kind == HD_OP_NONE || s->kind >= HD_OP_COUNT)
      hd_str_addf(&out, "%s never came to ", name);
    else
      hd_str_add(&out, s->blocked ? "an event never came: " : "the program went elsewhere: ");
    if (s->kind != HD_OP_NONE && s->kind < HD_OP_COUNT) {
      hd_str_addf(&out, "%s was about to ", name);
      add_operation(c, &out, s->kind, s->pc);
      hd_str_add(&out, s->blocked ? ", which had to wait, before " : " instead of ");
    }
    add_operation(c, &out, e->op.kind, pc_of(c, e));
    add_value(c, &out, p, e);
  } else if (p->kind == HD_PREDICTED_RACE) {
    hd_str_add(&out, "both accesses were made, but something orders them");
  } else if (p->kind == HD_PREDICTED_DEADLOCK) {
    hd_str_add(&out, "every thread could go on");
  } else {
    hd_str_add(&out, "the order was kept to, and nothing failed");
  }
  return hd_str_take(&out);
}

static void judge(struct hd_confirm *c, size_t i) {
  struct hd_confirmation *r = &c->result[i];
  const struct hd_prediction *p = &c->predictions->v.v[i];
  const struct hd_summary *sum = hd_session_summary(c->session);
  const struct hd_wanted_order *o = i < c->nplanned ? order_at(c, i + 1) : NULL;
  *r = (struct hd_confirmation){.result = HD_CONFIRM_UNTRIED};
  for (size_t k = 0; k < sum->nfindings && r->result != HD_CONFIRM_YES; k++) {
    const struct hd_finding *f = sum->findings[k];
    bool own = o && order_of(c, f) == i + 1, same = is_predicted(c, p, f);
    bool free_form = p->kind != HD_PREDICTED_RACE && is_kind(p, f);
    enum hd_confirm_result now = own && (same || free_form) ? HD_CONFIRM_YES
                                 : same                     ? HD_CONFIRM_KNOWN
                                 : own                      ? HD_CONFIRM_OTHER
                                                            : HD_CONFIRM_UNTRIED;
    if (now < r->result) r->result = now, r->finding = f;
  }
  if (r->finding) return;
  /* A failure that was found before is no finding of this search. Known races are met in many orders, and another order of
   * accesses predicts no failure. */
  bool failure =
      p->kind != HD_PREDICTED_RACE && p->kind != HD_PREDICTED_ORDER && p->kind != HD_PREDICTED_OUTCOME;
  if (o && failure && (o->kinds & kinds_of(p))) {
    r->result = HD_CONFIRM_KNOWN;
    return;
  }
  if (!o || !o->tried) {
    r->why =
        hd_strdup(!o ? "not tried: the orders of the others are too long" : "not tried: the time was over");
    return;
  }
  r->result = HD_CONFIRM_NO;
  r->why = explain(c, p, o);
}

int hd_confirm_run(struct hd_confirm *c, struct hd_err *err) {
  int rc = hd_session_run(c->session, err);
  if (rc == HD_OK)
    for (size_t i = 0; i < c->nresults; i++) judge(c, i);
  return rc;
}

const struct hd_session *hd_confirm_session(const struct hd_confirm *c) { return c->session; }

const struct hd_confirmation *hd_confirm_result(const struct hd_confirm *c, size_t prediction) {
  return &c->result[prediction];
}

const struct hd_command *hd_confirm_command(const struct hd_confirm *c) { return &c->session->command; }

void hd_confirm_free(struct hd_confirm *c) {
  if (!c) return;
  for (size_t i = 0; i < c->nresults; i++) free(c->result[i].why);
  hd_symbolizer_free(c->sym);
  hd_session_free(c->session);
  hd_vec_free(&c->seen);
  free(c->result);
  free(c->entry);
  free(c);
}

/* ---- words ---- */

static const char *const kind_name[HD_PREDICTED_KINDS] = {
    [HD_PREDICTED_RACE] = "data-race",       [HD_PREDICTED_DEADLOCK] = "deadlock",
    [HD_PREDICTED_NULL] = "null-read",       [HD_PREDICTED_FREED] = "use-after-free",
    [HD_PREDICTED_ATOMICITY] = "atomicity",  [HD_PREDICTED_ORDER] = "order",
    [HD_PREDICTED_UNSET] = "unset-read",     [HD_PREDICTED_INDEX] = "index",
    [HD_PREDICTED_SIGNAL] = "missed-signal", [HD_PREDICTED_OUTCOME] = "outcome",
};
static const char *const kind_title[HD_PREDICTED_KINDS] = {
    [HD_PREDICTED_RACE] = "data race",
    [HD_PREDICTED_DEADLOCK] = "deadlock",
    [HD_PREDICTED_NULL] = "null read",
    [HD_PREDICTED_FREED] = "use of freed memory",
    [HD_PREDICTED_ATOMICITY] = "atomicity violation",
    [HD_PREDICTED_ORDER] = "failure in another order",
    [HD_PREDICTED_UNSET] = "read before it is set",
    [HD_PREDICTED_INDEX] = "index out of range",
    [HD_PREDICTED_SIGNAL] = "missed signal",
    [HD_PREDICTED_OUTCOME] = "failure with another outcome",
};

const char *hd_prediction_name(const struct hd_prediction *p) { return kind_name[p->kind]; }

void hd_prediction_text(struct hd_str *out, const struct hd_observed *o, const struct hd_prediction *p) {
  hd_str_addf(out, "%s: ", kind_title[p->kind]);
  for (size_t i = 0; i < p->event.n; i++) {
    if (i) hd_str_add(out, i + 1 < p->event.n ? ", " : p->event.n > 2 ? ", and " : " and ");
    hd_tr_describe(out, o->tables, &o->event[p->event.v[i]]);
  }
}
