"""heddle report: the page in a browser. Screenshots of the examples are left in BUILD/tests/report."""
import json
import os
import random
import re
import shutil

import browser
import common
from scratch import Failed, each
from test_coverage import MANY, ORDERS, line
from test_examples import EXAMPLES, KINDS

# 4 workers, each step visible: the schedule that fails is the only one there is, and longer than 5,000 steps.
LONG = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int hits;
static int table[8];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *a) {
  for (int i = 0; i < 300; i++) {
    pthread_mutex_lock(&m);
    table[i % 8]++;
    pthread_mutex_unlock(&m);
    atomic_fetch_add(&hits, 1);
  }
  return a;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  assert(hits < 1200);
  return 0;
}
"""

HOSTILE = """
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <heddle.h>
static const char *text = "</script><script>document.title='broken'</script><!-- <img src=x onerror=alert(1)>";
static int shared; /* </script><script>document.title='broken'</script> */
static void *worker(void *a) {
  pthread_setname_np(pthread_self(), "</script><b>");
  hd_note("<!--<script></script><img src=x onerror=\\"document.title='broken'\\">");
  shared = 1;
  return a;
}
int main(void) {
  pthread_t t;
  puts(text);
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
  assert(shared == 0 && "</script><script>document.title='broken'</script>");
  return 0;
}
"""


def make(s, program, *options, folder="out", want=1):
    """Checks the program and makes the page."""
    s.run([s.heddle, "check", "--out", folder, *options, "--", program], want=want)
    return page(s, folder)


def page(s, *names):
    p = s.run([s.heddle, "report", *names, "-o", "report.html"])
    s.same(p.stdout, "", "standard output")
    return s.path("report.html")


def opened(s, path, **kw):
    """A browser with the page, which has drawn itself and had nothing to complain about."""
    if not browser.find():
        raise Failed("no Chromium here; run scripts/setup.sh test")
    b = browser.Browser(**kw)
    try:
        b.open(path)
        b.eval("document.querySelector('main').childElementCount")
        quiet(s, b)
    except BaseException:
        b.__exit__()
        raise
    return b


def quiet(s, b):
    s.same(b.said, [], "what the browser complains about")


def at(b):
    """(row of the lanes, of so many): events, and the ends of threads after them."""
    return tuple(1 + int(b.eval("document.querySelector('.slider').%s" % what)) for what in ("value", "max"))


def example(s, name):
    source = name + (".cc" if name == "queue" else ".c")
    shutil.copy(os.path.join(EXAMPLES, source), s.dir)
    s.cc(source, name)
    return make(s, "./" + name)


@each(*sorted(KINDS))
def test_examples(s, name):
    """Every example: no complaint, every thread's line is in the source, values are known, and it looks like this."""
    path = example(s, name)
    shots = os.path.join(s.build, "tests", "report")
    with opened(s, path) as b:
        b.key("End")
        b.eval("document.querySelector('.lanes').focus()")
        b.key("End")
        step, last = at(b)
        s.same(step, last, "last step")
        s.check(b.eval("document.querySelectorAll('.row.mark-fails, .row.mark-waits').length") > 0, "no failing step is marked")
        s.check(b.eval("document.querySelectorAll('.line.now .badge').length") > 0, "no thread has its line in the source")
        s.check(b.eval("document.querySelectorAll('.values tbody th').length") > 0, "no values")
        b.size(1280, min(2400, b.eval("document.documentElement.scrollHeight")))
        b.screenshot(os.path.join(shots, name + ".png"))
        quiet(s, b)
    with opened(s, path, width=360, height=740, dark=True) as b:
        s.same(b.eval("document.documentElement.scrollWidth"), 360, "width of the page on a phone")
        b.screenshot(os.path.join(shots, name + "-phone.png"))
        quiet(s, b)
    s.check(os.path.getsize(os.path.join(shots, name + ".png")) > 20000, "an empty screenshot")


