/* store.h: what is kept of a finding: its schedule and its folder .heddle/N. Runs in the supervisor. */
#ifndef HD_SESSION_STORE_H
#define HD_SESSION_STORE_H

#include "report/report.h"
#include "session/inputs.h"
#include "session/process.h"

struct hd_rerun;
struct hd_reduction;

/* ---- schedule.c ---- */

struct hd_schedule {
  char strategy[32];
  uint64_t seed, execution, max_length, ignore, key;
  uint32_t restart; /* HD_RESTART_MEMORY or HD_RESTART_FORK */
  bool spurious, timeouts_any, closed, leaks, thread_leaks, partial;
  uint64_t exit_status; /* the expected one */
  enum hd_kind kind;
  hd_step *step; /* owned */
  size_t nsteps;
  uint64_t *visible; /* owned */
  size_t nvisible;
  struct hd_numbers numbers; /* of the threads */
  struct hd_aims aims;       /* lines to reach */
  struct hd_inputs inputs;   /* their values; owned */
  uint32_t symbolic;         /* what was followed: bits of HD_SYMBOLIC_FOLLOWED */
  bool callers;              /* not stored: record the callers of each place, for a story */
};

void hd_schedule_format(struct hd_str *out, const struct hd_schedule *s);
/* `name` is the file's name for messages. */
int hd_schedule_parse(struct hd_schedule *s, char *text, size_t len, const char *name, struct hd_err *err);
void hd_schedule_fini(struct hd_schedule *s);
/* The configuration of a process that follows the schedule. */
void hd_schedule_config(const struct hd_schedule *s, struct hd_config *c);
/* Whether the key distinguishes this finding from others of its kind: not for a death of the process, nor for a hang,
 * which is noticed wherever the program happens to be, nor for leaks, which are one finding together. */
bool hd_schedule_has_key(const struct hd_schedule *s);

/* ---- store.c: writing ---- */

struct hd_store {
  char *dir; /* ".heddle" unless another one is named */
};
/* Checks that findings can be stored, before a search begins; creates nothing. `dir` NULL: ".heddle". */
int hd_store_init(struct hd_store *s, const char *dir, struct hd_err *err);
void hd_store_fini(struct hd_store *s);

/* The data stored for one finding. */
struct hd_record {
  struct hd_finding *finding;
  const struct hd_schedule *schedule;
  const struct hd_rerun *rerun; /* of that schedule: its trace; HD_RERUN_NONE: an empty one */
  const struct hd_command *command;
  const struct hd_input *input;
  const struct hd_str *output;
  const struct hd_reduction *reduction; /* or NULL */
};
/* Writes the folder with the next free number, or in place of that of the same finding of the same command; sets
 * finding->id and ->folder. */
int hd_store_write(struct hd_store *s, struct hd_record *r, struct hd_err *err);
/* Completes the folder of a finding that `heddle run` has stored without a trace: by its first replay. */
int hd_store_complete(const char *dir, const struct hd_finding *f, const struct hd_rerun *r,
                      const struct hd_command *cmd, struct hd_err *err);
/* Adds a smaller schedule to an existing folder and updates its texts; the original schedule stays. */
int hd_store_add(const char *dir, struct hd_finding *f, const struct hd_reduction *r,
                 const struct hd_command *cmd, struct hd_err *err);

/* ---- store.c: reading ---- */

/* Whether the folder is that of a finding, and whether it has a smaller schedule. */
bool hd_store_is_finding(const char *dir);
bool hd_store_is_minimised(const char *dir);
/* The path of the trace that a replay follows: that of the smaller schedule, if there is one. The caller frees. */
char *hd_store_trace(const char *dir);
/* The numbers of the findings in a folder, in order; the caller frees. */
unsigned *hd_store_list(const char *dir, size_t *n);

/* The data that a replay needs. */
struct hd_stored {
  struct hd_schedule schedule;
  char *trace;               /* its path */
  uint64_t nevents;          /* of the trace ... */
  uint64_t noperations;      /* ... and those that were operations of the schedule */
  struct hd_command command; /* program identity as recorded */
  char *title;
  size_t before, after; /* rows of its story whose order matters, plus 1; 0: not known */
  char *input_path;     /* NULL: none */
};
/* Reads the smaller schedule and its trace if there is one, unless `original`. */
int hd_store_read(const char *dir, bool original, struct hd_stored *out, struct hd_err *err);
void hd_stored_fini(struct hd_stored *s);

/* The description of a finding: JSON, text, and the first `most` bytes of the program's output. The caller frees. */
int hd_store_texts(const char *dir, size_t most, json_t **finding, char **text, char **output,
                   struct hd_err *err);

#define HD_SEARCH_FILE "search.json"
/* The search that is stored in the folder of findings; NULL if absent. The caller frees. */
int hd_store_search(const char *dir, json_t **out, struct hd_err *err);
/* Replaces members of it, if there is one: what several searches came to. `dir` NULL: ".heddle". */
int hd_store_search_update(const char *dir, json_t *parts, struct hd_err *err);

#endif
