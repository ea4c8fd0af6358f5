#!/usr/bin/env python3
"""Fuzzes everything that reads files (traces, schedules, suppressions, TOML) with libFuzzer, ASan and UBSan. Ends with
'N passed, N failed'.

usage: tests/fuzz/readers.py [--build DIR] [--seconds N] [--keep DIR]

The corpus begins with traces and schedules of the examples, recorded by the heddle of the build. An input that makes a
reader fail is written to DIR (default: fuzz-failures in the build folder); `DIR/../fuzz-readers/readers FILE` shows it.
"""
import argparse
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE, CHUNKS, SCHEDULE, SUPPRESSIONS, TOML = range(5)  # as in readers.h
FLAGS = ["-g", "-O1", "-std=gnu17", "-D_GNU_SOURCE", "-Isrc", "-Iinclude",
         "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]


def run(command, **kw):
    return subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **kw).stdout


def compile_target(out):
    sources = ["tests/fuzz/readers.c", "src/session/schedule.c", "src/session/suppress.c", "src/session/names.c"]
    sources += sorted(glob.glob("src/base/*.c", root_dir=ROOT) + glob.glob("src/trace/*.c", root_dir=ROOT) +
                      glob.glob("src/model/*.c", root_dir=ROOT))
    packages = run(["pkg-config", "--cflags", "--libs", "libzstd", "libxxhash", "jansson"], text=True).split()
    run(["clang", *FLAGS, *sources, "-o", out, *packages])


def seeds(heddle, work, corpus):
    """Writes what the readers should accept; the first byte says which reader (readers.h)."""
    count = 0

    def add(kind, data):
        nonlocal count
        with open(os.path.join(corpus, "seed-%d-%d" % (kind, count)), "wb") as f:
            f.write(bytes([kind]) + data)
        count += 1

    def read(path):
        with open(path, "rb") as f:
            return f.read()

    for source in sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))):
        program, trace, out = (os.path.join(work, n) for n in ("prog", "trace", "out"))
        subprocess.run([heddle, "cc", "-g", source, "-o", program, "-pthread"], check=True)
        subprocess.run([heddle, "record", "--quiet", "--seed", "1", "-o", trace, "--", program], cwd=work, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        add(FILE, read(trace))
        for form in ("text", "std"):
            subprocess.run([heddle, "trace", "convert", "--to", form, trace, "-o", out], check=True,
                           stderr=subprocess.DEVNULL)
            add(FILE, read(out))
        subprocess.run([heddle, "check", "--quiet", "--no-explain", "--time", "5", "--out", work, "--", program], cwd=work,
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    for schedule in glob.glob(os.path.join(work, "[0-9]*", "schedule")):
        add(SCHEDULE, read(schedule))
    add(SUPPRESSIONS, b"# ours\ndata-race:worker*\n*:lib/*.c # all\n\n leak : main \n")
    add(TOML, b'a.b = "x\\u00e9" # c\nd = [1, 0x1f, 2.5e3, 2024-02-29 07:00:00Z]\n[t]\nq = {u = true}\n[[v]]\nw = """\ny"""\n')
    tables = b"\x02\x00\x01\x02T0\x00\x00\x01\x02\x01\x03x.c\x05\x00\x01\x80\x40\x01\x01n"
    events = (b"\x02" b"\x02\x05\x03\x02\x02\x04\x02\x02"  # two, and the lengths of the streams
              b"\x00\x00" b"\x01\x0d\x0c\x01\x03" b"\x80\x40\x00" b"\x08\x00" b"\x0a\x00"
              b"\x00\x00\x00\x00" b"\x00\x00" b"\x00\x00")
    add(CHUNKS, len(tables).to_bytes(2, "little") + tables + events)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep")
    args = parser.parse_args()
    build = os.path.join(ROOT, args.build)
    work, corpus = os.path.join(build, "fuzz-readers"), os.path.join(build, "fuzz-readers", "corpus")
    keep = args.keep or os.path.join(build, "fuzz-failures")
    for folder in (corpus, keep):
        os.makedirs(folder, exist_ok=True)
    target = os.path.join(work, "readers")
    compile_target(target)
    count = seeds(os.path.join(build, "heddle"), work, corpus)
    command = [target, "-max_total_time=%d" % args.seconds, "-rss_limit_mb=1024", "-malloc_limit_mb=512", "-timeout=20",
               "-max_len=65536", "-print_final_stats=1", "-artifact_prefix=" + os.path.join(keep, "readers-"), corpus]
    log = os.path.join(work, "log")
    with open(log, "w") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, check=False).returncode
    with open(log, errors="replace") as f:
        text = f.read()
    for line in text.splitlines():
        if "ERROR" in line or "SUMMARY" in line or line.startswith("stat::number_of_executed_units"):
            print("readers: " + line)
    if status:
        print("readers: again with: %s %s" % (target, os.path.join(keep, "readers-...")))
    print("%d passed, %d failed" % (count if not status else 0, status != 0))
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
