// System calls write to pages that nothing has written to yet, in every execution: they transfer all there is, and lose
// neither a message nor a connection.
// restart: memory fork
// expect: clean
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "litmus.h"

#define PAGE 4096
static char page[16][PAGE] __attribute__((aligned(PAGE)));
static char out[4 * PAGE];

static void *nothing(void *arg) { return arg; }

static void files(void)
{
  int fd = open("file", O_CREAT | O_RDWR, 0600);
  assert(write(fd, out, sizeof out) == sizeof out);
  assert(pread(fd, page[0] + 100, 2 * PAGE, 0) == 2 * PAGE);
  struct iovec v[2] = {{page[3], PAGE}, {page[4], PAGE}};
  assert(preadv(fd, v, 2, 0) == 2 * PAGE);
  lseek(fd, 0, SEEK_SET);
  assert(read(fd, page[5] + 100, 2 * PAGE) == 2 * PAGE);
  close(fd);
}

static void sockets(void)
{
  int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), pair[2];
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t *n = (socklen_t *)page[8], size = sizeof a;
  bind(s, (struct sockaddr *)&a, sizeof a);
  listen(s, 1);
  getsockname(s, (struct sockaddr *)&a, &size);
  connect(c, (struct sockaddr *)&a, sizeof a);
  *n = sizeof a;
  assert(accept(s, (struct sockaddr *)page[9], n) >= 0);
  socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
  send(pair[0], "hello", 6, 0);
  struct iovec v = {page[10], 6};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
  assert(recvmsg(pair[1], &m, 0) == 6 && !strcmp(page[10], "hello"));
  send(pair[0], "again", 6, 0);
  assert(recv(pair[1], page[11], 6, 0) == 6);
}

static void messages(void)
{
  struct { long type; char text[8]; } m = {1, "hello"};
  int q = msgget(IPC_PRIVATE, 0600);
  if (q < 0) return;
  msgsnd(q, &m, 8, 0);
  assert(msgrcv(q, page[12], 8, 0, 0) == 8);
  msgctl(q, IPC_RMID, NULL);
}

int main(void)
{
  memset(out, 1, sizeof out);
  pthread_t t = spawn(nothing, NULL);
  files();
  sockets();
  messages();
  join(t);
  return 0;
}
