/* stdio.c: streams: the memory of the program that they read and fill. Runs in the tested process. Input counts as
 * written as far as it came, after the call. */
#include <stdarg.h>
#include <wchar.h>

#include "runtime/symbolic/sources.h"
#include "runtime/wrap/access.h"

#undef fread_unlocked /* macros, when optimising */
#undef fwrite_unlocked

/* Makes the call with the lock of the stream (stream.c); `writes`: it is nothing but output. */
#define LOCKED(f, writes, call)           \
  hd__stream_begin(f, writes, HD_CALLER); \
  call;                                   \
  hd__stream_end(f, HD_CALLER)
/* The same for one that may allocate memory for its caller. */
#define LOCKED_NEW(f, call) LOCKED(f, false, ALLOCATES; call; hd__allocating(0))
/* Without: whoever else uses the stream races with it. */
#define UNLOCKED(f, writes, call)                                           \
  if (hot.active) hd__access_slow((uint64_t)(f), 8, HD_A_WRITE, HD_CALLER); \
  if (!(writes)) hd__source_open(f);                                        \
  call;                                                                     \
  if (!(writes)) hd__source_close(f, HD_CALLER)

/* ---- blocks and lines ---- */

#define READ_BLOCK(name, LOCKS)                                                                     \
  HD_EXPORT size_t name(void *restrict p, size_t size, size_t n, FILE *restrict f) {                \
    hd__real_init();                                                                                \
    LOCKS(f, false, size_t r = real_##name(p, size, n, f); hd__source_copied(f, p, -1, HD_CALLER)); \
    WRITES(p, r *size);                                                                             \
    return r;                                                                                       \
  }
READ_BLOCK(fread, LOCKED)
READ_BLOCK(fread_unlocked, UNLOCKED)

#define WRITE_BLOCK(name, LOCKS)                                                           \
  HD_EXPORT size_t name(const void *restrict p, size_t size, size_t n, FILE *restrict f) { \
    hd__real_init();                                                                       \
    if (hot.active) p = hd__hold_bytes(p, size * n, HD_CALLER).at;                         \
    LOCKS(f, true, size_t r = real_##name(p, size, n, f));                                 \
    return r;                                                                              \
  }
WRITE_BLOCK(fwrite, LOCKED)
WRITE_BLOCK(fwrite_unlocked, UNLOCKED)

HD_EXPORT char *fgets(char *restrict d, int n, FILE *restrict f) {
  hd__real_init();
  LOCKED(f, false, char *r = real_fgets(d, n, f); hd__source_copied(f, r, '\n', HD_CALLER));
  if (hot.active && r) WRITES(r, real_strlen(r) + 1);
  return r;
}

HD_EXPORT int fputs(const char *restrict s, FILE *restrict f) {
  hd__real_init();
  s = READS_STRING(s);
  LOCKED(f, true, int r = real_fputs(s, f));
  return r;
}

HD_EXPORT int puts(const char *s) {
  hd__real_init();
  s = READS_STRING(s);
  LOCKED(stdout, true, int r = real_puts(s));
  return r;
}

HD_EXPORT void perror(const char *s) {
  hd__real_init();
  s = READS_STRING(s);
  LOCKED(stderr, true, real_perror(s));
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
  LOCKED_NEW(f, ssize_t r = real_getline(line, size, f);
             hd__source_copied(f, r < 0 ? NULL : *line, '\n', HD_CALLER));
  return line_read(line, size, old, old_size, r, HD_CALLER);
}

#define GET_DELIMITED(name)                                                                     \
  HD_EXPORT ssize_t name(char **restrict line, size_t *restrict size, int c, FILE *restrict f); \
  ssize_t name(char **restrict line, size_t *restrict size, int c, FILE *restrict f) {          \
    hd__real_init();                                                                            \
    char *old = *line;                                                                          \
    size_t old_size = *size;                                                                    \
    LOCKED_NEW(f, ssize_t r = real_##name(line, size, c, f);                                    \
               hd__source_copied(f, r < 0 ? NULL : *line, (unsigned char)c, HD_CALLER));        \
    return line_read(line, size, old, old_size, r, HD_CALLER);                                  \
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
  struct hd_held text = hot.active ? hd__hold_format(format, ap, pc) : (struct hd_held){0};
  hd__stream_begin(f, true, pc);
  int r = text.at ? (int)real_fwrite(text.at, 1, text.n, f) : real_vfprintf(f, format, ap);
  hd__stream_end(f, pc);
  return r;
}

static int print_fd(int fd, const char *format, va_list ap, uint64_t pc) {
  hd__real_init();
  if (hot.active) hd__hold_format(format, ap, pc);
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

static void scanned(int r, const char *format, va_list ap, uint64_t pc) {
  hd__writes_format(format, ap, r, pc);
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
    LOCKED_NEW(f, int r = real_##prefix##vfscanf(f, format, ap));                                            \
    scanned(r, format, again, HD_CALLER);                                                                    \
    va_end(again);                                                                                           \
    return r;                                                                                                \
  }                                                                                                          \
  int hd_rt_##prefix##vscanf(const char *format, va_list ap) {                                               \
    hd__real_init();                                                                                         \
    va_list again;                                                                                           \
    va_copy(again, ap);                                                                                      \
    LOCKED_NEW(stdin, int r = real_##prefix##vfscanf(stdin, format, ap));                                    \
    scanned(r, format, again, HD_CALLER);                                                                    \
    va_end(again);                                                                                           \
    return r;                                                                                                \
  }                                                                                                          \
  int hd_rt_##prefix##fscanf(FILE *f, const char *format, ...) {                                             \
    va_list ap, again;                                                                                       \
    hd__real_init();                                                                                         \
    va_start(ap, format);                                                                                    \
    va_copy(again, ap);                                                                                      \
    LOCKED_NEW(f, int r = real_##prefix##vfscanf(f, format, ap));                                            \
    scanned(r, format, again, HD_CALLER);                                                                    \
    va_end(again);                                                                                           \
    va_end(ap);                                                                                              \
    return r;                                                                                                \
  }                                                                                                          \
  int hd_rt_##prefix##scanf(const char *format, ...) {                                                       \
    va_list ap, again;                                                                                       \
    hd__real_init();                                                                                         \
    va_start(ap, format);                                                                                    \
    va_copy(again, ap);                                                                                      \
    LOCKED_NEW(stdin, int r = real_##prefix##vfscanf(stdin, format, ap));                                    \
    scanned(r, format, again, HD_CALLER);                                                                    \
    va_end(again);                                                                                           \
    va_end(ap);                                                                                              \
    return r;                                                                                                \
  }
SCAN()
SCAN(__isoc99_)
SCAN(__isoc23_)
