/* show.c: facts as text. Runs in the supervisor. */
#include "static/static.h"

#include <string.h>

static void add_objects(struct hd_str *out, const struct hd_facts *f, const struct hd_fact_node *n,
                        enum hd_fact_access how, const char *word) {
  const char *sep = word;
  for (uint32_t k = 0; k < n->naccesses; k++) {
    const struct hd_fact_touch *t = &hd_facts_accesses(f)[n->access + k];
    if (t->how != how) continue;
    hd_str_addf(out, "%s%s", sep, hd_facts_string(f, t->object));
    sep = ", ";
  }
}

static void add_calls(struct hd_str *out, const struct hd_facts *f, const struct hd_fact_node *n) {
  for (uint32_t k = 0; k < n->ncalls; k++) {
    const struct hd_fact_call *c = &hd_facts_calls(f)[n->call + k];
    hd_str_addf(out, "; %s", c->flags & HD_FACT_SPAWNS ? "starts " : "calls ");
    if (!(c->flags & HD_FACT_INDIRECT)) {
      hd_str_add(out, hd_facts_string(f, c->name));
      continue;
    }
    uint32_t at = 0, g;
    const char *sep = "one of: ";
    hd_str_addf(out, "a function of type %s", hd_facts_string(f, c->type));
    while ((g = hd_facts_callee(f, c, &at)) != HD_FACT_NONE) {
      hd_str_addf(out, "%s%s", *sep == 'o' ? ", " : "", sep);
      hd_str_add(out, hd_facts_string(f, hd_facts_functions(f)[g].name));
      sep = ", ";
    }
  }
}

/* The branches that decide whether the node is executed: those it follows on one side without being on every way from
 * them. */
static void add_control(struct hd_str *out, const struct hd_facts *f, const struct hd_fact_function *g,
                        uint32_t x) {
  const struct hd_fact_node *nodes = hd_facts_nodes(f);
  const char *sep = "; if: ";
  for (uint32_t b = g->first; b < g->first + g->n; b++) {
    if (!(nodes[b].flags & HD_FACT_BRANCHES)) continue;
    bool controls = false;
    for (uint32_t k = 0; k < nodes[b].nedges && !controls; k++) {
      uint32_t at = hd_facts_edges(f)[nodes[b].edge + k], steps = 0;
      while (at != HD_FACT_NONE && at != nodes[b].postdominator && at != x && steps++ <= g->n)
        at = nodes[at].postdominator;
      controls = at == x && x != nodes[b].postdominator;
    }
    if (!controls) continue;
    hd_str_addf(out, "%s#%u", sep, b - g->first);
    sep = ", ";
  }
}

static void show_function(struct hd_str *out, const struct hd_facts *f, const struct hd_fact_function *g) {
  hd_str_addf(out, "%s, %s:%u%s\n", hd_facts_string(f, g->name), hd_facts_string(f, g->file), g->line,
              g->flags & HD_FACT_ADDRESS ? ", its address is taken" : "");
  for (uint32_t i = g->first; i < g->first + g->n; i++) {
    const struct hd_fact_node *n = &hd_facts_nodes(f)[i];
    struct hd_str to;
    hd_str_init(&to);
    for (uint32_t k = 0; k < n->nedges; k++)
      hd_str_addf(&to, " #%u", hd_facts_edges(f)[n->edge + k] - g->first);
    if (n->flags & HD_FACT_RETURNS) hd_str_add(&to, " end");
    hd_str_addf(out, "  #%-3u %u:%-3u ->%s", i - g->first, n->line, n->column, to.n ? to.s : " nowhere");
    hd_str_fini(&to);
    add_objects(out, f, n, HD_FACT_READ, "; reads ");
    add_objects(out, f, n, HD_FACT_WRITE, "; writes ");
    add_objects(out, f, n, HD_FACT_ACQUIRE, "; locks ");
    add_objects(out, f, n, HD_FACT_RELEASE, "; unlocks ");
    add_objects(out, f, n, HD_FACT_CONDITION, "; depends on ");
    add_calls(out, f, n);
    add_control(out, f, g, i);
    hd_str_addc(out, '\n');
  }
}

size_t hd_facts_show(struct hd_str *out, const struct hd_facts *f, const char *name) {
  size_t n = 0;
  for (uint32_t i = 0; i < f->nfunctions; i++) {
    const struct hd_fact_function *g = &hd_facts_functions(f)[i];
    if (strcmp(hd_facts_string(f, g->name), name) != 0) continue;
    show_function(out, f, g);
    n++;
  }
  return n;
}
