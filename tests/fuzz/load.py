"""Keeps the machine busy while something else is tested: verdicts must not depend on how fast a process runs."""
import os
import subprocess
import sys

# The parent's end of the pipe closes with it, however it ends; then the loop is over.
LOOP = "import os, select\nwhile not select.select([0], [], [], 0)[0]:\n  sum(range(200000))"


class Load:
    """`times` as many busy processes as there are processors, until the end of the with statement."""

    def __init__(self, times):
        self.n = int(times * (os.cpu_count() or 1))
        self.running = []

    def __enter__(self):
        for _ in range(self.n):
            self.running.append(subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE))
        return self

    def __exit__(self, *unused):
        for p in self.running:
            p.stdin.close()
        for p in self.running:
            p.wait()
