/* cmd_replay.c: `heddle replay`: runs a stored failure again and checks that it is the same one, event
 * by event. Runs in the supervisor.
 *
 * What can differ is told in this order: the program was rebuilt (known before anything is run), the
 * schedule could not be followed, an event came out differently, the finding did not come out. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum result { SAME, SAME_OTHER_EVENTS, NOT_REPRODUCED, RUNTIME_ERROR };

struct replay {
  const struct hd_options *o;
  struct hd_stored stored;
  struct hd_program now; /* the program as it is today */
  struct hd_input input;
  bool rebuilt;
  bool shown; /* the finding has been printed */
};

/* ---- comparing events ---- */

static void add_event(struct hd_str *out, const char *line, struct hd_symbolizer *sym) {
  struct hd_event_text e;
  if (!hd_event_line_split(line, &e)) return;
  char *object = NULL;
  uint64_t addr;
  if (hd_parse_u64(e.object, 16, UINT64_MAX, &addr)) object = hd_symbolize_object(sym, addr);
  hd_str_addf(out, "%s %s%s", e.thread, e.op, strcmp(e.flags, "failed") == 0 ? " (failed)" : "");
  if (object)
    hd_str_addf(out, " `%s`", object);
  else if (strcmp(e.object, "0") != 0)
    hd_str_addf(out, " %s%s", e.object[0] == 'T' || e.object[0] == '#' ? "" : "0x", e.object);
  free(object);
  struct hd_frames frames = {0};
  if (e.pc) hd_symbolize_pc(sym, e.pc, false, &frames);
  if (frames.n > 0 && frames.v[0].file) hd_str_addf(out, " at %s:%d", frames.v[0].file, frames.v[0].line);
  hd_frames_free(&frames);
}

/* In a rebuilt program every address may have moved; what the threads do is compared then. */
static bool same_event(const char *a, const char *b, bool rebuilt) {
  if (strcmp(a, b) == 0) return true;
  struct hd_event_text x, y;
  if (!rebuilt || !hd_event_line_split(a, &x) || !hd_event_line_split(b, &y)) return false;
  return strcmp(x.thread, y.thread) == 0 && strcmp(x.op, y.op) == 0 && strcmp(x.flags, y.flags) == 0 &&
         x.size == y.size;
}

/* The first event that differs; false if all are the same. */
static bool first_difference(const struct replay *r, const struct hd_event_lines *now, size_t *at) {
  const struct hd_event_lines *then = &r->stored.events;
  size_t n = then->n < now->n ? then->n : now->n;
  for (size_t i = 0; i < n; i++) {
    if (same_event(then->line[i], now->line[i], r->rebuilt)) continue;
    *at = i;
    return true;
  }
  *at = n;
  return then->n != now->n;
}

static const char *likely_cause(const struct replay *r, const char *then, const char *now) {
  if (r->rebuilt) return "the program was rebuilt; run heddle check again";
  struct hd_event_text x, y;
  if (then && now && hd_event_line_split(then, &x) && hd_event_line_split(now, &y) &&
      strcmp(x.thread, y.thread) == 0 && strcmp(x.op, y.op) == 0 && x.pc == y.pc)
    return "the same operation on another address: a library or the kernel changed since";
  return "the program read something that differs between runs: a file, the network, or the time";
}

static void tell_difference(const struct replay *r, const struct hd_rerun *run, size_t at) {
  const struct hd_event_lines *then = &r->stored.events;
  const char *want = at < then->n ? then->line[at] : NULL,
             *got = at < run->events.n ? run->events.line[at] : NULL;
  struct hd_symbolizer *sym =
      hd_symbolizer_new(run->module, run->nmodules, r->stored.command.program.path, r->stored.command.cwd);
  struct hd_str a, b;
  hd_str_init(&a);
  hd_str_init(&b);
  add_event(&a, want ? want : "", sym);
  add_event(&b, got ? got : "", sym);
  hd_say("the replay diverged at event %zu of %zu: expected %s, got %s", at + 1, then->n,
         want ? a.s : "the end", got ? b.s : "the end");
  hd_say("likely cause: %s", likely_cause(r, want, got));
  hd_str_fini(&a);
  hd_str_fini(&b);
  hd_symbolizer_free(sym);
}

/* ---- one replay ---- */

static void show_finding(struct replay *r, const struct hd_rerun *run) {
  if (r->shown) return;
  r->shown = true;
  struct hd_symbolizer *sym =
      hd_symbolizer_new(run->module, run->nmodules, r->stored.command.program.path, r->stored.command.cwd);
  struct hd_finding *f = hd_finding_new(run->capture.rec, sym);
  if (!f->partial) f->story = hd_story_of(run, f, sym);
  /* What was tried then holds for the same run only. */
  const struct hd_stored *s = &r->stored;
  bool same = f->story && !r->rebuilt && !r->o->original && s->before && s->after;
  if (same && s->before <= f->story->row.n && s->after <= f->story->row.n)
    hd_story_order(f->story, s->before, s->after);
  struct hd_str text;
  hd_str_init(&text);
  hd_text_finding(&text, f, hd_text_colour(STDERR_FILENO));
  hd_write_all(STDERR_FILENO, text.s, text.n);
  hd_str_fini(&text);
  hd_finding_free(f);
  hd_symbolizer_free(sym);
}

