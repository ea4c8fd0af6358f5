/* cmd_hunt.c: `heddle hunt`: the tests of a suite share one budget of time. Runs in the supervisor. */
#include "cli/project.h"

#define SECONDS 60

int hd_cmd_hunt(int argc, char **argv) {
  struct hd_options o;
  struct hd_project p;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_CHECK, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("hunt"), 0;
  const char *wrong = o.save || o.resume ? "save or --resume: it saves the searches itself"
                      : o.all            ? "all: it stops at the first finding of each test"
                                         : NULL;
  if (wrong)
    hd_fail(&err, HD_EUSAGE, "heddle hunt has no --%s", wrong);
  else if (o.nargs > 1)
    hd_fail(&err, HD_EUSAGE, "heddle hunt takes one folder or file, not also '%s'; options come before it",
            o.args[1]);
  if (wrong || o.nargs > 1) return hd_err_exit(&err);
  const char *where = o.nargs ? o.args[0] : NULL;
  if (where && o.config) {
    hd_fail(&err, HD_EUSAGE, "--config and '%s' exclude each other: give only one", where);
    return hd_err_exit(&err);
  }
  if (hd_suite_open(&p, where ? where : o.config, argc - o.nargs, argv, &err) != HD_OK)
    return hd_err_exit(&err);
  p.hunt = o.time > 0 && !o.time_default ? o.time : SECONDS;
  int code = hd_project_run(&p);
  hd_project_fini(&p);
  return code;
}
