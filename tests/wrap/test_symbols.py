"""Every function that the runtime stands in for is exported by it, and nothing else is."""
import re

ATOMIC = ["load", "store", "exchange", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_nand",
          "compare_exchange_strong", "compare_exchange_weak", "compare_exchange_val"]


def tsan():
    """The names of the ThreadSanitizer ABI that gcc and clang may call."""
    for n in (1, 2, 4, 8, 16):
        for what in ("read", "write", "volatile_read", "volatile_write", "read_write"):
            yield "__tsan_%s%d" % (what, n)
            if n > 1:
                yield "__tsan_unaligned_%s%d" % (what, n)
        for op in ATOMIC:
            yield "__tsan_atomic%d_%s" % (8 * n, op)
    for name in ("read_range", "write_range", "vptr_read", "vptr_update", "func_entry", "func_exit", "init", "memcpy",
                 "memset", "memmove", "atomic_thread_fence", "atomic_signal_fence"):
        yield "__tsan_" + name
    for name in PLUGIN:
        yield "__heddle_" + name
    for name in LIBATOMIC:
        yield "__atomic_" + name
        for n in (1, 2, 4, 8, 16):
            yield "__atomic_%s_%d" % (name, n)
    for n in (1, 2, 4, 8, 16):
        for op in ("add", "sub", "and", "or", "xor", "nand"):
            yield "__atomic_fetch_%s_%d" % (op, n)
            yield "__atomic_%s_fetch_%d" % (op, n)


# What the plug-ins for the compilers call.
PLUGIN = ("init masked_read masked_write signed_read signed_write volatile_read volatile_write asm_read asm_write "
          "asm_atomic asm_opaque").split()
LIBATOMIC = ("load", "store", "exchange", "compare_exchange")

WRAPPED = """
pthread_create pthread_join pthread_detach pthread_exit pthread_once pthread_key_create pthread_key_delete
__pthread_register_cancel __pthread_unregister_cancel __pthread_unwind_next
pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock
pthread_mutex_clocklock pthread_mutex_unlock
pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait
pthread_cond_signal pthread_cond_broadcast
pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_tryrdlock
pthread_rwlock_trywrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_clockrdlock
pthread_rwlock_clockwrlock pthread_rwlock_unlock
pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np pthread_mutex_consistent
thrd_create thrd_join thrd_detach thrd_exit thrd_sleep thrd_yield mtx_lock mtx_trylock mtx_timedlock mtx_unlock
mtx_destroy cnd_wait cnd_timedwait cnd_signal cnd_broadcast cnd_destroy call_once tss_create tss_delete
pthread_kill pthread_sigmask sigprocmask sigpending sigwait sigwaitinfo sigtimedwait
pthread_cancel pthread_testcancel pthread_setcancelstate pthread_setcanceltype
syscall pthread_setname_np pthread_getname_np pthread_setaffinity_np pthread_getaffinity_np sched_setaffinity
sched_getaffinity pthread_setschedparam pthread_getschedparam pthread_setschedprio
pthread_barrier_init pthread_barrier_destroy pthread_barrier_wait
pthread_spin_init pthread_spin_destroy pthread_spin_lock pthread_spin_trylock pthread_spin_unlock
sem_init sem_destroy sem_open sem_close sem_unlink sem_wait sem_trywait sem_timedwait sem_clockwait sem_post
sem_getvalue
malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc pvalloc malloc_usable_size
strdup strndup
memcpy memset memmove memcmp memchr mempcpy strlen strnlen strcpy stpcpy strncpy strcat strncat strcmp strncmp
strcasecmp strncasecmp strchr strrchr strstr bzero bcopy bcmp
sleep usleep nanosleep clock_nanosleep clock_gettime gettimeofday time sched_yield
exit _exit _Exit quick_exit abort raise __assert_fail __assert_perror_fail __ubsan_handle_out_of_bounds __ubsan_handle_out_of_bounds_abort __cxa_atexit on_exit
__cxa_throw __cxa_rethrow _ZSt13set_terminatePFvvE _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE
__cxa_guard_acquire __cxa_guard_release __cxa_guard_abort __cxa_thread_atexit_impl
sigaction signal __libc_start_main hd_rt_choose hd_rt_controlled
""".split()


def exported(s):
    text = s.run(["nm", "-D", "--defined-only", s.runtime]).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.strip()}


def test_tsan_abi(s):
    missing = set(tsan()) - exported(s)
    s.check(not missing, "not exported: " + " ".join(sorted(missing)))


def test_wrapped(s):
    missing = set(WRAPPED) - exported(s)
    s.check(not missing, "not exported: " + " ".join(sorted(missing)))


def test_nothing_leaks_out(s):
    """Names of our own that a program could clash with are hidden."""
    own = {n for n in exported(s) if re.match(r"hd_|hd__|HD_", n) and not n.startswith("hd_rt_")}
    s.check(not own, "exported: " + " ".join(sorted(own)))


def test_soname(s):
    text = s.run(["readelf", "-d", s.runtime]).stdout
    s.check("Library soname: [libheddle_rt.so.1]" in text, "the soname is not libheddle_rt.so.1")


def test_compilers_emit_nothing_else(s):
    """Whatever gcc and clang call __tsan_* in a program of everything is there."""
    source = """
    #include <stdint.h>
    #include <string.h>
    typedef int v4 __attribute__((vector_size(16)));
    struct __attribute__((packed)) p { char c; short s; int i; long l; v4 v; };
    struct big { long a[40]; };
    volatile char vc; volatile short vs; volatile int vi; volatile long vl; volatile v4 vv;
    char c; short s; int i; long l; v4 v; struct p p; struct big x, y; __int128 w;
    void plain(void) { c++; s++; i++; l++; v += 1; vc++; vs++; vi++; vl++; vv += 1;
      p.s++; p.i++; p.l++; p.v += 1; x = y; }
    void atomics(void) {
      __atomic_fetch_nand(&c, 1, 5); __atomic_fetch_add(&s, 1, 0); __atomic_exchange_n(&i, 1, 4);
      __atomic_store_n(&l, 1, 3);
      __atomic_thread_fence(5); __atomic_signal_fence(5); __sync_synchronize(); __sync_lock_test_and_set(&i, 1);
      __sync_lock_release(&i); __sync_bool_compare_and_swap(&l, 1, 2); __sync_val_compare_and_swap(&c, 1, 2); }
    void blocks(void *a, void *b, unsigned long n) {
      memcpy(a, b, n); memmove(b, a, n); memset(a, 1, n); memset(&x, 0, sizeof x); }
    int main(void) { plain(); atomics(); blocks(&x, &y, sizeof x); return 0; }
    """
    for compiler in ("gcc", "clang"):
        for opt in ("-O0", "-O1", "-O2", "-O3"):
            program = s.build_text(source, opt, "-msse4.1", compiler=compiler)
            text = s.run(["nm", "-u", program]).stdout
            missing = set(re.findall(r"\b__tsan_\w+", text)) - exported(s)
            s.check(not missing, "%s %s calls what is not there: %s" % (compiler, opt, " ".join(sorted(missing))))
