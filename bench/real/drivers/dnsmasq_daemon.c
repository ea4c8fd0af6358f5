/* dnsmasq from start to shutdown: it becomes another user; two clients ask three questions by UDP. It closes all descriptors that
 * it has inherited, so the clients begin when it waits. */
#include "daemon.h"

#include <errno.h>

int dnsmasq_main(int argc, char **argv);

/* A record of type A for the name "x". */
static const char question[] = "\0\7\1\0\0\1\0\0\0\0\0\0\1x\0\0\1\0\1";

static void *resolve(void *arg) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(18953)};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < *(int *)arg; i++) {
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    char answer[512];
    if (connect(s, (struct sockaddr *)&a, sizeof a) || send(s, question, sizeof question - 1, 0) < 0) abort();
    if (recv(s, answer, sizeof answer, 0) < 12 || answer[7] != 1) abort();
    close(s);
  }
  return NULL;
}

static void *clients(void *arg) {
  pthread_t t;
  int one = 1, two = 2;
  usleep(1000);
  pthread_create(&t, NULL, resolve, &one);
  resolve(&two);
  pthread_join(t, NULL);
  kill(getpid(), SIGTERM);
  return arg;
}

int main(void) {
  static char *argv[] = {"dnsmasq", "-k", "-p", "18953", "-C", "/dev/null", "-a", "127.0.0.1", "-z", "-R", "-h", "-u", "nobody",
                         "-g", "nogroup", "-x", "/tmp/heddle-dnsmasq.pid", "--host-record=x,192.0.2.1", NULL};
  pthread_t t;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_create(&t, NULL, clients, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  int status = dnsmasq_main(sizeof argv / sizeof *argv - 1, argv);
  pthread_join(t, NULL);
  return status;
}
