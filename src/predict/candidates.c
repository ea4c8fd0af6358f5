/* candidates.c: conflicting accesses, bunched, and the two filters: lockset and loose. Runs in the supervisor.
 *
 * `lockset` is Eraser's test (Savage et al., TOCS 1997) for pairs: conflicting accesses without a common lock. `loose`
 * asks only for what every reordering keeps: program order and edges. Both over-approximate: no race is outside. */
#include "predict/predict_int.h"

#include <stdlib.h>

void hd__classes_init(struct hd__classes *c, const struct hd__trace *tr) {
  uint32_t most = 1;
  for (size_t i = 0; i < tr->location.n; i++)
    if (tr->location.v[i].n > most) most = tr->location.v[i].n;
  *c = (struct hd__classes){.event = hd_alloc(most * sizeof *c->event)};
}

void hd__classes_fini(struct hd__classes *c) {
  hd_vec_free(&c->v);
  hd__index_fini(&c->by_key);
  free(c->event);
}

uint64_t hd__place_of(const struct hd__trace *tr, uint32_t e, uint32_t location) {
  const struct hd_event *ev = &tr->event[e];
  return ev->place ? ev->place : ev->op.pc ? ev->op.pc : ~(uint64_t)location;
}

void hd__classes_of(struct hd__classes *c, const struct hd__trace *tr, uint32_t location, bool by_place) {
  const struct hd__location *l = &tr->location.v[location];
  c->v.n = 0;
  hd__index_fini(&c->by_key);
  for (int fill = 0; fill < 2; fill++) {
    for (uint32_t i = l->first; i < l->first + l->n; i++) {
      uint32_t e = tr->accessor[i];
      uint64_t place = by_place ? hd__place_of(tr, e, location) : 0;
      uint64_t key = hd__hash(place * 8191 + tr->held[e]) ^
                     hd__hash((uint64_t)hd__thread(tr, e) << 8 | tr->access_kind[e]);
      uint32_t *at = hd__index_at(&c->by_key, key | 1);
      if (!*at) {
        struct hd__class x = {0, 0, place, tr->held[e], (uint16_t)hd__thread(tr, e), tr->access_kind[e]};
        hd_vec_push(&c->v, x);
        *at = (uint32_t)c->v.n;
      }
      struct hd__class *x = &c->v.v[*at - 1];
      if (fill) c->event[x->first + x->n] = e;
      x->n++;
    }
    if (fill) break;
    uint32_t first = 0;
    for (size_t i = 0; i < c->v.n; i++) {
      c->v.v[i].first = first;
      first += c->v.v[i].n;
      c->v.v[i].n = 0;
    }
  }
}

bool hd__classes_conflict(const struct hd__class *a, const struct hd__class *b) {
  return a->thread != b->thread && ((a->kind | b->kind) & HD__WRITES) && !(a->kind & b->kind & HD__ATOMIC) &&
         !((a->kind | b->kind) & HD__AWAITS);
}

uint64_t hd__place_pair(uint64_t a, uint64_t b) { return (hd__hash(a + 1) + hd__hash(b + 1)) | 1; }

bool hd__unordered(const struct hd__clocks *c, const struct hd__classes *cl, const struct hd__class *a,
                   const struct hd__class *b, uint32_t *ea, uint32_t *eb) {
  uint32_t j = 0;
  for (uint32_t i = 0; i < a->n; i++) {
    uint32_t x = cl->event[a->first + i];
    /* What comes before x comes before the later ones of its class as well. */
    while (j < b->n && hd__ordered(c, cl->event[b->first + j], x)) j++;
    if (j == b->n) return false;
    if (!hd__ordered(c, x, cl->event[b->first + j])) {
      *ea = x;
      *eb = cl->event[b->first + j];
      return true;
    }
  }
  return false;
}

void hd__detect_filters(struct hd__run *r) {
  const struct hd__trace *tr = r->tr;
  struct hd_detector_stats *lockset = &r->stats->detector[HD_DETECT_LOCKSET];
  struct hd_detector_stats *loose = &r->stats->detector[HD_DETECT_LOOSE];
  double start = hd_now();
  struct hd__classes c;
  struct hd__clocks must;
  uint32_t ea, eb;
  hd__classes_init(&c, tr);
  hd__clocks_init(&must, tr, 0);
  for (uint32_t l = 0; l < tr->location.n; l++) {
    hd__classes_of(&c, tr, l, false);
    for (size_t i = 0; i < c.v.n; i++)
      for (size_t j = i + 1; j < c.v.n; j++) {
        const struct hd__class *a = &c.v.v[i], *b = &c.v.v[j];
        if (!hd__classes_conflict(a, b)) continue;
        lockset->candidates++;
        loose->candidates++;
        lockset->filtered += hd__held_common(tr, a->held, b->held);
        loose->filtered += !hd__unordered(&must, &c, a, b, &ea, &eb);
      }
  }
  hd__clocks_fini(&must);
  hd__classes_fini(&c);
  lockset->solved = lockset->candidates;
  loose->solved = loose->candidates;
  lockset->seconds += hd_now() - start;
  loose->seconds += hd_now() - start;
}
