/* test_trace.c: traces: what a recording becomes, which event saw which, and the formats. Damaged files are in
 * test_hostile.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "trace/trace_int.h"

#include <stdlib.h>

#define PC 0x401000
#define X 0x601000
#define LOCK 0x602000
#define COND 0x602040

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define EVP(t, o, f, s, x, v, ...)                                                                     \
  {                                                                                                    \
    .op = {.thread = t, .kind = HD_OP_##o, .size = s, .object = x, .pc = PC + HD_OP_##o, __VA_ARGS__}, \
    .flags = f, .value = v                                                                             \
  }
#define EV(t, o, f, s, x, v)                                                                          \
  {                                                                                                   \
    .op = {.thread = t, .kind = HD_OP_##o, .size = s, .object = x, .pc = PC + HD_OP_##o}, .flags = f, \
    .value = v                                                                                        \
  }
#define FOUND(v) .access = {.found = v, .known = 1}

static char *name(void *arg, uint64_t addr) {
  (void)arg;
  return addr == X ? hd_strdup("x") : addr == LOCK ? hd_strdup("the lock") : NULL;
}

static void locate(void *arg, uint64_t pc, char **file, uint32_t *line, char **function) {
  (void)arg;
  if (pc == PC + HD_OP_CREATE) return;
  *file = hd_strdup("src/a.c");
  *line = 7; /* the same of all, so that labels have to differ */
  *function = hd_strdup("f");
}

static struct hd_tr_source *record(const struct hd_event *e, size_t n) {
  return hd_tr_record(
      &(struct hd_tr_recording){.event = e, .n = n, .command = "./p 'a b'", .locate = locate, .name = name});
}

static char *write(struct hd_tr_source *s, enum hd_tr_format format, size_t *len) {
  char *out;
  struct hd_err err;
  FILE *f = open_memstream(&out, len);
  int rc = hd_tr_write(s, format, f, "memory", &err);
  if (rc != HD_OK) fail_msg("%s", err.text);
  fclose(f);
  hd_tr_close(s);
  return out;
}

static struct hd_tr_source *reopen(const char *data, size_t len) {
  char *copy = hd_alloc(len + 1);
  memcpy(copy, data, len);
  struct hd_tr_source *s;
  struct hd_err err;
  if (hd_tr_open(copy, len, "memory", &s, &err) != HD_OK) fail_msg("%s", err.text);
  return s;
}

static const struct hd_event story[] = {
    EV(0, START, 0, 0, 0, 0),
    EV(0, WRITE, HD_EV_PLAIN | HD_EV_VALUE, 4, X, 0xffffffff),
    EV(0, CREATE, 0, 0, 1, 0),
    EV(1, START, 0, 0, 1, 0),
    EV(1, CREATE, 0, 0, 2, 0),
    EV(1, LOCK, 0, 0, LOCK, 0),
    EV(1, READ, HD_EV_VALUE, 4, X, 0xffffffff),
    EVP(1, WAIT, 0, 0, COND, 0, .wait.mutex = LOCK),
    EV(0, TRYLOCK, 0, 0, LOCK, 0),
    EV(0, WRITE, HD_EV_VALUE, 1, X + 1, 7),
    EVP(0, SIGNAL, 0, 0, COND, 0, .wake.thread = 2),
    EV(0, UNLOCK, 0, 0, LOCK, 0),
    EV(1, WAKE, 0, 0, LOCK, 0),
    EV(1, READ, HD_EV_VALUE, 4, X, 0xffff07ff),
    EVP(2, ARMW, HD_EV_VALUE, 4, X, 0x10000, FOUND(0xffff07ff)),
    EVP(2, ACAS, HD_EV_FAILED | HD_EV_VALUE, 4, X, 0x10000,
        .access = {.found = 0x10000, .known = 1, .order = HD_MO_ACQUIRE}),
    EV(2, READ, HD_EV_VALUE, 2, X, 0),
    EV(2, TRYLOCK, HD_EV_FAILED, 0, LOCK, 0),
    EV(2, EXIT, 0, 0, 2, 0),
    EV(1, JOIN, 0, 0, 2, 0),
    EV(1, FREE, HD_EV_VALUE, 8192, X & ~4095ull, 5),
    EV(1, READ, 0, 1, X + 100, 0),
    {.op = {.thread = 1, .kind = HD_OP_CHOOSE, .size = 5, .pc = PC + HD_OP_CHOOSE},
     .choice = 3,
     .nchoices = 5},
    EVP(0, FENCE, HD_EV_PLAIN, 0, 0, 0, .access.order = HD_MO_SEQ_CST),
    EVP(0, BROADCAST, 0, 0, COND, 0, .wake.count = 7),
    EVP(0, SEMPOST, 0, 0, LOCK + 64, 0, .sem.value = 1ull << 40),
};

