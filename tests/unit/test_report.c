/* test_report.c: from records to findings: this test symbolizes itself. */
#include "report/report_int.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct hd_module modules[HD_MAX_MODULES];
static size_t nmodules;
static char self[HD_PATH_MAX];
static struct hd_symbolizer *sym;

int hd_test_table[8]; /* a global with a symbol of its own */
const volatile long hd_test_plain = 1;
struct {
  char name[8];
  struct {
    int x, y;
  } place;
  pthread_mutex_t lock;
} hd_test_parts[2];

static int add_module(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size, (void)arg;
  struct hd_module *m = &modules[nmodules++];
  m->base = info->dlpi_addr;
  m->start = UINT64_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uint64_t lo = info->dlpi_addr + p->p_vaddr;
    if (p->p_type != PT_LOAD) continue;
    if (lo < m->start) m->start = lo;
    if (lo + p->p_memsz > m->end) m->end = lo + p->p_memsz;
  }
  strncpy(m->path, info->dlpi_name, sizeof m->path - 1);
  return nmodules == HD_MAX_MODULES;
}

static int setup(void **state) {
  (void)state;
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) return -1;
  dl_iterate_phdr(add_module, NULL);
  sym = hd_symbolizer_new(modules, nmodules, self, "/nowhere");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  hd_symbolizer_free(sym);
  return 0;
}

__attribute__((always_inline)) static inline uint64_t inlined_here(void) {
  uint64_t pc;
  __asm__ volatile("lea 0(%%rip), %0\n\tnop" : "=r"(pc)); /* the address of the nop */
  return pc;
}

__attribute__((noinline)) static uint64_t outer(void) { return inlined_here(); }

static const char *base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

static void inlined_calls_are_frames(void **state) {
  (void)state;
  struct hd_frames f = {0};
  hd_symbolize_pc(sym, outer(), true, &f);
  assert_int_equal(f.n, 2);
  assert_string_equal(f.v[0].function, "inlined_here");
  assert_true(f.v[0].inlined);
  assert_string_equal(f.v[1].function, "outer");
  assert_false(f.v[1].inlined);
  assert_string_equal(base_name(f.v[0].file), "test_report.c");
  assert_string_equal(base_name(f.v[1].file), "test_report.c");
  assert_true(f.v[1].line > f.v[0].line);
  hd_frames_free(&f);
}

static void unknown_addresses_stay_frames(void **state) {
  (void)state;
  struct hd_frames f = {0};
  hd_symbolize_pc(sym, 0x10, false, &f);
  assert_int_equal(f.n, 1);
  assert_null(f.v[0].function);
  assert_null(f.v[0].file);
  hd_frames_free(&f);
}

static void objects_have_names(void **state) {
  (void)state;
  const struct {
    const void *at;
    const char *name;
  } object[] = {
      {hd_test_table, "hd_test_table[0]"},
      {&hd_test_table[4], "hd_test_table[4]"},
      {(char *)&hd_test_table[4] + 1, "hd_test_table[4]+1"},
      {&hd_test_parts[1].place.y, "hd_test_parts[1].place.y"},
      {&hd_test_parts[0], "hd_test_parts[0].name[0]"},
      {&hd_test_parts[1].lock, "hd_test_parts[1].lock"},
      {(char *)&hd_test_parts[1].lock + 8, "hd_test_parts[1].lock+8"},
      {(const void *)&hd_test_plain, "hd_test_plain"},
  };
  for (size_t i = 0; i < sizeof object / sizeof *object; i++) {
    char *name = hd_symbolize_object(sym, (uint64_t)object[i].at);
    assert_string_equal(name, object[i].name);
    free(name);
  }
  int local = 0;
  assert_null(hd_symbolize_object(sym, (uint64_t)&local));
}

static void add_site(struct hd_finding_rec *r, int role, int op, unsigned thread, int peer, uint64_t object) {
  struct hd_site *s = &r->site[r->nsites++];
  *s = (struct hd_site){.role = (uint8_t)role,
                        .op = (uint8_t)op,
                        .thread = (uint16_t)thread,
                        .peer = (uint16_t)peer,
                        .size = 4,
                        .object = object,
                        .npc = 1,
                        .flags = HD_SITE_EXACT};
  s->pc[0] = outer();
}

