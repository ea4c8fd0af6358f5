/* cmd_cluster.c: `heddle cluster check`: `heddle check` as one rank of many, which mpirun or srun have started. Runs in the
 * supervisor of each rank. */
#include "cli/cli.h"
#include "cluster/cluster.h"
#include "cluster/simulate.h"

#include "abi/abi.h"
#include "session/process.h"
#include "session/rerun.h"
#include "session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAST_STATUS 5  /* of heddle itself; others are those of a rank that was killed */
#define STALLED 256    /* it was ended: it did not save the search any more, */
#define STUCK 257      /* or it did not end after its processes */
#define STALL 120.0    /* seconds */
#define ONE_SIGNAL 1.0 /* seconds: signals that come together are one */
#define AFTERMATH 3.0  /* seconds that a launcher may take to end after its processes */
#define LOOK_EVERY 0.5 /* seconds: at its processes */
#define HASTE 1.0      /* seconds: a run that is lost sooner ... */
#define HASTY 5        /* ... so many times in a row will not get further */

/* The file of --save or --resume in the command, and in *at the place of the option; NULL: it is missing. */
static const char *find_save(int argc, char **argv, int *at) {
  static const char *const option[] = {"--save", "--resume"};
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    for (size_t k = 0; k < 2; k++) {
      size_t n = strlen(option[k]);
      *at = i;
      if (strncmp(argv[i], option[k], n) != 0) continue;
      if (argv[i][n] == '=') return argv[i] + n + 1;
      if (!argv[i][n] && i + 1 < argc) return argv[i + 1];
    }
  return NULL;
}

/* When the file was saved last; 0: never. */
static double saved_at(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec * 1e-9 : 0;
}

/* Whether the process has ended, and its parent has not noticed. */
static bool is_zombie(int pid) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  const char *end = strrchr(text, ')');
  return end && strncmp(end, ") Z", 3) == 0;
}

/* Whether the launcher has outlived all processes that it has started, and takes no notice: mpirun of Open MPI 4.1 may wait
 * for ever (in PMIx_server_finalize) if a rank is killed while it connects. */
static bool is_stuck(pid_t launcher) {
  char path[64];
  unsigned dead = 0, alive = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)launcher);
  DIR *tasks = opendir(path);
  if (!tasks) return false;
  for (struct dirent *task; (task = readdir(tasks));) {
    char list[400];
    snprintf(list, sizeof list, "%s/%s/children", path, task->d_name);
    FILE *f = task->d_name[0] == '.' ? NULL : fopen(list, "re");
    for (int pid; f && fscanf(f, "%d", &pid) == 1;) is_zombie(pid) ? dead++ : alive++;
    if (f) fclose(f);
  }
  closedir(tasks);
  return dead && !alive;
}

/* Ends a command that a signal may not end. */
static void end_command(pid_t child, int *status) {
  kill(child, SIGTERM);
  for (int i = 0; i < 50; i++) {
    if (waitpid(child, status, WNOHANG) == child) return;
    nanosleep(&(struct timespec){0, 100000000}, NULL);
  }
  kill(child, SIGKILL);
  while (waitpid(child, status, 0) < 0 && errno == EINTR) continue;
}

/* In a process group of its own: mpirun kills its ranks when it gets a second signal, so a Ctrl-C must not reach it beside
 * the signal that it gets from us, and a `timeout` that signals twice is one signal. */
static pid_t start_command(char **argv) {
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    hd_interrupt_release();
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (none >= 0) dup2(none, 0);
    execvp(argv[0], argv);
    hd_say("cannot start %s: %s", argv[0], strerror(errno));
    _exit(3);
  }
  return child;
}

