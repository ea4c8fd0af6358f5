/* files.c: the file system as operations of the schedule, and restoring it at a restart. Runs in the tested
 * process.
 *
 * Invariants
 *  1. Before the program changes a name or a file that it did not create itself, the undo log in the shared file
 *     says how to undo that (abi/undo.h). A restart undoes it; after the death of the process the supervisor does.
 *  2. From the first change in an execution until it is undone no other controlled process of this program changes
 *     anything: they share a lock, that of the executable file.
 *  3. The contents of a file, the offset of a description and all names together are operations of the schedule
 *     when two threads access them and one changes them. That is learned and logged as for memory (shadow.c), under
 *     an address that no memory has. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/undo.h"
#include "runtime/core/core.h"
#include "runtime/core/state.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

static struct hd_undo_log *undo_log(void) { return (struct hd_undo_log *)(HD_SHM_BASE + HD_SHM_UNDO); }

/* ---- one process at a time ---- */

/* Whether changes stay: a program that is run only once keeps them. */
static bool keeps(void) { return rt.config->mode == HD_MODE_RUN; }

static int lock_fd = -1;
static bool locked; /* by this execution */

static void lock_files(void) {
  struct timespec ms = {0, 1000000};
  rt.status->changes_files = 1;
  if (locked || lock_fd < 0) return;
  while (hd_sys3(SYS_flock, lock_fd, LOCK_EX | LOCK_NB, 0) == -EAGAIN) {
    hd_sys3(SYS_nanosleep, &ms, 0, 0);
    rt.status->heartbeat++;
  }
  locked = true;
}

static bool holds_port; /* some execution has taken a port that it names itself */

void hd__port_taken(void) {
  if (keeps()) return;
  holds_port = true;
  lock_files();
}

/* Before other processes may go on, ports must be free. */
void hd__ports_leave(void) {
  if (holds_port) hd__fds_begin();
}

static int64_t first_pid; /* in fork mode, of the parent of all executions */
static long user;         /* effective, before main */

bool hd__files_mine(void) { return hd_sys3(SYS_geteuid, 0, 0, 0) == user; }

void hd__files_init(void) {
  first_pid = hd_sys3(SYS_getpid, 0, 0, 0);
  user = hd_sys3(SYS_geteuid, 0, 0, 0);
  long fd = hd_sys4(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  lock_fd = (int)hd_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HD_FD_OWN);
  hd_sys3(SYS_close, fd, 0, 0);
}

void hd__files_begin(void) {
  if (rt.status->changes_files || rt.config->mode == HD_MODE_REPLAY) lock_files();
}

void hd__files_undo(void) {
  char what[300], text[400];
  /* Who has become another user may not: of the only execution of a process, the supervisor does it. */
  bool leaves = rt.config->mode == HD_MODE_REPLAY && !hd__files_mine();
  int e = undo_log()->last && !leaves ? hd_undo_all(undo_log(), what, sizeof what) : 0;
  bool child = rt.status->restart == HD_RESTART_FORK &&
               (rt.status->changes_files ||
                rt.config->mode == HD_MODE_REPLAY); /* a forked execution may have locked them */
  if (locked || child) hd_sys3(SYS_flock, lock_fd, LOCK_UN, 0);
  locked = false;
  if (!e) return;
  hd__format(text, sizeof text, "cannot restore what the program changed: %s (error %d)", what, (int64_t)e);
  hd__fail(HD_RTE_ENVIRONMENT, 0, text);
}

bool hd__files_changed(void) { return undo_log()->last != 0; }

/* ---- what to undo ---- */

/* An absolute path, without following its last component. Returns false when there is none. */
static bool absolute(char *out, long dir, const char *path) {
  long n = 0;
  if (!path) return false;
  if (path[0] != '/') {
    char link[40];
    if ((int)dir == AT_FDCWD)
      hd__format(link, sizeof link, "/proc/self/cwd");
    else
      hd__format(link, sizeof link, "/proc/self/fd/%d", (int64_t)(int)dir);
    n = hd_sys3(SYS_readlink, link, out, HD_PATH_MAX - 1);
    if (n <= 0 || out[0] != '/') return false;
    out[n++] = '/';
  }
  return hd__format(out + n, (size_t)(HD_PATH_MAX - n), "%s", path) < (size_t)(HD_PATH_MAX - n);
}

