/* bluetooth.c ADDERS [FIXED]: a driver that is stopped while requests come in. A request that saw no
 * stopping flag is stopped in the middle, the driver counts no pending request, stops, and the request goes
 * on in a stopped driver. FIXED 1 enters first and looks at the flag then. A stop that would have to wait
 * for its event ends instead. Qadeer and Wu's model, in the form of Razavi (2014), figure 4.1.
 *
 * count: 1 1 strategy=optimal executions=9
 * count: 2 1 strategy=optimal executions=186
 * count: 3 1 strategy=optimal executions=6774
 * count: 1 strategy=optimal executions=10 findings=assertion
 * count: 2 strategy=optimal executions=190 findings=assertion
 * clean: 1 1
 * clean: 2 1
 * bug: 1 kind=assertion
 * bug: 2 kind=assertion
 * bug: 8 kind=assertion */
#include "sizes.h"

static atomic_int pending = 1, stopping, stop_event, stopped;
static int fixed;

static void leave(void) {
  if (atomic_fetch_sub(&pending, 1) == 1) poke(stop_event, 1);
}

static void *add(void *unused) {
  if (fixed) atomic_fetch_add(&pending, 1);
  int refused = peek(stopping);
  if (!fixed && !refused) atomic_fetch_add(&pending, 1);
  if (!refused) assert(!peek(stopped));
  leave();
  return unused;
}

static void *stop(void *unused) {
  poke(stopping, 1);
  leave();
  if (peek(stop_event)) poke(stopped, 1);
  return unused;
}

MAIN {
  int adders = SIZE(1, 1);
  fixed = SIZE(2, 0);
  start(stop, 0);
  for (int i = 0; i < adders; i++) start(add, i);
  join_all();
  return 0;
}
