/* stdio.c: streams: the memory of the program that they read and fill. Runs in the tested process. Input counts as
 * written as far as it came, after the call. */
#include <stdarg.h>
#include <wchar.h>

#include "runtime/wrap/access.h"

#undef fread_unlocked /* macros, when optimising */
#undef fwrite_unlocked

/* ---- blocks and lines ---- */

#define READ_BLOCK(name)                                                             \
  HD_EXPORT size_t name(void *restrict p, size_t size, size_t n, FILE *restrict f) { \
    hd__real_init();                                                                 \
    size_t r = real_##name(p, size, n, f);                                           \
    WRITES(p, r *size);                                                              \
    return r;                                                                        \
  }
READ_BLOCK(fread)
READ_BLOCK(fread_unlocked)

#define WRITE_BLOCK(name)                                                                  \
  HD_EXPORT size_t name(const void *restrict p, size_t size, size_t n, FILE *restrict f) { \
    hd__real_init();                                                                       \
    READS(p, size *n);                                                                     \
    return real_##name(p, size, n, f);                                                     \
  }
WRITE_BLOCK(fwrite)
WRITE_BLOCK(fwrite_unlocked)

HD_EXPORT char *fgets(char *restrict d, int n, FILE *restrict f) {
  hd__real_init();
  char *r = real_fgets(d, n, f);
  if (hot.active && r) WRITES(r, real_strlen(r) + 1);
  return r;
}

HD_EXPORT int fputs(const char *restrict s, FILE *restrict f) {
  hd__real_init();
  READS_STRING(s);
  return real_fputs(s, f);
}

HD_EXPORT int puts(const char *s) {
  hd__real_init();
  READS_STRING(s);
  return real_puts(s);
}

HD_EXPORT void perror(const char *s) {
  hd__real_init();
  READS_STRING(s);
  real_perror(s);
}

/* The buffer and its size are replaced only when the line does not fit. */
static ssize_t line_read(char **line, size_t *size, char *old, size_t old_size, ssize_t r, uint64_t pc) {
  hd__reads(line, sizeof *line, pc);
  hd__reads(size, sizeof *size, pc);
  if (*line != old) hd__writes(line, sizeof *line, pc);
  if (*size != old_size) hd__writes(size, sizeof *size, pc);
  if (r >= 0) hd__writes(*line, (size_t)r + 1, pc);
  return r;
}

HD_EXPORT ssize_t getline(char **restrict line, size_t *restrict size, FILE *restrict f) {
  hd__real_init();
  char *old = *line;
  size_t old_size = *size;
  return line_read(line, size, old, old_size, real_getline(line, size, f), HD_CALLER);
}

