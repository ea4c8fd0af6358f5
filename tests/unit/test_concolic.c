/* test_concolic.c: branches covered with at most k interferences are those that trying all inputs and all schedules covers
 * with at most k, for random small programs; and programs of the literature. */
#include "concolic/concolic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *libdir(void) {
  static char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
  assert_true(n > 0);
  path[n] = 0;
  for (int i = 0; i < 3; i++) *strrchr(path, '/') = 0;
  return strcat(path, "/lib/heddle");
}

static uint64_t rng = 1;
static unsigned rnd(unsigned n) {
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return (unsigned)((rng >> 8) % n);
}

/* ---- programs: threads of instructions over 8-bit values ---- */

#define THREADS 5
#define CODE 64
#define VARS 4
#define REGS 4
#define INPUTS 2
#define STEPS 4000

enum { I_READ, I_WRITE, I_ADDTO, I_LOCK, I_UNLOCK, I_CREATE, I_JOIN, I_END, I_SET, I_BRANCH, I_JUMP };
enum { A_REG, A_CONST, A_INPUT };

struct operand {
  uint8_t kind, n;
};
struct instr {
  uint8_t op;
  uint8_t x;    /* variable, lock, thread, or register */
  uint8_t to;   /* register; target of a jump: taken when the condition does not hold */
  uint8_t with; /* enum hd_expr_op between a and b */
  struct operand a, b;
};
struct program {
  unsigned nthreads, inputs, bits;
  uint8_t initial[VARS];
  unsigned n[THREADS];
  struct instr code[THREADS][CODE];
};

static bool is_local(unsigned op) { return op >= I_SET; }

/* ---- one execution, concrete and symbolic ---- */

struct machine {
  const struct program *p;
  uint8_t input[INPUTS], var[VARS], reg[THREADS][REGS];
  uint8_t pc[THREADS], alive[THREADS], owner[VARS]; /* alive: 1 running, 2 ended; owner: thread + 1 */
};

static uint8_t get(const struct machine *m, unsigned t, struct operand o) {
  return o.kind == A_REG ? m->reg[t][o.n] : o.kind == A_INPUT ? m->input[o.n] : o.n;
}

static uint64_t compute(const struct instr *i, uint8_t a, uint8_t b) {
  unsigned width = i->with >= HD_EXPR_EQ && i->with <= HD_EXPR_SLE ? 1 : 8;
  return hd_expr_compute(i->with, width, 8, a, b, 0, 0);
}

/* Whether the condition of a branch holds. */
static bool holds(const struct machine *m, unsigned t) {
  const struct instr *i = &m->p->code[t][m->pc[t]];
  return compute(i, get(m, t, i->a), get(m, t, i->b));
}

static bool enabled(const struct machine *m, unsigned t) {
  if (m->alive[t] != 1) return false;
  const struct instr *i = &m->p->code[t][m->pc[t]];
  if (i->op == I_LOCK) return !m->owner[i->x];
  if (i->op == I_JOIN) return m->alive[i->x] == 2;
  return true;
}

/* Executes one instruction. */
static void execute(struct machine *m, unsigned t) {
  const struct instr *i = &m->p->code[t][m->pc[t]++];
  switch (i->op) {
    case I_READ: m->reg[t][i->to] = m->var[i->x]; break;
    case I_WRITE: m->var[i->x] = (uint8_t)compute(i, get(m, t, i->a), get(m, t, i->b)); break;
    case I_ADDTO: {
      uint8_t old = m->var[i->x];
      m->var[i->x] = (uint8_t)(old + get(m, t, i->a));
      m->reg[t][i->to] = old;
      break;
    }
    case I_LOCK: m->owner[i->x] = (uint8_t)(t + 1); break;
    case I_UNLOCK: m->owner[i->x] = 0; break;
    case I_CREATE: m->alive[i->x] = 1; break;
    case I_END: m->alive[t] = 2; break;
    case I_SET: m->reg[t][i->to] = (uint8_t)compute(i, get(m, t, i->a), get(m, t, i->b)); break;
    case I_BRANCH:
      if (!compute(i, get(m, t, i->a), get(m, t, i->b))) m->pc[t] = i->to;
      break;
    case I_JUMP: m->pc[t] = i->to; break;
    default: break;
  }
}

static void start(struct machine *m, const struct program *p, const uint8_t *input) {
  memset(m, 0, sizeof *m);
  m->p = p;
  memcpy(m->input, input, sizeof m->input);
  memcpy(m->var, p->initial, sizeof m->var);
  m->alive[0] = 1;
}

static uint64_t site_of(unsigned t, unsigned pc) { return t * 1000 + pc + 1; }

