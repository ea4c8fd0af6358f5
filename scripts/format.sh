#!/bin/sh
# format.sh: formats all C and C++ sources in place; with --check, lists the files that differ and fails.
#
# clang-format's output differs between versions, so only version 14 (Debian 12) is accepted.
set -u
cd "$(dirname "$0")/.." || exit 4

tool=""
for t in clang-format-14 clang-format; do
  if command -v "$t" >/dev/null 2>&1 && "$t" --version | grep -q 'version 14\.'; then tool=$t; break; fi
done
if [ -z "$tool" ]; then
  echo "format: clang-format 14 is not installed; nothing was checked" >&2
  [ "${1:-}" = --check ] && exit 0
  exit 3
fi

list() { find src include tests/unit \( -name '*.[ch]' -o -name '*.cc' \) 2>/dev/null | LC_ALL=C sort; }

if [ "${1:-}" != --check ]; then
  list | xargs -r "$tool" -i
  exit
fi
bad=$(list | while read -r f; do "$tool" "$f" | cmp -s - "$f" || echo "$f"; done)
[ -z "$bad" ] && exit 0
echo "format: these files are not formatted (run: make format):"
echo "$bad" | sed 's/^/  /'
exit 1
