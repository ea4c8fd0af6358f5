/* sync.c: sync-preserving races, in time linear in the length of the trace. Runs in the supervisor.
 *
 * Mathur, Pavlogiannis and Viswanathan, "Optimal prediction of synchronization-preserving races", POPL 2021. A reordering
 * is sync-preserving when every read sees the write that it saw, and the sections of a lock that it has are in their
 * observed order; sections may be left out. Two conflicting accesses race so iff neither is in the smallest ideal that
 *
 *  1. has the events before the two in their threads,
 *  2. has with an event those before it by program order, edges and reads (section 4.1),
 *  3. has with two acquisitions of one lock the release of the earlier one (lemma 4.3).
 *
 * Then the ideal in the order of the trace leads to the race, and every read in it sees its value. The ideals of two
 * accesses grow with them, so that for two sequences of accesses one scan over both does (section 4.3).
 *
 * Differences
 *  - The sequences are by place in the code and locks held, not by variable alone, so that each pair of places is found.
 *    Those with a common lock are left out: one of the two is in the other's ideal. Places are distinguished only at
 *    locations that have a race.
 *  - Shared sections of a read-write lock do not conflict.
 *  - Where an ideal grows over many acquisitions at once, the last of each lock is looked up instead. */
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

/* The acquisitions of one lock by one thread, in order. */
struct row {
  uint32_t lock, first, n; /* entries of `by_lock` */
};

/* Sections of one thread, and the positions of their acquisitions beside them: those are searched all the time. */
struct acquisitions {
  uint32_t *all, *all_at; /* in order */
  uint32_t n;
  HD_VEC(struct row) row;
  uint32_t *by_lock, *by_lock_at;
};

struct lock {
  uint32_t scan;            /* that the rest belongs to */
  uint32_t exclusive;       /* latest exclusive section of the ideal, plus 1 */
  HD_VEC(uint32_t) readers; /* shared sections of the ideal that may be open */
};

struct scanner {
  struct hd__run *run;
  const struct hd__trace *tr;
  struct hd__clocks clocks;
  struct acquisitions *of; /* [thread] */
  uint32_t *released_at;   /* [section] position of its release */
  struct lock *lock;
  uint32_t scan;
  uint32_t *ideal, *seen; /* [thread] the ideal; how much of it has been looked at */
  uint32_t *taken;        /* [thread] acquisitions that have been looked at */
  bool stuck;             /* a lock that is needed is never released */
};

/* ---- acquisitions ---- */

static int by_lock_then_time(const void *a, const void *b, void *arg) {
  const struct hd__trace *tr = arg;
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  uint32_t lx = tr->section.v[x].lock, ly = tr->section.v[y].lock;
  return lx != ly ? (lx > ly) - (lx < ly) : (x > y) - (x < y);
}

static void list_acquisitions(struct scanner *s) {
  const struct hd__trace *tr = s->tr;
  s->of = hd_alloc((tr->nthreads + 1) * sizeof *s->of);
  for (size_t i = 0; i < tr->section.n; i++) s->of[tr->section.v[i].thread].n++;
  for (unsigned t = 0; t < tr->nthreads; t++) {
    size_t bytes = (s->of[t].n + 1) * sizeof(uint32_t);
    s->of[t] = (struct acquisitions){.all = hd_alloc(bytes),
                                     .all_at = hd_alloc(bytes),
                                     .by_lock = hd_alloc(bytes),
                                     .by_lock_at = hd_alloc(bytes)};
  }
  s->released_at = hd_alloc((tr->section.n + 1) * sizeof *s->released_at);
  for (uint32_t i = 0; i < tr->section.n; i++) {
    if (tr->section.v[i].release != HD__NONE) s->released_at[i] = tr->pos[tr->section.v[i].release];
    struct acquisitions *a = &s->of[tr->section.v[i].thread];
    a->by_lock[a->n] = a->all[a->n] = i;
    a->all_at[a->n] = tr->pos[tr->section.v[i].acquire];
    a->n++;
  }
  for (unsigned t = 0; t < tr->nthreads; t++) {
    struct acquisitions *a = &s->of[t];
    qsort_r(a->by_lock, a->n, sizeof *a->by_lock, by_lock_then_time, (void *)(uintptr_t)tr);
    for (uint32_t i = 0; i < a->n; i++) {
      uint32_t l = tr->section.v[a->by_lock[i]].lock;
      a->by_lock_at[i] = tr->pos[tr->section.v[a->by_lock[i]].acquire];
      if (!a->row.n || a->row.v[a->row.n - 1].lock != l) hd_vec_push(&a->row, ((struct row){l, i, 0}));
      a->row.v[a->row.n - 1].n++;
    }
  }
}

