// Two threads each hold one lock for reading and want the other for writing.
// expect: kind=deadlock
// where: function=one line=@one2 role=waits thread=T1 held_by=T2
// where: function=two line=@two2 role=waits thread=T2 held_by=T1
// where: function=one line=@one1 role=holds
// where: function=two line=@two1 role=holds
// says: waits to write
#include "litmus.h"

static pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER, b = PTHREAD_RWLOCK_INITIALIZER;

static void *one(void *arg)
{
  pthread_rwlock_rdlock(&a); /* @one1 */
  pthread_rwlock_wrlock(&b); /* @one2 */
  pthread_rwlock_unlock(&b);
  pthread_rwlock_unlock(&a);
  return arg;
}

static void *two(void *arg)
{
  pthread_rwlock_rdlock(&b); /* @two1 */
  pthread_rwlock_wrlock(&a); /* @two2 */
  pthread_rwlock_unlock(&a);
  pthread_rwlock_unlock(&b);
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
