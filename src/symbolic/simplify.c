/* simplify.c: makes expressions, and simplifies them on the way. Runs in the supervisor.
 *
 * Rules look at a node and its operands only, which are simplified already, and what they make is smaller or has its
 * operands in the standard order: constants last, else the older first. Each rule is an identity of bit-vectors;
 * tests/unit/test_symbolic.c compares all of them with evaluation. */
#include "symbolic/expr_int.h"

typedef struct hd_exprs *X;

static bool is_const(X x, hd_expr_ref e) { return x->node[e].op == HD_EXPR_CONST; }
static uint64_t value(X x, hd_expr_ref e) { return x->node[e].value; }
static unsigned width(X x, hd_expr_ref e) { return x->node[e].width; }
static unsigned op(X x, hd_expr_ref e) { return x->node[e].op; }
static uint64_t ones(unsigned w) { return hd_bits(w, ~0ull); }
static bool is(X x, hd_expr_ref e, uint64_t v) { return is_const(x, e) && value(x, e) == v; }
static hd_expr_ref truth(X x, bool v) { return hd_expr_const(x, 1, v); }

static hd_expr_ref plain(X x, enum hd_expr_op o, unsigned w, hd_expr_ref a, hd_expr_ref b) {
  return hd__expr_intern(x, &(struct hd_node){.op = o, .width = (uint8_t)w, .a = a, .b = b});
}

hd_expr_ref hd_expr_const(X x, unsigned w, uint64_t v) {
  return hd__expr_intern(x,
                         &(struct hd_node){.op = HD_EXPR_CONST, .width = (uint8_t)w, .value = hd_bits(w, v)});
}

hd_expr_ref hd_expr_symbol(X x, unsigned w, uint32_t symbol) {
  if (symbol >= x->symbols) x->symbols = symbol + 1;
  return hd__expr_intern(x, &(struct hd_node){.op = HD_EXPR_INPUT, .width = (uint8_t)w, .value = symbol});
}

hd_expr_ref hd_expr_not(X x, hd_expr_ref a) {
  return hd_expr_binary(x, HD_EXPR_XOR, a, hd_expr_const(x, width(x, a), ~0ull));
}

hd_expr_ref hd_expr_all(X x, const hd_expr_ref *e, size_t n) {
  hd_expr_ref out = truth(x, true);
  for (size_t i = 0; i < n; i++) out = hd_expr_binary(x, HD_EXPR_AND, out, e[i]);
  return out;
}

/* ---- what the bits of a value can be ---- */

/* The bits that are certainly 0. Looks a few nodes deep. */
static uint64_t zeros(X x, hd_expr_ref e, int depth) {
  struct hd_node n = x->node[e];
  if (depth == 0) return 0;
  switch (n.op) {
    case HD_EXPR_CONST: return ones(n.width) & ~n.value;
    case HD_EXPR_ZEXT: return (ones(n.width) & ~ones(width(x, n.a))) | zeros(x, n.a, depth - 1);
    case HD_EXPR_AND: return zeros(x, n.a, depth - 1) | zeros(x, n.b, depth - 1);
    case HD_EXPR_OR:
    case HD_EXPR_XOR: return zeros(x, n.a, depth - 1) & zeros(x, n.b, depth - 1);
    case HD_EXPR_ITE: return zeros(x, n.b, depth - 1) & zeros(x, n.c, depth - 1);
    case HD_EXPR_CONCAT: return zeros(x, n.a, depth - 1) << width(x, n.b) | zeros(x, n.b, depth - 1);
    case HD_EXPR_SHL:
      if (!is_const(x, n.b) || value(x, n.b) >= n.width) return 0;
      return ones(n.width) & (zeros(x, n.a, depth - 1) << value(x, n.b) | ((1ull << value(x, n.b)) - 1));
    case HD_EXPR_LSHR:
      if (!is_const(x, n.b) || value(x, n.b) >= n.width) return 0;
      return zeros(x, n.a, depth - 1) >> value(x, n.b) | (ones(n.width) & ~(ones(n.width) >> value(x, n.b)));
    default: return 0;
  }
}

