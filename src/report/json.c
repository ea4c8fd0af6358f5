/* json.c: findings and summaries as JSON. Runs in the supervisor.
 *
 * The keys are an interface (docs/formats.md): add, never rename. */
#include "analysis/analysis.h"
#include "report/report_int.h"

#include <string.h>

json_t *hd_json_text(const char *s) {
  if (!s) return json_null();
  json_t *j = json_string(s);
  if (j) return j;
  /* Source files and program output may contain any bytes; JSON is UTF-8. */
  struct hd_str b;
  hd_str_init(&b);
  hd_str_add_utf8(&b, s);
  j = json_string(b.s);
  hd_str_fini(&b);
  return j;
}

static json_t *number_or_null(int n) { return n > 0 ? json_integer(n) : json_null(); }

/* Rounded to 1/`unit`, to omit insignificant digits. */
static json_t *rounded(double v, double unit) {
  return json_real((double)(long long)(v * unit + 0.5) / unit);
}

static void set(json_t *o, const char *key, json_t *value) { json_object_set_new(o, key, value); }

static json_t *frame(const struct hd_frame *f) {
  json_t *o = json_object();
  set(o, "function", hd_json_text(f->function));
  set(o, "file", hd_json_text(f->file));
  set(o, "line", number_or_null(f->line));
  set(o, "column", number_or_null(f->column));
  if (f->inlined) set(o, "inlined", json_true());
  return o;
}

static const char *const role_name[] = {
    [HD_ROLE_AT] = "at",         [HD_ROLE_PREVIOUS] = "previous", [HD_ROLE_WAITS] = "waits",
    [HD_ROLE_HOLDS] = "holds",   [HD_ROLE_ALLOC] = "alloc",       [HD_ROLE_FREE] = "free",
    [HD_ROLE_CREATE] = "create", [HD_ROLE_THROWN] = "thrown",
};

static json_t *place(const struct hd_place *p) {
  json_t *o = json_object();
  const struct hd_frame unknown = {0};
  const struct hd_frame *top = p->stack.n ? &p->stack.v[0] : &unknown;
  set(o, "thread", hd_json_text(p->thread));
  if (p->thread_name) set(o, "thread_name", hd_json_text(p->thread_name));
  set(o, "file", hd_json_text(top->file));
  set(o, "line", number_or_null(top->line));
  set(o, "column", number_or_null(top->column));
  set(o, "function", hd_json_text(top->function));
  set(o, "role", hd_json_text(p->role <= HD_ROLE_THROWN ? role_name[p->role] : NULL));
  set(o, "operation", hd_json_text(p->op == HD_OP_NONE ? NULL : hd_op_text(p->op)));
  if (p->object) set(o, "object", hd_json_text(p->object));
  if (p->object_addr) {
    char hex[24];
    snprintf(hex, sizeof hex, "%#llx", (unsigned long long)p->object_addr);
    set(o, "address", hd_json_text(hex));
  }
  if (p->size) set(o, "size", json_integer(p->size));
  if (p->peer) set(o, "held_by", hd_json_text(p->peer));
  json_t *stack = json_array();
  for (size_t i = 0; i < p->stack.n; i++) json_array_append_new(stack, frame(&p->stack.v[i]));
  set(o, "stack", stack);
  return o;
}

static json_t *cost(const struct hd_cost *c) {
  return json_pack("{s:I,s:I,s:I,s:I}", "preemptions", (json_int_t)c->preemptions, "switches",
                   (json_int_t)c->switches, "threads", (json_int_t)c->threads, "steps", (json_int_t)c->steps);
}

json_t *hd__json_replays(const struct hd_finding *f) {
  return f->untried ? json_null() : json_boolean(f->replays);
}

/* The lines of a text. */
static json_t *lines_json(const char *text) {
  json_t *out = json_array();
  for (size_t n; *text; text += n + (text[n] == '\n')) {
    n = strcspn(text, "\n");
    char *line = hd_strndup(text, n);
    json_array_append_new(out, hd_json_text(line));
    free(line);
  }
  return out;
}

static json_t *chain(const double p[4]) {
  return json_pack("{s:o,s:o,s:o,s:o}", "read_read", rounded(p[0], 1e4), "read_write", rounded(p[1], 1e4),
                   "write_read", rounded(p[2], 1e4), "write_write", rounded(p[3], 1e4));
}

