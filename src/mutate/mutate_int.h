/* mutate_int.h: what the files of this folder share: a source file as the operators see it. Runs in the supervisor.
 *
 * Offsets are bytes from the beginning of the file. The tree is libclang's, cut down to blocks, statements, declarations and
 * references; calls are read from the tokens, so that it makes no difference whether one is a function or, as those of
 * <stdatomic.h>, a macro. */
#ifndef HD_MUTATE_INT_H
#define HD_MUTATE_INT_H

#include "mutate/mutate.h"

#define HD_NOWHERE UINT32_MAX

struct hd__span {
  uint32_t begin, end;
};

enum hd__token_kind { HD__PUNCTUATION, HD__KEYWORD, HD__IDENTIFIER, HD__LITERAL };
struct hd__token {
  struct hd__span at;
  enum hd__token_kind kind;
};

enum hd__stmt_kind { HD__STMT, HD__STMT_DECL, HD__STMT_LEAVES /* return, goto, break, continue */ };
struct hd__stmt {
  struct hd__span at; /* with its semicolon */
  enum hd__stmt_kind kind;
};

struct hd__block {
  struct hd__span at; /* with its braces */
  uint32_t function;  /* plus 1; 0: none */
  bool body;          /* it is the body of the function */
  HD_VEC(struct hd__stmt) stmt;
};

struct hd__function {
  struct hd__span at;
  char *name;
};

struct hd__decl {
  struct hd__span at;
  uint32_t name; /* offset */
  char *type;    /* its canonical type */
  bool local;    /* a parameter or a variable of a function */
};

/* A name in an expression. */
struct hd__ref {
  uint32_t at, decl; /* offsets of the name and of the name in its declaration; HD_NOWHERE: in another file */
  char *base;        /* of a member: the type of what it is a member of; else NULL */
};

/* x++, x += 2 on an atomic variable. */
struct hd__update {
  struct hd__span at, operand;
};

struct hd__call {
  const struct hd__known *known;
  uint32_t token; /* of the name */
  struct hd__span at, name;
  struct hd__span object; /* of a method: empty else */
  bool arrow;             /* of a method: -> */
  HD_VEC(struct hd__span) arg;
  bool alone; /* it is a statement */
};

/* A critical section. */
struct hd__region {
  uint32_t block, first; /* the statement that locks */
  uint32_t last;         /* the one that unlocks; HD_NOWHERE: none in this block, or a guard does */
  const struct hd__call *lock, *unlock;
  HD_VEC(const struct hd__call *) early; /* unlocks in statements between */
  bool guard;                            /* a std::lock_guard or the like */
  bool whole;                            /* nothing of the function is outside */
  struct hd__span arg;                   /* what is locked */
  int family;
};

struct hd__source {
  unsigned number;
  const char *path;
  char *text;
  size_t len;
  bool cxx;
  HD_VEC(struct hd__token) token;
  HD_VEC(struct hd__block) block;
  HD_VEC(struct hd__function) function;
  HD_VEC(struct hd__decl) decl;
  HD_VEC(struct hd__ref) ref;
  HD_VEC(struct hd__update) update;
  HD_VEC(struct hd__call) call;
  HD_VEC(struct hd__region) region;
};

/* Reads and parses the file (clang.c). */
int hd__parse(const struct hd_mutate_file *f, const char *libdir, struct hd__source *s, struct hd_err *err);
void hd__source_fini(struct hd__source *s);
/* Finds its calls and critical sections (source.c). */
void hd__source_index(struct hd__source *s);

/* ---- known calls (source.c) ---- */

enum hd__role {
  HD__LOCK,
  HD__UNLOCK,
  HD__THREAD, /* RTXC */
  HD__OBJECT, /* RCXC */
  HD__COUNT,  /* MXC: the argument `arg` is the count */
  HD__ATOMIC,
};
enum hd__atomic {
  HD__LOAD,
  HD__STORE,
  HD__EXCHANGE,
  HD__FETCH, /* returns the old value */
  HD__NEW,   /* returns the new one */
  HD__CAS,   /* expected by reference */
  HD__CAS_BOOL,
  HD__CAS_VALUE,
  HD__SET, /* test and set */
  HD__CLEAR,
};
enum hd__style { HD__C11, HD__C11_EXPLICIT, HD__GNU, HD__SYNC, HD__METHOD };
struct hd__known {
  const char *name;
  enum hd__role role;
  int family;           /* of locks: a lock and its unlock have the same */
  const char *of;       /* of a method: a word in the type of its object */
  unsigned arg;         /* HD__COUNT */
  const char *replaced; /* what stands for the call where its value is used */
  enum hd__atomic what;
  enum hd__style style;
  const char *sign; /* "+" */
};

/* ---- text ---- */

bool hd__is(const struct hd__source *s, struct hd__span at, const char *text);
bool hd__same(const struct hd__source *s, struct hd__span a, struct hd__span b);
bool hd__inside(struct hd__span inner, struct hd__span outer);
char *hd__copy(const struct hd__source *s, struct hd__span at);
/* The first token at or after the offset. */
uint32_t hd__token_at(const struct hd__source *s, uint32_t offset);
unsigned hd__line(const struct hd__source *s, uint32_t offset);
/* The name of the function around it, or NULL. */
const char *hd__function_at(const struct hd__source *s, uint32_t offset);

/* ---- operators (operators.c, atomics.c) ---- */

struct hd_mutants {
  char *libdir;
  HD_VEC(struct hd__source *) file;
  HD_VEC(struct hd_mutant) mutant;
  HD_VEC(uint32_t) order;
};

/* Adds a mutant without edits; the text is what it does, after the name of the function. */
struct hd_mutant *hd__mutant(struct hd_mutants *m, const struct hd__source *s, enum hd_mutation op,
                             uint32_t offset, const char *fmt, ...) HD_PRINTF(5, 6);
void hd__edit(struct hd_mutant *mutant, uint32_t begin, uint32_t end, const char *fmt, ...) HD_PRINTF(4, 5);

void hd__mutate_regions(struct hd_mutants *m, const struct hd__source *s, uint32_t operators);
void hd__mutate_calls(struct hd_mutants *m, const struct hd__source *s, uint32_t operators);
void hd__mutate_atomics(struct hd_mutants *m, const struct hd__source *s, uint32_t operators);

#endif
