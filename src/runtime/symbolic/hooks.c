/* hooks.c: what code with symbolic shadows calls (src/plugin/llvm_symbolic.cc). Runs in the tested process.
 *
 * Nothing here is called while nothing is symbolic. A shadow is the number of an expression, 0 if the value is concrete. */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/library.h"
#include "runtime/symbolic/sources.h"

HD_EXPORT struct hd_shadowed hd__shadowed;

#define HOOK(type, name, ...)                           \
  HD_EXPORT type __heddle_symbolic_##name(__VA_ARGS__); \
  type __heddle_symbolic_##name(__VA_ARGS__)

extern const char __ehdr_start[] __attribute__((visibility("hidden"))),
    etext[] __attribute__((visibility("hidden")));

/* Whether that is a function of the runtime, which says what memory it reads. */
static bool is_ours(uint64_t f) { return f - (uint64_t)__ehdr_start < (uint64_t)(etext - __ehdr_start); }

static bool reads_mode(void) { return rt.config->symbolic & HD_SYMBOLIC_READS; }

/* ---- operations ---- */

/* Conditions under which an operation does what the expression says. */
static void check_operation(unsigned op, unsigned w, uint32_t a, uint32_t b, uint64_t va, uint64_t vb,
                            uint64_t pc) {
  uint64_t m = w >= 64 ? ~0ull : (1ull << w) - 1;
  if (op >= HD_EXPR_UDIV && op <= HD_EXPR_SREM) {
    hd__condition(hd__expr_binary(HD_EXPR_EQ, w, b, 0, vb, 0), HD_WHY_DIVISOR, pc);
    if (op != HD_EXPR_SDIV && op != HD_EXPR_SREM) return;
    if (!b && (vb & m) != m) return;
    uint32_t minus = hd__expr_binary(HD_EXPR_EQ, w, b, 0, vb, m);
    hd__condition(minus, HD_WHY_DIVISOR, pc);
    if ((vb & m) == m)
      hd__condition(hd__expr_binary(HD_EXPR_EQ, w, a, 0, va, 1ull << (w - 1)), HD_WHY_DIVISOR, pc);
  } else if (op >= HD_EXPR_SHL && op <= HD_EXPR_ASHR && b) {
    hd__condition(hd__expr_binary(HD_EXPR_ULT, w, b, 0, vb, w), HD_WHY_SHIFT, pc);
  }
}

HOOK(uint32_t, binary, uint32_t what, uint32_t a, uint32_t b, uint64_t va, uint64_t vb) {
  if (!a && !b) return 0;
  unsigned op = what & 0xff, w = what >> 16;
  if (what & HD_SHADOWED_SWAP) {
    uint32_t e = a;
    uint64_t v = va;
    a = b;
    va = vb;
    b = e;
    vb = v;
  }
  check_operation(op, w, a, b, va, vb, HD_CALLER);
  uint32_t e = hd__expr_binary(op, w, a, b, va, vb);
  return what & HD_SHADOWED_NOT ? hd__expr_not(e) : e;
}

/* What = op | from << 8 | to << 16 | low << 24. */
HOOK(uint32_t, cast, uint32_t what, uint32_t a) {
  return a ? hd__expr_cast(what & 0xff, what >> 8 & 0xff, what >> 16 & 0xff, what >> 24, a) : 0;
}

/* What = width | (the condition's value) << 16. */
HOOK(uint32_t, select, uint32_t what, uint32_t c, uint32_t a, uint32_t b, uint64_t va, uint64_t vb) {
  if (!c) return what >> 16 ? a : b;
  return hd__expr_ite(what & 0xffff, c, a, b, va, vb);
}

HOOK(uint32_t, bswap, uint32_t w, uint32_t a) {
  uint32_t e = 0;
  uint64_t v = 0;
  if (!a) return 0;
  uint64_t value = hd__expr(a)->value;
  for (unsigned i = 0; i < w / 8; i++) { /* the lowest byte becomes the highest */
    uint32_t part = hd__expr_cast(HD_EXPR_EXTRACT, w, 8, 8 * i, a);
    e = i ? hd__expr_concat(e, 8 * i, v, part, 8, value >> 8 * i) : part;
    v = v << 8 | (value >> 8 * i & 0xff);
  }
  return e;
}

HOOK(uint32_t, bits, uint32_t what, uint32_t a) {
  return a ? hd__library_bits(what & 0xffff, what >> 16, a) : 0;
}