def test_stepping(s):
    """Keys, buttons, the slider, rows and the story all go where they say."""
    with opened(s, example(s, "pool")) as b:
        b.eval("document.querySelector('.lanes').focus()")
        last = at(b)[1]
        for key, want in (("Home", 1), ("ArrowDown", 2), ("ArrowRight", 3), ("ArrowUp", 2), ("ArrowLeft", 1),
                          ("ArrowUp", 1), ("End", last), ("ArrowDown", last), ("Home", 1)):
            b.key(key)
            s.same(at(b)[0], want, "step after " + key)
        said = b.eval("document.getElementById('said').textContent")
        s.check(re.match(r"Event 1 of \d+: T0 start", said), "what is said: " + said)
        b.key("n")
        s.same(b.eval("document.querySelector('.row[aria-selected] .verb').textContent"), "start", "first switch")
        b.click(".tools .tool:nth-child(4)")
        moved = at(b)[0]
        b.key("Enter")  # the button has the focus now
        s.same(at(b)[0], moved + 1, "step after a button by keyboard")
        b.click("#step-1")
        s.same(at(b)[0], 2, "step after a click")
        b.eval("document.querySelector('.slider').focus()")
        b.key("End")
        s.same(at(b)[0], last, "step after End in the slider")
        b.click(".story li:nth-child(2) .story-row")
        s.same(b.eval("document.querySelector('.line.now .at').textContent"), "35", "line of the story's second row")
        s.same(b.eval("document.querySelector('.story-row[aria-current] .number').textContent"), "2", "row of the story")
        quiet(s, b)


CACHE = os.path.join(common.HERE, "programs", "culprit", "cache.c")
WIDTHS = {400: 800, 700: 1000, 1400: 900}
IMAGES = os.path.join(os.path.dirname(EXAMPLES), "docs", "images")


def cache(s):
    s.cc(CACHE, "cache", "-O0")
    return make(s, "./cache")


@each(*map(str, WIDTHS))
def test_widths(s, width):
    """The finding comes first and opens where it fails; nothing is wider than the page; where there is room, story, lanes and
    source are in sight together. HEDDLE_UPDATE_GOLDEN=1 writes the pictures of the documentation."""
    path, width = cache(s), int(width)
    for dark in (False, True):
        with opened(s, path, width=width, height=WIDTHS[width], dark=dark) as b:
            s.same(b.eval("document.documentElement.scrollWidth"), width, "width of the page")
            order = b.eval("[...document.querySelectorAll('.finding, .overview')].map(e => e.classList.contains('finding'))")
            s.same(order, [True, False], "the finding, then statistics")
            s.check(b.eval("!!document.querySelector('.row[aria-selected].mark-fails')"), "it does not open at the failing step")
            tops = b.eval("['.story', '.lanes', '.source-panel'].map(q => Math.round(document.querySelector(q).getBoundingClientRect().top))")
            bottom = b.eval("Math.round(document.querySelector('.stage').getBoundingClientRect().bottom)")
            if width > 1180:
                s.check(len(set(tops)) == 1 and bottom <= WIDTHS[width], "not in sight together: %s, %s" % (tops, bottom))
            else:
                s.same(tops, sorted(tops), "one below the other")
            s.check(b.eval("document.querySelectorAll('.arrow.pair').length") <= 1, "several pairs")
            if not dark and os.environ.get("HEDDLE_UPDATE_GOLDEN"):
                b.screenshot(os.path.join(IMAGES, "report-%d.webp" % width), whole=False, format="webp", quality=60)
            quiet(s, b)
    picture = os.path.join(IMAGES, "report-%d.webp" % width)
    s.check(5000 < os.path.getsize(picture) < 120000, "the picture of the documentation")


