/* checkpoint.c: runs the beginning of the program, up to its first choice, only once. Runs in the tested process, on the
 * scheduler's stack; hd__prefix_end on that of the first thread.
 *
 * Until the first thread creates another one, or makes a choice, an execution has only one continuation: its prefix. Where
 * that takes long, the state at its end becomes the one that a restart restores. In place of the prefix, its
 * recorded operations are replayed to the strategy (hd__checkpoint_feed), which sees what it would see otherwise.
 *
 * Invariants
 *  1. The state at the checkpoint is that of any execution which reaches it: what is learned between executions (visible
 *     memory) concerns operations beside other threads. Only places of waiting loops may concern the prefix: when one is
 *     learned, the checkpoint is stale.
 *  2. A checkpoint has one thread, the first, and nobody else has run. So what the prefix accessed happened before
 *     everything that follows, and cannot race: the shadow memory need not be restored. Each execution has new segments.
 *     Only a signal handler in the first thread asks what that thread itself has accessed (hd__checkpoint_handler).
 *  3. Restored are: the program's memory, the first thread's stack included, as by any restart (snapshot.c, heap.c); the
 *     kernel's side, as by any restart, but what the prefix did to it stays (hd__*_keep); the runtime's variables with
 *     HD_EXEC, its arena, the first thread, its call stack and the table of objects, copied or as pages like the program's;
 *     and the fields of rt in hd__checkpoint_load.
 *  4. The state at main is lost when a checkpoint is taken. What needs it (more identities, a stale checkpoint) ends the
 *     process: another one starts, and runs the execution under way again. */
#include <sys/mman.h>

#include "runtime/core/checkpoint.h"
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

/* A prefix is worth a checkpoint when it takes that long: surely, or measured several times. A restart from a checkpoint
 * copies a few pages more than one from main, which takes 1 or 2 microseconds. */
#define LONG_NS 1000000u
#define SHORT_NS 20000u
#define WAITED_NS 50000000u /* of real time: it waits for something outside */
#define MEASURED 4
#define MAX_FED (1u << 20) /* operations of a prefix */
#define MAX_AGAIN 16       /* processes that a search starts once more */

/* A call of the strategy. */
struct fed {
  struct hd_op op;
  uint8_t event; /* `event` was called; else `pick` */
  uint8_t flags;
};
static struct fed *fed;
static uint32_t nfed;
static bool too_long, waits;

static bool taken;
static bool from_there; /* the execution has started from it */
static unsigned measured;
static uint64_t began, began_at, shortest = UINT64_MAX; /* processor time, real time */
static bool only_watch;
static uint32_t spins; /* places of waiting loops that were known */
static bool any_noted;
static struct hd_inexact_count noted[HD_INEXACT_COUNT]; /* by the prefix */
#define MAX_LEARNED 64
static uint64_t learned[MAX_LEARNED]; /* granules that the prefix made visible, by signal handlers */
static unsigned nlearned;
static struct hd_rt saved;
static struct hd_hot saved_hot;
static struct hd_thread *saved_thread;
static char *calls_copy, *arena_copy; /* NULL: the arena is restored by pages */
#define ARENA_COPIED (16 << 10)
static uint16_t target[HD_MAX_TARGETS];
static unsigned ntargets;

/* The variables with HD_EXEC, and those with HD_EXEC_LARGE. The first one makes these start with a page; the
 * last page may hold others, and is copied as far as it is theirs. */
#define SMALL_MAX 4096
extern char hd__small_lo[] __asm__("__start_hd_exec") __attribute__((visibility("hidden")));
extern char hd__small_hi[] __asm__("__stop_hd_exec") __attribute__((visibility("hidden")));
static char small[SMALL_MAX];
static HD_EXEC_LARGE _Alignas(4096) char first_page __attribute__((used));
extern char hd__large_lo[] __asm__("__start_hd_exec_large") __attribute__((visibility("hidden")));
extern char hd__large_hi[] __asm__("__stop_hd_exec_large") __attribute__((visibility("hidden")));
static char tail[HD_PAGE];

