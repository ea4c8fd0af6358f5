/* driven.c: inputs and schedules together, as a driver (concolic/concolic.h) chooses them. Runs in the supervisor.
 *
 * Each execution is a process that follows a plan (explore/strategy_plan.c) with the inputs of the plan, and logs what it
 * reads, writes and decides. Before the next one its log becomes events for the search.
 *
 * Invariants
 *  1. A read is a symbol only where memory is visible from the start of the process. When an execution shows that threads
 *     share more, the search restarts with that memory visible, too: what it knew is about other events.
 *  2. A finding is handled while the inputs of its execution are in place. */
#include "abi/plan.h"
#include "concolic/concolic.h"
#include "session/session_int.h"
#include "symbolic/import.h"

#include <stdlib.h>
#include <string.h>

#define QUERY_SECONDS 20

struct granule {
  uint64_t at;
  uint64_t readers, writers; /* threads */
};

struct driven {
  struct hd_session *s;
  struct hd_exprs *x;
  struct hd_import *import;
  struct hd_solver *solver;
  struct hd_cc *search;
  struct hd_cc_options options;
  HD_VEC(uint64_t) visible;
  HD_VEC(struct granule) granule; /* sorted by address */
  HD_VEC(struct hd_cc_event) event;
  uint64_t unordered[HD_MAX_THREADS]; /* an operation whose effect on the order is not known; 0: none */
  HD_VEC(hd_expr_ref) same;           /* of symbols: the symbol of the same read, which was logged before */
  unsigned rounds;                    /* how often the search began */
  struct hd__races *races;            /* NULL: not looked for */
};

/* ---- which memory is shared ---- */

static struct granule *granule_of(struct driven *b, uint64_t at) {
  size_t from = 0, to = b->granule.n;
  while (from < to) {
    size_t mid = (from + to) / 2;
    if (b->granule.v[mid].at < at)
      from = mid + 1;
    else
      to = mid;
  }
  if (from < b->granule.n && b->granule.v[from].at == at) return &b->granule.v[from];
  hd_vec_push(&b->granule, ((struct granule){0}));
  memmove(&b->granule.v[from + 1], &b->granule.v[from], (b->granule.n - 1 - from) * sizeof *b->granule.v);
  b->granule.v[from] = (struct granule){.at = at};
  return &b->granule.v[from];
}

static bool is_visible(const struct driven *b, uint64_t at) {
  for (size_t i = 0; i < b->visible.n; i++)
    if (b->visible.v[i] == at) return true;
  return false;
}

/* Notes who accesses what, over all executions. Returns whether memory that is not visible is shared. */
static bool learn(struct driven *b, const struct hd_event *event, size_t n) {
  bool more = false, alone = true; /* no thread was created yet */
  for (size_t i = 0; i < n; i++) {
    const struct hd_event *e = &event[i];
    if (hd_op_effect(e->op.kind, e->flags) == HD_EFF_SPAWN) alone = false;
    if (alone || hd_op_object(e->op.kind) != HD_OBJ_MEMORY || !e->op.size || e->op.size > 4096) continue;
    uint64_t bit = 1ull << (e->op.thread & 63);
    for (uint64_t at = e->op.object & ~7ull; at < e->op.object + e->op.size; at += 8) {
      struct granule *g = granule_of(b, at);
      g->readers |= bit;
      if (hd_op_does(e->op.kind, e->flags, HD_EFF_CHANGES)) g->writers |= bit;
      bool shared = g->writers && (g->readers & (g->readers - 1));
      if (!shared || is_visible(b, at) || b->visible.n >= HD_VISIBLE_CAP) continue;
      hd_vec_push(&b->visible, at);
      more = true;
    }
  }
  const struct hd_control *c = &b->s->worker[0].control;
  const uint64_t *known = hd_control_area(c, HD_SHM_VISIBLE);
  for (uint64_t i = 0; i < c->ctl->status.visible_count && i < HD_VISIBLE_CAP; i++)
    if (!is_visible(b, known[i])) {
      hd_vec_push(&b->visible, known[i]);
      more = true;
    }
  return more;
}

/* ---- from a log to events ---- */

