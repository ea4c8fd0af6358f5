/* library.c: functions of libc whose results keep symbols, and tables of constants. Runs in the tested process.
 *
 * A function that looks at symbolic bytes decides as its textbook loop does: the conditions are those of the loop's
 * branches. So a string has a class of inputs for each of its lengths, not one for each of its contents.
 *
 * Rules
 *  1. What is recorded describes the bytes that the function has read, in the memory itself: nobody else runs between that
 *     and these functions.
 *  2. A result that is not what its expression says (another libc) is made concrete. */
#include <ctype.h>

#include "runtime/symbolic/library.h"

static uint8_t value_at(uint64_t addr) { return *(const uint8_t *)addr; }
static uint32_t byte_at(uint64_t addr) { return hd__bytes_load(addr, 1, value_at(addr)); }

static void decide(uint32_t e, uint64_t pc) { hd__condition(e, HD_WHY_COMPARED, pc); }

/* Decides whether the byte is c, and returns whether it is. */
static bool is(uint32_t e, uint8_t v, uint8_t c, uint64_t pc) {
  decide(hd__expr_binary(HD_EXPR_EQ, 8, e, 0, v, c), pc);
  return v == c;
}

/* Decides whether the byte is from `from` to `to`. */
static bool is_between(uint32_t e, uint8_t v, uint8_t from, uint8_t to, uint64_t pc) {
  uint8_t d = (uint8_t)(v - from);
  uint32_t x = hd__expr_binary(HD_EXPR_ADD, 8, e, 0, v, (uint8_t)-from);
  decide(hd__expr_binary(HD_EXPR_ULE, 8, x, 0, d, (uint8_t)(to - from)), pc);
  return d <= to - from;
}

void hd__library_give(uint32_t e) {
  hd__concrete(hd__shadowed.result[0], HD_WHY_RESULT, 0);
  hd__shadowed.result[0] = e;
  hd__shadowed.own = e != 0;
}

/* ---- strings ---- */

void hd__library_string(const void *s, size_t n, uint64_t pc) {
  uint64_t at = (uint64_t)s;
  if (!hd__bytes_any(at, n)) return;
  for (size_t i = 0; i < n; i++) is(byte_at(at + i), value_at(at + i), 0, pc);
}

void hd__library_search(const void *s, size_t n, int c, bool text, uint64_t pc) {
  uint64_t at = (uint64_t)s;
  if (!hd__bytes_any(at, n)) return;
  for (size_t i = 0; i < n; i++) {
    uint32_t e = byte_at(at + i);
    if (is(e, value_at(at + i), (uint8_t)c, pc)) return;
    if (text && is(e, value_at(at + i), 0, pc)) return;
  }
}

void hd__library_last(const void *s, size_t n, int c, uint64_t pc) {
  uint64_t at = (uint64_t)s;
  if (!hd__bytes_any(at, n)) return;
  hd__library_string(s, n, pc);
  while (n-- > 0)
    if (is(byte_at(at + n), value_at(at + n), (uint8_t)c, pc)) return;
}

/* The byte as tolower returns it. */
static uint32_t lower(uint32_t e, uint8_t *v, uint64_t pc) {
  uint8_t was = *v, d = (uint8_t)(was - 'A');
  *v = (uint8_t)tolower(was);
  if (!e) return 0;
  if (*v != (d <= 'Z' - 'A' ? was + 32 : was)) { /* of another locale */
    hd__concrete(e, HD_WHY_MEMORY, pc);
    return 0;
  }
  uint32_t x = hd__expr_binary(HD_EXPR_ADD, 8, e, 0, was, (uint8_t) - 'A');
  uint32_t upper = hd__expr_binary(HD_EXPR_ULE, 8, x, 0, d, 'Z' - 'A');
  return hd__expr_ite(8, upper, hd__expr_binary(HD_EXPR_ADD, 8, e, 0, was, 32), e, (uint8_t)(was + 32), was);
}

