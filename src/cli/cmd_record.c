/* cmd_record.c: `heddle record`: records the trace of one execution. Runs in the supervisor. */
#include "cli/cli.h"
#include "session/rerun.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FILE "heddle.trace"

struct record {
  const struct hd_options *o;
  const char *path;
  struct hd_command command;
  struct hd_input input;
};

/* Reports what went wrong in the execution; returns the number of findings. */
static size_t report_findings(const struct record *r, const struct hd_rerun *run) {
  struct hd_symbolizer *sym =
      hd_symbolizer_new(run->module, run->nmodules, r->command.program.path, r->command.cwd);
  size_t n = hd_control_sane(&run->control) ? run->status.nfindings : 0, reported = 0;
  if (n == 0 && run->found) {
    struct hd_finding *f = hd_finding_new(run->capture.rec, sym);
    hd_say("in this execution: %s", f->title);
    hd_finding_free(f);
    reported++;
  }
  for (size_t i = 0; i < n; i++, reported++) {
    struct hd_capture c;
    hd_capture_finding(&c, &run->control, i);
    struct hd_finding *f = hd_finding_new(c.rec, sym);
    hd_say("in this execution: %s", f->title);
    hd_finding_free(f);
    hd_capture_fini(&c);
  }
  hd_symbolizer_free(sym);
  return reported;
}

static int keep(const struct record *r, const struct hd_rerun *run, struct hd_err *err) {
  struct hd_tr_source *s = hd_rerun_trace(run, &r->command, true, r->o->plain);
  uint64_t events = s->tables->nevents;
  size_t threads = s->tables->thread.n;
  int rc = hd_tr_write_file(s, HD_TR_BINARY, r->path, err);
  hd_tr_close(s);
  struct stat st;
  if (rc == HD_OK && !r->o->quiet && stat(r->path, &st) == 0)
    hd_say("recorded %llu event%s of %zu thread%s in %s (%lld bytes)", (unsigned long long)events,
           events == 1 ? "" : "s", threads, threads == 1 ? "" : "s", r->path, (long long)st.st_size);
  return rc;
}

static int record(struct record *r, struct hd_err *err) {
  const struct hd_options *o = r->o;
  int rc = hd_command_init(&r->command, o->args, o->preload, NULL, err);
  if (rc == HD_OK) rc = hd_input_init(&r->input, false, err);
  if (rc != HD_OK) return rc;
  /* An empty schedule gives the default one. No finding is expected, so none ends the execution. */
  struct hd_schedule schedule = {.seed = o->seed,
                                 .max_length = o->max_length,
                                 .restart = HD_RESTART_MEMORY,
                                 .spurious = o->spurious,
                                 .timeouts_any = o->timeouts_any,
                                 .closed = o->closed,
                                 .partial = true};
  snprintf(schedule.strategy, sizeof schedule.strategy, "%s", o->strategy);
  struct hd_config config;
  hd_schedule_config(&schedule, &config);
  if (o->seeded) config.mode = HD_MODE_RUN;
  if (o->plain) config.plain = UINT64_MAX;
  struct hd_rerun run;
  rc = hd_rerun_config(&r->command, &schedule, &config, &r->input, HD_OUTPUT_SHOW, NULL, o->hang_timeout, 0,
                       &run, err);
  if (rc != HD_OK) return rc;
  if (run.error)
    rc = hd_fail(err, hd_runtime_error_code(run.status.error), "%s", run.error);
  else if (run.outcome.end == HD_PROCESS_START)
    rc = hd_start_failed(&run.outcome, r->command.argv[0], err);
  if (rc == HD_OK) rc = keep(r, &run, err);
  int code = rc;
  if (rc == HD_OK) {
    size_t findings = report_findings(r, &run);
    uint64_t cut = hd_inexact_sum(run.status.inexact, HD_CLASS_CUT);
    if (run.status.inexact[HD_INEXACT_LENGTH].count)
      hd_say("the execution was cut after %llu steps; raise --max-length to record more",
             (unsigned long long)o->max_length);
    code = findings ? 1 : cut || hd_interrupts() ? 5 : 0;
  }
  hd_rerun_fini(&run);
  return code;
}

int hd_cmd_record(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_RECORD, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("record"), 0;
  if (o.nargs == 0) {
    hd_fail(&err, HD_EUSAGE, "name a program: heddle record -- ./test");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  struct record r = {.o = &o, .path = o.output ? o.output : DEFAULT_FILE, .input.fd = -1};
  int code = record(&r, &err);
  if (code < 0) code = hd_err_exit(&err);
  hd_input_fini(&r.input);
  hd_command_fini(&r.command);
  return code;
}
