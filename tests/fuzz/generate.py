"""Random small threaded C programs.

A program is a few bodies, one for each thread (body 0 is main), and the routines of its once-controls. A body is
a list of nodes; a node is a statement, or a statement with blocks inside. After removing any node, the
program still compiles, so a failing program can be shrunk (shrink.py).

One C file holds many programs, since compiling costs more than checking; the first argument selects one. They share the variables of program.h: a process runs one program only. Every value that a program reads
is reported to the runtime (SEE), with the thread and the number of the value. So the final state of an execution is
everything that its threads have read, whether it ends, dies or is stuck. With a second argument it is the last value that
each thread has read.

What a program may use is a set of features. Each program uses a random subset, so that each feature also occurs
alone. A feature is a method do_NAME of Generator that returns nodes; a new one is a line in FEATURES and a method.
"""
import random
import re

HEADER = "program.h"  # in this folder: what all programs share

# What programs may use: name -> how often a statement of it is drawn, once the program has it. 0: not a
# statement of its own, but a variant of others or a shape of the whole.
FEATURES = {
    "atomic": 5,  # loads, stores, read-modify-writes of different sizes, some overlapping
    "cas": 3,
    "fence": 1,
    "plain": 3,  # shared without any protection: data races, unless they are ignored
    "volatile": 1,
    "lock": 4,  # critical sections on plain variables that nobody else touches
    "recursive": 1,
    "errorcheck": 1,
    "trylock": 2,
    "cond": 4,
    "rwlock": 3,
    "readers": 3,  # read locks inside read locks, of one thread or of several that wait for each other
    "semaphore": 3,
    "barrier": 1,
    "spinlock": 1,
    "futex": 2,
    "pipe": 2,
    "eventfd": 2,
    "full": 3,  # a pipe, a socket, a counter that may be full, and calls that do not wait
    "epoll": 2,  # readiness of several descriptors together
    "timerfd": 2,
    "ends": 2,  # what a thread does at its end: destructors of thread-specific data
    "file": 3,  # contents, size and offset of a shared file
    "filelock": 2,  # flock, with conversions, on two descriptions of one file
    "number": 2,  # a number of a descriptor that is closed, replaced and used
    "stream": 3,  # calls and sections on one stream
    "init": 3,  # objects that are initialised, or again, while others use them
    "state": 3,  # of the process: environment, working directory, file mode mask, handlers
    "named": 2,  # named semaphores
    "socket": 2,  # naming and connecting a socket, and looking at its names
    "limit": 2,  # of the size of files
    "locale": 2,  # setting it, and functions that depend on it
    "libc": 3,  # memory that libc reads and writes on behalf of the program
    "hidden": 2,  # variables inside libc: of random numbers
    "timed": 2,
    "sleep": 1,  # of about the same length: they end in any order
    "past": 3,  # time-outs that are over when the call begins
    "writers": 1,  # a read-write lock that prefers writers
    "branch": 3,
    "choose": 2,
    "spin": 2,
    "once": 2,
    "loop": 1,
    "yield": 1,
    "heap": 2,
    "assert": 2,
    "assume": 1,
    "section": 2,  # hd_atomic_begin and hd_atomic_end
    "misuse": 1,  # locks that stay taken, or are given back by another
    "points": 2,  # cancellation points, cleanup handlers, and code that is not cancelled
    "masks": 1,  # signals masked, unmasked, pending and waited for
    "kills": 2,  # signals to the own thread, to the first one and to the process
    "exit": 1,  # a thread that ends the process, or itself, in the middle
    "spurious": 0,
    "timeouts": 0,  # timed waits may end at any point
    "nested": 0,  # threads that create threads
    "detach": 0,
    "tryjoin": 0,  # joins that do not wait, or not for ever
    "cancel": 0,
    "signals": 0,  # threads that send signals to others, with a handler
    "unjoined": 0,  # main returns while others run
    "twins": 0,  # threads that run the same code
    "races": 0,  # data races are looked for as well
}

# A program without any of these has nothing to schedule.
BASE = {"atomic", "plain", "lock", "trylock", "cond", "once", "volatile", "rwlock", "readers", "semaphore", "futex", "pipe", "eventfd", "full", "epoll", "file", "filelock", "stream", "writers", "init", "state",
        "named", "socket", "limit", "locale",
        "libc", "hidden"}

# What is prepared for a program (program.h): the names that need it; by an expression, or by a call at its beginning.
NEEDS = {"FOLDER": "chdir|cwd_length", "CHANNEL": "channel|prepare_epoll", "COUNTER": "counter|prepare_epoll",
         "FILE": "file|spare|locked", "TEXT": "text|text_at|text_size",
         "SIGNALS": r"\w*SIG[A-Z]+\w*|\w*kill|raise|mask|pending|take_signal|ignores|handled|action|interrupt_calls"}
CALLS = {"socket": "plug|give_name|has_name", "limit": "limit_files", "full": "narrow|pair|top", "epoll": "poller|ready_ones", "timerfd": "timer|set_timer", "ends": "ending|ended"}

SIZES = (("uint8_t", 1), ("uint16_t", 2), ("uint32_t", 4), ("uint32_t", 4), ("uint64_t", 8))


class Node:
    """Lines of C, with a block of nodes between one and the next."""

    def __init__(self, *parts):
        self.lines = list(parts[::2])
        self.blocks = [list(b) for b in parts[1::2]]

    def copy(self):
        n = Node()
        n.lines = self.lines
        n.blocks = [[c.copy() for c in b] for b in self.blocks]
        return n

    def render(self, out, indent):
        for i, line in enumerate(self.lines):
            if line == "} else {" and not self.blocks[i]:
                continue
            for piece in line.split("\n"):
                out.append("  " * indent + piece)
            if i < len(self.blocks):
                for child in self.blocks[i]:
                    child.render(out, indent + 1)