SEVEN = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int total;
static void *add(void *p) {
  int t = atomic_load(&total);
  atomic_store(&total, t + 1);
  return p;
}
int main(void) {
  pthread_t t[6];
  for (int i = 0; i < 6; i++) pthread_create(&t[i], 0, add, 0);
  for (int i = 0; i < 6; i++) pthread_join(t[i], 0);
  assert(total == 6);
}
"""


@each(*map(str, WIDTHS))
def test_all_lanes(s, width):
    """The lanes of seven threads, and what is beside them, are within the panel at every width."""
    s.build_text(SEVEN)
    with opened(s, make(s, "./prog"), width=int(width), height=WIDTHS[int(width)]) as b:
        right = b.eval("Math.ceil(document.querySelector('.lanes').getBoundingClientRect().right)")
        for what in (".lane-name", ".cell"):
            ends = b.eval("[...document.querySelectorAll('%s')].map(e => Math.floor(e.getBoundingClientRect().right))" % what)
            s.check(ends and max(ends) <= right, "%s ends at %s, the panel at %d" % (what, max(ends or [0]), right))
        cut = b.eval("[...document.querySelectorAll('.lane-name b')].filter(e => e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right).length")
        s.same(cut, 0, "names of threads that are cut off")


def test_finding_ways(s):
    """Search, one variable, threads, folds, the overview, and an address that keeps the step."""
    with opened(s, cache(s)) as b:
        rows = "[...document.querySelectorAll('.row')].map(r => r.getAttribute('aria-label'))"
        s.check("fails" in b.eval("document.querySelector('.alternative .fails').textContent"), "no failing order")
        p = s.run([s.heddle, "replay", "out/1"], want=1)
        events = re.search(r"all (\d+) events", p.stdout + p.stderr).group(1)
        s.same(b.eval("document.querySelector('.now-at').textContent"), "%s / %s, fails" % (events, events), "events")
        last = at(b)[1]
        b.eval("document.querySelector('.search').focus()")
        for c in "wrlock":
            b.key(c)
        b.key("Enter")
        s.check("wrlock" in b.eval("document.querySelector('.row[aria-selected]').getAttribute('aria-label')"), "search")
        here = at(b)[0]
        b.eval("new Promise(r => setTimeout(r, 400))")
        s.check(b.eval("location.hash") == "#finding-1/step-%d" % here, "address: " + b.eval("location.hash"))
        b.eval("(() => { location.hash = '#finding-1/step-%d'; })()" % (last - 1))
        b.eval("0")
        s.same(at(b)[0], last - 1, "step of an address")
        name = b.eval("document.querySelector('.values .place').textContent")
        b.click(".values .place")
        s.check(all(name in r or "mark-" in r for r in b.eval(rows)[1:-2]), "other steps than those of %s: %s" % (name, b.eval(rows)))
        b.click(".only")
        shown = b.eval("document.querySelector('.lane-list').offsetHeight")
        b.click(".lane-name")
        s.check(b.eval("document.querySelector('.lane-list').offsetHeight") < shown, "a thread is still shown")
        b.click(".lane-name")
        s.same(b.eval("document.querySelector('.lane-list').offsetHeight"), shown, "all threads again")
        b.click(".strip")
        s.check(1 < at(b)[0] < last, "step after a click into the overview")
        s.check(b.eval("document.querySelectorAll('.stacks pre').length") > 0, "no call stacks")
        quiet(s, b)


def test_folds(s):
    """A long stretch of one thread is folded, and every step can still be reached."""
    s.build_text("""
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int noise, count;
static void *add(void *p) {
  for (int i = 0; i < 500; i++) atomic_fetch_add(&noise, 1);
  int v = count;
  count = v + 1;
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, add, 0);
  add(0);
  pthread_join(t, 0);
  assert(count == 2);
}
""")
    with opened(s, make(s, "./prog")) as b:
        s.check(b.eval("document.querySelectorAll('.gap-before').length") > 0, "nothing is folded")
        b.eval("document.querySelector('.lanes').focus()")
        b.key("Home")
        folded = b.eval("document.querySelector('.lane-list').offsetHeight")
        b.click(".check:nth-of-type(2) input")
        s.check(b.eval("document.querySelector('.lane-list').offsetHeight") > 20 * folded, "the stretch does not unfold")
        quiet(s, b)


def test_race(s):
    """Both accesses of a race are marked, and nothing is said to order them."""
    with opened(s, example(s, "lazy")) as b:
        s.same(b.eval("document.querySelectorAll('.row.mark-races').length"), 1, "the other access")
        b.eval("document.querySelector('.lanes').focus()")
        b.key("End")
        s.same(b.eval("[...document.querySelectorAll('.arrow.now')].map(a => a.classList[1])"), ["sees"], "arrows of the race")


def test_source_follows(s):
    """The line of the current step is in sight, wherever one steps."""
    with opened(s, example(s, "pool"), height=700) as b:
        b.eval("document.querySelector('.lanes').focus()")
        b.key("Home")
        for _ in range(at(b)[1] - 1):
            b.key("ArrowDown")
            s.check(b.eval("(() => { const l = document.querySelector('.line.now'); if (!l) return true; "
                           "const a = l.getBoundingClientRect(), b = document.querySelector('.source').getBoundingClientRect(); "
                           "return a.top >= b.top && a.bottom <= b.bottom; })()"), "step %d: the line is out of sight" % at(b)[0])


def test_values_and_lines(s):
    """What the program's variables were, and where its threads were, at a step."""
    with opened(s, example(s, "bank")) as b:
        b.eval("document.querySelector('.lanes').focus()")
        b.key("End")
        values = b.eval("Object.fromEntries([...document.querySelectorAll('.values tbody tr')].map(r => "
                        "[r.cells[0].textContent, r.cells[1].textContent]))")
        s.same(values, {"alice.lock": "held by T1", "bob.lock": "held by T2"}, "locks at the end")
        badges = b.eval("Object.fromEntries([...document.querySelectorAll('.line .badge')].map(x => "
                        "[x.textContent, x.closest('.line').querySelector('.at').textContent]))")
        where = {p["thread"]: str(p["line"]) for p in json.loads(s.read("out/1/finding.json"))["where"] if p["role"] == "waits"}
        s.same(badges["T2"], where["T2"], "line of T2")
        s.same(set(badges), {"T0", "T1", "T2"}, "threads with a line")


