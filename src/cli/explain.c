/* explain.c: makes a finding easier to understand: from here on it is told by the run of a smaller schedule.
 * Runs in the supervisor. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* The finding as the run of the smaller schedule tells it; what is known about the search stays. */
static struct hd_finding *retell(const struct hd_command *cmd, struct hd_finding *f,
                                 const struct hd_reduction *r) {
  struct hd_symbolizer *sym =
      hd_symbolizer_new(r->rerun.module, r->rerun.nmodules, cmd->program.path, cmd->cwd);
  struct hd_finding *now = hd_finding_new(r->rerun.capture.rec, sym);
  hd_symbolizer_free(sym);
  /* A death tells nothing about places. */
  if (now->partial && !f->partial) {
    hd_finding_free(now);
    now = f;
  } else {
    now->id = f->id;
    now->execution = f->execution;
    now->seed = f->seed;
    now->key = f->key;
    now->steps = f->steps;
    now->replays = f->replays;
    memcpy(now->strategy, f->strategy, sizeof now->strategy);
    now->folder = f->folder;
    f->folder = NULL;
    hd_finding_free(f);
  }
  now->minimised.there = true;
  now->minimised.fewest = r->fewest;
  now->minimised.before = r->before;
  now->minimised.after = r->after;
  return now;
}

int hd_explain(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
               struct hd_finding **f, double seconds, double hang_timeout, struct hd_reduction *out,
               struct hd_err *err) {
  int rc = hd_reduce(cmd, s, in, *f, seconds, hang_timeout, out, err);
  if (rc == HD_OK && out->found) *f = retell(cmd, *f, out);
  return rc;
}