/* ---- arithmetic ---- */

static bool commutes(unsigned o) {
  return o == HD_EXPR_ADD || o == HD_EXPR_MUL || o == HD_EXPR_AND || o == HD_EXPR_OR || o == HD_EXPR_XOR ||
         o == HD_EXPR_EQ;
}

/* (y o c) o d = y o (c o d) */
static bool regroup(X x, enum hd_expr_op o, hd_expr_ref a, hd_expr_ref b, hd_expr_ref *out) {
  if (!is_const(x, b) || op(x, a) != o || !is_const(x, x->node[a].b)) return false;
  unsigned w = width(x, a);
  uint64_t v = hd_expr_compute(o, w, w, value(x, x->node[a].b), value(x, b), 0, 0);
  *out = hd_expr_binary(x, o, x->node[a].a, hd_expr_const(x, w, v));
  return true;
}

static unsigned log2_of(uint64_t v) { return v && !(v & (v - 1)) ? (unsigned)__builtin_ctzll(v) : 64; }

/* An expression as a multiple of another one. */
struct term {
  hd_expr_ref of;
  uint64_t times;
};

static struct term term_of(X x, hd_expr_ref e) {
  const struct hd_node *n = &x->node[e];
  if (n->op == HD_EXPR_MUL && is_const(x, n->b)) return (struct term){n->a, value(x, n->b)};
  if (n->op == HD_EXPR_CONCAT && is(x, n->b, 0)) { /* a shift to the left (see there) */
    const struct hd_node *high = &x->node[n->a];
    if (high->op == HD_EXPR_EXTRACT && high->value == 0 && width(x, high->a) == n->width)
      return (struct term){high->a, 1ull << width(x, n->b)};
  }
  return (struct term){e, 1};
}

static bool add_terms(X x, hd_expr_ref a, hd_expr_ref b, hd_expr_ref *out) {
  struct term p = term_of(x, a), q = term_of(x, b);
  unsigned w = width(x, a);
  if (p.of != q.of || is_const(x, p.of)) return false;
  *out = hd_expr_binary(x, HD_EXPR_MUL, p.of, hd_expr_const(x, w, hd_bits(w, p.times + q.times)));
  return true;
}

/* k*y + m*y, also where one of them is a part of a sum: what a loop adds up stays small. */
static bool collect(X x, hd_expr_ref a, hd_expr_ref b, hd_expr_ref *out) {
  if (add_terms(x, a, b, out)) return true;
  for (int i = 0; i < 4; i++) {
    hd_expr_ref sum = i < 2 ? a : b, one = i < 2 ? b : a;
    struct hd_node n = x->node[sum];
    if (n.op != HD_EXPR_ADD || !add_terms(x, i & 1 ? n.a : n.b, one, out)) continue;
    *out = hd_expr_binary(x, HD_EXPR_ADD, i & 1 ? n.b : n.a, *out);
    return true;
  }
  return false;
}

static hd_expr_ref add(X x, hd_expr_ref a, hd_expr_ref b) {
  hd_expr_ref out;
  if (is(x, b, 0)) return a;
  if (regroup(x, HD_EXPR_ADD, a, b, &out)) return out;
  if (width(x, a) == 1) return hd_expr_binary(x, HD_EXPR_XOR, a, b);
  if (collect(x, a, b, &out)) return out;
  if (op(x, a) == HD_EXPR_SUB && x->node[a].b == b) return x->node[a].a; /* (p - b) + b */
  if (op(x, b) == HD_EXPR_SUB && x->node[b].b == a) return x->node[b].a;
  return plain(x, HD_EXPR_ADD, width(x, a), a, b);
}

