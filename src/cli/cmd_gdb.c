/* cmd_gdb.c: `heddle gdb-start`: what gdb starts in the place of the program (session/gdb.c). Runs in the supervisor, and
 * stands in no help text. */
#include "cli/cli.h"
#include "session/rerun.h"

int hd_cmd_gdb_start(int argc, char **argv) {
  (void)argc, (void)argv; /* gdb adds the program */
  struct hd_err err;
  hd_gdb_exec(&err);
  return hd_err_exit(&err);
}
