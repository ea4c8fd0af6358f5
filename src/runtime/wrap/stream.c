/* stream.c: stream locks. Runs in the tested process.
 *
 * Every function of stdio takes the lock of its stream, and so does flockfile. libc's own lock does the work; here it is
 * decided who gets it, and when that is an operation of the schedule.
 *
 * Invariants
 *  1. While a thread holds libc's lock of a stream, it is the owner of the stream's object, whether its taking was an
 *     operation or not. So nobody ever waits inside libc.
 *  2. Taking the lock is an operation where two threads contend for it and nothing orders them, which is learned and
 *     logged as for memory (shadow.c), under the address of the lock.
 *  3. Two calls that only write do not contend as long as nobody can tell their order: the stream goes to a descriptor
 *     from before main, to a device, or to a file that nobody reads. They commute, since neither the lock nor the order of
 *     the output is seen by the program. Such calls contend with all that hold the lock for longer, or read.
 *  4. What such a call orders in memory is not counted: the other order is not explored. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/io.h"
#include "runtime/core/fingerprint.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/sources.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

#include <wchar.h>

#define USER_LOCK 0x8000 /* _IO_USER_LOCK: the program locks by itself (__fsetlocking) */
#define PUTTING 0x800    /* _IO_CURRENTLY_PUTTING: what is in its buffer is to be written */
#define HAS_FILE 0x2000  /* _IO_IS_FILEBUF: it has a descriptor */

/* What is known of a stream in one execution. */
struct hd_stream {
  FILE *f;
  struct hd_obj *lock;
  struct hd_vc users, writers; /* when each thread used it last, or only wrote to it */
  unsigned calls;              /* of stdio, by the owner, under way */
  bool op, ordered;            /* its taking was an operation, and orders memory */
  bool looks;                  /* the call under way changes nothing that others can tell */
  bool gone;                   /* off the list of all streams: it is being closed */
  struct hd_region *buffers;   /* as they were before the call */
  struct hd_stream *next;
};

static HD_EXEC struct hd_stream *streams;
static HD_EXEC uint32_t epoch;

static struct hd_stream *stream_at(uint64_t at, FILE *f) {
  struct hd_obj *o = hd__obj(at, HD_OBJ_MUTEX);
  if (epoch != rt.epoch) streams = NULL;
  epoch = rt.epoch;
  if (o->stream && o->stream->f == f) return o->stream;
  struct hd_stream *s = hd_arena_get(&rt.arena, sizeof *s);
  HD_BUG_ON(!s);
  *s = (struct hd_stream){.f = f, .lock = o, .next = streams};
  streams = o->stream = s;
  return s;
}

static struct hd_stream *stream_of(FILE *f) { return stream_at((uint64_t)f->_lock, f); }

/* The lock of libc's list of all streams. */
static struct hd_stream *list(void) { return stream_at((uint64_t)&streams, NULL); }

void hd__stream_fingerprint(struct hd_fingerprint *f, const struct hd_stream *s) {
  uint64_t at = (uint64_t)s->f;
  if (s->calls || s->op || s->ordered) hd__fact(f, at ^ 1ull << 62, s->calls << 2 | s->op << 1 | s->ordered);
  for (uint32_t i = 0; i < s->users.n; i++)
    if (s->users.c[i]) hd__fact_clock(f, at, 1, i, s->users.c[i]);
  for (uint32_t i = 0; i < s->writers.n; i++)
    if (s->writers.c[i]) hd__fact_clock(f, at, 2, i, s->writers.c[i]);
}

static bool unordered(const struct hd_vc *users) {
  for (uint32_t i = 0; i < users->n; i++)
    if (users->c[i] > hd_vc_get(&rt.cur->vc, i)) return true;
  return false;
}

