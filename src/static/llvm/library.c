/* library.c: what functions of libraries do, as far as pruning by data races needs to know. Runs in the supervisor. */
#include "static/llvm/races_int.h"

#include <string.h>

static const struct known library[] = {
    {"pthread_mutex_lock", LOCKS | WORDS},
    {"pthread_mutex_unlock", LETS_GO | WORDS},
    {"pthread_spin_lock", LOCKS | WORDS},
    {"pthread_spin_unlock", LETS_GO | WORDS},
    {"pthread_rwlock_wrlock", LOCKS | WORDS},
    {"pthread_rwlock_rdlock", WORDS},
    {"pthread_rwlock_unlock", LETS_GO | WORDS},
    {"mtx_lock", LOCKS | WORDS},
    {"mtx_unlock", LETS_GO | WORDS},
    {"pthread_mutex_trylock", TRIES | WORDS},
    {"pthread_spin_trylock", TRIES | WORDS},
    {"sem_trywait", TRIES | WORDS},
    {"pthread_mutex_timedlock", TRIES | WORDS},
    {"pthread_rwlock_trywrlock", TRIES | WORDS},
    {"pthread_rwlock_tryrdlock", TRIES | WORDS},
    {"pthread_cond_timedwait", TRIES | WORDS},
    {"pthread_barrier_wait", TRIES | WORDS},
    {"sem_timedwait", TRIES | WORDS},
    {"mtx_trylock", TRIES | WORDS},
    {"pthread_mutex_init", WORDS},
    {"pthread_mutex_destroy", WORDS},
    {"pthread_cond_init", WORDS},
    {"pthread_cond_destroy", WORDS},
    {"pthread_cond_wait", WORDS},
    {"pthread_cond_signal", WORDS},
    {"pthread_cond_broadcast", WORDS},
    {"pthread_barrier_init", WORDS},
    {"pthread_barrier_destroy", WORDS},
    {"pthread_rwlock_init", WORDS},
    {"pthread_rwlock_destroy", WORDS},
    {"pthread_spin_init", WORDS},
    {"pthread_spin_destroy", WORDS},
    {"sem_init", WORDS},
    {"sem_destroy", WORDS},
    {"sem_wait", WORDS},
    {"sem_post", WORDS},
    {"cnd_wait", WORDS},
    {"cnd_signal", WORDS},
    {"cnd_broadcast", WORDS},
    {"cnd_init", WORDS},
    {"cnd_destroy", WORDS},
    {"mtx_init", WORDS},
    {"mtx_destroy", WORDS},
    {"pthread_self", WORDS},
    {"pthread_attr_init", WORDS},
    {"pthread_attr_destroy", WORDS},
    {"pthread_attr_setdetachstate", WORDS},
    {"pthread_attr_setstacksize", WORDS},
    {"pthread_mutexattr_init", WORDS},
    {"pthread_mutexattr_settype", WORDS},
    {"pthread_mutexattr_destroy", WORDS},
    {"sched_yield", WORDS},
    {"usleep", WORDS},
    {"sleep", WORDS},
    {"hd_symmetric", WORDS},
    {"hd_rt_symmetric", WORDS},
    {"pthread_create", CREATES},
    {"thrd_create", CREATES},
    {"pthread_join", JOINS | TRIES},
    {"thrd_join", JOINS | TRIES},
    {"pthread_exit", ENDS | WORDS},
    {"thrd_exit", ENDS | WORDS},
    {"exit", ENDS | WORDS},
    {"_exit", ENDS | WORDS},
    {"abort", ENDS | WORDS},
    {"__assert_fail", ENDS | SHOWS},
    {"_Exit", ENDS | WORDS},
    {"malloc", FRESH | WORDS},
    {"calloc", FRESH | WORDS},
    {"aligned_alloc", FRESH | WORDS},
    {"strdup", FRESH | COPIES},
    {"_Znwm", FRESH | WORDS},
    {"_Znam", FRESH | WORDS},
    {"free", WRITES},
    {"_ZdlPv", WRITES},
    {"_ZdaPv", WRITES},
    {"_ZdlPvm", WRITES},
    {"_ZdaPvm", WRITES},
    {"memcpy", COPIES | WRITES | FIRST},
    {"memmove", COPIES | WRITES | FIRST},
    {"memset", WRITES | FIRST},
    {"strcpy", COPIES | WRITES | FIRST},
    {"strncpy", COPIES | WRITES | FIRST},
    {"strcat", COPIES | WRITES | FIRST},
    {"snprintf", WRITES},
    {"sprintf", WRITES},
    {"strlen", PURE},
    {"strcmp", PURE},
    {"strncmp", PURE},
    {"memcmp", PURE},
    {"strcasecmp", PURE},
    {"atoi", PURE},
    {"atol", PURE},
    {"atoll", PURE},
    {"abs", PURE},
    {"labs", PURE},
    {"sqrt", PURE},
    {"sin", PURE},
    {"cos", PURE},
    {"pow", PURE},
    {"exp", PURE},
    {"log", PURE},
    {"floor", PURE},
    {"ceil", PURE},
    {"fabs", PURE},
    {"rand", VARIES | WORDS},
    {"random", VARIES | WORDS},
    {"drand48", VARIES | WORDS},
    {"time", VARIES | WRITES},
    {"clock", VARIES | WORDS},
    {"getpid", VARIES | WORDS},
    {"gettid", VARIES | WORDS},
    {"clock_gettime", VARIES | WRITES},
    {"gettimeofday", VARIES | WRITES},
    {"rand_r", VARIES | WRITES},
    {"sem_getvalue", VARIES | WRITES},
    {"printf", SHOWS},
    {"puts", SHOWS},
    {"putchar", SHOWS},
    {"fprintf", SHOWS},
    {"fputs", SHOWS},
    {"fputc", SHOWS},
    {"putc", SHOWS},
    {"fwrite", SHOWS},
    {"perror", SHOWS},
    {"fflush", SHOWS},
};

