/* test_store.c: the folder of a finding: what is written reads back the same, and whatever is not as it
 * would have been written is refused with file and line. */
#include "session/rerun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- schedules ---- */

static hd_step steps[] = {0, 0, 0, 1, 2, 2, HD_STEP_CHOICE | 1, HD_STEP_CHOICE | 1, 0, 1023};
static uint64_t visible[] = {0x555555558010, 0x555555558018, 0x555555558020, 0x201000000000, 0x555555558000};

static struct hd_schedule example(void) {
  return (struct hd_schedule){
      .strategy = "random",
      .seed = 42,
      .execution = 17,
      .max_length = 100000,
      .ignore = 1ull << HD_KIND_LEAK | 1ull << HD_KIND_HANG,
      .key = 0xfedcba9876543210,
      .restart = HD_RESTART_FORK,
      .timeouts_any = true,
      .leaks = true,
      .exit_status = 3,
      .kind = HD_KIND_DATA_RACE,
      .step = steps,
      .nsteps = sizeof steps / sizeof steps[0],
      .visible = visible,
      .nvisible = sizeof visible / sizeof visible[0],
  };
}

static char *schedule_text(const struct hd_schedule *s) {
  struct hd_str b;
  hd_str_init(&b);
  hd_schedule_format(&b, s);
  return b.s;
}

static void places_of_threads(void **state) {
  (void)state;
  struct hd_schedule a = example(), b;
  struct hd_err err = {0};
  a.numbers.place[1] = hd_place(0, 1);
  a.numbers.place[2] = hd_place(0, 2);
  char *text = schedule_text(&a);
  assert_null(strstr(text, "\nthreads "));
  free(text);
  a.numbers.place[4] = hd_place(2, 3);
  text = schedule_text(&a);
  char *line = strstr(text, "\nthreads 0.1 0.2 - 2.3\n");
  assert_non_null(line);
  char *copy = hd_strdup(text);
  assert_int_equal(hd_schedule_parse(&b, copy, strlen(copy), "schedule", &err), HD_OK);
  assert_memory_equal(&a.numbers, &b.numbers, sizeof a.numbers);
  hd_schedule_fini(&b);
  free(copy);
  static const char *const bad[] = {"0.1 0.2 - 2.x", "0.1 0.2 - 5.1", "0.1 0.2 - 2  ", "0.1 0.2 - 2.0",
                                    "0.1 0.2 - 0.4"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    copy = hd_strdup(text);
    memcpy(copy + (line - text) + strlen("\nthreads "), bad[i], strlen(bad[i]));
    assert_int_equal(hd_schedule_parse(&b, copy, strlen(copy), "schedule", &err), HD_EUSAGE);
    free(copy);
  }
  free(text);
}

static void lines_to_reach(void **state) {
  (void)state;
  struct hd_schedule a = example(), b;
  struct hd_err err = {0};
  a.aims = (struct hd_aims){.n = 2, .nplaces = 3, .silent = 1};
  a.aims.place[0].code = 0x1a2b;
  a.aims.place[1].code = HD_AIM_CODE(1, 0x1a3c);
  a.aims.place[2].code = HD_AIM_CODE(2, 0x1a4d);
  a.aims.place[2].aim = 1;
  a.aims.nlibraries = 2;
  strcpy(a.aims.library[0], "libc++x.so.1");
  strcpy(a.aims.library[1], "y.so");
  char *text = schedule_text(&a), *line = strstr(text, "\naims 1 1a2b.0 libc++x.so.1+1a3c.0 y.so+1a4d.1\n");
  assert_non_null(line);
  char *copy = hd_strdup(text);
  assert_int_equal(hd_schedule_parse(&b, copy, strlen(copy), "schedule", &err), HD_OK);
  assert_memory_equal(&a.aims, &b.aims, sizeof a.aims);
  hd_schedule_fini(&b);
  free(copy);
  static const char *const bad[] = {"2 1a2b.0", "1 1a2b.1", "1 1a2b.x", "1 1a2b00", "1 1a2b.0 1a3c.0 1a4d.2",
                                    "x"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    copy = hd_strdup(text);
    memcpy(copy + (line - text) + strlen("\naims "), bad[i], strlen(bad[i]));
    assert_int_equal(hd_schedule_parse(&b, copy, strlen(copy), "schedule", &err), HD_EUSAGE);
    free(copy);
  }
  free(text);
}

