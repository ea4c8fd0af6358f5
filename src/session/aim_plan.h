/* aim_plan.h: what guides a search to its lines, from facts about the code (aim_plan.c). Runs in the supervisor. */
#ifndef HD_SESSION_AIM_PLAN_H
#define HD_SESSION_AIM_PLAN_H

#include "session/aim.h"

struct hd_plan {
  uint64_t *row; /* as in struct hd_aim_plan; owned */
  uint32_t *end, *distance;
  struct hd_aim_branch *branch;
  uint32_t *definition;
  size_t nrows, ncolumns, nbranches, ndefinitions;
};

/* Without facts the plan is empty. */
int hd_plan_make(struct hd_plan *p, const struct hd_aim_config *c, const struct hd_goal *g,
                 struct hd_places *places, struct hd_err *err);
/* Writes it to the search memory. */
void hd_plan_write(const struct hd_plan *p, char *memory);
void hd_plan_fini(struct hd_plan *p);

#endif
