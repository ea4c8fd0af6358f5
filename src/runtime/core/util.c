/* util.c: helpers that replace libc inside the runtime. Runs in the tested process. */
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/core/core.h"
#include "runtime/wrap/wrap.h"

#define OWN_BASE 0x3c0000000000ull
#define MAX_MAPS 4096
static struct { uint64_t lo, hi; } maps[MAX_MAPS];
static unsigned nmaps;

void *hd__map(size_t size) {
  /* At addresses of our own, so that the addresses of the program's mappings do not depend on ours. */
  static uint64_t next = OWN_BASE;
  size = (size + HD_PAGE - 1) & ~(HD_PAGE - 1);
  long p = hd_sys6(SYS_mmap, (long)next, (long)size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  next += size;
  if ((p < 0 && p > -4096) || nmaps == MAX_MAPS) return NULL;
  maps[nmaps].lo = (uint64_t)p;
  maps[nmaps++].hi = (uint64_t)p + size;
  return (void *)p;
}

void hd__large_pages(uint64_t at, uint64_t size) {
  if (rt.config && rt.config->mode == HD_MODE_RUN) hd_sys3(SYS_madvise, at, size, MADV_HUGEPAGE);
}

uint64_t hd__map_end(uint64_t a) {
  for (unsigned i = 0; i < nmaps; i++)
    if (a >= maps[i].lo && a < maps[i].hi) return maps[i].hi;
  return 0;
}

_Noreturn void hd__die(int code) {
  for (;;) hd_sys3(SYS_exit_group, code, 0, 0);
}

_Noreturn void hd__die_by(int sig) {
  static const uint64_t by_default[4]; /* the kernel's struct sigaction */
  uint64_t blocked = 0;
  hd_sys4(SYS_rt_sigaction, sig, by_default, 0, 8);
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, 0, 8);
  hd_sys3(SYS_tgkill, hd_sys3(SYS_getpid, 0, 0, 0), hd_sys3(SYS_gettid, 0, 0, 0), sig);
  hd__die(3);
}

static uint64_t time_of(clockid_t clock) {
  struct timespec t;
  hd_sys3(SYS_clock_gettime, clock, &t, 0);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t hd__cpu_time(void) { return time_of(CLOCK_THREAD_CPUTIME_ID); }
uint64_t hd__real_time(void) { return time_of(CLOCK_MONOTONIC); }

void hd__copy(void *to, const void *from, size_t n) {
  if (HD_LIKELY(real_memcpy != NULL)) {
    real_memcpy(to, from, n);
    return;
  }
  char *d = to;
  const char *s = from;
  while (n--) *d++ = *s++;
}

void hd__zero(void *to, size_t n) {
  if (HD_LIKELY(real_memset != NULL)) {
    real_memset(to, 0, n);
    return;
  }
  char *d = to;
  while (n--) *d++ = 0;
}

size_t hd__strlen(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

bool hd__streq(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

bool hd__starts_n(const char *s, const char *with, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (s[i] != with[i]) return false;
  return true;
}

bool hd__starts(const char *s, const char *with) { return hd__starts_n(s, with, hd__strlen(with)); }

static size_t put(char *buf, size_t cap, size_t at, char c) {
  if (at + 1 < cap) buf[at] = c;
  return at + 1;
}

static size_t put_number(char *buf, size_t cap, size_t at, uint64_t v, unsigned base) {
  char digits[24];
  unsigned n = 0;
  do digits[n++] = "0123456789abcdef"[v % base];
  while (v /= base);
  while (n) at = put(buf, cap, at, digits[--n]);
  return at;
}

size_t hd__format(char *buf, size_t cap, const char *fmt, ...) {
  size_t at = 0;
  va_list ap;
  va_start(ap, fmt);
  for (; *fmt; fmt++) {
    if (*fmt != '%') {
      at = put(buf, cap, at, *fmt);
      continue;
    }
    switch (*++fmt) {
      case 's': {
        const char *s = va_arg(ap, const char *);
        for (s = s ? s : "(null)"; *s; s++) at = put(buf, cap, at, *s);
        break;
      }
      case 'd': {
        int64_t v = va_arg(ap, int64_t);
        if (v < 0) at = put(buf, cap, at, '-');
        at = put_number(buf, cap, at, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
        break;
      }
      case 'u': at = put_number(buf, cap, at, va_arg(ap, uint64_t), 10); break;
      case 'x': at = put_number(buf, cap, at, va_arg(ap, uint64_t), 16); break;
      default: at = put(buf, cap, at, *fmt);
    }
  }
  va_end(ap);
  if (cap) buf[at < cap ? at : cap - 1] = 0;
  return at;
}
