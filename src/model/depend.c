/* depend.c: which operations depend on each other. Linked into both binaries.
 *
 * Two operations are dependent when what they do to one object conflicts. What they do says ops.def, which effects
 * conflict the matrix here, and whether it is the same object the rule of the effect: memory overlaps, descriptors
 * share a facet, everything else has the same address.
 *
 * Invariants
 *  1. The matrix is symmetric (tests/unit/test_model.c).
 *  2. Readers do not depend on each other: not reads of memory, not those who share a lock, neither when they come nor
 *     when they go, nor those who find that they cannot have it.
 *  3. Threads that queue do not depend on each other: which one is woken is a choice, not a matter of who came first.
 *     Two notifications that nobody hears are independent.
 *  4. Posts of a semaphore do not depend on each other: each adds one, and whoever takes one afterwards is ordered
 *     after all of them.
 *  5. Arrivals at a barrier do not depend on each other as long as only those take part that it was made for; then who
 *     comes last decides nothing. The runtime notices when more take part, and says so in the operation.
 *  6. The ends of threads do not depend on each other, unless the first thread ends like any other: then the last of
 *     all ends the process, and runs its exit handlers, if there are any.
 *  7. Creations of threads do not depend on each other, unless there are so many threads that numbers are reused: then the
 *     order decides the number of the new one (numbers.h).
 *  8. Initialising an object conflicts with every use of it, like destroying it.
 *  9. What is done to another thread wherever that is, and the end of the process, depend on everything. A signal depends
 *     only on what its thread does, on other signals to it and on changes of the handler (hd_op.cancel.narrow), as long as
 *     no handler comes in the place of a wait: then it depends on what others do whether the thread waits. That holds
 *     for all signals of a program or for none: if it were so for some, it would depend on third operations whether two are
 *     dependent. */
#include "model/depend.h"

#define E(effect) HD_EFFECT_BIT(HD_EFF_##effect)
#define CHANGES_OF_MEMORY (E(WRITE) | E(UPDATE) | E(FREE))
#define LOCKING (E(ACQUIRE) | E(RELEASE))
#define SHARING (E(SHARE) | E(UNSHARE))
#define LOOKING (E(LOOK) | E(LOOK_SHARED))
#define QUEUEING (E(QUEUE) | E(UNQUEUE))
#define NOTIFYING (E(NOTIFY) | E(NOTIFY_ALL) | E(NOTIFY_SOME))
#define USING (LOCKING | SHARING | LOOKING | QUEUEING | NOTIFYING | E(POST) | E(TAKE) | E(ARRIVE))
#define LIFE (E(INIT) | E(DESTROY))    /* invariant 8 */
#define ALWAYS (E(INTERRUPT) | E(END)) /* invariant 9 */
#define ROW(effect, others) [HD_EFF_##effect] = (others) | ALWAYS

