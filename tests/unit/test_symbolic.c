/* test_symbolic.c: expressions are what they were before they were simplified, the solver's answers are those of trying
 * all values, and a partition covers every input exactly once. */
#include "symbolic/import.h"
#include "symbolic/partition.h"
#include "symbolic/solver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *libdir(void) {
  static char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
  assert_true(n > 0);
  path[n] = 0;
  for (int i = 0; i < 3; i++) *strrchr(path, '/') = 0; /* tests/unit/test_symbolic */
  return strcat(path, "/lib/heddle");
}

static uint64_t state = 1;
static uint64_t rnd(uint64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 8) % n;
}

/* ---- expressions that nobody simplified, as the tested process has them ---- */

#define NODES 40
#define SYMBOLS 3

struct raw {
  struct hd_expr node[NODES + 1];
  unsigned n; /* the next free number */
};

static unsigned add(struct raw *r, struct hd_expr e) {
  r->node[r->n] = e;
  return r->n++;
}

static unsigned any(const struct raw *r) { return 1 + (unsigned)rnd(r->n - 1); }

static unsigned any_of_width(const struct raw *r, unsigned width) {
  for (int i = 0; i < 60; i++) {
    unsigned k = any(r);
    if (r->node[k].width == width) return k;
  }
  return 0;
}

static uint64_t special(unsigned width) {
  switch (rnd(6)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return hd_bits(width, ~0ull);
    case 3: return 1ull << (width - 1);
    case 4: return hd_bits(width, 1ull << rnd(width));
    default: return hd_bits(width, rnd(~0ull));
  }
}

static void add_random(struct raw *r) {
  unsigned op = 1 + (unsigned)rnd(HD_EXPR_COUNT - 1), a = any(r), w = r->node[a].width, b, c;
  struct hd_expr e = {.op = (uint8_t)op, .width = (uint8_t)w, .a = a};
  switch (op) {
    case HD_EXPR_INPUT:
    case HD_EXPR_READ: return;
    case HD_EXPR_CONST:
      e.a = 0;
      e.value = special(w);
      break;
    case HD_EXPR_NOT: break;
    case HD_EXPR_ZEXT:
    case HD_EXPR_SEXT:
      e.width = (uint8_t)(w + rnd(9));
      if (e.width > 64) return;
      break;
    case HD_EXPR_EXTRACT:
      e.low = (uint16_t)rnd(w);
      e.width = (uint8_t)(1 + rnd(w - e.low));
      break;
    case HD_EXPR_CONCAT:
      b = any(r);
      if (w + r->node[b].width > 64) return;
      e.b = b;
      e.width = (uint8_t)(w + r->node[b].width);
      break;
    case HD_EXPR_ITE:
      if (!(a = any_of_width(r, 1))) return;
      b = any(r);
      if (!(c = any_of_width(r, r->node[b].width))) return;
      e.a = a;
      e.b = b;
      e.c = c;
      e.width = r->node[b].width;
      break;
    default:
      b = any_of_width(r, w);
      if (!b || rnd(3) == 0) {
        if (r->n >= NODES) return;
        b = add(r, (struct hd_expr){.op = HD_EXPR_CONST, .width = (uint8_t)w, .value = special(w)});
      }
      e.b = b;
      if (rnd(4) == 0) e.a = b, e.b = a;
      if (op >= HD_EXPR_EQ && op <= HD_EXPR_SLE) e.width = 1;
  }
  add(r, e);
}

static void make_raw(struct raw *r, unsigned symbol_width) {
  r->n = 1;
  for (unsigned i = 0; i < SYMBOLS; i++)
    add(r, (struct hd_expr){.op = HD_EXPR_INPUT, .width = (uint8_t)(1 + rnd(symbol_width)), .a = i});
  for (int tries = 0; r->n < NODES && tries < 300; tries++) add_random(r);
}

