/* cover.c: what the executions of a search exercised: which places ran, and in which order conflicting ones did.
 * Runs in the tested process.
 *
 * A pair is an operation and an earlier one of another thread that it conflicts with: memory accesses as the shadow
 * memory has them (shadow.c), acquisitions of a lock, a wait and a signal, and so on (classes() below). Pairs
 * ordered by creating and joining threads are left out: they cannot occur in the other order.
 *
 * Invariants
 *  1. An execution is observed whole or not at all. All are, as long as they exercise something new. When PATIENCE
 *     in a row did not, fewer and fewer are, down to one of SELDOM. Something new resets that.
 *  2. The table belongs to this worker alone. It is in the memory of the search, so it outlives the process and is
 *     saved with the search. An entry is complete before it is counted, and counted before it is found. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/record.h"

#define PATIENCE 16
#define SELDOM 256
#define PROBES 64
#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

struct hd_cover *hd__cover_table(void) {
  return (struct hd_cover *)(HD_SEARCH_BASE + HD_SEARCH_COVER + rt.search.worker * HD_COVER_SIZE);
}

/* Much of C++ is in headers of the library: only their callers say which code of the program ran. */
static unsigned callers(void) {
  static int known = -1;
  if (known >= 0) return (unsigned)known;
  known = 0;
  for (unsigned m = 0; m < rt.status->nmodules; m++)
    for (const char *p = rt.ctl->module[m].path; *p; p++)
      if (hd__starts(p, "libstdc++")) known = HD_COVER_CALLERS;
  return (unsigned)known;
}

static uint32_t skipping; /* value from which rt.cover_skip counts down */

void hd__cover_observe(void) {
  struct hd_cover *c = hd__cover_table();
  if (rt.config->mode != HD_MODE_CHECK) {
    rt.cover_skip = UINT64_MAX;
    return;
  }
  if (!c->every) c->every = 1;
  if (++c->idle > PATIENCE && c->every < SELDOM) {
    c->every *= 4;
    c->idle = 1;
  }
  c->begun += skipping + 1u;
  c->looked_at++;
  rt.cover_skip = skipping = c->every - 1;
  hot.cover = 1;
  if (callers()) hot.detail = 1; /* the shadow memory keeps call stacks */
}

void hd__cover_observed(void) {
  hot.cover = 0;
  if (!hot.log) hot.detail = rt.config->leaks != 0;
}

void hd__cover_pass(void) {
  rt.ctl->relay.cover_skip = rt.cover_skip;
  rt.ctl->relay.cover_skipping = skipping;
}

void hd__cover_passed(void) {
  rt.cover_skip = rt.ctl->relay.cover_skip;
  skipping = rt.ctl->relay.cover_skipping;
}

void hd__cover_end(void) {
  if (rt.config->mode == HD_MODE_CHECK) hd__cover_table()->begun += skipping - rt.cover_skip;
}

static void is_new(struct hd_cover *c) {
  c->idle = 0;
  c->every = 1;
  rt.cover_skip = skipping = 0;
}

/* Entries of a list. Each was added before the one that leads to it, unless the program has overwritten it. */
static uint32_t older(uint32_t i, uint32_t next) { return next < i ? next : 0; }
static uint32_t first_of(uint32_t list, uint32_t cap) { return list <= cap ? list : 0; }

/* ---- places ---- */

static bool is_place(const struct hd_cover_place *p, const uint64_t *chain, unsigned n) {
  for (unsigned i = 0; i < HD_COVER_CALLERS; i++)
    if (p->caller[i] != (i + 1 < n ? chain[i + 1] : 0)) return false;
  return p->pc == chain[0];
}

/* The number of the new entry, 0 if there is no room. */
static uint32_t add_place(struct hd_cover *c, uint32_t *list, const uint64_t *chain, unsigned n) {
  if (c->nplaces >= HD_COVER_PLACES) {
    c->lost = 1;
    return 0;
  }
  struct hd_cover_place *p = &c->place[c->nplaces];
  *p = (struct hd_cover_place){.pc = chain[0], .next = *list};
  for (unsigned i = 1; i < n; i++) p->caller[i - 1] = chain[i];
  BARRIER();
  c->nplaces++;
  BARRIER();
  return *list = c->nplaces;
}

/* The number of the place's entry, 0 if there is no room. chain: its program counter, then its callers. */
static uint32_t note_place(const uint64_t *chain, unsigned n, unsigned op, unsigned thread, bool exact) {
  struct hd_cover *c = hd__cover_table();
  uint64_t h = 0, bit = 1ull << (thread < 63 ? thread : 63);
  if (!n) return 0;
  for (unsigned i = 0; i < n; i++) h = hd_mix64(h + chain[i]);
  uint32_t *list = &c->place_list[h % HD_COVER_PLACE_LISTS], i = first_of(*list, HD_COVER_PLACES);
  while (i && !is_place(&c->place[i - 1], chain, n)) i = older(i, c->place[i - 1].next);
  if (!i) i = add_place(c, list, chain, n);
  if (!i) return 0;
  struct hd_cover_place *p = &c->place[i - 1];
  if (!(p->threads & bit)) {
    p->threads |= bit;
    is_new(c);
  }
  if (exact || !p->exact) {
    p->op = op;
    p->exact = exact;
  }
  return i;
}

/* A cache: most places repeat within a thread. */
static struct {
  uint64_t pc;
  uint32_t thread, place;
} recent[512];

