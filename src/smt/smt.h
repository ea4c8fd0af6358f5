/* smt.h: a solver for differences of integers, or for bit-vectors. Runs in the supervisor.
 *
 * The solver is a module beside the runtime (heddle_z3.so), built where Z3 is installed and loaded on demand: most
 * commands never need it. Terms are numbers that the solver hands out; 0 is no term. Those made after a push are gone
 * after its pop. */
#ifndef HD_SMT_H
#define HD_SMT_H

#include "abi/symbolic.h"
#include "base/base.h"

typedef uint32_t hd_term;

enum hd_smt_answer { HD_SMT_SAT, HD_SMT_UNSAT, HD_SMT_UNKNOWN };

/* What its terms are about; a solver is made for one. */
enum hd_smt_theory { HD_SMT_DIFFERENCES, HD_SMT_BITS };

struct hd_smt;

/* An operation on bit-vectors (model/exprs.def): comparisons give a bit-vector of width 1. */
struct hd_smt_bits {
  enum hd_expr_op op;
  unsigned width; /* of the result */
  unsigned from;  /* width of a */
  unsigned low;   /* EXTRACT */
  hd_term a, b, c;
};

/* What the module provides; use the functions below. */
struct hd_smt_engine {
  const char *name; /* with its version */
  void *(*new)(enum hd_smt_theory theory);
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
  void (*interrupt)(
      void *s); /* by another thread, while a call is under way: it ends soon, and nothing else follows */
  int64_t (*value)(void *s, hd_term integer);
  bool (*truth)(void *s, hd_term boolean);
  hd_term (*bits)(void *s, unsigned width);
  hd_term (*bits_value)(void *s, unsigned width, uint64_t v);
  hd_term (*bits_make)(void *s, const struct hd_smt_bits *b);
  hd_term (*is_set)(void *s, hd_term bit);
  enum hd_smt_answer (*check_assuming)(void *s, const hd_term *t, size_t n, double seconds);
  size_t (*core)(void *s, const hd_term *t, size_t n, size_t *out);
  uint64_t (*bits_of)(void *s, hd_term bits);
};
#define HD_SMT_ENGINE "hd_smt_engine_3" /* the module's symbol, of type const struct hd_smt_engine */

/* A new solver without constraints. `libdir` is the folder of the module. Fails with what to install. */
int hd_smt_new(const char *libdir, enum hd_smt_theory theory, struct hd_smt **out, struct hd_err *err);
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

/* ---- bit-vectors of 1 to 64 bits ---- */

hd_term hd_smt_bits(struct hd_smt *s, unsigned width);
hd_term hd_smt_bits_value(struct hd_smt *s, unsigned width, uint64_t v);
hd_term hd_smt_bits_make(struct hd_smt *s, const struct hd_smt_bits *b);
/* A bit-vector of width 1 is 1: a boolean. */
hd_term hd_smt_is_set(struct hd_smt *s, hd_term bit);
/* Like hd_smt_check, while these booleans, made by hd_smt_boolean, are true. */
enum hd_smt_answer hd_smt_check_assuming(struct hd_smt *s, const hd_term *t, size_t n, double seconds);
/* Which of these assumptions of the last check contradict each other: their positions, in *out, which has room for n.
 * pre: the last answer was UNSAT. */
size_t hd_smt_core(struct hd_smt *s, const hd_term *t, size_t n, size_t *out);
uint64_t hd_smt_bits_of(struct hd_smt *s, hd_term bits);

#endif
