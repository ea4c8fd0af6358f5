/* reduce.c: minimises a schedule: the same finding with fewer preemptions, switches, threads and steps.
 * Runs in the supervisor.
 *
 * Two tools alternate, each a tested process that tries thousands of schedules: the strategy `reduce` changes the
 * failing schedule step by step (explore/strategy_reduce.c); then all schedules with fewer preemptions than its result
 * are searched for the same finding. If that search completes without it, the number of preemptions is the minimum. A
 * result counts only when it is confirmed in a separate process. */
#include "session/rerun.h"

#include <stdlib.h>
#include <string.h>

#define TRY_SECONDS 2 /* for a single execution; the result of a longer one is unknown */

struct reducer {
  const struct hd_command *command;
  const struct hd_schedule *first; /* the original */
  const struct hd_input *input;
  double hang_timeout, deadline;
  struct hd_reduction *out;
  uint32_t covered; /* no schedule with fewer preemptions than this has the finding */
};

static void *copy(const void *p, size_t n, size_t item) {
  void *out = hd_alloc(n * item);
  if (n) memcpy(out, p, n * item);
  return out;
}

/* Copies the steps, and the visible memory that they depend on, from another schedule. */
static void take_steps(struct hd_schedule *to, const struct hd_schedule *from) {
  struct hd_schedule s = *to;
  s.step = copy(from->step, from->nsteps, sizeof *s.step);
  s.nsteps = from->nsteps;
  s.visible = copy(from->visible, from->nvisible, sizeof *s.visible);
  s.nvisible = from->nvisible;
  s.numbers = from->numbers;
  to->inputs = (struct hd_inputs){0}; /* they stay */
  hd_schedule_fini(to);
  *to = s;
}

/* Runs a process on `s` with `config`, until it or the time ends. The caller releases the control. */
static int run(struct reducer *r, const struct hd_schedule *s, const struct hd_config *config,
               double deadline, struct hd_control *c, struct hd_outcome *outcome, struct hd_err *err) {
  int rc = hd_control_init(c, config, NULL, err);
  if (rc != HD_OK) return rc;
  hd_control_schedule(c, s);
  struct hd_streams streams;
  rc = hd_streams_open(&streams, r->input, HD_OUTPUT_NULL, NULL, err);
  if (rc == HD_OK) {
    struct hd_watch watch = {.hang_timeout = r->hang_timeout,
                             .step_timeout = HD_STEP_TIMEOUT * r->hang_timeout,
                             .deadline = deadline,
                             .interrupts = hd_interrupts(),
                             .tick_ms = 20};
    rc = hd_supervise(r->command, c, &streams, &watch, outcome, err);
    hd_streams_close(&streams);
  }
  if (rc != HD_OK) hd_control_fini(c);
  return rc;
}

/* The wait status of a process that dies as in the finding; 0: unknown. */
static int32_t death_of(const struct hd_schedule *s, const struct hd_finding *f) {
  if (!s->partial) return 0;
  return f->signal ? f->signal : f->status << 8;
}

static void reduce_config(const struct hd_schedule *s, const struct hd_finding *f, struct hd_config *c) {
  hd_schedule_config(s, c);
  c->mode = HD_MODE_REDUCE;
  c->bound_kind = HD_BOUND_PREEMPTIONS; /* to count them */
  c->detail = 0;
  c->all = 0;
  c->max_executions = 0;
  c->target_kind = s->kind;
  c->target_death = death_of(s, f);
  if (c->target_death) c->restart = HD_RESTART_FORK;
}

/* The runtime's result at the beginning of the search memory, validated. */
static struct hd_reduced result_of(const struct hd_control *c, const hd_step **step) {
  const char *memory = (const char *)c->shared + HD_SEARCH_MEMORY;
  struct hd_reduced h = *(const struct hd_reduced *)memory;
  if (h.found > 2) h.found = 0;
  for (int i = 0; i < 2; i++)
    if (h.best[i].nsteps > HD_PATH_CAP) h.found = 0;
  *step = h.found ? (const hd_step *)(memory + HD_REDUCED_STEPS + (h.found - 1) * HD_REDUCED_SIZE) : NULL;
  return h;
}