/* ---- what trying everything covers ---- */

#define MAX_K 3
#define SITES (THREADS * CODE * 2)

struct everything {
  uint8_t least[SITES]; /* interferences, plus 1; 0: not covered */
  uint64_t *seen;
  size_t slots, n;
};
struct full_state {
  struct machine m;
  uint8_t writer[VARS];         /* thread + 1 */
  uint8_t clean[THREADS][VARS]; /* the last write was before the thread existed, by its creator */
  uint8_t k;
};

static bool was_seen(struct everything *e, const struct full_state *s) {
  const uint8_t *b = (const uint8_t *)s;
  uint64_t h = 1;
  for (size_t i = sizeof s->m.p; i < sizeof *s; i++) h = (h ^ b[i]) * 0x100000001b3ull;
  h = (h ^ h >> 31) * 0x9e3779b97f4a7c15ull | 1;
  size_t i = (size_t)(h >> 9) & (e->slots - 1);
  for (; e->seen[i]; i = (i + 1) & (e->slots - 1))
    if (e->seen[i] == h) return true;
  if (++e->n > e->slots / 2) fail_msg("too many states");
  e->seen[i] = h;
  return false;
}

static void try_all(struct everything *e, const struct full_state *s) {
  if (was_seen(e, s)) return;
  for (unsigned t = 0; t < s->m.p->nthreads; t++) {
    if (!enabled(&s->m, t)) continue;
    struct full_state next = *s;
    unsigned pc = s->m.pc[t];
    const struct instr *i = &s->m.p->code[t][pc];
    if (i->op == I_READ || i->op == I_ADDTO)
      if (s->writer[i->x] && s->writer[i->x] != t + 1 && !s->clean[t][i->x]) next.k++;
    if (next.k > MAX_K) continue;
    if (i->op == I_WRITE || i->op == I_ADDTO) {
      next.writer[i->x] = (uint8_t)(t + 1);
      for (unsigned o = 0; o < THREADS; o++) next.clean[o][i->x] = 0;
    }
    if (i->op == I_CREATE) /* it inherits what its creator has by itself */
      for (unsigned v = 0; v < VARS; v++)
        next.clean[i->x][v] = s->writer[v] && (s->writer[v] == t + 1 || s->clean[t][v]);
    execute(&next.m, t);
    if (i->op == I_BRANCH) {
      unsigned at = (t * CODE + pc) * 2 + holds(&s->m, t);
      if (!e->least[at] || e->least[at] > next.k + 1) e->least[at] = (uint8_t)(next.k + 1);
    }
    try_all(e, &next);
  }
}

static void try_everything(const struct program *p, struct everything *e) {
  e->slots = 1u << 20;
  e->seen = calloc(e->slots, sizeof *e->seen);
  for (unsigned v = 0; v < 1u << p->bits * p->inputs; v++) {
    uint8_t input[INPUTS] = {(uint8_t)(v & ((1u << p->bits) - 1)), (uint8_t)(v >> p->bits)};
    struct full_state s;
    memset(&s, 0, sizeof s);
    start(&s.m, p, input);
    memset(e->seen, 0, e->slots * sizeof *e->seen);
    e->n = 0;
    try_all(e, &s);
  }
  free(e->seen);
}

/* ---- the search, with an execution of a plan ---- */

struct runner {
  const struct program *p;
  struct hd_exprs *x;
  struct machine m;
  hd_expr_ref reg[THREADS][REGS];
  unsigned reads[THREADS];
  HD_VEC(struct hd_cc_event) event;
  uint64_t executions;
};

static hd_expr_ref sym(struct runner *r, unsigned t, struct operand o) {
  if (o.kind == A_REG) return r->reg[t][o.n];
  if (o.kind == A_CONST) return hd_expr_const(r->x, 8, o.n);
  return hd_expr_zext(r->x, 8, hd_expr_symbol(r->x, r->p->bits, o.n));
}

static void log_event(struct runner *r, unsigned t, struct hd_cc_event e) {
  e.thread = (uint16_t)t;
  hd_vec_push(&r->event, e);
}

static void log_access(struct runner *r, unsigned t, const struct instr *i, unsigned pc, bool writes,
                       bool step, hd_expr_ref value) {
  log_event(r, t,
            (struct hd_cc_event){.kind = writes ? HD_CC_WRITE : HD_CC_READ,
                                 .size = 1,
                                 .step = step,
                                 .object = 0x1000 + i->x,
                                 .site = site_of(t, pc),
                                 .expr = value,
                                 .value = r->m.var[i->x]});
}

