/* nng: two clients ask one server, in the process. */
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static nng_socket server;

static void must(int failed) {
  if (failed) abort();
}

static void *serve(void *arg) {
  char *text;
  size_t n;
  for (int i = 0; i < 2; i++) {
    must(nng_recv(server, &text, &n, NNG_FLAG_ALLOC));
    must(nng_send(server, text, n, NNG_FLAG_ALLOC));
  }
  return arg;
}

static void *ask(void *arg) {
  nng_socket s;
  char *text;
  size_t n;
  must(nng_req0_open(&s) || nng_dial(s, "inproc://x", NULL, 0));
  must(nng_send(s, arg, 2, 0) || nng_recv(s, &text, &n, NNG_FLAG_ALLOC));
  must(n != 2 || memcmp(text, arg, 2));
  nng_free(text, n);
  nng_close(s);
  return NULL;
}

int main(void) {
  pthread_t a, b, c;
  setenv("NNG_NUM_TASKQ_THREADS", "2", 1);
  must(nng_rep0_open(&server) || nng_listen(server, "inproc://x", NULL, 0));
  pthread_create(&c, NULL, serve, NULL);
  pthread_create(&a, NULL, ask, "a");
  pthread_create(&b, NULL, ask, "b");
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_join(c, NULL);
  nng_close(server);
  nng_fini();
  return 0;
}