static void schedule_round_trip(void **state) {
  (void)state;
  struct hd_schedule a = example(), b;
  char *text = schedule_text(&a);
  assert_non_null(strstr(text, "\n0*3 1 2*2 c1*2 0 1023\nend\n"));
  assert_non_null(strstr(text, "\nvisible 555555558010-555555558028\n"));
  char *copy = hd_strdup(text);
  struct hd_err err = {0};
  int rc = hd_schedule_parse(&b, copy, strlen(copy), "schedule", &err);
  assert_string_equal(err.text, "");
  assert_int_equal(rc, HD_OK);
  assert_string_equal(b.strategy, a.strategy);
  assert_true(b.seed == a.seed && b.execution == a.execution && b.max_length == a.max_length);
  assert_true(b.ignore == a.ignore && b.key == a.key && b.restart == a.restart && b.kind == a.kind);
  assert_true(b.leaks && b.exit_status == 3 && b.timeouts_any && !b.spurious && !b.thread_leaks &&
              !b.partial);
  assert_int_equal(b.nsteps, a.nsteps);
  assert_memory_equal(b.step, a.step, sizeof steps);
  assert_int_equal(b.nvisible, a.nvisible);
  assert_memory_equal(b.visible, a.visible, sizeof visible);
  char *again = schedule_text(&b);
  assert_string_equal(again, text);
  free(again);
  free(copy);
  free(text);
  hd_schedule_fini(&b);
}

static void long_schedules_wrap_and_come_back(void **state) {
  (void)state;
  enum { N = 5000 };
  hd_step *many = hd_alloc(N * sizeof *many);
  for (int i = 0; i < N; i++) {
    unsigned step = (unsigned)i * 31 % 5;
    if (i * 7919 % 13 > 10) step = HD_STEP_CHOICE | (unsigned)i % 3;
    many[i] = (hd_step)step;
  }
  struct hd_schedule a = example(), b;
  a.step = many;
  a.nsteps = N;
  char *text = schedule_text(&a);
  for (char *p = text, *nl; (nl = strchr(p, '\n')); p = nl + 1) assert_true(nl - p <= 100);
  struct hd_err err;
  assert_int_equal(hd_schedule_parse(&b, text, strlen(text), "schedule", &err), HD_OK);
  assert_int_equal(b.nsteps, N);
  assert_memory_equal(b.step, many, N * sizeof *many);
  hd_schedule_fini(&b);
  free(text);
  free(many);
}

