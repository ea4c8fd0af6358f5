/* sources.c: standard input, files and the environment as inputs. Runs in the tested process.
 *
 * A source is a file whose contents are an input, and whose length is another one. Each execution begins with a file that has
 * the values of both: for standard input one of this process, else the one that the program opens, which is restored as
 * every file that the program writes (kernel/files.c). What the program reads gets the symbols of its bytes.
 *
 * Rules
 *  1. A system call that reads a source decides how long the source is: that it reaches to the end of what was read, or its
 *     length, if less came than was asked for. So does one that asks for the length.
 *  2. The bytes that a call of `read` by the program stores have symbols. So have those in the buffer of a stream, which
 *     functions that the compiler has inlined read. Functions of stdio say what they consume, by positions in the file;
 *     what they do not say (fscanf, ungetc) becomes concrete, with its place.
 *  3. What is not known here (mappings, other processes, calls that write to the source) makes all of it concrete, and ends it
 *     as a source. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "model/syscalls.h"
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/symbolic/inputs.h"
#include "runtime/symbolic/library.h"
#include "runtime/symbolic/sources.h"

#define MAX_SOURCES 16
#define HAS_FILE 0x2000 /* _IO_IS_FILEBUF */
#define IN_BACKUP 0x100 /* _IO_IN_BACKUP: what was pushed back is read first */

struct source {
  uint64_t dev, ino;
  const struct hd_symbolic_input *content, *length;
  uint64_t n; /* its length in this execution */
  bool lost;  /* rule 3 */
};

unsigned hd__nsources;
static struct source source[MAX_SOURCES];

/* ---- contents ---- */

static bool is_source(const struct hd_symbolic_input *in, unsigned kinds) {
  return in->thread == 0 && (in->flags & kinds) && !(in->flags & HD_INPUT_LENGTH);
}

static void standard_input(void) {
  long fd = hd_sys3(SYS_memfd_create, "standard input", 0, 0);
  if (fd < 0) hd__fail(HD_RTE_ENVIRONMENT, 0, "cannot make a file for standard input (--symbolic-stdin)");
  if (fd == 0) return;
  hd_sys3(SYS_dup2, fd, 0, 0);
  hd_sys3(SYS_close, fd, 0, 0);
}

#define VARIABLE (HD_INPUT_NAME + HD_MAX_INPUT_SIZE + 2)

/* Of the environment that main gets: words, and room for the texts of variables that are inputs. Mapped before main, so that
 * the program's own mappings are where they are without. */
static char **environment, *texts;

static void map_environment(unsigned variables) {
  size_t n = 0;
  while (environ && environ[n]) n++;
  environment = hd__map((n + variables + 1) * sizeof *environment);
  texts = hd__map((size_t)variables * VARIABLE);
  if (!environment || !texts) hd__fail(HD_RTE_ENVIRONMENT, 0, "the system has no memory for the environment");
}

void hd__sources_init(void) {
  const struct hd_symbolic *s = hd__symbolic();
  unsigned variables = 0;
  bool input = false;
  if (!rt.config->symbolic) return;
  for (uint32_t i = 0; i < s->ninputs; i++) {
    input |= is_source(&s->input[i], HD_INPUT_STDIN);
    variables += is_source(&s->input[i], HD_INPUT_ENVIRONMENT);
  }
  if (input) standard_input();
  if (variables) map_environment(variables);
}

void hd__sources_begin(void) { hd__nsources = 0; }

static bool follows(void) { return rt.config->symbolic & HD_SYMBOLIC_FOLLOWED; }

static void add(const struct hd_symbolic_input *content, const struct hd_symbolic_input *length, uint64_t n,
                const struct stat *st) {
  if (!follows() || hd__nsources == MAX_SOURCES) return;
  source[hd__nsources++] =
      (struct source){.dev = st->st_dev, .ino = st->st_ino, .content = content, .length = length, .n = n};
}

_Noreturn static void cannot(const char *path, long e) {
  char text[HD_INPUT_NAME + 100];
  hd__format(text, sizeof text,
             "cannot write %s for --symbolic-file (error %d): name a file in a folder that is there", path,
             (int64_t)-e);
  hd__fail(HD_RTE_ENVIRONMENT, 0, text);
}

