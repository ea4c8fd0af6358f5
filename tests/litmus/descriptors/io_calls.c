// Every call that sends or receives: writes before the send are visible after the receive, and the memory that the
// call reads or writes counts as accessed. Wrong: the buffer is changed while it is being sent; received data is read
// before it has arrived.
// expect: clean executions=100
// argv: all
// expect: kind=data-race
// argv: write
// compilers: gcc
// where: function=transmit
// expect: kind=data-race
// argv: send
// compilers: gcc
// where: function=transmit
// expect: kind=data-race
// argv: sendto
// compilers: gcc
// where: function=transmit
// expect: kind=data-race
// argv: writev
// compilers: gcc
// where: function=transmit
// expect: kind=data-race
// argv: sendmsg
// compilers: gcc
// where: function=transmit
// expect: kind=data-race
// argv: read
// compilers: gcc
// where: function=receive
// expect: kind=data-race
// argv: recv
// compilers: gcc
// where: function=receive
// expect: kind=data-race
// argv: recvfrom
// compilers: gcc
// where: function=receive
// expect: kind=data-race
// argv: readv
// compilers: gcc
// where: function=receive
// expect: kind=data-race
// argv: recvmsg
// compilers: gcc
// where: function=receive
#include "litmus.h"
#include <sys/socket.h>
#include <sys/uio.h>

static const char *const out_ways[] = {"write", "send", "sendto", "writev", "sendmsg"};
static const char *const in_ways[] = {"read", "recv", "recvfrom", "readv", "recvmsg"};
static int ends[2], out, in, before;
static char sent[8], received[8];

static void transmit(void)
{
  struct iovec v = {sent, sizeof sent};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
  ssize_t n = 0;
  switch (out) {
    case 0: n = write(ends[0], sent, sizeof sent); break;
    case 1: n = send(ends[0], sent, sizeof sent, 0); break;
    case 2: n = sendto(ends[0], sent, sizeof sent, 0, NULL, 0); break;
    case 3: n = writev(ends[0], &v, 1); break;
    case 4: n = sendmsg(ends[0], &m, 0); break;
  }
  assert(n == sizeof sent);
}

static void receive(void)
{
  struct iovec v = {received, sizeof received};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
  ssize_t n = 0;
  switch (in) {
    case 0: n = read(ends[1], received, sizeof received); break;
    case 1: n = recv(ends[1], received, sizeof received, 0); break;
    case 2: n = recvfrom(ends[1], received, sizeof received, 0, NULL, NULL); break;
    case 3: n = readv(ends[1], &v, 1); break;
    case 4: n = recvmsg(ends[1], &m, 0); break;
  }
  assert(n == sizeof received);
}

static void *sender(void *arg)
{
  before++;
  transmit();
  return arg;
}

static void *receiver(void *arg)
{
  receive();
  before++;
  assert(!strcmp(received, "message"));
  return arg;
}

static int find(const char *const *ways, const char *name)
{
  for (int i = 0; i < 5; i++)
    if (!strcmp(ways[i], name)) return i;
  return -1;
}

int main(int argc, char **argv)
{
  assert(argc == 2);
  int all = !strcmp(argv[1], "all"), o = find(out_ways, argv[1]), i = find(in_ways, argv[1]);
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  for (int k = 0; k < 5; k++) {
    out = o >= 0 ? o : k;
    in = i >= 0 ? i : k;
    strcpy(sent, "message");
    pthread_t a = spawn(sender, NULL), b = spawn(receiver, NULL);
    if (o >= 0) sent[0] = 'm';
    if (i >= 0) assert(received[0] != 'x');
    join(a);
    join(b);
    if (!all) break;
  }
  return 0;
}
