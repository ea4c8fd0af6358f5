/* stage.c: the program on every machine, where the nodes share no file system. Runs in the supervisor of each rank.
 *
 * Rank 0 sends the program and those of its libraries that are not the system's. Every rank, the first one too, runs the copy: so
 * it has the same name everywhere, and with it the same addresses. Its folder is named by a hash of the content, so that
 * the ranks of one machine and later searches find it there; it stays, for findings to be replayed. */
#include "cluster/cluster_int.h"
#include "session/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MOST (1ull << 30) /* bytes: a message has no more than 2 GiB */

/* Of each file, before its name and its bytes. */
struct file {
  uint64_t name, size;
};

/* ---- rank 0: what there is to send ---- */

static int add(struct hd_str *out, const char *path, struct hd_err *err) {
  const char *base = hd_base_name(path);
  struct file f = {.name = strlen(base)};
  char *data;
  size_t n;
  int rc = hd_read_file(path, MOST, &data, &n, err);
  if (rc != HD_OK) return rc;
  f.size = n;
  hd_str_addn(out, (const char *)&f, sizeof f);
  hd_str_addn(out, base, f.name);
  hd_str_addn(out, data, n);
  free(data);
  return out->n > MOST ? hd_fail(err, HD_EUSAGE, "--stage: the program and its libraries are too large")
                       : HD_OK;
}

static int add_libraries(struct hd_str *out, const char *program, struct hd_err *err) {
  char **library;
  size_t n;
  int rc = hd_program_libraries(program, &library, &n, err);
  for (size_t i = 0; rc == HD_OK && i < n; i++) rc = add(out, library[i], err);
  hd_libraries_free(library, n);
  return rc;
}

/* ---- every rank: the copy ---- */

/* Under its name in one step: other ranks of the machine may do the same. */
static int write_one(const char *folder, const char *name, size_t len, const char *data, size_t n,
                     struct hd_err *err) {
  struct stat st;
  char *path = hd_sprintf("%s/%.*s", folder, (int)len, name),
       *tmp = hd_sprintf("%s.tmp-%d", path, (int)getpid());
  int rc = HD_OK;
  if (stat(path, &st) || (size_t)st.st_size != n) {
    rc = hd_write_file(tmp, data, n, err);
    if (rc == HD_OK && (chmod(tmp, 0755) || rename(tmp, path)))
      rc = hd_fail(err, HD_EENV, "--stage: %s: %s", path, strerror(errno));
  }
  free(path);
  free(tmp);
  return rc;
}

/* Only the user's own folder: another one could put something else there. */
static int make_folder(const char *folder, struct hd_err *err) {
  struct stat st;
  if (mkdir(folder, 0700) && errno != EEXIST)
    return hd_fail(err, HD_EENV, "--stage: %s: %s", folder, strerror(errno));
  if (lstat(folder, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
    return hd_fail(err, HD_EENV, "--stage: %s belongs to somebody else, or others may write to it", folder);
  return HD_OK;
}

/* The first file is the program. */
static int unpack(const struct hd_str *files, const char *dir, char **program, struct hd_err *err) {
  char *folder = hd_sprintf("%s/heddle-%u-%016llx", dir, (unsigned)geteuid(),
                            (unsigned long long)XXH64(files->s, files->n, 0));
  int rc = make_folder(folder, err);
  unsigned k = 0;
  for (size_t at = 0; rc == HD_OK && at < files->n; k++) {
    struct file f;
    size_t left = files->n - at;
    if (left >= sizeof f) memcpy(&f, files->s + at, sizeof f);
    if (left < sizeof f || f.name > left - sizeof f || f.size > left - sizeof f - f.name ||
        memchr(files->s + at + sizeof f, '/', f.name)) {
      rc = hd_fail(err, HD_EENV, "--stage: what the first rank sent is damaged");
      break;
    }
    const char *name = files->s + at + sizeof f;
    rc = write_one(folder, name, f.name, name + f.name, f.size, err);
    if (!k) *program = hd_sprintf("%s/%.*s", folder, (int)f.name, name);
    at += sizeof f + f.name + f.size;
  }
  if (rc == HD_OK && k > 1) { /* libraries */
    const char *before = getenv("LD_LIBRARY_PATH");
    char *path = before && *before ? hd_sprintf("%s:%s", folder, before) : hd_strdup(folder);
    setenv("LD_LIBRARY_PATH", path, 1);
    free(path);
  }
  free(folder);
  return rc;
}

int hd_cluster_stage(struct hd_cluster *c, const char *program, const char *dir, char **staged,
                     struct hd_err *err) {
  struct hd_str *files = &c->staged;
  int rc = HD_OK;
  if (!c->net.rank) {
    char *path = hd_program_find(program, err);
    if (!path) return err->code;
    rc = add(files, path, err);
    if (rc == HD_OK) rc = add_libraries(files, path, err);
    free(path);
    if (rc == HD_OK) hd__cluster_spread(c, MSG_STAGE, 0, files->s, files->n);
  }
  while (c->net.rank && !c->has_staged && !c->stopping) hd__cluster_wait(c);
  if (c->net.rank && !c->has_staged) return hd_fail(err, HD_EENV, "the first rank has no program");
  if (rc == HD_OK) rc = unpack(files, dir, staged, err);
  hd_str_clear(files);
  return rc;
}
