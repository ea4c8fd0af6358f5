"""Random threaded programs with small inputs: what the drivers of `heddle concolic` reach.

Each program is run by an interpreter here, with all values of its inputs and all schedules. For each outcome of each
branch that gives the smallest number of interferences with which it can be reached: reads of a value that another thread
wrote. With --interference K, heddle has to come to all code that K interferences reach and to find the failures in it, and
must not say of an outcome that fewer interferences reach it than do. (It may say more: where a condition is simplified
to a constant, it does not count.) The driver `hyper` has to reach all code that any values and schedule
reach, and no other, and to find all failures. The driver `sequential` has to reach what each thread reaches alone.

    python3 tests/fuzz/interference.py --build build --seed 1 --programs 100
"""
import collections
import heapq
import itertools
import json
import os
import random
import subprocess
import sys

import campaign

SHARED = ["x", "y", "z"]
MAX_STATES = 60000

HEAD = """#include <heddle.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
"""

# ---- expressions: (op, a, b), a name, or a number ----

OPS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
       "^": lambda a, b: a ^ b, "|": lambda a, b: a | b}
TESTS = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b,
         "<=": lambda a, b: a <= b, ">": lambda a, b: a > b}


def wrap(v):
    return (v + (1 << 31)) % (1 << 32) - (1 << 31)


def value(e, env):
    if isinstance(e, int):
        return e
    if isinstance(e, str):
        return env[e]
    return wrap(OPS[e[0]](value(e[1], env), value(e[2], env)))


def is_symbolic(e, env):
    """Whether it depends on inputs or shared memory."""
    return not isinstance(e, int) and (env["?" + e] if isinstance(e, str) else is_symbolic(e[1], env) or is_symbolic(e[2], env))


def text(e):
    return "(%s %s %s)" % (text(e[1]), e[0], text(e[2])) if isinstance(e, tuple) else str(e)


# ---- a program: for each thread a list of instructions, and the lines of its source ----

