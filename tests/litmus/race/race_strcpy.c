// strcpy into a buffer while another thread reads it.
// expect: kind=data-race
#include "litmus.h"

char name[32];
const char *text = "a name";

static void *setter(void *arg)
{
  strcpy(name, text);
  return arg;
}

static void *reader(void *arg)
{
  (void)arg;
  return (void *)strlen(name);
}

int main(void)
{
  both(setter, reader);
  return 0;
}
