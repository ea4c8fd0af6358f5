/* worker.c: this process as one of several that share a search. Runs in the tested process.
 *
 * Every process keeps its own visible log, in the order in which it learned the entries: a schedule is stored with
 * the part of the log that was known when its execution started. The shared log is the union. Between two
 * executions a worker publishes what it has learned and takes over what others have. */
#include <time.h>

#include "model/unit.h"
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"

static bool known(uint64_t entry) {
  return entry & HD_VISIBLE_SPIN ? hd__spin_known(entry & ~HD_VISIBLE_SPIN)
                                 : (hd__cell(entry)->wpc & HD_CELL_VISIBLE) != 0;
}

/* Applies what others have learned. */
static void take_over(void) {
  struct hd_status *st = rt.status;
  uint64_t n = __atomic_load_n(&rt.shared->visible_count, __ATOMIC_ACQUIRE), before = st->visible_count;
  for (uint64_t i = st->shared_seen; i < n; i++)
    if (!known(rt.shared_visible[i])) hd__log_visible(rt.shared_visible[i]);
  hd__shadow_learn(before, st->visible_count);
  st->shared_seen = n;
}

/* Adds entries of our log, from `from` on, to the shared one. A systematic search restarts then: the tree explored
 * so far belongs to a coarser program. */
static void publish(uint64_t from) {
  struct hd_shared *sh = rt.shared;
  bool grown = false;
  if (from == rt.status->visible_count && sh->contended == sh->contended_seen) return;
  hd_search_lock(&rt.search);
  if (sh->contended != sh->contended_seen) {
    sh->contended_seen = sh->contended;
    if (rt.config->states == HD_REDUCE_TRY)
      rt.strategy->forget_states(&rt.search);
    else
      grown = true;
  }
  for (uint64_t i = from; i < rt.status->visible_count; i++)
    grown |= hd_search_add_visible(sh, rt.shared_visible, rt.visible[i]) != 0;
  if (grown && rt.strategy->forget) hd_search_restart(&rt.search, rt.strategy);
  hd_search_unlock(&rt.search);
}

/* The search was restarted: resets the counters. */
static void discard(uint64_t epoch) {
  struct hd_status *st = rt.status;
  st->discarded += st->executions + st->infeasible;
  st->executions = st->infeasible = st->blocked = st->symmetric = 0;
  st->alike = (struct hd_set){{0}};
  hd_inexact_restart(st->inexact);
  st->classes = st->class_sum = st->states = st->state_sum = 0;
  for (unsigned i = 0; i < HD_MAX_PHASES; i++) st->phase[i].executions = 0;
  for (unsigned i = 0; i < HD_MAX_TARGETS; i++) st->target[i].executions = 0;
  st->epoch = epoch;
}

void hd__worker_sync(void) {
  publish(rt.status->visible_at_start);
  uint64_t epoch = __atomic_load_n(&rt.shared->epoch, __ATOMIC_ACQUIRE);
  if (epoch != rt.status->epoch) discard(epoch);
  take_over();
  rt.status->visible_at_start = rt.status->visible_count;
}

/* Continues a search that was saved, by a process that may have had another address layout. */
static void load_search(void) {
  struct hd_shared *sh = rt.shared;
  struct hd_reader r = {.data = (const uint8_t *)(HD_SEARCH_BASE + HD_SEARCH_INBOX),
                        .n = sh->inbox,
                        .layout = rt.search.layout};
  if (sh->inbox > HD_SEARCH_SIZE - HD_SEARCH_INBOX ||
      !hd_search_load(&rt.search, rt.strategy, rt.shared_visible, &sh->visible_count, HD_VISIBLE_CAP, &r))
    hd__fail(HD_RTE_ENVIRONMENT, 0,
             "the saved search does not fit: it was saved with other libraries, or the file is damaged");
  for (unsigned i = 0; hd_layout_hash(rt.search.layout) != sh->inbox_layout && i < sh->crew; i++) {
    struct hd_cover *c = (struct hd_cover *)(HD_SEARCH_BASE + HD_SEARCH_COVER + i * HD_COVER_SIZE);
    if (!c->begun) continue;
    hd__zero(c, sizeof *c);
    sh->cover_dropped = 1;
  }
  sh->inbox_full = 0;
  hd_sys3(SYS_madvise, HD_SEARCH_BASE + HD_SEARCH_INBOX, (sh->inbox + HD_PAGE - 1) & ~(HD_PAGE - 1),
          9 /* MADV_REMOVE */);
}

