// Looking at the address of a socket, or of its peer, while another thread names or connects it.
// native: no
// expect: kind=assertion
// argv: bind
// expect: kind=assertion
// argv: connect
// expect: kind=assertion
// argv: listen
// expect: exact executions=2
// argv: right
#include <netinet/in.h>
#include <sys/socket.h>

#include "litmus.h"

static int s;
static const char *what;
static struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = 9};

static void *look(void *arg)
{
  struct sockaddr_in a = {0};
  socklen_t n = sizeof a;
  int on = 0;
  if (!strcmp(what, "bind") || !strcmp(what, "right")) {
    getsockname(s, (struct sockaddr *)&a, &n);
    assert(a.sin_port == 0 || *what == 'r');
  } else if (!strcmp(what, "connect")) {
    assert(getpeername(s, (struct sockaddr *)&a, &n) < 0);
  } else {
    n = sizeof on;
    assert(getsockopt(s, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) == 0 && !on);
  }
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  what = argv[1];
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  to.sin_addr = any.sin_addr;
  s = socket(AF_INET, !strcmp(what, "connect") ? SOCK_DGRAM : SOCK_STREAM, 0);
  if (!strcmp(what, "listen")) assert(bind(s, (struct sockaddr *)&any, sizeof any) == 0);
  pthread_t t = spawn(look, NULL);
  if (!strcmp(what, "listen"))
    assert(listen(s, 1) == 0);
  else if (!strcmp(what, "connect"))
    assert(connect(s, (struct sockaddr *)&to, sizeof to) == 0);
  else
    assert(bind(s, (struct sockaddr *)&any, sizeof any) == 0);
  join(t);
  return 0;
}
