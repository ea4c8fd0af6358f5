"""heddle-gdb.py: commands with which gdb stands inside a failing execution. Runs in gdb, started by
`heddle replay --gdb`, which leaves the plan (see src/cli/gdb.c) at descriptor 1002.

The tested threads are not what gdb calls threads: they take turns on one kernel thread. Where the ones that do not
run were left is read from the runtime's table `heddle_debug` (src/runtime/debug.c). To look at such a thread, an
unwinder tells gdb that the innermost frame was called from there. Nothing is written to registers, so nothing has to
be put back, and going on is always right.

The program is stopped in heddle_debug_stop, on the stack of the thread whose turn it is, before it executes its
operation. Going back is starting again and stopping earlier: the runtime follows the same schedule."""
import json
import os
import shlex
import struct

import gdb
import gdb.FrameDecorator
import gdb.unwinder

PLAN_FD = 1002
PLAN_VERSION = 1
TABLE_VERSION = 1
TABLE = """version stop_point stop_event reason points diverged events op_text op_kind_object cur thread nthreads
  sigreturn active selector stride sp tp op_kind op_object op_size op_pc state parent nth name start syscall wait object_address
  object_owner""".split()
AT_POINT, AT_FINDING = 1, 2
NEVER = 2**64 - 1
NOBODY = 0xFFFF
STATES = ["ready", "blocked", "ended", "stopped"]
ENDED = 2
ON_THREAD = 1  # operations whose object is a thread's number
SAVED = ["r15", "r14", "r13", "r12", "rbx", "rbp", "rip"]  # on the stack of a thread that does not run, after 8 bytes
CONTEXT = ["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx",
           "rsp", "rip"]  # in a signal context, after 40 bytes
WINDOW = 10  # lines of the schedule shown on either side


def say(text):
    gdb.write("heddle: %s\n" % text)


def quietly(command):
    return gdb.execute(command, to_string=True)


# ---- memory ----

def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def number(address, size=8):
    return int.from_bytes(read(address, size), "little")


def text_at(address, size=64):
    out = b""
    while len(out) < size:
        c = read(address + len(out), 1)
        if c == b"\0":
            break
        out += c
    return out.decode("utf-8", "replace")


class Table:
    """The words of heddle_debug, by name."""

    def __init__(self):
        try:
            if gdb.selected_thread() is None:
                raise gdb.error
            self.base = int(gdb.parse_and_eval("(unsigned long)&heddle_debug"))
            words = struct.unpack("<%dQ" % len(TABLE), read(self.base, 8 * len(TABLE)))
        except gdb.error:
            raise gdb.GdbError("the program is not running; `heddle goto N` starts it again")
        self.__dict__.update(zip(TABLE, words))
        if self.version != TABLE_VERSION:
            raise gdb.GdbError("the program runs with another version of Heddle's runtime; build it again")

    def write(self, name, value):
        gdb.selected_inferior().write_memory(self.base + 8 * TABLE.index(name), struct.pack("<Q", value))


# ---- places in the source ----

def in_runtime(pc):
    return "libheddle_rt.so" in (gdb.solib_name(pc) or "")


def function_at(pc):
    try:
        block = gdb.block_for_pc(pc)
    except RuntimeError:
        return None
    while block and not block.function:
        block = block.superblock
    return block.function.print_name if block else None


def place(pc):
    """FILE:LINE (FUNCTION) of the call that returns to pc, or None."""
    if not pc:
        return None
    sal = gdb.find_pc_line(pc - 1)
    name = function_at(pc - 1)
    where = "%s:%d" % (os.path.basename(sal.symtab.filename), sal.line) if sal.symtab else "0x%x" % pc
    return "%s (%s)" % (where, name) if name else where


def symbol(address):
    """`name+4` for an address in a variable or function, else 0x...; "" for what is no address."""
    if address == 0 or address >> 47:
        return ""
    try:
        line = quietly("info symbol 0x%x" % address)
    except gdb.error:
        line = "No symbol"
    if line.startswith("No symbol") or " in section " not in line:
        return "0x%x" % address
    return "`%s`" % line.split(" in section ")[0].replace(" + ", "+")


def users(frame):
    """Whether the user wrote it: neither the runtime, nor a library of the system, nor a header of the C++ library."""
    library = gdb.solib_name(frame.pc()) or ""
    if "libheddle_rt.so" in library or library.startswith(("/lib", "/usr/lib")):
        return False
    sal = frame.find_sal()
    return sal.symtab is not None and not sal.symtab.fullname().startswith(("/usr/include/", "/usr/lib/"))