/* One bit: whether it is one of the characters, or, with `end`, a zero. */
static uint32_t one_of(uint32_t e, uint8_t v, const char *set, bool end) {
  bool is = end && !v;
  uint32_t any = end ? hd__expr_binary(HD_EXPR_EQ, 8, e, 0, v, 0) : 0;
  for (; *set; set++) {
    bool equal = v == (uint8_t)*set;
    uint32_t x = hd__expr_binary(HD_EXPR_EQ, 8, e, 0, v, (uint8_t)*set);
    any = any ? hd__expr_binary(HD_EXPR_OR, 1, any, x, is, equal) : x;
    is |= equal;
  }
  return any;
}

void hd__library_span(const void *s, size_t n, const char *set, bool outside, uint64_t pc) {
  uint64_t at = (uint64_t)s;
  if (!hd__bytes_any(at, n)) return;
  for (size_t i = 0; i < n; i++) {
    uint32_t e = byte_at(at + i);
    if (e) decide(one_of(e, value_at(at + i), set, outside), pc);
  }
}

/* Decides whether the block is what begins there. */
static bool begins(uint64_t at, const char *t, size_t m, bool fold, uint64_t pc) {
  uint32_t all = 0;
  bool is = true;
  for (size_t i = 0; i < m; i++) {
    uint32_t e = byte_at(at + i);
    uint8_t v = value_at(at + i), c = fold ? (uint8_t)tolower((uint8_t)t[i]) : (uint8_t)t[i];
    if (fold) e = lower(e, &v, pc);
    bool equal = v == c;
    if (!e && !equal) return false;
    if (e) {
      uint32_t x = hd__expr_binary(HD_EXPR_EQ, 8, e, 0, v, c);
      all = all ? hd__expr_binary(HD_EXPR_AND, 1, all, x, is, equal) : x;
    }
    is &= equal;
  }
  decide(all, pc);
  return is;
}

void hd__library_find(const void *s, size_t n, const char *t, size_t m, bool text, bool fold, uint64_t pc) {
  uint64_t at = (uint64_t)s;
  if (!m || !hd__bytes_any(at, n)) return;
  for (size_t i = 0; i < n; i++) {
    if (i + m <= n && begins(at + i, t, m, fold, pc)) return;
    if (text) is(byte_at(at + i), value_at(at + i), 0, pc);
  }
}

static void differs(uint32_t x, uint32_t y, uint8_t vx, uint8_t vy, int result, uint64_t pc) {
  uint32_t e = hd__expr_binary(HD_EXPR_SUB, 32, hd__expr_cast(HD_EXPR_ZEXT, 8, 32, 0, x),
                               hd__expr_cast(HD_EXPR_ZEXT, 8, 32, 0, y), vx, vy);
  if (e && hd__expr(e)->value == (uint32_t)result)
    hd__library_give(e);
  else
    decide(hd__expr_binary(HD_EXPR_ULT, 8, x, y, vx, vy), pc);
}

void hd__library_compare(const void *a, const void *b, size_t n, bool text, bool fold, int result,
                         uint64_t pc) {
  uint64_t p = (uint64_t)a, q = (uint64_t)b;
  if (!hd__bytes_any(p, n) && !hd__bytes_any(q, n)) return;
  for (size_t i = 0; i < n; i++) {
    uint32_t x = byte_at(p + i), y = byte_at(q + i);
    uint8_t vx = value_at(p + i), vy = value_at(q + i);
    if (fold) x = lower(x, &vx, pc), y = lower(y, &vy, pc);
    decide(hd__expr_binary(HD_EXPR_EQ, 8, x, y, vx, vy), pc);
    if (vx != vy) return differs(x, y, vx, vy, result, pc);
    if (text && is(x ? x : y, vx, 0, pc)) return;
  }
}

/* ---- numbers ---- */

/* A number as it is read: the digits so far. */
struct number {
  uint32_t e;
  uint64_t v, limit; /* the largest that so many digits have */
  bool large;
};

static void add_digit(struct number *n, unsigned base, uint32_t e, uint64_t v) {
  uint32_t shifted = hd__expr_binary(HD_EXPR_MUL, 64, n->e, 0, n->v, base);
  n->e = hd__expr_binary(HD_EXPR_ADD, 64, shifted, e, n->v * base, v);
  n->v = n->v * base + v;
  n->large |= n->limit > ((uint64_t)INT64_MAX - base) / base;
  n->limit = n->limit * base + base - 1;
}