static hd_expr_ref sub(X x, hd_expr_ref a, hd_expr_ref b) {
  unsigned w = width(x, a);
  if (a == b) return hd_expr_const(x, w, 0);
  if (is_const(x, b)) return hd_expr_binary(x, HD_EXPR_ADD, a, hd_expr_const(x, w, 0 - value(x, b)));
  if (w == 1) return hd_expr_binary(x, HD_EXPR_XOR, a, b);
  if (op(x, a) == HD_EXPR_ADD) { /* (p + q) - q */
    if (x->node[a].a == b) return x->node[a].b;
    if (x->node[a].b == b) return x->node[a].a;
  }
  return plain(x, HD_EXPR_SUB, w, a, b);
}

static hd_expr_ref mul(X x, hd_expr_ref a, hd_expr_ref b) {
  hd_expr_ref out;
  unsigned w = width(x, a);
  if (is(x, b, 0)) return b;
  if (is(x, b, 1)) return a;
  if (regroup(x, HD_EXPR_MUL, a, b, &out)) return out;
  if (w == 1) return hd_expr_binary(x, HD_EXPR_AND, a, b);
  if (is_const(x, b) && log2_of(value(x, b)) < w)
    return hd_expr_binary(x, HD_EXPR_SHL, a, hd_expr_const(x, w, log2_of(value(x, b))));
  return plain(x, HD_EXPR_MUL, w, a, b);
}

static hd_expr_ref divide(X x, enum hd_expr_op o, hd_expr_ref a, hd_expr_ref b) {
  unsigned w = width(x, a);
  bool remainder = o == HD_EXPR_UREM || o == HD_EXPR_SREM;
  if (is(x, b, 1) && w > 1) return remainder ? hd_expr_const(x, w, 0) : a;
  if (is_const(x, b) && log2_of(value(x, b)) < w && (o == HD_EXPR_UDIV || o == HD_EXPR_UREM)) {
    unsigned k = log2_of(value(x, b));
    if (remainder) return hd_expr_binary(x, HD_EXPR_AND, a, hd_expr_const(x, w, value(x, b) - 1));
    return hd_expr_binary(x, HD_EXPR_LSHR, a, hd_expr_const(x, w, k));
  }
  return plain(x, o, w, a, b);
}

static hd_expr_ref shift(X x, enum hd_expr_op o, hd_expr_ref a, hd_expr_ref b) {
  unsigned w = width(x, a);
  if (is(x, b, 0) || is(x, a, 0)) return a;
  if (!is_const(x, b)) return plain(x, o, w, a, b);
  uint64_t k = value(x, b);
  if (k >= w && o != HD_EXPR_ASHR) return hd_expr_const(x, w, 0);
  if (k >= w) return shift(x, o, a, hd_expr_const(x, w, w - 1));
  if (o == HD_EXPR_SHL)
    return hd_expr_concat(x, hd_expr_extract(x, 0, w - (unsigned)k, a), hd_expr_const(x, (unsigned)k, 0));
  hd_expr_ref top = hd_expr_extract(x, (unsigned)k, w - (unsigned)k, a);
  return o == HD_EXPR_LSHR ? hd_expr_zext(x, w, top) : hd_expr_sext(x, w, top);
}

/* ---- bits ---- */

static hd_expr_ref and_(X x, hd_expr_ref a, hd_expr_ref b) {
  hd_expr_ref out;
  unsigned w = width(x, a);
  if (a == b) return a;
  if (is(x, b, 0)) return b;
  if (is(x, b, ones(w))) return a;
  if (regroup(x, HD_EXPR_AND, a, b, &out)) return out;
  if (w == 1 && (a == hd_expr_not(x, b))) return truth(x, false);
  if (is_const(x, b)) {
    uint64_t kept = ones(w) & ~zeros(x, a, 4);
    if ((value(x, b) & kept) == kept) return a;
    if (!(value(x, b) & kept)) return hd_expr_const(x, w, 0);
    uint64_t v = value(x, b);
    if (!(v & (v + 1))) /* the low bits */
      return hd_expr_zext(x, w, hd_expr_extract(x, 0, (unsigned)__builtin_popcountll(v), a));
  }
  return plain(x, HD_EXPR_AND, w, a, b);
}

