/* cover.c: what a search exercised, by source lines: from the tables of the runtime (abi.h, struct hd_cover) to JSON.
 * Runs in the supervisor.
 *
 * A line is where operations of the schedule, or accesses to memory that conflict with those of others, were executed.
 * Several places of one line are one; places without a line are told by their function. The tables may have been written
 * over by the tested program: whatever they hold, what comes out is well-formed. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* A place, and the line it turned out to be on. */
struct place {
  uint64_t pc, threads;
  uint32_t op;
  size_t line;
};

struct line {
  struct hd_frame at;
  uint64_t threads;
  bool op[HD_OP_COUNT];
};

struct pair {
  size_t a, b; /* lines, a <= b */
  uint64_t forward, backward;
  uint64_t object;
};

struct cover {
  HD_VEC(struct place) place; /* by pc, each once */
  HD_VEC(struct line) line;
  HD_VEC(struct pair) pair;
  struct hd_frames frames; /* of all places */
};

/* ---- lines ---- */

static int by_pc(const void *a, const void *b) {
  uint64_t x = ((const struct place *)a)->pc, y = ((const struct place *)b)->pc;
  return (x > y) - (x < y);
}

static void gather_places(struct cover *c, const struct hd_cover *t) {
  for (size_t i = 0; i < HD_COVER_PLACES; i++) {
    const struct hd_cover_place *p = &t->place[i];
    if (p->pc && p->op < HD_OP_COUNT) hd_vec_push(&c->place, ((struct place){p->pc, p->threads, p->op, 0}));
  }
}

static void merge_places(struct cover *c) {
  size_t n = 0;
  if (c->place.n) qsort(c->place.v, c->place.n, sizeof *c->place.v, by_pc);
  for (size_t i = 0; i < c->place.n; i++) {
    if (n && c->place.v[n - 1].pc == c->place.v[i].pc)
      c->place.v[n - 1].threads |= c->place.v[i].threads;
    else
      c->place.v[n++] = c->place.v[i];
  }
  c->place.n = n;
}