/* Decides whether it is a digit, and adds it. */
static bool digit(struct number *n, unsigned base, uint64_t at, uint64_t pc) {
  uint32_t e = byte_at(at);
  uint8_t v = value_at(at), top = (uint8_t)('0' + (base < 10 ? base : 10) - 1);
  if (is_between(e, v, '0', top, pc)) {
    uint32_t wide = hd__expr_cast(HD_EXPR_ZEXT, 8, 64, 0, e);
    add_digit(n, base, hd__expr_binary(HD_EXPR_SUB, 64, wide, 0, v, '0'), (uint64_t)v - '0');
    return true;
  }
  if (base <= 10) return false;
  for (unsigned k = 0; k < 2; k++) {
    uint8_t from = k ? 'A' : 'a';
    if (!is_between(e, v, from, (uint8_t)(from + base - 11), pc)) continue;
    uint32_t wide = hd__expr_cast(HD_EXPR_ZEXT, 8, 64, 0, e);
    add_digit(n, base, hd__expr_binary(HD_EXPR_SUB, 64, wide, 0, v, from - 10u), (uint64_t)v - from + 10);
    return true;
  }
  return false;
}

static bool space(uint64_t at, uint64_t pc) {
  uint32_t e = byte_at(at);
  return is(e, value_at(at), ' ', pc) || is_between(e, value_at(at), '\t', '\r', pc);
}

/* One of two characters. */
static bool either(uint64_t at, char a, char b, uint64_t pc) {
  uint32_t e = byte_at(at);
  return is(e, value_at(at), (uint8_t)a, pc) || is(e, value_at(at), (uint8_t)b, pc);
}

/* Goes as far as the bytes do: where the number is not one, less was read in the end. None of the bytes before one that is
 * looked at is a zero. */
void hd__library_number(const char *s, int base, unsigned width, uint64_t result, uint64_t pc) {
  uint64_t at = (uint64_t)s;
  struct number x = {0};
  bool minus = false;
  while (space(at, pc)) at++;
  if (either(at, '-', '+', pc)) minus = value_at(at++) == '-';
  if (base == 0 || base == 16) {
    bool zero = is(byte_at(at), value_at(at), '0', pc);
    /* After 0x without a digit the number is 0, and ends before the x. */
    struct number first = {0};
    bool hex = zero && either(at + 1, 'x', 'X', pc) && digit(&first, 16, at + 2, pc);
    if (hex) at += 2;
    if (!base) base = hex ? 16 : zero ? 8 : 10;
  }
  if (base < 2 || base > 36) {
    uint64_t n = 1;
    while (s[n - 1]) n++;
    hd__bytes_concrete((uint64_t)s, n, HD_WHY_MEMORY, pc);
    return;
  }
  while (digit(&x, (unsigned)base, at, pc)) at++;
  if (minus) x.e = hd__expr_binary(HD_EXPR_SUB, 64, 0, x.e, 0, x.v), x.v = 0 - x.v;
  uint64_t m = width < 64 ? (1ull << width) - 1 : ~0ull;
  if (x.large || ((x.v ^ result) & m))
    hd__bytes_concrete((uint64_t)s, at - (uint64_t)s + 1, HD_WHY_MEMORY, pc);
  else
    hd__library_give(hd__expr_cast(HD_EXPR_EXTRACT, 64, width, 0, x.e));
}

/* ---- sorting ---- */

static void exchange(char *a, char *b, size_t size, char *between) {
  hd__copy(between, a, size);
  hd__copy(a, b, size);
  hd__copy(b, between, size);
  hd__bytes_copy((uint64_t)between, (uint64_t)a, size);
  hd__bytes_copy((uint64_t)a, (uint64_t)b, size);
  hd__bytes_copy((uint64_t)b, (uint64_t)between, size);
}

