#!/bin/sh
# demo.sh: what Heddle does, on the programs in this folder. HEDDLE names the heddle to use (default
# ./build/heddle).
# Exits 0 when everything came out as it should.
HEDDLE=${HEDDLE:-./build/heddle}
case $HEDDLE in
  */*) HEDDLE=$(cd "$(dirname "$HEDDLE")" && pwd)/$(basename "$HEDDLE") ;;
esac
examples=$(cd "$(dirname "$0")" && pwd) || exit 1
if ! "$HEDDLE" --version >/dev/null 2>&1; then
  echo "demo: $HEDDLE cannot be run; run 'make build' first, or set HEDDLE" >&2
  exit 1
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-demo.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
cp "$examples"/*.c "$examples"/*.cc .

if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi

say() { printf '\n%s\n' "$*"; }
fail() {
  printf '\ndemo: %s\n' "$*" >&2
  exit 1
}

# shows a command and runs it; the first argument is the exit status it must have
try() {
  want=$1
  shift
  printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"
  name=$1
  shift
  [ "$name" = heddle ] && name=$HEDDLE
  "$name" "$@" 2>&1
  got=$?
  [ "$got" -eq "$want" ] || fail "that exited with $got, not with $want"
}

say "$("$HEDDLE" --version), in three acts. The programs are in $examples."

say "1. A bank. Two people pay each other; each transfer locks two accounts. It works, nearly always:"
try 0 heddle cc -g bank.c -o bank -pthread
printf '\n%s$ ./bank; ./bank; ./bank%s\n' "$bold" "$plain"
for run in 1 2 3; do
  timeout 5 ./bank || echo "(run $run hung: you are lucky, that takes a million runs or so)"
done
say "Now Heddle decides which thread goes next, again and again, until it fails:"
try 1 heddle check -- ./bank
say "That was no accident any more: the schedule is stored, and fails the same way as often as we like."
try 1 heddle replay .heddle/1 --times 3
say "With the locks always taken in the same order:"
try 0 heddle cc -g bank_fixed.c -o bank_fixed -pthread
try 0 heddle check -- ./bank_fixed

say "2. A thread pool that sometimes cannot be shut down, because one worker is never woken:"
try 0 heddle cc -g pool.c -o pool -pthread
try 1 heddle check -- ./pool
try 1 heddle replay .heddle/2 --times 3
say "With a broadcast instead of a signal:"
try 0 heddle cc -g pool_fixed.c -o pool_fixed -pthread
try 0 heddle check -- ./pool_fixed

say "3. C++, where every access is locked and it is still wrong:"
try 0 heddle c++ -g queue.cc -o queue -pthread
try 1 heddle check -- ./queue
try 1 heddle replay .heddle/3 --times 3

say "Everything came out as expected. Next: your own test, built with 'heddle cc -g', under 'heddle check'."
