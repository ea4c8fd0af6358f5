/* fds.c: the descriptors of the tested program. Runs in the tested process.
 *
 * Invariants
 *  1. Nothing that existed before main is closed for good: closing it succeeds without effect, replacing it is
 *     undone at the restart.
 *  2. Descriptors that a thread other than the first opens get numbers of that thread's own, so that a number
 *     depends on what the thread did and not on the order of the threads.
 *  3. Descriptions and channels belong to one execution: their memory is the arena's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/kernel/io.h"

#define SET (HD_FDS / 64)
static uint64_t ours[SET];    /* opened by this execution */
static uint64_t before[SET];  /* open before main */
static uint64_t moved[SET];   /* of those: read or sought, offset to be put back */
static uint64_t randoms[SET]; /* /dev/urandom and /dev/random */
static int64_t offset[HD_FDS];
static struct { int fd, saved; } replaced[16];
static unsigned nreplaced, nours;
static bool any_moved;
static struct hd_desc *table[HD_FDS];
static int highest = -1; /* of table */
struct hd_desc *hd__descs;
bool hd__descs_new;

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
bool hd__fd_before(long fd) { return has(before, fd) && !has(ours, fd); }

void hd__fd_moved(long fd) {
  if (!has(before, fd)) return;
  add(moved, fd);
  any_moved = true;
}

void hd__fds_init(void) {
  hd__zero(before, sizeof before);
  for (int first = 0; first < HD_FDS; first += 64) { /* one question for many, most of which are closed */
    struct pollfd all[64];
    for (int i = 0; i < 64; i++) all[i] = (struct pollfd){first + i, 0, 0};
    bool asked = hd_sys3(SYS_poll, all, 64, 0) >= 0;
    for (int fd = first; fd < first + 64; fd++) {
      if (asked ? all[fd - first].revents & POLLNVAL : hd_sys3(SYS_fcntl, fd, F_GETFD, 0) < 0) continue;
      add(before, fd);
      offset[fd] = hd_sys3(SYS_lseek, fd, 0, SEEK_CUR);
    }
  }
}

void hd__fds_begin(void) {
  if (nours) {
    for (int fd = 0; fd < HD_FDS; fd++)
      if (has(ours, fd)) hd_sys3(SYS_close, fd, 0, 0);
    hd__zero(ours, sizeof ours);
    hd__zero(randoms, sizeof randoms);
    nours = 0;
  }
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
  for (; highest >= 0; highest--) table[highest] = NULL;
  hd__descs = NULL;
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
  d->inside = true;
  d->polled = kind != HD_IO_OTHER && kind != HD_IO_FILE;
  d->stream = true;
  d->fd = -1;
  d->next = hd__descs;
  hd__descs = d;
  hd__descs_new = true;
  return d;
}

static void bind_fd(long fd, struct hd_desc *d) {
  table[fd] = d;
  if (fd > highest) highest = (int)fd;
  if (d->fd < 0) d->fd = (int)fd;
  d->refs++;
}

/* Files are known by device and inode; the name comes from the path, since inodes differ between runs. */
static struct hd_chan *file_chan(long fd, const struct stat *st) {
  for (struct hd_desc *d = hd__descs; d; d = d->next)
    if (d->kind == HD_IO_FILE && d->chan->dev == st->st_dev && d->chan->ino == st->st_ino) return d->chan;
  char link[40], path[HD_PATH_MAX];
  hd__format(link, sizeof link, "/proc/self/fd/%d", (int64_t)fd);
  long n = hd_sys3(SYS_readlink, link, path, sizeof path);
  uint64_t h = 1;
  for (long i = 0; i < n; i++) h = hd_mix64(h + (unsigned char)path[i]);
  struct hd_chan *c = get(sizeof *c);
  c->object = (uint64_t)HD_IO_FILE << 56 | (h & 0xffffffffffffull);
  c->dev = st->st_dev;
  c->ino = st->st_ino;
  return c;
}