static struct hd_finding_rec *record(enum hd_kind kind) {
  struct hd_finding_rec *r = hd_alloc(sizeof *r);
  r->kind = kind;
  r->nthreads = 3;
  r->thread[1] = (struct hd_thread_rec){.parent = 0, .nth = 1};
  r->thread[2] = (struct hd_thread_rec){.parent = 0, .nth = 2};
  return r;
}

/* The text of the finding contains `want`. */
static void shows(const struct hd_finding_rec *r, const char *want) {
  struct hd_finding *f = hd_finding_new(r, sym);
  struct hd_str text;
  hd_str_init(&text);
  hd_text_finding(&text, f, HD_STYLE_PLAIN);
  if (!strstr(text.s, want)) fail_msg("\"%s\" not in:\n%s", want, text.s);
  hd_str_fini(&text);
  hd_finding_free(f);
}

static void a_race_names_both_accesses(void **state) {
  (void)state;
  struct hd_finding_rec *r = record(HD_KIND_DATA_RACE);
  add_site(r, HD_ROLE_AT, HD_OP_WRITE, 1, 0xffff, (uint64_t)hd_test_table);
  add_site(r, HD_ROLE_PREVIOUS, HD_OP_READ, 2, 0xffff, (uint64_t)hd_test_table);
  shows(r, "heddle: data race on `hd_test_table[0]` (4 bytes)\n");
  shows(r, "  T1 write ");
  shows(r, "  T2 read ");
  shows(r, "(previous access)");
  free(r);
}

static void a_deadlock_names_its_cycle(void **state) {
  (void)state;
  struct hd_finding_rec *r = record(HD_KIND_DEADLOCK);
  add_site(r, HD_ROLE_WAITS, HD_OP_JOIN, 0, 1, 1);
  add_site(r, HD_ROLE_WAITS, HD_OP_LOCK, 1, 2, (uint64_t)hd_test_table);
  add_site(r, HD_ROLE_HOLDS, HD_OP_LOCK, 2, 0xffff, (uint64_t)hd_test_table);
  add_site(r, HD_ROLE_WAITS, HD_OP_LOCK, 2, 1, (uint64_t)&hd_test_table[2]);
  shows(r, "deadlock: T0, T1 and T2 wait forever");
  shows(r, "cycle: T1 -> `hd_test_table[0]` -> T2 -> `hd_test_table[2]` -> T1\n");
  shows(r, "  T0 waits for T1 to end");
  shows(r, "  T1 waits for `hd_test_table[0]`, held by T2");
  shows(r, "  T2 took `hd_test_table[0]`");
  free(r);
}

static void titles_of_other_kinds(void **state) {
  (void)state;
  struct hd_finding_rec *r = record(HD_KIND_CRASH);
  r->signal = SIGSEGV;
  r->fault_addr = 0x10;
  shows(r, "heddle: crash: SIGSEGV at address 0x10\n");
  r->partial = 1;
  shows(r, "heddle: crash: SIGSEGV\n");
  free(r);
  r = record(HD_KIND_ASSERTION);
  strcpy(r->text, "a.c:3: f: `x == 2'");
  shows(r, "heddle: assertion failed: x == 2\n");
  free(r);
  r = record(HD_KIND_EXIT);
  r->status = 3;
  shows(r, "heddle: exit with status 3\n");
  free(r);
  r = record(HD_KIND_LEAK);
  r->leaked_bytes = 32;
  r->leaked_blocks = 1;
  shows(r, "heddle: memory leak: 32 bytes in 1 block\n");
  free(r);
}

