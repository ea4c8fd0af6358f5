/* cli.h: what the files of the command line share.
 *
 * Runs in the supervisor. In reading order: options say what the user wants; a program is the checked
 * executable; a control is the shared memory of one tested process; a process is started and watched by
 * supervise.c; a search is processes one after the other with their findings; a store is the folder
 * .heddle/N that a finding is kept in. */
#ifndef HD_CLI_H
#define HD_CLI_H

#include "abi/abi.h"
#include "base/base.h"
#include "report/report.h"
#include "trace/trace.h"

#include <sys/types.h>

/* ---- verbs: argv[0] is the verb; the result is the exit code ---- */

int hd_cmd_cc(int argc, char **argv);
int hd_cmd_cxx(int argc, char **argv);
/* 1 if heddle was started as heddle-cc, 2 if as heddle-c++, else 0. */
int hd_cc_by_name(const char *argv0);
int hd_cmd_run(int argc, char **argv);
int hd_cmd_check(int argc, char **argv);
int hd_cmd_init(int argc, char **argv);
int hd_cmd_replay(int argc, char **argv);
int hd_cmd_record(int argc, char **argv);
int hd_cmd_trace(int argc, char **argv);
int hd_cmd_explain(int argc, char **argv);
int hd_cmd_report(int argc, char **argv);
int hd_cmd_generate(int argc, char **argv);

/* ---- paths.c ---- */

/* The folder of libheddle_rt.so and of include/heddle.h. */
const char *hd_libdir(void);

/* ---- options.c ---- */

enum hd_verb {
  HD_VERB_RUN = 1,
  HD_VERB_CHECK = 2,
  HD_VERB_REPLAY = 4,
  HD_VERB_EXPLAIN = 8,
  HD_VERB_RECORD = 16,
  HD_VERB_REPORT = 32,
  HD_VERB_INIT = 64
};

#define HD_MAX_WORDS 32
struct hd_word_list {
  const char *v[HD_MAX_WORDS];
  unsigned n;
};

struct hd_options {
  const char *strategy;
  uint64_t depth; /* of pct */
  enum hd_bound bound_kind;
  uint32_t bound;
  bool bound_iterate;
  uint64_t seed;
  uint64_t jobs;           /* processes that share the search */
  uint64_t max_executions; /* 0: no limit */
  bool max_given;
  double time;       /* seconds, 0: none */
  bool time_default; /* nobody asked for it */
  uint64_t max_length;
  double hang_timeout;
  uint64_t ignore; /* bit per enum hd_kind */
  uint32_t restart;
  bool all, classes, spurious, timeouts_any, leaks, thread_leaks, exit_status, quiet, preload;
  struct hd_word_list suppressions; /* files */
  const char *json, *sarif, *junit, *out;
  enum hd_format format;
  const char *save, *resume;
  bool seeded, plain; /* a seed was given; every access is recorded */
  const char *output; /* the file of a trace; NULL: the default */
  uint64_t given;     /* bit per option: somebody said it */
  uint64_t layer;     /* the same since hd_options_layer */
  uint64_t times;
  double explain; /* seconds to look for smaller schedules; 0: not at all */
  bool original;
  bool help, gdb, force;
  const char *config;          /* --config */
  struct hd_word_list targets; /* --target */
  /* of a target of heddle.toml: */
  const char *name;
  const char *cwd; /* where the program runs; NULL: here */
  int result_fd;   /* where its result goes, instead of files; -1: to files */
  int nargs;       /* the words that are no options: program and its arguments, or the folder */
  char **args;     /* ends with NULL */
  char **after;    /* replay --gdb: the words after `--`, which are gdb's; ends with NULL */
};

/* Reads the command line of `verb` (argv[0] is its name). */
int hd_options_parse(struct hd_options *o, enum hd_verb verb, int argc, char **argv, struct hd_err *err);

/* The same in steps, for options that come from several places. What is said after hd_options_layer wins over what was
 * said before. Values are not copied. */
void hd_options_init(struct hd_options *o, enum hd_verb verb);
void hd_options_layer(struct hd_options *o);
/* One option; `on` of a flag, `value` of the others. pre: it is in the table. */
int hd_options_set(struct hd_options *o, enum hd_verb verb, const char *name, const char *value, bool on,
                   struct hd_err *err);
