"""One test per wrapped function that is an operation, or that ends things, or that gives times and settings: as in
test_engage.py, something that exists only because the wrapper is in place."""
import os
import re

from scratch import each
from wrapped import kinds, program

# ---- operations: seen in the events of a finding ----

AIO = "static char b[8]; static struct aiocb a; a.aio_fildes = open(\"/dev/null\", O_RDWR); a.aio_buf = b; a.aio_nbytes = 1; "
LARGE_AIO = AIO.replace("struct aiocb a", "struct aiocb64 a")
EVENTS = {
    "pthread_create": ("", "create"),
    "pthread_join": ("", "join"),
    "pthread_exit": ("pthread_exit(0)", "exit"),
    "pthread_detach": ("pthread_t t; pthread_create(&t, 0, two, 0); pthread_detach(t)", "detach"),
    "pthread_once": ("pthread_once(&once, nothing)", "once"),
    "pthread_mutex_lock": ("pthread_mutex_lock(&m); pthread_mutex_unlock(&m)", "lock"),
    "pthread_mutex_unlock": ("pthread_mutex_lock(&m); pthread_mutex_unlock(&m)", "unlock"),
    "pthread_mutex_trylock": ("if (!pthread_mutex_trylock(&m)) pthread_mutex_unlock(&m)", "trylock"),
    "pthread_mutex_timedlock": ("struct timespec t = soon();"
                                " if (!pthread_mutex_timedlock(&m, &t)) pthread_mutex_unlock(&m)", "timedlock"),
    "pthread_mutex_clocklock": ("struct timespec t = soon(); if (!pthread_mutex_clocklock(&m, CLOCK_REALTIME, &t))"
                                " pthread_mutex_unlock(&m)", "timedlock"),
    "pthread_mutex_destroy": ("static pthread_mutex_t x; pthread_mutex_init(&x, 0); pthread_mutex_destroy(&x)",
                              "mutex-destroy"),
    "pthread_mutex_init": ("static pthread_mutex_t x; pthread_mutex_init(&x, 0)", "mutex-init"),
    "pthread_cond_init": ("static pthread_cond_t x; pthread_cond_init(&x, 0)", "cond-init"),
    "pthread_rwlock_init": ("static pthread_rwlock_t x; pthread_rwlock_init(&x, 0)", "rwlock-init"),
    "pthread_barrier_init": ("static pthread_barrier_t x; pthread_barrier_init(&x, 0, 1)", "barrier-init"),
    "pthread_spin_init": ("static pthread_spinlock_t x; pthread_spin_init(&x, 0)", "mutex-init"),
    "sem_init": ("static sem_t x; sem_init(&x, 0, 1)", "sem-init"),
    "mtx_init": ("static mtx_t x; mtx_init(&x, mtx_plain)", "mutex-init"),
    "cnd_init": ("static cnd_t x; cnd_init(&x)", "cond-init"),
    "pthread_key_create": ("pthread_key_create(&key, 0)", "change"),
    "pthread_key_delete": ("pthread_key_delete(key)", "change"),
    "pthread_setspecific": ("pthread_key_t k; pthread_key_create(&k, 0); pthread_setspecific(k, &k)", "look-up"),
    "pthread_getspecific": ("pthread_key_t k; pthread_key_create(&k, 0); pthread_getspecific(k)", "look-up"),
    "tss_get": ("tss_t k; tss_create(&k, 0); tss_get(k)", "look-up"),
    "tss_set": ("tss_t k; tss_create(&k, 0); tss_set(k, &k)", "look-up"),
    "tzset": ("setenv(\"TZ\", \"XYZ5\", 1); tzset()", "change"),
    "setenv": ("setenv(\"a\", \"b\", 1)", "change"), "unsetenv": ("unsetenv(\"a\")", "change"),
    "putenv": ("putenv(\"a=b\")", "change"), "clearenv": ("clearenv()", "change"),
    "getenv": ("unsetenv(\"a\"); getenv(\"a\")", "look-up"), "secure_getenv": ("unsetenv(\"a\"); secure_getenv(\"a\")", "look-up"),
    "tzset": ("tzset()", "change"),
    "pthread_setname_np": ("pthread_setname_np(pthread_self(), \"x\")", "change"),
    "rand": ("rand()", "change"), "srand": ("srand(1)", "change"), "random": ("random()", "change"),
    "srandom": ("srandom(1)", "change"), "initstate": ("static char s[64]; initstate(1, s, 64)", "change"),
    "setstate": ("static char s[64]; initstate(1, s, 64); setstate(s)", "change"),
    "setlocale": ("setlocale(LC_ALL, \"C\")", "change"), "setlocale-2": ("setlocale(LC_ALL, \"C\"); setlocale(LC_ALL, 0)", "look-up"),
    "nl_langinfo": ("setlocale(LC_ALL, \"C\"); nl_langinfo(CODESET)", "look-up"),
    "pthread_cond_signal": ("pthread_cond_signal(&c)", "signal"),
    "pthread_cond_broadcast": ("pthread_cond_broadcast(&c)", "broadcast"),
    "pthread_cond_timedwait": ("struct timespec t = soon(); pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &t);"
                               " pthread_mutex_unlock(&m)", "timedwait"),
    "pthread_cond_clockwait": ("struct timespec t = soon(); pthread_mutex_lock(&m);"
                               " pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &t);"
                               " pthread_mutex_unlock(&m)", "timedwait"),
    "pthread_cond_destroy": ("static pthread_cond_t x; pthread_cond_init(&x, 0); pthread_cond_destroy(&x)",
                             "cond-destroy"),
    "pthread_rwlock_rdlock": ("pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw)", "rdlock"),
    "pthread_rwlock_wrlock": ("pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw)", "wrlock"),
    "pthread_rwlock_unlock": ("pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw)", "rdunlock"),
    "pthread_rwlock_unlock-2": ("pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw)", "wrunlock"),
    "pthread_rwlock_tryrdlock": ("if (!pthread_rwlock_tryrdlock(&rw)) pthread_rwlock_unlock(&rw)", "tryrdlock"),
    "pthread_rwlock_trywrlock": ("if (!pthread_rwlock_trywrlock(&rw)) pthread_rwlock_unlock(&rw)", "trywrlock"),
    "pthread_rwlock_timedrdlock": ("struct timespec t = soon(); pthread_rwlock_timedrdlock(&rw, &t);"
                                   " pthread_rwlock_unlock(&rw)", "timedrdlock"),
    "pthread_rwlock_timedwrlock": ("struct timespec t = soon(); pthread_rwlock_timedwrlock(&rw, &t);"
                                   " pthread_rwlock_unlock(&rw)", "timedwrlock"),
    "pthread_rwlock_clockrdlock": ("struct timespec t = soon(); pthread_rwlock_clockrdlock(&rw, CLOCK_REALTIME, &t);"
                                   " pthread_rwlock_unlock(&rw)", "timedrdlock"),
    "pthread_rwlock_clockwrlock": ("struct timespec t = soon(); pthread_rwlock_clockwrlock(&rw, CLOCK_REALTIME, &t);"
                                   " pthread_rwlock_unlock(&rw)", "timedwrlock"),
    "pthread_rwlock_destroy": ("static pthread_rwlock_t x; pthread_rwlock_init(&x, 0); pthread_rwlock_destroy(&x)",
                               "rwlock-destroy"),
    "sem_wait": ("sem_wait(&sem); sem_post(&sem)", "sem-wait"),
    "sem_post": ("sem_wait(&sem); sem_post(&sem)", "sem-post"),
    "aio_read64": (LARGE_AIO + "aio_read64(&a)", "create"), "aio_write64": (LARGE_AIO + "aio_write64(&a)", "create"),
    "aio_fsync64": (LARGE_AIO + "aio_fsync64(O_SYNC, &a)", "create"),
    "lio_listio64": (LARGE_AIO + "struct aiocb64 *l[] = {&a}; a.aio_lio_opcode = LIO_READ; lio_listio64(LIO_WAIT, l, 1, 0)", "create"),
    "aio_suspend64": (LARGE_AIO + "const struct aiocb64 *l[] = {&a}; aio_suspend64(l, 1, 0)", "lock"),
    "aio_error64": (LARGE_AIO + "aio_error64(&a)", "lock"), "aio_return64": (LARGE_AIO + "aio_return64(&a)", "lock"),
    "aio_cancel64": (LARGE_AIO + "aio_cancel64(-1, &a)", "lock"),
    "setlogmask": ("setlogmask(1)", "change"), "setlogmask-2": ("setlogmask(1); setlogmask(0)", "look-up"),
    "closelog": ("closelog()", "change"),
    "aio_read": (AIO + "aio_read(&a)", "create"),
    "aio_write": (AIO + "aio_write(&a)", "create"),
    "aio_fsync": (AIO + "aio_fsync(O_SYNC, &a)", "create"),
    "lio_listio": (AIO + "struct aiocb *l[] = {&a}; a.aio_lio_opcode = LIO_READ; lio_listio(LIO_WAIT, l, 1, 0)", "create"),
    "aio_suspend": (AIO + "const struct aiocb *l[] = {&a}; aio_suspend(l, 1, 0)", "lock"),
    "aio_error": (AIO + "aio_error(&a)", "lock"),
    "aio_return": (AIO + "aio_return(&a)", "lock"),
    "aio_cancel": (AIO + "aio_cancel(-1, &a)", "lock"),
    "sem_trywait": ("if (!sem_trywait(&sem)) sem_post(&sem)", "sem-trywait"),
    "sem_timedwait": ("struct timespec t = soon(); sem_timedwait(&sem, &t); sem_post(&sem)", "timed-sem-wait"),
    "sem_clockwait": ("struct timespec t = soon(); sem_clockwait(&sem, CLOCK_REALTIME, &t); sem_post(&sem)",
                      "sem-trywait"),
    "sem_getvalue": ("int v; sem_getvalue(&sem, &v)", "sem-getvalue"),
    "sem_destroy": ("sem_t x; sem_init(&x, 0, 1); sem_destroy(&x)", "sem-destroy"),
    "sem_open": ("keep = sem_open(\"/x\", O_CREAT, 0600, 1)", "sem-name"),
    "sem_close": ("sem_close(sem_open(\"/x\", O_CREAT, 0600, 1))", "sem-name"),
    "sem_unlink": ("sem_unlink(\"/x\")", "sem-name"),
    "pthread_barrier_wait": ("pthread_barrier_t b; pthread_barrier_init(&b, 0, 1); pthread_barrier_wait(&b)",
                             "barrier-arrive"),
    "pthread_barrier_wait-2": ("pthread_barrier_t b; pthread_barrier_init(&b, 0, 1); pthread_barrier_wait(&b)",
                               "barrier-leave"),
    "pthread_barrier_destroy": ("pthread_barrier_t b; pthread_barrier_init(&b, 0, 1); pthread_barrier_destroy(&b)",
                                "barrier-destroy"),
    "pthread_spin_lock": ("pthread_spin_lock(&spin); pthread_spin_unlock(&spin)", "lock"),
    "pthread_spin_unlock": ("pthread_spin_lock(&spin); pthread_spin_unlock(&spin)", "unlock"),
    "pthread_spin_trylock": ("if (!pthread_spin_trylock(&spin)) pthread_spin_unlock(&spin)", "trylock"),
    "pthread_spin_destroy": ("pthread_spinlock_t x; pthread_spin_init(&x, 0); pthread_spin_destroy(&x)",
                             "mutex-destroy"),
    "pthread_tryjoin_np": ("pthread_t t; pthread_create(&t, 0, two, 0); if (pthread_tryjoin_np(t, 0)) pthread_join(t, 0)",
                           "tryjoin"),
    "pthread_timedjoin_np": ("pthread_t t; struct timespec a = soon(); pthread_create(&t, 0, two, 0);"
                             " pthread_timedjoin_np(t, 0, &a)", "timedjoin"),
    "pthread_clockjoin_np": ("pthread_t t; struct timespec a = soon(); pthread_create(&t, 0, two, 0);"
                             " pthread_clockjoin_np(t, 0, CLOCK_REALTIME, &a)", "timedjoin"),
    "thrd_create": ("thrd_t t; thrd_create(&t, start, 0); thrd_join(t, 0)", "create"),
    "thrd_join": ("thrd_t t; thrd_create(&t, start, 0); thrd_join(t, 0)", "join"),
    "thrd_detach": ("thrd_t t; thrd_create(&t, start, 0); thrd_detach(t)", "detach"),
    "thrd_exit": ("thrd_exit(0)", "exit"),
    "thrd_sleep": ("struct timespec t = {1, 0}; thrd_sleep(&t, 0)", "sleep"),
    "thrd_yield": ("thrd_yield()", "yield"),
    "mtx_lock": ("mtx_lock((mtx_t *)&m); mtx_unlock((mtx_t *)&m)", "lock"),
    "mtx_unlock": ("mtx_lock((mtx_t *)&m); mtx_unlock((mtx_t *)&m)", "unlock"),
    "mtx_trylock": ("if (!mtx_trylock((mtx_t *)&m)) mtx_unlock((mtx_t *)&m)", "trylock"),
    "mtx_timedlock": ("struct timespec t = soon(); if (!mtx_timedlock((mtx_t *)&m, &t)) mtx_unlock((mtx_t *)&m)",
                      "timedlock"),
    "mtx_destroy": ("mtx_t x; mtx_init(&x, mtx_plain); mtx_destroy(&x)", "mutex-destroy"),
    "cnd_signal": ("cnd_signal((cnd_t *)&c)", "signal"),
    "cnd_broadcast": ("cnd_broadcast((cnd_t *)&c)", "broadcast"),
    "cnd_destroy": ("cnd_t x; cnd_init(&x); cnd_destroy(&x)", "cond-destroy"),
    "cnd_timedwait": ("struct timespec t = soon(); mtx_lock((mtx_t *)&m); cnd_timedwait((cnd_t *)&c, (mtx_t *)&m, &t);"
                      " mtx_unlock((mtx_t *)&m)", "timedwait"),
    "call_once": ("static once_flag f = ONCE_FLAG_INIT; call_once(&f, nothing)", "once"),
    "syscall": ("static unsigned word = 1; syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0)", "futex-wait"),
    "syscall-2": ("static unsigned word; struct timespec t = {1, 0}; syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, 0, 0)",
                  "futex-return"),
    "syscall-3": ("static unsigned word; syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0)", "futex-wake"),
    "syscall-4": ("static unsigned word; syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff, 0, 0, 0)", "futex-wake-all"),
    "syscall-5": ("static unsigned word; syscall(SYS_futex, &word, FUTEX_WAKE, 9, 0, 0, 0)", "futex-wake-some"),
    "pthread_cancel": ("pthread_t t; pthread_create(&t, 0, two, 0); pthread_cancel(t); pthread_join(t, 0)", "cancel"),
    "pthread_cancel-2": ("pthread_cancel(pthread_self()); pthread_testcancel(); abort()", "exit"),
    "pthread_setcancelstate": ("pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0); pthread_cancel(pthread_self());"
                               " sleep(1); sched_yield()", "yield"),
    "pthread_setcanceltype": ("pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0); pthread_cancel(pthread_self());"
                              " abort()", "exit"),
    "pthread_kill": ("sigset_t set; sigfillset(&set); pthread_sigmask(SIG_BLOCK, &set, 0);"
                     " pthread_kill(pthread_self(), SIGUSR1); sigwaitinfo(&set, 0)", "change"),
    "pthread_sigqueue": ("sigset_t set; union sigval v = {0}; sigfillset(&set); pthread_sigmask(SIG_BLOCK, &set, 0);"
                         " pthread_sigqueue(pthread_self(), SIGUSR1, v); sigwaitinfo(&set, 0)", "change"),
    "sigtimedwait": ("sigset_t set; struct timespec t = {1, 0}; sigfillset(&set); sigtimedwait(&set, 0, &t)", "sigwait"),
    "sigwait": ("sigset_t set; int k; sigfillset(&set); pthread_sigmask(SIG_BLOCK, &set, 0); raise(SIGUSR1);"
                " sigwait(&set, &k)", "change"),
    "sigwaitinfo": ("sigset_t set; sigfillset(&set); sigprocmask(SIG_BLOCK, &set, 0); raise(SIGUSR1);"
                    " sigwaitinfo(&set, 0)", "change"),
    "sched_yield": ("sched_yield()", "yield"),
    "sleep": ("sleep(1)", "sleep"),
    "usleep": ("usleep(1)", "sleep"),
    "nanosleep": ("struct timespec t = {1, 0}; nanosleep(&t, 0)", "sleep"),
    "clock_nanosleep": ("struct timespec t = {1, 0}; clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0)", "sleep"),
    "hd_choose": ("hd_choose(3)", "choose"),
}


