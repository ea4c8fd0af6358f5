/* shapes.h: the frame of the programs that show every shape of an access to Heddle (../test_shapes.py).
 *
 * A shape is code that accesses bytes LO to HI of memory at `p`, or of a variable of its own that another thread
 * knows. Beside it another thread touches one byte, in one of these ways:
 *
 *   first, last   the first or last byte, without order: a data race, reported in first_NAME or last_NAME
 *   outside       the bytes before and after: no race
 *   locked        both bytes, and the shape runs under the same lock: no race
 *
 * usage: program MODE [NAME...]    all shapes, or these; without arguments: their names */
#ifndef SHAPES_H
#define SHAPES_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 512
#define MARGIN 64
/* A function of which its callers know nothing. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

enum mode { FIRST, LAST, OUTSIDE, LOCKED };
static const char *const modes[] = {"first", "last", "outside", "locked"};

static enum mode mode;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread volatile int sink; /* what must not be optimised away */
static __thread char *volatile keep;
static int n_unknown = 40;   /* values that the compiler does not know */
static long long some = 12345;

static void enter(void) {
  if (mode == LOCKED) pthread_mutex_lock(&lock);
}
static void leave(void) {
  if (mode == LOCKED) pthread_mutex_unlock(&lock);
}

struct shape {
  const char *name;
  int writes, lo, hi;
  void (*code)(char *p, char *q);   /* of memory that it is given; or */
  void (*own)(void *(*beside)(void *)); /* of a variable of its own */
  void (*first)(char *p);
  void (*last)(char *p);
};

static const struct shape *now;

/* A read conflicts with a write, a write with both. */
#define TOUCH(p, at, writes)    \
  do {                          \
    if (writes)                 \
      sink += (p)[at];          \
    else                        \
      (p)[at] = (char)(sink + 1); \
  } while (0)

/* TOUCHERS(name, writes, lo, hi): the functions that race with the shape. */
#define TOUCHERS(name, writes, lo, hi)                                     \
  static NOINLINE void first_##name(char *p) { TOUCH(p, lo, writes); }     \
  static NOINLINE void last_##name(char *p) { TOUCH(p, hi, writes); }

static NOINLINE void outside(char *p, int lo, int hi, int writes) {
  TOUCH(p, lo - 1, writes);
  TOUCH(p, hi + 1, writes);
}

static void touch(char *p) {
  enter();
  if (mode == FIRST || mode == LOCKED) now->first(p);
  if (mode == LAST || mode == LOCKED) now->last(p);
  if (mode == OUTSIDE) outside(p, now->lo, now->hi, now->writes);
  leave();
}

static void *beside(void *p) {
  touch((char *)p);
  return NULL;
}

static void *worker(void *p) {
  enter();
  now->code((char *)p, (char *)p + SIZE);
  leave();
  return NULL;
}

static void run(const struct shape *s) {
  static char memory[2 * SIZE + 2 * MARGIN] __attribute__((aligned(64)));
  now = s;
  if (s->own) {
    s->own(beside);
    return;
  }
  memset(memory, 0, sizeof memory);
  pthread_t t;
  pthread_create(&t, NULL, worker, memory + MARGIN);
  touch(memory + MARGIN);
  pthread_join(t, NULL);
}

extern const struct shape __start_shapes[], __stop_shapes[];

int main(int argc, char **argv) {
  if (argc >= 2)
    while (strcmp(modes[mode], argv[1])) mode = (enum mode)(mode + 1);
  for (const struct shape *s = __start_shapes; s < __stop_shapes; s++) {
    if (argc < 2) puts(s->name);
    int wanted = argc == 2;
    for (int k = 2; k < argc; k++) wanted |= !strcmp(argv[k], s->name);
    if (wanted) run(s);
  }
  return 0;
}

/* One line each, so that reports tell them apart; the linker collects them. */
#define ENTRY(name, ...)                                                                          \
  static const struct shape entry_##name __attribute__((section("shapes"), used, aligned(8))) = { \
      #name, __VA_ARGS__, first_##name, last_##name};

/* SHAPE(name, whether it writes, first byte, last byte, code): accesses memory at p; q is memory of its own. */
#define SHAPE(name, writes, lo, hi, ...)                   \
  TOUCHERS(name, writes, lo, hi)                           \
  static NOINLINE void do_##name(char *p, char *q) {       \
    (void)p, (void)q;                                      \
    __VA_ARGS__;                                           \
  }                                                        \
  ENTRY(name, writes, lo, hi, do_##name, NULL)

/* In a type that is an argument of a macro. */
#define COMMA ,

/* OWN(..., type, code): accesses the variable f.x of that type, which another thread knows. */
#define OWN(name, writes, lo, hi, type, ...)                                     \
  TOUCHERS(name, writes, lo, hi)                                                 \
  static NOINLINE void do_##name(void *(*fn)(void *)) {                          \
    struct {                                                                     \
      char before[MARGIN];                                                       \
      type x;                                                                    \
      char after[MARGIN];                                                        \
    } f;                                                                         \
    memset((void *)&f, 0, sizeof f);                                             \
    pthread_t other;                                                             \
    pthread_create(&other, NULL, fn, (void *)&f.x);                              \
    enter();                                                                     \
    __VA_ARGS__;                                                                 \
    leave();                                                                     \
    pthread_join(other, NULL);                                                   \
  }                                                                              \
  ENTRY(name, writes, lo, hi, NULL, do_##name)

#endif
