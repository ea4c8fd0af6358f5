/* format.c: formatted output and input: the memory that printf, scanf and their kin access. Runs in the tested process.
 *
 * What they read and write follows from the format. Output to memory is measured first. Input from a string is tried out
 * with variables of our own, so that only what will be assigned counts as written; input from a stream cannot be tried, and
 * what was assigned counts after the call. Formats with numbered arguments (%1$s) are not followed. */
#include <stdarg.h>
#include <stdlib.h>
#include <wchar.h>

#include "runtime/core/family.h"
#include "runtime/wrap/access.h"

/* ---- formats ---- */

enum length { L_NONE, L_HH, L_H, L_L, L_LL, L_Z, L_LONG_DOUBLE };

/* One conversion of a format, after its %. */
struct conversion {
  bool star_width, star_precision, has_precision, suppressed, allocates;
  int width, precision;
  enum length length;
  char what; /* 0: the end of the format */
};

static const char *number(const char *f, int *n) {
  *n = 0;
  while (*f >= '0' && *f <= '9') *n = *n * 10 + (*f++ - '0');
  return f;
}

static bool is_flag(char c, bool input) {
  return input ? c == '\''
               : c == '-' || c == '+' || c == ' ' || c == '#' || c == '0' || c == '\'' || c == 'I';
}

static const char *parse(const char *f, bool input, struct conversion *c) {
  *c = (struct conversion){0};
  for (; (*f == '*' && input) || is_flag(*f, input); f++) c->suppressed |= *f == '*';
  if (*f == '*' && !input) {
    c->star_width = true;
    f++;
  } else {
    f = number(f, &c->width);
  }
  if (*f == '$') return f; /* numbered: what stays 0 */
  if (*f == '.') {
    c->has_precision = true;
    if (*++f == '*') {
      c->star_precision = true;
      f++;
    } else {
      f = number(f, &c->precision);
    }
  }
  if (*f == 'm' && input) {
    c->allocates = true;
    f++;
  }
  for (;; f++) {
    if (*f == 'h')
      c->length = c->length == L_H ? L_HH : L_H;
    else if (*f == 'l')
      c->length = c->length == L_L ? L_LL : L_L;
    else if (*f == 'q' || *f == 'j')
      c->length = L_LL;
    else if (*f == 'z' || *f == 't')
      c->length = L_Z;
    else if (*f == 'L')
      c->length = L_LONG_DOUBLE;
    else
      break;
  }
  c->what = *f;
  if (*f == '[') { /* a ] that comes first is one of the characters */
    f++;
    if (*f == '^') f++;
    if (*f == ']') f++;
    while (*f && *f != ']') f++;
  }
  return *f ? f + 1 : f;
}

static size_t integer_size(enum length l) { return l == L_HH ? 1 : l == L_H ? 2 : l == L_NONE ? 4 : 8; }

/* ---- output ---- */

/* Skips or accesses one argument. */
static void print_argument(const struct conversion *c, int precision, va_list *ap, uint64_t pc) {
  switch (c->what) {
    case 's':
    case 'S': {
      const char *s = va_arg(*ap, const char *);
      if (!s) break;
      if (c->length == L_L || c->what == 'S')
        hd__hold_wide((const wchar_t *)s, SIZE_MAX, pc);
      else
        hd__hold_string(s, precision >= 0 ? (size_t)precision : SIZE_MAX, pc);
      break;
    }
    case 'n': hd__writes(va_arg(*ap, void *), integer_size(c->length), pc); break;
    case 'p': {
      uint64_t addr = (uint64_t)va_arg(*ap, void *);
      if (rt.search.alike) hd__family_address(addr); /* its text is no name */
      break;
    }
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      if (c->length == L_LONG_DOUBLE)
        (void)va_arg(*ap, long double);
      else
        (void)va_arg(*ap, double);
      break;
    case '%':
    case 'm': break;
    default:
      if (integer_size(c->length) == 8)
        (void)va_arg(*ap, long);
      else
        (void)va_arg(*ap, int);
  }
}

static int render(char *d, size_t n, const char *format, va_list arguments) {
  va_list ap;
  va_copy(ap, arguments);
  int r = real_vsnprintf(d, n, format, ap);
  va_end(ap);
  return r;
}

struct hd_held hd__hold_format(const char *format, va_list arguments, uint64_t pc) {
  hd__depends(HD_STATE_LOCALE, pc);
  uint64_t steps = rt.path_len;
  va_list ap;
  va_copy(ap, arguments);
  for (const char *f = format; *f;) {
    if (*f++ != '%') continue;
    struct conversion c;
    f = parse(f, false, &c);
    if (!c.what) break;
    if (c.star_width) (void)va_arg(ap, int);
    int precision = c.star_precision ? va_arg(ap, int) : c.has_precision ? c.precision : -1;
    print_argument(&c, precision, &ap, pc);
  }
  va_end(ap);
  hd__hold_string(format, SIZE_MAX, pc);
  struct hd_held text = {0};
  if (HD_LIKELY(rt.path_len == steps)) return text;
  int n = render(NULL, 0, format, arguments);
  char *d = n >= 0 ? hd_arena_get(&rt.arena, (size_t)n + 1) : NULL;
  if (!d) return text;
  render(d, (size_t)n + 1, format, arguments);
  return (struct hd_held){d, (size_t)n};
}