@each(*sorted(EVENTS))
def test_event(s, name):
    """The operation is among the events of an execution."""
    body, op = EVENTS[name]
    r, found = kinds(s, program(body, end="assert(!arg0);", extra="static void *two(void *);\nstatic int arg0 = 1;\n"))
    s.is_bug(r, ["assertion"])
    events = "\n".join(s.events())
    s.check(re.search(r"^T\S+ %s " % re.escape(op), events, re.M), "no event '%s'" % op)


def test_cnd_wait(s):
    r, _ = kinds(s, program("mtx_lock((mtx_t *)&m); cnd_wait((cnd_t *)&c, (mtx_t *)&m); mtx_unlock((mtx_t *)&m)"))
    s.is_bug(r, ["lost-wakeup"])
    s.check(any(" wait " in e for e in s.events()), "no event 'wait'")


@each("pthread_mutex_consistent", "pthread_mutex_unlock")
def test_robust(s, call):
    """The next owner learns of it; what it does then decides whether anybody gets the mutex again."""
    one = ("int e = pthread_mutex_lock(&robust); if (e == EOWNERDEAD) { told = 1; %s }"
           " if (!told && !e) e = pthread_mutex_unlock(&robust)")
    fix = "pthread_mutex_consistent(&robust);" if call.endswith("consistent") else ""
    extra = """
    static pthread_mutex_t robust; static int told;
    static void *dies(void *arg) { pthread_mutex_lock(&robust); return arg; }
    __attribute__((constructor)) static void make(void) { pthread_mutexattr_t a; pthread_mutexattr_init(&a);
      pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST); pthread_mutex_init(&robust, &a); }
    """
    end = ("pthread_t d; pthread_create(&d, 0, dies, 0); pthread_join(d, 0); pthread_mutex_lock(&robust); %s"
           " pthread_mutex_unlock(&robust); assert(pthread_mutex_lock(&robust) == %s);")
    want = "0" if fix else "ENOTRECOVERABLE"
    r, _ = kinds(s, program(one % fix, end=end % (fix, want), extra=extra))
    s.is_clean(r)


