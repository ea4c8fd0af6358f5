/* sched.c: the scheduler: which thread goes next. Runs in the tested process, on the stack of the thread that
 * reached the scheduling point.
 *
 * Invariants
 *  1. A thread is in rt.enabled exactly when its pending operation can be executed now.
 *  2. A step picks one enabled thread. That thread executes its pending operation and everything up to its next
 *     one; no other thread runs in between.
 *  3. Every step and every choice is appended to rt.path before it takes effect, so the path area holds the
 *     schedule even if the process dies the next moment.
 *  4. Nothing here depends on real time, on addresses of the runtime, or on anything outside the tested program. */
#include "runtime/core/checkpoint.h"
#include "runtime/core/core.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/ident.h"
#include "runtime/core/library.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
#include "runtime/core/template.h"
#include "runtime/core/tick.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

/* Aligned to cache lines: hot takes two of them, wherever the linker puts it. */
_Alignas(64) struct hd_hot hot;
extern struct hd_hot hd__inline __asm__(HD_INLINE_SYMBOL)
    __attribute__((alias("hot"), visibility("default")));
_Static_assert(offsetof(struct hd_hot, tag) == HD_INLINE_TAG, "inlined code reads it there");
_Alignas(64) struct hd_rt rt;

struct hd_segment *hd__segments;
#define ARENA_SIZE (8ull << 30)

#define CALL_STRIDE (HD_CALL_DEPTH + 12) /* not a multiple of pages: see ident.c */
static struct hd_call *calls;            /* CALL_STRIDE for each thread */

int hd__sched_init(void) {
  if (hd__segments) return 0;
  hd__segments = hd__map((size_t)HD_MAX_SEGMENTS * sizeof *hd__segments);
  rt.thread = hd__map(sizeof *rt.thread * HD_MAX_THREADS);
  calls = hd__map(sizeof *calls * CALL_STRIDE * HD_MAX_THREADS);
  void *arena = hd__map(ARENA_SIZE);
  if (!hd__segments || !rt.thread || !calls || !arena) return -1;
  hd_arena_init(&rt.arena, arena, ARENA_SIZE);
  hd__large_pages((uint64_t)arena + HD_LARGE_PAGE, ARENA_SIZE - HD_LARGE_PAGE);
  rt.seg_next = rt.seg_base = 1;
  return 0;
}

__attribute__((cold, noinline)) _Noreturn void hd__cut(enum hd_inexact why) {
  struct hd_inexact_count *n = &rt.status->inexact[why];
  if (!n->count) n->first_pc = rt.cur ? rt.cur->op.pc : 0;
  rt.cut = why;
  hd__end(HD_RUN_CUT);
}

void hd__new_segment(struct hd_thread *t) {
  uint32_t seg = rt.seg_next++;
  if (HD_UNLIKELY(seg - rt.seg_base >= HD_MAX_SEGMENTS)) hd__cut(HD_INEXACT_SEGMENTS);
  uint32_t clock = hd_vc_get(&t->vc, t->id) + 1;
  hd_vc_set(&rt.arena, &t->vc, t->id, clock);
  hd__segments[seg - rt.seg_base] = (struct hd_segment){clock, t->id};
  t->tag = (uint64_t)seg << 32 | (uint64_t)t->id << 16;
  if (t == rt.cur) hot.tag = t->tag;
}

void hd__release(struct hd_vc *into) {
  hd_vc_copy(&rt.arena, into, &rt.cur->vc);
  hd__new_segment(rt.cur);
}

void hd__acquire(const struct hd_vc *from) { hd_vc_join(&rt.arena, &rt.cur->vc, from); }

void hd__enable(struct hd_thread *t) {
  if (t->state == HD_T_READY) return;
  if (HD_UNLIKELY(t->timer.set)) hd__deadline_trusted(t);
  t->state = HD_T_READY;
  hd_set_add(&rt.enabled, t->id);
  rt.nenabled++;
}

void hd__disable(struct hd_thread *t) {
  if (t->state != HD_T_READY) return;
  t->state = HD_T_BLOCKED;
  hd_set_del(&rt.enabled, t->id);
  rt.nenabled--;
}

/* There is no thread of that number in this execution yet. It looks like one that has ended. */
static void leave_out(unsigned id) {
  struct hd_thread *t = &rt.thread[id];
  hd__zero(t, sizeof *t);
  t->id = t->op.thread = (uint16_t)id;
  t->state = HD_T_DONE;
  t->join.done = true;
  rt.op[id] = &t->op;
  rt.guard[id] = NULL;
}