/* Every kind of decision, with the smallest and the largest values. */
static void all_decisions_come_back(void **state) {
  (void)state;
  static const struct hd_decision all[] = {
      {HD_DECIDE_THREAD, 0},
      {HD_DECIDE_THREAD, HD_MAX_THREADS - 1},
      {HD_DECIDE_OUTCOME, 0},
      {HD_DECIDE_OUTCOME, 0x7fff},
      {HD_DECIDE_OUTCOME, 0x8000},
      {HD_DECIDE_OUTCOME, UINT32_MAX},
      {HD_DECIDE_INPUT, 0},
      {HD_DECIDE_INPUT, 0xffff},
      {HD_DECIDE_INPUT, 0x10000},
      {HD_DECIDE_INPUT, UINT64_MAX},
      {HD_DECIDE_READS, 0},
      {HD_DECIDE_READS, (uint64_t)(HD_MAX_THREADS - 1) << 32 | UINT32_MAX},
      {HD_DECIDE_READS, 3ull << 32 | 17}};
  static const char text[] =
      "0 1023 c0 c32767 c32768 c4294967295 i0 iffff i10000 iffffffffffffffff r- r1023.4294967295 ";
  enum { N = sizeof all / sizeof *all };
  hd_step step[2 * N * HD_STEPS_MAX];
  size_t n = 0;
  for (size_t i = 0; i < N; i++)
    for (int times = 0; times < 2; times++) {
      assert_true(hd_decision_valid(all[i]));
      unsigned units = hd_decision_put(step + n, all[i]);
      struct hd_decision d;
      assert_int_equal(hd_decision_get(step + n, units, &d), units);
      assert_true(d.kind == all[i].kind && d.value == all[i].value);
      assert_int_equal(hd_decision_get(step + n, units - 1, &d), 0); /* truncated */
      char word[HD_DECISION_TEXT];
      assert_true(hd_decision_format(word, all[i]) < sizeof word);
      assert_true(hd_decision_parse(word, &d) && d.kind == all[i].kind && d.value == all[i].value);
      if (times == 0 && i + 1 < N) {
        const char *at = strstr(text, word);
        assert_true(at && at[strlen(word)] == ' ');
      }
      n += units;
    }
  struct hd_schedule a = example(), b;
  a.step = step;
  a.nsteps = n;
  char *written = schedule_text(&a);
  struct hd_err err;
  assert_int_equal(hd_schedule_parse(&b, written, strlen(written), "schedule", &err), HD_OK);
  assert_int_equal(b.nsteps, n);
  assert_memory_equal(b.step, step, n * sizeof *step);
  hd_schedule_fini(&b);
  free(written);
}

static void wrong_decisions_are_refused(void **state) {
  (void)state;
  static const char *const words[] = {"",
                                      "-1",
                                      "1024",
                                      "01",
                                      "1 ",
                                      "c",
                                      "c01",
                                      "c4294967296",
                                      "i",
                                      "iFF",
                                      "i0ff",
                                      "ix",
                                      "r",
                                      "r3",
                                      "r3.",
                                      "r3.0",
                                      "r.1",
                                      "r1024.1",
                                      "r0.0",
                                      "r--",
                                      "x1",
                                      "c-1",
                                      "i10000000000000000",
                                      "r1.4294967296"};
  struct hd_decision d;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) assert_false(hd_decision_parse(words[i], &d));
  /* a thread that cannot be; kinds and lengths that cannot be; forms that are not the shortest */
  static const hd_step units[][HD_STEPS_MAX] = {{HD_MAX_THREADS}, {0x4000, 1},       {0x4001, 1},
                                                {0x4101, 1},      {0x4202, 1, 0},    {0x4205, 1, 1, 1, 1},
                                                {0x4501, 1},      {0x4103, 0, 0, 1}, {0x4303, 1, 0, 0x400}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    assert_int_equal(hd_decision_get(units[i], HD_STEPS_MAX, &d), 0);
}

static void empty_schedules_are_fine(void **state) {
  (void)state;
  struct hd_schedule a = example(), b;
  a.nsteps = a.nvisible = 0;
  char *text = schedule_text(&a);
  struct hd_err err;
  assert_int_equal(hd_schedule_parse(&b, text, strlen(text), "schedule", &err), HD_OK);
  assert_int_equal(b.nsteps, 0);
  hd_schedule_fini(&b);
  free(text);
}

/* Replaces the first `from` of the text by `to`; the result must be refused with `message`. */
static void refuse_schedule(const char *from, const char *to, const char *message) {
  struct hd_schedule a = example(), b;
  char *text = schedule_text(&a);
  char *at = strstr(text, from);
  assert_non_null(at);
  char *bad = hd_sprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  struct hd_err err = {0};
  assert_int_equal(hd_schedule_parse(&b, bad, strlen(bad), "schedule", &err), HD_EUSAGE);
  if (!strstr(err.text, message)) fail_msg("\"%s\" does not contain \"%s\"", err.text, message);
  assert_null(b.step);
  free(bad);
  free(text);
}