def test_tss_create(s):
    source = program("tss_set(tss, &tss)", extra="static tss_t tss; static void gone(void *v) { assert(!v); }\n")
    r, _ = kinds(s, source.replace("pthread_t a, b;", "pthread_t a, b; tss_create(&tss, gone);"))
    s.is_bug(r, ["assertion"])
    r, _ = kinds(s, source.replace("pthread_t a, b;", "pthread_t a, b; tss_create(&tss, gone); tss_delete(tss);"))
    s.is_clean(r)


def test_pthread_cond_wait(s):
    r, _ = kinds(s, program("pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m)"))
    s.is_bug(r, ["lost-wakeup"])
    s.check(any(" wait " in e for e in s.events()), "no event 'wait'")


# ---- functions that end things ----

ENDS = {
    "abort": ("abort()", "abort", ()), "__assert_fail": ("assert(!keep)", "assertion", ()),
    "raise": ("raise(SIGABRT)", "abort", ()), "exit": ("exit(3)", "exit", ()),
    "_exit": ("_exit(3)", "exit", ()), "_Exit": ("_Exit(3)", "exit", ()),
    "quick_exit": ("quick_exit(3)", "exit", ()),
    "raise-segv": ("raise(SIGSEGV)", "crash", ()),
    "kill-self": ("kill(getpid(), SIGSEGV)", "crash", ()),
}


