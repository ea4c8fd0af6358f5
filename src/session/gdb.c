/* gdb.c: `heddle replay --gdb`: a debugger inside the failing execution. Runs in the supervisor.
 *
 * gdb and its script (src/gdb/heddle-gdb.py) start the program repeatedly, since going back means restarting. Each
 * time gdb runs `heddle gdb-start` in the program's place: it restores files that the last process changed, clears the
 * shared memory, writes the schedule there and becomes the program, with the arguments, environment, folder, input and
 * output of every other replay. So its addresses are the same, and gdb's additions to the environment do not matter.
 *
 * gdb-start inherits fixed descriptors: the shared memory, the plan (JSON, for the script and gdb-start) and the
 * program's output. This process stays alive to forward that output and to restore files at the end. */
#include "session/rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAN_FD = HD_SEARCH_FD + 1, OUT_FD, ERR_FD };

#define PLAN_VERSION 1 /* heddle-gdb.py checks it */
#define DRAIN_MS 100   /* without a pidfd, the interval for checking whether gdb has ended */

/* ---- the plan ---- */

/* The first stop: the last scheduling point before the finding. When no thread can continue there is no failing step;
 * 0 stops at the finding itself. */
static uint64_t first_stop(const struct hd_rerun *run) {
  const struct hd_finding_rec *f = run->capture.rec;
  if (f->kind == HD_KIND_DEADLOCK || f->kind == HD_KIND_LOST_WAKEUP || f->kind == HD_KIND_LIVELOCK) return 0;
  return f->partial ? run->status.points : f->point;
}

/* One line for each event: thread, operation, object, size, place, `plain`, `failed` or -, value or -. */
static json_t *list_events(const struct hd_rerun *run, const struct hd_command *cmd) {
  json_t *events = json_array();
  struct hd_tr_source *s = hd_rerun_trace(run, cmd, false, false);
  const struct hd_tr_tables *t = s->tables;
  struct hd_event e;
  struct hd_err err;
  while (hd_tr_next(s, &e, &err) > 0) {
    struct hd_str b;
    hd_str_init(&b);
    hd_str_addf(&b, "%s %s ", t->thread.v[e.op.thread].name, hd_op_text(e.op.kind));
    if (hd_op_object(e.op.kind) == HD_OBJ_THREAD)
      hd_str_add(&b, t->thread.v[e.op.object].name);
    else
      hd_str_addf(&b, "%llx", (unsigned long long)e.op.object);
    hd_str_addf(&b, " %u %llx %s ", e.op.size, (unsigned long long)(e.place ? t->place.v[e.place - 1].pc : 0),
                e.flags & HD_EV_PLAIN    ? "plain"
                : e.flags & HD_EV_FAILED ? "failed"
                                         : "-");
    if (e.flags & HD_EV_VALUE)
      hd_str_addf(&b, "%llx", (unsigned long long)e.value);
    else
      hd_str_addc(&b, '-');
    json_array_append_new(events, json_string(b.s));
    hd_str_fini(&b);
  }
  hd_tr_close(s);
  return events;
}