static void eval_raw(const struct raw *r, const uint64_t *input, uint64_t *out) {
  for (unsigned i = 1; i < r->n; i++) {
    const struct hd_expr *e = &r->node[i];
    unsigned from = e->op == HD_EXPR_CONCAT ? r->node[e->b].width : r->node[e->a].width;
    if (e->op == HD_EXPR_INPUT)
      out[i] = hd_bits(e->width, input[e->a]);
    else
      out[i] = hd_expr_compute(e->op, e->width, from, out[e->a], e->b ? out[e->b] : 0, e->c ? out[e->c] : 0,
                               e->op == HD_EXPR_EXTRACT ? e->low : e->value);
  }
}

/* ---- what operations compute, beside C ---- */

static void test_compute(void **unused) {
  (void)unused;
  for (unsigned i = 0; i < 65536; i++) {
    int8_t a = (int8_t)(i >> 8), b = (int8_t)i;
    uint8_t ua = (uint8_t)a, ub = (uint8_t)b;
    struct {
      enum hd_expr_op op;
      uint64_t want;
    } t[] = {
        {HD_EXPR_ADD, (uint8_t)(ua + ub)},
        {HD_EXPR_SUB, (uint8_t)(ua - ub)},
        {HD_EXPR_MUL, (uint8_t)(ua * ub)},
        {HD_EXPR_UDIV, ub ? ua / ub : 255},
        {HD_EXPR_UREM, ub ? ua % ub : ua},
        {HD_EXPR_SDIV, (uint8_t)(b       ? a / b
                                 : a < 0 ? 1
                                         : -1)},
        {HD_EXPR_SREM, (uint8_t)(b ? a % b : a)},
        {HD_EXPR_SHL, (uint8_t)(ub < 8 ? ua << ub : 0)},
        {HD_EXPR_LSHR, ub < 8 ? ua >> ub : 0},
        {HD_EXPR_ASHR, (uint8_t)(a >> (ub < 8 ? ub : 7))},
        {HD_EXPR_AND, ua & ub},
        {HD_EXPR_OR, ua | ub},
        {HD_EXPR_XOR, ua ^ ub},
        {HD_EXPR_NOT, (uint8_t)~ua},
        {HD_EXPR_EQ, ua == ub},
        {HD_EXPR_ULT, ua < ub},
        {HD_EXPR_ULE, ua <= ub},
        {HD_EXPR_SLT, a < b},
        {HD_EXPR_SLE, a <= b},
    };
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
      unsigned width = t[k].op >= HD_EXPR_EQ && t[k].op <= HD_EXPR_SLE ? 1 : 8;
      assert_int_equal(hd_expr_compute(t[k].op, width, 8, ua, ub, 0, 0), t[k].want);
    }
  }
  assert_int_equal(hd_expr_compute(HD_EXPR_SDIV, 64, 64, 1ull << 63, ~0ull, 0, 0), 1ull << 63);
  assert_int_equal(hd_expr_compute(HD_EXPR_SREM, 64, 64, 1ull << 63, ~0ull, 0, 0), 0);
}

/* ---- simplification ---- */

static void test_simplify(void **unused) {
  (void)unused;
  uint64_t nodes = 0, kept = 0;
  for (int round = 0; round < 3000; round++) {
    struct raw r;
    uint64_t want[NODES + 1] = {0}, input[SYMBOLS];
    hd_expr_ref ref[NODES + 1] = {0};
    make_raw(&r, round % 4 ? 8 : 40);
    struct hd_exprs *x = hd_exprs_new();
    struct hd_import *m = hd_import_new(x);
    for (unsigned i = r.n; i-- > 1;) { /* the last first, so that operands are imported on the way */
      ref[i] = hd_import_node(m, r.node, r.n, i);
      if (!ref[i])
        fail_msg("round %d: node %u of %u, operation %u of width %u", round, i, r.n, r.node[i].op,
                 r.node[i].width);
      assert_int_equal(hd_expr_width(x, ref[i]), r.node[i].width);
    }
    nodes += r.n;
    kept += hd_exprs_count(x);
    for (int k = 0; k < 24; k++) {
      struct hd_values values = {0};
      for (unsigned i = 0; i < SYMBOLS; i++) {
        input[i] = k < 6 ? special(r.node[i + 1].width) : rnd(~0ull);
        uint32_t s = hd_import_symbol(m, &(struct hd_leaf){HD_EXPR_INPUT, r.node[i + 1].width, i, 0});
        hd_values_set(&values, s, input[i]);
      }
      eval_raw(&r, input, want);
      for (unsigned i = 1; i < r.n; i++)
        if (hd_expr_eval(x, ref[i], &values) != want[i])
          fail_msg("round %d, node %u (operation %u): %llx instead of %llx", round, i, r.node[i].op,
                   (unsigned long long)hd_expr_eval(x, ref[i], &values), (unsigned long long)want[i]);
      hd_values_free(&values);
    }
    hd_import_free(m);
    hd_exprs_free(x);
  }
  assert_true(kept < 2 * nodes);
}

