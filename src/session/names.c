/* names.c: the names of strategies and of kinds of findings. Runs in the supervisor. */
#include "abi/plan.h"
#include "session/names.h"

#include <string.h>

/* The runtime's strategies. A systematic one ends by itself when every schedule is covered; the others sample until
 * the requested executions are done. */
static const struct hd_strategy_info strategies[] = {
    {"auto", true, "alternates the optimal search and samplers: fast first bugs, small spaces completely"},
    {"optimal", true, "all schedules: one execution per class of equivalent schedules"},
    {"dpor", true, "all schedules, by classic partial-order reduction: some executions may be redundant"},
    {"dfs", true, "all schedules: every interleaving, in order"},
    {"rdfs", true, "all schedules: every interleaving, in random order"},
    {"random", false, "samples: any enabled thread, at every step"},
    {"pct", false,
     "samples: random priorities, changed at depth-1 random steps; one execution finds a bug\n"
     "of depth d with a probability of at least 1/(n k^(d-1)), for n threads and k steps"},
    {"pos", false, "samples: random priorities per operation, redrawn after a lost race"},
    {"sites", false, "samples: random priorities per thread role, changed at depth-1 random code locations"},
    {"surw", false, "samples: orders of the operations on one object, about equally often"},
    {"rff", false, "samples: steers towards new and rare pairs of a write and the read that sees it"},
    {"uniform", false,
     "samples: classes of equivalent schedules, about equally often; estimates their number"},
    {"mined", false,
     "samples: alternates threads by their roles, which are learned from one recorded execution;\n"
     "tici+ and tici- in turns"},
    {"tici+", false, "samples: alternates threads and roles, for bugs between roles"},
    {"tici-", false, "samples: alternates the threads of a role, for bugs within a role"},
    {"ti", false, "samples: alternates threads"},
    {"ci", false, "samples: alternates roles"},
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

bool hd_strategies_next(size_t *at, struct hd_strategy_info *out) {
  if (*at == COUNT(strategies)) return false;
  *out = strategies[(*at)++];
  return true;
}

bool hd_kind_by_name(const char *name, size_t len, enum hd_kind *kind) {
  for (int k = 1; k < HD_KIND_COUNT; k++) {
    if (strlen(hd_kind_name[k]) == len && memcmp(hd_kind_name[k], name, len) == 0) {
      *kind = (enum hd_kind)k;
      return true;
    }
  }
  return false;
}

int hd_kinds_parse(const char *list, uint64_t *bits, struct hd_err *err) {
  for (const char *p = list;;) {
    size_t len = strcspn(p, ",");
    enum hd_kind kind;
    if (!hd_kind_by_name(p, len, &kind)) {
      struct hd_str known;
      hd_str_init(&known);
      for (int k = 1; k < HD_KIND_COUNT; k++) hd_str_addf(&known, "%s%s", k > 1 ? ", " : "", hd_kind_name[k]);
      hd_fail(err, HD_EUSAGE, "unknown kind of finding '%.*s'; known are: %s", (int)len, p, known.s);
      hd_str_fini(&known);
      return err->code;
    }
    *bits |= 1ull << kind;
    if (!p[len]) return HD_OK;
    p += len + 1;
  }
}

int hd_strategy_parse(const char *value, const char **out, struct hd_err *err) {
  struct hd_str known;
  hd_str_init(&known);
  for (size_t i = 0; i < COUNT(strategies); i++) {
    if (strcmp(strategies[i].name, value) == 0) {
      hd_str_fini(&known);
      *out = strategies[i].name;
      return HD_OK;
    }
    hd_str_addf(&known, "%s%s", i ? ", " : "", strategies[i].name);
  }
  hd_fail(err, HD_EUSAGE, "unknown strategy '%s'; known are: %s", value, known.s);
  hd_str_fini(&known);
  return err->code;
}

bool hd_strategy_systematic(const char *name) {
  if (strcmp(name, HD_PLAN_NAME) == 0) return true; /* driven.c searches, and says what it leaves out */
  for (size_t i = 0; i < COUNT(strategies); i++)
    if (strcmp(strategies[i].name, name) == 0) return strategies[i].systematic;
  return false;
}

bool hd_strategy_mines(const char *name) {
  static const char *const mining[] = {"mined", "tici+", "tici-", "ci"};
  for (size_t i = 0; i < COUNT(mining); i++)
    if (strcmp(mining[i], name) == 0) return true;
  return false;
}
