/* exit.c: how a program ends: exit and related functions, abort, failed assertions. Runs in the tested process.
 *
 * exit() really runs atexit handlers and destructors, on the thread that called it, with the others still
 * scheduled. A handler registered before all others runs last and ends the execution instead of the process. If
 * there is nothing to run (no handler, no destructor: most C programs), that path through the dynamic linker is
 * skipped. */
#include <assert.h>
#include <link.h>
#include <stdlib.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/state.h"
#include "runtime/memory/memory.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/wrap.h"

static HD_EXEC unsigned nhandlers;
static unsigned nhandlers_mark; /* registered by the program and its libraries */
static bool has_fini;
static HD_EXEC uint64_t exit_pc; /* where exit was called; 0 for a return from main */

/* ---- leaving ---- */

static void check_threads_left(void) {
  for (unsigned i = 1; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    bool running = t->state != HD_T_DONE;
    if (t == rt.cur || (!running && (t->join.done || t->join.detached)) || (running && t->join.detached))
      continue;
    uint64_t made = hd__site_pc(t->start.site);
    struct hd_finding_rec *f = hd__finding(HD_KIND_THREAD_LEFT, made, 0);
    if (!f) continue;
    struct hd_site *s = hd__finding_site(f, HD_ROLE_CREATE, t->id, HD_OP_CREATE);
    hd__site_stored(s, t->start.site);
    hd__format(f->text, sizeof f->text,
               running ? "still running at exit" : "ended, but never joined or detached");
    hd__finding_done(f, false);
  }
}

HD_EACH _Noreturn static void finish(void) {
  /* Threads still running may go first, or never. Whether there are any must not decide whether this is an
   * operation, since that is not ordered with what this thread did. */
  rt.cur->section = 0;
  hd__section_leave();
  if (rt.nthreads > 1 && rt.cur->op.kind != HD_OP_EXIT) hd__point(HD_OP_END, 0, 0, 0);
  if (rt.nstopped) hd__end(HD_RUN_EXIT); /* a stopped thread may have left it undone */
  if (rt.config->thread_leaks) check_threads_left();
  if (rt.config->leaks) hd__report_leaks();
  if (rt.exit_status != (int)rt.config->exit_status) {
    struct hd_finding_rec *f;
    if (rt.callback) {
      f = hd__finding_unwound(HD_KIND_EXIT, HD_OP_EXIT);
    } else {
      f = hd__finding(HD_KIND_EXIT, exit_pc ? exit_pc : (uint64_t)rt.exit_status + 1, 0);
      if (f) hd__site_stack(hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_EXIT), rt.cur, exit_pc);
    }
    if (f) {
      f->status = rt.exit_status;
      hd__finding_done(f, false);
    }
  }
  hd__end(HD_RUN_EXIT);
}

bool hd__exit_handled(void) { return nhandlers || has_fini; }

static void last_handler(void *unused) {
  (void)unused;
  if (!hot.active) return;
  if (rt.config->mode != HD_MODE_CHECK) real_fflush(NULL);
  finish();
}

_Noreturn void hd__program_exit(int status) {
  struct hd_thread *t = rt.cur;
  hd__lookup(HD_STATE_ATEXIT, 0, exit_pc);
  rt.exit_status = status & 0xff;
  if (rt.in_exit) /* exit in an exit handler is undefined; as in libc, the remaining handlers are skipped */
    finish();
  rt.in_exit = true;
  if (!t->exit.begun) {
    t->exit.begun = true;
    hd__run_tls_dtors(t); /* not those of keys, which run at the end of a thread, not of the process */
  }
  if (hd__exit_handled()) {
    real_exit(status);
    __builtin_unreachable();
  }
  last_handler(NULL);
  __builtin_unreachable();
}