static hd_expr_ref fresh(struct runner *r, unsigned t) {
  return hd_expr_symbol(r->x, 8, 100 + t * 200 + r->reads[t]++);
}

static void one(struct runner *r, unsigned t) {
  unsigned pc = r->m.pc[t];
  const struct instr *i = &r->p->code[t][pc];
  hd_expr_ref old = 0;
  if (i->op == I_READ) {
    r->reg[t][i->to] = fresh(r, t);
    log_access(r, t, i, pc, false, true, r->reg[t][i->to]);
  }
  if (i->op == I_ADDTO) log_access(r, t, i, pc, false, true, old = fresh(r, t));
  hd_expr_ref value = 0;
  if (i->op == I_WRITE || i->op == I_SET || i->op == I_BRANCH)
    value = hd_expr_binary(r->x, i->with, sym(r, t, i->a), sym(r, t, i->b));
  if (i->op == I_ADDTO) {
    value = hd_expr_binary(r->x, HD_EXPR_ADD, old, sym(r, t, i->a));
    r->reg[t][i->to] = old;
  }
  bool taken = i->op == I_BRANCH && holds(&r->m, t);
  execute(&r->m, t);
  switch (i->op) {
    case I_WRITE: log_access(r, t, i, pc, true, true, value); break;
    case I_ADDTO: log_access(r, t, i, pc, true, false, value); break;
    case I_SET: r->reg[t][i->to] = value; break;
    case I_LOCK:
    case I_UNLOCK:
      log_event(r, t,
                (struct hd_cc_event){.kind = i->op == I_LOCK ? HD_CC_LOCK : HD_CC_UNLOCK,
                                     .step = 1,
                                     .object = i->x,
                                     .site = site_of(t, pc)});
      break;
    case I_CREATE:
    case I_JOIN:
      log_event(r, t,
                (struct hd_cc_event){.kind = i->op == I_CREATE ? HD_CC_CREATE : HD_CC_JOIN,
                                     .step = 1,
                                     .child = i->x,
                                     .site = site_of(t, pc)});
      break;
    case I_END:
      log_event(r, t, (struct hd_cc_event){.kind = HD_CC_END, .step = 1, .site = site_of(t, pc)});
      break;
    case I_BRANCH: {
      log_event(r, t,
                (struct hd_cc_event){.kind = HD_CC_BRANCH,
                                     .counts = 1,
                                     .taken = taken,
                                     .site = site_of(t, pc),
                                     .expr = taken ? value : hd_expr_not(r->x, value)});
      break;
    }
    default: break;
  }
}

static void locals(struct runner *r, unsigned t) {
  while (r->m.alive[t] == 1 && is_local(r->p->code[t][r->m.pc[t]].op)) one(r, t);
}

/* An operation, and everything up to the next one. */
static bool operation(struct runner *r, unsigned t) {
  if (t >= r->p->nthreads || !enabled(&r->m, t)) return false;
  const struct instr *i = &r->p->code[t][r->m.pc[t]];
  one(r, t);
  if (i->op == I_CREATE) locals(r, i->x);
  locals(r, t);
  return true;
}

static void run_plan(struct runner *r, const struct hd_cc_plan *plan) {
  uint8_t input[INPUTS] = {0};
  for (unsigned i = 0; i < r->p->inputs && plan->inputs; i++)
    input[i] = (uint8_t)hd_bits(r->p->bits, hd_values_of(plan->inputs, i));
  start(&r->m, r->p, input);
  r->event.n = 0;
  r->executions++;
  memset(r->reads, 0, sizeof r->reads);
  for (unsigned t = 0; t < THREADS; t++)
    for (unsigned k = 0; k < REGS; k++) r->reg[t][k] = hd_expr_const(r->x, 8, 0);
  locals(r, 0);
  for (size_t i = 0; i < plan->nsteps; i++)
    if (!operation(r, plan->step[i])) break;
  for (unsigned steps = 0; steps < STEPS; steps++) {
    unsigned t = plan->tail;
    if (!enabled(&r->m, t))
      for (t = 0; t < r->p->nthreads && !enabled(&r->m, t);) t++;
    if (!operation(r, t)) break;
  }
}

struct result {
  struct hd_cc_stats stats;
  enum hd_cc_state state;
  unsigned covered[MAX_K + 1], known;
  uint8_t least[SITES];
};

