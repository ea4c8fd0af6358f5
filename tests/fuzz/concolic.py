"""Random threaded programs with small inputs: what `heddle concolic` finds and reaches is what a search of all values finds.

The same source is built twice. With CHOOSE each input is a choice of its value (hd_choose), and `heddle check` runs
all; without, `heddle concolic` has to find out which values matter. Both must be complete, and have the same findings
(kind and line) and the same labels (hd_target, one for each side of each branch). The driver mta promises less: it must not
find anything else, and at least 90 % of the labels must be reached in all programs together.

    python3 tests/fuzz/concolic.py --build build --seed 1 --programs 100
"""
import collections
import json
import os
import random
import shutil
import subprocess
import sys

import campaign

HEAD = """#include <heddle.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#ifdef CHOOSE
#define IN(lo, hi, name) ((lo) + hd_choose((hi) - (lo) + 1))
#else
#define IN(lo, hi, name) ((int)hd_input_range(lo, hi, name))
#endif
static _Atomic int x, y;
static int m, table[4] = {3, 1, 4, 1};
static unsigned char bytes[8];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __attribute__((noinline)) int twice(int v, int w) { return 2 * v + w; }
static __attribute__((noinline)) long pick(long v, short w) { return v > w ? v : w; }
struct pair { int a; short b; unsigned char c; };
static __attribute__((noinline)) struct pair make(int a, int b) { struct pair p = {a, (short)b, (unsigned char)(a + b)}; return p; }
"""


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.labels = 0
        self.inputs = 0
        self.depth = 0

    def label(self):
        self.labels += 1
        return f'hd_target("b{self.labels}");'

    def expr(self, names, depth=2):
        r = self.r
        if depth == 0 or r.random() < 0.3:
            return r.choice(names + [str(r.randint(-3, 9))])
        a, b = self.expr(names, depth - 1), self.expr(names, depth - 1)
        kind = r.randrange(20)
        if kind < 9:
            return f"({a} {r.choice(['+', '-', '*', '&', '|', '^'])} {b})"
        return [
            f"(({a}) << (({b}) & 3))", f"(({a}) >> 1)", f"(({a}) / ((({b}) & 3) + 1))", f"(({a}) % 5)",
            f"(unsigned char)({a})", f"(int)(short)({a} * 1000)", f"(({a}) < ({b}) ? {a} : {b})",
            f"twice({a}, {b})", f"(int)pick({a}, (short)({b}))", f"table[({a}) & 3]", f"make({a}, {b}).c",
        ][kind - 9]

    def condition(self, names):
        r = self.r
        a, b = self.expr(names), self.expr(names, 1)
        one = f"({a}) {r.choice(['==', '!=', '<', '<=', '>', '>='])} ({b})"
        if r.random() < 0.2:
            return f"({one}) {r.choice(['&&', '||'])} (({self.expr(names, 1)}) & 1)"
        return one

    def statement(self, names, thread):
        r = self.r
        kind = r.randrange(14)
        if kind < 4 and self.labels < 26 and self.depth < 3:
            self.depth += 1
            c = self.condition(names)
            text = f"if ({c}) {{ {self.label()} {self.block(names, thread, r.randint(0, 2))} }}"
            text += f" else {{ {self.label()} {self.block(names, thread, r.randint(0, 1))} }}"
            self.depth -= 1
            return text
        if kind == 4 and self.labels < 26:
            cases = sorted(set(r.randint(-1, 6) for _ in range(3)))
            text = f"switch ({self.expr(names)}) {{"
            for c in cases:
                text += f" case {c}: {self.assign(names)} {'break;' if r.random() < 0.8 else ''}"
            return text + f" default: {self.label()} }}"
        if kind == 5:
            return f"if ({self.condition(names)}) hd_failure(\"f{r.randrange(1000)}\");"
        if kind == 6:
            return f"{r.choice(['x', 'y'])} = {self.expr(names)};"
        if kind == 7:
            return f"v = {r.choice(['x', 'y'])};"
        if kind == 8:
            return f"pthread_mutex_lock(&mutex); m {r.choice(['=', '+=', '^='])} {self.expr(names, 1)}; v += m; pthread_mutex_unlock(&mutex);"
        if kind == 9:
            return f"v = atomic_fetch_{r.choice(['add', 'or', 'xor', 'sub'])}(&{r.choice(['x', 'y'])}, {self.expr(names, 1)});"
        if kind == 10:
            return f"{{ int e = {self.expr(names, 1)}; if (atomic_compare_exchange_strong(&x, &e, {self.expr(names, 1)})) {{ {self.label()} }} v = e; }}" if self.labels < 26 else "v++;"
        if kind == 11:
            return f"{{ unsigned char c[4]; int e = {self.expr(names, 1)}; memcpy(c, &e, 4); v = c[{r.randrange(4)}] - c[0]; }}"
        if kind == 12:
            return f"for (int i = 0; i < (({self.expr(names, 1)}) & 3); i++) w += i + v;"
        return self.assign(names)

    def assign(self, names):
        return f"{self.r.choice(['v', 'w'])} = {self.expr(names)};"

    def block(self, names, thread, n):
        return " ".join(self.statement(names, thread) for _ in range(n))

    def input(self, names, bits):
        self.inputs += 1
        name = f"i{self.inputs}"
        lo = self.r.choice([0, 0, -2])
        names.append(name)
        return f"int {name} = IN({lo}, {lo + (1 << bits) - 1}, \"{name}\");"

    def body(self, thread, bits, n):
        names = ["v", "w"]
        text = "  int v = 0, w = 1; "
        for b in bits:
            text += self.input(names, b) + " "
        text += "\n"
        for _ in range(n):
            text += "  " + self.statement(names, thread) + "\n"
        return text

    def source(self):
        r = self.r
        threads = r.choice([1, 1, 2])
        bits = [[3]] + [r.choice([[], [2]]) for _ in range(threads)] if r.random() < 0.5 else [[2, 2]] + [[] for _ in range(threads)]
        r.shuffle(bits)
        text = HEAD
        for t in range(threads):
            text += f"static void *t{t}(void *p) {{\n{self.body(t, bits[t], r.randint(2, 4))}  return (void *)(long)(v + w); }}\n"
        text += "int main(void) {\n  pthread_t t[2];\n"
        for t in range(threads):
            text += f"  pthread_create(&t[{t}], 0, t{t}, 0);\n"
        text += self.body(threads, bits[threads], r.randint(2, 4))
        for t in range(threads):
            text += f"  {{ void *r; pthread_join(t[{t}], &r); v += (int)(long)r; }}\n"
        text += f"  if (v == {r.randint(0, 9)} || (x > 2 && y == m)) hd_failure(\"end\");\n  return 0;\n}}\n"
        return text


