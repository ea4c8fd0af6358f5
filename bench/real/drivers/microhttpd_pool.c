/* libmicrohttpd with a pool of two threads, from start to stop; each request is answered with one page. */
#include <microhttpd.h>
#define SHUTDOWN
#include "daemon.h"

static enum MHD_Result answer(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **state) {
  struct MHD_Response *r = MHD_create_response_from_buffer(2, "ok", MHD_RESPMEM_PERSISTENT);
  enum MHD_Result done = MHD_queue_response(c, MHD_HTTP_OK, r);
  (void)cls, (void)url, (void)method, (void)version, (void)data, (void)size, (void)state;
  MHD_destroy_response(r);
  return done;
}

int main(void) {
  struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 18887, NULL, NULL, answer, NULL,
                                          MHD_OPTION_THREAD_POOL_SIZE, 2u, MHD_OPTION_END);
  if (!d) abort();
  pthread_t t = start_clients(18887, "GET / HTTP/1.0\r\n\r\n", NULL);
  pthread_join(t, NULL);
  MHD_stop_daemon(d);
  return 0;
}
