/* start.c: where a program built with `heddle cc` starts. Runs in the tested process.
 *
 * Our constructor runs before all others (-z initfirst), since those of plain libraries may call what we wrap.
 * Those of libc run later too, so it may use only what needs no initialisation in libc. Without HEDDLE_CTL in the
 * environment it only finds the originals of the wrapped functions, and the process is an ordinary one, unless it
 * uses hd_check (check.c). With it, the control block is mapped, the heap is ours from then on, and libc's start-up
 * code calls the search instead of main. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "abi/attach.h"
#include "runtime/core/check.h"
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

/* The last NAME=... in the environment, which is ours. */
static char **entry(const char *name) {
  extern char **environ;
  size_t n = hd__strlen(name);
  char **last = NULL;
  for (char **e = environ; *e; e++)
    if (hd__starts(*e, name) && (*e)[n] == '=') last = e;
  return last;
}

/* getenv is a wrapper, which may not be ready: libc may come before the runtime in the order of libraries. */
static const char *variable(const char *name) {
  char **at = entry(name);
  return at ? *at + hd__strlen(name) + 1 : NULL;
}

/* Removes it, so that the program does not see it. */
static void hide(const char *name) {
  for (char **last = entry(name); last && *last; last++) *last = last[1];
}

static void relax(void) { hd_sys3(SYS_sched_yield, 0, 0, 0); }

/* Removes the runtime from LD_PRELOAD, so that programs started by this one are ordinary ones. Returns whether it
 * was there. */
static bool unload(void) {
  extern char **environ;
  static const char name[] = "LD_PRELOAD=", lib[] = HD_RUNTIME_SONAME;
  for (char **e = environ; *e; e++) {
    size_t n = 0, at = 0;
    while (name[n] && (*e)[n] == name[n]) n++;
    if (name[n]) continue;
    char *value = *e + n, *end = value;
    while (*end && *end != ':' && *end != ' ') end++;
    for (; value + at + sizeof lib - 1 <= end; at++) { /* the supervisor put it first */
      size_t k = 0;
      while (lib[k] && value[at + k] == lib[k]) k++;
      if (lib[k]) continue;
      char *rest = *end ? end + 1 : end;
      if (!*rest) {
        hide("LD_PRELOAD");
        return true;
      }
      while ((*value++ = *rest++)) continue;
      return true;
    }
  }
  return false;
}

/* The search ran out of memory. */
static void out_of_memory(const char *why) { hd__fail(HD_RTE_ENVIRONMENT, 0, why); }

/* Maps the memory that all workers of the search share. A rerun of one schedule has none. */
static void attach_search(void) {
  void *p = mmap((void *)HD_SEARCH_BASE, HD_SEARCH_SIZE, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, HD_SEARCH_FD, 0);
  if (p != (void *)HD_SEARCH_BASE) hd__die(97);
  hd_sys3(SYS_close, HD_SEARCH_FD, 0, 0);
  rt.shared = p;
  rt.shared_visible = (uint64_t *)(HD_SEARCH_BASE + HD_SEARCH_VISIBLE);
  rt.search.shared = p;
  rt.search.worker = rt.config->worker;
  rt.search.workers = rt.config->workers;
  rt.search.memory = (char *)(HD_SEARCH_BASE + HD_SEARCH_MEMORY);
  rt.search.memory_size = HD_SEARCH_CAP;
  rt.search.classes = (char *)(HD_SEARCH_BASE + HD_SEARCH_CLASSES);
  rt.search.classes_size = HD_SEARCH_MEMORY - HD_SEARCH_CLASSES;
  rt.search.relax = relax;
}

