// Locking for writing while holding the lock for reading: the thread waits for itself.
// expect: kind=double-lock
// where: function=main line=@write role=at
// where: function=main line=@read role=holds
// says: holds this lock for reading
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

int main(void)
{
  pthread_rwlock_rdlock(&lock); /* @read */
  pthread_rwlock_wrlock(&lock); /* @write */
  return 0;
}