/* How many of the positions, which are in order, are at most `pos`. */
static uint32_t count_up_to(const uint32_t *at, uint32_t n, uint32_t pos) {
  uint32_t lo = 0, hi = n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (at[mid] <= pos)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* ---- ideals ---- */

static void must_close(struct scanner *s, uint32_t section) {
  const struct hd__section *x = &s->tr->section.v[section];
  if (x->release == HD__NONE)
    s->stuck = true;
  else if (s->released_at[section] > s->ideal[x->thread])
    hd__ideal_add(&s->clocks, s->ideal, x->release);
}

/* The section's acquisition is in the ideal (rule 3). Sections are numbered in the order of the trace. */
static void add_section(struct scanner *s, uint32_t section) {
  const struct hd__section *x = &s->tr->section.v[section];
  struct lock *l = &s->lock[x->lock];
  if (l->scan != s->scan) {
    l->scan = s->scan;
    l->exclusive = 0;
    l->readers.n = 0;
  }
  uint32_t latest = l->exclusive;
  if (latest && latest - 1 > section)
    must_close(s, section);
  else if (latest && latest - 1 < section)
    must_close(s, latest - 1);
  if (x->shared) {
    hd_vec_push(&l->readers, section);
    return;
  }
  size_t kept = 0;
  for (size_t i = 0; i < l->readers.n; i++) {
    uint32_t reader = l->readers.v[i];
    if (reader < section)
      must_close(s, reader);
    else {
      must_close(s, section);
      l->readers.v[kept++] = reader;
    }
  }
  l->readers.n = kept;
  if (section + 1 > latest) l->exclusive = section + 1;
}

/* Looks at what the ideal has gained of a thread. */
static void catch_up(struct scanner *s, unsigned t) {
  struct acquisitions *a = &s->of[t];
  uint32_t from = s->seen[t], to = s->ideal[t];
  s->seen[t] = to;
  if (s->taken[t] == a->n) return;
  uint32_t end = s->taken[t] + count_up_to(a->all_at + s->taken[t], a->n - s->taken[t], to);
  if (end - s->taken[t] <= 4 * a->row.n) {
    for (; s->taken[t] < end; s->taken[t]++) add_section(s, a->all[s->taken[t]]);
    return;
  }
  s->taken[t] = end;
  for (size_t i = 0; i < a->row.n; i++) {
    const struct row *r = &a->row.v[i];
    uint32_t n = count_up_to(a->by_lock_at + r->first, r->n, to);
    if (n && a->by_lock_at[r->first + n - 1] > from) add_section(s, a->by_lock[r->first + n - 1]);
  }
}

static void close_ideal(struct scanner *s) {
  for (bool grown = true; grown && !s->stuck;) {
    grown = false;
    for (unsigned t = 0; t < s->tr->nthreads; t++)
      if (s->seen[t] < s->ideal[t]) {
        catch_up(s, t);
        grown = true;
      }
  }
}

/* Rules 1 and 2. */
static void add_enabling(struct scanner *s, uint32_t e) {
  uint32_t before = hd__before(s->tr, e);
  if (before != HD__NONE) hd__ideal_add(&s->clocks, s->ideal, before);
  for (uint32_t i = s->tr->edge_at[e]; i < s->tr->edge_at[e + 1]; i++)
    hd__ideal_add(&s->clocks, s->ideal, s->tr->edge[i]);
}

static void begin_scan(struct scanner *s) {
  size_t bytes = s->tr->nthreads * sizeof(uint32_t);
  memset(s->ideal, 0, bytes);
  memset(s->seen, 0, bytes);
  memset(s->taken, 0, bytes);
  s->stuck = false;
  s->scan++;
}

/* Accesses of one thread, in order. */
struct accesses {
  const uint32_t *event;
  uint32_t n;
};

/* The first entry, from `at` on, that is not in the ideal. */
static uint32_t skip(const struct scanner *s, struct accesses x, uint32_t at) {
  uint32_t lo = at, step = 1;
  while (lo + step < x.n && hd__in_ideal(s->tr, s->ideal, x.event[lo + step])) {
    lo += step;
    step *= 2;
  }
  uint32_t hi = lo + step < x.n ? lo + step : x.n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (hd__in_ideal(s->tr, s->ideal, x.event[mid]))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* The first racing pair. The ideal only grows: what it has will be in that of all later pairs. */
static bool scan(struct scanner *s, struct accesses a, struct accesses b, uint32_t pair[2]) {
  uint32_t i = 0, j = 0;
  begin_scan(s);
  while (i < a.n && j < b.n) {
    uint32_t x = a.event[i], y = b.event[j];
    add_enabling(s, x);
    add_enabling(s, y);
    close_ideal(s);
    if (s->stuck) return false;
    uint32_t i2 = skip(s, a, i), j2 = skip(s, b, j);
    if (i2 == i && j2 == j) {
      pair[0] = x < y ? x : y;
      pair[1] = x < y ? y : x;
      return true;
    }
    i = i2;
    j = j2;
  }
  return false;
}

/* ---- the detector ---- */

struct search {
  struct scanner s;
  struct hd__classes rough, fine;
  uint32_t *merged;               /* accesses of one thread that a class may race with */
  const struct hd__class **asked; /* [thread] the last class that was compared with its classes */
  struct hd__index found;         /* pairs of places */
  struct hd__index raced; /* a class of the location, without its place, and a thread with which it races */
};

static uint64_t class_and_thread(const struct hd__class *a, unsigned t) {
  return hd__hash((uint64_t)t << 48 | (uint64_t)a->thread << 32 | (uint64_t)a->held << 8 | a->kind) | 1;
}

static struct accesses of_class(const struct hd__classes *c, const struct hd__class *x) {
  return (struct accesses){c->event + x->first, x->n};
}

static bool over(struct search *x) {
  struct hd_detector_stats *st = &x->s.run->stats->detector[HD_DETECT_SYNC];
  if (!hd__run_full(x->s.run, HD_DETECT_SYNC)) return false;
  st->skipped++;
  return true;
}

static bool may_race(const struct search *x, const struct hd__class *a, const struct hd__class *b) {
  return hd__classes_conflict(a, b) && !hd__held_common(x->s.tr, a->held, b->held);
}

/* Each pair of places of a location that has a race. */
static void refine(struct search *x, uint32_t l) {
  struct hd__classes *c = &x->fine;
  uint32_t pair[2];
  hd__classes_of(c, x->s.tr, l, true);
  for (size_t i = 0; i < c->v.n; i++)
    for (size_t j = i + 1; j < c->v.n; j++) {
      const struct hd__class *a = &c->v.v[i], *b = &c->v.v[j];
      if (!may_race(x, a, b)) continue;
      if (!*hd__index_at(&x->raced, class_and_thread(a, b->thread)) &&
          !*hd__index_at(&x->raced, class_and_thread(b, a->thread)))
        continue;
      uint32_t *found = hd__index_at(&x->found, hd__place_pair(a->place, b->place));
      if (*found) continue;
      if (over(x)) return;
      if (!scan(&x->s, of_class(c, a), of_class(c, b), pair)) continue;
      *found = 1;
      hd__predict_ideal(x->s.run, HD_DETECT_SYNC, HD_PREDICTED_RACE, pair, 2, x->s.ideal);
    }
}

static int by_size(const void *a, const void *b) {
  const struct hd__class *x = a, *y = b;
  return (x->n > y->n) - (x->n < y->n);
}

static int by_event(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* A class and all larger ones of another thread, at once: most accesses of a location have its lock, and the few that
 * have not are compared with the others in few scans. Returns whether any two race. */
static bool compare(struct search *x, size_t i, unsigned t) {
  struct hd_detector_stats *st = &x->s.run->stats->detector[HD_DETECT_SYNC];
  const struct hd__classes *c = &x->rough;
  const struct hd__class *a = &c->v.v[i];
  uint32_t n = 0, from = 0, pair[2];
  for (size_t j = i + 1; j < c->v.n; j++) {
    const struct hd__class *b = &c->v.v[j];
    if (b->thread != t || !hd__classes_conflict(a, b)) continue;
    st->candidates++;
    if (hd__held_common(x->s.tr, a->held, b->held)) {
      st->filtered++;
      continue;
    }
    st->solved++;
    memcpy(x->merged + n, c->event + b->first, b->n * sizeof *x->merged);
    n += b->n;
    from++;
  }
  if (!n) return false;
  if (over(x)) {
    st->skipped += from - 1;
    st->solved -= from;
    return false;
  }
  if (from > 1) qsort(x->merged, n, sizeof *x->merged, by_event);
  if (!scan(&x->s, of_class(c, a), (struct accesses){x->merged, n}, pair)) return false;
  *hd__index_at(&x->raced, class_and_thread(a, t)) = 1;
  return true;
}

static void location(struct search *x, uint32_t l) {
  struct hd__classes *c = &x->rough;
  bool any = false;
  hd__classes_of(c, x->s.tr, l, false);
  qsort(c->v.v, c->v.n, sizeof c->v.v[0], by_size);
  hd__index_fini(&x->raced);
  for (size_t i = 0; i < c->v.n; i++)
    for (size_t j = i + 1; j < c->v.n; j++) {
      const struct hd__class *b = &c->v.v[j];
      if (x->asked[b->thread] == &c->v.v[i] || !hd__classes_conflict(&c->v.v[i], b)) continue;
      x->asked[b->thread] = &c->v.v[i];
      if (compare(x, i, b->thread)) any = true;
    }
  memset(x->asked, 0, x->s.tr->nthreads * sizeof x->asked[0]);
  if (any) refine(x, l);
}

void hd__detect_sync(struct hd__run *r) {
  const struct hd__trace *tr = r->tr;
  struct hd_detector_stats *st = &r->stats->detector[HD_DETECT_SYNC];
  double start = hd_now();
  struct search x = {.s = {.run = r, .tr = tr}};
  struct scanner *s = &x.s;
  size_t bytes = (tr->nthreads + 1) * sizeof(uint32_t);
  hd__clocks_init(&s->clocks, tr, HD__BY_READS);
  hd__classes_init(&x.rough, tr);
  hd__classes_init(&x.fine, tr);
  x.merged = hd_alloc(((size_t)tr->n + 1) * sizeof *x.merged);
  x.asked = hd_alloc((tr->nthreads + 1) * sizeof *x.asked);
  list_acquisitions(s);
  s->lock = hd_alloc((tr->nlocks + 1) * sizeof *s->lock);
  s->ideal = hd_alloc(bytes);
  s->seen = hd_alloc(bytes);
  s->taken = hd_alloc(bytes);
  for (uint32_t l = 0; l < tr->location.n; l++) location(&x, l);
  for (unsigned t = 0; t < tr->nthreads; t++) {
    free(s->of[t].all);
    free(s->of[t].all_at);
    free(s->of[t].by_lock);
    free(s->of[t].by_lock_at);
    hd_vec_free(&s->of[t].row);
  }
  for (uint32_t l = 0; l < tr->nlocks; l++) hd_vec_free(&s->lock[l].readers);
  free(x.merged);
  free(x.asked);
  free(s->of);
  free(s->released_at);
  free(s->lock);
  free(s->ideal);
  free(s->seen);
  free(s->taken);
  hd__index_fini(&x.found);
  hd__index_fini(&x.raced);
  hd__classes_fini(&x.rough);
  hd__classes_fini(&x.fine);
  hd__clocks_fini(&s->clocks);
  st->seconds += hd_now() - start;
}
