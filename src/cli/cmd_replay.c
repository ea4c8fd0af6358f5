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

/* The traces of then and now, event by event. */
struct comparison {
  struct hd_tr_source *then, *now;
  struct hd_event want, got;
  bool wants, gets; /* there is such an event */
  uint64_t at;      /* number of the pair, from 1 */
};

/* The next event that was an operation of the schedule. What other accesses were recorded depends on which memory is
 * shared, and says nothing more. */
static int next_operation(struct hd_tr_source *s, struct hd_event *e, bool *there, struct hd_err *err) {
  int rc;
  do rc = hd_tr_next(s, e, err);
  while (rc > 0 && (e->flags & HD_EV_PLAIN));
  *there = rc > 0;
  return rc < 0 ? rc : HD_OK;
}

/* In a rebuilt program every address may have moved; what the threads do is compared then. */
static bool same_event(const struct comparison *c, bool rebuilt) {
  const struct hd_tr_tables *t = c->then->tables, *u = c->now->tables;
  const struct hd_event *a = &c->want, *b = &c->got;
  if (a->op.kind != b->op.kind || ((a->flags ^ b->flags) & HD_EV_FAILED) || a->op.size != b->op.size ||
      strcmp(t->thread.v[a->op.thread].name, u->thread.v[b->op.thread].name) != 0)
    return false;
  if (rebuilt) return true;
  uint64_t pc = a->place ? t->place.v[a->place - 1].pc : 0;
  if (pc != (b->place ? u->place.v[b->place - 1].pc : 0)) return false;
  if (hd_op_object(a->op.kind) != HD_OBJ_THREAD) return a->op.object == b->op.object;
  return strcmp(t->thread.v[a->op.object].name, u->thread.v[b->op.object].name) == 0;
}

/* Finds the first pair that differs; `differs` is false if all are the same. The caller closes both. */
static int compare(const struct replay *r, const struct hd_rerun *run, bool names, struct comparison *c,
                   bool *differs, struct hd_err *err) {
  *c = (struct comparison){0};
  *differs = false;
  int rc = hd_tr_open_file(r->stored.trace, &c->then, err);
  if (rc != HD_OK) return rc;
  c->now = hd_rerun_trace(run, &r->stored.command, names, false);
  do {
    c->at++;
    rc = next_operation(c->then, &c->want, &c->wants, err);
    if (rc == HD_OK) rc = next_operation(c->now, &c->got, &c->gets, err);
    if (rc != HD_OK) return rc;
    *differs = c->wants != c->gets || (c->wants && !same_event(c, r->rebuilt));
  } while (c->wants && !*differs);
  return HD_OK;
}

static void end_comparison(struct comparison *c) {
  hd_tr_close(c->then);
  hd_tr_close(c->now);
}

static const char *likely_cause(const struct replay *r, const struct comparison *c) {
  if (r->rebuilt) return "the program was rebuilt; run heddle check again";
  const struct hd_tr_tables *t = c->then->tables, *u = c->now->tables;
  if (c->wants && c->gets && c->want.op.kind == c->got.op.kind && c->want.place && c->got.place &&
      t->place.v[c->want.place - 1].pc == u->place.v[c->got.place - 1].pc &&
      strcmp(t->thread.v[c->want.op.thread].name, u->thread.v[c->got.op.thread].name) == 0)
    return "the same operation on another address: a library or the kernel changed since";
  return "the program read something that differs between runs: a file, the network, or the time";
}

static int tell_difference(const struct replay *r, const struct hd_rerun *run, struct hd_err *err) {
  struct comparison c;
  bool differs;
  int rc = compare(r, run, true, &c, &differs, err);
  if (rc == HD_OK) {
    struct hd_str a, b;
    hd_str_init(&a);
    hd_str_init(&b);
    if (c.wants) hd_tr_describe(&a, c.then->tables, &c.want);
    if (c.gets) hd_tr_describe(&b, c.now->tables, &c.got);
    hd_say("the replay diverged at event %llu of %llu: expected %s, got %s", (unsigned long long)c.at,
           (unsigned long long)r->stored.nevents, c.wants ? a.s : "the end", c.gets ? b.s : "the end");
    hd_say("likely cause: %s", likely_cause(r, &c));
    hd_str_fini(&a);
    hd_str_fini(&b);
  }
  end_comparison(&c);
  return rc;
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
  struct comparison c;
  bool differs;
  int rc = compare(r, run, false, &c, &differs, err);
  end_comparison(&c);
  if (rc != HD_OK) return rc;
  hd_str_init(&why);
  bool same = hd_rerun_same(run, &r->stored.schedule, &why);
  /* Events of a process that died may miss the last one or have it: the death itself is what counts. */
  bool partial = r->stored.schedule.partial || (run->found && run->capture.rec->partial);
  differs = differs && !(same && partial && !(c.wants && c.gets));
  if (same) show_finding(r, run);
  if (run->outcome.end == HD_END_START && r->stored.command.calls)
    rc = hd_fail(err, HD_EENV, "%s did not come to the call of hd_check that this was found in: %s",
                 r->stored.command.program.path,
                 r->rebuilt ? "it was rebuilt; run the test again"
                            : "its tests have to run in the same order, at the same addresses");
  else if (run->outcome.end == HD_END_START)
    rc = hd_fail(err, HD_EENV, "%s did not start", r->stored.command.program.path);
  else if (!same)
    hd_say("not reproduced: expected %s; %s", r->stored.title, why.s);
  if (rc == HD_OK && differs && run->outcome.end != HD_END_STOPPED) rc = tell_difference(r, run, err);
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
    hd_say("replayed: the same finding, all %llu events identical", (unsigned long long)r->stored.nevents);
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
