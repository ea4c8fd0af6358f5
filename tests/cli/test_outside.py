"""Programs that wait for something outside: time limits, Ctrl-C and the watchdog end every process of a search, and nothing
is waited for that cannot come."""
import os
import signal
import subprocess
import time

from scratch import each

# A data race, a change of a file, then a wait for a client that never comes.
SERVER = """
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int x, port;
static void *add(void *p) { x++; return p; }
static void *client(void *p) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int s = socket(AF_INET, SOCK_STREAM, 0);
  connect(s, (struct sockaddr *)&a, sizeof a);
  close(s);
  return p;
}
int main(int argc, char **argv) {
  pthread_t t, c;
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  fclose(fopen("server.pid", "w"));
  if (argc > 1 && strchr(argv[1], 'r')) {
    pthread_create(&t, 0, add, 0);
    x++;
    pthread_join(t, 0);
  }
  int s = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(s, (struct sockaddr *)&a, n) || listen(s, 4)) return 1;
  getsockname(s, (struct sockaddr *)&a, &n);
  port = a.sin_port;
  if (argc > 1 && strchr(argv[1], 'c')) {
    pthread_create(&c, 0, client, 0);
    close(accept(s, 0, 0));
    pthread_join(c, 0);
  }
  accept(s, 0, 0);
  return 0;
}
"""


def test_confirming_waits_for_no_search(s):
    """The search goes on with --all and waits for ever, with the lock of the files that the confirming run needs."""
    r = s.search("check", s.build_text(SERVER), "--all", "--max-executions", "2", "--hang-timeout", "1s", "--no-explain",
                 want=1, args=["r"])
    kinds = sorted(f["kind"] for f in r["findings"])
    s.check(kinds == ["data-race", "hang"], "found %s" % kinds)
    s.check(not os.path.exists(s.path("server.pid")), "server.pid is left")


@each("--time", "interrupt")
def test_ends(s, how):
    """A limit of time, and an interrupt, end a search whose processes wait."""
    command = [s.heddle, "check", "--all", "--no-explain", "--hang-timeout", "1h"]
    command += ["--time", "1s"] if how == "--time" else []
    command += ["--", s.build_text(SERVER), "r"]
    p = subprocess.Popen(command, cwd=s.path(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if how == "interrupt":
        for _ in range(600):
            time.sleep(0.05)
            if os.path.exists(s.path("server.pid")):
                break
        p.send_signal(signal.SIGINT)
    out = p.communicate(timeout=60)[0]
    s.check(p.returncode in (1, 5), "status %d\n%s" % (p.returncode, out))
    s.check(("--time" if how == "--time" else "interrupted") in out, "it is not said why it ended:\n%s" % out)


def test_own_client(s):
    """Once the program has been its own client, nobody else is expected: a deadlock, at once."""
    r = s.search("check", s.build_text(SERVER), "--hang-timeout", "1h", want=1, args=["c"])
    s.check([f["kind"] for f in r["findings"]] == ["deadlock"], "found %s" % r["findings"])
    s.replay()


def test_closed(s):
    r = s.search("check", s.build_text(SERVER), "--closed", "--hang-timeout", "1h", want=1, args=["n"])
    s.check([f["kind"] for f in r["findings"]] == ["deadlock"], "found %s" % r["findings"])
    s.check("closed 1\n" in s.read(".heddle/1/schedule"), "the schedule does not say it")
    s.replay()


DAEMON = """
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int status;
  pid_t child = fork();
  if (!child) {
    setsid();
    if (argc > 1 && fork()) _exit(7);
    sleep(600);
  }
  if (argc < 2) return 0;
  if (waitpid(-1, &status, 0) != child || WEXITSTATUS(status) != 7) return 1;
  return waitpid(-1, &status, 0) != -1 || errno != ECHILD; /* its own child is not ours */
}
"""


@each("memory", "fork")
def test_daemon(s, restart):
    """A program that goes into the background leaves no process behind; the summary says that nothing of it was searched."""
    program = s.build_text(DAEMON)
    for twice in (), ("twice",):
        r = s.search("check", program, "--max-executions", "20", "--restart", restart, args=twice)
        s.same(r["findings"], [], "findings")
        s.check("went on in a child process" in r["out"] + r["err"], r["out"] + r["err"])
        left = [p for p in filter(str.isdigit, os.listdir("/proc")) if runs(p, s.path("prog"))]
        s.same(left, [], "processes that are left")


def runs(pid, program):
    try:
        return os.readlink("/proc/%s/exe" % pid) == os.path.realpath(program)
    except OSError:
        return False
