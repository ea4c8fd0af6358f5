"""Litmus programs: the expectations in their first lines, and the tests made of them.

A program opens with comment lines `// key: value`. Keys before the first `expect` apply to the whole file.
Each `expect` starts a case; the keys after it (args, where, ...) belong to that case.

  // expect: kind=data-race           check reports exactly one finding, of this kind (a|b: of one of these), which is
                                      replayed --times N, all identical; the exit status is 1. The replayed
                                      schedule is no larger than the original, which is replayed too
  // expect: clean executions=200     nothing is found by the default strategy in at most 200 executions, nor in 200
                                      random ones; the program also succeeds natively
  // expect: goes-on executions=50    with --all: 50 executions run, or all there are, although the program
                                      destroys itself, and at least one finding is stored; kinds= limits its
                                      kind. 50 random ones always run; 50+: or more.
  // expect: exact executions=6 kinds=crash,leak
                                      with --all: `optimal` runs 6 executions, one per happens-before class, and no
                                      redundant ones; `dpor` and (unless dfs=no) `dfs` reach the same classes, final
                                      states and findings. Findings are of exactly these kinds (default none), and each
                                      is replayed; infeasible= and states= are numbers that must match (default 0)
  // args: --spurious                 more options for check
  // argv: a b                        arguments of the program
  // where: function=worker line=@x   a place that the finding must have; @x is the line with @x in a comment
  // says: text                       check prints this text about the finding
  // compilers: gcc clang             (default both)
  // opt: -O0 -O2                     (default -O1)
  // restart: memory fork             (default auto)
  // cflags: -fexceptions
  // replays: N                       (default 3)
  // native: no                       do not run the program on its own
"""
import collections
import glob
import hashlib
import os
import re
import shutil
import tempfile
import threading

HEADER = re.compile(r"// ([a-z]+): (.*?)\s*$")
KEYS = {"expect", "args", "argv", "where", "says", "compilers", "opt", "restart", "cflags", "replays", "native"}
LISTS = {"args", "where", "says"}  # may be repeated


def parse(path):
    """The cases of a file: a list of dicts."""
    common, cases = {}, []
    with open(path) as f:
        lines = f.read().splitlines()
    for line in lines:
        m = HEADER.match(line)
        if not m:
            if line.startswith("//"):
                continue
            break
        key, value = m.groups()
        if key not in KEYS:
            raise ValueError("%s: unknown key '%s'" % (path, key))
        if key == "expect":
            cases.append(dict({k: list(v) if k in LISTS else v for k, v in common.items()}, expect=value))
            continue
        target = cases[-1] if cases else common
        if key in LISTS:
            target.setdefault(key, []).append(value)
        else:
            target[key] = value
    if not cases:
        raise ValueError("%s: no `// expect:` in its first lines" % path)
    for case in cases:
        for i, where in enumerate(case.get("where", [])):
            tag = re.search(r"@\w+", where)
            if tag:
                at = [n for n, l in enumerate(lines, 1) if re.search(tag.group() + r"\b", l) and "where:" not in l]
                if len(at) != 1:
                    raise ValueError("%s: %s is on %d lines" % (path, tag.group(), len(at)))
                case["where"][i] = where.replace(tag.group(), str(at[0]))
    return cases


def programs(folder):
    """The paths of all programs, grouped in folders by topic."""
    return sorted(glob.glob(os.path.join(folder, "*", "*.c")) + glob.glob(os.path.join(folder, "*", "*.cc")))


def find(folder, name):
    """The path of the program of that name."""
    [path] = glob.glob(os.path.join(folder, "*", name))
    return path


def tests(folder):
    """(name, function) of every case of every program, with every compiler, level and restart mode."""
    for path in programs(folder):
        name = os.path.splitext(os.path.relpath(path, folder))[0]
        cases = parse(path)
        for n, case in enumerate(cases):
            label = name if len(cases) == 1 else "%s.%d" % (name, n + 1)
            for compiler in case.get("compilers", "gcc clang").split():
                for opt in case.get("opt", "-O1").split():
                    for restart in case.get("restart", "auto").split():
                        yield ("litmus/%s[%s,%s,%s]" % (label, compiler, opt, restart),
                               lambda s, a=(path, case, compiler, opt, restart): one(s, *a))


BUILT = tempfile.TemporaryDirectory(prefix="heddle-test-built-")
locks = collections.defaultdict(threading.Lock)  # one for each program in BUILT


def build(s, path, flags, compiler):
    """Makes ./prog. The cases of a program that are built alike share one.

    A process of its own copies it: a file that this process has open for writing is inherited by whatever another thread
    starts meanwhile, and cannot be executed until that has called exec (ETXTBSY)."""
    key = hashlib.sha256(repr((s.heddle, path, flags, compiler)).encode()).hexdigest()
    built = os.path.join(BUILT.name, key)
    with locks[key]:
        if not os.path.exists(built):
            s.cc(path, "prog", *flags, compiler=compiler)
            shutil.copy(s.path("prog"), built)
            return
    s.run(["cp", built, "prog"])


