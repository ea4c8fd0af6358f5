/* help.c: the texts of `heddle help`. Runs in the supervisor. Options come from the table in options.c. */
#include "cli/cli.h"
#include "session/names.h"

#include <stdio.h>
#include <string.h>

static const char cc_help[] =
    "The compiler's own options pass through unchanged; Heddle adds its instrumentation\n"
    "and, when linking, its runtime. Use it as CC in make, CMake and configure.\n\n"
    "  --heddle-compiler=PATH      the compiler to drive (default gcc or g++)\n"
    "  HEDDLE_CC, HEDDLE_CXX       the same, in the environment\n";

#define SEARCH_EXIT                                                                            \
  "Exit codes:\n"                                                                              \
  "  0  nothing found, and all that was asked for was done: every schedule was covered, or,\n" \
  "     by a strategy that samples, the executions (or the time) asked for were spent\n"       \
  "  1  a finding\n"                                                                           \
  "  2  wrong usage; also a program that was not built with heddle cc\n"                       \
  "  3  environment: no permission, no memory, an unsupported call in the program\n"           \
  "  4  a bug in heddle\n"                                                                     \
  "  5  nothing found, but the search ended before that: --time, --max-executions, Ctrl-C,\n"  \
  "     or a program that kills its process again and again\n"

static const char search_exit[] = SEARCH_EXIT;

static const char check_exit[] =
    "Without a program, the targets of heddle.toml are checked, which `heddle init` writes: one\n"
    "row of a table for each. Options are for all of them, and win over those of the file;\n"
    "--no-FLAG takes back a flag of the file, such as --no-all.\n\n" SEARCH_EXIT
    "  With several targets it is the most important one of theirs: 4, 3, 2, 1, 5, then 0.\n";

static const char init_exit[] =
    "The file names the programs in this folder and below that were built with heddle cc; what else\n"
    "can be in it stands there in comments.\n\n"
    "Exit codes:\n"
    "  0  written\n"
    "  2  wrong usage; also when there is a heddle.toml already\n"
    "  3  environment: it cannot be written\n";

static const char replay_exit[] =
    "Exit codes:\n"
    "  1  the finding was reproduced\n"
    "  2  wrong usage; also a folder that is damaged or not a finding of Heddle\n"
    "  3  not reproduced, and the reason is known: the program was rebuilt, the environment\n"
    "  4  not reproduced for no known reason, or with other events\n"
    "  5  ended by Ctrl-C\n"
    "  With --gdb, once the finding was reproduced: the exit code of gdb.\n";

static const char record_exit[] =
    "Recorded are the operations of all threads and their accesses to memory that several of\n"
    "them touch, with values. `heddle trace` shows the result.\n\n"
    "Exit codes:\n"
    "  0  recorded\n"
    "  1  recorded, and something went wrong in that execution\n"
    "  2  wrong usage; also a program that was not built with heddle cc\n"
    "  3  environment: no permission, no memory, an unsupported call in the program\n"
    "  4  a bug in heddle\n"
    "  5  recorded, but cut by --max-length, or ended by Ctrl-C\n";

static const char report_exit[] =
    "DIR is a folder that `heddle check` stored findings in (default .heddle), FINDING one of the\n"
    "folders in it; the targets of heddle.toml have their folders in it, too. The page needs no\n"
    "network: it can be sent, kept, and opened from disk. It holds the source files that the failing\n"
    "schedules run through.\n\n"
    "Exit codes:\n"
    "  0  written\n"
    "  2  wrong usage; also a folder that is damaged or not of Heddle\n"
    "  3  environment: a file that cannot be read or written\n";

static const char trace_help[] =
    "TRACE is a file, or the folder of a finding; - is standard input. Heddle's own traces can\n"
    "be read in both forms, and those in the STD format of tools that predict races.\n\n"
    "  show TRACE                  the text form: one event a line\n"
    "  show --stat TRACE           how many events of which kind and thread\n"
    "  convert [--to FORMAT] TRACE -o FILE\n"
    "                              binary (default), text, std, or perfetto: trace-event JSON\n"
    "                              for ui.perfetto.dev; FILE - is standard output\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  2  wrong usage; also a file that is damaged or no trace\n"
    "  3  environment: a file that cannot be read or written\n";

