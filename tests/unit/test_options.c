/* test_options.c: the command line of the verbs that run a program, and names and titles of findings. */
#include "cli/cli.h"
#include "session/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hd_options o;
static struct hd_err err;

/* Parses the words of one string; strsep cuts a static copy. */
static int parse(enum hd_verb verb, const char *line) {
  static char text[256];
  static char *argv[32];
  int argc = 0;
  snprintf(text, sizeof text, "%s", line);
  for (char *rest = text, *word; (word = strsep(&rest, " "));) argv[argc++] = word;
  argv[argc] = NULL;
  err.text[0] = '\0';
  return hd_options_parse(&o, verb, argc, argv, &err);
}

static void both_spellings_and_where_the_program_begins(void **state) {
  (void)state;
  assert_int_equal(parse(HD_VERB_CHECK, "check --seed 5 --time=2m --all -- ./p --seed 7"), HD_OK);
  assert_true(o.seed == 5 && o.time == 120 && o.all && o.nargs == 3);
  assert_string_equal(o.args[1], "--seed");
  assert_int_equal(parse(HD_VERB_CHECK, "check --leaks ./p --all"), HD_OK);
  assert_true(o.leaks && !o.all && o.nargs == 2);
  assert_int_equal(parse(HD_VERB_REPLAY, "replay .heddle/1 --times 3"), HD_OK);
  assert_true(o.times == 3 && o.nargs == 1);
  assert_string_equal(o.args[0], ".heddle/1");
}

static void how_much_is_asked_for(void **state) {
  (void)state;
  parse(HD_VERB_CHECK, "check ./p");
  assert_string_equal(o.strategy, "auto");
  assert_int_equal(o.max_executions, 0);
  assert_true(o.time == 60 && o.time_default);
  parse(HD_VERB_CHECK, "check --time 5s ./p");
  assert_int_equal(o.max_executions, 0);
  assert_true(o.time == 5 && !o.time_default);
  parse(HD_VERB_CHECK, "check --max-executions 7 ./p");
  assert_int_equal(o.max_executions, 7);
  assert_true(o.time == 0 && !o.time_default);
  parse(HD_VERB_CHECK, "check --time 5s --max-executions 7 ./p");
  assert_int_equal(o.max_executions, 7);
  assert_true(o.time == 5 && !o.time_default);
  parse(HD_VERB_RUN, "run ./p");
  assert_string_equal(o.strategy, "random");
  assert_int_equal(o.max_executions, 1);
  assert_true(o.time == 0);
}

static void systematic_strategies_have_no_limit(void **state) {
  (void)state;
  static const char *const sampled[] = {"random",  "pct",   "pos",   "sites", "surw", "rff",
                                        "uniform", "mined", "tici+", "tici-", "ti",   "ci"},
                           *const systematic[] = {"dfs", "rdfs", "dpor", "optimal"};
  char line[64];
  for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++) {
    snprintf(line, sizeof line, "check --strategy %s ./p", sampled[i]);
    assert_int_equal(parse(HD_VERB_CHECK, line), HD_OK);
    assert_int_equal(o.max_executions, 10000);
    assert_false(hd_strategy_systematic(sampled[i]));
  }
  for (size_t i = 0; i < sizeof systematic / sizeof *systematic; i++) {
    snprintf(line, sizeof line, "check --strategy %s ./p", systematic[i]);
    assert_int_equal(parse(HD_VERB_CHECK, line), HD_OK);
    assert_int_equal(o.max_executions, 0);
    assert_true(o.time == 0);
    assert_true(hd_strategy_systematic(systematic[i]));
  }
  parse(HD_VERB_CHECK, "check --strategy pct ./p");
  assert_int_equal(o.depth, 3);
  parse(HD_VERB_CHECK, "check --strategy pct --depth 5 ./p");
  assert_int_equal(o.depth, 5);
}

static void bounds_are_for_complete_strategies(void **state) {
  (void)state;
  assert_int_equal(parse(HD_VERB_CHECK, "check ./p"), HD_OK);
  assert_int_equal(o.bound_kind, HD_BOUND_NONE);
  assert_int_equal(parse(HD_VERB_CHECK, "check --preemptions 2 ./p"), HD_OK);
  assert_true(o.bound_kind == HD_BOUND_PREEMPTIONS && o.bound == 2 && !o.bound_iterate);
  assert_string_equal(o.strategy, "auto");
  assert_int_equal(parse(HD_VERB_CHECK, "check --delays=iterate --strategy dfs ./p"), HD_OK);
  assert_true(o.bound_kind == HD_BOUND_DELAYS && o.bound_iterate);
  struct hd_session_config c;
  hd_options_session(&o, HD_VERB_CHECK, &c);
  assert_true(c.search.bound_kind == HD_BOUND_DELAYS && c.search.bound_iterate && c.search.bound == 0);
  assert_int_equal(parse(HD_VERB_RUN, "run --delays 0 ./p"), HD_OK);
  assert_string_equal(o.strategy, "auto"); /* random has no bound */
}

static void kinds_add_up(void **state) {
  (void)state;
  assert_int_equal(parse(HD_VERB_CHECK, "check --ignore leak,hang --ignore=data-race ./p"), HD_OK);
  assert_true(o.ignore == (1ull << HD_KIND_LEAK | 1ull << HD_KIND_HANG | 1ull << HD_KIND_DATA_RACE));
}

