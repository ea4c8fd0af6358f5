/* search.c: counters and findings of a search: added up over workers; confirmed, deduplicated, stored and reported;
 * and the summary. Runs in the supervisor.
 *
 * The shared memory outlives each tested process, so that the next one continues where the last one died. A finding is
 * handled as soon as it is seen, while the search continues, so that it survives a loss of power. */
#include "session/session_int.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define EXPLAIN_SHORT 2        /* seconds for smaller schedules ... */
#define EXPLAIN_LONG 8         /* ... of long executions */
#define MIN_EXPLAIN 0.05       /* seconds that are worth starting with */
#define PROGRESS_INTERVAL 0.09 /* seconds */

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

/* by_states: of struct hd_shared. */
static void add_status(struct hd_status *sum, const struct hd_status *st, uint64_t epoch, bool by_states) {
  bool counts = st->epoch == epoch; /* else the search has restarted since */
  sum->discarded += st->discarded + (counts ? 0 : st->executions + st->infeasible);
  sum->events += st->events;
  sum->switches += st->switches;
  hd_inexact_add(sum->inexact, st->inexact, counts ? HD_CLASS_ANY : HD_CLASS_ANY & ~HD_CLASS_CUT);
  struct hd_inexact_count *bounded = &sum->inexact[HD_INEXACT_LOOP_BOUND];
  if (!by_states && !bounded->count) bounded->first_pc = st->loops.first_pc;
  if (!by_states) bounded->count += st->loops.count;
  if (st->max_threads > sum->max_threads) sum->max_threads = st->max_threads;
  if (st->restart) sum->restart = st->restart;
  sum->kept |= st->kept;
  sum->templates += st->templates;
  sum->resumed += st->resumed;
  if (st->unshared) sum->unshared = st->unshared;
  sum->left |= st->left;
  if (st->unkept) sum->unkept = st->unkept;
  for (int i = 0; i < HD_MAX_PHASES; i++) {
    if (st->phase[i].strategy[0])
      memcpy(sum->phase[i].strategy, st->phase[i].strategy, sizeof sum->phase[i].strategy);
    if (counts) sum->phase[i].executions += st->phase[i].executions;
  }
  add_targets(sum, st, counts);
  if (!counts) return;
  sum->executions += st->executions;
  sum->blocked += st->blocked;
  sum->pruned += st->pruned;
  sum->symmetric += st->symmetric;
  for (unsigned i = 0; i < HD_SET_WORDS; i++) sum->alike.w[i] |= st->alike.w[i];
  sum->infeasible += st->infeasible;
  sum->classes += st->classes;
  sum->class_sum += st->class_sum;
  sum->states += st->states;
  sum->state_sum += st->state_sum;
}

void hd__session_past(struct hd_session *s) {
  uint64_t epoch = s->worker[0].control.shared->epoch;
  for (unsigned i = 0; i < s->nworkers; i++) add_status(&s->past, &s->worker[i].control.good, epoch, false);
}

struct hd_status hd__session_total(const struct hd_session *s) {
  struct hd_status sum = s->past;
  uint64_t epoch = s->worker[0].control.shared->epoch;
  bool by_states = s->worker[0].control.shared->by_states;
  add_status(&sum, &s->carried, epoch, by_states);
  for (unsigned i = 0; i < s->nworkers; i++) add_status(&sum, &s->worker[i].control.good, epoch, by_states);
  for (size_t i = 0; i < s->part.n; i++)
    add_status(&sum, &s->part.v[i].status, s->part.v[i].status.epoch, by_states);
  sum.epoch = epoch;
  sum.error = s->worker[0].control.good.error;
  return sum;
}

/* Whether the bound excluded schedules. */
static bool bound_cut(const struct hd_session *s) {
  const struct hd_control *c = &s->worker[0].control;
  return c->config.bound_kind && c->shared->bound_cut == hd_shared_cut(c->shared, &c->config);
}

bool hd__session_once(const struct hd_session *s) { return s->config.search.mode == HD_MODE_RUN; }

bool hd__session_complete(const struct hd_session *s) {
  struct hd_status st = hd__session_total(s);
  return s->config.search.mode == HD_MODE_CHECK && s->worker[0].control.shared->over && !bound_cut(s) &&
         !hd_inexact_sum(st.inexact, HD_CLASS_ANY) && hd_strategy_systematic(s->config.search.strategy);
}

