"""Shrinks a program that shows a difference as far as possible, and writes it to a file.

All variants that lack one node, or replace a node by its blocks, are built in one binary and judged. The first with the
same difference is shrunk further, until there is none.
"""
import os
import shlex
import shutil

import compare
import generate


def smaller(program):
    """Programs that lack one thing each. Joins stay: without them there is more to explore, not less."""
    paths = []
    for i, nodes in enumerate(program.lists()):
        for k, node in enumerate(nodes):
            if "pthread_join" not in node.lines[0]:
                paths.append((i, k, False))
                if node.blocks and any(node.blocks):
                    paths.append((i, k, True))
    for i, k, unwrap in paths:
        p = program.copy()
        nodes = list(p.lists())[i]
        nodes[k:k + 1] = [n for b in nodes[k].blocks for n in b] if unwrap else []
        yield p
    for k, option in enumerate(program.options):
        if option in ("--spurious", "--timeouts=any"):
            p = program.copy()
            del p.options[k]
            yield p


def shrink(heddle, folder, program, compiler, level, complaint, limit, judge):
    """The smallest program found with that complaint, and the verdict on it."""
    best, verdict = program, None
    while True:
        found = None
        candidates = list(smaller(best))
        for at in range(0, len(candidates), 40):
            work = os.path.join(folder, "shrink")
            batch = compare.Batch(heddle, work, candidates[at:at + 40], compiler, level)
            for i, candidate in enumerate(batch.programs):
                v = judge(batch, i, limit)
                if v.difference and v.difference.complaint == complaint:
                    found = candidate
                    verdict = v
                    break
            shutil.rmtree(work, ignore_errors=True)
            if found:
                break
        if not found:
            return best, verdict
        best = found


def write(path, batch, index, difference, limit, seed_line):
    """One C file with the program, what is wrong, and the commands that show it. It needs no other file."""
    program = batch.programs[index]
    name = os.path.splitext(os.path.basename(path))[0]
    lines = [difference.complaint] + difference.detail + ["found by: " + seed_line]
    lines.append("HEDDLE_CC=%s heddle cc %s %s %s.c -o %s -pthread"
                 % (batch.compiler, " ".join(compare.FLAGS), batch.level, name, name))
    for strategy in ("dfs",) if difference.strategy == "dfs" else ("dfs", difference.strategy):
        words = ["heddle", "check", "--strategy", strategy, "--all", "--classes", "--max-executions", str(limit),
                 "--max-length", compare.MAX_LENGTH, *program.options, *difference.more, "--", "./" + name, *["0", "quiet"] * difference.quiet]
        lines.append(shlex.join(words))
    with open(os.path.join(compare.HERE, generate.HEADER)) as f:
        header = f.read()
    with open(path, "w") as f:
        f.write("/* " + "\n * ".join(line.replace("*/", "* /") for line in lines) + " */\n")
        f.write(generate.source([program]).replace('#include "%s"\n' % generate.HEADER, header))
