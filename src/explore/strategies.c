/* strategies.c: the list of strategies by name. Runs in the tested process. */
#include "explore/explore.h"

static const struct hd_strategy *const all[] = {
    &hd_strategy_random, &hd_strategy_replay,    &hd_strategy_dfs,        &hd_strategy_optimal,
    &hd_strategy_dpor,   &hd_strategy_rdfs,      &hd_strategy_pct,        &hd_strategy_pos,
    &hd_strategy_sites,  &hd_strategy_auto,      &hd_strategy_bounded,    &hd_strategy_uniform,
    &hd_strategy_surw,   &hd_strategy_rff,       &hd_strategy_wanted,     &hd_strategy_ti,
    &hd_strategy_ci,     &hd_strategy_tici_plus, &hd_strategy_tici_minus, &hd_strategy_mined,
    &hd_strategy_aim,    &hd_strategy_plan};

static int same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

const struct hd_strategy *hd_strategy_find(const char *name) {
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (same(all[i]->name, name)) return all[i];
  return 0;
}

const struct hd_strategy *hd_strategy_for(const struct hd_config *c) {
  const struct hd_strategy *s = hd_strategy_find(c->strategy);
  if (c->bound_kind && (s == &hd_strategy_dpor || s == &hd_strategy_optimal)) return &hd_strategy_bounded;
  return s;
}
