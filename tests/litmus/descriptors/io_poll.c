// expect: exact executions=80 dfs=no
/* poll, ppoll, select and pselect return for whichever descriptor is ready first. */
#include <poll.h>
#include <sys/select.h>

#include "litmus.h"

static int p[2][2], how;

static int wait_for_one(void)
{
  struct pollfd f[2] = {{p[0][0], POLLIN, 0}, {p[1][0], POLLIN, 0}};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(p[0][0], &set);
  FD_SET(p[1][0], &set);
  int top = (p[0][0] > p[1][0] ? p[0][0] : p[1][0]) + 1, n;
  switch (how++ % 4) {
    case 0: n = poll(f, 2, -1); break;
    case 1: n = ppoll(f, 2, NULL, NULL); break;
    case 2: n = select(top, &set, NULL, NULL, NULL); break;
    default: n = pselect(top, &set, NULL, NULL, NULL, NULL); break;
  }
  assert(n >= 1);
  if (how % 4 == 1 || how % 4 == 2) return f[0].revents & POLLIN ? 0 : 1;
  return FD_ISSET(p[0][0], &set) ? 0 : 1;
}

static void *writer(void *arg)
{
  for (int i = 0; i < 2; i++) assert(write(*(int *)arg, "x", 1) == 1);
  return arg;
}

int main(void)
{
  int got[2] = {0, 0};
  assert(pipe(p[0]) == 0 && pipe(p[1]) == 0);
  pthread_t a = spawn(writer, &p[0][1]), b = spawn(writer, &p[1][1]);
  for (int i = 0; i < 4; i++) {
    char c;
    int k = wait_for_one();
    assert(read(p[k][0], &c, 1) == 1);
    got[k]++;
  }
  assert(got[0] == 2 && got[1] == 2);
  join(a);
  join(b);
  return 0;
}
