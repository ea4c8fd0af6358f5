/* cmd_cluster.c: `heddle cluster check`: `heddle check` as one rank of many, which mpirun or srun have started. Runs in the
 * supervisor of each rank. */
#include "cli/cli.h"
#include "cluster/cluster.h"
#include "cluster/simulate.h"

#include "abi/abi.h"
#include "session/process.h"
#include "session/rerun.h"

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

#define LAST_STATUS 5 /* of heddle itself; others are those of a rank that was killed */
#define STALLED 256   /* it was ended: it did not save the search any more */
#define STALL 120.0   /* seconds */
#define HASTE 1.0     /* seconds: a run that is lost sooner ... */
#define HASTY 5       /* ... so many times in a row will not get further */

/* The place of --save FILE in the command; 0: it is missing. */
static int find_save(int argc, char **argv) {
  for (int i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--save") == 0 || strcmp(argv[i], "--resume") == 0) return i;
  return 0;
}

/* When the file was saved last; 0: never. */
static double saved_at(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec * 1e-9 : 0;
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

/* Runs the command while the file changes, at least every `stall` seconds. Returns its status. */
static int run_command(char **argv, const char *save, double stall) {
  int status = 0, forwarded = 0;
  double last = saved_at(save), since = hd_now();
  pid_t child = fork();
  if (child == 0) {
    hd_interrupt_release();
    execvp(argv[0], argv);
    hd_say("cannot start %s: %s", argv[0], strerror(errno));
    _exit(3);
  }
  if (child < 0) return 3;
  for (pid_t done; (done = waitpid(child, &status, WNOHANG)) != child;) {
    HD_BUG_ON(done < 0 && errno != EINTR);
    if (forwarded < hd_interrupts()) {
      kill(child, SIGTERM);
      forwarded++;
    }
    double at = saved_at(save);
    if (at != last || forwarded) {
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
  int at = find_save(argc, argv), hasty = 0;
  if (!at) {
    hd_fail(&err, HD_EUSAGE, "heddle cluster --retry needs a command with --save FILE");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  char *save = argv[at];
  for (;;) {
    double began = hd_now(), before = saved_at(argv[at + 1]);
    int status = run_command(argv, argv[at + 1], stall);
    if (status <= LAST_STATUS || hd_interrupts() > 0) return status;
    bool fruitless = saved_at(argv[at + 1]) == before && (status == STALLED || hd_now() - began < HASTE);
    hasty = fruitless ? hasty + 1 : 0;
    if (hasty == HASTY) {
      hd_fail(&err, HD_EENV, "the command was lost %d times in a row, the last time with status %d: gave up",
              HASTY, status);
      return hd_err_exit(&err);
    }
    argv[at] = access(argv[at + 1], R_OK) == 0 ? (char *)"--resume" : save;
    const char *then =
        argv[at] == save ? "the search starts again" : "the search continues where it was saved";
    if (status == STALLED)
      hd_warn("nothing was saved for %g s; %s", stall, then);
    else
      hd_warn("a rank was lost (status %d); %s", status, then);
  }
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

/* The words of `heddle check`, from "check" on: a rank runs one process, or with --ranks-per-node N its share of those that
 * the machine can run at once; --jobs, which comes later, says otherwise. The caller frees. */
static char **check_words(int *argc, char **argv, struct hd_err *err) {
  static char number[16] = "1";
  char **words = hd_alloc(((size_t)*argc + 3) * sizeof *words);
  int n = 0;
  words[n++] = argv[0];
  words[n++] = "--jobs";
  words[n++] = number;
  int i = 1;
  for (; i < *argc && strcmp(argv[i], "--") != 0; i++) {
    const char *value = NULL;
    static const char name[] = "--ranks-per-node";
    if (strncmp(argv[i], name, sizeof name - 1) == 0 && argv[i][sizeof name - 1] == '=')
      value = argv[i] + sizeof name;
    else if (strcmp(argv[i], name) == 0)
      value = i + 1 < *argc ? argv[++i] : "";
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

int hd_cmd_cluster(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (argc < 2 || strcmp(argv[1], "--help") == 0) return hd_help_verb("cluster"), argc < 2 ? 2 : 0;
  if (strcmp(argv[1], "simulate") == 0) return simulate(argc - 2, argv + 2);
  if (strcmp(argv[1], "--retry") == 0) return retry(argc - 2, argv + 2);
  if (strcmp(argv[1], "check") != 0) {
    hd_fail(&err, HD_EUSAGE, "heddle cluster knows `check` and --retry, not '%s'", argv[1]);
    return hd_err_exit(&err);
  }
  int n = argc - 1;
  char **words = check_words(&n, argv + 1, &err);
  if (!words || hd_options_parse(&o, HD_VERB_CHECK, n, words, &err) != HD_OK) {
    free(words);
    return hd_err_exit(&err);
  }
  if (o.help) return free(words), hd_help_verb("cluster"), 0;
  if (o.nargs == 0 || o.config || o.targets.n) {
    free(words);
    hd_fail(&err, HD_EUSAGE, "heddle cluster check needs a program, after `--`");
    return hd_err_exit(&err);
  }
  /* Launchers give their input to the first rank alone: then the ranks would not run the same program. */
  int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (none >= 0) dup2(none, 0);
  struct hd_cluster *c = NULL;
  int code = hd_cluster_open(&c, &err) == HD_OK ? hd_present_cluster(&o, c) : hd_err_exit(&err);
  hd_cluster_close(c);
  free(words);
  return code;
}
