/* smt.h: a solver for differences of integers. Runs in the supervisor.
 *
 * The solver is a module beside the runtime (heddle_z3.so), built where Z3 is installed and loaded on demand: most
 * commands never need it. Terms are numbers that the solver hands out; 0 is no term. Those made after a push are gone
 * after its pop. */
#ifndef HD_SMT_H
#define HD_SMT_H

#include "base/base.h"

typedef uint32_t hd_term;

enum hd_smt_answer { HD_SMT_SAT, HD_SMT_UNSAT, HD_SMT_UNKNOWN };

struct hd_smt;

/* What the module provides; use the functions below. */
struct hd_smt_engine {
  const char *name; /* with its version */
  void *(*new)(void);
  void (*free)(void *s);
  hd_term (*integer)(void *s);
  hd_term (*boolean)(void *s);
  hd_term (*less)(void *s, hd_term a, hd_term b, int distance);
  hd_term (*all)(void *s, const hd_term *t, size_t n);
  hd_term (*any)(void *s, const hd_term *t, size_t n);
  hd_term (*not_)(void *s, hd_term t);
  hd_term (*at_most)(void *s, const hd_term *t, size_t n, unsigned k);
  void (*require)(void *s, hd_term t);
  void (*push)(void *s);
  void (*pop)(void *s);
  enum hd_smt_answer (*check)(void *s, double seconds);
  int64_t (*value)(void *s, hd_term integer);
  bool (*truth)(void *s, hd_term boolean);
};
#define HD_SMT_ENGINE "hd_smt_engine_1" /* the module's symbol, of type const struct hd_smt_engine */

/* A new solver without constraints. `libdir` is the folder of the module. Fails with what to install. */
int hd_smt_new(const char *libdir, struct hd_smt **out, struct hd_err *err);
void hd_smt_free(struct hd_smt *s);
const char *hd_smt_name(const struct hd_smt *s);

hd_term hd_smt_integer(struct hd_smt *s);
hd_term hd_smt_boolean(struct hd_smt *s);
/* a + distance <= b. */
hd_term hd_smt_less(struct hd_smt *s, hd_term a, hd_term b, int distance);
/* The conjunction, and the disjunction; of none: true, false. */
hd_term hd_smt_all(struct hd_smt *s, const hd_term *t, size_t n);
hd_term hd_smt_any(struct hd_smt *s, const hd_term *t, size_t n);
hd_term hd_smt_not(struct hd_smt *s, hd_term t);
/* At most k of the booleans are true. */
hd_term hd_smt_at_most(struct hd_smt *s, const hd_term *t, size_t n, unsigned k);
void hd_smt_require(struct hd_smt *s, hd_term t);
void hd_smt_push(struct hd_smt *s);
void hd_smt_pop(struct hd_smt *s);
/* Gives up after so many seconds. */
enum hd_smt_answer hd_smt_check(struct hd_smt *s, double seconds);
/* Values in the last model. pre: the last answer was SAT, and nothing was required or popped since. */
int64_t hd_smt_value(struct hd_smt *s, hd_term integer);
bool hd_smt_truth(struct hd_smt *s, hd_term boolean);

#endif
