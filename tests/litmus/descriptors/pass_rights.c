// A descriptor is passed in a message: the receiver's number refers to the same pipe, also when the sender has closed it.
// expect: kind=assertion
// argv: early
// expect: exact executions=2 dfs=no
#include <fcntl.h>
#include <sys/socket.h>

#include "litmus.h"

static int sockets[2], ends[2];

static void *send_end(void *arg)
{
  char c = 'x', control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec part = {&c, 1};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *h = CMSG_FIRSTHDR(&m);
  h->cmsg_level = SOL_SOCKET;
  h->cmsg_type = SCM_RIGHTS;
  h->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(h), &ends[0], sizeof(int));
  if (sendmsg(sockets[0], &m, 0) != 1) abort();
  close(ends[0]);
  return arg;
}

static int receive_end(void)
{
  char c, control[CMSG_SPACE(sizeof(int))];
  struct iovec part = {&c, 1};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  int fd;
  if (recvmsg(sockets[1], &m, 0) != 1 || !CMSG_FIRSTHDR(&m)) abort();
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
  return fd;
}

static int received;
static void *write_end(void *arg)
{
  if (write(ends[1], "y", 1) != 1) abort();
  return arg;
}

int main(int argc, char **argv)
{
  char c = 0;
  (void)argv;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || pipe(ends)) abort();
  pthread_t t = spawn(send_end, NULL);
  received = receive_end();
  join(t);
  if (argc > 1) { /* whether it was written yet is up to the schedule */
    fcntl(received, F_SETFL, O_NONBLOCK);
    t = spawn(write_end, NULL);
    assert(read(received, &c, 1) == 1);
    join(t);
  } else {
    t = spawn(write_end, NULL);
    assert(read(received, &c, 1) == 1 && c == 'y');
    join(t);
  }
  return 0;
}
