/* undo.c: see undo.h. Runs in the supervisor, and in the tested process outside its tested code. The tested process
 * may have overwritten the log: a record's offsets and sizes are checked before use, and offsets must decrease. */
#include "abi/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "abi/abi.h"

#define FIRST 64 /* offset of the first record */

static uint64_t length(const char *s) {
  uint64_t n = 0;
  while (s[n]) n++;
  return n;
}

struct hd_undo_rec *hd_undo_add(struct hd_undo_log *log, unsigned kind, const char *path, uint64_t data_len) {
  if (log->used < FIRST) log->used = FIRST;
  uint64_t n = length(path) + 1, size = (sizeof(struct hd_undo_rec) + n + data_len + 7) & ~7ull;
  if (data_len > HD_UNDO_CAP || size > HD_UNDO_CAP - log->used) return NULL;
  struct hd_undo_rec *r = (struct hd_undo_rec *)((char *)log + log->used);
  r->size = size;
  r->prev = log->last;
  r->kind = kind;
  r->path_len = n;
  r->data_len = data_len;
  for (uint64_t i = 0; i < n; i++) r->path[i] = path[i];
  return r;
}

void hd_undo_commit(struct hd_undo_log *log, const struct hd_undo_rec *r) {
  uint64_t at = (uint64_t)((const char *)r - (const char *)log);
  log->used = at + r->size;
  __atomic_store_n(&log->last, at, __ATOMIC_RELEASE);
}

void hd_undo_drop(struct hd_undo_log *log) {
  const struct hd_undo_rec *r = (const struct hd_undo_rec *)((const char *)log + log->last);
  log->used = log->last;
  __atomic_store_n(&log->last, r->prev, __ATOMIC_RELEASE);
}

void hd_undo_stat(struct hd_undo_rec *r, const struct stat *st) {
  r->mode = st->st_mode & 07777;
  r->uid = st->st_uid;
  r->gid = st->st_gid;
  r->atime = st->st_atim;
  r->mtime = st->st_mtim;
}

static int meta(const struct hd_undo_rec *r) {
  struct stat st;
  struct timespec t[2] = {r->atime, r->mtime};
  if (lstat(r->path, &st)) return errno;
  if (S_ISLNK(st.st_mode)) return 0;
  if ((st.st_uid != r->uid || st.st_gid != r->gid) && lchown(r->path, r->uid, r->gid)) return errno;
  if ((st.st_mode & 07777) != r->mode && chmod(r->path, r->mode)) return errno;
  return utimensat(AT_FDCWD, r->path, t, 0) ? errno : 0;
}

static int contents(struct hd_undo_rec *r, int fd) {
  const char *data = hd_undo_data(r);
  int e = 0;
  for (uint64_t done = 0; done < r->data_len && !e;) {
    ssize_t n = pwrite(fd, data + done, r->data_len - done, (off_t)done);
    if (n > 0)
      done += (uint64_t)n;
    else if (errno != EINTR)
      e = errno ? errno : EIO;
  }
  if (!e && ftruncate(fd, (off_t)r->data_len)) e = errno;
  close(fd);
  return e;
}

static int file(struct hd_undo_rec *r) {
  int fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 && errno == EACCES && chmod(r->path, 0600) == 0) fd = open(r->path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int e = contents(r, fd);
  return e ? e : meta(r);
}

static int unnamed(struct hd_undo_rec *r) {
  int fd = open(r->path, O_WRONLY | O_CLOEXEC);
  return fd < 0 ? 0 : contents(r, fd);
}

static int attribute(struct hd_undo_rec *r) {
  const char *name = hd_undo_data(r), *value = name + strlen(name) + 1;
  size_t n = r->data_len - (size_t)(value - name);
  if (n)
    return setxattr(r->path, name, value + 1, n - 1, 0) ? errno : 0; /* one byte says that it was there */
  return removexattr(r->path, name) && errno != ENODATA ? errno : 0;
}

static int undo_one(struct hd_undo_rec *r) {
  switch (r->kind) {
    case HD_UNDO_REMOVE:
      if (unlink(r->path) == 0 || errno == ENOENT || errno == ENOTDIR) return 0;
      return rmdir(r->path) ? errno : 0;
    case HD_UNDO_FILE: return file(r);
    case HD_UNDO_FOLDER:
      if (mkdir(r->path, 0700) && errno != EEXIST) return errno;
      return meta(r);
    case HD_UNDO_SOCKET:
    case HD_UNDO_FIFO:
      if (mknod(r->path, (r->kind == HD_UNDO_FIFO ? S_IFIFO : S_IFSOCK) | 0600, 0) && errno != EEXIST)
        return errno;
      return meta(r);
    case HD_UNDO_LINK: return symlink(hd_undo_data(r), r->path) && errno != EEXIST ? errno : 0;
    case HD_UNDO_RENAME: return rename(hd_undo_data(r), r->path) ? errno : 0;
    case HD_UNDO_SWAP:
      return renameat2(AT_FDCWD, hd_undo_data(r), AT_FDCWD, r->path, RENAME_EXCHANGE) ? errno : 0;
    case HD_UNDO_META: return meta(r);
    case HD_UNDO_ATTRIBUTE: return attribute(r);
    case HD_UNDO_UNNAMED: return unnamed(r);
    default: return EINVAL;
  }
}

static int sane(const struct hd_undo_rec *r, uint64_t at) {
  uint64_t room = HD_UNDO_CAP - at;
  return r->size >= sizeof *r && r->size <= room && r->prev < at && r->path_len && r->path_len < room &&
         r->data_len < room && sizeof *r + r->path_len + r->data_len <= r->size &&
         !r->path[r->path_len - 1] && r->path[0] == '/';
}

int hd_undo_all(struct hd_undo_log *log, char *what, uint64_t what_size) {
  int first = 0;
  for (uint64_t at = log->last, prev; at; at = prev) {
    struct hd_undo_rec *r = (struct hd_undo_rec *)((char *)log + at);
    if (at < FIRST || at > HD_UNDO_CAP - sizeof *r || at % 8 || !sane(r, at)) {
      first = first ? first : EINVAL;
      break;
    }
    prev = r->prev;
    int e = undo_one(r);
    if (e && !first) {
      first = e;
      for (uint64_t i = 0; what && i < what_size; i++)
        if (!(what[i] = i + 1 < what_size ? r->path[i] : '\0')) break;
    }
    log->last = prev; /* if this process dies, the next one continues here */
  }
  log->last = 0;
  log->used = FIRST;
  return first;
}
