"""Commands of the documentation that the tests do not run as they stand, each with its reason. Whatever is not in here is
run. An entry that no page has any more is an error."""

# page -> {command: reason}: not run at all
NOT_RUN = {
    "README.md": {
        "make build": "it is what made the heddle that runs here",
        "make test": "this is a part of it",
        "make bench": "ten minutes",
        "make deb": "cli/install:deb builds the package and uses it",
        "make demo": "cli/examples runs it",
        "./configure CC=\"heddle cc\" CXX=\"heddle c++\"": "tests/cc/run.py does that with a project of autoconf and automake",
    },
    "docs/tutorial.md": {
        "sudo apt install git make": "tests install nothing",
        "make build": "it is what made the heddle that runs here",
    },
    "docs/from-rr.md": {
        "while timeout 5 rr record --chaos ./bank; do :; done": "rr needs performance counters of the processor",
        "rr replay": "rr needs performance counters of the processor",
    },
    "docs/from-loom.md": {
        "RUSTFLAGS=\"--cfg loom\" cargo test --release": "Rust and the crate loom are not among what the tests need",
    },
    "docs/builds.md": {
        "./configure CC=\"heddle cc\" CXX=\"heddle c++\"": "tests/cc/run.py does that with a project of autoconf and automake",
    },
}

# page -> {command: (what is run instead, reason)}
INSTEAD = {
    "README.md": {
        "sudo make install":
            ('cmake --install "$BUILD" --prefix "$HOME/usr"', "tests change nothing outside their folder"),
        "make CC=\"heddle cc\" CXX=\"heddle c++\"":
            ('make -C examples/project CC="heddle cc" CXX="heddle c++"', "it is meant for a project"),
        "cmake -DCMAKE_C_COMPILER=heddle-cc -DCMAKE_CXX_COMPILER=heddle-c++ -B build-heddle":
            ("cmake -DCMAKE_C_COMPILER=heddle-cc -DCMAKE_CXX_COMPILER=heddle-c++ -S examples/project -B build-heddle && "
             "cmake --build build-heddle", "it is meant for a project"),
    },
    "docs/tutorial.md": {
        "sudo make install":
            ('cmake --install "$BUILD" --prefix "$HOME/usr" && export PATH="$HOME/usr/bin:$PATH" CMAKE_PREFIX_PATH="$HOME/usr"',
             "tests change nothing outside their folder"),
    },
    "docs/from-rr.md": {
        "gcc -g bank.c -o bank -pthread":
            ("cp examples/bank.c . && gcc -g bank.c -o bank -pthread", "the page has the file in sight"),
    },
}

# What may stand behind "heddle" in the text besides a verb: commands inside gdb, and help
OTHER_WORDS = {"threads", "thread", "next", "back", "goto", "finish", "schedule", "help"}

# Options of other programs that the text of pages names
FOREIGN = {"--keep", "--quick", "--only", "--all-compilers", "--long", "--markdown", "--last", "--doc",  # our scripts
           "--gtest",                                                                                   # GoogleTest
           "--variable", "--cflags",                                                                   # pkg-config
           "--error-exitcode", "--gen-suppressions", "--history-level", "--conflict-cache-size", "--fair-sched",
           "--sim-hints", "--xml", "--chaos"}                                                    # valgrind and rr
