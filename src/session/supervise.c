/* supervise.c: starts tested processes and watches them until they have ended. Runs in the supervisor.
 *
 * Rules: no busy waiting (a pidfd and poll, ten ticks a second); every process ends: a stop is requested first
 * (ctl->supervisor_stop), and a process that does not stop is killed.
 *
 * The watchdog: when none of heartbeat, events and executions has changed for the hang timeout, it sends the runtime
 * HD_SIG_HANG, so that it can record its location; if still nothing changes, SIGKILL. Time for which a process is ready
 * to run and gets no processor does not count, so that the machine's load makes no hang. */
#include "session/session_int.h"

#include "abi/attach.h"
#include "abi/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 100
#define TICK_WITHOUT_PIDFD_MS 10
#define FORK_EXIT 98   /* see ctl->fork_status */
#define AGAIN_EXIT 94  /* see ctl->again */
#define FORKS 3        /* generations of processes whose time is measured */
#define GRACE 2.0      /* seconds between the request and the kill, */
#define GRACE_LATE 1.0 /* or when its time is over */
#define PATIENCE 60    /* seconds from an interrupt to the end of this process, whatever it does then, */
#define INSISTENCE 4   /* or so many interrupts */

static volatile sig_atomic_t interrupts;

/* What is under way looks at the count and ends in order. What does not, because it never ends, say, is ended. */
static void on_interrupt(int sig) {
  if (++interrupts == 1) alarm(PATIENCE);
  if (interrupts < INSISTENCE) return;
  signal(sig, SIG_DFL);
  raise(sig);
}

void hd_interrupt_catch(void) {
  struct sigaction sa = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &sa, NULL);
  sigaction(SIGTERM, &sa, NULL);
  struct sigaction before;
  sigaction(SIGHUP, NULL, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &sa, NULL); /* else: nohup */
  signal(SIGPIPE, SIG_IGN);
}

void hd_interrupt_release(void) {
  struct sigaction before;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  sigaction(SIGHUP, NULL, &before);
  if (before.sa_handler != SIG_IGN) signal(SIGHUP, SIG_DFL);
}

int hd_interrupts(void) { return interrupts; }

/* Time is over for all processes at once, as it is when a user interrupts. */
static double last; /* 0: no limit */

double hd_time_begin(double at) {
  double before = last;
  if (at > 0 && (last <= 0 || at < last)) last = at;
  return before;
}

void hd_time_end(double before) { last = before; }

double hd_time_left(void) { return last > 0 ? last - hd_now() : INFINITY; }

/* ---- starting ---- */

/* Why the program could not be started. */
struct start_error {
  int error;
  const char *step; /* NULL: it could */
};

/* The environment, with the runtime's variables appended; the strings are not copied. LD_BIND_NOW avoids binding
 * functions again in every execution. The runtime removes all of these variables. */
static char **child_environment(const struct hd_command *cmd) {
  char **envp = cmd->envp;
  size_t n = 0;
  while (envp[n]) n++;
  char **out = hd_alloc((n + 4) * sizeof *out);
  memcpy(out, envp, n * sizeof *out);
  static char control[64];
  if (cmd->calls)
    snprintf(control, sizeof control, "%s=%s", HD_CTL_ENV, HD_CTL_CALL);
  else
    snprintf(control, sizeof control, "%s=%d", HD_CTL_ENV, HD_CTL_FD);
  out[n] = "LD_BIND_NOW=1";
  out[n + 1] = HD_SPIN_ENV "=" HD_SPIN_VALUE;
  out[n + 2] = control;
  return out;
}

void hd_raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= HD_FILE_LIMIT) return;
  limit.rlim_cur = HD_FILE_LIMIT;
  if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/* Becomes the program. Returns the step that failed, with errno. */