def test_arrows(s):
    """An arrow from a signal to the thread it wakes, and from a release to who takes the lock next."""
    with opened(s, example(s, "pool")) as b:
        s.check(b.eval("document.querySelectorAll('.arrow.wakes').length") >= 1, "no wake-up")
        s.check(b.eval("document.querySelectorAll('.arrow.orders').length") >= 5, "no happens-before")
        s.same(b.eval("document.querySelectorAll('.arrow.sees').length"), 0, "values that nobody asks about")
        b.click(".story li:nth-child(3) .story-row")
        s.same(b.eval("document.querySelectorAll('.arrow.sees.now').length"), 1, "value that another thread wrote")
        b.click(".bar .check:last-of-type input")
        s.same(b.eval("document.querySelectorAll('.arrow').length"), 0, "arrows when they are turned off")
        rows = b.eval("document.querySelectorAll('.row').length")
        b.click(".bar .check input")
        s.check(b.eval("document.querySelectorAll('.row').length") < rows, "accesses are still shown")
        b.click(".choice label:last-child")
        s.same(b.eval("document.querySelector('.choice :checked').value"), "original", "schedule")
        s.check("original" in b.eval("document.querySelector('.strips').textContent"), "no comparison")
        quiet(s, b)


def test_long(s):
    """5,000 steps: there at once, few rows at a time, every step reachable."""
    s.build_text(LONG)
    path = make(s, "./prog", "--strategy", "random", "--no-explain")
    with opened(s, path) as b:
        last = at(b)[1]
        s.check(last > 5000, "only %d steps" % last)
        b.eval("document.querySelector('.lanes').focus()")
        b.key("Home")
        s.check(b.eval("document.querySelectorAll('.row').length") < 120, "rows that nobody sees are drawn")
        b.eval("document.querySelector('.lanes').scrollTop = 40000")
        s.check(b.eval("[...document.querySelectorAll('.row')].some(r => r.dataset.step === '1490')"), "scrolling draws nothing")
        b.key("End")
        s.same(at(b)[0], last, "step")
        s.check(b.eval("!!document.querySelector('#step-%d')" % (last - 1)), "the last row is not there")
        s.check(b.eval("document.querySelectorAll('.row').length") < 120, "rows that nobody sees are drawn")
        s.check(b.eval("document.querySelectorAll('*').length") < 4000, "too many elements")
        s.same(b.eval("document.querySelector('.values tbody b').textContent"), "1200", "hits")
        quiet(s, b)


def test_hostile(s):
    """Names, notes, source and output that look like markup are shown as text."""
    name = "<b>&'x.c"
    s.write(name, HOSTILE)
    s.run([s.heddle, "cc", "-g", name, "-o", "prog", "-pthread"])
    path = make(s, "./prog")
    with open(path) as f:
        text = f.read()
    s.same(text.count("</script"), 2, "ends of scripts")
    data = re.search(r'id="data">(.*?)</script>', text, re.S).group(1)
    s.check("<" not in data, "a < in the data")
    json.loads(data)
    with opened(s, path) as b:
        b.eval("document.querySelector('.lanes').focus()")
        b.key("End")
        s.check("broken" not in b.eval("document.title"), "a script of the program ran")
        s.same(b.eval("document.querySelectorAll('main img, main b b, main script').length"), 0, "elements made of text")
        for what in ("</script><b>", "</script><script>document.title='broken'</script>", "<img src=x onerror"):
            s.check(b.eval("document.querySelector('main').textContent.includes(%s)" % json.dumps(what)), "not shown: " + what)
        quiet(s, b)


