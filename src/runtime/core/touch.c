/* touch.c: what threads access, for a search for one property (explore/property.c). Runs in the tested process.
 *
 * Of each granule, the first access of a thread since it last released something is noted: later ones come without any other
 * thread's write between the two, unless those race. Only while there are several threads: what comes before is ordered. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/touch.h"
#include "runtime/memory/memory.h"

static struct hd_noted *touch;
static uint32_t ntouches;

static uint64_t begins(struct hd_search *s, unsigned thread) {
  const struct hd_thread *t = &rt.thread[thread];
  (void)s;
  return hd__start_code((uint64_t)t->start.fn, t->start.arg);
}

void hd__touch_init(void) {
  struct hd_search *s = &rt.search;
  if (!rt.config->property || rt.config->mode != HD_MODE_CHECK) return;
  s->memory_size -= HD_PROPERTY_SIZE;
  s->plan = (const struct hd_property_plan *)(s->memory + s->memory_size);
  if (!s->plan->size) return;
  s->base = hd__program_base();
  touch = hd__map((uint64_t)HD_NOTED_MAX * sizeof *touch);
  if (!touch) hd__fail(HD_RTE_ENVIRONMENT, 0, "the system has no memory for accesses");
  s->touch = touch;
  s->ntouches = &ntouches;
  s->begins = begins;
  rt.touches = true;
}

void hd__touch_begin(void) { ntouches = 0; }

void hd__touch(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (rt.nthreads < 2 || ntouches > HD_NOTED_MAX) return;
  if (ntouches == HD_NOTED_MAX || size > UINT32_MAX) {
    ntouches = HD_NOTED_MAX + 1;
    return;
  }
  bool write = flags & HD_A_WRITE;
  touch[ntouches++] = (struct hd_noted){.addr = addr,
                                        .pc = pc,
                                        .size = (uint32_t)size,
                                        .thread = rt.cur->id,
                                        .writes = write,
                                        .reads = !write || (flags & (HD_A_RMW | HD_A_CAS)),
                                        .events = (uint32_t)rt.events,
                                        .atomic = (flags & HD_A_ATOMIC) != 0};
}
