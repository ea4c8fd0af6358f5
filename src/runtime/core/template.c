/* template.c: executions that continue from the middle of another one. Runs in the tested process, in fork mode, on the stack
 * of the thread that reached the scheduling point.
 *
 * In fork mode an execution is a process. At a scheduling point it may fork: the parent stays there, as a template, and the
 * child goes on with the execution. When that has ended, and the next one begins with the same steps, the template forks again
 * for it; else it ends, and its own parent, a template further up or the process before main, looks at the next execution. So
 * the templates are a chain of processes along the path under way, and only the innermost child runs.
 *
 * Invariants
 *  1. A template changes nothing of the program: all its signals are blocked, and its memory is what the execution left.
 *  2. Its steps are those of the execution to continue: the strategy says so (hd_known.from), which has seen every execution
 *     since. When something was learned meanwhile (visible memory), the search restarts, and the template ends.
 *  3. What a child shares with its parent is restored: what it wrote to the shared file (hd__template_restore), and the offsets
 *     and modes of open files. A template is not made where more than that is shared (unshared()).
 *  4. Exactly one process draws the number of the next execution and does what is to be done between two executions: the one
 *     that waited for the last of them. It passes the number on (ctl.relay) when it cannot use it.
 *  5. The death of an execution's process ends all templates; so does the death of any of them. The supervisor sees what it
 *     sees without templates, and the next process starts from main.
 *
 * The cost model: a template costs a fork when it is made. It saves what lies between it and the template before it, once for
 * each execution that continues from it. How many will is unknown; that templates have paid off so far is measured. */
#include "runtime/core/template.h"

#include <fcntl.h>
#include <sys/sysinfo.h>

#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/record.h"
#include "runtime/core/tick.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define DEPTH 32      /* templates in a chain, at most */
#define PAYS 6        /* forks that the steps since the last template must be worth ... */
#define PAYS_SELDOM 4 /* ... and so many times that where templates have cost more than they saved */
#define DOUBLE 8      /* and twice that for each so many templates of the chain */
#define SHARE 4       /* of the memory of the machine, for the templates of a process */
#define MEMORY 256    /* forks after which what templates have saved counts half */

static uint64_t held;    /* bytes that they may have to themselves */
static unsigned depth;   /* templates above this process */
static uint64_t since;   /* processor time, when the last template was made or the execution began */
static uint32_t points;  /* scheduling points at which one could have been made */
static uint32_t unasked; /* of them to come: the clock is not read */
static uint32_t stride;  /* how many that were */
static uint64_t asked_at;
static uint64_t switches;                               /* status.switches, when the execution began */
static struct hd_inexact_count noted[HD_INEXACT_COUNT]; /* status.inexact, likewise */

static void note_start(void) {
  switches = rt.status->switches;
  hd__copy(noted, rt.status->inexact, sizeof noted);
}

static bool wanted(void) {
  const struct hd_config *c = rt.config;
  return c->mode == HD_MODE_CHECK && c->checkpoint != HD_CHECKPOINT_NEVER && !hot.log && !c->debug;
}

void hd__template_begin(void) {
  rt.templates = wanted() && rt.known.shared;
  depth = points = unasked = 0;
  held = 0;
  if (!rt.templates) return;
  since = asked_at = hd__cpu_time();
  note_start();
}

/* ---- whether to make one ---- */

static bool pays(void) {
  const struct hd_relay *r = &rt.ctl->relay;
  uint64_t every = rt.config->template_every;
  if (depth >= DEPTH) return false;
  if (every) return ++points % every == 0;
  if (unasked) {
    unasked--;
    return false;
  }
  uint64_t cost = r->fork_cost * PAYS << depth / DOUBLE;
  if (r->spent > 2 * r->saved) cost *= PAYS_SELDOM;
  uint64_t now = hd__cpu_time();
  /* Reading the clock takes as long as a step or two. */
  stride = now - asked_at > cost / 16 ? stride / 2 : stride < 64 ? 2 * stride + 1 : stride;
  asked_at = now;
  unasked = stride;
  return now - since >= cost;
}

/* Whether the templates of the chain would need more than their share of the machine's memory. A template keeps what the
 * processes after it change: at most all that it has. */