/* Its length in this execution, and the file with its contents. */
static void make_file(const struct hd_symbolic_input *in) {
  const struct hd_symbolic *s = hd__symbolic();
  struct stat st;
  const struct hd_symbolic_input *length =
      hd__input(8, in->name, HD_INPUT_RANGE | HD_INPUT_SIGNED | HD_INPUT_LENGTH, 0, in->size, 0);
  if (!length) return;
  uint64_t n = 0;
  hd__copy(&n, &s->bytes[length->at], 8);
  if (n > in->size) n = in->size;
  if (in->flags & HD_INPUT_STDIN) {
    hd_sys3(SYS_ftruncate, 0, 0, 0);
    hd_sys4(SYS_pwrite64, 0, &s->bytes[in->at], n, 0);
    hd_sys3(SYS_fstat, 0, &st, 0);
  } else {
    const char *path = in->name + sizeof HD_INPUT_FILE_NAME - 1;
    long e =
        hd__starts(in->name, HD_INPUT_FILE_NAME) ? hd__file_put(path, &s->bytes[in->at], n, &st) : -EINVAL;
    if (e < 0) cannot(path, e);
  }
  add(in, length, n, &st);
}

/* The environment gets a variable, in place of one with that name. */
static void make_variable(const struct hd_symbolic_input *in, unsigned number) {
  const struct hd_symbolic *s = hd__symbolic();
  const char *name = in->name + sizeof HD_INPUT_ENV_NAME - 1;
  size_t known = hd__strlen(name), n = 0, at = 0;
  if (!hd__starts(in->name, HD_INPUT_ENV_NAME) || !environment) return;
  for (; environ && environ[n]; n++) environment[n] = environ[n];
  environment[n] = NULL;
  environ = environment;
  while (at < n && !(hd__starts(environ[at], name) && environ[at][known] == '=')) at++;
  if (at == n) environ[n + 1] = NULL;
  char *text = environ[at] = texts + (size_t)number * VARIABLE;
  hd__copy(text, name, known);
  text[known] = '=';
  hd__copy(text + known + 1, &s->bytes[in->at], in->size);
  text[known + 1 + in->size] = 0;
  if (!follows()) return;
  hd__shadowed.active = 1;
  for (uint32_t i = 0; i < in->size; i++)
    hd__bytes_store((uint64_t)text + known + 1 + i, 1, hd__input_symbol(in, i, 1));
}

void hd__sources_make(void) {
  const struct hd_symbolic *s = hd__symbolic();
  if (!rt.config->symbolic) return;
  uint32_t n = s->ninputs, variables = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct hd_symbolic_input *in = &s->input[i];
    if (!is_source(in, HD_INPUT_SOURCES)) continue;
    in = hd__input(in->size, in->name, in->flags, 0, 0, 0);
    if (in && in->flags & HD_INPUT_ENVIRONMENT) make_variable(in, variables++);
    if (in && in->flags & (HD_INPUT_STDIN | HD_INPUT_FILE)) make_file(in);
  }
}

/* ---- what is known of them ---- */

static uint32_t symbol_at(const struct source *s, uint64_t at) {
  hd__shadowed.active = 1;
  return hd__input_symbol(s->content, (unsigned)at, 1);
}

static uint8_t value_at(const struct source *s, uint64_t at) {
  return hd__symbolic()->bytes[s->content->at + at];
}

/* The source has at least so many bytes. */
static void reaches(const struct source *s, uint64_t at, uint64_t pc) {
  hd__shadowed.active = 1;
  hd__condition(hd__expr_binary(HD_EXPR_ULE, 64, 0, hd__input_symbol(s->length, 0, 8), at, s->n),
                HD_WHY_LENGTH, pc);
}

static void fix_length(const struct source *s, uint64_t pc) {
  hd__shadowed.active = 1;
  hd__concrete(hd__input_symbol(s->length, 0, 8), HD_WHY_LENGTH, pc);
}