struct hd_thread *hd__thread_new(struct hd_thread *parent, unsigned id, unsigned nth, bool numbered) {
  for (; rt.nthreads < id; rt.nthreads++) leave_out(rt.nthreads);
  struct hd_thread *t = &rt.thread[id];
  bool again =
      id < rt.nthreads && t->calls != NULL; /* the number is reused: keep the clock, and continue it */
  if (id == rt.nthreads) rt.nthreads++;
  struct hd_vc vc = again ? t->vc : (struct hd_vc){0};
  uint32_t clock = again ? hd_vc_get(&vc, id) : 0;
  hd__zero(t, HD_THREAD_CLEARED);
  if (HD_UNLIKELY(hd__cancel_word[id]))
    hd__cancel_word[id] = 0; /* a page that is not written to is not restored */
  t->vc = vc;
  t->id = (uint16_t)id;
  t->numbered = numbered;
  hd_set_del(&rt.gone, id);
  t->calls = t->call = calls + (size_t)id * CALL_STRIDE;
  rt.op[id] = &t->op;
  rt.guard[id] = NULL;
  t->state = HD_T_BLOCKED;
  t->scrubs = rt.fingerprints;
  t->op = (struct hd_op){.kind = HD_OP_START, .thread = (uint16_t)id, .object = id};
  if (parent) {
    t->parent = parent->id;
    t->nth = nth;
    t->heap_slot = hd__heap_slot(t);
    t->sig.mask = parent->sig.mask;
    hd_vc_copy(&rt.arena, &t->vc, &parent->vc);
    if (clock > hd_vc_get(&t->vc, id)) hd_vc_set(&rt.arena, &t->vc, id, clock);
    rt.nunjoined++;
  } else {
    t->sig.mask = hd__first_mask();
  }
  t->start.segment = rt.seg_next;
  hd__new_segment(t);
  rt.nalive++;
  if (!again && ++rt.nnumbers > rt.status->max_threads) rt.status->max_threads = rt.nnumbers;
  hd__enable(t);
  return t;
}

void hd__thread_forget(struct hd_thread *t) {
  t->ident = NULL;
  t->spare = t->spare_last = NULL;
  hd_set_add(&rt.gone, t->id);
}

void hd__sched_begin(void) {
  for (unsigned i = 0; i <= rt.nthreads >> 6 && i < HD_SET_WORDS; i++) rt.enabled.w[i] = rt.gone.w[i] = 0;
  hd__numbers_begin();
  rt.nenabled = rt.nnumbers = rt.nthreads = rt.nalive = rt.nstopped = rt.ntimed = 0;
  hd__cover_begin();
  rt.path_len = 0;
  rt.status->points = 0;
  rt.now = 0;
  rt.clocked = false;
  rt.due = 0;
  rt.known.now = 0;
  rt.events = 0;
  rt.choice = rt.nchoices = rt.nunjoined = rt.nspinning = rt.narmed = rt.nio = rt.watched = rt.between =
      rt.naside = 0;
  rt.in_exit = rt.event_due = rt.forked = rt.sent = rt.entered = rt.hung = false;
  rt.lost = 0;
  rt.exit_status = 0;
  rt.cur = rt.section = NULL;
  rt.section_vc = (struct hd_vc){0};
  rt.epoch++;
  hd__objects_begin();
  hd__record_begin();
  hd_arena_reset(&rt.arena);
  if (rt.seg_next > 0xf0000000u) { /* segment numbers run out: restart them with a clean shadow */
    hd__shadow_begin();
    rt.seg_next = 1;
  }
  rt.seg_base =
      rt.seg_next++; /* the base itself belongs to no thread: shadow.c marks inflated cells with it */
}

/* What is done about an event for users, and for states that are compared. */
__attribute__((cold, noinline)) static void observe_event(unsigned flags) {
  if (hot.log) hd__record_op(&rt.cur->op, flags);
  if (hot.cover) {
    hd__cover_event(&rt.cur->op);
    hd__lockorder_event(&rt.cur->op, flags);
  }
}

__attribute__((cold, noinline)) static void after_event(void) {
  if (rt.cur->gone) hd__object_gone();
  if (rt.cur->scrubs) hd_arch_scrub();
}