static bool too_large(void) {
  struct sysinfo machine;
  char text[80];
  uint64_t pages[3] = {0};
  long fd = hd_sys4(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
  long n = fd >= 0 ? hd_sys3(SYS_read, fd, text, sizeof text) : -1;
  if (fd >= 0) hd_sys3(SYS_close, fd, 0, 0);
  for (long i = 0, k = 0; i < n && k < 3; i++)
    if (text[i] >= '0' && text[i] <= '9')
      pages[k] = 10 * pages[k] + (uint64_t)(text[i] - '0');
    else
      k++;
  if (n <= 0 || hd_sys3(SYS_sysinfo, &machine, 0, 0) < 0) return true;
  uint64_t own = pages[1] > pages[2] ? (pages[1] - pages[2]) * HD_PAGE : 0; /* resident, and shared of it */
  held += own;
  return held > (uint64_t)machine.totalram * machine.mem_unit / SHARE;
}

/* What else a fork shares with its parent. */
static enum hd_unkept unshared(void) {
  if (rt.forked || hd__children_any()) return HD_UNKEPT_CHILD;
  if (rt.status->changes_files || hd__files_changed()) return HD_UNKEPT_FILES;
  if (hd__ipc_made()) return HD_UNKEPT_IPC;
  if (rt.naliases || hd__shares_memory()) return HD_UNKEPT_SHARED;
  return hd__fds_unshared();
}

/* ---- whether to restart by forks at all ---- */

#define LONG_NS 5000000u /* an execution, at least */
#define FORK_NS 400000u  /* assumed as long as none was measured */
#define SHORT 16         /* executions that are not long, until no more are looked at */
#define MEASURED 6       /* long ones on which the decision rests, at least */

static struct {
  unsigned n, shorter;
  uint64_t took, repeated; /* nanoseconds: in all, and in steps that the execution before had, too */
} measured;

bool hd__template_measure(uint64_t took) {
  const struct hd_config *c = rt.config;
  if (!c->may_switch || !wanted() || rt.search.captures) return false;
  if (took < LONG_NS) return ++measured.shorter < SHORT;
  if (!rt.known.shared || !rt.events) return true;
  measured.n++;
  measured.took += took;
  measured.repeated += (uint64_t)((double)took * (double)rt.known.steps / (double)rt.events);
  return true;
}

bool hd__template_better(void) {
  if (measured.n < MEASURED) return false;
  uint64_t took = measured.took / measured.n, rest = took - measured.repeated / measured.n;
  uint64_t fork = rt.ctl->relay.fork_cost ? rt.ctl->relay.fork_cost : FORK_NS;
  /* One fork for the execution, one for each template that it makes, and half of the way between two is repeated. */
  uint64_t forked = rest + rest / PAYS + (1 + PAYS / 2) * fork;
  return forked + forked / 4 < took;
}

/* ---- the handle ---- */

void hd__template_take(struct hd_template *t) {
  struct hd_status *st = rt.status;
  *t = (struct hd_template){.path_len = rt.path_len,
                            .visible = st->visible_count,
                            .epoch = st->epoch,
                            .switches = st->switches - switches,
                            .numbers = st->numbers,
                            .cost = hd__cpu_time() - since};
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++) {
    t->noted[i].count = st->inexact[i].count - noted[i].count;
    t->noted[i].first_pc = st->inexact[i].first_pc;
  }
  for (unsigned i = 0; i < st->ntargets && i < HD_MAX_TARGETS; i++)
    if (st->target[i].last == rt.search.execution) t->target[t->ntargets++] = (uint16_t)i;
  hd__fds_stand();
  st->templates++;
}

/* Invariant 3: the execution to continue has done what this one has. */
static void repeat(const struct hd_template *t) {
  struct hd_status *st = rt.status;
  st->path_len = t->path_len;
  st->numbers = t->numbers;
  note_start();
  st->switches += t->switches;
  hd_inexact_add(st->inexact, t->noted, HD_CLASS_ANY);
  for (unsigned i = 0; i < t->ntargets; i++) {
    st->target[t->target[i]].executions++;
    st->target[t->target[i]].last = rt.search.execution;
  }
}

bool hd__template_restore(struct hd_template *t, uint64_t number) {
  struct hd_status *st = rt.status;
  if (st->visible_count != t->visible || st->epoch != t->epoch || st->changes_files) return false;
  /* One that is observed must be from the beginning (cover.c). */
  if (!rt.cover_skip && !hot.cover) return false;
  st->visible_at_start = st->visible_count;
  rt.known.from = (uint32_t)rt.events;
  bool begun = hd__drive_begin(number) > 0 && rt.known.steps == rt.events;
  rt.known.from = 0;
  if (!begun) return false;
  repeat(t);
  t->resumed++;
  st->resumed++;
  return true;
}

_Noreturn void hd__template_drop(const struct hd_template *t, uint64_t number) {
  struct hd_relay *r = &rt.ctl->relay;
  r->saved += t->resumed * t->cost;
  r->spent += r->fork_cost;
  if (r->spent > MEMORY * r->fork_cost) {
    r->saved /= 2;
    r->spent /= 2;
  }
  r->next = number;
  hd__drive_leave(HD_RUN_PASSED);
}

/* ---- making one ---- */

/* The child goes on with the execution. */
static void go_on(uint64_t mask) {
  depth++;
  hd__drive_forked();
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
  since = asked_at = hd__cpu_time();
}

/* Waits for the child that runs the execution. Returns the number of the next one, 0: there is none. */
static uint64_t wait_for(long pid, const struct hd_template *t) {
  int reason = hd__drive_wait(pid, t->visible);
  hd__fds_return();
  if (reason == HD_RUN_PASSED) return rt.ctl->relay.next;
  if (!hd__drive_counts(reason)) hd__drive_leave(reason); /* it died, too, or it is run again from main */
  return hd__drive_next(reason);
}

static void become_template(void) {
  struct hd_template t;
  uint64_t all = ~0ull, mask = 0;
  hd__template_take(&t);
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8); /* invariant 1 */
  for (uint64_t number = rt.search.execution;;) {
    long pid = hd__drive_fork();
    if (pid == 0) {
      if (t.resumed) hd__cover_begin();
      go_on(mask);
      return;
    }
    if (pid < 0 && !t.resumed) { /* too many processes: it goes on by itself */
      hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
      rt.templates = false;
      return;
    }
    if (pid > 0) number = wait_for(pid, &t);
    if (pid < 0 || !number || !hd__template_restore(&t, number)) hd__template_drop(&t, number);
  }
}

void hd__template_point(void) {
  if (rt.nenabled < 2 || rt.section || !rt.events ||
      rt.status->visible_count != rt.status->visible_at_start || !pays())
    return;
  enum hd_unkept why = unshared();
  if (!why && !too_large()) {
    become_template();
    return;
  }
  if (why) rt.status->unshared = why;
  rt.templates = false;
}
