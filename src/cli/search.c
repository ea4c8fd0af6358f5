/* search.c: the search of `check` and `run`: tested processes one after the other, their findings
 * confirmed, told apart, stored and reported. Runs in the supervisor.
 *
 * The shared memory outlives each tested process, so that the next one goes on where the last one died.
 * A finding is dealt with as soon as it is seen, while the search goes on: hours of --all are not lost
 * when the machine is switched off. */
#include "cli/search_int.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIN_EXPLAIN 0.05 /* seconds that are worth beginning with */

/* Findings and the summary go to standard output, unless the program or a file on it owns it. */
static int report_fd(const struct hd_search_run *s) {
  bool taken = s->verb == HD_VERB_RUN || hd_outputs_own_stdout(s->o);
  return taken ? STDERR_FILENO : STDOUT_FILENO;
}

static void report(const struct hd_search_run *s, const struct hd_str *text) {
  hd_live_line(NULL);
  hd_write_all(report_fd(s), text->s, text->n);
}

/* ---- counters ---- */

/* Each worker has its own list of labels. */
static void add_targets(struct hd_status *sum, const struct hd_status *st, bool counts) {
  for (uint32_t i = 0; i < st->ntargets && i < HD_MAX_TARGETS; i++) {
    const struct hd_target *t = &st->target[i];
    uint32_t k = 0;
    while (k < sum->ntargets && strncmp(sum->target[k].label, t->label, sizeof t->label) != 0) k++;
    if (k == HD_MAX_TARGETS) continue;
    if (k == sum->ntargets) {
      snprintf(sum->target[k].label, sizeof sum->target[k].label, "%.*s", (int)sizeof t->label - 1, t->label);
      for (char *c = sum->target[k].label; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
      sum->ntargets++;
    }
    if (counts) sum->target[k].executions += t->executions;
  }
}

static void add_status(struct hd_status *sum, const struct hd_status *st, uint64_t epoch) {
  bool counts = st->epoch == epoch; /* else the search has begun anew since */
  sum->discarded += st->discarded + (counts ? 0 : st->executions + st->infeasible);
  sum->events += st->events;
  sum->switches += st->switches;
  sum->findings_dropped += st->findings_dropped;
  sum->lossy |= st->lossy;
  sum->sampled |= st->sampled;
  sum->strayed += st->strayed;
  sum->races_off |= st->races_off;
  if (st->foreign) sum->foreign = st->foreign;
  if (st->max_threads > sum->max_threads) sum->max_threads = st->max_threads;
  if (st->restart) sum->restart = st->restart;
  for (int i = 0; i < HD_MAX_PHASES; i++) {
    if (st->phase[i].strategy[0])
      memcpy(sum->phase[i].strategy, st->phase[i].strategy, sizeof sum->phase[i].strategy);
    if (counts) sum->phase[i].executions += st->phase[i].executions;
  }
  add_targets(sum, st, counts);
  if (!counts) return;
  sum->executions += st->executions;
  sum->blocked += st->blocked;
  sum->infeasible += st->infeasible;
  sum->cut += st->cut;
  sum->classes += st->classes;
  sum->class_sum += st->class_sum;
  sum->states += st->states;
  sum->state_sum += st->state_sum;
}

struct hd_status hd_search_total(const struct hd_search_run *s) {
  struct hd_status sum = {0};
  uint64_t epoch = s->worker[0].control.shared->epoch;
  add_status(&sum, &s->carried, epoch);
  for (unsigned i = 0; i < s->nworkers; i++) add_status(&sum, &s->worker[i].control.good, epoch);
  sum.epoch = epoch;
  sum.error = s->worker[0].control.good.error;
  return sum;
}

uint64_t hd_search_executions(const struct hd_search_run *s) {
  return hd_search_total(s).executions + s->deaths;
}

/* Whether the bound has kept the search from something. */
static bool bound_cut(const struct hd_search_run *s) {
  const struct hd_control *c = &s->worker[0].control;
  return c->config.bound_kind && c->shared->bound_cut == hd_shared_cut(c->shared, &c->config);
}

bool hd_search_complete(const struct hd_search_run *s) {
  struct hd_status st = hd_search_total(s);
  return s->verb == HD_VERB_CHECK && s->worker[0].control.shared->over && !st.cut && !st.lossy &&
         !st.sampled && !bound_cut(s) && hd_strategy_systematic(s->o->strategy);
}

/* How many executions there may be in all; 0 when that is not known: a figure whose spread is a hundred times itself
 * says nothing. */
static double estimate(const struct hd_search_run *s, const struct hd_status *st, double *spread) {
  const struct hd_shared *sh = s->worker[0].control.shared;
  double seen =
      st->phase[0].strategy[0] ? (double)st->phase[0].executions : (double)(st->executions + st->infeasible);
  *spread = 0;
  if (!(sh->estimate.fraction > 0) || !(sh->estimate.weight > 0)) return 0;
  double all = seen / sh->estimate.fraction;
  double mean = sh->estimate.samples / sh->estimate.weight;
  double variance = sh->estimate.inverse / sh->estimate.weight - mean * mean;
  if (variance > 0) *spread = sqrt(variance) / mean * all;
  return isfinite(all) && *spread < 100 * all ? all : 0;
}

void hd_search_progress(struct hd_search_run *s) {
  double now = hd_now();
  if (!s->live || now - s->shown_at < 0.09) return;
  s->shown_at = now;
  struct hd_status st = hd_search_total(s);
  char count[16], rate[16], events[16], line[160];
  double elapsed = now - s->started;
  hd_text_count(count, (double)(st.executions + s->deaths));
  hd_text_count(rate,
                elapsed > 0 ? (double)(st.executions + s->deaths - s->carried.executions) / elapsed : 0);
  hd_text_count(events, (double)st.events);
  int n = snprintf(line, sizeof line, "%s executions, %s/s, %s events, %zu finding%s, %.1f s", count, rate,
                   events, s->finding.n, s->finding.n == 1 ? "" : "s", elapsed);
  if (s->worker[0].control.config.bound_iterate)
    n += snprintf(line + n, sizeof line - (size_t)n, ", bound %u", s->worker[0].control.shared->bound);
  double spread, all = estimate(s, &st, &spread);
  if (all > 0) {
    hd_text_count(count, all);
    hd_text_count(rate, spread);
    snprintf(line + n, sizeof line - (size_t)n, ", %.3g%% of about %s (spread %s)",
             s->worker[0].control.shared->estimate.fraction * 100, count, rate);
  }
  hd_live_line(line);
}

/* ---- findings ---- */

static void fill_schedule(const struct hd_worker *w, const struct hd_capture *c, struct hd_schedule *out) {
  const struct hd_config *config = &w->control.config;
  *out = (struct hd_schedule){
      .seed = config->seed,
      .execution = c->rec->execution,
      .max_length = config->max_length,
      .ignore = config->ignore,
      .key = c->rec->key,
      .restart = w->control.good.restart == HD_RESTART_FORK ? HD_RESTART_FORK : HD_RESTART_MEMORY,
      .spurious = config->spurious,
      .timeouts_any = config->timeouts_any,
      .leaks = config->leaks,
      .thread_leaks = config->thread_leaks,
      .exit_status = config->exit_status,
      .partial = c->rec->partial,
      .kind = c->rec->kind,
      .step = c->step,
      .nsteps = c->nsteps,
      .visible = c->visible,
      .nvisible = c->nvisible,
  };
  memcpy(out->strategy, config->strategy, sizeof out->strategy);
}

static bool known_key(const struct hd_search_run *s, uint64_t key) {
  for (size_t i = 0; i < s->key.n; i++)
    if (s->key.v[i] == key) return true;
  return false;
}

/* Remembers the finding; false if one like it is known. */
static bool remember(struct hd_search_run *s, const struct hd_finding *f, uint64_t key) {
  hd_vec_push(&s->key, key);
  char *identity = hd_finding_identity(f);
  for (size_t i = 0; i < s->identity.n; i++) {
    if (strcmp(s->identity.v[i], identity) == 0) {
      free(identity);
      return false;
    }
  }
  hd_vec_push(&s->identity, identity);
  return true;
}

/* The strategy that ran the finding's execution as a part of another one, or NULL. */
static const char *phase_of(const struct hd_worker *w, const struct hd_finding_rec *rec) {
  const struct hd_status *st = &w->control.good;
  return rec->phase < HD_MAX_PHASES && st->phase[rec->phase].strategy[0] ? st->phase[rec->phase].strategy
                                                                         : NULL;
}

/* The finding as a value: from the rerun's richer record when that is the same, else from the search's. */
static struct hd_finding *make_finding(struct hd_search_run *s, const struct hd_worker *w,
                                       const struct hd_capture *c, const struct hd_rerun *r,
                                       const struct hd_schedule *schedule) {
  struct hd_str why;
  hd_str_init(&why);
  bool same = hd_rerun_same(r, schedule, &why);
  /* A death tells nothing about places; whichever record has some is the better one. */
  bool use_rerun = same && (c->rec->partial || !r->capture.rec->partial);
  const struct hd_ctl *ctl = w->control.ctl;
  size_t n = hd_control_sane(&w->control) ? ctl->status.nmodules : 0;
  struct hd_symbolizer *sym =
      use_rerun ? hd_symbolizer_new(r->module, r->nmodules, s->command.program.path, s->command.cwd)
                : hd_symbolizer_new(ctl->module, n, s->command.program.path, s->command.cwd);
  struct hd_finding *f = hd_finding_new(use_rerun ? r->capture.rec : c->rec, sym);
  hd_symbolizer_free(sym);
  f->execution = c->rec->execution;
  f->seed = c->rec->seed;
  f->key = c->rec->key;
  f->steps = c->nsteps;
  const char *part = phase_of(w, c->rec);
  snprintf(f->strategy, sizeof f->strategy, "%s", part ? part : s->o->strategy);
  f->replays = same;
  if (!same) f->no_replay = hd_strdup(why.s);
  hd_str_fini(&why);
  return f;
}

/* Looks for a smaller schedule, if there is time for that. With --all there may be more findings to come. */
static void explain(struct hd_search_run *s, const struct hd_schedule *schedule, struct hd_finding **f,
                    struct hd_reduction *out) {
  struct hd_err err;
  double left = s->o->explain - s->explained;
  if (s->o->all) left /= 2;
  if (left < MIN_EXPLAIN || !(*f)->replays || hd_interrupts() > 0) return;
  double began = hd_now();
  if (s->live) hd_live_line("looking for a smaller schedule");
  if (hd_explain(&s->command, schedule, &s->input, f, left, s->o->hang_timeout, out, &err) != HD_OK)
    hd_warn("no smaller schedule: %s", err.text);
  s->explained += hd_now() - began;
}

/* Confirms, tells apart, stores and shows one finding. */
static void handle(struct hd_search_run *s, const struct hd_worker *w, const struct hd_capture *c) {
  struct hd_err err;
  if (s->failed || (s->finding.n > 0 && !s->o->all) || known_key(s, c->rec->key)) return;
  struct hd_schedule schedule;
  fill_schedule(w, c, &schedule);
  struct hd_str output;
  hd_str_init(&output);
  struct hd_rerun r;
  int rc = hd_rerun_schedule(&s->command, &schedule, &s->input, HD_OUTPUT_KEEP, &output, s->o->hang_timeout,
                             &r, &err);
  if (rc != HD_OK) {
    hd_str_fini(&output);
    s->failed = rc;
    hd_err_exit(&err);
    return;
  }
  struct hd_finding *f = make_finding(s, w, c, &r, &schedule);
  bool fresh = remember(s, f, c->rec->key);
  bool hidden = fresh && hd_suppressed(s->suppressions, f);
  s->suppressed += hidden;
  if (!fresh || hidden) {
    hd_finding_free(f);
  } else {
    struct hd_reduction smaller = {0};
    explain(s, &schedule, &f, &smaller);
    struct hd_record record = {
        f, &schedule, &r, &s->command, &s->input, &output, smaller.found ? &smaller : NULL};
    rc = hd_store_write(&s->store, &record, &err);
    if (rc != HD_OK) {
      s->failed = rc;
      hd_err_exit(&err);
    }
    hd_vec_push(&s->finding, f);
    if (phase_of(w, c->rec)) s->phase_findings[c->rec->phase]++;
    struct hd_str text;
    hd_str_init(&text);
    if (s->o->format == HD_FORMAT_TEXT)
      hd_text_finding(&text, f, hd_text_colour(report_fd(s)));
    else
      hd_lines_finding(&text, f, s->o->format);
    report(s, &text);
    hd_str_fini(&text);
    hd_reduction_fini(&smaller);
  }
  hd_rerun_fini(&r);
  hd_str_fini(&output);
}

void hd_search_harvest(struct hd_search_run *s, struct hd_worker *w) {
  if (!hd_control_sane(&w->control)) return;
  hd_control_save(&w->control);
  uint32_t n = __atomic_load_n(&w->control.ctl->status.nfindings, __ATOMIC_ACQUIRE);
  if (n > HD_MAX_FINDINGS) n = HD_MAX_FINDINGS;
  while (w->seen < n) {
    struct hd_capture c;
    hd_capture_finding(&c, &w->control, w->seen++);
    handle(s, w, &c);
    hd_capture_fini(&c);
  }
}

void hd_search_death(struct hd_search_run *s, struct hd_worker *w, const struct hd_outcome *o) {
  const struct hd_ctl *ctl = w->control.ctl;
  uint32_t n = hd_control_sane(&w->control) ? ctl->status.nfindings : 0;
  s->deaths++;
  for (uint32_t i = 0; i < n; i++)
    if (ctl->finding[i].execution == ctl->status.execution) return;
  enum hd_kind kind = hd_death_kind(o, &w->control);
  if (s->o->ignore >> kind & 1) return;
  struct hd_capture c;
  hd_capture_death(&c, &w->control, kind, o->signal, o->status);
  handle(s, w, &c);
  hd_capture_fini(&c);
}

/* ---- the result ---- */

static int exit_code(const struct hd_summary *sum, const struct hd_status *st) {
  if (sum->nfindings + sum->before > 0) return 1;
  switch (sum->stop) {
    case HD_STOP_ERROR: return -hd_runtime_error_code(st->error);
    case HD_STOP_EXECUTIONS:
    case HD_STOP_INTERRUPTED:
    case HD_STOP_CRASH_LOOP: return 5;
    case HD_STOP_TIME: return sum->only_time ? 0 : 5;
    default: return 0;
  }
}

/* The worker whose runtime gave up; the first if none did. */
static const struct hd_worker *failed_worker(const struct hd_search_run *s) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->worker[i].control.ctl && s->worker[i].control.ctl->status.state == HD_ST_ERROR)
      return &s->worker[i];
  return &s->worker[0];
}

