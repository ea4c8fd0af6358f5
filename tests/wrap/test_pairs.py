"""Functions that take several things of their caller's: starting programs, positions in folders, the system's clock.

A pair is a call and what a second thread does to the same memory. Without an order it is a race, whose place is the call;
with a mutex every execution is right.
"""
from scratch import each
from wrapped import kinds, program

SHARED = """
#include <spawn.h>
#include <sys/timex.h>
static char path[16] = "/bin/true", word[8] = "A=1", value[8] = "B=1";
static char *list[] = {"true", word, NULL}, *names[] = {value, NULL};
static posix_spawn_file_actions_t actions;
static posix_spawnattr_t attributes;
static struct sched_param param;
static sigset_t set;
static short flags;
static pid_t pid;
static int number, file = -1;
static struct timex now;
static DIR *folder;
/* Each of these writes what is there. */
static void write_back(void *p, size_t k) { for (volatile char *b = p; k--; b++) *b = *b; }
#define BACK(x) write_back(&(x), sizeof(x))
__attribute__((constructor)) static void prepare(void) {
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigemptyset(&set);
  folder = opendir("/");
  file = open("/bin/true", O_RDONLY);
}
"""
ARGUMENTS = ("BACK(word)", "BACK(list)")
NAMES = ("BACK(value)", "BACK(names)")
ATTRIBUTES = ("BACK(attributes)", "posix_spawnattr_setflags(&attributes, 0)")
ACTIONS = ("BACK(actions)", "posix_spawn_file_actions_addclose(&actions, 9)")
OWN = ("BACK(*environ[0])", "BACK(environ[0])")

# name: the call, and what conflicts with it
EXEC = {
    "execv": ("execv(path, list)", "BACK(path)", *ARGUMENTS, *OWN),
    "execvp": ("execvp(path, list)", "BACK(path)", *ARGUMENTS, *OWN),
    "execve": ("execve(path, list, names)", "BACK(path)", *ARGUMENTS, *NAMES),
    "execvpe": ("execvpe(path, list, names)", "BACK(path)", *ARGUMENTS, *NAMES),
    "fexecve": ("fexecve(file, list, names)", *ARGUMENTS, *NAMES),
    "execveat": ("execveat(AT_FDCWD, path, list, names, 0)", "BACK(path)", *ARGUMENTS, *NAMES),
    "execl": ("execl(path, \"true\", word, (char *)0)", "BACK(path)", "BACK(word)", *OWN),
    "execlp": ("execlp(path, \"true\", word, (char *)0)", "BACK(path)", "BACK(word)", *OWN),
    "execle": ("execle(path, \"true\", word, (char *)0, names)", "BACK(path)", "BACK(word)", *NAMES),
}
PAIRS = {
    "posix_spawn": ("posix_spawn(&pid, path, &actions, &attributes, list, names)", "BACK(path)", *ARGUMENTS, *NAMES,
                    *ACTIONS, *ATTRIBUTES, "result = pid"),
    "posix_spawnp": ("posix_spawnp(&pid, path, &actions, &attributes, list, names)", "BACK(path)", *ARGUMENTS, *NAMES,
                     *ACTIONS, *ATTRIBUTES, "result = pid"),
    "posix_spawnattr_init": ("posix_spawnattr_init(&attributes)", *ATTRIBUTES),
    "posix_spawnattr_destroy": ("posix_spawnattr_destroy(&attributes)", *ATTRIBUTES),
    "posix_spawn_file_actions_init": ("posix_spawn_file_actions_init(&actions)", *ACTIONS),
    "posix_spawn_file_actions_destroy": ("posix_spawn_file_actions_destroy(&actions)", "BACK(actions)"),
    "posix_spawn_file_actions_addclose": ("posix_spawn_file_actions_addclose(&actions, 8)", *ACTIONS),
    "posix_spawn_file_actions_adddup2": ("posix_spawn_file_actions_adddup2(&actions, 1, 8)", *ACTIONS),
    "posix_spawn_file_actions_addopen": ("posix_spawn_file_actions_addopen(&actions, 8, path, O_RDONLY, 0)", *ACTIONS,
                                         "BACK(path)"),
    "posix_spawn_file_actions_addchdir_np": ("posix_spawn_file_actions_addchdir_np(&actions, path)", *ACTIONS, "BACK(path)"),
    "posix_spawn_file_actions_addfchdir_np": ("posix_spawn_file_actions_addfchdir_np(&actions, 8)", *ACTIONS),
    "posix_spawn_file_actions_addclosefrom_np": ("posix_spawn_file_actions_addclosefrom_np(&actions, 8)", *ACTIONS),
    "telldir": ("telldir(folder)", "rewinddir(folder)", "readdir(folder)"),
    "rewinddir": ("rewinddir(folder)", "telldir(folder)", "readdir(folder)"),
    "seekdir": ("seekdir(folder, 0)", "telldir(folder)", "readdir(folder)"),
    "adjtimex": ("adjtimex(&now)", "result = now.freq", "BACK(now.freq)"),
    "ntp_adjtime": ("ntp_adjtime(&now)", "result = now.freq", "BACK(now.freq)"),
    "clock_adjtime": ("clock_adjtime(CLOCK_REALTIME, &now)", "result = now.freq", "BACK(now.freq)"),
}
# posix_spawnattr_get* and set*: the variable, and how it is passed to set*
ATTRIBUTE = {"flags": ("flags", "flags"), "pgroup": ("pid", "pid"), "schedpolicy": ("number", "number"), "sigmask": ("set", "&set"),
             "sigdefault": ("set", "&set"), "schedparam": ("param", "&param")}
