"""The models of the literature with each driver of heddle concolic, as a table.

    python3 bench/concolic/run.py --build build
"""
import argparse
import json
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Name, source, flags of the compiler.
MODELS = [("bluetooth", "bluetooth", []), ("coverable (Fig. 3.1)", "coverable", []), ("mutual (Fig. 4.2)", "mutual", []),
          ("addall (Fig. 6.1)", "addall", []), ("listing (6.1)", "listing", []), ("art2", "art", ["-DTHREADS=2"]),
          ("art3", "art", ["-DTHREADS=3"]), ("art4", "art", ["-DTHREADS=4"]), ("art5", "art", ["-DTHREADS=5"]), ("sor", "sor", []),
          ("ctrace", "ctrace", []), ("apache1", "apache", ["-DVARIANT=1"]), ("apache2", "apache", ["-DVARIANT=2"]), ("splay", "splay", []),
          ("aget", "aget", []), ("rbtree", "rbtree", []), ("pfscan", "pfscan", [])]
DRIVERS = ["partition", "bounded", "hyper", "mta", "sequential"]


def measure(heddle, driver, program, folder, seconds):
    """Outcomes covered and known, executions, findings, user and system seconds; what ended it."""
    before = os.times()
    p = subprocess.run([heddle, "concolic", "--driver", driver, "--all", "--no-explain", "--quiet", "--time", "%ds" % seconds,
                        "--json", "-", "--", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder)
    after = os.times()
    r = json.loads(p.stdout)
    branches = r.get("branches", [])
    covered = [b for b in branches if b["covered"]]
    degrees = [b["interferences"] for b in covered if "interferences" in b]
    by = "/".join(str(degrees.count(k)) for k in range(max(degrees) + 1)) if degrees else ""
    return dict(covered="%d of %d%s" % (len(covered), len(branches), " (%s)" % by if by else ""), executions=r["executions"],
                findings=len(r["findings"]), stopped=r["stopped"], complete=r["complete"],
                seconds=after.children_user + after.children_system - before.children_user - before.children_system)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--seconds", type=int, default=60, help="of a search, at most")
    p.add_argument("--models", default="", help="a part of their names")
    p.add_argument("--drivers", default=",".join(DRIVERS))
    o = p.parse_args()
    heddle = os.path.join(os.path.abspath(o.build), "heddle")
    print("| model | driver | outcomes covered (with 0/1/... interferences) | findings | executions | processor time | ended |")
    print("|---|---|---|--:|--:|--:|---|")
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
        for name, source, flags in MODELS:
            if o.models not in name:
                continue
            program = os.path.join(folder, source)
            subprocess.run([heddle, "cc", "--symbolic", "-w", "-g", "-O1", *flags, os.path.join(HERE, source + ".c"), "-o", program], check=True)
            for driver in o.drivers.split(","):
                r = measure(heddle, driver, program, folder, o.seconds)
                print("| %s | %s | %s | %d | %d | %.2f s | %s |" % (name, driver, r["covered"], r["findings"], r["executions"], r["seconds"],
                                                             "complete" if r["complete"] else r["stopped"]), flush=True)


if __name__ == "__main__":
    main()