int hd_options_words(struct hd_options *o, enum hd_verb verb, int argc, char **argv, struct hd_err *err);
/* Looks at all of them together, and fills in what depends on others. */
int hd_options_finish(struct hd_options *o, enum hd_verb verb, struct hd_err *err);

/* The table of options, for what is made from it: the next one of `verb`, from *at = 0 on; false: there is none. */
enum hd_option_place {
  HD_PLACE_COMMAND, /* on the command line only */
  HD_PLACE_PROJECT, /* also in heddle.toml, for all targets together */
  HD_PLACE_ANY,
};
struct hd_option_info {
  const char *name, *arg, *help; /* arg is NULL for a flag */
  bool list;                     /* can be given several times */
  enum hd_option_place place;
};
bool hd_options_next(enum hd_verb verb, size_t *at, struct hd_option_info *out);

/* The lines of --help for the options of `verb`. */
void hd_options_help(struct hd_str *out, enum hd_verb verb);

/* Adds the lines of `text`, all but the first indented. */
void hd__add_indented(struct hd_str *out, const char *text, int column);

/* ---- names.c ---- */

int hd_strategy_parse(const char *value, const char **out, struct hd_err *err);
/* Whether a strategy covers every schedule and then ends by itself, rather than sampling. */
bool hd_strategy_systematic(const char *name);
/* The lines of --help that name the strategies. */
void hd_strategies_help(struct hd_str *out);
/* Their names, with blanks between them. */
void hd_strategies_words(struct hd_str *out);

/* A list of kind names ("leak,hang") as bits; used by --ignore and by schedule files. */
int hd_kinds_parse(const char *list, uint64_t *bits, struct hd_err *err);
bool hd_kind_by_name(const char *name, size_t len, enum hd_kind *kind);

/* Fills in everything of `c` that comes from options. */
void hd_options_config(const struct hd_options *o, struct hd_config *c);

/* Takes over what decides about a search from the one that is continued; an option that says something else is an
 * error. `path` is its file, for messages. */
int hd_options_adopt(struct hd_options *o, const struct hd_config *c, const char *path, struct hd_err *err);

/* ---- help.c ---- */

/* The table of verbs, as for options. */
struct hd_verb_info {
  const char *name, *usage, *first;
  enum hd_verb options; /* 0: none of the table */
  const char *text;
  const char *words; /* that may come first, with blanks between them; NULL: no such words */
};
bool hd_verbs_next(size_t *at, struct hd_verb_info *out);

void hd_help_verb(const char *verb);
int hd_help(int argc, char **argv);

/* ---- outputs.c ---- */

/* Whether one of the files is standard output. */
bool hd_outputs_own_stdout(const struct hd_options *o);
/* Whether the files can be written, as far as that can be known before. */
int hd_outputs_check(const struct hd_options *o, struct hd_err *err);
int hd_outputs_write(const struct hd_options *o, const struct hd_summary *s, const char *cwd,
                     struct hd_err *err);
/* What is to be told about one search, so that it can be handed over and put together with others: "summary" as in
 * --json, and as far as the options ask for it "sarif" (a run), "junit" (a suite) and its "counts"; of a target also "lines": its
 * findings as they are shown. */
json_t *hd_outputs_result(const struct hd_options *o, const struct hd_summary *s, const char *cwd);
/* The files of several results; `about` is the JSON. */
int hd_outputs_write_all(const struct hd_options *o, json_t *results, json_t *about, struct hd_err *err);

/* ---- suppress.c ---- */

struct hd_suppressions;
/* Adds the rules of the file to those that are there, NULL: none yet. */
int hd_suppressions_load(const char *path, struct hd_suppressions **out, struct hd_err *err);
/* The same from a text, which is taken apart; `path` is its name for messages. */
int hd_suppressions_parse(char *text, const char *path, struct hd_suppressions **out, struct hd_err *err);
bool hd_suppressed(const struct hd_suppressions *s, const struct hd_finding *f);
void hd_suppressions_free(struct hd_suppressions *s);

/* ---- program.c ---- */

