/* mined.c: the roles of threads for strategies that use them: one execution is recorded, and mined (analysis/roles.c). Runs in
 * the supervisor.
 *
 * Each thread runs as long as it can in that execution, so the roles are the same whenever the search is run again. Without
 * roles (the program does not run, say) the search works, too: what is wrong with the program is its to report. */
#include "abi/mined.h"
#include "session/names.h"
#include "session/session_int.h"

#include <stdlib.h>
#include <string.h>

#define SHARE 0.25 /* of the search's time */

/* Names, and how well roles agree with the functions where threads begin. */
static void name_threads(struct hd_roles *r, const struct hd_tr_tables *t) {
  unsigned *label = hd_alloc((r->thread.n + 1) * sizeof *label);
  for (size_t i = 0; i < r->thread.n; i++) {
    const struct hd_tr_thread *from = i < t->thread.n ? &t->thread.v[i] : NULL;
    struct hd_role_thread *to = &r->thread.v[i];
    if (from && from->name) to->name = hd_strdup(from->name);
    to->function = hd_strdup(from && from->function ? from->function : i ? "" : "main");
    size_t k = 0;
    while (k < i && strcmp(r->thread.v[k].function, to->function) != 0) k++;
    label[i] = (unsigned)k;
  }
  r->agreement = hd_roles_rand(r, label);
  free(label);
}

static void mine(struct hd_roles *r, struct hd_tr_source *source) {
  struct hd_err err;
  struct hd_event *event = NULL;
  size_t n = 0;
  if (hd_tr_collect(source, &event, &n, &err) == HD_OK) {
    hd_roles_events(r, event, n);
    hd_roles_cluster(r);
    name_threads(r, source->tables);
  }
  free(event);
}

void hd__session_mine(struct hd_session *s) {
  const struct hd_config *c = &s->config.search;
  struct hd_err err;
  struct hd_rerun run;
  if (c->mode != HD_MODE_CHECK || !hd_strategy_mines(c->strategy)) return;
  struct hd_schedule schedule = {.seed = c->seed,
                                 .max_length = c->max_length,
                                 .restart = HD_RESTART_MEMORY,
                                 .spurious = c->spurious,
                                 .timeouts_any = c->timeouts_any,
                                 .closed = c->closed,
                                 .exit_status = c->exit_status,
                                 .partial = true};
  snprintf(schedule.strategy, sizeof schedule.strategy, "random");
  struct hd_config config;
  hd_schedule_config(&schedule, &config);
  if (hd_rerun_config(&s->command, &schedule, &config, &s->input, HD_OUTPUT_NULL, NULL,
                      s->config.hang_timeout, SHARE * s->config.time, &run, &err) != HD_OK)
    return;
  if (!run.error && run.outcome.end != HD_PROCESS_START) {
    struct hd_tr_source *source = hd_rerun_trace(&run, &s->command, true, false);
    mine(&s->roles, source);
    hd_tr_close(source);
  }
  hd_rerun_fini(&run);
  struct hd_mined *m = (struct hd_mined *)((char *)s->worker[0].control.shared + HD_SEARCH_MEMORY);
  m->nthreads = (uint32_t)(s->roles.thread.n < HD_MINED_THREADS ? s->roles.thread.n : HD_MINED_THREADS);
  m->nroles = s->roles.k;
  for (uint32_t t = 0; t < m->nthreads; t++) m->role[t] = (uint8_t)s->roles.thread.v[t].role;
}
