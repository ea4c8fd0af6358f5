/* mapped.c: system calls on files that are mapped into memory: such a call reads or writes the memory. Runs in the tested
 * process, on the stack of the thread that made the system call.
 *
 * The access comes just before the call, without anything in between, unless the call is an operation on its descriptor as
 * well: then it is noted. It is no access of the program's text, so it takes part in no data race. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/wrap.h"

struct range {
  bool write;
  uint64_t from, to;
};

static uint64_t bytes_of(const struct iovec *v, long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++) sum += v[i].iov_len;
  return sum;
}

/* Where a call without a position starts. */
static uint64_t position(long fd, bool write) {
  struct stat st;
  if (write && (hd_sys3(SYS_fcntl, fd, F_GETFL, 0) & O_APPEND) && hd_sys3(SYS_fstat, fd, &st, 0) == 0)
    return (uint64_t)st.st_size;
  long at = hd_sys3(SYS_lseek, fd, 0, SEEK_CUR);
  return at < 0 ? 0 : (uint64_t)at;
}

/* What the call does to the contents of its file a[0]. Returns false if that is not known, or nothing. */
static bool range_of(long nr, const long *a, struct range *r) {
  bool write = false;
  switch (nr) {
    case SYS_write: write = true; /* fallthrough */
    case SYS_read: *r = (struct range){write, position(a[0], write), (uint64_t)a[2]}; break;
    case SYS_writev: write = true; /* fallthrough */
    case SYS_readv:
      *r = (struct range){write, position(a[0], write), bytes_of((const struct iovec *)a[1], a[2])};
      break;
    case SYS_pwrite64: write = true; /* fallthrough */
    case SYS_pread64: *r = (struct range){write, (uint64_t)a[3], (uint64_t)a[2]}; break;
    case SYS_pwritev:
    case SYS_pwritev2: write = true; /* fallthrough */
    case SYS_preadv:
    case SYS_preadv2:
      *r = (struct range){write, a[3] < 0 ? position(a[0], write) : (uint64_t)a[3],
                          bytes_of((const struct iovec *)a[1], a[2])};
      break;
    case SYS_fallocate: *r = (struct range){true, (uint64_t)a[2], (uint64_t)a[3]}; break;
    case SYS_ftruncate: *r = (struct range){true, (uint64_t)a[1], 1ull << 60}; break;
    default: return false;
  }
  r->to += r->from; /* it was a number of bytes */
  return true;
}

static bool is_mapped(long fd) {
  const struct hd_desc *d = fd >= 0 && fd < HD_FDS ? hd__fd(fd) : NULL;
  return d && d->kind == HD_IO_FILE && d->chan && hd__is_mapped(d->chan->dev, d->chan->ino);
}

bool hd__mapped_is_op(long nr, const long *a) {
  if (!rt.nunjoined || !hd__maps_files()) return false;
  switch (nr) {
    case SYS_write:
    case SYS_read:
    case SYS_writev:
    case SYS_readv:
    case SYS_pwrite64:
    case SYS_pread64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_fallocate:
    case SYS_ftruncate: return is_mapped(a[0]);
    case SYS_sendfile: return is_mapped(a[0]) || is_mapped(a[1]);
    case SYS_splice:
    case SYS_copy_file_range: return is_mapped(a[0]) || is_mapped(a[2]);
    default: return false;
  }
}

void hd__mapped_point(long nr, const long *a, bool alone, uint64_t pc) {
  struct range r;
  if (!alone || !range_of(nr, a, &r)) {
    hd__inexact(HD_INEXACT_ALIAS, pc);
    return;
  }
  const struct hd_chan *c = hd__fd(a[0])->chan;
  hd__mapped_access(c->dev, c->ino, r.from, r.to, r.write, pc);
}
