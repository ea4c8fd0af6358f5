/* decision.c: decisions as units of a schedule and as text. Linked into both binaries. */
#include "model/decision.h"

#include "model/op.h"

#define MAX_THREAD 0xffffu /* that has written what a read sees */

int hd_decision_valid(struct hd_decision d) {
  switch (d.kind) {
    case HD_DECIDE_THREAD: return d.value < HD_MAX_THREADS;
    case HD_DECIDE_OUTCOME: return d.value <= UINT32_MAX;
    case HD_DECIDE_INPUT: return 1;
    case HD_DECIDE_READS:
      return hd_write_index(d.value) ? hd_write_thread(d.value) < HD_MAX_THREADS : d.value == 0;
    default: return 0;
  }
}

unsigned hd_decision_put(hd_step *to, struct hd_decision d) {
  if (d.kind == HD_DECIDE_THREAD) {
    to[0] = (hd_step)d.value;
    return 1;
  }
  if (d.kind == HD_DECIDE_OUTCOME && d.value < HD_STEP_CHOICE) {
    to[0] = (hd_step)(HD_STEP_CHOICE | d.value);
    return 1;
  }
  unsigned n = 1;
  while (n < 4 && d.value >> 16 * n) n++;
  to[0] = (hd_step)(HD_STEP_WIDE | (unsigned)d.kind << 8 | n);
  for (unsigned i = 0; i < n; i++) to[1 + i] = (hd_step)(d.value >> 16 * i);
  return 1 + n;
}

unsigned hd_decision_get(const hd_step *from, uint64_t n, struct hd_decision *d) {
  if (!n) return 0;
  unsigned first = from[0];
  if (first < HD_STEP_WIDE) {
    *d = (struct hd_decision){HD_DECIDE_THREAD, first};
    return hd_decision_valid(*d);
  }
  if (first & HD_STEP_CHOICE) {
    *d = (struct hd_decision){HD_DECIDE_OUTCOME, first & ~HD_STEP_CHOICE};
    return 1;
  }
  unsigned kind = first >> 8 & 0x3f, units = first & 0xff;
  if (kind > HD_DECIDE_READS || !units || units > 4 || n < 1 + units) return 0;
  *d = (struct hd_decision){(enum hd_decision_kind)kind, 0};
  for (unsigned i = 0; i < units; i++) d->value |= (uint64_t)from[1 + i] << 16 * i;
  hd_step again[HD_STEPS_MAX];
  if (!hd_decision_valid(*d) || hd_decision_put(again, *d) != 1 + units) return 0; /* not the shortest form */
  return 1 + units;
}

/* ---- text ---- */

static size_t put_number(char *to, uint64_t v, unsigned base) {
  char digit[20];
  size_t n = 0, k = 0;
  do digit[n++] = "0123456789abcdef"[v % base];
  while (v /= base);
  while (n) to[k++] = digit[--n];
  return k;
}

size_t hd_decision_format(char *to, struct hd_decision d) {
  size_t n = 0;
  switch (d.kind) {
    case HD_DECIDE_OUTCOME: to[n++] = 'c'; break;
    case HD_DECIDE_INPUT: to[n++] = 'i'; break;
    case HD_DECIDE_READS: to[n++] = 'r'; break;
    default: break;
  }
  if (d.kind == HD_DECIDE_READS && !d.value) {
    to[n++] = '-';
  } else if (d.kind == HD_DECIDE_READS) {
    n += put_number(to + n, hd_write_thread(d.value), 10);
    to[n++] = '.';
    n += put_number(to + n, hd_write_index(d.value), 10);
  } else {
    n += put_number(to + n, d.value, d.kind == HD_DECIDE_INPUT ? 16 : 10);
  }
  to[n] = '\0';
  return n;
}

/* A number as put_number writes it. Returns what follows it; NULL: it is none, or larger than max. */
static const char *get_number(const char *p, unsigned base, uint64_t max, uint64_t *v) {
  const char *from = p;
  *v = 0;
  for (;; p++) {
    unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                     : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                                              : 99;
    if (digit >= base) break;
    if (*v > (UINT64_MAX - digit) / base) return NULL;
    *v = *v * base + digit;
  }
  return p == from || (*from == '0' && p - from > 1) || *v > max ? NULL : p;
}

int hd_decision_parse(const char *word, struct hd_decision *d) {
  const char *p = word;
  uint64_t index;
  switch (*word) {
    case 'c':
      d->kind = HD_DECIDE_OUTCOME;
      p = get_number(word + 1, 10, UINT32_MAX, &d->value);
      break;
    case 'i':
      d->kind = HD_DECIDE_INPUT;
      p = get_number(word + 1, 16, UINT64_MAX, &d->value);
      break;
    case 'r':
      d->kind = HD_DECIDE_READS;
      d->value = 0;
      if (word[1] == '-') return word[2] == '\0';
      p = get_number(word + 1, 10, MAX_THREAD, &d->value);
      if (!p || *p != '.' || !(p = get_number(p + 1, 10, UINT32_MAX, &index)) || !index) return 0;
      d->value = hd_write_name((unsigned)d->value, (uint32_t)index);
      break;
    default: d->kind = HD_DECIDE_THREAD; p = get_number(word, 10, HD_MAX_THREADS - 1, &d->value);
  }
  return p && !*p && hd_decision_valid(*d);
}