@each(*sorted(ENDS))
def test_ends(s, name):
    body, kind, options = ENDS[name]
    body = "if (__atomic_load_n(&result, 0)) { keep = &m; %s; }" % body
    r, _ = kinds(s, program(body, "__atomic_store_n(&result, 1, 0)"), *options)
    f = s.is_bug(r, [kind])
    s.check(any(w["function"] == "one" or any(x["function"] == "one" for x in w.get("stack", [])) for w in f["where"]),
            "the caller is not shown")
    s.replay()


@each("atexit(hook)", "on_exit(hook1, 0)")
def test_exit_hooks(s, call):
    """Handlers run in every execution, not only in the first."""
    source = program("", end="(void)%s;" % call, extra="""
    static void hook(void) { assert(n == 9); }
    static void hook1(int status, void *arg) { (void)status; (void)arg; hook(); }
    """)
    r, _ = kinds(s, source)
    s.is_bug(r, ["assertion"])
    r, found = kinds(s, source.replace("n == 9", "n == 8"))
    s.is_clean(r, 3000)


# ---- time: virtual, and the same in every run ----

@each("time(0)", "clock(CLOCK_REALTIME)", "clock(CLOCK_MONOTONIC)", "gettimeofday")
def test_time(s, name):
    body = {"time(0)": "result = time(0)",
            "gettimeofday": "struct timeval v; gettimeofday(&v, 0); result = v.tv_sec * 1000000 + v.tv_usec"}.get(
                name, "struct timespec t; clock_gettime(%s, &t);"
                      " result = t.tv_sec * 1000000000 + t.tv_nsec" % name[6:-1])
    prog = s.build_text(program(body, end="printf(\"%ld\\n\", result);"))
    seen = {s.run([s.heddle, "run", "--quiet", "--", prog]).stdout for _ in range(3)}
    s.check(len(seen) == 1, "the clock differs from run to run: %s" % seen)


