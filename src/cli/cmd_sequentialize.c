/* cmd_sequentialize.c: `heddle sequentialize`: writes a program of two threads as a sequential one. Runs in the supervisor. */
#include "cli/cli.h"
#include "mutate/sequential.h"
#include "session/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number(const char *word, unsigned *out, struct hd_err *err) {
  char *end;
  unsigned long n = strtoul(word, &end, 10);
  if (*end || end == word || n > 1000)
    return hd_fail(err, HD_EUSAGE, "'%s' is not a number from 0 to 1000", word);
  *out = (unsigned)n;
  return HD_OK;
}

int hd_cmd_sequentialize(int argc, char **argv) {
  struct hd_err err;
  struct hd_sequential_options o = {.interferences = 2, .rounds = 4};
  struct hd_mutate_file f = {0};
  const char *to = NULL;
  char *none[] = {NULL}, **flags = none, *text = NULL;
  int rc = HD_OK;
  for (int i = 1; i < argc && rc == HD_OK; i++) {
    bool more = i + 1 < argc;
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return hd_help_verb("sequentialize"), 0;
    if (strcmp(argv[i], "--") == 0) {
      flags = argv + i + 1;
      break;
    }
    if (strcmp(argv[i], "-o") == 0 && more)
      to = argv[++i];
    else if (strcmp(argv[i], "-k") == 0 && more)
      rc = number(argv[++i], &o.interferences, &err);
    else if (strcmp(argv[i], "-u") == 0 && more)
      rc = number(argv[++i], &o.rounds, &err);
    else if (strcmp(argv[i], "--swap") == 0)
      o.swap = true;
    else if (argv[i][0] == '-' || f.path)
      rc = hd_fail(&err, HD_EUSAGE,
                   "usage: heddle sequentialize FILE [-k K] [-u U] [--swap] [-o FILE] [-- FLAGS]");
    else
      f.path = argv[i];
  }
  if (rc == HD_OK && !f.path)
    rc = hd_fail(&err, HD_EUSAGE, "name a source file: heddle sequentialize prog.c -o sequential.c");
  if (rc == HD_OK && hd_mutate_is_cxx(f.path))
    rc = hd_fail(&err, HD_EUSAGE, "%s: only C can be made sequential", f.path);
  f.flags = (const char *const *)flags;
  if (rc == HD_OK) rc = hd_sequentialize(&f, hd_libdir(), &o, &text, &err);
  if (rc == HD_OK && to) rc = hd_write_file(to, text, strlen(text), &err);
  if (rc == HD_OK && !to && hd_write_all(STDOUT_FILENO, text, strlen(text)) != HD_OK)
    rc = hd_fail(&err, HD_EENV, "cannot write to standard output");
  free(text);
  return rc == HD_OK ? 0 : hd_err_exit(&err);
}
