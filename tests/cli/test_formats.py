"""Formats that tools read: SARIF, JUnit XML, messages of compilers, annotations of GitHub."""
import glob
import json
import os
import re
import shutil
import xml.etree.ElementTree as ET

import common
import sarif
import schema
from common import RACE
from scratch import each

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = sorted(os.path.basename(p) for p in glob.glob(os.path.join(ROOT, "examples", "*.c*")))


def read_sarif(s, name="out.sarif"):
    """The log, which must be valid."""
    with open(s.path(name), encoding="utf-8") as f:
        log = json.load(f)
    s.same(sarif.check_log(log), [], "problems of the SARIF log")
    s.same(schema.sarif_problems(s.build, log), [], "problems by the schema")
    return log["runs"][0]


def read_junit(s, name="out.xml"):
    s.run(["xmllint", "--noout", "--nonet", name])
    return ET.parse(s.path(name)).getroot()


@each(*EXAMPLES)
def test_examples(s, name):
    """Every example, the right ones too: SARIF and JUnit XML are valid and say what the JSON says."""
    shutil.copy(os.path.join(ROOT, "examples", name), s.path(name))
    s.cc(name, "prog", "-O1")
    r = s.search("check", "./prog", "--all", "--sarif", "out.sarif", "--junit", "out.xml")
    run = read_sarif(s)
    s.same([f["ruleId"] for f in run["results"]], [f["kind"] for f in r["findings"]], "rules of the results")
    s.same([f["partialFingerprints"]["heddleKey/v1"] for f in run["results"]],
           [f["key"] for f in r["findings"]], "fingerprints")
    for result, finding in zip(run["results"], r["findings"]):
        s.check(result["message"]["text"].startswith(finding["title"]),
                "message " + result["message"]["text"])
        where = {(f["file"], f["line"]) for w in finding["where"] for f in w["stack"]}
        for location in result["locations"] + result["relatedLocations"]:
            physical = location["physicalLocation"]
            s.check((physical["artifactLocation"]["uri"], physical["region"]["startLine"]) in where,
                    "location of nothing: %s" % physical)
        rows = finding.get("story", {}).get("rows", [])
        steps = sorted((step["executionOrder"], thread["id"], step["location"]["physicalLocation"]["region"]["startLine"])
                       for flow in result.get("codeFlows", []) for thread in flow["threadFlows"]
                       for step in thread["locations"])
        s.same(steps, [(i + 1, row["thread"], row["line"]) for i, row in enumerate(rows)], "steps")
    case = read_junit(s).find("testsuite/testcase")
    failures = case.findall("failure")
    s.same(len(failures), min(1, len(r["findings"])), "failures")
    if failures:
        s.same(failures[0].get("type"), r["findings"][0]["kind"], "type of the failure")
        for finding in r["findings"]:
            s.check(finding["title"] in " ".join(failures[0].text.split()), "the failure does not report " + finding["title"])
            s.check("heddle replay " + finding["replay"] in failures[0].text, "no replay command")


def test_sarif_flow(s):
    """A race: the access is the location, the other one is related, and both threads have their steps."""
    program = s.build_text(RACE)
    s.search("check", program, "--sarif", "out.sarif")
    run = read_sarif(s)
    result = run["results"][0]
    s.same(result["ruleId"], "data-race", "rule")
    s.same(result["locations"][0]["physicalLocation"]["artifactLocation"], {"uri": "prog.c", "uriBaseId": "SRCROOT"})
    s.same(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file://%s/" % os.path.realpath(s.dir))
    region = result["locations"][0]["physicalLocation"]["region"]
    s.same((region["startLine"], region["snippet"]["text"]), (4, "  counter++;"), "region")
    s.check("previous access" in result["relatedLocations"][0]["message"]["text"], "no previous access")
    threads = [t["id"] for t in result["codeFlows"][0]["threadFlows"]]
    s.same([t.split()[0] for t in threads], ["T1", "T2"], "threads")
    s.same(run["properties"]["verdict"], "bug", "verdict")


BREAK = [
    lambda log: log.pop("version"),
    lambda log: log.update(version="2.0.0"),
    lambda log: log.update(more=1),
    lambda log: log["runs"][0].pop("tool"),
    lambda log: log["runs"][0]["tool"]["driver"].pop("name"),
    lambda log: log["runs"][0]["tool"]["driver"]["rules"][0].pop("id"),
    lambda log: log["runs"][0]["invocations"][0].pop("executionSuccessful"),
    lambda log: log["runs"][0]["results"][0].pop("message"),
    lambda log: log["runs"][0]["results"][0].update(level="fatal"),
    lambda log: log["runs"][0]["results"][0].update(ruleIndex="0"),
    lambda log: log["runs"][0]["results"][0].update(locations={}),
    lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"].pop("artifactLocation"),
    lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
    lambda log: log["runs"][0]["results"][0]["stacks"][0].pop("frames"),
    lambda log: log["runs"][0]["results"][0]["codeFlows"][0].update(threadFlows=[]),
    lambda log: log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0].pop("locations"),
    lambda log: log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"][0].update(importance="some"),
    lambda log: log["runs"][0]["results"][0]["partialFingerprints"].update(x=1),
]


