/* static.h: facts about the code of a program, from its bitcode. Runs in the supervisor.
 *
 *   unit      a compiled file; `heddle cc --facts` keeps its bitcode in the object
 *   node      a run of instructions with one source location, in one basic block, with at most one call, at its end
 *   object    what an access is to: names differ only if the objects do
 *   facts     the table of all functions, nodes, edges, calls and accesses, as a file that is mapped (facts.c)
 *
 * Facts belong to one program: the file has the size and the hash of the program that they are of. */
#ifndef HD_STATIC_H
#define HD_STATIC_H

#include "base/base.h"
#include "static/races.h"
#include "static/sink.h"

#define HD_FACT_NONE UINT32_MAX

struct hd_fact_function {
  uint32_t name, file, type; /* strings: offsets */
  uint32_t line;
  uint32_t unit; /* number */
  uint32_t flags;
  uint32_t first, n; /* nodes; the first of them is the entry */
};
struct hd_fact_node {
  uint32_t function;
  uint32_t line, column;
  uint32_t flags;
  uint32_t edge, nedges;
  uint32_t call, ncalls;
  uint32_t access, naccesses;
  uint32_t
      postdominator; /* the nearest node that is on every way to the end of the function; NONE: its end */
};
struct hd_fact_call {
  uint32_t name;     /* string; 0: known by its type only */
  uint32_t type;     /* string */
  uint32_t function; /* NONE: not a function of the program, or known by its type only */
  uint32_t flags;
};
struct hd_fact_touch {
  uint32_t object; /* string: equal objects have equal offsets */
  uint32_t how;    /* enum hd_fact_access */
};

/* The file: this head, then the arrays. */
struct hd_facts {
  uint64_t magic;
  uint32_t version, nunits;
  uint64_t size;                       /* of the file */
  uint64_t program_size, program_hash; /* of the program */
  uint32_t nfunctions, nnodes, nedges, ncalls, naccesses, nstrings;
  uint64_t at_functions, at_nodes, at_edges, at_calls, at_accesses, at_strings;
};

static inline const struct hd_fact_function *hd_facts_functions(const struct hd_facts *f) {
  return (const struct hd_fact_function *)((const char *)f + f->at_functions);
}
static inline const struct hd_fact_node *hd_facts_nodes(const struct hd_facts *f) {
  return (const struct hd_fact_node *)((const char *)f + f->at_nodes);
}
static inline const uint32_t *hd_facts_edges(const struct hd_facts *f) {
  return (const uint32_t *)((const char *)f + f->at_edges);
}
static inline const struct hd_fact_call *hd_facts_calls(const struct hd_facts *f) {
  return (const struct hd_fact_call *)((const char *)f + f->at_calls);
}
static inline const struct hd_fact_touch *hd_facts_accesses(const struct hd_facts *f) {
  return (const struct hd_fact_touch *)((const char *)f + f->at_accesses);
}
static inline const char *hd_facts_string(const struct hd_facts *f, uint32_t at) {
  return (const char *)f + f->at_strings + at;
}

/* ---- making and reading them ---- */

/* The program that facts are of. */
struct hd_fact_program {
  const char *path;
  uint64_t size, hash;
  char *const *library; /* its shared libraries, which may have some, too */
  size_t nlibraries;
};

/* The facts of a program: those of the file PROGRAM.facts if they are of this program, else from its bitcode; then the file
 * is written, if it can be. *out is NULL if the program has no bitcode. `libdir`: where the module is. */
int hd_facts_open(const struct hd_facts **out, const struct hd_fact_program *p, const char *libdir,
                  struct hd_err *err);
/* Those of a file, which must be of this program. */
int hd_facts_load(const struct hd_facts **out, const char *file, const struct hd_fact_program *p,
                  struct hd_err *err);
void hd_facts_close(const struct hd_facts *f);

/* The functions that a call may call, one after the other from *at = 0 on; NONE at the end. */
uint32_t hd_facts_callee(const struct hd_facts *f, const struct hd_fact_call *c, uint32_t *at);

/* What the whole program may do, for pruning by data races (bitcode.c, llvm/races.c). *units = 0: there is no bitcode. */
int hd_races_read(const char *program, const char *libdir, const struct hd_race_sink *sink, size_t *units,
                  struct hd_err *err);

/* ---- distances (distance.c) ---- */

#define HD_FACT_FAR 0x3fffffffu
struct hd_distances {
  uint32_t *to;  /* [node]: to the nearest of the places; owned */
  uint32_t *end; /* [node]: to the end of its function; owned */
};
/* The number of nodes on the shortest way to one of the nodes `place`. A way enters functions that are called and threads
 * that are begun. `any_caller`: it also leaves the function, to whatever calls it. */
void hd_facts_distance(struct hd_distances *d, const struct hd_facts *f, const uint32_t *place, size_t n,
                       bool any_caller);
/* To the ends of functions only. */
void hd_facts_ends(struct hd_distances *d, const struct hd_facts *f);
void hd_distances_fini(struct hd_distances *d);

/* ---- text (show.c) ---- */

/* Everything about the functions of that name. Returns how many there are. */
size_t hd_facts_show(struct hd_str *out, const struct hd_facts *f, const char *name);

/* ---- inside src/static ---- */

/* Builds facts (facts.c). */
struct hd_fact_builder;
struct hd_fact_builder *hd__facts_begin(void);
const struct hd_fact_sink *hd__facts_sink(struct hd_fact_builder *b);
/* The finished table; the caller frees. Ends the builder. */
struct hd_facts *hd__facts_end(struct hd_fact_builder *b, const struct hd_fact_program *p);
/* The bitcode of the units of a program or a library, one by one. Adds their number to *units. */
int hd__bitcode_read(const char *program, const char *libdir, const struct hd_fact_sink *sink, size_t *units,
                     struct hd_err *err);
/* A hash of the bitcode in the file; 0: it has none. */
uint64_t hd__bitcode_hash(const char *file);
/* Fills in the post-dominators of a function's nodes (postdom.c). */
void hd__facts_postdom(const struct hd_fact_function *f, struct hd_fact_node *nodes, const uint32_t *edges);

#endif
