/* base.h: the supervisor's toolbox: memory, strings, vectors, errors, messages, files.
 *
 * Runs in the supervisor only; the runtime has its own, since it may use neither malloc nor stdio.
 * Running out of memory ends the supervisor with one line (exit 3): nothing useful can be done then. */
#ifndef HD_BASE_H
#define HD_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* ---- errors ---- */

/* Every class of mistake, with the exit code it leads to. HD_E<ID> is the negative exit code. */
#define HD_ERROR_MAP(X)                                                                  \
  X(USAGE, 2)    /* the user asked for something impossible */                           \
  X(ENV, 3)      /* the environment: no permission, no memory, a missing file of ours */ \
  X(INTERNAL, 4) /* a bug of ours */

enum hd_error_code {
  HD_OK = 0,
#define X(id, exit_code) HD_E##id = -(exit_code),
  HD_ERROR_MAP(X)
#undef X
};

struct hd_err {
  int code; /* HD_E* */
  char text[1024];
};

/* Fills in `err` and returns `code`, so that a caller can `return hd_fail(...)`. */
int hd_fail(struct hd_err *err, int code, const char *fmt, ...) HD_PRINTF(3, 4);

/* Prints the error on standard error and returns its exit code. */
int hd_err_exit(const struct hd_err *err);

