/* crew.c: the processes of one search. Runs in the supervisor.
 *
 * The first worker determines how executions can be restarted; then the others join it, or later when their number
 * is a default: a short search is not worth more processes. The shared memory outlives
 * each process: the next process of a worker continues where the last one died. */
#include "session/session_int.h"

#include <signal.h>
#include <string.h>

#define CRASH_LOOP 100 /* consecutive processes of a worker that die without finishing an execution */
#define RETRIES 3 /* of an execution whose process was killed; then the program itself is held responsible */
#define RETRIES_KILLED 32 /* the same, if it does not die when it runs alone; then it is given up */
#define RETRIES_START 16  /* the same, before main: nothing of the program has run */
#define TICK_CLUSTER_MS 1 /* while other machines may have messages */
#define TICK_FIRST_MS 5   /* while the other workers wait for the first */
#define PREDICT_MIN 20    /* executions of a search that is long although each is short */

static int start_worker(struct hd_session *s, unsigned i, struct hd_err *err) {
  struct hd_worker *w = &s->worker[i];
  enum hd_output how = hd__session_once(s) ? HD_OUTPUT_SHOW : HD_OUTPUT_NULL;
  int rc = hd_streams_open(&w->streams, &s->input, how, NULL, err);
  if (rc != HD_OK) return rc;
  w->before = w->control.good.executions + w->control.good.infeasible;
  s->processes++;
  rc = hd_process_start(&s->process[i], &s->command, &w->control, &w->streams, err);
  if (rc != HD_OK) hd_streams_close(&w->streams);
  return rc;
}

/* The others start when the first has determined how executions can be restarted. */
static int start_others(struct hd_session *s, struct hd_err *err) {
  const struct hd_worker *first = &s->worker[0];
  for (unsigned i = 1; i < s->nworkers; i++) {
    struct hd_config config = first->control.config;
    config.worker = i;
    const struct hd_status *st = &first->control.ctl->status;
    config.restart = st->switched ? HD_RESTART_MEMORY : st->restart;
    int rc = hd_control_init(&s->worker[i].control, &config, &first->control, err);
    if (rc == HD_OK) rc = start_worker(s, i, err);
    if (rc != HD_OK) return rc;
  }
  return HD_OK;
}

/* The program died before the runtime was ready (a missing library, say): runs it once more, to show its output, unless that
 * was seen. */
static int explain_start(struct hd_session *s, struct hd_outcome *died, struct hd_err *err) {
  if (hd__session_once(s)) return hd_start_failed(died, s->command.argv[0], err);
  struct hd_str said;
  hd_str_init(&said);
  struct hd_streams streams;
  struct hd_outcome o;
  struct hd_watch watch = {.hang_timeout = s->config.hang_timeout, .interrupts = hd_interrupts()};
  int rc = hd_streams_open(&streams, &s->input, HD_OUTPUT_KEEP, &said, err);
  if (rc == HD_OK) {
    rc = hd_supervise(&s->command, &s->worker[0].control, &streams, &watch, &o, err);
    hd_streams_close(&streams);
  }
  if (rc == HD_OK) {
    if (s->events.startup_output) s->events.startup_output(s->events.arg, said.s, said.n);
    rc = hd_start_failed(&o, s->command.argv[0], err);
  }
  hd_str_fini(&said);
  return rc;
}

/* Whether the one requested bound is covered. */
static bool bound_over(const struct hd_session *s) {
  const struct hd_control *w = &s->worker[0].control;
  return w->config.bound_kind && !w->config.bound_iterate && w->shared->bounds_done == w->config.bound + 1;
}

static enum hd_stop why_ended(const struct hd_session *s) {
  if (s->finding.n > 0 && !s->worker[0].control.config.all) return HD_STOP_FOUND;
  if (hd_interrupts() > 0) return HD_STOP_INTERRUPTED;
  uint64_t max = s->config.search.max_executions;
  const struct hd_shared *sh = s->worker[0].control.shared;
  bool drawn = sh->next_execution >= max + sh->not_begun && !sh->nspans && !s->config.search.served;
  bool spent = max && (sh->spent || drawn);
  if (hd__session_complete(s) || bound_over(s)) return HD_STOP_FINISHED;
  if (!spent && s->deadline > 0 && hd_now() >= s->deadline) return HD_STOP_TIME;
  bool cut_short =
      spent && s->config.search.mode == HD_MODE_CHECK && hd_strategy_systematic(s->config.search.strategy);
  return cut_short ? HD_STOP_EXECUTIONS : HD_STOP_FINISHED;
}

static void stop_all(struct hd_session *s) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->worker[i].control.ctl)
      __atomic_store_n(&s->worker[i].control.ctl->supervisor_stop, 1, __ATOMIC_RELEASE);
}