/* Changes the schedule as long as that makes it smaller. Sets `found` when the expected failure occurs at all. */
static int change(struct reducer *r, struct hd_schedule *s, const struct hd_finding *f, double deadline,
                  bool *found, struct hd_err *err) {
  struct hd_config config;
  reduce_config(s, f, &config);
  *found = false;
  for (;;) {
    struct hd_control c;
    struct hd_outcome outcome;
    int rc = run(r, s, &config, deadline, &c, &outcome, err);
    if (rc != HD_OK) return rc;
    const hd_step *step;
    struct hd_reduced h = result_of(&c, &step);
    r->out->tries += h.tries;
    if (h.found) {
      const struct hd_reduced_best *b = &h.best[h.found - 1];
      if (r->out->before.steps == 0)
        r->out->before =
            (struct hd_cost){h.first.preemptions, h.first.switches, h.first.threads, h.first.nsteps};
      r->out->after = (struct hd_cost){b->preemptions, b->switches, b->threads, b->nsteps};
      free(s->step);
      s->step = copy(step, b->nsteps, sizeof *step);
      s->nsteps = b->nsteps;
      *found = true;
    }
    hd_control_fini(&c);
    /* Only in fork mode does the search survive a candidate that kills its process. */
    if (outcome.end != HD_PROCESS_DIED || config.restart == HD_RESTART_FORK || hd_now() >= deadline)
      return HD_OK;
    config.restart = HD_RESTART_FORK;
    config.replay_len = s->nsteps;
  }
}

/* Searches all schedules with fewer preemptions than `s` for the finding, and replaces `s` by the result. */
static int search_below(struct reducer *r, struct hd_schedule *s, double deadline, bool *found,
                        struct hd_err *err) {
  uint32_t below = r->out->after.preemptions;
  struct hd_config config;
  hd_schedule_config(s, &config);
  *found = false;
  config.mode = HD_MODE_CHECK;
  config.one_phase = 1;
  config.detail = config.all = 0;
  config.max_executions = config.replay_len = 0;
  config.may_switch = config.restart == HD_RESTART_MEMORY;
  config.bound_kind = HD_BOUND_PREEMPTIONS;
  config.bound_iterate = below > 1;
  config.bound = config.bound_last = below - 1;
  if (!config.target_key) config.ignore = ~(1ull << s->kind);
  strcpy(config.strategy, "dpor");
  struct hd_control c;
  struct hd_outcome outcome;
  int rc = run(r, s, &config, deadline, &c, &outcome, err);
  if (rc != HD_OK) return rc;
  if (hd_control_sane(&c)) {
    const struct hd_status *st = &c.ctl->status;
    r->out->tries += st->executions + st->blocked + st->discarded;
    if (st->nfindings > 0) {
      struct hd_capture found_one;
      hd_capture_finding(&found_one, &c, 0);
      take_steps(s, &(struct hd_schedule){.step = found_one.step,
                                          .nsteps = found_one.nsteps,
                                          .visible = found_one.visible,
                                          .nvisible = found_one.nvisible,
                                          .numbers = found_one.numbers});
      hd_capture_fini(&found_one);
      *found = true;
    }
    r->covered = hd_inexact_sum(st->inexact, HD_CLASS_GAP) ? 0 : c.shared->bounds_done;
  }
  hd_control_fini(&c);
  return HD_OK;
}

int hd_reduce_try(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
                  const struct hd_finding *f, double hang_timeout, bool *fails, struct hd_err *err) {
  struct reducer r = {.command = cmd, .first = s, .input = in, .hang_timeout = hang_timeout};
  struct hd_config config;
  struct hd_control c;
  struct hd_outcome outcome;
  reduce_config(s, f, &config);
  config.max_executions = 1;
  int rc = run(&r, s, &config, hd_now() + TRY_SECONDS, &c, &outcome, err);
  if (rc != HD_OK) return rc;
  const hd_step *step;
  /* If the process ended in any other way, the result is unknown. */
  *fails = outcome.end != HD_PROCESS_DONE || result_of(&c, &step).found;
  hd_control_fini(&c);
  return HD_OK;
}

