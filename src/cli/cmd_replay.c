/* cmd_replay.c: `heddle replay`: re-executes a stored failure and reports whether it is identical, event by event
 * (session/replay.c). Runs in the supervisor. */
#include "cli/cli.h"
#include "session/rerun.h"

#include <unistd.h>

struct replay {
  const struct hd_options *o;
  const char *dir;
  struct hd_replay r;
  bool first; /* of what `heddle run` has found: there was nothing to compare with */
  bool shown; /* the finding has been printed */
  bool whole; /* the last comparison was of all events */
};

static void show_finding(struct replay *p, const struct hd_rerun *run) {
  if (p->shown) return;
  p->shown = true;
  struct hd_symbolizer *sym;
  struct hd_finding *f = hd_rerun_finding(run, &p->r.stored.command, &sym);
  if (!f->partial) f->story = hd_rerun_story(run, f, sym);
  /* The decisive order is known for the identical run only. */
  const struct hd_stored *s = &p->r.stored;
  bool same = f->story && !p->r.rebuilt && !p->o->original && s->before && s->after;
  if (same && s->before <= f->story->row.n && s->after <= f->story->row.n)
    hd_story_order(f->story, run->event, run->nevents, s->before, s->after);
  hd_present_finding(STDERR_FILENO, f, p->o->full);
  hd_finding_free(f);
  hd_symbolizer_free(sym);
}

static int check_run(struct replay *p, const struct hd_rerun *run, enum hd_replay_result *result,
                     struct hd_err *err) {
  struct hd_comparison c;
  int rc = hd_replay_compare(&p->r, run, &c, err);
  if (rc == HD_OK && !c.same && hd_interrupts() > 0) { /* which says nothing about the finding */
    *result = c.result;
  } else if (rc == HD_OK) {
    if (c.same) show_finding(p, run);
    if (!c.same) hd_say("not reproduced: expected %s; %s", p->r.stored.title, c.why.s);
    if (!c.same && !p->r.stored.nevents)
      hd_say(
          "likely cause: the run that found it left something behind, such as files; restore what it started from");
    if (c.event) {
      unsigned long long n = p->r.stored.nevents;
      if (c.beyond)
        hd_say("the replay went on after event %llu, the last one stored, with %s", n, c.got.s);
      else
        hd_say("the replay diverged at event %llu of %llu: expected %s, got %s", (unsigned long long)c.event,
               n, c.want.s, c.got.s);
      hd_say("likely cause: %s", c.cause);
    }
    *result = c.result;
    p->whole = c.whole;
  }
  hd_comparison_fini(&c);
  return rc;
}

/* Stores what the first replay of a finding of `heddle run` has recorded, for the others. */
static int complete(struct replay *p, const struct hd_rerun *run, struct hd_err *err) {
  p->first = true;
  if (p->r.rebuilt) return HD_OK;
  struct hd_symbolizer *sym;
  struct hd_finding *f = hd_replay_finding(&p->r, run, p->dir, &sym);
  if (!f->partial) f->story = hd_rerun_story(run, f, sym);
  int rc = hd_store_complete(p->dir, f, run, &p->r.stored.command, err);
  hd_finding_free(f);
  hd_symbolizer_free(sym);
  if (rc != HD_OK) return rc;
  hd_replay_fini(&p->r);
  return hd_replay_init(&p->r, p->dir, p->o->original, err);
}

static int rerun(struct replay *p, enum hd_output how, struct hd_rerun *run, struct hd_err *err) {
  p->r.stored.schedule.callers = !p->shown; /* for its story */
  return hd_rerun_schedule(&p->r.stored.command, &p->r.stored.schedule, &p->r.input, how, NULL,
                           p->o->hang_timeout, run, err);
}

static int replay_once(struct replay *p, enum hd_output how, enum hd_replay_result *result,
                       struct hd_err *err) {
  struct hd_rerun run;
  int rc = rerun(p, how, &run, err);
  if (rc == HD_OK) rc = check_run(p, &run, result, err);
  if (rc == HD_OK && *result == HD_REPLAY_SAME && !p->r.stored.nevents) rc = complete(p, &run, err);
  hd_rerun_fini(&run);
  return rc;
}

static int exit_code(const struct replay *p, enum hd_replay_result worst) {
  if (worst == HD_REPLAY_SAME) return 1;
  if (hd_interrupts() > 0) return 5;
  if (worst == HD_REPLAY_OTHER_EVENTS && p->r.rebuilt) return 1;
  bool elsewhere = p->r.rebuilt || !p->r.stored.nevents; /* the environment is another one */
  return elsewhere || worst == HD_REPLAY_ERROR ? 3 : 4;
}

/* A replay without gdb comes first: it shows whether the failure is reproduced, and where. */
static int debug(struct replay *p, struct hd_err *err) {
  struct hd_rerun run;
  enum hd_replay_result result = HD_REPLAY_NOT_REPRODUCED;
  int rc = rerun(p, HD_OUTPUT_NULL, &run, err);
  if (rc == HD_OK) rc = check_run(p, &run, &result, err);
  if (rc == HD_OK) {
    bool there = result == HD_REPLAY_SAME || result == HD_REPLAY_OTHER_EVENTS;
    rc = there ? hd_gdb(&p->r.stored, p->dir, p->o->original, &run, p->o->after, err) : exit_code(p, result);
  }
  hd_rerun_fini(&run);
  return rc;
}

static int replay(struct replay *p, struct hd_err *err) {
  int rc = hd_replay_init(&p->r, p->dir, p->o->original, err);
  if (rc != HD_OK) return rc;
  hd_present_rebuilt(&p->r);
  if (p->o->gdb) return debug(p, err);
  enum hd_replay_result worst = HD_REPLAY_SAME;
  uint64_t identical = 0, i = 0;
  for (; i < p->o->times && hd_interrupts() == 0; i++) {
    enum hd_replay_result result;
    /* The output is the same every time: once is enough. */
    rc = replay_once(p, i == 0 ? HD_OUTPUT_SHOW : HD_OUTPUT_NULL, &result, err);
    if (rc != HD_OK) return rc;
    if (result != HD_REPLAY_SAME && hd_interrupts() > 0) break;
    identical += result == HD_REPLAY_SAME;
    if (result > worst) worst = result;
  }
  bool cut = i < p->o->times && hd_interrupts() > 0;
  if (cut && i == 0)
    hd_say("interrupted before the replay ended");
  else if (p->o->times > 1)
    hd_say("%s%llu of %llu identical", cut ? "interrupted; " : "", (unsigned long long)identical,
           (unsigned long long)i);
  else if (worst == HD_REPLAY_SAME && p->first && !p->o->quiet)
    hd_say("replayed: the same finding; its events are stored now");
  else if (worst == HD_REPLAY_SAME && !p->o->quiet)
    hd_say("replayed: the same finding, all %llu %s identical",
           (unsigned long long)(p->whole ? p->r.stored.nevents : p->r.stored.noperations),
           p->whole ? "events" : "operations of the schedule");
  return cut ? 5 : exit_code(p, worst);
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
  struct replay p = {.o = &o, .dir = o.args[0], .r.input.fd = -1};
  int code = replay(&p, &err);
  if (code < 0) code = hd_err_exit(&err);
  hd_replay_fini(&p.r);
  return code;
}
