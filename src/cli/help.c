/* help.c: the texts of `heddle help`. Runs in the supervisor. Options come from the table in options.c. */
#include "cli/cli.h"
#include "mutate/mutate.h"
#include "predict/predict.h"
#include "session/names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char cc_help[] =
    "The compiler's own options pass through unchanged; Heddle adds its instrumentation\n"
    "and, when linking, its runtime. Use it as CC in make, CMake and configure.\n\n"
    "  --heddle-compiler=PATH      the compiler to drive (default gcc or g++; clang if that is missing)\n"
    "  HEDDLE_CC, HEDDLE_CXX       the same, in the environment\n"
    "  --branches                  also record branches, for heddle predict\n"
    "  --facts                     keep facts about the code in the objects, for heddle aim\n"
    "                              (needs clang-19, which is the default compiler then)\n"
    "  --symbolic                  follow inputs through the program, for heddle concolic\n"
    "                              (needs clang-19, too)\n";

#define SEARCH_EXIT                                                                               \
  "Exit codes:\n"                                                                                 \
  "  0  nothing found, and the search did all it was asked to: it covered every schedule, or a\n" \
  "     sampling strategy used up its executions or its time\n"                                   \
  "  1  a finding\n"                                                                              \
  "  2  wrong usage; also a program that was not built with heddle cc\n"                          \
  "  3  environment: no permission, no memory, an unsupported call in the program\n"              \
  "  4  a bug in heddle\n"                                                                        \
  "  5  nothing found, but the search ended early: --time, --max-executions, Ctrl-C,\n"           \
  "     or a program that keeps killing its process\n"

static const char search_exit[] = SEARCH_EXIT;

static const char check_exit[] =
    "Without a program, checks the targets of heddle.toml (`heddle init` writes one) and prints a\n"
    "table. Options apply to all targets and override those of the file; --no-FLAG turns off a flag\n"
    "of the file, for example --no-all.\n\n" SEARCH_EXIT
    "  Of several targets, the most important code counts: 4, 3, 2, 1, 5, then 0.\n";

static const char hunt_exit[] =
    "For the test of a suite that fails once in ten thousand runs. DIR is a build folder of CMake (what\n"
    "ctest runs) or Meson, built with heddle cc; FILE has a command in each line (- is standard input), or\n"
    "is a heddle.toml. Without it: heddle.toml here, else a build folder here, else heddle.toml above.\n\n"
    "The tests share --time (default 60s). Each gets a short slice first; then the next slice goes to the\n"
    "test that had least, and sooner to one that still shows something new. The search of a test ends at\n"
    "its first finding. The other options apply to every test.\n\n" SEARCH_EXIT
    "  Of several tests, the most important code counts: 4, 3, 2, 1, 5, then 0.\n";

static const char init_exit[] =
    "The file lists the programs in this folder and below that were built with heddle cc; its\n"
    "comments show what else it can contain.\n\n"
    "Exit codes:\n"
    "  0  written\n"
    "  2  wrong usage; also if there is a heddle.toml already\n"
    "  3  environment: the file cannot be written\n";

static const char suppress_help[] =
    "Appends a rule for each finding to FILE (default heddle.supp), for --suppressions: its kind, and the\n"
    "function in which it happened. A rule that is there already is not added again. Widen or narrow the\n"
    "rule in the file: the part behind the colon is a pattern of function names and file paths.\n\n"
    "Exit codes:\n"
    "  0  the file has the rules\n"
    "  2  wrong usage; also a folder that is damaged or not a Heddle finding\n"
    "  3  environment: the file cannot be written\n";

static const char replay_exit[] =
    "Exit codes:\n"
    "  1  the finding was reproduced\n"
    "  2  wrong usage; also a folder that is damaged or not a Heddle finding\n"
    "  3  not reproduced, for a known reason: the program was rebuilt, or the environment\n"
    "  4  not reproduced for an unknown reason, or with other events\n"
    "  5  ended by Ctrl-C\n"
    "  With --gdb, after the finding was reproduced: the exit code of gdb.\n";

