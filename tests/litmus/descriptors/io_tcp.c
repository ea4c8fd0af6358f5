// expect: exact executions=2 dfs=no
/* A server and a client over the loopback device, in one process. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "litmus.h"

static struct sockaddr_in at = {.sin_family = AF_INET};
static int data;

static void *client(void *arg)
{
  char buf[16];
  int s = socket(AF_INET, SOCK_STREAM, 0);
  data = 1;
  assert(connect(s, (struct sockaddr *)&at, sizeof at) == 0);
  assert(send(s, "hello", 5, 0) == 5);
  assert(recv(s, buf, sizeof buf, 0) == 2 && memcmp(buf, "ok", 2) == 0);
  assert(recv(s, buf, sizeof buf, 0) == 0);
  close(s);
  return arg;
}

int main(void)
{
  char buf[16];
  int l = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t n = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert(bind(l, (struct sockaddr *)&at, sizeof at) == 0 && listen(l, 4) == 0);
  assert(getsockname(l, (struct sockaddr *)&at, &n) == 0);
  pthread_t t = spawn(client, NULL);
  int c = accept(l, NULL, NULL);
  assert(c >= 0 && data == 1);
  assert(recv(c, buf, 5, MSG_WAITALL) == 5 && memcmp(buf, "hello", 5) == 0);
  assert(send(c, "ok", 2, 0) == 2);
  close(c);
  join(t);
  close(l);
  return 0;
}