# ---- the rest ----

def test_key_destructor(s):
    source = program("pthread_setspecific(key, &key)", extra="static void gone(void *v) { assert(!v); }\n")
    r, _ = kinds(s, source.replace("pthread_t a, b;", "pthread_t a, b; pthread_key_create(&key, gone);"))
    f = s.is_bug(r, ["assertion"])
    s.check(any(w["function"] == "gone" for w in f["where"]), "the destructor is not shown")


def test_key_delete(s):
    """The destructor of a key that is gone does not run."""
    source = program("pthread_setspecific(key, &key)", extra="static void gone(void *v) { assert(!v); }\n")
    r, _ = kinds(s, source.replace("pthread_t a, b;", "pthread_t a, b; pthread_key_create(&key, gone); pthread_key_delete(key);"))
    s.is_clean(r)


CPUS = "cpu_set_t x, y; CPU_ZERO(&x); CPU_SET(1000, &x); "  # more than there are
SETTINGS = {
    "pthread_setaffinity_np": CPUS + "assert(pthread_setaffinity_np(pthread_self(), sizeof x, &x) == 0)",
    "pthread_getaffinity_np": CPUS + "pthread_setaffinity_np(pthread_self(), sizeof x, &x);"
                              " pthread_getaffinity_np(pthread_self(), sizeof y, &y); assert(CPU_EQUAL(&x, &y))",
    "sched_setaffinity": CPUS + "assert(sched_setaffinity(0, sizeof x, &x) == 0)",
    "sched_getaffinity": CPUS + "sched_setaffinity(0, sizeof x, &x); sched_getaffinity(0, sizeof y, &y);"
                         " assert(CPU_EQUAL(&x, &y))",
}


