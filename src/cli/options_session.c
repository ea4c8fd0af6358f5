/* options_session.c: the conversion of options to the configuration of a search. Runs in the supervisor. */
#include "cli/options.h"
#include "cli/options_int.h"

#include "abi/plan.h"
#include "session/names.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_RECORDED \
  (1u << 20)              /* drivers of inputs and schedules: accesses that are no scheduling points */
#define SHARE_MAX 4       /* processes, unless the user says how many */
#define SHARE_AFTER 1     /* seconds */
#define PREDICT_AFTER 1   /* seconds */
#define PREDICT_SECONDS 2 /* of a long search, for other schedules of one execution */
#define STATE_MEMORY (1ull << 30)
#define STATES_AFTER 1000 /* executions */
#define ALWAYS_EVERY 4    /* scheduling points, from one template to the next */

/* The parts of the default strategy run beside each other on several processors, when the search is not a short one. */
static void share_by_default(const struct hd_options *o, struct hd_session_config *c) {
  cpu_set_t cpus;
  if (strcmp(o->strategy, HD_DEFAULT_CHECK) != 0 || o->max_executions) return;
  int n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  c->search.workers = (uint32_t)(n < SHARE_MAX ? n : SHARE_MAX);
  c->alone = SHARE_AFTER;
}

/* `auto` compares states, and looks for symmetry, when the search proves to be long. Neither under a bound, nor where classes
 * are counted, nor in a search that is saved: its states are not. */
static void set_reductions(const struct hd_options *o, struct hd_config *s) {
  bool automatic = strcmp(o->strategy, HD_DEFAULT_CHECK) == 0 && !o->bound_kind;
  const char *after =
      getenv("HEDDLE_TEST_STATES"); /* for tests: every search is long, and has no other part then */
  bool tries = automatic && !o->no_states && !o->save && !o->resume && (!o->classes || after);
  s->states = o->states ? HD_REDUCE_YES : tries ? HD_REDUCE_TRY : HD_REDUCE_NO;
  s->states_after = after ? (uint64_t)atoi(after) : STATES_AFTER;
  s->states_alone = after != NULL;
  s->symmetry = o->symmetry ? HD_REDUCE_YES : tries && !o->no_symmetry ? HD_REDUCE_TRY : HD_REDUCE_NO;
}

void hd_options_session(const struct hd_options *o, enum hd_verb verb, struct hd_session_config *c) {
  hd_session_config_init(c, o->args);
  struct hd_config *s = &c->search;
  s->mode = verb == HD_VERB_RUN ? HD_MODE_RUN : HD_MODE_CHECK;
  memset(s->strategy, 0, sizeof s->strategy);
  strncpy(s->strategy, o->strategy, sizeof s->strategy - 1);
  s->restart = o->restart;
  s->checkpoint = o->checkpoint;
  /* For tests: every search of a test suite takes checkpoints. */
  if (o->checkpoint == HD_CHECKPOINT_AUTO && getenv("HEDDLE_TEST_CHECKPOINT"))
    s->checkpoint = HD_CHECKPOINT_ALWAYS;
  s->may_switch = o->restart == HD_RESTART_AUTO;
  /* The same in the middle of executions, at every so many scheduling points. */
  const char *every = getenv("HEDDLE_TEST_TEMPLATES");
  s->template_every = every                                   ? (uint32_t)atoi(every)
                      : s->checkpoint == HD_CHECKPOINT_ALWAYS ? ALWAYS_EVERY
                                                              : 0;
  if (every && o->restart == HD_RESTART_AUTO) s->restart = HD_RESTART_FORK;
  s->seed = o->seed;
  s->depth = (uint32_t)o->depth;
  s->bound_kind = o->bound_kind;
  s->bound_iterate = o->bound_iterate;
  s->bound = o->bound;
  s->max_executions = o->max_executions;
  s->workers = (uint32_t)o->jobs;
  if (verb == HD_VERB_CHECK && !hd__given(o, OPT_JOBS)) share_by_default(o, c);
  s->max_length = o->max_length;
  s->ignore = o->ignore;
  s->all = o->all || verb == HD_VERB_RUN; /* to the program's own end */
  s->spurious = o->spurious;
  s->one_phase = o->no_spurious;
  s->timeouts_any = o->timeouts_any;
  s->closed = o->closed;
  s->classes = o->classes;
  set_reductions(o, s);
  if (verb == HD_VERB_CHECK && strcmp(o->strategy, HD_DEFAULT_CHECK) == 0 && !o->bound_kind &&
      !o->max_executions) {
    c->predict = PREDICT_SECONDS;
    c->predict_after = getenv("HEDDLE_TEST_PREDICT") ? 0 : PREDICT_AFTER; /* for tests: in any case */
  }
  if (o->inputs) {
    if (strcmp(o->strategy, HD_DEFAULT_CHECK) == 0) {
      memset(s->strategy, 0, sizeof s->strategy);
      strcpy(s->strategy, "optimal");
    }
    s->symbolic = HD_SYMBOLIC_INPUTS | HD_SYMBOLIC_CONDITIONS;
    c->driver = o->driver;
    c->datarace = o->datarace;
    c->race_detector = o->race_detector;
    c->order = o->order;
    c->symbolic_args = (uint32_t)(o->symbolic_args << 16 | o->symbolic_size);
    c->sources = o->source;
    c->nsources = o->nsources;
    c->covered = o->covered;
    c->queries = o->queries;
    if (o->driver) {
      memset(s->strategy, 0, sizeof s->strategy);
      strcpy(s->strategy, HD_PLAN_NAME);
      s->symbolic |= HD_SYMBOLIC_LOG | HD_SYMBOLIC_READS;
      s->restart = HD_RESTART_MEMORY;
      s->one_phase = 1;
      s->detail = 1;
      s->plain = PLAIN_RECORDED;
      c->interference = (unsigned)o->interference;
      c->until_covered = !hd__given(o, OPT_INTERFERENCE);
    }
    s->checkpoint = HD_CHECKPOINT_NEVER; /* shadows of memory are not restored */
    s->states = s->symmetry = HD_REDUCE_NO;
    s->may_switch = 0;
    s->workers = 1;
    c->predict = 0;
  }
  s->state_memory = o->state_memory ? o->state_memory : STATE_MEMORY;
  s->property = o->property;
  s->leaks = o->leaks;
  s->thread_leaks = o->thread_leaks;
  s->exit_status = (uint32_t)o->exit_status;
  c->cwd = o->cwd;
  c->preload = o->preload;
  c->time = o->time;
  c->time_default = o->time_default;
  c->hang_timeout = o->hang_timeout;
  c->explain = o->explain;
  c->suppressions = o->suppressions.v;
  c->nsuppressions = o->suppressions.n;
  c->baseline = o->baseline;
  c->out = o->out;
  c->save = o->save;
  c->resume = o->resume;
  c->coverage = o->json != NULL;
  c->lock_order = verb == HD_VERB_CHECK && !o->no_lock_order;
}

