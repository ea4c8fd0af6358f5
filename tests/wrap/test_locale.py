"""Functions on wide characters: what they say is a matter of the locale, which another thread may set."""
from scratch import each
from wrapped import program

# name: a call, and whether it says so in the C locale and in C.UTF-8
CHARACTERS = {
    "iswalnum": ("iswalnum(0xe9)", 0, 1), "iswalpha": ("iswalpha(0xe9)", 0, 1), "iswblank": ("iswblank(0x2000)", 0, 1),
    "iswcntrl": ("iswcntrl(0x80)", 0, 1), "iswgraph": ("iswgraph(0xa1)", 0, 1), "iswlower": ("iswlower(0xe9)", 0, 1),
    "iswprint": ("iswprint(0xa1)", 0, 1), "iswpunct": ("iswpunct(0xa1)", 0, 1), "iswspace": ("iswspace(0x2000)", 0, 1),
    "iswupper": ("iswupper(0xc9)", 0, 1), "towlower": ("towlower(0xc9) == 0xe9", 0, 1),
    "towupper": ("towupper(0xe9) == 0xc9", 0, 1), "wcwidth": ("wcwidth(0xe9) == 1", 0, 1),
    "wctype": ("wctype(\"combining\") != 0", 0, 1), "wctrans": ("wctrans(\"totitle\") != 0", 0, 1),
    "iswctype": ("iswctype(0xe9, wctype(\"alpha\"))", 0, 1),
    "towctrans": ("towctrans(0xe9, wctrans(\"toupper\")) == 0xc9", 0, 1),
    # U+017F is a letter whose capital has one byte.
    "wctob": ("wctob(towupper(0x17f)) == 'S'", 0, 1), "btowc": ("btowc(wctob(towupper(0x17f))) == L'S'", 0, 1),
}
# A call that looks at the locale, once. What the type says is kept in it.
ONCE = {name: call for name, (call, *_) in CHARACTERS.items()}
ONCE.update(iswctype="iswctype(0xe9, type)", towctrans="towctrans(0xe9, mapping)", wctob="wctob(n)", btowc="btowc(n)")
# These are the same in every locale: C11, 7.30.2.1.
SAME = ("iswdigit(0xe9)", "iswdigit('7')", "iswxdigit(0xe9)", "iswxdigit('a')")
SHARED = """
#include <wctype.h>
static wctype_t type;
static wctrans_t mapping;
static sem_t ready;
__attribute__((constructor)) static void prepare(void) {
  sem_init(&ready, 0, 0);
  type = wctype("alpha");
  mapping = wctrans("toupper");
}
"""
SET = "assert(setlocale(LC_ALL, \"C.UTF-8\"))"


def search(s, one, two):
    prog = s.build_text(program(one, two, extra=SHARED), "-O1", "-fno-builtin", "-lm")
    return s.search("check", prog, "--strategy", "optimal")


def exact(s, one, two, executions):
    r = search(s, one, two)
    s.same(r["inexact"], [], "reasons")
    s.is_clean(r, executions)


@each(*sorted(CHARACTERS))
def test_locale(s, name):
    call, before, after = CHARACTERS[name]
    for value in before, after:
        r = search(s, "assert(!(%s) == %d)" % (call, not value), SET)
        f = s.is_bug(r, ["assertion"])
        s.check(any(w["function"] == "one" for w in f["where"]), "the call in `one` is not a place of the finding")
    s.check(any(" change " in e for e in s.events()), "no event 'change'")
    s.check(any(" look-up " in e for e in s.events()), "no event 'look-up'")
    exact(s, ONCE[name], SET, 2)
    exact(s, ONCE[name], ONCE[name], 1)
    exact(s, "sem_wait(&ready); assert(!(%s) == %d)" % (call, not after), SET + "; sem_post(&ready)", 1)
    exact(s, "assert(!(%s) == %d); sem_post(&ready)" % (call, not before), "sem_wait(&ready); " + SET, 1)


@each(*SAME)
def test_same(s, call):
    exact(s, call, SET, 1)
