"""heddle concolic --driver bounded: models of the literature (bench/concolic) are covered with as many interferences as it says."""
import os
import re
import shutil

from scratch import each

CLANG = shutil.which("clang-19")
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench", "concolic")

# Flags, outcomes covered with 0, 1, ... interferences, at most so many scenarios, and the inputs of the failure.
CASES = {
    "bluetooth": ("bluetooth", [], [5, 4, 1], 282, {}),
    "coverable": ("coverable", [], [3, 1], 20, {"input": range(2, 1 << 31)}),
    "addall": ("addall", [], [2, 2], 100, {"n": range(6, 11)}),
    "mutual": ("mutual", [], [3, 1], 100, {"want": range(16, 20)}),
    "art2": ("art", ["-DTHREADS=2"], [5, 1], 80, {}),
}


@each(*CASES)
def test_model(s, name):
    model, flags, covered, most, inputs = CASES[name]
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-g", "-O1", *flags, os.path.join(MODELS, model + ".c"), "-o", "prog"])
    p = s.run([s.heddle, "concolic", "--driver", "bounded", "--all", "--", "./prog"], want=1)
    line = re.search(r"branches.*", p.stdout).group()
    of = re.search(r"(\d+) of (\d+) outcomes covered: (.*)", line)
    s.same(of[1], of[2], "outcomes covered")
    s.same([int(x) for x in re.findall(r"(\d+) with", of[3])], covered, "by interferences")
    s.check(int(re.search(r"scenarios: (\d+)", p.stdout)[1]) <= most, "more scenarios than %d: %s" % (most, p.stdout))
    for input_name, values in inputs.items():
        n = int(re.search(r"\b%s = (-?\d+)" % input_name, p.stdout)[1])
        s.check(n in values, "%s = %d" % (input_name, n))