_Noreturn static void too_much(void) {
  hd__fail(
      HD_RTE_ENVIRONMENT, hd__innermost(),
      "the program changes more than 1 GiB of existing files in one execution, which Heddle cannot restore: "
      "use smaller files");
}

static struct hd_undo_rec *record(unsigned kind, const char *path, uint64_t data_len, const struct stat *st) {
  lock_files();
  struct hd_undo_rec *r = hd_undo_add(undo_log(), kind, path, data_len);
  if (!r) too_much();
  if (st) hd_undo_stat(r, st);
  return r;
}

static void record_text(unsigned kind, const char *path, const char *data, const struct stat *st) {
  uint64_t n = hd__strlen(data) + 1;
  struct hd_undo_rec *r = record(kind, path, n, st);
  hd__copy(hd_undo_data(r), data, n);
  hd_undo_commit(undo_log(), r);
}

static void record_contents(unsigned kind, const char *path, long fd, const struct stat *st) {
  struct hd_undo_rec *r = record(kind, path, (uint64_t)st->st_size, st);
  uint64_t done = 0;
  while (done < r->data_len) {
    long n = hd_sys4(SYS_pread64, fd, hd_undo_data(r) + done, r->data_len - done, done);
    if (n <= 0) break;
    done += (uint64_t)n;
  }
  r->data_len = done;
  hd_undo_commit(undo_log(), r);
}

static bool save_contents(const char *path, const struct stat *st) {
  long fd = hd_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return false; /* not readable, so hardly the program's to change */
  record_contents(HD_UNDO_FILE, path, fd, st);
  hd_sys3(SYS_close, fd, 0, 0);
  return true;
}

static struct hd_chan *known(const struct stat *st) {
  for (struct hd_desc *d = hd__descs; d; d = d->next)
    if (d->kind == HD_IO_FILE && d->chan->dev == st->st_dev && d->chan->ino == st->st_ino) return d->chan;
  return NULL;
}

static bool made_here(const struct stat *st) {
  struct hd_chan *c = known(st);
  return c && c->created;
}

/* Saves what is at the path, which is about to be removed or changed. Returns false when there is nothing. */
static bool save(const char *path) {
  struct stat st;
  char to[HD_PATH_MAX];
  if (hd_sys3(SYS_lstat, path, &st, 0) < 0) return false;
  if (S_ISREG(st.st_mode)) {
    if (made_here(&st)) /* its contents do not matter, its name does */
      hd_undo_commit(undo_log(), record(HD_UNDO_FILE, path, 0, &st));
    else
      save_contents(path, &st);
  } else if (S_ISDIR(st.st_mode)) {
    hd_undo_commit(undo_log(), record(HD_UNDO_FOLDER, path, 0, &st));
  } else if (S_ISLNK(st.st_mode)) {
    long n = hd_sys3(SYS_readlink, path, to, sizeof to - 1);
    to[n > 0 ? n : 0] = 0;
    record_text(HD_UNDO_LINK, path, to, &st);
  } else if (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode)) {
    unsigned kind = S_ISFIFO(st.st_mode) ? HD_UNDO_FIFO : HD_UNDO_SOCKET;
    hd_undo_commit(undo_log(), record(kind, path, 0, &st));
  }
  return true;
}

