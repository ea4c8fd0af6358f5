// Memory that libc and the kernel fill for the program.
// expect: kind=data-race
// argv: poll
// expect: kind=data-race
// argv: select
// expect: kind=data-race
// argv: getaddrinfo
// expect: kind=data-race
// argv: readdir
// expect: kind=data-race
// argv: scanf
// expect: kind=data-race
// argv: join
// expect: kind=data-race
// argv: attr
// expect: kind=data-race
// argv: value
// expect: clean executions=20
// argv: right
// native: no
#include <dirent.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "litmus.h"

static struct pollfd fds[2];
static fd_set set;
static struct addrinfo *found;
static struct dirent *entry;
static DIR *dir;
static int number;
static void *result;
static pthread_t leaf;
static pthread_attr_t attr;
static sem_t sem;

static void *nothing(void *arg) { return arg; }

static void fill(const char *how)
{
  struct timespec none = {0, 0};
  int right = !strcmp(how, "right");
  if (right || !strcmp(how, "poll")) {
    fds[1].fd = -1;
    fds[0].fd = -1;
    if (poll(fds, 2, 0)) ppoll(fds, 2, &none, NULL);
  }
  if (right || !strcmp(how, "select")) {
    struct timeval now = {0, 0};
    select(1, NULL, NULL, &set, &now);
    pselect(1, NULL, NULL, &set, &none, NULL);
  }
  if (right || !strcmp(how, "getaddrinfo")) {
    if (!getaddrinfo("127.0.0.1", NULL, NULL, &found)) freeaddrinfo(found);
  }
  if (right || !strcmp(how, "readdir")) {
    entry = readdir(dir);
    readdir64(dir);
  }
  if (!strcmp(how, "scanf")) {
    FILE *f = fmemopen("12 13", 5, "r");
    if (fscanf(f, "%*d %d", &number) != 1) abort();
  }
  if (right || !strcmp(how, "join")) {
    pthread_t t = spawn(nothing, NULL);
    pthread_join(t, &result);
  }
  if (right || !strcmp(how, "attr")) {
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE);
    pthread_attr_setstacksize(&attr, 1 << 20);
    pthread_attr_setguardsize(&attr, 4096);
    pthread_attr_destroy(&attr);
  }
  if (right || !strcmp(how, "value")) sem_getvalue(&sem, &number);
}

static void *other(void *how)
{
  fill(how);
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  sem_init(&sem, 0, 3);
  dir = opendir("/proc/self");
  readdir(dir);
  pthread_t t = spawn(other, argv[1]);
  if (!strcmp(argv[1], "right")) join(t);
  struct dirent *e = entry;
  if (fds[0].revents || FD_ISSET(3, &set) || found || (e && e->d_name[0] == 'x') || result || ((char *)&attr)[4])
    puts("something");
  if (peek(&number) == 99) puts("else");
  number = 0;
  if (strcmp(argv[1], "right")) join(t);
  leaf = t;
  return 0;
}