const uint64_t hd_conflicts[HD_EFF_COUNT] = {
    ROW(NONE, 0),
    ROW(READ, CHANGES_OF_MEMORY),
    ROW(WRITE, E(READ) | CHANGES_OF_MEMORY | E(AWAIT)),
    ROW(UPDATE, E(READ) | CHANGES_OF_MEMORY | E(AWAIT)),
    ROW(FREE, E(READ) | CHANGES_OF_MEMORY | E(AWAIT)),
    ROW(AWAIT, CHANGES_OF_MEMORY | LOCKING | SHARING | E(POST) | E(TAKE) |
                   E(INIT)), /* all that can begin or end a wait */
    ROW(ACQUIRE, LOCKING | SHARING | LOOKING | LIFE | E(AWAIT)),
    ROW(RELEASE, LOCKING | SHARING | LOOKING | LIFE | E(AWAIT)),
    ROW(SHARE, LOCKING | E(LOOK) | LIFE | E(AWAIT)),
    ROW(UNSHARE, LOCKING | E(LOOK) | LIFE | E(AWAIT)),
    ROW(LOOK, LOCKING | SHARING | E(POST) | E(TAKE) | LIFE),
    ROW(LOOK_SHARED, LOCKING | LIFE),
    ROW(INIT, USING | LIFE | E(AWAIT)),
    ROW(DESTROY, USING | LIFE),
    ROW(QUEUE, NOTIFYING | LIFE),
    ROW(UNQUEUE, NOTIFYING | LIFE),
    ROW(NOTIFY, QUEUEING | NOTIFYING | LIFE),
    ROW(NOTIFY_ALL, QUEUEING | NOTIFYING | LIFE),
    ROW(NOTIFY_SOME, QUEUEING | NOTIFYING | LIFE),
    ROW(RETURN, 0),
    ROW(POST, E(TAKE) | E(LOOK) | LIFE | E(AWAIT)),
    ROW(TAKE, E(POST) | E(TAKE) | E(LOOK) | LIFE | E(AWAIT)),
    ROW(NAME, E(NAME)),
    ROW(ARRIVE, E(ARRIVE) | LIFE),
    ROW(LEAVE, 0), /* comes after all arrivals in any case */
    ROW(SPAWN, E(SPAWN)),
    ROW(BEGIN, 0),
    ROW(FINISH, E(FINISH) | E(FIND_ENDED) | E(FIND_RUNNING)),
    ROW(JOIN, 0), /* could not have come before the end */
    ROW(FIND_ENDED, E(FINISH)),
    ROW(FIND_RUNNING, E(FINISH)),
    ROW(EXAMINE, E(EXAMINE) | E(TRANSFER)),
    ROW(TRANSFER, E(EXAMINE) | E(TRANSFER)),
    [HD_EFF_INTERRUPT] = ~0ull,
    [HD_EFF_END] = ~0ull,
};
_Static_assert(HD_EFF_COUNT <= 64, "a set of effects is a word");

/* Whether it is the same object: that is a matter of the effects. */
enum { SAME_ADDRESS, OVERLAP = 1, FACETS = 2, ANYWHERE = 4, CARRIED = 8 };
static const uint8_t rule[HD_EFF_COUNT] = {
    [HD_EFF_READ] = OVERLAP,       [HD_EFF_WRITE] = OVERLAP,       [HD_EFF_UPDATE] = OVERLAP,
    [HD_EFF_FREE] = OVERLAP,       [HD_EFF_EXAMINE] = FACETS,      [HD_EFF_TRANSFER] = FACETS,
    [HD_EFF_INTERRUPT] = CARRIED,  [HD_EFF_END] = ANYWHERE,        [HD_EFF_NOTIFY] = CARRIED,
    [HD_EFF_NOTIFY_ALL] = CARRIED, [HD_EFF_NOTIFY_SOME] = CARRIED, [HD_EFF_ARRIVE] = CARRIED,
    [HD_EFF_FINISH] = CARRIED,     [HD_EFF_SPAWN] = CARRIED,
};

int hd_io_dependent(const struct hd_op *a, const struct hd_op *b) {
  if (a->object && b->object && a->object != b->object) return 0;
  uint32_t ra = a->size & 0xffff, wa = a->size >> 16, rb = b->size & 0xffff, wb = b->size >> 16;
  return (wa & (rb | wb)) || (wb & ra);
}

/* How many go on because of it, or one of them. */
static uint64_t wakes(const struct hd_op *op) { return op->wake.thread | op->wake.count; }

int hd_carried_conflict(const struct hd_op *a, enum hd_effect ea, const struct hd_op *b, enum hd_effect eb) {
  uint64_t both = HD_EFFECT_BIT(ea) | HD_EFFECT_BIT(eb);
  if (!(both & ~NOTIFYING)) return wakes(a) || wakes(b);
  if (!(both & ~E(ARRIVE))) return a->barrier.ordered || b->barrier.ordered;
  if (!(both & ~E(FINISH))) return hd_ends_conflict(a, b);
  if (!(both & ~E(SPAWN))) return a->spawn.ordered && b->spawn.ordered;
  return 1;
}

