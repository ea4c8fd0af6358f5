// A producer and a consumer with a pipe between them: messages of a fixed size, and end of file. One search covers
// every order. Wrong: the address of a reused buffer is sent; the writing end stays open.
// expect: exact executions=14
// expect: kind=data-race|assertion
// argv: reuse
// where: function=consume line=@look
// expect: kind=deadlock
// argv: open
// where: function=consume line=@read
#include "litmus.h"

enum { MESSAGES = 3 };

static int way[2], reuse, leave_open;
static char text[MESSAGES][8];

static void *produce(void *arg)
{
  for (int i = 0; i < MESSAGES; i++) {
    char *message = text[reuse ? 0 : i];
    message[0] = (char)('a' + i);
    assert(write(way[1], &message, sizeof message) == sizeof message);
  }
  if (!leave_open) close(way[1]);
  return arg;
}

static void *consume(void *arg)
{
  char *message;
  int n = 0;
  while (read(way[0], &message, sizeof message) == sizeof message) { /* @read */
    assert(message[0] == 'a' + n); /* @look */
    n++;
  }
  assert(n == MESSAGES);
  return arg;
}

int main(int argc, char **argv)
{
  reuse = argc > 1 && argv[1][0] == 'r';
  leave_open = argc > 1 && argv[1][0] == 'o';
  assert(pipe(way) == 0);
  both(produce, consume);
  return 0;
}