@each(*sorted(SETTINGS))
def test_processors(s, name):
    """Any processor is accepted, and told again; the system would not."""
    prog = s.build_text(program("", end=SETTINGS[name] + ";"))
    s.is_clean(s.search("check", prog, "--max-executions", "20"))
    s.run([prog], want=-6)


def test_scheduling(s):
    """pthread_setschedparam, pthread_setschedprio, pthread_getschedparam: kept for the thread, unknown to the system."""
    end = """struct sched_param p = {.sched_priority = 7}; int policy;
    assert(pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0 && sched_getscheduler(0) == SCHED_OTHER);
    assert(pthread_setschedprio(pthread_self(), 9) == 0 && sched_getscheduler(0) == SCHED_OTHER);
    assert(pthread_getschedparam(pthread_self(), &policy, &p) == 0 && policy == SCHED_FIFO && p.sched_priority == 9);"""
    r, _ = kinds(s, program("", end=end))
    s.is_clean(r)


def test_names(s):
    """pthread_setname_np, pthread_getname_np: the name is that of one thread, though one kernel thread runs all."""
    one = ("pthread_setname_np(pthread_self(), \"first\"); sched_yield(); char t[16];"
           " assert(!pthread_getname_np(pthread_self(), t, 16) && !strcmp(t, \"first\")); assert(!&m)")
    r, _ = kinds(s, program(one, "pthread_setname_np(pthread_self(), \"second\")"))
    f = s.is_bug(r, ["assertion"])
    s.check("(first)" in r["out"] and "!&m" in f["title"], "the name is not shown: " + r["out"])


