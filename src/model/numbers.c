/* numbers.c: thread numbers that do not depend on the order of creation. Linked into both binaries. */
#include "model/numbers.h"

#include <stddef.h>

#include "model/model.h"

unsigned hd_numbers_get(struct hd_numbers *n, uint16_t place) {
  /* Mostly the first thread has created all: a place of its nth child is n. */
  if (place < HD_NUMBERED && __atomic_load_n(&n->place[place], __ATOMIC_RELAXED) == place) return place;
  for (unsigned i = 1; i < HD_NUMBERED; i++) {
    uint16_t is = __atomic_load_n(&n->place[i], __ATOMIC_RELAXED);
    for (unsigned k = i + 1; !is && k < HD_NUMBERED;
         k++) /* a schedule leaves out those that it does not use */
      if (__atomic_load_n(&n->place[k], __ATOMIC_RELAXED) == place) return k;
    if (!is && __atomic_compare_exchange_n(&n->place[i], &is, place, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return i;
    if (is == place) return i;
  }
  return 0;
}

/* 0 where the table does not know; a damaged one leads there too (invariant 2). */
static uint16_t place_of(const struct hd_numbers *n, unsigned number) {
  uint16_t place = number < HD_NUMBERED ? n->place[number] : 0;
  return hd_place_valid(place, number) ? place : 0;
}

static unsigned depth(const struct hd_numbers *n, unsigned number) {
  unsigned d = 0;
  while (number) {
    number = hd_place_parent(place_of(n, number));
    d++;
  }
  return d;
}

int hd_numbers_before_slow(const struct hd_numbers *n, unsigned a, unsigned b) {
  uint16_t pa = place_of(n, a), pb = place_of(n, b);
  if (hd_place_parent(pa) != hd_place_parent(pb)) {
    unsigned x = a, y = b, da = depth(n, a), db = depth(n, b);
    for (; da > db; da--) x = hd_place_parent(place_of(n, x));
    for (; db > da; db--) y = hd_place_parent(place_of(n, y));
    if (x == y) return x == a;
    for (;;) {
      pa = place_of(n, x), pb = place_of(n, y);
      if (hd_place_parent(pa) == hd_place_parent(pb)) break;
      x = hd_place_parent(pa);
      y = hd_place_parent(pb);
    }
  }
  return pa != pb ? pa < pb : a < b;
}

uint64_t hd_numbers_name_slow(const struct hd_numbers *n, unsigned number) {
  uint16_t place = place_of(n, number);
  if (!place) return number;
  return hd_mix64(hd_numbers_name(n, hd_place_parent(place)) * 31 + hd_place_nth(place));
}

int hd_numbers_plain(const struct hd_numbers *n) {
  for (unsigned i = 1; i < HD_NUMBERED; i++)
    if (n->place[i] && n->place[i] != i) return 0;
  return 1;
}
