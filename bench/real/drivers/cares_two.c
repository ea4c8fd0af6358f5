/* Two threads, each with a channel of its own, ask a name server that is a thread of the test. */
#include <ares.h>
#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static int s;

static void *server(void *arg) {
  static const unsigned char answer[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 1, 2, 3};
  for (int i = 0; i < 2; i++) {
    unsigned char b[512];
    struct sockaddr_in from;
    socklen_t l = sizeof from;
    ssize_t n = recvfrom(s, b, sizeof b - sizeof answer, 0, (struct sockaddr *)&from, &l);
    assert(n > 12);
    for (n = 12; b[n];) n += b[n] + 1;
    n += 5;
    b[2] |= 0x80; /* a response, with one answer */
    b[7] = 1;
    b[10] = b[11] = 0;
    memcpy(b + n, answer, sizeof answer);
    sendto(s, b, (size_t)n + sizeof answer, 0, (struct sockaddr *)&from, l);
  }
  return arg;
}

static void got(void *done, int status, int timeouts, struct hostent *h) {
  (void)timeouts;
  assert(status == ARES_SUCCESS && h->h_addr_list[0][0] == 10);
  *(int *)done = 1;
}

static void *client(void *arg) {
  ares_channel c;
  int done = 0;
  struct ares_options o = {.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES, .lookups = "b"};
  assert(!ares_init_options(&c, &o, ARES_OPT_FLAGS | ARES_OPT_LOOKUPS));
  assert(!ares_set_servers_ports_csv(c, "127.0.0.1:18953"));
  ares_gethostbyname(c, "example.org", AF_INET, got, &done);
  while (!done) {
    fd_set r, w;
    struct timeval limit = {1, 0};
    FD_ZERO(&r);
    FD_ZERO(&w);
    int n = ares_fds(c, &r, &w);
    if (n == 0) break;
    select(n, &r, &w, NULL, &limit);
    ares_process(c, &r, &w);
  }
  assert(done);
  ares_destroy(c);
  return arg;
}

int main(void) {
  pthread_t t[3];
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(18953)};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  s = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(s, (struct sockaddr *)&a, sizeof a)) return 1;
  ares_library_init(ARES_LIB_INIT_ALL);
  pthread_create(&t[0], NULL, server, NULL);
  pthread_create(&t[1], NULL, client, NULL);
  pthread_create(&t[2], NULL, client, NULL);
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  ares_library_cleanup();
  close(s);
}
