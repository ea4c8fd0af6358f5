/* daemon.h: drives a daemon in its own process. Its main, renamed, runs in the first thread; two threads are its clients, with
 * three requests in all; then SIGTERM ends it, or SHUTDOWN. */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SHUTDOWN
#define SHUTDOWN kill(getpid(), SIGTERM)
#endif

/* Asks once, until the server closes the connection or has said `end`. */
static void ask(int port, const char *request, size_t size, const char *end) {
  struct sockaddr_in a = {};
  char answer[4096];
  size_t n = 0;
  a.sin_family = AF_INET;
  a.sin_port = htons((unsigned short)port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  while (connect(s, (struct sockaddr *)&a, sizeof a)) usleep(1000); /* it is not up yet */
  if (send(s, request, size, MSG_NOSIGNAL) != (ssize_t)size) abort();
  for (ssize_t r; n + 1 < sizeof answer && (r = recv(s, answer + n, sizeof answer - 1 - n, 0)) > 0;) {
    n += (size_t)r;
    answer[n] = 0;
    if (end && strstr(answer, end)) break;
  }
  if (n == 0) abort();
  close(s);
}

struct client {
  int port, times;
  const char *request;
  size_t size;
  const char *end;
};

static void *client(void *arg) {
  const struct client *c = (const struct client *)arg;
  for (int i = 0; i < c->times; i++) ask(c->port, c->request, c->size, c->end);
  return NULL;
}

static void *drive(void *arg) {
  struct client one = *(struct client *)arg, two = one;
  pthread_t t;
  one.times = 1;
  two.times = 2;
  pthread_create(&t, NULL, client, &one);
  client(&two);
  pthread_join(t, NULL);
  SHUTDOWN;
  return NULL;
}

static struct client all;

/* Starts the clients; the daemon follows in the calling thread. They do not take its signals. */
static pthread_t start_clients_of(int port, const char *request, size_t size, const char *end) {
  sigset_t every, before;
  pthread_t t;
  all.port = port;
  all.request = request;
  all.size = size;
  all.end = end;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_create(&t, NULL, drive, &all);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return t;
}

/* The request is a literal, since it may contain zeros. */
#define start_clients(port, request, end) start_clients_of(port, request, sizeof(request) - 1, end)