class Program:
    """Instructions: (line, kind, ...). `read` local, shared; `write` shared, expr; `add` local, shared, expr: an atomic
    addition; `set` local, expr; `label` name; `if` test, a, b, where to go if not; `goto`; `lock`, `unlock`; `fail`."""

    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.threads = r.choice([2, 2, 2, 3])
        self.inputs = []
        self.initial = {s: r.choice([0, 0, 1, 5]) for s in SHARED}
        self.lines = HEAD.splitlines()
        for s in SHARED:
            self.lines.append("static _Atomic int %s = %d;" % (s, self.initial[s]))
        self.code = []
        self.labels_of = []
        self.depth = self.failures = self.labels = 0
        self.locked = False
        of = sorted(r.sample(range(1, self.threads + 1), r.choice([1, 1, 2])))
        for t in range(1, self.threads + 1):
            self.thread(t, t in of, 1 if len(of) > 1 else r.choice([1, 1, 2]))
        self.main()

    def emit(self, line, *instruction):
        if line is not None:
            self.lines.append("  " * (self.depth + 1) + line)
        if instruction:
            self.now.append([len(self.lines), *instruction])

    def thread(self, t, has_input, n):
        r = self.r
        self.now, self.names = [], ["v", "w"]
        self.code.append(self.now)
        self.labels_of.append(set())
        self.lines.append("static void *t%d(void *p) {" % t)
        self.emit("int v = 0, w = 1;")
        for _ in range(n if has_input else 0):
            name = "i%d" % (len(self.inputs) + 1)
            bits = 3 if n > 1 or r.random() < 0.6 else 4
            lo = r.choice([0, 0, -3])
            self.inputs.append((name, t, lo, lo + (1 << bits) - 1))
            self.names.append(name)
            self.emit('int %s = (int)hd_input_range(%d, %d, "%s");' % (name, lo, lo + (1 << bits) - 1, name))
        self.budget = r.randint(3, 6) if self.threads == 2 else r.randint(2, 4)  # operations on shared memory
        while self.budget > 0:
            self.statement()
        self.emit("return p;")
        self.lines.append("}")

    def expr(self, depth=1):
        r = self.r
        if depth == 0 or r.random() < 0.4:
            return r.choice(self.names * 2 + [r.choice([-2, 1, 2, 3, 4, 7])])
        a, b = self.expr(depth - 1), self.expr(0)
        if b == a or (isinstance(a, int) and isinstance(b, int)):
            return a
        return (r.choice(list(OPS)), a, b)

    def block(self, n):
        self.depth += 1
        for _ in range(n):
            self.statement()
        self.depth -= 1

    def statement(self):
        r = self.r
        kind = r.randrange(12)
        if kind < 4:
            self.branch()
        elif kind < 6:
            self.shared_read()
        elif kind < 8:
            self.shared_write()
        elif kind == 8 and not self.locked:
            self.section()
        elif kind == 9:
            self.budget -= 1
            name, s, e = r.choice("vw"), r.choice(SHARED), self.expr(0)
            self.emit("%s = atomic_fetch_add(&%s, %s);" % (name, s, text(e)), "add", name, s, e)
        elif kind == 10 and self.depth == 0:
            self.loop()
        else:
            name, e = r.choice("vw"), self.expr(2)
            self.budget -= 0.2
            self.emit("%s = %s;" % (name, text(e)), "set", name, e)

    def shared_read(self):
        name, s = self.r.choice("vw"), self.r.choice(SHARED)
        self.budget -= 1
        self.emit("%s = %s;" % (name, s), "read", name, s)

    def shared_write(self):
        s, e = self.r.choice(SHARED), self.expr()
        self.budget -= 1
        self.emit("%s = %s;" % (s, text(e)), "write", s, e)

    def section(self):
        self.locked = True
        self.emit("pthread_mutex_lock(&mutex);", "lock")
        for _ in range(self.r.randint(1, 2)):
            self.r.choice([self.shared_read, self.shared_write, self.branch])()
        self.emit("pthread_mutex_unlock(&mutex);", "unlock")
        self.locked = False

    def loop(self):
        bound = ("&", self.r.choice(self.names), 1)
        self.emit("int n%d = 0;" % len(self.lines), "set", "n", 0)
        n = self.lines[-1].split()[1]
        self.now[-1][2] = n
        start = len(self.now)
        self.emit("while (%s < %s) {" % (n, text(bound)), "if", "<", n, bound, None)
        test = self.now[-1]
        self.emit("  %s++;" % n, "set", n, ("+", n, 1))
        self.depth += 1
        self.r.choice([self.shared_read, self.shared_write])()
        self.depth -= 1
        self.emit("}", "goto", start)
        test[5] = len(self.now)

    def label(self):
        self.labels += 1
        name = "b%d" % self.labels
        self.emit('  hd_target("%s");' % name, "label", name)
        self.labels_of[-1].add(name)

    def branch(self):
        r = self.r
        if self.depth > 2 or self.labels > 26:
            self.budget -= 0.3
            return
        a, b, test = r.choice(self.names), self.expr(1), r.choice(["==", "==", "==", "!=", "<", ">", "<=", ">="])
        if r.random() < 0.5:
            self.shared_read()
            a = self.now[-1][2]
        if a == b:
            b = r.choice([0, 1, 2, 5])
        self.budget -= 0.3
        self.emit("if (%s %s %s) {" % (text(a), test, text(b)), "if", test, a, b, None)
        at = self.now[-1]
        self.label()
        fails = r.random() < (0.25 if test == "==" else 0.05)
        if fails:
            self.failures += 1
            self.emit('  hd_failure("f%d");' % self.failures, "fail")
        else:
            self.block(r.randint(0, 2))
        if not fails and r.random() < 0.4:
            out = [len(self.lines), "goto", None]
            self.now.append(out)
            at[5] = len(self.now)
            self.emit("} else {")
            self.label()
            self.block(r.randint(1, 2))
            out[2] = len(self.now)
        else:
            at[5] = len(self.now)
        self.emit("}")

    def main(self):
        self.lines.append("int main(void) {")
        self.lines.append("  pthread_t t[%d];" % self.threads)
        for t in range(self.threads):
            self.lines.append("  pthread_create(&t[%d], 0, t%d, 0);" % (t, t + 1))
        for t in range(self.threads):
            self.lines.append("  pthread_join(t[%d], 0);" % t)
        self.lines += ["  return 0;", "}", ""]


# ---- all values and schedules ----

class TooLarge(Exception):
    pass