/* Which event each of them saw. */
static void versions(void **state) {
  (void)state;
  static const uint64_t from[COUNT(story)] = {0,  0,  0,  3,  0, 0, 2,  0, 8,  0, 0, 0, 12,
                                              10, 10, 15, 15, 0, 0, 19, 0, 21, 0, 0, 0, 0};
  struct hd_tr_source *s = record(story, COUNT(story));
  struct hd_event *e;
  struct hd_err err;
  size_t n;
  assert_int_equal(hd_tr_collect(s, &e, &n, &err), HD_OK);
  assert_int_equal(n, COUNT(story));
  for (size_t i = 0; i < n; i++)
    if (e[i].from != from[i])
      fail_msg("event %zu saw %llu, not %llu", i + 1, (unsigned long long)e[i].from,
               (unsigned long long)from[i]);
  free(e);
  hd_tr_close(s);
}

static const char text[] = "heddle-trace 3\n"
                           "command ./p%20'a%20b'\n"
                           "threads 3\n"
                           "thread T0 - f\n"
                           "thread T1 - f\n"
                           "thread T1.1 - -\n";

static void text_form(void **state) {
  (void)state;
  size_t n;
  char *out = write(record(story, COUNT(story)), HD_TR_TEXT, &n);
  assert_int_equal(strncmp(out, text, sizeof text - 1), 0);
  static const char *const lines[] = {
      "\nplace a.c:7 401001 src/a.c 7 f\n",
      "\nplace @401002 401002 - 0 -\n",
      "\nplace a.c:7~2 ",
      "\nobjects 2\nobject x 601000\nobject the%20lock 602000\n",
      "\n2 T0 write x 4 a.c:7~2 plain value=-1\n",
      "\n5 T1 create T1.1 0 @401002\n",
      "\n8 T1 wait @602040 0 a.c:7~5 mutex=the%20lock\n",
      "\n10 T0 write @601001 1 a.c:7~2 value=7\n",
      "\n11 T0 signal @602040 0 a.c:7~7 woke=T1\n",
      "\n14 T1 read x 4 a.c:7~4 value=-63489 from=10\n",
      "\n15 T1.1 atomic-rmw x 4 a.c:7~10 found=-63489 value=0x10000 from=10\n",
      "\n18 T1.1 trylock the%20lock 0 a.c:7~6 failed\n",
      "\n16 T1.1 atomic-cas x 4 a.c:7~11 failed order=acquire found=0x10000 value=0x10000 from=15\n",
      "\n23 T1 choose - 5 a.c:7~15 choice=3 choices=5\n24 T0 fence - 0 a.c:7~16 plain order=seq_cst\n",
      " woken=7\n",
      " had=1099511627776\nend\n",
  };
  for (size_t i = 0; i < COUNT(lines); i++)
    if (!strstr(out, lines[i])) fail_msg("there is no %s in\n%s", lines[i], out);
  free(out);
}

/* Binary to text to binary, and text to text: nothing is lost. */
static void round_trips(void **state) {
  (void)state;
  size_t n, m, k;
  char *binary = write(record(story, COUNT(story)), HD_TR_BINARY, &n);
  char *words = write(reopen(binary, n), HD_TR_TEXT, &m);
  char *again = write(reopen(words, m), HD_TR_BINARY, &k);
  assert_int_equal(k, n);
  assert_memory_equal(again, binary, n);
  free(again);
  again = write(record(story, COUNT(story)), HD_TR_TEXT, &k);
  assert_string_equal(again, words);
  free(again);
  free(words);
  free(binary);
}