static void wrong_options_are_named(void **state) {
  (void)state;
  static const struct {
    const char *line, *message;
  } cases[] = {
      {"check --nope ./p", "unknown option '--nope'"},
      {"check -x ./p", "unknown option '-x'"},
      {"check --times 3 ./p", "unknown option '--times'"},
      {"check --seed", "--seed needs a value"},
      {"check --seed x ./p", "--seed needs a whole number"},
      {"check --max-executions 0 ./p", "at least 1"},
      {"check --time 0s ./p", "--time needs a time"},
      {"check --time 1.2.3s ./p", "--time needs a time"},
      {"check --time 5d ./p", "--time needs a time"},
      {"check --restart soon ./p", "memory, fork or auto"},
      {"check --checkpoint soon ./p", "auto, always or never"},
      {"check --ignore love ./p", "unknown kind of finding 'love'"},
      {"check --depth 0 ./p", "--depth needs a whole number from 1 to 64"},
      {"check --depth 65 ./p", "--depth needs a whole number from 1 to 64"},
      {"check --preemptions ./p", "--preemptions needs a whole number"},
      {"check --preemptions -1 ./p", "up to 1000000 or `iterate`, not '-1'"},
      {"check --delays 1000001 ./p", "--delays needs a whole number"},
      {"check --delays 1 --preemptions 1 ./p", "exclude each other"},
      {"check --delays 1 --strategy random ./p",
       "--delays is for strategies that cover every schedule, and random"},
      {"check --strategy pct --preemptions 1 ./p", "and pct samples"},
      {"check --strategy pos --preemptions iterate ./p", "and pos samples"},
      {"check --strategy luck ./p", "unknown strategy 'luck'"},
      {"check --all=1 ./p", "--all takes no value"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(parse(HD_VERB_CHECK, cases[i].line), HD_EUSAGE);
    if (!strstr(err.text, cases[i].message))
      fail_msg("\"%s\" does not contain \"%s\"", err.text, cases[i].message);
  }
}

static void help_lists_every_option_of_the_verb(void **state) {
  (void)state;
  struct hd_str help;
  hd_str_init(&help);
  hd_help_options(&help, HD_VERB_REPLAY);
  assert_non_null(strstr(help.s, "--times N"));
  assert_null(strstr(help.s, "--strategy"));
  hd_str_fini(&help);
}

static void threads_are_named_after_their_creators(void **state) {
  (void)state;
  struct hd_thread_rec t[] = {{.parent = 0},           {.parent = 0, .nth = 1}, {.parent = 1, .nth = 1},
                              {.parent = 0, .nth = 2}, {.parent = 2, .nth = 4}, {.parent = 9, .nth = 1}};
  static const char *const want[] = {"T0", "T1", "T1.1", "T2", "T1.1.4", "#5", "#6"};
  for (unsigned i = 0; i < 7; i++) {
    char *name = hd_thread_name(t, 6, i);
    assert_string_equal(name, want[i]);
    free(name);
  }
}

static int set(const char *name, const char *value, bool on) {
  return hd_options_set(&o, HD_VERB_CHECK, name, value, on, &err);
}

/* What is said in a later layer takes the place of what was said before; within one, lists add up. */
static void layers(void **state) {
  (void)state;
  char *argv[] = {"check", "--ignore", "hang", "--no-all", "--delays", "2", NULL};
  hd_options_init(&o, HD_VERB_CHECK);
  assert_int_equal(set("ignore", "leak", true), HD_OK);
  assert_int_equal(set("ignore", "crash", true), HD_OK);
  assert_int_equal(set("suppressions", "a", true), HD_OK);
  assert_int_equal(set("preemptions", "1", true), HD_OK);
  assert_int_equal(set("delays", "1", true), HD_EUSAGE);
  assert_int_equal(set("all", NULL, true), HD_OK);
  assert_true(o.ignore == (1ull << HD_KIND_LEAK | 1ull << HD_KIND_CRASH) && o.all);
  hd_options_layer(&o);
  assert_int_equal(set("suppressions", "b", true), HD_OK);
  assert_int_equal(set("suppressions", "c", true), HD_OK);
  assert_int_equal(set("seed", "9", true), HD_OK);
  assert_true(o.suppressions.n == 2 && o.all && o.bound_kind == HD_BOUND_PREEMPTIONS);
  hd_options_layer(&o);
  assert_int_equal(hd_options_words(&o, HD_VERB_CHECK, 6, argv, &err), HD_OK);
  assert_int_equal(hd_options_finish(&o, HD_VERB_CHECK, &err), HD_OK);
  assert_true(o.ignore == 1ull << HD_KIND_HANG && !o.all && o.seed == 9 && o.seeded);
  assert_true(o.bound_kind == HD_BOUND_DELAYS && o.bound == 2 && o.suppressions.n == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers),
      cmocka_unit_test(both_spellings_and_where_the_program_begins),
      cmocka_unit_test(how_much_is_asked_for),
      cmocka_unit_test(systematic_strategies_have_no_limit),
      cmocka_unit_test(bounds_are_for_complete_strategies),
      cmocka_unit_test(kinds_add_up),
      cmocka_unit_test(wrong_options_are_named),
      cmocka_unit_test(help_lists_every_option_of_the_verb),
      cmocka_unit_test(threads_are_named_after_their_creators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
