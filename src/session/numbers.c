/* numbers.c: the executions of a sampler that several machines share: numbers in and out, and what is saved of them. Runs in
 * the supervisor. */
#include "session/session_int.h"
#include "session/units.h"

#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>

struct job {
  struct hd_span span;
  uint64_t n, max;
};

static int take(struct hd_shared *sh, void *arg) {
  struct job *j = arg;
  j->span = hd_spans_take(sh, j->max, j->n);
  return HD_DONE;
}

static int add(struct hd_shared *sh, void *arg) {
  return hd_spans_add(sh, ((struct job *)arg)->span) ? HD_DONE : HD_LATER;
}

static int left(struct hd_shared *sh, void *arg) {
  ((struct job *)arg)->n = hd_spans_left(sh);
  return HD_DONE;
}

uint64_t hd_session_samples_ahead(const struct hd_session *s) {
  const struct hd_shared *sh = s->worker[0].control.shared;
  uint64_t max = s->config.search.max_executions, next = sh->next_execution;
  return hd_spans_left(sh) + (!max ? UINT64_MAX / 2 : max > next ? max - next : 0);
}

int hd_session_take_samples(struct hd_session *s, uint64_t n, struct hd_span *out) {
  struct job j = {.n = n, .max = s->config.search.max_executions};
  int rc = hd__units_locked(s, take, &j);
  *out = j.span;
  return rc;
}

int hd_session_add_samples(struct hd_session *s, struct hd_span span) {
  return hd__units_locked(s, add, &(struct job){.span = span});
}

int hd_session_samples_left(struct hd_session *s, uint64_t *n) {
  struct job j = {0};
  int rc = hd__units_locked(s, left, &j);
  *n = j.n;
  return rc;
}

static void harvest(struct hd_session *s) {
  for (unsigned i = 0; i < s->nworkers; i++)
    if (s->worker[i].control.ctl) hd__session_harvest(s, &s->worker[i]);
}

bool hd_session_at_rest(struct hd_session *s) {
  uint64_t n;
  if (hd_session_samples_left(s, &n) != HD_DONE || n || !hd__session_waits(s)) return false;
  harvest(s);
  return true;
}

/* Before the spans. */
struct samples {
  struct hd_part part;
  uint64_t nspans;
};

static int put_spans(struct hd_shared *sh, void *arg) {
  uint64_t n = sh->nspans < HD_SPANS ? sh->nspans : HD_SPANS;
  hd_str_addn(arg, (const char *)sh->span, n * sizeof *sh->span);
  return HD_DONE;
}

int hd_session_put_samples(struct hd_session *s, const struct hd_span *more, size_t n, struct hd_str *out) {
  struct samples head = {.nspans = n};
  struct hd_str spans;
  int rc = HD_DONE;
  hd_str_init(&spans);
  if (s) {
    harvest(s);
    rc = hd__units_locked(s, put_spans, &spans);
    hd_session_part(s, &head.part);
    head.nspans += spans.n / sizeof *more;
  }
  if (rc == HD_DONE) {
    hd_str_addn(out, (const char *)&head, sizeof head);
    hd_str_addn(out, spans.s, spans.n);
    hd_str_addn(out, (const char *)more, n * sizeof *more);
  }
  hd_str_fini(&spans);
  return rc;
}

int hd_session_save_samples(struct hd_session *s, const char *path, const struct hd_saved_part *part,
                            uint32_t ranks, struct hd_err *err) {
  uint64_t deaths = s->deaths;
  unsigned processes = s->processes;
  struct hd_str spans;
  hd_str_init(&spans);
  harvest(s);
  int rc = HD_OK;
  for (uint32_t i = 1; i < ranks && rc == HD_OK; i++) {
    struct samples head;
    size_t n = part[i].n;
    if (n >= sizeof head) memcpy(&head, part[i].data, sizeof head);
    if (n < sizeof head || head.nspans != (n - sizeof head) / sizeof(struct hd_span)) {
      rc = hd_fail(err, HD_EENV, "--save %s: rank %u sent nothing", path, i);
      break;
    }
    hd_session_add_part(s, &head.part);
    hd_str_addn(&spans, part[i].data + sizeof head, n - sizeof head);
  }
  struct hd_span *span = hd_alloc(spans.n + sizeof *span);
  if (spans.n) memcpy(span, spans.s, spans.n);
  if (rc == HD_OK) rc = hd__save_spans(s, path, span, spans.n / sizeof *span, err);
  free(span);
  hd_str_fini(&spans);
  s->part.n = 0;
  s->deaths = deaths;
  s->processes = processes;
  return rc;
}