# The names are whole, as test_covered.py looks for them.
SETTERS = """posix_spawnattr_setflags posix_spawnattr_setpgroup posix_spawnattr_setschedpolicy posix_spawnattr_setsigmask
posix_spawnattr_setsigdefault posix_spawnattr_setschedparam"""
GETTERS = """posix_spawnattr_getflags posix_spawnattr_getpgroup posix_spawnattr_getschedpolicy posix_spawnattr_getsigmask
posix_spawnattr_getsigdefault posix_spawnattr_getschedparam"""
for function in SETTERS.split():
    variable, given = ATTRIBUTE[function[len("posix_spawnattr_set"):]]
    PAIRS[function] = ("%s(&attributes, %s)" % (function, given), *ATTRIBUTES, *(("BACK(%s)" % variable,) if "&" in given else ()))
for function in GETTERS.split():
    variable, _ = ATTRIBUTE[function[len("posix_spawnattr_get"):]]
    PAIRS[function] = ("%s(&attributes, &%s)" % (function, variable), *ATTRIBUTES, "write_back(&%s, 1)" % variable)
LOCKED = "pthread_mutex_lock(&m); %s; pthread_mutex_unlock(&m)"


def ways(table):
    return each(*["%s:%d" % (name, k) for name in sorted(table) for k in range(1, len(table[name]))])


def races(s, one, two):
    r, _ = kinds(s, program(one, two, extra=SHARED))
    f = s.is_bug(r, ["data-race"])
    s.check(any(w["function"] == "one" for w in f["where"]), "the call in `one` is not a place of the finding")


def right(s, one, two, executions=2):
    """Both orders of the sections, and no other execution; or, without a number, as many as depth-first search finds classes."""
    prog = s.build_text(program(LOCKED % one, LOCKED % two, extra=SHARED), "-O1", "-fno-builtin", "-lm")
    r = s.search("check", prog, "--strategy", "optimal")
    s.same(r["inexact"], [], "reasons")
    s.is_clean(r, executions or s.search("check", prog, "--strategy", "dfs", "--classes")["classes"])


@ways(PAIRS)
def test_pair(s, case):
    name, k = case.split(":")
    call, other = PAIRS[name][0], PAIRS[name][int(k)]
    races(s, call, other)
    right(s, call, other)


@ways(EXEC)
def test_exec(s, case):
    """The other program begins wherever the other threads are; then there is no such program."""
    name, k = case.split(":")
    call, other = EXEC[name][0], EXEC[name][int(k)]
    races(s, call, other)
    right(s, call, other, None)
    right(s, "file = -1; strcpy(path, \"/none\"); %s" % call, other)


# ---- the environment, which setenv changes, is that of the new program; its PATH says where that is ----

GIVEN = {
    "execv": "execv(\"/bin/sh\", shell)", "execvp": "execvp(\"sh\", shell)", "execve": "execve(\"/bin/sh\", shell, before)",
    "execvpe": "execvpe(\"sh\", shell, before)", "fexecve": "fexecve(file, shell, before)",
    "execveat": "execveat(AT_FDCWD, \"/bin/sh\", shell, before, 0)",
    "execl": "execl(\"/bin/sh\", \"sh\", \"-c\", shell[2], (char *)0)", "execlp": "execlp(\"sh\", \"sh\", \"-c\", shell[2], (char *)0)",
    "execle": "execle(\"/bin/sh\", \"sh\", \"-c\", shell[2], (char *)0, before)",
    "posix_spawn": "pid_t p; ended = !posix_spawn(&p, \"/bin/sh\", 0, 0, shell, before) && waitpid(p, &status, 0)",
    "posix_spawnp": "pid_t p; ended = !posix_spawnp(&p, \"sh\", 0, 0, shell, before) && waitpid(p, &status, 0)",
    "system": "status = system(shell[2])", "popen": "status = pclose(popen(shell[2], \"r\"))",
}
FOUND = ("execvp", "execvpe", "execlp", "posix_spawnp")
SHELL = """
#include <spawn.h>
static char **before, *shell[] = {"sh", "-c", "%s", NULL};
static sem_t ready;
static int file, ended = 1;
__attribute__((constructor)) static void prepare(void) {
  sem_init(&ready, 0, 0);
  setenv("A", "1", 1);
  before = environ;
  file = open("/bin/sh", O_RDONLY);
}
"""


def shell(s, one, two, command, *options):
    """`one` ends with the status of the command, or with 9 if there was no shell to run it."""
    one = "int status = -1; %s; (void)ended; _exit(status == -1 || !ended ? 9 : WEXITSTATUS(status))" % one
    prog = s.build_text(program(one, two, extra=SHELL % command), "-O1", "-fno-builtin", "-lm")
    return s.search("check", prog, "--strategy", "optimal", *options)


@each(*sorted(GIVEN))
def test_environment(s, name):
    change = "setenv(\"A\", \"2\", 1)"
    for value in 1, 2:
        f = s.is_bug(shell(s, GIVEN[name], change, "test $A = %d" % value), ["exit"])
        s.same(f["status"], 1, "status")
    r = shell(s, "sem_wait(&ready); " + GIVEN[name], change + "; sem_post(&ready)", "test $A = 2")
    s.is_clean(r)
    s.same("outside" in [x["reason"] for x in r["inexact"]], name not in EXEC, "a child is waited for")
    s.check(r["complete"] or name not in EXEC, "reasons: %s" % r["inexact"])


@each(*FOUND)
def test_path(s, name):
    change = "setenv(\"PATH\", \"/none\", 1)"
    for command, right, status in ("true", 0, 9), ("exit 3", 9, 3):
        f = s.is_bug(shell(s, GIVEN[name], change, command, "--exit-status", str(right)), ["exit"])
        s.same(f["status"], status, "status")
