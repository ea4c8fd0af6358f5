/* fds.c: the descriptors of the tested program. Runs in the tested process.
 *
 * Invariants
 *  1. Nothing that existed before main is closed for good: the restart undoes closing and replacing it.
 *  2. A new descriptor gets the lowest number that is free, as in the kernel. Where threads open and close descriptors and
 *     nothing orders them, in some execution, these are operations: opening reserves the number before anything else, and
 *     closing releases it at last (hd__fds_shared). A number that is used after it was closed, or by a thread that cannot
 *     know who opened it, can refer to different descriptions. Once that has happened in some execution, every use of a
 *     descriptor is an operation that depends on opening and closing (hd__fds_lowest).
 *  3. Descriptions and channels belong to one execution: their memory is the arena's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <asm/ioctls.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/spin.h"
#include "runtime/core/state.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/locks.h"
#include "runtime/memory/memory.h"

#define MQUEUE_MAGIC 0x19800202
#define SET (HD_FDS / 64)
static HD_EXEC uint64_t ours[SET];    /* opened by this execution */
static uint64_t before[SET];          /* open before main */
static uint64_t moved[SET];           /* of those: read or sought, offset to be restored */
static HD_EXEC uint64_t randoms[SET]; /* /dev/urandom and /dev/random */
static int64_t offset[HD_FDS];
static int mode[HD_FDS]; /* flags of the descriptions from before main, which other processes share */
static HD_EXEC bool mode_changed;
static struct stat output[2];         /* of standard output and error, before main */
static HD_EXEC uint64_t leaving[SET]; /* closed, but the number is not free yet */
static struct { int fd, saved; } replaced[64];
static unsigned nreplaced;
static uint64_t stay[SET]; /* opened by the execution before the checkpoint: a restart leaves them open */
static struct { int fd, mode, close; } at_checkpoint[HD_FDS]; /* their flags; the offset is in `offset` */
static unsigned nkept;
static bool any_moved;
static HD_EXEC unsigned nours;
static HD_EXEC struct hd_life numbers; /* opening changes it, closing uses it */
static HD_EXEC_LARGE struct hd_desc *table[HD_FDS], *last[HD_FDS];
static HD_EXEC_LARGE struct hd_life *lives[HD_FDS];
static HD_EXEC_LARGE struct { uint32_t thread, clock; } opener[HD_FDS]; /* 0: before there were others */
static HD_EXEC int highest = -1;                                        /* of table, last and lives */
HD_EXEC struct hd_desc *hd__descs;
HD_EXEC bool hd__descs_new;

static bool has(const uint64_t *set, long fd) {
  return fd >= 0 && fd < HD_FDS && set[fd >> 6] >> (fd & 63) & 1;
}
static void add(uint64_t *set, long fd) {
  if (fd >= 0 && fd < HD_FDS) set[fd >> 6] |= 1ull << (fd & 63);
}
static void del(uint64_t *set, long fd) {
  if (fd >= 0 && fd < HD_FDS) set[fd >> 6] &= ~(1ull << (fd & 63));
}

bool hd__fd_random(long fd) { return has(randoms, fd); }
void hd__fd_is_random(long fd) { add(randoms, fd); }
bool hd__fd_hidden(long fd) { return fd >= HD_FD_OWN && !has(ours, fd); }
bool hd__fd_before(long fd) { return has(before, fd) && !has(ours, fd); }

void hd__fd_moved(long fd) {
  if (!has(before, fd)) return;
  add(moved, fd);
  any_moved = true;
}

void hd__fds_init(void) {
  hd__zero(before, sizeof before);
  for (int i = 0; i < 2; i++) hd_sys3(SYS_fstat, i + 1, &output[i], 0);
  for (int first = 0; first < HD_FDS;
       first += 64) { /* one call for many descriptors, most of which are closed */
    struct pollfd all[64];
    for (int i = 0; i < 64; i++) all[i] = (struct pollfd){first + i, 0, 0};
    bool asked = hd_sys3(SYS_poll, all, 64, 0) >= 0;
    for (int fd = first; fd < first + 64; fd++) {
      if (asked ? all[fd - first].revents & POLLNVAL : hd_sys3(SYS_fcntl, fd, F_GETFD, 0) < 0) continue;
      add(before, fd);
      offset[fd] = hd_sys3(SYS_lseek, fd, 0, SEEK_CUR);
      mode[fd] = (int)hd_sys3(SYS_fcntl, fd, F_GETFL, 0);
    }
  }
}