/* How many times the process has ended in the execution that it was at. */
static unsigned retries(struct hd_worker *w) {
  uint64_t execution = w->control.ctl->status.execution;
  w->retries = w->retried == execution ? w->retries + 1 : 1;
  w->retried = execution;
  return w->retries;
}

#define DROPS 20 /* a search that goes on finding what does not come out again ends */

/* Its process has died. */
static int died_once(struct hd_session *s, struct hd_worker *w, const struct hd_outcome *o,
                     struct hd_err *err) {
  if (o->end == HD_PROCESS_DIED && o->signal == SIGKILL && hd_control_sane(&w->control))
    return hd_fail(err, HD_EENV,
                   "%s was killed by SIGKILL from outside: what it would have done is not known",
                   s->command.argv[0]);
  hd__session_death(s, w, o, true);
  return s->failed;
}

/* Whether the process was killed from outside, not by the program: then the execution is repeated. */
static bool killed_from_outside(struct hd_worker *w, const struct hd_outcome *o) {
  if ((o->end != HD_PROCESS_DIED && o->end != HD_PROCESS_START) || o->signal != SIGKILL) return false;
  return retries(w) <= (o->end == HD_PROCESS_START ? RETRIES_START : RETRIES);
}

/* A process of worker i has ended. Returns HD_OK or an error. Sets *again when the worker needs a new process, and
 * *stop when the search cannot continue. */
static int ended(struct hd_session *s, unsigned i, struct hd_outcome *o, bool *again, enum hd_stop *stop,
                 struct hd_err *err) {
  struct hd_worker *w = &s->worker[i];
  hd_streams_close(&w->streams);
  hd__session_harvest(s, w);
  if (s->failed) return s->failed;
  bool sane = hd_control_sane(&w->control);
  if (!sane && o->end != HD_PROCESS_STOPPED && o->end != HD_PROCESS_HUNG) o->end = HD_PROCESS_DIED;
  if (sane && o->end == HD_PROCESS_AGAIN) { /* it runs its execution again, from main */
    w->control.ctl->retry = 1;
    *again = true;
    return HD_OK;
  }
  bool outside = sane && !hd__session_once(s) && killed_from_outside(w, o);
  if (o->end == HD_PROCESS_START && !outside) return explain_start(s, o, err);
  if (o->end == HD_PROCESS_ERROR) *stop = HD_STOP_ERROR;
  if (w->dropped) { /* what it reported was a matter of the machine: the search goes on without that execution */
    hd_inexact_note(s->carried.inexact, HD_INEXACT_NOT_AGAIN, 0);
    w->dropped = false;
    *again = o->end == HD_PROCESS_DONE && !hd__session_complete(s) && ++s->drops < DROPS;
  }
  if (o->end == HD_PROCESS_ERROR || o->end == HD_PROCESS_DONE) return HD_OK;
  hd_control_died(&w->control);
  if (o->end == HD_PROCESS_STOPPED) return HD_OK;
  if (hd__session_once(s)) return died_once(s, w, o, err);
  *again = true;
  if (outside) {
    if (o->end == HD_PROCESS_DIED) w->control.ctl->retry = 1;
    return HD_OK;
  }
  /* From outside, unless it is proved that the program does it. */
  bool killed = sane && o->end == HD_PROCESS_DIED && o->signal == SIGKILL;
  bool often = retries(w) > RETRIES;
  bool proved = hd__session_death(s, w, o, !killed && (!sane || often || s->doubts >= RETRIES));
  if (s->failed) return s->failed;
  if (killed && !proved && w->retries > RETRIES_KILLED)
    return HD_OK; /* the search goes on without that execution, and says so */
  if (!proved) {  /* then it is run again by the search, too */
    s->doubts += !killed;
    w->control.ctl->retry = 1;
    return HD_OK;
  }
  if (!sane) {
    w->seen = 0;
    struct hd_status st = hd__session_total(s);
    uint64_t begun = st.executions + st.infeasible + st.blocked + st.discarded +
                     st.inexact[HD_INEXACT_DIVERGED].count + s->deaths;
    int rc = hd_control_repair(&w->control, begun, err);
    if (rc != HD_OK) return rc;
  }
  const struct hd_status *st = &w->control.ctl->status;
  w->fruitless = st->executions + st->infeasible > w->before ? 0 : w->fruitless + 1;
  if (w->fruitless >= CRASH_LOOP) *stop = HD_STOP_CRASH_LOOP;
  return HD_OK;
}

static bool any_running(const struct hd_session *s) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->process[i].running) return true;
  return false;
}

