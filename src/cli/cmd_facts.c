/* cmd_facts.c: `heddle facts`: facts about the code of a program, as text. Runs in the supervisor. */
#include "cli/cli.h"
#include "session/command.h"
#include "static/static.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int show(const char *function, const char *name, struct hd_err *err) {
  struct hd_program p = {0};
  char *cwd = hd_cwd();
  int rc = hd_program_open(name, getenv("PATH"), cwd ? cwd : "/", &p, err);
  free(cwd);
  if (rc != HD_OK) return rc;
  char **library = NULL;
  struct hd_fact_program program = {.path = p.path, .size = p.size, .hash = p.hash};
  const struct hd_facts *f = NULL;
  rc = hd_program_libraries(p.path, &library, &program.nlibraries, err);
  program.library = library;
  if (rc == HD_OK) rc = hd_facts_open(&f, &program, hd_libdir(), err);
  if (rc == HD_OK && !f)
    rc = hd_fail(err, HD_EUSAGE, "%s has no facts; build it with heddle cc --facts", name);
  if (rc == HD_OK) {
    struct hd_str out;
    hd_str_init(&out);
    if (hd_facts_show(&out, f, function)) {
      fputs(out.s, stdout);
    } else {
      struct hd_near near = {.word = function, .len = strlen(function)};
      for (uint32_t i = 0; i < f->nfunctions; i++)
        hd_near_try(&near, hd_facts_string(f, hd_facts_functions(f)[i].name));
      rc = near.best
               ? hd_fail(err, HD_EUSAGE, "%s has no function %s; did you mean %s?", name, function, near.best)
               : hd_fail(err, HD_EUSAGE, "%s has no function %s that was built with --facts", name, function);
    }
    hd_str_fini(&out);
  }
  hd_facts_close(f);
  hd_libraries_free(library, program.nlibraries);
  hd_program_fini(&p);
  return rc;
}

int hd_cmd_facts(int argc, char **argv) {
  struct hd_err err;
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return hd_help_verb("facts"), 0;
  if (argc != 4 || strcmp(argv[1], "show") != 0) {
    hd_fail(&err, HD_EUSAGE, "usage: heddle facts show FUNCTION PROGRAM");
    return hd_err_exit(&err);
  }
  return show(argv[2], argv[3], &err) == HD_OK ? 0 : hd_err_exit(&err);
}
