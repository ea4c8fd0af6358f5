/* fingerprint.c: the state of the tested program in 128 bits, to recognise states that were explored before
 * (explore/states.c). Runs in the tested process, on the stack of the scheduler, while every thread is suspended.
 *
 * A fingerprint is a sum of hashes of facts (a place and the value there), so the order in which facts are collected
 * does not matter. Facts are:
 *   memory   every word of the program's writable memory that differs from what it was before main, or at the checkpoint
 *            (snapshot.c has the pages that were ever written to), blocks of the heap that are live (heap.c), the live stack of each thread
 *   threads  pending operation, registers (on its stack: it is suspended), what it waits for, settings
 *   objects  owner, count, holders, waiters
 *   races    accesses of the past that a later one may race with (invariant 4)
 *
 * Invariants
 *  1. Equal fingerprints mean equal behaviour, up to a collision of 128 bits: every later operation, finding, final state
 *     and every granule that becomes visible is the same. What influences those is a fact, or the state counts as not
 *     captured (hd__uncaptured). Facts that do not matter cost matches, not soundness.
 *  2. Names do not depend on the interleaving: addresses of the heap, stacks and thread-local storage follow from the
 *     number of the thread and what it did (heap.c, ident.c), and a number stands for its place in the tree of creations.
 *     So pointers are hashed as they are.
 *  3. Numbers that only grow (segments, events, rounds of a loop) are no facts: a loop must come back to its first state.
 *     Frames of hooks are part of the stacks, since they have what the program passed to a pending operation. Pointers
 *     of ours into the memory of the execution, which depend on the interleaving, are left out there.
 *  4. Of an access in the past only that is a fact what the race detector can still find out: place, kind, and which
 *     clocks (of threads and objects) cover it. One that all living threads come after is none: so do all that they create.
 *     Nor is one to memory that, while there are several threads, only one accesses, or none writes, or all access
 *     atomically, or all while they hold one lock: no later access can race with it. Which memory that is holds for the
 *     whole search (explore/accessed.c): when it proves wrong, the search restarts, as it does when an access turns out to be
 *     visible.
 *  5. Of the recognition of waiting loops (spin.c) the part is a fact that leads to a wait, since that decides about
 *     livelocks. The rounds of loops that do more than wait are not: those end where a state comes again.
 *  6. The local state of a thread has its own sum, of facts that are named relative to it (its stack, its thread-local
 *     storage, no number); values are as they are. The state is the global sum with each thread's local one as a fact.
 *
 *  7. Little changes from one state to the next. Facts are collected in lines of 8 words, and the sum of a line is kept with
 *     its words (struct line): where they are the same again, in this execution or another, it is not computed again.
 *
 * Stack below the stack pointer is dead. Dead words inside of frames cannot be distinguished from live ones: hooks clear what they
 * leave behind (hd_arch_scrub), so that these words are mostly the program's own. */
#include "runtime/core/fingerprint.h"

#include <sys/syscall.h>

#include "runtime/core/checkpoint.h"
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define MAX_CLOCKS 4096
#define ROUNDS 8 /* more than spin.c needs to recognise a wait */

struct clock {
  uint64_t name;
  const struct hd_vc *vc;
};

#define FIELDS 40

struct hd_fingerprint {
  uint64_t sum[2];
};

/* The parts of a state. Facts of the global one are named by addresses and numbers of threads, those of a local one relative
 * to the thread (invariant 6). */
struct parts {
  bool captured;
  unsigned nclocks;
  struct hd_fingerprint global;
  struct hd_fingerprint local[HD_MAX_THREADS];
  struct hd_fingerprint *into; /* that words of the page under way are facts of, */
  uint64_t field[FIELDS];      /* of the thread under way, by number, */
  uint64_t fields;             /* and which of them there are */
  uint64_t base;               /* named relative to this address */
  struct clock clock[MAX_CLOCKS];
};

static struct parts *now;
static uint64_t rseq_lo, rseq_hi; /* what the kernel writes into the control block of the first thread */