static const char record_exit[] =
    "Records the operations of all threads and their accesses to memory that several threads\n"
    "touch, with values. `heddle trace` shows the result.\n\n"
    "Exit codes:\n"
    "  0  recorded\n"
    "  1  recorded, and something went wrong in that execution\n"
    "  2  wrong usage; also a program that was not built with heddle cc\n"
    "  3  environment: no permission, no memory, an unsupported call in the program\n"
    "  4  a bug in heddle\n"
    "  5  recorded, but cut by --max-length, or ended by Ctrl-C\n";

static const char predict_exit[] =
    "Records one execution of the program, predicts failures of other schedules of the same events, and\n"
    "executes those schedules. What fails then is a finding as of heddle check: stored, and replayed the\n"
    "same way every time. With TRACE, starts from files of heddle record instead; without a program, lists\n"
    "predictions, and executes nothing. See docs/predict.md.\n\n"
    "Exit codes:\n"
    "  0  no finding: nothing was predicted, or nothing of it happened\n"
    "  1  a finding\n"
    "  2  wrong usage; also a file that is damaged or not a trace\n"
    "  3  environment: no permission, no memory, an unsupported call in the program\n"
    "  4  a bug in heddle\n"
    "  5  nothing found, but predictions were not tried: --time, or Ctrl-C\n";

static const char aim_exit[] =
    "Searches for a schedule in which the program executes FILE:LINE; of several lines, one after the other,\n"
    "by whatever threads. Facts about the code (heddle cc --facts) guide the search. What is found is a finding\n"
    "as of heddle check: stored, and replayed the same way every time. See docs/aim.md.\n\n"
    "Exit codes:\n"
    "  0  the line is not reached in any schedule\n"
    "  1  reached\n"
    "  2  wrong usage; also a line without code\n"
    "  3  environment: no permission, no memory, an unsupported call in the program\n"
    "  4  a bug in heddle\n"
    "  5  not reached: --time, --max-executions, or Ctrl-C\n";

static const char facts_help[] =
    "Shows what heddle aim knows of a function: its control flow, what it reads and writes, locks and\n"
    "calls, and which branches decide what is executed. The program must be built with heddle cc --facts.\n"
    "FUNCTION is the name that the linker has, in C++ the mangled one.\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  2  wrong usage; also a program without facts, or without that function\n"
    "  3  environment: LLVM 19 is missing\n";
static const char sequentialize_help[] =
    "Writes a C program with two threads as a sequential one, for testers of sequential programs: CBMC, KLEE\n"
    "(-DHD_SEQ_KLEE), heddle concolic. One thread sees at most K values that the other has written (-k, or\n"
    "-DHD_SEQ_K; default 2), and an entry of a loop has at most U rounds (-u, or -DHD_SEQ_U; default 4). It is\n"
    "the thread created second, or main; with --swap (-DHD_SEQ_SWAP=1) the one created first. What follows\n"
    "-- is compiler flags. See docs/concolic.md.\n\n"
    "Exit codes:\n"
    "  0  written\n"
    "  2  wrong usage; also a file that cannot be parsed, or does what cannot be followed\n"
    "  3  environment: no libclang, no permission, no memory\n";
static const char mutate_exit[] =
    "Makes mutants of the files: copies with one small mistake of the kind that is made with threads. Each\n"
    "compiles, and is in a folder of its own; manifest.json lists them. What follows -- is compiler flags, and\n"
    "sources of the program that are not mutated. With --run, checks each mutant and prints which the test\n"
    "kills; without FILE, those of an earlier call, and what follows -- is the program to check. See\n"
    "docs/mutate.md.\n\n"
    "Exit codes:\n"
    "  0  made; with --run: every mutant was killed\n"
    "  1  with --run: mutants survived\n"
    "  2  wrong usage; also a file that cannot be parsed, or a test that fails without a mutation\n"
    "  3  environment: no libclang, no permission, no memory\n"
    "  4  a bug in heddle\n"
    "  5  with --run: mutants were not checked (they did not build, or Ctrl-C)\n";