static const char *become(const struct hd_command *cmd, char **envp, const struct hd_control *control,
                          const struct hd_streams *s) {
  hd_raise_file_limit();
  if (chdir(cmd->cwd)) return "chdir";
  if (dup2(s->in, 0) < 0 || dup2(s->out, 1) < 0 || dup2(s->err, 2) < 0) return "dup2";
  if (dup2(control->fd, HD_CTL_FD) < 0 || dup2(control->search_fd, HD_SEARCH_FD) < 0)
    return "descriptor 1000";
  int calls = cmd->calls ? open(cmd->calls, O_RDONLY | O_CLOEXEC) : -1;
  if (cmd->calls && (calls < 0 || dup2(calls, HD_CALLS_FD) < 0)) return "calls";
  signal(SIGPIPE, SIG_DFL);
  execve(cmd->program.path, cmd->argv, envp);
  return "execve";
}

/* Runs in the memory of the supervisor, which waits until the program has taken over. */
static _Noreturn void child(const struct hd_command *cmd, char **envp, const struct hd_control *control,
                            const struct hd_streams *s, const sigset_t *mask, struct start_error *e) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  hd_interrupt_release(); /* the supervisor's handlers would count for it */
  sigprocmask(SIG_SETMASK, mask, NULL);
  if (s->own_group) setpgid(0, 0);
  e->step = become(cmd, envp, control, s);
  e->error = errno;
  _exit(127);
}

/* Copying the supervisor's memory for a moment would cost more than the start itself, hence vfork. */
static pid_t spawn(const struct hd_command *cmd, char **envp, const struct hd_control *control,
                   const struct hd_streams *s, struct start_error *e) {
  sigset_t all, mask;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &mask);
  pid_t pid = vfork();
  if (pid == 0) child(cmd, envp, control, s, &mask, e);
  int saved = errno;
  sigprocmask(SIG_SETMASK, &mask, NULL);
  errno = saved;
  return pid;
}

static int start_failed(const struct hd_command *cmd, const struct start_error *e, struct hd_err *err) {
  if (strcmp(e->step, "descriptor 1000") == 0)
    return hd_fail(err, HD_EENV, "the limit of open files is below %d; raise it with ulimit -n",
                   HD_FILE_LIMIT);
  if (strcmp(e->step, "chdir") == 0)
    return hd_fail(err, HD_EENV, "cannot enter the folder %s: %s", cmd->cwd, strerror(e->error));
  return hd_fail(err, HD_EENV, "cannot start %s: %s: %s", cmd->program.path, e->step, strerror(e->error));
}

/* Address randomisation is inherited over exec, so the supervisor itself need not change. */
static void warn_about_randomisation(void) {
  static bool warned;
  if (!warned)
    hd_warn("address randomisation cannot be turned off here (%s); replays may diverge", strerror(errno));
  warned = true;
}

int hd_exec(const struct hd_command *cmd, const struct hd_control *control, const struct hd_streams *s,
            struct hd_err *err) {
  hd_symbolizer_forget();
  int old = personality(0xffffffff);
  if (old == -1 || (!(old & ADDR_NO_RANDOMIZE) && personality((unsigned)old | ADDR_NO_RANDOMIZE) == -1))
    warn_about_randomisation();
  char **envp = child_environment(cmd);
  struct start_error e = {.step = become(cmd, envp, control, s)};
  e.error = errno;
  free(envp);
  return start_failed(cmd, &e, err);
}

/* For tests of what is promised of other address layouts: a process gets another one whenever it starts. */
static bool keeps_randomisation(void) { return getenv("HEDDLE_TEST_RANDOMISE") != NULL; }