static void identity_does_not_depend_on_the_order_of_threads(void **state) {
  (void)state;
  struct hd_finding_rec *a = record(HD_KIND_DATA_RACE), *b = record(HD_KIND_DATA_RACE);
  add_site(a, HD_ROLE_AT, HD_OP_WRITE, 1, 0xffff, 8);
  add_site(a, HD_ROLE_PREVIOUS, HD_OP_READ, 2, 0xffff, 8);
  a->site[1].pc[0] = (uint64_t)titles_of_other_kinds;
  add_site(b, HD_ROLE_AT, HD_OP_READ, 2, 0xffff, 8);
  add_site(b, HD_ROLE_PREVIOUS, HD_OP_WRITE, 1, 0xffff, 8);
  b->site[0].pc[0] = (uint64_t)titles_of_other_kinds;
  struct hd_finding *x = hd_finding_new(a, sym), *y = hd_finding_new(b, sym);
  char *i = hd_finding_identity(x), *j = hd_finding_identity(y);
  assert_string_equal(i, j);
  assert_int_equal(strncmp(i, "data-race ", 10), 0);
  free(i);
  free(j);
  hd_finding_free(x);
  hd_finding_free(y);
  free(a);
  free(b);
}

static void json_has_the_documented_keys(void **state) {
  (void)state;
  struct hd_finding_rec *r = record(HD_KIND_DATA_RACE);
  add_site(r, HD_ROLE_AT, HD_OP_WRITE, 1, 0xffff, (uint64_t)hd_test_table);
  struct hd_finding *f = hd_finding_new(r, sym);
  char *command[] = {(char *)"./p", NULL};
  struct hd_summary sum = {
      .command = command, .strategy = "random", .executions = 5, .findings = &f, .nfindings = 1};
  json_t *o = hd_json_summary(&sum);
  static const char *const keys[] = {"heddle",   "command", "strategy",   "verdict",
                                     "complete", "bound",   "executions", "blocked",
                                     "events",   "threads", "seconds",    "executions_per_second",
                                     "seed",     "findings"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) assert_non_null(json_object_get(o, keys[i]));
  assert_string_equal(json_string_value(json_object_get(o, "verdict")), "bug");
  json_t *where =
      json_array_get(json_object_get(json_array_get(json_object_get(o, "findings"), 0), "where"), 0);
  assert_string_equal(json_string_value(json_object_get(where, "thread")), "T1");
  assert_string_equal(json_string_value(json_object_get(where, "function")), "inlined_here");
  assert_string_equal(json_string_value(json_object_get(where, "role")), "at");
  assert_int_equal(json_array_size(json_object_get(where, "stack")), 2);
  json_decref(o);
  sum.nfindings = 0;
  assert_int_equal(hd_summary_verdict(&sum), HD_VERDICT_BOUNDED);
  sum.complete = true;
  assert_int_equal(hd_summary_verdict(&sum), HD_VERDICT_CLEAN);
  hd_finding_free(f);
  free(r);
}

/* The text of a summary. The caller frees. */
static char *summary_text(const struct hd_summary *sum) {
  struct hd_str out;
  hd_str_init(&out);
  hd_text_summary(&out, sum, HD_STYLE_PLAIN);
  return hd_str_take(&out);
}