# ---- tested threads ----

class Thread:
    def __init__(self, table, index):
        self.table, self.index = table, index
        self.at = number(table.thread) + index * table.stride
        self.state = self.field("state", 1)
        kind = self.field("op_kind", 1)
        self.op = text_at(number(table.op_text + 8 * kind))
        self.on_thread = number(table.op_kind_object + kind, 1) == ON_THREAD
        self.running = number(table.cur) == self.at
        self.op_pc = self.field("op_pc")

    def field(self, name, size=8):
        return number(self.at + getattr(self.table, name), size)

    @property
    def name(self):
        if self.index == 0:
            return "T0"
        parent, nth = self.field("parent", 2), self.field("nth", 2)
        return "T%d" % nth if parent == 0 else "%s.%d" % (Thread(self.table, parent).name, nth)

    @property
    def label(self):
        given = text_at(self.at + self.table.name, 16)
        start = self.field("start")
        return given or ("main" if self.index == 0 else function_at(start) or "")

    def operation(self):
        """lock `m`, held by T2"""
        target = self.field("op_object")
        if self.op == "create":
            what = "a thread"  # who it will be is decided when it is created
        elif not self.on_thread:
            what = symbol(target)
        else:
            what = "" if target == self.index else Thread(self.table, target).name
        words = " ".join(w for w in (self.op, what) if w)
        wait = self.field("wait")
        owner = number(wait + self.table.object_owner, 2) if wait and self.state == 1 else NOBODY
        if owner != NOBODY:
            words += ", held by %s" % Thread(self.table, owner).name
        return words

    def handler_context(self):
        """Of the running thread: the context that a signal handler of the runtime's was called in, or None."""
        frame = kernel_frame()
        while frame is not None and in_runtime(frame.pc()):
            if frame.pc() == self.table.sigreturn:
                return int(frame.read_register("rsp"))
            frame = frame.older()
        return None

    def registers(self):
        """Where it was left, or None if its registers are those of the processor. pre: nobody is on show."""
        context = self.field("syscall") or (self.running and self.handler_context())
        if context:
            regs = dict(zip(CONTEXT, struct.unpack("<%dQ" % len(CONTEXT), read(context + 40, 8 * len(CONTEXT)))))
        elif self.running:
            return None
        else:
            sp = self.field("sp")
            regs = dict(zip(SAVED, struct.unpack("<7Q", read(sp + 8, 56))))
            regs["rsp"] = sp + 64
        regs["fs_base"] = self.field("tp")
        return regs

    @property
    def doing(self):
        if self.running and at_point():
            return "next"
        return "running" if self.running and STATES[self.state] == "ready" else STATES[self.state]

    @property
    def started(self):
        return not (self.op == "start" and (not self.running or at_point()))


def threads():
    table = Table()
    return [Thread(table, i) for i in range(number(table.nthreads, 4))]


def thread_by_name(word):
    for t in threads():
        if word in (t.name, t.name[1:]):
            return t
    raise gdb.GdbError("there is no thread %s; `heddle threads` lists them" % word)


