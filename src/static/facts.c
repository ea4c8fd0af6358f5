/* facts.c: the table of facts: building it, and its file. Runs in the supervisor.
 *
 * The table is one block of memory without pointers, so that the file is mapped and used as it is. A file is used only if
 * it is of this program and every number in it is in range. */
#include "static/static.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x7374636166646548ull /* "Hedfacts" */
#define VERSION 1

/* ---- building ---- */

struct pair {
  uint32_t node, what;
};
struct call_of {
  uint32_t node;
  struct hd_fact_call call;
};
struct access_of {
  uint32_t node;
  struct hd_fact_touch touch;
};

struct hd_fact_builder {
  struct hd_fact_sink sink;
  uint32_t units;
  HD_VEC(struct hd_fact_function) function;
  HD_VEC(struct hd_fact_node) node;
  HD_VEC(struct pair) edge;
  HD_VEC(struct call_of) call;
  HD_VEC(struct access_of) access;
  struct hd_str string;
  uint32_t *table; /* of strings: offset plus 1 */
  size_t slots, nstrings;
};

static uint64_t hash_of(const char *s) {
  uint64_t h = 1469598103934665603ull;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211ull;
  return h ^ h >> 29;
}

static uint32_t *slot_of(struct hd_fact_builder *b, const char *s) {
  size_t i = hash_of(s) & (b->slots - 1);
  while (b->table[i] && strcmp(b->string.s + b->table[i] - 1, s) != 0) i = (i + 1) & (b->slots - 1);
  return &b->table[i];
}

static uint32_t intern(struct hd_fact_builder *b, const char *s) {
  if (!s) return 0;
  if (2 * b->nstrings >= b->slots) {
    free(b->table);
    b->slots = b->slots ? 2 * b->slots : 1024;
    b->table = hd_alloc(b->slots * sizeof *b->table);
    for (size_t at = 1; at < b->string.n; at += strlen(b->string.s + at) + 1)
      *slot_of(b, b->string.s + at) = (uint32_t)at + 1;
  }
  uint32_t *slot = slot_of(b, s);
  if (!*slot) {
    *slot = (uint32_t)b->string.n + 1;
    hd_str_addn(&b->string, s, strlen(s) + 1);
    b->nstrings++;
  }
  return *slot - 1;
}

static void on_unit(void *arg, const char *name) {
  struct hd_fact_builder *b = arg;
  (void)name;
  b->units++;
}

static void on_function(void *arg, const char *name, const char *file, unsigned line, const char *type,
                        unsigned flags) {
  struct hd_fact_builder *b = arg;
  struct hd_fact_function f = {intern(b, name), intern(b, file), intern(b, type),     line,
                               b->units - 1,    flags,           (uint32_t)b->node.n, 0};
  hd_vec_push(&b->function, f);
}

static uint32_t on_node(void *arg, unsigned line, unsigned column) {
  struct hd_fact_builder *b = arg;
  uint32_t function = (uint32_t)b->function.n - 1;
  struct hd_fact_node n = {
      .function = function, .line = line, .column = column, .postdominator = HD_FACT_NONE};
  hd_vec_push(&b->node, n);
  b->function.v[function].n++;
  return (uint32_t)b->node.n - 1;
}

static void on_flags(void *arg, uint32_t node, unsigned flags) {
  struct hd_fact_builder *b = arg;
  b->node.v[node].flags |= flags;
}

static void on_edge(void *arg, uint32_t from, uint32_t to) {
  struct hd_fact_builder *b = arg;
  hd_vec_push(&b->edge, ((struct pair){from, to}));
}

static void on_call(void *arg, uint32_t node, const char *name, const char *type, unsigned flags) {
  struct hd_fact_builder *b = arg;
  struct hd_fact_call c = {intern(b, name), intern(b, type), HD_FACT_NONE, flags};
  hd_vec_push(&b->call, ((struct call_of){node, c}));
}

static void on_access(void *arg, uint32_t node, const char *object, enum hd_fact_access how) {
  struct hd_fact_builder *b = arg;
  struct hd_fact_touch t = {intern(b, object), how};
  hd_vec_push(&b->access, ((struct access_of){node, t}));
}

