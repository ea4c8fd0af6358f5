/* aim_plan.c: what guides a search to its lines, from facts about the code. Runs in the supervisor.
 *
 * Facts have nodes, the process has addresses. The debug information of the program has the line and column of every
 * address, and the functions that were inlined there: that names a node in each of them. So a range of code is a chain of
 * nodes, innermost first, of which each but the first is a call.
 *
 * A branch matters to a line if one of its sides leads there and another one leads away from it. What its condition depends
 * on can be changed by the nodes that write an object of the same name: the definitions (Rungta 2009, sections 2.4 and
 * 2.6). */
#include "session/aim_plan.h"
#include "static/static.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS HD_AIM_COLUMNS
#define MAX_BRANCHES 256

/* ---- from addresses to nodes ---- */

/* Functions by name. */
struct index {
  const struct hd_facts *f;
  uint32_t *by_name; /* function numbers, sorted by name */
};

static const struct hd_facts *sorted; /* for by_name, which qsort calls */
static int by_name(const void *a, const void *b) {
  const struct hd_fact_function *x = &hd_facts_functions(sorted)[*(const uint32_t *)a],
                                *y = &hd_facts_functions(sorted)[*(const uint32_t *)b];
  return strcmp(hd_facts_string(sorted, x->name), hd_facts_string(sorted, y->name));
}

static void index_init(struct index *x, const struct hd_facts *f) {
  x->f = sorted = f;
  x->by_name = hd_alloc((f->nfunctions + 1) * sizeof *x->by_name);
  for (uint32_t i = 0; i < f->nfunctions; i++) x->by_name[i] = i;
  qsort(x->by_name, f->nfunctions, sizeof *x->by_name, by_name);
}

/* The node of the function at that line and column, else the first one at the line, else the last one before it. */
static uint32_t node_in(const struct hd_facts *f, const struct hd_fact_function *g, int line, int column) {
  const struct hd_fact_node *nodes = hd_facts_nodes(f);
  uint32_t same = HD_FACT_NONE, before = HD_FACT_NONE;
  for (uint32_t i = g->first; i < g->first + g->n; i++) {
    if ((int)nodes[i].line == line && (int)nodes[i].column == column) return i;
    if ((int)nodes[i].line == line && same == HD_FACT_NONE) same = i;
    if ((int)nodes[i].line <= line && (before == HD_FACT_NONE || nodes[i].line > nodes[before].line))
      before = i;
  }
  return same != HD_FACT_NONE ? same : before;
}

/* Of several functions of the name, the one that has the line. */
static uint32_t node_at(const struct index *x, const char *function, int line, int column) {
  const struct hd_facts *f = x->f;
  uint32_t lo = 0, hi = f->nfunctions, found = HD_FACT_NONE;
  if (!function) return found;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    const struct hd_fact_function *g = &hd_facts_functions(f)[x->by_name[mid]];
    if (strcmp(hd_facts_string(f, g->name), function) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < f->nfunctions; lo++) {
    const struct hd_fact_function *g = &hd_facts_functions(f)[x->by_name[lo]];
    if (strcmp(hd_facts_string(f, g->name), function) != 0) break;
    uint32_t n = node_in(f, g, line, column);
    if (n == HD_FACT_NONE) continue;
    bool exact = (int)hd_facts_nodes(f)[n].line == line;
    if (found == HD_FACT_NONE || exact) found = n;
    if (exact) break;
  }
  return found;
}

/* ---- columns ---- */

struct column {
  uint32_t *node; /* places; owned */
  size_t n;
};

/* Whether two paths are those of one file: one of them may lack the folder. */
static bool same_file(const char *path, const char *given) {
  char *b = hd_places_clean(NULL, given);
  size_t n = strlen(path), k = strlen(b);
  bool same = n >= k && strcmp(path + n - k, b) == 0 && (n == k || path[n - k - 1] == '/');
  free(b);
  return same;
}