void hd__event(unsigned flags) {
  const struct hd_op *op = &rt.cur->op;
  rt.events++;
  rt.event_due = false;
  struct hd_spin *spin = &rt.cur->spin;
  if (!hd_op_quiet(op->kind, flags)) spin->writes++, spin->changes++;
  if (HD_UNLIKELY(rt.cur->armed)) hd__spin_event(op, flags);
  uint64_t head; /* kind, section, thread, size */
  __builtin_memcpy(&head, op, sizeof head);
  uint64_t hash = (rt.known.now ^ op->object) * 0x9e3779b97f4a7c15ull + head * 0xc2b2ae3d27d4eb4full +
                  (rt.choice << 8 | flags);
  rt.known.now = hash ^ hash >> 29;
  if (rt.events <= rt.known.steps) {
    if (rt.events == rt.known.steps && rt.known.now != rt.known.then) rt.search.diverged = 1;
  } else if (rt.strategy->event) {
    rt.strategy->event(&rt.search, op, flags, rt.choice, rt.nchoices);
  }
  if (HD_COVER_OR_LOG) observe_event(flags);
  rt.choice = rt.nchoices = 0;
  if (HD_SCRUBS_OR_GONE) after_event();
}

/* Deadlines as close as this to the earliest one are not in order: a sleep takes as long as it is asked to, or longer. */
#define CLOSE_NS 1000000ull /* at least a millisecond ... */
#define CLOSE_PART 8        /* ... or that part of the time that has to pass */

/* The first of the threads whose time has come has gone on. For the search that is when time passed; now the others can. */
__attribute__((cold, noinline)) static void wake_others(void) {
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].timer.set && rt.thread[i].timer.deadline <= rt.due) hd__time_due(&rt.thread[i]);
  uint32_t set = rt.nio ? hd__timerfd_fire(rt.due, false) : 0;
  if (set) hd__io_poll(set);
  rt.due = 0;
}

/* No thread is enabled: time passes, or the program is stuck. Returns a thread that goes on with its step, or NULL. */
static __attribute__((noinline)) struct hd_thread *idle(void) {
  hd__children_settle();
  while (rt.nenabled == 0) {
    struct hd_thread *first = NULL;
    if (rt.ntimed)
      for (unsigned i = 0; i < rt.nthreads; i++) {
        struct hd_thread *t = &rt.thread[i];
        if (t->timer.set && (!first || t->timer.deadline < first->timer.deadline)) first = t;
      }
    uint64_t timer = rt.nio || rt.nspinning ? hd__timerfd_next() : HD_FOREVER;
    uint64_t alarm = hd__alarm_next();
    uint64_t next = first && first->timer.deadline < timer ? first->timer.deadline : timer;
    if (alarm < next) next = alarm;
    if (rt.nio && hd__io_idle(next == HD_FOREVER ? next : next > rt.now ? next - rt.now : 0)) return NULL;
    if (next == HD_FOREVER) {
      if (rt.nstopped) hd__end(HD_RUN_STUCK); /* a stopped thread might have ended the wait */
      if (hd__children_help()) return NULL;
      hd__signals_stuck();
      if (rt.nspinning && (hd__spin_outside() || hd__spin_late())) return NULL;
      if (rt.naside) return hd__aside_next();
      if (hd__children_hold()) hd__end(HD_RUN_STUCK);
      if (rt.nspinning) hd__report_livelock();
      hd__report_deadlock();
      hd__end(HD_RUN_STUCK);
    }
    uint64_t close = next > rt.now ? (next - rt.now) / CLOSE_PART : 0;
    if (next > rt.now) rt.now = next;
    for (unsigned i = 0; rt.clocked && i < rt.nthreads; i++) /* no clock may run backwards */
      if (rt.thread[i].vc.time > rt.now) rt.now = rt.thread[i].vc.time;
    if (alarm == next) {
      hd__alarm_fire();
    } else if (first && first->timer.deadline <= timer) {
      hd__time_out(first);
    } else {
      hd__io_poll(hd__timerfd_fire(rt.now, true));
      if (rt.narmed) hd__spin_update(); /* a loop may poll it */
    }
    if (alarm != next && rt.nenabled && (rt.ntimed || timer != HD_FOREVER))
      rt.due = next + (close > CLOSE_NS ? close : CLOSE_NS);
  }
  return NULL;
}

struct hd_point hd__here(void) {
  return (struct hd_point){&rt.enabled, rt.nenabled, (rt.nthreads + 63) >> 6, rt.cur ? rt.cur->id : 0, rt.op};
}

