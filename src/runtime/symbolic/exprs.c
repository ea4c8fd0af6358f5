/* exprs.c: the table of expressions, the conditions that executions meet, and the log. Runs in the tested process.
 *
 * Only what is cheap is simplified, so that programs that compare and copy make no needless nodes; the supervisor does the
 * rest. */
#include "runtime/memory/memory.h"
#include "runtime/symbolic/symbolic.h"

static uint64_t mask(unsigned width) { return width >= 64 ? ~0ull : (1ull << width) - 1; }
static int64_t as_signed(unsigned width, uint64_t v) {
  unsigned up = 64 - width;
  return (int64_t)(v << up) >> up;
}

static uint32_t *bucket(uint64_t hash) {
  return (uint32_t *)(HD_SHM_BASE + HD_SHM_BUCKETS) + (hash & (HD_EXPR_BUCKETS - 1));
}

static uint64_t hash_of(const struct hd_expr *x) {
  uint64_t h = (uint64_t)x->op << 24 | (uint64_t)x->width << 16 | x->low;
  h = hd_mix64(h ^ (uint64_t)x->a << 32 ^ x->b);
  h = hd_mix64(h ^ x->c);
  return x->op == HD_EXPR_CONST ? hd_mix64(h ^ x->value) : h;
}

static uint32_t intern(struct hd_expr x) {
  struct hd_symbolic *s = hd__symbolic();
  uint32_t *head = bucket(hash_of(&x));
  for (uint32_t i = *head; i; i = hd__expr(i)->next) {
    struct hd_expr *y = hd__expr(i);
    if (y->op == x.op && y->width == x.width && y->low == x.low && y->a == x.a && y->b == x.b &&
        y->c == x.c && (x.op != HD_EXPR_CONST || y->value == x.value)) {
      y->value = x.value;
      return i;
    }
  }
  if (!s->nexprs) s->nexprs = 1;
  if (s->nexprs == HD_MAX_EXPRS) {
    s->full |= HD_FULL_EXPRS;
    return 0;
  }
  uint32_t i = s->nexprs;
  x.next = *head;
  x.mark = 0;
  *hd__expr(i) = x;
  *head = i;
  s->nexprs = i + 1;
  return i;
}

uint32_t hd__expr_const(unsigned width, uint64_t value) {
  return intern((struct hd_expr){.op = HD_EXPR_CONST, .width = (uint8_t)width, .value = value & mask(width)});
}

uint32_t hd__expr_symbol(unsigned op, unsigned width, uint32_t a, uint32_t b, uint64_t value) {
  return intern((struct hd_expr){
      .op = (uint8_t)op, .width = (uint8_t)width, .a = a, .b = b, .value = value & mask(width)});
}

static uint64_t compute(unsigned op, unsigned w, uint64_t a, uint64_t b) {
  uint64_t m = mask(w);
  int64_t sa = as_signed(w, a), sb = as_signed(w, b);
  switch (op) {
    case HD_EXPR_ADD: return (a + b) & m;
    case HD_EXPR_SUB: return (a - b) & m;
    case HD_EXPR_MUL: return (a * b) & m;
    case HD_EXPR_UDIV: return b ? a / b : m;
    case HD_EXPR_UREM: return b ? a % b : a;
    case HD_EXPR_SDIV:
      if (!b) return sa < 0 ? 1 : m;
      return (sb == -1 ? 0 - a : (uint64_t)(sa / sb)) & m;
    case HD_EXPR_SREM:
      if (!b) return a;
      return (sb == -1 ? 0 : (uint64_t)(sa % sb)) & m;
    case HD_EXPR_AND: return a & b;
    case HD_EXPR_OR: return a | b;
    case HD_EXPR_XOR: return a ^ b;
    case HD_EXPR_SHL: return b >= w ? 0 : (a << b) & m;
    case HD_EXPR_LSHR: return b >= w ? 0 : a >> b;
    case HD_EXPR_ASHR: return (uint64_t)(sa >> (b >= w ? w - 1 : b)) & m;
    case HD_EXPR_EQ: return a == b;
    case HD_EXPR_ULT: return a < b;
    case HD_EXPR_ULE: return a <= b;
    case HD_EXPR_SLT: return sa < sb;
    case HD_EXPR_SLE: return sa <= sb;
    default: hd__bug("operation of an expression", __FILE__, __LINE__);
  }
}

static bool is_comparison(unsigned op) { return op >= HD_EXPR_EQ && op <= HD_EXPR_SLE; }
static bool is_commutative(unsigned op) {
  return op == HD_EXPR_ADD || op == HD_EXPR_MUL || op == HD_EXPR_AND || op == HD_EXPR_OR ||
         op == HD_EXPR_XOR || op == HD_EXPR_EQ;
}

/* An operand. */
struct term {
  uint32_t e; /* 0: a constant */
  uint64_t v;
};