/* The nodes of a line. `fatal`: those that do not return, as the failure of an assertion, if there are any. */
static void line_column(struct column *c, const struct hd_facts *f, const struct hd_aim_line *l,
                        const uint32_t *end, bool fatal) {
  HD_VEC(uint32_t) v = {0};
  for (uint32_t i = 0; i < f->nfunctions; i++) {
    const struct hd_fact_function *g = &hd_facts_functions(f)[i];
    if (!same_file(l->path, hd_facts_string(f, g->file))) continue;
    for (uint32_t k = g->first; k < g->first + g->n; k++)
      if ((int)hd_facts_nodes(f)[k].line == l->line) hd_vec_push(&v, k);
  }
  size_t last = 0;
  for (size_t i = 0; fatal && i < v.n; i++)
    if (end[v.v[i]] >= HD_FACT_FAR) v.v[last++] = v.v[i];
  if (last) v.n = last;
  *c = (struct column){v.v, v.n};
}

/* ---- branches ---- */

struct making {
  const struct hd_facts *f;
  bool *spawned; /* [function]: some thread that is not the first may call it; owned */
  struct column column[MAX_COLUMNS];
  size_t ncolumns;
  HD_VEC(struct hd_aim_branch) branch;
  HD_VEC(uint32_t) definition;
};

/* The column of a definition; HD_FACT_NONE: there are too many. */
static uint32_t definition_column(struct making *m, size_t naims, uint32_t node) {
  for (size_t i = naims; i < m->ncolumns; i++)
    if (m->column[i].node[0] == node) return (uint32_t)i;
  if (m->ncolumns == MAX_COLUMNS) return HD_FACT_NONE;
  uint32_t *v = hd_alloc(sizeof *v);
  *v = node;
  m->column[m->ncolumns] = (struct column){v, 1};
  return (uint32_t)m->ncolumns++;
}

/* The functions that begin threads, and those they call. */
static void find_spawned(struct making *m) {
  const struct hd_facts *f = m->f;
  m->spawned = hd_alloc(f->nfunctions + 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < f->nnodes; i++) {
      const struct hd_fact_node *n = &hd_facts_nodes(f)[i];
      for (uint32_t k = 0; k < n->ncalls; k++) {
        const struct hd_fact_call *c = &hd_facts_calls(f)[n->call + k];
        uint32_t at = 0, g;
        if (!m->spawned[n->function] && !(c->flags & HD_FACT_SPAWNS)) continue;
        while ((g = hd_facts_callee(f, c, &at)) != HD_FACT_NONE)
          if (!m->spawned[g]) m->spawned[g] = changed = true;
      }
    }
  }
}

static bool writes(const struct hd_facts *f, const struct hd_fact_node *n, uint32_t object) {
  for (uint32_t k = 0; k < n->naccesses; k++) {
    const struct hd_fact_touch *t = &hd_facts_accesses(f)[n->access + k];
    if (t->how == HD_FACT_WRITE && t->object == object) return true;
  }
  return false;
}

typedef HD_VEC(uint32_t) objects;

static void collect(const struct making *m, const struct hd_fact_node *n, enum hd_fact_access how,
                    objects *out);

/* What "name()" stands for: what the functions of that name return depends on it. */
static void collect_result(const struct making *m, const char *object, objects *out) {
  size_t len = strlen(object);
  if (len < 3 || strcmp(object + len - 2, "()") != 0) return;
  for (uint32_t i = 0; i < m->f->nfunctions; i++) {
    const struct hd_fact_function *g = &hd_facts_functions(m->f)[i];
    const char *name = hd_facts_string(m->f, g->name);
    if (strlen(name) != len - 2 || strncmp(name, object, len - 2) != 0) continue;
    for (uint32_t k = g->first; k < g->first + g->n; k++)
      if (hd_facts_nodes(m->f)[k].flags & HD_FACT_RETURNS)
        collect(m, &hd_facts_nodes(m->f)[k], HD_FACT_RESULT, out);
  }
}