static int print(char *d, size_t n, const char *format, va_list ap, uint64_t pc) {
  hd__real_init();
  if (hot.active) {
    struct hd_held text = hd__hold_format(format, ap, pc);
    int k = text.at ? (int)text.n : render(NULL, 0, format, ap);
    size_t fits = (size_t)k < n ? (size_t)k : n - 1;
    if (k >= 0 && n) hd__writes(d, fits + 1, pc);
    if (text.at) {
      if (n) real_memcpy(d, text.at, fits), d[fits] = 0;
      return k;
    }
  }
  return n == SIZE_MAX ? real_vsprintf(d, format, ap) : real_vsnprintf(d, n, format, ap);
}

/* The functions with an argument list, and those with its va_list. */
#define WITH_ARGUMENTS(last, call) \
  va_list ap;                      \
  va_start(ap, last);              \
  int r = call;                    \
  va_end(ap);                      \
  return r

HD_EXPORT int vsnprintf(char *restrict d, size_t n, const char *restrict format, va_list ap) {
  return print(d, n, format, ap, HD_CALLER);
}
HD_EXPORT int vsprintf(char *restrict d, const char *restrict format, va_list ap) {
  return print(d, SIZE_MAX, format, ap, HD_CALLER);
}
HD_EXPORT int snprintf(char *restrict d, size_t n, const char *restrict format, ...) {
  WITH_ARGUMENTS(format, print(d, n, format, ap, HD_CALLER));
}
HD_EXPORT int sprintf(char *restrict d, const char *restrict format, ...) {
  WITH_ARGUMENTS(format, print(d, SIZE_MAX, format, ap, HD_CALLER));
}

/* With _FORTIFY_SOURCE the compilers call these; `room` is what they know of the size. */
#define CHECKED(name, params) \
  HD_EXPORT int name params;  \
  int name params
CHECKED(__vsnprintf_chk, (char *d, size_t n, int flag, size_t room, const char *format, va_list ap)) {
  (void)flag;
  if (room < n) abort();
  return print(d, n, format, ap, HD_CALLER);
}
CHECKED(__vsprintf_chk, (char *d, int flag, size_t room, const char *format, va_list ap)) {
  (void)flag;
  int r = print(d, room, format, ap, HD_CALLER);
  if (r >= 0 && (size_t)r >= room) abort();
  return r;
}
CHECKED(__snprintf_chk, (char *d, size_t n, int flag, size_t room, const char *format, ...)) {
  (void)flag;
  if (room < n) abort();
  WITH_ARGUMENTS(format, print(d, n, format, ap, HD_CALLER));
}
CHECKED(__sprintf_chk, (char *d, int flag, size_t room, const char *format, ...)) {
  (void)flag;
  va_list ap;
  va_start(ap, format);
  int r = print(d, room, format, ap, HD_CALLER);
  va_end(ap);
  if (r >= 0 && (size_t)r >= room) abort();
  return r;
}

static int print_new(char **d, const char *format, va_list ap, uint64_t pc) {
  hd__real_init();
  if (hot.active) hd__hold_format(format, ap, pc);
  hd__writes(d, sizeof *d, pc);
  hd__allocating(pc);
  int r = real_vasprintf(d, format, ap);
  hd__allocating(0);
  return r;
}
HD_EXPORT int vasprintf(char **restrict d, const char *restrict format, va_list ap) {
  return print_new(d, format, ap, HD_CALLER);
}
HD_EXPORT int asprintf(char **restrict d, const char *restrict format, ...) {
  WITH_ARGUMENTS(format, print_new(d, format, ap, HD_CALLER));
}
CHECKED(__vasprintf_chk, (char **d, int flag, const char *format, va_list ap)) {
  (void)flag;
  return print_new(d, format, ap, HD_CALLER);
}
CHECKED(__asprintf_chk, (char **d, int flag, const char *format, ...)) {
  (void)flag;
  WITH_ARGUMENTS(format, print_new(d, format, ap, HD_CALLER));
}

/* ---- input ---- */

#define TRIED 12   /* conversions that are tried out */
#define UNSET 0xa5 /* what a variable holds that was not assigned */

static size_t input_size(const struct conversion *c, const char *at) {
  size_t wide = c->length == L_L ? sizeof(wchar_t) : 1;
  if (c->allocates) return sizeof(char *);
  switch (c->what) {
    case 's':
    case '[':
      if (c->width) return 0; /* set by the caller */
      return wide == 1 ? real_strlen(at) + 1 : (real_wcslen((const wchar_t *)at) + 1) * wide;
    case 'S': return (real_wcslen((const wchar_t *)at) + 1) * sizeof(wchar_t);
    case 'c': return (size_t)(c->width ? c->width : 1) * wide;
    case 'p': return sizeof(void *);
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': return c->length == L_L ? 8 : c->length == L_LONG_DOUBLE ? 16 : 4;
    default: return integer_size(c->length);
  }
}

