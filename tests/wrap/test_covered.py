"""Every function that the runtime stands in front of has a test that it engages, and litmus programs that are right and
that have a bug. What is listed here instead is tested both ways in test_engage.py, or cannot be called by a program."""
import glob
import os
import re

import litmus

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Called by compilers (OpenMP: test_openmp.py) and by other functions of libc, not by programs; Heddle's own; an older name of free.
INTERNAL = re.compile(r"__|_Z|GOMP_|hd_rt_|heddle_debug_|reach_error|cfree")
ELSEWHERE = dict.fromkeys(("dlopen", "dlclose", "dlsym"), "tests/cli/test_dlopen.py")  # what takes more than one file
ELSEWHERE.update(dict.fromkeys("omp_set_lock omp_unset_lock omp_set_nest_lock omp_unset_nest_lock omp_test_lock".split(),
                               "tests/wrap/test_openmp.py"))
ELSEWHERE.update(dict.fromkeys("close_range closefrom mlock mlock2 munlock".split(), "tests/litmus/descriptors/fd_ranges.c"))
ELSEWHERE.update(system="tests/litmus/processes/child_ways.c", popen="tests/litmus/processes/child_ways.c",
                 fts_close="tests/wrap/test_engage.py")
ELSEWHERE.update(dict.fromkeys(("longjmp", "_longjmp", "siglongjmp"), "tests/cli/test_check.py"))  # what frameworks do
# Both ways, and by more than one function.
BOTH_WAYS = re.compile(r"(WTF)?Annotate|RunningOnValgrind|ValgrindSlowdown|ThreadSanitizerQuery")  # test_annotate.py
# What takes a terminal, a database or message queues, which a system may lack.
ABSENT = """ttyname ptsname getlogin getgroups getservbyname getservbyport getprotobyname getprotobynumber mq_receive
getlogin_r ttyname_r flistxattr mq_timedreceive mq_getattr mq_notify""".split()


def functions(s):
    with open(os.path.join(ROOT, "docs", "supported.md")) as f:
        names = re.findall(r"^\| `(\w+)` +\| (?:controlled|passed through)", f.read(), re.M)
    s.check(len(names) > 150, "docs/supported.md lists %d functions only" % len(names))
    return [n for n in names if not INTERNAL.match(n) and n not in ABSENT]


def words(path):
    with open(path) as f:
        return set(re.findall(r"\w+", re.sub(r"//.*|/\*.*?\*/", "", f.read(), flags=re.S if path.endswith("h") else 0)))


def programs():
    """The words of the litmus programs that have a right case, and of those that have one with a bug."""
    right, wrong = set(), set()
    for path in litmus.programs(os.path.join(ROOT, "tests", "litmus")):
        found = words(path)
        for case in litmus.parse(path):
            e = case["expect"]
            (right if e.startswith("clean") or (e.startswith("exact") and "kinds=" not in e) else wrong).update(found)
    return right, wrong


def test_every_function(s):
    right, wrong = programs()
    header = words(os.path.join(ROOT, "tests", "litmus", "litmus.h"))
    engage = set()
    for path in glob.glob(os.path.join(HERE, "test_*.py")):
        if path != os.path.abspath(__file__) and not path.endswith("symbols.py"):
            with open(path) as f:
                engage.update(re.findall(r"\w+", f.read()))
    missing = []
    both_ways = set(tables())
    for name in functions(s):
        if name in ELSEWHERE:
            s.check(name in words(os.path.join(ROOT, ELSEWHERE[name])), "%s is not tested in %s" % (name, ELSEWHERE[name]))
            continue
        if BOTH_WAYS.match(name):
            s.check(name in engage, "%s is not tested in test_annotate.py" % name)
            continue
        lacks = [what for what, where in (("a test that it engages", engage), ("a right program", right | header | both_ways),
                                          ("a program with a bug", wrong | header | both_ways)) if name not in where]
        if lacks:
            missing.append("%s lacks %s" % (name, " and ".join(lacks)))
    s.check(not missing, "; ".join(missing))


# What C++ builds of these functions, and of futexes.
CXX = """thread jthread stop_token mutex recursive_mutex timed_mutex shared_mutex condition_variable condition_variable_any
future promise async packaged_task call_once latch barrier counting_semaphore atomic notify_one thread_local
set_terminate list map set""".split()


def test_cxx(s):
    right, wrong = programs()
    missing = ["%s lacks a %s program" % (name, what) for name in CXX for what, where in (("right", right), ("wrong", wrong))
               if name not in where]
    s.check(not missing, "; ".join(missing))


def tables():
    """Functions that are tested with and without a bug: of memory and of streams (test_engage.py), those that take several
    things (test_pairs.py), those on wide characters (test_locale.py)."""
    import importlib.util
    modules = []
    for name in "engage", "pairs", "locale":
        spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, "test_%s.py" % name))
        modules.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(modules[-1])
    engage, pairs, characters = modules
    return [*pairs.PAIRS, *pairs.EXEC, *characters.CHARACTERS, *engage.READS, *engage.WRITES, *engage.HIDDEN, *engage.ALLOC, *engage.PUBLISHED, *engage.STREAM, "valloc", "pvalloc", "malloc_usable_size"]
