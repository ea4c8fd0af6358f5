/* main.c: finds the verb and calls it. Runs in the supervisor. Nothing else belongs here. */
#include "cli/cli.h"
#include "session/rerun.h"

#include <stdio.h>
#include <string.h>

static int version(int argc, char **argv) {
  (void)argc, (void)argv;
  printf("heddle %s\n", HD_VERSION);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} verbs[] = {
    {"cc", hd_cmd_cc},
    {"c++", hd_cmd_cxx},
    {"run", hd_cmd_run},
    {"check", hd_cmd_check},
    {"concolic", hd_cmd_concolic},
    {"hunt", hd_cmd_hunt},
    {"cluster", hd_cmd_cluster},
    {"init", hd_cmd_init},
    {"replay", hd_cmd_replay},
    {"explain", hd_cmd_explain},
    {"record", hd_cmd_record},
    {"trace", hd_cmd_trace},
    {"predict", hd_cmd_predict},
    {"aim", hd_cmd_aim},
    {"facts", hd_cmd_facts},
    {"mutate", hd_cmd_mutate},
    {"sequentialize", hd_cmd_sequentialize},
    {"report", hd_cmd_report},
    {"list", hd_cmd_list},
    {"clean", hd_cmd_clean},
    {"suppress", hd_cmd_suppress},
    {"help", hd_help},
    {"--help", hd_help},
    {"-h", hd_help},
    {"--version", version},
    {"-V", version},
    {HD_GDB_START, hd_cmd_gdb_start},
    {"generate", hd_cmd_generate},
};

/* A result that nobody could read is no success. What is already an error stays what it is. */
static int checked(int code) {
  int lost = hd_output_error();
  if (lost && (code == 0 || code == 1 || code == 5)) {
    hd_say("cannot write to standard output: %s", strerror(lost));
    if (code != 1) return 3;
  }
  return code;
}

int main(int argc, char **argv) {
  struct hd_err err;
  if (hd_open_standard()) return 3;
  int compiler = argc > 0 ? hd_cc_by_name(argv[0]) : 0;
  if (compiler) {
    argv[0] = (char *)(compiler == 2 ? "c++" : "cc");
    return hd_cmd_cc(argc, argv);
  }
  if (argc < 2) {
    hd_fail(&err, HD_EUSAGE, "no verb given; see `heddle help`");
    return hd_err_exit(&err);
  }
  for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
    if (strcmp(argv[1], verbs[i].name) == 0) return checked(verbs[i].run(argc - 1, argv + 1));
  return hd_unknown_verb(argv[1]);
}
