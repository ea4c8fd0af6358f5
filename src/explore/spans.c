/* spans.c: the numbers of the executions of a sampler. Draws run in the tested process, the rest in the supervisor.
 *
 * The number of an execution is the sample: with the seed it says what is executed. So that several machines, and whoever
 * continues a saved search, run the samples that one process would run, each number is drawn once. Those that were given to
 * a machine, or were left when a search was saved, are in shared.span; the others follow shared.next_execution. */
#include "explore/explore_int.h"

uint64_t hd_search_draw(struct hd_search *s) {
  struct hd_shared *sh = s->shared;
  const uint64_t max = s->config->max_executions;
  uint64_t n = 0;
  hd_search_lock(s);
  if (sh->nspans) {
    struct hd_span *p = &sh->span[sh->nspans - 1];
    n = p->next + 1;
    HD_REDO(s, p->next, n);
    if (n == p->end) HD_REDO(s, sh->nspans, sh->nspans - 1);
  } else if (s->config->served != HD_SERVED_ONLY && (!max || sh->next_execution < max + sh->not_begun)) {
    n = sh->next_execution + 1;
    HD_REDO(s, sh->next_execution, n);
  }
  if (n) {
    HD_REDO(s, s->status->execution, n);
    hd__redo_commit(s);
  }
  hd_search_unlock(s);
  return n;
}

struct hd_span hd_spans_take(struct hd_shared *sh, uint64_t max, uint64_t n) {
  struct hd_span *p = sh->nspans ? &sh->span[sh->nspans - 1] : NULL;
  struct hd_span got = {.next = p ? p->next : sh->next_execution};
  uint64_t left = p ? p->end - p->next : !max ? UINT64_MAX : max > got.next ? max - got.next : 0;
  got.end = got.next + (n < left ? n : left);
  if (!p)
    sh->next_execution = got.end;
  else if (got.end == p->end)
    sh->nspans--;
  else
    p->next = got.end;
  return got;
}

int hd_spans_add(struct hd_shared *sh, struct hd_span span) {
  if (span.next >= span.end) return 1;
  if (sh->nspans == HD_SPANS) return 0;
  sh->span[sh->nspans++] = span;
  return 1;
}

uint64_t hd_spans_left(const struct hd_shared *sh) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < sh->nspans && i < HD_SPANS; i++) n += sh->span[i].end - sh->span[i].next;
  return n;
}