#define GET_DELIMITED(name)                                                                     \
  HD_EXPORT ssize_t name(char **restrict line, size_t *restrict size, int c, FILE *restrict f); \
  ssize_t name(char **restrict line, size_t *restrict size, int c, FILE *restrict f) {          \
    hd__real_init();                                                                            \
    char *old = *line;                                                                          \
    size_t old_size = *size;                                                                    \
    return line_read(line, size, old, old_size, real_##name(line, size, c, f), HD_CALLER);      \
  }
GET_DELIMITED(getdelim)
GET_DELIMITED(__getdelim)

/* ---- formatted output ---- */

#define WITH_ARGUMENTS(last, call) \
  va_list ap;                      \
  va_start(ap, last);              \
  int r = call;                    \
  va_end(ap);                      \
  return r

static int print(FILE *f, const char *format, va_list ap, uint64_t pc) {
  hd__real_init();
  if (hot.active) hd__reads_format(format, ap, pc);
  return real_vfprintf(f, format, ap);
}

static int print_fd(int fd, const char *format, va_list ap, uint64_t pc) {
  hd__real_init();
  if (hot.active) hd__reads_format(format, ap, pc);
  return real_vdprintf(fd, format, ap);
}

HD_EXPORT int vfprintf(FILE *restrict f, const char *restrict format, va_list ap) {
  return print(f, format, ap, HD_CALLER);
}
HD_EXPORT int vprintf(const char *restrict format, va_list ap) {
  return print(stdout, format, ap, HD_CALLER);
}
HD_EXPORT int fprintf(FILE *restrict f, const char *restrict format, ...) {
  WITH_ARGUMENTS(format, print(f, format, ap, HD_CALLER));
}
HD_EXPORT int printf(const char *restrict format, ...) {
  WITH_ARGUMENTS(format, print(stdout, format, ap, HD_CALLER));
}
HD_EXPORT int vdprintf(int fd, const char *restrict format, va_list ap) {
  return print_fd(fd, format, ap, HD_CALLER);
}
HD_EXPORT int dprintf(int fd, const char *restrict format, ...) {
  WITH_ARGUMENTS(format, print_fd(fd, format, ap, HD_CALLER));
}

/* With _FORTIFY_SOURCE the compilers call these. */
#define CHECKED(name, params) \
  HD_EXPORT int name params;  \
  int name params
CHECKED(__vfprintf_chk, (FILE * f, int flag, const char *format, va_list ap)) {
  (void)flag;
  return print(f, format, ap, HD_CALLER);
}
CHECKED(__vprintf_chk, (int flag, const char *format, va_list ap)) {
  (void)flag;
  return print(stdout, format, ap, HD_CALLER);
}
CHECKED(__fprintf_chk, (FILE * f, int flag, const char *format, ...)) {
  (void)flag;
  WITH_ARGUMENTS(format, print(f, format, ap, HD_CALLER));
}
CHECKED(__printf_chk, (int flag, const char *format, ...)) {
  (void)flag;
  WITH_ARGUMENTS(format, print(stdout, format, ap, HD_CALLER));
}

/* ---- formatted input ---- */

static int scanned(int r, const char *format, va_list ap, uint64_t pc) {
  hd__writes_format(format, ap, r, pc);
  return r;
}

/* Headers redirect fscanf to one of these, by the version of the language. */
#define SCAN(prefix)                                                                                         \
  HD_EXPORT int hd_rt_##prefix##vfscanf(FILE *f, const char *format, va_list ap) __asm__(#prefix "vfscanf"); \
  HD_EXPORT int hd_rt_##prefix##vscanf(const char *format, va_list ap) __asm__(#prefix "vscanf");            \
  HD_EXPORT int hd_rt_##prefix##fscanf(FILE *f, const char *format, ...) __asm__(#prefix "fscanf");          \
  HD_EXPORT int hd_rt_##prefix##scanf(const char *format, ...) __asm__(#prefix "scanf");                     \
  int hd_rt_##prefix##vfscanf(FILE *f, const char *format, va_list ap) {                                     \
    hd__real_init();                                                                                         \
    va_list again;                                                                                           \
    va_copy(again, ap);                                                                                      \
    int r = scanned(real_##prefix##vfscanf(f, format, ap), format, again, HD_CALLER);                        \
    va_end(again);                                                                                           \
    return r;                                                                                                \
  }                                                                                                          \
  int hd_rt_##prefix##vscanf(const char *format, va_list ap) {                                               \
    hd__real_init();                                                                                         \
    va_list again;                                                                                           \
    va_copy(again, ap);                                                                                      \
    int r = scanned(real_##prefix##vfscanf(stdin, format, ap), format, again, HD_CALLER);                    \
    va_end(again);                                                                                           \
    return r;                                                                                                \
  }                                                                                                          \
  int hd_rt_##prefix##fscanf(FILE *f, const char *format, ...) {                                             \
    va_list ap, again;                                                                                       \
    hd__real_init();                                                                                         \
    va_start(ap, format);                                                                                    \
    va_copy(again, ap);                                                                                      \
    int r = scanned(real_##prefix##vfscanf(f, format, ap), format, again, HD_CALLER);                        \
    va_end(again);                                                                                           \
    va_end(ap);                                                                                              \
    return r;                                                                                                \
  }                                                                                                          \
  int hd_rt_##prefix##scanf(const char *format, ...) {                                                       \
    va_list ap, again;                                                                                       \
    hd__real_init();                                                                                         \
    va_start(ap, format);                                                                                    \
    va_copy(again, ap);                                                                                      \
    int r = scanned(real_##prefix##vfscanf(stdin, format, ap), format, again, HD_CALLER);                    \
    va_end(again);                                                                                           \
    va_end(ap);                                                                                              \
    return r;                                                                                                \
  }
SCAN()
SCAN(__isoc99_)
SCAN(__isoc23_)
