/* session.c: the life cycle of a search: checks, the search itself, its result. Runs in the supervisor. */
#include "session/session_int.h"

#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>

#define RECORD_TREE "HEDDLE_RECORD_TREE" /* of a search by one worker: the file */
#define MAX_BRANCHINGS (1ull << 28)
#define GRACE \
  2.0 /* seconds for the execution under way and for confirming what was found, when the time is over, */
#define GRACE_PART 0.1 /* and this part of the time */

/* ---- configuration ---- */

void hd_session_config_init(struct hd_session_config *c, char **argv) {
  *c = (struct hd_session_config){
      .search = {.mode = HD_MODE_CHECK,
                 .strategy = "auto",
                 .depth = 3,
                 .seed = 1,
                 .max_length = 100000,
                 .workers = 1},
      .argv = argv,
      .hang_timeout = 10,
      .explain = -1,
  };
}

struct range {
  size_t offset, size;
};

#define FROM_TO(first, last)                                                       \
  {                                                                                \
    offsetof(struct hd_config, first), offsetof(struct hd_config, last) +          \
                                           sizeof(((struct hd_config *)0)->last) - \
                                           offsetof(struct hd_config, first)       \
  }
#define FIELD(name) FROM_TO(name, name)

static const struct range setting[HD_SETTING_COUNT] = {
    [HD_SETTING_STRATEGY] = FIELD(strategy),
    [HD_SETTING_DEPTH] = FIELD(depth),
    [HD_SETTING_BOUND] = FROM_TO(bound_kind, bound),
    [HD_SETTING_SEED] = FIELD(seed),
    [HD_SETTING_ALL] = FIELD(all),
    [HD_SETTING_IGNORE] = FIELD(ignore),
    [HD_SETTING_RESTART] = FIELD(restart),
    [HD_SETTING_SPURIOUS] = FIELD(spurious),
    [HD_SETTING_TIMEOUTS] = FIELD(timeouts_any),
    [HD_SETTING_CLOSED] = FIELD(closed),
    [HD_SETTING_CLASSES] = FIELD(classes),
    [HD_SETTING_SYMMETRY] = FIELD(symmetry),
    [HD_SETTING_LEAKS] = FIELD(leaks),
    [HD_SETTING_THREAD_LEAKS] = FIELD(thread_leaks),
    [HD_SETTING_EXIT_STATUS] = FIELD(exit_status),
    [HD_SETTING_MAX_LENGTH] = FIELD(max_length),
};

uint64_t hd_settings_differ(const struct hd_config *a, const struct hd_config *b) {
  uint64_t bits = 0;
  for (int i = 0; i < HD_SETTING_COUNT; i++) {
    const char *x = (const char *)a + setting[i].offset, *y = (const char *)b + setting[i].offset;
    bool text = i == HD_SETTING_STRATEGY; /* bytes after its end do not matter */
    if (text ? strncmp(x, y, setting[i].size) : memcmp(x, y, setting[i].size)) bits |= 1ull << i;
  }
  return bits;
}

void hd_settings_copy(struct hd_config *to, const struct hd_config *from) {
  for (int i = 0; i < HD_SETTING_COUNT; i++)
    memcpy((char *)to + setting[i].offset, (const char *)from + setting[i].offset, setting[i].size);
}

/* ---- before ---- */

/* The folder of findings; for hd_check, relative to the test's working folder. */
static int open_store(struct hd_session *s, struct hd_err *err) {
  const struct hd_session_config *c = &s->config;
  if (s->events.relay) return HD_OK; /* another machine stores them */
  char *out =
      c->attachment ? hd_absolute(s->command.cwd ? s->command.cwd : "/", c->out ? c->out : ".heddle") : NULL;
  int rc = hd_store_init(&s->store, out ? out : c->out, err);
  free(out);
  return rc;
}

static int open_control(struct hd_session *s, struct hd_err *err) {
  struct hd_config config = s->config.search;
  /* A finding that is suppressed must not end the search. */
  if (s->suppressions || s->config.wants) config.all = 1;
  s->nworkers = config.workers;
  int rc = hd_control_init(&s->worker[0].control, &config, NULL, err);
  if (rc == HD_OK) s->worker[0].control.shared->next_execution = s->config.executions_before;
  if (rc == HD_OK) hd_spans_add(s->worker[0].control.shared, s->config.span);
  if (rc == HD_OK && getenv(RECORD_TREE)) s->worker[0].control.shared->branchings_max = MAX_BRANCHINGS;
  if (rc == HD_OK && config.property) rc = hd__property_prepare(s, err);
  if (rc == HD_OK && s->config.prepare) s->config.prepare(s->config.prepare_arg, &s->worker[0].control);
  return rc;
}

