"""heddle suppress: a rule for a finding, which is then left out."""

RACE = """
#include <pthread.h>
static volatile int seen;
static int sum;
static void *add(void *p) { sum++; seen = 1; return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, add, 0);
  sum++;
  seen = 2;
  pthread_join(t, 0);
  return 0;
}
"""


def test_suppress(s):
    program = s.build_text(RACE)
    found = s.search("check", program, "--all", want=1)["findings"]
    s.same(len(found), 2, "findings")
    done = s.run([s.heddle, "suppress", ".heddle/1"])
    s.check("heddle.supp: added data-race:add" in done.stderr, done.stderr)
    again = s.run([s.heddle, "suppress", ".heddle/1", ".heddle/2"])
    s.same(again.stderr.count("has data-race:add already"), 2, "the same rule: %s" % again.stderr)
    s.same(s.read("heddle.supp").count("data-race:add"), 1, "lines")
    s.same(s.search("check", program, "--all", "--suppressions", "heddle.supp")["findings"], [], "findings")
    s.run([s.heddle, "suppress", ".heddle/1", "-o", "other"])
    s.check(s.read("other").startswith("data-race:add  # data race on `"), s.read("other"))
    for words in ([], ["none"], ["--what"], [program]):
        s.run([s.heddle, "suppress", *words], want=2)


def test_both_are_volatile(s):
    """A race of volatile accesses says so on both sides."""
    found = s.search("check", s.build_text(RACE), "--all", want=1)["findings"]
    ways = sorted(sorted(w["operation"] for w in f["where"]) for f in found)
    s.same(ways[1], ["volatile-write", "volatile-write"], "of `seen`")
    s.check("volatile" not in "".join(ways[0]), "of `sum`: %s" % ways[0])
