/* classes.c: counts the happens-before classes and final states a search has seen. Runs in the tested process.
 * A set of 64-bit numbers in the search area, so that it survives the process. The parts of `auto` have one set.
 *
 * Sampling strategies run an execution whatever is known to be visible; one that was run before more proved visible is
 * of a class of its own, also when it would not be now. */
#include "explore/explore_int.h"
#include "model/unit.h"

struct classes {
  uint64_t n, cap;
  uint64_t slot[];
};

static struct classes *of(struct hd_search *s) { return (struct classes *)s->classes; }

static int add(struct classes *c, uint64_t limit, uint64_t v) {
  if (!c->cap) c->cap = 1 << 16;
  v |= 1; /* 0 marks an empty slot */
  if (c->n * 2 > c->cap && c->cap < limit) {
    /* Grow in place: take the members out, clear, put them back in the larger table. */
    uint64_t old = c->cap, n = 0;
    uint64_t *tmp = c->slot + old * 2;
    for (uint64_t i = 0; i < old; i++) {
      if (c->slot[i]) tmp[n++] = c->slot[i];
      c->slot[i] = 0;
    }
    c->cap = old * 2;
    for (uint64_t i = 0; i < n; i++) {
      uint64_t at = hd_mix64(tmp[i]) & (c->cap - 1);
      while (c->slot[at]) at = (at + 1) & (c->cap - 1);
      c->slot[at] = tmp[i];
      tmp[i] = 0;
    }
  }
  uint64_t at = hd_mix64(v) & (c->cap - 1);
  while (c->slot[at] && c->slot[at] != v) at = (at + 1) & (c->cap - 1);
  if (c->slot[at]) return 0;
  if (c->n + 1 >= c->cap) return 0;
  c->slot[at] = v;
  c->n++;
  return 1;
}

static void count(struct hd_search *s, const struct hd_order *t) {
  uint64_t limit = s->classes_size / sizeof(uint64_t) / 4, h = hd_order_class(t);
  if (add(of(s), limit, h)) {
    s->status->classes++;
    s->status->class_sum += hd_mix64(h | 1);
  }
  if (s->observed && !s->infeasible && add(of(s), limit, hd_mix64(s->observed + 0x5eed))) {
    s->status->states++;
    s->status->state_sum += hd_mix64(s->observed);
  }
}

void hd__count_class(struct hd_search *s, const struct hd_order *t, enum hd_how how) {
  if (!s->config->classes || how == HD_HOW_BLOCKED) return;
  hd_search_lock(s);
  if (s->status->epoch == s->shared->epoch) count(s, t);
  hd_search_unlock(s);
}

void hd_classes_restart(struct hd_search *s) {
  struct classes *c = of(s);
  if (!c) return;
  for (uint64_t i = 0; i < c->cap; i++) c->slot[i] = 0;
  c->n = 0;
}

/* The numbers stand for the same classes in every process: addresses in them are stable (hd_order_event_class). */
void hd__classes_save(struct hd_search *s, struct hd_writer *out) {
  const struct classes *c = of(s);
  hd_put_number(out, c ? c->n : 0);
  for (uint64_t i = 0; c && i < c->cap; i++)
    if (c->slot[i]) hd_put_number(out, c->slot[i]);
}

void hd__classes_load(struct hd_search *s, struct hd_reader *r) {
  uint64_t limit = s->classes_size / sizeof(uint64_t) / 4;
  for (uint64_t n = hd_get_number(r, limit); n > 0 && !r->bad; n--)
    add(of(s), limit, hd_get_number(r, UINT64_MAX));
}

/* ---- strategies that need no order themselves ---- */

int hd__sample_choose(struct hd_search *s, unsigned n) { return (int)hd_rng_below(&s->rng, n); }

static struct hd_order *sampled(struct hd_search *s) {
  return (struct hd_order *)(s->scratch + HD_SCRATCH_SAMPLE);
}

void hd__sample_begin(struct hd_search *s) {
  if (!s->config->classes) return;
  if (!sampled(s)->ev) hd_order_init(sampled(s), s->scratch + HD_SCRATCH_SAMPLE + (1 << 20));
  sampled(s)->contended = s->contended;
  sampled(s)->layout = s->layout;
  sampled(s)->numbers = s->numbers;
  sampled(s)->guard = s->guard;
  hd_order_begin(sampled(s));
}

void hd__sample_event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                      unsigned nchoices) {
  if (s->config->classes) hd_order_event(sampled(s), op, flags, choice, nchoices);
}

void hd__sample_end(struct hd_search *s, enum hd_how how) {
  if (!s->config->classes) return;
  if (how == HD_HOW_STOPPED) hd_order_stop(sampled(s));
  hd__count_class(s, sampled(s), how);
}
