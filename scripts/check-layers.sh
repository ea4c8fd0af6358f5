#!/bin/sh
# check-layers.sh: the folders of src/ may include each other in one direction only.
#
#   model <- abi <- explore <- runtime;  base and model <- abi <- trace <- analysis <- report <-
#   session <- cluster <- cli;  base, abi <- smt <- symbolic <- concolic;  base <- static;  base <- mutate <- cli;
#   base, model, trace and smt <- predict <- session
#
# The folders linked into libheddle_rt.so (model, abi, explore, runtime) must not use base, which allocates and
# prints; plugin, which is linked into the compilers and the tested program, uses nothing but headers of abi and tables of model. An optional argument names another root to check; the tests of this script use it.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 4

find src -name '*.[chS]' | LC_ALL=C sort | xargs -r awk '
  BEGIN {
    allow["base"] = " base "
    allow["model"] = " model "
    allow["abi"] = " abi model "
    allow["explore"] = " abi model explore "
    allow["runtime"] = " abi model explore runtime "
    allow["trace"] = " base model abi trace "
    allow["analysis"] = " base abi model explore trace analysis "
    allow["smt"] = " base abi model smt "
    allow["concolic"] = " base abi model smt symbolic concolic "
    allow["symbolic"] = " base abi model smt symbolic "
    allow["static"] = " base abi static "
    allow["predict"] = " base abi model trace smt predict "
    allow["report"] = " base abi model explore trace analysis report "
    allow["session"] = " base abi model explore trace analysis predict symbolic concolic static report session "
    allow["plugin"] = " abi model "
    allow["cluster"] = " base abi model explore trace analysis predict symbolic concolic static report session cluster "
    allow["mutate"] = " base mutate "
    allow["cli"] = " base abi model explore trace analysis predict symbolic concolic static report session cluster mutate cli "
  }
  function complain(why) { printf "%s:%d: %s\n", FILENAME, FNR, why; bad = 1 }
  FNR == 1 {
    split(FILENAME, part, "/")
    from = part[2]
    if (!(from in allow)) complain("folder src/" from " has no rule in scripts/check-layers.sh")
  }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, q, "\"")
    if (q[2] ~ /\.\./) { complain("include \"" q[2] "\": write the path from src/"); next }
    if (split(q[2], to, "/") < 2) next   # heddle.h, or a file of the same folder
    if ((from in allow) && index(allow[from], " " to[1] " ") == 0)
      complain("src/" from " may not include \"" q[2] "\" (it may use:" allow[from] ")")
  }
  END { exit bad }'