static const char report_exit[] =
    "DIR is a folder in which `heddle check` stored findings (default .heddle), also for the targets\n"
    "of heddle.toml; FINDING is one of the folders in it. The page needs no network: it can be sent,\n"
    "archived, and opened from disk. It contains the source files that the failing schedules execute.\n\n"
    "Exit codes:\n"
    "  0  written\n"
    "  2  wrong usage; also a folder that is damaged or not Heddle's\n"
    "  3  environment: a file that cannot be read or written\n";

static const char list_exit[] =
    "DIR is a folder in which `heddle check` stored findings (default .heddle), also for the targets\n"
    "of heddle.toml. A finding that is found again keeps its folder.\n\n"
    "Exit codes:\n"
    "  0  listed, also if there are none\n"
    "  2  wrong usage; also if there is no such folder\n";

static const char clean_exit[] =
    "DIR as for heddle list. Removes the findings, and the search that is stored beside them; other\n"
    "files stay.\n\n"
    "Exit codes:\n"
    "  0  removed\n"
    "  2  wrong usage; also if there is no such folder\n";

static const char trace_help[] =
    "TRACE is a file, or the folder of a finding; - is standard input. Reads Heddle's own traces,\n"
    "binary or text, and the STD format of race prediction tools.\n\n"
    "  show TRACE                  the text form: one event per line\n"
    "  show --stat TRACE           events per kind and thread\n"
    "  convert [--to FORMAT] TRACE -o FILE\n"
    "                              binary (default), text, std, or perfetto: trace-event JSON\n"
    "                              for ui.perfetto.dev; FILE - is standard output\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  2  wrong usage; also a file that is damaged or not a trace\n"
    "  3  environment: a file that cannot be read or written\n";

static const char cluster_help[] =
    "Every rank must be started with the same options and the same program:\n"
    "\n"
    "  mpirun -np 64 heddle cluster check --strategy optimal -- ./test\n"
    "\n"
    "The ranks share one search, whose total is that of one machine. The options are those of heddle\n"
    "check; --jobs is the number of processes of each rank. The first rank prints the result.\n"
    "With --ranks-per-node N a rank runs as many processes as its share of the processors of a machine.\n"
    "With --stage[=DIR] the first rank sends the program and its libraries to nodes that do not have them.\n"
    "Not supported: --classes. With the default strategy some ranks sample, the others share the search;\n"
    "sampling strategies divide --max-executions among the ranks.\n"
    "\n"
    "With --save FILE the search can be continued by any number of ranks, also by heddle check. MPI ends\n"
    "all ranks when one is lost; this command then continues from the file:\n"
    "\n"
    "  heddle cluster --retry mpirun -np 64 heddle cluster check --save FILE -- ./test\n"
    "\n"
    "It ends and continues a job that has saved nothing for 120 seconds (--retry --stall SECONDS; 0: never).\n"
    "\n"
    "Exit status: as heddle check.\n";