static hd_expr_ref import(struct driven *b, const struct hd_expr *table, size_t n, uint32_t number) {
  hd_expr_ref e = number ? hd_import_node(b->import, table, n, number) : 0;
  return e && b->same.n ? hd_expr_substitute(b->x, e, b->same.v, b->same.n) : e;
}

/* One operation that is logged as two reads, as an atomic load is by the code and by the function that it calls: they read
 * the same. */
static bool read_again(struct driven *b, const struct hd_symbolic_record *r, hd_expr_ref e, bool step) {
  const struct hd_cc_event *last = b->event.n ? &b->event.v[b->event.n - 1] : NULL;
  if (step || !last || last->kind != HD_CC_READ || last->thread != r->thread || last->object != r->addr ||
      last->size != r->size || hd_expr_node(b->x, e)->op != HD_EXPR_INPUT)
    return false;
  uint32_t symbol = (uint32_t)hd_expr_node(b->x, e)->value;
  while (b->same.n <= symbol) hd_vec_push(&b->same, 0);
  b->same.v[symbol] = last->expr;
  return true;
}

/* What a thread does after an operation whose effect on the order is not known may depend on it. At the end of an
 * execution that fails, nothing comes after it. */
static void add(struct driven *b, const struct hd_cc_event *e) {
  if (e->kind != HD_CC_OTHER && b->unordered[e->thread]) {
    hd_inexact_note(b->s->past.inexact, HD_INEXACT_NOT_ORDERED, b->unordered[e->thread]);
    b->unordered[e->thread] = 0;
  }
  hd_vec_push(&b->event, *e);
}

static void add_branch(struct driven *b, const struct hd_symbolic_record *r, const struct hd_expr *table,
                       size_t n) {
  hd_expr_ref e = import(b, table, n, r->expr);
  if (e && hd_expr_width(b->x, e) != 1) e = 0;
  hd_expr_ref other = e ? hd_expr_not(b->x, e) : 0;
  if (e && !r->value) {
    hd_expr_ref swap = e;
    e = other;
    other = swap;
  }
  hd__concrete_note(b->s, r->site, r->why);
  bool program = r->why == HD_WHY_BRANCH || r->why == HD_WHY_CASE;
  bool fixed = r->why == HD_WHY_RANGE || r->why == HD_WHY_ASSUME;
  uint64_t always;
  if (!e) {
    hd_inexact_note(b->s->past.inexact, HD_INEXACT_NOT_REALIZED, r->site);
    return;
  }
  if (hd_expr_is_const(b->x, e, &always)) {
    if (!always) hd_inexact_note(b->s->past.inexact, HD_INEXACT_NOT_REALIZED, r->site);
    if (!program) return;
  }
  add(b, &(struct hd_cc_event){.kind = HD_CC_BRANCH,
                               .taken = (r->value != 0) != r->negated,
                               .fixed = fixed,
                               .counts = program,
                               .thread = (uint16_t)r->thread,
                               .site = r->site,
                               .expr = e,
                               .other = other});
}

/* What holds for an input that has a range. */
static void add_range(struct driven *b, const struct hd_symbolic_record *r, const struct hd_expr *table,
                      size_t n, const struct hd_symbolic *sym) {
  hd_expr_ref e = import(b, table, n, r->expr);
  if (!e || r->addr >= sym->ninputs || r->addr >= HD_MAX_INPUTS) return;
  const struct hd_symbolic_input *in = &sym->input[r->addr];
  if (!(in->flags & HD_INPUT_RANGE) || hd_expr_width(b->x, e) != 8 * in->size) return;
  hd_expr_ref wide = in->flags & HD_INPUT_SIGNED ? hd_expr_sext(b->x, 64, e) : hd_expr_zext(b->x, 64, e);
  hd_expr_ref limit[2] = {
      hd_expr_binary(b->x, HD_EXPR_SLE, hd_expr_const(b->x, 64, (uint64_t)in->lo), wide),
      hd_expr_binary(b->x, HD_EXPR_SLE, wide, hd_expr_const(b->x, 64, (uint64_t)in->hi)),
  };
  add(b, &(struct hd_cc_event){.kind = HD_CC_BRANCH,
                               .taken = 1,
                               .fixed = 1,
                               .thread = (uint16_t)r->thread,
                               .site = r->site,
                               .expr = hd_expr_all(b->x, limit, 2)});
}