#define FEWEST 100 /* samples */
#define SIGMAS 3

/* The number of executions of a complete search, as random descents of its tree say. Their weights may be distributed very
 * unevenly: as long as one sample makes up half of their sum, or when the search has found more classes than they allow
 * for, they say nothing. */
static struct hd_size estimate(const struct hd_session *s) {
  const struct hd_shared *shared = s->worker[0].control.shared;
  struct hd_estimate e = shared->estimate;
  double known = fmax(shared->at_least, (double)s->news.classes);
  double n = (double)e.samples, mean = e.sum / n;
  if (s->config.search.bound_kind || e.samples < FEWEST || !(mean > 0) || !isfinite(e.squares))
    return (struct hd_size){0};
  double variance = e.squares / n - mean * mean;
  double error = SIGMAS * sqrt(variance > 0 ? variance / (n - 1) : 0) / mean;
  if (e.largest > e.sum / 2 || mean * (1 + error) < known) return (struct hd_size){0};
  return (struct hd_size){mean, error > 0.01 ? error : 0.01, e.samples};
}

void hd__session_progress(struct hd_session *s) {
  double now = hd_now();
  if (!s->events.progress || now - s->shown_at < PROGRESS_INTERVAL) return;
  s->shown_at = now;
  struct hd_status st = hd__session_total(s);
  struct hd_session_progress p = {
      .executions = st.executions + s->deaths,
      .events = st.events,
      .findings = s->finding.n,
      .seconds = now - s->started,
      .bounded = s->config.search.bound_iterate,
      .bound = s->worker[0].control.shared->bound,
      .at_least = s->worker[0].control.shared->at_least,
      .estimate = estimate(s),
      .last_class = s->news.class,
      .last_pair = s->news.pair,
  };
  if (p.seconds > 0) p.rate = (double)(p.executions - s->carried.executions) / p.seconds;
  s->events.progress(s->events.arg, &p);
}

/* ---- findings ---- */

static void fill_schedule(const struct hd_worker *w, const struct hd_capture *c, struct hd_schedule *out) {
  const struct hd_config *config = &w->control.config;
  *out = (struct hd_schedule){
      .seed = config->seed,
      .execution = c->rec->execution,
      .max_length = c->max_length,
      .ignore = config->ignore,
      .key = c->rec->key,
      .restart = w->control.good.restart == HD_RESTART_FORK ? HD_RESTART_FORK : HD_RESTART_MEMORY,
      .spurious = config->spurious,
      .timeouts_any = config->timeouts_any,
      .closed = config->closed,
      .leaks = config->leaks,
      .thread_leaks = config->thread_leaks,
      .exit_status = config->exit_status,
      .partial = c->rec->partial,
      .kind = c->rec->kind,
      .step = c->step,
      .nsteps = c->nsteps,
      .visible = c->visible,
      .nvisible = c->nvisible,
      .numbers = c->numbers,
      .aims = config->aims,
      .symbolic = config->symbolic & HD_SYMBOLIC_FOLLOWED,
  };
  if (config->symbolic) hd_inputs_take(&out->inputs, &w->control);
  memcpy(out->strategy, config->strategy, sizeof out->strategy);
}

static bool known_key(const struct hd_session *s, uint64_t key) {
  for (size_t i = 0; i < s->key.n; i++)
    if (s->key.v[i] == key) return true;
  return false;
}

