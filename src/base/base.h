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

/* Says the error on standard error and returns the exit code that belongs to it. */
int hd_err_exit(const struct hd_err *err);

/* A bug of ours: says where and ends with exit code 4. On in release builds too. */
#define HD_BUG_ON(cond)                                                   \
  do {                                                                    \
    if (__builtin_expect(!!(cond), 0)) hd_bug(__FILE__, __LINE__, #cond); \
  } while (0)
_Noreturn void hd_bug(const char *file, int line, const char *cond);

/* ---- messages on standard error, each one line that starts with "heddle: " ---- */

void hd_say(const char *fmt, ...) HD_PRINTF(1, 2);
void hd_warn(const char *fmt, ...) HD_PRINTF(1, 2);

/* Shows `line` as the live line at the bottom of the terminal; NULL takes it away. Messages move it. */
void hd_live_line(const char *line);

/* This process searches for a target: its name stands before the live line, and messages, a line each, are kept in
 * `messages` for who started it. They stay the caller's. */
struct hd_str;
void hd_speak_for(const char *name, struct hd_str *messages);

/* ---- memory; these never return NULL ---- */

void *hd_alloc(size_t size); /* zeroed */
void *hd_realloc(void *p, size_t size);
char *hd_strdup(const char *s);
char *hd_strndup(const char *s, size_t n);
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

/* Adds `s` as UTF-8 for people and parsers: what is no UTF-8 becomes '?', byte by byte, and so do control characters
 * but newlines and tabs. */
void hd_str_add_utf8(struct hd_str *b, const char *s);

/* The length of the UTF-8 sequence that `s` begins with; 0: that is none. Overlong forms, surrogates, control characters
 * beyond ASCII and the two noncharacters that XML forbids are none. */
size_t hd_utf8_length(const char *s);

/* Reads a whole word as a number; false when it is not one or is larger than `max`. */
bool hd_parse_u64(const char *s, int base, uint64_t max, uint64_t *out);

/* Shell-quotes `word` if it needs it. */
void hd_str_add_quoted(struct hd_str *b, const char *word);

/* ---- files ---- */

/* Reads the file whole (at most `max` bytes, more is an error); *data is NUL-terminated, the caller frees. */
int hd_read_file(const char *path, size_t max, char **data, size_t *len, struct hd_err *err);

/* Writes the file and syncs nothing: for files inside a folder that becomes visible by rename. */
int hd_write_file(const char *path, const void *data, size_t len, struct hd_err *err);

/* Writes `path` so that others see the old content or the new one, never half of it. */
int hd_write_file_atomic(const char *path, const void *data, size_t len, struct hd_err *err);

/* Writes all of it, whatever the kernel takes at a time. */
int hd_write_all(int fd, const void *data, size_t len);

/* Removes a folder and the plain files in it (no subfolders). */
void hd_remove_folder(const char *path);

/* `name` as an absolute path below the folder `cwd`, with "." components dropped; the caller frees. */
char *hd_absolute(const char *cwd, const char *name);

/* The current folder; the caller frees. NULL when it no longer exists. */
char *hd_cwd(void);

/* Seconds on a clock that only goes forward. */
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
  char *text;                       /* a string; of numbers and dates what is written, without underscores */
  int64_t integer;                  /* also 1 and 0 for true and false */
  double real;                      /* also of an integer */
  HD_VEC(struct hd_toml *) item;    /* of an array or table, in the order of the file */
  bool defined, dotted, closed, of; /* toml.c's own */
};

/* Reads a text; `name` is its file's, for messages, which begin with file:line:column. The caller frees *out. */
int hd_toml_parse(const char *text, size_t len, const char *name, struct hd_toml **out, struct hd_err *err);
void hd_toml_free(struct hd_toml *t);
/* The value of a key of a table; NULL: it has none. */
struct hd_toml *hd_toml_get(const struct hd_toml *table, const char *key);
/* An error at a place of the file, in one line whatever of the file it quotes. */
void hd_toml_fail(struct hd_err *err, const char *name, int line, int column, const char *fmt, va_list ap);
/* "a string", "a table". */
const char *hd_toml_kind(const struct hd_toml *t);

/* ---- inside src/base ---- */

/* The type of a bare word, or -1: it is no value. */
int hd__toml_word(const char *word);
/* The base of an integer by its first letters: 10, or 2, 8, 16. */
int hd__toml_base(const char *word);
/* The end of the date that the text begins with, or NULL. */
const char *hd__toml_after_date(const char *s);

#endif
