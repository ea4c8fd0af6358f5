/* Two threads with a connection each, over pairs of sockets, to a server of two threads. */
#include "hiredis.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2][2];

static void *server(void *arg) {
  int fd = pair[(long)arg][1];
  char request[256];
  while (read(fd, request, sizeof request) > 0)
    if (write(fd, "$3\r\nabc\r\n", 9) != 9) abort();
  close(fd);
  return arg;
}

static void *client(void *arg) {
  redisContext *c = redisConnectFd(pair[(long)arg][0]);
  for (int i = 0; i < 2; i++) {
    redisReply *r = redisCommand(c, "GET %s", "key");
    assert(r && r->type == REDIS_REPLY_STRING && !strcmp(r->str, "abc"));
    freeReplyObject(r);
  }
  redisFree(c);
  return arg;
}

int main(void) {
  pthread_t t[4];
  for (long i = 0; i < 2; i++) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]);
    pthread_create(&t[i], NULL, server, (void *)i);
    pthread_create(&t[2 + i], NULL, client, (void *)i);
  }
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}
