/* cmd_explain.c: `heddle explain`: finds a smaller schedule for a stored failure and shows its story.
 * Runs in the supervisor. The original schedule is never changed; a smaller one is kept beside it. */
#include "cli/cli.h"
#include "session/rerun.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_json(const char *path, const struct hd_finding *f, struct hd_err *err) {
  json_t *json = hd_json_finding(f);
  char *dump = json_dumps(json, JSON_INDENT(2)), *text = hd_sprintf("%s\n", dump ? dump : "{}");
  int rc = HD_OK;
  if (strcmp(path, "-") != 0)
    rc = hd_write_file_atomic(path, text, strlen(text), err);
  else if (hd_write_all(STDOUT_FILENO, text, strlen(text)))
    rc = hd_fail(err, HD_EENV, "cannot write to standard output");
  free(text);
  free(dump);
  json_decref(json);
  return rc;
}

/* Runs the schedule as it was found. HD_OK with *f NULL: it was not reproduced, which is reported; then *code is the
 * exit code. */
static int reproduce(const struct hd_options *o, const char *dir, const struct hd_replay *r,
                     struct hd_finding **f, int *code, struct hd_err *err) {
  const struct hd_stored *s = &r->stored;
  struct hd_rerun run = {0};
  struct hd_str why;
  int rc = hd_rerun_schedule(&s->command, &s->schedule, &r->input, HD_OUTPUT_NULL, NULL, o->hang_timeout,
                             &run, err);
  if (rc != HD_OK) return rc;
  hd_str_init(&why);
  if (hd_rerun_same(&run, &s->schedule, &why)) {
    *f = hd_replay_finding(r, &run, dir, NULL);
  } else if (hd_interrupts() > 0) {
    hd_say("interrupted before the finding was reproduced");
    *code = 5;
  } else {
    hd_say("not reproduced: expected %s; %s", s->title, why.s);
    *code = r->rebuilt || run.error ? 3 : 4;
  }
  hd_str_fini(&why);
  hd_rerun_fini(&run);
  return HD_OK;
}

static int explain(const struct hd_options *o, const char *dir, struct hd_replay *r, struct hd_err *err) {
  struct hd_finding *f = NULL;
  int code = 1, rc = hd_replay_init(r, dir, true, err);
  if (rc != HD_OK) return rc;
  hd_present_rebuilt(r);
  rc = reproduce(o, dir, r, &f, &code, err);
  if (rc != HD_OK || !f) return rc == HD_OK ? code : rc;
  const struct hd_stored *s = &r->stored;
  struct hd_reduction smaller = {0};
  rc = hd_explain(&s->command, &s->schedule, &r->input, &f, o->explain, o->hang_timeout, &smaller, err);
  /* A rebuilt program has other addresses, and the stored parts must be consistent. */
  if (rc == HD_OK && smaller.found && !r->rebuilt) rc = hd_store_add(dir, f, &smaller, &s->command, err);
  bool json_out = o->json && strcmp(o->json, "-") == 0;
  if (rc == HD_OK) hd_present_finding(json_out ? STDERR_FILENO : STDOUT_FILENO, f, o->full);
  if (rc == HD_OK && o->json) rc = write_json(o->json, f, err);
  if (rc == HD_OK && !smaller.found)
    hd_say(
        s->schedule.kind == HD_KIND_HANG || s->schedule.partial
            ? "did not look for a smaller schedule: this failure stops or ends its process"
            : "no smaller schedule: this one does not reproduce the finding when executions share a process");
  hd_reduction_fini(&smaller);
  hd_finding_free(f);
  return rc == HD_OK ? code : rc;
}

int hd_cmd_explain(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_EXPLAIN, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("explain"), 0;
  if (o.nargs != 1) {
    hd_fail(&err, HD_EUSAGE, "name one folder: heddle explain .heddle/1");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  struct hd_replay r = {.input.fd = -1};
  int code = explain(&o, o.args[0], &r, &err);
  if (code < 0) code = hd_err_exit(&err);
  hd_replay_fini(&r);
  return code;
}