struct hd_program {
  char *path; /* absolute */
  uint64_t size;
  uint64_t hash;      /* XXH64 of the file */
  char build_id[80];  /* hex; "" if it has none */
  bool runtime_found; /* the library is where the program looks for it */
  bool preload;       /* it was not built with heddle cc: the library is loaded into it */
};

/* Finds `name` like execvp would and checks that it was built with heddle cc, or with p->preload, that it was not.
 * pre: p->preload is set, nothing else need be. */
int hd_program_open(const char *name, const char *path_env, const char *cwd, struct hd_program *p,
                    struct hd_err *err);
void hd_program_fini(struct hd_program *p);

/* Size, hash and build-id of the file at p->path. */
int hd_program_identify(struct hd_program *p, struct hd_err *err);

/* What is started: program, arguments, environment, folder. When a call of hd_check is what is searched, it is started
 * by copying a process that has come to the call, if there is one, else from its beginning with the results of the
 * calls before that one. */
struct hd_command {
  struct hd_program program;
  char **argv, **envp;
  char *cwd;
  int template; /* socket of the process to copy; 0: none */
  char *calls;  /* file with the results of earlier calls, or NULL: control begins with main */
};

/* The command for `argv` in the folder `cwd` (NULL: the current one) and the current environment. */
int hd_command_init(struct hd_command *c, char **argv, bool preload, const char *cwd, struct hd_err *err);
/* Whether its environment loads the runtime into a program that was not built for it. */
bool hd_command_preloads(const struct hd_command *c);
/* If the program cannot find the runtime, its environment is told where it is. */
int hd_command_find_runtime(struct hd_command *c, struct hd_err *err);
void hd_command_fini(struct hd_command *c);

/* ---- control.c: the shared memory ---- */

struct hd_control {
  int fd, search_fd;
  bool borrowed; /* the search memory belongs to another control */
  struct hd_ctl *ctl;
  struct hd_shared *shared; /* head of the search memory */
  struct hd_config config;  /* what was put there; the tested process may not change it */
  struct hd_status good;    /* status when it was last seen sane */
};

/* `with`: another control whose search memory is to be shared, or NULL for new. */
int hd_control_init(struct hd_control *c, const struct hd_config *config, const struct hd_control *with,
                    struct hd_err *err);
/* Takes over the shared memory that another process has made, and empties it but for its configuration; what a
 * process has changed in files is undone first. pre: the descriptors are those of HD_CTL_FD and HD_SEARCH_FD. */
int hd_control_inherit(struct hd_control *c, struct hd_err *err);
void hd_control_fini(struct hd_control *c);
void *hd_control_area(const struct hd_control *c, uint64_t offset);

/* Whether the shared memory can be believed: a wild write of the program may have hit it. */
bool hd_control_sane(const struct hd_control *c);
/* Remembers the counters. pre: sane. */
void hd_control_save(struct hd_control *c);
/* Empties the shared memory and puts back the configuration and the counters last saved. `last`: the number of the
 * last execution, should that be lost too. */
int hd_control_repair(struct hd_control *c, uint64_t last, struct hd_err *err);
/* The process is dead: others need not wait for a lock that it held. */
void hd_control_died(struct hd_control *c);

/* A finding copied out of the shared memory, with its schedule. */
struct hd_capture {
  struct hd_finding_rec *rec; /* owned */
  hd_step *step;              /* owned */
  size_t nsteps;
  uint64_t *visible; /* owned */
  size_t nvisible;
};
void hd_capture_finding(struct hd_capture *out, const struct hd_control *c, size_t index);
/* The finding the supervisor makes itself when the process died during an execution. Its schedule is empty
 * if the shared memory is not sane. */
void hd_capture_death(struct hd_capture *out, const struct hd_control *c, enum hd_kind kind, int signal,
                      int status);
void hd_capture_fini(struct hd_capture *c);

/* ---- stream.c: input and output of the tested process ---- */

enum hd_output { HD_OUTPUT_NULL, HD_OUTPUT_SHOW, HD_OUTPUT_KEEP };

#define HD_OUTPUT_MAX (1u << 20) /* bytes kept of the output of a finding */

struct hd_input {
  int fd; /* memfd with all of it, or -1: none */
  size_t size;
  bool inherit; /* the terminal (or an open pipe) itself */
};
int hd_input_init(struct hd_input *in, bool may_inherit, struct hd_err *err);
int hd_input_from_file(struct hd_input *in, const char *path, struct hd_err *err);
void hd_input_fini(struct hd_input *in);