void hd__fd_mode_changes(long fd) { mode_changed |= has(before, fd); }

void hd__fds_modes(void) {
  for (int fd = 0; mode_changed && fd < HD_FDS; fd++)
    if (hd__fd_before(fd) && hd_sys3(SYS_fcntl, fd, F_GETFL, 0) != mode[fd])
      hd_sys3(SYS_fcntl, fd, F_SETFL, mode[fd]);
  mode_changed = false;
}

/* A forked execution has moved offsets, and changed flags, that it shares with us, whatever it remembers of that. */
void hd__fds_rewind(void) {
  for (int i = 0; i < SET; i++)
    for (uint64_t set = before[i]; set; set &= set - 1) {
      int fd = i * 64 + __builtin_ctzll(set);
      if (fd != 1 && fd != 2 && offset[fd] >= 0 && hd_sys3(SYS_lseek, fd, 0, SEEK_CUR) != offset[fd])
        hd_sys3(SYS_lseek, fd, offset[fd], SEEK_SET);
    }
  mode_changed = true;
  hd__fds_modes();
}

static void rewind_kept(void);

#define IN_FLIGHT 64 /* descriptors in messages, in the order of sending */
static long in_flight[IN_FLIGHT];
static unsigned nin_flight;

void hd__fds_begin(void) {
  if (nours) {
    for (int fd = 0; fd < HD_FDS; fd++)
      if (has(ours, fd) && !has(stay, fd)) hd_sys3(SYS_close, fd, 0, 0);
    hd__zero(ours, sizeof ours);
    hd__zero(leaving, sizeof leaving);
    hd__zero(randoms, sizeof randoms);
    nours = 0;
  }
  numbers = (struct hd_life){0};
  while (nreplaced) {
    nreplaced--;
    hd_sys3(SYS_dup3, replaced[nreplaced].saved, replaced[nreplaced].fd, 0);
    hd_sys3(SYS_close, replaced[nreplaced].saved, 0, 0);
  }
  if (any_moved && rt.config->mode == HD_MODE_CHECK) {
    for (int fd = 0; fd < HD_FDS; fd++)
      if (has(moved, fd) && offset[fd] >= 0) hd_sys3(SYS_lseek, fd, offset[fd], SEEK_SET);
    hd__zero(moved, sizeof moved);
    any_moved = false;
  }
  hd__fds_modes();
  rewind_kept();
  nin_flight = 0;
  for (; highest >= 0; highest--) {
    table[highest] = last[highest] = NULL;
    lives[highest] = NULL;
    opener[highest].clock = 0;
  }
  hd__descs = NULL;
}

/* ---- a checkpoint ---- */

/* Whether all that there is to it is an offset. */
static bool is_plain(long fd) {
  const struct hd_desc *d = table[fd];
  struct stat st;
  if (has(randoms, fd)) return true;
  if (!d || (d->kind != HD_IO_FILE && d->kind != HD_IO_OTHER) || d->chan->locks) return false;
  if (hd_sys3(SYS_fstat, fd, &st, 0) < 0) return false;
  bool writes = (hd_sys3(SYS_fcntl, fd, F_GETFL, 0) & O_ACCMODE) != O_RDONLY;
  return !S_ISREG(st.st_mode) || st.st_nlink || !writes; /* changes of a file without a name are not undone */
}

enum hd_unkept hd__fds_unshared(void) {
  for (int i = 0; i < SET; i++)
    for (uint64_t set = ours[i]; set; set &= set - 1)
      if (!is_plain(i * 64 + __builtin_ctzll(set))) return HD_UNKEPT_DESCRIPTOR;
  return HD_UNKEPT_NONE;
}

enum hd_unkept hd__fds_unkept(void) { return nreplaced ? HD_UNKEPT_REPLACED : hd__fds_unshared(); }

void hd__fds_stand(void) {
  nkept = 0;
  for (int i = 0; i < SET; i++)
    for (uint64_t set = ours[i] | before[i]; set; set &= set - 1) {
      int fd = i * 64 + __builtin_ctzll(set);
      offset[fd] = hd_sys3(SYS_lseek, fd, 0, SEEK_CUR);
      if (!has(ours, fd)) continue;
      at_checkpoint[nkept].fd = fd;
      at_checkpoint[nkept].mode = (int)hd_sys3(SYS_fcntl, fd, F_GETFL, 0);
      at_checkpoint[nkept++].close = (int)hd_sys3(SYS_fcntl, fd, F_GETFD, 0);
    }
}