/* Records the finding as known; false if it is a duplicate. */
static bool remember(struct hd_session *s, const struct hd_finding *f, uint64_t key) {
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

/* The strategy that ran the finding's execution as a phase of another one, or NULL. */
static const char *phase_of(const struct hd_worker *w, const struct hd_finding_rec *rec) {
  const struct hd_status *st = &w->control.good;
  return rec->phase < HD_MAX_PHASES && st->phase[rec->phase].strategy[0] ? st->phase[rec->phase].strategy
                                                                         : NULL;
}

/* The finding as a value: from the rerun's richer record when that is the same, else from the search's. */
static struct hd_finding *make_finding(struct hd_session *s, const struct hd_worker *w,
                                       const struct hd_capture *c, const struct hd_rerun *r,
                                       const struct hd_schedule *schedule) {
  struct hd_str why;
  hd_str_init(&why);
  bool same = !hd__session_once(s) && hd_rerun_same(r, schedule, &why);
  /* The record of a death has no places; prefer the record that has some. */
  bool use_rerun = same && (c->rec->partial || !r->capture.rec->partial);
  const struct hd_ctl *ctl = w->control.ctl;
  size_t n = hd_control_sane(&w->control) ? ctl->status.nmodules : 0;
  struct hd_symbolizer *sym =
      use_rerun ? hd_rerun_symbolizer(r, &s->command)
                : hd_symbolizer_new(ctl->module, n, s->command.program.path, s->command.cwd);
  struct hd_finding *f = hd_finding_new(use_rerun ? r->capture.rec : c->rec, sym);
  hd_symbolizer_free(sym);
  f->execution = c->rec->execution;
  struct hd_status total = hd__session_total(s);
  f->executions = total.executions + s->deaths;
  f->events = c->rec->events;
  f->seed = c->rec->seed;
  f->key = c->rec->key;
  f->steps = c->nsteps;
  hd_inputs_show(f, &schedule->inputs, c->rec);
  const char *part = phase_of(w, c->rec);
  if (c->rec->phase == HD_PHASE_PREDICTED) part = HD_WANTED_NAME;
  snprintf(f->strategy, sizeof f->strategy, "%s", part ? part : s->config.search.strategy);
  f->replays = same;
  f->untried = hd__session_once(s);
  if (!same && !f->untried) f->no_replay = hd_strdup(why.s);
  hd_str_fini(&why);
  return f;
}

/* Seconds for smaller schedules: a dozen executions must fit. */
static double explain_budget(const struct hd_session *s, const struct hd_schedule *schedule) {
  if (s->config.explain >= 0) return s->config.explain;
  return schedule->nsteps > HD_LONG_SCHEDULE ? EXPLAIN_LONG : EXPLAIN_SHORT;
}

/* Searches for a smaller schedule, if there is time. More findings may follow when the first does not end the search.
 * */
static void explain(struct hd_session *s, const struct hd_schedule *schedule, struct hd_finding **f,
                    struct hd_reduction *out) {
  struct hd_err err;
  double left = explain_budget(s, schedule) - s->explained;
  if (s->config.search.all) left /= 2;
  if (hd_time_left() < left) left = hd_time_left();
  if (left < MIN_EXPLAIN || !(*f)->replays || hd_interrupts() > 0) return;
  double began = hd_now();
  if (s->events.progress)
    s->events.progress(s->events.arg, &(struct hd_session_progress){.minimising = true});
  if (hd_explain(&s->command, schedule, &s->input, f, left, s->config.hang_timeout, out, &err) != HD_OK)
    hd_warn("no smaller schedule: %s", err.text);
  s->explained += hd_now() - began;
}

/* Ends the search: the finding cannot be confirmed or stored. */
static void fail(struct hd_session *s, const struct hd_err *err) {
  s->failed = err->code;
  s->failure = *err;
}

/* A search that was killed continues from the last time that it was saved, and may have stored findings since: they come
 * out again. Sets id and folder of one that is stored already. */
static bool stored_before(const struct hd_session *s, struct hd_finding *f,
                          const struct hd_schedule *schedule) {
  bool continued =
      s->config.resume || (s->events.tick && s->config.save); /* --retry, before it was first saved */
  size_t n = 0;
  unsigned *all = continued ? hd_store_list(s->store.dir, &n) : NULL;
  bool found = false;
  for (size_t i = 0; i < n && !found; i++) {
    struct hd_err err;
    struct hd_stored then;
    char *dir = hd_sprintf("%s/%u", s->store.dir, all[i]);
    if (hd_store_is_finding(dir) && hd_store_read(dir, true, &then, &err) == HD_OK) {
      found = then.command.program.hash == s->command.program.hash && then.schedule.kind == schedule->kind &&
              then.schedule.key == schedule->key;
      hd_stored_fini(&then);
    }
    if (found) {
      f->id = all[i];
      free(f->folder);
      f->folder = dir;
    } else {
      free(dir);
    }
  }
  free(all);
  return found;
}

/* Minimises, stores and reports a new finding; takes ownership of it. */
static void add_finding(struct hd_session *s, const struct hd_worker *w, const struct hd_finding_rec *rec,
                        struct hd_finding *f, struct hd_record *record) {
  struct hd_err err;
  struct hd_reduction smaller = {0};
  bool stored = stored_before(s, f, record->schedule);
  if (s->config.describe) {
    struct hd_symbolizer *sym = hd_rerun_symbolizer(record->rerun, &s->command);
    s->config.describe(s->config.prepare_arg, f, sym);
    hd_symbolizer_free(sym);
  }
  if (!stored) explain(s, record->schedule, &f, &smaller);
  record->finding = f;
  if (smaller.found) record->reduction = &smaller;
  if (!stored && hd_store_write(&s->store, record, &err) != HD_OK) fail(s, &err);
  hd_vec_push(&s->finding, f);
  if (phase_of(w, rec)) s->phase_findings[rec->phase]++;
  if (s->events.finding) s->events.finding(s->events.arg, f);
  hd_reduction_fini(&smaller);
}

/* Runs the schedule of a finding until it comes out again, at most TRIES times: a hang or a death may be a matter of the
 * machine, anything else of a program that is not deterministic. Not when the time is over. One that is killed has to be
 * killed KILLS times: whoever kills processes of the search, for lack of memory or in a test, kills those of this, too. */
#define TRIES 3
#define KILLS 5
static int prove(struct hd_session *s, const struct hd_schedule *schedule, bool killed, struct hd_str *output,
                 struct hd_rerun *r, bool *same, struct hd_err *err) {
  struct hd_str why;
  hd_str_init(&why);
  int rc = HD_OK;
  *same = killed;
  for (int i = 0; i < (killed ? KILLS : TRIES) && *same == killed && rc == HD_OK; i++) {
    if (i > 0) hd_rerun_fini(r);
    hd_str_clear(output);
    hd_str_clear(&why);
    rc = hd_rerun_schedule(&s->command, schedule, &s->input, HD_OUTPUT_KEEP, output, s->config.hang_timeout,
                           r, err);
    *same = rc == HD_OK && hd_rerun_same(r, schedule, &why);
    if (rc == HD_OK && r->outcome.end == HD_PROCESS_STOPPED) break;
  }
  hd_str_fini(&why);
  return rc;
}

/* There was no time to confirm the finding. */
static void unconfirmed(struct hd_session *s, const struct hd_capture *c) {
  const struct hd_site *at = c->rec->nsites ? &c->rec->site[0] : NULL;
  hd_inexact_note(s->carried.inexact, HD_INEXACT_UNCONFIRMED, at && at->npc ? at->pc[0] : 0);
}

/* Confirms a finding, unless nothing is run twice; adds it if it is new and not suppressed. `sure`: it has come out several times. Returns false when
 * it did not come out again when its schedule was run. */
static bool handle(struct hd_session *s, const struct hd_worker *w, const struct hd_capture *c, bool sure) {
  struct hd_err err;
  if (s->failed || (s->finding.n > 0 && !s->config.search.all) || known_key(s, c->rec->key)) return true;
  if (hd_time_left() <= 0) {
    unconfirmed(s, c);
    return true;
  }
  struct hd_schedule schedule;
  fill_schedule(w, c, &schedule);
  struct hd_str output;
  hd_str_init(&output);
  struct hd_rerun r = HD_RERUN_NONE;
  bool same = false, killed = c->rec->partial && c->rec->signal == SIGKILL;
  int rc = hd__session_once(s) ? HD_OK : prove(s, &schedule, killed, &output, &r, &same, &err);
  if (rc != HD_OK) {
    hd_inputs_fini(&schedule.inputs);
    hd_str_fini(&output);
    fail(s, &err);
    return true;
  }
  bool stopped = !same && r.outcome.end == HD_PROCESS_STOPPED;
  if (!same && !hd__session_once(s) && (!sure || stopped)) {
    if (stopped) unconfirmed(s, c);
    hd_inputs_fini(&schedule.inputs);
    hd_rerun_fini(&r);
    hd_str_fini(&output);
    return stopped;
  }
  if (s->events.relay) {
    hd_inputs_fini(&schedule.inputs);
    hd_vec_push(&s->key, c->rec->key);
    s->events.relay(s->events.cluster, c);
    hd_rerun_fini(&r);
    hd_str_fini(&output);
    return true;
  }
  struct hd_finding *f = make_finding(s, w, c, &r, &schedule);
  bool fresh = remember(s, f, c->rec->key);
  bool hidden = fresh && (hd_suppressed(s->suppressions, f) ||
                          (s->config.wants && !s->config.wants(s->config.wants_arg, f)));
  s->suppressed += hidden;
  s->hidden_deadlock |= hidden && f->kind == HD_KIND_DEADLOCK;
  hd_finding_said(f, output.s ? output.s : "", output.n);
  struct hd_record record = {NULL, &schedule, &r, &s->command, &s->input, &output, NULL};
  if (fresh && !hidden)
    add_finding(s, w, c->rec, f, &record);
  else
    hd_finding_free(f);
  hd_inputs_fini(&schedule.inputs);
  hd_rerun_fini(&r);
  hd_str_fini(&output);
  return true;
}

void hd__session_handle(struct hd_session *s, const struct hd_capture *c) {
  handle(s, &s->worker[0], c, true);
}

void hd__session_harvest(struct hd_session *s, struct hd_worker *w) {
  if (!hd_control_sane(&w->control)) return;
  hd_control_save(&w->control);
  uint32_t n = __atomic_load_n(&w->control.ctl->status.nfindings, __ATOMIC_ACQUIRE);
  if (n > HD_MAX_FINDINGS) n = HD_MAX_FINDINGS;
  while (w->seen < n) {
    struct hd_capture c;
    hd_capture_finding(&c, &w->control, w->seen++);
    if (!handle(s, w, &c, false)) w->dropped = true;
    hd_capture_fini(&c);
  }
}

bool hd__session_death(struct hd_session *s, struct hd_worker *w, const struct hd_outcome *o, bool sure) {
  const struct hd_ctl *ctl = w->control.ctl;
  uint32_t n = hd_control_sane(&w->control) ? ctl->status.nfindings : 0;
  /* The process may have died after the end of its execution, which is counted then; only once, whatever it wrote there. */
  uint64_t execution = ctl->status.execution;
  bool counted =
      hd_control_sane(&w->control) && ctl->status.counted == execution && execution > s->counted_death;
  if (counted) s->counted_death = execution;
  s->deaths += !counted;
  for (uint32_t i = 0; i < n; i++)
    if (ctl->finding[i].execution == ctl->status.execution) return true;
  enum hd_kind kind = hd_death_kind(o, &w->control);
  if (s->config.search.ignore >> kind & 1) return true;
  struct hd_capture c;
  hd_capture_death(&c, &w->control, kind, o->signal, o->status);
  bool proved = handle(s, w, &c, sure);
  hd_capture_fini(&c);
  s->deaths -= !proved && !counted;
  return proved;
}

/* ---- the result ---- */

/* The worker whose runtime gave up; the first if none did. */
static const struct hd_worker *failed_worker(const struct hd_session *s) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->worker[i].control.ctl && s->worker[i].control.ctl->status.state == HD_ST_ERROR)
      return &s->worker[i];
  return &s->worker[0];
}

