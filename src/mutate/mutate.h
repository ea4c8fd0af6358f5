/* mutate.h: mutants of concurrent C and C++ sources. Runs in the supervisor.
 *
 * A mutant is a source file with one small change of the kind that programmers make by mistake: a lock that is not taken, an
 * atomic operation in two steps (operators.def). Sources are parsed by libclang, which is loaded when it is needed. */
#ifndef HD_MUTATE_H
#define HD_MUTATE_H

#include "base/base.h"

enum hd_mutation {
#define HD_MUTATION(id, what) HD_MUTATION_##id,
#include "mutate/operators.def"
#undef HD_MUTATION
  HD_MUTATIONS
};
extern const char *const hd_mutation_name[HD_MUTATIONS];
extern const char *const hd_mutation_what[HD_MUTATIONS];
/* Reads "RSB,EAN" into bits 1 << enum hd_mutation. */
int hd_mutations_parse(const char *list, uint32_t *bits, struct hd_err *err);

/* Replaces [begin, end) of a file. */
struct hd_edit {
  uint32_t begin, end;
  char *text;
};

/* A mutant that is possible; the compiler may yet refuse it. */
struct hd_mutant {
  enum hd_mutation op;
  unsigned file; /* in the order of hd_mutants_add */
  unsigned line;
  char *what; /* one line: what is changed */
  HD_VEC(struct hd_edit) edit;
};

/* A file of the program, and how it is compiled. */
struct hd_mutate_file {
  const char *path;
  const char *folder;       /* where the compiler runs; NULL: here */
  const char *const *flags; /* ends with NULL */
};

struct hd_mutants;
/* `libdir` has the headers of Heddle. */
struct hd_mutants *hd_mutants_new(const char *libdir);
void hd_mutants_free(struct hd_mutants *m);
/* Adds all mutants of the file by these operators. Fails when it cannot be read or parsed, or without libclang. */
int hd_mutants_add(struct hd_mutants *m, const struct hd_mutate_file *file, uint32_t operators,
                   struct hd_err *err);
size_t hd_mutants_count(const struct hd_mutants *m);
/* The i-th one in the order in which mutants are taken with that seed: operators take turns, and which mutant of an operator
 * comes next is random. The first n are the same for every larger n. */
void hd_mutants_shuffle(struct hd_mutants *m, uint64_t seed);
const struct hd_mutant *hd_mutants_get(const struct hd_mutants *m, size_t i);
/* The file with the mutant's changes. The caller frees. */
char *hd_mutant_text(const struct hd_mutants *m, const struct hd_mutant *mutant, size_t *len);

/* Whether the name is one of a C++ source. */
bool hd_mutate_is_cxx(const char *path);

#endif
