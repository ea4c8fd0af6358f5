/* smt.c: loads the solver's module and calls it. Runs in the supervisor. */
#include "smt/smt.h"

#include <dlfcn.h>
#include <stdlib.h>

struct hd_smt {
  const struct hd_smt_engine *e;
  void *state;
};

static const struct hd_smt_engine *load(const char *libdir, struct hd_err *err) {
  static const struct hd_smt_engine *engine; /* a module is loaded once and stays */
  if (engine) return engine;
  char *path = hd_sprintf("%s/heddle_z3.so", libdir ? libdir : ".");
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (module) engine = dlsym(module, HD_SMT_ENGINE);
  if (!engine)
    hd_fail(err, HD_EENV,
            "the solver is not available (%s): install libz3-dev, build Heddle again, and install it",
            module ? "its module is of another version" : dlerror());
  free(path);
  return engine;
}

int hd_smt_new(const char *libdir, struct hd_smt **out, struct hd_err *err) {
  const struct hd_smt_engine *e = load(libdir, err);
  if (!e) return HD_EENV;
  *out = hd_alloc(sizeof **out);
  (*out)->e = e;
  (*out)->state = e->new ();
  return HD_OK;
}

void hd_smt_free(struct hd_smt *s) {
  if (!s) return;
  s->e->free(s->state);
  free(s);
}

const char *hd_smt_name(const struct hd_smt *s) { return s->e->name; }
hd_term hd_smt_integer(struct hd_smt *s) { return s->e->integer(s->state); }
hd_term hd_smt_boolean(struct hd_smt *s) { return s->e->boolean(s->state); }
hd_term hd_smt_less(struct hd_smt *s, hd_term a, hd_term b, int distance) {
  return s->e->less(s->state, a, b, distance);
}
hd_term hd_smt_all(struct hd_smt *s, const hd_term *t, size_t n) { return s->e->all(s->state, t, n); }
hd_term hd_smt_any(struct hd_smt *s, const hd_term *t, size_t n) { return s->e->any(s->state, t, n); }
hd_term hd_smt_not(struct hd_smt *s, hd_term t) { return s->e->not_(s->state, t); }
hd_term hd_smt_at_most(struct hd_smt *s, const hd_term *t, size_t n, unsigned k) {
  return s->e->at_most(s->state, t, n, k);
}
void hd_smt_require(struct hd_smt *s, hd_term t) { s->e->require(s->state, t); }
void hd_smt_push(struct hd_smt *s) { s->e->push(s->state); }
void hd_smt_pop(struct hd_smt *s) { s->e->pop(s->state); }
enum hd_smt_answer hd_smt_check(struct hd_smt *s, double seconds) { return s->e->check(s->state, seconds); }
int64_t hd_smt_value(struct hd_smt *s, hd_term integer) { return s->e->value(s->state, integer); }
bool hd_smt_truth(struct hd_smt *s, hd_term boolean) { return s->e->truth(s->state, boolean); }
