/* file.c: whole files at once, and paths. Runs in the supervisor. */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int hd_read_file(const char *path, size_t max, char **data, size_t *len, struct hd_err *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return hd_fail(err, HD_EENV, "%s: %s", path, strerror(errno));
  struct hd_str b;
  hd_str_init(&b);
  char buf[65536];
  ssize_t n;
  while ((n = read(fd, buf, sizeof buf)) > 0) {
    if (b.n + (size_t)n > max) {
      close(fd);
      hd_str_fini(&b);
      return hd_fail(err, HD_EENV, "%s: larger than %zu bytes", path, max);
    }
    hd_str_addn(&b, buf, (size_t)n);
  }
  int saved = errno;
  close(fd);
  if (n < 0) {
    hd_str_fini(&b);
    return hd_fail(err, HD_EENV, "%s: %s", path, strerror(saved));
  }
  *len = b.n;
  *data = hd_str_take(&b);
  return HD_OK;
}

static int output_error;

int hd_output_error(void) {
  if (fflush(stdout)) output_error = errno;
  return output_error;
}

int hd_open_standard(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
      return -1;
  return 0;
}

int hd_write_all(int fd, const void *data, size_t len) {
  const char *p = data;
  while (len > 0) {
    ssize_t n = write(fd, p, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (fd == STDOUT_FILENO) output_error = errno;
      return -1;
    }
    p += n;
    len -= (size_t)n;
  }
  return 0;
}

/* `name` is the file's name in messages. */
static int write_as(const char *path, const char *name, const void *data, size_t len, struct hd_err *err) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return hd_fail(err, HD_EENV, "%s: %s", name, strerror(errno));
  int failed = hd_write_all(fd, data, len);
  int saved = errno;
  if (close(fd) && !failed) failed = -1, saved = errno;
  if (failed) return hd_fail(err, HD_EENV, "%s: %s", name, strerror(saved));
  return HD_OK;
}

int hd_write_file(const char *path, const void *data, size_t len, struct hd_err *err) {
  return write_as(path, path, data, len, err);
}

int hd_write_file_atomic(const char *path, const void *data, size_t len, struct hd_err *err) {
  struct stat st;
  /* A device or a pipe must be written to, not replaced: /dev/stdout, /dev/null. */
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return hd_write_file(path, data, len, err);
  char *tmp = hd_sprintf("%s.tmp-%d", path, (int)getpid());
  int rc = write_as(tmp, path, data, len, err);
  if (rc == HD_OK && rename(tmp, path)) rc = hd_fail(err, HD_EENV, "%s: %s", path, strerror(errno));
  if (rc != HD_OK) unlink(tmp);
  free(tmp);
  return rc;
}

void hd_remove_folder(const char *path) {
  DIR *dir = opendir(path);
  if (dir) {
    struct dirent *e;
    while ((e = readdir(dir))) unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
  }
  rmdir(path);
}

char *hd_absolute(const char *cwd, const char *name) {
  while (name[0] == '.' && name[1] == '/') {
    name += 2;
    while (*name == '/') name++;
  }
  if (name[0] == '/') return hd_strdup(name);
  return hd_sprintf("%s%s%s", cwd, cwd[strlen(cwd) - 1] == '/' ? "" : "/", name);
}

char *hd_cwd(void) { return getcwd(NULL, 0); }

double hd_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}
