/* branches.c: which outcomes of branches a search of inputs has covered. Runs in the supervisor. */
#include "report/report_int.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTED 12

static int compare(const void *a, const void *b) {
  const struct hd_branch_outcome *x = a, *y = b;
  int c = strcmp(x->file ? x->file : "", y->file ? y->file : "");
  if (!c) c = x->line - y->line;
  if (!c) c = (x->site > y->site) - (x->site < y->site);
  return c ? c : x->taken - y->taken;
}

void hd_branches_locate(struct hd_branches *b, struct hd_symbolizer *s) {
  for (size_t i = 0; i < b->n; i++) {
    struct hd_frames f = {0};
    hd_symbolize_pc(s, b->v[i].site, false, &f);
    if (f.n && f.v[0].file) b->v[i].file = hd_strdup(f.v[0].file);
    if (f.n && f.v[0].function) b->v[i].function = hd_strdup(f.v[0].function);
    if (f.n) b->v[i].line = f.v[0].line;
    hd_frames_free(&f);
  }
  if (b->n) qsort(b->v, b->n, sizeof *b->v, compare);
}

void hd_branches_free(struct hd_branches *b) {
  for (size_t i = 0; i < b->n; i++) {
    free(b->v[i].file);
    free(b->v[i].function);
  }
  free(b->v);
  *b = (struct hd_branches){0};
}

static void add_degrees(struct hd_str *out, const struct hd_branches *b) {
  int top = -1;
  for (size_t i = 0; i < b->n; i++)
    if (b->v[i].covered && b->v[i].degree > top) top = b->v[i].degree;
  for (int k = 0; k <= top; k++) {
    unsigned here = 0;
    for (size_t i = 0; i < b->n; i++) here += b->v[i].covered && b->v[i].degree == k;
    hd_str_addf(out, "%s%u with %d%s", k ? ", " : ": ", here, k, k ? "" : " interferences");
  }
}

static const char *const way_text[HD_WAYS] = {[HD_WAY_ALONE] = "threads alone",
                                              [HD_WAY_REORDERED] = "another order",
                                              [HD_WAY_COMBINED] = "several executions"};

static void add_ways(struct hd_str *out, const struct hd_branches *b) {
  const char *separator = ": ";
  for (int way = HD_WAY_UNKNOWN + 1; way < HD_WAYS; way++) {
    unsigned here = 0;
    for (size_t i = 0; i < b->n; i++) here += (int)b->v[i].way == way;
    if (!here) continue;
    hd_str_addf(out, "%s%u by %s", separator, here, way_text[way]);
    separator = ", ";
  }
}

/* How many are covered, and how. */
static void add_covered(struct hd_str *out, const struct hd_branches *b) {
  unsigned covered = 0;
  for (size_t i = 0; i < b->n; i++) covered += b->v[i].covered;
  hd_str_addf(out, "%u of %zu outcomes covered", covered, b->n);
  add_degrees(out, b);
  add_ways(out, b);
  hd_str_add(out, "\n");
}

/* The same for the branches of each thread that was the first one to execute them, if there are several. */
static void add_threads(struct hd_str *out, const struct hd_branches *b) {
  int last = -1, first = INT_MAX;
  for (size_t i = 0; i < b->n; i++) {
    if (b->v[i].thread > last) last = b->v[i].thread;
    if (b->v[i].thread >= 0 && b->v[i].thread < first) first = b->v[i].thread;
  }
  for (int t = first; first < last && t <= last; t++) {
    struct hd_branches own = {0};
    for (size_t i = 0; i < b->n; i++)
      if (b->v[i].thread == t) hd_vec_push(&own, b->v[i]);
    if (own.n) {
      hd_str_addf(out, "  thread %d: ", t);
      add_covered(out, &own);
    }
    hd_vec_free(&own);
  }
}

void hd_branches_text(struct hd_str *out, const struct hd_branches *b, const char *what) {
  unsigned missing = 0;
  if (!b->n) return;
  hd_str_addf(out, "branches that depend on %s: ", what);
  add_covered(out, b);
  add_threads(out, b);
  for (size_t i = 0; i < b->n; i++) {
    const struct hd_branch_outcome *o = &b->v[i];
    if (o->covered || missing++ >= MAX_LISTED) continue;
    hd_str_addf(out, "  %s:%d: %s not covered: %s\n", o->file ? o->file : "?", o->line,
                o->is_case ? "a case of a switch, or that it is none," : "one outcome of a condition",
                o->why);
  }
  if (missing > MAX_LISTED) hd_str_addf(out, "  and %u more\n", missing - MAX_LISTED);
}

