/* sequential.h: a program of two threads as a sequential one. Runs in the supervisor. */
#ifndef HD_MUTATE_SEQUENTIAL_H
#define HD_MUTATE_SEQUENTIAL_H

#include "mutate/mutate.h"

struct hd_sequential_options {
  unsigned interferences, rounds; /* K: values of the other thread, at most; U: rounds of a loop, at most */
  bool swap;                      /* the thread that is created first sees values of the other one */
};

/* The text of the sequential program, in C. The caller frees. */
int hd_sequentialize(const struct hd_mutate_file *f, const char *libdir,
                     const struct hd_sequential_options *o, char **text, struct hd_err *err);

/* What is put before the program, line by line (sequential_text.c). */
extern const char *const hd__sequential_text[];

#endif
