/* aim.c: lines that an execution is meant to reach. Runs in the tested process.
 *
 * The first byte of each place of config.aims is replaced by an instruction that makes a signal, as debuggers do. Nothing
 * else of the program costs more, whatever it was compiled with. When the last line is reached, after the others and in
 * their order, that is a finding. Otherwise the instruction that was there is executed alone.
 *
 * Invariants
 *  1. Code is not restored between executions, so it is changed once; forks inherit it.
 *  2. One kernel thread runs everything: between the two signals of one stop no other code of the program runs, except
 *     where the instruction is a call of ours, whose first instruction comes after the second signal. */
#include <sys/mman.h>

#include "runtime/core/aim.h"
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"

static uint8_t original[HD_MAX_AIM_PLACES];
static bool set[HD_MAX_AIM_PLACES];
static unsigned stepping; /* the place whose instruction is executed alone, plus 1 */

static uint64_t address(unsigned i) {
  uint64_t code = rt.config->aims.place[i].code, module = HD_AIM_MODULE(code);
  uint64_t base = module ? rt.search.library[module - 1].base : rt.search.base;
  return base + HD_AIM_OFFSET(code);
}

/* Returns false if the code cannot be changed. */
static bool poke(uint64_t at, uint8_t byte) {
  uint64_t page = at & ~(HD_PAGE - 1);
  if (hd_sys3(SYS_mprotect, page, HD_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) return false;
  *(volatile uint8_t *)at = byte;
  return hd_sys3(SYS_mprotect, page, HD_PAGE, PROT_READ | PROT_EXEC) >= 0;
}

static unsigned walk(struct hd_search *s, unsigned thread, uint64_t *out, unsigned max) {
  (void)s;
  const struct hd_thread *t = &rt.thread[thread];
  if (hd_op_effect(t->op.kind, 0) == HD_EFF_BEGIN && t->start.fn) { /* it has not begun */
    out[0] = hd__start_code((uint64_t)t->start.fn, t->start.arg) + 1;
    return 1;
  }
  return hd__walk(&rt.thread[thread], rt.thread[thread].op.pc, out, max);
}

static bool is_named(const struct hd_module *m, const char *name) {
  const char *base = m->path;
  for (const char *c = m->path; *c; c++)
    if (*c == '/') base = c + 1;
  return hd__streq(base, name);
}

/* Where the modules are that config.aims names. */
static void find_modules(const struct hd_aims *a) {
  rt.search.base = hd__program_base();
  for (unsigned i = 0; i < rt.status->nmodules; i++) {
    const struct hd_module *m = &rt.ctl->module[i];
    for (unsigned k = 0; k < a->nlibraries && k < HD_MAX_AIM_LIBRARIES; k++)
      if (is_named(m, a->library[k])) {
        rt.search.library[k].base = m->base;
        rt.search.library[k].start = m->start;
        rt.search.library[k].end = m->end;
      }
  }
}

void hd__aim_init(void) {
  const struct hd_aims *a = &rt.config->aims;
  find_modules(a);
  rt.search.walk = walk;
  for (unsigned i = 0; i < a->nplaces && i < HD_MAX_AIM_PLACES; i++) {
    uint64_t lo, hi, module = HD_AIM_MODULE(a->place[i].code);
    if (module && !rt.search.library[module - 1].base)
      hd__fail(HD_RTE_ENVIRONMENT, 0, "a library with a line to reach is not loaded when the program starts");
    if (!hd__segment_of(address(i), &lo, &hi) || !hd__user_text(address(i))) continue;
    unsigned k = 0;
    while (k < i && (!set[k] || address(k) != address(i))) k++;
    original[i] = k < i ? original[k] : *(volatile uint8_t *)address(i);
    set[i] = poke(address(i), HD_TRAP);
    if (!set[i])
      hd__fail(HD_RTE_ENVIRONMENT, address(i), "cannot stop at the lines to reach (mprotect refused)");
  }
}

/* The thread is about to execute the line. */
static void reach(unsigned i, uint64_t pc, uint64_t sp) {
  const struct hd_aims *a = &rt.config->aims;
  if (!hot.active || !rt.cur || rt.search.aimed >= a->n || a->place[i].aim != rt.search.aimed) return;
  if (++rt.search.aimed > rt.status->aimed) rt.status->aimed = rt.search.aimed;
  if (rt.search.aimed < a->n || a->silent) return;
  struct hd_finding_rec *f = hd__finding(HD_KIND_REACHED, pc, 0);
  if (!f) return;
  hd__site_fault(hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_NONE), pc, sp);
  hd__finding_done(f, false);
  hd__end(HD_RUN_FINDING);
}

bool hd__aim_trap(ucontext_t *uc) {
  uint64_t pc = hd_sig_pc(uc);
  if (stepping) { /* the instruction was executed */
    unsigned i = stepping - 1;
    stepping = 0;
    hd_sig_step(uc, 0);
    poke(address(i), HD_TRAP);
    return true;
  }
  unsigned i = 0, n = rt.config->aims.nplaces;
  while (i < n && i < HD_MAX_AIM_PLACES && (!set[i] || address(i) + 1 != pc)) i++;
  if (i >= n || i == HD_MAX_AIM_PLACES) return false;
  hd_sig_set_pc(uc, pc - 1);
  /* Several lines may begin with this instruction. */
  for (unsigned k = 0; k < n && k < HD_MAX_AIM_PLACES; k++)
    if (set[k] && address(k) == pc - 1) reach(k, pc - 1, hd_sig_sp(uc));
  stepping = i + 1;
  poke(address(i), original[i]);
  hd_sig_step(uc, 1);
  return true;
}
