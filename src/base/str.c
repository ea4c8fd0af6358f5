/* str.c: memory, vectors and string buffers. Runs in the supervisor. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void no_memory(void) {
  static const char text[] = "heddle: out of memory\n";
  hd_write_all(STDERR_FILENO, text, sizeof text - 1);
  _exit(-HD_EENV);
}

void *hd_alloc(size_t size) {
  void *p = calloc(1, size ? size : 1);
  if (!p) no_memory();
  return p;
}

void *hd_realloc(void *p, size_t size) {
  p = realloc(p, size ? size : 1);
  if (!p) no_memory();
  return p;
}

char *hd_strndup(const char *s, size_t n) {
  char *p = strndup(s, n);
  if (!p) no_memory();
  return p;
}

char *hd_strdup(const char *s) { return hd_strndup(s, strlen(s)); }

const char *hd_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int hd_by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

char *hd_sprintf(const char *fmt, ...) {
  struct hd_str b;
  va_list ap;
  hd_str_init(&b);
  va_start(ap, fmt);
  hd_str_vaddf(&b, fmt, ap);
  va_end(ap);
  return hd_str_take(&b);
}

void *hd_vec_grow(void *v, size_t *cap, size_t need, size_t item) {
  if (need <= *cap) return v;
  size_t next = *cap ? *cap * 2 : 8;
  if (next < need) next = need;
  size_t bytes;
  if (__builtin_mul_overflow(next, item, &bytes)) no_memory();
  *cap = next;
  return hd_realloc(v, bytes);
}

void hd_str_init(struct hd_str *b) {
  *b = (struct hd_str){0};
  hd_str_addn(b, "", 0);
}

void hd_str_fini(struct hd_str *b) {
  free(b->s);
  *b = (struct hd_str){0};
}

void hd_str_clear(struct hd_str *b) {
  b->n = 0;
  b->s[0] = '\0';
}

void hd_str_addn(struct hd_str *b, const char *s, size_t n) {
  b->s = hd_vec_grow(b->s, &b->cap, b->n + n + 1, 1);
  memcpy(b->s + b->n, s, n);
  b->n += n;
  b->s[b->n] = '\0';
}

void hd_str_add(struct hd_str *b, const char *s) { hd_str_addn(b, s, strlen(s)); }

void hd_str_addc(struct hd_str *b, char c) { hd_str_addn(b, &c, 1); }

void hd_str_vaddf(struct hd_str *b, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  HD_BUG_ON(n < 0);
  b->s = hd_vec_grow(b->s, &b->cap, b->n + (size_t)n + 1, 1);
  vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
  b->n += (size_t)n;
  va_end(again);
}

void hd_str_addf(struct hd_str *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  hd_str_vaddf(b, fmt, ap);
  va_end(ap);
}

char *hd_str_take(struct hd_str *b) {
  char *s = b->s;
  *b = (struct hd_str){0};
  return s;
}

void hd_str_add_quoted(struct hd_str *b, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%^";
  if (*word && strspn(word, plain) == strlen(word)) {
    hd_str_add(b, word);
    return;
  }
  hd_str_addc(b, '\'');
  for (; *word; word++) {
    if (*word == '\'')
      hd_str_add(b, "'\\''");
    else
      hd_str_addc(b, *word);
  }
  hd_str_addc(b, '\'');
}

size_t hd_utf8_length(const char *bytes) {
  const unsigned char *s = (const unsigned char *)bytes;
  size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : 4;
  if (n == 4 && (s[0] < 0xf0 || s[0] > 0xf4)) return 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
  if (s[0] == 0xed && s[1] > 0x9f) return 0;
  if (s[0] == 0xef && s[1] == 0xbf && s[2] > 0xbd) return 0;
  if (s[0] == 0xf0 && s[1] < 0x90) return 0;
  if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
  if (s[0] == 0xc2 && s[1] < 0xa0) return 0; /* control characters, too */
  return n;
}

void hd_str_add_utf8(struct hd_str *b, const char *s) {
  while (*s) {
    bool control = ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t') || *s == 0x7f;
    size_t n = control ? 0 : hd_utf8_length(s);
    if (n)
      hd_str_addn(b, s, n);
    else
      hd_str_addc(b, '?');
    s += n ? n : 1;
  }
}

bool hd_parse_u64(const char *s, int base, uint64_t max, uint64_t *out) {
  /* strtoull accepts signs, blanks and "0x"; a number in our files and options consists of digits only. */
  const char *digits = base == 16 ? "0123456789abcdef" : "0123456789";
  size_t len = strlen(s);
  if (len == 0 || strspn(s, digits) != len) return false;
  errno = 0;
  unsigned long long v = strtoull(s, NULL, base);
  if (errno || v > max) return false;
  *out = v;
  return true;
}

#define NEAR_MAX 32 /* letters of a name */

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Damerau, "A technique for computer detection and correction of spelling errors", CACM 1964: each letter takes part in
 * one edit. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb) {
  unsigned d[NEAR_MAX + 1][NEAR_MAX + 1];
  for (size_t i = 0; i <= na; i++) d[i][0] = (unsigned)i;
  for (size_t k = 0; k <= nb; k++) d[0][k] = (unsigned)k;
  for (size_t i = 1; i <= na; i++)
    for (size_t k = 1; k <= nb; k++) {
      d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1, d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
    }
  return d[na][nb];
}

void hd_near_try(struct hd_near *n, const char *name) {
  size_t len = strlen(name);
  if (!n->len || n->len > NEAR_MAX || len > NEAR_MAX) return;
  unsigned d = distance(n->word, n->len, name, len);
  /* A third of the letters may be wrong, and an abbreviation is meant to be what it begins. */
  bool begins = n->len >= 3 && len > n->len && memcmp(n->word, name, n->len) == 0;
  if (begins && d > 1) d = 1;
  if (d * 3 > (n->len < len ? len : n->len) || (n->best && d >= n->distance)) return;
  n->best = name;
  n->distance = d;
}