CONTROLS = "main button, main input:not([type=radio]), main a, main summary, .lanes, .source, .values, .pairs"


def test_keyboard(s):
    """Every control is reached by the tabulator key, shows that it has the focus, and has a name; what can be opened is
    opened by keyboard."""
    with opened(s, example(s, "buffer")) as b:
        seen = set()
        for _ in range(400):
            b.key("Tab")
            # Radio buttons are one stop; text that scrolls is one too.
            it = b.eval("(() => { const e = document.activeElement; if (e === document.body) return null; "
                        "const again = e.dataset.stop; e.dataset.stop ??= String(Math.random()); const o = getComputedStyle(e); const l = e.closest('label'); "
                        "return [e.dataset.stop, e.tagName, e.getAttribute('aria-label') || (l || e).textContent || e.title, "
                        "o.outlineStyle !== 'none' || (l && getComputedStyle(l).outlineStyle !== 'none')]; })()")
            if it is None or it[0] in seen:
                # Round once: all that is there has been seen.
                if b.eval("[...document.querySelectorAll('%s')].every(e => e.dataset.stop || !e.checkVisibility())" % CONTROLS):
                    break
                continue
            seen.add(it[0])
            s.check(it[2].strip(), "a %s without a name" % it[1])
            s.check(it[3], "no visible focus: " + it[2])
            if it[1] == "SUMMARY":
                b.key("Enter")
        s.same(b.eval("[...document.querySelectorAll('details')].filter(d => !d.open).length"), 0, "details that stay closed")
        missed = b.eval("[...document.querySelectorAll('%s')].filter(e => !e.dataset.stop && !e.hidden).map(e => e.outerHTML.slice(0, 90))" % CONTROLS)
        s.same(missed, [], "not reached by keyboard")
        s.check(len(seen) > 40, "only %d controls" % len(seen))
        quiet(s, b)


def test_exercised(s):
    """Pairs of lines: how many met in both orders, sorted, filtered, and shown in the source."""
    s.build_text(ORDERS)
    path = make(s, "./prog", "--strategy", "optimal", want=0)
    with opened(s, path) as b:
        orders = "[...document.querySelectorAll('.pairs tbody .order')].map(e => e.textContent)"
        text = b.eval("document.querySelector('.exercised > summary').textContent")
        s.check("4 pairs of conflicting lines: 2 in both orders, 2 in one order only." in text, text)
        s.same(b.eval(orders), ["one only"] * 2 + ["both \u2713"] * 2, "orders")
        one = b.eval("[...document.querySelectorAll('.pairs tbody tr')[0].cells].map(e => e.textContent)")
        s.same(one[1].split()[0], "prog.c:%d" % line(ORDERS, "I"), "the line that came first")
        s.same((one[2].split()[0], one[3], one[5]), ("prog.c:%d" % line(ORDERS, "C"), "ready", "0"), "what it met")
        b.click(".pairs th:nth-child(4) button")
        objects = b.eval("[...document.querySelectorAll('.pairs tbody td:nth-child(4)')].map(e => e.textContent)")
        s.same((objects, b.eval("document.querySelector('.pairs th[aria-sort]').getAttribute('aria-sort')")),
               (["both", "m", "once", "ready"], "ascending"), "sorted by object")
        b.key("Enter")
        s.same(b.eval("document.querySelector('.pairs tbody td:nth-child(4)').textContent"), "ready", "sorted the other way")
        b.click(".pairs-bar input")
        s.same(b.eval(orders), ["one only"] * 2, "orders when only those are shown")
        b.click(".pairs tbody tr:last-child .place")
        s.same(b.eval("document.querySelector('.covered .line.found .at').textContent"), str(line(ORDERS, "H")), "line of the source")
        s.same(b.eval("[...document.querySelectorAll('.covered .at.half')].map(e => Number(e.textContent))"),
               sorted(line(ORDERS, m) for m in "CDHI"), "lines of pairs seen in one order only")
        s.check(line(ORDERS, "A") in b.eval("[...document.querySelectorAll('.covered .at.ran')].map(e => Number(e.textContent))"), "no line is marked")
        quiet(s, b)


