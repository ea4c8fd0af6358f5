"""Counts the happens-before classes of small programs with waiting loops, by enumerating them.

Independent of the search: no reduction, no races, only the definition. A thread is a generator of operations; its
results are sent back into it. Every part of an execution that is closed under happens-before is visited once, and
extended by every operation that is possible there; those that cannot be extended are the classes.

    ("read", x)             the value
    ("write", x, v)
    ("add", x, v)           the value before; always a change, also when v is 0
    ("swap", x, v)          the value before; always a change, even when that is v
    ("cas", x, old, new)    whether it succeeded; a read if not
    ("lock", m), ("unlock", m)
    ("await", ((x, v), ...))  a read of all places; possible while one of them is not v; returns what they are

Operations of different threads are dependent when they touch the same variable and one changes it, or the same mutex.

wait_for(body) is a loop around body, a function that makes one round and returns whether the loop is over. As the
runtime does (docs/soundness.md), a round that only reads and does not end the loop is followed by a wait until one of
the values is another; the wait stands for the first read of the next round. A round that is one swap, compare-and-swap or
addition of 0 waits with that operation. Where a round takes locks, the first one does not count, and the wait is an operation of its
own. A round in which one place had two values is no reason to wait.
"""


def wait_for(body):
    known, guard, failed = None, None, 0
    while True:
        reads, kinds, mixed = {}, [], False
        step, answer = body(), None
        while True:
            try:
                op = step.send(answer)
            except StopIteration as stop:
                over = stop.value
                break
            kinds.append(op[0])
            if op[0] == "read" and known is not None:
                answer = known[op[1]]
                mixed |= reads.setdefault(op[1], answer) != answer
            else:
                answer = yield op if guard is None else op + (guard,)
                if op[0] == "read":
                    mixed |= reads.setdefault(op[1], answer) != answer
                elif op[0] == "swap":
                    mixed |= reads.setdefault(op[1], answer) != answer
                    if answer != op[2]:
                        kinds.append("change")
                elif op[0] == "cas" and not answer[0]:
                    reads.setdefault(op[1], answer[1])
                elif op[0] == "add" and op[2] == 0:
                    mixed |= reads.setdefault(op[1], answer) != answer
                elif op[0] in ("write", "add", "cas", "await"):
                    kinds.append("change")
            known = guard = None
        if over:
            return
        if "change" in kinds or mixed or not reads:
            failed = 0
            continue
        failed += 1
        places = tuple(reads.items())
        if kinds in (["swap"], ["cas"], ["add"]):
            guard = places[0]
        elif "lock" in kinds:
            if failed > 1:
                yield ("await", places)
        else:
            known = yield ("await", places)


def loop(x, end):
    """Reads x until end(value)."""
    def body():
        return end((yield ("read", x)))
    return wait_for(body)


def just(*ops):
    """A thread, or a part of one, that does the same whatever it finds."""
    for op in ops:
        yield op


class State:
    """What a happens-before closed part of an execution leads to."""

    def __init__(self, n, memory):
        self.results = [()] * n  # of each thread
        self.memory = dict(memory)
        self.held = {}
        self.clock = [(0,) * n] * n  # of the last event of each thread
        self.changed, self.seen = {}, {}  # clocks of the last change of an object, of all that saw it since
        self.trail = [()] * n  # the clocks of all events of each thread

    def copy(self):
        s = State.__new__(State)
        s.results, s.memory, s.held = list(self.results), dict(self.memory), dict(self.held)
        s.clock, s.changed, s.seen, s.trail = list(self.clock), dict(self.changed), dict(self.seen), list(self.trail)
        return s


def join(a, b):
    return tuple(map(max, a, b))


def pending(code, t, results):
    """The next operation of thread t; None: it has ended."""
    g = code[t]()
    try:
        op = next(g)
        for r in results:
            op = g.send(r)
        return op
    except StopIteration:
        return None


def possible(s, op):
    if op[0] == "lock":
        return op[1] not in s.held
    if op[0] == "await":
        return any(s.memory[x] != v for x, v in op[1])
    if op[0] in ("swap", "cas", "add") and isinstance(op[-1], tuple):
        return s.memory[op[-1][0]] != op[-1][1]
    return True


def execute(s, t, op):
    """Performs the operation: (result, objects it changes, objects it sees)."""
    kind, at = op[0], op[1]
    if kind == "read":
        return s.memory[at], (), (at,)
    if kind == "await":
        return {x: s.memory[x] for x, _ in at}, (), tuple(x for x, _ in at)
    if kind == "lock":
        s.held[at] = t
        return None, (at,), ()
    if kind == "unlock":
        del s.held[at]
        return None, (at,), ()
    old = s.memory[at]
    if kind == "cas":
        if old != op[2]:
            return (False, old), (), (at,)
        s.memory[at] = op[3]
        return (True, old), (at,), ()
    s.memory[at] = old + op[2] if kind == "add" else op[2]
    return old, (at,), ()


def extend(s, t, op):
    s = s.copy()
    n = len(s.clock)
    result, changes, sees = execute(s, t, op)
    clock = s.clock[t]
    for x in changes + sees:
        clock = join(clock, s.changed.get(x, clock))
    for x in changes:
        clock = join(clock, s.seen.get(x, clock))
    clock = tuple(c + (i == t) for i, c in enumerate(clock))
    for x in changes:
        s.changed[x] = clock
        s.seen[x] = (0,) * n
    for x in sees:
        s.seen[x] = join(s.seen.get(x, (0,) * n), clock)
    s.clock[t] = clock
    s.results[t] += (result,)
    s.trail[t] += ((clock, op[0], result[0] if op[0] == "cas" else None),)
    return s


def classes(code, memory):
    """(number of classes, how many of them are stuck, set of final values of the variables)"""
    todo, known, count, stuck, ends = [State(len(code), memory)], set(), 0, 0, set()
    while todo:
        s = todo.pop()
        ops = [pending(code, t, s.results[t]) for t in range(len(code))]
        can = [t for t, op in enumerate(ops) if op and possible(s, op)]
        if not can:
            count += 1
            stuck += any(ops)
            ends.add(tuple(sorted(s.memory.items())))
        for t in can:
            e = extend(s, t, ops[t])
            key = tuple(e.trail)
            if key not in known:
                known.add(key)
                todo.append(e)
    return count, stuck, ends