static int write_plan(const struct hd_stored *stored, const char *dir, bool original,
                      const struct hd_rerun *run, int *fd, struct hd_err *err) {
  char self[HD_PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  char *cwd = hd_cwd();
  if (n <= 0 || !cwd) {
    free(cwd);
    return hd_fail(err, HD_EENV, "the current folder no longer exists; cd to one that does");
  }
  self[n] = '\0';
  char *folder = hd_absolute(cwd, dir);
  free(cwd);
  json_t *events = list_events(run, &stored->command);
  json_t *plan = json_pack("{s:i, s:s, s:s, s:b, s:s, s:b, s:b, s:I, s:o}", "version", PLAN_VERSION, "heddle",
                           self, "folder", folder, "original", original, "title", stored->title, "recorded",
                           !run->capture.rec->partial, "endless", stored->schedule.kind == HD_KIND_HANG,
                           "stop", (json_int_t)first_stop(run), "events", events);
  free(folder);
  if (!plan) return hd_fail(err, HD_EENV, "%s: a path that is not UTF-8 cannot be passed to gdb", dir);
  char *all = json_dumps(plan, JSON_COMPACT);
  json_decref(plan);
  *fd = memfd_create("heddle-plan", MFD_CLOEXEC);
  int bad = *fd < 0 || hd_write_all(*fd, all, strlen(all));
  free(all);
  return bad ? hd_fail(err, HD_EENV, "cannot create shared memory: %s", strerror(errno)) : HD_OK;
}

static int read_plan(json_t **plan, struct hd_err *err) {
  char *text;
  size_t len;
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", PLAN_FD);
  if (hd_read_file(name, SIZE_MAX, &text, &len, err) != HD_OK)
    return hd_fail(err, HD_EUSAGE, HD_GDB_START " is for gdb: use heddle replay --gdb");
  *plan = json_loadb(text, len, 0, NULL);
  free(text);
  return *plan ? HD_OK : hd_fail(err, HD_EUSAGE, HD_GDB_START " is for gdb: use heddle replay --gdb");
}

/* ---- the program, started by gdb ---- */

static int become_program(const char *folder, bool original, struct hd_err *err) {
  struct hd_replay r;
  struct hd_control control;
  struct hd_streams streams;
  int rc = hd_replay_init(&r, folder, original, err);
  if (rc == HD_OK) rc = hd_streams_open(&streams, &r.input, HD_OUTPUT_NULL, NULL, err);
  if (rc == HD_OK) rc = hd_control_inherit(&control, err);
  if (rc != HD_OK) return rc;
  hd_control_schedule(&control, &r.stored.schedule);
  dup2(OUT_FD, streams.out);
  dup2(ERR_FD, streams.err);
  for (int fd = PLAN_FD; fd <= ERR_FD; fd++) close(fd);
  return hd_exec(&r.stored.command, &control, &streams, err);
}

int hd_gdb_exec(struct hd_err *err) {
  json_t *plan = NULL;
  int rc = read_plan(&plan, err);
  if (rc != HD_OK) return rc;
  const char *folder = json_string_value(json_object_get(plan, "folder"));
  rc = folder ? become_program(folder, json_is_true(json_object_get(plan, "original")), err)
              : hd_fail(err, HD_EINTERNAL, "the plan for gdb names no folder");
  json_decref(plan);
  return rc;
}

/* ---- gdb ---- */

static _Noreturn void become_gdb(char **argv, const int fd[5], int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* the program dies with its debugger */
  hd_raise_file_limit();
  for (int i = 0; i < 5; i++)
    if (dup2(fd[i], HD_CTL_FD + i) < 0) goto failed;
  hd_interrupt_release();
  signal(SIGPIPE, SIG_DFL);
  setenv("SHELL", "/bin/sh", 1); /* starts the program; the user's may not be a POSIX shell */
  execvp(argv[0], argv);
failed:;
  int e = errno;
  hd_write_all(report, &e, sizeof e);
  _exit(127);
}

/* Starts gdb; HD_OK once it runs. */
static int start_gdb(char **argv, const int fd[5], pid_t *pid, struct hd_err *err) {
  int report[2], e = 0;
  if (pipe2(report, O_CLOEXEC)) return hd_fail(err, HD_EENV, "cannot create a pipe: %s", strerror(errno));
  *pid = fork();
  if (*pid == 0) become_gdb(argv, fd, report[1]);
  close(report[1]);
  ssize_t n = 0;
  while (*pid > 0 && (n = read(report[0], &e, sizeof e)) < 0 && errno == EINTR) {}
  close(report[0]);
  if (*pid < 0) return hd_fail(err, HD_EENV, "cannot start a process: %s", strerror(errno));
  if (n == 0) return HD_OK;
  waitpid(*pid, NULL, 0);
  if (e == ENOENT)
    return hd_fail(err, HD_EENV, "gdb is not installed, or not in PATH; install the package gdb");
  if (e == EBADF || e == EINVAL)
    return hd_fail(err, HD_EENV, "the limit of open files is below %d; raise it with ulimit -n",
                   HD_FILE_LIMIT);
  return hd_fail(err, HD_EENV, "cannot start gdb: %s", strerror(e));
}

/* Forwards the program's output until gdb has ended. Returns its wait status. */
static int wait_for_gdb(pid_t pid, struct hd_streams *s) {
  int status, pidfd = (int)syscall(SYS_pidfd_open, pid, 0), seen = hd_interrupts();
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (hd_interrupts() > seen) kill(pid, SIGTERM); /* which ends the program too */
    seen = hd_interrupts();
    struct pollfd p[3] = {{.fd = pidfd, .events = POLLIN}};
    for (int i = 0; i < 2; i++) p[1 + i] = (struct pollfd){.fd = s->pipe[i], .events = POLLIN};
    poll(p, 3, pidfd < 0 ? DRAIN_MS : -1);
    for (int i = 0; i < 2; i++)
      if (p[1 + i].revents) hd_streams_pump(s, i);
  }
  for (int i = 0; i < 2; i++)
    while (s->pipe[i] >= 0 && hd_streams_pump(s, i)) {}
  if (pidfd >= 0) close(pidfd);
  return status;
}

