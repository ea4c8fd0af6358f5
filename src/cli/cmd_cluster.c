/* cmd_cluster.c: `heddle cluster check`: `heddle check` as one rank of many, which mpirun or srun have started. Runs in the
 * supervisor of each rank. */
#include "cli/cli.h"
#include "cluster/cluster.h"

#include <string.h>

int hd_cmd_cluster(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (argc < 2 || strcmp(argv[1], "--help") == 0) return hd_help_verb("cluster"), argc < 2 ? 2 : 0;
  if (strcmp(argv[1], "check") != 0) {
    hd_fail(&err, HD_EUSAGE, "heddle cluster knows `check`, not '%s'", argv[1]);
    return hd_err_exit(&err);
  }
  if (hd_options_parse(&o, HD_VERB_CHECK, argc - 1, argv + 1, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("cluster"), 0;
  if (o.nargs == 0 || o.config || o.targets.n) {
    hd_fail(&err, HD_EUSAGE, "heddle cluster check needs a program, after `--`");
    return hd_err_exit(&err);
  }
  struct hd_cluster *c = NULL;
  int code = hd_cluster_open(&c, &err) == HD_OK ? hd_present_cluster(&o, c) : hd_err_exit(&err);
  hd_cluster_close(c);
  return code;
}