class Machine:
    """For each outcome (line, true or false) and failure (line): the smallest number of interferences."""

    def __init__(self, program):
        self.p = program
        self.degree = {}
        self.failure = {}
        self.labels = {}
        self.plain = set()
        self.reached_alone = set()
        self.states = 0

    def note(self, table, key, cost):
        if cost < table.get(key, 1 << 30):
            table[key] = cost

    def local(self, t, pc, env, cost):
        """Runs what is the thread's own. Returns pc, or None at the end or a failure, which ends the program."""
        code = self.p.code[t]
        while pc < len(code):
            i = code[pc]
            if i[1] == "set":
                env["?" + i[2]] = is_symbolic(i[3], env)
                env[i[2]] = value(i[3], env)
                pc += 1
            elif i[1] == "label":
                self.note(self.labels, i[2], cost)
                pc += 1
            elif i[1] == "goto":
                pc = i[2]
            elif i[1] == "if":
                yes = TESTS[i[2]](value(i[3], env), value(i[4], env))
                if not is_symbolic(i[3], env) and not is_symbolic(i[4], env):
                    self.plain.add(i[0])
                self.note(self.degree, (i[0], yes), cost)
                pc = pc + 1 if yes else i[5]
            elif i[1] == "fail":  # a step of its own
                self.note(self.failure, i[0], cost)
                return pc, True
            else:
                return pc, False
        return pc, False

    def start(self, given):
        p = self.p
        first = []
        for t in range(p.threads):
            env = {"v": 0, "w": 1, "?v": False, "?w": False}
            for k, (name, of, _, _) in enumerate(p.inputs):
                if of == t + 1:
                    env.update({name: given[k], "?" + name: True})
            pc, failed = self.local(t, 0, env, 0)
            if failed:
                pc = -1
            first.append((pc, tuple(sorted(env.items()))))
        return (tuple(first), tuple((p.initial[s], -1) for s in SHARED), -1)

    def run(self, given):
        start = self.start(given)
        heap, best, tie = [(0, 0, start)], {start: 0}, itertools.count(1)
        while heap:
            cost, _, state = heapq.heappop(heap)
            if best[state] < cost:
                continue
            self.states += 1
            if self.states > MAX_STATES:
                raise TooLarge()
            for then, more in self.steps(state, cost):
                if then not in best or more < best[then]:
                    best[then] = more
                    heapq.heappush(heap, (more, next(tie), then))

    def alone(self, given):
        """What each thread does when the others wait."""
        kept = self.degree, self.failure, self.labels
        for t in range(self.p.threads):
            self.degree, self.failure, self.labels = {}, {}, {}
            state = self.start(given)
            while True:
                then = [s for s, _ in self.steps(state, 0, t)]
                if not then:
                    break
                state = then[0]
            self.reached_alone |= {name for name in self.labels if name in self.p.labels_of[t]}
        self.degree, self.failure, self.labels = kept

    def steps(self, state, cost, only=None):
        threads, memory, owner = state
        for t, (pc, pairs) in enumerate(threads):
            if only not in (None, t) or pc < 0 or pc >= len(self.p.code[t]):
                continue
            i, env, mem, own, more = self.p.code[t][pc], dict(pairs), list(memory), owner, cost
            if i[1] == "lock":
                if own >= 0:
                    continue
                own = t
            elif i[1] == "unlock":
                own = -1
            else:
                k = SHARED.index(i[2] if i[1] == "write" else i[3])
                if i[1] != "write":
                    more += mem[k][1] not in (-1, t)
                if i[1] != "write":
                    env["?" + i[2]] = True
                if i[1] == "read":
                    env[i[2]] = mem[k][0]
                elif i[1] == "write":
                    mem[k] = (value(i[3], env), t)
                else:
                    old = mem[k][0]
                    mem[k] = (wrap(old + value(i[4], env)), t)
                    env[i[2]] = old
            after, failed = self.local(t, pc + 1, env, more)
            if failed:  # the others may go on before it does
                after = -1
            yield (threads[:t] + ((after, tuple(sorted(env.items()))),) + threads[t + 1:], tuple(mem), own), more

    def all(self):
        for given in itertools.product(*[range(lo, hi + 1) for _, _, lo, hi in self.p.inputs]):
            self.run(given)
            self.alone(given)


# ---- the comparison ----