static int start(const struct hd_command *cmd, const struct hd_control *control, struct hd_streams *s,
                 pid_t *pid, struct hd_err *err) {
  hd_symbolizer_forget();
  if (cmd->template) {
    int rc = hd__attach_start(cmd, control, s, pid, err);
    if (rc == HD_OK && s->own_group) setpgid(*pid, *pid);
    hd_streams_child_started(s);
    return rc;
  }
  char **envp = child_environment(cmd);
  /* Set here and restored afterwards, so that a failure is reported once. */
  int old = personality(0xffffffff);
  bool keep = keeps_randomisation();
  bool fixed = old != -1 && !keep &&
               ((old & ADDR_NO_RANDOMIZE) || personality((unsigned)old | ADDR_NO_RANDOMIZE) != -1);
  if (!fixed && !keep) warn_about_randomisation();
  struct start_error e = {0};
  *pid = spawn(cmd, envp, control, s, &e);
  int saved = errno;
  if (fixed) personality((unsigned)old);
  free(envp);
  if (*pid < 0) return hd_fail(err, HD_EENV, "cannot start a process: %s", strerror(saved));
  if (s->own_group) setpgid(*pid, *pid); /* in parent and child, since either may run first */
  hd_streams_child_started(s);
  if (!e.step) return HD_OK;
  waitpid(*pid, NULL, 0);
  return start_failed(cmd, &e, err);
}

/* ---- watching ---- */

static struct hd_activity progress_of(const struct hd_status *st) {
  return (struct hd_activity){
      __atomic_load_n(&st->heartbeat, __ATOMIC_RELAXED),
      __atomic_load_n(&st->events, __ATOMIC_RELAXED),
      __atomic_load_n(&st->executions, __ATOMIC_RELAXED) + __atomic_load_n(&st->infeasible, __ATOMIC_RELAXED),
      __atomic_load_n(&st->nfindings, __ATOMIC_RELAXED),
      __atomic_load_n(&st->path_len, __ATOMIC_RELAXED),
      __atomic_load_n(&st->upkeep, __ATOMIC_RELAXED),
  };
}

static void kill_process(struct hd_process *w, enum hd_process_end why) {
  if (w->killed) return;
  w->killed = true;
  w->killed_as = why;
  kill(w->group ? -w->pid : w->pid, SIGKILL);
}

/* The alarm goes to the whole group: in fork mode the execution is a child of the process started. */
static void sound_alarm(struct hd_process *w, double now) {
  w->alarmed = true;
  w->changed_at = now;
  kill(w->group ? -w->pid : w->pid, HD_SIG_HANG);
}

/* The nanoseconds for which a process and its children have waited for a processor so far. */
static uint64_t starved(pid_t pid, unsigned depth) {
  char path[64];
  unsigned long long ran, waited = 0;
  snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
  FILE *f = fopen(path, "re");
  if (f && fscanf(f, "%llu %llu", &ran, &waited) != 2) waited = 0;
  if (f) fclose(f);
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
  f = depth ? fopen(path, "re") : NULL;
  for (int child; f && fscanf(f, "%d", &child) == 1;) waited += starved(child, depth - 1);
  if (f) fclose(f);
  return waited;
}

/* The number falls when a child ends. What was waited for before the time under way only makes that longer, once. */
static void excuse_load(struct hd_process *w, double now) {
  uint64_t waited = starved(w->pid, FORKS);
  double seconds = waited > w->starved ? (double)(waited - w->starved) * 1e-9 : 0;
  w->starved = waited;
  w->changed_at = fmin(w->changed_at + seconds, now);
  w->stepped_at = fmin(w->stepped_at + seconds, now);
}

static bool is_stale(const struct hd_process *w, const struct hd_watch *watch, double now) {
  return watch->step_timeout > 0 && now - w->stepped_at > watch->step_timeout;
}

static bool is_late(const struct hd_process *w, const struct hd_watch *watch, double now) {
  if (w->alarmed) return now - w->changed_at > GRACE;
  return is_stale(w, watch, now) || now - w->changed_at > watch->hang_timeout;
}