static const struct hd_verb_info verbs[] = {
    {"cc", "heddle cc [compiler options] FILE...", "compile and link a C program for Heddle", 0, cc_help,
     NULL},
    {"c++", "heddle c++ [compiler options] FILE...", "compile and link a C++ program for Heddle", 0, cc_help,
     NULL},
    {"run", "heddle run [options] -- PROGRAM [ARGS]", "run a program once under Heddle's control",
     HD_VERB_RUN, search_exit, NULL},
    {"check", "heddle check [options] [-- PROGRAM [ARGS]]", "search for a schedule in which a program fails",
     HD_VERB_CHECK, check_exit, NULL},
    {"concolic", "heddle concolic [options] -- PROGRAM [ARGS]",
     "search for an input and a schedule with which a program fails", HD_VERB_CHECK, check_exit, NULL},
    {"hunt", "heddle hunt [options] [DIR|FILE]", "search all tests of a suite, which share the time",
     HD_VERB_CHECK, hunt_exit, NULL},
    {"cluster", "heddle cluster [--retry [--stall S] COMMAND|check [options] -- PROGRAM [ARGS]]",
     "`heddle check` on many ranks, under mpirun or srun", 0, cluster_help, "check"},
    {"init", "heddle init [--force]", "write a heddle.toml, for `heddle check` without a program",
     HD_VERB_INIT, init_exit, NULL},
    {"replay", "heddle replay DIR [options] [-- GDB ARGS]",
     "re-execute a stored failure, the same way every time", HD_VERB_REPLAY, replay_exit, NULL},
    {"explain", "heddle explain DIR [options]",
     "find a smaller schedule for a stored failure, and show it step by step", HD_VERB_EXPLAIN, replay_exit,
     NULL},
    {"record", "heddle record [options] -- PROGRAM [ARGS]", "record the trace of one execution",
     HD_VERB_RECORD, record_exit, NULL},
    {"predict", "heddle predict [options] [TRACE...] [-- PROGRAM [ARGS]]",
     "from one execution, find failures of other schedules", HD_VERB_PREDICT, predict_exit, NULL},
    {"aim", "heddle aim [options] FILE:LINE[,FILE:LINE...]|--from FILE -- PROGRAM [ARGS]",
     "drive execution to given source lines", HD_VERB_AIM, aim_exit, NULL},
    {"facts", "heddle facts show FUNCTION PROGRAM", "show facts about the code of a program", 0, facts_help,
     "show"},
    {"mutate", "heddle mutate FILE... [options] [-- FLAGS] | --run [options] [-- PROGRAM [ARGS]]",
     "make mutants of a program, and see which ones its test kills", HD_VERB_MUTATE, mutate_exit, NULL},
    {"sequentialize", "heddle sequentialize FILE [-k K] [-u U] [--swap] [-o FILE] [-- FLAGS]",
     "write a program of two threads as a sequential one, for other tools", 0, sequentialize_help, NULL},
    {"report", "heddle report [DIR|FINDING...] [-o FILE]", "write an HTML page about stored findings",
     HD_VERB_REPORT, report_exit, NULL},
    {"list", "heddle list [DIR|FINDING...]", "list stored findings", HD_VERB_LIST, list_exit, NULL},
    {"clean", "heddle clean [DIR|FINDING...]", "remove stored findings", HD_VERB_CLEAN, clean_exit, NULL},
    {"suppress", "heddle suppress DIR... [-o FILE]", "add stored failures to a suppression file", 0,
     suppress_help, NULL},
    {"trace", "heddle trace show|convert ...", "show and convert traces", 0, trace_help, "show convert"},
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

bool hd_verbs_next(size_t *at, struct hd_verb_info *out) {
  if (*at == COUNT(verbs)) return false;
  *out = verbs[(*at)++];
  return true;
}

/* Where the second column of the line begins, after two spaces or more; its indent if it has one column. */
static size_t second_column(const char *line, size_t n) {
  size_t indent = strspn(line, " ");
  for (size_t i = indent; i + 2 < n; i++)
    if (line[i] == ' ' && line[i + 1] == ' ') return i + strspn(line + i, " ");
  return indent;
}

/* Whether the line only goes on with the text of the one before, which ended with that character. Lines that are indented a
 * little are examples, and lists. */
static bool goes_on(const char *line, size_t n, size_t column, char last) {
  return n && (column == 0 || column > 4) && strspn(line, " ") == column &&
         second_column(line, n) == column && !strchr(".;:", last);
}

/* The text for a terminal: lines of a paragraph, or of a second column, are broken anew. */
static void reflow(struct hd_str *out, const char *text, size_t width) {
  size_t at = 0, column = 0; /* of the text of the line */
  char last = '\0';
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    size_t n = strcspn(line, "\n"), i = 0;
    if (line > text && goes_on(line, n, column, last)) {
      i = column;
    } else {
      if (line > text) hd_str_addc(out, '\n');
      at = i = second_column(line, n);
      column = i > width / 2 ? strspn(line, " ") + 4 : i;
      hd_str_addn(out, line, i);
      last = ' ';
    }
    while (i < n) {
      size_t word = strcspn(line + i, " \n");
      if (word && at + (last != ' ') + word > width && at > column) {
        hd_str_addf(out, "\n%*s", (int)column, "");
        at = column;
      } else if (last != ' ') {
        hd_str_addc(out, ' ');
        at++;
      }
      hd_str_addn(out, line + i, word);
      at += word;
      i += word + strspn(line + i + word, " ");
      last = 'x';
    }
    last = n ? line[n - 1] : '\0';
  }
  hd_str_addc(out, '\n');
}