def test_sched_getcpu(s):
    """Always processor 0, wherever it runs."""
    prog = s.build_text(program("", end="assert(sched_getcpu() == 0);"))
    last = max(os.sched_getaffinity(0))
    s.run([s.heddle, "run", "--", prog], preexec_fn=lambda: os.sched_setaffinity(0, {last}))


def test_sigpending(s):
    """A signal that is masked is pending for the thread that raised it, and for no other."""
    mask = "sigset_t set, got; sigemptyset(&set); sigaddset(&set, SIGUSR1); sigprocmask(SIG_BLOCK, &set, 0); "
    ask = "sched_yield(); sigpending(&got); assert(%ssigismember(&got, SIGUSR1))"
    r, _ = kinds(s, program(mask + "pthread_kill(pthread_self(), SIGUSR1); " + ask % "", mask + ask % "!"))
    s.is_clean(r, 3000)


def test_signal_reset(s):
    """A handler set in one execution is gone in the next."""
    body = "struct sigaction o; sigaction(SIGUSR2, 0, &o); assert(o.sa_handler == SIG_DFL); %s"
    for call in ("signal(SIGUSR2, SIG_IGN)", "struct sigaction x = {.sa_handler = SIG_IGN}; sigaction(SIGUSR2, &x, 0)"):
        r, _ = kinds(s, program(body % call))
        s.is_clean(r, 3000)


def test_choose(s):
    """hd_choose tries every outcome, and says 0 outside Heddle."""
    for want in (0, 1, 2):
        r, _ = kinds(s, program("int k = hd_choose(3); assert(k != %d)" % want))
        s.is_bug(r, ["assertion"])
    s.run([s.build_text(program("assert(hd_choose(3) == 0 && !hd_controlled())"))])
    r, _ = kinds(s, program("assert(hd_controlled())"))
    s.is_clean(r)


def test_library_functions_without_hooks(s):
    """What libc itself does with locks and memory (stdio, qsort, getenv) does not disturb a controlled run."""
    one = ("for (int i = 0; i < 5; i++) printf(\"line %d\\n\", i); fflush(stdout); char x[30];"
           " snprintf(x, 30, \"%d\", 5); free(strdup(getenv(\"PATH\"))); puts(x)")
    r, _ = kinds(s, program(one, "for (int i = 0; i < 5; i++) printf(\"other\\n\")"))
    s.is_clean(r, 3000)


WIDE = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "size_t", "s8", "u8",
        "s16", "u16", "s32", "u32", "s64", "u64", "float", "double")


@each("bool", "pointer", *WIDE)
def test_nondet(s, name):
    """Every value is tried, the search is clean only when that is all of them, and on its own it is 0."""
    of = {"bool": "_Bool", "pointer": "void *", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned",
          "ulong": "unsigned long", "longlong": "long long", "ulonglong": "unsigned long long"}
    kind = of.get(name, {"s": "int%s_t", "u": "uint%s_t"}.get(name[0], "%s") % name[1:]
                  if name[0] in "su" and name[1:].isdigit() else name)
    values = 2 if name == "bool" else 3 if name == "pointer" else 4 if name[0] == "u" or name == "size_t" else 5
    source = """
    #include <assert.h>
    #include <stddef.h>
    #include <stdint.h>
    extern %s __VERIFIER_nondet_%s(void);
    int main(int argc, char **argv) {
      %s v = __VERIFIER_nondet_%s();
      assert(argc > 1 || !v);
      return 0;
    }""" % (kind, name, kind, name)
    prog = s.build_text(source)
    r = s.search("check", prog, "--strategy", "optimal")
    s.is_bug(r, ["assertion"])
    s.replay()
    r = s.search("check", prog, "--strategy", "optimal", args=("x",), want=0)
    s.same((r["executions"], r["verdict"]), (values, "clean" if name == "bool" else "bounded"), "values and verdict")
    s.same([x["reason"] for x in r["inexact"]], [] if name == "bool" else ["values"], "reasons")
    s.run([prog])