@each("optimal", "auto", "random")
def test_classes(s, strategy):
    """The page says how many happens-before classes there were, or that nobody counted."""
    program = s.build_text(MANY)
    path = make(s, program, "--strategy", strategy, "--max-executions", "400", want=[0, 5])
    want = {"optimal": "class of its own:", "auto": "may repeat these", "random": "were not counted"}[strategy]
    with opened(s, path) as b:
        text = b.eval("document.querySelector('.overview').textContent")
        s.check(want in text, "what is said of classes: " + text)
        s.same(b.eval("[...document.querySelectorAll('.fact dt')].some(e => e.textContent === 'Classes')"), strategy != "random", "a number of classes")


def test_roles(s):
    """The page of a strategy that mines shows each thread in its role: a plot, and a table."""
    program = common.build(s, "clean")
    path = make(s, program, "--strategy", "mined", "--max-executions", "20", want=0)
    roles = json.loads(s.read("out/search.json"))["roles"]
    with opened(s, path) as b:
        s.same(b.eval("document.querySelectorAll('.roles tbody tr').length"), len(roles["threads"]), "threads of the table")
        s.same(b.eval("document.querySelectorAll('.roles .centre').length"), roles["roles"], "roles of the plot")
        s.check(b.eval("document.querySelector('.overview').textContent").count("Mined from the reads and writes") == 1, "no explanation")
        quiet(s, b)


def test_clean_search(s):
    """A search without findings has a page too: what was covered."""
    program = common.build(s, "clean")
    path = make(s, program, "--strategy", "optimal", "--classes", want=0)
    search = json.loads(s.read("out/search.json"))
    s.same(search["samples"][-1][1], search["executions"], "executions of the last sample")
    s.same(search["samples"][-1][3], search["classes"], "classes of the last sample")
    with opened(s, path) as b:
        text = b.eval("document.querySelector('.overview').textContent")
        s.check("every schedule was covered" in text, "what was covered: " + text)
        s.check("What was exercised" in text, "no lines: " + text)
        quiet(s, b)


def test_reasons(s):
    """The page says why a search is not complete, where that arose, and what to do about it."""
    program = s.build_text("#include <sched.h>\nint main(void) {\n  for (int i = 0; i < 30; i++) sched_yield();\n}\n")
    path = make(s, program, "--max-length", "20", want=5)
    with opened(s, path) as b:
        listed = b.eval("[...document.querySelectorAll('.overview .reasons li')].map(e => e.textContent)")
        s.same(listed, ["1 execution was longer than --max-length 20 steps (prog.c:3)raise it, or shorten the test"], "reasons")
        quiet(s, b)


def test_folder_only_when_asked(s):
    """A search that finds nothing leaves nothing behind, unless a folder was named or is there."""
    program = common.build(s, "clean")
    s.run([s.heddle, "check", "--max-executions", "3", "--", program], want=[0, 5])
    s.check(not os.path.exists(s.path(".heddle")), "a folder was made")
    os.mkdir(s.path(".heddle"))
    s.run([s.heddle, "check", "--max-executions", "3", "--", program], want=[0, 5])
    s.check(os.path.exists(s.path(".heddle/search.json")), "the search was not kept")


def test_damaged(s):
    """A finding that lacks what the page needs: the rest of the page is there, and it says so."""
    program = common.build(s, "race")
    for word in "ab":
        s.run([s.heddle, "check", "--", program, word], want=1)
    finding = json.loads(s.read(".heddle/2/finding.json"))
    del finding["execution"]
    s.write(".heddle/2/finding.json", json.dumps(finding))
    with opened(s, page(s, ".heddle")) as b:
        b.click("li:nth-child(2) .finding-link")
        s.check("damaged" in b.eval("document.getElementById('shown').textContent"), "it does not say so")
        b.click("li:nth-child(1) .finding-link")
        s.check(b.eval("!!document.querySelector('.lanes')"), "the other finding is gone")
        quiet(s, b)