/* A wild write has hit the shared memory: no process may use it during the repair. */
static void end_others(struct hd_session *s, const struct hd_watch *watch) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->process[i].running) kill(s->process[i].group ? -s->process[i].pid : s->process[i].pid, SIGKILL);
  while (any_running(s)) {
    struct hd_outcome o;
    struct hd_process *p = hd_processes_wait(s->process, s->nworkers, watch, &o);
    if (p) hd_streams_close(&s->worker[p - s->process].streams);
  }
}

static int restart_missing(struct hd_session *s, struct hd_err *err) {
  for (unsigned i = 0; i < s->nworkers; i++) {
    if (s->process[i].running || !s->worker[i].control.ctl) continue;
    int rc = start_worker(s, i, err);
    if (rc != HD_OK) return rc;
  }
  return HD_OK;
}

/* Once a search proves to be long, one execution may say where to look. */
static void predict(struct hd_session *s, bool started) {
  bool own =
      !s->config.attachment && !s->config.search.cluster; /* a program to start, and findings to report */
  if (s->predicted || !own || !(s->config.predict > 0) || s->finding.n > 0) return;
  if (hd_now() - s->started < s->config.predict_after) return;
  s->predicted = true;
  const struct hd_status *st = &s->worker[0].control.ctl->status;
  bool short_ones =
      __atomic_load_n(&st->decided, __ATOMIC_ACQUIRE) && st->executions + st->discarded >= PREDICT_MIN;
  if (!started || short_ones) hd__session_predict(s);
}

static int watch_all(struct hd_session *s, const struct hd_watch *given, enum hd_stop *stop,
                     struct hd_err *err) {
  bool others = s->nworkers == 1; /* they have been started */
  predict(s, false);
  int rc = start_worker(s, 0, err);
  while (rc == HD_OK && any_running(s)) {
    struct hd_watch watch = *given;
    struct hd_outcome o;
    bool due = hd_now() - s->started >= s->config.alone;
    watch.tick_ms = others || !due ? 0 : TICK_FIRST_MS;
    if (s->events.tick) watch.tick_ms = TICK_CLUSTER_MS;
    struct hd_process *p = hd_processes_wait(s->process, s->nworkers, &watch, &o);
    hd_processes_beside(s->process, s->nworkers, &watch);
    double from = hd_now();
    bool again = false, sane = true;
    enum hd_stop why = HD_STOP_FINISHED;
    if (p) {
      sane = s->worker[p - s->process].control.shared->magic == HD_CTL_MAGIC;
      if (!sane) end_others(s, &watch);
      rc = ended(s, (unsigned)(p - s->process), &o, &again, &why, err);
    }
    for (unsigned i = 0; i < s->nworkers && rc == HD_OK; i++)
      if (s->process[i].running) hd__session_harvest(s, &s->worker[i]);
    if (rc == HD_OK && any_running(s)) predict(s, true);
    hd_processes_beside(NULL, 0, NULL);
    if (rc == HD_OK && s->events.tick && s->events.tick(s->events.cluster, s)) s->stopped = true;
    if (s->failed) rc = s->failed;
    bool enough = s->stopped || (s->finding.n > 0 && !s->worker[0].control.config.all);
    if (why != HD_STOP_FINISHED) *stop = why;
    if (enough || rc != HD_OK || why != HD_STOP_FINISHED) stop_all(s);
    bool go_on = rc == HD_OK && *stop == HD_STOP_FINISHED && !s->stopped && why_ended(s) == HD_STOP_FINISHED;
    if (again && (go_on || (rc == HD_OK && s->worker[p - s->process].control.ctl->retry)))
      rc = sane ? start_worker(s, (unsigned)(p - s->process), err) : restart_missing(s, err);
    if (rc == HD_OK && !others && due && s->process[0].running &&
        __atomic_load_n(&s->worker[0].control.ctl->status.decided, __ATOMIC_ACQUIRE)) {
      others = true;
      if (go_on) rc = start_others(s, err);
    }
    if (rc == HD_OK && go_on) rc = hd__save_tick(s, err);
    hd__session_progress(s);
    hd__session_sample(s, false);
    hd__session_news(s, false);
    if (hd_now() - from > 1) hd_processes_excuse(s->process, s->nworkers, hd_now() - from);
  }
  return rc;
}

int hd__crew_run(struct hd_session *s, enum hd_stop *stop, struct hd_err *err) {
  struct hd_watch watch = {
      .hang_timeout = s->config.hang_timeout,
      .step_timeout = hd__session_once(s) ? 0 : HD_STEP_TIMEOUT * s->config.hang_timeout,
      .deadline = s->deadline,
  };
  *stop = HD_STOP_FINISHED;
  int rc = watch_all(s, &watch, stop, err);
  if (rc != HD_OK) end_others(s, &watch);
  if (rc == HD_OK && *stop == HD_STOP_FINISHED) *stop = why_ended(s);
  return rc;
}
