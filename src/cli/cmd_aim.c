/* cmd_aim.c: `heddle aim`: searches for an execution that reaches given lines. Runs in the supervisor. */
#include "cli/cli.h"
#include "session/aim.h"
#include "session/command.h"
#include "session/process.h"
#include "session/warnings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct aim {
  const struct hd_options *o;
  int fd; /* findings and results go there */
  size_t reached, missed;
  json_t *parts, *found, *summary;
};

static void on_finding(void *arg, const struct hd_finding *f) {
  struct aim *a = arg;
  hd_present_found(a->o, a->fd, f);
  json_array_append_new(a->found, hd_json_finding(f));
}

static void on_startup_output(void *arg, const char *text, size_t n) {
  (void)arg;
  hd_write_all(STDERR_FILENO, text, n);
}

/* ---- results ---- */

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static void add_lines(struct hd_str *out, const struct hd_goal *g, size_t from, size_t n) {
  for (size_t i = from; i < n; i++)
    hd_str_addf(out, "%s%s", i > from ? (g->any_order ? " and " : ", then ") : "", g->line[i].given);
}

/* `of`: the warning that it is about, or NULL. */
static void print_result(const struct aim *a, const struct hd_goal *g, const struct hd_warning *of,
                         const struct hd_aim_outcome *r) {
  static const char *const words[3][3] = {{"reached", "not reached in any schedule", "not reached"},
                                          {"failed", "does not fail in any schedule", "did not fail"},
                                          {"confirmed", "refuted: not in any schedule", "not confirmed"}};
  if (a->o->quiet) return;
  struct hd_str out;
  hd_str_init(&out);
  if (r->result == HD_AIM_REACHED) hd_str_addc(&out, '\n');
  if (of) hd_str_addf(&out, "%s at ", of->title);
  add_lines(&out, g, 0, g->n);
  hd_str_addf(&out, ": %s%s (%llu execution%s, %llu events, %.2f s)\n", words[of ? 2 : g->failure][r->result],
              r->result == HD_AIM_UNREACHABLE && a->o->inputs ? " of any input" : "",
              (unsigned long long)r->executions, plural(r->executions), (unsigned long long)r->events,
              r->seconds);
  if (r->result == HD_AIM_NOT_REACHED) {
    if (r->reached && (g->n > 1 || g->failure)) {
      hd_str_add(&out, "  reached: ");
      add_lines(&out, g, 0, r->reached);
      hd_str_addc(&out, '\n');
    }
    if (r->nearest && r->reached < g->n)
      hd_str_addf(&out, "  nearest: %s, %u step%s from %s\n", r->nearest, r->distance, plural(r->distance),
                  g->line[r->reached].given);
    if (r->why && *r->why) hd_str_addf(&out, "  not shown to be impossible: %s\n", r->why);
    if (!r->facts)
      hd_str_add(&out, "  no facts about the code: build with `heddle cc --facts` for a guided search\n");
  }
  hd_print(a->fd, &out);
  hd_str_fini(&out);
}

static json_t *line_json(const struct hd_goal *g) {
  json_t *lines = json_array();
  for (size_t i = 0; i < g->n; i++)
    json_array_append_new(
        lines, json_pack("{s:o,s:i}", "file", hd_json_text(g->line[i].path), "line", g->line[i].line));
  return lines;
}

static json_t *result_json(const struct hd_goal *g, const struct hd_aim_outcome *r) {
  static const char *const word[] = {"reached", "unreachable", "not-reached"};
  json_t *j =
      json_pack("{s:o,s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:f}", "lines", line_json(g), "result", word[r->result],
                "reached", (json_int_t)r->reached, "executions", (json_int_t)r->executions, "events",
                (json_int_t)r->events, "refinements", (json_int_t)r->refinements, "backtracks",
                (json_int_t)r->backtracks, "facts", r->facts, "seconds", r->seconds);
  json_object_set_new(j, "nearest", hd_json_text(r->nearest));
  json_object_set_new(j, "distance",
                      r->distance < HD_AIM_FAR ? json_integer((json_int_t)r->distance) : json_null());
  json_object_set_new(j, "finding", r->finding ? json_integer(r->finding) : json_null());
  json_object_set_new(j, "reason", hd_json_text(r->why && *r->why ? r->why : NULL));
  return j;
}

/* ---- the verb ---- */

static int aim_at(struct aim *a, const struct hd_aim_config *c, const struct hd_goal *g,
                  const struct hd_warning *of, struct hd_places *places, struct hd_err *err) {
  struct hd_session_events events = {.arg = a, .finding = on_finding, .startup_output = on_startup_output};
  struct hd_aim_outcome r;
  int rc = hd_aim(c, g, places, &events, &r, err);
  if (rc == HD_OK) {
    print_result(a, g, of, &r);
    json_t *j = result_json(g, &r);
    if (of) json_object_set_new(j, "warning", hd_json_text(of->title));
    if (of) json_object_set_new(j, "alike", json_integer(of->alike));
    json_array_append_new(a->parts, j);
    a->reached += r.result == HD_AIM_REACHED;
    a->missed += r.result == HD_AIM_NOT_REACHED;
    json_decref(a->summary);
    a->summary = json_incref(r.summary);
  }
  hd_aim_outcome_fini(&r);
  return rc;
}