/* The execution was to begin like an earlier one, and does not. A systematic search drops it; to its strategy it never
 * ended. */
__attribute__((cold, noinline)) _Noreturn static void diverged(void) { hd__end(HD_RUN_DIVERGED); }

/* What comes before a decision, seldom. */
static __attribute__((noinline)) void attend(void) {
  if (rt.naliases && rt.cur) hd__canonical_op(&rt.cur->op);
  if (hot.log) hd__record_settle();
  if (rt.narmed) hd__spin_update();
  if (rt.due) wake_others();
  if (rt.sent && rt.cur) hd__signal_followed();
  if (rt.entered) hd__libraries_leave();
  if (rt.templates) hd__template_point();
}

/* Asks the strategy when nobody but the thread in the atomic section can go next. */
static __attribute__((noinline)) int pick_alone(void) {
  struct hd_point p = hd__here();
  struct hd_set only = {{0}};
  hd_set_add(&only, rt.section->id);
  p.enabled = &only;
  p.nenabled = 1;
  return rt.strategy->pick(&rt.search, &p);
}

static struct hd_thread *decide(void) {
  if (HD_UNLIKELY(rt.attend | rt.due | hot.log)) attend();
  bool alone = HD_UNLIKELY(rt.section != NULL) && hd__section_continues();
  if (HD_UNLIKELY(rt.nenabled == 0)) {
    struct hd_thread *aside = idle();
    if (aside) return aside;
  }
  if (HD_UNLIKELY(rt.path_len >= rt.config->max_length)) hd__cut(HD_INEXACT_LENGTH);
  int next;
  if (rt.events < rt.known.steps) {
    next = rt.path[rt.path_len];
    if (HD_UNLIKELY(next >= HD_MAX_THREADS || !hd_set_has(&rt.enabled, (unsigned)next))) diverged();
  } else if ((alone || rt.nenabled == 1) && rt.strategy->skip_forced) {
    next = alone ? rt.section->id : (int)hd_set_nth(&rt.enabled, 0);
  } else {
    struct hd_point p = hd__here();
    next = HD_UNLIKELY(alone) ? pick_alone() : rt.strategy->pick(&rt.search, &p);
    if (HD_UNLIKELY(next == HD_PICK_DIVERGED)) diverged();
    if (HD_UNLIKELY(next < 0)) hd__end(HD_RUN_BLOCKED);
    /* The program does not behave the same again: the strategy expects a thread that is not enabled. */
    if (HD_UNLIKELY(!hd_set_has(&rt.enabled, (unsigned)next))) diverged();
  }
  rt.path[rt.path_len++] = (hd_step)next;
  rt.status->path_len = rt.path_len;
  rt.event_due = true;
  if (HD_UNLIKELY(rt.thread[next].section) && !alone) hd__section_enter(&rt.thread[next]);
  return &rt.thread[next];
}

static inline void load(struct hd_thread *t) {
  rt.cur = t;
  hot.tag = t->tag;
  hot.call = t->call;
  hot.call_end = t->calls + HD_CALL_DEPTH;
  hot.stack_limit = t->stack_limit;
}

/* While states are compared, decisions are made on a stack of their own: then every thread is suspended in the same
 * way, the running one too, and so are its registers. */
#define DECIDER_STACK (1ull << 20)
static struct hd_ctx decider;
static char *decider_stack;

static void decider_main(void *unused) {
  (void)unused;
  for (;;) {
    struct hd_thread *next = decide();
    rt.status->switches += next != rt.cur;
    load(next);
    hd_arch_switch(&decider, &next->ctx);
  }
}

static void prepare_decider(void) {
  if (!decider_stack) decider_stack = hd__map(DECIDER_STACK);
  HD_BUG_ON(!decider_stack);
  hd_arch_prepare(&decider, decider_stack + DECIDER_STACK, rt.main_tp, decider_main, NULL);
}

static __attribute__((noinline, cold)) void step_suspended(void) {
  struct hd_thread *me = rt.cur;
  me->call = hot.call;
  hd_arch_switch(&me->ctx, &decider);
  hd__debug_look();
}

static inline void step(void) {
  struct hd_thread *me = rt.cur, *next = decide();
  if (next != me) {
    me->call = hot.call;
    rt.status->switches++;
    load(next);
    hd_arch_switch(&me->ctx, &next->ctx);
  }
}