def compare(want, got, k):
    """What is wrong with what a search for k interferences says, or ''."""
    missing = {name for name, degree in want.labels.items() if degree <= k} - set(got.get("targets", {}))
    if missing:
        return "%s not reached" % sorted(missing)
    for b in got.get("branches", []):
        degree = want.degree.get((b["line"], b["outcome"]), 99)
        if b["line"] in want.plain:
            continue  # decided by constants, too: then heddle does not see it
        if b["covered"] and degree > b["interferences"]:
            return "line %d, %s: heddle says %d interferences, but %d" % (b["line"], b["outcome"], b["interferences"], degree)
    found = {f["where"][0]["line"] for f in got["findings"]}
    must = {line for line, degree in want.failure.items() if degree <= k}
    if must - found or found - set(want.failure):
        return "failures: %s missing, %s too many" % (sorted(must - found), sorted(found - set(want.failure)))
    reasons = {r["reason"] for r in got["inexact"]} - {"interferences"}
    return "not complete: %s" % sorted(reasons) if reasons else ""


def compare_hyper(want, got):
    targets, found = set(got.get("targets", {})), {f["where"][0]["line"] for f in got["findings"]}
    if targets != set(want.labels):
        return "%s not reached, %s too many" % (sorted(set(want.labels) - targets), sorted(targets - set(want.labels)))
    if found != set(want.failure):
        return "failures: %s missing, %s too many" % (sorted(set(want.failure) - found), sorted(found - set(want.failure)))
    reasons = {r["reason"] for r in got["inexact"]} - {"varied"}
    return "not complete: %s" % sorted(reasons) if reasons else ""


def compare_sequential(want, got):
    missing = want.reached_alone - set(got.get("targets", {}))
    reasons = {r["reason"] for r in got["inexact"]} - {"alone"}
    return "%s not reached" % sorted(missing) if missing else "not complete: %s" % sorted(reasons) if reasons else ""


def search(heddle, words, out, folder, seconds):
    """The JSON result, or what is wrong."""
    p = subprocess.run([heddle, "concolic", *words, "--all", "--no-explain", "--quiet", "--time", "%ds" % seconds, "--json", "-",
                        "--out", os.path.join(folder, "found" + words[-1]), "--", out],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return p.stderr or "no result"


def check(heddle, seed, folder, most, seconds, drivers):
    program = Program(seed)
    want = Machine(program)
    try:
        want.all()
    except TooLarge:
        return "large", ""
    source, out = os.path.join(folder, "p.c"), os.path.join(folder, "p")
    with open(source, "w") as f:
        f.write("\n".join(program.lines))
    p = subprocess.run([heddle, "cc", "--symbolic", "-w", "-g", "-O0", "-fwrapv", source, "-o", out], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        return "wrong", "does not compile: " + p.stdout
    sums = collections.Counter(min(d, most + 1) for d in want.degree.values()) + collections.Counter(states=want.states)
    ways = [(["--driver", "bounded", "--interference", str(k)], lambda got, k=k: compare(want, got, k)) for k in range(most + 1)]
    ways = ways if "bounded" in drivers else []
    if "hyper" in drivers:
        ways.append((["--driver", "hyper"], lambda got: compare_hyper(want, got)))
    if "sequential" in drivers:
        ways.append((["--driver", "sequential"], lambda got: compare_sequential(want, got)))
    for words, judge in ways:
        got = search(heddle, words, out, folder, seconds)
        if isinstance(got, str):
            return "wrong", got
        if got["stopped"] == "time":
            return "large", ""
        wrong = judge(got)
        if wrong:
            return "wrong", "%s: %s" % (" ".join(words), wrong)
        sums += collections.Counter(executions=got["executions"], failures=len(got["findings"]))
    return "ok", sums


def main():
    p = campaign.options(60)
    p.add_argument("--interference", type=int, default=2, help="interferences, at most")
    p.add_argument("--drivers", default="bounded,hyper,sequential")
    o = p.parse_args()

    def summary(sums):
        reach = ", ".join("%d with %s" % (sums[k], "more" if k > o.interference else k) for k in range(o.interference + 2))
        return "outcomes: %s interferences; %d failures; %d executions of heddle, %d states" % (
            reach, sums["failures"], sums["executions"], sums["states"])

    return campaign.run(o, lambda heddle, seed, folder: check(heddle, seed, folder, o.interference, o.seconds, o.drivers.split(",")), summary)


if __name__ == "__main__":
    sys.exit(main())