static void check_progress(struct hd_process *w, const struct hd_watch *watch, double now) {
  struct hd_activity p = progress_of(&w->control->ctl->status);
  if (p.path_len != w->last.path_len || p.executions != w->last.executions || p.upkeep != w->last.upkeep)
    w->stepped_at = now;
  if (memcmp(&p, &w->last, sizeof p) != 0 && !is_stale(w, watch, now)) {
    w->last = p;
    w->changed_at = now;
    w->alarmed = false;
    return;
  }
  if (is_late(w, watch, now)) excuse_load(w, now);
  if (!is_late(w, watch, now)) return;
  if (w->alarmed)
    kill_process(w, HD_PROCESS_HUNG);
  else
    sound_alarm(w, now);
}

static void check_stop(struct hd_process *w, const struct hd_watch *watch, double now) {
  bool time_over = watch->deadline > 0 && now >= watch->deadline;
  int asked = interrupts - watch->interrupts;
  if (!w->stopping && (time_over || asked > 0)) {
    w->stopping = true;
    w->stop_since = now;
    __atomic_store_n(&w->control->ctl->supervisor_stop, 1, __ATOMIC_RELEASE);
  }
  bool late = time_over && (watch->abrupt || now - w->stop_since > GRACE_LATE);
  if (w->stopping && (late || now - w->stop_since > GRACE || asked > 1)) kill_process(w, HD_PROCESS_STOPPED);
  if (last > 0 && now >= last) kill_process(w, HD_PROCESS_STOPPED);
}

/* Reads the rest of the output without blocking, since a grandchild may hold the pipes open. */
static void drain(struct hd_streams *s) {
  for (int i = 0; i < 2; i++)
    while (s->pipe[i] >= 0 && hd_streams_pump(s, i)) {}
}

static void judge(const struct hd_process *w, int wstatus, struct hd_outcome *out) {
  const struct hd_ctl *ctl = w->control->ctl;
  /* In fork mode the execution's own process died; its parent passes its status on. */
  if (WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == FORK_EXIT && ctl->fork_status) wstatus = ctl->fork_status;
  *out = (struct hd_outcome){
      .signal = WIFSIGNALED(wstatus) ? WTERMSIG(wstatus) : 0,
      .status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 0,
  };
  uint32_t state = ctl->status.state;
  if (state == HD_ST_RUNNING && ctl->again && out->status == AGAIN_EXIT)
    out->end = HD_PROCESS_AGAIN;
  else if (state == HD_ST_DONE)
    out->end = HD_PROCESS_DONE;
  else if (state == HD_ST_ERROR)
    out->end = HD_PROCESS_ERROR;
  else if (w->killed)
    out->end = w->killed_as;
  else if (w->stopping && (out->signal == SIGINT || out->signal == SIGTERM || out->signal == SIGHUP))
    out->end = HD_PROCESS_STOPPED; /* the terminal sent it to the whole group */
  else if (state == HD_ST_STARTING)
    out->end = HD_PROCESS_START;
  else
    out->end = HD_PROCESS_DIED;
}

int hd_start_failed(const struct hd_outcome *o, const char *program, struct hd_err *err) {
  if (o->signal)
    return hd_fail(err, HD_EENV, "%s was killed by %s before main; does it run on its own?", program,
                   hd_signal_name(o->signal));
  if (o->status == HD_DIED_VERSION)
    return hd_fail(err, HD_EENV, "%s was linked with another version of Heddle: link it again with heddle cc",
                   program);
  return hd_fail(err, HD_EENV, "%s ended with status %d before main; does it run on its own?", program,
                 o->status);
}

/* Restores the files that the process changed before it died; a process that ends normally does this itself. */
void hd_restore_files(const struct hd_control *control) {
  struct hd_undo_log *log = hd_control_area(control, HD_SHM_UNDO);
  char what[300] = "";
  int e = log->last ? hd_undo_all(log, what, sizeof what) : 0;
  if (e) hd_warn("cannot restore what the program changed: %s: %s", what, strerror(e));
}