/* The option of each setting. */
static const struct {
  enum hd_setting setting;
  enum option_id id;
  const char *name;
} setting_option[] = {
    {HD_SETTING_STRATEGY, OPT_STRATEGY, "strategy"},
    {HD_SETTING_DEPTH, OPT_DEPTH, "depth"},
    {HD_SETTING_BOUND, OPT_PREEMPTIONS, "preemptions"},
    {HD_SETTING_BOUND, OPT_DELAYS, "delays"},
    {HD_SETTING_SEED, OPT_SEED, "seed"},
    {HD_SETTING_ALL, OPT_ALL, "all"},
    {HD_SETTING_IGNORE, OPT_IGNORE, "ignore"},
    {HD_SETTING_RESTART, OPT_RESTART, "restart"},
    {HD_SETTING_SPURIOUS, OPT_SPURIOUS, "spurious"},
    {HD_SETTING_TIMEOUTS, OPT_TIMEOUTS, "timeouts"},
    {HD_SETTING_CLOSED, OPT_CLOSED, "closed"},
    {HD_SETTING_CLASSES, OPT_CLASSES, "classes"},
    {HD_SETTING_SYMMETRY, OPT_SYMMETRY, "symmetry"},
    {HD_SETTING_SYMMETRY, OPT_NO_SYMMETRY, "symmetry"},
    {HD_SETTING_LEAKS, OPT_LEAKS, "leaks"},
    {HD_SETTING_THREAD_LEAKS, OPT_THREAD_LEAKS, "thread-leaks"},
    {HD_SETTING_EXIT_STATUS, OPT_EXIT_STATUS, "exit-status"},
    {HD_SETTING_MAX_LENGTH, OPT_MAX_LENGTH, "max-length"},
};

int hd_options_resume(struct hd_options *o, struct hd_session_config *c, struct hd_err *err) {
  struct hd_config saved;
  int rc = hd_settings_read(o->resume, &saved, err);
  if (rc == HD_OK) rc = hd_strategy_parse(saved.strategy, &o->strategy, err);
  if (rc != HD_OK) return rc;
  uint64_t differ = hd_settings_differ(&c->search, &saved);
  for (size_t i = 0; i < HD_COUNT(setting_option); i++)
    if ((differ >> setting_option[i].setting & 1) && hd__given(o, setting_option[i].id))
      return hd_fail(err, HD_EUSAGE, "--resume %s: that search has another --%s; leave it out", o->resume,
                     setting_option[i].name);
  hd_settings_copy(&c->search, &saved);
  o->bound_kind = (enum hd_bound)saved.bound_kind;
  hd__set_budget(o);
  c->search.max_executions = o->max_executions;
  c->time = o->time;
  c->time_default = o->time_default;
  return rc;
}
