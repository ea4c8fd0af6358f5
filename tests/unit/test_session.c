/* test_session.c: searches through session/ alone, without the command line and without a terminal: what the caller hears,
 * what the summary says, and that nothing is printed. The programs are built with the heddle of the same build. */
#include "session/session.h"

#include "session/names.h"
#include "session/rerun.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Two threads increment a counter; with `-DRACE` without a lock. */
static const char counter[] = "#include <assert.h>\n"
                              "#include <pthread.h>\n"
                              "#include <stdio.h>\n"
                              "static int n;\n"
                              "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
                              "static void *work(void *arg) {\n"
                              "#ifndef RACE\n"
                              "  pthread_mutex_lock(&m);\n"
                              "#endif\n"
                              "  n++;\n"
                              "#ifndef RACE\n"
                              "  pthread_mutex_unlock(&m);\n"
                              "#endif\n"
                              "  return arg;\n"
                              "}\n"
                              "int main(void) {\n"
                              "  pthread_t a, b;\n"
                              "  (void)m;\n"
                              "  puts(\"the program speaks\");\n"
                              "  pthread_create(&a, 0, work, 0);\n"
                              "  pthread_create(&b, 0, work, 0);\n"
                              "  pthread_join(a, 0);\n"
                              "  pthread_join(b, 0);\n"
                              "  assert(n == 2);\n"
                              "  return 0;\n"
                              "}\n";

static const char early[] = "#include <unistd.h>\n"
                            "__attribute__((constructor)) static void leave(void) {\n"
                            "  if (write(2, \"no licence\\n\", 11)) {}\n"
                            "  _exit(7);\n"
                            "}\n"
                            "int main(void) { return 0; }\n";

static char folder[] = "/tmp/heddle-session-XXXXXX";

/* `name` is compiled from `source`. */
static void build(const char *name, const char *source, const char *flags) {
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  assert_true(n > 0);
  self[n] = '\0';
  char *at = strstr(self, "/tests/unit/");
  assert_non_null(at);
  *at = '\0';
  char *path = hd_sprintf("%s.c", name);
  struct hd_err err;
  assert_int_equal(hd_write_file(path, source, strlen(source), &err), HD_OK);
  char *command = hd_sprintf("'%s/heddle' cc -pthread %s -o %s %s.c", self, flags, name, name);
  assert_int_equal(system(command), 0);
  free(command);
  free(path);
}

static int setup(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder)) return -1;
  build("race", counter, "-DRACE");
  build("locked", counter, "");
  build("early", early, "");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  char *command = hd_sprintf("rm -rf '%s'", folder);
  int rc = chdir("/") || system(command);
  free(command);
  return rc ? -1 : 0;
}

/* ---- one search, with what it does to the caller ---- */

struct heard {
  unsigned progress, minimising, findings;
  uint64_t executions;
  bool replays;
  char folder[64];
  struct hd_str output;
};

static void on_progress(void *arg, const struct hd_session_progress *p) {
  struct heard *h = arg;
  h->progress += !p->minimising;
  h->minimising += p->minimising;
  h->executions = p->executions;
}

static void on_finding(void *arg, const struct hd_finding *f) {
  struct heard *h = arg;
  h->findings++;
  h->replays = f->replays;
  snprintf(h->folder, sizeof h->folder, "%s", f->folder ? f->folder : "");
}

static void on_output(void *arg, const char *text, size_t n) {
  hd_str_addn(&((struct heard *)arg)->output, text, n);
}

static struct heard heard;
static struct hd_session *session;
static struct hd_err err;

/* Runs the search with standard output and error in a file; it must stay empty. */
static int run(const struct hd_session_config *c) {
  struct hd_session_events events = {
      .arg = &heard, .progress = on_progress, .finding = on_finding, .startup_output = on_output};
  struct stat st;
  heard = (struct heard){0};
  hd_str_init(&heard.output);
  int fd = open("printed", O_RDWR | O_CREAT | O_TRUNC, 0600), out = dup(1), other = dup(2);
  int null = open("/dev/null", O_RDONLY), in = dup(0);
  dup2(null, 0);
  dup2(fd, 1);
  dup2(fd, 2);
  int rc = hd_session_new(&session, c, &events, &err);
  if (rc == HD_OK) rc = hd_session_run(session, &err);
  dup2(in, 0);
  dup2(out, 1);
  dup2(other, 2);
  int bad = fstat(fd, &st);
  close(null), close(in), close(out), close(other), close(fd);
  assert_int_equal(bad, 0);
  assert_int_equal(st.st_size, 0);
  return rc;
}