static hd_expr_ref or_(X x, hd_expr_ref a, hd_expr_ref b) {
  hd_expr_ref out;
  unsigned w = width(x, a);
  if (a == b) return a;
  if (is(x, b, 0)) return a;
  if (is(x, b, ones(w))) return b;
  if (regroup(x, HD_EXPR_OR, a, b, &out)) return out;
  if (w == 1 && a == hd_expr_not(x, b)) return truth(x, true);
  /* Bytes put together: the high ones shifted, the low ones extended. */
  for (int i = 0; i < 2; i++) {
    hd_expr_ref high = i ? b : a, low = i ? a : b;
    if (op(x, high) == HD_EXPR_CONCAT && op(x, low) == HD_EXPR_ZEXT && is(x, x->node[high].b, 0) &&
        width(x, x->node[low].a) <= width(x, x->node[high].b)) {
      unsigned k = width(x, x->node[high].b);
      return hd_expr_concat(x, x->node[high].a, hd_expr_zext(x, k, x->node[low].a));
    }
  }
  return plain(x, HD_EXPR_OR, w, a, b);
}

/* The opposite of a comparison; 0: it has none that is one node. */
static hd_expr_ref opposite(X x, hd_expr_ref a) {
  struct hd_node n = x->node[a];
  switch (n.op) {
    case HD_EXPR_ULT: return hd_expr_binary(x, HD_EXPR_ULE, n.b, n.a);
    case HD_EXPR_ULE: return hd_expr_binary(x, HD_EXPR_ULT, n.b, n.a);
    case HD_EXPR_SLT: return hd_expr_binary(x, HD_EXPR_SLE, n.b, n.a);
    case HD_EXPR_SLE: return hd_expr_binary(x, HD_EXPR_SLT, n.b, n.a);
    default: return 0;
  }
}

static hd_expr_ref xor_(X x, hd_expr_ref a, hd_expr_ref b) {
  hd_expr_ref out;
  unsigned w = width(x, a);
  if (a == b) return hd_expr_const(x, w, 0);
  if (is(x, b, 0)) return a;
  if (regroup(x, HD_EXPR_XOR, a, b, &out)) return out;
  if (w == 1 && is(x, b, 1) && (out = opposite(x, a))) return out;
  return plain(x, HD_EXPR_XOR, w, a, b);
}

/* ---- comparisons ---- */

