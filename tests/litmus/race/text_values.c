// Functions that read strings while another thread changes them: every value that they can see is seen, and what they have
// read they keep, however long they take to write it.
// opt: -O0 -O2
// native: no
// expect: exact executions=2 states=2
// args: --ignore data-race
// argv: length
// expect: exact executions=4 states=3
// args: --ignore data-race
// argv: copy
// expect: exact executions=2 states=2
// args: --ignore data-race
// argv: compare
// expect: exact executions=2 states=2
// args: --ignore data-race
// argv: token
// expect: exact executions=2 states=2
// args: --ignore data-race
// argv: number
// expect: exact executions=4 states=3
// args: --ignore data-race
// argv: print
#include "litmus.h"

void hd_rt_observe(uint64_t value);
static char text[16] = "12", other[16] = "xy";
static const char *how;

static int is(const char *s) { return strcmp(how, s) == 0; }

static void *reader(void *arg)
{
  char *rest = text;
  if (is("length")) hd_rt_observe(strlen(text));
  if (is("copy")) strcpy(other, text);
  if (is("compare")) hd_rt_observe(strcmp(text, "123") == 0);
  if (is("token")) strtok_r(text, "3", &rest);
  if (is("number")) hd_rt_observe((uint64_t)strtol(text, NULL, 10));
  if (is("print")) snprintf(other, sizeof other, "%s", text);
  hd_rt_observe((uint64_t)(rest - text));
  return arg;
}

static void *writer(void *arg)
{
  *(volatile char *)&text[2] = '3';
  if (is("copy") || is("print")) hd_rt_observe(10 + ((volatile char *)other)[2]);
  return arg;
}

int main(int argc, char **argv)
{
  how = argv[argc - 1];
  both(reader, writer);
  hd_rt_observe((uint64_t)other[2]);
  return 0;
}