struct hd_streams {
  int in, out, err;    /* given to the child */
  int pipe[2];         /* read ends that are forwarded or kept, -1: none */
  int target[2];       /* where pipe[i] is forwarded to; -1: into `kept` */
  struct hd_str *kept; /* HD_OUTPUT_KEEP: grows up to HD_OUTPUT_MAX */
  bool own_group;      /* false when the child must be able to read from the terminal */
};
int hd_streams_open(struct hd_streams *s, const struct hd_input *in, enum hd_output how, struct hd_str *kept,
                    struct hd_err *err);
void hd_streams_child_started(struct hd_streams *s); /* closes the child's ends */
bool hd_streams_pump(struct hd_streams *s, int i);   /* moves what is there; false at the end */
void hd_streams_close(struct hd_streams *s);

/* ---- attach.c: searches that hd_check has begun ---- */

/* Whether this process was started by hd_check. What tells so is taken out of the environment. */
bool hd_attached(void);
/* The command is a copy of the process that waits at the call. */
int hd_attach_command(struct hd_command *c, char **argv, struct hd_err *err);
/* Starts a tested process by copying the template. */
int hd_attach_start(const struct hd_command *c, const struct hd_control *control, const struct hd_streams *s,
                    pid_t *pid, struct hd_err *err);
/* Tells the test process what came of it. */
void hd_attach_result(const struct hd_summary *s);

/* ---- supervise.c: one tested process ---- */

enum hd_process_end {
  HD_PROCESS_DONE,    /* the runtime finished what it was asked for */
  HD_PROCESS_ERROR,   /* it gave up: status.error */
  HD_PROCESS_DIED,    /* a signal, or exit by itself */
  HD_PROCESS_HUNG,    /* killed by the watchdog */
  HD_PROCESS_STOPPED, /* killed since it did not stop when told to */
  HD_PROCESS_START,   /* died before the runtime was ready */
};

struct hd_outcome {
  enum hd_process_end end;
  int signal, status; /* DIED: the signal, or 0 and the exit status */
};

/* An execution that computes, but makes no visible operation for this many hang time-outs, hangs too. */
#define HD_STEP_TIMEOUT 6

struct hd_watch {
  double hang_timeout; /* seconds without any sign of life */
  double step_timeout; /* seconds of life without a single visible operation; 0: any number */
  double deadline;     /* on the clock of hd_now, 0: none */
  int interrupts;      /* hd_interrupts() that are already dealt with */
  int tick_ms;         /* how long to wait for news; 0: a tenth of a second */
};

struct hd_activity {
  uint64_t heartbeat, events, executions, nfindings, path_len;
};

/* A process under way. */
struct hd_process {
  struct hd_control *control;
  struct hd_streams *streams;
  bool running;
  pid_t pid;
  int pidfd;
  bool group;
  bool stopping; /* it has been told to stop */
  double stop_since;
  bool alarmed;      /* HD_SIG_HANG has been sent */
  double changed_at; /* when progress was last seen, or when the alarm was sent */
  double stepped_at; /* when a visible operation was last seen */
  struct hd_activity last;
  enum hd_process_end killed_as;
  bool killed;
};

int hd_process_start(struct hd_process *w, const struct hd_command *cmd, struct hd_control *control,
                     struct hd_streams *streams, struct hd_err *err);
/* Waits a tick. Returns a process that has ended, with how, or NULL. */
struct hd_process *hd_processes_wait(struct hd_process *w, size_t n, const struct hd_watch *watch,
                                     struct hd_outcome *out);
/* They stood still for so long because we made them. */
void hd_processes_excuse(struct hd_process *w, size_t n, double seconds);

/* Starts the command and watches it until it has ended. */
int hd_supervise(const struct hd_command *cmd, struct hd_control *control, struct hd_streams *streams,
                 const struct hd_watch *watch, struct hd_outcome *out, struct hd_err *err);

/* Becomes the program in the place of this process, as one that hd_process_start starts. Returns only to say why it
 * could not. */
int hd_exec(const struct hd_command *cmd, const struct hd_control *control, const struct hd_streams *s,
            struct hd_err *err);