struct attempt {
  struct reducer *r;
  const struct hd_finding *f;
};

static bool surely_fails(void *arg, const struct hd_schedule *s) {
  struct attempt *a = arg;
  struct hd_config config;
  struct hd_control c;
  struct hd_outcome outcome;
  struct hd_err err;
  reduce_config(s, a->f, &config);
  config.max_executions = 1;
  if (run(a->r, s, &config, hd_now() + TRY_SECONDS, &c, &outcome, &err) != HD_OK) return false;
  const hd_step *step;
  bool fails = outcome.end == HD_PROCESS_DONE && result_of(&c, &step).found;
  hd_control_fini(&c);
  return fails;
}

static bool same_identity(const struct hd_finding *a, const struct hd_finding *b) {
  char *x = hd_finding_identity(a), *y = hd_finding_identity(b);
  bool same = strcmp(x, y) == 0;
  free(x);
  free(y);
  return same;
}

/* Runs the result in a separate process; drops it if that gives another finding. */
static int confirm(struct reducer *r, const struct hd_finding *f, struct hd_err *err) {
  struct hd_reduction *out = r->out;
  struct hd_str why;
  out->schedule.callers = true; /* for its story */
  int rc = hd_rerun_schedule(r->command, &out->schedule, r->input, HD_OUTPUT_NULL, NULL, r->hang_timeout,
                             &out->rerun, err);
  if (rc != HD_OK) return rc;
  hd_str_init(&why);
  out->found = hd_rerun_same(&out->rerun, &out->schedule, &why);
  hd_str_fini(&why);
  if (!out->found) return HD_OK;
  struct hd_finding *now = hd_rerun_finding(&out->rerun, r->command, NULL);
  out->found = same_identity(f, now);
  hd_finding_free(now);
  return HD_OK;
}

int hd_reduce(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
              const struct hd_finding *f, double seconds, double hang_timeout, struct hd_reduction *out,
              struct hd_err *err) {
  *out = (struct hd_reduction){0};
  double started = hd_now();
  struct reducer r = {cmd, s, in, hang_timeout, started + seconds, out, 0};
  struct hd_schedule best = {0};
  bool found = false, lower = false;
  /* A hang takes its timeout to notice; a death without a trace cannot be distinguished from others. */
  if (s->kind == HD_KIND_HANG || (s->partial && !death_of(s, f))) return HD_OK;
  best = *s;
  best.step = NULL;
  best.visible = NULL;
  hd_inputs_copy(&best.inputs, &s->inputs);
  take_steps(&best, s);
  /* Where one execution takes long, a search of others comes to little. */
  double share = s->nsteps > HD_LONG_SCHEDULE ? 0.7 : 0.4;
  if (best.inputs.n && !s->partial)
    out->tries += hd_reduce_inputs(&best, surely_fails, &(struct attempt){&r, f}, started + seconds * 0.3);
  int rc = change(&r, &best, f, started + seconds * share, &found, err);
  bool go_on = hd_interrupts() == 0 && hd_now() < r.deadline;
  if (rc == HD_OK && found && out->after.preemptions && !s->partial && go_on)
    rc = search_below(&r, &best, started + seconds * 0.9, &lower, err);
  if (rc == HD_OK && lower) rc = change(&r, &best, f, r.deadline, &found, err);
  out->fewest = found && out->after.preemptions <= r.covered;
  out->schedule = best;
  if (rc == HD_OK && found) rc = confirm(&r, f, err);
  out->seconds = hd_now() - started;
  if (rc != HD_OK) hd_reduction_fini(out);
  return rc;
}

void hd_reduction_fini(struct hd_reduction *r) {
  hd_schedule_fini(&r->schedule);
  if (r->rerun.control.ctl) hd_rerun_fini(&r->rerun); /* else nothing was run */
  *r = (struct hd_reduction){0};
}
