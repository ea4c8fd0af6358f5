/* cmd_run.c: `heddle run`: one execution under control, with the program's own input and output.
 * Runs in the supervisor. */
#include "cli/cli.h"

int hd_cmd_run(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_RUN, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("run"), 0;
  if (o.nargs == 0) {
    hd_fail(&err, HD_EUSAGE, "no program given: heddle run [options] -- PROGRAM [ARGS]");
    return hd_err_exit(&err);
  }
  return hd_present_search(&o, HD_VERB_RUN);
}