def test_sarif_validator(s):
    """What the other tests rely on: tests/cli/sarif.py refuses what the schema refuses."""
    program = s.build_text(RACE)
    s.search("check", program, "--sarif", "out.sarif")
    text = s.read("out.sarif")
    for i, change in enumerate(BREAK):
        log = json.loads(text)
        change(log)
        s.check(sarif.check_log(log), "change %d was not noticed" % i)
        s.check(schema.sarif_problems(s.build, log), "change %d is none to the schema" % i)


def test_sarif_clean(s):
    program = common.build(s, "clean")
    s.run([s.heddle, "check", "--sarif", "out.sarif", "--junit", "out.xml", "--", program])
    run = read_sarif(s)
    s.same((run["results"], run["properties"]["complete"]), ([], True), "results")
    root = read_junit(s)
    s.same((root.get("tests"), root.get("failures"), root.get("errors")), ("1", "0", "0"), "counts")
    s.check("complete" in root.find("testsuite/testcase/system-out").text, "the output does not say what was covered")


def test_errors(s):
    """A search that cannot be done is an error in both."""
    program = common.build(s, "unsupported")
    s.run([s.heddle, "check", "--sarif", "out.sarif", "--junit", "out.xml", "--", program, "futex"], want=3)
    invocation = read_sarif(s)["invocations"][0]
    s.same(invocation["executionSuccessful"], False, "success")
    s.check(invocation["toolExecutionNotifications"][0]["message"]["text"], "no reason")
    root = read_junit(s)
    s.same((root.get("failures"), root.get("errors")), ("0", "1"), "counts")
    s.check(root.find("testsuite/testcase/error").get("message"), "no message")


def test_no_places(s):
    """A process that dies on the spot leaves no places: every format can do without."""
    program = s.build_text("#include <pthread.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
                           "void *go(void *p) { syscall(SYS_exit_group, 3); return p; }\n"
                           "int main(void) { pthread_t t; pthread_create(&t, 0, go, 0); pthread_join(t, 0); }\n")
    options = ["--sarif", "out.sarif", "--junit", "out.xml", "--format"]
    p = s.run([s.heddle, "check", *options, "gcc", "--", program], want=1)
    s.check(p.stdout.startswith("heddle: error: ") and p.stdout.splitlines()[0].endswith(" [exit]"), p.stdout)
    result = read_sarif(s)["results"][0]
    s.same((result["ruleId"], result["locations"], result["relatedLocations"]), ("exit", [], []), "places")
    s.same(read_junit(s).find("testsuite/testcase/failure").get("type"), "exit", "type")
    p = s.run([s.heddle, "check", *options, "github", "--", program], want=1)
    s.check(p.stdout.startswith("::error title="), p.stdout)


def test_no_story(s):
    program = s.build_text(RACE)
    s.search("check", program, "--no-explain", "--sarif", "out.sarif")
    result = read_sarif(s)["results"][0]
    s.check("codeFlows" not in result and len(result["stacks"]) >= 2, "steps of a story that was not told")