static void add_access(struct driven *b, const struct hd_symbolic_record *r, const struct hd_expr *table,
                       size_t n, bool step) {
  bool reads = r->kind == HD_RECORD_READ;
  unsigned width = 8u * r->size;
  hd_expr_ref e = import(b, table, n, r->expr);
  if (reads && e && read_again(b, r, e, step)) return;
  if (!e || hd_expr_width(b->x, e) != width) {
    if (reads || r->expr) hd_inexact_note(b->s->past.inexact, HD_INEXACT_NOT_REALIZED, r->site);
    if (reads) return;
    e = hd_expr_const(b->x, width, r->value);
  }
  add(b, &(struct hd_cc_event){.kind = reads ? HD_CC_READ : HD_CC_WRITE,
                               .size = r->size,
                               .step = step,
                               .thread = (uint16_t)r->thread,
                               .object = r->addr,
                               .site = r->site,
                               .expr = e,
                               .value = hd_bits(width, r->value)});
}

/* What drivers make of an operation that is no access, by what it does to a mutex or a thread. Returns
 * whether it knows. A LOCK that fails and the like order nothing. */
static bool order_of(const struct hd_event *e, uint8_t *kind) {
  static const struct {
    uint8_t object, effect, kind;
  } known[] = {
      {HD_OBJ_MUTEX, HD_EFF_ACQUIRE, HD_CC_LOCK},  {HD_OBJ_MUTEX, HD_EFF_RELEASE, HD_CC_UNLOCK},
      {HD_OBJ_MUTEX, HD_EFF_INIT, HD_CC_OTHER},    {HD_OBJ_MUTEX, HD_EFF_DESTROY, HD_CC_OTHER},
      {HD_OBJ_THREAD, HD_EFF_SPAWN, HD_CC_CREATE}, {HD_OBJ_THREAD, HD_EFF_BEGIN, HD_CC_OTHER},
      {HD_OBJ_THREAD, HD_EFF_JOIN, HD_CC_JOIN},    {HD_OBJ_THREAD, HD_EFF_FINISH, HD_CC_END},
      {HD_OBJ_NONE, HD_EFF_END, HD_CC_OTHER},
  };
  *kind = HD_CC_OTHER;
  if (e->op.kind == HD_OP_NOTE) return true;
  if (hd_op_is(e->op.kind, HD_TRAIT_TRIES | HD_TRAIT_TIMED)) return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (hd_op_object(e->op.kind) == known[i].object && hd_op_effect(e->op.kind, 0) == known[i].effect) {
      if (!(e->flags & HD_EV_FAILED)) *kind = known[i].kind;
      return true;
    }
  return false;
}

/* Operations that are no accesses. */
static void add_operation(struct driven *b, const struct hd_event *e) {
  struct hd_cc_event out = {.step = 1, .thread = e->op.thread, .object = e->op.object, .site = e->op.pc};
  bool known = order_of(e, &out.kind);
  if (out.kind == HD_CC_CREATE || out.kind == HD_CC_JOIN) out.child = (uint16_t)e->op.object;
  add(b, &out);
  if (!known) b->unordered[e->op.thread] = e->op.pc;
}

static bool is_step(const struct hd_event *e) {
  return !(e->flags & HD_EV_PLAIN) && !hd_op_is(e->op.kind, HD_TRAIT_UNSCHEDULED);
}

static bool is_access(const struct hd_event *e) {
  return hd_op_object(e->op.kind) == HD_OBJ_MEMORY && e->op.kind != HD_OP_FREE;
}

/* Merges the operations with the log of accesses and conditions: a record belongs after the operations that were executed
 * before it. An access's operation is where its first record is. */