static void rewind_kept(void) {
  for (unsigned i = 0; i < nkept; i++) {
    int fd = at_checkpoint[i].fd;
    if (offset[fd] >= 0) hd_sys3(SYS_lseek, fd, offset[fd], SEEK_SET);
    hd_sys3(SYS_fcntl, fd, F_SETFL, at_checkpoint[i].mode);
    hd_sys3(SYS_fcntl, fd, F_SETFD, at_checkpoint[i].close);
  }
}

void hd__fds_return(void) {
  hd__fds_rewind();
  rewind_kept();
}

void hd__fds_keep(void) {
  hd__fds_stand();
  for (unsigned i = 0; i < nkept; i++) add(stay, at_checkpoint[i].fd);
  hd__zero(moved, sizeof moved);
  any_moved = false;
}

/* ---- descriptions ---- */

static void *get(size_t n) {
  void *p = hd_arena_get(&rt.arena, n);
  HD_BUG_ON(!p);
  hd__zero(p, n);
  return p;
}

struct hd_chan *hd__chan_new(unsigned kind) {
  struct hd_chan *c = get(sizeof *c);
  c->object = (uint64_t)kind << 56 | (uint64_t)rt.cur->id << 24 | ++rt.cur->sys.channels;
  return c;
}

struct hd_desc *hd__desc_new(unsigned kind, struct hd_chan *c) {
  struct hd_desc *d = get(sizeof *d);
  d->kind = (uint8_t)kind;
  d->chan = c ? c : hd__chan_new(kind);
  d->in = d->out = 1;
  d->life = 0x4000;
  d->inside = true;
  d->polled = kind != HD_IO_OTHER && kind != HD_IO_FILE;
  d->stream = true;
  d->fd = -1;
  d->next = hd__descs;
  hd__descs = d;
  hd__descs_new = true;
  return d;
}

/* A socket that waits for clients, or for messages, while the program is its own client: nobody else comes. */
static bool is_closed(const struct hd_desc *d) {
  if (d->passed || d->kind == HD_IO_CHILD) return false;
  return rt.config->closed || (d->kind == HD_IO_SOCKET && hd__state_learned(HD_STATE_CLIENTS));
}

bool hd__fd_outside(const struct hd_desc *d) {
  if (d->inside) return false;
  if (d->kind != HD_IO_EPOLL) return !is_closed(d);
  for (const struct hd_interest *i = d->interest; i; i = i->next)
    if (hd__fd_outside(i->d)) return true;
  return false;
}

static void bind_fd(long fd, struct hd_desc *d) {
  table[fd] = last[fd] = d;
  if (fd > highest) highest = (int)fd;
  if (d->fd < 0) d->fd = (int)fd;
  d->refs++;
}

static uint64_t path_hash(long fd) {
  char link[40], path[HD_PATH_MAX];
  hd__format(link, sizeof link, "/proc/self/fd/%d", (int64_t)fd);
  long n = hd_sys3(SYS_readlink, link, path, sizeof path);
  uint64_t h = 1;
  for (long i = 0; i < n; i++) h = hd_mix64(h + (unsigned char)path[i]);
  return h & 0xffffffffffffull;
}

/* Device and inode identify a file, or a FIFO. Its name comes from the path, since inodes differ between runs. One that
 * never had a path (tmpfile, memfd_create) is named after the thread that made it. */
static struct hd_chan *file_chan(unsigned kind, long fd, const struct stat *st) {
  for (struct hd_desc *d = hd__descs; d; d = d->next)
    if (d->kind == kind && d->chan->dev == st->st_dev && d->chan->ino == st->st_ino) return d->chan;
  bool nameless = !st->st_nlink && !hd__fd_before(fd);
  struct hd_chan *c = nameless ? hd__chan_new(kind) : get(sizeof *c);
  if (!nameless) c->object = (uint64_t)kind << 56 | path_hash(fd);
  c->dev = st->st_dev;
  c->ino = st->st_ino;
  return c;
}

