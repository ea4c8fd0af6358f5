"""Small traces: random ones, the text format, and the truth about them by enumeration.

An event is (thread, operation, object, words): words is a dict of the words of the text format. Threads are numbers,
objects names. The enumeration knows nothing of how the detectors work: it executes the events of the threads in every
order that locks, creations and the values of reads allow. With branches, a thread that has read another value goes on to its
next branch, and what it writes is not what it wrote.
"""
import random

ADDRESS = {"x": 0x1000, "y": 0x1008, "z": 0x1010, "w": 0x1018, "m": 0x2000, "n": 0x2040, "rw": 0x2080, "s": 0x20c0}
TAKES = {"lock": False, "trylock": False, "wrlock": False, "rdlock": True}
CHANGES = ("write", "atomic-store", "free")
RELEASES = ("unlock", "wrunlock", "rdunlock")


def text(events, places=None):
    """The trace in the text format; without `places`, each event has a place of its own."""
    places = places or list(range(1, len(events) + 1))
    lines = sorted(set(p for p in places if p))
    threads = 1 + max([e[0] for e in events] + [e[2] for e in events if isinstance(e[2], int)])
    out = ["heddle-trace 3", "command ./generated", "threads %d" % threads]
    out += ["thread T%d - -" % t for t in range(threads)]
    out += ["places %d" % len(lines)] + ["place a.c:%d %x a.c %d -" % (n, 0x100 + n, n) for n in lines]
    out += ["objects %d" % len(ADDRESS)] + ["object %s %x" % item for item in ADDRESS.items()]
    out += ["events %d" % len(events)]
    for i, (thread, op, obj, words) in enumerate(events):
        size = 8 if "read" in op or "write" in op or "atomic" in op or op == "free" else 0
        name = "T%d" % obj if isinstance(obj, int) else obj
        extra = "".join(" %s" % k if v is True else " %s=%s" % (k, v) for k, v in words.items())
        out.append("%d T%d %s %s %d %s%s" % (i + 1, thread, op, name, size,
                                             "a.c:%d" % places[i] if places[i] else "-", extra))
    return "\n".join(out + ["end"]) + "\n"


def generate(seed, length=5, threads=3, values=(0, 1, 1, 2), frees=False, branches=False):
    """A trace of threads with random operations under a random schedule."""
    rng = random.Random(seed)
    threads = rng.randint(2, threads)
    variables = rng.sample(["x", "y", "z"], rng.randint(1, 3))
    programs = []
    for _ in range(threads):
        program, held = [], []
        for _ in range(rng.randint(2, length)):
            pick = rng.random()
            if branches and rng.random() < 0.2:
                program.append(("branch", "-"))
                continue
            free = [m for m in ("m", "n") if m not in held]
            if pick < 0.2 and free and len(held) < 2:
                held.append(rng.choice(free))
                program.append(("lock", held[-1]))
            elif pick < 0.25 and free and not held:
                program.append(("trylock", rng.choice(free)))
            elif pick < 0.4 and held:
                program.append(("unlock", held.pop()))
            elif pick < 0.45 and not held:
                program += rng.choice([[("rdlock", "rw"), ("read", variables[0]), ("rdunlock", "rw")],
                                       [("wrlock", "rw"), ("write", variables[0]), ("wrunlock", "rw")]])
            elif pick < 0.5:
                program.append((rng.choice(["atomic-load", "atomic-store"]), "w"))
            elif pick < 0.53:
                program.append(("sem-post", "s"))
            else:
                program.append((rng.choice(["read", "write"]), rng.choice(variables)))
        while held and rng.random() < 0.9:
            program.append(("unlock", held.pop()))
        programs.append(program)
    if frees:
        programs[rng.randrange(threads)].append(("free", rng.choice(variables)))
    return run(rng, programs, values)