void hd__worker_start(void) {
  struct hd_status *st = rt.status;
  if (rt.ctl->retry) { /* undo the execution that the dead process tried */
    st->visible_count = st->visible_at_start;
    st->shared_seen = 0;
  }
  hd_search_lock(&rt.search);
  hd_search_recover(&rt.search);
  if (rt.shared->inbox_full) load_search();
  if (!rt.shared->numbers.place[1]) rt.shared->numbers = rt.config->numbers;
  if (rt.shared->crew <= rt.search.worker)
    __atomic_store_n(&rt.shared->crew, rt.search.worker + 1, __ATOMIC_RELAXED);
  hd_search_unlock(&rt.search);
  hd__shadow_learn(0, st->visible_count);
  hd__worker_sync();
}

void hd__worker_nap(void) {
  struct timespec t = {0, 200000};
  hd_sys3(SYS_nanosleep, &t, 0, 0);
  rt.status->upkeep++;
}

/* The supervisor asks for a pause, then looks whether we wait; we say that we do not, then look whether it asks. Both in the
 * order in which everybody sees them: so either it sees that we go on, or we see that it asks again. */
void hd__worker_pause(void) {
  while (__atomic_load_n(&rt.shared->pause, __ATOMIC_SEQ_CST) && !rt.ctl->supervisor_stop) {
    __atomic_store_n(&rt.status->paused, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&rt.shared->pause, __ATOMIC_ACQUIRE) && !rt.ctl->supervisor_stop) hd__worker_nap();
    __atomic_store_n(&rt.status->paused, 0, __ATOMIC_SEQ_CST);
  }
}

/* There is no work now. The number drawn for the execution that did not start is lost, but not counted. Returns
 * whether there may be work again: the workers that have some may all leave for lack of a number. */
bool hd__worker_later(void) {
  __atomic_add_fetch(&rt.shared->not_begun, 1, __ATOMIC_RELAXED);
  if (__atomic_load_n(&rt.shared->spent, __ATOMIC_ACQUIRE)) return false;
  hd__worker_nap();
  return true;
}

/* Draws a number, 0 if the limit is reached. That of a sampler is the sample: none may be lost or drawn twice. */
static uint64_t draw(void) {
  if (!rt.strategy->systematic) return hd_search_draw(&rt.search);
  uint64_t n = __atomic_add_fetch(&rt.shared->next_execution, 1, __ATOMIC_RELAXED);
  uint64_t max = rt.config->max_executions;
  if (!max || n <= max + __atomic_load_n(&rt.shared->not_begun, __ATOMIC_RELAXED)) return n;
  __atomic_sub_fetch(&rt.shared->next_execution, 1, __ATOMIC_RELAXED);
  return 0;
}

#define PATIENCE 50 /* times to wait for a number */
#define AT_LEAST 5  /* even when no other worker seems about to return one */

/* There is no number, and another machine may have some. As in hd__worker_pause. */
static uint64_t wait_for_number(void) {
  for (uint64_t n = 0;;) {
    __atomic_store_n(&rt.status->paused, 1, __ATOMIC_SEQ_CST);
    do {
      hd__worker_nap();
    } while (__atomic_load_n(&rt.shared->pause, __ATOMIC_ACQUIRE) && !rt.ctl->supervisor_stop);
    __atomic_store_n(&rt.status->paused, 0, __ATOMIC_SEQ_CST);
    if (rt.ctl->supervisor_stop) return 0;
    if (__atomic_load_n(&rt.shared->pause, __ATOMIC_SEQ_CST)) continue;
    n = draw();
    if (n || __atomic_load_n(&rt.shared->spent, __ATOMIC_ACQUIRE)) return n;
  }
}

uint64_t hd__worker_next(void) {
  if (rt.ctl->retry) {
    const struct hd_status *st = rt.status;
    rt.ctl->retry = 0;
    /* Else the sample was taken, and the process died after its end. A tree that has moved on gives another execution that
     * number. */
    if (st->execution && (rt.strategy->systematic || st->counted != st->execution)) return st->execution;
  }
  uint64_t n = draw();
  if (!n && rt.config->served) return wait_for_number();
  /* An idle worker may hold the last number, and will return it. */
  for (int i = 0; !n && rt.search.workers > 1 && i < PATIENCE; i++) {
    if (i >= AT_LEAST && !hd_crew_others(&rt.shared->hungry, rt.search.worker)) break;
    hd__worker_nap();
    n = draw();
  }
  if (!n) __atomic_store_n(&rt.shared->spent, 1, __ATOMIC_RELEASE);
  return n;
}