static uint32_t note_site(uint64_t pc, uint64_t site, unsigned op, unsigned thread, bool exact) {
  uint64_t chain[1 + HD_COVER_CALLERS];
  unsigned max = 1 + callers(), slot = (unsigned)((pc ^ thread * 67u) % 512);
  if (!pc) return 0;
  if (max == 1 && recent[slot].pc == pc && recent[slot].thread == thread) return recent[slot].place;
  unsigned n = exact ? hd__walk(rt.cur, pc, chain, max) : hd__site_walk(site, chain, max);
  uint32_t place = note_place(chain, n, op, thread, exact);
  if (exact && place) {
    recent[slot].pc = pc;
    recent[slot].thread = thread;
    recent[slot].place = place;
  }
  return place;
}

/* ---- pairs ---- */

enum hd_fixed hd__cover_fixed(unsigned a, uint32_t seg, const struct hd_thread *b) {
  for (unsigned hops = 0; hops < HD_MAX_THREADS; hops++) {
    const struct hd_thread *t = &rt.thread[a], *c = b;
    if (t == c) return HD_FIXED_FAMILY;
    for (; c->id && c->parent != a; c = &rt.thread[c->parent])
      ;
    if (c->id && seg < c->start.segment) return hops ? HD_FIXED_APART : HD_FIXED_FAMILY;
    if (!t->join.segment) return HD_FIXED_NOT;
    seg = t->join.segment - 1;
    a = t->join.by;
  }
  return HD_FIXED_NOT;
}

/* Whether the order of that and what the running thread does now is fixed. */
static bool fixed(unsigned a, uint32_t seg) { return hd__cover_fixed(a, seg, rt.cur) != 0; }

static void note_pair(uint32_t first, uint32_t second, uint64_t object) {
  struct hd_cover *c = hd__cover_table();
  if (!first || !second) return;
  uint32_t *list = &c->pair_list[hd_mix64((uint64_t)first << 32 | second) % HD_COVER_PAIR_LISTS];
  for (uint32_t i = first_of(*list, HD_COVER_PAIRS); i; i = older(i, c->pair[i - 1].next)) {
    struct hd_cover_pair *p = &c->pair[i - 1];
    if (p->first != first || p->second != second) continue;
    p->times++;
    return;
  }
  if (c->npairs >= HD_COVER_PAIRS) {
    c->lost = 1;
    return;
  }
  c->pair[c->npairs] =
      (struct hd_cover_pair){.first = first, .second = second, .object = object, .times = 1, .next = *list};
  BARRIER();
  c->npairs++;
  BARRIER();
  *list = c->npairs;
  is_new(c);
}

void hd__cover_access(uint32_t seg, uint64_t site, unsigned first_op, uint64_t pc, unsigned op,
                      uint64_t object) {
  unsigned thread = hd__segment_thread(seg);
  if (fixed(thread, seg)) return;
  uint32_t first = note_site(hd__site_pc(site), site, first_op, thread, false);
  note_pair(first, note_site(pc, 0, op, rt.cur->id, true), object);
}

/* ---- objects other than memory ---- */

/* How an operation on an object conflicts with others on it: it belongs to one of two classes, and conflicts with
 * the other class, perhaps also with its own. Only effects are counted that could have come in the other order: not
 * releases. */
enum { OF_NONE, OF_FIRST, OF_SECOND, WITH_OWN = 4 };

static unsigned classes(unsigned kind) {
  static const uint8_t of[HD_EFF_COUNT] = {
      [HD_EFF_ACQUIRE] = OF_SECOND | WITH_OWN,
      [HD_EFF_TRANSFER] = OF_SECOND | WITH_OWN,
      [HD_EFF_TAKE] = OF_FIRST | WITH_OWN,
      [HD_EFF_SHARE] = OF_FIRST,
      [HD_EFF_QUEUE] = OF_FIRST,
      [HD_EFF_EXAMINE] = OF_FIRST,
      [HD_EFF_NOTIFY] = OF_SECOND,
      [HD_EFF_NOTIFY_ALL] = OF_SECOND,
      [HD_EFF_POST] = OF_SECOND,
  };
  /* A wait at a futex, which is a read of memory first. */
  enum hd_effect second = hd_op_second(kind, 0);
  return of[second == HD_EFF_QUEUE ? second : hd_op_effect(kind, 0)];
}

/* The last operation of each class on an object. The address identifies the object; if memory serves as two kinds
 * of object, which is a mistake of the program, the pairs mix them. */
struct use {
  uint32_t place, seg;
};
struct used {
  uint64_t object;
  uint32_t run; /* rt.seg_base; else it is empty */
  struct use last[2];
};
#define OBJECTS 8192
static struct used used[OBJECTS];

static struct used *used_slot(uint64_t object) {
  uint32_t i = (uint32_t)(object * 0x9e3779b97f4a7c15ull >> 51);
  for (unsigned n = 0; n < PROBES; n++, i = (i + 1) % OBJECTS) {
    struct used *u = &used[i];
    if (u->run == rt.seg_base && u->object != object) continue;
    if (u->run != rt.seg_base) *u = (struct used){.object = object, .run = rt.seg_base};
    return u;
  }
  return NULL;
}

static void note_conflict(const struct use *e, uint32_t place, const struct hd_op *op) {
  if (!e->place) return;
  unsigned thread = hd__segment_thread(e->seg);
  if (thread != op->thread && !fixed(thread, e->seg)) note_pair(e->place, place, op->object);
}

void hd__cover_event(const struct hd_op *op) {
  uint32_t place = note_site(op->pc, 0, op->kind, op->thread, true);
  unsigned k = classes(op->kind);
  if (k == OF_NONE || !op->object) return;
  struct used *u = used_slot(op->object);
  if (!u) {
    hd__cover_table()->lost = 1;
    return;
  }
  unsigned own = (k & 3) - 1;
  note_conflict(&u->last[!own], place, op);
  if (k & WITH_OWN) note_conflict(&u->last[own], place, op);
  u->last[own] = (struct use){place, (uint32_t)(rt.cur->tag >> 32)};
}