static hd_expr_ref equal(X x, hd_expr_ref a, hd_expr_ref b) {
  struct hd_node n = x->node[a];
  unsigned w = n.width;
  if (a == b) return truth(x, true);
  if (op(x, a) == HD_EXPR_ZEXT && op(x, b) == HD_EXPR_ZEXT && width(x, n.a) == width(x, x->node[b].a))
    return hd_expr_binary(x, HD_EXPR_EQ, n.a, x->node[b].a);
  if (op(x, a) == HD_EXPR_SEXT && op(x, b) == HD_EXPR_SEXT && width(x, n.a) == width(x, x->node[b].a))
    return hd_expr_binary(x, HD_EXPR_EQ, n.a, x->node[b].a);
  if (!is_const(x, b)) return plain(x, HD_EXPR_EQ, 1, a, b);
  uint64_t v = value(x, b);
  if (w == 1) return v ? a : hd_expr_not(x, a);
  if (zeros(x, a, 4) & v) return truth(x, false);
  unsigned from = n.a ? width(x, n.a) : 0;
  switch (n.op) {
    case HD_EXPR_ZEXT: return hd_expr_binary(x, HD_EXPR_EQ, n.a, hd_expr_const(x, from, v));
    case HD_EXPR_SEXT:
      if (hd_expr_compute(HD_EXPR_SEXT, w, from, hd_bits(from, v), 0, 0, 0) != v) return truth(x, false);
      return hd_expr_binary(x, HD_EXPR_EQ, n.a, hd_expr_const(x, from, v));
    case HD_EXPR_ADD:
      if (is_const(x, n.b)) return hd_expr_binary(x, HD_EXPR_EQ, n.a, hd_expr_const(x, w, v - value(x, n.b)));
      break;
    case HD_EXPR_XOR:
      if (is_const(x, n.b)) return hd_expr_binary(x, HD_EXPR_EQ, n.a, hd_expr_const(x, w, v ^ value(x, n.b)));
      break;
    case HD_EXPR_SUB:
      if (v == 0) return hd_expr_binary(x, HD_EXPR_EQ, n.a, n.b);
      if (is_const(x, n.a)) return hd_expr_binary(x, HD_EXPR_EQ, n.b, hd_expr_const(x, w, value(x, n.a) - v));
      break;
    case HD_EXPR_CONCAT: {
      unsigned low = width(x, n.b);
      hd_expr_ref high = hd_expr_binary(x, HD_EXPR_EQ, n.a, hd_expr_const(x, w - low, v >> low));
      return hd_expr_binary(x, HD_EXPR_AND, high,
                            hd_expr_binary(x, HD_EXPR_EQ, n.b, hd_expr_const(x, low, v)));
    }
    case HD_EXPR_ITE:
      if (is_const(x, n.b) && is_const(x, n.c)) {
        bool yes = value(x, n.b) == v, no = value(x, n.c) == v;
        return yes == no ? truth(x, yes) : yes ? n.a : hd_expr_not(x, n.a);
      }
      break;
    default: break;
  }
  return plain(x, HD_EXPR_EQ, 1, a, b);
}

/* Comparisons of two values that were extended from the same width, or one of them and a constant that was. */
static bool narrow(X x, enum hd_expr_op o, hd_expr_ref a, hd_expr_ref b, hd_expr_ref *out) {
  hd_expr_ref wide = is_const(x, a) ? b : a, other = wide == a ? b : a;
  unsigned kind = op(x, wide);
  if (kind != HD_EXPR_ZEXT && kind != HD_EXPR_SEXT) return false;
  unsigned from = width(x, x->node[wide].a), w = width(x, wide);
  if (from == w) return false;
  hd_expr_ref small;
  if (is_const(x, other)) {
    small = hd_expr_const(x, from, value(x, other));
    if (hd_expr_compute(kind, w, from, value(x, small), 0, 0, 0) != value(x, other)) return false;
  } else if (op(x, other) == kind && width(x, x->node[other].a) == from) {
    small = x->node[other].a;
  } else {
    return false;
  }
  if (kind == HD_EXPR_ZEXT) { /* no value is negative */
    if (o == HD_EXPR_SLT) o = HD_EXPR_ULT;
    if (o == HD_EXPR_SLE) o = HD_EXPR_ULE;
  }
  hd_expr_ref inner = x->node[wide].a;
  *out = wide == a ? hd_expr_binary(x, o, inner, small) : hd_expr_binary(x, o, small, inner);
  return true;
}

