"""What differs between processes on a real system is the same in every controlled run: pids, clocks, random
numbers, addresses. And a long search takes no more memory than a short one."""
import os
import subprocess

from scratch import each

VALUES = {
    "getpid": "getpid()", "gettid": "gettid()", "getppid": "getppid()", "clock": "clock()", "time": "time(0)",
    "clock_gettime": "(clock_gettime(CLOCK_REALTIME, &ts), ts.tv_nsec + ts.tv_sec)",
    "clock_gettime-monotonic": "(clock_gettime(CLOCK_MONOTONIC, &ts), ts.tv_nsec + ts.tv_sec)",
    "clock_gettime-cpu": "(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), ts.tv_nsec + ts.tv_sec)",
    "clock_gettime-syscall": "(syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts), ts.tv_nsec + ts.tv_sec)",
    "getrandom": "(getrandom(&v, 8, 0), v)", "rand": "rand()", "random": "random()",
    "urandom": "(fd = open(\"/dev/urandom\", O_RDONLY), read(fd, &v, 8), close(fd), v)",
    "getentropy": "(getentropy(&v, 8), v)", "arc4random": "arc4random()", "drand48": "(long)(1e9 * drand48())",
    "arc4random_buf": "(arc4random_buf(&v, 8), v)", "arc4random_uniform": "arc4random_uniform(1u << 30)",
    "urandom-pread": "(fd = open(\"/dev/urandom\", O_RDONLY), pread(fd, &v, 8, 0), close(fd), v)",
    "urandom-stdio": "(fread(&v, 8, 1, fopen(\"/dev/random\", \"r\")), v)",
    "timespec_get": "(timespec_get(&ts, TIME_UTC), ts.tv_nsec + ts.tv_sec)",
    "gettimeofday-syscall": "(syscall(SYS_gettimeofday, &ts, 0), ts.tv_nsec + ts.tv_sec)",
    "time-syscall": "syscall(SYS_time, 0)",
    "getrusage": "(getrusage(RUSAGE_SELF, &ru), ru.ru_utime.tv_usec + ru.ru_stime.tv_usec + ru.ru_maxrss)",
    "mkstemp": "(fd = mkstemp(name), unlink(name), memcpy(&v, name + 2, 6), v)",
    "stack-address": "(long)&ts", "heap-address": "(long)malloc(10)", "code-address": "(long)main",
    "libc-address": "(long)printf",
    "thread-address": "(long)pthread_self()", "sched_getcpu": "sched_getcpu()",
}


@each(*sorted(VALUES))
def test_same_in_every_process(s, name):
    program = s.build_text("""
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <pthread.h>
    #include <sched.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/random.h>
    #include <sys/resource.h>
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>
    static void *worker(void *arg) { return arg; }
    int main(void) {
      struct timespec ts; struct rusage ru; char name[] = "abXXXXXX"; (void)name; (void)ru; long v = 0; int fd; pthread_t t; (void)fd; (void)ts;
      pthread_create(&t, 0, worker, 0); pthread_join(t, 0);
      long x = %s;
      printf("%%ld\\n", x);
      (void)v;
      return 0;
    }
    """ % VALUES[name])
    seen = {s.run([s.heddle, "run", "--quiet", "--restart", mode, "--", program]).stdout
            for mode in ("memory", "fork", "auto") for _ in range(2)}
    s.check(len(seen) == 1, "differs from run to run: %s" % " ".join(sorted(x.strip() for x in seen)))


def test_random_device(s):
    """std::random_device, which asks the processor."""
    program = s.build_text("""
    #include <cstdio>
    #include <random>
    int main() { std::random_device d; std::printf("%u\\n", d()); }
    """, suffix=".cc")
    seen = {s.run([s.heddle, "run", "--quiet", "--", program]).stdout for _ in range(3)}
    s.check(len(seen) == 1, "differs from run to run: %s" % seen)
    s.run([program])


def test_real_nondeterminism_is_told(s):
    """A program that asks what nobody controls, the processor's random numbers, is told so in one line, not searched wrongly."""
    program = s.build_text("""
    #include <pthread.h>
    int x;
    static unsigned long noise(void) { unsigned long v; __asm__ volatile("rdrand %0" : "=r"(v)); return v; }
    static void *worker(void *arg) { for (long i = 0; i < *(long *)arg; i++) __atomic_fetch_add(&x, 1, 0); return 0; }
    int main(void) {
      static long v; pthread_t a, b; v = 1 + noise() % 997;
      pthread_create(&a, 0, worker, &v); pthread_create(&b, 0, worker, &v); pthread_join(a, 0); pthread_join(b, 0);
      return 0;
    }
    """)
    p = s.run([s.heddle, "check", "--max-executions", "50", "--", program], want=3)
    s.check(len(p.stderr.splitlines()) == 1 and "not deterministic" in p.stderr, "unclear: " + p.stderr)


def test_late_nondeterminism_is_told(s):
    """When it shows only in some schedules the search goes on, but does not claim to be complete, and says why."""
    program = s.build_text("""
    #include <pthread.h>
    int x, n;
    static unsigned long noise(void) { unsigned long v; __asm__ volatile("rdrand %0" : "=r"(v)); return v; }
    static void *worker(void *arg) {
      if (__atomic_fetch_add(&n, 1, 5) == 0 && arg && noise() % 2) return arg;
      for (int i = 0; i < 4; i++) __atomic_fetch_add(&x, 1, 5);
      return arg;
    }
    int main(void) {
      pthread_t a, b;
      pthread_create(&a, 0, worker, 0); pthread_create(&b, 0, worker, &x); pthread_join(a, 0); pthread_join(b, 0);
      return 0;
    }
    """)
    r = s.search("check", program, "--strategy", "dfs", "--max-executions", "20000", want=None)
    s.check(r["verdict"] == "bounded" and r.get("strayed"), "%s, strayed %s" % (r["verdict"], r.get("strayed")))
    p = s.run([s.heddle, "check", "--strategy", "dfs", "--", program])
    s.check("bounded" in p.stdout and "not deterministic" in p.stdout, "unclear: " + p.stdout)


def test_memory_does_not_grow(s):
    """Ten times the executions in one process take no more memory."""
    program = s.build_text("""
    #include <pthread.h>
    #include <stdlib.h>
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static int x;
    static void *worker(void *arg) {
      for (int i = 0; i < 3; i++) {
        void *p = malloc(30);
        pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);
        free(p);
      }
      return arg; }
    int main(void) {
      pthread_t a, b;
      pthread_create(&a, 0, worker, 0); pthread_create(&b, 0, worker, 0);
      pthread_join(a, 0); pthread_join(b, 0);
      return 0; }
    """)

    def peak(n):
        p = subprocess.Popen([s.heddle, "check", "--quiet", "--strategy", "random", "--restart", "memory",
                              "--max-executions", str(n), "--", program], cwd=s.dir, env=s.env,
                             stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
        s.check(status == 0, "wait status %d" % status)
        return usage.ru_maxrss
    few, many = peak(40000), peak(400000)
    s.check(many < few + 1024, "%d KiB after 40,000 executions, %d KiB after 400,000" % (few, many))