static bool fd_path(long fd, char *out) {
  char link[40];
  struct stat a, b;
  hd__format(link, sizeof link, "/proc/self/fd/%d", (int64_t)fd);
  long n = hd_sys3(SYS_readlink, link, out, HD_PATH_MAX - 1);
  out[n > 0 ? n : 0] = 0;
  /* A file without a name (unlinked, or never named) need not be restored. */
  return out[0] == '/' && hd_sys3(SYS_fstat, fd, &a, 0) == 0 && hd_sys3(SYS_lstat, out, &b, 0) == 0 &&
         a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

void hd__file_changes(long fd) {
  struct hd_desc *d = hd__fd(fd);
  char path[HD_PATH_MAX];
  struct stat st;
  if (!d || d->kind != HD_IO_FILE || d->chan->saved || keeps()) return;
  bool test_has_it = d->before && rt.callback && fd > 2; /* a copy of the test's, see check_copy.c */
  if (d->before && !test_has_it) return;
  d->chan->saved = true;
  if (d->chan->created || hd_sys3(SYS_fstat, fd, &st, 0) < 0) return;
  if (fd_path(fd, path)) {
    save_contents(path, &st);
  } else if (test_has_it) {
    hd__format(path, sizeof path, "/proc/%d/fd/%d", first_pid, (int64_t)fd);
    record_contents(HD_UNDO_UNNAMED, path, fd, &st); /* open in both processes: we made it */
  }
}

long hd__file_put(const char *name, const void *bytes, uint64_t n, struct stat *st) {
  char path[HD_PATH_MAX], real[HD_PATH_MAX];
  if (!absolute(path, AT_FDCWD, name)) return -ENOENT;
  lock_files();
  bool there = hd_sys3(SYS_stat, path, st, 0) == 0;
  if (there && !S_ISREG(st->st_mode)) return -EEXIST;
  long fd = there ? hd_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
  if (there && (fd < 0 || !fd_path(fd, real))) return fd < 0 ? fd : -ENOENT;
  if (there) save_contents(real, st);
  if (there) hd_sys3(SYS_close, fd, 0, 0);
  fd = hd_sys4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  if (!there && fd_path(fd, real)) hd_undo_commit(undo_log(), record(HD_UNDO_REMOVE, real, 0, NULL));
  long r = n ? hd_sys3(SYS_write, fd, bytes, n) : 0;
  hd_sys3(SYS_fstat, fd, st, 0);
  hd_sys3(SYS_close, fd, 0, 0);
  return r < 0 ? r : (uint64_t)r < n ? -ENOSPC : 0;
}

/* ---- opening ---- */

#define WRITABLE(flags) (((flags)&O_ACCMODE) != O_RDONLY)

static long open_flags(long nr, const long *a) {
  return nr == SYS_creat     ? O_CREAT | O_WRONLY | O_TRUNC
         : nr == SYS_open    ? a[1]
         : nr == SYS_openat2 ? (a[2] ? (long)*(const uint64_t *)a[2] : 0)
                             : a[2];
}

static bool harmless_place(const char *path) {
  static const char *const prefix[] = {"/dev/", "/proc/", "/sys/"};
  for (unsigned i = 0; path && i < sizeof prefix / sizeof *prefix; i++)
    if (hd__starts(path, prefix[i]))
      return !hd__starts(path + hd__strlen(prefix[i]), "shm/"); /* /dev/shm holds ordinary files */
  return false;
}

static long open_call(long nr, const long *a) {
  long flags = open_flags(nr, a);
  bool at = nr == SYS_openat || nr == SYS_openat2;
  const char *name = (const char *)(at ? a[1] : a[0]);
  char path[HD_PATH_MAX], real[HD_PATH_MAX];
  struct stat st;
  bool looks = !keeps() && (flags & (O_CREAT | O_TRUNC)) && !(flags & O_PATH) &&
               (flags & O_TMPFILE) != O_TMPFILE && !harmless_place(name) &&
               absolute(path, at ? a[0] : AT_FDCWD, name);
  if (looks) lock_files();
  bool there = looks && hd_sys3(SYS_stat, path, &st, 0) == 0;
  if (looks && there && S_ISREG(st.st_mode) && (flags & O_TRUNC) && WRITABLE(flags) && !(flags & O_EXCL)) {
    struct hd_chan *c = known(&st);
    long fd =
        c && (c->created || c->saved) ? -1 : hd_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0 && fd_path(fd, real)) save_contents(real, &st);
    if (fd >= 0) hd_sys3(SYS_close, fd, 0, 0);
  }
  long fd = hd__plain(nr, a);
  if (fd < 0) return fd;
  fd = hd__fd_opened(fd, NULL);
  if (!looks) return fd;
  struct hd_desc *d = hd__fd(fd);
  if (d && d->kind == HD_IO_FILE && (flags & O_TRUNC)) d->chan->saved = true;
  if (!there && fd_path(fd, real)) {
    hd_undo_commit(undo_log(), record(HD_UNDO_REMOVE, real, 0, NULL));
    if (d) d->chan->created = d->chan->saved = true;
  }
  return fd;
}

