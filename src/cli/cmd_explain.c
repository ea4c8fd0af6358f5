/* cmd_explain.c: `heddle explain`: finds a smaller schedule for a stored failure and tells what happens in it.
 * Runs in the supervisor. The original schedule is never changed; a smaller one is kept beside it. */
#include "cli/cli.h"

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

static void show(const struct hd_options *o, const struct hd_finding *f) {
  struct hd_str text;
  int fd = o->json && strcmp(o->json, "-") == 0 ? STDERR_FILENO : STDOUT_FILENO;
  hd_str_init(&text);
  hd_text_finding(&text, f, hd_text_colour(fd));
  hd_write_all(fd, text.s, text.n);
  hd_str_fini(&text);
}

/* The finding as its own schedule gives it. */
static struct hd_finding *first_finding(const struct hd_stored *s, const struct hd_rerun *run,
                                        const char *dir) {
  struct hd_symbolizer *sym =
      hd_symbolizer_new(run->module, run->nmodules, s->command.program.path, s->command.cwd);
  struct hd_finding *f = hd_finding_new(run->capture.rec, sym);
  hd_symbolizer_free(sym);
  f->execution = s->schedule.execution;
  f->seed = s->schedule.seed;
  f->key = s->schedule.key;
  f->steps = s->schedule.nsteps;
  memcpy(f->strategy, s->schedule.strategy, sizeof f->strategy);
  f->replays = true;
  f->folder = hd_strdup(dir);
  const char *name = strrchr(dir, '/');
  uint64_t id;
  if (hd_parse_u64(name ? name + 1 : dir, 10, 1000000000, &id)) f->id = (unsigned)id;
  return f;
}

static int explain(const struct hd_options *o, const char *dir, struct hd_stored *s, struct hd_input *in,
                   struct hd_err *err) {
  struct hd_program now = {0};
  bool rebuilt = false;
  int rc = hd_store_read(dir, true, s, err);
  if (rc == HD_OK) rc = hd_stored_ready(s, &now, &rebuilt, err);
  hd_program_fini(&now);
  if (rc == HD_OK) rc = hd_input_from_file(in, s->input_path, err);
  struct hd_rerun run = {0};
  if (rc == HD_OK)
    rc = hd_rerun_schedule(&s->command, &s->schedule, in, HD_OUTPUT_NULL, NULL, o->hang_timeout, &run, err);
  if (rc != HD_OK) return rc;
  struct hd_str why;
  hd_str_init(&why);
  bool same = hd_rerun_same(&run, &s->schedule, &why);
  if (!same) hd_say("not reproduced: expected %s; %s", s->title, why.s);
  hd_str_fini(&why);
  if (!same) {
    hd_rerun_fini(&run);
    return rebuilt || run.error ? 3 : 4;
  }
  struct hd_finding *f = first_finding(s, &run, dir);
  hd_rerun_fini(&run);
  struct hd_reduction r = {0};
  rc = hd_explain(&s->command, &s->schedule, in, &f, o->explain, o->hang_timeout, &r, err);
  /* One that is rebuilt has other addresses: what is kept must fit together. */
  if (rc == HD_OK && r.found && !rebuilt) rc = hd_store_add(dir, f, &r, &s->command, err);
  if (rc == HD_OK) show(o, f);
  if (rc == HD_OK && o->json) rc = write_json(o->json, f, err);
  if (rc == HD_OK && !r.found)
    hd_say(s->schedule.kind == HD_KIND_HANG || s->schedule.partial
               ? "no smaller schedule was looked for: this failure stops or ends its process"
               : "no smaller schedule: this one does not give the same finding among others in one process");
  hd_reduction_fini(&r);
  hd_finding_free(f);
  return rc == HD_OK ? 1 : rc;
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
  struct hd_stored stored = {0};
  struct hd_input input = {.fd = -1};
  int code = explain(&o, o.args[0], &stored, &input, &err);
  if (code < 0) code = hd_err_exit(&err);
  hd_stored_fini(&stored);
  hd_input_fini(&input);
  return code;
}
