/* finding.c: records findings in the shared file. Runs in the tested process, on the stack of the thread at fault
 * (or the scheduler's, for a deadlock found there). The supervisor reads and reports them. */
#include <unwind.h>

#include "runtime/core/arch.h"
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

/* ---- sites (hot.detail) ---- */

static uint64_t *depot; /* [thread << 32 | n, pc...] one after the other; a site is an index, 0 is no site */
static HD_EXEC uint64_t depot_next = 1;
#define DEPOT_WORDS (1ull << 29)

void hd__sites_reset(void) { depot_next = 1; }

unsigned hd__walk(const struct hd_thread *t, uint64_t pc, uint64_t *out, unsigned max) {
  unsigned n = 0;
  struct hd_call *f = t == rt.cur ? hot.call : t->call;
  if (pc) out[n++] = pc;
  while (f > t->calls && n < max) {
    f--;
    out[n++] = f->pc;
  }
  return n;
}

uint64_t hd__site_here(uint64_t pc) {
  if (!hot.detail) return pc;
  if (!depot) depot = hd__map(DEPOT_WORDS * 8);
  if (!depot || depot_next + HD_MAX_STACK + 1 > DEPOT_WORDS) return 0;
  uint64_t at = depot_next;
  unsigned n = hd__walk(rt.cur, pc, depot + at + 1, HD_MAX_STACK);
  depot[at] = (uint64_t)rt.cur->id << 32 | n;
  depot_next += n + 1;
  return at;
}

uint64_t hd__site_pc(uint64_t site) {
  if (!hot.detail) return site;
  return site && depot && (uint32_t)depot[site] ? depot[site + 1] : 0;
}

unsigned hd__site_walk(uint64_t site, uint64_t *out, unsigned max) {
  unsigned n = site && hot.detail && depot ? (uint32_t)depot[site] : site && !hot.detail;
  if (n > max) n = max;
  for (unsigned i = 0; i < n; i++) out[i] = hot.detail ? depot[site + 1 + i] : site;
  return n;
}

void hd__site_stored(struct hd_site *s, uint64_t site) {
  if (!hot.detail) {
    s->npc = site != 0;
    s->pc[0] = site;
  } else if (site && depot) {
    s->npc = (uint16_t)depot[site];
    s->thread = (uint16_t)(depot[site] >> 32);
    hd__copy(s->pc, depot + site + 1, s->npc * 8ull);
  }
}

/* When `pc` is in a library of the system, the call of the program that led there is an entry of its own: all calls of
 * one function have their return address at the same place, below its frame. */
void hd__site_stack(struct hd_site *s, struct hd_thread *t, uint64_t pc) {
  const struct hd_call *f = t == rt.cur ? hot.call : t->call;
  uint64_t call = 0;
  unsigned n = 0;
  if (hot.detail && pc && f > t->calls && !hd__user_text(pc) && hd_arch_peek(f[-1].sp + 8, 8, &call) &&
      hd__user_text(call))
    s->pc[n++] = pc;
  s->npc = (uint16_t)(n + hd__walk(t, n ? call : pc, s->pc + n, HD_MAX_STACK - n));
}

void hd__site_fault(struct hd_site *s, uint64_t pc, uint64_t sp) {
  uint64_t from = hd__user_pc(pc, sp);
  s->flags |= HD_SITE_EXACT;
  s->pc[0] = pc;
  if (from == pc) {
    s->npc = (uint16_t)hd__walk(rt.cur, pc, s->pc, HD_MAX_STACK);
    return;
  }
  /* In code without hooks: the call that led there is an entry of its own. */
  s->npc = (uint16_t)(1 + hd__walk(rt.cur, from, s->pc + 1, HD_MAX_STACK - 1));
}

/* ---- findings ---- */

static uint64_t key_of(unsigned kind, uint64_t pc1, uint64_t pc2) {
  uint64_t a = hd__stable(pc1), b = pc2 ? hd__stable(pc2) : 0, k;
  k = hd_mix64((a < b ? a * 3 + b : b * 3 + a) + kind * 0x9e3779b97f4a7c15ull);
  return k ? k : 1;
}

