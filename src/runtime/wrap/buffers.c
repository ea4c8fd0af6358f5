/* buffers.c: streams that work on memory of the program: open_memstream, fmemopen, setvbuf. Runs in the tested process.
 *
 * libc fills such a buffer, and the variables of open_memstream, in its own time. What a call has changed is found by
 * comparing it with a copy. Then the old contents are restored until the thread is chosen to write, so that others which run
 * before that see them. */
#include <wchar.h>

#include "runtime/core/finding.h"
#include "runtime/wrap/access.h"

#define BUFFERS 64
static struct buffer {
  uint32_t epoch;
  FILE *f;
  char *at;
  size_t n;
  char **where; /* of open_memstream: where it stores the address of its buffer; at: NULL */
  size_t *size;
} buffer[BUFFERS];
unsigned hd__nbuffers; /* in use, at most */
static uint32_t epoch;

/* What is compared: of one call, by the thread that holds the lock of the stream. */
struct hd_region {
  char *at, *old;
  size_t n;
  struct hd_region *next;
};

static bool of(const struct buffer *b, const FILE *f) { return b->epoch == rt.epoch && b->f == f; }

static void add(struct buffer new, uint64_t pc) {
  if (!hot.active) return;
  if (epoch != rt.epoch) hd__nbuffers = 0;
  epoch = new.epoch = rt.epoch;
  if (hd__nbuffers < BUFFERS)
    buffer[hd__nbuffers++] = new;
  else
    hd__inexact(HD_INEXACT_ALIAS, pc);
}

void hd__buffers_forget(const FILE *f) {
  for (unsigned i = 0; i < hd__nbuffers; i++)
    if (of(&buffer[i], f)) buffer[i].epoch = 0;
}

static struct hd_region *keep(struct hd_region *list, void *at, size_t n) {
  struct hd_region *r = hd_arena_get(&rt.arena, sizeof *r + n);
  HD_BUG_ON(!r);
  *r = (struct hd_region){at, (char *)(r + 1), n, list};
  hd__copy(r->old, at, n);
  return r;
}

struct hd_region *hd__buffers_before(const FILE *f, uint64_t pc) {
  struct hd_region *list = NULL;
  for (unsigned i = 0; i < hd__nbuffers; i++) {
    const struct buffer *b = &buffer[i];
    if (!of(b, f)) continue;
    hd__allocating(pc); /* a buffer that grows */
    if (b->at) {
      list = keep(list, b->at, b->n);
      continue;
    }
    list = keep(keep(list, b->where, sizeof *b->where), b->size, sizeof *b->size);
    struct hd_block block;
    if (hd__heap_block((uint64_t)*b->where, &block) && block.live && *b->size <= block.size)
      list = keep(list, *b->where, *b->size);
  }
  return list;
}

static void changed(const struct hd_region *r, uint64_t pc) {
  size_t lo = 0, hi = r->n;
  struct hd_block block;
  if (hd__heap_block((uint64_t)r->at, &block) && !block.live) return; /* it was replaced by a larger one */
  while (lo < hi && r->at[lo] == r->old[lo]) lo++;
  while (lo < hi && r->at[hi - 1] == r->old[hi - 1]) hi--;
  if (lo == hi) return;
  char *new = hd_arena_get(&rt.arena, hi - lo);
  HD_BUG_ON(!new);
  hd__copy(new, r->at + lo, hi - lo);
  hd__copy(r->at + lo, r->old + lo, hi - lo);
  hd__writes(r->at + lo, hi - lo, pc);
  hd__copy(r->at + lo, new, hi - lo);
}

void hd__buffers_after(const struct hd_region *list, uint64_t pc) {
  hd__allocating(0);
  for (; list; list = list->next) changed(list, pc);
}

/* ---- the functions ---- */

HD_EXPORT FILE *open_memstream(char **where, size_t *size) {
  hd__real_init();
  WRITES(where, sizeof *where);
  WRITES(size, sizeof *size);
  hd__allocating(HD_CALLER);
  FILE *f = real_open_memstream(where, size);
  hd__allocating(0);
  if (f) add((struct buffer){.f = f, .where = where, .size = size}, HD_CALLER);
  return f;
}

HD_EXPORT FILE *open_wmemstream(wchar_t **where, size_t *size) {
  hd__real_init();
  WRITES(where, sizeof *where);
  WRITES(size, sizeof *size);
  hd__allocating(HD_CALLER);
  FILE *f = real_open_wmemstream(where, size);
  hd__allocating(0);
  if (f) add((struct buffer){.f = f, .where = (char **)where, .size = size}, HD_CALLER);
  return f;
}

/* A stream that reads has read the memory when it is opened: it does so in one piece, as soon as it reads at all. */
HD_EXPORT FILE *fmemopen(void *at, size_t n, const char *mode) {
  hd__real_init();
  if (at && mode[0] != 'w') READS(at, mode[0] == 'a' ? real_strnlen(at, n) : n);
  if (at && mode[0] == 'w' && n) WRITES(at, 1);
  FILE *f = real_fmemopen(at, n, mode);
  bool writes = mode[0] != 'r' || mode[1] == '+' || (mode[1] && mode[2] == '+');
  if (f && at && writes) add((struct buffer){.f = f, .at = at, .n = n}, HD_CALLER);
  return f;
}

static void set(FILE *f, char *at, size_t n, uint64_t pc) {
  hd__buffers_forget(f);
  if (at && n) add((struct buffer){.f = f, .at = at, .n = n}, pc);
}

HD_EXPORT int setvbuf(FILE *restrict f, char *restrict at, int mode, size_t n) {
  hd__real_init();
  hd__stream_begin(f, false, HD_CALLER);
  int r = real_setvbuf(f, at, mode, n);
  hd__stream_end(f, HD_CALLER);
  if (!r) set(f, mode == _IONBF ? NULL : at, n, HD_CALLER);
  return r;
}

HD_EXPORT void setbuffer(FILE *f, char *at, size_t n) {
  hd__real_init();
  hd__stream_begin(f, false, HD_CALLER);
  real_setbuffer(f, at, n);
  hd__stream_end(f, HD_CALLER);
  set(f, at, n, HD_CALLER);
}

HD_EXPORT void setbuf(FILE *restrict f, char *restrict at) {
  hd__real_init();
  hd__stream_begin(f, false, HD_CALLER);
  real_setbuf(f, at);
  hd__stream_end(f, HD_CALLER);
  set(f, at, BUFSIZ, HD_CALLER);
}
