/* decision.h: what was decided in an execution, in order: a schedule. Linked into both binaries.
 *
 * A decision is one of four: which thread goes next; which outcome a choice has; which value an input has; which write
 * a read sees. All but the first belong to the step of the thread that was decided last. Today's runtime asks for
 * threads and outcomes only.
 *
 * In memory a schedule is a row of 16-bit units (hd_step). A thread and an outcome that fits take one unit:
 *   0x0000-0x3fff  the number of a thread
 *   0x8000-0xffff  0x8000 | outcome
 *   0x4000-0x7fff  0x4000 | kind << 8 | n: a wide decision, whose value is in the next n units (1 to 4), lowest first
 * Every decision has one encoding: the shortest. */
#ifndef HD_MODEL_DECISION_H
#define HD_MODEL_DECISION_H

#include <stddef.h>
#include <stdint.h>

typedef uint16_t hd_step;
#define HD_STEP_WIDE 0x4000u
#define HD_STEP_CHOICE 0x8000u  /* | outcome */
#define HD_STEPS_MAX 5          /* units of one decision */
#define HD_CHOICES_MAX 0x7fffff /* outcomes of one choice, as far as a search goes */

enum hd_decision_kind { HD_DECIDE_THREAD, HD_DECIDE_OUTCOME, HD_DECIDE_INPUT, HD_DECIDE_READS };

struct hd_decision {
  enum hd_decision_kind kind;
  /* THREAD: its number. OUTCOME: at least 32 bits of it may be used. INPUT: the value. READS: the write that is seen, as
   * hd_write_name(). */
  uint64_t value;
};

/* The write that a read sees: the index-th event of a thread, from 1; index 0 (of thread 0): the initial value. */
static inline uint64_t hd_write_name(unsigned thread, uint32_t index) {
  return (uint64_t)thread << 32 | index;
}
static inline unsigned hd_write_thread(uint64_t name) { return (unsigned)(name >> 32); }
static inline uint32_t hd_write_index(uint64_t name) { return (uint32_t)name; }

/* Whether it can be written down: the value is in the range of its kind. */
int hd_decision_valid(struct hd_decision d);
/* Appends the decision. Returns the number of units, at most HD_STEPS_MAX. pre: it is valid. */
unsigned hd_decision_put(hd_step *to, struct hd_decision d);
/* Reads the decision at `from`, of which n units are there. Returns the number of its units; 0: they are none. */
unsigned hd_decision_get(const hd_step *from, uint64_t n, struct hd_decision *d);

/* The same as a word of text: 3, c1, i-or-hex, r3.17 or r-. docs/formats.md */
#define HD_DECISION_TEXT 32
/* Returns the length, less than HD_DECISION_TEXT. */
size_t hd_decision_format(char *to, struct hd_decision d);
/* Reads the whole word, which must be as hd_decision_format writes it. Returns whether it is. */
int hd_decision_parse(const char *word, struct hd_decision *d);

#endif