def test_several(s):
    """All findings of --all: each a result, together one failure. Those before --resume are a failure as well."""
    program = common.build(s, "twobugs")
    save = ["--all", "--save", "saved", "--strategy", "optimal", "--junit", "out.xml"]
    r = s.search("check", program, *save, "--sarif", "out.sarif", "--format", "gcc")
    n = len(r["findings"])
    s.check(n > 1 and r["complete"], "found %d" % n)
    s.same(len(read_sarif(s)["results"]), n, "results")
    s.same(r["out"].count(": error: "), n, "errors")
    s.check(read_junit(s).find("testsuite/testcase/failure").get("message").startswith("%d findings, the first: " % n),
            "message of the failure")
    s.run([s.heddle, "check", "--resume", "saved", "--junit", "out.xml", "--sarif", "out.sarif", "--", program], want=1)
    s.same(read_sarif(s)["results"], [], "results of what was found before")
    root = read_junit(s)
    s.same(root.get("failures"), "1", "failures")
    s.same(root.find("testsuite/testcase/failure").get("message"),
           "%d findings before the search was resumed" % n, "message")


NASTY = b"a \"b\" <c>&'d' </script> e,f:g%h [i](j) {k} \xc3\xa9\xff.c"


def test_escaping(s):
    """A file, an argument and an assertion with everything that some format takes for its own."""
    text = (b'#include <assert.h>\n#include <pthread.h>\n_Atomic int n;\n'
            b'void *go(void *p) { n = 1; return p; }\n'
            b'int main(void) { pthread_t t; pthread_create(&t, 0, go, 0);\n'
            b'assert(n == 1 && "</script>]]>&amp;\\" \xff \xc3\xa9 %0A::error::x {0} [l](m)");\n'
            b'pthread_join(t, 0); }\n')
    path = os.path.join(s.dir.encode(), NASTY)
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as f:
        f.write(text)
    s.run([s.heddle, "cc", "-g", "-w", os.fsdecode(NASTY), "-o", "prog", "-pthread"])
    args = ["line\nbreak", "esc\x1b[31m", "]]></failure><x y='\">"]
    base = [s.heddle, "check", "--sarif", "out.sarif", "--junit", "out.xml"]
    p = s.run([*base, "--format", "gcc", "--", "./prog", *args], want=1)
    result = read_sarif(s)["results"][0]
    quoted = "a%20%22b%22%20%3Cc%3E%26%27d%27%20%3C/script%3E%20e%2Cf%3Ag%25h%20%5Bi%5D%28j%29%20%7Bk%7D%20%C3%A9%FF.c"
    s.same(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], quoted, "uri")
    s.check("\\[l\\](m)" in result["message"]["text"] and "{{0}}" in result["message"]["text"],
            "links and placeholders: " + result["message"]["text"])
    s.check("</script>\\]\\]>&amp;" in result["message"]["text"] and "? \u00e9" in result["message"]["text"],
            "text: " + result["message"]["text"])
    case = read_junit(s).find("testsuite/testcase")
    s.same(case.get("name"), "./prog 'line\nbreak' 'esc?[31m' ']]></failure><x y='\\''\">'", "name of the test case")
    s.check("]]>&amp;" in case.find("failure").get("message"), "message " + case.find("failure").get("message"))
    s.check("\x1b" not in p.stdout and p.stdout.count(": error: ") == 1, "lines: " + p.stdout)
    p = s.run([*base, "--format", "github", "--", "./prog", *args], want=1)
    commands = [line for line in p.stdout.splitlines() if line.lstrip().startswith("::")]
    s.same([c.split(" ")[0] for c in commands], ["::error"], "commands")
    s.check("file=a \"b\" <c>&'d' </script> e%2Cf%3Ag%25h [i](j) {k} \u00e9?.c,line=6," in commands[0], commands[0])
    s.check("%250A::error::x" in commands[0].split("::", 2)[2], "message " + commands[0])


LINE = re.compile(r"prog\.c:(\d+)(:\d+)?: (error|note): (.*)")


