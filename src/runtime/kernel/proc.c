/* proc.c: what /proc tells about the threads of the program. Runs in the tested process.
 *
 * To the kernel the process consists of one running thread and of those that lend their identities (core/ident.c). The
 * program sees its own threads instead: in the list /proc/self/task, in the number of links of that directory, and in the
 * files stat and status. Who looks there depends on who creates threads and who ends (HD_STATE_THREADS). The lists of
 * descriptors, /proc/self/fd and fdinfo, are without those of the runtime.
 *
 * Names have been translated before (pids.c): the program's process is "self", or has the kernel's number. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/state.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

/* ---- the threads ---- */

/* Calls f with the number of each thread in the list. A thread that is being created is there too; where
 * it has no number yet, it gets the next. */
static unsigned each_task(void (*f)(long tid, void *arg), void *arg) {
  unsigned n = 0, next = rt.nthreads;
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct hd_thread *t = &rt.thread[i];
    if (!t->list.left && (i == 0 || t->state != HD_T_DONE) && ++n && f) f(hd__tid(t), arg);
    if (t->list.adds && t != rt.cur && ++n && f)
      f(hd__tid(&rt.thread[0]) + (t->list.adds < HD_MAX_THREADS ? t->list.adds : next++), arg);
  }
  return n;
}

/* ---- names ---- */

enum { OTHER, TASKS, DESCRIPTORS, STAT, STATUS };

/* Appends the parts of a name to `out`, which has n characters already: empty ones and "." are left out, ".." drops one.
 * Returns the new length, 0 when there is no room. */
static size_t add_parts(char out[HD_PID_NAME], size_t n, const char *s) {
  for (size_t k; *s; s += k) {
    for (k = 0; s[k] && s[k] != '/'; k++) {}
    bool up = k == 2 && s[0] == '.' && s[1] == '.';
    if (up)
      while (n && out[--n] != '/') {}
    if (k && !up && !(k == 1 && *s == '.')) {
      if (n + k + 2 > HD_PID_NAME) return 0;
      out[n++] = '/';
      hd__copy(out + n, s, k);
      n += k;
    }
    k += s[k] == '/';
  }
  out[n] = 0;
  return n;
}

static bool is_special(const char *path) { return hd__starts(path, "/proc") || hd__starts(path, "/dev"); }

/* Whether a name may mean something here wherever it begins: most do not, and need not be resolved. */
static bool may_be_special(const char *path) {
  static const char *const last[] = {"task", "fd",    "fdinfo", "stat",  "status",
                                     "mem",  "stdin", "stdout", "stderr"};
  const char *part = path;
  for (const char *s = path; *s; s++) {
    if (*s >= '0' && *s <= '9' && s == part) { /* a number by itself */
      while (s[1] >= '0' && s[1] <= '9') s++;
      if (s[1] == '/' || !s[1]) return true;
    }
    if (*s == '/') part = s + 1;
  }
  for (unsigned i = 0; i < sizeof last / sizeof *last; i++)
    if (hd__streq(part, last[i])) return true;
  return !*part && part > path; /* "task/" */
}

bool hd__proc_name(long dir, const char *path, char out[HD_PID_NAME]) {
  char link[40];
  long n = 0;
  if (!path || (*path != '/' && !may_be_special(path))) return false;
  if (*path != '/') {
    if ((int)dir == AT_FDCWD)
      hd__format(link, sizeof link, "/proc/self/cwd");
    else
      hd__format(link, sizeof link, "/proc/self/fd/%d", (int64_t)(int)dir);
    n = hd_sys3(SYS_readlink, link, out, HD_PID_NAME - 1);
    if (n <= 0 || n >= HD_PID_NAME - 1) return false;
    out[n] = 0;
    if (!is_special(out)) return false;
  }
  return add_parts(out, (size_t)n, path) && is_special(out);
}

/* What the name below a folder of a process is. */
static unsigned kind_of(const char *s) {
  if (hd__streq(s, "task")) return TASKS;
  if (hd__streq(s, "fd") || hd__streq(s, "fdinfo")) return DESCRIPTORS;
  return hd__streq(s, "stat") ? STAT : hd__streq(s, "status") ? STATUS : OTHER;
}

static const char *after_number(const char *s) {
  while (*s >= '0' && *s <= '9') s++;
  return *s == '/' ? s + 1 : NULL;
}

/* What follows the folder of this process, or of one of its threads; NULL: it is another name. */
static const char *below_process(const char *path) {
  if (!path || !hd__starts(path, "/proc/")) return NULL;
  const char *s = path + 6;
  if (hd__starts(s, "self/")) {
    s += 5;
  } else if (hd__starts(s, "thread-self/")) {
    s += 12;
  } else {
    char own[24];
    hd__format(own, sizeof own, "%d/", (int64_t)hd_sys3(SYS_getpid, 0, 0, 0));
    if (!hd__starts(s, own)) return NULL;
    s = after_number(s);
  }
  if (!hd__starts(s, "task/") || !s[5]) return s;
  s = after_number(s + 5);
  return s && !hd__starts(s, "task") ? s : NULL;
}

