"""heddle_threads.py: the tested threads of a program that is stopped in gdb. Runs in gdb, for heddle-gdb.py.

The tested threads are not threads of gdb: they take turns on one kernel thread. The saved positions of the others are
read from the runtime's table `heddle_debug` (src/runtime/core/debug.c). To inspect such a thread, an unwinder reports
its position as the caller of the innermost frame. No register is written, so nothing has to be restored, and the
program can continue at any time."""
import os
import struct

import gdb
import gdb.FrameDecorator
import gdb.unwinder

TABLE_VERSION = 2
TABLE = """version stop_point stop_event reason points events op_table cur thread nthreads
  sigreturn active selector stride sp tp op_kind op_object op_pc state parent nth name start syscall wait
  object_owner op_stride op_text op_on""".split()
AT_POINT, AT_FINDING = 1, 2
NO_OWNER = 0xFFFF
STATES = ["ready", "blocked", "ended", "stopped"]
ENDED = 2
ON_THREAD = 1  # operations whose object is a thread's number
SAVED = ["r15", "r14", "r13", "r12", "rbx", "rbp", "rip"]  # on the stack of a thread that does not run, after 8 bytes
CONTEXT = ["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx",
           "rsp", "rip"]  # in a signal context, after 40 bytes


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
            raise gdb.GdbError("the program runs with another version of Heddle's runtime; rebuild it")

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
    """`name+4` for an address in a variable or function, else 0x...; "" if it is not an address."""
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
        entry = table.op_table + kind * table.op_stride
        self.op = text_at(number(entry + table.op_text))
        self.on_thread = number(entry + table.op_on, 1) == ON_THREAD
        self.running = number(table.cur) == self.at
        self.op_pc = self.field("op_pc")

    def field(self, name, size=8):
        return number(self.at + getattr(self.table, name), size)

    @property
    def name(self):
        if self.index == 0:
            return "T0"
        parent, nth = self.field("parent", 2), self.field("nth", 4)
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
            what = "a thread"  # its number is assigned at its creation
        elif not self.on_thread:
            what = symbol(target)
        else:
            what = "" if target == self.index else Thread(self.table, target).name
        words = " ".join(w for w in (self.op, what) if w)
        wait = self.field("wait")
        owner = number(wait + self.table.object_owner, 2) if wait and self.state == 1 else NO_OWNER
        if owner != NO_OWNER:
            words += ", held by %s" % Thread(self.table, owner).name
        return words

    def handler_context(self):
        """The signal context of the running thread, if it is in a signal handler of the runtime, or None."""
        frame = kernel_frame()
        while frame is not None and in_runtime(frame.pc()):
            if frame.pc() == self.table.sigreturn:
                return int(frame.read_register("rsp"))
            frame = frame.older()
        return None

    def registers(self):
        """Its saved registers, or None if they are in the processor. pre: no thread is selected."""
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
    every = [Thread(table, i) for i in range(number(table.nthreads, 4))]
    # A number that no thread has in this execution looks like a thread that has ended without an operation.
    return [t for t in every if t.op != "none" or STATES[t.state] != "done"]


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


# ---- inspecting a thread that is not running ----

class FrameId:
    # It is below every stack, so that gdb accepts the frames that follow as older ones, wherever their stack is.
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
        """Until the program continues, gdb's frames are those of this thread."""
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
    """Removes the runtime's frames from `backtrace`; `backtrace -no-filters` shows them."""

    def __init__(self):
        self.name, self.priority, self.enabled = "heddle", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        for f in frames:
            inner = f.inferior_frame()
            if not in_runtime(inner.pc()) and not (unwinder.regs and inner.level() == 0):
                yield Named(f)


def user_frame(thread):
    """The innermost frame that the user wrote, of the selected thread."""
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
    """FILE:LINE (FUNCTION), or a substitute."""
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