/* By insertion, which keeps the order of equal elements, as glibc's merging does. */
bool hd__library_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
                      void *arg, uint64_t pc) {
  char *first = base, *between = n > 1 && size && hd__bytes_any((uint64_t)base, n * size)
                                     ? hd_arena_get(&rt.arena, size)
                                     : NULL;
  if (!between) return false;
  for (size_t i = 1; i < n; i++)
    for (char *at = first + i * size; at > first; at -= size) {
      int order = compare(at - size, at, arg);
      uint32_t e = hd__symbolic_take_result((uint32_t)order, pc);
      if (e) decide(hd__expr_binary(HD_EXPR_SLT, 32, 0, e, 0, (uint32_t)order), pc);
      if (order <= 0) break;
      exchange(at - size, at, size, between);
    }
  hd__bytes_clear((uint64_t)between, size);
  return true;
}

/* ---- tables of constants ---- */

#define MAX_ENTRIES 4096
#define MAX_PARTS 512 /* ranges of an index in which the entries are the same, or as far from the index */

struct table {
  uint64_t at;
  unsigned size, width; /* of an entry; of an index */
  int64_t first;        /* index of the first entry: as many bits as an index */
  uint32_t index, n;
};

static uint64_t entry(const struct table *t, uint32_t i) {
  uint64_t v = 0;
  hd__copy(&v, (const void *)(t->at + (uint64_t)i * t->size), t->size);
  return v;
}

static bool continues(const struct table *t, uint32_t from, uint32_t i, bool steps) {
  return entry(t, i) == ((entry(t, from) + (steps ? i - from : 0)) & (~0ull >> (64 - 8 * t->size)));
}

/* The end of the part that begins at an entry. */
static uint32_t part_end(const struct table *t, uint32_t from, bool *steps) {
  uint32_t same = from + 1, stepped = from + 1;
  while (same < t->n && continues(t, from, same, false)) same++;
  while (stepped < t->n && continues(t, from, stepped, true)) stepped++;
  *steps = stepped > same;
  return *steps ? stepped : same;
}

static unsigned parts_of(const struct table *t, uint32_t *start) {
  unsigned n = 0;
  bool steps;
  for (uint32_t i = 0; i < t->n; i = part_end(t, i, &steps)) {
    if (n == MAX_PARTS) return 0;
    start[n++] = i;
  }
  return n;
}

/* The expression of an entry of these parts, and its value. */
static uint32_t choose(const struct table *t, const uint32_t *start, unsigned from, unsigned to, uint32_t at,
                       uint64_t *value) {
  unsigned w = 8 * t->size;
  if (to - from == 1) {
    bool steps;
    *value = entry(t, start[from]);
    part_end(t, start[from], &steps);
    if (!steps) return 0;
    uint64_t away = *value - start[from];
    uint32_t i = w < t->width ? hd__expr_cast(HD_EXPR_EXTRACT, t->width, w, 0, t->index)
                              : hd__expr_cast(HD_EXPR_ZEXT, t->width, w, 0, t->index);
    *value = (at + away) & (~0ull >> (64 - w));
    return hd__expr_binary(HD_EXPR_ADD, w, i, 0, at, away);
  }
  unsigned mid = (from + to) / 2;
  uint64_t low, high;
  uint32_t a = choose(t, start, from, mid, at, &low), b = choose(t, start, mid, to, at, &high);
  uint32_t c = hd__expr_binary(HD_EXPR_ULT, t->width, t->index, 0, at, start[mid]);
  bool is_low = at < start[mid];
  *value = is_low ? low : high;
  if (!c) return is_low ? a : b;
  return hd__expr_ite(w, c, a, b, low, high);
}

/* The entry at `index`, an expression of the table's width that counts from 0. */
static uint32_t look_up(const struct table *t) {
  uint32_t start[MAX_PARTS];
  uint64_t value;
  unsigned n = parts_of(t, start);
  return n ? choose(t, start, 0, n, (uint32_t)hd__expr(t->index)->value, &value) : 0;
}