def search(heddle, words, program, folder, seconds):
    command = [heddle] + words + ["--all", "--no-explain", "--quiet", "--time", f"{seconds}s", "--json", "-", "--out", os.path.join(folder, "found"), "--", program]
    try:
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=10 * seconds, cwd=folder)
        o = json.loads(p.stdout)
    except (subprocess.TimeoutExpired, ValueError) as e:
        return dict(error=str(e), stderr=getattr(locals().get("p"), "stderr", ""))
    places = {(f["kind"], tuple(sorted(w.get("line", 0) for w in f["where"][:1]))) for f in o["findings"]}
    return dict(complete=o["complete"], executions=o["executions"], findings=places, targets=set(o.get("targets") or {}),
                reasons=[r["reason"] for r in o["inexact"]], stderr=p.stderr)


def wrong_mta(want, got):
    """What is wrong with the result of a driver that does not search everything."""
    if "error" in got:
        return "mta: " + got["error"] + got["stderr"]
    for what in ("findings", "targets"):
        if got[what] - want[what]:
            return f"mta: {what}: too many {got[what] - want[what]}"
    return ""


def check(heddle, seed, folder, seconds, level):
    source = os.path.join(folder, "p.c")
    with open(source, "w") as f:
        f.write(Program(seed).source())
    for words, out in ((["-DCHOOSE"], "all"), (["--symbolic"], "one")):
        p = subprocess.run([heddle, "cc", *words, "-w", "-g", level, "-fno-strict-overflow", source, "-o", os.path.join(folder, out)],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            return "wrong", "does not compile: " + p.stdout
    shutil.rmtree(os.path.join(folder, "found"), ignore_errors=True)
    want = search(heddle, ["check", "--strategy", "optimal"], os.path.join(folder, "all"), folder, seconds)
    if "error" in want or not want["complete"]:
        return "large", ""
    mta = search(heddle, ["concolic", "--driver", "mta"], os.path.join(folder, "one"), folder, seconds)
    wrong = wrong_mta(want, mta)
    if wrong:
        return "wrong", wrong
    got = search(heddle, ["concolic"], os.path.join(folder, "one"), folder, seconds)
    if "error" in got:
        return "wrong", got["error"] + got["stderr"]
    if not got["complete"]:
        return ("large" if "time" in got["reasons"] else "wrong"), f"not complete: {got['reasons']}"
    for what in ("findings", "targets"):
        if got[what] != want[what]:
            return "wrong", f"{what}: missing {want[what] - got[what]}, too many {got[what] - want[what]}"
    return "ok", collections.Counter({"all": want["executions"], "classes": got["executions"], "findings": len(want["findings"]),
                                      "labels": len(want["targets"]), "mta": mta["executions"],
                                      "mta findings": len(mta["findings"]), "mta labels": len(mta["targets"])})


def main():
    o = campaign.options(20).parse_args()

    def summary(sums):
        return ("executions: %d with all values, %d with classes; %d findings, %d labels; mta: %d executions, %d findings, %d labels" %
                tuple(sums[k] for k in ("all", "classes", "findings", "labels", "mta", "mta findings", "mta labels")))

    return campaign.run(o, lambda heddle, seed, folder: check(heddle, seed, folder, o.seconds, ["-O1", "-O0", "-O2"][seed % 3]),
                        summary, lambda sums: sums["mta labels"] >= 0.9 * sums["labels"])


if __name__ == "__main__":
    sys.exit(main())
