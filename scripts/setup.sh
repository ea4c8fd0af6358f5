#!/bin/sh
# setup.sh: installs missing Debian packages; takes a few milliseconds when none is missing. `setup.sh build` installs only
# what the build needs; without a word it adds what developers use; `setup.sh test` also installs what only the tests need: a
# browser for the report page, readers of the other output formats, and test frameworks.
#
# Exit status: 0 everything is installed; 3 something is missing and cannot be installed (prints the list and the
# command to run).
set -u

packages="gcc g++ cmake ninja-build pkg-config python3
  libdw-dev libelf-dev libjansson-dev libxxhash-dev libzstd-dev libcmocka-dev"
[ "${1:-}" != build ] && packages="$packages clang libclang-rt-dev clang-format autoconf automake gdb dpkg-dev"
[ "${1:-}" = test ] && packages="$packages chromium fonts-dejavu-core libxml2-utils groff-base meson zsh valgrind
  python3-jsonschema libgtest-dev catch2 check"
# Any npm will do: Debian's is installed only if there is none.
[ "${1:-}" = test ] && ! command -v npm >/dev/null 2>&1 && packages="$packages npm"
commands="gcc g++ clang cmake ninja pkg-config python3"
libraries="libdw jansson libxxhash libzstd cmocka"

if ! command -v dpkg-query >/dev/null 2>&1; then
  # Not Debian: nothing can be installed, but the needed packages can be listed.
  missing=""
  for c in $commands; do command -v "$c" >/dev/null 2>&1 || missing="$missing $c"; done
  if command -v pkg-config >/dev/null 2>&1; then
    for l in $libraries; do pkg-config --exists "$l" || missing="$missing $l"; done
  fi
  [ -z "$missing" ] && exit 0
  echo "setup: this is not a Debian system; install these first, with headers:$missing" >&2
  exit 3
fi

# Lists the packages among its arguments that are not installed.
absent() {
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null)
  for p in "$@"; do
    case "
$installed
" in
    *"
$p installed
"*) ;;
    *) printf ' %s' "$p" ;;
    esac
  done
}

as_root=""
apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq "$@"
}

# Headers of the installed compilers, for the plug-ins (src/plugin), MPI (src/cluster), the solver (src/smt), and what reads facts
# about the code (src/static). The build works without them, so a compiler that is
# not Debian's, or a user who may not install anything, is no error.
optional() {
  command -v apt-cache >/dev/null 2>&1 || return
  gcc=$(gcc -dumpversion 2>/dev/null)
  llvm=$(readlink -f "$(command -v clang)" | sed -n 's|.*/llvm-\([0-9]*\)/.*|\1|p')
  for p in $(absent ${gcc:+"gcc-${gcc%%.*}-plugin-dev"} ${llvm:+"llvm-$llvm-dev"} openmpi-bin libopenmpi-dev libz3-dev \
    clang-19 llvm-19-dev); do
    apt-cache show "$p" >/dev/null 2>&1 || continue
    if [ "$(id -u)" -ne 0 ]; then $as_root true 2>/dev/null || return; fi
    echo "setup: installing $p"
    apt install -y --no-install-recommends "$p" >/dev/null || return
  done
}

# shellcheck disable=SC2086
missing=$(absent $packages)
if [ -z "$missing" ]; then
  as_root=$([ "$(id -u)" -eq 0 ] || echo "sudo -n")
  optional
  exit 0
fi

install="apt-get install -y --no-install-recommends$missing"
refuse() {
  echo "setup: $1. Packages missing:$missing" >&2
  echo "setup: run this as root, then try again: $install" >&2
  exit 3
}

if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || refuse "not root, and there is no sudo"
  # Without a terminal there is no way to type a password, so do not wait for one.
  if [ -t 0 ]; then as_root="sudo"; else as_root="sudo -n"; fi
  $as_root true 2>/dev/null || refuse "not root, and sudo refused"
fi

echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# A failed update (no network) is not fatal: the packages may be in the cache.
apt update || echo "setup: apt-get update failed; trying with the package lists there are" >&2
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing >/dev/null || refuse "apt-get could not install them"
optional
exit 0
