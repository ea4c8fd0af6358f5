/* family.c: which threads may be interchangeable. Runs in the tested process.
 *
 * A family is the threads that one thread has created one after the other with the same function, argument and attributes.
 * The argument of a std::thread is a block of the heap that nobody but the thread has: it is the same if its contents are.
 * The search compares what they do (explore/symmetry.c). What it cannot see is noticed here, and told apart means learned,
 * under an address that no memory has: the family of that function is none in all executions to come.
 *
 * Invariants
 *  1. Threads of a family differ in their names only: the addresses of stack, heap and thread-local storage, and pthread_t,
 *     which their creator has. A program that does more with such an address than to compare it for equality and to access
 *     the memory, whichever thread does it, ends the family: the plug-ins of the compilers have a hook there, and so has %p.
 *     Memory of one member is laid out like that of another, so offsets in it and their order are no names.
 *  2. A member that asks for its own pthread_t or thread id, or makes a system call whose result may depend on which thread
 *     it is, ends the family: what the number is used for is not known.
 *  3. Memory of a member's own that others contend for ends the family: which memory is visible must be the same for all
 *     members, and another one's would have to be learned with it. */
#include "runtime/core/family.h"

#include <sys/syscall.h>

#include "runtime/core/ident.h"
#include "runtime/core/modules.h"
#include "runtime/memory/memory.h"

#define FIRST 64576 /* state.c has those below */
#define SLOTS 119
#define MAX_STATE 4096
#define NONE_AT (FIRST + 8 * SLOTS) /* no two threads are interchangeable */
_Static_assert(NONE_AT + 8 <= 65536, "no program has memory there");

static uint16_t alike[HD_MAX_THREADS];

/* What a thread was created with, in the execution of that number. */
static struct member {
  uint32_t epoch;
  uint16_t parent;
  uint16_t root; /* first member of its family, plus 1; 0: it has none */
  uint32_t nth;
  void *(*fn)(void *);
  void *arg;
  uint64_t code;               /* what names the family: the function, or the type of a std::thread's state */
  uint64_t block, contents[2]; /* of that state: its size, or 0, and what was in it */
  uint64_t how, mask;
  uint16_t size, joined; /* of the family, by its root */
  bool has_result;
  bool asserted; /* by the program (hd_symmetric) */
  void *result;
} member[HD_MAX_THREADS];
static uint16_t last_child[HD_MAX_THREADS]; /* plus 1; of any execution */
static uint32_t asserts[HD_MAX_THREADS];    /* the execution in which the thread has called hd_symmetric */

static uint32_t families, families_of; /* how many there are, and in which execution */

static uint64_t slot(uint64_t at) {
  if (rt.search.layout) at = hd_layout_stable(rt.search.layout, at);
  return FIRST + hd_mix64(at) % SLOTS * 8;
}

/* Where only a part of the search uses symmetry, what the others do is not affected by what is learned. */
static uint64_t *apart(uint64_t slot, uint64_t *bit) {
  unsigned n = (unsigned)((slot - FIRST) / 8);
  *bit = 1ull << (n & 63);
  return &rt.shared->apart[n >> 6];
}
_Static_assert(SLOTS < 128, "shared.apart has a bit for each, and one for all");

static bool is_learned_at(uint64_t slot) {
  uint64_t bit;
  if (rt.config->symmetry != HD_REDUCE_TRY) return hd__shadow_visible(slot, 8);
  return (__atomic_load_n(apart(slot, &bit), __ATOMIC_SEQ_CST) & bit) != 0;
}

static void learn(uint64_t slot) {
  uint64_t bit;
  if (rt.config->symmetry != HD_REDUCE_TRY) {
    hd__shadow_show(slot, 8);
    return;
  }
  uint64_t *word = apart(slot, &bit);
  if (__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST) & bit) return;
  __atomic_add_fetch(&rt.shared->contended, 1, __ATOMIC_SEQ_CST); /* that part restarts */
}

static bool is_learned(uint64_t code) { return is_learned_at(slot(code)) || is_learned_at(NONE_AT); }

static struct member *family_of(unsigned number) {
  struct member *m = &member[number];
  return m->epoch == rt.epoch && m->root ? &member[m->root - 1] : NULL;
}

static void end_family(struct member *root) {
  if (root && !root->asserted) learn(slot(root->code));
}

void hd__family_none(void) {
  if (rt.search.alike) learn(NONE_AT);
}

static void tell_apart(struct hd_search *s, unsigned thread) {
  (void)s;
  if (thread >= HD_MAX_THREADS)
    hd__family_none();
  else
    end_family(family_of(thread));
}

static bool owns(const struct hd_thread *t, uint64_t addr) {
  const struct hd_ident *id = t->ident;
  if (hd__heap_owns(addr)) return (addr - HD_HEAP_BASE) >> HD_HEAP_SLOT_SHIFT == t->heap_slot;
  return id && addr >= (uint64_t)id->stack_lo && addr < (uint64_t)id->stack_hi;
}

/* The member of a family whose memory that is, plus 1. */
static unsigned member_with(uint64_t addr) {
  if (!families || families_of != rt.epoch) return 0;
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct member *m = &member[i];
    if (family_of(i) && (owns(&rt.thread[i], addr) || addr - (uint64_t)m->arg < m->block)) return i + 1;
  }
  return 0;
}