/* Calls f with each conversion that assigns, and its number. Returns how many there are, or -1 when the format cannot be
 * followed. */
static int each_input(const char *format, void (*f)(const struct conversion *c, int i, void *arg),
                      void *arg) {
  int n = 0;
  for (const char *at = format; *at;) {
    if (*at++ != '%') continue;
    struct conversion c;
    at = parse(at, true, &c);
    if (!c.what) return -1;
    if (c.what == '%' || c.suppressed) continue;
    f(&c, n++, arg);
  }
  return n;
}

struct input {
  void *to[TRIED];
  char *tried;  /* slots of our own, or NULL: then `assigned` counts */
  size_t slot;  /* their size */
  int assigned; /* by a call that was made */
  int counted;
  uint64_t pc;
};

static void no_conversion(const struct conversion *c, int i, void *arg) {
  bool *allocates = arg;
  (void)i;
  *allocates |= c->allocates;
}

static void assigns(const struct conversion *c, int i, void *arg) {
  struct input *in = arg;
  if (i >= TRIED) return;
  const char *at = in->tried ? in->tried + (size_t)i * in->slot : in->to[i];
  bool set = false;
  if (in->tried)
    for (size_t k = 0; k < in->slot && !set; k++) set = (unsigned char)at[k] != UNSET;
  else
    set = c->what == 'n' ? in->counted <= in->assigned : in->counted < in->assigned;
  in->counted += c->what != 'n';
  if (!set) return;
  size_t n = input_size(c, at);
  if (!n)
    n = c->length == L_L ? (real_wcslen((const wchar_t *)at) + 1) * sizeof(wchar_t) : real_strlen(at) + 1;
  hd__writes(in->to[i], n, in->pc);
}

static void pointers(struct input *in, int n, va_list arguments) {
  va_list ap;
  va_copy(ap, arguments);
  for (int i = 0; i < n && i < TRIED; i++) in->to[i] = va_arg(ap, void *);
  va_end(ap);
}

static int scan(const char *s, const char *format, va_list ap, int (*try)(const char *, const char *, ...),
                int (*real)(const char *, const char *, va_list), uint64_t pc) {
  bool allocates = false;
  int n = hot.active ? each_input(format, no_conversion, &allocates) : -1;
  if (n >= 0) {
    s = hd__reads_string(s, pc);
    format = hd__reads_string(format, pc);
    hd__depends(HD_STATE_LOCALE, pc);
    struct input in = {.pc = pc, .slot = (real_strlen(s) + 1) * sizeof(wchar_t) + 16};
    pointers(&in, n, ap);
    if (n <= TRIED && !allocates && in.slot * (size_t)n <= 4096) {
      char tried[in.slot * (size_t)(n ? n : 1)];
      real_memset(tried, UNSET, sizeof tried);
      in.tried = tried;
#define SLOT(i) (tried + in.slot * (size_t)((i) < n ? (i) : 0))
      try(s, format, SLOT(0), SLOT(1), SLOT(2), SLOT(3), SLOT(4), SLOT(5), SLOT(6), SLOT(7), SLOT(8), SLOT(9),
          SLOT(10), SLOT(11));
#undef SLOT
      each_input(format, assigns, &in);
      return real(s, format, ap);
    }
  }
  hd__allocating(pc);
  int r = real(s, format, ap);
  hd__allocating(0);
  if (n >= 0 && r > 0) {
    struct input in = {.pc = pc, .assigned = r};
    pointers(&in, n, ap);
    each_input(format, assigns, &in);
  }
  return r;
}

void hd__writes_format(const char *format, va_list ap, int assigned, uint64_t pc) {
  bool allocates = false;
  int n = hot.active && assigned > 0 ? each_input(format, no_conversion, &allocates) : -1;
  if (n < 0) return;
  struct input in = {.pc = pc, .assigned = assigned};
  pointers(&in, n, ap);
  each_input(format, assigns, &in);
}

/* Headers redirect sscanf to one of these, by the version of the language. */
#define SCAN(name, vname)                                                                     \
  HD_EXPORT int hd_rt_##vname(const char *s, const char *format, va_list ap) __asm__(#vname); \
  HD_EXPORT int hd_rt_##name(const char *s, const char *format, ...) __asm__(#name);          \
  int hd_rt_##vname(const char *s, const char *format, va_list ap) {                          \
    return scan(s, format, ap, real_##name, real_##vname, HD_CALLER);                         \
  }                                                                                           \
  int hd_rt_##name(const char *s, const char *format, ...) {                                  \
    WITH_ARGUMENTS(format, scan(s, format, ap, real_##name, real_##vname, HD_CALLER));        \
  }
SCAN(sscanf, vsscanf)
SCAN(__isoc99_sscanf, __isoc99_vsscanf)
SCAN(__isoc23_sscanf, __isoc23_vsscanf)