/* If the program has overwritten the shared file, nothing in it can be trusted: the supervisor repairs it. */
static void check_shared(void) {
  if (rt.ctl->magic != HD_CTL_MAGIC || rt.ctl->size != sizeof *rt.ctl ||
      rt.status->nfindings > HD_MAX_FINDINGS || rt.status->nmodules > HD_MAX_MODULES ||
      rt.status->visible_count > HD_VISIBLE_CAP)
    hd__die(95);
}

void hd__inexact(enum hd_inexact why, uint64_t pc) { hd_inexact_note(rt.status->inexact, why, pc); }

static bool has_key(uint64_t key) {
  for (unsigned i = 0; i < rt.status->nfindings; i++)
    if (rt.ctl->finding[i].key == key) return true;
  return false;
}

bool hd__finding_known(unsigned kind, uint64_t pc) {
  return (rt.config->ignore >> kind & 1) || has_key(key_of(kind, pc, 0));
}

struct hd_finding_rec *hd__finding(unsigned kind, uint64_t pc1, uint64_t pc2) {
  struct hd_status *st = rt.status;
  check_shared();
  uint64_t key = key_of(kind, pc1, pc2);
  if (rt.config->ignore >> kind & 1) return NULL;
  if (kind == HD_KIND_DATA_RACE && rt.status->inexact[HD_INEXACT_OPENMP_RACES].count) return NULL;
  if (rt.config->target_key && rt.config->target_key != key) return NULL;
  st->kinds |= 1ull << kind;
  if (rt.config->mode == HD_MODE_REDUCE) { /* only whether it occurred matters */
    if (!rt.config->target_key && rt.config->target_kind != kind) return NULL;
    rt.search.hit = 1;
    hd__end(HD_RUN_FINDING);
  }
  if (has_key(key)) return NULL;
  if (st->nfindings == HD_MAX_FINDINGS) {
    hd__inexact(HD_INEXACT_FINDINGS, pc1);
    return NULL;
  }
  struct hd_finding_rec *f = &rt.ctl->finding[st->nfindings];
  hd__zero(f, offsetof(struct hd_finding_rec, site));
  f->kind = kind;
  f->key = key;
  f->execution = rt.search.execution;
  f->events = st->events + rt.events;
  f->phase = rt.status->phase_now;
  f->seed = rt.config->seed;
  f->visible_count = st->visible_at_start;
  return f;
}

struct hd_site *hd__finding_site(struct hd_finding_rec *f, unsigned role, unsigned thread, unsigned op) {
  static struct hd_site spare;
  struct hd_site *s = f->nsites < HD_MAX_SITES ? &f->site[f->nsites++] : &spare;
  hd__zero(s, sizeof *s);
  s->role = (uint8_t)role;
  s->op = (uint8_t)op;
  s->thread = (uint16_t)thread;
  s->peer = HD_NOBODY;
  return s;
}

void hd__site_block(struct hd_finding_rec *f, uint64_t addr) {
  struct hd_block b;
  bool before = !hd__heap_owns(addr) && hd__before_block(addr, &b); /* its allocation was not observed */
  if (!before && !hd__heap_block(addr, &b)) return;
  if (!before) {
    struct hd_site *s = hd__finding_site(f, HD_ROLE_ALLOC, b.thread, HD_OP_NONE);
    s->object = b.base;
    s->size = (uint32_t)b.size;
    if (hot.detail) hd__site_stored(s, b.alloc_site);
  }
  if (!b.live) {
    struct hd_site *s = hd__finding_site(f, HD_ROLE_FREE, b.thread, HD_OP_FREE);
    s->object = b.base;
    s->size = (uint32_t)b.size;
    if (hot.detail) hd__site_stored(s, b.free_site);
  }
}

#define FRAME_SEARCH (1ull << 16) /* bytes of an outermost frame that are searched for its return address */

static struct hd_frame_recs *frames(void) { return (struct hd_frame_recs *)(HD_SHM_BASE + HD_SHM_FRAMES); }

/* Adds the frame of the call, if its return address is found on the stack below `end`. */
static void record_frame(struct hd_frame_recs *r, const struct hd_call *f, uint64_t end) {
  uint64_t v = 0, pc = 0, at = f->sp + 16;
  while (at < end && (!hd_arch_peek(at, 8, &v) || v != f->pc)) at += 8;
  if (at < end && r->n < HD_FRAMES_CAP && hd_arch_peek(f->sp + 8, 8, &pc))
    r->v[r->n++] = (struct hd_frame_rec){pc, f->sp + 16, at + 8};
}