static void fix_bytes(const struct source *s, uint64_t from, uint64_t to, uint64_t pc) {
  for (uint64_t i = from; i < to && i < s->n; i++) hd__concrete(symbol_at(s, i), HD_WHY_READ, pc);
}

static void lose(struct source *s, uint64_t pc) {
  if (s->lost) return;
  fix_length(s, pc);
  fix_bytes(s, 0, s->n, pc);
  s->lost = true;
}

void hd__sources_lose(uint64_t pc) {
  for (unsigned i = 0; i < hd__nsources; i++) lose(&source[i], pc);
}

static struct source *source_of(uint64_t dev, uint64_t ino) {
  for (unsigned i = 0; i < hd__nsources; i++)
    if (source[i].dev == dev && source[i].ino == ino && !source[i].lost) return &source[i];
  return NULL;
}

static struct source *source_fd(long fd) {
  struct stat st;
  if ((int)fd < 0 || hd_sys3(SYS_fstat, (int)fd, &st, 0) < 0) return NULL;
  return source_of(st.st_dev, st.st_ino);
}

/* Memory got those bytes. */
static void place(const struct source *s, uint64_t from, uint64_t to, uint64_t n) {
  hd__bytes_clear(to, n);
  for (uint64_t i = 0; i < n && from + i < s->n; i++)
    if (*(const uint8_t *)(to + i) == value_at(s, from + i))
      hd__bytes_store(to + i, 1, symbol_at(s, from + i));
}

/* ---- system calls ---- */

void hd__source_direct(bool on) {
  if (HD_UNLIKELY(hd__nsources != 0)) rt.cur->symbolic.direct = on;
}

static void was_read(struct source *s, uint64_t from, const struct iovec *v, unsigned long nv, long r,
                     uint64_t pc) {
  uint64_t asked = 0, got = (uint64_t)r;
  for (unsigned long i = 0; i < nv; i++) asked += v[i].iov_len;
  if (got < asked)
    fix_length(s, pc);
  else
    reaches(s, from + got, pc);
  if (!rt.cur->symbolic.direct && !rt.cur->symbolic.source) return fix_bytes(s, from, from + got, pc);
  for (unsigned long i = 0; i < nv && got; i++) {
    uint64_t n = v[i].iov_len < got ? v[i].iov_len : got;
    place(s, from, (uint64_t)v[i].iov_base, n);
    from += n;
    got -= n;
  }
}

/* The file whose attributes a call has told; NULL: it did not ask, or it is none of ours. */
static struct source *source_told(long nr, const long *a) {
  const struct stat *st = nr == SYS_newfstatat                                   ? (const void *)a[2]
                          : nr == SYS_stat || nr == SYS_lstat || nr == SYS_fstat ? (const void *)a[1]
                                                                                 : NULL;
  if (st) return source_of(st->st_dev, st->st_ino);
  if (nr != SYS_statx) return NULL;
  const struct statx *x = (const void *)a[4];
  return source_of(makedev(x->stx_dev_major, x->stx_dev_minor), x->stx_ino);
}

static bool reads(long nr) {
  return nr == SYS_read || nr == SYS_readv || nr == SYS_pread64 || nr == SYS_preadv || nr == SYS_preadv2;
}

static void after_read(struct source *s, long nr, const long *a, long r, uint64_t pc) {
  struct iovec one = {(void *)a[1], (size_t)a[2]};
  bool block = nr == SYS_read || nr == SYS_pread64,
       moves = nr == SYS_read || nr == SYS_readv || (nr == SYS_preadv2 && a[3] == -1);
  uint64_t from = (uint64_t)(moves ? hd_sys3(SYS_lseek, a[0], 0, SEEK_CUR) - r : a[3]);
  was_read(s, from, block ? &one : (const struct iovec *)a[1], block ? 1 : (unsigned long)a[2], r, pc);
}