def run(rng, programs, values):
    events, memory, holds = [], {}, {}
    at = [0] * len(programs)
    created = [True] + [False] * (len(programs) - 1)
    waiting = list(range(1, len(programs)))
    while True:
        ready = []
        for t, program in enumerate(programs):
            if not created[t] or at[t] == len(program):
                continue
            op, obj = program[at[t]]
            if op in TAKES and op != "trylock":
                others = [h for h in holds.get(obj, []) if not (TAKES[op] and h[1])]
                if others:
                    continue
            ready.append(t)
        if waiting and (rng.random() < 0.5 or not ready):
            t = waiting.pop(0)
            created[t] = True
            events.append((0, "create", t, {}))
            continue
        if not ready:
            return events
        t = rng.choice(ready)
        op, obj = programs[t][at[t]]
        at[t] += 1
        words = {}
        if op in ("read", "atomic-load"):
            words["value"] = memory.get(obj, 0)
        elif op in ("write", "atomic-store"):
            words["value"] = memory[obj] = rng.choice(values)
        if op.startswith("atomic"):
            words = {"order": "seq_cst", **words}
        if op == "trylock":
            if holds.get(obj):
                words["failed"] = True
            else:  # released at once, or kept for good
                if rng.random() < 0.8:
                    programs[t].insert(at[t], ("unlock", obj))
        if op in TAKES and "failed" not in words:
            holds.setdefault(obj, []).append((t, TAKES[op]))
        if op in RELEASES:
            holds[obj] = [h for h in holds[obj] if h[0] != t]
        if op == "sem-post":
            words["had"] = memory.get("s", 0)
            memory["s"] = words["had"] + 1
        events.append((t, op, obj, words))