static void record_frames_of(const struct hd_thread *t) {
  const struct hd_call *f = t == rt.cur ? hot.call : t->call;
  for (; f > t->calls; f--)
    record_frame(frames(), f - 1, f - 1 > t->calls ? f[-2].sp + 16 : f[-1].sp + FRAME_SEARCH);
}

/* The frames of all threads that have not ended. */
static void record_frames(void) {
  frames()->n = frames()->nearlier;
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].state != HD_T_DONE) record_frames_of(&rt.thread[i]);
}

static bool is_known(const struct hd_frame_recs *r, uint64_t n, const struct hd_frame_rec *f) {
  for (uint64_t i = 0; i < n; i++)
    if (r->v[i].pc == f->pc && r->v[i].sp == f->sp && r->v[i].cfa == f->cfa) return true;
  return false;
}

void hd__finding_creates(void) {
  struct hd_frame_recs *r = frames();
  if (!hot.detail || r->n >= HD_FRAMES_CAP / 2) return;
  uint64_t n = r->n;
  record_frames_of(rt.cur);
  for (uint64_t i = n; i < r->n; i++)
    if (!is_known(r, n, &r->v[i])) r->v[n++] = r->v[i];
  r->n = r->nearlier = n;
}

static void record_block(const struct hd_block *b) {
  struct hd_block_recs *r = (struct hd_block_recs *)(HD_SHM_BASE + HD_SHM_BLOCKS);
  if (r->n == HD_BLOCKS_CAP) return;
  struct hd_block_rec *out = &r->v[r->n];
  unsigned n = hd__site_walk(b->alloc_site, out->pc, HD_BLOCK_PCS);
  if (n == 0) return;
  if (n < HD_BLOCK_PCS) out->pc[n] = 0;
  out->base = b->base;
  out->size = b->size;
  r->n++;
}

void hd__finding_blocks(void) {
  ((struct hd_block_recs *)(HD_SHM_BASE + HD_SHM_BLOCKS))->n = 0;
  hd__heap_each_block(record_block);
}

void hd__finding_done(struct hd_finding_rec *f, bool fatal) {
  if (rt.unsure) hd__end(HD_RUN_FINDING);
  static uint64_t fpath_next;
  struct hd_status *st = rt.status;
  hd_step *fpath = (hd_step *)(HD_SHM_BASE + HD_SHM_FPATH);
  for (unsigned i = 0; i < st->nfindings;
       i++) { /* a restarted process appends to what its predecessor stored */
    uint64_t e = rt.ctl->finding[i].path_off + rt.ctl->finding[i].path_len;
    fpath_next = e > fpath_next ? e : fpath_next;
  }
  if (fpath_next + rt.path_len <= HD_FPATH_CAP) {
    hd__copy(fpath + fpath_next, rt.path, rt.path_len * sizeof *fpath);
    f->path_off = fpath_next;
    f->path_len = rt.path_len;
    fpath_next += rt.path_len;
  }
  f->numbers = st->numbers;
  f->nthreads = rt.nthreads < HD_MAX_THREAD_RECS ? rt.nthreads : HD_MAX_THREAD_RECS;
  for (unsigned i = 0; i < f->nthreads; i++) {
    const struct hd_thread *t = &rt.thread[i];
    f->thread[i] = (struct hd_thread_rec){t->parent, (uint16_t)t->nth,
                                          t->state == HD_T_DONE    ? HD_TS_DONE
                                          : t->state == HD_T_READY ? HD_TS_RUNNABLE
                                                                   : HD_TS_BLOCKED,
                                          (uint64_t)t->start.fn, ""};
    hd__copy(f->thread[i].name, t->attr.name, sizeof t->attr.name);
  }
  hd__notes_take(f);
  if (hot.log) hd__debug_finding(f);
  if (hot.detail) {
    record_frames();
    hd__finding_blocks();
  }
  __atomic_store_n(&st->nfindings, st->nfindings + 1, __ATOMIC_RELEASE);
  /* `heddle run` is one run of the program: what would end it natively ends it here, too. */
  if (!rt.config->all || (fatal && rt.config->mode == HD_MODE_RUN)) hd__end(HD_RUN_FINDING);
  if (fatal) hd__thread_stop();
}

