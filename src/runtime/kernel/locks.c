/* locks.c: locks on files: flock, record locks of the process (fcntl, lockf) and of a description (F_OFD_*). Runs in the
 * tested process, on the stack of the thread that made the system call.
 *
 * The kernel's own locks are taken, without waiting. Here is known which of them this process holds, so that a request is
 * enabled exactly when the kernel would grant it. Locks that other processes hold are not known: such a request is retried.
 *
 * Invariants
 *  1. Locks of the process never exclude each other. They do exclude those of descriptions, and the other way round. flock
 *     is a world of its own.
 *  2. All requests for one file depend on each other, whatever they ask for.
 *  3. Locks that were released stay in the list: they say since when a request could have been granted.
 *  4. Between the event that disabled a request and the one that enabled it, it was disabled all the time (struct hd_ready).
 *     That is not so where threads share a description: while one of them has a lock by it, the request of another, which
 *     gives that lock up before it waits, can go on. The reason io-retried is noted then, see `windows`. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/locks.h"
#include "runtime/memory/memory.h"

struct hd_file_lock {
  const void *owner; /* description, or the_process */
  bool flock, exclusive, held, waits;
  uint16_t thread;          /* that took it */
  uint64_t from, to;        /* bytes, the last included */
  uint32_t taken, released; /* events, counted from 1 */
  struct hd_vc vc;          /* published by the release */
  struct hd_file_lock *next;
};

static const char the_process;

/* What is asked for. */
struct request {
  struct hd_io io;
  struct hd_file_lock want;
};

static bool excludes(const struct hd_file_lock *l, const struct hd_file_lock *want) {
  return l->flock == want->flock && l->owner != want->owner && (l->exclusive || want->exclusive) &&
         l->from <= want->to && want->from <= l->to;
}

static bool excluded(const struct hd_chan *c, const struct hd_file_lock *want) {
  for (const struct hd_file_lock *l = c->locks; l; l = l->next)
    if (l->held && excludes(l, want)) return true;
  return false;
}

/* The lock of the other kind that the owner of the request has. flock gives it up before it waits. */
static const struct hd_file_lock *converted(const struct hd_chan *c, const struct hd_file_lock *want) {
  for (const struct hd_file_lock *l = c->locks; l; l = l->next)
    if (l->held && l->flock && want->flock && l->owner == want->owner && l->exclusive != want->exclusive)
      return l;
  return NULL;
}

/* Whether invariant 4 may be broken, for this request or one of another thread by the same description. */
static bool windows(const struct hd_chan *c, const struct hd_file_lock *want) {
  bool shared = false, others = false;
  for (const struct hd_file_lock *l = c->locks; l; l = l->next) {
    if (!l->flock) continue;
    if (l->owner != want->owner)
      others = true;
    else if (l->thread != want->thread && l->exclusive != want->exclusive && (l->waits || want->waits))
      shared = true;
  }
  return shared && others;
}

/* Since when the request could be granted, or could not. */
static bool can(const struct hd_io *o, struct hd_ready *r) {
  const struct request *q = (const struct request *)o;
  uint32_t since = UINT32_MAX;
  *r = (struct hd_ready){.on = true};
  if (!o->d) return true;
  const struct hd_file_lock *own = converted(o->d->chan, &q->want);
  if (own) {
    r->enabler = own->taken;
    return true;
  }
  for (const struct hd_file_lock *l = o->d->chan->locks; l; l = l->next) {
    if (!excludes(l, &q->want)) continue;
    if (l->held) r->on = false;
    if (!l->held && l->released > r->enabler) r->enabler = l->released;
  }
  /* The locks that overlapped in time, up to then: the first of them ended the time before. */
  uint32_t end = r->on ? r->enabler : UINT32_MAX;
  for (bool more = end != 0; more;) {
    more = false;
    for (const struct hd_file_lock *l = o->d->chan->locks; l; l = l->next) {
      uint32_t released = l->held ? UINT32_MAX : l->released;
      if (!excludes(l, &q->want) || l->taken >= since || released < (since == UINT32_MAX ? end : since))
        continue;
      since = l->taken;
      more = true;
    }
  }
  if (since == UINT32_MAX) return r->on;
  r->disabler = since;
  for (const struct hd_file_lock *l = o->d->chan->locks; l; l = l->next)
    if (excludes(l, &q->want) && !l->held && l->released < since && l->released > r->enabler_before)
      r->enabler_before = l->released;
  return r->on;
}

