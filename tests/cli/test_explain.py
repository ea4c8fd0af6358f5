"""Smaller schedules: what is stored, what is replayed, and that the original is never lost."""
import json
import os
import re

import common
from scratch import each

# With many preemptions the first schedule found is a long one; a single preemption is enough.
UPDATES = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int sum;
static void *t(void *a) {
  for (int i = 0; i < 3; i++) atomic_store(&sum, atomic_load(&sum) + 1);
  return a;
}
int main(void) {
  pthread_t id[3];
  for (int i = 0; i < 3; i++) pthread_create(&id[i], 0, t, 0);
  for (int i = 0; i < 3; i++) pthread_join(id[i], 0);
  assert(sum == 9);
  return 0;
}
"""
RANDOM = ("--strategy", "random")


def parts(s, folder=".heddle/1"):
    return {name: s.read(os.path.join(folder, name)) for name in sorted(os.listdir(s.path(folder)))}


def test_check_explains(s):
    program = s.build_text(UPDATES)
    f = s.is_bug(s.search("check", program, *RANDOM), ["assertion"])
    m = f["minimised"]
    s.same((m["preemptions"], m["fewest_preemptions"]), (1, True), "preemptions, and that there are none with fewer")
    s.check(m["original"]["preemptions"] > 1, "the random schedule has only %d" % m["original"]["preemptions"])
    there = parts(s)
    s.check({"schedule", "schedule.min", "trace", "trace.min"} <= set(there), "stored: %s" % sorted(there))
    s.same(json.loads(there["finding.json"])["minimised"], m, "what is stored")
    s.check("schedule: 1 preemption (the minimum), " in there["finding.txt"], there["finding.txt"])
    s.check("steps %d\n" % m["steps"] in there["schedule.min"], "the smaller schedule has another length")
    s.check("steps %d\n" % m["original"]["steps"] in there["schedule"], "the original has another length")


def test_replay_takes_the_smaller_one(s):
    program = s.build_text(UPDATES)
    s.search("check", program, *RANDOM)
    for options, name in (((), "trace.min"), (("--original",), "trace")):
        events = len(re.findall(r"^\d+ ", s.run([s.heddle, "trace", "show", ".heddle/1/" + name]).stdout, re.M))
        p = s.replay(times=1, options=options)
        s.check("all %d events identical" % events in p.stderr, "other events than those of %s: %s" % (name, p.stderr))


def test_no_explain(s):
    program = s.build_text(UPDATES)
    f = s.is_bug(s.search("check", program, *RANDOM, "--no-explain"), ["assertion"])
    s.check("minimised" not in f, "a smaller schedule was looked for")
    before = parts(s)
    s.check("schedule.min" not in before and "trace.min" not in before, "stored: %s" % sorted(before))
    s.run([s.heddle, "explain", ".heddle/1"], want=1)
    after = parts(s)
    for name in ("schedule", "trace", "command.json", "output"):
        s.same(after[name], before[name], name)
    s.check("schedule.min" in after, "explain stored nothing")
    s.replay(times=2)
    # A second time nothing gets worse.
    p = s.run([s.heddle, "explain", ".heddle/1", "--json", "-"], want=1)
    s.same(json.loads(p.stdout)["minimised"]["preemptions"], 1, "preemptions")


def test_same_finding(s):
    """Of two failures the one that is explained is the one that was found."""
    text = UPDATES.replace("id[3]", "id[2]").replace("i < 3; i++) pthread", "i < 2; i++) pthread")
    program = s.build_text(text.replace("assert(sum == 9);", "assert(sum > 2);\n  assert(sum == 6);"))
    r = s.search("check", program, "--all", *RANDOM, "--max-executions", "20000", "--explain", "8s")
    s.same(len(r["findings"]), 2, "findings")
    for f in r["findings"]:
        s.check("minimised" in f, "not explained: " + f["title"])
        before = s.read(f["replay"] + "/schedule.min")
        s.check("key " + f["key"] in before, "another finding")
        s.replay(f["replay"], times=2)
    cost = sorted(f["minimised"]["preemptions"] for f in r["findings"])
    s.check(cost[0] == 1 and cost[1] > 1, "preemptions: %s" % cost)


def test_death(s):
    """A failure that takes its process with it is made smaller with one process for each try."""
    litmus = os.path.join(os.path.dirname(common.HERE), "litmus")
    s.cc(os.path.join(litmus, "failures", "destroy_runtime.c"), "prog", "-O1", "-I" + litmus)
    r = s.search("check", "./prog", "--strategy", "random", "--explain", "10s")
    f = s.is_bug(r, ["crash"])
    s.same((f["partial"], f["minimised"]["preemptions"]), (True, 0), "partial, preemptions")
    before = f["minimised"]["original"]
    s.check(f["minimised"]["switches"] < before["switches"], "as large as the original")
    s.replay(times=2)
    s.replay(times=1, options=["--original"])


@each(("no folder", ["explain"], "heddle explain .heddle/1"), ("two", ["explain", "a", "b"], "heddle explain .heddle/1"),
      ("not there", ["explain", "nowhere"], "nowhere"), ("not ours", ["explain", "."], "not a Heddle finding"),
      ("no time", ["explain", "--time", "0", "."], "--time needs a time"),
      ("no program", ["check", "--explain", "x", "--", "./p"], "--explain needs a time"))
def test_usage(s, parameter):
    _, words, text = parameter
    common.refused(s, [s.heddle, *words], 2, text)


def test_damaged(s):
    program = s.build_text(UPDATES)
    s.search("check", program, *RANDOM)
    good = s.read(".heddle/1/schedule.min")
    other = re.sub(r"key \w{4}", "key 1234", good)
    for text, said in ((good.replace("steps ", "steps 1", 1), "schedule.min:"), (good[:-4], "schedule.min:"),
                       (other, "another finding")):
        s.write(".heddle/1/schedule.min", text)
        common.refused(s, [s.heddle, "replay", ".heddle/1"], 2, said)
        s.replay(times=1, options=["--original"])
    os.remove(s.path(".heddle/1/trace.min"))
    s.write(".heddle/1/schedule.min", good)
    common.refused(s, [s.heddle, "replay", ".heddle/1"], 2, "trace.min")


def test_rebuilt(s):
    """A program that is another one now: what is stored stays as it is."""
    program = s.build_text(UPDATES)
    s.search("check", program, *RANDOM, "--no-explain")
    before = parts(s)
    s.build_text(UPDATES.replace("sum == 9", "sum >= 9"))
    s.run([s.heddle, "explain", ".heddle/1"], want=[1, 3])
    s.same(parts(s), before, "the folder")
