/* pddl.c: writes the questions that the planner is asked as planning problems, for other planners. Runs in the supervisor.
 *
 * The encoding of the thesis that segment.c cites, section 2.5.2: every event is an action without parameters, and the facts are
 * which events were executed (done), who wrote a location last (writer), and which sections are open. Differences: one
 * action with a disjunction instead of one action for each write that a read may see; sections instead of free locks, since
 * some are shared; the goal is a state in which the failing events are next, so that they have no actions. Branches are not
 * used: every read has its value. */
#include "predict/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_FILES 1000

struct pddl {
  const struct hd__trace *tr;
  const struct hd__goal *goal;
  const uint32_t *done, *upto;
  uint32_t lo, hi;
  struct hd_str domain, problem;
  HD_VEC(uint32_t) section;  /* those that may be open */
  HD_VEC(uint32_t) location; /* of the part */
};

static bool inside(const struct pddl *p, uint32_t e) {
  return hd__in_ideal(p->tr, p->upto, e) && !hd__in_ideal(p->tr, p->done, e);
}

/* The events of the goal are not executed. */
static bool is_last(const struct pddl *p, uint32_t e) {
  for (unsigned i = 0; i < p->goal->nnext; i++)
    if (p->goal->next[i] == e) return true;
  return e == p->goal->not_yet;
}

static void add_writer(struct hd_str *out, uint32_t location, uint32_t w) {
  if (w == HD__NONE)
    hd_str_addf(out, "(writer-%u-init)", location);
  else
    hd_str_addf(out, "(writer-%u-%u)", location, w + 1);
}

static uint32_t first_writer(const struct pddl *p, uint32_t location) {
  return hd__last_write(p->tr, location, p->done, p->hi);
}

/* Calls for what may have written the location last. */
static void each_writer(struct pddl *p, uint32_t location,
                        void visit(struct pddl *, uint32_t, uint32_t, void *), void *arg) {
  const struct hd__trace *tr = p->tr;
  visit(p, location, first_writer(p, location), arg);
  uint32_t to = hd__accessor_from(tr, location, p->hi);
  for (uint32_t i = hd__accessor_from(tr, location, p->lo); i < to; i++)
    if ((tr->access_kind[tr->accessor[i]] & HD__WRITES) && inside(p, tr->accessor[i]))
      visit(p, location, tr->accessor[i], arg);
}

/* ---- conditions ---- */

/* What lets a thread execute the event, whatever it reads. */
static void add_enabled(struct pddl *p, struct hd_str *out, uint32_t e) {
  const struct hd__trace *tr = p->tr;
  uint32_t before = hd__before(tr, e);
  if (before != HD__NONE && inside(p, before)) hd_str_addf(out, " (done-%u)", before + 1);
  for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++) {
    uint32_t from = tr->edge[i];
    bool missed = p->goal->nnext == 1 && from == p->goal->next[0] && hd__may_miss(tr, from, e);
    if (!hd__in_ideal(tr, p->done, from) && !missed) hd_str_addf(out, " (done-%u)", from + 1);
  }
  if (tr->opens[e]) {
    const struct hd__section *s = &tr->section.v[tr->opens[e] - 1];
    for (size_t i = 0; i < p->section.n; i++) {
      const struct hd__section *o = &tr->section.v[p->section.v[i]];
      if (o->lock == s->lock && o->thread != s->thread && !(o->shared && s->shared))
        hd_str_addf(out, " (not (open-%u))", p->section.v[i]);
    }
  }
  const struct hd__look *l = hd__look_of(tr, e);
  if (l) hd_str_addf(out, " (open-%u)", l->section);
}

struct reader {
  uint32_t event;
  const struct hd__access *access;
};

static void add_if_same(struct pddl *p, uint32_t location, uint32_t w, void *arg) {
  const struct reader *r = arg;
  if (w == r->event || !hd__same_value(p->tr, r->event, w, r->access)) return;
  hd_str_addc(&p->domain, ' ');
  add_writer(&p->domain, location, w);
}

static void add_if_other(struct pddl *p, uint32_t location, uint32_t w, void *arg) {
  if (w == *(uint32_t *)arg) return;
  hd_str_add(&p->domain, " (not ");
  add_writer(&p->domain, location, w);
  hd_str_addc(&p->domain, ')');
}

static void add_action(struct pddl *p, uint32_t e) {
  const struct hd__trace *tr = p->tr;
  struct hd_str *out = &p->domain;
  hd_str_addf(out, "  (:action event-%u\n    :precondition (and (not (done-%u))", e + 1, e + 1);
  add_enabled(p, out, e);
  for (uint32_t i = tr->access_at[e]; (tr->access_kind[e] & HD__READS) && i < tr->access_at[e + 1]; i++) {
    struct reader r = {e, &tr->access[i]};
    hd_str_add(out, " (or");
    each_writer(p, tr->access[i].location, add_if_same, &r);
    hd_str_addc(out, ')');
  }
  hd_str_addf(out, ")\n    :effect (and (done-%u)", e + 1);
  if (tr->opens[e]) hd_str_addf(out, " (open-%u)", tr->opens[e] - 1);
  if (tr->closes[e]) hd_str_addf(out, " (not (open-%u))", tr->closes[e] - 1);
  for (uint32_t i = tr->access_at[e]; (tr->access_kind[e] & HD__WRITES) && i < tr->access_at[e + 1]; i++) {
    hd_str_addc(out, ' ');
    add_writer(out, tr->access[i].location, e);
    each_writer(p, tr->access[i].location, add_if_other, &e);
  }
  hd_str_add(out, "))\n");
}