int hd_conflict_alike(const struct hd_op *a, unsigned af, const struct hd_op *b, unsigned bf) {
  if (a->kind != b->kind || af != bf || a->object != b->object || a->section != b->section) return 0;
  switch (hd_op_effect(a->kind, af)) {
    case HD_EFF_NOTIFY:
    case HD_EFF_NOTIFY_ALL: return !wakes(a) == !wakes(b);
    case HD_EFF_ARRIVE: return a->barrier.ordered == b->barrier.ordered;
    case HD_EFF_FINISH: return a->exit.decides == b->exit.decides;
    case HD_EFF_SPAWN: return a->spawn.ordered == b->spawn.ordered;
    default: return 1;
  }
}

/* A loop waits for each of its places. Only memory has a size. */
static int awaits(const struct hd_op *await, const struct hd_op *other, uint64_t at, unsigned effect) {
  for (unsigned i = 0; i < HD_AWAIT_PLACES; i++) {
    unsigned size;
    uint64_t place = hd_await_place(await, i, &size);
    if (!size) return 0;
    if (rule[effect] & OVERLAP ? place < other->object + other->size && other->object < place + size
                               : place == at)
      return 1;
  }
  return 0;
}

/* An interruption, and any other operation (invariant 9). */
static int interrupts(const struct hd_op *a, const struct hd_op *b, unsigned effect) {
  if (!a->cancel.narrow || b->thread == a->object || effect == HD_EFF_END) return 1;
  if (effect == HD_EFF_INTERRUPT)
    return !b->cancel.narrow || b->object == a->object || b->object == a->thread;
  return effect == HD_EFF_UPDATE && b->object == hd_op_handler(a);
}

static int conflict(const struct hd_op *a, unsigned ka, uint64_t at_a, unsigned ea, const struct hd_op *b,
                    unsigned kb, uint64_t at_b, unsigned eb) {
  if (!(hd_conflicts[ea] >> eb & 1)) return 0;
  unsigned r = rule[ea] | rule[eb];
  if (ea == HD_EFF_INTERRUPT) return interrupts(a, b, eb);
  if (eb == HD_EFF_INTERRUPT) return interrupts(b, a, ea);
  if (r & ANYWHERE) return 1;
  if (ea == HD_EFF_AWAIT) return awaits(a, b, at_b, eb);
  if (eb == HD_EFF_AWAIT) return awaits(b, a, at_a, ea);
  if (r & OVERLAP) return hd_ops_overlap(a, b);
  if (r & FACETS) return hd_io_dependent(a, b);
  if (ea == eb && (ea == HD_EFF_FINISH || ea == HD_EFF_SPAWN))
    return hd_carried_conflict(a, ea, b, eb); /* of two threads */
  if (at_a != at_b) return 0;
  if (hd_object_family(ka) != hd_object_family(kb)) return 0;
  return r != CARRIED || hd_carried_conflict(a, ea, b, eb);
}

int hd_dependent(const struct hd_op *a, unsigned af, const struct hd_op *b, unsigned bf) {
  if ((af | bf) & HD_EV_STOP) return 1;
  if ((a->section == HD_SECTION_ENTERS && hd_meets_sections(b)) ||
      (b->section == HD_SECTION_ENTERS && hd_meets_sections(a)))
    return 1;
  const struct hd_op_info *ia = &hd_op_table[a->kind], *ib = &hd_op_table[b->kind];
  unsigned ea = ia->first.effect[af & HD_EV_FAILED], eb = ib->first.effect[bf & HD_EV_FAILED];
  if (conflict(a, ia->first.object, a->object, ea, b, ib->first.object, b->object, eb)) return 1;
  unsigned sa = ia->second.effect[af & HD_EV_FAILED], sb = ib->second.effect[bf & HD_EV_FAILED];
  if (sa != HD_EFF_NONE &&
      conflict(a, ia->second.object, hd_op_second_object(a), sa, b, ib->first.object, b->object, eb))
    return 1;
  if (sb == HD_EFF_NONE) return 0;
  uint64_t at = hd_op_second_object(b);
  return conflict(a, ia->first.object, a->object, ea, b, ib->second.object, at, sb) ||
         (sa != HD_EFF_NONE &&
          conflict(a, ia->second.object, hd_op_second_object(a), sa, b, ib->second.object, at, sb));
}