static void load(struct driven *b, const struct hd_event *event, size_t n) {
  const struct hd_control *c = &b->s->worker[0].control;
  const struct hd_symbolic *sym = hd_control_symbolic(c);
  const struct hd_symbolic_record *log = hd_control_area(c, HD_SHM_RECORDS);
  const struct hd_expr *table = hd_control_area(c, HD_SHM_EXPRS);
  size_t nlog = sym->nlog < HD_MAX_RECORDS ? sym->nlog : HD_MAX_RECORDS, k = 0;
  size_t nexprs = sym->nexprs < HD_MAX_EXPRS ? sym->nexprs : HD_MAX_EXPRS;
  bool *pending = hd_alloc(HD_MAX_THREADS * sizeof *pending); /* the thread's access has no record yet */
  uint64_t *site = hd_alloc(HD_MAX_THREADS * sizeof *site);
  b->event.n = b->same.n = 0;
  memset(b->unordered, 0, sizeof b->unordered);
  for (size_t i = 0; i <= n; i++) {
    for (; k < nlog && log[k].point <= i; k++) {
      const struct hd_symbolic_record *r = &log[k];
      if (r->thread >= HD_MAX_THREADS) continue;
      if (r->kind == HD_RECORD_INPUT) add_range(b, r, table, nexprs, sym);
      if (r->kind == HD_RECORD_CONDITION) add_branch(b, r, table, nexprs);
      if (r->kind == HD_RECORD_READ || r->kind == HD_RECORD_WRITE) {
        add_access(b, r, table, nexprs, pending[r->thread]);
        pending[r->thread] = false;
      }
    }
    if (i == n) break;
    const struct hd_event *e = &event[i];
    if (!is_step(e) || e->op.thread >= HD_MAX_THREADS) continue;
    unsigned t = e->op.thread;
    if (pending[t]) { /* an access of code without shadows */
      add(b, &(struct hd_cc_event){.kind = HD_CC_OTHER, .step = 1, .thread = (uint16_t)t, .site = site[t]});
      b->unordered[t] = site[t];
    }
    pending[t] = is_access(e);
    site[t] = e->op.pc;
    if (!pending[t]) add_operation(b, e);
  }
  free(pending);
  free(site);
}

/* ---- executions ---- */

/* The lowest value that is allowed for an input nobody asked anything about. */
static uint64_t allowed(const struct hd_symbolic_input *in, uint64_t value) {
  unsigned up = 64 - 8 * (in->size < 8 ? in->size : 8);
  int64_t v = (int64_t)(value << up) >> up;
  if (!(in->flags & HD_INPUT_SIGNED)) v = (int64_t)value;
  return in->flags & HD_INPUT_RANGE && (v < in->lo || v > in->hi) ? (uint64_t)in->lo : value;
}

/* A symbol that the solver does not mention is 0, unless its input has a range without 0. */
static void write_inputs(const struct driven *b, struct hd_symbolic *sym, const struct hd_values *values) {
  for (uint32_t i = 0; i < sym->ninputs && i < HD_MAX_INPUTS; i++) {
    const struct hd_symbolic_input *in = &sym->input[i];
    for (uint32_t k = 0; k < in->size && in->at + k < HD_MAX_INPUT_BYTES; k++)
      sym->bytes[in->at + k] = k < 8 ? (uint8_t)(allowed(in, 0) >> 8 * k) : 0;
  }
  for (uint32_t i = 0; i < hd_import_symbols(b->import); i++) {
    const struct hd_leaf *l = hd_import_leaf(b->import, i);
    if (l->op != HD_EXPR_INPUT || l->a >= sym->ninputs || l->a >= HD_MAX_INPUTS) continue;
    const struct hd_symbolic_input *in = &sym->input[l->a];
    uint64_t value = hd_values_of(values, i);
    if (l->b == 0 && l->width == 8 * in->size) value = allowed(in, value);
    for (uint32_t k = 0; k < (l->width + 7u) / 8; k++) {
      uint64_t at = (uint64_t)in->at + l->b + k;
      if (at < HD_MAX_INPUT_BYTES) sym->bytes[at] = (uint8_t)(value >> 8 * k);
    }
  }
}