static void damaged_schedules_are_refused(void **state) {
  (void)state;
  refuse_schedule("heddle-schedule 1", "something", "schedule:1: damaged: expected \"heddle-schedule 1\"");
  refuse_schedule("heddle-schedule 1", "heddle-schedule 2", "another version");
  refuse_schedule("seed 42", "seed -1", "schedule:4:");
  refuse_schedule("seed 42\n", "", "expected \"seed VALUE\"");
  refuse_schedule("restart fork", "restart maybe", "schedule:6:");
  refuse_schedule("leaks 1", "leaks 2", "schedule:10:");
  refuse_schedule("ignore leak,hang", "ignore leak,nothing", "kinds of findings");
  refuse_schedule("kind data-race", "kind love", "a kind of finding");
  refuse_schedule("visible 5", "visible 4", "expected \"steps VALUE\"");
  refuse_schedule("visible 5", "visible 6", "START-END");
  refuse_schedule("558010-", "558011-", "START-END");
  refuse_schedule("steps 10", "steps 9", "no more than the count above");
  refuse_schedule("steps 10", "steps 11", "steps such as");
  refuse_schedule("0*3", "0*1", "steps such as");
  refuse_schedule("0*3", "0**3", "steps such as");
  refuse_schedule("1023", "1024", "steps such as");
  refuse_schedule("2*2", "x", "steps such as");
  refuse_schedule("\nend\n", "\n", "expected \"end\"");
  refuse_schedule("\nend\n", "\nend", "expected \"end\"");
  refuse_schedule("\nend\n", "\nend\nmore\n", "nothing after");
}

/* Whatever is cut off, nothing is read beyond the end and nothing half is accepted. */
static void truncated_schedules_are_refused(void **state) {
  (void)state;
  struct hd_schedule a = example(), b;
  char *text = schedule_text(&a);
  for (size_t len = 0; len < strlen(text); len++) {
    char *cut = hd_strndup(text, len);
    struct hd_err err;
    assert_int_equal(hd_schedule_parse(&b, cut, len, "schedule", &err), HD_EUSAGE);
    free(cut);
  }
  free(text);
}

static void replay_config_looks_for_the_finding(void **state) {
  (void)state;
  struct hd_schedule s = example();
  struct hd_config c;
  hd_schedule_config(&s, &c);
  assert_int_equal(c.mode, HD_MODE_REPLAY);
  assert_true(c.detail == 1 && c.max_executions == 1 && c.replay_len == s.nsteps && c.visible == s.nvisible);
  assert_true(c.target_key == s.key && !c.all);
  s.partial = true;
  hd_schedule_config(&s, &c);
  assert_true(c.target_key == 0 && c.all);
}

/* ---- events ---- */

static const struct hd_event events[] = {
    {.op = {.thread = 0, .kind = HD_OP_CREATE, .size = 0, .object = 1, .pc = 0x401000},
     .flags = 0,
     .value = 0},
    {.op = {.thread = 1, .kind = HD_OP_CREATE, .size = 0, .object = 2, .pc = 0x401010},
     .flags = 0,
     .value = 0},
    {.op = {.thread = 0, .kind = HD_OP_CREATE, .size = 0, .object = 3, .pc = 0x401000},
     .flags = 0,
     .value = 0},
    {.op = {.thread = 2, .kind = HD_OP_WRITE, .size = 4, .object = 0x555555558010, .pc = 0x401020},
     .flags = 0,
     .value = 0},
    {.op = {.thread = 3, .kind = HD_OP_TRYLOCK, .size = 0, .object = 0x555555558020, .pc = 0x401030},
     .flags = HD_EV_FAILED,
     .value = 0},
    {.op = {.thread = 3, .kind = HD_OP_READ, .size = 4, .object = 0x555555558010, .pc = 0x401038},
     .flags = HD_EV_PLAIN | HD_EV_VALUE,
     .value = 7},
    {.op = {.thread = 0, .kind = HD_OP_JOIN, .size = 0, .object = 2, .pc = 0x401040}, .flags = 0, .value = 0},
};
#define NEVENTS (sizeof events / sizeof events[0])

/* ---- the folder ---- */