void hd__step(void) {
  if (HD_UNLIKELY(rt.fingerprints)) {
    hd_arch_scrub_to(step_suspended);
    return;
  }
  step();
  hd__debug_look();
}

void hd__step_aside(void) {
  if (HD_UNLIKELY(rt.fingerprints))
    step_suspended();
  else
    step();
}

/* The first step of an execution, from the scheduler's own stack. Returns when the execution is over. */
void hd__run(void) {
  if (rt.fingerprints) prepare_decider();
  struct hd_thread *next = decide();
  load(next);
  hot.active = 1;
  hot.selector = 1;
  hd_arch_switch(&rt.sched, &next->ctx);
}

void hd__continue(void) {
  if (rt.fingerprints) prepare_decider();
  rt.thread[0].scrubs = rt.fingerprints;
  load(&rt.thread[0]);
  hot.active = 1;
  hot.selector = 1;
  hd_arch_switch(&rt.sched, &rt.thread[0].ctx);
}

static inline __attribute__((always_inline)) void point_open(unsigned kind, uint64_t object, uint32_t size,
                                                             uint64_t pc) {
  hd__take_signals();
  struct hd_thread *t = rt.cur;
  t->op = (struct hd_op){.kind = (uint8_t)kind, .thread = t->id, .size = size, .object = object, .pc = pc};
  hd__step();
}

void hd__point_open(unsigned kind, uint64_t object, uint32_t size, uint64_t pc) {
  point_open(kind, object, size, pc);
}

void hd__point(unsigned kind, uint64_t object, uint32_t size, uint64_t pc) {
  point_open(kind, object, size, pc);
  hd__event(0);
}

static int known_outcome(unsigned n) {
  struct hd_decision d;
  unsigned units = hd_decision_get(&rt.path[rt.path_len], HD_STEPS_MAX, &d);
  return units && d.kind == HD_DECIDE_OUTCOME && d.value < n ? (int)d.value : HD_PICK_DIVERGED;
}

unsigned hd__choose(unsigned n) {
  if (n <= 1) return 0;
  if (HD_UNLIKELY(rt.prefix)) hd__prefix_end();
  int k = rt.events < rt.known.steps ? known_outcome(n) : rt.strategy->choose(&rt.search, n);
  if (k < 0) diverged();
  rt.path_len += hd_decision_put(&rt.path[rt.path_len], (struct hd_decision){HD_DECIDE_OUTCOME, (unsigned)k});
  rt.status->path_len = rt.path_len;
  rt.choice = (unsigned)k;
  rt.nchoices = n;
  rt.branched = true;
  return (unsigned)k;
}

/* Continues with another thread; the running one does not run again. */
_Noreturn static void leave(void) {
  if (HD_UNLIKELY(rt.fingerprints)) {
    rt.cur->ctx.sp = __builtin_frame_address(0); /* of a stopped thread, others may still use the variables */
    hd_arch_jump(&decider);
  }
  struct hd_thread *next = decide();
  rt.status->switches++;
  load(next);
  hd_arch_jump(&next->ctx);
}

_Noreturn void hd__thread_stop(void) {
  struct hd_thread *me = rt.cur;
  if (rt.event_due) hd__event(0); /* it failed during its operation */
  me->call = hot.call;
  me->op = (struct hd_op){.kind = HD_OP_NONE, .thread = me->id};
  hd__spin_stop(me);
  hd__section_leave();
  hd__disable(me);
  me->state = HD_T_STOPPED;
  rt.nstopped++;
  leave();
}

_Noreturn void hd__thread_gone(void) {
  struct hd_thread *me = rt.cur;
  hd__disable(me);
  me->state = HD_T_DONE;
  hd__spin_word[HD_POLLS_ENDS]++;
  rt.nalive--;
  if (HD_UNLIKELY(me->sig.pending.set)) hd__signals_leave();
  const struct hd_thread *waiter = me->join.waiter; /* which may be in a handler */
  if (waiter && hd_op_effect(waiter->op.kind, 0) == HD_EFF_JOIN) hd__enable(me->join.waiter);
  if (me->join.detached && me->ident) {
    hd__ident_release(me);
    hd__thread_forget(me);
  }
  leave();
}

_Noreturn void hd__end(int reason) {
  if (HD_UNLIKELY(hot.log)) hd__record_settle();
  rt.end_reason = reason;
  hot.active = 0;
  hot.tag = 0;
  hot.selector = 0;
  hd_arch_jump(&rt.sched);
}
