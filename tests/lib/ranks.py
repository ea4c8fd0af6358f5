"""Shared by what runs clusters: the command line of MPI, and searches whose ranks are killed."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader", "-np"]
TIMEOUT = 120


def missing(build):
    """What is missing to run a cluster, or None."""
    if not os.path.exists(os.path.join(build, "lib/heddle/heddle_mpi.so")):
        return "heddle was built without MPI"
    return None if shutil.which("mpirun") else "mpirun is not installed"


def below(pid, heddle):
    """The processes of ranks among the descendants."""
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(path) as f:
                children = [int(word) for word in f.read().split()]
            for child in children:
                with open("/proc/%d/cmdline" % child, "rb") as f:
                    words = f.read().split(b"\0")
                if words[:3] == [heddle.encode(), b"cluster", b"check"]:
                    found.append(child)
                found += below(child, heddle)
        except OSError:
            pass
    return found


def identity(folder):
    """What the finding in the folder is, wherever and whenever it was found."""
    with open(os.path.join(folder, "finding.json")) as f:
        finding = json.load(f)
    return finding["kind"], finding.get("message", "")


class Killed:
    """A search under `heddle cluster --retry` whose ranks are killed at the given times, in seconds from its start."""

    def __init__(self, heddle, folder, ranks, options, program, times=(), choose=None, env=None):
        self.result = self.failure = None
        self.kills = 0
        for name in ("search", "result.json"):
            if os.path.exists(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
        shutil.rmtree(os.path.join(folder, ".heddle"), ignore_errors=True)
        command = [heddle, "cluster", "--retry", *MPIRUN, str(ranks), heddle, "cluster", "check", *options,
                   "--save", "search", "--json", "result.json", "--quiet", "--no-explain", "--", *program]
        with open(os.path.join(folder, "said"), "w+") as said:
            began = time.monotonic()
            child = subprocess.Popen(command, cwd=folder, env=env, stdout=said, stderr=said, start_new_session=True)
            self.run(child, began, sorted(times), heddle, choose)
            self.seconds = time.monotonic() - began
            said.seek(0)
            self.said = said.read()
        if self.failure is None:
            with open(os.path.join(folder, "result.json")) as f:
                self.result = json.load(f)
            self.findings = sorted(identity(os.path.join(folder, ".heddle", name)) for name in self.stored(folder))

    @staticmethod
    def stored(folder):
        path = os.path.join(folder, ".heddle")
        return [n for n in os.listdir(path) if n.isdigit()] if os.path.isdir(path) else []

    def run(self, child, began, times, heddle, choose):
        for at in times:
            try:
                child.wait(timeout=max(0.001, began + at - time.monotonic()))
                break
            except subprocess.TimeoutExpired:
                pass
            found = below(child.pid, heddle)
            if found:
                try:
                    os.kill(choose(found), signal.SIGKILL)
                    self.kills += 1
                except ProcessLookupError:
                    pass
        try:
            self.status = child.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            self.status = None
            self.failure = "it did not end"
        if self.status is not None and self.status > 1:
            self.failure = "exit status %d" % self.status

    def summary(self):
        """What must not depend on kills."""
        return {"status": self.status, "complete": self.result["complete"], "executions": self.result["executions"],
                "findings": self.findings}