/* The running thread uses the stream. Returns whether that is an operation (invariant 2). */
static bool contends(struct hd_stream *s, bool commutes) {
  const struct hd_obj *o = s->lock;
  uint32_t me = rt.cur->id;
  if (!rt.nunjoined) return false;
  bool conflict = o->owner != HD_NOBODY && o->owner != me;
  conflict |= unordered(&s->users) || (!commutes && unordered(&s->writers));
  hd_vc_set(&rt.arena, commutes ? &s->writers : &s->users, me, hd_vc_get(&rt.cur->vc, me));
  if (conflict) hd__shadow_show(o->addr, 8);
  return hd__shadow_visible(o->addr, 8);
}

static void take(struct hd_stream *s, bool op, bool ordered, uint64_t pc) {
  struct hd_obj *o = s->lock;
  o->owner = rt.cur->id;
  o->count = 1;
  o->site = hd__site_here(pc);
  s->op = op;
  s->ordered = ordered || op;
  hd__disable_pending(o, rt.cur);
  if (s->ordered) hd__acquire(&o->vc);
}

static void lock(struct hd_stream *s, bool commutes, uint64_t pc) {
  struct hd_obj *o = s->lock;
  if (o->owner == rt.cur->id) {
    o->count++;
    return;
  }
  hd__take_signals();
  bool op = contends(s, commutes);
  if (op) {
    hd__request(o, HD_OP_LOCK, o->owner == HD_NOBODY, NULL, pc);
    hd__event(0);
  }
  take(s, op, !commutes, pc);
}

static void unlock(struct hd_stream *s, uint64_t pc) {
  struct hd_obj *o = s->lock;
  if (o->owner != rt.cur->id || --o->count) return;
  if (s->op || o->pend) hd__point(HD_OP_UNLOCK, o->addr, 0, pc);
  uint32_t me = rt.cur->id;
  hd_vc_set(&rt.arena, s->ordered ? &s->users : &s->writers, me, hd_vc_get(&rt.cur->vc, me));
  o->owner = HD_NOBODY;
  o->site = 0;
  if (s->ordered) hd__release(&o->vc);
  hd__enable_pending(o);
}

/* ---- calls of stdio ---- */

static bool by_hand(const FILE *f) { return f->_flags & USER_LOCK; }

/* Nobody but the threads that print to it can tell what has become of it. */
static bool asked_before_main(const FILE *f) {
  const struct hd_desc *d = f->_flags & HAS_FILE && f->_fileno >= 0 ? hd__fd(f->_fileno) : NULL;
  return d && d->before;
}

/* Invariant 3. */
static bool commutes(FILE *f) {
  int fd = f->_flags & HAS_FILE ? f->_fileno : -1;
  struct hd_desc *d = fd >= 0 ? hd__fd(fd) : NULL;
  return d && (d->before || d->kind == HD_IO_OTHER || hd__file_unread(d));
}

/* Stands for all that libc keeps of a stream: bytes of it that libc does not use. It changes whenever a call may have changed
 * something, so a loop can wait for that as for any memory (spin.c). */
static uint64_t version(FILE *f) { return ((uint64_t)f->_unused2 + 7) & ~7ull; }

static void begin(FILE *f, bool writes, bool looks, uint64_t pc) {
  if (!hot.active || !f) return;
  uint64_t sp = hot.sp, regs[6]; /* of the program, for spin.c */
  if (looks) hd__copy(regs, hot.regs, sizeof regs);
  hd__block_check((uint64_t)f, sizeof *f, HD_A_WRITE, pc);
  if (by_hand(f)) {
    hd__access_slow((uint64_t)f, 8, HD_A_WRITE, pc);
    return;
  }
  struct hd_stream *s = stream_of(f);
  bool unordered = looks ? asked_before_main(f) : writes && commutes(f);
  if (looks && !unordered && rt.nunjoined) hd__spin_lock((uint64_t)f, pc);
  lock(s, unordered, pc);
  s->looks = looks || (unordered && !s->op);
  if (looks && !unordered && rt.nunjoined) {
    hot.sp = sp;
    hd__copy(hot.regs, regs, sizeof regs);
    hd__watched_read(version(f), 8, 0, pc);
  }
  s->calls++;
  hd__block_check((uint64_t)f, sizeof *f, HD_A_WRITE, pc); /* another thread may have closed it */
  if (HD_UNLIKELY(hd__nbuffers) && s->calls == 1) s->buffers = hd__buffers_before(f, pc);
}