/* Only what more than one thread touched, or what was an operation, is kept. */
static void filter(void **state) {
  (void)state;
  static const struct hd_event e[] = {
      EV(0, WRITE, HD_EV_PLAIN, 4, X, 0),
      EV(0, WRITE, HD_EV_PLAIN, 4, X + 64, 0),
      EV(0, CREATE, 0, 0, 1, 0),
      EV(1, READ, HD_EV_PLAIN, 1, X + 7, 0),
      EV(1, READ, HD_EV_PLAIN, 8, X + 128, 0),
      EV(1, READ, 0, 8, X + 256, 0),
      EV(1, READ, HD_EV_PLAIN, 16, X + 60, 0),
      EV(1, READ, HD_EV_PLAIN, 0, 0, 0),
  };
  static const uint8_t want[COUNT(e)] = {1, 1, 1, 1, 0, 1, 1, 0};
  uint8_t keep[COUNT(e)];
  hd_tr_keep_shared(e, COUNT(e), keep);
  assert_memory_equal(keep, want, sizeof want);
  struct hd_tr_source *s = hd_tr_record(&(struct hd_tr_recording){.event = e, .n = COUNT(e), .kept = keep});
  assert_int_equal(s->tables->nevents, 6);
  struct hd_event *all;
  struct hd_err err;
  size_t n;
  assert_int_equal(hd_tr_collect(s, &all, &n, &err), HD_OK);
  assert_int_equal(n, 6);
  assert_int_equal(all[5].from, 2);
  free(all);
  hd_tr_close(s);
}

/* Numbers of threads are used again: names are not. */
static void numbers_used_again(void **state) {
  (void)state;
  static const struct hd_event e[] = {
      EV(0, CREATE, 0, 0, 1, 0), EV(1, EXIT, 0, 0, 1, 0),   EV(0, JOIN, 0, 0, 1, 0),
      EV(0, CREATE, 0, 0, 1, 0), EV(1, CREATE, 0, 0, 2, 0), EV(2, YIELD, 0, 0, 0, 0),
      EV(5, YIELD, 0, 0, 0, 0),  EV(0, CREATE, 0, 0, 0, 0), EV(0, JOIN, 0, 0, 1, 0),
  };
  size_t n;
  char *out = write(record(e, COUNT(e)), HD_TR_TEXT, &n);
  assert_non_null(strstr(
      out, "threads 5\nthread T0 - -\nthread T1 - -\nthread T2 - -\nthread T2.1 - -\nthread #5 - -\n"));
  assert_non_null(strstr(out, "\n3 T0 join T1 "));
  assert_non_null(strstr(out, "\n6 T2.1 yield "));
  assert_non_null(strstr(out, "\n8 T0 create T0 ")); /* it failed */
  assert_non_null(strstr(out, "\n9 T0 join T2 "));
  free(out);
}

/* Long runs of the same cost next to nothing, and no value is too strange. */
static void compact(void **state) {
  (void)state;
  size_t n = 300000, len;
  struct hd_event *e = hd_alloc(n * sizeof *e);
  for (size_t i = 0; i < n; i++)
    e[i] = i % 3 == 2 ? (struct hd_event)EV(0, READ, HD_EV_VALUE, 4, X + 4 * (i % 1000), i)
                      : (struct hd_event)EV(i & 1, WRITE, HD_EV_VALUE, 8, LOCK, ~i);
  char *out = write(record(e, n), HD_TR_BINARY, &len);
  assert_in_range(len, 1, n / 2);
  struct hd_tr_source *a = record(e, n), *b = reopen(out, len);
  struct hd_event x, y;
  struct hd_err err;
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(hd_tr_next(a, &x, &err), 1);
    assert_int_equal(hd_tr_next(b, &y, &err), 1);
    if (x.value != y.value || x.from != y.from || x.place != y.place || x.flags != y.flags ||
        memcmp(&x.op, &y.op, sizeof x.op) != 0)
      fail_msg("event %zu is another one", i + 1);
  }
  assert_int_equal(hd_tr_next(b, &y, &err), 0);
  hd_tr_close(a);
  hd_tr_close(b);
  free(out);
  free(e);
}