static void search(const struct program *p, enum hd_cc_driver driver, unsigned max, struct result *out) {
  struct hd_err err;
  struct hd_exprs *x = hd_exprs_new();
  struct hd_solver *s;
  struct hd_cc_options o = {.max_degree = max};
  assert_int_equal(hd_solver_new(&s, x, libdir(), 10, &err), HD_OK);
  hd_expr_symbol(x, 8, 100 + THREADS * 200); /* drivers take others */
  struct hd_cc *c = hd_cc_new(driver, x, s, &o);
  struct runner r = {.p = p, .x = x};
  struct hd_cc_plan plan = {0};
  memset(out, 0, sizeof *out);
  do {
    run_plan(&r, &plan);
    hd_cc_observe(c, r.event.v, r.event.n);
  } while ((out->state = hd_cc_next(c, &plan, 0)) == HD_CC_GOES_ON);
  size_t n;
  const struct hd_cc_branch *b = hd_cc_branches(c, &n);
  for (size_t i = 0; i < n; i++) {
    unsigned t = (unsigned)((b[i].site - 1) / 1000), pc = (unsigned)((b[i].site - 1) % 1000);
    if (b[i].covered) out->least[(t * CODE + pc) * 2 + b[i].taken] = (uint8_t)(b[i].degree + 1);
    if (b[i].covered && b[i].degree <= MAX_K) out->covered[b[i].degree]++;
  }
  out->known = (unsigned)n;
  out->stats = *hd_cc_stats(c);
  hd_cc_free(c);
  hd_solver_free(s);
  hd_exprs_free(x);
  hd_vec_free(&r.event);
}

/* ---- random programs ---- */

struct maker {
  struct program *p;
  unsigned t, vars;
};

static void emit(struct maker *g, struct instr i) { g->p->code[g->t][g->p->n[g->t]++] = i; }

static struct operand any(struct maker *g) {
  switch (rnd(5)) {
    case 0:
    case 1: return (struct operand){A_REG, (uint8_t)rnd(REGS)};
    case 2: return (struct operand){A_INPUT, (uint8_t)rnd(g->p->inputs)};
    default: return (struct operand){A_CONST, (uint8_t)rnd(6)};
  }
}

static uint8_t any_op(void) {
  static const uint8_t op[] = {HD_EXPR_ADD, HD_EXPR_ADD, HD_EXPR_SUB, HD_EXPR_XOR, HD_EXPR_MUL, HD_EXPR_AND};
  return op[rnd(sizeof op)];
}

static uint8_t any_comparison(void) {
  static const uint8_t op[] = {HD_EXPR_EQ, HD_EXPR_EQ, HD_EXPR_ULT, HD_EXPR_ULE, HD_EXPR_SLT};
  return op[rnd(sizeof op)];
}

static void block(struct maker *g, unsigned length, unsigned depth, bool locked) {
  for (unsigned i = 0; i < length; i++) {
    uint8_t v = (uint8_t)rnd(g->vars), reg = (uint8_t)rnd(REGS);
    switch (rnd(10)) {
      case 0:
      case 1:
      case 2: emit(g, (struct instr){.op = I_READ, .x = v, .to = reg}); break;
      case 3:
      case 4:
      case 5:
        emit(g, (struct instr){.op = I_WRITE, .x = v, .with = any_op(), .a = any(g), .b = any(g)});
        break;
      case 6: emit(g, (struct instr){.op = I_ADDTO, .x = v, .to = reg, .a = any(g)}); break;
      case 7:
        if (locked || depth > 1) break;
        emit(g, (struct instr){.op = I_LOCK, .x = 0});
        block(g, 1 + rnd(2), depth + 1, true);
        emit(g, (struct instr){.op = I_UNLOCK, .x = 0});
        break;
      default: {
        if (depth > 1) break;
        emit(g, (struct instr){.op = I_READ, .x = v, .to = reg});
        unsigned at = g->p->n[g->t];
        emit(g, (struct instr){.op = I_BRANCH, .with = any_comparison(), .a = {A_REG, reg}, .b = any(g)});
        block(g, 1 + rnd(2), depth + 1, locked);
        if (rnd(2)) {
          unsigned jump = g->p->n[g->t];
          emit(g, (struct instr){.op = I_JUMP});
          g->p->code[g->t][at].to = (uint8_t)g->p->n[g->t];
          block(g, 1, depth + 1, locked);
          g->p->code[g->t][jump].to = (uint8_t)g->p->n[g->t];
        } else {
          g->p->code[g->t][at].to = (uint8_t)g->p->n[g->t];
        }
      }
    }
  }
}