def one(s, path, case, compiler, opt, restart):
    flags = [opt, "-I" + os.path.dirname(os.path.dirname(path)), *case.get("cflags", "").split()]
    build(s, path, flags, compiler)
    words = case["expect"].split()
    what = dict(w.split("=", 1) for w in words if "=" in w)
    options = ["--restart", restart] + " ".join(case.get("args", [])).split()
    argv = case.get("argv", "").split()
    if words[0] == "clean":
        n = int(what.get("executions", 200))
        if case.get("native") != "no":
            s.run(["./prog", *argv])
        options = ["--max-executions", str(n), *options]
        if "--strategy" not in options:
            s.is_clean(s.search("check", "./prog", *options, args=argv))
            options += ["--strategy", "random"]
        s.is_clean(s.search("check", "./prog", *options, args=argv), n)
    elif words[0] == "goes-on":
        n, more_often = int(what["executions"].rstrip("+")), what["executions"].endswith("+")
        options = ["--all", "--max-executions", str(n), *options]
        kinds = what["kinds"].split("|")
        for more in (["--strategy", "random", "--out", "random", "--no-explain"], []):
            r = s.search("check", "./prog", *options, *more, args=argv)
            s.is_bug(r, kinds, exactly_one=False)
            if more or not r["complete"]:
                done = r["executions"] + r["discarded"]
                s.check(done == n or (more_often and done > n), "%d executions, expected %d" % (done, n))
            s.check(not r.get("error"), "error: %s" % r.get("error"))
        if int(case.get("replays", 3)):
            s.replay(times=int(case.get("replays", 3)))
    elif words[0] == "exact":
        exact(s, what, ["--all", "--classes", *options], argv, int(case.get("replays", 3)))
    else:
        r = s.search("check", "./prog", *options, args=argv)
        f = s.is_bug(r, what["kind"].split("|"))
        for where in case.get("where", []):
            wanted = dict(w.split("=", 1) for w in where.split())
            s.check(any(fits(p, wanted) for p in f["where"]), "no place with %s; there are: %s" % (
                where, ", ".join("%s:%s %s %s" % (p["function"], p["line"], p["thread"], p["role"])
                                 for p in f["where"])))
        for text in case.get("says", []):
            said = " ".join((r["out"] + r["err"]).split())  # wherever a line is wrapped
            s.check(text in said, "'%s' is not in: %s" % (text, said))
        hang = options[options.index("--hang-timeout") + 1:][:1] if "--hang-timeout" in options else []
        s.replay(times=int(case.get("replays", 3)), options=["--hang-timeout", *hang] if hang else [])
        if smaller(s, f):
            s.replay(times=1, options=["--original"])
        s.same(s.findings(), [1], "stored findings")


COST = ("preemptions", "switches", "threads", "steps")


def smaller(s, f):
    """Whether the schedule was minimised; the result must not be larger."""
    m = f.get("minimised")
    if not m:
        s.check(f["kind"] == "hang" or f["partial"], "no smaller schedule was looked for")
        return False
    cost, before = [m[k] for k in COST], [m["original"][k] for k in COST]
    s.check(cost <= before, "a larger schedule than the original: %s, not %s" % (cost, before))
    return True


def exact(s, what, options, argv, replays):
    kinds = sorted(filter(None, what.get("kinds", "").split(",")))
    seen = []
    for strategy in ("dfs", "dpor", "optimal"):  # the findings of the last one are replayed
        if strategy == "dfs" and what.get("dfs") == "no":
            continue
        shutil.rmtree(s.path(".heddle"), ignore_errors=True)
        r = s.search("check", "./prog", "--strategy", strategy, "--no-explain", *options, args=argv)
        s.same(sorted(f["kind"] for f in r["findings"]), kinds, "kinds of findings")
        s.check(r["complete"], "not complete: %s" % (r["out"] + r["err"]))
        s.check(all(f["replays"] for f in r["findings"]), "a finding did not replay")
        seen.append((r["classes"], r["class_sum"], r["states"], r["state_sum"],
                     sorted(f["key"] for f in r["findings"])))
        s.same(seen[-1], seen[0], "classes, states and findings")
    s.same(r["executions"], int(what["executions"]), "number of executions")
    s.same(r.get("infeasible", 0), int(what.get("infeasible", 0)), "number of infeasible executions")
    s.same((r["blocked"], r["classes"]), (0, r["executions"] + r.get("infeasible", 0)), "blocked, and classes")
    s.same(r["states"], int(what.get("states", 0)), "number of final states")
    for n in s.findings():
        s.replay(".heddle/%d" % n, times=replays)


def fits(p, wanted):
    for key, value in wanted.items():
        got = p.get(key)
        if str(got) != value and not (key == "function" and got and re.sub(r"\(.*|<.*", "", got) == value):
            return False
    return True
