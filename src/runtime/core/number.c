/* number.c: the numbers of the tested threads. Runs in the tested process.
 *
 * A number stands for a place in the tree of creations (model/numbers.h). A systematic search gives numbers for all its
 * executions and workers, in a table in the search area. A schedule that is followed or made smaller brings its own,
 * and the executions of other strategies begin without any, so that they depend on nothing but their number.
 *
 * When all numbers are taken, those of threads that have ended are reused, in the order of creations. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"

static unsigned given = HD_NUMBERED - 1; /* the highest number given in this execution */

static bool shares(void) { return rt.config->mode == HD_MODE_CHECK && rt.strategy->systematic; }

void hd__numbers_init(void) { rt.search.numbers = shares() ? &rt.shared->numbers : &rt.status->numbers; }

void hd__numbers_begin(void) {
  struct hd_numbers *used = &rt.status->numbers;
  for (unsigned i = 1; i <= given; i++) used->place[i] = shares() ? 0 : rt.config->numbers.place[i];
  given = 0;
}

unsigned hd__thread_number(const struct hd_thread *parent, unsigned nth) {
  struct hd_numbers *used = &rt.status->numbers;
  uint16_t place = parent->numbered ? hd_place(parent->id, nth) : 0;
  if (!place) return 0;
  bool shared = shares();
  /* Without numbers of a schedule, those up to `given` are taken, by other places. */
  bool next = !shared && place == given + 1u && place < HD_NUMBERED && rt.config->mode == HD_MODE_CHECK;
  unsigned number = next ? place : hd_numbers_get(shared ? &rt.shared->numbers : used, place);
  if (number) used->place[number] = place;
  if (number > given) given = number;
  return number;
}

unsigned hd__thread_number_now(const struct hd_thread *parent) {
  const unsigned words = rt.nthreads >> 6 < HD_SET_WORDS ? (rt.nthreads >> 6) + 1 : HD_SET_WORDS;
  /* Everything that the last thread of that number did happened before. The new thread continues its clock, and
   * vector clocks and the search treat both as one thread. */
  HD_SET_EACH (i, &rt.gone, words)
    if (hd_vc_get(&parent->vc, i) >= hd_vc_get(&rt.thread[i].vc, i)) return i;
  /* No thread observes the end of a detached thread. Treating both as one thread hides conflicts between them. */
  HD_SET_EACH (i, &rt.gone, words) {
    if (!rt.thread[i].join.detached) continue;
    hd__inexact(HD_INEXACT_THREAD_NUMBERS, parent->op.pc);
    return i;
  }
  return rt.nthreads < HD_NUMBERED ? HD_NUMBERED : rt.nthreads;
}

bool hd__thread_before(const struct hd_thread *a, const struct hd_thread *b) {
  return hd_numbers_before(rt.search.numbers, a->id, b->id);
}
