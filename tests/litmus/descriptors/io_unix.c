// expect: exact executions=684 dfs=no
/* Unix sockets with a name; two clients, one after the other in any order. */
#include <sys/socket.h>
#include <sys/un.h>

#include "litmus.h"

static struct sockaddr_un at = {.sun_family = AF_UNIX};
static socklen_t at_size;

static void *client(void *arg)
{
  char c;
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  assert(connect(s, (struct sockaddr *)&at, at_size) == 0);
  assert(write(s, arg, 1) == 1 && read(s, &c, 1) == 1 && c == *(char *)arg);
  close(s);
  return NULL;
}

int main(void)
{
  int l = socket(AF_UNIX, SOCK_STREAM, 0);
  char seen[2];
  at_size = sizeof at;
  assert(bind(l, (struct sockaddr *)&at, sizeof at.sun_family) == 0 && listen(l, 2) == 0);
  assert(getsockname(l, (struct sockaddr *)&at, &at_size) == 0); /* a name that the kernel has chosen */
  pthread_t a = spawn(client, "a"), b = spawn(client, "b");
  for (int i = 0; i < 2; i++) {
    int c = accept(l, NULL, NULL);
    assert(c >= 0 && read(c, &seen[i], 1) == 1 && write(c, &seen[i], 1) == 1);
    close(c);
  }
  assert(seen[0] != seen[1]);
  join(a);
  join(b);
  return 0;
}