static void done(void) {
  hd_session_free(session);
  session = NULL;
  hd_str_fini(&heard.output);
}

static struct hd_session_config config(char **argv, const char *strategy) {
  struct hd_session_config c;
  hd_session_config_init(&c, argv);
  snprintf(c.search.strategy, sizeof c.search.strategy, "%s", strategy);
  return c;
}

static char *race[] = {"./race", NULL}, *locked[] = {"./locked", NULL}, *early_words[] = {"./early", NULL};

/* ---- tests ---- */

static void a_finding_is_reported_and_stored(void **state) {
  (void)state;
  struct hd_session_config c = config(race, "optimal");
  c.out = "found";
  assert_int_equal(run(&c), HD_OK);
  const struct hd_summary *s = hd_session_summary(session);
  assert_int_equal(s->stop, HD_STOP_FOUND);
  assert_int_equal(hd_summary_verdict(s), HD_VERDICT_BUG);
  assert_int_equal(s->nfindings, 1);
  assert_int_equal(heard.findings, 1);
  assert_true(heard.replays);
  assert_true(heard.progress > 0 && heard.minimising == 1);
  assert_string_equal(heard.folder, "found/1");
  assert_int_equal(hd_session_error(session), HD_OK);
  done();
  /* What is stored replays. */
  struct hd_replay r;
  struct hd_rerun again;
  struct hd_comparison same;
  assert_int_equal(hd_replay_init(&r, "found/1", false, &err), HD_OK);
  assert_false(r.rebuilt);
  assert_int_equal(hd_rerun_schedule(&r.stored.command, &r.stored.schedule, &r.input, HD_OUTPUT_NULL, NULL,
                                     10, &again, &err),
                   HD_OK);
  assert_int_equal(hd_replay_compare(&r, &again, &same, &err), HD_OK);
  assert_int_equal(same.result, HD_REPLAY_SAME);
  assert_int_equal(same.event, 0);
  hd_comparison_fini(&same);
  hd_rerun_fini(&again);
  hd_replay_fini(&r);
}

static void a_complete_search_says_so(void **state) {
  (void)state;
  struct hd_session_config c = config(locked, "optimal");
  assert_int_equal(run(&c), HD_OK);
  const struct hd_summary *s = hd_session_summary(session);
  assert_true(s->complete && s->systematic);
  assert_int_equal(s->stop, HD_STOP_FINISHED);
  assert_int_equal(s->executions, 2); /* who locks first */
  assert_int_equal(heard.findings, 0);
  assert_null(s->coverage); /* nobody asked for it */
  done();
  c.coverage = true;
  c.search.max_executions = 1;
  assert_int_equal(run(&c), HD_OK);
  assert_int_equal(hd_session_summary(session)->stop, HD_STOP_EXECUTIONS);
  assert_false(hd_session_summary(session)->complete);
  assert_non_null(hd_session_summary(session)->coverage);
  done();
}

static void suppressed_findings_do_not_end_it(void **state) {
  (void)state;
  static const char *files[] = {"rules"};
  static const char rules[] = "data-race:work\n";
  struct hd_session_config c = config(race, "optimal");
  assert_int_equal(hd_write_file("rules", rules, strlen(rules), &err), HD_OK);
  c.suppressions = files;
  c.nsuppressions = 1;
  c.search.ignore = 1ull << HD_KIND_ABORT | 1ull << HD_KIND_ASSERTION;
  assert_int_equal(run(&c), HD_OK);
  const struct hd_summary *s = hd_session_summary(session);
  assert_int_equal(s->suppressed, 1);
  assert_int_equal(s->nfindings, 0);
  assert_int_equal(heard.findings, 0);
  assert_int_equal(s->stop, HD_STOP_FINISHED);
  done();
}

