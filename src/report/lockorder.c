/* lockorder.c: locks that threads take in different orders, from the tables of the runtime (abi/cover.h) to text and JSON.
 * Runs in the supervisor.
 *
 * A remark, not a finding: no execution deadlocked there. What did deadlock is left out, since a finding says it better. The
 * tested program may have overwritten the tables: any content gives well-formed output. */
#include "report/report_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static void find_chain(struct hd_place *at, const uint64_t *chain, struct hd_symbolizer *s) {
  for (size_t i = 0; i < HD_LOCK_CHAIN && chain[i]; i++) hd_symbolize_pc(s, chain[i], false, &at->stack);
}

static bool same_line(const struct hd_frame *a, const struct hd_frame *b) {
  return a->line == b->line && strcmp(a->file, b->file) == 0;
}

/* The frames to name. For two calls of one function that locks, these are the callers, which differ. */
static bool tell_apart(const struct hd_place *a, const struct hd_place *b, const struct hd_frame **x,
                       const struct hd_frame **y) {
  *x = hd_place_frame(a);
  *y = hd_place_frame(b);
  if (!*x || !*y) return false;
  const struct hd_frame *ends[2] = {a->stack.v + a->stack.n, b->stack.v + b->stack.n}, *f = *x, *g = *y;
  while (same_line(f, g)) {
    do f++;
    while (f < ends[0] && (hd__is_plumbing(f) || !f->file || !f->line));
    do g++;
    while (g < ends[1] && (hd__is_plumbing(g) || !g->file || !g->line));
    if (f >= ends[0] || g >= ends[1]) return true;
  }
  *x = f;
  *y = g;
  return true;
}

static struct hd_lock_use use_of(const struct hd_frame *f, char *name, bool shared) {
  return (struct hd_lock_use){.name = name,
                              .file = hd_strdup(f->file),
                              .function = f->function ? hd_strdup(f->function) : NULL,
                              .line = f->line,
                              .shared = shared};
}

static void free_order(struct hd_lock_order *o) {
  for (size_t i = 0; i < o->n; i++) {
    struct hd_lock_use *use[] = {&o->step[i].held, &o->step[i].wanted};
    for (size_t k = 0; k < sizeof use / sizeof *use; k++) {
      free(use[k]->name);
      free(use[k]->file);
      free(use[k]->function);
    }
  }
}

/* ---- what is left out ---- */

static bool waits_there(const struct hd_finding *f, const struct hd_frame *at) {
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    const struct hd_frame *frame = p->role == HD_ROLE_WAITS ? hd_place_frame(p) : NULL;
    if (frame && same_line(frame, at)) return true;
  }
  return false;
}

/* Whether that deadlock has a thread that waits at each of the places; innermost ones, as findings name them. */
static bool is_deadlock(const struct hd_finding *f, const struct hd_frame *const *wanted, size_t n) {
  if (f->kind != HD_KIND_DEADLOCK) return false;
  for (size_t i = 0; i < n; i++)
    if (!waits_there(f, wanted[i])) return false;
  return true;
}

static bool same_use(const struct hd_lock_use *a, const struct hd_lock_use *b) {
  return a->line == b->line && strcmp(a->file, b->file) == 0;
}

/* Whether both have the same lines in the same order, wherever they begin. */
static bool same_order(const struct hd_lock_order *a, const struct hd_lock_order *b) {
  for (size_t from = 0; a->n == b->n && from < a->n; from++) {
    size_t i = 0;
    while (i < a->n && same_use(&a->step[i].held, &b->step[(from + i) % a->n].held) &&
           same_use(&a->step[i].wanted, &b->step[(from + i) % a->n].wanted))
      i++;
    if (i == a->n) return true;
  }
  return false;
}

/* ---- from the tables ---- */

