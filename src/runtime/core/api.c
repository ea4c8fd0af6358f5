/* api.c: the runtime's side of include/heddle.h. Runs in the tested process. */
#include "runtime/core/core.h"
#include "runtime/core/family.h"
#include "runtime/core/finding.h"
#include "runtime/core/record.h"

HD_EXPORT int hd_rt_choose(int n);
HD_EXPORT int hd_rt_controlled(void);

/* A loop around a choice may come to the same outcome for ever. */
#define CHOICES_ALIKE 32

unsigned hd__choose_here(unsigned n, uint64_t pc) {
  struct hd_choices *c = &rt.cur->choices;
  if (c->pc == pc && c->alike >= CHOICES_ALIKE && n > 1) {
    hd__inexact(HD_INEXACT_LOOP_BOUND, pc);
    c->pc = 0;
    return (c->last + 1) % n;
  }
  hd__point_open(HD_OP_CHOOSE, 0, n, pc);
  unsigned k = hd__choose(n);
  hd__event(0);
  c->alike = c->pc == pc && c->last == k ? c->alike + 1 : 1;
  c->pc = pc;
  c->last = k;
  return k;
}

int hd_rt_choose(int n) {
  if (!hot.active || n <= 1) return 0;
  uint64_t pc = HD_CALLER;
  if (n > 0x7fff) hd__fail(HD_RTE_UNSUPPORTED, pc, "hd_choose: at most 32767 outcomes");
  return (int)hd__choose_here((unsigned)n, pc);
}

int hd_rt_controlled(void) { return hot.active; }

_Noreturn void hd__assume_failed(void) {
  rt.search.infeasible = 1;
  hd__thread_stop();
}

HD_EXPORT void hd_rt_assume_failed(void);
void hd_rt_assume_failed(void) {
  if (hot.active) hd__assume_failed();
}

HD_EXPORT void hd_rt_failure(const char *text);
void hd_rt_failure(const char *text) {
  if (hot.active) hd__report_assertion(text);
}

/* ---- notes and targets ---- */

static struct hd_note note[HD_MAX_NOTES]; /* a ring */
static unsigned nnotes;

void hd__notes_begin(void) { nnotes = 0; }

void hd__notes_take(struct hd_finding_rec *f) {
  unsigned first = nnotes > HD_MAX_NOTES ? nnotes - HD_MAX_NOTES : 0;
  f->nnotes = nnotes - first;
  for (unsigned i = 0; i < f->nnotes; i++) f->note[i] = note[(first + i) % HD_MAX_NOTES];
}

HD_EXPORT void hd_rt_note(const char *text);
void hd_rt_note(const char *text) {
  if (!hot.active || !hot.log) return; /* it would never be shown */
  struct hd_note *n = &note[nnotes++ % HD_MAX_NOTES];
  hd__record_access(HD_OP_NOTE, nnotes, 0, 0, HD_MO_NONE, HD_CALLER);
  n->event = rt.status->nevents;
  n->thread = rt.cur->id;
  hd__format(n->text, sizeof n->text, "%s", text);
}

HD_EXPORT void hd_rt_symmetric(void);
void hd_rt_symmetric(void) {
  if (hot.active) hd__family_assert();
}

HD_EXPORT void hd_rt_target(const char *label);
void hd_rt_target(const char *label) {
  if (!hot.active) return;
  struct hd_status *st = rt.status;
  char name[sizeof st->target[0].label];
  hd__format(name, sizeof name, "%s", label);
  unsigned i = 0;
  while (i < st->ntargets && !hd__streq(st->target[i].label, name)) i++;
  if (i == HD_MAX_TARGETS) return;
  struct hd_target *t = &st->target[i];
  if (i == st->ntargets) {
    hd__copy(t->label, name, sizeof name);
    t->executions = t->last = 0;
    st->ntargets++;
  }
  if (t->last == rt.search.execution) return;
  t->last = rt.search.execution;
  t->executions++;
}

/* For Heddle's own tests: adds a number to what identifies the final state of this execution. The order in which
 * threads call it does not matter: it is no visible operation. */
HD_EXPORT void hd_rt_observe(uint64_t value);
void hd_rt_observe(uint64_t value) {
  if (hot.active) rt.search.observed += hd_mix64(value + 1) | 1;
}