struct hd_fact_builder *hd__facts_begin(void) {
  struct hd_fact_builder *b = hd_alloc(sizeof *b);
  hd_str_init(&b->string);
  hd_str_addn(&b->string, "", 1); /* 0 is no string */
  b->sink = (struct hd_fact_sink){b, on_unit, on_function, on_node, on_flags, on_edge, on_call, on_access};
  return b;
}

const struct hd_fact_sink *hd__facts_sink(struct hd_fact_builder *b) { return &b->sink; }

/* Functions by name, for calls: one of the same unit comes first. */
struct named {
  uint32_t name, unit, function;
  bool internal;
};
static int by_name(const void *a, const void *b) {
  const struct named *x = a, *y = b;
  if (x->name != y->name) return x->name < y->name ? -1 : 1;
  return (x->function > y->function) - (x->function < y->function);
}

static void resolve(struct hd_fact_builder *b) {
  size_t n = b->function.n;
  struct named *v = hd_alloc((n + 1) * sizeof *v);
  for (size_t i = 0; i < n; i++) {
    const struct hd_fact_function *f = &b->function.v[i];
    v[i] = (struct named){f->name, f->unit, (uint32_t)i, f->flags & HD_FACT_INTERNAL};
  }
  if (n) qsort(v, n, sizeof *v, by_name);
  for (size_t i = 0; i < b->call.n; i++) {
    struct hd_fact_call *c = &b->call.v[i].call;
    if (!c->name) continue;
    uint32_t unit = b->function.v[b->node.v[b->call.v[i].node].function].unit;
    size_t lo = 0, hi = n;
    while (lo < hi) {
      size_t mid = (lo + hi) / 2;
      if (v[mid].name < c->name)
        lo = mid + 1;
      else
        hi = mid;
    }
    for (; lo < n && v[lo].name == c->name; lo++)
      if (v[lo].unit == unit || (!v[lo].internal && c->function == HD_FACT_NONE))
        c->function = v[lo].function;
  }
  free(v);
}

static int pair_order(const void *a, const void *b) {
  const struct pair *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  return (x->what > y->what) - (x->what < y->what);
}

static uint64_t room(uint64_t *at, uint64_t bytes) {
  uint64_t here = *at;
  *at += (bytes + 7) & ~7ull;
  return here;
}