/* What may wait, but is none of the kinds that are known: poll can tell. */
static bool may_wait(long fd, const struct stat *st) {
  char termios[64];
  if (!(st->st_mode & S_IFMT)) return true; /* inotify and the like have no type */
  return S_ISCHR(st->st_mode) && hd_sys3(SYS_ioctl, fd, TCGETS, termios) == 0;
}

static unsigned kind_of(long fd, const struct stat *st) {
  struct statfs fs;
  if (S_ISFIFO(st->st_mode)) return HD_IO_PIPE;
  if (S_ISSOCK(st->st_mode)) return HD_IO_SOCKET;
  if (S_ISREG(st->st_mode))
    return hd_sys3(SYS_fstatfs, fd, &fs, 0) == 0 && fs.f_type == MQUEUE_MAGIC ? HD_IO_QUEUE : HD_IO_FILE;
  return may_wait(fd, st) ? HD_IO_DEVICE : HD_IO_OTHER;
}

/* Whether the number, from before main, refers to standard output or error. */
static bool is_output(long fd, const struct stat *st) {
  for (int out = 1; out <= 2; out++) {
    const struct stat *s = &output[out - 1];
    if (has(before, out) && s->st_dev == st->st_dev && s->st_ino == st->st_ino && !S_ISREG(s->st_mode))
      return hd__fd_before(fd);
  }
  return false;
}

/* Finds the description of a descriptor whose creation was not observed. */
static struct hd_desc *discover(long fd) {
  struct stat st;
  if (hd_sys3(SYS_fstat, fd, &st, 0) < 0) return NULL;
  bool old = hd__fd_before(fd);
  unsigned kind = kind_of(fd, &st);
  if (old && kind == HD_IO_DEVICE) kind = HD_IO_OTHER; /* the terminal that the program was started at */
  /* Standard output: /dev/null in a search, a pipe when a finding is confirmed or shown. It is the same to the program. */
  if (is_output(fd, &st)) kind = HD_IO_OTHER;
  bool named = kind == HD_IO_FILE || kind == HD_IO_QUEUE || (kind == HD_IO_PIPE && !old);
  struct hd_chan *c = named ? file_chan(kind, fd, &st) : get(sizeof *c);
  if (!named)
    c->object = (uint64_t)kind << 56 | (old ? 0xffffull : rt.cur->id) << 24 |
                (old ? (uint64_t)fd : ++rt.cur->sys.channels);
  struct hd_desc *d = hd__desc_new(kind, c);
  d->before = old;
  d->inside = kind == HD_IO_FILE || kind == HD_IO_OTHER || (named && !old);
  d->idle_only = kind == HD_IO_DEVICE;
  if (kind == HD_IO_FILE || kind == HD_IO_OTHER) { /* facet 0: contents; then 7 offsets, and the life of 7 */
    unsigned nth = rt.cur->id * 5u + rt.cur->sys.channels++;
    d->in = (uint16_t)(2u << nth % 7);
    d->out = d->in | 1;
    d->life = (uint16_t)(0x100u << nth % 7);
  }
  bind_fd(fd, d);
  return d;
}

struct hd_desc *hd__fd(long fd) {
  if (fd < 0 || fd >= HD_FDS || HD_UNLIKELY(has(leaving, fd))) return NULL;
  return table[fd] ? table[fd] : discover(fd);
}

/* Keeps what was there before main, until the restart. */
static void save_before(long fd) {
  if (!has(stay, fd) && (!has(before, fd) || has(ours, fd))) return;
  for (unsigned i = 0; i < nreplaced; i++)
    if (replaced[i].fd == fd) return;
  long saved = nreplaced < sizeof replaced / sizeof *replaced
                   ? hd_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HD_FD_OWN)
                   : -1;
  if (saved < 0) {
    if (has(stay, fd)) rt.lost = HD_UNKEPT_REPLACED;
    return;
  }
  replaced[nreplaced].fd = (int)fd;
  replaced[nreplaced++].saved = (int)saved;
}

/* ---- numbers (invariant 2) ---- */

#define NUMBERS (0xfdull << 56) /* as an object of contention */

bool hd__fds_lowest(void) {
  static uint32_t run; /* what is learned now holds from the next execution on */
  static bool lowest;
  if (run != rt.seg_base) {
    run = rt.seg_base;
    lowest = hd__shadow_visible(hd__contention(NUMBERS), 8);
  }
  return lowest;
}

