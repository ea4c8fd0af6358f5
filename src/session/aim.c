/* aim.c: searches for an execution that reaches given lines. Runs in the supervisor.
 *
 * There are two searches. The first is guided (explore/strategy_aim.c), and ends when it has made no progress for long. The
 * second covers every schedule: when it is complete, the lines cannot be reached. For a data race it first covers only the
 * schedules that may have one (explore/property.c), if there are facts about all of the code. In both the runtime stops at the lines
 * (runtime/core/aim.c), so that what they find is confirmed, minimised, stored and replayed as every finding is. */
#include "session/aim.h"
#include "session/aim_plan.h"
#include "session/session_int.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE 2000 /* executions without progress */
#define SHARE 0.5     /* of the time, for the guided search */
#define MAX_NODES (4u << 20)

/* ---- goals ---- */

int hd_goal_add(struct hd_goal *g, struct hd_places *places, const char *file, int line, struct hd_err *err) {
  const char *path;
  if (g->n == HD_MAX_AIMS) return hd_fail(err, HD_EUSAGE, "at most %d lines can be given", HD_MAX_AIMS);
  int rc = hd_places_file(places, file, &path, err);
  if (rc != HD_OK) return rc;
  struct hd_aim_line *l = &g->line[g->n++];
  *l = (struct hd_aim_line){.given = hd_sprintf("%s:%d", file, line), .path = path, .line = line};
  hd_codes at = {0};
  rc = hd_places_line(places, path, line, &at, err);
  hd_vec_free(&at);
  for (size_t i = 0; i + 1 < g->n && rc == HD_OK; i++)
    if (g->line[i].line == line && strcmp(g->line[i].path, path) == 0)
      rc = hd_fail(err, HD_EUSAGE, "%s and %s are the same line; give it once", g->line[i].given, l->given);
  return rc;
}

int hd_goal_parse(struct hd_goal *g, struct hd_places *places, const char *text, struct hd_err *err) {
  int rc = HD_OK;
  for (const char *p = text; rc == HD_OK;) {
    size_t n = strcspn(p, ",");
    char *one = hd_strndup(p, n), *colon = strrchr(one, ':');
    uint64_t line = 0;
    if (colon) *colon = '\0';
    if (!colon || colon == one || !hd_parse_u64(colon + 1, 10, INT32_MAX, &line) || !line)
      rc = hd_fail(err, HD_EUSAGE, "lines are given as FILE:LINE[,FILE:LINE...], not '%s'", text);
    else
      rc = hd_goal_add(g, places, one, (int)line, err);
    free(one);
    if (!p[n]) break;
    p += n + 1;
  }
  return rc;
}

void hd_goal_fini(struct hd_goal *g) {
  for (size_t i = 0; i < g->n; i++) free(g->line[i].given);
  g->n = 0;
}

/* Fills in where the runtime stops. */
static int set_aims(struct hd_aims *a, const struct hd_goal *g, struct hd_places *places,
                    struct hd_err *err) {
  *a = (struct hd_aims){.n = (uint32_t)g->n, .silent = g->failure};
  hd_places_libraries(places, a);
  for (size_t i = 0; i < g->n; i++) {
    hd_codes at = {0};
    int rc = hd_places_line(places, g->line[i].path, g->line[i].line, &at, err);
    for (size_t k = 0; k < at.n && rc == HD_OK; k++) {
      if (a->nplaces == HD_MAX_AIM_PLACES)
        rc = hd_fail(err, HD_EUSAGE, "%s: the lines have more than %d places in the code", g->line[i].given,
                     HD_MAX_AIM_PLACES);
      else
        a->place[a->nplaces].code = at.v[k], a->place[a->nplaces++].aim = i;
    }
    hd_vec_free(&at);
    if (rc != HD_OK) return rc;
  }
  return HD_OK;
}

/* ---- which findings are looked for ---- */

static bool at_line(const struct hd_frame *f, const struct hd_aim_line *l) {
  return f->path && f->line == l->line && strcmp(f->path, l->path) == 0;
}

/* Whether one of the places is at that line: the innermost frame, or one that the failure is reported for. */
static bool has_line(const struct hd_finding *f, const struct hd_aim_line *l) {
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    const struct hd_frame *at = hd_place_frame(p);
    bool is_block = p->role == HD_ROLE_ALLOC && l->allocates;
    if (p->role != HD_ROLE_AT && p->role != HD_ROLE_PREVIOUS && p->role != HD_ROLE_WAITS && !is_block)
      continue;
    if ((at && at_line(at, l)) || (p->stack.n && at_line(&p->stack.v[0], l))) return true;
  }
  return false;
}

struct search {
  const struct hd_aim_config *config;
  const struct hd_goal *goal;
  struct hd_aim_outcome *out;
  struct hd_plan plan;
  bool covered;  /* a search was complete */
  char *instead; /* a race of one of the two lines with another one; owned */
};