/* ---- the whole ---- */

static void add_predicate(struct pddl *p, uint32_t location, uint32_t w, void *arg) {
  (void)arg;
  hd_str_addc(&p->domain, ' ');
  add_writer(&p->domain, location, w);
}

static void list_parts(struct pddl *p) {
  const struct hd__trace *tr = p->tr;
  for (uint32_t i = 0; i < tr->section.n; i++) {
    const struct hd__section *s = &tr->section.v[i];
    bool over = s->release != HD__NONE && hd__in_ideal(tr, p->done, s->release);
    if (hd__in_ideal(tr, p->upto, s->acquire) && !over) hd_vec_push(&p->section, i);
  }
  bool *seen = hd_alloc(tr->location.n + 1);
  for (uint32_t e = p->lo; e < p->hi; e++)
    for (uint32_t i = tr->access_at[e]; inside(p, e) && i < tr->access_at[e + 1]; i++) {
      uint32_t l = tr->access[i].location;
      if (!seen[l]) hd_vec_push(&p->location, l);
      seen[l] = true;
    }
  free(seen);
}

static void write_domain(struct pddl *p) {
  struct hd_str *out = &p->domain;
  hd_str_add(out, "(define (domain trace)\n  (:requirements :strips :negative-preconditions "
                  ":disjunctive-preconditions)\n  (:predicates");
  for (uint32_t e = p->lo; e < p->hi; e++)
    if (inside(p, e)) hd_str_addf(out, " (done-%u)", e + 1);
  for (size_t i = 0; i < p->section.n; i++) hd_str_addf(out, " (open-%u)", p->section.v[i]);
  for (size_t i = 0; i < p->location.n; i++) each_writer(p, p->location.v[i], add_predicate, NULL);
  hd_str_add(out, ")\n");
  for (uint32_t e = p->lo; e < p->hi; e++)
    if (inside(p, e) && !is_last(p, e)) add_action(p, e);
  hd_str_add(out, ")\n");
}

static void write_problem(struct pddl *p) {
  const struct hd__trace *tr = p->tr;
  const struct hd__goal *g = p->goal;
  struct hd_str *out = &p->problem;
  hd_str_add(out, "(define (problem order) (:domain trace)\n  (:init");
  for (size_t i = 0; i < p->section.n; i++)
    if (hd__in_ideal(tr, p->done, tr->section.v[p->section.v[i]].acquire))
      hd_str_addf(out, " (open-%u)", p->section.v[i]);
  for (size_t i = 0; i < p->location.n; i++) {
    hd_str_addc(out, ' ');
    add_writer(out, p->location.v[i], first_writer(p, p->location.v[i]));
  }
  hd_str_add(out, ")\n  (:goal (and");
  for (unsigned i = 0; i < g->nnext; i++) add_enabled(p, out, g->next[i]);
  if (g->before != HD__NONE && !hd__in_ideal(tr, p->done, g->before))
    hd_str_addf(out, " (done-%u)", g->before + 1);
  if (g->location != HD__NONE) {
    hd_str_addc(out, ' ');
    add_writer(out, g->location, g->before);
  }
  hd_str_add(out, ")))\n");
}

static void write_file(const char *folder, const char *name, uint32_t number, const char *what,
                       const struct hd_str *text) {
  char *path = hd_sprintf("%s/%s-%u.%s.pddl", folder, name, number, what);
  FILE *f = fopen(path, "w");
  if (f) fwrite(text->s, 1, text->n, f);
  if (!f || fclose(f) != 0) hd_warn("cannot write %s: %s", path, strerror(errno));
  free(path);
}

void hd__pddl_write(struct hd__run *r, enum hd_detector d, const uint32_t *done, const uint32_t *upto,
                    const struct hd__goal *goal, enum hd_smt_answer answer) {
  static const char *const word[] = {"yes", "no", "unknown"};
  if (r->questions >= MOST_FILES || (mkdir(r->o->pddl, 0777) != 0 && errno != EEXIST)) return;
  struct pddl p = {.tr = r->tr, .goal = goal, .done = done, .upto = upto};
  hd__between(r->tr, done, upto, &p.lo, &p.hi);
  hd_str_init(&p.domain);
  hd_str_init(&p.problem);
  list_parts(&p);
  hd_str_addf(&p.problem, "; events");
  for (unsigned i = 0; i < goal->nnext; i++) hd_str_addf(&p.problem, " %u", goal->next[i] + 1);
  hd_str_addf(&p.problem, " of the trace; is there such an order? %s\n", word[answer]);
  write_domain(&p);
  write_problem(&p);
  r->questions++;
  write_file(r->o->pddl, hd_detector_name[d], r->questions, "domain", &p.domain);
  write_file(r->o->pddl, hd_detector_name[d], r->questions, "problem", &p.problem);
  hd_str_fini(&p.domain);
  hd_str_fini(&p.problem);
  hd_vec_free(&p.section);
  hd_vec_free(&p.location);
}