/* Why the search is not complete, if it is not. */
static void judge(const struct hd_session *s, const struct hd_status *st, struct hd_summary *sum) {
  const struct hd_control *c = &s->worker[0].control;
  hd_summary_judge(sum, &(struct hd_evidence){.counts = st->inexact,
                                              .over = c->shared->over,
                                              .bound_cut = bound_cut(s),
                                              .max_length = c->config.max_length,
                                              .module = c->ctl->module,
                                              .nmodules = hd_control_sane(c) ? c->ctl->status.nmodules : 0,
                                              .program = s->command.program.path,
                                              .cwd = s->command.cwd});
}

static void add_states(struct hd_state_counts *sum, const struct hd_state_counts *c) {
  sum->states += c->states;
  sum->matches += c->matches;
  sum->bytes += c->bytes;
  sum->full |= c->full;
  for (int i = 0; i < HD_UNCAPTURED_COUNT; i++) sum->uncaptured[i] += c->uncaptured[i];
}

/* The request, and how much of it was covered. */
static void summarise_request(const struct hd_session *s, struct hd_summary *sum) {
  const struct hd_config *c = &s->config.search;
  bool systematic = hd_strategy_systematic(c->strategy);
  sum->command = s->command.argv;
  sum->strategy = c->strategy;
  sum->once = hd__session_once(s);
  sum->systematic = systematic && c->mode == HD_MODE_CHECK;
  sum->seed = c->seed;
  sum->preload = s->config.preload;
  sum->only_time = s->config.time > 0 && !c->max_executions && !systematic;
  sum->bound_kind = (enum hd_bound)c->bound_kind;
  uint32_t bounds_done = s->worker[0].control.shared->bounds_done;
  sum->bound_done = c->bound_kind && bounds_done > 0;
  sum->bound = c->bound;
  sum->property = c->property;
  if (c->bound_iterate) sum->bound = bounds_done ? bounds_done - 1 : 0;
  sum->asked = c->max_executions;
  sum->time_limit = s->config.time;
  sum->time_default = s->config.time_default;
  sum->classes_counted = c->classes;
  const struct hd_state_counts *states = &s->worker[0].control.shared->state_counts;
  sum->compares_states = c->states == HD_REDUCE_YES || states->states;
  sum->rests_on_states = c->states == HD_REDUCE_YES || s->worker[0].control.shared->by_states;
  sum->uses_symmetry = c->symmetry == HD_REDUCE_YES || s->worker[0].control.shared->by_states;
  sum->state_counts = *states;
  for (size_t i = 0; i < s->part.n; i++) add_states(&sum->state_counts, &s->part.v[i].states);
}

