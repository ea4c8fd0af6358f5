/* task.c: the search of one target of a project, by a forked child. Runs in the supervisor.
 *
 * The child does the same as `heddle check -- PROGRAM` and passes its result through a memory file. If it fails, the others
 * still run.
 *
 * Signals that end a search are blocked here and handled synchronously. The terminal sends them to the child, too; a
 * signal sent to this process only is forwarded. */
#include "cli/project.h"
#include "session/names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_RESULT ((size_t)1 << 30)
#define LIVE_NAME 20 /* columns of the live line for a name */

void hd__runner_begin(struct hd_runner *r) {
  static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
  *r = (struct hd_runner){0};
  sigemptyset(&r->waited);
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) sigaddset(&r->waited, ending[i]);
  sigprocmask(SIG_BLOCK, &r->waited, &r->before);
}

void hd__runner_end(struct hd_runner *r) { sigprocmask(SIG_SETMASK, &r->before, NULL); }

/* ---- children ---- */

/* Waits for the child; returns its status as in waitpid. */
static int wait_child(struct hd_runner *r, pid_t pid) {
  int status;
  while (waitpid(pid, &status, WNOHANG) != pid) {
    siginfo_t info;
    if (sigwaitinfo(&r->waited, &info) < 0 || info.si_signo == SIGCHLD) continue;
    r->interrupted = true;
    if (info.si_code != SI_KERNEL) kill(pid, info.si_signo);
  }
  return status;
}

bool hd__runner_interrupted(struct hd_runner *r) {
  sigset_t set = r->waited;
  sigdelset(&set, SIGCHLD);
  struct timespec now = {0};
  while (sigtimedwait(&set, NULL, &now) > 0) r->interrupted = true;
  return r->interrupted;
}

/* Sets up a child. */
static void begin_child(const struct hd_runner *r, const char *folder) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigprocmask(SIG_SETMASK, &r->before, NULL);
  if (folder && chdir(folder)) _exit(127);
}

static pid_t start_child(struct hd_err *err) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid < 0) hd_fail(err, HD_EENV, "cannot start a process: %s", strerror(errno));
  return pid;
}

/* ---- build commands ---- */

/* The output goes to standard error: standard output may be used for a result. */
int hd__run_build(struct hd_runner *r, const struct hd_project *p, const struct hd_build *b,
                  struct hd_err *err) {
  if (!b->command) return HD_OK;
  if (!p->o.quiet) hd_say("%s", b->command);
  pid_t pid = start_child(err);
  if (pid < 0) return err->code;
  if (pid == 0) {
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    begin_child(r, p->folder);
    dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", b->command, (char *)NULL);
    _exit(127);
  }
  int status = wait_child(r, pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return HD_OK;
  const char *how = WIFSIGNALED(status) ? "was ended by" : "failed with exit status";
  char number[16];
  snprintf(number, sizeof number, "%d", WEXITSTATUS(status));
  return hd_fail(err, HD_EENV, "%s:%d:%d: the build command %s %s: %s", p->file, b->line, b->column, how,
                 WIFSIGNALED(status) ? hd_signal_name(WTERMSIG(status)) : number, b->command);
}

/* ---- one target ---- */

static void redirect(int fd, const char *path, int flags) {
  int opened = open(path, flags | O_CLOEXEC);
  if (opened < 0) {
    hd_say("%s: %s", path, strerror(errno));
    return;
  }
  dup2(opened, fd);
  close(opened);
}

/* In the child: runs the search. Its messages follow the result, on separate lines. */
static _Noreturn void search(const struct hd_runner *r, struct hd_task *t, int fd) {
  struct hd_str said, name;
  struct stat st;
  hd_str_init(&said);
  hd_str_init(&name);
  hd__add_short(&name, t->name, LIVE_NAME);
  begin_child(r, NULL);
  hd_speak_for(name.s, &said);
  int code = -HD_EENV;
  t->o.result_fd = fd;
  redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
  for (size_t i = 0; i < t->env.n; i++) setenv(t->env.v[i].name, t->env.v[i].value, 1);
  redirect(STDIN_FILENO, t->input ? t->input : "/dev/null", O_RDONLY);
  if (said.n == 0 && (stat(t->o.cwd, &st) || !S_ISDIR(st.st_mode)))
    hd_say("%s: no such folder; see cwd of the target", t->o.cwd);
  if (said.n == 0) code = hd_present_search(&t->o, HD_VERB_CHECK);
  json_t *line = json_pack("{s:o}", "said", hd_json_text(said.s));
  char *text = json_dumps(line, JSON_COMPACT);
  hd_write_all(fd, text, strlen(text));
  _exit(code);
}

/* Reads the child's result. */
static void receive(struct hd_task_row *row, int fd) {
  char *path = hd_sprintf("/proc/self/fd/%d", fd), *text = NULL;
  struct hd_err err;
  size_t len;
  if (hd_read_file(path, MOST_RESULT, &text, &len, &err) == HD_OK) {
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
      json_t *json = json_loads(line, 0, NULL);
      const char *said = json_string_value(json_object_get(json, "said"));
      if (said) hd_str_add(&row->said, said);
      if (json_object_get(json, "summary") && !row->result)
        row->result = json;
      else
        json_decref(json);
    }
  }
  free(text);
  free(path);
}