void hd__family_address(uint64_t addr) {
  unsigned i = member_with(addr);
  if (i) end_family(family_of(i - 1));
}

void hd__family_addresses(uint64_t a, uint64_t b) {
  unsigned i = member_with(a), k = member_with(b);
  if (i == k) return;
  if (i) end_family(family_of(i - 1));
  if (k) end_family(family_of(k - 1));
}

static int search_owns(struct hd_search *s, unsigned thread, uint64_t addr) {
  (void)s;
  return owns(&rt.thread[thread], addr);
}

void hd__family_init(void) {
  if (!rt.config->symmetry || rt.config->mode != HD_MODE_CHECK) return;
  rt.search.alike = alike;
  rt.search.tell_apart = tell_apart;
  rt.search.owns = search_owns;
}

/* The state of a std::thread. Its first word points to a table of the code that the thread runs. */
static void look_at_state(struct member *m) {
  const uint64_t *word = m->arg;
  struct hd_block b;
  if (!hd__cxx_library((uint64_t)m->fn) || !hd__heap_owns((uint64_t)word) ||
      !hd__heap_block((uint64_t)word, &b) || !b.live || b.base != (uint64_t)word || b.size < sizeof *word ||
      b.size > MAX_STATE || b.size % sizeof *word)
    return;
  m->block = b.size;
  m->code = word[0];
  for (uint64_t i = 0; i < b.size / sizeof *word; i++) {
    m->contents[0] = hd_mix64(m->contents[0] + word[i]);
    m->contents[1] = hd_mix64(m->contents[1] ^ word[i]) + word[i];
  }
}

static bool same_argument(const struct member *a, const struct member *b) {
  if (a->arg == b->arg) return true;
  return a->block && a->block == b->block && a->contents[0] == b->contents[0] &&
         a->contents[1] == b->contents[1];
}

void hd__family_add(unsigned number, unsigned nth, bool plain, void *(*fn)(void *), void *arg, uint64_t how) {
  struct hd_thread *me = rt.cur;
  unsigned before = last_child[me->id];
  struct member *m = &member[number], *b = before ? &member[before - 1] : NULL;
  *m = (struct member){.epoch = rt.epoch,
                       .parent = me->id,
                       .nth = nth,
                       .fn = plain ? fn : NULL,
                       .arg = arg,
                       .code = (uint64_t)fn,
                       .how = how,
                       .mask = me->sig.mask,
                       .asserted = asserts[me->id] == rt.epoch};
  alike[number] = 0;
  if (plain) look_at_state(m);
  last_child[me->id] = (uint16_t)(number + 1);
  if (!plain || !b || b == m || b->epoch != rt.epoch || b->parent != me->id || b->nth + 1 != nth ||
      b->fn != fn || b->how != how || b->mask != m->mask || b->asserted != m->asserted)
    return;
  if (!m->asserted && (!same_argument(b, m) || is_learned(m->code))) return;
  if (!b->root) {
    b->root = (uint16_t)before;
    b->size = 1;
    families = families_of == rt.epoch ? families + 1 : 1;
    families_of = rt.epoch;
  }
  m->root = b->root;
  member[m->root - 1].size++;
  alike[number] = (uint16_t)before;
}

void hd__family_assert(void) { asserts[rt.cur->id] = rt.epoch; }

void hd__family_joined(const struct hd_thread *t, void *const *result) {
  struct member *f = family_of(t->id);
  if (!f) return;
  if (result && f->has_result && f->result != *result) end_family(f);
  f->has_result |= result != NULL;
  f->result = result ? *result : f->result;
  rt.between = 0;
  if (++f->joined == f->size) return;
  rt.between = (uint16_t)(rt.cur->id + 1);
  hd__new_segment(rt.cur); /* so that what it accesses is looked at once more */
}

void hd__family_reads(void) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct member *f = family_of(i);
    if (f && f->parent + 1u == rt.between && f->joined && f->joined < f->size) end_family(f);
  }
}

void hd__family_name(void) {
  if (rt.search.alike) end_family(family_of(rt.cur->id));
}

void hd__family_syscall(long nr, const long *a) {
  switch (nr) {
    case SYS_write:
    case SYS_writev:
      if ((int)a[0] == 1 || (int)a[0] == 2) return;
      break;
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_getpid:
    case SYS_sched_yield:
    case SYS_rt_sigprocmask:
    case SYS_futex:
    case SYS_exit_group: return;
    default: break;
  }
  hd__family_name();
}

void hd__family_visible(uint64_t addr) {
  if (hd__heap_owns(addr) && (addr - HD_HEAP_BASE) >> HD_HEAP_SLOT_SHIFT >= HD_MAX_THREADS)
    hd__family_none(); /* whose it is depends on the order of the threads */
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct member *f = family_of(i);
    if (!f) continue;
    const struct member *m = &member[i];
    if (addr + 8 > (uint64_t)m->arg && addr < (uint64_t)m->arg + m->block) end_family(f);
    if (owns(&rt.thread[i], addr)) end_family(f);
  }
}
