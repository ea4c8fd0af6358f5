/* cc_args.h: `heddle cc`'s analysis of a compiler's command line. Private to cmd_cc.c and cc_*.c. */
#ifndef HD_CC_ARGS_H
#define HD_CC_ARGS_H

#include <string.h>

#include "base/base.h"

static inline bool hd__starts_with(const char *s, const char *prefix) {
  return strncmp(s, prefix, strlen(prefix)) == 0;
}

typedef HD_VEC(char *) hd_words;

struct hd_cc_args {
  /* The words to pass on: the user's own wherever possible. */
  hd_words words; /* the strings are owned by `pool` or by argv */
  hd_words pool;
  hd_words objects;     /* object files and archives among the words */
  const char *compiler; /* --heddle-compiler=, or NULL */
  bool help;            /* --help */
  bool branches;        /* --branches */
  bool facts;           /* --facts: keep the bitcode */
  bool symbolic;        /* --symbolic: shadows for inputs */

  bool query;             /* queries the compiler itself: pass the line on unchanged */
  bool inputs;            /* names any file or library */
  bool preprocesses;      /* at least one input goes through the preprocessor */
  bool compiles;          /* at least one input goes through the compiler proper, or would without -E */
  bool only_text;         /* -E, -M: stops after the preprocessor */
  bool assembles;         /* at least one input is assembly */
  bool links;             /* ends with a program or a shared library */
  bool debug;             /* has an option about debug information */
  bool uninstrumented;    /* the last relevant option was -fno-sanitize=thread or =all */
  const char *is_static;  /* the option that requests a static program */
  const char *other_arch; /* -m32 and the like */
  char *bad_sanitizer;    /* the sanitizer that cannot be combined; in `pool` */
  bool undefined;         /* checks undefined behaviour */
};

/* Removes Heddle's own options from the words after "cc". */
void hd__cc_args_init(struct hd_cc_args *a, int argc, char **argv);

/* Fills in the rest. `clang`: follow clang's rules where they differ from gcc's. Never fails: the compiler diagnoses
 * words that it does not recognise. */
void hd__cc_args_analyse(struct hd_cc_args *a, bool clang);
void hd__cc_args_fini(struct hd_cc_args *a);

/* The compiler's output for the option `question`. The compiler is one or more words, started as `path`. The caller
 * frees. */
char *hd__cc_ask(const hd_words *compiler, const char *path, const char *question);

/* The plug-in in `libdir` that fits the compiler; NULL if none does, or HEDDLE_PLUGIN=no. The caller frees. */
char *hd__cc_plugin(const hd_words *compiler, const char *path, bool clang, const char *libdir);

/* Whether one of the files has code that was not built with `heddle cc`, and is no part of the system. */
bool hd__cc_any_plain(const hd_words *objects);

#endif