/* Of the accesses of a thread to a place only the last one is compared with those of others. So when two lines race, but one of
 * them is always followed by another access, one of the two races with a line in between, and nothing is known of the two. */
static void note_instead(struct search *s, const struct hd_finding *f, const struct hd_aim_line *l) {
  struct hd_str out;
  if (s->instead) return;
  hd_str_init(&out);
  hd_str_addf(&out, "%s races with ", l->given);
  const struct hd_frame *with = NULL;
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    bool accesses = p->role == HD_ROLE_AT || p->role == HD_ROLE_PREVIOUS;
    if (accesses && p->stack.n && !at_line(&p->stack.v[0], l)) with = &p->stack.v[0];
  }
  if (with && with->file && with->line)
    hd_str_addf(&out, "%s:%d", hd_base_name(with->file), with->line);
  else
    hd_str_add(&out, with ? "code without a line" : "itself");
  hd_str_addf(&out, ", which is reported in place of races with accesses before it: heddle aim --failure %s",
              l->given);
  s->instead = hd_str_take(&out);
}

static bool wants(void *arg, const struct hd_finding *f) {
  struct search *s = arg;
  const struct hd_goal *g = s->goal;
  if (f->kind == HD_KIND_REACHED || (g->kind && f->kind != g->kind)) return false;
  const struct hd_aim_line *one = NULL;
  bool all = true;
  for (size_t i = g->any_order ? 0 : g->n - 1; i < g->n; i++)
    if (has_line(f, &g->line[i]))
      one = &g->line[i];
    else
      all = false;
  if (!all && one && f->kind == HD_KIND_DATA_RACE) note_instead(s, f, one);
  return all;
}

/* ---- searches ---- */

static void prepare(void *arg, struct hd_control *control) {
  struct search *s = arg;
  char *memory = (char *)control->shared + HD_SEARCH_MEMORY;
  struct hd_aim_plan *p = (struct hd_aim_plan *)memory;
  hd_plan_write(&s->plan, memory);
  p->naims = (uint32_t)s->goal->n;
  if (!p->ncolumns) p->ncolumns = p->naims;
  p->heuristic = p->nrows ? s->config->heuristic : HD_AIM_RANDOM;
  p->search = s->config->search;
  p->refines = p->nbranches && !s->config->no_refine;
  p->unmeta = s->config->no_meta;
  p->prefers = ~1ull;
  p->patience = PATIENCE;
  p->nearest = HD_AIM_FAR;
  p->max_nodes = MAX_NODES;
}

/* How far a place is from the last line. */
static uint32_t distance(void *arg, uint64_t code) {
  const struct hd_plan *p = &((const struct search *)arg)->plan;
  size_t from = 0, to = p->nrows; /* the last row that begins at or before the code */
  while (from < to) {
    size_t mid = (from + to) / 2;
    if (p->row[mid] <= code)
      from = mid + 1;
    else
      to = mid;
  }
  return from ? p->distance[(from - 1) * p->ncolumns + ((const struct search *)arg)->goal->n - 1]
              : HD_AIM_FAR;
}

static void set_place(struct search *s, struct hd_session *session, uint64_t pc) {
  const struct hd_control *control = &session->worker[0].control;
  size_t n = hd_control_sane(control) ? control->ctl->status.nmodules : 0;
  struct hd_symbolizer *sym =
      hd_symbolizer_new(control->ctl->module, n, session->command.program.path, session->command.cwd);
  struct hd_frames f = {0};
  hd_symbolize_pc(sym, pc, false, &f);
  if (f.n && f.v[0].file && f.v[0].line) s->out->nearest = hd_sprintf("%s:%d", f.v[0].file, f.v[0].line);
  hd_frames_free(&f);
  hd_symbolizer_free(sym);
}

/* What the guided search has come to. */
static void read_plan(struct search *s, struct hd_session *session) {
  const struct hd_aim_plan *p =
      (const struct hd_aim_plan *)((const char *)session->worker[0].control.shared + HD_SEARCH_MEMORY);
  s->out->refinements = p->refined;
  s->out->backtracks = p->backtracks;
  s->out->facts = p->nrows > 0;
  s->out->distance = p->nearest;
  if (p->nearest < HD_AIM_FAR && p->nearest_pc) set_place(s, session, p->nearest_pc);
}