/* The library that has started threads without being built for us, or NULL. */
static const char *foreign_name(const struct hd_search_run *s, const struct hd_status *st) {
  const struct hd_ctl *ctl = s->worker[0].control.ctl;
  if (!st->foreign || st->foreign > HD_MAX_MODULES || !hd_control_sane(&s->worker[0].control)) return NULL;
  const char *path = ctl->module[st->foreign - 1].path, *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int conclude(struct hd_search_run *s, enum hd_stop stop, struct hd_err *err) {
  struct hd_status st = hd_search_total(s);
  uint32_t bounds_done = s->worker[0].control.shared->bounds_done;
  struct hd_str error;
  hd_str_init(&error);
  if (stop == HD_STOP_ERROR) hd_runtime_error_text(&error, failed_worker(s)->control.ctl, &s->command);
  struct hd_summary sum = {
      .command = s->command.argv,
      .strategy = s->o->strategy,
      .systematic = hd_strategy_systematic(s->o->strategy),
      .seed = s->o->seed,
      .stop = stop,
      .complete = hd_search_complete(s) && !s->o->preload,
      .preload = s->o->preload,
      .covered = hd_search_complete(s),
      .only_time = s->o->time > 0 && !s->o->max_given && !hd_strategy_systematic(s->o->strategy),
      .bound_kind = s->o->bound_kind,
      .bound = !s->o->bound_iterate ? s->o->bound
               : bounds_done        ? bounds_done - 1
                                    : 0,
      .bound_done = s->o->bound_kind && bounds_done > 0,
      .asked = s->o->max_executions,
      .time_limit = s->o->time,
      .time_default = s->o->time_default,
      .executions = st.executions + s->deaths,
      .blocked = st.blocked,
      .infeasible = st.infeasible,
      .strayed = st.strayed,
      .races_off = st.races_off,
      .foreign = foreign_name(s, &st),
      .sampled = st.sampled,
      .targets = st.target,
      .ntargets = st.ntargets,
      .cut = st.cut,
      .events = st.events,
      .switches = st.switches,
      .threads = st.max_threads,
      .restart = st.restart,
      .processes = s->processes,
      .suppressed = s->suppressed,
      .dropped = st.findings_dropped,
      .restarts = st.epoch,
      .discarded = st.discarded,
      .classes_counted = s->o->classes,
      .classes = st.classes,
      .class_sum = st.class_sum,
      .states = st.states,
      .state_sum = st.state_sum,
      .seconds = hd_now() - s->started + s->carried_seconds - (s->o->all ? 0 : s->explained),
      .error = stop == HD_STOP_ERROR ? error.s : NULL,
      .findings = s->finding.v,
      .nfindings = s->finding.n,
      .before = s->reported_before,
  };
  sum.estimate = estimate(s, &st, &sum.spread);
  sum.fraction = s->worker[0].control.shared->estimate.fraction;
  sum.class_count = hd_search_classes(s, &st, &sum.classes_known);
  sum.coverage = hd_search_coverage(s);
  for (int i = 0; i < HD_MAX_PHASES && st.phase[i].strategy[0]; i++) {
    sum.phase[i].strategy = st.phase[i].strategy;
    sum.phase[i].executions = st.phase[i].executions;
    sum.phase[i].findings = s->phase_findings[i];
  }
  hd_live_line(NULL);
  if (s->worker[0].control.shared->cover_dropped)
    hd_warn(
        "the search was saved with another address layout: what it exercised before is left out of the report");
  if (stop == HD_STOP_ERROR) hd_say("%s", error.s);
  /* `run` speaks only when there is something to say: its output is the program's. */
  bool quiet = s->o->quiet || (s->verb == HD_VERB_RUN && (sum.nfindings == 0 || stop == HD_STOP_ERROR));
  if (!quiet) {
    struct hd_str text;
    hd_str_init(&text);
    hd_text_summary(&text, &sum, hd_text_colour(report_fd(s)));
    report(s, &text);
    hd_str_fini(&text);
  }
  if (s->attached) hd_attach_result(&sum);
  int rc = hd_outputs_write(s->o, &sum, s->command.cwd, err);
  hd_search_keep(s, &sum);
  json_decref(sum.coverage);
  hd_str_fini(&error);
  return rc == HD_OK ? exit_code(&sum, &failed_worker(s)->control.ctl->status) : hd_err_exit(err);
}

/* ---- beginning and end ---- */

static int begin(struct hd_search_run *s, struct hd_err *err) {
  struct hd_options *o = s->o;
  int rc = s->attached ? hd_attach_command(&s->command, o->args, err)
                       : hd_command_init(&s->command, o->args, o->preload, o->cwd, err);
  if (rc == HD_OK) rc = hd_outputs_check(o, err);
  for (unsigned i = 0; i < o->suppressions.n && rc == HD_OK; i++)
    rc = hd_suppressions_load(o->suppressions.v[i], &s->suppressions, err);
  char *out =
      s->attached ? hd_absolute(s->command.cwd ? s->command.cwd : "/", o->out ? o->out : ".heddle") : NULL;
  if (rc == HD_OK) rc = hd_store_init(&s->store, out ? out : o->out, err);
  free(out);
  if (rc == HD_OK && !s->attached) rc = hd_input_init(&s->input, s->verb == HD_VERB_RUN, err);
  if (rc == HD_OK && o->resume) rc = hd_resume_options(s, o->resume, o, err);
  if (rc != HD_OK) return rc;
  s->save = o->save ? o->save : o->resume;
  struct hd_config config;
  hd_options_config(o, &config);
  config.mode = s->verb == HD_VERB_RUN ? HD_MODE_RUN : HD_MODE_CHECK;
  /* A finding that turns out to be suppressed must not have ended the search. */
  config.all = o->all || s->suppressions;
  s->nworkers = (unsigned)o->jobs;
  config.workers = s->nworkers;
  rc = hd_control_init(&s->worker[0].control, &config, NULL, err);
  if (rc == HD_OK && o->resume) rc = hd_resume(s, o->resume, err);
  s->live = s->verb == HD_VERB_CHECK && !o->quiet && isatty(STDERR_FILENO);
  s->started = s->saved_at = hd_now();
  s->deadline = o->time > 0 ? s->started + o->time : 0;
  return rc;
}

static void end(struct hd_search_run *s) {
  hd_live_line(NULL);
  for (size_t i = 0; i < s->finding.n; i++) hd_finding_free(s->finding.v[i]);
  for (size_t i = 0; i < s->identity.n; i++) free(s->identity.v[i]);
  hd_vec_free(&s->finding);
  hd_vec_free(&s->identity);
  hd_vec_free(&s->key);
  for (unsigned i = s->nworkers; i-- > 0;)
    if (s->worker[i].control.ctl) hd_control_fini(&s->worker[i].control);
  hd_input_fini(&s->input);
  hd_suppressions_free(s->suppressions);
  hd_store_fini(&s->store);
  hd_command_fini(&s->command);
  free(s);
}

int hd_search(struct hd_options *o, enum hd_verb verb) {
  struct hd_search_run *s = hd_alloc(sizeof *s); /* large, and most of it is never touched */
  s->o = o;
  s->verb = verb;
  s->input.fd = -1;
  s->attached = verb == HD_VERB_CHECK && hd_attached();
  struct hd_err err;
  enum hd_stop stop = HD_STOP_FINISHED;
  hd_interrupt_catch();
  int rc = begin(s, &err);
  if (rc == HD_OK) rc = hd_crew_run(s, &stop, &err);
  if (rc == HD_OK && stop != HD_STOP_ERROR) rc = hd_save_end(s, &err);
  int code;
  if (rc == HD_OK) {
    code = conclude(s, stop, &err);
  } else {
    hd_live_line(NULL);
    code = s->failed ? -s->failed : hd_err_exit(&err);
  }
  end(s);
  return code;
}
