/* bytes.c: which bytes of the program's memory have a symbolic value, and which. Runs in the tested process.
 *
 * For each byte a word: the expression, shifted by 3, and which of its bytes it is; 0: concrete. Words are in pages, for
 * those pages of memory that have any. */
#include "runtime/memory/memory.h"
#include "runtime/symbolic/symbolic.h"

#define PAGES 4096 /* with symbolic bytes, in one execution */
#define SLOTS (2 * PAGES)

struct page {
  uint32_t word[HD_PAGE];
};

static struct {
  uint64_t number[SLOTS]; /* of the page, plus 1 */
  uint16_t at[SLOTS];
  struct page *page;
  unsigned n;
  uint16_t slot[PAGES]; /* in use */
  uint64_t last;        /* looked up last, and its page */
  struct page *last_page;
} map;

void hd__bytes_begin(void) {
  for (unsigned i = 0; i < map.n; i++) {
    map.number[map.slot[i]] = 0;
    hd__zero(&map.page[i], sizeof map.page[i]);
  }
  map.n = 0;
  map.last = 0;
}

static struct page *page_of(uint64_t addr, bool make) {
  uint64_t number = (addr / HD_PAGE) + 1;
  if (map.last == number) return map.last_page;
  unsigned slot = (unsigned)(hd_mix64(number) % SLOTS);
  while (map.number[slot] && map.number[slot] != number) slot = (slot + 1) % SLOTS;
  if (!map.number[slot]) {
    if (!make) return NULL;
    if (!map.page) map.page = hd__map(PAGES * sizeof(struct page));
    if (!map.page || map.n == PAGES) {
      hd__symbolic()->full |= HD_FULL_EXPRS;
      return NULL;
    }
    map.number[slot] = number;
    map.slot[map.n] = (uint16_t)slot;
    map.at[slot] = (uint16_t)map.n++;
  }
  map.last = number;
  return map.last_page = &map.page[map.at[slot]];
}

static uint32_t get(uint64_t addr) {
  const struct page *p = page_of(addr, false);
  return p ? p->word[addr % HD_PAGE] : 0;
}

static void put(uint64_t addr, uint32_t word) {
  struct page *p = page_of(addr, word != 0);
  if (p) p->word[addr % HD_PAGE] = word;
}

/* The value of that byte. */
static uint8_t value_of(uint32_t word) { return (uint8_t)(hd__expr(word >> 3)->value >> (word & 7) * 8); }

bool hd__bytes_anywhere(void) { return map.n != 0; }

bool hd__bytes_any(uint64_t addr, uint64_t n) {
  while (n) {
    const struct page *p = page_of(addr, false);
    uint64_t here = HD_PAGE - addr % HD_PAGE;
    if (here > n) here = n;
    for (uint64_t i = 0; p && i < here; i++)
      if (p->word[addr % HD_PAGE + i]) return true;
    addr += here;
    n -= here;
  }
  return false;
}

/* Up to 8 bytes from there: `word` are theirs, and `value` what the memory has. */
static uint32_t join(const uint32_t *word, unsigned size, uint64_t value) {
  uint32_t e = 0;
  unsigned width = 0;
  for (unsigned i = 0; i < size;) {
    unsigned n = 1;
    uint32_t part = 0;
    if (word[i]) {
      uint32_t x = word[i] >> 3;
      while (i + n < size && word[i + n] == word[i] + n && ((word[i] + n) >> 3) == x) n++;
      part = hd__expr_cast(HD_EXPR_EXTRACT, hd__expr(x)->width, 8 * n, 8 * (word[i] & 7), x);
    } else {
      while (i + n < size && !word[i + n]) n++;
    }
    uint64_t v = value >> 8 * i;
    e = width ? hd__expr_concat(part, 8 * n, v, e, width, value) : part;
    width += 8 * n;
    i += n;
  }
  return e;
}

uint32_t hd__bytes_load(uint64_t addr, unsigned size, uint64_t value) {
  uint32_t word[8], any = 0;
  const struct page *p = page_of(addr, false);
  if (HD_LIKELY(addr % HD_PAGE + size <= HD_PAGE)) {
    if (!p) return 0;
    for (unsigned i = 0; i < size; i++) any |= word[i] = p->word[addr % HD_PAGE + i];
  } else {
    for (unsigned i = 0; i < size; i++) any |= word[i] = get(addr + i);
  }
  if (!any) return 0;
  for (unsigned i = 0; i < size; i++) {
    if (!word[i] || value_of(word[i]) == (uint8_t)(value >> 8 * i)) continue;
    word[i] = 0; /* rule 3 of symbolic.h */
    put(addr + i, 0);
  }
  return join(word, size, value);
}

void hd__bytes_store(uint64_t addr, unsigned size, uint32_t e) {
  for (unsigned i = 0; i < size; i++) put(addr + i, e ? e << 3 | i : 0);
}

void hd__bytes_clear(uint64_t addr, uint64_t n) {
  while (n) {
    struct page *p = page_of(addr, false);
    uint64_t here = HD_PAGE - addr % HD_PAGE;
    if (here > n) here = n;
    if (p) hd__zero(&p->word[addr % HD_PAGE], here * sizeof p->word[0]);
    addr += here;
    n -= here;
  }
}

void hd__bytes_copy(uint64_t to, uint64_t from, uint64_t n) {
  if (!hd__bytes_any(from, n)) return hd__bytes_clear(to, n);
  if (to <= from)
    for (uint64_t i = 0; i < n; i++) put(to + i, get(from + i));
  else
    for (uint64_t i = n; i-- > 0;) put(to + i, get(from + i));
}

bool hd__bytes_concrete(uint64_t addr, uint64_t n, enum hd_symbolic_why why, uint64_t pc) {
  bool any = false;
  for (uint64_t i = 0; i < n;) {
    if (!page_of(addr + i, false)) {
      i += HD_PAGE - (addr + i) % HD_PAGE;
      continue;
    }
    uint32_t word = get(addr + i);
    if (!word) {
      i++;
      continue;
    }
    any = true;
    uint32_t e = word >> 3;
    unsigned size = (hd__expr(e)->width + 7u) / 8, k = 1;
    while (k < size && !(word & 7) && i + k < n && get(addr + i + k) == word + k) k++;
    if (k < size) {
      k = 1;
      e = hd__expr_cast(HD_EXPR_EXTRACT, hd__expr(e)->width, 8, 8 * (word & 7), e);
    }
    hd__concrete(e, why, pc);
    i += k;
  }
  return any;
}

#define GAP 256 /* bytes: memory that a function gets a pointer to, as far as is known */

void hd__bytes_concrete_around(uint64_t addr, uint64_t pc) {
  struct hd_block b;
  if (hd__heap_owns(addr)) {
    if (hd__heap_block(addr, &b)) hd__bytes_concrete(b.base, b.size, HD_WHY_MEMORY, pc);
    return;
  }
  uint64_t lo = addr, hi = addr;
  for (uint64_t at = addr; at - hi < GAP; at++)
    if (get(at)) hi = at + 1;
  for (uint64_t at = addr; lo - at < GAP && at; at--)
    if (get(at)) lo = at;
  hd__bytes_concrete(lo, hi - lo, HD_WHY_MEMORY, pc);
}