def running():
    table = Table()
    cur = number(table.cur)
    if not cur:
        raise gdb.GdbError("no tested thread is running yet")
    return Thread(table, (cur - number(table.thread)) // table.stride)


def at_point():
    return at_stop() and Table().reason == AT_POINT


def at_stop():
    """Whether the program is where the runtime stops it, and not at a breakpoint of the user's."""
    return gdb.selected_thread() is not None and kernel_frame().name() == "heddle_debug_stop"


def kernel_frame():
    """The innermost frame of the kernel thread that runs everything."""
    first = min(gdb.selected_inferior().threads(), key=lambda t: t.num)
    if gdb.selected_thread() is None or gdb.selected_thread().num != first.num:
        first.switch()
    return gdb.newest_frame()


# ---- looking at a thread that does not run ----

class FrameId:
    # No stack is below it, so that gdb takes the frames that follow for older ones, wherever their stack is.
    sp, pc = gdb.Value(8), gdb.Value(8)


class Unwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("heddle")
        self.shown, self.regs, self.here = None, None, None

    def __call__(self, pending):
        if not self.regs or self.here != (int(pending.read_register("rsp")), int(pending.read_register("rip"))):
            return None
        info = pending.create_unwind_info(FrameId)
        for name, value in self.regs.items():
            info.add_saved_register(name, gdb.Value(value).cast(gdb.lookup_type("unsigned long")))
        return info

    def show(self, thread):
        """From now on, until the program goes on, gdb's frames are those of this thread."""
        self.clear()
        if thread is None:
            return
        regs, frame = thread.registers(), kernel_frame()
        self.here = int(frame.read_register("rsp")), int(frame.read_register("rip"))
        self.regs = regs
        self.shown = thread.index if self.regs else None
        gdb.invalidate_cached_frames()

    def clear(self):
        if self.regs:
            self.shown = self.regs = None
            gdb.invalidate_cached_frames()


unwinder = Unwinder()


class Named(gdb.FrameDecorator.FrameDecorator):
    def function(self):
        return self.inferior_frame().name() or "??"


class HideRuntime:
    """Takes the runtime's frames out of `backtrace`; `backtrace -no-filters` shows them."""

    def __init__(self):
        self.name, self.priority, self.enabled = "heddle", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        for f in frames:
            inner = f.inferior_frame()
            if not in_runtime(inner.pc()) and not (unwinder.regs and inner.level() == 0):
                yield Named(f)


def user_frame(thread):
    """The innermost frame that the user wrote, of a thread on show."""
    unwinder.show(thread)
    frame, first = kernel_frame(), None
    if unwinder.regs:
        frame = frame.older()
    while frame is not None and frame.is_valid():
        if users(frame):
            return frame
        if first is None and not in_runtime(frame.pc()):
            first = frame
        frame = frame.older()
    return first


def where(thread):
    """FILE:LINE (FUNCTION), or what stands for it."""
    if not thread.started or thread.state == ENDED:
        return ""
    frame = user_frame(thread)
    if frame is None:
        return place(thread.op_pc) or ""
    sal = frame.find_sal()
    return "%s:%d (%s)" % (os.path.basename(sal.symtab.filename) if sal.symtab else "?", sal.line, frame.name())


def select(thread):
    """Makes gdb's frame the innermost one of the user's code."""
    frame = user_frame(thread) if thread.started else None
    if frame is not None:
        frame.select()
    return frame


# ---- running ----

class Session:
    """Where the program is, and how to get elsewhere."""

    def __init__(self, plan):
        self.plan = plan
        self.events = [line.split() for line in plan["events"]]
        # Which of them are operations: the runtime counts only those.
        self.operations = [i for i, e in enumerate(self.events) if e[1] != "note"]
        self.want = None  # (point, event) to stop at in a process that has not begun
        self.busy = False  # a command of ours is running the program

    def position(self):
        """Scheduling points reached, and events before the next operation."""
        table = Table()
        done = number(table.events)
        return number(table.points), self.operations[done] if done < len(self.operations) else len(self.events)

    def ask(self, table, point, event):
        table.write("stop_point", point)
        table.write("stop_event", event)

    def reached(self):
        """The runtime has called: whether that is a place to stop. The first call comes at the first point."""
        table = Table()
        point, event = self.want or (None, None)
        self.want = None
        if table.reason == AT_FINDING:
            return True
        if point is not None:
            self.ask(table, point, event)
            return number(table.points) >= point or number(table.events) + 1 >= event
        if table.stop_point == 0 and table.stop_event == 0:  # `run`, typed by the user
            self.ask(table, NEVER, NEVER)
            return False
        self.ask(table, NEVER, NEVER)
        return True

    def go(self, point, event, again):
        """Runs until the scheduling point or event, in this process or again from the beginning."""
        unwinder.clear()
        mine = []
        self.busy = True
        try:
            if again:
                # What the user wants to stop at is not meant on the way back.
                mine = [b for b in gdb.breakpoints() if b.enabled and b.number > 0]
                for b in mine:
                    b.enabled = False
                self.want = (point, event)
                with confirm_off():
                    quietly("run")
            else:
                self.ask(Table(), point, event)
                quietly("continue")
            if self.alive():
                self.ask(Table(), NEVER, NEVER)
        finally:
            self.busy = False
            for b in mine:
                b.enabled = True
        self.announce()

    def alive(self):
        return gdb.selected_thread() is not None

    def announce(self):
        """Says where we are, and selects the frame to look at."""
        if not self.alive():
            say("the program has ended; `heddle back` and `heddle goto N` start it again")
            return
        t = running()
        if not at_stop():
            select(t)
            say("stopped in %s, after event %d" % (t.name, self.position()[1]))
            return
        if Table().reason == AT_FINDING:
            say("here it is, after %d events: %s" % (self.position()[1], self.plan["title"]))
        else:
            spot = where(t)
            say("before event %d of %d: %s is about to %s%s" % (
                self.position()[1] + 1, len(self.events), t.name, t.operation(),
                " " + t.label if not t.started and t.label else " at " + spot if spot else ""))
        if select(t) is not None:
            gdb.execute("frame")

    def back(self, steps):
        if self.alive():
            point = self.position()[0]
            target = point - steps if at_point() else point - steps + 1
            if Table().diverged and number(Table().diverged, 4):
                say("the program did not follow the schedule")
        else:
            target = self.plan["stop"] or NEVER
        if target < 1:
            raise gdb.GdbError("there is no scheduling point before the first")
        self.go(target, NEVER, True)

    def goto(self, event):
        if not 1 <= event <= len(self.events) + 1:
            raise gdb.GdbError("events are numbered from 1 to %d" % len(self.events))
        while event <= len(self.events) and event - 1 not in self.operations:
            event -= 1  # a note belongs to the step before
        here = self.position()[1] + 1 if self.alive() else NEVER
        if here == event and at_point():
            return self.announce()
        wanted = self.operations.index(event - 1) + 1 if event <= len(self.events) else NEVER  # to the finding
        self.go(NEVER, wanted, here >= event)


class confirm_off:
    def __enter__(self):
        self.was = gdb.parameter("confirm")
        quietly("set confirm off")

    def __exit__(self, *error):
        quietly("set confirm %s" % ("on" if self.was else "off"))


class Stop(gdb.Breakpoint):
    def __init__(self, session):
        super().__init__("heddle_debug_stop", internal=True)
        self.silent = True
        self.session = session

    def stop(self):
        return self.session.reached()


# ---- commands ----

session = None


def numeral(arg, default=None):
    words = gdb.string_to_argv(arg)
    if not words and default is not None:
        return default
    if len(words) != 1 or not words[0].isdigit():
        raise gdb.GdbError("say a number")
    return int(words[0])


class Heddle(gdb.Command):
    """The execution that Heddle found, thread by thread and step by step.

    heddle threads      the tested threads, and what each is about to do
    heddle thread N     look at thread TN: backtrace, frame, up, print, info locals
    heddle next [N]     go to the next scheduling point (or N further)
    heddle back [N]     go back to the one before (or N before), by running again
    heddle goto N       go to where event N is about to happen
    heddle finish       complete the operation, and stop in the code that asked for it
    heddle schedule     the events, and where we are (`heddle schedule all`)
    $heddle_tls("x")    a thread-local variable of the thread looked at

Breakpoints, watchpoints, next, step and finish work as ever, on the thread that runs."""

    def __init__(self):
        super().__init__("heddle", gdb.COMMAND_RUNNING, prefix=True)

    def invoke(self, arg, tty):
        gdb.execute("help heddle")


class Threads(gdb.Command):
    """List the tested threads: > is the one that runs, * the one being looked at."""

    def __init__(self):
        super().__init__("heddle threads", gdb.COMMAND_RUNNING)

    def invoke(self, arg, tty):
        shown, rows = unwinder.shown, []
        selected = gdb.selected_frame() if gdb.selected_thread() else None
        level = selected.level() if selected else 0
        everyone = threads()
        for t in everyone:
            mark = ">" if t.running else "*" if t.index == shown else " "
            op = "" if t.state == ENDED or t.doing == "running" else t.operation()
            rows.append((mark, t.name, t.label, t.doing, op, where(t)))
        width = [max(len(r[i]) for r in rows) for i in range(5)]
        for r in rows:
            gdb.write((" ".join(r[i].ljust(width[i]) for i in range(5)) + "  " + r[5]).rstrip() + "\n")
        unwinder.show(everyone[shown] if shown is not None else None)
        frame = gdb.newest_frame()
        while frame is not None and frame.level() < level:
            frame = frame.older()
        if frame is not None:
            frame.select()


class OneThread(gdb.Command):
    """Look at tested thread TN: its backtrace, frames and variables, until the program goes on."""

    def __init__(self):
        super().__init__("heddle thread", gdb.COMMAND_RUNNING)

    def invoke(self, arg, tty):
        words = gdb.string_to_argv(arg)
        t = thread_by_name(words[0]) if words else running()
        if t.state == ENDED and not t.running:
            raise gdb.GdbError("%s has ended" % t.name)
        frame = select(t)
        say("%s%s, %s: %s" % (t.name, " (%s)" % t.label if t.label else "",
                              t.doing, t.operation()))
        if frame is not None:
            gdb.execute("frame")


class Next(gdb.Command):
    """Go to the next scheduling point, or to the N-th from here."""

    def __init__(self):
        super().__init__("heddle next", gdb.COMMAND_RUNNING)

    def invoke(self, arg, tty):
        session.go(session.position()[0] + numeral(arg, 1), NEVER, False)


class Back(gdb.Command):
    """Go back to the scheduling point before this one, or N of them, by running the program again."""

    def __init__(self):
        super().__init__("heddle back", gdb.COMMAND_RUNNING)

    def invoke(self, arg, tty):
        session.back(numeral(arg, 1))


class Goto(gdb.Command):
    """Go to the scheduling point at which event N is about to happen (see `heddle schedule`)."""

    def __init__(self):
        super().__init__("heddle goto", gdb.COMMAND_RUNNING)

    def invoke(self, arg, tty):
        session.goto(numeral(arg))


def complete(t):
    """Runs until thread t, which is about to execute an operation, is back in the code that asked for it. Returns
    false when something else came first."""
    unwinder.clear()
    regs, condition = t.registers(), None
    if not t.started:
        pc = t.field("start") or int(gdb.parse_and_eval("(unsigned long)&main"))
        symtab, name = gdb.find_pc_line(pc).symtab, function_at(pc)
        spot = "%s:%s" % (symtab.filename, name) if symtab and name else "*0x%x" % pc
    else:
        if not regs:
            frame = kernel_frame()
            while frame.older() is not None and in_runtime(frame.pc()):
                frame = frame.older()
            regs = {"rip": frame.pc(), "rsp": int(frame.read_register("rsp"))}
        spot, condition = "*0x%x" % regs["rip"], "$rsp == 0x%x" % regs["rsp"]
    arrival = gdb.Breakpoint(spot, internal=True, temporary=True)
    arrival.silent, arrival.condition = True, condition
    session.busy = True
    try:
        quietly("continue")
    finally:
        session.busy = False
        arrived = not arrival.is_valid()
        if not arrived:
            arrival.delete()
    return arrived


class Finish(gdb.Command):
    """Complete the operation that the running thread is about to execute, and stop in the code that asked for it.
Other threads may run before."""

    def __init__(self):
        super().__init__("heddle finish", gdb.COMMAND_RUNNING)

    def invoke(self, arg, tty):
        t = running()
        if not at_point():
            raise gdb.GdbError("%s is not about to execute an operation; use finish" % t.name)
        if complete(t):
            gdb.execute("frame")
        else:
            session.announce()


class BeforeStep(gdb.Command):
    """Used by `next` and `step`, which are meant for the user's code and not for the runtime that stopped it."""

    def __init__(self):
        super().__init__("heddle before-step", gdb.COMMAND_RUNNING)
        for name in ("next", "step"):
            try:
                quietly("show user hook-" + name)  # the user's own stays
            except gdb.error:
                quietly("define hook-%s\nheddle before-step\nend" % name)

    def invoke(self, arg, tty):
        if not at_stop():
            return
        if not at_point():
            raise gdb.GdbError("the execution goes no further; `heddle back` and `heddle goto N` run it again")
        t = running()
        begins = not t.started
        if not complete(t):
            session.announce()
            raise gdb.GdbError("that came before the end of the line")
        if begins:
            gdb.execute("frame")
            raise gdb.GdbError("here it begins")


class Schedule(gdb.Command):
    """Print the events around the present position, or all of them (`heddle schedule all`)."""

    def __init__(self):
        super().__init__("heddle schedule", gdb.COMMAND_RUNNING)

    def invoke(self, arg, tty):
        events = session.events
        here = session.position()[1] if session.alive() else len(events)
        low, high = 0, len(events)
        if arg.strip() != "all":
            low, high = max(0, here - WINDOW), min(len(events), here + WINDOW + 1)
        if low:
            gdb.write("   (%d events before)\n" % low)
        for i in range(low, high):
            thread, op, what, size, pc, flags = events[i][:6]
            if what[0] not in "T#" and op != "note":
                what = symbol(int(what, 16))
            spot = place(int(pc, 16))
            gdb.write("%s%5d  %-8s %s%s%s\n" % ("->" if i == here else "  ", i + 1, thread,
                                               " ".join(w for w in (op, what) if w and op not in ("start", "end") or
                                                        w == op),
                                               " (failed)" if flags == "failed" else "", "  " + spot if spot else ""))
        if high < len(events):
            gdb.write("   (%d events after)\n" % (len(events) - high))
        elif here >= len(events):
            gdb.write("->       %s\n" % session.plan["title"])


class ThreadLocal(gdb.Function):
    """$heddle_tls("name"): the thread-local variable of that name, in the thread looked at."""

    def __init__(self):
        super().__init__("heddle_tls")

    def invoke(self, name):
        name = name.string()
        found = gdb.lookup_symbol(name)[0]
        text = quietly("info address %s" % name) if found else ""
        if "thread-local variable at offset" not in text and "thread-local storage" not in text:
            raise gdb.GdbError("%s is not a thread-local variable of the program" % name)
        offset = int(text.split("offset 0x")[1].split()[0], 16)
        table = Table()
        index = unwinder.shown
        t = Thread(table, index) if index is not None else running()
        # The second word of the control block is the table of blocks; that of the program is the first.
        block = number(number(t.field("tp") + 8) + 16)
        if block == NEVER:
            raise gdb.GdbError("%s has not used it yet" % t.name)
        return gdb.Value(block + offset).cast(found.type.pointer()).dereference()


# ---- what happens by itself ----

def on_stop(event):
    """The program stopped for a command of gdb's: frames are those of the running thread again."""
    if not session.busy:
        unwinder.clear()
        if at_stop():
            session.announce()


def on_objfile(event):
    """The runtime is loaded: from now on it can be stopped, in this process and in all that follow."""
    if "libheddle_rt.so" in event.new_objfile.filename:
        Stop(session)
        gdb.events.new_objfile.disconnect(on_objfile)


class Calls:
    """While gdb calls a function of the program, the runtime looks away: it is no step of the schedule."""

    def __init__(self):
        self.saved = None

    def __call__(self, event):
        table = Table()
        memory = gdb.selected_inferior()
        if isinstance(event, gdb.InferiorCallPreEvent):
            self.saved = [(a, read(a, 1)) for a in (table.active, table.selector)]
            for a, _ in self.saved:
                memory.write_memory(a, b"\0")
        elif self.saved:
            for a, value in self.saved:
                memory.write_memory(a, value)
            self.saved = None


def set_up(plan):
    if os.path.isfile(plan["heddle"]):
        quietly("set exec-wrapper %s gdb-start" % shlex.quote(plan["heddle"]))
    for line in ("set startup-with-shell on", "set disable-randomization on", "set non-stop off",
                 "set schedule-multiple off", "set follow-fork-mode parent", "set detach-on-fork on",
                 "set print thread-events off", "set print inferior-events off",
                 # Else the threads are resumed one by one, and a program that ends meanwhile is an error.
                 "maint set target-non-stop off",
                 # It would show thread-local variables of the first thread for those of the one that runs.
                 "set libthread-db-search-path /nonexistent",
                 "handle SIGSYS nostop noprint pass"):
        quietly(line)


def skip_runtime():
    """`step` does not enter the runtime's functions, if there is debugging information for them."""
    symtab = gdb.find_pc_line(int(gdb.parse_and_eval("(unsigned long)&heddle_debug_stop"))).symtab
    if symtab:
        source = os.path.dirname(os.path.dirname(symtab.fullname()))
        quietly("skip -gfi %s" % shlex.quote(os.path.join(source, "*", "*")))


def start():
    global session
    with open("/proc/self/fd/%d" % PLAN_FD) as f:
        plan = json.load(f)
    if plan.get("version") != PLAN_VERSION:
        raise gdb.GdbError("heddle and its gdb script are of different versions; install heddle again")
    session = Session(plan)
    set_up(plan)
    for c in (Heddle, Threads, OneThread, Next, Back, Goto, Finish, BeforeStep, Schedule, ThreadLocal, HideRuntime):
        c()
    gdb.unwinder.register_unwinder(None, unwinder, True)
    gdb.events.stop.connect(on_stop)
    gdb.events.inferior_call.connect(Calls())
    gdb.events.new_objfile.connect(on_objfile)
    session.go(plan["stop"] or NEVER, NEVER, True)
    if session.alive():
        skip_runtime()
    gdb.write("`help heddle` lists the commands.\n")


start()