/* Whether an addition, subtraction or multiplication overflows: what = op | width << 16, HD_SHADOWED_NOT: signed. */
HOOK(uint32_t, overflow, uint32_t what, uint32_t a, uint32_t b, uint64_t va, uint64_t vb) {
  if (!a && !b) return 0;
  unsigned op = what & 0xff, w = what >> 16, wide = op == HD_EXPR_MUL ? 2 * w : w + 1;
  bool is_signed = what & HD_SHADOWED_NOT;
  if (wide > 64) { /* is the product of 64 bits the exact one? Both must stay as they are. */
    if (op == HD_EXPR_MUL) {
      hd__concrete(a, HD_WHY_WIDE, HD_CALLER);
      hd__concrete(b, HD_WHY_WIDE, HD_CALLER);
      return 0;
    }
    uint32_t r = hd__expr_binary(op, w, a, b, va, vb);
    uint64_t v = op == HD_EXPR_ADD ? va + vb : va - vb;
    if (!is_signed)
      return op == HD_EXPR_ADD ? hd__expr_binary(HD_EXPR_ULT, w, r, a, v, va)
                               : hd__expr_binary(HD_EXPR_ULT, w, a, b, va, vb);
    /* the signs of the operands (of b negated) agree, and that of the result does not */
    uint32_t x = hd__expr_binary(HD_EXPR_XOR, w, a, r, va, v);
    uint32_t y = op == HD_EXPR_ADD ? hd__expr_binary(HD_EXPR_XOR, w, b, r, vb, v)
                                   : hd__expr_binary(HD_EXPR_XOR, w, a, b, va, vb);
    uint64_t vy = op == HD_EXPR_ADD ? vb ^ v : va ^ vb;
    uint32_t both = hd__expr_binary(HD_EXPR_AND, w, x, y, va ^ v, vy);
    return hd__expr_binary(HD_EXPR_SLT, w, both, 0, (va ^ v) & vy, 0);
  }
  unsigned extend = is_signed ? HD_EXPR_SEXT : HD_EXPR_ZEXT;
  unsigned up = 64 - w;
  uint64_t xa = is_signed ? (uint64_t)((int64_t)(va << up) >> up) : va << up >> up;
  uint64_t xb = is_signed ? (uint64_t)((int64_t)(vb << up) >> up) : vb << up >> up;
  uint32_t ea = hd__expr_cast(extend, w, wide, 0, a), eb = hd__expr_cast(extend, w, wide, 0, b);
  uint64_t exact = op == HD_EXPR_ADD ? xa + xb : op == HD_EXPR_SUB ? xa - xb : xa * xb;
  uint32_t full = hd__expr_binary(op, wide, ea, eb, xa, xb);
  uint64_t low = is_signed ? (uint64_t)((int64_t)(exact << up) >> up) : exact << up >> up;
  uint32_t narrow = hd__expr_cast(extend, w, wide, 0, hd__expr_cast(HD_EXPR_EXTRACT, wide, w, 0, full));
  return hd__expr_not(hd__expr_binary(HD_EXPR_EQ, wide, full, narrow, exact, low));
}

/* ---- memory ---- */

static bool is_visible(uint64_t addr) { return hd__cell(addr)->wpc & HD_CELL_VISIBLE; }

static void record_access(unsigned kind, uint64_t addr, unsigned size, bool atomic, uint32_t e,
                          uint64_t value, uint64_t pc) {
  hd__symbolic_record(&(struct hd_symbolic_record){.kind = (uint8_t)kind,
                                                   .size = (uint8_t)size,
                                                   .atomic = atomic,
                                                   .expr = e,
                                                   .addr = addr,
                                                   .value = value,
                                                   .site = pc});
}

void hd__symbolic_stored(uint64_t addr, unsigned size, uint32_t e, uint64_t value, uint64_t pc) {
  if (reads_mode() && is_visible(addr)) record_access(HD_RECORD_WRITE, addr, size, false, e, value, pc);
}

static uint32_t load(uint64_t addr, unsigned size, uint64_t value, bool atomic, uint64_t pc) {
  if (HD_UNLIKELY(reads_mode()) && is_visible(addr)) {
    uint32_t e = hd__expr_symbol(HD_EXPR_READ, 8 * size, rt.cur->id, rt.cur->symbolic.reads++, value);
    record_access(HD_RECORD_READ, addr, size, atomic, e, value, pc);
    return e;
  }
  return hd__bytes_load(addr, size, value);
}

