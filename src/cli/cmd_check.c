/* cmd_check.c: `heddle check`: searches for a schedule in which the program fails. Runs in the supervisor. */
#include "cli/cli.h"

int hd_cmd_check(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_CHECK, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("check"), 0;
  if (o.nargs == 0) {
    hd_fail(&err, HD_EUSAGE, "no program given: heddle check [options] -- PROGRAM [ARGS]");
    return hd_err_exit(&err);
  }
  return hd_search(&o, HD_VERB_CHECK);
}