static void a_summary_says_what_was_covered(void **state) {
  (void)state;
  static const struct {
    struct hd_summary sum;
    const char *says, *not ;
  } cases[] = {
      {{.strategy = "auto", .systematic = true, .complete = true},
       "complete: every schedule was covered",
       "--time"},
      {{.strategy = "auto",
        .systematic = true,
        .stop = HD_STOP_TIME,
        .time_limit = 60,
        .time_default = true,
        .seconds = 60.01},
       "nothing found; bounded: stopped after 60.0 s, not every schedule\n",
       "stopped by --time"},
      {{.strategy = "auto", .systematic = true, .stop = HD_STOP_TIME, .time_limit = 60, .time_default = true},
       "  60 s is the default: --time 10m searches longer, --strategy optimal runs to the end\n",
       "by strategy"},
      {{.strategy = "auto", .systematic = true, .stop = HD_STOP_TIME, .time_limit = 60, .seconds = 60},
       "bounded: stopped by --time after 60.0 s, not every schedule\n",
       "default"},
      {{.strategy = "optimal", .systematic = true, .stop = HD_STOP_EXECUTIONS, .asked = 7},
       "bounded: stopped by --max-executions after 7, not every schedule\n",
       "complete"},
      {{.strategy = "optimal",
        .systematic = true,
        .reason =
            {{.what = HD_INEXACT_LENGTH, .count = 2, .detail = "100", .file = (char *)"a.c", .line = 7}},
        .nreasons = 1},
       "bounded: the search ended, but it is not complete\n",
       "complete:"},
      {{.strategy = "pct", .stop = HD_STOP_TIME, .seconds = 5},
       "bounded: 5.0 s of the pct strategy, not every schedule\n",
       "stopped"},
      {{.strategy = "dfs",
        .systematic = true,
        .bound_kind = HD_BOUND_PREEMPTIONS,
        .bound = 2,
        .bound_done = true},
       "nothing found; bounded: complete for all schedules with at most 2 preemptions\n",
       "not every"},
      {{.strategy = "dfs", .systematic = true, .bound_kind = HD_BOUND_DELAYS, .bound_done = true},
       "nothing found; bounded: complete for all schedules without delays\n",
       "not every"},
      {{.strategy = "dfs",
        .systematic = true,
        .bound_kind = HD_BOUND_DELAYS,
        .bound = 1,
        .bound_done = true,
        .stop = HD_STOP_INTERRUPTED},
       "stopped: interrupted, complete for all schedules with at most 1 delay\n",
       "not every"},
      {{.strategy = "dfs",
        .systematic = true,
        .bound_kind = HD_BOUND_PREEMPTIONS,
        .bound = 3,
        .stop = HD_STOP_EXECUTIONS,
        .asked = 7},
       "stopped by --max-executions after 7, not every schedule with at most 3 preemptions\n",
       "complete"},
      {{.strategy = "optimal", .systematic = true, .executions = 12, .at_least = 15, .stop = HD_STOP_TIME},
       "  a complete search has at least 15 executions, and may have many times more\n",
       "e+"},
      {{.strategy = "pct", .executions = 1},
       "bounded: 1 execution of the pct strategy, not every schedule\n",
       "complete"},
      {{.strategy = "auto", .phase = {{"optimal", 120, 0}, {"random", 30, 2}, {"pct", 1, 1}, {"pos", 0, 0}}},
       "  by strategy: optimal 120, random 30 (2 findings), pct 1 (1 finding)\n",
       "pos"},
      {{.strategy = "auto", .phase = {{"optimal", 20, 1}, {"random", 0, 0}}}, "nothing found", "by strategy"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text = summary_text(&cases[i].sum);
    assert_non_null(strstr(text, cases[i].says));
    assert_null(strstr(text, cases[i].not ));
    free(text);
  }
}

/* Every reason has a name of its own, and reads well for one and for many. */
static void reasons_have_words(void **state) {
  (void)state;
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++) {
    for (unsigned count = 1; count <= 2; count++) {
      struct hd_str out;
      hd_str_init(&out);
      hd_reason_text(&out, &(struct hd_reason){.what = (enum hd_inexact)i, .count = count, .detail = "7 s"});
      assert_true(out.n > 10);
      assert_null(strpbrk(out.s, "#${|}:\n"));
      hd_str_fini(&out);
    }
    for (unsigned k = 0; k < i; k++)
      assert_string_not_equal(hd_reason_name((enum hd_inexact)i), hd_reason_name((enum hd_inexact)k));
  }
}

