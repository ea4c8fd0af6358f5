/* samples.c: the progress of a search over time, for the report page. Runs in the supervisor.
 *
 * There are at most HD_MAX_SAMPLES: when that many are taken, every other one is dropped and the interval doubles, so
 * that an hour costs no more than a second. */
#include "session/session_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_INTERVAL 0.05 /* seconds */

enum hd_class_count hd__session_classes(const struct hd_session *s, const struct hd_status *st, uint64_t *n) {
  const char *strategy = s->config.search.strategy;
  *n = st->classes;
  if (s->config.search.classes) return HD_CLASSES_COUNTED;
  bool whole = !s->config.search.bound_kind, automatic = strcmp(strategy, "auto") == 0;
  /* With sleep sets no class is executed twice to its end. */
  if (whole && (strcmp(strategy, "optimal") == 0 || strcmp(strategy, "dpor") == 0)) {
    *n = st->executions + st->infeasible;
    return HD_CLASSES_EXECUTIONS;
  }
  *n = whole && automatic ? st->phase[0].executions : 0;
  if (!whole || !automatic) return HD_CLASSES_UNKNOWN;
  for (int i = 1; i < HD_MAX_PHASES; i++)
    if (st->phase[i].executions) return HD_CLASSES_AT_LEAST;
  return HD_CLASSES_EXECUTIONS;
}

/* Pairs of conflicting lines that were exercised. Those of several workers are counted apart: a new one counts when it is
 * new to the worker. */
static uint64_t pairs(const struct hd_session *s) {
  const struct hd_control *c = &s->worker[0].control;
  uint64_t n = 0;
  for (unsigned i = 0; i < c->shared->crew && i < HD_MAX_WORKERS; i++)
    n += ((const struct hd_cover *)(void *)((char *)c->shared + HD_SEARCH_COVER + i * HD_COVER_SIZE))->npairs;
  return n;
}

#define NEWS_INTERVAL 0.05

void hd__session_news(struct hd_session *s, bool last) {
  double now = hd_now(), at = now - s->started + s->carried_seconds;
  if (!last && now - s->news.looked_at < NEWS_INTERVAL) return;
  s->news.looked_at = now;
  struct hd_status st = hd__session_total(s);
  uint64_t classes, n = pairs(s);
  hd__session_classes(s, &st, &classes);
  if (classes != s->news.classes) s->news.class = at;
  if (n != s->news.pairs) s->news.pair = at;
  s->news.classes = classes;
  s->news.pairs = n;
}

static void add(struct hd_session *s, double now) {
  struct hd_samples *a = &s->samples;
  struct hd_status st = hd__session_total(s);
  if (a->n == HD_MAX_SAMPLES) {
    for (size_t i = 0; i < HD_MAX_SAMPLES / 2; i++) a->v[i] = a->v[2 * i];
    a->n = HD_MAX_SAMPLES / 2;
    a->interval *= 2;
  }
  uint64_t classes;
  hd__session_classes(s, &st, &classes);
  a->v[a->n++] = (struct hd_sample){.seconds = now - s->started + s->carried_seconds,
                                    .executions = st.executions + s->deaths,
                                    .classes = classes,
                                    .findings = s->finding.n};
  a->next = now + a->interval;
}

void hd__session_sample(struct hd_session *s, bool last) {
  double now = hd_now();
  if (!s->samples.interval) s->samples.interval = FIRST_INTERVAL;
  /* A rate between two samples at nearly the same time would be meaningless. */
  if (last && s->samples.n && now < s->samples.next - s->samples.interval / 2) s->samples.n--;
  if (last || now >= s->samples.next) add(s, now);
}

/* Without findings there is no folder, and it is only created if it was named. */
static bool is_kept(const struct hd_session *s) {
  struct stat st;
  return s->store.dir && s->config.search.mode == HD_MODE_CHECK &&
         (s->config.out || stat(s->store.dir, &st) == 0);
}

/* The tables of the workers that have observed anything; returns how many. */
static size_t tables(const struct hd_control *c, const struct hd_cover *part[HD_MAX_WORKERS]) {
  size_t n = 0;
  unsigned crew = c->shared->crew < HD_MAX_WORKERS ? c->shared->crew : HD_MAX_WORKERS;
  for (unsigned i = 0; i < crew; i++) {
    const struct hd_cover *p = (const void *)((char *)c->shared + HD_SEARCH_COVER + i * HD_COVER_SIZE);
    if (p->begun) part[n++] = p;
  }
  return n;
}

static struct hd_symbolizer *symbolizer(const struct hd_session *s) {
  const struct hd_ctl *ctl = s->worker[0].control.ctl;
  return hd_symbolizer_new(ctl->module, ctl->status.nmodules, s->command.program.path, s->command.cwd);
}

json_t *hd__session_coverage(const struct hd_session *s) {
  const struct hd_control *c = &s->worker[0].control;
  if ((!s->config.coverage && !is_kept(s)) || !hd_control_sane(c)) return NULL;
  const struct hd_cover *part[HD_MAX_WORKERS];
  size_t n = tables(c, part);
  struct hd_symbolizer *sym = symbolizer(s);
  json_t *coverage = hd_json_coverage(part, n, sym);
  hd_symbolizer_free(sym);
  return coverage;
}

void hd__session_lock_orders(struct hd_session *s) {
  const struct hd_control *c = &s->worker[0].control;
  /* Nothing is said where a deadlock may have come that is not among the findings. */
  if (!s->config.lock_order || s->hidden_deadlock || s->reported_before || !hd_control_sane(c) ||
      s->config.search.ignore >> HD_KIND_DEADLOCK & 1)
    return;
  const struct hd_cover *part[HD_MAX_WORKERS];
  size_t n = tables(c, part);
  bool any = false;
  for (size_t i = 0; i < n; i++) any |= part[i]->ncycles > 0;
  if (!any) return;
  struct hd_symbolizer *sym = symbolizer(s);
  hd_lock_orders_find(&s->summary.lock_orders, part, n, s->finding.v, s->finding.n, sym);
  hd_symbolizer_free(sym);
}

void hd__session_keep(struct hd_session *s, const struct hd_summary *sum) {
  struct hd_err err;
  struct stat st;
  if (!is_kept(s) || (stat(s->store.dir, &st) && mkdir(s->store.dir, 0777))) return;
  hd__session_sample(s, true);
  json_t *json = hd_json_summary(sum), *samples = json_array();
  for (size_t i = 0; i < s->samples.n; i++) {
    const struct hd_sample *a = &s->samples.v[i];
    json_t *one = json_pack("[f,I,I]", (double)(long long)(a->seconds * 1e4 + 0.5) / 1e4,
                            (json_int_t)a->executions, (json_int_t)a->findings);
    if (sum->class_count) json_array_append_new(one, json_integer((json_int_t)a->classes));
    json_array_append_new(samples, one);
  }
  json_object_set_new(json, "samples", samples);
  json_object_set_new(json, "cwd", hd_json_text(s->command.cwd));
  char *dump = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  char *text = hd_sprintf("%s\n", dump ? dump : "{}"), *path = hd_sprintf("%s/" HD_SEARCH_FILE, s->store.dir);
  if (hd_write_file_atomic(path, text, strlen(text), &err) != HD_OK)
    hd_warn("the search is not kept for `heddle report`: %s", err.text);
  free(path);
  free(text);
  free(dump);
  json_decref(json);
}
