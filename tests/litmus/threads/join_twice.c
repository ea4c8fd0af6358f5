// Two threads join the same one, a thread detaches itself while another joins it, two threads join each other: what the
// second call returns depends on the order, and so does which one is the second.
// expect: kind=assertion
// argv: join
// where: function=other line=@join
// expect: kind=assertion
// argv: detach
// where: function=main line=@detach
// expect: kind=assertion
// argv: detach-twice
// where: function=main line=@twice
// expect: kind=assertion|deadlock
// argv: mutual
// expect: clean
// argv: one-each
#include <string.h>

#include "litmus.h"

static pthread_t first, leaf;
static const char *what;

static void *nothing(void *arg) { return arg; }

static void *other(void *arg)
{
  if (!strcmp(what, "join")) assert(pthread_join(leaf, NULL) == 0); /* @join */
  if (!strcmp(what, "detach")) pthread_detach(pthread_self());
  if (!strcmp(what, "detach-twice")) pthread_detach(leaf);
  if (!strcmp(what, "mutual")) assert(pthread_join(first, NULL) == 0); /* @mutual */
  if (!strcmp(what, "one-each")) pthread_detach(leaf);
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "";
  first = pthread_self();
  leaf = spawn(nothing, NULL);
  pthread_t t = spawn(other, NULL);
  if (!strcmp(what, "join")) pthread_join(leaf, NULL);
  if (!strcmp(what, "detach-twice")) assert(pthread_detach(leaf) == 0); /* @twice */
  if (!strcmp(what, "detach"))
    assert(pthread_join(t, NULL) == 0); /* @detach */
  else
    pthread_join(t, NULL);
  return 0;
}
