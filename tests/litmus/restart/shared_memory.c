// Shared memory from before main begins as it was in every execution, and is shared with children.
// expect: clean
// restart: memory fork auto
#include <assert.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int *shared;
__attribute__((constructor)) static void map(void) {
  shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared[1] = 7;
}

static void *work(void *arg) {
  shared[0]++;
  shared[1024] = 1;
  return arg;
}

int main(void) {
  pthread_t t;
  int status;
  assert(shared[0] == 0 && shared[1] == 7 && shared[1024] == 0);
  pthread_create(&t, NULL, work, NULL);
  work(NULL);
  pthread_join(t, NULL);
  pid_t child = fork();
  if (child == 0) {
    shared[1] = 8;
    _exit(0);
  }
  assert(waitpid(child, &status, 0) == child);
  assert(shared[0] == 2 && shared[1] == 8);
  return 0;
}