static json_t *roles(const struct hd_roles *r) {
  json_t *threads = json_array(), *centres = json_array();
  for (size_t i = 0; i < r->thread.n; i++) {
    const struct hd_role_thread *t = &r->thread.v[i];
    json_array_append_new(threads,
                          json_pack("{s:o,s:o,s:i,s:I,s:I,s:o}", "thread", hd_json_text(t->name), "function",
                                    hd_json_text(t->function && *t->function ? t->function : NULL), "role",
                                    (int)t->role, "reads", (json_int_t)t->count[0], "writes",
                                    (json_int_t)t->count[1], "chain", chain(t->chain)));
  }
  for (unsigned i = 0; i < r->k; i++) json_array_append_new(centres, chain(r->centre[i]));
  return json_pack("{s:i,s:o,s:o,s:o,s:o,s:o}", "roles", (int)r->k, "threads", threads, "centres", centres,
                   "homogeneity", rounded(r->homogeneity, 1e4), "separation", rounded(r->separation, 1e4),
                   "agreement", rounded(r->agreement, 1e4));
}

json_t *hd_json_finding(const struct hd_finding *f) {
  json_t *o = json_object();
  set(o, "id", f->id ? json_integer(f->id) : json_null());
  set(o, "kind", hd_json_text(hd_kind_name[f->kind]));
  set(o, "title", hd_json_text(f->title));
  json_t *where = json_array();
  for (size_t i = 0; i < f->nplaces; i++) json_array_append_new(where, place(&f->place[i]));
  set(o, "where", where);
  json_t *notes = f->nnotes ? json_array() : NULL;
  for (size_t i = 0; i < f->nnotes; i++) {
    json_t *n = json_object();
    set(n, "thread", hd_json_text(f->note[i].thread));
    set(n, "event", json_integer((json_int_t)f->note[i].event));
    set(n, "text", hd_json_text(f->note[i].text));
    json_array_append_new(notes, n);
  }
  if (notes) set(o, "notes", notes);
  if (f->ninputs) {
    json_t *inputs = json_array();
    for (size_t i = 0; i < f->ninputs; i++)
      json_array_append_new(inputs,
                            json_pack("{s:o,s:o,s:i,s:o}", "name", hd_json_text(f->input[i].name), "thread",
                                      hd_json_text(f->input[i].thread), "index", (int)f->input[i].index,
                                      "value", hd_json_text(f->input[i].value)));
    set(o, "inputs", inputs);
  }
  set(o, "execution", json_integer((json_int_t)f->execution));
  if (f->executions) set(o, "after_executions", json_integer((json_int_t)f->executions));
  set(o, "strategy", hd_json_text(f->strategy));
  set(o, "replay", hd_json_text(f->folder));
  set(o, "replays", hd__json_replays(f));
  if (f->no_replay) set(o, "not_replayed", hd_json_text(f->no_replay));
  if (f->predicted)
    set(o, "predicted",
        json_pack("{s:o,s:o}", "observed", lines_json(f->observed), "predicted", lines_json(f->predicted)));
  if (f->detail) set(o, "text", hd_json_text(f->detail));
  if (f->signal) set(o, "signal", hd_json_text(hd_signal_name(f->signal)));
  if (f->exception) {
    json_t *e = json_object();
    set(e, "type", hd_json_text(f->exception));
    set(e, "what", hd_json_text(f->what));
    set(o, "exception", e);
  }
  if (f->kind == HD_KIND_EXIT) set(o, "status", json_integer(f->status));
  if (f->kind == HD_KIND_LEAK) {
    set(o, "leaked_bytes", json_integer((json_int_t)f->leaked_bytes));
    set(o, "leaked_blocks", json_integer((json_int_t)f->leaked_blocks));
  }
  set(o, "steps", json_integer((json_int_t)f->steps));
  if (f->story) set(o, "story", hd__json_story(f->story));
  if (f->minimised.there) {
    json_t *m = cost(&f->minimised.after);
    set(m, "fewest_preemptions", json_boolean(f->minimised.fewest));
    set(m, "original", cost(&f->minimised.before));
    set(o, "minimised", m);
  }
  set(o, "partial", json_boolean(f->partial));
  char key[20];
  snprintf(key, sizeof key, "%016llx", (unsigned long long)f->key);
  set(o, "key", hd_json_text(key));
  char *identity = hd_finding_identity(f);
  set(o, "identity", hd_json_text(identity));
  free(identity);
  return o;
}

static json_t *bound(const struct hd_summary *s) {
  if (s->complete) return json_null();
  json_t *o = json_object();
  if (s->bound_kind) {
    set(o, s->bound_kind == HD_BOUND_DELAYS ? "delays" : "preemptions", json_integer(s->bound));
    set(o, "complete", json_boolean(s->bound_done));
    if (s->bound_done && s->stop == HD_STOP_FINISHED) return o;
  }
  if (s->stop == HD_STOP_TIME)
    set(o, "seconds", json_real(s->time_limit));
  else
    set(o, "executions", json_integer((json_int_t)s->executions));
  return o;
}

