/* follow.c: executions that kept to a predicted order, as traces from which more is predicted. Runs in the supervisor.
 *
 * A failure that needs two changes of the observed order, each of which makes the program do something else, is in no
 * prediction from the observed execution. It is in one from the execution with the first change. Only executions that do
 * something new are worth it: an operation at a place, by a thread, with an outcome; or a read that sees the write of another
 * place. */
#include "session/predict.h"

#include <stdlib.h>
#include <string.h>

struct hd_deeds {
  uint64_t *key; /* hash table; 0: free */
  size_t n, cap;
};

struct hd_deeds *hd_deeds_new(void) {
  return hd_alloc(sizeof(struct hd_deeds));
}

void hd_deeds_free(struct hd_deeds *d) {
  if (!d) return;
  free(d->key);
  free(d);
}

static bool put(struct hd_deeds *d, uint64_t key) {
  size_t i = key & (d->cap - 1);
  while (d->key[i] && d->key[i] != key) i = (i + 1) & (d->cap - 1);
  if (d->key[i]) return false;
  d->key[i] = key;
  d->n++;
  return true;
}

static bool add(struct hd_deeds *d, uint64_t key) {
  if (2 * (d->n + 1) > d->cap) {
    struct hd_deeds old = *d;
    *d = (struct hd_deeds){.cap = old.cap ? 2 * old.cap : 1024};
    d->key = hd_alloc(d->cap * sizeof *d->key);
    for (size_t i = 0; i < old.cap; i++)
      if (old.key[i]) put(d, old.key[i]);
    free(old.key);
  }
  return put(d, key);
}

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}

/* Who, and where in the code. */
static uint64_t actor(const struct hd_run_trace *t, const struct hd_event *e) {
  uint64_t h = e->place ? t->tables->place.v[e->place - 1].pc : 0;
  for (const char *c = t->tables->thread.v[e->op.thread].name; *c; c++) h = mix(h, (unsigned char)*c);
  return h;
}

size_t hd_deeds_add(struct hd_deeds *d, const struct hd_run_trace *t) {
  size_t new = 0;
  for (size_t i = 0; i < t->n; i++) {
    const struct hd_event *e = &t->event[i];
    uint64_t key = mix(mix(actor(t, e), e->op.kind), e->flags & HD_EV_FAILED);
    if (e->from && e->from <= t->n) key = mix(key, actor(t, &t->event[e->from - 1]));
    new += add(d, key | 1);
  }
  return new;
}

void hd_followed_fini(struct hd_followed *f) {
  free(f->event);
  hd_tr_close(f->source);
  hd_rerun_fini(&f->run);
}

bool hd_forecast_follow(const struct hd_forecast *f, size_t *at, struct hd_deeds *d, double until,
                        struct hd_followed *out) {
  struct hd_confirm *c = hd__forecast_confirmed(f);
  struct hd_err err;
  size_t n;
  const struct hd_forecast_one *one = hd_forecast_list(f, &n);
  while (c && *at < n && hd_now() < until && hd_interrupts() == 0) {
    const struct hd_forecast_one *tried = &one[(*at)++];
    if (tried->result.result == HD_CONFIRM_UNTRIED) continue;
    *out = (struct hd_followed){0};
    if (!hd_confirm_record(c, tried->prediction, &out->run)) continue;
    out->source = hd_rerun_trace(&out->run, hd_confirm_command(c), true, false);
    if (hd__forecast_collect(out->source, &out->event, &out->trace.n, &err) == HD_OK) {
      out->trace.event = out->event;
      out->trace.tables = out->source->tables;
      if (hd_deeds_add(d, &out->trace)) return true;
    }
    hd_followed_fini(out);
  }
  return false;
}