/* The event under way. */
static uint32_t now(void) { return (uint32_t)rt.events + 1; }

static struct hd_file_lock *append(struct hd_chan *c, const struct hd_file_lock *like) {
  struct hd_file_lock *l = hd_arena_get(&rt.arena, sizeof *l);
  HD_BUG_ON(!l);
  *l = *like;
  l->next = c->locks;
  c->locks = l;
  return l;
}

static void release(struct hd_file_lock *l) {
  l->held = false;
  l->released = now();
  hd_vc_copy(&rt.arena, &l->vc, &rt.cur->vc);
}

/* The owner's locks inside the range are replaced; what is outside stays. */
static void give_up(struct hd_chan *c, const struct hd_file_lock *range) {
  bool any = false;
  for (struct hd_file_lock *l = c->locks; l; l = l->next) {
    if (!l->held || l->flock != range->flock || l->owner != range->owner || l->from > range->to ||
        l->to < range->from)
      continue;
    struct hd_file_lock rest = *l;
    rest.vc = (struct hd_vc){0};
    if (l->from < range->from) {
      rest.to = range->from - 1;
      append(c, &rest);
    }
    if (l->to > range->to) {
      rest.from = range->to + 1;
      rest.to = l->to;
      append(c, &rest);
    }
    release(l);
    any = true;
  }
  if (any) hd__new_segment(rt.cur);
}

static void granted(struct hd_chan *c, struct hd_file_lock *want, bool unlock) {
  give_up(c, want);
  if (unlock) return;
  for (const struct hd_file_lock *l = c->locks; l; l = l->next)
    if (!l->held && excludes(l, want)) hd__acquire(&l->vc);
  want->held = true;
  want->taken = now();
  append(c, want);
}

void hd__locks_closed(struct hd_desc *d, bool last) {
  bool any = false;
  for (struct hd_file_lock *l = d->chan->locks; l; l = l->next)
    if (l->held && ((last && l->owner == d) || l->owner == &the_process)) {
      release(l);
      any = true;
    }
  if (any) hd__new_segment(rt.cur);
}

/* ---- the calls ---- */

static uint64_t lock_object(const struct hd_chan *c) { return hd__contention(c->object ^ 0x6ull << 52); }

void hd__locks_show(const struct hd_chan *c) { hd__shadow_show(lock_object(c), 8); }

bool hd__locks_shown(const struct hd_chan *c) { return hd__shadow_visible(lock_object(c), 8); }

static void aim(struct hd_io *o) {
  struct request *q = (struct request *)o;
  struct hd_desc *d = o->d = hd__fd(o->fd);
  o->n = 0;
  if (!d) {
    hd__io_closed(o);
    return;
  }
  if (d->chan->closed) hd__locks_show(d->chan);
  o->object = hd__object(d->chan) ^ 1ull << 55; /* the locks of the file */
  o->reads = d->life;
  o->writes = 1;
  if (q->want.owner != &the_process) q->want.owner = d;
  o->n = o->can != NULL;
}

static struct request ask(unsigned kind, long fd, bool waits, uint64_t pc) {
  return (struct request){.io = {.kind = (uint8_t)kind,
                                 .fd = (int)fd,
                                 .timeout = HD_FOREVER,
                                 .pc = pc,
                                 .aim = aim,
                                 .can = waits ? can : NULL}};
}

/* Makes the call, which does not wait, when its turn has come. */
static long perform(struct request *q, long nr, const long *a, bool unlock) {
  for (;;) {
    hd__io_point(&q->io);
    long r = hd__plain(nr, a);
    if (r == 0 && q->io.d) granted(q->io.d->chan, &q->want, unlock);
    if ((r != -EAGAIN && r != -EACCES) || !q->io.can) {
      if (r < 0) hd__io_nothing();
      hd__io_done(false);
      return r;
    }
    hd__io_retry(&q->io); /* another process has it */
  }
}

