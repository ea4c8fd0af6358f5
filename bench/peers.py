"""Other checkers, run on the same source if they are on PATH.

A peer compiles the program itself; sizes go in as -DSIZES={...} (bench/search/sizes.h)."""
import os
import re
import shutil


class Peer:
    def __init__(self, lab, sources):
        self.lab, self.sources = lab, sources
        self.path = shutil.which(self.tool)
        self.there = self.path is not None

    def run(self, program, args, seconds):
        """{"executions", "seconds"}, with "bug" where it found one, or {"rejected": reason} or {"stopped": seconds}"""
        source = os.path.join(self.sources, program + ".c")
        command = ["timeout", str(seconds), *self.command("-DSIZES={%s}" % ",".join(args), source)]
        r = self.lab.run(command, statuses=range(-64, 256))
        text = (r.out + r.err).decode(errors="replace")
        if r.status == 124:
            return {"stopped": seconds}
        bug = re.search(self.bug, text)
        executions = re.search(self.executions, text)
        if not executions and not bug:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            told = [line for line in lines if re.search(r"error|unsupported|not supported|unknown|cannot", line, re.I)]
            reason = (told or lines or ["exit status %d" % r.status])[0]
            return {"rejected": reason.replace(self.sources + os.sep, "").replace(self.lab.dir, "")[:100]}
        result = {"executions": int(executions.group(1)) if executions else None, "seconds": round(r.cpu, 3)}
        if bug:
            result["bug"] = True
        return result


class Genmc(Peer):
    name, tool = "GenMC", "genmc"
    executions = r"Number of complete executions explored: (\d+)"
    bug = r"Error(?: detected)?: (?:Safety violation|Non-terminating|Deadlock|Assertion)|Assertion violation"

    def command(self, sizes, source):
        return [self.path, "--sc", "--disable-estimation", "--", sizes, source]


class Nidhugg(Peer):
    name, tool = "Nidhugg", "nidhuggc"
    executions = r"Trace count: (\d+)"
    bug = r"Error detected:"

    def command(self, sizes, source):
        return [self.path, sizes, "--", "--sc", "--optimal", source]


PEERS = (Genmc, Nidhugg)