void hd__fact(struct hd_fingerprint *f, uint64_t place, uint64_t value) {
  uint64_t a = hd_mix64(place + 0x9e3779b97f4a7c15ull), b = value * 0xff51afd7ed558ccdull;
  f->sum[0] += hd_mix64(a ^ b);
  f->sum[1] += hd_mix64((a >> 17 | a << 47) + (value ^ 0x2545f4914f6cdd1dull) * 0xd6e8feb86659fd93ull);
}

/* Invariant 3. Whether the word points into the memory of the execution, which the program cannot know. */
static bool is_ours(uint64_t word) {
  uint64_t base = (uint64_t)rt.arena.base;
  return word - base < (uint64_t)rt.arena.end - base;
}

/* ---- lines (invariant 7) ---- */

#define LINES 65536 /* a power of two */
struct line {
  uint64_t place, mask;
  uint64_t word[8];
  struct hd_fingerprint sum;
};
static struct line *lines;

void hd__fact_line(struct hd_fingerprint *f, uint64_t addr, uint64_t place, unsigned mask,
                   const uint64_t word[8]) {
  if (!mask) return;
  struct line *l = &lines[(addr >> 6) * 0x9e3779b97f4a7c15ull >> 48];
  uint64_t differs = (l->place ^ place) | (l->mask ^ mask);
  for (unsigned i = 0; i < 8; i++) differs |= l->word[i] ^ word[i];
  if (differs) {
    *l = (struct line){.place = place, .mask = mask};
    for (unsigned i = 0; i < 8; i++) {
      l->word[i] = word[i];
      bool counts = mask & HD_LINE_STACK      ? word[i] && !is_ours(word[i])
                    : (mask & HD_LINE_MEMORY) ? word[i] != 0
                                              : mask >> i & 1;
      if (counts) hd__fact(&l->sum, place + 8 * i, word[i]);
    }
  }
  f->sum[0] += l->sum.sum[0];
  f->sum[1] += l->sum.sum[1];
}

void hd__fact_range(struct hd_fingerprint *f, uint64_t from, uint64_t to, uint64_t base, unsigned how) {
  for (uint64_t line = from & ~63ull; line < to; line += 64) {
    const uint64_t *word = (const uint64_t *)line;
    uint64_t part[8] = {0};
    if (line < from || to - line < 64) {
      for (unsigned i = 0; i < 8; i++)
        if (line + 8 * i >= from && line + 8 * i < to) part[i] = word[i];
      if (to - line < 64 && to % 8) part[(to - line) / 8] &= (1ull << to % 8 * 8) - 1;
      word = part;
    }
    hd__fact_line(f, how == HD_LINE_STACK ? line : line ^ from << 32, line - base, how, word);
  }
}

/* What a fact is about, where that is no address. */
enum subject { S_PROCESS = 1, S_THREAD, S_OBJECT, S_CLOCK, S_LOCAL };
static uint64_t place(enum subject s, uint64_t which, unsigned field) {
  return hd_mix64(which) ^ (uint64_t)s << 60 ^ (uint64_t)field << 48;
}

void hd__uncaptured(enum hd_uncaptured why) {
  if (!rt.fingerprints || !hot.active) return;
  if (rt.nthreads == 1 && !rt.branched) return; /* every execution begins like that: it is no difference */
  if (!rt.uncaptured) rt.uncaptured = (uint8_t)why;
}

/* Calls that leave no state behind in the kernel, or whose state is captured. */
void hd__fingerprint_syscall(long nr, const long *a) {
  switch (nr) {
    case SYS_write:
    case SYS_writev:
    case SYS_fstat:
    case SYS_newfstatat:
      if ((int)a[0] == 1 || (int)a[0] == 2) return;
      break;
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getrandom:
    case SYS_sched_yield:
    case SYS_rt_sigprocmask:
    case SYS_exit_group: return;
    default: break;
  }
  hd__uncaptured(HD_UNCAPTURED_SYSCALL);
}