/* With a constant on the right. Returns whether *out is the result. */
static bool simplify(unsigned op, unsigned w, struct term a, uint64_t k, uint32_t *out) {
  const struct hd_expr *x = hd__expr(a.e);
  uint64_t m = mask(w);
  *out = a.e;
  switch (op) {
    case HD_EXPR_ADD:
      if (x->op == HD_EXPR_ADD && hd__expr(x->b)->op == HD_EXPR_CONST) {
        uint64_t sum = (hd__expr(x->b)->value + k) & m;
        *out = hd__expr_binary(op, w, x->a, 0, hd__expr(x->a)->value, sum);
        return true;
      }
      return k == 0;
    case HD_EXPR_SUB: *out = hd__expr_binary(HD_EXPR_ADD, w, a.e, 0, a.v, (0 - k) & m); return true;
    case HD_EXPR_OR:
    case HD_EXPR_XOR:
      if (op == HD_EXPR_XOR && k == m) {
        *out = hd__expr_not(a.e);
        return true;
      }
      return k == 0;
    case HD_EXPR_SHL:
    case HD_EXPR_LSHR:
    case HD_EXPR_ASHR: return k == 0;
    case HD_EXPR_MUL:
    case HD_EXPR_AND:
      if (k == 0) *out = 0;
      return k == 0 || k == (op == HD_EXPR_MUL ? 1 : m);
    case HD_EXPR_UDIV:
    case HD_EXPR_SDIV: return k == 1 && w > 1;
    case HD_EXPR_EQ:
      if (w == 1) {
        if (!k) *out = hd__expr_not(a.e);
        return true;
      }
      if (x->op == HD_EXPR_ZEXT || x->op == HD_EXPR_SEXT) {
        uint32_t inner = x->a;
        const struct hd_expr *y = hd__expr(inner);
        uint64_t fits = x->op == HD_EXPR_ZEXT ? k & mask(y->width)
                                              : (uint64_t)as_signed(y->width, k & mask(y->width)) & m;
        *out = fits == k ? hd__expr_binary(HD_EXPR_EQ, y->width, inner, 0, y->value, k & mask(y->width)) : 0;
        return true;
      }
      return false;
    case HD_EXPR_ULT:
      if (k == 0) *out = 0;
      return k == 0;
    default: return false;
  }
}

uint32_t hd__expr_binary(unsigned op, unsigned w, uint32_t ea, uint32_t eb, uint64_t va, uint64_t vb) {
  if (!ea && !eb) return 0;
  struct term a = {ea, va & mask(w)}, b = {eb, vb & mask(w)};
  if (ea && hd__expr(ea)->op == HD_EXPR_CONST) a.e = 0;
  if (eb && hd__expr(eb)->op == HD_EXPR_CONST) b.e = 0;
  if (!a.e && !b.e) return 0;
  if (is_commutative(op) && (!a.e || (b.e && b.e < a.e))) {
    struct term t = a;
    a = b;
    b = t;
  }
  uint32_t out;
  if (a.e == b.e && (op == HD_EXPR_SUB || op == HD_EXPR_XOR || (is_comparison(op)))) return 0;
  if (a.e && !b.e && simplify(op, w, a, b.v, &out)) return out;
  struct hd_expr x = {
      .op = (uint8_t)op, .width = (uint8_t)(is_comparison(op) ? 1 : w), .value = compute(op, w, a.v, b.v)};
  x.a = a.e ? a.e : hd__expr_const(w, a.v);
  x.b = b.e ? b.e : hd__expr_const(w, b.v);
  return x.a && x.b ? intern(x) : 0;
}

uint32_t hd__expr_not(uint32_t a) {
  if (!a) return 0;
  const struct hd_expr *x = hd__expr(a);
  if (x->op == HD_EXPR_NOT) return x->a;
  return intern(
      (struct hd_expr){.op = HD_EXPR_NOT, .width = x->width, .a = a, .value = ~x->value & mask(x->width)});
}

/* ZEXT, SEXT and EXTRACT. */
uint32_t hd__expr_cast(unsigned op, unsigned from, unsigned to, unsigned low, uint32_t a) {
  if (!a || (from == to && !low)) return a;
  const struct hd_expr *x = hd__expr(a);
  uint64_t value =
      op == HD_EXPR_SEXT ? (uint64_t)as_signed(from, x->value) & mask(to) : (x->value >> low) & mask(to);
  if (op == HD_EXPR_EXTRACT) {
    if (x->op == HD_EXPR_EXTRACT) return hd__expr_cast(op, hd__expr(x->a)->width, to, low + x->low, x->a);
    if (x->op == HD_EXPR_ZEXT || x->op == HD_EXPR_SEXT) {
      unsigned inner = hd__expr(x->a)->width;
      if (low + to <= inner) return hd__expr_cast(op, inner, to, low, x->a);
      if (x->op == HD_EXPR_ZEXT && low >= inner) return 0;
      if (!low) return hd__expr_cast(x->op, inner, to, 0, x->a);
    }
    if (x->op == HD_EXPR_CONCAT) {
      unsigned split = hd__expr(x->b)->width;
      uint32_t part = low + to <= split ? x->b : low >= split ? x->a : 0;
      if (part && hd__expr(part)->op == HD_EXPR_CONST) return 0;
      if (part) return hd__expr_cast(op, hd__expr(part)->width, to, part == x->a ? low - split : low, part);
    }
  } else if (x->op == op || (op == HD_EXPR_SEXT && x->op == HD_EXPR_ZEXT)) {
    return hd__expr_cast(x->op, hd__expr(x->a)->width, to, 0, x->a);
  }
  return intern((struct hd_expr){
      .op = (uint8_t)op, .width = (uint8_t)to, .low = (uint16_t)low, .a = a, .value = value});
}