static void a_summary_lists_its_reasons(void **state) {
  (void)state;
  struct hd_summary sum = {
      .strategy = "optimal",
      .systematic = true,
      .reason = {{.what = HD_INEXACT_BOUND, .count = 1, .detail = "2 preemptions"},
                 {.what = HD_INEXACT_LENGTH, .count = 3, .detail = "100000"},
                 {.what = HD_INEXACT_SPIN_PLACES, .count = 9, .file = (char *)"ring.c", .line = 41}},
      .nreasons = 3,
  };
  char *text = summary_text(&sum);
  assert_non_null(strstr(text,
                         "  not complete, because:\n"
                         "    - 3 executions were longer than --max-length 100000 steps: raise it, or\n"
                         "      shorten the test\n"
                         "    - a loop that waits on more than four places was scheduled approximately\n"
                         "      (ring.c:41): wait on fewer places, or use a condition variable\n"));
  assert_null(strstr(text, "preemptions")); /* what the first line is about is not listed */
  free(text);
  json_t *all = hd_json_reasons(&sum), *where;
  assert_int_equal(json_array_size(all), 3);
  assert_string_equal(json_string_value(json_object_get(json_array_get(all, 0), "text")),
                      "schedules with more than 2 preemptions were left out");
  where = json_object_get(json_array_get(all, 2), "where");
  assert_int_equal(json_integer_value(json_object_get(where, "line")), 41);
  assert_true(json_is_null(json_object_get(json_array_get(all, 1), "where")));
  json_decref(all);
}

/* A search is complete exactly when there is no reason against it. */
static void a_search_is_judged_by_its_reasons(void **state) {
  (void)state;
  static const struct {
    struct hd_summary sum;
    struct hd_evidence e;
    int reason; /* -1: none */
  } cases[] = {
      {{.systematic = true}, {.over = true}, -1},
      {{.systematic = true, .stop = HD_STOP_FOUND}, {.over = true}, -1},
      {{.systematic = true, .stop = HD_STOP_FOUND}, {.over = false}, HD_INEXACT_FIRST_FINDING},
      {{.systematic = true, .before = 1}, {.over = false}, HD_INEXACT_FIRST_FINDING},
      {{.systematic = true, .stop = HD_STOP_TIME}, {.over = false}, HD_INEXACT_TIME},
      {{.systematic = true, .stop = HD_STOP_EXECUTIONS}, {.over = false}, HD_INEXACT_EXECUTIONS},
      {{.systematic = true, .stop = HD_STOP_INTERRUPTED}, {.over = false}, HD_INEXACT_INTERRUPTED},
      {{.systematic = true, .stop = HD_STOP_CRASH_LOOP}, {.over = false}, HD_INEXACT_CRASH_LOOP},
      {{.systematic = true, .stop = HD_STOP_ERROR}, {.over = false}, HD_INEXACT_ERROR},
      {{.systematic = true, .bound_kind = HD_BOUND_DELAYS},
       {.over = true, .bound_cut = true},
       HD_INEXACT_BOUND},
      {{.systematic = true, .preload = true}, {.over = true}, HD_INEXACT_PRELOAD},
      {{.strategy = "random"}, {.over = false}, HD_INEXACT_SAMPLING},
      {{.strategy = "random", .stop = HD_STOP_TIME}, {.over = false}, HD_INEXACT_SAMPLING},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hd_summary sum = cases[i].sum;
    hd_summary_judge(&sum, &cases[i].e);
    assert_int_equal(sum.complete, cases[i].reason < 0);
    assert_int_equal(sum.nreasons, cases[i].reason >= 0);
    if (sum.nreasons) assert_int_equal(sum.reason[0].what, cases[i].reason);
    hd_summary_fini(&sum);
  }
}

static void reasons_are_summed_and_forgotten(void **state) {
  (void)state;
  struct hd_inexact_count a[HD_INEXACT_COUNT] = {0}, b[HD_INEXACT_COUNT] = {0};
  hd_inexact_note(a, HD_INEXACT_LENGTH, 0);
  hd_inexact_note(b, HD_INEXACT_LENGTH, 5);
  hd_inexact_note(b, HD_INEXACT_LENGTH, 6);
  hd_inexact_note(b, HD_INEXACT_SPIN_PLACES, 7);
  hd_inexact_add(a, b, HD_CLASS_ANY);
  assert_int_equal(a[HD_INEXACT_LENGTH].count, 3);
  assert_int_equal(a[HD_INEXACT_LENGTH].first_pc, 5);
  assert_int_equal(hd_inexact_sum(a, HD_CLASS_GAP), 1);
  assert_int_equal(hd_inexact_sum(a, HD_CLASS_ANY), 4);
  hd_inexact_restart(a); /* executions that were cut no longer count, what the search missed does */
  assert_int_equal(hd_inexact_sum(a, HD_CLASS_ANY), 1);
  hd_inexact_add(a, b, HD_CLASS_ANY & ~HD_CLASS_CUT);
  assert_int_equal(hd_inexact_sum(a, HD_CLASS_ANY), 2);
}