/* The last message that is not a warning: the reason for a missing result. */
static char *reason(const struct hd_str *said) {
  char *copy = hd_strdup(said->s), *rest = copy, *last = NULL;
  for (char *line; (line = strsep(&rest, "\n"));)
    if (*line && strncmp(line, "warning: ", 9) != 0) last = line;
  char *out = last ? hd_strdup(last) : NULL;
  free(copy);
  return out;
}

/* The result of a search that did not produce one. */
static void make_result(struct hd_task_row *row, const struct hd_task *t, enum hd_stop stop,
                        const char *why) {
  struct hd_summary sum = {
      .command = t->argv,
      .strategy = t->o.strategy,
      .systematic = hd_strategy_systematic(t->o.strategy),
      .seed = t->o.seed,
      .stop = stop,
      .error = why,
  };
  hd_summary_judge(&sum, &(struct hd_evidence){0});
  row->result = hd_outputs_result(&t->o, &sum, t->o.cwd);
  hd_summary_fini(&sum);
}

/* Reports how a child without a result has ended. */
static void judge(struct hd_task_row *row, const struct hd_task *t, int status) {
  int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) { /* before its search began */
    row->status = 5;
    if (!row->result) make_result(row, t, HD_STOP_INTERRUPTED, NULL);
    return;
  }
  if (signal) {
    bool killed = signal == SIGKILL;
    row->status = killed ? -HD_EENV : -HD_EINTERNAL;
    hd_str_addf(&row->said, "the search was ended by %s: %s\n", hd_signal_name(signal),
                killed ? "is there enough memory?" : "a bug in heddle; please report it");
  } else {
    row->status = WEXITSTATUS(status);
  }
  if (row->result) return;
  if (row->status < 2 || row->status == 5) row->status = -HD_EINTERNAL;
  if (row->said.n == 0)
    hd_str_addf(&row->said, "the search ended with exit status %d and without a result\n", row->status);
  char *why = reason(&row->said);
  make_result(row, t, HD_STOP_ERROR, why);
  free(why);
}

void hd__run_task(struct hd_runner *r, const struct hd_project *p, struct hd_task *t,
                  struct hd_task_row *row) {
  struct hd_err err = {0};
  row->name = t->name;
  hd_str_init(&row->said);
  if (hd__runner_interrupted(r)) {
    row->skipped = true;
    row->status = 5;
    make_result(row, t, HD_STOP_INTERRUPTED, NULL);
    return;
  }
  int rc = hd__run_build(r, p, &t->build, &err);
  int fd = rc == HD_OK ? memfd_create("heddle-result", MFD_CLOEXEC) : -1;
  if (rc == HD_OK && fd < 0) rc = hd_fail(&err, HD_EENV, "cannot create a memory file: %s", strerror(errno));
  pid_t pid = rc == HD_OK ? start_child(&err) : -1;
  if (pid == 0) search(r, t, fd);
  if (pid > 0) {
    int status = wait_child(r, pid);
    receive(row, fd);
    judge(row, t, status);
  } else {
    row->status = -err.code;
    hd_str_addf(&row->said, "%s\n", err.text);
    make_result(row, t, HD_STOP_ERROR, err.text);
  }
  if (fd >= 0) close(fd);
}

void hd__row_fini(struct hd_task_row *row) {
  json_decref(row->result);
  hd_str_fini(&row->said);
  *row = (struct hd_task_row){0};
}
