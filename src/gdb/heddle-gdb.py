"""heddle-gdb.py: gdb commands for a failing execution. Runs in gdb, started by `heddle replay --gdb`, which passes the
plan (see src/session/gdb.c) at descriptor 1002.

The program is stopped in heddle_debug_stop, on the stack of the running thread, before it executes its operation.
Going back restarts the program and stops earlier: the runtime follows the same schedule."""
import collections
import json
import os
import shlex
import sys

import gdb

sys.dont_write_bytecode = True  # the folder may belong to another user
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from heddle_threads import (AT_FINDING, ENDED, HideRuntime, Table, Thread, at_point, at_stop, function_at,
                            in_runtime, kernel_frame, number, place, quietly, read, running, select, symbol,
                            thread_by_name, threads, unwinder, where)  # noqa: E402

PLAN_FD = 1002
PLAN_VERSION = 1
NEVER = 2**64 - 1
WINDOW = 10  # lines of the schedule shown on either side


def say(text):
    gdb.write("heddle: %s\n" % text)


# ---- running ----

class Event(collections.namedtuple("Event", "thread op object size pc flags value")):
    """One line of the plan, split into words."""

    def __str__(self):
        words = ["%-8s" % self.thread, self.op]
        if self.object[0] in "T#":
            words += [self.object] if self.object != self.thread else []
        elif self.op != "note":
            words += [symbol(int(self.object, 16))]
        if self.value != "-":
            value = int(self.value, 16)
            words += ["= %d" % value if value < 2**31 else "= 0x%x" % value]
        if self.flags == "failed":
            words += ["(failed)"]
        spot = place(int(self.pc, 16))
        return " ".join(w for w in words if w) + ("  " + spot if spot else "")


class Session:
    """The position in the execution, and the moves to other positions."""

    def __init__(self, plan):
        self.plan = plan
        self.events = [Event(*line.split()) for line in plan["events"]]
        # The operations among them: the runtime counts neither notes nor plain accesses.
        self.operations = [i for i, e in enumerate(self.events) if e.op != "note" and e.flags != "plain"]
        self.want = None  # (point, event) to stop at in a process that has not begun
        self.busy = False  # a command of ours is running the program
        self.found = False  # the finding has occurred in this process

    def begin(self):
        """Runs to the point where gdb takes over."""
        self.go(self.plan["stop"] or NEVER, NEVER, True)
        if self.plan["endless"] and self.alive():
            # The replay abandoned the hanging thread; here it keeps running, so later events do not occur.
            del self.events[self.position()[1] + 1:]
            self.operations = [i for i in self.operations if i < len(self.events)]

    def position(self):
        """Scheduling points reached, and events before the next operation."""
        table = Table()
        done = number(table.events)
        return number(table.points), self.operations[done] if done < len(self.operations) else len(self.events)

    def ask(self, table, point, event):
        table.write("stop_point", point)
        table.write("stop_event", event)

    def reached(self):
        """Called by the runtime: whether to stop here. The first call comes at the first scheduling point."""
        table = Table()
        point, event = self.want or (None, None)
        self.want = None
        self.found = table.reason == AT_FINDING
        if self.found:
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
        """Runs to the scheduling point or event, in this process or from the start."""
        unwinder.clear()
        mine = []
        self.busy = True
        try:
            if again:
                # The user's breakpoints do not apply on the way back.
                mine = [b for b in gdb.breakpoints() if b.enabled and b.number > 0]
                for b in mine:
                    b.enabled = False
                self.want, self.found = (point, event), False
                with confirm_off():
                    quietly("run")
            else:
                self.ask(Table(), point, event)
                quietly("continue")
            if self.alive():
                self.ask(Table(), NEVER, NEVER)
        finally:
            self.busy, self.want = False, None
            for b in mine:
                b.enabled = True
        self.announce()

    def alive(self):
        return gdb.selected_thread() is not None

    def announce(self):
        """Reports the position, and selects the user's frame."""
        if not self.alive():
            if not self.found and self.plan["recorded"]:
                say("the finding did not occur: the program behaved differently under gdb")
            say("the program has ended; `heddle back` and `heddle goto N` re-execute it")
            return
        t = running()
        if not at_stop():
            select(t)
            say("stopped in %s, after event %d" % (t.name, self.position()[1]))
            return
        if Table().reason == AT_FINDING:
            say("reproduced after %d events: %s" % (self.position()[1], self.plan["title"]))
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
        raise gdb.GdbError("expected a number")
    return int(words[0])


