/* check.c: a search from inside an ordinary process (hd_check). Runs in the test process.
 *
 * The process itself is never controlled. At the call it forks a child that becomes `heddle check`, whose child is a
 * copy of the process as it is then (the template). What is searched are copies of the template, which begin with the
 * body in the place of main; they are children of the supervisor (abi/attach.h). The test process waits and
 * reads what the supervisor has to say, so nothing the body does can harm it.
 *
 * A replay has to come to the same state in a process of its own. Therefore a program that uses hd_check runs with
 * everything that `heddle replay` gives it: it starts itself again without address randomisation and with an environment of
 * the same size, and standard output has a buffer that does not depend on where it goes. The results of earlier calls are
 * kept, and handed out again in a replay (check_calls.c). Nothing here allocates, or leaves a mapping behind. */
#include "runtime/core/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/attach.h"
#include "heddle.h"
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/modules.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/wrap.h"

#define OUT_BUFFER 4096
#define MAX_WORDS 64                /* of options.arguments */
#define SAVED_OUT (HD_CALLS_FD + 1) /* where output went before the call was reached; the next one: errors */

/* NO_CALLS: nothing in the program names hd_check. LATE: the runtime came when the process had long begun. */
static enum { NO_CALLS, LATE, FREE, REPLAY } way;
static char **first_argv, **first_envp; /* as the process was started */
static char first_folder[HD_PATH_MAX];

static void shut(int fd) { hd_sys3(SYS_close, fd, 0, 0); }

static unsigned count(char **words) {
  unsigned n = 0;
  while (words[n]) n++;
  return n;
}

/* Its value, or NULL. */
static const char *find_variable(char **envp, const char *name) {
  size_t n = hd__strlen(name);
  for (char **e = envp; e && *e; e++)
    if (hd__starts(*e, name) && (*e)[n] == '=') return *e + n + 1;
  return NULL;
}

/* ---- the beginning of the process ---- */

static bool is_check(const char *name, void *found) {
  return *(bool *)found = hd__streq(name, "hd_rt_check");
}

/* Starts the program again the way a replay will. Returns if that cannot be done: then replays may diverge. */
static void start_again(char **argv, char **envp) {
  char exe[HD_PATH_MAX];
  long n = hd_sys4(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1, 0);
  long old = hd_sys3(SYS_personality, 0xffffffff, 0, 0);
  if (n <= 0 || old < 0 || getauxval(AT_SECURE)) return;
  exe[n] = 0;
  if (!(old & ADDR_NO_RANDOMIZE) && hd_sys3(SYS_personality, old | ADDR_NO_RANDOMIZE, 0, 0) < 0) return;
  unsigned k = count(envp);
  char **out = __builtin_alloca((k + 4) * sizeof *out);
  hd__copy(out, envp, k * sizeof *out);
  out[k] = "LD_BIND_NOW=1";
  out[k + 1] = HD_SPIN_ENV "=" HD_SPIN_VALUE;
  out[k + 2] = HD_CTL_ENV "=" HD_CTL_FREE;
  out[k + 3] = NULL;
  hd_sys3(SYS_execve, exe, argv, out);
  hd_sys3(SYS_personality, old, 0, 0);
}

/* The descriptors of a search are above those that programs use (abi.h), and a replay has this limit too. */
static bool raise_file_limit(void) {
  struct rlimit limit;
  if (hd_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit)) return false;
  if (limit.rlim_cur >= HD_FILE_LIMIT) return true;
  limit.rlim_cur = HD_FILE_LIMIT;
  return limit.rlim_max >= HD_FILE_LIMIT && hd_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, 0) == 0;
}

static char **keep(char **words) {
  unsigned n = count(words) + 1;
  char **out = hd__map(n * sizeof *out);
  if (out) hd__copy(out, words, n * sizeof *out);
  return out;
}

/* In a replay, what the program prints before the call has been seen by whoever ran the test. */
static void hide_output(void) {
  long null = hd_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC, 0);
  for (int i = 0; i < 2 && null >= 0; i++) {
    hd_sys3(SYS_dup3, 1 + i, SAVED_OUT + i, O_CLOEXEC);
    hd_sys3(SYS_dup2, null, 1 + i, 0);
  }
  shut((int)null);
}

static void show_output(void) {
  for (int i = 0; i < 2; i++)
    if (hd_sys3(SYS_dup2, SAVED_OUT + i, 1 + i, 0) >= 0) shut(SAVED_OUT + i);
}