/* The tables of <ctype.h>, which its macros read. */
static bool is_ctype(uint64_t addr, uint64_t *base, uint64_t *size, unsigned *entry_size) {
  const uint64_t b = (uint64_t)(*__ctype_b_loc() - 128), lower = (uint64_t)(*__ctype_tolower_loc() - 128),
                 upper = (uint64_t)(*__ctype_toupper_loc() - 128);
  *base = addr - b < 768 ? b : addr - lower < 1536 ? lower : upper;
  *entry_size = *base == b ? 2 : 4;
  *size = 384 * *entry_size;
  return addr - *base < *size;
}

uint32_t hd__library_table(uint32_t e, uint64_t addr, unsigned size, uint64_t base, uint64_t bytes,
                           uint64_t pc) {
  unsigned entry_size;
  if (!base && !is_ctype(addr, &base, &bytes, &entry_size)) return 0;
  uint64_t at = addr - base;
  if (!size || size > 8 || bytes < size || at > bytes - size || at % size || bytes / size > MAX_ENTRIES)
    return 0;
  uint32_t offset = hd__expr_binary(HD_EXPR_SUB, 64, e, 0, addr, base), bits = size == 8 ? 3 : size / 2;
  struct table t = {.at = base, .size = size, .width = 64, .n = (uint32_t)(bytes / size)};
  t.index = hd__expr_binary(HD_EXPR_LSHR, 64, offset, 0, at, bits);
  if (!offset || !t.index || size & (size - 1)) return 0;
  uint32_t found = look_up(&t);
  if (!found) return 0;
  hd__condition(hd__expr_binary(HD_EXPR_ULE, 64, offset, 0, at, bytes - size), HD_WHY_BOUNDS, pc);
  uint32_t low = hd__expr_cast(HD_EXPR_EXTRACT, 64, bits, 0, offset);
  if (bits) hd__condition(hd__expr_binary(HD_EXPR_EQ, bits, low, 0, 0, 0), HD_WHY_ADDRESS, pc);
  return found;
}

/* ---- bits ---- */

uint32_t hd__library_bits(enum hd_shadowed_bits which, unsigned w, uint32_t a) {
  uint64_t value = hd__expr(a)->value, v = which == HD_SHADOWED_COUNT || which == HD_SHADOWED_REVERSE ? 0 : w;
  uint32_t e = 0;
  for (unsigned i = 0; i < w; i++) {
    unsigned at = which == HD_SHADOWED_TRAILING ? w - 1 - i : i; /* the one that decides comes last */
    uint32_t bit = hd__expr_cast(HD_EXPR_EXTRACT, w, 1, at, a);
    uint64_t is = value >> at & 1, place = which == HD_SHADOWED_TRAILING ? at : w - 1 - at;
    if (which == HD_SHADOWED_COUNT) {
      e = hd__expr_binary(HD_EXPR_ADD, w, e, hd__expr_cast(HD_EXPR_ZEXT, 1, w, 0, bit), v, is);
      v += is;
    } else if (which == HD_SHADOWED_REVERSE) {
      e = i ? hd__expr_concat(e, i, v, bit, 1, is) : bit;
      v = v << 1 | is;
    } else {
      e = hd__expr_ite(w, bit, 0, e, place, v);
      if (is) v = place;
    }
  }
  return e;
}

/* ---- functions of <ctype.h> ---- */

static int (*const character[])(int) = {
#define HD_CHARACTER(name) name,
#include "abi/characters.def"
#undef HD_CHARACTER
};

uint32_t hd__library_character(unsigned which, uint32_t e, uint32_t v, uint64_t pc) {
  static int32_t row[257];
  uint32_t at = v + 1;
  if (which >= sizeof character / sizeof *character || at > 256) return 0;
  for (int c = -1; c < 256; c++) row[c + 1] = (character[which])(c);
  struct table t = {.at = (uint64_t)row, .size = 4, .width = 32, .n = 257};
  t.index = hd__expr_binary(HD_EXPR_ADD, 32, e, 0, v, 1);
  if (!t.index) return 0;
  uint32_t found = look_up(&t);
  if (found) hd__condition(hd__expr_binary(HD_EXPR_ULE, 32, t.index, 0, at, 256), HD_WHY_BOUNDS, pc);
  return found;
}
