/* check_calls.c: what came of the calls of hd_check in this process (abi/attach.h). Runs in the test process.
 *
 * A replay has to come to the call in which something was found, in a process of its own: earlier calls are not searched
 * again but return what they returned then. The file is shared with processes that the test forks, so tests that run in
 * processes of their own, one after the other, are in it too. */
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/attach.h"
#include "heddle.h"
#include "runtime/core/check.h"
#include "runtime/core/core.h"

void hd__calls_open(void) {
  long fd = hd_sys3(SYS_memfd_create, "heddle-calls", MFD_CLOEXEC, 0);
  if (fd < 0) return;
  hd_sys3(SYS_dup3, fd, HD_CALLS_FD, O_CLOEXEC);
  hd_sys3(SYS_close, fd, 0, 0);
}

void hd__calls_begin(uint64_t key) {
  struct hd_call_record c = {key, HD_CALL_HERE, 0};
  hd_sys4(SYS_pwrite64, HD_CALLS_FD, &c, sizeof c, hd_sys3(SYS_lseek, HD_CALLS_FD, 0, SEEK_CUR));
}

/* The parts of a result that say something: most have no findings, and a test may call this very often. */
struct parts {
  struct {
    size_t at, size;
  } part[3];
};

static struct parts parts_of(const struct hd_check_result *r) {
  unsigned n = r->findings < HD_CHECK_FINDINGS ? r->findings : HD_CHECK_FINDINGS;
  size_t finding = offsetof(struct hd_check_result, finding);
  size_t rest = offsetof(struct hd_check_result, executions),
         text = offsetof(struct hd_check_result, message);
  return (struct parts){
      {{0, finding}, {finding, n * sizeof r->finding[0]}, {rest, text - rest + hd__strlen(r->message)}}};
}

void hd__calls_record(uint64_t key, const struct hd_check_result *r) {
  struct parts p = parts_of(r);
  struct hd_call_record c = {key, (uint32_t)(p.part[0].size + p.part[1].size + p.part[2].size), 0};
  hd_sys3(SYS_write, HD_CALLS_FD, &c, sizeof c);
  for (int i = 0; i < 3; i++) hd_sys3(SYS_write, HD_CALLS_FD, (const char *)r + p.part[i].at, p.part[i].size);
}

static bool read_part(void *to, size_t size) {
  return hd_sys3(SYS_read, HD_CALLS_FD, to, size) == (long)size;
}

bool hd__calls_recall(uint64_t key, struct hd_check_result *r) {
  struct hd_call_record c;
  if (!read_part(&c, sizeof c) || c.key != key) hd__die(95);
  if (c.size == HD_CALL_HERE) return false;
  if (!read_part(r, offsetof(struct hd_check_result, finding))) hd__die(95);
  struct parts p = parts_of(r);
  size_t before = p.part[0].size + p.part[1].size;
  p.part[2].size = c.size - before;
  if (c.size < before || p.part[2].at + p.part[2].size > sizeof *r) hd__die(95);
  for (int i = 1; i < 3; i++)
    if (!read_part((char *)r + p.part[i].at, p.part[i].size)) hd__die(95);
  return true;
}