/* ---- the other calls that name files ---- */

enum what { OPEN = 1, LOOK, MAKE, UNLINK, RENAME, TRUNCATE, META, ATTRIBUTE };

static const struct call {
  short nr;
  uint8_t what;
  int8_t dir, path;   /* arguments; -1: the working folder */
  int8_t dir2, path2; /* of a second name */
} calls[] = {
    {SYS_open, OPEN, -1, 0, -1, -1},
    {SYS_openat, OPEN, 0, 1, -1, -1},
    {SYS_creat, OPEN, -1, 0, -1, -1},
    {SYS_openat2, OPEN, 0, 1, -1, -1},
    {SYS_stat, LOOK, -1, 0, -1, -1},
    {SYS_lstat, LOOK, -1, 0, -1, -1},
    {SYS_newfstatat, LOOK, 0, 1, -1, -1},
    {SYS_statx, LOOK, 0, 1, -1, -1},
    {SYS_access, LOOK, -1, 0, -1, -1},
    {SYS_faccessat, LOOK, 0, 1, -1, -1},
    {SYS_faccessat2, LOOK, 0, 1, -1, -1},
    {SYS_readlink, LOOK, -1, 0, -1, -1},
    {SYS_readlinkat, LOOK, 0, 1, -1, -1},
    {SYS_getdents64, LOOK, 0, -1, -1, -1},
    {SYS_chdir, LOOK, -1, 0, -1, -1},
    {SYS_fchdir, LOOK, 0, -1, -1, -1},
    {SYS_getxattr, LOOK, -1, 0, -1, -1},
    {SYS_lgetxattr, LOOK, -1, 0, -1, -1},
    {SYS_listxattr, LOOK, -1, 0, -1, -1},
    {SYS_llistxattr, LOOK, -1, 0, -1, -1},
    {SYS_statfs, LOOK, -1, 0, -1, -1},
    {SYS_mkdir, MAKE, -1, 0, -1, -1},
    {SYS_mkdirat, MAKE, 0, 1, -1, -1},
    {SYS_mknod, MAKE, -1, 0, -1, -1},
    {SYS_mknodat, MAKE, 0, 1, -1, -1},
    {SYS_symlink, MAKE, -1, 1, -1, -1},
    {SYS_symlinkat, MAKE, 1, 2, -1, -1},
    {SYS_link, MAKE, -1, 1, -1, 0},
    {SYS_linkat, MAKE, 2, 3, 0, 1},
    {SYS_unlink, UNLINK, -1, 0, -1, -1},
    {SYS_unlinkat, UNLINK, 0, 1, -1, -1},
    {SYS_rmdir, UNLINK, -1, 0, -1, -1},
    {SYS_rename, RENAME, -1, 0, -1, 1},
    {SYS_renameat, RENAME, 0, 1, 2, 3},
    {SYS_renameat2, RENAME, 0, 1, 2, 3},
    {SYS_truncate, TRUNCATE, -1, 0, -1, -1},
    {SYS_chmod, META, -1, 0, -1, -1},
    {SYS_fchmodat, META, 0, 1, -1, -1},
    {SYS_chown, META, -1, 0, -1, -1},
    {SYS_lchown, META, -1, 0, -1, -1},
    {SYS_fchownat, META, 0, 1, -1, -1},
    {SYS_utimensat, META, 0, 1, -1, -1},
    {SYS_utimes, META, -1, 0, -1, -1},
    {SYS_utime, META, -1, 0, -1, -1},
    {SYS_fchmod, META, 0, -1, -1, -1},
    {SYS_fchown, META, 0, -1, -1, -1},
    {SYS_setxattr, ATTRIBUTE, -1, 0, -1, -1},
    {SYS_lsetxattr, ATTRIBUTE, -1, 0, -1, -1},
    {SYS_removexattr, ATTRIBUTE, -1, 0, -1, -1},
    {SYS_lremovexattr, ATTRIBUTE, -1, 0, -1, -1},
    {SYS_fsetxattr, ATTRIBUTE, 0, -1, -1, -1},
    {SYS_fremovexattr, ATTRIBUTE, 0, -1, -1, -1},
};