struct hd_facts *hd__facts_end(struct hd_fact_builder *b, const struct hd_fact_program *p) {
  resolve(b);
  uint64_t at = sizeof(struct hd_facts);
  struct hd_facts h = {.magic = MAGIC,
                       .version = VERSION,
                       .nunits = b->units,
                       .program_size = p->size,
                       .program_hash = p->hash,
                       .nfunctions = (uint32_t)b->function.n,
                       .nnodes = (uint32_t)b->node.n,
                       .nedges = (uint32_t)b->edge.n,
                       .ncalls = (uint32_t)b->call.n,
                       .naccesses = (uint32_t)b->access.n,
                       .nstrings = (uint32_t)b->string.n};
  h.at_functions = room(&at, h.nfunctions * sizeof(struct hd_fact_function));
  h.at_nodes = room(&at, h.nnodes * sizeof(struct hd_fact_node));
  h.at_edges = room(&at, h.nedges * sizeof(uint32_t));
  h.at_calls = room(&at, h.ncalls * sizeof(struct hd_fact_call));
  h.at_accesses = room(&at, h.naccesses * sizeof(struct hd_fact_touch));
  h.at_strings = room(&at, h.nstrings);
  h.size = at;
  char *m = hd_alloc(at);
  memcpy(m, &h, sizeof h);
  /* Calls and accesses come in the order of their nodes, but for conditions; edges do not. */
  if (b->edge.n) qsort(b->edge.v, b->edge.n, sizeof *b->edge.v, pair_order);
  uint32_t *edges = (uint32_t *)(m + h.at_edges);
  struct hd_fact_node *nodes = b->node.v;
  for (size_t i = 0; i < b->edge.n; i++) {
    struct hd_fact_node *n = &nodes[b->edge.v[i].node];
    if (!n->nedges++) n->edge = (uint32_t)i;
    edges[i] = b->edge.v[i].what;
  }
  struct hd_fact_call *calls = (struct hd_fact_call *)(m + h.at_calls);
  struct hd_fact_touch *touches = (struct hd_fact_touch *)(m + h.at_accesses);
  for (size_t i = 0; i < b->call.n; i++) nodes[b->call.v[i].node].ncalls++;
  for (size_t i = 0; i < b->access.n; i++) nodes[b->access.v[i].node].naccesses++;
  uint32_t call = 0, touch = 0;
  for (uint32_t i = 0; i < h.nnodes; i++) {
    nodes[i].call = call;
    nodes[i].access = touch;
    call += nodes[i].ncalls;
    touch += nodes[i].naccesses;
    nodes[i].ncalls = nodes[i].naccesses = 0;
  }
  for (size_t i = 0; i < b->call.n; i++) {
    struct hd_fact_node *n = &nodes[b->call.v[i].node];
    calls[n->call + n->ncalls++] = b->call.v[i].call;
  }
  for (size_t i = 0; i < b->access.n; i++) {
    struct hd_fact_node *n = &nodes[b->access.v[i].node];
    touches[n->access + n->naccesses++] = b->access.v[i].touch;
  }
  for (size_t i = 0; i < b->function.n; i++) hd__facts_postdom(&b->function.v[i], nodes, edges);
  if (h.nfunctions) memcpy(m + h.at_functions, b->function.v, h.nfunctions * sizeof(struct hd_fact_function));
  if (h.nnodes) memcpy(m + h.at_nodes, nodes, h.nnodes * sizeof *nodes);
  memcpy(m + h.at_strings, b->string.s, h.nstrings);
  hd_vec_free(&b->function);
  hd_vec_free(&b->node);
  hd_vec_free(&b->edge);
  hd_vec_free(&b->call);
  hd_vec_free(&b->access);
  hd_str_fini(&b->string);
  free(b->table);
  free(b);
  return (struct hd_facts *)m;
}

/* ---- files ---- */

static bool fits(const struct hd_facts *f, uint64_t at, uint64_t n, uint64_t size) {
  return at % 4 == 0 && at >= sizeof *f && at <= f->size && n * size <= f->size - at;
}

/* Whether every number in it is in range. */
static bool sound(const struct hd_facts *f, uint64_t size) {
  if (f->size != size || !fits(f, f->at_functions, f->nfunctions, sizeof(struct hd_fact_function)) ||
      !fits(f, f->at_nodes, f->nnodes, sizeof(struct hd_fact_node)) || !fits(f, f->at_edges, f->nedges, 4) ||
      !fits(f, f->at_calls, f->ncalls, sizeof(struct hd_fact_call)) ||
      !fits(f, f->at_accesses, f->naccesses, sizeof(struct hd_fact_touch)) ||
      !fits(f, f->at_strings, f->nstrings, 1) || !f->nstrings || hd_facts_string(f, 0)[f->nstrings - 1])
    return false;
  for (uint32_t i = 0; i < f->nfunctions; i++) {
    const struct hd_fact_function *x = &hd_facts_functions(f)[i];
    if (x->name >= f->nstrings || x->file >= f->nstrings || x->type >= f->nstrings ||
        (uint64_t)x->first + x->n > f->nnodes)
      return false;
  }
  for (uint32_t i = 0; i < f->nnodes; i++) {
    const struct hd_fact_node *x = &hd_facts_nodes(f)[i];
    if (x->function >= f->nfunctions || (uint64_t)x->edge + x->nedges > f->nedges ||
        (uint64_t)x->call + x->ncalls > f->ncalls || (uint64_t)x->access + x->naccesses > f->naccesses ||
        (x->postdominator != HD_FACT_NONE && x->postdominator >= f->nnodes))
      return false;
  }
  for (uint32_t i = 0; i < f->nedges; i++)
    if (hd_facts_edges(f)[i] >= f->nnodes) return false;
  for (uint32_t i = 0; i < f->ncalls; i++) {
    const struct hd_fact_call *x = &hd_facts_calls(f)[i];
    if (x->name >= f->nstrings || x->type >= f->nstrings ||
        (x->function != HD_FACT_NONE && x->function >= f->nfunctions))
      return false;
  }
  for (uint32_t i = 0; i < f->naccesses; i++)
    if (hd_facts_accesses(f)[i].object >= f->nstrings) return false;
  return true;
}