/* Makes room for the descriptors that the runtime expects. */
void hd_raise_file_limit(void);
/* Undoes what the process of this control, which is dead, has changed in the file system. */
void hd_restore_files(const struct hd_control *control);

/* SIGINT, SIGTERM and SIGHUP from now on ask the search to end; the number of them so far. */
void hd_interrupt_catch(void);
int hd_interrupts(void);

/* ---- store.c, schedule.c: the folder of a finding ---- */

struct hd_schedule {
  char strategy[32];
  uint64_t seed, execution, max_length, ignore, key;
  uint32_t restart; /* HD_RESTART_MEMORY or HD_RESTART_FORK */
  bool spurious, timeouts_any, leaks, thread_leaks, exit_status, partial;
  enum hd_kind kind;
  hd_step *step; /* owned */
  size_t nsteps;
  uint64_t *visible; /* owned */
  size_t nvisible;
  bool plain; /* not stored: when it is run, the callers of places are recorded, for a story */
};

void hd_schedule_format(struct hd_str *out, const struct hd_schedule *s);
/* `name` is the file's name for messages. */
int hd_schedule_parse(struct hd_schedule *s, char *text, size_t len, const char *name, struct hd_err *err);
void hd_schedule_fini(struct hd_schedule *s);
void hd_schedule_config(const struct hd_schedule *s, struct hd_config *c);
/* Whether the key tells this finding from others of its kind: not for a death of the process, nor for a
 * hang, which is seen wherever the program happens to be, nor for leaks, which are one finding together. */
bool hd_schedule_has_key(const struct hd_schedule *s);

struct hd_store {
  char *dir; /* ".heddle" or --out */
};
/* Checks that findings can be stored before a search begins; leaves nothing behind. */
int hd_store_init(struct hd_store *s, const char *dir, struct hd_err *err);
void hd_store_fini(struct hd_store *s);

/* What is written for one finding. */
struct hd_record {
  struct hd_finding *finding;
  const struct hd_schedule *schedule;
  const struct hd_rerun *rerun; /* of that schedule: its trace */
  const struct hd_command *command;
  const struct hd_input *input;
  const struct hd_str *output;
  const struct hd_reduction *reduction; /* or NULL */
};
/* Writes the folder with the next free number; sets finding->id and ->folder. */
int hd_store_write(struct hd_store *s, struct hd_record *r, struct hd_err *err);

/* What is read back for a replay. */
struct hd_stored {
  struct hd_schedule schedule;
  char *trace;               /* path of it */
  uint64_t nevents;          /* that it has, without accesses that were no scheduling points */
  struct hd_command command; /* program identity as recorded */
  bool smaller;              /* they are of the smaller one */
  char *title;
  size_t before, after; /* rows of its story whose order matters, plus 1; 0: not known */
  char *input_path;     /* NULL: none */
};
/* Reads the smaller schedule and its events if there is one, unless `original`. */
int hd_store_read(const char *dir, bool original, struct hd_stored *out, struct hd_err *err);
/* Puts a smaller schedule into the folder that is there, and what is to be told now; the original stays. */
int hd_store_add(const char *dir, struct hd_finding *f, const struct hd_reduction *r,
                 const struct hd_command *cmd, struct hd_err *err);
void hd_stored_fini(struct hd_stored *s);
/* What a folder says about its finding: as JSON, as text, and the first `most` bytes of the program's output. The caller
 * frees. */
int hd_store_texts(const char *dir, size_t most, json_t **finding, char **text, char **output,
                   struct hd_err *err);
/* The search that the folder of findings has kept; NULL if there is none. */
#define HD_SEARCH_FILE "search.json"
int hd_store_search(const char *dir, json_t **out, struct hd_err *err);

/* ---- rerun.c: running a schedule again ---- */

struct hd_rerun {
  struct hd_outcome outcome;
  bool found; /* some finding */
  struct hd_capture capture;
  struct hd_control control; /* what the process left, until hd_rerun_fini */
  const struct hd_event
      *event; /* every operation, with values; accesses that were no steps are HD_EV_PLAIN */
  size_t nevents;
  const uint64_t *calls; /* HD_CALLS for each of the first `ncalls` events: who called its place */
  size_t ncalls;
  uint8_t *kept;            /* [nevents] whether it goes into the trace; owned */
  struct hd_module *module; /* owned */
  size_t nmodules;
  char *error; /* why the runtime gave up, or NULL; owned */
  struct hd_status status;
};
/* What kind of finding it is when the process died like that. */
enum hd_kind hd_death_kind(const struct hd_outcome *o, const struct hd_control *c);

