/* aim_plan.c: what guides a search to its lines, from facts about the code. Runs in the supervisor. */
#include "session/aim_plan.h"

#include <stdlib.h>
#include <string.h>

int hd_plan_make(struct hd_plan *p, const struct hd_aim_config *c, const struct hd_goal *g,
                 struct hd_places *places, struct hd_err *err) {
  (void)c, (void)g, (void)places, (void)err;
  *p = (struct hd_plan){0};
  return HD_OK;
}

static uint64_t put(char *memory, uint64_t *at, const void *from, size_t bytes) {
  uint64_t here = *at;
  if (bytes) memcpy(memory + here, from, bytes);
  *at += (bytes + 63) & ~63ull;
  return here;
}

void hd_plan_write(const struct hd_plan *p, char *memory) {
  struct hd_aim_plan *h = (struct hd_aim_plan *)memory;
  uint64_t at = (sizeof *h + 63) & ~63ull;
  *h = (struct hd_aim_plan){
      .nrows = (uint32_t)p->nrows, .ncolumns = (uint32_t)p->ncolumns, .nbranches = (uint32_t)p->nbranches};
  h->at_row = put(memory, &at, p->row, p->nrows * sizeof *p->row);
  h->at_end = put(memory, &at, p->end, p->nrows * sizeof *p->end);
  h->at_distance = put(memory, &at, p->distance, p->nrows * p->ncolumns * sizeof *p->distance);
  h->at_branches = put(memory, &at, p->branch, p->nbranches * sizeof *p->branch);
  h->at_definitions = put(memory, &at, p->definition, p->ndefinitions * sizeof *p->definition);
  h->at_nodes = at;
}

void hd_plan_fini(struct hd_plan *p) {
  free(p->row);
  free(p->end);
  free(p->distance);
  free(p->branch);
  free(p->definition);
  *p = (struct hd_plan){0};
}