int hd_facts_load(const struct hd_facts **out, const char *file, const struct hd_fact_program *p,
                  struct hd_err *err) {
  struct stat st;
  *out = NULL;
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
    if (fd >= 0) close(fd);
    return hd_fail(err, HD_EUSAGE, "%s: cannot be read", file);
  }
  uint64_t size = (uint64_t)st.st_size;
  void *m = size >= sizeof(struct hd_facts) ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  const struct hd_facts *f = m;
  int rc = HD_OK;
  if (m == MAP_FAILED)
    return hd_fail(err, HD_EUSAGE, "%s: not a file of facts", file);
  else if (f->magic != MAGIC)
    rc = hd_fail(err, HD_EUSAGE, "%s: not a file of facts", file);
  else if (f->version != VERSION)
    rc = hd_fail(err, HD_EUSAGE, "%s: written by another version of heddle; remove it", file);
  else if (!sound(f, size))
    rc = hd_fail(err, HD_EUSAGE, "%s: damaged; remove it", file);
  else if (f->program_size != p->size || f->program_hash != p->hash)
    rc = hd_fail(err, HD_EUSAGE, "%s: facts of another build of %s; remove the file", file, p->path);
  if (rc != HD_OK)
    munmap(m, size);
  else
    *out = f;
  return rc;
}

/* With the facts of its libraries it is another program: its hash is. */
static struct hd_fact_program whole_program(const struct hd_fact_program *p) {
  struct hd_fact_program whole = *p;
  for (size_t i = 0; i < p->nlibraries; i++) {
    uint64_t hash = hd__bitcode_hash(p->library[i]);
    if (hash) whole.hash = whole.hash * 31 + hash;
  }
  return whole;
}

static int read_bitcode(const struct hd_fact_program *p, const char *libdir, const struct hd_fact_sink *sink,
                        size_t *units, struct hd_err *err) {
  int rc = hd__bitcode_read(p->path, libdir, sink, units, err);
  for (size_t i = 0; rc == HD_OK && i < p->nlibraries; i++)
    rc = hd__bitcode_read(p->library[i], libdir, sink, units, err);
  return rc;
}

int hd_facts_open(const struct hd_facts **out, const struct hd_fact_program *program, const char *libdir,
                  struct hd_err *err) {
  struct hd_err ignored;
  struct hd_fact_program whole = whole_program(program), *p = &whole;
  char *file = hd_sprintf("%s.facts", p->path);
  int rc = HD_OK;
  *out = NULL;
  if (access(file, R_OK) != 0 || hd_facts_load(out, file, p, &ignored) != HD_OK) {
    struct hd_fact_builder *b = hd__facts_begin();
    size_t units = 0;
    rc = read_bitcode(p, libdir, &b->sink, &units, err);
    struct hd_facts *f = hd__facts_end(b, p);
    if (rc == HD_OK && units && hd_write_file_atomic(file, f, f->size, &ignored) == HD_OK)
      rc = hd_facts_load(out, file, p, err);
    if (rc == HD_OK && units && !*out) { /* the folder cannot be written to */
      void *m = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (m != MAP_FAILED) *out = memcpy(m, f, f->size);
    }
    free(f);
  }
  free(file);
  return rc;
}

void hd_facts_close(const struct hd_facts *f) {
  if (f) munmap((void *)f, f->size);
}

/* ---- calls ---- */

uint32_t hd_facts_callee(const struct hd_facts *f, const struct hd_fact_call *c, uint32_t *at) {
  if (!(c->flags & HD_FACT_INDIRECT)) return (*at)++ ? HD_FACT_NONE : c->function;
  for (; *at < f->nfunctions; ++*at) {
    const struct hd_fact_function *x = &hd_facts_functions(f)[*at];
    if ((x->flags & HD_FACT_ADDRESS) && x->type == c->type) return (*at)++;
  }
  return HD_FACT_NONE;
}