void hd__stream_begin(FILE *f, bool writes, uint64_t pc) {
  begin(f, writes, false, pc);
  if (!writes) hd__source_open(f);
}

void hd__stream_end(FILE *f, uint64_t pc) {
  if (!hot.active || !f) return;
  hd__source_close(f, pc);
  for (struct hd_stream *s = epoch == rt.epoch ? streams : NULL; s; s = s->next)
    if (s->f == f && s->calls && s->lock->owner == rt.cur->id) {
      if (HD_UNLIKELY(s->buffers != NULL) && s->calls == 1) hd__buffers_after(s->buffers, pc);
      s->buffers = NULL;
      if (!s->looks && rt.nunjoined && s->calls == 1) {
        hd__access_slow(version(f), 8, HD_A_WRITE, pc);
        ++*(uint64_t *)version(f);
      }
      s->calls--;
      unlock(s, pc);
      return;
    }
}

void hd__streams_abandon(void) {
  for (struct hd_stream *s = epoch == rt.epoch ? streams : NULL; s; s = s->next) {
    if (s->lock->owner != rt.cur->id || !s->calls) continue;
    s->lock->count -= s->calls - 1;
    s->calls = 0;
    unlock(s, 0);
  }
}

extern FILE *_IO_list_all; /* libc's list */

/* As libc does it: one after the other, and none of them is taken off the list meanwhile. */
static int flush_all(uint64_t pc) {
  struct hd_stream *all = list();
  int r = 0;
  bool others = false;
  lock(all, false, pc);
  for (FILE *f = _IO_list_all; f; f = f->_chain) {
    if (by_hand(f) || stream_of(f)->gone) continue;
    hd__stream_begin(f, true, pc);
    if (f->_flags & PUTTING) r |= real_fflush(f);
    hd__stream_end(f, pc);
  }
  for (struct hd_stream *s = streams; s; s = s->next)
    others |= s->f && s->lock->owner != HD_NOBODY && s->lock->owner != rt.cur->id;
  if (!others) r |= real_fflush(NULL); /* it would wait in libc (invariant 1) */
  unlock(all, pc);
  return r;
}

static void leave_list(FILE *f, uint64_t pc) {
  hd__block_check((uint64_t)f, sizeof *f, HD_A_WRITE, pc);
  lock(list(), true, pc);
  if (!by_hand(f)) stream_of(f)->gone = true;
  unlock(list(), pc);
}

/* ---- explicit locks ---- */

void hd__stream_lock(FILE *f, uint64_t pc) {
  hd__block_check((uint64_t)f, sizeof *f, HD_A_WRITE, pc);
  lock(stream_of(f), false, pc);
  hd__block_check((uint64_t)f, sizeof *f, HD_A_WRITE, pc);
  real_flockfile(f);
}

HD_EXPORT void flockfile(FILE *f) {
  hd__real_init();
  if (hot.active) {
    hd__stream_lock(f, HD_CALLER);
  } else {
    real_flockfile(f);
    hd__constructor_takes(HD_CONSTRUCTED_STREAM, f, 0, HD_CALLER);
  }
}

static int try_lock(FILE *f, uint64_t pc) {
  hd__block_check((uint64_t)f, sizeof *f, HD_A_WRITE, pc);
  struct hd_stream *s = stream_of(f);
  struct hd_obj *o = s->lock;
  if (o->owner == rt.cur->id) {
    o->count++;
    return 0;
  }
  bool op = contends(s, false);
  if (op) {
    if (hd__spin_check(o->addr, HD_SPIN_OTHER, pc)) return -1;
    hd__point_open(HD_OP_TRYLOCK, o->addr, 0, pc);
    bool busy = o->owner != HD_NOBODY;
    hd__event(busy ? HD_EV_FAILED : 0);
    if (busy) hd__spin_read(o->addr, sizeof(int));
    if (busy) return -1;
  }
  take(s, op, true, pc);
  return 0;
}

