# The commands of the repository. CMake and Ninja build; this file only names the jobs.
#
#   make build                                  leaves ./build/heddle
#   make build BUILD=build-clang CC=clang       another compiler, another folder
#   make build BUILD=build-asan SANITIZE=1      the tool (not the runtime) under ASan and UBSan
#   make build LTO=0                            links faster; the search is 3 to 5% slower
#   make fuzz SEED=7 PROGRAMS=100000            random programs: all strategies compared with dfs;
#        FUZZ_SECONDS=60                        random files for every reader of files; and every shape of an
#                                               access, compiled in every way
#   make fuzz LOAD=4                            the same while 4 processes per processor keep the machine busy
#   make stress RUNS=3600 LOAD=4                correct programs by 4 workers on a loaded machine: no finding
#   make real                                   programs from source packages: docs/real-programs.md
#   make install PREFIX=/usr/local DESTDIR=     heddle, its libraries, headers, manual page, completions, packages
#   make uninstall DESTDIR=                     removes what make install has written
#   make deb                                    a Debian package of the same, in the build folder
#
# Every job first installs missing Debian packages (scripts/setup.sh), so each works on a fresh machine with git and
# make.

BUILD ?= build
PREFIX ?= /usr/local
BUILD_TYPE ?= Release
SANITIZE ?= 0
LTO ?= 1
SEED ?= $(shell date +%Y%m%d)
PROGRAMS ?= 100000
FUZZ_SECONDS ?= 60
LOAD ?= 0
RUNS ?= 3600
ifdef CI
WERROR ?= 1
endif
WERROR ?= 0
ifeq ($(origin CC),default)
CC := gcc
endif
export CI

CONFIG := -DCMAKE_C_COMPILER=$(CC) -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) -DHEDDLE_WERROR=$(WERROR) \
          -DHEDDLE_SANITIZE=$(SANITIZE) -DHEDDLE_LTO=$(LTO)

.PHONY: all build configure demo test fuzz stress bench real install uninstall deb format format-check layers setup clean

all: build

setup:
	@sh scripts/setup.sh

# Reconfigures only when the settings have changed.
configure:
	@sh scripts/setup.sh build
	@mkdir -p $(BUILD)
	@if [ ! -f $(BUILD)/build.ninja ] || [ "$$(cat $(BUILD)/.config 2>/dev/null)" != "$(CONFIG)" ]; then \
	  cmake -S . -B $(BUILD) -G Ninja $(CONFIG) && echo "$(CONFIG)" > $(BUILD)/.config; \
	fi

build: configure
	@cmake --build $(BUILD)

demo: build
	@HEDDLE="$(abspath $(BUILD))/heddle" sh examples/demo.sh

test: build
	@sh scripts/setup.sh test
	@python3 scripts/test.py --build $(BUILD)

fuzz: build setup
	@python3 tests/fuzz/readers.py --build $(BUILD) --seconds $(FUZZ_SECONDS)
	@python3 tests/fuzz/mutations.py --build $(BUILD)
	@python3 tests/cc/test_shapes.py --build $(BUILD)
	@python3 tests/fuzz/interference.py --build $(BUILD) --seed $(SEED) --programs 400
	@python3 tests/fuzz/concolic.py --build $(BUILD) --seed $(SEED) --programs 200
	@python3 tests/fuzz/sequential.py --build $(BUILD) --seed $(SEED) --programs 200
	@python3 tests/fuzz/run.py --build $(BUILD) --progress --seed $(SEED) --programs $(PROGRAMS) \
	  --load $(LOAD)

stress: build setup
	@python3 tests/fuzz/stress.py --build $(BUILD) --runs $(RUNS) --load $(or $(filter-out 0,$(LOAD)),4)

bench: build setup
	@python3 bench/bench.py --build $(BUILD) --markdown
	@python3 bench/search.py --build $(BUILD) --doc
	@python3 bench/first.py --build $(BUILD) --seeds 100 --limit 1000 --store
	@python3 bench/first.py --doc

real: build setup
	@python3 bench/real/real.py --build $(BUILD)

install: build
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(abspath $(PREFIX))"

# Removes what the last `make install` of this build folder has written.
uninstall:
	@if [ ! -f $(BUILD)/install_manifest.txt ]; then echo "nothing is installed from $(BUILD)" >&2; exit 3; fi
	@while read -r f || [ -n "$$f" ]; do rm -f "$(DESTDIR)$$f"; done <$(BUILD)/install_manifest.txt
	@sed 's|/[^/]*$$||' $(BUILD)/install_manifest.txt | sort -ru | while read -r d; do \
	  case $$d in */heddle|*/heddle/*|*/Heddle) rmdir -p "$(DESTDIR)$$d" 2>/dev/null;; esac; done; true
	@rm -f $(BUILD)/install_manifest.txt

deb: build setup
	@cd $(BUILD) && cpack -G DEB >cpack.log 2>&1 || { cat cpack.log; exit 1; }
	@ls $(BUILD)/*.deb

format:
	@sh scripts/format.sh

format-check:
	@sh scripts/format.sh --check

layers:
	@sh scripts/check-layers.sh

clean:
	rm -rf $(BUILD)