class Program:
    def __init__(self, name, features, bodies, onces, options, bound, twins=0):
        self.name = name  # "seed/index"
        self.features = features
        self.bodies = bodies  # of threads, 0 is main
        self.onces = onces
        self.options = options  # of heddle check
        self.bound = bound  # one more option, with its argument: the program is also searched within that bound
        self.twins = twins  # the body that several threads run, 0: none
        index = name.rpartition("/")[2]
        # Also what it leaves alone is prepared: descriptors that are restored, a stream to be flushed at the end.
        self.roomy = index.isdigit() and int(index) % 8 == 3

    def copy(self):
        bodies, onces = ([[n.copy() for n in b] for b in bodies] for bodies in (self.bodies, self.onces))
        return Program(self.name, self.features, bodies, onces, list(self.options), self.bound, self.twins)

    def lists(self):
        """Every list of nodes."""
        todo = list(self.bodies) + list(self.onces)
        while todo:
            nodes = todo.pop()
            yield nodes
            for n in nodes:
                todo.extend(n.blocks)

    def needs(self):
        """What has to be prepared for it, as a C expression."""
        if self.roomy:
            return "NEEDS_ALL"
        text = self.text()
        return " | ".join("NEEDS_" + what for what, names in NEEDS.items() if re.search(r"\b(%s)\b" % names, text)) or "0"

    def text(self):
        return " ".join(line for nodes in self.lists() for n in nodes for line in n.lines)

    def size(self):
        return sum(len(nodes) for nodes in self.lists())

    def render(self, prefix):
        """The functions of this program; the last is PREFIX_main."""
        out = []
        threads = range(1, len(self.bodies))
        for k in threads:
            out.append("static void *@t%d(void *);" % k)
        text = self.text()
        for k, nodes in enumerate(self.onces):
            if "@once%d" % k not in text:
                continue
            out.append("static void @once%d(void) {\n  BODY(%d);" % (k, 32 + k))
            for n in nodes:
                n.render(out, 1)
            out.append("}")
        for k, nodes in list(enumerate(self.bodies))[1:] + [(0, self.bodies[0])]:
            out.append("static void *@t%d(void *arg) {\n  %s(%d);" % (k, "TWIN" if k and k == self.twins else "BODY", k))
            if any("made[" in line for n in nodes for m in [n, *sum(n.blocks, [])] for line in m.lines):
                out.append("  pthread_t thread[%d];\n  char made[%d] = {0};\n  void *result = 0;\n  uint64_t joins = 0;"
                           % (len(self.bodies), len(self.bodies)))
            for n in nodes:
                n.render(out, 1)
            out.append("  END;\n  return %s;\n}" % ("(void *)r" if k else "0"))
        return "\n".join(out).replace("@", prefix + "_")


def source(programs):
    """One C file with all of them."""
    parts = ['#include "%s"\n' % HEADER]
    for i, p in enumerate(programs):
        parts.append("/* program %s, features: %s */" % (p.name, " ".join(sorted(p.features))))
        parts.append(p.render("p%d" % i))
    parts.append("int main(int argc, char **argv) {\n  quiet = argc > 2;\n  switch (argc > 1 ? atoi(argv[1]) : 0) {")
    for i in range(len(programs)):
        parts.append("    case %d: prepare_only(%s); p%d_t0(0); break;" % (i, programs[i].needs(), i))
    parts.append("  }\n  return 0;\n}\n")
    return "\n".join(parts)


