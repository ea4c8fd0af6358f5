/* vc.c: vector clocks. Runs in the tested process. */
#include "model/model.h"

void (*hd_fatal)(const char *why);

_Noreturn void hd_give_up(const char *why) {
  if (hd_fatal) hd_fatal(why);
  __builtin_trap();
}

#define FEW 3

/* v and w have different blocks: no two clocks share any. */
static void copy_blocks(uint32_t *restrict v, const uint32_t *restrict w, uint32_t n) {
  for (uint32_t i = 0; i < n; i += HD_VC_BLOCK)
    for (uint32_t k = i; k < i + HD_VC_BLOCK; k++) v[k] = w[k];
}

static void join_blocks(uint32_t *restrict v, const uint32_t *restrict w, uint32_t n) {
  if (n <= FEW) { /* one by one: a block would have to wait for the single entry that was just stored */
    for (uint32_t i = 0; i < n; i++)
      if (w[i] > v[i]) v[i] = w[i];
    return;
  }
  for (uint32_t i = 0; i < n; i += HD_VC_BLOCK)
    for (uint32_t k = i; k < i + HD_VC_BLOCK; k++) v[k] = w[k] > v[k] ? w[k] : v[k];
}

void hd_vc_reserve(struct hd_arena *a, struct hd_vc *v, uint32_t n) {
  if (n <= v->cap) return;
  uint32_t cap = hd_vc_blocks(n);
  if (cap < v->cap * 2) cap = v->cap * 2;
  uint32_t *c = hd_arena_get(a, cap * sizeof *c);
  if (!c) hd_give_up("an execution is too long: no memory is left for its clocks; lower --max-length");
  copy_blocks(c, v->c, v->n);
  v->c = c;
  v->cap = cap;
}

void hd_vc_join(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w) {
  if (v == w) return;
  if (w->n > v->n) {
    hd_vc_reserve(a, v, w->n);
    for (uint32_t i = hd_vc_blocks(v->n), end = hd_vc_blocks(w->n); i < end; i++) v->c[i] = 0;
    v->n = w->n;
  }
  join_blocks(v->c, w->c, w->n);
  if (w->time > v->time) v->time = w->time;
}

void hd_vc_copy(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w) {
  if (v == w) return;
  hd_vc_reserve(a, v, w->n);
  copy_blocks(v->c, w->c, w->n);
  v->n = w->n;
  if (w->time > v->time) v->time = w->time; /* time never runs backwards */
}