/* An execution that diverged leaves a gap in its tree. A search that restarts explores another one. */
static void a_dropped_execution_is_forgotten_with_its_tree(void **state) {
  (void)state;
  struct hd_inexact_count a[HD_INEXACT_COUNT] = {0}, b[HD_INEXACT_COUNT] = {0};
  hd_inexact_note(b, HD_INEXACT_DIVERGED, 5);
  hd_inexact_add(a, b, HD_CLASS_ANY & ~HD_CLASS_CUT); /* of a worker that has not heard of the restart */
  assert_int_equal(hd_inexact_sum(a, HD_CLASS_ANY), 0);
  hd_inexact_add(a, b, HD_CLASS_ANY);
  assert_int_equal(hd_inexact_sum(a, HD_CLASS_GAP), 1);
  hd_inexact_restart(a);
  assert_int_equal(hd_inexact_sum(a, HD_CLASS_ANY), 0);
}

static void long_names_are_told_short(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"work", "work"},
      {"Queue<int>::push", "Queue<int>::push"},
      {"Lru::get[abi:cxx11]", "Lru::get"},
      {"std::__cxx11::list<std::pair<int, std::vector<int> >, std::allocator<int> >::begin",
       "std::list<..>::begin"},
      {"a::b<std::map<int, int>, std::map<int, int>, int>::operator<", "a::b<..>::operator<"},
      {"operator<< <std::char_traits<char>, std::char_traits<char>, std::allocator<char> >",
       "operator<< <std::char_traits<char>>"},
      {"a_function_of_c_with_a_name_that_is_longer_than_most",
       "a_function_of_c_with_a_name_that_is_longer_than_most"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hd_str out;
    hd_str_init(&out);
    hd__text_function(&out, cases[i][0]);
    assert_string_equal(out.s, cases[i][1]);
    hd_str_fini(&out);
  }
}

static void folded(const char *text, unsigned width, const char *want) {
  struct hd_str out;
  hd_str_init(&out);
  hd_str_add(&out, text);
  hd_text_fold(&out, width);
  assert_string_equal(out.s, want);
  hd_str_fini(&out);
}

/* Lines for a terminal: between words, indented by 2 more; colours have no width, and what is to be copied stays whole. */
static void test_fold(void **state) {
  (void)state;
  folded("one two\n  three four five\n", 12, "one two\n  three four\n    five\n");
  folded("\033[1mone two\033[0m three", 13, "\033[1mone two\033[0m three");
  folded("\033[1mone two\033[0m three", 12, "\033[1mone two\033[0m\n  three");
  folded("  replay: heddle replay .heddle/1\n", 12, "  replay: heddle replay .heddle/1\n");
  folded("unbreakable_word\n\nx", 8, "unbreakable_word\n\nx");
  folded("gr\303\274n rot", 8, "gr\303\274n rot");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fold),
      cmocka_unit_test(a_summary_says_what_was_covered),
      cmocka_unit_test(inlined_calls_are_frames),
      cmocka_unit_test(unknown_addresses_stay_frames),
      cmocka_unit_test(objects_have_names),
      cmocka_unit_test(a_race_names_both_accesses),
      cmocka_unit_test(a_deadlock_names_its_cycle),
      cmocka_unit_test(reasons_have_words),
      cmocka_unit_test(a_summary_lists_its_reasons),
      cmocka_unit_test(a_search_is_judged_by_its_reasons),
      cmocka_unit_test(reasons_are_summed_and_forgotten),
      cmocka_unit_test(a_dropped_execution_is_forgotten_with_its_tree),
      cmocka_unit_test(long_names_are_told_short),
      cmocka_unit_test(titles_of_other_kinds),
      cmocka_unit_test(identity_does_not_depend_on_the_order_of_threads),
      cmocka_unit_test(json_has_the_documented_keys),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
