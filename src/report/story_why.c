/* story_why.c: how far each event is from the failure of a finding. Runs in the supervisor.
 *
 * The analysis (hd_analysis_why) works on events and numbers of source lines. Here the lines are numbered, and the steps
 * that fail are found: those of the statement at the place of the finding, with the functions that it calls. Every address
 * is symbolized once. */
#include "report/report_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INLINED 4 /* lines of one address: its own, and those that it was inlined into */

struct spot {
  uint64_t pc; /* 0: empty */
  uint32_t line[MAX_INLINED];
};

struct source_line {
  char *path;
  int number;
};

struct lines {
  const struct hd_recording *r;
  struct hd_symbolizer *sym;
  struct spot *spot;
  size_t mask, used;
  HD_VEC(struct source_line) known;
};

/* ---- lines as numbers ---- */

static uint32_t number_of(struct lines *l, const char *path, int line) {
  for (size_t i = 0; i < l->known.n; i++)
    if (l->known.v[i].number == line && strcmp(l->known.v[i].path, path) == 0) return (uint32_t)i + 1;
  hd_vec_push(&l->known, ((struct source_line){hd_strdup(path), line}));
  return (uint32_t)l->known.n;
}

static size_t slot_of(const struct lines *l, uint64_t pc) {
  size_t i = (size_t)((pc * 0x9e3779b97f4a7c15ull) >> 20) & l->mask;
  while (l->spot[i].pc && l->spot[i].pc != pc) i = (i + 1) & l->mask;
  return i;
}

static void grow(struct lines *l) {
  struct spot *old = l->spot;
  size_t n = old ? l->mask + 1 : 0;
  l->mask = n ? 2 * n - 1 : 255;
  l->spot = hd_alloc((l->mask + 1) * sizeof *l->spot);
  for (size_t i = 0; i < n; i++)
    if (old[i].pc) l->spot[slot_of(l, old[i].pc)] = old[i];
  free(old);
}

/* The lines of the user's source at the address, the innermost first; 0: no more. */
static const uint32_t *lines_at(struct lines *l, uint64_t pc) {
  if (l->used * 2 >= l->mask) grow(l);
  struct spot *s = &l->spot[slot_of(l, pc)];
  if (s->pc) return s->line;
  s->pc = pc;
  l->used++;
  struct hd_frames frames = {0};
  hd_symbolize_pc(l->sym, pc, false, &frames);
  size_t n = 0;
  for (size_t i = 0; i < frames.n && n < MAX_INLINED; i++)
    if (!hd__is_plumbing(&frames.v[i]) && frames.v[i].line)
      s->line[n++] = number_of(l, frames.v[i].path, frames.v[i].line);
  hd_frames_free(&frames);
  return s->line;
}

static uint64_t caller(const struct hd_recording *r, size_t event, size_t k) {
  return event < r->ncalls ? r->calls[event * HD_CALLS + k] : 0;
}

/* The line in which the event was executed; in a library, that of the call. */
static uint32_t line_of(struct lines *l, size_t i) {
  uint64_t pc = l->r->event[i].op.pc;
  uint32_t line = pc ? lines_at(l, pc)[0] : 0;
  for (size_t k = 0; k < HD_CALLS && !line && (pc = caller(l->r, i, k)); k++) line = lines_at(l, pc)[0];
  return line;
}

static bool has_line(struct lines *l, uint64_t pc, uint32_t line) {
  const uint32_t *all = lines_at(l, pc);
  for (size_t i = 0; i < MAX_INLINED && all[i]; i++)
    if (all[i] == line) return true;
  return false;
}

/* Whether the event was executed in the line or in a function called from it. */
static bool is_below(struct lines *l, size_t i, uint32_t line) {
  uint64_t pc = l->r->event[i].op.pc;
  if (pc && has_line(l, pc, line)) return true;
  for (size_t k = 0; k < HD_CALLS && (pc = caller(l->r, i, k)); k++)
    if (has_line(l, pc, line)) return true;
  return false;
}

static void free_lines(struct lines *l) {
  for (size_t i = 0; i < l->known.n; i++) free(l->known.v[i].path);
  hd_vec_free(&l->known);
  free(l->spot);
}

/* ---- the steps that fail ---- */

static uint32_t line_of_place(struct lines *l, const struct hd_place *p) {
  for (size_t i = 0; i < p->stack.n; i++) {
    const struct hd_frame *f = &p->stack.v[i];
    if (!hd__is_plumbing(f) && f->line) return number_of(l, f->path, f->line);
  }
  return 0;
}

/* The events of the thread before `at` that are of one statement. */
static size_t statement(struct lines *l, unsigned thread, uint32_t line, size_t at) {
  size_t from = at;
  for (size_t i = at; line && i-- > 0;) {
    if (l->r->event[i].op.thread != thread) continue;
    if (!is_below(l, i, line)) break;
    from = i;
  }
  return from;
}

static bool is_sync(const struct hd_place *p) {
  unsigned object = hd_op_object(p->op);
  return object != HD_OBJ_THREAD && object != HD_OBJ_MEMORY && object != HD_OBJ_NONE;
}

/* False if the place is no step. */
static bool failing_step(struct lines *l, const struct hd_place *p, struct hd_failing *out) {
  bool waits = p->role == HD_ROLE_WAITS;
  if (p->role != HD_ROLE_AT && p->role != HD_ROLE_PREVIOUS && !waits) return false;
  if (waits && hd_op_object(p->op) == HD_OBJ_THREAD) return false;
  size_t at = l->r->n;
  if (p->role == HD_ROLE_PREVIOUS) at = hd__event_of_place(l->r, p) + 1;
  if (at > l->r->n) return false;
  *out = (struct hd_failing){.thread = p->thread_no,
                             .from = statement(l, p->thread_no, line_of_place(l, p), at),
                             .at = at,
                             .object = waits && is_sync(p) ? p->object_addr : 0};
  return true;
}

uint8_t *hd__story_why(const struct hd_recording *r, const struct hd_finding *f, struct hd_symbolizer *sym) {
  struct lines l = {.r = r, .sym = sym};
  struct hd_failing failing[HD_MAX_SITES];
  size_t n = 0;
  uint32_t *line = hd_alloc((r->n + 1) * sizeof *line);
  for (size_t i = 0; i < r->n; i++) line[i] = line_of(&l, i);
  for (size_t i = 0; i < f->nplaces && n < HD_MAX_SITES; i++)
    n += failing_step(&l, &f->place[i], &failing[n]);
  uint8_t *distance = hd_analysis_why(r->event, r->n, line, failing, n);
  free(line);
  free_lines(&l);
  return distance;
}