static void errors_are_values(void **state) {
  (void)state;
  char *missing[] = {"./missing", NULL};
  struct hd_session_config c = config(missing, "optimal");
  assert_int_equal(run(&c), HD_EUSAGE);
  assert_non_null(strstr(err.text, "./missing: no such program"));
  done();
  /* What the program printed on its way is handed over, not printed. */
  c = config(early_words, "optimal");
  assert_int_equal(run(&c), HD_EENV);
  assert_non_null(strstr(err.text, "ended with status 7 before main"));
  assert_string_equal(heard.output.s, "no licence\n");
  done();
}

static void a_saved_search_continues(void **state) {
  (void)state;
  struct hd_session_config c = config(locked, "optimal");
  struct hd_config saved;
  c.save = "saved";
  c.search.max_executions = 1;
  assert_int_equal(run(&c), HD_OK);
  assert_int_equal(hd_session_summary(session)->executions, 1);
  done();
  assert_int_equal(hd_settings_read("saved", &saved, &err), HD_OK);
  assert_int_equal(hd_settings_differ(&saved, &c.search), 0);
  /* Only with the same settings. */
  struct hd_session_config other = config(locked, "dpor");
  other.resume = "saved";
  assert_int_equal(hd_settings_differ(&saved, &other.search), 1u << HD_SETTING_STRATEGY);
  assert_int_equal(run(&other), HD_EUSAGE);
  assert_non_null(strstr(err.text, "other settings"));
  done();
  hd_settings_copy(&other.search, &saved);
  assert_int_equal(run(&other), HD_OK);
  assert_int_equal(hd_session_summary(session)->executions, 2); /* both parts together */
  assert_true(hd_session_summary(session)->complete);
  done();
  assert_int_equal(hd_settings_read("race.c", &saved, &err), HD_EUSAGE);
}

static void settings_are_told_apart(void **state) {
  (void)state;
  struct hd_session_config c = config(locked, "optimal");
  struct hd_config *a = &c.search, b;
#define CHANGED(field, value, bit)                            \
  do {                                                        \
    b = *a;                                                   \
    b.field = (value);                                        \
    assert_int_equal(hd_settings_differ(a, &b), 1u << (bit)); \
    hd_settings_copy(&b, a);                                  \
    assert_int_equal(hd_settings_differ(a, &b), 0);           \
  } while (0)
  CHANGED(strategy[0], 'x', HD_SETTING_STRATEGY);
  CHANGED(depth, 9, HD_SETTING_DEPTH);
  CHANGED(bound_kind, HD_BOUND_DELAYS, HD_SETTING_BOUND);
  CHANGED(bound_iterate, 1, HD_SETTING_BOUND);
  CHANGED(bound, 3, HD_SETTING_BOUND);
  CHANGED(seed, 9, HD_SETTING_SEED);
  CHANGED(all, 1, HD_SETTING_ALL);
  CHANGED(ignore, 2, HD_SETTING_IGNORE);
  CHANGED(restart, HD_RESTART_FORK, HD_SETTING_RESTART);
  CHANGED(spurious, 1, HD_SETTING_SPURIOUS);
  CHANGED(timeouts_any, 1, HD_SETTING_TIMEOUTS);
  CHANGED(closed, 1, HD_SETTING_CLOSED);
  CHANGED(classes, 1, HD_SETTING_CLASSES);
  CHANGED(leaks, 1, HD_SETTING_LEAKS);
  CHANGED(thread_leaks, 1, HD_SETTING_THREAD_LEAKS);
  CHANGED(exit_status, 1, HD_SETTING_EXIT_STATUS);
  CHANGED(max_length, 5, HD_SETTING_MAX_LENGTH);
  b = *a;
  b.strategy[20] = 'x'; /* behind the end of the name */
  assert_int_equal(hd_settings_differ(a, &b), 0);
  /* Limits may change from one part of a search to the next. */
  b = *a;
  b.max_executions = 5;
  b.workers = 4;
  assert_int_equal(hd_settings_differ(a, &b), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_finding_is_reported_and_stored),  cmocka_unit_test(a_complete_search_says_so),
      cmocka_unit_test(suppressed_findings_do_not_end_it), cmocka_unit_test(errors_are_values),
      cmocka_unit_test(a_saved_search_continues),          cmocka_unit_test(settings_are_told_apart),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