/* What programs do all the time becomes what a person would write. */
static void test_shapes(void **unused) {
  (void)unused;
  struct hd_exprs *x = hd_exprs_new();
  hd_expr_ref s = hd_expr_symbol(x, 32, 0), byte[4], t = hd_expr_symbol(x, 8, 1);
  /* Bytes of a value, stored and loaded again. */
  for (unsigned i = 0; i < 4; i++) byte[i] = hd_expr_extract(x, 8 * i, 8, s);
  hd_expr_ref back = byte[0];
  for (unsigned i = 1; i < 4; i++) back = hd_expr_concat(x, byte[i], back);
  assert_int_equal(back, s);
  back = hd_expr_concat(x, hd_expr_concat(x, byte[3], byte[2]), hd_expr_concat(x, byte[1], byte[0]));
  assert_int_equal(back, s);
  /* ... also when it was extended. */
  for (int sign = 0; sign < 2; sign++) {
    hd_expr_ref wide = sign ? hd_expr_sext(x, 64, s) : hd_expr_zext(x, 64, s);
    back = hd_expr_extract(x, 0, 8, wide);
    for (unsigned i = 1; i < 8; i++) back = hd_expr_concat(x, hd_expr_extract(x, 8 * i, 8, wide), back);
    assert_int_equal(back, wide);
  }
  /* if ((x & 1) == 0), if ((int)c - 'a' == 3), if (!(a < b)) */
  hd_expr_ref even = hd_expr_binary(x, HD_EXPR_EQ, hd_expr_binary(x, HD_EXPR_AND, s, hd_expr_const(x, 32, 1)),
                                    hd_expr_const(x, 32, 0));
  assert_int_equal(even, hd_expr_not(x, hd_expr_extract(x, 0, 1, s)));
  hd_expr_ref c = hd_expr_sext(x, 32, t);
  hd_expr_ref letter = hd_expr_binary(
      x, HD_EXPR_EQ, hd_expr_binary(x, HD_EXPR_SUB, c, hd_expr_const(x, 32, 'a')), hd_expr_const(x, 32, 3));
  assert_int_equal(letter, hd_expr_binary(x, HD_EXPR_EQ, t, hd_expr_const(x, 8, 'd')));
  hd_expr_ref less = hd_expr_binary(x, HD_EXPR_SLT, s, hd_expr_const(x, 32, 7));
  assert_int_equal(hd_expr_not(x, hd_expr_not(x, less)), less);
  hd_expr_ref nested = hd_expr_zext(x, 32, less); /* a comparison as an int, tested again */
  assert_int_equal(hd_expr_not(x, hd_expr_binary(x, HD_EXPR_EQ, nested, hd_expr_const(x, 32, 0))), less);
  struct hd_str text;
  hd_str_init(&text);
  hd_expr_text(&text, x, less, NULL, NULL);
  assert_string_equal(text.s, "(s0 < 7)");
  hd_str_fini(&text);
  hd_exprs_free(x);
}