/* A library that is loaded later may use it, too: whoever runs the tests can say so. */
static bool announced(char **envp) { return find_variable(envp, HD_OPTIONS_ENV) != NULL; }

void hd__check_begin(const char *how, bool late, char **argv, char **envp) {
  bool uses = false;
  if (late) {
    way = LATE;
    return;
  }
  if (!how) {
    hd__each_needed_name(is_check, &uses);
    if (!uses && !announced(envp)) return;
    raise_file_limit();
    start_again(argv, envp);
  }
  way = how && hd__streq(how, HD_CTL_CALL) ? REPLAY : FREE;
}

void hd__check_start(char **argv, char **envp) {
  if (way < FREE) return;
  first_argv = keep(argv);
  first_envp = keep(envp);
  if (hd_sys3(SYS_getcwd, first_folder, sizeof first_folder, 0) <= 0) first_folder[0] = 0;
  hd__exit_register_last();
  /* Not the runtime's own memory: it is put back with the program's. */
  void *buffer = mmap(NULL, OUT_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer != MAP_FAILED) setvbuf(stdout, buffer, isatty(1) ? _IOLBF : _IOFBF, OUT_BUFFER);
  if (way == FREE)
    hd__calls_open();
  else
    hide_output();
}

/* ---- the body, under control ---- */