int hd_process_start(struct hd_process *w, const struct hd_command *cmd, struct hd_control *control,
                     struct hd_streams *streams, struct hd_err *err) {
  struct hd_ctl *ctl = control->ctl;
  ctl->status.state = HD_ST_STARTING;
  ctl->status.paused = 0;
  ctl->fork_status = 0;
  *w = (struct hd_process){
      .control = control, .streams = streams, .group = streams->own_group, .last = progress_of(&ctl->status)};
  int rc = start(cmd, control, streams, &w->pid, err);
  if (rc != HD_OK) return rc;
  w->changed_at = w->stepped_at = hd_now();
  w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
  w->running = true;
  return HD_OK;
}

static void end_process(struct hd_process *w, int wstatus, struct hd_outcome *out) {
  if (w->pidfd >= 0) close(w->pidfd);
  if (w->group) kill(-w->pid, SIGKILL); /* processes that it forked and left behind */
  drain(w->streams);
  hd_restore_files(w->control);
  judge(w, wstatus, out);
  w->running = false;
}

/* Waits for an event or the end of the tick. */
static void wait_for_news(struct hd_process *w, size_t n, int tick_ms) {
  struct pollfd p[3 * HD_MAX_WORKERS];
  nfds_t k = 0;
  HD_BUG_ON(n > HD_MAX_WORKERS);
  for (size_t i = 0; i < n; i++) {
    if (!w[i].running) continue;
    if (w[i].pidfd < 0) tick_ms = TICK_WITHOUT_PIDFD_MS;
    p[k++] = (struct pollfd){.fd = w[i].pidfd, .events = POLLIN};
    p[k++] = (struct pollfd){.fd = w[i].streams->pipe[0], .events = POLLIN};
    p[k++] = (struct pollfd){.fd = w[i].streams->pipe[1], .events = POLLIN};
  }
  poll(p, k, tick_ms);
  k = 0;
  for (size_t i = 0; i < n; i++) {
    if (!w[i].running) continue;
    for (int j = 0; j < 2; j++)
      if (p[k + 1 + (nfds_t)j].fd >= 0 && p[k + 1 + (nfds_t)j].revents) hd_streams_pump(w[i].streams, j);
    k += 3;
  }
}

struct hd_process *hd_processes_wait(struct hd_process *w, size_t n, const struct hd_watch *watch,
                                     struct hd_outcome *out) {
  wait_for_news(w, n, watch->tick_ms ? watch->tick_ms : TICK_MS);
  for (size_t i = 0; i < n; i++) {
    int wstatus;
    if (!w[i].running) continue;
    pid_t done = waitpid(w[i].pid, &wstatus, WNOHANG);
    HD_BUG_ON(done < 0 && errno != EINTR);
    if (done == w[i].pid) {
      end_process(&w[i], wstatus, out);
      return &w[i];
    }
    double now = hd_now();
    check_stop(&w[i], watch, now);
    check_progress(&w[i], watch, now);
  }
  return NULL;
}

static struct {
  struct hd_process *process;
  size_t n;
  const struct hd_watch *watch;
} beside;

void hd_processes_beside(struct hd_process *w, size_t n, const struct hd_watch *watch) {
  beside.process = w;
  beside.n = w ? n : 0;
  beside.watch = watch;
}

static void watch_beside(void) {
  double now = hd_now();
  for (size_t i = 0; i < beside.n; i++) {
    struct hd_process *w = &beside.process[i];
    if (!w->running) continue;
    check_stop(w, beside.watch, now);
    check_progress(w, beside.watch, now);
  }
}

void hd_processes_excuse(struct hd_process *w, size_t n, double seconds) {
  for (size_t i = 0; i < n; i++) {
    w[i].changed_at += seconds;
    w[i].stepped_at += seconds;
  }
}

int hd_supervise(const struct hd_command *cmd, struct hd_control *control, struct hd_streams *streams,
                 const struct hd_watch *watch, struct hd_outcome *out, struct hd_err *err) {
  struct hd_process w;
  int rc = hd_process_start(&w, cmd, control, streams, err);
  while (rc == HD_OK && !hd_processes_wait(&w, 1, watch, out)) watch_beside();
  return rc;
}