static void store(uint64_t addr, unsigned size, uint32_t e, uint64_t value, bool atomic, uint64_t pc) {
  if (HD_UNLIKELY(reads_mode()) && is_visible(addr))
    record_access(HD_RECORD_WRITE, addr, size, atomic, e, value, pc);
  hd__bytes_store(addr, size, e);
}

/* A store that changes nothing does not end the wait of a loop (core/spin.c). It is about to happen. */
static void compare_stored(uint64_t addr, unsigned size, uint32_t e, uint64_t value, uint64_t pc) {
  uint64_t old = 0;
  hd__copy(&old, (const void *)addr, size);
  uint32_t was = hd__bytes_load(addr, size, old);
  hd__condition(hd__expr_binary(HD_EXPR_EQ, 8 * size, was, e, old, value), HD_WHY_COMPARED, pc);
}

/* Before the store. */
HOOK(uint32_t, load, uint64_t addr, uint32_t size, uint64_t value) {
  return hot.active ? load(addr, size, value, false, HD_CALLER) : 0;
}
HOOK(void, store, uint64_t addr, uint32_t size, uint32_t e, uint64_t value) {
  if (HD_UNLIKELY(rt.attend || rt.nspinning) && hot.active && is_visible(addr))
    compare_stored(addr, size, e, value, HD_CALLER);
  if (hot.active) store(addr, size, e, value, false, HD_CALLER);
}

static void use_address(uint32_t e, uint64_t addr, uint64_t size, uint64_t pc) {
  struct hd_block b;
  if (hd__heap_owns(addr) && hd__heap_block(addr, &b) && b.size >= size) {
    /* So that the solver may look for one outside first. */
    hd__condition(hd__expr_binary(HD_EXPR_ULE, 64, hd__expr_binary(HD_EXPR_SUB, 64, e, 0, addr, b.base), 0,
                                  addr - b.base, b.size - size),
                  HD_WHY_BOUNDS, pc);
  }
  hd__concrete(e, HD_WHY_ADDRESS, pc);
}
HOOK(void, address, uint32_t e, uint64_t addr, uint64_t size) { use_address(e, addr, size, HD_CALLER); }

/* Before a load. The expression of what it will load, from an object that never changes; 0: the address is concrete now. */
HOOK(uint32_t, table, uint32_t e, uint64_t addr, uint32_t size, uint64_t base, uint64_t bytes) {
  uint32_t found = hot.active ? hd__library_table(e, addr, size, base, bytes, HD_CALLER) : 0;
  if (!found) use_address(e, addr, size, HD_CALLER);
  return found;
}

/* The result of a function of abi/characters.def. */
HOOK(uint32_t, character, uint32_t which, uint32_t e, uint32_t value, uint32_t result) {
  uint32_t found = hot.active ? hd__library_character(which, e, value, HD_CALLER) : 0;
  if (found && hd__expr(found)->value == result) return found;
  hd__concrete(e, HD_WHY_CALL, HD_CALLER);
  return 0;
}

HOOK(void, lose, uint64_t addr, uint64_t size, uint32_t why) {
  if (hot.active) hd__bytes_concrete(addr, size, why, HD_CALLER);
}
HOOK(void, clear, uint64_t addr, uint64_t size) { hd__bytes_clear(addr, size); }
HOOK(void, copy, uint64_t to, uint64_t from, uint64_t n) {
  if (hot.active) hd__bytes_copy(to, from, n);
}
HOOK(void, set, uint64_t to, uint32_t e, uint64_t n) {
  hd__bytes_clear(to, n);
  if (!e || !hot.active) return;
  uint32_t byte = hd__expr_cast(HD_EXPR_EXTRACT, hd__expr(e)->width, 8, 0, e);
  for (uint64_t i = 0; byte && i < n; i++) hd__bytes_store(to + i, 1, byte);
}

/* ---- atomic operations: after them ---- */