static int check_run(struct replay *r, const struct hd_rerun *run, enum result *result, struct hd_err *err) {
  struct hd_str why;
  int rc = HD_OK;
  hd_str_init(&why);
  bool same = hd_rerun_same(run, &r->stored.schedule, &why);
  size_t at;
  /* Events of a process that died may miss the last one or have it: the death itself is what counts. */
  bool partial = r->stored.schedule.partial || (run->found && run->capture.rec->partial);
  bool differs = first_difference(r, &run->events, &at) &&
                 !(same && partial && (at == run->events.n || at == r->stored.events.n));
  if (same) show_finding(r, run);
  if (run->outcome.end == HD_END_START)
    rc = hd_fail(err, HD_EENV, "%s did not start", r->stored.command.program.path);
  else if (!same)
    hd_say("not reproduced: expected %s; %s", r->stored.title, why.s);
  if (rc == HD_OK && differs && run->outcome.end != HD_END_STOPPED) tell_difference(r, run, at);
  *result = run->outcome.end == HD_END_ERROR ? RUNTIME_ERROR
            : !same                          ? NOT_REPRODUCED
            : differs                        ? SAME_OTHER_EVENTS
                                             : SAME;
  hd_str_fini(&why);
  return rc;
}

static int replay_once(struct replay *r, enum hd_output how, enum result *result, struct hd_err *err) {
  struct hd_rerun run;
  r->stored.schedule.plain = !r->shown; /* for its story */
  int rc = hd_rerun_schedule(&r->stored.command, &r->stored.schedule, &r->input, how, NULL,
                             r->o->hang_timeout, &run, err);
  if (rc == HD_OK) rc = check_run(r, &run, result, err);
  hd_rerun_fini(&run);
  return rc;
}

static int exit_code(const struct replay *r, enum result worst) {
  if (worst == SAME) return 1;
  if (hd_interrupts() > 0) return 5;
  if (worst == SAME_OTHER_EVENTS && r->rebuilt) return 1;
  return r->rebuilt || worst == RUNTIME_ERROR ? 3 : 4;
}

/* A replay without gdb comes first: it tells whether there is anything to look at, and where. */
static int debug(struct replay *r, const char *dir, struct hd_err *err) {
  struct hd_rerun run;
  enum result result = NOT_REPRODUCED;
  int rc = hd_rerun_schedule(&r->stored.command, &r->stored.schedule, &r->input, HD_OUTPUT_NULL, NULL,
                             r->o->hang_timeout, &run, err);
  if (rc == HD_OK) rc = check_run(r, &run, &result, err);
  if (rc == HD_OK) {
    bool there = result == SAME || result == SAME_OTHER_EVENTS;
    rc = there ? hd_gdb(&r->stored, dir, r->o->original, &run, r->o->after, err) : exit_code(r, result);
  }
  hd_rerun_fini(&run);
  return rc;
}

static int replay(struct replay *r, const char *dir, struct hd_err *err) {
  int rc = hd_store_read(dir, r->o->original, &r->stored, err);
  if (rc == HD_OK) rc = hd_stored_ready(&r->stored, &r->now, &r->rebuilt, err);
  if (rc == HD_OK) rc = hd_input_from_file(&r->input, r->stored.input_path, err);
  if (rc != HD_OK) return rc;
  if (r->o->gdb) return debug(r, dir, err);
  enum result worst = SAME;
  uint64_t identical = 0, i = 0;
  for (; i < r->o->times && hd_interrupts() == 0; i++) {
    enum result result;
    /* The output is the same every time: once is enough. */
    rc = replay_once(r, i == 0 ? HD_OUTPUT_SHOW : HD_OUTPUT_NULL, &result, err);
    if (rc != HD_OK) return rc;
    identical += result == SAME;
    if (result > worst) worst = result;
  }
  if (r->o->times > 1)
    hd_say("%llu of %llu identical", (unsigned long long)identical, (unsigned long long)i);
  else if (worst == SAME && !r->o->quiet)
    hd_say("replayed: the same finding, all %zu events identical", r->stored.events.n);
  return exit_code(r, worst);
}

int hd_cmd_replay(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_REPLAY, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("replay"), 0;
  if (o.nargs != 1) {
    hd_fail(&err, HD_EUSAGE, "name one folder: heddle replay .heddle/1");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  struct replay r = {.o = &o, .input.fd = -1};
  int code = replay(&r, o.args[0], &err);
  if (code < 0) code = hd_err_exit(&err);
  hd_stored_fini(&r.stored);
  hd_program_fini(&r.now);
  hd_input_fini(&r.input);
  return code;
}