void hd__attach(void) {
  void *p = mmap((void *)HD_SHM_BASE, HD_SHM_SIZE, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, HD_CTL_FD, 0);
  if (p != (void *)HD_SHM_BASE) hd__die(97);
  struct hd_ctl *ctl = p;
  if (ctl->magic != HD_CTL_MAGIC || ctl->abi != HD_ABI_VERSION || ctl->size != sizeof *ctl)
    hd__die(HD_DIED_VERSION);
  hd_sys3(SYS_close, HD_CTL_FD, 0, 0);
  rt.ctl = ctl;
  rt.config = &ctl->config;
  rt.status = &ctl->status;
  rt.path = (hd_step *)(HD_SHM_BASE + HD_SHM_PATH);
  rt.visible = (uint64_t *)(HD_SHM_BASE + HD_SHM_VISIBLE);
  hd_fatal = out_of_memory;
  rt.search.config = rt.config;
  rt.search.status = rt.status;
  attach_search();
  rt.search.scratch = hd__map(HD_SCRATCH_SIZE);
  if (!rt.search.scratch) hd__die(97);
  rt.search.guard = rt.guard;
  rt.search.contended = hd__shadow_contended;
  rt.search.known = &rt.known;
  hot.detail = rt.config->detail || rt.config->leaks;
  hot.log = rt.config->detail ? rt.config->plain ? 2 : 1 : 0;
  /* A search continues with what its last process had learned; a schedule needs the knowledge it was found with. */
  if (rt.config->mode != HD_MODE_CHECK || rt.status->visible_count < rt.config->visible)
    rt.status->visible_count = rt.config->visible;
  if (rt.config->mode == HD_MODE_REPLAY || rt.config->mode == HD_MODE_REDUCE) {
    /* The schedule is followed from a copy: execution overwrites the path area. */
    hd_step *copy = hd__map(rt.config->replay_len * sizeof *copy + HD_PAGE);
    if (!copy) hd__die(97);
    hd__copy(copy, rt.path, rt.config->replay_len * sizeof *copy);
    rt.search.replay = copy;
    rt.search.replay_len = rt.config->replay_len;
    rt.strategy = rt.config->mode == HD_MODE_REPLAY ? &hd_strategy_replay : &hd_strategy_reduce;
  } else {
    rt.strategy = hd_strategy_for(rt.config);
  }
  if (!rt.strategy) hd__fail(HD_RTE_INTERNAL, 0, "the runtime does not know this strategy");
  if (hd__shadow_init() || hd__heap_init() || hd__sched_init())
    hd__fail(HD_RTE_ENVIRONMENT, 0,
             "cannot reserve 4 TiB of address space (memory is not used up front): lift `ulimit -v`");
}

static bool started_by_us; /* with our variables in its environment */

__attribute__((constructor(101))) static void start(int argc, char **argv, char **envp) {
  extern char **environ;
  (void)argc;
  bool late = environ != NULL;
  if (!late) environ = envp; /* as libc will do soon */
  hd__real_init();
  hd_arch_init();
  const char *how = variable(HD_CTL_ENV);
  bool now = how && !hd__streq(how, HD_CTL_FREE) && !hd__streq(how, HD_CTL_CALL);
  if (!now) hd__check_begin(how, late, argv, environ);
  if (!how) return;
  started_by_us = true;
  hide(HD_CTL_ENV);
  hide("LD_BIND_NOW");
  if (!now) return;
  hd__attach();
  rt.preload = unload();
  hd__heap_start();
}

static int (*program_main)(int, char **, char **);

static int hd_rt_start(int argc, char **argv, char **envp) { hd__drive(program_main, argc, argv, envp); }

HD_EXPORT int __libc_start_main(int (*main_fn)(int, char **, char **), int argc, char **argv,
                                void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                                void *stack_end);
int __libc_start_main(int (*main_fn)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
  int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
              void *);
  hd__real_init();
  *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
  program_main = main_fn;
  /* ELF constructors of libraries, ours among them, have run by now; those of the program run in `real`. */
  extern char **environ;
  if (started_by_us) hide(HD_SPIN_ENV); /* libgomp has read it by now */
  if (rt.ctl)
    hd__exit_register_last();
  else
    hd__check_start(argv, environ);
  return real(rt.ctl ? hd_rt_start : main_fn, argc, argv, init, fini, rtld_fini, stack_end);
}