/* ---- clocks and accesses ---- */

static void add_clock(uint64_t name, const struct hd_vc *vc) {
  if (!vc->n) return;
  if (now->nclocks == MAX_CLOCKS)
    now->captured = false;
  else
    now->clock[now->nclocks++] = (struct clock){name, vc};
}

static bool is_alive(const struct hd_thread *t) { return t->state <= HD_T_BLOCKED; }
/* It has ended, and nobody can learn from it any more. */
static bool is_over(const struct hd_thread *t) { return t->state == HD_T_DONE && t->join.done; }

static bool known_to_all(uint32_t thread, uint32_t clock) {
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (i != thread && is_alive(&rt.thread[i]) && hd_vc_get(&rt.thread[i].vc, thread) < clock) return false;
  return true;
}

void hd__fact_clock(struct hd_fingerprint *f, uint64_t at, uint64_t what, uint32_t thread, uint32_t clock) {
  if (known_to_all(thread, clock)) return;
  uint64_t known = 0;
  for (unsigned i = 0; i < now->nclocks; i++)
    if (hd_vc_get(now->clock[i].vc, thread) >= clock) known += hd_mix64(now->clock[i].name);
  hd__fact(f, at ^ 5ull << 61, hd_mix64(what) + known);
}

void hd__fact_access(struct hd_fingerprint *f, uint64_t at, uint64_t what, uint32_t segment) {
  if (segment < rt.seg_base) return;
  const struct hd_segment *s = &hd__segments[segment - rt.seg_base];
  hd__fact_clock(f, at, what, s->thread, s->clock);
}

/* Whether the running thread holds the lock so that whoever accesses what it writes, or writes what it reads, and holds it
 * too, is ordered with it. Not one that was initialised beside other threads: it may be another lock by now. */
static bool holds(const struct hd_obj *o, bool write) {
  if (!o || (o->kind != HD_OBJ_MUTEX && o->kind != HD_OBJ_RWLOCK) || o->init) return false;
  if (o->owner == rt.cur->id) return true;
  for (const struct hd_holder *h = o->holders; h && !write; h = h->next)
    if (h->thread == rt.cur->id && h->count) return true;
  return false;
}

static struct {
  struct hd_accessed *into;
  unsigned n;
  bool write;
} listing;

static void list_lock(struct hd_obj *o) {
  if (listing.n < HD_ACCESSED_LOCKS && holds(o, listing.write)) listing.into->lock[listing.n++] = o->addr;
}