int HD_IN(ftrylockfile)(FILE *f);
int HD_IN(ftrylockfile)(FILE *f) {
  hd__real_init();
  if (!hot.active) return hd__constructor_takes(HD_CONSTRUCTED_STREAM, f, real_ftrylockfile(f), HD_CALLER);
  int e = try_lock(f, HD_CALLER);
  return e ? e : real_ftrylockfile(f);
}

HD_EXPORT void funlockfile(FILE *f) {
  hd__real_init();
  if (hot.active)
    unlock(stream_of(f), HD_CALLER);
  else
    hd__constructor_gives(f, 0);
  real_funlockfile(f);
}

/* ---- stdio ---- */

#define IN_STREAM(ret, name, writes, f, params, args) \
  HD_EXPORT ret name params;                          \
  ret name params {                                   \
    hd__real_init();                                  \
    hd__stream_begin(f, writes, HD_CALLER);           \
    ret r = real_##name args;                         \
    hd__stream_end(f, HD_CALLER);                     \
    return r;                                         \
  }
/* Returns a character, which may be an input. */
#define GETS_STREAM(name, f, params, args) \
  HD_EXPORT int name params;               \
  int name params {                        \
    hd__real_init();                       \
    hd__stream_begin(f, false, HD_CALLER); \
    int r = real_##name args;              \
    hd__source_one(f, r);                  \
    hd__stream_end(f, HD_CALLER);          \
    hd__source_result();                   \
    return r;                              \
  }
/* Reads nothing: moves the position, or closes the file. */
#define MOVES_STREAM(ret, name, f, params, args, before) \
  HD_EXPORT ret name params;                             \
  ret name params {                                      \
    hd__real_init();                                     \
    before;                                              \
    hd__stream_begin(f, false, HD_CALLER);               \
    hd__source_moved();                                  \
    ret r = real_##name args;                            \
    hd__stream_end(f, HD_CALLER);                        \
    return r;                                            \
  }
/* Only asks. */
#define LOOKS_STREAM(ret, name, f, params, args, before) \
  ret HD_IN(name) params;                                \
  ret HD_IN(name) params {                               \
    hd__real_init();                                     \
    before;                                              \
    begin(f, false, true, HD_CALLER);                    \
    ret r = real_##name args;                            \
    hd__stream_end(f, HD_CALLER);                        \
    return r;                                            \
  }
#define IN_STREAM_VOID(name, f, params, args) \
  HD_EXPORT void name params;                 \
  void name params {                          \
    hd__real_init();                          \
    hd__stream_begin(f, false, HD_CALLER);    \
    hd__source_moved();                       \
    real_##name args;                         \
    hd__stream_end(f, HD_CALLER);             \
  }

#undef putc /* macros, or inline functions */
#undef getc
#undef putchar
#undef getchar
#undef feof
#undef ferror
#undef putwc
#undef getwc

