// System V objects that an execution leaves behind are removed before the next one.
// expect: clean
#include "litmus.h"
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>

static int x;

static void *f(void *arg)
{
  poke(&x, peek(&x) + 1);
  return arg;
}

int main(int argc, char **argv)
{
  struct stat st;
  assert(argc == 1 && !stat(argv[0], &st)); /* a key that no other test has */
  key_t key = (key_t)(st.st_ino ^ 0x48640000u);
  int q = msgget(key, IPC_CREAT | IPC_EXCL | 0600), m = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
  int n = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);
  assert(q >= 0 && m >= 0 && n >= 0);
  both(f, f);
  if (x == 1) return 0; /* an update was lost: leaves them */
  msgctl(q, IPC_RMID, NULL);
  semctl(m, 0, IPC_RMID);
  shmctl(n, IPC_RMID, NULL);
  return 0;
}
