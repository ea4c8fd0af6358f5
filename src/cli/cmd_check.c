/* cmd_check.c: `heddle check`: searches for a schedule in which the program fails, or the targets of heddle.toml. Runs
 * in the supervisor. */
#include "cli/project.h"

static int check_project(const struct hd_options *o, int argc, char **argv) {
  struct hd_project p;
  struct hd_err err;
  if (hd_project_open(&p, o->config, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  int code = hd_project_run(&p);
  hd_project_fini(&p);
  return code;
}

int hd_cmd_check(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_CHECK, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("check"), 0;
  if (o.nargs == 0) return check_project(&o, argc, argv);
  if (o.config || o.targets.n) {
    hd_fail(&err, HD_EUSAGE,
            "--%s is for the targets of " HD_PROJECT_FILE ": leave out the program, or this option",
            o.config ? "config" : "target");
    return hd_err_exit(&err);
  }
  return hd_present_search(&o, HD_VERB_CHECK);
}
