/* driver.c: what all drivers have: coverage, and the calls (concolic.h). Runs in the supervisor. */
#include "concolic/concolic_int.h"

#include <stdlib.h>

static const struct hd__driver *const driver[] = {&hd__bounded, &hd__sequential, &hd__hyper, &hd__mta};

struct hd_cc *hd_cc_new(enum hd_cc_driver which, struct hd_exprs *x, struct hd_solver *s,
                        const struct hd_cc_options *o) {
  const struct hd__driver *d = NULL;
  for (size_t i = 0; i < sizeof driver / sizeof *driver; i++)
    if (driver[i]->which == which) d = driver[i];
  HD_BUG_ON(!d);
  struct hd_cc *c = d->create(o);
  c->driver = d;
  c->x = x;
  c->solver = s;
  c->o = *o;
  c->branch_slots = 64;
  c->branches = hd_alloc(c->branch_slots * sizeof *c->branches);
  return c;
}

void hd_cc_free(struct hd_cc *c) {
  if (!c) return;
  c->driver->destroy(c);
  hd_vec_free(&c->step);
  hd_vec_free(&c->branch);
  hd_values_free(&c->inputs);
  free(c->branches);
  free(c);
}

void hd_cc_observe(struct hd_cc *c, const struct hd_cc_event *event, size_t n) {
  c->driver->observe(c, event, n);
}

enum hd_cc_state hd_cc_next(struct hd_cc *c, struct hd_cc_plan *out, double deadline) {
  return c->driver->next(c, out, deadline);
}

const struct hd_cc_stats *hd_cc_stats(const struct hd_cc *c) { return &c->stats; }

/* ---- coverage ---- */

const struct hd_cc_branch *hd_cc_branches(const struct hd_cc *c, size_t *n) {
  *n = c->branch.n;
  return c->branch.v;
}

static size_t branch_slot(const struct hd_cc *c, uint64_t site, bool taken) {
  size_t i = (size_t)((site * 2 + taken) * 0x9e3779b97f4a7c15ull >> 20) & (c->branch_slots - 1);
  for (; c->branches[i]; i = (i + 1) & (c->branch_slots - 1)) {
    const struct hd_cc_branch *b = &c->branch.v[c->branches[i] - 1];
    if (b->site == site && b->taken == taken) break;
  }
  return i;
}

static struct hd_cc_branch *branch_of(struct hd_cc *c, uint64_t site, bool taken, uint16_t thread) {
  size_t i = branch_slot(c, site, taken);
  if (c->branches[i]) return &c->branch.v[c->branches[i] - 1];
  hd_vec_push(&c->branch,
              ((struct hd_cc_branch){.site = site, .taken = taken, .thread = thread, .degree = -1}));
  c->branches[i] = (uint32_t)c->branch.n;
  if (c->branch.n > c->branch_slots / 2) {
    free(c->branches);
    c->branch_slots *= 2;
    c->branches = hd_alloc(c->branch_slots * sizeof *c->branches);
    for (size_t k = 0; k < c->branch.n; k++)
      c->branches[branch_slot(c, c->branch.v[k].site, c->branch.v[k].taken)] = (uint32_t)k + 1;
  }
  return &c->branch.v[c->branch.n - 1];
}

void hd__cover(struct hd_cc *c, const struct hd_cc_event *e, int degree) {
  branch_of(c, e->site, !e->taken, e->thread);
  struct hd_cc_branch *b = branch_of(c, e->site, e->taken, e->thread);
  if (!b->covered || degree < b->degree) b->degree = degree;
  b->covered = true;
  b->threads |= 1ull << (e->thread & 63);
}

size_t hd__branch_number(struct hd_cc *c, const struct hd_cc_event *e, bool taken) {
  return (size_t)(branch_of(c, e->site, taken, e->thread) - c->branch.v);
}

bool hd__is_covered(const struct hd_cc *c, const struct hd_cc_event *e) {
  uint32_t b = c->branches[branch_slot(c, e->site, e->taken)];
  return b && c->branch.v[b - 1].covered;
}

bool hd__covered_by(const struct hd_cc *c, const struct hd_cc_event *e) {
  uint32_t b = c->branches[branch_slot(c, e->site, e->taken)];
  return b && c->branch.v[b - 1].threads >> (e->thread & 63) & 1;
}

int hd__covered_with(const struct hd_cc *c, const struct hd_cc_event *e) {
  uint32_t b = c->branches[branch_slot(c, e->site, e->taken)];
  return b && c->branch.v[b - 1].covered ? c->branch.v[b - 1].degree : -1;
}

bool hd__all_covered(const struct hd_cc *c) {
  for (size_t i = 0; i < c->branch.n; i++)
    if (!c->branch.v[i].covered) return false;
  return c->branch.n > 0;
}