/* Runs the command while the file changes, at least every `stall` seconds. Returns its status. */
static int run_command(char **argv, const char *save, double stall) {
  int status = 0, seen = 0;
  double last = saved_at(save), since = hd_now(), signalled = 0, looked = since, running = since;
  pid_t child = start_command(argv);
  if (child < 0) return 3;
  for (pid_t done; (done = waitpid(child, &status, WNOHANG)) != child;) {
    HD_BUG_ON(done < 0 && errno != EINTR);
    if (seen < hd_interrupts()) {
      seen = hd_interrupts();
      if (!signalled || hd_now() - signalled > ONE_SIGNAL) {
        kill(child, SIGTERM);
        signalled = hd_now();
      }
    }
    double at = saved_at(save), now = hd_now();
    if (now - looked > LOOK_EVERY) {
      looked = now;
      if (!is_stuck(child)) running = now;
      if (now - running > AFTERMATH) {
        end_command(child, &status);
        return STUCK;
      }
    }
    if (at != last || seen) {
      last = at;
      since = hd_now();
    } else if (stall > 0 && hd_now() - since > stall) {
      end_command(child, &status);
      return STALLED;
    }
    nanosleep(&(struct timespec){0, 20000000}, NULL);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a launcher that was ended says is not the status of the first rank. */
static int interrupted(int status, const char *file) {
  struct hd_err err;
  uint64_t findings = 0;
  if (status != 1 && status <= LAST_STATUS) return status;
  return hd_saved_findings(file, &findings, &err) == HD_OK && findings ? 1 : 5;
}

/* `heddle cluster --retry [--stall S] mpirun ... heddle cluster check --save FILE ...`: runs the command, and when a rank
 * is lost continues the search from the file. */
static int retry(int argc, char **argv) {
  struct hd_err err;
  double stall = STALL;
  if (argc > 2 && strcmp(argv[0], "--stall") == 0) {
    char *end;
    stall = strtod(argv[1], &end);
    if (end == argv[1] || *end || stall < 0)
      return hd_fail(&err, HD_EUSAGE, "heddle cluster --retry --stall needs seconds, not '%s'", argv[1]),
             hd_err_exit(&err);
    argc -= 2;
    argv += 2;
  }
  int at, hasty = 0;
  const char *file = find_save(argc, argv, &at);
  if (!file) {
    hd_fail(&err, HD_EUSAGE, "heddle cluster --retry needs a command with --save FILE");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  char *save = argv[at], *resume = hd_sprintf(strchr(save, '=') ? "--resume=%s" : "--resume", file);
  int status;
  for (;;) {
    double began = hd_now(), before = saved_at(file);
    status = run_command(argv, file, stall);
    if (hd_interrupts() > 0) status = interrupted(status, file);
    if (status <= LAST_STATUS) break;
    bool fruitless =
        saved_at(file) == before && (status == STALLED || status == STUCK || hd_now() - began < HASTE);
    hasty = fruitless ? hasty + 1 : 0;
    if (hasty == HASTY) {
      hd_fail(&err, HD_EENV, "the command was lost %d times in a row, the last time with status %d: gave up",
              HASTY, status);
      status = hd_err_exit(&err);
      break;
    }
    argv[at] = access(file, R_OK) == 0 ? resume : save;
    const char *then =
        argv[at] == save ? "the search starts again" : "the search continues where it was saved";
    if (status == STALLED)
      hd_warn("nothing was saved for %g s; %s", stall, then);
    else if (status == STUCK)
      hd_warn("%s did not end, although all its processes have; %s", argv[0], then);
    else
      hd_warn("a rank was lost (status %d); %s", status, then);
  }
  free(resume);
  return status;
}

/* `heddle cluster simulate NAME=VALUE...`: for docs/scaling.md and tests; prints one JSON object. */
static int simulate(int argc, char **argv) {
  struct hd_simulation s;
  struct hd_simulated r;
  struct hd_err err;
  char *tree = NULL;
  hd_simulation_init(&s);
  for (int i = 0; i < argc; i++) {
    const char *value = strchr(argv[i], '=');
    size_t n = value ? (size_t)(value++ - argv[i]) : 0;
    double v = value ? strtod(value, NULL) : -1;
#define IS(name) (n == sizeof name - 1 && memcmp(argv[i], name, n) == 0 && v >= 0)
    if (n == sizeof "recorded" - 1 && memcmp(argv[i], "recorded", n) == 0) {
      size_t size;
      free(tree);
      if (hd_read_file(value, (size_t)1 << 31, &tree, &size, &err) != HD_OK) return hd_err_exit(&err);
      s.shape = HD_SHAPE_RECORDED;
      s.recorded = (const struct hd_branching *)(void *)tree;
      s.n = size / sizeof *s.recorded;
    } else if (IS("again"))
      s.again = v > 0;
    else if (IS("ranks") && v >= 1 && v <= 65536)
      s.ranks = (int)v;
    else if (IS("orders") && v <= 16)
      s.shape = HD_SHAPE_ORDERS, s.n = (uint64_t)v;
    else if (IS("uneven"))
      s.shape = HD_SHAPE_UNEVEN, s.n = (uint64_t)v;
    else if (IS("execution"))
      s.execution = v;
    else if (IS("seed"))
      s.seed = (uint64_t)v;
    else if (IS("latency"))
      s.latency = v;
    else if (IS("jitter"))
      s.jitter = v;
    else if (IS("stall"))
      s.stall = v;
    else if (IS("lost") && v < s.ranks)
      s.lost = (int)v;
    else
      return hd_fail(&err, HD_EUSAGE,
                     "heddle cluster simulate: '%s' is not one of ranks, orders, uneven, execution, "
                     "seed, latency, jitter, stall, lost, again=N, recorded=FILE",
                     argv[i]),
             hd_err_exit(&err);
#undef IS
  }
  if (s.shape == HD_SHAPE_RECORDED && s.n < 2)
    return hd_fail(&err, HD_EUSAGE, "heddle cluster simulate: the recorded tree has no branches"),
           hd_err_exit(&err);
  hd_simulate(&s, &r);
  double alone = (double)hd_simulation_executions(&s) * s.execution;
  printf("{\"ranks\": %d, \"over\": %s, \"executions\": %llu, \"expected\": %llu, \"seconds\": %.4f, "
         "\"speedup\": %.2f, \"efficiency\": %.4f, \"idle\": %.4f, \"messaging\": %.5f, \"units\": %llu, "
         "\"messages\": %llu, \"bytes\": %llu, \"busiest\": %llu}\n",
         s.ranks, r.over ? "true" : "false", (unsigned long long)r.executions,
         (unsigned long long)hd_simulation_executions(&s), r.seconds, alone / r.seconds,
         alone / r.seconds / s.ranks, r.idle, r.messaging, (unsigned long long)r.units,
         (unsigned long long)r.messages, (unsigned long long)r.bytes, (unsigned long long)r.busiest);
  free(tree);
  return 0;
}

/* The value of the option in argv[*i], which may be the next word; NULL: it is another one. */
static const char *value_of(const char *name, int argc, char **argv, int *i) {
  size_t n = strlen(name);
  if (strncmp(argv[*i], name, n) == 0 && argv[*i][n] == '=') return argv[*i] + n + 1;
  if (strcmp(argv[*i], name) != 0) return NULL;
  return *i + 1 < argc ? argv[++*i] : "";
}

static const char *scratch_folder(void) {
  const char *tmp = getenv("TMPDIR");
  return tmp && *tmp ? tmp : "/tmp";
}

/* The words of `heddle check`, from "check" on: a rank runs one process, or with --ranks-per-node N its share of those that
 * the machine can run at once; --jobs, which comes later, says otherwise. *stage: the folder of --stage, NULL: none. The caller
 * frees. */
static char **check_words(int *argc, char **argv, const char **stage, struct hd_err *err) {
  static char number[16] = "1";
  char **words = hd_alloc(((size_t)*argc + 3) * sizeof *words);
  int n = 0;
  words[n++] = argv[0];
  words[n++] = "--jobs";
  words[n++] = number;
  int i = 1;
  for (; i < *argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--stage") == 0) {
      *stage = scratch_folder();
      continue;
    }
    if (strncmp(argv[i], "--stage=", 8) == 0) {
      *stage = argv[i] + 8;
      continue;
    }
    const char *value = value_of("--ranks-per-node", *argc, argv, &i);
    if (!value) {
      words[n++] = argv[i];
      continue;
    }
    uint64_t ranks;
    if (!hd_parse_u64(value, 10, 4096, &ranks) || ranks == 0) {
      hd_fail(err, HD_EUSAGE, "--ranks-per-node needs a whole number from 1 to 4096, not '%s'", value);
      free(words);
      return NULL;
    }
    cpu_set_t cpus;
    unsigned have = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
    unsigned jobs = have / (unsigned)ranks;
    snprintf(number, sizeof number, "%u", jobs < 1 ? 1 : jobs < HD_MAX_WORKERS ? jobs : HD_MAX_WORKERS - 1);
  }
  for (; i < *argc; i++) words[n++] = argv[i];
  words[n] = NULL;
  *argc = n;
  return words;
}

/* Whether launchers that say so have started this process as a rank other than the first: what all ranks find wrong is said
 * once. */
static bool is_later_rank(void) {
  static const char *const name[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
    const char *rank = getenv(name[i]);
    if (rank) return strcmp(rank, "0") != 0;
  }
  return false;
}

/* How many processes were started together, as launchers say; 1 if they do not. */
static long started_together(void) {
  static const char *const name[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++)
    if (getenv(name[i])) return strtol(getenv(name[i]), NULL, 10);
  return 1;
}

/* A launcher of another implementation of MPI starts processes that do not see each other: each would run the whole search.
 * Returns HD_OK or an error. */
static int check_size(const struct hd_cluster *c, long started, struct hd_err *err) {
  if (hd_cluster_size(c) > 1 || started <= 1) return HD_OK;
  return hd_fail(
      err, HD_EENV,
      "heddle cluster: %ld processes were started, and MPI sees one: the launcher is not of the MPI that "
      "heddle was built with; of srun, try --mpi=pmix or --mpi=pmi2 (docs/cluster.md)",
      started);
}

static int refused(const struct hd_err *err) { return is_later_rank() ? -err->code : hd_err_exit(err); }

int hd_cmd_cluster(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (argc < 2 || strcmp(argv[1], "--help") == 0) return hd_help_verb("cluster"), argc < 2 ? 2 : 0;
  if (strcmp(argv[1], "simulate") == 0) return simulate(argc - 2, argv + 2);
  if (strcmp(argv[1], "--retry") == 0) return retry(argc - 2, argv + 2);
  if (strcmp(argv[1], "check") != 0) {
    hd_fail(&err, HD_EUSAGE, "heddle cluster knows `check` and --retry, not '%s'", argv[1]);
    return refused(&err);
  }
  int n = argc - 1;
  const char *stage = NULL;
  char **words = check_words(&n, argv + 1, &stage, &err);
  if (!words || hd_options_parse(&o, HD_VERB_CHECK, n, words, &err) != HD_OK) {
    free(words);
    return refused(&err);
  }
  if (o.help) return free(words), hd_help_verb("cluster"), 0;
  if (o.nargs == 0 || o.config || o.targets.n) {
    free(words);
    hd_fail(&err, HD_EUSAGE, "heddle cluster check needs a program, after `--`");
    return refused(&err);
  }
  /* Launchers give their input to the first rank alone: then the ranks would not run the same program. */
  int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (none >= 0) dup2(none, 0);
  struct hd_cluster *c = NULL;
  bool later = is_later_rank(); /* MPI says that a process it sees alone is the first */
  long started = started_together();
  int rc = hd_cluster_open(&c, &err);
  char *staged = NULL;
  if (rc == HD_OK) rc = check_size(c, started, &err);
  if (rc == HD_OK && stage) rc = hd_cluster_stage(c, o.args[0], stage, &staged, &err);
  if (staged) o.args[0] = staged;
  int code = rc == HD_OK ? hd_present_cluster(&o, c) : later ? -err.code : hd_err_exit(&err);
  hd_cluster_close(c);
  free(staged);
  free(words);
  return code;
}