/* The counters of the workers. */
static void summarise_counters(const struct hd_status *st, struct hd_summary *sum) {
  sum->executions = st->executions;
  sum->blocked = st->blocked;
  sum->pruned = st->pruned;
  sum->symmetric = sum->uses_symmetry ? st->symmetric : 0; /* else the claim is another part's */
  sum->alike = st->alike;
  sum->infeasible = st->infeasible;
  sum->targets = st->target;
  sum->ntargets = st->ntargets;
  sum->events = st->events;
  sum->switches = st->switches;
  sum->threads = st->max_threads;
  sum->restart = st->restart;
  sum->kept = st->kept;
  sum->unkept = st->unkept;
  sum->templates = st->templates;
  sum->resumed = st->resumed;
  sum->unshared = st->unshared;
  sum->left = st->left != 0;
  sum->restarts = st->epoch;
  sum->discarded = st->discarded;
  sum->classes = st->classes;
  sum->class_sum = st->class_sum;
  sum->states = st->states;
  sum->state_sum = st->state_sum;
}

void hd__session_conclude(struct hd_session *s, enum hd_stop stop) {
  struct hd_summary *sum = &s->summary;
  struct hd_status *st = &s->total;
  *st = hd__session_total(s);
  *sum = (struct hd_summary){.stop = stop};
  if (s->worker[0].control.shared->cover_dropped)
    hd_warn(
        "the search was saved with another address layout; the report leaves out what it exercised before");
  summarise_request(s, sum);
  summarise_counters(st, sum);
  if (stop == HD_STOP_ERROR) {
    const struct hd_ctl *ctl = failed_worker(s)->control.ctl;
    st->error = ctl->status.error;
    hd_runtime_error_text(&s->error, ctl, &s->command);
    sum->error = s->error.s;
  }
  sum->executions += s->deaths;
  sum->input_classes = s->classes;
  sum->branches = &s->branches;
  sum->concrete = &s->concrete;
  sum->processes = s->processes;
  sum->ranks = s->ranks;
  sum->suppressed = s->suppressed;
  hd_baseline_counts(s->suppressions, &sum->known, &sum->again);
  sum->seconds = hd_now() - s->started + s->carried_seconds - (s->config.search.all ? 0 : s->explained);
  sum->findings = s->finding.v;
  sum->nfindings = s->finding.n;
  sum->before = s->reported_before;
  sum->at_least = s->worker[0].control.shared->at_least;
  hd__session_news(s, true);
  sum->estimate = estimate(s);
  sum->last_class = s->news.class;
  sum->last_pair = s->news.pair;
  sum->class_count = hd__session_classes(s, st, &sum->classes_known);
  sum->coverage = hd__session_coverage(s);
  hd__session_lock_orders(s);
  if (s->roles.k) sum->roles = &s->roles;
  for (int i = 0; i < HD_MAX_PHASES && st->phase[i].strategy[0]; i++) {
    sum->phase[i].strategy = st->phase[i].strategy;
    sum->phase[i].executions = st->phase[i].executions;
    sum->phase[i].findings = s->phase_findings[i];
  }
  judge(s, st, sum);
}