/* With these, other code runs than calls say, or a thread goes on elsewhere. */
static const char *const refused[] = {
    "setjmp",
    "_setjmp",
    "__sigsetjmp",
    "sigsetjmp",
    "longjmp",
    "siglongjmp",
    "signal",
    "sigaction",
    "pthread_kill",
    "pthread_cancel",
    "pthread_once",
    "call_once",
    "pthread_key_create",
    "tss_create",
    "atexit",
    "on_exit",
    "fork",
    "vfork",
    "timer_create",
    "makecontext",
    "swapcontext",
    "pthread_cleanup_push",
    "__pthread_register_cancel",
    "dlopen",
    "clone",
    "hd_atomic_begin",
    "__cxa_throw",
    "pthread_detach",
    "thrd_detach",
};

const struct known *hd__races_library(const char *name) {
  for (size_t i = 0; i < sizeof library / sizeof *library; i++)
    if (strcmp(library[i].name, name) == 0) return &library[i];
  return NULL;
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

bool hd__races_quiet(const char *name) {
  static const char *const quiet[] = {"llvm.dbg.",           "llvm.lifetime.",  "llvm.assume",
                                      "llvm.expect",         "llvm.annotation", "llvm.experimental.noalias",
                                      "llvm.invariant.",     "llvm.stacksave",  "llvm.stackrestore",
                                      "llvm.var.annotation", "llvm.donothing"};
  for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
    if (strncmp(name, quiet[i], strlen(quiet[i])) == 0) return true;
  return false;
}
const struct known *hd__races_intrinsic(const char *name) {
  static const struct known copies = {"", COPIES | WRITES}, writes = {"", WRITES}, quiet = {"", WORDS},
                            pure = {"", PURE};
  if (starts(name, "llvm.memcpy") || starts(name, "llvm.memmove")) return &copies;
  if (starts(name, "llvm.memset")) return &writes;
  if (hd__races_quiet(name)) return &quiet;
  static const char *const values[] = {"llvm.smax",        "llvm.smin",
                                       "llvm.umax",        "llvm.umin",
                                       "llvm.abs",         "llvm.fabs",
                                       "llvm.ctpop",       "llvm.ctlz",
                                       "llvm.cttz",        "llvm.bswap",
                                       "llvm.fshl",        "llvm.fshr",
                                       "llvm.sadd",        "llvm.uadd",
                                       "llvm.ssub",        "llvm.usub",
                                       "llvm.smul",        "llvm.umul",
                                       "llvm.sqrt",        "llvm.fmuladd",
                                       "llvm.fma",         "llvm.floor",
                                       "llvm.ceil",        "llvm.objectsize",
                                       "llvm.is.constant", "llvm.threadlocal.address"};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (starts(name, values[i])) return &pure;
  return NULL;
}

bool hd__races_refuses(const char *name) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (strcmp(refused[i], name) == 0) return true;
  return false;
}