static hd_expr_ref compare(X x, enum hd_expr_op o, hd_expr_ref a, hd_expr_ref b) {
  hd_expr_ref out;
  unsigned w = width(x, a);
  bool sign = o == HD_EXPR_SLT || o == HD_EXPR_SLE, or_equal = o == HD_EXPR_ULE || o == HD_EXPR_SLE;
  uint64_t least = sign ? 1ull << (w - 1) : 0, most = sign ? ones(w) >> 1 : ones(w);
  if (a == b) return truth(x, or_equal);
  if (or_equal && (is(x, a, least) || is(x, b, most))) return truth(x, true);
  if (!or_equal && (is(x, b, least) || is(x, a, most))) return truth(x, false);
  if (or_equal && (is(x, b, least) || is(x, a, most))) return hd_expr_binary(x, HD_EXPR_EQ, a, b);
  if (!or_equal && is_const(x, b) && value(x, b) == hd_bits(w, least + 1))
    return hd_expr_binary(x, HD_EXPR_EQ, a, hd_expr_const(x, w, least));
  if (!or_equal && is_const(x, a) && value(x, a) == hd_bits(w, most - 1))
    return hd_expr_binary(x, HD_EXPR_EQ, b, hd_expr_const(x, w, most));
  if (narrow(x, o, a, b, &out)) return out;
  if (!sign) { /* a value below the largest that it can be */
    if (is_const(x, b)) {
      uint64_t top = ones(w) & ~zeros(x, a, 4);
      if (or_equal ? top <= value(x, b) : top < value(x, b)) return truth(x, true);
    }
    if (is_const(x, a)) {
      uint64_t top = ones(w) & ~zeros(x, b, 4);
      if (or_equal ? top < value(x, a) : top <= value(x, a)) return truth(x, false);
    }
  }
  return plain(x, o, 1, a, b);
}

hd_expr_ref hd_expr_binary(X x, enum hd_expr_op o, hd_expr_ref a, hd_expr_ref b) {
  HD_BUG_ON(width(x, a) != width(x, b) && o != HD_EXPR_CONCAT);
  if (o == HD_EXPR_CONCAT) return hd_expr_concat(x, a, b);
  unsigned w = width(x, a);
  if (is_const(x, a) && is_const(x, b)) {
    unsigned out = hd__is_comparison(o) ? 1 : w;
    return hd_expr_const(x, out, hd_expr_compute(o, out, w, value(x, a), value(x, b), 0, 0));
  }
  if (commutes(o) && (is_const(x, a) || (!is_const(x, b) && a > b))) {
    hd_expr_ref t = a;
    a = b;
    b = t;
  }
  switch (o) {
    case HD_EXPR_ADD: return add(x, a, b);
    case HD_EXPR_SUB: return sub(x, a, b);
    case HD_EXPR_MUL: return mul(x, a, b);
    case HD_EXPR_UDIV:
    case HD_EXPR_SDIV:
    case HD_EXPR_UREM:
    case HD_EXPR_SREM: return divide(x, o, a, b);
    case HD_EXPR_SHL:
    case HD_EXPR_LSHR:
    case HD_EXPR_ASHR: return shift(x, o, a, b);
    case HD_EXPR_AND: return and_(x, a, b);
    case HD_EXPR_OR: return or_(x, a, b);
    case HD_EXPR_XOR: return xor_(x, a, b);
    case HD_EXPR_EQ: return equal(x, a, b);
    default: return compare(x, o, a, b);
  }
}

/* ---- the others ---- */

hd_expr_ref hd_expr_ite(X x, hd_expr_ref condition, hd_expr_ref yes, hd_expr_ref no) {
  HD_BUG_ON(width(x, condition) != 1 || width(x, yes) != width(x, no));
  if (is_const(x, condition)) return value(x, condition) ? yes : no;
  if (yes == no) return yes;
  if (width(x, yes) == 1) {
    if (is(x, yes, 1)) return hd_expr_binary(x, HD_EXPR_OR, condition, no);
    if (is(x, no, 0)) return hd_expr_binary(x, HD_EXPR_AND, condition, yes);
    if (is(x, yes, 0)) return hd_expr_binary(x, HD_EXPR_AND, hd_expr_not(x, condition), no);
    if (is(x, no, 1)) return hd_expr_binary(x, HD_EXPR_OR, hd_expr_not(x, condition), yes);
  }
  return hd__expr_intern(
      x, &(struct hd_node){
             .op = HD_EXPR_ITE, .width = (uint8_t)width(x, yes), .a = condition, .b = yes, .c = no});
}