/* The objects that the node depends on. */
static void collect(const struct making *m, const struct hd_fact_node *n, enum hd_fact_access how,
                    objects *out) {
  for (uint32_t k = 0; k < n->naccesses; k++) {
    const struct hd_fact_touch *t = &hd_facts_accesses(m->f)[n->access + k];
    bool known = t->how != how;
    for (size_t i = 0; i < out->n && !known; i++) known = out->v[i] == t->object;
    if (known) continue;
    hd_vec_push(out, t->object);
    collect_result(m, hd_facts_string(m->f, t->object), out);
  }
}

static void add_branch(struct making *m, size_t naims, uint32_t aim, uint32_t b, uint32_t distance) {
  const struct hd_fact_node *n = &hd_facts_nodes(m->f)[b];
  struct hd_aim_branch out = {aim, distance, (uint32_t)m->definition.n, 0};
  objects on = {0};
  collect(m, n, HD_FACT_CONDITION, &on);
  for (size_t k = 0; k < on.n; k++)
    for (uint32_t i = 0; i < m->f->nnodes; i++) {
      const struct hd_fact_node *w = &hd_facts_nodes(m->f)[i];
      /* What the first thread alone does does not depend on when other threads go. */
      if (!writes(m->f, w, on.v[k]) || (!m->spawned[n->function] && !m->spawned[w->function])) continue;
      uint32_t c = definition_column(m, naims, i);
      bool known = c == HD_FACT_NONE;
      for (size_t d = out.first; d < m->definition.n && !known; d++) known = m->definition.v[d] == c;
      if (!known) hd_vec_push(&m->definition, c);
    }
  hd_vec_free(&on);
  out.n = (uint32_t)(m->definition.n - out.first);
  if (out.n) hd_vec_push(&m->branch, out);
}

struct critical {
  uint32_t node, distance;
};
static int nearer(const void *a, const void *b) {
  const struct critical *x = a, *y = b;
  return (x->distance > y->distance) - (x->distance < y->distance);
}

/* The branches that matter to a line, the nearest first. */
static void add_branches(struct making *m, size_t naims, uint32_t aim, const uint32_t *to) {
  HD_VEC(struct critical) v = {0};
  for (uint32_t b = 0; b < m->f->nnodes; b++) {
    const struct hd_fact_node *n = &hd_facts_nodes(m->f)[b];
    if (!(n->flags & HD_FACT_BRANCHES) || to[b] >= HD_FACT_FAR) continue;
    bool away = false;
    for (uint32_t k = 0; k < n->nedges; k++) away |= to[hd_facts_edges(m->f)[n->edge + k]] >= to[b];
    if (away) hd_vec_push(&v, ((struct critical){b, to[b]}));
  }
  if (v.n) qsort(v.v, v.n, sizeof *v.v, nearer);
  for (size_t i = 0; i < v.n && m->branch.n < MAX_BRANCHES; i++)
    add_branch(m, naims, aim, v.v[i].node, v.v[i].distance);
  hd_vec_free(&v);
}

/* ---- the plan ---- */

/* The chain of nodes at an address. */
static size_t chain_at(const struct index *x, struct hd_places *places, const struct hd_place_row *r,
                       uint32_t out[HD_PLACE_SCOPES]) {
  struct hd_place_scope scope[HD_PLACE_SCOPES];
  size_t n = r->file ? hd_places_scopes(places, r->code, scope) : 0, k = 0;
  for (size_t i = 0; i < n; i++) {
    int line = i ? scope[i].line : r->line, column = i ? scope[i].column : r->column;
    uint32_t node = node_at(x, scope[i].function, line, column);
    if (node == HD_FACT_NONE) return 0;
    out[k++] = node;
  }
  return k;
}

