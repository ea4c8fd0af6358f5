#!/usr/bin/env python3
"""Clusters whose ranks are killed: SIGKILL of a random rank at a random time, then the search is continued; the total and
the findings must be those of an undisturbed search. Ends with 'N passed, N failed'.

usage: tests/fuzz/kills.py [--kills N] [--seed S] [--seconds S] [--only NAME] [--build DIR]

A run has one to three kills, at times drawn from its usual duration and a bit more. It is over sooner after --seconds. A
run that differs is kept in a folder of its own, with what was said and the saved search.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "lib")]
import ranks  # noqa: E402

SAVE_EVERY = "0.1"

# Three asserts fail, in some of many schedules, and some executions bring their process down.
BUGS = """
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int x, y, z;
static void *t(void *a) {
  int v = atomic_load(&y);
  atomic_fetch_add(&x, 1);
  atomic_store(&y, v + 1);
  atomic_store(&z, (int)(long)a);
  return a;
}
int main(void) {
  pthread_t id[4];
  for (long i = 0; i < 4; i++) pthread_create(&id[i], 0, t, (void *)i);
  for (int i = 0; i < 4; i++) pthread_join(id[i], 0);
  if (y == 1 && z == 2 && DIES) kill(getpid(), SIGKILL);
  assert(y > 1);
  assert(y != 2 || z != 1);
  assert(y != 3 || z != 0);
  return 0;
}
"""

# Name: source, flags, arguments, options, ranks.
PROGRAMS = {
    "bbuf": ("bench/search/bbuf.c", [], ["2", "2", "2", "2"], ["--strategy", "optimal"], 3),
    "bbuf-dpor": ("bench/search/bbuf.c", [], ["2", "2", "2", "2"], ["--strategy", "dpor"], 2),
    "lastzero": ("bench/search/lastzero.c", [], ["10"], ["--strategy", "optimal"], 4),
    "samples": ("bench/search/bbuf.c", [], ["2", "2", "2", "2"], ["--strategy", "random", "--max-executions", "40000"], 3),
    "bugs": (BUGS, ["-DDIES=0"], [], ["--strategy", "optimal", "--all"], 3),
    "bugs-dies": (BUGS, ["-DDIES=1"], [], ["--strategy", "optimal", "--all"], 2),
}


def build(heddle, folder, name):
    source, flags, arguments, options, n = PROGRAMS[name]
    path = os.path.join(ROOT, source)
    if "\n" in source:
        path = os.path.join(folder, "prog.c")
        with open(path, "w") as f:
            f.write(source)
    subprocess.run([heddle, "cc", "-g", "-O1", "-w", *flags, path, "-o", os.path.join(folder, "prog"), "-pthread"],
                   check=True, cwd=folder)
    return ["./prog", *arguments], options, n


class Campaign:
    """Programs, how long each takes, and what is true of it."""

    def __init__(self, heddle, seed, keep):
        self.heddle, self.keep, self.draw = heddle, keep, random.Random(seed)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HEDDLE")}
        self.env.update(LC_ALL="C", HEDDLE_TEST_SAVE_EVERY=SAVE_EVERY)
        self.truth = {}
        self.kills = self.failed = 0

    def undisturbed(self, name, folder):
        """Its summary and the seconds it took."""
        program, options, n = build(self.heddle, folder, name)
        run = ranks.Killed(self.heddle, folder, n, options, program, env=self.env)
        if run.failure:
            raise SystemExit("%s, undisturbed: %s: %s" % (name, run.failure, run.said))
        return program, options, n, run.summary(), run.seconds

    def disturbed(self, name, folder, most):
        """Returns what is wrong, or None."""
        if name not in self.truth:
            self.truth[name] = self.undisturbed(name, folder)
        program, options, n, want, seconds = self.truth[name]
        times = [self.draw.uniform(0, 1.2 * seconds) for _ in range(self.draw.randint(1, min(3, most)))]
        run = ranks.Killed(self.heddle, folder, n, options, program, times, self.draw.choice, self.env)
        self.kills += run.kills
        got = run.failure or run.summary()
        if got == want:
            return None
        self.failed += 1
        kept = os.path.join(self.keep, "%s-%d" % (name, self.failed))
        shutil.copytree(folder, kept)
        return "%s, killed after %s s: %s, expected %s; %s" % (
            name, ", ".join("%.2f" % t for t in sorted(times)), got, want, kept)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--kills", type=int, default=100)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--seconds", type=float, default=1e9)
    ap.add_argument("--only", choices=sorted(PROGRAMS))
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    args = ap.parse_args()
    build_dir = os.path.abspath(args.build)
    if ranks.missing(build_dir):
        print("kills: skipped, %s" % ranks.missing(build_dir))
        return 0
    keep = tempfile.mkdtemp(prefix="heddle-kills-")
    campaign, until, runs = Campaign(os.path.join(build_dir, "heddle"), args.seed, keep), time.time() + args.seconds, 0
    folders = {name: tempfile.mkdtemp(prefix="heddle-kill-") for name in PROGRAMS}
    names = [args.only] if args.only else sorted(PROGRAMS)
    while campaign.kills < args.kills and time.time() < until:
        name = names[runs % len(names)]
        wrong = campaign.disturbed(name, folders[name], args.kills - campaign.kills)
        if wrong:
            print(wrong, flush=True)
        runs += 1
    for folder in folders.values():
        shutil.rmtree(folder)
    if not campaign.failed:
        os.rmdir(keep)
    print("kills: %d ranks killed in %d searches" % (campaign.kills, runs))
    print("%d passed, %d failed" % (runs - campaign.failed, campaign.failed))
    return 1 if campaign.failed else 0


if __name__ == "__main__":
    sys.exit(main())