void hd__fd_stale(void) {
  if (!hd__fds_lowest()) hd__shadow_show(hd__contention(NUMBERS), 8);
}

/* By default the orders of opening and closing are explored when everything else is covered: few programs can tell. That
 * this has begun is an entry of the log of waiting loops, so that a schedule is replayed with it. */
#define EXPLORED (HD_VISIBLE_NUMBERS & ~HD_VISIBLE_SPIN)
#define MOST 4 /* operations of this kind that a thread has in an execution */

bool hd__fds_shared(void) { return rt.nunjoined && hd__spin_known(EXPLORED) && !hd__fds_lowest(); }

bool hd__fds_explore(void) {
  if (!rt.shared->renumbered || hd__spin_known(EXPLORED)) return false;
  hd__learn(EXPLORED);
  return true;
}

/* Whether nothing orders the running thread with what others have done there. */
static bool meet(struct hd_life *l, bool changes) {
  const struct hd_vc *now = &rt.cur->vc;
  uint32_t me = rt.cur->id, clock = hd_vc_get(now, me);
  bool conflict = l->changed && hd_vc_get(now, l->changer) < l->changed;
  for (uint32_t i = 0; changes && i < l->users.n; i++) conflict |= l->users.c[i] > hd_vc_get(now, i);
  hd_vc_set(&rt.arena, &l->users, me, clock);
  if (changes) {
    l->changer = me;
    l->changed = clock;
  }
  return conflict;
}

/* A number was taken, or becomes free. `alone`: the call that does so has reserved it, or will release it. */
static void table_changes(bool opens, bool alone) {
  if (!rt.nunjoined || hd__fds_lowest() || !meet(&numbers, opens)) return;
  rt.shared->renumbered = 1;
  if (!alone) hd__fd_stale();
  if (rt.cur->sys.renumbers > MOST) hd__inexact(HD_INEXACT_FD_NUMBERS, hot.syscall_pc);
}

bool hd__fd_is_free(long fd) { return has(leaving, fd); }

/* A number that is taken, but refers to nothing yet, or no longer. */
static long placeholder(void) { return hd_sys4(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0); }

static void own(long fd) {
  if (!has(ours, fd)) nours++;
  add(ours, fd);
}

void hd__fd_reserve(unsigned n, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  if (t->sys.nreserved) return; /* the call is made again */
  if (t->sys.renumbers++ >= MOST) return;
  hd__change(HD_STATE_TABLE, 0, pc);
  for (unsigned i = 0; i < n; i++) {
    long fd = placeholder();
    if (fd < 0 || fd >= HD_FD_OWN) return;
    own(fd);
    add(leaving, fd);
    t->sys.reserved[t->sys.nreserved++] = (int)fd;
  }
}

static void release(long fd) {
  hd__lookup(HD_STATE_TABLE, 0, rt.cur->op.pc);
  hd_sys3(SYS_close, fd, 0, 0);
  if (has(ours, fd)) nours--;
  del(ours, fd);
  del(leaving, fd);
  hd__io_retarget(fd, NULL);
}

void hd__fds_release(void) {
  struct hd_thread *t = rt.cur;
  while (t->sys.nreserved) release(t->sys.reserved[--t->sys.nreserved]);
  long fd = t->sys.closing - 1;
  t->sys.closing = 0;
  if (fd >= 0) release(fd);
}