/* The texts are written for 110 columns. */
static void print(struct hd_str *text) {
  if (isatty(STDOUT_FILENO)) {
    struct hd_str out;
    hd_str_init(&out);
    reflow(&out, text->s, hd_style_of(STDOUT_FILENO, false).width);
    hd_str_fini(text);
    *text = out;
  }
  fputs(text->s, stdout);
  hd_str_fini(text);
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
      if (verbs[i].options & HD_VERB_PREDICT) {
        hd_str_add(&out, "Detectors:\n");
        for (int d = 0; d < HD_DETECTORS; d++)
          hd_str_addf(&out, "  %-10s%s%s\n", hd_detector_name[d], hd_detector_what[d],
                      hd_detector_filters((enum hd_detector)d) ? " (only filters)" : "");
        hd_str_addc(&out, '\n');
      }
      if (verbs[i].options & HD_VERB_MUTATE) {
        hd_str_add(&out, "Operators:\n");
        for (int k = 0; k < HD_MUTATIONS; k++)
          hd_str_addf(&out, "  %-10s%s\n", hd_mutation_name[k], hd_mutation_what[k]);
        hd_str_addc(&out, '\n');
      }
      if (verbs[i].options & (HD_VERB_RUN | HD_VERB_CHECK)) {
        hd_str_add(&out, "Strategies:\n");
        hd_help_strategies(&out);
        hd_str_addc(&out, '\n');
      }
    }
    hd_str_add(&out, verbs[i].text);
    print(&out);
    return true;
  }
  return false;
}

void hd_help_verb(const char *verb) { HD_BUG_ON(!verb_help(verb)); }

int hd_unknown_verb(const char *word) {
  struct hd_err err;
  struct hd_near near = {.word = word, .len = strlen(word)};
  for (size_t i = 0; i < COUNT(verbs); i++) hd_near_try(&near, verbs[i].name);
  if (near.best)
    hd_fail(&err, HD_EUSAGE, "unknown verb '%s'; did you mean `heddle %s`?", word, near.best);
  else
    hd_fail(&err, HD_EUSAGE, "unknown verb '%s'; see `heddle help`", word);
  return hd_err_exit(&err);
}

int hd_help(int argc, char **argv) {
  if (argc > 1) {
    if (verb_help(argv[1])) return 0;
    return hd_unknown_verb(argv[1]);
  }
  struct hd_str out;
  hd_str_init(&out);
  hd_str_addf(&out, "heddle %s: finds the schedules in which threaded C and C++ programs fail\n\n",
              HD_VERSION);
  for (size_t i = 0; i < COUNT(verbs); i++)
    hd_str_addf(&out, "  heddle %-8s  %s\n", verbs[i].name, verbs[i].first);
  hd_str_add(&out, "\n`heddle help VERB` shows details; `heddle --version` prints the version.\n"
                   "\n  heddle cc -g test.c -o test && heddle check -- ./test\n");
  print(&out);
  return 0;
}