static void read_summary(struct search *s, struct hd_session *session, bool systematic) {
  const struct hd_summary *sum = hd_session_summary(session);
  struct hd_aim_outcome *o = s->out;
  /* With `wants` the search goes on while a finding is confirmed. */
  o->executions += sum->nfindings ? sum->findings[0]->execution : sum->executions;
  o->events += sum->nfindings ? sum->findings[0]->events : sum->events;
  size_t aimed = session->total.aimed;
  for (unsigned i = 0; i < session->nworkers; i++)
    if (session->worker[i].control.ctl && session->worker[i].control.good.aimed > aimed)
      aimed = session->worker[i].control.good.aimed;
  if (aimed > o->reached) o->reached = aimed < s->goal->n ? aimed : s->goal->n;
  json_decref(o->summary);
  o->summary = hd_json_summary(sum);
  if (sum->nfindings) {
    o->result = HD_AIM_REACHED;
    o->finding = sum->findings[0]->id;
    o->reached = s->goal->n;
    return;
  }
  if (!systematic) return;
  bool complete = s->covered = sum->complete || hd_summary_property(sum);
  if (complete && !s->instead) o->result = HD_AIM_UNREACHABLE;
  free(o->why);
  struct hd_str why;
  hd_str_init(&why);
  size_t i = 0;
  while (i < sum->nreasons && sum->reason[i].what == HD_INEXACT_PROPERTY) i++;
  if (complete && s->instead)
    hd_str_add(&why, s->instead);
  else if (!complete && i < sum->nreasons)
    hd_reason_text(&why, &sum->reason[i]);
  else if (!complete)
    hd_str_add(&why, "the search was not complete");
  o->why = hd_str_take(&why);
}

static int run(struct search *s, const char *strategy, double seconds, bool systematic,
               enum hd_property_kind property, const struct hd_session_events *events, struct hd_err *err) {
  bool symbolic = s->config->symbolic;
  struct hd_session_config c = symbolic && systematic ? s->config->rounds : s->config->session;
  struct hd_config *h = &c.search;
  h->aims = s->config->session.search.aims;
  if (!symbolic) snprintf(h->strategy, sizeof h->strategy, "%s", strategy);
  h->mode = HD_MODE_CHECK;
  h->workers = 1;
  h->all = 0;
  h->checkpoint = HD_CHECKPOINT_NEVER;
  h->may_switch = h->states = h->symmetry = h->classes = h->bound_kind = 0;
  if (!s->goal->failure) h->ignore = ~(1ull << HD_KIND_REACHED);
  if (s->goal->failure && s->goal->kind) h->ignore |= ~(1ull << s->goal->kind);
  if (systematic) h->max_executions = 0;
  c.time = seconds;
  c.predict = 0;
  c.save = c.resume = NULL;
  h->property = property;
  c.property_prunes = true;
  if (s->goal->failure) c.wants = wants, c.wants_arg = s; /* else all others are ignored */
  if (!systematic && !symbolic) c.prepare = prepare, c.prepare_arg = s;
  if (!systematic && symbolic && s->plan.nrows) c.distance = distance, c.distance_arg = s;
  struct hd_session *session = NULL;
  int rc = hd_session_new(&session, &c, events, err);
  if (rc == HD_OK) rc = hd_session_run(session, err);
  if (rc == HD_OK && hd_session_summary(session)->stop == HD_STOP_ERROR)
    rc = hd_fail(err, hd_session_error(session), "%s", hd_session_summary(session)->error);
  if (rc == HD_OK && !systematic && !symbolic) read_plan(s, session);
  if (symbolic) s->out->facts = s->plan.nrows > 0;
  if (rc == HD_OK) read_summary(s, session, systematic);
  hd_session_free(session);
  return rc;
}

/* Whether the question is still open: a search that was complete answers it, also if that hides what is looked for. */
static bool goes_on(const struct search *s, double left) {
  return s->out->result == HD_AIM_NOT_REACHED && !s->covered && s->config->complete && left > 0 &&
         !hd_interrupts();
}

int hd_aim(const struct hd_aim_config *config, const struct hd_goal *g, struct hd_places *places,
           const struct hd_session_events *events, struct hd_aim_outcome *out, struct hd_err *err) {
  struct hd_aim_config c = *config;
  struct search s = {.config = &c, .goal = g, .out = out};
  double began = hd_now();
  *out = (struct hd_aim_outcome){.result = HD_AIM_NOT_REACHED, .distance = HD_AIM_FAR};
  int rc = set_aims(&c.session.search.aims, g, places, err);
  if (rc == HD_OK) rc = hd_plan_make(&s.plan, &c, g, places, err);
  if (rc == HD_OK)
    rc =
        run(&s, HD_AIM_NAME, c.session.time * (c.complete ? SHARE : 1), false, HD_PROPERTY_NONE, events, err);
  double left = c.session.time - (hd_now() - began);
  if (rc == HD_OK && g->kind == HD_KIND_DATA_RACE && !c.symbolic && goes_on(&s, left)) {
    rc = run(&s, "optimal", left * SHARE, true, HD_PROPERTY_RACES, events, err);
    if (rc == HD_EUSAGE) rc = HD_OK; /* there are no facts about all of the code */
    left = c.session.time - (hd_now() - began);
  }
  if (rc == HD_OK && goes_on(&s, left)) rc = run(&s, "optimal", left, true, HD_PROPERTY_NONE, events, err);
  out->seconds = hd_now() - began;
  hd_plan_fini(&s.plan);
  free(s.instead);
  return rc;
}

void hd_aim_outcome_fini(struct hd_aim_outcome *o) {
  free(o->nearest);
  free(o->why);
  json_decref(o->summary);
  *o = (struct hd_aim_outcome){0};
}
