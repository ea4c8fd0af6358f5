"""Reads the code blocks of a page of the documentation.

The info string of a fence says what the block is:

    ```console       a session: lines `$ command` (with `\\` at the end to go on), each followed by its output.
                     Lines `(gdb) command` are typed at gdb's prompt. A line `...` matches any lines.
    ```sh            commands without output: they must succeed
    ```c NAME        the contents of file NAME (any language); the paragraph before the block must name it as `NAME`
    ```diff NAME     a change of file NAME: lines as in a patch, without numbers; `@@` separates places
    ```LANGUAGE      anything else, for reading only

Blocks without a fence, or without an info string, contain no commands.
"""
import re

FENCE = re.compile(r"( *)```(.*)$")
TOOLS = (r"heddle|heddle-cc|heddle-c\+\+|make|cmake|ctest|meson|ninja|apt|apt-get|git|gdb|gcc|g\+\+|clang|clang\+\+|cc|"
         r"valgrind|rr|cargo|python3|setarch|timeout|\./configure")
COMMAND = re.compile(r"\s*(\$ |(sudo |[A-Z_]+=\S* )*(%s) +[-a-z./])" % TOOLS)


class Block:
    """A code block. `at`: index of its first line of contents in the page; `before`: the paragraph before it."""

    def __init__(self, info, at, lines, before):
        words = info.split()
        self.language = words[0] if words else ""
        self.name = words[1] if len(words) > 1 else None
        self.at, self.lines, self.before = at, lines, before

    def text(self):
        return "".join(line + "\n" for line in self.lines)


class Step:
    """A command of a session: what to type, what it prints, and where that output is in the page."""

    def __init__(self, command, at, output):
        self.command, self.at, self.output = command, at, output


def blocks(text):
    """The code blocks of a page, in order; those without a fence have the language "indented"."""
    lines = text.split("\n")
    found, before, i = [], "", 0
    while i < len(lines):
        fence = FENCE.match(lines[i])
        if fence:
            end = i + 1
            while end < len(lines) and lines[end].strip() != "```":
                end += 1
            cut = len(fence.group(1))
            found.append(Block(fence.group(2), i + 1, [line[cut:] for line in lines[i + 1:end]], before))
            i = end + 1
        elif lines[i].startswith("    ") and i and not lines[i - 1].strip():
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            found.append(Block("indented", i, lines[i:end], before))
            i = end
        else:
            if lines[i].strip():
                before = before + "\n" + lines[i] if i and lines[i - 1].strip() else lines[i]
            i += 1
    return found


def steps(block):
    """The commands of a session, or None when its first line is none."""
    found, i = [], 0
    while i < len(block.lines):
        if not block.lines[i].startswith("$ "):
            return None
        first = i
        while block.lines[i].endswith("\\") and i + 1 < len(block.lines):
            i += 1
        i += 1
        command = "\n".join(block.lines[first:i])[2:]
        end = i
        while end < len(block.lines) and not block.lines[end].startswith("$ "):
            end += 1
        found.append(Step(command, block.at + i, block.lines[i:end]))
        i = end
    return found


def typed(output):
    """What is typed at gdb's prompt in a session."""
    return [line[len("(gdb) "):] for line in output if line.startswith("(gdb) ")]


def changed(text, block):
    """The text of a file after the change in a diff block; raises ValueError with what does not fit."""
    for hunk in "\n".join(block.lines).split("\n@@\n"):
        lines = hunk.split("\n")
        if any(line[:1] not in ("", " ", "-", "+") for line in lines):
            raise ValueError("a line of a change begins with a blank, - or +")
        old = "".join(line[1:] + "\n" for line in lines if not line.startswith("+"))
        new = "".join(line[1:] + "\n" for line in lines if not line.startswith("-"))
        if ("\n" + text).count("\n" + old) != 1:
            raise ValueError("the file does not have these lines, or more than once: %r" % old)
        text = ("\n" + text).replace("\n" + old, "\n" + new)[1:]
    return text


def spans(text):
    """The pieces of inline code of a page."""
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", text)
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
