// Loops that wait for objects of System V without waiting in the kernel are complete.
// expect: clean executions=20
// argv: message
// expect: clean executions=20
// argv: semaphore
// expect: clean executions=20
// argv: value
// expect: kind=assertion
// argv: all
// where: function=main line=@all
// expect: kind=data-race
// argv: array
// where: function=main line=@array
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

static const char *how;
static int queue, set;
static unsigned short values[2];

static void *posts(void *unused) {
  struct { long type; char text; } message = {1, 'a'};
  struct sembuf up = {0, 1, 0};
  if (!strcmp(how, "message"))
    msgsnd(queue, &message, 1, 0);
  else if (!strcmp(how, "array"))
    semctl(set, 0, GETALL, values);
  else
    semop(set, &up, 1);
  return unused;
}

int main(int argc, char **argv) {
  struct { long type; char text; } message;
  struct sembuf down = {0, -1, IPC_NOWAIT};
  unsigned short all[2] = {0, 0};
  pthread_t t;
  how = argc > 1 ? argv[1] : "message";
  queue = msgget(IPC_PRIVATE, 0600);
  set = semget(IPC_PRIVATE, 2, 0600);
  pthread_create(&t, NULL, posts, NULL);
  if (!strcmp(how, "message"))
    while (msgrcv(queue, &message, 1, 0, IPC_NOWAIT) < 0) {}
  if (!strcmp(how, "semaphore"))
    while (semop(set, &down, 1) < 0) {}
  if (!strcmp(how, "value"))
    while (semctl(set, 0, GETVAL) == 0) {}
  if (!strcmp(how, "all")) semctl(set, 0, GETALL, all);
  if (!strcmp(how, "array")) values[1] = 1; /* @array */
  pthread_join(t, NULL);
  msgctl(queue, IPC_RMID, NULL);
  semctl(set, 0, IPC_RMID);
  assert(all[0] == 0); /* @all */
  return 0;
}