/* gdb's command line: our script is read before the user's arguments take effect. */
static char **gdb_command(const char *program, const char *script, char **args) {
  HD_VEC(char *) v = {0};
  hd_vec_push(&v, "gdb");
  hd_vec_push(&v, "-q");
  hd_vec_push(&v, (char *)program);
  hd_vec_push(&v, "-x");
  hd_vec_push(&v, (char *)script);
  for (; *args; args++) hd_vec_push(&v, *args);
  hd_vec_push(&v, NULL);
  return v.v;
}

static int run_gdb(const struct hd_stored *stored, const struct hd_control *c, int plan, struct hd_streams *s,
                   char **args, struct hd_err *err) {
  const char *lib = hd_libdir();
  char *script = hd_sprintf("%s/heddle-gdb.py", lib ? lib : "");
  int rc = HD_OK, status = 0;
  pid_t pid = -1;
  if (access(script, R_OK)) {
    rc = hd_fail(err, HD_EENV, "%s: %s; install heddle again", script, strerror(errno));
  } else {
    char **argv = gdb_command(stored->command.program.path, script, args);
    const int fd[5] = {c->fd, c->search_fd, plan, s->out, s->err};
    /* Ctrl-C is for gdb, or for the program; and we may write while the program has the terminal. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    rc = start_gdb(argv, fd, &pid, err);
    free(argv);
  }
  hd_streams_child_started(s);
  if (rc == HD_OK) status = wait_for_gdb(pid, s);
  free(script);
  if (rc != HD_OK) return rc;
  hd_restore_files(c);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int hd_gdb(const struct hd_stored *stored, const char *dir, bool original, const struct hd_rerun *run,
           char **args, struct hd_err *err) {
  struct hd_config config;
  struct hd_control c;
  struct hd_streams s;
  int plan = -1;
  hd_schedule_config(&stored->schedule, &config);
  config.debug = 1;
  config.ngrown = (uint32_t)(run->status.ngrown < HD_MAX_GROWN ? run->status.ngrown : HD_MAX_GROWN);
  memcpy(config.grown, run->status.grown, sizeof config.grown);
  int rc = write_plan(stored, dir, original, run, &plan, err);
  if (rc != HD_OK) return rc;
  rc = hd_control_init(&c, &config, NULL, err);
  if (rc == HD_OK) {
    /* gdb-start opens the input, once for each run. */
    rc = hd_streams_open(&s, &(struct hd_input){.fd = -1}, HD_OUTPUT_SHOW, NULL, err);
    if (rc == HD_OK) rc = run_gdb(stored, &c, plan, &s, args, err);
    hd_streams_close(&s);
    hd_control_fini(&c);
  }
  close(plan);
  return rc;
}