static void test_substitute(void **unused) {
  (void)unused;
  for (int round = 0; round < 300; round++) {
    struct raw r;
    make_raw(&r, 8);
    struct hd_exprs *x = hd_exprs_new();
    struct hd_import *m = hd_import_new(x);
    unsigned top = r.n - 1;
    hd_expr_ref e = hd_import_node(m, r.node, r.n, top), with[SYMBOLS];
    for (uint32_t i = 0; i < SYMBOLS; i++) hd_import_node(m, r.node, r.n, i + 1);
    uint64_t input[SYMBOLS], want[NODES + 1] = {0};
    for (uint32_t i = 0; i < SYMBOLS; i++) {
      uint32_t s = hd_import_symbol(m, &(struct hd_leaf){HD_EXPR_INPUT, r.node[i + 1].width, i, 0});
      input[i] = hd_bits(r.node[i + 1].width, rnd(~0ull));
      with[s] = hd_expr_const(x, r.node[i + 1].width, input[i]);
    }
    eval_raw(&r, input, want);
    uint64_t got;
    assert_true(hd_expr_is_const(x, hd_expr_substitute(x, e, with, SYMBOLS), &got));
    assert_int_equal(got, want[top]);
    hd_import_free(m);
    hd_exprs_free(x);
  }
}

/* A loop that adds to a value a million times: nothing here recurses. */
static void test_deep(void **unused) {
  (void)unused;
  struct hd_exprs *x = hd_exprs_new();
  hd_expr_ref e = hd_expr_symbol(x, 32, 0), three = hd_expr_const(x, 32, 3);
  for (int i = 0; i < 200000; i++)
    e = hd_expr_binary(x, HD_EXPR_MUL, hd_expr_binary(x, HD_EXPR_ADD, e, hd_expr_symbol(x, 32, 1)), three);
  struct hd_values values = {0};
  hd_values_set(&values, 0, 5);
  uint32_t want = 5;
  for (int i = 0; i < 200000; i++) want *= 3;
  assert_int_equal(hd_expr_eval(x, e, &values), want);
  hd_values_free(&values);
  hd_exprs_free(x);
}

/* ---- the solver ---- */

static bool has_solver(void) {
  struct hd_smt *s;
  struct hd_err err;
  if (hd_smt_new(libdir(), HD_SMT_BITS, &s, &err) != HD_OK) return false;
  hd_smt_free(s);
  return true;
}

static void compare_answers(bool try_all) {
  if (!has_solver()) skip();
  int sat = 0, unsat = 0;
  struct hd_exprs *x = hd_exprs_new();
  struct hd_solver *s;
  struct hd_err err;
  assert_int_equal(hd_solver_new(&s, x, libdir(), 10, &err), HD_OK);
  hd_solver_try_all(s, try_all);
  for (int round = 0; round < 150; round++) {
    struct raw r;
    do make_raw(&r, 3);
    while (r.n < 12);
    struct hd_import *m = hd_import_new(x);
    hd_expr_ref condition[4];
    unsigned at[4];
    bool value[4];
    size_t n = 0;
    for (unsigned i = r.n; i-- > 1 && n < 4;) {
      if (r.node[i].width != 1 || r.node[i].op < HD_EXPR_ADD) continue;
      at[n] = i;
      value[n] = rnd(2);
      condition[n] = hd_import_condition(m, r.node, r.n, i, value[n]);
      assert_true(condition[n] != 0);
      n++;
    }
    bool possible = false;
    uint64_t out[NODES + 1] = {0};
    for (uint64_t v = 0; v < 512 && !possible; v++) {
      uint64_t input[SYMBOLS] = {v & 7, v >> 3 & 7, v >> 6};
      eval_raw(&r, input, out);
      possible = true;
      for (size_t i = 0; i < n; i++) possible &= out[at[i]] == value[i];
    }
    struct hd_values model = {0};
    struct hd_core core = {0};
    enum hd_smt_answer a = hd_solver_check(s, condition, n, &model, &core);
    assert_int_equal(a, possible ? HD_SMT_SAT : HD_SMT_UNSAT);
    for (size_t i = 0; i < n && possible; i++) assert_true(hd_expr_eval(x, condition[i], &model));
    if (!possible) { /* the core alone is a contradiction */
      struct hd_values none = {0};
      assert_int_equal(hd_solver_check(s, core.v, core.n, &none, NULL), HD_SMT_UNSAT);
      hd_values_free(&none);
    }
    *(possible ? &sat : &unsat) += 1;
    hd_values_free(&model);
    hd_vec_free(&core);
    hd_import_free(m);
  }
  assert_true(sat > 10 && unsat > 10);
  const struct hd_solver_stats *st = hd_solver_stats(s);
  assert_int_equal(st->unknown, 0);
  assert_true(st->same + st->cores > 0 && st->asked < st->groups);
  assert_true(try_all ? st->small > 0 : st->small == 0 && st->asked > 0);
  hd_solver_free(s);
  hd_exprs_free(x);
}