long hd__flock_call(const long *a, uint64_t pc) {
  bool unlock = (a[1] & ~LOCK_NB) == LOCK_UN, waits = !unlock && !(a[1] & LOCK_NB);
  long b[6] = {a[0], a[1] | LOCK_NB}, drop[6] = {a[0], LOCK_UN};
  struct request q = ask(HD_OP_FLOCK, a[0], waits, pc);
  q.want = (struct hd_file_lock){.flock = true,
                                 .exclusive = (a[1] & ~LOCK_NB) == LOCK_EX,
                                 .waits = waits,
                                 .thread = rt.cur->id,
                                 .to = UINT64_MAX};
  for (;;) {
    hd__io_point(&q.io);
    const struct hd_file_lock *own = q.io.d ? converted(q.io.d->chan, &q.want) : NULL;
    bool converts = own != NULL, busy = q.io.d && excluded(q.io.d->chan, &q.want);
    /* Two threads with one description: what let the request go is not one event. */
    if ((own && waits && own->thread != rt.cur->id) || (q.io.d && !unlock && windows(q.io.d->chan, &q.want)))
      hd__inexact(HD_INEXACT_IO_RETRIED, pc);
    long r = hd__plain(SYS_flock, waits && converts && busy ? drop : b);
    if (q.io.d && converts && busy)
      give_up(q.io.d->chan, &q.want); /* also if it fails: the old lock is lost */
    if (r == 0 && q.io.d && !(waits && converts && busy)) granted(q.io.d->chan, &q.want, unlock);
    if (r == 0 && waits && converts && busy) {
      hd__io_done(false);
      rt.cur->sys.done = false; /* it can still be interrupted, although the old lock is lost */
      continue;
    }
    if (r != -EAGAIN || !waits) {
      if (r < 0 && !converts) hd__io_nothing();
      hd__io_done(false);
      return r;
    }
    hd__io_retry(&q.io); /* another process has it */
  }
}

/* The bytes that a request means. Returns false when it is not valid. */
static bool range_of(long fd, const struct flock *l, struct hd_file_lock *want) {
  struct stat st;
  int64_t at = l->l_start;
  if (l->l_whence == SEEK_CUR) at += hd_sys3(SYS_lseek, fd, 0, SEEK_CUR);
  if (l->l_whence == SEEK_END && hd_sys3(SYS_fstat, fd, &st, 0) == 0) at += st.st_size;
  if (l->l_len < 0) at += l->l_len;
  if (at < 0) return false;
  want->from = (uint64_t)at;
  want->to = l->l_len ? want->from + (uint64_t)(l->l_len < 0 ? -l->l_len : l->l_len) - 1 : UINT64_MAX;
  return true;
}

bool hd__record_lock(long command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW ||
         command == F_GETLK || command == F_OFD_GETLK;
}

long hd__record_lock_call(const long *a, uint64_t pc) {
  const struct flock *l = (const struct flock *)a[2];
  bool ofd = a[1] == F_OFD_SETLK || a[1] == F_OFD_SETLKW, waits = a[1] == F_SETLKW || a[1] == F_OFD_SETLKW;
  bool look = a[1] == F_GETLK || a[1] == F_OFD_GETLK, unlock = l && l->l_type == F_UNLCK;
  long b[6] = {a[0], ofd ? F_OFD_SETLK : F_SETLK, a[2]};
  struct request q = ask(waits ? HD_OP_RECORDLOCK : look ? HD_OP_IOLOOK : HD_OP_IOCHANGE, a[0], waits, pc);
  q.want.exclusive = l && l->l_type == F_WRLCK;
  q.want.owner = ofd ? NULL : &the_process;
  bool valid = l && range_of(a[0], l, &q.want);
  if (!valid || look || unlock) q.io.can = NULL;
  if (valid && !look) return perform(&q, SYS_fcntl, b, unlock);
  hd__io_point(&q.io);
  long r = hd__plain(SYS_fcntl, a);
  hd__io_done(false);
  return r;
}
