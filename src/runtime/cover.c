/* cover.c: what the executions of a search exercised: which places ran, and in which order those that conflict came.
 * Runs in the tested process.
 *
 * A pair is an operation and an earlier one of another thread that it conflicts with: accesses to memory as the shadow
 * knows them (shadow.c), the takings of a lock, a wait and a signal, and so on (classes() below). What creating and
 * joining threads orders is left out: it could never have come the other way round.
 *
 * Invariants
 *  1. An execution is looked at whole or not at all. All are, as long as they show something new: when PATIENCE in a row
 *     did not, half as many, down to one of SELDOM. What is new makes it all of them again.
 *  2. The table is this worker's alone, in the memory of the search: it outlives the process, and is saved with the
 *     search. An entry is complete before its place is set. */
#include "runtime/rt.h"

#define PATIENCE 256
#define SELDOM 64
#define PROBES 64
#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static struct hd_cover *table(void) {
  return (struct hd_cover *)(HD_SEARCH_BASE + HD_SEARCH_COVER + rt.search.worker * HD_COVER_SIZE);
}

void hd__cover_begin(void) {
  struct hd_cover *c = table();
  hot.cover = 0;
  if (rt.config->mode != HD_MODE_CHECK) return;
  c->begun++;
  if (c->until) {
    c->until--;
    return;
  }
  if (!c->every) c->every = 1;
  if (++c->idle > PATIENCE && c->every < SELDOM) {
    c->every *= 2;
    c->idle = 1;
  }
  c->until = c->every - 1;
  c->looked_at++;
  hot.cover = 1;
}

static void is_new(struct hd_cover *c) {
  c->idle = c->until = 0;
  c->every = 1;
}

/* ---- places ---- */

static void note_place(uint64_t pc, unsigned op, unsigned thread, bool exact) {
  struct hd_cover *c = table();
  uint32_t i = (uint32_t)(hd_mix64(pc) % HD_COVER_PLACES);
  uint64_t bit = 1ull << (thread < 63 ? thread : 63);
  for (unsigned n = 0; n < PROBES; n++, i = (i + 1) % HD_COVER_PLACES) {
    struct hd_cover_place *p = &c->place[i];
    if (p->pc && p->pc != pc) continue;
    if (!(p->threads & bit)) {
      p->threads |= bit;
      is_new(c);
    }
    if (exact || !p->exact) {
      p->op = op;
      p->exact = exact;
    }
    if (!p->pc) {
      BARRIER();
      p->pc = pc;
    }
    return;
  }
  c->lost = 1;
}

/* ---- pairs ---- */

/* Whether creating and joining threads alone orders what thread a did in segment `seg` before the running thread. */
static bool fixed(unsigned a, uint32_t seg) {
  for (unsigned hops = 0; hops < HD_MAX_THREADS; hops++) {
    const struct hd_thread *t = &rt.thread[a], *c = rt.cur;
    if (t == c) return true;
    for (; c->id && c->parent != a; c = &rt.thread[c->parent])
      ;
    if (c->id && seg < c->born) return true;
    if (!t->joined_at) return false;
    seg = t->joined_at - 1;
    a = t->joined_by;
  }
  return false;
}

static void note_pair(uint64_t first, uint64_t second, uint64_t object) {
  struct hd_cover *c = table();
  uint32_t i = (uint32_t)(hd_mix64(first * 31 + second) % HD_COVER_PAIRS);
  for (unsigned n = 0; n < PROBES; n++, i = (i + 1) % HD_COVER_PAIRS) {
    struct hd_cover_pair *p = &c->pair[i];
    if (p->first && (p->first != first || p->second != second)) continue;
    p->times++;
    if (!p->first) {
      p->second = second;
      p->object = object;
      BARRIER();
      p->first = first;
      is_new(c);
    }
    return;
  }
  c->lost = 1;
}

void hd__cover_pair(uint32_t seg, uint64_t first, unsigned first_op, uint64_t pc, unsigned op,
                    uint64_t object) {
  unsigned thread = hd__segment_thread(seg);
  if (!first || !pc || fixed(thread, seg)) return;
  note_place(first, first_op, thread, false);
  note_place(pc, op, rt.cur->id, true);
  note_pair(first, pc, object);
}

/* ---- objects other than memory ---- */

/* How an operation on an object conflicts with others on it: it is of one of two classes, and conflicts with the other
 * class, perhaps with its own. */
enum { OF_NONE, OF_FIRST, OF_SECOND, WITH_OWN = 4 };

static unsigned classes(unsigned kind) {
  switch (kind) {
    case HD_OP_LOCK:
    case HD_OP_TRYLOCK:
    case HD_OP_TIMEDLOCK:
    case HD_OP_WAKE:
    case HD_OP_ONCE:
    case HD_OP_WRLOCK:
    case HD_OP_TRYWRLOCK:
    case HD_OP_TIMEDWRLOCK: return OF_SECOND | WITH_OWN;
    case HD_OP_RDLOCK:
    case HD_OP_TRYRDLOCK:
    case HD_OP_TIMEDRDLOCK:
    case HD_OP_WAIT:
    case HD_OP_TIMEDWAIT:
    case HD_OP_FWAIT: return OF_FIRST;
    case HD_OP_SEMWAIT:
    case HD_OP_SEMTRYWAIT:
    case HD_OP_SEMTIMED: return OF_FIRST | WITH_OWN;
    case HD_OP_SIGNAL:
    case HD_OP_BROADCAST:
    case HD_OP_FWAKE:
    case HD_OP_FWAKEALL:
    case HD_OP_SEMPOST: return OF_SECOND;
    default:
      if (hd_op_object[kind] != HD_OBJ_IO) return OF_NONE;
      return hd_op_effect[kind] == HD_EFF_WRITE ? OF_SECOND | WITH_OWN : OF_FIRST;
  }
}

/* The last operation of each class on an object. Objects are told apart by their addresses: of one class of object
 * each has its own, and where the memory serves as two kinds the pairs would be those of the program's mistake. */
struct use {
  uint64_t pc;
  uint32_t seg;
  uint16_t op;
};
struct used {
  uint64_t object;
  uint32_t epoch; /* rt.epoch; else it is empty */
  struct use last[2];
};
#define OBJECTS 8192
static struct used used[OBJECTS];

static struct used *used_slot(uint64_t object) {
  uint32_t i = (uint32_t)(object * 0x9e3779b97f4a7c15ull >> 51);
  for (unsigned n = 0; n < PROBES; n++, i = (i + 1) % OBJECTS) {
    struct used *u = &used[i];
    if (u->epoch == rt.epoch && u->object != object) continue;
    if (u->epoch != rt.epoch) *u = (struct used){.object = object, .epoch = rt.epoch};
    return u;
  }
  return NULL;
}

static void meet(const struct use *e, const struct hd_op *op) {
  if (e->pc && hd__segment_thread(e->seg) != op->thread)
    hd__cover_pair(e->seg, e->pc, e->op, op->pc, op->kind, op->object);
}

void hd__cover_event(const struct hd_op *op) {
  if (op->pc) note_place(op->pc, op->kind, op->thread, true);
  unsigned k = classes(op->kind);
  if (k == OF_NONE || !op->object) return;
  struct used *u = used_slot(op->object);
  if (!u) {
    table()->lost = 1;
    return;
  }
  unsigned own = (k & 3) - 1;
  meet(&u->last[!own], op);
  if (k & WITH_OWN) meet(&u->last[own], op);
  u->last[own] = (struct use){op->pc, (uint32_t)(rt.cur->tag >> 32), op->kind};
}