static void fill_rows(struct hd_plan *p, const struct index *x, struct hd_places *places,
                      const struct hd_distances *d, const uint32_t *end) {
  size_t n;
  const struct hd_place_row *row = hd_places_rows(places, &n);
  p->row = hd_alloc((n + 1) * sizeof *p->row);
  p->end = hd_alloc((n + 1) * sizeof *p->end);
  p->distance = hd_alloc((n + 1) * p->ncolumns * sizeof *p->distance);
  for (size_t i = 0; i < n; i++) {
    if (i + 1 < n && row[i + 1].code == row[i].code) continue;
    uint32_t chain[HD_PLACE_SCOPES], *to = p->distance + p->nrows * p->ncolumns, way = 0;
    size_t length = chain_at(x, places, &row[i], chain);
    for (size_t c = 0; c < p->ncolumns; c++) to[c] = HD_AIM_FAR;
    for (size_t k = 0; k < length && way < HD_AIM_FAR; k++) {
      for (size_t c = 0; c < p->ncolumns; c++) {
        uint32_t there = d[c].to[chain[k]];
        if (there < HD_FACT_FAR && way + there < to[c]) to[c] = way + there;
      }
      way = end ? way + end[chain[k]] : HD_AIM_FAR;
    }
    p->row[p->nrows] = row[i].code;
    p->end[p->nrows++] = !length ? 0 : way < HD_AIM_FAR ? way : HD_AIM_FAR;
  }
}

static void make(struct hd_plan *p, const struct hd_aim_config *c, const struct hd_goal *g,
                 struct hd_places *places, const struct hd_facts *f) {
  struct making m = {.f = f};
  struct index x;
  struct hd_distances end = {0}, d[MAX_COLUMNS] = {{0}};
  index_init(&x, f);
  hd_facts_ends(&end, f);
  find_spawned(&m);
  for (size_t i = 0; i < g->n; i++)
    line_column(&m.column[m.ncolumns++], f, &g->line[i], end.end, g->failure && i + 1 == g->n);
  for (size_t i = 0; i < g->n; i++) {
    d[i].end = end.end;
    hd_facts_distance(&d[i], f, m.column[i].node, m.column[i].n, c->fsm);
    add_branches(&m, g->n, (uint32_t)i, d[i].to);
  }
  for (size_t i = g->n; i < m.ncolumns;
       i++) { /* definitions are behind branches, too: there may be more of them */
    d[i].end = end.end;
    hd_facts_distance(&d[i], f, m.column[i].node, m.column[i].n, c->fsm);
    add_branches(&m, g->n, (uint32_t)i, d[i].to);
  }
  p->ncolumns = m.ncolumns;
  fill_rows(p, &x, places, d, c->fsm ? NULL : end.end);
  p->branch = m.branch.v;
  p->nbranches = m.branch.n;
  p->definition = m.definition.v;
  p->ndefinitions = m.definition.n;
  for (size_t i = 0; i < m.ncolumns; i++) {
    free(m.column[i].node);
    free(d[i].to);
  }
  hd_distances_fini(&end);
  free(m.spawned);
  free(x.by_name);
}

/* Whether there are facts about the code of a line: a library may have none. */
static bool knows(const struct hd_facts *f, const struct hd_goal *g) {
  for (size_t i = 0; i < g->n; i++)
    for (uint32_t k = 0; k < f->nfunctions; k++)
      if (same_file(g->line[i].path, hd_facts_string(f, hd_facts_functions(f)[k].file))) return true;
  return false;
}

int hd_plan_make(struct hd_plan *p, const struct hd_aim_config *c, const struct hd_goal *g,
                 struct hd_places *places, struct hd_err *err) {
  *p = (struct hd_plan){0};
  if (c->no_facts) return HD_OK;
  struct hd_fact_program program = {c->program->path, c->program->size, c->program->hash, c->library,
                                    c->nlibraries};
  const struct hd_facts *f = NULL;
  int rc = hd_facts_open(&f, &program, hd_libdir(), err);
  if (rc == HD_OK && f && knows(f, g)) make(p, c, g, places, f);
  hd_facts_close(f);
  return rc;
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