int hd_session_new(struct hd_session **out, const struct hd_session_config *c,
                   const struct hd_session_events *events, struct hd_err *err) {
  struct hd_session *s = *out = hd_alloc(sizeof *s); /* large, and most of it is never touched */
  s->config = *c;
  if (events) s->events = *events;
  s->input.fd = -1;
  hd_str_init(&s->error);
  for (size_t i = 0; i < c->nknown; i++) hd_vec_push(&s->key, c->known[i]);
  for (size_t i = 0; i < c->nidentities; i++) hd_vec_push(&s->identity, hd_strdup(c->identities[i]));
  int rc = c->attachment ? hd__attach_command(&s->command, c->attachment, c->argv, err)
                         : hd_command_init(&s->command, c->argv, c->preload, c->cwd, err);
  for (size_t i = 0; i < c->nsuppressions && rc == HD_OK; i++)
    rc = hd_suppressions_load(c->suppressions[i], &s->suppressions, err);
  if (rc == HD_OK && c->baseline) rc = hd_baseline_load(c->baseline, &s->suppressions, err);
  if (rc == HD_OK) rc = open_store(s, err);
  if (rc == HD_OK && c->input)
    rc = hd_input_copy(&s->input, c->input, err);
  else if (rc == HD_OK && !c->attachment)
    rc = hd_input_init(&s->input, c->search.mode == HD_MODE_RUN, err);
  if (rc == HD_OK) rc = open_control(s, err);
  double from = hd_now();
  if (rc == HD_OK) hd__session_mine(s);
  s->prepared = hd_now() - from;
  if (rc == HD_OK && c->resume) rc = hd__resume(s, c->resume, err);
  bool cluster = c->search.cluster || c->search.served; /* which saves by itself */
  s->save = cluster ? NULL : c->save ? c->save : c->resume;
  return rc;
}

/* ---- the search ---- */

/* The shape of its tree, for `heddle cluster simulate recorded=FILE`. */
static int write_tree(const struct hd_session *s, struct hd_err *err) {
  const struct hd_shared *sh = s->worker[0].control.shared;
  if (!sh->branchings_max) return HD_OK;
  return hd_write_file(getenv(RECORD_TREE), (const char *)sh + HD_SEARCH_INBOX,
                       sh->branchings * sizeof(struct hd_branching), err);
}

double hd_session_grace(double time) { return GRACE + GRACE_PART * time; }

int hd_session_run(struct hd_session *s, struct hd_err *err) {
  enum hd_stop stop = HD_STOP_FINISHED;
  s->started = s->saved_at = hd_now();
  s->deadline = s->config.time > 0 ? s->started + s->config.time - s->prepared : 0;
  double outer = hd_time_begin(s->deadline > 0 ? s->deadline + hd_session_grace(s->config.time) : 0);
  bool all_inputs = s->config.search.symbolic & HD_SYMBOLIC_CONDITIONS;
  if (all_inputs)
    hd_inputs_ask(&s->worker[0].control, s->config.symbolic_args, s->config.sources, s->config.nsources);
  int rc = s->config.driver ? hd__driven_run(s, &stop, err)
           : all_inputs     ? hd__partition_run(s, &stop, err)
                            : hd__crew_run(s, &stop, err);
  hd_time_end(outer);
  if (s->events.over)
    s->events.over(s->events.cluster, s,
                   s->failed                    ? s->failure.text
                   : rc != HD_OK                ? err->text
                   : stop == HD_STOP_ERROR      ? s->worker[0].control.good.error_text
                   : stop == HD_STOP_CRASH_LOOP ? "the program dies again and again"
                                                : NULL);
  if (rc == HD_OK && stop != HD_STOP_ERROR) rc = hd__save_end(s, err);
  if (s->failed) {
    *err = s->failure;
    return s->failed;
  }
  if (rc == HD_OK) rc = write_tree(s, err);
  if (rc != HD_OK) return rc;
  hd__session_conclude(s, stop);
  if (s->config.attachment) hd__attach_result(s->config.attachment, &s->summary);
  hd__session_keep(s, &s->summary);
  return HD_OK;
}

/* ---- after ---- */

const struct hd_summary *hd_session_summary(const struct hd_session *s) { return &s->summary; }

int hd_session_error(const struct hd_session *s) {
  return s->summary.stop == HD_STOP_ERROR ? hd_runtime_error_code(s->total.error) : HD_OK;
}

const char *hd_session_cwd(const struct hd_session *s) { return s->command.cwd; }

void hd_session_free(struct hd_session *s) {
  if (!s) return;
  for (size_t i = 0; i < s->finding.n; i++) hd_finding_free(s->finding.v[i]);
  for (size_t i = 0; i < s->identity.n; i++) free(s->identity.v[i]);
  hd_vec_free(&s->finding);
  hd_vec_free(&s->identity);
  hd_vec_free(&s->key);
  hd__units_fini(s);
  hd_vec_free(&s->part);
  for (unsigned i = s->nworkers; i-- > 0;)
    if (s->worker[i].control.ctl) hd_control_fini(&s->worker[i].control);
  json_decref(s->summary.coverage);
  hd_summary_fini(&s->summary);
  hd_roles_fini(&s->roles);
  hd_branches_free(&s->branches);
  hd_branches_free(&s->concrete);
  hd_str_fini(&s->error);
  hd_input_fini(&s->input);
  hd_suppressions_free(s->suppressions);
  hd_store_fini(&s->store);
  hd_command_fini(&s->command);
  free(s);
}