/* Looks whether the program of a stored finding can be run. `now`: as it is today; `rebuilt`: it is another one. */
int hd_stored_ready(struct hd_stored *s, struct hd_program *now, bool *rebuilt, struct hd_err *err);

/* Puts the schedule where the runtime looks for it. pre: the control's configuration is that of the schedule. */
void hd_control_schedule(const struct hd_control *c, const struct hd_schedule *s);

/* Follows the schedule in a fresh process. */
int hd_rerun_schedule(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
                      enum hd_output how, struct hd_str *kept, double hang_timeout, struct hd_rerun *out,
                      struct hd_err *err);
/* The same with another configuration than that of the schedule. */
int hd_rerun_config(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_config *config,
                    const struct hd_input *in, enum hd_output how, struct hd_str *kept, double hang_timeout,
                    struct hd_rerun *out, struct hd_err *err);
void hd_rerun_fini(struct hd_rerun *r);
/* What was recorded, as a trace; with `names`, places and objects have their names; with `all`, accesses to memory of
 * one thread alone are there too. Close it before hd_rerun_fini. */
struct hd_tr_source *hd_rerun_trace(const struct hd_rerun *r, const struct hd_command *cmd, bool names,
                                    bool all);
/* Whether it gave the finding of the schedule; if not, says in `why` what happened instead. */
bool hd_rerun_same(const struct hd_rerun *r, const struct hd_schedule *s, struct hd_str *why);

/* ---- reduce.c: smaller schedules with the same finding ---- */

struct hd_reduction {
  bool found; /* it is a schedule with the same finding, confirmed; it may be no smaller than the first one */
  bool fewest; /* there is none with fewer preemptions */
  struct hd_schedule schedule;
  struct hd_rerun rerun; /* the run that confirmed it */
  struct hd_cost before, after;
  uint64_t tries;
  double seconds;
};
/* Looks for the smallest schedule with the finding `f` of `s`, for about so many seconds. */
int hd_reduce(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
              const struct hd_finding *f, double seconds, double hang_timeout, struct hd_reduction *out,
              struct hd_err *err);
void hd_reduction_fini(struct hd_reduction *r);
/* Follows the steps as far as that is possible; `fails`: that gave the finding `f`, or it is not known. */
int hd_reduce_try(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
                  const struct hd_finding *f, double hang_timeout, bool *fails, struct hd_err *err);

/* ---- explain.c ---- */

/* The story of `f` from its run; NULL when there is nothing to tell. */
struct hd_story *hd_story_of(const struct hd_rerun *run, const struct hd_finding *f,
                             struct hd_symbolizer *sym);

/* Looks for a smaller schedule with the finding; if there is one, the finding is replaced by the same one as that
 * schedule shows it. */
int hd_explain(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
               struct hd_finding **f, double seconds, double hang_timeout, struct hd_reduction *out,
               struct hd_err *err);

/* "the program called sem_wait, which ... at x.c:12 (worker)": why the runtime gave up. */
void hd_runtime_error_text(struct hd_str *out, const struct hd_ctl *ctl, const struct hd_command *cmd);
int hd_runtime_error_code(uint32_t error);

/* ---- gdb.c ---- */

/* Starts gdb in the failing execution. `original`: as for hd_store_read; `run`: a replay that has shown the finding; `args`: further arguments for gdb,
 * ends with NULL. Returns gdb's exit code, or an error. */
int hd_gdb(const struct hd_stored *stored, const char *dir, bool original, const struct hd_rerun *run,
           char **args, struct hd_err *err);
/* The verb by which gdb starts the program. */
int hd_cmd_gdb_start(int argc, char **argv);
#define HD_GDB_START "gdb-start"

/* ---- search.c ---- */

/* Searches as the options say, reports, stores, and returns the exit code. */
int hd_search(struct hd_options *o, enum hd_verb verb);

#endif
