/* policy.h: what differs between complete strategies: which branches a state has (struct policy), and what need not be
 * explored (struct filter). Private to the search; walk.h is the walk that uses them. */
#ifndef HD_POLICY_H
#define HD_POLICY_H

#include "explore/explore.h"
#include "model/unit.h"

struct walk;

/* ---- filters ---- */

enum filter_id {
  FILTER_SLEEP,
  FILTER_BOUND,
  FILTER_VISITED,
  FILTER_STATES,
  FILTER_SYMMETRY,
  FILTERS
}; /* the last: of both kinds */

/* A filter leaves out branches, or gives up whole states, that something else covers. Filters compose by
 * intersection: a branch is explored when every filter of the policy admits it, a state when none covers it.
 *
 * Soundness. A filter may leave out a branch or a state only when everything that can be reached through it (the
 * classes that the search promises) is reached through what is explored, or will be, whatever the other filters of the
 * same policy leave out. sleep.c, bounds.c and visited.c each say what that rests on, and with which of the others they
 * may not be combined. Whatever a filter answers must follow from the prefix and from what was committed before the
 * execution began, so that an execution that is run again comes out the same (visited.c says why it may differ). */
struct filter {
  enum filter_id id;
  size_t record; /* bytes kept of each node (hd__record), rebuilt by whoever takes over a prefix */
  /* Whether it has anything to do in this search. NULL: always. */
  int (*active)(const struct hd_search *s);
  /* The state k is entered. `fresh`: for the first time; else it is known from elsewhere: part of the prefix of a unit
   * that was taken (k below its base), or of one that was saved. Then only the record is to be filled in; of a node that
   * is the unit's own, what get_record has read stays. */
  void (*enter)(struct walk *w, uint32_t k, const struct hd_point *p, int fresh);
  /* Whether everything from the fresh state k is covered: the execution is given up. */
  int (*covers)(struct walk *w, uint32_t k);
  /* Whether the enabled thread may go from state k. `outcome` is set where only that outcome of its choice may. */
  int (*admits)(struct walk *w, uint32_t k, unsigned thread, int *outcome);
  /* Everything below node k is explored, and the node is left for good. After the commit, under the lock. */
  void (*leave)(struct walk *w, uint32_t k);
  /* What it keeps of the whole search, in a search that is saved. */
  void (*put)(struct walk *w, struct hd_writer *out);
  void (*get)(struct walk *w, struct hd_reader *r);
};
extern const struct filter hd__filter_sleep, hd__filter_bound, hd__filter_visited, hd__filter_states,
    hd__filter_stateful, hd__filter_symmetry;

/* ---- policies ---- */

/* Which branches a node has. Everything that adds a branch makes the change with one store, and must not add it a
 * second time when the same execution is run again. */
struct policy {
  const struct filter *filter[FILTERS + 1]; /* NULL at the end */
  size_t record;                            /* bytes kept of each node, after those of the filters */
  int whole; /* reverse.c: a branch is a whole sequence, and nothing is ever given up; else its first step alone */
  int keeps_done; /* node.sleep has what was explored from the node */
  int ordered;    /* the happens-before order of an execution is used */
  /* As in a filter, after them. May be NULL. */
  void (*enter)(struct walk *w, uint32_t k, const struct hd_point *p, int fresh);
  /* The first branch of a fresh state, which may list others; -1: none, the execution is given up. */
  int (*first)(struct walk *w, uint32_t k, const struct hd_point *p, int *outcome);
  /* The outcome of a choice among n that is open. NULL: the first. */
  unsigned (*outcome)(struct walk *w, unsigned n);
  /* An operation is about to be added to the order, and was added. May be NULL. */
  void (*before_event)(struct walk *w, const struct hd_op *op);
  void (*after_event)(struct walk *w);
  void (*catch_up)(
      struct walk *w); /* events of which it has not heard are those of the last execution; may be NULL */
  /* The execution is over: adds the branches it shows to be missing. Those above the unit only with `above`, which
   * needs the lock; returns whether there are any. Called without `above` first. */
  int (*conclude)(struct walk *w, const struct hd_point *p, enum hd_how how, int above);
  /* The nodes from `from` up to u->running are about to be left, those before it stay. May be NULL. */
  void (*retreat)(struct walk *w, uint32_t from);
  /* The process died in the middle of an execution, and what it would have shown is lost. May be NULL. */
  void (*lost)(struct walk *w);
  /* What the records of a node have that does not follow from the prefix, in a search that is saved. May be NULL. */
  void (*put_record)(struct walk *w, uint32_t k, struct hd_writer *out);
  void (*get_record)(struct walk *w, uint32_t k, struct hd_reader *r);
};

#endif
