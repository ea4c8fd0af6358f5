"""Dynamic annotations, as ThreadSanitizer has them: each does what it says, and without it there is a race."""
from scratch import each

# What comes before, what after.
ORDERS = {
    "HappensBefore": ("AnnotateHappensBefore(AT, &o)", "AnnotateHappensAfter(AT, &o)"),
    "WTF": ("WTFAnnotateHappensBefore(AT, &o)", "WTFAnnotateHappensAfter(AT, &o)"),
    "CondVarSignal": ("AnnotateCondVarSignal(AT, &o)", "AnnotateCondVarWait(AT, &o, 0)"),
    "CondVarSignalAll": ("AnnotateCondVarSignalAll(AT, &o)", "AnnotateCondVarWait(AT, &o, 0)"),
    "PCQ": ("AnnotatePCQPut(AT, &o)", "AnnotatePCQGet(AT, &o)"),
    "RWLock": ("AnnotateRWLockReleased(AT, &o, 1L)", "AnnotateRWLockAcquired(AT, &o, 1L)"),
}
# In the thread that would race, around its access.
QUIET = {
    "IgnoreReads": ("AnnotateIgnoreReadsBegin(AT)", "AnnotateIgnoreReadsEnd(AT)"),
    "IgnoreWrites": ("AnnotateIgnoreWritesBegin(AT)", "AnnotateIgnoreWritesEnd(AT)"),
    "BenignRace": ("AnnotateBenignRace(AT, &data, \"\")", "0"),
    "BenignRaceSized": ("AnnotateBenignRaceSized(AT, &data, sizeof data, \"\")", "0"),
    "WTFBenignRaceSized": ("WTFAnnotateBenignRaceSized(AT, &data, sizeof data, \"\")", "0"),
}
NOTHING = """AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy
AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar AnnotatePCQCreate AnnotatePCQDestroy AnnotatePublishMemoryRange
AnnotateUnpublishMemoryRange AnnotateNewMemory AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized AnnotateTraceMemory
AnnotateExpectRace AnnotateFlushExpectedRaces AnnotateFlushState AnnotateEnableRaceDetection AnnotateThreadName
AnnotateNoOp RunningOnValgrind ValgrindSlowdown ThreadSanitizerQuery""".split()
DATA = "static char data, o; static int flag;\n"


def program(one, two, more=""):
    return """
    #include <pthread.h>
    #define AT __FILE__, __LINE__
    %s %s
    static void *one(void *arg) { %s return arg; }
    static void *two(void *arg) { %s return arg; }
    int main(void) {
      pthread_t t, u;
      pthread_create(&t, 0, one, 0);
      pthread_create(&u, 0, two, 0);
      pthread_join(t, 0);
      pthread_join(u, 0);
      return 0;
    }""" % (DATA, more, one, two)


def build(s, *parts):
    return s.build_text(program(*parts), "-Wno-implicit-function-declaration")


@each(*ORDERS)
def test_orders(s, name):
    before, after = ORDERS[name]
    take = "AnnotateRWLockAcquired(AT, &o, 1L);" if name == "RWLock" else ""
    one = "%s data = 1; %%s __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);" % take
    two = "if (__atomic_load_n(&flag, __ATOMIC_RELAXED)) { %s data = 2; }"
    s.is_clean(s.search("check", build(s, one % (before + ";"), two % (after + ";"))))
    s.is_bug(s.search("check", build(s, one.replace(take, "") % "", two % "")), ["data-race"])


@each(*QUIET)
def test_quiet(s, name):
    begin, end = QUIET[name]
    s.is_clean(s.search("check", build(s, "%s; data = 1; %s;" % (begin, end), "%s; data = 2; %s;" % (begin, end))))
    s.is_bug(s.search("check", build(s, "data = 1;", "data = 2;")), ["data-race"])


def test_nothing(s):
    """They link, and change nothing."""
    calls = "".join("%s();" % name for name in NOTHING if name not in ("ThreadSanitizerQuery", "AnnotateRWLockDestroy"))
    calls += "AnnotateRWLockDestroy(AT, &o); ThreadSanitizerQuery(\"\");"
    s.is_clean(s.search("check", build(s, calls, calls)))
    s.is_bug(s.search("check", build(s, calls + "data = 1;", calls + "data = 2;")), ["data-race"])


@each("random", "pct", "pos", "rff", "surw", "uniform", "sites")
def test_own_lock(s, strategy):
    """A lock in assembly, declared: no races, and a thread that waits for it by yielding does not wait for ever, though what it
    reads is not seen."""
    more = """
    #include <sched.h>
    static int lock;
    static int get(void) { int o = 1; __asm__ volatile("xchgl %0, %1" : "+r"(o), "+m"(lock) :: "memory"); return !o; }
    static void put(void) { __asm__ volatile("movl $0, %0" : "=m"(lock) :: "memory"); }
    """
    add = """for (int i = 0; i < 2; i++) {
      while (!get()) sched_yield();
      AnnotateRWLockAcquired(AT, &lock, 1L); data++; AnnotateRWLockReleased(AT, &lock, 1L);
      put(); }"""
    r = s.search("check", build(s, add, add, more), "--strategy", strategy, "--max-executions", "3000")
    s.same(r["findings"], [], "findings")
    s.check("length" not in [x["reason"] for x in r["inexact"]], r["inexact"])
