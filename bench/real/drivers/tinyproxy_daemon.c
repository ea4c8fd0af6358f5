/* tinyproxy from start to shutdown: requests for its statistics, which it answers itself. */
#include "daemon.h"

int tinyproxy_main(int argc, char **argv);

int main(void) {
  static char *argv[] = {"tinyproxy", "-d", "-c", "tinyproxy.conf", NULL};
  FILE *f = fopen("tinyproxy.conf", "w");
  fputs("Listen 127.0.0.1\nPort 18881\nTimeout 60\nStatHost \"stats\"\nLogFile \"tinyproxy.log\"\nMaxClients 10\n", f);
  fclose(f);
  pthread_t t = start_clients(18881, "GET http://stats/ HTTP/1.0\r\n\r\n", NULL);
  int status = tinyproxy_main(4, argv);
  pthread_join(t, NULL);
  return status;
}