class Heddle(gdb.Command):
    """The execution that Heddle found, thread by thread and step by step.

    heddle threads      the tested threads, and what each is about to do
    heddle thread N     select thread TN, for backtrace, frame, up, print, info locals
    heddle next [N]     go to the next scheduling point (or N further)
    heddle back [N]     go back to the previous one (or N back), by re-executing the program
    heddle goto N       go to the point at which event N is about to happen
    heddle finish       complete the operation, and stop in the code that called it
    heddle schedule     the events around the current position (`heddle schedule all`: all)
    $heddle_tls("x")    a thread-local variable of the selected thread

Breakpoints, watchpoints, next, step and finish work as usual, on the running thread."""

    def __init__(self):
        super().__init__("heddle", gdb.COMMAND_RUNNING, prefix=True)

    def invoke(self, arg, tty):
        gdb.execute("help heddle")


class Threads(gdb.Command):
    """List the tested threads: > is the running one, * the selected one."""

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
    """Select tested thread TN: its backtrace, frames and variables, until the program continues."""

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
    """Go back to the previous scheduling point, or N back, by re-executing the program."""

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
    """Runs until thread t, which is about to execute an operation, has returned to the code that called it. Returns
    false if the program stopped elsewhere."""
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
    """Complete the operation that the running thread is about to execute, and stop in the code that called it.
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
    """Used by `next` and `step`: first leaves the runtime, so that they apply to the user's code."""

    def __init__(self):
        super().__init__("heddle before-step", gdb.COMMAND_RUNNING)
        for name in ("next", "step"):
            try:
                quietly("show user hook-" + name)  # keeps the user's own hook
            except gdb.error:
                quietly("define hook-%s\nheddle before-step\nend" % name)

    def invoke(self, arg, tty):
        if not at_stop():
            return
        if not at_point():
            raise gdb.GdbError("the execution cannot continue; `heddle back` and `heddle goto N` re-execute it")
        t = running()
        begins = not t.started
        if not complete(t):
            session.announce()
            raise gdb.GdbError("stopped before the end of the line")
        if begins:
            gdb.execute("frame")
            raise gdb.GdbError("the thread starts here")


class Schedule(gdb.Command):
    """Print the events around the current position, or all of them (`heddle schedule all`)."""

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
            gdb.write("%s%5d  %s\n" % ("->" if i == here else "  ", i + 1, events[i]))
        if high < len(events):
            gdb.write("   (%d events after)\n" % (len(events) - high))
        elif here >= len(events):
            gdb.write("->       %s\n" % session.plan["title"])


class ThreadLocal(gdb.Function):
    """$heddle_tls("name"): the thread-local variable of that name, in the selected thread."""

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
        # The second word of the control block is the table of blocks; the first block is the program's.
        block = number(number(t.field("tp") + 8) + 16)
        if block == NEVER:
            raise gdb.GdbError("%s has not used it yet" % t.name)
        return gdb.Value(block + offset).cast(found.type.pointer()).dereference()


# ---- event handlers ----

def on_stop(event):
    """The program stopped for a gdb command: frames are those of the running thread again."""
    if not session.busy:
        unwinder.clear()
        if at_stop():
            session.announce()


def on_objfile(event):
    """The runtime is loaded: it can be stopped from now on, in this process and all later ones."""
    if "libheddle_rt.so" in event.new_objfile.filename:
        Stop(session)
        gdb.events.new_objfile.disconnect(on_objfile)


class Calls:
    """While gdb calls a function of the program, the runtime is inactive: the call is not a step of the schedule."""

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
    quietly("set exec-wrapper %s gdb-start" % shlex.quote(plan["heddle"]))
    for line in ("set startup-with-shell on", "set disable-randomization on", "set non-stop off",
                 "set schedule-multiple off", "set follow-fork-mode parent", "set detach-on-fork on",
                 "set print thread-events off", "set print inferior-events off",
                 # Otherwise the threads are resumed one by one, and a program that ends meanwhile is an error.
                 "maint set target-non-stop off",
                 # It would show thread-local variables of the first thread instead of the running one.
                 "set libthread-db-search-path /nonexistent",
                 "handle SIGSYS nostop noprint pass",
                 # Its arrival is not deterministic.
                 "handle SIGCHLD nostop noprint nopass"):
        try:
            quietly(line)
        except gdb.error:
            pass  # this version of gdb has no such setting


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
        raise gdb.GdbError("heddle and its gdb script are of different versions; reinstall heddle")
    session = Session(plan)
    set_up(plan)
    for c in (Heddle, Threads, OneThread, Next, Back, Goto, Finish, BeforeStep, Schedule, ThreadLocal, HideRuntime):
        c()
    gdb.unwinder.register_unwinder(None, unwinder, True)
    gdb.events.stop.connect(on_stop)
    gdb.events.inferior_call.connect(Calls())
    gdb.events.new_objfile.connect(on_objfile)
    session.begin()
    if session.alive():
        skip_runtime()
    gdb.write("`help heddle` lists the commands.\n")


start()
