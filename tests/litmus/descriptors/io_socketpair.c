// expect: exact executions=1
/* The two directions of a connection are independent. */
#include <sys/socket.h>

#include "litmus.h"

static int s[2];

static void *left(void *arg)
{
  char c;
  assert(send(s[0], "a", 1, 0) == 1);
  assert(recv(s[0], &c, 1, 0) == 1 && c == 'b');
  return arg;
}

static void *right(void *arg)
{
  char c;
  assert(write(s[1], "b", 1) == 1);
  assert(read(s[1], &c, 1) == 1 && c == 'a');
  return arg;
}

int main(void)
{
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
  both(left, right);
  return 0;
}