static void test_solver(void **unused) {
  (void)unused;
  compare_answers(false);
}

static void test_few_values(void **unused) {
  (void)unused;
  compare_answers(true);
}

/* A comparison of a symbol of 32 bits, maybe extended or negated, with a constant that is often near zero. */
static hd_expr_ref random_limit(struct hd_exprs *x, hd_expr_ref symbol) {
  static const enum hd_expr_op ops[] = {HD_EXPR_ULT, HD_EXPR_ULE, HD_EXPR_SLT, HD_EXPR_SLE, HD_EXPR_EQ};
  unsigned kind = rnd(4);
  hd_expr_ref e = kind == 0 ? hd_expr_sext(x, 64, symbol) : kind == 1 ? hd_expr_zext(x, 64, symbol) : symbol;
  uint64_t v = (uint64_t)((int64_t)rnd(40) - 12);
  hd_expr_ref c = hd_expr_const(x, kind < 2 ? 64 : 32, hd_bits(kind < 2 ? 64 : 32, v));
  enum hd_expr_op op = ops[rnd(rnd(8) ? 4 : 5)];
  hd_expr_ref out = rnd(2) ? hd_expr_binary(x, op, e, c) : hd_expr_binary(x, op, c, e);
  return rnd(2) ? hd_expr_not(x, out) : out;
}

/* Limits of wide symbols are read off conditions: what is answered by trying all values is what Z3 says. */
static void test_limits(void **unused) {
  (void)unused;
  if (!has_solver()) skip();
  struct hd_exprs *x = hd_exprs_new();
  struct hd_solver *s[2];
  struct hd_err err;
  for (int k = 0; k < 2; k++) {
    assert_int_equal(hd_solver_new(&s[k], x, libdir(), 60, &err), HD_OK);
    hd_solver_try_all(s[k], k == 0);
  }
  hd_expr_ref a = hd_expr_symbol(x, 32, 0), b = hd_expr_symbol(x, 32, 1);
  for (int round = 0; round < 400; round++) {
    hd_expr_ref condition[7];
    for (int i = 0; i < 6; i++) condition[i] = random_limit(x, i & 1 ? a : b);
    hd_expr_ref sum = hd_expr_binary(x, HD_EXPR_ADD, hd_expr_binary(x, HD_EXPR_MUL, a, a), b);
    condition[6] = hd_expr_binary(x, HD_EXPR_EQ, sum, hd_expr_const(x, 32, rnd(60)));
    struct hd_values model[2] = {0};
    struct hd_core core = {0};
    enum hd_smt_answer of[2];
    for (int k = 0; k < 2; k++) of[k] = hd_solver_check(s[k], condition, 7, &model[k], k ? NULL : &core);
    assert_int_equal(of[0], of[1]);
    for (int i = 0; i < 7 && of[0] == HD_SMT_SAT; i++) assert_true(hd_expr_eval(x, condition[i], &model[0]));
    if (of[0] == HD_SMT_UNSAT)
      assert_int_equal(hd_solver_check(s[1], core.v, core.n, &model[1], NULL), HD_SMT_UNSAT);
    for (int k = 0; k < 2; k++) hd_values_free(&model[k]);
    hd_vec_free(&core);
  }
  assert_true(hd_solver_stats(s[0])->small > 50);
  for (int k = 0; k < 2; k++) hd_solver_free(s[k]);
  hd_exprs_free(x);
}