class Truth:
    """What is reachable by reordering the events of a trace."""

    def __init__(self, events):
        self.events = events
        self.threads = 1 + max([e[0] for e in events] + [e[2] for e in events if isinstance(e[2], int)])
        self.of = [[i for i, e in enumerate(events) if e[0] == t] for t in range(self.threads)]
        self.position = {i: (t, k) for t in range(self.threads) for k, i in enumerate(self.of[t])}
        self.branches = any(e[1] == "branch" for e in events)
        self.sections()
        self.saw()

    def sections(self):
        """For each acquisition its release (None: never); for each failed attempt the acquisition that it met."""
        self.release, self.met = {}, {}
        open_ = {}
        for i, (t, op, obj, words) in enumerate(self.events):
            if op in TAKES and "failed" in words:
                self.met[i] = next(a for a, _ in open_[obj])
            elif op in TAKES:
                open_.setdefault(obj, []).append((i, t))
                self.release[i] = None
            elif op in RELEASES:
                a = next(a for a, u in open_[obj] if u == t)
                open_[obj] = [x for x in open_[obj] if x[0] != a]
                self.release[a] = i

    def saw(self):
        self.source, last = {}, {}
        for i, (_, op, obj, _) in enumerate(self.events):
            if op in ("read", "atomic-load"):
                self.source[i] = last.get(obj)
            if op in CHANGES:
                last[obj] = i

    def value(self, i, obj):
        """What the write left there; None: unknown, as an initial value is that no read saw."""
        if i is None:
            return 0 if self.initial_known(obj) else None
        return self.events[i][3].get("value")

    def initial_known(self, obj):
        return any(s is None and self.events[r][2] == obj for r, s in self.source.items())

    def done(self, state, i):
        t, k = self.position[i]
        return state[0][t] > k

    def enabled(self, state, i, mode):
        """Whether its thread can execute the event; what it reads is no matter."""
        t, op, obj, words = self.events[i]
        if op != "create" and t and self.position[i][1] == 0:
            maker = next(j for j, e in enumerate(self.events) if e[1] == "create" and e[2] == t)
            if not self.done(state, maker):
                return False
        if i in self.met:
            a = self.met[i]
            return self.done(state, a) and not (self.release[a] is not None and self.done(state, self.release[a]))
        if op in TAKES:
            for a, r in self.release.items():
                if self.events[a][2] != obj or a == i:
                    continue
                if self.done(state, a) and not (r is not None and self.done(state, r)):
                    if not (TAKES[op] and TAKES[self.events[a][1]]):
                        return False
                both_shared = TAKES[op] and TAKES[self.events[a][1]]
                if mode == "sync" and a > i and self.done(state, a) and not both_shared:
                    return False
                if mode == "strict" and a < i and not self.done(state, a) and not both_shared:
                    return False
        if mode == "strict" and op in ("write", "atomic-store"):
            for j, e in enumerate(self.events[:i]):
                if e[2] == obj and e[1] in ("write", "atomic-store") and not self.done(state, j):
                    return False
        return True

    def step(self, state, i, mode):
        """The state after the event; None if it cannot be executed, or reads another value."""
        if not self.enabled(state, i, mode):
            return None
        t, op, obj, words = self.events[i]
        writers, off = dict(state[1]), set(state[2])  # off: writes of other values, and -1 - each thread that read one
        if i in self.source:
            now = writers.get(obj)
            if now != self.source[i]:
                if mode == "sync" or now in off or self.value(now, obj) != words["value"]:  # unknown ones differ
                    if not self.branches or mode != "huang":
                        return None
                    off.add(-1 - t)
            elif now in off:
                off.add(-1 - t)
        if op == "branch" and -1 - t in off:
            return None
        if op in CHANGES:
            writers[obj] = i
            if -1 - t in off:
                off.add(i)
        at = list(state[0])
        at[t] += 1
        return tuple(at), tuple(sorted(writers.items())), frozenset(off)

    def nexts(self, state):
        return [self.of[t][state[0][t]] for t in range(self.threads) if state[0][t] < len(self.of[t])]

    def reachable(self, mode):
        start = (tuple([0] * self.threads), (), frozenset())
        seen, work = {start}, [start]
        while work:
            state = work.pop()
            for i in self.nexts(state):
                after = self.step(state, i, mode)
                if after and after not in seen:
                    seen.add(after)
                    work.append(after)
        return seen

    def conflict(self, a, b):
        (t, op, obj, _), (u, op2, obj2, _) = self.events[a], self.events[b]
        kinds = {"read", "write", "atomic-load", "atomic-store"}
        return (t != u and obj == obj2 and op in kinds and op2 in kinds and ("write" in (op, op2) or
                "atomic-store" in (op, op2)) and not (op.startswith("atomic") and op2.startswith("atomic")))

    def races(self, mode):
        """Pairs that come to be next to each other, by `huang` (any prefix), `sync`, `said` or `strict` (whole traces)."""
        out = set()
        if mode in ("huang", "sync"):
            for state in self.reachable(mode):
                ready = [i for i in self.nexts(state) if self.enabled(state, i, mode)]
                out |= {(a, b) for a in ready for b in ready if a < b and self.conflict(a, b)}
            return out
        good = {}

        def completes(state):
            if state not in good:
                rest = self.nexts(state)
                good[state] = not rest or any(
                    after and completes(after) for after in (self.step(state, i, mode) for i in rest))
            return good[state]

        for state in self.reachable(mode):
            for a in self.nexts(state):
                for b in self.nexts(state):
                    if a == b or (min(a, b), max(a, b)) in out or not self.conflict(a, b):
                        continue
                    first = self.step(state, a, mode)
                    second = first and self.step(first, b, mode)
                    if second and completes(second):
                        out.add((min(a, b), max(a, b)))
        return out

    def after(self, kind):
        """Pairs of which the second can come after the first: `null`, it reads the 0 of the first; `freed`, it uses what
        the first frees; or `atomicity`, triples with the second between the others."""
        out = set()
        plain = {"read", "write", "atomic-load", "atomic-store"}
        for state in self.reachable("huang"):
            for f in self.nexts(state):
                t, op, obj, words = self.events[f]
                if op not in plain or not self.enabled(state, f, "huang"):
                    continue
                done = [i for i in range(len(self.events)) if self.done(state, i) and self.events[i][2] == obj and
                        self.events[i][0] != t]
                if kind == "null" and op in ("read", "atomic-load") and words["value"] >= 4096:
                    e = dict(state[1]).get(obj)
                    if e is not None and e not in state[2] and self.events[e][0] != t and self.events[e][3].get("value") == 0:
                        out.add((e, f))
                if kind == "freed":
                    out |= {(e, f) for e in done if self.events[e][1] == "free" and f < e}
                if kind == "atomicity":
                    for e in done:
                        later = [i for i in self.of[self.events[e][0]] if i > e and self.events[i][2] == obj and
                                 self.events[i][1] in plain]
                        if self.events[e][1] not in plain or not later or self.done(state, later[0]):
                            continue
                        writes = [self.events[i][1] in ("write", "atomic-store") for i in (e, f, later[0])]
                        if not e < f < later[0] and (writes[1] or (writes[0] and writes[2])):
                            out.add((e, f, later[0]))
        return out

    def leads(self, order, after, loose=False):
        """Whether the order can be executed, every read with its value (unless loose), and leaves `after` next."""
        state = (tuple([0] * self.threads), (), frozenset())
        for i in order:
            if i not in self.nexts(state):
                return False
            step = self.step(state, i, "huang")
            if not step and loose and self.enabled(state, i, "huang"):
                at = list(state[0])
                at[self.events[i][0]] += 1
                step = (tuple(at), state[1], state[2])
            if not step:
                return False
            state = step
        return all(i in self.nexts(state) and self.enabled(state, i, "huang") for i in after)
