// Two locks in two orders.
// restart: memory fork
// expect: kind=deadlock
// where: function=one line=@one2 role=waits thread=T1 held_by=T2
// where: function=two line=@two2 role=waits thread=T2 held_by=T1
// where: function=one line=@one1 role=holds
// where: function=two line=@two1 role=holds
// replays: 10
#include "litmus.h"

MUTEX(a);
MUTEX(b);

static void *one(void *arg)
{
  pthread_mutex_lock(&a); /* @one1 */
  pthread_mutex_lock(&b); /* @one2 */
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return arg;
}

static void *two(void *arg)
{
  pthread_mutex_lock(&b); /* @two1 */
  pthread_mutex_lock(&a); /* @two2 */
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