static const struct call *find(long nr) {
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
    if (calls[i].nr == nr) return &calls[i];
  return NULL;
}

static bool path_of(const struct call *c, bool second, const long *a, char *out) {
  int dir = second ? c->dir2 : c->dir, path = second ? c->path2 : c->path;
  if (path < 0) return dir >= 0 && fd_path(a[dir], out);
  if (dir >= 0 && !a[path]) return fd_path(a[dir], out); /* utimensat of a descriptor */
  return absolute(out, dir < 0 ? AT_FDCWD : a[dir], (const char *)a[path]);
}

/* Drops the last record if the call failed. */
static long kept(long r) {
  if (r < 0) hd_undo_drop(undo_log());
  return r;
}

long hd__name_bound(long nr, const long *a, const char *name) {
  char path[HD_PATH_MAX];
  if (keeps() || !absolute(path, AT_FDCWD, name)) return hd__plain(nr, a);
  hd_undo_commit(undo_log(), record(HD_UNDO_REMOVE, path, 0, NULL));
  return kept(hd__plain(nr, a));
}

bool hd__sync_is_idle(long fd) {
  const struct hd_desc *d = fd < 0 ? NULL : hd__fd(fd);
  return !keeps() && (fd < 0 || (d && d->kind == HD_IO_FILE));
}

static long rename_call(const struct call *c, long nr, const long *a, const char *from) {
  char to[HD_PATH_MAX];
  unsigned flags = nr == SYS_renameat2 ? (unsigned)a[4] : 0;
  struct stat sa, sb;
  if (!path_of(c, true, a, to) || hd_sys3(SYS_lstat, from, &sa, 0) < 0) return hd__plain(nr, a);
  bool there = hd_sys3(SYS_lstat, to, &sb, 0) == 0;
  if (there && sa.st_ino == sb.st_ino && sa.st_dev == sb.st_dev) return hd__plain(nr, a); /* no effect */
  uint64_t last = undo_log()->last, used = undo_log()->used;
  if (there && !(flags & (RENAME_NOREPLACE | RENAME_EXCHANGE))) save(to);
  record_text(flags & RENAME_EXCHANGE ? HD_UNDO_SWAP : HD_UNDO_RENAME, from, to, &sa);
  long r = hd__plain(nr, a);
  if (r < 0) {
    undo_log()->last = last;
    undo_log()->used = used;
  }
  return r;
}

/* Its name, and its value if it has one, after a byte that says so. */
static void record_attribute(const char *path, const char *name) {
  static HD_EXEC_LARGE char value[65536];
  long n = hd_sys4(SYS_getxattr, path, name, value, sizeof value);
  uint64_t len = hd__strlen(name) + 1;
  struct hd_undo_rec *r = record(HD_UNDO_ATTRIBUTE, path, len + (n < 0 ? 0 : 1 + (uint64_t)n), NULL);
  hd__copy(hd_undo_data(r), name, len);
  if (n >= 0) hd_undo_data(r)[len] = 1;
  if (n > 0) hd__copy(hd_undo_data(r) + len + 1, value, (size_t)n);
  hd_undo_commit(undo_log(), r);
}

/* Whether it looks from a folder that a descriptor refers to. */
static bool from_folder(const struct call *c, bool second, const long *a) {
  int dir = second ? c->dir2 : c->dir, path = second ? c->path2 : c->path;
  const char *name = path < 0 ? NULL : (const char *)a[path];
  return dir >= 0 && (int)a[dir] >= 0 && (!name || name[0] != '/');
}

static bool from_nowhere(const struct call *c, const long *a) {
  return (from_folder(c, false, a) && hd__fd_is_free((int)a[c->dir])) ||
         (from_folder(c, true, a) && hd__fd_is_free((int)a[c->dir2]));
}