static void add(struct hd_lock_orders *out, const struct hd_lock_cycle *c, struct hd_finding *const *finding,
                size_t nfindings, struct hd_symbolizer *s) {
  struct hd_lock_order o = {.apart = c->apart != 0};
  const struct hd_frame *wanted[HD_LOCK_LINKS] = {0};
  struct hd_place place[HD_LOCK_LINKS][2] = {0};
  bool known = c->n >= 2 && c->n <= HD_LOCK_LINKS;
  for (size_t i = 0; known && i < c->n; i++) {
    const struct hd_lock_link *l = &c->link[i];
    const struct hd_frame *x, *y;
    find_chain(&place[i][0], l->held_at, s);
    find_chain(&place[i][1], l->wanted_at, s);
    known = tell_apart(&place[i][0], &place[i][1], &x, &y);
    if (!known) break;
    wanted[i] = hd_place_frame(&place[i][1]);
    o.step[o.n].held = use_of(x, hd_symbolize_object(s, l->held), l->held_shared);
    o.step[o.n++].wanted = use_of(y, hd_symbolize_object(s, l->wanted), l->wanted_shared);
  }
  for (size_t i = 0; known && i < nfindings; i++) known = !is_deadlock(finding[i], wanted, c->n);
  for (size_t i = 0; known && i < out->n; i++)
    if (same_order(&out->v[i], &o)) {
      out->v[i].apart &= o.apart;
      known = false;
    }
  if (known)
    hd_vec_push(out, o);
  else
    free_order(&o);
  for (size_t i = 0; i < HD_LOCK_LINKS; i++)
    for (size_t k = 0; k < 2; k++) hd_frames_free(&place[i][k].stack);
}

void hd_lock_orders_find(struct hd_lock_orders *out, const struct hd_cover *const *part, size_t n,
                         struct hd_finding *const *finding, size_t nfindings, struct hd_symbolizer *s) {
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < part[i]->ncycles && k < HD_LOCK_CYCLES; k++)
      add(out, &part[i]->cycle[k], finding, nfindings, s);
}

void hd_lock_orders_free(struct hd_lock_orders *o) {
  for (size_t i = 0; i < o->n; i++) free_order(&o->v[i]);
  hd_vec_free(o);
}

/* ---- in words ---- */

/* A lock without a name has a number among those of the remark. */
static void add_use(struct hd_str *out, const struct hd_lock_use *u, size_t number) {
  if (u->name)
    hd_str_addf(out, "`%s`", u->name);
  else
    hd_str_addf(out, "lock %zu", number);
  hd_str_addf(out, " (%s%s:%d)", u->shared ? "shared, " : "", u->file, u->line);
}

static char *remark(const struct hd_lock_order *o, bool complete) {
  static const char *const who[HD_LOCK_LINKS] = {"one", "another", "a third", "a fourth"};
  struct hd_str text;
  hd_str_init(&text);
  hd_str_addf(&text, "threads take locks in different orders; %s",
              complete ? "no schedule of this test deadlocks there"
                       : "no schedule that ran deadlocked there");
  if (o->apart) hd_str_add(&text, ", since not all of these threads run at the same time");
  hd_str_addc(&text, '\n');
  for (size_t i = 0; i < o->n; i++) {
    hd_str_addf(&text, "%s takes ", who[i]);
    add_use(&text, &o->step[i].held, i + 1);
    hd_str_add(&text, ", then ");
    add_use(&text, &o->step[i].wanted, (i + 1) % o->n + 1);
    if (i + 1 < o->n) hd_str_addc(&text, '\n');
  }
  return text.s;
}

void hd_text_lock_orders(struct hd_str *out, const struct hd_lock_orders *o, bool complete) {
  for (size_t i = 0; i < o->n; i++) {
    char *text = remark(&o->v[i], complete), *line = text;
    hd_str_add(out, "  remark: ");
    for (size_t n; (n = strcspn(line, "\n")), true; line += n + 1) {
      hd_str_addn(out, line, n);
      hd_str_addc(out, '\n');
      if (!line[n]) break;
      hd_str_add(out, "    ");
    }
    free(text);
  }
}

static json_t *use_json(const struct hd_lock_use *u) {
  return json_pack("{s:o,s:o,s:i,s:o,s:b}", "lock", hd_json_text(u->name), "file", hd_json_text(u->file),
                   "line", u->line, "function", hd_json_text(u->function), "shared", (int)u->shared);
}

json_t *hd_json_lock_orders(const struct hd_lock_orders *o, bool complete) {
  json_t *all = json_array();
  for (size_t i = 0; i < o->n; i++) {
    json_t *threads = json_array();
    for (size_t k = 0; k < o->v[i].n; k++)
      json_array_append_new(threads, json_pack("{s:o,s:o}", "holds", use_json(&o->v[i].step[k].held),
                                               "requests", use_json(&o->v[i].step[k].wanted)));
    char *text = remark(&o->v[i], complete);
    json_array_append_new(all,
                          json_pack("{s:s,s:o,s:b,s:o}", "kind", "lock-order", "text", hd_json_text(text),
                                    "apart", (int)o->v[i].apart, "threads", threads));
    free(text);
  }
  return all;
}