/* What a loop adds up is one product. */
static void test_sums(void **unused) {
  (void)unused;
  struct hd_exprs *x = hd_exprs_new();
  hd_expr_ref a = hd_expr_symbol(x, 32, 0), b = hd_expr_symbol(x, 32, 1), sum = a;
  for (int i = 0; i < 9; i++) sum = hd_expr_binary(x, HD_EXPR_ADD, sum, b);
  hd_expr_ref nine = hd_expr_binary(x, HD_EXPR_MUL, b, hd_expr_const(x, 32, 9));
  assert_int_equal(sum, hd_expr_binary(x, HD_EXPR_ADD, a, nine));
  for (int i = 0; i < 7; i++) sum = hd_expr_binary(x, HD_EXPR_ADD, b, sum);
  hd_expr_ref sixteen = hd_expr_binary(x, HD_EXPR_SHL, b, hd_expr_const(x, 32, 4));
  assert_int_equal(sum, hd_expr_binary(x, HD_EXPR_ADD, a, sixteen));
  hd_exprs_free(x);
}

/* A model of an earlier question says something about symbols of another group, which has its own values. */
static void test_groups(void **unused) {
  (void)unused;
  if (!has_solver()) skip();
  struct hd_exprs *x = hd_exprs_new();
  struct hd_solver *s;
  struct hd_err err;
  assert_int_equal(hd_solver_new(&s, x, libdir(), 10, &err), HD_OK);
  hd_expr_ref a = hd_expr_symbol(x, 8, 0), b = hd_expr_symbol(x, 8, 1), zero = hd_expr_const(x, 8, 0);
  hd_expr_ref sum =
      hd_expr_binary(x, HD_EXPR_EQ, hd_expr_binary(x, HD_EXPR_ADD, a, b), hd_expr_const(x, 8, 7));
  hd_expr_ref together[] = {sum, hd_expr_not(x, hd_expr_binary(x, HD_EXPR_EQ, a, zero)),
                            hd_expr_not(x, hd_expr_binary(x, HD_EXPR_EQ, b, zero))};
  hd_expr_ref apart[] = {hd_expr_binary(x, HD_EXPR_EQ, a, zero), together[2]};
  struct hd_values model = {0}, second = {0};
  assert_int_equal(hd_solver_check(s, together, 3, &model, NULL), HD_SMT_SAT);
  assert_int_equal(hd_solver_check(s, apart, 2, &second, NULL), HD_SMT_SAT);
  for (size_t i = 0; i < 2; i++) assert_true(hd_expr_eval(x, apart[i], &second));
  hd_values_free(&model);
  hd_values_free(&second);
  hd_solver_free(s);
  hd_exprs_free(x);
}

/* ---- partitions ---- */

