"""Random programs of two threads made sequential: what a search of the sequential program reaches is what the two threads reach.

The programs are those of interference.py. Its interpreter runs them with all values of inputs and all schedules in which the first
thread sees nothing that the second one has written. With K interferences of the second thread, the program that `heddle
sequentialize` makes has to come to the same code and to have the same failures. Where the first thread fails, it ends the
sequential program before the second one begins.

    python3 tests/fuzz/sequential.py --build build --seed 1 --programs 100
"""
import collections
import itertools
import os
import subprocess
import sys

import campaign
import interference


class Machine(interference.Machine):
    def steps(self, state, cost, only=None):
        """Without those in which the first thread sees what the second one has written."""
        threads, memory, _ = state
        pc, code = threads[0][0], self.p.code[0]
        sees = 0 <= pc < len(code) and code[pc][1] in ("read", "add") and memory[interference.SHARED.index(code[pc][3])][1] == 1
        return super().steps(state, cost, 1 if sees else only)

    def all(self):
        p = self.p
        for given in itertools.product(*[range(lo, hi + 1) for _, _, lo, hi in p.inputs]):
            kept, self.failure = self.failure, {}
            p.threads = 1
            self.run(given)
            p.threads = 2
            failed, self.failure = self.failure, {**kept, **self.failure}
            if not failed:
                self.run(given)


def compare(want, got, k):
    targets = set(got.get("targets", {}))
    must = {name for name, degree in want.labels.items() if degree <= k}
    if targets != must:
        return "%s not reached, %s too many" % (sorted(must - targets), sorted(targets - must))
    found = {f["where"][0]["line"] for f in got["findings"]}
    must = {line for line, degree in want.failure.items() if degree <= k}
    if found != must:
        return "failures: %s missing, %s too many" % (sorted(must - found), sorted(found - must))
    return "" if got["complete"] else "not complete: %s" % got["inexact"]


def check(heddle, seed, folder, seconds):
    program = interference.Program(seed)
    want = Machine(program)
    if program.threads != 2:
        return "large", ""
    try:
        want.all()
    except interference.TooLarge:
        return "large", ""
    source, text, out = (os.path.join(folder, name) for name in ("p.c", "s.c", "s"))
    with open(source, "w") as f:
        f.write("\n".join(program.lines))
    sums = collections.Counter()
    p = subprocess.run([heddle, "sequentialize", source, "-u", "9", "-o", text], stderr=subprocess.PIPE, text=True)
    if p.returncode:
        return "wrong", p.stderr
    for k in range(3):
        p = subprocess.run([heddle, "cc", "--symbolic", "-w", "-g", "-O0", "-fwrapv", "-DHD_SEQ_K=%d" % k, text, "-o", out],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            return "wrong", "does not compile: " + p.stdout
        got = interference.search(heddle, ["--driver", "partition"], out, folder, seconds)
        if isinstance(got, str):
            return "wrong", got
        if got["stopped"] == "time":
            return "large", ""
        wrong = compare(want, got, k)
        if wrong:
            return "wrong", "K = %d: %s" % (k, wrong)
        sums += collections.Counter({"labels": len(got.get("targets", {})), "failures": len(got["findings"]), "executions": got["executions"]})
    return "ok", sums


def main():
    o = campaign.options(60).parse_args()

    def summary(sums):
        return "%d labels, %d failures, %d executions for K = 0 to 2" % (sums["labels"], sums["failures"], sums["executions"])

    return campaign.run(o, lambda heddle, seed, folder: check(heddle, seed, folder, o.seconds), summary)


if __name__ == "__main__":
    sys.exit(main())