static long change(const struct call *c, long nr, const long *a) {
  char path[HD_PATH_MAX];
  struct stat st;
  if (from_nowhere(c, a)) return -EBADF;
  if (c->what == OPEN) return open_call(nr, a);
  if (c->what == LOOK || keeps() || !path_of(c, false, a, path)) return hd__plain(nr, a);
  lock_files(); /* before it is seen what there is to save */
  switch (c->what) {
    case MAKE:
      hd_undo_commit(undo_log(), record(HD_UNDO_REMOVE, path, 0, NULL));
      return kept(hd__plain(nr, a));
    case RENAME: return rename_call(c, nr, a, path);
    case ATTRIBUTE:
      if (!a[1]) return hd__plain(nr, a);
      record_attribute(path, (const char *)a[1]);
      return kept(hd__plain(nr, a));
    case META:
      if (hd_sys3(SYS_lstat, path, &st, 0) < 0 || S_ISLNK(st.st_mode)) return hd__plain(nr, a);
      hd_undo_commit(undo_log(), record(HD_UNDO_META, path, 0, &st));
      return kept(hd__plain(nr, a));
    default: {
      uint64_t last = undo_log()->last, used = undo_log()->used;
      save(path);
      long r = hd__plain(nr, a);
      if (r < 0) {
        undo_log()->last = last;
        undo_log()->used = used;
      }
      return r;
    }
  }
}

/* ---- as operations (invariant 3) ---- */

#define NAMES 1ull /* the object of operations on names */

uint64_t hd__contention(uint64_t object) { return 8 + hd_mix64(object) % 8000 * 8; }

bool hd__file_contended(struct hd_touch *t, uint64_t object, uint16_t reads, uint16_t writes) {
  uint16_t me = (uint16_t)(rt.cur->id + 1);
  bool conflict = false;
  if (!rt.nunjoined) return false; /* no other thread is alive: it is ordered with everything */
  if (t->epoch != rt.epoch) *t = (struct hd_touch){.epoch = rt.epoch};
  for (unsigned f = 0; f < 16; f++) {
    bool w = writes >> f & 1, r = reads >> f & 1;
    if (!w && !r) continue;
    conflict |= t->writer[f] && t->writer[f] != me;
    conflict |= w && t->reader[f] && t->reader[f] != me;
    if (w) t->writer[f] = t->writer[f] && t->writer[f] != me ? UINT16_MAX : me;
    if (r) t->reader[f] = t->reader[f] && t->reader[f] != me ? UINT16_MAX : me;
  }
  bool shown = hd__shadow_visible(hd__contention(object), 8);
  bool looks = !writes || object == NAMES; /* it makes a name, if there is none yet */
  if (conflict || (looks && !shown && hd__looks_again(HD_LOOK))) {
    hd__shadow_show(hd__contention(object), 8);
    shown = true;
  }
  return shown;
}

static bool changes_names(const struct call *c, long nr, const long *a) {
  const char *path = c->path >= 0 ? (const char *)a[c->path] : NULL;
  return c->what == OPEN ? (open_flags(nr, a) & O_CREAT) && !harmless_place(path) : c->what != LOOK;
}

/* Whether the call reads a descriptor, or a place where nothing changes. */
static bool asks_no_name(const struct call *c, const long *a) {
  const char *path = c->path >= 0 ? (const char *)a[c->path] : NULL;
  return c->what <= LOOK && path && (!path[0] || harmless_place(path));
}

/* Whether it matters which number the call gets. */
static bool takes_number(const struct call *c) { return c->what == OPEN && rt.nunjoined && hd__fds_lowest(); }

/* ---- FIFOs ---- */

/* Whether the call opens one side of a FIFO, and waits for the other. */
static bool opens_fifo(const struct call *c, long nr, const long *a, char *path) {
  struct stat st;
  long flags = c->what == OPEN ? open_flags(nr, a) : O_NONBLOCK;
  if ((flags & (O_NONBLOCK | O_PATH)) || (flags & O_ACCMODE) == O_RDWR || !path_of(c, false, a, path))
    return false;
  return hd_sys3(SYS_stat, path, &st, 0) == 0 && S_ISFIFO(st.st_mode);
}

static long open_side(const char *path, long flags) {
  return hd__fd_opened(hd_sys4(SYS_openat, AT_FDCWD, path, flags, 0), NULL);
}

/* First the own side is there, then the other one is waited for. A writer cannot be without a reader: it stands in with
 * both sides until there is one. */