/* The description of a descriptor that was not seen being made. */
static struct hd_desc *discover(long fd) {
  struct stat st;
  if (hd_sys3(SYS_fstat, fd, &st, 0) < 0) return NULL;
  bool old = hd__fd_before(fd);
  struct hd_chan *c = get(sizeof *c);
  unsigned kind = S_ISREG(st.st_mode)    ? HD_IO_FILE
                  : S_ISFIFO(st.st_mode) ? HD_IO_PIPE
                  : S_ISSOCK(st.st_mode) ? HD_IO_SOCKET
                                         : HD_IO_OTHER;
  if (kind == HD_IO_FILE)
    c = file_chan(fd, &st);
  else
    c->object = (uint64_t)kind << 56 | (old ? 0xffffull : rt.cur->id) << 24 |
                (old ? (uint64_t)fd : ++rt.cur->sys.channels);
  struct hd_desc *d = hd__desc_new(kind, c);
  d->before = old;
  d->inside = kind == HD_IO_FILE || kind == HD_IO_OTHER;
  if (kind == HD_IO_FILE) { /* facet 0: contents; the others: offsets */
    d->in = (uint16_t)(2u << ((rt.cur->id * 5u + rt.cur->sys.channels++) % 15));
    d->out = d->in | 1;
  }
  bind_fd(fd, d);
  return d;
}

struct hd_desc *hd__fd(long fd) {
  if (fd < 0 || fd >= HD_FDS) return NULL;
  return table[fd] ? table[fd] : discover(fd);
}

/* Invariant 2. */
static long own_number(long fd) {
  unsigned id = rt.cur->id;
  if (!id) return fd;
  long flags = hd_sys3(SYS_fcntl, fd, F_GETFD, 0);
  long to = hd_sys3(SYS_fcntl, fd, flags & FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 64 + (id - 1) % 50 * 16);
  if (to < 0 || to >= HD_FD_OWN) {
    if (to >= 0) hd_sys3(SYS_close, to, 0, 0);
    return fd;
  }
  hd_sys3(SYS_close, fd, 0, 0);
  return to;
}

long hd__fd_opened(long fd, struct hd_desc *d) {
  if (fd < 0 || fd >= HD_FDS) return fd;
  fd = own_number(fd);
  if (!has(ours, fd)) nours++;
  add(ours, fd);
  del(randoms, fd);
  table[fd] = NULL;
  if (d) bind_fd(fd, d);
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

long hd__fd_dup(long nr, const long *a) {
  if (nr == SYS_dup || nr == SYS_fcntl) {
    struct hd_desc *d = hd__fd(a[0]);
    long r = hd_sys3(nr, a[0], a[1], a[2]);
    bool random = hd__fd_random(a[0]);
    if (r < 0) return r;
    /* The lowest number was asked for, or one above a limit: it stays what it is. */
    if (!has(ours, r)) nours++;
    add(ours, r);
    if (r < HD_FDS && d) bind_fd(r, d);
    if (random) add(randoms, r);
    return r;
  }
  if (a[0] == a[1]) return hd_sys3(nr, a[0], a[1], a[2]);
  struct hd_desc *d = hd__fd(a[0]);
  if (has(before, a[1]) && !has(ours, a[1]) && nreplaced < sizeof replaced / sizeof *replaced) {
    long saved = hd_sys3(SYS_fcntl, a[1], F_DUPFD_CLOEXEC, HD_FD_OWN);
    if (saved >= 0) {
      replaced[nreplaced].fd = (int)a[1];
      replaced[nreplaced++].saved = (int)saved;
    }
  }
  long r = hd_sys3(nr, a[0], a[1], a[2]);
  if (r < 0 || r >= HD_FDS) return r;
  unbind(r);
  if (!has(before, r) && !has(ours, r)) {
    add(ours, r);
    nours++;
  }
  if (d) bind_fd(r, d);
  return r;
}

long hd__fd_close(long fd) {
  if (!has(ours, fd)) {
    if (has(before, fd)) return 0; /* invariant 1 */
    return hd_sys3(SYS_close, fd, 0, 0);
  }
  del(ours, fd);
  del(randoms, fd);
  nours--;
  unbind(fd);
  return hd_sys3(SYS_close, fd, 0, 0);
}

void hd__fd_close_range(unsigned from, unsigned to) {
  for (unsigned fd = from; fd <= to && fd < HD_FD_OWN; fd++)
    if (has(ours, fd)) hd__fd_close(fd);
}