bool hd_summary_property(const struct hd_summary *s) {
  return s->property && s->nreasons == 1 && s->stop == HD_STOP_FINISHED;
}

enum hd_verdict hd_summary_verdict(const struct hd_summary *s) {
  if (s->nfindings + s->before > 0) return HD_VERDICT_BUG;
  return s->complete ? HD_VERDICT_CLEAN : HD_VERDICT_BOUNDED;
}

static const char *const stop_name[] = {
    [HD_STOP_FINISHED] = "finished",
    [HD_STOP_FOUND] = "found",
    [HD_STOP_TIME] = "time",
    [HD_STOP_EXECUTIONS] = "executions",
    [HD_STOP_INTERRUPTED] = "interrupted",
    [HD_STOP_CRASH_LOOP] = "crash-loop",
    [HD_STOP_ERROR] = "error",
};

/* How often the reason was noted. */
static json_int_t times(const struct hd_summary *s, enum hd_inexact what) {
  const struct hd_reason *r = hd_summary_reason(s, what);
  return r ? (json_int_t)r->count : 0;
}

/* How states were compared; an execution that was given up at a state stands for at least one that was avoided. */
static json_t *visited(const struct hd_state_counts *c) {
  json_t *o = json_pack("{s:I,s:I,s:I,s:b}", "states", (json_int_t)c->states, "matches",
                        (json_int_t)c->matches, "bytes", (json_int_t)c->bytes, "full", (int)(c->full != 0)),
         *un = json_object();
  set(o, "bytes_per_state", c->states ? rounded((double)c->bytes / (double)c->states, 10) : json_null());
  for (int i = 1; i < HD_UNCAPTURED_COUNT; i++)
    if (c->uncaptured[i]) set(un, hd_uncaptured_name[i], json_integer((json_int_t)c->uncaptured[i]));
  set(o, "uncaptured", un);
  return o;
}

