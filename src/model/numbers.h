/* numbers.h: thread numbers that do not depend on the order of creation. Linked into both binaries.
 *
 * A number stands for a place in the tree of creations: the n-th thread that a thread of another number creates. A search
 * gives numbers in the order in which it meets the places, and keeps them for all its executions, so creations of different
 * threads commute. Other searches may number the places otherwise; hd_numbers_before and hd_numbers_name are the same in
 * all of them.
 *
 * Invariants
 *  1. A place is added and never changes: with one compare-and-swap, so that several processes can share a table.
 *  2. A number is greater than that of the parent.
 *  3. Numbers from HD_NUMBERED on stand for no place. Who gets them, and who gets the number of a thread that has
 *     ended, is a matter of order (op.spawn.ordered). */
#ifndef HD_MODEL_NUMBERS_H
#define HD_MODEL_NUMBERS_H

#include <stdint.h>

#define HD_NUMBERED 256

struct hd_numbers {
  uint16_t place[HD_NUMBERED]; /* parent << 8 | n, from 1; 0: none. The first thread has none. */
};

/* 0: it cannot have a number that stands for it. */
static inline uint16_t hd_place(unsigned parent, unsigned nth) {
  return parent < HD_NUMBERED && nth < 256 ? (uint16_t)(parent << 8 | nth) : 0;
}
static inline unsigned hd_place_parent(unsigned place) { return place >> 8; }
static inline unsigned hd_place_nth(unsigned place) { return place & 0xff; }

/* The number of a place, which is added where it is not known; 0: there is no room. */
unsigned hd_numbers_get(struct hd_numbers *n, uint16_t place);
/* Whether thread a comes before thread b, a < b where nothing else is known: parents before their children, siblings in the
 * order of creation. `n` may be NULL. */
int hd_numbers_before_slow(const struct hd_numbers *n, unsigned a, unsigned b);
static inline int hd_numbers_before(const struct hd_numbers *n, unsigned a, unsigned b) {
  if (!n || !a || !b || a >= HD_NUMBERED || b >= HD_NUMBERED) return a < b;
  if (hd_place_parent(n->place[a] ^ n->place[b])) return hd_numbers_before_slow(n, a, b);
  return n->place[a] != n->place[b] ? n->place[a] < n->place[b] : a < b;
}
/* Stands for the thread in every search. `n` may be NULL. The n-th that the first thread creates is n, as in most
 * programs. */
uint64_t hd_numbers_name_slow(const struct hd_numbers *n, unsigned number);
static inline uint64_t hd_numbers_name(const struct hd_numbers *n, unsigned number) {
  if (!n || number >= HD_NUMBERED || !n->place[number]) return number;
  return hd_place_parent(n->place[number]) ? hd_numbers_name_slow(n, number) : hd_place_nth(n->place[number]);
}
/* Whether the n-th thread is the n-th that the first thread creates, for all that are known. */
int hd_numbers_plain(const struct hd_numbers *n);
/* Whether that place may have that number, in a table that is read from outside. */
static inline int hd_place_valid(uint16_t place, unsigned number) {
  return hd_place_nth(place) && hd_place_parent(place) < number;
}

#endif