/* Keeps of the lock set what the running thread holds. Returns whether it is another one now. */
static bool keep_locks(struct hd_accessed *t, bool write) {
  uint32_t none = HD_LOCKS_UNKNOWN, begun = HD_LOCKS_LISTING;
  bool changed = false;
  if (t->listed == HD_LOCKS_NONE) return false;
  if (t->listed != HD_LOCKS_LISTED) {
    if (__atomic_compare_exchange_n(&t->listed, &none, HD_LOCKS_LISTING, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
      listing.into = t;
      listing.n = 0;
      listing.write = write;
      hd__objects_each(list_lock);
      __atomic_compare_exchange_n(&t->listed, &begun, listing.n ? HD_LOCKS_LISTED : HD_LOCKS_NONE, 0,
                                  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    } else { /* another process is at it, or died there */
      __atomic_store_n(&t->listed, HD_LOCKS_NONE, __ATOMIC_SEQ_CST);
    }
    return true;
  }
  for (unsigned i = 0; i < HD_ACCESSED_LOCKS; i++)
    if (t->lock[i] && !holds(hd__obj_find(t->lock[i]), write)) {
      __atomic_store_n(&t->lock[i], 0, __ATOMIC_SEQ_CST);
      changed = true;
    }
  return changed;
}

static bool access_half(uint64_t half, bool write, bool atomic) {
  struct hd_accessed *t = hd_accessed_find(&rt.search, half, true);
  if (!t) return true;
  uint32_t bit = 1u << (rt.cur->id < 31 ? rt.cur->id : 31), *set = write ? &t->writers : &t->readers;
  if (HD_LIKELY(t->known)) return true;
  bool changed = keep_locks(t, write);
  if (!atomic && !t->plain) {
    __atomic_store_n(&t->plain, 1, __ATOMIC_SEQ_CST);
    changed = true;
  }
  if (!(*set & bit)) {
    __atomic_or_fetch(set, bit, __ATOMIC_SEQ_CST);
    changed = true;
  }
  bool contended = hd_accessed_contended(t);
  if (contended) hd_accessed_restart(&rt.search, t);
  if (changed || contended) hd_accessed_changed(&rt.search, t);
  return contended;
}

bool hd__fingerprint_access(uint64_t granule, unsigned mask, bool write, bool atomic) {
  if (!rt.nunjoined) return false; /* all threads come after it */
  bool low = (mask & 0x0f) && access_half(granule, write, atomic);
  bool high = (mask & 0xf0) && access_half(granule + 4, write, atomic);
  return low || high;
}

unsigned hd__fingerprint_contended(uint64_t granule) {
  const struct hd_accessed *low = hd_accessed_find(&rt.search, granule, false),
                           *high = hd_accessed_find(&rt.search, granule + 4, false);
  /* There may be no room for one that is. */
  return (low && !low->known ? 0 : 0x0fu) | (high && !high->known ? 0 : 0xf0u);
}

/* ---- memory ---- */

static void add_words(uint64_t at, unsigned mask) {
  uint64_t word[8];
  for (unsigned i = 0; i < 8; i++) {
    if (at + 8 * i - rseq_lo < rseq_hi - rseq_lo) mask &= ~(1u << i);
    word[i] = mask >> i & 1 ? ((const uint64_t *)at)[i] : 0;
  }
  hd__fact_line(now->into, at, at - now->base, mask, word);
}

/* Whether the page has state: not one of a thread that is gone. Thread-local storage is state of its thread. */
static bool wants_page(uint64_t at) {
  const struct hd_thread *t = hd__ident_user(at);
  if (hd__heap_owns(at) || (!t && hd__ident_end(at))) return false;
  now->into = t ? &now->local[t->id] : &now->global;
  now->base = t ? (uint64_t)t->ident->stack_top : 0;
  return true;
}

/* A fact of the thread under way: one of its fields, by number. */
static void set_field(unsigned number, uint64_t value) {
  now->field[number] = value;
  now->fields |= 1ull << number;
}

static void add_fields(struct hd_fingerprint *f, const struct hd_thread *t) {
  for (unsigned i = 0; i < FIELDS / 8; i++)
    hd__fact_line(f, (uint64_t)t + 64 * i, ((uint64_t)S_LOCAL << 60) + 64 * i, now->fields >> 8 * i & 0xff,
                  &now->field[8 * i]);
  for (uint64_t b = now->fields; b; b &= b - 1) now->field[__builtin_ctzll(b)] = 0;
  now->fields = 0;
}

static void add_stack(struct hd_fingerprint *f, const struct hd_thread *t) {
  uint64_t sp = (uint64_t)t->ctx.sp;
  uint64_t end = t->ident ? (uint64_t)t->ident->stack_top : hd__first_stack_end();
  uint64_t lo = t->ident ? (uint64_t)t->ident->stack_lo : end - (1ull << 30);
  if (sp < lo || sp > end) { /* a stack of the program's own */
    hd__uncaptured(HD_UNCAPTURED_STACK);
    return;
  }
  set_field(1, end - sp);
  hd__fact_range(f, sp & ~7ull, end, end, HD_LINE_STACK);
}

/* ---- threads ---- */

static uint64_t number(const struct hd_thread *t) { return t ? (uint64_t)t->id + 1 : 0; }
static uint64_t object(const struct hd_obj *o) { return o ? o->addr : 0; }

static void add_op(const struct hd_thread *t) {
  const struct hd_op *op = &t->op;
  set_field(2, op->kind | (uint64_t)op->section << 8 | (uint64_t)op->size << 16);
  set_field(3, op->object);
  set_field(4, op->pc);
  enum hd_obj_kind kind = hd_op_object(op->kind);
  if (kind == HD_OBJ_IO || kind == HD_OBJ_STREAM || kind == HD_OBJ_STATE) now->captured = false;
}

static void add_spin(struct hd_fingerprint *f, const struct hd_thread *t) {
  const struct hd_spin *s = &t->spin;
  unsigned rounds = s->rounds < ROUNDS ? s->rounds : ROUNDS;
  uint64_t bits = t->armed | (uint64_t)s->gave << 1 | (uint64_t)s->again << 2 | (uint64_t)s->mixed << 3 |
                  (uint64_t)s->unlike << 4 | (uint64_t)s->on << 5 | (uint64_t)s->waiting << 6 |
                  (uint64_t)(s->writes != s->round_writes) << 7 | (uint64_t)rounds << 8 |
                  (uint64_t)s->misses << 16 | (uint64_t)s->window << 32 | (uint64_t)s->moves << 48;
  set_field(5, bits);
  set_field(6, s->pc);
  set_field(7, s->addr);
  for (unsigned i = 0; s->waiting && i < s->guard.nplaces; i++)
    hd__fact(f, place(S_LOCAL, 0, 8) + s->guard.place[i].addr, s->read[i].value);
}

static void add_wait(const struct hd_thread *t) {
  set_field(9, object(t->wait.at));
  if (t->wait.at || hd_op_second(t->op.kind, 0) == HD_EFF_RETURN || hd_op_object(t->op.kind) == HD_OBJ_COND)
    set_field(10, object(t->wait.mutex));
  set_field(11, t->wait.bits | (uint64_t)t->wait.woke << 32 | (uint64_t)t->gone << 33);
  if (t->wait.spurious) {
    set_field(12, t->wait.spurious);
    set_field(13, t->wait.site ^ hd_mix64(t->wait.cond));
    set_field(14, t->wait.writes == t->spin.writes);
  }
  if (t->timer.set || t->timer.expired || t->timer.early)
    set_field(15, t->timer.deadline * 4 + t->timer.set + t->timer.expired * 2u +
                      ((uint64_t)t->timer.early << 56));
  if (rt.clocked) {
    set_field(16, t->vc.time);
    set_field(17, t->timer.polls);
    set_field(18, t->timer.writes == t->spin.writes && t->timer.now == rt.now);
  }
  set_field(19, t->barrier.serial | t->barrier.unused * 2u | t->barrier.go * 4u |
                    (uint64_t)t->barrier.leads << 8 | number(t->barrier.round) << 32 |
                    number(t->barrier.next) << 48);
}

/* What only the thread itself can see, but its thread-local storage (wants_page). */
static void add_local(struct hd_fingerprint *f, const struct hd_thread *t) {
  bool odd = t->sig.pending.set || t->sig.ran || t->sig.handling || t->sig.taken || t->sig.waits ||
             t->sig.alt.ss_sp || hd__cancel_word[t->id] || t->cancel.taken || t->cancel.disabled ||
             t->anywhere || t->fiber || t->robust || t->omp.team || t->attr.cpus || t->sys.io ||
             t->sys.context || t->aside.is || t->sys.forks || t->sys.unloads || t->exit.tls_dtors ||
             t->exit.terminating || !t->numbered;
  if (odd) now->captured = false;
  set_field(20, t->state);
  set_field(21, t->children);
  set_field(22, t->heap_reuses | (uint64_t)t->section << 32);
  set_field(23, t->ignore | (uint64_t)t->silent << 16 | (uint64_t)t->foreign << 32);
  set_field(24, t->sig.mask);
  set_field(25, (uint64_t)t->exit.value);
  set_field(26, (uint64_t)t->exit.cleanup + t->exit.begun);
  set_field(27,
            t->join.done | t->join.detached * 2u | number(t->join.waiter) << 8 | (uint64_t)t->join.by << 32);
  set_field(28, t->sys.channels | (uint64_t)t->sys.randoms << 32);
  set_field(29, t->list.adds | (uint64_t)t->list.left << 32);
  set_field(30, (uint64_t)t->ident);
  set_field(31, (uint64_t)t->start.fn ^ hd_mix64((uint64_t)t->start.arg));
  uint64_t spares = 0;
  for (const struct hd_ident *i = t->spare; i; i = i->next) spares = hd_mix64(spares + (uint64_t)i);
  set_field(32, spares);
  uint64_t name = (uint64_t)t->attr.policy << 32 | (uint32_t)t->attr.priority;
  for (unsigned i = 0; i < sizeof t->attr.name; i++) name = hd_mix64(name + (uint8_t)t->attr.name[i]);
  set_field(33, name);
  if (is_alive(t)) {
    add_op(t);
    add_spin(f, t);
    add_wait(t);
  }
  if (t->state != HD_T_DONE) add_stack(f, t);
  add_fields(f, t);
}

/* A thread as a fact of the global state: which one is in that local state. */
static void add_thread(struct hd_fingerprint *f, const struct hd_thread *t) {
  const struct hd_fingerprint *local = &now->local[t->id];
  hd__fact(f, place(S_THREAD, t->id, 1), local->sum[0]);
  hd__fact(f, place(S_THREAD, t->id, 2), local->sum[1]);
}

/* ---- objects ---- */

static void add_object_clocks(struct hd_obj *o) {
  uint64_t size = o->kind == HD_OBJ_MEMORY ? o->count : 0;
  add_clock(place(S_CLOCK, o->addr + o->kind, 1) + size, &o->vc);
  add_clock(place(S_CLOCK, o->addr + o->kind, 2), &o->before);
}

static void add_object(struct hd_obj *o) {
  struct hd_fingerprint *f = &now->global;
  if (o->next_robust) now->captured = false;
  if (o->stream) hd__stream_fingerprint(f, o->stream);
  if (rt.clocked) {
    hd__fact(f, place(S_OBJECT, o->addr, 1), o->vc.time);
    hd__fact(f, place(S_OBJECT, o->addr, 2), o->seen);
    hd__fact(f, place(S_OBJECT, o->addr, 3), o->before.time);
  }
  if (o->init) hd__fact_access(f, place(S_OBJECT, o->addr, 4), o->init_op, o->init);
  if (o->kind == HD_OBJ_MEMORY)
    return; /* its count is the size of an atomic location: the name of its clock */
  uint64_t waiting = 0,
           signals = o->kind == HD_OBJ_BARRIER ? o->signals : 0; /* else only a report has them */
  for (const struct hd_thread *t = o->queue; t; t = t->wait.next) waiting += hd_mix64(number(t));
  for (const struct hd_thread *t = o->pend; t; t = t->wait.next) waiting += hd_mix64(number(t) << 32);
  for (const struct hd_holder *h = o->holders; h; h = h->next)
    if (h->count) waiting += hd_mix64((uint64_t)h->thread << 40 | h->count | 1ull << 60);
  if (o->owner == HD_NOBODY && !o->count && !waiting && !signals) return; /* as if it had never been used */
  hd__fact(f, place(S_OBJECT, o->addr, 5), o->kind | (uint64_t)o->owner << 8 | (uint64_t)o->count << 32);
  hd__fact(f, place(S_OBJECT, o->addr, 6), waiting);
  hd__fact(f, place(S_OBJECT, o->addr, 7), signals);
}

/* ---- all of it ---- */

static void add_process(struct hd_fingerprint *f) {
  bool timed = rt.clocked || rt.ntimed || rt.due || rt.nalarms;
  hd__fact(f, place(S_PROCESS, 0, 1), number(rt.section));
  hd__fact(f, place(S_PROCESS, 0, 2), rt.nunjoined | (uint64_t)rt.nstopped << 32);
  hd__fact(f, place(S_PROCESS, 0, 3), (uint64_t)(uint32_t)rt.exit_status | (uint64_t)rt.in_exit << 32);
  hd__fact(f, place(S_PROCESS, 0, 4), rt.search.observed);
  hd__fact(f, place(S_PROCESS, 0, 5), (uint64_t)rt.search.infeasible);
  if (timed) hd__fact(f, place(S_PROCESS, 0, 6), rt.now);
  if (timed) hd__fact(f, place(S_PROCESS, 0, 7), rt.due | (uint64_t)rt.clocked << 63);
  if (rt.clocked) hd__fact(f, place(S_PROCESS, 0, 8), rt.section_vc.time);
  /* What memory is compared with: as it was before main, or at the checkpoint. */
  hd__fact(f, place(S_PROCESS, 0, 9), hd__checkpoint_taken());
  if (rt.nio || rt.nalarms || rt.naliases || hd__before_freed) now->captured = false;
}

static void add_clocks(void) {
  add_clock(place(S_CLOCK, 0, 3), &rt.section_vc);
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct hd_thread *t = &rt.thread[i];
    if (is_over(t)) continue;
    add_clock(place(S_CLOCK, i, 4), &t->vc);
    add_clock(place(S_CLOCK, i, 5), &t->fence.release);
    add_clock(place(S_CLOCK, i, 6), &t->fence.acquire);
  }
  hd__objects_each(add_object_clocks);
}

bool hd__fingerprint(uint64_t out[2]) {
  struct hd_fingerprint *f = &now->global;
  if (rt.uncaptured) return false;
  *f = (struct hd_fingerprint){{0}};
  now->nclocks = 0;
  now->captured = true;
  for (unsigned i = 0; i < rt.nthreads; i++) now->local[i] = (struct hd_fingerprint){{0}};
  add_clocks();
  add_process(f);
  hd__objects_each(add_object);
  for (unsigned i = 0; i < rt.nthreads && now->captured; i++)
    if (!is_over(&rt.thread[i])) add_local(&now->local[i], &rt.thread[i]);
  if (now->captured && !rt.uncaptured) {
    hd__heap_fingerprint(f);
    hd__shadow_fingerprint(f);
    hd__snapshot_each_change(wants_page, add_words);
  }
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (!is_over(&rt.thread[i])) add_thread(f, &rt.thread[i]);
  if (!now->captured) hd__uncaptured(HD_UNCAPTURED_OPERATION);
  out[0] = f->sum[0];
  out[1] = f->sum[1];
  return now->captured && !rt.uncaptured;
}

const uint64_t *hd__fingerprint_local(unsigned thread) { return now->local[thread].sum; }

static int search_fingerprint(struct hd_search *s, uint64_t out[2]) {
  s->captured++;
  if (hd__fingerprint(out)) return 1;
  s->shared->state_counts.uncaptured[rt.uncaptured]++; /* of several workers, about that many */
  return 0;
}

void hd__fingerprint_init(void) {
  if (!rt.config->states || rt.config->mode != HD_MODE_CHECK) return;
  now = hd__map(sizeof *now);
  lines = hd__map(LINES * sizeof *lines);
  HD_BUG_ON(!now || !lines);
  hd__rseq_area(&rseq_lo, &rseq_hi);
  hd_accessed_init(&rt.search);
  rt.search.fingerprint = search_fingerprint;
}

void hd__fingerprint_begin(void) {
  rt.uncaptured = HD_UNCAPTURED_NONE;
  rt.branched = false;
  rt.fingerprints = rt.search.fingerprint && rt.search.captures;
  if (rt.fingerprints && rt.status->restart == HD_RESTART_FORK) rt.uncaptured = HD_UNCAPTURED_FORK;
}