def test_several(s):
    """All findings of a folder, or those that are named; by default those of .heddle."""
    program = common.build(s, "race")
    for word in "ab":
        s.run([s.heddle, "check", "--", program, word], want=1)
    s.run([s.heddle, "report"])
    with opened(s, s.path("report.html")) as b:
        s.same(b.eval("document.querySelectorAll('.finding-link').length"), 2, "findings")
        s.check("earlier search" in b.eval("document.querySelector('.finding-link').textContent"), "which search it is of")
        b.click("li:nth-child(2) .finding-link")
        b.eval("0")
        s.check(".heddle/2" in b.eval("document.querySelector('.replay').textContent"), "the second one is not shown")
        quiet(s, b)
    text = s.run([s.heddle, "report", ".heddle/2", "-o", "-"]).stdout
    s.same(len(json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))["findings"]), 1, "findings")


def test_source_files_only(s):
    """A folder that was made up cannot put other files on the page."""
    program = common.build(s, "race")
    s.run([s.heddle, "check", "--", program], want=1)
    s.write("secret", "the secret\n")
    shown = s.run([s.heddle, "trace", "show", ".heddle/1/trace"]).stdout
    for name in ("secret", "link.c"):
        if name == "link.c":
            os.symlink("secret", s.path(name))
        s.write("text", re.sub(r"(?m)^(place \S+ \S+) \S+", r"\1 " + s.path(name).replace("-", "%2d"), shown))
        s.run([s.heddle, "trace", "convert", "text", "-o", ".heddle/1/trace"])
        page = s.run([s.heddle, "report", "-o", "-"]).stdout
        s.check(s.path(name) in page, "the place is not on the page")
        s.check("the secret" not in page, name + " is on the page")


def test_refused(s):
    program = common.build(s, "race")
    common.refused(s, [s.heddle, "report"], 2, ".heddle")
    common.refused(s, [s.heddle, "report", "nowhere"], 2, "nowhere")
    common.refused(s, [s.heddle, "report", "race.c"], 2, "not a folder")
    os.mkdir(s.path("empty"))
    common.refused(s, [s.heddle, "report", "empty"], 2, "no findings")
    common.refused(s, [s.heddle, "report", "--nonsense"], 2, "heddle help report")
    s.run([s.heddle, "check", "--", program], want=1)
    common.refused(s, [s.heddle, "report", "-o", "empty"], 2, "folder")
    common.refused(s, [s.heddle, "report", "-o", "no/such/report.html"], 3, "no/such/report.html")
    s.write(".heddle/search.json", "{")
    common.refused(s, [s.heddle, "report"], 2, "search.json:1")
    s.write(".heddle/search.json", "{}")
    common.refused(s, [s.heddle, "report"], 2, "search.json: damaged")
    os.remove(s.path(".heddle/search.json"))
    s.write(".heddle/1/trace", "nonsense")
    common.refused(s, [s.heddle, "report"], 2, ".heddle/1/trace")
    s.check(not os.path.exists(s.path("report.html")), "a page was written")


@each("search.json", "1/finding.json", "1/trace", "1/command.json", "1/schedule", "1/finding.txt")
def test_damaged_bytes(s, name):
    """Whatever is in the files: one line that names the file, or a page whose data can be read."""
    program = common.build(s, "race")
    s.run([s.heddle, "check", "--out", "out", "--", program], want=1)
    with open(s.path("out", name), "rb") as f:
        whole = f.read()
    chance = random.Random(name)
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            at_byte = chance.randrange(len(data))
            data[at_byte:at_byte + chance.randrange(3)] = bytes(chance.randrange(256) for _ in range(chance.randrange(3)))
        s.write("out/" + name, bytes(data))
        p = s.run([s.heddle, "report", "out", "-o", "-"], want=[0, 2])
        if p.returncode == 2:
            s.check(len(p.stderr.splitlines()) == 1 and "out/" in p.stderr, "what it says: " + p.stderr)
            s.same(p.stdout, "", "half a page")
        else:
            json.loads(re.search(r'id="data">(.*?)</script>', p.stdout, re.S).group(1))


def test_damaged_one_of_two(s):
    """One damaged finding of two: it is left out with a line that names it, the other is shown."""
    program = common.build(s, "race")
    for word in "ab":
        s.run([s.heddle, "check", "--", program, word], want=1)
    s.write(".heddle/1/trace", "nonsense")
    p = s.run([s.heddle, "report", ".heddle", "-o", "report.html"])
    s.check(".heddle/1/trace" in p.stderr and "1 finding," in p.stderr, p.stderr)
    common.refused(s, [s.heddle, "report", ".heddle/1"], 2, ".heddle/1/trace")