#define TAKES (E(ACQUIRE) | E(SHARE))
#define GIVES_UP (E(RELEASE) | E(UNSHARE))

int hd_waits_for(const struct hd_op *r, unsigned rf, const struct hd_op *op, unsigned flags) {
  const struct hd_op_info *ir = &hd_op_table[r->kind], *io = &hd_op_table[op->kind];
  if (!(TAKES >> hd_op_effect(op->kind, flags) & 1) || !hd_op_is(op->kind, HD_TRAIT_WAITS)) return 0;
  /* A time limit may end the wait. */
  if (hd_op_is(op->kind, HD_TRAIT_TIMED) && !(TAKES >> hd_op_effect(op->kind, HD_EV_FAILED) & 1)) return 0;
  unsigned family = hd_object_family(io->first.object);
  return ((GIVES_UP >> hd_op_effect(r->kind, rf) & 1) && hd_object_family(ir->first.object) == family &&
          r->object == op->object) ||
         ((GIVES_UP >> hd_op_second(r->kind, rf) & 1) && hd_object_family(ir->second.object) == family &&
          hd_op_second_object(r) == op->object);
}

void hd_dependence_strip(struct hd_op *op) {
  struct hd_op bare = {
      .kind = op->kind, .section = op->section, .thread = op->thread, .size = op->size, .object = op->object};
  switch (hd_op_payload(op->kind)) {
    case HD_PAYLOAD_WAIT: bare.wait.mutex = op->wait.mutex; break;
    case HD_PAYLOAD_WAKE: bare.wake.thread = op->wake.thread; break;
    case HD_PAYLOAD_WAKEALL:
    case HD_PAYLOAD_WAKESOME: bare.wake.count = op->wake.count != 0; break;
    case HD_PAYLOAD_CANCEL:
      bare.cancel.thread = op->cancel.thread;
      bare.cancel.narrow = op->cancel.narrow;
      break;
    case HD_PAYLOAD_EXIT: bare.exit.decides = op->exit.decides; break;
    case HD_PAYLOAD_SPAWN: bare.spawn.ordered = op->spawn.ordered; break;
    case HD_PAYLOAD_BARRIER: bare.barrier.ordered = op->barrier.ordered; break;
    case HD_PAYLOAD_AWAIT: bare.await = op->await; break;
    default: break;
  }
  *op = bare;
}

/* ---- keys ---- */

/* KIND where no address matters, else that of the object; VARIOUS where one key does not do: the operation has a second
 * object, or its object is not one address. */
enum { VARIOUS, KIND, GRANULE, OBJECT };
#define S(obj, eff, failed) HD_OBJ_##obj != HD_OBJ_NONE
#define S0 0
static const uint8_t key_of[HD_OP_COUNT] = {
#define HD_OP(id, text, obj, eff, failed, second, payload, traits)                               \
  [HD_OP_##id] = (second) || (E(eff) & (ALWAYS | E(AWAIT) | E(EXAMINE) | E(TRANSFER))) ? VARIOUS \
                 : HD_OBJ_##obj == HD_OBJ_NONE || HD_OBJ_##obj == HD_OBJ_THREAD        ? KIND    \
                 : HD_OBJ_##obj == HD_OBJ_MEMORY || HD_OBJ_##obj == HD_OBJ_STATE       ? GRANULE \
                                                                                       : OBJECT,
#include "model/ops.def"
#undef HD_OP
};

uint64_t hd_dependence_key(const struct hd_op *op, unsigned flags) {
  if (op->section || (flags & HD_EV_STOP)) return 0;
  switch (key_of[op->kind]) {
    case KIND: return hd_op_object(op->kind) == HD_OBJ_THREAD ? 8 : 4;
    case GRANULE: return (op->object & 7) + op->size <= 8 ? (op->object >> 3) << 2 | 1 : 0;
    case OBJECT: return op->object << 2 | 2;
    default: return 0;
  }
}