HOOK(uint32_t, atomic_load, uint64_t addr, uint32_t size, uint64_t value) {
  return hot.active ? load(addr, size, value, true, HD_CALLER) : 0;
}
HOOK(void, atomic_store, uint64_t addr, uint32_t size, uint32_t e, uint64_t value) {
  if (HD_UNLIKELY(rt.attend || rt.nspinning) &&
      hot.active) { /* what was there before is not known any more */
    hd__concrete(e, HD_WHY_COMPARED, HD_CALLER);
    hd__bytes_concrete(addr, size, HD_WHY_COMPARED, HD_CALLER);
  }
  if (hot.active) store(addr, size, e, value, true, HD_CALLER);
}
/* What = op, or 0 for an exchange; HD_SHADOWED_NOT: negated (nand). */
HOOK(uint32_t, atomic_update, uint64_t addr, uint32_t size, uint32_t what, uint32_t e, uint64_t value,
     uint64_t old) {
  if (!hot.active) return 0;
  uint32_t was = load(addr, size, old, true, HD_CALLER);
  uint64_t now = value;
  unsigned op = what & 0xff, w = 8 * size;
  if (op) {
    e = hd__expr_binary(op, w, was, e, old, value);
    if (what & HD_SHADOWED_NOT) e = hd__expr_not(e);
    now = e ? hd__expr(e)->value : 0;
  }
  if (op == 0 || op == HD_EXPR_AND || op == HD_EXPR_OR) {
    /* The runtime treats one that changes nothing as a waiting loop's. */
    uint64_t result = op == HD_EXPR_AND ? old & value : op == HD_EXPR_OR ? old | value : value;
    if (what & HD_SHADOWED_NOT) result = ~result;
    hd__condition(hd__expr_binary(HD_EXPR_EQ, w, was, e, old, result), HD_WHY_COMPARED, HD_CALLER);
    now = result;
  }
  if (!e && op) { /* concrete after all */
    now = op == HD_EXPR_ADD   ? old + value
          : op == HD_EXPR_SUB ? old - value
          : op == HD_EXPR_XOR ? old ^ value
                              : now;
  }
  store(addr, size, e, now, true, HD_CALLER);
  return was;
}
HOOK(uint32_t, atomic_cas, uint64_t addr, uint32_t size, uint32_t expected, uint32_t desired,
     uint64_t vexpected, uint64_t vdesired, uint64_t old) {
  if (!hot.active) return 0;
  uint32_t was = load(addr, size, old, true, HD_CALLER);
  uint64_t m = size == 8 ? ~0ull : (1ull << 8 * size) - 1;
  hd__condition(hd__expr_binary(HD_EXPR_EQ, 8 * size, was, expected, old, vexpected), HD_WHY_BRANCH,
                HD_CALLER);
  if (((old ^ vexpected) & m) == 0) store(addr, size, desired, vdesired, true, HD_CALLER);
  return was;
}

/* ---- control ---- */

HOOK(void, branch, uint32_t e) { hd__condition(e, HD_WHY_BRANCH, HD_CALLER); }

/* Up to the case that is taken, in the order of the table: so that searches with other cases meet the same conditions. */
HOOK(void, switch, uint32_t e, uint32_t w, uint32_t n, const uint64_t *value) {
  uint64_t is = hd__expr(e)->value;
  for (uint32_t i = 0; i < n; i++) {
    hd__condition(hd__expr_binary(HD_EXPR_EQ, w, e, 0, is, value[i]), HD_WHY_CASE, HD_CALLER);
    if (value[i] == is) return;
  }
}

HOOK(void, concrete, uint32_t e, uint32_t why) { hd__concrete(e, why, HD_CALLER); }

/* ---- calls ---- */

static void drop_arguments(uint64_t pc) {
  for (unsigned i = 0; i < HD_SHADOWED_ARGS; i++) {
    hd__concrete(hd__shadowed.arg[i], HD_WHY_CALL, pc);
    hd__shadowed.arg[i] = 0;
  }
}

/* What was returned to code without shadows: that may do anything with it. */
static void drop_results(uint64_t pc) {
  for (unsigned i = 0; i < HD_SHADOWED_RESULTS; i++) {
    hd__concrete(hd__shadowed.result[i], HD_WHY_RESULT, pc);
    hd__shadowed.result[i] = 0;
  }
}
HOOK(void, dropped, void) { drop_results(HD_CALLER); }

/* The shadow of a result, for the caller. */
HOOK(uint32_t, result, uint32_t part, uint64_t value) {
  uint32_t e = hd__shadowed.result[part];
  hd__shadowed.result[part] = 0;
  hd__shadowed.own = 0;
  if (hd__expr(e)->value == value) return e;
  hd__concrete(e, HD_WHY_RESULT, HD_CALLER);
  return 0;
}

