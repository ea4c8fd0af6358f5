/* process.h: a tested process: its input and output, how it is started, watched and ended. Runs in the supervisor. */
#ifndef HD_SESSION_PROCESS_H
#define HD_SESSION_PROCESS_H

#include "session/command.h"
#include "session/control.h"

#include <sys/types.h>

/* ---- stream.c: input and output of the tested process ---- */

enum hd_output { HD_OUTPUT_NULL, HD_OUTPUT_SHOW, HD_OUTPUT_KEEP };

#define HD_OUTPUT_MAX (1u << 20) /* bytes kept of the output of a finding */

struct hd_input {
  int fd; /* memfd with the whole input, or -1: none */
  size_t size;
  bool inherit; /* the terminal (or an open pipe) itself */
};
/* Spools the supervisor's standard input. */
int hd_input_init(struct hd_input *in, bool may_inherit, struct hd_err *err);
/* Another owner of the same input. */
int hd_input_copy(struct hd_input *to, const struct hd_input *from, struct hd_err *err);
/* `path` NULL: no input. */
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
bool hd_streams_pump(struct hd_streams *s, int i);   /* forwards available data; false at the end */
void hd_streams_close(struct hd_streams *s);

/* ---- supervise.c: one tested process ---- */

/* How a process ended. */
enum hd_process_end {
  HD_PROCESS_DONE,    /* the runtime finished its work */
  HD_PROCESS_ERROR,   /* it gave up: status.error */
  HD_PROCESS_DIED,    /* a signal, or exit by itself */
  HD_PROCESS_HUNG,    /* killed by the watchdog */
  HD_PROCESS_STOPPED, /* killed since it did not stop on request */
  HD_PROCESS_START,   /* died before the runtime was ready */
  HD_PROCESS_AGAIN,   /* it asked for another one, to start its execution at main (ctl.again) */
};

struct hd_outcome {
  enum hd_process_end end;
  int signal, status; /* DIED: the signal, or 0 and the exit status */
};

/* The error of one that ended with HD_PROCESS_START. */
int hd_start_failed(const struct hd_outcome *o, const char *program, struct hd_err *err);
/* The kind of finding for such an end of the process. */
enum hd_kind hd_death_kind(const struct hd_outcome *o, const struct hd_control *c);

/* An execution that computes without a visible operation for this many hang timeouts counts as hung too. */
#define HD_STEP_TIMEOUT 6

struct hd_watch {
  double hang_timeout; /* seconds without any sign of life */
  double step_timeout; /* seconds of life without a visible operation; 0: no limit */
  double deadline;     /* on the clock of hd_now; 0: none */
  bool abrupt;         /* there is nothing to be saved: then the process is killed, not asked to stop */
  int interrupts;      /* hd_interrupts() that are already handled */
  int tick_ms;         /* polling interval; 0: a tenth of a second */
};

/* Counters that change while a process makes progress. */
struct hd_activity {
  uint64_t heartbeat, events, executions, nfindings, path_len, upkeep;
};

/* A running process. */
struct hd_process {
  struct hd_control *control;
  struct hd_streams *streams;
  bool running;
  pid_t pid;
  int pidfd;
  bool group;
  bool stopping; /* a stop was requested */
  double stop_since;
  bool alarmed;      /* HD_SIG_HANG has been sent */
  double changed_at; /* when activity was last seen, or when the alarm was sent */
  double stepped_at; /* when a visible operation was last seen */
  uint64_t starved;  /* nanoseconds for which it had waited for a processor, when it last seemed to hang */
  struct hd_activity last;
  enum hd_process_end killed_as;
  bool killed;
};

int hd_process_start(struct hd_process *w, const struct hd_command *cmd, struct hd_control *control,
                     struct hd_streams *streams, struct hd_err *err);
/* Waits a tick. Returns a process that has ended, and how in `out`, or NULL. */
struct hd_process *hd_processes_wait(struct hd_process *w, size_t n, const struct hd_watch *watch,
                                     struct hd_outcome *out);
/* From now on hd_supervise watches these processes, too, until it is called with NULL: a search goes on while one of its
 * findings is confirmed, and must not be left without a watchdog, nor miss its deadline. They are not reaped. */
void hd_processes_beside(struct hd_process *w, size_t n, const struct hd_watch *watch);
/* Does not count these seconds as inactivity: the supervisor made the processes wait. */
void hd_processes_excuse(struct hd_process *w, size_t n, double seconds);

/* From now on no process runs beyond this time (on the clock of hd_now; 0: no limit): what a search is given, and its grace.
 * A limit that is sooner stays. Returns the one before, for hd_time_end. */
double hd_time_begin(double last);
void hd_time_end(double before);
/* Seconds that are left; infinite without a limit. */
double hd_time_left(void);

/* Starts the command and watches it until it has ended. */
int hd_supervise(const struct hd_command *cmd, struct hd_control *control, struct hd_streams *streams,
                 const struct hd_watch *watch, struct hd_outcome *out, struct hd_err *err);

/* Replaces this process by the program, set up as hd_process_start does. Returns only on failure. */
int hd_exec(const struct hd_command *cmd, const struct hd_control *control, const struct hd_streams *s,
            struct hd_err *err);
/* Raises the limit of open files as the runtime requires. */
void hd_raise_file_limit(void);
/* Restores files that the dead process of this control changed. */
void hd_restore_files(const struct hd_control *control);

/* From now on SIGINT, SIGTERM and SIGHUP ask searches to stop; SIGHUP not where it is ignored (nohup). */
void hd_interrupt_catch(void);
/* In a child process: no longer. */
void hd_interrupt_release(void);
/* How many of these signals have arrived. */
int hd_interrupts(void);

#endif