def test_verifier_names_outside(s):
    """On its own, a failed assumption ends the program quietly, and an error aborts it."""
    source = """
    extern void __VERIFIER_assume(int), __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);
    extern void reach_error(void), __VERIFIER_error(void);
    int main(int argc, char **argv) {
      __VERIFIER_atomic_begin();
      __VERIFIER_atomic_end();
      __VERIFIER_assume(argc > 1);
      if (argc > 2) __VERIFIER_error();
      reach_error();
    }"""
    prog = s.build_text(source)
    s.run([prog])
    s.run([prog, "1"], want=-6)
    s.run([prog, "1", "2"], want=-6)


@each(".c", ".cc")
def test_header(s, suffix):
    """heddle.h in both languages, and with a compiler that knows nothing of Heddle."""
    source = """
    #include "heddle.h"
    int main(void) {
      hd_assume(!hd_controlled() || hd_choose(2));
      hd_atomic_begin();
      hd_atomic_end();
      return hd_choose(1);
    }"""
    r = s.search("check", s.build_text(source, suffix=suffix), "--strategy", "optimal", want=0)
    s.same((r["executions"], r["infeasible"]), (1, 1), "executions")
    include = os.path.join(s.build, "lib", "heddle", "include")
    s.run(["g++" if suffix == ".cc" else "gcc", "-Wall", "-Wextra", "-Werror", "-I", include, "prog" + suffix, "-o", "plain"])
    s.run(["./plain"])


def test_note(s):
    """A note is shown with the failure, among the events at its place, and is no scheduling point."""
    body = "pthread_mutex_lock(&m); hd_note(\"has the\\nlock\"); pthread_mutex_unlock(&m); %s"
    r, _ = kinds(s, program(body % "assert(!&m)"))
    f = s.is_bug(r, ["assertion"])
    note = f["notes"][-1]
    s.same((note["thread"], note["text"]), (f["where"][0]["thread"], "has the?lock"), "note")
    s.check("%s noted at event %d: has the?lock\n" % (note["thread"], note["event"]) in r["out"], "text: " + r["out"])
    lines = s.events(".heddle/1", plain=True)
    s.check(lines[note["event"] - 1].startswith("%s note " % note["thread"]), "not among the events: %s" % lines)
    s.check(lines[note["event"] - 2].startswith("%s lock " % note["thread"]), "not at its place: %s" % lines)
    s.replay()
    counts = []
    for text in (body % "", (body % "").replace("hd_note(\"has the\\nlock\");", "")):
        r = s.search("check", s.build_text(program(text, text)), "--strategy", "optimal", want=0)
        counts.append((r["executions"], r["events"], r["verdict"]))
    s.same(counts[0], counts[1], "executions with and without a note")


@each("memory", "fork")
def test_target(s, restart):
    """Executions that reach a label are counted, each once."""
    one = "if (hd_choose(3) == 1) { hd_target(\"one\"); hd_target(\"one\"); } hd_target(\"all\")"
    r = s.search("check", s.build_text(program(one)), "--strategy", "optimal", "--restart", restart, want=0)
    s.same((r["executions"], r["targets"]), (3, {"one": 1, "all": 3}), "targets")
    s.check("  target `one`: reached in 1 execution\n" in r["out"], "summary: " + r["out"])
    r = s.search("check", s.build_text(program("")), "--strategy", "optimal", "--restart", restart, want=0)
    s.check("targets" not in r, "targets without any")
