/* attach.c: the supervisor's side of hd_check (abi/attach.h). Runs in the supervisor, which the test process has
 * started and waits for. */
#include "abi/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/session_int.h"
#include "heddle.h"

bool hd_attachment_find(struct hd_attachment *a) {
  const char *s = getenv(HD_ATTACH_ENV);
  *a = (struct hd_attachment){0};
  if (s && sscanf(s, "%d %d %d", &a->socket, &a->result, &a->calls) != 3) a->socket = 0;
  unsetenv(HD_ATTACH_ENV);
  return a->socket > 0;
}

int hd__attach_command(struct hd_command *c, const struct hd_attachment *a, char **argv, struct hd_err *err) {
  char name[64], exe[HD_PATH_MAX];
  /* argv[0] of the process need not be its path. */
  snprintf(name, sizeof name, "/proc/%d/exe", (int)getppid());
  ssize_t len = readlink(name, exe, sizeof exe - 1);
  if (len <= 0) return hd_fail(err, HD_EENV, "cannot find the test program: %s: %s", name, strerror(errno));
  exe[len] = '\0';
  char *called = argv[0];
  argv[0] = exe;
  int rc = hd_command_init(c, argv, false, NULL, err);
  argv[0] = called;
  if (rc != HD_OK) return rc;
  free(c->argv[0]);
  c->argv[0] = hd_strdup(called);
  int now = personality(0xffffffff); /* that of the test */
  if (now == -1 || !(now & ADDR_NO_RANDOMIZE))
    hd_warn("address randomisation cannot be turned off here; replays may diverge");
  c->template = a->socket;
  c->calls = hd_sprintf("/proc/self/fd/%d", a->calls);
  return HD_OK;
}

int hd__attach_start(const struct hd_command *c, const struct hd_control *control, const struct hd_streams *s,
                     pid_t *pid, struct hd_err *err) {
  struct hd_copy_request request = {.own_group = s->own_group};
  struct hd_copy_answer answer;
  int fd[HD_COPY_FDS] = {[HD_COPY_CTL] = control->fd,
                         [HD_COPY_SEARCH] = control->search_fd,
                         [HD_COPY_IN] = s->in,
                         [HD_COPY_OUT] = s->out,
                         [HD_COPY_ERR] = s->err};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof fd)];
  } rights = {{.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  memcpy(CMSG_DATA(&rights.header), fd, sizeof fd);
  struct iovec data = {&request, sizeof request};
  struct msghdr m = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = CMSG_SPACE(sizeof fd)};
  if (sendmsg(c->template, &m, MSG_NOSIGNAL) < 0)
    return hd_fail(err, HD_EENV, "the test process is gone: %s", strerror(errno));
  ssize_t n;
  while ((n = read(c->template, &answer, sizeof answer)) < 0 && errno == EINTR) {}
  if (n != sizeof answer) return hd_fail(err, HD_EENV, "the test process is gone");
  if (answer.pid < 0) return hd_fail(err, HD_EENV, "cannot start a process: %s", strerror(-answer.pid));
  *pid = answer.pid;
  return HD_OK;
}

static void describe(struct hd_check_finding *out, const struct hd_finding *f) {
  const struct hd_place *place = hd_finding_place(f);
  const struct hd_frame *at = place ? hd_place_frame(place) : NULL;
  snprintf(out->kind, sizeof out->kind, "%s", hd_kind_name[f->kind]);
  snprintf(out->title, sizeof out->title, "%s", hd_kind_title[f->kind]);
  if (f->folder) {
    struct hd_str command;
    hd_str_init(&command);
    hd_str_add(&command, "heddle replay ");
    hd_str_add_quoted(&command, f->folder);
    snprintf(out->replay, sizeof out->replay, "%s", command.s);
    hd_str_fini(&command);
  }
  if (!at || !at->file) return;
  snprintf(out->file, sizeof out->file, "%s", at->file);
  out->line = at->line;
}

void hd__attach_result(const struct hd_attachment *a, const struct hd_summary *s) {
  struct hd_check_result *r = hd_alloc(sizeof *r);
  static const enum hd_check_verdict verdict[] = {[HD_VERDICT_BUG] = HD_CHECK_BUG,
                                                  [HD_VERDICT_CLEAN] = HD_CHECK_CLEAN,
                                                  [HD_VERDICT_BOUNDED] = HD_CHECK_BOUNDED};
  r->verdict = s->stop == HD_STOP_ERROR && !s->nfindings ? HD_CHECK_ERROR : verdict[hd_summary_verdict(s)];
  r->findings = (unsigned)s->nfindings;
  r->executions = s->executions;
  r->seconds = s->seconds;
  for (size_t i = 0; i < s->nfindings && i < HD_CHECK_FINDINGS; i++) describe(&r->finding[i], s->findings[i]);
  hd_write_all(a->result, r, offsetof(struct hd_check_result, message));
  free(r);
}
