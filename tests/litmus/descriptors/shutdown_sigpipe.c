// A thread writes to a socket that another one may have shut down for writing: SIGPIPE, unless it asks for none.
// expect: kind=crash
// where: function=main line=@write
// expect: clean executions=20
// argv: none
#include <signal.h>
#include <sys/socket.h>

#include "litmus.h"

static int way[2];

static void *shuts(void *arg)
{
  assert(shutdown(way[1], SHUT_WR) == 0);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, way) == 0);
  pthread_t t = spawn(shuts, NULL);
  long n = argc > 1 ? send(way[1], "x", 1, MSG_NOSIGNAL) : write(way[1], "x", 1); /* @write */
  assert(n == 1 || errno == EPIPE);
  join(t);
  return 0;
}
