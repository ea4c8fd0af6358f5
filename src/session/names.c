/* names.c: the names that options take: strategies and kinds of findings. Runs in the supervisor. */
#include "cli/cli.h"

#include <string.h>

/* Strategies the runtime knows. A systematic one ends by itself, when every schedule is covered; the others sample
 * until the executions asked for are done. */
static const struct {
  const char *name;
  bool systematic;
  const char *help;
} strategies[] = {
    {"auto", true, "the optimal search and the sampling ones in turns: first bugs fast, small spaces whole"},
    {"optimal", true, "all schedules: one execution for all that differ in nothing but unrelated steps"},
    {"dpor", true, "all schedules, by the classic reduction: may begin executions in vain"},
    {"dfs", true, "all schedules: every interleaving, in order"},
    {"rdfs", true, "all schedules: every interleaving, in random order"},
    {"random", false, "samples: any enabled thread, at every step"},
    {"pct", false,
     "samples: random priorities that change at --depth minus 1 steps; one execution finds a bug\n"
     "of depth d with a probability of at least 1/(n k^(d-1)), for n threads and k steps"},
    {"pos", false, "samples: random priorities of operations, drawn anew after a race was lost"},
    {"sites", false,
     "samples: random priorities of kinds of threads, that change at --depth minus 1 places of the code"},
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

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
  for (size_t i = 0; i < COUNT(strategies); i++)
    if (strcmp(strategies[i].name, name) == 0) return strategies[i].systematic;
  return false;
}

/* Adds the lines of `text`, all but the first indented. */
void hd__add_indented(struct hd_str *out, const char *text, int column) {
  for (; *text; text++) {
    hd_str_addc(out, *text);
    if (*text == '\n') hd_str_addf(out, "%*s", column, "");
  }
  hd_str_addc(out, '\n');
}

void hd_strategies_words(struct hd_str *out) {
  for (size_t i = 0; i < COUNT(strategies); i++) hd_str_addf(out, "%s%s", i ? " " : "", strategies[i].name);
}

void hd_strategies_help(struct hd_str *out) {
  for (size_t i = 0; i < COUNT(strategies); i++) {
    hd_str_addf(out, "  %-9s ", strategies[i].name);
    hd__add_indented(out, strategies[i].help, 12);
  }
}
