/* inexact.h: why a search is not complete, counted by reason (inexact.def). Linked into both binaries.
 *
 * The tested process notes a reason where it arises, in the shared status, so that nothing is lost when the process
 * dies. The supervisor sums the counts of all workers and adds how the search ended. A search is complete only if no
 * reason was noted. */
#ifndef HD_MODEL_INEXACT_H
#define HD_MODEL_INEXACT_H

#include <stdint.h>

enum hd_inexact {
#define HD_INEXACT(id, class, name, text, advice) HD_INEXACT_##id,
#include "model/inexact.def"
#undef HD_INEXACT
  HD_INEXACT_COUNT
};

/* Bits, so that several can be asked for at once. */
enum hd_inexact_class {
  HD_CLASS_END = 1,   /* how the search was run or ended; noted by the supervisor */
  HD_CLASS_LIMIT = 2, /* a limit or an option left something out; more executions would not change that */
  HD_CLASS_CUT = 4,   /* an execution was cut; forgotten with the execution when the search restarts */
  HD_CLASS_GAP = 8,   /* what was explored may lack schedules; sampling may still find them */
  HD_CLASS_ANY = 15,
  HD_CLASS_DROPPED = HD_CLASS_CUT | HD_CLASS_GAP, /* an execution was dropped: a gap in this tree only */
};

/* One reason: how often it was noted, and the return address of the first place (0: none). */
struct hd_inexact_count {
  uint64_t count, first_pc;
};
#define HD_INEXACT_DETAIL 48 /* from this bit of first_pc on: a number that belongs to the reason */

extern const uint8_t hd_inexact_class[HD_INEXACT_COUNT];

/* The functions below work on arrays of HD_INEXACT_COUNT entries. */

static inline void hd_inexact_note(struct hd_inexact_count *a, enum hd_inexact why, uint64_t pc) {
  if (!a[why].count) a[why].first_pc = pc;
  a[why].count++;
}

/* How often a reason of one of the classes was noted. */
uint64_t hd_inexact_sum(const struct hd_inexact_count *a, unsigned classes);
/* Adds the counts of reasons that are of these classes only; keeps the first places that are known. */
void hd_inexact_add(struct hd_inexact_count *to, const struct hd_inexact_count *from, unsigned classes);
/* The search restarts: forgets what belongs to executions that no longer count. */
void hd_inexact_restart(struct hd_inexact_count *a);

#endif