/* The number for a new descriptor. */
static long own_number(long fd) {
  struct hd_thread *t = rt.cur;
  table_changes(true, true);
  if (!t->sys.nreserved) return fd;
  long to = t->sys.reserved[0], flags = hd_sys3(SYS_fcntl, fd, F_GETFD, 0);
  t->sys.reserved[0] = t->sys.reserved[1];
  t->sys.nreserved--;
  del(leaving, to);
  hd_sys3(SYS_dup3, fd, to, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
  hd_sys3(SYS_close, fd, 0, 0);
  return to;
}

static void opened_by(long fd) {
  opener[fd].thread = rt.cur->id;
  opener[fd].clock = rt.nunjoined ? hd_vc_get(&rt.cur->vc, rt.cur->id) : 0;
  lives[fd] = NULL;
}

struct hd_desc *hd__fd_last(long fd) {
  return fd >= 0 && fd < HD_FDS ? last[fd] : NULL;
}

/* Returns whether a use and a change are unordered, in this execution or another. */
static bool alive(struct hd_life *l, uint64_t object, bool changes, unsigned looks) {
  bool shown = hd__shadow_visible(hd__contention(object), 8);
  if (!meet(l, changes) && (shown || !looks || !hd__looks_again(looks))) return shown;
  hd__shadow_show(hd__contention(object), 8);
  return true;
}

static uint64_t number_object(long fd) { return NUMBERS | ((uint64_t)fd + 1); }
static uint64_t flags_object(const struct hd_desc *d) {
  return d->chan->object ^ (uint64_t)d->life << 40 ^ (uint64_t)(d == d->chan->end[1]);
}

void hd__fd_reached(long fd) {
  if (!rt.nunjoined || fd < 0 || fd >= HD_FDS) return;
  if (hd_vc_get(&rt.cur->vc, opener[fd].thread) < opener[fd].clock) hd__fd_stale();
}

bool hd__fd_used(long fd, struct hd_desc *d, enum hd_use use) {
  if (!rt.nunjoined || fd < 0 || fd >= HD_FDS) return false;
  hd__fd_reached(fd);
  if (!lives[fd]) lives[fd] = get(sizeof *lives[fd]);
  if (fd > highest) highest = (int)fd;
  unsigned looks = use == HD_USE_LOOK ? HD_LOOK : use == HD_USE_PLAIN;
  bool number = alive(lives[fd], number_object(fd), use == HD_USE_ENDS, looks);
  return (d && alive(&d->flags, flags_object(d), use == HD_USE_FLAGS, looks)) || number;
}

bool hd__fd_contended(long fd, const struct hd_desc *d) {
  return rt.nunjoined && (hd__shadow_visible(hd__contention(number_object(fd)), 8) ||
                          hd__shadow_visible(hd__contention(flags_object(d)), 8));
}

long hd__fd_keep(struct hd_desc *d, long fd) {
  long kept = hd_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HD_FD_OWN);
  if (kept < 0 || kept >= HD_FDS)
    hd__fail(HD_RTE_ENVIRONMENT, hot.syscall_pc, "too many threads wait for descriptors");
  nours++;
  add(ours, kept);
  bind_fd(kept, d);
  return kept;
}

/* ---- descriptors in messages ---- */

/* A message holds its descriptions open until it is received, and they are known by the numbers that are kept here. (If it
 * is never received, they are open until the end of the execution.) */
bool hd__fd_send(long fd) {
  struct hd_desc *d = hd__fd(fd);
  if (!d || nin_flight == IN_FLIGHT) return false;
  in_flight[nin_flight++] = hd__fd_keep(d, fd);
  return true;
}

void hd__fd_unsend(unsigned n) {
  for (; n; n--) hd__fd_close(in_flight[--nin_flight]);
}