hd_expr_ref hd_expr_zext(X x, unsigned w, hd_expr_ref a) {
  struct hd_node n = x->node[a];
  if (w == n.width) return a;
  if (n.op == HD_EXPR_CONST) return hd_expr_const(x, w, n.value);
  if (n.op == HD_EXPR_ZEXT) return hd_expr_zext(x, w, n.a);
  return plain(x, HD_EXPR_ZEXT, w, a, 0);
}

hd_expr_ref hd_expr_sext(X x, unsigned w, hd_expr_ref a) {
  struct hd_node n = x->node[a];
  if (w == n.width) return a;
  if (n.op == HD_EXPR_CONST)
    return hd_expr_const(x, w, hd_expr_compute(HD_EXPR_SEXT, w, n.width, n.value, 0, 0, 0));
  if (n.op == HD_EXPR_SEXT) return hd_expr_sext(x, w, n.a);
  if (n.op == HD_EXPR_ZEXT && width(x, n.a) < n.width) return hd_expr_zext(x, w, n.a);
  return plain(x, HD_EXPR_SEXT, w, a, 0);
}

hd_expr_ref hd_expr_extract(X x, unsigned low, unsigned w, hd_expr_ref a) {
  struct hd_node n = x->node[a];
  HD_BUG_ON(w < 1 || low + w > n.width);
  if (w == n.width) return a;
  unsigned from = n.a ? width(x, n.a) : 0;
  switch (n.op) {
    case HD_EXPR_CONST: return hd_expr_const(x, w, n.value >> low);
    case HD_EXPR_EXTRACT: return hd_expr_extract(x, low + (unsigned)n.value, w, n.a);
    case HD_EXPR_CONCAT: {
      unsigned split = width(x, n.b);
      if (low >= split) return hd_expr_extract(x, low - split, w, n.a);
      if (low + w <= split) return hd_expr_extract(x, low, w, n.b);
      return hd_expr_concat(x, hd_expr_extract(x, 0, low + w - split, n.a),
                            hd_expr_extract(x, low, split - low, n.b));
    }
    case HD_EXPR_ZEXT:
      if (low >= from) return hd_expr_const(x, w, 0);
      if (low + w <= from) return hd_expr_extract(x, low, w, n.a);
      return hd_expr_zext(x, w, hd_expr_extract(x, low, from - low, n.a));
    case HD_EXPR_SEXT:
      if (low + w <= from) return hd_expr_extract(x, low, w, n.a);
      if (low < from) return hd_expr_sext(x, w, hd_expr_extract(x, low, from - low, n.a));
      return hd_expr_sext(x, w, hd_expr_extract(x, from - 1, 1, n.a));
    case HD_EXPR_AND:
    case HD_EXPR_OR:
    case HD_EXPR_XOR:
      if (is_const(x, n.b) || (low == 0 && w >= 8))
        return hd_expr_binary(x, n.op, hd_expr_extract(x, low, w, n.a), hd_expr_extract(x, low, w, n.b));
      break;
    case HD_EXPR_ITE:
      if (is_const(x, n.b) || is_const(x, n.c))
        return hd_expr_ite(x, n.a, hd_expr_extract(x, low, w, n.b), hd_expr_extract(x, low, w, n.c));
      break;
    default: break;
  }
  return hd__expr_intern(x,
                         &(struct hd_node){.op = HD_EXPR_EXTRACT, .width = (uint8_t)w, .a = a, .value = low});
}

/* Two neighbouring parts of the same value. */
static bool joins(X x, hd_expr_ref high, hd_expr_ref low, hd_expr_ref *out) {
  struct hd_node h = x->node[high], l = x->node[low];
  if (h.op != HD_EXPR_EXTRACT) return false;
  if (l.op == HD_EXPR_EXTRACT && l.a == h.a && l.value + l.width == h.value) {
    *out = hd_expr_extract(x, (unsigned)l.value, (unsigned)h.width + l.width, h.a);
    return true;
  }
  return false;
}