/* A bug of ours: prints its location and ends with exit code 4. Enabled in release builds too. */
#define HD_BUG_ON(cond)                                                   \
  do {                                                                    \
    if (__builtin_expect(!!(cond), 0)) hd_bug(__FILE__, __LINE__, #cond); \
  } while (0)
_Noreturn void hd_bug(const char *file, int line, const char *cond);

/* ---- messages on standard error, each one line that starts with "heddle: " ---- */

void hd_say(const char *fmt, ...) HD_PRINTF(1, 2);
void hd_warn(const char *fmt, ...) HD_PRINTF(1, 2);

/* Shows `line` as the live line at the bottom of the terminal; NULL removes it. Messages appear above it. It may be several
 * lines, hd_live_rows at most, without a newline at the end. */
#define HD_LIVE_ROWS 4
#define HD_LIVE_ROOM 12 /* rows that a terminal must have for them */
void hd_live_line(const char *line);
unsigned hd_live_rows(void);

/* This process checks one target: the live line starts with the target's name, and messages are appended to
 * `messages`, one line each, for the parent process to print. The caller owns both arguments. */
struct hd_str;
void hd_speak_for(const char *name, struct hd_str *messages);

/* ---- memory; these never return NULL ---- */

void *hd_alloc(size_t size); /* zeroed */
void *hd_realloc(void *p, size_t size);
char *hd_strdup(const char *s);
char *hd_strndup(const char *s, size_t n);
/* What comes after the last slash. */
const char *hd_base_name(const char *path);
/* Compares two uint64_t, for qsort and bsearch. */
int hd_by_number(const void *a, const void *b);
char *hd_sprintf(const char *fmt, ...) HD_PRINTF(1, 2); /* the caller frees */

/* ---- vectors: HD_VEC(int) v = {0}; hd_vec_push(&v, 3); v.v[0]; v.n; hd_vec_free(&v) ---- */

#define HD_VEC(type) \
  struct {           \
    type *v;         \
    size_t n, cap;   \
  }
#define hd_vec_push(vec, item)                                                    \
  ((vec)->v = hd_vec_grow((vec)->v, &(vec)->cap, (vec)->n + 1, sizeof *(vec)->v), \
   (vec)->v[(vec)->n++] = (item))
#define hd_vec_free(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)
void *hd_vec_grow(void *v, size_t *cap, size_t need, size_t item);

/* ---- string buffer; `s` is always a C string ---- */

struct hd_str {
  char *s;
  size_t n, cap;
};

void hd_str_init(struct hd_str *b);
void hd_str_fini(struct hd_str *b);
void hd_str_clear(struct hd_str *b);
void hd_str_add(struct hd_str *b, const char *s);
void hd_str_addn(struct hd_str *b, const char *s, size_t n);
void hd_str_addc(struct hd_str *b, char c);
void hd_str_addf(struct hd_str *b, const char *fmt, ...) HD_PRINTF(2, 3);
void hd_str_vaddf(struct hd_str *b, const char *fmt, va_list ap);
char *hd_str_take(struct hd_str *b); /* instead of fini: the caller owns the string */

/* Adds `s` as valid UTF-8. Each invalid byte becomes '?', and so does each control character other than newline and
 * tab. */
void hd_str_add_utf8(struct hd_str *b, const char *s);

/* The length of the UTF-8 sequence that `s` begins with; 0: it is invalid. Overlong forms, surrogates, control
 * characters beyond ASCII and the two noncharacters that XML forbids count as invalid. */
size_t hd_utf8_length(const char *s);

/* Reads a whole word as a number; false when it is not one or is larger than `max`. */
bool hd_parse_u64(const char *s, int base, uint64_t max, uint64_t *out);

/* The name that a mistyped word was meant to be: struct hd_near n = {.word = w, .len = l}; hd_near_try(&n, name) for each;
 * n.best is the nearest, NULL if none is near. */
struct hd_near {
  const char *word;
  size_t len;
  const char *best;
  unsigned distance; /* of the best: letters to insert, delete, change or exchange with the next */
};
void hd_near_try(struct hd_near *n, const char *name);

/* Shell-quotes `word` if it needs it. */
void hd_str_add_quoted(struct hd_str *b, const char *word);

/* ---- files ---- */

/* Reads the whole file (more than `max` bytes are an error). *data is NUL-terminated; the caller frees. */
int hd_read_file(const char *path, size_t max, char **data, size_t *len, struct hd_err *err);

/* Writes the file in place, not atomically: for files inside a folder that becomes visible by rename. */
int hd_write_file(const char *path, const void *data, size_t len, struct hd_err *err);

/* Replaces `path` atomically: readers see the old content or the new. */
int hd_write_file_atomic(const char *path, const void *data, size_t len, struct hd_err *err);

/* Opens /dev/null in the place of standard descriptors that are closed, which other files would get else. */
int hd_open_standard(void);
/* Flushes standard output. Returns the errno of the last write to it that failed, or 0. */
int hd_output_error(void);

/* Writes all bytes, over as many write() calls as needed. */
int hd_write_all(int fd, const void *data, size_t len);

/* Removes a folder and the plain files in it (no subfolders). */
void hd_remove_folder(const char *path);

/* `name` as an absolute path below the folder `cwd`, with "." components dropped; the caller frees. */
char *hd_absolute(const char *cwd, const char *name);

/* The current folder; the caller frees. NULL when it no longer exists. */
char *hd_cwd(void);

/* Seconds on a monotonic clock. */
double hd_now(void);

/* ---- TOML 1.0 (toml.c) ---- */

enum hd_toml_type {
  HD_TOML_STRING,
  HD_TOML_INTEGER,
  HD_TOML_FLOAT,
  HD_TOML_BOOLEAN,
  HD_TOML_DATE, /* of any kind: with time, without, with or without a zone */
  HD_TOML_ARRAY,
  HD_TOML_TABLE,
};

struct hd_toml {
  enum hd_toml_type type;
  int line, column; /* where it begins, both from 1; columns count characters */
  char *key;        /* in a table: its name there; else NULL */
  int key_line, key_column;
  char *text;                    /* the string; for numbers and dates the source text without underscores */
  int64_t integer;               /* also 1 and 0 for true and false */
  double real;                   /* also set for an integer */
  HD_VEC(struct hd_toml *) item; /* of an array or table, in file order */
  bool defined, dotted, closed, of; /* toml.c's own */
};

/* Parses a text. `name` is its file name for messages, which begin with file:line:column. The caller frees *out. */
int hd_toml_parse(const char *text, size_t len, const char *name, struct hd_toml **out, struct hd_err *err);
void hd_toml_free(struct hd_toml *t);
/* The value of a key of a table; NULL: no such key. */
struct hd_toml *hd_toml_get(const struct hd_toml *table, const char *key);
/* An error at a place of the file, on one line even when it quotes several. */
void hd_toml_fail(struct hd_err *err, const char *name, int line, int column, const char *fmt, va_list ap);
/* "a string", "a table". */
const char *hd_toml_kind(const struct hd_toml *t);

/* ---- inside src/base ---- */

/* The type of a bare word; -1: it is not a value. */
int hd__toml_word(const char *word);
/* The base of an integer by its prefix: 10, or 2, 8, 16. */
int hd__toml_base(const char *word);
/* The end of the date that the text begins with, or NULL. */
const char *hd__toml_after_date(const char *s);

#endif
