/* check.c: a search from inside an ordinary process: hd_check. Runs in the test process.
 *
 * The process itself is never controlled. At the call it forks a child that becomes `heddle check`, and that child's
 * own child is a copy of the process as it is then, the template. The search runs in copies of the template, which
 * execute the body in place of main (check_copy.c); they are children of the supervisor (abi/attach.h). The test
 * process waits and reads the supervisor's output, so nothing that the body does can harm it.
 *
 * The results of earlier calls are kept, and returned again in a replay (check_calls.c). check_start.c makes a replay
 * reach the same state. Nothing here allocates, or leaves a mapping behind. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/attach.h"
#include "heddle.h"
#include "runtime/core/check.h"
#include "runtime/core/core.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/wrap.h"

#define MAX_WORDS 64 /* of options.arguments */

static void shut(int fd) { hd_sys3(SYS_close, fd, 0, 0); }

/* ---- the supervisor ---- */

/* Finds `heddle` beside the runtime's own folder, or where the variable HEDDLE says. */
static bool find_supervisor(char *path, size_t cap) {
  static const char *const beside[] = {"/../../bin/heddle", "/../../heddle"};
  const char *named = hd__variable(hd__process.envp, "HEDDLE");
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

/* A command line under construction. */
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

/* Splits p at blanks that are not between apostrophes. */
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
  if (!plain) *(void **)&plain = dlsym(RTLD_DEFAULT, "_Fork"); /* does not run the program's fork handlers */
  return plain ? plain() : hd_sys6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
}

/* Becomes `heddle check` on this process's own command line. */
_Noreturn static void supervise(const struct ends *e, const char *heddle, struct words *w) {
  uint64_t none = 0;
  char attach[64];
  unsigned nargs = hd__count_words(hd__process.argv), nenv = hd__count_words(hd__process.envp);
  char **argv = __builtin_alloca((w->n + nargs + 2) * sizeof *argv);
  char **envp = __builtin_alloca((nenv + 2) * sizeof *envp);
  hd__copy(argv, w->at, w->n * sizeof *argv);
  argv[w->n] = "--";
  hd__copy(argv + w->n + 1, hd__process.argv, (nargs + 1) * sizeof *argv);
  hd__format(attach, sizeof attach, HD_ATTACH_ENV "=%d %d %d", (int64_t)e->socket[0], (int64_t)e->result,
             (int64_t)HD_CALLS_FD);
  hd__copy(envp, hd__process.envp, nenv * sizeof *envp);
  envp[nenv] = attach;
  envp[nenv + 1] = NULL;
  hd__signal_default(SIGCHLD); /* a supervisor that ignores it would not notice the end of a process */
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
  hd_sys6(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0, 0); /* ending the test ends the search */
  if (hd__process.folder[0]) hd_sys3(SYS_chdir, hd__process.folder, 0, 0);
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

/* Moves *fd above the standard descriptors, which the process may have closed. */
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

/* Finds the supervisor and its command line. Returns NULL, or why the search cannot start. */
static const char *prepare(const struct hd_check_options *o, char heddle[HD_PATH_MAX], struct words *w) {
  unsigned threads = 0;
  hd__each_number("/proc/self/task", count_one, &threads);
  if (threads > 1) /* a copy of this process does not have them */
    return "other threads are running; the search could not control them: join them first";
  if (!find_supervisor(heddle, HD_PATH_MAX))
    return "cannot find `heddle` beside the runtime: set the variable HEDDLE to its path";
  if (!hd__raise_file_limit())
    return "the limit of open files is below " TEXT(HD_FILE_LIMIT) "; raise it with ulimit -n";
  if (hd_sys3(SYS_fcntl, HD_CALLS_FD, F_GETFD, 0) < 0)
    return "the program has closed a descriptor of Heddle's (above 1000): close only descriptors that you opened";
  add_options(w, o);
  add_words(w, hd__variable(hd__process.envp, HD_OPTIONS_ENV));
  for (unsigned i = 0; i < w->n; i++)
    if (hd__streq(w->at[i], "--")) return "`--` is not an option here: the program is this one";
  return w->full ? "too many or too long options (including those of " HD_OPTIONS_ENV ")" : NULL;
}

static void search(const struct hd_body *body, const struct hd_check_options *o, struct hd_check_result *r) {
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
    failed(r, "out of descriptors");
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
      hd__serve_copies(e.socket[1], body);
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
    /* Everything but the text; empty if the search could not start. */
    if (hd_sys4(SYS_pread64, e.result, r, offsetof(struct hd_check_result, message), 0) <= 0)
      r->verdict = HD_CHECK_ERROR;
  } else {
    failed(r, "fork failed: too many processes, or no memory");
  }
  close_ends(&e);
}

/* ---- the call ---- */

HD_EXPORT void hd_rt_check(void (*fn)(void *), void *arg, const struct hd_check_options *o,
                           struct hd_check_result *r, size_t size) {
  uint64_t key = hd_mix64(hd_mix64(HD_CALLER) + hd_mix64((uint64_t)fn) * 3 + (uint64_t)arg);
  struct hd_body body = {fn, arg, (uint64_t)__builtin_frame_address(0)};
  if (size != sizeof *r) hd__die(96); /* built with the header of another version */
  hd__zero(r, sizeof *r);
  if (hot.active || rt.ctl) {
    fn(arg);
    r->executions = 1;
    return;
  }
  if (hd__process.way < HD_WAY_FREE) {
    failed(
        r,
        hd__process.way == HD_WAY_LATE
            ? "the program was not linked by heddle cc, only a library that it loads: link the program with it too"
            : "the call is in a library that was loaded with dlopen, for which the process is not prepared: set " HD_OPTIONS_ENV
              " (it may be empty) before the process starts");
    return;
  }
  real_fflush(NULL);
  if (hd__process.way == HD_WAY_REPLAY) {
    if (hd__calls_recall(key, r)) return;
    hd__show_output();
    hd__run_body(&body);
  }
  hd__calls_begin(key);
  search(&body, o, r);
  hd__calls_record(key, r);
}