/* A write of a gigabyte is one event, and is seen. */
static void large_writes(void **state) {
  (void)state;
  static const struct hd_event e[] = {
      EV(0, WRITE, 0, 1u << 30, X + 3, 0),  EV(0, WRITE, 0, 2, X + 5, 0),        EV(0, READ, 0, 1, X + 2, 0),
      EV(0, READ, 0, 1, X + 4, 0),          EV(0, READ, 0, 1, X + (1 << 29), 0), EV(0, READ, 0, 1, X + 6, 0),
      EV(0, READ, 0, 8, UINT64_MAX - 3, 0),
  };
  static const uint64_t from[COUNT(e)] = {0, 0, 0, 1, 1, 2, 0};
  struct hd_tr_source *s = record(e, COUNT(e));
  struct hd_event x;
  struct hd_err err;
  for (size_t i = 0; i < COUNT(e); i++) {
    assert_int_equal(hd_tr_next(s, &x, &err), 1);
    assert_int_equal(x.from, from[i]);
  }
  hd_tr_close(s);
}

static void refuse(const char *data, const char *message) {
  struct hd_tr_source *s = NULL;
  struct hd_tr_stat st = {0};
  struct hd_err err = {0};
  int rc = hd_tr_open(hd_strdup(data), strlen(data), "t", &s, &err);
  if (rc == HD_OK) rc = hd_tr_stat(s, &st, &err);
  assert_int_equal(rc, HD_EUSAGE);
  if (!strstr(err.text, message)) fail_msg("\"%s\" does not contain \"%s\"", err.text, message);
  free(st.thread);
  hd_tr_close(s);
}

#define HEAD "heddle-trace 3\ncommand -\nthreads 1\nthread T0 - -\nplaces 0\nobjects 1\nobject x 10\n"

static void wrong_text(void **state) {
  (void)state;
  refuse("", "not a trace");
  refuse("\177ELF\2\1\1", "a program, not a trace");
  refuse("heddle-trace 2\n", "another version");
  refuse("heddle-trace 3\ncommand a b\n", "t:2: ");
  refuse("heddle-trace 3\ncommand -\nthreads 0\n", "t:3: ");
  refuse("heddle-trace 3\ncommand -\nthreads 2\nthread T0 - -\nthread T0 - -\n", "t:5: ");
  refuse(HEAD "events 1\nend\n", "t:9: ");
  refuse(HEAD "events 0\n", "\"end\"");
  refuse(HEAD "events 0\nend\nend\n", "nothing after");
  refuse(HEAD "events 1\n2 T0 read x 4 -\nend\n", "an event");
  refuse(HEAD "events 1\n1 T1 read x 4 -\nend\n", "an event");
  refuse(HEAD "events 1\n1 T0 dance x 4 -\nend\n", "an event");
  refuse(HEAD "events 1\n1 T0 read y 4 -\nend\n", "an event");
  refuse(HEAD "events 1\n1 T0 read x 4 a.c:1\nend\n", "an event");
  refuse(HEAD "events 1\n1 T0 read x 4 - value=0x123456789\nend\n", "an event");
  refuse(HEAD "events 1\n1 T0 read x 4 - value=5 value=5\nend\n", "an event");
  refuse(HEAD "events 1\n1 T0 read x 4 - loud\nend\n", "an event");
  refuse(HEAD "events 1\n1 T0 read x 4 - from=1\nend\n", "later event");
  refuse(HEAD "events 1\n1 T0 lock x 4 - value=1\nend\n", "has none");
  refuse("T0|r(x)|1\nT0|x(x)|1\n", "t:2: expected");
  refuse("T0|r(x)|1\nT0|r|1\n", "t:2: expected");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions),     cmocka_unit_test(text_form),  cmocka_unit_test(round_trips),
      cmocka_unit_test(filter),       cmocka_unit_test(compact),    cmocka_unit_test(numbers_used_again),
      cmocka_unit_test(large_writes), cmocka_unit_test(wrong_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