static long open_fifo(const char *path, long flags, uint64_t pc) {
  bool writes = (flags & O_ACCMODE) == O_WRONLY;
  hd__io_world(HD_OP_IOCHANGE, 0, 0xffff, -1, pc);
  long fd = open_side(path, (writes ? (flags & ~O_ACCMODE) | O_RDWR : flags) | O_NONBLOCK);
  struct hd_desc *d = fd < 0 ? NULL : hd__fd(fd);
  if (d && !d->chan->came[writes]) d->chan->came[writes] = (uint32_t)rt.events + 1;
  hd__io_done(false);
  if (!d) return fd;
  hd__fifo_wait(fd, writes, pc);
  if (!writes) {
    hd_sys3(SYS_fcntl, fd, F_SETFL, flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC));
    return fd;
  }
  long side = hd_sys4(SYS_openat, AT_FDCWD, path, flags | O_NONBLOCK, 0);
  if (side < 0) return side;
  hd_sys3(SYS_fcntl, side, F_SETFL, flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC));
  hd_sys3(SYS_dup3, side, fd, flags & O_CLOEXEC); /* in place of what stood in */
  hd_sys3(SYS_close, side, 0, 0);
  return fd;
}

/* ---- what a name refers to ---- */

/* The open file at one of its paths, if there is one, or that of its descriptor. */
static struct hd_chan *file_at(const struct call *c, bool second, const long *a) {
  int dir = second ? c->dir2 : c->dir, path = second ? c->path2 : c->path;
  char name[HD_PATH_MAX];
  struct stat st;
  if (!rt.nunjoined || (path < 0 && (second || dir < 0))) return NULL;
  bool number = path < 0 || (dir >= 0 && !a[path]);
  if (number ? hd_sys3(SYS_fstat, a[dir], &st, 0) < 0
             : !path_of(c, second, a, name) || hd_sys3(SYS_stat, name, &st, 0) < 0)
    return NULL;
  return known(&st);
}

/* The facets of the file that the call reads and writes, besides its name. */
static void facets(const struct call *c, long nr, const long *a, uint16_t *reads, uint16_t *writes) {
  bool shortens = c->what == TRUNCATE || (c->what == OPEN && (open_flags(nr, a) & O_TRUNC));
  *reads = c->what == LOOK ? HD_FACET_CONTENTS | HD_FACET_STATUS : 0;
  *writes = shortens ? HD_FACET_CONTENTS : c->what == OPEN || c->what == LOOK ? 0 : HD_FACET_STATUS;
}

static bool contends_for_file(const struct call *c, long nr, const long *a) {
  uint16_t reads, writes;
  facets(c, nr, a, &reads, &writes);
  bool op = false;
  for (int second = 0; second < 2 && (reads || writes); second++) {
    struct hd_chan *file = file_at(c, second, a);
    op |= file && hd__file_contended(&file->touch, file->object, reads, writes);
  }
  return op;
}

static long number_of(const struct call *c, bool second, const long *a) {
  int dir = second ? c->dir2 : c->dir, path = second ? c->path2 : c->path;
  return rt.nunjoined && path >= 0 ? hd__proc_number(dir < 0 ? AT_FDCWD : a[dir], (const char *)a[path]) : -1;
}

/* Whether it is an operation on a number: that may be closed, or refer to something else. */
static bool uses_number(const struct call *c, bool second, const long *a) {
  long fd = number_of(c, second, a);
  if (fd < 0 || fd >= HD_FD_OWN) return false;
  struct hd_desc *d = hd__fd(fd);
  if (!d) hd__fd_stale();
  return hd__fd_used(fd, d, HD_USE_PLAIN) || hd__fds_lowest();
}

/* Whether it looks from a folder whose number may be closed, or refer to something else. */
static bool uses_folder(const struct call *c, bool second, const long *a) {
  if (!rt.nunjoined || !from_folder(c, second, a)) return false;
  long fd = (int)a[second ? c->dir2 : c->dir];
  struct hd_desc *d = hd__fd(fd);
  if (!d) hd__fd_stale();
  return hd__fd_used(fd, d, HD_USE_PLAIN) || hd__fds_lowest();
}