hd_expr_ref hd_expr_concat(X x, hd_expr_ref high, hd_expr_ref low) {
  struct hd_node h = x->node[high], l = x->node[low];
  unsigned w = (unsigned)h.width + l.width;
  HD_BUG_ON(w > 64);
  hd_expr_ref out;
  if (h.op == HD_EXPR_CONST && l.op == HD_EXPR_CONST)
    return hd_expr_const(x, w, h.value << l.width | l.value);
  if (is(x, high, 0)) return hd_expr_zext(x, w, low);
  if (h.op == HD_EXPR_ZEXT) return hd_expr_zext(x, w, hd_expr_concat(x, h.a, low));
  if (h.op == HD_EXPR_CONCAT) /* nested to the right */
    return hd_expr_concat(x, h.a, hd_expr_concat(x, h.b, low));
  if (joins(x, high, low, &out)) return out;
  /* The sign bits of a value above the value. */
  if (h.op == HD_EXPR_SEXT) {
    struct hd_node bit = x->node[h.a];
    if (l.op == HD_EXPR_SEXT &&
        ((l.a == h.a && bit.width == 1) ||
         (bit.op == HD_EXPR_EXTRACT && bit.a == l.a && bit.width == 1 && bit.value + 1 == width(x, l.a))))
      return hd_expr_sext(x, w, l.a);
    if (bit.op == HD_EXPR_EXTRACT && bit.width == 1 && bit.a == low && bit.value + 1 == l.width)
      return hd_expr_sext(x, w, low);
    if (bit.op == HD_EXPR_EXTRACT && l.op == HD_EXPR_EXTRACT && l.a == bit.a && bit.width == 1 &&
        bit.value + 1 == l.value + l.width)
      return hd_expr_sext(x, w, low);
    if (l.op == HD_EXPR_CONCAT && bit.op == HD_EXPR_EXTRACT && bit.width == 1 && w <= 64) {
      struct hd_node next = x->node[l.a];
      if (next.op == HD_EXPR_EXTRACT && next.a == bit.a && bit.value + 1 == next.value + next.width)
        return hd_expr_concat(x, hd_expr_sext(x, (unsigned)h.width + next.width, l.a), l.b);
    }
  }
  if (h.op == HD_EXPR_EXTRACT && h.width == 1 && h.a == low && h.value + 1 == l.width)
    return hd_expr_sext(x, w, low);
  if (l.op == HD_EXPR_CONCAT && joins(x, high, l.a, &out)) return hd_expr_concat(x, out, l.b);
  if (h.op == HD_EXPR_CONST && l.op == HD_EXPR_CONCAT && is_const(x, l.a))
    return hd_expr_concat(
        x, hd_expr_const(x, (unsigned)h.width + width(x, l.a), h.value << width(x, l.a) | value(x, l.a)),
        l.b);
  return plain(x, HD_EXPR_CONCAT, w, high, low);
}

hd_expr_ref hd_expr_make(X x, const struct hd_node *n) {
  switch (n->op) {
    case HD_EXPR_CONST: return hd_expr_const(x, n->width, n->value);
    case HD_EXPR_INPUT: return hd_expr_symbol(x, n->width, (uint32_t)n->value);
    case HD_EXPR_NOT: return hd_expr_not(x, n->a);
    case HD_EXPR_ITE: return hd_expr_ite(x, n->a, n->b, n->c);
    case HD_EXPR_ZEXT: return hd_expr_zext(x, n->width, n->a);
    case HD_EXPR_SEXT: return hd_expr_sext(x, n->width, n->a);
    case HD_EXPR_EXTRACT: return hd_expr_extract(x, (unsigned)n->value, n->width, n->a);
    case HD_EXPR_CONCAT: return hd_expr_concat(x, n->a, n->b);
    default: return hd_expr_binary(x, n->op, n->a, n->b);
  }
}
