"""The story of a finding names the line that is at fault: programs of 30 to 70 lines, one for each kind of finding, whose
lines with a tag must be shown. `order`: the two lines whose order is named as decisive."""
import os
import re

from scratch import each

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {
    "cache.c": dict(kind="assertion", shown="look change drop stale keep", order=("drop", "keep")),
    "session.c": dict(kind="crash", shown="check null crash", order=("null", "crash")),
    "conn.c": dict(kind="data-race", shown="find late free"),
    "uaf": dict(source="conn.c", options=["--ignore", "data-race"], kind="use-after-free", shown="find late free",
                order=("find", "swap")),
    "deposit.cc": dict(kind="lost-wakeup", shown="one wait",
                       said=["wait on `b.changed_`", "T0 waits for T2 to end   main", "retakes b.lock_"]),
    "tree.c": dict(kind="deadlock", shown="first second", order=("first", "second"), rows=4),
    "stats.cc": dict(kind="data-race", shown="write read",
                     said=["data race on `stats.total_`", "T1 lambda:25", "Holding `stats.lock_` in both"]),
    "rounds.c": dict(kind="assertion", shown="read stale", order=("read", "score")),
    "totals.c": dict(kind="assertion", shown="read lost stale", order=("read", "lost")),
    "plugin.c": dict(kind="crash", shown="null crash", said=["active is 0"]),
    "spin.c": dict(kind="livelock", shown="reset spin"),
}


@each("-O0", "-O2", ("clang", "--heddle-compiler=clang", "-O0"), ("clang2", "--heddle-compiler=clang", "-O2"))
def test_locals(s, parameter):
    """A local variable that another thread accesses is named, with both compilers."""
    options = [parameter] if isinstance(parameter, str) else parameter[1:]
    s.cc(os.path.join(HERE, "programs", "culprit", "stats.cc"), "prog", *options)
    s.check("data race on `stats.total_`" in s.search("check", "./prog", want=1)["out"], "it has no name")


@each(*sorted(PROGRAMS))
def test_culprit(s, name):
    want = PROGRAMS[name]
    source = want.get("source", name)
    path = os.path.join(HERE, "programs", "culprit", source)
    with open(path) as f:
        text = f.read()
    s.cc(path, "prog", "-O0", *(["-std=c++20"] if source.endswith(".cc") else []))
    r = s.search("check", "./prog", *want.get("options", []))
    finding = s.is_bug(r, [want["kind"]])
    story = finding["story"]
    line = {w: text[:text.index("@" + w)].count("\n") + 1
            for w in want["shown"].split() + list(want.get("order", []))}
    shown = {row["line"] for row in story["rows"] if "hidden" not in row}
    for tag, number in line.items():
        s.check(number in shown, "line %d (%s) is not shown, these are: %s" % (number, tag, sorted(shown)))
    if "order" in want:
        at = {row["number"]: row["line"] for row in story["rows"]}
        named = tuple(at[story["order"][k]] for k in ("before", "after"))
        s.same(named, tuple(line[t] for t in want["order"]), "lines whose order matters")
    for text_said in want.get("said", []):
        s.check(text_said in r["out"], "not said: %s in %s" % (text_said, r["out"]))
    if "rows" in want:
        s.same(len(story["rows"]), want["rows"], "rows")
    # Every view has the same rows with the same numbers.
    told = r["out"][r["out"].index("  What happened"):r["out"].index("  schedule: ")]
    s.check(told in s.read(".heddle/1/finding.txt"), "finding.txt has another story")
    s.check(told in s.replay(times=1).stderr, "the replay has another story")
    # One number of events everywhere.
    events = len(re.findall(r"^\d+ ", s.run([s.heddle, "trace", "show", ".heddle/1"]).stdout, re.M))
    said = s.replay(times=1).stderr
    s.check("all %d events identical" % events in said, "%d events: %s" % (events, said))
    for row in story["rows"]:
        s.check(row.get("last_event", 1) <= events, "events of a row: %s" % row)
        s.check(row.get("event", 1) <= row.get("last_event", 1), "events of a row: %s" % row)


def test_full(s):
    """Numbers of rows are the same with --full, which shows the hidden ones, too."""
    s.cc(os.path.join(HERE, "programs", "culprit", "rounds.c"), "prog", "-O0")
    out = s.search("check", "./prog", want=1)["out"]
    full = s.run([s.heddle, "replay", "--full", ".heddle/1"], want=1).stderr
    s.check("more line" in out and "more line" not in full, out + full)
    pattern = r"^[> ] *(\d+) .*\b(\d+) \S.*$"
    rows, all_rows = ({m[1]: m[0] for m in re.finditer(pattern, text[text.index("What"):text.index("  The order")], re.M)}
                      for text in (out, full))
    s.check(len(all_rows) > len(rows) and all(all_rows[n] == text for n, text in rows.items()), "%s\n%s" % (rows, all_rows))
