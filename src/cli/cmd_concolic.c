/* cmd_concolic.c: `heddle concolic`: searches inputs as well as schedules. Runs in the supervisor. */
#include "cli/cli.h"

int hd_cmd_concolic(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_CHECK, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("concolic"), 0;
  if (o.nargs == 0) {
    hd_fail(&err, HD_EUSAGE, "no program given: heddle concolic [options] -- PROGRAM [ARGS]");
    return hd_err_exit(&err);
  }
  struct hd_str covered;
  o.inputs = true;
  hd_str_init(&covered);
  o.covered = &covered;
  int code = hd_present_search(&o, HD_VERB_CHECK);
  hd_str_fini(&covered);
  return code;
}