static char *page_of(const void *p) { return (char *)((uint64_t)p & ~(HD_PAGE - 1)); }
static size_t small_size(void) { return (size_t)(hd__small_hi - hd__small_lo); }
static size_t tail_size(void) { return (size_t)(hd__large_hi - page_of(hd__large_hi)); }

/* ---- the strategy during a prefix ---- */

static const struct hd_strategy *real; /* while `recorder` stands in for it */
static struct hd_strategy recorder;

static void add(const struct hd_op *op, bool event, unsigned flags) {
  if (!rt.prefix) return;
  if (nfed == MAX_FED) {
    too_long = true;
    return;
  }
  const uint32_t *list = hd_op_payload(op->kind) == HD_PAYLOAD_READY ? op->ready.alternatives : NULL;
  waits |= hd_op_payload(op->kind) == HD_PAYLOAD_AWAIT || rt.narmed ||
           (list && ((char *)list < rt.arena.base || (char *)list >= rt.arena.next));
  fed[nfed++] = (struct fed){*op, event, (uint8_t)flags};
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  add(p->op[0], false, 0);
  return real->pick(s, p);
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  add(op, true, flags);
  real->event(s, op, flags, choice, nchoices);
}

static bool wanted(void) {
  const struct hd_config *c = rt.config;
  if (c->mode != HD_MODE_CHECK || c->checkpoint == HD_CHECKPOINT_NEVER || hot.log || c->debug) return false;
  if (rt.status->restart == HD_RESTART_FORK || rt.status->unkept) return false;
  return c->checkpoint == HD_CHECKPOINT_ALWAYS || measured < MEASURED;
}

void hd__prefix_begin(bool never) {
  if (!wanted()) return;
  if (!fed) fed = hd__map(MAX_FED * sizeof *fed);
  if (!fed) return;
  nfed = 0;
  too_long = waits = false;
  only_watch = never;
  spins = hd__spin_places();
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++) noted[i].count = rt.status->inexact[i].count;
  real = rt.strategy;
  rt.known.steps = 0; /* all of them are recorded */
  recorder = *real;
  recorder.pick = pick;
  if (real->event) recorder.event = event;
  rt.strategy = &recorder;
  rt.prefix = true;
  began = hd__cpu_time();
  began_at = hd__real_time();
}

void hd__prefix_over(void) {
  if (rt.strategy == &recorder) rt.strategy = real;
  rt.prefix = false;
}

/* ---- whether to take one ---- */

static bool pays(void) {
  uint64_t t = hd__cpu_time() - began, waited = hd__real_time() - began_at;
  if (waited >= WAITED_NS && t < LONG_NS) t = LONG_NS;
  if (t < shortest) shortest = t;
  measured++;
  if (only_watch) return false;
  if (rt.config->checkpoint == HD_CHECKPOINT_ALWAYS) return true;
  /* The first execution of a process may still have to be abandoned, for lack of identities. */
  if (measured == 1 && !rt.status->again) return false;
  return shortest >= LONG_NS || (measured == MEASURED && shortest >= SHORT_NS);
}

static enum hd_unkept unkept(uint64_t sp) {
  if (rt.forked || hd__children_any()) return HD_UNKEPT_CHILD;
  if (hd__files_changed()) return HD_UNKEPT_FILES;
  if (hd__ipc_made()) return HD_UNKEPT_IPC;
  if (rt.naliases || hd__shares_memory()) return HD_UNKEPT_SHARED;
  if (waits || rt.narmed || rt.nspinning || hd__spin_places() != spins) return HD_UNKEPT_SPIN;
  if (rt.status->visible_count - rt.status->visible_at_start > MAX_LEARNED) return HD_UNKEPT_HANDLER;
  if (too_long) return HD_UNKEPT_LENGTH;
  if (hd__before_freed) return HD_UNKEPT_HEAP;
  if (hd__on_signal_stack(sp) || !hd__first_stack_has(sp) || sp >= hd__first_stack_end())
    return HD_UNKEPT_STACK;
  enum hd_unkept why = hd__fds_unkept();
  return why ? why : hd__sysguard_unkept();
}

