// The name of a socket is a change of the file system: it is undone, whether the program removes it, leaves it behind, or
// replaces what an earlier run has left.
// expect: clean
// argv: removes
// native: no
// expect: clean
// argv: leaves
// native: no
// expect: clean
// argv: replaces
// native: no
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un a = {.sun_family = AF_UNIX};

static void *client(void *arg) {
  char c;
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  assert(connect(s, (struct sockaddr *)&a, sizeof a) == 0);
  assert(write(s, "a", 1) == 1 && read(s, &c, 1) == 1);
  close(s);
  return arg;
}

static int listener(void) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  assert(bind(s, (struct sockaddr *)&a, sizeof a) == 0);
  assert(chmod(a.sun_path, 0600) == 0 && listen(s, 5) == 0);
  return s;
}

int main(int argc, char **argv) {
  char how = argc > 1 ? argv[1][2] : 'm', c;
  pthread_t t;
  snprintf(a.sun_path, sizeof a.sun_path, "socket-%c", how);
  if (how == 'p') {
    close(listener());
    assert(unlink(a.sun_path) == 0);
  }
  int s = listener();
  pthread_create(&t, NULL, client, NULL);
  int k = accept(s, NULL, NULL);
  assert(read(k, &c, 1) == 1 && write(k, &c, 1) == 1);
  close(k);
  pthread_join(t, NULL);
  close(s);
  if (how == 'm') assert(unlink(a.sun_path) == 0);
  return 0;
}