json_t *hd_json_summary(const struct hd_summary *s) {
  static const char *const verdict[] = {"bug", "clean", "bounded"};
  static const char *const restart[] = {"auto", "memory", "fork"};
  json_t *o = json_object();
  set(o, "heddle", hd_json_text(HD_VERSION));
  json_t *command = json_array();
  for (char *const *w = s->command; *w; w++) json_array_append_new(command, hd_json_text(*w));
  set(o, "command", command);
  set(o, "strategy", hd_json_text(s->strategy));
  set(o, "verdict", hd_json_text(verdict[hd_summary_verdict(s)]));
  set(o, "complete", json_boolean(s->complete));
  if (s->property)
    set(o, "property",
        json_pack("{s:s,s:b,s:I}", "name", "races", "complete", hd_summary_property(s), "pruned",
                  (json_int_t)s->pruned));
  if (s->preload) set(o, "preload", json_true());
  set(o, "inexact", hd_json_reasons(s));
  set(o, "bound", bound(s));
  set(o, "at_least", s->at_least > 0 ? json_real(s->at_least) : json_null());
  if (s->estimate.samples)
    set(o, "estimate",
        json_pack("{s:f,s:f,s:I}", "executions", s->estimate.executions, "error", s->estimate.error,
                  "samples", (json_int_t)s->estimate.samples));
  else
    set(o, "estimate", json_null());
  set(o, "last_new_class", s->last_class > 0 ? json_real(s->last_class) : json_null());
  set(o, "last_new_pair", s->last_pair > 0 ? json_real(s->last_pair) : json_null());
  set(o, "stopped", hd_json_text(stop_name[s->stop]));
  set(o, "executions", json_integer((json_int_t)s->executions));
  set(o, "blocked", json_integer((json_int_t)s->blocked));
  if (s->input_classes) set(o, "input_classes", json_integer((json_int_t)s->input_classes));
  set(o, "infeasible", json_integer((json_int_t)s->infeasible));
  const struct hd_reason *foreign = hd_summary_reason(s, HD_INEXACT_FOREIGN_THREADS);
  if (foreign) set(o, "foreign_threads", hd_json_text(foreign->detail));
  if (times(s, HD_INEXACT_OPENMP_RACES)) set(o, "races_off", json_true());
  if (times(s, HD_INEXACT_DIVERGED)) set(o, "strayed", json_integer(times(s, HD_INEXACT_DIVERGED)));
  if (times(s, HD_INEXACT_VALUES)) set(o, "sampled_values", json_true());
  set(o, "cut", json_integer((json_int_t)hd_summary_cut(s)));
  set(o, "events", json_integer((json_int_t)s->events));
  set(o, "switches", json_integer((json_int_t)s->switches));
  set(o, "threads", json_integer(s->threads));
  set(o, "seconds", rounded(s->seconds, 1e6));
  set(o, "executions_per_second", rounded(s->seconds > 0 ? (double)s->executions / s->seconds : 0, 10));
  set(o, "seed", json_integer((json_int_t)s->seed));
  set(o, "restart", hd_json_text(s->restart <= HD_RESTART_FORK ? restart[s->restart] : NULL));
  set(o, "checkpoint", hd_json_text(s->unkept ? "refused" : s->kept ? "taken" : "none"));
  if (s->unkept) set(o, "checkpoint_reason", hd_json_text(hd_unkept_name(s->unkept)));
  set(o, "templates", json_integer((json_int_t)s->templates));
  set(o, "resumed", json_integer((json_int_t)s->resumed));
  if (s->unshared) set(o, "resumed_reason", hd_json_text(hd_unkept_name(s->unshared)));
  set(o, "processes", json_integer(s->processes));
  if (s->ranks.n) {
    json_t *r = json_object();
    set(r, "ranks", json_integer(s->ranks.n));
    set(r, "sampling", json_integer(s->ranks.sampling));
    set(r, "units", json_integer((json_int_t)s->ranks.units));
    set(r, "messages", json_integer((json_int_t)s->ranks.messages));
    set(r, "bytes", json_integer((json_int_t)s->ranks.bytes));
    set(r, "idle", json_real(s->ranks.idle));
    if (s->compares_states || s->ranks.explored) {
      set(r, "explored_states", json_integer((json_int_t)s->ranks.explored));
      set(r, "repeated_states", json_integer((json_int_t)s->ranks.repeated));
      set(r, "repeated_estimated", json_boolean(s->ranks.sampled));
    }
    set(o, "cluster", r);
  }
  set(o, "suppressed", json_integer((json_int_t)s->suppressed));
  if (s->known)
    set(o, "baseline", json_pack("{s:I,s:I}", "known", (json_int_t)s->known, "again", (json_int_t)s->again));
  set(o, "dropped", json_integer(times(s, HD_INEXACT_FINDINGS)));
  set(o, "restarts", json_integer((json_int_t)s->restarts));
  set(o, "discarded", json_integer((json_int_t)s->discarded));
  if (s->phase[0].strategy) {
    json_t *phases = json_array();
    for (int i = 0; i < HD_MAX_PHASES && s->phase[i].strategy; i++)
      json_array_append_new(phases, json_pack("{s:s,s:I,s:I}", "strategy", s->phase[i].strategy, "executions",
                                              (json_int_t)s->phase[i].executions, "findings",
                                              (json_int_t)s->phase[i].findings));
    set(o, "phases", phases);
  }
  if (s->ntargets) {
    json_t *targets = json_object();
    for (size_t i = 0; i < s->ntargets; i++)
      set(targets, s->targets[i].label, json_integer((json_int_t)s->targets[i].executions));
    set(o, "targets", targets);
  }
  if (s->roles) set(o, "roles", roles(s->roles));
  if (s->classes_counted) {
    set(o, "classes", json_integer((json_int_t)s->classes));
    set(o, "class_sum", json_integer((json_int_t)s->class_sum));
    set(o, "states", json_integer((json_int_t)s->states));
    set(o, "state_sum", json_integer((json_int_t)s->state_sum));
  }
  if (s->compares_states) set(o, "visited", visited(&s->state_counts));
  if (s->uses_symmetry) set(o, "symmetric", json_integer((json_int_t)s->symmetric));
  static const char *const by[] = {NULL, "counted", "executions", "at-least"};
  set(o, "class_count",
      s->class_count
          ? json_pack("{s:s,s:I}", "by", by[s->class_count], "classes", (json_int_t)s->classes_known)
          : json_null());
  if (s->branches && s->branches->n) set(o, "branches", hd_json_branches(s->branches));
  if (s->concrete && s->concrete->n) set(o, "concrete", hd_json_concrete(s->concrete));
  if (s->lock_orders.n) set(o, "remarks", hd_json_lock_orders(&s->lock_orders, s->complete));
  if (s->coverage) json_object_set(o, "coverage", s->coverage);
  if (s->error) set(o, "error", hd_json_text(s->error));
  json_t *findings = json_array();
  for (size_t i = 0; i < s->nfindings; i++) json_array_append_new(findings, hd_json_finding(s->findings[i]));
  if (s->before) set(o, "findings_before", json_integer((json_int_t)s->before));
  set(o, "findings", findings);
  return o;
}