IN_STREAM(int, fputc, true, f, (int c, FILE *f), (c, f))
IN_STREAM(int, putc, true, f, (int c, FILE *f), (c, f))
IN_STREAM(int, _IO_putc, true, f, (int c, FILE *f), (c, f))
IN_STREAM(int, putchar, true, stdout, (int c), (c))
IN_STREAM(int, putw, true, f, (int c, FILE *f), (c, f))
IN_STREAM(wint_t, fputwc, true, f, (wchar_t c, FILE *f), (c, f))
IN_STREAM(wint_t, putwc, true, f, (wchar_t c, FILE *f), (c, f))
IN_STREAM(wint_t, putwchar, true, stdout, (wchar_t c), (c))
IN_STREAM(int, fputws, true, f, (const wchar_t *restrict s, FILE *restrict f), (s, f))
GETS_STREAM(fgetc, f, (FILE * f), (f))
GETS_STREAM(getc, f, (FILE * f), (f))
GETS_STREAM(_IO_getc, f, (FILE * f), (f))
GETS_STREAM(getchar, stdin, (void), ())
IN_STREAM(int, getw, false, f, (FILE * f), (f))
IN_STREAM(int, ungetc, false, f, (int c, FILE *f), (c, f))
IN_STREAM(wint_t, fgetwc, false, f, (FILE * f), (f))
IN_STREAM(wint_t, getwc, false, f, (FILE * f), (f))
IN_STREAM(wint_t, getwchar, false, stdin, (void), ())
IN_STREAM(wint_t, ungetwc, false, f, (wint_t c, FILE *f), (c, f))
MOVES_STREAM(int, fseek, f, (FILE * f, long at, int whence), (f, at, whence), (void)0)
MOVES_STREAM(int, fseeko, f, (FILE * f, off_t at, int whence), (f, at, whence), (void)0)
MOVES_STREAM(int, fseeko64, f, (FILE * f, off64_t at, int whence), (f, at, whence), (void)0)
LOOKS_STREAM(long, ftell, f, (FILE * f), (f), (void)0)
LOOKS_STREAM(off_t, ftello, f, (FILE * f), (f), (void)0)
LOOKS_STREAM(off64_t, ftello64, f, (FILE * f), (f), (void)0)
LOOKS_STREAM(int, fgetpos, f, (FILE *restrict f, fpos_t *restrict at), (f, at), WRITES(at, sizeof *at))
LOOKS_STREAM(int, fgetpos64, f, (FILE *restrict f, fpos64_t *restrict at), (f, at), WRITES(at, sizeof *at))
MOVES_STREAM(int, fsetpos, f, (FILE * f, const fpos_t *at), (f, at), READS(at, sizeof *at))
MOVES_STREAM(int, fsetpos64, f, (FILE * f, const fpos64_t *at), (f, at), READS(at, sizeof *at))
MOVES_STREAM(FILE *, freopen, f, (const char *restrict path, const char *restrict mode, FILE *restrict f),
             (path, mode, f), (void)0)
MOVES_STREAM(FILE *, freopen64, f, (const char *restrict path, const char *restrict mode, FILE *restrict f),
             (path, mode, f), (void)0)
LOOKS_STREAM(int, feof, f, (FILE * f), (f), (void)0)
LOOKS_STREAM(int, ferror, f, (FILE * f), (f), (void)0)
LOOKS_STREAM(int, fwide, f, (FILE * f, int mode), (f, mode), (void)0)
IN_STREAM_VOID(rewind, f, (FILE * f), (f))
IN_STREAM_VOID(clearerr, f, (FILE * f), (f))
IN_STREAM_VOID(setlinebuf, f, (FILE * f), (f))

HD_EXPORT int fclose(FILE *f) {
  hd__real_init();
  if (hot.active && f) leave_list(f, HD_CALLER);
  hd__stream_begin(f, false, HD_CALLER);
  hd__source_moved();
  struct hd_stream *s = hot.active && !by_hand(f) ? stream_of(f) : NULL;
  if (s) s->looks = true; /* there will be nothing left to change */
  int r = real_fclose(f);
  hd__stream_end(f, HD_CALLER);
  if (s) s->f = NULL; /* its memory may become another stream */
  if (hot.active) hd__buffers_forget(f);
  return r;
}

HD_EXPORT int fflush(FILE *f) {
  hd__real_init();
  if (hot.active && !f) return flush_all(HD_CALLER);
  hd__stream_begin(f, true, HD_CALLER);
  int r = real_fflush(f);
  hd__stream_end(f, HD_CALLER);
  return r;
}