void hd__prefix_end(void) {
  struct hd_thread *me = rt.cur;
  hd__prefix_over();
  if (!pays()) return;
  enum hd_unkept why = unkept((uint64_t)__builtin_frame_address(0));
  if (why) {
    hd__checkpoint_refuse(why);
    return;
  }
  me->call = hot.call;
  saved_hot = hot;
  rt.end_reason = HD_RUN_PAUSED;
  hot.active = 0;
  hot.tag = 0;
  hot.selector = 0;
  hd_arch_switch(&me->ctx, &rt.sched);
}

void hd__checkpoint_refuse(enum hd_unkept why) { rt.status->unkept = why; }

/* ---- taking it ---- */

static void keep_notes(void) {
  struct hd_status *st = rt.status;
  any_noted = false;
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++) {
    noted[i].count = st->inexact[i].count - noted[i].count;
    any_noted |= noted[i].count != 0;
    noted[i].first_pc = st->inexact[i].first_pc;
  }
  ntargets = 0;
  for (unsigned i = 0; i < st->ntargets && i < HD_MAX_TARGETS; i++)
    if (st->target[i].last == rt.search.execution) target[ntargets++] = (uint16_t)i;
}

static void *copy_of(const void *p, size_t n) {
  void *to = hd__private_alloc(n, 64);
  HD_BUG_ON(!to);
  hd__copy(to, p, n);
  return to;
}

static size_t calls_size(void) { return (size_t)((char *)saved_thread->call - (char *)saved_thread->calls); }
static size_t arena_size(void) { return (size_t)(saved.arena.next - saved.arena.base); }

static void keep_first(void) {
  saved_thread = copy_of(rt.thread, sizeof *rt.thread);
  calls_copy = copy_of(rt.thread->calls, calls_size());
  if (rt.arena.next - rt.arena.base <= ARENA_COPIED)
    arena_copy = copy_of(rt.arena.base, (size_t)(rt.arena.next - rt.arena.base));
}

static void load_first(void) {
  hd__copy(rt.thread, saved_thread, sizeof *rt.thread);
  hd__copy(rt.thread->calls, calls_copy, calls_size());
  if (arena_copy) hd__copy(rt.arena.base, arena_copy, arena_size());
}

void hd__checkpoint_take(char *stack_hi) {
  hd__snapshot_unguard();
  hd__fds_keep();
  hd__sysguard_keep();
  hd__process_keep();
  hd__signals_keep();
  hd__keys_mark();
  hd__heap_mark(false);
  hd__objects_keep();
  keep_notes();
  saved = rt;
  keep_first();
  HD_BUG_ON(small_size() > SMALL_MAX);
  hd__copy(small, hd__small_lo, small_size());
  hd__copy(tail, page_of(hd__large_hi), tail_size());
  nlearned = (unsigned)(rt.status->visible_count - rt.status->visible_at_start);
  for (unsigned i = 0; i < nlearned; i++) learned[i] = rt.visible[rt.status->visible_at_start + i];
  taken = true;
  rt.status->kept = 1;
  if (hd__snapshot_take((char *)rt.thread[0].ctx.sp, stack_hi, true, false))
    hd__fail(HD_RTE_ENVIRONMENT, 0,
             "cannot record the program's memory (mprotect or /proc/self/maps refused)");
}

bool hd__checkpoint_taken(void) { return taken; }

void hd__checkpoint_each_range(void (*f)(char *lo, char *hi)) {
  if (!taken) return;
  f(hd__large_lo, page_of(hd__large_hi));
  if (!arena_copy) f(rt.arena.base, rt.arena.next);
  hd__objects_range(f);
}

/* ---- starting from it ---- */