/* `inputs`: values of all inputs, `nbytes` in all; NULL: those of the plan. */
static int execute(struct driven *b, const struct hd_cc_plan *plan, const uint8_t *inputs, uint32_t nbytes,
                   enum hd_stop *stop, struct hd_err *err) {
  struct hd_session *s = b->s;
  struct hd_worker *w = &s->worker[0];
  struct hd_control *c = &w->control;
  hd_control_save(c);
  hd__session_past(s);
  uint64_t next = c->shared->next_execution;
  c->config.visible = b->visible.n;
  int rc = hd_control_again(c, err);
  if (rc != HD_OK) return rc;
  c->shared->next_execution = next;
  if (b->visible.n)
    memcpy(hd_control_area(c, HD_SHM_VISIBLE), b->visible.v, b->visible.n * sizeof *b->visible.v);
  struct hd_plan *to = (struct hd_plan *)((char *)c->shared + HD_SEARCH_MEMORY);
  to->nsteps = plan->nsteps < HD_PLAN_STEPS ? (uint32_t)plan->nsteps : HD_PLAN_STEPS;
  to->tail = plan->tail;
  if (to->nsteps) memcpy(to->step, plan->step, to->nsteps * sizeof *to->step);
  struct hd_symbolic *sym = hd_control_symbolic(c);
  sym->ncond = sym->nlog = 0;
  sym->round++;
  static const struct hd_values none;
  write_inputs(b, sym, plan->inputs ? plan->inputs : &none);
  if (inputs) memcpy(sym->bytes, inputs, nbytes);
  w->seen = 0;
  w->fruitless = w->retries = 0;
  w->retried = 0;
  s->counted_death = 0;
  return hd__crew_run(s, stop, err);
}

/* The distance of an address in the process. */
static uint32_t distance(void *arg, uint64_t pc) {
  struct driven *b = arg;
  const struct hd_session_config *c = &b->s->config;
  const struct hd_ctl *ctl = b->s->worker[0].control.ctl;
  for (uint32_t i = 0; i < ctl->status.nmodules && i < HD_MAX_MODULES; i++) {
    const struct hd_module *m = &ctl->module[i];
    if (pc <= m->start || pc > m->end) continue;
    if (!i) return c->distance(c->distance_arg, HD_AIM_CODE(0, pc - 1 - m->base));
    for (uint32_t k = 0; k < c->search.aims.nlibraries; k++)
      if (strncmp(hd_base_name(m->path), c->search.aims.library[k], HD_AIM_LIBRARY_NAME) == 0)
        return c->distance(c->distance_arg, HD_AIM_CODE(k + 1, pc - 1 - m->base));
  }
  return HD_AIM_FAR;
}

static void begin(struct driven *b) {
  hd_cc_free(b->search);
  if (b->races) hd__races_restart(b->races);
  b->search = hd_cc_new(b->s->config.driver, b->x, b->solver, &b->options);
  b->rounds++;
}

/* ---- the search ---- */

static void note(struct hd_session *s, enum hd_inexact why, uint64_t count) {
  if (count) hd_inexact_note(s->past.inexact, why, 0);
}

static void conclude(struct driven *b) {
  const struct hd_cc_stats *st = hd_cc_stats(b->search);
  struct hd_session *s = b->s;
  note(s, HD_INEXACT_INPUT_SOLVER, st->unknown);
  note(s, HD_INEXACT_NOT_REALIZED, st->diverged + st->too_large + st->unseen + st->overlapping);
  switch (s->config.driver) {
    case HD_CC_SEQUENTIAL: note(s, HD_INEXACT_ALONE, 1); break;
    case HD_CC_HYPER: note(s, HD_INEXACT_VARIED, 1); break;
    case HD_CC_MTA: note(s, HD_INEXACT_TRACES, 1); break;
    default: note(s, HD_INEXACT_INTERFERENCES, 1);
  }
}