void hd__report_simple(unsigned kind, uint64_t object, uint64_t pc, const char *text, bool fatal) {
  struct hd_finding_rec *f = hd__finding(kind, pc, 0);
  if (f) {
    struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_NONE);
    hd__site_stack(s, rt.cur, pc);
    s->object = object;
    hd__format(f->text, sizeof f->text, "%s", text ? text : "");
    hd__finding_done(f, fatal);
  }
  if (fatal) hd__thread_stop();
}

static _Unwind_Reason_Code add_pc(struct _Unwind_Context *context, void *arg) {
  struct hd_site *s = arg;
  if (s->npc == HD_MAX_STACK) return _URC_END_OF_STACK;
  uint64_t pc = _Unwind_GetIP(context);
  if (pc) s->pc[s->npc++] = pc;
  return _URC_NO_REASON;
}

/* Unwinds through code without hooks too: test frameworks stand between the program and the runtime. */
struct hd_finding_rec *hd__finding_unwound(unsigned kind, unsigned op) {
  struct hd_site here = {.npc = 0};
  uint64_t sum = 0;
  _Unwind_Backtrace(add_pc, &here);
  for (unsigned i = 0; i < here.npc; i++) sum = sum * 31 + hd__stable(here.pc[i]);
  struct hd_finding_rec *f = hd__finding(kind, sum, 0);
  if (!f) return NULL;
  struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, op);
  s->npc = here.npc;
  hd__copy(s->pc, here.pc, sizeof s->pc);
  return f;
}

void hd__report_assertion(const char *text) {
  struct hd_finding_rec *f = hd__finding_unwound(HD_KIND_ASSERTION, HD_OP_NONE);
  if (f) {
    hd__format(f->text, sizeof f->text, "%s", text);
    hd__finding_done(f, true);
  }
  hd__thread_stop();
}

void hd__report_overflow(uint64_t pc) {
  const struct hd_ident *id = rt.cur->ident;
  uint64_t sp = (uint64_t)__builtin_frame_address(0);
  if (id && (sp < (uint64_t)id->stack_lo - id->guard || sp >= (uint64_t)id->stack_hi))
    return; /* of a coroutine */
  hd__report_simple(HD_KIND_STACK_OVERFLOW, 0, pc, "the thread used more stack than its attributes allow",
                    true);
}

/* ---- no thread can continue ---- */

static unsigned holder(const struct hd_thread *t) {
  if (hd_op_effect(t->op.kind, 0) == HD_EFF_JOIN) return (unsigned)t->op.object;
  const struct hd_obj *o = t->wait.at;
  if (!o || o->kind == HD_OBJ_COND || o->kind == HD_OBJ_FUTEX) return HD_NOBODY;
  if (o->owner != HD_NOBODY) return o->owner;
  /* Of several the thread itself, then one that waits, which is more informative; whatever order they came in. */
  unsigned any = HD_NOBODY, waiting = HD_NOBODY;
  for (const struct hd_holder *h = o->holders; h; h = h->next) {
    if (!h->count) continue;
    if (h->thread == t->id) return t->id;
    if (any == HD_NOBODY || h->thread < any) any = h->thread;
    if (rt.thread[h->thread].state == HD_T_BLOCKED && (waiting == HD_NOBODY || h->thread < waiting))
      waiting = h->thread;
  }
  return waiting != HD_NOBODY ? waiting : any;
}

static void add_holder(struct hd_finding_rec *f, const struct hd_obj *o, unsigned thread, uint64_t site) {
  struct hd_site *h = hd__finding_site(f, HD_ROLE_HOLDS, thread, HD_OP_LOCK);
  h->object = o->addr;
  hd__site_stored(h, site);
}

void hd__site_holders(struct hd_finding_rec *f, const struct hd_obj *o) {
  if (o->owner != HD_NOBODY) add_holder(f, o, o->owner, o->site);
  for (const struct hd_holder *h = o->holders; h; h = h->next)
    if (h->count) add_holder(f, o, h->thread, h->site);
}