static unsigned kind_of_path(long dir, const char *name) {
  char path[HD_PID_NAME];
  const char *s = hd__proc_name(dir, name, path) ? below_process(path) : NULL;
  return s ? kind_of(s) : OTHER;
}

long hd__proc_number(long dir, const char *name) {
  static const char *const standard[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  char path[HD_PID_NAME];
  if (!hd__proc_name(dir, name, path)) return -1;
  for (unsigned i = 0; i < 3; i++)
    if (hd__streq(path, standard[i])) return i;
  const char *s = hd__starts(path, "/dev/") ? path + 5 : below_process(path);
  if (!s || (!hd__starts(s, "fd/") && !hd__starts(s, "fdinfo/"))) return -1;
  while (*s++ != '/') {}
  if (*s < '0' || *s > '9') return -1;
  long n = 0;
  while (*s >= '0' && *s <= '9' && n < HD_FDS) n = n * 10 + *s++ - '0';
  return *s && *s != '/' ? -1 : n;
}

static unsigned kind_of_fd(long fd) {
  char link[40], path[40];
  hd__format(link, sizeof link, "/proc/self/fd/%d", (int64_t)fd);
  long n = hd_sys3(SYS_readlink, link, path, sizeof path - 1);
  if (n <= 0) return OTHER;
  path[n] = 0;
  const char *s = below_process(path);
  return s ? kind_of(s) : OTHER;
}

/* What a call asks about by a name, or a descriptor. */
static unsigned asks_about(long nr, const long *a) {
  switch (nr) {
    case SYS_stat:
    case SYS_lstat: return kind_of_path(AT_FDCWD, (const char *)a[0]);
    case SYS_fstat:
    case SYS_getdents64: return kind_of_fd(a[0]);
    case SYS_newfstatat:
    case SYS_statx: {
      const char *name = (const char *)a[1];
      return name && *name ? kind_of_path(a[0], name) : kind_of_fd(a[0]);
    }
    default: return OTHER;
  }
}

bool hd__proc_shows_threads(long nr, const long *a) {
  if (nr == SYS_open) return kind_of_path(AT_FDCWD, (const char *)a[0]) >= STAT;
  if (nr == SYS_openat) return kind_of_path(a[0], (const char *)a[1]) >= STAT;
  return asks_about(nr, a) == TASKS;
}

bool hd__proc_lists_numbers(long nr, const long *a) {
  return nr == SYS_getdents64 && kind_of_fd(a[0]) == DESCRIPTORS;
}

/* ---- lists ---- */

#define MOVED (1l << 30) /* positions from here on are those of the program's list */

struct filling {
  char *to;
  long room, used, from, at; /* from: the first entry that is asked for; at: of the next */
};

struct entry {
  uint64_t ino;
  int64_t next;
  uint16_t size;
  uint8_t type;
  char name[13];
};

static void add_entry(struct filling *f, const char *name) {
  struct entry e = {.ino = (uint64_t)f->at + 1, .next = MOVED + f->at + 1, .size = sizeof e, .type = DT_DIR};
  if (f->at++ < f->from) return;
  if (f->used + (long)sizeof e > f->room) {
    f->room = 0;
    f->at--; /* and so are all others left for the next call */
    return;
  }
  hd__format(e.name, sizeof e.name, "%s", name);
  hd__copy(f->to + f->used, &e, sizeof e);
  f->used += (long)sizeof e;
}

static void add_task(long tid, void *arg) {
  char name[13];
  hd__format(name, sizeof name, "%d", (int64_t)tid);
  add_entry(arg, name);
}

static long number_of(const char *s) {
  long v = 0;
  while (*s >= '0' && *s <= '9') v = v * 10 + (*s++ - '0');
  return v;
}

/* Drops the runtime's own from the entries that the kernel has given. */
static long list_descriptors(const long *a, long r) {
  for (; r > 0; r = hd_sys3(SYS_getdents64, a[0], a[1], a[2])) {
    char *p = (char *)a[1];
    long left = 0;
    for (long at = 0, n; at < r; at += n) {
      const struct entry *e = (const struct entry *)(p + at);
      n = e->size;
      if (n <= 0) break;
      if (hd__fd_hidden(number_of(e->name))) continue;
      for (long i = 0; i < n; i++) p[left++] = p[at + i]; /* forwards: they may overlap */
    }
    if (left) return left;
  }
  return r;
}

long hd__proc_list(const long *a, long r) {
  unsigned kind = r < 0 || rt.child ? OTHER : kind_of_fd(a[0]);
  if (kind == DESCRIPTORS) return list_descriptors(a, r);
  if (kind != TASKS) return r;
  long at = r ? 0 : hd_sys3(SYS_lseek, a[0], 0, SEEK_CUR) - MOVED;
  if (at < 0) return 0;
  hd__snapshot_touch((uint64_t)a[1], (uint64_t)a[2]);
  struct filling f = {.to = (char *)a[1], .room = a[2], .from = at};
  add_entry(&f, ".");
  add_entry(&f, "..");
  each_task(add_task, &f);
  hd_sys3(SYS_lseek, a[0], MOVED + f.at, SEEK_SET);
  return f.used;
}

void hd__proc_status(long nr, const long *a, long r) {
  if (r || rt.child) return;
  struct statx *x = nr == SYS_statx ? (struct statx *)a[4] : NULL;
  struct stat *s = x ? NULL : (struct stat *)a[nr == SYS_newfstatat ? 2 : 1];
  if (!S_ISDIR(x ? x->stx_mode : s->st_mode) || asks_about(nr, a) != TASKS) return;
  unsigned links = 2 + each_task(NULL, NULL);
  if (x)
    x->stx_nlink = links;
  else
    s->st_nlink = links;
}

/* ---- stat and status ---- */

struct text {
  char s[8192];
  size_t n;
};

static void add_text(struct text *t, const char *s, size_t n) {
  if (n > sizeof t->s - t->n) n = sizeof t->s - t->n;
  hd__copy(t->s + t->n, s, n);
  t->n += n;
}

static void add_number(struct text *t, long v) {
  char s[24];
  add_text(t, s, hd__format(s, sizeof s, "%d", (int64_t)v));
}

static size_t until(const char *s, char c) {
  size_t n = 0;
  while (s[n] && s[n] != c) n++;
  return n;
}

/* Whose file it is: a thread's that was named, or the process's, which has the number of its first thread. */
static long whose(void) { return rt.cur->sys.named ? (long)rt.cur->sys.named : hd__pid(); }

/* "Name:\tvalue\n" */
static void convert_status(const char *s, struct text *t, unsigned threads) {
  while (*s) {
    size_t n = until(s, '\n') + 1, key = until(s, '\t') + 1;
    long value = hd__starts(s, "Threads:") ? (long)threads
                 : hd__starts(s, "Pid:")   ? whose()
                 : hd__starts(s, "Tgid:")  ? hd__pid()
                 : hd__starts(s, "PPid:")  ? hd__ppid()
                                           : -1;
    if (value >= 0 && key < n) {
      add_text(t, s, key);
      add_number(t, value);
      add_text(t, "\n", 1);
    } else {
      add_text(t, s, n - !s[n - 1]);
    }
    s += n - !s[n - 1];
  }
}

/* "number (name) state parent ...": the name may contain anything. */
static void convert_stat(const char *s, struct text *t, unsigned threads) {
  size_t name = 0;
  for (size_t i = 0; s[i]; i++)
    if (s[i] == ')') name = i;
  add_number(t, whose());
  for (size_t i = until(s, ' '); i <= name; i++) add_text(t, s + i, 1);
  s += name + 1;
  for (unsigned field = 3; *s == ' '; field++) {
    size_t n = until(++s, ' ');
    add_text(t, " ", 1);
    if (field == 4)
      add_number(t, hd__ppid());
    else if (field == 5 || field == 6)
      add_number(t, hd__pids_to_program(number_of(s)));
    else if (field == 20)
      add_number(t, threads);
    else
      add_text(t, s, n);
    s += n;
  }
}

void hd__proc_opened(long nr, const long *a, long fd) {
  static struct text from, to;
  char path[HD_PID_NAME];
  if (!hd__proc_name(nr == SYS_open ? AT_FDCWD : a[0], (const char *)a[nr != SYS_open], path)) return;
  size_t length = hd__strlen(path);
  const char *s = below_process(path);
  /* Whoever writes to it, or reads it, accesses memory unseen. */
  if (hd__starts(path, "/proc/") && length > 4 && hd__streq(path + length - 4, "/mem"))
    hd__inexact(HD_INEXACT_ALIAS, rt.cur->op.pc);
  /* It shows the offset and the flags as they are when it is read. */
  if (s && hd__starts(s, "fdinfo/") && rt.nunjoined)
    hd__inexact(HD_INEXACT_SYSCALL, hd__innermost() | (uint64_t)nr << HD_INEXACT_DETAIL);
  unsigned kind = s ? kind_of(s) : OTHER;
  if (kind < STAT) return;
  from.n = to.n = 0;
  for (long n; from.n < sizeof from.s - 1 &&
               (n = hd_sys3(SYS_read, fd, from.s + from.n, sizeof from.s - 1 - from.n)) > 0;)
    from.n += (size_t)n;
  from.s[from.n] = 0;
  (kind == STAT ? convert_stat : convert_status)(from.s, &to, each_task(NULL, NULL));
  long file = hd_sys3(SYS_memfd_create, kind == STAT ? "stat" : "status", MFD_CLOEXEC, 0);
  if (file < 0) return;
  hd_sys3(SYS_write, file, to.s, to.n);
  hd_sys3(SYS_lseek, file, 0, SEEK_SET);
  long flags = hd_sys3(SYS_fcntl, fd, F_GETFD, 0);
  hd_sys3(SYS_dup3, file, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
  hd_sys3(SYS_close, file, 0, 0);
}
