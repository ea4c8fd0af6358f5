/* cover.c: the coverage of a search by source lines: from the tables of the runtime (abi.h, struct hd_cover) to JSON.
 * Runs in the supervisor.
 *
 * A line is listed when it executed operations of the schedule, or memory accesses that conflict with those of other
 * threads. Places on one line are merged; places without a line are identified by their function; code of a system
 * header is attributed to the line that called it. The tested program may have overwritten the tables: the output is
 * well-formed for any content. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* A program counter and its location. */
struct spot {
  uint64_t pc;
  size_t frame;    /* of `frames`, plus 1; 0: the runtime's own */
  bool in_library; /* in a header of the system, compiled with the program */
};

/* A place and its line. */
struct place {
  size_t part, entry;
  size_t line;
};

struct line {
  struct hd_frame at;
  size_t place; /* while they are sorted */
  uint64_t threads;
  bool op[HD_OP_COUNT];
};

struct pair {
  size_t a, b; /* lines, a <= b */
  uint64_t forward, backward;
  uint64_t object;
};

struct cover {
  const struct hd_cover *const *part;
  HD_VEC(struct spot) spot;   /* by pc, each once */
  HD_VEC(struct place) place; /* by part and entry */
  HD_VEC(struct line) line;
  HD_VEC(struct pair) pair;
  struct hd_frames frames; /* of all places */
};

static bool is_place(const struct hd_cover_place *p) { return p->pc && p->op < HD_OP_COUNT; }

static size_t places_of(const struct hd_cover *t) {
  return t->nplaces < HD_COVER_PLACES ? t->nplaces : HD_COVER_PLACES;
}

static size_t pairs_of(const struct hd_cover *t) {
  return t->npairs < HD_COVER_PAIRS ? t->npairs : HD_COVER_PAIRS;
}

/* ---- program counters ---- */

static int by_pc(const void *a, const void *b) {
  uint64_t x = ((const struct spot *)a)->pc, y = ((const struct spot *)b)->pc;
  return (x > y) - (x < y);
}

static void gather_spots(struct cover *c, const struct hd_cover *t) {
  for (size_t i = 0, n = places_of(t); i < n; i++) {
    const struct hd_cover_place *p = &t->place[i];
    if (!is_place(p)) continue;
    hd_vec_push(&c->spot, ((struct spot){.pc = p->pc}));
    for (size_t k = 0; k < HD_COVER_CALLERS && p->caller[k]; k++)
      hd_vec_push(&c->spot, ((struct spot){.pc = p->caller[k]}));
  }
}

/* Looks up each program counter once. */
static void find_spots(struct cover *c, struct hd_symbolizer *s) {
  size_t n = 0;
  if (c->spot.n) qsort(c->spot.v, c->spot.n, sizeof *c->spot.v, by_pc);
  for (size_t i = 0; i < c->spot.n; i++)
    if (!n || c->spot.v[n - 1].pc != c->spot.v[i].pc) c->spot.v[n++] = c->spot.v[i];
  c->spot.n = n;
  for (size_t i = 0; i < n; i++) {
    struct spot *spot = &c->spot.v[i];
    size_t first = c->frames.n;
    hd_symbolize_pc(s, spot->pc, false, &c->frames);
    if (c->frames.n == first) continue;
    const char *path = c->frames.v[first].path;
    spot->frame = first + 1;
    spot->in_library = path && strncmp(path, "/usr/", 5) == 0;
  }
}

/* The frame to attribute the place to: the first one outside system headers, as far as callers are known. */
static const struct hd_frame *user_frame(const struct cover *c, const struct hd_cover_place *p) {
  const struct hd_frame *inner = NULL;
  for (size_t k = 0; k <= HD_COVER_CALLERS; k++) {
    struct spot key = {.pc = k ? p->caller[k - 1] : p->pc};
    const struct spot *s = key.pc ? bsearch(&key, c->spot.v, c->spot.n, sizeof *s, by_pc) : NULL;
    if (!s) break;
    if (!s->frame) continue;
    const struct hd_frame *f = &c->frames.v[s->frame - 1];
    if (!inner) inner = f;
    if (!s->in_library) return f->file ? f : inner;
  }
  return inner;
}

/* ---- lines ---- */

static void gather_places(struct cover *c, size_t part) {
  for (size_t i = 0, n = places_of(c->part[part]); i < n; i++) {
    const struct hd_cover_place *p = &c->part[part]->place[i];
    const struct hd_frame *f = is_place(p) ? user_frame(c, p) : NULL;
    if (!f) continue;
    struct line l = {.at = *f, .threads = p->threads, .place = c->place.n};
    l.op[p->op] = true;
    hd_vec_push(&c->line, l);
    hd_vec_push(&c->place, ((struct place){part, i, 0}));
  }
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

static void merge_lines(struct cover *c) {
  size_t n = 0;
  if (c->line.n) qsort(c->line.v, c->line.n, sizeof *c->line.v, by_source);
  for (size_t i = 0; i < c->line.n; i++) {
    struct line *l = &c->line.v[i], *last = n ? &c->line.v[n - 1] : NULL;
    size_t place = l->place;
    if (last && by_source(last, l) == 0) {
      last->threads |= l->threads;
      for (int k = 0; k < HD_OP_COUNT; k++) last->op[k] |= l->op[k];
    } else {
      c->line.v[n++] = *l;
    }
    c->place.v[place].line = n - 1;
  }
  c->line.n = n;
}

/* ---- pairs ---- */

static int by_entry(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  return (x->entry > y->entry) - (x->entry < y->entry);
}

static const struct place *find_place(const struct cover *c, size_t part, uint32_t entry) {
  struct place key = {.part = part, .entry = entry - 1u};
  return entry && c->place.n ? bsearch(&key, c->place.v, c->place.n, sizeof key, by_entry) : NULL;
}

static void gather_pairs(struct cover *c, size_t part) {
  for (size_t i = 0, n = pairs_of(c->part[part]); i < n; i++) {
    const struct hd_cover_pair *p = &c->part[part]->pair[i];
    if (!p->first || !p->times) continue;
    const struct place *a = find_place(c, part, p->first), *b = find_place(c, part, p->second);
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
    if (l->op[k]) json_array_append_new(ops, json_string(hd_op_text(k)));
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
  struct cover c = {.part = part};
  uint64_t begun = 0, looked_at = 0;
  bool lost = false;
  for (size_t i = 0; i < n; i++) {
    begun += part[i]->begun;
    looked_at += part[i]->looked_at;
    lost |= part[i]->lost != 0;
    gather_spots(&c, part[i]);
  }
  find_spots(&c, s);
  for (size_t i = 0; i < n; i++) gather_places(&c, i);
  merge_lines(&c);
  for (size_t i = 0; i < n; i++) gather_pairs(&c, i);
  merge_pairs(&c);
  json_t *lines = json_array(), *pairs = json_array();
  for (size_t i = 0; i < c.line.n; i++) json_array_append_new(lines, line_json(&c.line.v[i]));
  for (size_t i = 0; i < c.pair.n; i++) json_array_append_new(pairs, pair_json(&c.pair.v[i], s));
  hd_vec_free(&c.spot);
  hd_vec_free(&c.place);
  hd_vec_free(&c.line);
  hd_vec_free(&c.pair);
  hd_frames_free(&c.frames);
  return json_pack("{s:I,s:I,s:b,s:o,s:o}", "begun", (json_int_t)begun, "looked_at", (json_int_t)looked_at,
                   "overflowed", lost, "lines", lines, "pairs", pairs);
}
