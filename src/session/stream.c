/* stream.c: standard input, output and error of the tested process. Runs in the supervisor.
 *
 * Every process of a search and of its replays must see the same descriptors: otherwise the C library buffers and
 * allocates differently, and the schedule no longer fits. Therefore input is spooled once and read from its beginning
 * by each process, and output goes through a pipe, never to a terminal directly. */
#include "session/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTE_MS 500 /* how long a pipe may be idle before it is treated as empty */

static int spool(struct hd_input *in, int from, struct hd_err *err) {
  in->fd = memfd_create("heddle-stdin", MFD_CLOEXEC);
  if (in->fd < 0) return hd_fail(err, HD_EENV, "cannot keep standard input: %s", strerror(errno));
  char buf[65536];
  for (;;) {
    ssize_t n = read(from, buf, sizeof buf);
    if (n < 0 && errno == EINTR && hd_interrupts() == 0) continue;
    if (n < 0) return hd_fail(err, HD_EENV, "cannot read standard input: %s", strerror(errno));
    if (n == 0) return HD_OK;
    if (hd_write_all(in->fd, buf, (size_t)n))
      return hd_fail(err, HD_EENV, "cannot keep standard input: %s", strerror(errno));
    in->size += (size_t)n;
  }
}

int hd_input_init(struct hd_input *in, bool may_inherit, struct hd_err *err) {
  *in = (struct hd_input){.fd = -1};
  struct stat st;
  if (fstat(STDIN_FILENO, &st)) return HD_OK; /* closed: the program gets an empty input */
  if (isatty(STDIN_FILENO)) {
    in->inherit = may_inherit;
    return HD_OK;
  }
  if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
    /* An open pipe without a writer (a build server's) would block forever. */
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&p, 1, FIRST_BYTE_MS) == 0) {
      if (may_inherit)
        in->inherit = true;
      else
        hd_warn("standard input is an idle pipe and is treated as empty; use < FILE or < /dev/null");
      return HD_OK;
    }
  }
  int rc = spool(in, STDIN_FILENO, err);
  if (rc != HD_OK || in->size == 0) hd_input_fini(in);
  return rc;
}

int hd_input_copy(struct hd_input *to, const struct hd_input *from, struct hd_err *err) {
  *to = *from;
  if (from->fd < 0) return HD_OK;
  to->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
  return to->fd < 0 ? hd_fail(err, HD_EENV, "cannot copy the input: %s", strerror(errno)) : HD_OK;
}

int hd_input_from_file(struct hd_input *in, const char *path, struct hd_err *err) {
  *in = (struct hd_input){.fd = -1};
  if (!path) return HD_OK;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return hd_fail(err, HD_EUSAGE, "%s: %s", path, strerror(errno));
  int rc = spool(in, fd, err);
  close(fd);
  if (rc != HD_OK) hd_input_fini(in);
  return rc;
}

void hd_input_fini(struct hd_input *in) {
  if (in->fd >= 0) close(in->fd);
  in->fd = -1;
}

/* A fresh descriptor with its own offset at the beginning of the spooled input. */
static int open_input(const struct hd_input *in) {
  if (in->inherit) return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  if (in->fd < 0) return open("/dev/null", O_RDONLY | O_CLOEXEC);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", in->fd);
  return open(name, O_RDONLY | O_CLOEXEC);
}

static int open_pipe(struct hd_streams *s, int i, int target) {
  int fd[2];
  if (pipe2(fd, O_CLOEXEC)) return -1;
  fcntl(fd[0], F_SETFL, O_NONBLOCK);
  s->pipe[i] = fd[0];
  s->target[i] = target;
  return fd[1];
}

static bool same_file(int a, int b) {
  struct stat x, y;
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int show(struct hd_streams *s, int i, int fd) {
  struct stat st;
  if (fstat(fd, &st)) return open("/dev/null", O_WRONLY | O_CLOEXEC);
  return isatty(fd) ? open_pipe(s, i, fd) : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

int hd_streams_open(struct hd_streams *s, const struct hd_input *in, enum hd_output how, struct hd_str *kept,
                    struct hd_err *err) {
  *s = (struct hd_streams){.in = -1,
                           .out = -1,
                           .err = -1,
                           .pipe = {-1, -1},
                           .target = {-1, -1},
                           .kept = kept,
                           .own_group = !in->inherit};
  s->in = open_input(in);
  switch (how) {
    case HD_OUTPUT_NULL: s->out = open("/dev/null", O_WRONLY | O_CLOEXEC); break;
    case HD_OUTPUT_KEEP: s->out = open_pipe(s, 0, -1); break;
    case HD_OUTPUT_SHOW: s->out = show(s, 0, STDOUT_FILENO); break;
  }
  /* One pipe for both when they are one terminal, so that lines stay in order. */
  bool shared = how != HD_OUTPUT_SHOW || (s->pipe[0] >= 0 && same_file(STDOUT_FILENO, STDERR_FILENO));
  s->err = shared ? fcntl(s->out, F_DUPFD_CLOEXEC, 3) : show(s, 1, STDERR_FILENO);
  if (s->in >= 0 && s->out >= 0 && s->err >= 0) return HD_OK;
  hd_fail(err, HD_EENV, "cannot open the program's input and output: %s", strerror(errno));
  hd_streams_close(s);
  return err->code;
}

static void close_one(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void hd_streams_child_started(struct hd_streams *s) {
  close_one(&s->in);
  close_one(&s->out);
  close_one(&s->err);
}

bool hd_streams_pump(struct hd_streams *s, int i) {
  char buf[65536];
  ssize_t n = read(s->pipe[i], buf, sizeof buf);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    close_one(&s->pipe[i]);
    return false;
  }
  if (s->target[i] >= 0) {
    hd_write_all(s->target[i], buf, (size_t)n);
  } else if (s->kept && s->kept->n < HD_OUTPUT_MAX) {
    size_t room = HD_OUTPUT_MAX - s->kept->n;
    hd_str_addn(s->kept, buf, (size_t)n < room ? (size_t)n : room);
  }
  return true;
}

void hd_streams_close(struct hd_streams *s) {
  hd_streams_child_started(s);
  close_one(&s->pipe[0]);
  close_one(&s->pipe[1]);
}