uint32_t hd__expr_concat(uint32_t high, unsigned hw, uint64_t vhigh, uint32_t low, unsigned lw,
                         uint64_t vlow) {
  if (!high && !low) return 0;
  if (!high && !(vhigh & mask(hw))) return hd__expr_cast(HD_EXPR_ZEXT, lw, hw + lw, 0, low);
  if (high && low) { /* two neighbouring parts of one expression */
    const struct hd_expr *x = hd__expr(high), *y = hd__expr(low);
    if (x->op == HD_EXPR_EXTRACT && x->low == lw && y->op == HD_EXPR_EXTRACT && y->a == x->a && !y->low)
      return hd__expr_cast(HD_EXPR_EXTRACT, hd__expr(x->a)->width, hw + lw, 0, x->a);
  }
  struct hd_expr x = {.op = HD_EXPR_CONCAT, .width = (uint8_t)(hw + lw)};
  x.a = high ? high : hd__expr_const(hw, vhigh);
  x.b = low ? low : hd__expr_const(lw, vlow);
  x.value = (vhigh & mask(hw)) << lw | (vlow & mask(lw));
  return x.a && x.b ? intern(x) : 0;
}

uint32_t hd__expr_ite(unsigned w, uint32_t c, uint32_t a, uint32_t b, uint64_t va, uint64_t vb) {
  bool yes = hd__expr(c)->value;
  va &= mask(w);
  vb &= mask(w);
  if (a == b && (a || va == vb)) return a;
  if (hd__expr(c)->op == HD_EXPR_NOT) return hd__expr_ite(w, hd__expr(c)->a, b, a, vb, va);
  if (w == 1 && !a && !b) return va ? c : hd__expr_not(c);
  struct hd_expr x = {.op = HD_EXPR_ITE, .width = (uint8_t)w, .a = c, .value = yes ? va : vb};
  x.b = a ? a : hd__expr_const(w, va);
  x.c = b ? b : hd__expr_const(w, vb);
  return x.b && x.c ? intern(x) : 0;
}

/* ---- conditions ---- */

void hd__symbolic_record(const struct hd_symbolic_record *r) {
  struct hd_symbolic *s = hd__symbolic();
  if (!(rt.config->symbolic & HD_SYMBOLIC_LOG)) return;
  if (s->nlog == HD_MAX_RECORDS) {
    s->full |= HD_FULL_LOG;
    return;
  }
  struct hd_symbolic_record *to = (struct hd_symbolic_record *)(HD_SHM_BASE + HD_SHM_RECORDS) + s->nlog;
  *to = *r;
  to->thread = rt.cur->id;
  to->point = (uint32_t)(hot.log ? rt.status->nevents : rt.events);
  s->nlog++;
}

void hd__condition(uint32_t e, enum hd_symbolic_why why, uint64_t pc) {
  if (!e) return;
  struct hd_symbolic *s = hd__symbolic();
  struct hd_expr *x = hd__expr(e);
  bool negated = x->op == HD_EXPR_NOT;
  if (negated) x = hd__expr(e = x->a);
  hd__symbolic_record(&(struct hd_symbolic_record){.kind = HD_RECORD_CONDITION,
                                                   .why = (uint8_t)why,
                                                   .negated = negated,
                                                   .expr = e,
                                                   .value = x->value,
                                                   .site = pc});
  if (x->mark == s->round + 1) return;
  if (s->ncond == HD_MAX_CONDITIONS) {
    s->full |= HD_FULL_CONDITIONS;
    return;
  }
  x->mark = s->round + 1;
  struct hd_condition *c = (struct hd_condition *)(HD_SHM_BASE + HD_SHM_CONDITIONS) + s->ncond;
  *c = (struct hd_condition){
      .expr = e, .taken = x->value != 0, .why = (uint8_t)why, .thread = (uint8_t)rt.cur->id, .site = pc};
  s->ncond++;
}

void hd__concrete(uint32_t e, enum hd_symbolic_why why, uint64_t pc) {
  if (!e) return;
  const struct hd_expr *x = hd__expr(e);
  if (x->op == HD_EXPR_CONST) return;
  if (x->op == HD_EXPR_ZEXT || x->op == HD_EXPR_SEXT) return hd__concrete(x->a, why, pc);
  hd__condition(x->width == 1 ? e : hd__expr_binary(HD_EXPR_EQ, x->width, e, 0, x->value, x->value), why, pc);
}