static void folder_round_trip(void **state) {
  (void)state;
  char root[] = "/tmp/heddle-test-XXXXXX";
  assert_non_null(mkdtemp(root));
  char *dir = hd_sprintf("%s/.heddle", root);
  struct hd_err err;
  struct hd_store store;
  assert_int_equal(hd_store_init(&store, dir, &err), HD_OK);
  assert_int_equal(access(dir, F_OK), -1); /* nothing is left behind by looking */

  char *argv[] = {(char *)"./prog", (char *)"a b", (char *)"\xff\xfe", NULL}, *envp[] = {(char *)"A=1", NULL};
  struct hd_command command = {
      .program = {.path = (char *)"/x/prog", .size = 12, .hash = 0xabc, .build_id = "0123"},
      .argv = argv,
      .envp = envp,
      .cwd = (char *)"/x",
  };
  struct hd_finding_rec *rec = hd_alloc(sizeof *rec);
  rec->kind = HD_KIND_DATA_RACE;
  struct hd_schedule schedule = example();
  struct hd_rerun rerun = {.event = events, .nevents = NEVENTS};
  struct hd_str output;
  hd_str_init(&output);
  hd_str_add(&output, "hello\n");
  for (unsigned id = 1; id <= 2; id++) {
    if (id == 2)
      argv[0] = (char *)"prog"; /* the same finding of the same command would have the same folder */
    struct hd_record r = {hd_finding_new(rec, NULL), &schedule, &rerun, &command, NULL, &output, NULL};
    assert_int_equal(hd_store_write(&store, &r, &err), HD_OK);
    assert_int_equal(r.finding->id, id);
    struct hd_stored back;
    int rc = hd_store_read(r.finding->folder, false, &back, &err);
    if (rc != HD_OK) fail_msg("%s", err.text);
    assert_string_equal(back.title, "data race");
    assert_string_equal(back.command.argv[1], "a b");
    assert_string_equal(back.command.argv[2], "\xff\xfe");
    assert_null(back.command.argv[3]);
    assert_string_equal(back.command.envp[0], "A=1");
    assert_string_equal(back.command.program.path, "/x/prog");
    assert_string_equal(back.command.program.build_id, "0123");
    assert_true(back.command.program.hash == 0xabc && back.command.program.size == 12);
    assert_int_equal(back.nevents, NEVENTS);
    assert_int_equal(back.noperations, NEVENTS - 1); /* one was no scheduling point */
    char *trace = hd_sprintf("%s/trace", r.finding->folder);
    assert_string_equal(back.trace, trace);
    free(trace);
    assert_null(back.input_path);
    hd_stored_fini(&back);
    char *part = hd_sprintf("%s/command.json", r.finding->folder);
    if (id == 2) {
      assert_int_equal(hd_write_file(part, "{}", 2, &err), HD_OK);
      assert_int_equal(hd_store_read(r.finding->folder, false, &back, &err), HD_EUSAGE);
      assert_non_null(strstr(err.text, "\"argv\" must be"));
    }
    free(part);
    hd_remove_folder(id == 2 ? r.finding->folder : "/nonexistent");
    hd_finding_free(r.finding);
  }
  struct hd_stored back;
  assert_int_equal(hd_store_read(dir, false, &back, &err), HD_EUSAGE);
  assert_int_equal(strncmp(err.text, "not a Heddle finding: ", 22), 0);
  char *first = hd_sprintf("%s/1", dir);
  hd_remove_folder(first);
  hd_remove_folder(dir);
  hd_remove_folder(root);
  free(first);
  hd_str_fini(&output);
  free(rec);
  hd_store_fini(&store);
  free(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_of_threads),
      cmocka_unit_test(lines_to_reach),
      cmocka_unit_test(schedule_round_trip),
      cmocka_unit_test(long_schedules_wrap_and_come_back),
      cmocka_unit_test(empty_schedules_are_fine),
      cmocka_unit_test(all_decisions_come_back),
      cmocka_unit_test(wrong_decisions_are_refused),
      cmocka_unit_test(damaged_schedules_are_refused),
      cmocka_unit_test(truncated_schedules_are_refused),
      cmocka_unit_test(replay_config_looks_for_the_finding),
      cmocka_unit_test(folder_round_trip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
