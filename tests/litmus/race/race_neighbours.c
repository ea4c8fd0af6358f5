// A race on a variable next to another one that the same thread has touched since. It replays, although the recording
// distinguishes the two.
// restart: memory fork
// expect: kind=data-race
// where: function=writer role=at
// expect: kind=data-race
// argv: again
// where: function=writer role=at
#include "litmus.h"

static struct {
  int a, b;
} s;
static volatile int flag;
static int again;

static void *reader(void *arg)
{
  int x = s.a;
  x += s.b;
  if (again) {
    x += flag;
    x += flag;
  }
  return x == 1000 ? NULL : arg;
}

static void *writer(void *arg)
{
  if (again)
    flag = 1;
  else
    s.a = 1;
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  again = argc > 1;
  pthread_t t = spawn(reader, NULL), u = spawn(writer, NULL);
  join(t);
  join(u);
  return 0;
}
