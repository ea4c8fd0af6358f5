"""What cannot work is refused in one clear line, with the right exit code, and nothing is written."""
from harness import HELLO


def refuse(d, *args, naming, want=2, verb="cc"):
    d.write("a.c", HELLO)
    p = d.run([d.heddle, verb, *args], want=want)
    d.check(p.stderr.count("\n") == 1 and p.stderr.startswith("heddle: "), "not one line: " + p.stderr)
    d.check(naming in p.stderr, "%r is not named: %s" % (naming, p.stderr))
    d.same(p.stdout, "")
    d.check(not d.exists("a.out") and not d.exists("a.o"), "something was written")


def test_static(d):
    for option in ("-static", "--static", "-static-pie"):
        refuse(d, option, "a.c", naming=option)
    d.cc("-static", "-c", "a.c")  # harmless until it comes to linking
    d.check(d.exists("a.o"), "-static -c must compile")


def test_other_sanitizers(d):
    for name in ("address", "memory", "leak", "hwaddress"):
        refuse(d, "-fsanitize=" + name, "-c", "a.c", naming="-fsanitize=" + name)
    refuse(d, "-fsanitize=undefined,address", "a.c", naming="-fsanitize=address")


def test_32_bit(d):
    refuse(d, "-m32", "-c", "a.c", naming="-m32")
    d.cc("-m32", "-m64", "-c", "a.c")


def test_no_compiler(d):
    refuse(d, "--heddle-compiler=no-such-compiler", "a.c", naming="no-such-compiler", want=3)
    refuse(d, "--heddle-compiler=/no/such/gcc", "a.c", naming="/no/such/gcc", want=3)
    refuse(d, "--heddle-compiler=", "a.c", naming="--heddle-compiler")


def test_compiler_is_heddle(d):
    refuse(d, "--heddle-compiler=" + d.heddle, "a.c", naming=d.heddle)
    refuse(d, "--heddle-compiler=" + d.heddle + "-cc", "a.c", naming=d.heddle)


def test_no_inputs_is_the_compilers_business(d):
    ours, theirs = d.cc(want=1), d.run([d.native], want=1)
    d.same(ours.stderr, theirs.stderr)
    ours, theirs = d.cc("-o", "a", want=1), d.run([d.native, "-o", "a"], want=1)
    d.same(ours.stderr, theirs.stderr)
    ours, theirs = d.cc("none.c", want=1), d.run([d.native, "none.c"], want=1)
    d.check("none.c" in ours.stderr and "none.c" in theirs.stderr, ours.stderr)
