/* own.h: an allocator of the program's own. Two threads allocate; a block of each is freed by the first thread. With OVERRIDE it
 * is the malloc of the whole program, libc's and the loader's included: then the first thread is set up before main, so it takes
 * two others for anything to be shared. Otherwise TAKE and GIVE are its functions. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef OVERRIDE
#define TAKE malloc
#define GIVE free
#endif

static void *work(void *arg) {
  for (int i = 0; i < 2; i++) {
    char *p = (char *)TAKE(100);
    memset(p, 1, 100);
    GIVE(p);
  }
  *(void **)arg = TAKE(64);
  return arg;
}

int main(void) {
  pthread_t t[2];
  void *box[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, &box[i]);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  assert(box[0] && box[1] && box[0] != box[1]);
  GIVE(box[0]);
  GIVE(box[1]);
  return 0;
}