static bool uses_folders(const struct call *c, const long *a) {
  return uses_folder(c, false, a) | uses_folder(c, true, a);
}

static bool uses_numbers(const struct call *c, long nr, const long *a) {
  if (!rt.nunjoined) return false;
  if (hd__proc_lists_numbers(nr, a)) {
    hd__fd_stale();
    return hd__fds_lowest();
  }
  return uses_number(c, false, a) | uses_number(c, true, a);
}

/* Whether a name of the call means a number that is not open. */
static bool means_closed(const struct call *c, const long *a) {
  for (int second = 0; second < 2; second++) {
    long fd = number_of(c, second, a);
    if (fd >= 0 && !hd__fd(fd)) return true;
  }
  return false;
}

bool hd__names_is_op(long nr, const long *a) {
  static HD_EXEC struct hd_touch touched;
  char path[HD_PATH_MAX];
  const struct call *c = find(nr);
  if (c && c->what == OPEN && opens_fifo(c, nr, a, path)) return true;
  if (c && (takes_number(c) || (uses_numbers(c, nr, a) | uses_folders(c, a)))) return true;
  if (!c || asks_no_name(c, a)) return false;
  bool w = changes_names(c, nr, a);
  return hd__file_contended(&touched, NAMES, !w, w) | contends_for_file(c, nr, a);
}

bool hd__names_use(long nr, const long *a, bool *makes) {
  const struct call *c = find(nr);
  *makes = c && (c->what == MAKE || (c->what == OPEN && (open_flags(nr, a) & O_CREAT)));
  if (!c) return false;
  for (int second = 0; second < 2; second++) {
    int dir = second ? c->dir2 : c->dir, path = second ? c->path2 : c->path;
    const char *name = path < 0 ? NULL : (const char *)a[path];
    if (name && name[0] != '/' && (dir < 0 || (int)a[dir] == AT_FDCWD)) return true;
  }
  return false;
}

bool hd__names_serves(long nr) { return find(nr) != NULL; }

/* Whoever looks at a name comes after all that others have done before they changed one: a file that only one of them can
 * make, or link, is a lock. */
static void order_names(bool changes) {
  static HD_EXEC struct hd_vc vc;
  static HD_EXEC uint32_t epoch;
  if (!rt.nunjoined) return;
  if (epoch != rt.epoch) vc = (struct hd_vc){0};
  epoch = rt.epoch;
  hd__acquire(&vc);
  if (changes) hd__release(&vc);
}

long hd__names_serve(long nr, const long *a) {
  const struct call *c = find(nr);
  bool w = rt.nunjoined && changes_names(c, nr, a);
  long r = change(c, nr, a);
  order_names(w && r >= 0);
  return r;
}

long hd__names_call(long nr, const long *a, uint64_t pc) {
  const struct call *c = find(nr);
  char path[HD_PATH_MAX];
  if (opens_fifo(c, nr, a, path)) return open_fifo(path, open_flags(nr, a), pc);
  bool w = changes_names(c, nr, a), numbers = takes_number(c);
  struct hd_io o = {.object = NAMES, .reads = !w, .writes = w, .fd = -1, .timeout = HD_FOREVER, .pc = pc};
  uint16_t reads, writes;
  facets(c, nr, a, &reads, &writes);
  if ((reads || writes) && (file_at(c, false, a) || file_at(c, true, a))) {
    o.object = 0; /* the name and the file */
    o.reads |= reads;
    o.writes |= writes;
  }
  if (numbers || c->what == TRUNCATE || (c->what == OPEN && (open_flags(nr, a) & O_TRUNC))) {
    o.object = 0;
    o.writes = 0xffff;
  }
  if (number_of(c, false, a) >= 0 || number_of(c, true, a) >= 0 || hd__proc_lists_numbers(nr, a) ||
      uses_folders(c, a)) {
    o.object = 0;
    o.reads = 0xffff;
  }
  o.kind = o.writes ? HD_OP_IOCHANGE : HD_OP_IOLOOK;
  hd__io_point(&o);
  if (means_closed(c, a)) hd__fd_stale();
  long r = change(c, nr, a);
  if (r < 0) hd__io_nothing();
  order_names(w && r >= 0);
  hd__io_done(false);
  return r;
}