uint32_t hd__symbolic_take_result(uint64_t value, uint64_t pc) {
  uint32_t e = hd__shadowed.result[0];
  hd__shadowed.result[0] = 0;
  if (e && hd__expr(e)->value != value) hd__concrete(e, HD_WHY_RESULT, pc), e = 0;
  drop_results(pc);
  return e;
}

/* A function begins, and shadows of arguments are there: they may be another one's, that has none. */
HOOK(void, enter, uint64_t function) {
  if (hd__shadowed.callee != function) drop_arguments(HD_CALLER);
  hd__shadowed.callee = 0;
  hd__copy(hd__shadowed.taken, hd__shadowed.arg, sizeof hd__shadowed.taken);
  hd__zero(hd__shadowed.arg, sizeof hd__shadowed.arg);
}

/* The function that was called has no shadows; it got `n` pointers. */
HOOK(void, called, uint32_t n, const uint64_t *pointer) {
  uint64_t f = hd__shadowed.callee;
  hd__shadowed.callee = 0;
  drop_arguments(HD_CALLER);
  if (!hd__shadowed.own || !is_ours(f)) drop_results(HD_CALLER);
  hd__shadowed.own = 0;
  if (!hot.active || is_ours(f) || !n || !hd__bytes_anywhere()) return;
  hd__inexact(HD_INEXACT_INPUT_CALL, HD_CALLER);
  for (uint32_t i = 0; i < n; i++) hd__bytes_concrete_around(pointer[i], HD_CALLER);
}

/* What standard output and error were when the program began: device and number. */
static struct { uint64_t dev, ino; } standard[3];

static bool identify(int fd, uint64_t *dev, uint64_t *ino) {
  struct stat st;
  if (hd_sys3(SYS_fstat, fd, (long)&st, 0) < 0) return false;
  *dev = st.st_dev;
  *ino = st.st_ino;
  return true;
}

static bool is_original(int fd) {
  uint64_t dev, ino;
  return identify(fd, &dev, &ino) && dev == standard[fd].dev && ino == standard[fd].ino;
}

/* A function that writes is called. Not 0: what it writes goes to standard output or error, as they were when the program began. Then
 * the program does not depend on it: only on where strings end that it reads. */
HOOK(uint32_t, output, uint64_t stream, uint32_t how) {
  if (!hot.active) return 0;
  int fd = how & HD_SHADOWED_DESCRIPTOR            ? (int)stream
           : !stream || stream == (uint64_t)stdout ? 1
           : stream == (uint64_t)stderr            ? 2
                                                   : -1;
  if (fd < 1 || fd > 2 || !is_original(fd)) return 0;
  rt.cur->symbolic.written = (uint8_t)(how & (HD_SHADOWED_TEXT | HD_SHADOWED_BLOCK));
  return 1;
}
HOOK(void, written, void) { rt.cur->symbolic.written = 0; }

static unsigned with_shadows; /* object files */
HD_EXPORT void __heddle_symbolic_init(void);
void __heddle_symbolic_init(void) { with_shadows++; }

bool hd__symbolic_whole(void) { return with_shadows >= hd__instrumented(); }

/* ---- what is kept of an execution ---- */

int hd__symbolic_init(void) {
  struct hd_symbolic *s = hd__symbolic();
  s->no_shadow = !with_shadows;
  for (int fd = 1; fd <= 2; fd++) identify(fd, &standard[fd].dev, &standard[fd].ino);
  return 0;
}

void hd__symbolic_begin(void) {
  if (!rt.config->symbolic) return;
  hd__zero(&hd__shadowed, sizeof hd__shadowed);
  hd__bytes_begin();
  hd__sources_begin();
  hd__symbolic()->nlog = 0;
  hd__shadowed.active = reads_mode();
}

void hd__symbolic_end(void) {
  if (!rt.config->symbolic || !rt.cur) return;
  drop_arguments(0);
  drop_results(0);
}

void hd__symbolic_reads_slow(uint64_t addr, uint64_t n, uint64_t pc) {
  if (!hot.active || rt.cur->symbolic.quiet) return;
  if (rt.cur->symbolic.written == HD_SHADOWED_BLOCK) return;
  if (rt.cur->symbolic.written) return hd__library_string((const void *)addr, n, pc);
  hd__bytes_concrete(addr, n, HD_WHY_MEMORY, pc);
}