/* Calls f for each name in a folder of /proc that is a number. */
static void each_number(const char *folder, void (*f)(int number, void *arg), void *arg) {
  char buf[1024];
  long dir = hd_sys4(SYS_openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  for (long k; dir >= 0 && (k = hd_sys3(SYS_getdents64, dir, (long)buf, sizeof buf)) > 0;)
    for (long at = 0; at < k;) {
      const struct entry {
        uint64_t ino;
        int64_t off;
        uint16_t len;
        uint8_t type;
        char name[1];
      } *d = (void *)(buf + at);
      int number = 0;
      for (const char *c = d->name; *c >= '0' && *c <= '9'; c++) number = number * 10 + *c - '0';
      if (d->name[0] != '.' && number != dir) f(number, arg);
      at += d->len;
    }
  if (dir >= 0) shut((int)dir);
}

/* A copy of a file that has no name any more. */
static long copy_file(const char *name) {
  long fd = hd_sys4(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
  long to = hd_sys3(SYS_memfd_create, (long)"heddle-copy", MFD_CLOEXEC, 0);
  char buf[4096];
  long n;
  for (long at = 0; to >= 0 && (n = hd_sys4(SYS_pread64, fd, buf, sizeof buf, at)) > 0; at += n)
    hd_sys4(SYS_pwrite64, to, buf, n, at);
  if (fd >= 0) shut((int)fd);
  return to;
}

/* Where the test process is in a file, and what is in one without a name, is its own business. */
static void isolate_file(int fd, void *unused) {
  (void)unused;
  struct stat st;
  char name[64];
  if (fd < 3 || fd >= HD_CTL_FD || hd_sys3(SYS_fstat, fd, &st, 0) || !S_ISREG(st.st_mode)) return;
  long at = hd_sys3(SYS_lseek, fd, 0, SEEK_CUR), flags = hd_sys3(SYS_fcntl, fd, F_GETFL, 0);
  hd__format(name, sizeof name, "/proc/self/fd/%d", (int64_t)fd);
  long to = st.st_nlink ? hd_sys4(SYS_openat, AT_FDCWD, name, flags | O_CLOEXEC, 0) : copy_file(name);
  if (to < 0) return;
  hd_sys3(SYS_lseek, to, at, SEEK_SET);
  hd_sys3(SYS_dup3, to, fd, hd_sys3(SYS_fcntl, fd, F_GETFD, 0) & FD_CLOEXEC ? O_CLOEXEC : 0);
  shut((int)to);
}

/* What was called, and where the stack was. */
struct call {
  void (*body)(void *);
  void *arg;
  uint64_t frame;
};

/* Its stack begins at the same address in a copy of the template and in a replay, which come here from different depths,
 * both less than this. */
#define DEPTH 65536

_Noreturn static void run_controlled(const struct call *c) {
  shut(HD_CALLS_FD);
  each_number("/proc/self/fd", isolate_file, NULL);
  hd__drive_callback(c->body, c->arg, c->frame - DEPTH);
}

/* What comes from the supervisor must not come as one of these. */
static void fill_standard_descriptors(void) {
  int fd;
  do fd = (int)hd_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
  while (fd >= 0 && fd < 3);
  if (fd >= 0) shut(fd);
}

/* The template: copies itself as often as it is asked to. */
_Noreturn static void serve(int socket, const struct call *call) {
  fill_standard_descriptors();
  for (;;) {
    struct hd_copy_request request;
    struct hd_copy_answer answer;
    int fd[HD_COPY_FDS];
    union {
      struct cmsghdr header;
      char room[CMSG_SPACE(sizeof fd)];
    } control;
    struct iovec data = {&request, sizeof request};
    struct msghdr m = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long n = hd_sys3(SYS_recvmsg, socket, (long)&m, MSG_CMSG_CLOEXEC);
    if (n == -EINTR) continue;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (n != sizeof request || !c || c->cmsg_len != CMSG_LEN(sizeof fd)) hd__die(0);
    hd__copy(fd, CMSG_DATA(c), sizeof fd);
    long pid = hd_sys6(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0, 0);
    if (pid == 0) {
      static const int to[HD_COPY_FDS] = {HD_CTL_FD, HD_SEARCH_FD, 0, 1, 2};
      hd_sys6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
      if (request.own_group) hd_sys3(SYS_setpgid, 0, 0, 0);
      shut(socket);
      for (int i = 0; i < HD_COPY_FDS; i++)
        if (hd_sys3(SYS_dup2, fd[i], to[i], 0) < 0) hd__die(97);
      for (int i = 0; i < HD_COPY_FDS; i++) shut(fd[i]);
      run_controlled(call);
    }
    for (int i = 0; i < HD_COPY_FDS; i++) shut(fd[i]);
    answer.pid = (int32_t)pid;
    hd_sys3(SYS_write, socket, (long)&answer, sizeof answer);
  }
}

/* ---- the supervisor ---- */

/* `heddle` beside the runtime's own folder (session/paths.c), or what HEDDLE names. */
static bool find_supervisor(char *path, size_t cap) {
  static const char *const beside[] = {"/../../bin/heddle", "/../../heddle"};
  const char *named = find_variable(first_envp, "HEDDLE");
  if (named) {
    hd__format(path, cap, "%s", named);
    return hd_sys3(SYS_access, path, X_OK, 0) == 0;
  }
  Dl_info own;
  if (!dladdr((void *)find_supervisor, &own) || !own.dli_fname) return false;
  char folder[HD_PATH_MAX];
  size_t n = hd__format(folder, sizeof folder, "%s", own.dli_fname);
  while (n && folder[n - 1] != '/') n--;
  folder[n ? n - 1 : 0] = 0;
  for (unsigned i = 0; i < 2; i++) {
    hd__format(path, cap, "%s%s", n ? folder : ".", beside[i]);
    if (hd_sys3(SYS_access, path, X_OK, 0) == 0) return true;
  }
  return false;
}

/* The command line, in memory of its own. */
struct words {
  char *at[16 + MAX_WORDS];
  unsigned n;
  char text[8192];
  size_t used;
  bool full;
};

static void add(struct words *w, const char *word) {
  size_t left = sizeof w->text - w->used;
  if (w->n + 1 == sizeof w->at / sizeof *w->at || hd__strlen(word) >= left) {
    w->full = true;
    return;
  }
  w->at[w->n++] = w->text + w->used;
  w->used += hd__format(w->text + w->used, left, "%s", word) + 1;
}

/* What is between blanks, unless those are between apostrophes. */
static void add_words(struct words *w, const char *p) {
  while (p && *p) {
    char word[HD_PATH_MAX];
    size_t n = 0;
    bool quoted = false;
    while (*p == ' ') p++;
    const char *begin = p;
    for (; *p && (quoted || *p != ' '); p++)
      if (*p == '\'')
        quoted = !quoted;
      else if (n + 1 < sizeof word)
        word[n++] = *p;
      else
        w->full = true;
    word[n] = 0;
    if (p != begin) add(w, word);
  }
}

static void add_number(struct words *w, const char *option, uint64_t value) {
  char number[32];
  if (!value) return;
  add(w, option);
  hd__format(number, sizeof number, "%u", value);
  add(w, number);
}

static void add_options(struct words *w, const struct hd_check_options *o) {
  add(w, "heddle");
  add(w, "check");
  add(w, "--exit-status");
  if (!o) return;
  if (o->strategy) add(w, "--strategy"), add(w, o->strategy);
  if (o->seconds > 0) {
    uint64_t ms = (uint64_t)(o->seconds * 1000) + 1;
    char time[32];
    hd__format(time, sizeof time, "%u.%u%u%u", ms / 1000, ms / 100 % 10, ms / 10 % 10, ms % 10);
    add(w, "--time");
    add(w, time);
  }
  add_number(w, "--max-executions", o->executions);
  add_number(w, "--seed", o->seed);
  add_number(w, "-j", (uint64_t)o->jobs);
  if (o->all) add(w, "--all");
  add_words(w, o->arguments);
}

static void inherit(int fd) { hd_sys3(SYS_fcntl, fd, F_SETFD, 0); }

struct ends {
  int socket[2]; /* supervisor, template */
  int text[2];   /* what the supervisor prints: read, write */
  int result;
};

static long plain_fork(void) {
  static pid_t (*plain)(void);
  if (!plain) *(void **)&plain = dlsym(RTLD_DEFAULT, "_Fork"); /* no handlers of the program */
  return plain ? plain() : hd_sys6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
}

/* Becomes `heddle check` on the first program's command line. */
_Noreturn static void supervise(const struct ends *e, const char *heddle, struct words *w) {
  uint64_t none = 0;
  char attach[64];
  unsigned nargs = count(first_argv), nenv = count(first_envp);
  char **argv = __builtin_alloca((w->n + nargs + 2) * sizeof *argv);
  char **envp = __builtin_alloca((nenv + 2) * sizeof *envp);
  hd__copy(argv, w->at, w->n * sizeof *argv);
  argv[w->n] = "--";
  hd__copy(argv + w->n + 1, first_argv, (nargs + 1) * sizeof *argv);
  hd__format(attach, sizeof attach, HD_ATTACH_ENV "=%d %d %d", (int64_t)e->socket[0], (int64_t)e->result,
             (int64_t)HD_CALLS_FD);
  hd__copy(envp, first_envp, nenv * sizeof *envp);
  envp[nenv] = attach;
  envp[nenv + 1] = NULL;
  hd__signal_default(SIGCHLD); /* one who ignores it would never hear of the end of a process */
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
  hd_sys6(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0, 0); /* whoever ends the test ends the search */
  if (first_folder[0]) hd_sys3(SYS_chdir, first_folder, 0, 0);
  inherit(e->socket[0]);
  inherit(e->result);
  inherit(HD_CALLS_FD);
  int null = (int)hd_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
  if (null != 0) hd_sys3(SYS_dup2, null, 0, 0);
  hd_sys3(SYS_dup2, e->text[1], 1, 0);
  hd_sys3(SYS_dup2, e->text[1], 2, 0);
  hd_sys3(SYS_execve, heddle, argv, envp);
  hd__die(127);
}

static void read_text(int fd, struct hd_check_result *r) {
  static const char rest[] = "\n[...]\n";
  size_t n = 0, cap = sizeof r->message - 1;
  char more[512];
  bool cut = false;
  for (;;) {
    long k = n < cap ? hd_sys3(SYS_read, fd, (long)(r->message + n), (long)(cap - n))
                     : hd_sys3(SYS_read, fd, (long)more, sizeof more);
    if (k == -EINTR) continue;
    if (k <= 0) break;
    if (n < cap)
      n += (size_t)k;
    else
      cut = true;
  }
  r->message[n] = 0;
  if (cut) hd__copy(r->message + sizeof r->message - sizeof rest, rest, sizeof rest);
}

static void count_one(int number, void *n) {
  (void)number;
  ++*(unsigned *)n;
}

static void failed(struct hd_check_result *r, const char *why) {
  r->verdict = HD_CHECK_ERROR;
  hd__format(r->message, sizeof r->message, "hd_check: %s\n", why);
}

/* Off the standard descriptors, which the process may have closed. */
static bool lift(int *fd) {
  if (*fd > 2) return true;
  int higher = (int)hd_sys3(SYS_fcntl, *fd, F_DUPFD_CLOEXEC, 3);
  if (higher < 0) return false;
  shut(*fd);
  *fd = higher;
  return true;
}

static bool open_ends(struct ends *e) {
  *e = (struct ends){{-1, -1}, {-1, -1}, -1};
  return hd_sys4(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, e->socket) == 0 &&
         hd_sys3(SYS_pipe2, e->text, O_CLOEXEC, 0) == 0 &&
         (e->result = (int)hd_sys3(SYS_memfd_create, (long)"heddle-result", MFD_CLOEXEC, 0)) >= 0 &&
         lift(&e->socket[0]) && lift(&e->socket[1]) && lift(&e->text[0]) && lift(&e->text[1]) &&
         lift(&e->result);
}

static void close_ends(struct ends *e) {
  for (int i = 0; i < 2; i++) {
    if (e->socket[i] >= 0) shut(e->socket[i]);
    if (e->text[i] >= 0) shut(e->text[i]);
  }
  if (e->result >= 0) shut(e->result);
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Why the search cannot begin, or NULL: what to begin with is in `heddle` and `w` then. */
static const char *prepare(const struct hd_check_options *o, char heddle[HD_PATH_MAX], struct words *w) {
  unsigned threads = 0;
  each_number("/proc/self/task", count_one, &threads);
  if (threads > 1) /* a copy of this process would be without them */
    return "other threads are running, and would be missing in what is searched: join them first";
  if (!find_supervisor(heddle, HD_PATH_MAX))
    return "the program `heddle` is not where the runtime was installed: name it in the variable HEDDLE";
  if (!raise_file_limit())
    return "the limit of open files is below " TEXT(HD_FILE_LIMIT) "; raise it with ulimit -n";
  if (hd_sys3(SYS_fcntl, HD_CALLS_FD, F_GETFD, 0) < 0)
    return "the program has closed a descriptor above 1000, which is Heddle's: close only what was opened";
  add_options(w, o);
  add_words(w, find_variable(first_envp, HD_OPTIONS_ENV));
  for (unsigned i = 0; i < w->n; i++)
    if (hd__streq(w->at[i], "--")) return "`--` is no option: what would come after it is the program itself";
  return w->full ? "the options, with those of " HD_OPTIONS_ENV ", are too many or too long" : NULL;
}

static void search(const struct call *call, const struct hd_check_options *o, struct hd_check_result *r) {
  struct ends e;
  struct words w = {.n = 0};
  char heddle[HD_PATH_MAX];
  const char *why = prepare(o, heddle, &w);
  if (why) {
    failed(r, why);
    return;
  }
  if (!open_ends(&e)) {
    close_ends(&e);
    failed(r, "no more descriptors");
    return;
  }
  long pid = plain_fork();
  if (pid == 0) {
    long template = plain_fork();
    if (template == 0) {
      shut(e.socket[0]);
      shut(e.text[0]);
      shut(e.text[1]);
      shut(e.result);
      serve(e.socket[1], call);
    }
    shut(e.socket[1]);
    supervise(&e, heddle, &w);
  }
  if (pid > 0) {
    int status;
    shut(e.text[1]);
    e.text[1] = -1;
    read_text(e.text[0], r);
    while (hd_sys4(SYS_wait4, pid, &status, 0, 0) == -EINTR) {}
    /* All but the text; nothing if it could not even begin. */
    if (hd_sys4(SYS_pread64, e.result, r, offsetof(struct hd_check_result, message), 0) <= 0)
      r->verdict = HD_CHECK_ERROR;
  } else {
    failed(r, "fork failed: too many processes, or no memory");
  }
  close_ends(&e);
}

/* ---- the call ---- */

HD_EXPORT void hd_rt_check(void (*body)(void *), void *arg, const struct hd_check_options *o,
                           struct hd_check_result *r, size_t size) {
  uint64_t key = hd_mix64(hd_mix64(HD_CALLER) + hd_mix64((uint64_t)body) * 3 + (uint64_t)arg);
  struct call call = {body, arg, (uint64_t)__builtin_frame_address(0)};
  if (size != sizeof *r) hd__die(96); /* built with the header of another version */
  hd__zero(r, sizeof *r);
  if (hot.active || rt.ctl) {
    body(arg);
    r->executions = 1;
    return;
  }
  if (way < FREE) {
    failed(r,
           way == LATE
               ? "the program was not linked by heddle cc, only a library that it has loaded: link it so"
               : "it is called in a library that was loaded with dlopen, which could not be known when the "
                 "process began: set " HD_OPTIONS_ENV ", it may be empty");
    return;
  }
  real_fflush(NULL);
  if (way == REPLAY) {
    if (hd__calls_recall(key, r)) return;
    show_output();
    run_controlled(&call);
  }
  hd__calls_begin(key);
  search(&call, o, r);
  hd__calls_record(key, r);
}
