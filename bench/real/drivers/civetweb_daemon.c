/* civetweb from start to shutdown, with two worker threads: requests for a page that does not exist. */
#include "daemon.h"

int civetweb_main(int argc, char **argv);

int main(void) {
  static char *argv[] = {"civetweb", "-listening_ports", "127.0.0.1:18883", "-document_root", ".", "-num_threads", "2", NULL};
  pthread_t t = start_clients(18883, "GET /none HTTP/1.0\r\n\r\n", NULL);
  int status = civetweb_main(7, argv);
  pthread_join(t, NULL);
  return status;
}
