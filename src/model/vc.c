/* vc.c: vector clocks. Runs in the tested process. */
#include "model/model.h"

void (*hd_fatal)(const char *why);

_Noreturn void hd_give_up(const char *why) {
  if (hd_fatal) hd_fatal(why);
  __builtin_trap();
}

void hd_vc_reserve(struct hd_arena *a, struct hd_vc *v, uint32_t n) {
  if (n <= v->cap) return;
  uint32_t cap = (n + 7) & ~7u;
  if (cap < v->cap * 2) cap = v->cap * 2;
  uint32_t *c = hd_arena_get(a, cap * sizeof *c);
  if (!c) hd_give_up("an execution is too long: no memory is left for its clocks; lower --max-length");
  for (uint32_t i = 0; i < v->n; i++) c[i] = v->c[i];
  v->c = c;
  v->cap = cap;
}

void hd_vc_join(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w) {
  if (w->n > v->n) {
    hd_vc_reserve(a, v, w->n);
    for (uint32_t i = v->n; i < w->n; i++) v->c[i] = 0;
    v->n = w->n;
  }
  for (uint32_t i = 0; i < w->n; i++)
    if (w->c[i] > v->c[i]) v->c[i] = w->c[i];
  if (w->time > v->time) v->time = w->time;
}

void hd_vc_copy(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w) {
  hd_vc_reserve(a, v, w->n);
  for (uint32_t i = 0; i < w->n; i++) v->c[i] = w->c[i];
  v->n = w->n;
  if (w->time > v->time) v->time = w->time; /* time never runs backwards */
}