void hd__sources_called_slow(long nr, const long *a, long r, uint64_t pc) {
  const struct hd_syscall *what = hd_syscall(nr);
  struct source *s;
  if ((r < 0 && r > -4096) || !hot.active) return;
  if (nr == SYS_mmap) {
    if (!(a[3] & MAP_ANONYMOUS) && (s = source_fd(a[4]))) lose(s, pc);
    return;
  }
  if ((s = source_told(nr, a))) {
    if (!rt.cur->symbolic.source) fix_length(s, pc); /* stdio asks for the size of a block */
    return;
  }
  switch (what->class) {
    case HD_CALL_UNKNOWN: return hd__sources_lose(pc);
    case HD_CALL_MOVE:
      for (int i = 0; i < 3; i++)
        if ((s = source_fd(a[i]))) lose(s, pc);
      return;
    case HD_CALL_IN:
    case HD_CALL_LOOK:
      if (reads(nr) && (s = source_fd(a[0]))) after_read(s, nr, a, r, pc);
      return;
    case HD_CALL_POSITION:
      if (a[2] > SEEK_CUR && (s = source_fd(a[0]))) fix_length(s, pc);
      return;
    case HD_CALL_USE:
      if (nr == SYS_ioctl && a[1] == FIONREAD && (s = source_fd(a[0]))) fix_length(s, pc);
      return;
    case HD_CALL_OUT:
    case HD_CALL_CONTENTS:
      if ((s = source_fd(a[what->fd]))) lose(s, pc);
      return;
    default: return;
  }
}

/* ---- stdio ---- */

/* Of the next character, as the stream's functions see it. */
static uint64_t position(const FILE *f) {
  long at = hd_sys3(SYS_lseek, f->_fileno, 0, SEEK_CUR);
  long ahead = f->_IO_read_end - f->_IO_read_ptr;
  if (f->_flags & IN_BACKUP) ahead += f->_IO_save_end - f->_IO_save_base;
  return at > ahead ? (uint64_t)(at - ahead) : 0;
}

static struct source *stream_source(const FILE *f) {
  return f && (f->_flags & HAS_FILE) && f->_fileno >= 0 ? source_fd(f->_fileno) : NULL;
}

void hd__source_open_slow(FILE *f) {
  if (!hot.active || rt.cur->symbolic.source) return; /* inside another one */
  struct source *s = stream_source(f);
  rt.cur->symbolic.source = s ? (uint8_t)(s - source + 1) : 0;
  rt.cur->symbolic.told = false;
  if (s) rt.cur->symbolic.from = position(f);
}

/* The source of the call under way, unless it was said what it consumed. */
static struct source *under_way(void) {
  unsigned i = rt.cur->symbolic.source;
  return hot.active && i && i <= hd__nsources && !rt.cur->symbolic.told ? &source[i - 1] : NULL;
}

void hd__source_close_slow(FILE *f, uint64_t pc) {
  struct source *s = under_way();
  if (s) {
    uint64_t from = rt.cur->symbolic.from, to = position(f);
    fix_bytes(s, from < to ? from : to, (from < to ? to : from) + 1, pc);
  }
  if (hot.active) rt.cur->symbolic.source = 0;
}

void hd__source_copied_slow(FILE *f, void *p, int until, uint64_t pc) {
  struct source *s = under_way();
  if (!s) return;
  uint64_t from = rt.cur->symbolic.from, to = position(f), n = to - from;
  rt.cur->symbolic.told = true;
  if (to < from || !p) return;
  place(s, from, (uint64_t)p, n);
  if (until >= 0) hd__library_search(p, n, until, false, pc);
}

void hd__source_one_slow(FILE *f, int c) {
  struct source *s = under_way();
  if (!s) return;
  uint64_t at = position(f) - 1;
  rt.cur->symbolic.told = true;
  bool same = c >= 0 && at < s->n && value_at(s, at) == c;
  rt.cur->symbolic.one = same ? hd__expr_cast(HD_EXPR_ZEXT, 8, 32, 0, symbol_at(s, at)) : 0;
}

void hd__source_result_slow(void) {
  if (!hot.active || !rt.cur->symbolic.one) return;
  hd__library_give(rt.cur->symbolic.one);
  rt.cur->symbolic.one = 0;
}

void hd__source_moved(void) {
  if (HD_UNLIKELY(hd__nsources != 0) && hot.active) rt.cur->symbolic.told = true;
}