static const struct hd_verb_info verbs[] = {
    {"cc", "heddle cc [compiler options] FILE...", "compile and link a C program for Heddle", 0, cc_help,
     NULL},
    {"c++", "heddle c++ [compiler options] FILE...", "compile and link a C++ program for Heddle", 0, cc_help,
     NULL},
    {"run", "heddle run [options] -- PROGRAM [ARGS]", "run a program once under Heddle's control",
     HD_VERB_RUN, search_exit, NULL},
    {"check", "heddle check [options] [-- PROGRAM [ARGS]]", "search for a schedule in which a program fails",
     HD_VERB_CHECK, check_exit, NULL},
    {"init", "heddle init [--force]", "write a heddle.toml, for `heddle check` without a program",
     HD_VERB_INIT, init_exit, NULL},
    {"replay", "heddle replay DIR [options] [-- GDB ARGS]",
     "run a stored failure again, the same way every time", HD_VERB_REPLAY, replay_exit, NULL},
    {"explain", "heddle explain DIR [options]",
     "find a smaller schedule for a stored failure, and tell its story", HD_VERB_EXPLAIN, replay_exit, NULL},
    {"record", "heddle record [options] -- PROGRAM [ARGS]", "keep the trace of one execution", HD_VERB_RECORD,
     record_exit, NULL},
    {"report", "heddle report [DIR|FINDING...] [-o FILE]", "make a page of stored findings, for the browser",
     HD_VERB_REPORT, report_exit, NULL},
    {"trace", "heddle trace show|convert ...", "show and convert traces", 0, trace_help, "show convert"},
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

bool hd_verbs_next(size_t *at, struct hd_verb_info *out) {
  if (*at == COUNT(verbs)) return false;
  *out = verbs[(*at)++];
  return true;
}

/* Adds the lines of `text`, all but the first indented. */
static void add_indented(struct hd_str *out, const char *text, int column) {
  for (; *text; text++) {
    hd_str_addc(out, *text);
    if (*text == '\n') hd_str_addf(out, "%*s", column, "");
  }
  hd_str_addc(out, '\n');
}

void hd_help_options(struct hd_str *out, enum hd_verb verb) {
  struct hd_option_info o;
  for (size_t at = 0; hd_options_next(verb, &at, &o);) {
    struct hd_str left;
    hd_str_init(&left);
    hd_str_addf(&left, "--%s%s%s", o.name, o.arg ? " " : "", o.arg ? o.arg : "");
    if (left.n > 26)
      hd_str_addf(out, "  %s\n  %26s  ", left.s, "");
    else
      hd_str_addf(out, "  %-26s  ", left.s);
    add_indented(out, o.help, 30);
    hd_str_fini(&left);
  }
}

void hd_help_strategies(struct hd_str *out) {
  struct hd_strategy_info s;
  for (size_t at = 0; hd_strategies_next(&at, &s);) {
    hd_str_addf(out, "  %-9s ", s.name);
    add_indented(out, s.about, 12);
  }
}

static bool verb_help(const char *name) {
  for (size_t i = 0; i < COUNT(verbs); i++) {
    if (strcmp(verbs[i].name, name) != 0) continue;
    struct hd_str out;
    hd_str_init(&out);
    hd_str_addf(&out, "%s: %s\n\nUsage: %s\n\n", name, verbs[i].first, verbs[i].usage);
    if (verbs[i].options) {
      hd_str_add(&out, "Options:\n");
      hd_help_options(&out, verbs[i].options);
      hd_str_addc(&out, '\n');
      if (verbs[i].options & (HD_VERB_RUN | HD_VERB_CHECK)) {
        hd_str_add(&out, "Strategies:\n");
        hd_help_strategies(&out);
        hd_str_addc(&out, '\n');
      }
    }
    hd_str_add(&out, verbs[i].text);
    fputs(out.s, stdout);
    hd_str_fini(&out);
    return true;
  }
  return false;
}

void hd_help_verb(const char *verb) { HD_BUG_ON(!verb_help(verb)); }

int hd_help(int argc, char **argv) {
  if (argc > 1) {
    if (verb_help(argv[1])) return 0;
    struct hd_err err;
    hd_fail(&err, HD_EUSAGE, "unknown verb '%s'; see `heddle help`", argv[1]);
    return hd_err_exit(&err);
  }
  printf("heddle %s: finds the schedules in which threaded C and C++ programs fail\n\n", HD_VERSION);
  for (size_t i = 0; i < COUNT(verbs); i++) printf("  heddle %-8s  %s\n", verbs[i].name, verbs[i].first);
  printf("\n`heddle help VERB` tells more; `heddle --version` prints the version.\n"
         "\n  heddle cc -g test.c -o test && heddle check -- ./test\n");
  return 0;
}
