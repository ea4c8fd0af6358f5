/* races_int.h: shared by the files that read a whole program for pruning by data races. Runs in the supervisor, as a part of
 * the module. */
#ifndef HD_STATIC_RACES_INT_H
#define HD_STATIC_RACES_INT_H

#include "static/races.h"

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* ---- functions of libraries (library.c) ---- */

enum {
  PURE = 1, /* what comes of it follows from its arguments, and what they point to; it changes nothing else */
  WRITES = 2, /* writes what its pointers point to: what it makes of its arguments */
  FRESH = 4,  /* returns a new object */
  FIRST = 8,  /* returns its first argument */
  SHOWS = 16, /* output: nothing that the program does depends on what it is given */
  LOCKS = 32,
  LETS_GO = 64,
  LOCK = LOCKS | LETS_GO,
  TRIES = 128, /* an event; what comes of it depends on other threads */
  CREATES = 256,
  JOINS = 512,
  COPIES = 1024, /* from its second to its first argument */
  ENDS = 2048,   /* does not return */
  WORDS = 4096,  /* has no effect on memory that the program sees */
  VARIES = 8192, /* what comes of it is anything */
};
struct known {
  const char *name;
  unsigned how;
};
/* NULL: it may do anything. */
const struct known *hd__races_library(const char *name);
const struct known *hd__races_intrinsic(const char *name);
/* An intrinsic that neither accesses memory nor decides anything. */
bool hd__races_quiet(const char *name);
/* Calls with which other code runs than calls say, or a thread goes on elsewhere. */
bool hd__races_refuses(const char *name);

/* ---- the program (races.c) ---- */

struct pair {
  uint32_t from, to;
};
struct pairs {
  struct pair *v;
  size_t n, cap;
};

struct instruction {
  LLVMValueRef v;
  uint32_t id;       /* value */
  uint32_t function; /* number */
  unsigned line;
  uint32_t block_next; /* the next one in its block, NONE */
  const struct known *known;
  bool external; /* a call of a function that is not the program's */
};

struct program {
  const struct hd_race_sink *sink;
  LLVMModuleRef module;
  LLVMValueRef *key; /* of values: a hash table ... */
  uint32_t *number;  /* ... and their numbers */
  size_t slots, nvalues;
  struct instruction *in;
  size_t nin, cap_in;
  LLVMValueRef *function;
  uint32_t *first_in, *returns; /* [function]: its first instruction; the value that it returns */
  bool *taken;                  /* [function]: its address is */
  char **name;                  /* [function]: in the source; owned */
  uint32_t *alike;              /* [function]: the first one of that name */
  size_t nfunctions;
  /* Objects: 0 is any. Each has a node for what is in it; nodes of values come first. */
  uint32_t nobjects, *object_of; /* [value]: the object that it is the address of, NONE */
  LLVMValueRef *object;          /* [object] */
  bool *variable;                /* [object]: a variable that is alone in having its name */
  uint32_t nnodes, contents;     /* contents + object: the node of what is in it */
  size_t words;
  uint64_t *pts; /* [node][words] */
  struct pairs copy, load, store;
  uint64_t *shared; /* objects that several threads may access */
  uint64_t *called; /* [instruction of an indirect call] functions that were connected: by number of object */
  struct {
    LLVMValueRef variable;
    uint64_t offset;
  } lock[HD_RACE_LOCKS];
  unsigned nlocks;
  bool changed, full;
};

struct access {
  uint32_t pointer; /* value */
  unsigned how;
};

/* Threads that begin with one function. */
struct entry {
  struct program *p;
  bool *in;             /* [function]: they may call it */
  bool *decides;        /* [node]: it may flow into a decision */
  struct pairs flows;   /* from each value to those that depend on it; by `from` */
  uint32_t *first_flow; /* [node] */
  struct pairs next;    /* from each instruction to those that may come after it; by `from` */
  uint32_t *first_next;
  uint8_t *flags; /* [instruction]: HD_RACE_UNSTABLE, HD_RACE_ANYTHING */
};

void *hd__races_need(void *p);
void hd__races_pair(struct pairs *p, uint32_t from, uint32_t to);     /* adds it, unless one is NONE */
uint32_t hd__races_function(const struct program *p, LLVMValueRef f); /* its number, NONE */
/* Values that flow through a call of that function: to its parameters, and from what it returns. `library_calls`: the call
 * is one of a library, which may pass anything. */
void hd__races_connect(const struct program *p, struct pairs *edges, const struct instruction *x, uint32_t f,
                       bool library_calls);
const char *hd__races_name(LLVMValueRef v);
uint32_t hd__races_id(const struct program *p, LLVMValueRef v);
uint32_t hd__races_pointer(const struct program *p, LLVMValueRef v);
LLVMValueRef hd__races_callee(LLVMValueRef call);
bool hd__races_callees(const struct program *p, size_t i, uint32_t *out, size_t *n);
unsigned hd__races_accesses(const struct program *p, const struct instruction *x, struct access out[16]);
uint32_t hd__races_first(const struct program *p, LLVMBasicBlockRef b);
static inline uint64_t *pts_of(const struct program *p, uint32_t node) { return p->pts + node * p->words; }
static inline bool has(const uint64_t *set, uint32_t i) { return set[i / 64] >> i % 64 & 1; }
static inline bool is_call(LLVMValueRef i) { return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i); }

/* ---- objects, and what points to them (points.c) ---- */

/* Fills in what the program has of objects. Returns false when the program is too large. pre: p->taken is known. */
bool hd__races_points(struct program *p);

/* ---- names (names.c) ---- */

/* Before the unit of that number is linked to others: what is static in it gets names that no other unit has. */
void hd__races_mark(LLVMModuleRef unit, size_t number);
/* Fills in p->name and p->alike. */
void hd__races_alike(struct program *p);
/* The name of a variable in the source; empty: it has none, or others have the same. The caller frees. */
char *hd__races_variable(const struct program *p, LLVMValueRef g);
/* Fills in p->variable, and tells the sink. */
void hd__races_variables(struct program *p);

/* ---- what other values change (slice.c) ---- */

/* Of one entry. */
struct slicer;
struct slicer *hd__slicer_new(const struct entry *e);
/* The instructions that may be executed another number of times, or at another address, when what is read at that line of the
 * functions of that name has another value. NULL: any of those that come after it. Valid until the next call. */
const bool *hd__slice(struct slicer *s, uint32_t function, unsigned line);
void hd__slicer_free(struct slicer *s);

#endif