def test_gcc(s):
    """One error, notes for the other places and the steps, all of them in the form of compilers; then the summary."""
    program = s.build_text(RACE)
    p = s.run([s.heddle, "check", "--format=gcc", "--", program], want=1)
    lines = p.stdout.splitlines()
    s.same([line.startswith("heddle: 1 finding") for line in lines[-2:]], [True, False], "the summary")
    matches = [LINE.fullmatch(line) for line in lines[:-2]]
    s.check(all(matches), "no message of a compiler: " + p.stdout)
    s.same([m[3] for m in matches].count("error"), 1, "number of errors")
    s.same(matches[0][0], "prog.c:4:10: error: data race on `counter` (4 bytes) [data-race]", "first line")
    s.check(any("(previous access)" in m[4] for m in matches), "the other access is missing")
    s.check(any(m[4].startswith("(2) T2") for m in matches), "the steps are missing")
    s.same(matches[-1][4], "replay: heddle replay .heddle/1", "last note")
    p = s.run([s.heddle, "check", "--quiet", "--format", "gcc", "--", program], want=1)
    s.check("heddle: " not in p.stdout.replace("replay: heddle", ""), "not quiet: " + p.stdout)


def test_gcc_deadlock(s):
    """Points at a lock, not at the main thread that waits for the others to end."""
    program = common.build(s, "deadlock")
    p = s.run([s.heddle, "check", "--format", "gcc", "--", program], want=1)
    s.check(re.match(r"deadlock\.c:(9|18):\d+: error: deadlock: ", p.stdout), p.stdout)


def test_gcc_no_source(s):
    """Without debug information there is no file to name."""
    s.write("prog.c", RACE)
    s.run([s.heddle, "cc", "-g0", "prog.c", "-o", "prog", "-pthread"])
    p = s.run([s.heddle, "check", "--format", "gcc", "--sarif", "out.sarif", "--", "./prog"], want=1)
    s.check(p.stdout.startswith("heddle: error: data race on "), p.stdout)
    s.check("address" in read_sarif(s)["results"][0]["locations"][0]["physicalLocation"], "no address")


def test_github(s):
    program = s.build_text(RACE)
    p = s.run([s.heddle, "check", "--format", "github", "--", program], want=1)
    lines = p.stdout.splitlines()
    s.check(lines[0].startswith("::error file=prog.c,line=4,col=10,title=data race on `counter` (4 bytes)::heddle: data "
                                "race on `counter` (4 bytes)%0A  T"), lines[0])
    s.check(lines[0].endswith("%0A  replay: heddle replay .heddle/1"), lines[0])
    s.same(lines[1], "::notice file=prog.c,line=4,col=10,title=data race on `counter` (4 bytes)::T1 write", "notice")
    s.check(lines[2].startswith("heddle: 1 finding"), lines[2])
    plain = s.run([s.heddle, "check", "--", program], want=1, env={"GITHUB_ACTIONS": "true"})
    s.check("::error" not in plain.stdout, "annotations that nobody asked for")


@each("json", "sarif", "junit")
def test_unwritable(s, option):
    """Said before the search, not after it."""
    program = common.build(s, "forever")
    command = [s.heddle, "check", "--" + option]
    common.refused(s, [*command, "no/such/folder", "--", program], 3, "--%s no/such/folder" % option, "cannot write")
    common.refused(s, [*command, ".", "--", program], 2, "a folder, not a file")
    s.same(s.findings(), [], "findings")


def test_usage(s):
    program = common.build(s, "clean")
    common.refused(s, [s.heddle, "check", "--format", "xml", "--", program], 2, "text, gcc or github", "'xml'")
    common.refused(s, [s.heddle, "check", "--sarif", "x", "--junit", "x", "--", program], 2, "--sarif and --junit", "same file")
    common.refused(s, [s.heddle, "check", "--json", "-", "--sarif", "-", "--", program], 2, "--json and --sarif")


def test_standard_output(s):
    """A file may be standard output; what people read goes to standard error then. Others see whole files only."""
    program = s.build_text(RACE)
    p = s.run([s.heddle, "check", "--sarif", "-", "--", program], want=1)
    s.same(sarif.check_log(json.loads(p.stdout)), [], "problems")
    s.check("heddle: 1 finding" in p.stderr, "no summary")
    s.write("out.xml", "old")
    s.run([s.heddle, "check", "--junit", "out.xml", "--", program], want=1)
    read_junit(s)
    s.same([f for f in os.listdir(s.dir) if "tmp" in f], [], "files left over")