/* A warning that has nothing to aim at. */
static void pass_over(struct aim *a, const struct hd_warning *w, const char *why) {
  struct hd_str out;
  hd_str_init(&out);
  hd_str_addf(&out, "%s: not confirmed: %s\n", w->title, why);
  if (!a->o->quiet) hd_print(a->fd, &out);
  hd_str_fini(&out);
  json_array_append_new(a->parts, json_pack("{s:o,s:i,s:o,s:s,s:i,s:i,s:i,s:o}", "warning",
                                            hd_json_text(w->title), "alike", (int)w->alike, "lines",
                                            line_json(&w->goal), "result", "not-reached", "reached", 0,
                                            "executions", 0, "events", 0, "reason", hd_json_text(why)));
  a->missed++;
}

/* Each warning of the report has its share of the time that is left. */
static int aim_at_warnings(struct aim *a, const struct hd_aim_config *config, struct hd_places *places,
                           struct hd_err *err) {
  struct hd_warnings w;
  int rc = hd_warnings_read(&w, a->o->from, places, err);
  double deadline = hd_now() + config->session.time;
  for (size_t i = 0; i < w.v.n && rc == HD_OK; i++) {
    struct hd_aim_config c = *config;
    c.session.time = (deadline - hd_now()) / (double)(w.v.n - i);
    if (w.v.v[i].unusable)
      pass_over(a, &w.v.v[i], w.v.v[i].unusable);
    else if (hd_interrupts())
      pass_over(a, &w.v.v[i], "the search was interrupted before it");
    else if (c.session.time > 0)
      rc = aim_at(a, &c, &w.v.v[i].goal, &w.v.v[i], places, err);
    else
      pass_over(a, &w.v.v[i], "no time was left for it (--time)");
  }
  if (rc == HD_OK && !a->o->quiet) {
    struct hd_str out;
    hd_str_init(&out);
    if (w.v.n)
      hd_str_addf(&out, "%s: %zu warning%s of %s, %zu confirmed, %zu refuted, %zu not confirmed\n",
                  a->o->from, w.v.n, plural(w.v.n), w.tool, a->reached, w.v.n - a->reached - a->missed,
                  a->missed);
    else
      hd_str_addf(&out, "%s: no warning in it\n", a->o->from);
    hd_print(a->fd, &out);
    hd_str_fini(&out);
  }
  hd_warnings_fini(&w);
  return rc;
}

static int write_json(struct aim *a, struct hd_err *err) {
  if (!a->o->json) return HD_OK;
  json_t *j = a->summary ? json_incref(a->summary) : json_pack("{s:s}", "heddle", HD_VERSION);
  json_object_set(j, "findings", a->found);
  json_object_set_new(j, "verdict", json_string(a->reached ? "bug" : a->missed ? "bounded" : "clean"));
  json_object_set(j, "aim", a->parts);
  json_t *none = json_array();
  int rc = hd_outputs_write_all(a->o, none, j, err);
  json_decref(none);
  json_decref(j);
  return rc;
}

static int run(struct aim *a, struct hd_err *err) {
  struct hd_options *o = (struct hd_options *)a->o;
  struct hd_aim_config c = {.heuristic = o->heuristic,
                            .search = o->best_first ? HD_AIM_BEST_FIRST : HD_AIM_GREEDY,
                            .no_refine = o->no_refine,
                            .no_meta = o->no_meta,
                            .fsm = o->fsm,
                            .no_facts = o->no_facts,
                            .complete = o->max_executions == 0};
  char **lines = o->args;
  o->args = o->after;
  hd_options_session(o, HD_VERB_AIM, &c.session);
  if (o->inputs) { /* the driver, then its default */
    enum hd_cc_driver driver = o->driver;
    c.symbolic = c.fsm = true;
    o->driver = HD_CC_NONE;
    hd_options_session(o, HD_VERB_AIM, &c.rounds);
    o->driver = driver;
  }
  o->args = lines;
  struct hd_program program = {.preload = o->preload};
  struct hd_places *places = NULL;
  struct hd_goal goal = {.failure = o->failure};
  int rc = hd_outputs_check(o, err);
  char *cwd = hd_cwd();
  if (rc == HD_OK) rc = hd_program_open(o->after[0], getenv("PATH"), cwd ? cwd : "/", &program, err);
  free(cwd);
  char **library = NULL;
  size_t nlibraries = 0;
  if (rc == HD_OK) rc = hd_program_libraries(program.path, &library, &nlibraries, err);
  if (rc == HD_OK) rc = hd_places_open(&places, program.path, library, nlibraries, err);
  c.program = &program;
  c.library = library;
  c.nlibraries = nlibraries;
  if (rc == HD_OK && o->from) rc = aim_at_warnings(a, &c, places, err);
  if (rc == HD_OK && !o->from) rc = hd_goal_parse(&goal, places, o->args[0], err);
  if (rc == HD_OK && !o->from) rc = aim_at(a, &c, &goal, NULL, places, err);
  if (rc == HD_OK) rc = write_json(a, err);
  hd_goal_fini(&goal);
  hd_places_close(places);
  hd_libraries_free(library, nlibraries);
  hd_program_fini(&program);
  return rc;
}

int hd_cmd_aim(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_AIM, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("aim"), 0;
  if (o.nargs != !o.from || !*o.after) {
    hd_fail(
        &err, HD_EUSAGE,
        "name lines and a program: heddle aim FILE:LINE[,FILE:LINE...] -- ./test, or a report: heddle aim --from tsan.log -- ./test");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  struct aim a = {.o = &o,
                  .fd = hd_outputs_own_stdout(&o) ? STDERR_FILENO : STDOUT_FILENO,
                  .parts = json_array(),
                  .found = json_array()};
  int rc = run(&a, &err), code = rc == HD_OK ? 0 : hd_err_exit(&err);
  if (rc == HD_OK) code = a.reached ? 1 : a.missed ? 5 : 0;
  json_decref(a.parts);
  json_decref(a.found);
  json_decref(a.summary);
  return code;
}