static void test_partition(void **unused) {
  (void)unused;
  if (!has_solver()) skip();
  struct hd_err err;
  struct hd_symbolic *s = calloc(1, sizeof *s);
  for (int round = 0; round < 15; round++) {
    struct raw r;
    struct hd_partition *p;
    bool seen[512] = {false};
    unsigned classes = 0;
    do make_raw(&r, 3);
    while (r.n < 12);
    memset(s, 0, sizeof *s);
    s->nexprs = r.n;
    s->ninputs = SYMBOLS;
    for (unsigned i = 0; i < SYMBOLS; i++) s->input[i] = (struct hd_symbolic_input){.size = 1, .at = i};
    s->input[0].flags = round % 2 ? HD_INPUT_RANGE : 0; /* the first one: 1 or 2 */
    s->input[0].lo = 1;
    s->input[0].hi = 2;
    if (round % 2) s->bytes[0] = 1;
    assert_int_equal(hd_partition_new(&p, libdir(), &err), HD_OK);
    for (;;) {
      struct hd_condition condition[NODES];
      size_t n = 0;
      uint64_t input[SYMBOLS], out[NODES + 1] = {0};
      unsigned width[SYMBOLS], index = 0;
      for (unsigned i = 0; i < SYMBOLS; i++) {
        width[i] = r.node[i + 1].width;
        input[i] = hd_bits(width[i], s->bytes[i]);
        index = index << 3 | (unsigned)input[i];
      }
      if (round % 2) assert_in_range(input[0], 1, 2);
      eval_raw(&r, input, out);
      for (unsigned i = 4; i < r.n; i++)
        if (r.node[i].width == 1)
          condition[n++] = (struct hd_condition){.expr = i, .taken = (uint8_t)out[i], .why = HD_WHY_BRANCH};
      /* No member of the class was in another one. */
      assert_false(seen[index]);
      for (unsigned v = 0; v < 512; v++) {
        uint64_t other[SYMBOLS] = {v >> 6, v >> 3 & 7, v & 7}, now[NODES + 1] = {0};
        bool member = true;
        for (unsigned i = 0; i < SYMBOLS; i++) member &= other[i] == hd_bits(width[i], other[i]);
        eval_raw(&r, other, now);
        for (size_t i = 0; i < n; i++) member &= now[condition[i].expr] == condition[i].taken;
        if (!member) continue;
        assert_false(seen[v]);
        seen[v] = true;
      }
      assert_int_equal(hd_partition_add(p, s, r.node, condition, n), -1);
      classes++;
      enum hd_smt_answer a = hd_partition_ask(p, s, 10, 0);
      assert_int_not_equal(a, HD_SMT_UNKNOWN);
      if (a == HD_SMT_UNSAT) break;
    }
    for (unsigned v = 0; v < 512; v++) {
      bool exists = !(round % 2) || v >> 6 == 1 || v >> 6 == 2;
      for (unsigned i = 0; i < SYMBOLS; i++) exists &= (v >> (6 - 3 * i) & 7) < 1u << r.node[i + 1].width;
      if (exists) assert_true(seen[v]);
    }
    assert_int_equal(hd_partition_classes(p), classes);
    hd_partition_free(p);
  }
  free(s);
}

/* What the process's table says is not believed. */
static void test_hostile(void **unused) {
  (void)unused;
  for (int round = 0; round < 20000; round++) {
    struct hd_expr node[12];
    struct hd_exprs *x = hd_exprs_new();
    struct hd_import *m = hd_import_new(x);
    for (unsigned i = 1; i < 12; i++)
      node[i] = (struct hd_expr){.op = (uint8_t)rnd(rnd(8) ? HD_EXPR_COUNT : 256),
                                 .width = (uint8_t)rnd(rnd(8) ? 9 : 80),
                                 .low = (uint16_t)rnd(rnd(4) ? 4 : 400),
                                 .a = (uint32_t)rnd(rnd(8) ? 12 : ~0u),
                                 .b = (uint32_t)rnd(rnd(8) ? 12 : ~0u),
                                 .c = (uint32_t)rnd(rnd(8) ? 12 : ~0u),
                                 .value = rnd(~0ull)};
    for (unsigned i = 0; i < 14; i++) {
      hd_expr_ref e = hd_import_node(m, node, 12, i);
      if (e) assert_in_range(hd_expr_width(x, e), 1, 64);
    }
    hd_import_free(m);
    hd_exprs_free(x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compute),    cmocka_unit_test(test_simplify),  cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_substitute), cmocka_unit_test(test_deep),      cmocka_unit_test(test_solver),
      cmocka_unit_test(test_few_values), cmocka_unit_test(test_limits),    cmocka_unit_test(test_sums),
      cmocka_unit_test(test_groups),     cmocka_unit_test(test_partition), cmocka_unit_test(test_hostile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
