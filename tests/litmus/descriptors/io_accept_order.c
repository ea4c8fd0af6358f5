// expect: kind=assertion
/* The server assumes that the first client connects first. */
#include <sys/socket.h>
#include <sys/un.h>

#include "litmus.h"

static struct sockaddr_un at = {.sun_family = AF_UNIX};
static socklen_t at_size;

static void *client(void *arg)
{
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  assert(connect(s, (struct sockaddr *)&at, at_size) == 0);
  assert(write(s, arg, 1) == 1);
  close(s);
  return NULL;
}

int main(void)
{
  int l = socket(AF_UNIX, SOCK_STREAM, 0);
  char seen;
  at_size = sizeof at;
  assert(bind(l, (struct sockaddr *)&at, sizeof at.sun_family) == 0 && listen(l, 2) == 0);
  assert(getsockname(l, (struct sockaddr *)&at, &at_size) == 0); /* a name that the kernel has chosen */
  pthread_t a = spawn(client, "a"), b = spawn(client, "b");
  int c = accept(l, NULL, NULL);
  assert(read(c, &seen, 1) == 1);
  assert(seen == 'a');
  join(a);
  join(b);
  return 0;
}