static bool same_description(long a, long b) {
  long pid = hd_sys3(SYS_getpid, 0, 0, 0), r = hd_sys6(SYS_kcmp, pid, pid, 0 /* KCMP_FILE */, a, b, 0);
  struct stat x, y;
  if (r >= 0) return r == 0;
  return hd_sys3(SYS_fstat, a, &x, 0) == 0 && hd_sys3(SYS_fstat, b, &y, 0) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

long hd__fd_received(long fd, bool peeked) {
  unsigned i = 0;
  table_changes(true, false);
  while (i < nin_flight && !same_description(fd, in_flight[i])) i++;
  if (i == nin_flight) return hd__fd_opened(fd, NULL);
  long kept = in_flight[i];
  fd = hd__fd_opened(fd, table[kept]);
  if (peeked) return fd;
  for (nin_flight--; i < nin_flight; i++) in_flight[i] = in_flight[i + 1];
  hd__fd_close(kept);
  return fd;
}

long hd__fd_opened(long fd, struct hd_desc *d) {
  if (fd < 0 || fd >= HD_FDS) return fd;
  fd = own_number(fd);
  if (HD_UNLIKELY(hd__fd_over_limit(fd))) {
    hd_sys3(SYS_close, fd, 0, 0);
    return -EMFILE;
  }
  own(fd);
  del(randoms, fd);
  table[fd] = NULL;
  opened_by(fd);
  if (d)
    bind_fd(fd, d);
  else
    discover(fd); /* now, so that its name comes from the thread that opened it */
  hd__io_retarget(fd, NULL);
  return fd;
}

static void unbind(long fd) {
  struct hd_desc *d = table[fd];
  table[fd] = NULL;
  if (!d || --d->refs || d->fd != fd) {
    if (!d || d->fd != fd) return;
    d->fd = -1;
    for (int i = 0; i <= highest; i++)
      if (table[i] == d) d->fd = i;
    return;
  }
  d->fd = -1;
}

static long dup_lowest(long nr, const long *a) {
  struct hd_desc *d = hd__fd(a[0]);
  if (nr == SYS_fcntl && hd__fd_over_limit(a[2])) return -EINVAL;
  long r = hd_sys3(nr, a[0], a[1], a[2]);
  bool random = hd__fd_random(a[0]);
  if (r < 0) return r;
  if (nr == SYS_dup || !a[2]) r = own_number(r); /* else one above a limit was requested: it is not changed */
  if (HD_UNLIKELY(hd__fd_over_limit(r))) {
    hd_sys3(SYS_close, r, 0, 0);
    return -EMFILE;
  }
  if (r >= HD_FDS) return r;
  own(r);
  opened_by(r);
  if (d) bind_fd(r, d);
  if (random) add(randoms, r);
  hd__io_retarget(r, NULL);
  return r;
}

long hd__fd_dup(long nr, const long *a) {
  if (hd__fd_is_free(a[0])) return -EBADF;
  if (nr == SYS_dup || nr == SYS_fcntl) return dup_lowest(nr, a);
  if (a[0] == a[1]) return hd_sys3(nr, a[0], a[1], a[2]);
  if (hd__fd_over_limit(a[1])) return -EBADF;
  struct hd_desc *d = hd__fd(a[0]);
  if (d) save_before(a[1]);
  long r = hd_sys3(nr, a[0], a[1], a[2]);
  if (r < 0 || r >= HD_FDS) return r;
  if (table[r] && table[r]->chan->locks) hd__locks_closed(table[r], table[r]->refs == 1);
  unbind(r);
  if (!has(before, r) && !has(ours, r)) {
    add(ours, r);
    nours++;
  }
  opened_by(r);
  if (d) bind_fd(r, d);
  hd__io_retarget(r, NULL);
  return r;
}

/* Closes the description; the number becomes free at the end of the call. */
static long stay_reserved(long fd) {
  if (hd_sys3(SYS_fcntl, fd, F_GETFD, 0) < 0) return -EBADF;
  long other = placeholder();
  if (other < 0) return hd_sys3(SYS_close, fd, 0, 0);
  hd_sys3(SYS_dup3, other, fd, O_CLOEXEC);
  hd_sys3(SYS_close, other, 0, 0);
  own(fd);
  add(leaving, fd);
  rt.cur->sys.closing = (int)fd + 1;
  return 0;
}

long hd__fd_close(long fd) {
  if (fd < 0 || fd >= HD_FDS) return hd_sys3(SYS_close, fd, 0, 0);
  save_before(fd); /* invariant 1 */
  if (has(ours, fd)) {
    del(ours, fd);
    nours--;
  }
  del(randoms, fd);
  if (table[fd] && table[fd]->chan->locks) hd__locks_closed(table[fd], table[fd]->refs == 1);
  unbind(fd);
  long r = 0;
  if (fd < HD_FD_OWN && rt.cur->sys.context && hd__fds_shared() && rt.cur->sys.renumbers++ < MOST)
    r = stay_reserved(fd);
  else
    r = hd_sys3(SYS_close, fd, 0, 0);
  if (fd < HD_FD_OWN) table_changes(false, true);
  hd__io_retarget(fd, NULL);
  return r;
}

long hd__fd_next(unsigned from) {
  for (; from < HD_FD_OWN; from++)
    if (has(ours, from) || (has(before, from) && hd_sys3(SYS_fcntl, from, F_GETFD, 0) >= 0)) return from;
  return -1;
}

long hd__fd_close_range(unsigned from, unsigned to, unsigned flags) {
  if (from > to || flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) return -EINVAL;
  for (long fd; (fd = hd__fd_next(from)) >= 0 && fd <= (long)to; from = (unsigned)fd + 1)
    if (flags & CLOSE_RANGE_CLOEXEC)
      hd_sys3(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
    else
      hd__fd_close(fd);
  return 0;
}
