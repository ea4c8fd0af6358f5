"""Downloads source packages for bench/real/real.py without changing the system's configuration.

The system has its package archives configured for binary packages; the same archives hold the sources. apt-get
is given a list of its own, made of the archives that the system itself uses, and folders of its own for indexes
and downloads. Nothing is installed, and nothing outside the given folder is written."""
import glob
import os
import re
import subprocess


class Failure(Exception):
    """Something that had to work did not; the message says what to do."""


def run(command, cwd, log, env=None):
    """Runs a command at low priority, with what it says in a log file."""
    with open(log, "ab") as out:
        out.write(("$ %s\n" % (command if isinstance(command, str) else " ".join(command))).encode())
        out.flush()
        status = subprocess.run(command, cwd=cwd, shell=isinstance(command, str), stdin=subprocess.DEVNULL, stdout=out,
                                stderr=out, env=env, check=False, preexec_fn=lambda: os.nice(10)).returncode
    if status != 0:
        raise Failure("status %d of: %s\n  what it said is in %s" % (status, command, log))


def _archives():
    """The deb-src lines of the archives of the distribution that the system uses."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)"
    try:
        done = subprocess.run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
                              capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Failure("no apt-get: the programs are taken from Debian's source packages") from None
    lines = []
    for line in done.stdout.splitlines():
        uri, release, component, origin = line.split(" ", 3)
        # The origin is known once the index has been fetched; archives of others need not have sources.
        if origin not in ("Debian", "$(ORIGIN)"):
            continue
        entry = "deb-src %s %s %s" % (uri, release, component)
        if entry not in lines:
            lines.append(entry)
    if not lines:
        raise Failure("apt-get has no archive of Debian configured: add one to its sources")
    return lines


class Archive:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.log = os.path.join(self.folder, "apt.log")
        self.sources = os.path.join(self.folder, "sources.list")
        for sub in ("lists/partial", "cache/archives/partial", "src"):
            os.makedirs(os.path.join(self.folder, sub), exist_ok=True)
        self.updated = False

    def _apt(self, *words):
        run(["apt-get", "-qq", "-o", "Dir::Etc::SourceList=" + self.sources, "-o", "Dir::Etc::SourceParts=/dev/null",
             "-o", "Dir::State::Lists=" + os.path.join(self.folder, "lists"),
             "-o", "Dir::Cache=" + os.path.join(self.folder, "cache"), "-o", "APT::Sandbox::User=", *words],
            os.path.join(self.folder, "src"), self.log)

    def _update(self):
        if self.updated:
            return
        with open(self.sources, "w", encoding="utf-8") as f:
            f.write("\n".join(_archives()) + "\n")
        self._apt("update")
        self.updated = True

    def get(self, package):
        """Returns (folder of the unpacked source, version); downloads it unless it is there."""
        src = os.path.join(self.folder, "src")
        pattern = os.path.join(glob.escape(src), package + "_*.dsc")
        if not glob.glob(pattern):
            self._update()
            self._apt("source", package)
        with open(sorted(glob.glob(pattern))[-1], encoding="utf-8", errors="replace") as f:
            version = re.search(r"^Version: (?:\d+:)?(\S+)$", f.read(), re.M).group(1)
        upstream = version.rsplit("-", 1)[0]
        folder = os.path.join(src, "%s-%s" % (package, upstream))
        if not os.path.isdir(folder):
            raise Failure("%s was not unpacked to %s; see %s" % (package, folder, self.log))
        return folder, version
