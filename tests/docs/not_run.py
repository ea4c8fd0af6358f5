"""Commands of the documentation that the tests do not run as written, each with its reason. All others are run. An entry
that no page has is an error."""

# page -> {command: reason}: not run at all
NOT_RUN = {
    "README.md": {
        "sudo make uninstall": "tests/cli/test_install.py does this in a folder of its own",
        "make build": "it built the heddle under test",
        "make test": "this test is part of it",
        "make bench": "ten minutes",
        "make deb": "cli/install:deb builds the package and uses it",
        "make demo": "cli/examples runs it",
        "./configure CC=\"heddle cc\" CXX=\"heddle c++\"": "tests/cc/run.py does this with an autoconf and automake project",
    },
    "docs/tutorial.md": {
        "sudo apt install git make": "tests install nothing",
        "make build": "it built the heddle under test",
    },
    "docs/from-rr.md": {
        "while timeout 5 rr record --chaos ./bank; do :; done": "rr needs the processor's performance counters",
        "rr replay": "rr needs the processor's performance counters",
    },
    "docs/from-loom.md": {
        "RUSTFLAGS=\"--cfg loom\" cargo test --release": "the tests do not require Rust and loom",
    },
    "docs/daemons.md": {
        "apt-get source microsocks": "it needs a network; bench/real builds microsocks",
        "heddle cc -g -w -Dmain=daemon_main -c microsocks-1.0.3/s*.c": "the source is not there",
        "heddle cc -g socks.c s*.o -o microsocks && heddle check -- ./microsocks": "the source is not there",
        "heddle suppress .heddle/1": "cli/suppress does; here it would be another finding",
        "heddle check --suppressions heddle.supp --time 5m -- ./microsocks": "the source is not there",
    },
    "docs/builds.md": {
        "./configure CC=\"heddle cc\" CXX=\"heddle c++\"": "tests/cc/run.py does this with an autoconf and automake project",
    },
}

# page -> {command: (what is run instead, reason)}
INSTEAD = {
    "README.md": {
        "sudo make install":
            ('cmake --install "$BUILD" --prefix "$HOME/usr"', "tests change nothing outside their folder"),
        "make CC=\"heddle cc\" CXX=\"heddle c++\"":
            ('make -C examples/project CC="heddle cc" CXX="heddle c++"', "it needs a project"),
        "cmake -DCMAKE_C_COMPILER=heddle-cc -DCMAKE_CXX_COMPILER=heddle-c++ -B build-heddle":
            ("cmake -DCMAKE_C_COMPILER=heddle-cc -DCMAKE_CXX_COMPILER=heddle-c++ -S examples/project -B build-heddle && "
             "cmake --build build-heddle", "it needs a project"),
    },
    "docs/tutorial.md": {
        "sudo make install":
            ('cmake --install "$BUILD" --prefix "$HOME/usr" && export PATH="$HOME/usr/bin:$PATH" CMAKE_PREFIX_PATH="$HOME/usr"',
             "tests change nothing outside their folder"),
    },
    "docs/from-rr.md": {
        "gcc -g bank.c -o bank -pthread":
            ("cp examples/bank.c . && gcc -g bank.c -o bank -pthread", "the page assumes the file is here"),
    },
}

# Words that may follow "heddle" in the text besides a verb: commands inside gdb, and help
OTHER_WORDS = {"threads", "thread", "next", "back", "goto", "finish", "schedule", "help"}

# Options of other programs that the text of pages names
FOREIGN = {"--keep", "--quick", "--only", "--all-compilers", "--long", "--markdown", "--last", "--doc",  # our scripts
           "--gtest",                                                                                   # GoogleTest
           "--variable", "--cflags",                                                                   # pkg-config
           "--error-exitcode", "--gen-suppressions", "--history-level", "--conflict-cache-size", "--fair-sched",
           "--sim-hints", "--xml", "--chaos"}                                                    # valgrind and rr