void hd_concrete_text(struct hd_str *out, const struct hd_branches *b) {
  if (b->n) hd_str_add(out, "values of inputs that were not followed any further:\n");
  for (size_t i = 0; i < b->n && i < MAX_LISTED; i++)
    hd_str_addf(out, "  %s:%d: %s\n", b->v[i].file ? b->v[i].file : "?", b->v[i].line, b->v[i].why);
  if (b->n > MAX_LISTED) hd_str_addf(out, "  and %zu more\n", b->n - MAX_LISTED);
}

json_t *hd_json_concrete(const struct hd_branches *b) {
  json_t *all = json_array();
  for (size_t i = 0; i < b->n; i++)
    json_array_append_new(all, json_pack("{s:o,s:i,s:o,s:o}", "file", hd_json_text(b->v[i].file), "line",
                                         b->v[i].line, "function", hd_json_text(b->v[i].function), "reason",
                                         hd_json_text(b->v[i].why)));
  return all;
}

json_t *hd_json_branches(const struct hd_branches *b) {
  json_t *all = json_array();
  for (size_t i = 0; i < b->n; i++) {
    const struct hd_branch_outcome *o = &b->v[i];
    json_t *one =
        json_pack("{s:o,s:i,s:o,s:b,s:b}", "file", hd_json_text(o->file), "line", o->line, "function",
                  hd_json_text(o->function), "outcome", o->taken, "covered", o->covered);
    if (o->is_case) json_object_set_new(one, "case", json_true());
    if (o->thread >= 0) json_object_set_new(one, "thread", json_integer(o->thread));
    if (o->covered && o->degree >= 0) json_object_set_new(one, "interferences", json_integer(o->degree));
    if (way_text[o->way]) json_object_set_new(one, "by", json_string(way_text[o->way]));
    if (!o->covered) json_object_set_new(one, "reason", hd_json_text(o->why));
    json_array_append_new(all, one);
  }
  return all;
}

static bool same_file(const struct hd_branch_outcome *a, const struct hd_branch_outcome *b) {
  return a->file && b->file && strcmp(a->file, b->file) == 0;
}

/* One file's part of the tracefile. */
static void add_file(struct hd_str *out, const struct hd_branch_outcome *v, size_t n, const char *cwd) {
  unsigned block = 0, hit = 0, lines = 0, hit_lines = 0;
  hd_str_addf(out, "SF:%s%s%s\n", v->file[0] == '/' ? "" : cwd, v->file[0] == '/' ? "" : "/", v->file);
  for (size_t i = 0; i < n; i++) {
    if (i && v[i].line != v[i - 1].line)
      block = 0;
    else if (i && v[i].site != v[i - 1].site)
      block++;
    hd_str_addf(out, "BRDA:%d,%u,%d,%d\n", v[i].line, block, v[i].taken ? 0 : 1, v[i].covered);
    hit += v[i].covered;
  }
  hd_str_addf(out, "BRF:%zu\nBRH:%u\n", n, hit);
  for (size_t i = 0, k; i < n; i = k) {
    bool reached = false;
    for (k = i; k < n && v[k].line == v[i].line; k++) reached |= v[k].covered;
    hd_str_addf(out, "DA:%d,%d\n", v[i].line, reached);
    lines++;
    hit_lines += reached;
  }
  hd_str_addf(out, "LF:%u\nLH:%u\nend_of_record\n", lines, hit_lines);
}

void hd_branches_lcov(struct hd_str *out, const struct hd_branches *b, const char *cwd) {
  hd_str_add(out, "TN:heddle\n");
  for (size_t i = 0, k; b && i < b->n; i = k) {
    for (k = i + 1; k < b->n && same_file(&b->v[i], &b->v[k]); k++) {}
    if (b->v[i].file && b->v[i].line) add_file(out, b->v + i, k - i, cwd);
  }
}