static int look_for_fini(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  bool *found = arg;
  if (hd__system_path(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      for (; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_FINI_ARRAYSZ &&
            d->d_un.d_val > sizeof(void *)) /* the first one is the compiler's own */
          *found = true;
    }
  return 0;
}

void hd__exit_mark(void) {
  nhandlers_mark = nhandlers;
  has_fini = false;
  dl_iterate_phdr(look_for_fini, &has_fini);
}

void hd__exit_begin(void) {
  nhandlers = nhandlers_mark;
  exit_pc = 0;
}

void hd__exit_register_last(void) { real___cxa_atexit(last_handler, NULL, NULL); }

HD_EXPORT int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
int __cxa_atexit(void (*fn)(void *), void *arg, void *dso) {
  hd__real_init();
  hd__change(HD_STATE_ATEXIT, 0, HD_CALLER); /* the last one registered runs first */
  nhandlers++;
  return real___cxa_atexit(fn, arg, dso);
}

HD_EXPORT int on_exit(void (*fn)(int, void *), void *arg) {
  hd__real_init();
  hd__change(HD_STATE_ATEXIT, 0, HD_CALLER);
  nhandlers++;
  return real_on_exit(fn, arg);
}

HD_EXPORT int __cxa_at_quick_exit(void (*fn)(void *), void *dso);
int __cxa_at_quick_exit(void (*fn)(void *), void *dso) {
  hd__real_init();
  hd__change(HD_STATE_ATEXIT, 1, HD_CALLER);
  return real___cxa_at_quick_exit(fn, dso);
}

/* The handlers that fork runs. libc keeps them under a lock of its own, and allocates memory with it. */
HD_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso) {
  hd__real_init();
  hd__change(HD_STATE_ATEXIT, 2, HD_CALLER);
  return real___register_atfork(prepare, parent, child, dso);
}

HD_EXPORT pid_t fork(void) {
  hd__real_init();
  hd__lookup(HD_STATE_ATEXIT, 2, HD_CALLER);
  return real_fork();
}

HD_EXPORT void exit(int status) {
  if (!hot.active) {
    real_exit(status);
    __builtin_unreachable();
  }
  exit_pc = HD_CALLER;
  hd__program_exit(status);
}

HD_EXPORT void _exit(int status) {
  if (!hot.active) {
    real__exit(status);
    __builtin_unreachable();
  }
  exit_pc = HD_CALLER;
  hd__exit_now(status);
}

_Noreturn void hd__exit_now(int status) {
  rt.exit_status = status & 0xff;
  finish();
}

HD_EXPORT void _Exit(int status) {
  if (!hot.active) {
    real__exit(status);
    __builtin_unreachable();
  }
  exit_pc = HD_CALLER;
  hd__exit_now(status);
}

HD_EXPORT void quick_exit(int status) {
  if (!hot.active) {
    real_quick_exit(status);
    __builtin_unreachable();
  }
  exit_pc = HD_CALLER;
  hd__lookup(HD_STATE_ATEXIT, 1, exit_pc);
  rt.exit_status = status & 0xff;
  real_quick_exit(status); /* runs its handlers, then _exit, which sysguard.c intercepts */
  __builtin_unreachable();
}

/* ---- abort and failed assertions ---- */

HD_EXPORT void abort(void) {
  if (!hot.active) {
    real_abort();
    __builtin_unreachable();
  }
  hd__terminated(HD_CALLER);
  hd__fault_again();
  hd__report_simple(HD_KIND_ABORT, 0, HD_CALLER, "abort() was called", true);
  __builtin_unreachable();
}

_Noreturn static void assertion(const char *what, const char *file, unsigned line, const char *function,
                                uint64_t pc) {
  char text[400];
  hd__format(text, sizeof text, "%s:%u: %s: `%s'", file, (uint64_t)line, function ? function : "?", what);
  hd__report_simple(HD_KIND_ASSERTION, 0, pc, text, true);
  __builtin_unreachable();
}

HD_EXPORT void __assert_fail(const char *what, const char *file, unsigned line, const char *function) {
  if (!hot.active) {
    real___assert_fail(what, file, line, function);
    __builtin_unreachable();
  }
  assertion(what, file, line, function, HD_CALLER);
}

HD_EXPORT void __assert_perror_fail(int e, const char *file, unsigned line, const char *function) {
  if (!hot.active) {
    real___assert_perror_fail(e, file, line, function);
    __builtin_unreachable();
  }
  char what[40];
  hd__format(what, sizeof what, "error %d", (int64_t)e);
  assertion(what, file, line, function, HD_CALLER);
}