void hd__checkpoint_load(void) {
  struct hd_status *st = rt.status;
  hd__copy(hd__small_lo, small, small_size());
  hd__copy(page_of(hd__large_hi), tail, tail_size());
  load_first();
  hd__objects_return();
  rt.arena.next = saved.arena.next;
  rt.epoch = saved.epoch;
  rt.path_len = st->path_len = saved.path_len;
  rt.op[0] = saved.op[0];
  rt.guard[0] = saved.guard[0];
  rt.nthreads = saved.nthreads;
  rt.nnumbers = saved.nnumbers;
  rt.nalive = saved.nalive;
  rt.enabled.w[0] = saved.enabled.w[0];
  rt.nenabled = saved.nenabled;
  rt.event_due = saved.event_due;
  rt.section = saved.section;
  rt.section_vc = saved.section_vc;
  rt.ntimed = saved.ntimed;
  rt.nalarms = saved.nalarms;
  rt.now = saved.now;
  rt.clocked = saved.clocked;
  rt.due = saved.due;
  rt.known.now = saved.known.now;
  rt.events = saved.events;
  rt.exit_status = saved.exit_status;
  rt.in_exit = saved.in_exit;
  rt.search.observed = saved.search.observed;
  rt.search.infeasible = saved.search.infeasible;
  hot.sp = saved_hot.sp;
  hd__copy(hot.regs, saved_hot.regs, sizeof hot.regs);
  hot.syscall_pc = saved_hot.syscall_pc;
  from_there = true;
  hd__new_segment(&rt.thread[0]); /* invariant 2 */
  rt.thread[0].start.segment = (uint32_t)(rt.thread[0].tag >> 32);
  if (any_noted) hd_inexact_add(st->inexact, noted, HD_CLASS_ANY);
  for (unsigned i = 0; i < nlearned; i++) /* what a process learns, a probe may have unlearned */
    if (!hd__shadow_visible(learned[i], 8)) {
      hd__log_visible(learned[i]);
      hd__shadow_learn(st->visible_count - 1, st->visible_count);
    }
  for (unsigned i = 0; i < ntargets; i++) {
    st->target[target[i]].executions += st->target[target[i]].last != rt.search.execution;
    st->target[target[i]].last = rt.search.execution;
  }
}

int hd__checkpoint_feed(void) {
  const struct hd_strategy *s = rt.strategy;
  const struct hd_op *first[1];
  struct hd_set only = {{1}};
  struct hd_point p = {&only, 1, 1, 0, first};
  if (rt.known.steps >= rt.events + rt.event_due)
    return -1; /* before a choice one step has been picked, not executed */
  rt.known.steps = 0;
  for (uint32_t i = 0, picks = 0, events = 0; i < nfed; i++) {
    const struct fed *f = &fed[i];
    if (f->event) {
      s->event(&rt.search, &f->op, f->flags, 0, 0);
      events++;
      continue;
    }
    first[0] = &f->op;
    int next = s->pick(&rt.search, &p);
    picks++;
    if (next == 0) continue;
    rt.thread[0].op = f->op;
    rt.path_len = rt.status->path_len = picks - 1;
    rt.events = events;
    rt.cur = &rt.thread[0];
    return next == HD_PICK_GIVE_UP ? HD_RUN_BLOCKED : HD_RUN_DIVERGED;
  }
  return -1;
}

/* ---- starting at main after all ---- */

bool hd__checkpoint_stale(void) {
  if (!taken) return false;
  if (rt.lost) hd__checkpoint_refuse(rt.lost);
  return rt.lost || hd__spin_places() != spins;
}

void hd__checkpoint_handler(void) {
  if (!from_there) return;
  rt.lost = HD_UNKEPT_HANDLER;
  hd__end(HD_RUN_GROW);
}

_Noreturn void hd__start_again(void) {
  struct hd_status *st = rt.status;
  if (++st->again > MAX_AGAIN && !st->unkept) hd__checkpoint_refuse(HD_UNKEPT_SPIN);
  st->kept = 0;
  hd__cover_end();
  __atomic_store_n(&rt.ctl->again, 1, __ATOMIC_RELEASE);
  hd__die(94);
}