class Generator:
    """Writes one program."""

    def __init__(self, seed, index, allowed):
        self.r = random.Random("%s/%s" % (seed, index))
        self.name = "%s/%s" % (seed, index)
        keep = self.r.choice((0.1, 0.2, 0.3, 0.5))
        self.features = {f for f in sorted(allowed) if self.r.random() < keep}
        if "twins" in allowed and len(allowed) < len(FEATURES) / 2:  # they are what is looked for
            self.features.add("twins")
        base = sorted(BASE & set(allowed))
        if base and not self.features & BASE:
            self.features.add(self.r.choice(base))
        self.kinds = [f for f in FEATURES if f in self.features and FEATURES[f]]
        self.weights = [FEATURES[f] for f in self.kinds]
        self.onces = [None, None]
        self.budget = 0
        self.held = []  # mutexes of the sections around

    def has(self, feature):
        return feature in self.features

    def flip(self, p=0.5):
        return self.r.random() < p

    # ---- the shape ----

    def program(self):
        threads = self.r.choice((1, 2, 2, 2, 2, 2, 3, 3, 4))
        nested = self.has("nested") and threads > 1 and self.flip(0.7)
        first = self.twins(threads)
        total = self.r.choice((5, 6, 7, 8) if threads < 3 else (3, 4, 5) if threads == 3 else (4, 5))
        bodies = [[] for _ in range(threads + 1)]
        for k in range(1, threads + 1):
            self.budget = max(1, total // threads + self.r.choice((-1, 0, 0, 1)))
            bodies[k] = self.block(0) if self.code.get(k, k) == k else []
            if k in self.code and self.code[k] == k and self.unlike:
                bodies[k].insert(self.r.randint(0, len(bodies[k])), Node("SEE((uintptr_t)arg);"))
        parent = {k: self.r.randrange(1, k) if nested and k > 1 and k not in self.code and self.flip(0.6) else 0
                  for k in range(1, threads + 1)}
        self.budget = self.r.choice((0, 0, 0, 1, 1, 2))
        if self.has("spin"):  # main may be alone, and would spin for ever
            self.weights[self.kinds.index("spin")] = 0
            self.kinds.append("yield")
            self.weights.append(1)
        bodies[0] = self.block(0) if self.budget else []
        for p in range(threads):
            self.create_children(bodies[p], [k for k in parent if parent[k] == p], p)
        if self.features & {"signals", "kills"}:
            if self.flip(0.4):
                bodies[0].insert(self.r.choice((0, 0, 1)), Node("interrupt_calls();"))
            if self.flip(0.6):
                bodies[0].insert(0, Node("action = %d;" % self.r.randint(1, 3)))
        if not self.has("unjoined") and not self.features & {"detach", "exit", "tryjoin"}:
            bodies[0].append(Node("/* all are gone */\nGONE(memory[0]), GONE(memory[1]), GONE(plain[0]), GONE(plain[1]);\n"
                                  "GONE(guarded[0]), GONE(guarded[1]), GONE(flag[0]), GONE(flag[1]);"))
        p = Program(self.name, self.features, bodies, [o or [] for o in self.onces], self.options(), self.bound(), first)
        text = p.text()
        for feature, names in CALLS.items():
            if self.has(feature) and (p.roomy or re.search(r"\b(%s)\b" % names, text)):
                bodies[0].insert(0, Node("prepare_%s();" % feature))
        return p

    def twins(self, threads):
        """Which threads run the code of another one; returns that one, or 0."""
        self.code = {}
        if not self.has("twins") or threads < 2:
            return 0
        n = self.r.choice((2, 2, 3)) if threads > 2 else 2
        first = self.r.randint(1, threads - n + 1)
        self.code = {k: first for k in range(first, first + n)}
        self.unlike = self.flip(0.2)
        return first

    def creation(self, k):
        """Of thread k. Threads that run the same code may have arguments of their own."""
        arg = "(void *)%d" % k if k in self.code and self.unlike else "0"
        return "made[%d] = !pthread_create(&thread[%d], 0, @t%d, %s);" % (k, k, self.code.get(k, k), arg)

    def create_children(self, body, children, parent):
        at = 0
        alike = [k for k in children if k in self.code]
        held = [k for k in children if self.has("readers") and self.flip(0.4)]
        children = [k for k in children if k not in held]
        for k in children:
            together = k in alike[1:] and not self.flip(0.1)
            at = self.r.randint(at, len(body)) if not together and self.flip(0.4) else at
            body.insert(at, Node(self.creation(k)))
            at += 1
        cancelled = {k for k in children if self.has("cancel") and self.flip(0.4)}
        for k in children:
            if k in cancelled:
                body.insert(self.r.randint(at, len(body)), Node("if (made[%d]) pthread_cancel(thread[%d]);" % (k, k)))
        for k in children:
            if self.has("signals") and self.flip(0.4):
                signal = self.r.choice(("SIGUSR1", "SIGUSR1", "SIGUSR2"))
                body.insert(self.r.randint(at, len(body)), Node("if (made[%d]) pthread_kill(thread[%d], %s);" % (k, k, signal)))
        joins = list(children)
        if self.flip(0.2):
            joins.reverse()
        alike = [k for k in joins if k in self.code]
        if alike and not self.features & {"detach", "unjoined", "tryjoin"}:  # all in one line: one place
            at = self.r.randint(at, len(body)) if self.flip(0.3) else len(body)
            join = "if (made[%d]) pthread_join(thread[%d], 0);"
            if self.flip(0.1):
                join = "if (made[%d] && !pthread_join(thread[%d], &result)) seen = seen * 3 + (uintptr_t)result;"
            if self.flip(0.1):
                join += " seen += __atomic_load_n(AT(uint32_t, 0), SEQ_CST);"
            if self.flip(0.1):
                join += " seen = seen * 7 + guarded[0] + plain[0];"
            text = " ".join(join % (k, k) for k in alike)  # report what was seen when all have ended
            body.insert(at, Node("{ uint64_t seen = 0; %s SEE(seen); }" % text if "seen" in text else text))
            at += 1
            joins = [k for k in joins if k not in alike]
        for k in joins:
            if self.has("detach") and self.flip(0.3) and k not in cancelled:  # it may be gone, and its number with it
                at = self.r.randint(at, len(body))
                body.insert(at, Node("if (made[%d]) pthread_detach(thread[%d]);" % (k, k)))
            elif not (self.has("unjoined") and self.flip(0.4)):
                at = self.r.randint(at, len(body)) if self.flip(0.3) else len(body)
                into = "joined" if self.has("libc") and self.flip(0.4) else "result"
                call, see = "pthread_join(thread[%d], &%s)" % (k, into), "SEE((uintptr_t)%s)" % into
                if k in alike:  # the same: which of them was waited for is no part of the final state
                    see = "joins = joins * 3 + 1 + (uintptr_t)%s" % into
                if self.has("tryjoin") and self.flip():
                    call = self.r.choice(("pthread_tryjoin_np(thread[%d], &%s)" % (k, into),
                                          "pthread_timedjoin_np(thread[%d], &%s, in(1))" % (k, into)))
                body.insert(at, Node("if (made[%d] && !%s) %s;" % (k, call, see)))
            at = min(at + 1, len(body))
            if alike and k == alike[-1]:
                body.insert(at, Node("SEE(joins);"))
                at += 1
        for k in held:  # created, and mostly joined, while the lock is held for reading
            inside = [Node(self.creation(k)),
                      Node("if (made[%d] && !pthread_join(thread[%d], &result)) SEE((uintptr_t)result);" % (k, k))]
            late = [inside.pop()] if self.flip(0.3) else []
            body.insert(0 if self.flip() else at, Node("if (!pthread_rwlock_rdlock(&rwlock)) {", inside, "  pthread_rwlock_unlock(&rwlock);\n}"))
            body += late
        if parent == 0 and self.has("unjoined") and self.flip(0.3):
            body.append(Node("pthread_exit(0);"))

    def options(self):
        options = []
        if not self.has("races"):
            options += ["--ignore", "data-race"]
        if self.has("spurious"):
            options += ["--spurious"]
        if self.has("timeouts"):
            options += ["--timeouts=any"]
        return options

    def bound(self):
        if self.flip():
            return ()
        return (self.r.choice(("--preemptions", "--delays")), str(self.r.randrange(4)))

    # ---- statements ----

    def block(self, depth):
        nodes = []
        while self.budget > 0:
            nodes += self.statement(depth)
            if depth and self.flip(0.6):
                break
        return nodes

    def statement(self, depth):
        self.budget -= 1
        for _ in range(20):
            kind = self.r.choices(self.kinds, self.weights)[0]
            nodes = getattr(self, "do_" + kind)(depth)
            if nodes:
                return nodes
        return [Node("SEE(1);")]

    def small(self, depth):
        """A block for the inside of something."""
        if self.budget <= 0 or depth > 2:
            return []
        return self.block(depth + 1)

    def value(self):
        return self.r.choice(("1", "2", "3", "r + 1", "r * 2", "257"))

    def order(self, *names):
        return self.r.choice(names)

    def cell(self):
        """A type and an offset into the memory for atomics. Small ones overlap with large ones."""
        name, size = self.r.choice(SIZES)
        slots = [o for o in (0, 0, 0, 0, 2, 4, 7, 8) if o % size == 0]
        return "AT(%s, %d)" % (name, self.r.choice(slots))

    def do_atomic(self, depth):
        at = self.cell()
        what = self.r.randrange(6)
        if what < 2:
            return [Node("SEE(__atomic_load_n(%s, %s));" % (at, self.order("RELAXED", "ACQUIRE", "SEQ_CST")))]
        if what < 4:
            return [Node("__atomic_store_n(%s, %s, %s);"
                         % (at, self.value(), self.order("RELAXED", "RELEASE", "SEQ_CST")))]
        order = self.order("RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL", "SEQ_CST")
        name = self.r.choice(("fetch_add", "fetch_sub", "fetch_or", "fetch_and", "fetch_xor", "exchange_n"))
        return [Node("SEE(__atomic_%s(%s, %s, %s));" % (name, at, self.value(), order))]

    def do_cas(self, depth):
        name, size = self.r.choice(SIZES)
        at = "AT(%s, %d)" % (name, self.r.choice([o for o in (0, 0, 0, 8) if o % size == 0]))
        orders = self.r.choice(("RELAXED, RELAXED", "ACQUIRE, RELAXED", "ACQ_REL, ACQUIRE", "SEQ_CST, SEQ_CST"))
        call = "__atomic_compare_exchange_n(%s, &was, %s, %d, %s)" % (at, self.value(), self.flip(), orders)
        head = "{\n  %s was = %s;\n  int won = %s;\n  SEE(won ? 1 : 2 + was);" % (
            name, self.r.choice(("0", "0", "1", "r")), call)
        if self.flip(0.3):
            return [Node(head + "\n  if (won) {", self.small(depth), "  }\n}")]
        return [Node(head + "\n}")]

    def do_points(self, depth):
        what = self.r.randrange(5)
        if what < 2:
            return [Node(self.r.choice(("pthread_testcancel();", "SEE(close(-1) < 0);")))]
        if what == 2:
            return [Node("{\n  int old;\n  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);", self.small(depth),
                         "  pthread_setcancelstate(old, 0);\n}")]
        if what == 3:
            return [Node("pthread_cleanup_push(cleanup, 0);", self.small(depth), "pthread_cleanup_pop(%d);" % self.flip())]
        return [Node("SEE(__atomic_load_n(&cleaned, SEQ_CST));")]

    def do_masks(self, depth):
        if self.flip(0.3):
            return [Node("SEE(__atomic_load_n(&handled, SEQ_CST));")]
        if self.flip(0.4) and self.has("signals"):
            return [Node("SEE(take_signal());")]
        if self.flip(0.4):
            return [Node("SEE(pending());")]
        return [Node("mask(SIG_BLOCK);", self.small(depth), "mask(SIG_UNBLOCK);")]

    def do_kills(self, depth):
        signal = self.r.choice(("SIGUSR1", "SIGUSR1", "SIGUSR2"))
        return [Node(self.r.choice(("SEE(raise(%s));", "SEE(pthread_kill(first, %s));", "SEE(pthread_kill(first, %s));",
                                    "SEE(pthread_sigqueue(first, %s, (union sigval){.sival_int = 1}));",
                                    "SEE(syscall(SYS_tgkill, getpid(), getpid(), %s));", "SEE(kill(getpid(), %s));")) % signal)]

    def do_fence(self, depth):
        return [Node("__atomic_thread_fence(%s);" % self.order("ACQUIRE", "RELEASE", "SEQ_CST"))] + self.do_plain(depth)

    def do_plain(self, depth):
        i = self.r.choice((0, 0, 1))
        if self.flip(0.2) and self.has("atomic"):
            at = self.cell()
            return [Node(self.r.choice(("SEE(*%s);" % at, "*%s = %s;" % (at, self.value()))))]
        return [Node(self.r.choice(("SEE(plain[%d]);" % i, "plain[%d] = %s;" % (i, self.value()),
                                    "plain[%d] += %s;" % (i, self.value()), "((char *)plain)[%d] = 5;" % (8 * i + 2))))]

    def do_volatile(self, depth):
        i = self.r.choice((0, 0, 1))
        return [Node(self.r.choice(("SEE(VOLATILE(%d));" % i, "VOLATILE(%d) = %s;" % (i, self.value()))))]

    def touch(self, i):
        """What a critical section does with the variable of its mutex."""
        return Node(self.r.choice(("SEE(guarded[%d]);" % i, "guarded[%d] = %s;" % (i, self.value()),
                                   "SEE(guarded[%d]++);" % i)))

    def section(self, m, depth):
        self.held.append(m)
        inside = [self.touch(m)] if m < 2 and self.flip(0.7) else []
        inside += self.small(depth) if self.flip(0.4) or not inside else []
        self.held.pop()
        return inside

    def do_lock(self, depth):
        m = self.r.choice((0, 0, 1))
        if m in self.held and not (self.has("misuse") and self.flip(0.2)):
            return None
        return [Node("pthread_mutex_lock(&mutex[%d]);\n{" % m, self.section(m, depth),
                     "}\npthread_mutex_unlock(&mutex[%d]);" % m)]

    def do_recursive(self, depth):
        return [Node("pthread_mutex_lock(&mutex[2]);\n{", self.section(2, depth), "}\npthread_mutex_unlock(&mutex[2]);")]

    def do_errorcheck(self, depth):
        return [Node("SEE(pthread_mutex_lock(&mutex[3]));\n{", self.section(3, depth),
                     "}\nSEE(pthread_mutex_unlock(&mutex[3]));")]

    def do_trylock(self, depth):
        m = self.r.randrange(4 if self.has("recursive") and self.has("errorcheck") else 2)
        inside = self.section(m, depth)
        other = self.small(depth) if self.flip(0.3) else []
        return [Node("SEE(pthread_mutex_trylock(&mutex[%d]));\nif (r == 0) {" % m, inside,
                     "  pthread_mutex_unlock(&mutex[%d]);\n} else {" % m, other, "}")]

    def do_cond(self, depth):
        c, m = self.r.randrange(2), self.r.choice((0, 0, 0, 1))
        wake = self.r.choice(("pthread_cond_signal", "pthread_cond_signal", "pthread_cond_broadcast")) + "(&cond[%d]);" % c
        if self.flip(0.45):
            if self.flip(0.4):
                return [Node(wake)]
            if m in self.held:
                return None
            give = "pthread_mutex_unlock(&mutex[%d]);" % m
            set_flag = "flag[%d]%s;" % (m, self.r.choice((" = 1", " = 1", "++")))
            return [Node("pthread_mutex_lock(&mutex[%d]);\n{" % m, [Node(set_flag)],
                         "}\n" + ("%s\n%s" % ((wake, give) if self.flip() else (give, wake))))]
        if self.held:
            return None
        wait = "pthread_cond_wait(&cond[%d], &mutex[%d])" % (c, m)
        if self.has("timed") and self.flip(0.4):
            wait = "pthread_cond_timedwait(&cond[%d], &mutex[%d], in(%d))" % (c, m, self.r.randint(1, 3))
            wait = self.r.choice(("SEE(%s);" % wait, "for (int i = 0; i < 2 && !flag[%d] && !%s; i++) continue;" % (m, wait)))
        else:
            # With spurious wake-ups an endless loop has endless executions.
            loop = "for (int i = 0; i < 2 && !flag[%d]; i++) %s;" if self.has("spurious") else "while (!flag[%d]) %s;"
            wait = self.r.choice((wait + ";", "if (!flag[%d]) %s;" % (m, wait), loop % (m, wait), loop % (m, wait)))
        return [Node("pthread_mutex_lock(&mutex[%d]);\n{" % m, [Node(wait)] + self.section(m, depth),
                     "}\npthread_mutex_unlock(&mutex[%d]);" % m)]

    def do_rwlock(self, depth):
        write, give = self.flip(0.4), "pthread_rwlock_unlock(&rwlock);"
        inside = self.small(depth) if self.flip(0.3) else []
        inside.insert(0, Node("SEE(++shared);" if write else "SEE(shared);"))
        name = "wrlock" if write else "rdlock"
        if self.flip(0.3):
            call = "pthread_rwlock_try%s(&rwlock)" % name
            if self.has("timed") and self.flip():
                call = "pthread_rwlock_timed%s(&rwlock, in(%d))" % (name, self.r.randint(1, 3))
            return [Node("SEE(%s);\nif (r == 0) {" % call, inside, "  %s\n}" % give)]
        return [Node("if (!pthread_rwlock_%s(&rwlock)) {" % name, inside, "  %s\n}" % give)]

    def do_readers(self, depth):
        if self.flip(0.25):
            return [Node("if (!pthread_rwlock_wrlock(&rwlock)) {", [Node("SEE(++shared);")], "  pthread_rwlock_unlock(&rwlock);\n}")]
        call = self.r.choice(("rdlock(&rwlock)", "rdlock(&rwlock)", "tryrdlock(&rwlock)"))
        if self.has("timed") and self.flip(0.3):
            call = "timedrdlock(&rwlock, in(%d))" % self.r.randint(1, 3)
        inside = [Node("SEE(shared);")]
        what = self.r.randrange(5)
        if what == 0:
            inside.append(Node("sem_post(&semaphore[1]);"))
        elif what == 1:
            inside.append(Node("sem_wait(&semaphore[1]);"))
        elif what == 2 and depth < 2:
            inside += self.do_readers(depth + 1)
        elif what == 3:
            inside += self.small(depth)
        self.r.shuffle(inside)
        return [Node("if (!pthread_rwlock_%s) {" % call, inside, "  pthread_rwlock_unlock(&rwlock);\n}")]

    def do_semaphore(self, depth):
        i = self.r.choice((0, 0, 1))
        what = self.r.randrange(8)
        if what < 3:
            return [Node("sem_post(&semaphore[%d]);" % i)]
        if what == 3:
            return [Node("{\n  int value;\n  sem_getvalue(&semaphore[%d], &value);\n  SEE(value);\n}" % i)]
        if what == 4:
            return [Node("SEE(sem_trywait(&semaphore[%d]) == 0);" % i)]
        if what == 5 and self.has("timed"):
            return [Node("SEE(sem_timedwait(&semaphore[%d], in(%d)) == 0);" % (i, self.r.randint(1, 3)))]
        if what == 6:
            return [Node("sem_wait(&semaphore[%d]);\n{" % i, self.small(depth), "}\nsem_post(&semaphore[%d]);" % i)]
        return [Node("sem_wait(&semaphore[%d]);" % i)]

    def do_barrier(self, depth):
        used = self.flip(0.6)
        return [Node("SEE(pthread_barrier_wait(&barrier) != 0);" if used else "pthread_barrier_wait(&barrier);")]

    def do_spinlock(self, depth):
        if 4 in self.held:
            return None
        give = "pthread_spin_unlock(&spinlock);"
        if self.flip(0.3):
            return [Node("SEE(pthread_spin_trylock(&spinlock));\nif (r == 0) {", self.section(4, depth), "  %s\n}" % give)]
        return [Node("pthread_spin_lock(&spinlock);\n{", self.section(4, depth), "}\n" + give)]

    def do_futex(self, depth):
        at = "AT(uint32_t, 8)"
        return [Node(self.r.choice((
            "SEE(syscall(SYS_futex, %s, FUTEX_WAIT_PRIVATE, %s, 0) == 0);" % (at, self.r.choice(("0", "0", "1"))),
            "SEE(syscall(SYS_futex, %s, FUTEX_WAKE_PRIVATE, %s));" % (at, self.r.choice(("1", "1", "2", "INT_MAX"))),
            "__atomic_store_n(%s, %s, RELEASE);\nSEE(syscall(SYS_futex, %s, FUTEX_WAKE_PRIVATE, 1));" % (at, self.value(), at))))]

    def do_pipe(self, depth):
        return [Node(self.r.choice((
            "SEE(write(channel[1], \"abcd\", %d));" % self.r.choice((1, 1, 2)),
            "SEE(write(channel[1], \"abcd\", %d));" % self.r.choice((1, 1, 2)),
            "SEE(take(channel[0], %d));" % self.r.choice((1, 1, 2)),
            "SEE(take(channel[0], %d));" % self.r.choice((1, 1, 2)),
            "SEE(ready(channel[0], 0));",
            "SEE(ready(channel[0], %d));" % self.r.choice((-1, 5)) if self.has("timed") else "SEE(ready(channel[0], -1));")))]

    def do_eventfd(self, depth):
        return [Node(self.r.choice((
            "SEE(eventfd_write(counter, %d));" % self.r.choice((1, 1, 2)),
            "SEE(eventfd_write(counter, 1));",
            "SEE(take(counter, 8));",
            "SEE(take(counter, 8));",
            "SEE(ready(counter, 0));")))]

    def do_full(self, depth):
        what = self.r.randrange(3)
        if what == 0:  # room for one page
            return [Node(self.r.choice((
                "SEE(write(narrow[1], page, %d));" % self.r.choice((4096, 4096, 1)),
                "SEE(take_page(narrow[0]));",
                "SEE(ready(narrow[0], 0));",
                "SEE(writable(narrow[1]));")))]
        if what == 1:  # room for one
            return [Node(self.r.choice((
                "SEE(eventfd_write(top, 1));",
                "SEE(eventfd_write(top, 1));",
                "SEE(take(top, 8));",
                "SEE(ready(top, 0));",
                "SEE(writable(top));")))]
        return [Node(self.r.choice((
            "SEE(send(pair[0], page, %d, MSG_DONTWAIT));" % self.r.choice((1, 4000)),
            "SEE(send(pair[0], page, 4000, MSG_DONTWAIT));",
            "SEE(take_page(pair[1]));",
            "SEE(writable(pair[0]));")))]

    def do_epoll(self, depth):
        return [Node(self.r.choice((
            "SEE(ready_ones(%d));" % (self.r.choice((0, 0, 5)) if self.has("timed") else 0),
            "SEE(ready_ones(0));",
            "SEE(write(channel[1], \"abcd\", 1));",
            "SEE(eventfd_write(counter, 1));",
            "SEE(take(channel[0], 1));")))]

    def do_timerfd(self, depth):
        return [Node(self.r.choice((
            "SEE(set_timer(%d));" % self.r.randrange(3),
            "SEE(set_timer(1));",
            "SEE(take(timer, 8));",
            "SEE(ready(timer, 0));")))]

    def do_ends(self, depth):
        return [Node(self.r.choice((
            "SEE(pthread_setspecific(ending[%d], %s));" % (self.r.randrange(2), self.r.choice(("memory", "memory", "0"))),
            "SEE(pthread_getspecific(ending[0]) != 0);",
            "SEE(__atomic_load_n(&ended, SEQ_CST));")))]

    def do_file(self, depth):
        return [Node(self.r.choice((
            "SEE(write(file, \"abcd\", %d));" % self.r.choice((1, 2)),
            "SEE(pwrite(file, \"e\", 1, 0));",
            "SEE(byte_at(file, %d));" % self.r.randrange(2),
            "SEE(lseek(file, 0, SEEK_CUR));",
            "SEE(ftruncate(file, %d));" % self.r.randrange(2),
            "SEE(size_of(file));")))]

    def do_filelock(self, depth):
        i, kinds = self.r.randrange(2), ["LOCK_SH", "LOCK_EX", "LOCK_SH | LOCK_NB", "LOCK_EX | LOCK_NB"]
        inside = [Node("SEE(flock(locked[%d], %s));" % (i, self.r.choice(kinds)))] if self.flip() else []
        inside += self.small(depth) if self.flip(0.3) else []
        return [Node("SEE(flock(locked[%d], %s));\n{" % (i, self.r.choice(kinds)), inside, "}\nflock(locked[%d], LOCK_UN);" % i)]

    def do_number(self, depth):
        return [Node(self.r.choice((
            "SEE(close(spare));",
            "SEE(dup2(file, spare) == spare);",
            "SEE(size_of(spare));",
            "SEE(write(spare, \"f\", 1));")))]

    def do_stream(self, depth):
        if self.r.randrange(3) == 0 and depth < 2:
            return [Node("flockfile(text);", self.small(depth), "funlockfile(text);")]
        return [Node(self.r.choice((
            "SEE(fputs(\"%s\", text));" % self.r.choice("ab"),
            "SEE(fprintf(text, \"%%d\", %d));" % self.r.randrange(3),
            "SEE(ftell(text));",
            "SEE(fflush(text));",
            "SEE(ftrylockfile(text));\nif (r == 0) funlockfile(text);")))]

    def do_init(self, depth):
        # Nothing is unlocked: it may have been initialised since it was locked, which has no meaning.
        what = self.r.randrange(7)
        if what == 0:
            return [Node(self.r.choice((
                "SEE(sem_init(&fresh.semaphore, 0, %d));" % self.r.randrange(3),
                "SEE(sem_trywait(&fresh.semaphore) == 0);",
                "SEE(sem_post(&fresh.semaphore));",
                "{\n  int value;\n  sem_getvalue(&fresh.semaphore, &value);\n  SEE(value);\n}")))]
        if what == 1:
            return [Node(self.r.choice((
                "SEE(pthread_mutex_init(&fresh.mutex, 0));",
                "SEE(pthread_mutex_trylock(&fresh.mutex));")))]
        if what == 2:
            return [Node(self.r.choice((
                "SEE(pthread_rwlock_init(&fresh.rwlock, 0));",
                "SEE(pthread_rwlock_tryrdlock(&fresh.rwlock));",
                "SEE(pthread_rwlock_trywrlock(&fresh.rwlock));")))]
        if what == 3:
            return [Node(self.r.choice((
                "SEE(pthread_barrier_init(&fresh.barrier, 0, 1));",
                "SEE(pthread_barrier_wait(&fresh.barrier) != 0);")))]
        if what == 4:
            return [Node(self.r.choice((
                "SEE(pthread_cond_init(&fresh.cond, 0));",
                "SEE(pthread_cond_signal(&fresh.cond));",
                "SEE(pthread_cond_broadcast(&fresh.cond));")))]
        return [Node(self.r.choice((
            "SEE(make_key());",
            "SEE(pthread_setspecific(__atomic_load_n(&fresh.key, ACQUIRE), &fresh));",
            "SEE(pthread_getspecific(__atomic_load_n(&fresh.key, ACQUIRE)) != 0);",
            "SEE(pthread_key_delete(__atomic_load_n(&fresh.key, ACQUIRE)));")))]

    def do_state(self, depth):
        return [Node(self.r.choice((
            "SEE(setenv(\"HD_FUZZ\", \"%s\", %d));" % (self.r.choice("ab"), self.flip(0.7)),
            "SEE(unsetenv(\"HD_FUZZ\"));",
            "SEE(first_of(getenv(\"HD_FUZZ\")));",
            "SEE(chdir(\"%s\"));" % self.r.choice(("/", "/tmp")),
            "SEE(cwd_length());",
            "SEE(umask(%s));" % self.r.choice(("022", "077")),
            "SEE(signal(SIGHUP, %s) == SIG_IGN);" % self.r.choice(("SIG_IGN", "SIG_DFL")),
            "SEE(ignores(SIGHUP));")))]

    def do_named(self, depth):
        return [Node(self.r.choice((
            "SEE(open_named(%s));" % self.r.choice(("O_CREAT", "O_CREAT", "O_CREAT | O_EXCL", "0")),
            "SEE(take_named());",
            "SEE(post_named());",
            "SEE(sem_unlink(\"/hd_fuzz\"));")))]

    def do_socket(self, depth):
        return [Node(self.r.choice((
            "SEE(give_name(bind, 0));",
            "SEE(give_name(connect, %d));" % self.r.choice((9, 9, 7)),
            "SEE(has_name(getsockname));",
            "SEE(has_name(getpeername));")))]

    def do_limit(self, depth):
        return [Node(self.r.choice((
            "SEE(limit_files(%s));" % self.r.choice(("1", "2", "RLIM_INFINITY")),
            "SEE(pwrite(file, \"gh\", 2, 0));",
            "SEE(ftruncate(file, %d));" % self.r.choice((1, 3)),
            "SEE(size_of(file));")))]

    def do_locale(self, depth):
        return [Node(self.r.choice((
            "SEE(setlocale(LC_ALL, \"%s\") != 0);" % self.r.choice(("C", "C.UTF-8")),
            "SEE(iswalpha(0xe9) != 0);",
            "SEE(towupper(0xe9));",
            "SEE(mbstowcs(NULL, \"\\303\\251\", 0));",
            "SEE(MB_CUR_MAX);")))]

    def do_libc(self, depth):
        # Strings of one length: how much of a string a call reads must not depend on an unordered write to it.
        return [Node(self.r.choice((
            "SEE(snprintf(line, sizeof line, \"%%d\", %d));" % self.r.choice((1, 2)),
            "memcpy(line, \"%s\", 2);" % self.r.choice(("x", "y")),
            "SEE(first_of(strcpy(line, \"%s\")));" % self.r.choice(("z", "7")),
            "SEE(line[0]);",
            "SEE(strlen(line));",
            "SEE(sscanf(\"%d\", \"%%d\", &number));" % self.r.choice((4, 5)),
            "SEE(strtol(digits + %d, &rest, 10));" % self.r.randrange(3),
            "SEE(rest - digits);",
            "sem_getvalue(&semaphore[0], &number);",
            "SEE(number);",
            "clock_gettime(CLOCK_MONOTONIC, &stamp);",
            "SEE(stamp.tv_nsec < 0);",
            "SEE((uintptr_t)joined);")))]

    def do_hidden(self, depth):
        return [Node(self.r.choice((
            "srand(%d);" % self.r.randint(1, 2),
            "SEE(rand() & 3);",
            "SEE(rand() & 3);",
            "srand48(%d);" % self.r.randint(1, 2),
            "SEE(lrand48() & 3);",
            "SEE(lrand48() & 3);")))]

    def do_timed(self, depth):
        m = self.r.randrange(2)
        if m in self.held:
            return None
        return [Node("SEE(pthread_mutex_timedlock(&mutex[%d], in(%d)));\nif (r == 0) {" % (m, self.r.randint(1, 3)),
                     self.section(m, depth), "  pthread_mutex_unlock(&mutex[%d]);\n}" % m)]

    def do_sleep(self, depth):
        return [Node("usleep(%d);" % self.r.randint(1, 3))]

    def do_past(self, depth):
        m, c, what = self.r.randrange(2), self.r.randrange(2), self.r.randrange(7)
        if what == 0:
            return [Node("usleep(0);")]
        if what == 1:
            return [Node("SEE(sem_timedwait(&semaphore[%d], in(-1)) == 0);" % m)]
        if what == 2:
            name = self.r.choice(("rd", "wr"))
            return [Node("SEE(pthread_rwlock_timed%slock(&rwlock, in(-1)));\nif (r == 0) {" % name,
                         [Node("SEE(shared);")], "  pthread_rwlock_unlock(&rwlock);\n}")]
        if what == 3:
            call = "syscall(SYS_futex, AT(uint32_t, 8), FUTEX_WAIT_PRIVATE, 0, &(struct timespec){0, 0})"
            return [Node("SEE(%s == 0);" % call)]
        if m in self.held or (what > 4 and self.held):
            return None
        if what == 4:
            return [Node("SEE(pthread_mutex_timedlock(&mutex[%d], in(-1)));\nif (r == 0) {" % m, self.section(m, depth),
                         "  pthread_mutex_unlock(&mutex[%d]);\n}" % m)]
        wait = "SEE(pthread_cond_timedwait(&cond[%d], &mutex[%d], in(-1)));" % (c, m)
        return [Node("pthread_mutex_lock(&mutex[%d]);\n{" % m, [Node(wait)] + self.section(m, depth),
                     "}\npthread_mutex_unlock(&mutex[%d]);" % m)]

    def do_writers(self, depth):
        name = self.r.choice(("rdlock(&eager)", "rdlock(&eager)", "wrlock(&eager)"))
        if self.has("timed") and self.flip(0.3):
            name = "timed%slock(&eager, in(1))" % self.r.choice(("rd", "wr"))
        inside = self.do_writers(depth + 1) if depth < 2 and self.flip(0.3) else []
        return [Node("if (!pthread_rwlock_%s) {" % name, [Node("SEE(__atomic_fetch_add(&shared, 1, RELAXED));")] + inside,
                     "  pthread_rwlock_unlock(&eager);\n}")]

    def do_branch(self, depth):
        if depth > 2 or self.budget <= 0:
            return None
        other = self.small(depth) if self.flip(0.3) else []
        condition = self.r.choice(("r & 1", "r & 1", "r == 0", "r > 1", "n > 1"))
        return [Node("if (%s) {" % condition, self.small(depth), "} else {", other, "}")]

    def do_choose(self, depth):
        return [Node("SEE(hd_choose(%d));" % self.r.choice((2, 2, 3)))]

    def do_spin(self, depth):
        pause = self.r.choice(("continue;", "continue;", "sched_yield();", "usleep(1);"))
        what = self.r.randrange(7)
        if what == 4:  # two places
            return [Node("while (__atomic_load_n(AT(uint32_t, 0), ACQUIRE) == 0 %s __atomic_load_n(AT(uint32_t, 8), ACQUIRE) %s 0)\n"
                         "  %s" % (self.r.choice(("&&", "||")), "==" if self.flip(0.8) else "!=", pause))]
        if what == 5:  # test-and-set
            return [Node("while (__atomic_exchange_n(AT(uint32_t, 8), 1, ACQUIRE)) %s\n{" % pause, self.small(depth),
                         "}\n__atomic_store_n(AT(uint32_t, 8), 0, RELEASE);")]
        if what == 6 and not self.held:  # polls what a mutex protects
            return [Node("for (uint32_t seen = 0; !seen;) {\n  pthread_mutex_lock(&mutex[0]);\n  seen = flag[0];\n"
                         "  pthread_mutex_unlock(&mutex[0]);\n  if (!seen) %s\n}" % pause)]
        if what == 0 and not self.held:
            m = self.r.randrange(2)
            return [Node("while (pthread_mutex_trylock(&mutex[%d])) %s\n{" % (m, pause), self.section(m, depth),
                         "}\npthread_mutex_unlock(&mutex[%d]);" % m)]
        if what == 1:
            return [Node("for (uint32_t was = 0; !__atomic_compare_exchange_n(AT(uint32_t, 8), &was, 1, 0, ACQUIRE,\n"
                         "                                                    RELAXED); was = 0) %s\n{" % pause,
                         self.small(depth), "}\n__atomic_store_n(AT(uint32_t, 8), 0, RELEASE);")]
        if what == 2:
            return [Node("__atomic_store_n(AT(uint32_t, 0), 1, RELEASE);")]
        return [Node("while (__atomic_load_n(AT(uint32_t, 0), ACQUIRE) %s 0) %s" % (
            "==" if self.flip(0.8) else "!=", pause))]

    def do_once(self, depth):
        if depth > 1:
            return None
        k = self.r.randrange(2)
        if self.onces[k] is None:
            self.onces[k] = []  # a routine that calls itself would only wait for itself
            self.onces[k] = self.small(depth + 1)
        return [Node("pthread_once(&once[%d], @once%d);" % (k, k))]

    def do_loop(self, depth):
        if depth > 1 or self.budget <= 0:
            return None
        return [Node("for (int i = 0; i < 2; i++) {", self.statement(3), "}")]

    def do_yield(self, depth):
        return [Node("sched_yield();")]

    def do_heap(self, depth):
        i = self.r.choice((0, 0, 1))
        what = self.r.randrange(4)
        if what == 0:
            return [Node("{\n  uint32_t *p = malloc(8);\n  *p = %s;\n  p = __atomic_exchange_n(&heap[%d], p, ACQ_REL);\n"
                         "  free(p);\n}" % (self.value(), i))]
        if what == 1:
            return [Node("free(__atomic_exchange_n(&heap[%d], 0, ACQ_REL));" % i)]
        if what == 2:
            return [Node("{\n  uint32_t *p = __atomic_load_n(&heap[%d], ACQUIRE);\n  if (p) *p = %s;\n}" % (i, self.value()))]
        return [Node("{\n  uint32_t *p = __atomic_load_n(&heap[%d], ACQUIRE);\n  SEE(p ? *p : 9);\n}" % i)]

    def do_assert(self, depth):
        return [Node("assert(%s);" % self.r.choice(("r != 1", "r != 2", "r < 3", "r != 0", "n != 2")))]

    def do_section(self, depth):
        if depth > 2 or self.budget <= 0:
            return None
        return [Node("hd_atomic_begin();\n{", self.small(depth) + self.small(depth), "}\nhd_atomic_end();")]

    def do_assume(self, depth):
        return [Node("hd_assume(%s);" % self.r.choice(("r != 1", "r != 2", "r < 3", "r != 0")))]

    def do_misuse(self, depth):
        return [Node("pthread_mutex_%s(&mutex[%d]);" % (self.r.choice(("lock", "lock", "unlock")), self.r.randrange(2)))]

    def do_exit(self, depth):
        call = self.r.choice(("exit(0);", "_exit(0);", "pthread_exit((void *)7);"))
        return [Node("if (%s) %s" % (self.r.choice(("r & 1", "r == 0", "r > 1")), call))]
