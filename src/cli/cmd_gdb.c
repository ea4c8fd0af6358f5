/* cmd_gdb.c: `heddle gdb-start`, which gdb starts in place of the program (session/gdb.c). Runs in the supervisor; no
 * help text mentions it. */
#include "cli/cli.h"
#include "session/rerun.h"

int hd_cmd_gdb_start(int argc, char **argv) {
  (void)argc, (void)argv; /* gdb adds the program */
  struct hd_err err;
  hd_gdb_exec(&err);
  return hd_err_exit(&err);
}