static int compare_text(const char *a, const char *b) {
  if (!a || !b) return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

/* Without a file every place is a line of its own. */
static int by_source(const void *a, const void *b) {
  const struct hd_frame *x = &((const struct line *)a)->at, *y = &((const struct line *)b)->at;
  int r = compare_text(x->file, y->file);
  if (r) return r;
  if (x->file && x->line != y->line) return x->line < y->line ? -1 : 1;
  if (x->file && x->line) return 0;
  return (x->pc > y->pc) - (x->pc < y->pc);
}

static void find_lines(struct cover *c, struct hd_symbolizer *s) {
  size_t kept = 0;
  for (size_t i = 0; i < c->place.n; i++) {
    struct place *p = &c->place.v[i];
    size_t first = c->frames.n;
    hd_symbolize_pc(s, p->pc, false, &c->frames);
    if (c->frames.n == first) continue; /* the runtime's own */
    struct line l = {.at = c->frames.v[first], .threads = p->threads};
    l.at.pc = p->pc;
    l.op[p->op] = true;
    hd_vec_push(&c->line, l);
    c->place.v[kept++] = *p;
  }
  c->place.n = kept;
  if (!c->line.n) return;
  qsort(c->line.v, c->line.n, sizeof *c->line.v, by_source);
  size_t n = 0;
  for (size_t i = 0; i < c->line.n; i++) {
    struct line *l = &c->line.v[i];
    struct place *p = bsearch(&(struct place){.pc = l->at.pc}, c->place.v, c->place.n, sizeof *p, by_pc);
    struct line *last = n ? &c->line.v[n - 1] : NULL;
    if (last && by_source(last, l) == 0) {
      last->threads |= l->threads;
      for (int k = 0; k < HD_OP_COUNT; k++) last->op[k] |= l->op[k];
    } else {
      c->line.v[n++] = *l;
    }
    p->line = n - 1;
  }
  c->line.n = n;
}

/* ---- pairs ---- */

static void gather_pairs(struct cover *c, const struct hd_cover *t) {
  for (size_t i = 0; i < HD_COVER_PAIRS && c->place.n; i++) {
    const struct hd_cover_pair *p = &t->pair[i];
    if (!p->first || !p->times) continue;
    const struct place *a =
        bsearch(&(struct place){.pc = p->first}, c->place.v, c->place.n, sizeof *a, by_pc);
    const struct place *b =
        bsearch(&(struct place){.pc = p->second}, c->place.v, c->place.n, sizeof *b, by_pc);
    if (!a || !b) continue;
    bool forward = a->line <= b->line;
    hd_vec_push(&c->pair, ((struct pair){forward ? a->line : b->line, forward ? b->line : a->line,
                                         forward ? p->times : 0, forward ? 0 : p->times, p->object}));
  }
}

static int by_lines(const void *a, const void *b) {
  const struct pair *x = a, *y = b;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  if (x->b != y->b) return x->b < y->b ? -1 : 1;
  return (x->object > y->object) - (x->object < y->object);
}

static void merge_pairs(struct cover *c) {
  size_t n = 0;
  if (c->pair.n) qsort(c->pair.v, c->pair.n, sizeof *c->pair.v, by_lines);
  for (size_t i = 0; i < c->pair.n; i++) {
    struct pair *last = n ? &c->pair.v[n - 1] : NULL, *p = &c->pair.v[i];
    if (last && last->a == p->a && last->b == p->b) {
      last->forward += p->forward;
      last->backward += p->backward;
    } else {
      c->pair.v[n++] = *p;
    }
  }
  c->pair.n = n;
}

/* ---- JSON ---- */

static json_t *line_json(const struct line *l) {
  json_t *ops = json_array();
  for (int k = 1; k < HD_OP_COUNT; k++)
    if (l->op[k]) json_array_append_new(ops, json_string(hd_op_text[k]));
  return json_pack("{s:o,s:o,s:o,s:o,s:i,s:b}", "file", hd_json_text(l->at.file), "line",
                   l->at.line > 0 ? json_integer(l->at.line) : json_null(), "function",
                   hd_json_text(l->at.function), "operations", ops, "threads",
                   __builtin_popcountll(l->threads), "first_thread", (int)(l->threads & 1));
}

static json_t *pair_json(const struct pair *p, struct hd_symbolizer *s) {
  char *object = hd_symbolize_object(s, p->object);
  json_t *o = json_pack("{s:I,s:I,s:o,s:I}", "first", (json_int_t)p->a, "second", (json_int_t)p->b, "object",
                        hd_json_text(object), "forward", (json_int_t)p->forward);
  if (p->a != p->b) json_object_set_new(o, "backward", json_integer((json_int_t)p->backward));
  free(object);
  return o;
}

json_t *hd_json_coverage(const struct hd_cover *const *part, size_t n, struct hd_symbolizer *s) {
  struct cover c = {0};
  uint64_t begun = 0, looked_at = 0;
  bool lost = false;
  for (size_t i = 0; i < n; i++) {
    begun += part[i]->begun;
    looked_at += part[i]->looked_at;
    lost |= part[i]->lost != 0;
    gather_places(&c, part[i]);
  }
  merge_places(&c);
  find_lines(&c, s);
  for (size_t i = 0; i < n; i++) gather_pairs(&c, part[i]);
  merge_pairs(&c);
  json_t *lines = json_array(), *pairs = json_array();
  for (size_t i = 0; i < c.line.n; i++) json_array_append_new(lines, line_json(&c.line.v[i]));
  for (size_t i = 0; i < c.pair.n; i++) json_array_append_new(pairs, pair_json(&c.pair.v[i], s));
  hd_vec_free(&c.place);
  hd_vec_free(&c.line);
  hd_vec_free(&c.pair);
  hd_frames_free(&c.frames);
  return json_pack("{s:I,s:I,s:b,s:o,s:o}", "begun", (json_int_t)begun, "looked_at", (json_int_t)looked_at,
                   "overflowed", lost, "lines", lines, "pairs", pairs);
}
