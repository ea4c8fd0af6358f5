/* names.h: names that people and files use: kinds of findings and strategies. Runs in the supervisor. */
#ifndef HD_SESSION_NAMES_H
#define HD_SESSION_NAMES_H

#include "abi/abi.h"
#include "base/base.h"

bool hd_kind_by_name(const char *name, size_t len, enum hd_kind *kind);
/* Adds the kinds of a list ("leak,hang") to `bits`, one bit per enum hd_kind. */
int hd_kinds_parse(const char *list, uint64_t *bits, struct hd_err *err);

struct hd_strategy_info {
  const char *name;
  bool systematic;   /* covers every schedule and then ends by itself, rather than sampling */
  const char *about; /* lines for people */
};
/* The next strategy, from *at = 0 on; false at the end. */
bool hd_strategies_next(size_t *at, struct hd_strategy_info *out);
/* `out` is set to the name in the table. */
int hd_strategy_parse(const char *value, const char **out, struct hd_err *err);
bool hd_strategy_systematic(const char *name);
/* Whether it uses roles of threads. */
bool hd_strategy_mines(const char *name);

#endif