static void make_program(struct program *p, unsigned size) {
  memset(p, 0, sizeof *p);
  p->nthreads = 3 + (rnd(4) == 0);
  p->inputs = 1 + rnd(2);
  p->bits = p->inputs == 1 ? 3 + rnd(2) : 3;
  struct maker g = {p, 0, 1 + rnd(3)};
  for (unsigned v = 0; v < VARS; v++) p->initial[v] = (uint8_t)rnd(3);
  if (rnd(2))
    emit(&g, (struct instr){.op = I_WRITE, .x = 0, .with = HD_EXPR_ADD, .a = any(&g), .b = any(&g)});
  for (unsigned t = 1; t < p->nthreads; t++) emit(&g, (struct instr){.op = I_CREATE, .x = (uint8_t)t});
  if (rnd(3) == 0) block(&g, 1, 1, false);
  if (rnd(2)) {
    for (unsigned t = 1; t < p->nthreads; t++) emit(&g, (struct instr){.op = I_JOIN, .x = (uint8_t)t});
    if (rnd(2)) block(&g, 2, 1, false);
  }
  emit(&g, (struct instr){.op = I_END});
  for (g.t = 1; g.t < p->nthreads; g.t++) {
    block(&g, 1 + rnd(size), 0, false);
    emit(&g, (struct instr){.op = I_END});
  }
}

static void show(const struct program *p) {
  static const char *const name[] = {"read", "write", "addto", "lock",   "unlock", "create",
                                     "join", "end",   "set",   "branch", "jump"};
  for (unsigned t = 0; t < p->nthreads; t++)
    for (unsigned i = 0; i < p->n[t]; i++) {
      const struct instr *c = &p->code[t][i];
      print_message("  T%u %2u %-6s x=%u to=%u with=%u a=%u:%u b=%u:%u\n", t, i, name[c->op], c->x, c->to,
                    c->with, c->a.kind, c->a.n, c->b.kind, c->b.n);
    }
}

static void compare(const struct program *p, unsigned number) {
  struct everything all = {0};
  struct result r;
  try_everything(p, &all);
  search(p, HD_CC_BOUNDED, MAX_K, &r);
  for (unsigned i = 0; i < SITES; i++) {
    if (r.least[i] > MAX_K + 1) r.least[i] = 0; /* seen by chance: no statement about it */
    if (r.least[i] == all.least[i]) continue;
    show(p);
    fail_msg("program %u: branch T%u %u %s: %d interferences, by trying everything %d (-1: not covered)",
             number, i / 2 / CODE, i / 2 % CODE, i % 2 ? "taken" : "not taken", r.least[i] - 1,
             all.least[i] - 1);
  }
  if (r.stats.diverged || r.stats.unknown || r.stats.unseen) {
    show(p);
    fail_msg("program %u: %llu diverged, %llu unknown, %llu unseen", number,
             (unsigned long long)r.stats.diverged, (unsigned long long)r.stats.unknown,
             (unsigned long long)r.stats.unseen);
  }
}

static void test_random(void **unused) {
  (void)unused;
  const char *n = getenv("HEDDLE_CONCOLIC_PROGRAMS"), *first = getenv("HEDDLE_CONCOLIC_FIRST");
  unsigned from = first ? (unsigned)atoi(first) : 0, count = n ? (unsigned)atoi(n) : 60;
  for (unsigned i = from; i < from + count; i++) {
    struct program p;
    rng = 0x9e3779b97f4a7c15ull * (i + 1);
    for (int k = 0; k < 10; k++) rnd(2);
    make_program(&p, 4);
    compare(&p, i);
  }
}

/* Multi-trace analysis covers nearly all that trying everything covers, and its plans lead where they should. */
static void test_mta(void **unused) {
  (void)unused;
  const char *n = getenv("HEDDLE_CONCOLIC_PROGRAMS"), *first = getenv("HEDDLE_CONCOLIC_FIRST");
  unsigned from = first ? (unsigned)atoi(first) : 0, count = n ? (unsigned)atoi(n) : 60;
  unsigned reachable = 0, covered = 0;
  for (unsigned i = from; i < from + count; i++) {
    struct program p;
    struct everything all = {0};
    struct result r;
    rng = 0x9e3779b97f4a7c15ull * (i + 1);
    for (int k = 0; k < 10; k++) rnd(2);
    make_program(&p, 4);
    try_everything(&p, &all);
    search(&p, HD_CC_MTA, 0, &r);
    for (unsigned k = 0; k < SITES; k++) {
      reachable += all.least[k] != 0;
      covered += all.least[k] && r.least[k];
    }
    if (r.stats.diverged || r.stats.unknown || r.stats.too_large) {
      show(&p);
      fail_msg("program %u: %llu diverged, %llu unknown, %llu too large", i,
               (unsigned long long)r.stats.diverged, (unsigned long long)r.stats.unknown,
               (unsigned long long)r.stats.too_large);
    }
  }
  assert_true(covered >= reachable * 99 / 100); /* of 1,500 programs one lacks one */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_mta)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