static int search(struct driven *b, enum hd_stop *stop, struct hd_err *err) {
  struct hd_session *s = b->s;
  const struct hd_control *c = &s->worker[0].control;
  struct hd_cc_plan plan = {0};
  enum hd_cc_state state = HD_CC_GOES_ON;
  const uint8_t *inputs = NULL; /* of a plan for a data race, which the driver knows nothing of */
  uint32_t nbytes = 0;
  while (state == HD_CC_GOES_ON) {
    int rc = execute(b, &plan, inputs, nbytes, stop, err);
    if (rc != HD_OK || !hd_control_sane(c)) return rc;
    const struct hd_symbolic *sym = hd_control_symbolic(c);
    if (sym->no_shadow && sym->ninputs)
      return hd_fail(err, HD_EUSAGE,
                     "%s was not built with heddle cc --symbolic: its inputs cannot be followed",
                     s->command.argv[0]);
    if (sym->full) hd_inexact_note(s->past.inexact, HD_INEXACT_INPUT_ROOM, 0);
    const struct hd_event *event = hd_control_area(c, HD_SHM_EVENT);
    size_t n = c->ctl->status.nevents < HD_EVENT_CAP ? c->ctl->status.nevents : HD_EVENT_CAP;
    if (learn(b, event, n) && *stop == HD_STOP_FINISHED) {
      begin(b);
      plan = (struct hd_cc_plan){0};
      inputs = NULL;
      continue;
    }
    load(b, event, n);
    if (!inputs) hd_cc_observe(b->search, b->event.v, b->event.n);
    if (b->races) hd__races_look(b->races, event, n);
    if (*stop != HD_STOP_FINISHED) return HD_OK;
    if (hd_interrupts() > 0) {
      *stop = HD_STOP_INTERRUPTED;
      return HD_OK;
    }
    if (s->deadline > 0 && hd_now() >= s->deadline) {
      *stop = HD_STOP_TIME;
      return HD_OK;
    }
    inputs = NULL;
    if (b->races && hd__races_next(b->races, &plan, &inputs, &nbytes)) continue;
    state = hd_cc_next(b->search, &plan, s->deadline);
    if (state == HD_CC_LATE) *stop = HD_STOP_TIME;
  }
  return HD_OK;
}

/* What was covered. `stop`: why the search ended. */
static void report(struct driven *b, enum hd_stop stop) {
  size_t n;
  struct hd_session *s = b->s;
  const struct hd_cc_stats *st = hd_cc_stats(b->search);
  const struct hd_cc_branch *branch = hd_cc_branches(b->search, &n);
  bool mta = s->config.driver == HD_CC_MTA;
  const char *why = stop != HD_STOP_FINISHED ? "the search stopped before"
                    : st->unknown            ? "the solver gave up"
                    : mta                    ? "no order or combination of the executions leads there"
                                             : "no scenario leads there";
  for (size_t i = 0; i < n; i++)
    hd_vec_push(&s->branches, ((struct hd_branch_outcome){
                                  .site = branch[i].site,
                                  .thread = branch[i].thread,
                                  .degree = mta ? -1 : branch[i].degree,
                                  .way = mta && branch[i].covered ? HD_WAY_ALONE + (unsigned)branch[i].degree
                                                                  : HD_WAY_UNKNOWN,
                                  .taken = branch[i].taken,
                                  .covered = branch[i].covered,
                                  .why = why}));
  hd__branches_report(s, "inputs or shared memory", hd_solver_stats(b->solver));
  if (s->config.covered && b->races) hd__races_report(b->races, s->config.covered);
  if (s->config.covered && s->config.driver == HD_CC_BOUNDED)
    hd_str_addf(s->config.covered,
                "scenarios: %llu (%llu executed, %llu without a schedule, %llu without inputs)\n",
                (unsigned long long)st->scenarios, (unsigned long long)st->executions,
                (unsigned long long)st->no_order, (unsigned long long)st->no_inputs);
}

int hd__driven_run(struct hd_session *s, enum hd_stop *stop, struct hd_err *err) {
  struct driven b = {.s = s,
                     .options = {.max_degree = s->config.interference,
                                 .until_full = s->config.until_covered,
                                 .order = s->config.order}};
  b.x = hd_exprs_new();
  if (s->config.distance) {
    b.options.distance = distance;
    b.options.distance_arg = &b;
    b.options.order = HD_CC_NEAREST;
  }
  b.import = hd_import_new(b.x);
  if (s->config.datarace) b.races = hd__races_new(s, s->config.race_detector);
  int rc = hd_solver_new(&b.solver, b.x, hd_libdir(), QUERY_SECONDS, err);
  if (rc == HD_OK && s->config.queries) rc = hd__queries_begin(s, b.solver, err);
  if (rc == HD_OK) {
    begin(&b);
    rc = search(&b, stop, err);
    if (rc == HD_OK) {
      conclude(&b); /* whatever ended it: no driver covers every schedule */
      report(&b, *stop);
    }
  }
  hd_cc_free(b.search);
  hd__races_free(b.races);
  hd_solver_free(b.solver);
  hd_import_free(b.import);
  hd_exprs_free(b.x);
  hd_vec_free(&b.visible);
  hd_vec_free(&b.granule);
  hd_vec_free(&b.event);
  hd_vec_free(&b.same);
  return rc;
}
