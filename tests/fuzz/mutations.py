#!/usr/bin/env python3
"""Shows that the fuzzer can fail: with a broken rule of dependence in the runtime it must find a difference. Ends
with 'N passed, N failed'.

usage: tests/fuzz/mutations.py [--build DIR] [--few] [NAME...]

Each mutation replaces one piece of one source file, builds that file and a runtime library with it in a scratch
folder, beside a copy of heddle, and runs random programs until one differs, or tests that must fail where random programs
hardly ever show it. The repository and its build folder
are not touched. --few takes those that are found quickly.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import compare  # noqa: E402
import races  # noqa: E402
import run  # noqa: E402

ORDER = "src/model/order.c"
SYNC = "src/model/order_sync.c"
DEPEND = "src/model/depend.c"
BOUNDED = "src/explore/strategy_bounded.c"
FINGERPRINT = "src/runtime/core/fingerprint.c"
STATEFUL = "src/explore/stateful.c"
TEMPLATE = "src/runtime/core/template.c"
WALK = "src/explore/walk.c"
FDS = "src/runtime/kernel/fds.c"
PROPERTY = "src/explore/property.c"
FAMILY = "src/runtime/core/family.c"
SLICE = "src/static/llvm/slice.c"
LIBRARY = "lib/heddle/libheddle_rt.so.1"
MODULE = "lib/heddle/heddle_llvm.so"


class Mutation:
    """Text of one file that is replaced; `old` and `new` may be lists, of as many pieces."""

    def __init__(self, name, features, old, new, few=False, file=ORDER, programs=1000, only="",
                 tests=()):
        self.name, self.features = name, features
        self.old, self.new = ([x] if isinstance(x, str) else x for x in (old, new))
        self.few, self.file, self.programs, self.only = few, file, programs, only
        self.tests = tests  # filters of tests/run.py; some must fail


MUTATIONS = [
    # Searches for data races only (--property races), with programs of races.py.
    Mutation("nothing is done above what was left out", "", "    if (may_meet(l, i, w->free_from)) add_enabled(w, i);", "",
             file=PROPERTY, tests=("cli", "property", "above")),
    Mutation("a thread goes on as before whatever it reads", "",
             "  if ((r->flags & HD_PROPERTY_DECIDES) && upto > r->deviates) r->deviates = upto;\n", "", file=PROPERTY,
             programs=400, only="property"),
    Mutation("a lock that was let go still protects", "", "& ~x->shared & ~a->released", "& ~x->shared", file=PROPERTY,
             tests=("cli", "property", "released")),
    Mutation("two accesses race only after a state", "", "x->at > y->at ? x->at : y->at", "x->at < y->at ? x->at : y->at",
             file=PROPERTY, programs=400, only="property"),
    Mutation("a joined thread has written what it wrote", "", "  if (before(l, r->thread, r->at, x->at)) return 0;",
             "  if (kept_apart(l, x, r)) return 0;", file=PROPERTY, tests=("cli", "slices", "reached[a write before a join]")),
    Mutation("what is written at another address is what it was", "",
             "  if (LLVMIsAStoreInst(x->v)) add_objects(s, hd__races_pointer(p, LLVMGetOperand(x->v, 1)));\n", "", file=SLICE,
             tests=("cli", "slices", "reached[through own memory]")),
    Mutation("a value does not depend on the way to it", "", "      add_value(s, s->e->p->in[i].id);", "      (void)s;", file=SLICE,
             tests=("cli", "slices", "reached[where two ways meet]")),
    Mutation("what a branch calls is executed as it was", "",
             "    for (uint32_t c = p->first_in[f]; c < p->first_in[f + 1]; c++) add(s, c);\n", "", file=SLICE,
             tests=("cli", "slices", "reached[a call]")),
    Mutation("locks are held as they were", "", ["if (how & (LOCK | TRIES |", 'return strstr(name, "lock") || '],
             ["if (how & (TRIES |", "return "], file=SLICE, tests=("cli", "slices", "reached[a lock let go]")),
    # Executions that continue from the middle of others.
    Mutation("a template is left one step late", "lock,atomic", "u->depth > from &&", "u->depth >= from &&", file=WALK, few=True,
             tests=("cli", "templates", "strategies[optimal]")),
    Mutation("a template serves whatever comes next", "lock,atomic", "u->depth > from &&", "u->depth > 0 &&", file=WALK,
             tests=("cli", "templates", "strategies[optimal]")),
    Mutation("the prefix before a template counts once", "lock", "  st->switches += t->switches;\n", "", file=TEMPLATE,
             tests=("cli", "templates", "strategies[dpor]")),
    Mutation("a template does not restore offsets", "lock", "  hd__fds_rewind();\n  rewind_kept();\n}", "}", file=FDS,
             tests=("cli", "templates", "offsets")),
    Mutation("a template shares a pipe with its children", "lock", "  return hd__fds_unshared();", "  return HD_UNKEPT_NONE;",
             file=TEMPLATE, tests=("cli", "templates", "refused[descriptor]")),
    Mutation("a template takes signals", "lock", "uint64_t all = ~0ull, mask = 0;", "uint64_t all = 0, mask = 0;", file=TEMPLATE,
             tests=("cli", "templates", "hang")),
    # The state of the program (--states).
    Mutation("global variables are no part of a state", "atomic,branch",
             "hd__snapshot_each_change(wants_page, add_words);", "(void)wants_page, (void)add_words;", file=FINGERPRINT, few=True),
    Mutation("a state is recognised by a few bits", "atomic,branch",
             "  out[0] = f->sum[0];\n  out[1] = f->sum[1];", "  out[0] = f->sum[0] & 15;\n  out[1] = 0;",
             file=FINGERPRINT, few=True),
    Mutation("stacks are no part of a state", "atomic,branch,assert",
             "  hd__fact_range(f, sp & ~7ull, end, end, HD_LINE_STACK);\n", "", file=FINGERPRINT, only="states"),
    Mutation("registers are no part of a state", "atomic,branch,assert", "hd__fact_range(f, sp & ~7ull, end,",
             "hd__fact_range(f, (sp & ~7ull) + 512 < end ? (sp & ~7ull) + 512 : end, end,", file=FINGERPRINT, only="states"),
    Mutation("the sum of a line is kept for its place", "atomic,branch,assert",
             "differs |= l->word[i] ^ word[i];", "differs |= 0;", file=FINGERPRINT, tests=("cli", "states", "local")),
    # States and symmetry as a part of `auto`.
    Mutation("the part with states is over at once", "atomic,branch",
             "  if ((i == 0 || i == STATES) && !more) {", "  if (i == STATES || (i == 0 && !more)) {",
             file="src/explore/strategy_auto.c", only="states"),
    Mutation("in a part of auto, families are never dissolved", "plain",
             "  return (__atomic_load_n(apart(slot, &bit), __ATOMIC_SEQ_CST) & bit) != 0;", "  return (void)bit, false;",
             file=FAMILY, tests=("cli", "symmetry", "told")),
    Mutation("a part of auto does not restart without a family", "plain",
             "  __atomic_add_fetch(&rt.shared->contended, 1, __ATOMIC_SEQ_CST); /* that part restarts */\n", "",
             file=FAMILY, tests=("cli", "symmetry", "told")),
    Mutation("past accesses are no part of a state", "plain", "    hd__shadow_fingerprint(f);\n", "", file=FINGERPRINT,
             tests=("cli", "states", "races")),
    # What follows a state (--states with a reduction).
    Mutation("nothing follows a state", "atomic,branch",
             "return add_item(w, to, (struct summary_item){.op = number_of(w, &e->op, flags_of(w, k - 1))});", "return 1;", file=STATEFUL,
             few=True),
    Mutation("what follows a state reverses nothing", "lock,atomic,branch",
             "        reverse(w, e, k, u->op.thread);", "        (void)reverse;", file=STATEFUL),
    Mutation("what follows a state happens after everything", "atomic,branch",
             "    if (happens_before(w, k - 1, &x)) {", "    (void)happens_before;\n    {", file=STATEFUL),
    Mutation("whoever ended a wait has not begun it", "lock",
             "  if (!(u->flags & GUARDED) && !hd_op_is(", "  if (1 || !hd_op_is(", file=STATEFUL,
             tests=("cli", "states", "who_waits")),
    # Interchangeable threads (--symmetry).
    Mutation("an address that decides does not matter", "plain", "  if (a->op.kind != b->op.kind || a->op.pc != b->op.pc) return 1;\n",
             "  return 0;\n", file="src/explore/symmetry.c", tests=("cli", "symmetry", "address")),
    Mutation("threads with different arguments are interchangeable", "atomic,twins", "(!same_argument(b, m) || is_learned(m->code))",
             "is_learned(m->code)", file=FAMILY, only="symmetry"),
    Mutation("interchangeable threads never choose the same", "choose,atomic,twins",
             "e->nchoices == n ? e->choice : 0;", "e->nchoices == n && e->choice + 1 < n ? e->choice + 1 : 0;",
             file="src/explore/symmetry.c", only="symmetry"),
    Mutation("the state of a std::thread is not looked at", "plain",
             "a->block && a->block == b->block && a->contents[0] == b->contents[0] &&\n         a->contents[1] == b->contents[1];",
             "a->block && a->block == b->block;", file=FAMILY, tests=("cli", "symmetry", "std")),
    Mutation("asking for the own name does not matter", "plain",
             "  if (rt.search.alike) end_family(family_of(rt.cur->id));", "  (void)end_family;", file=FAMILY,
             tests=("cli", "symmetry", "told")),
    # The order of an execution, and its races.
    Mutation("read-modify-writes are reads", "atomic,branch",
             "int write = hd_op_does(w->op->kind, w->flags, HD_EFF_CHANGES);",
             "int write = hd_op_does(w->op->kind, w->flags, HD_EFF_CHANGES) && w->op->kind != HD_OP_ARMW;", few=True),
    Mutation("accesses of different size do not conflict", "atomic,branch",
             "if (!(l->mask & mask)) continue;", "if (l->mask != mask) continue;"),
    Mutation("the order of two lock sections is never reversed", "lock,cond,branch",
             "if (rival != HD_NONE && !hd__covered(w, w->pred, rival)) hd__add_race(w, rival, NULL, 0);\n}", "}", few=True),
    Mutation("a failed trylock does not depend on the lock", "trylock,lock",
             "        hd__meet(w, o->acquire);\n      } else {", "      } else {"),
    Mutation("a trylock that succeeded could not have failed", "trylock,lock",
             "hd__meet(w, o->release); /* before it, it would have failed */", "{ /* nothing */ }"),
    Mutation("an unlock does not see failed trylocks", "trylock,lock",
             "case HD_EFF_RELEASE:\n      for (struct hd_link *r = o->list; r; r = r->next) hd__meet(w, r->ev);",
             "case HD_EFF_RELEASE:"),
    Mutation("the end of the process commutes with all", "atomic,lock,unjoined,exit",
             "if (i != w->op->thread) hd__meet(w, w->t->last[i]);", "(void)i;"),
    Mutation("creations commute", "atomic,lock,nested,detach",
             "hd__tobj(w->t, 0);\n  hd__meet(w, o->acquire);", "hd__tobj(w->t, 0);"),
    Mutation("a joining thread is not ordered after the one it joins", "atomic,plain,lock,nested",
             "if (joins) merge(t, c, t->last[op->object]);", ""),
    Mutation("locks that were never got are not reversed", "lock,cond,misuse",
             "if (acquires_lock(w->op))\n    on_lock(w, w->op->object, HD_EFF_ACQUIRE);\n  else if", "if", programs=3000),
    Mutation("a spurious waiter is woken by a broadcast", "lock,cond,spurious",
             "int queued = effect == HD_EFF_QUEUE && !hd__woke_spuriously(ev);", "int queued = effect == HD_EFF_QUEUE;",
             programs=3000),
    Mutation("a reader is never before a writer", "rwlock,atomic",
             "else if (o->acquire != HD_NONE && !hd__covered(w, w->pred, o->acquire))\n    "
             "hd__add_race(w, o->acquire, NULL, 0);\n  if (w->f == HD_NONE) return;",
             "if (w->f == HD_NONE) return;", file=SYNC),
    Mutation("a writer only minds readers that are there", "rwlock,atomic",
             "} else if (o->readers) {\n    before_readers(w, o);", "} else if (o->readers) {", file=SYNC),
    Mutation("taking from a semaphore commutes", "semaphore,atomic",
             "if (waits) before_others(w, o);", "", file=SYNC),
    # The matrix of effects, and its rules.
    Mutation("signals and waits commute", "lock,cond",
             ["ROW(QUEUE, NOTIFYING | E(DESTROY))", "ROW(NOTIFY, QUEUEING | NOTIFYING | E(DESTROY))",
              "ROW(NOTIFY_ALL, QUEUEING | NOTIFYING | E(DESTROY))"],
             ["ROW(QUEUE, E(DESTROY))", "ROW(NOTIFY, NOTIFYING | E(DESTROY))", "ROW(NOTIFY_ALL, NOTIFYING | E(DESTROY))"],
             file=DEPEND),
    Mutation("two signals commute", "lock,cond",
             "return wakes(a) || wakes(b);", "return 0;", file=DEPEND, programs=3000),
    Mutation("posting and asking commute", "semaphore,atomic",
             ["ROW(LOOK, LOCKING | SHARING | E(POST) | E(TAKE) | E(DESTROY))", "ROW(POST, E(TAKE) | E(LOOK) |"],
             ["ROW(LOOK, LOCKING | SHARING | E(TAKE) | E(DESTROY))", "ROW(POST, E(TAKE) |"], file=DEPEND),
    Mutation("reads and writes commute", "atomic,branch",
             ["ROW(READ, CHANGES_OF_MEMORY)", "ROW(WRITE, E(READ) | CHANGES_OF_MEMORY | E(AWAIT))"],
             ["ROW(READ, E(UPDATE) | E(FREE))", "ROW(WRITE, CHANGES_OF_MEMORY | E(AWAIT))"], file=DEPEND),
    Mutation("taking a lock and taking it commute", "lock,atomic,branch",
             "ROW(ACQUIRE, LOCKING | SHARING", "ROW(ACQUIRE, E(RELEASE) | SHARING", file=DEPEND),
    Mutation("a failed trylock and an unlock commute", "trylock,lock",
             ["ROW(RELEASE, LOCKING | SHARING | LOOKING |", "ROW(LOOK, LOCKING |"],
             ["ROW(RELEASE, LOCKING | SHARING |", "ROW(LOOK, E(ACQUIRE) |"], file=DEPEND, programs=3000),
    Mutation("reading and writing sections commute", "rwlock,atomic",
             ["ROW(ACQUIRE, LOCKING | SHARING |", "ROW(SHARE, LOCKING |"],
             ["ROW(ACQUIRE, LOCKING | E(UNSHARE) |", "ROW(SHARE, E(RELEASE) |"], file=DEPEND, programs=3000),
    Mutation("everything overlaps nothing of another size", "atomic,branch",
             "if (r & OVERLAP) return hd_ops_overlap(a, b);", "if (r & OVERLAP) return a->object == b->object && a->size == b->size;",
             file=DEPEND, programs=3000),
    # Bounded searches.
    Mutation("within a bound, a block is never left at its beginning", "lock,atomic,branch",
             "if (goes_on(w, e)) done &= before_block(w, e, r.thread, above);", "", file=BOUNDED, programs=3000),
    Mutation("within a bound, a state seen before asks for nothing", "lock,atomic,cond,branch",
             "for (uint32_t i = 0; i < w->met->list.n; i++) r->asked[r->nasked++] = log[w->met->list.at + i];", "", file=BOUNDED, programs=3000),
]


def build_runtime(build, folder, mutation):
    """A copy of heddle in folder whose runtime, or module for facts, has the mutation."""
    with open(os.path.join(ROOT, mutation.file)) as f:
        text = f.read()
    for old, new in zip(mutation.old, mutation.new):
        if text.count(old) != 1:
            raise compare.Broken("'%s' does not fit %s any more: '%s' is there %d times; mend the table in %s"
                                 % (mutation.name, mutation.file, old, text.count(old), __file__))
        text = text.replace(old, new)
    source = os.path.join(folder, os.path.basename(mutation.file))
    with open(source, "w") as f:
        f.write(text)
    shutil.copy(os.path.join(build, "heddle"), folder)
    shutil.copytree(os.path.join(build, "lib"), os.path.join(folder, "lib"), symlinks=True)
    library = MODULE if mutation.file.startswith("src/static/llvm/") else LIBRARY
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", library], capture_output=True, text=True,
                              check=True).stdout.splitlines()
    original = os.path.join(ROOT, mutation.file)
    compile_it = next(c for c in commands if original in c and " -c " in c)
    link = next(c for c in commands if " -shared " in c)
    made = re.search(r"-o (\S+\.o)\b", compile_it).group(1)
    here = source[:-2] + ".o"
    for command, swaps in ((compile_it, ((made, here), (original, source))),
                           (link, ((made, here), ("-o " + library, "-o " + os.path.join(folder, library))))):
        words = [w for w in shlex.split(command) if w not in (":", "&&")]
        text = shlex.join(words)
        for old, new in swaps:
            text = text.replace(old, new)
        # Without link-time optimisation: the link takes a second instead of six.
        more = ["-fno-lto", "-w"] if command is compile_it else ["-fno-lto"]
        p = subprocess.run(shlex.split(text) + more, cwd=build, capture_output=True, text=True)
        if p.returncode:
            raise compare.Broken("%s: %s" % (mutation.name, p.stderr[-1500:]))
    return os.path.join(folder, "heddle")


def failing(folder, tests):
    """The first of these tests that fails with the mutated runtime, which must not be all there is to be said of it."""
    p = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "run.py"), "--build", folder, *tests], capture_output=True,
                       text=True)
    if "passed" not in p.stdout:
        raise compare.Broken((p.stdout + p.stderr)[-1500:])
    return next((line for line in p.stdout.splitlines() if line.startswith("FAILED")), None)


def caught(args, mutation):
    """What the fuzzer says about the mutated runtime; None when it notices nothing."""
    original = args.heddle
    with tempfile.TemporaryDirectory(prefix="heddle-mutation-") as folder:
        args.heddle = build_runtime(args.build, folder, mutation)
        if mutation.tests:
            args.heddle = original
            return failing(folder, mutation.tests)
        args.keep = os.path.join(folder, "differences")
        if mutation.only == "property":
            args.first, args.programs, args.time = 0, mutation.programs, 0
            sums = races.run(args, stop=True)
            args.heddle = original
            return "program %d: %s" % sums["differ"][0][:2] if sums["differ"] else None
        args.allowed = run.choose_features(mutation.features)
        args.first, args.programs = 0, mutation.programs
        compare.only = mutation.only
        tally = run.run(args, show=False)
        args.heddle = original
        if not tally.broken and tally.numbers:  # the same program must pass without the mutation
            args.first, args.programs = tally.numbers[0], 1
            tally.broken = "\n".join(run.run(args, show=False).messages)
        if tally.broken:
            raise compare.Broken(tally.broken)
        return tally.messages[0] if tally.messages else None


def main():
    p = run.parser()
    p.add_argument("--few", action="store_true", help="only those that are found quickly")
    p.add_argument("--verbose", action="store_true", help="show what was noticed")
    p.add_argument("names", nargs="*", help="mutations whose name contains this")
    args = run.prepare(p.parse_args())
    args.build = os.path.abspath(args.build)
    args.found = False
    args.no_shrink, args.one, args.limit = True, True, min(args.limit, 5000)
    passed = failed = 0
    for m in MUTATIONS:
        if (args.few and not m.few) or (args.names and not any(n in m.name for n in args.names)):
            continue
        try:
            noticed = caught(args, m)
            problem = None if noticed else "no difference in %d programs" % m.programs
        except compare.Broken as broken:
            problem = str(broken)
        if problem:
            failed += 1
            print("FAILED mutation '%s': %s" % (m.name, problem), flush=True)
            continue
        passed += 1
        if args.verbose:
            print("%s: %s" % (m.name, noticed), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
