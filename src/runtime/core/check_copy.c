/* check_copy.c: copies of the test process, in which the body of hd_check is searched. Runs in the template, which
 * is such a copy itself, and in the copies it makes.
 *
 * A copy does not disturb the test process: it has its own offsets in files, and its own copies of files without a
 * name. Nothing here allocates, or leaves a mapping behind. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/attach.h"
#include "runtime/core/check.h"
#include "runtime/core/core.h"
#include "runtime/core/drive.h"

static void shut(int fd) { hd_sys3(SYS_close, fd, 0, 0); }

void hd__each_number(const char *folder, void (*f)(int number, void *arg), void *arg) {
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

/* Copies a file that no longer has a name. */
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

/* Gives this process its own offset in the file, and its own contents if the file has no name. */
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

/* The body's stack starts at the same address in a copy of the template and in a replay. Both get here with less stack
 * in use than this. */
#define DEPTH 65536

_Noreturn void hd__run_body(const struct hd_body *b) {
  shut(HD_CALLS_FD);
  hd__each_number("/proc/self/fd", isolate_file, NULL);
  hd__drive_callback(b->fn, b->arg, b->frame - DEPTH);
}

/* Opens the standard descriptors that are closed, so that none received from the supervisor gets their numbers. */
static void fill_standard_descriptors(void) {
  int fd;
  do fd = (int)hd_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
  while (fd >= 0 && fd < 3);
  if (fd >= 0) shut(fd);
}

/* In a new copy: takes over the descriptors it was sent and starts the search. */
_Noreturn static void become_copy(const struct hd_copy_request *request, const int fd[HD_COPY_FDS],
                                  const struct hd_body *body) {
  static const int to[HD_COPY_FDS] = {HD_CTL_FD, HD_SEARCH_FD, 0, 1, 2};
  hd_sys6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
  if (request->own_group) hd_sys3(SYS_setpgid, 0, 0, 0);
  for (int i = 0; i < HD_COPY_FDS; i++)
    if (hd_sys3(SYS_dup2, fd[i], to[i], 0) < 0) hd__die(97);
  for (int i = 0; i < HD_COPY_FDS; i++) shut(fd[i]);
  hd__run_body(body);
}

_Noreturn void hd__serve_copies(int socket, const struct hd_body *body) {
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
      shut(socket);
      become_copy(&request, fd, body);
    }
    for (int i = 0; i < HD_COPY_FDS; i++) shut(fd[i]);
    answer.pid = (int32_t)pid;
    hd_sys3(SYS_write, socket, (long)&answer, sizeof answer);
  }
}