/* One site for each blocked thread; with `holders` also who has what it waits for, and where it was taken. */
static void add_waits(struct hd_finding_rec *f, bool holders) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    if (t->state != HD_T_BLOCKED) continue;
    struct hd_site *s = hd__finding_site(f, HD_ROLE_WAITS, i, t->op.kind);
    hd__site_stack(s, t, t->op.pc);
    s->object = t->wait.at ? t->wait.at->addr : t->op.object;
    s->peer = (uint16_t)holder(t);
    if (!holders) continue;
    s->size = t->wait.at ? t->wait.at->signals : t->sys.io ? (uint32_t)hd__io_fd(t) : 0;
    if (t->wait.at && t->wait.at->kind != HD_OBJ_COND) hd__site_holders(f, t->wait.at);
  }
}

/* The watchdog's time is over, and nothing has come from outside. */
void hd__report_unanswered(void) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].state == HD_T_BLOCKED) sum += hd__stable(rt.thread[i].op.pc);
  struct hd_finding_rec *f = rt.nstopped ? NULL : hd__finding(HD_KIND_HANG, sum, 0);
  if (f) {
    add_waits(f, true);
    hd__finding_done(f, false);
  }
  hd__end(HD_RUN_STUCK);
}

void hd__report_deadlock(void) {
  /* Unless there is a cycle of locks, a thread that waits for a condition which no thread is left to signal is what
   * blocks the others. One that woke by itself, and cannot go on, is in the same place as if it had not. */
  bool cycle = false, cond = false;
  for (unsigned i = 0; i < rt.nthreads && !cycle; i++) {
    unsigned at = i, n = 0;
    while (at != HD_NOBODY && rt.thread[at].state == HD_T_BLOCKED && !rt.thread[at].wait.woke &&
           n++ <= rt.nthreads)
      at = holder(&rt.thread[at]);
    cycle = n > rt.nthreads;
  }
  uint64_t sum = 0;
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].state == HD_T_BLOCKED) {
      const struct hd_thread *t = &rt.thread[i];
      if (t->wait.woke ||
          (t->wait.at && (t->wait.at->kind == HD_OBJ_COND || t->wait.at->kind == HD_OBJ_FUTEX)))
        cond = true;
      sum += hd__stable(t->op.pc); /* the same set of places identifies the same deadlock */
    }
  unsigned kind = !cycle && cond ? HD_KIND_LOST_WAKEUP : HD_KIND_DEADLOCK;
  struct hd_finding_rec *f = hd__finding(kind, sum, 0);
  if (!f) return;
  add_waits(f, true);
  hd__finding_done(f, false);
  hd__end(HD_RUN_STUCK);
}

/* A thread spins, and no thread is left that could end it. */
void hd__report_livelock(void) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].spin.waiting) sum += hd__stable(rt.thread[i].op.pc);
  struct hd_finding_rec *f = hd__finding(HD_KIND_LIVELOCK, sum, 0);
  if (f) {
    add_waits(f, false);
    hd__finding_done(f, false);
  }
  hd__end(HD_RUN_STUCK);
}

/* ---- errors that end the search ---- */

_Noreturn void hd__fail(unsigned error, uint64_t pc, const char *text) {
  struct hd_status *st = rt.status;
  if (rt.faulted)
    hd__die_by(rt.faulted); /* the program may have overwritten anything: the failure is its own */
  st->error = error;
  hd__format(st->error_text, sizeof st->error_text, "%s", text);
  hd__zero(&st->error_site, sizeof st->error_site);
  st->error_site.peer = HD_NOBODY;
  if (pc && rt.cur) {
    st->error_site.thread = rt.cur->id;
    hd__site_stack(&st->error_site, rt.cur, pc);
  } else if (pc) {
    st->error_site.npc = 1;
    st->error_site.pc[0] = pc;
  }
  st->state = HD_ST_ERROR;
  hd__die(3);
}

uint64_t hd__innermost(void) { return hot.syscall_pc; }

_Noreturn void hd__unsupported(const char *function, uint64_t pc) {
  char text[300];
  hd__format(text, sizeof text, "%s is not supported in a controlled run yet", function);
  hd__fail(HD_RTE_UNSUPPORTED, pc, text);
}

_Noreturn void hd__bug(const char *cond, const char *file, int line) {
  if (!rt.status) hd__die(3);
  char text[400];
  hd__format(text, sizeof text, "%s:%d: %s", file, (int64_t)line, cond);
  hd__fail(HD_RTE_INTERNAL, 0, text);
}
